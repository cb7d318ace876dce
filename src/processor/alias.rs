//! `Aliases`: processors of which two queries lend the same, and are kept apart by what one of them excludes.
//!
//! A fragment that is excluded and can be switched off does not keep chunks apart: the other query's rows lie beside
//! this one's. So whether the two really see no archetype both is looked at for each archetype that comes, before
//! a processor runs on it. Who is switched off lends nothing: when somebody is switched on, all archetypes are looked
//! at again.

use crate::archetype::Archetype;
use crate::fragment::FragmentId;
use crate::processor::entry::Entry;
use crate::processor::needs::{Needs, sees};
use crate::processor::{NetModes, ScheduleError};
use crate::world::World;

/// Queries of one processor that must not see one archetype.
#[derive(Debug)]
pub(super) struct Pair {
    queries: (usize, usize),
    /// What both lend, where it is there.
    fragments: Vec<FragmentId>,
}

/// What a processor would lend twice.
#[derive(Debug)]
pub(super) struct Clash {
    pub(super) fragment: FragmentId,
    /// What its queries exclude each other by, and can be switched off.
    pub(super) apart_by: Option<FragmentId>,
}

impl Pair {
    /// All of a processor.
    pub(super) fn all(needs: &Needs) -> Vec<Self> {
        let queries = &needs.queries;
        let mut pairs = Vec::new();
        for (b, later) in queries.iter().enumerate() {
            for (a, earlier) in queries[..b].iter().enumerate() {
                let fragments = earlier.conflicts_with(later);
                if !fragments.is_empty() {
                    pairs.push(Self {
                        queries: (a, b),
                        fragments,
                    });
                }
            }
        }
        pairs
    }

    /// What both would lend of an archetype.
    pub(super) fn clash(&self, needs: &Needs, archetype: &Archetype) -> Option<Clash> {
        let (a, b) = (
            &needs.queries[self.queries.0],
            &needs.queries[self.queries.1],
        );
        if !sees(a, archetype) || !sees(b, archetype) {
            return None;
        }
        // What may be there need not be: then neither lends it.
        let mut lent = self.fragments.iter();
        let &fragment = lent.find(|&&id| archetype.set.contains(id))?;
        Some(Clash {
            fragment,
            apart_by: a.excluded_with(b).find(|&id| archetype.set.contains(id)),
        })
    }
}

impl Clash {
    /// Says it.
    #[cold]
    pub(super) fn refuse(&self, processor: &str, world: &World) -> ScheduleError {
        let name = |id| -> Box<str> {
            let info = world.registry().get(id);
            info.map_or("", |info| info.name()).into()
        };
        ScheduleError::Aliased {
            processor: processor.into(),
            name: name(self.fragment),
            resource: false,
            apart_by: self.apart_by.map(name),
        }
    }
}

/// All that there are in a schedule.
#[derive(Debug)]
pub(super) struct Aliases {
    /// Each with its processor's number.
    pairs: Vec<(usize, Pair)>,
    /// The world's identity, and its archetypes that were looked at.
    world: u64,
    archetypes: usize,
}

impl Aliases {
    pub(super) fn new(entries: &[Entry]) -> Self {
        let of = |(at, entry): (usize, &Entry)| {
            let pairs = entry.needs.as_ref().map_or_else(Vec::new, Pair::all);
            pairs.into_iter().map(move |pair| (at, pair))
        };
        Self {
            pairs: entries.iter().enumerate().flat_map(of).collect(),
            world: 0,
            archetypes: 0,
        }
    }

    /// Somebody is switched on or off: the next look looks at all archetypes again. Whether there is anything to look
    /// for.
    pub(super) fn look_again(&mut self) -> bool {
        self.archetypes = 0;
        !self.pairs.is_empty()
    }

    /// Looks at the archetypes that have come: the first processor that must not run, by its number, and why.
    pub(super) fn look(
        &mut self,
        world: &World,
        entries: &[Entry],
        net_modes: NetModes,
    ) -> Option<(usize, Clash)> {
        if self.pairs.is_empty() {
            return None;
        }
        if self.world != world.identity() {
            (self.world, self.archetypes) = (world.identity(), 0);
        }
        for archetype in &world.archetypes[self.archetypes..] {
            for (at, pair) in &self.pairs {
                let entry = &entries[*at];
                let Some(needs) = entry.needs.as_ref().filter(|_| entry.is_on(net_modes)) else {
                    continue;
                };
                if let Some(clash) = pair.clash(needs, archetype) {
                    // It is looked at again by the next run.
                    return Some((*at, clash));
                }
            }
            self.archetypes += 1;
        }
        None
    }
}
