//! Random access through kept queries, from any thread.

use megachunk::fragment::{ConstShared, PerChunk, Shared};
use megachunk::prelude::*;

use crate::rows::{F, I, three};

struct Tag;

#[test]
fn lookups_and_kept_queries_go_to_any_thread_whatever_they_lend() {
    fn goes<T: Send + Sync>() {}
    type Lends = (
        Entity,
        &'static f32,
        &'static mut i32,
        Shared<u8>,
        PerChunk<u8>,
    );
    goes::<QueryLookup<'_, Lends, With<Tag>>>();
    goes::<Query<(Lends, ConstShared<u8>), Without<Tag>>>();
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
    let error = bits.get(other).unwrap_err().to_string();
    let told = "the query (&u32, With<u16>) does not match it";
    assert!(error.ends_with(told), "{error}");

    let mut numbers = Query::<&mut u32>::new(&world).unwrap();
    let (mut seen, mut refused) = (Vec::new(), 0);
    numbers
        .lookup_mut(&mut world)
        .get_each(&ants, |at, number| {
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

#[test]
fn threads_look_up_values_that_entities_have_in_common() {
    let mut world = World::new();
    let bundle = (1_u32,).shared("red").const_shared(7_u8).per_chunk(9_u16);
    let entity = world.create(bundle).unwrap();
    type Common = (
        &'static u32,
        Shared<&'static str>,
        ConstShared<u8>,
        PerChunk<u16>,
    );
    let mut query = Query::<Common>::new(&world).unwrap();
    let lookup = query.lookup(&world);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(lookup.get(entity).unwrap(), (&1, &"red", &7, &9)));
        }
    });
}

#[test]
fn several_entities_are_lent_together_and_none_twice() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..3_u32).map(|n| world.create((n,)).unwrap()).collect();
    let tagged = world.create((7_u32, Tag)).unwrap();
    let without = world.create((1_i8,)).unwrap();
    let dead = world.create((9_u32,)).unwrap();
    world.destroy(dead).unwrap();
    let mut query = Query::<(Entity, &mut u32)>::new(&world).unwrap();
    let mut changed = Query::<Entity, Changed<u32>>::new(&world).unwrap();
    assert_eq!(changed.read(&world).count(), 4);

    let [last, first, other] = world
        .get_disjoint_mut::<u32, 3>([ants[2], ants[0], tagged])
        .unwrap();
    core::mem::swap(last, first);
    *other += *first;
    let numbers = [ants[0], ants[2], tagged].map(|ant| *world.get::<u32>(ant).unwrap());
    assert_eq!(numbers, [2, 0, 9]);
    let [] = world.get_disjoint_mut::<u32, 0>([]).unwrap();
    let refused = world.get_disjoint_mut::<Tag, 2>([tagged, tagged]);
    assert!(matches!(refused, Err(WorldError::Twice { entity }) if entity == tagged));
    assert_eq!(changed.read(&world).count(), 4, "all of both chunks");

    // Refused: nothing counts as changed.
    assert_eq!(changed.read(&world).count(), 0);
    let refused = world.get_disjoint_mut::<u32, 2>([ants[0], dead]);
    assert!(matches!(refused, Err(WorldError::Entity(_))));
    let refused = world.get_disjoint_mut::<u32, 2>([ants[0], without]);
    assert_eq!(refused.unwrap_err().entity(), Some(without));
    let refused = world.get_disjoint_mut::<u32, 3>([ants[0], ants[1], ants[0]]);
    assert!(matches!(refused, Err(WorldError::Twice { entity }) if entity == ants[0]));
    assert_eq!(changed.read(&world).count(), 0);

    let mut lookup = query.lookup_mut(&mut world);
    let [(left, one), (right, two)] = lookup.get_disjoint_mut([tagged, ants[1]]).unwrap();
    assert_eq!((left, right), (tagged, ants[1]));
    core::mem::swap(one, two);
    let refused = lookup.get_disjoint_mut([ants[1], ants[1]]);
    assert_eq!(refused.unwrap_err().entity(), Some(ants[1]));
    let refused = lookup.get_disjoint_mut([ants[1], without]);
    assert!(matches!(refused, Err(WorldError::Missing { .. })));
    assert!(lookup.get_disjoint_mut([dead]).is_err());
    assert_eq!(world.get::<u32>(ants[1]).unwrap(), &9);
    assert_eq!(world.get::<u32>(tagged).unwrap(), &1);
    assert_eq!(changed.read(&world).count(), 4);
    let mut lookup = query.lookup_mut(&mut world);
    assert!(lookup.get_disjoint_mut([ants[1], tagged, without]).is_err());
    assert!(lookup.get_disjoint_mut([tagged, dead]).is_err());
    assert_eq!(changed.read(&world).count(), 0, "refused: no change");
}

