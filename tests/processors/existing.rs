//! Observers of a schedule are shown who was there before they are started.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::said::{run, say, world};
use megachunk::observer::ObservedBatch;
use megachunk::prelude::*;

#[derive(Clone, Copy, PartialEq)]
struct Lit(u32);
megachunk::plain!(Lit { 0 });

type Shown = Arc<Mutex<Vec<Vec<Entity>>>>;

/// What notes each batch.
fn noting(shown: &Shown) -> impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + use<> {
    let shown = Arc::clone(shown);
    move |batch, _| {
        let mut shown = shown.lock().expect("it is whole");
        shown.push(batch.entities().collect());
    }
}

fn take(shown: &Shown) -> Vec<Vec<Entity>> {
    std::mem::take(&mut *shown.lock().expect("it is whole"))
}

#[test]
fn who_was_loaded_is_shown_by_the_first_run_to_who_wants_that() {
    let mut world = World::new();
    world.registry().register_plain::<Lit>().expect("it is new");
    let lamp = world.create((Lit(3),)).expect("there is room");
    let file = world.to_snapshot(&Default::default()).expect("it is saved");
    let universe = Universe::new();
    let registered = universe.registry().register_plain::<Lit>();
    registered.expect("it is new");
    let mut loaded =
        World::from_snapshot(&file, universe, &Default::default()).expect("it is loaded");
    let (shown, not) = (Shown::default(), Shown::default());
    let mut schedule = Schedule::new();
    let lamps = observing_processor::<Lit, ()>("lamps", Observed::COME, noting(&shown));
    let late = observing_processor::<Lit, ()>("late", Observed::COME, noting(&not));
    let gone = observing_processor::<Lit, ()>("gone", Observed::GO, noting(&not));
    schedule.add(lamps.show_existing()).add(late);
    schedule.add(gone.show_existing());
    run(&mut schedule, &mut loaded);
    assert_eq!(take(&shown), [vec![lamp]]);
    assert!(take(&not).is_empty());
    run(&mut schedule, &mut loaded);
    assert!(take(&shown).is_empty(), "it is started once");
    let next = loaded.create((Lit(4),)).expect("there is room");
    assert_eq!(
        (take(&shown), take(&not)),
        (vec![vec![next]], vec![vec![next]])
    );
}

#[test]
fn who_is_started_anew_is_shown_all_again() {
    let mut world = world();
    let first = world.create((Lit(0),)).expect("there is room");
    let shown = Shown::default();
    let mut schedule = Schedule::new();
    let lamps = observing_processor::<Lit, ()>("lamps", Observed::COME, noting(&shown));
    schedule.add(lamps.show_existing());
    run(&mut schedule, &mut world);
    assert_eq!(take(&shown), [vec![first]]);
    schedule.set_enabled("lamps", false).expect("it is there");
    run(&mut schedule, &mut world);
    let second = world.create((Lit(1),)).expect("there is room");
    schedule.set_enabled("lamps", true).expect("it is there");
    run(&mut schedule, &mut world);
    assert_eq!(take(&shown), [vec![first, second]]);
    schedule.stop(&mut world).expect("it is its world");
    world.destroy(first).expect("it lives");
    run(&mut schedule, &mut world);
    assert_eq!(take(&shown), [vec![second]]);
    // Without a stop it has heard of all.
    schedule.detach();
    run(&mut schedule, &mut world);
    assert!(take(&shown).is_empty());
    // In another world it is started when it can be had.
    let mut other = crate::said::world();
    let there = other.create((Lit(2),)).expect("there is room");
    schedule.detach();
    run(&mut schedule, &mut other);
    assert!(take(&shown).is_empty(), "it observes the first one still");
    drop(world);
    run(&mut schedule, &mut other);
    assert_eq!(take(&shown), [vec![there]]);
}

