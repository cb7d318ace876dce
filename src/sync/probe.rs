//! Probe points: counting what an operation does to shared memory, and stopping a thread at any
//! step of it.
//!
//! With the feature `probe`, every access to an atomic of the [sync room](crate::sync) is a
//! *step* of the thread that makes it. `measure` counts what a closure does; `freeze_at` stops
//! the calling thread just before a step, as if the system had taken the processor away for ever,
//! until the test lets it go. Without the feature, everything here compiles to nothing.
//!
//! ```
//! # #[cfg(feature = "probe")] {
//! use megachunk::sync::{atomic::{AtomicU64, Ordering}, probe};
//!
//! let word = AtomicU64::new(0);
//! let counts = probe::measure(|| { word.fetch_or(1, Ordering::AcqRel); });
//! assert_eq!(counts.rmw, 1);
//! # }
//! ```

#[cfg(all(feature = "probe", not(any(loom, miri)), target_arch = "x86_64"))]
pub(crate) use on::is_narrow;
#[cfg(all(feature = "probe", not(loom)))]
pub use on::{Counts, Frozen, Gate, freeze_at, measure, narrow};
#[cfg(all(feature = "probe", not(loom)))]
pub(crate) use on::{after_rmw, before_rmw, failed_claim, probed, rmw, step, store};

#[cfg(not(all(feature = "probe", not(loom))))]
pub(crate) use off::{failed_claim, probed, rmw, step};
// For accesses that are several words wide.
#[cfg(all(not(any(feature = "probe", loom, miri)), target_arch = "x86_64"))]
pub(crate) use off::{is_narrow, store};

#[cfg(not(all(feature = "probe", not(loom))))]
mod off {
    #[inline(always)]
    pub(crate) fn step() {}
    #[cfg(all(not(any(loom, miri)), target_arch = "x86_64"))]
    #[inline(always)]
    pub(crate) fn store(_address: *const u8) {}
    #[cfg(all(not(any(loom, miri)), target_arch = "x86_64"))]
    #[inline(always)]
    pub(crate) fn is_narrow() -> bool {
        false
    }
    #[inline(always)]
    pub(crate) fn rmw(_address: *const u8, _won: bool) {}
    #[inline(always)]
    pub(crate) fn probed(_words: u64) {}
    #[inline(always)]
    pub(crate) fn failed_claim() {}
}

#[cfg(all(feature = "probe", not(loom)))]
mod on {
    use core::cell::{Cell, RefCell};
    use core::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Duration;

