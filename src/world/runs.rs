//! Runs of neighbouring rows change their composition, or go: what slices, queries and compaction are
//! made of.
//!
//! A run moves in pieces, as many as it takes chunks at the other end: users' values are made first, then
//! each column is copied at once, then the handles' places follow. Where the two compositions are laid
//! out alike (only tags or shared values differ) and without chunk fragments, a whole chunk is handed over as it is,
//! unless its entities are to fill room at the other end: there is much, or there is some and the chunk is less than
//! half full.
//!
//! A panic of the user's closure ends the run: the entities before are moved, the others are as they
//! were. What a `drop` panics with is kept, and comes back when the run is done.

use core::any::Any;
use core::marker::PhantomData;

use crate::archetype::{Chunk, Column, Edge, Refitting, Row, Rows, Stock, copy_bits, copy_rows};
use crate::entity::Entity;
use crate::fragment::Bundle;
use crate::panics::{Panicked, first, note, resume};
use crate::world::create::COLUMNS;
use crate::world::watch::{ADDED, SET};
use crate::world::{Prototype, World, WorldError};

/// What became of a run.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    /// Rows that are done, the first ones of the run.
    pub(crate) count: u32,
    pub(crate) panicked: Panicked,
    /// Why the row behind them is not.
    pub(crate) refused: Option<WorldError>,
}

/// Rows that get a bundle each.
pub(crate) struct Fill<'a, B> {
    pub(crate) world: &'a World,
    pub(crate) archetype: u32,
    /// Where the entities lie.
    pub(crate) rows: Rows,
    columns: [*mut u8; COLUMNS],
    /// The row of `columns` where the first bundle goes.
    at: u32,
    written: u32,
    /// Along which the values are replaced that stand there.
    replaced: Option<&'a Edge>,
    panicked: Panicked,
    _bundle: PhantomData<fn(B)>,
}

impl<B: Bundle> Fill<'_, B> {
    /// Gives each row the bundle that `make` says. If that panics, the rows before have theirs.
    #[inline(always)]
    pub(crate) fn each(&mut self, mut make: impl FnMut(u32) -> B) {
        let columns = self.columns;
        for row in self.written..self.rows.count {
            let bundle = make(self.rows.first + row);
            if let Some(edge) = self.replaced {
                let data = &self.world.archetypes[self.archetype as usize];
                let one = Rows {
                    first: self.rows.first + row,
                    count: 1,
                    ..self.rows
                };
                // SAFETY: the values are replaced in the next step.
                let more = unsafe { data.end_rows(one, edge) };
                self.panicked = first(self.panicked.take(), more);
            }
            // SAFETY: who made `self` gave the columns of `B`, with a row for each that has none
            // now.
            unsafe { bundle.write(columns.as_ptr(), (self.at + row) as usize) };
            self.written = row + 1;
        }
    }
}

impl<B> Fill<'_, B> {
    /// What comes was made where a chunk was to have it: moves it from there.
    fn made(&mut self, edge: &Edge, refitting: &Refitting) {
        let (first, at) = (self.rows.first as usize, self.at as usize);
        for (&offset, &to) in edge.offsets.iter().zip(&self.columns) {
            if let Some((column, from)) = refitting.coming(offset) {
                let size = column.size as usize;
                let bytes = self.rows.count as usize * size;
                // SAFETY: as many values were made there, and the rows here have none.
                unsafe {
                    from.add(first * size)
                        .copy_to_nonoverlapping(to.add(at * size), bytes);
                }
            }
        }
        self.written = self.rows.count;
    }
}

impl Fill<'_, ()> {
    /// Nothing comes.
    pub(crate) fn nothing(&mut self) {
        self.written = self.rows.count;
    }

    /// Gives the rows clones of a prototype's values, which [can be given so](Prototype::fills_rows). If one panics, no
    /// row has any.
    ///
    /// # Safety
    /// The edge is that of a change by which the prototype's fragments come. If its values replace others, neither
    /// those nor their clones are anything but [bytes](Prototype::is_bytes).
    pub(crate) unsafe fn copies(&mut self, prototype: &Prototype) {
        // SAFETY: who made `self` gave the columns of what comes along the edge, with a row for each that has no value
        // now, or, by the caller, one that need not be dropped.
        resume(unsafe { prototype.fill_rows(&self.columns, self.at, self.rows.count) });
        self.written = self.rows.count;
    }
}

