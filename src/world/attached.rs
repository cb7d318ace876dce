//! `Attached`: what upper rooms keep with a world, one thing of each type, found without a lock.
//!
//! State: a list that only grows. Operations: [`get`](Attached::get) walks it,
//! [`get_or_attach`](Attached::get_or_attach) puts a new node in front by a compare-and-swap, and walks
//! again if somebody was quicker. Invariant: a type stands in the list once.

use core::any::Any;
use core::fmt;
use core::ptr;

use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::world::check::{Found, Held};

/// Something that stays with a world, and hears when the world ends.
pub(crate) trait Attachment: Any + Send + Sync {
    /// The world ends.
    fn world_ends(&self);

    /// Notes what is wrong with it; what it has of the universe.
    fn check(&self, found: &mut Found) -> Held;
}

struct Node {
    value: Box<dyn Attachment>,
    next: *mut Node,
}

/// The list.
pub(crate) struct Attached(AtomicPtr<Node>);

// SAFETY: nodes are shared, their values are `Send + Sync`, and `next` does not change once a node is in
// the list.
unsafe impl Send for Attached {}
// SAFETY: as above.
unsafe impl Sync for Attached {}

impl Attached {
    fn from(mut node: *mut Node) -> impl Iterator<Item = &'static Node> {
        core::iter::from_fn(move || {
            // SAFETY: nodes live as long as the list; callers shorten the lifetime to that.
            let found = unsafe { node.as_ref() }?;
            node = found.next;
            Some(found)
        })
    }

    fn find<T: Attachment>(&self, head: *mut Node) -> Option<&T> {
        let mut values = Self::from(head).map(|node| &*node.value as &dyn Any);
        values.find_map(<dyn Any>::downcast_ref)
    }

    /// What there is of a type. Wait-free, O(attachments).
    pub(crate) fn get<T: Attachment>(&self) -> Option<&T> {
        // Ordering: Acquire pairs with the Release in `get_or_attach`.
        self.find(self.0.load(Ordering::Acquire))
    }

    /// What there is of a type, to change. O(attachments).
    pub(crate) fn get_mut<T: Attachment>(&mut self) -> Option<&mut T> {
        // Ordering: Relaxed: `&mut` comes after everybody.
        let mut node = self.0.load(Ordering::Relaxed);
        while !node.is_null() {
            // SAFETY: nodes live as long as the list, and `&mut self` lends nothing else meanwhile.
            let Node { value, next } = unsafe { &mut *node };
            let value: &mut dyn Any = &mut **value;
            if let Some(found) = value.downcast_mut() {
                return Some(found);
            }
            node = *next;
        }
        None
    }

    /// What there is of a type, made if there is none. Lock-free.
    pub(crate) fn get_or_attach<T: Attachment>(&self, make: impl FnOnce() -> T) -> &T {
        let mut head = self.0.load(Ordering::Acquire);
        if let Some(found) = self.find(head) {
            return found;
        }
        let node = Box::into_raw(Box::new(Node {
            value: Box::new(make()),
            next: ptr::null_mut(),
        }));
        loop {
            // SAFETY: the node is this call's until it is in the list.
            unsafe { (*node).next = head };
            // Ordering: Release publishes the node, Acquire shows those of others.
            match self
                .0
                .compare_exchange(head, node, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => break,
                Err(now) => head = now,
            }
            if let Some(found) = self.find(head) {
                // SAFETY: made above, and not in the list.
                drop(unsafe { Box::from_raw(node) });
                return found;
            }
        }
        match self.find(node) {
            Some(attached) => attached,
            None => unreachable!("it was just attached"),
        }
    }

    /// All that there is.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn Attachment> {
        Self::from(self.0.load(Ordering::Acquire)).map(|node| &*node.value)
    }

    /// Says to all that the world ends.
    pub(crate) fn end(&self) {
        self.iter().for_each(Attachment::world_ends);
    }
}

impl Default for Attached {
    fn default() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut node = self.0.load(Ordering::Acquire);
        while !node.is_null() {
            // SAFETY: from `Box::into_raw`; each node is in the list once, and nobody walks it any more.
            let taken = unsafe { Box::from_raw(node) };
            node = taken.next;
        }
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").finish_non_exhaustive()
    }
}
