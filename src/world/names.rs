//! `Names`: what entities are called, if anybody calls them something.
//!
//! A dead handle stays dead for ever, so an entity that goes need not tell: its name is passed by from
//! then on, once, and swept out when the table has doubled. Worlds without names pay nothing anywhere.

use std::collections::HashMap;
use std::sync::Arc;

use crate::entity::Entity;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::world::check::{FlawPlace, Found};
use crate::world::{World, WorldError};

/// Names before the dead are first swept out.
const FIRST_SWEEP: usize = 64;

/// Names of entities, each text once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_entity: HashMap<Entity, Arc<str>>,
    by_name: HashMap<Arc<str>, Named>,
    sweep_at: usize,
}

/// The entities of one name.
#[derive(Debug, Default)]
struct Named {
    /// In the order in which they got it.
    entities: Vec<Entity>,
    /// So many at the beginning are gone: who looks for the first one begins behind them.
    gone: AtomicUsize,
}

impl Named {
    /// Those that may live.
    fn rest(&self) -> &[Entity] {
        // Ordering: Relaxed, here and below: it only saves work, and the list changes under `&mut` of the world.
        &self.entities[self.gone.load(Ordering::Relaxed)..]
    }

    /// The first one that lives.
    fn first(&self, lives: impl Fn(Entity) -> bool) -> Option<Entity> {
        let rest = self.rest();
        let at = rest.iter().position(|&entity| lives(entity));
        let gone = self.entities.len() - rest.len() + at.unwrap_or(rest.len());
        if at != Some(0) {
            self.gone.fetch_max(gone, Ordering::Relaxed);
        }
        self.entities.get(gone).copied()
    }

    /// Lets some go; whether there are others.
    fn retain(&mut self, stays: impl Fn(Entity) -> bool) -> bool {
        self.entities.retain(|&entity| stays(entity));
        // They have other places now.
        self.gone = AtomicUsize::new(0);
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
            .entities
            .push(entity);
        self.by_entity.insert(entity, name);
    }

    /// Takes an entity's name away.
    pub(crate) fn remove(&mut self, entity: Entity) -> Option<Arc<str>> {
        let name = self.by_entity.remove(&entity)?;
        if let Some(named) = self.by_name.get_mut(&name)
            && !named.retain(|known| known != entity)
        {
            self.by_name.remove(&name);
        }
        Some(name)
    }

    /// Notes whether one table says what the other does not.
    pub(crate) fn check(&self, found: &mut Found) {
        for (&entity, name) in &self.by_entity {
            let known = self.by_name.get(name);
            let count = known.map_or(0, |all| {
                all.entities.iter().filter(|&&e| e == entity).count()
            });
            found.expect(count == 1, FlawPlace::Name(entity), || {
                format!("{count} entries of `{name}` lead to it")
            });
        }
        let named: usize = self.by_name.values().map(|all| all.entities.len()).sum();
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
        self.by_name
            .retain(|_, named| named.retain(|entity| !is_forgotten(entity)));
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

    /// The entity with this name; of several the one that has had it longest. O(1), and once for each entity of that name
    /// that had it before and has gone; again, after a name was [removed](Self::remove_name) or changed. Any thread,
    /// wait-free.
    #[must_use]
    pub fn find_by_name(&self, name: &str) -> Option<Entity> {
        self.names
            .by_name
            .get(name)?
            .first(|entity| self.exists(entity))
    }

    /// The entities with this name, in the order in which they got it. O(entities of that name).
    pub fn named(&self, name: &str) -> impl Iterator<Item = Entity> + '_ {
        let entities = self.names.by_name.get(name);
        let entities = entities.into_iter().flat_map(Named::rest).copied();
        entities.filter(|&entity| self.exists(entity))
    }

    fn check_exists(&self, entity: Entity) -> Result<(), WorldError> {
        match self.find(entity) {
            Ok(_) | Err(WorldError::NotBuilt { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
