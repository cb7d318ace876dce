//! Processors, hooks and what processors keep for themselves, whose drop panics: the schedule goes on with the others.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::signal::Received;

use crate::brittle::{Brittle, Count, burns, holds_nothing};

#[derive(Default)]
struct Said(Vec<u32>);

fn said(world: &mut World) -> Vec<u32> {
    let said = world.resources_mut().get_mut::<Said>();
    core::mem::take(&mut said.expect("it is there").0)
}

fn world() -> World {
    let mut world = World::new();
    world.resources_mut().insert(Said::default());
    world
}

/// A processor that says its number, and has a [`Brittle`], as its hooks have.
fn says(count: &Count, number: u32) -> ProcessorBuilder {
    let (held, start, stop) = (count.brittle(0), count.brittle(0), count.brittle(0));
    processor(format!("{number}"), move |said: &mut Said| {
        said.0.push(number + *held.0);
    })
    .on_start(move |_| assert_eq!(*start.0, 0))
    .on_stop(move |_| assert_eq!(*stop.0, 0))
}

#[test]
fn a_processor_whose_drop_panics_is_gone_as_a_whole() {
    for drops in [1, 2, 3, -1] {
        let count = Count::default();
        let mut world = world();
        let mut schedule = Schedule::new();
        for number in 0..4 {
            schedule.add(says(&count, number));
        }
        schedule.run(&mut world).unwrap();
        assert_eq!(said(&mut world), [0, 1, 2, 3]);
        burns(drops, || schedule.remove(&mut world, "1").unwrap());
        assert_eq!((schedule.len(), count.get()), (3, 9));
        assert!(schedule.is_enabled("1").is_err());
        schedule.run(&mut world).unwrap();
        assert_eq!(said(&mut world), [0, 2, 3]);
        schedule.add(says(&count, 7));
        schedule.set_enabled("2", false).unwrap();
        schedule.run(&mut world).unwrap();
        assert_eq!(said(&mut world), [0, 3, 7]);
    }
}

#[test]
fn what_a_processor_asks_for_is_still_known_when_the_drop_of_another_has_panicked() {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    let count = Count::default();
    let mut world = world();
    let mut schedule = Schedule::new();
    let writes = |said: &mut Said| {
        assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "it is lent twice");
        std::thread::sleep(Duration::from_millis(1));
        said.0.push(1);
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    };
    schedule.add(says(&count, 0));
    schedule.add(processor("one", writes));
    schedule.add(processor("between", || {}));
    schedule.add(processor("other", writes));
    schedule.set_execution(Execution::Beside);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(4).build();
    threads.unwrap().install(|| {
        schedule.run(&mut world).unwrap();
        burns(1, || schedule.remove(&mut world, "0").unwrap());
        schedule.add(processor("last", || {}));
        for _ in 0..20 {
            said(&mut world);
            schedule.run(&mut world).unwrap();
            assert_eq!(said(&mut world), [1, 1]);
        }
    });
}

/// Kept by a processor.
#[derive(Default)]
struct Kept(Option<Brittle>);

#[test]
fn a_schedule_that_is_detached_while_drops_panic_prepares_all_anew() {
    for drops in [1, 2, 3, -1] {
        let count = Count::default();
        let mut world = world();
        let mut schedule = Schedule::new();
        for number in 0..3 {
            let count = count.clone();
            let run = move |mut kept: Local<Kept>, mut other: Local<[Kept; 1]>, said: &mut Said| {
                said.0.push(u32::from(kept.0.is_some()) + number);
                kept.0 = Some(count.brittle(0));
                other[0].0 = Some(count.brittle(0));
            };
            schedule.add(processor(format!("{number}"), run));
        }
        schedule.run(&mut world).unwrap();
        assert_eq!(said(&mut world), [0, 1, 2]);
        assert_eq!(count.get(), 6);
        burns(drops, || schedule.detach());
        assert_eq!(count.get(), 0);
        schedule.run(&mut world).unwrap();
        assert_eq!(said(&mut world), [0, 1, 2], "what they kept is gone");
        // To another world, when this one has gone.
        drop(world);
        let mut other = self::world();
        burns(drops, || schedule.run(&mut other).map(drop).unwrap());
        assert_eq!(count.get(), 0);
        schedule.run(&mut other).unwrap();
        assert_eq!(said(&mut other), [0, 1, 2]);
    }
}

