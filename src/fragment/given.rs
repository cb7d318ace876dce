//! `Given`: a bundle that a call has, as long as users' code may panic beside it, or the call may be refused.
//!
//! Tuples and structs bear one `drop` that panics; a second one, while the rest of them is dropped, ends the program. A
//! bundle has several values of users, which nobody but the call can end.

use core::ops::{Deref, DerefMut};

use crate::fragment::Bundle;
use crate::panics::{refused, resume_alone};

/// A bundle whose values are dropped one by one, however many panic, unless it is [taken](Self::take) before; then it goes
/// on with the first panic, unless another is under way.
#[derive(Debug)]
pub(crate) struct Given<B: Bundle>(Option<B>);

impl<B: Bundle> Given<B> {
    pub(crate) const fn new(bundle: B) -> Self {
        Self(Some(bundle))
    }

    /// The bundle, for who moves its values to where they belong; once.
    pub(crate) fn take(&mut self) -> Option<B> {
        self.0.take()
    }

    /// The same, of one that nobody has taken.
    pub(crate) fn into_bundle(mut self) -> B {
        match self.take() {
            Some(bundle) => bundle,
            None => unreachable!("a bundle is taken once"),
        }
    }
}

impl<B: Bundle> Deref for Given<B> {
    type Target = B;

    fn deref(&self) -> &B {
        match &self.0 {
            Some(bundle) => bundle,
            None => unreachable!("a bundle is taken once"),
        }
    }
}

impl<B: Bundle> DerefMut for Given<B> {
    fn deref_mut(&mut self) -> &mut B {
        match &mut self.0 {
            Some(bundle) => bundle,
            None => unreachable!("a bundle is taken once"),
        }
    }
}

impl<B: Bundle> Drop for Given<B> {
    fn drop(&mut self) {
        if let Some(bundle) = self.take()
            && core::mem::needs_drop::<B>()
        {
            let mut panicked = None;
            bundle.end_each(&mut panicked);
            resume_alone(panicked);
        }
    }
}

/// [`refused`], of a bundle: each of its values ends by itself.
// A bundle that is nothing to end is not passed on: it goes to its columns by way of registers, not of memory.
#[inline(always)]
pub(crate) fn refused_bundle<B: Bundle, E>(bundle: B, error: E) -> E {
    if core::mem::needs_drop::<B>() {
        refused_given(bundle, error)
    } else {
        refused((), error)
    }
}

#[cold]
#[inline(never)]
fn refused_given<B: Bundle, E>(bundle: B, error: E) -> E {
    refused(Given::new(bundle), error)
}
