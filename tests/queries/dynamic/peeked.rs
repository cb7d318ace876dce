//! Other entities than those in hand, looked at between and within loops.

use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::FragmentError;
use megachunk::prelude::*;
use megachunk::query::{Access, DynamicQuery};
use megachunk::world::{Lack, WorldError};

use crate::dynamic::{Asleep, Ids, Wet};

/// Why it was refused.
#[track_caller]
fn lack<T: core::fmt::Debug>(refused: Result<T, WorldError>) -> Lack {
    match refused {
        Err(WorldError::Missing { lack, .. }) => lack,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_parallel_loop_looks_at_others_that_it_has_not_in_hand() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let batch = world.create_batch((0..60_000_u32).map(|n| (n, 0_u64)));
    let ants = batch.unwrap().to_vec(&world);
    let mut query = DynamicQuery::builder(&world)
        .read(ids.number)
        .write(ids.big)
        .build()
        .unwrap();
    let chunks = AtomicUsize::new(0);
    query
        .on(&mut world)
        .unwrap()
        .par_for_each_chunk(|mut chunk| {
            chunks.fetch_add(1, Ordering::Relaxed);
            let numbers = chunk.read(ids.number).unwrap().slice::<u32>().unwrap();
            let sums = chunk.write(ids.big).unwrap().slice::<u64>().unwrap();
            for row in chunk.rows() {
                let other = ants[(numbers[row] as usize + 30_000) % ants.len()];
                let there = chunk.peek(other, ids.number).unwrap();
                sums[row] = u64::from(*there.value::<u32>().unwrap());
                // Whosever it is: another thread may write it now.
                for entity in [other, chunk.entities()[row]] {
                    assert_eq!(lack(chunk.peek(entity, ids.big)), Lack::LentToWrite);
                }
            }
        });
    assert!(chunks.into_inner() > 1);
    for (n, &ant) in (0_u64..).zip(&ants) {
        assert_eq!(world.get::<u64>(ant).unwrap(), &((n + 30_000) % 60_000));
    }
}

#[test]
fn what_is_peeked_at_outlives_the_chunk_in_hand() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let [ant, bee] = [1_u32, 2].map(|n| world.create((n, 0_u64)).unwrap());
    let mut query = DynamicQuery::builder(&world)
        .read(ids.number)
        .write(ids.big)
        .build()
        .unwrap();
    let mut run = query.on(&mut world).unwrap();
    let kept = run.get_mut(ant).unwrap().peek(bee, ids.number).unwrap();
    assert_eq!(kept.value::<u32>(), Ok(&2));
}

#[test]
fn who_is_not_seen_or_not_lent_is_refused() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let ant = world.create((1_u32, Wet)).unwrap();
    let asleep = world.create((2_u32, Wet, Asleep)).unwrap();
    let gone = world.create((3_u32, Wet)).unwrap();
    let dry = world.create((4_u32, Wet)).unwrap();
    let small = world.create((5_u32, Wet, 6_u8)).unwrap();
    world.set_enabled::<Wet>(dry, false).unwrap();
    world.destroy(gone).unwrap();
    let reserved = world.reserve().unwrap();
    let mut query = DynamicQuery::builder(&world)
        .read(ids.number)
        .with(ids.wet)
        .without(ids.asleep)
        .optional(ids.small, Access::Read)
        .build()
        .unwrap();
    let other = World::new();
    let mut unknown = ids.number;
    for at in 0..100 {
        let name = format!("fragment {at}");
        let layout = core::alloc::Layout::new::<u8>();
        unknown = other.registry().define_plain(&name, layout).unwrap().id();
    }
    type Peeked<'w> = Result<megachunk::fragment::Values<'w>, WorldError>;
    type Peek<'p, 'w> = &'p dyn Fn(Entity, megachunk::fragment::FragmentId) -> Peeked<'w>;
    let check = |peek: Peek<'_, '_>| {
        assert_eq!(peek(ant, ids.number).unwrap().value::<u32>(), Ok(&1));
        assert_eq!(peek(small, ids.small).unwrap().value::<u8>(), Ok(&6));
        assert_eq!(lack(peek(asleep, ids.number)), Lack::Match);
        assert_eq!(lack(peek(dry, ids.number)), Lack::Match);
        assert_eq!(lack(peek(ant, ids.wet)), Lack::Lent);
        assert_eq!(lack(peek(ant, ids.heat)), Lack::Lent);
        assert_eq!(lack(peek(ant, ids.small)), Lack::Fragment);
        assert!(matches!(peek(gone, ids.number), Err(WorldError::Entity(_))));
        assert!(matches!(
            peek(reserved, ids.number),
            Err(WorldError::NotBuilt { .. })
        ));
        assert!(matches!(
            peek(ant, unknown),
            Err(WorldError::Fragment(FragmentError::Unknown { .. }))
        ));
    };
    let mut run = query.on(&mut world).unwrap();
    check(&|entity, id| run.peek(entity, id));
    let chunk = run.first().unwrap();
    check(&|entity, id| chunk.peek(entity, id));
}

