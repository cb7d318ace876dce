//! `EntityView`: one entity of a world, looked up once.

use crate::archetype::{Row, read_bit};
use crate::entity::Entity;
use crate::fragment::{
    Bundle, Fragment, FragmentId, FragmentInfo, FragmentSet, SharedFragment, TakeBundle,
    TypeInRole, Values,
};
use crate::world::{Version, World, WorldError};

/// One entity of a world, to be read: it is looked up once for all of its fragments.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let ant = world.create((2.5_f32, "busy"))?;
/// let view = world.entity(ant)?;
/// assert_eq!((view.get::<f32>()?, view.find::<u8>()), (&2.5, None));
/// assert!(view.get::<u8>().is_err());
/// println!("{view}"); // 0v1: f32, &str
/// println!("{view:#}"); // and the values, a line for each
/// # Ok::<(), WorldError>(())
/// ```
#[derive(Clone, Copy)]
pub struct EntityView<'w> {
    pub(super) world: &'w World,
    entity: Entity,
    pub(super) archetype: u32,
    row: Row,
}

impl<'w> EntityView<'w> {
    /// The handle.
    #[must_use]
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// A fragment.
    ///
    /// # Errors
    /// [`WorldError::Missing`].
    pub fn get<T: Fragment>(&self) -> Result<&'w T, WorldError> {
        match self.find() {
            Some(value) => Ok(value),
            None => Err(self.world.missing::<T>(self.archetype, self.entity)),
        }
    }

    /// The value of a fragment in whatever role, by its number: see [`World::get_dynamic`].
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((2.5_f32, 6_u8))?;
    /// let view = world.entity(ant)?;
    /// for info in view.fragments() {
    ///     match view.get_dynamic(info.id())?.value::<u8>() {
    ///         Ok(legs) => assert_eq!(legs, &6),
    ///         Err(_) => assert_eq!(info.name(), "f32"),
    ///     }
    /// }
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::Missing`]; [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown).
    pub fn get_dynamic(&self, id: FragmentId) -> Result<Values<'w>, WorldError> {
        let world = self.world;
        world.values_of(self.entity, self.archetype, self.row, id)
    }

    /// A fragment, if the entity has it.
    #[must_use]
    pub fn find<T: Fragment>(&self) -> Option<&'w T> {
        let (value, ..) = self.world.value_of::<T>(self.archetype, self.row)?;
        // SAFETY: a value of this type, lent as long as the world is.
        Some(unsafe { &*value })
    }

    /// Whether it has a type in one of its [roles](TypeInRole): see [`World::has`]. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_enableable::<char>()?;
    /// let ant = world.create(('a',).shared("red"))?;
    /// world.set_enabled::<char>(ant, false)?;
    /// let view = world.entity(ant)?;
    /// assert!(view.has::<Shared<&str>>() && !view.has::<PerChunk<char>>());
    /// assert!(!view.is_enabled::<char>()?);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn has<R: TypeInRole>(&self) -> bool {
        self.world.is_in::<R>(self.archetype)
    }

    /// Whether it has a fragment in whatever role, by its number: see [`World::has_dynamic`]. O(1).
    ///
    /// # Errors
    /// [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown).
    pub fn has_dynamic(&self, id: FragmentId) -> Result<bool, WorldError> {
        self.world.is_among(self.archetype, id)
    }

    /// Whether a fragment is switched on: see [`World::is_enabled`]. O(1).
    ///
    /// # Errors
    /// [`WorldError::Missing`]; [`WorldError::NotEnableable`].
    pub fn is_enabled<T: Fragment>(&self) -> Result<bool, WorldError> {
        self.world.is_enabled::<T>(self.entity)
    }

    /// Whether a fragment is switched on, by its number: see [`World::is_enabled_dynamic`]. O(1).
    ///
    /// # Errors
    /// [`WorldError::Missing`]; [`WorldError::NotEnableable`];
    /// [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown).
    pub fn is_enabled_dynamic(&self, id: FragmentId) -> Result<bool, WorldError> {
        self.world.is_enabled_dynamic(self.entity, id)
    }

    /// Whether it has a fragment that can be switched, and is switched off.
    pub(super) fn is_off(&self, id: FragmentId) -> bool {
        let data = &self.world.archetypes[self.archetype as usize];
        data.enabled_of(id).is_some_and(|bits| {
            let array = data.chunks[self.row.chunk as usize].array(bits.offset);
            // SAFETY: a row of the chunk.
            !unsafe { read_bit(array, self.row.row) }
        })
    }

    /// The version of what was changed last of a fragment in its chunk: by whoever wrote, or was lent to write, a value of
    /// it there, of this entity or of another, or switched one, or put an entity there. `None` if it has none, as
    /// [tags](crate::fragment::FragmentKind::Tag) that cannot be switched, and if the entity does not have it as a fragment
    /// of its own. [`Schedule::ran_at`](crate::processor::Schedule::ran_at) says which processor had the version, if it was
    /// one; [`World::version`] is the present one. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8, 'a'))?;
    /// let _ = world.query::<&u8, ()>()?.count();
    /// *world.get_mut::<u8>(ant)? = 2;
    /// let ant = world.entity(ant)?;
    /// assert_eq!(ant.change_version::<u8>(), Some(world.version()));
    /// assert!(ant.change_version::<char>() < ant.change_version::<u8>());
    /// assert_eq!(ant.change_version::<u64>(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn change_version<T: Fragment>(&self) -> Option<Version> {
        self.change_version_dynamic(self.world.registry().of::<T>()?.id())
    }

    /// The same of a fragment that is known by its number: see [`change_version`](Self::change_version). O(1).
    #[must_use]
    pub fn change_version_dynamic(&self, id: FragmentId) -> Option<Version> {
        let data = &self.world.archetypes[self.archetype as usize];
        let version = data.version_of(id)?;
        let chunk = &data.chunks[self.row.chunk as usize];
        let moment = self.world.moment(chunk.version(version as usize));
        Some(Version::from_bits(moment))
    }

    /// Its shared value.
    ///
    /// # Errors
    /// [`WorldError::Missing`].
    pub fn shared<T: SharedFragment>(&self) -> Result<&'w T, WorldError> {
        self.world.shared(self.entity)
    }

    /// Its const shared value.
    ///
    /// # Errors
    /// [`WorldError::Missing`].
    pub fn const_shared<T: SharedFragment>(&self) -> Result<&'w T, WorldError> {
        self.world.const_shared(self.entity)
    }

    /// The fragment of the chunk that it lies in.
    ///
    /// # Errors
    /// [`WorldError::Missing`].
    pub fn chunk_fragment<T: Fragment>(&self) -> Result<&'w T, WorldError> {
        self.world.chunk_fragment(self.entity)
    }

    /// What it has, in every role, as a set: see [`World::composition`], which copies it. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((2.5_f32,).shared("red"))?;
    /// let bee = world.create((1.5_f32,).shared("blue"))?;
    /// assert_eq!(world.entity(ant)?.composition(), world.entity(bee)?.composition());
    /// assert_eq!(world.entity(ant)?.composition().len(), 2);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn composition(&self) -> &'w FragmentSet {
        &self.world.archetypes[self.archetype as usize].set
    }

    /// What it has, in the order of the fragments' numbers.
    pub fn fragments(&self) -> impl Iterator<Item = &'w FragmentInfo> + use<'w> {
        let world = self.world;
        let ids = world.archetypes[self.archetype as usize].ids.iter();
        ids.filter_map(|&id| world.registry().get(id))
    }

    /// Its name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&'w str> {
        self.world.name(self.entity).ok()?
    }
}

/// One entity of a world, to be changed. The entity cannot die while this view lives, except by
/// [`destroy`](Self::destroy), which ends both.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let ant = world.create((2.5_f32,))?;
/// let mut view = world.entity_mut(ant)?;
/// *view.get_mut::<f32>()? += 1.0;
/// view.add(("busy",))?;
/// view.set_name("worker");
/// assert_eq!(view.read().get::<&str>()?, &"busy");
/// view.destroy();
/// assert!(world.entity(ant).is_err());
/// # Ok::<(), WorldError>(())
/// ```
pub struct EntityViewMut<'w> {
    world: &'w mut World,
    entity: Entity,
}

