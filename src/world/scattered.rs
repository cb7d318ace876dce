//! Entities that lie all over a world go together.
//!
//! One by one, each would wait for its slot and for its row. So the handles are looked up first, their slots
//! asked for ahead; each is dead from then on, so that one that stands there twice is refused. Then chunk by
//! chunk the gaps are closed, and at last the slots go back.

use crate::archetype::{Move, Row};
use crate::entity::Buried;
use crate::memory::prefetch;
use crate::panics::{Panicked, first};
use crate::world::World;

/// Rows of dead entities, whose values are still there.
#[derive(Debug)]
pub(super) struct Scattered {
    rows: Rows,
    buried: Buried,
}

/// Which rows.
#[derive(Debug)]
enum Rows {
    /// `archetype 20 | position 22 | row 22`, in no order.
    List(Vec<u64>),
    Table(Table),
}

/// A bit for each row of a world.
#[derive(Debug)]
struct Table {
    /// For each archetype, which of `chunks` is its first.
    archetypes: Vec<u32>,
    /// For each chunk, which of `words` is its first.
    chunks: Vec<u32>,
    words: Vec<u64>,
}

/// How many rows of a list ahead memory is asked for.
const AHEAD: usize = 24;
const ROW_BITS: u32 = 22;
const POSITION_BITS: u32 = 22;

impl Table {
    /// A table for a world's rows; `None` if it would be much longer than `entities`.
    fn new(world: &World, entities: usize) -> Option<Self> {
        let chunks = world.archetypes.iter().map(|data| data.chunks.len());
        if world.archetypes.len() > entities || chunks.sum::<usize>() > entities {
            return None;
        }
        let (mut archetypes, mut chunks, mut words) = (Vec::new(), Vec::new(), 0);
        for data in &world.archetypes {
            archetypes.push(chunks.len() as u32);
            for chunk in &data.chunks {
                chunks.push(words as u32);
                words += chunk.len.div_ceil(64) as usize;
            }
        }
        let fits = words <= entities && u32::try_from(words).is_ok();
        fits.then(|| Self {
            archetypes,
            chunks,
            words: vec![0; words],
        })
    }

    #[inline(always)]
    fn note(&mut self, archetype: u32, row: Row) {
        let first = self.archetypes[archetype as usize];
        let first = self.chunks[(first + row.chunk) as usize];
        self.words[(first + row.row / 64) as usize] |= 1 << (row.row % 64);
    }

    /// Calls `end` with the rows of each chunk that has some, the last chunk of an archetype first.
    fn drain(&mut self, mut end: impl FnMut(u32, u32, &[u32])) {
        let mut rows = Vec::new();
        let last = self.chunks.len();
        for (archetype, &first) in self.archetypes.iter().enumerate() {
            let behind = (self.archetypes.get(archetype + 1)).map_or(last, |&next| next as usize);
            for chunk in (first as usize..behind).rev() {
                let start = self.chunks[chunk] as usize;
                let next = self.chunks.get(chunk + 1);
                let stop = next.map_or(self.words.len(), |&next| next as usize);
                rows.clear();
                for (word, &bits) in (0..).zip(&self.words[start..stop]) {
                    let mut left = bits;
                    while left != 0 {
                        rows.push(word * 64 + left.trailing_zeros());
                        left &= left - 1;
                    }
                }
                if !rows.is_empty() {
                    end(archetype as u32, chunk as u32 - first, &rows);
                }
            }
        }
    }
}

impl Scattered {
    /// For up to so many entities.
    pub(super) fn new(world: &World, entities: usize) -> Self {
        let rows = match Table::new(world, entities) {
            Some(table) => Rows::Table(table),
            None => Rows::List(Vec::with_capacity(entities)),
        };
        Self {
            rows,
            buried: Buried::with_capacity(entities),
        }
    }

    /// Whether so few entities go quicker one by one: nothing is gathered where a chunk loses one or two, nor where a
    /// list would have to be sorted and rows are close at hand.
    pub(super) fn is_too_few(world: &World, entities: usize) -> bool {
        /// What it takes to begin and to end costs as much as so many.
        const FEWEST: usize = 16;
        /// From so many of each chunk on they go quicker together.
        const OF_A_CHUNK: usize = 6;
        let chunks = world.archetypes.iter().map(|data| data.chunks.len());
        entities < FEWEST
            || entities < world.archetypes.len()
            || entities < OF_A_CHUNK * chunks.sum::<usize>()
            || entities < world.count() / 64 && !Self::lie_far(world, entities)
    }

