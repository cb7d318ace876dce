//! `QueryFilter`: which entities a query sees, without lending anything of them.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::archetype::{Cursor, Lists, NO_COLUMN, is_newer};
use crate::fragment::{
    Fragment, FragmentId, FragmentRegistry, FragmentSet, NoFragment, TypeInRole,
};
use crate::query::{Access, ChunkView, QueryError, Requirements};

mod or;

pub use or::{ChunkFilter, Or};
use sealed::Sealed;

/// Schedules decide once, by what filters ask for, who may run side by side: a filter must say the same each time.
mod sealed {
    pub trait Sealed {}
}

/// Which entities a query sees: [`With<T>`], [`Without<T>`], [`Any<(A, B)>`], [`Changed<T>`],
/// [`Moved`], [`Or<(Changed<A>, Changed<B>)>`](Or), `()`, and tuples of up to 8 of these, which must all agree.
///
/// The first three take a type in any of its [roles](TypeInRole). One that entities share, or that a
/// chunk has one of, is another fragment, which its role names:
/// `With<Team>` does not see who has a shared `Team`, `With<Shared<Team>>` does.
/// And a tuple would be a fragment type of its own there: `(Without<A>, Without<B>)` excludes what has
/// `A` or `B`, and `Without<(A, B)>` only what has the one fragment `(A, B)`, which is refused unless somebody has
/// [registered](crate::fragment::FragmentRegistry::register) it. A filter is no fragment.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.create((1_u8, 'a'))?;
/// assert_eq!(world.query::<Entity, (Without<u8>, Without<char>)>()?.count(), 0);
/// assert!(world.query::<Entity, Without<(u8, char)>>().is_err(), "nobody has such a pair");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let world = World::new();
/// let _ = Query::<Entity, Without<With<u8>>>::new(&world);
/// ```
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let world = World::new();
/// let _ = Query::<Entity, Any<(Changed<u8>, Changed<char>)>>::new(&world);
/// ```
///
/// Sealed: there are no others.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no filter of a query",
    label = "not a filter",
    note = "filters are `With<T>`, `Without<T>`, `Changed<T>`, `Moved`, `Any<(A, B)>`, `Or<(Changed<A>, Changed<B>)>`, \
            `()`, and tuples of up to 8; `T` may be shared, `With<Shared<T>>`; what is lent stands in one tuple before: \
            `QueryRun<(&A, Option<&B>), With<C>>`"
)]
pub trait QueryFilter: Sealed {
    /// It says by archetypes alone what the query sees: every chunk of those that match.
    #[doc(hidden)]
    const SEES_ALL: bool = false;
    /// The fragments' numbers.
    #[doc(hidden)]
    type Ids: Clone + Send + Sync + 'static;
    /// Walks the archetypes that have them.
    #[doc(hidden)]
    type Cursors<'a>;
    /// Where they lie in the chunks of an archetype.
    #[doc(hidden)]
    type Columns: Copy + Send + Sync + 'static;

    /// Says what must be there.
    ///
    /// # Errors
    /// Fragments that cannot be registered.
    #[doc(hidden)]
    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<Self::Ids, QueryError>;

    /// Begins to walk the archetypes.
    #[doc(hidden)]
    fn cursors<'a>(ids: &Self::Ids, lists: Lists<'a>) -> Self::Cursors<'a>;

    /// Finds the fragments in an archetype, later than the one before, which meets the requirements.
    #[doc(hidden)]
    fn columns(cursors: &mut Self::Cursors<'_>, archetype: u32) -> Self::Columns;

    /// Whether the query sees a chunk.
    #[doc(hidden)]
    fn sees(columns: Self::Columns, chunk: ChunkView<'_>) -> bool;
}

/// What observers may be asked for: filters that ask what an entity has, and not when that has changed. [`With<T>`],
/// [`Without<T>`], [`Any<(A, B)>`], `()`, and tuples of these.
///
/// ```
/// use megachunk::observer::ObserverId;
/// use megachunk::prelude::*;
/// use megachunk::query::CompositionFilter;
///
/// /// How many have come that `F` matches.
/// fn count<F: CompositionFilter>(world: &mut World) -> Result<ObserverId, QueryError> {
///     world.resources_mut().insert(0_usize);
///     world.observe::<u32, F>(Observed::COME, |batch, _| {
///         *batch.resources_mut().get_mut::<usize>().unwrap() += batch.len();
///     })
/// }
///
/// let mut world = World::new();
/// count::<Without<char>>(&mut world)?;
/// world.create((1_u32,))?;
/// world.create((2_u32, 'a'))?;
/// assert_eq!(world.resources().get::<usize>(), Some(&1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.observe::<u32, Changed<u32>>(Observed::COME, |_, _| {});
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no filter of an observer",
    label = "asks for more than what an entity has",
    note = "`Changed<Velocity>` and `Moved` ask when something has changed, and observers hear of what comes and goes: they are asked \
            for `With<T>`, `Without<T>`, `Any<(A, B)>`, `()`, and tuples of these"
)]
pub trait CompositionFilter: QueryFilter {}

