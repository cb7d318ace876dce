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
        *panicked = first(panicked.take(), Some(panic));
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
#[inline]
pub(crate) fn first(a: Panicked, b: Panicked) -> Panicked {
    match a {
        Some(_) => {
            forget(b);
            a
        }
        None => b,
    }
}

/// Lets a panic go in the middle of a change. What it carries is a user's value, whose `drop` may panic
/// too: it is never run. Text, as it mostly is, is dropped.
#[inline]
pub(crate) fn forget(panicked: Panicked) {
    if let Some(panic) = panicked
        && !panic.is::<String>()
        && !panic.is::<&'static str>()
    {
        core::mem::forget(panic);
    }
}
