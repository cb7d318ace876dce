//! `Pile`: values of users that end together, each by itself.
//!
//! What holds several of them has a pile where others would have a `Vec`: of that, one `drop` that
//! panics is borne, and a second ends the program; and so does the first, if the `Vec` ends because
//! something else has panicked.

use core::ops::{Deref, DerefMut};

use crate::panics::{end_all, resume_alone};

/// A `Vec` whose values are all dropped, however many panic; then it goes on with the first panic, unless another is
/// under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pile<T>(Vec<T>);

impl<T> Pile<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(crate) fn push(&mut self, value: T) {
        self.0.push(value);
    }

    /// The values, for who sees to it that no users' code runs until each is elsewhere, or ends them one by one.
    pub(crate) fn into_vec(mut self) -> Vec<T> {
        core::mem::take(&mut self.0)
    }
}

impl<T> Default for Pile<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for Pile<T> {
    type Target = Vec<T>;

    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Pile<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<'a, T> IntoIterator for &'a Pile<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T> From<Vec<T>> for Pile<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T> FromIterator<T> for Pile<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut pile = Self::new();
        // One by one: the iterator may be users' code.
        values.into_iter().for_each(|value| pile.push(value));
        pile
    }
}

impl<T> Drop for Pile<T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() && !self.0.is_empty() {
            let mut panicked = None;
            end_all(&mut panicked, self.0.drain(..));
            resume_alone(panicked);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::panic::AssertUnwindSafe;
    use std::panic::{catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    struct Burns<'a>(u32, &'a AtomicU32);

    impl Drop for Burns<'_> {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
            resume_unwind(Box::new(self.0));
        }
    }

    #[test]
    fn all_are_dropped_once_and_the_first_panic_goes_on() {
        let drops = AtomicU32::new(0);
        let pile: Pile<_> = (0..5).map(|n| Burns(n, &drops)).collect();
        let panic = catch_unwind(AssertUnwindSafe(|| drop(pile))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&0_u32));
        assert_eq!(drops.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn a_panic_that_is_under_way_goes_on() {
        let drops = AtomicU32::new(0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let _pile: Pile<_> = (0..5).map(|n| Burns(n, &drops)).collect();
            resume_unwind(Box::new("the first"));
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"the first"));
        assert_eq!(drops.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn what_an_iterator_has_made_is_dropped_when_it_panics() {
        let drops = AtomicU32::new(0);
        let panic = catch_unwind(AssertUnwindSafe(|| -> Pile<Burns<'_>> {
            let made = (0..5).map(|n| match n {
                3 => resume_unwind(Box::new("made enough")),
                n => Burns(n, &drops),
            });
            made.collect()
        }));
        assert!(panic.is_err());
        assert_eq!(drops.load(Ordering::Relaxed), 3);
    }
}
