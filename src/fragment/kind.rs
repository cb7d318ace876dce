//! What roles a type can play in an entity.

use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

#[cfg(not(loom))]
use crate::fragment::{Bundle, WithConstShared, WithPerChunk, WithShared};
use crate::fragment::{FragmentError, FragmentInfo, FragmentRegistry};

/// Data of an entity: any `Send + Sync + 'static` type, without a derive.
///
/// A type of size zero is a *tag*: it takes no memory, only membership. The same type may play
/// several roles at once (a fragment here, a shared value there): they are different fragments to a
/// world, told apart by [`FragmentKind`].
#[doc(alias = "component")]
pub trait Fragment: Send + Sync + 'static {}

impl<T: Send + Sync + 'static> Fragment for T {}

/// A fragment that entities share: equal values are stored once, and entities with the same value lie in
/// the same chunks. Equality decides: what `Eq` and `Hash` say of a value must not change while a world, or a checkpoint of
/// one, has it. (If it does, nothing is unsound: equal values may be two, and a world may refuse to
/// [go back](crate::world::CheckpointError::EqualNow).)
///
/// Entities with different values lie in different chunks, of 16 KiB each or more, in each composition: shared values are
/// for what many have alike (a mesh, a faction, a region of the map). What nearly every entity has its own of is a
/// [`Fragment`]: a million distinct values take 16 GB, and a query would look into a million chunks.
///
/// A value ends where an equal one is there already, which then stays, or where its last entity has gone: in the middle of
/// some change, where there is nobody to give a panic to. If its `drop` panics there, the change is done as if it had not,
/// and an event of [`tracing`] (an error) is all that is left of the panic. The `drop`s of those that a world has when it
/// ends may panic as others do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a shared value",
    note = "shared values are compared: `#[derive(PartialEq, Eq, Hash)]`"
)]
#[doc(alias = "ISharedComponentData")]
pub trait SharedFragment: Fragment + Eq + core::hash::Hash {}

impl<T: Fragment + Eq + core::hash::Hash> SharedFragment for T {}

/// The role of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FragmentKind {
    /// One value an entity.
    Fragment,
    /// Membership without a value: a fragment of size zero.
    Tag,
    /// One value a chunk.
    Chunk,
    /// One value for all entities that have an equal one; can be changed.
    Shared,
    /// One value for all entities that have an equal one; can not be changed.
    ConstShared,
}

impl FragmentKind {
    /// Each of them.
    #[cfg(not(loom))]
    pub(crate) const ALL: [Self; 5] = [
        Self::Fragment,
        Self::Tag,
        Self::Chunk,
        Self::Shared,
        Self::ConstShared,
    ];

    /// The registry's call that says that a type in this role is plain data.
    pub(crate) fn register_plain(self) -> &'static str {
        match self {
            Self::Fragment | Self::Tag => "register_plain",
            Self::Chunk => "register_plain_chunk",
            Self::Shared => "register_plain_shared",
            Self::ConstShared => "register_plain_const_shared",
        }
    }

    /// The registry's call that says how values of a type in this role are written, if they can be more than their bytes.
    pub(crate) fn register_written(self) -> Option<&'static str> {
        match self {
            Self::Fragment => Some("register_written_as"),
            Self::Tag | Self::Chunk => None,
            Self::Shared => Some("register_written_shared_as"),
            Self::ConstShared => Some("register_written_const_shared_as"),
        }
    }
}

impl fmt::Display for FragmentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fragment => "fragment",
            Self::Tag => "tag",
            Self::Chunk => "chunk fragment",
            Self::Shared => "shared fragment",
            Self::ConstShared => "const shared fragment",
        })
    }
}

