//! `stall`: what the others get done while one thread stands still in the middle of a call.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, Unsupported};
use crate::sync::probe::{Frozen, Gate, freeze_at};

/// Ids that each worker holds and replaces. They come from where the frozen thread's come from.
const SET: usize = 500;
/// Lives in a round.
const ROUND: usize = 256;
/// If they do not get through a set in this time, they are blocked: it takes them microseconds.
const PATIENCE: Duration = Duration::from_millis(300);
/// A victim's operation has fewer steps than this, or never ends.
const MOST_STEPS: u64 = 10_000;

/// Workers replace members of their sets while another thread is frozen before a step of a create
/// or a destroy, another step in each repetition.
pub(super) struct Stall<C: IdContender> {
    contender: Arc<C>,
    workers: Parts<Member<C::Id>>,
    victim: Mutex<Option<Victim>>,
    /// The victim's operation has so many steps.
    steps: u64,
    next: Mutex<u64>,
}

struct Member<I> {
    set: Vec<I>,
    next: usize,
}

impl<C: IdContender> Stall<C> {
    /// Freezes a thread at each step in turn, and looks whether the others go on.
    ///
    /// # Errors
    /// At how many steps they are blocked.
    pub(super) fn new(threads: usize) -> Result<Self, Unsupported> {
        if !C::COUNTED {
            return Err(Unsupported::because(
                "cannot be frozen: it does not use the sync room",
            ));
        }
        let contender = Arc::new(C::fresh());
        let mut blocked = 0;
        let mut steps = 0;
        while steps < MOST_STEPS {
            let victim = Victim::freeze(&contender, steps);
            if victim.fared == Frozen::Finished {
                break;
            }
            blocked += u64::from(!goes_on(&contender, &victim));
            steps += 1;
        }
        if blocked > 0 {
            return Err(Unsupported(
                format!("blocks the others at {blocked} of {steps} steps").into(),
            ));
        }
        let workers = Parts::new(threads, |_| Member {
            set: super::populated(&*contender, SET),
            next: 0,
        });
        Ok(Self {
            contender,
            workers,
            victim: Mutex::new(None),
            steps,
            next: Mutex::new(0),
        })
    }
}

impl<C: IdContender> Subject for Stall<C> {
    fn prepare(&self) {
        let mut victim = self.victim.lock().expect("only this thread freezes");
        let mut next = self.next.lock().expect("only this thread freezes");
        // The old one must be let go before another stops: it may hold a slot of each kind.
        *victim = None;
        *victim = Some(Victim::freeze(&self.contender, *next % self.steps));
        *next += 1;
    }

    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let mut member = self.workers.of(worker);
        let lives = rounds as usize * ROUND;
        let died = watch.time(0, lives as u64, || member.replace(&mut session, lives));
        assert_eq!(died, lives, "members of a set are alive");
    }
}

impl<I: Copy> Member<I> {
    fn replace(&mut self, session: &mut impl IdSession<Id = I>, count: usize) -> usize {
        let mut died = 0;
        for _ in 0..count {
            let position = self.next % SET;
            self.next += 1;
            died += usize::from(session.destroy(self.set[position]));
            self.set[position] = session.create();
        }
        died
    }
}

/// Whether another thread gets through its work while `victim` stands still.
fn goes_on<C: IdContender>(contender: &Arc<C>, victim: &Victim) -> bool {
    let (done, is_done) = mpsc::channel();
    let contender = Arc::clone(contender);
    let other = thread::spawn(move || {
        let mut member = Member {
            set: super::populated(&*contender, SET),
            next: 0,
        };
        let mut session = contender.session();
        member.replace(&mut session, SET);
        for id in member.set {
            session.destroy(id);
        }
        // Whoever waited has gone, if this took too long.
        let _ = done.send(());
    });
    let went_on = is_done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout);
    victim.gate.open();
    other.join().expect("a thread that is let go ends well");
    went_on
}

/// A thread that stands before a step of a create or a destroy, until it is dropped.
struct Victim {
    gate: Arc<Gate>,
    fared: Frozen,
    thread: Option<JoinHandle<()>>,
}

impl Victim {
    fn freeze<C: IdContender>(contender: &Arc<C>, step: u64) -> Self {
        let gate = Gate::new();
        let contender = Arc::clone(contender);
        let at = Arc::clone(&gate);
        let thread = thread::spawn(move || {
            let mut session = contender.session();
            freeze_at(step, &at, || {
                let id = session.create();
                session.destroy(id);
            });
        });
        Self {
            fared: gate.wait(),
            gate,
            thread: Some(thread),
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.gate.open();
        if let Some(thread) = self.thread.take() {
            // Its answers are not what is measured.
            let _ = thread.join();
        }
    }
}
