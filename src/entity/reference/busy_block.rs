//! `busy_block`: the entity store of Unity DOTS as published, with one busy flag a data block.
//!
//! State: 16,384 blocks of 8,192 slots. Each block has a count of its entities, or [`BUSY`]; a
//! bit a slot (1 = allocated), a version a slot (odd while allocated) and a place a slot. A block
//! is allocated when it is first needed and kept until the store is dropped.
//!
//! Operations: *allocate* walks the blocks from 0, skips full and busy ones, swaps the count to
//! busy, sets zero bits one by one from word 0, bumps their versions, and stores the count back.
//! *Free* takes runs of consecutive indices in one block, waits until the block is not busy, makes
//! it busy, bumps the versions that match, clears their bits, and stores the count back.
//!
//! Invariant: only the thread that made a block busy writes its bits and versions. A bit is set
//! exactly while its version is odd, whenever the block is not busy.
//!
//! Progress: blocking (the busy flag is a lock).
//!
//! # Faults, as published
//!
//! None of these is improved here; the tests that show them are named `busy_block_…`.
//!
//! 1. A call costs one atomic read-modify-write for every full block before the one it takes from:
//!    the cost of a create grows with the number of live entities.
//! 2. A thread that stops while a block is busy blocks every thread that frees in that block, for
//!    ever.
//! 3. If every block that is not full is busy, allocation reports "full" although there is room.
//! 4. An allocation that fails half way loses the ids that it took: they stay alive, and nobody
//!    knows them.
//! 5. Versions wrap: after 2³¹ lives of a slot (half a minute of churn) an old handle lives again.
//! 6. Location looks at the bit, not at the version: a stale handle whose slot is in use again
//!    reads the place of the next owner, and writes it.
//! 7. A stale handle in a batch is skipped without a word. (The seam asks for a report, so this
//!    code makes one; that is an addition. So is the refusal of an index out of range, where the
//!    published code reads past its tables.)
//! 8. The total counts −1 for each block that is busy at the moment.
//!
//! Source: Unity's `com.unity.entities` 1.x, the design only; this is our own code.

use core::fmt;
use core::ptr;

use crate::entity::{
    DestroyReport, Entity, EntityAllocator, EntityError, EntityFault, Full, Place,
};
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sync::geometry::{
    BLOCK_SLOTS, BLOCKS, FULL as FULL_WORD, SLOTS, WORD_BITS, WORDS_PER_BLOCK,
};
use crate::sync::{probe, spin_wait};

/// The count of a block that some thread works on: −1.
const BUSY: u32 = u32::MAX;

const FULL: Full = Full {
    capacity: SLOTS as usize,
};

/// The published DOTS entity store, faults and all; see the head of its source file.
///
/// 12 bytes and a bit a slot, in blocks of 8,192 slots. Any thread may call anything; creation
/// and destruction block each other within a block, `exists` and `locate` are wait-free.
///
/// ```
/// use megachunk::entity::{EntityAllocator, reference::BusyBlock};
///
/// let store = BusyBlock::fresh();
/// let mut entities = [megachunk::entity::Entity::PLACEHOLDER; 3];
/// store.create_slice(&mut entities).unwrap();
/// assert!(store.destroy_slice(&entities).is_clean());
/// ```
pub struct BusyBlock {
    counts: Box<[AtomicU32]>,
    blocks: Box<[AtomicPtr<Block>]>,
}

struct Block {
    allocated: [AtomicU64; WORDS_PER_BLOCK as usize],
    versions: [AtomicU32; BLOCK_SLOTS as usize],
    places: [AtomicU32; BLOCK_SLOTS as usize],
}

impl BusyBlock {
    fn allocate(&self, out: &mut [Entity]) -> Result<(), Full> {
        let mut taken = 0;
        for (index, count) in self.counts.iter().enumerate() {
            probe::probed(1);
            let before = read(count);
            if before == BUSY || before == BLOCK_SLOTS {
                continue;
            }
            // Ordering: Acquire pairs with the Release of the holder before us, in `give_back`.
            if count
                .compare_exchange(before, BUSY, Ordering::AcqRel, Ordering::Relaxed)
                .is_err()
            {
                continue;
            }
            let wanted = (out.len() - taken).min((BLOCK_SLOTS - before) as usize);
            self.block_to_fill(index)
                .allocate(index as u32, &mut out[taken..taken + wanted]);
            give_back(count, before + wanted as u32);
            taken += wanted;
            if taken == out.len() {
                return Ok(());
            }
        }
        // Fault 4: what `out[..taken]` names stays alive.
        Err(FULL)
    }

