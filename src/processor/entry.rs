//! `Entry`: a processor of a schedule, but for what is needed to run it.

use core::panic::Location;

use crate::fragment::Lone;
use crate::observer::Precedence;
use crate::processor::condition::Conditional;
use crate::processor::hook::Hook;
use crate::processor::member::Mode;
use crate::processor::needs::Needs;
use crate::processor::runner::Runner;
use crate::processor::{NetModes, Phase, ProcessorBuilder, Subscriptions, Target};
use crate::world::World;

/// What of a processor has been started. Each part by itself: one may panic when the other has been.
#[derive(Clone, Copy, Default)]
pub(super) struct Started {
    pub(super) processor: bool,
    pub(super) hook: bool,
}

/// What a schedule knows of a processor.
pub(super) struct Entry {
    pub(super) name: String,
    /// Where it was made.
    pub(super) at: &'static Location<'static>,
    /// Of one that observes: among the observers of a world.
    pub(super) precedence: Precedence,
    pub(super) phase: Phase,
    pub(super) group: String,
    pub(super) before: Vec<Target>,
    pub(super) after: Vec<Target>,
    pub(super) priority: i32,
    pub(super) net_modes: NetModes,
    pub(super) enabled: bool,
    pub(super) run_if_any_match: bool,
    /// It has conditions.
    pub(super) conditional: bool,
    /// It is to be shown who is there.
    pub(super) shows_existing: bool,
    /// A run comes to it. Not so an observer: it is called when something happens.
    pub(super) has_turns: bool,
    pub(super) main_thread: bool,
    pub(super) exclusive: bool,
    /// It has a value from run to run that lies in no world.
    pub(super) keeps: bool,
    /// Sort keys for which it is to have ids, at least.
    pub(super) pieces: u32,
    pub(super) subscriptions: Subscriptions,
    pub(super) on_start: Option<Hook>,
    pub(super) on_stop: Option<Hook>,
    /// It gets signals, and has subscribed to them.
    pub(super) subscribed: bool,
    /// What it touches; `None` until it was asked.
    pub(super) needs: Option<Needs>,
    /// What of it has been started, and not been stopped since.
    pub(super) started: Started,
}

impl Entry {
    /// Takes a builder apart.
    pub(super) fn new(
        builder: ProcessorBuilder,
        precedence: Precedence,
    ) -> (Self, Lone<Box<dyn Runner>>) {
        let entry = Self {
            name: builder.name,
            at: builder.at,
            precedence,
            phase: builder.phase,
            group: builder.group,
            before: builder.before,
            after: builder.after,
            priority: builder.priority,
            net_modes: builder.net_modes,
            enabled: builder.enabled,
            run_if_any_match: builder.run_if_any_match,
            conditional: !builder.conditions.is_empty(),
            shows_existing: builder.shows_existing,
            has_turns: builder.runner.has_turns(),
            main_thread: builder.main_thread,
            exclusive: builder.exclusive,
            keeps: builder.runner.keeps(),
            pieces: builder.pieces,
            subscriptions: builder.subscriptions,
            on_start: builder.on_start,
            on_stop: builder.on_stop,
            subscribed: false,
            needs: None,
            started: Started::default(),
        };
        let (conditions, mut runner) = (builder.conditions, builder.runner);
        runner.set_precedence(precedence);
        if builder.shows_existing {
            runner.show_existing();
        }
        let runner = match conditions.is_empty() {
            true => runner,
            false => Lone::new(Box::new(Conditional {
                conditions,
                runner,
                held: 0,
            }) as _),
        };
        (entry, runner)
    }

    /// Whether it is in the group with this path, or in one in it.
    pub(super) fn is_in(&self, path: &str) -> bool {
        let rest = self.group.strip_prefix(path);
        !path.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Starts what of it has not been started; whether all has been.
    pub(super) fn start(&mut self, runner: &mut dyn Runner, world: &mut World) -> bool {
        // Not said before: who panics there is started again by the next run, and nobody else.
        if !self.started.processor {
            if !runner.start(world) {
                return false;
            }
            self.started.processor = true;
        }
        if !self.started.hook {
            if let Some(start) = &mut self.on_start {
                start.call(world);
            }
            self.started.hook = true;
        }
        true
    }

    /// Whether it runs, as far as switches decide.
    pub(super) fn is_on(&self, net_modes: NetModes) -> bool {
        self.enabled && self.net_modes.intersects(net_modes)
    }

    /// Whether it runs, where one of its queries sees an archetype, or none does. One without queries has no match to
    /// wait for.
    pub(super) fn mode(&self, net_modes: NetModes, sees_any: bool) -> Mode {
        let has_queries = || matches!(&self.needs, Some(needs) if !needs.queries.is_empty());
        let on = self.has_turns && self.is_on(net_modes);
        let runs = on && (sees_any || !self.run_if_any_match || !has_queries());
        match runs {
            true if self.conditional => Mode::Asks,
            true => Mode::Runs,
            false => Mode::Idle,
        }
    }
}
