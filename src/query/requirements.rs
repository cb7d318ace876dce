//! `Requirements`: what a query asks of an archetype, and what it does with the fragments.

use crate::archetype::{Archetype, EnabledBits};
use crate::fragment::{FragmentError, FragmentId, FragmentRegistry, FragmentSet};
use crate::query::{QueryError, QueryFilter, ResourceAccess};

/// What a query asks of an archetype, and what it does with the fragments: what a query, a processor's or an observer's,
/// [says](crate::query::Query::requirements) of itself. What is to be asked for at run time is said to a
/// [`DynamicQueryBuilder`](crate::query::DynamicQueryBuilder), or to a [`DynamicFilter`](crate::query::DynamicFilter).
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// Must be there, switched on.
    all: FragmentSet,
    /// Of each of these sets one must be there at least, switched on.
    any: Vec<FragmentSet>,
    /// Must not be there, or be switched off.
    none: FragmentSet,
    /// May be there.
    optional: FragmentSet,
    /// If not empty: of these one must be there at least, in whatever state.
    one_of: FragmentSet,
    reads: FragmentSet,
    writes: FragmentSet,
    /// Their versions are read: only chunks are seen where they changed.
    watched: FragmentSet,
    /// Of those: each of these must have changed; of each of the sets one, or the order, where it says so.
    changed: FragmentSet,
    changed_any: Vec<(FragmentSet, bool)>,
    /// The order must have changed: entities came or went.
    moved: bool,
    /// Are switched off and on, row by row.
    switches: FragmentSet,
    /// Something is lent that every entity has: what may be there need not be.
    every: bool,
    resources: ResourceAccess,
    /// The first mistake, kept until the query is built.
    mistake: Option<Mistake>,
}

#[derive(Clone, Copy, Debug)]
enum Mistake {
    Conflict(FragmentId),
    Twice(FragmentId),
    Contradiction(FragmentId),
}

/// What is done with a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only its presence matters.
    None,
    /// Values are read.
    Read,
    /// Values are written.
    Write,
}

impl Requirements {
    /// Nothing: every archetype matches.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// What a filter asks for, which lends nothing.
    ///
    /// # Errors
    /// As for [`Query::new`](crate::query::Query::new).
    pub(crate) fn of_filter<F: QueryFilter>(
        registry: &FragmentRegistry,
    ) -> Result<Self, QueryError> {
        let mut requirements = Self::new();
        F::require(registry, &mut requirements)?;
        requirements.ask_for_optional();
        requirements.check(registry)?;
        Ok(requirements)
    }

    /// Whether every archetype matches, and nothing is lent.
    pub(crate) fn is_empty(&self) -> bool {
        let sets = [&self.all, &self.none, &self.optional];
        sets.iter().all(|set| set.is_empty()) && self.any.is_empty()
    }

    /// The fragment must be there.
    pub(crate) fn all(&mut self, id: FragmentId, access: Access) {
        self.all.insert(id);
        self.access(id, access);
    }

    /// The fragment must be there, and it is asked whether it has changed. What is watched can be lent too.
    pub(crate) fn watch(&mut self, id: FragmentId) {
        self.all.insert(id);
        self.watched.insert(id);
        self.changed.insert(id);
    }

    /// It is asked whether one of these has changed, of which one must be there at least, and switched on, if
    /// `must_be_there`. What is watched can be lent too.
    pub(crate) fn watch_one_of(&mut self, ids: FragmentSet, must_be_there: bool) {
        self.watched.extend(ids.iter());
        if must_be_there {
            self.any.push(ids.clone());
        }
        self.changed_any.push((ids, !must_be_there));
    }

    /// It is asked whether entities came or went.
    pub(crate) fn watch_order(&mut self) {
        self.moved = true;
    }

    /// The fragment must be there, in whatever state.
    pub(crate) fn in_any_state(&mut self, id: FragmentId) {
        self.one_of = FragmentSet::new();
        self.one_of.insert(id);
    }

    /// What must have changed: each of these; one of each of those, or the order, where it says so; and whether the order.
    pub(super) fn changes(&self) -> (&FragmentSet, &[(FragmentSet, bool)], bool) {
        (&self.changed, &self.changed_any, self.moved)
    }

