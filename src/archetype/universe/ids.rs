//! What worlds do with the ids of their universe: create, place, kill, bury, and go back to what they were.
//!
//! Must hold: in an ordered universe no thread keeps a free id for itself, and none is free below the word from which on it is
//! looked for. A place is written by the world whose the entity is.

use core::mem::MaybeUninit;

use crate::archetype::directory::{ROWS_PER_CHUNK, place};
use crate::archetype::universe::Universe;
use crate::chunk::Run;
use crate::entity::{Buried, Entity, Full, Place, Rewind, SavedSlots};

impl Universe {
    /// Gives reserved ids back that nobody was told of. Whoever guessed one may have destroyed it; if it was built
    /// meanwhile, it stays: its world relies on it.
    #[cold]
    pub(crate) fn give_back_reserved(&self, entities: &[Entity]) {
        for &entity in entities {
            let _ = self.release(entity);
        }
    }

    /// Creates an entity that lies in a row.
    #[inline(always)]
    pub(crate) fn create_in(&self, run: Run, row: u32) -> Result<Entity, Full> {
        self.create_at(place(run, row))
    }

    /// Creates an entity that has a place.
    #[inline(always)]
    pub(crate) fn create_at(&self, place: Place) -> Result<Entity, Full> {
        if self.ordered {
            return self.create_lowest(Some(place));
        }
        self.index.create_placed(place)
    }

    /// Creates an entity with the lowest free index.
    #[cold]
    #[inline(never)]
    pub(super) fn create_lowest(&self, place: Option<Place>) -> Result<Entity, Full> {
        self.index.create_lowest(&self.lowest, place)
    }

    /// Creates entities with the lowest free indices; if there are too few, those of the first handles are made, so many.
    #[cold]
    #[inline(never)]
    pub(super) fn create_lowest_slice(
        &self,
        out: &mut [MaybeUninit<Entity>],
        first: Option<Place>,
    ) -> Result<(), (usize, Full)> {
        self.index.create_lowest_slice(&self.lowest, out, first)
    }

    /// Creates entities that lie in neighbouring rows from the beginning, and writes their handles; all or
    /// none. Lock-free: any number of threads at once, each with rows of its own.
    ///
    /// To other threads they are entities of whoever's the run is, who is not done with them yet. Only the
    /// caller may destroy them, and so it does if it has to give them back.
    ///
    /// # Safety
    /// Room for `count` handles at `handles`. The rows are the caller's, and belong to nobody else.
    pub(crate) unsafe fn create_rows(
        &self,
        handles: *mut Entity,
        run: Run,
        first: u32,
        count: u32,
    ) -> Result<(), Full> {
        let mut done = 0;
        while done < count {
            // A place names the chunk of the run that the row is in.
            let row = first + done;
            let some = (ROWS_PER_CHUNK - row % ROWS_PER_CHUNK).min(count - done);
            // SAFETY: the caller's; whatever is there is overwritten.
            let out = unsafe {
                let start = handles.add(done as usize).cast::<MaybeUninit<Entity>>();
                core::slice::from_raw_parts_mut(start, some as usize)
            };
            let place = place(run, row);
            let created = match self.ordered {
                false => (self.index.create_placed_slice(out, place)).map_err(|full| (0, full)),
                true => self.create_lowest_slice(out, Some(place)),
            };
            if let Err((more, full)) = created {
                let made = done as usize + more;
                // SAFETY: so many handles were written.
                self.kill_slice(unsafe { core::slice::from_raw_parts(handles, made) });
                return Err(full);
            }
            done += some;
        }
        Ok(())
    }

    /// Says that an entity of the calling world lies in a row now.
    #[inline(always)]
    pub(crate) fn place(&self, entity: Entity, run: Run, row: u32) {
        self.index.set_place(entity, place(run, row));
    }

    /// Destroys an entity of the calling world.
    #[inline(always)]
    pub(crate) fn kill(&self, entity: Entity) {
        if self.ordered {
            return self.kill_at_once(&[entity]);
        }
        self.index.destroy_owned(entity);
    }

    /// Destroys entities of the calling world.
    pub(crate) fn kill_slice(&self, entities: &[Entity]) {
        if self.ordered {
            return self.kill_at_once(entities);
        }
        self.index.destroy_owned_slice(entities);
    }

    #[cold]
    #[inline(never)]
    fn kill_at_once(&self, entities: &[Entity]) {
        let lowest = match *entities {
            [entity] => Some(self.index.destroy_owned_at_once(entity)),
            _ => self.index.destroy_owned_slice_at_once(entities),
        };
        if let Some(lowest) = lowest {
            self.lowest.freed(lowest);
        }
    }

