//! `ChunkForm`: what all chunks of an archetype have in common in a file.
//!
//! It is computed once for each archetype: a file may have very many chunks of an archetype with very many fragments,
//! and to read a chunk takes no longer than its own part of the directory is long.

use crate::fragment::FragmentKind;
use crate::world::snapshot::format::bit_bytes;
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::read::{SavedChunk, is_shared};

/// What the bytes of a chunk are, whatever its length. Sums that no file is long enough for stay at the greatest number.
pub(super) struct ChunkForm {
    /// Bytes of a row's handle and values.
    row: u64,
    /// Fragments and tags that can be switched off.
    bit_columns: u64,
    /// Bytes of values that a chunk has once.
    once: u64,
    /// The numbers of the shared fragments, ascending.
    pub(super) shared: Vec<u32>,
    /// Those of the fragments with a column of values that are written, ascending: each chunk says how long it is.
    pub(super) written: Vec<u32>,
}

impl ChunkForm {
    /// That of an archetype with these of all fragments.
    pub(super) fn of(fragments: &[u32], all: &[SavedFragment]) -> Self {
        let mut form = Self {
            row: 8,
            bit_columns: 0,
            once: 0,
            shared: Vec::new(),
            written: Vec::new(),
        };
        for &number in fragments {
            let fragment = &all[number as usize];
            let size = fragment.size as u64;
            match fragment.kind {
                FragmentKind::Fragment if fragment.is_written => form.written.push(number),
                FragmentKind::Fragment => form.row = form.row.saturating_add(size),
                FragmentKind::Chunk => form.once = form.once.saturating_add(size),
                kind if is_shared(kind) => form.shared.push(number),
                _ => {}
            }
            form.bit_columns += u64::from(fragment.enableable);
        }
        form
    }

    /// Bytes of what a chunk has of this form. O(columns of values that are written × their logarithm).
    pub(super) fn bytes_of(&self, chunk: &SavedChunk) -> u64 {
        let written = self.written.iter().map(|&number| chunk.written(number));
        self.bytes(chunk.len) + written.sum::<usize>() as u64
    }

    /// Bytes of a chunk with so many entities, but for columns of values that are written.
    pub(super) fn bytes(&self, len: u32) -> u64 {
        let rows = u64::from(len);
        let bits = self.bit_columns.saturating_mul(bit_bytes(rows));
        let rows = rows.saturating_mul(self.row);
        rows.saturating_add(bits).saturating_add(self.once)
    }
}
