//! What a query of run time matches, changed as a whole: the same as a typed query does, and as entity by entity.

use std::panic::{AssertUnwindSafe, catch_unwind};

use megachunk::fragment::{DynamicBundle, FragmentError, FragmentId, Value};
use megachunk::observer::Observed;
use megachunk::prelude::*;
use megachunk::query::{DynamicFilter, DynamicQuery, QueryError};
use megachunk::world::{Prototype, Version, WorldError};

use crate::dynamic::{Asleep, Ids, Wet, seen};

/// The usual numbers; what prototypes are made of can be cloned.
fn cloneable(world: &World) -> Ids {
    let ids = Ids::new(world);
    let registry = world.registry();
    registry.register_clone::<u64>().unwrap();
    registry.register_clone::<u8>().unwrap();
    registry.register_clone::<Asleep>().unwrap();
    ids
}

/// A world of three compositions, in chunks of which some are full.
fn crowd() -> (World, Ids) {
    let mut world = World::new();
    let ids = cloneable(&world);
    let _ = world.create_batch((0..9_000_u32).map(|n| (n,))).unwrap();
    let _ = world
        .create_batch((0..5_000_u32).map(|n| (n, Asleep)))
        .unwrap();
    let wet = world.create_batch((0..300_u32).map(|n| (n, Wet, Asleep)));
    for &entity in &wet.unwrap().to_vec(&world)[100..200] {
        world.set_enabled::<Wet>(entity, false).unwrap();
    }
    (world, ids)
}

fn of(world: &World, values: impl IntoIterator<Item = Value>) -> Prototype {
    let values = values
        .into_iter()
        .fold(DynamicBundle::new(), DynamicBundle::with);
    Prototype::new(world.registry(), values).unwrap()
}

fn asleep(world: &World) -> Prototype {
    of(world, [Value::new(world.registry(), Asleep).unwrap()])
}

fn query(world: &World, id: FragmentId) -> DynamicQuery {
    DynamicQuery::builder(world).with(id).build().unwrap()
}

#[test]
fn what_matches_is_destroyed_row_by_row_where_switches_decide() {
    let (mut world, ids) = crowd();
    let mut wet = query(&world, ids.wet);
    assert_eq!(wet.change(&mut world).unwrap().destroy(), 200);
    assert_eq!(wet.change(&mut world).unwrap().destroy(), 0);
    assert_eq!(world.count(), 14_100);
    let mut awake = DynamicQuery::builder(&world)
        .with(ids.number)
        .without(ids.asleep)
        .build()
        .unwrap();
    assert_eq!(awake.change(&mut world).unwrap().destroy(), 9_000);
    assert_eq!(world.count(), 5_100);
    world.check().unwrap();
}

#[test]
fn fragments_come_go_and_are_swapped_as_by_typed_queries() {
    let (mut world, ids) = crowd();
    let (mut typed, _) = crowd();
    let tag = asleep(&world);
    let number = Value::new(world.registry(), 7_u64).unwrap();
    let big = of(
        &world,
        [number, Value::new(world.registry(), 3_u8).unwrap()],
    );

    let mut all = query(&world, ids.number);
    assert_eq!(all.change(&mut world).unwrap().add(&tag).unwrap(), 14_300);
    assert_eq!(
        typed
            .matching::<With<u32>>()
            .unwrap()
            .add(|_| (Asleep,))
            .unwrap(),
        14_300
    );
    assert_eq!(
        world.state_hash(&Default::default()),
        typed.state_hash(&Default::default())
    );

    let change = all.change(&mut world).unwrap();
    assert_eq!(change.swap(&[ids.asleep, ids.heat], &big).unwrap(), 14_300);
    let swapped = typed.matching::<With<u32>>().unwrap();
    assert_eq!(
        swapped.swap::<(Asleep,), _>(|_| (7_u64, 3_u8)).unwrap(),
        14_300
    );
    assert_eq!(
        world.state_hash(&Default::default()),
        typed.state_hash(&Default::default())
    );
    // Values that are there are replaced.
    let eight = of(&world, [Value::new(world.registry(), 8_u64).unwrap()]);
    let change = all.change(&mut world).unwrap();
    assert_eq!(change.swap(&[ids.small], &eight).unwrap(), 14_300);
    let change = all.change(&mut world).unwrap();
    assert_eq!(
        change.swap(&[ids.small], &eight).unwrap(),
        14_300,
        "in place"
    );
    let swapped = typed.matching::<With<u32>>().unwrap();
    assert_eq!(swapped.swap::<(u8,), _>(|_| (8_u64,)).unwrap(), 14_300);
    assert_eq!(
        world.state_hash(&Default::default()),
        typed.state_hash(&Default::default())
    );

    let change = all.change(&mut world).unwrap();
    assert_eq!(
        change.remove(&[ids.wet, ids.big, ids.team]).unwrap(),
        14_300
    );
    let change = all.change(&mut world).unwrap();
    assert_eq!(change.remove(&[ids.big]).unwrap(), 0);
    let removed = typed.matching::<With<u32>>().unwrap();
    assert_eq!(removed.remove::<(Wet, u64)>().unwrap(), 14_300);
    assert_eq!(
        world.state_hash(&Default::default()),
        typed.state_hash(&Default::default())
    );
    world.check().unwrap();
}

