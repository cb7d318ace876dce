//! Fragments are swapped: by slice, and by number.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::{DynamicBundle, FragmentError, FragmentId, Value};
use megachunk::prelude::*;
use megachunk::world::SliceReport;

struct Asleep;
struct Awake;
#[derive(Debug, PartialEq, Eq, Hash)]
struct Team(usize);

/// Counts its drops; panics at the drop if it is told to.
struct Counted(Arc<AtomicUsize>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(!self.1, "a bomb was dropped");
    }
}

fn of<T: Fragment>(world: &World, value: T) -> Value {
    Value::new(world.registry(), value).unwrap()
}

fn id_of<T: Fragment>(world: &World) -> FragmentId {
    world.registry().register::<T>().unwrap().id()
}

/// Bears, some with more fragments, some neighbours, some not; and a stale handle.
fn bears(world: &mut World, count: usize) -> Vec<Entity> {
    let batch = world
        .create_batch((0..count as u32).map(|n| (n, n.to_string(), Asleep)))
        .unwrap();
    let mut bears: Vec<Entity> = batch.iter(world).collect();
    for (n, &bear) in bears.iter().enumerate() {
        match n % 97 {
            0 => world.add(bear, (n as u64,)).unwrap(),
            1 => drop(world.remove::<(Asleep,)>(bear).unwrap()),
            2 => world.add(bear, (Awake,)).unwrap(),
            _ => {}
        }
    }
    let middle = count / 2;
    bears[middle..].reverse();
    world.destroy(bears[middle - 1]).unwrap();
    bears
}

/// What is there of each.
fn seen(world: &World, bears: &[Entity]) -> Vec<String> {
    let look = |&bear: &Entity| {
        let view = world.entity(bear).ok()?;
        let number = view.get::<u32>().unwrap();
        assert_eq!(view.get::<String>().unwrap(), &number.to_string());
        Some(format!(
            "{number} {} {} {:?} {:?}",
            view.has::<Asleep>(),
            view.has::<Awake>(),
            view.get::<u64>().ok(),
            view.shared::<Team>().ok(),
        ))
    };
    bears
        .iter()
        .map(|bear| look(bear).unwrap_or_default())
        .collect()
}

/// Swaps each of a slice by itself; the positions of those that are refused.
fn each(
    world: &mut World,
    bears: &[Entity],
    swap: impl Fn(&mut World, Entity, usize) -> Result<(), WorldError>,
) -> Vec<usize> {
    let all = bears.iter().enumerate();
    let refused = all.filter(|&(at, &bear)| swap(world, bear, at).is_err());
    refused.map(|(at, _)| at).collect()
}

/// All that was to be done is done; the positions of those that are refused.
fn refused(report: &SliceReport, bears: &[Entity]) -> Vec<usize> {
    assert_eq!(report.done + report.refused.len(), bears.len());
    report.refused.iter().map(|(at, _)| *at).collect()
}

#[test]
fn slices_are_swapped_as_entities_are_one_by_one_and_by_number() {
    type Swap = fn(&mut World, &[Entity]) -> Vec<usize>;
    // Tags only; what comes has a value; what comes is there in part, and goes; what is shared.
    let ways: [[Swap; 3]; 4] = [
        [
            |world, all| refused(&world.swap_slice::<(Asleep,), _>(all, |_| (Awake,)), all),
            |world, all| {
                each(world, all, |world, bear, _| {
                    world.swap::<(Asleep,), _>(bear, (Awake,))
                })
            },
            |world, all| {
                each(world, all, |world, bear, _| {
                    let come = DynamicBundle::new().with(of(world, Awake));
                    world.swap_dynamic(bear, &[id_of::<Asleep>(world)], come)
                })
            },
        ],
        [
            |world, all| {
                let swap = |at| (at as u64,);
                refused(&world.swap_slice::<(Asleep, Awake), _>(all, swap), all)
            },
            |world, all| {
                each(world, all, |world, bear, at| {
                    world.swap::<(Asleep, Awake), _>(bear, (at as u64,))
                })
            },
            |world, all| {
                each(world, all, |world, bear, at| {
                    let come = DynamicBundle::new().with(of(world, at as u64));
                    let gone = [id_of::<Awake>(world), id_of::<Asleep>(world)];
                    world.swap_dynamic(bear, &gone, come)
                })
            },
        ],
        [
            |world, all| {
                let swap = |at| (at as u64, Awake);
                refused(&world.swap_slice::<(u64, Asleep), _>(all, swap), all)
            },
            |world, all| {
                each(world, all, |world, bear, at| {
                    world.swap::<(u64, Asleep), _>(bear, (at as u64, Awake))
                })
            },
            |world, all| {
                each(world, all, |world, bear, at| {
                    let come = DynamicBundle::new().with(of(world, Awake));
                    let come = come.with(of(world, at as u64));
                    let gone = [id_of::<u64>(world), id_of::<Asleep>(world)];
                    world.swap_dynamic(bear, &gone, come)
                })
            },
        ],
        [
            |world, all| {
                let swap = |at| (Awake,).shared(Team(at % 5));
                refused(&world.swap_slice::<(Asleep,), _>(all, swap), all)
            },
            |world, all| {
                each(world, all, |world, bear, at| {
                    world.swap::<(Asleep,), _>(bear, (Awake,).shared(Team(at % 5)))
                })
            },
            |world, all| {
                each(world, all, |world, bear, at| {
                    let team = Value::shared(world.registry(), Team(at % 5)).unwrap();
                    let come = DynamicBundle::new().with(team).with(of(world, Awake));
                    world.swap_dynamic(bear, &[id_of::<Asleep>(world)], come)
                })
            },
        ],
    ];
    for ways in ways {
        let worlds = ways.map(|swap| {
            let mut world = World::new();
            let mut bears = bears(&mut world, 4_000);
            bears.push(Entity::PLACEHOLDER);
            assert_eq!(swap(&mut world, &bears), [1_999, 4_000]);
            world.check().unwrap();
            // Again: what goes is gone, and what comes is replaced.
            let once = seen(&world, &bears);
            assert_eq!(swap(&mut world, &bears), [1_999, 4_000]);
            world.check().unwrap();
            assert_eq!(seen(&world, &bears), once);
            once
        });
        assert!(worlds[0] == worlds[1] && worlds[1] == worlds[2]);
    }
}

