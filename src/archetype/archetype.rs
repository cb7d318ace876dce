//! `Archetype`: one composition, and the chunks of all entities that have it.
//!
//! Must hold between calls:
//! * every chunk's rows below its `len` are whole, the others empty (see [`Chunk`]);
//! * a chunk stands in its group's open list if it has much room, and not if it is full; one that was full, and has
//!   [little](Chunk::opens_with) since, stands there or does not;
//! * `entities` is the sum of all `len`;
//! * a group's `capacity` is the sum of what each of its chunks [will hold](Archetype::unfolded_capacity);
//! * the directory names this archetype and the chunk's position for each of the chunk's numbers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::archetype::bits::EnabledBits;
use crate::archetype::chunk::Chunk;
use crate::archetype::chunk_list::ChunkList;
use crate::archetype::column::Column;
use crate::archetype::edge::Edges;
use crate::archetype::having::{Having, NO_COLUMN};
use crate::archetype::mover::Mover;
use crate::archetype::stagger::begin;
use crate::archetype::universe::Universe;
use crate::chunk::{ChunkError, MEGACHUNK_CHUNKS, Run};
use crate::fragment::{FragmentId, FragmentSet};
use crate::hashers::ByNumbers;
use crate::panics::{Panicked, end_all, end_here, forget, note, resume};

/// 16 KiB chunks in a chunk that an archetype with few entities may have already: 128 KiB, as Mass has them.
///
/// Where two threads write columns that lie side by side, each processor reads ahead of its own column into the
/// other's, by a KiB or so, and takes it away: in columns as short as those of 16 KiB that is half of them.
const STRIDE: u32 = 8;

/// A value that lies in a chunk once.
#[derive(Debug)]
pub(crate) struct ChunkValue {
    pub(crate) id: FragmentId,
    pub(crate) offset: u32,
    /// What a new chunk begins with.
    pub(crate) template: crate::fragment::Value,
}

/// The number of a shared value in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SharedId(pub(crate) u32);

/// A combination of shared values, and those of its chunks that are filled next.
#[derive(Debug)]
pub(crate) struct Group {
    /// One value for each of the archetype's shared fragments.
    pub(crate) key: Box<[SharedId]>,
    pub(crate) open: Vec<u32>,
    /// Chunks that it has in all.
    pub(crate) chunks: u32,
    /// Entities that these can hold, those that are folded when they will have unfolded.
    pub(crate) capacity: usize,
}

impl Group {
    /// One without chunks, that has these shared values.
    pub(crate) fn of(key: &[SharedId]) -> Self {
        Self {
            key: key.into(),
            open: Vec::new(),
            chunks: 0,
            capacity: 0,
        }
    }
}

/// Everything about one composition.
#[derive(Debug)]
pub(crate) struct Archetype {
    pub(crate) chunks: ChunkList,
    /// Entities that one of its shortest chunks holds.
    pub(crate) least_capacity: u32,
    /// Entities that a [folded](crate::archetype::fold) one holds; 0 if none is.
    pub(crate) fold_rows: u32,
    /// 16 KiB chunks in one of its shortest chunks.
    pub(crate) run: u32,
    /// Later chunks may be longer: see [`Archetype::next_shift`].
    pub(crate) grows: bool,
    pub(crate) number: u32,
    /// Unique in the process: who comes again after it has gone has another, be it of the same fragments.
    pub(crate) born: u64,
    pub(crate) columns: Box<[Column]>,
    /// The numbers of `columns`, in order.
    pub(crate) column_ids: Arc<[FragmentId]>,
    pub(crate) needs_drop: bool,
    /// What moves a row, if that is known of the columns' types.
    pub(crate) movers: Box<[Mover]>,
    /// Its chunks begin some lines behind their first byte, not all as many: see [`begin`].
    pub(crate) staggered: bool,
    pub(crate) entities: usize,
    pub(crate) groups: Vec<Group>,
    pub(crate) group_of: HashMap<Box<[SharedId]>, u32, ByNumbers>,
    /// Groups without chunks, to be used again.
    pub(crate) idle_groups: Vec<u32>,
    /// Keys of groups that have gone, whose shared values the world has not let go yet.
    pub(crate) retired_keys: Vec<Box<[SharedId]>>,
    /// All fragments, in the order of their numbers.
    pub(crate) ids: Arc<[FragmentId]>,
    pub(crate) set: FragmentSet,
    /// Shared and const shared fragments, in the order of their numbers: of what group keys are made.
    pub(crate) shared: Box<[FragmentId]>,
    /// In the order of their fragments' numbers, these and the next.
    pub(crate) chunk_values: Box<[ChunkValue]>,
    pub(crate) enabled: Box<[EnabledBits]>,
    /// Versions that a chunk keeps: one for each column, and for each tag that can be switched off.
    pub(crate) versions: u32,
    pub(crate) edges: Edges,
    /// Which kinds of change of its entities somebody upstairs wants to hear of, as bits.
    pub(crate) watched: u8,
    pub(crate) ends: Ends,
}