#[test]
fn whole_chunks_are_handed_over_where_tags_come() {
    let mut world = World::new();
    let ids = cloneable(&world);
    let _ = world.create_batch((0..40_000_u32).map(|n| (n,))).unwrap();
    let places = |world: &mut World| {
        let mut places = Vec::new();
        let mut all = world.query::<&u32, ()>().unwrap();
        all.for_each_chunk(|_, numbers| places.push(numbers.as_ptr()));
        places.sort_unstable();
        places
    };
    let before = places(&mut world);
    assert!(before.len() > 2);
    let tag = asleep(&world);
    let mut all = query(&world, ids.number);
    assert_eq!(all.change(&mut world).unwrap().add(&tag).unwrap(), 40_000);
    assert_eq!(places(&mut world), before, "nothing was copied");
    let none = of(&world, []);
    let change = all.change(&mut world).unwrap();
    assert_eq!(change.swap(&[ids.asleep], &none).unwrap(), 40_000);
    assert_eq!(places(&mut world), before);
}

#[test]
fn shared_values_and_chunk_fragments_come_too() {
    let (mut world, ids) = crowd();
    let registry = world.registry();
    let team = Value::shared(registry, 5_i16).unwrap();
    let mut all = query(&world, ids.number);
    let come = of(&world, [team]);
    assert_eq!(all.change(&mut world).unwrap().add(&come).unwrap(), 14_300);
    let team = Value::shared(world.registry(), 5_i16).unwrap();
    let run = all.on(&mut world).unwrap();
    assert_eq!(run.sharing(&team).unwrap().count(), 14_300);
    let change = all.change(&mut world).unwrap().sharing(&team).unwrap();
    assert_eq!(change.remove(&[ids.team]).unwrap(), 14_300);
    let change = all.change(&mut world).unwrap().sharing(&team).unwrap();
    assert_eq!(change.destroy(), 0);
    world.check().unwrap();
}

#[test]
fn changes_are_asked_for_once_a_chunk_and_the_call_is_a_run() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let ants: Vec<Entity> = (0..6_u32)
        .map(|n| world.create((n,).shared((n % 3) as i16)).unwrap())
        .collect();
    let mut changed = DynamicQuery::builder(&world)
        .changed(ids.number)
        .build()
        .unwrap();
    assert_eq!(seen(&mut changed, &mut world).len(), 6);
    assert_eq!(changed.change(&mut world).unwrap().destroy(), 0);
    *world.get_mut::<u32>(ants[1]).unwrap() += 1;
    assert_eq!(changed.change(&mut world).unwrap().destroy(), 2);
    assert!(!world.is_built(ants[1]) && !world.is_built(ants[4]) && world.is_built(ants[2]));
    assert_eq!(changed.change(&mut world).unwrap().destroy(), 0);
    let change = changed.change(&mut world).unwrap().since(Version::START);
    let change = change.filter_chunks(|chunk| chunk.shared::<i16>() == Some(&2));
    assert_eq!(change.destroy(), 2);
    assert_eq!(seen(&mut changed, &mut world).len(), 0, "it has run");
    assert_eq!(world.count(), 2);
}

