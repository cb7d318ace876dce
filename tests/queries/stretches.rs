//! Archetypes that follow on each other are found many at a time: the same as one by one.

use crate::support::Dice;
use megachunk::fragment::{DynamicBundle, PerChunk, Shared, Value};
use megachunk::prelude::*;
use megachunk::query::Moved;

/// One of as many tags, so that archetypes differ.
struct Mark<const N: usize>;

/// Pushes those of eight tags whose bits are set.
fn marked(world: &World, bits: usize, bundle: &mut DynamicBundle) {
    let registry = world.registry();
    let marks = [
        Value::new(registry, Mark::<0>),
        Value::new(registry, Mark::<1>),
        Value::new(registry, Mark::<2>),
        Value::new(registry, Mark::<3>),
        Value::new(registry, Mark::<4>),
        Value::new(registry, Mark::<5>),
        Value::new(registry, Mark::<6>),
        Value::new(registry, Mark::<7>),
    ];
    for (bit, mark) in marks.into_iter().enumerate() {
        if bits >> bit & 1 == 1 {
            bundle.push(mark.unwrap());
        }
    }
}

#[test]
fn archetypes_that_follow_on_each_other_are_found_like_those_that_do_not() {
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let mut world = World::new();
        let mut kept = Query::<(&u32, Option<&u8>)>::new(&world).unwrap();
        // Each fragment is in some archetypes on end, then not in some on end: few, or more than are found at a time.
        let mut has = [true; 3];
        let mut left = [0; 3];
        let mut all = Vec::new();
        for number in 1..256_usize {
            for part in 0..3 {
                if left[part] == 0 {
                    let longest = [3, 30, 80][dice.below(3)];
                    (has[part], left[part]) = (!has[part], 1 + dice.below(longest));
                }
                left[part] -= 1;
            }
            let mut bundle = DynamicBundle::new();
            marked(&world, number, &mut bundle);
            let registry = world.registry();
            if has[0] {
                bundle.push(Value::new(registry, number as u32).unwrap());
            }
            if has[1] {
                bundle.push(Value::new(registry, number as u64 * 3).unwrap());
                bundle.push(Value::shared(registry, number as i16).unwrap());
                bundle.push(Value::per_chunk(registry, number as i64).unwrap());
            }
            if has[2] {
                bundle.push(Value::new(registry, number as u8).unwrap());
            }
            all.push((world.create_dynamic(bundle).unwrap(), number, has));
            if dice.below(40) == 0 {
                let with_u32 = all.iter().filter(|(_, _, has)| has[0]).count();
                assert_eq!(kept.read(&world).count(), with_u32, "seed {seed}");
            }
        }
        let expected = |sees: fn([bool; 3]) -> bool| {
            let seen = all.iter().filter(move |(_, _, has)| sees(*has));
            seen.copied()
        };

        let both: Vec<_> = world
            .query::<(Entity, &mut u32, &u64), ()>()
            .unwrap()
            .iter()
            .map(|(entity, small, big)| (entity, *small as usize, *big as usize))
            .collect();
        let wanted: Vec<_> = expected(|has| has[0] && has[1])
            .map(|(entity, number, _)| (entity, number, number * 3))
            .collect();
        assert_eq!(both, wanted, "seed {seed}");

        type Maybe<'a> = (Entity, &'a u64, Option<&'a mut u8>, Has<u32>);
        let maybe: Vec<_> = world
            .query::<Maybe<'_>, Moved>()
            .unwrap()
            .iter()
            .map(|(entity, big, byte, has)| (entity, *big as usize, byte.map(|b| *b), has))
            .collect();
        let wanted: Vec<_> = expected(|has| has[1])
            .map(|(entity, number, has)| {
                (entity, number * 3, has[2].then_some(number as u8), has[0])
            })
            .collect();
        assert_eq!(maybe, wanted, "seed {seed}");

        type InCommon = (Shared<i16>, PerChunk<i64>);
        let in_common: Vec<_> = world
            .query::<InCommon, ()>()
            .unwrap()
            .iter()
            .map(|(&shared, &of_chunk)| (shared as usize, of_chunk as usize))
            .collect();
        let wanted: Vec<_> = expected(|has| has[1])
            .map(|(_, number, _)| (number, number))
            .collect();
        assert_eq!(in_common, wanted, "seed {seed}");

        type MayBeInCommon<'a> = (&'a u32, Option<Shared<i16>>, Option<PerChunk<i64>>);
        let in_common: Vec<_> = world
            .query::<MayBeInCommon<'_>, ()>()
            .unwrap()
            .iter()
            .map(|(small, shared, of_chunk)| (*small as usize, shared.copied(), of_chunk.copied()))
            .collect();
        let wanted: Vec<_> = expected(|has| has[0])
            .map(|(_, number, has)| {
                let value = has[1].then_some(number as i64);
                (number, value.map(|value| value as i16), value)
            })
            .collect();
        assert_eq!(in_common, wanted, "seed {seed}");

        let known: Vec<_> = kept
            .read(&world)
            .iter()
            .map(|(number, byte)| (*number as usize, byte.copied()))
            .collect();
        let wanted: Vec<_> = expected(|has| has[0])
            .map(|(_, number, has)| (number, has[2].then_some(number as u8)))
            .collect();
        assert_eq!(known, wanted, "seed {seed}");
    }
}
