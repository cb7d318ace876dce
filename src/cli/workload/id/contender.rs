//! `IdContender`: what takes part in the id workloads.

use std::io;

use crate::entity::Place;

/// What a contender can do besides creating and destroying single ids. A workload that needs more
/// than that is not run; its row shows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Creates and destroys many ids in one call.
    pub batches: bool,
    /// Tells live ids from dead ones.
    pub exists: bool,
    /// Keeps a place for each id.
    pub places: bool,
    /// The limit on live ids, if the workload `near_full` can come near it.
    pub limit: Option<usize>,
}

/// An allocator of ids, as the workloads see it.
///
/// Every [`EntityAllocator`](crate::entity::EntityAllocator) is one through
/// [`Seam`](super::Seam); others implement the trait themselves.
pub trait IdContender: Send + Sync + Sized + 'static {
    /// The handle.
    type Id: Copy + Send + Sync + 'static;
    /// What a thread works through; see [`session`](Self::session).
    type Session<'a>: IdSession<Id = Self::Id>
    where
        Self: 'a;

    /// The name in tables.
    const NAME: &'static str;
    /// What it can do.
    const ABILITIES: Abilities;
    /// Whether it touches shared memory only through the sync room, so that the probe counts
    /// everything that it does.
    const COUNTED: bool = false;

    /// A fresh allocator with nothing created.
    fn fresh() -> Self;

    /// Whether the system has room for one: [`fresh`](Self::fresh) can only panic.
    ///
    /// # Errors
    /// What the system says.
    fn try_room() -> io::Result<()> {
        Ok(())
    }

    /// What the calling thread works through: a reference to the allocator, or whatever the
    /// allocator's documentation tells a thread to keep for speed.
    fn session(&self) -> Self::Session<'_>;

    /// Any handle, to fill arrays with; never passed to the allocator.
    fn placeholder() -> Self::Id;

    /// The handle as a number that is not 0.
    fn to_bits(id: Self::Id) -> u64;

    /// The handle that [`to_bits`](Self::to_bits) gave.
    fn from_bits(bits: u64) -> Self::Id;
}

/// A thread's way to an allocator of ids. No method may leave a failure unseen: it panics or
/// says so.
pub trait IdSession {
    /// The handle.
    type Id: Copy;

    /// Creates one id.
    fn create(&mut self) -> Self::Id;

    /// Destroys one id; `false` if it was not alive.
    fn destroy(&mut self, id: Self::Id) -> bool;

    /// Creates `out.len()` ids; only called with [`Abilities::batches`].
    fn create_slice(&mut self, out: &mut [Self::Id]) {
        out.fill_with(|| self.create());
    }

    /// Destroys `ids`; how many were alive. Only called with [`Abilities::batches`].
    fn destroy_slice(&mut self, ids: &[Self::Id]) -> usize {
        ids.iter().filter(|&&id| self.destroy(id)).count()
    }

    /// Takes one id for something that is built later.
    fn reserve(&mut self) -> Self::Id {
        self.create()
    }

    /// Gives back an id that was reserved and never built; `false` if it was not alive.
    fn release(&mut self, id: Self::Id) -> bool {
        self.destroy(id)
    }

    /// Whether `id` is alive; only called with [`Abilities::exists`].
    fn exists(&mut self, _id: Self::Id) -> bool {
        unreachable!("a contender that says it can tell implements this")
    }

    /// Where `id` lies; `None` if it is not alive or has no place. Only called with
    /// [`Abilities::places`].
    fn locate(&mut self, _id: Self::Id) -> Option<Place> {
        unreachable!("a contender that says it keeps places implements this")
    }

    /// Sets where `id` lies; `false` if it is not alive. Only called with [`Abilities::places`].
    fn publish(&mut self, _id: Self::Id, _place: Place) -> bool {
        unreachable!("a contender that says it keeps places implements this")
    }

    /// Gives everything that the thread keeps back for itself to everybody.
    fn flush(&mut self) {}
}
