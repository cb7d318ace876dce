//! How a universe is made, of what others have left or anew, and what it leaves.

use core::mem::ManuallyDrop;
use std::io;
use std::sync::Arc;

use crate::archetype::directory::Directory;
use crate::archetype::universe::Universe;
use crate::archetype::universe::spare::{self, Parts, RETAIN};
use crate::archetype::world_numbers::WorldNumbers;
use crate::chunk::ChunkOptions;
use crate::entity::{IndexOptions, Lowest};
use crate::fragment::{FragmentRegistry, new_identity};

impl Universe {
    /// A universe without worlds, with the default options, but that it keeps up to 256 MiB of empty chunks
    /// for what comes next: [`trim`](Self::trim) gives them back.
    ///
    /// It takes over the memory of a universe of this kind that has ended, so that a program which
    /// makes worlds again and again does not fetch fresh memory from the system each time. At most
    /// four such memories wait: the first of 16 MiB or so, the others, if that many universes lived
    /// at one time, of 4 MiB or so each: see [`forget_spare`](Self::forget_spare). Nothing of what
    /// was in them can be told: ids and numbers of fragments begin from the start.
    ///
    /// # Panics
    /// If the system has no address space left; [`with`](Self::with) returns the error instead.
    #[must_use]
    pub fn new() -> Self {
        Self::found(None)
    }

    /// A universe in which ids do not depend on threads: a program that does the same gets the same ids,
    /// versions too, for any number of them.
    ///
    /// The world's own calls take the lowest free index. Recorders that are opened [with a sort
    /// key](crate::command::ParallelCommands::open_at) have ids of their own, given by that key;
    /// see there for what they may not do. For this no thread keeps free ids for itself: creating
    /// singly costs one read-modify-write as long as the ids that are free next to each other last, and destroying two to
    /// four, where they take one or two for 64 otherwise (batches and slices take as few here), and indices are used less
    /// densely: what other pieces of work have is left to them. The lowest free index is found by looking at a few words, however many entities live
    /// (and at O(threads) counts), unless other threads create or destroy at that moment: then at up
    /// to one for each 64 ids that are passed by. All worlds of the universe must be used by one
    /// thread at a time, but for the recorders. If several use them at once, which of them gets which id is chance, and a flush
    /// does not count those ids as [given by chance](crate::command::FlushReport::by_chance);
    /// nothing else breaks: each id is given out once, and the dead stay dead.
    ///
    /// A world that is [saved](crate::world::World::save) and loaded into another ordered universe
    /// goes on as the one that was saved. For this, chunks do not keep their columns where they are
    /// when a fragment comes to all of their entities, or goes: entities are copied.
    ///
    /// # Panics
    /// As for [`new`](Self::new).
    #[must_use]
    pub fn ordered() -> Self {
        let mut universe = Self::new();
        universe.ordered = true;
        universe
    }

    /// An [ordered](Self::ordered) universe whose index and allocator have these options; as for [`with`](Self::with),
    /// its memory is its own.
    ///
    /// # Errors
    /// What the system said, if it has no address space left.
    pub fn ordered_with(index: &IndexOptions, chunks: &ChunkOptions) -> io::Result<Self> {
        let mut universe = Self::with(index, chunks)?;
        universe.ordered = true;
        Ok(universe)
    }

    /// Another universe with the registry of this one: what is registered or defined in one of them, before or later, both
    /// know, by the same number and name, with all that was said of it. For a server with a thousand rooms, or a test with
    /// many worlds, which register once.
    ///
    /// They share nothing else. Ids, chunks and worlds are its own: an [`Entity`](crate::entity::Entity) of one means nothing
    /// in the other, and entities do not move between them. Values, prototypes, templates and queries of run time
    /// ([`DynamicQuery`](crate::query::DynamicQuery)) that were made with one serve the worlds of both, as they name
    /// fragments only (handles in values lead to where they led); so does a snapshot, as of any other universe that has
    /// registered the same. It is [ordered](Self::ordered) if this one is. Its other options are those of [`new`](Self::new),
    /// whatever this one's are: each keeps up to 256 MiB of empty chunks, so many small ones are made by
    /// [`like_with`](Self::like_with), with less. As `new` it takes over memory that a universe has left.
    ///
    /// They end in any order; the last one takes the registry along. What a registry knows of types are functions of the code
    /// that registered them: so a universe for code that is [loaded anew](crate::guide#hot-reload) is a `new` one, never like
    /// one of before; and before a library is unloaded all universes that are like each other have ended.
    ///
    /// Registering is as it is in one universe: any thread of any of them at any time, lock-free.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let lobby = Arc::new(Universe::new());
    /// let health = lobby.registry().register_plain_as::<u32>("health")?.id();
    /// let rooms: Result<Vec<World>, WorldError> =
    ///     (0..3).map(|_| World::of(&Arc::new(Universe::like(&lobby)))).collect();
    /// for room in &mut rooms? {
    ///     room.create((100_u32,))?;
    ///     assert_eq!(room.registry().find("health").map(|info| info.id()), Some(health));
    ///     // Said in a room, known in all.
    ///     room.registry().register_plain_as::<f32>("speed")?;
    /// }
    /// assert!(lobby.registry().find("speed").is_some() && lobby.count() == 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As for [`new`](Self::new); [`like_with`](Self::like_with) returns the error instead.
    #[must_use]
    pub fn like(other: &Self) -> Self {
        Self::found(Some(other))
    }

