//! Runs that are measured or traced: how often and how long who ran, and nothing of who did not.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::processor::{Execution, Trace};

use crate::pool;
use crate::said::run;

struct A(u32);

/// What a trace has of processors and flushes, each with its thread: name and `tid`.
fn events(schedule: &mut Schedule) -> Vec<(String, u32)> {
    let trace = schedule.take_trace().expect("it was started");
    let all = events_of(&trace).into_iter();
    let wanted = all.filter(|(kind, _, _)| kind == "processor" || kind == "flush");
    wanted.map(|(_, name, thread)| (name, thread)).collect()
}

/// All that a trace has: category, name and `tid`.
fn events_of(trace: &Trace) -> Vec<(String, String, u32)> {
    let mut json = Vec::new();
    trace.write_to(&mut json).expect("there is memory");
    let json = String::from_utf8(json).expect("it is text");
    let events = json.lines().filter(|line| line.contains("\"ph\":\"X\""));
    let after = |line: &str, mark: &str| {
        let (_, rest) = line.split_once(mark).expect("it is there");
        rest.split(['"', ','])
            .next()
            .expect("it is there")
            .to_owned()
    };
    let event = |line: &str| {
        let thread = after(line, "\"tid\":").parse().expect("it is a number");
        (
            after(line, "\"cat\":\""),
            after(line, "\"name\":\""),
            thread,
        )
    };
    events.map(event).collect()
}

#[test]
fn what_is_measured_is_how_long_and_what_was_seen_and_passed_by() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let _ = world
        .create_batch((0..10_000).map(|n| (A(n),)))
        .expect("there is room");
    let mut schedule = Schedule::new();
    schedule.set_measured(true);
    schedule.add(processor("all", |mut rows: QueryRun<&A>| {
        std::hint::black_box(rows.iter().map(|a| a.0).sum::<u32>());
    }));
    schedule.add(processor("changed", |_: QueryRun<&A, Changed<A>>| {}));
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    let timings: Vec<_> = schedule
        .timings()
        .map(|(name, timing)| (name.to_owned(), timing))
        .collect();
    let (all, changed) = (timings[0].1, timings[1].1);
    assert_eq!(
        (timings[0].0.as_str(), all.runs, changed.runs),
        ("all", 2, 2)
    );
    assert_eq!((all.seen.entities, all.seen.skipped), (10_000, 0));
    assert!(all.seen.chunks > 1 && all.total >= all.longest && all.longest >= all.last);
    assert_eq!((changed.seen.entities, changed.seen.chunks), (0, 0));
    assert_eq!(changed.seen.skipped, all.seen.chunks);
}

#[test]
fn who_was_refused_has_not_run() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("asks", |_: &String| {}));
    schedule.set_measured(true).start_trace();
    for _ in 0..2 {
        schedule.run(&mut world).expect_err("it is not there");
    }
    let (_, timing) = schedule.timings().next().expect("there is one");
    assert_eq!(timing.runs, 0);
    assert_eq!(events(&mut schedule), []);
    world.resources_mut().insert(String::new());
    run(&mut schedule, &mut world);
    let (_, timing) = schedule.timings().next().expect("there is one");
    assert_eq!(timing.runs, 1);
}

#[test]
fn who_was_refused_what_its_condition_asks_for_has_not_run() {
    let builders = [
        processor("beside", || {}).run_if(|_: &String| true),
        exclusive_processor("alone", |_| {}).run_if(|_: &String| true),
    ];
    for builder in builders {
        let mut world = World::new();
        let mut schedule = Schedule::new();
        schedule.add(builder);
        schedule.set_measured(true).start_trace();
        for _ in 0..2 {
            schedule.run(&mut world).expect_err("it is not there");
        }
        let (name, timing) = schedule.timings().next().expect("there is one");
        assert_eq!((timing.runs, timing.total), (0, Duration::ZERO), "{name}");
        let names: Vec<_> = events(&mut schedule).into_iter().collect();
        assert!(names.iter().all(|(name, _)| name == "flush"), "{names:?}");
        world.resources_mut().insert(String::new());
        run(&mut schedule, &mut world);
        let (_, timing) = schedule.timings().next().expect("there is one");
        assert_eq!(timing.runs, 1);
    }
}

#[test]
fn who_gives_an_error_back_has_run() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    let fails = |_: &mut World| -> ProcessorResult { Err("no".into()) };
    schedule.add(exclusive_processor("fails", fails));
    schedule.set_measured(true);
    schedule.run(&mut world).expect_err("it fails");
    let (_, timing) = schedule.timings().next().expect("there is one");
    assert_eq!(timing.runs, 1);
}

/// A value whose drop panics.
struct Fuse;

impl Drop for Fuse {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("burnt"));
    }
}

