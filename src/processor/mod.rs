//! The processor room: what runs each frame, in which order, and what at the same time.
//!
//! A [`Processor`], or a closure made one by [`processor()`], takes [parameters](param) by type: queries,
//! resources, recorders of commands, signals. By them a [`Schedule`] knows what it touches. It solves the order once,
//! and runs the processors phase by phase, side by side where they touch nothing in common; the world
//! after a run is the same, bit for bit, for any number of threads, if its universe is
//! [ordered](crate::world::Universe::ordered). In a plain one values and rows are, and ids may differ, and with them what
//! goes by their order: [indices](crate::index) list entities so, and rows follow where such a list is destroyed. (After
//! a run in which a processor has panicked it may be another: see [`Schedule`]; and of shared values that are equal, and
//! can be told apart all the same, any may be the one that stays: see
//! [`open_at`](crate::command::ParallelCommands::open_at).)

mod alias;
mod app;
mod builder;
mod composite;
mod condition;
mod draw;
mod dynamic;
mod entry;
mod error;
mod execution;
mod executor;
mod explain;
mod function;
mod handover;
mod hook;
mod member;
mod needs;
mod net_modes;
mod observing;
mod output;
pub mod param;
mod params;
mod phase;
mod picture;
mod plan;
#[expect(clippy::module_inception, reason = "the noun of the room")]
mod processor;
#[cfg(feature = "inventory")]
#[doc(hidden)]
pub mod registered;
mod report;
mod run;
mod runner;
mod schedule;
mod segment;
mod solver;
mod standing;
mod state;
mod stopwatch;
mod subscriptions;
mod tied;
mod timings;
mod trace;
pub mod translator;
#[cfg(not(feature = "inventory"))]
mod unregistered;
mod watch;

use crate::command::Turn;
pub use app::{App, AppError, Broken, Rate, Simulation, SimulationReport, Time};
pub use builder::{ProcessorBuilder, exclusive_processor, processor};
pub use composite::Composite;
pub use condition::{Asks, ConditionFn};
pub use dynamic::{DynamicParams, dynamic_processor, dynamic_processor_with};
pub use error::ScheduleError;
pub use execution::Execution;
pub use explain::{MatchExplanation, Overlap, QueryExplanation};
pub use function::{ProcessorFn, Takes};
pub use member::Timing;
pub use net_modes::NetModes;
pub use observing::observing_processor;
pub use output::{ProcessorError, ProcessorOutput, ProcessorResult};
use param::{Local, Param, Seen};
pub use params::Params;
pub use phase::Phase;
pub use processor::Processor;
pub use report::ScheduleReport;
pub use schedule::{ProcessorInfo, Schedule};
pub(crate) use solver::nearest;
pub use solver::{Relation, SolveError, Target};
pub use standing::Standing;
pub use state::{NextState, State, States, Transition, WithinState, state_transition};
#[doc(hidden)]
pub use subscriptions::Subscriptions;
pub use tied::Tied;
pub use trace::Trace;
