//! `Subject`: an allocator whose histories are checked, and what it promises.

use megachunk::chunk::reference::{MegachunkDots, Naive};
use megachunk::chunk::{
    CACHED_CHUNKS, ChunkAllocator, ChunkError, ChunkOptions, MegachunkAllocator, Run,
};

/// What the documentation of an allocator says of refusals.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// Chunks that a thread may keep from the others.
    pub keeps: usize,
    /// Whether other calls than a trim may give memory back: then a mega-chunk that is empty can be
    /// out of reach for a moment.
    pub shrinks: bool,
}

/// An allocator in a certain state, whose histories are checked.
pub trait Subject {
    /// The allocator.
    type Allocator: ChunkAllocator;
    /// The name in tables.
    const NAME: &'static str;
    /// What it promises.
    const PROMISE: Promise;
    /// The mega-chunks that are not taken from the beginning, for one allocator after the other, so
    /// that "full" is near; none are, where this is empty.
    const ROOMS: &'static [&'static [u32]];
    /// Mega-chunks that are taken whole at the beginning of each history, and then given back, most
    /// of them.
    const WHOLE: usize;

    /// An allocator with nothing in use.
    #[must_use]
    fn set_up() -> Self::Allocator {
        Self::Allocator::fresh()
    }

    /// Takes `len` neighbouring chunks, or half as many, or a quarter ….
    ///
    /// # Errors
    /// That of the first attempt, if not even one chunk is left.
    fn allocate_up_to(allocator: &Self::Allocator, len: usize) -> Result<Run, ChunkError> {
        let mut lens = halves(len);
        let first = lens.next().unwrap_or(0);
        allocator.allocate(first).or_else(|error| {
            lens.find_map(|len| allocator.allocate(len).ok())
                .ok_or(error)
        })
    }

    /// Chunks that are taken and in nobody's use, where an allocator can tell.
    fn kept(_: &Self::Allocator) -> usize {
        0
    }

    /// Gives the memory of all empty mega-chunks back, where an allocator can do that.
    fn trim(_: &Self::Allocator) {}
}

/// `len`, half of it, a quarter …, 1.
pub(super) fn halves(len: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(len), |len| Some(len / 2).filter(|&half| half > 0))
}

/// Without huge pages: each first touch would fetch two mebibytes.
fn built(options: &ChunkOptions) -> MegachunkAllocator {
    let allocator = options.clone().huge_pages(false).build();
    allocator.expect("there is address space")
}

fn best_effort(allocator: &MegachunkAllocator, len: usize) -> Result<Run, ChunkError> {
    let chunks = allocator.allocate_up_to(len)?;
    let run = chunks.run();
    // Owned by its name from here on, as what the trait gives is.
    std::mem::forget(chunks);
    Ok(run)
}

/// Nearly full: the room is in pairs and apart, under one word of hints and under several. With so few
/// mega-chunks that can be empty, memory goes back by a trim only.
impl Subject for MegachunkAllocator {
    type Allocator = Self;
    const NAME: &'static str = <Self as ChunkAllocator>::NAME;
    const PROMISE: Promise = Promise {
        keeps: CACHED_CHUNKS,
        shrinks: false,
    };
    const ROOMS: &'static [&'static [u32]] = &[&[0, 1], &[0, 64], &[63, 64], &[1, 16_383]];
    const WHOLE: usize = 2;

    fn set_up() -> Self {
        built(&ChunkOptions::new())
    }

    fn allocate_up_to(allocator: &Self, len: usize) -> Result<Run, ChunkError> {
        best_effort(allocator, len)
    }

    fn trim(allocator: &Self) {
        allocator.trim();
    }
}

/// A mega-chunk allocator that keeps no more empty mega-chunks than it must, and has as many, or nearly:
/// memory goes back and is asked for again.
#[derive(Debug)]
pub struct Sparing;

impl Subject for Sparing {
    type Allocator = MegachunkAllocator;
    const NAME: &'static str = "megachunk-sparing";
    const PROMISE: Promise = Promise {
        keeps: CACHED_CHUNKS,
        shrinks: true,
    };
    const ROOMS: &'static [&'static [u32]] = &[];
    const WHOLE: usize = 12;

    fn set_up() -> MegachunkAllocator {
        built(&ChunkOptions::new().retain(1).retain_at_most(1))
    }

    fn kept(allocator: &MegachunkAllocator) -> usize {
        allocator.stats().cached
    }

    fn allocate_up_to(allocator: &MegachunkAllocator, len: usize) -> Result<Run, ChunkError> {
        best_effort(allocator, len)
    }

    fn trim(allocator: &MegachunkAllocator) {
        allocator.trim();
    }
}

/// Never full: it looks at all mega-chunks in use for each run.
impl Subject for Naive {
    type Allocator = Self;
    const NAME: &'static str = <Self as ChunkAllocator>::NAME;
    const PROMISE: Promise = Promise {
        keeps: 0,
        shrinks: false,
    };
    const ROOMS: &'static [&'static [u32]] = &[];
    const WHOLE: usize = 2;
}

/// Never full: a refusal looks at all mega-chunks.
impl Subject for MegachunkDots {
    type Allocator = Self;
    const NAME: &'static str = <Self as ChunkAllocator>::NAME;
    const PROMISE: Promise = Promise {
        keeps: 0,
        shrinks: true,
    };
    const ROOMS: &'static [&'static [u32]] = &[];
    const WHOLE: usize = 2;
}
