//! Spans: what runs within what.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use megachunk::prelude::*;

use crate::heard::{ENTERED, Heard, Log, hear};
use crate::{on_one_of_two_threads, world_of};

#[test]
fn phases_processors_and_flushes_are_spans_of_tracing() {
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Alone);
    schedule
        .add(processor("one", || {}))
        .add(exclusive_processor("two", |_: &mut World| {}));
    let mut world = World::new();
    schedule.solve(&mut world).expect("it is right");
    let log = hear(|| {
        let report = schedule.run_phase(&mut world, Phase::PrePhysics);
        report.expect("it runs");
    });
    let phase = log.span("phase", "name=\"PrePhysics\"");
    for name in ["name=\"one\"", "name=\"two\""] {
        let of = log.parent(log.span("processor", name)).expect("a phase");
        assert!(std::ptr::eq(of, phase), "{of:?}");
    }
    let flushes: Vec<_> = log.spans("flush", "");
    let flushes = flushes.iter().filter(|span| span.fields != "before");
    assert_eq!(
        flushes.count(),
        3,
        "at the begin, before `two`, at the end of the phase: {log:?}"
    );
}

#[test]
fn a_processor_that_runs_within_another_is_in_its_phase() {
    let ran = Arc::new(AtomicBool::new(false));
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    for own in ["a", "b"] {
        // Whoever comes first waits, as for a loop, until the other has run.
        let ran = Arc::clone(&ran);
        schedule.add(processor(own, move || {
            tracing::info!(own, "begins");
            let late = Instant::now() + Duration::from_secs(20);
            while !ran.load(Ordering::Relaxed) && Instant::now() < late {
                if rayon::yield_now() == Some(rayon::Yield::Idle) {
                    break;
                }
            }
            ran.store(true, Ordering::Relaxed);
            tracing::info!(own, "ends");
        }));
    }
    let mut world = World::new();
    let log = hear(|| on_one_of_two_threads(|| _ = schedule.run(&mut world).expect("it runs")));
    let phase = log.span("phase", "name=\"PrePhysics\"");
    for name in ["name=\"a\"", "name=\"b\""] {
        let of = log.parent(log.span("processor", name)).expect("a phase");
        assert!(std::ptr::eq(of, phase), "{name} is in {of:?}");
    }
    // One ran within the other, else this shows nothing.
    let own = |event: &Heard| event.fields.contains("own=\"a\"");
    let order: Vec<bool> = log.events.iter().map(own).collect();
    assert!(matches!(order[..], [a, b, c, d] if a == d && b == c && a != b));
    for event in &log.events {
        let name = if own(event) { "\"a\"" } else { "\"b\"" };
        let of = log.parent(event).expect("a processor");
        assert!(of.is("processor", name), "{event:?} is in {of:?}");
    }
}

#[test]
fn what_a_parallel_loop_tells_is_its_processors() {
    let mut world = world_of(50_000);
    let mut schedule = Schedule::new();
    schedule.add(processor("loops", |mut rows: QueryRun<'_, &u32>| {
        let came: Mutex<HashSet<ThreadId>> = Mutex::default();
        let late = Instant::now() + Duration::from_secs(20);
        rows.par_for_each(|&n| {
            let new = || {
                came.lock()
                    .map(|mut came| (came.insert(own_id()), came.len()))
            };
            let wait = n.is_multiple_of(1_000);
            if wait {
                tracing::info!(thread = ?own_id(), "a thousand");
                // Until another thread takes part.
                while new().is_ok_and(|(_, threads)| threads < 2) && Instant::now() < late {
                    std::thread::yield_now();
                }
            }
        });
    }));
    let run = |schedule: &mut Schedule, world: &mut World| {
        let log = hear(|| _ = schedule.run(world).expect("it runs"));
        let mut threads = HashSet::new();
        assert_eq!(log.events.len(), 50);
        for event in &log.events {
            let of = log.parent(event);
            let of = of.unwrap_or_else(|| panic!("{event:?} is in nothing"));
            assert!(of.is("processor", "name=\"loops\""), "{of:?}");
            threads.insert(event.fields.clone());
        }
        threads.len()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    let pool = pool.expect("there are threads");
    assert!(pool.install(|| run(&mut schedule, &mut world)) > 1);
    if rayon::current_num_threads() > 1 {
        assert!(run(&mut schedule, &mut world) > 1, "from outside");
    }
    assert!(ENTERED.with_borrow(Vec::is_empty));
    pool.broadcast(|_| assert!(ENTERED.with_borrow(Vec::is_empty)));
}

/// Rows of a loop, the first of which waits in a span of its own, `other`, and has this thread do the rest meanwhile, whose
/// rows tell that they were gone through.
#[derive(Default)]
struct Interrupted {
    has_begun: AtomicBool,
    has_waited: AtomicBool,
}

impl Interrupted {
    fn row(&self) {
        if !self.has_begun.swap(true, Ordering::Relaxed) {
            let _other = tracing::info_span!("other").entered();
            assert_eq!(rayon::yield_now(), Some(rayon::Yield::Executed));
            tracing::info!("waited");
            self.has_waited.store(true, Ordering::Relaxed);
        } else if !self.has_waited.load(Ordering::Relaxed) {
            tracing::info!("row");
        }
    }

    /// What the rows' spans, `help`, are in.
    fn told(log: &Log) -> Vec<Option<&Heard>> {
        let (rows, waited): (Vec<_>, Vec<_>) = log
            .events
            .iter()
            .partition(|event| event.fields.contains("row"));
        let of = waited.iter().map(|event| log.parent(event));
        let of: Vec<_> = of.flatten().collect();
        assert!(
            matches!(of[..], [of] if of.is("other", "")),
            "{waited:?} {of:?}"
        );
        let told = rows.iter().map(|event| {
            let of = log.parent(event).expect("a span of its own");
            assert!(of.is("help", ""), "{of:?}");
            log.parent(of)
        });
        told.collect()
    }
}

#[test]
fn a_loop_whose_rest_is_done_within_another_span_tells_of_it_in_its_own() {
    let mut world = world_of(20_000);
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Alone);
    schedule.add(processor("loops", |mut rows: QueryRun<'_, &u32>| {
        let interrupted = Interrupted::default();
        rows.par_for_each(|_| interrupted.row());
    }));
    let log = hear(|| on_one_of_two_threads(|| _ = schedule.run(&mut world).expect("it runs")));
    let told = Interrupted::told(&log);
    assert!(!told.is_empty());
    for of in told {
        let of = of.expect("a processor");
        assert!(of.is("processor", "name=\"loops\""), "{of:?}");
    }
}

#[test]
fn a_loop_in_no_span_whose_rest_is_done_within_one_tells_of_it_in_none() {
    let mut world = world_of(20_000);
    let mut query = world.query::<&u32, ()>().expect("it is a fragment");
    let log = hear(|| {
        on_one_of_two_threads(|| {
            let interrupted = Interrupted::default();
            query.par_for_each(|_| interrupted.row());
        });
    });
    let told = Interrupted::told(&log);
    assert!(!told.is_empty());
    assert!(told.iter().all(Option::is_none), "{told:?}");
}

fn own_id() -> ThreadId {
    std::thread::current().id()
}
