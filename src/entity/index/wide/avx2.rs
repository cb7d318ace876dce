//! Four slot words at a time. Why that is sound: see the room's `mod.rs`.

use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256,
    _mm256_andnot_si256, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi32,
    _mm256_cvtepu32_epi64, _mm256_loadu_si256, _mm256_max_epu32, _mm256_movemask_epi8,
    _mm256_movemask_ps, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_permute4x64_epi64,
    _mm256_set_epi64x, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_setzero_si256, _mm256_shuffle_ps, _mm256_slli_epi32, _mm256_slli_epi64,
    _mm256_storeu_si256, _mm256_sub_epi64,
};

use super::lanes::Lanes;
use super::{Core, Entity, Expected, GROUP_SLOTS, MaybeUninit, Place, Seen, probe, run, slot};

/// Four slot words. See `mod.rs`.
///
/// # Safety
/// The four words exist.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(words: *const u64) -> __m256i {
    probe::step();
    let loaded;
    // SAFETY: the caller's; see `mod.rs` for the access.
    unsafe {
        asm!(
            "vmovdqu {loaded}, [{words}]",
            loaded = out(ymm_reg) loaded,
            words = in(reg) words,
            options(nostack, preserves_flags, readonly),
        );
    }
    loaded
}

/// Four slot words, 32-byte aligned. See `mod.rs`.
///
/// # Safety
/// The four words exist, are aligned, and are claimed by the caller.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(words: *mut u64, value: __m256i) {
    probe::store(words.cast());
    // SAFETY: the caller's; see `mod.rs` for the access.
    unsafe {
        asm!(
            "vmovdqa [{words}], {value}",
            words = in(reg) words,
            value = in(ymm_reg) value,
            options(nostack, preserves_flags),
        );
    }
}

/// See [`super::create_run`].
#[target_feature(enable = "avx2")]
pub(super) fn create_run(
    core: &Core,
    first: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) {
    if !run::is_whole::<__m256i>(first, out) {
        return create_ragged(core, first, out, place);
    }
    // SAFETY: the processor has AVX2, or this could not be called; just asked; callers have claimed the run's slots.
    unsafe { run::create_whole::<__m256i>(core, first, out, place) }
}

/// [`create_run`], out of the way: most runs are of whole words.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn create_ragged(core: &Core, first: u32, out: &mut [MaybeUninit<Entity>], place: Option<Place>) {
    // SAFETY: as above.
    unsafe { run::create_ragged::<__m256i>(core, first, out, place) }
}

/// The upper half of one register and the lower half of the next are joined.
#[derive(Clone, Copy)]
pub(super) struct Halves;

impl Lanes for __m256i {
    const COUNT: usize = 4;

    type Joint = Halves;

    #[inline(always)]
    unsafe fn splat(word: i64) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm256_set1_epi64x(word) }
    }

    #[inline(always)]
    unsafe fn ramp(first: i64, step: i64) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm256_set_epi64x(first + 3 * step, first + 2 * step, first + step, first) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm256_add_epi64(self, other) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm256_or_si256(self, other) }
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
        unsafe { _mm256_storeu_si256(out.cast(), self) };
    }

    #[inline(always)]
    unsafe fn joint(before_border: usize) -> Option<Halves> {
        // As allocators give memory. For single handles it would take more instructions than it saves.
        (before_border == 2).then_some(Halves)
    }

    #[inline(always)]
    unsafe fn join(self, before: Self, _: Halves) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm256_permute2x128_si256::<0x21>(before, self) }
    }
}

/// See [`super::bury_group`].
#[target_feature(enable = "avx2")]
pub(super) fn bury_group(core: &Core, number: u32, versions: &Expected) {
    // SAFETY: callers pass groups that exist.
    let slots = unsafe { core.slot_words(number * GROUP_SLOTS) };
    for (at, versions) in versions.as_chunks::<4>().0.iter().enumerate() {
        // SAFETY: four versions to load; four slots of the group, which begins on a 128-byte
        // border, and which the caller has condemned and not passed on.
        unsafe {
            let versions = _mm256_cvtepu32_epi64(_mm_loadu_si128(versions.as_ptr().cast()));
            let dead = _mm256_add_epi64(versions, _mm256_set1_epi64x(1));
            let dead = _mm256_slli_epi64::<32>(dead);
            store(slots.add(4 * at), dead);
        }
    }
}