// What only names a fragment in types is no fragment itself, as with `Shared`: not `Sync`.

/// Entities that have a type in one of its [roles](TypeInRole); a fragment or tag switched on.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(PartialEq, Eq, Hash)]
/// struct Team(u8);
///
/// let mut world = World::new();
/// let red = world.create((1_u32,).shared(Team(1)))?;
/// let none = world.create((2_u32,))?;
/// let in_team = world.query::<Entity, With<Shared<Team>>>()?.single();
/// assert_eq!(in_team, Some(red));
/// let in_none = world.query::<Entity, Without<Shared<Team>>>()?.single();
/// assert_eq!(in_none, Some(none));
/// assert_eq!(world.query::<Entity, With<Team>>()?.count(), 0, "nobody has a fragment of that type");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Whole chunks are lent with rows where it is [switched off](crate::query::Enabled), too: see
/// [`QueryRun::for_each_chunk`](crate::query::QueryRun::for_each_chunk), and
/// [`QueryRun::par_for_each_slice`](crate::query::QueryRun::par_for_each_slice) for rows where it is on.
#[derive(Debug)]
pub struct With<T>(PhantomData<fn() -> T>, NoFragment, Infallible);

/// Entities that do not have a type in one of its [roles](TypeInRole), or have the fragment or tag switched off.
///
/// Whole chunks are lent with rows where it is on, too, if it can be [switched off](crate::query::Enabled): see
/// [`QueryRun::for_each_chunk`](crate::query::QueryRun::for_each_chunk).
#[derive(Debug)]
pub struct Without<T>(PhantomData<fn() -> T>, NoFragment, Infallible);

/// Entities that have one at least of a tuple's types, each in one of its [roles](TypeInRole), a fragment or tag switched on;
/// whole chunks are lent with others, too, as for [`With`].
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.create((1_u32,).shared("red"))?;
/// world.create((2_u32, 'a'))?;
/// world.create((3_u32,))?;
/// assert_eq!(world.query::<Entity, Any<(Shared<&str>, char)>>()?.count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Any<T>(PhantomData<fn() -> T>, NoFragment, Infallible);

/// Entities in chunks where the fragment was lent for writing, or got new values, since the query ran last. Other roles
/// have no such version; an entity whose shared value changes goes to another chunk, which [`Moved`] sees.
///
/// A run counts from the moment at which it is begun, by [`Query::on`](crate::query::Query::on) or
/// as a processor's parameter: also one that is dropped, or only says how many there are. A
/// processor that returns early has had its turn.
///
/// A processor may write the fragment by one of its queries and look for changes by another. What it writes in a run, the
/// other finds in that run only, and in those chunks that it has not come to by then: with parallel loops that is
/// chance. Two processors, one after the other, do not have that.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.create((1_u8,))?;
/// let mut changed = Query::<&u8, Changed<u8>>::new(&world)?;
/// assert_eq!(changed.on(&mut world).count(), 1);
/// assert_eq!(changed.on(&mut world).count(), 0, "the first run has counted it, and that was its turn");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// To a new query everything has changed, and [`World::query`](crate::world::World::query),
/// [`World::read`](crate::world::World::read) and
/// [`World::matching`](crate::world::World::matching) are as new each time. Who uses them keeps
/// the [version](crate::world::World::version) of the run before, and says it:
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let ant = world.create((1_u8,))?;
/// // That of the run that comes next.
/// let before = world.version();
/// assert_eq!(world.query::<&u8, Changed<u8>>()?.count(), 1);
/// assert_eq!(world.query::<&u8, Changed<u8>>()?.count(), 1, "it is another query");
/// assert_eq!(world.query::<&u8, Changed<u8>>()?.since(before).count(), 0);
/// *world.get_mut::<u8>(ant)? = 2;
/// assert_eq!(world.query::<&u8, Changed<u8>>()?.since(before).count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[doc(alias = "change detection")]
pub struct Changed<T>(PhantomData<fn() -> T>, NoFragment, Infallible);

/// The column of a fragment that an archetype does not have. Only where one of several is asked for.
const ABSENT: u32 = NO_COLUMN - 1;

/// Entities in chunks where entities came, went or changed rows since the query ran last. To a new query everything has
/// moved: what [`Changed`] says of calls that make one each time holds here, too.
#[derive(Debug)]
pub struct Moved(NoFragment, Infallible);