impl EntityViewMut<'_> {
    /// The handle.
    #[must_use]
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// The entity, to be read.
    #[must_use]
    pub fn read(&self) -> EntityView<'_> {
        match self.world.entity(self.entity) {
            Ok(view) => view,
            Err(error) => unreachable!("nobody else destroys it: {error}"),
        }
    }

    /// A fragment. All else that there is to read: [`read`](Self::read).
    ///
    /// # Errors
    /// [`WorldError::Missing`].
    pub fn get<T: Fragment>(&self) -> Result<&T, WorldError> {
        self.read().get()
    }

    /// A fragment, if the entity has it.
    #[must_use]
    pub fn find<T: Fragment>(&self) -> Option<&T> {
        self.read().find()
    }

    /// Whether it has a type in one of its [roles](TypeInRole): see [`World::has`]. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_enableable::<u8>()?;
    /// let ant = world.create((6_u8,))?;
    /// let mut view = world.entity_mut(ant)?;
    /// view.set_enabled::<u8>(false)?.set_name("worker");
    /// if !view.has::<char>() && view.get::<u8>()? == &6 {
    ///     view.set('a')?;
    /// }
    /// assert_eq!((view.find::<char>(), view.name()), (Some(&'a'), Some("worker")));
    /// assert!(!view.is_enabled::<u8>()?);
    /// assert!(view.to_string().ends_with(r#" "worker": u8 (off), char"#));
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn has<R: TypeInRole>(&self) -> bool {
        self.read().has::<R>()
    }

    /// Whether a fragment is switched on: see [`World::is_enabled`]. O(1).
    ///
    /// # Errors
    /// [`WorldError::Missing`]; [`WorldError::NotEnableable`].
    pub fn is_enabled<T: Fragment>(&self) -> Result<bool, WorldError> {
        self.read().is_enabled::<T>()
    }

    /// Its name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.read().name()
    }

    /// A fragment, to change. Several side by side: [`QueryRun::one`](crate::query::QueryRun::one).
    ///
    /// # Errors
    /// [`WorldError::Missing`].
    pub fn get_mut<T: Fragment>(&mut self) -> Result<&mut T, WorldError> {
        self.world.get_mut(self.entity)
    }

    /// A fragment, to change, if the entity has it.
    #[must_use]
    pub fn find_mut<T: Fragment>(&mut self) -> Option<&mut T> {
        self.world.find_fragment_mut(self.entity)
    }

    /// The fragment of the chunk that it lies in, to change: see [`World::chunk_fragment_mut`].
    ///
    /// # Errors
    /// [`WorldError::Missing`].
    pub fn chunk_fragment_mut<T: Fragment>(&mut self) -> Result<&mut T, WorldError> {
        self.world.chunk_fragment_mut(self.entity)
    }

    /// Gives it a value of one fragment: see [`World::set`].
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,))?;
    /// world.entity_mut(ant)?.set(6_u8)?.set('a')?;
    /// assert_eq!((world.get::<u8>(ant)?, world.get::<char>(ant)?), (&6, &'a'));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn set<T: Fragment>(&mut self, value: T) -> Result<&mut Self, WorldError> {
        self.world.set(self.entity, value)?;
        Ok(self)
    }

    /// Gives it fragments: see [`World::add`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn add<B: Bundle>(&mut self, bundle: B) -> Result<&mut Self, WorldError> {
        self.world.add(self.entity, bundle)?;
        Ok(self)
    }

    /// Takes fragments away; whether it had any of them: see [`World::remove`].
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create(('a',).shared("red"))?;
    /// let mut view = world.entity_mut(ant)?;
    /// view.set_name("worker");
    /// assert!(view.remove::<Shared<&str>>()?);
    /// assert!(view.remove_name());
    /// assert!(!view.remove_name(), "it has none any more");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn remove<B: Bundle>(&mut self) -> Result<bool, WorldError> {
        self.world.remove::<B>(self.entity)
    }

    /// Takes fragments away and gives their values: see [`World::take`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn take<B: TakeBundle>(&mut self) -> Result<B, WorldError> {
        self.world.take(self.entity)
    }

    /// Swaps fragments: see [`World::swap`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn swap<Gone: Bundle, Come: Bundle>(
        &mut self,
        come: Come,
    ) -> Result<&mut Self, WorldError> {
        self.world.swap::<Gone, Come>(self.entity, come)?;
        Ok(self)
    }

    /// Changes a shared value: see [`World::set_shared`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn set_shared<T: SharedFragment>(&mut self, value: T) -> Result<&mut Self, WorldError> {
        self.world.set_shared(self.entity, value)?;
        Ok(self)
    }

    /// Switches a fragment off or on: see [`World::set_enabled`].
    ///
    /// # Errors
    /// As there.
    pub fn set_enabled<T: Fragment>(&mut self, enabled: bool) -> Result<&mut Self, WorldError> {
        self.world.set_enabled::<T>(self.entity, enabled)?;
        Ok(self)
    }

    /// Calls it by a name.
    pub fn set_name(&mut self, name: &str) -> &mut Self {
        if let Err(error) = self.world.set_name(self.entity, name) {
            unreachable!("nobody else destroys it: {error}");
        }
        self
    }

    /// Takes its name away; whether it had one: see [`World::remove_name`].
    pub fn remove_name(&mut self) -> bool {
        match self.world.remove_name(self.entity) {
            Ok(had) => had,
            Err(error) => unreachable!("nobody else destroys it: {error}"),
        }
    }

    /// Destroys it.
    ///
    /// # Panics
    /// As [`World::destroy`].
    pub fn destroy(self) {
        if let Err(error) = self.world.destroy(self.entity) {
            unreachable!("nobody else destroys it: {error}");
        }
    }
}

impl World {
    /// One entity, to be read. O(1).
    ///
    /// # Errors
    /// The handle is refused.
    pub fn entity(&self, entity: Entity) -> Result<EntityView<'_>, WorldError> {
        let (archetype, row) = self.find(entity)?;
        Ok(EntityView {
            world: self,
            entity,
            archetype,
            row,
        })
    }

    /// One entity, to be changed. O(1).
    ///
    /// # Errors
    /// The handle is refused.
    pub fn entity_mut(&mut self, entity: Entity) -> Result<EntityViewMut<'_>, WorldError> {
        self.find(entity)?;
        Ok(EntityViewMut {
            world: self,
            entity,
        })
    }
}