#[test]
fn between_loops_also_what_is_lent_to_be_written_is_looked_at_and_has_not_changed() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let ant = world.create((1_u32,)).unwrap();
    let mut changed = Query::<Entity, Changed<u32>>::new(&world).unwrap();
    assert_eq!(changed.on(&mut world).count(), 1);
    let mut query = DynamicQuery::builder(&world)
        .write(ids.number)
        .build()
        .unwrap();
    let run = query.on(&mut world).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let value = run.peek(ant, ids.number).unwrap();
                assert_eq!(value.value::<u32>(), Ok(&1));
            });
        }
    });
    drop(run);
    assert_eq!(changed.on(&mut world).count(), 0);
}

#[test]
fn within_a_loop_filters_of_chunks_are_not_asked() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let hot = world
        .create((1_u32,).per_chunk(100_i64).shared(1_i16))
        .unwrap();
    let cold = world
        .create((2_u32,).per_chunk(-5_i64).shared(2_i16))
        .unwrap();
    *world.chunk_fragment_mut::<i64>(cold).unwrap() = -5;
    let mut query = DynamicQuery::builder(&world)
        .read(ids.number)
        .write(ids.heat)
        .changed(ids.number)
        .build()
        .unwrap();
    let run = query.on(&mut world).unwrap();
    // It looks at the chunk's fragment, which is lent to be written below.
    let asked = AtomicUsize::new(0);
    let mut run = run.filter_chunks(|chunk| {
        asked.fetch_add(1, Ordering::Relaxed);
        chunk.chunk_fragment::<i64>().is_some_and(|&heat| heat > 0)
    });
    assert_eq!(lack(run.peek(cold, ids.number)), Lack::Match);
    let before = asked.load(Ordering::Relaxed);
    let mut chunks = 0;
    run.for_each_chunk(|mut chunk| {
        let heat = chunk.write(ids.heat).unwrap().value::<i64>().unwrap();
        assert_eq!(chunk.peek(hot, ids.number).unwrap().value::<u32>(), Ok(&1));
        assert_eq!(chunk.peek(cold, ids.number).unwrap().value::<u32>(), Ok(&2));
        assert_eq!(lack(chunk.peek(cold, ids.heat)), Lack::LentToWrite);
        *heat += 1;
        chunks += 1;
    });
    drop(run);
    assert_eq!(chunks, 1);
    assert_eq!(
        asked.into_inner(),
        before + 2,
        "of each chunk of the walk once"
    );
    assert_eq!(world.chunk_fragment::<i64>(hot).unwrap(), &101);
}

#[test]
fn who_is_switched_off_by_the_same_loop_is_seen_by_it_all_the_same() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let batch = world.create_batch((0..20_000_u32).map(|n| (n, Wet)));
    let ants = batch.unwrap().to_vec(&world);
    let mut query = DynamicQuery::builder(&world)
        .read(ids.number)
        .with(ids.wet)
        .switch(ids.wet)
        .build()
        .unwrap();
    let mut run = query.on(&mut world).unwrap();
    let mut chunks = 0;
    run.for_each_chunk(|chunk| {
        chunks += 1;
        let switches = chunk.switches(ids.wet).unwrap();
        for row in chunk.rows() {
            switches.at(row).set(false);
        }
        // Those of chunks before have been switched off as well as those of this one.
        assert!(chunk.peek(ants[0], ids.number).is_ok());
    });
    assert!(chunks > 1);
    // Between loops, what is off is not seen.
    assert_eq!(lack(run.peek(ants[0], ids.number)), Lack::Match);
}
