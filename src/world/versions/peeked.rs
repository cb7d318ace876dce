//! `World::read`, which takes no version of its own: nothing is missed by whoever has kept one.

use std::collections::BTreeMap;

use super::*;
use crate::entity::Entity;
use crate::index::ValueIndex;
use crate::query::Changed;

/// A world with one entity.
fn one() -> (World, Entity) {
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    (world, ant)
}

fn changed_since(world: &World, version: Version) -> usize {
    let mut new = world.read::<&u32, Changed<u32>>().unwrap();
    new.since(version).count()
}

#[test]
fn a_read_takes_no_version_of_its_own_though_it_runs_twice() {
    let (world, _) = one();
    let before = world.stamp();
    let mut reading = world.read::<&u32, Changed<u32>>().unwrap();
    assert_eq!((reading.count(), reading.count()), (1, 0));
    assert_eq!(world.read::<&u32, ()>().unwrap().into_iter().count(), 1);
    assert_eq!(world.stamp(), before);
}

#[cfg(feature = "probe")]
#[test]
fn threads_that_read_write_no_word_that_others_read() {
    let (world, _) = one();
    // The first looks for archetypes.
    assert_eq!(world.read::<&u32, ()>().unwrap().count(), 1);
    let counts = crate::sync::probe::measure(|| {
        for _ in 0..100 {
            assert_eq!(world.read::<&u32, ()>().unwrap().count(), 1);
        }
    });
    assert_eq!((counts.rmw, counts.owner_changes), (0, 0));
}

#[test]
fn who_asks_for_the_version_and_reads_sees_what_changes_after() {
    let (mut world, ant) = one();
    for round in 0..3_u32 {
        let sent = world.version();
        assert_eq!(world.read::<&u32, ()>().unwrap().count(), 1);
        assert!(world.version() > sent, "the read was in between");
        assert_eq!(changed_since(&world, sent), 0);
        *world.get_mut::<u32>(ant).unwrap() = round;
        assert_eq!(changed_since(&world, sent), 1);
        assert_eq!(changed_since(&world, world.version()), 0);
    }
    // Asked on another thread.
    let sent = std::thread::scope(|scope| scope.spawn(|| world.version()).join()).unwrap();
    assert_eq!(world.read::<&u32, ()>().unwrap().count(), 1);
    *world.get_mut::<u32>(ant).unwrap() = 7;
    assert_eq!(changed_since(&world, sent), 1);
}

#[test]
fn who_keeps_the_version_of_a_read_sees_what_changes_after() {
    let (mut world, ant) = one();
    for round in 0..3_u32 {
        let sent = world.read::<&u32, ()>().unwrap().run().version();
        assert_eq!(changed_since(&world, sent), 0);
        *world.get_mut::<u32>(ant).unwrap() = round;
        assert_eq!(changed_since(&world, sent), 1);
    }
}

#[test]
fn what_a_read_shows_of_a_chunk_is_not_what_later_changes_have() {
    let (mut world, ant) = one();
    let mut seen = BTreeMap::new();
    for round in 0..3_u32 {
        *world.get_mut::<u32>(ant).unwrap() = round;
        let mut versions = Vec::new();
        let mut reading = world.read::<&u32, ()>().unwrap();
        reading.for_each_chunk(|chunk, _| versions.extend(chunk.change_version::<u32>()));
        assert!(seen.insert(versions[0], round).is_none(), "as before");
        world.create((round,)).unwrap();
        let mut reading = world.read::<&u32, ()>().unwrap();
        reading.for_each_chunk(|chunk, _| versions.push(chunk.order_version()));
        assert!(versions[1] > versions[0]);
        assert!(seen.insert(versions[1], round).is_none(), "as before");
    }
}

#[test]
fn what_an_entity_shows_after_a_read_is_not_what_later_changes_have() {
    let (mut world, ant) = one();
    let shown = |world: &World| world.entity(ant).unwrap().change_version::<u32>();
    let mut last = None;
    for round in 0..3_u32 {
        *world.get_mut::<u32>(ant).unwrap() = round;
        assert_eq!(world.read::<&u32, ()>().unwrap().count(), 1);
        let seen = shown(&world);
        assert!(seen > last && shown(&world) == seen);
        last = seen;
    }
    // With no read between it is the present one.
    *world.get_mut::<u32>(ant).unwrap() = 9;
    assert_eq!(shown(&world), Some(world.version()));
    assert_eq!(shown(&world), Some(world.version()));
}

#[test]
fn an_index_that_is_brought_up_to_date_by_reads_misses_nothing() {
    let (mut world, ant) = one();
    let mut index = ValueIndex::<u32, u32>::new(&world, |&value| value).unwrap();
    for round in 5..8_u32 {
        index.update_from(&world.read::<(Entity, &u32), ()>().unwrap().run());
        *world.get_mut::<u32>(ant).unwrap() = round;
        index.update_from(&world.read::<(Entity, &u32), ()>().unwrap().run());
        assert_eq!(index.entities(&round), [ant]);
    }
}

#[test]
fn reads_that_go_on_for_ever_hide_no_change() {
    let (mut world, ant) = one();
    let passed = world.stamp().wrapping_sub(world.aged as u32);
    // Ordering: one thread.
    world.version.fetch_add(READ_ON - passed, Ordering::Relaxed);
    for round in 0..3_u32 {
        let sent = world.version();
        let run = world.read::<&u32, ()>().unwrap().run().version();
        *world.get_mut::<u32>(ant).unwrap() = round;
        assert_eq!(changed_since(&world, sent.max(run)), 1);
    }
}
