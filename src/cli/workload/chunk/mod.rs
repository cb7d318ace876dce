//! The chunk workloads, and what takes part in them.

use std::io;
use std::sync::Arc;

use super::Unsupported;
use crate::cli::measure::Subject;

mod contender;
mod held;
mod memory;
mod pair;
mod runs;
mod seam;

pub use contender::ChunkContender;
pub use seam::{
    ChunkRecipe, ChunkSeam, NaiveChunks, ProductChunks, PublishedChunks, SmallPageChunks,
};

/// A workload on chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkWorkload {
    /// Take one, give it back; 1,000 others are in use.
    Pair,
    /// 256 taken one by one, then given back; 1,000 others are in use.
    Batch,
    /// Runs of 1 to 64 among as many percent taken chunks.
    Runs(u8),
    /// A run of 64 where every second chunk of 16 GiB is taken, all but the last 64.
    Alternating,
    /// The same, refused: there is no such run.
    AlternatingRefused,
    /// Take the first chunk of a mega-chunk, give it back.
    Boundary,
    /// Fresh chunks, written to.
    FirstTouch,
    /// Memory given back to the system.
    Decommit,
}

impl ChunkWorkload {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 10] = [
        Self::Pair,
        Self::Boundary,
        Self::Batch,
        Self::Runs(0),
        Self::Runs(50),
        Self::Runs(90),
        Self::Alternating,
        Self::AlternatingRefused,
        Self::FirstTouch,
        Self::Decommit,
    ];

    /// The rows that it fills: one for each phase that is timed apart.
    #[must_use]
    pub fn rows(self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Pair => &["chunk_pair"],
            Self::Boundary => &["boundary"],
            Self::Batch => &["chunk_batch/take", "chunk_batch/give"],
            Self::Runs(taken) => return vec![format!("runs/{taken}")],
            Self::Alternating => &["runs/alternating"],
            Self::AlternatingRefused => &["runs/alternating_refused"],
            Self::FirstTouch => &["first_touch"],
            Self::Decommit => &["decommit"],
        };
        names.iter().map(ToString::to_string).collect()
    }

    /// What one operation is.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Pair | Self::Boundary | Self::Runs(_) => "ns/life",
            Self::Alternating | Self::AlternatingRefused => "ns/request",
            Self::Batch | Self::FirstTouch | Self::Decommit => "ns/chunk",
        }
    }

    /// Whether the workload means something on `threads` threads.
    #[must_use]
    pub fn runs_on(self, threads: usize) -> bool {
        match self {
            // One free run for all of them; one thread that gives back.
            Self::Alternating | Self::AlternatingRefused | Self::Decommit => threads == 1,
            _ => true,
        }
    }

    /// Whether `C` takes part.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn admits<C: ChunkContender>(self) -> Result<(), Unsupported> {
        match self {
            Self::Alternating | Self::AlternatingRefused if !C::FILLS_QUICKLY => Err(
                Unsupported::because("takes minutes to fill 16 GiB chunk by chunk"),
            ),
            Self::FirstTouch if C::TAKES_FROM_HEAP => Err(Unsupported::because(
                "takes its memory from the heap, which keeps pages that earlier repetitions \
                 touched",
            )),
            Self::Decommit if !C::GIVES_MEMORY_BACK => {
                Err(Unsupported::because("keeps its memory until it is dropped"))
            }
            _ => Ok(()),
        }
    }

    /// Sets `C` up for the workload on `threads` threads.
    ///
    /// # Errors
    /// Why `C` cannot take part.
    pub fn set_up<C: ChunkContender>(
        self,
        threads: usize,
    ) -> Result<Arc<dyn Subject>, Unsupported> {
        self.admits::<C>()?;
        Ok(match self {
            Self::Pair => Arc::new(pair::Pair::<C>::new(1_000)),
            Self::Boundary => Arc::new(pair::Pair::<C>::new(1_024)),
            Self::Batch => Arc::new(pair::Batch::<C>::new(1_000, threads)),
            Self::Runs(taken) => Arc::new(runs::Runs::<C>::new(usize::from(taken), threads)),
            Self::Alternating => Arc::new(runs::Alternating::<C>::new(true)),
            Self::AlternatingRefused => Arc::new(runs::Alternating::<C>::new(false)),
            Self::FirstTouch => Arc::new(memory::FirstTouch::<C>::new(threads)),
            Self::Decommit => Arc::new(memory::Decommit::<C>::new()),
        })
    }
}

/// A contender by its type alone, so that a list can hold several.
pub trait ChunkEntrant: Send + Sync {
    /// The name in tables.
    fn name(&self) -> &'static str;
    /// Whether it can take part in `workload`.
    fn is_admitted(&self, workload: ChunkWorkload) -> bool;
    /// See [`ChunkContender::try_room`].
    ///
    /// # Errors
    /// What the system says.
    fn try_room(&self) -> io::Result<()>;
    /// See [`ChunkWorkload::set_up`].
    ///
    /// # Errors
    /// Why the contender cannot take part.
    fn set_up(
        &self,
        workload: ChunkWorkload,
        threads: usize,
    ) -> Result<Arc<dyn Subject>, Unsupported>;
}

/// The entrant for `C`.
#[must_use]
pub fn entrant<C: ChunkContender>() -> Box<dyn ChunkEntrant> {
    struct Entrant<C>(core::marker::PhantomData<fn() -> C>);

    impl<C: ChunkContender> ChunkEntrant for Entrant<C> {
        fn name(&self) -> &'static str {
            C::NAME
        }

        fn is_admitted(&self, workload: ChunkWorkload) -> bool {
            workload.admits::<C>().is_ok()
        }

        fn try_room(&self) -> io::Result<()> {
            C::try_room()
        }

        fn set_up(
            &self,
            workload: ChunkWorkload,
            threads: usize,
        ) -> Result<Arc<dyn Subject>, Unsupported> {
            workload.set_up::<C>(threads)
        }
    }

    Box::new(Entrant::<C>(core::marker::PhantomData))
}
