//! `Template`: what a kind of entity is made of, ready to be made.

use core::fmt;
use std::sync::Arc;

use crate::archetype::Universe;
use crate::command::Commands;
use crate::entity::Entity;
use crate::fragment::{
    Fragment, FragmentError, FragmentId, FragmentRegistry, FragmentSet, Pile, SharedFragment,
    TypeInRole, Values,
};
use crate::template::member::Members;
use crate::template::parts::Added;
use crate::world::{Batch, Prototype, World, WorldError};

/// What a kind of entity is made of: its fragments in all roles, with the values that entities begin with, and
/// which trait has added what. From a [`TemplateBuilder`](crate::template::TemplateBuilder), or from files.
///
/// It never changes. When it is dropped, its traits [hear of it](crate::template::EntityTrait::destroy).
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Walks(f32);
/// impl EntityTrait for Walks {
///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
///         context.add(self.0);
///         Ok(())
///     }
/// }
/// let mut world = World::new();
/// let ant: Template = TemplateBuilder::new("ant").with(Walks(1.5)).finish(&world)?;
/// let first = ant.create(&mut world)?;
/// assert_eq!(world.get::<f32>(first)?, &1.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Unreal Mass' `FMassEntityTemplate`.
#[doc(alias = "FMassEntityTemplate")]
#[doc(alias = "prefab")]
pub struct Template {
    id: Box<str>,
    name: Box<str>,
    universe: Arc<Universe>,
    /// Before the prototype, so that the traits hear of the end while it is there.
    traits: Members,
    /// The class that added each fragment, in their order.
    added_by: Vec<Arc<str>>,
    composition: FragmentSet,
    prototype: Arc<Prototype>,
}

