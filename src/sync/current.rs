//! `Current`: whose threads a thread asks for help, those of the current rayon pool, or a program's
//! [own](crate::workers).
//!
//! State: a thread-local value, rayon's at first, which a scope sets and its end sets back. It owns what it names, so nothing is
//! left that leads nowhere, in whatever order scopes end (those of coroutines end as they like).
//!
//! Who helps has the asker's as long as it does: what it asks for meanwhile, in a loop within a loop, it asks the same
//! threads for.
//!
//! Within a method of a program's workers a thread asks nobody: one that begins parallel work would call itself, and one
//! that runs the job that it is given would begin it in the middle of what asks, as deep as there are jobs. (Who waits may
//! run jobs: it is in the middle of nothing.)

use core::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Arc, thread_local};
use crate::panics::{Panicked, forget, note, said, tell};
use crate::workers::{Job, MOST_THREADS, Workers};

/// Whose threads a thread asks.
#[derive(Clone)]
pub(crate) enum Current {
    /// Those of the current rayon pool.
    Rayon,
    /// A program's own.
    Own(Arc<dyn Workers>),
    /// Nobody: it is within a method of a program's workers.
    Nobody,
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::Rayon) };
    /// The number of a thread that has helped as one of a program's own, from 1; 0 of others.
    static NUMBER: Cell<u32> = const { Cell::new(0) };
}

/// Numbers of such threads: as many as rows of a trace are of use. Those after them have the same again.
const NUMBERS: u32 = 1_023;

/// What this thread's is, for a look: nothing of a program runs in `look`. (A thread that is about to end has rayon's.)
#[inline]
fn look<R>(look: impl FnOnce(&Current) -> R) -> R {
    let mut look = Some(look);
    let mut at = |current: &Current| look.take().map(|look| look(current));
    let seen = CURRENT.try_with(|current| at(&current.borrow()));
    match seen.ok().flatten().or_else(|| at(&Current::Rayon)) {
        Some(seen) => seen,
        None => unreachable!("it has looked once"),
    }
}

/// Whether this thread asks rayon's threads.
#[inline]
pub(crate) fn is_rayon() -> bool {
    look(|current| matches!(current, Current::Rayon))
}

/// Whether this thread asks nobody.
pub(crate) fn is_nobody() -> bool {
    look(|current| matches!(current, Current::Nobody))
}

/// How many threads this one's own workers have, this one among them; `None` where rayon is to be asked.
#[inline]
pub(crate) fn threads() -> Option<usize> {
    if is_rayon() {
        None
    } else {
        Some(own_threads())
    }
}

#[inline(never)]
fn own_threads() -> usize {
    let threads = match Current::here() {
        Current::Own(workers) => {
            quietly("threads", || Current::Nobody.within(|| workers.threads()))
        }
        Current::Rayon | Current::Nobody => None,
    };
    threads.unwrap_or(1).clamp(1, MOST_THREADS)
}

/// Hands a job to a program's workers; whether they have taken it, or let it go, without a panic.
pub(crate) fn spawn(workers: &dyn Workers, job: Job) -> bool {
    quietly("spawn", || Current::Nobody.within(|| workers.spawn(job))).is_some()
}

/// This thread waits: lets its own workers do something else on it. Whether they have; `None` where rayon is to be asked.
pub(crate) fn yield_now() -> Option<bool> {
    match Current::here() {
        Current::Rayon => None,
        Current::Nobody => Some(false),
        Current::Own(workers) => Some(quietly("yield_now", || workers.yield_now()) == Some(true)),
    }
}

/// The number of this thread among those that help as a program's own, 0 if it does not; `None` where rayon is to be asked.
pub(crate) fn number() -> Option<u32> {
    (!is_rayon()).then(|| NUMBER.try_with(Cell::get).unwrap_or(0))
}

/// Calls a method of a program's workers. A panic of it ends here: who asks may be in the middle of a change, and can do
/// without help.
fn quietly<R>(method: &'static str, call: impl FnOnce() -> R) -> Option<R> {
    let (mut panicked, mut done) = (None, None);
    note(&mut panicked, || done = Some(call()));
    if panicked.is_some() {
        tell_of(method, panicked);
    }
    done
}

#[cold]
fn tell_of(method: &'static str, panicked: Panicked) {
    let text = panicked.as_deref().and_then(said).map(str::to_owned);
    forget(panicked);
    tell(|| {
        tracing::warn!(
            name: "workers_panicked",
            target: "megachunk::schedule",
            method,
            error = text.as_deref().unwrap_or("no text"),
            "a program's own workers panicked; the panic ends here, and who asked goes on without them"
        );
    });
}

impl Current {
    /// This thread's.
    pub(crate) fn here() -> Self {
        look(Self::clone)
    }

    /// Does some work that asks these threads.
    #[inline]
    pub(crate) fn within<R>(self, work: impl FnOnce() -> R) -> R {
        if matches!(self, Self::Rayon) && is_rayon() {
            return work();
        }
        self.within_other(work)
    }

    #[inline(never)]
    fn within_other<R>(self, work: impl FnOnce() -> R) -> R {
        // The end of a scope, also by a panic. Who has made it has another handle of what goes, so nothing ends in it.
        struct Back(Option<Current>);

        impl Drop for Back {
            fn drop(&mut self) {
                if let Some(before) = self.0.take() {
                    drop(CURRENT.try_with(|current| current.replace(before)));
                }
            }
        }

        let (mut own, mut back) = (Some(self), Back(None));
        // (A thread that is about to end keeps rayon's.)
        _ = CURRENT.try_with(|current| back.0 = own.take().map(|own| current.replace(own)));
        work()
    }

    /// Helps an asker, on a thread that may be one of a program's own, which gets a number then.
    #[inline]
    pub(crate) fn help<R>(self, work: impl FnOnce() -> R) -> R {
        if matches!(self, Self::Own(_)) && is_rayon() {
            number_this_thread();
        }
        self.within(work)
    }
}

fn number_this_thread() {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    _ = NUMBER.try_with(|number| {
        if number.get() == 0 {
            // Ordering: Relaxed: a number, given out once.
            number.set(NEXT.fetch_add(1, Ordering::Relaxed) % NUMBERS + 1);
        }
    });
}
