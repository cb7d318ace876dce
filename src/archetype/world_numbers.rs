//! `WorldNumbers`: which numbers the worlds of a universe have.

use std::io;

use crate::memory::Table;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Worlds that a universe can have at one time.
const WORLDS: usize = u16::MAX as usize;

/// A bit for each number in use.
#[derive(Debug)]
pub(super) struct WorldNumbers(Table<AtomicU64>);

impl WorldNumbers {
    /// All free.
    pub(super) fn new() -> io::Result<Self> {
        Table::new(WORLDS.div_ceil(64), 0).map(Self)
    }

    /// A number for a new world; `None` if there are 65,535 worlds. Lock-free.
    pub(super) fn take(&self) -> Option<u16> {
        for at in 0..WORLDS.div_ceil(64) {
            let word = self.0.get(at);
            // Ordering: Relaxed: the compare-and-swap decides.
            let mut taken = word.load(Ordering::Relaxed);
            while taken != u64::MAX {
                let bit = taken.trailing_ones();
                let number = at * 64 + bit as usize;
                if number >= WORLDS {
                    return None;
                }
                // Ordering: Acquire pairs with the Release in `give_back`: the directory names no chunk as one of the world
                // that had the number before.
                match word.compare_exchange_weak(
                    taken,
                    taken | 1 << bit,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return Some(number as u16),
                    Err(now) => taken = now,
                }
            }
        }
        None
    }

    /// Gives a world's number back, which has no chunks any more.
    pub(super) fn give_back(&self, world: u16) {
        let bit = 1 << (world % 64);
        // Ordering: Release pairs with the Acquire in `take`.
        self.0
            .get(usize::from(world) / 64)
            .fetch_and(!bit, Ordering::Release);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::Arc;

    use super::WORLDS;
    use crate::chunk::ChunkOptions;
    use crate::entity::IndexOptions;
    use crate::world::{Universe, World, WorldError};

    #[test]
    fn there_is_a_number_for_each_world_and_then_none() {
        // One whose memory no other takes over, with the numbers that are not given back here.
        let universe = Universe::with(&IndexOptions::new(), &ChunkOptions::new());
        let universe = Arc::new(universe.unwrap());
        let numbers = (0..WORLDS).map(|_| universe.add_world().unwrap());
        assert!(numbers.eq(0..u16::MAX));
        let refused = World::of(&universe).map(drop).unwrap_err();
        assert_eq!(refused, WorldError::TooManyWorlds);
        universe.remove_world(777);
        let world = World::of(&universe).unwrap();
        assert_eq!(world.number, 777);
        assert!(World::of(&universe).is_err());
        drop(world);
        assert_eq!(universe.add_world(), Some(777));
    }
}
