//! Processors that hear signals by what these carry.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use megachunk::prelude::*;

use crate::misused::{A, Said, said, world};

/// What signals carry.
struct Bite(u32);

#[test]
fn a_signal_is_heard_by_what_it_carries_and_no_other_is() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    let by_type = world.signal_of::<Bite>();
    let by_name = world.signal::<Bite>("bite").expect("it is new");
    let other = world.signal_of::<u64>();
    let mut schedule = Schedule::new();
    let hears = move |mut heard: Signalled<&A>, said: &mut Said| {
        let _ = heard.deliver(|a, received| {
            let all: Vec<u32> = received.of(by_type).map(|bite| bite.0).collect();
            said.0
                .push(format!("{} got {all:?} of {}", a.0, received.len()));
        });
    };
    schedule.add(processor("hears", hears).hears_type::<Bite>());
    schedule.run(&mut world).expect("it runs");
    let mut signals = world.signals();
    signals.send(by_name, ant, Bite(9));
    signals.send(by_type, ant, Bite(2));
    signals.send(other, ant, 7);
    signals.send(by_type, ant, Bite(3));
    drop(signals);
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), ["1 got [2, 3] of 2"]);
}

#[test]
fn what_waits_for_a_processor_is_discarded_by_its_name_or_its_groups() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    let bite = world.signal_of::<Bite>();
    let mut schedule = Schedule::new();
    for (name, group) in [("one", "Ears"), ("two", "Ears.Left"), ("three", "")] {
        let hears = move |mut heard: Signalled<&A>, said: &mut Said| {
            let _ = heard.deliver(|_, received| said.0.push(format!("{name}: {}", received.len())));
        };
        let hears = processor(name, hears).hears_type::<Bite>();
        // One with conditions keeps its reader elsewhere.
        schedule.add(hears.group(group).run_if(|| true).enabled(name != "two"));
    }
    schedule.add(processor("deaf", || {}));
    assert_eq!(
        schedule.discard_signals(&mut world, "one"),
        Ok(0),
        "not subscribed"
    );
    schedule.run(&mut world).expect("it runs");
    let bites = |world: &World, count| {
        let mut signals = world.signals();
        (0..count).for_each(|n| signals.send(bite, ant, Bite(n)));
    };
    bites(&world, 2);
    assert_eq!(schedule.discard_signals(&mut world, "one"), Ok(2));
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), ["three: 2"]);
    bites(&world, 3);
    // Of the one that is switched off the first two as well.
    assert_eq!(schedule.discard_signals(&mut world, "Ears"), Ok(3 + 5));
    assert_eq!(schedule.discard_signals(&mut world, "deaf"), Ok(0));
    let refused = schedule.discard_signals(&mut world, "Eyes");
    assert!(
        matches!(refused, Err(ScheduleError::NoProcessor { .. })),
        "{refused:?}"
    );
    let refused = schedule.discard_signals(&mut World::new(), "one");
    assert_eq!(refused, Err(ScheduleError::OtherWorld));
    schedule.set_enabled("two", true).expect("it is there");
    bites(&world, 1);
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), ["one: 1", "two: 1", "three: 4"]);
}
