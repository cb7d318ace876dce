//! Fragments that are more than their bytes: texts, lists, enums that name entities. They are saved, hashed, compared and
//! loaded by what was said of how they are written and read.

mod alone;
mod alone_faults;
mod compared;
mod faults;
mod forms;
mod registered;
mod saved;

use megachunk::prelude::*;

pub(super) fn all() -> SnapshotOptions {
    SnapshotOptions::new()
}
