//! `World::query` and `World::read` remember what they found, and nobody sees that they do.

use std::sync::Barrier;
use std::thread;

use megachunk::fragment::{FragmentId, FragmentSet};
use megachunk::prelude::*;

struct Height(u32);
struct Weight(u32);
struct Asleep;

/// A world of some compositions with `Height`.
fn people() -> World {
    let mut world = World::new();
    let _ = world.create_batch((0..3).map(|n| (Height(n),))).unwrap();
    let awake = (0..4).map(|n| (Height(n), Weight(10 * n)));
    let _ = world.create_batch(awake).unwrap();
    world
}

fn heights(world: &World) -> usize {
    world.read::<&Height, ()>().unwrap().count()
}

#[test]
fn archetypes_that_came_since_are_seen() {
    let mut world = people();
    assert_eq!((heights(&world), heights(&world)), (7, 7));
    world.create((Height(7), Asleep)).unwrap();
    assert_eq!(heights(&world), 8);
    assert_eq!(world.query::<&mut Height, ()>().unwrap().count(), 8);
    world.create((Height(8), Weight(1), Asleep)).unwrap();
    assert_eq!(world.query::<&mut Height, ()>().unwrap().count(), 9);
    assert_eq!(heights(&world), 9);
}

#[test]
fn archetypes_that_went_or_have_other_numbers_are_not_mixed_up() {
    let mut world = people();
    world.create((Asleep, Height(1), Weight(2))).unwrap();
    let weights = |world: &World| -> u32 {
        let all = world.read::<&Weight, ()>().unwrap();
        all.into_iter().map(|weight| weight.0).sum()
    };
    assert_eq!((heights(&world), weights(&world)), (8, 62));
    // The first composition goes, and the others move up.
    let gone = world.matching::<Without<Weight>>().unwrap().destroy();
    assert_eq!((gone, world.collect_archetypes()), (3, 1));
    assert_eq!((heights(&world), weights(&world)), (5, 62));
    // One comes in its place, so that there are as many as before.
    world.create((Weight(7), 'w')).unwrap();
    assert_eq!((heights(&world), weights(&world)), (5, 69));
    world.trim();
    assert_eq!((heights(&world), weights(&world)), (5, 69));
}

#[test]
fn types_that_differ_in_anything_are_asked_apart() {
    let mut world = people();
    world.create((Height(1), Asleep)).unwrap();
    for _ in 0..3 {
        assert_eq!(world.query::<&Height, ()>().unwrap().count(), 8);
        assert_eq!(world.query::<&mut Height, ()>().unwrap().count(), 8);
        assert_eq!(world.query::<&Height, With<Weight>>().unwrap().count(), 4);
        assert_eq!(
            world.query::<&Height, Without<Weight>>().unwrap().count(),
            4
        );
        assert_eq!(
            world.query::<&Height, Without<Asleep>>().unwrap().count(),
            7
        );
        assert_eq!(
            world
                .query::<Option<&Weight>, With<Height>>()
                .unwrap()
                .count(),
            8
        );
        assert_eq!(world.query::<(&Height, &Weight), ()>().unwrap().count(), 4);
    }
    let twice = world.query::<(&mut Height, &Height), ()>();
    assert!(twice.is_err(), "what is refused is refused");
    let twice = world.query::<(&mut Height, &Height), ()>();
    assert!(twice.is_err(), "again");
}

