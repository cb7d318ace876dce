//! What recorders record of fragments that are known at run time only.

use crate::command::Commands;
use crate::entity::Entity;
use crate::fragment::{DynamicBundle, FragmentId};
use crate::world::WorldError;

impl Commands<'_> {
    /// Creates an entity with values whose types are known at run time only, at once. O(fragments), lock-free but for
    /// the allocator.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let health = world.registry().define_plain("health", Layout::new::<u32>())?.id();
    /// let value = |points: u32| Value::from_bytes(world.registry(), health, &points.to_ne_bytes());
    /// let mut commands = world.commands();
    /// let ant = commands.create_dynamic(DynamicBundle::new().with(value(100)?))?;
    /// commands.add_dynamic(ant, DynamicBundle::new().with(value(90)?))?;
    /// let moth = commands.create_dynamic(DynamicBundle::new().with(value(20)?))?;
    /// commands.remove_dynamic(moth, &[health])?;
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.get_dynamic(ant, health)?.plain::<u32>()?, [90]);
    /// assert!(!world.has_dynamic(moth, health)?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`World::create_dynamic`](crate::world::World::create_dynamic).
    ///
    /// # Panics
    /// As for [`create`](Self::create).
    pub fn create_dynamic(&mut self, bundle: DynamicBundle) -> Result<Entity, WorldError> {
        self.lane.create_dynamic(bundle, None, &mut self.ids)
    }

    /// Gives a reserved entity values whose types are known at run time only, at once: [`build`](Self::build), and
    /// what it says of several recorders.
    ///
    /// # Errors
    /// As for [`World::build_dynamic`](crate::world::World::build_dynamic).
    ///
    /// # Panics
    /// As for [`build`](Self::build).
    pub fn build_dynamic(
        &mut self,
        entity: Entity,
        bundle: DynamicBundle,
    ) -> Result<(), WorldError> {
        self.lane
            .create_dynamic(bundle, Some(entity), &mut self.ids)
            .map(|_| ())
    }

    /// Records that an entity gets values whose types are known at run time only; of the fragments that it has, the new
    /// values. O(fragments).
    ///
    /// # Errors
    /// As for [`add`](Self::add); [`FragmentError::OtherUniverse`](crate::fragment::FragmentError::OtherUniverse) for a value
    /// of another universe. The bundle is dropped then.
    ///
    /// # Panics
    /// As for [`add`](Self::add).
    pub fn add_dynamic(&mut self, entity: Entity, bundle: DynamicBundle) -> Result<(), WorldError> {
        self.lane.add_dynamic(entity, bundle)
    }

    /// Records that an entity loses fragments, in the order of their numbers, and gets values, in one move.
    pub(super) fn change_dynamic(
        &mut self,
        entity: Entity,
        gone: &[FragmentId],
        bundle: DynamicBundle,
    ) -> Result<(), WorldError> {
        self.lane.change_dynamic(entity, gone, bundle)
    }

    /// Records that an entity loses fragments that are known at run time only, in whatever role; those that it does not
    /// have do not matter. O(fragments).
    ///
    /// # Errors
    /// [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown),
    /// [`FragmentError::Twice`](crate::fragment::FragmentError::Twice).
    pub fn remove_dynamic(
        &mut self,
        entity: Entity,
        fragments: &[FragmentId],
    ) -> Result<(), WorldError> {
        self.lane.remove_dynamic(entity, fragments)
    }

    /// Records that an entity loses fragments and gets values, in one move, all of them known at run time only:
    /// [`swap`](Self::swap). Those of `gone` that it does not have do not matter. O(fragments).
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let registry = world.registry();
    /// let asleep = registry.define_plain("asleep", Layout::new::<()>())?.id();
    /// let awake = registry.define_plain("awake", Layout::new::<()>())?.id();
    /// let mut commands = world.commands();
    /// let tag = |id| Value::from_bytes(world.registry(), id, &[]);
    /// let bear = commands.create_dynamic(DynamicBundle::new().with(tag(asleep)?))?;
    /// commands.swap_dynamic(bear, &[asleep], DynamicBundle::new().with(tag(awake)?))?;
    /// drop(commands);
    /// world.flush();
    /// assert!(world.has_dynamic(bear, awake)? && !world.has_dynamic(bear, asleep)?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`add_dynamic`](Self::add_dynamic) and [`remove_dynamic`](Self::remove_dynamic). The bundle is dropped
    /// then.
    ///
    /// # Panics
    /// As for [`add`](Self::add).
    pub fn swap_dynamic(
        &mut self,
        entity: Entity,
        gone: &[FragmentId],
        come: DynamicBundle,
    ) -> Result<(), WorldError> {
        self.lane.swap_dynamic(entity, gone, come)
    }

    /// Records a [switch](Self::set_enabled) of a fragment that is known at run time only.
    ///
    /// # Errors
    /// [`WorldError::NotEnableable`]; [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown).
    pub fn set_enabled_dynamic(
        &mut self,
        entity: Entity,
        id: FragmentId,
        enabled: bool,
    ) -> Result<(), WorldError> {
        self.lane.switch_dynamic(entity, id, enabled)
    }
}