    /// A universe that is [like](Self::like) another one, with an index and an allocator that have these options; as for
    /// [`with`](Self::with), its memory is its own.
    ///
    /// Each thread that creates in it takes some 70 KiB; with huge pages off (and none in advance, `populate`) a small world is
    /// a tenth of the size: [the guide](crate::guide#14-what-one-call-can-cost) has the numbers. So many universes as a process
    /// may have, some thousand, are limited by addresses and by the system's mappings, which whatever else the program does
    /// needs, too: stop well below.
    ///
    /// # Errors
    /// What the system said, if it has no address space left.
    pub fn like_with(
        other: &Self,
        index: &IndexOptions,
        chunks: &ChunkOptions,
    ) -> io::Result<Self> {
        Self::on(Self::parts(index, chunks)?, false, Some(other))
    }

    /// Gives the memory back that universes left for later ones; whether there was any.
    pub fn forget_spare() -> bool {
        spare::forget()
    }

    /// A universe whose index and allocator have these options. Its memory is fresh from the system, and goes back there
    /// with it: [`new`](Self::new) and [`ordered`](Self::ordered) take over what another one left.
    ///
    /// It takes 1.2 GB of addresses, and 16 GiB for the chunks where the process may have as many: see
    /// [`SystemMemory`](crate::chunk::memory::SystemMemory). Memory is what is used of them.
    ///
    /// # Errors
    /// What the system said, if it has no address space left.
    pub fn with(index: &IndexOptions, chunks: &ChunkOptions) -> io::Result<Self> {
        Self::on(Self::parts(index, chunks)?, false, None)
    }

    /// On memory that another one left, or that is new.
    fn found(like: Option<&Self>) -> Self {
        let new = || Self::parts(&IndexOptions::new(), &ChunkOptions::new().retain(RETAIN));
        let parts = spare::take().map_or_else(new, Ok);
        match parts.and_then(|parts| Self::on(parts, true, like)) {
            Ok(universe) => universe,
            Err(error) => panic!("no address space for a universe: {error}"),
        }
    }

    fn parts(index: &IndexOptions, chunks: &ChunkOptions) -> io::Result<Parts> {
        Ok(Parts {
            chunks: chunks.build()?,
            index: Some(index.build()?),
            registry: None,
            directory: Directory::new(chunks.huge_pages)?,
            worlds: WorldNumbers::new()?,
        })
    }

    fn on(parts: Parts, recycles: bool, like: Option<&Self>) -> io::Result<Self> {
        let (registry, spare_registry) = match (like, parts.registry) {
            (Some(like), spare) => (Arc::clone(&like.registry), spare),
            (None, Some(spare)) => (Arc::new(spare), None),
            (None, None) => (Arc::new(FragmentRegistry::try_new()?), None),
        };
        let index = (parts.index).map_or_else(|| IndexOptions::new().build(), Ok)?;
        Ok(Self {
            index: ManuallyDrop::new(index),
            chunks: ManuallyDrop::new(parts.chunks),
            recycles,
            registry: ManuallyDrop::new(registry),
            spare_registry: ManuallyDrop::new(spare_registry),
            directory: ManuallyDrop::new(parts.directory),
            worlds: ManuallyDrop::new(parts.worlds),
            ordered: like.is_some_and(|like| like.ordered),
            identity: new_identity(),
            lowest: Lowest::new(),
        })
    }
}

impl Universe {
    /// Lets all of it go; what it leaves to a later universe.
    ///
    /// # Safety
    /// Once, and nobody uses the universe afterwards.
    unsafe fn take_apart(&mut self) -> Option<Parts> {
        // SAFETY: the caller's.
        let (chunks, index, registry, spare_registry, directory, worlds) = unsafe {
            (
                ManuallyDrop::take(&mut self.chunks),
                ManuallyDrop::take(&mut self.index),
                ManuallyDrop::take(&mut self.registry),
                ManuallyDrop::take(&mut self.spare_registry),
                ManuallyDrop::take(&mut self.directory),
                ManuallyDrop::take(&mut self.worlds),
            )
        };
        // Who gives a chunk back takes it out of the directory, and every world has given its number back, or
        // the universe would not end.
        let chunks = if self.recycles {
            chunks.recycle()
        } else {
            None
        };
        Some(Parts {
            chunks: chunks?,
            index: index.recycle(),
            // The last one of those that have it leaves it, unless another was left with the memory.
            registry: spare_registry
                .or_else(|| Arc::into_inner(registry).and_then(FragmentRegistry::recycle)),
            directory,
            worlds,
        })
    }
}

impl Drop for Universe {
    fn drop(&mut self) {
        // SAFETY: here alone, and nobody uses the universe afterwards.
        if let Some(parts) = unsafe { self.take_apart() } {
            spare::leave(parts);
        }
    }
}

impl Default for Universe {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_a_universe_has_no_use_for_is_left_with_the_rest() {
        let lobby = Universe::new();
        let mut parts = Universe::parts(&IndexOptions::new(), &ChunkOptions::new()).unwrap();
        let spare = FragmentRegistry::try_new().unwrap();
        let identity = spare.identity();
        parts.registry = Some(spare);
        let room = Universe::on(parts, true, Some(&lobby)).unwrap();
        assert_eq!(room.registry().identity(), lobby.registry().identity());
        let mut room = ManuallyDrop::new(room);
        // SAFETY: once; it is not used afterwards, nor dropped.
        let parts = unsafe { room.take_apart() };
        let left = parts.unwrap().registry.unwrap();
        assert_eq!(left.identity(), identity);
    }
}
