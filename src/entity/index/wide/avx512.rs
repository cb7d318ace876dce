//! A cache line of slot words at a time. Why that is sound: see the room's `mod.rs`.

use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_or_si512, _mm512_permutex2var_epi64, _mm512_set_epi64,
    _mm512_set1_epi64, _mm512_storeu_si512,
};

use super::lanes::Lanes;
use super::{Core, Entity, MaybeUninit, Place, probe, run};

/// See [`super::create_run`].
#[target_feature(enable = "avx512f")]
pub(super) fn create_run(
    core: &Core,
    first: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) {
    if !run::is_whole::<__m512i>(first, out) {
        return create_ragged(core, first, out, place);
    }
    // SAFETY: the processor has AVX-512, or this could not be called; just asked; callers have claimed the run's slots.
    unsafe { run::create_whole::<__m512i>(core, first, out, place) }
}

/// [`create_run`], out of the way: most runs are of whole words.
#[inline(never)]
#[target_feature(enable = "avx512f")]
fn create_ragged(core: &Core, first: u32, out: &mut [MaybeUninit<Entity>], place: Option<Place>) {
    // SAFETY: as above.
    unsafe { run::create_ragged::<__m512i>(core, first, out, place) }
}

impl Lanes for __m512i {
    const COUNT: usize = 8;

    /// Which of 16 handles, those of two registers, lie between two borders.
    type Joint = __m512i;

    #[inline(always)]
    unsafe fn splat(word: i64) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm512_set1_epi64(word) }
    }

    #[inline(always)]
    unsafe fn ramp(first: i64, step: i64) -> Self {
        let at = |lane: i64| first + lane * step;
        // SAFETY: the caller's.
        unsafe { _mm512_set_epi64(at(7), at(6), at(5), at(4), at(3), at(2), at(1), first) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm512_add_epi64(self, other) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm512_or_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Self {
        // SAFETY: the caller's.
        unsafe { load(words) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: the caller's.
        unsafe { store(words, self) }
    }

    #[inline(always)]
    unsafe fn store_handles(self, out: *mut Entity) {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_si512(out.cast(), self) };
    }

    #[inline(always)]
    unsafe fn joint(before_border: usize) -> Option<__m512i> {
        // SAFETY: the caller's.
        Some(unsafe { Self::ramp(before_border as i64, 1) })
    }

    #[inline(always)]
    unsafe fn join(self, before: Self, between_borders: __m512i) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm512_permutex2var_epi64(before, between_borders, self) }
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
