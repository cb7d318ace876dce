//! [`why`]: why two processors may not overlap, in full.

use crate::fragment::{FragmentId, FragmentSet};
use crate::processor::needs::{Needs, sees};
use crate::processor::solver::Reason;
use crate::query::Requirements;
use crate::world::World;

/// All that two processors both touch and one of them writes: each fragment, switch and resource once, with the first
/// archetype. Empty if they do not conflict in this world as it is. That one of them is exclusive is not asked.
/// O(archetypes · queries): for people who want to know, not for schedules.
pub(crate) fn why(one: &Needs, other: &Needs, world: &World) -> Vec<Reason> {
    let mut reasons = resources(one, other);
    let mut known = [FragmentSet::new(), FragmentSet::new()];
    for archetype in &world.archetypes {
        let queries = |needs: &Needs| -> Touched {
            let seen = needs.queries.iter().filter(|query| sees(query, archetype));
            seen.fold(Touched::default(), Touched::with)
        };
        let (one, other) = (queries(one), queries(other));
        let mut add = |ids: &FragmentSet, switch: bool| {
            for id in ids.iter().filter(|&id| archetype.set.contains(id)) {
                if known[usize::from(switch)].insert(id) {
                    reasons.push(reason(id, archetype.number, switch));
                }
            }
        };
        add(&both(&one.writes, &other.touches), false);
        add(&both(&other.writes, &one.touches), false);
        add(&both(&one.switches, &other.looks), true);
        add(&both(&other.switches, &one.looks), true);
    }
    reasons
}

fn reason(id: FragmentId, archetype: u32, switch: bool) -> Reason {
    if switch {
        Reason::Switch { id, archetype }
    } else {
        Reason::Fragment { id, archetype }
    }
}

/// What the queries of a processor that see an archetype do.
#[derive(Default)]
struct Touched {
    writes: FragmentSet,
    /// Written or read.
    touches: FragmentSet,
    switches: FragmentSet,
    /// Switched or looked at.
    looks: FragmentSet,
}

impl Touched {
    fn with(mut self, query: &Requirements) -> Self {
        self.writes.extend(query.writes().iter());
        for touched in [query.writes(), query.reads(), query.watched()] {
            self.touches.extend(touched.iter());
        }
        self.switches.extend(query.switches().iter());
        self.looks.extend(query.switches().iter());
        self.looks.extend(query.heeds_switches_of().iter());
        self
    }
}

fn both(one: &FragmentSet, other: &FragmentSet) -> FragmentSet {
    one.iter().filter(|&id| other.contains(id)).collect()
}

fn resources(one: &Needs, other: &Needs) -> Vec<Reason> {
    let access = |needs: &Needs| {
        let lent = needs.queries.iter().map(Requirements::resources);
        let (mut writes, mut touches) = (Vec::new(), Vec::new());
        for access in lent.chain([&needs.resources]) {
            writes.extend_from_slice(access.writes());
            touches.extend(access.writes().iter().chain(access.reads()).copied());
        }
        (writes, touches)
    };
    let ((one_writes, one_touches), (other_writes, other_touches)) = (access(one), access(other));
    let mut reasons = Vec::new();
    let first = one_writes.iter().filter(|id| other_touches.contains(id));
    let second = other_writes.iter().filter(|id| one_touches.contains(id));
    for &resource in first.chain(second) {
        let reason = Reason::Resource(resource);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}
