//! Values for rows that were claimed: clones of a prototype's, and what users' closures make.

use core::marker::PhantomData;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Prototype;
use crate::archetype::{Archetype, Chunk, Column, Fills};
use crate::fragment::{Bundle, FragmentError, FragmentId, FragmentRegistry, NO_COLUMN_LEFT};
use crate::panics::{Panicked, note};
use crate::world::COLUMNS;

/// Writes some fragments of new entities: users' code, on any thread.
///
/// # Safety
/// `ids` gives fragments that lie in columns or are tags, 16 at most, and the same each time; `write` writes their
/// values to the rows in order, and counts in `made` those that are whole.
pub(crate) unsafe trait WriteRows: Sync {
    /// The fragments that it writes, appended to `ids`.
    fn ids(
        &self,
        registry: &FragmentRegistry,
        ids: &mut Vec<FragmentId>,
    ) -> Result<(), FragmentError>;

    /// Writes the values of entities `first..first + count` of the call to as many rows from `row` on.
    ///
    /// # Safety
    /// `columns` are those of `ids`, with such rows, which hold no values there.
    unsafe fn write(
        &self,
        first: usize,
        count: usize,
        columns: &[*mut u8; COLUMNS],
        row: usize,
        made: &mut usize,
    );
}

/// A closure that makes a bundle for each entity.
pub(crate) struct MakeRows<B, F> {
    make: F,
    _bundle: PhantomData<fn() -> B>,
}

impl<B: Bundle, F: Fn(usize) -> B + Sync> MakeRows<B, F> {
    pub(crate) fn new(make: F) -> Self {
        const {
            assert!(
                !B::HAS_VALUES,
                "shared values and chunk fragments are the prototype's: entities have them together"
            );
            assert!(B::LEN <= COLUMNS, "{}", NO_COLUMN_LEFT);
        }
        Self {
            make,
            _bundle: PhantomData,
        }
    }
}

// SAFETY: a bundle without other values has exactly its `ids` in columns, and `write` of it writes them all.
unsafe impl<B: Bundle, F: Fn(usize) -> B + Sync> WriteRows for MakeRows<B, F> {
    fn ids(
        &self,
        registry: &FragmentRegistry,
        ids: &mut Vec<FragmentId>,
    ) -> Result<(), FragmentError> {
        B::ids(registry, ids)
    }

    unsafe fn write(
        &self,
        first: usize,
        count: usize,
        columns: &[*mut u8; COLUMNS],
        row: usize,
        made: &mut usize,
    ) {
        for at in 0..count {
            let bundle = (self.make)(first + at);
            // SAFETY: the caller's.
            unsafe { bundle.write(columns.as_ptr(), row + at) };
            *made = at + 1;
        }
    }
}

/// Rows to fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) chunk: &'a Chunk,
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Past the caches, which do not hold all that the call writes.
    pub(crate) past: bool,
}

/// From so many bytes on, the first are out of the nearer caches when the last are written.
pub(crate) const PAST: usize = 8 << 20;

/// How the rows of an archetype are filled for one order.
pub(super) struct Plan<'a> {
    pub(super) archetype: u32,
    prototype: &'a Prototype,
    pub(super) filling: Filling,
    writers: SmallVec<[&'a dyn WriteRows; 2]>,
}

impl<'a> Plan<'a> {
    /// `writers` come with their fragments, of which none is written twice; the archetype has those of the
    /// prototype and theirs, and those that are filled by default.
    pub(super) fn new(
        data: &Archetype,
        prototype: &'a Prototype,
        writers: impl Iterator<Item = (&'a dyn WriteRows, &'a [FragmentId])> + Clone,
        fills: Arc<Fills>,
    ) -> Self {
        let written = writers.clone().map(|(_, ids)| ids);
        Self {
            archetype: data.number,
            prototype,
            filling: Filling::new(&data.columns, prototype, written, fills),
            writers: writers.map(|(writer, _)| writer).collect(),
        }
    }

    /// Fills rows: all, or, if users' code panics, none.
    ///
    /// # Safety
    /// Rows of a chunk of the archetype that hold no values, and nobody else has.
    pub(super) unsafe fn fill(&self, to: &Target<'_>, number: usize) -> Panicked {
        let mut write =
            |writer: usize, to: &Target<'_>, columns: &[_; COLUMNS], made: &mut usize| {
                let (writer, row, count) =
                    (self.writers[writer], to.first as usize, to.count as usize);
                // SAFETY: the caller's; the columns are the writer's.
                unsafe { writer.write(number, count, columns, row, made) };
            };
        // SAFETY: the caller's.
        unsafe { self.filling.fill(self.prototype, to, &mut write) }
    }
}

/// Which values of a prototype fill which columns of a composition, and which columns others write. It knows the
/// prototype by what it was made for only, so that it can be kept: recorders do.
#[derive(Debug)]
pub(crate) struct Filling {
    /// Columns, and which of the prototype's sources fills each.
    sources: SmallVec<[(Column, u32); 8]>,
    writers: SmallVec<[Written; 1]>,
    /// What comes by default.
    fills: Arc<Fills>,
    /// All is filled by its bytes: no users' code runs.
    is_plain: bool,
    /// Bytes of an entity.
    pub(crate) bytes: usize,
}

/// What a writer writes.
#[derive(Debug)]
struct Written {
    /// Where each of its fragments lies. A tag's is anywhere.
    offsets: SmallVec<[u32; 4]>,
    columns: SmallVec<[Column; 4]>,
}

