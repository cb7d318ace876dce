//! `Watch`: where an upper room is told what comes and goes, without this one knowing who listens.
//!
//! Each archetype says by bits which kinds of change somebody wants to hear of, so that a change of entities
//! that nobody watches costs one branch that is always predicted. What *goes* is told before its values do;
//! what *comes*, and what is [given], when all of it is in place. A call that changes many tells each kind once:
//! what goes was found before the call began, what comes is gathered until its end.

mod given;

use core::any::Any;
use core::fmt;
use std::collections::HashMap;

use crate::archetype::{ARCHETYPES, Archetype, Change, Edge, Ends, Row, Rows};
use crate::entity::Entity;
use crate::fragment::{FragmentId, FragmentSet};
use crate::hashers::ByNumbers;
use crate::panics::{Panicked, first, note, resume};
use crate::world::{Batch, SliceReport, World, WorldError};

/// Entities came to life.
pub(crate) const CREATED: u8 = 1;
/// Entities are about to die.
pub(crate) const DESTROYED: u8 = 2;
/// Entities came from another archetype.
pub(crate) const ADDED: u8 = 4;
/// Entities are about to go to another archetype.
pub(crate) const REMOVED: u8 = 8;
/// Entities got values: with what they came with, or came to, or again of what they had.
pub(crate) const SET: u8 = 16;

/// "No archetype."
pub(crate) const NOWHERE: u32 = u32::MAX;

/// From this number on: no archetype yet, but one that is [expected](World::expect_archetype).
const EXPECTED: u32 = 1 << 31;
const _: () = assert!(ARCHETYPES <= EXPECTED as usize);

/// Says of which kinds of change of an archetype's entities the watcher wants to hear, in a
/// universe whose ids depend on threads or do not.
pub(super) fn watch(data: &mut Archetype, kinds: u8, ordered: bool) {
    data.watched = kinds;
    let is_told = kinds & DESTROYED != 0 || !data.enabled.is_empty() || ordered;
    data.ends = match (is_told, data.needs_drop) {
        (false, false) => Ends::Quietly,
        (false, true) => Ends::WithDrops,
        (true, _) => Ends::Told,
    };
}

/// Neighbouring rows with the same change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchedRows {
    pub(crate) archetype: u32,
    pub(crate) chunk: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// The archetype that they came from or go to, or [`NOWHERE`], or of what was given again the list: see
    /// [`World::concerns`].
    pub(crate) other: u32,
}

impl WatchedRows {
    pub(crate) fn new(archetype: u32, rows: Rows, other: u32) -> Self {
        Self {
            archetype,
            chunk: rows.chunk,
            first: rows.first,
            count: rows.count,
            other,
        }
    }

    pub(crate) fn one(archetype: u32, row: Row, other: u32) -> Self {
        Self {
            archetype,
            chunk: row.chunk,
            first: row.row,
            count: 1,
            other,
        }
    }
}

/// Who is told.
pub(crate) trait Watcher: Any + Send + Sync + fmt::Debug {
    /// Which kinds of change of an archetype's entities it wants to hear of: of what comes to it, and of
    /// what goes from it.
    fn kinds_of(&self, archetype: &Archetype) -> u8;

    /// Hears of rows with one kind of change, in the order of archetypes, chunks and rows. What users' code
    /// panics with comes back.
    fn hear(&mut self, world: &mut World, kind: u8, rows: &[WatchedRows]) -> Panicked;
}

/// What is gathered while a call changes many.
#[derive(Debug, Default)]
struct Gathered {
    /// Rows of new entities, which stay where they are until the call ends.
    created: Vec<WatchedRows>,
    /// Entities that came, and from which archetypes.
    came: Entities,
    /// Those that got values again, and which.
    given: Entities,
}

/// Entities, each with what is [other](WatchedRows::other) than where they are.
#[derive(Debug, Default)]
struct Entities {
    all: Vec<Entity>,
    /// Of so many of them, in order, this is.
    others: Vec<(u32, usize)>,
}

