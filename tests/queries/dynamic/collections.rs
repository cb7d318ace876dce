//! Queries on entities that somebody names: split at the borders of chunks, each entity once.

use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::query::DynamicQuery;

use crate::dynamic::Ids;
use crate::support::Dice;

#[test]
fn collections_are_split_at_chunk_borders_and_seen_once() {
    let mut world = World::new();
    let number = world.registry().register::<u32>().unwrap().id();
    let batch = world.create_batch((0..10_000_u32).map(|n| (n,))).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let bee = world.create(("bee",)).unwrap();
    let gone = world.create((0_u32,)).unwrap();
    world.destroy(gone).unwrap();

    let mut dice = Dice::new(7);
    let mut some: Vec<Entity> = (100..9_000).map(|n| ants[n]).collect();
    some.retain(|_| dice.below(10) > 0);
    let wanted = some.len();
    some.extend_from_within(..50);
    some.extend([bee, gone]);
    dice.shuffle(&mut some);

    let mut dynamic = DynamicQuery::builder(&world).write(number).build().unwrap();
    let mut pieces = 0;
    let report = dynamic
        .on(&mut world)
        .unwrap()
        .for_each_in(&some, |mut piece| {
            pieces += 1;
            let rows = piece.len();
            let numbers = piece.write(number).unwrap().slice::<u32>().unwrap();
            assert_eq!(numbers.len(), rows);
            for (number, &entity) in numbers.iter_mut().zip(piece.entities()) {
                assert_eq!(ants[*number as usize], entity);
                *number += 100_000;
            }
        });
    assert_eq!((report.done, report.refused.len()), (wanted, 1));
    assert_eq!(some[report.refused[0].0], gone);
    assert!(pieces > 5);

    let mut typed = Query::<&mut u32>::new(&world).unwrap();
    let report = typed
        .on(&mut world)
        .for_each_in(&some, |number| *number += 100_000);
    assert_eq!((report.done, report.refused.len()), (wanted, 1));
    let mut slices = 0;
    let report = typed
        .on(&mut world)
        .for_each_chunk_in(&some, |chunk, rows, numbers| {
            assert_eq!(chunk.entities()[rows].len(), numbers.len());
            assert!(numbers.iter().all(|&number| number >= 200_000));
            slices += numbers.len();
        });
    assert_eq!((report.done, slices), (wanted, wanted));

    let touched = AtomicUsize::new(0);
    let report = dynamic
        .on(&mut world)
        .unwrap()
        .par_for_each_in(&some, |mut piece| {
            piece
                .write(number)
                .unwrap()
                .slice::<u32>()
                .unwrap()
                .fill(1_000_000);
            touched.fetch_add(piece.len(), Ordering::Relaxed);
        });
    assert_eq!((report.done, touched.into_inner()), (wanted, wanted));
    let report = typed
        .on(&mut world)
        .par_for_each_in(&some, |number| *number += 1);
    assert_eq!(report.done, wanted);
    let changed = world
        .query::<&u32, ()>()
        .unwrap()
        .iter()
        .filter(|&&number| number == 1_000_001)
        .count();
    assert_eq!(changed, wanted);
}

#[test]
fn entities_that_are_switched_off_are_not_seen_in_collections() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let ants: Vec<Entity> = (0..100_u64).map(|n| world.create((n,)).unwrap()).collect();
    for ant in ants.iter().step_by(2) {
        world.set_enabled::<u64>(*ant, false).unwrap();
    }
    let mut on = DynamicQuery::builder(&world)
        .write(ids.big)
        .build()
        .unwrap();
    let mut rows = 0;
    let report = on
        .on(&mut world)
        .unwrap()
        .for_each_in(&ants[10..20], |piece| {
            rows += piece.rows().count();
        });
    assert_eq!((report.done, rows), (5, 5));
    let mut typed = Query::<&u64>::new(&world).unwrap();
    assert_eq!(
        typed.on(&mut world).for_each_in(&ants[10..20], |_| ()).done,
        5
    );
    let mut run = on.on(&mut world).unwrap();
    assert!(run.get_mut(ants[10]).is_err() && run.get_mut(ants[11]).is_ok());
    assert_eq!(run.first().unwrap().entities(), [ants[1]]);
    assert!(run.single().is_none());
}
