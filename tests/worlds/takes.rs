//! Values that leave the world for who asks for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use megachunk::fragment::{FragmentError, WithShared};
use megachunk::prelude::*;
use megachunk::world::Lack;

/// Counts its owners.
#[derive(Debug)]
struct Held(#[expect(dead_code, reason = "owned, not read")] Arc<()>);
#[derive(Debug, PartialEq)]
struct Load(u64);
#[derive(Debug)]
struct Tag;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);

/// A tag that must be dropped.
struct Seal;

static SEALS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

impl Drop for Seal {
    fn drop(&mut self) {
        SEALS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn what_is_taken_is_dropped_by_who_has_it() {
    let owners = Arc::new(());
    let mut world = World::new();
    let held = |_| (Held(Arc::clone(&owners)), Load(7));
    let all = world.create_batch((0..100).map(held)).unwrap();
    let all: Vec<Entity> = all.iter(&world).collect();
    let taken: Vec<(Held,)> = (all.iter().step_by(3))
        .map(|&entity| world.take(entity).unwrap())
        .collect();
    assert_eq!(Arc::strong_count(&owners), 101);
    drop(taken);
    assert_eq!(Arc::strong_count(&owners), 101 - 34);
    assert_eq!(world.get::<Load>(all[3]).ok(), Some(&Load(7)));
    assert!(!world.has::<Held>(all[3]).unwrap() && world.has::<Held>(all[4]).unwrap());
    world.check().unwrap();
    drop(world);
    assert_eq!(Arc::strong_count(&owners), 1);
}

#[test]
fn a_tag_that_must_be_dropped_is_dropped_once() {
    let mut world = World::new();
    let entity = world.create((Seal, Load(1))).unwrap();
    let (seal, load) = world.take::<(Seal, Load)>(entity).unwrap();
    let dropped = || SEALS.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!((load, dropped()), (Load(1), 0));
    drop(world);
    assert_eq!(dropped(), 0);
    drop(seal);
    assert_eq!(dropped(), 1);
}

#[test]
fn all_is_taken_or_nothing() {
    let owners = Arc::new(());
    let mut world = World::new();
    let bundle = (Held(Arc::clone(&owners)), Tag).shared(Team(3));
    let entity = world.create(bundle).unwrap();
    let missing = world.take::<(Held, Load)>(entity).unwrap_err();
    assert!(missing.to_string().ends_with("takes::Load"), "{missing}");
    // It is there, but belongs to many.
    match world.take::<(Held, Team)>(entity).unwrap_err() {
        WorldError::Missing { name, lack, .. } => {
            assert!(name.ends_with("takes::Team"), "{name}");
            assert!(matches!(lack, Lack::Role(_)));
        }
        error => panic!("{error}"),
    }
    let twice = world.take::<(Tag, Tag)>(entity).map(drop);
    assert!(
        matches!(
            twice,
            Err(WorldError::Fragment(FragmentError::Twice { .. }))
        ),
        "{twice:?}"
    );
    assert_eq!(Arc::strong_count(&owners), 2);
    let (_, Tag) = world.take::<(Held, Tag)>(entity).unwrap();
    assert_eq!(Arc::strong_count(&owners), 1);
    assert_eq!(world.shared::<Team>(entity).ok(), Some(&Team(3)));
    assert!(world.remove::<WithShared<(), Team>>(entity).unwrap());
    world.destroy(entity).unwrap();
    let dead = world.take::<(Tag,)>(entity).map(drop);
    assert!(matches!(dead, Err(WorldError::Entity(_))), "{dead:?}");
    world.check().unwrap();
}

#[test]
fn an_entity_that_loses_its_last_fragment_lives_and_keeps_its_name() {
    let mut world = World::new();
    let entity = world.create((Load(5),)).unwrap();
    world.set_name(entity, "porter").unwrap();
    let mut view = world.entity_mut(entity).unwrap();
    assert_eq!(view.take::<(Load,)>().unwrap(), (Load(5),));
    assert_eq!(world.name(entity).unwrap(), Some("porter"));
    assert_eq!(world.fragments(entity).unwrap().count(), 0);
    world.add(entity, (Load(6),)).unwrap();
    assert_eq!(world.get::<Load>(entity).ok(), Some(&Load(6)));
}

#[test]
fn who_listens_sees_what_is_taken_in_its_place() {
    let mut world = World::new();
    let entity = world.create((Load(5), Tag)).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mine = Arc::clone(&seen);
    world
        .observe::<Load, ()>(Observed::REMOVE, move |batch, _| {
            let mut seen = mine.lock().unwrap();
            batch.for_each::<&Load>(|load| seen.push(load.0)).unwrap();
        })
        .unwrap();
    assert_eq!(world.take::<(Load,)>(entity).unwrap(), (Load(5),));
    assert_eq!(*seen.lock().unwrap(), [5]);
    // Nothing goes, nothing is told.
    let missing = world.take::<(Load,)>(entity).map(drop);
    assert!(
        matches!(missing, Err(WorldError::Missing { .. })),
        "{missing:?}"
    );
    assert_eq!(*seen.lock().unwrap(), [5]);
}

#[test]
fn if_who_listens_panics_the_values_are_dropped_once() {
    let owners = Arc::new(());
    let mut world = World::new();
    let entity = world
        .create((Held(Arc::clone(&owners)), Load(1), Tag))
        .unwrap();
    world
        .observe::<Load, ()>(Observed::REMOVE, |_, _| panic!("an observer"))
        .unwrap();
    let taken = catch_unwind(AssertUnwindSafe(|| world.take::<(Load, Held)>(entity)));
    assert!(taken.is_err());
    assert_eq!(Arc::strong_count(&owners), 1);
    assert!(world.has::<Tag>(entity).unwrap() && !world.has::<Load>(entity).unwrap());
    world.check().unwrap();
}

#[test]
fn sixteen_are_taken_from_chunks_that_change_their_cut() {
    struct Part<const AT: u32>(u32);
    macro_rules! parts {
        ($($name:ident $at:literal),*) => {
            type All = ($(Part<$at>,)*);
            /// Sixteen fragments from a number on.
            fn from(n: u32) -> All {
                ($(Part::<$at>(n + $at),)*)
            }
            /// Their numbers.
            fn numbers(($($name,)*): All) -> Vec<u32> {
                vec![$($name.0),*]
            }
        };
    }
    parts!(a 0, b 1, c 2, d 3, e 4, f 5, g 6, h 7, i 8, j 9, k 10, l 11, m 12, n 13, o 14, p 15);
    let mut world = World::new();
    let all: Vec<Entity> = (0..2_000).map(|n| world.create(from(n)).unwrap()).collect();
    // Chunks stay as they are when a small fragment comes to all.
    world
        .matching::<With<Part<0>>>()
        .unwrap()
        .add(|_| (7_u8,))
        .unwrap();
    for (n, &entity) in all.iter().enumerate().rev() {
        let taken = numbers(world.take::<All>(entity).unwrap());
        assert_eq!(taken, (n as u32..).take(16).collect::<Vec<_>>());
    }
    assert!(all.iter().all(|&e| world.get::<u8>(e).ok() == Some(&7)));
    world.check().unwrap();
}
