//! `Directory`: whose each chunk of a universe is.

use core::ptr::NonNull;
use std::io;

use crate::archetype::archetype::Row;
use crate::archetype::chunk::Chunk;
use crate::chunk::Run;
use crate::entity::{Entity, Origin, Place, Places};
use crate::memory::{HUGE_PAGE_BYTES, Table, prefetch};
use crate::sync::atomic::{AtomicU64, Ordering};

/// Rows that one 16 KiB chunk's number can name.
pub(crate) const ROWS_PER_CHUNK: u32 = 2_048;
/// Numbers for archetypes. A world uses all but the last.
pub(crate) const ARCHETYPES: usize = 1 << 20;
/// Bytes of the table that lie before the first border of a huge page, the entries of the first 32
/// MiB of chunks: a small world is not to cost a whole one. A multiple of a page, and other than
/// those of the index's tables: their first lines lie in different cache sets.
const SMALL: usize = 4 << 12;
const ARCHETYPE_BITS: u32 = 20;
const POSITION_BITS: u32 = 22;
const SUB_BITS: u32 = 6;
/// The world that it names for chunks that are no world's.
const NOBODY: u16 = u16::MAX;

/// The number of a 16 KiB chunk → whose it is, if it is one that a place names: `world + 1 16 |
/// archetype 20 | position 22 | which of its run 6`; `0 16 | world + 1 20 | number 22 | which of
/// its run 6` if it is a recorder's yet; 0 where it is nobody's.
#[derive(Debug)]
pub(crate) struct Directory(Table<AtomicU64>);

/// Whose a chunk is, as the directory has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u64);

impl Owner {
    /// The world's number, or one that no world has if the chunk is nobody's.
    #[inline(always)]
    pub(crate) fn world(self) -> u16 {
        ((self.0 >> (ARCHETYPE_BITS + POSITION_BITS + SUB_BITS)) as u16).wrapping_sub(1)
    }

    /// Whether the chunk is no world's, and no recorder's.
    pub(crate) fn is_nobodys(self) -> bool {
        self.world() == NOBODY && self.private_of().is_none()
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

    /// The world for which a recorder fills the chunk, which is in no archetype yet, and the chunk's number among the
    /// recorder's; `None` of any other chunk.
    #[inline]
    pub(crate) fn private_of(self) -> Option<(u16, u32)> {
        let world = self.archetype().checked_sub(1)?;
        (self.world() == NOBODY).then_some((world as u16, self.position()))
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
    world: WorldMark,
}

/// What the directory says of all chunks of a world alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorldMark(u64);

impl WorldMark {
    /// That of the world with this number.
    pub(crate) const fn new(world: u16) -> Self {
        Self((world as u64 + 1) << (ARCHETYPE_BITS + POSITION_BITS + SUB_BITS))
    }
}

impl Finder<'_> {
    /// Asks the processor for what it takes to find an entity soon.
    #[inline(always)]
    pub(crate) fn expect(self, entity: Entity) {
        self.places.expect(entity);
    }

    /// The bits of an entity's place, in this world or anywhere else, as [`Origin::place_bits`] has
    /// them: of no chunk from the first one on if it lies before that, or does not live. What has
    /// no place, or is being destroyed, is in the chunk that is the last one when turned.
    #[inline(always)]
    pub(crate) fn bits_from(self, origin: Origin, entity: Entity) -> u64 {
        self.places.bits_from(origin, entity)
    }

    /// The place of an entity, in this world or anywhere else; `None` if it does not live. What has no place, or is
    /// being destroyed, is at one whose row no chunk has.
    #[inline(always)]
    pub(crate) fn place(self, entity: Entity) -> Option<Place> {
        self.places.of(entity)
    }

    /// The archetype and row of an entity; `None` if it is not built in this world.
    #[inline(always)]
    pub(crate) fn find(self, entity: Entity) -> Option<(u32, Row)> {
        let (archetype, row, _) = self.find_place(entity)?;
        Some((archetype, row))
    }

    /// The archetype, row and place of an entity; `None` if it is not built in this world.
    #[inline(always)]
    pub(crate) fn find_place(self, entity: Entity) -> Option<(u32, Row, Place)> {
        // What has no place is at one whose row no chunk has, and so is what is being destroyed.
        let place = self.places.of(entity)?;
        if place.row() >= ROWS_PER_CHUNK {
            return None;
        }
        // Ordering: as in `Directory::enter`.
        //
        // SAFETY: a place's chunk is below the number of chunks, and there is an owner for each; the directory
        // lives as long as `self` is borrowed from it.
        let owner = unsafe { self.owners.add(place.chunk() as usize).as_ref() };
        let owner = owner.load(Ordering::Relaxed) ^ self.world.0;
        // One comparison says that the world is this one: of another, something stands above the archetype.
        let archetype = owner >> (POSITION_BITS + SUB_BITS);
        if archetype >= ARCHETYPES as u64 {
            return None;
        }
        let owner = Owner(owner);
        let row = Row {
            chunk: owner.position(),
            row: owner.sub() * ROWS_PER_CHUNK + place.row() % ROWS_PER_CHUNK,
        };
        Some((archetype as u32, row, place))
    }

    /// The number of the world in which an entity is built, whichever that is; `None` if it is built in none.
    pub(crate) fn world_of(self, entity: Entity) -> Option<u16> {
        let place = self.places.of(entity)?;
        if place.row() >= ROWS_PER_CHUNK {
            return None;
        }
        // Ordering: as in `Directory::enter`.
        //
        // SAFETY: as in `find_place`.
        let owner = unsafe { self.owners.add(place.chunk() as usize).as_ref() };
        let world = Owner(owner.load(Ordering::Relaxed)).world();
        (world != NOBODY).then_some(world)
    }
}

// SAFETY: an address of atomics that any thread may load, and that live as long as what it is borrowed from.
unsafe impl Send for Finder<'_> {}
// SAFETY: as above.
unsafe impl Sync for Finder<'_> {}

impl Directory {
    /// One in which all chunks are nobody's. With huge pages its entries are looked up, and written one for each
    /// chunk that a flush takes over, without walks over page tables.
    pub(super) fn new(huge_pages: bool) -> io::Result<Self> {
        let table = Table::new(crate::chunk::CHUNKS, HUGE_PAGE_BYTES - SMALL)?;
        if huge_pages {
            table.want_huge("the directory of chunks");
        }
        Ok(Self(table))
    }

