//! Per-thread caches of a shared structure, without a lock.
//!
//! State: a [`Registry`] is a list of nodes that only grows; each node has a private part, which
//! only the owner of the node touches (a thread, or whoever has a [`Lease`](super::lease)), and a public part, which
//! everybody may read.
//!
//! Operations: `acquire` takes a free node or adds one; `release` gives it back; `with` finds this
//! thread's node through a thread-local table, at the cost of three loads and a compare; that of a structure which the
//! thread has not used lately in a larger one (`owned`), in O(1). (A lease has a node in its hands, and need not
//! find it.)
//!
//! Invariant: a node is owned by at most one thread or lease. Nodes are freed only with the registry, and a
//! thread reaches a node only through a registry that it borrows, so a node in use is never freed.
//!
//! A thread that ends (also by a panic) gives its nodes back: the structure's [`Home::retire`]
//! empties the private part first. Thread-local destructors that run later than that, and call the
//! structure again, take a node for that one call.

mod lag;
#[cfg(loom)]
mod model;
#[cfg(not(loom))]
mod owned;

use core::cell::Cell;
use core::ptr;

use super::Arc;

use super::UnsafeCell;
use super::atomic::{AtomicPtr, AtomicU32, Ordering};
use super::mutant;
#[cfg(not(loom))]
use super::thread_local;
use crossbeam_utils::CachePadded;
#[cfg(not(loom))]
use owned::OwnedNodes;

pub(crate) use lag::{Lag, Lagging};

/// One thread's share of a structure.
#[derive(Debug)]
pub(crate) struct Node<C, P> {
    /// The part that only the owner touches.
    private: UnsafeCell<C>,
    /// The part that everybody may read.
    pub(crate) public: P,
    owned: AtomicU32,
    /// Nodes that were in the list when this one was added; never changes afterwards.
    next: *const CachePadded<Node<C, P>>,
}

/// All nodes of one structure.
#[derive(Debug)]
pub(crate) struct Registry<C, P> {
    /// Unique in the process and never used again, so that a thread's memory of a node of a
    /// structure that is gone can never be mistaken for a node of another one.
    id: u64,
    head: AtomicPtr<CachePadded<Node<C, P>>>,
}

// SAFETY: the private parts are touched by their owner only, and change owners by `owned`
// (Release, Acquire), so they need be `Send`; the public parts are read by everybody.
unsafe impl<C: Send, P: Send + Sync> Sync for Registry<C, P> {}
// SAFETY: as above.
unsafe impl<C: Send, P: Send> Send for Registry<C, P> {}

/// A structure that keeps caches for threads.
pub(crate) trait Home: Send + Sync + 'static {
    /// The private part of a node.
    type Private: Send + 'static;
    /// The public part of a node.
    type Public: Send + Sync + 'static;

    /// Which type of structure it is, of `KINDS`. Structures of different types do not disturb each other in a thread's
    /// memory of what it used last.
    const KIND: usize;

    /// Where the nodes are.
    fn registry(&self) -> &Registry<Self::Private, Self::Public>;

    /// A new private and public part.
    fn new_parts(&self) -> (Self::Private, Self::Public);

    /// Takes everything that is of value to others out of the node. Called by the node's owner.
    fn retire(&self, private: &mut Self::Private, public: &Self::Public);
}

