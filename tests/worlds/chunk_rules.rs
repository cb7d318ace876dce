//! Rules of what chunks begin with hold for the compositions that there are, and for those that come.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::query::QueryFilter;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Pulse(u32);
megachunk::plain!(Pulse { 0 });
struct Near;
struct Far;
/// What somebody gets of whom the rules know nothing.
struct Filmed(#[expect(dead_code, reason = "it takes room")] u64);

fn pulse(world: &World, one: Entity) -> Pulse {
    *world.chunk_fragment::<Pulse>(one).unwrap()
}

fn with_rules() -> World {
    let mut world = World::new();
    assert_eq!(
        world.set_chunk_rule::<Pulse, With<Near>>(Pulse(1)).unwrap(),
        0
    );
    assert_eq!(
        world.set_chunk_rule::<Pulse, With<Far>>(Pulse(16)).unwrap(),
        0
    );
    world
}

/// How entities that are far are filmed, and come near.
const WAYS: [fn(&mut World, &[Entity]); 5] = [
    |world, far| {
        for &entity in far {
            world.add(entity, (Filmed(1),)).unwrap();
            world.swap::<(Far,), _>(entity, (Near,)).unwrap();
        }
    },
    |world, far| {
        let mut commands = world.commands();
        for &entity in far {
            commands.add(entity, (Filmed(1),)).unwrap();
            commands.swap::<(Far,), _>(entity, (Near,)).unwrap();
        }
        drop(commands);
        assert!(world.flush().is_clean());
    },
    |world, far| {
        // What the call gives says nothing where a rule does.
        let mut commands = world.commands();
        for &entity in far {
            commands.remove::<(Far,)>(entity).unwrap();
            commands
                .add(entity, (Filmed(1), Near).per_chunk(Pulse(99)))
                .unwrap();
        }
        drop(commands);
        assert!(world.flush().is_clean());
    },
    |world, far| {
        assert!(world.add_slice(far, |_| (Filmed(1),)).is_clean());
        let all = world.matching::<With<Far>>().unwrap();
        all.swap::<(Far,), _>(|_| (Near,)).unwrap();
    },
    |world, far| {
        let universe = Arc::clone(world.universe());
        let near = universe.registry().register::<Near>().unwrap().id();
        let far_id = universe.registry().register::<Far>().unwrap().id();
        for &entity in far {
            let value = Value::new(universe.registry(), Near).unwrap();
            world
                .add_dynamic(entity, DynamicBundle::new().with(value))
                .unwrap();
            assert!(world.remove_dynamic(entity, &[far_id]).unwrap());
            assert!(world.has_dynamic(entity, near).unwrap());
        }
    },
];

#[test]
fn a_composition_that_comes_begins_as_the_rule_says_whatever_brings_it() {
    for count in [1, 100, 3_000] {
        for (number, way) in WAYS.iter().enumerate() {
            let mut world = with_rules();
            let bundles = (0..count).map(|_| (0_u32, Far).per_chunk(Pulse(16)));
            let batch = world.create_batch(bundles).unwrap();
            let all: Vec<Entity> = batch.iter(&world).collect();
            way(&mut world, &all);
            world.check().unwrap();
            for &entity in &all {
                assert_eq!(pulse(&world, entity), Pulse(1), "way {number} of {count}");
            }
        }
    }
}

#[test]
fn the_rule_comes_before_what_the_call_brings_and_both_before_what_is_inherited() {
    let mut world = with_rules();
    let far = world.create((0_u32, Far).per_chunk(Pulse(5))).unwrap();
    assert_eq!(pulse(&world, far), Pulse(16));
    let none = world.create((0_u32,).per_chunk(Pulse(5))).unwrap();
    assert_eq!(pulse(&world, none), Pulse(5));
    // Nobody matches: the call decides, or else the composition that it comes from.
    world.remove::<(Far,)>(far).unwrap();
    world.add(far, ('a',)).unwrap();
    assert_eq!(pulse(&world, far), Pulse(5));
    world.add(far, ("b",).per_chunk(Pulse(6))).unwrap();
    assert_eq!(pulse(&world, far), Pulse(6));
    world.check().unwrap();
}

#[test]
fn what_a_recorder_fills_chunks_of_its_own_with_begins_as_the_rule_says() {
    for count in [1, 100, 3_000_u32] {
        let mut world = with_rules();
        let mut commands = world.commands();
        let mut all = Vec::new();
        for n in 0..count {
            let bundle = (n, Far).per_chunk(Pulse(5));
            all.push(commands.create(bundle).unwrap());
        }
        drop(commands);
        assert!(world.flush().is_clean());
        world.check().unwrap();
        assert!(all.iter().all(|&one| pulse(&world, one) == Pulse(16)));
    }
}

#[test]
fn the_rule_that_was_set_last_decides_and_the_same_set_again_is_the_last() {
    let mut world = with_rules();
    let both = |world: &mut World, more: char| {
        let one = world.create((Near, Far).per_chunk(Pulse(0))).unwrap();
        match more {
            'a' => world.add(one, (1_u8,)).unwrap(),
            'b' => world.add(one, (1_u16,)).unwrap(),
            _ => world.add(one, (1_u32,)).unwrap(),
        }
        pulse(world, one)
    };
    assert_eq!(both(&mut world, 'a'), Pulse(16));
    // Also for the two compositions that there are.
    let set = world.set_chunk_rule::<Pulse, With<Near>>(Pulse(2)).unwrap();
    assert_eq!(set, 2);
    assert_eq!(both(&mut world, 'b'), Pulse(2));
    world.clear();
    assert_eq!(both(&mut world, 'a'), Pulse(2), "new chunks begin anew");
    assert!(world.remove_chunk_rule::<Pulse, With<Near>>().unwrap());
    assert_eq!(both(&mut world, 'c'), Pulse(16), "the other holds still");
    assert!(!world.remove_chunk_rule::<Pulse, With<Near>>().unwrap());
}

#[test]
fn what_is_for_compositions_that_there_are_alone_leaves_a_rule_whose_filter_is_another_type() {
    let mut world = World::new();
    world.set_chunk_rule::<Pulse, With<Far>>(Pulse(4)).unwrap();
    let far = world.create((1_u8, Far).per_chunk(Pulse(1))).unwrap();
    assert_eq!(pulse(&world, far), Pulse(4));
    let set = world.set_chunk_rule::<Pulse, (With<Far>,)>(Pulse(8));
    assert_eq!(set.unwrap(), 1);
    assert!(world.remove_chunk_rule::<Pulse, (With<Far>,)>().unwrap());
    world.clear();
    let [known, new] = [
        world.create((1_u8, Far).per_chunk(Pulse(1))).unwrap(),
        world.create((1_u16, Far).per_chunk(Pulse(1))).unwrap(),
    ];
    assert_eq!(pulse(&world, known), Pulse(8));
    assert_eq!(pulse(&world, new), Pulse(4), "by the rule that stayed");
    // Of the same filter it takes the place of the rule, which is gone with it.
    world.set_chunk_rule::<Pulse, With<Far>>(Pulse(8)).unwrap();
    assert!(world.remove_chunk_rule::<Pulse, With<Far>>().unwrap());
    let none = world.create((1_u32, Far).per_chunk(Pulse(1))).unwrap();
    assert_eq!(pulse(&world, none), Pulse(1));
}

#[test]
fn filters_ask_of_a_composition_that_comes_as_of_one_that_is_there() {
    // Each filter, and whether it matches what has u8 and u16 and no u32.
    fn matches<F: QueryFilter + 'static>() -> bool {
        let asked = [false, true].map(|before| {
            let mut world = World::new();
            world.registry().register_enableable::<u8>().unwrap();
            let bundle = || (1_u8, 2_u16).per_chunk(Pulse(0));
            if before {
                world.create(bundle()).unwrap();
            }
            let set = world.set_chunk_rule::<Pulse, F>(Pulse(7)).unwrap();
            world.clear();
            let one = world.create(bundle()).unwrap();
            assert_eq!(before && pulse(&world, one) == Pulse(7), set == 1);
            pulse(&world, one) == Pulse(7)
        });
        assert_eq!(asked[0], asked[1], "{}", core::any::type_name::<F>());
        asked[0]
    }
    assert!(matches::<()>());
    assert!(matches::<With<u8>>());
    assert!(matches::<(With<u8>, Without<u32>)>());
    assert!(matches::<Without<u8>>(), "it can be switched off");
    assert!(!matches::<Without<u16>>());
    assert!(!matches::<(With<u8>, With<u32>)>());
    assert!(matches::<Any<(u32, u16)>>());
    assert!(!matches::<Any<(u32, u64)>>());
    assert!(matches::<Changed<u16>>());
    assert!(!matches::<Changed<u32>>());
    assert!(!matches::<With<Shared<u8>>>());
}