/// Names a type in a role, in types only: [`PerChunk<T>`], [`Shared<T>`], [`ConstShared<T>`].
///
/// A role is part of what is named: `T` alone is the fragment or tag of that type, and who has a shared `T` has no such
/// fragment. Filters and questions that name a role are [`WithRole`](crate::query::WithRole),
/// [`WithoutRole`](crate::query::WithoutRole), [`HasRole`](crate::query::HasRole) and
/// [`World::has_role`](crate::world::World::has_role); [`World::remove_role`](crate::world::World::remove_role) takes away
/// what plays one. (One name for all, `With<Shared<T>>`, cannot be: whether
/// `Shared<T>` will never be a fragment is more than the language lets a crate say.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no role",
    note = "roles are `Shared<T>`, `ConstShared<T>` and `PerChunk<T>`; a fragment or tag needs none: `With<T>`, `Without<T>`, `Has<T>`"
)]
pub trait FragmentRole: sealed::Sealed + 'static {
    /// The bundle that gives this, and nothing else.
    #[cfg(not(loom))]
    #[doc(hidden)]
    type Alone: Bundle;

    /// The number of the type in this role.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    #[doc(hidden)]
    fn register(registry: &FragmentRegistry) -> Result<&FragmentInfo, FragmentError>;
}

/// There are three roles, and no more.
mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::PerChunk<T> {}
    impl<T> Sealed for super::Shared<T> {}
    impl<T> Sealed for super::ConstShared<T> {}
}

impl<T: Fragment + Clone> FragmentRole for PerChunk<T> {
    #[cfg(not(loom))]
    type Alone = WithPerChunk<(), T>;

    fn register(registry: &FragmentRegistry) -> Result<&FragmentInfo, FragmentError> {
        registry.register_chunk::<T>()
    }
}

impl<T: SharedFragment> FragmentRole for Shared<T> {
    #[cfg(not(loom))]
    type Alone = WithShared<(), T>;

    fn register(registry: &FragmentRegistry) -> Result<&FragmentInfo, FragmentError> {
        registry.register_shared::<T>()
    }
}

impl<T: SharedFragment> FragmentRole for ConstShared<T> {
    #[cfg(not(loom))]
    type Alone = WithConstShared<(), T>;

    fn register(registry: &FragmentRegistry) -> Result<&FragmentInfo, FragmentError> {
        registry.register_const_shared::<T>()
    }
}

// What only names a role is no fragment itself: the registry knows a chunk fragment of type `T` by the type
// `PerChunk<T>`, and who could register that as a fragment would be lent other values as a `T`. So it is not `Sync`.

/// The compiler names this where somebody takes for a fragment what only names one: what has a [`NoFragment`] is not
/// `Sync`, for this one's sake alone.
pub(crate) trait NamesARoleOrFilterAndIsNoFragment:
    Send + Unpin + UnwindSafe + RefUnwindSafe
{
}

/// In what only names a fragment in types: it is none itself.
pub(crate) type NoFragment = PhantomData<dyn NamesARoleOrFilterAndIsNoFragment>;

/// Names `T` in its role as a chunk fragment, in types only: there is no value of it, and it is no fragment itself.
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.registry().register::<PerChunk<String>>();
/// ```
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.query::<&PerChunk<String>, ()>();
/// ```
#[derive(Debug)]
pub struct PerChunk<T>(
    PhantomData<fn() -> T>,
    NoFragment,
    core::convert::Infallible,
);

/// Names `T` in its role as a shared fragment, in types only: there is no value of it, and it is no fragment itself.
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.registry().register::<Shared<u64>>();
/// ```
#[derive(Debug)]
pub struct Shared<T>(
    PhantomData<fn() -> T>,
    NoFragment,
    core::convert::Infallible,
);

/// Names `T` in its role as a const shared fragment, in types only: there is no value of it, and it is no fragment
/// itself.
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.registry().register::<ConstShared<u64>>();
/// ```
#[derive(Debug)]
pub struct ConstShared<T>(
    PhantomData<fn() -> T>,
    NoFragment,
    core::convert::Infallible,
);
