//! `Has`: whether a fragment is there.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::archetype::{Cursor, Lists};
use crate::fragment::{FragmentId, FragmentRegistry, NoFragment, TypeInRole};
use crate::query::data::kept::kept_as_option;
use crate::query::data::{QueryData, ReadOnly, Sealed};
use crate::query::{Access, ChunkView, QueryError, Requirements};

/// Query data that says whether an entity has a type in one of its [roles](TypeInRole), without asking for it.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(PartialEq, Eq, Hash)]
/// struct Team(u8);
///
/// let mut world = World::new();
/// world.create((1_u32,).shared(Team(1)))?;
/// world.create((2_u32,))?;
/// let of_team = world.query::<(&u32, Has<Shared<Team>>, Has<Team>), ()>()?;
/// let of_team: Vec<_> = of_team.into_iter().map(|(n, shared, as_fragment)| (*n, shared, as_fragment)).collect();
/// assert!(of_team.contains(&(1, true, false)) && of_team.contains(&(2, false, false)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// Not `Sync`, and so no fragment.
#[derive(Debug)]
pub struct Has<R>(PhantomData<fn() -> R>, NoFragment, Infallible);

impl<R: TypeInRole> Sealed for Has<R> {}

// SAFETY: lends nothing.
unsafe impl<R: TypeInRole> QueryData for Has<R> {
    type Item<'w> = bool;
    type Slices<'w> = bool;
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = bool;
    type Fetch<'w> = bool;
    kept_as_option!(bool);

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register_met::<R>()?.id();
        requirements.optional(id, Access::None);
        requirements.every();
        Ok(id)
    }

    fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
        lists.cursor(id)
    }

    #[inline(always)]
    fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<bool> {
        Some(cursor.find(archetype).is_some())
    }

    #[inline(always)]
    unsafe fn take_columns(cursor: &mut Cursor<'_>) -> bool {
        // SAFETY: the caller's.
        let _ = unsafe { cursor.take() };
        true
    }

    #[inline(always)]
    fn place<'w>(has: bool, _: ChunkView<'w>) -> bool {
        has
    }

    #[inline(always)]
    fn skip<'w>(has: Self::Fetch<'w>, _: usize) -> Self::Fetch<'w> {
        has
    }

    #[inline(always)]
    unsafe fn item<'w>(has: Self::Fetch<'w>, _: usize) -> Self::Item<'w> {
        has
    }

    #[inline(always)]
    unsafe fn slices<'w>(has: Self::Fetch<'w>, _: usize) -> Self::Slices<'w> {
        has
    }

    #[inline(always)]
    fn fetch_of<'w>(has: Self::Slices<'w>) -> Self::Fetch<'w> {
        has
    }
}
// SAFETY: reads nothing.
unsafe impl<R: TypeInRole> ReadOnly for Has<R> {}
