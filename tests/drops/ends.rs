//! What holds many values ends, and some of their drops panic: the others are dropped all the same, and the
//! universe gets all back.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use megachunk::fragment::{DynamicBundle, FragmentRegistry, Value};
use megachunk::prelude::*;
use megachunk::world::Prototype;

use crate::brittle::{ALWAYS, Brittle, Count, arm, burns, ends, holds_nothing};

#[derive(Clone)]
struct Kind<const N: usize>(#[expect(dead_code, reason = "it is dropped")] Brittle);

/// Ends a world, in which each `drop` panics, or one; what the universe held for it is there again.
fn end(world: World, count: &Count, drops: isize) {
    let universe = Arc::clone(world.universe());
    burns(drops, || drop(world));
    assert_eq!(count.get(), 0, "values that were not dropped");
    assert_eq!(universe.count(), 0);
    assert_eq!(universe.chunk_stats().in_use, 0);
    universe.check([]).unwrap();
    assert_eq!(Arc::strong_count(&universe), 1, "somebody has it still");
}

/// Each drop, or one.
const DROPS: [isize; 6] = [ALWAYS, -1, 1, 2, 3, 4];

#[test]
fn resources_are_all_dropped_though_some_panic() {
    for drops in DROPS {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = World::new();
            let resources = world.resources_mut();
            resources.insert(Kind::<0>(count.brittle(0)));
            resources.insert(Kind::<1>(count.brittle(0)));
            resources.insert(Kind::<2>(count.brittle(0)));
            resources.insert(Kind::<3>(count.brittle(0)));
            world.create((count.brittle(1),)).unwrap();
            end(world, &count, drops);
        });
    }
}

#[test]
fn templates_of_chunk_fragments_are_all_dropped_though_some_panic() {
    for drops in (1..20).chain([-1, ALWAYS]) {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = World::new();
            let bundle =
                ().per_chunk(Kind::<0>(count.brittle(0)))
                    .per_chunk(Kind::<1>(count.brittle(0)))
                    .per_chunk(Kind::<2>(count.brittle(0)));
            let ant = world.create(bundle).unwrap();
            world.add(ant, (count.brittle(1),)).unwrap();
            // The chunks' own come first, where there is nobody to give a panic to.
            ends(drops, || drop(world));
            assert_eq!(count.get(), 0);
        });
    }
}

#[test]
fn a_new_composition_clones_what_its_chunks_begin_with_and_drops_nothing() {
    let count = Count::default();
    let mut world = World::new();
    let bundle = || {
        (1_u8, 'a')
            .per_chunk(Kind::<0>(count.brittle(0)))
            .per_chunk(Kind::<1>(count.brittle(0)))
    };
    // One of them stays in each: a chunk that all have left goes, with its chunk fragments.
    let ants = [(); 4].map(|()| world.create(bundle()).unwrap());
    let before = count.get();
    arm(ALWAYS);
    for &ant in &ants[1..] {
        world.add(ant, (2_u16,)).unwrap();
    }
    for &ant in &ants[2..] {
        world.remove::<(char,)>(ant).unwrap();
    }
    world.swap::<(u8,), _>(ants[3], ("a",)).unwrap();
    arm(0);
    assert_eq!(world.archetypes().len(), 4);
    // In each composition, and in its chunk.
    assert_eq!(count.get(), before + 3 * 4);
    world.check().unwrap();
    drop(world);
    assert_eq!(count.get(), 0);
}

/// A batch ends all that its templates took the place of, whichever of them panics.
#[test]
fn all_templates_that_a_batch_takes_the_place_of_end() {
    for drops in [1, 2, 3, ALWAYS] {
        holds_nothing(|| {
            let count = Count::default();
            let held = || Kind::<0>(count.brittle(0));
            let other = || Kind::<1>(count.brittle(1));
            let third = || Kind::<2>(count.brittle(2));
            let mut world = World::new();
            let first = (1_u8,).per_chunk(held()).per_chunk(other());
            world.create(first.per_chunk(third())).unwrap();
            let second = (1_u16,).per_chunk(held()).per_chunk(other());
            let bundles = [second.per_chunk(third())];
            burns(drops, || drop(world.create_batch(bundles)));
            world.check().unwrap();
            drop(world);
            assert_eq!(count.get(), 0, "{drops}");
        });
    }
}

