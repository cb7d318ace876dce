//! Rows of values that are lent in fours or eights, and those that remain: each once, in its order, with its own neighbours.

use std::sync::Mutex;

use megachunk::fragment::{PerChunk, Shared};
use megachunk::prelude::*;
use megachunk::query::Enabled;

/// No size of which the compiler makes vectors: lent in fours.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place([u32; 3]);
/// Lent one by one, if alone.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number(u32);
/// Of three bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Colour([u8; 3]);
struct Tag;
#[derive(PartialEq, Eq, Hash)]
struct Team(u32);
#[derive(Clone)]
struct Seen(u8);

/// Numbers of entities around one four and two of them, and of several chunks.
const COUNTS: [u32; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 4_099, 20_002];

fn world(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    world.registry().register_enableable::<Tag>().unwrap();
    let made = (0..count).map(|n| {
        let colour = Colour([n as u8, (n >> 8) as u8, 7]);
        let bundle = (Place([n, n + 1, n + 2]), Number(n), colour, Tag);
        bundle.shared(Team(3)).per_chunk(Seen(5))
    });
    let made = world.create_batch(made).unwrap();
    let entities = made.iter(&world).collect();
    (world, entities)
}

fn place(n: u32) -> [u32; 3] {
    [n, n + 1, n + 2]
}

#[test]
fn each_row_is_lent_once_in_its_order_with_what_is_its_own() {
    for count in COUNTS {
        let (mut world, entities) = world(count);
        let mut n = 0;
        let mut all = world
            .query::<(
                Entity,
                &mut Place,
                &Number,
                Option<&mut Colour>,
                Option<&u64>,
                Enabled<Tag>,
                Has<Tag>,
                Shared<Team>,
                PerChunk<Seen>,
            ), ()>()
            .unwrap();
        all.for_each(|(entity, at, number, colour, none, tag, has, team, seen)| {
            assert_eq!(entity, entities[n as usize]);
            assert_eq!((at.0, number.0), (place(n), n));
            assert_eq!(colour.unwrap().0, [n as u8, (n >> 8) as u8, 7]);
            assert_eq!((none, has, team.0, seen.0), (None, true, 3, 5));
            assert!(tag.set(n % 3 > 0));
            at.0[1] = 0;
            n += 1;
        });
        assert_eq!(n, count);

        let off = world.query::<&Place, Without<Tag>>().unwrap();
        let off: Vec<u32> = off.into_iter().map(|at| at.0[0]).collect();
        let expected: Vec<u32> = (0..count).filter(|n| n % 3 == 0).collect();
        assert_eq!(off, expected, "each switch is its own entity's");
    }
}

#[test]
fn every_walk_writes_every_row_once() {
    for count in COUNTS {
        let (mut world, entities) = world(count);
        let mut places = Query::<(&mut Place, &Number)>::new(&world).unwrap();
        let step = |(at, number): (&mut Place, &Number)| {
            assert_eq!(at.0[0] % 1_000_000, number.0);
            at.0[0] += 1_000_000;
        };
        places.on(&mut world).for_each(step);
        places.on(&mut world).par_for_each(step);
        places
            .on(&mut world)
            .par_for_each_init(|_| (), |(), item| step(item));
        places.on(&mut world).iter().for_each(step);
        assert_eq!(
            places.on(&mut world).into_iter().map(step).count() as u32,
            count
        );
        let report = places.on(&mut world).for_each_in(&entities[1..], step);
        assert_eq!(report.done as u32, count - 1);
        let report = places.on(&mut world).par_for_each_in(&entities[..1], step);
        assert_eq!(report.done, 1);
        places
            .on(&mut world)
            .for_each_chunk(|_, (places, numbers)| {
                places.iter_mut().zip(numbers).for_each(step);
            });
        places
            .on(&mut world)
            .par_for_each_chunk(|_, (places, numbers)| {
                places.iter_mut().zip(numbers).for_each(step);
            });
        places
            .on(&mut world)
            .for_each_slice(|_, _, (places, numbers)| {
                places.iter_mut().zip(numbers).for_each(step);
            });
        let seen = world.read::<&Place, ()>().unwrap();
        for (n, at) in (0..count).zip(seen) {
            assert_eq!(at.0, [9_000_000 + n, n + 1, n + 2]);
        }
    }
}

