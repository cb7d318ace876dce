//! `hecs` 0.11: a world behind a `RwLock`; reserving needs only the right to read.
//!
//! Its table of entities is private to the world, so ids are entities without components.

use std::iter;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use hecs::{Entity, World};
use megachunk::cli::workload::id::{Abilities, IdContender, IdSession};

/// A locked world.
pub(crate) struct Hecs(RwLock<World>);

impl IdContender for Hecs {
    type Id = Entity;
    type Session<'a> = Session<'a>;

    const NAME: &'static str = "hecs";
    const ABILITIES: Abilities = Abilities {
        batches: true,
        exists: true,
        places: false,
        limit: None,
    };

    fn fresh() -> Self {
        Self(RwLock::new(World::new()))
    }

    fn session(&self) -> Session<'_> {
        Session {
            world: &self.0,
            reading: None,
        }
    }

    fn placeholder() -> Entity {
        Entity::DANGLING
    }

    #[inline(always)]
    fn to_bits(entity: Entity) -> u64 {
        entity.to_bits().get()
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Entity {
        Entity::from_bits(bits).expect("the bits of an entity")
    }
}

/// Keeps the right to read from the first call that needs no more to the next one that does.
pub(crate) struct Session<'a> {
    world: &'a RwLock<World>,
    reading: Option<RwLockReadGuard<'a, World>>,
}

impl<'a> Session<'a> {
    #[inline(always)]
    fn read(&mut self) -> &World {
        let world = self.world;
        self.reading
            .get_or_insert_with(|| world.read().expect("nobody panics under this lock"))
    }

    #[inline(always)]
    fn write(&mut self) -> RwLockWriteGuard<'a, World> {
        self.reading = None;
        self.world.write().expect("nobody panics under this lock")
    }
}

impl IdSession for Session<'_> {
    type Id = Entity;

    #[inline(always)]
    fn create(&mut self) -> Entity {
        self.write().spawn(())
    }

    #[inline(always)]
    fn destroy(&mut self, entity: Entity) -> bool {
        self.write().despawn(entity).is_ok()
    }

    fn create_slice(&mut self, out: &mut [Entity]) {
        let mut world = self.write();
        let spawned = world.spawn_batch(iter::repeat_n((), out.len()));
        for (out, entity) in out.iter_mut().zip(spawned) {
            *out = entity;
        }
    }

    fn destroy_slice(&mut self, entities: &[Entity]) -> usize {
        let mut world = self.write();
        let died = entities
            .iter()
            .filter(|&&entity| world.despawn(entity).is_ok());
        died.count()
    }

    #[inline(always)]
    fn reserve(&mut self) -> Entity {
        self.read().reserve_entity()
    }

    #[inline(always)]
    fn exists(&mut self, entity: Entity) -> bool {
        self.read().contains(entity)
    }

    fn flush(&mut self) {
        self.reading = None;
    }
}
