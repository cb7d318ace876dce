//! `Conflicts`: which processors must not run at one time, though nobody ordered them.
//!
//! Two conflict if one writes what the other reads or writes:
//! * a fragment or chunk fragment, in an archetype that has it and that queries of both see. To ask whether it has
//!   changed is to read it. Shared fragments are only read;
//! * the switch of a fragment, in such an archetype where it can be switched off: all that ask for the fragment in
//!   any way, or whether it has changed, read it;
//! * a resource, always.
//!
//! Must hold: between any two of one segment that conflict there is a way along these edges and the order's own,
//! in the direction of the line. It need not be one edge: a walk along the line, archetype by archetype, lets
//! who writes follow all that read since the last one who wrote, and who reads follow that one. What is not of one
//! segment is kept apart by the end of the segment and has no edges. All that holds for processors that do not run,
//! too: their edges must be kept to as if they did.

use std::collections::{HashMap, HashSet};

use crate::archetype::Archetype;
use crate::fragment::{FragmentId, FragmentSet};
use crate::hashers::ByNumbers;
use crate::processor::needs::{Needs, sees};
use crate::processor::solver::chains::Chains;
use crate::processor::solver::{Order, Reason};
use crate::query::{Requirements, ResourceId};
use crate::world::World;

/// That one processor must not run beside a later one: their positions in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) before: u32,
    pub(crate) after: u32,
    /// What they both touch.
    pub(crate) reason: Reason,
}

/// The conflicts of a line's processors, in the archetypes that were looked at.
#[derive(Debug)]
pub(crate) struct Conflicts {
    /// The queries of all processors, in the order of the line.
    asks: Vec<Ask>,
    edges: Edges,
    /// The edges that resources make: they come first and stay.
    resource_edges: usize,
    /// For each position whether a query of the processor sees an archetype.
    seen: Vec<bool>,
    chains: Chains,
    /// All fragments that any query asks for.
    asked: FragmentSet,
    /// What archetypes that were looked at have of these, and which of them can be switched off there: another one
    /// that is alike says nothing new.
    known: HashSet<[FragmentSet; 2]>,
    /// Archetypes that were looked at, of the world with this identity.
    archetypes: usize,
    world: u64,
}

/// A query of the processor at a position.
#[derive(Debug)]
struct Ask {
    position: u32,
    segment: u32,
    requirements: Requirements,
    touches: Box<[Touch]>,
}

/// What a query touches that some processor writes.
#[derive(Clone, Copy, Debug)]
struct Touch {
    id: FragmentId,
    /// The fragment's switch, not its values.
    switch: bool,
    write: bool,
}

/// "No world": worlds' identities begin with 1.
const NO_WORLD: u64 = 0;

impl Conflicts {
    /// The conflicts about resources. `needs` are those of the nodes, in their order.
    pub(crate) fn new(order: &Order, needs: &[Needs]) -> Self {
        let queries = needs.iter().flat_map(|needs| &needs.queries);
        let asked = queries.flat_map(|query| [query.looked_at(), query.switches().clone()]);
        let asked = asked.fold(FragmentSet::new(), |mut all, asked| {
            all.extend(asked.iter());
            all
        });
        let mut conflicts = Self {
            asks: asks(order, needs),
            asked,
            known: HashSet::new(),
            edges: Edges::new(order),
            resource_edges: 0,
            seen: vec![false; order.line.len()],
            chains: Chains::default(),
            archetypes: 0,
            world: NO_WORLD,
        };
        conflicts.compare_resources(order, needs);
        conflicts.resource_edges = conflicts.edges.all.len();
        conflicts
    }

    fn compare_resources(&mut self, order: &Order, needs: &[Needs]) {
        let mut numbers: HashMap<ResourceId, usize> = HashMap::new();
        let mut segment = u32::MAX;
        for (position, node) in order.processors() {
            let own = order.line[position as usize].segment;
            if core::mem::replace(&mut segment, own) != own {
                self.chains.begin();
            }
            let needs = &needs[node];
            let lent = needs.queries.iter().map(Requirements::resources);
            for access in lent.chain([&needs.resources]) {
                let writes = access.writes().iter().map(|&resource| (resource, true));
                let reads = access.reads().iter().map(|&resource| (resource, false));
                for (resource, write) in writes.chain(reads) {
                    let next = numbers.len();
                    let number = *numbers.entry(resource).or_insert(next);
                    self.chains.touch(number, position, write, |before| {
                        self.edges.add(before, position, Reason::Resource(resource));
                    });
                }
            }
        }
    }

