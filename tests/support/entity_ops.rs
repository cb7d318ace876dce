//! Operations on an entity allocator, and the model that says what each of them must do.
//!
//! One run is one thread's history (other threads work only while it waits for them), so every
//! answer is determined but for the indices that an allocator chooses. The proptest state machine
//! in this folder and the fuzz target `entity_index` make up the operations; both call [`run`].
//!
//! The model is a table of the last life of each index. Each answer is compared with it, and after
//! the last operation every handle that was ever given out. After each operation the allocator, if it can, looks
//! at itself: claims, hints and summaries, groups, caches, counts.

#[path = "elsewhere.rs"]
mod elsewhere;

use std::collections::BTreeMap;

use elsewhere::on_some_thread;
use megachunk::entity::reference::{BusyBlock, Naive};
use megachunk::entity::{
    DestroyReport, Entity, EntityAllocator, EntityError, EntityFault, EntityIndex, Place,
    RelocateError,
};

/// One call, or a few of one kind. A `pick` is taken modulo the number of handles given out so far.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EntityOp {
    /// Creates one entity.
    Create,
    /// Creates `len` entities at once.
    CreateSlice { len: u16 },
    /// Creates `len` entities on a thread that ends afterwards.
    CreateElsewhere { len: u8 },
    /// Destroys whatever handle it is, alive or not.
    Destroy { pick: u16 },
    /// Destroys `len` handles at once: every `stride`-th ever given out, from `pick` on. A stride
    /// of 0 names one handle over and over.
    DestroySlice { pick: u16, len: u8, stride: u8 },
    /// The same on a thread that ends afterwards.
    DestroyElsewhere { pick: u16, len: u8 },
    /// Destroys all that live, in the order of their indices or against it.
    DestroyAll { backwards: bool },
    /// Destroys a handle that was perhaps never given out, alone and in a batch.
    DestroyForged { index: u32, version: u32 },
    /// Sets a place.
    Publish { pick: u16, place: u32 },
    /// Sets a first place.
    Build { pick: u16, place: u32 },
    /// Asks about a handle.
    Ask { pick: u16 },
    /// Asks about a handle that was perhaps never given out.
    AskForged { index: u32, version: u32 },
    /// Gives what the thread keeps for itself to everybody.
    Flush,
    /// Moves an entity from where it lies (`from` modulo 3 is 0), from nowhere (1) or from where it is to go (2), to a
    /// place, or, from 192 on, to none.
    Relocate { pick: u16, from: u8, place: u32 },
    /// Takes an entity's place away.
    TakePlace { pick: u16 },
}

/// An allocator under test: what it can do beyond the seam, and which faults it is known to have.
pub(crate) trait Subject: EntityAllocator {
    /// Published fault: location asks for the bit only, so that any handle reaches the place of
    /// whoever lives there now.
    const LOCATES_BY_BIT: bool = false;

    /// Gives an entity its first place, if the allocator has that.
    fn build(&self, _entity: Entity, _place: Place) -> Option<Result<(), EntityError>> {
        None
    }

    /// Moves an entity from a place to another, if the allocator has that.
    fn relocate(
        &self,
        _entity: Entity,
        _from: Option<Place>,
        _to: Option<Place>,
    ) -> Option<Result<(), RelocateError>> {
        None
    }

    /// Takes an entity's place away, if the allocator has that.
    fn take_place(&self, _entity: Entity) -> Option<Result<Option<Place>, EntityError>> {
        None
    }

    /// All that live, in index order, if the allocator can tell.
    fn living(&self) -> Option<Vec<Entity>> {
        None
    }

    /// Looks for contradictions inside the allocator, if it can. Nobody else is in a call.
    fn check(&self) {}
}

impl Subject for Naive {}

impl Subject for BusyBlock {
    const LOCATES_BY_BIT: bool = true;
}

