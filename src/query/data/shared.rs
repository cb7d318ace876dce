//! `Shared`, `ConstShared`, `PerChunk`: values that all entities of a chunk have in common.

use crate::archetype::{Cursor, Lists};
use crate::fragment::{
    ConstShared, Fragment, FragmentId, FragmentRegistry, PerChunk, Shared, SharedFragment,
};
use crate::query::data::kept::kept_as_reference;
use crate::query::data::{InCommon, QueryData, ReadOnly, array, at};
use crate::query::{Access, ChunkView, QueryError, Requirements};

// The two kinds of shared fragment differ in nothing but how they are registered.
macro_rules! shared {
    ($role:ident, $register:ident) => {
        // SAFETY: lends a shared value, which does not change while the world is lent.
        unsafe impl<T: SharedFragment> QueryData for $role<T> {
            type Item<'w> = &'w T;
            type Slices<'w> = &'w T;
            type Ids = FragmentId;
            type Cursors<'a> = Cursor<'a>;
            type Columns = InCommon;
            type Fetch<'w> = &'w T;
            kept_as_reference!(T);

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<FragmentId, QueryError> {
                let id = registry.$register::<T>()?.id();
                requirements.all(id, Access::Read);
                Ok(id)
            }

            fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
                lists.cursor(id)
            }

            #[inline(always)]
            fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<InCommon> {
                Some(InCommon(at(cursor, archetype)?.offset))
            }

            #[inline(always)]
            unsafe fn take_columns(cursor: &mut Cursor<'_>) -> InCommon {
                // SAFETY: the caller's.
                InCommon(unsafe { cursor.take() }.offset)
            }

            #[inline(always)]
            fn place<'w>(InCommon(at): InCommon, chunk: ChunkView<'w>) -> &'w T {
                chunk.shared_value(at as usize)
            }

            #[inline(always)]
            fn skip<'w>(value: Self::Fetch<'w>, _: usize) -> Self::Fetch<'w> {
                value
            }

            #[inline(always)]
            unsafe fn item<'w>(value: Self::Fetch<'w>, _: usize) -> Self::Item<'w> {
                value
            }

            #[inline(always)]
            unsafe fn slices<'w>(value: Self::Fetch<'w>, _: usize) -> Self::Slices<'w> {
                value
            }
        }
        // SAFETY: reads.
        unsafe impl<T: SharedFragment> ReadOnly for $role<T> {}
    };
}

shared!(Shared, register_shared);
shared!(ConstShared, register_const_shared);

// SAFETY: lends a chunk's value to be read; it is written only through `&mut` of the world.
unsafe impl<T: Fragment + Clone> QueryData for PerChunk<T> {
    type Item<'w> = &'w T;
    type Slices<'w> = &'w T;
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = InCommon;
    type Fetch<'w> = &'w T;
    kept_as_reference!(T);

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register_chunk::<T>()?.id();
        requirements.all(id, Access::Read);
        Ok(id)
    }

    fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
        lists.cursor(id)
    }

    #[inline(always)]
    fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<InCommon> {
        Some(InCommon(at(cursor, archetype)?.offset))
    }

    #[inline(always)]
    unsafe fn take_columns(cursor: &mut Cursor<'_>) -> InCommon {
        // SAFETY: the caller's.
        InCommon(unsafe { cursor.take() }.offset)
    }

    #[inline(always)]
    fn place<'w>(InCommon(offset): InCommon, chunk: ChunkView<'w>) -> &'w T {
        // SAFETY: every chunk of the archetype holds a value of this type there.
        unsafe { &*array::<T>(chunk, offset) }
    }

    #[inline(always)]
    fn skip<'w>(value: Self::Fetch<'w>, _: usize) -> Self::Fetch<'w> {
        value
    }

    #[inline(always)]
    unsafe fn item<'w>(value: Self::Fetch<'w>, _: usize) -> Self::Item<'w> {
        value
    }

    #[inline(always)]
    unsafe fn slices<'w>(value: Self::Fetch<'w>, _: usize) -> Self::Slices<'w> {
        value
    }
}
// SAFETY: reads.
unsafe impl<T: Fragment + Clone> ReadOnly for PerChunk<T> {}