impl Entities {
    fn note(&mut self, other: u32, entities: &[Entity]) {
        self.all.extend_from_slice(entities);
        match self.others.last_mut() {
            Some((last, count)) if *last == other => *count += entities.len(),
            _ => self.others.push((other, entities.len())),
        }
    }

    /// Where they lie now: mostly side by side. Of those only that are there.
    fn rows(&self, world: &World, mut visit: impl FnMut(WatchedRows)) {
        let mut all = self.all.as_slice();
        for &(other, count) in &self.others {
            let (mut left, rest) = all.split_at(count);
            all = rest;
            while !left.is_empty() {
                let mut count = 1;
                if let Ok((archetype, rows)) = world.run_at(left) {
                    count = rows.count as usize;
                    visit(WatchedRows::new(archetype, rows, other));
                }
                left = &left[count..];
            }
        }
    }
}

/// What a change of many comes to.
pub(crate) trait Outcome {
    /// Whether all has changed that was to change, as far as it says.
    fn is_whole(&self) -> bool;
}

impl Outcome for usize {
    fn is_whole(&self) -> bool {
        true
    }
}

impl Outcome for SliceReport {
    fn is_whole(&self) -> bool {
        self.is_clean()
    }
}

impl<T: Outcome, E> Outcome for Result<T, E> {
    fn is_whole(&self) -> bool {
        self.as_ref().is_ok_and(Outcome::is_whole)
    }
}

impl Outcome for Batch {
    fn is_whole(&self) -> bool {
        true
    }
}

/// A world's watcher.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    watcher: Option<Box<dyn Watcher>>,
    /// Kinds that some archetype is watched for, now or later.
    kinds: u8,
    gathered: Option<Gathered>,
    /// Of what is given again.
    lists: given::Lists,
    /// What is told goes to another world, or comes from one.
    moves: bool,
    /// The fragments of archetypes that entities are told to go to, and which are not there yet.
    expected: Vec<FragmentSet>,
}

impl World {
    /// Says whether what is told goes to another world, or comes from one.
    pub(super) fn set_moves(&mut self, moves: bool) {
        self.watch.moves = moves;
    }

    /// Whether it does.
    pub(crate) fn moves(&self) -> bool {
        self.watch.moves
    }

    /// Whether somebody wants to hear of some of these kinds.
    #[inline(always)]
    pub(crate) fn is_watched(&self, kinds: u8) -> bool {
        self.watch.kinds & kinds != 0
    }

    /// Whether somebody wants to hear of this kind of change of an archetype's entities, or of one of these.
    #[inline(always)]
    pub(crate) fn watches(&self, archetype: u32, kind: u8) -> bool {
        self.archetypes[archetype as usize].watched & kind != 0
    }

    /// The watcher, which is to be told with [`watch_more`](Self::watch_more) or
    /// [`watch_anew`](Self::watch_anew) of what it wants to hear of.
    pub(crate) fn watcher<W: Watcher + Default>(&mut self) -> &mut W {
        let watcher = &mut self.watch.watcher;
        let watcher: &mut dyn Any = &mut **watcher.get_or_insert_with(|| Box::<W>::default());
        match watcher.downcast_mut() {
            Some(watcher) => watcher,
            None => unreachable!("a world has one kind of watcher"),
        }
    }

    /// The watcher, if there is one, and nobody has it.
    pub(crate) fn known_watcher<W: Watcher>(&self) -> Option<&W> {
        let watcher: &dyn Any = &**self.watch.watcher.as_ref()?;
        watcher.downcast_ref()
    }

