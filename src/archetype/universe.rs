//! `Universe`: what several worlds share: ids, chunks, the numbers of fragments, and who owns which chunk.

use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use std::io;

use crate::archetype::archetype::Row;
use crate::chunk::{ChunkError, ChunkOptions, MegachunkAllocator, Run};
use crate::entity::{Entity, EntityIndex, Full, IndexOptions, Place, Places};
use crate::fragment::FragmentRegistry;
use crate::memory::Table;
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Rows that one 16 KiB chunk's number can name.
pub(crate) const ROWS_PER_CHUNK: u32 = 2_048;
/// Archetypes that a world can have, and one that none has.
pub(crate) const ARCHETYPES: usize = 1 << 20;
const ARCHETYPE_BITS: u32 = 20;
const POSITION_BITS: u32 = 22;
const SUB_BITS: u32 = 6;
/// The archetype that the directory names for chunks that recorders fill.
const PRIVATE: u32 = ARCHETYPES as u32 - 1;
/// The world that it names for chunks that are no world's.
const NOBODY: u16 = u16::MAX;
/// Worlds that a universe can have at one time.
const WORLDS: usize = u16::MAX as usize;

/// Empty mega-chunks (1 MiB each) whose memory a universe keeps: what comes and goes from frame to frame
/// does not go to the system and back.
const RETAIN: usize = 256;
/// Those that it leaves to the next universe.
const RETAIN_SPARE: usize = 16;

/// What a universe that has ended leaves to the next one: everything as if it were new, but for the pages.
#[derive(Debug)]
struct Parts {
    /// None are in use.
    chunks: MegachunkAllocator,
    /// None of these if they were too large to be made as new.
    index: Option<EntityIndex>,
    registry: Option<FragmentRegistry>,
    /// All zeros.
    owners: Table<AtomicU64>,
    worlds: Table<AtomicU64>,
}

/// The parts of the last universe that has ended.
static SPARE: AtomicPtr<Parts> = AtomicPtr::new(core::ptr::null_mut());

/// Leaves parts, or none, as the spare ones; those that were there.
fn exchange_spare(new: Option<Parts>) -> Option<Parts> {
    let new = new.map_or(core::ptr::null_mut(), |new| Box::into_raw(Box::new(new)));
    // Ordering: AcqRel: whoever takes the parts sees them as whoever left them did.
    let old = SPARE.swap(new, Ordering::AcqRel);
    // SAFETY: from `into_raw` above, and the exchange has made it this call's.
    (!old.is_null()).then(|| *unsafe { Box::from_raw(old) })
}

/// What worlds share that can exchange entities: the entity index, the chunks, the registry of
/// fragments.
///
/// Ids are unique over all its worlds. All methods take `&self`; any thread may call them at any time,
/// without a lock. Worlds keep it alive by an `Arc`.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::world::{Universe, World};
///
/// let universe = Arc::new(Universe::new());
/// let (mut land, mut sea) = (World::of(&universe)?, World::of(&universe)?);
/// let (crab, fish) = (land.create((1_u8,))?, sea.create((2_u8,))?);
/// assert_ne!(crab, fish);
/// assert!(land.exists(crab) && !land.exists(fish));
/// # Ok::<(), megachunk::world::WorldError>(())
/// ```
#[derive(Debug)]
pub struct Universe {
    index: ManuallyDrop<EntityIndex>,
    chunks: ManuallyDrop<MegachunkAllocator>,
    /// All of it is left to the next universe of the process.
    recycles: bool,
    registry: ManuallyDrop<FragmentRegistry>,
    /// Chunk number → whose it is: `world + 1 16 | archetype 20 | position 22 | which of its run 6`.
    owners: ManuallyDrop<Table<AtomicU64>>,
    /// A bit for each world number in use.
    worlds: ManuallyDrop<Table<AtomicU64>>,
    /// Ids do not depend on threads.
    ordered: bool,
    /// Below this claim word no slot is free, in an ordered universe.
    lowest: AtomicU32,
}

