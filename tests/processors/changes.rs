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
