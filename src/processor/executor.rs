//! The executor: runs a segment's processors, one after the other or side by side.
//!
//! Side by side: the calling thread and [helpers](crate::workers::helpers) in the current rayon pool, or
//! of a program's own, take vertices that wait for nobody, from a [bag](crate::sync::graph::Bag) those that do so at
//! the beginning, from a [queue](crate::sync::queue) those that have become free. Who has finished
//! one goes on with a vertex that has waited for it alone, and puts others into the queue. Nobody
//! ever waits for a vertex, so a job that a processor's own parallel loop runs into can only delay
//! it. Only the calling thread waits, for those who are at work, when there is nothing else that it
//! could do: if the pool has time for nobody, it does all by itself.
//!
//! What must hold: a processor is one thread's at a time, after all that it waits for (see
//! [`sync::graph`](crate::sync::graph)); no two that conflict are in no order (see the solver). The world is
//! borrowed by the run, and nothing in it moves.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;

use tracing::Span;

use crate::command::{Source, Stripes};
use crate::processor::Turn;
use crate::processor::member::{Member, Mode};
use crate::processor::runner::{Failure, Refusal};
use crate::processor::segment::{JOINT, Segment};
use crate::processor::watch::Watch;
use crate::span;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::graph::Doorbell;
use crate::workers::caller::Caller;
use crate::workers::fork_join;
use crate::workers::helpers::{Call, with_helpers};
use crate::world::World;

/// The processors of a schedule, by their numbers.
pub(super) type Crew = [MemberCell];

/// A member in a cell: who has its vertex has it.
pub(super) struct MemberCell {
    member: UnsafeCell<Member>,
    /// Which of its conditions did not hold when it was asked last, from 1 on; 0 if all did.
    held: AtomicU32,
}

// SAFETY: `Scene` lends a member to the thread alone that has its vertex.
unsafe impl Sync for MemberCell {}

impl MemberCell {
    pub(super) fn new(member: Member) -> Self {
        Self {
            member: UnsafeCell::new(member),
            held: AtomicU32::new(0),
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut Member {
        // SAFETY: `&mut self` lends nothing else.
        self.member.with_mut(|member| unsafe { &mut *member })
    }

    /// Which of its conditions did not hold when it was asked last.
    pub(super) fn held(&self) -> Option<usize> {
        // Ordering: Relaxed, here and below: it says nothing of other memory, and who asks comes after a run.
        let held = self.held.load(Ordering::Relaxed);
        (held as usize).checked_sub(1)
    }

    /// Notes which of its conditions does not hold.
    pub(super) fn hold(&self, condition: Option<usize>) {
        let held = condition.map_or(0, |condition| condition as u32 + 1);
        self.held.store(held, Ordering::Relaxed);
    }
}

/// A segment at work.
pub(super) struct Scene<'r> {
    pub(super) segment: &'r Segment,
    pub(super) crew: &'r Crew,
    pub(super) world: &'r World,
    /// The version of the first processor.
    pub(super) version: u32,
    /// The number of the plan that the segment is of.
    pub(super) plan: u32,
    pub(super) stripes: Option<Arc<Stripes>>,
    pub(super) measured: bool,
    /// Somebody listens to spans.
    pub(super) heard: bool,
    /// One of both.
    pub(super) observed: bool,
    /// The phase's span, if it is heard.
    pub(super) phase: Option<&'r Span>,
    /// A processor has failed: no other begins.
    pub(super) failed: AtomicU32,
    /// Processors whose conditions did not hold.
    pub(super) passed_by: AtomicU32,
}

impl Scene<'_> {
    /// Runs one after the other. If who is shown the world panics, no other begins, and the panic goes on.
    ///
    /// # Safety
    /// The crew is prepared for this world, and the world is this call's alone.
    pub(super) unsafe fn run_alone<W: Watch>(&self, watch: &mut W) {
        let mut version = self.version;
        for vertex in 0..self.segment.vertices.len() as u32 {
            // Ordering: Relaxed, here and below: one thread.
            let before = match W::WATCHES {
                true => self.passed_by.load(Ordering::Relaxed),
                false => 0,
            };
            // SAFETY: one thread, in order.
            unsafe { self.run(vertex, version) };
            version = version.wrapping_add(1);
            if W::WATCHES {
                if self.passed_by.load(Ordering::Relaxed) == before {
                    self.show(vertex, watch);
                }
                // Newer than all that it has seen by queries of its own; also behind who was passed by, or the world's
                // would not follow, and two of them get one.
                version = self.world.next_version();
            }
        }
    }

    /// Shows the world as it is behind a processor that has run.
    #[cold]
    fn show(&self, vertex: u32, watch: &mut impl Watch) {
        let processor = self.segment.vertices[vertex as usize];
        // Ordering: Relaxed: one thread.
        if processor == JOINT || self.failed.load(Ordering::Relaxed) != 0 {
            return;
        }
        // SAFETY: nobody else has a vertex while all run on one thread.
        let member = self.crew[processor as usize].member.with(|member| unsafe {
            let Member { mode, name, .. } = &*member;
            (*mode != Mode::Idle).then_some(&**name)
        });
        if let Some(name) = member {
            watch.ran(self.world, name);
        }
    }

