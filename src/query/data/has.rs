//! `Has`: whether a fragment is there.

use crate::archetype::{Cursor, Lists};
use crate::fragment::{Fragment, FragmentId, FragmentRegistry};
use crate::query::data::kept::kept_as_option;
use crate::query::data::{QueryData, ReadOnly};
use crate::query::{Access, ChunkView, QueryError, Requirements};

/// Query data that says whether an entity has a fragment or tag, without asking for it.
#[derive(Debug)]
pub struct Has<T>(
    // Neither `Send` nor `Sync`, and so no fragment.
    core::marker::PhantomData<*const T>,
    core::convert::Infallible,
);

// SAFETY: lends nothing.
unsafe impl<T: Fragment> QueryData for Has<T> {
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
        let id = registry.register::<T>()?.id();
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
}
// SAFETY: reads nothing.
unsafe impl<T: Fragment> ReadOnly for Has<T> {}