#[test]
fn one_entity_is_lent_by_itself() {
    let mut world = people();
    let both = world.create((Height(1), Weight(2))).unwrap();
    let tall = world.create((Height(3),)).unwrap();
    let dead = world.create((Height(5), Weight(6))).unwrap();
    world.destroy(dead).unwrap();

    let mut changed = Query::<&Height, Changed<Height>>::new(&world).unwrap();
    assert_eq!(changed.read(&world).count(), 9);

    // As long as the world is lent, though the query is gone.
    let (height, weight) = world
        .query::<(&mut Height, &mut Weight), ()>()
        .unwrap()
        .one(both)
        .unwrap();
    core::mem::swap(&mut height.0, &mut weight.0);
    let (height, weight) = (world.get::<Height>(both), world.get::<Weight>(both));
    assert_eq!((height.unwrap().0, weight.unwrap().0), (2, 1));

    // Several, one after the other, and what is refused.
    let mut query = world.query::<(&mut Height, Option<&Weight>), ()>().unwrap();
    for (entity, has_weight) in [(both, true), (tall, false)] {
        let (height, weight) = query.get_mut(entity).unwrap();
        height.0 += 10;
        assert_eq!(weight.is_some(), has_weight);
    }
    assert!(matches!(query.get_mut(dead), Err(WorldError::Entity(_))));
    assert_eq!(world.get::<Height>(tall).unwrap().0, 13);
    let light = world.query::<&Height, Without<Weight>>().unwrap();
    let refused = light.one(both).map(|height| height.0);
    assert!(
        matches!(refused, Err(WorldError::Missing { entity, .. }) if entity == both),
        "{refused:?}"
    );

    // Who only reads needs no more; and what was lent to be written has changed.
    let read = world.read::<(&Height, &Weight), ()>().unwrap();
    for _ in 0..2 {
        let (height, weight) = read.get(both).unwrap();
        assert_eq!((height.0, weight.0), (12, 1));
    }
    let first = world.read::<&Height, ()>().unwrap().one(tall).unwrap();
    let second = world.read::<&Height, ()>().unwrap().one(tall).unwrap();
    assert!(core::ptr::eq(first, second));
    assert_eq!(changed.read(&world).count(), 2 + 4 + 3, "whole chunks");
    assert_eq!(changed.read(&world).count(), 0);
}

#[test]
fn a_run_lends_one_entity_for_as_long_as_the_world_is_lent_if_it_sees_it() {
    let mut world = World::new();
    world.registry().register_enableable::<Weight>().unwrap();
    let both = world.create((Height(1), Weight(2))).unwrap();
    let tall = world.create((Height(3),)).unwrap();
    let mut query = Query::<(Entity, &mut Height)>::new(&world).unwrap();
    let heavy = |chunk: &ChunkView<'_>| chunk.has::<Weight>();
    for entity in [both, tall] {
        let (lent, height) = query.on(&mut world).one(entity).unwrap();
        height.0 += 10;
        assert_eq!(lent, entity);
        let run = query.on(&mut world).filter_chunks(heavy);
        assert_eq!(run.one(entity).is_ok(), entity == both);
    }
    assert_eq!(world.get::<Height>(tall).unwrap().0, 13);
    // Not who has not changed since the run before, nor who is switched off.
    let mut changed = Query::<&Height, Changed<Height>>::new(&world).unwrap();
    assert!(changed.on(&mut world).one(tall).is_ok());
    assert!(changed.on(&mut world).one(tall).is_err());
    let weigh = |world: &World| {
        world
            .read::<&Weight, ()>()
            .unwrap()
            .one(both)
            .map(|weight| weight.0)
    };
    assert_eq!(weigh(&world), Ok(2));
    world.set_enabled::<Weight>(both, false).unwrap();
    assert!(weigh(&world).is_err());
    // What is lent by a run that is lent to many outlives none of them.
    let all = world.read::<&Height, ()>().unwrap();
    let [one, other] = [both, tall].map(|entity| all.reborrow().one(entity).unwrap());
    assert_eq!((one.0, other.0), (11, 13));
    let gone = world.destroy(tall);
    assert!(gone.is_ok() && query.on(&mut world).one(tall).is_err());
}

#[test]
fn to_each_that_is_asked_everything_has_changed() {
    let mut world = people();
    for _ in 0..2 {
        let mut changed = world.query::<&Height, Changed<Height>>().unwrap();
        assert_eq!(changed.count(), 7);
        assert_eq!(
            changed.count(),
            7,
            "it is one run, however often it is walked"
        );
        let seen = changed.version();
        assert_eq!(changed.since(seen).count(), 0);
    }
}

#[test]
fn worlds_that_change_places_take_what_they_remember_along() {
    let (mut one, mut other) = (people(), World::new());
    other.create((Asleep, Height(1))).unwrap();
    assert_eq!((heights(&one), heights(&other)), (7, 1));
    core::mem::swap(&mut one, &mut other);
    assert_eq!((heights(&one), heights(&other)), (1, 7));
    one = World::new();
    assert_eq!(heights(&one), 0);
}

