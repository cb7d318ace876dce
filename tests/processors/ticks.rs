//! The ticks of a simulation: their numbers, and what becomes of those behind one that fails.

use std::time::Duration;

use megachunk::prelude::*;
use megachunk::processor::NetModes;

use crate::misused::{Said, said, world};

const MS: Duration = Duration::from_millis(1);

/// Ticks of ten milliseconds, each of which says its number and time.
fn simulation() -> Simulation {
    let mut simulation = Simulation::new(world(), Schedule::new());
    simulation.set_rate(Rate::Fixed {
        step: 10 * MS,
        catch_up: 8,
    });
    let tick = processor("tick", |time: &Time, said: &mut Said| {
        said.0.push(format!("{} at {:?}", time.tick, time.now));
    });
    simulation.schedule_mut().add(tick);
    simulation
}

#[test]
fn ticks_that_were_due_behind_one_that_failed_are_dropped_and_the_rest_is_carried() {
    let mut simulation = simulation();
    let fails = processor("fails", |time: &Time| match time.tick {
        1 => Err("it is the second"),
        _ => Ok(()),
    });
    simulation.schedule_mut().add(fails.after("tick"));
    // Four are due, and half of another.
    let error = simulation.advance(45 * MS).expect_err("one fails");
    assert_eq!(error.to_string(), "processor `fails`: it is the second");
    assert_eq!(said(simulation.world_mut()), ["0 at 10ms", "1 at 20ms"]);
    // The one that failed is counted, with its time.
    let stands = |simulation: &Simulation| (simulation.tick(), simulation.world().time());
    assert_eq!(stands(&simulation), (2, 20 * MS));
    // What the one before it has done is not lost.
    let report = simulation.last_report();
    assert_eq!((report.ticks, report.schedule.ran), (1, 2));
    assert_eq!(simulation.until_next(), 5 * MS);
    let report = simulation.advance(4 * MS).expect("none is due");
    assert_eq!((report.ticks, report.dropped), (0, Duration::ZERO));
    let report = simulation.advance(MS).expect("it runs");
    assert_eq!((report.ticks, report.dropped), (1, Duration::ZERO));
    assert_eq!(said(simulation.world_mut()), ["2 at 30ms"]);
    assert_eq!(stands(&simulation), (3, 30 * MS));
}

#[test]
fn a_tick_has_the_number_that_was_set_and_what_has_passed_towards_it_stays() {
    let mut simulation = simulation();
    simulation.advance(16 * MS).expect("it runs");
    assert_eq!(simulation.set_tick(40).tick(), 40);
    assert_eq!(simulation.until_next(), 4 * MS);
    simulation.advance(14 * MS).expect("it runs");
    assert_eq!(simulation.tick(), 42);
    // Numbers begin again behind the last one.
    simulation.set_tick(u64::MAX);
    simulation.advance(20 * MS).expect("it runs");
    let last = format!("{} at 40ms", u64::MAX);
    let expected = ["0 at 10ms", "40 at 20ms", "41 at 30ms", &last, "0 at 50ms"];
    assert_eq!(said(simulation.world_mut()), expected);
    assert_eq!(simulation.tick(), 1);
}

#[test]
fn a_simulation_is_paused_from_its_pause_until_it_is_resumed() {
    let mut simulation = simulation();
    assert!(!simulation.is_paused());
    simulation.pause();
    assert!(simulation.is_paused());
    simulation.step(1);
    simulation.advance(MS).expect("it runs");
    assert!(simulation.is_paused(), "whatever is asked for");
    simulation.resume();
    assert!(!simulation.is_paused());
}

#[test]
fn what_a_simulation_and_its_schedule_are_told_is_told_in_one_breath() {
    let mut simulation = simulation();
    let paused = simulation.set_tick(7).pause().step(2).advance(MS);
    assert_eq!(paused.expect("they run").ticks, 2);
    assert_eq!(said(simulation.world_mut()), ["7 at 10ms", "8 at 20ms"]);
    assert!(!simulation.pause().step(3).resume().is_paused());
    simulation.advance(10 * MS).expect("it runs");
    assert_eq!(said(simulation.world_mut()).len(), 1);

    let schedule = simulation.schedule_mut();
    schedule
        .set_net_modes(NetModes::SERVER)
        .set_execution(Execution::Alone)
        .set_measured(true)
        .add(processor("after", || {}).net_modes(NetModes::CLIENT));
    simulation.advance(10 * MS).expect("it runs");
    let timings = simulation.schedule_mut().timings();
    let runs: Vec<_> = timings.map(|(name, timing)| (name, timing.runs)).collect();
    assert_eq!(runs, [("tick", 1), ("after", 0)]);
}

#[test]
fn a_simulation_shows_its_rate_and_its_processors() {
    let mut simulation = simulation();
    let Rate::Fixed { step, catch_up } = simulation.rate() else {
        panic!("{:?}", simulation.rate());
    };
    assert_eq!((step, catch_up), (10 * MS, 8));
    simulation.set_rate(Rate::EveryFrame);
    assert!(matches!(simulation.rate(), Rate::EveryFrame));
    assert_eq!(simulation.schedule().len(), 1);
    assert!(!simulation.schedule().is_empty() && Schedule::new().is_empty());
}
