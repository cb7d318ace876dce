//! How a type is saved is said once, and a file that has it otherwise is refused.

use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::fragment::{FragmentError, FragmentKind, FragmentRegistry};
use megachunk::prelude::*;
use megachunk::world::SnapshotError;

use crate::written::all;
use crate::written::forms::{
    Name, Order, Pack, filled, read_name, read_order, universe, write_name, write_order,
};

#[test]
fn what_is_plain_in_a_file_and_written_here_or_the_other_way_round_is_an_error_that_says_so() {
    let plain = Universe::ordered();
    plain.registry().register_plain_as::<u32>("name").unwrap();
    let mut world = World::of(&Arc::new(plain)).unwrap();
    let ant = world.create((7_u32,)).unwrap();
    let was_plain = world.to_snapshot(&all()).unwrap();
    let (written, entities) = filled(3);
    let was_written = written.to_snapshot(&all()).unwrap();
    let also_plain = || {
        let universe = Universe::ordered();
        universe
            .registry()
            .register_plain_as::<u64>("name")
            .unwrap();
        universe
            .registry()
            .register_plain_as::<u32>("health")
            .unwrap();
        universe
            .registry()
            .register_written_as::<Order, _, _>("order", write_order, read_order)
            .unwrap();
        let pack = |bytes: &[u8], _: &EntityMap| {
            Ok::<_, &str>(Pack(vec![(String::new(), bytes.len() as u32)]))
        };
        universe
            .registry()
            .register_written_as::<Pack, _, _>("pack", |_: &Pack, _| {}, pack)
            .unwrap();
        universe
    };
    for (file, universe, told) in [
        (
            &was_plain,
            universe(),
            "name is plain data in the snapshot, and written here: ",
        ),
        (
            &was_written,
            also_plain(),
            "name is written in the snapshot, and plain data here: ",
        ),
    ] {
        let refused = World::from_snapshot(file, universe, &Default::default()).unwrap_err();
        assert!(
            matches!(refused, SnapshotError::WrittenOtherwise { .. }),
            "{refused}"
        );
        assert!(refused.to_string().starts_with(told), "{refused}");
    }
    // Left out, the rest comes.
    let without = LoadOptions::new().skip("name");
    let rest = World::from_snapshot(&was_written, also_plain(), &without).unwrap();
    assert_eq!(rest.get::<u32>(entities[1]).unwrap(), &1);
    // What it was is registered by its name, and becomes what it is.
    let renamed = Universe::ordered();
    renamed.registry().register_plain_as::<u32>("name").unwrap();
    renamed
        .registry()
        .register_written_as::<Name, _, _>("name.2", write_name, read_name)
        .unwrap();
    let mut come = World::from_snapshot(&was_plain, renamed, &Default::default()).unwrap();
    let mut old = Query::<&u32>::new(&come).unwrap();
    old.change(&mut come)
        .swap::<(u32,), _>(|number| (Name(number.to_string()),))
        .unwrap();
    assert_eq!(come.get::<Name>(ant).unwrap().0, "7");
    // Nobody knows it.
    let refused =
        World::from_snapshot(&was_written, Universe::new(), &Default::default()).unwrap_err();
    let SnapshotError::Unregistered { fragments, .. } = &refused else {
        panic!("{refused}");
    };
    let name = fragments
        .iter()
        .find(|missing| &*missing.name == "name")
        .unwrap();
    assert!(name.is_written, "{name:?}");
    assert!(
        refused
            .to_string()
            .contains("a fragment name, which is written"),
        "{refused}"
    );
}

#[test]
fn the_first_that_is_said_of_how_a_type_is_saved_stays() {
    let registry = FragmentRegistry::new();
    registry.register_plain_as::<u32>("number").unwrap();
    let write = |number: &u32, bytes: &mut Vec<u8>| bytes.extend(number.to_le_bytes());
    let read = |bytes: &[u8], _: &EntityMap| bytes.try_into().map(u32::from_le_bytes);
    let refused = registry
        .register_written_as::<u32, _, _>("number", write, read)
        .unwrap_err();
    let told = "number is registered already, as plain data: that stays";
    assert_eq!(refused.to_string(), told);
    let other = FragmentRegistry::new();
    let id = other
        .register_written_as::<u32, _, _>("number", write, read)
        .unwrap()
        .id();
    assert_eq!(
        other
            .register_written_as::<u32, _, _>("number", write, read)
            .unwrap()
            .id(),
        id
    );
    let refused = other.register_plain::<u32>().unwrap_err();
    assert!(
        matches!(
            refused,
            FragmentError::SavedOtherwise {
                is_plain: false,
                ..
            }
        ),
        "{refused}"
    );
    let info = other.of::<u32>().unwrap();
    // Nothing has come of what was refused.
    assert!(info.is_written() && info.clone_value().is_none());
    let refused = other
        .register_written_as::<u32, _, _>("other", write, read)
        .unwrap_err();
    assert!(
        matches!(refused, FragmentError::NamedOtherwise { .. }),
        "{refused}"
    );

    struct Tag;
    let nothing = |_: &[u8], _: &EntityMap| Ok::<_, &str>(Tag);
    let refused = registry
        .register_written_as::<Tag, _, _>("tag", |_: &Tag, _| {}, nothing)
        .unwrap_err();
    assert!(
        matches!(
            refused,
            FragmentError::WrongKind {
                is: FragmentKind::Tag,
                ..
            }
        ),
        "{refused}"
    );
}
