//! What roles a type can play in an entity.

use core::fmt;
use core::marker::PhantomData;

/// Data of an entity: any `Send + Sync + 'static` type, without a derive.
///
/// A type of size zero is a *tag*: it takes no memory, only membership. The same type may play
/// several roles at once (a fragment here, a shared value there): they are different fragments to a
/// world, told apart by [`FragmentKind`].
#[doc(alias = "component")]
pub trait Fragment: Send + Sync + 'static {}

impl<T: Send + Sync + 'static> Fragment for T {}

/// A fragment that entities share: equal values are stored once, and entities with the same value lie in
/// the same chunks. Equality decides.
pub trait SharedFragment: Fragment + Eq + core::hash::Hash {}

impl<T: Fragment + Eq + core::hash::Hash> SharedFragment for T {}

/// The role of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

// What names a role is no fragment itself: to a registry it is the fragment that it names. `*const` takes `Send` and
// `Sync` away.

/// Names `T` in its role as a chunk fragment, in types only: there is no value of it, and it is no fragment itself.
///
/// ```compile_fail,E0277
/// use megachunk::fragment::PerChunk;
/// use megachunk::prelude::*;
///
/// let query = Query::<&u8, With<PerChunk<String>>>::new(&World::new());
/// ```
#[derive(Debug)]
pub struct PerChunk<T>(PhantomData<*const T>, core::convert::Infallible);

/// Names `T` in its role as a shared fragment, in types only: there is no value of it, and it is no fragment itself.
///
/// ```compile_fail,E0277
/// use megachunk::fragment::Shared;
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let ant = world.create(().shared(5_u64))?;
/// // A reference to what there is no value of.
/// let role = world.get::<Shared<u64>>(ant)?;
/// # Ok::<(), WorldError>(())
/// ```
#[derive(Debug)]
pub struct Shared<T>(PhantomData<*const T>, core::convert::Infallible);

/// Names `T` in its role as a const shared fragment, in types only: there is no value of it, and it is no fragment
/// itself.
///
/// ```compile_fail,E0277
/// use megachunk::fragment::{ConstShared, FragmentRegistry};
///
/// FragmentRegistry::new().register::<ConstShared<u64>>()?;
/// # Ok::<(), megachunk::fragment::FragmentError>(())
/// ```
#[derive(Debug)]
pub struct ConstShared<T>(PhantomData<*const T>, core::convert::Infallible);
