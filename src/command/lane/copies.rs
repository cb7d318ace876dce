//! Copies of prototypes come into private chunks.
//!
//! What a lane knows of a prototype is its way: which stream its copies go to, and which value fills which column. It
//! is found by the prototype's number, which no other will have, and holds nothing of the prototype's.

use core::any::TypeId;
use core::hash::{Hash, Hasher};
use std::collections::HashMap;
use std::sync::Arc;

use super::batch::{AllMade, BatchRows, Made, Unfinished};
use super::{Lane, NONE};
use crate::archetype::place;
use crate::command::stripes::Ids;
use crate::entity::{Entity, EntityIndex, EntityMap, Full};
use crate::fragment::{Bundle, FragmentId, NO_COLUMN_LEFT, none_twice};
use crate::hashers::TypeHasher;
use crate::panics::{note, refused, resume};
use crate::world::prototype::{Filling, PAST, Target};
use crate::world::{COLUMNS, Group, Prototype, WorldError};

type Columns = [*mut u8; COLUMNS];

/// Ways that a lane keeps from flush to flush: if there are more, it forgets all, and learns anew those that are
/// still wanted. So prototypes that come and go take no memory for ever.
const KEPT_WAYS: usize = 256;

/// What a way is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CopyKey {
    /// The prototype's number.
    prototype: u64,
    /// The bundle type that stands instead of some of its values, if one does.
    of: Option<TypeId>,
}

impl Hash for CopyKey {
    /// Types are hashes already; prototypes are numbered one after the other, and those that follow each other shall
    /// not share a [recent](super::Recent) place.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut of = TypeHasher::default();
        if let Some(id) = self.of {
            id.hash(&mut of);
        }
        let number = self.prototype.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state.write_u64(of.finish().wrapping_add(number));
    }
}

/// How the copies of a prototype get into a stream.
#[derive(Debug)]
pub(super) struct CopyWay {
    pub(super) stream: u32,
    filling: Filling,
}

impl Lane {
    /// Creates one copy.
    #[inline]
    pub(in crate::command) fn create_copy(
        &mut self,
        prototype: &Prototype,
        ids: &mut Ids<'_>,
    ) -> Result<Entity, WorldError> {
        let way = self.copy_way::<()>(prototype, None)?;
        let (private, row, _) = self.copy_rows(way, prototype, (1, false), ids, |_, _, _, _| ())?;
        self.take_copied_templates(way, prototype);
        Ok(self.privates[private as usize].chunk.entities()[row as usize])
    }

    /// Makes a reserved entity a copy.
    pub(in crate::command) fn build_copy(
        &mut self,
        entity: Entity,
        prototype: &Prototype,
        ids: &mut Ids<'_>,
    ) -> Result<(), WorldError> {
        // Before users' code runs for it.
        if self.universe.index().locate(entity)?.is_some() {
            return Err(WorldError::AlreadyBuilt { entity });
        }
        let way = self.copy_way::<()>(prototype, None)?;
        let rows = self.fill_rows(way, prototype, (1, false), ids, |_, _, _, _| ())?;
        rows.commit_reserved(entity)?;
        self.take_copied_templates(way, prototype);
        Ok(())
    }

    /// Creates copies: where they lie, in order. All or none, as for [`create_batch`](Self::create_batch).
    pub(in crate::command) fn create_copies(
        &mut self,
        prototype: &Prototype,
        count: usize,
        ids: &mut Ids<'_>,
    ) -> Result<AllMade, WorldError> {
        let way = self.copy_way::<()>(prototype, None)?;
        self.copy_all(way, prototype, count, ids, |_, _, _, _| ())
    }

    /// Creates a copy of a group: who it is, in the order of the members. All or none, as for
    /// [`create_batch`](Self::create_batch).
    pub(in crate::command) fn create_group(
        &mut self,
        group: &Group,
        ids: &mut Ids<'_>,
    ) -> Result<Vec<Entity>, WorldError> {
        let prototypes = group.prototypes();
        let mut ways = Vec::with_capacity(prototypes.len());
        for prototype in prototypes {
            ways.push(self.copy_way::<()>(prototype, None)?);
        }
        let mut batch = Unfinished::new(self);
        for (&way, prototype) in ways.iter().zip(prototypes) {
            // Broken off, it has used as many ids as it has made members, whoever shares the lane.
            let made = (batch.lane).copy_rows(way, prototype, (1, false), ids, |_, _, _, _| ())?;
            batch.made.push(made);
        }
        let created: Vec<Entity> = (batch.made.iter())
            .map(|&(private, row, _)| {
                batch.lane.privates[private as usize].chunk.entities()[row as usize]
            })
            .collect();
        if !group.leads().is_empty() {
            let members = group.entities().iter().copied();
            let pairs = members.zip(created.iter().copied());
            let entities = EntityMap::from_iter(pairs).keeping_others();
            for lead in group.leads() {
                let (private, row, _) = batch.made[lead.member];
                let value = batch.lane.value_at(private, row, lead.fragment);
                // SAFETY: a value of a row that was made just now, in a chunk that only this lane has. If this panics, it
                // goes with all others.
                unsafe { lead.apply(value, &entities) };
            }
        }
        batch.finish();
        for (&way, prototype) in ways.iter().zip(prototypes) {
            self.take_copied_templates(way, prototype);
        }
        Ok(created)
    }

