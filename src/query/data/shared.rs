//! `Shared`, `ConstShared`, `PerChunk`: values that all entities of a chunk have in common; and `Option`s of them.

use core::ptr;

use crate::archetype::{Cursor, Lists};
use crate::fragment::{
    ConstShared, Fragment, FragmentId, FragmentRegistry, PerChunk, Shared, SharedFragment,
};
use crate::query::data::kept::{kept_as_option, kept_as_reference};
use crate::query::data::{InCommon, QueryData, ReadOnly, Sealed, array, at};
use crate::query::{Access, ChunkView, QueryError, Requirements};

// They differ in how they are registered, and in where a value lies.
macro_rules! in_common {
    ($role:ident, $value:ident, [$($bound:tt)*]) => {
        impl<T: $($bound)*> Sealed for $role<T> {}

        // SAFETY: lends a value of a chunk's to be read; it is written only through `&mut` of the world.
        unsafe impl<T: $($bound)*> QueryData for $role<T> {
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
                let id = registry.register::<$role<T>>()?.id();
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
            fn place<'w>(at: InCommon, chunk: ChunkView<'w>) -> &'w T {
                $value(at, chunk)
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

            #[inline(always)]
            fn fetch_of<'w>(value: Self::Slices<'w>) -> Self::Fetch<'w> {
                value
            }
        }
        // SAFETY: reads.
        unsafe impl<T: $($bound)*> ReadOnly for $role<T> {}

        impl<T: $($bound)*> Sealed for Option<$role<T>> {}

        // SAFETY: as without the `Option`.
        unsafe impl<T: $($bound)*> QueryData for Option<$role<T>> {
            type Item<'w> = Option<&'w T>;
            type Slices<'w> = Option<&'w T>;
            type Ids = FragmentId;
            type Cursors<'a> = Cursor<'a>;
            type Columns = Option<InCommon>;
            type Fetch<'w> = Option<*const T>;
            kept_as_option!(Option<*const T>);

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<FragmentId, QueryError> {
                let id = registry.register::<$role<T>>()?.id();
                requirements.optional(id, Access::Read);
                Ok(id)
            }

            fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
                lists.cursor(id)
            }

            #[inline(always)]
            fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<Option<InCommon>> {
                Some($role::<T>::columns(cursor, archetype))
            }

            #[inline(always)]
            unsafe fn take_columns(cursor: &mut Cursor<'_>) -> Option<InCommon> {
                // SAFETY: the caller's; of a stretch all archetypes have it.
                Some(unsafe { $role::<T>::take_columns(cursor) })
            }

            #[inline(always)]
            fn place<'w>(at: Option<InCommon>, chunk: ChunkView<'w>) -> Option<*const T> {
                at.map(|at| ptr::from_ref($value(at, chunk)))
            }

            #[inline(always)]
            fn skip<'w>(value: Self::Fetch<'w>, _: usize) -> Self::Fetch<'w> {
                value
            }

            #[inline(always)]
            unsafe fn item<'w>(value: Option<*const T>, _: usize) -> Option<&'w T> {
                // SAFETY: the value of a chunk that is lent for `'w`.
                value.map(|value| unsafe { &*value })
            }

            #[inline(always)]
            unsafe fn slices<'w>(value: Option<*const T>, _: usize) -> Option<&'w T> {
                // SAFETY: the same.
                value.map(|value| unsafe { &*value })
            }

            #[inline(always)]
            fn fetch_of<'w>(value: Self::Slices<'w>) -> Self::Fetch<'w> {
                value.map(ptr::from_ref)
            }
        }
        // SAFETY: reads.
        unsafe impl<T: $($bound)*> ReadOnly for Option<$role<T>> {}
    };
}

in_common!(Shared, shared_value, [SharedFragment]);
in_common!(ConstShared, shared_value, [SharedFragment]);
in_common!(PerChunk, chunk_value, [Fragment + Clone]);

/// The value that the entities of a chunk share with others.
#[inline(always)]
fn shared_value<T: SharedFragment>(InCommon(at): InCommon, chunk: ChunkView<'_>) -> &T {
    chunk.shared_value(at as usize)
}

/// The chunk's own.
#[inline(always)]
fn chunk_value<T: Fragment>(InCommon(offset): InCommon, chunk: ChunkView<'_>) -> &T {
    // SAFETY: every chunk of the archetype holds a value of this type there.
    unsafe { &*array::<T>(chunk, offset) }
}
