//! `Option<&T>` and `Option<&mut T>`: a fragment that may be there.

use core::ptr;

use crate::archetype::{Cursor, Lists};
use crate::fragment::{Fragment, FragmentId, FragmentRegistry};
use crate::query::data::kept::kept_as_option;
use crate::query::data::{
    ABSENT, At, QueryData, ReadOnly, Sealed, anywhere, array, note, noted, touch,
};
use crate::query::{Access, ChunkView, QueryError, Requirements};
use crate::sync::atomic::AtomicU32;

impl<T: Fragment> Sealed for Option<&T> {}

// SAFETY: may read the fragment, and lends it to be read.
unsafe impl<T: Fragment> QueryData for Option<&T> {
    type Item<'w> = Option<&'w T>;
    type Slices<'w> = Option<&'w [T]>;
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = At;
    type Fetch<'w> = Option<*const T>;
    kept_as_option!(Option<*const T>);

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register_met::<T>()?.id();
        requirements.optional(id, Access::Read);
        Ok(id)
    }

    fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
        lists.cursor(id)
    }

    #[inline(always)]
    fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<At> {
        Some(anywhere(cursor, archetype))
    }

    #[inline(always)]
    unsafe fn take_columns(cursor: &mut Cursor<'_>) -> At {
        // SAFETY: the caller's.
        At::of(unsafe { cursor.take() })
    }

    #[inline(always)]
    fn place<'w>(at: At, chunk: ChunkView<'w>) -> Option<*const T> {
        (at.offset != ABSENT).then(|| array::<T>(chunk, at.offset).cast_const())
    }

    #[inline(always)]
    fn skip<'w>(array: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        array.map(|array| array.wrapping_add(rows))
    }

    #[inline(always)]
    unsafe fn item<'w>(array: Option<*const T>, row: usize) -> Option<&'w T> {
        // SAFETY: the caller's.
        array.map(|array| unsafe { &*array.add(row) })
    }

    #[inline(always)]
    unsafe fn slices<'w>(array: Option<*const T>, len: usize) -> Option<&'w [T]> {
        // SAFETY: the caller's.
        array.map(|array| unsafe { core::slice::from_raw_parts(array, len) })
    }

    #[inline(always)]
    fn fetch_of<'w>(slices: Self::Slices<'w>) -> Self::Fetch<'w> {
        slices.map(<[T]>::as_ptr)
    }
}
// SAFETY: reads.
unsafe impl<T: Fragment> ReadOnly for Option<&T> {}

impl<T: Fragment> Sealed for Option<&mut T> {}

// SAFETY: may write the fragment, and lends it to be written.
unsafe impl<T: Fragment> QueryData for Option<&mut T> {
    type Item<'w> = Option<&'w mut T>;
    type Slices<'w> = Option<&'w mut [T]>;
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = At;
    type Fetch<'w> = Option<*mut T>;
    type Kept = Option<(Option<*mut T>, *const AtomicU32)>;
    const NOTHING: Self::Kept = None;

    #[inline(always)]
    fn keep(array: Self::Fetch<'_>, at: At, chunk: ChunkView<'_>) -> Self::Kept {
        let noted = array.map_or(ptr::null(), |_| noted::<T>(at, chunk));
        Some((array, noted))
    }

    #[inline(always)]
    unsafe fn kept<'w>(kept: Self::Kept) -> Option<Self::Fetch<'w>> {
        Some(kept?.0)
    }

    #[inline(always)]
    unsafe fn note(kept: Self::Kept, version: u32) {
        if let Some((Some(_), noted)) = kept {
            // SAFETY: the caller's.
            unsafe { note::<T>(noted, version) };
        }
    }

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register_met::<T>()?.id();
        requirements.optional(id, Access::Write);
        Ok(id)
    }

    fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
        lists.cursor(id)
    }

    #[inline(always)]
    fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<At> {
        Some(anywhere(cursor, archetype))
    }

    #[inline(always)]
    unsafe fn take_columns(cursor: &mut Cursor<'_>) -> At {
        // SAFETY: the caller's.
        At::of(unsafe { cursor.take() })
    }

    #[inline(always)]
    fn place<'w>(at: At, chunk: ChunkView<'w>) -> Option<*mut T> {
        (at.offset != ABSENT).then(|| array::<T>(chunk, at.offset))
    }

    #[inline(always)]
    fn touch(at: At, chunk: ChunkView<'_>) {
        if at.offset != ABSENT {
            touch::<T>(at, chunk);
        }
    }

    #[inline(always)]
    fn skip<'w>(array: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        array.map(|array| array.wrapping_add(rows))
    }

    #[inline(always)]
    unsafe fn item<'w>(array: Option<*mut T>, row: usize) -> Option<&'w mut T> {
        // SAFETY: the caller's.
        array.map(|array| unsafe { &mut *array.add(row) })
    }

    #[inline(always)]
    unsafe fn slices<'w>(array: Option<*mut T>, len: usize) -> Option<&'w mut [T]> {
        // SAFETY: the caller's.
        array.map(|array| unsafe { core::slice::from_raw_parts_mut(array, len) })
    }

    #[inline(always)]
    fn fetch_of<'w>(slices: Self::Slices<'w>) -> Self::Fetch<'w> {
        slices.map(<[T]>::as_mut_ptr)
    }
}
