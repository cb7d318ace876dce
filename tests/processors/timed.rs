//! How long processors take themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use megachunk::prelude::*;
use megachunk::processor::{Timing, Trace};

const LONG: Duration = Duration::from_millis(200);

fn timing_of(schedule: &mut Schedule, name: &str) -> Timing {
    let mut timings = schedule.timings();
    timings
        .find(|(known, _)| *known == name)
        .expect("it is there")
        .1
}

#[test]
fn what_others_do_on_a_thread_that_waits_is_not_its_processors_own_time() {
    // On a pool of two threads, one of which is held: who waits for a loop has all other work to do.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("there are threads");
    let (held, holds) = std::sync::mpsc::channel();
    let done = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&done);
    pool.spawn(move || {
        held.send(()).expect("somebody waits");
        while !until.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
    });
    holds.recv().expect("it is held");

    let begun = Arc::new(AtomicBool::new(false));
    let mut schedule = Schedule::new();
    schedule
        .set_execution(Execution::Beside)
        .set_measured(true)
        .start_trace();
    for name in ["a", "b"] {
        let begun = Arc::clone(&begun);
        schedule.add(processor(name, move || {
            if begun.swap(true, Ordering::Relaxed) {
                // The inner one.
                thread::sleep(LONG);
            } else {
                while rayon::yield_now() == Some(rayon::Yield::Executed) {}
            }
        }));
    }
    let mut world = World::new();
    let began = Instant::now();
    pool.install(|| schedule.run(&mut world)).expect("it runs");
    let all = began.elapsed();
    done.store(true, Ordering::Relaxed);

    let (a, b) = (timing_of(&mut schedule, "a"), timing_of(&mut schedule, "b"));
    let (outer, inner) = if a.within > b.within { (a, b) } else { (b, a) };
    assert!(inner.last >= LONG && inner.within == Duration::ZERO);
    assert!(outer.within >= LONG, "{outer:?}");
    assert!(outer.last <= all - LONG, "{outer:?} of {all:?}");
    assert_eq!((outer.last, outer.last), (outer.total, outer.longest));
    assert!(outer.to_string().contains("others within: "), "{outer}");
    assert!(!inner.to_string().contains("others within"), "{inner}");
    // In a trace a run is all that lies between its beginning and its end.
    let trace = schedule.take_trace().expect("it was started");
    let lines = lines(&[("one", &trace)]);
    let runs = lines
        .iter()
        .filter(|line| field(line, "cat") == Some("processor"));
    let durations = runs.map(|line| field(line, "dur").and_then(|micros| micros.parse().ok()));
    let long = |micros: &Option<f64>| micros.is_some_and(|it| it >= LONG.as_secs_f64() * 1e6);
    assert_eq!(durations.filter(long).count(), 2, "{lines:?}");
}

#[test]
fn a_schedule_that_a_processor_runs_takes_its_own_time() {
    let mut inner = Schedule::new();
    inner
        .add(processor("sleeps", || thread::sleep(LONG)))
        .set_measured(true);
    let mut inner_world = World::new();
    let mut schedule = Schedule::new();
    schedule
        .add(exclusive_processor("runs another", move |_: &mut World| {
            inner.run(&mut inner_world).expect("it runs");
        }))
        .set_measured(true);
    let mut world = World::new();
    for runs in 1..=2 {
        let began = Instant::now();
        schedule.run(&mut world).expect("it runs");
        let all = began.elapsed();
        let outer = timing_of(&mut schedule, "runs another");
        assert_eq!(outer.runs, runs);
        assert!(outer.within >= LONG * runs as u32, "{outer:?}");
        assert!(outer.last <= all - LONG, "{outer:?} of {all:?}");
    }
}

struct Tree;

/// A world of two trees, and a schedule with an observer of them, which has run.
fn forest() -> (World, Schedule) {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(observing_processor::<Tree, ()>(
        "grow",
        Observed::COME,
        |batch, _| thread::sleep(Duration::from_millis(batch.len() as u64)),
    ));
    schedule.add(processor("plant", |mut commands: Commands<'_>| {
        for _ in 0..20 {
            commands.create((Tree,)).expect("there is room");
        }
    }));
    schedule.run(&mut world).expect("it runs");
    (world, schedule)
}

#[test]
fn calls_of_an_observer_are_measured_with_its_schedule() {
    let (mut world, mut schedule) = forest();
    assert_eq!(timing_of(&mut schedule, "grow").runs, 0, "not before");
    schedule.set_measured(true);
    schedule.run(&mut world).expect("it runs");
    let timing = timing_of(&mut schedule, "grow");
    assert_eq!((timing.runs, timing.seen.entities), (1, 20));
    assert!(timing.last >= Duration::from_millis(20) && timing.last == timing.total);
    // Also outside of the schedule, and whoever comes later.
    world.create((Tree,)).expect("there is room");
    let timing = timing_of(&mut schedule, "grow");
    assert_eq!((timing.runs, timing.seen.entities), (2, 1));
    schedule.add(observing_processor::<Tree, ()>(
        "see",
        Observed::COME,
        |_, _| {},
    ));
    schedule.run(&mut world).expect("it runs");
    assert_eq!(timing_of(&mut schedule, "see").runs, 1);

    schedule.reset_timings();
    for name in ["grow", "plant", "see"] {
        assert_eq!(timing_of(&mut schedule, name), Timing::default());
    }
    schedule
        .set_measured(false)
        .run(&mut world)
        .expect("it runs");
    assert_eq!(timing_of(&mut schedule, "grow").runs, 0);
}