impl Subject for EntityIndex {
    fn build(&self, entity: Entity, place: Place) -> Option<Result<(), EntityError>> {
        Some(self.build(entity, place))
    }

    fn relocate(
        &self,
        entity: Entity,
        from: Option<Place>,
        to: Option<Place>,
    ) -> Option<Result<(), RelocateError>> {
        Some(self.relocate(entity, from, to))
    }

    fn take_place(&self, entity: Entity) -> Option<Result<Option<Place>, EntityError>> {
        Some(self.take_place(entity))
    }

    fn living(&self) -> Option<Vec<Entity>> {
        Some(self.iter().collect())
    }

    fn check(&self) {
        self.check().expect("an index without contradictions");
    }
}

/// Runs `ops` on a fresh allocator and on the model.
///
/// # Panics
/// As soon as the two disagree.
pub(crate) fn run<S: Subject>(ops: &[EntityOp]) {
    let mut machine = Machine::<S> {
        subject: S::fresh(),
        model: Model::default(),
    };
    for (number, &op) in ops.iter().enumerate() {
        machine.step(op);
        assert_eq!(
            machine.subject.count(),
            machine.model.live,
            "the count after {op:?}"
        );
        // A look takes as long as there are slots that were used.
        if machine.model.given.len() < OFTEN_LOOKED_AT || number % 16 == 15 {
            machine.subject.check();
        }
    }
    machine.finish();
}

/// Handles given out from which on not after each operation, but after each sixteenth is looked for contradictions.
const OFTEN_LOOKED_AT: usize = 4_096;

/// The last life that an index had.
#[derive(Clone, Copy)]
struct Life {
    version: u32,
    place: Option<Place>,
    alive: bool,
}

#[derive(Default)]
struct Model {
    lives: BTreeMap<u32, Life>,
    live: usize,
    /// Every handle given out so far, once, in that order.
    given: Vec<Entity>,
}

impl Model {
    fn fault(&self, entity: Entity, capacity: usize) -> Option<EntityFault> {
        if entity.index() as usize >= capacity {
            return Some(EntityFault::OutOfRange);
        }
        match self.lives.get(&entity.index()) {
            Some(life) if entity.version() == life.version && life.alive => None,
            Some(life) if entity.version() <= life.version => Some(EntityFault::Destroyed),
            _ => Some(EntityFault::NeverCreated),
        }
    }

    fn born(&mut self, entity: Entity, capacity: usize) {
        assert!(
            (entity.index() as usize) < capacity,
            "{entity} is out of range"
        );
        assert_eq!(entity.version() % 2, 1, "{entity} has an even version");
        let life = Life {
            version: entity.version(),
            place: None,
            alive: true,
        };
        if let Some(before) = self.lives.insert(entity.index(), life) {
            assert!(!before.alive, "{entity} was given an index in use");
            assert!(
                entity.version() > before.version,
                "{entity} was given an old version"
            );
        }
        self.live += 1;
        self.given.push(entity);
    }

    fn died(&mut self, entity: Entity) {
        self.lives.get_mut(&entity.index()).expect("it lived").alive = false;
        self.live -= 1;
    }

    /// Where the last life of an index lies, or lay.
    fn place_of(&self, entity: Entity) -> Option<Place> {
        self.lives.get(&entity.index())?.place
    }

    fn pick(&self, pick: u16) -> Option<Entity> {
        let at = (pick as usize).checked_rem(self.given.len())?;
        Some(self.given[at])
    }

    /// Every `stride`-th handle ever given out, from `pick` on, round and round.
    fn picks(&self, pick: u16, len: u8, stride: u8) -> Vec<Entity> {
        let round = self
            .given
            .iter()
            .cycle()
            .skip(pick as usize % self.given.len().max(1));
        match stride {
            0 => round
                .take(1)
                .flat_map(|&one| vec![one; len as usize])
                .collect(),
            _ => round
                .step_by(stride as usize)
                .take(len as usize)
                .copied()
                .collect(),
        }
    }

