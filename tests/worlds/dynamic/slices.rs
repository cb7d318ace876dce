//! Slices change by fragments that are known at run time only.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::fragment::{DynamicBundle, FragmentError, FragmentId, FragmentRegistry, Value};
use megachunk::prelude::*;
use megachunk::query::DynamicFilter;
use megachunk::world::{Prototype, SliceReport};

use crate::counted::{Counted, FUSE};
use crate::dynamic::define;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Team(u8);
#[derive(Clone, Debug, PartialEq)]
struct Weather(u8);
#[derive(Clone)]
struct Asleep;

fn prototype(registry: &FragmentRegistry, values: impl IntoIterator<Item = Value>) -> Prototype {
    Prototype::new(registry, values.into_iter().collect()).unwrap()
}

/// Ants of several compositions, side by side and not, and two handles that are refused.
fn ants(world: &mut World, count: usize) -> Vec<Entity> {
    let batch = (0..count as u32).map(|n| (n, n.to_string(), [n as u64; 10]));
    let mut ants: Vec<Entity> = world.create_batch(batch).unwrap().iter(world).collect();
    for (n, &ant) in ants.iter().enumerate() {
        match n % 89 {
            0 => world.add(ant, (1_u8,)).unwrap(),
            1 => world.add(ant, (2_u16, Asleep)).unwrap(),
            2 => world.set_shared(ant, Team(9)).unwrap(),
            _ => {}
        }
    }
    ants[count / 3..].reverse();
    world.destroy(ants[7]).unwrap();
    ants.push(Entity::PLACEHOLDER);
    ants
}

/// What each has of what was given, and that the rest of it is as it was.
fn seen(world: &World, ants: &[Entity], plain: &[FragmentId]) -> Vec<String> {
    let look = |&ant: &Entity| {
        let view = world.entity(ant).ok()?;
        let number = view.get::<u32>().unwrap();
        assert_eq!(view.get::<String>().unwrap(), &number.to_string());
        assert_eq!(view.get::<[u64; 10]>().unwrap(), &[u64::from(*number); 10]);
        let bytes = |&id| Some(view.get_dynamic(id).ok()?.bytes().ok()?.to_vec());
        let bytes: Vec<_> = plain.iter().map(bytes).collect();
        Some(format!(
            "{number} {:?} {:?} {} {:?} {:?} {bytes:?}",
            view.get::<u8>().ok(),
            view.get::<u16>().ok(),
            view.has::<Asleep>(),
            view.shared::<Team>().ok(),
            view.chunk_fragment::<Weather>().ok(),
        ))
    };
    let all = ants.iter().map(look);
    all.map(Option::unwrap_or_default).collect()
}

fn refused(report: &SliceReport) -> Vec<usize> {
    report.refused.iter().map(|(at, _)| *at).collect()
}

/// What each entity says that changes by itself, with its position.
type Ones = Vec<(usize, Result<bool, WorldError>)>;

/// Values of several kinds, as often as they are wanted.
type Values = fn(&FragmentRegistry, &[FragmentId]) -> Vec<Value>;

/// A tag; what is plain; what some have; what is cloned; what is shared or the chunk's; many.
const VALUES: [Values; 6] = [
    |registry, ids| vec![Value::from_bytes(registry, ids[0], &[]).unwrap()],
    |registry, ids| vec![Value::from_bytes(registry, ids[1], &[1, 2, 3]).unwrap()],
    |registry, ids| {
        let some = Value::from_bytes(registry, ids[0], &[]).unwrap();
        vec![
            some,
            Value::cloneable(registry, 5_u16).unwrap(),
            Value::cloneable(registry, 6_u8).unwrap(),
        ]
    },
    |registry, ids| {
        let plain = Value::from_bytes(registry, ids[2], &[9; 40]).unwrap();
        vec![Value::cloneable(registry, Asleep).unwrap(), plain]
    },
    |registry, _| {
        let team = Value::shared(registry, Team(3)).unwrap();
        vec![
            team,
            Value::per_chunk(registry, Weather(4)).unwrap(),
            Value::cloneable(registry, 5_u16).unwrap(),
        ]
    },
    |registry, ids| {
        let many = ids[3..]
            .iter()
            .map(|&id| Value::from_bytes(registry, id, &[8; 2]).unwrap());
        many.collect()
    },
];

fn ids(registry: &FragmentRegistry) -> Vec<FragmentId> {
    let three = [
        define(registry, "tag", Layout::new::<()>()),
        define(registry, "three", Layout::new::<[u8; 3]>()),
        define(registry, "forty", Layout::new::<[u8; 40]>()),
    ];
    let many = (0..20).map(|n| define(registry, &format!("f{n}"), Layout::new::<[u8; 2]>()));
    three.into_iter().chain(many).collect()
}

