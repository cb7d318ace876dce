//! Processors whose queries are put together at run time: for scripts, tools, and what else is not known when the program
//! is compiled.
//!
//! A [`dynamic_processor`] takes [`DynamicQuery`]s where a typed one has parameters, and a [`dynamic_processor_with`] a closure
//! that makes them for each world. To the schedule all are alike: the order is solved by what the queries ask for, so that
//! it runs beside others, and no others touch what it is lent.

mod hearing;
mod params;
mod runner;
mod script;

pub(super) use hearing::{Hear, Hearing};
pub use params::DynamicParams;

use std::error::Error;

use crate::fragment::Lone;
use crate::processor::{ProcessorBuilder, ProcessorOutput};
use crate::query::DynamicQuery;
use crate::world::World;
use runner::Dynamic;
use script::{BoxError, Given, Made, Maker};

/// A closure as a processor whose queries were put together at run time: for scripts. It is lent a run of each, in their
/// order, the resources that they asked for, recorders of commands and senders of signals, and what was broadcast of the signals
/// that its builder [names](ProcessorBuilder::hears), asked for or not; and gives nothing back, or a
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
/// (as loading makes one: for worlds that come in the place of others there is [`dynamic_processor_with`], or a universe that
/// is [like](crate::world::Universe::like) theirs),
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
    ProcessorBuilder::new(name.into(), Box::new(Dynamic::new(queries, Given(run))))
}

/// A [`dynamic_processor`] whose queries are made for the world that it runs on, by `make`: also for one of another universe,
/// that comes in the place of its own. A [simulation](super::Simulation) with it is
/// [rolled back](super::Simulation::roll_back_to), goes on with [another world](super::Simulation::replace_world), and loads
/// one, as if its queries were typed.
///
/// A number means the same fragment in one universe alone, and those [like](crate::world::Universe::like) it. So `make` gives, beside the queries, what it has found that `run`
/// is to know: numbers, most of all. (What `run` keeps by itself stays from one world to the next.) It is called when the
/// schedule is [solved](super::Schedule::solve) on a world that is new to the processor: by the first run there, after it was
/// added, [replaced](super::Schedule::replace), or its schedule [detached](super::Schedule::detach). A run costs what one of a
/// `dynamic_processor` does. What was made for a world goes when another comes in its place, so that its fragments can end.
///
/// ```
/// use core::time::Duration;
/// use megachunk::prelude::*;
/// use megachunk::processor::dynamic_processor_with;
///
/// // A script has a name alone.
/// let wither = dynamic_processor_with(
///     "wither",
///     |world| -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
///         let health = world.registry().find("health").ok_or("there is no health")?.id();
///         Ok(([DynamicQuery::builder(world).write(health).build()?], health))
///     },
///     |&health, mut params| -> ProcessorResult {
///         for mut chunk in params.runs()[0].chunks() {
///             chunk.write(health)?.plain::<u32>()?.iter_mut().for_each(|health| *health -= 1);
///         }
///         Ok(())
///     },
/// );
/// let universe = || -> Result<Universe, FragmentError> {
///     let universe = Universe::ordered();
///     universe.registry().register_plain_as::<u32>("health")?;
///     Time::register(universe.registry())?;
///     Ok(universe)
/// };
/// let mut world = World::of(&std::sync::Arc::new(universe()?))?;
/// let ill = world.create((10_u32,))?;
/// let mut schedule = Schedule::new();
/// schedule.add(wither);
/// let mut game = Simulation::new(world, schedule);
/// let tick = Duration::from_millis(20);
/// game.advance(tick)?;
/// let saved = game.world().to_snapshot(&Default::default())?;
/// game.advance(tick)?;
/// assert_eq!(game.world().get::<u32>(ill)?, &8);
/// drop(game.roll_back_to(World::from_snapshot(&saved, universe()?, &Default::default())?));
/// assert_eq!(game.world().get::<u32>(ill)?, &9);
/// game.advance(tick)?;
/// assert_eq!(game.world().get::<u32>(ill)?, &8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Refused
/// What `make` gives back as an error, and what it panics with, the run says that asked it, as of other mistakes in what
/// processors ask for, with the processor's name; and the next run asks again. A
/// [`QueryError`](crate::query::QueryError) or [`FragmentError`](crate::fragment::FragmentError) is
/// [`ScheduleError::Query`](super::ScheduleError::Query), any other error
/// [`ScheduleError::Failed`](super::ScheduleError::Failed). Else as for a `dynamic_processor`.
#[track_caller]
pub fn dynamic_processor_with<Queries, Keys, E, R>(
    name: impl Into<String>,
    make: impl FnMut(&World) -> Result<(Queries, Keys), E> + Send + 'static,
    run: impl FnMut(&Keys, DynamicParams<'_>) -> R + Send + 'static,
) -> ProcessorBuilder
where
    Queries: IntoIterator<Item = DynamicQuery>,
    Keys: Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
    R: ProcessorOutput + 'static,
{
    let (mut make, run) = (Lone::new(make), Lone::new(run));
    let make = move |world: &World| -> Result<Made<Keys>, BoxError> {
        let (queries, keys) = make(world).map_err(Into::into)?;
        let keys = Lone::new(keys);
        Ok((queries.into_iter().collect(), keys))
    };
    let maker = Maker::new(make, run);
    ProcessorBuilder::new(name.into(), Box::new(Dynamic::new(Vec::new(), maker)))
}
