//! `Collected`: what a collection takes out of a pool, and what it only looks into.

use core::mem::ManuallyDrop;
use core::ptr;

use super::{Lent, Node, Pool, Taken, is_before, kept};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::mutant;

/// What a collection has found.
#[derive(Debug)]
pub struct Collected<'p, T> {
    /// What it has taken.
    pub items: Taken<'p, T>,
    /// About how many wait for a later one.
    pub later: usize,
    /// How many it has had in hand, each counted once: those that it has taken, and those that were idle.
    pub seen: usize,
}

impl<'p, T> Collected<'p, T> {
    /// Whether an item is one for this collection: nothing waits in it, or since before its time.
    fn wants(&mut self, node: *mut Node<T>, time: u64) -> bool {
        // SAFETY: nodes are freed by who has the pool to itself.
        let kept = unsafe { kept(node) };
        let before = kept.is_none_or(|(_, since)| is_before(since, time));
        self.later += usize::from(!before);
        before || mutant::active("pool_take_later")
    }

    /// Sees an item, and keeps it, unless it is idle.
    fn keep(
        &mut self,
        mut lent: Lent<'p, T>,
        time: u64,
        is_idle: &mut impl FnMut(&T) -> bool,
    ) -> Option<Lent<'p, T>> {
        self.seen += usize::from(lent.see(time));
        if lent.is_left() && is_idle(&lent) {
            return Some(lent);
        }
        self.items.push(lent);
        None
    }
}

impl<T> Pool<T> {
    /// A collection of this time, which no other has: takes all items that are not lent, but those in which something
    /// waits since this time or later, and those that `is_idle` says there is nothing to do with. To ask, it takes one,
    /// and puts it back where it lay before it takes another: so who wants one finds the others.
    #[must_use]
    pub fn take_before(&self, time: u64, mut is_idle: impl FnMut(&T) -> bool) -> Collected<'_, T> {
        let mut found = Collected {
            items: Taken::new(),
            later: 0,
            seen: 0,
        };
        for slot in self.slots_from_home() {
            // Ordering: as in `take_where`.
            let node = slot.load(Ordering::Acquire);
            if node.is_null() || !found.wants(node, time) {
                continue;
            }
            let Some(lent) = self.empty(slot) else {
                continue;
            };
            // Another may have come to lie where it was asked.
            if !found.wants(lent.node, time) {
                continue;
            }
            if let Some(idle) = found.keep(lent, time, &mut is_idle) {
                self.put_back(slot, idle);
            }
            // If these are all that there are, nothing is in the other slots, nor in the lists, but
            // what is added, or was left, since.
            if found.seen == self.len() {
                return found;
            }
        }
        for list in [&self.spare, &self.list] {
            for lent in self.take_list(list) {
                // The lists are not looked into before.
                if found.wants(lent.node, time) {
                    drop(found.keep(lent, time, &mut is_idle));
                }
            }
        }
        found
    }

    /// Puts an item back where it lay, if nothing lies there.
    fn put_back(&self, slot: &AtomicPtr<Node<T>>, lent: Lent<'_, T>) {
        let node = ManuallyDrop::new(lent).node;
        if mutant::active("pool_put_back_blindly") {
            return slot.store(node, Ordering::Release);
        }
        // Ordering: Release pairs with the Acquire of who takes it next: the collection has looked into it, and was
        // counted before.
        let order = mutant::ordering("pool_put_back_relaxed", Ordering::Release);
        let back = slot.compare_exchange(ptr::null_mut(), node, order, Ordering::Relaxed);
        if back.is_err() {
            self.give(node);
        }
    }
}

impl<T> Lent<'_, T> {
    /// Whether nothing waits in it.
    fn is_left(&self) -> bool {
        // SAFETY: the node lives as long as the pool.
        unsafe { kept(self.node) }.is_none()
    }

    /// A collection has it in hand; whether it had not before.
    fn see(&mut self, time: u64) -> bool {
        // SAFETY: the node is this one's alone, and who looks whose it is uses other fields.
        let seen_at = unsafe { &mut (*self.node).seen_at };
        core::mem::replace(seen_at, time) != time || mutant::active("pool_sees_twice")
    }
}