impl<C, P> Registry<C, P> {
    /// A registry without nodes.
    pub(crate) fn new() -> Self {
        static NEXT_ID: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(1);
        Self {
            // Ordering: only uniqueness matters.
            id: NEXT_ID.fetch_add(1, core::sync::atomic::Ordering::Relaxed),
            head: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The registry's number, unique in the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Takes a node that nobody owns, or adds one. Lock-free; O(nodes).
    pub(crate) fn acquire(&self, parts: impl FnOnce() -> (C, P)) -> &CachePadded<Node<C, P>> {
        for node in self.nodes() {
            // Ordering: Acquire pairs with the Release in `release`: what the last owner did to
            // the private part is seen.
            if node.owned.load(Ordering::Relaxed) == 0
                && node
                    .owned
                    .compare_exchange(
                        0,
                        1,
                        mutant::ordering("node_acquire_relaxed", Ordering::Acquire),
                        Ordering::Relaxed,
                    )
                    .is_ok()
            {
                return node;
            }
        }
        let (private, public) = parts();
        let mut node = Box::new(CachePadded::new(Node {
            private: UnsafeCell::new(private),
            public,
            owned: AtomicU32::new(1),
            next: ptr::null(),
        }));
        // Ordering: Acquire, here and on failure, is not needed, as nothing is read of that node; kept.
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            node.next = head;
            let raw = Box::into_raw(node);
            // Ordering: Release publishes the node's content to whoever walks the list (Acquire), and continues the
            // release sequences of the nodes below.
            match self
                .head
                .compare_exchange(head, raw, Ordering::AcqRel, Ordering::Acquire)
            {
                // SAFETY: in the list now, where nodes live as long as the registry.
                Ok(_) => return unsafe { &*raw },
                Err(newer) => {
                    // SAFETY: from `into_raw` just above, and not in the list.
                    node = unsafe { Box::from_raw(raw) };
                    head = newer;
                }
            }
        }
    }

    /// Gives a node back. The caller owns it and does not touch its private part any more.
    pub(crate) fn release(&self, node: &CachePadded<Node<C, P>>) {
        // Ordering: Release pairs with the Acquire in `acquire`.
        node.owned.store(
            0,
            mutant::ordering("node_release_relaxed", Ordering::Release),
        );
    }

    /// Ends it: every node's parts, owned or not, for who has the structure to itself.
    #[cfg(not(loom))]
    pub(crate) fn end(self, mut each: impl FnMut(&mut C, &P)) {
        for node in self.nodes() {
            // SAFETY: a thread that owns the node reaches it only through a registry that it borrows, and this one is the
            // caller's.
            node.private
                .with_mut(|private| each(unsafe { &mut *private }, &node.public));
        }
    }

    /// All nodes that were ever added, owned or not; the newest first.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &CachePadded<Node<C, P>>> {
        // Ordering: Acquire pairs with the Release in `acquire`, for all nodes from here on.
        let mut next: *const CachePadded<Node<C, P>> = self.head.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: nodes live as long as the registry, and `next` does not change once the node
            // is in the list; the Acquire load of the head (or of a later one) published it.
            let node = unsafe { next.as_ref() }?;
            next = node.next;
            Some(node)
        })
    }
}

impl<C, P> Drop for Registry<C, P> {
    fn drop(&mut self) {
        // Ordering: Relaxed would do: `&mut` comes after everybody.
        let mut next = self.head.load(Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: every node came from `Box::into_raw`, is in the list once, and `&mut self`
            // says that nobody uses any.
            let node = unsafe { Box::from_raw(next) };
            next = node.next.cast_mut();
        }
    }
}

impl<C, P> Node<C, P> {
    /// Whether a thread or a lease has it, perhaps one that is about to give it back. Nobody can tell for how long.
    pub(crate) fn is_owned(&self) -> bool {
        // Ordering: Acquire, as in `Registry::acquire`: of a node that nobody has it is seen what its last owner left.
        self.owned.load(Ordering::Acquire) != 0
    }

    /// The private part.
    ///
    /// # Safety
    /// The calling thread owns the node, and `access` does not come back here: it calls no code of
    /// the user and nothing that looks for this thread's node.
    #[inline(always)]
    pub(crate) unsafe fn private<R>(&self, access: impl FnOnce(&mut C) -> R) -> R {
        // SAFETY: the caller owns the node and does not re-enter.
        self.private
            .with_mut(|private| access(unsafe { &mut *private }))
    }
}

/// How many types of structures there are; see [`Home::KIND`].
const KINDS: usize = 2;

/// Places in a thread's table of nodes used lately. Structures that were made one after the other, up to so many,
/// are not looked for in a list.
#[cfg(not(loom))]
const LATELY: usize = 16;

/// What a thread remembers of a node: the structure's number, and where the node is.
#[cfg(not(loom))]
type Known = Cell<(u64, *const ())>;

/// The nodes that a thread is likely to ask for.
#[cfg(not(loom))]
struct Hot {
    /// For each type of structure the node used last. Where it is does not depend on the structure's number, so
    /// that the processor need not wait for that before it looks into the node.
    last: [Known; KINDS],
    /// Others, by number.
    lately: [Known; LATELY],
}

#[cfg(not(loom))]
impl Hot {
    const fn new() -> Self {
        Self {
            last: [const { Cell::new((0, ptr::null())) }; KINDS],
            lately: [const { Cell::new((0, ptr::null())) }; LATELY],
        }
    }

    /// Where the node of the structure with this number is remembered besides.
    fn lately(&self, id: u64) -> &Known {
        &self.lately[id as usize % LATELY]
    }

    fn remember(&self, kind: usize, id: u64, node: *const ()) {
        self.last[kind].set((id, node));
        self.lately(id).set((id, node));
    }

