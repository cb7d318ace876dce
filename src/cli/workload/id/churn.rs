//! `random_destroy_1m`, `recreate_1m`: one million ids destroyed in random order, then as many
//! created from what that left behind; singly, eight at a time, or in one batch a worker.
//! `replace_1m`: a few of them destroyed, and as many created, again and again.

use std::sync::Mutex;

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, permutation, share};

/// Destroys all ids in random order, then creates them again; the two are timed apart.
///
/// Before each repetition the ids of *all* workers are shuffled together, so that neighbours are
/// destroyed by different threads.
pub(super) struct Churn<C: IdContender> {
    contender: C,
    /// Ids in a call; one: no call for batches is made.
    batch: usize,
    order: Vec<u32>,
    /// Room for the ids while they are shuffled.
    pile: Mutex<Vec<C::Id>>,
    held: Parts<Vec<C::Id>>,
}

impl<C: IdContender> Churn<C> {
    pub(super) const DESTROY: usize = 0;
    pub(super) const CREATE: usize = 1;

    /// `batch` ids in each call, at most a worker's share of the million.
    pub(super) fn new(batch: usize, threads: usize) -> Self {
        let contender = C::fresh();
        let mut ids = super::populated(&contender, super::MILLION);
        let held = Parts::new(threads, |worker| {
            ids.split_off(ids.len() - share(super::MILLION, worker, threads))
        });
        Self {
            contender,
            batch,
            order: permutation(super::MILLION, 1),
            pile: Mutex::new(Vec::with_capacity(super::MILLION)),
            held,
        }
    }
}

impl<C: IdContender> Subject for Churn<C> {
    fn prepare(&self) {
        let mut pile = self.pile.lock().expect("only this thread uses the pile");
        pile.clear();
        for worker in 0..self.held.workers() {
            pile.extend_from_slice(&self.held.of(worker));
        }
        let mut order = self.order.iter();
        for worker in 0..self.held.workers() {
            let mut held = self.held.of(worker);
            for (id, &from) in held.iter_mut().zip(&mut order) {
                *id = pile[from as usize];
            }
        }
    }

    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let mut held = self.held.of(worker);
        let operations = held.len() as u64;
        let died = watch.time(Self::DESTROY, operations, || {
            if self.batch == 1 {
                return held.iter().filter(|&&id| session.destroy(id)).count();
            }
            let batches = held.chunks(self.batch);
            batches.map(|batch| session.destroy_slice(batch)).sum()
        });
        assert_eq!(died, held.len(), "each id is destroyed once");
        watch.time(Self::CREATE, operations, || {
            if self.batch == 1 {
                return held.fill_with(|| session.create());
            }
            for batch in held.chunks_mut(self.batch) {
                session.create_slice(batch);
            }
        });
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// Lives in a repetition of `replace_1m`, of all workers together.
const REPLACED: usize = 100_000;

/// Destroys some random ids of the million in one call and creates as many in another, while all others live: what is
/// free lies as thinly as can be. (On many threads each has a fresh block at first, and less thinly.)
pub(super) struct Replace<C: IdContender>(Churn<C>);

impl<C: IdContender> Replace<C> {
    /// `batch` ids in each call.
    pub(super) fn new(batch: usize, threads: usize) -> Self {
        Self(Churn::new(batch, threads))
    }
}

impl<C: IdContender> Subject for Replace<C> {
    fn prepare(&self) {
        self.0.prepare();
    }

    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.0.contender.session();
        let mut held = self.0.held.of(worker);
        let operations = REPLACED / self.0.held.workers();
        let died = watch.time(0, operations as u64, || {
            let mut died = 0;
            for batch in held[..operations].chunks_mut(self.0.batch) {
                died += session.destroy_slice(batch);
                session.create_slice(batch);
            }
            died
        });
        assert_eq!(died, operations, "all of them lived");
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
