//! Runs of entities, a cache line of slot words at a time. Why that is sound: see the room's `mod.rs`.

use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_or_si512, _mm512_permutex2var_epi64, _mm512_set_epi64,
    _mm512_set1_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
};

use super::{Core, Entity, MaybeUninit, Place, create_singly, further, probe, steps};

/// See [`super::create_run`].
#[target_feature(enable = "avx512f")]
pub(super) fn create_run(
    core: &Core,
    first: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) {
    if first.is_multiple_of(8) && out.len().is_multiple_of(8) {
        // Most runs are of whole words.
        return create_eights(core, first, out.as_chunks_mut().0, place);
    }
    create_ragged(core, first, out, place);
}

/// Stores are of eight aligned slots: what comes before and behind these is done singly.
#[inline(never)]
#[target_feature(enable = "avx512f")]
fn create_ragged(core: &Core, first: u32, out: &mut [MaybeUninit<Entity>], place: Option<Place>) {
    let (head, out) = out.split_at_mut((first.wrapping_neg() % 8) as usize);
    create_singly(core, first, head, place);
    let (first, place) = (first + head.len() as u32, further(place, head.len()));
    let (eights, tail) = out.as_chunks_mut::<8>();
    let behind = 8 * eights.len();
    create_singly(core, first + behind as u32, tail, further(place, behind));
    create_eights(core, first, eights, place);
}

/// Makes the next entity in each slot of whole cache lines from `first` on.
#[inline]
#[target_feature(enable = "avx512f")]
fn create_eights(
    core: &Core,
    first: u32,
    eights: &mut [[MaybeUninit<Entity>; 8]],
    place: Option<Place>,
) {
    match place {
        None => Run::new(core, first, eights, place).make::<false>(eights.len()),
        Some(_) => Run::new(core, first, eights, place).make::<true>(eights.len()),
    }
}

/// Lines of slot words that are loaded before any of them is stored. (A load waits for a store before it that lies
/// as far behind the beginning of some other page, and large arrays begin alike.)
const AHEAD: usize = 4;

/// A run of entities while it is made: whole cache lines of slots, from the first on.
struct Run {
    /// The next line's slots.
    slots: *mut u64,
    /// Their indices.
    indices: __m512i,
    /// Their places, as the low halves of slot words.
    places: __m512i,
    /// How much less these are in the line behind.
    eight_places: __m512i,
    /// Where the next handles go.
    out: *mut Entity,
    /// How many of the first handles lie before the first border of cache lines.
    before_border: usize,
    /// The handles of the last line of slots, of which those behind a border may not be stored yet.
    last: __m512i,
    /// Which of 16 handles, those of two lines of slots, lie between two borders.
    between_borders: __m512i,
}

impl Run {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(
        core: &Core,
        first: u32,
        eights: &mut [[MaybeUninit<Entity>; 8]],
        place: Option<Place>,
    ) -> Self {
        let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
        let (lying, step) = steps(place);
        let out: *mut Entity = eights.as_mut_ptr().cast();
        // A handle is aligned to its size.
        let before_border = out.addr().wrapping_neg() % 64 / size_of::<Entity>();
        Self {
            // SAFETY: the run's slots exist; the first one, as callers pass a line at least.
            slots: unsafe { core.slot(first) }.as_ptr(),
            indices: _mm512_add_epi64(_mm512_set1_epi64(i64::from(first)), numbers),
            places: _mm512_set_epi64(
                lying - 7 * step,
                lying - 6 * step,
                lying - 5 * step,
                lying - 4 * step,
                lying - 3 * step,
                lying - 2 * step,
                lying - step,
                lying,
            ),
            eight_places: _mm512_set1_epi64(8 * step),
            out,
            before_border,
            last: numbers,
            between_borders: _mm512_add_epi64(_mm512_set1_epi64(before_border as i64), numbers),
        }
    }

