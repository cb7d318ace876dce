//! What a paused simulation is sent by others.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::time::Duration;

use megachunk::prelude::*;

use crate::misused::{A, Said, said, world};

const MS: Duration = Duration::from_millis(1);

/// A processor hears numbers, and says which.
fn simulation() -> (Simulation, Entity, Signal<u32>) {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    let order = world.signal::<u32>("order").expect("it is new");
    let mut simulation = Simulation::new(world, Schedule::new());
    let hears = move |mut heard: Signalled<&A>, said: &mut Said| {
        let _ = heard.deliver(|_, received| {
            let all: Vec<u32> = received.of(order).copied().collect();
            said.0.push(format!("{all:?}"));
        });
    };
    let hears = processor("hears", hears).hears::<u32>("order");
    simulation.schedule_mut().add(hears);
    simulation.advance(MS).expect("it runs");
    (simulation, ant, order)
}

#[test]
fn what_is_sent_in_a_pause_comes_by_sort_key_however_many_frames_the_pause_has() {
    for frames in [0, 1, 3] {
        let (mut simulation, ant, order) = simulation();
        let signals = simulation.world().parallel_signals();
        simulation.pause();
        for key in [7, 3, 5] {
            std::thread::scope(|scope| {
                scope.spawn(|| signals.open_at(key).send(order, ant, key as u32));
            });
            for _ in 0..frames {
                assert_eq!(simulation.advance(MS).expect("it is paused").ticks, 0);
            }
        }
        simulation.resume().advance(MS).expect("it runs");
        assert_eq!(said(simulation.world_mut()), ["[3, 5, 7]"]);
    }
}

#[test]
fn a_pause_keeps_what_others_send_and_record_until_that_is_asked_for() {
    let (mut simulation, ant, order) = simulation();
    let unheard = simulation
        .world()
        .signal::<u32>("unheard")
        .expect("it is new");
    simulation.pause();
    let signals = simulation.world().parallel_signals();
    let commands = simulation.world().parallel_commands();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            signals.open().send_all(unheard, &[ant; 3], &1);
            signals.open().send(order, ant, 2);
            commands.open().destroy(ant);
        });
    });
    simulation.advance(MS).expect("it is paused");
    let waits = |simulation: &Simulation| {
        let pending = simulation.world().pending();
        (pending.commands, pending.signals)
    };
    assert_eq!(waits(&simulation), (1, 4));
    simulation.world_mut().collect_signals();
    assert_eq!(waits(&simulation), (1, 1), "nobody hears the others");
    let (world, schedule) = simulation.parts_mut();
    assert_eq!(schedule.discard_signals(world, "hears"), Ok(1));
    assert_eq!(waits(&simulation), (1, 0));
    assert!(simulation.world().exists(ant));
    assert!(simulation.world_mut().flush().is_clean());
    assert_eq!(waits(&simulation), (0, 0));
    assert!(!simulation.world().exists(ant));
}
