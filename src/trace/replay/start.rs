//! `Start`: where the threads of a replay wait until all are there.
//!
//! What must hold: nobody waits for ever. Where a thread will never come, the start is called off, and those who wait,
//! or come later, are told.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::sync::thread;

/// The start of one run; each of its threads comes once.
#[derive(Debug)]
pub(super) struct Start {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
enum State {
    /// So many threads have not come yet.
    Missing(usize),
    CalledOff,
}

impl Start {
    /// The start of so many threads.
    pub(super) fn of(threads: usize) -> Self {
        Self {
            state: Mutex::new(State::Missing(threads)),
            changed: Condvar::new(),
        }
    }

    /// Waits until all threads are here; `false` if the start is called off.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.state();
        if let State::Missing(missing) = &mut *state {
            *missing -= 1;
        }
        if let State::Missing(0) = *state {
            self.changed.notify_all();
        }
        let is_open = |state: &mut State| matches!(state, State::Missing(1..));
        let state = self.changed.wait_while(state, is_open);
        matches!(
            *state.unwrap_or_else(PoisonError::into_inner),
            State::Missing(_)
        )
    }

    /// Sends everybody home: one thread will not come.
    pub(super) fn call_off(&self) {
        *self.state() = State::CalledOff;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls the start off if its thread panics before it has started the others.
pub(super) struct CallOffOnPanic<'a>(pub(super) &'a Start);

impl Drop for CallOffOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.call_off();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_begin_once_all_are_there() {
        let start = Start::of(3);
        thread::scope(|scope| {
            let waiting = [(); 3].map(|()| scope.spawn(|| start.wait()));
            assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
        });
    }

    #[test]
    fn nobody_waits_for_one_who_panics_or_is_not_started() {
        let start = Start::of(2);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| start.wait());
            let starting = scope.spawn(|| {
                let _guard = CallOffOnPanic(&start);
                panic!("no second thread");
            });
            assert!(starting.join().is_err());
            assert!(!waiting.join().unwrap());
        });
        assert!(!start.wait(), "who comes later is told too");
    }
}
