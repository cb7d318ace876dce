//! Files whose directory says what cannot be, with checksums that are right: each is refused in the words of its flaw, and
//! nothing is made of it.

use std::sync::Arc;

use super::Saved;
use super::tests::{NOTHING, sealed};
use crate::archetype::Universe;
use crate::entity::{Entity, EntityIndex, EntityMap};
use crate::fragment::{ConstShared, FragmentKind, PerChunk, Shared};
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::format::{FORMAT, FULL_CHUNK, Header, kind_byte};
use crate::world::snapshot::{LoadOptions, SnapshotError};
use crate::world::{SnapshotSummary, World};

/// What is told of a fragment.
#[derive(Clone)]
struct Told {
    role: u8,
    is_needed: u8,
    enableable: u8,
    size: u64,
    name: &'static [u8],
}

impl Told {
    fn new(kind: FragmentKind, name: &'static str) -> Self {
        Self {
            role: kind_byte(kind),
            is_needed: 1,
            enableable: 0,
            size: 4,
            name: name.as_bytes(),
        }
    }
}

/// A file, to be written as one likes. All values have four bytes.
#[derive(Clone)]
struct File {
    versions: Vec<u32>,
    fragments: Vec<Told>,
    /// What chunks begin with, and shared values: each of a fragment.
    templates: Vec<(u32, u32)>,
    shared: Vec<(u32, u32)>,
    /// The fragments of the one archetype, and its chunk's handles and shared value.
    archetype: Vec<u32>,
    chunk_size: u32,
    grows: u8,
    handles: Vec<(u32, u32)>,
    value: u32,
    place: u32,
}

const NUMBER: u32 = 0;
const WEATHER: u32 = 1;
const TEAM: u32 = 2;

impl File {
    /// Three entities with a number and a team, in a chunk that has a weather.
    fn right() -> Self {
        Self {
            versions: vec![1, 2, 3, 1],
            fragments: vec![
                Told::new(FragmentKind::Fragment, "number"),
                Told::new(FragmentKind::Chunk, "weather"),
                Told::new(FragmentKind::Shared, "team"),
            ],
            templates: vec![(WEATHER, 5)],
            shared: vec![(TEAM, 77)],
            archetype: vec![NUMBER, WEATHER, TEAM],
            chunk_size: 1,
            grows: 0,
            handles: vec![(0, 1), (3, 1), (2, 3)],
            value: 0,
            place: 0,
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let number = |bytes: &mut Vec<u8>, n: u32| bytes.extend(n.to_le_bytes());
        let value = |bytes: &mut Vec<u8>, n: u32| bytes.extend(n.to_ne_bytes());
        let mut versions = Vec::new();
        (self.versions.iter()).for_each(|&version| number(&mut versions, version));
        let mut chunk = Vec::new();
        for &(index, version) in &self.handles {
            chunk.extend(index.to_ne_bytes());
            chunk.extend(version.to_ne_bytes());
        }
        for &fragment in &self.archetype {
            match fragment {
                NUMBER => (0..self.handles.len() as u32).for_each(|n| value(&mut chunk, 10 + n)),
                WEATHER => value(&mut chunk, 6),
                _ => {}
            }
        }
        let mut file = vec![0; Header::BYTES];
        file.extend(&versions);
        file.extend(&chunk);
        let directory = file.len() as u64;
        file.extend(Checksum::of(&versions).to_le_bytes());
        number(&mut file, self.fragments.len() as u32);
        for told in &self.fragments {
            file.extend([told.role, told.is_needed, told.enableable]);
            number(&mut file, 4);
            file.extend(told.size.to_le_bytes());
            // No shape.
            file.extend(0_u64.to_le_bytes());
            number(&mut file, told.name.len() as u32);
            file.extend(told.name);
        }
        // Worlds.
        number(&mut file, 1);
        number(&mut file, 1);
        file.push(0);
        for values in [&self.templates, &self.shared] {
            number(&mut file, values.len() as u32);
            for &(fragment, of_it) in values {
                number(&mut file, fragment);
                value(&mut file, of_it);
            }
        }
        // Archetypes.
        number(&mut file, 1);
        number(&mut file, self.archetype.len() as u32);
        (self.archetype.iter()).for_each(|&fragment| number(&mut file, fragment));
        number(&mut file, self.chunk_size);
        file.push(self.grows);
        if self.archetype.contains(&WEATHER) {
            value(&mut file, 5);
        }
        // Chunks.
        number(&mut file, 1);
        number(&mut file, self.handles.len() as u32);
        number(&mut file, 1);
        number(&mut file, self.place);
        if self.archetype.contains(&TEAM) {
            number(&mut file, self.value);
        }
        file.extend(Checksum::of(&chunk).to_le_bytes());
        file.extend([0; NOTHING]);
        let header = Header {
            format: FORMAT,
            bytes: file.len() as u64,
            directory,
            directory_checksum: 0,
            slots: Some(self.versions.len() as u64),
        };
        sealed(file, header)
    }
}

fn universe() -> Universe {
    let universe = Universe::ordered();
    let registry = universe.registry();
    registry.register_plain_as::<u32>("number").unwrap();
    registry
        .register_plain_as::<PerChunk<u32>>("weather")
        .unwrap();
    registry.register_plain_as::<Shared<u32>>("team").unwrap();
    registry
        .register_plain_as::<ConstShared<u32>>("party")
        .unwrap();
    universe
}

/// Why it is damaged, for who loads it in either way; and nothing of it is there.
fn why(file: &[u8]) -> &'static str {
    let refused = World::from_snapshot(file, universe(), &Default::default()).err();
    let Some(SnapshotError::Damaged { what, at }) = refused else {
        panic!("{refused:?}");
    };
    assert!(at <= file.len() as u64, "{what}: {at}");
    let universe = Arc::new(universe());
    let again =
        World::from_snapshot_remapped(file, &universe, &EntityMap::default(), &Default::default());
    assert_eq!(again.map(drop), Err(SnapshotError::Damaged { what, at }));
    assert_eq!((universe.count(), universe.chunk_stats().in_use), (0, 0));
    what
}

