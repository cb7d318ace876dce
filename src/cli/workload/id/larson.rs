//! `larson`: long-lived sets whose members come and go, and which wander between threads.

use std::mem;

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, Shuffler};

/// Ids in a set.
pub(super) const SET: usize = 1_000;
/// Replacements before a worker hands its set on.
const TENURE: usize = 100_000;
/// Replacements in a round.
const ROUND: usize = 5_000;
/// Random positions in a set, walked through again and again: 8 KiB, so that they stay near.
const POSITIONS: usize = 4_096;

/// Each worker replaces random members of its set of 1,000 ids and, every 100,000 replacements,
/// leaves the set in the next worker's mailbox and goes on with the one in its own (after Larson
/// and Krishnan, 1998, where threads inherit the blocks of their predecessors). So most ids are
/// destroyed by another thread than their creator after each change of hands, and nobody ever
/// waits for anybody. So each thread holds 2,000: 1,000 in hand and 1,000 in its mailbox.
pub(super) struct Larson<C: IdContender> {
    contender: C,
    workers: Parts<Tenant<C::Id>>,
    mailboxes: Parts<Vec<C::Id>>,
}

struct Tenant<I> {
    set: Vec<I>,
    positions: Box<[u16; POSITIONS]>,
    next: usize,
    left: usize,
}

impl<C: IdContender> Larson<C> {
    pub(super) fn new(threads: usize) -> Self {
        let contender = C::fresh();
        let workers = Parts::new(threads, |worker| {
            let mut shuffler = Shuffler::new(worker as u64);
            Tenant {
                set: super::populated(&contender, SET),
                positions: Box::new([(); POSITIONS].map(|()| shuffler.below(SET) as u16)),
                next: 0,
                left: TENURE,
            }
        });
        let mailboxes = Parts::new(threads, |_| super::populated(&contender, SET));
        Self {
            contender,
            workers,
            mailboxes,
        }
    }
}

impl<I: Copy> Tenant<I> {
    /// Replaces `count` random members; how many of them were alive.
    #[inline(always)]
    fn replace(&mut self, session: &mut impl IdSession<Id = I>, count: usize) -> usize {
        // In registers: what the loop does besides is no contender's work.
        let (set, positions) = (self.set.as_mut_slice(), &*self.positions);
        let mut died = 0;
        for at in self.next..self.next + count {
            let member = &mut set[usize::from(positions[at % POSITIONS])];
            died += usize::from(session.destroy(*member));
            *member = session.create();
        }
        self.next += count;
        died
    }
}

impl<C: IdContender> Subject for Larson<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let mut tenant = self.workers.of(worker);
        let total = rounds as usize * ROUND;
        let died = watch.time(0, total as u64, || {
            let mut died = 0;
            let mut to_do = total;
            while to_do > 0 {
                let stretch = to_do.min(tenant.left);
                died += tenant.replace(&mut session, stretch);
                to_do -= stretch;
                tenant.left -= stretch;
                if tenant.left == 0 {
                    tenant.left = TENURE;
                    let next = (worker + 1) % self.mailboxes.workers();
                    mem::swap(&mut tenant.set, &mut self.mailboxes.of(next));
                }
            }
            died
        });
        assert_eq!(died, total, "members of a set are alive");
    }
}
