//! Explanations: why a processor does not see an entity, and why two may not run side by side.

use core::fmt;

use crate::entity::Entity;
use crate::processor::solver::why;
use crate::processor::{Schedule, ScheduleError};
use crate::query::{Mismatch, composition, write_all};
use crate::world::{World, WorldError};

/// Whether, and why not, the queries of a processor see an entity's composition: from [`Schedule::explain_match`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchExplanation {
    /// The processor's name.
    pub processor: String,
    /// The names of what the entity is made of; with the role of what is no fragment or tag, here
    /// and in what is against it.
    pub composition: Vec<String>,
    /// Its queries, in the order of its parameters; of an observer, whom it is told of.
    pub queries: Vec<QueryExplanation>,
}

/// Whether, and why not, one query of a processor sees an entity's composition: of a [`MatchExplanation`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryExplanation {
    /// The type of the query: `(what it lends, its filter)`; of an observer the filter.
    pub of_type: &'static str,
    /// What is against it; empty if it sees the entity.
    pub mismatches: Vec<Mismatch>,
}

impl fmt::Display for MatchExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.composition.join(", ");
        write!(f, "processor `{}` and {{{of}}}:", self.processor)?;
        if self.queries.is_empty() {
            write!(f, " it has no queries")?;
        }
        for query in &self.queries {
            write!(f, "\n  {query}")?;
        }
        Ok(())
    }
}

impl fmt::Display for QueryExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.of_type)?;
        write_all(f, &self.mismatches, "sees it")
    }
}

/// How two processors stand to each other: from [`Schedule::explain_overlap`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// They may run side by side.
    May,
    /// They are one and the same, which never runs beside itself.
    Same,
    /// They are in different phases.
    Phases {
        /// The one that runs first.
        first: String,
    },
    /// They are apart by a flush, or one of them has the world to itself.
    Apart {
        /// The one that runs first.
        first: String,
    },
    /// One waits for the other.
    Waits {
        /// From the first to the last: each with why the next one waits for it.
        path: Vec<(String, String)>,
        /// The last.
        last: String,
        /// What the two touch both, of which one writes it; nothing, if they wait only because of others.
        both: Vec<String>,
    },
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::May => write!(f, "they may run side by side"),
            Self::Same => write!(f, "they are one and the same processor"),
            Self::Phases { first } => write!(f, "`{first}` is in an earlier phase"),
            Self::Apart { first } => write!(
                f,
                "`{first}` comes first, and there is a flush between them, or one has the world to itself"
            ),
            Self::Waits { path, last, both } => {
                for (name, why) in path {
                    write!(f, "{name} -[{why}]-> ")?;
                }
                write!(f, "{last}")?;
                if !both.is_empty() {
                    write!(f, "; both touch {}", both.join(", "))?;
                }
                Ok(())
            }
        }
    }
}

impl Schedule {
    /// Why the queries of a processor see or do not see an entity; of an
    /// [observer](super::observing_processor), whether it would be told of it. (Chunk filters are not looked at. Of a query
    /// that looks for [changes](crate::query::Changed) that is [said](Mismatch::IfChanged) in any case: whether there are some
    /// it finds when it runs.) The schedule must have been [solved](Self::solve) for this world; archetypes
    /// may have come since.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Position;
    /// struct Asleep;
    ///
    /// let mut world = World::new();
    /// let owl = world.create((Asleep,))?;
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("fly", |_: QueryRun<Entity, (With<Position>, Without<Asleep>)>| {}));
    /// schedule.solve(&mut world)?;
    /// let why = schedule.explain_match(&world, "fly", owl)?.to_string();
    /// assert!(why.contains("Position, which is not there"));
    /// assert!(why.contains("Asleep, which is there"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`]; [`ScheduleError::NotSolved`]; [`ScheduleError::OtherWorld`];
    /// [`ScheduleError::World`]: the handle is refused.
    pub fn explain_match(
        &self,
        world: &World,
        processor: &str,
        entity: Entity,
    ) -> Result<MatchExplanation, ScheduleError> {
        let at = self.find(processor)?;
        if !self.is_of(world)? {
            return Err(ScheduleError::NotSolved);
        }
        let refused = |error: WorldError| ScheduleError::World {
            processor: processor.into(),
            error,
        };
        let (archetype, _) = world.find(entity).map_err(refused)?;
        let Some(needs) = &self.entries[at].needs else {
            return Err(ScheduleError::NotSolved);
        };
        let queries = needs.queries.iter().chain(&needs.observes);
        let queries = queries.zip(&needs.types).map(|(query, &of_type)| {
            let mismatches = query.explain(world, entity)?;
            Ok(QueryExplanation {
                of_type,
                mismatches,
            })
        });
        Ok(MatchExplanation {
            processor: processor.into(),
            composition: composition(world, &world.archetypes[archetype as usize]),
            queries: queries.collect::<Result<_, _>>().map_err(refused)?,
        })
    }

    /// Whether two processors may run side by side, and why not. The schedule must have been
    /// [solved](Self::solve) since the last archetype came.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Position(f32);
    /// struct Ghost;
    ///
    /// let mut world = World::new();
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("fall", |_: QueryRun<&mut Position, Without<Ghost>>| {}));
    /// schedule.add(processor("haunt", |_: QueryRun<&mut Position, With<Ghost>>| {}));
    /// schedule.add(processor("draw", |_: QueryRun<&Position>| {}));
    /// world.create((Position(1.0),))?;
    /// schedule.solve(&mut world)?;
    /// assert_eq!(schedule.explain_overlap(&world, "fall", "haunt")?.to_string(), "they may run side by side");
    /// let why = schedule.explain_overlap(&world, "draw", "fall")?.to_string();
    /// assert!(why.starts_with("fall -[") && why.contains("Position"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`]; [`ScheduleError::NotSolved`]; [`ScheduleError::OtherWorld`].
    pub fn explain_overlap(
        &self,
        world: &World,
        one: &str,
        other: &str,
    ) -> Result<Overlap, ScheduleError> {
        let (one, other) = (self.find(one)?, self.find(other)?);
        self.is_of(world)?;
        let Some(plan) = self.plan.as_ref().filter(|plan| plan.has_seen(world)) else {
            return Err(ScheduleError::NotSolved);
        };
        if one == other {
            return Ok(Overlap::Same);
        }
        let order = &plan.order;
        let (a, b) = (order.position_of(one), order.position_of(other));
        let (first, last) = (a.min(b), a.max(b));
        let (from, to) = (order.line[first as usize], order.line[last as usize]);
        let name = |position| plan.label(position, &self.entries);
        if from.phase != to.phase {
            return Ok(Overlap::Phases { first: name(first) });
        }
        if from.segment != to.segment {
            return Ok(Overlap::Apart { first: name(first) });
        }
        let Some(path) = plan.path(first, last) else {
            return Ok(Overlap::May);
        };
        let path = path
            .into_iter()
            .map(|(position, why)| (name(position), why.describe(world.registry())));
        let needs = |at: usize| self.entries[at].needs.clone().unwrap_or_default();
        let both = why(&needs(one), &needs(other), world).into_iter();
        let both = both.map(|reason| reason.describe(world.registry()));
        Ok(Overlap::Waits {
            path: path.collect(),
            last: name(last),
            both: both.collect(),
        })
    }
}
