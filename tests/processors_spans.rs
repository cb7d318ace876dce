//! Spans and events of a schedule: whose they are, whatever thread they come from. A program of its own: it listens for all
//! of its threads.

#![cfg(feature = "world")]

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use megachunk::prelude::*;
use megachunk::processor::Tied;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// A span, or an event, as it was heard.
#[derive(Clone, Debug)]
struct Heard {
    metadata: &'static Metadata<'static>,
    /// The span that it is in, as they are numbered, from 1.
    parent: Option<u64>,
    /// What its fields hold: ` name=value` of each.
    fields: String,
}

impl Visit for Heard {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields += &format!(" {field}={value:?}");
    }
}

impl Heard {
    fn is(&self, name: &str, field: &str) -> bool {
        self.metadata.name() == name && self.fields.contains(field)
    }
}

/// What is documented of spans and events: a row of the table in the crate's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    target: &'static str,
    level: &'static str,
    kind: &'static str,
    name: &'static str,
    fields: &'static str,
}

fn documented() -> Vec<Row> {
    let lines = include_str!("../src/lib.rs").lines();
    let rows = lines.filter(|line| line.starts_with("//! | `megachunk::"));
    let row = |line: &'static str| {
        let mut cells = line
            .split('|')
            .skip(1)
            .map(|cell| cell.trim().trim_matches('`'));
        let mut next = || cells.next().expect("a row has five cells");
        Row {
            target: next(),
            level: next(),
            kind: next(),
            name: next(),
            fields: next(),
        }
    };
    rows.map(row).collect()
}

impl Row {
    fn has(self, field: &str) -> bool {
        let mut fields = self.fields.split(", ").map(|field| field.trim_matches('`'));
        field == "message" || fields.any(|known| known == field)
    }

    /// Whether this is what was heard, and has all of its fields.
    fn describes(self, heard: &Heard) -> bool {
        let metadata = heard.metadata;
        let kind = if metadata.is_span() { "span" } else { "event" };
        let level = metadata.level().as_str().to_lowercase();
        self.target == metadata.target()
            && (self.level, self.kind, self.name) == (&level, kind, metadata.name())
            && metadata.fields().iter().all(|field| self.has(field.name()))
    }
}

/// All that was heard.
#[derive(Clone, Debug, Default)]
struct Log {
    spans: Vec<Heard>,
    events: Vec<Heard>,
}

impl Log {
    /// The spans of this name, with this among their fields.
    fn spans(&self, name: &str, field: &str) -> Vec<&Heard> {
        let spans = self.spans.iter();
        spans.filter(|span| span.is(name, field)).collect()
    }

    /// The only one.
    fn span(&self, name: &str, field: &str) -> &Heard {
        match self.spans(name, field)[..] {
            [span] => span,
            ref others => panic!("{name} {field}: {others:?}"),
        }
    }

    fn parent(&self, of: &Heard) -> Option<&Heard> {
        of.parent.map(|parent| &self.spans[parent as usize - 1])
    }
}

/// Hears everything, on all threads.
struct Listener(Arc<Mutex<Log>>);

thread_local! {
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// As for `tracing-subscriber`'s `Registry`: a span that was entered again is not the current one by that.
fn current() -> Option<u64> {
    ENTERED.with_borrow(|entered| {
        let is_first = |at: &usize| !entered[..*at].contains(&entered[*at]);
        let first = (0..entered.len()).rev().find(is_first);
        first.map(|at| entered[at])
    })
}

impl Listener {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().expect("nobody panicked")
    }
}

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let parent = match span.parent() {
            Some(parent) => Some(parent.into_u64()),
            None => current().filter(|_| span.is_contextual()),
        };
        let mut heard = Heard {
            metadata: span.metadata(),
            parent,
            fields: String::new(),
        };
        span.record(&mut heard);
        let mut log = self.log();
        log.spans.push(heard);
        Id::from_u64(log.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(&mut self.log().spans[span.into_u64() as usize - 1]);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut heard = Heard {
            metadata: event.metadata(),
            parent: current(),
            fields: String::new(),
        };
        event.record(&mut heard);
        self.log().events.push(heard);
    }

    fn enter(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        let left = ENTERED.with_borrow_mut(Vec::pop);
        assert_eq!(left, Some(span.into_u64()), "spans end as they began");
    }

    fn current_span(&self) -> Current {
        let Some(id) = current() else {
            return Current::none();
        };
        let metadata = self.log().spans[id as usize - 1].metadata;
        Current::new(Id::from_u64(id), metadata)
    }
}

