//! `ChunkStats`: how an allocator stands.

use core::fmt;

use crate::chunk::{CHUNK_BYTES, MEGACHUNK_CHUNKS};

/// How an allocator stands: exact while no thread takes or gives, else near it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
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

/// A line for the chunks, one for the mega-chunks, and one for the calls of the system.
impl fmt::Display for ChunkStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} chunks in use, {} KiB; {} kept by threads",
            self.in_use,
            self.in_use * CHUNK_BYTES / 1_024,
            self.cached,
        )?;
        writeln!(
            f,
            "{} mega-chunks ({} empty), {} KiB; {} chunks free in the others, {:.0} % fragmented",
            self.committed_megachunks,
            self.empty_megachunks,
            self.committed_megachunks * MEGACHUNK_CHUNKS * CHUNK_BYTES / 1_024,
            self.free_in_used,
            100.0 * self.fragmentation,
        )?;
        write!(
            f,
            "{} calls for memory, {} to give it back",
            self.commits, self.decommits
        )
    }
}
