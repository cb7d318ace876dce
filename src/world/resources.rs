//! `Resources`: values that a world has once.

use core::any::{Any, TypeId, type_name};
use core::fmt;
use core::hash::BuildHasherDefault;
use std::collections::HashMap;

use crate::world::World;
use crate::world::bundles::TypeHasher;

/// Values that a world has once, one of each type: the time, a map, settings.
///
/// Any `Send + Sync + 'static` type. All calls are O(1).
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Gravity(f32);
///
/// let mut world = World::new();
/// world.resources_mut().insert(Gravity(9.8));
/// world.resources_mut().get_mut::<Gravity>().unwrap().0 = 1.6;
/// assert_eq!(world.resources().get::<Gravity>().unwrap().0, 1.6);
/// assert!(world.resources_mut().remove::<Gravity>().is_some());
/// assert!(world.resources().get::<Gravity>().is_none());
/// ```
#[derive(Default)]
#[doc(alias = "subsystem")]
#[doc(alias = "singleton")]
pub struct Resources {
    values: HashMap<TypeId, Resource, BuildHasherDefault<TypeHasher>>,
}

struct Resource {
    name: &'static str,
    value: Box<dyn Any + Send + Sync>,
}

impl Resources {
    /// Puts a value in; the one that was there, if there was one.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) -> Option<T> {
        let new = Resource {
            name: type_name::<T>(),
            value: Box::new(value),
        };
        unpack(self.values.insert(TypeId::of::<T>(), new))
    }

    /// Takes a value out.
    pub fn remove<T: Send + Sync + 'static>(&mut self) -> Option<T> {
        unpack(self.values.remove(&TypeId::of::<T>()))
    }

    /// The value of a type, if it is there.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values.get(&TypeId::of::<T>())?.value.downcast_ref()
    }

    /// The value of a type, to change, if it is there.
    #[must_use]
    pub fn get_mut<T: Send + Sync + 'static>(&mut self) -> Option<&mut T> {
        let resource = self.values.get_mut(&TypeId::of::<T>())?;
        resource.value.downcast_mut()
    }

    /// The value of a type; `new` makes it if it is not there.
    pub fn get_or_insert_with<T: Send + Sync + 'static>(
        &mut self,
        new: impl FnOnce() -> T,
    ) -> &mut T {
        let resource = self.values.entry(TypeId::of::<T>()).or_insert_with(|| {
            let value = Box::new(new());
            let name = type_name::<T>();
            Resource { name, value }
        });
        match resource.value.downcast_mut() {
            Some(value) => value,
            None => unreachable!("a {} stands under its type", resource.name),
        }
    }

    /// Whether there is a value of a type.
    #[must_use]
    pub fn contains<T: Send + Sync + 'static>(&self) -> bool {
        self.values.contains_key(&TypeId::of::<T>())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

fn unpack<T: 'static>(resource: Option<Resource>) -> Option<T> {
    Some(*resource?.value.downcast().ok()?)
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.values.values().map(|resource| resource.name).collect();
        names.sort_unstable();
        f.debug_set().entries(names).finish()
    }
}

impl World {
    /// The values that this world has once.
    #[must_use]
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// The values that this world has once, to put in, take out and change.
    #[must_use]
    pub fn resources_mut(&mut self) -> &mut Resources {
        &mut self.resources
    }
}
