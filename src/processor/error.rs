//! What can be wrong with a schedule, as a type.

use core::any::type_name;
use core::error::Error;
use core::fmt;

use crate::command::ParallelCommands;
use crate::entity::Entity;
use crate::processor::{Local, NextState, ProcessorError, SolveError, State, Time};
use crate::query::{Query, QueryError, QueryLookup, QueryRun};
use crate::signal::{ParallelSignals, SignalError, Signalled};
use crate::world::{World, WorldError};

/// A schedule was refused, or a run of it was broken off. Its text includes its cause's; [`source`](Error::source) is
/// therefore the cause's own source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The order that processors ask for cannot be had.
    Order(SolveError),
    /// A processor's query was refused.
    #[non_exhaustive]
    Query {
        /// The processor's name.
        processor: Box<str>,
        /// Why.
        error: QueryError,
    },
    /// Two parameters of one processor lend the same, one of them to write.
    #[non_exhaustive]
    Aliased {
        /// The processor's name.
        processor: Box<str>,
        /// The name of the fragment or resource.
        name: Box<str>,
        /// Whether it is a resource.
        resource: bool,
        /// What their queries exclude each other by, if they do, in vain: it can be switched off, and the rows of both lie
        /// in one chunk.
        apart_by: Option<Box<str>>,
    },
    /// A signal was refused.
    #[non_exhaustive]
    Signal {
        /// The processor's name.
        processor: Box<str>,
        /// Why.
        error: SignalError,
    },
    /// A resource that a processor asks for is not there. What had been recorded before stays for the next flush.
    #[non_exhaustive]
    NoResource {
        /// The processor's name.
        processor: Box<str>,
        /// The resource's name.
        name: Box<str>,
        /// Whether it is a fragment's name, too: then a query is meant, perhaps.
        is_fragment: bool,
    },
    /// A processor gave an error back, or has [no queries](crate::processor::dynamic_processor_with) for its world. The run ends when those are done that run beside it; what all have
    /// recorded stays for the next flush. To the processor's queries what [has changed](crate::query::Changed) is seen, and
    /// what it was signalled is heard, as if it had come to its end. Two of these are equal only if one is a clone of the
    /// other.
    #[non_exhaustive]
    Failed {
        /// The processor's name.
        processor: Box<str>,
        /// What it said.
        error: ProcessorError,
    },
    /// A handle was refused.
    #[non_exhaustive]
    World {
        /// The processor's name.
        processor: Box<str>,
        /// Why.
        error: WorldError,
    },
    /// An observer is called when what it observes happens: it has no turn for which a
    /// [condition](crate::processor::ProcessorBuilder::run_if) could be asked.
    #[non_exhaustive]
    NoTurn {
        /// The processor's name.
        processor: Box<str>,
    },
    /// Only an observer can be [shown](crate::processor::ProcessorBuilder::show_existing) who is there.
    #[non_exhaustive]
    ShowsNothing {
        /// The processor's name.
        processor: Box<str>,
    },
    /// There is no processor of this name.
    #[non_exhaustive]
    NoProcessor {
        /// What was asked for.
        name: Box<str>,
        /// The nearest name that there is.
        nearest: Option<Box<str>>,
    },
    /// What is asked for is not known: the schedule was not solved for this world, or archetypes have come since.
    NotSolved,
    /// The schedule has run on another world before.
    OtherWorld,
    /// The [parameters](crate::processor::Params) were made for another world.
    #[non_exhaustive]
    OtherParamsWorld {
        /// Which.
        params: Box<str>,
    },
    /// A processor does not hear any signal, but takes some.
    #[non_exhaustive]
    HearsNothing {
        /// The processor's name.
        processor: Box<str>,
    },
    /// A processor hears signals, but takes none, or none of this kind.
    #[non_exhaustive]
    HearsInVain {
        /// The processor's name.
        processor: Box<str>,
    },
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(error) => error.fmt(f),
            Self::Query { processor, error } => write!(f, "processor `{processor}`: {error}"),
            Self::Signal { processor, error } => write!(f, "processor `{processor}`: {error}"),
            Self::Failed { processor, error } => write!(f, "processor `{processor}`: {error}"),
            Self::World { processor, error } => write!(f, "processor `{processor}`: {error}"),
            Self::Aliased {
                processor,
                name,
                resource,
                apart_by,
            } => write!(
                f,
                "processor `{processor}`: two of its parameters take {name}, and one writes it; {}",
                apart(*resource, apart_by.as_deref())
            ),
            Self::NoResource {
                processor,
                name,
                is_fragment,
            } => write!(
                f,
                "processor `{processor}` asks for the resource {name}, which the world does not have{}",
                advice(name, *is_fragment)
            ),
            Self::NoTurn { processor } => write!(
                f,
                "processor `{processor}` is an observer, and cannot have a condition: ask in its closure"
            ),
            Self::ShowsNothing { processor } => write!(
                f,
                "processor `{processor}` does not observe, and is shown nothing: its queries see who is there"
            ),
            Self::NoProcessor { name, nearest } => write!(
                f,
                "the schedule has no processor `{name}`{}",
                hint(nearest.as_deref())
            ),
            Self::NotSolved => f.write_str(
                "the schedule has not been solved for the world as it is now: `solve` it first",
            ),
            Self::OtherWorld => {
                f.write_str("the schedule has run on another world before: `detach` it first")
            }
            Self::OtherParamsWorld { params } => write!(
                f,
                "the parameters {params} were made for another world: make new ones of this"
            ),
            Self::HearsNothing { processor } => write!(
                f,
                "processor `{processor}` takes signals, but subscribes to none: say which by `hears` or `hears_type`"
            ),
            Self::HearsInVain { processor } => write!(
                f,
                "processor `{processor}` subscribes to signals, but takes none: give it a parameter `Signalled`, or a `Heard` of what they carry"
            ),
        }
    }
}

