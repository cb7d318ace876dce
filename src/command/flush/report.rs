//! `FlushReport`: what became of the commands of a flush.

use core::fmt;

use crate::command::author::Author;
use crate::command::nesting::DEEPEST;
use crate::entity::Entity;
use crate::first_few::{FirstFew, SHOWN};
use crate::panics::tell;
use crate::world::{World, WorldError};

/// What a flush could not do, mostly for an entity: one of [`FlushReport::refused`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The entity; [`Entity::PLACEHOLDER`] of a command that is for none, as one that asks for a
    /// [state](crate::command::Commands::set_state).
    pub entity: Entity,
    /// Why.
    pub error: WorldError,
    /// Who recorded it.
    pub by: Author,
}

/// A command for an entity that had died before: one of [`FlushReport::first_dead`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// The entity.
    pub entity: Entity,
    /// Who recorded it.
    pub by: Author,
}

/// So many commands for dead entities are named in a report.
const NAMED: usize = 8;

/// What a [flush](crate::world::World::flush) did.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "commands for dead entities are dropped; the report says how many, and what was refused"]
pub struct FlushReport {
    /// Commands that were recorded, without creations.
    pub commands: usize,
    /// Entities that joined the world, [clones](crate::command::Commands::clone_entity) among them.
    pub created: usize,
    /// Entities that died.
    pub destroyed: usize,
    /// Entities that went to another archetype, or to other shared values.
    pub moved: usize,
    /// Entities that got new values, or of which a fragment was switched (also to what it was), and stayed where they were.
    pub updated: usize,
    /// Closures that ran.
    pub closures: usize,
    /// Commands for entities that had died before: dropped. Not those that follow a `destroy` of the same flush with no
    /// closure between: it says itself what becomes of them.
    pub dead: usize,
    /// The first eight of these, in order: for whom, and by whom.
    pub first_dead: Vec<Dropped>,
    /// What could not be done, and why. Entities of the world are as they were, and the values that they were to get are
    /// dropped. Those that recorders have [created](crate::command::Commands::create) or
    /// [built](crate::command::Commands::build), and which could not join, are dead, each by itself: others of the same
    /// batch or group may live. If it is a change that was recorded for one of them which was refused, it lives as it was
    /// created. Only a switch that is not there ([`WorldError::NotEnableable`]: the entity has the
    /// fragment, in a composition that is older than its switch) is refused alone, and all else done.
    pub refused: Vec<Refused>,
    /// Commands for entities whose creation this flush has not seen, because the recorder that created
    /// them is open, or was closed just now: they wait for the next flush, where they come before all
    /// that was recorded since: so this one looks no further. Not those with shared values or those of chunks: these are
    /// [refused](Self::refused), with [`WorldError::Pending`].
    pub carried: usize,
    /// Entities that were created in an [ordered](crate::world::Universe::ordered) universe, and have ids that
    /// depend on which thread was quicker: their recorders had no ids of their own, or none left. If there are some,
    /// others may depend on it, too: they may have taken what would have been another recorder's.
    pub by_chance: usize,
    /// Recorders that were open when the flush looked for commands the last time. What they hold
    /// comes with a flush after they are closed, and so does what others of their thread have left
    /// [in the same memory](crate::command::Commands): close recorders before a flush whose outcome
    /// is to be complete.
    pub open: usize,
    /// How often commands were looked for: those that closures, observers and other threads record meanwhile come in the
    /// next round.
    pub rounds: usize,
    /// Commands are left for the next flush: after as many rounds as the world
    /// [allows](crate::world::World::set_flush_rounds) there were still new ones, or a closure flushed in sixteen flushes, one
    /// in the other.
    pub unfinished: bool,
}

impl FlushReport {
    /// Of a flush that would lie too deep in others.
    #[cold]
    pub(super) fn too_deep(world: &World) -> Self {
        tell(|| {
            tracing::warn!(
                name: "flush_too_deep",
                target: "megachunk::flush",
                world = %world.seat,
                deepest = DEEPEST,
                "a closure flushes in so many flushes, one in the other: this one is left to those round it, which begin no \
                 other round"
            );
        });
        Self {
            unfinished: true,
            ..Self::default()
        }
    }

    /// Something is refused. Who recorded it is [found](super::blame) when all of the batch is done, if it is not said.
    pub(super) fn refuse(&mut self, entity: Entity, error: WorldError, by: Author) {
        self.refused.push(Refused { entity, error, by });
    }

