//! The executor: runs a segment's processors, one after the other or side by side.
//!
//! Side by side: the calling thread and jobs in the current rayon pool take vertices that wait for nobody from a
//! [bag](Bag). Who has finished one goes on with a vertex that has waited for it alone, and leaves
//! others as jobs. Nobody ever waits for a vertex, so a job that a processor's own parallel loop runs into can
//! only delay it. Only the calling thread waits, for vertices that are bound to it, when there is nothing else
//! that it could do.
//!
//! What must hold: a processor is one thread's at a time, after all that it waits for (see
//! [`sync::graph`](crate::sync::graph)); no two that conflict are in no order (see the solver). The world is
//! borrowed by the run, and nothing in it moves.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Instant;

use rayon::Scope;

use crate::command::Stripes;
use crate::processor::member::{Member, Mode};
use crate::processor::runner::Failure;
use crate::processor::segment::{JOINT, Segment};
use crate::processor::{Turn, span};
use crate::query::QueryError;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::graph::{Bag, Doorbell};
use crate::sync::{UnsafeCell, thread};
use crate::world::World;

/// The processors of a schedule, by their numbers.
pub(super) type Crew = [MemberCell];

/// A member in a cell: who has its vertex has it.
pub(super) struct MemberCell(UnsafeCell<Member>);

// SAFETY: `Scene` lends a member to the thread alone that has its vertex.
unsafe impl Sync for MemberCell {}

impl MemberCell {
    pub(super) fn new(member: Member) -> Self {
        Self(UnsafeCell::new(member))
    }

    pub(super) fn get_mut(&mut self) -> &mut Member {
        // SAFETY: `&mut self` lends nothing else.
        self.0.with_mut(|member| unsafe { &mut *member })
    }
}

/// Vertices of which so many became free at once are left in a bag, fewer as a job each.
const FEW: usize = 4;

/// How long a thread of a pool sleeps at a time while it waits for a vertex.
const NAP: Duration = Duration::from_micros(100);

/// A segment at work.
pub(super) struct Scene<'r> {
    pub(super) segment: &'r Segment,
    pub(super) crew: &'r Crew,
    pub(super) world: &'r World,
    /// The version of the first processor.
    pub(super) version: u32,
    pub(super) stripes: Option<Arc<Stripes>>,
    pub(super) measured: bool,
    /// It is measured, or somebody listens to spans.
    pub(super) observed: bool,
    /// A processor has failed: no other begins.
    pub(super) failed: AtomicU32,
    /// Processors whose conditions did not hold.
    pub(super) passed_by: AtomicU32,
}

impl Scene<'_> {
    /// Runs one after the other.
    ///
    /// # Safety
    /// The crew is prepared for this world, and the world is this call's alone.
    pub(super) unsafe fn run_alone(&self) {
        for vertex in 0..self.segment.vertices.len() as u32 {
            // SAFETY: one thread, in order.
            unsafe { self.run(vertex) };
        }
    }

    /// Runs side by side.
    ///
    /// # Safety
    /// As for [`run_alone`](Self::run_alone).
    pub(super) unsafe fn run_beside(&self) {
        let doorbell = Doorbell::new();
        let bag = &self.segment.bag;
        let crew = Helpers {
            scene: self,
            doorbell: &doorbell,
        };
        rayon::in_place_scope(|scope| {
            let others = rayon::current_num_threads() - 1;
            for _ in 0..others.min(bag.len().saturating_sub(1)) {
                scope.spawn(move |scope| crew.empty(scope, bag));
            }
            crew.empty_here(scope, bag);
        });
    }

    /// Runs a vertex.
    ///
    /// # Safety
    /// As for [`run_alone`](Self::run_alone); all vertices before this one are done, and it is this call's alone.
    #[inline]
    unsafe fn run(&self, vertex: u32) {
        let processor = self.segment.vertices[vertex as usize];
        if processor == JOINT {
            return;
        }
        let member = &self.crew[processor as usize].0;
        // SAFETY: the caller's: nobody else has the vertex, and a processor has one.
        let member = member.with_mut(|member| unsafe { &mut *member });
        // Ordering: Relaxed: who sees it late runs one processor more.
        if member.mode == Mode::Idle || self.failed.load(Ordering::Relaxed) != 0 {
            return;
        }
        let turn = Turn {
            version: self.version.wrapping_add(vertex),
            rank: self.segment.first + vertex,
            stripes: self.stripes.as_ref(),
            first_piece: member.pieces.0,
            end_piece: member.pieces.1,
        };
        // Who has no conditions has less to tell.
        if self.observed || member.mode == Mode::Asks {
            // SAFETY: the caller's.
            unsafe { self.run_observed(member, turn) };
        } else {
            let runner = &mut member.runner;
            // SAFETY: the caller's; who conflicts is before or after.
            let failure = caught(|| unsafe { runner.run(self.world, turn) }.map(|_ran| ()));
            self.note(member, failure);
        }
    }

    /// Runs a processor, if its conditions hold, in a span of its own, and measures it, as far as that is asked for.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[cold]
    unsafe fn run_observed(&self, member: &mut Member, turn: Turn<'_>) {
        let (mut began, mut ran) = (None, true);
        let runner = &mut member.runner;
        let failure = caught(|| {
            span::processor(&member.name, || {
                if self.measured {
                    let seen = runner.count(self.world);
                    began = Some((Instant::now(), seen));
                }
                // SAFETY: the caller's.
                ran = unsafe { runner.run(self.world, turn) }?;
                Ok(())
            })
        });
        match began {
            _ if !ran => {
                // It has no place in a trace.
                member.timing.began = None;
                // Ordering: Relaxed: who counts them comes after all threads.
                self.passed_by.fetch_add(1, Ordering::Relaxed);
            }
            Some((began, seen)) => member.timing.note(began, seen),
            None => {}
        }
        self.note(member, failure);
    }

    /// A processor has run.
    #[inline]
    fn note(&self, member: &mut Member, failure: Option<Failure>) {
        if failure.is_some() {
            member.failure = failure;
            // Ordering: Relaxed: as in `run`; who collects failures comes after all threads.
            self.failed.store(1, Ordering::Relaxed);
        }
    }
}

