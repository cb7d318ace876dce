//! `Pool`: things that are lent to one thread at a time, and collected by one that wants them all.
//!
//! State: a number of slots, in places of `KEPT`, each empty or with one item (how many, the number of processors says; a
//! thread begins to look at the place of its number, which threads that come and go have one after the other); two lists of
//! the items for which no slot was empty when they came back: the *spare* ones, in which nothing
//! waits, and the others; and a list of all items that there are, which only grows, but for
//! [`retain`](Pool::retain).
//!
//! Operations, all on `&self`, lock-free: [`take`](Pool::take) swaps a slot with nothing, or the
//! spare ones, of which it puts all but the first back; [`lend`](Pool::lend) adds an item; a
//! [`Lent`] that is dropped puts its item into an empty slot by a compare-and-swap, or in front of a
//! list; [`take_all`](Pool::take_all) swaps every slot that is not empty and both lists with nothing, [`sweep`](Pool::sweep)
//! every slot.
//! [`retain`](Pool::retain), on `&mut self`, frees items.
//!
//! Who gives an item back may [keep it for its own thread](Lent::keep): something waits in it for
//! who takes all, since a *time*, a number that grows. No other thread's `take` has it, as long as
//! there are fewer items than slots. Nor has the same thread's as long as it keeps fewer than
//! `KEPT`, or if something waits since before the time that `take` is told: then somebody was to
//! take all after it was kept, and has missed it, or is at work. So what waits is held back by few
//! who take an item and keep it long. Of several the thread gets that which it began to keep last,
//! so that what waits longer goes first. [`take_before`](Pool::take_before) is `take_all` but for
//! what waits since a time or later: so who takes all what was there at that time takes nothing
//! that a thread has left after something else that it just misses; and but for what is idle, of which
//! it has one at a time in hand, so that who takes one beside it finds the others, and adds none (of
//! those without a slot all are away for a moment). An item that it puts back may come to lie where it
//! looks later: each says which collection has seen it, and is counted once.
//!
//! Invariant: an item is in one slot, or in one list, or lent; or somebody who takes a spare one is
//! about to put it back. Who takes all misses it then: nothing waits in it, and where it is counted,
//! one is missing. Nobody follows the `next` of an item of a list unless having swapped the whole
//! list out, so no item comes back to the list while somebody looks at it. Items are freed only by who has the pool to itself, and a [`Lent`] borrows
//! the pool: who forgets one keeps the item from the others, but not for ever.
//!
//! Orderings: giving back is a Release, taking an Acquire: who takes an item sees all that the one
//! before it did with it. For whom an item is kept, and since when, is asked twice: before it is
//! taken, so that nobody has it for a moment whom it is not for, and after, as another may have
//! come to lie there. The first look into it is behind an Acquire, too. Giving back is also an Acquire, and a sweep a Release:
//! who gives back behind one comes after it (see [`end`](super::end)).

mod collected;
mod fit;
mod lent;
mod only;

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr;
use std::sync::OnceLock;

use crossbeam_utils::CachePadded;
use smallvec::SmallVec;

pub use collected::Collected;
pub use lent::Lent;
pub use only::Only;

pub(super) use fit::is_before;
use fit::{Fit, fit, kept};

use super::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use super::mutant;
use super::thread_number::{thread_identity, thread_number};

/// Places that a pool has at least and at most: as many threads can leave items without meeting. One in models.
const LEAST: usize = if cfg!(loom) { 1 } else { 32 };
const MOST: usize = if cfg!(loom) { 1 } else { 64 };

/// Items in which something waits that a thread keeps before it takes one of them again: it leaves
/// that many in its place.
const KEPT: usize = 2;

/// From how many items more than slots on threads go on in each other's: threads that come and go are not to leave
/// some each. One in models, so that they show what is so with fewer.
const BEYOND_SLOTS: usize = if cfg!(loom) { 1 } else { 0 };

/// No thread in particular.
const ANYBODY: usize = usize::MAX;

