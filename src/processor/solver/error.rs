//! What can be wrong with an order, as a type.

use core::fmt;

use crate::processor::Phase;

/// What was asked for cannot be brought into an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// Two processors have one name.
    #[error("two processors are called `{name}`{}", places(.first.as_ref(), .second.as_ref()))]
    #[non_exhaustive]
    Twice {
        /// Their name.
        name: String,
        /// Where the first was made: file, line and column.
        first: Option<String>,
        /// Where the second was.
        second: Option<String>,
    },
    /// A name is that of a processor and the path of a group.
    #[error("`{name}` is a processor and a group")]
    #[non_exhaustive]
    Ambiguous {
        /// The name.
        name: String,
    },
    /// A group's path has an empty part.
    #[error("the path `{path}` of a group has an empty part")]
    #[non_exhaustive]
    EmptyPart {
        /// The path.
        path: String,
    },
    /// A group's path has more than 64 parts.
    #[error("the path `{path}` of a group has {parts} parts, and may have 64")]
    #[non_exhaustive]
    TooDeep {
        /// The path.
        path: String,
        /// How many parts it has.
        parts: usize,
    },
    /// A name that nobody has.
    #[error("{asker} is to run {relation} `{target}`, which is no processor and no group{}", hint(.nearest.as_deref()))]
    #[non_exhaustive]
    Unknown {
        /// Who asked: a processor's name, or "group" and a path.
        asker: String,
        /// Whether it is to run before or after.
        relation: Relation,
        /// The name that it asked for.
        target: String,
        /// The known name that is most like it.
        nearest: Option<String>,
    },
    /// An order that is contrary to that of the phases.
    #[error(
        "{asker} is to run {relation} {target}, but it is in {asker_phase}, and the other in {target_phase}"
    )]
    #[non_exhaustive]
    Phases {
        /// Who asked: a processor's name, or "group" and a path.
        asker: String,
        /// Its phase.
        asker_phase: Phase,
        /// Whether it is to run before or after.
        relation: Relation,
        /// The other: a processor's name, or "group" and a path.
        target: String,
        /// The other's phase.
        target_phase: Phase,
    },
    /// A cycle.
    #[error("the order is a cycle: {}", .path.join(" -> "))]
    #[non_exhaustive]
    Cycle {
        /// Each runs before the next; the last one is the first one again. Processors' names, and "group" and a path.
        path: Vec<String>,
    },
}

/// On which side of a target something is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Before it.
    Before,
    /// After it.
    After,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "before",
            Self::After => "after",
        })
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(": did you mean `{name}`?"))
}

/// Where two processors were made, as an error ends.
fn places(first: Option<&String>, second: Option<&String>) -> String {
    match (first, second) {
        (Some(first), Some(second)) => format!(": one is made at {first}, one at {second}"),
        _ => String::new(),
    }
}
