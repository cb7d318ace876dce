//! Folded chunks: few rows, whose arrays lie close together.
//!
//! The arrays of a chunk lie kilobytes apart, and chunks 16 KiB. Of compositions with an entity or
//! two, which most are where compositions are many, a walk would touch a page of memory for each
//! column; and those pages, four apart, would share few sets of the processor's table of addresses.
//! So the first chunk of a group begins folded: each array begins at an eighth of its distance, and
//! all of it lies in one page, in half of it. Which page of the chunk's four, and at which line,
//! its number chooses as by lot. When the rows are filled it unfolds, where it is: rows and places
//! stay what they are.
//!
//! As by lot, because processors choose the set by different bits, and some by the exclusive or of
//! two groups of them: where the page was the number's own bits 5 and 6, these cancel out there,
//! which leaves 512 of 1,000 chunks a place. (That this is why they were slow is inferred: see
//! `papers/archetype-storage.md`.)
//!
//! Must hold: a folded chunk has room. So it is open, but while a flush has taken it out of its group's list.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::archetype::archetype::Archetype;
use crate::archetype::chunk::Chunk;
use crate::archetype::column::Column;
use crate::archetype::layout::Few;
use crate::archetype::stagger::{STAGGER, stagger};
use crate::archetype::universe::Universe;
use crate::chunk::{CHUNK_BYTES, Run};
use crate::entity::Entity;
use crate::memory::LINE;

/// Arrays of a folded chunk begin at their offset divided by 2 to the power of this.
const SHIFT: u32 = 3;
const PAGE: usize = 4_096;
const PAGES: usize = CHUNK_BYTES / PAGE;
/// Of a folded chunk: half a page but for a line.
const BYTES: usize = PAGE / 2 - LINE;
/// Lines of a page in which a folded chunk may begin.
const STEPS: usize = (PAGE - BYTES) / LINE + 1;
/// 2^32 divided by the golden ratio: the highest bits of its multiples are spread evenly, and so
/// are those of every nth.
const SCATTER: u32 = 0x9E37_79B1;
const _: () = assert!(STAGGER < CHUNK_BYTES);
/// With room for fewer rows than these, folding is not worth while.
const FEWEST: u32 = 4;

/// Where an array begins in a folded chunk.
#[inline(always)]
pub(crate) const fn folded(offset: u32) -> u32 {
    (offset >> SHIFT) & !(LINE as u32 - 1)
}

/// Where a folded chunk begins in its memory.
fn start(run: Run) -> usize {
    let hash = run.first().wrapping_mul(SCATTER) >> 16;
    let place = (hash as usize * (PAGES * STEPS)) >> 16;
    place / STEPS * PAGE + place % STEPS * LINE
}

/// The first byte of a folded chunk.
pub(crate) fn begin(universe: &Universe, run: Run) -> NonNull<u8> {
    // SAFETY: it begins and ends in its memory.
    unsafe { universe.base(run).add(start(run)) }
}

/// Rows for which a folded chunk has room, where the shortest chunks have `capacity`, and these arrays besides the
/// handles; 0 where chunks are not to be folded.
pub(crate) fn rows(columns: &[Column], capacity: u32) -> u32 {
    let mut arrays: Few<(u32, u32)> = arrays(columns).collect();
    arrays.sort_unstable();
    let ends = arrays.iter().skip(1).map(|&(next, _)| folded(next));
    let ends = ends.chain([BYTES as u32]);
    let room =
        |(&(offset, size), end): (&(u32, u32), u32)| end.saturating_sub(folded(offset)) / size;
    let rows = arrays.iter().zip(ends).map(room).min().unwrap_or(0);
    match rows.min(capacity) {
        0..FEWEST => 0,
        rows => rows,
    }
}

/// The arrays of a chunk: where they begin in the shortest chunks, and the bytes of a row.
fn arrays(columns: &[Column]) -> impl Iterator<Item = (u32, u32)> {
    // What has no size lies anywhere.
    let sized = columns.iter().filter(|column| column.size > 0);
    let handles = (0, size_of::<Entity>() as u32);
    core::iter::once(handles).chain(sized.map(|column| (column.offset, column.size)))
}

