//! How long processors take themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::processor::Timing;

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
    pool.install(|| schedule.run(&mut world)).expect("it runs");
    done.store(true, Ordering::Relaxed);

    let (a, b) = (timing_of(&mut schedule, "a"), timing_of(&mut schedule, "b"));
    let (outer, inner) = if a.within > b.within { (a, b) } else { (b, a) };
    assert!(inner.last >= LONG && inner.within == Duration::ZERO);
    assert!(outer.within >= LONG, "{outer:?}");
    assert!(outer.last < LONG, "{outer:?}");
    assert_eq!((outer.last, outer.last), (outer.total, outer.longest));
    assert!(outer.to_string().contains("others within: "), "{outer}");
    assert!(!inner.to_string().contains("others within"), "{inner}");
    // In a trace a run is all that lies between its beginning and its end.
    let mut json = Vec::new();
    let trace = schedule.take_trace().expect("it was started");
    trace.write_to(&mut json).expect("memory takes all");
    let json = String::from_utf8(json).expect("it is text");
    let durations = json.split("\"dur\":").skip(1).map(|rest| {
        let number = rest
            .split('}')
            .next()
            .and_then(|number| number.parse().ok());
        number.expect("a number")
    });
    let long = durations.filter(|&micros: &f64| micros >= LONG.as_secs_f64() * 1e6);
    assert_eq!(long.count(), 2, "{json}");
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
        schedule.run(&mut world).expect("it runs");
        let outer = timing_of(&mut schedule, "runs another");
        assert_eq!(outer.runs, runs);
        assert!(outer.within >= LONG * runs as u32, "{outer:?}");
        assert!(outer.longest < LONG, "{outer:?}");
    }
}
