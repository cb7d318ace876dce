//! What the models of the entity index have in common.

use std::fmt;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use megachunk::entity::{Entity, EntityIndex, Place};
use megachunk::sync::geometry::SLOTS;
use megachunk::sync::model::ThreadCache;

/// An index with nothing in it.
#[must_use]
pub fn empty() -> Arc<EntityIndex> {
    Arc::new(EntityIndex::new())
}

/// An index in which all slots are taken but those in `free`, which nobody keeps, and the entities
/// by their slots (those in `free` are dead).
///
/// # Panics
/// If creating or destroying fails.
#[must_use]
pub fn all_taken_but(free: &[u32]) -> (Arc<EntityIndex>, Vec<Entity>) {
    let index = empty();
    let mut entities = vec![Entity::PLACEHOLDER; SLOTS as usize];
    index
        .create_slice(&mut entities)
        .expect("all slots are free");
    entities.sort_unstable();
    for &slot in free {
        index.destroy(entities[slot as usize]).expect("it lives");
    }
    (index, entities)
}

/// How many entities can still be created, when all threads have been joined. Creates them.
///
/// # Panics
/// If there are more than slots, or the index contradicts itself: a hint hides what is free, a slot is lost.
#[must_use]
pub fn room(index: &EntityIndex) -> usize {
    index.check().expect("an index without contradictions");
    let room = (0..=SLOTS).take_while(|_| index.create().is_ok()).count();
    assert!(room <= SLOTS as usize, "a slot was given out twice");
    room
}

/// A thread that keeps a cache until it is joined.
pub struct Thread<R> {
    handle: JoinHandle<(R, Box<dyn ThreadCache>)>,
}

impl<R> fmt::Debug for Thread<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").finish_non_exhaustive()
    }
}

/// Runs `work` on a thread of its own, which has a cache. Who joins it gives the cache back, as the
/// thread's end would: that is no part of the model unless `work` calls `flush`.
pub fn spawn<R: 'static>(
    index: &Arc<EntityIndex>,
    work: impl FnOnce(&EntityIndex) -> R + 'static,
) -> Thread<R> {
    spawn_with(Box::new(index.thread_cache()), index, work)
}

/// As [`spawn`], with a cache that has something in it. No other thread uses that any more.
pub fn spawn_with<R: 'static>(
    cache: Box<dyn ThreadCache>,
    index: &Arc<EntityIndex>,
    work: impl FnOnce(&EntityIndex) -> R + 'static,
) -> Thread<R> {
    let index = Arc::clone(index);
    // Of one type, so that loom's threads are compiled once for each kind of result and not for each model.
    let work: Box<dyn FnOnce(&EntityIndex) -> R> = Box::new(work);
    let thread: Box<dyn FnOnce() -> (R, Box<dyn ThreadCache>)> = Box::new(move || {
        cache.adopt();
        (work(&index), cache)
    });
    let handle = thread::spawn(thread);
    Thread { handle }
}

impl<R> Thread<R> {
    /// What the thread's work came to; its cache is given back.
    ///
    /// # Panics
    /// If the thread panicked.
    pub fn join(self) -> R {
        let (result, _cache) = self.handle.join().expect("no panic");
        result
    }
}

/// Some place.
///
/// # Panics
/// If `row` is out of range.
#[must_use]
pub fn place(row: u32) -> Place {
    Place::new(1, row).expect("chunk and row are in range")
}

/// A handle from its parts.
///
/// # Panics
/// If `version` is even.
#[must_use]
pub fn handle(index: u32, version: u32) -> Entity {
    Entity::new(index, version).expect("versions of entities are odd")
}
