//! `Candidates`: the archetypes that meet a query's requirements, whatever its types are.
//!
//! The lists of the fragments that must be there are walked side by side, from the shortest one on.

use crate::archetype::{Archetype, Cursor, Lists};
use crate::fragment::FragmentId;
use crate::query::Requirements;

/// Whoever meets some requirements, among the archetypes of some lists.
pub(super) struct Candidates<'a> {
    requirements: &'a Requirements,
    lists: Lists<'a>,
    rarest: Option<FragmentId>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(requirements: &'a Requirements, lists: Lists<'a>) -> Self {
        let required = requirements.required().iter();
        let rarest = required.min_by_key(|&id| lists.cursor(id).left().len());
        Self {
            requirements,
            lists,
            rarest,
        }
    }

    /// The fragment that must be there and that the fewest of them have; `None` if none must.
    pub(super) fn rarest(&self) -> Option<FragmentId> {
        self.rarest
    }

    /// Calls `each` with the numbers of all archetypes from `from` on that meet the requirements, in their order.
    #[inline(never)]
    pub(super) fn each(&self, archetypes: &[Archetype], from: u32, each: &mut dyn FnMut(u32)) {
        let Some(rarest) = self.rarest else {
            let all = archetypes[from as usize..].iter();
            return all
                .filter(|archetype| self.requirements.met_by(archetype))
                .for_each(|archetype| each(archetype.number));
        };
        let cursor = |id| self.lists.cursor(id);
        let others = self.requirements.required().iter();
        let others = others.filter(|&id| id != rarest);
        let mut others: Vec<Cursor<'_>> = others.map(cursor).collect();
        let excluded = self.requirements.excluded().iter();
        let mut excluded: Vec<Cursor<'_>> = excluded.map(cursor).collect();
        let any = self.requirements.asks_for_any();
        for candidate in cursor(rarest).left() {
            let number = candidate.archetype;
            let met = others.iter_mut().all(|other| other.find(number).is_some())
                && excluded.iter_mut().all(|other| {
                    let found = other.find(number);
                    found.is_none_or(|having| having.switchable)
                })
                && (!any || self.requirements.met_by(&archetypes[number as usize]));
            if met {
                each(number);
            }
        }
    }
}
