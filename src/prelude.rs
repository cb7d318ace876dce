//! What nearly every program names: `use megachunk::prelude::*;`.
//!
//! In it is what stands in the code of systems, kinds of entities and the loop of a game: worlds, entities, bundles and the
//! roles of their fragments; queries, their filters and their runs; commands; processors and what they are given; schedules,
//! simulations and apps; signals, observers, relations and indices; traits, templates and spawners; saving. With them come
//! the errors of all that, which functions of a program return, and of what is known at run time only as much as a script
//! begins with.
//!
//! Not in it is what closures are given and seldom name, what most programs do without, and what serves who writes a library
//! upon this one. Nor are the entity index and the chunk allocator, which stand alone: they are
//! `megachunk::{EntityIndex, MegachunkAllocator}`. Each item has one home, the room that its documentation is in; this is a second
//! way to it.
//!
//! ```
//! use megachunk::prelude::*;
//! // Who keeps an observer's number to end it names where that lives.
//! use megachunk::observer::ObserverId;
//!
//! fn count(world: &mut World) -> Result<ObserverId, QueryError> {
//!     world.resources_mut().insert(0_usize);
//!     world.observe::<u32, Without<char>>(Observed::COME, |batch, _| {
//!         *batch.resources_mut().get_mut::<usize>().unwrap() += batch.len();
//!     })
//! }
//!
//! let mut world = World::new();
//! let counting = count(&mut world)?;
//! world.create((1_u32,))?;
//! assert!(world.unobserve(counting));
//! assert_eq!(world.resources().get::<usize>(), Some(&1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(all(feature = "world", not(loom)))]
pub use crate::command::{Commands, FlushReport, ParallelCommands};
pub use crate::entity::Entity;
#[cfg(feature = "world")]
pub use crate::entity::EntityMap;
#[cfg(all(feature = "world", not(loom)))]
pub use crate::fragment::{
    Bundle, ConstShared, DynamicBundle, Fragment, FragmentError, FragmentId, FragmentRegistry,
    PerChunk, Shared, Value,
};
#[cfg(all(feature = "world", not(loom)))]
pub use crate::index::{ChangeLog, Relationship, RelationshipIndex, ValueIndex};
#[cfg(all(feature = "world", not(loom)))]
pub use crate::observer::{Observed, ObservedBatch};
#[cfg(all(feature = "world", not(loom)))]
pub use crate::processor::param::Local;
#[cfg(all(feature = "world", not(loom)))]
pub use crate::processor::{
    App, AppError, Execution, NextState, Phase, Processor, ProcessorBuilder, ProcessorResult, Rate,
    Schedule, ScheduleError, Simulation, State, Target, Time, WithinState, dynamic_processor,
    exclusive_processor, observing_processor, processor, state_transition,
};
#[cfg(all(feature = "world", not(loom)))]
pub use crate::query::{
    Any, Changed, ChunkView, DynamicQuery, Enabled, Has, Moved, Or, Query, QueryError, QueryLookup,
    QueryRun, With, Without,
};
#[cfg(all(feature = "world", not(loom)))]
pub use crate::signal::{
    BroadcastReader, Heard, ParallelSignals, Signal, SignalError, SignalReader, Signalled, Signals,
};
#[cfg(all(feature = "world", not(loom)))]
pub use crate::template::spawner::{SpawnError, Spawner};
#[cfg(all(feature = "world", not(loom)))]
pub use crate::template::{BuildContext, EntityTrait, Template, TemplateBuilder, TraitError};
#[cfg(all(feature = "config", not(loom)))]
pub use crate::template::{TemplateRegistry, TraitRegistry};
#[cfg(all(feature = "world", not(loom)))]
pub use crate::world::{
    Budget, LoadOptions, Prototype, SnapshotError, SnapshotOptions, Universe, World, WorldError,
};
