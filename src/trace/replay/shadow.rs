//! `Shadow`: an independent record of who is alive, and the player that checks against it.
//!
//! One atomic word an index, written only by this file: the bits of the handle that lives there.
//! What must hold, and is checked at each event: an index is handed out only while nobody lives
//! there, with a version above all that it had; what was created exists, what was destroyed does
//! not, and cannot be destroyed again.

use std::sync::OnceLock;

use super::player::{BLOCK, entity};
use super::{Player, ReplayFault};
use crate::entity::{Entity, EntityAllocator};
use crate::sync::atomic::{AtomicU64, Ordering};

/// Set while the handle in the word is alive; the handle's version needs 32 bits, its index is
/// the word's own, so there is room.
const ALIVE: u64 = 1 << 32;

type Block = Box<[AtomicU64]>;

/// Who is alive, as far as the replay knows: per index the last version and whether it lives.
/// Only blocks that are used exist.
#[derive(Debug)]
pub struct Shadow {
    capacity: usize,
    blocks: Box<[OnceLock<Block>]>,
}

impl Shadow {
    /// Nobody is alive; indices are below `capacity`.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let blocks = (0..capacity.div_ceil(BLOCK))
            .map(|_| OnceLock::new())
            .collect();
        Self { capacity, blocks }
    }

    fn word(&self, entity: Entity) -> Result<&AtomicU64, ReplayFault> {
        let index = entity.index() as usize;
        if index >= self.capacity {
            return Err(ReplayFault::OutOfRange {
                entity,
                capacity: self.capacity,
            });
        }
        let block = self.blocks[index / BLOCK]
            .get_or_init(|| (0..BLOCK).map(|_| AtomicU64::new(0)).collect());
        Ok(&block[index % BLOCK])
    }

    /// Notes that `entity` was created.
    ///
    /// # Errors
    /// Where its index is alive or the handle was used before.
    pub fn enter(&self, entity: Entity) -> Result<(), ReplayFault> {
        let now = ALIVE | u64::from(entity.version());
        // Ordering: AcqRel, with itself and with `leave`: the last one to swap saw all before.
        let before = self.word(entity)?.swap(now, Ordering::AcqRel);
        let version = before as u32;
        if before & ALIVE != 0 {
            let alive = Entity::from_parts(entity.index(), version);
            return Err(ReplayFault::HandedOutTwice { entity, alive });
        }
        if version >= entity.version() {
            return Err(ReplayFault::HandedOutAgain { entity });
        }
        Ok(())
    }

    /// Notes that `entity` is about to be destroyed: before the allocator knows, because from
    /// then on another thread may get the index.
    ///
    /// # Errors
    /// Where it is not the one alive at its index.
    pub fn leave(&self, entity: Entity) -> Result<(), ReplayFault> {
        let version = u64::from(entity.version());
        self.word(entity)?
            // Ordering: AcqRel, with `enter`.
            .compare_exchange(
                ALIVE | version,
                version,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .map(drop)
            .map_err(|_| ReplayFault::NotAlive { entity })
    }
}

/// Plays on an allocator and checks every answer against the shadow.
#[derive(Debug)]
pub struct Verifying<'a, A> {
    allocator: &'a A,
    shadow: &'a Shadow,
}

impl<'a, A: EntityAllocator> Verifying<'a, A> {
    /// Plays on `allocator`; all threads share one `shadow`.
    #[must_use]
    pub const fn new(allocator: &'a A, shadow: &'a Shadow) -> Self {
        Self { allocator, shadow }
    }
}

impl<A: EntityAllocator> Player for Verifying<'_, A> {
    fn create(&mut self) -> Result<u64, ReplayFault> {
        let entity = self.allocator.create()?;
        self.shadow.enter(entity)?;
        if !self.allocator.exists(entity) {
            return Err(ReplayFault::NotAlive { entity });
        }
        Ok(entity.to_bits())
    }

    fn destroy(&mut self, id: u64) -> Result<(), ReplayFault> {
        let entity = entity(id);
        if !self.allocator.exists(entity) {
            return Err(ReplayFault::NotAlive { entity });
        }
        self.shadow.leave(entity)?;
        self.allocator.destroy(entity)?;
        if self.allocator.exists(entity) {
            return Err(ReplayFault::StillAlive { entity });
        }
        match self.allocator.destroy(entity) {
            Err(_) => Ok(()),
            Ok(()) => Err(ReplayFault::DestroyedTwice { entity }),
        }
    }
}
