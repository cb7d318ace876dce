//! `QueryData`: what a query lends of each entity.

use core::ptr;

use crate::archetype::{Cursor, Lists, NO_COLUMN};
use crate::entity::Entity;
use crate::fragment::{
    ConstShared, Fragment, FragmentId, FragmentRegistry, PerChunk, Shared, SharedFragment,
};
use crate::memory;
use crate::query::{Access, ChunkView, QueryError, Requirements};

/// "Not there."
const ABSENT: u32 = u32::MAX;

/// What a query lends of each entity: `&T`, `&mut T`, `Option<&T>`, `Option<&mut T>`, [`Entity`],
/// [`Has<T>`], [`Shared<T>`](crate::fragment::Shared), [`ConstShared<T>`](crate::fragment::ConstShared),
/// [`PerChunk<T>`](crate::fragment::PerChunk), [`Enabled<T>`](crate::query::Enabled), and tuples of up to 12 of
/// these.
///
/// `Option` and [`Has<T>`] look at whether the fragment is there, not at whether it is switched on. A query that
/// lends nothing but `Option`s, and whose filter asks for nothing, sees entities of which it lends something.
///
/// # Safety
/// `require` says all that is lent; `fetch`, `item` and `slices` lend that and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a query can lend",
    note = "fragments are lent as `&T` or `&mut T`; tags are asked for with the filter `With<T>`"
)]
pub unsafe trait QueryData {
    /// What is lent of one entity.
    type Item<'w>;
    /// What is lent of a chunk's entities, as slices.
    type Slices<'w>;
    /// The fragments' numbers.
    #[doc(hidden)]
    type Ids: Clone + Send + Sync;
    /// Walks the archetypes that have them.
    #[doc(hidden)]
    type Cursors<'a>;
    /// Where they lie in the chunks of an archetype.
    #[doc(hidden)]
    type Columns: Copy + Send + Sync;
    /// Where they lie in a chunk.
    #[doc(hidden)]
    type Fetch<'w>: Copy;

    /// Says what is lent.
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

    /// Finds the fragments in an archetype, later than the one before; `None` if one that must be there is
    /// not.
    #[doc(hidden)]
    fn columns(cursors: &mut Self::Cursors<'_>, archetype: u32) -> Option<Self::Columns>;

    /// Finds them in a chunk.
    #[doc(hidden)]
    fn fetch<'w>(columns: Self::Columns, chunk: ChunkView<'w>) -> Self::Fetch<'w>;

    /// Asks the processor for the beginning of a chunk's data that will be lent soon.
    #[doc(hidden)]
    #[inline(always)]
    fn ahead(columns: Self::Columns, chunk: ChunkView<'_>) {
        let _ = (columns, chunk);
    }

    /// Asks the processor for a row that will be lent soon.
    #[doc(hidden)]
    #[inline(always)]
    fn expect(columns: Self::Columns, chunk: ChunkView<'_>, row: usize) {
        let _ = (columns, chunk, row);
    }

    /// The same from row `rows` on.
    #[doc(hidden)]
    fn skip<'w>(fetch: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w>;

    /// Lends a row.
    ///
    /// # Safety
    /// The row is below the chunk's length; nobody has what is lent in a way that conflicts.
    #[doc(hidden)]
    unsafe fn item<'w>(fetch: Self::Fetch<'w>, row: usize) -> Self::Item<'w>;

    /// Lends the first `len` rows.
    ///
    /// # Safety
    /// As for `item`, for all of them.
    #[doc(hidden)]
    unsafe fn slices<'w>(fetch: Self::Fetch<'w>, len: usize) -> Self::Slices<'w>;
}