    /// Lends the watcher and the world, of which it may be asked nothing meanwhile.
    pub(crate) fn with_watcher<W: Watcher + Default>(
        &mut self,
        with: impl FnOnce(&mut Self, &mut W),
    ) {
        // There is one from here on.
        self.watcher::<W>();
        let Some(mut watcher) = self.watch.watcher.take() else {
            return;
        };
        let mut panicked = None;
        note(&mut panicked, || {
            let watcher: &mut dyn Any = &mut *watcher;
            if let Some(watcher) = watcher.downcast_mut() {
                with(self, watcher);
            }
        });
        self.watch.watcher = Some(watcher);
        resume(panicked);
    }

    /// The watcher wants to hear of these kinds besides, of archetypes that have a fragment and that `sees` says.
    /// O(archetypes that have it).
    pub(crate) fn watch_more(
        &mut self,
        kinds: u8,
        fragment: FragmentId,
        sees: impl Fn(&Archetype) -> bool,
    ) {
        self.watch.kinds |= kinds;
        for having in self.having.of(fragment) {
            let data = &mut self.archetypes[having.archetype as usize];
            if sees(data) {
                watch(data, data.watched | kinds, self.universe.is_ordered());
            }
        }
    }

    /// The watcher, which is [lent](Self::with_watcher) or hears, wants to hear of these kinds at all, and has changed
    /// its mind about archetypes that have a fragment: it is asked about each. In the middle of a change it may only
    /// have come to want less: that is looked at anew for each entity. O(archetypes that have it), and what the watcher
    /// takes.
    pub(crate) fn watch_anew(&mut self, watcher: &dyn Watcher, kinds: u8, fragment: FragmentId) {
        self.watch.kinds = kinds;
        for having in self.having.of(fragment) {
            let data = &mut self.archetypes[having.archetype as usize];
            watch(data, watcher.kinds_of(data), self.universe.is_ordered());
        }
    }

    /// What the watcher wants to hear of a new archetype.
    pub(crate) fn watched_kinds(&self, archetype: &Archetype) -> u8 {
        let watcher = self.watch.watcher.as_deref();
        watcher.map_or(0, |watcher| watcher.kinds_of(archetype))
    }

