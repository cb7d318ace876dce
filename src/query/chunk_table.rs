//! `ChunkTable`: from a chunk's number to where its data lie, for random access.
//!
//! While an entity's slot is waited for, all that follows from what it says waits too, and takes
//! room in the processor's schedulers: how many of these calls are under way at once, and so how
//! long each takes, goes by how few instructions that is. Whose the chunk is, whether the query
//! sees it, how it is laid out: all of that depends on its number alone, and is asked once.

use core::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::archetype::{Archetype, Chunk, Finder, ROWS_PER_CHUNK};
use crate::entity::{Entity, Origin, Place};
use crate::query::{ChunkView, QueryData};
use crate::world::World;

/// Where the data of chunks lie, by the numbers that entities' places have.
pub(super) struct ChunkTable<D: QueryData> {
    /// The [turned](Place::turned) number to which the first entry belongs.
    first: u32,
    /// Nothing for chunks that the query does not see, or not without a question. What it has is of the last world for
    /// which it was [filled](Self::fill), and lent by nobody but what that call gave.
    entries: Vec<D::Kept>,
}

/// Where the data of chunks lie of a world that is borrowed.
///
/// Must hold: what it has for a chunk's number is where the data of those rows lie, and they are lent without a further
/// question. There is no entry for the chunk in which [what has no place](Place::NOWHERE) lies.
pub(super) struct KnownChunks<'q, D: QueryData> {
    /// The chunk to which the first entry belongs.
    origin: Origin,
    entries: &'q [D::Kept],
    _world: PhantomData<&'q World>,
}

/// Entries for each 16 KiB chunk that the query sees, beyond [`SMALL`]: worlds of one universe take their chunks among
/// each other. To empty so many, of a word each, takes about as long as to find out where one chunk's data lie.
const SPARSE: usize = 16;
/// A table of so many entries is always made.
const SMALL: usize = 64;
/// A table of more bytes is never: who looks few entities up would wait for it. It is one for 2 GiB of chunks where one
/// fragment is read, for half of that where it is written.
const MOST: usize = 1 << 20;

// SAFETY: addresses of what a world holds; what is lent by them is `Send + Sync`, as all fragments are.
unsafe impl<D: QueryData> Send for ChunkTable<D> {}
// SAFETY: as above.
unsafe impl<D: QueryData> Sync for ChunkTable<D> {}
// SAFETY: as above.
unsafe impl<D: QueryData> Send for KnownChunks<'_, D> {}
// SAFETY: as above.
unsafe impl<D: QueryData> Sync for KnownChunks<'_, D> {}
// It is written anew before it is read: queries that have one are what they are without.
impl<D: QueryData> UnwindSafe for ChunkTable<D> {}
impl<D: QueryData> RefUnwindSafe for ChunkTable<D> {}

impl<D: QueryData> ChunkTable<D> {
    /// One that has nothing.
    pub(super) const fn new() -> Self {
        Self {
            first: 0,
            entries: Vec::new(),
        }
    }

