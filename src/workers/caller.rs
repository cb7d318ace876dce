//! `Caller`: for whom threads of a pool work when they help.
//!
//! A thread that waits for a parallel loop of its own does what else there is in the pool meanwhile: another processor, a
//! piece of another loop. That is not the work of what it waits in. So who asks for help keeps what its own thread is
//! about, and those who help are about the same as long as they do: their events are in the [span](tracing::Span) in which
//! help was asked for, of the subscriber that hears the caller; and the time that they take is taken off what was
//! [measured](Measured) on their thread before.
//!
//! That subscriber is the one of the thread that helps meanwhile, whatever that was: it may listen to the caller's thread
//! alone, and the thread that helps may have another, or none. (Of a caller that nobody hears, the one of the thread that
//! helps hears it.)
//!
//! A thread can be in that span already, below another one in which it waits; or be in one, while help was asked for in
//! none. To enter the span is not enough then: for `tracing-subscriber`'s `Registry` a span that is entered twice is not the
//! current one a second time. So who helps is asked again where it is, and gets a new span within the caller's, `help`, or
//! one within none. (Who listens and wants no such span has the events in the one in which its thread waited; and a
//! subscriber that does not say which span is the current one is taken to be in the one that was entered last.)
//!
//! While nobody listens and nothing is measured, that is a relaxed load and a look at a thread-local word for a call, and
//! such a word for each helper. Who listens may panic, here as everywhere: see [`tell`].

use core::cell::{Cell, RefCell};
use core::mem;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::{catch_unwind, resume_unwind};
use std::thread;
use std::time::Instant;

use tracing::dispatcher::{self, Dispatch};
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::span::Span;
use tracing::subscriber::NoSubscriber;

use crate::panics::tell;
use crate::span::Kept;
use crate::sync::thread_local;

thread_local! {
    /// The number of what is measured on this thread, the last in its list; 0 if nothing is.
    static DOING: Cell<usize> = const { Cell::new(0) };
    /// What is measured on this thread and has not ended, the innermost last. (Of fibres that take turns on the thread any may
    /// end first: each takes out its own.)
    static UNDER_WAY: RefCell<UnderWay> = const {
        RefCell::new(UnderWay { all: Vec::new(), begun: 0 })
    };
}

/// What is measured on a thread.
struct Work {
    /// Which of those that have begun on the thread.
    begun: u64,
    /// Its number, which nothing else has that is under way.
    work: usize,
    /// How long other work has taken within it.
    within: Duration,
    /// Until when its time is that of what it was begun in, which has ended before it.
    charged: Option<Instant>,
}

struct UnderWay {
    all: Vec<Work>,
    begun: u64,
}

impl UnderWay {
    fn begin(&mut self, work: usize) -> u64 {
        self.begun = self.begun.wrapping_add(1);
        self.all.push(Work {
            begun: self.begun,
            work,
            within: Duration::ZERO,
            charged: None,
        });
        self.begun
    }

    /// One has ended, now, which took so long: how long other work took within it. The one that it was begun in has that as
    /// others', once: of what was begun within it and goes on, that has what is left.
    fn end(&mut self, begun: u64, all: Duration, now: Instant) -> Duration {
        let Some(at) = self.all.iter().rposition(|other| other.begun == begun) else {
            return Duration::ZERO;
        };
        let ended = self.all.remove(at);
        if let Some(goes_on) = self.all.get_mut(at) {
            goes_on.charged = Some(now);
        }
        if let Some(outer) = at.checked_sub(1).and_then(|at| self.all.get_mut(at)) {
            let left = ended
                .charged
                .map_or(all, |until| now.saturating_duration_since(until));
            outer.within = outer.within.saturating_add(left);
        }
        ended.within
    }

    /// The number of the innermost.
    fn doing(&self) -> usize {
        self.all.last().map_or(0, |last| last.work)
    }
}

/// The list of this thread, for a change; `None` if the thread is about to end.
fn change<R>(change: impl FnOnce(&mut UnderWay) -> R) -> Option<R> {
    let changed = UNDER_WAY.try_with(|all| {
        let mut all = all.borrow_mut();
        let changed = change(&mut all);
        DOING.with(|doing| doing.set(all.doing()));
        changed
    });
    changed.ok()
}

/// The number of what is measured on this thread; 0 if nothing is.
#[inline]
fn doing() -> usize {
    DOING.with(Cell::get)
}

/// Work that is measured, on the thread on which it has begun.
#[must_use = "it ends with `end`"]
pub(crate) struct Measured {
    pub(crate) began: Instant,
    /// Which of its thread's list; `None` if that had gone.
    begun: Option<u64>,
}