    /// The block that this thread made busy, allocated if it is the first to use it.
    fn block_to_fill(&self, index: usize) -> &Block {
        if self.block(index).is_none() {
            // Ordering: Release pairs with the Acquire in `block`: who sees the pointer sees zeros.
            self.blocks[index].store(Box::into_raw(Block::zeroed()), Ordering::Release);
        }
        self.block(index)
            .expect("it was allocated just now, or before")
    }

    fn block(&self, index: usize) -> Option<&Block> {
        // Ordering: Acquire pairs with the Release in `block_to_fill`.
        let block = self.blocks.get(index)?.load(Ordering::Acquire);
        // SAFETY: null, or a block that stays until `self` is dropped; shared access only.
        unsafe { block.as_ref() }
    }

    /// Frees `entities`, whose indices follow each other in one block.
    fn free_run(&self, entities: &[Entity], position: usize, report: &mut DestroyReport) {
        let mut refuse = |offset: usize| {
            let entity = entities[offset];
            report
                .refused
                .push((position + offset, self.refused(entity)));
        };
        let Some((block_index, slot)) = position_of(entities[0]) else {
            return (0..entities.len()).for_each(refuse);
        };
        let count = &self.counts[block_index];
        let Some(before) = wait_and_make_busy(count) else {
            return (0..entities.len()).for_each(refuse);
        };
        let block = self
            .block(block_index)
            .expect("a block with entities was allocated");
        let mut freed = 0;
        for (offset, entity) in entities.iter().enumerate() {
            if block.free(slot + offset, entity.version()) {
                freed += 1;
            } else {
                refuse(offset);
            }
        }
        give_back(count, before - freed as u32);
        report.destroyed += freed;
    }

    /// Why a handle was skipped. An addition: the published algorithm says nothing.
    #[cold]
    fn refused(&self, entity: Entity) -> EntityError {
        let fault = match position_of(entity) {
            None => EntityFault::OutOfRange,
            Some((block, slot)) => match self.block(block) {
                Some(block) if entity.version() <= block.versions[slot].load(Ordering::Relaxed) => {
                    EntityFault::Destroyed
                }
                _ => EntityFault::NeverCreated,
            },
        };
        EntityError::new(entity, fault)
    }

    /// The slot of `entity` if its bit is set: whose entity it is, nobody asks (fault 6).
    fn allocated_slot(&self, entity: Entity) -> Result<(&Block, usize), EntityError> {
        if let Some((index, slot)) = position_of(entity)
            && let Some(block) = self.block(index)
            && block.is_allocated(slot)
        {
            return Ok((block, slot));
        }
        Err(self.refused(entity))
    }
}

impl Block {
    /// Sets the first zero bits, one by one, for `out`. The caller made the block busy and knows
    /// that so many are free.
    fn allocate(&self, index: u32, out: &mut [Entity]) {
        let mut taken = 0;
        for (word_index, word) in self.allocated.iter().enumerate() {
            probe::probed(1);
            // Ordering: Relaxed, here and below: only the holder of the busy flag writes, and the
            // flag orders one holder after the other. Readers expect no more (faults 5 and 6).
            if word.load(Ordering::Relaxed) == FULL_WORD {
                continue;
            }
            for bit in 0..WORD_BITS {
                let bits = word.load(Ordering::Relaxed);
                if bits & (1 << bit) != 0 {
                    continue;
                }
                word.store(bits | 1 << bit, Ordering::Relaxed);
                let slot = word_index * WORD_BITS as usize + bit as usize;
                let version = self.bump(slot);
                self.places[slot].store(Place::encode(None), Ordering::Relaxed);
                out[taken] = Entity::from_parts(index * BLOCK_SLOTS + slot as u32, version);
                taken += 1;
                if taken == out.len() {
                    return;
                }
            }
        }
    }

