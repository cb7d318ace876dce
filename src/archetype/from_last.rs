//! `FromLast`: the rows of an archetype's chunks, from the last chunk to the first.
//!
//! Called by the world room, which moves them somewhere else, or ends them, a chunk at a time. A chunk that goes is replaced
//! by the last: from the end, those that are still to come stay where they are.

use crate::archetype::archetype::Archetype;
use crate::archetype::runs::Rows;

/// Comes by each chunk that has rows, the last one first. It keeps a position alone, and lends nothing: what is done with a
/// chunk may give it back, and others may come behind.
#[derive(Debug)]
pub(crate) struct FromLast {
    /// The chunk that it was at last.
    at: u32,
}

impl FromLast {
    /// Before the last chunk that there is now.
    pub(crate) fn of(archetype: &Archetype) -> Self {
        Self {
            at: archetype.chunks.len() as u32,
        }
    }

    /// All rows of the next chunk that has some. Of the same archetype each time. O(chunks without rows before it).
    pub(crate) fn next_of(&mut self, archetype: &Archetype) -> Option<Rows> {
        while let Some(chunk) = self.at.checked_sub(1) {
            self.at = chunk;
            let count = archetype.chunks[chunk as usize].len;
            if count > 0 {
                return Some(Rows {
                    chunk,
                    first: 0,
                    count,
                });
            }
        }
        None
    }
}
