//! `Fit`: whose an item is, and whether it is one for a thread that takes one.

use super::{ANYBODY, Node};
use crate::sync::atomic::Ordering;

/// Whether a time is earlier than another, of two that are not half of all numbers apart: they may
/// have begun anew.
#[inline(always)]
pub(in crate::sync) fn is_before(time: u64, other: u64) -> bool {
    time.wrapping_sub(other) > u64::MAX / 2
}

/// Whose an item is, for a thread that takes one in which nothing waits since before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Nothing waits in it.
    Anybodys,
    /// It is kept for the thread, since this time.
    Own(u64),
    /// It is kept for another one.
    Anothers,
    /// It was kept before: it is left to who takes all.
    Missed,
}

/// Whose an item is.
///
/// # Safety
/// The node is one of a pool that lives.
#[inline(always)]
pub(super) unsafe fn fit<T>(node: *mut Node<T>, thread: usize, since: u64) -> Fit {
    // SAFETY: the caller's.
    match unsafe { kept(node) } {
        None => Fit::Anybodys,
        Some((_, at)) if is_before(at, since) => Fit::Missed,
        Some((kept_for, at)) if kept_for == thread => Fit::Own(at),
        Some(_) => Fit::Anothers,
    }
}

/// For which thread an item is kept, and since when.
///
/// # Safety
/// The node is one of a pool that lives.
#[inline(always)]
pub(super) unsafe fn kept<T>(node: *mut Node<T>) -> Option<(usize, u64)> {
    // SAFETY: the caller's; who has the item uses another field of the node.
    let (kept_for, kept_at) = unsafe { (&(*node).kept_for, &(*node).kept_at) };
    // Ordering: Relaxed, twice: they are written before the item is given back, and read behind
    // that.
    let thread = kept_for.load(Ordering::Relaxed);
    (thread != ANYBODY).then(|| (thread, kept_at.load(Ordering::Relaxed)))
}