    /// What one thread did to shared memory.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Counts {
        /// Accesses to shared words of any kind.
        pub steps: u64,
        /// Read-modify-writes: swaps, fetch-and-…, compare-and-swaps won or lost, lock words.
        pub rmw: u64,
        /// Claims lost to another thread: failed compare-and-swaps, claims that yielded nothing.
        pub failed_claims: u64,
        /// Claim or summary words looked at in search of a free one.
        pub words_probed: u64,
        /// Writes to a cache line that another thread had written last.
        pub owner_changes: u64,
    }

    /// A thread's counts, and the step that it does not make. Words of their own, and nothing that ends with the
    /// thread: each access to an atomic comes by here, in tests without optimisations.
    struct Here {
        steps: Cell<u64>,
        rmw: Cell<u64>,
        failed_claims: Cell<u64>,
        words_probed: Cell<u64>,
        owner_changes: Cell<u64>,
        stops_before: Cell<u64>,
    }

    /// More steps than any thread makes.
    const NEVER: u64 = u64::MAX;

    thread_local! {
        static HERE: Here = const { Here {
            steps: Cell::new(0),
            rmw: Cell::new(0),
            failed_claims: Cell::new(0),
            words_probed: Cell::new(0),
            owner_changes: Cell::new(0),
            stops_before: Cell::new(NEVER),
        } };
        static NARROW: Cell<bool> = const { Cell::new(false) };
        static GATE: RefCell<Option<Arc<Gate>>> = const { RefCell::new(None) };
    }

    /// What is built on this thread by `build` does without instructions that access several words at
    /// once, so that tests can check both ways on one processor.
    pub fn narrow<R>(build: impl FnOnce() -> R) -> R {
        let before = NARROW.replace(true);
        let built = build();
        NARROW.set(before);
        built
    }

    /// Whether [`narrow`] is in force.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(crate) fn is_narrow() -> bool {
        NARROW.get()
    }

    /// Counts what `work` does on this thread.
    pub fn measure(work: impl FnOnce()) -> Counts {
        let before = counts();
        work();
        let after = counts();
        Counts {
            steps: after.steps - before.steps,
            rmw: after.rmw - before.rmw,
            failed_claims: after.failed_claims - before.failed_claims,
            words_probed: after.words_probed - before.words_probed,
            owner_changes: after.owner_changes - before.owner_changes,
        }
    }

    fn counts() -> Counts {
        HERE.with(|here| Counts {
            steps: here.steps.get(),
            rmw: here.rmw.get(),
            failed_claims: here.failed_claims.get(),
            words_probed: here.words_probed.get(),
            owner_changes: here.owner_changes.get(),
        })
    }

    /// Where a frozen thread waits, and where a test sees that it does.
    #[derive(Debug, Default)]
    pub struct Gate {
        state: Mutex<GateState>,
        changed: Condvar,
    }

    #[derive(Debug, Default)]
    struct GateState {
        frozen: bool,
        finished: bool,
        open: bool,
    }

    /// How a thread that was to be frozen fared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Frozen {
        /// It stands before the step.
        Stopped,
        /// It came to the end of its operation before that step.
        Finished,
    }

    impl Gate {
        /// A closed gate.
        #[must_use]
        pub fn new() -> Arc<Self> {
            Arc::default()
        }

        /// Waits until the thread stands at the gate or has finished its operation.
        pub fn wait(&self) -> Frozen {
            let mut state = self.state.lock().expect("no panic under this lock");
            while !state.frozen && !state.finished {
                state = self.changed.wait(state).expect("no panic under this lock");
            }
            if state.frozen {
                Frozen::Stopped
            } else {
                Frozen::Finished
            }
        }

        /// As [`wait`](Self::wait), for `limit` at most; `None` if the thread came to neither, as
        /// when another thread blocks it.
        pub fn wait_for(&self, limit: Duration) -> Option<Frozen> {
            let state = self.state.lock().expect("no panic under this lock");
            let waiting = |state: &mut GateState| !state.frozen && !state.finished;
            let (state, timeout) = self
                .changed
                .wait_timeout_while(state, limit, waiting)
                .expect("no panic under this lock");
            match (timeout.timed_out(), state.frozen) {
                (true, _) => None,
                (false, true) => Some(Frozen::Stopped),
                (false, false) => Some(Frozen::Finished),
            }
        }

        /// Lets the frozen thread go on.
        pub fn open(&self) {
            self.state.lock().expect("no panic under this lock").open = true;
            self.changed.notify_all();
        }

        fn stand(&self) {
            let mut state = self.state.lock().expect("no panic under this lock");
            state.frozen = true;
            self.changed.notify_all();
            while !state.open {
                state = self.changed.wait(state).expect("no panic under this lock");
            }
        }

        fn finish(&self) {
            self.state
                .lock()
                .expect("no panic under this lock")
                .finished = true;
            self.changed.notify_all();
        }
    }

    /// Runs `operation` on this thread and freezes it before its step number `step` (from 0)
    /// until `gate` is opened. If the operation has fewer steps, it just runs to its end.
    pub fn freeze_at<R>(step: u64, gate: &Arc<Gate>, operation: impl FnOnce() -> R) -> R {
        struct Finish<'a>(&'a Gate);
        impl Drop for Finish<'_> {
            fn drop(&mut self) {
                HERE.with(|here| here.stops_before.set(NEVER));
                GATE.take();
                self.0.finish();
            }
        }
        GATE.set(Some(Arc::clone(gate)));
        HERE.with(|here| here.stops_before.set(here.steps.get().saturating_add(step)));
        let _finish = Finish(gate);
        operation()
    }

    /// The thread is about to access a shared word.
    pub(crate) fn step() {
        #[cfg(shuttle)]
        crate::sync::scheduled::point();
        HERE.with(|here| {
            let made = here.steps.get();
            here.steps.set(made + 1);
            if made == here.stops_before.get() {
                stop();
            }
        });
    }

    #[cold]
    fn stop() {
        // `try_with`: a thread that is being torn down has no gate any more.
        if let Ok(Some(gate)) = GATE.try_with(RefCell::take) {
            gate.stand();
        }
    }

    /// The thread is about to write the line at `address`.
    pub(crate) fn store(address: *const u8) {
        step();
        own(address);
    }

    /// The thread makes a read-modify-write at `address`; `won` if it got what it wanted.
    pub(crate) fn rmw(address: *const u8, won: bool) {
        before_rmw(address);
        after_rmw(won);
    }

    /// The thread is about to make a read-modify-write at `address`.
    pub(crate) fn before_rmw(address: *const u8) {
        step();
        own(address);
        HERE.with(|here| here.rmw.set(here.rmw.get() + 1));
    }

    /// The read-modify-write announced last has been made.
    pub(crate) fn after_rmw(won: bool) {
        if !won {
            failed_claim();
        }
    }

    /// A claim was lost to another thread.
    pub(crate) fn failed_claim() {
        HERE.with(|here| here.failed_claims.set(here.failed_claims.get() + 1));
    }

    /// `words` claim or summary words were looked at in search of a free one.
    pub(crate) fn probed(words: u64) {
        HERE.with(|here| here.words_probed.set(here.words_probed.get() + words));
    }

    /// Who wrote each cache line last, by a hash of its address: two lines that share an entry
    /// are told apart by the tag in the upper half.
    static OWNERS: [AtomicU64; 1 << 16] = [const { AtomicU64::new(0) }; 1 << 16];
    static NEXT_THREAD: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static THREAD: Cell<u64> = const { Cell::new(0) };
    }

    fn own(address: *const u8) {
        let me = match THREAD.get() {
            0 => {
                let me = NEXT_THREAD.fetch_add(1, Ordering::Relaxed) & 0xffff;
                THREAD.set(me);
                me
            }
            me => me,
        };
        let line = address.addr() as u64 >> 6;
        let entry = &OWNERS[(line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize];
        let mine = line << 16 | me;
        let last = entry.swap(mine, Ordering::Relaxed);
        if last != mine && last >> 16 == (mine >> 16) {
            HERE.with(|here| here.owner_changes.set(here.owner_changes.get() + 1));
        }
    }
}

#[cfg(all(test, feature = "probe", not(loom)))]
mod tests {
    use super::*;
    use crate::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_thread_that_is_to_stop_at_a_step_that_never_comes_goes_on() {
        let word = AtomicU64::new(0);
        let gate = Gate::new();
        let counts = measure(|| {
            word.fetch_add(1, Ordering::Relaxed);
            freeze_at(u64::MAX, &gate, || word.fetch_add(1, Ordering::Relaxed));
        });
        assert_eq!((counts.rmw, gate.wait()), (2, Frozen::Finished));
    }
}
