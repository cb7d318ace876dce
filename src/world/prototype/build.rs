//! A reserved entity becomes a copy of a prototype.

use core::iter::empty;

use super::Prototype;
use super::fill::{Plan, Target};
use crate::archetype::Row;
use crate::chunk::Run;
use crate::entity::Entity;
use crate::panics::{Panicked, note, resume};
use crate::world::bundles::Completed;
use crate::world::taken::TakenIn;
use crate::world::watch::{CREATED, SET};
use crate::world::{World, WorldError};

impl World {
    /// Gives a reserved entity clones of a prototype's values, and its shared values: what [`build`](Self::build) does
    /// with a bundle. O(values), and one read-modify-write on the entity's slot.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let name = Value::cloneable(world.registry(), String::from("ant"))?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(name))?;
    /// // Others can name it before it is there.
    /// let queen = world.reserve()?;
    /// let nest = world.create((queen,))?;
    /// world.build_copy(queen, &ant)?;
    /// assert_eq!(world.get::<String>(*world.get::<Entity>(nest)?)?, "ant");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create_copies`](Self::create_copies) and [`build`](Self::build). The entity is reserved then as before.
    ///
    /// # Panics
    /// If a `clone` does: the entity is reserved then as before. If an observer does, which is told of it: it is built.
    pub fn build_copy(&mut self, entity: Entity, prototype: &Prototype) -> Result<(), WorldError> {
        // Before users' code runs for it.
        if self.universe.index().locate(entity)?.is_some() {
            return Err(WorldError::AlreadyBuilt { entity });
        }
        self.copy_with(prototype, |world, run, row| {
            world.place_reserved(entity, run, row)?;
            world.births += 1;
            Ok(entity)
        })?;
        Ok(())
    }

    /// Makes one copy. When its values are there, `place` gives the row an entity.
    pub(super) fn copy_with(
        &mut self,
        prototype: &Prototype,
        place: impl FnOnce(&mut Self, Run, u32) -> Result<Entity, WorldError>,
    ) -> Result<Entity, WorldError> {
        prototype.refuse_foreign(self.registry())?;
        let taken = self.take_in_copies(prototype);
        self.sharing_told(taken, |world, shared| {
            let bundle = world.bundles.number_of(&prototype.ids);
            let completed = world.bundle_numbered(bundle)?;
            let archetype = completed.archetype;
            let group = world.group_of(archetype, &TakenIn::key(shared));
            let row = world.room(archetype, group)?;
            world.fill_copy(prototype, completed, row, place)
        })
    }

