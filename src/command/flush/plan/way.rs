//! How entities of an archetype get to where a net change takes them.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::archetype::{Change, Column, Edge, EnabledBits, Fills};
use crate::command::flush::net::Net;
use crate::command::flush::plan::Plan;
use crate::entity::Entity;
use crate::fragment::{FragmentId, Need};
use crate::hashers::ByNumbers;
use crate::panics::{Panicked, note};
use crate::world::{World, WorldError};

/// How entities of one archetype get to where a net change takes them.
#[derive(Debug)]
pub(in crate::command::flush) struct Way {
    pub(in crate::command::flush) target: u32,
    pub(in crate::command::flush) edge: Arc<Edge>,
    /// The target's columns that get recorded values.
    pub(in crate::command::flush) come: Vec<Column>,
    /// The target's fragments that are switched, and whether on.
    pub(in crate::command::flush) switched: Vec<(EnabledBits, bool)>,
    /// Why others are not, which the target has: it is older than their switches.
    pub(super) unswitched: Vec<WorldError>,
    /// The net change names nothing that the archetype does not have already, or lacks already.
    pub(super) nothing: bool,
}

/// The ways that were looked for, or why there is none.
#[derive(Default)]
pub(super) struct Known {
    ways: HashMap<(u32, Arc<Net>), Result<u32, WorldError>, ByNumbers>,
    /// The one that was asked for last: most chunks ask for the same again.
    last: Option<(u32, Arc<Net>, u32)>,
}

impl Known {
    /// The one that was asked for last, if it is this one.
    fn last(&self, archetype: u32, net: &Arc<Net>) -> Option<u32> {
        let (of, last, way) = self.last.as_ref()?;
        (*of == archetype && Arc::ptr_eq(last, net)).then_some(*way)
    }

    fn get(&self, archetype: u32, net: &Arc<Net>) -> Option<Result<u32, WorldError>> {
        match self.ways.get(&(archetype, Arc::clone(net)))? {
            Ok(way) => Some(Ok(*way)),
            Err(error) => Some(Err(error.for_another(Entity::PLACEHOLDER))),
        }
    }
}

/// The way of a net change from an archetype.
pub(super) fn way(
    panicked: &mut Panicked,
    world: &mut World,
    plan: &mut Plan,
    known: &mut Known,
    archetype: u32,
    net: &Arc<Net>,
) -> Result<u32, WorldError> {
    if let Some(way) = known.last(archetype, net) {
        return Ok(way);
    }
    let way = match known.get(archetype, net) {
        Some(way) => way?,
        None => {
            let mut way = Err(WorldError::Interrupted);
            // A new archetype clones the templates of its chunk fragments, which may panic.
            note(panicked, || way = world.way_along(archetype, net));
            let way = way.map(|way| {
                plan.ways.push(way);
                plan.ways.len() as u32 - 1
            });
            let again = match &way {
                Ok(way) => Ok(*way),
                Err(error) => Err(error.for_another(Entity::PLACEHOLDER)),
            };
            known.ways.insert((archetype, Arc::clone(net)), again);
            way?
        }
    };
    known.last = Some((archetype, Arc::clone(net), way));
    Ok(way)
}

impl World {
    fn way_along(&mut self, archetype: u32, net: &Net) -> Result<Way, WorldError> {
        let source = &self.archetypes[archetype as usize];
        let nothing = net.gone.iter().all(|id| !source.set.contains(*id))
            && net.come.iter().all(|id| source.set.contains(*id))
            && net.needs.iter().all(|need| source.set.contains(need.id));
        let kept = match self.kept_change(archetype, net) {
            Some(change) => Some(self.keep_edge(archetype, change)?),
            None => None,
        };
        let target = match &kept {
            Some(edge) => edge.target,
            None => self.target_along(archetype, net)?,
        };
        let source = &self.archetypes[archetype as usize];
        let to = &self.archetypes[target as usize];
        let come = net.come.iter().filter_map(|&id| {
            let column = to.seek_column(id)?;
            Some(to.columns[column])
        });
        let come: Vec<Column> = come.collect();
        let (mut switched, mut unswitched) = (Vec::new(), Vec::new());
        for (id, on) in net.switched_among(&source.set) {
            match to.enabled_of(id) {
                Some(bits) => switched.push((bits, on)),
                // What went and comes again is on, wherever it is.
                None if to.set.contains(id) && net.switches(id) => {
                    let info = self.universe.registry().get(id);
                    let name = info.map_or("", |info| info.name()).into();
                    unswitched.push(WorldError::NotEnableable { name });
                }
                None => {}
            }
        }
        let edge = kept.unwrap_or_else(|| {
            // By default comes what is not there, or went before.
            let is_gone = |id| net.gone.binary_search(&id).is_ok();
            let comes = |need: &&Need| !source.set.contains(need.id) || is_gone(need.id);
            let needs: SmallVec<[Need; 2]> = net.needs.iter().filter(comes).copied().collect();
            let fills = match needs.is_empty() {
                true => Fills::default(),
                false => Fills::of(self.universe.registry(), &needs, to),
            };
            let filled = |id: &FragmentId| needs.iter().any(|need| need.id == *id);
            let given = source.ids.iter().copied();
            let given = given.filter(|id| net.come.binary_search(id).is_ok() || filled(id));
            let given = self.given_again(archetype, given, &net.again);
            let mut edge = Edge::new(source, to, Box::default(), |column| {
                let new = come.binary_search_by_key(&column.id, |new| new.id);
                new.is_ok() || fills.has(column.id)
            })
            .filling(fills)
            .regiving(given);
            // Rows that come are on.
            let is_switched = |to: u32| switched.iter().any(|(bits, _)| bits.offset == to);
            let carried = edge.bits.iter().filter(|&&(_, to)| !is_switched(to));
            edge.bits = carried.copied().collect();
            Arc::new(edge)
        });
        let nothing = nothing && come.is_empty() && switched.is_empty() && edge.fills.is_empty();
        Ok(Way {
            target,
            edge,
            nothing,
            come,
            switched,
            unswitched,
        })
    }

    /// The change whose edge from an archetype is a net change's, if that is kept, or may be.
    fn kept_change(&mut self, archetype: u32, net: &Net) -> Option<Change> {
        if !net.again.is_empty() || !net.switched.is_empty() || !net.needs.is_empty() {
            return None;
        }
        if self.keeps_edge(archetype, &net.gone, &net.come) {
            return Some(self.bundles.change_of(&net.gone, &net.come));
        }
        None
    }

    /// Whether an archetype keeps the edge of several commands by which fragments go, and others come: it has it, or has
    /// room for it.
    pub(in crate::command::flush) fn keeps_edge(
        &self,
        archetype: u32,
        gone: &[FragmentId],
        come: &[FragmentId],
    ) -> bool {
        let edges = &self.archetypes[archetype as usize].edges;
        let known = || self.bundles.known_change_of(gone, come);
        !edges.is_crowded() || known().is_some_and(|change| edges.peek(change).is_some())
    }

    /// The archetype where a net change leads.
    fn target_along(&mut self, archetype: u32, net: &Net) -> Result<u32, WorldError> {
        let here = self.archetypes[archetype as usize].ids.iter().copied();
        let stay = here.filter(|id| net.gone.binary_search(id).is_err());
        let needed = net.needs.iter().map(|need| need.id);
        let come = net.come.iter().copied().chain(needed);
        let mut ids: Vec<FragmentId> = stay.chain(come).collect();
        ids.sort_unstable();
        ids.dedup();
        self.target_of(archetype, &ids, Some(&net.come))
    }
}
