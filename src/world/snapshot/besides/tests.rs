//! Files whose parts besides entities are as they should be, and with each flaw.

use core::time::Duration;
use std::sync::Arc;

use crate::archetype::Universe;
use crate::entity::Entity;
use crate::fragment::Plain;
use crate::world::World;
use crate::world::snapshot::LoadOptions;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::SnapshotOptions;
use crate::world::snapshot::besides::read::EARLY;
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::format::{FORMAT, Header};

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
            bytes.extend(0_u64.to_le_bytes());
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
            bytes.extend(u32::SHAPE.to_le_bytes());
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
        format: FORMAT,
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
    let load = |tail: &Tail<'_>| {
        World::from_snapshot(
            &with(&file, &tail.to_bytes()),
            universe(),
            &Default::default(),
        )
    };
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
            "no \"number\": it had 2 bytes",
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
    let load =
        |tail: &[u8]| World::from_snapshot(&with(&file, tail), universe(), &Default::default());
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

#[test]
fn a_value_that_is_none_of_its_older_type_is_not_converted() {
    let (file, _) = file();
    let load = |bytes: &[u8]| {
        let tail = Tail {
            resources: vec![("number", bytes)],
            names: Vec::new(),
            time: 0,
            signals: Vec::new(),
        };
        let convert = |old: bool| u32::from(old) + 40;
        let options = LoadOptions::new().convert_state::<bool, u32>("number", convert);
        let file = with(&file, &tail.to_bytes());
        let worlds = World::worlds_from_snapshot(&file, universe(), &options);
        worlds.map(|worlds| worlds[0].resources().get::<u32>().copied())
    };
    assert_eq!(load(&[0]), Ok(Some(40)));
    assert_eq!(load(&[1]), Ok(Some(41)));
    for byte in [2, 255] {
        let refused = load(&[byte]).unwrap_err();
        let SnapshotError::StateNotRead {
            name, reason, at, ..
        } = &refused
        else {
            panic!("{refused}");
        };
        assert_eq!(&**name, "number");
        assert!(reason.contains("bool"), "{reason}");
        assert!(*at > Header::BYTES as u64);
    }
    // As long as neither is.
    let refused = load(&[1, 2]).unwrap_err();
    assert!(
        !matches!(refused, SnapshotError::StateNotRead { .. })
            || refused.to_string().contains("2 bytes"),
        "{refused}"
    );
}
