//! What calls leave behind that find no room.

use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use crate::archetype::scarce::Scarce;
use crate::entity::Entity;
use crate::fragment::{Bundle, DynamicBundle, Value};
use crate::query::With;
use crate::world::{Prototype, World, WorldError};

/// Counted by who has the second part.
#[derive(Clone, Debug)]
struct Weather(u32, Arc<()>);

/// What the calls are given, but for the weather.
#[derive(Clone, Copy)]
struct Given {
    /// Has a `u64`.
    ant: Entity,
    reserved: Entity,
}

/// A call that brings the weather of a new archetype.
type Call = fn(&mut World, Given, Weather) -> Result<Entity, WorldError>;

fn dynamic(world: &World, weather: Weather) -> DynamicBundle {
    let registry = world.registry();
    DynamicBundle::new()
        .with(Value::cloneable(registry, 1_u16).unwrap())
        .with(Value::per_chunk(registry, weather).unwrap())
}

const CALLS: [(&str, Call); 11] = [
    ("create", |world, _, weather| {
        world.create((1_u16,).per_chunk(weather))
    }),
    ("create, shared", |world, _, weather| {
        world.create((1_u16,).shared("red").per_chunk(weather))
    }),
    ("build", |world, given, weather| {
        world.build(given.reserved, (1_u16,).per_chunk(weather))?;
        Ok(given.reserved)
    }),
    ("create_dynamic", |world, _, weather| {
        let bundle = dynamic(world, weather);
        world.create_dynamic(bundle)
    }),
    ("build_dynamic", |world, given, weather| {
        let bundle = dynamic(world, weather);
        world.build_dynamic(given.reserved, bundle)?;
        Ok(given.reserved)
    }),
    ("create_batch", |world, _, weather| {
        let bundles = (0..3).map(|_| (1_u16,).per_chunk(weather.clone()));
        let batch = world.create_batch(bundles)?;
        Ok(batch.iter(world).next().unwrap())
    }),
    ("create_copies", |world, _, weather| {
        let bundle = dynamic(world, weather);
        let prototype = Prototype::new(world.registry(), bundle)?;
        let batch = world.create_copies(&prototype, 1_000)?;
        Ok(batch.iter(world).next().unwrap())
    }),
    ("add", |world, given, weather| {
        world.add(given.ant, (1_u16,).per_chunk(weather))?;
        Ok(given.ant)
    }),
    ("add_dynamic", |world, given, weather| {
        let bundle = dynamic(world, weather);
        world.add_dynamic(given.ant, bundle)?;
        Ok(given.ant)
    }),
    ("swap", |world, given, weather| {
        world.swap::<(u64,), _>(given.ant, (1_u16,).per_chunk(weather))?;
        Ok(given.ant)
    }),
    ("add, of all that match", |world, given, weather| {
        let change = world.matching::<With<u64>>().unwrap();
        change.add(|_| (1_u16,).per_chunk(weather.clone()))?;
        Ok(given.ant)
    }),
];

#[test]
fn a_refused_call_leaves_nothing_that_chunks_begin_with() {
    let mut scarce = Scarce::new();
    for (name, call) in CALLS {
        let mut world = World::of(&scarce.universe).unwrap();
        world.set_chunk_size(1);
        let given = Given {
            ant: world.create((1_u64,)).unwrap(),
            reserved: world.reserve().unwrap(),
        };
        let old = Weather(1, Arc::default());
        world.create((1_i8,).per_chunk(old.clone())).unwrap();
        scarce.leave(0);
        let before = (world.archetypes().len(), Arc::strong_count(&old.1));
        let refused = Weather(2, Arc::default());
        for _ in 0..3 {
            let result = call(&mut world, given, refused.clone());
            assert!(matches!(result, Err(WorldError::Chunk(_))), "{name}");
            assert_eq!(Arc::strong_count(&refused.1), 1, "{name}");
            let now = (world.archetypes().len(), Arc::strong_count(&old.1));
            assert_eq!(now, before, "{name}");
            world.check().unwrap();
        }
        scarce.leave(20);
        let entity = call(&mut world, given, Weather(3, Arc::default())).unwrap();
        let weather = world.chunk_fragment::<Weather>(entity).unwrap();
        assert_eq!(weather.0, 3, "{name}");
        world.check().unwrap();
    }
}