    /// Makes an entity of the calling world dead, for good; its slot stays taken until it is [freed](Self::free).
    #[inline(always)]
    pub(crate) fn bury(&self, entity: Entity, buried: &mut Buried) {
        if !self.index.bury_owned(entity, buried) {
            self.settle_released(entity);
        }
    }

    /// Gives the slots of buried entities back.
    pub(crate) fn free(&self, buried: Buried) {
        if !self.ordered {
            self.index.free_owned(buried);
        } else if let Some(lowest) = self.index.free_owned_at_once(buried) {
            self.lowest.freed(lowest);
        }
    }

    /// After an entity was destroyed the usual way: nothing of it stays with this thread.
    pub(crate) fn settle_released(&self, entity: Entity) {
        if self.ordered {
            self.index.flush();
            (self.lowest).freed(entity.index() / crate::sync::geometry::WORD_BITS);
        }
    }

    /// Copies what stands in the slots of all ids, if the universe is ordered, and if a world whose `living` entities all live
    /// is alone in it.
    pub(crate) fn save_slots(&self, saved: &mut SavedSlots, living: usize) -> bool {
        self.ordered && self.index.save_slots(saved, living)
    }

    /// Claims all slots that are not as they were, if they are this world's or nobody's; else `false`, and nothing is
    /// claimed.
    pub(crate) fn begin_rewind(&self, saved: &SavedSlots, rewind: &mut Rewind, world: u16) -> bool {
        let is_own = |place: Place| {
            place.row() < ROWS_PER_CHUNK && self.directory.owner(place).world() == world
        };
        self.index.begin_rewind(saved, rewind, &self.lowest, is_own)
    }

    /// Makes all slots what they were.
    pub(crate) fn finish_rewind(&self, saved: &SavedSlots, rewind: &mut Rewind) {
        self.index.finish_rewind(saved, rewind, &self.lowest);
    }

    /// What is wrong with the order, if it is an ordered universe and no recorder is open: slots
    /// that a thread keeps for itself, or that are free where nobody would look for them.
    pub(crate) fn out_of_order(&self) -> Option<String> {
        if !self.ordered {
            return None;
        }
        let kept = self.index.kept();
        let lowest = self.lowest.seen().word();
        let passed_by = self.index.first_free_word().filter(|&free| free < lowest);
        match passed_by {
            _ if kept > 0 => Some(format!("threads keep {kept} free slots for themselves")),
            Some(free) => Some(format!(
                "slots of word {free} are free, and are looked for from word {lowest} on"
            )),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_was_guessed_and_built_stays_when_ids_are_given_back() {
        use crate::world::World;

        let universe = std::sync::Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        let mut ids = [Entity::PLACEHOLDER; 3];
        universe.reserve_slice(&mut ids).unwrap();
        world.build(ids[1], ("mine",)).unwrap();
        universe.give_back_reserved(&ids);
        assert_eq!(ids.map(|id| universe.exists(id)), [false, true, false]);
        assert_eq!(world.get::<&str>(ids[1]).unwrap(), &"mine");
        let next = [universe.reserve().unwrap(), universe.reserve().unwrap()];
        assert_eq!(next.map(Entity::index), [ids[0].index(), ids[2].index()]);
        world.destroy(ids[1]).unwrap();
        world.check().unwrap();
    }

    #[test]
    fn threads_fill_chunks_of_their_own_and_every_row_is_found_again() {
        const ROWS: usize = 5_000;
        let universe = Universe::new();
        crate::sync::thread::scope(|scope| {
            for first in [0, 100, 2_047] {
                let universe = &universe;
                scope.spawn(move || {
                    let run = universe.take_chunk(4).expect("there is memory");
                    let mut handles = vec![Entity::PLACEHOLDER; ROWS];
                    // SAFETY: so many handles, and rows of a run that is this thread's.
                    unsafe { universe.create_rows(handles.as_mut_ptr(), run, first, ROWS as u32) }
                        .expect("there are ids");
                    for (&entity, row) in handles.iter().zip(first..) {
                        assert_eq!(universe.index.places().of(entity), Some(place(run, row)));
                    }
                    universe.kill_slice(&handles);
                    assert!(!handles.iter().any(|&entity| universe.exists(entity)));
                    // SAFETY: taken above, and used no more.
                    unsafe { universe.give_chunk(run) };
                });
            }
        });
        assert_eq!(universe.count(), 0);
    }
}