/// Whose a chunk is, as the directory has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u64);

impl Owner {
    /// The world's number, or one that no world has if the chunk is nobody's.
    #[inline(always)]
    pub(crate) fn world(self) -> u16 {
        ((self.0 >> (ARCHETYPE_BITS + POSITION_BITS + SUB_BITS)) as u16).wrapping_sub(1)
    }

    /// The archetype's number in its world.
    #[inline(always)]
    pub(crate) fn archetype(self) -> u32 {
        (self.0 >> (POSITION_BITS + SUB_BITS)) as u32 & ((1 << ARCHETYPE_BITS) - 1)
    }

    /// The chunk's position in its archetype.
    #[inline(always)]
    pub(crate) fn position(self) -> u32 {
        (self.0 >> SUB_BITS) as u32 & ((1 << POSITION_BITS) - 1)
    }

    /// The world for which a recorder fills the chunk, which is in no archetype yet; `None` of any other
    /// chunk.
    pub(crate) fn private_of(self) -> Option<u16> {
        let private = self.archetype() == PRIVATE && self.world() == NOBODY;
        private.then(|| self.position() as u16)
    }

    /// Which of the run's chunks this is.
    #[inline(always)]
    pub(crate) fn sub(self) -> u32 {
        self.0 as u32 & ((1 << SUB_BITS) - 1)
    }
}

/// Where the entities of a world lie, for as long as nobody changes the world: two addresses to keep in
/// registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finder<'a> {
    places: Places<'a>,
    owners: NonNull<AtomicU64>,
    world: u16,
}

impl Finder<'_> {
    /// Asks the processor for what it takes to find an entity soon.
    #[inline(always)]
    pub(crate) fn expect(self, entity: Entity) {
        self.places.expect(entity);
    }

    /// The archetype and row of an entity; `None` if it is not built in this world.
    #[inline(always)]
    pub(crate) fn find(self, entity: Entity) -> Option<(u32, Row)> {
        let place = self.places.of(entity)?;
        // Ordering: as in `Universe::enter`.
        //
        // SAFETY: a place's chunk is below the number of chunks, and there is an owner for each; the universe
        // lives as long as `self` is borrowed from it.
        let owner = unsafe { self.owners.add(place.chunk() as usize).as_ref() };
        let owner = Owner(owner.load(Ordering::Relaxed));
        if owner.world() != self.world || place.row() >= ROWS_PER_CHUNK {
            return None;
        }
        let row = Row {
            chunk: owner.position(),
            row: owner.sub() * ROWS_PER_CHUNK + place.row(),
        };
        Some((owner.archetype(), row))
    }
}

// SAFETY: an address of atomics that any thread may load, and that live as long as what it is borrowed from.
unsafe impl Send for Finder<'_> {}
// SAFETY: as above.
unsafe impl Sync for Finder<'_> {}

impl Universe {
    /// A universe without worlds, with the default options, but that it keeps up to 256 MiB of empty chunks
    /// for what comes next: [`trim`](Self::trim) gives them back.
    ///
    /// It takes over the memory of a universe of this kind that has ended, so that a program which makes
    /// worlds again and again does not fetch fresh memory from the system each time. At most one such
    /// memory waits, of 16 MiB or so: see [`forget_spare`](Self::forget_spare). Nothing of what was in it
    /// can be told: ids and numbers of fragments begin from the start.
    ///
    /// # Panics
    /// If the system has no address space left; [`with`](Self::with) returns the error instead.
    #[must_use]
    pub fn new() -> Self {
        match exchange_spare(None).map_or_else(Self::anew, |spare| Self::on(spare, true)) {
            Ok(universe) => universe,
            Err(error) => panic!("no address space for a universe: {error}"),
        }
    }

