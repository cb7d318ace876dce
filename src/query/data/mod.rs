//! `QueryData`: what a query lends of each entity.

mod fragment;
mod handle;
mod has;
mod kept;
mod optional;
mod shared;
mod tuple;

use core::hint::assert_unchecked;
use core::ptr;

use crate::archetype::{Cursor, Having, Lists, NO_COLUMN, Walk};
use crate::fragment::FragmentRegistry;
use crate::memory;
use crate::query::{ChunkView, QueryError, Requirements};
use crate::sync::atomic::{AtomicU32, Ordering};

pub use has::Has;
pub(super) use sealed::Sealed;

/// "Not there."
const ABSENT: u32 = u32::MAX;

/// Schedules decide once, by what is asked for, who may run side by side: it must be the same each time.
mod sealed {
    pub trait Sealed {}
}

/// What a query lends of each entity: `&T`, `&mut T`, `Option<&T>`, `Option<&mut T>`,
/// [`Entity`](crate::entity::Entity), [`Has<T>`],
/// [`Shared<T>`](crate::fragment::Shared), [`ConstShared<T>`](crate::fragment::ConstShared),
/// [`PerChunk<T>`](crate::fragment::PerChunk), `Option`s of these three,
/// [`Enabled<T>`](crate::query::Enabled), and tuples of up to 12 of these.
///
/// What all entities of a chunk have in common is lent to be read only, as each entity lends it. A chunk's value is
/// written through the world ([`chunk_fragment_mut`](crate::world::World::chunk_fragment_mut)), or by a
/// [dynamic query](crate::query::DynamicQuery), which goes chunk by chunk.
///
/// `Option` and [`Has<T>`] look at whether the fragment is there, not at whether it is switched on. A query that
/// lends nothing but `Option`s, and whose filter asks for nothing, sees entities of which it lends something.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.create(("Ada",).shared("red"))?;
/// world.create(("Grace",))?;
/// let mut players = world.query::<(&&str, Option<Shared<&str>>), ()>()?;
/// let teams: Vec<_> = players.iter().map(|(name, team)| (*name, team.copied())).collect();
/// assert_eq!(teams, [("Ada", Some("red")), ("Grace", None)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `()` lends nothing, and is no query's data: who only counts asks for the handle.
///
/// ```
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// # world.create((1_u8,))?;
/// assert_eq!(world.query::<Entity, With<u8>>()?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let _ = world.query::<(), With<u8>>();
/// ```
///
/// Sealed: there are no others.
///
/// # Safety
/// `require` says all that is lent; `fetch`, `item` and `slices` lend that and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a query can lend",
    note = "fragments and tags are lent as `&T`, `&mut T`, `Option<&T>` or `Option<&mut T>`; shared and chunks' ones as \
            `Shared<T>`, `Option<Shared<T>>` and the like; the filter `With<T>` asks for one and lends nothing; `Has<T>` says \
            whether it is there; `Entity` is the handle, and all that is asked for who only counts"
)]
pub unsafe trait QueryData: Sealed {
    /// What is lent of one entity.
    type Item<'w>;
    /// What is lent of a chunk's entities, as slices.
    type Slices<'w>;
    /// The fragments' numbers.
    #[doc(hidden)]
    type Ids: Clone + Send + Sync + 'static;
    /// Walks the archetypes that have them.
    #[doc(hidden)]
    type Cursors<'a>: Walk;
    /// Where they lie in the chunks of an archetype.
    #[doc(hidden)]
    type Columns: Copy + Send + Sync + 'static;
    /// Where they lie in a chunk.
    #[doc(hidden)]
    type Fetch<'w>: Copy;
    /// The same, or nothing, as a table of many keeps it, in as few words as can be; and where it is noted what is lent
    /// for writing. (`()` for what is kept in no table.)
    #[doc(hidden)]
    type Kept: Copy + 'static;
    /// Nothing.
    #[doc(hidden)]
    const NOTHING: Self::Kept;
    /// Whether rows are lent in fours: see [`rows`](crate::query::rows).
    #[doc(hidden)]
    const IN_FOURS: bool = false;
    /// Whether all that is lent of a row are values of four bytes, and rows are lent in eights: see
    /// [`rows`](crate::query::rows).
    #[doc(hidden)]
    const IN_EIGHTS: bool = false;

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

