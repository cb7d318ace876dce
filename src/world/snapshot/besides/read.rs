//! `SavedBesides`: what a file says of a world besides its entities, and how the world comes to have it.

use crate::entity::{Entity, EntityMap};
use crate::fragment::{FragmentRegistry, StateForm, StateValue};
use crate::world::World;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::format::Reader;
use crate::world::snapshot::read::yes_or_no;
use crate::world::waiting::ComeSignal;

const EARLY: &str = "the directory ends early";

/// What a file says of a world besides its entities.
#[derive(Default)]
pub(in crate::world::snapshot) struct SavedBesides<'f> {
    resources: Vec<SavedValue<'f>>,
    names: Vec<SavedName>,
    /// The world's time.
    time: u64,
    /// In the order in which they arrive.
    signals: Vec<SavedSignal<'f>>,
}

/// A value, as its type has written it.
struct SavedValue<'f> {
    /// What the type is called.
    name: Box<str>,
    bytes: &'f [u8],
    /// Where they begin in the file.
    at: u64,
}

/// A name, and those who have it.
struct SavedName {
    name: Box<str>,
    entities: Vec<Entity>,
    /// Where it stands in the file.
    at: u64,
}

/// A signal that waits for its time.
struct SavedSignal<'f> {
    time: u64,
    entity: Entity,
    name: Option<Box<str>>,
    carries: SavedValue<'f>,
    at: u64,
}

impl<'f> SavedBesides<'f> {
    pub(in crate::world::snapshot) fn read(reader: &mut Reader<'f>) -> Result<Self, SnapshotError> {
        let mut saved = Self::default();
        for _ in 0..reader.u32(EARLY)? {
            let begin = reader.clone();
            let resource = SavedValue::read(reader)?;
            if (saved.resources.last()).is_some_and(|last| last.name >= resource.name) {
                return Err(begin.damaged("resources are in no order, or one stands there twice"));
            }
            saved.resources.push(resource);
        }
        for _ in 0..reader.u32(EARLY)? {
            let at = reader.at();
            let name = text(reader)?;
            let mut entities = Vec::new();
            for _ in 0..reader.u32(EARLY)? {
                entities.push(handle(reader)?);
            }
            let name = SavedName { name, entities, at };
            saved.names.push(name);
        }
        saved.time = reader.u64(EARLY)?;
        for _ in 0..reader.u32(EARLY)? {
            let at = reader.at();
            let time = reader.u64(EARLY)?;
            let entity = handle(reader)?;
            let name = match yes_or_no(reader)? {
                true => Some(text(reader)?),
                false => None,
            };
            let carries = SavedValue::read(reader)?;
            saved.signals.push(SavedSignal {
                time,
                entity,
                name,
                carries,
                at,
            });
        }
        Ok(saved)
    }

    /// What the types are called whose values are in it.
    pub(in crate::world::snapshot) fn types(&self) -> impl Iterator<Item = &str> {
        let carried = self.signals.iter().map(|signal| &signal.carries);
        let values = self.resources.iter().chain(carried);
        values.map(|value| &*value.name)
    }

    /// Gives it to a world whose entities have come; those of other worlds that come with it, too.
    pub(in crate::world::snapshot) fn bring(
        &self,
        world: &mut World,
        entities: &EntityMap,
    ) -> Result<(), SnapshotError> {
        let universe = world.universe().clone();
        let registry = universe.registry();
        for resource in &self.resources {
            let (form, value) = resource.value(registry, entities)?;
            world.resources.insert_value(form, value);
        }
        let here = |world: &World, old: Entity, at: u64, what: &'static str| {
            let entity = entities.meant(old);
            match world.is_built(entity) {
                true => Ok(entity),
                false => Err(SnapshotError::Damaged { what, at }),
            }
        };
        for SavedName {
            name,
            entities: all,
            at,
        } in &self.names
        {
            for &old in all {
                let entity = here(world, old, *at, "a name is nobody's")?;
                if world.names.has(entity) {
                    let what = "an entity has two names";
                    return Err(SnapshotError::Damaged { what, at: *at });
                }
                let name = world.names.intern(&**name);
                world.names.insert(entity, name);
            }
        }
        world.come.time = self.time;
        for signal in &self.signals {
            let entity = here(world, signal.entity, signal.at, "a signal is for nobody")?;
            let (form, value) = signal.carries.value(registry, entities)?;
            world.come.signals.push(ComeSignal {
                name: signal.name.clone(),
                carries: form.type_id(),
                entity,
                time: signal.time,
                payload: value,
            });
        }
        Ok(())
    }
}

impl<'f> SavedValue<'f> {
    fn read(reader: &mut Reader<'f>) -> Result<Self, SnapshotError> {
        let name = text(reader)?;
        let damaged = reader.damaged("a value is longer than the file");
        let Ok(length) = usize::try_from(reader.u64(EARLY)?) else {
            return Err(damaged);
        };
        let at = reader.at();
        let bytes = reader.take(length, "a value is longer than the file")?;
        Ok(Self { name, bytes, at })
    }

    /// The value, and how others of its type are had.
    fn value<'r>(
        &self,
        registry: &'r FragmentRegistry,
        entities: &EntityMap,
    ) -> Result<(&'r StateForm, StateValue), SnapshotError> {
        let Some(form) = registry.state_form(|form| form.name() == &*self.name) else {
            unreachable!("a file whose values nobody knows is refused")
        };
        // A copy: somebody may change the file.
        let bytes = self.bytes.to_vec();
        match form.read(&bytes, entities) {
            Ok(value) => Ok((form, value)),
            Err(reason) => Err(SnapshotError::StateNotRead {
                name: self.name.clone(),
                at: self.at,
                reason: reason.into(),
            }),
        }
    }
}

fn text(reader: &mut Reader<'_>) -> Result<Box<str>, SnapshotError> {
    let damaged = reader.damaged("a name is no text");
    let length = reader.u32(EARLY)? as usize;
    // A copy: bytes of the file may be no text any more when they are looked at again.
    let text = String::from_utf8(reader.take(length, EARLY)?.to_vec());
    text.map(String::into_boxed_str).map_err(|_| damaged)
}

fn handle(reader: &mut Reader<'_>) -> Result<Entity, SnapshotError> {
    let damaged = reader.damaged("a handle is none");
    let index = reader.u32_of_this_machine(EARLY)?;
    let version = reader.u32_of_this_machine(EARLY)?;
    Entity::new(index, version).ok_or(damaged)
}
