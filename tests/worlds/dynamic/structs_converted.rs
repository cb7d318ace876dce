//! Fragments that are defined at run time, made of bytes that a file has and that were laid out in another way.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::fragment::{FieldDefinition, FragmentError, Value};
use megachunk::prelude::*;

use super::structs::bytes_of;
use super::structs_saved::{number, saved, universe};

#[test]
fn bytes_become_what_a_script_has_now() {
    let bytes = [7_u32, 100].map(u32::to_ne_bytes).concat();
    let (file, ant) = saved(&[number("now"), number("most")], &bytes);
    let options =
        LoadOptions::new().convert_bytes("health", Layout::new::<[u32; 2]>(), |old, new| {
            assert!(new.iter().all(|&byte| byte == 0));
            // They change places, and there is a flag behind them.
            new[..4].copy_from_slice(&old[4..]);
            new[4..8].copy_from_slice(&old[..4]);
            new[8] = 1;
        });
    let now = [
        number("most"),
        number("now"),
        FieldDefinition::of::<bool>("heals"),
    ];
    let (here, id) = universe(&now);
    let world = World::from_snapshot(&file, here, &options).unwrap();
    let expected = [
        &100_u32.to_ne_bytes()[..],
        &7_u32.to_ne_bytes(),
        &[1, 0, 0, 0],
    ]
    .concat();
    assert_eq!(
        world.get_dynamic(ant, id).unwrap().bytes().unwrap(),
        expected
    );
    world.check().unwrap();
    // What is saved now is not converted again, nor is what was laid out otherwise.
    let again = world.to_snapshot(&Default::default()).unwrap();
    let world = World::from_snapshot(&again, universe(&now).0, &options).unwrap();
    assert_eq!(world.state_hash(&Default::default()).unwrap(), {
        let loaded = World::from_snapshot(&again, universe(&now).0, &Default::default()).unwrap();
        loaded.state_hash(&Default::default()).unwrap()
    });
    let (file, _) = saved(&[FieldDefinition::of::<u16>("now")], &[7, 0]);
    let refused = World::from_snapshot(&file, universe(&now).0, &options).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
}

#[test]
fn those_of_one_size_are_told_apart_by_their_fields_and_converted() {
    let bytes = [7_u32, 100].map(u32::to_ne_bytes).concat();
    let (file, ant) = saved(&[number("now"), number("most")], &bytes);
    let turned = [number("most"), number("now")];
    let turn = |old: &[u8], new: &mut [u8]| {
        new.copy_from_slice(old);
        new.rotate_left(4);
    };
    let options = LoadOptions::new().convert_bytes("health", Layout::new::<[u32; 2]>(), turn);
    let (here, id) = universe(&turned);
    let world = World::from_snapshot(&file, here, &options).unwrap();
    let expected = [100_u32, 7].map(u32::to_ne_bytes).concat();
    assert_eq!(
        world.get_dynamic(ant, id).unwrap().bytes().unwrap(),
        expected
    );
    let again = world.to_snapshot(&Default::default()).unwrap();
    let world = World::from_snapshot(&again, universe(&turned).0, &options).unwrap();
    assert_eq!(
        world.get_dynamic(ant, id).unwrap().bytes().unwrap(),
        expected
    );
}

#[test]
fn what_was_defined_by_its_layout_is_converted_to_what_is() {
    let mut then = World::new();
    let five = Layout::from_size_align(5, 4).unwrap();
    let id = then.registry().define_plain("health", five).unwrap().id();
    let all: Vec<Entity> = (0..3_000_u32)
        .map(|n| {
            let bytes = [n, 0].map(u32::to_ne_bytes).concat();
            let value = Value::from_bytes(then.registry(), id, &bytes).unwrap();
            then.create_dynamic(value.into()).unwrap()
        })
        .collect();
    let file = then.to_snapshot(&Default::default()).unwrap();
    let options = LoadOptions::new().convert_bytes("health", five, |old, new| {
        new.copy_from_slice(&old[..4]);
    });
    let universe = Universe::new();
    let number = Layout::new::<u32>();
    let id = universe
        .registry()
        .define_plain("health", number)
        .unwrap()
        .id();
    let world = World::from_snapshot(&file, universe, &options).unwrap();
    for (n, &entity) in (0_u32..).zip(&all) {
        let lent = world.get_dynamic(entity, id).unwrap();
        assert_eq!(lent.plain::<u32>().unwrap(), [n]);
    }
    // A fragment of a type is for `convert`.
    let universe = Universe::new();
    universe
        .registry()
        .register_plain_as::<u32>("health")
        .unwrap();
    let refused = World::from_snapshot(&file, universe, &options).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
}