#[test]
fn a_batch_that_is_refused_in_its_middle_leaves_nothing_that_chunks_begin_with() {
    let mut scarce = Scarce::new();
    let mut world = World::of(&scarce.universe).unwrap();
    world.set_chunk_size(1);
    scarce.leave(1);
    // The first chunk has room for some of them only.
    let weather = Weather(1, Arc::default());
    let bundles = (0..1_000).map(|_| ([1_u64; 100],).per_chunk(weather.clone()));
    let archetypes = world.archetypes().len();
    let result = world.create_batch(bundles);
    assert!(matches!(result, Err(WorldError::Chunk(_))));
    assert_eq!((world.count(), world.archetypes().len()), (0, archetypes));
    assert_eq!(Arc::strong_count(&weather.1), 1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let bundles = (0..3_u32).map(|n| {
            if n == 2 {
                resume_unwind(Box::new(()));
            }
            (1_u16,).per_chunk(Weather(n, Arc::clone(&weather.1)))
        });
        drop(world.create_batch(bundles));
    }));
    panicked.unwrap_err();
    assert_eq!(Arc::strong_count(&weather.1), 1);
    let ant = world.create((1_u16,).per_chunk(Weather(9, Arc::default())));
    let ant = ant.unwrap();
    assert_eq!(world.chunk_fragment::<Weather>(ant).unwrap().0, 9);
    world.destroy(ant).unwrap();
    scarce.check(&world);
    world.trim();
    let last = world.create(([1_u64; 100],)).unwrap();
    assert!(world.chunk_fragment::<Weather>(last).is_err());
    scarce.check(&world);
}

/// Values without a size, alive.
static TAGS: AtomicIsize = AtomicIsize::new(0);

struct Tag;

impl Tag {
    fn new() -> Self {
        // Ordering: only the count matters.
        TAGS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        TAGS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn tags_that_were_made_for_entities_that_find_no_room_are_dropped() {
    let mut scarce = Scarce::new();
    let mut world = World::of(&scarce.universe).unwrap();
    world.set_chunk_size(1);
    for n in 0..2_000_u64 {
        world.create((n,)).unwrap();
    }
    scarce.leave(0);
    let full = world.archetypes[0].chunks[0].entities().to_vec();
    let added = catch_unwind(AssertUnwindSafe(|| {
        let report = world.add_slice(&full, |n| {
            if n == 10 {
                resume_unwind(Box::new(()));
            }
            (n as u8, Tag::new())
        });
        report.into_result().unwrap();
    }));
    added.unwrap_err();
    let count = world.read::<Entity, With<Tag>>().unwrap().count();
    assert_eq!(TAGS.load(Ordering::Relaxed), count as isize);
    scarce.check(&world);
    drop(world);
    assert_eq!(TAGS.load(Ordering::Relaxed), 0);
}

#[test]
fn a_slice_whose_first_entity_finds_no_room_keeps_what_those_behind_it_share() {
    for swaps in [false, true] {
        let mut scarce = Scarce::new();
        let mut world = World::of(&scarce.universe).unwrap();
        // Three chunks a row, of which there are none.
        let large = world.create(([0_u8; 40_000],)).unwrap();
        let small = world.create((1_u8,)).unwrap();
        let team = Value::shared(world.registry(), String::from("red")).unwrap();
        let team = DynamicBundle::new().with(team);
        let team = Prototype::new(world.registry(), team).unwrap();
        scarce.leave(1);
        let report = match swaps {
            false => world.add_slice_dynamic(&[large, small], &team),
            true => world.swap_slice_dynamic(&[large, small], &[], &team),
        };
        let report = report.unwrap();
        assert!(matches!(report.refused[..], [(0, WorldError::Chunk(_))]));
        assert_eq!(report.done, 1);
        assert_eq!(world.shared::<String>(small).unwrap(), "red");
        scarce.check(&world);
        world.destroy(small).unwrap();
        world.trim();
        // Its number is another's.
        let other = world.create((2_u8,).shared(String::from("blue"))).unwrap();
        assert_eq!(world.shared::<String>(other).unwrap(), "blue");
        scarce.check(&world);
    }
}

#[test]
fn a_slice_that_a_drop_stops_leaves_what_the_chunks_of_who_is_done_begin_with() {
    struct Brittle;
    impl Drop for Brittle {
        fn drop(&mut self) {
            resume_unwind(Box::new(()));
        }
    }
    let weather_after = |of_slice: bool| {
        let mut world = World::new();
        let registry = world.registry();
        let weather = Value::per_chunk(registry, Weather(4, Arc::default())).unwrap();
        let number = Value::cloneable(registry, 7_u16).unwrap();
        let come = DynamicBundle::new().with(weather).with(number);
        let brittle = registry.register::<Brittle>().unwrap().id();
        let before = world.create((1_u8,).per_chunk(Weather(1, Arc::default())));
        let before = before.unwrap();
        let ant = world.create((Brittle, 1_u32)).unwrap();
        let swapped = catch_unwind(AssertUnwindSafe(|| {
            if of_slice {
                let come = Prototype::new(world.registry(), come).unwrap();
                let report = world.swap_slice_dynamic(&[ant], &[brittle], &come);
                report.unwrap().into_result().unwrap();
            } else {
                world.swap_dynamic(ant, &[brittle], come).unwrap();
            }
        }));
        swapped.unwrap_err();
        assert_eq!(world.get::<u16>(ant).unwrap(), &7);
        assert_eq!(world.chunk_fragment::<Weather>(ant).unwrap().0, 4);
        world.add(before, (3_u64,)).unwrap();
        world.check().unwrap();
        world.chunk_fragment::<Weather>(before).unwrap().0
    };
    assert_eq!(weather_after(true), weather_after(false));
}