    /// Tells the watcher.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell(&mut self, kind: u8, mut rows: Vec<WatchedRows>) -> Panicked {
        if rows.is_empty() {
            return None;
        }
        if kind == SET {
            // Those together of which the same is told. They may stand there several times.
            rows.sort_unstable_by_key(|rows| {
                let WatchedRows {
                    archetype,
                    chunk,
                    first,
                    count,
                    other,
                } = *rows;
                (archetype, other, chunk, first, count)
            });
        } else {
            rows.sort_unstable();
        }
        rows.dedup_by(|next, last| {
            let neighbours = (
                last.archetype,
                last.chunk,
                last.other,
                last.first + last.count,
            ) == (next.archetype, next.chunk, next.other, next.first);
            if neighbours {
                last.count += next.count;
            }
            neighbours
        });
        self.tell_sorted(kind, &rows)
    }

    /// The same of rows that are in order, and of which no two could be one.
    pub(super) fn tell_sorted(&mut self, kind: u8, rows: &[WatchedRows]) -> Panicked {
        let mut watcher = self.watch.watcher.take()?;
        let panicked = watcher.hear(self, kind, rows);
        self.watch.watcher = Some(watcher);
        panicked
    }

    // --- One entity ----------------------------------------------------------------------------------

    /// An entity is there, with all its values.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_created(&mut self, archetype: u32, row: Row) {
        let rows = WatchedRows::one(archetype, row, NOWHERE);
        match &mut self.watch.gathered {
            Some(gathered) => gathered.created.push(rows),
            None => {
                let panicked = self.tell_sorted(CREATED, &[rows]);
                let set = self.is_watched(SET).then(|| self.tell_sorted(SET, &[rows]));
                resume(first(panicked, set.flatten()));
            }
        }
    }

    /// Rows of new entities are there, with all their values.
    pub(super) fn tell_new(&mut self, rows: Vec<WatchedRows>) -> Panicked {
        let set = match self.is_watched(SET) {
            true => rows.clone(),
            false => Vec::new(),
        };
        let panicked = self.tell(CREATED, rows);
        first(panicked, self.tell(SET, set))
    }

    /// An entity dies next.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_destroyed(&mut self, archetype: u32, row: Row) -> Panicked {
        self.tell_sorted(DESTROYED, &[WatchedRows::one(archetype, row, NOWHERE)])
    }

    /// An entity goes to another archetype next.
    #[inline(always)]
    pub(super) fn leaves(&mut self, archetype: u32, row: Row, target: u32) -> Panicked {
        if self.watches(archetype, REMOVED) {
            self.tell_leaving(archetype, row, target)
        } else {
            None
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_leaving(&mut self, archetype: u32, row: Row, target: u32) -> Panicked {
        if self.watch.gathered.is_some() {
            // It was told before the call began.
            return None;
        }
        self.tell_sorted(REMOVED, &[WatchedRows::one(archetype, row, target)])
    }

    /// An entity has come from another archetype along an edge.
    #[inline(always)]
    pub(super) fn has_come(
        &mut self,
        source: u32,
        archetype: u32,
        row: Row,
        edge: &Edge,
    ) -> Panicked {
        if self.watches(archetype, ADDED | SET) {
            self.tell_come(source, archetype, row, &edge.regiven)
        } else {
            None
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_come(
        &mut self,
        source: u32,
        archetype: u32,
        row: Row,
        again: &[FragmentId],
    ) -> Panicked {
        let chunk = &self.archetypes[archetype as usize].chunks[row.chunk as usize];
        let entity = chunk.entities()[row.row as usize];
        if let Some(gathered) = &mut self.watch.gathered {
            gathered.came.note(source, &[entity]);
            self.gather_rows_given(archetype, Rows::one(row), again);
            return None;
        }
        let come = WatchedRows::one(archetype, row, source);
        let panicked = self.tell_sorted(ADDED, &[come]);
        if !self.watches(archetype, SET) {
            return panicked;
        }
        let again = self.row_given(archetype, row, again);
        let set = again.into_iter().chain([come]).collect();
        let panicked = first(panicked, self.tell(SET, set));
        self.watch.lists.settle();
        panicked
    }

    // --- Many ----------------------------------------------------------------------------------------

    /// New entities are there, in rows that stay until the call ends.
    #[inline(always)]
    pub(crate) fn gather_created(&mut self, archetype: u32, row: Row, count: u32) {
        if self.watches(archetype, CREATED | SET) {
            self.note_created(archetype, row, count);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_created(&mut self, archetype: u32, row: Row, count: u32) {
        if let Some(gathered) = &mut self.watch.gathered {
            let rows = Rows {
                chunk: row.chunk,
                first: row.row,
                count,
            };
            let rows = WatchedRows::new(archetype, rows, NOWHERE);
            gathered.created.push(rows);
        }
    }

    /// The new entities that were gathered go again: nobody is told.
    pub(super) fn forget_created(&mut self) {
        if let Some(gathered) = &mut self.watch.gathered {
            gathered.created.clear();
        }
    }

    /// The entities of rows that are about to go to an archetype that is watched for that.
    pub(crate) fn coming(&self, archetype: u32, rows: Rows, watched: bool) -> Vec<Entity> {
        if !watched || self.watch.gathered.is_none() {
            return Vec::new();
        }
        let chunk = &self.archetypes[archetype as usize].chunks[rows.chunk as usize];
        let rows = rows.first as usize..(rows.first + rows.count) as usize;
        chunk.entities()[rows].to_vec()
    }

    /// The first `count` of these have come, from an archetype of this world or from elsewhere.
    pub(crate) fn gather_come(&mut self, source: u32, entities: &[Entity], count: u32) {
        if let Some(gathered) = &mut self.watch.gathered {
            let count = entities.len().min(count as usize);
            gathered.came.note(source, &entities[..count]);
        }
    }

    /// Makes a change of many entities, of which `going` go: tells that before, and what has come after. What
    /// has stayed after all is told as come again. Users' panics come back when all is told.
    #[cold]
    #[inline(never)]
    pub(crate) fn told<R: Outcome>(
        &mut self,
        kind: u8,
        going: Vec<WatchedRows>,
        change: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let leaving = self.leaving(&going);
        let mut panicked = self.tell(kind, going);
        self.begin_gathering();
        let mut result: Option<R> = None;
        let mut stopped = None;
        note(&mut stopped, || result = Some(change(self)));
        // Whoever was told may have switched off what the change asks for.
        let all_went = result.as_ref().is_some_and(Outcome::is_whole) && !self.has_switches;
        if !all_went {
            self.gather_stayed(&leaving);
        }
        panicked = first(first(panicked, stopped), self.tell_gathered());
        self.expect_none();
        resume(panicked);
        match result {
            Some(result) => result,
            None => unreachable!("the change has panicked"),
        }
    }

    /// The archetype that a change leads to, to be told of: the one that there is, or what it will
    /// be. (What its chunks begin with may come with the change itself.)
    ///
    /// # Errors
    /// There can be no such archetype.
    pub(crate) fn expect_archetype(
        &mut self,
        source: u32,
        change: Change,
    ) -> Result<u32, WorldError> {
        self.check_change(source, change)?;
        let ids = self.composition_after(source, change);
        if let Some(&archetype) = self.by_composition.get(ids.as_slice()) {
            return Ok(archetype);
        }
        let number = EXPECTED + self.watch.expected.len() as u32;
        self.watch.expected.push(ids.into_iter().collect());
        Ok(number)
    }

    /// Nobody is to be told of archetypes that are not there.
    pub(crate) fn expect_none(&mut self) {
        self.watch.expected.clear();
    }

    /// The fragments of an archetype, or of one that is [expected](Self::expect_archetype).
    pub(crate) fn set_of(&self, archetype: u32) -> &FragmentSet {
        match archetype.checked_sub(EXPECTED) {
            None => &self.archetypes[archetype as usize].set,
            Some(expected) => &self.watch.expected[expected as usize],
        }
    }

    /// The entities of rows that are told to go.
    fn leaving(&self, going: &[WatchedRows]) -> Vec<(WatchedRows, Vec<Entity>)> {
        let going = going.iter().map(|&rows| {
            let data = &self.archetypes[rows.archetype as usize];
            let all = data.chunks[rows.chunk as usize].entities();
            let entities = &all[rows.first as usize..(rows.first + rows.count) as usize];
            (rows, entities.to_vec())
        });
        going.collect()
    }

    /// Those that were told to go and are still there come again: memory ran out, or users' code stopped it, or has
    /// switched off what was asked for.
    fn gather_stayed(&mut self, leaving: &[(WatchedRows, Vec<Entity>)]) {
        for (rows, entities) in leaving {
            for &entity in entities {
                let there = self.locate(entity);
                let stayed = there.is_some_and(|(archetype, _)| {
                    rows.other == NOWHERE || archetype == rows.archetype
                });
                if stayed {
                    self.gather_come(rows.other, &[entity], 1);
                }
            }
        }
    }

    /// What comes from now on is told together. (Also where nobody listens: what goes from here to another world is
    /// gathered for who listens there.)
    pub(crate) fn begin_gathering(&mut self) {
        self.watch.gathered = Some(Gathered::default());
    }

    /// Tells what has come since.
    #[inline]
    pub(crate) fn tell_gathered(&mut self) -> Panicked {
        let gathered = self.watch.gathered.take()?;
        self.tell_all(gathered)
    }

    #[cold]
    #[inline(never)]
    fn tell_all(&mut self, gathered: Gathered) -> Panicked {
        let mut created = gathered.created;
        let mut added = Vec::new();
        gathered.came.rows(self, |rows| match rows.other {
            NOWHERE => created.push(rows),
            _ => added.push(rows),
        });
        let mut set = Vec::new();
        if self.is_watched(SET) {
            set.extend_from_slice(&created);
            set.extend_from_slice(&added);
            gathered.given.rows(self, |rows| set.push(rows));
        }
        let panicked = self.tell(CREATED, created);
        let panicked = first(panicked, self.tell(ADDED, added));
        let panicked = first(panicked, self.tell(SET, set));
        self.watch.lists.settle();
        panicked
    }

    /// Rows of the entities of a slice that are watched for `kind` and go to another archetype: `to` says to
    /// which one goes from where.
    pub(crate) fn going(
        &mut self,
        kind: u8,
        entities: &[Entity],
        mut to: impl FnMut(&mut Self, u32) -> Option<u32>,
    ) -> Vec<WatchedRows> {
        let mut rows = Vec::new();
        // Each archetype is asked about once: of one that is not there yet it is told another number each time.
        let mut known: HashMap<u32, Option<u32>, ByNumbers> = HashMap::default();
        let mut last = None;
        for &entity in entities {
            let Some((archetype, row)) = self.locate(entity) else {
                continue;
            };
            if !self.watches(archetype, kind) {
                continue;
            }
            let other = match last {
                Some((known, other)) if known == archetype => other,
                _ => *known
                    .entry(archetype)
                    .or_insert_with(|| to(self, archetype)),
            };
            last = Some((archetype, other));
            rows.extend(other.map(|other| WatchedRows::one(archetype, row, other)));
        }
        rows.sort_unstable();
        // One that stands there twice goes once.
        rows.dedup();
        rows
    }

    /// All rows of an archetype, if it is watched for their end.
    pub(crate) fn all_going(&self, archetype: u32, rows: &mut Vec<WatchedRows>) {
        if self.watches(archetype, DESTROYED) {
            self.all_rows(archetype, rows);
        }
    }

    /// All rows of an archetype.
    pub(crate) fn all_rows(&self, archetype: u32, rows: &mut Vec<WatchedRows>) {
        let chunks = self.archetypes[archetype as usize].chunks.iter();
        let chunks = (0..).zip(chunks).filter(|(_, chunk)| chunk.len > 0);
        rows.extend(chunks.map(|(position, chunk)| WatchedRows {
            archetype,
            chunk: position,
            first: 0,
            count: chunk.len,
            other: NOWHERE,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use core::cell::Cell;

    /// Wants to hear of all, and counts how often it is asked.
    #[derive(Debug, Default)]
    struct Asked(AtomicUsize);

    impl Watcher for Asked {
        fn kinds_of(&self, _: &Archetype) -> u8 {
            // Ordering: one thread, here and below.
            self.0.fetch_add(1, Ordering::Relaxed);
            CREATED
        }

        fn hear(&mut self, _: &mut World, _: u8, _: &[WatchedRows]) -> Panicked {
            None
        }
    }

    #[test]
    fn only_archetypes_that_have_a_fragment_are_asked_about() {
        let mut world = World::new();
        world.create((1_u8,)).unwrap();
        world.create((1_u8, 2_u16)).unwrap();
        world.create((2_u16, 3_u32)).unwrap();
        world.create((3_u32,)).unwrap();
        let id = world.registry().register::<u8>().unwrap().id();
        let calls = Cell::new(0);
        world.watch_more(ADDED, id, |data| {
            calls.set(calls.get() + 1);
            data.columns.len() == 2
        });
        assert_eq!(calls.get(), 2);
        let watched = |world: &World| [0, 1, 2, 3].map(|n| world.archetypes[n].watched);
        assert_eq!(watched(&world), [0, ADDED, 0, 0]);
        world.with_watcher(|world, asked: &mut Asked| world.watch_anew(asked, CREATED, id));
        assert_eq!(world.watcher::<Asked>().0.load(Ordering::Relaxed), 2);
        assert_eq!(watched(&world), [CREATED, CREATED, 0, 0]);
        assert!(world.is_watched(CREATED) && !world.is_watched(ADDED));
    }
}