/// Query data that writes nothing: such queries need only `&World`.
///
/// What is asked for to be read cannot be written:
///
/// ```compile_fail,E0594
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let mut query = world.query::<&(u8, u8), ()>()?;
/// query.for_each(|value| value.0 = 1); // `&mut (u8, u8)` it should ask for
/// # Ok::<(), QueryError>(())
/// ```
///
/// and a query that writes does not run on a world that is only read:
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let world = World::new();
/// let mut query = Query::<&mut u8>::new(&world)?;
/// query.read(&world).for_each(|value| *value = 1); // `on(&mut world)` it should be
/// # Ok::<(), QueryError>(())
/// ```
///
/// # Safety
/// No access for writing.
pub unsafe trait ReadOnly: QueryData {}

/// Query data that says whether an entity has a fragment or tag, without asking for it.
#[derive(Debug)]
pub struct Has<T>(
    core::marker::PhantomData<fn() -> T>,
    core::convert::Infallible,
);

/// The array of `T` in a chunk, or one address where all values of size zero are.
#[inline(always)]
fn array<T>(chunk: ChunkView<'_>, offset: u32) -> *mut T {
    if size_of::<T>() == 0 {
        ptr::dangling_mut()
    } else {
        chunk.chunk.array(offset).cast()
    }
}

/// Bytes of an array that are asked for ahead: the processor's own prefetcher goes on from there.
const AHEAD: usize = 4_096;

/// Asks the processor for the beginning of an array.
#[inline(always)]
fn prefetch<T>(chunk: ChunkView<'_>, offset: u32) {
    if size_of::<T>() > 0 && offset != ABSENT {
        let array = chunk.chunk.array(offset).cast_const();
        let bytes = (chunk.len() * size_of::<T>()).min(AHEAD);
        for line in (0..bytes).step_by(64) {
            memory::prefetch(array.wrapping_add(line));
        }
    }
}

/// Column and offset of a fragment in an archetype; the offset is [`ABSENT`] if it is not there.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct At {
    column: u32,
    offset: u32,
}

/// Where a fragment lies that must be there.
#[inline(always)]
fn at(cursor: &mut Cursor<'_>, archetype: u32) -> Option<At> {
    let having = cursor.find(archetype)?;
    Some(At {
        column: having.column,
        offset: having.offset,
    })
}

/// Where a fragment lies that may be there.
#[inline(always)]
fn anywhere(cursor: &mut Cursor<'_>, archetype: u32) -> At {
    at(cursor, archetype).unwrap_or(At {
        column: NO_COLUMN,
        offset: ABSENT,
    })
}

#[inline(always)]
fn touch(at: At, chunk: ChunkView<'_>) {
    if at.column != NO_COLUMN {
        chunk.chunk.touch(at.column as usize, chunk.version);
    }
}

// SAFETY: asks to read the fragment, and lends it to be read.
unsafe impl<T: Fragment> QueryData for &T {
    type Item<'w> = &'w T;
    type Slices<'w> = &'w [T];
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = u32;
    type Fetch<'w> = *const T;

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register::<T>()?.id();
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
    fn ahead(offset: u32, chunk: ChunkView<'_>) {
        prefetch::<T>(chunk, offset);
    }

    #[inline(always)]
    fn expect(offset: u32, chunk: ChunkView<'_>, row: usize) {
        memory::prefetch(array::<T>(chunk, offset).wrapping_add(row));
    }

    #[inline(always)]
    fn fetch<'w>(offset: u32, chunk: ChunkView<'w>) -> *const T {
        array::<T>(chunk, offset)
    }

    #[inline(always)]
    fn skip<'w>(array: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        array.wrapping_add(rows)
    }

    #[inline(always)]
    unsafe fn item<'w>(array: *const T, row: usize) -> &'w T {
        // SAFETY: the caller's.
        unsafe { &*array.add(row) }
    }

    #[inline(always)]
    unsafe fn slices<'w>(array: *const T, len: usize) -> &'w [T] {
        // SAFETY: the caller's.
        unsafe { core::slice::from_raw_parts(array, len) }
    }
}
// SAFETY: reads.
unsafe impl<T: Fragment> ReadOnly for &T {}

