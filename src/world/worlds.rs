//! Entities go from one world to another of the same universe, and keep their ids.
//!
//! Values move, a column at a time; shared values become the other world's (the two keep one copy
//! together); names go along. A whole chunk is handed over as it is where the other world lays its chunks
//! out alike, with its chunk fragments: it stays one of the same composition. Not if there is much room, and it has no
//! chunk fragments.
//!
//! Must hold: where nobody comes after all, the other world has no composition more than before, nor anything more that
//! chunks begin with.

use std::sync::Arc;

use crate::archetype::{Archetype, Chunk, Edge, FromLast, Rows, copy_bits, copy_rows};
use crate::entity::Entity;
use crate::fragment::{Bundle, FragmentError};
use crate::panics::{Panicked, note, resume};
use crate::world::destroy::SliceReport;
use crate::world::refusals::Refusals;
use crate::world::runs::Moved;
use crate::world::taken::Before;
use crate::world::watch::{CREATED, DESTROYED, NOWHERE, Outcome, SET, WatchedRows};
use crate::world::{World, WorldError};

/// The way from an archetype of one world to the same composition in another.
#[derive(Debug)]
pub(crate) struct Passage {
    edge: Edge,
    same_layout: bool,
    /// The group that was asked for last, and the other world's.
    group: Option<(u32, u32)>,
    /// How the other world was before it knew the composition, until somebody has come by this way.
    before: Option<Before>,
}

impl Passage {
    /// Whether rows of a chunk go to a group of the other world with the chunk, as it is.
    fn takes_whole(&self, other: &World, group: u32, chunk: &Chunk, rows: Rows) -> bool {
        let target = &other.archetypes[self.edge.target as usize];
        rows.count == chunk.len && self.same_layout && target.takes_chunk(group, chunk)
    }

    /// Nobody comes by this way any more. If nobody has, the other world is made what it was before.
    fn close(self, other: &mut World, panicked: &mut Panicked) {
        if let Some(before) = self.before {
            other.put_back(before, panicked);
        }
    }
}

impl World {
    /// Moves an entity to another world of the same universe; it keeps its id and its name. Signals that wait for it
    /// stay, unless they are [moved too](Self::move_signals_to). O(fragments), and now and then O(names in the other
    /// world), as for [`set_name`](Self::set_name).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let universe = Arc::new(Universe::new());
    /// let (mut land, mut sea) = (World::of(&universe)?, World::of(&universe)?);
    /// let crab = land.create(("crab",))?;
    /// land.move_to(&mut sea, crab)?;
    /// assert!(!land.exists(crab));
    /// assert_eq!(sea.get::<&str>(crab)?, &"crab");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// A destruction that can be undone is a move: to a world that no schedule runs, and back, as it was, with its handle,
    /// all its values, what of it is switched off, and its name. Handles that others have of it are refused meanwhile
    /// ([`WorldError::Elsewhere`]), and lead to it again afterwards. Observers hear that it goes and comes, as they do of who
    /// is destroyed and created; of one that is refused they hear nothing.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let universe = Arc::new(Universe::new());
    /// let (mut world, mut bin) = (World::of(&universe)?, World::of(&universe)?);
    /// let ant = world.create((7_u32,))?;
    /// world.set_name(ant, "worker")?;
    /// world.move_to(&mut bin, ant)?;
    /// assert!(!world.exists(ant));
    /// // Undone. (Who is still in the bin when the list of what was done is cut off ends with `bin.destroy`.)
    /// bin.move_to(&mut world, ant)?;
    /// assert_eq!((world.get::<u32>(ant)?, world.name(ant)?), (&7, Some("worker")));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::OtherUniverse`]; no memory is left. Then the other world is what it was, and has
    /// no composition more.
    ///
    /// # Panics
    /// If the `clone` of what a new chunk begins with, or the `eq` or `hash` of a shared value panics: then it is where it
    /// was, and the other world as after an error.
    pub fn move_to(&mut self, other: &mut Self, entity: Entity) -> Result<(), WorldError> {
        self.check_universe(other)?;
        if !self.is_watched_between(other) {
            self.move_slice_to(other, &[entity])?.into_result()?;
            return Ok(());
        }
        // Room first: what is shown as going does go.
        let (target, group, before) = self.find_room_in(other, entity)?;
        let going = self.going(DESTROYED, &[entity], |_, _| Some(NOWHERE));
        let moved = self.told_between(other, going, |world, other| {
            let (mut moved, mut panicked) = (Err(WorldError::Interrupted), None);
            note(&mut panicked, || {
                moved = world.move_all_of(other, &[entity]);
            });
            // Users' `eq` and `hash` are asked once more.
            if !other.is_built(entity) {
                other.let_go(target, group);
                if let Some(before) = before {
                    other.put_back(before, &mut panicked);
                }
            }
            resume(panicked);
            moved
        });
        moved?.into_result()?;
        Ok(())
    }

