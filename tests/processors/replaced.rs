//! Another world comes in the place of a simulation's, to begin there or to go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::said::{Said, said, say, world};
use megachunk::prelude::*;

const MS: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, PartialEq)]
#[repr(transparent)]
struct Lit(u32);
megachunk::plain!(Lit { 0 });

/// Adds a word to what a world says.
fn tell(world: &mut World, word: &str) {
    let told = world.resources_mut().get_mut::<Said>();
    told.expect("it is there").0.push(word.into());
}

/// A processor with both hooks, one that keeps its runs, and two observers, of which one is shown who is there.
fn schedule() -> Schedule {
    let mut schedule = Schedule::new();
    let lit = say("lit").on_start(|world| tell(world, "start"));
    schedule.add(lit.on_stop(|world| tell(world, "stop")));
    schedule.add(
        processor("runs", |mut runs: Local<'_, u32>, said: &mut Said| {
            *runs += 1;
            said.0.push(format!("run {}", *runs));
        })
        .after("lit"),
    );
    for (name, what, shows) in [("sees", "new", false), ("shown", "all", true)] {
        let sees = observing_processor::<Lit, ()>(name, Observed::COME, move |batch, _| {
            let told = batch.resources_mut().get_mut::<Said>();
            told.expect("it is there").0.push(format!("{name} {what}"));
        });
        schedule.add(match shows {
            true => sees.show_existing(),
            false => sees,
        });
    }
    // What it is told holds in every world.
    schedule.add(say("off").enabled(false));
    schedule
}

/// A world with an entity, and as if so many ticks had been.
fn after(ticks: u64) -> World {
    let mut world = world();
    world.create((Lit(1),)).expect("there is room");
    if ticks > 0 {
        let time = Time::new(Duration::ZERO, Duration::ZERO, ticks - 1);
        world.resources_mut().insert(time);
    }
    world
}

/// Fifteen milliseconds are a tick and a half.
fn simulation() -> Simulation {
    let mut simulation = Simulation::new(after(0), schedule());
    simulation.set_rate(Rate::Fixed {
        step: 10 * MS,
        catch_up: 8,
    });
    simulation.advance(15 * MS).expect("it runs");
    simulation
}

const FIRST: [&str; 4] = ["start", "shown all", "lit", "run 1"];

#[test]
fn in_another_world_all_is_stopped_and_starts_again() {
    let mut simulation = simulation();
    let mut first = simulation.replace_world(after(40));
    assert_eq!(said(&mut first), [&FIRST[..], &["stop"]].concat());
    first.create((Lit(2),)).expect("there is room");
    assert!(said(&mut first).is_empty(), "nobody observes it any more");
    // The clock stays, and what the schedule was told.
    assert_eq!((simulation.tick(), simulation.fraction()), (40, 0.5));
    assert_eq!(simulation.until_next(), 5 * MS);
    simulation
        .world_mut()
        .create((Lit(2),))
        .expect("there is room");
    assert!(
        said(simulation.world_mut()).is_empty(),
        "nobody has started"
    );
    // The first one lives on beside it.
    assert_eq!(simulation.advance(5 * MS).expect("it runs").ticks, 1);
    assert_eq!(said(simulation.world_mut()), FIRST);
    assert_eq!(simulation.tick(), 41);
    simulation
        .world_mut()
        .create((Lit(3),))
        .expect("there is room");
    assert_eq!(said(simulation.world_mut()), ["sees new", "shown all"]);
    // One without a time begins with the first tick.
    drop(simulation.replace_world(after(0)));
    assert_eq!(simulation.tick(), 0);
}

