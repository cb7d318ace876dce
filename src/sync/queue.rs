//! `Queue`: vertices that have become free, for whoever has time.
//!
//! State: a place for each vertex of a graph, which holds a vertex and one, or 0; where the next
//! one is put, and where the next one is taken. Operations, on `&self`: [`put`](Queue::put),
//! wait-free, reserves a place and writes to it; [`take`](Queue::take), lock-free, moves on over a
//! place that is written. [`clear`](Queue::clear), on `&mut self`, begins a round.
//!
//! Invariant: a vertex becomes free once a round, so there is a place for each, and none is used
//! twice: what was read in a place is what is there when the compare-and-swap of the count
//! succeeds, which is the linearization point of taking. Who has reserved a place and not written
//! to it yet hides those behind, and of two who put something there at once each may miss what the
//! other has put: [`take`](Queue::take) finds nothing then. What is left so is found by who looks
//! after seeing both leave (see [`gate`](super::gate)).
//!
//! Orderings: putting is a Release and taking an Acquire of the place: who takes a vertex sees what was done by who
//! put it there. The counts order nothing.

use crossbeam_utils::CachePadded;

use super::atomic::{AtomicU32, Ordering};
use super::mutant;

/// Vertices that have become free.
#[derive(Debug)]
pub struct Queue {
    places: Box<[AtomicU32]>,
    put: CachePadded<AtomicU32>,
    taken: CachePadded<AtomicU32>,
}

impl Queue {
    /// An empty one, for so many vertices a round.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self {
            places: (0..room).map(|_| AtomicU32::new(0)).collect(),
            put: CachePadded::new(AtomicU32::new(0)),
            taken: CachePadded::new(AtomicU32::new(0)),
        }
    }

    /// Adds a vertex.
    ///
    /// # Panics
    /// If there is no room.
    pub fn put(&self, vertex: u32) {
        // Ordering: Relaxed: only uniqueness matters.
        let at = self.put.fetch_add(1, Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire in `take`.
        let order = mutant::ordering("queue_relaxed", Ordering::Release);
        self.places[at as usize].store(vertex + 1, order);
    }

    /// A vertex that nobody else gets; `None` if none is found.
    pub fn take(&self) -> Option<u32> {
        // Ordering: Relaxed: the place says more.
        let mut at = self.taken.load(Ordering::Relaxed);
        loop {
            // Ordering: Acquire pairs with the Release in `put`.
            let vertex = self.places.get(at as usize)?.load(Ordering::Acquire);
            if vertex == 0 {
                return None;
            }
            if mutant::active("queue_reads_then_writes") {
                self.taken.store(at + 1, Ordering::Relaxed);
                return Some(vertex - 1);
            }
            // Ordering: Relaxed: only uniqueness matters.
            let moved =
                self.taken
                    .compare_exchange_weak(at, at + 1, Ordering::Relaxed, Ordering::Relaxed);
            match moved {
                Ok(_) => return Some(vertex - 1),
                Err(now) => at = now,
            }
        }
    }

    /// Empties it, for another round.
    pub fn clear(&mut self) {
        // Ordering: Relaxed, all of them: `&mut` comes after everybody.
        let used = self.put.load(Ordering::Relaxed) as usize;
        for place in &self.places[..used] {
            place.store(0, Ordering::Relaxed);
        }
        self.put.store(0, Ordering::Relaxed);
        self.taken.store(0, Ordering::Relaxed);
    }
}