    /// Where a value of a row lies, which has a size.
    fn value_at(&self, private: u32, row: u32, id: FragmentId) -> *mut u8 {
        let private = &self.privates[private as usize];
        let columns = &self.streams[private.stream() as usize].draft.columns;
        let column = match columns.binary_search_by_key(&id, |column| column.id) {
            Ok(column) => &columns[column],
            Err(_) => unreachable!("a value in a column has a column"),
        };
        let array = private.chunk.array(column.offset);
        array.wrapping_add(row as usize * column.size as usize)
    }

    /// Creates copies with bundles of `make`, which is called for one after the other.
    pub(in crate::command) fn create_copies_with<B: Bundle>(
        &mut self,
        prototype: &Prototype,
        count: usize,
        ids: &mut Ids<'_>,
        mut make: impl FnMut(usize) -> B,
    ) -> Result<AllMade, WorldError> {
        const {
            assert!(
                !B::HAS_VALUES,
                "shared values and chunk fragments are the prototype's: entities have them together"
            );
            assert!(B::LEN <= COLUMNS, "{}", NO_COLUMN_LEFT);
        }
        let way = match self.copy_way::<B>(prototype, Some(TypeId::of::<B>())) {
            Ok(way) => way,
            Err(error) => return Err(refused(make, error)),
        };
        let write = move |number: usize, to: &Target<'_>, columns: &Columns, made: &mut usize| {
            for at in 0..to.count {
                let bundle = make(number + at as usize);
                // SAFETY: the columns are those of the bundle, with such a row, which is empty.
                unsafe { bundle.write(columns.as_ptr(), (to.first + at) as usize) };
                *made = at as usize + 1;
            }
        };
        self.copy_all(way, prototype, count, ids, write)
    }

    fn copy_all(
        &mut self,
        way: u32,
        prototype: &Prototype,
        count: usize,
        ids: &mut Ids<'_>,
        mut write: impl FnMut(usize, &Target<'_>, &Columns, &mut usize),
    ) -> Result<AllMade, WorldError> {
        if count > EntityIndex::CAPACITY {
            let capacity = EntityIndex::CAPACITY;
            return Err(Full { capacity }.into());
        }
        let past = count * self.copy_ways[way as usize].filling.bytes >= PAST;
        let mut batch = Unfinished::new(self);
        let mut number = 0;
        while number < count {
            let most = (count - number) as u32;
            let write = |_: usize, to: &Target<'_>, columns: &Columns, made: &mut usize| {
                write(number, to, columns, made);
            };
            let lane = &mut *batch.lane;
            let mut made = None;
            let mut panicked = None;
            note(&mut panicked, || {
                made = Some(lane.copy_rows(way, prototype, (most, past), ids, write));
            });
            let Some(made) = made else {
                lane.use_up(way, ids, count - number);
                resume(panicked);
                unreachable!("no rows were made, because of a panic");
            };
            let made = made?;
            number += made.2 as usize;
            batch.made.push(made);
        }
        // A closure's own drop may panic.
        drop(write);
        let made = batch.finish();
        if count > 0 {
            self.take_copied_templates(way, prototype);
        }
        Ok(made)
    }

    /// A call has been broken off that still had so many copies to make.
    #[cold]
    fn use_up(&self, way: u32, ids: &mut Ids<'_>, count: usize) {
        let stream = &self.streams[self.copy_ways[way as usize].stream as usize];
        if let Some(private) = self.privates.get(stream.current as usize) {
            ids.use_up(&self.universe, place(private.chunk.run, 0), count);
        }
    }

    /// Creates copies where the next ones go, `most` at most, past the caches or not: where they are.
    #[inline]
    fn copy_rows(
        &mut self,
        way: u32,
        prototype: &Prototype,
        how: (u32, bool),
        ids: &mut Ids<'_>,
        write: impl FnMut(usize, &Target<'_>, &Columns, &mut usize),
    ) -> Result<Made, WorldError> {
        self.fill_rows(way, prototype, how, ids, write)?.commit()
    }

    /// The same, without entities as yet.
    #[inline(always)]
    fn fill_rows<'a, 's>(
        &'a mut self,
        way: u32,
        prototype: &Prototype,
        (most, past): (u32, bool),
        ids: &'a mut Ids<'s>,
        mut write: impl FnMut(usize, &Target<'_>, &Columns, &mut usize),
    ) -> Result<BatchRows<'a, 's>, WorldError> {
        let CopyWay { stream, .. } = self.copy_ways[way as usize];
        let (private, first) = self.room(stream)?;
        let count = most.min(self.streams[stream as usize].limit - first);
        let to = Target {
            chunk: &self.privates[private as usize].chunk,
            first,
            count,
            past,
        };
        let filling = &self.copy_ways[way as usize].filling;
        // SAFETY: empty rows of a chunk of the way's stream, which is this lane's; the way is the prototype's, and
        // `write` that of its bundle.
        resume(unsafe { filling.fill(prototype, &to, &mut write) });
        Ok(BatchRows {
            lane: self,
            ids,
            private,
            first,
            count,
        })
    }

    /// The way of a prototype's copies, of which `of` writes some fragments.
    #[inline(always)]
    fn copy_way<B: Bundle>(
        &mut self,
        prototype: &Prototype,
        of: Option<TypeId>,
    ) -> Result<u32, WorldError> {
        let key = CopyKey {
            prototype: prototype.number(),
            of,
        };
        match self.recent_copies.get(key) {
            Some(way) => Ok(way),
            None => self.find_copy_way::<B>(prototype, key),
        }
    }

    #[cold]
    #[inline(never)]
    fn find_copy_way<B: Bundle>(
        &mut self,
        prototype: &Prototype,
        key: CopyKey,
    ) -> Result<u32, WorldError> {
        let way = match self.copy_way_of.get(&key) {
            Some(&way) => way,
            None => {
                let way = self.new_copy_way::<B>(prototype, key.of.is_some())?;
                self.copy_ways.push(way);
                let way = self.copy_ways.len() as u32 - 1;
                self.copy_way_of.insert(key, way);
                way
            }
        };
        self.recent_copies.keep(key, way);
        Ok(way)
    }

    fn new_copy_way<B: Bundle>(
        &mut self,
        prototype: &Prototype,
        written: bool,
    ) -> Result<CopyWay, WorldError> {
        let registry = self.universe.registry();
        prototype.refuse_foreign(registry)?;
        let mut by_bundle = Vec::with_capacity(B::LEN);
        B::ids(registry, &mut by_bundle)?;
        let mut sorted = by_bundle.clone();
        sorted.sort_unstable();
        none_twice(registry, &sorted)?;
        let mut all: Vec<FragmentId> = prototype.fragments().to_vec();
        all.extend(sorted);
        all.sort_unstable();
        all.dedup();
        let combo = self.copied_combo(prototype);
        let (stream, fills) = self.stream_with_needs(&all, combo)?;
        let columns = &self.streams[stream as usize].draft.columns;
        let written = written.then_some(by_bundle.as_slice());
        let filling = Filling::new(columns, prototype, written.into_iter(), Arc::new(fills));
        Ok(CopyWay { stream, filling })
    }

    /// The combination of a prototype's shared values.
    fn copied_combo(&mut self, prototype: &Prototype) -> u32 {
        let shared = prototype.shared();
        if shared.is_empty() {
            return NONE;
        }
        match self.known_combo(shared.iter().map(|value| &**value)) {
            Some(known) => known,
            None => {
                let hash = self.hash_of(shared.iter().map(|value| &**value));
                self.add_combo(hash, shared.to_vec())
            }
        }
    }

    /// Keeps what the chunks of the copies begin with, if their archetype is new.
    #[inline(always)]
    fn take_copied_templates(&mut self, way: u32, prototype: &Prototype) {
        for value in prototype.per_chunk() {
            let CopyWay { stream, .. } = self.copy_ways[way as usize];
            self.take_template(stream, Arc::clone(value));
        }
    }

    /// Whether there are more ways than are kept.
    pub(super) fn has_many_copy_ways(&self) -> bool {
        self.copy_ways.len() > KEPT_WAYS
    }

    /// Forgets all ways, if there are many.
    pub(super) fn forget_copies(&mut self) {
        if self.has_many_copy_ways() {
            self.copy_ways = Vec::new();
            self.copy_way_of = HashMap::default();
            self.recent_copies.clear();
        }
    }
}