#[test]
fn types_may_name_the_time_for_which_they_lend() {
    fn all(world: &World) -> QueryRun<'_, (&Height, Option<&Weight>), With<Height>> {
        world.read().unwrap()
    }
    let world = people();
    let longer: Vec<&Height> = all(&world).into_iter().map(|(height, _)| height).collect();
    assert_eq!(longer.iter().map(|height| height.0).sum::<u32>(), 9);
    let same = world.read::<(&'static Height, Option<&'static Weight>), With<Height>>();
    let same = same.unwrap().into_iter().map(|(height, _)| height);
    assert!(same.eq_by_address(&longer));
}

/// Whether two have the same things in the same order, and not equal ones.
trait ByAddress {
    fn eq_by_address(self, others: &[&Height]) -> bool;
}

impl<'w, I: Iterator<Item = &'w Height>> ByAddress for I {
    fn eq_by_address(self, others: &[&Height]) -> bool {
        let mine: Vec<&Height> = self.collect();
        mine.len() == others.len()
            && (mine.iter().zip(others)).all(|(one, other)| core::ptr::eq(*one, *other))
    }
}

#[test]
fn switches_decide_though_the_archetypes_are_remembered() {
    let mut world = World::new();
    world.registry().register_enableable::<Weight>().unwrap();
    let first = world.create((Weight(1),)).unwrap();
    world.create((Weight(2),)).unwrap();
    let sum = |world: &World| -> u32 {
        let all = world.read::<&Weight, ()>().unwrap();
        all.into_iter().map(|weight| weight.0).sum()
    };
    assert_eq!(sum(&world), 3);
    world.set_enabled::<Weight>(first, false).unwrap();
    assert_eq!(sum(&world), 2);
    world.set_enabled::<Weight>(first, true).unwrap();
    assert_eq!(sum(&world), 3);
}

#[test]
fn threads_that_ask_at_once_all_see_all() {
    const THREADS: usize = 4;
    let mut world = people();
    for round in 1..200 {
        // A composition that nobody has seen.
        let ids: Vec<_> = (0..8).filter(|bit| round >> bit & 1 == 1).collect();
        let entity = world.create((Height(1),)).unwrap();
        for bit in ids {
            match bit {
                0 => world.add(entity, (0_u8,)),
                1 => world.add(entity, (0_u16,)),
                2 => world.add(entity, (0_u32,)),
                3 => world.add(entity, (0_u64,)),
                4 => world.add(entity, (0_i8,)),
                5 => world.add(entity, (0_i16,)),
                6 => world.add(entity, (0_i32,)),
                _ => world.add(entity, (0_i64,)),
            }
            .unwrap();
        }
        if round % 50 == 0 {
            world.trim();
        }
        let begin = Barrier::new(THREADS);
        let seen = thread::scope(|scope| {
            let count = || {
                begin.wait();
                heights(&world)
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert_eq!(seen, [7 + round; THREADS]);
    }
}

#[test]
fn requirements_say_what_is_excluded_and_watched() {
    let world = people();
    let registry = world.registry();
    let [height, weight, asleep] = [
        registry.register::<Height>().unwrap().id(),
        registry.register::<Weight>().unwrap().id(),
        registry.register::<Asleep>().unwrap().id(),
    ];
    let query = Query::<&Height, (Without<Weight>, Changed<Height>)>::new(&world).unwrap();
    let asks = query.requirements();
    assert!(asks.excluded().iter().eq([weight]) && asks.watched().iter().eq([height]));

    let one_of = |ids: &[FragmentId]| ids.iter().copied().collect::<FragmentSet>();
    type Watching = (
        Or<(Changed<Height>, Moved)>,
        Or<(Changed<Weight>, Changed<Asleep>)>,
    );
    let query = Query::<Entity, Watching>::new(&world).unwrap();
    let own = query.requirements();
    assert_eq!(own.watched(), &one_of(&[height, weight, asleep]));
    // One of several is no fragment that must be there.
    assert!(own.required().is_empty() && own.excluded().is_empty());
}
