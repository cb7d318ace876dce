//! `Commands`: a recorder.

use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::command::RecordedBatch;
use crate::command::lane::{Called, Lane};
use crate::command::precedence::Precedence;
use crate::command::queue::Queue;
use crate::command::stripes::{Ids, Stripe};
use crate::command::turn::Turn;
use crate::entity::Entity;
use crate::fragment::{
    Bundle, Fragment, FragmentInfo, FragmentRegistry, FragmentRole, Shared, SharedFragment,
};
use crate::query::{QueryError, QueryFilter, Requirements};
use crate::sync::pool::Lent;
use crate::world::{Group, Prototype, World, WorldError};

/// Records changes of a world, on any thread, while the world is read, queried or changed by others; the
/// next [flush](World::flush) applies them.
///
/// What is *created* lives at once: its handle is a real one, its values lie where they will stay
/// (of few, or where the world has many free rows, the flush moves them once), and [`get`](Self::get)
/// and [`get_mut`](Self::get_mut) reach them; the flush makes it part of the world. All else is
/// recorded: four bytes a command, eight for its entity unless the command before was for the same
/// one, and the values. It is applied in this order: what has waited for its entity, then what a flush
/// has left to the next one, then the rest. Within each of these, recorders of processors come in the
/// processors' order, and before all others; those of one processor, or of none, by sort key, those
/// with the same key by when they were opened; the commands of one recorder as they were recorded.
/// Last write wins; what follows a `destroy` of the same entity is dropped. A const shared value that an
/// entity has gives way to another only if it was removed before; of several that come to one in the
/// same flush the last counts, as of all values.
///
/// Dropped, the recorder hands its commands to the world. One that is still open when the world is
/// flushed keeps them for a later flush (and the report
/// [says](crate::command::FlushReport::open) that there was one). Forgotten
/// ([`mem::forget`](core::mem::forget)), it keeps them as long as the world lives.
///
/// What was handed over before a flush begins comes with that flush, with one exception. Between
/// two flushes a thread's first two recorders have memory of their own, and all later ones go on in
/// that of one of these. So one of the later ones that is open when a flush begins, or is being
/// opened then, holds back what lies in its memory, until the first flush after it is dropped. Who
/// opens after that flush has begun holds nothing back from before it, so that a thread which has
/// one short recorder after the other is at most one flush late. But one that stays open for long
/// makes what it holds back late, and one that is forgotten takes it with it as long as the world
/// lives: a thread with more than two recorders between two flushes is to drop each soon. (Threads
/// share memory where more than thirty record, or one has left what more than sixty recorded that
/// were open together.)
///
/// A handle may be given to other threads at once. What they record for it can come to a flush
/// before its entity does, as long as the recorder that created it is open, or if that is held back:
/// then it [waits](crate::command::FlushReport::carried) for the next flush.
///
/// Recording is lock-free and, once its memory is there, allocates nothing but a chunk now and then; what is shared, a
/// chunk's, or known at run time only, comes in a box and costs some allocations each time. The memory serves the next
/// recorder; [`World::trim`] gives it back. To it belongs a chunk for each composition of what is created, which waits for
/// the next ones of that: 16 KiB where rows are not large, for up to 1,024 compositions in each recorder's memory, of which
/// there are two a thread as a rule. (With more of them than that, a flush gives all of that memory's back.) More than 4
/// billion commands in one recorder's memory, or of one type there, panic when they are recorded. (A flush of more takes
/// several batches.)
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Fuel(u32);
/// struct Smoke;
///
/// let mut world = World::new();
/// let rocket = world.create((Fuel(2),))?;
/// let commands = world.parallel_commands();
/// let mut commands = commands.open();
/// world.query::<(Entity, &mut Fuel), ()>()?.for_each(|(entity, fuel)| {
///     fuel.0 -= 1;
///     let puff = commands.create((Smoke,)).unwrap();
///     commands.add(puff, (1.5_f32,)).unwrap();
///     if fuel.0 < 2 {
///         commands.destroy(entity);
///     }
/// });
/// drop(commands);
/// let report = world.flush();
/// assert_eq!((report.created, report.destroyed), (1, 1));
/// assert!(!world.exists(rocket));
/// assert_eq!(world.query::<&f32, With<Smoke>>()?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A recorder is of one thread. In a parallel loop each thread opens its own, by
/// [`ParallelCommands`](crate::command::ParallelCommands):
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// processor("burn", |mut burnt: QueryRun<(Entity, &u8)>, mut commands: Commands| {
///     burnt.par_for_each(|(entity, _)| {
///         commands.destroy(entity);
///     });
/// });
/// ```
///
/// A processor takes it by value, as it does all that is no resource:
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// processor("burn", |commands: &mut Commands| {});
/// ```
///
/// Sources: Unity DOTS' entity command buffer (sort keys), Unreal Mass' deferred commands; the order is
/// neither's.
#[doc(alias = "EntityCommandBuffer")]
#[doc(alias = "CommandBuffer")]
pub struct Commands<'q> {
    /// The first field, because the compiler speaks of the first that is not `Sync`.
    _of_one_thread: PhantomData<dyn ParallelLoopsRecordByParallelCommands>,
    pub(super) queue: &'q Queue,
    pub(super) lane: Lent<'q, Lane>,
    pub(super) precedence: Precedence,
    pub(super) ids: Ids<'q>,
}

