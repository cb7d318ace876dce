//! `Or`: of several filters of chunks one is enough.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::archetype::Lists;
use crate::fragment::{Fragment, FragmentRegistry, FragmentSet, NoFragment};
use crate::query::filter::{ABSENT, Sealed};
use crate::query::{Changed, ChunkView, Moved, QueryError, QueryFilter, Requirements};

/// Entities in chunks that one of a tuple's filters sees at least: [`Changed<T>`] and [`Moved`], up to 8.
///
/// One of the fragments must be there, and switched on, but if [`Moved`] is among the filters; an entity without one of
/// them is seen for the sake of the others. Fragments of which one must be there, whatever has changed, are
/// [`Any<(A, B)>`](crate::query::Any).
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Place(f32);
/// struct Size(f32);
///
/// let mut world = World::new();
/// let ant = world.create((Place(0.0), Size(1.0)))?;
/// let stone = world.create((Place(5.0),))?;
/// let mut redrawn = Query::<Entity, Or<(Changed<Place>, Changed<Size>)>>::new(&world)?;
/// let mut seen = |world: &mut World| redrawn.on(world).iter().collect::<Vec<_>>();
/// assert_eq!(seen(&mut world), [ant, stone], "all is new");
/// world.get_mut::<Size>(ant)?.0 = 2.0;
/// assert_eq!(seen(&mut world), [ant]);
/// world.get_mut::<Place>(stone)?.0 = 6.0;
/// assert_eq!(seen(&mut world), [stone]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let world = World::new();
/// let _ = Query::<Entity, Or<(With<u8>, Changed<char>)>>::new(&world);
/// ```
///
/// Source: the change filter of Unity DOTS, which takes two types.
#[derive(Debug)]
pub struct Or<T>(PhantomData<fn() -> T>, NoFragment, Infallible);

/// What may stand in an [`Or`]: [`Changed<T>`] and [`Moved`], which see whole chunks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not see whole chunks",
    label = "cannot stand in an `Or`",
    note = "an `Or` takes `Changed<T>` and `Moved`; to ask for one of several fragments, use `Any<(A, B)>`"
)]
pub trait ChunkFilter: QueryFilter {
    /// Says what is watched; what must be there, if nothing else does, goes to `one_of`, and whether that is enough is
    /// said.
    #[doc(hidden)]
    fn watch(
        registry: &FragmentRegistry,
        one_of: &mut FragmentSet,
    ) -> Result<(Self::Ids, bool), QueryError>;

    /// Whether what it asks about is in the archetype.
    #[doc(hidden)]
    fn is_there(columns: Self::Columns) -> bool;
}

impl<T: Fragment> ChunkFilter for Changed<T> {
    fn watch(
        registry: &FragmentRegistry,
        one_of: &mut FragmentSet,
    ) -> Result<(Self::Ids, bool), QueryError> {
        let id = registry.register_met::<T>()?.id();
        one_of.insert(id);
        Ok((id, true))
    }

    #[inline(always)]
    fn is_there(column: u32) -> bool {
        column != ABSENT
    }
}

impl ChunkFilter for Moved {
    fn watch(_: &FragmentRegistry, _: &mut FragmentSet) -> Result<(Self::Ids, bool), QueryError> {
        Ok(((), false))
    }

    #[inline(always)]
    fn is_there((): ()) -> bool {
        true
    }
}

macro_rules! or {
    ($($part:ident $at:tt),*) => {
        impl<$($part: ChunkFilter),*> Sealed for Or<($($part,)*)> {}

        impl<$($part: ChunkFilter),*> QueryFilter for Or<($($part,)*)> {
            type Ids = ($($part::Ids,)*);
            type Cursors<'a> = ($($part::Cursors<'a>,)*);
            type Columns = ($($part::Columns,)*);

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<Self::Ids, QueryError> {
                let mut one_of = FragmentSet::new();
                let parts = ($($part::watch(registry, &mut one_of)?,)*);
                let must_be_there = true $(&& parts.$at.1)*;
                requirements.watch_one_of(one_of, must_be_there);
                Ok(($(parts.$at.0,)*))
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
                false $(|| $part::is_there(columns.$at) && $part::sees(columns.$at, chunk))*
            }
        }
    };
}

or!(A 0);
or!(A 0, B 1);
or!(A 0, B 1, C 2);
or!(A 0, B 1, C 2, D 3);
or!(A 0, B 1, C 2, D 3, E 4);
or!(A 0, B 1, C 2, D 3, E 4, F 5);
or!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
or!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
