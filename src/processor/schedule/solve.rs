//! Solving: what processors touch, in which order they run, who is started, and who is passed by.

use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::panics::{Panicked, note, resume};
use crate::processor::member::Mode;
use crate::processor::needs::Needs;
use crate::processor::param::Plea;
use crate::processor::plan::Plan;
use crate::processor::run::Outcome;
use crate::processor::runner::{by_name, panic_by_name};
use crate::processor::trace::Kind;
use crate::processor::{Schedule, ScheduleError};
use crate::span;
use crate::world::{Seat, World};

impl Schedule {
    /// Finds what the processors touch and in which order they run, and starts those that were not started.
    /// A run does that too, where something has changed: after
    /// [`collect_archetypes`](World::collect_archetypes), say, which lets a world's archetypes be looked at anew. Called
    /// in the same quiet moment, this takes it out of the next frame.
    ///
    /// # Errors
    /// [`ScheduleError`]: whatever is wrong with the order, a query, a signal or other parameters of a processor, or with its
    /// conditions; [`OtherWorld`](ScheduleError::OtherWorld).
    ///
    /// # Panics
    /// If a processor does when it starts or stops, or what it [keeps](crate::processor::param::Local) is made: with its name. If the `drop`
    /// of a signal's payload does, that nobody wants.
    #[inline]
    pub fn solve(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        self.solve_if_new(world).map_err(|error| *error)
    }

    #[inline]
    pub(in crate::processor) fn solve_if_new(&mut self, world: &mut World) -> Outcome {
        if !self.restless && self.has_seen(world) {
            return Ok(());
        }
        self.solve_anew(world).map_err(Box::new)
    }

    #[cold]
    fn solve_anew(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        let (anew, archetypes) = (self.plan.is_none(), self.unseen(world));
        let seat = Arc::clone(&world.seat);
        self.noting(&seat, anew, archetypes, |schedule| {
            schedule.solve_now(world)
        })
    }

