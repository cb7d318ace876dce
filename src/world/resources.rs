//! `Resources`: values that a world has once.

use core::any::{Any, TypeId, type_name};
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::fragment::{StateForm, StateValue};
use crate::hashers::ByTypes;
use crate::panics::{Panicked, end_all, note, resume, resume_alone};
use crate::query::ResourceId;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::world::{World, new_identity};

/// Values that a world has once, one of each type: the time, a map, settings.
///
/// Any `Send + Sync + 'static` type. All calls are O(1). Queries lend them beside entities:
/// [`Query::with_resources`](crate::query::Query::with_resources). Those of types that are [registered as part of the
/// state](crate::fragment::FragmentRegistry::register_state) are saved, loaded and hashed with the world.
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
    values: HashMap<TypeId, Resource, ByTypes>,
    /// When the last came or went; no other resources have it, but those that never had a value.
    stamp: u64,
    /// The types of those that are lent as they lie.
    lifted: Vec<TypeId>,
    /// The greatest count of writes of those that are not there any more: who comes has a greater one.
    counted: u64,
}

/// A value on the heap, by a pointer: a query that has the world to itself lends it to be written while it
/// lends entities of the same world.
struct Resource {
    name: &'static str,
    value: NonNull<dyn Any + Send + Sync>,
    life: Box<Life>,
}

/// When a value came, and how often it was lent to be written. On a line of its own, which whoever is lent others beside it
/// does not look at.
#[repr(align(64))]
struct Life {
    /// No other value has it.
    born: u64,
    writes: AtomicU64,
}

impl Life {
    /// It is lent to be written.
    #[inline(always)]
    fn write(&self) {
        // Ordering: Relaxed: who looks at it is before or after whoever has the value to write it, as for the value. Not a
        // read-modify-write: nobody else has it.
        let writes = self.writes.load(Ordering::Relaxed);
        self.writes.store(writes + 1, Ordering::Relaxed);
    }

    fn writes(&self) -> u64 {
        // Ordering: as in `write`.
        self.writes.load(Ordering::Relaxed)
    }

    /// Counts on from what was counted of others.
    fn count_from(&self, counted: u64) {
        // Ordering: as in `write`: it is in nobody's hands yet.
        self.writes
            .store(self.writes().max(counted) + 1, Ordering::Relaxed);
    }
}

/// A state of a resource: another one was there before or after each time that it was lent to be written, or came. Told
/// apart from those of all other worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResourceState {
    born: u64,
    writes: u64,
}

// SAFETY: owns the value, which is `Send`.
unsafe impl Send for Resource {}
// SAFETY: lends the value as a `Box` would, and it is `Sync`; who lends more by `find` sees to that.
unsafe impl Sync for Resource {}

impl Resource {
    fn new<T: Send + Sync + 'static>(value: T) -> Self {
        Self::of(Box::new(value), type_name::<T>())
    }

    fn of(value: StateValue, name: &'static str) -> Self {
        let value = NonNull::from(Box::leak(value));
        let life = Box::new(Life {
            born: new_identity(),
            writes: AtomicU64::new(0),
        });
        Self { name, value, life }
    }

    fn get(&self) -> &(dyn Any + Send + Sync) {
        // SAFETY: the value lives as long as `self`.
        unsafe { self.value.as_ref() }
    }

    fn get_mut(&mut self) -> &mut (dyn Any + Send + Sync) {
        self.life.write();
        // SAFETY: as above, and `&mut self`.
        unsafe { self.value.as_mut() }
    }

    fn into_value<T: 'static>(self) -> Option<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: it is forgotten, and nobody uses it again.
        unsafe { core::ptr::drop_in_place(&raw mut this.life) };
        // SAFETY: leaked in `new`, and forgotten here.
        let value = unsafe { Box::from_raw(this.value.as_ptr()) };
        Some(*(value as Box<dyn Any>).downcast().ok()?)
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        // SAFETY: leaked in `new`; nobody uses it afterwards.
        drop(unsafe { Box::from_raw(self.value.as_ptr()) });
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        let mut panicked = None;
        end_all(&mut panicked, core::mem::take(&mut self.values));
        resume_alone(panicked);
    }
}

