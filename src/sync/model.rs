//! What loom models need of the sync room and nobody else does. Exists under `cfg(loom)` only.

use crossbeam_utils::CachePadded;

use super::local::{Lag, Lagging, Node, Registry};

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

/// A public part of a node that says nothing but whether its owner's hints lag.
#[derive(Debug, Default)]
struct OnlyLag(Lag);

impl Lagging for OnlyLag {
    fn lag(&self) -> &Lag {
        &self.0
    }
}

/// The counts of some threads of when their hints lag, for models of hints alone. Each thread has a number.
#[derive(Debug)]
pub struct Lags(Registry<(), OnlyLag>);

impl Lags {
    /// Those of `threads` threads.
    #[must_use]
    pub fn of(threads: usize) -> Self {
        let registry = Registry::new();
        for _ in 0..threads {
            registry.acquire(|| ((), OnlyLag::default()));
        }
        Self(registry)
    }

    fn of_thread(&self, thread: usize) -> &OnlyLag {
        let node = self.0.nodes().nth(thread);
        &node.expect("the thread has a number").public
    }

    /// Changes hints, which lag meanwhile.
    pub fn change<R>(&self, thread: usize, change: impl FnOnce() -> R) -> R {
        let _lag = self.of_thread(thread).0.begin();
        change()
    }

    /// What a search came to that went by hints alone, if it may believe them, as those of the index and the allocator
    /// do: it searches again, and asks before and afterwards whether other threads' hints lag. `None`: it may not.
    pub fn believed<R>(&self, thread: usize, search: impl Fn() -> R) -> Option<R> {
        let own = self.of_thread(thread);
        search();
        let quiet = self.0.quiet(own)?;
        let found = search();
        (self.0.quiet(own) == Some(quiet)).then_some(found)
    }
}
