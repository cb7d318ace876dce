//! `ChunkMap`: where a chunk allocator has placed the runs that are in use.
//!
//! A trace drives a chunk allocator as it drives an index, but each object is a run of chunks:
//! most of one, some of a few, few of many. The same lengths in the same order for everybody; the
//! memory is not touched.

use std::any::Any;

use crate::chunk::{ChunkAllocator, ChunkStats, MEGACHUNK_CHUNKS, MegachunkAllocator, Run};
use crate::cli::workload::Shuffler;
use crate::trace::replay::{Player, Replay, ReplayError, ReplayFault};

/// A chunk allocator, whatever its type.
pub trait ChunkSubject {
    /// The name in tables.
    fn name(&self) -> &'static str;

    /// Plays the trace, each object a run; says where all runs lie when it ends.
    ///
    /// # Errors
    /// [`ReplayError`] where the allocator fails.
    fn placement(&self, replay: &mut Replay) -> Result<ChunkPlacement, ReplayError>;
}

/// Where a chunk allocator has placed what is in use, at the end of a replay.
#[derive(Clone, Debug)]
pub struct ChunkPlacement {
    /// The runs, ascending.
    pub runs: Vec<Run>,
    /// What the product says of itself; no other allocator can.
    pub stats: Option<ChunkStats>,
}

impl<A: ChunkAllocator + 'static> ChunkSubject for A {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn placement(&self, replay: &mut Replay) -> Result<ChunkPlacement, ReplayError> {
        let mut lane = 0;
        let mut played = replay.play(|| {
            lane += 1;
            Taking {
                allocator: self,
                lengths: Shuffler::new(lane),
            }
        })?;
        let mut runs: Vec<Run> = replay.survivors().filter_map(run).collect();
        runs.sort_unstable();
        let stats = (self as &dyn Any)
            .downcast_ref()
            .map(<MegachunkAllocator>::stats);
        replay.drain(&mut played.players)?;
        Ok(ChunkPlacement { runs, stats })
    }
}

/// The mean of the lengths that [`Taking`] asks for, rounded up.
pub(super) const MEAN_LENGTH: usize = 3;

/// Takes a run for each create.
struct Taking<'a, A> {
    allocator: &'a A,
    lengths: Shuffler,
}

impl<A: ChunkAllocator> Player for Taking<'_, A> {
    fn create(&mut self) -> Result<u64, ReplayFault> {
        let len = match self.lengths.below(100) {
            0..75 => 1,
            75..97 => 2 + self.lengths.below(7),
            _ => 9 + self.lengths.below(56),
        };
        let taken = self.allocator.allocate(len);
        let run = taken.map_err(|_| ReplayFault::NoRun { len })?;
        Ok(id(run))
    }

    fn destroy(&mut self, id: u64) -> Result<(), ReplayFault> {
        let Some(run) = run(id) else {
            return Ok(());
        };
        // SAFETY: a replay destroys each id once, after the create that gave it; `create` gave
        // this one for a run of this allocator, and nobody uses its memory.
        unsafe { self.allocator.free(run) }.map_err(|_| ReplayFault::RunRefused { run })
    }
}

/// A run as an id: not 0, because a run is not empty.
fn id(run: Run) -> u64 {
    u64::from(run.first()) << 32 | u64::from(run.len())
}

fn run(id: u64) -> Option<Run> {
    Run::new((id >> 32) as u32, id as u32)
}

/// One allocator's chunks at the end of a run.
#[derive(Debug)]
pub(super) struct ChunkMap {
    pub(super) name: &'static str,
    placement: ChunkPlacement,
}

/// What can be said of the chunks in numbers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct ChunkFigures {
    pub(super) runs: usize,
    pub(super) in_use: usize,
    /// Mega-chunks in which something is in use.
    pub(super) megachunks: usize,
    /// Chunks in use in those.
    pub(super) occupancy: f64,
    /// The longest free run in each of those against its free chunks: 0 all in one run, towards 1
    /// scattered.
    pub(super) fragmentation: f64,
    pub(super) stats: Option<ChunkStats>,
}

/// A mega-chunk with something in use: its number, and for each chunk the length of its run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Megachunk {
    pub(super) number: u32,
    /// The length of the run that the chunk is in use by; 0 where it is free.
    pub(super) chunks: [u8; MEGACHUNK_CHUNKS],
}

impl Megachunk {
    pub(super) fn in_use(&self) -> usize {
        self.chunks.iter().filter(|&&len| len > 0).count()
    }

    fn longest_free(&self) -> usize {
        let free = self.chunks.split(|&len| len > 0);
        free.map(<[u8]>::len).max().unwrap_or(0)
    }
}

impl ChunkMap {
    pub(super) fn new(name: &'static str, placement: ChunkPlacement) -> Self {
        Self { name, placement }
    }

    /// The runs that are in use, ascending.
    pub(super) fn runs(&self) -> &[Run] {
        &self.placement.runs
    }