    /// All that live, in index order.
    fn living(&self) -> Vec<Entity> {
        let lives = self.lives.iter().filter(|(_, life)| life.alive);
        lives
            .filter_map(|(&index, life)| Entity::new(index, life.version))
            .collect()
    }
}

struct Machine<S> {
    subject: S,
    model: Model,
}

impl<S: Subject> Machine<S> {
    fn step(&mut self, op: EntityOp) {
        match op {
            EntityOp::Create => {
                let entity = self.subject.create().expect("there is room");
                self.model.born(entity, self.subject.capacity());
            }
            EntityOp::CreateSlice { len } => self.create_slice(len as usize, false),
            EntityOp::CreateElsewhere { len } => self.create_slice(len as usize, true),
            EntityOp::Destroy { pick } => {
                if let Some(entity) = self.model.pick(pick) {
                    self.destroy(entity);
                }
            }
            EntityOp::DestroySlice { pick, len, stride } => {
                self.destroy_slice(&self.model.picks(pick, len, stride), false);
            }
            EntityOp::DestroyElsewhere { pick, len } => {
                self.destroy_slice(&self.model.picks(pick, len, 1), true);
            }
            EntityOp::DestroyAll { backwards } => {
                let mut living = self.model.living();
                if backwards {
                    living.reverse();
                }
                self.destroy_slice(&living, false);
                assert_eq!(self.model.live, 0);
            }
            EntityOp::DestroyForged { index, version } => {
                let entity = forged(index, version);
                self.destroy(entity);
                self.destroy_slice(&[entity, entity], false);
            }
            EntityOp::Publish { pick, place } => {
                if let Some(entity) = self.model.pick(pick) {
                    self.publish(entity, any_place(place));
                }
            }
            EntityOp::Build { pick, place } => {
                if let Some(entity) = self.model.pick(pick) {
                    self.build(entity, any_place(place));
                }
            }
            EntityOp::Ask { pick } => {
                if let Some(entity) = self.model.pick(pick) {
                    self.ask(entity);
                }
            }
            EntityOp::AskForged { index, version } => self.ask(forged(index, version)),
            EntityOp::Flush => self.subject.flush(),
            EntityOp::Relocate { pick, from, place } => {
                if let Some(entity) = self.model.pick(pick) {
                    self.relocate(entity, from, any_place(place));
                }
            }
            EntityOp::TakePlace { pick } => {
                if let Some(entity) = self.model.pick(pick) {
                    self.take_place(entity);
                }
            }
        }
    }

    fn create_slice(&mut self, len: usize, elsewhere: bool) {
        let mut made = vec![Entity::PLACEHOLDER; len];
        let create = || self.subject.create_slice(&mut made);
        on_some_thread(elsewhere, create).expect("there is room");
        for entity in made {
            self.model.born(entity, self.subject.capacity());
        }
    }

    fn destroy(&mut self, entity: Entity) {
        let expected = self.verdict(entity);
        assert_eq!(
            self.subject.destroy(entity),
            expected,
            "destroying {entity}"
        );
        if expected.is_ok() {
            self.model.died(entity);
        }
        self.ask(entity);
    }

    fn destroy_slice(&mut self, entities: &[Entity], elsewhere: bool) {
        let mut expected = DestroyReport::default();
        for (position, &entity) in entities.iter().enumerate() {
            match self.verdict(entity) {
                Ok(()) => {
                    self.model.died(entity);
                    expected.destroyed += 1;
                }
                Err(error) => expected.refused.push((position, error)),
            }
        }
        let report = on_some_thread(elsewhere, || self.subject.destroy_slice(entities));
        assert_eq!(report, expected, "destroying {entities:?}");
    }

    fn publish(&mut self, entity: Entity, place: Place) {
        let expected = self.place_verdict(entity);
        assert_eq!(
            self.subject.publish(entity, place),
            expected,
            "publishing {entity}"
        );
        if expected.is_ok() {
            self.set_place(entity, Some(place));
        }
        self.ask(entity);
    }