#[test]
fn observers_hear_of_each_once() {
    let (mut world, ids) = crowd();
    #[derive(Default)]
    struct Told {
        came: usize,
        went: usize,
    }
    world.resources_mut().insert(Told::default());
    let any = DynamicFilter::new;
    world
        .observe_dynamic(Observed::COME, ids.asleep, any(), |batch, _| {
            batch.resources_mut().get_mut::<Told>().unwrap().came += batch.len();
        })
        .unwrap();
    world
        .observe_dynamic(Observed::GO, ids.asleep, any(), |batch, _| {
            batch.resources_mut().get_mut::<Told>().unwrap().went += batch.len();
        })
        .unwrap();
    let (tag, none) = (asleep(&world), of(&world, []));
    let told = |world: &World| {
        let told = world.resources().get::<Told>().unwrap();
        (told.came, told.went)
    };
    let mut all = query(&world, ids.number);
    assert_eq!(all.change(&mut world).unwrap().add(&tag).unwrap(), 14_300);
    assert_eq!(told(&world), (9_000, 0));
    let change = all.change(&mut world).unwrap();
    assert_eq!(change.swap(&[ids.asleep], &none).unwrap(), 14_300);
    assert_eq!(told(&world), (9_000, 14_300));
    assert_eq!(all.change(&mut world).unwrap().add(&tag).unwrap(), 14_300);
    assert_eq!(
        all.change(&mut world)
            .unwrap()
            .remove(&[ids.asleep])
            .unwrap(),
        14_300
    );
    assert_eq!(told(&world), (23_300, 28_600));
    world.check().unwrap();
}

#[test]
fn what_is_refused_changes_nothing() {
    let (mut world, ids) = crowd();
    let hash = world.state_hash(&Default::default());
    let mut other = World::new();
    cloneable(&other);
    let stranger = of(&other, [Value::new(other.registry(), 1_u8).unwrap()]);
    let mut all = query(&world, ids.number);
    assert!(matches!(
        all.change(&mut other).map(drop),
        Err(QueryError::OtherUniverse)
    ));
    let change = all.change(&mut world).unwrap();
    assert_eq!(change.add(&stranger), Err(WorldError::OtherUniverse));
    let change = all.change(&mut world).unwrap();
    assert!(matches!(
        change.remove(&[ids.asleep, ids.asleep]),
        Err(WorldError::Fragment(FragmentError::Twice { .. }))
    ));
    let tag = asleep(&world);
    let change = all.change(&mut world).unwrap();
    assert!(matches!(
        change.swap(&[ids.big, ids.big], &tag),
        Err(WorldError::Fragment(FragmentError::Twice { .. }))
    ));
    let value = Value::new(world.registry(), 1_u8).unwrap();
    let change = all.change(&mut world).unwrap();
    assert!(matches!(
        change.sharing(&value).map(drop),
        Err(QueryError::Fragment(FragmentError::WrongKind { .. }))
    ));
    assert_eq!(world.state_hash(&Default::default()), hash);
    // Another value of a const shared fragment is refused of whom it is to be given.
    let flag = |world: &World, flag: bool| {
        of(
            world,
            [Value::const_shared(world.registry(), flag).unwrap()],
        )
    };
    let (yes, no) = (flag(&world, true), flag(&world, false));
    assert_eq!(all.change(&mut world).unwrap().add(&yes).unwrap(), 14_300);
    assert!(all.change(&mut world).unwrap().add(&no).is_err());
    world.check().unwrap();
}

#[test]
fn panics_of_users_code_leave_the_world_whole() {
    /// Its clones panic from the `n`th on.
    struct Brittle(std::sync::Arc<std::sync::atomic::AtomicU32>);
    impl Clone for Brittle {
        fn clone(&self) -> Self {
            use std::sync::atomic::Ordering::Relaxed;
            assert!(self.0.fetch_sub(1, Relaxed) > 1, "it breaks");
            Self(self.0.clone())
        }
    }
    let (mut world, ids) = crowd();
    let left = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(6_000));
    world.registry().register_clone::<Brittle>().unwrap();
    let value = Value::new(world.registry(), Brittle(left.clone())).unwrap();
    let come = of(&world, [value]);
    let mut all = query(&world, ids.number);
    let added = catch_unwind(AssertUnwindSafe(|| {
        all.change(&mut world).unwrap().add(&come)
    }));
    assert!(added.is_err());
    world.check().unwrap();
    let have = world.query::<Entity, With<Brittle>>().unwrap().count();
    assert!(
        (1..6_000).contains(&have) && world.count() == 14_300,
        "{have}"
    );
    // Each clone is one that an entity has.
    assert_eq!(std::sync::Arc::strong_count(&left), have + 2);
    let change = all.change(&mut world).unwrap();
    let filtered = change.filter_chunks(|_| panic!("no filter"));
    assert!(catch_unwind(AssertUnwindSafe(|| filtered.destroy())).is_err());
    world.check().unwrap();
    assert_eq!(all.change(&mut world).unwrap().destroy(), 14_300);
    drop(come);
    assert_eq!(std::sync::Arc::strong_count(&left), 1);
}
