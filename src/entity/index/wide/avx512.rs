//! Runs of entities, a cache line of slot words at a time. Why that is sound: see the room's `mod.rs`.

use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_or_si512, _mm512_set_epi64, _mm512_set1_epi64,
    _mm512_storeu_si512, _mm512_sub_epi64,
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
    // Stores are of eight aligned slots: what comes before and behind these is done singly.
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
        None => create_lines::<false>(core, first, eights, place),
        Some(_) => create_lines::<true>(core, first, eights, place),
    }
}

/// Makes the next entity in each slot of whole cache lines from `first` on; with places if they are `PLACED`.
#[inline]
#[target_feature(enable = "avx512f")]
fn create_lines<const PLACED: bool>(
    core: &Core,
    first: u32,
    eights: &mut [[MaybeUninit<Entity>; 8]],
    place: Option<Place>,
) {
    // SAFETY: the run's slots exist; the first one, as the run has at least 16.
    let mut slots = unsafe { core.slot(first) }.as_ptr();
    let one = _mm512_set1_epi64(1 << 32);
    let eight = _mm512_set1_epi64(8);
    let mut indices = _mm512_add_epi64(
        _mm512_set1_epi64(i64::from(first)),
        _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
    );
    let (lying, step) = steps(place);
    let mut places = _mm512_set_epi64(
        lying - 7 * step,
        lying - 6 * step,
        lying - 5 * step,
        lying - 4 * step,
        lying - 3 * step,
        lying - 2 * step,
        lying - step,
        lying,
    );
    let steps = _mm512_set1_epi64(8 * step);
    for ids in eights {
        // SAFETY: eight slots of the run from here on, 64-byte aligned, since a table begins on a
        // page; the caller has claimed them all; and `ids` has room for eight handles: the index in
        // the low half, the version above.
        unsafe {
            // Dead slots have an even version above and zero, no place, below.
            let next = _mm512_add_epi64(load(slots), one);
            let words = if PLACED {
                _mm512_or_si512(next, places)
            } else {
                next
            };
            store(slots, words);
            _mm512_storeu_si512(ids.as_mut_ptr().cast(), _mm512_or_si512(next, indices));
            slots = slots.add(8);
        }
        indices = _mm512_add_epi64(indices, eight);
        if PLACED {
            places = _mm512_sub_epi64(places, steps);
        }
    }
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