#[test]
fn a_simulation_whose_world_is_replaced_while_drops_panic_has_one_world_or_the_other() {
    for (drops, rolls_back) in [(1, false), (-1, false), (1, true), (-1, true)] {
        let count = Count::default();
        let mut schedule = Schedule::new();
        for number in 0..2 {
            let count = count.clone();
            let keeps = move |mut kept: Local<Kept>, said: &mut Said| {
                said.0.push(u32::from(kept.0.is_some()) + 10 * number);
                kept.0 = Some(count.brittle(0));
            };
            let starts = |world: &mut World| {
                let said = world.resources_mut().get_mut::<Said>();
                said.unwrap().0.push(100);
            };
            schedule.add(processor(format!("{number}"), keeps).on_start(starts));
        }
        let mut simulation = Simulation::new(world(), schedule);
        let tick = core::time::Duration::from_millis(1);
        simulation.advance(tick).unwrap();
        assert_eq!(said(simulation.world_mut()), [100, 100, 0, 10]);
        simulation.world_mut().create((5_u32,)).unwrap();
        let replace = |simulation: &mut Simulation| match rolls_back {
            true => drop(simulation.roll_back_to(world())),
            false => drop(simulation.replace_world(world())),
        };
        burns(drops, || replace(&mut simulation));
        assert_eq!(count.get(), 0);
        // Its own, in which all begins anew what was kept.
        assert_eq!((simulation.world().count(), simulation.tick()), (1, 1));
        simulation.advance(tick).unwrap();
        let again = [100, 100, 0, 10];
        let expected = match rolls_back {
            true => &again[2..],
            false => &again[..],
        };
        assert_eq!(said(simulation.world_mut()), expected);
        simulation.schedule_mut().detach();
        replace(&mut simulation);
        assert_eq!((simulation.world().count(), simulation.tick()), (0, 0));
        simulation.advance(tick).unwrap();
        assert_eq!(said(simulation.world_mut()), again);
        assert_eq!(count.get(), 2);
        drop(simulation);
        assert_eq!(count.get(), 0);
    }
}

#[test]
fn a_schedule_that_ends() {
    for drops in [1, 4, 9, -1] {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = world();
            let mut schedule = Schedule::new();
            for number in 0..3 {
                schedule.add(says(&count, number));
            }
            schedule.run(&mut world).unwrap();
            burns(drops, || drop(schedule));
            assert_eq!(count.get(), 0);
            world.check().unwrap();
        });
    }
}

#[test]
fn an_app_whose_simulation_panics_when_it_is_replaced() {
    let count = Count::default();
    let mut app = App::new();
    for _ in 0..3 {
        let mut world = world();
        world.create((count.brittle(1),)).unwrap();
        world.resources_mut().insert(count.brittle(1));
        app.add(
            format!("{}", app.iter().count()),
            Simulation::new(world, Schedule::new()),
        );
    }
    let mut other = world();
    other.create((count.brittle(2),)).unwrap();
    burns(1, || {
        app.add("1", Simulation::new(other, Schedule::new()));
    });
    let names: Vec<&str> = app.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["0", "2", "1"], "the new one is there");
    app.update(Duration::from_millis(1)).unwrap();
    drop(app);
    assert_eq!(count.get(), 0);
}

#[test]
fn who_subscribes_while_what_nobody_wants_panics_hears_what_is_sent_from_then_on() {
    let count = Count::default();
    let mut world = world();
    let ant = world.create((1_u8,)).unwrap();
    let doom = world.signal::<Brittle>("doom").unwrap();
    let calls = ["here", "there"].map(|name| world.signal::<u32>(name).unwrap());
    let mut schedule = Schedule::new();
    for number in 0..2 {
        let hears = move |mut one: Signalled, mut other: Signalled, said: &mut Said| {
            let mut hear = |_: Entity, received: Received| {
                said.0
                    .extend(calls.map(|call| received.of(call).sum::<u32>()));
            };
            assert_eq!(one.deliver(&mut hear).signals, 2);
            assert_eq!(other.deliver(hear).signals, 2);
        };
        let hears = processor(format!("{number}"), hears);
        schedule.add(hears.hears::<u32>("here").hears::<u32>("there"));
    }
    world.signals().send(doom, ant, count.brittle(0));
    burns(1, || drop(schedule.run(&mut world)));
    assert_eq!(count.get(), 0);
    for (call, number) in calls.into_iter().zip([3, 4]) {
        world.signals().send(call, ant, number);
    }
    schedule.run(&mut world).unwrap();
    assert_eq!(said(&mut world), [3, 4].repeat(4));
}