#[test]
fn a_fold_gives_on_the_last_result_in_the_order_of_rows() {
    for count in COUNTS {
        let (mut world, _) = world(count);
        let mut run = world.query::<(&Place, &Colour), ()>().unwrap();
        let digits = |so_far: u64, (at, colour): (&Place, &Colour)| {
            so_far.wrapping_mul(31) + u64::from(at.0[0]) + u64::from(colour.0[0])
        };
        let expected = (0..count).fold(0_u64, |so_far, n| {
            so_far.wrapping_mul(31) + u64::from(n) + u64::from(n as u8)
        });
        assert_eq!(run.iter().fold(0, digits), expected);
        // One that has begun.
        let mut begun = run.iter();
        let first = digits(0, begun.next().unwrap());
        assert_eq!(begun.fold(first, digits), expected);
    }
}

#[test]
fn what_is_lent_of_a_four_outlives_the_four() {
    let (mut world, _) = world(11);
    let mut run = world.query::<&mut Place, ()>().unwrap();
    let mut kept = Vec::new();
    run.for_each(|at| kept.push(at));
    kept.iter_mut().rev().for_each(|at| at.0[2] += at.0[0]);
    let sums: Vec<u32> = kept.iter().map(|at| at.0[2]).collect();
    assert_eq!(sums, (0..11).map(|n| n + 2 + n).collect::<Vec<_>>());
}

#[test]
fn a_panic_in_the_middle_of_a_four_leaves_those_behind_as_they_were() {
    let (mut world, _) = world(10);
    let mut run = world.query::<&mut Place, ()>().unwrap();
    let seen = Mutex::new(0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run.for_each(|at| {
            assert_ne!(at.0[0], 6, "here");
            at.0 = [100; 3];
            *seen.lock().unwrap() += 1;
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(*seen.lock().unwrap(), 6);
    let places: Vec<[u32; 3]> = run.iter().map(|at| at.0).collect();
    assert_eq!(places[..6], [[100; 3]; 6]);
    assert_eq!(places[6..], [place(6), place(7), place(8), place(9)]);
}

/// As `Number`, of four bytes: where all are, rows are lent in eights.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Weight(f32);

#[test]
fn each_row_of_four_bytes_is_lent_once_in_its_order_with_what_is_its_own() {
    for count in (0..40).chain([4_103, 20_014]) {
        let mut world = World::new();
        let made = (0..count).map(|n| (Number(n), Weight(n as f32)));
        let _ = world.create_batch(made).unwrap();

        let mut n = 0;
        let mut all = world.query::<(&mut Number, &Weight), ()>().unwrap();
        all.for_each(|(number, weight)| {
            assert_eq!((number.0, weight.0), (n, n as f32));
            number.0 += 1_000_000;
            n += 1;
        });
        assert_eq!(n, count);
        all.par_for_each(|(number, _)| number.0 += 1_000_000);
        let ordered = all.iter().fold(0_u64, |so_far, (number, weight)| {
            assert_eq!(number.0, 2_000_000 + weight.0 as u32);
            so_far.wrapping_mul(31) + u64::from(number.0)
        });
        let expected = (0..count).fold(0_u64, |so_far, n| {
            so_far.wrapping_mul(31) + u64::from(2_000_000 + n)
        });
        assert_eq!(ordered, expected);

        // One that has begun, and one that is only read.
        let mut begun = all.iter();
        let first = begun.next().map_or(0, |(number, _)| number.0);
        let rest: u32 = begun.map(|(number, _)| number.0 - 2_000_000).sum();
        assert_eq!(rest, (0..count).sum::<u32>());
        assert_eq!(first, if count > 0 { 2_000_000 } else { 0 });
        let weights = world.read::<&Weight, ()>().unwrap();
        let sum: f64 = weights.into_iter().map(|weight| f64::from(weight.0)).sum();
        assert_eq!(sum, (0..count).map(f64::from).sum::<f64>());
    }
}

#[test]
fn a_panic_in_the_middle_of_an_eight_leaves_those_behind_as_they_were() {
    let count = 22;
    // In the second eight, in the four behind the eights, and behind that.
    for last in [11, 18, 21] {
        let mut world = World::new();
        let _ = world
            .create_batch((0..count).map(|n| (Number(n),)))
            .unwrap();
        let mut run = world.query::<&mut Number, ()>().unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run.for_each(|number| {
                assert_ne!(number.0, last, "here");
                number.0 += 100;
            });
        }));
        assert!(panicked.is_err());
        let numbers: Vec<u32> = run.iter().map(|number| number.0).collect();
        let expected = (0..count).map(|n| if n < last { n + 100 } else { n });
        assert!(numbers.into_iter().eq(expected));
    }
}