/// See [`super::bury_handles`].
#[target_feature(enable = "avx2")]
pub(super) fn bury_handles(core: &Core, handles: &[Entity; 16]) {
    // SAFETY: callers pass the handles of a group that exists.
    let slots = unsafe { core.slot_words(handles[0].index()) };
    let version = _mm256_set1_epi64x(!0 << 32);
    let one = _mm256_set1_epi64x(1 << 32);
    for (at, handles) in handles.as_chunks::<4>().0.iter().enumerate() {
        // SAFETY: as in `bury_group`; a handle is its index below and its version above.
        unsafe {
            let handles = _mm256_loadu_si256(handles.as_ptr().cast());
            let dead = _mm256_add_epi64(_mm256_and_si256(handles, version), one);
            store(slots.add(4 * at), dead);
        }
    }
}

/// See [`super::bury_owned`]; how many groups were buried.
#[target_feature(enable = "avx2")]
pub(super) fn bury_owned(core: &Core, groups: &[[Entity; 16]]) -> usize {
    let Some(&[first, ..]) = groups.first() else {
        return 0;
    };
    let first = first.index();
    if !first.is_multiple_of(GROUP_SLOTS) || !core.has_slot(first) {
        return 0;
    }
    let most = ((core.slots_there() - first) / GROUP_SLOTS) as usize;
    let groups = &groups[..groups.len().min(most)];
    // SAFETY: just checked.
    let mut slots = unsafe { core.slot_words(first) };
    // What a handle is without its version; and the highest version that is not near the last.
    let four = _mm256_set1_epi64x(4);
    let mut indices = _mm256_add_epi64(
        _mm256_set1_epi64x(i64::from(first)),
        _mm256_set_epi64x(3, 2, 1, 0),
    );
    let highest = _mm256_set1_epi64x(i64::from(slot::LAST_SKIPPING) << 32);
    let dead = _mm256_set1_epi64x(3 << 32);
    for (number, group) in groups.iter().enumerate() {
        let mut versions = [_mm256_setzero_si256(); 4];
        let mut most = _mm256_setzero_si256();
        for (versions, handles) in versions.iter_mut().zip(group.as_chunks::<4>().0) {
            // SAFETY: four handles, the index below and the version above.
            let handles = unsafe { _mm256_loadu_si256(handles.as_ptr().cast()) };
            // Nothing is left below where the index is the one that is expected.
            *versions = _mm256_sub_epi64(handles, indices);
            most = _mm256_max_epu32(most, *versions);
            indices = _mm256_add_epi64(indices, four);
        }
        // Above: no version is higher. Below, where `highest` is zero: no index is another.
        let sound = _mm256_cmpeq_epi32(_mm256_max_epu32(most, highest), highest);
        if _mm256_movemask_epi8(sound) != -1 {
            return number;
        }
        for (at, versions) in versions.into_iter().enumerate() {
            // SAFETY: the slots of a group, which begins on a 128-byte border, of entities that nobody else may
            // destroy or move: a version further on, and without a place.
            unsafe {
                let dead = _mm256_add_epi64(versions, dead);
                store(slots.add(4 * at), dead);
            }
        }
        slots = slots.wrapping_add(16);
    }
    groups.len()
}

/// The upper halves of eight 64-bit words, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn upper_halves(low: __m256i, high: __m256i) -> __m256i {
    let mixed = _mm256_shuffle_ps::<0xdd>(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(mixed))
}

/// The lower halves of eight 64-bit words, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn lower_halves(low: __m256i, high: __m256i) -> __m256i {
    let mixed = _mm256_shuffle_ps::<0x88>(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(mixed))
}

