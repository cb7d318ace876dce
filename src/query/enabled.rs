//! `Enabled`: a query switches fragments of the entities that it sees off and on, from any thread.

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

use crate::archetype::{Chunk, Cursor, EnabledBits, Lists, Walk};
use crate::fragment::{Fragment, FragmentId, FragmentRegistry, NoFragment};
use crate::query::masks::enabled_word;
use crate::query::{ChunkView, QueryData, QueryError, Requirements};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Query data that lends the switch of a fragment or tag: whether it is on, and to switch it off or on. The
/// query sees entities that have the fragment, on or off, unless it also asks for it by `&T` or `With<T>`.
///
/// It does not see entities of compositions that were there before the fragment was
/// [registered](FragmentRegistry::register_enableable) as one that can be switched: these have no
/// switch, and it is on for all of them. `&T` and `With<T>` see them.
///
/// Which rows a query sees, switches decide row by row: in [`for_each`](crate::query::QueryRun::for_each),
/// [`for_each_slice`](crate::query::QueryRun::for_each_slice), their parallel kin, iterators and counts. **Whoever
/// is lent whole chunks ([`for_each_chunk`](crate::query::QueryRun::for_each_chunk),
/// [`par_for_each_chunk`](crate::query::QueryRun::par_for_each_chunk), [`for_each_chunk_in`]; columns of a
/// [`DynamicChunk`](crate::query::DynamicChunk)) is lent rows that are switched off, too**, and asks each row's [`Switch`]
/// (or [`DynamicChunk::rows`](crate::query::DynamicChunk::rows)) where that matters.
///
/// [`for_each_chunk_in`]: crate::query::QueryRun::for_each_chunk_in
///
/// Wait-free, from any thread, beside whatever else the query lends: rows that share a word of bits do not
/// disturb each other. What a running query sees of it: each 64 rows as they stood when it came to them (one
/// by one if it walks a list of entities). So switching the row in hand changes nothing for this run, and a row
/// that is switched through a [`Switch`] that was kept may be passed by or not. The next run sees all.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Energy(i32);
/// struct Awake;
///
/// let mut world = World::new();
/// world.registry().register_enableable::<Awake>()?;
/// let _ = world.create_batch((0..1_000).map(|n| (Energy(n), Awake)))?;
///
/// let mut tired = Query::<(&mut Energy, Enabled<Awake>)>::new(&world)?;
/// tired.on(&mut world).par_for_each(|(energy, awake)| {
///     energy.0 -= 500;
///     awake.set(energy.0 > 0);
/// });
/// assert_eq!(world.query::<Entity, With<Awake>>()?.count(), 499);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Unity DOTS' `EnabledRefRW`.
#[derive(Debug)]
pub struct Enabled<T>(PhantomData<fn() -> T>, NoFragment, Infallible);

/// The switch of a fragment of one entity.
#[derive(Clone, Copy)]
pub struct Switch<'w> {
    word: &'w AtomicU64,
    bit: u64,
    changed: &'w AtomicU32,
    version: u32,
}

/// The switches of a fragment of a chunk's entities.
#[derive(Clone, Copy)]
pub struct Switches<'w> {
    bits: Bits<'w>,
    len: usize,
}

/// Where the bits of a chunk's entities lie.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Bits<'w> {
    chunk: &'w Chunk,
    offset: u32,
    first: usize,
    changed: &'w AtomicU32,
    version: u32,
}

impl<'w> Bits<'w> {
    /// Those of a chunk, whose archetype has them, from its first row on.
    #[inline(always)]
    fn of(chunk: ChunkView<'w>, bits: EnabledBits) -> Self {
        Self {
            chunk: chunk.chunk,
            offset: bits.offset,
            first: 0,
            changed: chunk.chunk.version_of(bits.version as usize),
            version: chunk.version,
        }
    }

    /// # Safety
    /// The chunk has the row, which is counted from the first one.
    #[inline(always)]
    unsafe fn switch(self, row: usize) -> Switch<'w> {
        let row = self.first + row;
        Switch {
            // SAFETY: the offset is that of the archetype's bits. While a query runs, they are accessed as
            // atomics only.
            word: unsafe { enabled_word(self.chunk, self.offset, row as u32 / 64) },
            bit: 1 << (row % 64),
            changed: self.changed,
            version: self.version,
        }
    }
}

impl Switch<'_> {
    /// Whether the fragment is on.
    #[inline]
    #[must_use]
    pub fn is_on(self) -> bool {
        // Ordering: Relaxed, here and in `set`: the bit says nothing of other memory, and whoever runs after
        // the query is ordered by the borrow of the world.
        self.word.load(Ordering::Relaxed) & self.bit != 0
    }

    /// Switches the fragment on or off; whether it was on. If that changes it, it counts as a change of the
    /// fragment in this chunk; else nothing is written.
    #[inline]
    pub fn set(self, on: bool) -> bool {
        // No read-modify-write where nothing changes. Ordering: Relaxed, as in `is_on`.
        if self.is_on() == on {
            return on;
        }
        let before = if on {
            self.word.fetch_or(self.bit, Ordering::Relaxed)
        } else {
            self.word.fetch_and(!self.bit, Ordering::Relaxed)
        };
        let was_on = before & self.bit != 0;
        // Ordering: as in `Chunk::touch`; here and below. A line that other threads write, too, is not written for each row.
        if was_on != on && self.changed.load(Ordering::Relaxed) != self.version {
            self.changed.store(self.version, Ordering::Relaxed);
        }
        was_on
    }
}

