//! The chunk room: 16 KiB chunks in mega-chunks of 64.

mod allocator;
mod error;
mod megachunk;
pub mod memory;
pub mod reference;
mod run;

pub use allocator::ChunkAllocator;
pub use error::ChunkError;
#[cfg(loom)]
pub use megachunk::model;
pub use megachunk::{
    CACHED_CHUNKS, ChunkOptions, ChunkStats, Chunks, MegachunkAllocator, RawChunks,
};
pub use run::Run;

use crate::sync::geometry;

/// Bytes of a chunk: 16 KiB.
pub const CHUNK_BYTES: usize = 16 * 1024;
/// Chunks of a mega-chunk: 64.
pub const MEGACHUNK_CHUNKS: usize = geometry::MEGACHUNK_CHUNKS as usize;
/// Mega-chunks of an allocator: 16,384, so that a full one spans 16 GiB.
pub const MEGACHUNKS: usize = geometry::MEGACHUNKS as usize;
/// Chunks of an allocator: 1,048,576.
pub const CHUNKS: usize = MEGACHUNKS * MEGACHUNK_CHUNKS;