    /// Says whose a chunk is. O(rows / 2,048).
    pub(crate) fn enter(&self, chunk: &Chunk, world: u16, archetype: u32, position: u32) {
        let owner = WorldMark::new(world).0
            | u64::from(archetype) << (POSITION_BITS + SUB_BITS)
            | u64::from(position) << SUB_BITS;
        // Ordering: Relaxed. Only the owner, through `&mut` of its world, relies on what it says;
        // to other worlds it says only "not yours", which it does before and after.
        for (entry, sub) in self.of(chunk).iter().zip(0..) {
            entry.store(owner | sub, Ordering::Relaxed);
        }
    }

    /// The entries that the places of a chunk's rows name.
    #[inline(always)]
    fn of(&self, chunk: &Chunk) -> &[AtomicU64] {
        let first = chunk.run.first() as usize;
        self.0.range(first..first + chunk.named() as usize)
    }

    /// Asks the processor for what [`enter`](Self::enter) will write soon.
    #[inline(always)]
    pub(crate) fn expect(&self, chunk: &Chunk) {
        prefetch(self.0.get(chunk.run.first() as usize));
    }

    /// Says that a chunk is filled by a recorder for a world, under a number, and is in no archetype of it yet.
    /// Lock-free, from any thread that has the chunk to itself.
    pub(crate) fn enter_private(&self, chunk: &Chunk, world: u16, number: u32) {
        let world = u64::from(world) + 1;
        let owner = world << (POSITION_BITS + SUB_BITS) | u64::from(number) << SUB_BITS;
        // Ordering: Relaxed. Whoever asks for a recorder's chunks has read an entity's place by
        // Acquire, and that was published after this. A `Finder` has not, and need not: to it this
        // is not its world's, and neither is what was here before, or the chunk would be in its
        // world's hands.
        for (entry, sub) in self.of(chunk).iter().zip(0..) {
            entry.store(owner | sub, Ordering::Relaxed);
        }
    }

    /// Says that a chunk is nobody's.
    pub(crate) fn leave(&self, chunk: &Chunk) {
        // Ordering: as in `enter`; whoever takes the chunk next sees it by the chunk's mask.
        for entry in self.of(chunk) {
            entry.store(0, Ordering::Relaxed);
        }
    }

    /// Whose a chunk is.
    #[inline(always)]
    pub(crate) fn owner(&self, place: Place) -> Owner {
        // Ordering: as in `enter`.
        //
        // SAFETY: a place's chunk is below the number of chunks.
        let owner = unsafe { self.0.get_unchecked(place.chunk() as usize) };
        Owner(owner.load(Ordering::Relaxed))
    }

    /// Whose the chunk of a number is.
    pub(crate) fn owner_of(&self, chunk: u32) -> Owner {
        // Ordering: as in `enter`.
        Owner(self.0.get(chunk as usize).load(Ordering::Relaxed))
    }

    /// Where the entities of a world lie, which have these places.
    #[inline(always)]
    pub(super) fn finder<'a>(&'a self, places: Places<'a>, world: WorldMark) -> Finder<'a> {
        Finder {
            places,
            owners: self.0.first(),
            world,
        }
    }
}

/// The place of a row of a run.
#[inline(always)]
pub(crate) fn place(run: Run, row: u32) -> Place {
    Place::within(run.first() + row / ROWS_PER_CHUNK, row % ROWS_PER_CHUNK)
}
