//! `DynamicParams`: what a processor is lent whose queries were put together at run time.

use core::fmt;

use smallvec::SmallVec;

use crate::command::{ParallelCommands, Turn};
use crate::processor::dynamic::Hearing;
use crate::query::{DynamicResources, DynamicRun, QueryError};
use crate::signal::{Heard, ParallelSignals};
use crate::world::World;

/// What a [`dynamic_processor`](super::dynamic_processor) is lent for a run: a run of each of its queries, resources,
/// recorders and senders.
#[must_use = "a query does nothing until it is run"]
pub struct DynamicParams<'w> {
    /// Must hold: no two see an archetype of which both lend the same, one of them to write.
    pub(super) runs: SmallVec<[DynamicRun<'w>; 8]>,
    pub(super) resources: DynamicResources<'w>,
    /// Have read what was broadcast.
    pub(super) hearings: &'w [Hearing],
    pub(super) world: &'w World,
    pub(super) turn: Turn<'w>,
}

impl<'w> DynamicParams<'w> {
    /// The queries on the world, to be run, in the order in which they were given. No two lend the same in a way that
    /// conflicts: two at a time can be gone through, one within the other, say.
    ///
    /// What takes a run by value is asked of one that is [lent on](DynamicRun::reborrow_mut).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::processor::dynamic_processor;
    ///
    /// let mut world = World::new();
    /// let (mass, pull) = (world.registry().register::<f32>()?.id(), world.registry().register::<f64>()?.id());
    /// let planet = world.create((2.0_f32, 0.0_f64))?;
    /// world.create((3.0_f32,))?;
    /// let queries = [
    ///     DynamicQuery::builder(&world).write(pull).build()?,
    ///     DynamicQuery::builder(&world).read(mass).build()?,
    /// ];
    /// let mut schedule = Schedule::new();
    /// schedule.add(dynamic_processor("pull", queries, move |mut params| -> ProcessorResult {
    ///     let [pulled, masses] = params.runs() else { unreachable!("there are two queries") };
    ///     for mut chunk in pulled.chunks() {
    ///         for pull in chunk.write(pull)?.slice::<f64>()? {
    ///             masses.for_each_chunk(|mut chunk| {
    ///                 let masses = chunk.read(mass).unwrap().slice::<f32>().unwrap();
    ///                 *pull += masses.iter().map(|&mass| f64::from(mass)).sum::<f64>();
    ///             });
    ///         }
    ///     }
    ///     Ok(())
    /// }));
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.get::<f64>(planet)?, &5.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn runs(&mut self) -> &mut [DynamicRun<'w>] {
        &mut self.runs
    }

    /// The resources that the queries asked for, those of all of them together; all are there. What is lent of them is lent
    /// for the whole run.
    #[must_use]
    pub fn resources(&mut self) -> &mut DynamicResources<'w> {
        &mut self.resources
    }

    /// What was broadcast since it ran last by the signals that carry a `P` and that its builder
    /// [named](crate::processor::ProcessorBuilder::hears): what a parameter [`Heard<P>`](Heard) is to a typed processor. As
    /// often as it is asked for; it counts as heard by this run in any case. O(types that it hears).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::processor::dynamic_processor;
    ///
    /// /// What a script is told: whatever that is, for the host it has one type.
    /// struct Said(String);
    ///
    /// let mut world = World::new();
    /// let opened = world.signal::<Said>("door opened")?;
    /// world.resources_mut().insert(String::new());
    /// let log = DynamicQuery::builder(&world).write_resource::<String>().build()?;
    /// let script = dynamic_processor("log", [log], |mut params| -> ProcessorResult {
    ///     let heard = params.heard::<Said>()?;
    ///     let log = params.resources().write::<String>()?;
    ///     heard.iter().for_each(|said| log.push_str(&said.0));
    ///     Ok(())
    /// });
    /// let mut schedule = Schedule::new();
    /// schedule.add(script.hears::<Said>("door opened"));
    /// schedule.run(&mut world)?;
    /// world.signals().broadcast(opened, Said("creak".into()));
    /// schedule.run(&mut world)?;
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.resources().get::<String>().unwrap(), "creak");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::NotAsked`], unless its builder said [`hears::<P>`](crate::processor::ProcessorBuilder::hears) or
    /// [`hears_type::<P>`](crate::processor::ProcessorBuilder::hears_type).
    pub fn heard<P: Send + Sync + 'static>(&self) -> Result<Heard<'w, P>, QueryError> {
        let mut all = self.hearings.iter();
        let heard = all.find_map(|hearing| hearing.heard(self.world));
        heard.ok_or_else(|| QueryError::NotAsked {
            name: core::any::type_name::<P>().into(),
        })
    }

    /// Recorders of commands, which are flushed after the phase, or before: see [`Schedule`](crate::processor::Schedule).
    /// O(1), as often as you like: those of one processor are in the order of their sort keys, and then of their opening.
    #[must_use]
    pub fn commands(&self) -> ParallelCommands {
        ParallelCommands::of_turn(self.world, self.turn)
    }

    /// Senders of signals. O(1).
    #[must_use]
    pub fn signals(&self) -> ParallelSignals {
        ParallelSignals::of_rank(self.world, self.turn.rank)
    }
}

impl fmt::Debug for DynamicParams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicParams")
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}