/// What it takes to destroy an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Copies alone: nobody upstairs hears of it, no value is dropped, no fragment can be switched off, and its id is given
    /// back as ids mostly are.
    Quietly,
    /// The same, and values are dropped.
    WithDrops,
    /// More, or it is not known yet.
    Told,
}

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The chunk's position in its archetype.
    pub(crate) chunk: u32,
    pub(crate) row: u32,
}

impl Archetype {
    /// The column of a fragment; `None` if it is not there, or a tag.
    #[inline]
    pub(crate) fn column_of(&self, id: FragmentId) -> Option<usize> {
        self.column_ids.iter().position(|&column| column == id)
    }

    /// The same for who asks for many of many, and seldom. O(log columns).
    pub(crate) fn seek_column(&self, id: FragmentId) -> Option<usize> {
        self.column_ids.binary_search(&id).ok()
    }

    /// The positions of some of its columns, which are in its order. O(columns).
    #[inline]
    pub(crate) fn positions_of<'a>(&'a self, some: &'a [Column]) -> impl Iterator<Item = usize> {
        let mut all = (0..).zip(&*self.column_ids);
        some.iter()
            .filter_map(move |column| Some(all.find(|(_, id)| **id == column.id)?.0))
    }

    /// Where the arrays of these fragments begin in its shortest chunks; anywhere for a tag.
    pub(crate) fn offsets_of<C: FromIterator<u32>>(&self, ids: &[FragmentId]) -> C {
        let columns = ids.iter().map(|&id| self.seek_column(id));
        columns
            .map(|column| column.map_or(0, |at| self.columns[at].offset))
            .collect()
    }

    /// Which of the shared values of a group is this fragment's.
    pub(crate) fn shared_at(&self, id: FragmentId) -> Option<usize> {
        self.shared.iter().position(|&shared| shared == id)
    }

    /// The chunk fragment of this number, if there is one.
    #[inline]
    pub(crate) fn chunk_value_of(&self, id: FragmentId) -> Option<&ChunkValue> {
        self.chunk_values.iter().find(|value| value.id == id)
    }

    /// Which of a chunk's versions says when a fragment changed; `None` for one that changes only by coming
    /// and going, or is not one an entity.
    pub(crate) fn version_of(&self, id: FragmentId) -> Option<u32> {
        match self.column_of(id) {
            Some(column) => Some(column as u32),
            None => self.enabled_of(id).map(|bits| bits.version),
        }
    }

    /// What queries know of a fragment that is there. O(log fragments).
    pub(crate) fn having(&self, id: FragmentId) -> Having {
        let column = self.seek_column(id);
        let bits = self.enabled.binary_search_by_key(&id, |bits| bits.id);
        let bits = bits.ok().map(|at| self.enabled[at]);
        let offset = match (column, self.shared.binary_search(&id)) {
            (Some(column), _) => self.columns[column].offset,
            (None, Ok(at)) => at as u32,
            (None, Err(_)) => {
                let value = self
                    .chunk_values
                    .binary_search_by_key(&id, |value| value.id);
                value.map_or(0, |at| self.chunk_values[at].offset)
            }
        };
        let version = column.map(|column| column as u32);
        Having {
            archetype: self.number,
            column: version
                .or(bits.map(|bits| bits.version))
                .unwrap_or(NO_COLUMN),
            offset,
            switchable: bits.is_some(),
        }
    }

    /// Adds a chunk without entities, open, for so many that are about to come.
    pub(crate) fn add_chunk(
        &mut self,
        universe: &Universe,
        world: u16,
        group: u32,
        coming: usize,
        version: u32,
    ) -> Result<u32, ChunkError> {
        let shift = self.next_shift(group, coming);
        let position = self.add_chunk_of(universe, world, group, shift, coming)?;
        self.chunks[position as usize].begin_at(version);
        Ok(position)
    }

    /// Adds a chunk without entities, open, 2 to the power of `shift` times as long as the shortest ones, if
    /// there is one so long; for `coming` entities at least.
    pub(crate) fn add_chunk_of(
        &mut self,
        universe: &Universe,
        world: u16,
        group: u32,
        shift: u32,
        coming: usize,
    ) -> Result<u32, ChunkError> {
        // Room for what follows, so that nothing fails once the chunk is taken.
        self.chunks.reserve_one();
        self.groups[group as usize].open.reserve(1);
        let (run, shift) = self.take_run(universe, shift)?;
        let base = begin(universe, run, self.staggered);
        let position = self.chunks.len() as u32;
        let versions = self.versions as usize;
        let mut chunk = Chunk::new(base, run, group, versions, self.least_capacity, shift);
        if shift == 0 && self.folds(group, coming) {
            chunk.fold(self.fold_rows);
        }
        chunk.loosen(self.is_loose());
        if let Err(panic) = self.fill_values(&chunk) {
            // SAFETY: just taken, and nobody knows of it.
            unsafe { universe.give_chunk(run) };
            resume(Some(panic));
        }
        universe
            .directory()
            .enter(&chunk, world, self.number, position);
        let capacity = self.unfolded_capacity(&chunk) as usize;
        self.chunks.push(chunk);
        self.groups[group as usize].chunks += 1;
        self.groups[group as usize].capacity += capacity;
        self.open(position);
        Ok(position)
    }

    /// Gives a new chunk its chunk fragments; all or, if a template's `clone` panics, none.
    pub(crate) fn fill_values(&self, chunk: &Chunk) -> Result<(), Box<dyn core::any::Any + Send>> {
        let mut made = 0;
        let mut panicked = None;
        note(&mut panicked, || {
            for value in &self.chunk_values {
                // SAFETY: the layout has room for the value there, and the chunk is new.
                unsafe { value.template.clone_to(chunk.array(value.offset)) };
                made += 1;
            }
        });
        let Some(panic) = panicked else {
            return Ok(());
        };
        for value in &self.chunk_values[..made] {
            // SAFETY: just made, and used by nobody. A second panic says nothing new.
            forget(unsafe { value.template.drop_at(chunk.array(value.offset)) });
        }
        Err(panic)
    }

    /// Takes the memory of a new chunk: of the length that is wanted, or of half of it, or of a quarter …
    fn take_run(&self, universe: &Universe, mut shift: u32) -> Result<(Run, u32), ChunkError> {
        loop {
            match universe.take_chunk(self.run << shift) {
                // Of a shorter one there may be some whose memory the system has given already.
                Err(ChunkError::Exhausted { .. } | ChunkError::Refused { .. }) if shift > 0 => {
                    shift -= 1;
                }
                result => return Ok((result?, shift)),
            }
        }
    }

    /// How often the length of the shortest chunks is doubled for the next one, of a group to which
    /// `coming` entities are about to come in one call; 0 if one comes, as others may do after it.
    ///
    /// Up to [`STRIDE`] a new chunk is no longer than half of what is there, or than what comes and an eighth of all
    /// that is there then: so rare compositions take little memory. A longer one is no longer than a 32nd of what is
    /// there then: so frequent ones are walked in long strides, and have chunks enough for many threads.
    fn next_shift(&self, group: u32, coming: usize) -> u32 {
        if !self.grows {
            return 0;
        }
        let least = self.least_capacity as usize;
        let shift = |times: usize, longest: u32| {
            let longest = (longest / self.run).max(1);
            (times | 1).ilog2().min(longest.ilog2())
        };
        let there = match self.shared.len() {
            0 => self.entities,
            // At least, if its chunks are full. There may be many combinations, of few entities each.
            _ => self.groups[group as usize].chunks as usize * least,
        };
        let soon = match coming {
            // Who creates one by one is likely to go on, a batch is likely to be all.
            0 => there / 2,
            _ => coming.saturating_add(there.saturating_add(coming) / 8),
        };
        let then = there.saturating_add(coming);
        shift(soon / least, STRIDE).max(shift(then / least / 32, MEGACHUNK_CHUNKS as u32))
    }

    /// Notes that `count` rows at the end of an open chunk have been filled.
    #[inline(always)]
    pub(crate) fn grown(&mut self, position: u32, count: u32, version: u32) {
        let chunk = &mut self.chunks[position as usize];
        chunk.grow(&self.enabled, count, version);
        self.entities += count as usize;
        if chunk.is_full() {
            self.filled_up(position);
        }
    }

    /// After a row was closed: the chunk has so much room now that it is filled again, or is empty.
    #[cold]
    #[inline(never)]
    pub(crate) fn has_room(&mut self, universe: &Universe, world: u16, position: u32) {
        self.reopen(position);
        if self.chunks[position as usize].len == 0 {
            self.emptied(universe, world, position);
        }
    }

    /// Decides what becomes of a chunk that has no entities: it stays if it is the only one of its
    /// archetype with room, so that one entity that comes and goes costs no chunk. Not if it has
    /// chunk fragments: whoever comes next begins with the archetype's own.
    pub(crate) fn emptied(&mut self, universe: &Universe, world: u16, position: u32) {
        let group = self.chunks[position as usize].group as usize;
        if !self.is_loose() || self.groups[group].open.len() > 1 {
            self.release_chunk(universe, world, position);
        }
    }

    /// Gives a chunk without entities back.
    #[cold]
    #[inline(never)]
    pub(crate) fn release_chunk(&mut self, universe: &Universe, world: u16, position: u32) {
        let chunk = self.detach(universe, world, position);
        debug_assert!(chunk.len == 0);
        for value in &self.chunk_values {
            // SAFETY: every chunk holds one, and this one is given back.
            let panicked = unsafe { value.template.drop_at(chunk.array(value.offset)) };
            end_here(panicked, "a chunk fragment", Some(&world));
        }
        universe.directory().leave(&chunk);
        // SAFETY: the chunk was this archetype's, holds no values, and is forgotten here.
        unsafe { universe.give_chunk(chunk.run) };
    }

    /// Gives all chunks back, whose values have ended, wherever they stand, and lets the templates
    /// go: the archetype ends.
    pub(crate) fn end(&mut self, universe: &Universe, world: u16, panicked: &mut Panicked) {
        for position in (0..self.chunks.len() as u32).rev() {
            self.release_chunk(universe, world, position);
        }
        end_all(panicked, core::mem::take(&mut self.chunk_values));
    }

    /// The chunks without entities, the last ones first. O(groups + chunks with room), and they are sorted.
    pub(crate) fn empty_chunks(&self) -> Vec<u32> {
        let open = self.groups.iter().flat_map(|group| &group.open);
        let is_empty = |position: &u32| self.chunks[*position as usize].len == 0;
        let mut empty: Vec<u32> = open.copied().filter(is_empty).collect();
        empty.sort_unstable_by(|a, b| b.cmp(a));
        empty
    }

    /// Gives all chunks without entities back; how many. The cost of [`empty_chunks`](Self::empty_chunks).
    pub(crate) fn trim(&mut self, universe: &Universe, world: u16) -> usize {
        let empty = self.empty_chunks();
        // The last chunk takes the place of one that goes: it is none that is still to go.
        for &position in &empty {
            self.release_chunk(universe, world, position);
        }
        empty.len()
    }
}
