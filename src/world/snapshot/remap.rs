//! Worlds come out of a file into a universe where others live: their entities get new ids.

use std::path::Path;
use std::sync::Arc;

use crate::archetype::Universe;
use crate::entity::{Entity, EntityMap, Place};
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::load::{Mapped, bring_worlds};
use crate::world::snapshot::read::Saved;
use crate::world::{World, WorldError};

impl World {
    /// Loads a world that was [saved](Self::save) into a universe that is in use: all its entities come with new ids,
    /// and what has become of whom is told. So the same file can be loaded many times, and by the side of
    /// whatever lives: regions of a large map that come and go, a group of entities that know each other, a second
    /// world like one that there is.
    ///
    /// Handles in values lead to the entities that were meant, where the fragment's type is one that [knows its
    /// handles](crate::fragment::Plain::MAP_ENTITIES): [`Entity`], arrays, and what [`plain!`](crate::plain) makes
    /// plain, in fragments, chunk fragments and shared ones. Those of entities that were not saved become
    /// [`Entity::PLACEHOLDER`]. In a fragment that is [defined](crate::fragment::FragmentRegistry::define_plain) by its
    /// layout alone nobody knows what is a handle: there they stay as they are, and may name others who live now; whoever
    /// defines it changes them, by the map.
    ///
    /// Any thread may load while others use worlds of the same universe: nobody waits, as nobody does for a creation.
    /// [`move_all_to`](Self::move_all_to) then brings what was loaded to another world, whole chunks without a copy. All
    /// that [`load`](Self::load) says of values, order and chunks holds here, too. Shared values that are equal now,
    /// because the entities that they named are gone, are one. In an [ordered](Universe::ordered) universe ids are the
    /// same each time only if no other thread uses it meanwhile.
    ///
    /// O(bytes).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(transparent)]
    /// struct Follows(Entity);
    /// megachunk::plain!(Follows { 0 });
    ///
    /// // A pack of wolves, made once.
    /// let mut wild = World::new();
    /// wild.registry().register_plain::<Follows>()?;
    /// let leader = wild.create(())?;
    /// let _ = wild.create_batch((0..3).map(|_| (Follows(leader),)))?;
    /// let pack = wild.to_snapshot(&Default::default())?;
    ///
    /// // Two of them come to a world where others live, loaded by another thread.
    /// let mut world = World::new();
    /// world.registry().register_plain::<Follows>()?;
    /// let hunter = world.create(())?;
    /// for _ in 0..2 {
    ///     let universe = Arc::clone(world.universe());
    ///     let load = || World::from_snapshot_remapped(&pack, &universe);
    ///     let (mut wolves, entities) = std::thread::scope(|scope| scope.spawn(load).join().unwrap())?;
    ///     let new_leader = entities.get(leader).expect("it was saved");
    ///     assert_eq!(wolves.query::<&Follows, ()>()?.iter().next(), Some(&Follows(new_leader)));
    ///     wolves.move_all_to(&mut world)?;
    /// }
    /// assert_eq!(world.count(), 9);
    /// # assert!(world.exists(hunter));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Source: Unity DOTS, whose scenes are loaded into worlds of their own, with entities remapped, and then moved.
    ///
    /// # Errors
    /// As for [`load`](Self::load), but that the universe may be in use; and if it has not room for as many entities.
    /// There is no world then, and none of the entities.
    pub fn load_remapped(
        path: impl AsRef<Path>,
        universe: &Arc<Universe>,
    ) -> Result<(Self, EntityMap), SnapshotError> {
        let file = Mapped::open(path)?;
        Self::from_snapshot_remapped(file.bytes(), universe)
    }

    /// Makes a world of the bytes that [`to_snapshot`](Self::to_snapshot) gave, as
    /// [`load_remapped`](Self::load_remapped) does of a file.
    ///
    /// # Errors
    /// As for [`load_remapped`](Self::load_remapped).
    pub fn from_snapshot_remapped(
        bytes: &[u8],
        universe: &Arc<Universe>,
    ) -> Result<(Self, EntityMap), SnapshotError> {
        let saved = Saved::read(bytes, universe.registry())?;
        saved.expect_one()?;
        let (mut worlds, entities) = bring_anew(saved, universe)?;
        Ok((worlds.remove(0), entities))
    }

    /// Loads all worlds of a file to which one or several were [saved](Self::save_worlds), in the order in which they
    /// were named there: as [`load_remapped`](Self::load_remapped) does one. Handles from one to another lead there.
    ///
    /// # Errors
    /// As for [`load_remapped`](Self::load_remapped).
    pub fn load_worlds_remapped(
        path: impl AsRef<Path>,
        universe: &Arc<Universe>,
    ) -> Result<(Vec<Self>, EntityMap), SnapshotError> {
        let file = Mapped::open(path)?;
        Self::worlds_from_snapshot_remapped(file.bytes(), universe)
    }

    /// Makes worlds of the bytes that [`worlds_to_snapshot`](Self::worlds_to_snapshot) gave, or
    /// [`to_snapshot`](Self::to_snapshot), as [`load_worlds_remapped`](Self::load_worlds_remapped) does of a file.
    ///
    /// # Errors
    /// As for [`load_remapped`](Self::load_remapped).
    pub fn worlds_from_snapshot_remapped(
        bytes: &[u8],
        universe: &Arc<Universe>,
    ) -> Result<(Vec<Self>, EntityMap), SnapshotError> {
        bring_anew(Saved::read(bytes, universe.registry())?, universe)
    }
}

/// Creates all worlds that are saved, with new ids.
fn bring_anew(
    mut saved: Saved<'_>,
    universe: &Arc<Universe>,
) -> Result<(Vec<World>, EntityMap), SnapshotError> {
    // All before the first value comes, which may name any of them.
    let newborn = Newborn::create(universe, saved.handles.len())?;
    let versions = core::mem::take(&mut saved.versions);
    let entities = EntityMap::of(versions, &saved.handles, &newborn.entities);
    saved.handles.copy_from_slice(&newborn.entities);
    saved.entities = Some(entities);
    let worlds = bring_worlds(&saved, universe)?;
    drop(newborn);
    Ok((worlds, saved.entities.take().unwrap_or_default()))
}

/// Entities that are to get a place in a world. Those that have none die with this.
struct Newborn<'u> {
    universe: &'u Universe,
    entities: Vec<Entity>,
}

impl<'u> Newborn<'u> {
    /// Entities of which nobody can say yet where they lie, and that nobody else can build, or destroy, who guesses
    /// their handles.
    fn create(universe: &'u Universe, count: usize) -> Result<Self, WorldError> {
        let entities = Vec::with_capacity(count);
        let mut newborn = Self { universe, entities };
        for _ in 0..count {
            // As one that is on its way out: it has a place, which is none of any world.
            newborn.entities.push(universe.create_at(Place::LEAVING)?);
        }
        Ok(newborn)
    }
}

impl Drop for Newborn<'_> {
    fn drop(&mut self) {
        let index = self.universe.index();
        self.entities
            .retain(|&entity| index.locate(entity) == Ok(Some(Place::LEAVING)));
        self.universe.kill_slice(&self.entities);
    }
}