    /// The fragment may be there.
    pub(crate) fn optional(&mut self, id: FragmentId, access: Access) {
        self.optional.insert(id);
        self.access(id, access);
    }

    /// The fragment must not be there, or be switched off.
    pub(crate) fn none(&mut self, id: FragmentId) {
        self.none.insert(id);
    }

    /// One of these must be there at least, and switched on.
    pub(crate) fn any(&mut self, ids: FragmentSet) {
        self.any.push(ids);
    }

    /// Where nothing has to be there, of what may be there one must be at least: else the query would see
    /// every entity, and lend nothing of most.
    pub(crate) fn ask_for_optional(&mut self) {
        let asks = self.every || !self.switches.is_empty();
        if !asks && self.all.is_empty() && self.any.is_empty() && !self.optional.is_empty() {
            self.one_of.clone_from(&self.optional);
        }
    }

    /// Something is lent that every entity has.
    pub(crate) fn every(&mut self) {
        self.every = true;
    }

    /// The fragment must be there, in whatever state, and is switched off and on.
    pub(crate) fn switch(&mut self, id: FragmentId) {
        if !self.switches.insert(id) {
            self.mistake = self.mistake.or(Some(Mistake::Twice(id)));
        }
    }

    fn access(&mut self, id: FragmentId, access: Access) {
        let (read, written) = (self.reads.contains(id), self.writes.contains(id));
        let mistake = match access {
            Access::None => return,
            Access::Read if read && !written => Some(Mistake::Twice(id)),
            Access::Read | Access::Write => (read || written).then_some(Mistake::Conflict(id)),
        };
        match access {
            Access::Write => self.writes.insert(id),
            _ => self.reads.insert(id),
        };
        self.mistake = self.mistake.or(mistake);
    }

    /// The fragments that must be there.
    #[must_use]
    pub fn required(&self) -> &FragmentSet {
        &self.all
    }

    /// The fragments that are excluded.
    #[must_use]
    pub fn excluded(&self) -> &FragmentSet {
        &self.none
    }

    /// The fragments that are read.
    #[must_use]
    pub fn reads(&self) -> &FragmentSet {
        &self.reads
    }

    /// Whether a fragment's values are lent, to be read or written.
    pub(crate) fn lends(&self, id: FragmentId) -> bool {
        self.reads.contains(id) || self.writes.contains(id)
    }

    /// The fragments that are asked whether they have changed. Whatever writes or switches one of them conflicts.
    #[must_use]
    pub fn watched(&self) -> &FragmentSet {
        &self.watched
    }

    /// The fragments that both lend, one of them to write, or of which one switches what the other looks at. One may be
    /// named twice.
    pub(crate) fn conflicts_with(&self, other: &Self) -> Vec<FragmentId> {
        let mut all = Vec::new();
        for (a, b) in [(self, other), (other, self)] {
            let lent = |&id: &FragmentId| b.writes.contains(id) || b.reads.contains(id);
            all.extend(a.writes.iter().filter(lent));
        }
        for (a, b) in [(self, other), (other, self)] {
            let looked_at = b.looked_at();
            let meant = |&id: &FragmentId| b.switches.contains(id) || looked_at.contains(id);
            all.extend(a.switches.iter().filter(meant));
        }
        all
    }

