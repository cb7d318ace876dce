//! Files that say other things than what was saved, with checksums that are right.

use super::Saved;
use crate::archetype::Universe;
use crate::entity::{Entity, EntityMap};
use crate::fragment::FragmentRegistry;
use crate::fragment::Plain;
use crate::world::World;
use crate::world::snapshot::SnapshotOptions;
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::format::{FULL_CHUNK, Header};
use crate::world::snapshot::{LoadOptions, SnapshotError};

fn universe() -> Universe {
    let universe = Universe::ordered();
    universe.registry().register_plain::<u32>().unwrap();
    universe
}

/// A file of a world without shared values, with nothing besides its entities, whose last chunk gets another place;
/// all checksums are right.
fn with_last_place(file: &[u8], place: u32) -> Vec<u8> {
    let header = Header::read(file, file.len() as u64).unwrap();
    let mut file = file.to_vec();
    let at = file.len() - NOTHING - 12;
    file[at..at + 4].copy_from_slice(&place.to_le_bytes());
    sealed(file, header)
}

/// A file whose directory may have changed, with the checksum of what is there.
pub(in crate::world::snapshot) fn sealed(mut file: Vec<u8>, mut header: Header) -> Vec<u8> {
    header.directory_checksum = Checksum::of(&file[header.directory as usize..]);
    file[..Header::BYTES].copy_from_slice(&header.to_bytes());
    file
}

#[test]
fn a_chunk_with_room_that_has_no_place_of_its_own_is_an_error() {
    let mut world = World::of(&std::sync::Arc::new(universe())).unwrap();
    world.set_chunk_size(1);
    let batch = world.create_batch((0..20_000_u32).map(|n| (n,))).unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    for &entity in all.iter().step_by(20) {
        world.destroy(entity).unwrap();
    }
    let open = world.archetypes[0].groups[0].open.len() as u32;
    assert!(open > 2);
    let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    let at = file.len() - NOTHING - 12;
    let place = u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]);
    assert!(place < open);
    let load = |place| {
        World::from_snapshot(
            &with_last_place(&file, place),
            universe(),
            &Default::default(),
        )
    };
    load(place).unwrap().check().unwrap();
    let wrong = (0..open + 3).filter(|&wrong| wrong != place);
    for wrong in wrong.chain([FULL_CHUNK - 1]) {
        let error = load(wrong).unwrap_err().to_string();
        assert!(error.contains("chunks with room"), "{wrong}: {error}");
    }
}

/// Bytes of what a world has besides its entities, if it has nothing.
pub(in crate::world::snapshot) const NOTHING: usize = 4 + 4 + 8 + 4;

#[test]
fn a_file_of_a_format_before_is_read() {
    let mut world = World::of(&std::sync::Arc::new(universe())).unwrap();
    for number in 0..3_u32 {
        world.create((number,)).unwrap();
    }
    let mut file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    let mut header = Header::read(&file, file.len() as u64).unwrap();
    // Behind the checksum of the versions, how many fragments there are, and what is told of one before its shape.
    let shape = header.directory as usize + 8 + 4 + 3 + 4 + 8;
    assert_eq!(file[shape..shape + 8], u32::SHAPE.to_le_bytes());
    file.drain(shape..shape + 8);
    header.bytes -= 8;
    let told = |format, file: &[u8], header: Header| {
        let bytes = file.len() as u64;
        let file = sealed(
            file.to_vec(),
            Header {
                format,
                bytes,
                ..header
            },
        );
        assert_eq!(file[8], format as u8);
        World::from_snapshot(&file, universe(), &Default::default())
            .map(|world| world.state_hash(&Default::default()))
    };
    let expected = Ok(world.state_hash(&Default::default()));
    assert_eq!(told(4, &file, header), expected);
    let without = &file[..file.len() - NOTHING];
    assert_eq!(told(3, without, header), expected);
    for (format, file) in [(5, &*file), (4, without)] {
        let refused = told(format, file, header).unwrap_err();
        assert!(
            matches!(refused, SnapshotError::Damaged { .. }),
            "{refused}"
        );
    }
}

