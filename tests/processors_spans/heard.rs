//! What a test hears: all spans and events, whatever thread they come from.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

use crate::table::documented;

/// A span, or an event, as it was heard.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) metadata: &'static Metadata<'static>,
    /// The span that it is in, as they are numbered, from 1.
    pub(crate) parent: Option<u64>,
    /// What its fields hold: ` name=value` of each.
    pub(crate) fields: String,
}

impl Visit for Heard {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields += &format!(" {field}={value:?}");
    }
}

impl Heard {
    pub(crate) fn is(&self, name: &str, field: &str) -> bool {
        self.metadata.name() == name && self.fields.contains(field)
    }
}

/// All that was heard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) spans: Vec<Heard>,
    pub(crate) events: Vec<Heard>,
}

impl Log {
    /// The spans of this name, with this among their fields.
    pub(crate) fn spans(&self, name: &str, field: &str) -> Vec<&Heard> {
        let spans = self.spans.iter();
        spans.filter(|span| span.is(name, field)).collect()
    }

    /// The only one.
    pub(crate) fn span(&self, name: &str, field: &str) -> &Heard {
        match self.spans(name, field)[..] {
            [span] => span,
            ref others => panic!("{name} {field}: {others:?}"),
        }
    }

    pub(crate) fn parent(&self, of: &Heard) -> Option<&Heard> {
        of.parent.map(|parent| &self.spans[parent as usize - 1])
    }
}

/// Hears everything, on all threads.
struct Listener(Arc<Mutex<Log>>);

thread_local! {
    pub(crate) static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
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
pub(crate) fn hear(act: impl FnOnce()) -> Log {
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
