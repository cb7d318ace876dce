//! Snapshots: the state of a world as one number, or as one file.
//!
//! [`World::state_hash`](crate::world::World::state_hash) says whether two worlds are in the same state,
//! [`World::continuation_hash`](crate::world::World::continuation_hash) whether they go on alike;
//! [`World::save`](crate::world::World::save) and [`World::load`](crate::world::World::load) carry it
//! from one run of a program to the next; [`World::load_remapped`](crate::world::World::load_remapped) brings
//! it to where others live, with new ids; [`SnapshotSummary`] says what a file holds before. Where two states differ say
//! [`StateHashes`], [`World::differences`](crate::world::World::differences) and, of files, [`SnapshotState`]. All want fragments whose
//! values are nothing but their bytes ([`Plain`](crate::fragment::Plain)), or [said how they are
//! written](crate::fragment::FragmentRegistry::register_written_as), or to be told to skip the others.

mod besides;
mod checksum;
mod chunk_form;
mod content;
mod continuation;
mod conversion;
mod converted;
mod demand;
mod difference;
mod differences;
mod error;
mod file;
mod format;
mod fragment_keys;
mod fragments;
mod load;
mod load_options;
mod made;
mod options;
mod read;
mod remap;
mod save;
mod saved_resource;
mod saved_worlds;
mod slice;
mod snapshot_state;
mod state;
mod state_hashes;
mod summary;
mod unnamed;
mod unsaved;
mod variants;
mod write;
mod written;

pub use difference::{Difference, StateFragment};
pub use error::{ChangedLayout, MissingFragment, SnapshotError};
pub use load_options::LoadOptions;
pub use options::SnapshotOptions;
pub use snapshot_state::SnapshotState;
pub use state_hashes::{DifferingPart, StateHashes, StateHashesIter, StatePart};
pub use summary::{FragmentSummary, SnapshotSummary};
pub use unsaved::Unsaved;

pub(crate) use variants::unknown_variant;
