//! `stall`: what the others get done while one thread stands still in the middle of a call.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, Unsupported};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::probe::{Frozen, Gate, freeze_at};

/// Ids that each worker holds and replaces. They come from where the frozen thread's come from.
const SET: usize = 500;
/// Lives in a round.
const ROUND: usize = 256;
/// If they do not get through a set in this time, they are blocked: it takes them microseconds.
const PATIENCE: Duration = Duration::from_millis(300);
/// After this time the frozen thread is let go, so that a contender that blocks after all is
/// reported, and does not hang the program.
const RESCUE: Duration = Duration::from_secs(10);
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
            // Before the other stops: what is destroyed meanwhile lies beside what it works on.
            let member = Member::new(&*contender);
            let victim = Victim::freeze(&contender, steps);
            if victim.fared == Frozen::Finished {
                break;
            }
            blocked += u64::from(!goes_on(&contender, member, &victim));
            steps += 1;
        }
        if blocked > 0 {
            return Err(Unsupported(
                format!("blocks the others at {blocked} of {steps} steps").into(),
            ));
        }
        let workers = Parts::new(threads, |_| Member::new(&*contender));
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
        let victim = self.victim.lock().expect("only the main thread freezes");
        let was_rescued = victim.as_ref().is_some_and(Victim::was_let_go);
        assert!(
            !was_rescued,
            "the others were blocked until the frozen thread was let go"
        );
    }
}

impl<I: Copy> Member<I> {
    fn new<C: IdContender<Id = I>>(contender: &C) -> Self {
        Self {
            set: super::populated(contender, SET),
            next: 0,
        }
    }

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
fn goes_on<C: IdContender>(contender: &Arc<C>, mut member: Member<C::Id>, victim: &Victim) -> bool {
    let (done, is_done) = mpsc::channel();
    let contender = Arc::clone(contender);
    let other = thread::spawn(move || {
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

/// A thread that stands before a step of a create or a destroy, until it is dropped, or for so
/// long that whoever waits for it must be blocked.
struct Victim {
    gate: Arc<Gate>,
    fared: Frozen,
    thread: Option<JoinHandle<()>>,
    /// Dropped, it tells the rescuer that there is no need.
    no_need: Option<mpsc::Sender<()>>,
    rescuer: Option<JoinHandle<()>>,
    let_go: Arc<AtomicU32>,
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
        let fared = gate.wait();
        let (no_need, need) = mpsc::channel();
        let let_go = Arc::new(AtomicU32::new(0));
        let rescuer = thread::spawn({
            let (gate, let_go) = (Arc::clone(&gate), Arc::clone(&let_go));
            move || {
                if need.recv_timeout(RESCUE) == Err(RecvTimeoutError::Timeout) {
                    // Ordering: Relaxed: read after the gate's lock has been seen, or too early
                    // to matter.
                    let_go.store(1, Ordering::Relaxed);
                    gate.open();
                }
            }
        });
        Self {
            gate,
            fared,
            thread: Some(thread),
            no_need: Some(no_need),
            rescuer: Some(rescuer),
            let_go,
        }
    }

    fn was_let_go(&self) -> bool {
        self.let_go.load(Ordering::Relaxed) != 0
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.gate.open();
        self.no_need = None;
        // Their answers are not what is measured.
        for thread in [self.thread.take(), self.rescuer.take()]
            .into_iter()
            .flatten()
        {
            let _ = thread.join();
        }
    }
}
