//! `Chunk`: one chunk of an archetype, and what is known of it outside its memory.

use core::ptr::NonNull;

use crate::archetype::bits::{EnabledBits, set_bits};
use crate::archetype::directory::ROWS_PER_CHUNK;
use crate::archetype::fold::folded;
use crate::archetype::refit::{Refit, Refitting};
use crate::chunk::Run;
use crate::entity::Entity;
use crate::sync::atomic::{AtomicU32, Ordering};

/// Versions that a chunk keeps without a heap allocation.
const INLINE: usize = 4;

/// What few chunks need: behind one thin pointer, so that the record stays a cache line.
#[derive(Debug)]
struct More {
    /// Of further columns.
    versions: Box<[AtomicU32]>,
    /// Where the arrays are, if not where the archetype says.
    refit: Option<Refit>,
}
/// How a chunk's arrays are found. A byte with room for more: a list of chunks says with it, too,
/// that it is one of many, so that a walk over many small archetypes asks one question of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It is one of the archetype's shortest chunks: its arrays begin where the archetype says.
    Shortest,
    /// It is one of them, with few rows, for which its arrays lie closer together: see
    /// [`fold`](crate::archetype::fold).
    Folded,
    /// It is longer: offsets count several times.
    Longer,
    /// They do not lie where the archetype says: see [`Refit`].
    Refit,
}

/// "In no list of chunks that are filled next."
pub(crate) const NOT_OPEN: u32 = u32::MAX;
/// The same, and it stays so until it has been handed over.
const WITHHELD: u32 = NOT_OPEN - 1;

/// A chunk that was full is filled again when a 32nd of its rows is free: its capacity divided by 2 to the power of
/// this, one row at least.
///
/// If one were enough, entities that come and go all over many chunks would each open a chunk and close it again: two
/// changes of a list, which processors foresee badly where chunks are few; and a batch would come into as many chunks
/// as it has entities. Measured: `papers/measured.md`.
const SLACK: u32 = 5;

/// A chunk: handles and columns in its memory, counts and versions here. 64 bytes.
///
/// Must hold: rows below `len` have a handle and a value in every column; rows from there on hold none.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Chunk {
    pub(crate) base: NonNull<u8>,
    /// Entities in it.
    pub(crate) len: u32,
    /// Entities that it can hold.
    pub(crate) capacity: u32,
    /// It is so many times as long as the archetype's shortest chunks, and so is each of its arrays: all offsets
    /// count as many times. (Not its logarithm: walks over many small archetypes feel how long a shift takes.)
    pub(super) scale: u8,
    pub(super) form: Form,
    /// See [`opens_with`](Self::opens_with).
    pub(super) slack: u16,
    pub(crate) run: Run,
    /// Which combination of shared values it belongs to.
    pub(crate) group: u32,
    /// Where it stands in its group's list of chunks that are filled next, or [`NOT_OPEN`].
    pub(crate) open_at: u32,
    /// When entities last came, went or changed rows.
    pub(crate) order_version: u32,
    /// When entities last came: all their values were new then.
    pub(crate) filled_version: u32,
    /// When each column was last lent for writing.
    inline: [AtomicU32; INLINE],
    more: Option<Box<More>>,
}

