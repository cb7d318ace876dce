//! What a recorder creates: it lives at once.

use crate::command::{Commands, RecordedBatch};
use crate::entity::Entity;
use crate::fragment::Bundle;
use crate::world::{Group, Prototype, WorldError};

impl Commands<'_> {
    /// Creates an entity, at once: see [above](Self). O(fragments), lock-free.
    ///
    /// # Errors
    /// As for [`World::create`](crate::world::World::create).
    ///
    /// # Panics
    /// If the `eq` or `hash` of a shared value panics, or what makes a value that is
    /// [required](crate::fragment::FragmentRegistry::require_with): it is made here, not in the flush; then there is
    /// no new entity. If the `drop` of a [template](Bundle::per_chunk) panics that comes too late; then it is there.
    // Always: a bundle that is built where it is called for goes to its columns by way of registers, not of memory.
    #[inline(always)]
    #[doc(alias = "spawn")]
    pub fn create<B: Bundle>(&mut self, bundle: B) -> Result<Entity, WorldError> {
        self.lane.create(bundle, &mut self.ids)
    }

    /// Creates an entity for each bundle, in order, at once. O(entities × fragments), lock-free.
    ///
    /// Of recording, all or none: if ids or memory run out, or if the iterator panics, those that were made are gone again.
    /// The flush may find room for some of them only: [`World::flush`](crate::world::World::flush) says what becomes of the
    /// others.
    ///
    /// # Errors
    /// As for [`World::create`](crate::world::World::create).
    ///
    /// # Panics
    /// If the iterator panics, or what makes [`create`](Self::create) panic does; there is no new entity then.
    #[doc(alias = "spawn_batch")]
    pub fn create_batch<I>(&mut self, bundles: I) -> Result<RecordedBatch, WorldError>
    where
        I: IntoIterator,
        I::Item: Bundle,
    {
        let bundles = bundles.into_iter();
        let spans = self.lane.create_batch(bundles, &mut self.ids)?;
        Ok(RecordedBatch::new(spans, self))
    }

    /// Creates an entity with clones of a prototype's values, and its shared values, at once. O(fragments), lock-free;
    /// a recorder's memory knows the way of a prototype that was asked for before.
    ///
    /// If a `clone` panics, there is no new entity, and every clone is dropped. Chunk fragments of the prototype are
    /// what the chunks of a new archetype begin with, as for [`per_chunk`](Bundle::per_chunk).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let name = Value::cloneable(world.registry(), String::from("ant"))?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(name))?;
    /// let mut commands = world.commands();
    /// let first = commands.create_copy(&ant)?;
    /// commands.get_mut::<String>(first)?.push_str(" the first");
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.get::<String>(first)?, "ant the first");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`World::create_copies`](crate::world::World::create_copies).
    ///
    /// # Panics
    /// If a `clone` does, what makes a value that is [required](crate::fragment::FragmentRegistry::require_with),
    /// or, for shared values that this recorder's memory does not know yet, an `eq`.
    #[inline]
    #[doc(alias = "instantiate")]
    #[doc(alias = "spawn_prefab")]
    pub fn create_copy(&mut self, prototype: &Prototype) -> Result<Entity, WorldError> {
        self.lane.create_copy(prototype, &mut self.ids)
    }

    /// Creates `count` copies of a prototype, in order, at once: [`create_copy`](Self::create_copy) of many.
    /// O(values), a chunk at a time: columns are filled one after the other, plain values by wide stores. Lock-free.
    ///
    /// Of recording, all or none: if ids or memory run out, or if a `clone` panics, those that were made are gone again.
    /// After a flush that finds room for all, the world is as [`World::create_copies`](crate::world::World::create_copies)
    /// would have made it; [`World::flush`](crate::world::World::flush) says what becomes of those for which there is none.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let name = Value::cloneable(world.registry(), String::from("ant"))?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(name))?;
    /// let nests = world.parallel_commands();
    /// std::thread::scope(|threads| {
    ///     for nest in 0..2 {
    ///         let (nests, ant) = (&nests, &ant);
    ///         threads.spawn(move || nests.open_at(nest).create_copies(ant, 1_000).unwrap());
    ///     }
    /// });
    /// assert_eq!(world.flush().created, 2_000);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`World::create_copies`](crate::world::World::create_copies).
    ///
    /// # Panics
    /// As for [`create_copy`](Self::create_copy).
    pub fn create_copies(
        &mut self,
        prototype: &Prototype,
        count: usize,
    ) -> Result<RecordedBatch, WorldError> {
        let spans = self.lane.create_copies(prototype, count, &mut self.ids)?;
        Ok(RecordedBatch::new(spans, self))
    }

    /// Creates `count` copies of a prototype with fragments that differ from copy to copy: `make` is called for one
    /// after the other, with its number `0..count`, and what it returns stands instead of the prototype's values, which
    /// are not cloned then. It is called on this thread, and may change what it holds, unlike that of
    /// [`World::create_copies_with`](crate::world::World::create_copies_with). Fragments that the prototype lacks are added to
    /// the copies. What entities have together is the prototype's: a bundle with shared values or chunk fragments does not compile here.
    /// [`set_shared`](Self::set_shared) records another shared value for one of them.
    ///
    /// If `make` panics, those that were made are gone again, with all that it has made.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let name = Value::cloneable(world.registry(), String::from("ant"))?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(name))?;
    /// let mut commands = world.commands();
    /// let ants = commands.create_copies_with(&ant, 100, |number| (number as f32 / 2.0,))?;
    /// let ninth = ants.iter(&commands).nth(9).unwrap();
    /// assert_eq!(commands.get::<f32>(ninth)?, &4.5);
    /// assert_eq!(commands.get::<String>(ninth)?, "ant");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`World::create_copies_with`](crate::world::World::create_copies_with).
    ///
    /// # Panics
    /// As for [`create_copy`](Self::create_copy), and if `make` does.
    pub fn create_copies_with<B: Bundle>(
        &mut self,
        prototype: &Prototype,
        count: usize,
        make: impl FnMut(usize) -> B,
    ) -> Result<RecordedBatch, WorldError> {
        let ids = &mut self.ids;
        let spans = self.lane.create_copies_with(prototype, count, ids, make)?;
        Ok(RecordedBatch::new(spans, self))
    }

    /// Creates a copy of a group, at once: who it is, in the order of the members. Handles of members are those of the copy's
    /// then, as [`World::create_groups`](crate::world::World::create_groups) leads them over. O(values), lock-free.
    ///
    /// Of recording, all or none: if ids or memory run out, or if a `clone`, or what leads a value over, panics, those that
    /// were made are gone again. The flush may find room for some of the members only: the others are dead then, and those
    /// that live name them still, as [`World::flush`](crate::world::World::flush) says.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::world::Group;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(transparent)]
    /// struct On(Entity);
    /// megachunk::plain!(On { 0 });
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain::<On>()?;
    /// let hull = world.create(())?;
    /// let tower = world.create((On(hull),))?;
    /// let tank = Group::of(&world, &[hull, tower])?;
    /// let mut commands = world.commands();
    /// let new = commands.create_group(&tank)?;
    /// assert_eq!(commands.get::<On>(new[1])?.0, new[0]);
    /// drop(commands);
    /// assert_eq!(world.flush().created, 2);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`World::create_copies`](crate::world::World::create_copies).
    ///
    /// # Panics
    /// As for [`create_copy`](Self::create_copy), and if what leads a value over does.
    #[doc(alias = "instantiate")]
    pub fn create_group(&mut self, group: &Group) -> Result<Vec<Entity>, WorldError> {
        self.lane.create_group(group, &mut self.ids)
    }

    /// Reserves an id, for [`build`](Self::build). Lock-free.
    ///
    /// # Errors
    /// [`WorldError::Full`].
    pub fn reserve(&mut self) -> Result<Entity, WorldError> {
        Ok(self.ids.create(&self.lane.universe, None)?)
    }

    /// Reserves an id for each place of `out`, for [`build`](Self::build); all or none. Lock-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut pair = [Entity::PLACEHOLDER; 2];
    /// let mut commands = world.commands();
    /// commands.reserve_slice(&mut pair)?;
    /// // Each can name the other before either is built.
    /// commands.build(pair[0], (pair[1],))?;
    /// commands.build(pair[1], (pair[0],))?;
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.get::<Entity>(pair[0])?, &pair[1]);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::Full`]. Then none stays reserved, and `out` holds [placeholders](Entity::PLACEHOLDER).
    pub fn reserve_slice(&mut self, out: &mut [Entity]) -> Result<(), WorldError> {
        Ok(self.ids.reserve_slice(&self.lane.universe, out)?)
    }

    /// Gives a reserved entity its fragments, at once. Lock-free. Of several recorders that build
    /// one entity the first has it, and the others are refused: which one that is, is chance where
    /// they record side by side, in an [ordered](crate::world::Universe::ordered) universe, too.
    ///
    /// What is refused here leaves the entity reserved. If it is the [flush](crate::world::World::flush) that finds no room
    /// for it, it is dead, as others are that recorders have created: it is reserved no more.
    ///
    /// # Errors
    /// As for [`World::build`](crate::world::World::build).
    ///
    /// # Panics
    /// As for [`create`](Self::create): where that leaves no new entity, this one is reserved as before.
    pub fn build<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), WorldError> {
        self.lane
            .create_in_stream(bundle, Some(entity), &mut self.ids)
            .map(|_| ())
    }

    /// Makes a reserved entity a copy of a prototype, at once: [`build`](Self::build), and [`create_copy`](Self::create_copy).
    /// O(values), lock-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let name = Value::cloneable(world.registry(), String::from("ant"))?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(name))?;
    /// let queen = world.reserve()?;
    /// let mut commands = world.commands();
    /// commands.build_copy(queen, &ant)?;
    /// assert_eq!(commands.get::<String>(queen)?, "ant");
    /// drop(commands);
    /// assert!(world.flush().is_clean() && world.is_built(queen));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create_copy`](Self::create_copy) and [`build`](Self::build). The entity is reserved then as before.
    ///
    /// # Panics
    /// As for [`create_copy`](Self::create_copy); the entity is reserved then as before.
    pub fn build_copy(&mut self, entity: Entity, prototype: &Prototype) -> Result<(), WorldError> {
        self.lane.build_copy(entity, prototype, &mut self.ids)
    }
}
