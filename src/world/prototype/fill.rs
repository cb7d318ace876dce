//! Values for rows that were claimed: clones of a prototype's, and what users' closures make.

use core::marker::PhantomData;

use smallvec::SmallVec;

use super::{Prototype, Source};
use crate::archetype::{Archetype, Chunk, Column};
use crate::fragment::panic::{Panicked, note};
use crate::fragment::{Bundle, FragmentError, FragmentId, FragmentRegistry};
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
                !B::HAS_VALUES && B::LEN <= COLUMNS,
                "shared values and chunk fragments are the prototype's: entities have them together"
            );
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

/// How the rows of an archetype are filled for one order.
pub(super) struct Plan<'a> {
    pub(super) archetype: u32,
    sources: SmallVec<[(Column, &'a Source); 8]>,
    writers: SmallVec<[Writing<'a>; 2]>,
    /// Bytes of an entity.
    pub(super) bytes: usize,
}

/// A writer, and its columns.
struct Writing<'a> {
    writer: &'a dyn WriteRows,
    /// Where each of its fragments lies. A tag's is anywhere.
    offsets: SmallVec<[u32; 4]>,
    columns: SmallVec<[Column; 4]>,
}

impl<'a> Plan<'a> {
    /// `writers` come with their fragments, of which none is written twice; the archetype has those of the
    /// prototype and theirs.
    pub(super) fn new(
        data: &Archetype,
        prototype: &'a Prototype,
        writers: impl Iterator<Item = (&'a dyn WriteRows, &'a [FragmentId])> + Clone,
    ) -> Self {
        let is_written = |id| writers.clone().any(|(_, ids)| ids.contains(&id));
        let filled = data.columns.iter().filter(|column| !is_written(column.id));
        let sources = filled.map(|&column| match prototype.source(column.id) {
            Some(source) => (column, source),
            None => unreachable!("a column is the prototype's, or written"),
        });
        let column_of = |&id: &FragmentId| data.column_of(id).map(|at| data.columns[at]);
        let sources = sources.collect();
        let writers = writers.clone().map(|(writer, ids)| Writing {
            writer,
            offsets: (ids.iter())
                .map(|id| column_of(id).map_or(0, |column| column.offset))
                .collect(),
            columns: ids.iter().filter_map(column_of).collect(),
        });
        let sizes = data.columns.iter().map(|column| column.size as usize);
        Self {
            archetype: data.number,
            sources,
            writers: writers.collect(),
            bytes: size_of::<crate::entity::Entity>() + sizes.sum::<usize>(),
        }
    }

    /// Fills rows: all, or, if users' code panics, none.
    ///
    /// # Safety
    /// Rows of a chunk of the archetype that hold no values, and nobody else has.
    pub(super) unsafe fn fill(
        &self,
        chunk: &Chunk,
        first: u32,
        count: u32,
        number: usize,
        past: bool,
    ) -> Panicked {
        let (first, count) = (first as usize, count as usize);
        let at = |column: &Column| {
            let array = chunk.array(column.offset);
            array.wrapping_add(first * column.size as usize)
        };
        // Columns and writers that are done, and rows of the one under way.
        let (mut filled, mut written, mut made) = (0, 0, 0);
        let mut panicked = None;
        note(&mut panicked, || {
            for (column, source) in &self.sources {
                // SAFETY: the caller's.
                unsafe { source.fill(at(column), count, past, &mut made) };
                filled += 1;
                made = 0;
            }
            for writing in &self.writers {
                let mut columns = [core::ptr::null_mut(); COLUMNS];
                for (column, &offset) in columns.iter_mut().zip(&writing.offsets) {
                    *column = chunk.array(offset);
                }
                // SAFETY: the caller's; the columns are the writer's.
                unsafe {
                    writing
                        .writer
                        .write(number, count, &columns, first, &mut made);
                }
                written += 1;
                made = 0;
            }
        });
        if panicked.is_some() {
            let sources = self.sources.iter().map(|(column, _)| column).enumerate();
            let sources = sources.map(|(number, column)| (number, filled, column));
            let writers = self.writers.iter().enumerate();
            let writers = writers.flat_map(|(number, writing)| {
                let columns = writing.columns.iter();
                // None was begun before all sources were done.
                let done = if filled < self.sources.len() {
                    None
                } else {
                    Some(written)
                };
                columns.filter_map(move |column| Some((number, done?, column)))
            });
            for (number, done, column) in sources.chain(writers) {
                let rows = match number.cmp(&done) {
                    core::cmp::Ordering::Less => count,
                    core::cmp::Ordering::Equal => made,
                    core::cmp::Ordering::Greater => 0,
                };
                // SAFETY: so many values were made, and nobody has seen them.
                unsafe { drop_column(column, at(column), rows, &mut panicked) };
            }
        }
        panicked
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