/// Items that are lent and collected.
pub struct Pool<T> {
    places: Box<[CachePadded<Place<T>>]>,
    /// Those for which there was no slot.
    list: AtomicPtr<Node<T>>,
    /// Those of them in which nothing waits.
    spare: AtomicPtr<Node<T>>,
    all: AtomicPtr<Node<T>>,
    /// How many items there are.
    count: AtomicUsize,
}

/// How many places a pool has that all threads use.
fn places() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    if cfg!(any(loom, shuttle, miri)) {
        return LEAST;
    }
    *FOUND.get_or_init(|| {
        let threads = std::thread::available_parallelism();
        let threads = threads.map_or(LEAST, core::num::NonZero::get).min(MOST);
        threads.next_power_of_two().max(LEAST)
    })
}

/// Where a thread leaves items.
type Place<T> = [AtomicPtr<Node<T>>; KEPT];

struct Node<T> {
    item: T,
    /// The thread that alone may take it, or [`ANYBODY`].
    kept_for: AtomicUsize,
    /// Since when something waits in it, if it is kept.
    kept_at: AtomicU64,
    /// The collection that has seen it last; changed only by who has it.
    seen_at: u64,
    /// The next in its list of those without a slot; of use to who has swapped that out.
    next: *mut Node<T>,
    /// The next in the list of all; changed only by who has the pool to itself.
    older: *mut Node<T>,
}

/// Items that were taken together: in most pools there are few.
pub type Taken<'p, T> = SmallVec<[Lent<'p, T>; 4]>;

// SAFETY: the pool hands items from thread to thread, and lends none to two.
unsafe impl<T: Send> Sync for Pool<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Pool<T> {}

impl<T> Pool<T> {
    /// A pool without items, with a place for each thread that can run at one time, between some and 64 (8 KiB).
    #[must_use]
    pub fn new() -> Self {
        Self::with_places(places())
    }

    /// A pool without items that few threads use at one time, mostly one.
    #[must_use]
    pub fn small() -> Self {
        Self::with_places(1)
    }

    fn with_places(places: usize) -> Self {
        debug_assert!(places.is_power_of_two(), "numbers of threads are cut off");
        let place = || [(); KEPT].map(|()| AtomicPtr::new(ptr::null_mut()));
        Self {
            places: (0..places).map(|_| CachePadded::new(place())).collect(),
            list: AtomicPtr::new(ptr::null_mut()),
            spare: AtomicPtr::new(ptr::null_mut()),
            all: AtomicPtr::new(ptr::null_mut()),
            count: AtomicUsize::new(0),
        }
    }