/// What is heard of `act`, on whatever thread.
fn hear(act: impl FnOnce()) -> Log {
    static LOG: OnceLock<Arc<Mutex<Log>>> = OnceLock::new();
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock();
    let log = LOG.get_or_init(|| {
        let log = Arc::new(Mutex::new(Log::default()));
        let listener = Listener(Arc::clone(&log));
        tracing::subscriber::set_global_default(listener).expect("it is the only one");
        log
    });
    // Ids go on: spans of threads that are not done yet are others'.
    let log = || log.lock().expect("nobody panicked");
    let events = log().events.len();
    let first = log().spans.len();
    act();
    let mut heard = log().clone();
    drop(one);
    // Whatever a test is about, all that the library says is documented.
    let known = documented();
    for heard in heard.spans.iter().chain(&heard.events) {
        let is_ours = heard.metadata.target().starts_with("megachunk");
        let is_known = known.iter().any(|row| row.describes(heard));
        assert!(!is_ours || is_known, "{heard:?} is not in the table");
    }
    heard.events.drain(..events);
    // Others may make worlds meanwhile, where the system has no huge pages: each tells that.
    heard
        .events
        .retain(|event| event.metadata.target() != "megachunk::memory");
    // Their numbers stay what they are.
    for span in &mut heard.spans[..first] {
        span.fields = "before".into();
    }
    heard
}

/// A world of so many rows. Whose composition is new, which others would hear that listen meanwhile.
fn world_of(rows: u32) -> World {
    let mut world = World::new();
    hear(|| {
        let all = world.create_batch((0..rows).map(|n| (n,)));
        assert!(all.is_ok());
    });
    world
}