    /// A command is dropped: its entity is dead.
    pub(super) fn drop_for_dead(&mut self, entity: Entity, by: impl FnOnce() -> Author) {
        self.dead += 1;
        if self.first_dead.len() < NAMED {
            self.first_dead.push(Dropped { entity, by: by() });
        }
    }

    /// Adds what another flush has done.
    pub(crate) fn add(&mut self, other: Self) {
        self.commands += other.commands;
        self.created += other.created;
        self.destroyed += other.destroyed;
        self.moved += other.moved;
        self.updated += other.updated;
        self.closures += other.closures;
        self.dead += other.dead;
        let free = NAMED - self.first_dead.len().min(NAMED);
        self.first_dead
            .extend(other.first_dead.into_iter().take(free));
        self.refused.extend(other.refused);
        self.carried = other.carried;
        self.by_chance += other.by_chance;
        self.open = other.open;
        self.rounds += other.rounds;
        self.unfinished |= other.unfinished;
    }

    /// Tells `tracing` that commands were refused, if some were: how many, and the first of them. What is for entities that
    /// died meanwhile, or waits for the next flush, is nobody's fault.
    #[inline]
    pub(crate) fn tell_of_refused(&self, world: &World, of_whom: &str) {
        if !self.refused.is_empty() {
            self.tell_of_first(world, of_whom);
        }
    }

    #[cold]
    fn tell_of_first(&self, world: &World, of_whom: &str) {
        let Refused { entity, error, by } = &self.refused[0];
        tell(|| {
            tracing::warn!(
                name: "commands_refused",
                target: "megachunk::flush",
                world = %world.seat,
                of = of_whom,
                refused = self.refused.len(),
                dead = self.dead,
                %error,
                entity = (*entity != Entity::PLACEHOLDER).then_some(tracing::field::display(entity)),
                recorded = %by,
                "a flush has refused commands, of which this is the first"
            );
        });
    }

    /// Whether every command was done that the flush found; recorders may have been [open](Self::open).
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.dead == 0 && self.refused.is_empty() && self.carried == 0 && !self.unfinished
    }
}

/// All counts; of those that were refused the first five.
impl fmt::Debug for FlushReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            commands,
            created,
            destroyed,
            moved,
            updated,
            closures,
            dead,
            first_dead,
            refused,
            carried,
            by_chance,
            open,
            rounds,
            unfinished,
        } = self;
        f.debug_struct("FlushReport")
            .field("commands", commands)
            .field("created", created)
            .field("destroyed", destroyed)
            .field("moved", moved)
            .field("updated", updated)
            .field("closures", closures)
            .field("dead", dead)
            .field("first_dead", &FirstFew(first_dead))
            .field("refused", &FirstFew(refused))
            .field("carried", carried)
            .field("by_chance", by_chance)
            .field("open", open)
            .field("rounds", rounds)
            .field("unfinished", unfinished)
            .finish()
    }
}

/// A line of what was done; then, if there is such, one of what was not, one for each of the first that were for the dead or
/// were refused, with who recorded it, and one of what else is to be known.
impl fmt::Display for FlushReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} commands and {} closures in {} rounds: {} entities created, {} destroyed, {} moved, {} updated",
            self.commands,
            self.closures,
            self.rounds,
            self.created,
            self.destroyed,
            self.moved,
            self.updated
        )?;
        if !self.is_clean() {
            write!(
                f,
                "\n{} for the dead, {} refused, {} for the next flush{}",
                self.dead,
                self.refused.len(),
                self.carried,
                match self.unfinished {
                    true => "; not finished",
                    false => "",
                }
            )?;
        }
        for Dropped { entity, by } in self.first_dead.iter().take(SHOWN) {
            write!(f, "\nentity {entity} had died: recorded {by}")?;
        }
        if self.dead > SHOWN {
            write!(f, "\nand {} more for the dead", self.dead - SHOWN)?;
        }
        for Refused { entity, error, by } in self.refused.iter().take(SHOWN) {
            // An error may name another entity, or none.
            match error.entity() {
                Some(named) if named == *entity => write!(f, "\n{error}")?,
                None if *entity == Entity::PLACEHOLDER => write!(f, "\n{error}")?,
                _ => write!(f, "\nentity {entity}: {error}")?,
            }
            write!(f, "; recorded {by}")?;
        }
        if self.refused.len() > SHOWN {
            write!(f, "\nand {} more", self.refused.len() - SHOWN)?;
        }
        if self.open > 0 || self.by_chance > 0 {
            write!(
                f,
                "\n{} recorders were open; {} ids by chance",
                self.open, self.by_chance
            )?;
        }
        Ok(())
    }
}
