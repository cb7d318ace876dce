//! The chunk allocators' operations, and what helpers do meanwhile.

use megachunk::chunk::{ChunkAllocator, ChunkOptions, MegachunkAllocator, Run};

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
        self.count()
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
        self.work(helper, progress)
    }
}

/// A mega-chunk allocator that keeps no more empty mega-chunks than it must, so that memory goes back.
#[derive(Debug)]
pub struct SparingChunks(Chunks<MegachunkAllocator>);

/// So many empty mega-chunks are left until the next one: then memory goes back.
const LEFT_EMPTY: usize = 9;

impl SparingChunks {
    fn decommits(&self) -> u64 {
        self.0.0.stats().decommits
    }

    /// As many empty mega-chunks as are left, and none given back.
    fn with_empty_left(&self, in_use: usize) -> (Vec<Run>, i64) {
        let prepared = self
            .0
            .prepared_and_freed(&vec![64; LEFT_EMPTY + in_use], LEFT_EMPTY);
        assert_eq!(self.decommits(), 0, "memory went back too early");
        prepared
    }
}

impl Subject for SparingChunks {
    type Handles = Vec<Run>;
    const ROOM: &'static str = "chunk";
    const NAME: &'static str = "megachunk-sparing";

    fn fresh() -> Self {
        let allocator = ChunkOptions::new().retain(1).build();
        Self(Chunks(allocator.expect("there is address space")))
    }

    fn in_use(&self) -> i64 {
        self.0.count()
    }

    fn scenarios() -> Vec<Scenario<Self>> {
        vec![
            // The one that is given back is one too many.
            Scenario::<Self>::new(
                "free-run-and-memory",
                |a| a.with_empty_left(1),
                // SAFETY: the handle is given back once, by this operation, and used by nobody.
                |a, handles| unsafe { a.0.give(handles[0]) },
            )
            .reaching(|a| a.decommits() > 0),
            // The same by the chunks that leave the thread's cache.
            Scenario::<Self>::new(
                "flush-chunks-and-memory",
                |a| {
                    let (_, in_use) = a.with_empty_left(0);
                    let (_, more) = a.0.prepared_and_freed(&[1; 8], 8);
                    (Vec::new(), in_use + more)
                },
                |a, _| {
                    a.0.0.flush();
                    0
                },
            )
            .reaching(|a| a.decommits() > 0),
            Scenario::<Self>::new(
                "trim",
                |a| a.with_empty_left(2),
                |a, _| {
                    a.0.0.trim();
                    0
                },
            )
            .reaching(|a| a.decommits() > 0 && a.0.0.stats().empty_megachunks == 0),
            // Free chunks beside others that are in use.
            Scenario::<Self>::new(
                "discard",
                |a| a.0.prepared_and_freed(&[1; 80], 70),
                |a, _| {
                    assert!(a.0.0.discard() > 0, "there is nothing to discard");
                    0
                },
            ),
            // Memory that went back is committed again.
            Scenario::<Self>::new(
                "alloc-after-trim",
                |a| {
                    let prepared = a.with_empty_left(1);
                    a.0.0.trim();
                    prepared
                },
                |a, _| a.0.take(64).1,
            )
            .reaching(|a| a.decommits() > 0),
        ]
    }

    fn help(&self, helper: usize, _: &Vec<Run>, progress: &Progress) -> i64 {
        let in_use = self.0.work(helper, progress);
        progress.batch(|| self.0.0.trim());
        in_use
    }
}

impl<A: ChunkAllocator> Chunks<A> {
    /// How many chunks are in use.
    fn count(&self) -> i64 {
        self.0.in_use() as i64
    }

    /// A helper's program.
    fn work(&self, helper: usize, progress: &Progress) -> i64 {
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
