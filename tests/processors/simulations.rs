//! Simulations: worlds that run at a rate, are paused and stepped, one by one and several on one pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use megachunk::prelude::*;

use crate::pool;
use crate::said::{Said, said, say, world};

#[test]
fn a_tick_that_panics_before_it_runs_counts_with_its_time() {
    let mut schedule = Schedule::new();
    let mut starts = 0;
    schedule.add(
        processor("late", |time: &Time, said: &mut Said| {
            said.0.push(format!("{} at {:?}", time.tick, time.now));
        })
        .on_start(move |_| {
            starts += 1;
            assert!(starts > 1, "not yet");
        }),
    );
    let step = Duration::from_secs(1);
    let mut simulation = Simulation::new(world(), schedule);
    simulation.set_rate(Rate::Fixed { step, catch_up: 3 });
    let first = catch_unwind(AssertUnwindSafe(|| simulation.advance(step)));
    assert!(first.is_err());
    assert_eq!((simulation.tick(), simulation.world().time()), (1, step));
    simulation.advance(step).expect("it starts now");
    assert_eq!(
        (simulation.tick(), simulation.world().time()),
        (2, 2 * step)
    );
    assert_eq!(said(simulation.world_mut()), ["1 at 2s"]);
}

#[test]
fn a_simulation_is_paused_stepped_and_catches_up() {
    let mut simulation = Simulation::new(world(), Schedule::new());
    simulation
        .schedule_mut()
        .add(processor("tick", |time: &Time, said: &mut Said| {
            said.0.push(format!("{} at {:?}", time.tick, time.now));
        }));
    simulation.set_rate(Rate::Fixed {
        step: Duration::from_millis(10),
        catch_up: 3,
    });
    let ticks = |simulation: &mut Simulation, ms| {
        let report = simulation
            .advance(Duration::from_millis(ms))
            .expect("it runs");
        (report.ticks, report.dropped.as_millis())
    };
    assert_eq!(ticks(&mut simulation, 25), (2, 0));
    assert_eq!(ticks(&mut simulation, 100), (3, 70));
    simulation.pause();
    assert_eq!(ticks(&mut simulation, 100), (0, 0));
    simulation.step(2);
    assert_eq!(ticks(&mut simulation, 0), (2, 0));
    simulation.resume();
    simulation.step(7);
    assert_eq!(
        ticks(&mut simulation, 5),
        (1, 0),
        "with the rest from before the pause"
    );
    let said = said(simulation.world_mut());
    assert_eq!((said.len(), &*said[7]), (8, "7 at 80ms"));
}

#[test]
fn ticks_that_were_asked_for_are_forgotten_when_it_goes_on() {
    for rate in [Rate::EveryFrame, Rate::per_second(100)] {
        let mut simulation = Simulation::new(World::new(), Schedule::new());
        simulation.set_rate(rate);
        let ticks = |simulation: &mut Simulation| {
            let report = simulation.advance(Duration::from_millis(10));
            report.expect("it runs").ticks
        };
        simulation.pause();
        simulation.step(3);
        simulation.resume();
        simulation.pause();
        assert_eq!(simulation.until_next(), Duration::MAX);
        assert_eq!(ticks(&mut simulation), 0);
        simulation.step(3);
        simulation.resume();
        assert_eq!(ticks(&mut simulation), 1, "of its rate");
        simulation.pause();
        assert_eq!(ticks(&mut simulation), 0);
        simulation.step(3);
        assert_eq!(ticks(&mut simulation), 3);
    }
}

#[test]
fn several_worlds_run_on_one_pool_each_at_its_rate() {
    for threads in [1, 3] {
        pool(threads).install(|| {
            let mut app = App::new();
            for (name, rate) in [("fast", 100), ("slow", 10), ("bound", 50)] {
                let simulation = app.add(name, Simulation::new(world(), Schedule::new()));
                simulation.set_rate(Rate::per_second(rate));
                let here = std::thread::current().id();
                let tick = processor("tick", move |said: &mut Said| {
                    if name == "bound" {
                        assert_eq!(std::thread::current().id(), here);
                    }
                    said.0.push(name.into());
                });
                let tick = if name == "bound" {
                    tick.main_thread()
                } else {
                    tick
                };
                simulation.schedule_mut().add(tick);
            }
            for _ in 0..20 {
                app.update(Duration::from_millis(50)).expect("all run");
            }
            let ticks = |name: &str, app: &mut App| {
                said(app.get_mut(name).expect("it is there").world_mut()).len()
            };
            assert_eq!(
                ["fast", "slow", "bound"].map(|name| ticks(name, &mut app)),
                [100, 10, 50]
            );
            assert!(app.remove("slow").is_some() && app.get("slow").is_none());
        });
    }
}

#[test]
fn an_error_in_one_world_does_not_stop_the_others() {
    let mut app = App::new();
    app.add("poor", Simulation::new(World::new(), Schedule::new()))
        .schedule_mut()
        .add(say("hello"));
    app.add("poor too", Simulation::new(World::new(), Schedule::new()))
        .schedule_mut()
        .add(say("goodbye"));
    app.add("rich", Simulation::new(world(), Schedule::new()))
        .schedule_mut()
        .add(say("hello"));
    let error = app
        .update(Duration::from_millis(1))
        .expect_err("a resource is missing");
    let named: Vec<&str> = error.iter().map(|(name, _)| name).collect();
    assert_eq!(named, ["poor", "poor too"]);
    let told = error.to_string();
    for part in [
        "simulation `poor`: processor `hello`",
        "; simulation `poor too`: processor `goodbye`",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(
        said(app.get_mut("rich").expect("it is there").world_mut()),
        ["hello"]
    );
}
