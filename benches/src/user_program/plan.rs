//! `Plan`: what the program does, whatever the store.
//!
//! Three quarters of the fragments are values: those with even numbers are written by systems, those with odd ones only read.
//! The rest are tags, half of them put on before the first frame, half by commands of systems. So the order in which systems
//! run does not matter, nor when a store applies commands, and all stores must come to the same sums (of whole numbers, which
//! `f32` adds exactly).

use std::fmt;

/// How many entities of a kind there are, but for the single one.
pub(super) const MANY: usize = 50;

/// What there is in the program.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    values: usize,
    /// How many tags are put on before the first frame; as many at least come by commands.
    tags: usize,
    fragments: usize,
    systems: Vec<System>,
}

/// What a system does.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub(super) number: usize,
    pub(super) queries: Vec<Query>,
    pub(super) records: Records,
}

/// What a system records while its first query runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Records {
    Nothing,
    /// Adds a tag, of this number.
    Adds(usize),
    /// Creates an entity with a tag.
    Creates(usize),
}

/// A query: one fragment that is written, others that are read.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) writes: usize,
    pub(super) reads: Vec<usize>,
    /// A tag that must not be there.
    pub(super) without: Option<usize>,
}

/// A kind of entities.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) number: usize,
    pub(super) values: Vec<usize>,
    /// A tag that one of them gets.
    pub(super) tag: usize,
}

/// Why there is no such program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlanError {
    /// A system would have no query.
    FewQueries {
        /// How many queries there were to be.
        queries: usize,
        /// For how many systems.
        systems: usize,
    },
    /// A system would have so many queries that two of them would write one fragment, or more than there are parameters.
    ManyQueries {
        /// How many queries there were to be.
        queries: usize,
        /// How many there may be.
        most: usize,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewQueries { queries, systems } => write!(
                f,
                "each system has a query at least: {queries} are too few for {systems} systems"
            ),
            Self::ManyQueries { queries, most } => write!(
                f,
                "{queries} are too many: with so many systems and fragments there can be {most}"
            ),
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// A program with so many types of fragments (8 at least), queries and systems.
    ///
    /// # Errors
    /// [`PlanError`].
    ///
    /// # Panics
    /// With fewer than 8 fragments, or no system.
    pub(super) fn new(fragments: usize, queries: usize, systems: usize) -> Result<Self, PlanError> {
        assert!(fragments >= 8 && systems >= 1, "there is nothing to do");
        // Written and read in pairs.
        let values = (fragments - fragments / 4) / 2 * 2;
        let tags = (fragments - values) / 2;
        let most = systems * 8.min(values / 2);
        if queries < systems {
            return Err(PlanError::FewQueries { queries, systems });
        }
        if queries > most {
            return Err(PlanError::ManyQueries { queries, most });
        }
        let mut plan = Self {
            values,
            tags,
            fragments,
            systems: Vec::with_capacity(systems),
        };
        let mut next = 0;
        for number in 0..systems {
            let count = queries / systems + usize::from(number < queries % systems);
            let recorded = values + tags + number % (fragments - values - tags);
            plan.systems.push(System {
                number,
                queries: (next..next + count)
                    .map(|query| plan.query(query))
                    .collect(),
                records: match number % 3 {
                    0 => Records::Adds(recorded),
                    1 => Records::Creates(recorded),
                    _ => Records::Nothing,
                },
            });
            next += count;
        }
        Ok(plan)
    }

    fn query(&self, number: usize) -> Query {
        let writes = number * 2 % self.values;
        let mut reads = vec![writes + 1];
        if number.is_multiple_of(3) {
            reads.push((writes + 3) % self.values);
        }
        Query {
            writes,
            reads,
            without: (number % 4 == 1).then(|| self.values + number % self.tags),
        }
    }

    /// The fragments with a value: their number, and how many `f32` that is.
    pub(super) fn values(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.values).map(|number| (number, number % 4 + 1))
    }

    /// The numbers of the tags.
    pub(super) fn tags(&self) -> impl Iterator<Item = usize> + use<> {
        self.values..self.fragments
    }

    /// The kinds of entities: for each fragment that is written one.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> {
        (0..self.values / 2).map(|number| {
            let first = number * 2;
            let mut values = vec![first, first + 1, (first + 3) % self.values];
            if number.is_multiple_of(3) {
                values.push((first + 2) % self.values);
            }
            Kind {
                number,
                values,
                tag: self.values + number % self.tags,
            }
        })
    }

    /// The systems, in the order in which they are added.
    pub(super) fn systems(&self) -> &[System] {
        &self.systems
    }

    /// The fragments whose values are added up at the end, four at most, and the tags that are counted, two at most.
    pub(super) fn told(&self) -> (Vec<usize>, Vec<usize>) {
        let values = (0..self.values).step_by(2).take(4).collect();
        let tags = [self.values + self.tags, self.values];
        (values, tags.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_queries_as_were_asked_for_and_each_system_has_one() {
        for (fragments, queries, systems) in [(8, 1, 1), (8, 8, 3), (40, 60, 30), (40, 61, 30)] {
            let plan = Plan::new(fragments, queries, systems).unwrap();
            let counts = plan.systems().iter().map(|system| system.queries.len());
            assert_eq!(counts.clone().sum::<usize>(), queries);
            assert_eq!(
                (counts.clone().min() > Some(0), counts.len()),
                (true, systems)
            );
            assert_eq!(plan.values().count() + plan.tags().count(), fragments);
        }
    }

    #[test]
    fn no_system_writes_a_fragment_by_two_queries_and_none_writes_what_one_reads() {
        let plan = Plan::new(40, 240, 30).unwrap();
        for system in plan.systems() {
            let mut writes: Vec<usize> = system.queries.iter().map(|query| query.writes).collect();
            writes.sort_unstable();
            writes.dedup();
            assert_eq!(writes.len(), system.queries.len());
            let mut reads = system.queries.iter().flat_map(|query| &query.reads);
            assert!(reads.all(|read| read % 2 == 1) && writes.iter().all(|write| write % 2 == 0));
        }
    }

    #[test]
    fn what_cannot_be_is_said() {
        let few = Plan::new(40, 5, 6).unwrap_err();
        assert_eq!(
            few,
            PlanError::FewQueries {
                queries: 5,
                systems: 6
            }
        );
        let many = Plan::new(8, 10, 2).unwrap_err();
        assert_eq!(
            many,
            PlanError::ManyQueries {
                queries: 10,
                most: 6
            }
        );
        assert!(many.to_string().contains("there can be 6"), "{many}");
    }
}
