//! A segment of a schedule: processors that run side by side or one after the other, with no flush between them.
//!
//! Must hold: all that they ask for is there before the first of them runs, or none does; and each part of the segment has a
//! version of its own.

use std::time::Instant;

use tracing::Span;

use crate::panics::tell;
use crate::processor::entry::Entry;
use crate::processor::executor::Scene;
use crate::processor::member::Mode;
use crate::processor::report::Progress;
use crate::processor::run::Outcome;
use crate::processor::run::finish::refused;
use crate::processor::run::flush::collect_now;
use crate::processor::run::stripes::stripes;
use crate::processor::watch::Watch;
use crate::processor::{Execution, Schedule};
use crate::span;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::workers::fork_join;
use crate::world::World;

impl Schedule {
    #[inline]
    pub(super) fn run_segment<W: Watch>(
        &mut self,
        world: &mut World,
        at: usize,
        phase: Option<&Span>,
        progress: &mut Progress,
        watch: &mut W,
    ) -> Outcome {
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        if plan.segments[at].found != Some(world.resources().stamp()) {
            self.find_resources(world, at)?;
        }
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        let segment = &mut plan.segments[at];
        if segment.hears {
            // Those whose time has come wait for it, too.
            collect_now(world, &mut self.trace);
        }
        progress.ran += segment.ran;
        progress.idle += segment.idle;
        if segment.exclusive {
            return self.run_exclusive(world, at, phase, progress, watch);
        }
        let version = world.begin_versions(segment.vertices.len() as u32);
        let first = world.moment(version);
        segment.versions = match W::WATCHES {
            // Whoever is shown the world makes versions between them.
            true => 0..0,
            false => first..first + segment.vertices.len() as u64,
        };
        let stripes = (segment.commands && world.universe.is_ordered())
            .then(|| stripes(world, &mut self.crew, &self.entries, segment));
        let may = !W::WATCHES && self.execution != Execution::Alone;
        let free = segment.wide && may && fork_join::threads() > 1;
        let tried = free && self.execution == Execution::Auto;
        let beside = free && (!tried || segment.habit.choose(&mut progress.trial));
        if tried && segment.habit.begins_trial() {
            let first = segment.processors().next();
            tell_of_trial(world, beside, first.map(|first| &self.entries[first]));
        }
        if beside {
            segment.bag.refill();
            segment.queue.clear();
        }
        // A look at the clock takes longer than some processors.
        let began = tried.then(Instant::now);
        let heard = span::is_heard();
        let scene = Scene {
            segment,
            crew: &self.crew,
            world,
            version,
            plan: plan.names.number(),
            stripes,
            measured: self.measured,
            heard,
            observed: self.measured || heard,
            phase,
            failed: AtomicU32::new(0),
            passed_by: AtomicU32::new(0),
        };
        // SAFETY: the crew was prepared in `solve` for the world that this still is, as `look` has seen, and which is
        // this call's alone.
        unsafe {
            if beside {
                scene.run_beside();
            } else {
                scene.run_alone(watch);
            }
        }
        // Ordering: Relaxed: all threads are done.
        let failed = scene.failed.load(Ordering::Relaxed) != 0;
        progress.pass_by(scene.passed_by.load(Ordering::Relaxed) as usize);
        if let Some(began) = began {
            let took = began.elapsed().as_nanos();
            let took = u64::try_from(took).unwrap_or(u64::MAX);
            segment.habit.note(beside, took);
        }
        if failed {
            return self.fail(world, at);
        }
        let flush_follows = segment.flush;
        self.finish_segment(world, at, flush_follows, progress);
        if flush_follows {
            watch.flushed(world);
        }
        Ok(())
    }

    /// Sees to it that what a segment's processors ask for is there: of several that miss something, which is named, and
    /// who has run by then, would depend on who is quicker. Not for those with conditions, which need not hold. (Who has
    /// the world to itself asks for nothing.)
    #[cold]
    fn find_resources(&mut self, world: &mut World, at: usize) -> Outcome {
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        let segment = &mut plan.segments[at];
        for processor in segment.processors() {
            let member = self.crew[processor].get_mut();
            if member.mode != Mode::Runs {
                continue;
            }
            if let Some(error) = member.runner.missing(world) {
                return Err(refused(&self.entries[processor].name, error, world));
            }
        }
        segment.found = Some(world.resources().stamp());
        Ok(())
    }
}

/// Says that processors run the other way than is their habit, to see which is quicker.
#[cold]
fn tell_of_trial(world: &World, beside: bool, first: Option<&Entry>) {
    tell(|| {
        tracing::debug!(
            name: "execution_tried",
            target: "megachunk::schedule",
            world = %world.seat,
            beside,
            first = first.map(|entry| &*entry.name),
            "processors are tried another way, which may take longer"
        );
    });
}