#[test]
fn slices_change_by_number_as_entities_do_one_by_one() {
    for values in VALUES {
        let [mut one, mut many] = [(); 2].map(|()| World::new());
        let plain = ids(one.registry());
        assert_eq!(plain, ids(many.registry()));
        let [ants, same] = [&mut one, &mut many].map(|world| ants(world, 1_000));
        assert_eq!(ants, same);
        let values_of = |world: &World| values(world.registry(), &plain);
        let values = prototype(many.registry(), values_of(&many));
        let gone = [
            plain[0],
            plain[1],
            many.registry().register::<u16>().unwrap().id(),
        ];
        assert_eq!(gone[2], one.registry().register::<u16>().unwrap().id());
        for round in 0..5 {
            let all = ants.iter().copied().enumerate();
            let (report, ones): (SliceReport, Ones) = match round {
                // Given, given anew, taken away, and swapped.
                0 | 1 | 3 => {
                    let ones = all.map(|(at, ant)| {
                        let bundle: DynamicBundle = values_of(&one).into_iter().collect();
                        (at, one.add_dynamic(ant, bundle).map(|()| true))
                    });
                    let ones = ones.collect();
                    (many.add_slice_dynamic(&ants, &values).unwrap(), ones)
                }
                2 => {
                    let ones = all.map(|(at, ant)| (at, one.remove_dynamic(ant, &gone)));
                    let ones = ones.collect();
                    (many.remove_slice_dynamic(&ants, &gone).unwrap(), ones)
                }
                _ => {
                    let ones = all.map(|(at, ant)| {
                        let bundle: DynamicBundle = values_of(&one).into_iter().collect();
                        (at, one.swap_dynamic(ant, &gone, bundle).map(|()| true))
                    });
                    let ones = ones.collect();
                    (
                        many.swap_slice_dynamic(&ants, &gone, &values).unwrap(),
                        ones,
                    )
                }
            };
            let done = ones.iter().filter(|(_, one)| matches!(one, Ok(true)));
            assert_eq!(report.done, done.count());
            assert_eq!(refused(&report), [7, 1_000]);
            assert!(ones[7].1.is_err() && ones[1_000].1.is_err());
            assert!(
                seen(&one, &ants, &plain) == seen(&many, &ants, &plain),
                "round {round}"
            );
            many.check().unwrap();
        }
    }
}

#[test]
fn a_tag_for_whole_chunks_moves_nothing() {
    let mut world = World::new();
    let batch = world.create_batch((0..50_000_u32).map(|n| (n,))).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let tag = define(world.registry(), "tag", Layout::new::<()>());
    let value = Value::from_bytes(world.registry(), tag, &[]).unwrap();
    let tagged = prototype(world.registry(), [value]);
    let first = |world: &World| core::ptr::from_ref(world.get::<u32>(ants[0]).unwrap()).addr();
    let before = first(&world);
    assert_eq!(
        world.add_slice_dynamic(&ants, &tagged).unwrap().done,
        50_000
    );
    assert_eq!(
        world.remove_slice_dynamic(&ants, &[tag]).unwrap().done,
        50_000
    );
    assert_eq!(first(&world), before);
}

#[test]
fn observers_hear_once_of_a_slice() {
    let mut world = World::new();
    let ants = ants(&mut world, 2_000);
    let (tag, other) = {
        let registry = world.registry();
        let define = |name| define(registry, name, Layout::new::<()>());
        (define("tag"), define("other"))
    };
    let log = Arc::new(Mutex::new(Vec::new()));
    for (n, id) in [tag, other].into_iter().enumerate() {
        let log = Arc::clone(&log);
        let hear = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            log.lock().unwrap().push((n, batch.change(), batch.len()));
        };
        let all = Observed::ADD | Observed::REMOVE;
        world
            .observe_dynamic(all, id, DynamicFilter::new(), hear)
            .unwrap();
    }
    let [tagged, swapped] = [tag, other].map(|id| {
        let value = Value::from_bytes(world.registry(), id, &[]).unwrap();
        prototype(world.registry(), [value])
    });
    let told = || core::mem::take(&mut *log.lock().unwrap());
    let twice = [&ants[..], &ants[..10]].concat();
    assert_eq!(
        world.add_slice_dynamic(&twice, &tagged).unwrap().done,
        2_008
    );
    assert_eq!(told(), [(0, Observed::ADD, 1_999)]);
    let report = world.swap_slice_dynamic(&ants[..500], &[tag], &swapped);
    assert_eq!(report.unwrap().done, 499);
    assert_eq!(
        told(),
        [(0, Observed::REMOVE, 499), (1, Observed::ADD, 499)]
    );
    let report = world.remove_slice_dynamic(&ants, &[other, tag]);
    assert_eq!(report.unwrap().done, 1_999);
    assert_eq!(
        told(),
        [(0, Observed::REMOVE, 1_500), (1, Observed::REMOVE, 499)]
    );
}

