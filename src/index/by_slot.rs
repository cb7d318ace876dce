//! `BySlot`: a value for each slot of the entity index, where some are asked for.

use crate::sync::geometry::SLOTS;

/// Slots of a block: those of neighbours lie side by side, and a block of eight bytes a slot is 8 KiB.
const BLOCK: usize = 1 << 10;

/// A value for each slot, the default one where none was written. O(1); memory by blocks of 1,024 slots of which
/// one was written, and eight bytes for each block before.
#[derive(Debug)]
pub(super) struct BySlot<T> {
    blocks: Vec<Option<Box<[T; BLOCK]>>>,
}

impl<T: Copy + Default> BySlot<T> {
    pub(super) const fn new() -> Self {
        Self { blocks: Vec::new() }
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> T {
        let (block, at) = place(slot);
        match self.blocks.get(block) {
            Some(Some(block)) => block[at],
            _ => T::default(),
        }
    }

    /// To be written.
    ///
    /// # Panics
    /// If no entity has such a slot.
    pub(super) fn at(&mut self, slot: u32) -> &mut T {
        assert!(slot < SLOTS, "no entity has slot {slot}");
        let (block, at) = place(slot);
        if block >= self.blocks.len() {
            self.blocks.resize_with(block + 1, || None);
        }
        let block = self.blocks[block].get_or_insert_with(|| Box::new([T::default(); BLOCK]));
        &mut block[at]
    }

    /// All of the blocks that were written, in the order of slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.blocks
            .iter()
            .flatten()
            .flat_map(|block| block.iter().copied())
    }
}

/// Which block, and where in it.
fn place(slot: u32) -> (usize, usize) {
    (slot as usize / BLOCK, slot as usize % BLOCK)
}
