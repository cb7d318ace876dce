//! What a world was besides its entities: names, resources that are part of the state, the time, signals that wait for
//! theirs, and what new compositions begin with.

use core::any::TypeId;
use core::ops::Range;
use std::sync::Arc;

use crate::entity::{Entity, EntityMap};
use crate::fragment::{FragmentId, FragmentRegistry, StateForm, StateValue, Value};
use crate::panics::{Panicked, end_all, note};
use crate::world::names::SavedNames;
use crate::world::waiting::{SignalName, Waits};
use crate::world::{CheckpointError, World};

#[derive(Debug, Default)]
pub(super) struct SavedBesides {
    chunks_per_chunk: usize,
    chunks_grow: bool,
    templates: Vec<(FragmentId, Arc<Value>)>,
    /// `None`: no entity had one.
    names: Option<Arc<SavedNames>>,
    time: u64,
    signals: Vec<SavedSignal>,
    /// For each type of the state whether there was one.
    resources: Vec<(TypeId, Option<Range<usize>>)>,
    /// Of resources, and of what signals carry.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct SavedSignal {
    time: u64,
    entity: Entity,
    signal: SignalName<Box<str>>,
    bytes: Range<usize>,
}

/// What comes back, as values.
#[derive(Default)]
pub(super) struct Coming {
    resources: Vec<(TypeId, Option<StateValue>)>,
    signals: Vec<(SignalName<Box<str>>, Waits<StateValue>)>,
}

impl SavedBesides {
    /// Takes in what a world is; its names are those of `before`, if that is given.
    pub(super) fn fill(
        &mut self,
        world: &World,
        before: Option<&Self>,
    ) -> Result<(), CheckpointError> {
        (self.chunks_per_chunk, self.chunks_grow) = (world.chunks_per_chunk, world.chunks_grow);
        let templates = world.templates.iter();
        self.templates
            .extend(templates.map(|(&id, value)| (id, Arc::clone(value))));
        self.names = match before {
            Some(before) => before.names.clone(),
            None if world.names.is_empty() => None,
            None => Some(Arc::new(world.names.saved(|entity| world.is_built(entity)))),
        };
        for form in world.registry().state_forms() {
            let value = world.resources.value(form.type_id());
            let range = value.map(|value| write(form, value, &mut self.bytes));
            self.resources.push((form.type_id(), range.transpose()?));
        }
        let mut told = world.tell_waiting();
        self.time = told.time;
        told.signals
            .retain(|told| told.is_broadcast() || world.is_built(told.waiting.entity));
        told.signals
            .sort_unstable_by_key(|told| (told.waiting.time, told.waiting.sequence));
        for told in told.signals {
            let carries = told.signal.carries;
            if let Some(form) = form_of(world.registry(), carries) {
                self.signals.push(SavedSignal {
                    time: told.waiting.time,
                    entity: told.waiting.entity,
                    signal: told.signal.to_owned(),
                    bytes: write(form, told.waiting.payload, &mut self.bytes)?,
                });
            }
        }
        Ok(())
    }

    /// Lets go what it has, and keeps the room.
    pub(super) fn empty(&mut self, panicked: &mut Panicked) {
        end_all(panicked, self.templates.drain(..));
        self.names = None;
        self.signals.clear();
        self.resources.clear();
        self.bytes.clear();
    }

    /// Makes the values that come back.
    pub(super) fn read(
        &self,
        registry: &FragmentRegistry,
        coming: &mut Coming,
    ) -> Result<(), CheckpointError> {
        let as_they_were = EntityMap::default().keeping_others();
        for (of, bytes) in &self.resources {
            let value = match bytes {
                Some(bytes) => Some(self.value(registry, *of, bytes, &as_they_were)?),
                None => None,
            };
            coming.resources.push((*of, value));
        }
        for (sequence, saved) in (0..).zip(&self.signals) {
            let carries = saved.signal.carries;
            let waits = Waits {
                time: saved.time,
                sequence,
                entity: saved.entity,
                payload: self.value(registry, carries, &saved.bytes, &as_they_were)?,
            };
            coming.signals.push((saved.signal.clone(), waits));
        }
        Ok(())
    }

    fn value(
        &self,
        registry: &FragmentRegistry,
        of: TypeId,
        bytes: &Range<usize>,
        entities: &EntityMap,
    ) -> Result<StateValue, CheckpointError> {
        let Some(form) = form_of(registry, of) else {
            unreachable!("a form that was registered stays")
        };
        let value = form.read(&self.bytes[bytes.clone()], form.shape(), entities);
        value.map_err(|reason| refused(form, reason))
    }

    /// Makes a world what it was, with the values that were [read](Self::read). Panics of users' `drop`s are noted.
    pub(super) fn put_back(
        &self,
        world: &mut World,
        coming: Coming,
        names_are_same: bool,
        panicked: &mut Panicked,
    ) {
        (world.chunks_per_chunk, world.chunks_grow) = (self.chunks_per_chunk, self.chunks_grow);
        let templates = self.templates.iter();
        let templates = templates
            .map(|(id, value)| (*id, Arc::clone(value)))
            .collect();
        let before = core::mem::replace(&mut world.templates, templates);
        end_all(panicked, before.into_values());
        if names_are_same {
            world.names.note_change();
        } else {
            let none = SavedNames::new();
            world.names.go_back(self.names.as_deref().unwrap_or(&none));
        }
        let universe = Arc::clone(&world.universe);
        for (of, value) in coming.resources {
            if let Some(form) = form_of(universe.registry(), of) {
                world.resources.exchange(form, value, panicked);
            }
        }
        world.attached.go_back(self.time, panicked);
        world.come.time = self.time;
        let before = core::mem::take(&mut world.come.signals);
        note(panicked, || drop(before));
        for (signal, waits) in coming.signals {
            world.come.signals.push(signal, waits);
        }
    }
}

impl Coming {
    /// Lets all go that does not come.
    pub(super) fn end(self, panicked: &mut Panicked) {
        end_all(panicked, self.resources);
        end_all(panicked, self.signals);
    }
}

fn form_of(registry: &FragmentRegistry, of: TypeId) -> Option<&StateForm> {
    registry.state_form(|form| form.type_id() == of)
}

fn write(
    form: &StateForm,
    value: &(dyn core::any::Any + Send + Sync),
    bytes: &mut Vec<u8>,
) -> Result<Range<usize>, CheckpointError> {
    let first = bytes.len();
    if form.is_plain() {
        let written = form.write_to(value, bytes);
        written.map_err(|reason| refused(form, reason))?;
    } else {
        // Who writes has the whole list in hand: a list of its own.
        let written = form.write(value);
        bytes.extend(written.map_err(|reason| refused(form, reason))?);
    }
    Ok(first..bytes.len())
}

fn refused(form: &StateForm, reason: String) -> CheckpointError {
    CheckpointError::State {
        name: form.name().into(),
        reason: reason.into(),
    }
}