    /// Whether one asks for what the other excludes: then no archetype matches both, unless what is excluded can
    /// be switched off.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        self.all.intersects(&other.none) || other.all.intersects(&self.none)
    }

    /// What one asks for and the other excludes.
    pub(crate) fn excluded_with<'r>(
        &'r self,
        other: &'r Self,
    ) -> impl Iterator<Item = FragmentId> + 'r {
        let mine = self.all.iter().filter(|&id| other.none.contains(id));
        mine.chain(other.all.iter().filter(|&id| self.none.contains(id)))
    }

    /// The fragments that are switched off and on. Whatever asks for one of them to be there, excludes it, or asks
    /// whether it has changed conflicts.
    #[must_use]
    pub fn switches(&self) -> &FragmentSet {
        &self.switches
    }

    /// The resources that are read and written.
    #[must_use]
    pub fn resources(&self) -> &ResourceAccess {
        &self.resources
    }

    pub(crate) fn resources_mut(&mut self) -> &mut ResourceAccess {
        &mut self.resources
    }

    /// The fragments that are written.
    #[must_use]
    pub fn writes(&self) -> &FragmentSet {
        &self.writes
    }

    /// The fragments whose presence, or being switched on, may matter.
    pub(crate) fn looked_at(&self) -> FragmentSet {
        let single = [&self.all, &self.none, &self.optional];
        let sets = single.into_iter().chain(&self.any);
        sets.flat_map(FragmentSet::iter).collect()
    }

    /// The fragments whose switches matter: what is looked at, and what is watched, for a switch is a change.
    pub(crate) fn heeds_switches_of(&self) -> FragmentSet {
        let mut ids = self.looked_at();
        ids.extend(self.watched.iter());
        ids
    }

    /// Whether they make sense.
    pub(crate) fn check(&self, registry: &FragmentRegistry) -> Result<(), QueryError> {
        let contradiction = self.all.iter().find(|&id| self.none.contains(id));
        let mistake = self.mistake.or(contradiction.map(Mistake::Contradiction));
        self.resources.check()?;
        let name = |id| registry.get(id).map_or("", |info| info.name()).into();
        match mistake {
            None => Ok(()),
            Some(Mistake::Twice(id)) => Err(FragmentError::Twice { name: name(id) }.into()),
            Some(Mistake::Conflict(id)) => Err(QueryError::Conflict {
                name: name(id),
                once: "as `&mut`",
            }),
            Some(Mistake::Contradiction(id)) => Err(QueryError::Contradiction { name: name(id) }),
        }
    }

    /// Whether an archetype meets them.
    #[inline]
    pub(crate) fn met_by(&self, archetype: &Archetype) -> bool {
        self.met_by_set(&archetype.set, &archetype.enabled)
    }

    /// Whether an archetype with these fragments, of which these can be switched off, meets them.
    #[inline]
    pub(crate) fn met_by_set(&self, set: &FragmentSet, switched: &[EnabledBits]) -> bool {
        self.all.is_subset(set)
            && (!self.none.intersects(set)
                || self
                    .none
                    .iter()
                    .filter(|&id| set.contains(id))
                    .all(|id| switched.iter().any(|bits| bits.id == id)))
            && self.any.iter().all(|any| any.intersects(set))
            && (self.one_of.is_empty() || self.one_of.intersects(set))
    }

    /// The bits of an archetype's chunks that decide row by row, and whether they must be clear.
    pub(crate) fn masks(&self, archetype: &Archetype) -> Option<Box<[Mask]>> {
        let bits = archetype.enabled.iter();
        let single = bits.filter_map(|bits| {
            let inverted = self.none.contains(bits.id);
            (inverted || self.all.contains(bits.id)).then_some(Mask {
                offset: bits.offset,
                others: Box::default(),
                inverted,
            })
        });
        let any = self.any.iter().filter_map(|ids| {
            let there = ids.iter().filter(|&id| archetype.set.contains(id));
            // One that cannot be switched off decides for all rows.
            let bits: Option<Vec<u32>> = there
                .map(|id| Some(archetype.enabled_of(id)?.offset))
                .collect();
            let (&offset, others) = bits.as_deref()?.split_first()?;
            Some(Mask {
                offset,
                others: others.into(),
                inverted: false,
            })
        });
        let masks: Box<[Mask]> = single.chain(any).collect();
        (!masks.is_empty()).then_some(masks)
    }

    /// Sets of which one fragment each must be there.
    pub(crate) fn one_of_each(&self) -> impl Iterator<Item = &FragmentSet> {
        let asked = (!self.one_of.is_empty()).then_some(&self.one_of);
        self.any.iter().chain(asked)
    }

    /// Sets of which one fragment each must be there, and switched on.
    pub(super) fn any_switched_on(&self) -> &[FragmentSet] {
        &self.any
    }

    /// Whether one of several fragments must be there.
    pub(crate) fn asks_for_any(&self) -> bool {
        !self.any.is_empty() || !self.one_of.is_empty()
    }
}

/// Enabled bits that decide which rows a query sees.
#[derive(Clone, Debug)]
pub(crate) struct Mask {
    pub(crate) offset: u32,
    /// Bits of other fragments, one of which is enough.
    pub(crate) others: Box<[u32]>,
    /// Rows whose bit is clear, instead of set.
    pub(crate) inverted: bool,
}
