//! `Node` and `GroupOrder`: what the solver is told of a processor, and of a group.

use core::panic::Location;

use crate::processor::solver::Target;

/// A processor, as the solver sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Where it was made.
    pub(crate) at: Option<&'static Location<'static>>,
    /// From 0 on, in the order of the phases.
    pub(crate) phase: u8,
    /// A path as "A.B"; empty for none.
    pub(crate) group: String,
    pub(crate) before: Vec<Target>,
    pub(crate) after: Vec<Target>,
    /// Among processors that could come next, the one with the highest does.
    pub(crate) priority: i32,
    /// Nothing may run beside it.
    pub(crate) exclusive: bool,
}

/// What a group asks for: it holds for all its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupOrder {
    pub(crate) path: String,
    /// Nobody need be in it.
    pub(crate) optional: bool,
    pub(crate) before: Vec<Target>,
    pub(crate) after: Vec<Target>,
}