/// Whether arrays that have so many rows in a folded chunk, if any, lie apart, and within it.
pub(crate) fn fit(columns: &[Column], rows: u32) -> bool {
    let mut spans: Vec<(u32, u32)> = arrays(columns)
        .map(|(offset, size)| (folded(offset), rows * size))
        .collect();
    spans.sort_unstable();
    spans.push((BYTES as u32, 0));
    rows == 0 || spans.is_sorted_by(|&(first, bytes), &(next, _)| first + bytes <= next)
}

impl Chunk {
    /// Lays a new chunk out folded, with room for so many rows.
    pub(super) fn fold(&mut self, rows: u32) {
        debug_assert!(self.len == 0 && self.is_short() && !self.is_folded());
        self.base = self.moved(stagger(self.run), start(self.run));
        self.capacity = rows;
        self.set_folded(true);
    }

    /// Lays it out as all others of its archetype, whose shortest have room for `capacity` rows.
    #[cold]
    #[inline(never)]
    pub(super) fn unfold(&mut self, columns: &[Column], capacity: u32) {
        debug_assert!(self.is_folded() && self.len <= self.capacity);
        let rows = self.len as usize;
        let mut before = MaybeUninit::<[u8; BYTES]>::uninit();
        let before = before.as_mut_ptr().cast::<u8>();
        // SAFETY: a folded chunk lies in so many bytes of its own memory. They come out of it whole, whatever is in
        // them, because where an array is to lie another may be.
        unsafe { before.copy_from_nonoverlapping(self.base.as_ptr(), BYTES) };
        self.base = self.moved(start(self.run), stagger(self.run));
        self.capacity = capacity;
        self.set_folded(false);
        for (offset, size) in arrays(columns) {
            // SAFETY: `rows` says that the rows of each array were within those bytes; in the chunk as it is now each
            // has room for all rows that there are.
            unsafe {
                let from = before.add(folded(offset) as usize);
                let bytes = rows * size as usize;
                self.array(offset).copy_from_nonoverlapping(from, bytes);
            }
        }
    }

    /// What lies `to` bytes behind the first byte of its memory, where it begins `from` bytes behind that.
    fn moved(&self, from: usize, to: usize) -> NonNull<u8> {
        debug_assert!(from.max(to) < CHUNK_BYTES);
        // SAFETY: both lie in the memory that is the chunk's.
        unsafe { self.base.sub(from).add(to) }
    }
}

impl Archetype {
    /// Whether the next chunk of a group, which is to be one of the shortest for `coming` entities at least, is to be
    /// folded.
    pub(super) fn folds(&self, group: u32, coming: usize) -> bool {
        coming < self.fold_rows as usize && self.groups[group as usize].chunks == 0
    }

    /// Entities that a chunk of this archetype holds, or will when it has unfolded: what decides by it does not depend
    /// on whether it has.
    pub(crate) fn unfolded_capacity(&self, chunk: &Chunk) -> u32 {
        match chunk.is_folded() {
            true => self.least_capacity,
            false => chunk.capacity,
        }
    }

    /// Unfolds a chunk that is folded, for so many rows more, if they would fill it.
    pub(crate) fn expect_rows(&mut self, position: u32, coming: u32) {
        let chunk = &self.chunks[position as usize];
        if chunk.is_folded() && coming >= chunk.capacity - chunk.len {
            self.unfold(position);
        }
    }

    /// Unfolds a chunk that is folded.
    pub(super) fn unfold(&mut self, position: u32) {
        let loose = self.is_loose();
        let chunk = &mut self.chunks[position as usize];
        chunk.unfold(&self.columns, self.least_capacity);
        chunk.loosen(loose);
    }

