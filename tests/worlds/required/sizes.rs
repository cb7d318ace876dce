//! Values of all sizes and alignments are made for single entities, and come to their rows as they were made.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

use super::{Other, Sprite, record};
use crate::counted::Counted;

/// As large as what lies beside what is said of it, and larger.
struct Large([u8; 64]);
struct Larger([u8; 65]);
/// Small, and aligned as little else is.
#[repr(align(64))]
struct Line(u8);
struct Tag;

fn world(alive: &Arc<AtomicUsize>) -> World {
    let world = World::new();
    let registry = world.registry();
    let counted = Arc::clone(alive);
    let counts = move || (Counted::new(&counted), 9_u8);
    let required = [
        registry.require_with::<Sprite, Large>(|| Large([1; 64])),
        registry.require_with::<Sprite, Larger>(|| Larger([2; 65])),
        registry.require_with::<Sprite, Line>(|| Line(3)),
        registry.require_with::<Sprite, u128>(|| 4 << 100),
        registry.require_with::<Sprite, Tag>(|| Tag),
        registry.require_with::<Sprite, (Counted, u8)>(counts),
        registry.require_with::<Sprite, String>(|| "five".to_owned()),
    ];
    for required in required {
        required.unwrap();
    }
    world
}

type Way = fn(&mut World) -> Entity;

const WAYS: &[(&str, Way)] = &[
    ("create", |world| world.create((Sprite(1),)).unwrap()),
    ("create a batch", |world| {
        let batch = world.create_batch([(Sprite(1),), (Sprite(2),)]).unwrap();
        batch.iter(world).last().unwrap()
    }),
    ("add", |world| {
        let entity = world.create((Other(1),)).unwrap();
        world.add(entity, (Sprite(1),)).unwrap();
        entity
    }),
    ("recorded: create", |world| {
        let mut created = None;
        record(world, |commands| {
            created = Some(commands.create((Sprite(1),)).unwrap());
        });
        created.unwrap()
    }),
    ("recorded: add", |world| {
        let entity = world.create((Other(1),)).unwrap();
        record(world, |commands| {
            commands.add(entity, (Sprite(1),)).unwrap();
        });
        entity
    }),
];

#[test]
fn values_of_each_size_and_alignment_come_as_they_were_made() {
    for &(name, way) in WAYS {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = world(&alive);
        let entity = way(&mut world);
        assert_eq!(world.get::<Large>(entity).unwrap().0, [1; 64], "{name}");
        assert_eq!(world.get::<Larger>(entity).unwrap().0, [2; 65], "{name}");
        assert_eq!(world.get::<Line>(entity).unwrap().0, 3, "{name}");
        assert_eq!(world.get::<u128>(entity), Ok(&(4 << 100)), "{name}");
        assert!(world.has::<Tag>(entity).unwrap(), "{name}");
        assert_eq!(world.get::<(Counted, u8)>(entity).unwrap().1, 9, "{name}");
        assert_eq!(world.get::<String>(entity).unwrap(), "five", "{name}");
        assert_eq!(alive.load(Ordering::Relaxed), world.count(), "{name}");
        world.check().unwrap();
        world.clear();
        assert_eq!(alive.load(Ordering::Relaxed), 0, "{name}");
    }
}