    pub(super) fn megachunks(&self) -> Vec<Megachunk> {
        let mut megachunks: Vec<Megachunk> = Vec::new();
        for run in &self.placement.runs {
            if megachunks
                .last()
                .is_none_or(|last| last.number != run.megachunk())
            {
                megachunks.push(Megachunk {
                    number: run.megachunk(),
                    chunks: [0; MEGACHUNK_CHUNKS],
                });
            }
            let first = run.first() as usize % MEGACHUNK_CHUNKS;
            if let Some(megachunk) = megachunks.last_mut() {
                megachunk.chunks[first..first + run.len() as usize].fill(run.len() as u8);
            }
        }
        megachunks
    }

    pub(super) fn figures(&self) -> ChunkFigures {
        let megachunks = self.megachunks();
        let in_use: usize = megachunks.iter().map(Megachunk::in_use).sum();
        let all = megachunks.len() * MEGACHUNK_CHUNKS;
        let longest: usize = megachunks.iter().map(Megachunk::longest_free).sum();
        let per = |part: usize, whole: usize| {
            if whole == 0 {
                0.0
            } else {
                part as f64 / whole as f64
            }
        };
        let free = all - in_use;
        ChunkFigures {
            runs: self.placement.runs.len(),
            in_use,
            megachunks: megachunks.len(),
            occupancy: per(in_use, all),
            fragmentation: per(free - longest, free),
            stats: self.placement.stats,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::ptr::NonNull;
    use core::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::chunk::ChunkError;
    use crate::trace::Trace;

    fn map(runs: &[(u32, u32)]) -> ChunkMap {
        let runs = runs
            .iter()
            .map(|&(first, len)| Run::new(first, len).expect("a run"));
        let placement = ChunkPlacement {
            runs: runs.collect(),
            stats: None,
        };
        ChunkMap::new("test", placement)
    }

    #[test]
    fn each_chunk_knows_the_length_of_its_run() {
        let megachunks = map(&[(0, 1), (2, 3), (640, 64)]).megachunks();
        assert_eq!(megachunks.len(), 2);
        assert_eq!(megachunks[0].chunks[..6], [1, 0, 3, 3, 3, 0]);
        assert_eq!((megachunks[1].number, megachunks[1].in_use()), (10, 64));
    }

    #[test]
    fn fragmentation_is_none_where_all_that_is_free_is_one_run() {
        assert_eq!(map(&[(0, 10)]).figures().fragmentation, 0.0);
        assert_eq!(map(&[(0, 64)]).figures().fragmentation, 0.0);
        assert_eq!(map(&[]).figures().occupancy, 0.0);
        // Every second chunk is free: 32 free, the longest run 1.
        let every_second: Vec<_> = (0..32).map(|chunk| (2 * chunk, 1)).collect();
        let figures = map(&every_second).figures();
        assert_eq!((figures.in_use, figures.occupancy), (32, 0.5));
        assert_eq!(figures.fragmentation, 31.0 / 32.0);
    }

    #[test]
    fn a_run_survives_being_an_id() {
        for (first, len) in [(0, 1), (63, 1), (64, 64), (1_048_575, 1)] {
            let taken = Run::new(first, len).expect("a run");
            assert_eq!(run(id(taken)), Some(taken));
        }
    }

    /// Gives one run, and takes nothing back.
    struct Stubborn(AtomicBool);

    // SAFETY: the one run has the length that was asked for; nobody gets its address.
    unsafe impl ChunkAllocator for Stubborn {
        const NAME: &'static str = "stubborn";

        fn fresh() -> Self {
            Self(AtomicBool::new(false))
        }

        fn allocate(&self, len: usize) -> Result<Run, ChunkError> {
            match self.0.swap(true, Ordering::Relaxed) {
                true => Err(ChunkError::Exhausted { len }),
                false => Run::new(0, len as u32).ok_or(ChunkError::BadLength { len }),
            }
        }

        unsafe fn free(&self, run: Run) -> Result<(), ChunkError> {
            Err(ChunkError::NotInUse { run })
        }

        fn base(&self, run: Run) -> NonNull<u8> {
            panic!("nobody is to touch {run}")
        }

        fn in_use(&self) -> usize {
            usize::from(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn an_allocator_that_has_no_run_or_takes_none_back_ends_the_replay() {
        let fault = |events: &str| {
            let header = "# entity-trace 1\n# threads=1 events=2 ";
            let text = format!("{header}{events}");
            let trace = Trace::from_reader("a.trace", text.as_bytes()).expect("a trace");
            let mut replay = Replay::new(&trace, 1).expect("of one thread");
            let error = Stubborn::fresh().placement(&mut replay);
            error.expect_err("it fails").fault
        };
        let two = "created=2 peak_live=2 destroyed_by_another_thread=0\n0 + 0\n0 + 1\n";
        assert!(matches!(fault(two), ReplayFault::NoRun { len } if len > 0));
        let one = "created=1 peak_live=1 destroyed_by_another_thread=0\n0 + 0\n0 - 0\n";
        assert!(matches!(fault(one), ReplayFault::RunRefused { run } if run.first() == 0));
    }
}
