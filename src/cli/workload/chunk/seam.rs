//! `ChunkSeam`: every `ChunkAllocator` is a contender, once a recipe says what the seam does not.

use core::fmt;
use core::ptr::NonNull;
use std::io;

use super::ChunkContender;
use crate::chunk::reference::{MegachunkDots, Naive};
use crate::chunk::{ChunkAllocator, ChunkError, ChunkOptions, MegachunkAllocator, Run};

/// How a [`ChunkAllocator`] is made, what it is called, and what the seam does not say about it.
pub trait ChunkRecipe: 'static {
    /// What is made.
    type Allocator: ChunkAllocator + 'static;
    /// The name in tables.
    const NAME: &'static str = Self::Allocator::NAME;
    /// See [`ChunkContender::FILLS_QUICKLY`].
    const FILLS_QUICKLY: bool = true;
    /// See [`ChunkContender::GIVES_MEMORY_BACK`].
    const GIVES_MEMORY_BACK: bool = true;
    /// See [`ChunkContender::TAKES_FROM_HEAP`].
    const TAKES_FROM_HEAP: bool = false;

    /// A fresh one.
    fn make() -> Self::Allocator {
        Self::Allocator::fresh()
    }

    /// Gives the memory of all free chunks back, where that does not happen by itself.
    fn trim(_allocator: &Self::Allocator) {}
}

/// The naive reference: one list for 16 GiB, and memory that is kept.
#[derive(Debug)]
pub struct NaiveChunks;

impl ChunkRecipe for NaiveChunks {
    type Allocator = Naive;
    const FILLS_QUICKLY: bool = false;
    const GIVES_MEMORY_BACK: bool = false;
    const TAKES_FROM_HEAP: bool = true;
}

/// The published algorithm: it gives a mega-chunk's memory back with its last chunk.
#[derive(Debug)]
pub struct PublishedChunks;

impl ChunkRecipe for PublishedChunks {
    type Allocator = MegachunkDots;
}

/// The product.
#[derive(Debug)]
pub struct ProductChunks;

impl ChunkRecipe for ProductChunks {
    type Allocator = MegachunkAllocator;

    fn trim(allocator: &MegachunkAllocator) {
        allocator.trim();
    }
}

/// The product without huge pages: what they are worth, and what it does where there are none.
#[derive(Debug)]
pub struct SmallPageChunks;

impl ChunkRecipe for SmallPageChunks {
    type Allocator = MegachunkAllocator;
    const NAME: &'static str = "megachunk_small_pages";

    fn make() -> MegachunkAllocator {
        match ChunkOptions::new().huge_pages(false).build() {
            Ok(allocator) => allocator,
            Err(error) => panic!("{error}"),
        }
    }

    fn trim(allocator: &MegachunkAllocator) {
        allocator.trim();
    }
}

/// A [`ChunkAllocator`] as a contender.
pub struct ChunkSeam<R: ChunkRecipe>(R::Allocator);

impl<R: ChunkRecipe> fmt::Debug for ChunkSeam<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChunkSeam").field(&R::NAME).finish()
    }
}

// SAFETY: all that matters is the allocator's, which keeps the same promise.
unsafe impl<R: ChunkRecipe> ChunkContender for ChunkSeam<R> {
    const NAME: &'static str = R::NAME;
    const FILLS_QUICKLY: bool = R::FILLS_QUICKLY;
    const GIVES_MEMORY_BACK: bool = R::GIVES_MEMORY_BACK;
    const TAKES_FROM_HEAP: bool = R::TAKES_FROM_HEAP;

    fn fresh() -> Self {
        Self(R::make())
    }

    fn try_room() -> io::Result<()> {
        R::Allocator::try_fresh().map(drop)
    }

    #[inline(always)]
    fn take(&self, len: usize) -> Result<Run, ChunkError> {
        self.0.allocate(len)
    }

    #[inline(always)]
    unsafe fn give(&self, run: Run) -> Result<(), ChunkError> {
        // SAFETY: the caller keeps the same promise.
        unsafe { self.0.free(run) }
    }

    #[inline(always)]
    fn base(&self, run: Run) -> NonNull<u8> {
        self.0.base(run)
    }

    fn flush(&self) {
        self.0.flush();
    }

    fn trim(&self) {
        R::trim(&self.0);
    }
}
