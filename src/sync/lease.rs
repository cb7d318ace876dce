//! A node of a registry in somebody's own hands: a cache that is reached without asking which thread calls.
//!
//! State: a node that nobody else owns (see [`local`](super::local)), from `new` to `drop`.
//!
//! Operations: `with` is a call with the two parts of the node; `drop` empties the node and gives it back.
//!
//! Invariant: as for threads, a node is owned by at most one; here that is whoever has the lease, and `&mut` says
//! that there is one user at a time.

use core::fmt;

use crossbeam_utils::CachePadded;

use super::local::{Home, Node};
use super::mutant;

/// The node of `H`.
type NodeOf<H> = CachePadded<Node<<H as Home>::Private, <H as Home>::Public>>;

/// A node, until it is dropped.
pub(crate) struct Lease<'a, H: Home> {
    home: &'a H,
    node: &'a NodeOf<H>,
}

// SAFETY: owning a node is no tie to a thread: a lease that is sent takes along the private part, which is `Send`,
// and references to what is `Sync`. (The node alone is not, because it is linked by raw pointers, and because
// its private part is in a cell; that cell is only opened through `&mut Lease`.)
unsafe impl<H: Home> Send for Lease<'_, H> {}

impl<'a, H: Home> Lease<'a, H> {
    /// Takes a node that nobody owns, or adds one. Lock-free; O(nodes).
    pub(crate) fn new(home: &'a H) -> Self {
        let node = home.registry().acquire(|| home.new_parts());
        Self { home, node }
    }

    /// Whose node it is.
    #[inline(always)]
    pub(crate) fn home(&self) -> &'a H {
        self.home
    }

    /// Calls `access` with the node.
    #[inline(always)]
    pub(crate) fn with<R>(&mut self, access: impl FnOnce(&mut H::Private, &H::Public) -> R) -> R {
        // SAFETY: the lease owns the node, and is borrowed for the whole call, so `access` cannot come back here with
        // the same one.
        unsafe {
            self.node
                .private(|private| access(private, &self.node.public))
        }
    }
}

impl<H: Home> Drop for Lease<'_, H> {
    fn drop(&mut self) {
        let home = self.home;
        if !mutant::active("session_keeps_its_slots") {
            self.with(|private, public| home.retire(private, public));
        }
        home.registry().release(self.node);
    }
}

impl<H: Home> fmt::Debug for Lease<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The private part is not for a shared borrow.
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
