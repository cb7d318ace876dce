//! `Template`: what a kind of entity is made of, ready to be made.

use core::fmt;
use std::sync::{Arc, OnceLock};

use crate::archetype::Universe;
use crate::entity::Entity;
use crate::fragment::{
    DynamicBundle, Fragment, FragmentId, FragmentRegistry, FragmentSet, SharedFragment, Value,
    Values,
};
use crate::template::member::Members;
use crate::template::parts::Added;
use crate::world::{Prototype, World, WorldError};

/// What a kind of entity is made of: its fragments in all roles, with the values that entities begin with, and
/// which trait has added what. From a [`TemplateBuilder`](crate::template::TemplateBuilder), or from files.
///
/// It never changes. When it is dropped, its traits [hear of it](crate::template::EntityTrait::destroy).
///
/// Source: Unreal Mass' `FMassEntityTemplate`.
#[doc(alias = "FMassEntityTemplate")]
#[doc(alias = "prefab")]
pub struct Template {
    id: Box<str>,
    name: Box<str>,
    universe: Arc<Universe>,
    /// Before the values, so that the traits hear of the end while these are there.
    traits: Members,
    /// The class that added each value, in their order.
    added_by: Vec<Arc<str>>,
    composition: FragmentSet,
    /// Sorted by fragment; each can be cloned.
    values: Vec<Value>,
    /// The same values, prepared to be copied: made when somebody asks.
    prototype: OnceLock<Arc<Prototype>>,
}

impl Template {
    /// Of what the traits have added, sorted by fragment.
    pub(super) fn new(
        id: Box<str>,
        name: Box<str>,
        universe: &Arc<Universe>,
        traits: Members,
        added: Vec<Added>,
    ) -> Self {
        let class = |added: &Added| Arc::clone(&traits.0[added.by].class);
        let added_by = added.iter().map(class).collect();
        let values: Vec<Value> = added.into_iter().map(|added| added.value).collect();
        Self {
            id,
            name,
            universe: Arc::clone(universe),
            added_by,
            composition: values.iter().map(Value::id).collect(),
            traits,
            values,
            prototype: OnceLock::new(),
        }
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

    /// The values that entities begin with, tags, chunk and shared fragments among them; sorted by fragment, and
    /// each can be cloned.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    fn position(&self, id: FragmentId) -> Option<usize> {
        self.values.binary_search_by_key(&id, Value::id).ok()
    }

    /// The class of the trait that has added a fragment: the first one, if several share it. O(log fragments).
    #[must_use]
    pub fn added_by(&self, id: FragmentId) -> Option<&str> {
        Some(&self.added_by[self.position(id)?])
    }

    /// The value of a fragment in whatever role. O(log fragments).
    #[must_use]
    pub fn value(&self, id: FragmentId) -> Option<Values<'_>> {
        self.values[self.position(id)?].lend(self.registry()).ok()
    }

    /// Whether it has a fragment or tag; or one in the role that `T` names: [`PerChunk<T>`](crate::fragment::PerChunk),
    /// [`Shared<T>`](crate::fragment::Shared), [`ConstShared<T>`](crate::fragment::ConstShared).
    #[must_use]
    pub fn has<T: 'static>(&self) -> bool {
        let info = self.registry().of_role::<T>();
        info.is_some_and(|info| self.composition.contains(info.id()))
    }

    /// The value of a fragment.
    #[must_use]
    pub fn get<T: Fragment>(&self) -> Option<&T> {
        self.in_role::<T, T>()
    }

    /// The value of a chunk fragment.
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

    /// Its values, prepared to be copied to many entities at once: [`World::create_copies`]. O(values) for the first
    /// call, in which they are cloned.
    ///
    /// # Errors
    /// [`WorldError::NotCloneable`].
    ///
    /// # Panics
    /// If a `clone` panics.
    pub fn prototype(&self) -> Result<Arc<Prototype>, WorldError> {
        if let Some(prototype) = self.prototype.get() {
            return Ok(Arc::clone(prototype));
        }
        let values = self.values.iter().map(Value::duplicate);
        let prototype = Prototype::new(self.registry(), values.collect())?;
        let prototype = self.prototype.get_or_init(|| Arc::new(prototype));
        Ok(Arc::clone(prototype))
    }

    /// Creates an entity of this kind. O(fragments).
    ///
    /// # Errors
    /// As for [`World::create`]; a world of another universe is refused.
    ///
    /// # Panics
    /// If a `clone` panics; then there is no new entity.
    #[doc(alias = "spawn")]
    pub fn create(&self, world: &mut World) -> Result<Entity, WorldError> {
        let values = self.values.iter().map(Value::duplicate);
        world.create_dynamic(values.collect::<DynamicBundle>())
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |value: &Value| {
            let info = self.registry().get(value.id());
            info.map_or_else(String::new, |info| info.name().into())
        };
        let fragments: Vec<_> = self.values.iter().map(name).zip(&self.added_by).collect();
        f.debug_struct("Template")
            .field("id", &self.id)
            .field("fragments", &fragments)
            .finish_non_exhaustive()
    }
}
