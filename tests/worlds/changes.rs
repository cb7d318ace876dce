//! Everything that a query matches, and slices of neighbours, change at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Position(f32, f32);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wide([u64; 12]);
#[derive(Debug, PartialEq)]
struct Name(String);
struct Asleep;
struct Awake;
#[derive(Debug, PartialEq, Eq, Hash)]
struct Team(u8);

/// Counts its drops; panics at the drop if it is told to.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) drops: Arc<AtomicUsize>,
    pub(crate) bomb: bool,
}

impl Counted {
    pub(crate) fn new(drops: &Arc<AtomicUsize>) -> Self {
        let drops = Arc::clone(drops);
        Self { drops, bomb: false }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
        assert!(!self.bomb, "a bomb was dropped");
    }
}

fn ants(world: &mut World, count: usize) -> Vec<Entity> {
    let bundles = (0..count).map(|n| (Position(n as f32, 0.0), Name(n.to_string())));
    let batch = world.create_batch(bundles).unwrap();
    batch.iter(world).collect()
}

/// Every ant has its own position and name, wherever it lies.
fn check_ants(world: &World, ants: &[Entity]) {
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.get::<Position>(ant).unwrap().0, n as f32);
        assert_eq!(world.get::<Name>(ant).unwrap().0, n.to_string());
    }
}

#[test]
fn everything_that_matches_gets_fragments_and_loses_them() {
    let mut world = World::new();
    let ants = ants(&mut world, 10_000);
    let others: Vec<Entity> = (0..100).map(|n| world.create((n,)).unwrap()).collect();
    let mut query = Query::<(Entity, &Position), With<Name>>::new(&world).unwrap();
    let changed = query
        .change(&mut world)
        .add(|(_, position)| (position.0 as u64, Wide([7; 12])))
        .unwrap();
    assert_eq!(changed, 10_000);
    check_ants(&world, &ants);
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.get::<u64>(ant).unwrap(), &(n as u64));
    }
    assert!(
        others
            .iter()
            .all(|&other| !world.has::<u64>(other).unwrap())
    );
    // Again: they have it, and stay where they are.
    assert_eq!(query.change(&mut world).add(|_| (1_u64,)).unwrap(), 10_000);
    assert!(ants.iter().all(|&ant| world.get::<u64>(ant).unwrap() == &1));
    assert_eq!(
        query.change(&mut world).remove::<(u64, Wide)>().unwrap(),
        10_000
    );
    assert_eq!(query.change(&mut world).remove::<(u64, Wide)>().unwrap(), 0);
    check_ants(&world, &ants);
    assert_eq!(world.count(), 10_100);
    assert_eq!(query.change(&mut world).destroy(), 10_000);
    assert_eq!((world.count(), world.universe().count()), (100, 100));
    assert!(ants.iter().all(|&ant| !world.exists(ant)));
}

#[test]
fn an_entity_that_comes_to_an_archetype_that_matches_is_changed_once() {
    let mut world = World::new();
    for n in 0..1_000_u32 {
        match n % 3 {
            0 => world.create((n,)).unwrap(),
            1 => world.create((n, 0_u8)).unwrap(),
            _ => world.create((n, 0_u8, 0_u16)).unwrap(),
        };
    }
    let mut calls = 0;
    let changed = world.matching::<With<u32>>().unwrap().add(|_| {
        calls += 1;
        (1_u8,)
    });
    assert_eq!((changed.unwrap(), calls), (1_000, 1_000));
    let all_one = world
        .query::<&u8, ()>()
        .unwrap()
        .iter()
        .all(|&byte| byte == 1);
    assert!(all_one);
}