// By hand, as the causes have been shown: who goes from source to source is told nothing twice.
impl Error for ScheduleError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Order(error) => error.source(),
            Self::Query { error, .. } => error.source(),
            Self::Signal { error, .. } => error.source(),
            Self::Failed { error, .. } => error.source(),
            Self::World { error, .. } => error.source(),
            _ => None,
        }
    }
}

impl From<SolveError> for ScheduleError {
    fn from(error: SolveError) -> Self {
        Self::Order(error)
    }
}

/// What to do about two parameters that lend the same.
fn apart(resource: bool, apart_by: Option<&str>) -> String {
    match (resource, apart_by) {
        (true, _) => "make them one".into(),
        (false, None) => "let one query exclude what the other asks for, or make them one".into(),
        (false, Some(name)) => format!(
            "they exclude each other by {name}, which can be switched off: exclude by a fragment that cannot be, or make them one"
        ),
    }
}

/// What to do about a resource that is not there, if it is none: any `&T` is taken for one.
fn advice(resource: &str, is_fragment: bool) -> &'static str {
    let name = |full: &str| full.split('<').next().map(ToOwned::to_owned);
    let is = |full: &str| name(full) == name(resource);
    let of_states = [type_name::<State<()>>(), type_name::<NextState<()>>()];
    let by_value = [
        type_name::<ParallelCommands>(),
        type_name::<ParallelSignals>(),
        type_name::<QueryRun<'static, Entity>>(),
        type_name::<QueryLookup<'static, Entity>>(),
        type_name::<Signalled<'static>>(),
        type_name::<Local<'static, ()>>(),
    ];
    match () {
        () if is(type_name::<Query<Entity>>()) => {
            "; the schedule makes a processor's queries: take a `QueryRun<…>` of the same, by value, and not a `&Query<…>`"
        }
        () if is(type_name::<World>()) => {
            "; who takes the world itself is made by `exclusive_processor`, and takes `&mut World`"
        }
        () if is(type_name::<Time>()) => "; a `Simulation` puts it there before each tick",
        () if of_states.into_iter().any(is) => "; `World::init_state` puts it there",
        () if by_value.into_iter().any(is) => {
            "; it is no resource, but a parameter by itself: take it by value, not by reference"
        }
        () if is_fragment => {
            "; it is a fragment: the entities that have one are lent by a `QueryRun<&…>`, and not by `&…`"
        }
        () => "; `resources_mut().insert` puts it there, and `Option<&…>` asks whether it is",
    }
}

fn hint(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("; is `{name}` meant?"))
}
