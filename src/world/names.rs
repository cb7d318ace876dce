//! `Names`: what entities are called, if anybody calls them something.
//!
//! A dead handle stays dead for ever, so an entity that goes need not tell: its name is passed by from
//! then on, once, and swept out when the table has doubled, whether names were given here or came along from another
//! world, or when the world is trimmed. (In a world that goes back the dead live again: there all are looked for anew.)
//! Worlds without names pay nothing anywhere.

use std::collections::HashMap;
use std::sync::Arc;

use crate::entity::Entity;
use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::world::check::{FlawPlace, Found};
use crate::world::{World, WorldError};

/// Names before the dead are first swept out.
const FIRST_SWEEP: usize = 64;

/// Names of entities, each text once.
///
/// Must hold: each entry of `by_entity` stands in the list of its name, where it says; nothing else
/// stands in the lists.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// By a hasher with a secret: handles may come out of a file.
    by_entity: HashMap<Entity, Called>,
    by_name: HashMap<Arc<str>, Named>,
    sweep_at: usize,
    /// Counts changes, so that what was copied is known to be what is there.
    changes: u64,
    /// 1 if somebody who looked for a name has passed by some who are dead.
    passed: AtomicU32,
}

/// Names, each with those who had it, in the order in which they got it.
pub(super) type SavedNames = Vec<(Arc<str>, Vec<Entity>)>;

/// What an entity is called.
#[derive(Debug)]
struct Called {
    name: Arc<str>,
    /// Where it stands among those of the name.
    at: usize,
}

/// The entities of one name.
#[derive(Debug, Default)]
struct Named {
    /// In the order in which they got it; `None` where one stood that has it no more: at most as often as not.
    entities: Vec<Option<Entity>>,
    /// How many have it no more.
    removed: usize,
    /// So many at the beginning are gone: who looks for the first one begins behind them.
    gone: AtomicUsize,
}

impl Named {
    /// Those that may live.
    fn rest(&self) -> &[Option<Entity>] {
        // Ordering: Relaxed, here and below: it only saves work, and the list changes under `&mut` of the world.
        &self.entities[self.gone.load(Ordering::Relaxed)..]
    }

    /// The first one that lives; notes whether others were passed by.
    fn first(&self, lives: impl Fn(Entity) -> bool, passed: &AtomicU32) -> Option<Entity> {
        let rest = self.rest();
        let at = rest.iter().position(|entity| entity.is_some_and(&lives));
        let gone = self.entities.len() - rest.len() + at.unwrap_or(rest.len());
        if at != Some(0) {
            self.gone.fetch_max(gone, Ordering::Relaxed);
            passed.store(1, Ordering::Relaxed);
        }
        self.entities.get(gone).copied().flatten()
    }

    /// The one that stands there has the name no more; whether others may.
    fn remove(&mut self, at: usize) -> bool {
        self.removed += usize::from(self.entities[at].take().is_some());
        self.removed < self.entities.len()
    }

    fn is_sparse(&self) -> bool {
        2 * self.removed > self.entities.len()
    }

    /// Lets some go, and the places of those that have the name no more: `moved` hears where the
    /// others stand then. Whether there are any.
    fn compact(
        &mut self,
        stays: impl Fn(Entity) -> bool,
        mut moved: impl FnMut(Entity, usize),
    ) -> bool {
        let (before, mut gone, mut passed, mut count) =
            (self.gone.load(Ordering::Relaxed), 0, 0, 0);
        self.entities.retain(|&entity| {
            let stays = entity.filter(|&entity| stays(entity));
            if let Some(entity) = stays {
                moved(entity, count);
                count += 1;
                gone += usize::from(passed < before);
            }
            passed += 1;
            stays.is_some()
        });
        self.removed = 0;
        self.gone = AtomicUsize::new(gone);
        !self.entities.is_empty()
    }
}

