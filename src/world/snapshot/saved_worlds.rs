//! `SavedWorlds`: which worlds are saved together, so that the directory says at once whether an entity is in the file.
//!
//! Must hold: the worlds are of one universe, each there once, and end after this: no other has one of their numbers.

use std::sync::Arc;

use crate::entity::Entity;
use crate::world::World;
use crate::world::snapshot::SnapshotError;

const WORD_BITS: usize = u64::BITS as usize;

/// Worlds of one universe.
pub(super) struct SavedWorlds<'w> {
    /// `None`: there are none.
    first: Option<&'w World>,
    /// A bit for each number of a world of the universe, up to the last one that is saved.
    numbers: Vec<u64>,
}

impl<'w> SavedWorlds<'w> {
    /// O(worlds + numbers of worlds / 64).
    pub(super) fn of(worlds: &[&'w World]) -> Result<Self, SnapshotError> {
        let mut saved = Self {
            first: worlds.first().copied(),
            numbers: Vec::new(),
        };
        for world in worlds {
            if !Arc::ptr_eq(world.universe(), worlds[0].universe()) {
                return Err(SnapshotError::OtherUniverse);
            }
            if !saved.add(world.number) {
                return Err(SnapshotError::WorldTwice);
            }
        }
        Ok(saved)
    }

    /// Whether it was not there.
    fn add(&mut self, number: u16) -> bool {
        let (word, bit) = place(number);
        if word >= self.numbers.len() {
            self.numbers.resize(word + 1, 0);
        }
        let before = self.numbers[word];
        self.numbers[word] |= bit;
        before & bit == 0
    }

    /// Whether an entity is built in one of them: who is not is dead where they are loaded. O(1).
    pub(super) fn have(&self, entity: Entity) -> bool {
        let world_of = |world: &World| world.finder().world_of(entity);
        self.first.and_then(world_of).is_some_and(|number| {
            let (word, bit) = place(number);
            self.numbers.get(word).is_some_and(|word| word & bit != 0)
        })
    }
}

/// The word of a number, and its bit there.
fn place(number: u16) -> (usize, u64) {
    let number = usize::from(number);
    (number / WORD_BITS, 1 << (number % WORD_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archetype::Universe;

    #[test]
    fn the_saved_worlds_have_who_is_built_in_one_of_them() {
        let universe = Arc::new(Universe::new());
        // More than a word of bits has.
        let mut worlds: Vec<World> = (0..150).map(|_| World::of(&universe).unwrap()).collect();
        let (mut built, mut others) = (Vec::new(), Vec::new());
        for (n, world) in (0_u32..).zip(&mut worlds) {
            let [dead, lives] = [(); 2].map(|()| world.create((n,)).unwrap());
            world.destroy(dead).unwrap();
            built.push(lives);
            others.extend([dead, world.reserve().unwrap()]);
            others.push(world.commands().create((n,)).unwrap());
        }
        // The first goes from a world whose number is in one word of bits to one whose is in another.
        let (low, high) = worlds.split_at_mut(100);
        low[0].move_to(&mut high[0], built[0]).unwrap();
        built.swap(0, 100);
        high[0].move_to(&mut low[0], built[0]).unwrap();
        for step in [1, 2, 3, 100, 150] {
            let saved: Vec<&World> = worlds.iter().step_by(step).collect();
            let together = SavedWorlds::of(&saved).unwrap();
            for (n, &entity) in built.iter().enumerate() {
                assert_eq!(
                    together.have(entity),
                    n % step == 0,
                    "world {n}, each {step}"
                );
            }
            assert!(!others.iter().any(|&entity| together.have(entity)));
        }
        let none = SavedWorlds::of(&[]).unwrap();
        assert!(!built.iter().any(|&entity| none.have(entity)));
    }
}