/// An entity has all its values when what its template took the place of is dropped, which panics.
#[test]
fn templates_that_others_take_the_place_of_are_dropped_though_some_panic() {
    type Make = fn(&mut World, &Count, Entity) -> Result<(), WorldError>;
    let ways: [(&str, Make); 5] = [
        ("create", |world, count, _| {
            let bundle = (count.brittle(1), 'a').per_chunk(Kind::<0>(count.brittle(2)));
            world.create(bundle).map(drop)
        }),
        ("create_batch", |world, count, _| {
            let bundle = (count.brittle(1), 'a').per_chunk(Kind::<0>(count.brittle(2)));
            world.create_batch([bundle]).map(drop)
        }),
        ("build", |world, count, reserved| {
            let bundle = (count.brittle(1), 'a').per_chunk(Kind::<0>(count.brittle(2)));
            world.build(reserved, bundle)
        }),
        ("create_dynamic", |world, count, _| {
            let bundle = dynamic(world, count);
            world.create_dynamic(bundle).map(drop)
        }),
        ("build_dynamic", |world, count, reserved| {
            let bundle = dynamic(world, count);
            world.build_dynamic(reserved, bundle)
        }),
    ];
    for (name, make) in ways {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = World::new();
            let first = world.create((1_u8,).per_chunk(Kind::<0>(count.brittle(0))));
            let reserved = world.reserve().unwrap();
            burns(1, || make(&mut world, &count, reserved).unwrap());
            world.check().unwrap();
            let built = name.starts_with("build");
            assert_eq!(world.is_built(reserved), built, "{name}");
            let mut come = world.read::<(Entity, &Brittle, &char), ()>().unwrap();
            let come: Vec<_> = come
                .iter()
                .map(|(ant, value, _)| (ant, value.number()))
                .collect();
            // A batch is all or none.
            match name {
                "create_batch" => assert!(come.is_empty()),
                _ => assert!(come.len() == 1 && come[0].1 == 1, "{name}: {come:?}"),
            }
            // The next one has a row of its own.
            let next = world.create((count.brittle(3), 'b')).unwrap();
            for (ant, _) in come {
                assert_ne!(ant, next);
                assert_eq!(world.get::<char>(ant).unwrap(), &'a');
                world.destroy(ant).unwrap();
            }
            assert_eq!(world.get::<Brittle>(next).unwrap().number(), 3);
            world
                .destroy_slice(&[next, first.unwrap()])
                .into_result()
                .unwrap();
            if !built {
                world.release(reserved).unwrap();
            }
            assert_eq!(world.universe().count(), 0);
            world.universe().check([&world]).unwrap();
            drop(world);
            assert_eq!(count.get(), 0, "{name}");
        });
    }
}

fn dynamic(world: &World, count: &Count) -> DynamicBundle {
    let registry = world.registry();
    DynamicBundle::new()
        .with(Value::new(registry, count.brittle(1)).unwrap())
        .with(Value::new(registry, 'a').unwrap())
        .with(Value::per_chunk(registry, Kind::<0>(count.brittle(2))).unwrap())
}

#[test]
fn shared_values_are_all_dropped_though_some_panic() {
    for drops in DROPS {
        holds_nothing(|| {
            let count = Count::default();
            // In a universe of its own, and in one that goes on.
            for alone in [true, false] {
                let mut world = World::new();
                for n in 0..5 {
                    let bundle = (count.brittle(n),).shared(count.brittle(n));
                    world.create(bundle).unwrap();
                }
                if alone {
                    burns(drops, || drop(world));
                    assert_eq!(count.get(), 0);
                } else {
                    end(world, &count, drops);
                }
            }
        });
    }
}

