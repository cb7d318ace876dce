//! `Roster`: a list of things that many threads look up and add to, each thing once, none ever gone.
//!
//! State: a list of nodes, numbered from 0 on, the youngest in front. Operations, all on `&self`:
//! [`find`](Roster::find) and [`iter`](Roster::iter) walk it, wait-free;
//! [`find_or_add`](Roster::find_or_add) puts a node in front by a compare-and-swap, and looks at
//! what came meanwhile if somebody was quicker, lock-free.
//!
//! Invariant: of the things in the list no two are the same in the eyes of those who added them, and number
//! `n` is the n-th from the end. It holds because a node is put in front only of a list all of which was
//! looked through.
//!
//! Orderings: adding is a Release, walking begins with an Acquire: who finds a thing sees all of it. Adding
//! continues the release sequence of the nodes below.

use core::fmt;
use core::ptr;

use super::atomic::{AtomicPtr, Ordering};
use super::mutant;

/// A list that only grows.
pub struct Roster<T> {
    head: AtomicPtr<Node<T>>,
}

struct Node<T> {
    value: T,
    number: u32,
    /// Never changes once the node is in the list.
    next: *mut Node<T>,
}

// SAFETY: nodes are shared by all who have the list, and dropped with it, wherever that is.
unsafe impl<T: Send + Sync> Sync for Roster<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Send for Roster<T> {}

/// A node that is in no list: dropped with this.
struct Unlisted<T>(*mut Node<T>);

impl<T> Drop for Unlisted<T> {
    fn drop(&mut self) {
        // SAFETY: from `Box::into_raw`; who puts the node into a list forgets this.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl<T> Roster<T> {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self {
            head: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The youngest node, with the right to walk on from there.
    fn head(&self) -> *mut Node<T> {
        // Ordering: Acquire pairs with the Release in `find_or_add`.
        let order = mutant::ordering("roster_find_relaxed", Ordering::Acquire);
        self.head.load(order)
    }

    fn walk(&self, mut node: *mut Node<T>) -> impl Iterator<Item = &Node<T>> {
        core::iter::from_fn(move || {
            // SAFETY: nodes live as long as the list, and do not change.
            let found = unsafe { node.as_ref() }?;
            node = found.next;
            Some(found)
        })
    }

    /// The first thing for which `is` is true, from the youngest on, and its number. O(things), wait-free.
    pub fn find(&self, is: impl Fn(&T) -> bool) -> Option<(u32, &T)> {
        let mut nodes = self.walk(self.head());
        let found = nodes.find(|node| is(&node.value))?;
        Some((found.number, &found.value))
    }

    /// The same; the thing that `make` makes if there is none yet. Lock-free: if a thread begins anew, another
    /// has added something.
    ///
    /// # Errors
    /// What `make` refuses with.
    pub fn find_or_add<E>(
        &self,
        is: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<(u32, &T), E> {
        let mut head = self.head();
        let mut known = self.walk(head);
        if let Some(found) = known.find(|node| is(&node.value)) {
            return Ok((found.number, &found.value));
        }
        let node = Box::into_raw(Box::new(Node {
            value: make()?,
            number: 0,
            next: ptr::null_mut(),
        }));
        // Also if `is` panics.
        let unlisted = Unlisted(node);
        loop {
            // SAFETY: the node is this call's until it is in the list; `head` is in the list, or null.
            unsafe {
                (*node).number = head.as_ref().map_or(0, |head| head.number + 1);
                (*node).next = head;
            }
            // Ordering: Release publishes the node, Acquire shows those of others.
            let order = mutant::ordering("roster_add_relaxed", Ordering::AcqRel);
            match self
                .head
                .compare_exchange(head, node, order, Ordering::Acquire)
            {
                Ok(_) => {
                    core::mem::forget(unlisted);
                    // SAFETY: it is in the list, and lives as long as that.
                    let node = unsafe { &*node };
                    return Ok((node.number, &node.value));
                }
                Err(now) => {
                    let before = core::mem::replace(&mut head, now);
                    if mutant::active("roster_no_second_look") {
                        continue;
                    }
                    let youngest_only = mutant::active("roster_looks_at_youngest");
                    let mut new = self
                        .walk(head)
                        .take_while(|node| !ptr::eq(*node, before.cast_const()))
                        .take(if youngest_only { 1 } else { usize::MAX });
                    if let Some(found) = new.find(|node| is(&node.value)) {
                        drop(unlisted);
                        return Ok((found.number, &found.value));
                    }
                }
            }
        }
    }

    /// All that there is, from the youngest on; what is added meanwhile is not among it. Wait-free.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.walk(self.head()).map(|node| &node.value)
    }

    /// All that there is, to change, from the youngest on.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        // Ordering: Relaxed: `&mut` comes after everybody.
        let mut node = self.head.load(Ordering::Relaxed);
        core::iter::from_fn(move || {
            // SAFETY: nodes live as long as the list, which is this call's alone, and each is in it once.
            let found = unsafe { node.as_mut() }?;
            node = found.next;
            Some(&mut found.value)
        })
    }

    /// The thing with a number. O(things), wait-free.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&T> {
        let mut nodes = self.walk(self.head());
        Some(&nodes.find(|node| node.number == number)?.value)
    }

    /// How many there are. Wait-free.
    #[must_use]
    pub fn len(&self) -> usize {
        let mut nodes = self.walk(self.head());
        nodes.next().map_or(0, |node| node.number as usize + 1)
    }

    /// Whether there is none. Wait-free.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for Roster<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for Roster<T> {
    fn drop(&mut self) {
        /// Goes on with the others if the drop of one panics.
        struct Rest<T>(*mut Node<T>);

        impl<T> Drop for Rest<T> {
            fn drop(&mut self) {
                while !self.0.is_null() {
                    // SAFETY: from `Box::into_raw`; each node is in the list once, and nobody walks it any more.
                    let taken = unsafe { Box::from_raw(self.0) };
                    self.0 = taken.next;
                    let rest = Rest(self.0);
                    drop(taken);
                    core::mem::forget(rest);
                }
            }
        }

        // Ordering: Relaxed: `&mut` comes after everybody.
        drop(Rest(self.head.load(Ordering::Relaxed)));
    }
}

impl<T> fmt::Debug for Roster<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roster")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_was_made_is_dropped_if_the_second_look_panics() {
        let (roster, value) = (Roster::new(), Arc::new(2));
        let added = catch_unwind(AssertUnwindSafe(|| {
            let look = |known: &Arc<i32>| match **known {
                1 => resume_unwind(Box::new("seen")),
                _ => false,
            };
            let make = || {
                // Somebody is quicker.
                roster.find_or_add(|_| false, || Ok::<_, ()>(Arc::new(1)))?;
                Ok::<_, ()>(Arc::clone(&value))
            };
            let _ = roster.find_or_add(look, make);
        }));
        assert!(added.is_err());
        assert_eq!((roster.len(), Arc::strong_count(&value)), (1, 1));
    }
}
