//! Resources of queries: values that a world has once, lent beside the entities.

use core::any::{TypeId, type_name};
use core::hash::{Hash, Hasher};

use sealed::Sealed;

use crate::query::QueryError;
use crate::world::Resources;

/// Which resources a query reads and writes: what a scheduler has to know of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAccess {
    reads: Vec<ResourceId>,
    writes: Vec<ResourceId>,
}

/// The type of a resource.
#[derive(Clone, Copy, Debug)]
pub struct ResourceId {
    id: TypeId,
    name: &'static str,
}

impl ResourceId {
    /// The number of a type.
    #[must_use]
    pub fn of<T: Send + Sync + 'static>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            name: type_name::<T>(),
        }
    }

    /// A type that is called so.
    pub(crate) fn new(id: TypeId, name: &'static str) -> Self {
        Self { id, name }
    }

    /// The type.
    #[must_use]
    pub fn of_type(self) -> TypeId {
        self.id
    }

    /// The type's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }
}

impl PartialEq for ResourceId {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for ResourceId {}

impl Hash for ResourceId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl ResourceAccess {
    /// Says that a resource is read.
    pub fn read(&mut self, resource: ResourceId) {
        self.reads.push(resource);
    }

    /// Says that a resource is written.
    pub fn write(&mut self, resource: ResourceId) {
        self.writes.push(resource);
    }

    /// Says that what another asks for is read and written, too, each once. The two do not conflict.
    pub(crate) fn extend(&mut self, other: &Self) {
        for &resource in &other.reads {
            if !self.reads.contains(&resource) {
                self.reads.push(resource);
            }
        }
        // Who else writes one conflicts.
        self.writes.extend_from_slice(&other.writes);
    }

    /// The resources that are read.
    #[must_use]
    pub fn reads(&self) -> &[ResourceId] {
        &self.reads
    }

    /// The resources that are written.
    #[must_use]
    pub fn writes(&self) -> &[ResourceId] {
        &self.writes
    }

    /// A resource that one of two writes, and the other reads or writes.
    pub(crate) fn conflict_with(&self, other: &Self) -> Option<ResourceId> {
        let meets = |writes: &[ResourceId], other: &Self| {
            let touched = |id: &&ResourceId| other.reads.contains(id) || other.writes.contains(id);
            writes.iter().find(touched).copied()
        };
        meets(&self.writes, other).or_else(|| meets(&other.writes, self))
    }

    /// Whether one of two writes what the other reads or writes: then they cannot run at one time.
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.conflict_with(other).is_some()
    }

    /// Whether each resource stands there once.
    pub(super) fn check(&self) -> Result<(), QueryError> {
        for (at, id) in self.writes.iter().enumerate() {
            if self.reads.contains(id) || self.writes[..at].contains(id) {
                return Err(QueryError::Conflict {
                    name: id.name.into(),
                    once: "as `&mut`",
                });
            }
        }
        for (at, id) in self.reads.iter().enumerate() {
            if self.reads[..at].contains(id) {
                return Err(QueryError::ResourceTwice {
                    name: id.name.into(),
                });
            }
        }
        Ok(())
    }
}

/// Schedules decide once, by what is asked for, who may run side by side: it must be the same each time.
mod sealed {
    pub trait Sealed {}
}

/// Resources that a query lends beside its entities: `&T`, `&mut T`, `Option` of these, and tuples of up to 8.
///
/// Sealed: there are no others.
///
/// # Safety
/// `require` says all that `lend` lends.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no resource that a query can lend",
    note = "resources are lent as `&T` or `&mut T`"
)]
pub unsafe trait QueryResources: Sealed {
    /// What is lent.
    type Item<'w>;

    /// Says what is lent.
    #[doc(hidden)]
    fn require(access: &mut ResourceAccess);

    /// Lends it.
    ///
    /// # Errors
    /// [`QueryError::NoResource`].
    ///
    /// # Safety
    /// For `'w` nobody else has what `require` says in a way that conflicts, and no resource comes or goes.
    #[doc(hidden)]
    unsafe fn lend<'w>(resources: &'w Resources) -> Result<Self::Item<'w>, QueryError>;

    /// What is not there of what would be lent. Nothing is lent.
    #[doc(hidden)]
    fn missing(resources: &Resources) -> Option<QueryError>;
}