#[test]
fn commands_that_were_never_flushed_end_with_their_world() {
    for drops in [0, ALWAYS, -1, 1, 2, 3, 5, 9] {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = World::new();
            let ants = (0..3).map(|n| (count.brittle(n),));
            let ants: Vec<Entity> = world.create_batch(ants).unwrap().iter(&world).collect();
            let universe = Arc::clone(world.universe());
            let recorders = world.parallel_commands();
            let mut all: Vec<Commands<'_>> = (0..3).map(|_| recorders.open()).collect();
            for commands in &mut all {
                for &ant in &ants {
                    let kind = Kind::<0>(count.brittle(4));
                    commands.add(ant, (kind,).shared(count.brittle(7))).unwrap();
                    let bundle = (count.brittle(5),).per_chunk(Kind::<1>(count.brittle(6)));
                    let bundle = bundle.shared(count.brittle(ant.index()));
                    commands.create(bundle).unwrap();
                    let held = count.brittle(8);
                    commands.defer(move |_| drop(held));
                }
            }
            drop(all);
            ends(drops, || drop(world));
            drop(recorders);
            assert_eq!(count.get(), 0);
            assert_eq!((universe.count(), universe.chunk_stats().in_use), (0, 0));
            universe.check([]).unwrap();
            assert_eq!(Arc::strong_count(&universe), 1);
        });
    }
}

#[test]
fn a_recorder_that_outlives_its_world_drops_what_it_holds() {
    for drops in [ALWAYS, -1, 1, 2, 3] {
        holds_nothing(|| {
            let count = Count::default();
            let world = World::new();
            let universe = Arc::clone(world.universe());
            let recorders = world.parallel_commands();
            let mut commands = recorders.open();
            for n in 0..3 {
                let bundle = (count.brittle(n),).shared(count.brittle(n));
                let bundle = bundle.per_chunk(Kind::<1>(count.brittle(6)));
                commands.create(bundle).unwrap();
            }
            drop(world);
            arm(drops);
            drop(commands);
            arm(0);
            drop(recorders);
            assert_eq!((count.get(), universe.count()), (0, 0));
            assert_eq!(universe.chunk_stats().in_use, 0);
            assert_eq!(Arc::strong_count(&universe), 1);
        });
    }
}

#[test]
fn a_flush_drops_the_shared_values_and_templates_that_it_lets_go() {
    for drops in [ALWAYS, -1, 1, 2, 3, 4, 6] {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = World::new();
            let mut commands = world.commands();
            for n in 0..3 {
                let bundle = (count.brittle(n),).shared(count.brittle(n % 2));
                commands
                    .create(bundle.per_chunk(Kind::<1>(count.brittle(6))))
                    .unwrap();
                let bundle = (count.brittle(n),).shared([count.brittle(0)]);
                commands
                    .create(bundle.per_chunk(Kind::<2>(count.brittle(6))))
                    .unwrap();
            }
            for &n in &[0_u32, 1, 2] {
                let ghost = commands.create((n,)).unwrap();
                commands.destroy(ghost);
                commands
                    .add(ghost, (count.brittle(9),).shared(Some(count.brittle(4))))
                    .unwrap();
            }
            drop(commands);
            ends(drops, || drop(world.flush()));
            assert_eq!(world.count(), 6);
            world.check().unwrap();
            // Nothing is left for the next one.
            assert_eq!(world.flush().rounds, 0);
            drop(world);
            assert_eq!(count.get(), 0);
        });
    }
}

