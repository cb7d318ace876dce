//! The solver: in which order processors run, and which of them may not overlap.
//!
//! It is pure data, without threads. In two steps, of which the second can be taken again and again:
//!
//! 1. [`order()`] puts processors into a *line*, from what they and their groups ask for: by phase, then by
//!    *stage* (how many flushes of commands have to come before within the phase), then by before and after,
//!    then by priority, then as they were registered. Between the processors stand *joints*, which do no work:
//!    where a group begins and ends, and for optional names that nobody has. A group with many members that
//!    is before another with many members costs one edge, not one for each pair.
//! 2. [`Conflicts`] adds an edge between two processors of which one writes what the other touches, in an
//!    archetype that both match. Such an edge always points along the line: so archetypes that come later add
//!    edges and never change the line.
//!
//! A *segment* is a stretch of the line in which processors can overlap at all: it ends with the phase, with the
//! stage, and before and after a processor that is exclusive. Whoever runs the line waits at the end of each.

mod chains;
mod conflicts;
mod cycle;
mod error;
mod explain;
mod graph;
mod names;
mod nearest;
mod node;
mod order;
mod reason;
mod target;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use conflicts::Conflict;
pub(crate) use conflicts::Conflicts;
pub use error::{Relation, SolveError};
pub(crate) use explain::why;
pub(crate) use nearest::nearest;
pub(crate) use node::{GroupOrder, Node};
pub(crate) use order::{Order, VertexKind, order};
pub(crate) use reason::Reason;
pub use target::Target;
