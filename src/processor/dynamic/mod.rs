//! Processors whose queries are put together at run time: for scripts, tools, and what else is not known when the program
//! is compiled.
//!
//! A [`dynamic_processor`] takes [`DynamicQuery`]s where a typed one has parameters. To the schedule both are alike: the
//! order is solved by what the queries ask for, so that it runs beside others, and no others touch what it is lent.

mod params;
mod runner;

pub use params::DynamicParams;

use crate::processor::{ProcessorBuilder, ProcessorOutput};
use crate::query::DynamicQuery;
use runner::Dynamic;

/// A closure as a processor whose queries were put together at run time: for scripts. It is lent a run of each, in their
/// order, the resources that they asked for, and recorders of commands and senders of signals; and gives nothing back, or a
/// `Result`, of which an error [ends the run](ProcessorOutput).
///
/// All else is as for a typed [`processor`](super::processor()): it runs beside others that touch nothing that it does, with
/// the same result for any number of threads; what its queries look for changes [since](crate::query::Changed) is its own
/// last run; it is passed by where [nothing matches](ProcessorBuilder::run_if_any_match), if that is asked for;
/// [measured](super::Schedule::set_measured), [explained](super::Schedule::explain_overlap), and placed by its builder. It
/// counts as one that takes [`ParallelCommands`](crate::command::ParallelCommands): what is recorded between two flushes is
/// flushed behind it.
///
/// The queries begin anew with the schedule's first run on a world, whatever they have seen before. A run costs O(queries),
/// and allocates nothing for up to eight of them.
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::prelude::*;
/// use megachunk::processor::dynamic_processor;
///
/// let mut world = World::new();
/// // What a script has named: the program knows no type of this name.
/// let health = world.registry().define_plain("health", Layout::new::<u32>())?.id();
/// let ill = world.registry().define_plain("ill", Layout::new::<()>())?.id();
/// for value in [1_u32, 50] {
///     let health = Value::from_bytes(world.registry(), health, &value.to_ne_bytes())?;
///     let ill = Value::from_bytes(world.registry(), ill, &[])?;
///     world.create_dynamic(DynamicBundle::new().with(health).with(ill))?;
/// }
///
/// let sick = DynamicQuery::builder(&world).write(health).with(ill).read_resource::<u32>().build()?;
/// world.resources_mut().insert(10_u32);
/// let mut schedule = Schedule::new();
/// schedule.add(
///     dynamic_processor("wither", [sick], move |mut params| -> ProcessorResult {
///         let (strength, commands) = (*params.resources().read::<u32>()?, params.commands());
///         for mut chunk in params.runs()[0].chunks() {
///             let healths = chunk.write(health)?.plain::<u32>()?;
///             let mut commands = commands.open_at(chunk.sort_key());
///             for row in chunk.rows() {
///                 healths[row] = healths[row].saturating_sub(strength);
///                 if healths[row] == 0 {
///                     commands.destroy(chunk.entities()[row]);
///                 }
///             }
///         }
///         Ok(())
///     })
///     .phase(Phase::DuringPhysics),
/// );
/// schedule.run(&mut world)?;
/// assert_eq!(world.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Refused
/// Nothing is checked before the schedule is [solved](super::Schedule::solve). Then
/// [`ScheduleError::Aliased`](super::ScheduleError::Aliased) is the error, as for a typed one, if two of the queries lend
/// the same, one of them to write: of entities that both may see, or a resource; and
/// [`ScheduleError::Query`](super::ScheduleError::Query) with
/// [`QueryError::OtherUniverse`](crate::query::QueryError::OtherUniverse) if a query was built for worlds of another universe
/// (so a [simulation](super::Simulation) with one has its processor [replaced](super::Schedule::replace), by one with queries
/// of the new universe, when it goes on with a world that was loaded: loading makes a universe),
/// or with [`QueryError::Writes`](crate::query::QueryError::Writes) if it writes a chunk fragment. (Any query may
/// [look at](crate::query::ChunkView::chunk_fragment) those of the chunks that it sees, without saying so: they are written
/// by who has the world to itself, an [`exclusive_processor`](super::exclusive_processor).) A resource that is not there is
/// an error of the run, [`ScheduleError::NoResource`](super::ScheduleError::NoResource).
#[track_caller]
pub fn dynamic_processor<R: ProcessorOutput + 'static>(
    name: impl Into<String>,
    queries: impl IntoIterator<Item = DynamicQuery>,
    run: impl FnMut(DynamicParams<'_>) -> R + Send + 'static,
) -> ProcessorBuilder {
    let queries = queries.into_iter().collect();
    ProcessorBuilder::new(name.into(), Box::new(Dynamic::new(queries, run)))
}