impl World {
    /// The longest run of neighbouring rows, in order, that a slice begins with: of which archetype, and
    /// which. Its first handle must be good; the others are compared with those of the chunk.
    #[inline]
    pub(crate) fn run_at(&self, entities: &[Entity]) -> Result<(u32, Rows), WorldError> {
        let (archetype, row) = self.find(entities[0])?;
        let chunk = &self.archetypes[archetype as usize].chunks[row.chunk as usize];
        let there = &chunk.entities()[row.row as usize..];
        // Most often the second one says that there is none.
        let are_two = there
            .get(1)
            .is_some_and(|second| entities.get(1) == Some(second));
        let count = if are_two { common(there, entities) } else { 1 };
        let rows = Rows {
            chunk: row.chunk,
            first: row.row,
            count: count as u32,
        };
        Ok((archetype, rows))
    }

    /// Moves a run along an edge to a group of its target, which it is not in. `fill` gives each row what
    /// comes: [`Fill::each`] or [`Fill::nothing`].
    pub(crate) fn move_rows<B: Bundle>(
        &mut self,
        archetype: u32,
        rows: Rows,
        edge: &Edge,
        group: u32,
        mut fill: impl FnMut(&mut Fill<'_, B>),
    ) -> Moved {
        let coming = self.coming(archetype, rows, self.watches(edge.target, ADDED | SET));
        let moved = if self.can_hand_over(archetype, rows, edge, group) {
            self.hand_over(archetype, rows, edge, group, &mut fill)
        } else if let Some(refitting) = self.can_refit(archetype, rows, edge, group) {
            self.refit_over(archetype, rows, edge, group, refitting, &mut fill)
        } else {
            self.copy_along(archetype, rows, edge, group, &mut fill)
        };
        self.settle_groups(archetype);
        self.gather_come(archetype, &coming, moved.count);
        if self.watches(edge.target, SET) {
            self.gather_given(&edge.regiven, &coming, moved.count);
        }
        if moved.count < rows.count {
            self.let_go(edge.target, group);
        }
        moved
    }

    fn can_hand_over(&self, archetype: u32, rows: Rows, edge: &Edge, group: u32) -> bool {
        let source = &self.archetypes[archetype as usize];
        let target = &self.archetypes[edge.target as usize];
        let chunk = &source.chunks[rows.chunk as usize];
        rows.count == chunk.len
            && edge.ended.is_empty()
            && !edge.fills.takes_room()
            && target.takes_chunk(group, chunk)
            && source.hands_chunks_to(target)
    }

    /// How a whole chunk becomes the target's with its columns where they are; `None` if its entities are better
    /// copied.
    fn can_refit(&self, archetype: u32, rows: Rows, edge: &Edge, group: u32) -> Option<Refitting> {
        let source = &self.archetypes[archetype as usize];
        let chunk = &source.chunks[rows.chunk as usize];
        let is_whole = rows.count == chunk.len && chunk.len >= chunk.capacity / 2;
        // What is replaced would need two arrays for a while.
        let replaces = !edge.ended.is_empty() && !edge.offsets.is_empty();
        // What is filled by default is copied to where there is room for it, if it takes any: `copy_along` does that.
        let stays = edge.target == archetype || edge.fills.takes_room();
        if !is_whole || replaces || stays || !self.refits() {
            return None;
        }
        let target = &self.archetypes[edge.target as usize];
        if target.is_to_be_filled(group, chunk.len, chunk.len) {
            return None;
        }
        Refitting::plan(source, chunk, target, edge)
    }

    /// Whether chunks may be [refitted](Refitting). Not where a world that is loaded is to go on as
    /// the saved one: a file does not say where such a chunk has its columns, and how many rows
    /// have room so.
    pub(crate) fn refits(&self) -> bool {
        !self.universe.is_ordered()
    }

    /// Hands a whole chunk over whose columns stay where they are; what comes lies outside.
    fn refit_over<B: Bundle>(
        &mut self,
        archetype: u32,
        rows: Rows,
        edge: &Edge,
        group: u32,
        refitting: Refitting,
        fill: &mut impl FnMut(&mut Fill<'_, B>),
    ) -> Moved {
        let mut columns = [core::ptr::null_mut(); COLUMNS];
        for (column, &offset) in columns.iter_mut().zip(&edge.offsets) {
            // Tags come to no column.
            if let Some((_, array)) = refitting.coming(offset) {
                *column = array;
            }
        }
        let mut new = self.filling(archetype, rows, columns, rows.first, None);
        let mut panicked = None;
        note(&mut panicked, || fill(&mut new));
        let written = new.written;
        if written < rows.count {
            let before = Rows {
                count: written,
                ..rows
            };
            let mut moved = self.copy_made::<B>(archetype, before, edge, group, &refitting);
            moved.panicked = first(panicked, moved.panicked);
            return moved;
        }
        if let Err(refused) = make_tags(edge, rows.count) {
            let ended = self.end_made(archetype, rows, edge, &refitting);
            return Moved {
                panicked: first(panicked, first(Some(refused), ended)),
                ..Moved::default()
            };
        }
        let version = self.stamp();
        let source = &mut self.archetypes[archetype as usize];
        // SAFETY: the values that go along are the target's, the others end here.
        let ended = unsafe { source.end_rows(rows, edge) };
        let mut chunk = source.detach(&self.universe, self.number, rows.chunk);
        chunk.refit_to(refitting, version);
        let target = &mut self.archetypes[edge.target as usize];
        target.adopt(&self.universe, self.number, chunk, group, version);
        Moved {
            count: rows.count,
            panicked: first(panicked, ended),
            refused: None,
        }
    }

    /// Moves the first rows of a chunk, for which what comes is made already, where the chunk was to have it.
    #[cold]
    fn copy_made<B: Bundle>(
        &mut self,
        archetype: u32,
        rows: Rows,
        edge: &Edge,
        group: u32,
        refitting: &Refitting,
    ) -> Moved {
        let moved = self.copy_along::<B>(archetype, rows, edge, group, &mut |fill| {
            fill.made(edge, refitting);
        });
        // What found no room ends.
        let left = Rows {
            first: rows.first + moved.count,
            count: rows.count - moved.count,
            ..rows
        };
        let panicked = self.end_made(archetype, left, edge, refitting);
        Moved {
            panicked: first(moved.panicked, panicked),
            ..moved
        }
    }

    /// Ends what was made for some rows of a chunk, and comes to none: also values without a size, which lie nowhere.
    #[cold]
    fn end_made(&self, archetype: u32, rows: Rows, edge: &Edge, refitting: &Refitting) -> Panicked {
        let mut panicked = None;
        let target = &self.archetypes[edge.target as usize];
        // What comes by default was not made, or has ended.
        let comes = |column: &&Column| {
            column.size == 0
                && !edge.fills.has(column.id)
                && self.archetypes[archetype as usize]
                    .column_of(column.id)
                    .is_none()
        };
        let nowhere = |&column: &Column| (column, core::ptr::dangling_mut());
        let without_size = target.columns.iter().filter(comes).map(nowhere);
        for (column, array) in refitting.all_coming().chain(without_size) {
            for row in rows.first..rows.first + rows.count {
                let value = array.wrapping_add(row as usize * column.size as usize);
                if let Some(drop) = column.drop {
                    // SAFETY: a value that was made, and moved nowhere.
                    note(&mut panicked, || unsafe { drop(value, 1) });
                }
            }
        }
        panicked
    }

    /// Hands a whole chunk over.
    fn hand_over<B: Bundle>(
        &mut self,
        archetype: u32,
        rows: Rows,
        edge: &Edge,
        group: u32,
        fill: &mut impl FnMut(&mut Fill<'_, B>),
    ) -> Moved {
        let chunk = &self.archetypes[archetype as usize].chunks[rows.chunk as usize];
        // What comes has no column, or there would be one more at the other end.
        let mut tags = self.filling(archetype, rows, columns(chunk, &edge.offsets), 0, None);
        let mut panicked = None;
        note(&mut panicked, || fill(&mut tags));
        let written = tags.written;
        if written < rows.count {
            let before = Rows {
                count: written,
                ..rows
            };
            let moved = self.copy_along(archetype, before, edge, group, &mut |fill: &mut Fill<
                '_,
                (),
            >| {
                fill.nothing();
            });
            return Moved {
                panicked: first(panicked, moved.panicked),
                ..moved
            };
        }
        if let Err(refused) = make_tags(edge, rows.count) {
            // What came are tags, which are nothing to end.
            return Moved {
                panicked: first(panicked, Some(refused)),
                ..Moved::default()
            };
        }
        let version = self.stamp();
        if edge.target == archetype {
            self.archetypes[archetype as usize].regroup(rows.chunk, group, version);
        } else {
            let source = &mut self.archetypes[archetype as usize];
            let chunk = source.detach(&self.universe, self.number, rows.chunk);
            let target = &mut self.archetypes[edge.target as usize];
            target.adopt(&self.universe, self.number, chunk, group, version);
        }
        Moved {
            count: rows.count,
            panicked,
            refused: None,
        }
    }

    /// Copies a run, piece by piece, and closes the gap.
    fn copy_along<B: Bundle>(
        &mut self,
        archetype: u32,
        rows: Rows,
        edge: &Edge,
        group: u32,
        fill: &mut impl FnMut(&mut Fill<'_, B>),
    ) -> Moved {
        let version = self.stamp();
        let mut moved = Moved::default();
        while moved.count < rows.count && moved.panicked.is_none() {
            let left = rows.count - moved.count;
            let Some(to) = self.room_or_why(edge.target, group, left, &mut moved) else {
                break;
            };
            let target = &self.archetypes[edge.target as usize];
            let chunk = &target.chunks[to.chunk as usize];
            let piece = Rows {
                first: rows.first + moved.count,
                count: (rows.count - moved.count).min(chunk.capacity - to.row),
                ..rows
            };
            let mut stock = None;
            if !edge.fills.is_empty() {
                // Before what comes: users' code, too.
                note(&mut moved.panicked, || {
                    stock = Some(edge.fills.stock(piece.count))
                });
                if stock.is_none() {
                    break;
                }
            }
            let columns = columns(chunk, &edge.offsets);
            let mut new = self.filling(archetype, piece, columns, to.row, None);
            note(&mut moved.panicked, || fill(&mut new));
            let count = new.written;
            if let Some(stock) = stock {
                // SAFETY: as many empty rows behind the chunk's last, where what comes has not come.
                unsafe { put_first(stock, chunk, to.row, count, &mut moved.panicked) };
            }
            if count == 0 {
                break;
            }
            let (from, chunk) = self.ends(archetype, rows.chunk, edge.target, to.chunk);
            // SAFETY: rows of a chunk that is not the target's, and as many empty ones behind the
            // last there, in whose new columns alone the values were made.
            let entities = unsafe { copy_rows(edge, from, piece.first, chunk, to.row, count) };
            self.universe.place_rows(entities, chunk.run, to.row);
            self.archetypes[edge.target as usize].grown(to.chunk, count, version);
            let (from, chunk) = self.ends(archetype, rows.chunk, edge.target, to.chunk);
            // SAFETY: as above; the rows are filled now.
            unsafe { copy_bits(edge, from, piece.first, chunk, to.row, count) };
            moved.count += count;
        }
        let done = Rows {
            count: moved.count,
            ..rows
        };
        let source = &mut self.archetypes[archetype as usize];
        // SAFETY: the values that went along are the target's, the others end here.
        let ended = unsafe { source.end_rows(done, edge) };
        source.close_rows(&self.universe, self.number, done, version);
        moved.panicked = first(moved.panicked, ended);
        moved
    }

    /// [`room_for`](Self::room_for), or why there is none: no memory, or the `clone` of a
    /// chunk fragment's template has panicked.
    pub(crate) fn room_or_why(
        &mut self,
        archetype: u32,
        group: u32,
        coming: u32,
        moved: &mut Moved,
    ) -> Option<Row> {
        let mut room = None;
        note(&mut moved.panicked, || {
            room = Some(self.room_for(archetype, group, coming as usize));
        });
        match room? {
            Ok(row) => Some(row),
            Err(error) => {
                moved.refused = Some(error);
                None
            }
        }
    }

    /// A chunk of one archetype, and one of another.
    fn ends(&self, archetype: u32, chunk: u32, other: u32, to: u32) -> (&Chunk, &Chunk) {
        let from = &self.archetypes[archetype as usize].chunks[chunk as usize];
        (from, &self.archetypes[other as usize].chunks[to as usize])
    }

    /// Lets an empty chunk of a group go, or the group, that a run did not come to. No other chunk gets another number by that:
    /// plans name them by these.
    pub(crate) fn let_go(&mut self, archetype: u32, group: u32) {
        let data = &mut self.archetypes[archetype as usize];
        match data.groups[group as usize].open.last() {
            // What was added for the run is the archetype's last.
            Some(&chunk) if chunk as usize + 1 == data.chunks.len() => {
                self.abandon(archetype, chunk);
            }
            Some(_) => self.settle_groups(archetype),
            None => {
                data.forget_group(group);
                self.settle_groups(archetype);
            }
        }
    }

    /// Gives each row of a run new values of fragments that it has.
    pub(crate) fn replace_rows<B: Bundle>(
        &mut self,
        archetype: u32,
        rows: Rows,
        edge: &Edge,
        fill: impl FnOnce(&mut Fill<'_, B>),
    ) -> Panicked {
        let version = self.stamp();
        let data = &self.archetypes[archetype as usize];
        let chunk = &data.chunks[rows.chunk as usize];
        for at in data.positions_of(&edge.ended) {
            chunk.touch(at, version);
        }
        let columns = columns(chunk, &edge.offsets);
        let mut new = self.filling(archetype, rows, columns, rows.first, Some(edge));
        let mut panicked = None;
        note(&mut panicked, || fill(&mut new));
        let (written, ended) = (new.written, new.panicked);
        let done = Rows {
            count: written,
            ..rows
        };
        self.gather_rows_given(archetype, done, &edge.regiven);
        first(panicked, ended)
    }

    fn filling<'a, B: Bundle>(
        &'a self,
        archetype: u32,
        rows: Rows,
        columns: [*mut u8; COLUMNS],
        at: u32,
        replaced: Option<&'a Edge>,
    ) -> Fill<'a, B> {
        Fill {
            world: self,
            archetype,
            rows,
            columns,
            at,
            written: 0,
            replaced,
            panicked: None,
            _bundle: PhantomData,
        }
    }

    /// Destroys the entities of a run.
    pub(crate) fn destroy_rows(&mut self, archetype: u32, rows: Rows) -> Panicked {
        let version = self.stamp();
        let data = &mut self.archetypes[archetype as usize];
        // SAFETY: the values end with their entities.
        let panicked = unsafe { data.drop_rows(rows.chunk, rows.first, rows.count) };
        let all = data.chunks[rows.chunk as usize].entities();
        let gone = &all[rows.first as usize..(rows.first + rows.count) as usize];
        self.universe.kill_slice(gone);
        data.close_rows(&self.universe, self.number, rows, version);
        self.settle_groups(archetype);
        panicked
    }
}

/// Makes what comes by default for the rows of a chunk that goes as a whole: tags, which lie nowhere. If users' code
/// panics, its panic.
fn make_tags(edge: &Edge, rows: u32) -> Result<(), Box<dyn Any + Send>> {
    let mut panicked = None;
    if !edge.fills.is_empty() {
        note(&mut panicked, || edge.fills.stock(rows).spent());
    }
    panicked.map_or(Ok(()), Err)
}

/// Moves what is there by default for the first rows of a piece, and drops the rest.
///
/// # Safety
/// As for [`Stock::put_first`], of the chunk.
#[cold]
unsafe fn put_first(
    mut stock: Stock,
    chunk: &Chunk,
    first: u32,
    count: u32,
    panicked: &mut Panicked,
) {
    // SAFETY: the caller's.
    unsafe { stock.put_first(|offset| chunk.array(offset), first, count) };
    note(panicked, || drop(stock));
}

/// The columns of a chunk that values go to which come along an edge with these offsets: those of a bundle, or of a
/// prototype with no more.
fn columns(chunk: &Chunk, offsets: &[u32]) -> [*mut u8; COLUMNS] {
    let mut columns = [core::ptr::null_mut(); COLUMNS];
    for (column, &offset) in columns.iter_mut().zip(offsets) {
        *column = chunk.array(offset);
    }
    columns
}

/// How many handles two slices begin with together.
fn common(a: &[Entity], b: &[Entity]) -> usize {
    /// Compared at once, without a branch each.
    const BLOCK: usize = 16;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let equal = |(a, b): &(&[Entity], &[Entity])| {
        let pairs = a.iter().zip(*b);
        pairs.fold(true, |same, (a, b)| same & (a == b))
    };
    let first = blocks.take_while(equal).count() * BLOCK;
    let rest = a[first..].iter().zip(&b[first..]);
    first + rest.take_while(|(a, b)| a == b).count()
}
