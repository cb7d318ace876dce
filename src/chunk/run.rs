//! `Run`: the raw name of neighbouring chunks.

use core::fmt;
use core::num::NonZeroU32;

/// The name of `len` neighbouring chunks of one mega-chunk, beginning at chunk `first`.
///
/// A plain value, four bytes, as `Option<Run>` is: it owns nothing and keeps nothing alive. The owning
/// handle of safe code is `Chunks`; a `Run` is what the [`ChunkAllocator`](crate::chunk::ChunkAllocator)
/// seam and tables use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run(
    /// `first 25 | len 7`: ordered by the first chunk, one word to pass about, and never zero.
    NonZeroU32,
);

const LEN_BITS: u32 = 7;

const _: () = assert!(size_of::<Option<Run>>() == 4);

impl Run {
    /// The run of `len` chunks from `first`; `None` unless `1 <= len <= 64` and all chunks exist
    /// and lie in one mega-chunk.
    #[must_use]
    pub const fn new(first: u32, len: u32) -> Option<Self> {
        if len == 0
            || first as usize >= super::CHUNKS
            || (first as usize % super::MEGACHUNK_CHUNKS) + len as usize > super::MEGACHUNK_CHUNKS
        {
            return None;
        }
        Self::from_bits(first << LEN_BITS | len)
    }

    /// The run of one chunk, whose number is known to be in range.
    #[inline(always)]
    pub(crate) const fn single(chunk: u32) -> Self {
        debug_assert!((chunk as usize) < super::CHUNKS);
        match Self::from_bits(chunk << LEN_BITS | 1) {
            Some(run) => run,
            None => unreachable!(),
        }
    }

    /// As a word, which is never zero.
    #[inline(always)]
    pub(crate) const fn to_bits(self) -> u32 {
        self.0.get()
    }

    /// The inverse of [`to_bits`](Self::to_bits); `None` of zero.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u32) -> Option<Self> {
        match NonZeroU32::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// The first chunk's number, `0..1_048_576`.
    #[inline(always)]
    #[must_use]
    pub const fn first(self) -> u32 {
        self.to_bits() >> LEN_BITS
    }

    /// How many chunks: 1 to 64.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a run is never empty")]
    pub const fn len(self) -> u32 {
        self.to_bits() % (1 << LEN_BITS)
    }

    /// The mega-chunk that the run lies in, `0..16_384`.
    #[inline(always)]
    #[must_use]
    pub const fn megachunk(self) -> u32 {
        self.first() / super::MEGACHUNK_CHUNKS as u32
    }

    /// The run's bits in its mega-chunk's in-use mask.
    #[inline(always)]
    #[must_use]
    pub const fn mask(self) -> u64 {
        (u64::MAX >> (64 - self.len())) << (self.first() % super::MEGACHUNK_CHUNKS as u32)
    }

    /// Whether the mask of its mega-chunk has all of its bits.
    #[inline(always)]
    pub(crate) const fn is_within(self, mask: u64) -> bool {
        if self.len() == 1 {
            // Most are: it is one instruction.
            return mask >> (self.first() % super::MEGACHUNK_CHUNKS as u32) & 1 == 1;
        }
        mask & self.mask() == self.mask()
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunks {}..{}", self.first(), self.first() + self.len())
    }
}