#[test]
fn a_composition_that_was_forgotten_asks_the_rules_again() {
    let mut world = World::new();
    let far = world.create((0_u32, Far).per_chunk(Pulse(5))).unwrap();
    world.destroy(far).unwrap();
    let set = world.set_chunk_rule::<Pulse, With<Far>>(Pulse(16)).unwrap();
    assert_eq!(set, 1);
    assert!(world.collect_archetypes() > 0);
    let far = world.create((0_u32, Far).per_chunk(Pulse(5))).unwrap();
    assert_eq!(pulse(&world, far), Pulse(16));
}

#[test]
fn in_another_world_the_rules_there_hold_but_for_whole_chunks() {
    let universe = Arc::new(Universe::new());
    let [mut here, mut there] = [16, 4].map(|every| {
        let mut world = World::of(&universe).unwrap();
        world
            .set_chunk_rule::<Pulse, With<Far>>(Pulse(every))
            .unwrap();
        world
    });
    let [one, two] = [0, 1].map(|n: u32| here.create((n, Far).per_chunk(Pulse(0))).unwrap());
    here.move_to(&mut there, one).unwrap();
    assert_eq!(
        (pulse(&there, one), pulse(&here, two)),
        (Pulse(4), Pulse(16))
    );
    let batch = here
        .create_batch((0..50_000).map(|n| (n, Far).per_chunk(Pulse(0))))
        .unwrap();
    let last = batch.iter(&here).nth(25_000).unwrap();
    here.move_all_to(&mut there).unwrap();
    let pulses = [pulse(&there, last), pulse(&there, one)];
    assert!(pulses == [Pulse(16), Pulse(4)], "{pulses:?}");
    there.check().unwrap();
}