#[test]
fn signals_that_nobody_got_are_dropped_with_their_world() {
    for drops in [0, ALWAYS, -1, 1, 2, 3, 4, 5, 6, 9] {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = World::new();
            let ants: Vec<Entity> = (0..3)
                .map(|n| world.create((count.brittle(n),)).unwrap())
                .collect();
            let (one, other) = (world.signal_of::<Kind<0>>(), world.signal_of::<Brittle>());
            let mut reader = SignalReader::<Entity>::new(&world).unwrap();
            reader.subscribe(&mut world, one).unwrap();
            reader.subscribe(&mut world, other).unwrap();
            let senders = world.parallel_signals();
            for round in 0..2 {
                let mut all: Vec<Signals<'_>> = (0..3).map(|_| senders.open()).collect();
                for signals in &mut all {
                    for &ant in &ants {
                        signals.send(one, ant, Kind(count.brittle(1)));
                        signals.send(other, ant, count.brittle(2));
                        let later = Duration::from_secs(9);
                        signals.send_after(other, ant, count.brittle(2), later);
                    }
                }
                drop(all);
                if round == 0 {
                    // Some lie in the logs, or wait for their time.
                    world.collect_signals();
                }
            }
            let universe = Arc::clone(world.universe());
            // Recorders are kept beside them.
            let bundle = (count.brittle(3),).shared(3_u8);
            world.commands().create(bundle).unwrap();
            ends(drops, || drop(world));
            drop((senders, reader));
            assert_eq!(count.get(), 0);
            assert_eq!((universe.count(), universe.chunk_stats().in_use), (0, 0));
            assert_eq!(Arc::strong_count(&universe), 1);
        });
    }
}

/// No drop panics; but here it is known what is held.
#[test]
fn a_burst_of_signals_leaves_no_room_behind_when_the_world_is_trimmed() {
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    let signal = world.signal::<[u64; 4]>("hit").unwrap();
    let mut reader = SignalReader::<Entity>::new(&world).unwrap();
    reader.subscribe(&mut world, signal).unwrap();
    let mut burst = 500;
    holds_nothing(|| {
        // More each time: room that was kept would grow.
        burst *= 2;
        let reserved = world.reserve().unwrap();
        let mut signals = world.signals();
        for _ in 0..burst {
            signals.send(signal, ant, [1; 4]);
            signals.send(signal, reserved, [2; 4]);
            signals.send_after(signal, ant, [3; 4], Duration::from_secs(1));
        }
        drop(signals);
        let got = reader.deliver(&mut world, |_, _| {});
        assert_eq!(got.signals, burst);
        world.release(reserved).unwrap();
        world.advance_time(Duration::from_secs(1));
        let got = reader.deliver(&mut world, |_, _| {});
        assert_eq!((got.signals, got.dead), (burst, burst));
        world.collect_signals();
        world.trim();
        let _ = reader.deliver(&mut world, |_, _| {});
    });
}

#[test]
fn observers_are_dropped_with_their_world() {
    for drops in [ALWAYS, -1, 1, 2, 3] {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = World::new();
            for n in 0..3 {
                let held = count.brittle(n);
                let observed = world.observe::<u32, ()>(Observed::COME, move |_, _| {
                    assert!(*held.0 < 3);
                });
                observed.unwrap();
            }
            world.create((1_u32, count.brittle(1))).unwrap();
            world.resources_mut().insert(count.brittle(9));
            end(world, &count, drops);
        });
    }
}

#[test]
fn an_observer_whose_drop_panics_is_gone() {
    let count = Count::default();
    let mut world = World::new();
    let held = count.brittle(1);
    let run = move |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| assert_eq!(*held.0, 2);
    let observer = world.observe::<u32, ()>(Observed::COME, run).unwrap();
    burns(1, || assert!(!world.unobserve(observer), "it panics"));
    assert!(!world.unobserve(observer));
    world.create((1_u32,)).unwrap();
    assert_eq!(count.get(), 0);
}

/// What holds several values ends each of them, although all of them panic, and although something else panics.
pub(crate) fn ends_all_of<T>(count: &Count, make: impl Fn() -> T) {
    let made = make();
    burns(ALWAYS, || drop(made));
    assert_eq!(count.get(), 0);
    let made = make();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _made = made;
        arm(ALWAYS);
        resume_unwind(Box::new("something else"));
    }));
    arm(0);
    let panic = panic.unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"something else"));
    assert_eq!(count.get(), 0);
}