    /// Clears the slot's bit if the version matches. The caller made the block busy.
    fn free(&self, slot: usize, version: u32) -> bool {
        if self.versions[slot].load(Ordering::Relaxed) != version {
            return false;
        }
        self.bump(slot);
        let (word, mask) = bit_of(slot);
        let bits = self.allocated[word].load(Ordering::Relaxed);
        self.allocated[word].store(bits & !mask, Ordering::Relaxed);
        true
    }

    /// The next version; it wraps (fault 5).
    fn bump(&self, slot: usize) -> u32 {
        let version = self.versions[slot].load(Ordering::Relaxed).wrapping_add(1);
        self.versions[slot].store(version, Ordering::Relaxed);
        version
    }

    fn is_allocated(&self, slot: usize) -> bool {
        let (word, mask) = bit_of(slot);
        self.allocated[word].load(Ordering::Relaxed) & mask != 0
    }

    #[cfg(not(loom))]
    fn zeroed() -> Box<Self> {
        let layout = std::alloc::Layout::new::<Self>();
        // SAFETY: the layout's size is not zero.
        let block = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<Self>();
        if block.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        // SAFETY: allocated with the layout of `Self`; all-zero atomics are atomics that hold zero.
        unsafe { Box::from_raw(block) }
    }

    #[cfg(loom)]
    fn zeroed() -> Box<Self> {
        use core::array::from_fn;
        Box::new(Self {
            allocated: from_fn(|_| AtomicU64::new(0)),
            versions: from_fn(|_| AtomicU32::new(0)),
            places: from_fn(|_| AtomicU32::new(0)),
        })
    }
}

/// Reads a count as the published algorithm does, by adding zero to it.
fn read(count: &AtomicU32) -> u32 {
    count.fetch_add(0, Ordering::AcqRel)
}

/// Makes a block busy, however long it takes (fault 2); `None` if it holds no entities.
fn wait_and_make_busy(count: &AtomicU32) -> Option<u32> {
    let mut before = read(count);
    while before != 0 {
        if before == BUSY {
            spin_wait();
            before = read(count);
            continue;
        }
        // Ordering: Acquire pairs with the Release of the holder before us, in `give_back`.
        match count.compare_exchange(before, BUSY, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return Some(before),
            Err(found) => before = found,
        }
    }
    None
}

/// Ends the busy time of a block.
fn give_back(count: &AtomicU32, entities: u32) {
    // Ordering: Release pairs with the Acquire of the next holder's compare-exchange.
    let busy = count.compare_exchange(BUSY, entities, Ordering::AcqRel, Ordering::Relaxed);
    debug_assert_eq!(busy, Ok(BUSY), "only the holder ends the busy time");
}

/// The block and the slot in it.
fn position_of(entity: Entity) -> Option<(usize, usize)> {
    let index = entity.index();
    (index < SLOTS).then_some((
        (index / BLOCK_SLOTS) as usize,
        (index % BLOCK_SLOTS) as usize,
    ))
}

fn bit_of(slot: usize) -> (usize, u64) {
    (slot / WORD_BITS as usize, 1 << (slot % WORD_BITS as usize))
}

/// How many of `entities`, from the first, have consecutive indices in one block.
fn run_length(entities: &[Entity]) -> usize {
    let follows = |pair: &[Entity]| {
        let (index, next) = (pair[0].index(), pair[1].index());
        index.checked_add(1) == Some(next) && index / BLOCK_SLOTS == next / BLOCK_SLOTS
    };
    1 + entities.windows(2).take_while(|pair| follows(pair)).count()
}

impl EntityAllocator for BusyBlock {
    const NAME: &'static str = "busy_block";

    fn fresh() -> Self {
        Self {
            counts: (0..BLOCKS).map(|_| AtomicU32::new(0)).collect(),
            blocks: (0..BLOCKS)
                .map(|_| AtomicPtr::new(ptr::null_mut()))
                .collect(),
        }
    }

    fn capacity(&self) -> usize {
        SLOTS as usize
    }

