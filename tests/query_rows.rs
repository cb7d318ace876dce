//! STACK's section "Queries", a test a row.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::FragmentError;
use megachunk::prelude::*;
use megachunk::query::Moved;

type F = f32;
type I = i32;
struct Tag;

/// One of {F}, one of {I}, one of {F, I}.
fn three() -> (World, [Entity; 3]) {
    let mut world = World::new();
    let f = world.create((1.0_f32,)).unwrap();
    let i = world.create((1_i32,)).unwrap();
    let both = world.create((2.0_f32, 2_i32)).unwrap();
    (world, [f, i, both])
}

#[test]
fn presence_all_any_none_optional_match_what_the_table_says() {
    let (mut world, _) = three();
    // Mass counts what an optional requirement alone finds something of: that is `Any` here.
    let mut optional = world.query::<Option<&I>, Any<(I,)>>().unwrap();
    assert_eq!(optional.count(), 2);
    let mut both = world.query::<(&F, Option<&I>), ()>().unwrap();
    let is_there: Vec<_> = both.iter().map(|(_, i)| i.is_some()).collect();
    assert_eq!(is_there, [false, true]);
    assert_eq!(world.query::<&F, Without<I>>().unwrap().count(), 1);
    assert_eq!(world.query::<Entity, Any<(F, I)>>().unwrap().count(), 3);
    assert_eq!(
        world.query::<Entity, (With<F>, With<I>)>().unwrap().count(),
        1
    );
    assert_eq!(
        world
            .query::<Entity, (Without<F>, Without<I>)>()
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn any_pools_fragments_and_tags() {
    let (mut world, [f, i, _]) = three();
    world.add(i, (Tag,)).unwrap();
    let mut any = world.query::<Entity, Any<(F, Tag)>>().unwrap();
    assert_eq!(any.count(), 3);
    world.remove::<(Tag,)>(i).unwrap();
    world.remove::<(F,)>(f).unwrap();
    assert_eq!(world.query::<Entity, Any<(F, Tag)>>().unwrap().count(), 1);
}

#[test]
fn access_none_read_and_write_over_fragments_tags_chunk_and_shared_fragments() {
    let mut world = World::new();
    let ant = world
        .create(
            (1_u8, Tag, 2_u16)
                .shared(3_u32)
                .const_shared(4_u64)
                .per_chunk(5_i8),
        )
        .unwrap();
    world.create((1_u8, Tag)).unwrap();
    type All = (
        Entity,
        &'static u8,
        &'static mut u16,
        Has<Tag>,
        Shared<u32>,
        ConstShared<u64>,
        PerChunk<i8>,
    );
    let mut query = Query::<All, With<Tag>>::new(&world).unwrap();
    let registry = world.registry();
    let requirements = query.requirements();
    let (read, written) = (
        registry.of::<u8>().unwrap().id(),
        registry.of::<u16>().unwrap().id(),
    );
    let tag = registry.of::<Tag>().unwrap().id();
    assert!(requirements.reads().contains(read) && !requirements.writes().contains(read));
    assert!(requirements.writes().contains(written) && requirements.required().contains(tag));
    assert!(!requirements.reads().contains(tag) && !requirements.writes().contains(tag));
    let mut run = query.on(&mut world);
    let (entity, byte, short, tag, shared, for_ever, chunk) = run.single().unwrap();
    *short += 1;
    assert_eq!((entity, *byte, *short, tag), (ant, 1, 3, true));
    assert_eq!((*shared, *for_ever, *chunk), (3, 4, 5));
}

#[test]
fn matches_are_cached_and_only_new_archetypes_are_looked_at() {
    let (mut world, _) = three();
    let mut query = Query::<Entity, Any<(F, I)>>::new(&world).unwrap();
    let known = |query: &Query<Entity, Any<(F, I)>>, count: usize| {
        assert!(
            format!("{query:?}").contains(&format!("matches: {count}")),
            "{query:?}"
        );
    };
    known(&query, 0);
    for _ in 0..3 {
        assert_eq!(query.read(&world).count(), 3);
        known(&query, 3);
    }
    world.create((1_u8,)).unwrap();
    world.create((1_u8, 1_i32)).unwrap();
    known(&query, 3);
    assert_eq!(query.on(&mut world).count(), 4);
    known(&query, 4);
    // Another world is another matter.
    let (other, _) = three();
    assert_eq!(query.read(&other).count(), 3);
    assert_eq!(query.read(&world).count(), 4);
}

#[test]
fn a_contradictory_query_is_an_error_when_it_is_built() {
    let (mut world, _) = three();
    let contradiction = world.query::<&F, Without<F>>().map(drop);
    assert!(matches!(&contradiction, Err(QueryError::Contradiction { name }) if &**name == "f32"));
    let contradiction = world.query::<Entity, (With<Tag>, Without<Tag>)>().map(drop);
    assert!(matches!(
        contradiction,
        Err(QueryError::Contradiction { .. })
    ));
    let conflicts = [
        world.query::<(&F, &mut F), ()>().map(drop),
        world.query::<(&mut F, &F), ()>().map(drop),
        world.query::<(&mut F, &mut F), ()>().map(drop),
        world.query::<(&mut F, Option<&mut F>), ()>().map(drop),
        world
            .query::<((Entity, &mut F), (&I, Option<&F>)), ()>()
            .map(drop),
    ];
    for conflict in conflicts {
        assert!(matches!(&conflict, Err(QueryError::Conflict { name }) if &**name == "f32"));
    }
    let twice = world.query::<(&F, Option<&F>), ()>().map(drop);
    assert!(matches!(
        twice,
        Err(QueryError::Fragment(FragmentError::Twice { .. }))
    ));
}

#[test]
fn the_chunk_filter_decides_per_chunk_before_entities_are_bound() {
    let mut world = World::new();
    for n in 0..100_u32 {
        world.create((n,).shared(n % 4).per_chunk(0_i64)).unwrap();
    }
    let asked = AtomicUsize::new(0);
    let mut query = Query::<&u32>::new(&world).unwrap();
    let mut run = query.read(&world).filter_chunks(|chunk| {
        asked.fetch_add(1, Ordering::Relaxed);
        assert_eq!((chunk.chunk_fragment::<i64>(), chunk.len()), (Some(&0), 25));
        chunk.shared::<u32>().is_some_and(|team| team % 2 == 1)
    });
    let mut sum = 0;
    run.for_each(|n| {
        assert_eq!(n % 2, 1);
        sum += n;
    });
    drop(run);
    assert_eq!((sum, asked.load(Ordering::Relaxed)), (2_500, 4));
    let both = query
        .read(&world)
        .filter_chunks(|c| c.len() == 25)
        .shared(&3_u32)
        .count();
    assert_eq!(both, 25);
}

#[test]
fn shared_value_change_and_order_filters() {
    let mut world = World::new();
    let ants: Vec<_> = (0..10_u32)
        .map(|n| world.create((n,).shared(n % 2)).unwrap())
        .collect();
    let mut odd = Query::<&u32>::new(&world).unwrap();
    assert!(odd.read(&world).shared(&1_u32).iter().all(|n| n % 2 == 1));
    assert_eq!(odd.read(&world).shared(&7_u32).count(), 0);
    let mut changed = Query::<Entity, Changed<u32>>::new(&world).unwrap();
    let mut moved = Query::<Entity, Moved>::new(&world).unwrap();
    let _ = (changed.read(&world).count(), moved.read(&world).count());
    odd.on(&mut world).for_each(|_| {});
    assert_eq!(changed.read(&world).count(), 0, "reading changes nothing");
    world.set_shared(ants[0], 1_u32).unwrap();
    assert_eq!(
        (changed.read(&world).count(), moved.read(&world).count()),
        (6, 10)
    );
}

#[test]
fn for_each_entity_for_each_chunk_and_parallel_for_each_chunk() {
    let mut world = World::new();
    world
        .create_batch((0..5_000_u64).map(|n| (n, 1.5_f32)))
        .unwrap();
    world
        .create_batch((5_000..6_000_u64).map(|n| (n,)))
        .unwrap();
    let all: BTreeSet<u64> = (0..6_000).collect();
    let mut query = Query::<(Entity, &mut u64, Option<&f32>)>::new(&world).unwrap();
    let mut seen = BTreeSet::new();
    query
        .on(&mut world)
        .for_each(|(_, n, _)| assert!(seen.insert(*n)));
    assert_eq!(seen, all);
    seen.clear();
    query
        .on(&mut world)
        .for_each_chunk(|chunk, (entities, numbers, floats)| {
            assert_eq!((chunk.len(), chunk.entities()), (numbers.len(), entities));
            assert!(floats.is_none_or(|floats| floats.len() == numbers.len()));
            assert_eq!(chunk.has::<f32>(), floats.is_some());
            seen.extend(numbers.iter().copied());
        });
    assert_eq!(seen, all);
    let seen = Mutex::new(BTreeSet::new());
    query
        .on(&mut world)
        .par_for_each(|(_, n, _)| assert!(seen.lock().unwrap().insert(*n)));
    assert_eq!(seen.into_inner().unwrap(), all);
    query
        .on(&mut world)
        .par_for_each_chunk(|_, (_, numbers, _)| {
            numbers.iter_mut().for_each(|n| *n += 1);
        });
    let sum: u64 = query.read_sum(&mut world);
    assert_eq!(sum, 5_999 * 3_000 + 6_000);
}

/// A last look, by the iterator.
trait ReadSum {
    fn read_sum(&mut self, world: &mut World) -> u64;
}

impl ReadSum for Query<(Entity, &'static mut u64, Option<&'static f32>)> {
    fn read_sum(&mut self, world: &mut World) -> u64 {
        self.on(world).iter().map(|(_, n, _)| *n).sum()
    }
}

#[test]
fn random_access_single_entity_count_first_and_iter() {
    let (mut world, [f, i, both]) = three();
    let mut query = Query::<(&mut F, Entity)>::new(&world).unwrap();
    *query.get(&mut world, both).unwrap().0 += 1.0;
    assert_eq!(world.get::<F>(both).unwrap(), &3.0);
    assert!(
        matches!(query.get(&mut world, i), Err(WorldError::Missing { entity, .. }) if entity == i)
    );
    let mut run = query.on(&mut world);
    assert_eq!((run.count(), run.is_empty()), (2, false));
    assert!(run.single().is_none());
    assert_eq!(run.first().unwrap().1, f);
    assert_eq!(
        run.iter().map(|(_, entity)| entity).collect::<Vec<_>>(),
        [f, both]
    );
    drop(run);
    world.destroy(f).unwrap();
    assert!(matches!(
        query.get(&mut world, f),
        Err(WorldError::Entity(_))
    ));
    assert_eq!(query.on(&mut world).single().unwrap().1, both);
    world.destroy(both).unwrap();
    assert!(query.on(&mut world).first().is_none());
    assert!(query.on(&mut world).is_empty());
    let mut read = Query::<&I, Without<F>>::new(&world).unwrap();
    assert_eq!(read.peek(&world, i).unwrap(), &1);
}

#[test]
fn a_lookup_finds_by_handle_what_the_query_sees_and_nothing_else() {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_enableable::<u16>().unwrap();
    let bundles = (0..5_000_u32).map(|n| (n, n as u16));
    let batch = world.create_batch(bundles).unwrap();
    let mut ants: Vec<Entity> = batch.iter(&world).collect();
    for ant in ants.iter().skip(1).step_by(5) {
        world.add(*ant, ("marked",)).unwrap();
    }
    for ant in ants.iter().step_by(7) {
        world.set_enabled::<u16>(*ant, false).unwrap();
    }
    let (other, dead) = (world.create((1_i8,)).unwrap(), ants[3]);
    world.destroy(dead).unwrap();
    ants.extend([other, dead]);
    ants.reverse();

    // Where bits decide, where chunks are asked, and where neither is the case.
    let mut plain = Query::<&u32>::new(&world).unwrap();
    let mut bits = Query::<&u32, With<u16>>::new(&world).unwrap();
    let mut changed = Query::<&u32, Changed<u32>>::new(&world).unwrap();
    let (plain, bits) = (plain.lookup(&world), bits.lookup(&world));
    let changed = changed.lookup(&world);
    for &ant in &ants {
        let expected = world.get::<u32>(ant);
        let number = plain.get(ant);
        assert_eq!(number.is_ok(), expected.is_ok());
        assert_eq!(number.ok(), expected.as_ref().ok().copied());
        assert_eq!(changed.get(ant).is_ok(), expected.is_ok());
        let enabled = expected.as_ref().is_ok_and(|&&n| n % 7 != 0);
        assert_eq!(bits.get(ant).is_ok(), enabled);
    }
    assert!(matches!(plain.get(dead), Err(WorldError::Entity { .. })));
    assert!(matches!(plain.get(other), Err(WorldError::Missing { .. })));

    let mut numbers = Query::<&mut u32>::new(&world).unwrap();
    let (mut seen, mut refused) = (Vec::new(), 0);
    numbers
        .lookup_mut(&mut world)
        .for_each(&ants, |at, number| {
            seen.push(at);
            match number {
                Ok(number) => *number += 1,
                Err(_) => refused += 1,
            }
        });
    assert!(seen.into_iter().eq(0..ants.len()), "in the slice's order");
    assert_eq!(refused, 3, "the other one, and the dead one twice");
    assert_eq!(world.get::<u32>(ants[10]).unwrap() % 5_000, 4_992);
    *numbers.lookup_mut(&mut world).get_mut(ants[10]).unwrap() = 7;
    assert_eq!(world.get::<u32>(ants[10]).unwrap(), &7);
}
