//! `Refit`: a chunk that came from another archetype with its columns where they were.
//!
//! Adding a small fragment to whole chunks, or taking one away, would cost a copy of all others. So a chunk that
//! changes its composition as a whole keeps its arrays: what comes gets an array outside, what goes leaves
//! its room unused. That is done while no more than an eighth of the chunk lies idle and no more than a
//! quarter of it outside; else its entities are copied to chunks that are cut out for them. Not in an ordered universe.
//!
//! Called by the world room when a run moves, and by the flush. Everybody else asks [`Chunk::array`], which knows.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::archetype::archetype::Archetype;
use crate::archetype::chunk::Chunk;
use crate::archetype::column::Column;
use crate::archetype::edge::Edge;
use crate::chunk::CHUNK_BYTES;

/// The part of a chunk that may lie idle.
const IDLE: usize = 8;
/// The part of a chunk's size that may lie outside.
const OUTSIDE: usize = 4;

/// Where the arrays of a chunk lie that is not cut out as its archetype's are.
#[derive(Debug)]
pub(crate) struct Refit {
    /// The offset that a column has in the archetype's own chunks, and where its array is. No columns of size
    /// zero, of which several can have one offset.
    arrays: Vec<(u32, NonNull<u8>)>,
    outside: Vec<Outside>,
}

/// An array outside of the chunk's memory.
#[derive(Debug)]
struct Outside {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: both are addresses of the chunk's own memory, as `Chunk::base` is one.
unsafe impl Send for Refit {}
// SAFETY: as above.
unsafe impl Sync for Refit {}

impl Refit {
    /// Where a column's array is; `None` for one of size zero.
    #[cold]
    #[inline(never)]
    pub(crate) fn array(&self, offset: u32) -> Option<*mut u8> {
        let mut arrays = self.arrays.iter();
        let found = arrays.find(|(known, _)| *known == offset);
        found.map(|(_, array)| array.as_ptr())
    }

    /// The offsets of the columns that have an array, in order.
    pub(crate) fn offsets(&self) -> Vec<u32> {
        let mut offsets: Vec<u32> = self.arrays.iter().map(|&(offset, _)| offset).collect();
        offsets.sort_unstable();
        offsets
    }

    /// Bytes outside of the chunk's memory.
    pub(crate) fn outside_bytes(&self) -> usize {
        self.outside.iter().map(|array| array.layout.size()).sum()
    }
}

impl Outside {
    /// An array of `bytes`, at least one; `None` if there is no memory.
    fn new(bytes: usize, align: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, align).ok()?;
        // SAFETY: callers ask for a byte at least.
        let start = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
        Some(Self { start, layout })
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // SAFETY: from `alloc` with this layout.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// How a chunk becomes another archetype's as it is.
#[derive(Debug)]
pub(crate) struct Refitting {
    refit: Refit,
    /// Columns that come, and where.
    new: Vec<(Column, NonNull<u8>)>,
    /// All lies then where it does in the archetype's own chunks.
    is_plain: bool,
    columns: usize,
}

// SAFETY: all addresses are of the chunk's own memory, or of arrays that are its own.
unsafe impl Send for Refitting {}
// SAFETY: as above; who writes through them when is the affair of whoever planned it.
unsafe impl Sync for Refitting {}

impl Refitting {
    /// How a chunk of `source` becomes one of `target` along an edge that brings fragments or takes some away;
    /// `None` if its entities are better copied.
    pub(crate) fn plan(
        source: &Archetype,
        chunk: &Chunk,
        target: &Archetype,
        edge: &Edge,
    ) -> Option<Self> {
        let simple = |data: &Archetype| data.enabled.is_empty() && data.chunk_values.is_empty();
        if chunk.is_folded() || !simple(source) || !simple(target) {
            return None;
        }
        let rows = chunk.capacity as usize;
        let memory = chunk.run.len() as usize * CHUNK_BYTES;
        let carried = edge.carried.iter().filter(|carry| carry.size > 0);
        let mut arrays = Vec::with_capacity(target.columns.len());
        let (mut inside, mut outside_bytes) = (rows * size_of::<crate::entity::Entity>(), 0);
        for carry in carried {
            let array = NonNull::new(chunk.array(carry.from))?;
            let bytes = rows * carry.size as usize;
            match chunk.holds(array) {
                true => inside += bytes,
                false => outside_bytes += bytes,
            }
            arrays.push((carry.to, array));
        }
        // What has no size may begin where the next array does.
        let carries = |offset| (edge.carried.iter()).any(|c| c.size > 0 && c.to == offset);
        let comes = |column: &&Column| column.size > 0 && !carries(column.offset);
        let coming = || target.columns.iter().filter(comes);
        outside_bytes += coming().map(|c| rows * c.size as usize).sum::<usize>();
        let is_plain = outside_bytes == 0
            && source.staggered == target.staggered
            && chunk.is_cut_out_for(target.run, target.least_capacity)
            && (arrays.iter()).all(|&(offset, array)| array.as_ptr() == chunk.own_array(offset));
        let wasteful = inside + memory / IDLE < memory || outside_bytes > memory / OUTSIDE;
        if wasteful && !is_plain {
            return None;
        }
        let (mut new, mut outside) = (Vec::new(), Vec::new());
        for column in coming() {
            // Offsets are multiples of the alignment.
            let align = 1 << column.offset.trailing_zeros().clamp(6, 12);
            let array = Outside::new(rows * column.size as usize, align)?;
            arrays.push((column.offset, array.start));
            new.push((*column, array.start));
            outside.push(array);
        }
        Some(Self {
            refit: Refit { arrays, outside },
            new,
            is_plain,
            columns: target.columns.len(),
        })
    }

    /// Where a column is that comes, by the offset that it has in the archetype's own chunks.
    pub(crate) fn coming(&self, offset: u32) -> Option<(Column, *mut u8)> {
        let found = self.new.iter().find(|(column, _)| column.offset == offset);
        found.map(|&(column, array)| (column, array.as_ptr()))
    }

    /// The columns that come, and where.
    pub(crate) fn all_coming(&self) -> impl Iterator<Item = (Column, *mut u8)> + '_ {
        self.new
            .iter()
            .map(|&(column, array)| (column, array.as_ptr()))
    }

    /// What the chunk has to know from now on, `before` being what it knew; and how many columns it has.
    pub(super) fn finish(mut self, before: Option<Refit>) -> (Option<Refit>, usize) {
        if self.is_plain {
            return (None, self.columns);
        }
        // What is not used any more ends here.
        let kept = before.map(|before| before.outside).unwrap_or_default();
        for array in kept {
            if self
                .refit
                .arrays
                .iter()
                .any(|&(_, used)| used == array.start)
            {
                self.refit.outside.push(array);
            }
        }
        (Some(self.refit), self.columns)
    }
}