/// Resources that are only read: such queries need only `&World`.
///
/// # Safety
/// No access for writing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no resource that is only read",
    label = "taken as `&T` or `Option<&T>`",
    note = "what only reads, a condition or a query on `&World`, takes resources as `&T`, `Option<&T>` and tuples of these; they are \
            `Send + Sync + 'static`"
)]
pub unsafe trait ReadOnlyResources: QueryResources {}

#[cold]
fn missing<T>() -> QueryError {
    QueryError::NoResource {
        name: type_name::<T>().into(),
    }
}

impl<T: Send + Sync + 'static> Sealed for &T {}

// SAFETY: asks to read the value, and lends it to be read.
unsafe impl<T: Send + Sync + 'static> QueryResources for &T {
    type Item<'w> = &'w T;

    fn require(access: &mut ResourceAccess) {
        access.read(ResourceId::of::<T>());
    }

    unsafe fn lend(resources: &Resources) -> Result<&T, QueryError> {
        let value = resources.find::<T>().ok_or_else(missing::<T>)?;
        // SAFETY: the caller's: nobody writes it.
        Ok(unsafe { value.as_ref() })
    }

    fn missing(resources: &Resources) -> Option<QueryError> {
        (!resources.contains::<T>()).then(missing::<T>)
    }
}
// SAFETY: reads.
unsafe impl<T: Send + Sync + 'static> ReadOnlyResources for &T {}

impl<T: Send + Sync + 'static> Sealed for &mut T {}

// SAFETY: asks to write the value, and lends it to be written.
unsafe impl<T: Send + Sync + 'static> QueryResources for &mut T {
    type Item<'w> = &'w mut T;

    fn require(access: &mut ResourceAccess) {
        access.write(ResourceId::of::<T>());
    }

    unsafe fn lend(resources: &Resources) -> Result<&mut T, QueryError> {
        let mut value = resources.find_to_write::<T>().ok_or_else(missing::<T>)?;
        // SAFETY: the caller's: nobody else has it.
        Ok(unsafe { value.as_mut() })
    }

    fn missing(resources: &Resources) -> Option<QueryError> {
        (!resources.contains::<T>()).then(missing::<T>)
    }
}

impl<R: QueryResources> Sealed for Option<R> {}

// SAFETY: asks for what its part asks for, and lends that or nothing.
unsafe impl<R: QueryResources> QueryResources for Option<R> {
    type Item<'w> = Option<R::Item<'w>>;

    fn require(access: &mut ResourceAccess) {
        R::require(access);
    }

    unsafe fn lend<'w>(resources: &'w Resources) -> Result<Self::Item<'w>, QueryError> {
        // SAFETY: the caller's.
        Ok(unsafe { R::lend(resources) }.ok())
    }

    fn missing(_: &Resources) -> Option<QueryError> {
        None
    }
}
// SAFETY: its part only reads.
unsafe impl<R: ReadOnlyResources> ReadOnlyResources for Option<R> {}

macro_rules! tuple {
    ($($part:ident)*) => {
        impl<$($part: QueryResources),*> Sealed for ($($part,)*) {}

        // SAFETY: asks for what its parts ask for, and lends that.
        unsafe impl<$($part: QueryResources),*> QueryResources for ($($part,)*) {
            type Item<'w> = ($($part::Item<'w>,)*);

            fn require(access: &mut ResourceAccess) {
                let _ = &access;
                $($part::require(access);)*
            }

            unsafe fn lend<'w>(resources: &'w Resources) -> Result<Self::Item<'w>, QueryError> {
                let _ = resources;
                // SAFETY: the caller's; `ResourceAccess::check` has seen to it that no two lend the same.
                Ok(($(unsafe { $part::lend(resources)? },)*))
            }

            fn missing(resources: &Resources) -> Option<QueryError> {
                let _ = resources;
                let missing = None;
                $(let missing = missing.or_else(|| $part::missing(resources));)*
                missing
            }
        }
        // SAFETY: no part writes.
        unsafe impl<$($part: ReadOnlyResources),*> ReadOnlyResources for ($($part,)*) {}
    };
}

tuple!();
tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);
tuple!(A B C D E F G);
tuple!(A B C D E F G H);
