//! Clones of a prototype's values for entities that are there already: called where slices of them get some.

use super::Prototype;
use crate::fragment::{Pile, Value};
use crate::panics::{Panicked, note};
use crate::world::COLUMNS;

impl Prototype {
    /// Whether neighbours can get its values a column at a time: all lie in columns, of which there are not too many.
    pub(crate) fn fills_rows(&self) -> bool {
        self.once.is_empty() && self.shared.is_empty() && self.ids.len() <= COLUMNS
    }

    /// Whether no users' code runs to clone a value that lies in a column.
    pub(crate) fn is_bytes(&self) -> bool {
        self.sources.iter().all(|source| source.is_bytes())
    }

    /// The values that lie in columns, each with the position of its fragment.
    fn positions(&self) -> impl Iterator<Item = (usize, &super::Source)> {
        self.sources
            .iter()
            .map(|source| match self.ids.binary_search(&source.value.id()) {
                Ok(at) => (at, source),
                Err(_) => unreachable!("its fragment is one of the prototype's"),
            })
    }

    /// Clones of the values that lie in columns, each with the position of its fragment. If one panics, the others are
    /// dropped.
    pub(crate) fn clone_columns(&self) -> Pile<(usize, Value)> {
        self.positions()
            .map(|(at, source)| {
                let fill = |to: *mut u8| {
                    // SAFETY: room for a value of the fragment, which holds none.
                    unsafe { source.fill(to, 1, false, &mut 0) };
                };
                // SAFETY: it writes one.
                (at, unsafe { source.value.duplicate_by(fill) })
            })
            .collect()
    }

    /// Fills rows with clones, column by column: all, or, if users' code panics, none.
    ///
    /// # Safety
    /// `columns` are those of its fragments, by position; they have `count` rows from `first` on, which hold no values,
    /// or such as need not be dropped. There are no more fragments than columns.
    pub(crate) unsafe fn fill_rows(
        &self,
        columns: &[*mut u8; COLUMNS],
        first: u32,
        count: u32,
    ) -> Panicked {
        // Columns that are done, and rows of the one under way.
        let (mut filled, mut made) = (0, 0);
        let mut panicked = None;
        let to = |at: usize, size: usize| columns[at].wrapping_add(first as usize * size);
        note(&mut panicked, || {
            for (at, source) in self.positions() {
                made = 0;
                let to = to(at, source.value.size());
                // SAFETY: the caller's.
                unsafe { source.fill(to, count as usize, false, &mut made) };
                filled += 1;
            }
        });
        if panicked.is_some() {
            for (number, (at, source)) in self.positions().enumerate().take(filled + 1) {
                let size = source.value.size();
                let rows = if number < filled {
                    count as usize
                } else {
                    made
                };
                for row in 0..rows {
                    let value = to(at, size).wrapping_add(row * size);
                    // SAFETY: so many were made, and nobody has seen them.
                    let more = unsafe { source.value.drop_at(value) };
                    panicked = crate::panics::first(panicked, more);
                }
            }
        }
        panicked
    }
}