#[test]
fn a_rule_is_not_saved_and_holds_for_all_that_a_load_has_made_once_it_is_set() {
    let mut world = World::new();
    world
        .registry()
        .register_plain::<PerChunk<Pulse>>()
        .unwrap();
    world.registry().register_plain::<u32>().unwrap();
    world.set_chunk_rule::<Pulse, With<u32>>(Pulse(16)).unwrap();
    let one = world.create((0_u32,).per_chunk(Pulse(0))).unwrap();
    let file = world.to_snapshot(&Default::default()).unwrap();
    let universe = Universe::new();
    universe
        .registry()
        .register_plain::<PerChunk<Pulse>>()
        .unwrap();
    universe.registry().register_plain::<u32>().unwrap();
    let mut world = World::from_snapshot(&file, universe, &Default::default()).unwrap();
    let fresh = world.create((0_u32, 'a').per_chunk(Pulse(3))).unwrap();
    assert_eq!(
        (pulse(&world, one), pulse(&world, fresh)),
        (Pulse(16), Pulse(3))
    );
    let set = world.set_chunk_rule::<Pulse, With<u32>>(Pulse(8)).unwrap();
    assert_eq!(set, 2);
    world.clear();
    let one = world.create((0_u32,).per_chunk(Pulse(0))).unwrap();
    assert_eq!(pulse(&world, one), Pulse(8));
}

