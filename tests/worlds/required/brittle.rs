//! What is required and cannot be made: a constructor panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::world::Prototype;

use super::{Other, Sprite, Team};
use crate::counted::{Counted, FUSE, burn};

/// A way in which some of these entities, or new ones, come to have a sprite.
type BrittleWay = fn(&mut World, &[Entity]);

/// Ways that are refused, or end, where a value cannot be made.
const BRITTLE: &[(&str, BrittleWay)] = &[
    ("create", |world, _| _ = world.create((Sprite(1),))),
    ("create with shared values", |world, _| {
        _ = world.create((Sprite(1),).shared(Team(1)))
    }),
    ("create a batch", |world, _| {
        _ = world.create_batch((0..5).map(|n| (Sprite(n),))).map(|_| ());
    }),
    ("create by numbers", |world, _| {
        let value = Value::new(world.registry(), Sprite(1)).unwrap();
        _ = world.create_dynamic(value.into());
    }),
    ("copies", |world, _| {
        let value = Value::cloneable(world.registry(), Sprite(1)).unwrap();
        let prototype = Prototype::new(world.registry(), value.into()).unwrap();
        _ = world.create_copies(&prototype, 5).map(|_| ());
    }),
    ("build a copy", |world, _| {
        let value = Value::cloneable(world.registry(), Sprite(1)).unwrap();
        let prototype = Prototype::new(world.registry(), value.into()).unwrap();
        let entity = world.reserve().unwrap();
        let built = catch_unwind(AssertUnwindSafe(|| world.build_copy(entity, &prototype)));
        if let Err(panic) = built {
            world.release(entity).unwrap();
            std::panic::resume_unwind(panic);
        }
    }),
    ("add", |world, others| {
        _ = world.add(others[0], (Sprite(1),))
    }),
    ("add with shared values", |world, others| {
        _ = world.add(others[0], (Sprite(1),).shared(Team(1)));
    }),
    ("swap", |world, others| {
        _ = world.swap::<(Other,), _>(others[0], (Sprite(1),))
    }),
    ("add to a slice", |world, others| {
        _ = world.add_slice(others, |at| (Sprite(at as u32),));
    }),
    ("add to all that match", |world, _| {
        _ = world
            .matching::<With<Other>>()
            .unwrap()
            .add(|_| (Sprite(1),));
    }),
    ("recorded: create", |world, _| {
        let mut commands = world.commands();
        _ = commands.create((Sprite(1),));
        _ = commands
            .create_batch((0..3).map(|n| (Sprite(n),)))
            .map(|_| ());
    }),
    ("recorded: copies", |world, _| {
        let value = Value::cloneable(world.registry(), Sprite(1)).unwrap();
        let prototype = Prototype::new(world.registry(), value.into()).unwrap();
        let mut commands = world.commands();
        _ = commands.create_copies(&prototype, 3).map(|_| ());
    }),
    ("recorded: add", |world, others| {
        let mut commands = world.commands();
        for (&other, n) in others.iter().zip(0..) {
            _ = commands.add(other, (Sprite(n),));
        }
        drop(commands);
        let _ = world.flush();
    }),
    ("recorded: what went before", |world, others| {
        let mut commands = world.commands();
        for &other in others {
            _ = commands.remove::<(Counted,)>(other);
            _ = commands.add(other, (Sprite(1),));
        }
        drop(commands);
        let _ = world.flush();
    }),
];

#[test]
fn a_constructor_that_panics_leaves_the_world_whole_and_each_value_is_dropped_once() {
    for &(name, way) in BRITTLE {
        let mut panics = 0;
        for fuse in 0..30 {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::new();
            let counted = Arc::clone(&alive);
            let made = move || {
                burn();
                Counted::new(&counted)
            };
            world
                .registry()
                .require_with::<Sprite, Counted>(made)
                .unwrap();
            let counted = Arc::clone(&alive);
            let made = move || {
                burn();
                (Counted::new(&counted), 7_u64)
            };
            world
                .registry()
                .require_with::<Sprite, (Counted, u64)>(made)
                .unwrap();
            let batch = world.create_batch((0..7).map(|n| (Other(n),))).unwrap();
            let mut others: Vec<Entity> = batch.iter(&world).collect();
            if name == "recorded: what went before" {
                for &other in &others {
                    world.add(other, (Sprite(0),)).unwrap();
                }
            } else {
                others.push(world.create((Other(7), Counted::new(&alive))).unwrap());
            }
            let before = world.count();
            FUSE.set(fuse);
            let ended = catch_unwind(AssertUnwindSafe(|| way(&mut world, &others)));
            FUSE.set(0);
            panics += usize::from(ended.is_err());
            // What was recorded.
            let _ = world.flush();
            world
                .check()
                .unwrap_or_else(|error| panic!("{name}, {fuse}: {error}"));
            let mut values = 0;
            let mut one = Query::<&Counted>::new(&world).unwrap();
            values += one.on(&mut world).count();
            let mut other = Query::<&(Counted, u64)>::new(&world).unwrap();
            other.on(&mut world).for_each(|(_, seven)| {
                assert_eq!(*seven, 7);
                values += 1;
            });
            assert_eq!(alive.load(Ordering::Relaxed), values, "{name}, {fuse}");
            if ended.is_err() && !name.starts_with("recorded") {
                assert_eq!(world.count(), before, "{name}, {fuse}");
                if fuse <= 2 {
                    let mut sprites = Query::<Entity, With<Sprite>>::new(&world).unwrap();
                    assert_eq!(sprites.on(&mut world).count(), 0, "{name}, {fuse}");
                }
            }
            // It goes on as ever, and who has an owner has what it requires.
            let ant = world.create((Sprite(1),)).unwrap();
            assert!(world.has::<Counted>(ant).unwrap());
            let mut lacking =
                Query::<Entity, (With<Sprite>, Without<(Counted, u64)>)>::new(&world).unwrap();
            assert_eq!(lacking.on(&mut world).count(), 0, "{name}, {fuse}");
            world.clear();
            assert_eq!(alive.load(Ordering::Relaxed), 0, "{name}, {fuse}");
        }
        assert!(panics > 0, "{name}");
    }
}

/// What a constructor holds, whose end panics.
struct Brittle(Arc<AtomicUsize>);

impl Drop for Brittle {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("a captive's end");
    }
}

#[test]
fn what_constructors_hold_ends_with_the_universe_once_each_whoever_met_their_owner() {
    for &(name, way) in BRITTLE {
        let ended = Arc::new(AtomicUsize::new(0));
        let mut world = World::new();
        let held = Brittle(Arc::clone(&ended));
        let made = move || {
            let _ = &held;
            1_u8
        };
        world.registry().require_with::<Sprite, u8>(made).unwrap();
        let held = Brittle(Arc::clone(&ended));
        let made = move || {
            let _ = &held;
            1_u16
        };
        world.registry().require_with::<Sprite, u16>(made).unwrap();
        let batch = world.create_batch((0..7).map(|n| (Other(n),))).unwrap();
        let others: Vec<Entity> = batch.iter(&world).collect();
        way(&mut world, &others);
        assert_eq!(ended.load(Ordering::Relaxed), 0, "{name}");
        // An abort if one ends while the panic of the other is under way.
        let end = catch_unwind(AssertUnwindSafe(|| drop(world)));
        assert!(end.is_err(), "{name}");
        assert_eq!(ended.load(Ordering::Relaxed), 2, "{name}");
    }
}