/// The top bits of eight 32-bit words.
#[inline]
#[target_feature(enable = "avx2")]
fn top_bits(words: __m256i) -> u64 {
    _mm256_movemask_ps(_mm256_castsi256_ps(words))
        .cast_unsigned()
        .into()
}

/// What eight slots hold against what is expected there.
#[inline]
#[target_feature(enable = "avx2")]
fn compare(versions: __m256i, expected: __m256i) -> Seen {
    Seen {
        wanted: !top_bits(_mm256_cmpeq_epi32(expected, _mm256_setzero_si256())) & 0xff,
        equal: top_bits(_mm256_cmpeq_epi32(versions, expected)),
        // Bit 1 of a version to the top.
        phases: top_bits(_mm256_slli_epi32::<30>(versions)),
        last: top_bits(_mm256_cmpeq_epi32(
            versions,
            _mm256_set1_epi32(super::slot::LAST_VERSION.cast_signed()),
        )),
    }
}

/// [`Seen`] in one register: 16 bits each.
#[inline(always)]
fn pack(low: &Seen, high: &Seen) -> u64 {
    let sixteen = |low: u64, high: u64| low | high << 8;
    sixteen(low.wanted, high.wanted)
        | sixteen(low.equal, high.equal) << 16
        | sixteen(low.phases, high.phases) << 32
        | sixteen(low.last, high.last) << 48
}

/// See [`super::look`]; from the lowest sixteen bits up.
#[target_feature(enable = "avx2")]
pub(super) fn look(core: &Core, number: u32, expected: &Expected) -> u64 {
    // SAFETY: callers pass groups that exist.
    let slots = unsafe { core.slot_words(number * GROUP_SLOTS) };
    let half = |at: usize| {
        // SAFETY: a group has 16 slots, and `expected` 16 versions.
        unsafe {
            let versions = upper_halves(load(slots.add(at)), load(slots.add(at + 4)));
            compare(
                versions,
                _mm256_loadu_si256(expected.as_ptr().add(at).cast()),
            )
        }
    };
    pack(&half(0), &half(8))
}

/// See [`super::look_at_groups`].
///
/// # Safety
/// The slots from the first handle's on exist.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn look_at_groups(core: &Core, groups: &[[Entity; 16]]) -> (usize, u64) {
    let first = groups[0][0].index();
    // SAFETY: the caller's.
    let slots = unsafe { core.slot_words(first) };
    let last = _mm256_set1_epi32(super::slot::LAST_VERSION.cast_signed());
    let mut indices = _mm256_add_epi32(
        _mm256_set1_epi32(first.cast_signed()),
        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
    );
    let mut phases = 0;
    for (number, group) in groups.iter().enumerate() {
        let mut good = _mm256_set1_epi32(-1);
        for half in 0..2 {
            let at = 16 * number + 8 * half;
            // SAFETY: a group has 16 slots, and 16 handles, four to a load.
            let (versions, low, high) = unsafe {
                let handles = group.as_ptr().add(8 * half).cast::<__m256i>();
                (
                    upper_halves(load(slots.add(at)), load(slots.add(at + 4))),
                    _mm256_loadu_si256(handles),
                    _mm256_loadu_si256(handles.add(1)),
                )
            };
            let same_index = _mm256_cmpeq_epi32(lower_halves(low, high), indices);
            let same_version = _mm256_cmpeq_epi32(upper_halves(low, high), versions);
            let is_last = _mm256_cmpeq_epi32(versions, last);
            good = _mm256_and_si256(good, _mm256_and_si256(same_index, same_version));
            good = _mm256_andnot_si256(is_last, good);
            // Bit 1 of a version to the top.
            phases |= top_bits(_mm256_slli_epi32::<30>(versions)) << at;
            indices = _mm256_add_epi32(indices, _mm256_set1_epi32(8));
        }
        if top_bits(good) != 0xff {
            return (number, phases);
        }
    }
    (groups.len(), phases)
}