    /// Whether a world has so many rows that those of a few entities have to be waited for.
    pub(super) fn lie_far(world: &World, entities: usize) -> bool {
        /// What they take does not fit in the caches that a processor has to itself.
        const MANY: usize = 1 << 18;
        // To count them takes as long as there are archetypes.
        entities > 1 && entities >= world.archetypes.len() && world.count() >= MANY
    }

    /// From how many neighbours on it is quicker to end this first, so that they go together, and to begin anew behind
    /// them. A table costs as much as burying an eighth of its words one by one.
    pub(super) fn worth_ending(&self) -> u32 {
        const FEWEST: u32 = 64;
        match &self.rows {
            Rows::Table(table) => FEWEST.max((table.chunks.len() + table.words.len()) as u32 / 8),
            Rows::List(_) => FEWEST,
        }
    }

    /// Notes the row of an entity, which is dead from now on.
    #[inline(always)]
    pub(super) fn bury(&mut self, world: &World, entity: crate::entity::Entity, at: (u32, Row)) {
        let (archetype, row) = at;
        world.universe.bury(entity, &mut self.buried);
        match &mut self.rows {
            Rows::Table(table) => table.note(archetype, row),
            Rows::List(list) => list.push(
                u64::from(archetype) << (POSITION_BITS + ROW_BITS)
                    | u64::from(row.chunk) << ROW_BITS
                    | u64::from(row.row),
            ),
        }
    }

    /// Drops the values and closes the gaps; what drops panicked with.
    pub(super) fn end(self, world: &mut World) -> Panicked {
        let Self { rows, buried, .. } = self;
        let (mut panicked, mut moves) = (None, Vec::new());
        let mut end = |world: &mut World, archetype, position, rows: &[u32]| {
            let more = world.end_scattered(archetype, position, rows, &mut moves);
            panicked = first(panicked.take(), more);
        };
        match rows {
            Rows::Table(mut table) => {
                table.drain(|archetype, position, rows| end(world, archetype, position, rows))
            }
            Rows::List(mut list) => {
                list.sort_unstable();
                // The last chunk of an archetype first.
                let (mut rows, mut left, mut asked) = (Vec::new(), &list[..], list.len());
                while let Some(&last) = left.last() {
                    let first = left.partition_point(|row| row >> ROW_BITS < last >> ROW_BITS);
                    for &row in &list[first.saturating_sub(AHEAD).min(asked)..asked] {
                        let (archetype, row) = split(row);
                        world.expect_row(archetype, row);
                    }
                    asked = asked.min(first.saturating_sub(AHEAD));
                    rows.clear();
                    rows.extend(left[first..].iter().map(|&row| split(row).1.row));
                    let (archetype, row) = split(last);
                    end(world, archetype, row.chunk, &rows);
                    left = &left[..first];
                }
            }
        }
        world.universe.free(buried);
        panicked
    }
}

/// An entry of a list of rows.
#[inline(always)]
fn split(row: u64) -> (u32, Row) {
    let position = (row >> ROW_BITS) as u32 & ((1 << POSITION_BITS) - 1);
    let place = Row {
        chunk: position,
        row: row as u32 & ((1 << ROW_BITS) - 1),
    };
    ((row >> (POSITION_BITS + ROW_BITS)) as u32, place)
}

impl World {
    /// Asks the processor for the row of an entity that will be destroyed soon, and for the one that will come there.
    pub(super) fn expect_row_of(&self, entity: crate::entity::Entity) {
        if let Some((archetype, row)) = self.locate(entity) {
            self.expect_row(archetype, row);
        }
    }

    /// Asks the processor for a row that will be ended soon, and for the one that will come there.
    fn expect_row(&self, archetype: u32, row: Row) {
        /// Of wide rows the first columns: all would fill the first cache.
        const COLUMNS: usize = 8;
        let data = &self.archetypes[archetype as usize];
        let chunk = &data.chunks[row.chunk as usize];
        for row in [row.row, chunk.len - 1] {
            prefetch(chunk.handles().wrapping_add(row as usize));
            for column in data.columns.iter().take(COLUMNS) {
                let array = chunk.array(column.offset);
                prefetch(array.wrapping_add(row as usize * column.size as usize));
            }
        }
    }

    /// Ends rows of a chunk whose entities are dead.
    fn end_scattered(
        &mut self,
        archetype: u32,
        position: u32,
        rows: &[u32],
        moves: &mut Vec<Move>,
    ) -> Panicked {
        let version = self.stamp();
        let (universe, number) = (&self.universe, self.number);
        let data = &mut self.archetypes[archetype as usize];
        // SAFETY: the rows' values end with their entities.
        let panicked =
            unsafe { data.end_scattered(universe, number, position, rows, version, moves) };
        self.settle_groups(archetype);
        panicked
    }
}
