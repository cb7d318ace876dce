//! `Caller`: for whom threads of a pool work when they help.
//!
//! A thread that waits for a parallel loop of its own does what else there is in the pool meanwhile: another processor, a
//! piece of another loop. That is not the work of what it waits in. So who asks for help keeps what its own thread is
//! about, and those who help are about the same as long as they do: their events are in the [span](tracing::Span) in which
//! help was asked for, of the subscriber that hears the caller; and the time that they take is taken off what was
//! [measured](Measured) on their thread before.
//!
//! While nobody listens and nothing is measured, that is a relaxed load and a look at a thread-local word for a call, and
//! such a word for each helper. Who listens may panic, here as everywhere: see [`tell`].

use core::cell::Cell;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::{catch_unwind, resume_unwind};
use std::time::Instant;

use tracing::dispatcher::{self, DefaultGuard, Dispatch};
use tracing::level_filters::LevelFilter;
use tracing::span::{Entered, Span};

use super::thread_local;
use crate::panics::tell;

thread_local! {
    /// What is measured on this thread, and how long other work has taken within it.
    static DOING: Cell<Doing> = const { Cell::new(Doing::NOTHING) };
}

/// What is measured on a thread.
#[derive(Clone, Copy)]
struct Doing {
    /// Its number, which nothing else has that is under way; 0 if nothing is measured.
    work: usize,
    /// How long other work has taken within it.
    within: Duration,
}

impl Doing {
    const NOTHING: Self = Self::of(0);

    const fn of(work: usize) -> Self {
        Self {
            work,
            within: Duration::ZERO,
        }
    }
}

/// The number of what is measured on this thread; 0 if nothing is.
#[inline]
fn doing() -> usize {
    DOING.with(|doing| doing.get().work)
}

/// Work that is measured, on the thread on which it has begun.
#[must_use = "it ends with `end`"]
pub(crate) struct Measured {
    pub(crate) began: Instant,
    before: Doing,
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
        let before = DOING.with(|doing| doing.replace(Doing::of(work)));
        Self {
            began: Instant::now(),
            before,
        }
    }

    /// It has ended. What it has interrupted is not charged for it.
    pub(crate) fn end(self) -> Took {
        let all = self.began.elapsed();
        let within = self.before.within.saturating_add(all);
        let before = Doing {
            within,
            ..self.before
        };
        let own = DOING.with(|doing| doing.replace(before));
        Took {
            all,
            within: own.within.min(all),
        }
    }
}

/// Who asks for help, and what its thread is about.
pub(crate) struct Caller {
    work: usize,
    heard: Option<Heard>,
}

/// The span in which help was asked for, and who hears it.
struct Heard {
    span: Span,
    listener: Dispatch,
}

impl Caller {
    /// This thread asks.
    #[inline]
    pub(crate) fn here() -> Self {
        let is_heard = LevelFilter::current() != LevelFilter::OFF;
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
        let mut entered = None;
        if let Some(heard) = &self.heard {
            tell(|| entered = heard.enter());
        }
        let done = catch_unwind(AssertUnwindSafe(work));
        tell(|| drop(entered));
        if let Some(measured) = measured {
            measured.end();
        }
        match done {
            Ok(done) => done,
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// The span that this thread is in, if that is not said, and who hears it; `None` if nobody does.
#[cold]
fn heard_in(span: Option<&Span>) -> Option<Heard> {
    let mut heard = None;
    tell(|| {
        let span = span.filter(|span| !span.is_disabled()).cloned();
        let span = span.unwrap_or_else(Span::current);
        let listener = span.with_subscriber(|(_, listener)| listener.clone());
        heard = listener.map(|listener| Heard { span, listener });
    });
    heard
}

impl Heard {
    /// Has this thread be in the span, unless it is; until what it gives back is dropped.
    fn enter(&self) -> Option<(Entered<'_>, DefaultGuard)> {
        if self.listener.current_span().id() == self.span.id().as_ref() {
            return None;
        }
        let listens = dispatcher::set_default(&self.listener);
        Some((self.span.enter(), listens))
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

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

    /// Says that it is in a span, and panics whenever one begins or ends.
    struct Burns;

    impl Subscriber for Burns {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {
            resume_unwind(Box::new("enters"));
        }
        fn exit(&self, _: &Id) {
            resume_unwind(Box::new("leaves"));
        }
    }

    #[test]
    fn whose_listener_panics_is_helped() {
        let caller = tracing::subscriber::with_default(Burns, || {
            let span = tracing::info_span!("own");
            Caller::in_span(Some(&span))
        });
        assert!(caller.heard.is_some());
        assert_eq!(caller.help(|| 7), 7);
        let helps = || caller.help(|| resume_unwind(Box::new("bad")));
        let panic = catch_unwind(AssertUnwindSafe(helps)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"bad"));
    }
}
