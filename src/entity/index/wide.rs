//! Several slots at a time: making a run of entities, comparing a group's versions.
//!
//! The compiler never joins atomic accesses into wider ones, so on x86-64 with AVX2 they are
//! written by hand: the arithmetic as intrinsics, each access to a slot word as one instruction of
//! assembly. With AVX-512 runs of entities are made a cache line at a time.
//!
//! # Why that is sound
//! An ordinary Rust access would be a data race: while one thread makes entities in slots that it
//! has claimed, others may look at those slots (a stale handle) or try a compare-and-swap that names
//! an old version. Assembly is not bound to Rust's memory model but to the processor's:
//! * *Stores* of 16 bytes are aligned. Intel and AMD guarantee that `VMOVDQA` of 16 bytes is one atomic
//!   access on every processor with AVX, and stores are not reordered with older stores, so it does
//!   what two eight-byte `Release` stores do. *Stores* of 64 bytes are aligned too, but may be done in
//!   parts, in any order. No part splits an aligned word of eight bytes (the processor's unit of access;
//!   Java's virtual machine copies arrays of references by the same instruction), and each is younger
//!   than all that came before: eight `Release` stores of words that do not depend on each other.
//! * *Loads* are 32 or 64 bytes, which may be done in parts. Only the versions are used, aligned
//!   four-byte pieces, which no part splits; and loads are not reordered with older loads, so each piece
//!   is what an `Acquire` load would give. A version that changes meanwhile is caught by the
//!   compare-and-swap of the group word, as with single loads.
//!
//! To the compiler each is an opaque instruction that reads or writes any memory.

use core::mem::MaybeUninit;

use crate::entity::index::batch::further;
use crate::entity::index::core::Core;
use crate::entity::index::slot;
use crate::entity::{Entity, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::GROUP_SLOTS;
#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
use crate::sync::probe;

/// The versions that a call expects in the slots of a group; 0 where it expects nothing.
pub(crate) type Expected = [u32; GROUP_SLOTS as usize];

/// What a look at a group's slots found; bit `n` is lane `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Something was expected.
    pub(crate) wanted: u64,
    /// The slot has the version that was expected.
    pub(crate) equal: u64,
    /// The phase of the version in the slot.
    pub(crate) phases: u64,
    /// The version is the slot's last.
    pub(crate) last: u64,
}

/// How many slot words the processor can access at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// One.
    Single,
    /// Two or four: the wide paths may be taken.
    Wide,
    /// Eight, besides.
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    Line,
}

impl Width {
    /// What this processor can, unless a test asked for single accesses.
    pub(crate) fn available() -> Self {
        #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
        {
            use std::arch::is_x86_feature_detected;
            if probe::is_narrow() || !is_x86_feature_detected!("avx2") {
                return Self::Single;
            }
            // The first processors with AVX-512 slow down for a while when it is used; those that know
            // VBMI2 do not.
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vbmi2") {
                return Self::Line;
            }
            Self::Wide
        }
        // Models take the wide paths too, word by word.
        #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
        {
            if cfg!(loom) { Self::Wide } else { Self::Single }
        }
    }
}

/// Makes the next entity in each of `out.len()` slots from `first` on, all claimed by the caller
/// and all
/// of one span; with the place of the first one, if they have places: the others lie in the rows behind it.
/// Fetches what lies behind the run: batches usually go on there.
#[inline]
pub(crate) fn create_run(
    core: &Core,
    first: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.width() == Width::Line && out.len() >= 16 {
        // SAFETY: the width says that the processor has AVX-512.
        return unsafe { avx512::create_run(core, first, out, place) };
    } else if core.wide() && out.len() >= 4 {
        // SAFETY: the width says that the processor has AVX2.
        return unsafe { avx2::create_run(core, first, out, place) };
    }
    create_singly(core, first, out, place);
}