impl Template {
    /// Of what the traits have added, sorted by fragment.
    pub(super) fn new(
        id: Box<str>,
        name: Box<str>,
        universe: &Arc<Universe>,
        traits: Members,
        added: Pile<Added>,
    ) -> Result<Self, WorldError> {
        let class = |added: &Added| Arc::clone(&traits.0[added.by].class);
        let added_by = added.iter().map(class).collect();
        let values = added.into_vec().into_iter().map(|added| added.value);
        let prototype = Prototype::new(universe.registry(), values.collect())?;
        Ok(Self {
            id,
            name,
            universe: Arc::clone(universe),
            added_by,
            composition: prototype.composition(),
            traits,
            prototype: Arc::new(prototype),
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The universe whose worlds can have entities of this kind.
    #[must_use]
    pub fn universe(&self) -> &Arc<Universe> {
        &self.universe
    }

    fn registry(&self) -> &FragmentRegistry {
        self.universe.registry()
    }

    /// The classes of its traits, in the order in which they have built.
    pub fn traits(&self) -> impl Iterator<Item = &str> {
        self.traits.0.iter().map(|member| &*member.class)
    }

    /// Its fragments in all roles.
    #[must_use]
    pub fn composition(&self) -> &FragmentSet {
        &self.composition
    }

    /// The values that entities begin with, ready to be copied: for
    /// [`World::create_copies_with`], which gives each entity values of its own beside them.
    #[must_use]
    pub fn prototype(&self) -> &Arc<Prototype> {
        &self.prototype
    }

    /// The class of the trait that has added a fragment: the first one, if several share it. O(log fragments).
    #[must_use]
    pub fn added_by(&self, id: FragmentId) -> Option<&str> {
        let at = self.prototype.fragments().binary_search(&id).ok()?;
        Some(&self.added_by[at])
    }

    /// The value of a fragment in whatever role; a tag has none. O(fragments).
    #[must_use]
    pub fn value(&self, id: FragmentId) -> Option<Values<'_>> {
        self.prototype.value(self.registry(), id)
    }

    /// Whether it has a type in one of its [roles](TypeInRole). What it is asked for is what
    /// traits have added: of a trait's own type it has nothing.
    #[must_use]
    pub fn has<R: TypeInRole>(&self) -> bool {
        let info = self.registry().of::<R>();
        info.is_some_and(|info| self.composition.contains(info.id()))
    }

    /// The value of a fragment; a tag has none: see [`has`](Self::has).
    #[must_use]
    pub fn get<T: Fragment>(&self) -> Option<&T> {
        self.in_role::<T, T>()
    }

    /// The value of a chunk fragment. Chunks begin with it if the template is the first of its
    /// composition in a world; else with what [the first one
    /// said](crate::template::BuildContext::per_chunk).
    #[must_use]
    pub fn per_chunk<T: Fragment>(&self) -> Option<&T> {
        self.in_role::<crate::fragment::PerChunk<T>, T>()
    }

    /// The value of a shared fragment.
    #[must_use]
    pub fn shared<T: SharedFragment>(&self) -> Option<&T> {
        self.in_role::<crate::fragment::Shared<T>, T>()
    }

    /// The value of a const shared fragment.
    #[must_use]
    pub fn const_shared<T: SharedFragment>(&self) -> Option<&T> {
        self.in_role::<crate::fragment::ConstShared<T>, T>()
    }

    fn in_role<R: 'static, T: Fragment>(&self) -> Option<&T> {
        let info = self.registry().of_role::<R>()?;
        self.value(info.id())?.value::<T>().ok()
    }

    /// Creates an entity of this kind. O(fragments).
    ///
    /// # Errors
    /// As for [`World::create`]; [`FragmentError::OtherTemplate`] if the world is of another universe.
    ///
    /// # Panics
    /// If a `clone` panics; then there is no new entity. If an observer panics, which is told of it; then it is there.
    #[doc(alias = "spawn")]
    pub fn create(&self, world: &mut World) -> Result<Entity, WorldError> {
        self.refuse_foreign(world.registry())?;
        world.create_copy(&self.prototype)
    }

    /// Makes a reserved entity one of this kind: see [`World::build_copy`]. O(fragments). (Through a recorder:
    /// [`Commands::build_copy`] with the [`prototype`](Self::prototype).)
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = TemplateBuilder::new("ant").finish(&world)?;
    /// let one = world.reserve()?;
    /// ant.build(&mut world, one)?;
    /// assert!(world.is_built(one));
    /// assert!(ant.build(&mut world, one).is_err(), "it is one already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create`](Self::create); [`WorldError::AlreadyBuilt`], and those of a handle.
    ///
    /// # Panics
    /// As for [`World::build_copy`].
    pub fn build(&self, world: &mut World, entity: Entity) -> Result<(), WorldError> {
        self.refuse_foreign(world.registry())?;
        world.build_copy(entity, &self.prototype)
    }

    /// Creates `count` entities of this kind, all or none; observers see one batch. O(entities × fragments), on all
    /// threads if there are many: see [`World::create_copies`].
    ///
    /// All have the template's shared values. Who is to have another one gets it afterwards, by [`World::set_shared`], or
    /// many by [`World::add_slice`] with `|_| ().shared(value)`.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    ///
    /// # Panics
    /// As for [`create`](Self::create).
    #[doc(alias = "spawn_batch")]
    pub fn create_batch(&self, world: &mut World, count: usize) -> Result<Batch, WorldError> {
        self.refuse_foreign(world.registry())?;
        world.create_copies(&self.prototype, count)
    }

    /// Creates an entity of this kind through a recorder, on any thread: see [`Commands::create_copy`]. O(fragments),
    /// lock-free. For many use [`Commands::create_copies`] with the [`prototype`](Self::prototype).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = TemplateBuilder::new("ant").finish(&world)?;
    /// let mut commands = world.commands();
    /// let one = ant.record(&mut commands)?;
    /// drop(commands);
    /// assert_eq!(world.flush().created, 1);
    /// assert!(world.is_built(one));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    ///
    /// # Panics
    /// As for [`create`](Self::create).
    pub fn record(&self, commands: &mut Commands<'_>) -> Result<Entity, WorldError> {
        self.refuse_foreign(commands.registry())?;
        commands.create_copy(&self.prototype)
    }

    /// Says so if it is of another universe.
    fn refuse_foreign(&self, registry: &FragmentRegistry) -> Result<(), WorldError> {
        if self.prototype.is_of(registry) {
            return Ok(());
        }
        let template = (*self.id).into();
        Err(FragmentError::OtherTemplate { template }.into())
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |&id| self.registry().get(id).map_or("", |info| info.name());
        let names = self.prototype.fragments().iter().map(name);
        let fragments: Vec<_> = names.zip(&self.added_by).collect();
        f.debug_struct("Template")
            .field("id", &self.id)
            .field("fragments", &fragments)
            .finish_non_exhaustive()
    }
}
