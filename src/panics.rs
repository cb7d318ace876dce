//! Panics of users' `drop`s in the middle of a change: kept until the change is done.

use core::any::Any;
use core::fmt::Display;
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

/// Goes on with a panic that was kept where something ends, unless another is under way: a second
/// would end the program.
#[inline]
pub(crate) fn resume_alone(panicked: Panicked) {
    if std::thread::panicking() {
        forget(panicked);
    } else {
        resume(panicked);
    }
}

/// Drops each of `all`, however many panic; keeps the first panic. (A list that is dropped as a whole goes on after one
/// panic, and ends the program at a second; a map loses the others at the first.)
pub(crate) fn end_all<T>(panicked: &mut Panicked, all: impl IntoIterator<Item = T>) {
    for one in all {
        note(panicked, || drop(one));
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

/// Ends what a call was given and did not use, before it says why. (At the end of the call a `drop` that panics
/// would leak the error, which is on its way out already: rust-lang/rust#47949.)
// What does not depend on the types is compiled once: there is one of these for each bundle and each call.
#[cold]
#[inline(never)]
pub(crate) fn refused<T, E>(given: T, error: E) -> E {
    let mut given = Some(given);
    if let Some(panic) = caught(&mut || drop(given.take())) {
        drop(error);
        resume_unwind(panic);
    }
    error
}

/// What `work` panics with. Compiled once, for what is done seldom.
#[cold]
#[inline(never)]
fn caught(work: &mut dyn FnMut()) -> Panicked {
    let mut panicked = None;
    note(&mut panicked, work);
    panicked
}

/// Ends what a call was given, before what has come of it is on its way: see [`refused`].
#[inline(always)]
pub(crate) fn after<T, R>(given: T, result: R) -> R {
    drop(given);
    result
}

/// Lets a panic go in the middle of a change. What it carries is a user's value, whose `drop` may panic, too: what that
/// carries is never dropped.
#[inline]
pub(crate) fn forget(panicked: Panicked) {
    if let Some(panic) = panicked
        && let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic)))
    {
        core::mem::forget(again);
    }
}

/// What a panic says, if that is a text.
pub(crate) fn said(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

/// Lets the panic of a `drop`, if there was one, go in the middle of a change, where there is nobody to give it to, and tells
/// who listens what was dropped, in which world, if it is of one, and what the panic says.
#[inline]
pub(crate) fn end_here(panicked: Panicked, dropped: &str, world: Option<&dyn Display>) {
    if panicked.is_some() {
        tell_of_end(panicked, dropped, world);
    }
}

#[cold]
fn tell_of_end(panicked: Panicked, dropped: &str, world: Option<&dyn Display>) {
    let text = panicked.as_deref().and_then(said).map(str::to_owned);
    forget(panicked);
    tell(|| {
        tracing::error!(
            name: "drop_panicked",
            target: "megachunk::world",
            world = world.map(tracing::field::display),
            dropped,
            error = text.as_deref().unwrap_or("no text"),
            "a drop panicked; the panic ends here"
        );
    });
}

/// Tells who listens, in the middle of a change or in a `drop`, where there is nobody to give a panic of theirs to.
#[cold]
pub(crate) fn tell(say: impl FnOnce()) {
    let mut panicked = None;
    note(&mut panicked, say);
    forget(panicked);
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    struct Burns;

    impl Drop for Burns {
        fn drop(&mut self) {
            resume_unwind(Box::new("burnt"));
        }
    }

    struct Counts<'a>(&'a Cell<u32>);

    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn an_error_is_dropped_if_what_was_given_panics() {
        let drops = Cell::new(0);
        let call = || -> Result<(), Counts<'_>> { Err(refused(Burns, Counts(&drops))) };
        let panic = catch_unwind(AssertUnwindSafe(|| drop(call()))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"burnt"));
        assert_eq!(drops.get(), 1);
        drop(refused((), Counts(&drops)));
        assert_eq!(drops.get(), 2);
    }

    #[test]
    fn what_a_panic_carries_is_dropped_when_it_is_let_go_and_may_panic() {
        static DROPS: AtomicU32 = AtomicU32::new(0);

        struct Carried(bool);
        /// Nothing is lost with it: it takes no memory.
        struct Again;

        impl Drop for Carried {
            fn drop(&mut self) {
                DROPS.fetch_add(1, Ordering::Relaxed);
                if self.0 {
                    resume_unwind(Box::new(Again));
                }
            }
        }

        impl Drop for Again {
            fn drop(&mut self) {
                DROPS.fetch_add(1, Ordering::Relaxed);
                resume_unwind(Box::new(Self));
            }
        }

        for panics in [false, true] {
            DROPS.store(0, Ordering::Relaxed);
            let mut panicked = None;
            note(&mut panicked, || resume_unwind(Box::new(Carried(panics))));
            forget(panicked);
            assert_eq!(DROPS.load(Ordering::Relaxed), 1);
        }
    }
}