// SAFETY: asks to write the fragment, and lends it to be written.
unsafe impl<T: Fragment> QueryData for &mut T {
    type Item<'w> = &'w mut T;
    type Slices<'w> = &'w mut [T];
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = At;
    type Fetch<'w> = *mut T;

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register::<T>()?.id();
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
    fn ahead(at: At, chunk: ChunkView<'_>) {
        prefetch::<T>(chunk, at.offset);
    }

    #[inline(always)]
    fn expect(at: At, chunk: ChunkView<'_>, row: usize) {
        memory::prefetch(array::<T>(chunk, at.offset).wrapping_add(row));
    }

    #[inline(always)]
    fn fetch<'w>(at: At, chunk: ChunkView<'w>) -> *mut T {
        touch(at, chunk);
        array::<T>(chunk, at.offset)
    }

    #[inline(always)]
    fn skip<'w>(array: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        array.wrapping_add(rows)
    }

    #[inline(always)]
    unsafe fn item<'w>(array: *mut T, row: usize) -> &'w mut T {
        // SAFETY: the caller's.
        unsafe { &mut *array.add(row) }
    }

    #[inline(always)]
    unsafe fn slices<'w>(array: *mut T, len: usize) -> &'w mut [T] {
        // SAFETY: the caller's.
        unsafe { core::slice::from_raw_parts_mut(array, len) }
    }
}

// SAFETY: may read the fragment, and lends it to be read.
unsafe impl<T: Fragment> QueryData for Option<&T> {
    type Item<'w> = Option<&'w T>;
    type Slices<'w> = Option<&'w [T]>;
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = At;
    type Fetch<'w> = Option<*const T>;

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register::<T>()?.id();
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
    fn fetch<'w>(at: At, chunk: ChunkView<'w>) -> Option<*const T> {
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
}
// SAFETY: reads.
unsafe impl<T: Fragment> ReadOnly for Option<&T> {}

// SAFETY: may write the fragment, and lends it to be written.
unsafe impl<T: Fragment> QueryData for Option<&mut T> {
    type Item<'w> = Option<&'w mut T>;
    type Slices<'w> = Option<&'w mut [T]>;
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = At;
    type Fetch<'w> = Option<*mut T>;

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let id = registry.register::<T>()?.id();
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
    fn fetch<'w>(at: At, chunk: ChunkView<'w>) -> Option<*mut T> {
        touch(at, chunk);
        (at.offset != ABSENT).then(|| array::<T>(chunk, at.offset))
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
}

// SAFETY: lends handles, which change only through `&mut` of the world.
unsafe impl QueryData for Entity {
    type Item<'w> = Entity;
    type Slices<'w> = &'w [Entity];
    type Ids = ();
    type Cursors<'a> = ();
    type Columns = ();
    type Fetch<'w> = *const Entity;

    fn require(_: &FragmentRegistry, requirements: &mut Requirements) -> Result<(), QueryError> {
        requirements.every();
        Ok(())
    }

    fn cursors<'a>((): &(), _: Lists<'a>) {}

    #[inline(always)]
    fn columns((): &mut (), _: u32) -> Option<()> {
        Some(())
    }

    #[inline(always)]
    fn fetch<'w>((): (), chunk: ChunkView<'w>) -> *const Entity {
        chunk.chunk.handles()
    }

    #[inline(always)]
    fn skip<'w>(handles: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        handles.wrapping_add(rows)
    }

    #[inline(always)]
    unsafe fn item<'w>(handles: Self::Fetch<'w>, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's.
        unsafe { *handles.add(row) }
    }

    #[inline(always)]
    unsafe fn slices<'w>(handles: *const Entity, len: usize) -> &'w [Entity] {
        // SAFETY: the caller's.
        unsafe { core::slice::from_raw_parts(handles, len) }
    }
}
// SAFETY: reads.
unsafe impl ReadOnly for Entity {}