impl Filling {
    /// `written` are the fragments of each writer, none twice; each column is one of the prototype's or of theirs, or
    /// filled by default.
    pub(crate) fn new<'a>(
        columns: &[Column],
        prototype: &Prototype,
        written: impl Iterator<Item = &'a [FragmentId]> + Clone,
        fills: Arc<Fills>,
    ) -> Self {
        let is_written = |id| written.clone().any(|ids| ids.contains(&id)) || fills.has(id);
        let filled = columns.iter().filter(|column| !is_written(column.id));
        let sources = filled.map(|&column| match prototype.source(column.id) {
            Some(source) => (column, source as u32),
            None => unreachable!("a column is the prototype's, or written"),
        });
        let sources: SmallVec<[(Column, u32); 8]> = sources.collect();
        let column_of = |id: &FragmentId| columns.iter().find(|column| column.id == *id).copied();
        let writers = written.clone().map(|ids| Written {
            offsets: (ids.iter())
                .map(|id| column_of(id).map_or(0, |column| column.offset))
                .collect(),
            columns: ids.iter().filter_map(column_of).collect(),
        });
        let writers: SmallVec<[Written; 1]> = writers.collect();
        let is_bytes = |&(_, source): &(Column, u32)| prototype.sources[source as usize].is_bytes();
        let sizes = columns.iter().map(|column| column.size as usize);
        Self {
            bytes: size_of::<crate::entity::Entity>() + sizes.sum::<usize>(),
            is_plain: writers.is_empty() && fills.is_empty() && sources.iter().all(is_bytes),
            fills,
            sources,
            writers,
        }
    }

    /// Fills rows: all, or, if users' code panics, none. `write` is called for each
    /// writer, and counts the rows that are whole.
    ///
    /// # Safety
    /// Rows of a chunk with the columns that this was made for, with this prototype; they hold no values, and nobody
    /// else has them. `write` fills the rows of the columns that it is given, which are the writer's.
    #[inline]
    pub(crate) unsafe fn fill(
        &self,
        prototype: &Prototype,
        to: &Target<'_>,
        write: &mut impl FnMut(usize, &Target<'_>, &[*mut u8; COLUMNS], &mut usize),
    ) -> Panicked {
        if self.is_plain {
            for (column, source) in &self.sources {
                let source = &prototype.sources[*source as usize];
                // SAFETY: the caller's; the source is the column's.
                unsafe { source.fill(to.values(column), to.count as usize, to.past, &mut 0) };
            }
            return None;
        }
        // SAFETY: the caller's.
        unsafe { self.fill_by_calls(prototype, to, write) }
    }

    /// Where users' code runs.
    ///
    /// # Safety
    /// As for [`fill`](Self::fill).
    unsafe fn fill_by_calls(
        &self,
        prototype: &Prototype,
        to: &Target<'_>,
        write: &mut impl FnMut(usize, &Target<'_>, &[*mut u8; COLUMNS], &mut usize),
    ) -> Panicked {
        // Columns and writers that are done, and rows of the one under way.
        let (mut filled, mut written, mut made) = (0, 0, 0);
        let (mut panicked, mut stock) = (None, None);
        note(&mut panicked, || {
            stock = Some(self.fills.stock(to.count));
            for (column, source) in &self.sources {
                let source = &prototype.sources[*source as usize];
                // SAFETY: the caller's; the source is the column's.
                unsafe { source.fill(to.values(column), to.count as usize, to.past, &mut made) };
                filled += 1;
                made = 0;
            }
            for (number, writing) in self.writers.iter().enumerate() {
                let mut columns = [core::ptr::null_mut(); COLUMNS];
                for (column, &offset) in columns.iter_mut().zip(&writing.offsets) {
                    *column = to.chunk.array(offset);
                }
                write(number, to, &columns, &mut made);
                written += 1;
                made = 0;
            }
        });
        if panicked.is_none()
            && let Some(stock) = stock.take()
        {
            // SAFETY: the caller's.
            unsafe { stock.put(|offset| to.chunk.array(offset), to.first) };
        }
        note(&mut panicked, || drop(stock));
        if panicked.is_some() {
            let sources = self.sources.iter().map(|(column, _)| column).enumerate();
            let sources = sources.map(|(number, column)| (number, filled, column));
            let writers = self.writers.iter().enumerate();
            let writers = writers.flat_map(|(number, writing)| {
                let columns = writing.columns.iter();
                // None was begun before all sources were done.
                let done = (filled == self.sources.len()).then_some(written);
                columns.filter_map(move |column| Some((number, done?, column)))
            });
            for (number, done, column) in sources.chain(writers) {
                let rows = match number.cmp(&done) {
                    core::cmp::Ordering::Less => to.count as usize,
                    core::cmp::Ordering::Equal => made,
                    core::cmp::Ordering::Greater => 0,
                };
                // SAFETY: so many values were made, and nobody has seen them.
                unsafe { drop_column(column, to.values(column), rows, &mut panicked) };
            }
        }
        panicked
    }
}

impl Target<'_> {
    /// Where the first value of a column goes.
    #[inline(always)]
    fn values(&self, column: &Column) -> *mut u8 {
        let array = self.chunk.array(column.offset);
        array.wrapping_add(self.first as usize * column.size as usize)
    }
}

/// Drops the first values of a column.
///
/// # Safety
/// So many values, which nobody uses again.
unsafe fn drop_column(column: &Column, values: *mut u8, rows: usize, panicked: &mut Panicked) {
    let Some(drop) = column.drop else { return };
    for row in 0..rows {
        let value = values.wrapping_add(row * column.size as usize);
        // SAFETY: the caller's.
        note(panicked, || unsafe { drop(value, 1) });
    }
}