#[test]
fn an_observer_that_panics_is_measured_and_can_be_called_again() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    let bad = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| assert!(batch.len() > 1);
    schedule.set_measured(true);
    schedule.add(observing_processor::<Tree, ()>("bad", Observed::COME, bad));
    schedule.run(&mut world).expect("it runs");
    let creates = || world.create((Tree,)).map(|_| ());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(creates));
    assert!(panicked.is_err());
    let two = world.create_batch([(Tree,), (Tree,)]);
    assert!(two.is_ok());
    assert_eq!(timing_of(&mut schedule, "bad").runs, 2);
}

#[test]
fn what_an_observer_takes_is_none_of_the_time_of_who_changes_the_world() {
    let (mut world, mut schedule) = forest();
    schedule.add(exclusive_processor("wood", |world: &mut World| {
        let trees = world.create_batch((0..200).map(|_| (Tree,)));
        assert!(trees.is_ok());
    }));
    schedule.set_measured(true);
    let began = Instant::now();
    schedule.run(&mut world).expect("it runs");
    let all = began.elapsed();
    let timing = timing_of(&mut schedule, "wood");
    assert!(timing.within >= LONG, "{timing:?}");
    assert!(timing.last <= all - LONG, "{timing:?} of {all:?}");
}

/// The events of a trace: their process, category, name and arguments.
fn lines(all: &[(&str, &Trace)]) -> Vec<String> {
    let mut json = Vec::new();
    Trace::write_all(all, &mut json).expect("memory takes all");
    let json = String::from_utf8(json).expect("it is text");
    assert_eq!(json.matches('{').count(), json.matches('}').count());
    json.lines().map(str::to_owned).collect()
}

fn field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
    Some(rest.split([',', '}']).next()?.trim_matches('"'))
}

#[test]
fn a_trace_has_what_makes_a_frame_long() {
    let (mut world, mut schedule) = forest();
    world
        .resources_mut()
        .insert(Time::new(Duration::ZERO, Duration::ZERO, 41));
    schedule.add(processor("hear", |_: Signalled<'_, &u32>| {}).hears::<()>("hit"));
    schedule.start_trace();
    schedule.run(&mut world).expect("it runs");
    let trace = schedule.take_trace().expect("it was started");
    let lines = lines(&[("game", &trace)]);
    let has = |kind: &str, name: &str, argument: Option<(&str, &str)>| {
        lines.iter().any(|line| {
            field(line, "cat") == Some(kind)
                && field(line, "name") == Some(name)
                && argument.is_none_or(|(of, is)| field(line, of) == Some(is))
        })
    };
    assert!(has("run", "run", Some(("tick", "41"))), "{lines:?}");
    assert!(
        has("solve", "solve", Some(("archetypes", "1"))),
        "{lines:?}"
    );
    assert!(
        has("observer", "grow", Some(("entities", "20"))),
        "{lines:?}"
    );
    assert!(has("flush", "flush", Some(("commands", "20"))), "{lines:?}");
    assert!(has("collect", "collect", None), "{lines:?}");
    assert!(has("processor", "plant", None), "{lines:?}");
    // What was called before a trace, or after it, is in none.
    world.create((Tree,)).expect("there is room");
    schedule.start_trace();
    let empty = schedule.take_trace().expect("it was started");
    assert!(empty.is_empty(), "{empty:?}");
}

#[test]
fn a_trace_keeps_the_calls_of_an_observer_that_is_removed() {
    let (mut world, mut schedule) = forest();
    schedule.start_trace();
    world.create((Tree,)).expect("there is room");
    schedule.remove(&mut world, "grow").expect("it is there");
    let trace = schedule.take_trace().expect("it was started");
    let lines = lines(&[("game", &trace)]);
    let calls = lines
        .iter()
        .filter(|line| field(line, "cat") == Some("observer"));
    let names: Vec<_> = calls.map(|line| field(line, "name")).collect();
    assert_eq!(names, [Some("grow")]);
}

#[test]
fn traces_side_by_side_have_one_zero() {
    let mut worlds = [World::new(), World::new()];
    let mut schedules = [Schedule::new(), Schedule::new()];
    for (schedule, name) in schedules.iter_mut().zip(["tick", "draw \"it\""]) {
        schedule.add(processor(name, || {}));
        schedule.start_trace();
        // The second trace begins later.
        thread::sleep(Duration::from_millis(20));
    }
    let all = schedules.iter_mut().zip(&mut worlds);
    all.for_each(|(schedule, world)| _ = schedule.run(world).expect("it runs"));
    let [a, b] = schedules.each_mut().map(|schedule| schedule.take_trace());
    let (a, b) = (a.expect("it was started"), b.expect("it was started"));
    let lines = lines(&[("first", &a), ("second \"one\"", &b)]);
    let names: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("process_name"))
        .collect();
    assert_eq!(names.len(), 2);
    assert!(names[1].contains("\"pid\":2") && names[1].contains(r#"second \"one\""#));
    let start = |pid: &str| {
        let of = |line: &&String| {
            field(line, "pid") == Some(pid) && field(line, "cat") == Some("processor")
        };
        let line = lines.iter().find(of).expect("it has run");
        let start = field(line, "ts").and_then(|start| start.parse().ok());
        let start: f64 = start.expect("it is a number");
        start
    };
    // Both ran after both had begun: at the second's own zero it would be as if it was before the first.
    assert!(start("1") >= 40_000.0, "{lines:?}");
    assert!(start("2") > start("1"), "{lines:?}");
    assert!(Trace::write_all(&[], &mut Vec::new()).is_ok());
}
