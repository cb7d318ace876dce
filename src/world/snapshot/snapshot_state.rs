//! `SnapshotState`: the logical state in a file, as bytes, without a world and without the types.

use core::fmt;
use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::HashMap;

use crate::world::snapshot::content::Content;
use crate::world::snapshot::differences::{NamesOf, Told};
use crate::world::snapshot::fragment_keys::CommonNumbers;
use crate::world::snapshot::read::{Saved, SavedWorld};
use crate::world::snapshot::{Difference, SnapshotError, StateHashes};

/// The logical state of the worlds in a snapshot, as bytes: compared without a world, and without the types, by tools and
/// by servers.
///
/// ```
/// use core::ops::ControlFlow;
/// use megachunk::prelude::*;
/// use megachunk::world::SnapshotState;
///
/// let mut world = World::new();
/// world.registry().register_plain_as::<u32>("health")?;
/// let ant = world.create((7_u32,))?;
/// let before = world.to_snapshot(&Default::default())?;
/// *world.get_mut::<u32>(ant)? = 8;
/// let after = world.to_snapshot(&Default::default())?;
///
/// let (before, after) = (SnapshotState::of(&before)?, SnapshotState::of(&after)?);
/// assert_eq!(after.state_hashes(0), Some(world.state_hashes(&Default::default())?));
/// let told = before.differences(&after, |number, difference| {
///     assert_eq!((number, difference.entity()), (0, Some(ant)));
///     ControlFlow::Continue(())
/// });
/// assert_eq!(told, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SnapshotState<'f> {
    saved: Saved<'f>,
}

impl<'f> SnapshotState<'f> {
    /// Reads the bytes that [`to_snapshot`](crate::world::World::to_snapshot) gave, and checks all of them that can be
    /// checked without the types. O(bytes); of a file that this crate has not written O(bytes log bytes).
    ///
    /// # Errors
    /// What is wrong with them, as for [`from_snapshot`](crate::world::World::from_snapshot).
    pub fn of(bytes: &'f [u8]) -> Result<Self, SnapshotError> {
        Ok(Self {
            saved: Saved::whole(bytes)?,
        })
    }

    /// How many worlds were saved together.
    #[must_use]
    pub fn worlds(&self) -> usize {
        self.saved.worlds.len()
    }

    /// A number for each part of the state of a world in the file, as
    /// [`World::state_hashes`](crate::world::World::state_hashes) gives them of the world that was saved (but for what the
    /// save [skipped](crate::world::SnapshotOptions)); `None` if there are no more than `world` worlds.
    /// O(bytes of the world, and of its fragments' names).
    #[must_use]
    pub fn state_hashes(&self, world: usize) -> Option<StateHashes> {
        let world = self.saved.worlds.get(world)?;
        let content = Content::of_saved(&self.saved, world);
        Some(StateHashes::of_content(&content))
    }