#[test]
fn ordered_worlds_with_rules_are_the_same_for_any_number_of_threads() {
    let hash = |threads: usize| {
        let universe = Arc::new(Universe::ordered());
        let registry = universe.registry();
        registry.register_plain::<PerChunk<Pulse>>().unwrap();
        registry.register_plain::<u32>().unwrap();
        registry.register_plain::<u64>().unwrap();
        let mut world = World::of(&universe).unwrap();
        world.set_chunk_rule::<Pulse, With<u64>>(Pulse(16)).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let bundles = (0..20_000_u32).map(|n| (n,).per_chunk(Pulse(1)));
            let _ = world.create_batch(bundles).unwrap();
            let commands = world.parallel_commands();
            let mut numbers = Query::<(Entity, &u32)>::new(&world).unwrap();
            numbers
                .on(&mut world)
                .par_for_each_chunk(|chunk, (entities, numbers)| {
                    let mut commands = commands.open_at(chunk.sort_key());
                    for (&entity, &number) in entities.iter().zip(numbers) {
                        if number % 3 == 0 {
                            commands.add(entity, (u64::from(number),)).unwrap();
                        }
                    }
                });
            drop(commands);
            assert!(world.flush().is_clean());
        });
        let sixteenth = world.query::<PerChunk<Pulse>, With<u64>>().unwrap();
        assert!(sixteenth.into_iter().all(|pulse| pulse == &Pulse(16)));
        world.state_hash(&Default::default()).unwrap()
    };
    let one = hash(1);
    assert!([2, 3].map(hash).iter().all(|other| *other == one));
}

/// Its `clone` panics when it is told to.
#[derive(Debug)]
struct Fragile(Arc<u32>);
impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(*self.0 != 7 || Arc::strong_count(&self.0) < 4, "enough");
        Self(Arc::clone(&self.0))
    }
}

#[test]
fn a_rule_whose_clone_panics_is_not_set_or_refuses_who_comes_and_no_value_is_left() {
    let quiet = |world: &mut World, work: &mut dyn FnMut(&mut World)| {
        catch_unwind(AssertUnwindSafe(|| work(world))).is_err()
    };
    let (good, bad) = (Arc::new(1), Arc::new(7));
    let mut world = World::new();
    for n in 0..4_u8 {
        let one = world
            .create((n,).per_chunk(Fragile(Arc::clone(&good))))
            .unwrap();
        match n {
            0 => {}
            1 => world.add(one, (1_u16,)).unwrap(),
            2 => world.add(one, (1_u32,)).unwrap(),
            _ => world.add(one, (1_u64,)).unwrap(),
        }
    }
    let held = Arc::strong_count(&good);
    // There are four compositions, and the third clone panics.
    assert!(quiet(&mut world, &mut |world| {
        let _ = world.set_chunk_rule::<Fragile, ()>(Fragile(Arc::clone(&bad)));
    }));
    assert_eq!(
        (Arc::strong_count(&bad), Arc::strong_count(&good)),
        (1, held)
    );
    assert!(
        !world.remove_chunk_rule::<Fragile, ()>().unwrap(),
        "it was not set"
    );

    // It is set for what comes; the third that comes is refused.
    world
        .set_chunk_rule::<Fragile, With<char>>(Fragile(Arc::clone(&bad)))
        .unwrap();
    let fine = world
        .create(('a',).per_chunk(Fragile(Arc::clone(&good))))
        .unwrap();
    let count = world.archetypes().len();
    let kept = Arc::clone(&bad);
    assert!(quiet(&mut world, &mut |world| {
        let _ = world.create(('a', 1_i8).per_chunk(Fragile(Arc::clone(&good))));
    }));
    assert!(quiet(&mut world, &mut |world| {
        let _ = world.add(fine, (1_i16,));
    }));
    assert_eq!((world.archetypes().len(), world.count()), (count, 5));
    world.check().unwrap();
    drop(kept);
    world
        .set_chunk_rule::<Fragile, With<char>>(Fragile(Arc::clone(&good)))
        .unwrap();
    world.add(fine, (1_i16,)).unwrap();
    assert_eq!(*world.chunk_fragment::<Fragile>(fine).unwrap().0, 1);
    drop(world);
    assert_eq!((Arc::strong_count(&bad), Arc::strong_count(&good)), (1, 1));
}
