//! `QueryFilter`: which entities a query sees, without lending anything of them.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::archetype::{NO_COLUMN, Seeker, is_newer};
use crate::fragment::{Fragment, FragmentId, FragmentRegistry, FragmentSet};
use crate::query::{Access, ChunkView, QueryError, Requirements};

/// Which entities a query sees: [`With<T>`], [`Without<T>`], [`Any<(A, B)>`], [`Changed<T>`], [`Moved`], `()`,
/// and tuples of up to 8 of these, which must all agree.
pub trait QueryFilter {
    /// The fragments' numbers.
    #[doc(hidden)]
    type Ids: Clone + Send + Sync;
    /// Where they lie in the chunks of an archetype.
    #[doc(hidden)]
    type Columns: Copy + Send + Sync;

    /// Says what must be there.
    ///
    /// # Errors
    /// Fragments that cannot be registered.
    #[doc(hidden)]
    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<Self::Ids, QueryError>;

    /// Finds the fragments in the archetype where the seeker is, which meets the requirements.
    #[doc(hidden)]
    fn columns(ids: &Self::Ids, seeker: &mut Seeker<'_>) -> Self::Columns;

    /// Whether the query sees a chunk.
    #[doc(hidden)]
    fn sees(columns: Self::Columns, chunk: ChunkView<'_>) -> bool;
}

/// Entities that have the fragment or tag, switched on.
#[derive(Debug)]
pub struct With<T>(PhantomData<fn() -> T>, Infallible);

/// Entities that do not have the fragment or tag, or have it switched off.
#[derive(Debug)]
pub struct Without<T>(PhantomData<fn() -> T>, Infallible);

/// Entities that have one of a tuple's fragments or tags at least.
#[derive(Debug)]
pub struct Any<T>(PhantomData<fn() -> T>, Infallible);

/// Entities in chunks where the fragment was lent for writing, or got new values, since the query ran last.
#[derive(Debug)]
pub struct Changed<T>(PhantomData<fn() -> T>, Infallible);

/// Entities in chunks where entities came, went or changed rows since the query ran last.
#[derive(Debug)]
pub struct Moved(Infallible);

impl<T: Fragment> QueryFilter for With<T> {
    type Ids = ();
    type Columns = ();

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<(), QueryError> {
        requirements.all(registry.register::<T>()?.id(), Access::None);
        Ok(())
    }

    fn columns((): &(), _: &mut Seeker<'_>) {}

    #[inline(always)]
    fn sees((): (), _: ChunkView<'_>) -> bool {
        true
    }
}

impl<T: Fragment> QueryFilter for Without<T> {
    type Ids = ();
    type Columns = ();

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<(), QueryError> {
        requirements.none(registry.register::<T>()?.id());
        Ok(())
    }

    fn columns((): &(), _: &mut Seeker<'_>) {}

    #[inline(always)]
    fn sees((): (), _: ChunkView<'_>) -> bool {
        true
    }
}

impl<T: Fragment> QueryFilter for Changed<T> {
    type Ids = FragmentId;
    type Columns = u32;

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register::<T>()?.id();
        requirements.all(id, Access::None);
        Ok(id)
    }

    fn columns(&id: &FragmentId, seeker: &mut Seeker<'_>) -> u32 {
        seeker.find(id).map_or(NO_COLUMN, |having| having.column)
    }

    #[inline]
    fn sees(column: u32, chunk: ChunkView<'_>) -> bool {
        let version = if column == NO_COLUMN {
            // A tag changes by coming and going.
            chunk.chunk.filled_version
        } else {
            chunk.chunk.version(column as usize)
        };
        is_newer(version, chunk.since)
    }
}

impl QueryFilter for Moved {
    type Ids = ();
    type Columns = ();

    fn require(_: &FragmentRegistry, _: &mut Requirements) -> Result<(), QueryError> {
        Ok(())
    }

    fn columns((): &(), _: &mut Seeker<'_>) {}

    #[inline]
    fn sees((): (), chunk: ChunkView<'_>) -> bool {
        is_newer(chunk.chunk.order_version, chunk.since)
    }
}

impl QueryFilter for () {
    type Ids = ();
    type Columns = ();

    fn require(_: &FragmentRegistry, _: &mut Requirements) -> Result<(), QueryError> {
        Ok(())
    }

    fn columns((): &(), _: &mut Seeker<'_>) {}

    #[inline(always)]
    fn sees((): (), _: ChunkView<'_>) -> bool {
        true
    }
}

macro_rules! tuple {
    ($($part:ident $at:tt),*) => {
        impl<$($part: QueryFilter),*> QueryFilter for ($($part,)*) {
            type Ids = ($($part::Ids,)*);
            type Columns = ($($part::Columns,)*);

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<Self::Ids, QueryError> {
                Ok(($($part::require(registry, requirements)?,)*))
            }

            fn columns(ids: &Self::Ids, seeker: &mut Seeker<'_>) -> Self::Columns {
                ($($part::columns(&ids.$at, seeker),)*)
            }

            #[inline(always)]
            fn sees(columns: Self::Columns, chunk: ChunkView<'_>) -> bool {
                true $(&& $part::sees(columns.$at, chunk))*
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

macro_rules! any {
    ($($part:ident),*) => {
        impl<$($part: Fragment),*> QueryFilter for Any<($($part,)*)> {
            type Ids = ();
            type Columns = ();

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<(), QueryError> {
                let mut ids = FragmentSet::new();
                $(ids.insert(registry.register::<$part>()?.id());)*
                requirements.any(ids);
                Ok(())
            }

            fn columns((): &(), _: &mut Seeker<'_>) {}

            #[inline(always)]
            fn sees((): (), _: ChunkView<'_>) -> bool {
                true
            }
        }
    };
}

any!(A);
any!(A, B);
any!(A, B, C);
any!(A, B, C, D);
any!(A, B, C, D, E);
any!(A, B, C, D, E, F);
any!(A, B, C, D, E, F, G);
any!(A, B, C, D, E, F, G, H);