    /// Has the chunks of these archetypes, whose data lie there; or nothing, if it were too long for what it is good
    /// for. O(chunks); allocates nothing where they lie among those of the last call.
    pub(super) fn fill<'q>(
        &'q mut self,
        archetypes: impl Iterator<Item = (&'q Archetype, D::Columns)> + Clone,
        view: impl Fn(&'q Archetype, &'q Chunk) -> ChunkView<'q>,
    ) -> KnownChunks<'q, D> {
        if self.put(archetypes.clone(), &view).is_none() {
            self.entries.clear();
            if let Some((first, len)) = Self::window(archetypes.clone()) {
                self.first = first;
                self.entries.resize(len, D::NOTHING);
                let put = self.put(archetypes, &view);
                debug_assert!(put.is_some(), "the window has all");
            }
        }
        KnownChunks {
            origin: Origin::new(self.first),
            entries: &self.entries,
            _world: PhantomData,
        }
    }

    /// The number of the first entry, and how many entries it takes for the chunks of these archetypes; `None` if there
    /// are none, or it is too many.
    fn window<'q>(
        archetypes: impl Iterator<Item = (&'q Archetype, D::Columns)>,
    ) -> Option<(u32, usize)> {
        let (mut first, mut end, mut taken) = (u32::MAX, 0, 0);
        for chunk in archetypes.flat_map(|(archetype, _)| &archetype.chunks) {
            let begin = Place::turned(chunk.run.first());
            (first, end) = (first.min(begin), end.max(begin + chunk.named()));
            taken += chunk.run.len() as usize;
            // It grows with each.
            if (end - first) as usize * size_of::<D::Kept>() > MOST {
                return None;
            }
        }
        let len = end.checked_sub(first)? as usize;
        let fits = len <= Self::most(taken) && end <= Place::turned(Place::NOWHERE.chunk());
        fits.then_some((first, len))
    }

    /// How many entries there may be for so many 16 KiB chunks.
    fn most(taken: usize) -> usize {
        (SMALL + SPARSE * taken).min(MOST / size_of::<D::Kept>().max(1))
    }

    /// Puts in what lies where, if all their numbers are among those for which there are entries,
    /// and those not too many.
    fn put<'q>(
        &mut self,
        archetypes: impl Iterator<Item = (&'q Archetype, D::Columns)>,
        view: impl Fn(&'q Archetype, &'q Chunk) -> ChunkView<'q>,
    ) -> Option<()> {
        self.entries.fill(D::NOTHING);
        let mut taken = 0;
        for (archetype, columns) in archetypes {
            for chunk in &archetype.chunks {
                let at = Place::turned(chunk.run.first()).wrapping_sub(self.first) as usize;
                let entries = self.entries.get_mut(at..)?;
                let entries = entries.get_mut(..chunk.named() as usize)?;
                let view = view(archetype, chunk);
                let fetch = D::place(columns, view);
                for (entry, sub) in entries.iter_mut().zip(0..) {
                    let fetch = D::skip(fetch, sub * ROWS_PER_CHUNK as usize);
                    *entry = D::keep(fetch, columns, view);
                }
                taken += chunk.run.len() as usize;
            }
        }
        (self.entries.len() <= Self::most(taken)).then_some(())
    }
}

impl<'q, D: QueryData> KnownChunks<'q, D> {
    /// Of none.
    pub(super) const fn none() -> Self {
        Self {
            origin: Origin::new(0),
            entries: &[],
            _world: PhantomData,
        }
    }

    /// Whether there are none.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where the data of an entity's chunk lie, and its row there, if it lives in a chunk that this has. Notes what is
    /// lent for writing, with a version.
    #[inline(always)]
    pub(super) fn find(
        &self,
        finder: Finder<'_>,
        entity: Entity,
        version: u32,
    ) -> Option<(D::Fetch<'q>, usize)> {
        self.find_if(finder, entity, version, |_, _| true)
    }

    /// The same, if `is_asked` says so of them, to whom no row is lent for writing. Else nothing is noted.
    #[inline(always)]
    pub(super) fn find_if(
        &self,
        finder: Finder<'_>,
        entity: Entity,
        version: u32,
        is_asked: impl FnOnce(D::Fetch<'q>, usize) -> bool,
    ) -> Option<(D::Fetch<'q>, usize)> {
        let bits = finder.bits_from(self.origin, entity);
        // Beyond all entries if it does not live.
        let entry = *self.entries.get((bits >> Place::ROW_BITS) as usize)?;
        // SAFETY: the world is borrowed for `'q`.
        let fetch = unsafe { D::kept(entry) }?;
        let row = (bits & ((1 << Place::ROW_BITS) - 1)) as usize;
        if !is_asked(fetch, row) {
            return None;
        }
        // SAFETY: just seen; as above.
        unsafe { D::note(entry, version) };
        Some((fetch, row))
    }

    /// What was kept of an entity's chunk, and its row there, if it lives in a chunk that this has. Nothing is noted: it is
    /// for who looks at others, too, before anything of them is lent.
    #[inline(always)]
    pub(super) fn entry(&self, finder: Finder<'_>, entity: Entity) -> Option<(D::Kept, usize)> {
        let bits = finder.bits_from(self.origin, entity);
        // Beyond all entries if it does not live.
        let entry = *self.entries.get((bits >> Place::ROW_BITS) as usize)?;
        // SAFETY: the world is borrowed for `'q`.
        unsafe { D::kept(entry) }?;
        Some((entry, (bits & ((1 << Place::ROW_BITS) - 1)) as usize))
    }
}