#[test]
fn a_trace_has_what_ended_with_a_panic() {
    let kinds = |act: &dyn Fn(&mut Schedule, &mut World)| {
        let mut world = World::new();
        let mut schedule = Schedule::new();
        schedule.start_trace();
        let acts = || act(&mut schedule, &mut world);
        catch_unwind(AssertUnwindSafe(acts)).expect_err("it panics");
        let trace = schedule.take_trace().expect("it was started");
        let kinds = events_of(&trace).into_iter().map(|(kind, _, _)| kind);
        kinds.collect::<Vec<_>>()
    };
    let runs = kinds(&|schedule, world| {
        schedule.add(processor("bad", || panic!("no")));
        run(schedule, world);
    });
    assert_eq!(runs, ["solve", "processor", "run"]);
    let flushes = kinds(&|schedule, world| {
        world.commands().defer(|_: &mut World| panic!("no"));
        run(schedule, world);
    });
    assert_eq!(flushes, ["solve", "flush", "run"]);
    let collects = kinds(&|schedule, world| {
        let hit = world.signal::<Fuse>("hit").expect("it is the first");
        let entity = world.create(()).expect("there is room");
        world.signals().send(hit, entity, Fuse);
        run(schedule, world);
    });
    assert_eq!(collects, ["solve", "collect", "run"]);
    let solves = kinds(&|schedule, world| {
        schedule.add(processor("bad", || {}).on_start(|_| panic!("no")));
        schedule.solve(world).expect("it is right");
    });
    assert_eq!(solves, ["solve"]);
}

#[test]
fn a_trace_has_every_run_and_every_flush() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    for name in ["one", "two \"quoted\"\n"] {
        schedule.add(processor(name, || {}));
    }
    schedule.start_trace();
    for _ in 0..3 {
        run(&mut schedule, &mut world);
    }
    let trace = schedule.take_trace().expect("it was started");
    assert_eq!(trace.len(), 3 * (2 + 1) + 3 + 1, "and runs, and the order");
    let mut json = Vec::new();
    trace.write_to(&mut json).expect("memory takes all");
    let json = String::from_utf8(json).expect("it is text");
    assert_eq!(json.matches("\"ph\":\"X\"").count(), 13);
    assert!(json.contains("two \\\"quoted\\\"\\u000a"), "{json}");
    assert_eq!(json.matches('{').count(), json.matches('}').count());
    assert!(schedule.take_trace().is_none());
}

#[test]
fn who_was_measured_for_a_trace_alone_is_not_when_it_is_taken() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("one", || {}));
    let mut runs = |schedule: &mut Schedule| {
        let count =
            |schedule: &mut Schedule| schedule.timings().map(|(_, it)| it.runs).sum::<u64>();
        let before = count(schedule);
        run(schedule, &mut world);
        count(schedule) - before
    };
    // Also of a trace that another takes the place of.
    for starts in [1, 2] {
        (0..starts).for_each(|_| schedule.start_trace());
        assert_eq!(runs(&mut schedule), 1);
        assert!(schedule.take_trace().is_some());
        assert_eq!(runs(&mut schedule), 0);
    }
    // What is said meanwhile stays.
    schedule.start_trace();
    schedule.set_measured(true);
    assert!(schedule.take_trace().is_some());
    assert_eq!(runs(&mut schedule), 1);
    schedule.start_trace();
    schedule.set_measured(false);
    assert!(schedule.take_trace().is_some());
    assert_eq!(runs(&mut schedule), 0);
    // And what was said before.
    schedule.set_measured(true).start_trace();
    assert!(schedule.take_trace().is_some() && schedule.take_trace().is_none());
    assert_eq!(runs(&mut schedule), 1);
}

#[test]
fn a_trace_has_the_flushes_before_processors_and_the_schedules_own_thread_is_0() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("one", || {}).main_thread());
    let alone = exclusive_processor("alone", |world: &mut World| {
        let late = world.commands().create((A(1),));
        late.expect("there is room");
    });
    schedule.add(alone.after("one"));
    pool(2).install(|| {
        for execution in [Execution::Alone, Execution::Beside] {
            schedule.set_execution(execution);
            schedule.start_trace();
            let early = world.commands().create((A(0),));
            early.expect("there is room");
            run(&mut schedule, &mut world);
            let found = events(&mut schedule);
            let names: Vec<_> = found.iter().map(|(name, _)| &**name).collect();
            assert_eq!(names, ["flush", "one", "alone", "flush"]);
            assert!(found.iter().all(|&(_, thread)| thread == 0), "{found:?}");
        }
    });
}

#[test]
fn a_trace_has_who_ran_before_somebody_failed() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("fine", || {}));
    let mut runs = 0;
    schedule.add(
        processor("fails", move || {
            runs += 1;
            assert!(runs != 2, "the second time");
        })
        .after("fine"),
    );
    schedule.add(processor("late", || {}).after("fails"));
    run(&mut schedule, &mut world);
    schedule.start_trace();
    let failed = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world)));
    assert!(failed.is_err());
    let found = events(&mut schedule);
    let names: Vec<_> = found.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["fine", "fails"]);
}

#[test]
fn a_trace_repeats_nothing_while_nothing_is_measured() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("one", || {}));
    schedule.start_trace();
    for measured in [true, false, false, true] {
        schedule.set_measured(measured);
        run(&mut schedule, &mut world);
    }
    let count = events(&mut schedule).len();
    assert_eq!(count, 2 + 4, "two runs, and all flushes");
}