    fn forget(&self) {
        let all = self.last.iter().chain(&self.lately);
        all.for_each(|known| known.set((0, ptr::null())));
    }
}

#[cfg(not(loom))]
thread_local! {
    /// Needs no destructor, so that reaching it is a load relative to the thread pointer and no more.
    static HOT: Hot = const { Hot::new() };
    /// All nodes that this thread owns; given back when the thread ends.
    static OWNED_NODES: OwnedNodes = const { OwnedNodes::new() };
}

/// Calls `access` with this thread's node of `home`, which it gets on the first call.
///
/// # Safety
/// `access` does not come back here with the same structure: it calls no code of the user.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) unsafe fn with<H: Home, R>(
    home: &Arc<H>,
    access: impl FnOnce(&mut H::Private, &H::Public) -> R,
) -> R {
    match hot(home) {
        // SAFETY: as the caller promised.
        Some(node) => unsafe { node.with(access) },
        // SAFETY: as the caller promised.
        None => unsafe { with_cold(home, access) },
    }
}

/// This thread's node of a structure, found without a search.
#[cfg(not(loom))]
pub(crate) struct HotNode<'a, H: Home>(&'a CachePadded<Node<H::Private, H::Public>>);

/// This thread's node of `home`, if it is one of those that the thread used lately. For callers that have a slow path
/// of their own (what goes wrong in the quick one is one call then), and for those that want to know where the node
/// is before something that the processor does not look beyond.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn hot<H: Home>(home: &Arc<H>) -> Option<HotNode<'_, H>> {
    const { assert!(H::KIND < KINDS, "a type of structures that no place is for") };
    let id = home.registry().id;
    let (found, mut node) = HOT.with(|hot| hot.last[H::KIND].get());
    if found != id {
        node = lately(H::KIND, id);
    }
    // SAFETY: the table says that this is a node of the structure with this number, which is `home`, so it is alive;
    // this thread owns it until its end, where the table is cleared.
    let node = unsafe {
        node.cast::<CachePadded<Node<H::Private, H::Public>>>()
            .as_ref()
    };
    node.map(HotNode)
}

/// The node of the structure with this number, if it was not the last one of its type that the thread used, but is
/// in the table; else null.
#[cfg(not(loom))]
#[cold]
#[inline(never)]
fn lately(kind: usize, id: u64) -> *const () {
    HOT.with(|hot| {
        let (found, node) = hot.lately(id).get();
        if found != id {
            return ptr::null();
        }
        hot.last[kind].set((id, node));
        node
    })
}

#[cfg(not(loom))]
impl<H: Home> HotNode<'_, H> {
    /// Calls `access` with the node.
    ///
    /// # Safety
    /// As for [`with`]. The node was found in this call into the structure, by this thread.
    #[inline(always)]
    pub(crate) unsafe fn with<R>(self, access: impl FnOnce(&mut H::Private, &H::Public) -> R) -> R {
        // SAFETY: owned by this thread; the caller promises not to re-enter.
        unsafe { self.0.private(|private| access(private, &self.0.public)) }
    }
}

/// `with`, when the table of nodes used lately does not have it.
///
/// # Safety
/// As for `with`.
#[cfg(not(loom))]
#[cold]
#[inline(never)]
unsafe fn with_cold<H: Home, R>(
    home: &Arc<H>,
    access: impl FnOnce(&mut H::Private, &H::Public) -> R,
) -> R {
    let mine = OWNED_NODES.try_with(|owned| {
        let node = owned.of(home);
        HOT.with(|hot| hot.remember(H::KIND, home.registry().id, node));
        node
    });
    match mine {
        Ok(node) => {
            // SAFETY: a node of this structure, which is alive; this thread owns it.
            let node = unsafe { &*node.cast::<CachePadded<Node<H::Private, H::Public>>>() };
            // SAFETY: owned by this thread; the caller promises not to re-enter.
            unsafe { node.private(|private| access(private, &node.public)) }
        }
        // The thread is being torn down and its nodes are given back already: a node for this call.
        Err(_) => {
            let node = home.registry().acquire(|| home.new_parts());
            // SAFETY: just acquired; the caller promises not to re-enter.
            let result = unsafe { node.private(|private| access(private, &node.public)) };
            // SAFETY: the node is this call's, and not used afterwards.
            unsafe { owned::retire(home, node) };
            result
        }
    }
}

#[cfg(loom)]
pub(crate) use model::{hold, hot, with};
