//! `DynamicBundle`: the fragments of one entity, known at run time only.

use crate::fragment::{FragmentError, FragmentId, FragmentRegistry, Pile, Value};

/// Fragments and tags that are put into an entity together, known at run time only: a list of [values](Value).
///
/// As many as you like, in any order, in any role; none twice: the call that takes the bundle says so.
/// Dropped, it drops its values, all of them, also if some panic.
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let health = world.registry().define_plain("health", Layout::new::<u32>())?.id();
/// let mut bundle = DynamicBundle::new();
/// bundle.push(Value::from_bytes(world.registry(), health, &[9, 0, 0, 0])?);
/// bundle.push(Value::new(world.registry(), String::from("ant"))?);
/// let ant = world.create_dynamic(bundle)?;
/// assert_eq!(world.get::<String>(ant)?, "ant");
/// assert_eq!(world.get_dynamic(ant, health)?.bytes()?, [9, 0, 0, 0]);
/// # Ok::<(), WorldError>(())
/// ```
#[derive(Debug, Default)]
pub struct DynamicBundle {
    pub(crate) values: Pile<Value>,
}

impl DynamicBundle {
    /// A bundle without values.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            values: Pile::new(),
        }
    }

    /// Adds a value.
    pub fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    /// The bundle with one more value.
    #[must_use]
    pub fn with(mut self, value: Value) -> Self {
        self.push(value);
        self
    }

    /// How many values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Sorts the values by their fragments, and gives the fragments: each is of `registry`, and none
    /// stands there twice.
    pub(crate) fn sort(
        &mut self,
        registry: &FragmentRegistry,
    ) -> Result<Vec<FragmentId>, FragmentError> {
        for value in &self.values {
            let id = value.id();
            if !registry.get(id).is_some_and(|info| value.is_of(info)) {
                return Err(FragmentError::OtherUniverse { id });
            }
        }
        self.values.sort_unstable_by_key(Value::id);
        let ids: Vec<FragmentId> = self.values.iter().map(Value::id).collect();
        none_twice(registry, &ids)?;
        Ok(ids)
    }
}

/// A bundle of one value.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let legs = Value::new(world.registry(), 6_u8)?;
/// let ant = world.create_dynamic(legs.into())?;
/// assert_eq!(world.get::<u8>(ant)?, &6);
/// # Ok::<(), WorldError>(())
/// ```
impl From<Value> for DynamicBundle {
    fn from(value: Value) -> Self {
        Self::new().with(value)
    }
}

impl FromIterator<Value> for DynamicBundle {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Self {
            values: values.into_iter().collect(),
        }
    }
}

impl Extend<Value> for DynamicBundle {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

/// Whether sorted fragments differ.
pub(crate) fn none_twice(
    registry: &FragmentRegistry,
    sorted: &[FragmentId],
) -> Result<(), FragmentError> {
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(FragmentError::Twice {
            name: registry.get(pair[0]).map_or("", |info| info.name()).into(),
        }),
    }
}
