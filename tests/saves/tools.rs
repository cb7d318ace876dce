//! Tools, which open a file whose types they do not have, and save it again.

use core::alloc::Layout;
use std::sync::Arc;

use megachunk::fragment::{FragmentKind, Plain};
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotSummary};

use crate::bytes;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Health {
    now: u32,
    most: u32,
}
megachunk::plain!(Health { now, most });

/// What it is next year.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Turned {
    most: u32,
    now: u32,
}
megachunk::plain!(Turned { most, now });

/// The file, opened and saved by who has read of its fragments in an error.
fn through_a_tool(file: &[u8]) -> Vec<u8> {
    let universe = Universe::new();
    let refused = World::from_snapshot(file, Universe::new(), &Default::default()).unwrap_err();
    let SnapshotError::Unregistered { fragments, .. } = refused else {
        panic!("{refused}");
    };
    for missing in &fragments {
        let layout = Layout::from_size_align(missing.size as usize, missing.align as usize);
        assert!(matches!(
            missing.kind,
            FragmentKind::Fragment | FragmentKind::Tag
        ));
        let registry = universe.registry();
        let defined = registry.define_plain_shaped(&missing.name, layout.unwrap(), missing.shape);
        assert_eq!(defined.unwrap().shape(), missing.shape);
    }
    bytes(&World::from_snapshot(file, universe, &Default::default()).unwrap())
}

fn registered<T: Plain>() -> Universe {
    let universe = Universe::new();
    universe
        .registry()
        .register_plain_as::<T>("health")
        .unwrap();
    universe
}

#[test]
fn a_tool_does_not_take_the_shapes_out_of_a_file() {
    let mut world = World::of(&Arc::new(registered::<Health>())).unwrap();
    let ant = world.create((Health { now: 7, most: 9 },)).unwrap();
    let file = bytes(&world);
    let again = through_a_tool(&file);
    assert_eq!(again, file);
    assert_eq!(
        SnapshotSummary::of(&again).unwrap().fragments[0].shape,
        Health::SHAPE
    );
    let loaded = World::from_snapshot(&again, registered::<Health>(), &Default::default()).unwrap();
    assert_eq!(loaded.get::<Health>(ant).unwrap().now, 7);
    let refused =
        World::from_snapshot(&again, registered::<Turned>(), &Default::default()).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
}

#[test]
fn a_tool_refuses_a_file_with_another_shape() {
    let mut world = World::of(&Arc::new(registered::<Turned>())).unwrap();
    world.create((Turned { now: 7, most: 9 },)).unwrap();
    let universe = Universe::new();
    let registry = universe.registry();
    let layout = Layout::new::<Health>();
    registry
        .define_plain_shaped("health", layout, Health::SHAPE)
        .unwrap();
    assert!(registry.define_plain_shaped("health", layout, 0).is_err());
    assert!(registry.define_plain_shaped("", layout, 0).is_err());
    let refused = World::from_snapshot(&bytes(&world), universe, &Default::default()).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
}