// SAFETY: the memory is the chunk's own, and values in it are `Send + Sync`, whose fragments all are;
// who may touch it when is the affair of the world that owns the chunk.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// A chunk without entities, with `columns` columns, 2 to the power of `shift` times as long as the
    /// shortest ones, which hold `capacity` entities.
    pub(crate) fn new(
        base: NonNull<u8>,
        run: Run,
        group: u32,
        columns: usize,
        capacity: u32,
        shift: u32,
    ) -> Self {
        Self {
            base,
            len: 0,
            capacity: capacity << shift,
            scale: 1 << shift,
            form: Form::of(1 << shift),
            slack: 1,
            run,
            group,
            open_at: NOT_OPEN,
            order_version: 0,
            filled_version: 0,
            inline: [const { AtomicU32::new(0) }; INLINE],
            more: More::new(columns, 0, None),
        }
    }

    /// Where its arrays are, in registers, for calls that write to one after the other; `None` if it is folded, or
    /// refitted.
    #[inline(always)]
    pub(crate) fn arrays(&self) -> Option<Arrays> {
        let arrays = Arrays {
            base: self.base.as_ptr(),
            scale: self.scale,
        };
        matches!(self.form, Form::Shortest | Form::Longer).then_some(arrays)
    }

    /// The array that begins at `offset` in the shortest chunks of the archetype.
    #[inline(always)]
    pub(crate) fn array(&self, offset: u32) -> *mut u8 {
        match self.form {
            Form::Shortest => self.base.as_ptr().wrapping_add(offset as usize),
            Form::Folded => self.base.as_ptr().wrapping_add(folded(offset) as usize),
            Form::Longer => self.own_array(offset),
            Form::Refit => self.refit_array(offset),
        }
    }

    /// Whether it is one of the archetype's shortest chunks, folded or not.
    #[inline(always)]
    pub(crate) fn is_short(&self) -> bool {
        matches!(self.form, Form::Shortest | Form::Folded)
    }

    /// Whether it is [folded](crate::archetype::fold).
    #[inline(always)]
    pub(crate) fn is_folded(&self) -> bool {
        self.form == Form::Folded
    }

    /// Says whether it is folded, which is one of the shortest.
    pub(super) fn set_folded(&mut self, folded: bool) {
        self.form = match folded {
            true => Form::Folded,
            false => Form::Shortest,
        };
    }

    /// The array that begins at `offset`, where it is in chunks that are cut out for the archetype.
    #[inline(always)]
    pub(crate) fn own_array(&self, offset: u32) -> *mut u8 {
        self.base
            .as_ptr()
            .wrapping_add(self.own_offset(offset) as usize)
    }

    /// Where that array begins, in bytes: less than 1 MiB, for a run has no more than 64 chunks.
    #[inline(always)]
    pub(crate) fn own_offset(&self, offset: u32) -> u32 {
        offset * u32::from(self.scale)
    }

    #[cold]
    #[inline(never)]
    fn refit_array(&self, offset: u32) -> *mut u8 {
        let array = self.refit().and_then(|refit| refit.array(offset));
        array.unwrap_or(self.base.as_ptr())
    }

    /// Where the arrays are, if not where the archetype says.
    pub(crate) fn refit(&self) -> Option<&Refit> {
        self.more.as_ref()?.refit.as_ref()
    }

    /// Whether it is as long, and has as many rows, as chunks of an archetype whose shortest ones have these.
    pub(crate) fn is_cut_out_for(&self, run: u32, least_capacity: u32) -> bool {
        let scale = u32::from(self.scale);
        (self.run.len(), self.capacity) == (run * scale, least_capacity * scale)
    }

    /// Whether an address lies in its memory.
    pub(crate) fn holds(&self, address: NonNull<u8>) -> bool {
        let bytes = self.run.len() as usize * crate::chunk::CHUNK_BYTES;
        let distance = address.addr().get().wrapping_sub(self.base.addr().get());
        distance < bytes
    }

    /// Becomes another archetype's as it is; everything in it counts as new.
    pub(crate) fn refit_to(&mut self, refitting: Refitting, version: u32) {
        let before = self.more.take().and_then(|more| more.refit);
        let (refit, columns) = refitting.finish(before);
        self.form = match refit {
            Some(_) => Form::Refit,
            None => Form::of(self.scale),
        };
        self.more = More::new(columns, version, refit);
        self.begin_at(version);
    }

    /// Says when it is filled again, after it was full: with the first row that is free; or, in
    /// [archetypes](crate::archetype::Archetype) that are `loose`, with as many as [`SLACK`] says.
    pub(super) fn loosen(&mut self, loose: bool) {
        self.slack = if loose { slack(self.capacity) } else { 1 };
    }

    /// Whether it stands in its group's list of chunks that are filled next.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.open_at < WITHHELD
    }

    /// Keeps one that is in no list out of all lists, until it is [handed over](Self::hand_over).
    pub(crate) fn withhold(&mut self) {
        debug_assert!(!self.is_open());
        self.open_at = WITHHELD;
    }

    /// Ends what [`withhold`](Self::withhold) began.
    pub(crate) fn hand_over(&mut self) {
        // Once for a chunk, and what would follow is another's rows.
        assert!(self.open_at == WITHHELD, "it was withheld");
        self.open_at = NOT_OPEN;
    }

    /// Whether it has room, and yet is not filled next, nor withheld.
    pub(crate) fn is_ajar(&self) -> bool {
        self.open_at == NOT_OPEN && !self.is_full()
    }

    /// Whether it is filled again with so many rows, if it has been full.
    #[inline(always)]
    pub(crate) fn opens_with(&self, len: u32) -> bool {
        len + u32::from(self.slack) <= self.capacity
    }

    /// Whether, now that a row has left so many, it is filled again, if it was not; or is empty.
    #[inline(always)]
    pub(crate) fn opens_now(&self, len: u32) -> bool {
        len == 0 || len + u32::from(self.slack) == self.capacity
    }

    /// Whether it is full.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// The handles.
    #[inline(always)]
    pub(crate) fn handles(&self) -> *mut Entity {
        self.base.as_ptr().cast()
    }

    /// The handles of the entities in it.
    #[inline]
    pub(crate) fn entities(&self) -> &[Entity] {
        // SAFETY: rows below `len` have a handle; handles change only through `&mut` of the world.
        unsafe { core::slice::from_raw_parts(self.handles(), self.len as usize) }
    }

    #[inline]
    pub(crate) fn version_of(&self, column: usize) -> &AtomicU32 {
        match (self.inline.get(column), &self.more) {
            (Some(version), _) => version,
            (None, Some(more)) => &more.versions[column - INLINE],
            (None, None) => unreachable!("a chunk has a version for each column"),
        }
    }

    /// When a column was last lent for writing, or got new values.
    #[inline]
    pub(crate) fn version(&self, column: usize) -> u32 {
        // Ordering: Relaxed. Whoever runs beside the writer may see the old or the new version; later
        // readers are ordered by whatever ordered them after the writer.
        let written = self.version_of(column).load(Ordering::Relaxed);
        newer(written, self.filled_version)
    }

    /// Notes that a column is lent for writing.
    #[inline(always)]
    pub(crate) fn touch(&self, column: usize, version: u32) {
        match self.inline.get(column) {
            // Ordering: as in `version`.
            Some(own) => own.store(version, Ordering::Relaxed),
            None => self.touch_more(column, version),
        }
    }

    #[cold]
    #[inline(never)]
    fn touch_more(&self, column: usize, version: u32) {
        // Ordering: as in `version`.
        self.version_of(column).store(version, Ordering::Relaxed);
    }

    /// Sets all versions of a new chunk.
    pub(crate) fn begin_at(&mut self, version: u32) {
        self.update_versions(|_| version);
    }

    /// Moves versions up that will soon be too old to be compared.
    pub(crate) fn age(&mut self, now: u32) {
        let oldest = now.wrapping_sub(OLD);
        self.update_versions(|version| newer(version, oldest));
    }

    fn update_versions(&mut self, update: impl Fn(u32) -> u32) {
        self.order_version = update(self.order_version);
        self.filled_version = update(self.filled_version);
        // Ordering: Relaxed: nobody else has the chunk.
        let update = |own: &AtomicU32| {
            own.store(update(own.load(Ordering::Relaxed)), Ordering::Relaxed);
        };
        self.inline.iter().for_each(update);
        if let Some(more) = &self.more {
            more.versions.iter().for_each(update);
        }
    }

    /// How many of its run's 16 KiB chunks, the first ones, the places of its rows name.
    #[inline(always)]
    pub(crate) fn named(&self) -> u32 {
        self.capacity.div_ceil(ROWS_PER_CHUNK)
    }

    /// Notes that `count` rows behind the last have been filled, which are enabled by these bits.
    #[inline(always)]
    pub(crate) fn grow(&mut self, enabled: &[EnabledBits], count: u32, version: u32) {
        for bits in enabled {
            // SAFETY: rows of the chunk, which the caller has to itself.
            unsafe { set_bits(self.array(bits.offset), self.len, count) };
        }
        self.len += count;
        self.filled(version);
    }

    /// Notes that entities came.
    #[inline(always)]
    pub(crate) fn filled(&mut self, version: u32) {
        self.filled_version = version;
        self.order_version = version;
    }
}