    /// Finds room for an entity in another world, if it does not come there with its chunk: archetype and group, and how
    /// that world was before it knew the composition, if it did not.
    #[cold]
    fn find_room_in(
        &self,
        other: &mut Self,
        entity: Entity,
    ) -> Result<(u32, u32, Option<Before>), WorldError> {
        let (archetype, rows) = self.run_at(&[entity])?;
        let mut passage = self.passage(other, archetype)?;
        let (mut found, mut panicked) = (Err(WorldError::Interrupted), None);
        // Users' `eq` and `hash` may panic, and the `clone` of what a chunk begins with.
        note(&mut panicked, || {
            found = self.find_room_along(other, archetype, rows, &mut passage);
        });
        match found {
            Ok(group) => Ok((passage.edge.target, group, passage.before)),
            Err(error) => {
                passage.close(other, &mut panicked);
                resume(panicked);
                Err(error)
            }
        }
    }

    /// Finds room for a run in another world, if it does not come there with its chunk: the group.
    fn find_room_along(
        &self,
        other: &mut Self,
        archetype: u32,
        rows: Rows,
        passage: &mut Passage,
    ) -> Result<u32, WorldError> {
        let chunk = &self.archetypes[archetype as usize].chunks[rows.chunk as usize];
        let group = self.group_there(other, archetype, chunk.group, passage)?;
        let target = passage.edge.target;
        if passage.takes_whole(other, group, chunk, rows) {
            return Ok(group);
        }
        let mut moved = Moved::default();
        if (other.room_or_why(target, group, rows.count, &mut moved)).is_none() {
            other.let_go(target, group);
        }
        resume(moved.panicked);
        moved.refused.map_or(Ok(group), Err)
    }