fn create_singly(core: &Core, first: u32, out: &mut [MaybeUninit<Entity>], place: Option<Place>) {
    for (at, entity) in out.iter_mut().enumerate() {
        // SAFETY: the run's slots exist.
        entity.write(unsafe { core.create_at(first + at as u32, further(place, at)) });
    }
}

/// Makes the slot words of a whole group even, whose entities with these versions the caller has
/// condemned.
#[inline]
pub(crate) fn bury_group(core: &Core, number: u32, versions: &Expected) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide() {
        // SAFETY: the width says that the processor has AVX2.
        return unsafe { avx2::bury_group(core, number, versions) };
    }
    for (lane, &version) in (0..).zip(versions) {
        core.bury(number * GROUP_SLOTS + lane, version);
    }
}

/// Makes the slot words of a whole group even, whose entities the caller has condemned, given by
/// their handles in order.
#[inline]
pub(crate) fn bury_handles(core: &Core, handles: &[Entity]) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide()
        && let Some(handles) = handles.first_chunk::<16>()
    {
        // SAFETY: the width says that the processor has AVX2.
        return unsafe { avx2::bury_handles(core, handles) };
    }
    for handle in handles {
        core.bury(handle.index(), handle.version());
    }
}

/// Compares the versions in the slots of group `number` with what is expected.
#[inline]
pub(crate) fn look(core: &Core, number: u32, expected: &Expected) -> Seen {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide() {
        // SAFETY: the width says that the processor has AVX2.
        return unsafe { avx2::look(core, number, expected) };
    }
    let mut seen = Seen::default();
    for (lane, &expected) in expected.iter().enumerate() {
        if expected != 0 {
            // SAFETY: callers pass groups that exist.
            let slot = unsafe { core.slot(number * GROUP_SLOTS + lane as u32) };
            // Ordering: Relaxed, as in `Core::kill`.
            let version = slot::version(slot.load(Ordering::Relaxed));
            seen.wanted |= 1 << lane;
            seen.equal |= u64::from(version == expected) << lane;
            seen.phases |= u64::from(version >> 1 & 1) << lane;
            seen.last |= u64::from(version == slot::LAST_VERSION) << lane;
        }
    }
    seen
}

/// Of the groups that `entities` are the handles of if they stand in order, beginning with a group's
/// first slot, at most four: how many at the beginning do, with their versions in the slots and none a
/// slot's last; and the versions' phases, bit `n` for slot `n`.
///
/// Says nothing about who is alive. Always none without the wide instructions.
#[inline]
pub(crate) fn look_at_groups(core: &Core, entities: &[Entity]) -> (usize, u64) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide() {
        let (groups, _) = entities.as_chunks::<16>();
        // SAFETY: the width says that the processor has AVX2; callers pass slots that exist.
        return unsafe { avx2::look_at_groups(core, groups) };
    }
    #[cfg(loom)]
    if core.wide() {
        return look_at_groups_singly(core, entities);
    }
    let _ = (core, entities);
    (0, 0)
}

/// [`look_at_groups`], slot by slot: what the wide instructions do, in steps that a model sees.
#[cfg(loom)]
fn look_at_groups_singly(core: &Core, entities: &[Entity]) -> (usize, u64) {
    let (mut groups, mut phases) = (0, 0);
    for group in entities.chunks_exact(GROUP_SLOTS as usize) {
        for (lane, entity) in (groups as u32 * GROUP_SLOTS..).zip(group) {
            if entity.index() != entities[0].index() + lane {
                return (groups, phases);
            }
            // SAFETY: callers pass slots that exist.
            let slot = unsafe { core.slot(entity.index()) };
            let version = slot::version(slot.load(Ordering::Relaxed));
            if version != entity.version() || version == slot::LAST_VERSION {
                return (groups, phases);
            }
            phases |= u64::from(version >> 1 & 1) << lane;
        }
        groups += 1;
    }
    (groups, phases)
}

