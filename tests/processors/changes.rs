//! Processors that look for what others have changed find each change once.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::sync::{Arc, Mutex};

use megachunk::prelude::*;
use megachunk::processor::Execution;

use crate::said::{Said, run, said, world};

struct A(u32);
struct B(u32);

fn write_every_third_frame() -> ProcessorBuilder {
    let mut frame = 0;
    processor("write", move |mut rows: QueryRun<&mut A>| {
        frame += 1;
        if frame % 3 == 0 {
            rows.for_each(|a| a.0 += 1);
        }
    })
}

#[test]
fn changes_are_seen_once_by_who_looks_for_them_whatever_runs_beside() {
    let mut world = World::new();
    let _ = world
        .create_batch((0..1_000).map(|n| (A(n), B(n))))
        .expect("there is room");
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    schedule.add(write_every_third_frame());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    schedule.add(
        processor("look", move |mut changed: QueryRun<Entity, Changed<A>>| {
            note.lock().expect("nobody panicked").push(changed.count());
        })
        .after("write"),
    );
    schedule.add(processor("other", |mut rows: QueryRun<&mut B>| {
        rows.for_each(|b| b.0 += 1)
    }));
    for _ in 0..9 {
        run(&mut schedule, &mut world);
    }
    let seen = seen.lock().expect("nobody panicked");
    assert_eq!(seen[..], [1_000, 0, 1_000, 0, 0, 1_000, 0, 0, 1_000]);
}

#[test]
fn what_a_processor_writes_its_other_query_finds_in_that_run_or_never() {
    for writes_first in [true, false] {
        let mut world = world();
        world.create((A(0), B(0))).expect("there is room");
        let mut schedule = Schedule::new();
        let both = move |mut all: QueryRun<&mut A>,
                         mut changed: QueryRun<&B, Changed<A>>,
                         said: &mut Said| {
            if writes_first {
                all.for_each(|a| a.0 += 1);
                said.0.push(changed.count().to_string());
            } else {
                said.0.push(changed.count().to_string());
                all.for_each(|a| a.0 += 1);
            }
        };
        schedule.add(processor("both", both));
        let found: Vec<_> = (0..3)
            .flat_map(|_| {
                run(&mut schedule, &mut world);
                said(&mut world)
            })
            .collect();
        let expected = if writes_first {
            ["1", "1", "1"]
        } else {
            ["1", "0", "0"]
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn changes_are_found_once_by_who_looks_entities_up() {
    let mut world = World::new();
    let entity = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(write_every_third_frame());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    schedule.add(
        processor("look", move |changed: QueryLookup<&A, Changed<A>>| {
            let found = changed.get(entity).is_ok();
            note.lock().expect("nobody panicked").push(found);
        })
        .after("write"),
    );
    for _ in 0..7 {
        run(&mut schedule, &mut world);
    }
    let seen = seen.lock().expect("nobody panicked");
    assert_eq!(seen[..], [true, false, true, false, false, true, false]);
}

/// Without it those who look do not run.
struct Light;

/// Looks for changes of some entities by all that is lent for it, and notes how many there are, and of whom one is asked for.
fn look(light_first: bool, ant: Entity, seen: &Arc<Mutex<Vec<(usize, bool)>>>) -> ProcessorBuilder {
    let note = Arc::clone(seen);
    let look = move |changed: &mut QueryRun<Entity, Changed<A>>,
                     one: &mut QueryLookup<&A, Changed<A>>| {
        let seen = (changed.count(), one.get(ant).is_ok());
        note.lock().expect("nobody panicked").push(seen);
    };
    let built = match light_first {
        true => processor(
            "look",
            move |_: &Light,
                  mut changed: QueryRun<Entity, Changed<A>>,
                  mut one: QueryLookup<&A, Changed<A>>| look(&mut changed, &mut one),
        ),
        false => processor(
            "look",
            move |mut changed: QueryRun<Entity, Changed<A>>,
                  mut one: QueryLookup<&A, Changed<A>>,
                  _: &Light| look(&mut changed, &mut one),
        ),
    };
    // Who has a condition is not asked before what he needs.
    built.run_if(|| true)
}

#[test]
fn who_is_refused_what_he_asks_for_misses_no_change() {
    for (light_first, execution) in [
        (true, Execution::Alone),
        (false, Execution::Alone),
        (false, Execution::Beside),
    ] {
        let mut world = world();
        let all: Vec<Entity> = (0..10)
            .map(|n| world.create((A(n),)).expect("there is room"))
            .collect();
        let seen = Arc::default();
        let mut schedule = Schedule::new();
        schedule.set_execution(execution);
        schedule.add(look(light_first, all[3], &seen));
        let change = |world: &mut World, few: &[Entity]| {
            for &entity in few {
                world.get_mut::<A>(entity).expect("it lives").0 += 1;
            }
        };
        let refused = |schedule: &mut Schedule, world: &mut World| {
            let error = schedule.run(world).expect_err("there is no light");
            let error = error.to_string();
            assert!(
                error.contains("`look`") && error.contains("Light"),
                "{error}"
            );
        };
        // Before the first run, too.
        refused(&mut schedule, &mut world);
        world.resources_mut().insert(Light);
        run(&mut schedule, &mut world);
        run(&mut schedule, &mut world);
        world.resources_mut().remove::<Light>();
        change(&mut world, &all[2..5]);
        refused(&mut schedule, &mut world);
        refused(&mut schedule, &mut world);
        change(&mut world, &all[7..8]);
        refused(&mut schedule, &mut world);
        world.resources_mut().insert(Light);
        run(&mut schedule, &mut world);
        run(&mut schedule, &mut world);
        change(&mut world, &all[..1]);
        run(&mut schedule, &mut world);
        let seen = seen.lock().expect("nobody panicked");
        // (What has changed is told of a chunk, and so of all ten.)
        let expected = [(10, true), (0, false), (10, true), (0, false), (10, true)];
        assert_eq!(seen[..], expected, "{light_first} {execution:?}");
        world.check().expect("it is whole");
    }
}