    /// Finds the fragments in the next archetype, without asking which it is.
    ///
    /// # Safety
    /// It is one of a stretch that the cursors have said to be at.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn take_columns(cursors: &mut Self::Cursors<'_>) -> Self::Columns {
        let _ = cursors;
        unreachable!("there is no stretch")
    }

    /// Finds them in a chunk.
    #[doc(hidden)]
    fn place<'w>(columns: Self::Columns, chunk: ChunkView<'w>) -> Self::Fetch<'w>;

    /// Notes which of them are lent for writing.
    #[doc(hidden)]
    #[inline(always)]
    fn touch(columns: Self::Columns, chunk: ChunkView<'_>) {
        let _ = (columns, chunk);
    }

    /// Both. First finds all: after a note the processor would be asked anew what it knows of the chunk.
    #[doc(hidden)]
    #[inline(always)]
    fn fetch<'w>(columns: Self::Columns, chunk: ChunkView<'w>) -> Self::Fetch<'w> {
        let fetch = Self::place(columns, chunk);
        Self::touch(columns, chunk);
        fetch
    }

    /// Asks the processor for the beginning of a chunk's data that will be lent soon.
    #[doc(hidden)]
    #[inline(always)]
    fn ahead(columns: Self::Columns, chunk: ChunkView<'_>) {
        let _ = (columns, chunk);
    }

    /// Asks the processor for a first row that will be lent soon.
    #[doc(hidden)]
    #[inline(always)]
    fn expect(fetch: Self::Fetch<'_>) {
        let _ = fetch;
    }

    /// Keeps it.
    #[doc(hidden)]
    fn keep(fetch: Self::Fetch<'_>, columns: Self::Columns, chunk: ChunkView<'_>) -> Self::Kept;

    /// What was kept, if anything was.
    ///
    /// # Safety
    /// It lies there as long as this is lent.
    #[doc(hidden)]
    unsafe fn kept<'w>(kept: Self::Kept) -> Option<Self::Fetch<'w>>;

    /// Notes which of it are lent for writing, as [`touch`](Self::touch) does.
    ///
    /// # Safety
    /// Something was kept, of a chunk that is still there.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn note(kept: Self::Kept, version: u32) {
        let _ = (kept, version);
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

    /// Where slices lie.
    #[doc(hidden)]
    fn fetch_of<'w>(slices: Self::Slices<'w>) -> Self::Fetch<'w>;

    /// Hands slices on, each by a parameter of its own, so that the compiler knows that nothing else that is used
    /// meanwhile lies over it: see [`rows`](crate::query::rows). (Not `inline(always)`: that would be before `then` is
    /// inlined here, with nothing yet of which it could be known.)
    #[doc(hidden)]
    #[inline]
    fn alone<'w, R>(slices: Self::Slices<'w>, then: impl FnOnce(Self::Slices<'w>) -> R) -> R {
        then(slices)
    }
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not only read, and the world is only read here",
    label = "lends to write: see `get_mut` and the like, on `&mut`",
    note = "a lookup that writes lends by `get_mut` or `get_disjoint_mut`",
    note = "who has `&mut World` lends to write by `World::query`, `Query::on`, `Query::get_mut` or `Query::lookup_mut`"
)]
pub unsafe trait ReadOnly: QueryData {}

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

/// Where it is noted that an array of `T` in a chunk is lent for writing; null if nowhere.
#[inline(always)]
fn noted<T>(at: At, chunk: ChunkView<'_>) -> *const AtomicU32 {
    // As in `touch`.
    if size_of::<T>() > 0 || at.column != NO_COLUMN {
        chunk.chunk.version_of(at.column as usize)
    } else {
        ptr::null()
    }
}

/// Notes there that it is.
///
/// # Safety
/// It is null, or of a chunk that is still there.
#[inline(always)]
unsafe fn note<T>(noted: *const AtomicU32, version: u32) {
    if size_of::<T>() > 0 || !noted.is_null() {
        // Ordering: as in `Chunk::touch`.
        //
        // SAFETY: the caller's; what has a size has a version.
        unsafe { &*noted }.store(version, Ordering::Relaxed);
    }
}

/// Column and offset of a fragment in an archetype; the offset is [`ABSENT`] if it is not there.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct At {
    column: u32,
    offset: u32,
}

impl At {
    #[inline(always)]
    fn of(having: &Having) -> Self {
        Self {
            column: having.column,
            offset: having.offset,
        }
    }
}

/// Where what all entities of a chunk have in common lies in an archetype. (No plain number:
/// `place` is a safe function, and who could name another place would be lent what is not there.)
///
/// ```compile_fail,E0308
/// # use megachunk::prelude::*;
/// # use megachunk::query::QueryData;
/// # let world = World::new();
/// # let mut query = world.read::<Entity, ()>()?;
/// query.for_each_chunk(|chunk, _| {
///     let _: &u64 = PerChunk::<u64>::place(400_000_000, chunk);
/// });
/// # Ok::<(), QueryError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct InCommon(u32);

/// Where a fragment lies that must be there.
#[inline(always)]
fn at(cursor: &mut Cursor<'_>, archetype: u32) -> Option<At> {
    cursor.find(archetype).map(At::of)
}

/// Where a fragment lies that may be there.
#[inline(always)]
fn anywhere(cursor: &mut Cursor<'_>, archetype: u32) -> At {
    at(cursor, archetype).unwrap_or(At {
        column: NO_COLUMN,
        offset: ABSENT,
    })
}

/// Notes that the array of `T` in a chunk that has it is lent for writing.
#[inline(always)]
fn touch<T>(at: At, chunk: ChunkView<'_>) {
    // Only a tag may have no version.
    if size_of::<T>() > 0 || at.column != NO_COLUMN {
        chunk.chunk.touch(at.column as usize, chunk.version);
    }
}

/// A value of an array. (Said to be somewhere, because the compiler does not see it: else a loop over an iterator
/// asks at each entity whether it was the last.)
///
/// # Safety
/// The array has such a row.
#[inline(always)]
unsafe fn row_of<T>(array: *const T, row: usize) -> *const T {
    // SAFETY: the caller's; no array lies at address 0.
    unsafe {
        assert_unchecked(!array.is_null());
        array.add(row)
    }
}