    /// After rows of an open chunk were filled, and none is left: it unfolds, or has no room any more.
    #[cold]
    #[inline(never)]
    pub(crate) fn filled_up(&mut self, position: u32) {
        let chunk = &self.chunks[position as usize];
        debug_assert!(chunk.is_full() && chunk.is_open());
        if chunk.is_folded() {
            self.unfold(position);
        }
        if self.chunks[position as usize].is_full() {
            self.close(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::world::{Budget, SnapshotOptions};

    #[derive(Clone, Debug, PartialEq)]
    struct Name(String);
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Small(u8);
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Wide([u64; 9]);
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(256))]
    struct Aligned(u64);
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Huge([u8; 3_000]);
    struct Tag;

    fn only(world: &World) -> &Chunk {
        let mut chunks = world.archetypes.iter().flat_map(|data| &data.chunks);
        let chunk = chunks.next().unwrap();
        assert!(chunks.next().is_none(), "one chunk");
        chunk
    }

    fn used(world: &World) -> &Archetype {
        let mut archetypes = world.archetypes.iter();
        archetypes.find(|data| data.entities > 0).unwrap()
    }

    #[test]
    fn the_first_chunk_is_folded_until_its_rows_are_filled() {
        let mut world = World::new();
        let mut all = Vec::new();
        let mut rows = None;
        for n in 0..600_u32 {
            let name = Name(n.to_string());
            all.push(
                world
                    .create((name, Small(n as u8), Wide([n.into(); 9]), Tag))
                    .unwrap(),
            );
            world.check().unwrap();
            let data = used(&world);
            let chunk = &data.chunks[0];
            assert_eq!(chunk.is_folded(), n + 1 < data.fold_rows, "at {n}");
            rows = Some(data.fold_rows);
            for (n, &entity) in all.iter().enumerate() {
                assert_eq!(world.get::<Name>(entity).unwrap().0, n.to_string());
                assert_eq!(world.get::<Small>(entity).unwrap(), &Small(n as u8));
                assert_eq!(world.get::<Wide>(entity).unwrap(), &Wide([n as u64; 9]));
            }
        }
        assert!((FEWEST..200).contains(&rows.unwrap()), "{rows:?}");
        // What has unfolded stays so.
        for &entity in &all[1..] {
            world.destroy(entity).unwrap();
        }
        world.check().unwrap();
        assert!(!only(&world).is_folded());
        assert_eq!(world.get::<Name>(all[0]).unwrap().0, "0");
    }

    #[test]
    fn a_batch_that_fits_is_folded_and_a_larger_one_is_not() {
        for count in [1, 3, 400, 20_000] {
            let mut world = World::new();
            let batch = world
                .create_batch((0..count).map(|n| (n, Small(1))))
                .unwrap();
            assert_eq!(batch.len(), count);
            world.check().unwrap();
            let data = used(&world);
            let folded = data.chunks.iter().filter(|chunk| chunk.is_folded()).count();
            assert_eq!(folded, usize::from(count < data.fold_rows as usize));
            let sum: usize = world.query::<&usize, ()>().unwrap().iter().sum();
            assert_eq!(sum, count * (count - 1) / 2);
        }
    }

    #[test]
    fn rows_go_come_and_change_composition_in_folded_chunks() {
        let mut world = World::new();
        let all: Vec<_> = (0..40_u32)
            .map(|n| world.create((n, Name(n.to_string()))).unwrap())
            .collect();
        for (n, &entity) in all.iter().enumerate() {
            match n % 4 {
                0 => world.add(entity, (Small(n as u8),)).unwrap(),
                1 => world.add(entity, (Wide([n as u64; 9]), Tag)).unwrap(),
                2 => assert!(world.remove::<(Name,)>(entity).unwrap()),
                _ => world.destroy(entity).unwrap(),
            }
            world.check().unwrap();
        }
        let folded = world.archetypes.iter().flat_map(|data| &data.chunks);
        assert!(folded.filter(|chunk| chunk.is_folded()).count() >= 3);
        for (n, &entity) in all.iter().enumerate() {
            if n % 4 == 3 {
                assert!(!world.exists(entity));
                continue;
            }
            assert_eq!(world.get::<u32>(entity).unwrap(), &(n as u32));
            let name = world.get::<Name>(entity).ok().map(|name| name.0.clone());
            assert_eq!(name, (n % 4 != 2).then(|| n.to_string()));
        }
        let mut query = world.query::<&mut u32, ()>().unwrap();
        query.for_each(|value| *value += 1);
        assert_eq!(world.get::<u32>(all[8]).unwrap(), &9);
    }

    #[test]
    fn folded_chunks_that_meet_in_one_world_become_one_chunk() {
        let mut home = World::new();
        let mut all = Vec::new();
        for n in 0..30_u32 {
            let mut other = World::of(home.universe()).unwrap();
            all.extend([n, n + 100].map(|n| other.create((n, Name(n.to_string()))).unwrap()));
            assert!(only(&other).is_folded());
            assert_eq!(other.move_all_to(&mut home).unwrap(), 2);
            home.check().unwrap();
            other.check().unwrap();
        }
        assert_eq!(only(&home).len, 60);
        for &entity in &all {
            let n = *home.get::<u32>(entity).unwrap();
            assert_eq!(home.get::<Name>(entity).unwrap().0, n.to_string());
        }
    }

    #[test]
    fn a_world_and_its_copy_from_a_file_are_compacted_alike() {
        let mut world = World::new();
        world.registry().register_plain::<u32>().unwrap();
        let least = {
            world.create((0_u32,)).unwrap();
            used(&world).least_capacity
        };
        let more = (1..least + 100).map(|n| (n,));
        let _ = world.create_batch(more).unwrap();
        // So few are left in the first chunk that it would be folded, if it came new.
        let first: Vec<Entity> = used(&world).chunks[0].entities().to_vec();
        let stay = used(&world).fold_rows as usize - 10;
        for &entity in &first[stay..] {
            world.destroy(entity).unwrap();
        }
        let bytes = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        let universe = Universe::new();
        universe.registry().register_plain::<u32>().unwrap();
        let mut copy = World::from_snapshot(&bytes, universe, &Default::default()).unwrap();
        assert!(used(&copy).chunks[0].is_folded() && !used(&world).chunks[0].is_folded());
        for world in [&mut world, &mut copy] {
            assert!(world.compact(Budget::Unlimited).is_done);
            world.check().unwrap();
        }
        let rows = |world: &World| -> Vec<(Entity, u32)> {
            let mut all = world.read::<(Entity, &u32), ()>().unwrap();
            all.iter().map(|(entity, &n)| (entity, n)).collect()
        };
        assert_eq!(only(&world).len, only(&copy).len);
        assert_eq!(rows(&world), rows(&copy));
    }

    #[test]
    fn values_too_large_or_aligned_too_far_are_not_folded() {
        let mut world = World::new();
        world.create((Aligned(1),)).unwrap();
        world.create((Huge([2; 3_000]),)).unwrap();
        world.check().unwrap();
        let mut used = world.archetypes.iter().filter(|data| data.entities > 0);
        assert!(used.all(|data| data.fold_rows == 0 && !data.chunks[0].is_folded()));
    }

    #[test]
    fn folded_chunks_lie_in_one_page_and_begin_at_many_lines() {
        let mut lines = [0; PAGE / LINE];
        let mut pages = [0; PAGES];
        for number in 0..1_000 {
            let here = start(Run::single(number));
            assert!(here + BYTES <= CHUNK_BYTES && here.is_multiple_of(LINE));
            assert_eq!(here / PAGE, (here + BYTES - 1) / PAGE, "in one page");
            lines[here % PAGE / LINE] += 1;
            pages[here / PAGE] += 1;
        }
        assert!(
            lines[..STEPS].iter().all(|count| (25..35).contains(count)),
            "{lines:?}"
        );
        assert!(
            pages.iter().all(|count| (245..255).contains(count)),
            "{pages:?}"
        );
    }

    /// Of tables of addresses: sets, and what chooses one.
    #[test]
    fn nearly_all_of_1000_folded_chunks_fit_a_table_of_2048_addresses_however_its_sets_are_chosen()
    {
        type SetOf = fn(usize) -> usize;
        let tables: [(usize, SetOf); 5] = [
            (128, |page| page % 128),
            (128, |page| (page ^ page >> 7) % 128),
            (256, |page| page % 256),
            (256, |page| (page ^ page >> 8) % 256),
            (512, |page| (page ^ page >> 9) % 512),
        ];
        for (sets, set_of) in tables {
            for stride in [1, 2, 3] {
                let mut held = vec![0; sets];
                for number in 0..1_000 {
                    let run = Run::single(number * stride);
                    let page = run.first() as usize * PAGES + start(run) / PAGE;
                    held[set_of(page)] += 1;
                }
                let over: usize = held
                    .iter()
                    .map(|&held: &usize| held.saturating_sub(2_048 / sets))
                    .sum();
                assert!(
                    over < 1_000 / 16,
                    "{sets} sets, of {stride} chunks one: {over} have no place"
                );
            }
        }
    }
}