    /// Tells each thing in which the worlds of this file (*here*) and of another one (*there*) differ, as
    /// [`World::differences`](crate::world::World::differences) does, each with the world's number: the first of one with
    /// the first of the other, and so on. Compared too are names of entities, the world's time and delayed signals, which
    /// files have. How many were told. Worlds that only one of the two has are not compared: see [`worlds`](Self::worlds).
    ///
    /// Not compared: where entities lie, chunk fragments' values, and versions of the dead.
    ///
    /// O(bytes of both files), and for each pair of compositions as there.
    ///
    /// # Panics
    /// If `each` does.
    pub fn differences(
        &self,
        other: &SnapshotState<'_>,
        mut each: impl FnMut(usize, Difference<'_>) -> ControlFlow<()>,
    ) -> usize {
        let mut count = 0;
        let numbers = CommonNumbers::of(&self.saved.keys(), &other.saved.keys());
        let worlds = self.saved.worlds.iter().zip(&other.saved.worlds);
        for (number, (one, two)) in worlds.enumerate() {
            let mut told = Told::new(|difference: Difference<'_>| each(number, difference));
            let ended = told.worlds((&self.saved, one), (&other.saved, two), &numbers);
            count += told.count;
            if ended.is_break() {
                break;
            }
        }
        count
    }
}

impl<F: FnMut(Difference<'_>) -> ControlFlow<()>> Told<F> {
    /// Tells in what two worlds of files differ.
    fn worlds(
        &mut self,
        (here, one): (&Saved<'_>, &SavedWorld<'_>),
        (there, two): (&Saved<'_>, &SavedWorld<'_>),
        numbers: &CommonNumbers,
    ) -> ControlFlow<()> {
        let mut places = HashMap::new();
        let names = [one, two].map(|world| {
            let mut names = NamesOf::new();
            for (name, entities) in world.besides.names() {
                let name = *places.entry(name).or_insert(name);
                names.extend(entities.iter().map(|&entity| (entity, name)));
            }
            names
        });
        let (ours, theirs) = (Content::of_saved(here, one), Content::of_saved(there, two));
        self.contents(ours, theirs, numbers, Some([&names[0], &names[1]]))?;
        let (one, two) = (&one.besides, &two.besides);
        if one.time() != two.time() {
            self.tell(Difference::Time {
                here: Duration::from_nanos(one.time()),
                there: Duration::from_nanos(two.time()),
            })?;
        }
        match one.waits_for_the_same(two) {
            true => ControlFlow::Continue(()),
            false => self.tell(Difference::Signals {
                here: one.signals(),
                there: two.signals(),
            }),
        }
    }
}

impl fmt::Debug for SnapshotState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entities = self.saved.handles.len();
        f.debug_struct("SnapshotState")
            .field("worlds", &self.worlds())
            .field("entities", &entities)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archetype::Universe;
    use crate::world::World;
    use crate::world::snapshot::SnapshotOptions;
    use crate::world::snapshot::checksum::Checksum;
    use crate::world::snapshot::format::Header;
    use crate::world::snapshot::read::tests::{NOTHING, sealed};

    /// A file whose world has one chunk, of two tags, with the same world in a composition for each entity.
    fn with_many_compositions(file: &[u8]) -> Vec<u8> {
        // Fragments, two of them, run, whether chunks grow, chunks; length, run, place and checksum of one.
        const ARCHETYPE: usize = 4 + 8 + 4 + 1 + 4 + 20;
        let mut header = Header::read(file, file.len() as u64).unwrap();
        let (mut begin, rest) = (file.to_vec(), &file[file.len() - NOTHING..]);
        let archetype = &file[file.len() - NOTHING - ARCHETYPE..file.len() - NOTHING];
        begin.truncate(file.len() - NOTHING - ARCHETYPE - 4);
        let entities = u32::from_le_bytes(archetype[21..25].try_into().unwrap());
        let handles = header.directory as usize - 8 * entities as usize;
        begin.extend(entities.to_le_bytes());
        for handle in file[handles..header.directory as usize].chunks_exact(8) {
            let at = begin.len();
            begin.extend(archetype);
            begin[at + 21..at + 25].copy_from_slice(&1_u32.to_le_bytes());
            begin[at + 33..at + 41].copy_from_slice(&Checksum::of(handle).to_le_bytes());
        }
        begin.extend(rest);
        header.bytes = begin.len() as u64;
        sealed(begin, header)
    }

    /// (It takes long if names are gone through for each composition.)
    #[test]
    fn long_names_of_what_is_in_many_compositions_are_told_apart_once() {
        let names = ["a", "b"].map(|end| "long".repeat(100_000) + end);
        let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
        let registry = world.registry();
        registry.register_plain_as::<()>(&names[1]).unwrap();
        registry.register_plain_as::<[u8; 0]>(&names[0]).unwrap();
        let _ = world
            .create_batch((0..2_000).map(|_| ((), [0_u8; 0])))
            .unwrap();
        let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        let many = with_many_compositions(&file);
        let (one, two) = (
            SnapshotState::of(&file).unwrap(),
            SnapshotState::of(&many).unwrap(),
        );
        assert_eq!(two.saved.worlds[0].archetypes.len(), 2_000);
        let hashes = one.state_hashes(0);
        assert!(hashes.is_some() && hashes == two.state_hashes(0));
        assert_eq!(hashes, world.state_hashes(&SnapshotOptions::new()).ok());
        for (one, two) in [(&one, &two), (&two, &one), (&two, &two)] {
            let each = |_, difference: Difference<'_>| unreachable!("{difference}");
            assert_eq!(one.differences(two, each), 0);
        }
    }
}
