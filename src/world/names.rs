//! `Names`: what entities are called, if anybody calls them something.
//!
//! A dead handle stays dead for ever, so an entity that goes need not tell: its name is passed by from
//! then on, and swept out when the table has doubled. Worlds without names pay nothing anywhere.

use std::collections::HashMap;
use std::sync::Arc;

use crate::entity::Entity;
use crate::world::check::{FlawPlace, Found};
use crate::world::{World, WorldError};

/// Names before the dead are first swept out.
const FIRST_SWEEP: usize = 64;

/// Names of entities, each text once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_entity: HashMap<Entity, Arc<str>>,
    /// In the order in which they got the name.
    by_name: HashMap<Arc<str>, Vec<Entity>>,
    sweep_at: usize,
}

impl Names {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_entity.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_entity.len()
    }

    /// Whether an entity has a name, be it dead.
    pub(crate) fn has(&self, entity: Entity) -> bool {
        self.by_entity.contains_key(&entity)
    }

    /// Names and entities, dead ones too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Entity, &Arc<str>)> {
        self.by_entity.iter().map(|(&entity, name)| (entity, name))
    }

    /// The text that is kept for a name.
    pub(crate) fn intern(&self, name: impl AsRef<str> + Into<Arc<str>>) -> Arc<str> {
        match self.by_name.get_key_value(name.as_ref()) {
            Some((known, _)) => Arc::clone(known),
            None => name.into(),
        }
    }

    /// Calls an entity by a name.
    pub(crate) fn insert(&mut self, entity: Entity, name: Arc<str>) {
        self.remove(entity);
        self.by_name
            .entry(Arc::clone(&name))
            .or_default()
            .push(entity);
        self.by_entity.insert(entity, name);
    }

    /// Takes an entity's name away.
    pub(crate) fn remove(&mut self, entity: Entity) -> Option<Arc<str>> {
        let name = self.by_entity.remove(&entity)?;
        if let Some(entities) = self.by_name.get_mut(&name) {
            entities.retain(|&known| known != entity);
            if entities.is_empty() {
                self.by_name.remove(&name);
            }
        }
        Some(name)
    }

    /// Notes whether one table says what the other does not.
    pub(crate) fn check(&self, found: &mut Found) {
        for (&entity, name) in &self.by_entity {
            let known = self.by_name.get(name);
            let count = known.map_or(0, |all| all.iter().filter(|&&e| e == entity).count());
            found.expect(count == 1, FlawPlace::Name(entity), || {
                format!("{count} entries of `{name}` lead to it")
            });
        }
        let named: usize = self.by_name.values().map(Vec::len).sum();
        found.expect(named == self.by_entity.len(), FlawPlace::World, || {
            format!(
                "{named} entities are found by name, and {} have one",
                self.by_entity.len()
            )
        });
    }

    /// Lets the names of some entities go. O(names).
    pub(super) fn forget(&mut self, is_forgotten: impl Fn(Entity) -> bool) {
        if self.is_empty() {
            return;
        }
        self.by_entity.retain(|&entity, _| !is_forgotten(entity));
        self.by_name.retain(|_, entities| {
            entities.retain(|&entity| !is_forgotten(entity));
            !entities.is_empty()
        });
    }

    /// Lets the names go of entities that are gone.
    fn sweep(&mut self, lives: impl Fn(Entity) -> bool) {
        self.forget(|entity| !lives(entity));
        self.sweep_at = FIRST_SWEEP.max(2 * self.by_entity.len());
    }
}

impl World {
    /// Calls an entity by a name, which others may have too; a name that it had is forgotten. Each text is
    /// kept once. The name goes with the entity, also to another world; that of a reserved entity is this world's only, and
    /// not the entity's where another world builds it. O(1), and now and then O(names).
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
    /// # Errors
    /// The handle is refused. A reserved entity can have a name.
    pub fn set_name(&mut self, entity: Entity, name: &str) -> Result<(), WorldError> {
        self.check_exists(entity)?;
        if self.names.len() >= self.names.sweep_at.max(FIRST_SWEEP) {
            let mut names = core::mem::take(&mut self.names);
            names.sweep(|entity| self.exists(entity));
            self.names = names;
        }
        let name = self.names.intern(name);
        self.names.insert(entity, name);
        Ok(())
    }

    /// Takes an entity's name away; whether it had one. O(entities of that name).
    ///
    /// # Errors
    /// The handle is refused.
    pub fn remove_name(&mut self, entity: Entity) -> Result<bool, WorldError> {
        self.check_exists(entity)?;
        Ok(self.names.remove(entity).is_some())
    }

    /// An entity's name, if it has one. O(1).
    ///
    /// # Errors
    /// The handle is refused.
    pub fn name(&self, entity: Entity) -> Result<Option<&str>, WorldError> {
        self.check_exists(entity)?;
        Ok(self.names.by_entity.get(&entity).map(|name| &**name))
    }

    /// The entity with this name; of several the one that has had it longest. O(1), as long as no entity
    /// of that name has gone.
    #[must_use]
    pub fn find_by_name(&self, name: &str) -> Option<Entity> {
        self.named(name).next()
    }

    /// The entities with this name, in the order in which they got it.
    pub fn named(&self, name: &str) -> impl Iterator<Item = Entity> + '_ {
        let entities = self.names.by_name.get(name);
        let entities = entities.into_iter().flatten().copied();
        entities.filter(|&entity| self.exists(entity))
    }

    fn check_exists(&self, entity: Entity) -> Result<(), WorldError> {
        match self.find(entity) {
            Ok(_) | Err(WorldError::NotBuilt { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