    /// Fills an empty row behind a chunk's last with clones, and then gives it to an entity; what observers
    /// have panicked with. If that is refused, or a `clone` panics, the row is empty again.
    fn fill_copy(
        &mut self,
        prototype: &Prototype,
        Completed { archetype, fills }: Completed,
        row: Row,
        place: impl FnOnce(&mut Self, Run, u32) -> Result<Entity, WorldError>,
    ) -> Result<(Entity, Panicked), WorldError> {
        let data = &self.archetypes[archetype as usize];
        let chunk = &data.chunks[row.chunk as usize];
        let to = Target {
            chunk,
            first: row.row,
            count: 1,
            past: false,
        };
        let run = chunk.run;
        let plan = Plan::new(data, prototype, empty(), fills);
        // SAFETY: a row behind the chunk's last, which holds no values.
        let mut panicked = unsafe { plan.fill(&to, 0) };
        if panicked.is_some() {
            self.abandon(archetype, row.chunk);
            resume(panicked);
            unreachable!("a clone has panicked");
        }
        let entity = match place(self, run, row.row) {
            Ok(entity) => entity,
            Err(refused) => {
                let data = &self.archetypes[archetype as usize];
                // SAFETY: just filled, and nobody has seen it.
                panicked = unsafe { data.drop_rows(row.chunk, row.row, 1) };
                self.abandon(archetype, row.chunk);
                resume(panicked);
                return Err(refused);
            }
        };
        let chunk = &self.archetypes[archetype as usize].chunks[row.chunk as usize];
        // SAFETY: the row's.
        unsafe { chunk.handles().add(row.row as usize).write(entity) };
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        data.grown(row.chunk, 1, version);
        let mut told = None;
        if data.watched & (CREATED | SET) != 0 {
            note(&mut told, || self.tell_created(archetype, row));
        }
        Ok((entity, told))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::archetype::scarce::Scarce;
    use crate::counted::{Counted, FUSE};
    use crate::entity::EntityFault;
    use crate::fragment::{DynamicBundle, FragmentRegistry, Value};
    use crate::observer::Observed;
    use crate::prelude::Universe;

    /// A prototype with values in every role, the number of whose copies' values is known.
    fn ant(registry: &FragmentRegistry, alive: &Arc<AtomicUsize>) -> Prototype {
        let values = DynamicBundle::new()
            .with(Value::cloneable(registry, Counted::new(alive)).unwrap())
            .with(Value::cloneable(registry, (Counted::new(alive), 7_u64)).unwrap())
            .with(Value::cloneable(registry, 3_u8).unwrap())
            .with(Value::shared(registry, String::from("red")).unwrap())
            .with(Value::per_chunk(registry, 'c').unwrap());
        Prototype::new(registry, values).unwrap()
    }

    type Way = fn(&mut World, Entity, &Prototype) -> Result<(), WorldError>;

    /// A copy is built in one of these ways: at once, or by a recorder.
    const WAYS: [Way; 2] = [
        |world, entity, prototype| world.build_copy(entity, prototype),
        |world, entity, prototype| {
            let mut commands = world.commands();
            let built = commands.build_copy(entity, prototype);
            drop(commands);
            assert!(world.flush().is_clean());
            built
        },
    ];

    #[test]
    fn a_reserved_entity_becomes_a_copy_with_the_values_of_every_role() {
        for way in WAYS {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::new();
            let ant = ant(world.registry(), &alive);
            // More than a chunk, beside others that are created.
            for count in 1..=2_000 {
                let entity = world.reserve().unwrap();
                way(&mut world, entity, &ant).unwrap();
                assert!(world.is_built(entity));
                assert_eq!(alive.load(Ordering::Relaxed), 2 + 2 * count);
                assert_eq!(world.get::<(Counted, u64)>(entity).unwrap().1, 7);
                assert_eq!(world.get::<u8>(entity).unwrap(), &3);
                assert_eq!(world.shared::<String>(entity).unwrap(), "red");
                assert_eq!(world.chunk_fragment::<char>(entity).unwrap(), &'c');
            }
            assert_eq!(world.archetypes().len(), 1);
            world.check().unwrap();
            assert_eq!(world.clear(), 2_000);
            drop(ant);
            assert_eq!(alive.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn who_is_not_reserved_is_refused_before_anything_is_cloned() {
        for way in WAYS {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::new();
            let ant = ant(world.registry(), &alive);
            let built = world.create((1_u8,)).unwrap();
            let dead = world.create((1_u8,)).unwrap();
            world.destroy(dead).unwrap();
            FUSE.set(1);
            let error = way(&mut world, built, &ant).unwrap_err();
            assert!(matches!(error, WorldError::AlreadyBuilt { entity } if entity == built));
            let error = way(&mut world, dead, &ant).unwrap_err();
            assert!(
                matches!(error, WorldError::Entity(error) if error.fault != EntityFault::NeverCreated)
            );
            FUSE.set(0);
            let entity = world.reserve().unwrap();
            let foreign = self::ant(World::new().registry(), &alive);
            let error = way(&mut world, entity, &foreign).unwrap_err();
            assert!(matches!(error, WorldError::OtherUniverse));
            world.release(entity).unwrap();
            assert_eq!((world.count(), alive.load(Ordering::Relaxed)), (1, 4));
            world.check().unwrap();
        }
    }

    #[test]
    fn whichever_clone_panics_the_entity_is_reserved_as_before() {
        for way in WAYS {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::new();
            let ant = ant(world.registry(), &alive);
            let entity = world.reserve().unwrap();
            for call in 1..=2 {
                FUSE.set(call);
                catch_unwind(AssertUnwindSafe(|| way(&mut world, entity, &ant))).unwrap_err();
                FUSE.set(0);
                assert!(world.flush().is_clean());
                assert_eq!(alive.load(Ordering::Relaxed), 2, "clone {call}");
                assert!(world.exists(entity) && !world.is_built(entity));
                world.check().unwrap();
            }
            way(&mut world, entity, &ant).unwrap();
            assert_eq!((world.count(), alive.load(Ordering::Relaxed)), (1, 4));
            world.check().unwrap();
        }
    }

    #[test]
    fn without_memory_it_is_refused_and_reserved_as_before() {
        for way in WAYS {
            let mut scarce = Scarce::new();
            let universe = Arc::clone(&scarce.universe);
            let mut world = World::of(&universe).unwrap();
            let alive = Arc::new(AtomicUsize::new(0));
            let ant = ant(universe.registry(), &alive);
            let entity = world.reserve().unwrap();
            scarce.leave(0);
            let error = way(&mut world, entity, &ant).unwrap_err();
            assert!(matches!(error, WorldError::Chunk(_)), "{error}");
            world.check().unwrap();
            assert!(world.exists(entity) && !world.is_built(entity));
            assert_eq!(alive.load(Ordering::Relaxed), 2);
            scarce.leave(4);
            way(&mut world, entity, &ant).unwrap();
            assert_eq!(world.shared::<String>(entity).unwrap(), "red");
        }
    }

    #[test]
    fn observers_see_it_once_with_all_values() {
        for way in WAYS {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::new();
            let ant = ant(world.registry(), &alive);
            world.resources_mut().insert(Vec::<(Entity, u8)>::new());
            let seen = |batch: &mut crate::observer::ObservedBatch<'_>,
                        _: &mut crate::command::Commands<'_>| {
                let mut all = Vec::new();
                batch
                    .for_each::<(Entity, &u8)>(|(entity, &n)| all.push((entity, n)))
                    .unwrap();
                let seen = batch.resources_mut().get_mut::<Vec<(Entity, u8)>>();
                seen.unwrap().extend(all);
            };
            world.observe::<u8, ()>(Observed::CREATE, seen).unwrap();
            let entity = world.reserve().unwrap();
            way(&mut world, entity, &ant).unwrap();
            let seen = world.resources().get::<Vec<(Entity, u8)>>().unwrap();
            assert_eq!(seen, &[(entity, 3)]);
        }
    }

    #[test]
    fn of_two_worlds_and_their_recorders_one_builds_it() {
        let universe = Arc::new(Universe::new());
        let alive = Arc::new(AtomicUsize::new(0));
        let ant = ant(universe.registry(), &alive);
        let mut worlds = [(); 4].map(|()| World::of(&universe).unwrap());
        for round in 0..200 {
            let entity = worlds[0].reserve().unwrap();
            let built = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for (number, world) in worlds.iter_mut().enumerate() {
                    let (built, ant) = (&built, &ant);
                    scope.spawn(move || match WAYS[number % 2](world, entity, ant) {
                        Ok(()) => _ = built.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert!(matches!(error, WorldError::AlreadyBuilt { .. }));
                        }
                    });
                }
            });
            assert_eq!(built.load(Ordering::Relaxed), 1);
            assert_eq!(alive.load(Ordering::Relaxed), 2 * (round + 2));
            let homes = worlds.iter().filter(|world| world.is_built(entity));
            assert_eq!(homes.count(), 1);
        }
        worlds.iter().for_each(|world| world.check().unwrap());
    }
}
