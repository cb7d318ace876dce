//! `Lone`: a value of users that ends by itself, whatever lies beside it.
//!
//! What consists of several parts of users has each in a lone: of fields, one `drop` that panics is
//! borne, and a second ends the program. Of lones the first panic goes on, and those of the others
//! are let go. Values of one type are a [`Pile`](crate::fragment::Pile).

use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};

use crate::panics::{note, resume_alone};

/// A value whose `drop` goes on with its panic, unless another is under way. (Not of the crate alone: parameters of
/// processors keep some. But nobody else can name it.)
#[derive(Clone, Debug)]
pub struct Lone<T>(ManuallyDrop<T>);

impl<T> Lone<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// The value, which somebody else ends.
    pub(crate) fn into_inner(self) -> T {
        let mut lone = ManuallyDrop::new(self);
        // SAFETY: it is taken once, and the lone does not end.
        unsafe { ManuallyDrop::take(&mut lone.0) }
    }
}

impl<T> Deref for Lone<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Lone<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for Lone<T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            let mut panicked = None;
            // SAFETY: it ends here, and nobody uses it afterwards.
            note(&mut panicked, || unsafe {
                ManuallyDrop::drop(&mut self.0);
            });
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
    fn all_fields_are_dropped_once_and_the_first_panic_goes_on() {
        let drops = AtomicU32::new(0);
        let fields = [0, 1, 2].map(|n| Lone::new(Burns(n, &drops)));
        let panic = catch_unwind(AssertUnwindSafe(|| drop(fields))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&0_u32));
        assert_eq!(drops.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_panic_that_is_under_way_goes_on() {
        let drops = AtomicU32::new(0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let _lone = Lone::new(Burns(0, &drops));
            resume_unwind(Box::new("the first"));
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"the first"));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }
}
