//! An observer that came late is shown who is there.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use megachunk::observer::ObservedBatch;
use megachunk::prelude::*;

#[derive(Clone, Copy, PartialEq)]
struct Lit(u32);
megachunk::plain!(Lit { 0 });
struct Wet;

type Shown = Arc<Mutex<Vec<Vec<Entity>>>>;

/// What notes each batch.
fn noting(shown: &Shown) -> impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + use<> {
    let shown = Arc::clone(shown);
    move |batch, _| {
        assert_eq!(batch.change(), Observed::CREATE);
        shown.lock().unwrap().push(batch.entities().collect());
    }
}

#[test]
fn who_is_there_is_shown_in_one_batch_as_the_filter_says() {
    let mut world = World::new();
    world.registry().register_enableable::<Lit>().unwrap();
    let lamps = world.create_batch((0..3_000).map(|n| (Lit(n),))).unwrap();
    let lamps: Vec<Entity> = lamps.iter(&world).collect();
    let wet = world.create((Lit(1), Wet)).unwrap();
    let long = world.create((Lit(2), 7_u64)).unwrap();
    world.create((Wet,)).unwrap();
    assert_eq!(world.destroy_slice(&lamps[100..200]).done, 100);
    world.set_enabled::<Lit>(lamps[5], false).unwrap();
    let shown = Shown::default();
    let all = world
        .observe::<Lit, ()>(Observed::COME, noting(&shown))
        .unwrap();
    let dry = world.observe::<Lit, (Without<Wet>, With<Lit>)>(Observed::CREATE, noting(&shown));
    let dry = dry.unwrap();
    let ends = world
        .observe::<Lit, ()>(Observed::GO | Observed::ADD, noting(&shown))
        .unwrap();
    let take = || std::mem::take(&mut *shown.lock().unwrap());
    assert_eq!(world.show_existing(all), 2_902);
    let batches = take();
    assert_eq!(batches.len(), 1);
    let mut there: Vec<Entity> = Vec::new();
    let mut lit = Query::<(Entity, &Lit)>::new(&world).unwrap();
    lit.read(&world)
        .for_each_chunk(|_, (entities, _)| there.extend(entities));
    assert_eq!(
        batches[0], there,
        "in the order of rows, switched on or off"
    );
    assert_eq!(world.show_existing(dry), 2_900);
    let batches = take();
    let is_shown = |entity| batches[0].contains(&entity);
    assert!(is_shown(long) && !is_shown(wet) && !is_shown(lamps[5]));
    assert_eq!(world.show_existing(ends), 0);
    assert!(world.unobserve(all));
    assert_eq!(world.show_existing(all), 0);
    assert_eq!(world.show_existing(dry), 2_900, "again, if it is asked for");
    assert!(world.unobserve(ends));
    world.clear();
    assert_eq!((world.show_existing(dry), take().len()), (0, 1));
}

#[test]
fn what_it_changes_and_records_is_as_ever() {
    let mut world = World::new();
    let lamp = world.create((Lit(1),)).unwrap();
    let light = world.observe::<Lit, ()>(Observed::CREATE, |batch, commands| {
        batch.for_each::<&mut Lit>(|lit| lit.0 += 1).unwrap();
        for entity in batch.entities() {
            commands.add(entity, ('x',)).unwrap();
        }
    });
    let light = light.unwrap();
    assert_eq!(world.show_existing(light), 1);
    assert!(world.get::<Lit>(lamp).unwrap().0 == 2 && !world.has::<char>(lamp).unwrap());
    assert!(world.flush().is_clean());
    assert!(world.has::<char>(lamp).unwrap());
    world.check().unwrap();
}

#[test]
fn an_observer_that_panics_is_still_there() {
    let mut world = World::new();
    world.create((Lit(1),)).unwrap();
    let shown = Shown::default();
    let mut note = noting(&shown);
    let mut burns = true;
    let light = world.observe::<Lit, ()>(Observed::CREATE, move |batch, commands| {
        if std::mem::take(&mut burns) {
            resume_unwind(Box::new("as if it burnt"));
        }
        note(batch, commands);
    });
    let light = light.unwrap();
    let burnt = catch_unwind(AssertUnwindSafe(|| world.show_existing(light))).unwrap_err();
    assert_eq!(burnt.downcast_ref(), Some(&"as if it burnt"));
    world.check().unwrap();
    assert_eq!(world.show_existing(light), 1);
    world.create((Lit(2),)).unwrap();
    assert_eq!(shown.lock().unwrap().len(), 2);
}

#[test]
fn who_came_out_of_a_file_is_shown() {
    let mut world = World::new();
    world.registry().register_plain::<Lit>().unwrap();
    let lamp = world.create((Lit(3),)).unwrap();
    let file = world.to_snapshot(&Default::default()).unwrap();
    let universe = Universe::new();
    universe.registry().register_plain::<Lit>().unwrap();
    let mut loaded = World::from_snapshot(&file, universe, &Default::default()).unwrap();
    let shown = Shown::default();
    let light = loaded
        .observe::<Lit, ()>(Observed::CREATE, noting(&shown))
        .unwrap();
    assert!(shown.lock().unwrap().is_empty());
    assert_eq!(loaded.show_existing(light), 1);
    assert_eq!(*shown.lock().unwrap(), [vec![lamp]]);
}