impl<'w> Switches<'w> {
    /// Those of some rows of a chunk, whose archetype has these bits.
    ///
    /// # Safety
    /// The rows are the chunk's, and the bits its archetype's. For `'w` they are accessed as atomics only.
    pub(super) unsafe fn new(
        chunk: ChunkView<'w>,
        bits: EnabledBits,
        first: usize,
        len: usize,
    ) -> Self {
        let bits = Bits {
            first,
            ..Bits::of(chunk, bits)
        };
        Self { bits, len }
    }

    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The switch of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn at(self, row: usize) -> Switch<'w> {
        assert!(row < self.len, "no row {row}: there are {}", self.len);
        // SAFETY: just checked.
        unsafe { self.bits.switch(row) }
    }
}

impl fmt::Debug for Switch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Switch").field(&self.is_on()).finish()
    }
}

impl fmt::Debug for Switches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switches")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bits").finish_non_exhaustive()
    }
}

/// Walks the archetypes that have a fragment.
#[derive(Debug)]
#[doc(hidden)]
pub struct SwitchCursor<'a> {
    cursor: Cursor<'a>,
    id: FragmentId,
}

impl Walk for SwitchCursor<'_> {
    /// Never: each archetype is asked whether the fragment can be switched there.
    #[inline(always)]
    fn is_at_stretch(&self, _: u32) -> bool {
        false
    }
}

impl<T: Fragment> crate::query::data::Sealed for Enabled<T> {}

// SAFETY: says that it switches the fragment, and lends its bits as atomics.
unsafe impl<T: Fragment> QueryData for Enabled<T> {
    type Item<'w> = Switch<'w>;
    type Slices<'w> = Switches<'w>;
    type Ids = FragmentId;
    type Cursors<'a> = SwitchCursor<'a>;
    type Columns = FragmentId;
    type Fetch<'w> = Bits<'w>;
    type Kept = ();
    const NOTHING: () = ();

    /// Never: who switches is not kept in tables.
    #[inline(always)]
    fn keep(_: Self::Fetch<'_>, _: FragmentId, _: ChunkView<'_>) {}

    #[inline(always)]
    unsafe fn kept<'w>((): ()) -> Option<Self::Fetch<'w>> {
        None
    }

    fn require(
        registry: &FragmentRegistry,
        requirements: &mut Requirements,
    ) -> Result<FragmentId, QueryError> {
        let info = registry.register_met::<T>()?;
        if !info.is_enableable() {
            return Err(QueryError::NotEnableable {
                name: info.name().into(),
            });
        }
        requirements.switch(info.id());
        Ok(info.id())
    }

    fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Self::Cursors<'a> {
        SwitchCursor {
            cursor: lists.cursor(id),
            id,
        }
    }

    #[inline(always)]
    fn columns(cursors: &mut Self::Cursors<'_>, archetype: u32) -> Option<FragmentId> {
        // A composition that is older than the switch has none.
        let entry = cursors.cursor.find(archetype)?;
        entry.switchable.then_some(cursors.id)
    }

    #[inline]
    fn place<'w>(id: FragmentId, chunk: ChunkView<'w>) -> Bits<'w> {
        let Some(bits) = chunk.archetype.enabled_of(id) else {
            unreachable!("an archetype that matches has the bits")
        };
        Bits::of(chunk, bits)
    }

    #[inline(always)]
    fn skip<'w>(bits: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        Bits {
            first: bits.first + rows,
            ..bits
        }
    }

    #[inline(always)]
    unsafe fn item<'w>(bits: Self::Fetch<'w>, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's.
        unsafe { bits.switch(row) }
    }

    #[inline(always)]
    unsafe fn slices<'w>(bits: Self::Fetch<'w>, len: usize) -> Self::Slices<'w> {
        Switches { bits, len }
    }

    #[inline(always)]
    fn fetch_of<'w>(switches: Self::Slices<'w>) -> Self::Fetch<'w> {
        switches.bits
    }
}

#[cfg(all(test, feature = "probe"))]
mod tests {
    use crate::prelude::*;
    use crate::sync::probe;

    #[test]
    fn who_switches_writes_what_changes_alone_and_a_chunks_version_once() {
        let mut world = World::new();
        world
            .registry()
            .register_enableable::<u32>()
            .unwrap_or_else(|error| panic!("{error}"));
        let made = world.create_batch((0..100_u32).map(|n| (n,)));
        assert!(made.is_ok());
        let query = Query::<(&u32, Enabled<u32>)>::new(&world);
        let Ok(mut all) = Query::<Enabled<u32>>::new(&world) else {
            panic!("{query:?}");
        };
        let changed = Query::<Entity, Changed<u32>>::new(&world);
        let mut changed = changed.unwrap_or_else(|error| panic!("{error}"));
        let _ = changed.read(&world);
        let mut set = |world: &mut World, on: bool| {
            let mut run = all.on(world);
            probe::measure(|| {
                run.for_each_chunk(|_, switches| {
                    (0..switches.len()).for_each(|row| _ = switches.at(row).set(on));
                });
            })
        };
        let counts = set(&mut world, true);
        assert_eq!((counts.rmw, counts.owner_changes), (0, 0));
        assert_eq!(changed.read(&world).count(), 0, "it is what it was");
        let counts = set(&mut world, false);
        assert_eq!(counts.rmw, 100);
        // Each bit is looked at and switched, and the version looked at; it is written once.
        assert!(counts.steps <= 3 * 100 + 20, "{counts:?}");
        assert_eq!(changed.read(&world).count(), 0, "none is on");
        let _ = set(&mut world, true);
        assert_eq!(changed.read(&world).count(), 100);
    }
}
