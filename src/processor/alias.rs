//! `Aliases`: processors of which two queries lend the same, and are kept apart by what one of them excludes.
//!
//! A fragment that is excluded and can be switched off does not keep chunks apart: the other query's rows lie beside
//! this one's. So whether the two really see no archetype both is looked at for each archetype that comes, before
//! a processor runs on it. Who is switched off lends nothing: when somebody is switched on, all archetypes are looked
//! at again.

use crate::fragment::FragmentId;
use crate::processor::NetModes;
use crate::processor::entry::Entry;
use crate::processor::needs::sees;
use crate::world::World;

/// Queries of one processor that must not see one archetype.
#[derive(Debug)]
struct Pair {
    entry: usize,
    queries: (usize, usize),
    /// What both lend, where it is there.
    fragments: Vec<FragmentId>,
}

/// Why a processor must not run.
#[derive(Debug)]
pub(super) struct Alias {
    /// The processor's number.
    pub(super) entry: usize,
    /// What it would lend twice.
    pub(super) fragment: FragmentId,
    /// What its queries exclude each other by, and can be switched off.
    pub(super) apart_by: Option<FragmentId>,
}

/// All that there are in a schedule.
#[derive(Debug)]
pub(super) struct Aliases {
    pairs: Vec<Pair>,
    /// The world's identity, and its archetypes that were looked at.
    world: u64,
    archetypes: usize,
}

impl Aliases {
    pub(super) fn new(entries: &[Entry]) -> Self {
        let mut pairs = Vec::new();
        for (entry, data) in entries.iter().enumerate() {
            let queries = data.needs.as_ref().map_or(&[][..], |needs| &needs.queries);
            for (b, later) in queries.iter().enumerate() {
                for (a, earlier) in queries[..b].iter().enumerate() {
                    let fragments = earlier.conflicts_with(later);
                    if !fragments.is_empty() {
                        pairs.push(Pair {
                            entry,
                            queries: (a, b),
                            fragments,
                        });
                    }
                }
            }
        }
        Self {
            pairs,
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

    /// Looks at the archetypes that have come: the first processor that must not run.
    pub(super) fn look(
        &mut self,
        world: &World,
        entries: &[Entry],
        net_modes: NetModes,
    ) -> Option<Alias> {
        if self.pairs.is_empty() {
            return None;
        }
        if self.world != world.identity() {
            (self.world, self.archetypes) = (world.identity(), 0);
        }
        for archetype in &world.archetypes[self.archetypes..] {
            for pair in &self.pairs {
                let entry = &entries[pair.entry];
                let Some(needs) = entry.needs.as_ref().filter(|_| entry.is_on(net_modes)) else {
                    continue;
                };
                let (a, b) = (
                    &needs.queries[pair.queries.0],
                    &needs.queries[pair.queries.1],
                );
                if !sees(a, archetype) || !sees(b, archetype) {
                    continue;
                }
                // What may be there need not be: then neither lends it.
                let mut lent = pair.fragments.iter();
                if let Some(&fragment) = lent.find(|&&id| archetype.set.contains(id)) {
                    // It is looked at again by the next run.
                    return Some(Alias {
                        entry: pair.entry,
                        fragment,
                        apart_by: a.excluded_with(b).find(|&id| archetype.set.contains(id)),
                    });
                }
            }
            self.archetypes += 1;
        }
        None
    }
}