#[test]
fn a_tag_or_shared_change_of_a_whole_chunk_moves_the_chunk_and_not_its_entities() {
    let mut world = World::new();
    let ants = ants(&mut world, 10_000);
    let addresses = |world: &World| -> Vec<*const Position> {
        let address = |&ant| core::ptr::from_ref(world.get::<Position>(ant).unwrap());
        ants.iter().map(address).collect()
    };
    let before = addresses(&world);
    assert_eq!(
        world
            .matching::<With<Name>>()
            .unwrap()
            .add(|_| (Asleep,))
            .unwrap(),
        10_000
    );
    let swapped = world
        .matching::<With<Asleep>>()
        .unwrap()
        .swap::<(Asleep,), _>(|_| (Awake,));
    assert_eq!(swapped.unwrap(), 10_000);
    assert!(ants.iter().all(|&ant| world.has::<Awake>(ant).unwrap()));
    assert_eq!(
        world
            .matching::<With<Awake>>()
            .unwrap()
            .set_shared(Team(1))
            .unwrap(),
        10_000
    );
    let team = world.matching::<With<Awake>>().unwrap().sharing(&Team(1));
    assert_eq!(team.set_shared(Team(2)).unwrap(), 10_000);
    assert!(
        ants.iter()
            .all(|&ant| world.shared::<Team>(ant).unwrap() == &Team(2))
    );
    assert_eq!(
        world
            .matching::<With<Awake>>()
            .unwrap()
            .remove::<(Awake,)>()
            .unwrap(),
        10_000
    );
    // All but those of the last chunk, which may have been poured into another.
    let after = addresses(&world);
    let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(moved < 1_000, "{moved} entities moved");
    check_ants(&world, &ants);
}

#[test]
fn entities_that_come_and_are_tagged_one_by_one_share_chunks() {
    let mut world = World::new();
    for n in 0..500_u32 {
        world.create((n,)).unwrap();
        let tagged = world
            .matching::<Without<Asleep>>()
            .unwrap()
            .add(|_| (Asleep,));
        assert_eq!(tagged.unwrap(), 1);
    }
    assert!(world.universe().chunk_stats().in_use <= 3);
    assert_eq!(world.query::<&u32, With<Asleep>>().unwrap().count(), 500);
}

#[test]
fn rows_that_are_switched_off_are_left_alone() {
    let mut world = World::new();
    world.registry().register_enableable::<Awake>().unwrap();
    let ants: Vec<Entity> = (0..5_000_u32)
        .map(|n| world.create((n, Awake)).unwrap())
        .collect();
    for (n, &ant) in ants.iter().enumerate() {
        world
            .set_enabled::<Awake>(ant, n % 3 != 0 && n % 100 > 20)
            .unwrap();
    }
    let awake = world.query::<Entity, With<Awake>>().unwrap().count();
    assert_eq!(
        world
            .matching::<With<Awake>>()
            .unwrap()
            .add(|_| (1_u8,))
            .unwrap(),
        awake
    );
    for (n, &ant) in ants.iter().enumerate() {
        let enabled = n % 3 != 0 && n % 100 > 20;
        assert_eq!(world.get::<u32>(ant).unwrap(), &(n as u32));
        assert_eq!(world.has::<u8>(ant).unwrap(), enabled);
        assert_eq!(world.is_enabled::<Awake>(ant).unwrap(), enabled);
    }
    assert_eq!(
        world.matching::<Without<Awake>>().unwrap().destroy(),
        5_000 - awake
    );
    assert_eq!(world.count(), awake);
    assert!(world.query::<&u8, With<Awake>>().unwrap().count() == awake);
}

#[test]
fn a_chunk_filter_and_a_shared_value_say_what_changes() {
    let mut world = World::new();
    for n in 0..3_000_u32 {
        world.create((n,).shared(Team((n % 3) as u8))).unwrap();
    }
    let second = world.matching::<With<u32>>().unwrap().sharing(&Team(1));
    assert_eq!(second.add(|_| (Asleep,)).unwrap(), 1_000);
    let third = world
        .matching::<With<u32>>()
        .unwrap()
        .filter_chunks(|chunk| chunk.shared::<Team>() == Some(&Team(2)));
    assert_eq!(third.destroy(), 1_000);
    // Two groups become one.
    assert_eq!(
        world
            .matching::<With<u32>>()
            .unwrap()
            .set_shared(Team(0))
            .unwrap(),
        2_000
    );
    let teams = world
        .query::<megachunk::fragment::Shared<Team>, ()>()
        .unwrap()
        .iter()
        .all(|t| t.0 == 0);
    assert!(teams);
}

