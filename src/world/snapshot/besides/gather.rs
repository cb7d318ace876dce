//! `Besides`: what of a world is written besides its entities.

use core::any::Any;
use std::collections::{BTreeMap, HashMap};

use crate::entity::Entity;
use crate::fragment::StateForm;
use crate::hashers::ByTypes;
use crate::world::World;
use crate::world::snapshot::saved_worlds::SavedWorlds;
use crate::world::snapshot::{SnapshotError, SnapshotOptions};
use crate::world::waiting::ToldSignal;

/// All of it, as bytes where types say how.
pub(in crate::world::snapshot) struct Besides<'w> {
    /// By name.
    resources: Vec<Written<'w>>,
    /// Texts in their order, each with the entities that have the name, in the order in which they got it.
    names: Vec<(&'w str, Vec<Entity>)>,
    time: u64,
    /// In the order in which they arrive, each with what it carries.
    signals: Vec<(ToldSignal<'w>, Written<'w>)>,
}

/// The bytes of a value, and what its type is called, and is made of.
pub(in crate::world::snapshot) struct Written<'w> {
    pub(in crate::world::snapshot) name: &'w str,
    shape: u64,
    pub(in crate::world::snapshot) bytes: Vec<u8>,
}

impl<'w> Written<'w> {
    fn of(form: &'w StateForm, value: &dyn Any) -> Result<Self, SnapshotError> {
        match form.write(value) {
            Ok(bytes) => Ok(Self {
                name: form.name(),
                shape: form.shape(),
                bytes,
            }),
            Err(reason) => Err(SnapshotError::StateNotWritten {
                name: form.name().into(),
                reason: reason.into(),
            }),
        }
    }
}

/// The resources that are part of a world's state, by name.
pub(in crate::world::snapshot) fn resources<'w>(
    world: &'w World,
    options: &SnapshotOptions,
) -> Result<Vec<Written<'w>>, SnapshotError> {
    if world.resources.is_empty() {
        return Ok(Vec::new());
    }
    let mut written = Vec::new();
    for form in world.registry().state_forms() {
        if options.skips_resource(form.type_id()) {
            continue;
        }
        if let Some(value) = world.resources.value(form.type_id()) {
            written.push(Written::of(form, value)?);
        }
    }
    written.sort_unstable_by_key(|written| written.name);
    Ok(written)
}

impl<'w> Besides<'w> {
    pub(in crate::world::snapshot) fn of(
        world: &'w World,
        (together, options): (&SavedWorlds<'w>, &SnapshotOptions),
    ) -> Result<Self, SnapshotError> {
        let mut told = world.tell_waiting();
        if options.skips_signals() {
            told.signals.clear();
        }
        told.signals
            .retain(|told| !options.skips_signals_of(told.signal.carries));
        // Others are dead where they are loaded.
        told.signals
            .retain(|told| told.is_broadcast() || together.have(told.waiting.entity));
        let order = |told: &ToldSignal<'_>| (told.waiting.time, told.waiting.sequence);
        told.signals.sort_unstable_by_key(order);
        let mut signals = Vec::new();
        let forms = world.registry().state_forms();
        let forms: HashMap<_, _, ByTypes> = forms.map(|form| (form.type_id(), form)).collect();
        for told in told.signals {
            if let Some(form) = forms.get(&told.signal.carries) {
                let written = Written::of(form, told.waiting.payload)?;
                signals.push((told, written));
            }
        }
        Ok(Self {
            resources: resources(world, options)?,
            names: match options.skips_names() {
                true => Vec::new(),
                false => world.names.told(|entity| world.is_built(entity)),
            },
            time: told.time,
            signals,
        })
    }

    /// Of some entities alone: what they are called.
    pub(in crate::world::snapshot) fn of_named(
        world: &'w World,
        entities: &[Entity],
        options: &SnapshotOptions,
    ) -> Self {
        let mut names: BTreeMap<&str, Vec<Entity>> = BTreeMap::new();
        let entities = match options.skips_names() {
            true => &[],
            false => entities,
        };
        for entity in world.names.in_order(entities.iter().copied()) {
            if let Some(name) = world.names.of(entity) {
                names.entry(name).or_default().push(entity);
            }
        }
        Self {
            resources: Vec::new(),
            names: names.into_iter().collect(),
            time: 0,
            signals: Vec::new(),
        }
    }

    /// Its part of the directory.
    pub(in crate::world::snapshot) fn write(&self, directory: &mut Vec<u8>) {
        count(directory, self.resources.len());
        for resource in &self.resources {
            value(directory, resource);
        }
        count(directory, self.names.len());
        for (name, entities) in &self.names {
            text(directory, name);
            count(directory, entities.len());
            for entity in entities {
                handle(directory, *entity);
            }
        }
        directory.extend(self.time.to_le_bytes());
        count(directory, self.signals.len());
        for (told, carried) in &self.signals {
            directory.extend(told.waiting.time.to_le_bytes());
            handle(directory, told.waiting.entity);
            directory.push(told.signal.name.is_some().into());
            if let Some(name) = told.signal.name {
                text(directory, name);
            }
            value(directory, carried);
        }
    }
}

fn count(directory: &mut Vec<u8>, count: usize) {
    directory.extend((count as u32).to_le_bytes());
}

fn text(directory: &mut Vec<u8>, text: &str) {
    bytes(directory, text.as_bytes());
}

fn bytes(directory: &mut Vec<u8>, bytes: &[u8]) {
    directory.extend((bytes.len() as u64).to_le_bytes());
    directory.extend(bytes);
}

fn value(directory: &mut Vec<u8>, written: &Written<'_>) {
    text(directory, written.name);
    directory.extend(written.shape.to_le_bytes());
    bytes(directory, &written.bytes);
}

/// As this machine has it, as those of chunks.
fn handle(directory: &mut Vec<u8>, entity: Entity) {
    directory.extend(entity.index().to_ne_bytes());
    directory.extend(entity.version().to_ne_bytes());
}
