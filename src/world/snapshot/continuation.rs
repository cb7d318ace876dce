//! The hash of all that a file has of a world: two worlds for which it is one go on alike.
//!
//! It is that of the file's header, which has the length and the checksum of each part, the directory's of all chunks among
//! them: so each byte is looked at once, and none is kept.

use std::io;

use crate::world::World;
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::write::Snapshot;
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

impl World {
    /// A hash of all that a [file](Self::save) has of the world, with these options: of the bytes of
    /// [`to_snapshot`](Self::to_snapshot), which it does not make. In two [ordered](crate::world::Universe::ordered)
    /// universes it says more than that both are in one state now: what is done to both comes alike, ids and rows, too, but
    /// for what no file has (*Going on* of [`save`](Self::save)). So it is what peers of a game compare that goes on for
    /// long, or that [goes back](crate::guide#rolling-back) and comes on again.
    ///
    /// [`state_hash`](Self::state_hash) is that of what the world means: it counts neither the order of rows nor the
    /// versions of the dead, which decide what the next handles are; nor names of entities, the world's time, signals
    /// that wait for theirs, chunk fragments, and what new chunks begin with. All these count here. Two worlds that have
    /// come to one state in two ways have one `state_hash`, and most often two of these.
    ///
    /// The same for the same bytes, whatever the machine; values have its byte order in them. It is of this version of the
    /// crate, and of what [writes values](crate::fragment::FragmentRegistry::register_state_with) of yours: to be compared,
    /// not to be kept for years.
    ///
    /// O(bytes that the file would have), on the calling thread, in memory for the file's directory: some bytes for each
    /// chunk, and what there is besides entities. [`skip_dead`](SnapshotOptions::skip_dead) leaves the versions of the dead
    /// out, four bytes for each slot that was ever used: ids count no more then.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use std::sync::Arc;
    ///
    /// let world = || World::of(&Arc::new(Universe::ordered()));
    /// let (mut one, mut two) = (world()?, world()?);
    /// let options = SnapshotOptions::new();
    /// assert_eq!(one.continuation_hash(&options)?, two.continuation_hash(&options)?);
    /// // Somebody was there and is gone: it is the same state, and another handle comes next.
    /// let ghost = two.create(())?;
    /// two.destroy(ghost)?;
    /// assert_eq!(one.state_hash(&Default::default())?, two.state_hash(&Default::default())?);
    /// assert_ne!(one.continuation_hash(&options)?, two.continuation_hash(&options)?);
    /// assert_ne!(one.create(())?, two.create(())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`save`](Self::save), but for those of files.
    #[doc(alias = "checksum")]
    pub fn continuation_hash(&self, options: &SnapshotOptions) -> Result<u64, SnapshotError> {
        let snapshot = Snapshot::of(&[self], options)?;
        match snapshot.write_body(&mut io::sink()) {
            Ok(header) => Ok(Checksum::of(&header.to_bytes())),
            Err(error) => unreachable!("a sink takes what is written: {error}"),
        }
    }
}
