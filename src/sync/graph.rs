//! `Graph`: what has to wait for what, while several threads work it off.
//!
//! State: for each vertex how many of those before it are unfinished. Operations, on `&self`, wait-free:
//! [`finish`](Graph::finish) counts a vertex's successors down and names those that wait for nobody any
//! more; [`Bag::take`] hands the vertices of a list out, each once, with one read-modify-write.
//!
//! Invariant: between two rounds every count stands at the number of predecessors. Each edge is counted
//! down once a round, so one thread sees a count reach zero: that thread puts it back for the next round, and
//! the vertex is its own to run or to hand on.
//!
//! A [`Doorbell`] tells the thread that made it of vertices that are bound to it, one at a time: ringing is a
//! Release, answering an Acquire. The owner may park when it has found nothing: who rings wakes it.
//!
//! Orderings: counting down is a Release and an Acquire. The read-modify-writes of one count continue each
//! other's release sequence, so who takes the last one sees all that was done at every predecessor. A vertex
//! with one predecessor is not counted: who finishes that one goes on with it, or hands it on by a means that
//! synchronises. The same is true of a bag, whose counter orders nothing.

use core::fmt;

use crossbeam_utils::CachePadded;

use super::atomic::{AtomicU32, Ordering};
use super::{mutant, thread};

/// Vertices and who waits for whom.
pub struct Graph {
    /// Where each vertex's successors begin, and the end of all.
    first: Box<[u32]>,
    successors: Box<[u32]>,
    /// How many each vertex waits for.
    before: Box<[u32]>,
    waiting: Box<[AtomicU32]>,
}

impl Graph {
    /// So many vertices, and edges `(earlier, later)` between them, each once.
    ///
    /// # Panics
    /// If an edge names a vertex that there is not.
    #[must_use]
    pub fn new(vertices: usize, edges: &[(u32, u32)]) -> Self {
        let mut first = vec![0; vertices + 1];
        let mut before = vec![0; vertices];
        for &(from, to) in edges {
            first[from as usize + 1] += 1;
            before[to as usize] += 1;
        }
        for vertex in 0..vertices {
            first[vertex + 1] += first[vertex];
        }
        let mut next = first.clone();
        let mut successors = vec![0; edges.len()];
        for &(from, to) in edges {
            let place = &mut next[from as usize];
            successors[*place as usize] = to;
            *place += 1;
        }
        Self {
            first: first.into(),
            successors: successors.into(),
            waiting: before.iter().map(|&count| AtomicU32::new(count)).collect(),
            before: before.into(),
        }
    }

    /// How many vertices there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// Whether each vertex but the last has the next one alone that waits for it, and that waits for it alone.
    #[must_use]
    pub fn is_chain(&self) -> bool {
        let one = |range: &[u32]| range[1] - range[0] <= 1;
        self.first.windows(2).all(one)
            && self.before.iter().filter(|&&before| before == 0).count() <= 1
    }

    /// The vertices that wait for nobody, upwards.
    pub fn first(&self) -> impl Iterator<Item = u32> {
        let before = self.before.iter().zip(0..);
        before.filter_map(|(&before, vertex)| (before == 0).then_some(vertex))
    }

    /// A vertex is done, once a round: calls `ready` with each vertex that waits for nobody any more. They are
    /// the caller's to run, or to hand on.
    #[inline]
    pub fn finish(&self, vertex: u32, mut ready: impl FnMut(u32)) {
        let vertex = vertex as usize;
        let successors = self.first[vertex] as usize..self.first[vertex + 1] as usize;
        for &next in &self.successors[successors] {
            let before = self.before[next as usize];
            if before == 1 || self.count_down(next, before) {
                ready(next);
            }
        }
    }

    /// Whether this was the last that a vertex waited for.
    #[inline]
    fn count_down(&self, vertex: u32, before: u32) -> bool {
        let waiting = &self.waiting[vertex as usize];
        // Ordering: Release shows what was done to who counts down after this one, Acquire shows what was
        // done by those before.
        let order = mutant::ordering("graph_relaxed", Ordering::AcqRel);
        if waiting.fetch_sub(1, order) != 1 {
            return false;
        }
        if !mutant::active("graph_forgets_to_rewind") {
            // Ordering: Relaxed: the next round begins after this one has ended, for all threads.
            waiting.store(before, Ordering::Relaxed);
        }
        true
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("vertices", &self.before.len())
            .field("edges", &self.successors.len())
            .finish()
    }
}

/// Vertices that wait for nobody, for whoever has time.
#[derive(Debug)]
pub struct Bag {
    vertices: Box<[u32]>,
    /// On a line of its own: all take, and look at what lies beside the bag.
    next: CachePadded<AtomicU32>,
}

impl Bag {
    /// A bag with these vertices.
    #[must_use]
    pub fn new(vertices: impl Into<Box<[u32]>>) -> Self {
        Self {
            vertices: vertices.into(),
            next: CachePadded::new(AtomicU32::new(0)),
        }
    }

    /// How many there were.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// Whether there was none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// Whether some may be left: a load.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        // Ordering: Relaxed: who is told so takes one, or finds none.
        (self.next.load(Ordering::Relaxed) as usize) < self.vertices.len()
    }

    /// A vertex that nobody else gets; `None` if all are taken.
    #[inline]
    pub fn take(&self) -> Option<u32> {
        // Ordering: Relaxed: only uniqueness matters, here and below. Who asks again and again does not count on.
        if !self.is_open() {
            return None;
        }
        let at = if mutant::active("bag_reads_then_writes") {
            let at = self.next.load(Ordering::Relaxed);
            self.next.store(at + 1, Ordering::Relaxed);
            at
        } else {
            self.next.fetch_add(1, Ordering::Relaxed)
        };
        self.vertices.get(at as usize).copied()
    }

    /// All vertices are there again.
    pub fn refill(&mut self) {
        // Ordering: Relaxed: `&mut` comes after everybody.
        self.next.store(0, Ordering::Relaxed);
    }
}

/// Tells one thread of vertices that are bound to it: at most one is there at a time.
#[derive(Debug)]
pub struct Doorbell {
    /// A vertex and one, or 0.
    vertex: AtomicU32,
    owner: thread::Thread,
}

impl Doorbell {
    /// A doorbell of the calling thread.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "it is of a thread, which is nothing to default to"
    )]
    pub fn new() -> Self {
        Self {
            vertex: AtomicU32::new(0),
            owner: thread::current(),
        }
    }

    /// Tells the owner that a vertex waits for nobody any more.
    pub fn ring(&self, vertex: u32) {
        // Ordering: Release pairs with the Acquire in `answer`.
        // (The model cannot tell: it takes `unpark` for a Release that is seen at once.)
        self.vertex.store(vertex + 1, Ordering::Release);
        if !mutant::active("doorbell_wakes_nobody") {
            self.owner.unpark();
        }
    }

    /// The owner: the vertex that is there.
    #[inline]
    pub fn answer(&self) -> Option<u32> {
        // Ordering: Acquire pairs with the Release in `ring`. The next vertex rings when this one is done.
        let vertex = self.vertex.load(Ordering::Acquire);
        if vertex == 0 {
            return None;
        }
        self.vertex.store(0, Ordering::Relaxed);
        Some(vertex - 1)
    }
}