#[test]
fn each_entity_may_get_a_shared_value_of_its_own() {
    let mut world = World::new();
    let ants = ants(&mut world, 300);
    let mut query = Query::<&Position, With<Name>>::new(&world).unwrap();
    let changed = query
        .change(&mut world)
        .add(|position| (1_u8,).shared(Team((position.0 as u32 % 4) as u8)));
    assert_eq!(changed.unwrap(), 300);
    let swapped = query
        .change(&mut world)
        .swap::<(u8,), _>(|position| (2_u16,).shared(Team((position.0 as u32 % 5) as u8)));
    assert_eq!(swapped.unwrap(), 300);
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.shared::<Team>(ant).unwrap(), &Team((n % 5) as u8));
        assert!(!world.has::<u8>(ant).unwrap());
    }
    check_ants(&world, &ants);
}

#[test]
fn slices_of_neighbours_move_together_and_say_what_they_refuse() {
    let mut world = World::new();
    let mut all = ants(&mut world, 5_000);
    let stale = all[2_500];
    world.destroy(stale).unwrap();
    let report = world.add_slice(&all, |position| (position as u64,));
    assert_eq!(report.done, 4_999);
    assert_eq!(
        report.refused.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
        [2_500]
    );
    for (n, &ant) in all.iter().enumerate().filter(|(n, _)| *n != 2_500) {
        assert_eq!(world.get::<u64>(ant).unwrap(), &(n as u64));
        assert_eq!(world.get::<Name>(ant).unwrap().0, n.to_string());
    }
    // Scattered, with one that stands there twice.
    all.swap(10, 4_000);
    all.push(all[0]);
    let report = world.remove_slice::<(u64,)>(&all);
    assert_eq!((report.done, report.refused.len()), (4_999, 1));
    let report = world.destroy_slice(&all);
    let refused: Vec<usize> = report.refused.iter().map(|(at, _)| *at).collect();
    assert_eq!((report.done, refused), (4_999, vec![2_500, 5_000]));
    assert!(world.is_empty());
}

#[test]
fn a_closure_that_panics_leaves_the_entities_before_changed_and_the_others_as_they_were() {
    let mut world = World::new();
    let drops = Arc::new(AtomicUsize::new(0));
    let bundles = (0..3_000_u32).map(|n| (n, Counted::new(&drops)));
    let batch = world.create_batch(bundles).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    for tag_only in [false, true] {
        let mut calls = 0;
        let call = AssertUnwindSafe(|| {
            let mut explode = || {
                calls += 1;
                assert!(calls <= 1_000, "enough");
            };
            if tag_only {
                let _ = world.add_slice(&ants, |_| {
                    explode();
                    (Asleep,)
                });
            } else {
                let _ = world.add_slice(&ants, |position| {
                    explode();
                    (position as u64, Name(position.to_string()))
                });
            }
        });
        assert!(catch_unwind(call).is_err());
        for (n, &ant) in ants.iter().enumerate() {
            let has = if tag_only {
                world.has::<Asleep>(ant).unwrap()
            } else {
                world.has::<u64>(ant).unwrap()
            };
            assert_eq!(has, n < 1_000, "entity {n}");
            assert_eq!(world.get::<u32>(ant).unwrap(), &(n as u32));
        }
    }
    let query = AssertUnwindSafe(|| {
        let mut calls = 0;
        world.matching::<With<Counted>>().unwrap().add(|_| {
            calls += 1;
            assert!(calls <= 500, "enough");
            ('x',)
        })
    });
    assert!(catch_unwind(query).is_err());
    assert_eq!(world.query::<&char, ()>().unwrap().count(), 500);
    assert_eq!((world.count(), drops.load(Ordering::Relaxed)), (3_000, 0));
    drop(world);
    assert_eq!(drops.load(Ordering::Relaxed), 3_000);
}

