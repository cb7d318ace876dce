//! `Job`: what a helper is asked to do.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::workers::current;
use crate::workers::helpers::{Call, Kept, Unanswered};

/// A part of parallel work, for a thread that has time for it: what [`Workers::spawn`](super::Workers::spawn) is given.
///
/// It can be run once, on any thread, at any time, also never, or long after who asked has done all. 16 bytes, which borrow
/// nothing; a job that waits keeps no world, no closure and no workers alive, some hundred bytes at most.
#[doc(alias = "task")]
pub struct Job {
    call: Arc<Call>,
    waiting: Unanswered<Kept>,
}

impl Job {
    /// A job for who helps with a call, one of those that are kept; `None` where so many wait that no more are to.
    pub(crate) fn of(call: &Arc<Call>, kept: &Kept) -> Option<Self> {
        let waiting = Unanswered::one_of(Arc::clone(kept))?;
        let call = Arc::clone(call);
        Some(Self { call, waiting })
    }

    /// Helps, as long as there is something to do; where nothing is left, it is back after an access to the word that says so,
    /// one to the number of jobs that wait, and the end of its two shares.
    ///
    /// Does nothing within a call of [`Workers::spawn`](super::Workers::spawn) or [`threads`](super::Workers::threads) on
    /// the same thread, whatever [scopes](super::with_workers) begin there: the thread that asks is about to do the same.
    ///
    /// In the destructors of a thread's values, as that ends, it may do nothing, or help still; then closures run where others
    /// of these values have ended. So let no job wait in one.
    ///
    /// Does not panic: what panics in a closure of who asked goes on there. While it runs, its thread asks the same workers for
    /// parallel work of its own, and waits for nothing else of the library's; and what it tells of is in the span of who asked.
    pub fn run(self) {
        let Self { call, waiting } = self;
        drop(waiting);
        if current::may_help() {
            call.answer();
        }
    }
}

// A panic leaves nothing of it half done: it has none.
impl UnwindSafe for Job {}
impl RefUnwindSafe for Job {}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}
