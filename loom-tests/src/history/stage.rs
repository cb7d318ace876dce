//! `Stage`: where the threads of a program play side by side, and moments are numbered.
//!
//! Who is frozen stands before a step of one of its calls until the others are done (or cannot go
//! on); the frozen ones go on one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use megachunk::sync::probe::{Gate, freeze_at};

use crate::random::Random;

/// How long anything is waited for: a thread of a reference may be blocked by one that is frozen.
const PATIENCE: Duration = Duration::from_millis(2);

/// Where a thread is frozen: in its call number `call`, before step number `step` of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freeze {
    pub(super) call: usize,
    pub(super) step: u64,
}

impl Freeze {
    /// For half of all threads: before one of the first `steps` steps of one of its calls.
    pub(super) fn random(random: &mut Random, calls: usize, steps: u64) -> Option<Self> {
        (random.below(2) == 0).then(|| Self {
            call: random.below(calls as u64) as usize,
            step: random.below(steps),
        })
    }
}

/// What one thread of a program does.
#[derive(Clone, Debug)]
pub(super) struct Thread<C> {
    pub(super) calls: Vec<C>,
    /// Where it is frozen, if it is. Frozen threads go on in the order of their numbers.
    pub(super) freeze: Option<Freeze>,
}

/// What the threads of one running history share, whatever they call.
pub(super) struct Stage {
    /// The next moment.
    clock: AtomicU64,
    /// Threads that have not started yet.
    waiting: AtomicUsize,
}

/// What one thread knows of its part.
pub(super) struct Part<'a> {
    /// Its number, from 1: 0 is the thread that prepares the history.
    pub(super) thread: usize,
    freeze: Option<Freeze>,
    gate: &'a Arc<Gate>,
}

impl Stage {
    /// A stage whose first moment is 2: two come before all others.
    pub(super) fn new() -> Self {
        Self {
            clock: AtomicU64::new(2),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Runs `play` on a thread for each of `freezes`, all from the same moment on; what each came to.
    pub(super) fn play<R: Send>(
        &self,
        freezes: &[Option<Freeze>],
        play: impl Fn(&Part<'_>) -> R + Sync,
    ) -> Vec<R> {
        self.waiting.store(freezes.len(), Ordering::SeqCst);
        let gates: Vec<_> = freezes.iter().map(|_| Gate::new()).collect();
        thread::scope(|scope| {
            let play = &play;
            let handles: Vec<_> = gates
                .iter()
                .zip(freezes)
                .zip(1..)
                .map(|((gate, &freeze), thread)| {
                    scope.spawn(move || {
                        let _reached = Reached(gate);
                        self.start_together();
                        play(&Part {
                            thread,
                            freeze,
                            gate,
                        })
                    })
                })
                .collect();
            let numbers = || 0..handles.len();
            let frozen = |&number: &usize| freezes[number].is_some();
            for number in numbers().filter(frozen) {
                gates[number].wait_for(PATIENCE);
            }
            for number in numbers().filter(|number| !frozen(number)) {
                wait_for(&handles[number]);
            }
            for number in numbers().filter(frozen) {
                gates[number].open();
                wait_for(&handles[number]);
            }
            let joined = handles.into_iter().map(ScopedJoinHandle::join);
            joined
                .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    /// Waits until all threads are here: calls that do not overlap show little.
    fn start_together(&self) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        while self.waiting.load(Ordering::SeqCst) != 0 {
            thread::yield_now();
        }
    }

    /// The next moment: no two are equal.
    pub(super) fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// When a call began, what it answered, when it ended. `around` runs the bare call.
    pub(super) fn timed<R>(
        &self,
        around: impl FnOnce(&mut dyn FnMut()),
        mut bare: impl FnMut() -> R,
    ) -> (u64, R, u64) {
        let began = self.now();
        let mut answer = None;
        around(&mut || answer = Some(bare()));
        let ended = self.now();
        (began, answer.expect("the call was made"), ended)
    }
}

impl Part<'_> {
    /// Makes its calls, with a little time between two: `perform` makes one, and puts around its bare call what it is
    /// given.
    pub(super) fn make<C>(
        &self,
        threads: &[Thread<C>],
        seed: u64,
        mut perform: impl FnMut(&C, &dyn Fn(&mut dyn FnMut())),
    ) {
        let mut random = Random::new(seed ^ (self.thread as u64) << 56);
        for (position, call) in threads[self.thread - 1].calls.iter().enumerate() {
            dawdle(&mut random);
            perform(call, &|bare| self.around(position, bare));
        }
    }

    /// Makes the thread's call number `position`, in which it may be frozen.
    fn around(&self, position: usize, bare: &mut dyn FnMut()) {
        match self.freeze {
            Some(freeze) if freeze.call == position => freeze_at(freeze.step, self.gate, bare),
            _ => bare(),
        }
    }
}

/// Lets a little time go by between two calls.
fn dawdle(random: &mut Random) {
    for _ in 0..random.below(128) {
        std::hint::spin_loop();
    }
}

/// Waits until a thread is done, but not for ever: another one that is frozen may block it.
fn wait_for<T>(thread: &ScopedJoinHandle<'_, T>) {
    let deadline = Instant::now() + PATIENCE;
    while !thread.is_finished() && Instant::now() < deadline {
        thread::sleep(Duration::from_micros(20));
    }
}

/// Tells a gate, when the thread panics before it is frozen, that nobody will come.
struct Reached<'a>(&'a Arc<Gate>);

impl Drop for Reached<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            freeze_at(u64::MAX, self.0, || ());
        }
    }
}