/// A file of one chunk with other bytes in it; all checksums are right.
fn with_chunk(file: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let header = Header::read(file, file.len() as u64).unwrap();
    let (mut file, directory) = (file.to_vec(), header.directory as usize);
    change(&mut file[Header::BYTES..directory]);
    let checksum = Checksum::of(&file[Header::BYTES..directory]);
    let at = file.len() - NOTHING - 8;
    file[at..at + 8].copy_from_slice(&checksum.to_le_bytes());
    sealed(file, header)
}

#[test]
fn of_the_living_only_each_has_a_slot_of_its_own_and_a_version_that_lives() {
    let universe = std::sync::Arc::new(universe());
    let mut world = World::of(&universe).unwrap();
    for number in 0..3_u32 {
        world.create((number,)).unwrap();
    }
    let options = SnapshotOptions::new().skip_dead();
    let file = world.to_snapshot(&options).unwrap();
    let known = EntityMap::default();
    let load =
        |file: &[u8]| World::from_snapshot_remapped(file, &universe, &known, &Default::default());
    let (copy, _) = load(&with_chunk(&file, |_| {})).unwrap();
    assert_eq!(copy.count(), 3);
    drop(copy);
    // The third row: the first one's slot with another version, no version, no slot.
    for (at, byte) in [(16, 0), (20, 2), (19, 0xff)] {
        let wrong = with_chunk(&file, |chunk| {
            chunk[16..20].copy_from_slice(&7_u32.to_ne_bytes());
            chunk[20..24].copy_from_slice(&3_u32.to_ne_bytes());
            chunk[if cfg!(target_endian = "big") {
                at ^ 3
            } else {
                at
            }] = byte;
        });
        let expected = SnapshotError::Damaged {
            what: "a handle is dead, or stands there twice",
            at: (Header::BYTES + 16) as u64,
        };
        assert_eq!(load(&wrong).unwrap_err(), expected, "{at}: {byte}");
        assert_eq!(universe.count(), 3);
    }
}
/// A file of no world, with so many fragments that nobody has, each with the name that `name` gives.
fn with_fragments(count: u32, name: impl Fn(u32) -> String) -> Vec<u8> {
    let mut file = World::worlds_to_snapshot(&[], &SnapshotOptions::new()).unwrap();
    let mut header = Header::read(&file, file.len() as u64).unwrap();
    file.truncate(header.directory as usize);
    file.extend(Checksum::of(&[]).to_le_bytes());
    file.extend(count.to_le_bytes());
    for name in (0..count).map(name) {
        // Role, needed, enableable; alignment, size, shape.
        file.extend([0; 3]);
        file.extend(1_u32.to_le_bytes());
        file.extend(1_u64.to_le_bytes());
        file.extend(0_u64.to_le_bytes());
        file.extend((name.len() as u32).to_le_bytes());
        file.extend(name.bytes());
    }
    file.extend(0_u32.to_le_bytes());
    header.bytes = file.len() as u64;
    sealed(file, header)
}

#[test]
fn no_file_has_more_fragments_than_a_registry_holds() {
    let load = |count| {
        let file = with_fragments(count, |number| number.to_string());
        World::worlds_from_snapshot(&file, universe(), &LoadOptions::new())
            .map(|worlds| worlds.len())
    };
    assert_eq!(load(65_535), Ok(0));
    let refused = load(65_536).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the snapshot is damaged at byte 72: there are more fragments than a registry holds"
    );
}

#[test]
fn no_fragment_stands_there_twice_even_if_nobody_has_it() {
    let file = with_fragments(3, |number| format!("{}", number % 2));
    let refused = World::worlds_from_snapshot(&file, universe(), &LoadOptions::new()).unwrap_err();
    assert!(
        refused
            .to_string()
            .ends_with("a fragment stands there twice")
    );
}

