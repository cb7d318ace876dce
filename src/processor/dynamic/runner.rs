//! `Dynamic`: a closure as a processor whose queries are put together at run time.
//!
//! Must hold: what its queries lend, and the resources that they ask for, the schedule knows by
//! [`prepare`](Runner::prepare), which refuses those that would lend the same to two runs; so `run` lends all at once.

use core::any::type_name;
use core::marker::PhantomData;

use crate::exactly::Exactly;
use crate::fragment::{FragmentError, FragmentKind};
use crate::panics::Panicked;
use crate::processor::dynamic::script::{BoxError, Script};
use crate::processor::dynamic::{DynamicParams, Hearing};
use crate::processor::param::Plea;
use crate::processor::runner::{Refusal, Runner};
use crate::processor::{ProcessorOutput, ScheduleError, Seen, Subscriptions, Turn};
use crate::query::{DynamicQuery, DynamicResources, QueryError, Requirements, ResourceAccess};
use crate::world::World;

/// A script as a processor, with its queries.
pub(super) struct Dynamic<S, R> {
    queries: Vec<DynamicQuery>,
    /// What resources they ask for, each once; known since it was prepared.
    access: ResourceAccess,
    /// Which resources the world had when all of those were there.
    found: Option<u64>,
    /// What it hears that is broadcast, a reader for each type.
    hearings: Vec<Hearing>,
    script: S,
    of: Exactly<R>,
}

impl<S, R> Dynamic<S, R> {
    pub(super) fn new(queries: Vec<DynamicQuery>, script: S) -> Self {
        Self {
            queries,
            access: ResourceAccess::default(),
            found: None,
            hearings: Vec::new(),
            script,
            of: PhantomData,
        }
    }

    /// Begins anew, on a world that is not known yet.
    fn begin_anew(&mut self) {
        self.access = ResourceAccess::default();
        self.found = None;
        self.hearings = Vec::new();
        self.queries.iter_mut().for_each(DynamicQuery::begin_anew);
    }

    /// The first resource that is asked for and not there.
    fn lacks(&self, world: &World) -> Option<QueryError> {
        let asked = self.access.reads().iter().chain(self.access.writes());
        let missing = asked.copied().find(|&id| !world.resources().has(id))?;
        Some(QueryError::NoResource {
            name: missing.name().into(),
        })
    }

    /// Sees to it that all resources are there.
    #[cold]
    fn find_resources(&mut self, world: &World) -> Result<(), Box<Refusal>> {
        match self.lacks(world) {
            Some(error) => Err(Box::new(Refusal::Query(error))),
            None => {
                self.found = Some(world.resources().stamp());
                Ok(())
            }
        }
    }
}

impl<S: Script<R>, R: ProcessorOutput> Runner for Dynamic<S, R> {
    fn prepare(&mut self, world: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
        let asked = self.script.ask(world, &mut self.queries);
        asked.map_err(|error| has_none(plea, error))?;
        self.begin_anew();
        for query in &self.queries {
            if !query.is_for(world) {
                return Err(plea.refuse(QueryError::OtherUniverse));
            }
            let requirements = query.requirements();
            refuse_chunk_values(world, requirements).map_err(|error| plea.refuse(error))?;
            if let Some(id) = self.access.conflict_with(requirements.resources()) {
                return Err(plea.aliased(id.name(), true));
            }
            self.access.extend(requirements.resources());
            plea.query(world, requirements, type_name::<DynamicQuery>())?;
        }
        plea.needs.resources = self.access.clone();
        plea.needs.parallel_commands = true;
        if let Some(subscriptions) = plea.subscriptions {
            self.hearings = subscriptions.hearings();
            plea.needs.hears = !self.hearings.is_empty();
            let heard = self.hearings.iter().map(|hearing| hearing.carries);
            plea.needs.heard.extend(heard);
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.begin_anew();
        self.script.forget(&mut self.queries);
    }

    fn hear(
        &mut self,
        world: &mut World,
        subscriptions: Option<&Subscriptions>,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        let mut hearings = self.hearings.iter_mut();
        hearings.try_for_each(|hearing| {
            (hearing.reader).hear(world, subscriptions, processor, panicked)
        })
    }

    fn discard(&mut self, world: &mut World, panicked: &mut Panicked) -> usize {
        let hearings = self.hearings.iter_mut();
        let discarded = hearings.map(|hearing| hearing.reader.discard(world, panicked));
        discarded.sum()
    }

    fn start(&mut self, _: &mut World) -> bool {
        true
    }

    fn stop(&mut self, _: &mut World) {}

    fn missing(&self, world: &mut World) -> Option<QueryError> {
        self.lacks(world)
    }

    unsafe fn run(&mut self, world: &World, turn: Turn<'_>) -> Result<bool, Box<Refusal>> {
        // Before the queries: for those a run that does not take place has not been one.
        if self.found != Some(world.resources().stamp()) {
            self.find_resources(world)?;
        }
        for hearing in &mut self.hearings {
            hearing.reader.read(world);
        }
        let queries = self.queries.iter_mut();
        // SAFETY: the caller's: this is the world that `prepare` has seen, which has told what the queries lend, and has
        // refused those of which two lend the same; archetypes that make two do so are `Aliases`' to refuse.
        let runs = queries.map(|query| unsafe { query.run_at(world, turn.version) });
        let params = DynamicParams {
            runs: runs.collect(),
            // SAFETY: the caller's, in the same way.
            resources: unsafe { DynamicResources::new(world.resources(), &self.access) },
            hearings: &self.hearings,
            world,
            turn,
        };
        match self.script.run(params).into_result() {
            Ok(()) => Ok(true),
            Err(error) => Err(Box::new(Refusal::Failed(error))),
        }
    }

    fn count(&mut self, world: &World) -> Seen {
        let mut seen = Seen::default();
        for query in &mut self.queries {
            query.count_chunks(world, |rows, sees| {
                if sees {
                    seen.chunks += 1;
                    seen.entities += rows;
                } else {
                    seen.skipped += 1;
                }
            });
        }
        seen
    }
}

/// A script has no queries for a world: if one was refused, that is said as of any other.
fn has_none(plea: &Plea<'_>, error: BoxError) -> ScheduleError {
    let error = match error.downcast::<QueryError>() {
        Ok(error) => return plea.refuse(*error),
        Err(error) => error,
    };
    match error.downcast::<FragmentError>() {
        Ok(error) => plea.refuse((*error).into()),
        Err(error) => plea.failed(error),
    }
}

/// Refuses to write chunk fragments: of all chunks that a query sees anybody may read them, who need not have asked for
/// them.
fn refuse_chunk_values(world: &World, requirements: &Requirements) -> Result<(), QueryError> {
    let written = requirements.writes().iter();
    let mut infos = written.filter_map(|id| world.registry().get(id));
    match infos.find(|info| info.kind() == FragmentKind::Chunk) {
        Some(info) => Err(QueryError::Writes {
            name: info.name().into(),
        }),
        None => Ok(()),
    }
}
