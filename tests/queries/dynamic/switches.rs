//! Switches that a query of run time lends.

use megachunk::fragment::FragmentError;
use megachunk::prelude::*;
use megachunk::query::{DynamicQuery, Enabled, QueryError};

use crate::dynamic::{Asleep, Ids, Wet, seen};

/// A world of so many entities with a number and a switch.
fn switched(count: u32) -> (World, Ids, Vec<Entity>) {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let batch = world.create_batch((0..count).map(|n| (n, Wet))).unwrap();
    let entities = batch.to_vec(&world);
    (world, ids, entities)
}

#[test]
fn switches_are_thrown_from_all_threads_and_are_what_typed_queries_see() {
    let (mut world, ids, _) = switched(40_000);
    let mut changed = Query::<Entity, Changed<Wet>>::new(&world).unwrap();
    assert_eq!(changed.on(&mut world).count(), 40_000);
    let mut query = DynamicQuery::builder(&world)
        .read(ids.number)
        .switch(ids.wet)
        .build()
        .unwrap();
    query
        .on(&mut world)
        .unwrap()
        .par_for_each_chunk(|mut chunk| {
            let numbers = chunk.read(ids.number).unwrap().slice::<u32>().unwrap();
            let (switches, again) = (
                chunk.switches(ids.wet).unwrap(),
                chunk.switches(ids.wet).unwrap(),
            );
            assert_eq!(switches.len(), chunk.len());
            for row in chunk.rows() {
                assert!(switches.at(row).set(numbers[row] % 4 == 0));
                assert_eq!(again.at(row).is_on(), numbers[row] % 4 == 0);
            }
        });
    assert_eq!(world.query::<Entity, With<Wet>>().unwrap().count(), 10_000);
    assert_eq!(
        changed.on(&mut world).count(),
        10_000,
        "to switch is a change"
    );
    // It sees all, on or off.
    assert_eq!(seen(&mut query, &mut world).len(), 40_000);
    query.on(&mut world).unwrap().for_each_chunk(|chunk| {
        let switches = chunk.switches(ids.wet).unwrap();
        chunk.rows().for_each(|row| _ = switches.at(row).set(true));
    });
    assert_eq!(world.query::<Entity, With<Wet>>().unwrap().count(), 40_000);
}

#[test]
fn of_some_rows_the_switches_are_those_of_the_rows() {
    let (mut world, ids, entities) = switched(300);
    let mut query = DynamicQuery::builder(&world)
        .switch(ids.wet)
        .build()
        .unwrap();
    let asked = &entities[70..140];
    let report = query.on(&mut world).unwrap().for_each_in(asked, |chunk| {
        let switches = chunk.switches(ids.wet).unwrap();
        assert_eq!(switches.len(), 70);
        switches.at(0).set(false);
        switches.at(69).set(false);
        let beyond = std::panic::catch_unwind(|| switches.at(70).is_on());
        assert!(beyond.is_err());
    });
    assert_eq!(report.done, 70);
    let mut run = query.on(&mut world).unwrap();
    run.get_mut(entities[5])
        .unwrap()
        .switches(ids.wet)
        .unwrap()
        .at(0)
        .set(false);
    drop(run);
    let off: Vec<Entity> = entities
        .iter()
        .copied()
        .filter(|&entity| !world.is_enabled::<Wet>(entity).unwrap())
        .collect();
    assert_eq!(off, [entities[5], entities[70], entities[139]]);
}

#[test]
fn what_cannot_be_switched_or_was_not_asked_for_is_refused() {
    let (mut world, ids, entities) = switched(3);
    let build = |id| DynamicQuery::builder(&world).switch(id).build();
    for id in [ids.number, ids.asleep, ids.team, ids.heat] {
        assert!(matches!(build(id), Err(QueryError::NotEnableable { .. })));
    }
    let twice = DynamicQuery::builder(&world)
        .switch(ids.wet)
        .switch(ids.wet);
    assert!(matches!(
        twice.build(),
        Err(QueryError::Fragment(FragmentError::Twice { .. }))
    ));
    let mut query = DynamicQuery::builder(&world)
        .with(ids.wet)
        .switch(ids.big)
        .build()
        .unwrap();
    world.add(entities[0], (1_u64,)).unwrap();
    let refused = query.read(&world).map(drop);
    assert!(
        matches!(refused, Err(QueryError::Writes { .. })),
        "{refused:?}"
    );
    let mut chunks = 0;
    query.on(&mut world).unwrap().for_each_chunk(|chunk| {
        assert!(matches!(
            chunk.switches(ids.wet),
            Err(QueryError::NotAsked { .. })
        ));
        assert!(matches!(
            chunk.switches(ids.number),
            Err(QueryError::NotAsked { .. })
        ));
        assert!(chunk.switches(ids.big).is_ok());
        chunks += 1;
    });
    assert_eq!(chunks, 1);
    assert_eq!(world.query::<Enabled<u64>, ()>().unwrap().count(), 1);
}

#[test]
fn compositions_older_than_the_switch_are_not_seen() {
    let mut world = World::new();
    let old = world.create((1_u32, Asleep)).unwrap();
    let id = world
        .registry()
        .register_enableable::<Asleep>()
        .unwrap()
        .id();
    let new = world.create((1_u64, Asleep)).unwrap();
    let mut query = DynamicQuery::builder(&world).switch(id).build().unwrap();
    assert_eq!(seen(&mut query, &mut world), [new]);
    assert_eq!(query.explain(&world, old).unwrap().len(), 1);
    assert!(query.on(&mut world).unwrap().get_mut(old).is_err());
}

#[test]
fn processors_that_switch_and_look_come_one_after_the_other() {
    let (mut world, ids, _) = switched(1_000);
    let off = DynamicQuery::builder(&world)
        .switch(ids.wet)
        .build()
        .unwrap();
    let look = DynamicQuery::builder(&world).with(ids.wet).build().unwrap();
    let clash = [
        DynamicQuery::builder(&world)
            .switch(ids.wet)
            .build()
            .unwrap(),
        DynamicQuery::builder(&world).with(ids.wet).build().unwrap(),
    ];
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor("off", [off], move |mut params| {
        params.runs()[0].par_for_each_chunk(|chunk| {
            let switches = chunk.switches(ids.wet).unwrap();
            chunk.rows().for_each(|row| _ = switches.at(row).set(false));
        });
    }));
    schedule.add(dynamic_processor("look", [look], move |mut params| {
        assert_eq!(params.runs()[0].count(), 0);
    }));
    schedule.run(&mut world).unwrap();
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor("clash", clash, |_| {}));
    assert!(
        schedule.run(&mut world).is_err(),
        "two of one processor conflict"
    );
}
