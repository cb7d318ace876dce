//! `&T` and `&mut T`: a fragment that must be there.

use core::ptr;

use crate::archetype::{Cursor, Lists};
use crate::fragment::{Fragment, FragmentId, FragmentRegistry};
use crate::memory;
use crate::query::data::kept::kept_as_address;
use crate::query::data::{
    At, QueryData, ReadOnly, Sealed, array, at, note, noted, prefetch, row_of, touch,
};
use crate::query::rows::in_fours;
use crate::query::{Access, ChunkView, QueryError, Requirements};
use crate::sync::atomic::AtomicU32;

impl<T: Fragment> Sealed for &T {}

// SAFETY: asks to read the fragment, and lends it to be read.
unsafe impl<T: Fragment> QueryData for &T {
    type Item<'w> = &'w T;
    type Slices<'w> = &'w [T];
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = u32;
    type Fetch<'w> = *const T;
    kept_as_address!(T);
    const IN_FOURS: bool = in_fours::<T>();
    const IN_EIGHTS: bool = size_of::<T>() == 4;

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register_met::<T>()?.id();
        requirements.all(id, Access::Read);
        Ok(id)
    }

    fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
        lists.cursor(id)
    }

    #[inline(always)]
    fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<u32> {
        Some(at(cursor, archetype)?.offset)
    }

    #[inline(always)]
    unsafe fn take_columns(cursor: &mut Cursor<'_>) -> u32 {
        // SAFETY: the caller's.
        unsafe { cursor.take() }.offset
    }

    #[inline(always)]
    fn ahead(offset: u32, chunk: ChunkView<'_>) {
        prefetch::<T>(chunk, offset);
    }

    #[inline(always)]
    fn expect(array: Self::Fetch<'_>) {
        memory::prefetch(array);
    }

    #[inline(always)]
    fn place<'w>(offset: u32, chunk: ChunkView<'w>) -> *const T {
        array::<T>(chunk, offset)
    }

    #[inline(always)]
    fn skip<'w>(array: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        array.wrapping_add(rows)
    }

    #[inline(always)]
    unsafe fn item<'w>(array: *const T, row: usize) -> &'w T {
        // SAFETY: the caller's.
        unsafe { &*row_of(array, row) }
    }

    #[inline(always)]
    unsafe fn slices<'w>(array: *const T, len: usize) -> &'w [T] {
        // SAFETY: the caller's.
        unsafe { core::slice::from_raw_parts(array, len) }
    }

    #[inline(always)]
    fn fetch_of<'w>(slices: Self::Slices<'w>) -> Self::Fetch<'w> {
        slices.as_ptr()
    }
}
// SAFETY: reads.
unsafe impl<T: Fragment> ReadOnly for &T {}

impl<T: Fragment> Sealed for &mut T {}

// SAFETY: asks to write the fragment, and lends it to be written.
unsafe impl<T: Fragment> QueryData for &mut T {
    type Item<'w> = &'w mut T;
    type Slices<'w> = &'w mut [T];
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = At;
    type Fetch<'w> = *mut T;
    type Kept = (*mut T, *const AtomicU32);
    const NOTHING: Self::Kept = (ptr::null_mut(), ptr::null());
    const IN_FOURS: bool = in_fours::<T>();
    const IN_EIGHTS: bool = size_of::<T>() == 4;

    #[inline(always)]
    fn keep(array: Self::Fetch<'_>, at: At, chunk: ChunkView<'_>) -> Self::Kept {
        (array, noted::<T>(at, chunk))
    }

    #[inline(always)]
    unsafe fn kept<'w>((array, _): Self::Kept) -> Option<Self::Fetch<'w>> {
        (!array.is_null()).then_some(array)
    }

    #[inline(always)]
    unsafe fn note((_, noted): Self::Kept, version: u32) {
        // SAFETY: the caller's.
        unsafe { note::<T>(noted, version) };
    }

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register_met::<T>()?.id();
        requirements.all(id, Access::Write);
        Ok(id)
    }

    fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
        lists.cursor(id)
    }

    #[inline(always)]
    fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<At> {
        at(cursor, archetype)
    }

    #[inline(always)]
    unsafe fn take_columns(cursor: &mut Cursor<'_>) -> At {
        // SAFETY: the caller's.
        At::of(unsafe { cursor.take() })
    }

    #[inline(always)]
    fn ahead(at: At, chunk: ChunkView<'_>) {
        prefetch::<T>(chunk, at.offset);
    }

    #[inline(always)]
    fn expect(array: Self::Fetch<'_>) {
        memory::prefetch(array);
    }

    #[inline(always)]
    fn place<'w>(at: At, chunk: ChunkView<'w>) -> *mut T {
        array::<T>(chunk, at.offset)
    }

    #[inline(always)]
    fn touch(at: At, chunk: ChunkView<'_>) {
        touch::<T>(at, chunk);
    }

    #[inline(always)]
    fn skip<'w>(array: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        array.wrapping_add(rows)
    }

    #[inline(always)]
    unsafe fn item<'w>(array: *mut T, row: usize) -> &'w mut T {
        // SAFETY: the caller's.
        unsafe { &mut *row_of(array, row).cast_mut() }
    }

    #[inline(always)]
    unsafe fn slices<'w>(array: *mut T, len: usize) -> &'w mut [T] {
        // SAFETY: the caller's.
        unsafe { core::slice::from_raw_parts_mut(array, len) }
    }

    #[inline(always)]
    fn fetch_of<'w>(slices: Self::Slices<'w>) -> Self::Fetch<'w> {
        slices.as_mut_ptr()
    }
}
