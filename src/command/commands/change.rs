//! What a recorder changes of entities that are there when the turn of the command comes.

use crate::command::Commands;
use crate::entity::Entity;
use crate::fragment::{Bundle, Fragment, SharedFragment};
use crate::world::WorldError;

impl Commands<'_> {
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

    /// Records that an entity loses fragments; those that it does not have do not matter. What is shared, or the chunk's, goes by
    /// its role:
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,).const_shared("worker"))?;
    /// let mut commands = world.commands();
    /// commands.remove::<ConstShared<&str>>(ant)?;
    /// commands.add(ant, ().const_shared("queen"))?;
    /// drop(commands);
    /// assert!(world.flush().is_clean());
    /// assert_eq!(world.const_shared::<&str>(ant)?, &"queen");
    /// # Ok::<(), WorldError>(())
    /// ```
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

    /// Records that a fragment of an entity is switched off or on, as
    /// [`World::set_enabled`](crate::world::World::set_enabled) does. If the entity does not have the fragment when the command's turn comes, nothing happens, as for
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
}