#[test]
fn wherever_a_clone_panics_each_value_is_dropped_once_and_the_beginning_is_done() {
    // Copied; handed over with what comes outside of the chunk; replaced.
    for (count, way) in [(300, 0), (300, 1), (40, 2)] {
        for fuse in (1..2 * count).step_by(61) {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::new();
            let batch = (0..count as u32).map(|n| (n, [0_u64; 20], n.to_string()));
            let batch = world.create_batch(batch).unwrap();
            let ants: Vec<Entity> = batch.iter(&world).collect();
            let slice = if way == 1 { &ants[..] } else { &ants[1..] };
            let registry = Arc::clone(world.universe());
            let values = prototype(
                registry.registry(),
                [
                    Value::cloneable(registry.registry(), Counted::new(&alive)).unwrap(),
                    Value::cloneable(registry.registry(), (Counted::new(&alive), 7_u8)).unwrap(),
                ],
            );
            if way == 2 {
                assert!(world.add_slice_dynamic(slice, &values).unwrap().is_clean());
            }
            FUSE.set(fuse);
            let call = AssertUnwindSafe(|| world.add_slice_dynamic(slice, &values));
            let result = catch_unwind(call);
            FUSE.set(0);
            assert_eq!(result.is_err(), fuse <= 2 * slice.len());
            world.check().unwrap();
            let has = |ant: &Entity| {
                let both = (
                    world.has::<Counted>(*ant).unwrap(),
                    world.has::<(Counted, u8)>(*ant).unwrap(),
                );
                assert_eq!(both.0, both.1);
                both.0
            };
            let done = slice.iter().filter(|ant| has(ant)).count();
            assert!(slice[..done].iter().all(has), "the first");
            assert_eq!(alive.load(Ordering::Relaxed), 2 + 2 * done);
            assert_eq!(
                world.add_slice_dynamic(slice, &values).unwrap().done,
                slice.len()
            );
            assert_eq!(alive.load(Ordering::Relaxed), 2 + 2 * slice.len());
            let ids = values.fragments();
            assert_eq!(
                world.remove_slice_dynamic(slice, ids).unwrap().done,
                slice.len()
            );
            assert_eq!(alive.load(Ordering::Relaxed), 2);
        }
    }
}

#[test]
fn what_cannot_be_given_changes_nothing_and_leaves_nothing() {
    let mut world = World::new();
    let ants = ants(&mut world, 50);
    let foreign = World::new();
    let value = Value::cloneable(foreign.registry(), 'x').unwrap();
    let values = prototype(foreign.registry(), [value]);
    let error = world.add_slice_dynamic(&ants, &values).unwrap_err();
    assert!(matches!(error, WorldError::OtherUniverse));
    let error = world.swap_slice_dynamic(&ants, &[], &values).unwrap_err();
    assert!(matches!(error, WorldError::OtherUniverse));
    let id = world.registry().register::<u8>().unwrap().id();
    let error = world.remove_slice_dynamic(&ants, &[id, id]).unwrap_err();
    assert!(matches!(
        error,
        WorldError::Fragment(FragmentError::Twice { .. })
    ));
    // Nobody gets what comes.
    let alive = Arc::new(AtomicUsize::new(0));
    #[derive(Clone)]
    struct Held(#[expect(dead_code, reason = "it counts")] Counted);
    let values = [
        Value::per_chunk(world.registry(), Held(Counted::new(&alive))).unwrap(),
        Value::shared(world.registry(), Team(1)).unwrap(),
    ];
    let values = prototype(world.registry(), values);
    let report = world
        .add_slice_dynamic(&[ants[7], Entity::PLACEHOLDER], &values)
        .unwrap();
    assert_eq!((report.done, report.refused.len()), (0, 2));
    drop(values);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    world.check().unwrap();
}

#[test]
fn one_that_stands_there_twice_goes_once_wherever_the_others_of_the_slice_go() {
    struct Awake;

    let mut world = World::new();
    let one = world.create((1_u8, Asleep)).unwrap();
    let other = world.create((2_u16, Asleep)).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    world
        .observe::<Asleep, ()>(Observed::REMOVE, move |batch, _| {
            heard.lock().unwrap().push(batch.len());
        })
        .unwrap();
    // Nobody is awake yet: the archetypes that they go to come with the change.
    let report = world.swap_slice::<(Asleep,), _>(&[one, other, one, other], |_| (Awake,));
    assert_eq!(report.done, 4);
    assert_eq!(*told.lock().unwrap(), [2]);
    world.check().unwrap();
}