impl Names {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_entity.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_entity.len()
    }

    /// What an entity is called, be it dead.
    pub(super) fn of(&self, entity: Entity) -> Option<&str> {
        self.by_entity.get(&entity).map(|called| &*called.name)
    }

    /// How often names have changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// A copy of the names of those who are meant.
    pub(super) fn saved(&self, is_meant: impl Fn(Entity) -> bool) -> SavedNames {
        let told = self.told(is_meant).into_iter();
        told.map(|(name, entities)| (self.intern(name), entities))
            .collect()
    }

    /// Makes all names what they were.
    pub(super) fn go_back(&mut self, saved: &SavedNames) {
        let changes = self.changes;
        *self = Self::default();
        for (name, entities) in saved {
            for &entity in entities {
                self.insert(entity, Arc::clone(name));
            }
        }
        self.sweep_at = FIRST_SWEEP.max(2 * self.by_entity.len());
        self.changes = changes + 1;
    }

    /// Who has a name may be another than before, though all names are the same: somebody lives again. O(1), and O(names) if
    /// somebody has looked for one who was dead.
    pub(super) fn note_change(&mut self) {
        self.changes += 1;
        // Ordering: as in `rest`.
        if self.passed.load(Ordering::Relaxed) == 1 {
            self.passed = AtomicU32::new(0);
            let named = self.by_name.values_mut();
            named.for_each(|named| named.gone = AtomicUsize::new(0));
        }
    }

    /// Whether an entity has a name, be it dead.
    pub(crate) fn has(&self, entity: Entity) -> bool {
        self.by_entity.contains_key(&entity)
    }

    /// The entities that have a name, dead ones too: those of each name in the order in which they got it.
    pub(crate) fn entities(&self) -> impl Iterator<Item = Entity> {
        let named = self.by_name.values();
        named.flat_map(|named| named.entities.iter().copied().flatten())
    }

    /// The names in their order, each with those who have it and are meant, in the order in which they got it.
    pub(super) fn told(&self, is_meant: impl Fn(Entity) -> bool) -> Vec<(&str, Vec<Entity>)> {
        let told = self.by_name.iter().map(|(name, named)| {
            let entities = named.entities.iter().copied().flatten();
            (
                &**name,
                entities.filter(|&entity| is_meant(entity)).collect(),
            )
        });
        let mut told: Vec<(&str, Vec<Entity>)> = told.collect();
        told.retain(|(_, entities)| !entities.is_empty());
        told.sort_unstable_by_key(|&(name, _)| name);
        told
    }

    /// Those of some entities that have a name: those of each name in the order in which they got it.
    pub(super) fn in_order(&self, entities: impl Iterator<Item = Entity>) -> Vec<Entity> {
        let called = |entity| {
            self.by_entity
                .get(&entity)
                .map(|called| (called.at, entity))
        };
        let mut named: Vec<(usize, Entity)> = entities.filter_map(called).collect();
        named.sort_unstable();
        named.into_iter().map(|(_, entity)| entity).collect()
    }

    /// The text that is kept for a name.
    pub(crate) fn intern(&self, name: impl AsRef<str> + Into<Arc<str>>) -> Arc<str> {
        match self.by_name.get_key_value(name.as_ref()) {
            Some((known, _)) => Arc::clone(known),
            None => name.into(),
        }
    }

    /// Calls an entity by a name; who has it already keeps the place among those of the name. O(1), and now and then
    /// O(entities of the name that it had).
    pub(crate) fn insert(&mut self, entity: Entity, name: Arc<str>) {
        let called = self.by_entity.get(&entity);
        if called.is_some_and(|called| called.name == name) {
            return;
        }
        self.remove(entity);
        self.changes += 1;
        let named = self.by_name.entry(Arc::clone(&name)).or_default();
        let at = named.entities.len();
        named.entities.push(Some(entity));
        self.by_entity.insert(entity, Called { name, at });
    }

    /// Takes an entity's name away. O(1), and O(entities of the name) when more than half of those
    /// that had it have it no more.
    pub(crate) fn remove(&mut self, entity: Entity) -> Option<Arc<str>> {
        let Called { name, at } = self.by_entity.remove(&entity)?;
        self.changes += 1;
        if let Some(named) = self.by_name.get_mut(&name) {
            if !named.remove(at) {
                self.by_name.remove(&name);
            } else if named.is_sparse() {
                named.compact(|_| true, stand(&mut self.by_entity));
            }
        }
        Some(name)
    }

    /// Notes whether one table says what the other does not, or somebody who lives is not looked for. O(names).
    pub(crate) fn check(&self, lives: impl Fn(Entity) -> bool, found: &mut Found) {
        for (&entity, Called { name, at }) in &self.by_entity {
            let known = self.by_name.get(name);
            let there = known.and_then(|all| *all.entities.get(*at)?);
            found.expect(there == Some(entity), FlawPlace::Name(entity), || {
                format!("place {at} among those called `{name}` is that of {there:?}")
            });
        }
        // As many places as names, each of which has its own.
        let mut places = 0;
        for (name, all) in &self.by_name {
            let removed = all.entities.iter().filter(|place| place.is_none()).count();
            places += all.entities.len() - removed;
            found.expect(removed == all.removed, FlawPlace::World, || {
                format!(
                    "{removed} entities are called `{name}` no more, and {} are counted",
                    all.removed
                )
            });
            let passed = all.entities.len() - all.rest().len();
            for &entity in all.entities[..passed].iter().flatten() {
                found.expect(!lives(entity), FlawPlace::Name(entity), || {
                    format!("it lives, and is not looked for among those called `{name}`")
                });
            }
        }
        found.expect(places == self.by_entity.len(), FlawPlace::World, || {
            format!(
                "{places} entities are found by name, and {} have one",
                self.by_entity.len()
            )
        });
    }

    /// Lets the names of some entities go. O(names).
    pub(super) fn forget(&mut self, is_forgotten: impl Fn(Entity) -> bool) {
        let before = self.by_entity.len();
        self.by_entity.retain(|&entity, _| !is_forgotten(entity));
        if self.by_entity.len() < before {
            self.changes += 1;
            self.by_name.retain(|_, named| {
                named.compact(|entity| !is_forgotten(entity), stand(&mut self.by_entity))
            });
        }
    }

    /// Lets the names go of entities that are gone.
    fn sweep(&mut self, lives: impl Fn(Entity) -> bool) {
        self.forget(|entity| !lives(entity));
        self.sweep_at = FIRST_SWEEP.max(2 * self.by_entity.len());
    }

    /// Gives the memory back in which no names are.
    fn shrink(&mut self) {
        self.by_entity.shrink_to_fit();
        self.by_name.shrink_to_fit();
        let lists = self.by_name.values_mut();
        lists.for_each(|named| named.entities.shrink_to_fit());
    }
}

