//! A world as it must be: maps from handles to maps from kinds to payloads. Slow, and obviously right.

use std::collections::{BTreeMap, BTreeSet};

use megachunk::entity::{EntityError, EntityFault};
use megachunk::fragment::FragmentError;
use megachunk::prelude::*;

use crate::world_fragments::Kind;
use crate::world_machine::WORLDS;
use crate::world_row::Row;

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Destroyed,
    NeverCreated,
    NotBuilt,
    AlreadyBuilt,
    Elsewhere,
    Pending,
    Missing,
    Twice,
    ConstShared,
    NotCloneable,
    NotEnableable,
    Same,
}

impl Refusal {
    /// What an error says.
    ///
    /// # Panics
    /// If no operation of the model can end so.
    pub(crate) fn of(error: &WorldError) -> Self {
        match error {
            WorldError::Entity(EntityError { fault, .. }) => match fault {
                EntityFault::Destroyed => Self::Destroyed,
                EntityFault::NeverCreated | EntityFault::OutOfRange => Self::NeverCreated,
                fault => panic!("{fault:?}"),
            },
            WorldError::NotBuilt { .. } => Self::NotBuilt,
            WorldError::AlreadyBuilt { .. } => Self::AlreadyBuilt,
            WorldError::Elsewhere { .. } => Self::Elsewhere,
            WorldError::Pending { .. } => Self::Pending,
            WorldError::Missing { .. } => Self::Missing,
            WorldError::Fragment(FragmentError::Twice { .. }) => Self::Twice,
            WorldError::ConstShared { .. } => Self::ConstShared,
            WorldError::NotCloneable { .. } => Self::NotCloneable,
            WorldError::NotEnableable { .. } => Self::NotEnableable,
            WorldError::Twice { .. } => Self::Same,
            error => panic!("{error}"),
        }
    }
}

/// What became of a handle.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Reserved,
    Built {
        world: usize,
        row: Row,
    },
    /// Recorded for a world, and not flushed yet.
    Pending {
        world: usize,
        row: Row,
    },
    Destroyed,
}

/// All handles that were ever given out, and what became of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Naive {
    states: BTreeMap<Entity, State>,
    /// In the order in which they were given out.
    pub(crate) given: Vec<Entity>,
    /// What each world calls its entities, by the number of the name; in the order in which they got it.
    names: [Vec<(Entity, usize)>; WORLDS],
    /// Who has gone to the other world, and has left the name behind as yet.
    gone: BTreeSet<Entity>,
    /// What is required, by the bits of a number.
    pub(crate) required: u8,
}

/// What entities are called.
pub(crate) const NAMES: [&str; 4] = [
    "",
    "ant",
    "bee",
    "the queen of all bees, whose name is a long one",
];

fn twice(kinds: &[Kind]) -> bool {
    kinds.iter().collect::<BTreeSet<_>>().len() < kinds.len()
}

impl Naive {
    /// Entities that live or are reserved.
    pub(crate) fn alive(&self) -> usize {
        let states = self.states.values();
        states
            .filter(|state| !matches!(state, State::Destroyed))
            .count()
    }

    /// The entities of a world.
    pub(crate) fn rows(&self, world: usize) -> impl Iterator<Item = (Entity, &Row)> {
        self.states
            .iter()
            .filter_map(move |(&entity, state)| match state {
                State::Built { world: there, row } if *there == world => Some((entity, row)),
                _ => None,
            })
    }

    /// The entities of a world, to change.
    pub(crate) fn rows_mut(&mut self, world: usize) -> impl Iterator<Item = (Entity, &mut Row)> {
        self.states
            .iter_mut()
            .filter_map(move |(&entity, state)| match state {
                State::Built { world: there, row } if *there == world => Some((entity, row)),
                _ => None,
            })
    }

    pub(crate) fn is_reserved(&self, entity: Entity) -> bool {
        matches!(self.states.get(&entity), Some(State::Reserved))
    }