    /// An item: one in which nothing waits, preferably that which this thread gave back last; or
    /// one that is [kept](Lent::keep) for it, if there are several, the last, and if something
    /// waits in it since this time or later. `None` if no slot has one. Is nothing ever kept, so is
    /// the time of no account. A few read-modify-writes for each slot at most.
    #[must_use]
    pub fn take(&self, since: u64) -> Option<Lent<'_, T>> {
        self.take_for(thread_identity(), since)
    }

    /// [`take`](Self::take), by a thread with another number.
    #[must_use]
    pub fn take_for(&self, thread: usize, since: u64) -> Option<Lent<'_, T>> {
        let may_take = |fit| matches!(fit, Fit::Anybodys | Fit::Own(_));
        let mut own: Option<(&AtomicPtr<Node<T>>, u64)> = None;
        let mut kept = 0;
        for slot in self.slots_from_home() {
            // Ordering: Acquire pairs with the Release in `give`: the node is looked into. The swap
            // decides.
            let node = slot.load(Ordering::Acquire);
            if node.is_null() {
                continue;
            }
            // SAFETY: nodes are freed by who has the pool to itself.
            let best = match unsafe { fit(node, thread, since) } {
                Fit::Anybodys => slot,
                Fit::Own(at) => {
                    kept += 1;
                    let keeps_older = mutant::active("pool_take_older");
                    let last = own.filter(|&(_, last)| is_before(last, at) == keeps_older);
                    let last = *own.insert(last.unwrap_or((slot, at)));
                    if kept < KEPT && !mutant::active("pool_take_first") {
                        continue;
                    }
                    last.0
                }
                Fit::Anothers | Fit::Missed => continue,
            };
            // Who must not have it gives it back.
            if let Some(lent) = self.empty(best)
                && (mutant::active("pool_take_unasked") || may_take(lent.fit(thread, since)))
            {
                return Some(lent);
            }
        }
        if let Some(spare) = self.take_spare() {
            return Some(spare);
        }
        if self.len() < self.slots() + BEYOND_SLOTS {
            return None;
        }
        let mine = own.and_then(|(slot, _)| self.empty(slot));
        let mine = mine.filter(|lent| may_take(lent.fit(thread, since)));
        mine.or_else(|| self.take_any(thread, since))
    }

    /// One of the items in which nothing waits, and for which there was no slot. O(1), unless others give such back at
    /// the same time.
    fn take_spare(&self) -> Option<Lent<'_, T>> {
        // Ordering: Relaxed: a hint, so that who finds none writes nothing.
        if self.spare.load(Ordering::Relaxed).is_null() {
            return None;
        }
        // Ordering: Acquire pairs with the Release in `push`, and below. The swap makes the whole list this call's.
        let order = mutant::ordering("pool_spare_relaxed", Ordering::Acquire);
        let node = self.spare.swap(ptr::null_mut(), order);
        if node.is_null() {
            return None;
        }
        let lent = Lent { pool: self, node };
        // SAFETY: as above.
        let rest = unsafe { (*node).next };
        if rest.is_null() {
            return Some(lent);
        }
        // Mostly none has come meanwhile. Ordering: Relaxed: the nodes are as they were, and all changes of this word
        // are read-modify-writes, so that this one continues the release sequences of those who put the nodes there.
        let none = self.spare.compare_exchange(
            ptr::null_mut(),
            rest,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if none.is_err() && !mutant::active("pool_rest_is_lost") {
            let mut last = rest;
            // SAFETY: the rest is this call's until it is back.
            while let Some(next) = ptr::NonNull::new(unsafe { (*last).next }) {
                last = next.as_ptr();
            }
            self.push(&self.spare, rest, last, Ordering::Release);
        }
        Some(lent)
    }

    /// Puts nodes that hang together in front of a list, from the first to the last.
    ///
    /// Ordering: the caller's, a Release, for who swaps the list out. The rest is Relaxed: nothing is read of the node
    /// that is there, and the compare-and-swap continues the release sequences of those below.
    fn push(
        &self,
        list: &AtomicPtr<Node<T>>,
        first: *mut Node<T>,
        last: *mut Node<T>,
        order: Ordering,
    ) {
        let mut head = list.load(Ordering::Relaxed);
        loop {
            // SAFETY: the nodes are this call's until they are in the list.
            unsafe { (*last).next = head };
            match list.compare_exchange(head, first, order, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Any item, but those that somebody has missed.
    #[cold]
    fn take_any(&self, thread: usize, since: u64) -> Option<Lent<'_, T>> {
        let mut slots = self.slots_from_home();
        slots.find_map(|slot| {
            // Ordering: as in `take_for`.
            let node = slot.load(Ordering::Acquire);
            // SAFETY: as in `take_for`.
            if node.is_null() || unsafe { fit(node, thread, since) } == Fit::Missed {
                return None;
            }
            let lent = self.empty(slot)?;
            (lent.fit(thread, since) != Fit::Missed).then_some(lent)
        })
    }

    /// Adds an item, and lends it.
    #[must_use]
    pub fn lend(&self, item: T) -> Lent<'_, T> {
        // Ordering: Relaxed: who has taken the item, or knows of it otherwise, counts it.
        self.count.fetch_add(1, Ordering::Relaxed);
        let node = Box::into_raw(Box::new(Node {
            item,
            kept_for: AtomicUsize::new(ANYBODY),
            kept_at: AtomicU64::new(0),
            seen_at: 0,
            next: ptr::null_mut(),
            older: ptr::null_mut(),
        }));
        let mut head = self.all.load(Ordering::Relaxed);
        loop {
            // SAFETY: the node is this call's until it is in the list.
            unsafe { (*node).older = head };
            // Ordering: Relaxed: the list of all is walked by who owns the pool, after everybody.
            match self
                .all
                .compare_exchange(head, node, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Lent { pool: self, node },
                Err(now) => head = now,
            }
        }
    }

    /// How many items there are, lent ones too. Who asks after [`take_all`](Self::take_all), and has got as many, has
    /// all that were added before.
    #[must_use]
    pub fn len(&self) -> usize {
        // Ordering: Relaxed: see `lend`.
        self.count.load(Ordering::Relaxed)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// In how many slots items can lie.
    fn slots(&self) -> usize {
        self.places.len() * KEPT
    }

    fn slots_from_home(&self) -> impl Iterator<Item = &AtomicPtr<Node<T>>> {
        let home = thread_number() & (self.places.len() - 1);
        let (before, after) = self.places.split_at(home);
        after.iter().chain(before).flat_map(|place| place.iter())
    }

    /// Takes what is in a slot.
    fn empty(&self, slot: &AtomicPtr<Node<T>>) -> Option<Lent<'_, T>> {
        // Ordering: Acquire pairs with the Release in `give`.
        self.empty_by(
            slot,
            mutant::ordering("pool_take_relaxed", Ordering::Acquire),
        )
    }

    fn empty_by(&self, slot: &AtomicPtr<Node<T>>, order: Ordering) -> Option<Lent<'_, T>> {
        let node = slot.swap(ptr::null_mut(), order);
        // Not `then_some`: a `Lent` of nothing would be given back.
        (!node.is_null()).then(|| Lent { pool: self, node })
    }

    /// Puts a node back.
    fn give(&self, node: *mut Node<T>) {
        debug_assert!(!node.is_null(), "there is something to give back");
        // Ordering: Release pairs with the Acquire of who takes the item, Acquire with the Release of a sweep.
        let order = mutant::ordering("pool_give_relaxed", Ordering::AcqRel);
        let order = mutant::released("pool_give_release", order);
        for slot in self.slots_from_home() {
            // Ordering: Relaxed: a hint; the compare-and-swap decides.
            if !slot.load(Ordering::Relaxed).is_null() {
                continue;
            }
            if mutant::active("pool_give_blindly") {
                slot.store(node, order);
                return;
            }
            if slot
                .compare_exchange(ptr::null_mut(), node, order, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
        }
        // SAFETY: the node is this call's until it is in a list.
        let waits = unsafe { kept(node) }.is_some();
        let list = if waits { &self.list } else { &self.spare };
        self.push(list, node, node, order);
    }

    /// Takes all items that are not lent.
    #[must_use]
    pub fn take_all(&self) -> Taken<'_, T> {
        self.take_where(|_| true, &[&self.spare, &self.list])
    }

    /// Takes all items that are not lent, by a read-modify-write of each slot and list, whatever lies there: who gives one
    /// back that this has missed comes after what the caller did before.
    #[must_use]
    pub fn sweep(&self) -> Taken<'_, T> {
        // Ordering: Acquire as in `empty`, Release pairs with the Acquire in `give`.
        let order = match mutant::active("pool_sweep_acquire") {
            true => Ordering::Acquire,
            false => Ordering::AcqRel,
        };
        let mut all = Taken::new();
        let slots = self.slots_from_home();
        all.extend(slots.filter_map(|slot| self.empty_by(slot, order)));
        for list in [&self.spare, &self.list] {
            all.extend(self.take_list_by(list, order));
        }
        all
    }

    /// Takes all items that are not lent and in which something waits.
    #[must_use]
    pub fn take_waiting(&self) -> Taken<'_, T> {
        // SAFETY: nodes are freed by who has the pool to itself.
        self.take_where(|node| unsafe { kept(node) }.is_some(), &[&self.list])
    }

    /// Takes all items that are not lent, but those in slots that are not wanted, and those in other lists.
    fn take_where(
        &self,
        mut is_wanted: impl FnMut(*mut Node<T>) -> bool,
        lists: &[&AtomicPtr<Node<T>>],
    ) -> Taken<'_, T> {
        let mut all = Taken::new();
        for slot in self.slots_from_home() {
            // Ordering: Acquire pairs with the Release in `give`: the node is looked into. The swap
            // decides.
            let node = slot.load(Ordering::Acquire);
            if !node.is_null()
                && is_wanted(node)
                && let Some(lent) = self.empty(slot)
            {
                all.push(lent);
                // If these are all that there are, nothing is in the other slots, nor in the list,
                // but what is added now.
                if all.len() == self.len() {
                    return all;
                }
            }
        }
        lists
            .iter()
            .for_each(|list| all.extend(self.take_list(list)));
        all
    }

    /// Takes what is in a list, all at once; to be gone through to the end.
    fn take_list(&self, list: &AtomicPtr<Node<T>>) -> impl Iterator<Item = Lent<'_, T>> {
        // Ordering: Acquire pairs with the Release in `give`. The compare-and-swap of each item
        // continues the release sequence of those below it.
        self.take_list_by(
            list,
            mutant::ordering("pool_list_relaxed", Ordering::Acquire),
        )
    }

    fn take_list_by(
        &self,
        list: &AtomicPtr<Node<T>>,
        order: Ordering,
    ) -> impl Iterator<Item = Lent<'_, T>> {
        let mut node = list.swap(ptr::null_mut(), order);
        core::iter::from_fn(move || {
            let lent = (!node.is_null()).then(|| Lent { pool: self, node })?;
            // SAFETY: the swap has made the whole list this call's.
            node = unsafe { (*node).next };
            Some(lent)
        })
    }
}