/// Notes where an entity stands among those of its name.
fn stand(by_entity: &mut HashMap<Entity, Called>) -> impl FnMut(Entity, usize) {
    |entity, place| {
        if let Some(called) = by_entity.get_mut(&entity) {
            called.at = place;
        }
    }
}

impl World {
    /// Calls an entity by a name, which others may have too; a name that it had is forgotten, unless it is this one: then
    /// nothing changes. Each text is kept once. The name goes with the entity, also to another world; that of a reserved
    /// entity is this world's only, and not the entity's where another world builds it. O(1), and
    /// now and then O(names): when they have doubled, or most of those that had the entity's old
    /// name have it no more. The names of the dead are swept out then: there are never more than 64 names, or twice
    /// those that lived when they were last swept, and what came in one call. [`trim`](Self::trim) sweeps, too.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let queen = world.create((1_u8,))?;
    /// world.set_name(queen, "queen")?;
    /// assert_eq!(world.name(queen)?, Some("queen"));
    /// assert_eq!(world.find_by_name("queen"), Some(queen));
    /// world.destroy(queen)?;
    /// assert_eq!(world.find_by_name("queen"), None);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// The empty text is a name as any other: [`remove_name`](Self::remove_name) takes a name away.
    ///
    /// # Errors
    /// [`WorldError::Entity`], [`Elsewhere`](WorldError::Elsewhere); [`Pending`](WorldError::Pending) for what a recorder has
    /// created, until the flush: [`defer`](crate::command::Commands::defer) it. Not
    /// [`NotBuilt`](WorldError::NotBuilt): a reserved entity can have a name.
    pub fn set_name(&mut self, entity: Entity, name: &str) -> Result<(), WorldError> {
        self.check_exists(entity)?;
        self.sweep_doubled_names();
        let name = self.names.intern(name);
        self.names.insert(entity, name);
        Ok(())
    }

    /// Takes an entity's name away; whether it had one. O(1), and O(entities of that name) when
    /// most of those that had it have it no more.
    ///
    /// # Errors
    /// As for [`set_name`](Self::set_name).
    pub fn remove_name(&mut self, entity: Entity) -> Result<bool, WorldError> {
        self.check_exists(entity)?;
        Ok(self.names.remove(entity).is_some())
    }

    /// An entity's name, if it has one. O(1).
    ///
    /// # Errors
    /// As for [`set_name`](Self::set_name).
    pub fn name(&self, entity: Entity) -> Result<Option<&str>, WorldError> {
        self.check_exists(entity)?;
        Ok(self.names.of(entity))
    }

    /// The entity with this name; of several the one that has had it longest. O(1), and once for
    /// each entity that had it before and has gone, or has it no more. Any thread; lock-free, and wait-free but where it finds such.
    #[must_use]
    pub fn find_by_name(&self, name: &str) -> Option<Entity> {
        self.names
            .by_name
            .get(name)?
            .first(|entity| self.exists(entity), &self.names.passed)
    }