    // --- What is recorded --------------------------------------------------------------------------

    /// The entities that wait for a flush of some world.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Row> {
        self.states.values().filter_map(|state| match state {
            State::Pending { row, .. } => Some(row),
            _ => None,
        })
    }

    /// The fragments of an entity that waits for a flush of this world.
    pub(crate) fn pending_mut(&mut self, world: usize, entity: Entity) -> Option<&mut Row> {
        match self.states.get_mut(&entity) {
            Some(State::Pending { world: there, row }) if *there == world => Some(row),
            _ => None,
        }
    }

    pub(crate) fn create_pending(
        &mut self,
        world: usize,
        entity: Entity,
        kinds: &[Kind],
        payload: u32,
    ) {
        self.create(world, entity, kinds, payload);
        self.set_pending(entity);
    }

    /// What was just built waits for a flush.
    pub(crate) fn set_pending(&mut self, entity: Entity) {
        if let Some(State::Built { world, row }) = self.states.remove(&entity) {
            self.states.insert(entity, State::Pending { world, row });
        }
    }

    /// A flush comes to an entity that waits.
    pub(crate) fn join(&mut self, world: usize, entity: Entity) {
        match self.states.remove(&entity) {
            Some(State::Pending { world: there, row }) if there == world => {
                self.states.insert(entity, State::Built { world, row });
            }
            state => panic!("{entity} does not wait: {state:?}"),
        }
    }

    /// A step begins: what is given from here on is given in it.
    pub(crate) fn forget_given(&mut self) {
        for state in self.states.values_mut() {
            if let State::Built { row, .. } = state {
                row.forget_given();
            }
        }
    }

    /// Gives an entity of a world other fragments.
    pub(crate) fn replace(&mut self, world: usize, entity: Entity, row: Row) {
        *self.row_mut(world, entity).unwrap() = row;
    }

    /// Takes over what became of an entity that is a world's, or waits for it, or is reserved.
    pub(crate) fn believe(&mut self, world: usize, entity: Entity, row: Option<Row>, lives: bool) {
        let mine = match self.row(world, entity) {
            Ok(_) | Err(Refusal::NotBuilt | Refusal::Pending) => true,
            Err(_) => false,
        };
        match (mine, row) {
            (true, Some(row)) => {
                self.states.insert(entity, State::Built { world, row });
            }
            (true, None) if !lives => {
                self.states.insert(entity, State::Destroyed);
            }
            _ => {}
        }
    }

    /// A world goes, and what was recorded for it.
    pub(crate) fn end(&mut self, world: usize) {
        self.clear(world);
        self.names[world].clear();
        for state in self.states.values_mut() {
            if matches!(state, State::Pending { world: there, .. } if *there == world) {
                *state = State::Destroyed;
            }
        }
    }

    /// Worlds have been saved and loaded: what is not plain is left out, and so are all who are in no world.
    pub(crate) fn reload(&mut self) {
        self.names = self.saved_names();
        for state in self.states.values_mut() {
            match state {
                State::Built { row, .. } => row.keep_plain(),
                state => *state = State::Destroyed,
            }
        }
    }

    /// The same, but that they are loaded beside the others, with new ids, before these end.
    pub(crate) fn reload_as(&mut self, new: impl Fn(Entity) -> Entity) {
        let mut loaded = Vec::new();
        for (&entity, state) in &self.states {
            if let State::Built { world, row } = state {
                let (world, mut row) = (*world, *row);
                row.keep_plain();
                loaded.push((new(entity), State::Built { world, row }));
            }
        }
        let mut names = self.saved_names();
        for world in 0..WORLDS {
            self.end(world);
        }
        for (entity, state) in loaded {
            self.enter(entity, state);
        }
        for (entity, _) in names.iter_mut().flatten() {
            *entity = new(*entity);
        }
        self.names = names;
    }

    /// Nobody has a name any more.
    pub(crate) fn forget_names(&mut self) {
        self.names = Default::default();
    }

    /// What is saved of names: those of who is built in the world.
    fn saved_names(&self) -> [Vec<(Entity, usize)>; WORLDS] {
        [0, 1].map(|world| {
            let names = self.names[world].iter().copied();
            let saved = names.filter(|&(entity, _)| self.row(world, entity).is_ok());
            saved.collect()
        })
    }

    /// The fragments of an entity of a world.
    pub(crate) fn row(&self, world: usize, entity: Entity) -> Result<&Row, Refusal> {
        match self.states.get(&entity) {
            None => Err(Refusal::NeverCreated),
            Some(State::Destroyed) => Err(Refusal::Destroyed),
            Some(State::Reserved) => Err(Refusal::NotBuilt),
            Some(State::Built { world: there, row }) if *there == world => Ok(row),
            Some(State::Pending { world: there, .. }) if *there == world => Err(Refusal::Pending),
            Some(State::Built { .. } | State::Pending { .. }) => Err(Refusal::Elsewhere),
        }
    }

    pub(crate) fn row_mut(&mut self, world: usize, entity: Entity) -> Result<&mut Row, Refusal> {
        self.row(world, entity)?;
        match self.states.get_mut(&entity) {
            Some(State::Built { row, .. }) => Ok(row),
            _ => unreachable!(),
        }
    }

    fn enter(&mut self, entity: Entity, state: State) {
        let before = self.states.insert(entity, state);
        assert!(before.is_none(), "{entity} was given out twice");
        self.given.push(entity);
    }

    /// Whether a bundle can be created at all.
    pub(crate) fn can_create(kinds: &[Kind]) -> Result<(), Refusal> {
        if twice(kinds) {
            Err(Refusal::Twice)
        } else {
            Ok(())
        }
    }

    /// Whether fragments can go and others come.
    pub(crate) fn can_change(gone: &[Kind], come: &[Kind]) -> Result<(), Refusal> {
        Self::can_create(gone).and_then(|()| Self::can_create(come))
    }

    /// What comes with these kinds, and what that requires.
    fn new_row(&self, kinds: &[Kind], payload: u32) -> Row {
        let mut row = Row::default();
        row.add(kinds, payload);
        row.complete(self.required, kinds, &[]);
        row
    }

    pub(crate) fn create(&mut self, world: usize, entity: Entity, kinds: &[Kind], payload: u32) {
        let row = self.new_row(kinds, payload);
        self.enter(entity, State::Built { world, row });
    }

    pub(crate) fn reserve(&mut self, entity: Entity) {
        self.enter(entity, State::Reserved);
    }

    pub(crate) fn build(
        &mut self,
        world: usize,
        entity: Entity,
        kinds: &[Kind],
        payload: u32,
    ) -> Result<(), Refusal> {
        match self.row(world, entity) {
            Err(Refusal::NotBuilt) => {}
            Ok(_) | Err(Refusal::Elsewhere | Refusal::Pending) => {
                return Err(Refusal::AlreadyBuilt);
            }
            Err(refusal) => return Err(refusal),
        }
        Self::can_create(kinds)?;
        let row = self.new_row(kinds, payload);
        self.states.insert(entity, State::Built { world, row });
        Ok(())
    }

    pub(crate) fn release(&mut self, world: usize, entity: Entity) -> Result<(), Refusal> {
        match self.row(world, entity) {
            Err(Refusal::NotBuilt) => {
                self.states.insert(entity, State::Destroyed);
                Ok(())
            }
            Ok(_) | Err(Refusal::Elsewhere | Refusal::Pending) => Err(Refusal::AlreadyBuilt),
            Err(refusal) => Err(refusal),
        }
    }

    pub(crate) fn destroy(&mut self, world: usize, entity: Entity) -> Result<(), Refusal> {
        match self.row(world, entity) {
            Ok(_) | Err(Refusal::NotBuilt) => {
                self.states.insert(entity, State::Destroyed);
                Ok(())
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Moves an entity to the other of two worlds.
    pub(crate) fn emigrate(&mut self, world: usize, entity: Entity) -> Result<(), Refusal> {
        self.row(world, entity)?;
        if let Some(State::Built { world, .. }) = self.states.get_mut(&entity) {
            *world = 1 - *world;
        }
        self.gone.insert(entity);
        Ok(())
    }

    pub(crate) fn add(
        &mut self,
        world: usize,
        entity: Entity,
        kinds: &[Kind],
        payload: u32,
    ) -> Result<(), Refusal> {
        self.swap(world, entity, &[], kinds, payload)
    }

    pub(crate) fn remove(
        &mut self,
        world: usize,
        entity: Entity,
        kinds: &[Kind],
    ) -> Result<bool, Refusal> {
        let row = self.row_mut(world, entity)?;
        if twice(kinds) {
            return Err(Refusal::Twice);
        }
        Ok(row.remove(kinds))
    }

    /// The values, if all are there.
    pub(crate) fn take(
        &mut self,
        world: usize,
        entity: Entity,
        kinds: &[Kind],
    ) -> Result<Vec<u32>, Refusal> {
        let row = self.row_mut(world, entity)?;
        if twice(kinds) {
            return Err(Refusal::Twice);
        }
        let values: Option<Vec<u32>> = kinds.iter().map(|&kind| row.get(kind)).collect();
        let values = values.ok_or(Refusal::Missing)?;
        row.remove(kinds);
        Ok(values)
    }

    pub(crate) fn swap(
        &mut self,
        world: usize,
        entity: Entity,
        gone: &[Kind],
        come: &[Kind],
        payload: u32,
    ) -> Result<(), Refusal> {
        let required = self.required;
        let row = self.row_mut(world, entity)?;
        if twice(come) {
            return Err(Refusal::Twice);
        }
        if row.contradicts(come, payload) {
            return Err(Refusal::ConstShared);
        }
        // What goes and comes in one move stays switched off.
        let go: Vec<Kind> = gone.iter().copied().filter(|k| !come.contains(k)).collect();
        row.remove(&go);
        row.add(come, payload);
        row.complete(required, come, gone);
        Ok(())
    }

    pub(crate) fn set(
        &mut self,
        world: usize,
        entity: Entity,
        kind: Kind,
        payload: u32,
    ) -> Result<(), Refusal> {
        let row = self.row_mut(world, entity)?;
        let value = row.get_mut(kind).ok_or(Refusal::Missing)?;
        *value = kind.keeps(payload);
        Ok(())
    }

    pub(crate) fn enable(
        &mut self,
        world: usize,
        entity: Entity,
        kind: Kind,
        on: bool,
    ) -> Result<(), Refusal> {
        let row = self.row_mut(world, entity)?;
        if !row.has(kind) {
            return Err(Refusal::Missing);
        }
        if !kind.is_enableable() {
            return Err(Refusal::NotEnableable);
        }
        row.enable(kind, on);
        Ok(())
    }

    /// What a clone of an entity would be.
    pub(crate) fn cloned(&self, world: usize, entity: Entity) -> Result<Row, Refusal> {
        let row = self.row(world, entity)?;
        if row.has(Kind::Guard) {
            return Err(Refusal::NotCloneable);
        }
        Ok(*row)
    }

    pub(crate) fn enter_clone(&mut self, world: usize, entity: Entity, row: Row) {
        self.enter(entity, State::Built { world, row });
    }

    /// Destroys all entities of a world; how many.
    pub(crate) fn clear(&mut self, world: usize) -> usize {
        let all: Vec<Entity> = self.rows(world).map(|(entity, _)| entity).collect();
        for &entity in &all {
            self.states.insert(entity, State::Destroyed);
        }
        all.len()
    }

    // --- Clones, copies, and several at once ---------------------------------------------------------

    /// A reserved entity becomes a clone of another one.
    pub(crate) fn build_clone(
        &mut self,
        world: usize,
        entity: Entity,
        of: Entity,
    ) -> Result<(), Refusal> {
        match self.row(world, entity) {
            Err(Refusal::NotBuilt) => {}
            Ok(_) | Err(Refusal::Elsewhere | Refusal::Pending) => {
                return Err(Refusal::AlreadyBuilt);
            }
            Err(refusal) => return Err(refusal),
        }
        let row = self.cloned(world, of)?;
        self.states.insert(entity, State::Built { world, row });
        Ok(())
    }

    /// Whether the small values of several entities can be lent together.
    pub(crate) fn disjoint(&self, world: usize, entities: [Entity; 3]) -> Result<(), Refusal> {
        if BTreeSet::from(entities).len() < entities.len() {
            return Err(Refusal::Same);
        }
        for entity in entities {
            let row = self.row(world, entity)?;
            row.get(Kind::Small).ok_or(Refusal::Missing)?;
        }
        Ok(())
    }

    // --- Names -------------------------------------------------------------------------------------

    /// Who may have a name here: who is in the world, or reserved.
    fn may_be_named(&self, world: usize, entity: Entity) -> Result<(), Refusal> {
        match self.row(world, entity) {
            Ok(_) | Err(Refusal::NotBuilt) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// Calls an entity by a name; who has it keeps the place.
    pub(crate) fn name(
        &mut self,
        world: usize,
        entity: Entity,
        which: usize,
    ) -> Result<(), Refusal> {
        self.may_be_named(world, entity)?;
        if !self.names[world].contains(&(entity, which)) {
            self.names[world].retain(|(named, _)| *named != entity);
            self.names[world].push((entity, which));
        }
        Ok(())
    }

    /// Takes a name away; whether there was one.
    pub(crate) fn unname(&mut self, world: usize, entity: Entity) -> Result<bool, Refusal> {
        self.may_be_named(world, entity)?;
        let before = self.names[world].len();
        self.names[world].retain(|(named, _)| *named != entity);
        Ok(self.names[world].len() < before)
    }

    /// What an entity is called.
    pub(crate) fn name_of(
        &self,
        world: usize,
        entity: Entity,
    ) -> Result<Option<&'static str>, Refusal> {
        self.may_be_named(world, entity)?;
        let mut names = self.names[world].iter();
        let name = names.find(|(named, _)| *named == entity);
        Ok(name.map(|&(_, which)| NAMES[which]))
    }

    /// The names of those who live, or wait for a flush of the world.
    pub(crate) fn names(&self, world: usize) -> impl Iterator<Item = (Entity, usize)> + '_ {
        let here = move |entity| {
            let row = self.row(world, entity);
            matches!(row, Ok(_) | Err(Refusal::NotBuilt | Refusal::Pending))
        };
        let names = self.names[world].iter().copied();
        names.filter(move |&(entity, _)| here(entity))
    }

    /// Who has a name, in the order in which they got it.
    pub(crate) fn named(&self, world: usize, which: usize) -> Vec<Entity> {
        let names = self.names(world).filter(|(_, name)| *name == which);
        names.map(|(entity, _)| entity).collect()
    }

    /// Who has gone from a world to the other one takes the name along, and has none there but that.
    pub(crate) fn names_go_along(&mut self, from: usize) {
        let gone = std::mem::take(&mut self.gone);
        if gone.is_empty() {
            return;
        }
        self.names[1 - from].retain(|(entity, _)| !gone.contains(entity));
        let all = std::mem::take(&mut self.names[from]).into_iter();
        let (goes, stays) = all.partition(|(entity, _)| gone.contains(entity));
        self.names[from] = stays;
        self.names[1 - from].extend::<Vec<_>>(goes);
    }
}
