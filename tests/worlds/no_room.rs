//! A world whose universe has no memory for another chunk: each call that needs one is refused, ends what it was given, and
//! changes nothing; when there is room it is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::chunk::ChunkOptions;
use megachunk::entity::IndexOptions;
use megachunk::fragment::FragmentError;
use megachunk::observer::Observed;
use megachunk::prelude::*;

use crate::counted::Counted;

#[derive(Clone, Debug, PartialEq)]
struct Large([u64; 500]);
/// What a call brings.
struct Load(#[expect(dead_code, reason = "it is dropped")] Counted);
/// Comes with another, which is made.
struct Cart(#[expect(dead_code, reason = "it is dropped")] Counted);
struct Wheel(#[expect(dead_code, reason = "it is dropped")] Counted);
struct Marked;

/// A world that fills all memory there is with entities of one composition.
fn full(alive: &Arc<AtomicUsize>) -> (World, Vec<Entity>) {
    let options = ChunkOptions::new().at_most(1);
    let universe = Universe::with(&IndexOptions::new(), &options).unwrap();
    let registry = universe.registry();
    let counted = Arc::clone(alive);
    let wheel = move || Wheel(Counted::new(&counted));
    registry.require_with::<Cart, Wheel>(wheel).unwrap();
    let mut world = World::of(&Arc::new(universe)).unwrap();
    world.set_chunk_size(1);
    let mut ants = Vec::new();
    let refused = loop {
        match world.create((Large([ants.len() as u64; 500]), 1_u8)) {
            Ok(ant) => ants.push(ant),
            Err(error) => break error,
        }
    };
    assert!(is_no_room(&refused) && ants.len() > 100, "{refused}");
    (world, ants)
}

fn is_no_room(error: &WorldError) -> bool {
    matches!(error, WorldError::Chunk(error) if error.is_over_budget())
}

type Call = fn(&mut World, Entity, Counted) -> Result<(), WorldError>;

/// What needs a chunk of a composition that has none.
const CALLS: [(&str, Call); 14] = [
    ("add", |world, ant, value| world.add(ant, (Load(value),))),
    ("add what requires", |world, ant, value| {
        world.add(ant, (Cart(value),))
    }),
    ("add a shared value", |world, ant, value| {
        world.add(ant, (Load(value),).shared(7_u16))
    }),
    ("add per chunk", |world, ant, value| {
        world.add(ant, (Load(value),).per_chunk('c'))
    }),
    ("swap", |world, ant, value| {
        world.swap::<(u8,), _>(ant, (Load(value),))
    }),
    ("swap for what requires", |world, ant, value| {
        world.swap::<(u8,), _>(ant, (Cart(value),))
    }),
    ("swap for a shared value", |world, ant, value| {
        world.swap::<(u8,), _>(ant, (Load(value),).shared(7_u16))
    }),
    ("add dynamically", |world, ant, value| {
        let value = Value::new(world.registry(), Load(value))?;
        world.add_dynamic(ant, DynamicBundle::new().with(value))
    }),
    ("create", |world, _, value| {
        world.create((Load(value),)).map(drop)
    }),
    ("create what requires", |world, _, value| {
        world.create((Cart(value),)).map(drop)
    }),
    ("create with a shared value", |world, _, value| {
        world.create((Load(value),).shared(7_u16)).map(drop)
    }),
    ("create a batch", |world, _, value| {
        world
            .create_batch(std::iter::once((Load(value),)))
            .map(drop)
    }),
    ("create dynamically", |world, _, value| {
        let value = Value::new(world.registry(), Load(value))?;
        world
            .create_dynamic(DynamicBundle::new().with(value))
            .map(drop)
    }),
    ("build", |world, _, value| {
        let entity = world.reserve()?;
        let built = world.build(entity, (Load(value),));
        if built.is_err() {
            assert!(world.exists(entity) && !world.is_built(entity));
            world.release(entity)?;
        }
        built
    }),
];

#[test]
fn what_finds_no_room_is_refused_and_ends_what_it_was_given() {
    for is_watched in [false, true] {
        let alive = Arc::new(AtomicUsize::new(0));
        let (mut world, ants) = full(&alive);
        if is_watched {
            world.resources_mut().insert(0_usize);
            let observed = Observed::COME | Observed::GO | Observed::SET;
            let count = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                let count = batch.len();
                *batch.resources_mut().get_mut::<usize>().unwrap() += count;
            };
            world.observe::<Load, ()>(observed, count).unwrap();
            world.observe::<u8, ()>(observed, count).unwrap();
        }
        let told = |world: &World| world.resources().get::<usize>().copied();
        let before = told(&world);
        for (what, call) in CALLS {
            for (n, &ant) in ants.iter().enumerate().step_by(50) {
                let refused = call(&mut world, ant, Counted::new(&alive)).unwrap_err();
                assert!(is_no_room(&refused), "{what}: {refused}");
                assert_eq!(alive.load(Ordering::Relaxed), 0, "{what}");
                assert_eq!(
                    (world.count(), world.has::<u8>(ant).unwrap()),
                    (ants.len(), true)
                );
                assert_eq!(world.get::<Large>(ant).unwrap().0[499], n as u64);
                world.check().unwrap();
            }
            assert_eq!(told(&world), before, "{what}");
        }
        assert!(
            world
                .matching::<With<u8>>()
                .unwrap()
                .add(|_: Entity| (Marked,))
                .is_ok()
        );
        // There is room now, and each does what it was to do.
        let (few, others) = ants.split_at(20);
        assert!(world.destroy_slice(others).is_clean());
        world.trim();
        for ((what, call), &ant) in CALLS.iter().zip(few) {
            let done = call(&mut world, ant, Counted::new(&alive));
            assert!(done.is_ok(), "{what}: {done:?}");
            world.check().unwrap();
        }
        // Three of them require another.
        assert_eq!(alive.load(Ordering::Relaxed), CALLS.len() + 3);
        assert!(told(&world) > before || !is_watched);
        drop(world);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_bundle_of_what_goes_that_names_a_fragment_twice_ends_what_was_to_come() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let ant = world.create((1_u8, 2_u16)).unwrap();
    let value = || Load(Counted::new(&alive));
    type Swap<'a> = &'a dyn Fn(&mut World) -> Result<(), WorldError>;
    let calls: [Swap<'_>; 3] = [
        &|world| world.swap::<(u8, u8), _>(ant, (value(),)),
        &|world| world.swap::<(u8, u8), _>(ant, (value(),).shared(1_u32)),
        &|world| world.swap::<(u8, u8), _>(ant, ((value(),).per_chunk('c')).shared(1_u32)),
    ];
    for call in calls {
        let refused = call(&mut world).unwrap_err();
        assert!(
            matches!(&refused, WorldError::Fragment(FragmentError::Twice { name, .. }) if &**name == "u8"),
            "{refused}"
        );
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        assert_eq!(world.get::<u8>(ant).unwrap(), &1);
        assert!(!world.has::<Load>(ant).unwrap());
        world.check().unwrap();
    }
}