    /// A universe in which ids do not depend on threads: a program that does the same gets the same ids,
    /// versions too, for any number of them.
    ///
    /// The world's own calls take the lowest free index. Recorders that are opened
    /// [with a sort key](crate::command::ParallelCommands::open_at) have ids of their own, given by that key;
    /// see there for what they may not do. For this no thread keeps free ids for itself: creating and
    /// destroying cost one to four read-modify-writes each, where they take one or two for 64 otherwise, and
    /// indices are used less densely: what other pieces of work have is left to them. All worlds of the universe
    /// must be used by one thread at a time, but for the recorders.
    ///
    /// # Panics
    /// As for [`new`](Self::new).
    #[must_use]
    pub fn ordered() -> Self {
        let chunks = ChunkOptions::new().retain(RETAIN);
        let made = Self::parts(&IndexOptions::new(), &chunks).and_then(|p| Self::on(p, false));
        match made {
            Ok(mut universe) => {
                universe.ordered = true;
                universe
            }
            Err(error) => panic!("no address space for a universe: {error}"),
        }
    }

    /// Gives the memory back that the last universe left for the next one; whether there was one.
    pub fn forget_spare() -> bool {
        exchange_spare(None).is_some()
    }

    /// A universe whose index and allocator have these options.
    ///
    /// # Errors
    /// What the system said, if it has no address space left.
    pub fn with(index: &IndexOptions, chunks: &ChunkOptions) -> io::Result<Self> {
        Self::on(Self::parts(index, chunks)?, false)
    }

    fn anew() -> io::Result<Self> {
        Self::on(
            Self::parts(&IndexOptions::new(), &ChunkOptions::new().retain(RETAIN))?,
            true,
        )
    }

    fn parts(index: &IndexOptions, chunks: &ChunkOptions) -> io::Result<Parts> {
        Ok(Parts {
            chunks: chunks.build()?,
            index: Some(index.build()?),
            registry: None,
            owners: Table::new(crate::chunk::CHUNKS, 9 << 12)?,
            worlds: Table::new(WORLDS.div_ceil(64), 0)?,
        })
    }

    fn on(parts: Parts, recycles: bool) -> io::Result<Self> {
        let registry = parts.registry.map_or_else(FragmentRegistry::try_new, Ok)?;
        let index = (parts.index).map_or_else(|| IndexOptions::new().build(), Ok)?;
        Ok(Self {
            index: ManuallyDrop::new(index),
            chunks: ManuallyDrop::new(parts.chunks),
            recycles,
            registry: ManuallyDrop::new(registry),
            owners: ManuallyDrop::new(parts.owners),
            worlds: ManuallyDrop::new(parts.worlds),
            ordered: false,
            lowest: AtomicU32::new(0),
        })
    }

    /// The fragments of all its worlds.
    #[inline(always)]
    #[must_use]
    pub fn registry(&self) -> &FragmentRegistry {
        &self.registry
    }

    /// Whether an entity lives, in whatever world, or is reserved. Wait-free, one load.
    #[inline]
    #[must_use]
    pub fn exists(&self, entity: Entity) -> bool {
        self.index.exists(entity)
    }

    /// Reserves an id, which any of its worlds may build. Lock-free.
    ///
    /// # Errors
    /// [`Full`].
    pub fn reserve(&self) -> Result<Entity, Full> {
        if self.ordered {
            return self.create_lowest(None);
        }
        self.index.reserve()
    }

