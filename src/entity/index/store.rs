//! Making a run of entities in neighbouring claimed slots.
//!
//! Each slot gets one aligned eight-byte store, as in [`Core::create_at`]; the compiler never joins
//! atomic stores into wider ones, so on x86-64 with AVX they are written by hand, two at a time, in
//! assembly.
//!
//! Why that is sound. The slots are claimed, so no other thread *stores* there; but other threads
//! may *read* them (a stale handle is looked up), or try a compare-and-swap that names an old
//! version. An ordinary Rust store would be a data race with those. Assembly is not bound to Rust's
//! memory model but to the processor's: Intel and AMD guarantee that an aligned 16-byte `VMOVDQA` is
//! one atomic access on every processor with AVX, and that stores are not reordered with older
//! stores, so each of them does what two `Release` stores of eight bytes do. To the compiler, the
//! block is an opaque call that may touch any memory.

use crate::entity::Entity;
use crate::entity::index::core::Core;

/// Makes the next entity in each of `out.len()` slots from `first` on, all claimed by the caller
/// and all of one word.
#[inline]
pub(crate) fn create_run(core: &Core, first: u32, out: &mut [Entity]) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(feature = "probe"), not(miri)))]
    if out.len() >= 4 && std::arch::is_x86_feature_detected!("avx") {
        return pairs::create_run(core, first, out);
    }
    one_by_one(core, first, out);
}

fn one_by_one(core: &Core, first: u32, out: &mut [Entity]) {
    for (index, entity) in (first..).zip(out) {
        // SAFETY: the run's slots exist.
        *entity = unsafe { core.create_at(index) };
    }
}

#[cfg(all(target_arch = "x86_64", not(loom), not(feature = "probe"), not(miri)))]
mod pairs {
    use core::arch::asm;
    use core::arch::x86_64::{__m128i, _mm_set_epi64x, _mm_set1_epi64x};

    use super::{Core, Entity, one_by_one};

    /// See [`super::create_run`]. The processor has AVX.
    pub(super) fn create_run(core: &Core, first: u32, out: &mut [Entity]) {
        // Pairs are 16-byte aligned: an odd slot at either end is done singly.
        let (head, out) = out.split_at_mut((first & 1) as usize);
        one_by_one(core, first, head);
        let first = first + head.len() as u32;
        let (pairs, tail) = out.split_at_mut(out.len() & !1);
        one_by_one(core, first + pairs.len() as u32, tail);
        if pairs.is_empty() {
            return;
        }
        // SAFETY: the run's slots exist.
        let slots = unsafe { core.slot(first) }.as_ptr();
        let index = u64::from(first);
        // SAFETY: SSE2 is part of x86-64.
        let (mut ids, version_one, two): (__m128i, __m128i, __m128i) = unsafe {
            (
                _mm_set_epi64x((index + 1).cast_signed(), index.cast_signed()),
                _mm_set1_epi64x(1 << 32),
                _mm_set1_epi64x(2),
            )
        };
        // SAFETY: `slots` is 16-byte aligned, as `first` is even and the table begins on a page;
        // `pairs.len()` slots from there exist and are claimed by the caller; `pairs` is as long and
        // the caller's alone. See the file's head for the accesses. The shifts clear the low half
        // (the place); `+ 1 | 1` is the next version.
        unsafe {
            asm!(
                "2:",
                "vmovdqa {word}, [{slots} + {at}*8]",
                "vpsrlq {word}, {word}, 32",
                "vpsllq {word}, {word}, 32",
                "vpaddq {word}, {word}, {version_one}",
                "vpor {word}, {word}, {version_one}",
                "vmovdqa [{slots} + {at}*8], {word}",
                "vpor {word}, {word}, {ids}",
                "vmovdqu [{out} + {at}*8], {word}",
                "vpaddq {ids}, {ids}, {two}",
                "add {at}, 2",
                "cmp {at}, {len}",
                "jb 2b",
                slots = in(reg) slots,
                out = in(reg) pairs.as_mut_ptr(),
                len = in(reg) pairs.len(),
                at = inout(reg) 0_usize => _,
                word = out(xmm_reg) _,
                ids = inout(xmm_reg) ids,
                version_one = in(xmm_reg) version_one,
                two = in(xmm_reg) two,
                options(nostack),
            );
        }
        let _ = &mut ids;
    }
}
