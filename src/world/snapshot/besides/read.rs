//! `SavedBesides`: what a file says of a world besides its entities, and how the world comes to have it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::archetype::Universe;
use crate::entity::{Entity, EntityMap};
use crate::fragment::{FragmentRegistry, StateForm, StateValue};
use crate::world::World;
use crate::world::snapshot::conversion::Conversion;
use crate::world::snapshot::format::Reader;
use crate::world::snapshot::read::yes_or_no;
use crate::world::snapshot::{LoadOptions, SnapshotError};
use crate::world::waiting::{SignalName, Waits};

pub(super) const EARLY: &str = "the directory ends early";

/// The types that are part of the state, by what they are called in files. (A file may have very many values of very many
/// types: each is looked up at once.)
pub(in crate::world::snapshot) type FormsByName<'r> = HashMap<&'r str, &'r StateForm>;

/// All types of a registry. O(types).
pub(in crate::world::snapshot) fn forms_by_name(registry: &FragmentRegistry) -> FormsByName<'_> {
    let forms = registry.state_forms();
    forms.map(|form| (form.name(), form)).collect()
}

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
    /// That of the type when it was saved; 0: not known.
    shape: u64,
    bytes: Cow<'f, [u8]>,
    /// Where they begin in the file.
    at: u64,
}

