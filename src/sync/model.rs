//! What loom models need of the sync room and nobody else does. Exists under `cfg(loom)` only.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::local::{Lag, Lagging, Node, Registry};
use crate::workers::fork_join;
use crate::workers::helpers::{Call, with_helpers};

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

/// A call for helpers, in the hands of who has called, and of those who help.
#[derive(Clone, Copy)]
pub struct Calling<'c>(&'c Arc<Call>);

impl Calling<'_> {
    /// Asks so many threads.
    pub fn ask(self, helpers: usize) {
        self.0.ask(helpers);
    }

    /// Wakes the thread that has called.
    pub fn wake(self) {
        self.0.wake();
    }
}

impl core::fmt::Debug for Calling<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Calling").finish_non_exhaustive()
    }
}

/// Calls for helpers, as all parallel work does: `most` at once, of whom each that has a number, from 1, asks as many
/// others as `below` says, and then does `help`; `own` is called until it says that there was nothing to do while nobody
/// helped.
///
/// # Panics
/// As `own` or `help` does.
pub fn call_for_helpers(
    most: usize,
    below: impl Fn(usize) -> usize + Sync,
    help: impl Fn(Calling<'_>, usize) + Sync,
    mut own: impl FnMut(Calling<'_>) -> bool,
) {
    let help = |call: &Arc<Call>, number| help(Calling(call), number);
    with_helpers(most, below, help, |call| own(Calling(call)));
}

/// What `run` makes of each task, in order, on so many threads at most.
///
/// # Panics
/// As `run` does.
pub fn share_out<T: Send, R: Send>(
    threads: usize,
    tasks: Vec<T>,
    run: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    fork_join::map_on(threads, tasks, run)
}

/// Does `own` on this thread, and the tasks meanwhile on others that the workers say they have.
///
/// # Panics
/// As `own` or `run` does.
pub fn do_beside<T: Send>(own: impl FnOnce(), tasks: Vec<T>, run: impl Fn(T) + Sync) {
    fork_join::beside(own, tasks, run);
}