#[test]
fn what_is_right_is_loaded() {
    let file = File::right().to_bytes();
    let world = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    world.check().unwrap();
    for (number, (index, version)) in (10..).zip([(0, 1), (3, 1), (2, 3)]) {
        let entity = Entity::new(index, version).unwrap();
        assert_eq!(world.get::<u32>(entity).unwrap(), &number);
        assert_eq!(world.shared::<u32>(entity).unwrap(), &77);
        assert_eq!(world.chunk_fragment::<u32>(entity).unwrap(), &6);
    }
    assert_eq!(world.count(), 3);
    assert_eq!(SnapshotSummary::of(&file).unwrap().entities, 3);
}

#[test]
fn each_flaw_of_a_directory_is_told() {
    type Flaw = fn(&mut File);
    let flaws: [(&str, Flaw); 24] = [
        ("what chunks begin with is in no order", |file| {
            file.templates.push((WEATHER, 5));
        }),
        ("a chunk begins with a value of no chunk fragment", |file| {
            file.templates[0].0 = NUMBER;
        }),
        ("a chunk begins with a value of no chunk fragment", |file| {
            file.templates[0].0 = u32::MAX;
        }),
        ("a shared value is of no shared fragment", |file| {
            file.shared[0].0 = WEATHER;
        }),
        ("a shared value is of no shared fragment", |file| {
            file.shared[0].0 = 3;
        }),
        ("an archetype's fragments are no fragments", |file| {
            file.archetype = vec![NUMBER, WEATHER, 3];
        }),
        ("an archetype's fragments are no fragments", |file| {
            file.archetype = vec![NUMBER, TEAM, WEATHER];
        }),
        ("an archetype's fragments are no fragments", |file| {
            file.archetype = vec![NUMBER, NUMBER, WEATHER, TEAM];
        }),
        // It is not here, and nobody has it, it is said.
        ("an entity has a fragment that none has", |file| {
            file.fragments[0].name = b"unknown";
            file.fragments[0].is_needed = 0;
        }),
        ("a chunk's shared value is of another fragment", |file| {
            file.value = 1;
        }),
        ("a chunk's shared value is of another fragment", |file| {
            file.fragments
                .push(Told::new(FragmentKind::ConstShared, "party"));
            file.shared.insert(0, (3, 5));
            file.fragments[3].is_needed = 0;
        }),
        ("a chunk has 1 to 64 times 16 KiB", |file| {
            file.chunk_size = 0;
        }),
        ("a chunk has 1 to 64 times 16 KiB", |file| {
            file.chunk_size = 65;
        }),
        ("a yes or no is neither", |file| file.grows = 2),
        ("there is no such role", |file| file.fragments[1].role = 5),
        ("what is switched off is a fragment or a tag", |file| {
            file.fragments[1].enableable = 1
        }),
        ("what is switched off is a fragment or a tag", |file| {
            file.fragments[2].enableable = 1
        }),
        ("a fragment's name is no text", |file| {
            file.fragments[0].name = b"\xff";
        }),
        ("a fragment stands there twice", |file| {
            let told = file.fragments[0].clone();
            file.fragments.push(told);
        }),
        ("no slot has such a version", |file| {
            file.versions[1] = u32::MAX;
        }),
        ("an entity lives and has no row", |file| {
            file.versions[1] = 7;
        }),
        ("an entity lives and has no row", |file| {
            file.handles.pop();
        }),
        ("a handle is dead, or stands there twice", |file| {
            file.handles[2] = file.handles[0];
        }),
        (
            "the list of an archetype's chunks with room is none",
            |file| file.place = FULL_CHUNK - 1,
        ),
    ];
    let told = flaws.map(|(_, flaw)| {
        let mut file = File::right();
        flaw(&mut file);
        why(&file.to_bytes())
    });
    assert_eq!(told, flaws.map(|(what, _)| what));
}