/// A name, and those who have it, one at least.
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
    pub(in crate::world::snapshot) fn read(
        reader: &mut Reader<'f>,
        has_shapes: bool,
    ) -> Result<Self, SnapshotError> {
        let mut saved = Self::default();
        for _ in 0..reader.u32(EARLY)? {
            let begin = reader.clone();
            let resource = SavedValue::read(reader, has_shapes)?;
            if (saved.resources.last()).is_some_and(|last| last.name >= resource.name) {
                return Err(begin.damaged("resources are in no order, or one stands there twice"));
            }
            saved.resources.push(resource);
        }
        for _ in 0..reader.u32(EARLY)? {
            let begin = reader.clone();
            let (name, at) = (text(reader)?, begin.at());
            let mut entities = Vec::new();
            for _ in 0..reader.u32(EARLY)? {
                entities.push(handle(reader)?);
            }
            if (saved.names.last()).is_some_and(|last| last.name >= name) {
                return Err(begin.damaged("names are in no order, or one stands there twice"));
            }
            if entities.is_empty() {
                return Err(begin.damaged("a name is nobody's"));
            }
            saved.names.push(SavedName { name, entities, at });
        }
        saved.time = reader.u64(EARLY)?;
        for _ in 0..reader.u32(EARLY)? {
            let at = reader.at();
            let damaged = reader.damaged("signals are in no order");
            let time = reader.u64(EARLY)?;
            if saved.signals.last().is_some_and(|last| last.time > time) {
                return Err(damaged);
            }
            let entity = receiver(reader)?;
            let name = match yes_or_no(reader)? {
                true => Some(text(reader)?),
                false => None,
            };
            let carries = SavedValue::read(reader, has_shapes)?;
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

    /// Calls the types what they are called now. `seen`: those of the file that are called so, each with its name there.
    pub(in crate::world::snapshot) fn rename(
        &mut self,
        options: &LoadOptions,
        seen: &mut BTreeMap<Box<str>, Box<str>>,
    ) -> Result<(), SnapshotError> {
        let carried = self.signals.iter_mut().map(|signal| &mut signal.carries);
        for value in self.resources.iter_mut().chain(carried) {
            let to: Box<str> = options
                .renamed_state(&value.name)
                .map_or_else(|| value.name.clone(), Into::into);
            let from = core::mem::replace(&mut value.name, to);
            let first = seen
                .entry(value.name.clone())
                .or_insert_with(|| from.clone());
            if *first != from {
                return Err(SnapshotError::RenamedAlike {
                    from: [first.clone(), from],
                    role: None,
                    to: value.name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Leaves out what does not come.
    pub(in crate::world::snapshot) fn leave_out(&mut self, options: &LoadOptions) {
        let comes = |value: &SavedValue<'_>| !options.skips_state(&value.name);
        self.resources.retain(comes);
        self.signals.retain(|signal| comes(&signal.carries));
    }

    /// Forgets which fields values had of which it is not asked: after those that are [converted](Self::convert).
    pub(in crate::world::snapshot) fn ignore_fields(&mut self, options: &LoadOptions) {
        let carried = self.signals.iter_mut().map(|signal| &mut signal.carries);
        for value in self.resources.iter_mut().chain(carried) {
            if options.takes_state(&value.name, (value.bytes.len(), value.shape)) {
                value.shape = 0;
            }
        }
    }

    /// All values.
    fn values(&self) -> impl Iterator<Item = &SavedValue<'f>> {
        let carried = self.signals.iter().map(|signal| &signal.carries);
        self.resources.iter().chain(carried)
    }

    /// Bytes that those have, when they are [converted](Self::convert), that the file has in another form.
    pub(in crate::world::snapshot) fn bytes_to_convert(
        &self,
        forms: &FormsByName<'_>,
        options: &LoadOptions,
    ) -> u64 {
        let bytes = self.values().map(|value| {
            let conversion = value.conversion(forms, options);
            conversion.map_or(0, |(conversion, _)| conversion.new_size() as u64)
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// Makes of all values that the file has in another form what they are here.
    pub(in crate::world::snapshot) fn convert(
        &mut self,
        forms: &FormsByName<'_>,
        options: &LoadOptions,
    ) -> Result<(), SnapshotError> {
        let carried = self.signals.iter_mut().map(|signal| &mut signal.carries);
        for value in self.resources.iter_mut().chain(carried) {
            if let Some((conversion, form)) = value.conversion(forms, options) {
                let new = conversion.convert_state(&value.bytes, value.at)?;
                (value.bytes, value.shape) = (Cow::Owned(new), form.shape());
            }
        }
        Ok(())
    }

    /// What the types are called whose values are in it.
    pub(in crate::world::snapshot) fn types(&self) -> impl Iterator<Item = &str> {
        self.values().map(|value| &*value.name)
    }

    /// The resources, by name, each with its bytes.
    pub(in crate::world::snapshot) fn resources(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let resources = self.resources.iter();
        resources.map(|resource| (&*resource.name, &*resource.bytes))
    }

    /// The resources, each with its shape (0: not known), its bytes, and where these begin in the file.
    pub(in crate::world::snapshot) fn told_resources(
        &self,
    ) -> impl Iterator<Item = (&str, u64, &[u8], u64)> {
        let resources = self.resources.iter();
        resources.map(|of| (&*of.name, of.shape, &*of.bytes, of.at))
    }

    /// The names, each with those who have it. (A file may give several to one: it is not loaded then.)
    pub(in crate::world::snapshot) fn names(&self) -> impl Iterator<Item = (&str, &[Entity])> {
        let names = self.names.iter();
        names.map(|saved| (&*saved.name, &*saved.entities))
    }

    /// The world's time, in nanoseconds.
    pub(in crate::world::snapshot) fn time(&self) -> u64 {
        self.time
    }

    /// Whether the same signals wait for the same entities until the same time, with the same values.
    pub(in crate::world::snapshot) fn waits_for_the_same(&self, other: &SavedBesides<'_>) -> bool {
        let same = |one: &SavedSignal<'_>, two: &SavedSignal<'_>| {
            (one.time, one.entity, &one.name) == (two.time, two.entity, &two.name)
                && (&one.carries.name, &one.carries.bytes)
                    == (&two.carries.name, &two.carries.bytes)
        };
        let pairs = || self.signals.iter().zip(&other.signals);
        self.signals.len() == other.signals.len() && pairs().all(|(one, two)| same(one, two))
    }

    /// How many signals wait.
    pub(in crate::world::snapshot) fn signals(&self) -> usize {
        self.signals.len()
    }

    /// Gives it to a world whose entities have come; those of worlds that come with it have ids, and no place, perhaps.
    /// `forms` are all types of its registry, if any world of the file has a value.
    pub(in crate::world::snapshot) fn bring(
        &self,
        world: &mut World,
        forms: &FormsByName<'_>,
        entities: &EntityMap,
    ) -> Result<(), SnapshotError> {
        let universe = Arc::clone(world.universe());
        for resource in &self.resources {
            let (form, value) = resource.value(forms, entities)?;
            world.resources.insert_value(form, value);
        }
        self.bring_names(world, entities)?;
        world.come.time = self.time;
        for (sequence, saved) in (0..).zip(&self.signals) {
            let (signal, waits) = saved.value(&universe, forms, entities, sequence)?;
            world.come.signals.push(signal, waits);
        }
        Ok(())
    }

    fn bring_names(&self, world: &mut World, entities: &EntityMap) -> Result<(), SnapshotError> {
        for saved in &self.names {
            let name = world.names.intern(&*saved.name);
            for &old in &saved.entities {
                let entity = entities.meant(old);
                if !world.is_built(entity) || world.names.has(entity) {
                    let what = "a name is that of nobody here, or of somebody who has one";
                    return Err(SnapshotError::Damaged { what, at: saved.at });
                }
                world.names.insert(entity, Arc::clone(&name));
            }
        }
        Ok(())
    }
}

impl SavedSignal<'_> {
    /// The signal that waits, and what it is known by.
    fn value(
        &self,
        universe: &Universe,
        forms: &FormsByName<'_>,
        entities: &EntityMap,
        sequence: u64,
    ) -> Result<(SignalName<Box<str>>, Waits<StateValue>), SnapshotError> {
        let entity = match self.entity {
            Entity::EVERYBODY => Entity::EVERYBODY,
            old => entities.meant(old),
        };
        if entity != Entity::EVERYBODY && !universe.exists(entity) {
            let (what, at) = ("a signal is for nobody", self.at);
            return Err(SnapshotError::Damaged { what, at });
        }
        let (form, payload) = self.carries.value(forms, entities)?;
        let signal = SignalName {
            name: self.name.clone(),
            carries: form.type_id(),
        };
        let waits = Waits {
            time: self.time,
            sequence,
            entity,
            payload,
        };
        Ok((signal, waits))
    }
}

impl<'f> SavedValue<'f> {
    fn read(reader: &mut Reader<'f>, has_shapes: bool) -> Result<Self, SnapshotError> {
        let name = text(reader)?;
        let shape = match has_shapes {
            true => reader.u64(EARLY)?,
            false => 0,
        };
        let bytes = bytes(reader)?;
        let at = reader.at() - bytes.len() as u64;
        Ok(Self {
            name,
            shape,
            bytes: Cow::Borrowed(bytes),
            at,
        })
    }

    /// What makes of it what it is here, and how values of its type are had, if it is another one.
    fn conversion<'o, 'r>(
        &self,
        forms: &FormsByName<'r>,
        options: &'o LoadOptions,
    ) -> Option<(&'o Conversion, &'r StateForm)> {
        let &form = forms.get(&*self.name)?;
        let found = options.state_conversion(&self.name, (self.bytes.len(), self.shape), form)?;
        Some((found, form))
    }

    /// The value, and how others of its type are had.
    fn value<'r>(
        &self,
        forms: &FormsByName<'r>,
        entities: &EntityMap,
    ) -> Result<(&'r StateForm, StateValue), SnapshotError> {
        let Some(&form) = forms.get(&*self.name) else {
            unreachable!("a file whose values nobody knows is refused")
        };
        // A copy: somebody may change the file.
        let bytes = self.bytes.to_vec();
        match form.read(&bytes, self.shape, entities) {
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
    // A copy: bytes of the file may be no text any more when they are looked at again.
    let text = String::from_utf8(bytes(reader)?.to_vec());
    text.map(String::into_boxed_str).map_err(|_| damaged)
}

fn bytes<'f>(reader: &mut Reader<'f>) -> Result<&'f [u8], SnapshotError> {
    let length = usize::try_from(reader.u64(EARLY)?).unwrap_or(usize::MAX);
    reader.take(length, EARLY)
}

fn handle(reader: &mut Reader<'_>) -> Result<Entity, SnapshotError> {
    let damaged = reader.damaged("a handle is none");
    let (index, version) = parts(reader)?;
    Entity::new(index, version).ok_or(damaged)
}

/// To whom a signal is.
fn receiver(reader: &mut Reader<'_>) -> Result<Entity, SnapshotError> {
    let all = (Entity::EVERYBODY.index(), Entity::EVERYBODY.version());
    let mut ahead = reader.clone();
    if parts(&mut ahead)? == all {
        *reader = ahead;
        return Ok(Entity::EVERYBODY);
    }
    handle(reader)
}

fn parts(reader: &mut Reader<'_>) -> Result<(u32, u32), SnapshotError> {
    let index = reader.u32_of_this_machine(EARLY)?;
    let version = reader.u32_of_this_machine(EARLY)?;
    Ok((index, version))
}
