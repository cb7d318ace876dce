//! Runs that somebody watches: the same as others, and what is seen between processors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::processor::ScheduleReport;

use crate::said::say;

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Height(u32);
megachunk::plain!(Height { 0 });

/// Falls in parallel, creates and destroys, hears and asks.
fn schedule() -> Schedule {
    let mut schedule = Schedule::new();
    schedule
        .add(processor("fall", |mut all: QueryRun<'_, &mut Height>| {
            all.par_for_each(|height| height.0 = height.0.saturating_sub(1));
        }))
        .add(
            processor(
                "land",
                |mut all: QueryRun<'_, (Entity, &Height)>, commands: ParallelCommands| {
                    all.par_for_each_init(
                        |chunk| commands.open_at(chunk.sort_key()),
                        |commands, (entity, height)| {
                            if height.0 == 0 {
                                commands.destroy(entity);
                                commands.create((Height(7),)).unwrap();
                            }
                        },
                    );
                },
            )
            .after("fall"),
        )
        .add(processor("idle", || {}).enabled(false))
        .add(processor("never", || {}).run_if(|| false))
        .add(exclusive_processor("alone", |world: &mut World| {
            world.create((Height(3),)).unwrap();
        }))
        .add(
            processor("late", |mut all: QueryRun<'_, &mut Height>| {
                all.for_each(|height| height.0 += 1);
            })
            .phase(Phase::FrameEnd),
        );
    schedule
}

fn world() -> World {
    let world = World::of(&Arc::new(Universe::ordered())).unwrap();
    world.registry().register_plain::<Height>().unwrap();
    let mut world = world;
    let _ = world
        .create_batch((0..3_000_u32).map(|n| (Height(n % 9),)))
        .unwrap();
    world
}

type Steps = Vec<(String, u64)>;

fn watch(world: &mut World, schedule: &mut Schedule) -> (ScheduleReport, Steps) {
    let mut steps = Steps::new();
    let report = schedule.run_watched(world, |world, name| {
        steps.push((
            name.to_owned(),
            world.state_hash(&Default::default()).unwrap(),
        ));
    });
    (report.unwrap(), steps)
}

#[test]
fn a_watched_run_does_what_any_other_does_and_shows_each_step() {
    let (mut one, mut two) = (world(), world());
    let (mut watched, mut plain) = (schedule(), schedule());
    for _ in 0..12 {
        let (report, steps) = watch(&mut one, &mut watched);
        assert_eq!(report, plain.run(&mut two).unwrap());
        assert_eq!(
            one.state_hash(&Default::default()).unwrap(),
            two.state_hash(&Default::default()).unwrap()
        );
        let rows =
            |world: &World| -> Vec<Entity> { world.read::<Entity, ()>().unwrap().iter().collect() };
        assert_eq!(rows(&one), rows(&two));
        let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[0], "flush", "{names:?}");
        for name in ["fall", "land", "alone", "late"] {
            assert_eq!(
                names.iter().filter(|one| **one == name).count(),
                1,
                "{names:?}"
            );
        }
        assert!(!names.contains(&"idle") && !names.contains(&"never"));
        let at = |name: &str| names.iter().position(|one| *one == name).unwrap();
        // What is recorded is seen behind the flush; what is changed at once.
        let (land, flush) = (at("land"), at("flush after land"));
        assert!(at("fall") < land && land < flush, "{names:?}");
        assert_ne!(steps[at("fall")].1, steps[at("fall") - 1].1);
        assert_eq!(steps[land].1, steps[land - 1].1);
        assert_ne!(steps[at("alone")].1, steps[at("alone") - 1].1);
        assert_eq!(names.last(), Some(&"flush after late"));
        assert_eq!(
            steps.last().unwrap().1,
            one.state_hash(&Default::default()).unwrap()
        );
    }
}

#[test]
fn the_processor_that_makes_two_worlds_part_is_found() {
    let [(_, ours), (_, theirs)] = [1, 2].map(|wrong| {
        let (mut world, mut schedule) = (world(), schedule());
        schedule.add(
            processor("wrong", move |mut all: QueryRun<'_, &mut Height>| {
                all.for_each(|height| height.0 += wrong);
            })
            .after("fall")
            .before("land"),
        );
        watch(&mut world, &mut schedule)
    });
    let parts = ours.iter().zip(&theirs).find(|(one, two)| one != two);
    assert_eq!(parts.unwrap().0.0, "wrong");
}

#[test]
fn a_panic_of_who_watches_leaves_all_usable() {
    let names = {
        let (_, steps) = watch(&mut world(), &mut schedule());
        steps.into_iter().map(|(name, _)| name)
    };
    for (at, name) in names.enumerate() {
        let (mut one, mut schedule) = (world(), schedule());
        let mut seen = 0;
        let burnt = catch_unwind(AssertUnwindSafe(|| {
            schedule.run_watched(&mut one, |_, _| {
                seen += 1;
                assert!(seen <= at, "as if it burnt");
            })
        }));
        assert!(burnt.is_err(), "{name}");
        assert_eq!(seen, at + 1);
        one.check().unwrap();
        // What was recorded by then is not lost.
        if name == "land" {
            assert_ne!(one.pending().entities, 0);
        }
        schedule.run(&mut one).unwrap();
        one.check().unwrap();
        assert_eq!(one.pending().entities, 0, "{name}");
    }
}