#[test]
fn tags_of_whole_chunks_are_swapped_where_they_are() {
    let mut world = World::new();
    let batch = world
        .create_batch((0..50_000_u32).map(|n| (n, Asleep)))
        .unwrap();
    let bears: Vec<Entity> = batch.iter(&world).collect();
    let first = |world: &World| core::ptr::from_ref(world.get::<u32>(bears[0]).unwrap()).addr();
    let before = first(&world);
    assert_eq!(
        world.swap_slice::<(Asleep,), _>(&bears, |_| (Awake,)).done,
        50_000
    );
    assert_eq!(first(&world), before);
    for (n, &bear) in (0..).zip(&bears) {
        assert_eq!(world.get::<u32>(bear).unwrap(), &n);
    }
}

#[test]
fn an_observer_of_what_goes_and_one_of_what_comes_hear_once() {
    let mut world = World::new();
    let bears = bears(&mut world, 3_000);
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    fn watch<T: Fragment>(world: &mut World, log: &Arc<std::sync::Mutex<Vec<(bool, usize)>>>) {
        let log = Arc::clone(log);
        let seen = Observed::ADD | Observed::REMOVE;
        let hear = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            let entities = batch.entities().count();
            // Before the fragment goes, and when it is there.
            assert_eq!(
                batch
                    .for_each::<(&u32, Has<T>)>(|(_, has)| assert!(has))
                    .unwrap(),
                entities
            );
            log.lock()
                .unwrap()
                .push((batch.change() == Observed::ADD, entities));
        };
        world.observe::<T, ()>(seen, hear).unwrap();
    }
    watch::<Asleep>(&mut world, &log);
    watch::<Awake>(&mut world, &log);
    let there = |world: &mut World| {
        (
            world.query::<Entity, With<Asleep>>().unwrap().count(),
            world.query::<Entity, Without<Awake>>().unwrap().count(),
        )
    };
    let (go, come) = there(&mut world);
    let report = world.swap_slice::<(Asleep,), _>(&bears, |_| (Awake,));
    assert_eq!((report.done, report.refused.len()), (2_999, 1));
    assert_eq!(
        core::mem::take(&mut *log.lock().unwrap()),
        [(false, go), (true, come)]
    );
    // Nothing goes or comes: nobody hears.
    assert_eq!(
        world.swap_slice::<(Asleep,), _>(&bears, |_| (Awake,)).done,
        2_999
    );
    assert!(log.lock().unwrap().is_empty());
    // By number, and back.
    let come = DynamicBundle::new().with(of(&world, Asleep));
    let gone = [id_of::<Awake>(&world)];
    world.swap_dynamic(bears[0], &gone, come).unwrap();
    assert_eq!(
        core::mem::take(&mut *log.lock().unwrap()),
        [(false, 1), (true, 1)]
    );
    // Who was told to go and stays, because the closure panics, comes again.
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        world.swap_slice::<(Awake,), _>(&bears, |at| {
            assert!(at < 1_000, "enough");
            (Asleep,)
        })
    }));
    assert!(panicked.is_err());
    let [(false, went), (true, one), (true, again)] = log.lock().unwrap()[..] else {
        panic!("those who go, those who come, and those who stay")
    };
    assert_eq!(went, 2_998);
    assert_eq!(one + again, 2_998);
    world.check().unwrap();
}