    /// Solves in a span of its own, and with a place in the trace.
    fn noting(
        &mut self,
        seat: &Seat,
        anew: bool,
        archetypes: usize,
        solve: impl FnOnce(&mut Self) -> Result<(), ScheduleError>,
    ) -> Result<(), ScheduleError> {
        let began = self.trace.is_some().then(Instant::now);
        let solves = || span::solve(anew, archetypes, seat, || solve(self));
        let solved = catch_unwind(AssertUnwindSafe(solves));
        if let (Some(trace), Some(began)) = (&mut self.trace, began) {
            trace.note(Kind::Solve, began, Some(archetypes as u64));
        }
        solved.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// How many of the world's archetypes have not been looked at.
    fn unseen(&self, world: &World) -> usize {
        let plan = self.plan.as_ref();
        plan.map_or(world.archetypes.len(), |plan| plan.unseen(world))
    }

    fn solve_now(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        self.attach(world)?;
        if self.plan.is_none() {
            self.prepare(world)?;
            self.plan = Some(Plan::new(&self.entries, &self.groups)?);
            self.restless = true;
        }
        if self.restless {
            self.subscribe(world)?;
            self.settle(world);
        }
        self.look_now(world)
    }

    /// Asks the processors that were not asked yet what they need.
    fn prepare(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        for (entry, member) in self.entries.iter_mut().zip(&mut self.crew) {
            if entry.needs.is_some() {
                continue;
            }
            let mut needs = Needs::default();
            let mut plea = Plea {
                processor: &entry.name,
                needs: &mut needs,
                subscriptions: Some(&entry.subscriptions),
            };
            let runner = &mut member.get_mut().runner;
            // A `Local` is made by users' code.
            by_name(&entry.name, || runner.prepare(world, &mut plea))?;
            if entry.subscriptions.are_in_vain(&needs) {
                return Err(ScheduleError::HearsInVain {
                    processor: entry.name.as_str().into(),
                });
            }
            if entry.shows_existing && entry.has_turns {
                return Err(ScheduleError::ShowsNothing {
                    processor: entry.name.as_str().into(),
                });
            }
            entry.needs = Some(needs);
        }
        Ok(())
    }

    /// Those of these net modes subscribe to what they hear. Others would never take what is kept for them. All have, when a
    /// panic goes on of what nobody wants: who subscribed anew would miss what is sent until then.
    fn subscribe(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        let mut panicked = None;
        let subscribed = self.subscribe_noting(world, &mut panicked);
        resume(panicked);
        subscribed
    }

    fn subscribe_noting(
        &mut self,
        world: &mut World,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        for (entry, member) in self.entries.iter_mut().zip(&mut self.crew) {
            let hears = entry.needs.as_ref().is_some_and(|needs| needs.hears);
            let hears = hears && entry.net_modes.intersects(self.net_modes);
            if hears != entry.subscribed {
                let subscriptions = hears.then_some(&entry.subscriptions);
                let runner = &mut member.get_mut().runner;
                let heard = runner.hear(world, subscriptions, &entry.name, panicked);
                if heard.is_err() {
                    // What it has subscribed to by then would be kept, and never read.
                    let _ = runner.hear(world, None, &entry.name, panicked);
                }
                heard?;
                entry.subscribed = hears;
            }
        }
        Ok(())
    }

    /// Starts and stops those that were switched on or off.
    fn settle(&mut self, world: &mut World) {
        let mut waits = false;
        for at in 0..self.entries.len() {
            let entry = &mut self.entries[at];
            if !entry.is_on(self.net_modes) {
                self.stop_one(world, at);
                continue;
            }
            let runner = &mut self.crew[at].get_mut().runner;
            let mut panicked = None;
            note(&mut panicked, || {
                waits |= !entry.start(runner.as_mut(), world)
            });
            if panicked.is_some() {
                panic_by_name(&entry.name, panicked);
            }
        }
        self.restless = waits;
        if let Some(plan) = &mut self.plan
            && plan.aliases.look_again()
        {
            plan.look_again();
        }
        self.pass_by();
    }

    /// Says which processors are passed by.
    fn pass_by(&mut self) {
        let Some(plan) = &mut self.plan else { return };
        for (at, (entry, member)) in self.entries.iter().zip(&mut self.crew).enumerate() {
            let position = plan.order.position_of(at);
            member.get_mut().mode = entry.mode(self.net_modes, plan.conflicts.sees_any(position));
        }
        for segment in &mut plan.segments {
            let (mut ran, mut idle) = (0, 0);
            for processor in segment.processors() {
                match self.crew[processor].get_mut().mode {
                    Mode::Idle => idle += usize::from(self.entries[processor].has_turns),
                    Mode::Runs | Mode::Asks => ran += 1,
                }
            }
            (segment.ran, segment.idle) = (ran, idle);
            // Those that run may be others.
            segment.found = None;
        }
    }

    /// Looks at the archetypes that have come. Before each segment: who has the world to itself can have put another
    /// one in its place, for which nothing is prepared.
    #[inline]
    pub(in crate::processor) fn look(&mut self, world: &World) -> Outcome {
        if self.has_seen(world) {
            return Ok(());
        }
        self.look_closer(world).map_err(Box::new)
    }

    /// Whether this world is its own, and no archetype has come since the last look.
    #[inline]
    fn has_seen(&self, world: &World) -> bool {
        // A plan goes with the world that it is for, and has seen none but that.
        self.plan.as_ref().is_some_and(|plan| plan.has_seen(world))
    }

    #[cold]
    fn look_closer(&mut self, world: &World) -> Result<(), ScheduleError> {
        let archetypes = self.unseen(world);
        self.noting(&world.seat, false, archetypes, |schedule| {
            schedule.look_now(world)
        })
    }

    fn look_now(&mut self, world: &World) -> Result<(), ScheduleError> {
        if !self.is_of(world)? {
            return Err(ScheduleError::OtherWorld);
        }
        let Some(plan) = &mut self.plan else {
            return Ok(());
        };
        if !plan.look(world) {
            return Ok(());
        }
        if let Some((at, clash)) = plan.aliases.look(world, &self.entries, self.net_modes) {
            plan.look_again();
            return Err(clash.refuse(&self.entries[at].name, world));
        }
        self.pass_by();
        Ok(())
    }
}