    /// Another number after each call that has given, changed or taken away a name, and a greater one: for who keeps what is made
    /// of names, a list on a screen for instance, and makes it anew when it is another. By how much it grows is not said, and now
    /// and then it grows by itself, as names of the dead are let go. (To die is not counted: who has a name and is dead is found
    /// by it no more.) It is of this world: not saved, and in one that [went back](crate::world::Checkpoints) greater, too:
    /// somebody who has a name may live again. O(1), wait-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create(())?;
    /// let seen = world.names_version();
    /// world.set_name(ant, "Anton")?;
    /// let named = world.names_version();
    /// assert!(named > seen);
    /// // It is called so already.
    /// world.set_name(ant, "Anton")?;
    /// assert_eq!(world.names_version(), named);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn names_version(&self) -> u64 {
        self.names.changes()
    }

    /// The entities with this name, in the order in which they got it. O(entities of that name).
    pub fn named(&self, name: &str) -> impl Iterator<Item = Entity> + '_ {
        let entities = self.names.by_name.get(name);
        let entities = entities
            .into_iter()
            .flat_map(Named::rest)
            .copied()
            .flatten();
        entities.filter(|&entity| self.exists(entity))
    }

    /// Lets the names go of entities that are gone, when there are twice as many as after the last time. O(1), and then
    /// O(names).
    pub(super) fn sweep_doubled_names(&mut self) {
        if self.names.len() >= self.names.sweep_at.max(FIRST_SWEEP) {
            self.sweep_names();
        }
    }

    /// Lets the names go of entities that are gone, and the memory in which they were. O(names).
    pub(super) fn trim_names(&mut self) {
        if !self.names.is_empty() {
            self.sweep_names();
        }
        self.names.shrink();
    }

    fn sweep_names(&mut self) {
        let mut names = core::mem::take(&mut self.names);
        names.sweep(|entity| self.exists(entity));
        self.names = names;
    }

    fn check_exists(&self, entity: Entity) -> Result<(), WorldError> {
        match self.find(entity) {
            Ok(_) | Err(WorldError::NotBuilt { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_found() {
        let [ant, bee] = [1, 2].map(|n| Entity::new(n, 1).unwrap());
        type Break = (fn(&mut Names, Entity), FlawPlace, &'static str);
        let broken: [Break; 4] = [
            (
                |names, _| _ = names.by_name["worker"].first(|_| false, &names.passed),
                FlawPlace::Name(ant),
                "it lives, and is not looked for among those called `worker`",
            ),
            (
                |names, ant| names.by_entity.get_mut(&ant).unwrap().at = 1,
                FlawPlace::Name(ant),
                "place 1 among those called `worker` is that of Some(",
            ),
            (
                |names, _| names.by_name.get_mut("worker").unwrap().removed = 1,
                FlawPlace::World,
                "0 entities are called `worker` no more, and 1 are counted",
            ),
            (
                |names, ant| _ = names.by_entity.remove(&ant),
                FlawPlace::World,
                "2 entities are found by name, and 1 have one",
            ),
        ];
        for (how, place, what) in broken {
            let mut names = Names::default();
            let worker = names.intern("worker");
            names.insert(ant, Arc::clone(&worker));
            names.insert(bee, worker);
            how(&mut names, ant);
            let mut found = Found::default();
            names.check(|entity| entity == ant, &mut found);
            let error = found.into_result("world").expect_err(what);
            let [flaw] = error.flaws() else {
                panic!("{error}");
            };
            assert_eq!(flaw.place(), place);
            assert!(flaw.what().contains(what), "{error}");
        }
    }

    #[test]
    fn others_of_a_name_move_less_often_than_it_was_taken_away() {
        const ENTITIES: u32 = 500;
        let entities = (0..ENTITIES).map(|n| Entity::new(n, 1).unwrap());
        let mut names = Names::default();
        let ant = names.intern("ant");
        for entity in entities.clone() {
            names.insert(entity, Arc::clone(&ant));
        }
        let mut moves = 0;
        // In no order: 7 and the number of entities have no divisor.
        for n in 0..ENTITIES {
            let before: Vec<_> = names.by_entity.iter().map(|(&e, c)| (e, c.at)).collect();
            names.remove(Entity::new(7 * n % ENTITIES, 1).unwrap());
            let stays = before
                .iter()
                .filter_map(|(e, at)| Some((names.by_entity.get(e)?.at, at)));
            moves += stays.filter(|(now, before)| now != *before).count();
            let mut found = Found::default();
            names.check(|_| true, &mut found);
            found.into_result("world").unwrap();
            let sparse = names.by_name.values().any(Named::is_sparse);
            assert!(!sparse, "{n} have it no more");
        }
        assert!(names.is_empty() && names.by_name.is_empty());
        assert!(moves <= ENTITIES as usize, "{moves}");
    }
}