#[test]
fn a_drop_that_panics_leaves_the_world_whole_and_every_value_is_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let bombs = |world: &mut World| {
        let bundles = (0..2_000_u32).map(|n| {
            let bomb = n % 500 == 250;
            let drops = Arc::clone(&drops);
            (n, Counted { drops, bomb })
        });
        let batch = world.create_batch(bundles).unwrap();
        batch.iter(world).collect::<Vec<Entity>>()
    };
    let mut world = World::new();

    let ants = bombs(&mut world);
    let gone = catch_unwind(AssertUnwindSafe(|| {
        world.matching::<With<Counted>>().unwrap().destroy()
    }));
    assert!(gone.is_err() && world.is_empty() && world.universe().count() == 0);
    assert_eq!(drops.swap(0, Ordering::Relaxed), 2_000);
    assert!(ants.iter().all(|&ant| !world.exists(ant)));

    let ants = bombs(&mut world);
    let gone = catch_unwind(AssertUnwindSafe(|| world.destroy_slice(&ants)));
    assert!(gone.is_err() && world.is_empty());
    assert_eq!(drops.swap(0, Ordering::Relaxed), 2_000);

    let ants = bombs(&mut world);
    let mut some = ants[..1_500].to_vec();
    some[700..].reverse();
    let gone = catch_unwind(AssertUnwindSafe(|| world.remove_slice::<(Counted,)>(&some)));
    assert!(gone.is_err());
    // All of the slice are done, whoever panicked, side by side or not.
    assert_eq!(drops.load(Ordering::Relaxed), 1_500);
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.has::<Counted>(ant).unwrap(), n >= 1_500);
        assert_eq!(world.get::<u32>(ant).unwrap(), &(n as u32));
    }
    world.check().unwrap();
    world.destroy_slice(&some).into_result().unwrap();
    // Others, in more than one composition; and the last bomb.
    let more = bombs(&mut world);
    let tagged = world.add_slice(&more[..1_000], |_| (Asleep,));
    assert!(tagged.is_clean());
    let gone = catch_unwind(AssertUnwindSafe(|| {
        let all = world.matching::<With<Counted>>().unwrap();
        all.remove::<(Counted,)>()
    }));
    assert!(gone.is_err());
    assert_eq!(drops.swap(0, Ordering::Relaxed), 4_000);
    let mut without = world.query::<&u32, Without<Counted>>().unwrap();
    assert_eq!(without.count(), 2_500);
    world.check().unwrap();
    world.clear();

    // Replaced where they are.
    let _ = bombs(&mut world);
    let harmless = Arc::new(AtomicUsize::new(0));
    while let Err(_panic) = catch_unwind(AssertUnwindSafe(|| {
        world
            .matching::<With<Counted>>()
            .unwrap()
            .add(|_| (Counted::new(&harmless),))
    })) {}
    assert_eq!(drops.load(Ordering::Relaxed), 2_000);
    assert_eq!(world.count(), 2_000);
}

/// Puts a slice in an order that knows nothing of where entities lie, always the same.
fn scatter(entities: &mut [Entity]) {
    let mut state = 1_u64;
    for last in (1..entities.len()).rev() {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        entities.swap(last, (state >> 33) as usize % (last + 1));
    }
}

#[test]
fn a_slice_in_no_order_goes_and_the_others_stay_as_they_are() {
    // Few of many, and most.
    for dying in [20, 900, 19_000] {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut world = World::new();
        let ants = ants(&mut world, 20_000);
        for ant in ants.iter().step_by(3) {
            world.add(*ant, (Counted::new(&drops), 7_u8)).unwrap();
        }
        let mut order: Vec<usize> = (0..ants.len()).collect();
        let mut doomed = ants.clone();
        scatter(&mut doomed);
        doomed.truncate(dying);
        let reserved = world.reserve().unwrap();
        let mut slice = doomed.clone();
        slice.insert(dying / 2, doomed[0]);
        slice.push(reserved);
        slice.push(doomed[dying / 3]);

        let report = world.destroy_slice(&slice);

        assert_eq!(report.done, dying + 1, "the reserved one is released");
        let refused: Vec<usize> = report.refused.iter().map(|(at, _)| *at).collect();
        assert_eq!(refused, [dying / 2, dying + 2], "both stand there twice");
        assert!(!world.exists(reserved));
        let dead: std::collections::HashSet<Entity> = doomed.into_iter().collect();
        let had_one = (0..ants.len()).step_by(3);
        let dropped = had_one.filter(|&n| dead.contains(&ants[n])).count();
        assert_eq!(drops.load(Ordering::Relaxed), dropped);
        order.retain(|&n| !dead.contains(&ants[n]));
        for &n in &order {
            assert_eq!(world.get::<Position>(ants[n]).unwrap().0, n as f32);
            assert_eq!(world.get::<Name>(ants[n]).unwrap().0, n.to_string());
            assert_eq!(world.has::<u8>(ants[n]).unwrap(), n % 3 == 0);
        }
        assert_eq!(world.count(), order.len());
        let again = world.create_batch((0..dying).map(|n| (n,))).unwrap();
        let new: Vec<Entity> = again.iter(&world).collect();
        assert!(
            new.iter().all(|ant| !dead.contains(ant)),
            "handles stay dead"
        );
        drop(world);
        assert_eq!(drops.load(Ordering::Relaxed), ants.len().div_ceil(3));
    }
}