/// The compiler names this where somebody takes a recorder into a parallel loop: it is of one thread, and so not `Sync`,
/// and each thread opens its own by [`ParallelCommands`](crate::command::ParallelCommands).
trait ParallelLoopsRecordByParallelCommands: Send + Unpin + UnwindSafe + RefUnwindSafe {}

impl World {
    /// Opens a recorder. Any thread, lock-free.
    #[must_use]
    #[doc(alias = "defer")]
    pub fn commands(&self) -> Commands<'_> {
        let source = self.ranks.alone();
        Queue::of(self).open(Precedence::OUTSIDE, source, Precedence::MIDDLE, None)
    }
}

impl<'q> Commands<'q> {
    /// The recorder of a processor.
    pub(crate) fn of_turn(world: &'q World, turn: Turn<'q>) -> Self {
        // As the world's own, where it is for none.
        let striped = turn.stripes.filter(|_| turn.rank != Precedence::OUTSIDE);
        let stripe = striped.map(|stripes| stripes.stripe_among(turn.pieces(), 0));
        Queue::of(world).open(turn.rank, turn.source, Precedence::MIDDLE, stripe)
    }

    pub(super) fn new(
        queue: &'q Queue,
        lane: Lent<'q, Lane>,
        precedence: Precedence,
        stripe: Option<Stripe<'q>>,
    ) -> Self {
        Self {
            _of_one_thread: PhantomData,
            queue,
            lane,
            precedence,
            ids: Ids {
                stripe,
                by_chance: 0,
            },
        }
    }

    /// Creates an entity, at once: see [above](Self). O(fragments), lock-free.
    ///
    /// # Errors
    /// As for [`World::create`].
    ///
    /// # Panics
    /// If the `eq` or `hash` of a shared value panics; then there is no new entity. If the `drop` of a
    /// [template](Bundle::per_chunk) panics that comes too late; then it is there.
    // Always: a bundle that is built where it is called for goes to its columns by way of registers, not of memory.
    #[inline(always)]
    #[doc(alias = "spawn")]
    pub fn create<B: Bundle>(&mut self, bundle: B) -> Result<Entity, WorldError> {
        self.lane.create(bundle, &mut self.ids)
    }

    /// Creates an entity for each bundle, in order, at once. O(entities × fragments), lock-free.
    ///
    /// All or none: if ids or memory run out, or if the iterator panics, those that were made are gone again.
    ///
    /// # Errors
    /// As for [`World::create`].
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
    /// As for [`World::create_copies`].
    ///
    /// # Panics
    /// If a `clone` does, or, for shared values that this recorder's memory does not know yet, an `eq`.
    #[inline]
    #[doc(alias = "instantiate")]
    #[doc(alias = "spawn_prefab")]
    pub fn create_copy(&mut self, prototype: &Prototype) -> Result<Entity, WorldError> {
        self.lane.create_copy(prototype, &mut self.ids)
    }