#[test]
fn what_is_made_of_bytes_is_asked_whether_it_is_a_value() {
    let (file, ant) = saved(&[FieldDefinition::of::<u8>("awake")], &[2]);
    let options = |convert: fn(&[u8], &mut [u8])| {
        LoadOptions::new().convert_bytes("health", Layout::new::<u8>(), convert)
    };
    let now = [FieldDefinition::of::<bool>("awake")];
    let copied = options(|old, new| new.copy_from_slice(old));
    let refused = World::from_snapshot(&file, universe(&now).0, &copied).unwrap_err();
    let SnapshotError::NotAValue { name, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(**name, *"health");
    assert!(refused.to_string().ends_with("are no health"), "{refused}");
    let (here, id) = universe(&now);
    let asked = options(|old, new| new[0] = u8::from(old[0] != 0));
    let world = World::from_snapshot(&file, here, &asked).unwrap();
    assert_eq!(world.get_dynamic(ant, id).unwrap().bytes().unwrap(), [1]);
    // Who panics leaves no world behind.
    let here = Arc::new(universe(&now).0);
    let panics = options(|_, _| panic!("it cannot"));
    let load = || World::from_snapshot_remapped(&file, &here, &Default::default(), &panics);
    catch_unwind(AssertUnwindSafe(load)).map(drop).unwrap_err();
    here.check([]).unwrap();
}

#[test]
fn handles_that_are_made_of_bytes_come_with_new_ids() {
    let mut then = World::new();
    let fields = [FieldDefinition::of::<Entity>("whom")];
    let id = then
        .registry()
        .define_struct("health", &fields)
        .unwrap()
        .id();
    let ant = then.create(()).unwrap();
    let value = Value::from_bytes(then.registry(), id, &bytes_of(ant)).unwrap();
    let bee = then.create_dynamic(value.into()).unwrap();
    let file = then.to_snapshot(&Default::default()).unwrap();
    let options =
        LoadOptions::new().convert_bytes("health", Layout::new::<Entity>(), |old, new| {
            new[8..].copy_from_slice(old);
            new[..8].copy_from_slice(old);
        });
    let (here, id) = universe(&[FieldDefinition::of::<Entity>("whom").array(2)]);
    let here = Arc::new(here);
    // Whoever is there already takes the ids that those of the file had.
    let mut world = World::of(&here).unwrap();
    let others = world.create_batch([(); 10].map(|()| ())).unwrap().len();
    assert_eq!(others, 10);
    let (copy, come) =
        World::from_snapshot_remapped(&file, &here, &Default::default(), &options).unwrap();
    let [new_ant, new_bee] = [ant, bee].map(|entity| come.get(entity).unwrap());
    let expected = [bytes_of(new_ant); 2].concat();
    assert_eq!(
        copy.get_dynamic(new_bee, id).unwrap().bytes().unwrap(),
        expected
    );
    // Values of a file are bytes, and stay handles: none is made of others.
    let refused = Value::from_bytes(copy.registry(), id, &[0; 16]).unwrap_err();
    assert!(matches!(refused, FragmentError::NotAValue { .. }));
}

#[test]
fn of_two_versions_that_were_laid_out_alike_each_has_its_conversion() {
    let v1 = [number("now"), number("most")];
    let v2 = [number("most"), number("now")];
    let v3 = [
        number("now"),
        number("most"),
        FieldDefinition::of::<bool>("heals"),
    ];
    let of = |fields: &[FieldDefinition<'_>]| {
        let registry = FragmentRegistry::new();
        let info = registry.define_struct("once", fields).unwrap();
        (info.layout(), info.shape())
    };
    let ((layout, of_v1), (same, of_v2), (_, of_v3)) = (of(&v1), of(&v2), of(&v3));
    assert!(layout == same && of_v1 != of_v2);
    let from_v1 = |old: &[u8], new: &mut [u8]| new[..8].copy_from_slice(old);
    let from_v2 = |old: &[u8], new: &mut [u8]| {
        new[..8].copy_from_slice(old);
        new[..8].rotate_left(4);
    };
    let bytes = |all: [u32; 2]| all.map(u32::to_ne_bytes).concat();
    let old = saved(&v1, &bytes([7, 100]));
    let newer = saved(&v2, &bytes([100, 7]));
    // Who is refused is told which one the file has.
    for ((file, _), shape) in [(&old, of_v1), (&newer, of_v2)] {
        let refused = World::from_snapshot(file, universe(&v3).0, &Default::default()).unwrap_err();
        let told = refused.to_string();
        assert!(
            told.contains("`LoadOptions::convert`, or `convert_bytes`"),
            "{told}"
        );
        let SnapshotError::Layout { fragments, .. } = refused else {
            panic!("{told}");
        };
        let changed = &fragments[0];
        assert_eq!((changed.saved_shape, changed.shape), (shape, of_v3));
        assert_eq!(changed.saved_size, layout.size() as u64);
    }
    let expected = [&bytes([7, 100])[..], &[0; 4]].concat();
    let shaped = || {
        LoadOptions::new()
            .convert_bytes_shaped("health", layout, of_v1, from_v1)
            .convert_bytes_shaped("health", layout, of_v2, from_v2)
    };
    // The one without a shape stands first, and is for what is left.
    let behind = LoadOptions::new()
        .convert_bytes("health", layout, from_v1)
        .convert_bytes_shaped("health", layout, of_v2, from_v2);
    for options in [shaped(), behind] {
        for (file, ant) in [&old, &newer] {
            let (here, id) = universe(&v3);
            let world = World::from_snapshot(file, here, &options).unwrap();
            let lent = world.get_dynamic(*ant, id).unwrap();
            assert_eq!(lent.bytes().unwrap(), expected);
        }
    }
    // What is of another shape is for none of them, nor what is that of today.
    let (other, _) = saved(&[number("now"), number("least")], &bytes([7, 1]));
    let refused = World::from_snapshot(&other, universe(&v3).0, &shaped()).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
    let (file, ant) = &old;
    let (here, id) = universe(&v1);
    let world = World::from_snapshot(file, here, &shaped()).unwrap();
    let lent = world.get_dynamic(*ant, id).unwrap();
    assert_eq!(lent.bytes().unwrap(), bytes([7, 100]));
}
