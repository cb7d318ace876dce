//! What entities have in common with others, where some have it and some do not.

use megachunk::fragment::{ConstShared, FragmentError, PerChunk, Shared};
use megachunk::prelude::*;

#[test]
fn what_entities_have_in_common_may_be_missing() {
    let mut world = World::new();
    let all = (1_u8,).shared(3_u32).const_shared(4_u64).per_chunk(5_i8);
    let all = world.create(all).unwrap();
    let red = world.create((2_u8,).shared(6_u32)).unwrap();
    let blue = world.create((3_u8,).shared(7_u32)).unwrap();
    let chunks = world.create((4_u8,).per_chunk(8_i8)).unwrap();
    let none = world.create((5_u8,)).unwrap();
    type Lends = (
        &'static mut u8,
        Option<Shared<u32>>,
        Option<ConstShared<u64>>,
        Option<PerChunk<i8>>,
    );
    let expected = [
        (all, (1, Some(3), Some(4), Some(5))),
        (red, (2, Some(6), None, None)),
        (blue, (3, Some(7), None, None)),
        (chunks, (4, None, None, Some(8))),
        (none, (5, None, None, None)),
    ];
    let mut seen = Vec::new();
    let mut query = Query::<(Entity, Lends)>::new(&world).unwrap();
    for (entity, (byte, shared, fixed, chunk)) in query.on(&mut world).iter() {
        seen.push((
            entity,
            (*byte, shared.copied(), fixed.copied(), chunk.copied()),
        ));
    }
    seen.sort_unstable_by_key(|&(_, values)| values);
    assert_eq!(seen, expected);

    // As slices, at random, and for threads that look it up: each finds them in a way of its own.
    let mut slices = Vec::new();
    query
        .on(&mut world)
        .for_each_chunk(|_, (entities, (bytes, shared, fixed, chunk))| {
            for (&entity, &mut byte) in entities.iter().zip(bytes) {
                slices.push((
                    entity,
                    (byte, shared.copied(), fixed.copied(), chunk.copied()),
                ));
            }
        });
    slices.sort_unstable_by_key(|&(_, values)| values);
    assert_eq!(slices, expected);
    for (entity, values) in expected {
        let (_, (byte, shared, fixed, chunk)) = query.get_mut(&mut world, entity).unwrap();
        let got = (*byte, shared.copied(), fixed.copied(), chunk.copied());
        assert_eq!(got, values);
    }
    type Reads = (
        &'static u8,
        Option<Shared<u32>>,
        Option<ConstShared<u64>>,
        Option<PerChunk<i8>>,
    );
    let mut query = Query::<Reads>::new(&world).unwrap();
    let lookup = query.lookup(&world);
    for _ in 0..2 {
        for (entity, values) in expected {
            let (byte, shared, fixed, chunk) = lookup.get(entity).unwrap();
            let got = (*byte, shared.copied(), fixed.copied(), chunk.copied());
            assert_eq!(got, values);
        }
    }

    // By itself it asks for those that have it; it is read once.
    let mut alone = world.query::<Option<Shared<u32>>, ()>().unwrap();
    assert_eq!(alone.count(), 3);
    assert!(alone.iter().all(|value| value.is_some()));
    let twice = Query::<(Shared<u32>, Option<Shared<u32>>)>::new(&world);
    assert!(matches!(
        twice,
        Err(QueryError::Fragment(FragmentError::Twice { .. }))
    ));
    // What is set later is seen by a query that has run.
    let mut query = Query::<(Entity, Option<Shared<u32>>)>::new(&world).unwrap();
    assert_eq!(query.get(&world, none).unwrap(), (none, None));
    world.set_shared(none, 9_u32).unwrap();
    assert_eq!(query.get(&world, none).unwrap(), (none, Some(&9)));
    world.remove::<Shared<u32>>(red).unwrap();
    assert_eq!(query.get(&world, red).unwrap(), (red, None));
}
