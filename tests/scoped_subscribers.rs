//! Subscribers that hear one thread, and not the program: what helps that thread tells them, and nobody else. With those
//! of `tracing-subscriber`, and one that does not say which span is the current one. A program of its own: nobody hears all
//! of its threads.

#![cfg(feature = "cli")]

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use megachunk::prelude::*;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// A span, or an event, as it was heard.
#[derive(Clone, Debug, Default, PartialEq)]
struct Told {
    /// A span's name, or an event's message.
    name: String,
    /// The names of the spans that it is in, from the innermost on.
    within: Vec<&'static str>,
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.name = format!("{value:?}");
        }
    }
}

/// All that was heard.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Told>>>);

impl Log {
    fn push(&self, told: Told) {
        self.0.lock().expect("nobody panicked").push(told);
    }

    /// What is of this name.
    fn of(&self, name: &str) -> Vec<Told> {
        let all = self.0.lock().expect("nobody panicked");
        all.iter()
            .filter(|told| told.name == name)
            .cloned()
            .collect()
    }

    /// A subscriber that keeps what it hears, as fine as for debugging.
    fn listener(&self) -> impl Subscriber + Send + Sync + use<> {
        Registry::default().with(self.clone().with_filter(LevelFilter::DEBUG))
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Log {
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let scope = context.span_scope(id).into_iter().flatten();
        self.push(Told {
            name: span.metadata().name().to_owned(),
            within: scope.skip(1).map(|span| span.name()).collect(),
        });
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let scope = context.event_scope(event).into_iter().flatten();
        let mut told = Told {
            within: scope.map(|span| span.name()).collect(),
            ..Told::default()
        };
        event.record(&mut told);
        self.push(told);
    }
}

/// Keeps what it hears, and does not say in which span a thread is. Whether that is to be taken for what a span is in is
/// said by its parent's name then.
struct Reticent {
    log: Log,
    spans: AtomicU64,
}

impl Reticent {
    fn new(log: &Log) -> Self {
        Self {
            log: log.clone(),
            spans: AtomicU64::new(0),
        }
    }
}

impl Subscriber for Reticent {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let within = match (span.is_contextual(), span.parent()) {
            (true, _) => "the current one",
            (false, Some(_)) => "one that is said",
            (false, None) => "none",
        };
        self.log.push(Told {
            name: span.metadata().name().to_owned(),
            within: vec![within],
        });
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut told = Told::default();
        event.record(&mut told);
        self.log.push(told);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("there are threads")
}

fn world_of(rows: u32) -> World {
    let mut world = World::new();
    let all = world.create_batch((0..rows).map(|n| (n,)));
    assert!(all.is_ok());
    world
}

/// Each thread that comes tells so, once, and waits until three have come.
#[derive(Default)]
struct Meeting(Mutex<HashSet<ThreadId>>);

impl Meeting {
    fn come(&self) {
        let came = || self.0.lock().expect("nobody panicked");
        if !came().insert(std::thread::current().id()) {
            return;
        }
        tracing::info!("came");
        let late = Instant::now() + Duration::from_secs(60);
        while came().len() < 3 && Instant::now() < late {
            std::thread::yield_now();
        }
        assert_eq!(came().len(), 3);
    }
}

#[test]
fn who_hears_a_caller_in_no_span_hears_its_helpers() {
    let mut world = world_of(50_000);
    let mut query = world.query::<&u32, ()>().expect("it is a fragment");
    let mut told = |log: &Log, listener: tracing::Dispatch, span: bool| {
        let meeting = Meeting::default();
        pool(3).install(|| {
            tracing::dispatcher::with_default(&listener, || {
                let span = span.then(|| tracing::info_span!("mine").entered());
                query.par_for_each(|_| meeting.come());
                drop(span);
            });
        });
        log.of("came")
    };
    for span in [true, false] {
        let log = Log::default();
        let came = told(&log, log.listener().into(), span);
        assert_eq!(came.len(), 3, "{came:?}");
        let within: &[_] = if span { &["mine"] } else { &[] };
        assert!(came.iter().all(|told| told.within == within), "{came:?}");
        let log = Log::default();
        let came = told(&log, Reticent::new(&log).into(), span);
        assert_eq!(came.len(), 3, "{came:?}");
    }
}

#[test]
fn who_hears_an_app_in_no_span_hears_all_of_its_simulations() {
    let meeting = Arc::new(Meeting::default());
    let mut app = App::new();
    for name in ["land", "sea", "air"] {
        let meeting = Arc::clone(&meeting);
        let mut schedule = Schedule::new();
        schedule.add(processor("comes", move || meeting.come()));
        app.add(name, Simulation::new(World::new(), schedule));
    }
    let log = Log::default();
    pool(3).install(|| {
        let update = || app.update(Duration::from_millis(20));
        with_default(log.listener(), update).expect("it runs");
    });
    let simulations = log.of("simulation");
    assert_eq!(simulations.len(), 3, "{simulations:?}");
    assert!(simulations.iter().all(|told| told.within.is_empty()));
    let came = log.of("came");
    let within = ["processor", "phase", "run", "tick", "simulation"];
    assert_eq!(came.len(), 3, "{came:?}");
    assert!(came.iter().all(|told| told.within == within), "{came:?}");
}

#[test]
fn who_is_heard_by_another_within_a_loop_tells_of_the_loop_to_who_hears_it() {
    let mut world = world_of(20_000);
    let mut query = world.query::<&u32, ()>().expect("it is a fragment");
    for span in [true, false] {
        let (outer, inner) = (Log::default(), Log::default());
        let (has_begun, waits) = (AtomicBool::new(false), AtomicBool::new(true));
        let done = Arc::new(AtomicBool::new(false));
        let (until, (held, holds)) = (Arc::clone(&done), std::sync::mpsc::channel());
        let pool = pool(2);
        // The other thread of the pool has no time.
        pool.spawn(move || {
            held.send(()).expect("somebody waits");
            while !until.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        holds.recv().expect("it is held");
        let row = |_: &u32| {
            if !has_begun.swap(true, Ordering::Relaxed) {
                with_default(inner.listener(), || {
                    assert_eq!(rayon::yield_now(), Some(rayon::Yield::Executed));
                    tracing::info!("waited");
                });
                waits.store(false, Ordering::Relaxed);
            } else if waits.load(Ordering::Relaxed) {
                tracing::info!("row");
            }
        };
        pool.install(|| {
            with_default(outer.listener(), || {
                let span = span.then(|| tracing::info_span!("mine").entered());
                query.par_for_each(row);
                drop(span);
            });
        });
        done.store(true, Ordering::Relaxed);
        assert_eq!((inner.of("row").len(), inner.of("waited").len()), (0, 1));
        let rows = outer.of("row");
        assert!(!rows.is_empty() && outer.of("waited").is_empty());
        let within: &[_] = if span { &["mine"] } else { &[] };
        let elsewhere = rows.iter().find(|told| told.within != within);
        assert_eq!(elsewhere, None);
    }
}

#[test]
fn a_simulation_is_in_the_current_span_of_who_does_not_say_which_that_is() {
    let mut app = App::new();
    app.add("land", Simulation::new(World::new(), Schedule::new()));
    let within = |app: &mut App, listener: tracing::Dispatch, log: &Log| {
        tracing::dispatcher::with_default(&listener, || {
            let _frame = tracing::info_span!("frame").entered();
            app.update(Duration::from_millis(20)).expect("it runs");
        });
        let told = log.of("simulation").pop().expect("it is heard");
        told.within
    };
    let log = Log::default();
    let reticent = within(&mut app, Reticent::new(&log).into(), &log);
    assert_eq!(reticent, ["the current one"]);
    let log = Log::default();
    assert_eq!(within(&mut app, log.listener().into(), &log), ["frame"]);
}