/// Implements a filter that asks of an archetype's composition, and of nothing in its chunks.
macro_rules! asks_of_composition {
    ($filter:ident<$t:ident: $bound:path>, |$registry:ident, $requirements:ident| $require:expr) => {
        impl<$t: $bound> Sealed for $filter<$t> {}

        impl<$t: $bound> CompositionFilter for $filter<$t> {}

        impl<$t: $bound> QueryFilter for $filter<$t> {
            const SEES_ALL: bool = true;

            type Ids = ();
            type Cursors<'a> = ();
            type Columns = ();

            fn require(
                $registry: &FragmentRegistry,
                $requirements: &mut Requirements,
            ) -> Result<(), QueryError> {
                $require;
                Ok(())
            }

            fn cursors<'a>((): &(), _: Lists<'a>) {}

            #[inline(always)]
            fn columns((): &mut (), _: u32) {}

            #[inline(always)]
            fn sees((): (), _: ChunkView<'_>) -> bool {
                true
            }
        }
    };
}
asks_of_composition!(With<T: TypeInRole>, |registry, requirements| {
    requirements.all(registry.register_met::<T>()?.id(), Access::None)
});
asks_of_composition!(Without<T: TypeInRole>, |registry, requirements| {
    requirements.none(registry.register_met::<T>()?.id())
});

impl<T: Fragment> Sealed for Changed<T> {}

impl<T: Fragment> QueryFilter for Changed<T> {
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = u32;

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register_met::<T>()?.id();
        requirements.watch(id);
        Ok(id)
    }

    fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
        lists.cursor(id)
    }

    #[inline(always)]
    fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> u32 {
        cursor
            .find(archetype)
            .map_or(ABSENT, |having| having.column)
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

impl Sealed for Moved {}

impl QueryFilter for Moved {
    type Ids = ();
    type Cursors<'a> = ();
    type Columns = ();

    fn require(_: &FragmentRegistry, requirements: &mut Requirements) -> Result<(), QueryError> {
        requirements.watch_order();
        Ok(())
    }

    fn cursors<'a>((): &(), _: Lists<'a>) {}

    #[inline(always)]
    fn columns((): &mut (), _: u32) {}

    #[inline]
    fn sees((): (), chunk: ChunkView<'_>) -> bool {
        is_newer(chunk.chunk.order_version, chunk.since)
    }
}

impl Sealed for () {}

impl CompositionFilter for () {}

impl QueryFilter for () {
    const SEES_ALL: bool = true;

    type Ids = ();
    type Cursors<'a> = ();
    type Columns = ();

    fn require(_: &FragmentRegistry, _: &mut Requirements) -> Result<(), QueryError> {
        Ok(())
    }

    fn cursors<'a>((): &(), _: Lists<'a>) {}

    #[inline(always)]
    fn columns((): &mut (), _: u32) {}

    #[inline(always)]
    fn sees((): (), _: ChunkView<'_>) -> bool {
        true
    }
}

macro_rules! tuple {
    ($($part:ident $at:tt),*) => {
        impl<$($part: QueryFilter),*> Sealed for ($($part,)*) {}

        impl<$($part: CompositionFilter),*> CompositionFilter for ($($part,)*) {}

        impl<$($part: QueryFilter),*> QueryFilter for ($($part,)*) {
            const SEES_ALL: bool = true $(&& $part::SEES_ALL)*;

            type Ids = ($($part::Ids,)*);
            type Cursors<'a> = ($($part::Cursors<'a>,)*);
            type Columns = ($($part::Columns,)*);

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<Self::Ids, QueryError> {
                Ok(($($part::require(registry, requirements)?,)*))
            }

            fn cursors<'a>(ids: &Self::Ids, lists: Lists<'a>) -> Self::Cursors<'a> {
                ($($part::cursors(&ids.$at, lists),)*)
            }

            #[inline(always)]
            fn columns(cursors: &mut Self::Cursors<'_>, archetype: u32) -> Self::Columns {
                ($($part::columns(&mut cursors.$at, archetype),)*)
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
        impl<$($part: TypeInRole),*> Sealed for Any<($($part,)*)> {}

        impl<$($part: TypeInRole),*> CompositionFilter for Any<($($part,)*)> {}

        impl<$($part: TypeInRole),*> QueryFilter for Any<($($part,)*)> {
            const SEES_ALL: bool = true;

            type Ids = ();
            type Cursors<'a> = ();
            type Columns = ();

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<(), QueryError> {
                let mut ids = FragmentSet::new();
                $(ids.insert(registry.register_met::<$part>()?.id());)*
                requirements.any(ids);
                Ok(())
            }

            fn cursors<'a>((): &(), _: Lists<'a>) {}

            #[inline(always)]
            fn columns((): &mut (), _: u32) {}

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
