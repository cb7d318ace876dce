//! `DynamicFilter`: what entities must have, by fragments' numbers.

use crate::fragment::{FragmentError, FragmentId, FragmentRegistry, FragmentSet};
use crate::query::{Access, Requirements};

/// What an observer of a fragment that is [known by its number](crate::world::World::observe_dynamic) asks of entities
/// besides: fragments, tags, chunk fragments, shared and const shared ones alike. It asks what a
/// [`CompositionFilter`](crate::query::CompositionFilter) of types can ask, and is called as a
/// [`DynamicQueryBuilder`](crate::query::DynamicQueryBuilder) is. Nothing is checked before it is given to a world.
///
/// Each call is O(1), or O(numbers) for several.
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::prelude::*;
/// use megachunk::query::DynamicFilter;
///
/// let mut world = World::new();
/// let [gold, cursed] = ["gold", "cursed"].map(|name| {
///     world.registry().define_plain(name, Layout::new::<u32>()).unwrap().id()
/// });
/// world.resources_mut().insert(0_usize);
/// let honest = DynamicFilter::new().without(cursed);
/// world.observe_dynamic(Observed::COME, gold, honest, |batch, _| {
///     *batch.resources_mut().get_mut::<usize>().unwrap() += batch.len();
/// })?;
/// let value = |id| Value::from_bytes(world.registry(), id, &7_u32.to_ne_bytes());
/// let found = DynamicBundle::new().with(value(gold)?);
/// let stolen = DynamicBundle::new().with(value(gold)?).with(value(cursed)?);
/// world.create_dynamic(found)?;
/// world.create_dynamic(stolen)?;
/// assert_eq!(world.resources().get::<usize>(), Some(&1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a filter does nothing until it is given to a world"]
pub struct DynamicFilter {
    all: FragmentSet,
    any: Vec<FragmentSet>,
    none: FragmentSet,
}

impl DynamicFilter {
    /// Nothing is asked: all entities.
    pub fn new() -> Self {
        Self::default()
    }

    /// The fragment or tag must be there, switched on.
    pub fn with(mut self, id: FragmentId) -> Self {
        self.all.insert(id);
        self
    }

    /// The fragment or tag must not be there, or be switched off.
    pub fn without(mut self, id: FragmentId) -> Self {
        self.none.insert(id);
        self
    }

    /// Of these one must be there at least, and switched on; each call asks for itself. Of no fragments none is there.
    pub fn any(mut self, ids: &[FragmentId]) -> Self {
        self.any.push(ids.iter().copied().collect());
        self
    }

    /// The same as a query asks it.
    ///
    /// # Errors
    /// [`FragmentError::Unknown`].
    pub(crate) fn requirements(
        self,
        registry: &FragmentRegistry,
    ) -> Result<Requirements, FragmentError> {
        let asked = [&self.all, &self.none].into_iter().chain(&self.any);
        let unknown = asked
            .flat_map(FragmentSet::iter)
            .find(|&id| registry.get(id).is_none());
        if let Some(id) = unknown {
            return Err(FragmentError::Unknown { id });
        }
        let mut requirements = Requirements::new();
        for id in self.all.iter() {
            requirements.all(id, Access::None);
        }
        for id in self.none.iter() {
            requirements.none(id);
        }
        for ids in self.any {
            requirements.any(ids);
        }
        Ok(requirements)
    }
}
