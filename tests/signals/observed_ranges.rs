//! What observers are lent range by range: the rows of the batch, and no others of their chunks.

use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

use crate::observers::{Heat, Weight, many};

/// The entities and values that ranges lent, a list for each, and how many it was said that they are.
type Lent = (Vec<Vec<(Entity, u32)>>, usize);

/// Keeps what the ranges of each batch of a kind lend.
fn lent(world: &mut World, kind: Observed) -> Arc<Mutex<Vec<Lent>>> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let mine = Arc::clone(&all);
    world
        .observe::<Heat, ()>(kind, move |batch, _| {
            let mut ranges = Vec::new();
            let each = |(entities, heats): (&[Entity], &[Heat])| {
                assert_eq!(entities.len(), heats.len());
                let pairs = entities.iter().zip(heats);
                ranges.push(pairs.map(|(&ant, heat)| (ant, heat.0)).collect::<Vec<_>>());
            };
            let count = batch.for_each_range::<(Entity, &Heat)>(each).unwrap();
            let told: Vec<Vec<Entity>> = batch.ranges().map(<[Entity]>::to_vec).collect();
            let ants = |range: &Vec<(Entity, u32)>| range.iter().map(|&(ant, _)| ant).collect();
            let of_lent: Vec<Vec<Entity>> = ranges.iter().map(ants).collect();
            assert_eq!(of_lent, told);
            mine.lock().unwrap().push((ranges, count));
        })
        .unwrap();
    all
}

#[test]
fn ranges_lend_the_rows_behind_those_that_were_there() {
    let mut world = World::new();
    many(&mut world, 11);
    let seen = lent(&mut world, Observed::CREATE);
    let batch = world.create_batch((40..45).map(|n| (Heat(n),))).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let expected: Vec<(Entity, u32)> = ants.iter().copied().zip(40..).collect();
    assert_eq!(seen.lock().unwrap()[..], [(vec![expected], 5)]);
}

#[test]
fn ranges_lend_the_rows_of_those_that_go_and_not_of_their_neighbours() {
    let mut world = World::new();
    let ants = many(&mut world, 30);
    let seen = lent(&mut world, Observed::DESTROY);
    let gone = [&ants[3..7], &ants[20..21]].concat();
    assert_eq!(world.destroy_slice(&gone).done, 5);
    let (ranges, count) = seen.lock().unwrap().pop().unwrap();
    let expected: Vec<(Entity, u32)> = (gone.iter().copied().zip([3, 4, 5, 6, 20])).collect();
    assert_eq!((ranges.concat(), count), (expected, 5));
    assert_eq!(ranges.len(), 2);
    let left: u32 = world
        .query::<&Heat, ()>()
        .unwrap()
        .iter()
        .map(|h| h.0)
        .sum();
    assert_eq!(left, 30 * 29 / 2 - 38);
}

#[test]
fn ranges_lend_those_only_that_have_what_is_asked_for_and_say_how_many() {
    let mut world = World::new();
    many(&mut world, 3);
    let counts = Arc::new(Mutex::new(Vec::new()));
    let mine = Arc::clone(&counts);
    world
        .observe::<Heat, ()>(Observed::CREATE, move |batch, _| {
            let mut lens = Vec::new();
            let write = |weights: &mut [Weight]| {
                lens.push(weights.len());
                weights.iter_mut().for_each(|weight| weight.0 += 100);
            };
            let count = batch.for_each_range::<&mut Weight>(write).unwrap();
            mine.lock().unwrap().push((batch.len(), lens, count));
        })
        .unwrap();
    let mut commands = world.commands();
    let mut heavy = Vec::new();
    for n in 0..10 {
        commands.create((Heat(n),)).unwrap();
        if n < 4 {
            heavy.push(commands.create((Heat(n), Weight(n.into()))).unwrap());
        }
    }
    drop(commands);
    assert_eq!(world.flush().created, 14);
    assert_eq!(counts.lock().unwrap()[..], [(14, vec![4], 4)]);
    for (n, &ant) in (100..).zip(&heavy) {
        assert_eq!(world.get::<Weight>(ant).unwrap(), &Weight(n));
    }
}
