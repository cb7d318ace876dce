//! Panics of users' `drop`s in the middle of a change: kept until the change is done.

use core::any::Any;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};

/// What a value's `drop` panicked with, the first time.
pub(crate) type Panicked = Option<Box<dyn Any + Send>>;

/// Runs `drop`; keeps the first panic.
#[inline(always)]
pub(crate) fn note(panicked: &mut Panicked, drop: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(drop)) {
        panicked.get_or_insert(panic);
    }
}

/// Goes on with a panic that was kept.
#[inline(always)]
pub(crate) fn resume(panicked: Panicked) {
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
}

/// The first of two panics.
pub(crate) fn first(a: Panicked, b: Panicked) -> Panicked {
    a.or(b)
}
