//! The chunk allocators' operations, and what helpers do meanwhile.

use megachunk::chunk::{ChunkAllocator, Run};

use super::{Progress, Scenario, Subject};

/// A chunk allocator.
#[derive(Debug)]
pub struct Chunks<A>(pub A);

impl<A: ChunkAllocator + 'static> Subject for Chunks<A> {
    /// Runs that the operation may give back; nobody else does.
    type Handles = Vec<Run>;
    const ROOM: &'static str = "chunk";
    const NAME: &'static str = A::NAME;

    fn fresh() -> Self {
        Self(A::fresh())
    }

    fn in_use(&self) -> i64 {
        self.0.in_use() as i64
    }

    fn scenarios() -> Vec<Scenario<Self>> {
        // SAFETY: the first handle is given back once, by this operation, and used by nobody.
        let free = |a: &Self, handles: &Vec<Run>| unsafe { a.give(handles[0]) };
        vec![
            Scenario::new("alloc-first-ever", |_| (Vec::new(), 0), |a, _| a.take(1).1),
            Scenario::new("alloc", |a| a.prepared(&[1; 10]), |a, _| a.take(1).1),
            Scenario::new(
                "alloc-new-megachunk",
                |a| a.prepared(&[1; 64]),
                |a, _| a.take(1).1,
            ),
            Scenario::new(
                "alloc-from-freed",
                |a| a.prepared_and_freed(&[1; 80], 70),
                |a, _| a.take(1).1,
            ),
            Scenario::new(
                "alloc-run-5",
                |a| a.prepared(&[1, 2, 3]),
                |a, _| a.take(5).1,
            ),
            Scenario::new("alloc-run-64", |a| a.prepared(&[1]), |a, _| a.take(64).1),
            Scenario::new(
                "alloc-run-64-first-ever",
                |_| (Vec::new(), 0),
                |a, _| a.take(64).1,
            ),
            Scenario::new("free", |a| a.prepared(&[1; 10]), free),
            Scenario::new(
                "free-cache-full",
                |a| a.prepared_and_freed(&[1; 300], 290),
                free,
            ),
            Scenario::new("free-run-5", |a| a.prepared(&[5, 5, 5]), free),
            Scenario::new("free-run-64", |a| a.prepared(&[64]), free),
            Scenario::new(
                "free-last-of-3",
                |a| a.prepared_and_freed(&[64, 64, 64], 2),
                free,
            ),
            Scenario::new("free-last-chunk", |a| a.prepared(&[1]), free),
            Scenario::new(
                "flush-chunks",
                |a| a.prepared_and_freed(&[1; 80], 70),
                |a, _| {
                    a.0.flush();
                    0
                },
            ),
        ]
    }

    fn help(&self, helper: usize, _: &Vec<Run>, progress: &Progress) -> i64 {
        let mut in_use = 0;
        for lens in [
            [1; 70].as_slice(),
            &[64, 64],
            &[5; 30],
            &[1, 2, 3, 8, 16, 33, 64],
        ] {
            let mut own = Vec::new();
            for &len in lens {
                let (run, taken) = progress.operation(|| self.take(len));
                self.mark(run, helper as u8);
                own.push(run);
                in_use += taken;
            }
            for run in own {
                self.check(run, helper as u8);
                // SAFETY: taken above, given back once, not used afterwards.
                in_use += progress.operation(|| unsafe { self.give(run) });
            }
        }
        progress.batch(|| self.0.in_use());
        progress.batch(|| self.0.flush());
        in_use + progress.operation(|| self.take(1)).1
    }
}

impl<A: ChunkAllocator> Chunks<A> {
    /// A run of `len` chunks, and how many more are in use.
    fn take(&self, len: usize) -> (Run, i64) {
        let run = self.0.allocate(len).expect("a stall test is far from full");
        (run, len as i64)
    }

    /// Gives a run back; how many more chunks are in use.
    ///
    /// # Safety
    /// As for [`ChunkAllocator::free`].
    unsafe fn give(&self, run: Run) -> i64 {
        // SAFETY: the caller's.
        unsafe { self.0.free(run) }.expect("the run is in use");
        -i64::from(run.len())
    }

    /// Writes to the run's memory, which is this thread's.
    fn mark(&self, run: Run, byte: u8) {
        // SAFETY: the run is in use and this thread's alone; its first byte is its own.
        unsafe { self.0.base(run).write(byte) };
    }

    /// Nobody else has written there.
    fn check(&self, run: Run, byte: u8) {
        // SAFETY: as in `mark`.
        let found = unsafe { self.0.base(run).read() };
        assert_eq!(found, byte, "{run:?} was given to two threads at once");
    }

    /// Runs of these lengths, all handles.
    fn prepared(&self, lens: &[usize]) -> (Vec<Run>, i64) {
        let runs = lens.iter().map(|&len| self.take(len).0).collect();
        (runs, lens.iter().sum::<usize>() as i64)
    }

    /// Runs of these lengths, the last `freed` given back, the others handles.
    fn prepared_and_freed(&self, lens: &[usize], freed: usize) -> (Vec<Run>, i64) {
        let (mut runs, mut in_use) = self.prepared(lens);
        for run in runs.split_off(lens.len() - freed) {
            // SAFETY: taken above, given back once, never used.
            in_use += unsafe { self.give(run) };
        }
        (runs, in_use)
    }
}