#[test]
fn a_world_that_is_rolled_back_to_goes_on_without_a_stop_and_a_start() {
    let mut simulation = simulation();
    let mut first = simulation.roll_back_to(after(7));
    assert_eq!(said(&mut first), FIRST, "nothing is stopped");
    first.create((Lit(2),)).expect("there is room");
    assert!(said(&mut first).is_empty(), "nobody observes it any more");
    assert_eq!((simulation.tick(), simulation.fraction()), (7, 0.5));
    simulation
        .world_mut()
        .create((Lit(2),))
        .expect("there is room");
    assert_eq!(
        said(simulation.world_mut()),
        ["sees new", "shown all"],
        "at once"
    );
    assert_eq!(simulation.advance(5 * MS).expect("it runs").ticks, 1);
    assert_eq!(
        said(simulation.world_mut()),
        ["lit", "run 1"],
        "what is kept is new"
    );
    // It was started all the same, and is stopped.
    drop(simulation.roll_back_to(after(8)));
    let schedule = simulation.schedule_mut();
    schedule.set_enabled("lit", false).expect("it is there");
    schedule.set_enabled("shown", false).expect("it is there");
    simulation.advance(10 * MS).expect("it runs");
    assert_eq!(said(simulation.world_mut()), ["stop", "run 1"]);
    let schedule = simulation.schedule_mut();
    schedule.set_enabled("lit", true).expect("it is there");
    schedule.set_enabled("shown", true).expect("it is there");
    simulation.advance(10 * MS).expect("it runs");
    assert_eq!(
        said(simulation.world_mut()),
        ["start", "shown all", "lit", "run 2"]
    );
    let (mut world, _) = simulation.into_parts();
    assert_eq!(said(&mut world), ["stop"]);
}

#[test]
fn who_was_not_started_before_starts_in_the_world_that_is_rolled_back_to() {
    let mut never = Simulation::new(after(0), schedule());
    drop(never.roll_back_to(after(3)));
    never.advance(10 * MS).expect("it runs");
    assert_eq!(said(never.world_mut()), FIRST);
    let time = never.world().resources().get::<Time>();
    assert_eq!(time.map(|time| time.tick), Some(3));

    let mut simulation = simulation();
    simulation
        .schedule_mut()
        .add(say("late").on_start(|world| tell(world, "late start")));
    drop(simulation.roll_back_to(after(3)));
    simulation.advance(5 * MS).expect("it runs");
    let told = said(simulation.world_mut());
    assert_eq!(
        told.iter().filter(|word| word.contains("start")).count(),
        1,
        "{told:?}"
    );
}

#[test]
fn a_pause_and_ticks_that_were_asked_for_stay() {
    for rolls_back in [false, true] {
        let mut simulation = simulation();
        simulation.pause().step(2);
        let first = match rolls_back {
            true => simulation.roll_back_to(after(5)),
            false => simulation.replace_world(after(5)),
        };
        drop(first);
        assert!(simulation.is_paused());
        assert_eq!(simulation.advance(90 * MS).expect("it runs").ticks, 2);
        assert_eq!((simulation.tick(), simulation.fraction()), (7, 0.5));
    }
}

#[test]
fn a_schedule_that_is_of_another_world_begins_in_the_one_that_comes() {
    for rolls_back in [false, true] {
        let mut simulation = simulation();
        // Behind its back.
        let mut stolen = core::mem::replace(simulation.world_mut(), after(0));
        said(&mut stolen);
        let before = match rolls_back {
            true => simulation.roll_back_to(after(5)),
            false => simulation.replace_world(after(5)),
        };
        drop(before);
        simulation.advance(5 * MS).expect("it has no other world");
        let told = said(simulation.world_mut());
        assert_eq!(
            told,
            ["start", "lit", "run 1"],
            "observers are in the other"
        );
        assert!(said(&mut stolen).is_empty());
        drop(stolen);
        simulation.advance(10 * MS).expect("it runs");
        assert_eq!(said(simulation.world_mut()), ["shown all", "lit", "run 2"]);
    }
}