/// How long something took.
#[derive(Clone, Copy)]
pub(crate) struct Took {
    /// From the beginning to the end.
    pub(crate) all: Duration,
    /// What of that other work on its thread took.
    pub(crate) within: Duration,
}

impl Measured {
    /// Begins some work. It has a number that nothing else has which is under way, an address of its own, say. The thread
    /// must come to [`end`](Self::end), whoever panics.
    pub(crate) fn begin(work: usize) -> Self {
        let begun = change(|all| all.begin(work));
        Self {
            began: Instant::now(),
            begun,
        }
    }

    /// It has ended. What it has interrupted is not charged for it.
    pub(crate) fn end(self) -> Took {
        let now = Instant::now();
        let all = now.saturating_duration_since(self.began);
        let within = self
            .begun
            .and_then(|begun| change(|list| list.end(begun, all, now)));
        Took {
            all,
            within: within.unwrap_or_default().min(all),
        }
    }
}

/// Who asks for help, and what its thread is about.
pub(crate) struct Caller {
    work: usize,
    heard: Option<Heard>,
}

/// The span in which help was asked for, which may be none, and who hears it. Not [`Kept`]: it is dropped first, and then
/// who hears it.
struct Heard {
    span: Span,
    listener: Dispatch,
}

impl Caller {
    /// This thread asks.
    #[inline]
    pub(crate) fn here() -> Self {
        // Where `tracing` is compiled without anything there is nothing to be told.
        let may_tell = STATIC_MAX_LEVEL != LevelFilter::OFF;
        let is_heard = may_tell && LevelFilter::current() != LevelFilter::OFF;
        Self {
            work: doing(),
            heard: if is_heard { heard_in(None) } else { None },
        }
    }

    /// This thread asks, in a span, whether it is the current one for who listens or not.
    #[inline]
    pub(crate) fn in_span(span: Option<&Span>) -> Self {
        match span {
            None => Self::here(),
            Some(_) => Self {
                work: doing(),
                heard: heard_in(span),
            },
        }
    }

    /// Does some of its work, on whatever thread.
    #[inline]
    pub(crate) fn help<R>(&self, work: impl FnOnce() -> R) -> R {
        if self.heard.is_none() && doing() == self.work {
            return work();
        }
        self.help_observed(work)
    }

