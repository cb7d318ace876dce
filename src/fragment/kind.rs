//! What roles a type can play in an entity.

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::fragment::info::FragmentDraft;
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

    /// That of values of a type, as fragments of their own.
    pub(crate) const fn of<T>() -> Self {
        match size_of::<T>() {
            0 => Self::Tag,
            _ => Self::Fragment,
        }
    }

    /// How a registry is told that a type in this role is plain data.
    pub(crate) fn register_plain(self) -> &'static str {
        match self {
            Self::Fragment | Self::Tag => "register_plain",
            Self::Chunk => "register_plain::<PerChunk<…>>",
            Self::Shared => "register_plain::<Shared<…>>",
            Self::ConstShared => "register_plain::<ConstShared<…>>",
        }
    }

    /// How a registry is told how values of a type in this role are written, if they can be more than their bytes.
    pub(crate) fn register_written(self) -> Option<&'static str> {
        match self {
            Self::Fragment => Some("register_written_as"),
            Self::Tag | Self::Chunk => None,
            Self::Shared => Some("register_written_as::<Shared<…>, _, _>"),
            Self::ConstShared => Some("register_written_as::<ConstShared<…>, _, _>"),
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

/// A type in one of its roles, as whatever asks for one is told of it, a [registry](FragmentRegistry), a filter, a world: `T` is
/// the fragment or tag of that type, [`PerChunk<T>`], [`Shared<T>`] and [`ConstShared<T>`] are others, each with a number and a
/// name of its own. Who has a shared `T` has no fragment `T`:
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let ant = world.create((1_u32,).shared("red"))?;
/// assert!(world.has::<Shared<&str>>(ant)? && !world.has::<&str>(ant)?);
/// assert_eq!(world.query::<Entity, With<Shared<&str>>>()?.count(), 1);
/// assert!(world.remove::<Shared<&str>>(ant)?);
/// assert!(!world.has::<Shared<&str>>(ant)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```
/// use megachunk::fragment::{ConstShared, FragmentKind, FragmentRegistry, PerChunk, Shared};
///
/// let registry = FragmentRegistry::new();
/// assert_eq!(registry.register::<u32>()?.kind(), FragmentKind::Fragment);
/// assert_eq!(registry.register::<PerChunk<u32>>()?.kind(), FragmentKind::Chunk);
/// assert_eq!(registry.register::<Shared<u32>>()?.kind(), FragmentKind::Shared);
/// assert_eq!(registry.register::<ConstShared<u32>>()?.kind(), FragmentKind::ConstShared);
/// assert_eq!(registry.iter().count(), 4);
/// # Ok::<(), megachunk::fragment::FragmentError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type in a role that it can have",
    note = "what entities share is compared, `Shared<T>` and `ConstShared<T>`: `#[derive(PartialEq, Eq, Hash)]` for `T`; what \
            chunks begin with is cloned, `PerChunk<T>`: `#[derive(Clone)]`",
    note = "any `T` that is `Send + Sync + 'static` is a fragment"
)]
pub trait TypeInRole: sealed::Named + 'static {
    /// The type whose values play the role.
    type Value: Fragment;

    /// Which role that is.
    #[doc(hidden)]
    const KIND: FragmentKind;

    /// Marks the role, for what takes some of them.
    #[doc(hidden)]
    type Role: sealed::Role;

    /// The fragment that is registered, by this name or, if none is told, the type's, if it was not before.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`]; of a name also what is wrong with it.
    #[doc(hidden)]
    fn register_in<'r>(
        registry: &'r FragmentRegistry,
        name: Option<&str>,
    ) -> Result<&'r FragmentInfo, FragmentError>;
}

impl<T: Fragment> TypeInRole for T {
    type Value = T;

    const KIND: FragmentKind = FragmentKind::of::<T>();

    type Role = sealed::OfEntities;

    fn register_in<'r>(
        registry: &'r FragmentRegistry,
        name: Option<&str>,
    ) -> Result<&'r FragmentInfo, FragmentError> {
        registry.add_draft(FragmentDraft::fragment::<T>(), name)
    }
}

impl<T: Fragment + Clone> TypeInRole for PerChunk<T> {
    type Value = T;

    const KIND: FragmentKind = FragmentKind::Chunk;

    type Role = sealed::OfChunks;

    fn register_in<'r>(
        registry: &'r FragmentRegistry,
        name: Option<&str>,
    ) -> Result<&'r FragmentInfo, FragmentError> {
        registry.add_draft(FragmentDraft::chunk::<T>(), name)
    }
}

impl<T: SharedFragment> TypeInRole for Shared<T> {
    type Value = T;

    const KIND: FragmentKind = FragmentKind::Shared;

    type Role = sealed::OfMany;