    /// Runs side by side.
    ///
    /// # Safety
    /// As for [`run_alone`](Self::run_alone).
    pub(super) unsafe fn run_beside(&self) {
        let doorbell = Doorbell::new();
        let others = fork_join::threads() - 1;
        let crew = Helpers {
            scene: self,
            doorbell: &doorbell,
            others,
        };
        let mut wanted = others.min(self.segment.bag.len().saturating_sub(1));
        let caller = Caller::in_span(self.phase);
        with_helpers(
            others,
            // Who has run a vertex asks, for those that it lets go.
            |_| 0,
            |call, _| caller.help(|| crew.help(call)),
            |call| {
                call.ask(core::mem::take(&mut wanted));
                crew.help_here(call)
            },
        );
    }

    /// Runs a vertex.
    ///
    /// # Safety
    /// As for [`run_alone`](Self::run_alone); all vertices before this one are done, and it is this call's alone.
    #[inline]
    unsafe fn run(&self, vertex: u32, version: u32) {
        let processor = self.segment.vertices[vertex as usize];
        if processor == JOINT {
            return;
        }
        let cell = &self.crew[processor as usize];
        // SAFETY: the caller's: nobody else has the vertex, and a processor has one.
        let member = cell.member.with_mut(|member| unsafe { &mut *member });
        // Ordering: Relaxed: who sees it late runs one processor more.
        if member.mode == Mode::Idle || self.failed.load(Ordering::Relaxed) != 0 {
            return;
        }
        let rank = self.segment.first + vertex;
        let turn = Turn {
            version,
            rank,
            source: Source {
                plan: self.plan,
                rank,
            },
            stripes: self.stripes.as_ref(),
            first_piece: member.pieces.0,
            end_piece: member.pieces.1,
        };
        // Who has no conditions has less to tell.
        if self.observed || member.mode == Mode::Asks {
            // SAFETY: the caller's.
            let passed_by = unsafe { self.run_observed(member, turn) };
            if member.mode == Mode::Asks {
                cell.hold(match passed_by {
                    true => member.runner.held_by(),
                    false => None,
                });
            }
        } else {
            let runner = &mut member.runner;
            // SAFETY: the caller's; who conflicts is before or after.
            let failure = caught(|| unsafe { runner.run(self.world, turn) }.map(|_ran| ()));
            self.note(member, failure);
        }
    }

    /// Runs a processor, if its conditions hold, in a span of its own, and measures it, as far as that is asked for;
    /// whether it was passed by.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[cold]
    unsafe fn run_observed(&self, member: &mut Member, turn: Turn<'_>) -> bool {
        let (mut begun, mut passed_by) = (None, false);
        let Member {
            runner,
            name,
            timing,
            ..
        } = &mut *member;
        let failure = caught(|| {
            span::processor(self.heard, self.phase, name, || {
                if self.measured {
                    let seen = runner.count(self.world);
                    begun = Some((timing.begin(), seen));
                }
                // SAFETY: the caller's.
                passed_by = !unsafe { runner.run(self.world, turn) }?;
                Ok(())
            })
        });
        // Whatever has become of it, its thread is not about it any more.
        let ended = begun.map(|(measured, seen)| (measured.began, measured.end(), seen));
        match ended {
            // It has not run, and has no place in a trace.
            _ if passed_by || matches!(failure, Some(Failure::Refused(Refusal::Query(_)))) => {
                timing.began = None;
            }
            Some((began, took, seen)) => timing.note(began, took, seen),
            None => {}
        }
        if passed_by {
            // Ordering: Relaxed: who counts them comes after all threads.
            self.passed_by.fetch_add(1, Ordering::Relaxed);
        }
        self.note(member, failure);
        passed_by
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
fn caught(run: impl FnOnce() -> Result<(), Box<Refusal>>) -> Option<Failure> {
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
    /// Threads beside the caller's.
    others: usize,
}

impl Helpers<'_> {
    /// Takes what waits for nobody, until nothing is left.
    fn help(self, call: &Arc<Call>) {
        while let Some(vertex) = self.take() {
            if self.is_main(vertex) {
                self.doorbell.ring(vertex);
            } else {
                self.work(call, vertex);
            }
        }
    }

    /// The same on the schedule's own thread, which does all that is bound to it. Whether there was anything.
    fn help_here(self, call: &Arc<Call>) -> bool {
        let mut did = false;
        while let Some(vertex) = self.doorbell.answer().or_else(|| self.take()) {
            self.work(call, vertex);
            did = true;
        }
        did
    }

    /// A vertex that waits for nobody, and that nobody else gets.
    fn take(self) -> Option<u32> {
        let segment = self.scene.segment;
        segment.bag.take().or_else(|| segment.queue.take())
    }

    fn is_main(self, vertex: u32) -> bool {
        let bound = &self.scene.segment.bound;
        !bound.is_empty() && bound[vertex as usize]
    }

    /// Runs a vertex that is this thread's, and what becomes free by that.
    fn work(self, call: &Arc<Call>, vertex: u32) {
        let segment = self.scene.segment;
        let mut next = Some(vertex);
        while let Some(vertex) = next.take() {
            // SAFETY: the vertex waits for nobody, and whoever takes it, or sees its count reach zero, has it
            // alone; for the rest `run_beside`'s caller's.
            unsafe {
                self.scene
                    .run(vertex, self.scene.version.wrapping_add(vertex))
            };
            let mut more = 0;
            segment.graph.finish(vertex, |ready| {
                if self.is_main(ready) {
                    self.doorbell.ring(ready);
                } else if next.is_none() {
                    next = Some(ready);
                } else {
                    segment.queue.put(ready);
                    more += 1;
                }
            });
            if more > 0 {
                call.ask(more.min(self.others));
                call.wake();
            }
        }
    }
}