impl<T> Pool<T> {
    /// Frees the items of which `keep` says so by `false`; those that somebody has lent and
    /// forgotten stay until the pool ends.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut gone: Vec<*mut Node<T>> = Vec::new();
        for mut lent in self.take_all() {
            if !keep(&mut *lent) {
                gone.push(ManuallyDrop::new(lent).node);
            }
        }
        gone.sort_unstable();
        // Ordering: Relaxed, here and below: `&mut` comes after everybody.
        let mut next = self.all.load(Ordering::Relaxed);
        let mut all = ptr::null_mut();
        while !next.is_null() {
            let node = next;
            // SAFETY: a node of this pool, which nobody else has; if it is lent and forgotten, nobody looks at it.
            next = unsafe { (*node).older };
            if gone.binary_search(&node).is_err() {
                // SAFETY: as above.
                unsafe { (*node).older = all };
                all = node;
            }
        }
        self.all.store(all, Ordering::Relaxed);
        self.count.fetch_sub(gone.len(), Ordering::Relaxed);
        // SAFETY: from `Box::into_raw`, in no list any more, and in no slot.
        let gone = gone.into_iter().map(|node| unsafe { Box::from_raw(node) });
        // All of them, though the drop of one panics.
        drop(gone.collect::<Vec<_>>());
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        /// Goes on with the others if the drop of one panics.
        struct Rest<T>(*mut Node<T>);

        impl<T> Drop for Rest<T> {
            fn drop(&mut self) {
                while !self.0.is_null() {
                    // SAFETY: from `Box::into_raw`; each is in the list of all once, and none is lent any more.
                    let taken = unsafe { Box::from_raw(self.0) };
                    self.0 = taken.older;
                    let rest = Rest(self.0);
                    drop(taken);
                    core::mem::forget(rest);
                }
            }
        }

        // Ordering: Relaxed: `&mut` comes after everybody.
        drop(Rest(self.all.load(Ordering::Relaxed)));
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