    fn build(&mut self, entity: Entity, place: Place) {
        let unplaced = |life: &Life| life.place.is_none();
        let expected = self.verdict(entity).and_then(|()| {
            let built = !self.model.lives.get(&entity.index()).is_some_and(unplaced);
            let refused = EntityError::new(entity, EntityFault::AlreadyBuilt);
            if built { Err(refused) } else { Ok(()) }
        });
        let Some(result) = self.subject.build(entity, place) else {
            return;
        };
        assert_eq!(result, expected, "building {entity}");
        if expected.is_ok() {
            self.set_place(entity, Some(place));
        }
        self.ask(entity);
    }

    fn relocate(&mut self, entity: Entity, from: u8, place: Place) {
        let lies_at = self.model.place_of(entity);
        let to = (from < 192).then_some(place);
        let from = match from % 3 {
            0 => lies_at,
            1 => None,
            _ => to,
        };
        let expected = match self.verdict(entity) {
            Err(error) => Err(RelocateError::Entity(error)),
            Ok(()) if lies_at == from => Ok(()),
            Ok(()) => Err(RelocateError::Elsewhere {
                entity,
                place: lies_at,
            }),
        };
        let Some(result) = self.subject.relocate(entity, from, to) else {
            return;
        };
        assert_eq!(result, expected, "moving {entity} from {from:?} to {to:?}");
        if expected.is_ok() {
            self.set_place(entity, to);
        }
        self.ask(entity);
    }

    fn take_place(&mut self, entity: Entity) {
        let lies_at = self.model.place_of(entity);
        let expected = self.verdict(entity).map(|()| lies_at);
        let Some(result) = self.subject.take_place(entity) else {
            return;
        };
        assert_eq!(result, expected, "taking the place of {entity}");
        if expected.is_ok() {
            self.set_place(entity, None);
        }
        self.ask(entity);
    }

    fn set_place(&mut self, entity: Entity, place: Option<Place>) {
        let life = self.model.lives.get_mut(&entity.index());
        life.expect("it has a place, so it lives").place = place;
    }

    /// Compares all that can be asked about a handle.
    fn ask(&self, entity: Entity) {
        let alive = self.verdict(entity).is_ok();
        assert_eq!(
            self.subject.exists(entity),
            alive,
            "whether {entity} exists"
        );
        let place = self
            .place_verdict(entity)
            .map(|()| self.model.lives[&entity.index()].place);
        assert_eq!(self.subject.locate(entity), place, "where {entity} lies");
    }

    fn verdict(&self, entity: Entity) -> Result<(), EntityError> {
        match self.model.fault(entity, self.subject.capacity()) {
            None => Ok(()),
            Some(fault) => Err(EntityError::new(entity, fault)),
        }
    }

    /// What location goes by: the handle, or the published fault.
    fn place_verdict(&self, entity: Entity) -> Result<(), EntityError> {
        let in_use = self
            .model
            .lives
            .get(&entity.index())
            .is_some_and(|life| life.alive);
        if S::LOCATES_BY_BIT && in_use {
            Ok(())
        } else {
            self.verdict(entity)
        }
    }

    /// Compares everything, then destroys what lives.
    fn finish(&mut self) {
        for &entity in &self.model.given {
            self.ask(entity);
        }
        let living = self.model.living();
        if let Some(told) = self.subject.living() {
            assert_eq!(told, living, "the living in index order");
        }
        self.destroy_slice(&living, false);
        assert_eq!(self.subject.count(), 0);
        self.subject.check();
    }
}

fn forged(index: u32, version: u32) -> Entity {
    Entity::new(index, version | 1).expect("the version is odd")
}

fn any_place(raw: u32) -> Place {
    Place::new(raw % Place::CHUNKS, (raw >> 20) % Place::ROWS).expect("both are in range")
}
