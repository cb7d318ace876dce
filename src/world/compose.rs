//! Compositions → archetypes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::archetype::{
    Archetype, Change, ChunkList, ChunkValue, Draft, Edge, Edges, Ends, Fills, Group, Mover,
    SharedId,
};
use crate::fragment::{
    Bundle, FragmentError, FragmentId, FragmentKind, FragmentSet, Need, Value, with_needs,
};
use crate::hashers::ByNumbers;
use crate::panics::{end_all, note, resume, tell};
use crate::shown::{listed, shown};
use crate::world::bundles::{BundleInfo, Completed, NO_ARCHETYPE};
use crate::world::watch::watch;
use crate::world::{World, WorldError, new_identity};

/// Compositions → archetypes.
pub(crate) type ByComposition = HashMap<Arc<[FragmentId]>, u32, ByNumbers>;

impl World {
    /// The archetype with exactly these fragments, which are sorted and differ: the one that there is, or
    /// a new one.
    pub(crate) fn archetype_of(&mut self, ids: &[FragmentId]) -> Result<u32, WorldError> {
        match self.by_composition.get(ids) {
            Some(&archetype) => Ok(archetype),
            None => self.add_archetype(ids.into(), &|_| None),
        }
    }

    /// The same; if it is new, its chunk fragments begin with what a rule says, else with what `inherited` says, or
    /// else with what was given last.
    pub(crate) fn archetype_after<'t>(
        &mut self,
        ids: &[FragmentId],
        inherited: &dyn Fn(FragmentId) -> Option<&'t Value>,
    ) -> Result<u32, WorldError> {
        match self.by_composition.get(ids) {
            Some(&archetype) => Ok(archetype),
            None => self.add_archetype(ids.into(), inherited),
        }
    }

    #[cold]
    fn add_archetype<'t>(
        &mut self,
        ids: Arc<[FragmentId]>,
        inherited: &dyn Fn(FragmentId) -> Option<&'t Value>,
    ) -> Result<u32, WorldError> {
        let draft = self.draft(&ids)?;
        let set: FragmentSet = ids.iter().copied().collect();
        let chunk_values = self.chunk_values(&draft, &set, inherited)?;
        let number = self.archetypes.len() as u32;
        let column_ids = draft.columns.iter().map(|column| column.id);
        let mut archetype = Archetype {
            chunks: ChunkList::new(),
            least_capacity: draft.least_capacity,
            fold_rows: draft.fold_rows,
            run: draft.run,
            grows: self.chunks_grow,
            number,
            born: new_identity(),
            column_ids: match draft.columns.len() == ids.len() {
                true => Arc::clone(&ids),
                false => column_ids.collect(),
            },
            needs_drop: draft.columns.iter().any(|column| column.drop.is_some()),
            staggered: draft.staggered,
            columns: draft.columns,
            movers: Box::default(),
            entities: 0,
            groups: Vec::new(),
            group_of: HashMap::default(),
            idle_groups: Vec::new(),
            retired_keys: Vec::new(),
            ids: Arc::clone(&ids),
            set,
            shared: draft.shared,
            chunk_values: chunk_values.into(),
            enabled: draft.enabled,
            versions: draft.versions,
            edges: Edges::default(),
            watched: 0,
            ends: Ends::Told,
        };
        let kinds = self.watched_kinds(&archetype);
        watch(&mut archetype, kinds, self.universe.is_ordered());
        if archetype.shared.is_empty() {
            // The only group.
            archetype.groups = Vec::from([Group::of(&[])]);
        }
        self.has_switches |= !archetype.enabled.is_empty();
        for &id in &*ids {
            self.having.push(id, archetype.having(id));
        }
        self.composition_version += 1;
        self.archetypes.push(archetype);
        self.by_composition.insert(ids, number);
        self.tell_of_composition(number);
        Ok(number)
    }

    /// Says that entities have a composition that none had before: schedules and queries look at it with their next run.
    #[cold]
    fn tell_of_composition(&self, archetype: u32) {
        let ids = &self.archetypes[archetype as usize].ids;
        let name = |&id: &FragmentId| {
            let info = self.registry().get(id);
            info.map_or_else(String::new, |info| shown(info.name()))
        };
        tell(|| {
            tracing::debug!(
                name: "composition_added",
                target: "megachunk::world",
                world = %self.seat,
                archetype,
                fragments = listed(ids.iter().map(name), ", "),
                "a new composition"
            );
        });
    }

    /// What the chunks of a new archetype begin with; none if a template's `clone` panics.
    fn chunk_values<'t>(
        &self,
        draft: &Draft,
        set: &FragmentSet,
        inherited: &dyn Fn(FragmentId) -> Option<&'t Value>,
    ) -> Result<Vec<ChunkValue>, FragmentError> {
        let (mut values, mut panicked) = (Vec::with_capacity(draft.once.len()), None);
        let mut missing = None;
        note(&mut panicked, || {
            for &(id, offset) in &draft.once {
                let rule = self.chunk_rules.value(id, set, &draft.enabled);
                let given = || Some(&**self.templates.get(&id)?);
                let Some(template) = rule.or_else(|| inherited(id)).or_else(given) else {
                    missing = Some(FragmentError::Unknown { id });
                    break;
                };
                let template = template.duplicate();
                values.push(ChunkValue {
                    id,
                    offset,
                    template,
                });
            }
        });
        if panicked.is_some() || missing.is_some() {
            // Each by itself: see `end_all`.
            end_all(&mut panicked, values.drain(..));
        }
        resume(panicked);
        missing.map_or(Ok(values), Err)
    }

    /// The number of a bundle type, whose archetype is there, of exactly its fragments.
    #[inline]
    pub(crate) fn bundle<B: Bundle>(&mut self) -> Result<usize, Unready> {
        let number = self.bundles.number::<B>(self.universe.registry())? as usize;
        if self.bundles.infos[number].archetype == NO_ARCHETYPE {
            self.bundle_archetype(number)?;
        }
        Ok(number)
    }

    /// Where entities of a bundle come, and what they come with that it has not.
    pub(crate) fn bundle_numbered(&mut self, number: u32) -> Result<Completed, WorldError> {
        let number = number as usize;
        if self.bundles.infos[number].archetype == NO_ARCHETYPE {
            match self.bundle_archetype(number) {
                Ok(()) => {}
                Err(Unready::Refused(error)) => return Err(error),
                Err(Unready::Completed(completed)) => return Ok(completed),
            }
        }
        Ok(Completed {
            archetype: self.bundles.infos[number].archetype,
            fills: Arc::clone(&self.bundles.unfilled),
        })
    }

    #[cold]
    fn bundle_archetype(&mut self, number: usize) -> Result<(), Unready> {
        if let Some(completed) = &self.bundles.infos[number].completed {
            return Err(Unready::Completed(completed.clone()));
        }
        let ids = Arc::clone(&self.bundles.infos[number].sorted);
        let needs = self.registry().needs(&ids);
        let ids = match needs.is_empty() {
            true => ids,
            false => with_needs(&ids, &needs).into(),
        };
        let archetype = match self.by_composition.get(&ids) {
            Some(&archetype) => archetype,
            None => self.add_archetype(ids, &|_| None)?,
        };
        let offsets: Arc<[u32]> = self.offsets_in(archetype, &self.bundles.infos[number].ids);
        if !needs.is_empty() {
            let data = &self.archetypes[archetype as usize];
            let completed = Completed {
                archetype,
                fills: Arc::new(Fills::of(self.universe.registry(), &needs, data)),
            };
            let info = &mut self.bundles.infos[number];
            info.offsets = offsets;
            info.completed = Some(completed.clone());
            return Err(Unready::Completed(completed));
        }
        self.learn_movers(&[], archetype, number, || (&*offsets).into());
        let info = &mut self.bundles.infos[number];
        info.offsets = offsets;
        info.archetype = archetype;
        Ok(())
    }

    /// Remembers how the rows of an archetype move that has the columns of another, with these
    /// movers, and the fragments of a bundle, whose arrays begin there.
    fn learn_movers(
        &mut self,
        before: &[Mover],
        archetype: u32,
        bundle: usize,
        offsets: impl FnOnce() -> Box<[u32]>,
    ) {
        let BundleInfo { moves, ids, .. } = &self.bundles.infos[bundle];
        let archetype = &mut self.archetypes[archetype as usize];
        if let Some((moves, columns)) = *moves
            && archetype.movers.is_empty()
        {
            let ids = match columns == ids.len() {
                true => Arc::clone(ids),
                false => ids[..columns].into(),
            };
            let come = Mover::new(moves, ids, offsets());
            archetype.movers = Mover::after(before, archetype, come);
        }
    }

    /// Where values of these fragments go in a chunk of an archetype. A tag's goes anywhere.
    pub(crate) fn offsets_in<C: FromIterator<u32>>(&self, archetype: u32, ids: &[FragmentId]) -> C {
        self.archetypes[archetype as usize].offsets_of(ids)
    }

    /// The edge from an archetype for a change.
    #[inline(always)]
    pub(crate) fn edge_for(&mut self, source: u32, change: Change) -> Result<EdgeRef, WorldError> {
        match self.archetypes[source as usize].edges.get(change) {
            Some(edge) => Ok(EdgeRef(Arc::as_ptr(edge))),
            None => self.add_edge(source, change),
        }
    }

    /// The same, if it is known.
    #[inline]
    pub(crate) fn known_edge(&mut self, source: u32, change: Change) -> Option<EdgeRef> {
        let edge = self.archetypes[source as usize].edges.get(change)?;
        Some(EdgeRef(Arc::as_ptr(edge)))
    }

    /// The same, to be kept.
    pub(crate) fn keep_edge(
        &mut self,
        source: u32,
        change: Change,
    ) -> Result<Arc<Edge>, WorldError> {
        if let Some(edge) = self.archetypes[source as usize].edges.get(change) {
            return Ok(Arc::clone(edge));
        }
        self.add_edge(source, change)?;
        match self.archetypes[source as usize].edges.get(change) {
            Some(edge) => Ok(Arc::clone(edge)),
            None => unreachable!("it was added"),
        }
    }

    #[cold]
    pub(crate) fn add_edge(&mut self, source: u32, change: Change) -> Result<EdgeRef, WorldError> {
        let ids = self.composition_after(source, change);
        let needs = self.needs_of(source, change);
        let come = coming(change).map(|come| {
            let bundle = &self.bundles.infos[come as usize];
            (bundle.ids.clone(), bundle.sorted.clone())
        });
        let target = self.target_of(source, &ids, come.as_ref().map(|(_, sorted)| &**sorted))?;
        let (offsets, sorted): (Box<[u32]>, _) = match come {
            Some((ids, sorted)) => (self.offsets_in(target, &ids), sorted),
            None => Default::default(),
        };
        if let Change::Add(come) = change
            && needs.is_empty()
        {
            let before = &self.archetypes[source as usize];
            if !before.movers.is_empty() || before.columns.is_empty() {
                let before = before.movers.clone();
                self.learn_movers(&before, target, come as usize, || (&*offsets).into());
            }
        }
        let edge = Edge::new(
            &self.archetypes[source as usize],
            &self.archetypes[target as usize],
            offsets,
            |column| sorted.binary_search(&column.id).is_ok(),
        );
        let edge = edge.regiving(self.given_again(source, sorted.iter().copied(), &[]));
        let edge = Arc::new(match needs.is_empty() {
            true => edge,
            false => {
                let target = &self.archetypes[target as usize];
                edge.filling(Fills::of(self.universe.registry(), &needs, target))
            }
        });
        let edges = &mut self.archetypes[source as usize].edges;
        let known = EdgeRef(Arc::as_ptr(&edge));
        edges.insert(change, edge);
        Ok(known)
    }

    /// Those of some fragments that an archetype's entities have, and that may get another value, each its own or many
    /// the same: what is shared for ever may if it went before, as one in `again`, which is in order.
    pub(crate) fn given_again(
        &self,
        source: u32,
        come: impl Iterator<Item = FragmentId>,
        again: &[FragmentId],
    ) -> Box<[FragmentId]> {
        let source = &self.archetypes[source as usize];
        let is_shared = |id| {
            let info = self.universe.registry().get(id);
            source.shared.binary_search(&id).is_ok()
                && (again.binary_search(&id).is_ok()
                    || info.is_some_and(|info| info.kind() == FragmentKind::Shared))
        };
        come.filter(|&id| source.seek_column(id).is_some() || is_shared(id))
            .collect()
    }

    /// The fragments of an archetype's entities after a change.
    pub(super) fn composition_after(&self, source: u32, change: Change) -> Vec<FragmentId> {
        let mut ids: Vec<FragmentId> = self.archetypes[source as usize].ids.to_vec();
        let bundle = |number: u32| &self.bundles.infos[number as usize];
        if let Change::Remove(gone) | Change::Swap(gone, _) = change {
            ids.retain(|id| bundle(gone).sorted.binary_search(id).is_err());
        }
        if let Some(come) = coming(change) {
            ids.extend(bundle(come).sorted.iter());
            ids.extend(self.needs_of(source, change).iter().map(|need| need.id));
            ids.sort_unstable();
            ids.dedup();
        }
        ids
    }

    /// What comes with a change by default: neither is it there, nor does the change name it, as coming or as going.
    fn needs_of(&self, source: u32, change: Change) -> Vec<Need> {
        let Some(come) = coming(change) else {
            return Vec::new();
        };
        let bundle = |number: u32| &self.bundles.infos[number as usize];
        let gone: &[FragmentId] = match change {
            Change::Swap(gone, _) => &bundle(gone).sorted,
            _ => &[],
        };
        let mut needs = self.registry().needs_without(&bundle(come).sorted, gone);
        needs.retain(|need| !self.archetypes[source as usize].set.contains(need.id));
        needs
    }

    /// Refuses a change of an archetype's entities that [`edge_for`](Self::edge_for) would refuse
    /// for what the archetype would be that they come to. Nothing is made.
    pub(crate) fn check_change(&mut self, source: u32, change: Change) -> Result<(), WorldError> {
        match self.archetypes[source as usize].edges.get(change) {
            Some(_) => Ok(()),
            None => self.check_fragments(&self.composition_after(source, change)),
        }
    }

    /// The same of entities that come new, with a bundle's fragments.
    pub(crate) fn check_bundle(&self, number: u32) -> Result<(), WorldError> {
        let bundle = &self.bundles.infos[number as usize];
        if bundle.archetype != NO_ARCHETYPE || bundle.completed.is_some() {
            return Ok(());
        }
        let needs = self.registry().needs(&bundle.sorted);
        match needs.is_empty() {
            true => self.check_fragments(&bundle.sorted),
            false => self.check_fragments(&with_needs(&bundle.sorted, &needs)),
        }
    }

    fn check_fragments(&self, ids: &[FragmentId]) -> Result<(), WorldError> {
        if self.by_composition.contains_key(ids) {
            return Ok(());
        }
        self.draft(ids).map(drop)
    }

    /// What an archetype would be that is not there.
    fn draft(&self, ids: &[FragmentId]) -> Result<Draft, WorldError> {
        #[cfg(test)]
        let most = self.most_archetypes;
        #[cfg(not(test))]
        let most = crate::archetype::ARCHETYPES - 1;
        if self.archetypes.len() >= most {
            return Err(WorldError::TooManyArchetypes);
        }
        let registry = self.universe.registry();
        let draft = Draft::new(registry, ids, self.chunks_per_chunk, registry.enableable())?;
        Ok(draft)
    }

    /// The archetype that entities of another come to. If it is new, its chunk fragments begin as there, but for
    /// those that come along, which are sorted.
    pub(crate) fn target_of(
        &mut self,
        source: u32,
        ids: &[FragmentId],
        come: Option<&[FragmentId]>,
    ) -> Result<u32, WorldError> {
        if let Some(&archetype) = self.by_composition.get(ids) {
            return Ok(archetype);
        }
        // Put aside, not cloned: users' `clone` and `drop` have no business here.
        let values = core::mem::take(&mut self.archetypes[source as usize].chunk_values);
        let inherited = |id| {
            let at = values.binary_search_by_key(&id, |value| value.id).ok()?;
            let comes = come.is_some_and(|come| come.binary_search(&id).is_ok());
            (!comes).then(|| &values[at].template)
        };
        let (mut target, mut panicked) = (None, None);
        // What the new archetype has is cloned.
        note(&mut panicked, || {
            target = Some(self.archetype_after(ids, &inherited));
        });
        self.archetypes[source as usize].chunk_values = values;
        resume(panicked);
        match target {
            Some(target) => target,
            None => unreachable!("it is there, or a clone has panicked"),
        }
    }

    /// The group of an archetype with these shared values, which its chunks are then kept for: the first if there are
    /// none.
    pub(crate) fn group_of(&mut self, archetype: u32, key: &[SharedId]) -> u32 {
        if key.is_empty() {
            return 0;
        }
        let archetype = &mut self.archetypes[archetype as usize];
        if let Some(&group) = archetype.group_of.get(key) {
            return group;
        }
        for &value in key {
            self.shared.hold(value);
        }
        let group = match archetype.idle_groups.pop() {
            Some(group) => {
                archetype.groups[group as usize].key = key.into();
                group
            }
            None => {
                let group = u32::try_from(archetype.groups.len());
                let group = group.expect("fewer than four billion combinations");
                archetype.groups.push(Group::of(key));
                group
            }
        };
        archetype.group_of.insert(key.into(), group);
        group
    }

    /// Lets the shared values go of groups that have gone.
    #[inline(always)]
    pub(crate) fn settle_groups(&mut self, archetype: u32) {
        if !self.archetypes[archetype as usize].retired_keys.is_empty() {
            self.release_keys(archetype);
        }
    }

    #[cold]
    fn release_keys(&mut self, archetype: u32) {
        for key in core::mem::take(&mut self.archetypes[archetype as usize].retired_keys) {
            for &value in &key {
                self.shared.release(value);
            }
        }
    }
}

