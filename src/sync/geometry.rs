//! The sizes that everything is built from, and how they shrink under a model checker.
//!
//! Under loom a word has two bits and an index four words, so that "the word is full", "the
//! block is full" and "all is full" are a few steps apart; the protocols cannot tell.

/// Bits of a claim word that are used; also the children of a summary word.
#[cfg(not(loom))]
pub const WORD_BITS: u32 = 64;
/// Bits of a claim word that are used; also the children of a summary word.
#[cfg(loom)]
pub const WORD_BITS: u32 = 2;

/// Slots whose liveness one group word decides.
#[cfg(not(loom))]
pub const GROUP_SLOTS: u32 = 16;
/// Slots whose liveness one group word decides.
#[cfg(loom)]
pub const GROUP_SLOTS: u32 = 2;

/// Slots of a data block.
#[cfg(not(loom))]
pub const BLOCK_SLOTS: u32 = 8_192;
/// Slots of a data block.
#[cfg(loom)]
pub const BLOCK_SLOTS: u32 = 4;

/// Data blocks of an index.
#[cfg(not(loom))]
pub const BLOCKS: u32 = 16_384;
/// Data blocks of an index.
#[cfg(loom)]
pub const BLOCKS: u32 = 2;

/// Claim words of a data block.
pub const WORDS_PER_BLOCK: u32 = BLOCK_SLOTS / WORD_BITS;
/// Claim words of an index.
pub const WORDS: u32 = BLOCKS * WORDS_PER_BLOCK;
/// Slots of an index: 134,217,728.
pub const SLOTS: u32 = BLOCKS * BLOCK_SLOTS;

/// Chunks of a mega-chunk.
#[cfg(not(loom))]
pub const MEGACHUNK_CHUNKS: u32 = 64;
/// Chunks of a mega-chunk.
#[cfg(loom)]
pub const MEGACHUNK_CHUNKS: u32 = 4;

/// Mega-chunks of an allocator.
#[cfg(not(loom))]
pub const MEGACHUNKS: u32 = 16_384;
/// Mega-chunks of an allocator.
#[cfg(loom)]
pub const MEGACHUNKS: u32 = 2;

/// Children of a hint word over mega-chunks.
#[cfg(not(loom))]
pub const HINT_FANOUT: u32 = 64;
/// Children of a hint word over mega-chunks.
#[cfg(loom)]
pub const HINT_FANOUT: u32 = 2;

/// An in-use mask with every bit set that is used.
pub const ALL_CHUNKS: u64 = u64::MAX >> (64 - MEGACHUNK_CHUNKS);

/// A claim or summary word with every bit set that is used.
pub const FULL: u64 = u64::MAX >> (64 - WORD_BITS);

const _: () = {
    assert!(WORD_BITS <= 64 && WORD_BITS.is_power_of_two());
    assert!(WORD_BITS.is_multiple_of(GROUP_SLOTS) && GROUP_SLOTS <= 16);
    assert!(BLOCK_SLOTS.is_multiple_of(WORD_BITS));
};