// SAFETY: lends nothing.
unsafe impl<T: Fragment> QueryData for Has<T> {
    type Item<'w> = bool;
    type Slices<'w> = bool;
    type Ids = FragmentId;
    type Cursors<'a> = Cursor<'a>;
    type Columns = bool;
    type Fetch<'w> = bool;

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
    fn fetch<'w>(has: bool, _: ChunkView<'w>) -> bool {
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

// The two kinds of shared fragment differ in nothing but how they are registered.
macro_rules! shared {
    ($role:ident, $register:ident) => {
        // SAFETY: lends a shared value, which does not change while the world is lent.
        unsafe impl<T: SharedFragment> QueryData for $role<T> {
            type Item<'w> = &'w T;
            type Slices<'w> = &'w T;
            type Ids = FragmentId;
            type Cursors<'a> = Cursor<'a>;
            type Columns = u32;
            type Fetch<'w> = &'w T;

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
            fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<u32> {
                Some(at(cursor, archetype)?.offset)
            }

            #[inline(always)]
            fn fetch<'w>(at: u32, chunk: ChunkView<'w>) -> &'w T {
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
    type Columns = u32;
    type Fetch<'w> = &'w T;

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
    fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<u32> {
        Some(at(cursor, archetype)?.offset)
    }

    #[inline(always)]
    fn fetch<'w>(offset: u32, chunk: ChunkView<'w>) -> &'w T {
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

macro_rules! tuple {
    ($($data:ident $at:tt),*) => {
        // SAFETY: each part says what it lends, and lends that; conflicts between parts are found when the
        // query is built.
        unsafe impl<$($data: QueryData),*> QueryData for ($($data,)*) {
            type Item<'w> = ($($data::Item<'w>,)*);
            type Slices<'w> = ($($data::Slices<'w>,)*);
            type Ids = ($($data::Ids,)*);
            type Cursors<'a> = ($($data::Cursors<'a>,)*);
            type Columns = ($($data::Columns,)*);
            type Fetch<'w> = ($($data::Fetch<'w>,)*);

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<Self::Ids, QueryError> {
                Ok(($($data::require(registry, requirements)?,)*))
            }

            fn cursors<'a>(ids: &Self::Ids, lists: Lists<'a>) -> Self::Cursors<'a> {
                ($($data::cursors(&ids.$at, lists),)*)
            }

            #[inline(always)]
            fn columns(cursors: &mut Self::Cursors<'_>, archetype: u32) -> Option<Self::Columns> {
                Some(($($data::columns(&mut cursors.$at, archetype)?,)*))
            }

            #[inline(always)]
            fn ahead(columns: Self::Columns, chunk: ChunkView<'_>) {
                $($data::ahead(columns.$at, chunk);)*
            }

            #[inline(always)]
            fn expect(columns: Self::Columns, chunk: ChunkView<'_>, row: usize) {
                $($data::expect(columns.$at, chunk, row);)*
            }

            #[inline(always)]
            fn fetch<'w>(columns: Self::Columns, chunk: ChunkView<'w>) -> Self::Fetch<'w> {
                ($($data::fetch(columns.$at, chunk),)*)
            }

            #[inline(always)]
            fn skip<'w>(fetch: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
                ($($data::skip(fetch.$at, rows),)*)
            }

            #[inline(always)]
            unsafe fn item<'w>(fetch: Self::Fetch<'w>, row: usize) -> Self::Item<'w> {
                // SAFETY: the caller's.
                ($(unsafe { $data::item(fetch.$at, row) },)*)
            }

            #[inline(always)]
            unsafe fn slices<'w>(fetch: Self::Fetch<'w>, len: usize) -> Self::Slices<'w> {
                // SAFETY: the caller's.
                ($(unsafe { $data::slices(fetch.$at, len) },)*)
            }
        }
        // SAFETY: no part writes.
        unsafe impl<$($data: ReadOnly),*> ReadOnly for ($($data,)*) {}
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
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