#[test]
fn a_directory_that_ends_anywhere_is_told_and_reads_nothing_behind_it() {
    let file = File::right().to_bytes();
    let header = Header::read(&file, file.len() as u64).unwrap();
    for end in header.directory as usize..file.len() {
        let cut = file[..end].to_vec();
        let bytes = end as u64;
        let cut = sealed(cut, Header { bytes, ..header });
        let what = why(&cut);
        let ends = what.contains("ends early") || what.contains("checksum");
        assert!(ends, "{end}: {what}");
    }
    let mut longer = file.clone();
    longer.push(0);
    let bytes = longer.len() as u64;
    let longer = sealed(longer, Header { bytes, ..header });
    assert_eq!(why(&longer), "something stands behind the directory");
}

#[test]
fn parts_that_are_not_one_behind_the_other_are_damage() {
    let file = File::right().to_bytes();
    let header = Header::read(&file, file.len() as u64).unwrap();
    for wrong in [
        Header {
            slots: Some(header.slots.unwrap() + 1_000),
            ..header
        },
        Header {
            slots: Some(u64::MAX / 4),
            ..header
        },
        Header {
            slots: Some(u64::MAX - 1),
            ..header
        },
        Header {
            directory: 0,
            ..header
        },
    ] {
        let mut strange = file.clone();
        strange[..Header::BYTES].copy_from_slice(&wrong.to_bytes());
        let refused = why(&strange);
        assert_eq!(refused, "its parts are not one behind the other");
        assert!(SnapshotSummary::of(&strange).is_err());
    }
    // One slot less, or more, and its version is a chunk's, or none.
    for slots in [3, 5] {
        let mut strange = file.clone();
        let slots = Some(slots);
        strange[..Header::BYTES].copy_from_slice(&Header { slots, ..header }.to_bytes());
        assert_eq!(why(&strange), "the checksum of the versions is wrong");
    }
}

#[test]
fn no_file_has_more_versions_than_there_are_slots() {
    let file = File::right().to_bytes();
    let header = Header::read(&file, file.len() as u64).unwrap();
    let directory = &file[header.directory as usize..];
    let told = |slots: usize| {
        let header = Header {
            slots: Some(slots as u64),
            ..header
        };
        Saved::told(header, directory).err()
    };
    let expected = SnapshotError::Damaged {
        what: "there are more versions than slots",
        at: Header::BYTES as u64,
    };
    assert_eq!(told(EntityIndex::CAPACITY + 1), Some(expected));
}

#[test]
fn who_leaves_out_what_a_damaged_file_has_is_told_as_well() {
    let mut file = File::right();
    file.archetype = vec![NUMBER, WEATHER, 3];
    let options = LoadOptions::new().skip("team");
    let refused = World::worlds_from_snapshot(&file.to_bytes(), universe(), &options).err();
    assert!(
        matches!(refused, Some(SnapshotError::Damaged { .. })),
        "{refused:?}"
    );
    // Of a right one it is no one's.
    let file = File::right().to_bytes();
    let worlds = World::worlds_from_snapshot(&file, universe(), &options).unwrap();
    assert_eq!(worlds[0].count(), 3);
    let first = Entity::new(0, 1).unwrap();
    assert!(worlds[0].shared::<u32>(first).is_err());
}
