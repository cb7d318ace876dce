//! What loom models need of the sync room and nobody else does. Exists under `cfg(loom)` only.

use crossbeam_utils::CachePadded;

use super::local::{Node, Registry};

/// A thread's cache in a model's hands. Dropped, it does what the end of its thread does.
pub trait ThreadCache: Send {
    /// From now on the calling thread works with this cache, until it is dropped.
    fn adopt(&self);
}

/// The registry of threads' caches, with a number for a cache.
#[derive(Debug)]
pub struct Nodes(Registry<u64, ()>);

impl Default for Nodes {
    fn default() -> Self {
        Self(Registry::new())
    }
}

impl Nodes {
    /// Takes a node that nobody owns, or a new one, as a thread does with its first call; adds
    /// `amount` to its number, as the thread's use of its cache; gives the node back, as a thread
    /// does that ends.
    ///
    /// The number before.
    pub fn visit(&self, amount: u64) -> u64 {
        let node: &CachePadded<Node<u64, ()>> = self.0.acquire(|| (0, ()));
        // SAFETY: acquired just now, and released below; the closure does not come back here.
        let before = unsafe {
            node.private(|number| {
                *number += amount;
                *number - amount
            })
        };
        self.0.release(node);
        before
    }

    /// The numbers of all nodes, when no thread uses any.
    pub fn numbers(&mut self) -> Vec<u64> {
        // SAFETY: `&mut self` says that no thread owns a node.
        let number = |node: &CachePadded<Node<u64, ()>>| unsafe { node.private(|number| *number) };
        self.0.nodes().map(number).collect()
    }
}
