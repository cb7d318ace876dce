//! `ChunkStats`: how an allocator stands.

/// How an allocator stands: exact while no thread takes or gives, else near it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ChunkStats {
    /// Chunks that are in somebody's hands.
    pub in_use: usize,
    /// Chunks that threads keep for their next requests: at most 16 a thread.
    pub cached: usize,
    /// Mega-chunks whose memory is committed, 1 MiB each.
    pub committed_megachunks: usize,
    /// Committed mega-chunks with nothing in use.
    pub empty_megachunks: usize,
    /// Free chunks in mega-chunks that are partly in use.
    pub free_in_used: usize,
    /// How broken up those are: 0 if each mega-chunk's free chunks are one run, towards 1 the
    /// shorter its longest run is against its free chunks.
    pub fragmentation: f64,
    /// Calls for memory so far.
    pub commits: u64,
    /// Calls to give memory back so far.
    pub decommits: u64,
}
