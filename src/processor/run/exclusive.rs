//! A processor that has the world to itself: what was recorded before comes before it, and what it records right after it.

use tracing::Span;

use crate::command::Source;
use crate::panics::note;
use crate::processor::member::Mode;
use crate::processor::report::Progress;
use crate::processor::run::Outcome;
use crate::processor::run::flush::{collect_signals, flush};
use crate::processor::runner::{Failure, Refusal};
use crate::processor::watch::Watch;
use crate::processor::{Schedule, Seen};
use crate::span;
use crate::world::World;

impl Schedule {
    /// Runs a segment's only processor with the world to itself.
    pub(super) fn run_exclusive(
        &mut self,
        world: &mut World,
        at: usize,
        phase: Option<&Span>,
        progress: &mut Progress,
        watch: &mut impl Watch,
    ) -> Outcome {
        // What was recorded before, it is to see.
        flush(world, progress, &mut self.trace);
        watch.flushed(world);
        // That too can have put another world in its place.
        self.look(world)?;
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        // What the flush has changed has another version, and so has what the one after it will.
        let first = world.next_moment();
        let segment = &mut plan.segments[at];
        segment.versions = 0..0;
        let (mut panicked, mut failed, mut ran) = (None, false, None);
        let before = world.ranks.alone();
        let heard = span::is_heard();
        for processor in segment.processors() {
            let cell = &mut self.crew[processor];
            let member = cell.get_mut();
            if member.mode == Mode::Idle {
                continue;
            }
            let rank = plan.order.position_of(processor);
            let plan = plan.names.number();
            world.ranks.set_alone(Source { plan, rank });
            let runner = &mut member.runner;
            let timing = &mut member.timing;
            let mut outcome = Ok(true);
            span::processor(heard, phase, &member.name, || {
                let measured = self.measured.then(|| timing.begin());
                note(&mut panicked, || outcome = runner.run_alone(world));
                if let Some(measured) = measured {
                    let began = measured.began;
                    let took = measured.end();
                    let has_run = match &outcome {
                        Ok(has_run) => *has_run,
                        Err(refusal) => !matches!(**refusal, Refusal::Query(_)),
                    };
                    if has_run {
                        timing.note(began, took, Seen::default());
                    }
                }
            });
            match outcome {
                _ if panicked.is_some() => {
                    member.failure = Some(Failure::Panicked(panicked.take()));
                    failed = true;
                }
                Ok(true) => {
                    ran = Some(processor);
                    if member.mode == Mode::Asks {
                        cell.hold(None);
                    }
                }
                Ok(false) => {
                    member.timing.began = None;
                    let held = member.runner.held_by();
                    cell.hold(held);
                    progress.pass_by(1);
                }
                Err(refusal) => {
                    if matches!(*refusal, Refusal::Query(_)) {
                        member.timing.began = None;
                    }
                    member.failure = Some(Failure::Refused(*refusal));
                    cell.hold(None);
                    failed = true;
                }
            }
        }
        // Another world that it has put in the place of its own has versions of its own.
        if let (Ok(true), Some(plan)) = (self.is_of(world), &mut self.plan) {
            plan.segments[at].versions = first..world.next_moment();
            world.ranks.set_alone(before);
        }
        if failed {
            return self.fail(world, at);
        }
        if let Some(processor) = ran {
            watch.ran(world, &self.entries[processor].name);
        }
        self.finish_segment(world, at, true, progress);
        // As after a flush; what it has sent, and what a schedule has that it ran.
        collect_signals(world, &mut self.trace);
        watch.flushed(world);
        Ok(())
    }
}