#[test]
fn who_fails_is_not_shown_and_the_error_is_that_of_any_run() {
    let mut world = crate::said::world();
    let mut schedule = Schedule::new();
    schedule
        .add(say("one"))
        .add(processor("two", || Err::<(), _>("no")).after("one"))
        .add(say("three").after("two"));
    let mut seen = Vec::new();
    let told = schedule.run_watched(&mut world, |_, name| seen.push(name.to_owned()));
    assert_eq!(told.unwrap_err().to_string(), "processor `two`: no");
    assert_eq!(seen, ["flush", "one"]);
    let panics = processor("four", || panic!("as if it burnt"))
        .after("one")
        .before("two");
    schedule.add(panics);
    seen.clear();
    let burnt = catch_unwind(AssertUnwindSafe(|| {
        schedule.run_watched(&mut world, |_, name| seen.push(name.to_owned()))
    }));
    let said = burnt.unwrap_err();
    let said = said.downcast_ref::<String>().unwrap();
    assert_eq!(said, "processor `four` panicked: as if it burnt");
    assert_eq!(seen, ["flush", "one"]);
}

#[test]
fn a_simulation_is_watched_tick_by_tick() {
    let mut simulation = Simulation::new(world(), schedule());
    simulation.set_rate(Rate::per_second(50));
    let mut other = Simulation::new(world(), schedule());
    other.set_rate(Rate::per_second(50));
    let mut falls = 0;
    let elapsed = Duration::from_millis(70);
    let report = simulation.advance_watched(elapsed, |_, name| falls += u32::from(name == "fall"));
    assert_eq!(report.unwrap(), other.advance(elapsed).unwrap());
    assert_eq!((falls, simulation.tick()), (3, 3));
    let hashes =
        [&simulation, &other].map(|one| one.world().state_hash(&Default::default()).unwrap());
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn who_looks_for_changes_sees_those_of_who_comes_later_also_behind_one_that_is_passed_by() {
    let seen = |watched: bool| {
        let mut world = World::new();
        world.create((0_u32, Vec::<usize>::new())).unwrap();
        let mut schedule = Schedule::new();
        schedule
            .add(processor("begins", || {}))
            .add(processor("never", || {}).run_if(|| false).after("begins"))
            .add(
                processor(
                    "looks",
                    |mut changed: QueryRun<'_, &u32, Changed<u32>>,
                     mut all: QueryRun<'_, &mut Vec<usize>>| {
                        let count = changed.count();
                        all.for_each(|seen| seen.push(count));
                    },
                )
                .after("never"),
            )
            .add(
                processor("writes", |mut all: QueryRun<'_, &mut u32>| {
                    all.for_each(|number| *number += 1);
                })
                .after("looks"),
            );
        for _ in 0..4 {
            match watched {
                true => schedule.run_watched(&mut world, |_, _| {}),
                false => schedule.run(&mut world),
            }
            .unwrap();
        }
        let mut seen = Query::<&Vec<usize>>::new(&world).unwrap();
        seen.read(&world).iter().next().unwrap().clone()
    };
    assert_eq!(seen(false), [1; 4]);
    assert_eq!(seen(true), [1; 4]);
}

#[test]
fn who_watches_and_looks_for_changes_misses_none_of_those_that_come_later() {
    let mut world = World::new();
    world.create((0_u32, 0_u64)).unwrap();
    let mut schedule = Schedule::new();
    // One part between flushes: all three have their turns in it.
    schedule
        .add(processor("one", |mut all: QueryRun<'_, &mut u32>| {
            all.for_each(|number| *number += 1);
        }))
        .add(processor("two", |mut all: QueryRun<'_, &mut u64>| {
            all.for_each(|number| *number += 1);
        }))
        .add(processor("three", |mut all: QueryRun<'_, &mut u32>| {
            all.for_each(|number| *number += 1);
        }));
    let mut changed = Query::<&u64, Changed<u64>>::new(&world).unwrap();
    let mut index = ValueIndex::<u64, u64>::new(&world, |&number| number).unwrap();
    index.update(&world);
    let (mut seen, mut sent) = (Vec::new(), world.version());
    for _ in 0..2 {
        schedule
            .run_watched(&mut world, |world, name| {
                let since = changed.read(world).since(sent.before()).count();
                let count = changed.read(world).count();
                sent = world.version();
                if count + since > 0 {
                    seen.push((name.to_owned(), count, since));
                }
                index.update(world);
            })
            .unwrap();
    }
    let two = seen.iter().filter(|(name, ..)| name == "two");
    assert_eq!(two.count(), 2, "{seen:?}");
    assert_eq!((index.entities(&2).len(), index.entities(&0).len()), (1, 0));
}