#[test]
fn a_fragment_without_bytes_and_a_tag_with_some_are_damage() {
    let file = |registered: fn(&FragmentRegistry), world: fn(&mut World)| {
        let universe = Universe::ordered();
        registered(universe.registry());
        let mut of_it = World::of(&std::sync::Arc::new(universe)).unwrap();
        world(&mut of_it);
        of_it.to_snapshot(&SnapshotOptions::new()).unwrap()
    };
    let fragment = file(
        |registry| _ = registry.register_plain::<u8>().unwrap(),
        |world| _ = world.create((1_u8,)).unwrap(),
    );
    let tag = file(
        |registry| _ = registry.register_plain::<()>().unwrap(),
        |world| _ = world.create(((),)).unwrap(),
    );
    for (file, size) in [(fragment, 0_u64), (tag, 1)] {
        let header = Header::read(&file, file.len() as u64).unwrap();
        // Behind the checksum of the versions, how many fragments there are, and what is told of one before its size.
        let at = header.directory as usize + 8 + 4 + 3 + 4;
        assert_eq!(file[at..at + 8], (1 - size).to_le_bytes());
        let mut strange = file.clone();
        strange[at..at + 8].copy_from_slice(&size.to_le_bytes());
        let error = Saved::whole(&sealed(strange, header)).err().unwrap();
        assert!(error.to_string().contains("a tag has none"), "{error}");
    }
}

#[test]
fn a_column_of_written_values_is_as_long_as_their_lengths_say() {
    let universe = || {
        let universe = Universe::ordered();
        let write = |text: &String, bytes: &mut Vec<u8>| bytes.extend(text.as_bytes());
        let read = |bytes: &[u8], _: &EntityMap| String::from_utf8(bytes.to_vec());
        let registered = universe
            .registry()
            .register_written_as::<String, _, _>("text", write, read);
        registered.unwrap();
        universe
    };
    let mut world = World::of(&std::sync::Arc::new(universe())).unwrap();
    let all = ["one", "", "three"].map(|text| world.create((text.to_owned(),)).unwrap());
    let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    let load = |file: &[u8]| World::from_snapshot(file, universe(), &Default::default());
    // Behind the versions of three slots and the handles.
    let (versions, lengths) = (3 * 4, 3 * 4 + 3 * 8);
    let header = Header::read(&file, file.len() as u64).unwrap();
    let with_lengths = |told: [u32; 3]| {
        let (mut file, begin) = (file.clone(), Header::BYTES + lengths);
        assert_eq!(
            file[begin..begin + 12],
            [3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0]
        );
        let told = told.into_iter().flat_map(u32::to_le_bytes);
        file.splice(begin..begin + 12, told);
        let chunk = &file[Header::BYTES + versions..header.directory as usize];
        let checksum = Checksum::of(chunk);
        let at = file.len() - NOTHING - 8;
        file[at..at + 8].copy_from_slice(&checksum.to_le_bytes());
        sealed(file, header)
    };
    let cut = load(&with_lengths([1, 3, 4])).unwrap();
    let texts = all.map(|entity| cut.get::<String>(entity).unwrap().clone());
    assert_eq!(texts, ["o", "net", "hree"]);
    for told in [[3, 0, 4], [3, 0, 6], [u32::MAX; 3], [0, 0, u32::MAX]] {
        let expected = SnapshotError::Damaged {
            what: "the lengths of a fragment's values are not those of its column",
            at: (Header::BYTES + lengths) as u64,
        };
        let strange = with_lengths(told);
        assert_eq!(load(&strange).unwrap_err(), expected, "{told:?}");
        assert_eq!(Saved::whole(&strange).err(), Some(expected), "{told:?}");
    }
    // Before the checksum of the chunk: bytes of the column.
    let at = file.len() - NOTHING - 16;
    assert_eq!(file[at..at + 8], 20_u64.to_le_bytes());
    for bytes in [0, 11, 19, 21, 1 << 40, u64::MAX - 30, u64::MAX] {
        let mut strange = file.clone();
        strange[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
        let strange = sealed(strange, header);
        let refused = load(&strange).unwrap_err();
        assert!(
            matches!(refused, SnapshotError::Damaged { .. }),
            "{bytes}: {refused}"
        );
        assert!(Saved::told(header_of(&strange), &strange[header.directory as usize..]).is_err());
    }
    // Behind the checksum of the versions, and how many fragments there are: its role.
    for role in [1, 2] {
        let mut strange = file.clone();
        strange[header.directory as usize + 12] = role;
        let refused = load(&sealed(strange, header)).unwrap_err().to_string();
        let told = ["a tag has none", "what is written is a fragment"];
        assert!(refused.contains(told[usize::from(role) - 1]), "{refused}");
    }
}

fn header_of(file: &[u8]) -> Header {
    Header::read(file, file.len() as u64).unwrap()
}