    #[cold]
    fn help_observed<R>(&self, work: impl FnOnce() -> R) -> R {
        let measured = (doing() != self.work).then(|| Measured::begin(self.work));
        let done = match &self.heard {
            Some(heard) => heard.within(work),
            None => catch_unwind(AssertUnwindSafe(work)),
        };
        if let Some(measured) = measured {
            measured.end();
        }
        match done {
            Ok(done) => done,
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// The span that this thread is in, if that is not said, and who hears it; `None` if nobody does. Who hears it is worth
/// keeping, also where it is in none, or who listens does not say in which: it may listen to this thread alone.
#[cold]
fn heard_in(span: Option<&Span>) -> Option<Heard> {
    let mut heard = None;
    tell(|| {
        let span = span.filter(|span| !span.is_disabled()).cloned();
        let span = span.unwrap_or_else(Span::current);
        let listener = span.with_subscriber(|(_, listener)| listener.clone());
        let listener = listener.or_else(|| {
            dispatcher::get_default(|listener| {
                (!listener.is::<NoSubscriber>()).then(|| listener.clone())
            })
        });
        heard = listener.map(|listener| Heard { span, listener });
    });
    heard
}

impl Heard {
    /// Does some work, with this thread in the span, and heard by who hears the span's: by whom it is else, and that it is in
    /// the span for that one already, says nothing of each other.
    fn within<R>(&self, work: impl FnOnce() -> R) -> thread::Result<R> {
        let (mut listens, mut entered, mut anew) = (None, None, None);
        tell(|| {
            listens = Some(dispatcher::set_default(&self.listener));
            if self.is_entered() == Some(true) {
                return;
            }
            entered = Some(self.span.enter());
            if self.is_entered() == Some(false) {
                anew = self.anew();
            }
            if anew.is_some() {
                entered = None;
            }
        });
        let mut entered_anew = None;
        tell(|| entered_anew = anew.as_deref().map(Span::enter));
        let done = catch_unwind(AssertUnwindSafe(work));
        tell(|| drop(entered_anew));
        drop(anew);
        tell(|| drop(entered));
        tell(|| drop(listens));
        done
    }

    /// Whether this thread is in the span, if who hears it knows.
    fn is_entered(&self) -> Option<bool> {
        let current = self.listener.current_span();
        let is_own = || current.id() == self.span.id().as_ref();
        current.is_known().then(is_own)
    }

    /// A new span within the span, or within none, unless who hears it wants none. An error's, so that filters by level let
    /// it through.
    fn anew(&self) -> Option<Kept> {
        let parent = self.span.id();
        let span = tracing::error_span!(target: "megachunk::schedule", parent: parent, "help");
        (!span.is_disabled()).then(|| Kept(span))
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        tell(|| drop(mem::replace(&mut self.span, Span::none())));
        tell(|| drop(mem::replace(&mut self.listener, Dispatch::none())));
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};
    use tracing_core::span::Current;

    use super::*;

    fn busy(millis: u64) {
        std::thread::sleep(Duration::from_millis(millis));
    }

    #[test]
    fn what_others_do_within_is_taken_off_once() {
        let outer = Measured::begin(1);
        let caller = Caller {
            work: 2,
            heard: None,
        };
        caller.help(|| {
            busy(20);
            // A part of what is taken off anyway.
            let inner = Measured::begin(3);
            busy(20);
            let inner = inner.end();
            assert!(inner.all >= Duration::from_millis(20));
            assert_eq!(inner.within, Duration::ZERO);
        });
        // Its own work is not.
        Caller::here().help(|| busy(20));
        let outer = outer.end();
        assert!(outer.within >= Duration::from_millis(40));
        assert!(outer.all >= outer.within + Duration::from_millis(20));
        assert_eq!(doing(), 0);
    }

    #[test]
    fn works_that_end_in_another_order_leave_nothing_behind() {
        // As of fibres that take turns on a thread.
        let (one, other) = (Measured::begin(1), Measured::begin(2));
        one.end();
        assert_eq!(doing(), 2, "the other is under way");
        let third = Measured::begin(3);
        other.end();
        assert_eq!(doing(), 3);
        third.end();
        assert_eq!(doing(), 0, "nothing is");
        // What is begun within is taken off that still, whatever has ended meanwhile.
        let (outer, inner) = (Measured::begin(1), Measured::begin(2));
        let last = Measured::begin(3);
        busy(20);
        inner.end();
        busy(5);
        let last = last.end();
        // And once, though they overlap: this is its own.
        busy(20);
        let outer = outer.end();
        assert!(outer.within >= last.all && last.within == Duration::ZERO);
        assert!(outer.within + Duration::from_millis(20) <= outer.all);
    }

    #[test]
    fn a_panic_leaves_the_thread_with_what_it_was_about() {
        let outer = Measured::begin(1);
        let helps = || {
            Caller {
                work: 2,
                heard: None,
            }
            .help(|| resume_unwind(Box::new("bad")))
        };
        assert!(catch_unwind(AssertUnwindSafe(helps)).is_err());
        assert_eq!(doing(), 1);
        outer.end();
        assert_eq!(doing(), 0);
    }

    /// Says that it is in no span, and panics wherever it is to.
    struct Burns(&'static [&'static str]);

    impl Burns {
        fn may(&self, act: &'static str) {
            if self.0.contains(&act) {
                resume_unwind(Box::new(act));
            }
        }
    }

    impl Subscriber for Burns {
        /// Nothing else: whether anybody listens is kept for all threads, and other tests ask.
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == module_path!() || metadata.name() == "help"
        }
        fn new_span(&self, span: &Attributes<'_>) -> Id {
            if span.metadata().name() == "help" {
                self.may("begin");
            }
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {
            self.may("enter");
        }
        fn exit(&self, _: &Id) {
            self.may("leave");
        }
        fn clone_span(&self, id: &Id) -> Id {
            self.may("clone");
            id.clone()
        }
        fn try_close(&self, _: Id) -> bool {
            self.may("close");
            true
        }
        fn current_span(&self) -> Current {
            self.may("look");
            Current::none()
        }
    }

    #[test]
    fn whose_listener_panics_is_helped_and_may_end_while_it_panics() {
        let all: [&[_]; 7] = [
            &[],
            &["look", "close"],
            &["enter", "leave", "close"],
            &["leave", "close"],
            &["close"],
            &["begin", "leave", "close"],
            &["clone", "close"],
        ];
        for burns in all {
            let caller = tracing::subscriber::with_default(Burns(burns), || {
                let span = Kept(tracing::info_span!("own"));
                Caller::in_span(Some(&span))
            });
            assert_eq!(caller.heard.is_none(), burns.contains(&"clone"));
            assert_eq!(caller.help(|| 7), 7);
            let helps = || caller.help(|| resume_unwind(Box::new("bad")));
            let panic = catch_unwind(AssertUnwindSafe(helps)).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"bad"));
            let ends = || {
                let _caller = caller;
                resume_unwind(Box::new("worse"))
            };
            let panic: Box<_> = catch_unwind(AssertUnwindSafe(ends)).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"worse"));
        }
    }
}
