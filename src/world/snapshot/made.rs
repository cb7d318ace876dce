//! `Made`: values that users' closures have read, and that are no entity's yet.
//!
//! They lie in rows of a chunk that does not count them. If the next cannot be read they end here, each once; else the chunk
//! has them from then on.

use crate::fragment::{DropValues, FragmentInfo};
use crate::panics::{note, resume_alone};

/// Values in new rows of a chunk.
#[derive(Default)]
pub(super) struct Made {
    columns: Vec<MadeColumn>,
}

/// Those of one fragment, from the first row on.
struct MadeColumn {
    first: *mut u8,
    size: usize,
    count: usize,
    drop: Option<DropValues>,
}

impl Made {
    /// Begins with the values of a fragment, the first of which comes to lie there.
    pub(super) fn begin(&mut self, info: &FragmentInfo, first: *mut u8) {
        self.columns.push(MadeColumn {
            first,
            size: info.layout().size(),
            count: 0,
            drop: info.drop_values(),
        });
    }

    /// One more value of the fragment that was begun with last lies in the next row.
    ///
    /// # Safety
    /// It does, and nobody else ends it.
    pub(super) unsafe fn add(&mut self) {
        if let Some(column) = self.columns.last_mut() {
            column.count += 1;
        }
    }

    /// All are somebody else's.
    pub(super) fn give(mut self) {
        self.columns.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut panicked = None;
        for column in core::mem::take(&mut self.columns) {
            let Some(drop) = column.drop else { continue };
            for row in 0..column.count {
                let value = column.first.wrapping_add(row * column.size);
                // SAFETY: a value that was made there, which ends here, once: see `Self::add`.
                note(&mut panicked, || unsafe { drop(value, 1) });
            }
        }
        resume_alone(panicked);
    }
}