/// A pool of two threads, one of which is held until the other is done with `act`.
fn on_one_of_two_threads(act: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("there are threads");
    let done = Arc::new(AtomicBool::new(false));
    let (held, holds) = std::sync::mpsc::channel();
    let until = Arc::clone(&done);
    pool.spawn(move || {
        held.send(()).expect("somebody waits");
        while !until.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    holds.recv().expect("it is held");
    pool.install(act);
    done.store(true, Ordering::Relaxed);
}

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

#[test]
fn what_makes_a_run_long_is_heard() {
    struct Tree;
    let mut world = World::new();
    world
        .resources_mut()
        .insert(Time::new(Duration::ZERO, Duration::ZERO, 41));
    let hit = world.signal::<()>("hit").expect("it is the first");
    let mut stone = None;
    // (Others that listen meanwhile would hear of the composition.)
    hear(|| stone = world.create((1_u8,)).ok());
    let stone = stone.expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(observing_processor::<Tree, ()>(
        "grow",
        Observed::COME,
        |_, _| {},
    ));
    world
        .observe::<Tree, ()>(Observed::COME, |_, _| tracing::info!("grows"))
        .expect("it is a fragment");
    schedule.add(processor("plant", |mut commands: Commands<'_>| {
        for _ in 0..20 {
            commands.create((Tree,)).expect("there is room");
        }
    }));
    schedule.add(processor("hear", |_: Signalled<'_, &u8>| {}).hears::<()>("hit"));
    schedule.solve(&mut world).expect("it is right");
    world.signals().send(hit, stone, ());
    let log = hear(|| {
        for _ in 0..2 {
            schedule.run(&mut world).expect("it runs");
        }
    });
    let runs = log.spans("run", "tick=41");
    assert_eq!(runs.len(), 2);
    for phase in log.spans("phase", "name=") {
        let run = log.parent(phase).expect("a run");
        assert!(run.is("run", ""), "{run:?}");
    }
    log.span("collect", "signals=1");
    // Twice, and once for a composition that has come.
    let solved = log.span("solve", "anew=false archetypes=1");
    assert!(log.parent(solved).is_some_and(|run| run.is("run", "")));
    let flushes = log.spans("flush", "created=20 destroyed=0 refused=0");
    assert_eq!(flushes.len(), 2, "{log:?}");
    for name in ["name=\"grow\"", "processors_spans.rs:"] {
        let calls = log.spans("observer", name);
        assert_eq!(calls.len(), 2, "{log:?}");
        for call in calls {
            assert!(call.fields.contains("entities=20"), "{call:?}");
            assert!(log.parent(call).is_some_and(|flush| flush.is("flush", "")));
        }
    }
    let mut events = log.events.iter();
    let new = events.find(|event| event.is("composition_added", "Tree"));
    let within = new.and_then(|event| log.parent(event));
    assert!(within.is_some_and(|flush| flush.is("flush", "")), "{log:?}");
    let grows = events.find(|event| event.fields.contains("grows"));
    let within = grows.and_then(|event| log.parent(event));
    assert!(within.is_some_and(|call| call.is("observer", "spans.rs:")));
}

#[test]
fn a_trial_of_another_execution_is_told() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    for name in ["one", "two"] {
        schedule.add(processor(name, || {
            std::thread::sleep(Duration::from_millis(1))
        }));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("there are threads");
    let mut log = Log::default();
    for _ in 0..20 {
        log = hear(|| pool.install(|| _ = schedule.run(&mut world).expect("it runs")));
        if !log.events.is_empty() {
            break;
        }
    }
    let [trial] = &log.events[..] else {
        panic!("{log:?}");
    };
    assert!(
        trial.is("execution_tried", "beside=true first=\"one\""),
        "{trial:?}"
    );
    let phase = log.parent(trial).expect("a phase");
    assert!(phase.is("phase", "name=\"PrePhysics\""), "{phase:?}");
}

/// A processor of an app's simulation that tells something, and waits, as for a loop, until the others have come so far.
fn teller(name: &'static str, others: Arc<AtomicU32>) -> ProcessorBuilder {
    processor(name, move || {
        tracing::info!(name, "tells");
        others.fetch_add(1, Ordering::Relaxed);
        while rayon::yield_now() == Some(rayon::Yield::Executed) {}
    })
}

#[test]
fn what_a_simulation_tells_says_which_it_is() {
    let mut app = App::new();
    let told = Arc::new(AtomicU32::new(0));
    for name in ["city", "weather"] {
        let mut world = World::new();
        world.set_label(format!("the {name}"));
        let mut schedule = Schedule::new();
        schedule.add(teller(name, Arc::clone(&told)));
        app.add(name, Simulation::new(world, schedule)).set_tick(7);
    }
    for around in [false, true] {
        let log = hear(|| {
            on_one_of_two_threads(|| {
                let span = around.then(|| tracing::info_span!("frame"));
                let entered = span.as_ref().map(tracing::Span::enter);
                app.update(Duration::from_millis(20)).expect("it runs");
                drop(entered);
            });
        });
        let tells: Vec<_> = log
            .events
            .iter()
            .filter(|event| event.fields.contains("tells"))
            .collect();
        assert_eq!(tells.len(), 2);
        for event in tells {
            let name = if event.fields.contains("city") {
                "city"
            } else {
                "weather"
            };
            let mut of = log.parent(event).expect("a processor");
            let mut names = Vec::new();
            while let Some(next) = log.parent(of) {
                names.push(next.metadata.name());
                assert!(next.is("frame", "") || next.fields.contains(&format!("world=the {name}")));
                of = next;
            }
            let rest = ["phase", "run", "tick", "simulation", "frame"];
            assert_eq!(names, rest[..4 + usize::from(around)], "{log:?}");
        }
        log.span("simulation", "name=\"city\"");
    }
    assert_eq!(told.load(Ordering::Relaxed), 4);
}

#[test]
fn events_say_of_which_world_they_are() {
    let universe = Arc::new(megachunk::world::Universe::new());
    let mut land = World::of(&universe).expect("it is the first");
    let mut sea = World::of(&universe).expect("there is room");
    sea.set_label("sea");
    let log = hear(|| {
        for world in [&mut land, &mut sea] {
            let _ = world.create((1_u8, 2_u16)).expect("there is room");
        }
        let mut lost = sea.commands();
        lost.create((1_u8,)).expect("there is room");
        drop(lost);
        drop(sea);
    });
    let of = |name: &str| {
        let events = log.events.iter().filter(|event| event.is(name, "world="));
        events.map(|event| event.fields.clone()).collect::<Vec<_>>()
    };
    let number = format!(" world={} ", land.number());
    let new = of("composition_added");
    assert!(
        new[0].contains(&number) && new[1].contains(" world=sea "),
        "{new:?}"
    );
    let lost = of("commands_lost");
    assert!(
        matches!(&lost[..], [lost] if lost.contains(" world=sea ")),
        "{lost:?}"
    );
}

/// What the library's source says of its spans and events, without their fields.
fn said(folder: &std::path::Path, rows: &mut Vec<(String, String, String, String)>) {
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            // The program talks to people.
            if !path.ends_with("cli") {
                said(&path, rows);
            }
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it is text");
        // Tests listen, and tell something.
        let text = text.split("#[cfg(all(test").next().expect("there is one");
        let text = text.split("#[cfg(test)]").next().expect("there is one");
        for (level, call) in text.split("tracing::").skip(1).filter_map(|rest| {
            let (call, rest) = rest.split_once("!(")?;
            call.bytes()
                .all(|letter| letter.is_ascii_lowercase() || letter == b'_')
                .then_some((call, rest))
        }) {
            let call: String = call.split_whitespace().collect::<Vec<_>>().join(" ");
            let row = read(level, &call);
            let row = row.unwrap_or_else(|| panic!("{}: {level}!({call:.80}", path.display()));
            rows.push(row);
        }
    }
}

/// Target, level, kind and name.
fn read(level: &str, call: &str) -> Option<(String, String, String, String)> {
    let quoted = |text: &str, before: &str| {
        let quoted = text.strip_prefix(before)?.strip_prefix('"')?;
        let (quoted, rest) = quoted.split_once('"')?;
        Some((quoted.to_owned(), rest.trim_start_matches(", ").to_owned()))
    };
    if let Some(level) = level.strip_suffix("_span") {
        let (target, mut rest) = quoted(call, "target: ")?;
        if rest.starts_with("parent: ") {
            rest = rest.split_once(", ")?.1.to_owned();
        }
        let (name, _) = quoted(&rest, "")?;
        return Some((target, level.into(), "span".into(), name));
    }
    let (name, rest) = quoted(call, "name: ")?;
    let (target, _) = quoted(&rest, "target: ")?;
    Some((target, level.into(), "event".into(), name))
}

#[test]
fn a_tied_value_that_is_lost_is_told_of() {
    let log = hear(|| {
        let tied = Tied::new(std::rc::Rc::new(1_i32));
        let lost = std::thread::spawn(move || drop(tied)).join();
        lost.expect("it ends");
        drop(Tied::new(std::rc::Rc::new(2_u32)));
    });
    let told = |of: &str| {
        let events = log.events.iter();
        let told = events.filter(|event| event.is("tied_leaked", of));
        told.count()
    };
    assert_eq!((told("Rc<i32>"), told("Rc<u32>")), (1, 0));
}

#[test]
fn the_table_has_what_the_library_says_and_nothing_else() {
    let mut said_rows = Vec::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    said(&source, &mut said_rows);
    said_rows.sort();
    said_rows.dedup();
    let mut table: Vec<_> = documented()
        .into_iter()
        .map(|row| (row.target, row.level, row.kind, row.name))
        .map(|(a, b, c, d)| (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned()))
        .collect();
    table.sort();
    assert_eq!(said_rows, table);
}