/// Why entities of a bundle cannot come to an archetype of exactly its fragments.
pub(crate) enum Unready {
    Refused(WorldError),
    /// They come with more.
    Completed(Completed),
}

impl<E: Into<WorldError>> From<E> for Unready {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// The bundle that comes with a change.
fn coming(change: Change) -> Option<u32> {
    match change {
        Change::Add(come) | Change::Swap(_, come) => Some(come),
        Change::Remove(_) => None,
    }
}

/// An edge, for the length of one call that changes the world.
#[derive(Clone, Copy)]
pub(crate) struct EdgeRef(*const Edge);

impl core::ops::Deref for EdgeRef {
    type Target = Edge;

    #[inline(always)]
    fn deref(&self) -> &Edge {
        // SAFETY: an archetype keeps its edges, by an `Arc` each, and lets none go in a call that walks one.
        unsafe { &*self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::With;

    #[test]
    fn a_composition_too_many_is_refused_whoever_leads_to_it() {
        let mut world = World::new();
        let ant = world.create((1_u8,)).unwrap();
        let bee = world.create((1_u8, 2_u16)).unwrap();
        world.most_archetypes = 2;
        let refused = [
            world.create((3_u32,)).map(drop),
            world.create_batch([(3_u32,)]).map(drop),
            world.add(ant, (3_u32,)).map(drop),
            world.remove::<(u8,)>(bee).map(drop),
            world.swap::<(u8,), _>(ant, (3_u32,)).map(drop),
        ];
        for refused in refused {
            assert_eq!(refused, Err(WorldError::TooManyArchetypes));
        }
        let all = world.matching::<With<u8>>().unwrap();
        let refused = all.add(|_| (3_u32,)).map(drop);
        assert_eq!(refused, Err(WorldError::TooManyArchetypes));
        assert_eq!((world.count(), world.archetypes().len()), (2, 2));
        assert_eq!(world.get::<u8>(ant), Ok(&1));
        // Those that are there stay.
        world.add(ant, (4_u16,)).unwrap();
        assert!(world.remove::<(u16,)>(bee).unwrap());
        world.check().unwrap();
        world.most_archetypes += 1;
        world.add(ant, (3_u32,)).unwrap();
        world.check().unwrap();
    }
}
