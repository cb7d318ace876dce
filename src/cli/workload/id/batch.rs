//! `few`, `batch_64`, `batch_8192`, `batch_1m`, `cold_1m`: more than one id in a call.

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject, give_memory_back, provide_memory};
use crate::cli::workload::{Parts, share};

/// Ids in a round of `few`, whatever the batch.
const ROUND: usize = 512;

/// Creates a few ids in one call and destroys them in another, again and again, while 1,000 others live.
pub(super) struct Few<C> {
    contender: C,
    batch: usize,
}

impl<C: IdContender> Few<C> {
    pub(super) fn new(batch: usize) -> Self {
        let contender = C::fresh();
        super::populated(&contender, 1_000);
        let batch = batch.clamp(1, ROUND);
        Self { contender, batch }
    }
}

impl<C: IdContender> Subject for Few<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let mut ids = vec![C::placeholder(); self.batch];
        let batches = rounds * (ROUND / self.batch) as u64;
        let lives = batches * self.batch as u64;
        let died = watch.time(0, lives, || {
            let mut died = 0;
            for _ in 0..batches {
                session.create_slice(&mut ids);
                died += session.destroy_slice(&ids) as u64;
            }
            died
        });
        assert_eq!(died, lives, "ids that were just created are alive");
    }
}

/// Creates ids in batches until the worker holds `held`, then destroys them in the same batches;
/// the two are timed apart.
pub(super) struct Batch<C: IdContender> {
    contender: C,
    batch: usize,
    held: Parts<Vec<C::Id>>,
}

impl<C: IdContender> Batch<C> {
    /// Batches of `batch`; each worker holds at most 16,384 ids, or one batch.
    pub(super) fn new(batch: usize, threads: usize) -> Self {
        let held = (16_384 / batch).max(1) * batch;
        Self {
            contender: C::fresh(),
            batch,
            held: Parts::new(threads, |_| vec![C::placeholder(); held]),
        }
    }

    /// One million ids in one batch, shared out among the workers.
    pub(super) fn million(threads: usize) -> Self {
        Self {
            contender: C::fresh(),
            batch: super::MILLION,
            held: Parts::new(threads, |worker| {
                vec![C::placeholder(); share(super::MILLION, worker, threads)]
            }),
        }
    }

    /// Whether a round is a million.
    fn is_large(&self) -> bool {
        self.batch == super::MILLION
    }
}

impl<C: IdContender> Subject for Batch<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let mut held = self.held.of(worker);
        let operations = held.len() as u64;
        if self.is_large() {
            // Who is quick does more rounds a repetition, and shares out among more what the first of them finds cold.
            for batch in held.chunks_mut(self.batch) {
                session.create_slice(batch);
                session.destroy_slice(batch);
            }
        }
        for _ in 0..rounds {
            watch.time(0, operations, || {
                for batch in held.chunks_mut(self.batch) {
                    session.create_slice(batch);
                }
            });
            let died = watch.time(1, operations, || {
                let batches = held.chunks(self.batch);
                batches
                    .map(|batch| session.destroy_slice(batch))
                    .sum::<usize>()
            });
            assert_eq!(died, held.len(), "ids that were created are alive");
        }
    }
}

/// A fresh allocator creates one million ids in one call, page faults and set-up included, in memory that the
/// machine has at hand, and none that its forerunner left on this thread's heap.
pub(super) struct Cold<C: IdContender>(Parts<Vec<C::Id>>);

impl<C: IdContender> Cold<C> {
    pub(super) fn new() -> Self {
        Self(Parts::new(1, |_| vec![C::placeholder(); super::MILLION]))
    }
}

impl<C: IdContender> Subject for Cold<C> {
    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut out = self.0.of(worker);
        // Where that cannot be, the next allocator lives in its forerunner's memory.
        let _ = give_memory_back();
        provide_memory(super::MILLION * super::BYTES);
        let contender = watch.time(0, out.len() as u64, || {
            let contender = C::fresh();
            contender.session().create_slice(&mut out);
            contender
        });
        let died = contender.session().destroy_slice(&out);
        assert_eq!(died, out.len(), "ids that were created are alive");
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
