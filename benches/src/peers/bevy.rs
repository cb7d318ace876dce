//! `bevy_ecs` 0.20: a world behind a `RwLock`, and its remote allocator for reserving.
//!
//! Its allocator alone frees ids without looking whether they are alive; the check is the world's.
//! So ids are created and destroyed through the world, as entities without components. Only
//! `reserve` goes round it: that is what the remote allocator is for.

use std::iter;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use bevy_ecs::entity::{Entity, RemoteAllocator};
use bevy_ecs::world::World;
use megachunk::cli::workload::id::{Abilities, IdContender, IdSession};

/// A locked world, and the way to its ids without the lock.
pub(crate) struct Bevy {
    world: RwLock<World>,
    remote: RemoteAllocator,
}

impl IdContender for Bevy {
    type Id = Entity;
    type Session<'a> = Session<'a>;

    const NAME: &'static str = "bevy_ecs";
    const ABILITIES: Abilities = Abilities {
        batches: true,
        exists: true,
        places: false,
        limit: None,
    };

    fn fresh() -> Self {
        let world = World::new();
        Self {
            remote: world.entity_allocator().build_remote_allocator(),
            world: RwLock::new(world),
        }
    }

    fn session(&self) -> Session<'_> {
        Session {
            world: &self.world,
            reading: None,
            remote: self.remote.clone(),
        }
    }

    fn placeholder() -> Entity {
        Entity::PLACEHOLDER
    }

    #[inline(always)]
    fn to_bits(entity: Entity) -> u64 {
        entity.to_bits()
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Entity {
        Entity::from_bits(bits)
    }
}

/// A thread's own remote allocator, and the world for all else. Keeps the right to read from the first call that needs no
/// more to the next one that does.
pub(crate) struct Session<'a> {
    world: &'a RwLock<World>,
    reading: Option<RwLockReadGuard<'a, World>>,
    remote: RemoteAllocator,
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
        self.write().spawn_empty().id()
    }

    #[inline(always)]
    fn destroy(&mut self, entity: Entity) -> bool {
        self.write().try_despawn(entity).is_ok()
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
            .filter(|&&entity| world.try_despawn(entity).is_ok());
        died.count()
    }

    #[inline(always)]
    fn reserve(&mut self) -> Entity {
        self.remote.alloc()
    }

    fn release(&mut self, entity: Entity) -> bool {
        self.write().entity_allocator_mut().free(entity);
        true
    }

    #[inline(always)]
    fn exists(&mut self, entity: Entity) -> bool {
        self.read().entities().contains_spawned(entity)
    }

    fn flush(&mut self) {
        self.reading = None;
    }
}