/// What the low half of a slot word holds for the first place of a run, and how much less for each next one.
#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
fn steps(place: Option<Place>) -> (i64, i64) {
    (Place::encode(place).into(), place.is_some().into())
}

/// How far ahead of a run memory is fetched, in bytes.
#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
const DISTANCE: usize = 1024;

/// Fetches a cache line for writing, if it is memory. (As an instruction: the intrinsic is one for reading
/// unless the whole crate is built for processors that have this one, as all with AVX2 do.)
#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
#[inline(always)]
fn fetch(line: *const u8) {
    // SAFETY: a hint, which does not fault whatever the address.
    unsafe {
        core::arch::asm!(
            "prefetchw [{line}]",
            line = in(reg) line,
            options(nostack, preserves_flags, readonly),
        );
    }
}

#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
mod avx512 {
    use core::arch::asm;
    use core::arch::x86_64::{
        __m512i, _mm512_add_epi64, _mm512_or_si512, _mm512_set_epi64, _mm512_set1_epi64,
        _mm512_storeu_si512, _mm512_sub_epi64,
    };

    use super::{
        Core, DISTANCE, Entity, MaybeUninit, Place, create_singly, fetch, further, probe, steps,
    };

    /// See [`super::create_run`].
    #[target_feature(enable = "avx512f")]
    pub(super) fn create_run(
        core: &Core,
        first: u32,
        out: &mut [MaybeUninit<Entity>],
        place: Option<Place>,
    ) {
        // Stores are of eight aligned slots: what comes before and behind these is done singly.
        let (head, out) = out.split_at_mut((first.wrapping_neg() % 8) as usize);
        create_singly(core, first, head, place);
        let (first, place) = (first + head.len() as u32, further(place, head.len()));
        let (eights, tail) = out.as_chunks_mut::<8>();
        let behind = 8 * eights.len();
        create_singly(core, first + behind as u32, tail, further(place, behind));
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
            // Both are written once and in order, by this call or the next one; the processor's own
            // prefetcher stops at each page and fetches for reading.
            fetch(slots.wrapping_byte_add(DISTANCE).cast());
            fetch(ids.as_ptr().wrapping_byte_add(DISTANCE).cast());
            // SAFETY: eight slots of the run from here on, 64-byte aligned, since a table begins on a
            // page; the caller has claimed them all; and `ids` has room for eight handles: the index in
            // the low half, the version above.
            unsafe {
                // Dead slots have an even version above and zero, no place, below.
                let next = _mm512_add_epi64(load(slots), one);
                store(slots, _mm512_or_si512(next, places));
                _mm512_storeu_si512(ids.as_mut_ptr().cast(), _mm512_or_si512(next, indices));
                slots = slots.add(8);
            }
            indices = _mm512_add_epi64(indices, eight);
            places = _mm512_sub_epi64(places, steps);
        }
    }

    /// Eight slot words, 64-byte aligned. See the file's head.
    ///
    /// # Safety
    /// The eight words exist, and are aligned.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(words: *const u64) -> __m512i {
        probe::step();
        let loaded;
        // SAFETY: the caller's; see the file's head for the access.
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

    /// Eight slot words, 64-byte aligned. See the file's head.
    ///
    /// # Safety
    /// The eight words exist, are aligned, and are claimed by the caller.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(words: *mut u64, value: __m512i) {
        probe::store(words.cast());
        // SAFETY: the caller's; see the file's head for the access.
        unsafe {
            asm!(
                "vmovdqa64 [{words}], {value}",
                words = in(reg) words,
                value = in(zmm_reg) value,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
mod avx2 {
    use core::arch::asm;
    use core::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256,
        _mm256_andnot_si256, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_castsi256_si128,
        _mm256_cmpeq_epi32, _mm256_cvtepu32_epi64, _mm256_extracti128_si256, _mm256_loadu_si256,
        _mm256_movemask_ps, _mm256_or_si256, _mm256_permute4x64_epi64, _mm256_set_epi64x,
        _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_setzero_si256,
        _mm256_shuffle_ps, _mm256_slli_epi32, _mm256_slli_epi64, _mm256_storeu_si256,
        _mm256_sub_epi64,
    };

    use super::{
        Core, DISTANCE, Entity, Expected, GROUP_SLOTS, MaybeUninit, Place, Seen, create_singly,
        fetch, further, probe, steps,
    };

    /// Four slot words. See the file's head.
    ///
    /// # Safety
    /// The four words exist.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(words: *const u64) -> __m256i {
        probe::step();
        let loaded;
        // SAFETY: the caller's; see the file's head for the access.
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

    /// Two slot words, 16-byte aligned. See the file's head.
    ///
    /// # Safety
    /// The two words exist, are aligned, and are claimed by the caller.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(words: *mut u64, value: __m128i) {
        probe::store(words.cast());
        // SAFETY: the caller's; see the file's head for the access.
        unsafe {
            asm!(
                "vmovdqa [{words}], {value}",
                words = in(reg) words,
                value = in(xmm_reg) value,
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
        // Stores are of two aligned slots: an odd one at the start is done singly, and so is what
        // four do not divide at the end.
        let (head, out) = out.split_at_mut((first & 1) as usize);
        create_singly(core, first, head, place);
        let (first, place) = (first + head.len() as u32, further(place, head.len()));
        let (fours, tail) = out.as_chunks_mut::<4>();
        let behind = 4 * fours.len();
        create_singly(core, first + behind as u32, tail, further(place, behind));
        if fours.is_empty() {
            return;
        }
        // SAFETY: the run's slots exist.
        let mut slots = unsafe { core.slot(first) }.as_ptr();
        let one = _mm256_set1_epi64x(1 << 32);
        let four = _mm256_set1_epi64x(4);
        let index = i64::from(first);
        let mut indices = _mm256_set_epi64x(index + 3, index + 2, index + 1, index);
        let (lying, step) = steps(place);
        let mut places = _mm256_set_epi64x(lying - 3 * step, lying - 2 * step, lying - step, lying);
        let steps = _mm256_set1_epi64x(4 * step);
        for ids in fours {
            // Both are written once and in order, by this call or the next one; the processor's own
            // prefetcher stops at each page and fetches for reading.
            fetch(slots.wrapping_byte_add(DISTANCE).cast());
            fetch(ids.as_ptr().wrapping_byte_add(DISTANCE).cast());
            // SAFETY: four slots of the run from here on; `first` is even, and a table begins on a
            // page, so every second slot is 16-byte aligned; the caller has claimed them all; and
            // `ids` has room for four handles: the index in the low half, the version above.
            unsafe {
                // Dead slots have an even version above and zero, no place, below.
                let next = _mm256_add_epi64(load(slots), one);
                let words = _mm256_or_si256(next, places);
                store(slots, _mm256_castsi256_si128(words));
                store(slots.add(2), _mm256_extracti128_si256(words, 1));
                _mm256_storeu_si256(ids.as_mut_ptr().cast(), _mm256_or_si256(next, indices));
                slots = slots.add(4);
            }
            indices = _mm256_add_epi64(indices, four);
            places = _mm256_sub_epi64(places, steps);
        }
    }

    /// See [`super::bury_group`].
    #[target_feature(enable = "avx2")]
    pub(super) fn bury_group(core: &Core, number: u32, versions: &Expected) {
        // SAFETY: callers pass groups that exist.
        let slots = unsafe { core.slot(number * GROUP_SLOTS) }.as_ptr();
        for (at, versions) in versions.as_chunks::<4>().0.iter().enumerate() {
            // SAFETY: four versions to load; four slots of the group, which begins on a 16-byte
            // border, and which the caller has condemned and not passed on.
            unsafe {
                let versions = _mm256_cvtepu32_epi64(_mm_loadu_si128(versions.as_ptr().cast()));
                let dead = _mm256_add_epi64(versions, _mm256_set1_epi64x(1));
                let dead = _mm256_slli_epi64::<32>(dead);
                store(slots.add(4 * at), _mm256_castsi256_si128(dead));
                store(slots.add(4 * at + 2), _mm256_extracti128_si256(dead, 1));
            }
        }
    }

    /// See [`super::bury_handles`].
    #[target_feature(enable = "avx2")]
    pub(super) fn bury_handles(core: &Core, handles: &[Entity; 16]) {
        // SAFETY: callers pass the handles of a group that exists.
        let slots = unsafe { core.slot(handles[0].index()) }.as_ptr();
        let version = _mm256_set1_epi64x(!0 << 32);
        let one = _mm256_set1_epi64x(1 << 32);
        for (at, handles) in handles.as_chunks::<4>().0.iter().enumerate() {
            // SAFETY: as in `bury_group`; a handle is its index below and its version above.
            unsafe {
                let handles = _mm256_loadu_si256(handles.as_ptr().cast());
                let dead = _mm256_add_epi64(_mm256_and_si256(handles, version), one);
                store(slots.add(4 * at), _mm256_castsi256_si128(dead));
                store(slots.add(4 * at + 2), _mm256_extracti128_si256(dead, 1));
            }
        }
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

    #[inline]
    fn join(low: Seen, high: Seen) -> Seen {
        Seen {
            wanted: low.wanted | high.wanted << 8,
            equal: low.equal | high.equal << 8,
            phases: low.phases | high.phases << 8,
            last: low.last | high.last << 8,
        }
    }

    /// See [`super::look`].
    #[target_feature(enable = "avx2")]
    pub(super) fn look(core: &Core, number: u32, expected: &Expected) -> Seen {
        // SAFETY: callers pass groups that exist.
        let slots = unsafe { core.slot(number * GROUP_SLOTS) }.as_ptr();
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
        join(half(0), half(8))
    }

    /// See [`super::look_at_groups`].
    ///
    /// # Safety
    /// The slots from the first handle's on exist.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn look_at_groups(core: &Core, groups: &[[Entity; 16]]) -> (usize, u64) {
        let first = groups[0][0].index();
        // SAFETY: the caller's.
        let slots = unsafe { core.slot(first) }.as_ptr();
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
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::entity::index::batch::overwritten;
    use crate::entity::{EntityIndex, index::Shared};

    fn core(index: &EntityIndex) -> &Core {
        let shared: &Shared = &index.shared;
        &shared.core
    }

    /// Makes a run without places.
    fn make(core: &Core, first: u32, out: &mut [Entity]) {
        // SAFETY: runs write handles.
        create_run(core, first, unsafe { overwritten(out) }, None);
    }

    fn word(core: &Core, index: u32) -> u64 {
        assert!(index < crate::sync::geometry::SLOTS);
        // SAFETY: just checked.
        unsafe { core.slot(index) }.load(Ordering::Relaxed)
    }

    #[test]
    fn runs_of_every_length_and_start_give_the_next_versions() {
        let index = EntityIndex::new();
        let core = core(&index);
        let mut versions = [0_u32; 64];
        for len in 0..=40 {
            for first in 0..=(64 - len) {
                let mut out = vec![Entity::PLACEHOLDER; len];
                let place = Place::new(7, 2_000).filter(|_| len % 3 != 0);
                // SAFETY: runs write handles.
                create_run(core, first as u32, unsafe { overwritten(&mut out) }, place);
                for (at, entity) in out.into_iter().enumerate() {
                    let lane = first + at;
                    assert_eq!(entity.index() as usize, lane);
                    assert_eq!(entity.version(), versions[lane] + 1);
                    let lies = slot::pack(entity.version(), further(place, at));
                    assert_eq!(word(core, entity.index()), lies);
                    core.bury(entity.index(), entity.version());
                    versions[lane] += 2;
                }
            }
        }
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn runs_of_two_slots_and_of_lines_at_a_time_give_the_same() {
        if Width::available() < Width::Line {
            return;
        }
        let indices = [EntityIndex::new(), EntityIndex::new()];
        let [lines, twos] = indices.each_ref().map(core);
        for first in 0..16 {
            for len in 16..=80 {
                let mut out = [0; 2].map(|_| vec![Entity::PLACEHOLDER; len]);
                let place = Place::new(Place::CHUNKS - 1, 1_900).filter(|_| len % 2 == 0);
                // SAFETY: the processor has AVX-512, and so AVX2.
                unsafe {
                    let [out, other] = out.each_mut().map(|out| overwritten(out));
                    avx512::create_run(lines, first, out, place);
                    avx2::create_run(twos, first, other, place);
                }
                assert_eq!(out[0], out[1]);
                for entity in &out[0] {
                    let words = [lines, twos].map(|core| word(core, entity.index()));
                    assert_eq!(words[0], words[1]);
                    lines.bury(entity.index(), entity.version());
                    twos.bury(entity.index(), entity.version());
                }
            }
        }
    }

    #[test]
    fn whole_groups_are_buried_by_version_and_by_handle() {
        let index = EntityIndex::new();
        let core = core(&index);
        let mut group = [Entity::PLACEHOLDER; 16];
        let dead = |group: &[Entity; 16]| {
            group
                .iter()
                .all(|entity| word(core, entity.index()) == slot::dead(entity.version()))
        };
        make(core, 32, &mut group);
        bury_group(core, 2, &group.map(Entity::version));
        assert!(dead(&group));
        make(core, 32, &mut group);
        assert!(!dead(&group));
        bury_handles(core, &group);
        assert!(dead(&group));
    }

    #[test]
    fn wide_and_single_looks_see_the_same() {
        let index = EntityIndex::new();
        let core = core(&index);
        let mut group = [Entity::PLACEHOLDER; 16];
        for round in 0..5_u32 {
            for entity in &group[(round % 3) as usize..] {
                if *entity != Entity::PLACEHOLDER {
                    core.bury(entity.index(), entity.version());
                }
            }
            let out = &mut group[(round % 3) as usize..];
            // SAFETY: runs write handles.
            create_singly(core, round % 3, unsafe { overwritten(out) }, None);
            let mut expected = Expected::default();
            for (lane, entity) in group.iter().enumerate() {
                if round >> (lane % 3) & 1 == 1 {
                    expected[lane] = entity.version() + (lane as u32 & 4) / 2;
                }
            }
            let seen = look(core, 0, &expected);
            for (lane, &expected) in expected.iter().enumerate().filter(|(_, e)| **e != 0) {
                let version = slot::version(word(core, lane as u32));
                assert_eq!(seen.equal >> lane & 1 == 1, version == expected);
                assert_eq!(seen.phases >> lane & 1, u64::from(version >> 1 & 1));
                assert_eq!(seen.last >> lane & 1, 0);
            }
        }
    }

    #[test]
    fn whole_groups_are_recognized_only_in_order_and_before_their_last_versions() {
        let index = EntityIndex::new();
        let mut word = [Entity::PLACEHOLDER; 64];
        make(core(&index), 64, &mut word);
        core(&index).bury(67, 1);
        make(core(&index), 67, &mut word[3..4]);
        if Width::available() == Width::Single {
            return;
        }
        let look = |word: &[Entity]| look_at_groups(core(&index), word);
        assert_eq!(look(&word), (4, 1 << 3));
        assert_eq!(look(&word[16..48]), (2, 0));
        word.swap(33, 42);
        assert_eq!(look(&word).0, 2);
        word.swap(33, 42);
        let last = slot::pack(slot::LAST_VERSION, None);
        // SAFETY: slot 64 exists.
        unsafe { core(&index).slot(64) }.store(last, Ordering::Relaxed);
        word[0] = Entity::new(64, slot::LAST_VERSION).unwrap();
        assert_eq!(look(&word).0, 0);
    }
}