/// Runs all of a processor: who unwinds from there leaves those that wait for it waiting.
#[inline]
fn caught(run: impl FnOnce() -> Result<(), Box<QueryError>>) -> Option<Failure> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(Failure::Refused(*error)),
        Err(panic) => Some(Failure::Panicked(Some(panic))),
    }
}

/// Those who work on a segment side by side.
#[derive(Clone, Copy)]
struct Helpers<'s> {
    scene: &'s Scene<'s>,
    doorbell: &'s Doorbell,
}

impl<'s> Helpers<'s> {
    /// Takes what is in a bag.
    fn empty(self, scope: &Scope<'s>, bag: &Bag) {
        while let Some(vertex) = bag.take() {
            if self.is_main(vertex) {
                self.doorbell.ring(vertex);
            } else {
                self.work(scope, vertex);
            }
        }
    }

    /// The same on the schedule's own thread, which goes on until all that is bound to it is done.
    fn empty_here(self, scope: &Scope<'s>, bag: &Bag) {
        let mut left = self.scene.segment.main.len();
        loop {
            while left > 0
                && let Some(vertex) = self.doorbell.answer()
            {
                left -= 1;
                self.work(scope, vertex);
            }
            match bag.take() {
                Some(vertex) if self.is_main(vertex) => {
                    left -= 1;
                    self.work(scope, vertex);
                }
                Some(vertex) => self.work(scope, vertex),
                None => break,
            }
        }
        for _ in 0..left {
            let vertex = self.doorbell.wait(|| match rayon::yield_now() {
                Some(rayon::Yield::Executed) => true,
                // A pool's own thread: what it waits for may wait for a job that only this thread can do, a broadcast,
                // and nobody wakes it for that.
                Some(rayon::Yield::Idle) => {
                    thread::park_timeout(NAP);
                    true
                }
                None => false,
            });
            self.work(scope, vertex);
        }
    }

    fn is_main(self, vertex: u32) -> bool {
        let main = &self.scene.segment.main;
        !main.is_empty() && main.contains(&vertex)
    }

    /// Runs a vertex that is this thread's, and what becomes free by that.
    fn work(self, scope: &Scope<'s>, vertex: u32) {
        let mut more: Vec<u32> = Vec::new();
        let mut next = Some(vertex);
        while let Some(vertex) = next.take() {
            // SAFETY: the vertex waits for nobody, and whoever takes it from the bag, or sees its count reach
            // zero, has it alone; for the rest `run_beside`'s caller's.
            unsafe { self.scene.run(vertex) };
            self.scene.segment.graph.finish(vertex, |ready| {
                if self.is_main(ready) {
                    self.doorbell.ring(ready);
                } else if next.is_none() {
                    next = Some(ready);
                } else {
                    more.push(ready);
                }
            });
            if more.len() <= FEW {
                for vertex in more.drain(..) {
                    scope.spawn(move |scope| self.work(scope, vertex));
                }
            } else {
                let bag = Arc::new(Bag::new(core::mem::take(&mut more)));
                for _ in 0..rayon::current_num_threads().min(bag.len()) {
                    let bag = Arc::clone(&bag);
                    scope.spawn(move |scope| self.empty(scope, &bag));
                }
            }
        }
    }
}