    /// Creates `count` copies of a prototype, in order, at once: [`create_copy`](Self::create_copy) of many.
    /// O(values), a chunk at a time: columns are filled one after the other, plain values by wide stores. Lock-free.
    ///
    /// All or none: if ids or memory run out, or if a `clone` panics, those that were made are gone again. After the
    /// flush the world is as [`World::create_copies`] would have made it.
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
    /// As for [`World::create_copies`].
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
    /// [`World::create_copies_with`]. Fragments that the prototype lacks are added to the copies. What entities have
    /// together is the prototype's: a bundle with shared values or chunk fragments does not compile here.
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
    /// As for [`World::create_copies_with`].
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
    /// then, as [`World::create_groups`] leads them over. O(values), lock-free.
    ///
    /// All or none: if ids or memory run out, or if a `clone`, or what leads a value over, panics, those that were made are
    /// gone again.
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
    /// As for [`World::create_copies`].
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
    /// # Errors
    /// As for [`World::build`].
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

    /// The fragments that its world's universe knows: what values are made with whose types are known at run time only.
    /// Wait-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut commands = world.commands();
    /// let legs = Value::new(commands.registry(), 6_u8)?;
    /// let ant = commands.create_dynamic(DynamicBundle::new().with(legs))?;
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.get::<u8>(ant)?, &6);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn registry(&self) -> &'q FragmentRegistry {
        self.queue.registry()
    }

    /// A fragment of an entity that this recorder has created. O(chunks that it has filled).
    ///
    /// # Errors
    /// [`WorldError::Elsewhere`] if it has not, though it may live in this world; [`WorldError::Missing`].
    pub fn get<T: Fragment>(&self, entity: Entity) -> Result<&T, WorldError> {
        let value = self.value::<T>(entity)?;
        // SAFETY: a value of this type in a chunk that only this recorder has.
        Ok(unsafe { &*value })
    }

    /// A fragment of an entity that this recorder has created, to change. O(chunks that it has filled).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn get_mut<T: Fragment>(&mut self, entity: Entity) -> Result<&mut T, WorldError> {
        let value = self.value::<T>(entity)?;
        // SAFETY: as above, and `&mut self` lends nothing else meanwhile.
        Ok(unsafe { &mut *value })
    }

    fn value<T: Fragment>(&self, entity: Entity) -> Result<*mut T, WorldError> {
        let Some((private, row)) = self.lane.find(entity) else {
            // Whether it is dead or somebody else's.
            self.lane.universe.index().locate(entity)?;
            return Err(WorldError::Elsewhere {
                entity,
                world: None,
            });
        };
        let private = &self.lane.privates[private as usize];
        let stream = &self.lane.streams[private.stream() as usize];
        let has = |id| stream.ids.binary_search(&id).is_ok();
        let id = self.registry().of::<T>().map(FragmentInfo::id);
        let Some(id) = id.filter(|&id| has(id)) else {
            return Err(WorldError::missing::<T>(self.registry(), entity, has));
        };
        if size_of::<T>() == 0 {
            return Ok(core::ptr::NonNull::dangling().as_ptr());
        }
        let array = private.chunk.array(stream.draft.offsets(&[id])[0]);
        Ok(array.cast::<T>().wrapping_add(row as usize))
    }

    /// Whether an entity lives, in whatever world, or is reserved. Wait-free.
    #[must_use]
    pub fn exists(&self, entity: Entity) -> bool {
        self.lane.universe.exists(entity)
    }

    /// Records that an entity is destroyed, or released if it is only reserved. If it is dead when the command's turn comes,
    /// the flush's report [counts](crate::command::FlushReport::dead) that, as of all commands.
    #[inline(always)]
    #[doc(alias = "despawn")]
    pub fn destroy(&mut self, entity: Entity) {
        self.lane.destroy(entity);
    }

    /// Records that an entity gets fragments; of those that it has, the new values.
    ///
    /// # Errors
    /// A fragment stands there twice or is too large; the registry is full.
    ///
    /// # Panics
    /// If the `eq` or `hash` of a shared value panics; then nothing is recorded. If the `drop` of a
    /// [template](Bundle::per_chunk) panics whose place the bundle's takes; then it is recorded.
    #[inline(always)]
    #[doc(alias = "insert")]
    pub fn add<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), WorldError> {
        self.lane.change::<(), B>(entity, bundle)
    }

    /// Records that an entity gets a value of one fragment: [`add`](Self::add) of a single one.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    #[inline(always)]
    pub fn set<T: Fragment>(&mut self, entity: Entity, value: T) -> Result<(), WorldError> {
        self.lane.change::<(), (T,)>(entity, (value,))
    }

    /// Records that an entity loses fragments; those that it does not have do not matter.
    ///
    /// # Errors
    /// A fragment stands there twice; the registry is full.
    #[inline(always)]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<(), WorldError> {
        self.lane.change::<B, ()>(entity, ())
    }

    /// Records that an entity loses the fragments of `Gone` and gets those of `come`: what swapping tags is.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    ///
    /// # Panics
    /// As for that.
    #[inline(always)]
    pub fn swap<Gone: Bundle, Come: Bundle>(
        &mut self,
        entity: Entity,
        come: Come,
    ) -> Result<(), WorldError> {
        self.lane.change::<Gone, Come>(entity, come)
    }

    /// Records that an entity gets a shared value.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    ///
    /// # Panics
    /// As for that.
    pub fn set_shared<T: SharedFragment>(
        &mut self,
        entity: Entity,
        value: T,
    ) -> Result<(), WorldError> {
        self.add(entity, ().shared(value))
    }

    /// Records that an entity loses a shared value, the inverse of [`set_shared`](Self::set_shared); if it has none,
    /// nothing happens.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,).shared("red"))?;
    /// world.commands().remove_shared::<&str>(ant)?;
    /// world.flush();
    /// assert!(world.shared::<&str>(ant).is_err());
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`remove`](Self::remove).
    pub fn remove_shared<T: SharedFragment>(&mut self, entity: Entity) -> Result<(), WorldError> {
        self.remove_role::<Shared<T>>(entity)
    }

    /// Records that an entity loses what plays a [role](FragmentRole): a shared value, a const shared one, or a chunk
    /// fragment; if it has none, nothing happens.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,).const_shared("worker"))?;
    /// let mut commands = world.commands();
    /// commands.remove_role::<ConstShared<&str>>(ant)?;
    /// commands.add(ant, ().const_shared("queen"))?;
    /// drop(commands);
    /// assert!(world.flush().is_clean());
    /// assert_eq!(world.const_shared::<&str>(ant)?, &"queen");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`remove`](Self::remove).
    pub fn remove_role<R: FragmentRole>(&mut self, entity: Entity) -> Result<(), WorldError> {
        self.remove::<R::Alone>(entity)
    }

    /// Records that a fragment of an entity is switched off or on, as [`World::set_enabled`] does. If the
    /// entity does not have the fragment when the command's turn comes, nothing happens, as for
    /// [`remove`](Self::remove): a fragment that comes later is on. If it has the fragment without a
    /// switch, because its composition was there before the fragment could be switched, the flush's
    /// report says that this was [refused](crate::command::FlushReport::refused).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Awake;
    ///
    /// let mut world = World::new();
    /// world.registry().register_enableable::<Awake>()?;
    /// let sloth = world.create((Awake,))?;
    /// let mut commands = world.commands();
    /// commands.set_enabled::<Awake>(sloth, false)?;
    /// let cub = commands.create((Awake,))?;
    /// commands.set_enabled::<Awake>(cub, false)?;
    /// commands.set_enabled::<Awake>(cub, true)?;
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.query::<Entity, With<Awake>>()?.iter().collect::<Vec<_>>(), [cub]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::NotEnableable`], also for what nobody has registered.
    #[inline(always)]
    #[doc(alias = "SetComponentEnabled")]
    pub fn set_enabled<T: Fragment>(
        &mut self,
        entity: Entity,
        enabled: bool,
    ) -> Result<(), WorldError> {
        self.lane.switch::<T>(entity, enabled)
    }

    /// Records that a closure gets the world, after all commands before and before all after. It may
    /// record commands, and even flush, also by running a schedule: sixteen flushes deep, the outermost among them. One that
    /// would lie deeper does nothing and says that it is [unfinished](crate::command::FlushReport::unfinished), and from then on so
    /// does every other flush inside the outermost one; those under way do what they have in hand and leave the rest to the
    /// next one.
    /// (If it puts another world in the place of its own, what was to come after it is dropped.)
    ///
    /// What a flush merges and shares out among threads ends before a closure and begins anew behind it: closures are
    /// better recorded one after the other than each between other commands.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut commands = world.commands();
    /// let queen = commands.create((1_u8,))?;
    /// // Entities are named by the world.
    /// commands.defer(move |world| {
    ///     world.set_name(queen, "queen").expect("it was created before");
    /// });
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.find_by_name("queen"), Some(queen));
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn defer(&mut self, run: impl FnOnce(&mut World) + Send + 'static) {
        self.lane.call(|world: &mut World| {
            run(world);
            Called::Closure
        });
    }

    /// The same of a closure that can be refused, which the flush reports then.
    pub(crate) fn defer_checked(
        &mut self,
        run: impl FnOnce(&mut World) -> Result<(), WorldError> + Send + 'static,
    ) {
        self.lane.call(|world: &mut World| match run(world) {
            Ok(()) => Called::Closure,
            Err(error) => Called::Refused(Entity::PLACEHOLDER, error),
        });
    }

    /// Records that all entities are destroyed which a filter matches when its turn comes: after all commands before, so
    /// that what these change counts, and before all after. It is what
    /// [`World::matching`]`::<Filter>()?.`[`destroy`](crate::query::QueryChange::destroy)`()` is then, as a
    /// [closure](Self::defer): of that kind they say what it costs. All has [changed](crate::query::Changed) to it. Entities that
    /// recorders create live at once, and those that a flush has begun with are matched, also where they were recorded
    /// behind this.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Bullet;
    /// struct Wall;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..100).map(|n| (Bullet, n as f32)))?;
    /// world.create((Wall,))?;
    /// let mut commands = world.commands();
    /// commands.destroy_matching::<With<Bullet>>()?;
    /// drop(commands);
    /// assert_eq!(world.flush().destroyed, 100);
    /// assert_eq!(world.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Query::new`](crate::query::Query::new), at once; then nothing is recorded.
    #[doc(alias = "despawn")]
    #[doc(alias = "DestroyEntity")]
    pub fn destroy_matching<Filter: QueryFilter + 'static>(&mut self) -> Result<(), QueryError> {
        Requirements::of_filter::<Filter>(self.lane.universe.registry())?;
        self.lane.call(|world| match world.matching::<Filter>() {
            Ok(matching) => Called::Destroyed(matching.destroy()),
            Err(error) => Called::Refused(Entity::PLACEHOLDER, error.into()),
        });
        Ok(())
    }

    /// Commands that this recorder holds, without what it has created.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lane.recorded()
    }

    /// Whether it holds no command.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for Commands<'_> {
    fn drop(&mut self) {
        if let Some(stripe) = &mut self.ids.stripe {
            stripe.close(&self.lane.universe);
        }
        self.lane.by_chance += self.ids.by_chance;
        self.queue.close(&mut self.lane, self.precedence);
    }
}

impl fmt::Debug for Commands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands")
            .field("sort_key", &self.precedence.key)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
