//! Copies past the caches.

use crate::memory::LINE;

/// Copies whole lines without loading what was at the target, and without putting it into the caches: for memory that
/// is written once and is more than they hold. Half of the traffic of ordinary stores is loads of what they overwrite.
///
/// What was copied is for other threads to see after a [`Settled`] was dropped.
///
/// # Safety
/// `lines` lines to read and to write, which do not overlap; those to write begin at a multiple of [`LINE`].
#[inline(always)]
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, lines: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in 0..lines {
        // SAFETY: the caller's. Assembly, because what is copied may have bytes that were never written: padding.
        unsafe {
            core::arch::asm!(
                "movups {a}, [{from}]",
                "movups {b}, [{from} + 16]",
                "movups {c}, [{from} + 32]",
                "movups {d}, [{from} + 48]",
                "movntps [{to}], {a}",
                "movntps [{to} + 16], {b}",
                "movntps [{to} + 32], {c}",
                "movntps [{to} + 48], {d}",
                from = in(reg) from.add(line * LINE),
                to = in(reg) to.add(line * LINE),
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller's.
    unsafe {
        from.copy_to_nonoverlapping(to, lines * LINE);
    }
}

/// Dropped, it waits until all that this thread has streamed is written.
pub(crate) struct Settled;

impl Drop for Settled {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: every x86-64 has it.
        unsafe {
            core::arch::x86_64::_mm_sfence();
        }
    }
}