#[test]
fn every_value_that_goes_or_is_replaced_is_dropped_once() {
    let [gone, replaced, come] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let count = |of: &Arc<AtomicUsize>| of.load(Ordering::Relaxed);
    let mut world = World::new();
    let bundles = (0..3_000_u32).map(|n| {
        let more = Counted(Arc::clone(&gone), false);
        (n, more, [Counted(Arc::clone(&replaced), n == 700)])
    });
    let batch = world.create_batch(bundles).unwrap();
    let bears: Vec<Entity> = batch.iter(&world).collect();
    let swap = |world: &mut World, bears: &[Entity]| {
        catch_unwind(AssertUnwindSafe(|| {
            world.swap_slice::<(Counted,), _>(bears, |_| ([Counted(Arc::clone(&come), false)],))
        }))
    };
    assert_eq!(swap(&mut world, &bears[..500]).unwrap().done, 500);
    assert_eq!(
        (count(&gone), count(&replaced), count(&come)),
        (500, 500, 0)
    );
    assert!(swap(&mut world, &bears[500..]).is_err());
    world.check().unwrap();
    let done = count(&gone);
    assert!(done > 500 && count(&replaced) == done && count(&come) == 0);
    let left = world.query::<&Counted, ()>().unwrap().count();
    assert_eq!(left, 3_000 - done);
    // By number: one of those that are left, and the bomb that is no more.
    let left: Vec<Entity> = (world.query::<Entity, With<Counted>>().unwrap().iter()).collect();
    let first = left.first().copied().unwrap_or(bears[0]);
    let value = of(&world, [Counted(Arc::clone(&come), false)]);
    let ids = [id_of::<Counted>(&world)];
    world
        .swap_dynamic(first, &ids, DynamicBundle::new().with(value))
        .unwrap();
    assert_eq!(swap(&mut world, &bears).unwrap().done, 3_000);
    assert_eq!((count(&gone), count(&replaced)), (3_000, 3_000));
    drop(world);
    assert_eq!(count(&replaced), 3_000);
    assert_eq!(count(&come), done + (3_000 - done) + done + 1);
}

#[test]
fn what_cannot_be_swapped_is_refused_and_dropped() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let bear = world.create((1_u32, Asleep)).unwrap();
    let come =
        |world: &World| DynamicBundle::new().with(of(world, Counted(Arc::clone(&drops), false)));
    let asleep = id_of::<Asleep>(&world);
    let foreign = World::new();
    let known = (0..100_u32).map(|n| {
        let layout = core::alloc::Layout::new::<u32>();
        let info = foreign.registry().define_plain(&n.to_string(), layout);
        info.unwrap().id()
    });
    let unknown = known.last().unwrap();
    let bundle = come(&world);
    let error = world.swap_dynamic(bear, &[unknown], bundle).unwrap_err();
    assert!(matches!(
        error,
        WorldError::Fragment(FragmentError::Unknown { .. })
    ));
    let bundle = come(&world);
    let error = world
        .swap_dynamic(bear, &[asleep, asleep], bundle)
        .unwrap_err();
    assert!(matches!(
        error,
        WorldError::Fragment(FragmentError::Twice { .. })
    ));
    let error = world
        .swap_dynamic(bear, &[asleep], come(&foreign))
        .unwrap_err();
    assert!(matches!(
        error,
        WorldError::Fragment(FragmentError::OtherUniverse { .. })
    ));
    let bundle = come(&world);
    let error = world
        .swap_dynamic(Entity::PLACEHOLDER, &[asleep], bundle)
        .unwrap_err();
    assert!(matches!(error, WorldError::Entity(_)));
    assert_eq!(drops.load(Ordering::Relaxed), 4);
    let mut commands = world.commands();
    for gone in [[unknown, asleep], [asleep, asleep]] {
        let bundle = come(&world);
        assert!(commands.swap_dynamic(bear, &gone, bundle).is_err());
    }
    assert!(commands.is_empty());
    drop(commands);
    assert_eq!(drops.load(Ordering::Relaxed), 6);
    // Each of a slice is told what of the bundles is wrong.
    let report =
        world.swap_slice::<(Asleep, Asleep), _>(&[bear, Entity::PLACEHOLDER], |_| (Awake,));
    assert!(matches!(
        report.refused[..],
        [
            (0, WorldError::Fragment(FragmentError::Twice { .. })),
            (1, WorldError::Entity(_))
        ]
    ));
    assert!(world.has::<Asleep>(bear).unwrap());
    world.check().unwrap();
}
