//! `Unsaved`: what a file would not have of a world.

use core::any::TypeId;
use core::fmt;
use std::collections::HashSet;

use crate::hashers::ByTypes;
use crate::world::World;
use crate::world::snapshot::SnapshotOptions;

/// What a [save](World::save) would leave out of a world that nobody has said is to be left out: [`World::unsaved`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsaved {
    /// Types of resources that are not registered as [part of the
    /// state](crate::fragment::FragmentRegistry::register_state), in the order of their names.
    pub resources: Vec<&'static str>,
    /// Delayed signals (and calls that [cancel](crate::signal::Signals::cancel) some) that were not collected, are for somebody who is not built or in another world, or carry what is not
    /// part of the state.
    pub delayed_signals: usize,
    /// Delayed signals that were collected, for entities that have died since: nobody would ever get them, and
    /// [`is_empty`](Self::is_empty) does not ask for them. A world that goes on counts them when their time comes
    /// ([`Delivery::dead`](crate::signal::Delivery::dead)), one that is loaded does not.
    pub dead_signals: usize,
    /// Other signals, that wait to be read, or for their entities to be built.
    pub signals: usize,
    /// Entities that recorders have created.
    pub entities: usize,
    /// Other commands.
    pub commands: usize,
}

impl Unsaved {
    /// Whether nothing would be left out, but for signals for [the dead](Self::dead_signals).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            resources,
            delayed_signals,
            dead_signals: _,
            signals,
            entities,
            commands,
        } = self;
        resources.is_empty() && [delayed_signals, signals, entities, commands] == [&0; 4]
    }
}

impl fmt::Display for Unsaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for resource in &self.resources {
            parts.push(format!("the resource {resource}"));
        }
        for (count, what) in [
            (self.delayed_signals, "delayed signals"),
            (self.dead_signals, "delayed signals for the dead"),
            (self.signals, "signals"),
            (self.entities, "recorded entities"),
            (self.commands, "commands"),
        ] {
            if count > 0 {
                parts.push(format!("{what}: {count}"));
            }
        }
        match parts.is_empty() {
            true => f.write_str("nothing is left out"),
            false => write!(f, "not saved: {}", parts.join(", ")),
        }
    }
}

impl World {
    /// What a save with these options would leave out silently: neither saved nor [skipped by name](SnapshotOptions). A
    /// program, or its tests, can see by it that nothing is forgotten. (Of fragments nothing is left out without an
    /// error; what never is in a file, as observers, is not counted, nor is a
    /// [`Signal`](crate::signal::Signal) that is kept as a resource: a world that is loaded is asked for its own.) Exact
    /// while nobody else records or sends. O(recorders, signals and how many wait, resources, types that are part of the state).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Map(Vec<u8>);
    ///
    /// let mut world = World::new();
    /// assert!(world.unsaved(&SnapshotOptions::new()).is_empty());
    /// world.resources_mut().insert(Map(vec![1, 2]));
    /// world.commands().create((1_u8,))?;
    /// let unsaved = world.unsaved(&SnapshotOptions::new()).to_string();
    /// assert!(unsaved.starts_with("not saved: the resource ") && unsaved.ends_with("::Map, recorded entities: 1"));
    /// let options = SnapshotOptions::new().skip_resource::<Map>();
    /// assert!(world.flush().is_clean() && world.unsaved(&options).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unsaved(&self, options: &SnapshotOptions) -> Unsaved {
        let registry = self.registry();
        let states = registry.state_forms().map(|form| form.type_id());
        let states: HashSet<TypeId, ByTypes> = states.collect();
        let is_state = |of: TypeId| states.contains(&of);
        // Saved, or left out because it was said so.
        let is_told = |of: TypeId| is_state(of) || options.skips_signals_of(of);
        let resources = self.resources.types();
        let told = self.tell_waiting();
        // What names a signal of this world is no state: a world that is loaded has signals of its own.
        let is_counted = |of: TypeId| !is_state(of) && !told.handles.contains(&of);
        let left_out = resources.filter(|&(of, _)| !options.skips_resource(of) && is_counted(of));
        let mut resources: Vec<&'static str> = left_out.map(|(_, name)| name).collect();
        resources.sort_unstable();
        let pending = self.pending();
        let (mut saved, mut dead_signals) = (0, 0);
        for told in &told.signals {
            if told.is_broadcast() || options.skips_signals_of(told.signal.carries) {
                saved += usize::from(is_told(told.signal.carries));
            } else if !self.universe().exists(told.waiting.entity) {
                dead_signals += 1;
            } else if self.is_built(told.waiting.entity) && is_state(told.signal.carries) {
                saved += 1;
            }
        }
        let delayed_signals = pending.delayed_signals.saturating_sub(saved + dead_signals);
        let (delayed_signals, dead_signals) = match options.skips_signals() {
            true => (0, 0),
            false => (delayed_signals, dead_signals),
        };
        Unsaved {
            resources,
            delayed_signals,
            dead_signals,
            signals: pending.signals,
            entities: pending.entities,
            commands: pending.commands,
        }
    }
}
