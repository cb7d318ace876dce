//! `Needs`: what a processor touches.

use core::any::TypeId;

use crate::archetype::Archetype;
use crate::query::{Requirements, ResourceAccess};

/// What a processor touches: the solver keeps those apart that must not touch the same at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// What its queries ask for, with the resources that they lend beside.
    pub(crate) queries: Vec<Requirements>,
    /// Which of them look entities up, and walk none: their places, upwards.
    pub(crate) lookups: Vec<usize>,
    /// Of an observer: whom it is told of.
    pub(crate) observes: Option<Requirements>,
    /// The types of all these.
    pub(crate) types: Vec<&'static str>,
    /// Resources that it takes otherwise.
    pub(crate) resources: ResourceAccess,
    /// It takes the whole world: nothing runs beside it.
    pub(crate) exclusive: bool,
    /// It records commands, by one recorder; by one for each piece of work.
    pub(crate) commands: bool,
    pub(crate) parallel_commands: bool,
    /// It gets signals, or hears what is broadcast.
    pub(crate) hears: bool,
    /// Among them all that its builder names.
    pub(crate) takes_named: bool,
    /// The types of what it hears that is broadcast.
    pub(crate) heard: Vec<TypeId>,
}

impl Needs {
    /// What the queries ask for that walk entities.
    pub(crate) fn walked(&self) -> impl Iterator<Item = &Requirements> {
        let all = self.queries.iter().enumerate();
        all.filter(|(at, _)| !self.lookups.contains(at))
            .map(|(_, query)| query)
    }
}

/// Whether a query with these requirements sees an archetype.
#[inline]
pub(crate) fn sees(requirements: &Requirements, archetype: &Archetype) -> bool {
    let switches = requirements.switches();
    requirements.met_by(archetype)
        // A composition that is older than the switch has none.
        && (switches.is_empty() || switches.iter().all(|id| archetype.enabled_of(id).is_some()))
}
