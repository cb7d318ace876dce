//! What consists of several parts that users gave ends, and all of their drops panic: each is dropped once, the first
//! panic goes on, and the program does.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::fmt;
use std::panic::resume_unwind;
use std::time::Duration;

use megachunk::prelude::*;

use crate::brittle::{ALWAYS, Brittle, Count, burns};
use crate::ends::ends_all_of;

/// A processor that does nothing, whose closure has a [`Brittle`].
fn holds(count: &Count, name: &str) -> ProcessorBuilder {
    let held = count.brittle(1);
    processor(name, move || assert_eq!(*held.0, 1))
}

/// The same, and so have its hooks.
fn hooked(count: &Count, name: &str) -> ProcessorBuilder {
    let (start, stop) = (count.brittle(2), count.brittle(3));
    holds(count, name)
        .on_start(move |_| assert_eq!(*start.0, 2))
        .on_stop(move |_| assert_eq!(*stop.0, 3))
}

/// The same, and so have its conditions.
fn conditional(count: &Count, name: &str) -> ProcessorBuilder {
    let (one, other) = (count.brittle(4), count.brittle(5));
    hooked(count, name)
        .run_if(move || *one.0 == 4)
        .run_if(move || *other.0 == 5)
}

/// A schedule of these.
fn schedule(all: impl IntoIterator<Item = ProcessorBuilder>) -> Schedule {
    let mut schedule = Schedule::new();
    for processor in all {
        schedule.add(processor);
    }
    schedule
}

/// The same, which has run.
fn has_run(all: impl IntoIterator<Item = ProcessorBuilder>) -> Schedule {
    let mut schedule = schedule(all);
    schedule.run(&mut World::new()).unwrap();
    schedule
}

#[test]
fn a_schedule_drops_all_processors() {
    let count = Count::default();
    let all = || ["p", "q", "r"].map(|name| holds(&count, name));
    ends_all_of(&count, || schedule(all()));
    ends_all_of(&count, || has_run(all()));
}

#[test]
fn processors_and_schedules_drop_hooks_beside_the_closure() {
    let count = Count::default();
    let all = || ["p", "q"].map(|name| hooked(&count, name));
    ends_all_of(&count, || hooked(&count, "p"));
    ends_all_of(&count, || schedule(all()));
    ends_all_of(&count, || has_run(all()));
}

#[test]
fn a_hook_that_another_takes_the_place_of_ends_and_so_does_the_processor() {
    let count = Count::default();
    for start in [true, false] {
        let (processor, held) = (hooked(&count, "p"), count.brittle(0));
        let hook = move |_: &mut World| assert_eq!(*held.0, 0);
        burns(ALWAYS, || {
            drop(match start {
                true => processor.on_start(hook),
                false => processor.on_stop(hook),
            });
        });
        assert_eq!(count.get(), 0);
    }
}

#[test]
fn processors_and_schedules_drop_conditions_beside_closure_and_hooks() {
    let count = Count::default();
    let all = || ["p", "q"].map(|name| conditional(&count, name));
    ends_all_of(&count, || conditional(&count, "p"));
    ends_all_of(&count, || schedule(all()));
    ends_all_of(&count, || has_run(all()));
    let (mut world, mut schedule) = (World::new(), schedule(all()));
    schedule.run(&mut world).unwrap();
    burns(ALWAYS, || schedule.remove(&mut world, "p").unwrap());
    assert_eq!((schedule.len(), count.get()), (1, 5));
    assert_eq!(schedule.run(&mut world).unwrap().ran, 1);
}

#[test]
fn schedules_drop_exclusive_processors_and_observers() {
    let count = Count::default();
    let all = || {
        let exclusive = ["p", "q"].map(|name| {
            let held = count.brittle(1);
            exclusive_processor(name, move |_| assert_eq!(*held.0, 1))
        });
        let observers = ["r", "s"].map(|name| {
            let held = count.brittle(1);
            observing_processor::<u8, ()>(name, Observed::COME, move |_, _| {
                assert_eq!(*held.0, 1);
            })
        });
        exclusive.into_iter().chain(observers)
    };
    ends_all_of(&count, || schedule(all()));
    ends_all_of(&count, || has_run(all()));
}

#[test]
fn a_composite_drops_all_processors() {
    let count = Count::default();
    let composite = || Composite::new("c", ["p", "q"].map(|name| conditional(&count, name)));
    ends_all_of(&count, composite);
    ends_all_of(&count, || {
        let mut schedule = Schedule::new();
        schedule.add_composite(composite());
        schedule
    });
}

#[test]
fn a_composite_that_is_not_finished_drops_the_processors_that_it_has() {
    let count = Count::default();
    burns(ALWAYS, || {
        let children = ["p", "q", "none"].into_iter().map(|name| match name {
            "none" => resume_unwind(Box::new("the fuse")),
            name => conditional(&count, name),
        });
        drop(Composite::new("c", children));
    });
    assert_eq!(count.get(), 0);
}

/// Kept by a processor.
#[derive(Default)]
struct Kept(Option<Brittle>);

/// A processor that keeps something in each of its parameters.
fn keeps(count: &Count, name: &str) -> ProcessorBuilder {
    let (held, count) = (count.brittle(1), count.clone());
    let run = move |mut one: Local<Kept>, (mut two, mut three): (Local<[Kept; 1]>, Local<Kept>)| {
        assert_eq!(*held.0, 1);
        one.0 = Some(count.brittle(2));
        two[0].0 = Some(count.brittle(3));
        three.0 = Some(count.brittle(4));
    };
    processor(name, run)
}

#[test]
fn processors_drop_all_that_their_parameters_keep() {
    let count = Count::default();
    ends_all_of(&count, || has_run([keeps(&count, "p")]));
    ends_all_of(&count, || {
        has_run(["p", "q"].map(|name| keeps(&count, name)))
    });
    // And when what they keep is to go, and they are not.
    let mut schedule = has_run(["p", "q"].map(|name| keeps(&count, name)));
    assert_eq!(count.get(), 8);
    burns(ALWAYS, || schedule.detach());
    assert_eq!(count.get(), 2);
    schedule.run(&mut World::new()).unwrap();
    assert_eq!(count.get(), 8);
}

/// An error of a processor.
#[derive(Debug)]
struct Failed(Brittle);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed {}", self.0.0)
    }
}

impl std::error::Error for Failed {}

#[test]
fn what_an_app_says_of_several_simulations_drops_all_of_their_errors() {
    let count = Count::default();
    ends_all_of(&count, || {
        let mut app = App::new();
        for name in ["one", "two", "three"] {
            let count = count.clone();
            let fails = move || Err::<(), _>(Failed(count.brittle(7)));
            let schedule = schedule([processor("fails", fails)]);
            app.add(name, Simulation::new(World::new(), schedule));
        }
        let error = app.update(Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.iter().count(), 3);
        error
    });
}
