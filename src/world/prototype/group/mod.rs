//! `Group`: several entities that know each other, prepared to be copied together.
//!
//! A prototype for each member, and which of their values name members: these come to name, in each copy, the members of
//! that very copy. Who they are is known when ids are, so the values are led over last, when all of a call are written and
//! before anybody sees one.

mod create;
mod lead;

use std::collections::HashSet;

use super::Prototype;
use crate::entity::{Entity, EntityMap};
use crate::fragment::FragmentRegistry;
use crate::hashers::ByNumbers;
use crate::panics::{end_all, refused, resume_alone};
use crate::world::{World, WorldError};

pub(crate) use lead::Lead;

/// Several entities with all their values, to be copied together, as often as you like: a prefab of several parts, whose
/// copies have their own parts. [`World::create_groups`] makes copies, [`Commands::create_group`] one in a processor; a
/// [`Prototype`] is the same for one entity, and tells how values are cloned.
///
/// A handle of a member in a member's value becomes, in each copy, that of the copy's member; handles of others stay as they
/// are. So a [`Relationship`](crate::index::Relationship) holds in each copy, and whoever the root hung on has a child more.
/// That is so for values whose handles are known:
/// - plain ones, [registered as such](FragmentRegistry::register_plain), by [`Plain::MAP_ENTITIES`], which
///   [`plain!`](crate::plain) knows of each field. One that named no member when the group was made is left as it is;
/// - others if their type was [registered with a function](FragmentRegistry::register_map_entities) that does it.
///
/// **In all others handles stay as they are**: those that are only cloned, chunk fragments, and shared values, which all
/// copies have together, with the members that they were taken from.
///
/// It keeps no world alive and belongs to none, as a prototype.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::world::Group;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// #[repr(transparent)]
/// struct On(Entity);
/// megachunk::plain!(On { 0 });
///
/// let mut world = World::new();
/// world.registry().register_clone::<&str>()?;
/// world.registry().register_plain::<On>()?;
/// let track = world.create(("track",))?;
/// let hull = world.create(("hull", On(track)))?;
/// let tower = world.create(("tower", On(hull)))?;
///
/// let tank = Group::of(&world, &[hull, tower])?;
/// world.destroy(tower)?;
/// let tanks = world.create_groups(&tank, 100)?;
/// for tank in tanks.chunks(tank.len()) {
///     // Each tower sits on its own hull, and all hulls on the one track.
///     assert_eq!(world.get::<On>(tank[1])?, &On(tank[0]));
///     assert_eq!(world.get::<On>(tank[0])?, &On(track));
/// }
/// # Ok::<(), WorldError>(())
/// ```
///
/// [`Commands::create_group`]: crate::command::Commands::create_group
/// [`Plain::MAP_ENTITIES`]: crate::fragment::Plain::MAP_ENTITIES
///
/// Source: Unity DOTS' `LinkedEntityGroup`, of which `Instantiate` copies all and leads references over; bevy's
/// `MapEntities` for scenes.
#[derive(Debug)]
#[doc(alias = "prefab")]
#[doc(alias = "scene")]
#[doc(alias = "LinkedEntityGroup")]
pub struct Group {
    /// Whom the members were cloned of, in order, and who means a member in their values.
    entities: Box<[Entity]>,
    prototypes: Box<[Prototype]>,
    /// What is to be led over in a copy, in the order of the members.
    leads: Box<[Lead]>,
}

impl Group {
    /// A group with the values that these entities have, each as [`Prototype::of`] takes them: without names, and what is
    /// switched off in one is on in copies. O(values).
    ///
    /// What becomes of the entities then is nothing to the group. All below an entity:
    /// [`RelationshipIndex::descendants`](crate::index::RelationshipIndex::descendants).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::world::Group;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(transparent)]
    /// struct ChildOf(Entity);
    /// megachunk::plain!(ChildOf { 0 });
    ///
    /// impl Relationship for ChildOf {
    ///     fn target(&self) -> Entity {
    ///         self.0
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain::<ChildOf>()?;
    /// let root = world.create(())?;
    /// let child = world.create((ChildOf(root),))?;
    /// world.create((ChildOf(child),))?;
    /// let mut children = RelationshipIndex::<ChildOf>::new(&world)?;
    /// children.update(&world);
    /// let tree: Vec<Entity> = [root].into_iter().chain(children.descendants(root)).collect();
    /// let tree = Group::of(&world, &tree)?;
    ///
    /// let copy = world.create_groups(&tree, 1)?;
    /// children.update(&world);
    /// assert_eq!(children.descendants(copy[0]).collect::<Vec<_>>(), copy[1..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::Twice`]; a handle is refused; [`WorldError::NotCloneable`] names the fragment or tag.
    ///
    /// # Panics
    /// If a `clone` panics, or a type's [`MAP_ENTITIES`](crate::fragment::Plain::MAP_ENTITIES); the clones that were made
    /// are dropped then.
    pub fn of(world: &World, entities: &[Entity]) -> Result<Self, WorldError> {
        let mut met = HashSet::with_capacity_and_hasher(entities.len(), ByNumbers::default());
        if let Some(&entity) = entities.iter().find(|entity| !met.insert(entity.to_bits())) {
            return Err(WorldError::Twice { entity });
        }
        let mut prototypes = Prototypes(Vec::with_capacity(entities.len()));
        for &entity in entities {
            match Prototype::of(world, entity) {
                Ok(prototype) => prototypes.0.push(prototype),
                Err(error) => return Err(refused(prototypes, error)),
            }
        }
        let nobody = entities.iter().map(|&entity| (entity, Entity::PLACEHOLDER));
        let nobody = EntityMap::from_iter(nobody).keeping_others();
        let mut leads = Vec::new();
        for (member, prototype) in prototypes.0.iter().enumerate() {
            prototype.leads(world.registry(), member, &nobody, &mut leads);
        }
        Ok(Self {
            entities: entities.into(),
            prototypes: core::mem::take(&mut prototypes.0).into(),
            leads: leads.into(),
        })
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether there are none: then copies are nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Whom the members were cloned of, in order. They need not live any more.
    #[must_use]
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// Whether its fragments stand in this registry; so does a group without members.
    #[must_use]
    pub fn is_of(&self, registry: &FragmentRegistry) -> bool {
        self.prototypes.iter().all(|of| of.is_of(registry))
    }

    /// The members' values, in their order.
    pub(crate) fn prototypes(&self) -> &[Prototype] {
        &self.prototypes
    }

    /// What is to be led over in a copy, in the order of the members.
    pub(crate) fn leads(&self) -> &[Lead] {
        &self.leads
    }

    /// Whom the members' values mean, to be told for each copy who that is in it.
    pub(crate) fn meant(&self) -> EntityMap {
        let members = self.entities.iter().map(|&entity| (entity, entity));
        EntityMap::from_iter(members).keeping_others()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Each drops its values, all of them, and may panic with the first: the others go, too.
        drop(Prototypes(core::mem::take(&mut self.prototypes).into()));
    }
}

/// Prototypes that go together, however many of their values' `drop`s panic.
struct Prototypes(Vec<Prototype>);

impl Drop for Prototypes {
    fn drop(&mut self) {
        let mut panicked = None;
        end_all(&mut panicked, core::mem::take(&mut self.0));
        resume_alone(panicked);
    }
}
