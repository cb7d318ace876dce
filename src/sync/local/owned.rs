//! `OwnedNodes`: all nodes that a thread owns, by the numbers of their structures; given back when the thread ends.
//!
//! For a structure that the thread has not used lately: found in O(1), whatever number of structures the thread
//! has used. Structures that are gone leave an entry behind, and with it a few hundred bytes of theirs. A new structure
//! is the moment to look for these: always while there are [`FEW`] entries at most, else if there are twice as many as
//! structures lived the last time. There are never more, and each new one costs a look at so many on average.

use core::cell::RefCell;
use std::collections::HashMap;
use std::sync::Weak;

use super::{CachePadded, HOT, Home, Hot, Node};
use crate::hashers::ByNumbers;
use crate::sync::Arc;

/// So many entries are looked at whenever there is a new one.
const FEW: usize = 16;

/// The nodes of one thread.
pub(super) struct OwnedNodes(RefCell<Nodes>);

/// Nodes, by the numbers of their structures.
struct Nodes {
    by_number: HashMap<u64, OwnedNode, ByNumbers>,
    /// With so many entries, or few, those whose structures are gone are looked for.
    tidied_at: usize,
    /// How many entries were looked at for that.
    #[cfg(test)]
    looked_at: usize,
}

struct OwnedNode {
    node: *const (),
    home: Weak<dyn RetireNode>,
}

/// `Home` with its types erased.
trait RetireNode: Send + Sync {
    /// Empties and releases a node.
    ///
    /// # Safety
    /// `node` is a node of this structure that the calling thread owns and does not use again.
    unsafe fn retire_node(&self, node: *const ());
}

impl<H: Home> RetireNode for H {
    unsafe fn retire_node(&self, node: *const ()) {
        // SAFETY: the caller passes a node of this structure, which lives as long as `self`.
        let node = unsafe { &*node.cast::<CachePadded<Node<H::Private, H::Public>>>() };
        // SAFETY: the calling thread owns the node; `retire` is the crate's own code and does not
        // look for the thread's node.
        unsafe { node.private(|private| self.retire(private, &node.public)) };
        self.registry().release(node);
    }
}

impl Nodes {
    const fn new() -> Self {
        Self {
            by_number: HashMap::with_hasher(ByNumbers::new()),
            tidied_at: 2 * FEW,
            #[cfg(test)]
            looked_at: 0,
        }
    }

    /// The node of a structure, which the thread gets if it has none. O(1) amortized, or what it takes to get one.
    fn of<H: Home>(&mut self, home: &Arc<H>) -> *const () {
        let number = home.registry().id();
        if let Some(known) = self.by_number.get(&number) {
            return known.node;
        }
        if self.by_number.len() <= FEW || self.by_number.len() >= self.tidied_at {
            self.tidy();
        }
        let node = home.registry().acquire(|| home.new_parts());
        let node = core::ptr::from_ref(node).cast::<()>();
        let home: Arc<dyn RetireNode> = Arc::clone(home) as _;
        let home = Arc::downgrade(&home);
        self.by_number.insert(number, OwnedNode { node, home });
        node
    }

    /// Forgets the nodes of structures that are gone.
    #[cold]
    fn tidy(&mut self) {
        #[cfg(test)]
        {
            self.looked_at += self.by_number.len();
        }
        self.by_number
            .retain(|_, known| known.home.strong_count() > 0);
        self.tidied_at = 2 * self.by_number.len().max(FEW);
        self.by_number.shrink_to(self.tidied_at);
    }
}

impl OwnedNodes {
    /// None yet; takes no memory.
    pub(super) const fn new() -> Self {
        Self(RefCell::new(Nodes::new()))
    }

    /// The node of a structure, which the thread gets if it has none.
    pub(super) fn of<H: Home>(&self, home: &Arc<H>) -> *const () {
        self.0.borrow_mut().of(home)
    }
}

impl Drop for OwnedNodes {
    fn drop(&mut self) {
        // From here on this thread finds no node of its own any more.
        // (Where that table has ended before, as it may under a scheduler, nobody finds any.)
        let _ = HOT.try_with(Hot::forget);
        let nodes = core::mem::take(&mut self.0.get_mut().by_number);
        for owned in nodes.into_values() {
            if let Some(home) = owned.home.upgrade() {
                // SAFETY: the table holds nodes that this thread acquired, each once, and it has
                // just been taken away, so nobody finds them again.
                unsafe { home.retire_node(owned.node) };
            }
        }
    }
}

/// Gives a node back that a call has acquired for itself.
///
/// # Safety
/// It is a node of `home` that the caller owns and does not use again.
pub(super) unsafe fn retire<H: Home>(
    home: &Arc<H>,
    node: &CachePadded<Node<H::Private, H::Public>>,
) {
    // SAFETY: the caller's.
    unsafe { home.retire_node(core::ptr::from_ref(node).cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::local::Registry;

    /// A structure of nothing but its nodes.
    struct Bare(Registry<(), ()>);

    impl Home for Bare {
        type Private = ();
        type Public = ();
        const KIND: usize = 0;

        fn registry(&self) -> &Registry<(), ()> {
            &self.0
        }

        fn new_parts(&self) -> ((), ()) {
            ((), ())
        }

        fn retire(&self, (): &mut (), (): &()) {}
    }

    fn bare() -> Arc<Bare> {
        Arc::new(Bare(Registry::new()))
    }

    #[test]
    fn nodes_are_looked_through_for_the_gone_as_often_as_they_have_doubled() {
        let mut nodes = Nodes::new();
        let homes: Vec<Arc<Bare>> = (0..3_000).map(|_| bare()).collect();
        let found: Vec<_> = homes.iter().map(|home| nodes.of(home)).collect();
        assert!(
            nodes.looked_at <= 2 * homes.len() + FEW * FEW,
            "{} looks",
            nodes.looked_at
        );
        // Whoever comes again finds what it has, and nobody looks for anything else.
        let before = nodes.looked_at;
        for _ in 0..3 {
            assert!(homes.iter().map(|home| nodes.of(home)).eq(found.clone()));
        }
        assert_eq!(
            (nodes.looked_at, nodes.by_number.len()),
            (before, homes.len())
        );
    }

    #[test]
    fn structures_that_are_gone_leave_no_more_entries_than_twice_those_that_lived() {
        let mut nodes = Nodes::new();
        let living: Vec<Arc<Bare>> = (0..100).map(|_| bare()).collect();
        for home in &living {
            nodes.of(home);
        }
        for _ in 0..10_000 {
            nodes.of(&bare());
            assert!(nodes.by_number.len() <= 2 * living.len());
        }
        assert!(nodes.looked_at <= 3 * 10_100, "{} looks", nodes.looked_at);
        drop(living);
        for _ in 0..1_000 {
            nodes.of(&bare());
        }
        // Each has taken the place of the one before it.
        assert_eq!(nodes.by_number.len(), 1);
        assert!(nodes.by_number.capacity() <= 4 * FEW);
    }
}