    /// Looks at the archetypes that have come since the last call; at all of them, and forgetting what was, if it
    /// is another world, or one that has let archetypes go. Whether anything is different now.
    ///
    /// O(queries) for each archetype that is not like an earlier one in all that is asked, and O(1)
    /// for each fragment that a query touches there and somebody writes.
    pub(crate) fn extend(&mut self, world: &World) -> bool {
        let anew = self.world != world.identity();
        if anew {
            self.world = world.identity();
            self.archetypes = 0;
            self.known.clear();
            self.seen.fill(false);
            self.edges.truncate(self.resource_edges);
        }
        let mut changed = anew;
        for archetype in &world.archetypes[self.archetypes..] {
            let asked = |&id: &FragmentId| self.asked.contains(id);
            let has = archetype.ids.iter().copied().filter(asked).collect();
            let switchable = archetype.enabled.iter().map(|bits| bits.id).filter(asked);
            if self.known.insert([has, switchable.collect()]) {
                changed |= self.look(archetype);
            }
        }
        self.archetypes = world.archetypes.len();
        changed
    }

    /// Looks at an archetype; whether that changed anything.
    fn look(&mut self, archetype: &Archetype) -> bool {
        let mut changed = false;
        let before = self.edges.all.len();
        let mut segment = u32::MAX;
        for ask in &self.asks {
            let seen = &mut self.seen[ask.position as usize];
            if *seen && ask.touches.is_empty() || !sees(&ask.requirements, archetype) {
                continue;
            }
            changed |= !core::mem::replace(seen, true);
            if core::mem::replace(&mut segment, ask.segment) != ask.segment {
                self.chains.begin();
            }
            for &Touch { id, switch, write } in &ask.touches {
                // Of a switch too: who switches sees only archetypes where that can be done, and without it there
                // is no edge.
                if !archetype.set.contains(id) {
                    continue;
                }
                let archetype = archetype.number;
                let reason = match switch {
                    true => Reason::Switch { id, archetype },
                    false => Reason::Fragment { id, archetype },
                };
                let thing = usize::from(id.number()) * 2 + usize::from(switch);
                self.chains.touch(thing, ask.position, write, |before| {
                    self.edges.add(before, ask.position, reason);
                });
            }
        }
        changed || self.edges.all.len() > before
    }

    /// The edges, beside the order's own: each pair once, none that the order has too. More come at the end; if
    /// [`extend`](Self::extend) begins anew, all but those about resources go.
    pub(crate) fn edges(&self) -> &[Conflict] {
        &self.edges.all
    }

    /// Whether any query of the processor at a position sees any archetype; `false` if it has no query.
    #[inline]
    pub(crate) fn sees_any(&self, position: u32) -> bool {
        self.seen[position as usize]
    }
}

/// The queries of all processors, and what of theirs matters.
fn asks(order: &Order, needs: &[Needs]) -> Vec<Ask> {
    let (mut written, mut switched) = (FragmentSet::new(), FragmentSet::new());
    for requirements in needs.iter().flat_map(|needs| &needs.queries) {
        written.extend(requirements.writes().iter());
        switched.extend(requirements.switches().iter());
    }
    let processors = order.processors();
    let queries = processors.flat_map(|(position, node)| {
        let queries = needs[node].queries.iter();
        queries.map(move |requirements| (position, requirements))
    });
    let ask = |(position, requirements): (u32, &Requirements)| Ask {
        position,
        segment: order.line[position as usize].segment,
        requirements: requirements.clone(),
        touches: touches(requirements, &written, &switched),
    };
    queries.map(ask).collect()
}

/// What a query touches of fragments whose values, or switches, somebody writes.
fn touches(
    requirements: &Requirements,
    written: &FragmentSet,
    switched: &FragmentSet,
) -> Box<[Touch]> {
    let reads = requirements.reads().iter();
    let read = reads.chain(requirements.watched().iter());
    let heeded = requirements.heeds_switches_of();
    let touch = |switch, write| move |id| Touch { id, switch, write };
    let values = (requirements.writes().iter().map(touch(false, true))).chain(
        read.filter(|&id| written.contains(id))
            .map(touch(false, false)),
    );
    let looks = heeded.iter().filter(|&id| switched.contains(id));
    let switches = (requirements.switches().iter().map(touch(true, true)))
        .chain(looks.map(touch(true, false)));
    values.chain(switches).collect()
}

/// Edges, each once.
#[derive(Debug)]
struct Edges {
    all: Vec<Conflict>,
    /// Those, and the order's own.
    known: HashSet<(u32, u32), ByNumbers>,
}

impl Edges {
    fn new(order: &Order) -> Self {
        let own = order.edges.iter();
        Self {
            all: Vec::new(),
            known: own.map(|edge| (edge.before, edge.after)).collect(),
        }
    }

    #[inline]
    fn add(&mut self, before: u32, after: u32, reason: Reason) {
        if self.known.insert((before, after)) {
            self.all.push(Conflict {
                before,
                after,
                reason,
            });
        }
    }

    fn truncate(&mut self, len: usize) {
        for edge in self.all.drain(len..) {
            self.known.remove(&(edge.before, edge.after));
        }
    }
}