impl Resources {
    /// Puts a value in; the one that was there, if there was one.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) -> Option<T> {
        let old = self.put(TypeId::of::<T>(), Resource::new(value));
        if old.is_none() {
            self.stamp = new_identity();
        }
        old?.into_value()
    }

    /// Puts a resource in the place of the one that is there, if there is one: its writes are counted on.
    fn put(&mut self, of: TypeId, resource: Resource) -> Option<Resource> {
        match self.values.entry(of) {
            Entry::Occupied(mut there) => {
                self.counted = self.counted.max(there.get().life.writes());
                resource.life.count_from(self.counted);
                Some(there.insert(resource))
            }
            Entry::Vacant(place) => {
                resource.life.count_from(self.counted);
                place.insert(resource);
                None
            }
        }
    }

    /// Takes a resource out, whoever comes in its place.
    fn take_out(&mut self, of: TypeId) -> Option<Resource> {
        let resource = self.values.remove(&of)?;
        self.counted = self.counted.max(resource.life.writes());
        Some(resource)
    }

    /// Puts a value in whose type only its form says, and of which there is none.
    pub(super) fn insert_value(&mut self, form: &StateForm, value: StateValue) {
        let resource = Resource::of(value, form.type_name());
        let old = self.put(form.type_id(), resource);
        debug_assert!(old.is_none(), "{} stands there twice", form.name());
        self.stamp = new_identity();
    }

    /// Takes a value out.
    pub fn remove<T: Send + Sync + 'static>(&mut self) -> Option<T> {
        let value = self.take_out(TypeId::of::<T>())?;
        self.stamp = new_identity();
        value.into_value()
    }

    /// Puts the value of a form in the place of the one that is there, or takes that one out. What its `drop` panics with is
    /// noted.
    pub(super) fn exchange(
        &mut self,
        form: &StateForm,
        value: Option<StateValue>,
        panicked: &mut Panicked,
    ) {
        let (of, comes) = (form.type_id(), value.is_some());
        let old = match value {
            Some(value) => self.put(of, Resource::of(value, form.type_name())),
            None => self.take_out(of),
        };
        if old.is_some() != comes {
            self.stamp = new_identity();
        }
        note(panicked, || drop(old));
    }

    /// Takes a value out for a while, as it lies; and what says that nothing has come or gone since.
    fn lift<T: 'static>(&mut self) -> Option<(Resource, u64, u64)> {
        let value = self.take_out(TypeId::of::<T>())?;
        self.lifted.push(TypeId::of::<T>());
        let before = self.stamp;
        self.stamp = new_identity();
        Some((value, before, self.stamp))
    }

    /// Puts it back; what had come in its place.
    fn put_back<T: 'static>(
        &mut self,
        (value, before, lifted): (Resource, u64, u64),
    ) -> Option<Resource> {
        let of = TypeId::of::<T>();
        // Not there if others were put in the place of all since.
        if let Some(at) = self.lifted.iter().rposition(|&lifted| lifted == of) {
            self.lifted.remove(at);
        }
        let other = self.put(of, value);
        self.stamp = match self.stamp == lifted {
            // All that there was is there again.
            true => before,
            false => new_identity(),
        };
        other
    }

    /// Whether a value of a type is out for a while.
    pub(super) fn is_lifted(&self, of: TypeId) -> bool {
        self.lifted.contains(&of)
    }

    /// The value of a type, if it is there.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values.get(&TypeId::of::<T>())?.get().downcast_ref()
    }

    /// All that are there, each with its type, in no order: for an inspector. O(resources).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::query::ResourceId;
    ///
    /// struct Gravity(f32);
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Gravity(9.8));
    /// world.resources_mut().insert(Score(7));
    /// let mut page: Vec<String> = Vec::new();
    /// for (id, value) in world.resources().iter() {
    ///     page.push(match value.downcast_ref::<Score>() {
    ///         Some(score) => format!("{}: {}", id.name(), score.0),
    ///         None => id.name().into(),
    ///     });
    /// }
    /// page.sort();
    /// assert!(page[0].ends_with("Gravity") && page[1].ends_with("Score: 7"), "{page:?}");
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, &(dyn Any + Send + Sync))> {
        self.values
            .iter()
            .map(|(&of, resource)| (ResourceId::new(of, resource.name), resource.get()))
    }

    /// The value of a type that is known at run time only, if it is there. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::query::ResourceId;
    ///
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// let id = ResourceId::of::<Score>();
    /// assert!(world.resources().get_any(id).is_none());
    /// world.resources_mut().insert(Score(7));
    /// let score = world.resources_mut().get_any_mut(id).unwrap();
    /// score.downcast_mut::<Score>().unwrap().0 += 1;
    /// let score = world.resources().get_any(id).unwrap();
    /// assert_eq!(score.downcast_ref::<Score>().unwrap().0, 8);
    /// ```
    #[must_use]
    pub fn get_any(&self, id: ResourceId) -> Option<&(dyn Any + Send + Sync)> {
        self.value(id.of_type())
    }

    /// The value of a type that is known at run time only, to change, if it is there: see [`get_any`](Self::get_any). O(1).
    #[must_use]
    pub fn get_any_mut(&mut self, id: ResourceId) -> Option<&mut (dyn Any + Send + Sync)> {
        Some(self.values.get_mut(&id.of_type())?.get_mut())
    }

    /// Whether there is a value of a type that is not named.
    pub(crate) fn has(&self, id: ResourceId) -> bool {
        self.values.contains_key(&id.of_type())
    }

    /// The types of all that are there, with their names, in no order.
    pub(super) fn types(&self) -> impl Iterator<Item = (TypeId, &'static str)> {
        self.values
            .iter()
            .map(|(&of, resource)| (of, resource.name))
    }

    /// The value of a type that is not named, if it is there.
    pub(super) fn value(&self, of: TypeId) -> Option<&(dyn Any + Send + Sync)> {
        Some(self.values.get(&of)?.get())
    }

    /// Where the value of a type lies, if it is there. Whoever uses the pointer sees to it that nobody else
    /// does in a way that conflicts.
    pub(crate) fn find<T: Send + Sync + 'static>(&self) -> Option<NonNull<T>> {
        let resource = self.values.get(&TypeId::of::<T>())?;
        Some(resource.value.cast())
    }

    /// The same, for who lends it to be written.
    #[inline]
    pub(crate) fn find_to_write<T: Send + Sync + 'static>(&self) -> Option<NonNull<T>> {
        let resource = self.values.get(&TypeId::of::<T>())?;
        resource.life.write();
        Some(resource.value.cast())
    }

    /// Where a resource lies whose type is not known here.
    pub(crate) fn find_any(&self, id: ResourceId) -> Option<NonNull<dyn Any + Send + Sync>> {
        Some(self.values.get(&id.of_type())?.value)
    }

    /// The same of one that is lent to be written, as it is counted.
    pub(crate) fn find_any_to_write(
        &self,
        id: ResourceId,
    ) -> Option<NonNull<dyn Any + Send + Sync>> {
        let resource = self.values.get(&id.of_type())?;
        resource.life.write();
        Some(resource.value)
    }

    /// The state of the value of a type, if it is there.
    pub(crate) fn state_of<T: Send + Sync + 'static>(&self) -> Option<ResourceState> {
        let life = &self.values.get(&TypeId::of::<T>())?.life;
        Some(ResourceState {
            born: life.born,
            writes: life.writes(),
        })
    }

    /// Another number after each time that the value of a type was lent to be written, or another one came in its place, and
    /// a greater one; `None` if there is none. For who keeps what is made of it, as a processor that runs
    /// [if it has changed](crate::processor::ProcessorBuilder::run_if_changed) is. By how much it grows is not said; whoever is
    /// lent a value to be written counts, also if it is what it was, and what changes behind `&self` does not. It is of these
    /// resources: not saved, and nothing to those of another world. O(1), wait-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert("meadow".to_owned());
    /// let seen = world.resources().change_count::<String>();
    /// assert_eq!(world.resources().get::<String>().map(String::len), Some(6));
    /// assert_eq!(world.resources().change_count::<String>(), seen);
    /// world.resources_mut().get_mut::<String>().expect("it is there").push('s');
    /// assert!(world.resources().change_count::<String>() > seen);
    /// ```
    #[must_use]
    pub fn change_count<T: Send + Sync + 'static>(&self) -> Option<u64> {
        Some(self.values.get(&TypeId::of::<T>())?.life.writes())
    }

    /// The value of a type, to change, if it is there.
    #[must_use]
    pub fn get_mut<T: Send + Sync + 'static>(&mut self) -> Option<&mut T> {
        let resource = self.values.get_mut(&TypeId::of::<T>())?;
        resource.get_mut().downcast_mut()
    }

    /// The value of a type; `new` makes it if it is not there.
    pub fn get_or_insert_with<T: Send + Sync + 'static>(
        &mut self,
        new: impl FnOnce() -> T,
    ) -> &mut T {
        let entry = self.values.entry(TypeId::of::<T>());
        let (stamp, counted) = (&mut self.stamp, self.counted);
        let resource = entry.or_insert_with(|| {
            let value = new();
            *stamp = new_identity();
            let resource = Resource::new(value);
            resource.life.count_from(counted);
            resource
        });
        let name = resource.name;
        match resource.get_mut().downcast_mut() {
            Some(value) => value,
            None => unreachable!("a {name} stands under its type"),
        }
    }

    /// Whether there is a value of a type.
    #[must_use]
    pub fn contains<T: Send + Sync + 'static>(&self) -> bool {
        self.values.contains_key(&TypeId::of::<T>())
    }

    /// Which are there: as long as it is the same, the same are.
    #[inline]
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
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
    #[doc(alias = "insert_resource")]
    pub fn resources_mut(&mut self) -> &mut Resources {
        &mut self.resources
    }

    /// Lends a resource and the world that it is of, both to change; `None` if it is not there. Meanwhile the world does
    /// not have it; one that is put in its place ends when it comes back. Where it lies it stays.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Lost(Vec<Entity>);
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,))?;
    /// world.resources_mut().insert(Lost(vec![ant]));
    /// let destroyed = world.with_resource(|world, lost: &mut Lost| {
    ///     lost.0.drain(..).filter(|&entity| world.destroy(entity).is_ok()).count()
    /// });
    /// assert_eq!(destroyed, Some(1));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Panics
    /// If `with` panics; the resource is there again then.
    #[doc(alias = "resource_scope")]
    pub fn with_resource<T: Send + Sync + 'static, R>(
        &mut self,
        with: impl FnOnce(&mut Self, &mut T) -> R,
    ) -> Option<R> {
        with_lifted(self, |world| &mut world.resources, with)
    }
}

/// Lends a resource, and who has it among his resources, both to change.
pub(crate) fn with_lifted<O, T: Send + Sync + 'static, R>(
    owner: &mut O,
    resources: impl Fn(&mut O) -> &mut Resources,
    with: impl FnOnce(&mut O, &mut T) -> R,
) -> Option<R> {
    let mut lifted = resources(owner).lift::<T>()?;
    let (mut result, mut panicked) = (None, None);
    note(&mut panicked, || {
        let value = lifted.0.get_mut().downcast_mut();
        result = value.map(|value| with(owner, value));
    });
    let other = resources(owner).put_back::<T>(lifted);
    note(&mut panicked, || drop(other));
    resume(panicked);
    result
}
