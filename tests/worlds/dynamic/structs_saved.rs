//! Structs that are defined at run time, in files: the same as those that are written down, others where fields are others.

use std::sync::Arc;

use megachunk::fragment::{FieldDefinition, Plain, Value};
use megachunk::prelude::*;

use super::structs::{define_nested, part, whole};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Part {
    ends: [Entity; 2],
    closed: bool,
    _padding: [u8; 3],
    width: f32,
}
megachunk::plain!(Part {
    ends,
    closed,
    _padding,
    width
});

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Whole {
    number: u64,
    parts: [Part; 2],
    last: Part,
}
megachunk::plain!(Whole {
    number,
    parts,
    last
});

fn typed() -> Universe {
    let universe = Universe::new();
    universe
        .registry()
        .register_plain_as::<Whole>("whole")
        .unwrap();
    universe
}

fn defined() -> Universe {
    let universe = Universe::new();
    define_nested(universe.registry());
    universe
}

fn wholes(at: Entity) -> (Whole, Vec<u8>) {
    let none = Entity::PLACEHOLDER;
    let one = |ends, closed, width| Part {
        ends,
        closed,
        _padding: [0; 3],
        width,
    };
    let typed = Whole {
        number: 9,
        parts: [one([at, none], true, 0.5), one([none, at], false, 1.5)],
        last: one([at, at], true, 2.5),
    };
    let parts = [
        part([at, none], 1, 0.5),
        part([none, at], 0, 1.5),
        part([at, at], 1, 2.5),
    ];
    (typed, whole(9, parts))
}

#[test]
fn a_struct_that_is_defined_is_the_same_to_a_file_as_one_that_is_written_down() {
    let registry = typed();
    let registry = registry.registry();
    let other = defined();
    let (part, whole) = define_nested(other.registry());
    let infos = [part, whole].map(|id| other.registry().get(id).unwrap());
    assert_eq!(infos.map(|info| info.shape()), [Part::SHAPE, Whole::SHAPE]);
    assert_eq!(infos[1].layout(), registry.find("whole").unwrap().layout());

    let mut by_type = World::of(&Arc::new(typed())).unwrap();
    let ant = by_type.create(()).unwrap();
    let bee = by_type.create((wholes(ant).0,)).unwrap();
    let mut by_name = World::of(&Arc::new(other)).unwrap();
    assert_eq!(by_name.create(()).unwrap(), ant);
    let value = Value::from_bytes(by_name.registry(), whole, &wholes(ant).1).unwrap();
    assert_eq!(by_name.create_dynamic(value.into()).unwrap(), bee);
    assert_eq!(
        by_name.state_hash(&Default::default()).unwrap(),
        by_type.state_hash(&Default::default()).unwrap()
    );

    // Each loads what the other has saved.
    let file = by_type.to_snapshot(&Default::default()).unwrap();
    let universe = defined();
    let whole = universe.registry().find("whole").unwrap().id();
    let loaded = World::from_snapshot(&file, universe, &Default::default()).unwrap();
    let lent = loaded.get_dynamic(bee, whole).unwrap();
    assert_eq!(lent.bytes().unwrap(), wholes(ant).1);
    let file = by_name.to_snapshot(&Default::default()).unwrap();
    let loaded = World::from_snapshot(&file, typed(), &Default::default()).unwrap();
    assert_eq!(loaded.get::<Whole>(bee).unwrap(), &wholes(ant).0);
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        by_name.state_hash(&Default::default()).unwrap()
    );
}

#[test]
fn names_of_fields_that_are_words_of_the_language_are_as_it_writes_them() {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Raw {
        r#type: u8,
    }
    megachunk::plain!(Raw { r#type });
    let registry = FragmentRegistry::new();
    let field = [FieldDefinition::of::<u8>("r#type")];
    let raw = registry.define_struct("raw", &field).unwrap();
    assert_eq!((raw.shape(), raw.fields()[0].name()), (Raw::SHAPE, "type"));
}

#[test]
fn handles_come_with_new_ids() {
    let mut world = World::of(&Arc::new(defined())).unwrap();
    let whole = world.registry().find("whole").unwrap().id();
    let ant = world.create(()).unwrap();
    let value = Value::from_bytes(world.registry(), whole, &wholes(ant).1).unwrap();
    let bee = world.create_dynamic(value.into()).unwrap();
    let file = world.to_snapshot(&Default::default()).unwrap();
    let (copy, come) = World::from_snapshot_remapped(
        &file,
        world.universe(),
        &Default::default(),
        &Default::default(),
    )
    .unwrap();
    let [new_ant, new_bee] = [ant, bee].map(|entity| come.get(entity).unwrap());
    assert_ne!(ant, new_ant);
    let lent = copy.get_dynamic(new_bee, whole).unwrap();
    assert_eq!(lent.bytes().unwrap(), wholes(new_ant).1);
}

/// A file of an entity with a health of these fields, and the entity.
pub(super) fn saved(fields: &[FieldDefinition<'_>], bytes: &[u8]) -> (Vec<u8>, Entity) {
    let mut world = World::new();
    let id = world
        .registry()
        .define_struct("health", fields)
        .unwrap()
        .id();
    let value = Value::from_bytes(world.registry(), id, bytes).unwrap();
    let ant = world.create_dynamic(value.into()).unwrap();
    (world.to_snapshot(&Default::default()).unwrap(), ant)
}

pub(super) fn universe(fields: &[FieldDefinition<'_>]) -> (Universe, FragmentId) {
    let universe = Universe::new();
    let id = universe
        .registry()
        .define_struct("health", fields)
        .unwrap()
        .id();
    (universe, id)
}

pub(super) fn number(name: &str) -> FieldDefinition<'_> {
    FieldDefinition::of::<u32>(name)
}

#[test]
fn other_fields_of_the_same_size_are_refused() {
    let bytes = [7_u32, 100].map(u32::to_ne_bytes).concat();
    let (file, _) = saved(&[number("now"), number("most")], &bytes);
    for fields in [
        vec![number("most"), number("now")],
        vec![number("now"), number("least")],
        vec![number("now"), FieldDefinition::of::<f32>("most")],
        vec![number("both").array(2)],
        // The same fields, and bytes between.
        vec![number("now"), FieldDefinition::of::<u16>("most")],
    ] {
        let refused =
            World::from_snapshot(&file, universe(&fields).0, &Default::default()).unwrap_err();
        assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
    }
    let (same, _) = universe(&[number("now"), number("most")]);
    assert!(World::from_snapshot(&file, same, &Default::default()).is_ok());
}

#[test]
fn bytes_between_fields_belong_to_what_tells_structs_apart() {
    let registry = FragmentRegistry::new();
    let define = |name: &str, fields: &[FieldDefinition<'_>]| {
        let info = registry.define_struct(name, fields).unwrap();
        (info.shape(), info.layout())
    };
    let small = FieldDefinition::of::<u8>("small");
    let gap = define("gap", &[small.clone(), number("large")]);
    let behind = define("behind", &[number("large"), small]);
    assert_eq!(gap.1, behind.1);
    assert_ne!(gap.0, behind.0);

    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Packed {
        small: u8,
        large: u32,
    }
    megachunk::plain!(Packed { small, large });
    assert_ne!(gap.0, Packed::SHAPE);
}