#[test]
fn a_world_stays_where_a_stop_panics_and_is_replaced_by_the_next_call() {
    let mut simulation = simulation();
    let burns = say("burns").on_stop(|_| panic!("it burnt"));
    simulation.schedule_mut().add(burns);
    simulation.advance(10 * MS).expect("it runs");
    said(simulation.world_mut());
    let replaced = catch_unwind(AssertUnwindSafe(|| simulation.replace_world(after(40))));
    assert!(replaced.is_err());
    assert_eq!((simulation.tick(), simulation.fraction()), (2, 0.5));
    assert_eq!(said(simulation.world_mut()), ["stop"]);
    // It goes on there.
    simulation.advance(10 * MS).expect("it runs");
    assert_eq!(simulation.tick(), 3);
    let replaced = catch_unwind(AssertUnwindSafe(|| simulation.replace_world(after(40))));
    assert!(replaced.is_err());
    let first = simulation.replace_world(after(40));
    first.check().expect("it is whole");
    assert_eq!((first.count(), simulation.tick()), (1, 40));
}

#[test]
fn signals_that_wait_in_the_world_that_comes_are_heard() {
    let universe = || {
        let universe = Universe::ordered();
        let known = universe.registry();
        known.register_plain_as::<Lit>("lit").expect("it is new");
        known.register_state_as::<u32>("by").expect("it is new");
        Time::register(known).expect("it is new");
        universe
    };
    let mut world = World::of(&Arc::new(universe())).expect("there is room");
    let lamp = world.create((Lit(1),)).expect("there is room");
    let brighter = world.signal::<u32>("brighter").expect("it is new");
    world.signals().send_after(brighter, lamp, 4, 20 * MS);
    let mut schedule = Schedule::new();
    let hears = |mut all: Signalled<'_, &mut Lit>| {
        _ = all.deliver(|lit, received| lit.0 += received.len() as u32);
    };
    schedule.add(processor("hears", hears).hears::<u32>("brighter"));
    let mut simulation = Simulation::new(world, schedule);
    simulation.advance(10 * MS).expect("it runs");
    let saved = simulation
        .world()
        .to_snapshot(&Default::default())
        .expect("it is saved");
    for _ in 0..3 {
        simulation.advance(10 * MS).expect("it runs");
        assert_eq!(simulation.world().get::<Lit>(lamp).expect("it lives").0, 2);
        let loaded =
            World::from_snapshot(&saved, universe(), &Default::default()).expect("it is loaded");
        drop(simulation.roll_back_to(loaded));
        assert_eq!(simulation.world().get::<Lit>(lamp).expect("it lives").0, 1);
        assert_eq!(simulation.tick(), 1);
    }
}

#[test]
fn a_schedule_names_those_that_keep_what_no_file_has() {
    struct Counts;
    impl Processor for Counts {
        type Params = (Local<'static, [u8; 4]>, &'static mut Said);
        type Output = ();

        fn execute(&mut self, _: (Local<'_, [u8; 4]>, &mut Said)) {}
    }
    let mut schedule = Schedule::new();
    assert!(schedule.unsaved().is_empty());
    schedule.add(say("says"));
    schedule.add(processor("keeps", |_: Local<'_, u32>| {}).phase(Phase::FrameEnd));
    schedule.add(processor("nothing", |_: Local<'_, ()>| {}));
    schedule.add(exclusive_processor("alone", |_| {}));
    let asks = processor("asks", |(_, _): ((&Said,), (Local<'_, u8>,))| {});
    schedule.add(asks.run_if(|_: &Said| true));
    schedule.add(ProcessorBuilder::of("counts", Counts));
    schedule.add(observing_processor::<Lit, ()>(
        "sees",
        Observed::COME,
        |_, _| {},
    ));
    let keep = ["keeps", "asks", "counts"];
    assert_eq!(schedule.unsaved(), keep, "before it has run");
    let mut world = world();
    schedule.run(&mut world).expect("it runs");
    assert_eq!(schedule.unsaved(), keep);
    schedule.remove(&mut world, "keeps").expect("it is there");
    assert_eq!(schedule.unsaved(), keep[1..]);
}
