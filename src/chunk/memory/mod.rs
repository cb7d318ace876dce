//! Where the chunks' memory comes from.
//!
//! Rule: only who holds all 64 chunks of a mega-chunk may change its mapping. The allocator keeps
//! it; a `Memory` can therefore use plain tables, and no two calls concern one mega-chunk at once.

mod heap;
#[cfg(not(loom))]
mod mapped;
#[cfg(not(loom))]
mod reserved;
#[cfg(not(loom))]
mod system;

use core::fmt::Debug;
use core::ops::Range;
use core::ptr::NonNull;
use std::io;

use crate::sync::atomic::{AtomicPtr, Ordering};

pub use heap::HeapMemory;
#[cfg(not(loom))]
pub use mapped::MappedMemory;
#[cfg(not(loom))]
pub use reserved::ReservedMemory;
#[cfg(not(loom))]
pub use system::SystemMemory;

/// What a model checker uses for the system's memory.
#[cfg(loom)]
pub type SystemMemory = HeapMemory;

/// Bytes of a mega-chunk.
pub const MEGACHUNK_BYTES: usize = super::MEGACHUNK_CHUNKS * super::CHUNK_BYTES;

/// How many mega-chunks have memory: their first bytes are not null.
fn there(starts: &[AtomicPtr<u8>]) -> usize {
    // Ordering: Relaxed, a count for who looks on.
    let starts = starts.iter().map(|start| start.load(Ordering::Relaxed));
    starts.filter(|start| !start.is_null()).count()
}

/// A source of memory for mega-chunks. Open: implement it for types of yours. A method that comes later has a body.
///
/// It is for allocators that stand alone ([`ChunkOptions::build_with`](crate::chunk::ChunkOptions::build_with)): universes
/// have the system's, and what bounds it is [`ChunkOptions::at_most`](crate::chunk::ChunkOptions::at_most).
///
/// # Safety
/// Between a successful [`commit`](Self::commit) of a mega-chunk and its next
/// [`decommit`](Self::decommit), [`base`](Self::base) gives, for each of its chunks, the same
/// address of 16 KiB that are readable, writable, aligned to 4 KiB, and part of no other chunk; the
/// chunks of one mega-chunk lie one behind the other.
///
/// `commit`, `decommit` and [`discard`](Self::discard) run in the middle of a call of the allocator: they, and whatever
/// their error does when it is dropped, do not call an allocator over this memory, and do not unwind. (If
/// `decommit` unwinds all the same, the mega-chunks that were held for it are lost, up to 64, and are counted as empty from then on;
/// where a thread ends, the process is.)
pub unsafe trait Memory: Send + Sync + Debug + 'static {
    /// Makes a mega-chunk's memory usable.
    ///
    /// # Errors
    /// What the system said. Nothing has changed then.
    ///
    /// # Safety
    /// The caller holds all chunks of the mega-chunk, and it is not committed.
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()>;

    /// Gives the memory of neighbouring mega-chunks back.
    ///
    /// # Errors
    /// What the system said. The mega-chunks are committed as before then.
    ///
    /// # Safety
    /// The caller holds all chunks of all of them, they are committed, and nobody uses their memory.
    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()>;

    /// Lets the system have the memory of neighbouring chunks of a committed mega-chunk, which stays committed: what is
    /// touched there afterwards has memory again, with whatever in it.
    ///
    /// # Errors
    /// What the system said. `Unsupported`, as it is unless this is written, if no chunk's memory can be had.
    ///
    /// # Safety
    /// The caller holds the chunks, their mega-chunk is committed, and nobody uses their memory.
    unsafe fn discard(&self, chunks: Range<u32>) -> io::Result<()> {
        let _ = chunks;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Where a chunk of a committed mega-chunk begins. For other chunks the address means nothing, but
    /// anybody may ask for it at any time.
    fn base(&self, chunk: u32) -> NonNull<u8>;
}