#[test]
fn several_entities_are_lent_together_where_each_is_asked_for_first() {
    let mut world = World::new();
    world.registry().register_enableable::<Tag>().unwrap();
    let ants: Vec<Entity> = (0..3_u32)
        .map(|n| world.create((n, Tag)).unwrap())
        .collect();
    let untagged = world.create((7_u32,)).unwrap();
    world.set_enabled::<Tag>(ants[1], false).unwrap();
    let mut tagged = Query::<&mut u32, With<Tag>>::new(&world).unwrap();
    let mut changed = Query::<Entity, Changed<u32>>::new(&world).unwrap();
    assert_eq!(changed.read(&world).count(), 4);
    let mut lookup = tagged.lookup_mut(&mut world);
    for refused in [ants[1], untagged] {
        let result = lookup.get_disjoint_mut([ants[0], refused]);
        assert!(matches!(result, Err(WorldError::Missing { entity, .. }) if entity == refused));
    }
    let result = lookup.get_disjoint_mut([ants[2], ants[2]]);
    assert_eq!(result.unwrap_err().entity(), Some(ants[2]));
    assert_eq!(changed.read(&world).count(), 0, "refused: no change");
    let mut lookup = tagged.lookup_mut(&mut world);
    let [last, first] = lookup.get_disjoint_mut([ants[2], ants[0]]).unwrap();
    core::mem::swap(last, first);
    assert_eq!(world.get::<u32>(ants[0]), Ok(&2));
    assert_eq!(world.get::<u32>(ants[2]), Ok(&0));
    assert_eq!(changed.read(&world).count(), 3, "all of the chunk");
}

#[test]
fn a_run_lends_single_entities_that_it_sees() {
    let (mut world, [f, i, both]) = three();
    world.registry().register_enableable::<Tag>().unwrap();
    let off = world.create((5 as I, Tag)).unwrap();
    let on = world.create((6 as I, Tag)).unwrap();
    world.set_enabled::<Tag>(off, false).unwrap();
    let missing = |result: Result<&mut I, WorldError>, of: Entity| matches!(result, Err(WorldError::Missing { entity, .. }) if entity == of);
    let mut query = Query::<&mut I>::new(&world).unwrap();
    let mut run = query.on(&mut world);
    *run.get_mut(both).unwrap() += 40;
    *run.get_mut(both).unwrap() += 400;
    assert!(missing(run.get_mut(f), f));
    assert_eq!(run.get_mut(off).unwrap(), &5);
    let mut few = run.filter_chunks(|chunk| chunk.has::<F>());
    assert_eq!(few.get_mut(both).unwrap(), &442);
    assert!(
        missing(few.get_mut(i), i),
        "the filter of chunks passes it by"
    );
    drop(few);
    let mut tagged = Query::<&I, With<Tag>>::new(&world).unwrap();
    let run = tagged.read(&world);
    let (one, again) = (run.get(on).unwrap(), run.get(on).unwrap());
    assert!(core::ptr::eq(one, again));
    assert!(run.get(off).is_err(), "it is switched off");
    drop(run);
    let mut changed = Query::<&I, Changed<I>>::new(&world).unwrap();
    assert!(changed.on(&mut world).get(i).is_ok());
    assert!(
        changed.on(&mut world).get(i).is_err(),
        "nothing has changed since"
    );
    world.destroy(both).unwrap();
    let stale = query.on(&mut world).get_mut(both).map(|_| ());
    assert!(matches!(stale, Err(WorldError::Entity(_))));
}