    fn register_in<'r>(
        registry: &'r FragmentRegistry,
        name: Option<&str>,
    ) -> Result<&'r FragmentInfo, FragmentError> {
        registry.add_draft(FragmentDraft::shared::<T>(), name)
    }
}

impl<T: SharedFragment> TypeInRole for ConstShared<T> {
    type Value = T;

    const KIND: FragmentKind = FragmentKind::ConstShared;

    type Role = sealed::OfMany;

    fn register_in<'r>(
        registry: &'r FragmentRegistry,
        name: Option<&str>,
    ) -> Result<&'r FragmentInfo, FragmentError> {
        registry.add_draft(FragmentDraft::const_shared::<T>(), name)
    }
}

/// A role in which values can be more than their bytes: that of `T`, of [`Shared<T>`] and of [`ConstShared<T>`], and not that of
/// [`PerChunk<T>`]. A registry is told [how such are written](FragmentRegistry::register_written_as).
///
/// It is said of what marks the role and not of the types in it: of all `T` that are fragments it would be, too, and the compiler
/// would tell whoever has taken another why that is no fragment.
#[diagnostic::on_unimplemented(
    message = "how values of a chunk fragment are written nobody can say",
    label = "`PerChunk<T>` is plain data (`register_plain_as`) or left out of files"
)]
pub trait WrittenRole: sealed::Role {}

impl WrittenRole for sealed::OfEntities {}

impl WrittenRole for sealed::OfMany {}

/// There are four roles, three of which are named, and no more.
mod sealed {
    pub trait Named {}
    impl<T: super::Fragment> Named for T {}
    impl<T> Named for super::PerChunk<T> {}
    impl<T> Named for super::Shared<T> {}
    impl<T> Named for super::ConstShared<T> {}

    pub trait Role {}

    /// Each entity has a value of its own, or is tagged.
    #[derive(Debug)]
    pub enum OfEntities {}

    #[derive(Debug)]
    pub enum OfChunks {}

    /// Entities share a value, which can be changed or not.
    #[derive(Debug)]
    pub enum OfMany {}

    impl Role for OfEntities {}
    impl Role for OfChunks {}
    impl Role for OfMany {}
}

// What only names a role is no fragment itself: the registry knows a chunk fragment of type `T` by the type
// `PerChunk<T>`, and who could add a value of that as a fragment would be lent other values as a `T`. So it is not `Sync`.

/// The compiler names this where somebody takes for a fragment what only names one: what has a `NoFragment` is not
/// `Sync`, for this one's sake alone.
pub(crate) trait NamesARoleOrFilterAndIsNoFragment:
    Send + Unpin + UnwindSafe + RefUnwindSafe
{
}

/// In what names a role. It is never had; what it says to the compiler is that no other crate can ever make the role
/// `Sync`, so that [`TypeInRole`] can be implemented for it beside all fragments. (Of a `NoFragment` the standard library
/// could: it is a `PhantomData`, which is not fundamental, as a reference is.)
type NeverAFragment = &'static mut dyn NamesARoleOrFilterAndIsNoFragment;

/// In what only names a fragment in types: it is none itself.
#[cfg(not(loom))]
pub(crate) type NoFragment = PhantomData<dyn NamesARoleOrFilterAndIsNoFragment>;

/// Names `T` in its role as a chunk fragment, in types only: there is no value of it, and it is no fragment itself.
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.registry().register_clone::<PerChunk<String>>();
/// ```
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.query::<&PerChunk<String>, ()>();
/// ```
pub struct PerChunk<T>(
    PhantomData<fn() -> T>,
    #[expect(dead_code, reason = "nobody has one")] NeverAFragment,
    Infallible,
);

/// Names `T` in its role as a shared fragment, in types only: there is no value of it, and it is no fragment itself.
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.query::<&Shared<u64>, ()>();
/// ```
pub struct Shared<T>(
    PhantomData<fn() -> T>,
    #[expect(dead_code, reason = "nobody has one")] NeverAFragment,
    Infallible,
);

/// Names `T` in its role as a const shared fragment, in types only: there is no value of it, and it is no fragment
/// itself.
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.query::<&ConstShared<u64>, ()>();
/// ```
pub struct ConstShared<T>(
    PhantomData<fn() -> T>,
    #[expect(dead_code, reason = "nobody has one")] NeverAFragment,
    Infallible,
);

macro_rules! only_names {
    ($($role:ident),*) => {$(
        impl<T> UnwindSafe for $role<T> {}

        impl<T> $role<T> {
            /// Nobody has one.
            #[cfg(not(loom))]
            pub(super) fn never(&self) -> ! {
                match self.2 {}
            }
        }

        impl<T> fmt::Debug for $role<T> {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.2 {}
            }
        }
    )*};
}

only_names!(PerChunk, Shared, ConstShared);
