//! `Prototype`: values that many entities begin with, prepared to be copied.
//!
//! Called by the template room, which builds one for each entity config, and by whoever creates many that are alike.
//!
//! A call that creates copies goes through three steps, so that it creates all or none: [`claim`] takes rows and ids
//! for all of them, [`fill`] writes the values, on all threads, and then observers are told. What users' code does
//! in between (`clone`s, closures) cannot see the world, which is lent to the call. An entity that is reserved gets
//! its id last ([`build`]). Copies of several that know each other ([`group`]) come to name each other in between.

mod build;
mod claim;
mod copies;
mod fill;
mod give;
mod group;
mod living;
#[cfg(test)]
mod tests;

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::archetype::copy_value;
use crate::fragment::{
    CloneValue, DynamicBundle, FillValues, FragmentError, FragmentId, FragmentInfo, FragmentKind,
    FragmentRegistry, FragmentSet, Pile, Value, Values, fill_bytes,
};
use crate::panics::refused;
use crate::world::WorldError;

pub(crate) use copies::Order;
pub(crate) use fill::{Filling, PAST, Target, WriteRows};
pub use group::Group;

/// The values of an entity in every role (fragments, tags, chunk fragments, shared ones), to be copied to as many new
/// entities as you like: [`World::create_copies`](crate::world::World::create_copies).
///
/// It keeps no world alive and belongs to none: all worlds of a universe can create its copies, from several threads
/// at once. Dropped, it drops its values, all of them, also if some panic; a shared value or a chunk fragment that
/// a world keeps goes with the last that has it.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Route(Vec<u32>);
///
/// let mut world = World::new();
/// let registry = world.registry();
/// let ant = Prototype::new(registry, DynamicBundle::new()
///     .with(Value::cloneable(registry, Route(vec![3, 1, 4]))?)
///     .with(Value::shared(registry, String::from("red"))?))?;
/// let ants = world.create_copies(&ant, 1_000)?;
/// let last = ants.iter(&world).last().unwrap();
/// assert_eq!(world.get::<Route>(last)?, &Route(vec![3, 1, 4]));
/// assert_eq!(world.shared::<String>(last)?, "red");
/// # Ok::<(), WorldError>(())
/// ```
///
/// Source: Unreal Mass' entity template; Unity DOTS' `Instantiate` of a prefab.
#[derive(Debug)]
#[doc(alias = "prefab")]
pub struct Prototype {
    /// Unique in the process: recorders remember by it how copies are made.
    number: u64,
    /// The number of the registry that its fragments stand in.
    registry: u64,
    /// All fragments, in the order of their numbers.
    ids: Box<[FragmentId]>,
    /// What lies in columns, in the order of its fragments.
    sources: Pile<Source>,
    /// What the chunks of a new archetype begin with, which worlds keep together with the prototype.
    once: Pile<Arc<Value>>,
    /// Shared values, in the order of their fragments, which worlds keep together with the prototype.
    shared: Pile<Arc<Value>>,
}

/// A value, and how a column is filled with it.
#[derive(Debug)]
struct Source {
    value: Value,
    way: Way,
}

/// Where a value of a prototype goes.
enum Role {
    Column(Way),
    /// A tag that needs no column.
    Nowhere,
    PerChunk,
    Shared,
}

impl Role {
    fn of(info: &FragmentInfo) -> Result<Self, WorldError> {
        match info.kind() {
            FragmentKind::Chunk => return Ok(Self::PerChunk),
            FragmentKind::Shared | FragmentKind::ConstShared => return Ok(Self::Shared),
            FragmentKind::Fragment | FragmentKind::Tag => {}
        }
        let has_column = info.layout().size() > 0 || info.drop_values().is_some();
        match Way::of(info) {
            Ok(way) if has_column => Ok(Self::Column(way)),
            Err(error) if has_column || !info.may_be_doubled() => Err(error),
            _ => Ok(Self::Nowhere),
        }
    }
}

/// How a column is filled with clones of a value.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Its bytes, again and again.
    Bytes,
    /// A loop that knows the type.
    Typed(FillValues),
    /// A call for each.
    Each(CloneValue),
}

impl Prototype {
    /// Prepares values to be copied. O(values). Those of an entity that is there: [`of`](Self::of).
    ///
    /// Fragments have to be [registered with `register_clone`](FragmentRegistry::register_clone) or
    /// as plain data, or defined with a clone function; tags of types, too (their `clone` is called
    /// only if they have a `Drop`). Shared values are not cloned: entities have them together.
    ///
    /// # Errors
    /// [`WorldError::NotCloneable`] names the fragment; [`FragmentError::OtherUniverse`] for a value of another registry;
    /// [`FragmentError::Twice`].
    pub fn new(registry: &FragmentRegistry, mut values: DynamicBundle) -> Result<Self, WorldError> {
        let ids = match values.sort(registry) {
            Ok(ids) => ids,
            Err(error) => return Err(refused(values, error.into())),
        };
        let roles = values.values.iter().map(|value| {
            let id = value.id();
            Role::of(registry.get(id).ok_or(FragmentError::Unknown { id })?)
        });
        let roles: Result<Vec<Role>, WorldError> = roles.collect();
        let roles = match roles {
            Ok(roles) => roles,
            Err(error) => return Err(refused(values, error)),
        };
        let (mut sources, mut once, mut shared) = (Pile::new(), Pile::new(), Pile::new());
        for (value, role) in values.values.into_vec().into_iter().zip(roles) {
            match role {
                Role::Column(way) => sources.push(Source { value, way }),
                // It has no `drop` either.
                Role::Nowhere => {}
                Role::PerChunk => once.push(Arc::new(value)),
                Role::Shared => shared.push(Arc::new(value)),
            }
        }
        Ok(Self {
            number: new_number(),
            registry: registry.identity(),
            ids: ids.into(),
            sources,
            once,
            shared,
        })
    }