/// How many rows leave a full chunk of this capacity before it is filled again.
fn slack(capacity: u32) -> u16 {
    u16::try_from(capacity >> SLACK).unwrap_or(u16::MAX).max(1)
}

impl Form {
    /// That of a chunk which is cut out for its archetype, so many times as long as the shortest.
    pub(super) fn of(scale: u8) -> Self {
        match scale {
            1 => Self::Shortest,
            _ => Self::Longer,
        }
    }
}

/// Where the arrays of a chunk are that is cut out for its archetype.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrays {
    base: *mut u8,
    scale: u8,
}

impl Arrays {
    /// Where the chunk begins, and how often each offset counts.
    #[inline(always)]
    pub(crate) fn parts(self) -> (*mut u8, u8) {
        (self.base, self.scale)
    }

    /// See [`Chunk::array`].
    #[inline(always)]
    pub(crate) fn at(self, offset: u32) -> *mut u8 {
        let offset = offset as usize * usize::from(self.scale);
        self.base.wrapping_add(offset)
    }
}

impl More {
    /// `None` if there is nothing to be kept.
    fn new(columns: usize, version: u32, refit: Option<Refit>) -> Option<Box<Self>> {
        let versions = (INLINE..columns).map(|_| AtomicU32::new(version));
        let more = Self {
            versions: versions.collect(),
            refit,
        };
        let is_needed = !more.versions.is_empty() || more.refit.is_some();
        is_needed.then(|| Box::new(more))
    }
}

/// Versions that a world makes between two times at which it [ages](Chunk::age) its chunks.
pub(crate) const AGING: u32 = 1 << 29;
/// How far behind its world's version a chunk's version is left when it ages.
const OLD: u32 = 1 << 30;
/// After so many versions that passed without its chunks ageing, queries that only read make no new ones.
pub(crate) const READ_ON: u32 = AGING + AGING / 4;
/// What no version of a chunk is behind its world's: before that it ages. Less than half the range, in which
/// versions can be compared.
pub(crate) const LONG_AGO: u32 = OLD + AGING + AGING / 2;

/// The later of two versions, which may wrap: of two that are less than half the range apart.
#[inline(always)]
pub(crate) const fn newer(a: u32, b: u32) -> u32 {
    if is_newer(a, b) { a } else { b }
}

/// Whether version `a` is later than `b`, across a wrap.
#[inline(always)]
pub(crate) const fn is_newer(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_record_is_one_cache_line() {
        assert_eq!(size_of::<Chunk>(), 64);
    }

    #[test]
    fn versions_are_compared_across_the_wrap() {
        assert!(is_newer(1, u32::MAX) && !is_newer(u32::MAX, 1) && !is_newer(5, 5));
        assert_eq!(newer(u32::MAX, 3), 3);
    }
}