#[test]
fn what_it_records_then_is_flushed_in_that_run() {
    let mut world = world();
    let lamp = world.create((Lit(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    let lamps = observing_processor::<Lit, ()>("lamps", Observed::CREATE, |batch, commands| {
        batch
            .for_each::<&mut Lit>(|lit| lit.0 += 1)
            .expect("it is asked for");
        for entity in batch.entities() {
            commands.add(entity, ('x',)).expect("there is room");
        }
    });
    schedule.add(lamps.show_existing());
    assert!(run(&mut schedule, &mut world).flush.is_clean());
    assert_eq!(world.get::<Lit>(lamp).expect("it lives").0, 1);
    assert!(world.has::<char>(lamp).expect("it lives"));
}

#[test]
fn who_panics_then_is_not_started_and_shown_all_by_the_next_run() {
    let mut world = world();
    let lamp = world.create((Lit(0),)).expect("there is room");
    let shown = Shown::default();
    let mut note = noting(&shown);
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    let burns =
        observing_processor::<Lit, ()>("brittle", Observed::COME, move |batch, commands| {
            if called.fetch_add(1, Ordering::Relaxed) < 2 {
                panic!("it burnt");
            }
            note(batch, commands);
        });
    let mut schedule = Schedule::new();
    schedule.add(burns.show_existing());
    for _ in 0..2 {
        let ran = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world)));
        let told = ran.expect_err("it panics").downcast::<String>();
        let told = *told.expect("it is text");
        assert_eq!(told, "processor `brittle` panicked: it burnt");
        // It is in no world: nobody hears of this, and there is nothing to stop.
        world.create((Lit(1),)).expect("there is room");
        schedule.stop(&mut world).expect("it is its world");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    run(&mut schedule, &mut world);
    let all = take(&shown);
    assert_eq!((all.len(), all[0].len(), all[0][0]), (1, 3, lamp));
    world.create((Lit(2),)).expect("there is room");
    assert_eq!(take(&shown).len(), 1);
    world.check().expect("it is whole");
    drop((schedule, world));
    assert_eq!(Arc::strong_count(&calls), 1, "the closure is dropped");
}

#[test]
fn who_observes_what_is_shared_is_a_processor_too() {
    let mut world = world();
    let red = world.create((1_u8,).shared("red")).expect("there is room");
    world.create((1_u8, "no team")).expect("there is room");
    let (teams, chunks) = (Shown::default(), Shown::default());
    let mut schedule = Schedule::new();
    let observe = observing_processor::<Shared<&str>, ()>(
        "teams",
        Observed::COME | Observed::GO,
        noting(&teams),
    );
    schedule.add(observe.show_existing());
    schedule.add(observing_processor::<PerChunk<u64>, With<u8>>(
        "chunks",
        Observed::COME,
        noting(&chunks),
    ));
    run(&mut schedule, &mut world);
    assert_eq!(take(&teams), [vec![red]]);
    let blue = world.create((2_u8,).shared("blue").per_chunk(7_u64));
    let blue = blue.expect("there is room");
    world.destroy(red).expect("it lives");
    assert_eq!(
        (take(&teams), take(&chunks)),
        (vec![vec![blue], vec![red]], vec![vec![blue]])
    );
    let nothing = observing_processor::<Shared<u8>, Without<Shared<u8>>>(
        "nothing",
        Observed::COME,
        |_, _| {},
    );
    let mut schedule = Schedule::new();
    schedule.add(nothing);
    let error = schedule.run(&mut world).expect_err("it contradicts itself");
    assert!(
        error.to_string().starts_with("processor `nothing`: "),
        "{error}"
    );
}

#[test]
fn who_does_not_observe_is_shown_nothing() {
    let mut schedule = Schedule::new();
    schedule.add(say("looks").show_existing());
    let error = schedule.run(&mut world()).expect_err("it has queries");
    let text = error.to_string();
    assert!(
        text.starts_with("processor `looks` does not observe"),
        "{text}"
    );
}