    /// Makes the whole run, so many lines of slots; with places if they are `PLACED`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn make<const PLACED: bool>(mut self, lines: usize) {
        if self.before_border == 0 {
            // SAFETY: so many lines there are.
            return unsafe { self.make_lines::<PLACED, false>(lines) };
        }
        let Some(behind) = lines.checked_sub(1) else {
            return;
        };
        // Handles are stored as whole cache lines too: each is the end of those of one line of slots and the
        // beginning of the next. Only the first and the last eight are stored across a border, and some twice.
        //
        // SAFETY: the first line, and the others; in between `out` is at a border, and in the end the last eight
        // handles are still to be stored, as far as they lie behind one.
        unsafe {
            let last = self.out.add(8 * behind);
            let [versions] = self.make_slots::<1, PLACED>();
            self.last = self.handles(versions);
            store_handles(self.out, self.last);
            self.out = self.out.add(self.before_border);
            self.make_lines::<PLACED, true>(behind);
            store_handles(last, self.last);
        }
    }

    /// Makes the next `lines` lines, and stores all of their handles; or, if they are `SHIFTED`, those of the line
    /// before and theirs, from `out` on, but for as many as are less than a line.
    ///
    /// # Safety
    /// There are so many. If they are `SHIFTED`, `out` is so far before the end of the handles of the line before as
    /// `between_borders` says.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn make_lines<const PLACED: bool, const SHIFTED: bool>(&mut self, lines: usize) {
        for _ in 0..lines / AHEAD {
            // SAFETY: the caller's.
            unsafe { self.make_some::<AHEAD, PLACED, SHIFTED>() };
        }
        for _ in 0..lines % AHEAD {
            // SAFETY: the caller's.
            unsafe { self.make_some::<1, PLACED, SHIFTED>() };
        }
    }

    /// [`make_lines`](Self::make_lines), for `LINES` of them.
    ///
    /// # Safety
    /// As there.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn make_some<const LINES: usize, const PLACED: bool, const SHIFTED: bool>(&mut self) {
        // SAFETY: the caller's.
        for versions in unsafe { self.make_slots::<LINES, PLACED>() } {
            let handles = self.handles(versions);
            let line = if SHIFTED {
                _mm512_permutex2var_epi64(self.last, self.between_borders, handles)
            } else {
                handles
            };
            self.last = handles;
            // SAFETY: the caller's: so much further on are eight more.
            unsafe {
                store_handles(self.out, line);
                self.out = self.out.add(8);
            }
        }
    }

    /// The handles of the next line that has these versions above.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn handles(&mut self, versions: __m512i) -> __m512i {
        let handles = _mm512_or_si512(versions, self.indices);
        self.indices = _mm512_add_epi64(self.indices, _mm512_set1_epi64(8));
        handles
    }

    /// Makes the next entities in `LINES` lines of slots; their versions, above.
    ///
    /// # Safety
    /// So many there are.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn make_slots<const LINES: usize, const PLACED: bool>(&mut self) -> [__m512i; LINES] {
        let mut versions = [_mm512_set1_epi64(1 << 32); LINES];
        for (at, version) in versions.iter_mut().enumerate() {
            // Dead slots have an even version above and zero, no place, below.
            //
            // SAFETY: slots of the run, 64-byte aligned, since a table begins on a page.
            *version = _mm512_add_epi64(*version, unsafe { load(self.slots.add(8 * at)) });
        }
        for &version in &versions {
            let words = if PLACED {
                _mm512_or_si512(version, self.places)
            } else {
                version
            };
            // SAFETY: as above; the caller of the run has claimed them.
            unsafe {
                store(self.slots, words);
                self.slots = self.slots.add(8);
            }
            if PLACED {
                self.places = _mm512_sub_epi64(self.places, self.eight_places);
            }
        }
        versions
    }
}

/// Stores eight handles: the index in the low half, the version above.
///
/// # Safety
/// There is room for them.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store_handles(out: *mut Entity, handles: __m512i) {
    // SAFETY: the caller's.
    unsafe { _mm512_storeu_si512(out.cast(), handles) };
}

/// Eight slot words, 64-byte aligned. See `mod.rs`.
///
/// # Safety
/// The eight words exist, and are aligned.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load(words: *const u64) -> __m512i {
    probe::step();
    let loaded;
    // SAFETY: the caller's; see `mod.rs` for the access.
    unsafe {
        asm!(
            "vmovdqa64 {loaded}, [{words}]",
            loaded = out(zmm_reg) loaded,
            words = in(reg) words,
            options(nostack, preserves_flags, readonly),
        );
    }
    loaded
}

/// Eight slot words, 64-byte aligned. See `mod.rs`.
///
/// # Safety
/// The eight words exist, are aligned, and are claimed by the caller.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store(words: *mut u64, value: __m512i) {
    probe::store(words.cast());
    // SAFETY: the caller's; see `mod.rs` for the access.
    unsafe {
        asm!(
            "vmovdqa64 [{words}], {value}",
            words = in(reg) words,
            value = in(zmm_reg) value,
            options(nostack, preserves_flags),
        );
    }
}
