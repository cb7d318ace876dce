//! What consists of several parts that users gave ends, and all of their drops panic: each is dropped once, the first
//! panic goes on, and the program does.

use megachunk::prelude::*;

use crate::brittle::Count;
use crate::ends::ends_all_of;

/// A processor that does nothing, whose closure has a [`Brittle`].
fn holds(count: &Count, name: &str) -> ProcessorBuilder {
    let held = count.brittle(1);
    processor(name, move || assert_eq!(*held.0, 1))
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