    /// Reserves an id for each place of `out`; all or none. Lock-free.
    ///
    /// # Errors
    /// [`Full`].
    pub fn reserve_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        if !self.ordered {
            return self.index.create_slice(out);
        }
        for at in 0..out.len() {
            match self.create_lowest(None) {
                Ok(entity) => out[at] = entity,
                Err(full) => {
                    for &entity in &out[..at] {
                        // Nobody has heard of it; who guesses it may have destroyed it.
                        let _ = self.index.destroy(entity);
                        self.settle_released(entity);
                    }
                    return Err(full);
                }
            }
        }
        Ok(())
    }

    /// Entities of all its worlds, reserved ones included: exact while nothing changes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.index.count()
    }

    /// How the chunks stand.
    #[must_use]
    pub fn chunk_stats(&self) -> crate::chunk::ChunkStats {
        self.chunks.stats()
    }

    /// Gives memory of empty mega-chunks back to the system; how many mega-chunks.
    pub fn trim(&self) -> usize {
        self.chunks.trim()
    }

    pub(crate) fn index(&self) -> &EntityIndex {
        &self.index
    }

    pub(crate) fn index_mut(&mut self) -> &mut EntityIndex {
        &mut self.index
    }

    /// A number for a new world; `None` if there are 65,535 worlds. Lock-free.
    pub(crate) fn add_world(&self) -> Option<u16> {
        for at in 0..WORLDS.div_ceil(64) {
            let word = self.worlds.get(at);
            let mut taken = word.load(Ordering::Relaxed);
            while taken != u64::MAX {
                let bit = taken.trailing_ones();
                let number = at * 64 + bit as usize;
                if number >= WORLDS {
                    return None;
                }
                // Ordering: Acquire pairs with the Release in `remove_world`.
                match word.compare_exchange_weak(
                    taken,
                    taken | 1 << bit,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return Some(number as u16),
                    Err(now) => taken = now,
                }
            }
        }
        None
    }

    /// Gives a world's number back, which has no chunks any more.
    pub(crate) fn remove_world(&self, world: u16) {
        let bit = 1 << (world % 64);
        // Ordering: Release pairs with the Acquire in `add_world`.
        self.worlds
            .get(usize::from(world) / 64)
            .fetch_and(!bit, Ordering::Release);
    }

    /// Takes a run of chunks.
    pub(crate) fn take_chunk(&self, len: u32) -> Result<Run, ChunkError> {
        self.chunks.take(len as usize)
    }

    /// Gives a run back.
    ///
    /// # Safety
    /// The caller took it, and uses it no more.
    pub(crate) unsafe fn give_chunk(&self, run: Run) {
        // SAFETY: the caller's.
        unsafe { self.chunks.give_back(run) };
    }

    /// Where a run begins.
    #[inline(always)]
    pub(crate) fn base(&self, run: Run) -> NonNull<u8> {
        self.chunks.base(run.first())
    }

    /// Says whose a run is.
    pub(crate) fn enter(&self, run: Run, world: u16, archetype: u32, position: u32) {
        let owner = (u64::from(world) + 1) << (ARCHETYPE_BITS + POSITION_BITS + SUB_BITS)
            | u64::from(archetype) << (POSITION_BITS + SUB_BITS)
            | u64::from(position) << SUB_BITS;
        // Ordering: Relaxed. Only the owner, through `&mut` of its world, relies on what it says;
        // to other worlds it says only "not yours", which it does before and after.
        for (entry, sub) in self.owners_of(run).iter().zip(0..) {
            entry.store(owner | sub, Ordering::Relaxed);
        }
    }

    /// The entries of a run's chunks.
    #[inline(always)]
    fn owners_of(&self, run: Run) -> &[AtomicU64] {
        let first = run.first() as usize;
        self.owners.range(first..first + run.len() as usize)
    }

    /// Says that a run is filled by a recorder for a world, and is in no archetype of it yet. Lock-free,
    /// from any thread that has the run to itself.
    pub(crate) fn enter_private(&self, run: Run, world: u16) {
        let owner = u64::from(PRIVATE) << (POSITION_BITS + SUB_BITS) | u64::from(world) << SUB_BITS;
        // Ordering: Relaxed. Who follows an entity's place here has read the place by Acquire, and it
        // was published after this.
        for (entry, sub) in self.owners_of(run).iter().zip(0..) {
            entry.store(owner | sub, Ordering::Relaxed);
        }
    }

    /// Says that a run is nobody's.
    pub(crate) fn leave(&self, run: Run) {
        for entry in self.owners_of(run) {
            entry.store(0, Ordering::Relaxed);
        }
    }

    /// Whose a chunk is.
    #[inline(always)]
    pub(crate) fn owner(&self, place: Place) -> Owner {
        // Ordering: as in `enter`.
        //
        // SAFETY: a place's chunk is below the number of chunks.
        let owner = unsafe { self.owners.get_unchecked(place.chunk() as usize) };
        Owner(owner.load(Ordering::Relaxed))
    }

    /// Where the entities of a world lie.
    #[inline(always)]
    pub(crate) fn finder(&self, world: u16) -> Finder<'_> {
        Finder {
            places: self.index.places(),
            owners: self.owners.first(),
            world,
        }
    }

    /// Whose the chunk of a number is.
    pub(crate) fn owner_of(&self, chunk: u32) -> Owner {
        // Ordering: as in `enter`.
        Owner(self.owners.get(chunk as usize).load(Ordering::Relaxed))
    }

    /// 16 KiB chunks that somebody has.
    pub(crate) fn chunks_in_use(&self) -> usize {
        self.chunks.in_use()
    }

    /// Creates an entity that lies in a row.
    #[inline(always)]
    pub(crate) fn create_in(&self, run: Run, row: u32) -> Result<Entity, Full> {
        self.create_at(place(run, row))
    }

    /// Creates an entity that has a place.
    #[inline(always)]
    pub(crate) fn create_at(&self, place: Place) -> Result<Entity, Full> {
        if self.ordered {
            return self.create_lowest(Some(place));
        }
        self.index.create_placed(place)
    }

    /// Whether ids do not depend on threads.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Creates an entity with the lowest free index.
    #[cold]
    #[inline(never)]
    fn create_lowest(&self, place: Option<Place>) -> Result<Entity, Full> {
        // Ordering: Relaxed, here and below: only where to look first. Threads that create at one time make
        // their order by chance anyway.
        let mut from = self.lowest.load(Ordering::Relaxed);
        let created = match self.index.create_lowest(&mut from, place) {
            Err(_) if from > 0 => {
                from = 0;
                self.index.create_lowest(&mut from, place)
            }
            created => created,
        }?;
        self.lowest.store(from, Ordering::Relaxed);
        Ok(created)
    }

    #[cold]
    #[inline(never)]
    fn kill_at_once(&self, entities: &[Entity]) {
        let words = entities.iter();
        let lowest = words
            .map(|&entity| self.index.destroy_owned_at_once(entity))
            .min();
        if let Some(lowest) = lowest {
            self.look_from(lowest);
        }
    }

    /// Slots of a claim word are free again.
    fn look_from(&self, word: u32) {
        let mut lowest = self.lowest.load(Ordering::Relaxed);
        while word < lowest {
            // Ordering: as in `create_lowest`.
            match self
                .lowest
                .compare_exchange(lowest, word, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => lowest = now,
            }
        }
    }

    /// After a reserved id was released: nothing of it stays with this thread.
    pub(crate) fn settle_released(&self, entity: Entity) {
        if self.ordered {
            self.index.flush();
            self.look_from(entity.index() / crate::sync::geometry::WORD_BITS);
        }
    }

    /// Creates entities that lie in neighbouring rows from the beginning, and writes their handles; all or
    /// none. Lock-free: any number of threads at once, each with rows of its own.
    ///
    /// To other threads they are entities of whoever's the run is, who is not done with them yet. Only the
    /// caller may destroy them, and so it does if it has to give them back.
    ///
    /// # Safety
    /// Room for `count` handles at `handles`. The rows are the caller's, and belong to nobody else.
    pub(crate) unsafe fn create_rows(
        &self,
        handles: *mut Entity,
        run: Run,
        first: u32,
        count: u32,
    ) -> Result<(), Full> {
        let mut done = 0;
        while self.ordered && done < count {
            match self.create_in(run, first + done) {
                // SAFETY: the caller's.
                Ok(entity) => unsafe { handles.add(done as usize).write(entity) },
                Err(full) => {
                    // SAFETY: so many handles were written.
                    self.kill_slice(unsafe { core::slice::from_raw_parts(handles, done as usize) });
                    return Err(full);
                }
            }
            done += 1;
        }
        while done < count {
            // A place names the chunk of the run that the row is in.
            let row = first + done;
            let some = (ROWS_PER_CHUNK - row % ROWS_PER_CHUNK).min(count - done);
            // SAFETY: the caller's; whatever is there is overwritten.
            let out = unsafe {
                let start = handles.add(done as usize).cast::<MaybeUninit<Entity>>();
                core::slice::from_raw_parts_mut(start, some as usize)
            };
            if let Err(full) = self.index.create_placed_slice(out, place(run, row)) {
                // SAFETY: so many handles were written.
                self.kill_slice(unsafe { core::slice::from_raw_parts(handles, done as usize) });
                return Err(full);
            }
            done += some;
        }
        Ok(())
    }

    /// Says that an entity of the calling world lies in a row now.
    #[inline(always)]
    pub(crate) fn place(&self, entity: Entity, run: Run, row: u32) {
        self.index.set_place(entity, place(run, row));
    }

    /// Destroys an entity of the calling world.
    #[inline(always)]
    pub(crate) fn kill(&self, entity: Entity) {
        if self.ordered {
            return self.kill_at_once(&[entity]);
        }
        self.index.destroy_owned(entity);
    }

    /// Destroys entities of the calling world.
    pub(crate) fn kill_slice(&self, entities: &[Entity]) {
        if self.ordered {
            return self.kill_at_once(entities);
        }
        self.index.destroy_owned_slice(entities);
    }
}