#[test]
fn a_drop_that_panics_in_a_slice_in_no_order_stops_nobody() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let bundles = (0..1_000).map(|n| {
        let mut counted = Counted::new(&drops);
        counted.bomb = n % 500 == 7;
        (counted, n)
    });
    let batch = world.create_batch(bundles).unwrap();
    let mut ants: Vec<Entity> = batch.iter(&world).collect();
    scatter(&mut ants);
    let doomed = ants.split_off(300);
    let gone = catch_unwind(AssertUnwindSafe(|| world.destroy_slice(&doomed)));
    let left = ants.iter().filter(|&&ant| world.exists(ant)).count();
    assert_eq!((left, world.count()), (300, 300));
    assert!(doomed.iter().all(|&ant| !world.exists(ant)));
    assert_eq!(drops.load(Ordering::Relaxed), 700);
    let bombs = ants
        .iter()
        .filter(|&&ant| world.get::<i32>(ant).unwrap() % 500 == 7);
    assert_eq!(gone.is_err(), bombs.count() < 2);
    let _ = catch_unwind(AssertUnwindSafe(|| drop(world)));
}

/// What a handle of a short slice is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Ant,
    /// Its drop panics.
    Bomb,
    Stale,
    Reserved,
    /// Of another world of the universe.
    Foreign,
    /// The first of the slice once more.
    First,
}

#[test]
fn a_slice_of_up_to_three_does_with_each_handle_what_is_to_be_done_with_it() {
    use Kind::{Ant, Bomb, First, Foreign, Reserved, Stale};
    let kinds = [Ant, Bomb, Stale, Reserved, Foreign, First];
    let longer = |slices: &[Vec<Kind>]| -> Vec<Vec<Kind>> {
        let more = |slice: &Vec<Kind>| kinds.map(|kind| [slice.as_slice(), &[kind]].concat());
        slices.iter().flat_map(more).collect()
    };
    let mut slices = vec![Vec::new()];
    for _ in 0..3 {
        slices.extend(longer(&slices));
    }
    for kinds in slices {
        let drops = Arc::new(AtomicUsize::new(0));
        let universe = Arc::new(Universe::new());
        let (mut world, mut other) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
        let mut slice: Vec<Entity> = Vec::new();
        let (mut done, mut refused) = (Vec::new(), Vec::new());
        for (at, &kind) in kinds.iter().enumerate() {
            let mut counted = Counted::new(&drops);
            counted.bomb = kind == Bomb;
            let entity = match kind {
                Ant | Bomb => world.create((counted,)).unwrap(),
                Foreign => other.create((0_u8,)).unwrap(),
                Reserved => world.reserve().unwrap(),
                Stale => {
                    let entity = world.create((0_u8,)).unwrap();
                    world.destroy(entity).unwrap();
                    entity
                }
                First => slice.first().copied().unwrap_or(Entity::PLACEHOLDER),
            };
            slice.push(entity);
            match kind {
                Ant | Bomb | Reserved => done.push(entity),
                Stale | Foreign | First => refused.push(at),
            }
        }
        drops.store(0, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| world.destroy_slice(&slice)));
        assert_eq!(outcome.is_err(), kinds.contains(&Bomb), "{kinds:?}");
        if let Ok(report) = outcome {
            let positions: Vec<usize> = report.refused.iter().map(|&(at, _)| at).collect();
            assert_eq!((report.done, positions), (done.len(), refused), "{kinds:?}");
        }
        assert!(
            done.iter().all(|&entity| !universe.exists(entity)),
            "{kinds:?}"
        );
        let values = kinds
            .iter()
            .filter(|kind| matches!(kind, Ant | Bomb))
            .count();
        assert_eq!(drops.load(Ordering::Relaxed), values, "{kinds:?}");
        assert_eq!(world.count(), 0, "{kinds:?}");
        world.check().unwrap();
    }
}
