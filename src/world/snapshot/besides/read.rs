//! `SavedBesides`: what a file says of a world besides its entities, and how the world comes to have it.

use crate::entity::{Entity, EntityMap};
use crate::fragment::{FragmentRegistry, StateForm, StateValue};
use crate::world::World;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::format::Reader;
use crate::world::snapshot::read::yes_or_no;
use crate::world::waiting::{SignalName, Waits};

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

    /// Gives it to a world whose entities have come; those of worlds that come with it have ids, and no place, perhaps.
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
        for SavedName {
            name,
            entities: all,
            at,
        } in &self.names
        {
            for &old in all {
                let entity = entities.meant(old);
                let (is_here, has_one) = (world.is_built(entity), world.names.has(entity));
                if !is_here || has_one {
                    let what = "a name is that of nobody here, or of somebody who has one";
                    return Err(SnapshotError::Damaged { what, at: *at });
                }
                let name = world.names.intern(&**name);
                world.names.insert(entity, name);
            }
        }
        world.come.time = self.time;
        for (sequence, saved) in (0..).zip(&self.signals) {
            let entity = entities.meant(saved.entity);
            if !universe.exists(entity) {
                let (what, at) = ("a signal is for nobody", saved.at);
                return Err(SnapshotError::Damaged { what, at });
            }
            let (form, payload) = saved.carries.value(registry, entities)?;
            let signal = SignalName {
                name: saved.name.clone(),
                carries: form.type_id(),
            };
            let waiting = Waits {
                time: saved.time,
                sequence,
                entity,
                payload,
            };
            world.come.signals.push(signal, waiting);
        }
        Ok(())
    }
}