/// The place of a row of a run.
#[inline(always)]
pub(crate) fn place(run: Run, row: u32) -> Place {
    Place::within(run.first() + row / ROWS_PER_CHUNK, row % ROWS_PER_CHUNK)
}

impl Drop for Universe {
    fn drop(&mut self) {
        // SAFETY: each is taken once, here; nobody uses the universe afterwards.
        let (chunks, index, registry, owners, worlds) = unsafe {
            (
                ManuallyDrop::take(&mut self.chunks),
                ManuallyDrop::take(&mut self.index),
                ManuallyDrop::take(&mut self.registry),
                ManuallyDrop::take(&mut self.owners),
                ManuallyDrop::take(&mut self.worlds),
            )
        };
        // Who gives a chunk back takes it out of the directory, and every world has given its number back, or
        // the universe would not end.
        if self.recycles && chunks.in_use() == 0 {
            chunks.trim_to(RETAIN_SPARE);
            drop(exchange_spare(Some(Parts {
                chunks,
                index: index.recycle(),
                registry: registry.recycle(),
                owners,
                worlds,
            })));
        }
    }
}

impl Default for Universe {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_fill_chunks_of_their_own_and_every_row_is_found_again() {
        const ROWS: usize = 5_000;
        let universe = Universe::new();
        crate::sync::thread::scope(|scope| {
            for first in [0, 100, 2_047] {
                let universe = &universe;
                scope.spawn(move || {
                    let run = universe.take_chunk(4).expect("there is memory");
                    let mut handles = vec![Entity::PLACEHOLDER; ROWS];
                    // SAFETY: so many handles, and rows of a run that is this thread's.
                    unsafe { universe.create_rows(handles.as_mut_ptr(), run, first, ROWS as u32) }
                        .expect("there are ids");
                    for (&entity, row) in handles.iter().zip(first..) {
                        assert_eq!(universe.index.places().of(entity), Some(place(run, row)));
                    }
                    universe.kill_slice(&handles);
                    assert!(!handles.iter().any(|&entity| universe.exists(entity)));
                    // SAFETY: taken above, and used no more.
                    unsafe { universe.give_chunk(run) };
                });
            }
        });
        assert_eq!(universe.count(), 0);
    }
}
