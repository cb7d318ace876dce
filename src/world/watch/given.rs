//! Values that are given: what those are told who want to hear of values that are set.
//!
//! Who comes is given what there was not: where it comes from says which fragments those are. Who was there already, and
//! gets new values of fragments that it has, is told of with the list of these: instead of an archetype, the list's number.

use std::collections::HashMap;
use std::sync::Arc;

use crate::archetype::{ARCHETYPES, Edge, Row, Rows};
use crate::entity::Entity;
use crate::fragment::FragmentId;
use crate::hashers::ByNumbers;
use crate::panics::Panicked;
use crate::world::World;
use crate::world::watch::{EXPECTED, NOWHERE, SET, WatchedRows};

/// From this number on: no archetype, but a list of fragments that entities have got again.
const LISTS: u32 = 1 << 30;
const _: () = assert!(ARCHETYPES <= LISTS as usize && LISTS < EXPECTED);

/// So many lists are kept when all is told: who sets values one by one mostly says the same again.
const KEPT: usize = 32;

/// Lists of fragments, each in the order of their numbers, and each there once.
#[derive(Debug, Default)]
pub(super) struct Lists {
    all: Vec<Arc<[FragmentId]>>,
    numbers: HashMap<Arc<[FragmentId]>, u32, ByNumbers>,
}

impl Lists {
    fn number_of(&mut self, list: &[FragmentId]) -> u32 {
        if let Some(&number) = self.numbers.get(list) {
            return number;
        }
        let number = LISTS + self.all.len() as u32;
        let list: Arc<[FragmentId]> = list.into();
        self.all.push(Arc::clone(&list));
        self.numbers.insert(list, number);
        number
    }

    /// Nobody is to be told of entities with one of them: forgets them, if they are many.
    pub(super) fn settle(&mut self) {
        if self.all.len() > KEPT {
            *self = Self::default();
        }
    }
}

impl World {
    /// Whether a fragment is one that rows have got, or lose: one that they have, and that is not at the other end too,
    /// or one that was given to them again.
    pub(crate) fn concerns(&self, rows: &WatchedRows, fragment: FragmentId) -> bool {
        match rows.other {
            NOWHERE => true,
            list if (LISTS..EXPECTED).contains(&list) => {
                let list = &self.watch.lists.all[(list - LISTS) as usize];
                list.binary_search(&fragment).is_ok()
            }
            other => !self.set_of(other).contains(fragment),
        }
    }

    /// An entity of an archetype has got values again of fragments that it has, those of an edge.
    #[inline(always)]
    pub(in crate::world) fn has_got(
        &mut self,
        archetype: u32,
        entity: Entity,
        edge: &Edge,
    ) -> Panicked {
        if self.watches(archetype, SET) {
            self.tell_got(entity, &edge.regiven)
        } else {
            None
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_got(&mut self, entity: Entity, given: &[FragmentId]) -> Panicked {
        if self.watch.gathered.is_some() {
            self.gather_given(given, &[entity], 1);
            return None;
        }
        // It may have moved to another chunk, and the one where it was, which is gone, to the place of that.
        let (archetype, row) = self.locate(entity)?;
        let rows = self.row_given(archetype, row, given)?;
        let panicked = self.tell_sorted(SET, &[rows]);
        self.watch.lists.settle();
        panicked
    }

    /// A row, if something is given to it again.
    pub(super) fn row_given(
        &mut self,
        archetype: u32,
        row: Row,
        given: &[FragmentId],
    ) -> Option<WatchedRows> {
        if given.is_empty() {
            return None;
        }
        let list = self.watch.lists.number_of(given);
        Some(WatchedRows::one(archetype, row, list))
    }

    /// The entities of rows of an archetype have got values again of these fragments, which are in order.
    #[inline]
    pub(crate) fn gather_rows_given(&mut self, archetype: u32, rows: Rows, given: &[FragmentId]) {
        if self.watches(archetype, SET) {
            self.note_given(archetype, rows, given);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_given(&mut self, archetype: u32, rows: Rows, given: &[FragmentId]) {
        let entities = self.coming(archetype, rows, true);
        self.gather_given(given, &entities, rows.count);
    }

    /// The first `count` of these have got values again of some fragments, which are in order.
    pub(crate) fn gather_given(&mut self, given: &[FragmentId], entities: &[Entity], count: u32) {
        if given.is_empty() || entities.is_empty() {
            return;
        }
        if let Some(gathered) = &mut self.watch.gathered {
            let list = self.watch.lists.number_of(given);
            let count = entities.len().min(count as usize);
            gathered.given.note(list, &entities[..count]);
        }
    }
}