impl<'f> SavedValue<'f> {
    fn read(reader: &mut Reader<'f>) -> Result<Self, SnapshotError> {
        let name = text(reader)?;
        let bytes = bytes(reader)?;
        let at = reader.at() - bytes.len() as u64;
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
    let index = reader.u32_of_this_machine(EARLY)?;
    let version = reader.u32_of_this_machine(EARLY)?;
    Entity::new(index, version).ok_or(damaged)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::sync::Arc;

    use super::*;
    use crate::archetype::Universe;
    use crate::world::snapshot::SnapshotOptions;
    use crate::world::snapshot::checksum::Checksum;
    use crate::world::snapshot::format::Header;

    fn universe() -> Universe {
        let universe = Universe::ordered();
        universe
            .registry()
            .register_state_as::<u32>("number")
            .unwrap();
        universe
            .registry()
            .register_state_as::<u8>("digit")
            .unwrap();
        universe
    }

    /// What stands in the tail of a file, to be written as one likes.
    #[derive(Clone)]
    struct Tail<'t> {
        resources: Vec<(&'t str, &'t [u8])>,
        names: Vec<(&'t [u8], Vec<Entity>)>,
        time: u64,
        signals: Vec<(u64, Entity, u8, &'t str)>,
    }

    impl Tail<'_> {
        fn to_bytes(&self) -> Vec<u8> {
            let mut bytes = Vec::new();
            let count = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u32).to_le_bytes());
            let text = |bytes: &mut Vec<u8>, text: &[u8]| {
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend(text);
            };
            let handle = |bytes: &mut Vec<u8>, entity: Entity| {
                bytes.extend(entity.index().to_ne_bytes());
                bytes.extend(entity.version().to_ne_bytes());
            };
            count(&mut bytes, self.resources.len());
            for (name, value) in &self.resources {
                text(&mut bytes, name.as_bytes());
                text(&mut bytes, value);
            }
            count(&mut bytes, self.names.len());
            for (name, entities) in &self.names {
                text(&mut bytes, name);
                count(&mut bytes, entities.len());
                entities
                    .iter()
                    .for_each(|&entity| handle(&mut bytes, entity));
            }
            bytes.extend(self.time.to_le_bytes());
            count(&mut bytes, self.signals.len());
            for &(time, entity, named, name) in &self.signals {
                bytes.extend(time.to_le_bytes());
                handle(&mut bytes, entity);
                bytes.push(named);
                text(&mut bytes, name.as_bytes());
                text(&mut bytes, b"number");
                text(&mut bytes, &7_u32.to_ne_bytes());
            }
            bytes
        }
    }

    /// The bytes before the tail of a file of a world with two entities, and these.
    fn file() -> (Vec<u8>, [Entity; 2]) {
        let mut world = World::of(&Arc::new(universe())).unwrap();
        let all = [(); 2].map(|()| world.create(()).unwrap());
        let mut file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        file.truncate(file.len() - (4 + 4 + 8 + 4));
        (file, all)
    }

    /// The file with this tail; its checksums are right.
    fn with(file: &[u8], tail: &[u8]) -> Vec<u8> {
        let mut whole = file.to_vec();
        let begin = u64::from_le_bytes(file[24..32].try_into().unwrap());
        let versions = u64::from_le_bytes(file[48..56].try_into().unwrap());
        whole.extend(tail);
        let header = Header {
            has_besides: true,
            bytes: whole.len() as u64,
            directory: begin,
            directory_checksum: Checksum::of(&whole[begin as usize..]),
            slots: Some(versions),
        };
        whole[..Header::BYTES].copy_from_slice(&header.to_bytes());
        whole
    }

    #[test]
    fn what_is_as_it_should_be_is_taken_and_each_flaw_is_told() {
        let (file, [ant, bee]) = file();
        let nobody = Entity::new(900, 1).unwrap();
        let good = Tail {
            resources: vec![("digit", &[3]), ("number", &[1, 2, 3, 4])],
            names: vec![(b"", vec![bee]), (b"ant", vec![ant])],
            time: 50,
            signals: vec![(60, bee, 1, "ring"), (60, ant, 1, ""), (70, ant, 1, "ring")],
        };
        let load =
            |tail: &Tail<'_>| World::from_snapshot(&with(&file, &tail.to_bytes()), universe());
        let mut world = load(&good).unwrap();
        world.check().unwrap();
        assert_eq!(world.resources().get::<u8>(), Some(&3));
        assert_eq!(world.name(bee), Ok(Some("")));
        assert_eq!(world.time(), Duration::from_nanos(50));
        assert_eq!(world.pending().delayed_signals, 3);
        world.advance_time(Duration::from_nanos(10));
        assert_eq!(world.pending().delayed_signals, 1);

        type Change = fn(&mut Tail<'_>, [Entity; 3]);
        let flaws: [(Change, &str); 13] = [
            (|t, _| t.resources.swap(0, 1), "resources are in no order"),
            (|t, _| t.resources[1].0 = "digit", "one stands there twice"),
            (
                |t, _| t.resources[1].0 = "score",
                "values of score, which is not",
            ),
            (
                |t, _| t.resources[1].1 = &[1, 2],
                "no number: it had 2 bytes",
            ),
            (|t, _| t.names.swap(0, 1), "names are in no order"),
            (|t, _| t.names[0].0 = b"ant", "one stands there twice"),
            (|t, _| t.names[1].0 = b"\xff", "a name is no text"),
            (|t, _| t.names[1].1.clear(), "a name is nobody's"),
            (
                |t, [_, _, nobody]| t.names[1].1.push(nobody),
                "nobody here, or of somebody who has one",
            ),
            (
                |t, [_, bee, _]| t.names[1].1.push(bee),
                "nobody here, or of somebody who has one",
            ),
            (|t, _| t.signals[2].0 = 59, "signals are in no order"),
            (
                |t, [_, _, nobody]| t.signals[2].1 = nobody,
                "a signal is for nobody",
            ),
            (|t, _| t.signals[2].2 = 7, "a yes or no is neither"),
        ];
        for (flaw, told) in flaws {
            let mut tail = good.clone();
            flaw(&mut tail, [ant, bee, nobody]);
            let refused = load(&tail).unwrap_err().to_string();
            assert!(refused.contains(told), "{refused}, not: {told}");
        }
    }

    #[test]
    fn lengths_and_handles_that_cannot_be_are_told() {
        let (file, [ant, _]) = file();
        let load = |tail: &[u8]| World::from_snapshot(&with(&file, tail), universe());
        let tail = Tail {
            resources: Vec::new(),
            names: vec![(b"ant", vec![ant])],
            time: 0,
            signals: Vec::new(),
        };
        let good = tail.to_bytes();
        load(&good).unwrap();
        for length in [4, u64::MAX, i64::MAX as u64, 1 << 63, 1 << 32] {
            let mut wrong = good.clone();
            wrong[8..16].copy_from_slice(&length.to_le_bytes());
            let refused = load(&wrong).unwrap_err();
            assert!(
                matches!(refused, SnapshotError::Damaged { .. }),
                "{refused}"
            );
        }
        let mut wrong = good.clone();
        // The version of the handle: no entity has an even one.
        wrong[27..31].copy_from_slice(&2_u32.to_ne_bytes());
        let refused = load(&wrong).unwrap_err().to_string();
        assert!(refused.ends_with("a handle is none"), "{refused}");
        for cut in 0..good.len() {
            let refused = load(&good[..cut]).unwrap_err().to_string();
            assert!(refused.ends_with(EARLY), "{cut}: {refused}");
        }
        let mut longer = good;
        longer.push(0);
        let refused = load(&longer).unwrap_err().to_string();
        assert!(
            refused.ends_with("something stands behind the directory"),
            "{refused}"
        );
    }
}