    /// Moves each entity of a slice to another world of the same universe; handles that are refused are
    /// reported by position, as are those for whom no memory is left. All of a chunk side by side go as in
    /// [`move_all_to`](Self::move_all_to), others come to chunks that have room. Names go along in the order in which they
    /// were given, whatever the order of the slice. Where there is no memory for the first of a composition, those behind are
    /// refused without another try, until the call itself has made a chunk free.
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`].
    ///
    /// # Panics
    /// If a shared value's `eq` or `hash`, or the `clone` of a chunk fragment's template panics: each entity
    /// is in one of the two worlds then, whole.
    pub fn move_slice_to(
        &mut self,
        other: &mut Self,
        entities: &[Entity],
    ) -> Result<SliceReport, WorldError> {
        self.check_universe(other)?;
        if self.is_watched_between(other) {
            let going = self.going(DESTROYED, entities, |_, _| Some(NOWHERE));
            return self.told_between(other, going, |world, other| {
                world.move_all_of(other, entities)
            });
        }
        self.move_all_of(other, entities)
    }

    #[inline]
    fn move_all_of(
        &mut self,
        other: &mut Self,
        entities: &[Entity],
    ) -> Result<SliceReport, WorldError> {
        if !other.names.is_empty() {
            // What they were called there while they were reserved.
            let own = entities.iter().filter(|&&entity| self.is_built(entity));
            own.for_each(|&entity| _ = other.names.remove(entity));
        }
        let named = match self.names.is_empty() {
            true => Vec::new(),
            // In the order in which they got their names, whatever order they go in.
            false => {
                let here = entities.iter().copied();
                self.names
                    .in_order(here.filter(|&entity| self.is_built(entity)))
            }
        };
        let mut report = SliceReport::default();
        let mut panicked = None;
        let mut passage: Option<(u32, Passage)> = None;
        let mut refusals = Refusals::default();
        let mut at = 0;
        // Users' `clone`, `eq` and `hash` may panic.
        note(&mut panicked, || {
            while at < entities.len() {
                let found = self.run_at(&entities[at..]).and_then(|(archetype, rows)| {
                    if let Some(error) = refusals.of(&self.archetypes[archetype as usize], rows) {
                        return Err(error.clone());
                    }
                    match &passage {
                        Some((known, _)) if *known == archetype => {}
                        _ => {
                            close_if_open(passage.take(), other);
                            let way = self.passage(other, archetype);
                            let way =
                                way.inspect_err(|error| refusals.no_composition(archetype, error));
                            passage = Some((archetype, way?));
                        }
                    }
                    Ok((archetype, rows))
                });
                match (found, &mut passage) {
                    (Ok((archetype, rows)), Some((_, way))) => {
                        let chunks = self.archetypes[archetype as usize].chunks.len();
                        let moved = self.emigrate(other, archetype, rows, way);
                        if self.archetypes[archetype as usize].chunks.len() < chunks {
                            refusals.clear();
                        } else if way.before.is_some()
                            && let Some(error) = &moved.refused
                        {
                            refusals.no_chunk(archetype, error, way.same_layout);
                        }
                        report.done += moved.count as usize;
                        at = report.refuse(at + moved.count as usize, moved.refused);
                        resume(moved.panicked);
                    }
                    (Ok(_), None) => unreachable!("a run has a passage"),
                    (Err(error), _) => at = report.refuse(at, Some(error)),
                }
            }
        });
        note(&mut panicked, || close_if_open(passage, other));
        self.names_go_along(other, named);
        resume(panicked);
        Ok(report)
    }

    /// Moves all entities with exactly the fragments of `B` to another world of the same universe, chunk
    /// by chunk, as [`move_all_to`](Self::move_all_to) does; how many.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let universe = Arc::new(Universe::new());
    /// let (mut land, mut sea) = (World::of(&universe)?, World::of(&universe)?);
    /// let _ = land.create_batch((0..10_000).map(|n| (n, "crab")))?;
    /// land.create((1, "ant", 6_u8))?;
    /// assert_eq!(land.move_archetype_to::<(i32, &str)>(&mut sea)?, 10_000);
    /// assert_eq!((land.count(), sea.count()), (1, 10_000));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`]; a fragment stands in `B` twice; no memory is left: then some of the
    /// entities have moved, as many as [`count`](Self::count) has fallen by.
    ///
    /// # Panics
    /// As for [`move_slice_to`](Self::move_slice_to).
    pub fn move_archetype_to<B: Bundle>(&mut self, other: &mut Self) -> Result<usize, WorldError> {
        self.check_universe(other)?;
        let number = self.bundles.number::<B>(self.universe.registry())? as usize;
        let ids = &self.bundles.infos[number].sorted;
        let Some(&archetype) = self.by_composition.get(ids) else {
            return Ok(0);
        };
        let mut going = Vec::new();
        self.all_going(archetype, &mut going);
        self.told_between(other, going, |world, other| {
            world.naming(other, [archetype].into_iter(), |world, other| {
                world.emigrate_archetype(other, archetype)
            })
        })
    }

    /// Moves all entities of this world to another of the same universe, chunk by chunk; how many.
    /// Reserved entities belong to no world and may be built in either; resources stay, and so do signals that wait
    /// ([`move_signals_to`](Self::move_signals_to)).
    ///
    /// Chunks that are laid out alike there go as they are, with their chunk fragments, unless they are less than half
    /// full and others there have room: then their entities take the chunk fragments of those. Without chunk fragments,
    /// entities are also copied to where there is room while more than an eighth of their composition's rows would be
    /// free there; O(chunks) else.
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`]; no memory is left there, or there are [too many compositions](WorldError): then some of
    /// the entities have moved, as many as [`count`](Self::count) has fallen by.
    ///
    /// # Panics
    /// As for [`move_slice_to`](Self::move_slice_to).
    pub fn move_all_to(&mut self, other: &mut Self) -> Result<usize, WorldError> {
        self.check_universe(other)?;
        let mut going = Vec::new();
        let archetypes = 0..self.archetypes.len() as u32;
        (archetypes.clone()).for_each(|archetype| self.all_going(archetype, &mut going));
        self.told_between(other, going, |world, other| {
            world.naming(other, archetypes.clone(), |world, other| {
                let mut counts =
                    archetypes.map(|archetype| world.emigrate_archetype(other, archetype));
                counts.try_fold(0, |count, more| Ok(count + more?))
            })
        })
    }

    /// Whether somebody wants to hear of entities that go from this world to another.
    pub(crate) fn is_watched_between(&self, other: &Self) -> bool {
        self.is_watched(DESTROYED) || other.is_watched(CREATED | SET)
    }

    /// Moves entities to another world: to this one's watcher they end, for the other's they are new.
    pub(crate) fn told_between<R: Outcome>(
        &mut self,
        other: &mut Self,
        going: Vec<WatchedRows>,
        change: impl FnOnce(&mut Self, &mut Self) -> R,
    ) -> R {
        if !self.is_watched_between(other) {
            return change(self, other);
        }
        let (mut moved, mut panicked) = (None, None);
        self.set_moves(true);
        other.set_moves(true);
        note(&mut panicked, || {
            moved = Some(self.told(DESTROYED, going, |world| {
                other.told(CREATED, Vec::new(), |other| change(world, other))
            }));
        });
        self.set_moves(false);
        other.set_moves(false);
        resume(panicked);
        match moved {
            Some(moved) => moved,
            None => unreachable!("what has panicked goes on"),
        }
    }

    fn emigrate_archetype(
        &mut self,
        other: &mut Self,
        archetype: u32,
    ) -> Result<usize, WorldError> {
        if self.archetypes[archetype as usize].entities == 0 {
            return Ok(0);
        }
        self.by_passage(other, archetype, |world, other, passage| {
            let mut count = 0;
            let mut chunks = FromLast::of(&world.archetypes[archetype as usize]);
            while let Some(rows) = chunks.next_of(&world.archetypes[archetype as usize]) {
                let moved = world.emigrate(other, archetype, rows, passage);
                resume(moved.panicked);
                count += moved.count as usize;
                if let Some(error) = moved.refused {
                    return Err(error);
                }
            }
            Ok(count)
        })
    }

    /// Does `work`, by which entities of an archetype go to the other world. If none of them has come there when it is
    /// done, refused or has panicked, that world is what it was before.
    pub(crate) fn by_passage<R>(
        &mut self,
        other: &mut Self,
        archetype: u32,
        work: impl FnOnce(&mut Self, &mut Self, &mut Passage) -> Result<R, WorldError>,
    ) -> Result<R, WorldError> {
        let mut passage = self.passage(other, archetype)?;
        let (mut result, mut panicked) = (Err(WorldError::Interrupted), None);
        note(&mut panicked, || {
            result = work(self, other, &mut passage);
        });
        passage.close(other, &mut panicked);
        resume(panicked);
        result
    }

    /// Whether entities can go to another world.
    pub(crate) fn check_universe(&self, other: &Self) -> Result<(), WorldError> {
        if Arc::ptr_eq(&self.universe, &other.universe) {
            Ok(())
        } else {
            Err(WorldError::OtherUniverse)
        }
    }

    /// The way to another world of the same universe, which is to be [closed](Passage::close).
    fn passage(&self, other: &mut Self, archetype: u32) -> Result<Passage, WorldError> {
        let source = &self.archetypes[archetype as usize];
        let mut once = source.chunk_values.iter();
        let (target, before) = match other.by_composition.get(&*source.ids) {
            Some(&target) if once.all(|value| other.templates.contains_key(&value.id)) => {
                (target, None)
            }
            _ => {
                let (target, before) = other.compose_as(source)?;
                (target, Some(before))
            }
        };
        let target = &other.archetypes[target as usize];
        let edge = Edge::new(source, target, Box::default(), |_| false);
        Ok(Passage {
            edge,
            same_layout: source.same_layout(target),
            group: None,
            before,
        })
    }

    /// The archetype with the composition of another world's, whose chunks begin as those there if it is new, and how the
    /// world was before. If it is refused, or a `clone` of what its chunks begin with panics, nothing has changed.
    #[cold]
    fn compose_as(&mut self, source: &Archetype) -> Result<(u32, Before), WorldError> {
        let before = self.before();
        let (mut target, mut panicked) = (Err(WorldError::Interrupted), None);
        note(&mut panicked, || {
            for value in &source.chunk_values {
                let template = self.templates.entry(value.id);
                template.or_insert_with(|| Arc::new(value.template.duplicate()));
            }
            target = self.archetype_after(&source.ids, &|id| {
                Some(&source.chunk_value_of(id)?.template)
            });
        });
        match target {
            Ok(target) => Ok((target, before)),
            Err(error) => {
                self.put_back(before, &mut panicked);
                resume(panicked);
                Err(error)
            }
        }
    }

    /// The other world's group with the shared values of a group of this one.
    fn group_there(
        &self,
        other: &mut Self,
        archetype: u32,
        group: u32,
        passage: &mut Passage,
    ) -> Result<u32, WorldError> {
        let source = &self.archetypes[archetype as usize];
        if source.shared.is_empty() {
            return Ok(0);
        }
        if let Some((known, there)) = passage.group
            && known == group
        {
            return Ok(there);
        }
        let registry = self.universe.registry();
        let mut key = Vec::with_capacity(source.shared.len());
        let mut panicked = None;
        for (&id, &value) in source.shared.iter().zip(&source.groups[group as usize].key) {
            let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
            let value = self.shared.value(value);
            note(&mut panicked, || {
                key.push(other.shared.intern_shared(info, value))
            });
        }
        if panicked.is_some() {
            key.iter()
                .for_each(|&value| other.shared.release_unused(value));
            resume(panicked);
        }
        let there = other.group_of(passage.edge.target, &key);
        passage.group = Some((group, there));
        Ok(there)
    }

    /// Moves a run to another world.
    pub(crate) fn emigrate(
        &mut self,
        other: &mut Self,
        archetype: u32,
        rows: Rows,
        passage: &mut Passage,
    ) -> Moved {
        // Signals may wait there for what was reserved and is built here.
        other.births += 1;
        let source = &self.archetypes[archetype as usize];
        let chunk = &source.chunks[rows.chunk as usize];
        let here = chunk.group;
        let mut moved = Moved::default();
        let mut group = None;
        // Users' `eq` and `hash` may panic.
        note(&mut moved.panicked, || {
            group = Some(self.group_there(other, archetype, here, passage));
        });
        let group = match group {
            Some(Ok(group)) => group,
            Some(Err(error)) => {
                moved.refused = Some(error);
                return moved;
            }
            None => return moved,
        };
        let watched = other.watches(passage.edge.target, CREATED | SET);
        let coming = self.coming(archetype, rows, watched);
        let chunk = &self.archetypes[archetype as usize].chunks[rows.chunk as usize];
        moved = if passage.takes_whole(other, group, chunk, rows) {
            self.hand_to(other, archetype, rows, passage.edge.target, group)
        } else {
            self.copy_to(other, archetype, rows, &passage.edge, group)
        };
        if moved.count > 0 {
            passage.before = None;
        }
        other.gather_come(NOWHERE, &coming, moved.count);
        self.settle_groups(archetype);
        if !self.archetypes[archetype as usize].shared.is_empty()
            && self.archetypes[archetype as usize].groups[here as usize].chunks == 0
        {
            // The number may come back as that of another group.
            passage.group = None;
        }
        if moved.count < rows.count {
            passage.group = None;
            other.let_go(passage.edge.target, group);
        }
        moved
    }

    fn hand_to(
        &mut self,
        other: &mut Self,
        archetype: u32,
        rows: Rows,
        target: u32,
        group: u32,
    ) -> Moved {
        let version = other.stamp();
        let source = &mut self.archetypes[archetype as usize];
        let chunk = source.detach(&self.universe, self.number, rows.chunk);
        let target = &mut other.archetypes[target as usize];
        target.adopt(&self.universe, other.number, chunk, group, version);
        Moved {
            count: rows.count,
            ..Moved::default()
        }
    }

    fn copy_to(
        &mut self,
        other: &mut Self,
        archetype: u32,
        rows: Rows,
        edge: &Edge,
        group: u32,
    ) -> Moved {
        let version = other.stamp();
        let mut moved = Moved::default();
        let from = &self.archetypes[archetype as usize].chunks[rows.chunk as usize];
        while moved.count < rows.count {
            let left = rows.count - moved.count;
            let Some(to) = other.room_or_why(edge.target, group, left, &mut moved) else {
                break;
            };
            let target = &mut other.archetypes[edge.target as usize];
            let chunk = &target.chunks[to.chunk as usize];
            let at = rows.first + moved.count;
            let count = (rows.count - moved.count).min(chunk.capacity - to.row);
            // SAFETY: rows of a chunk of this world, and as many empty ones behind the last of a chunk of
            // the other.
            let entities = unsafe { copy_rows(edge, from, at, chunk, to.row, count) };
            self.universe.place_rows(entities, chunk.run, to.row);
            target.grown(to.chunk, count, version);
            let chunk = &target.chunks[to.chunk as usize];
            // SAFETY: as above; the rows are filled now.
            unsafe { copy_bits(edge, from, at, chunk, to.row, count) };
            moved.count += count;
        }
        let done = Rows {
            count: moved.count,
            ..rows
        };
        let version = self.stamp();
        let source = &mut self.archetypes[archetype as usize];
        // No value ends: the compositions are the same.
        source.close_rows(&self.universe, self.number, done, version);
        moved
    }

    /// Does `work`, by which entities of these archetypes go to the other world, and their names after them; also if
    /// it panics. Asks each of the entities, or each name, whichever are fewer.
    pub(crate) fn naming<R>(
        &mut self,
        other: &mut Self,
        archetypes: impl Iterator<Item = u32> + Clone,
        work: impl FnOnce(&mut Self, &mut Self) -> R,
    ) -> R {
        let (mut result, mut panicked) = (None, None);
        let archetypes = archetypes.map(|archetype| &self.archetypes[archetype as usize]);
        let count: usize = archetypes.clone().map(|data| data.entities).sum();
        let chunks = archetypes.flat_map(|data| &data.chunks);
        let entities = chunks.flat_map(|chunk| chunk.entities().iter().copied());
        // What they were called there while they were reserved.
        if count < other.names.len() {
            entities
                .clone()
                .for_each(|entity| _ = other.names.remove(entity));
        } else {
            other.names.forget(|entity| self.is_built(entity));
        }
        let named = if count < self.names.len() {
            self.names.in_order(entities)
        } else {
            self.named_here(self.names.entities())
        };
        note(&mut panicked, || result = Some(work(self, other)));
        self.names_go_along(other, named);
        resume(panicked);
        match result {
            Some(result) => result,
            None => unreachable!("the work is done, or has panicked"),
        }
    }

    /// Those of some entities that live here and have a name. (The name of a reserved one is this world's only, though
    /// another builds it.)
    fn named_here(&self, entities: impl Iterator<Item = Entity>) -> Vec<Entity> {
        let is_named = |&entity: &Entity| self.names.has(entity) && self.is_built(entity);
        entities.filter(is_named).collect()
    }

    /// Takes the names along of those entities that have gone to the other world.
    fn names_go_along(&mut self, other: &mut Self, named: Vec<Entity>) {
        for entity in named {
            if other.is_built(entity)
                && let Some(name) = self.names.remove(entity)
            {
                let name = other.names.intern(name);
                other.names.insert(entity, name);
            }
        }
        // A world that only ever gets its entities from others has no other moment for it.
        other.sweep_doubled_names();
    }
}

/// Closes the passage of an archetype, if there is one; if users' code panics meanwhile, that goes on.
fn close_if_open(passage: Option<(u32, Passage)>, other: &mut World) {
    let mut panicked = None;
    if let Some((_, passage)) = passage {
        passage.close(other, &mut panicked);
    }
    resume(panicked);
}