    /// Its fragments in every role, in the order of their numbers.
    #[must_use]
    pub fn fragments(&self) -> &[FragmentId] {
        &self.ids
    }

    /// Whether it has this fragment: not if no registry gave out its number. O(log fragments).
    #[must_use]
    pub fn has(&self, fragment: FragmentId) -> bool {
        self.ids.binary_search(&fragment).is_ok()
    }

    /// The value of a fragment in whatever role; `None` if it has none, and for a tag. O(fragments).
    #[must_use]
    pub fn value<'a>(
        &'a self,
        registry: &'a FragmentRegistry,
        fragment: FragmentId,
    ) -> Option<Values<'a>> {
        let columns = self.sources.iter().map(|source| &source.value);
        let others = self.once.iter().chain(&self.shared);
        let others = others.map(|value| &**value);
        let value = columns.chain(others).find(|value| value.id() == fragment)?;
        let value = value.lend(registry).ok()?;
        (value.info().kind() != FragmentKind::Tag).then_some(value)
    }

    /// Its fragments as a set: the composition of its copies.
    #[must_use]
    pub fn composition(&self) -> FragmentSet {
        self.ids.iter().copied().collect()
    }

    /// Whether its fragments stand in this registry.
    #[must_use]
    pub fn is_of(&self, registry: &FragmentRegistry) -> bool {
        self.registry == registry.identity()
    }

    /// Its number, which no other prototype of the process has, nor will have.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// What the chunks of a new archetype begin with.
    pub(crate) fn per_chunk(&self) -> &[Arc<Value>] {
        &self.once
    }

    /// Shared and const shared values, in the order of their fragments.
    pub(crate) fn shared(&self) -> &[Arc<Value>] {
        &self.shared
    }

    /// Says so if it is of another registry, and so of another universe.
    pub(crate) fn refuse_foreign(&self, registry: &FragmentRegistry) -> Result<(), WorldError> {
        if self.is_of(registry) {
            return Ok(());
        }
        Err(WorldError::OtherUniverse)
    }

    /// Which of its sources fills the column of a fragment.
    fn source(&self, id: FragmentId) -> Option<usize> {
        let by_id = self
            .sources
            .binary_search_by_key(&id, |source| source.value.id());
        by_id.ok()
    }
}

/// A number that no prototype had before.
fn new_number() -> u64 {
    // Not one of the sync room's: it is no part of a protocol.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Ordering: only uniqueness matters.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Way {
    fn of(info: &FragmentInfo) -> Result<Self, WorldError> {
        if info.is_plain() && info.layout().size() > 0 {
            return Ok(Self::Bytes);
        }
        match (info.fill_values(), info.clone_value()) {
            (Some(fill), _) => Ok(Self::Typed(fill)),
            (None, Some(clone)) => Ok(Self::Each(clone)),
            (None, None) => Err(WorldError::NotCloneable {
                name: info.name().into(),
            }),
        }
    }
}

impl Source {
    /// Whether no users' code runs to clone it.
    fn is_bytes(&self) -> bool {
        matches!(self.way, Way::Bytes)
    }

    /// Clones the value to `count` rows from `to` on, past the caches if `past` says so, and counts in `made` those
    /// that have to be dropped if a clone panics.
    ///
    /// # Safety
    /// Room for so many values of the fragment, which hold none.
    #[inline(always)]
    unsafe fn fill(&self, to: *mut u8, count: usize, past: bool, made: &mut usize) {
        match (count, self.way) {
            (1, Way::Bytes) => {
                let from = self.value.as_ptr().cast_const();
                // SAFETY: the caller's; the value is nothing but its bytes.
                unsafe { copy_value(from, to, self.value.size() as u32) };
                *made = 1;
            }
            // SAFETY: the caller's.
            _ => unsafe { self.fill_many(to, count, past, made) },
        }
    }

    /// Where there is a call anyway.
    ///
    /// # Safety
    /// As for [`fill`](Self::fill).
    unsafe fn fill_many(&self, to: *mut u8, count: usize, past: bool, made: &mut usize) {
        let (from, size) = (self.value.as_ptr().cast_const(), self.value.size());
        match self.way {
            Way::Bytes => {
                // SAFETY: the caller's; the value is nothing but its bytes.
                unsafe { fill_bytes(from, size, to, count, past) };
                *made = count;
            }
            // SAFETY: the caller's; the function is the fragment's.
            Way::Typed(fill) => unsafe { fill(from, to, count, past, made) },
            Way::Each(clone) => {
                for at in 0..count {
                    // SAFETY: as above.
                    unsafe { clone(from, to.wrapping_add(at * size), size) };
                    *made = at + 1;
                }
            }
        }
    }
}