    fn create(&self) -> Result<Entity, Full> {
        let mut out = [Entity::PLACEHOLDER];
        self.allocate(&mut out)?;
        Ok(out[0])
    }

    fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        if out.is_empty() {
            return Ok(());
        }
        self.allocate(out)
    }

    fn destroy(&self, entity: Entity) -> Result<(), EntityError> {
        self.destroy_slice(&[entity]).into_result().map(|_| ())
    }

    fn destroy_slice(&self, entities: &[Entity]) -> DestroyReport {
        let mut report = DestroyReport::default();
        let mut position = 0;
        while position < entities.len() {
            let length = run_length(&entities[position..]);
            self.free_run(
                &entities[position..position + length],
                position,
                &mut report,
            );
            position += length;
        }
        report
    }

    fn exists(&self, entity: Entity) -> bool {
        let Ok((block, slot)) = self.allocated_slot(entity) else {
            return false;
        };
        block.versions[slot].load(Ordering::Relaxed) == entity.version()
    }

    fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        let (block, slot) = self.allocated_slot(entity)?;
        Ok(Place::decode(block.places[slot].load(Ordering::Relaxed)))
    }

    fn publish(&self, entity: Entity, place: Place) -> Result<(), EntityError> {
        let (block, slot) = self.allocated_slot(entity)?;
        block.places[slot].store(Place::encode(Some(place)), Ordering::Relaxed);
        Ok(())
    }

    fn count(&self) -> usize {
        // Fault 8: a busy block counts as −1.
        let total: i64 = self
            .counts
            .iter()
            .map(|count| i64::from(count.load(Ordering::Relaxed) as i32))
            .sum();
        total.max(0) as usize
    }
}

impl Drop for BusyBlock {
    fn drop(&mut self) {
        for block in &self.blocks {
            let block = block.load(Ordering::Relaxed);
            if !block.is_null() {
                // SAFETY: made by `Box::into_raw` in `block_to_fill`; nobody else has `self` now.
                drop(unsafe { Box::from_raw(block) });
            }
        }
    }
}

impl fmt::Debug for BusyBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusyBlock")
            .field("live", &self.count())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! The faults that cannot be shown from outside within a test's time and memory.

    use super::*;

    fn fill_all_blocks_but_the_first(store: &BusyBlock) {
        store.counts[1..]
            .iter()
            .for_each(|count| count.store(BLOCK_SLOTS, Ordering::Relaxed));
    }

    #[test]
    fn busy_block_lets_a_dead_handle_live_again_when_the_version_wraps() {
        let store = BusyBlock::fresh();
        let first = store.create().unwrap();
        store.destroy(first).unwrap();
        let block = store.block(0).unwrap();
        block.versions[0].store(u32::MAX - 1, Ordering::Relaxed);

        let last = store.create().unwrap();
        assert_eq!(last.version(), u32::MAX);
        store.destroy(last).unwrap();
        assert!(!store.exists(first));
        store.create().unwrap();

        assert!(store.exists(first));
    }

    #[test]
    fn busy_block_says_full_while_the_only_block_with_room_is_busy() {
        let store = BusyBlock::fresh();
        fill_all_blocks_but_the_first(&store);
        store.counts[0].store(BUSY, Ordering::Relaxed);

        assert_eq!(store.create(), Err(FULL));

        store.counts[0].store(0, Ordering::Relaxed);
        assert!(store.create().is_ok());
    }

    #[test]
    fn busy_block_loses_the_ids_of_an_allocation_that_fails_half_way() {
        let store = BusyBlock::fresh();
        fill_all_blocks_but_the_first(&store);
        let before = store.count();
        let mut out = vec![Entity::PLACEHOLDER; BLOCK_SLOTS as usize + 1];

        assert_eq!(store.create_slice(&mut out), Err(FULL));

        assert_eq!(store.count() - before, BLOCK_SLOTS as usize);
        assert_eq!(store.create(), Err(FULL));
    }

    #[test]
    fn busy_block_counts_one_too_few_for_each_busy_block() {
        let store = BusyBlock::fresh();
        store.create().unwrap();
        store.counts[1].store(BUSY, Ordering::Relaxed);

        assert_eq!(store.count(), 0);
    }
}
