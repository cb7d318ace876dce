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