#[test]
fn dynamic_bundles_and_prototypes_drop_all_values_though_all_panic() {
    struct Other<const N: usize>(#[expect(dead_code, reason = "it is dropped")] Brittle);
    impl<const N: usize> Clone for Other<N> {
        fn clone(&self) -> Self {
            unreachable!("nobody makes one")
        }
    }
    #[derive(PartialEq, Eq, Hash)]
    struct Shared<const N: usize>(Brittle);
    let count = Count::default();
    let registry = FragmentRegistry::new();
    let bundle = || {
        DynamicBundle::new()
            .with(Value::cloneable(&registry, Other::<0>(count.brittle(0))).unwrap())
            .with(Value::cloneable(&registry, Other::<1>(count.brittle(1))).unwrap())
            .with(Value::per_chunk(&registry, Other::<2>(count.brittle(2))).unwrap())
            .with(Value::per_chunk(&registry, Other::<3>(count.brittle(3))).unwrap())
            .with(Value::shared(&registry, Shared::<4>(count.brittle(4))).unwrap())
            .with(Value::const_shared(&registry, Shared::<5>(count.brittle(5))).unwrap())
    };
    ends_all_of(&count, bundle);
    ends_all_of(&count, || Prototype::new(&registry, bundle()).unwrap());
}

#[test]
fn templates_and_builders_drop_values_and_traits_though_all_panic() {
    /// Adds values, and panics when it hears of the end and when it is dropped.
    struct Adds<const N: usize>(
        Count,
        #[expect(dead_code, reason = "it is dropped")] Brittle,
    );
    #[derive(Clone)]
    struct Own<const N: usize>(#[expect(dead_code, reason = "it is dropped")] Brittle);
    impl<const N: usize> EntityTrait for Adds<N> {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            context.add(Own::<N>(self.0.brittle(1)));
            context.per_chunk(Own::<N>(self.0.brittle(2)));
            Ok(())
        }

        fn destroy(&self) {
            drop(self.0.brittle(3));
        }
    }
    let count = Count::default();
    let world = World::new();
    let builder = || {
        TemplateBuilder::new("t")
            .with_class("zero", Adds::<0>(count.clone(), count.brittle(0)))
            .with_class("one", Adds::<1>(count.clone(), count.brittle(0)))
    };
    ends_all_of(&count, builder);
    ends_all_of(&count, || builder().finish(&world).unwrap());
}

#[test]
fn processors_and_schedules_drop_all_conditions_though_all_panic() {
    let count = Count::default();
    let conditional = || {
        let held = [0, 1, 2].map(|n| count.brittle(n)).into_iter();
        held.fold(processor("p", || {}), |p, held| {
            p.run_if(move || *held.0 < 3)
        })
    };
    let added = || {
        let mut schedule = Schedule::new();
        schedule.add(conditional());
        schedule
    };
    ends_all_of(&count, conditional);
    ends_all_of(&count, added);
    ends_all_of(&count, || {
        let (mut world, mut schedule) = (World::new(), added());
        assert_eq!(schedule.run(&mut world).unwrap().ran, 1);
        schedule
    });
    let (mut world, mut schedule) = (World::new(), added());
    schedule.add(processor("q", || {}));
    schedule.run(&mut world).unwrap();
    burns(ALWAYS, || schedule.remove(&mut world, "p").unwrap());
    assert_eq!((count.get(), schedule.len()), (0, 1));
    assert_eq!(schedule.run(&mut world).unwrap().ran, 1);
}

/// The last world of a universe that ends with it, and one that does not.
#[test]
fn chunk_fragments_of_many_full_chunks_are_dropped_with_their_world() {
    for alone in [true, false] {
        holds_nothing(|| {
            let count = Count::default();
            let universe = Arc::new(Universe::new());
            let mut world = World::of(&universe).unwrap();
            for number in 0..20_000_u64 {
                let near = Kind::<0>(count.brittle(0));
                let _ = world.create(([number; 8],).per_chunk(near)).unwrap();
            }
            assert!(world.stats().chunks > 1);
            assert!(count.get() > world.stats().chunks as isize);
            let kept = (!alone).then(|| Arc::clone(&universe));
            drop(universe);
            drop(world);
            assert_eq!(count.get(), 0, "values that were not dropped");
            drop(kept);
        });
    }
}
