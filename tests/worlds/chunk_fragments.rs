//! What chunk fragments begin with, and what those find who come to other chunks.

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pulse(u32);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);
struct Near;
struct Far;

/// How entities that are far come near.
const WAYS: [fn(&mut World, &[Entity]); 6] = [
    |world, far| {
        for &entity in far {
            world.swap::<(Far,), _>(entity, (Near,)).unwrap();
        }
    },
    |world, far| {
        let mut commands = world.commands();
        for &entity in far {
            commands.swap::<(Far,), _>(entity, (Near,)).unwrap();
        }
        drop(commands);
        assert!(world.flush().is_clean());
    },
    |world, far| {
        let mut commands = world.commands();
        for &entity in far {
            let near = (Near,).per_chunk(Pulse(1));
            commands.swap::<(Far,), _>(entity, near).unwrap();
        }
        drop(commands);
        assert!(world.flush().is_clean());
    },
    |world, far| {
        let mut commands = world.commands();
        for &entity in far {
            commands.remove::<(Far,)>(entity).unwrap();
            commands.add(entity, (Near,)).unwrap();
        }
        drop(commands);
        assert!(world.flush().is_clean());
    },
    |world, _| {
        let all = world.matching::<With<Far>>().unwrap();
        all.swap::<(Far,), _>(|_| (Near,)).unwrap();
    },
    |world, far| {
        assert!(world.remove_slice::<(Far,)>(far).is_clean());
        assert!(world.add_slice(far, |_| (Near,)).is_clean());
    },
];

#[test]
fn whoever_comes_takes_the_chunk_fragment_of_the_chunks_there_one_or_all() {
    for count in [1, 2, 100, 3_000] {
        for (number, way) in WAYS.iter().enumerate() {
            for some in [count, count - 1, count / 2] {
                let mut world = World::new();
                world.create((0_u32, Near).per_chunk(Pulse(1))).unwrap();
                let bundles = (0..count).map(|_| (0_u32, Far).per_chunk(Pulse(4)));
                let batch = world.create_batch(bundles).unwrap();
                let far: Vec<Entity> = batch.iter(&world).collect();
                // The fourth takes all that are far.
                let some = if number == 4 { count } else { some };
                way(&mut world, &far[..some]);
                world.check().unwrap();
                for (at, &entity) in far.iter().enumerate() {
                    let expected = if at < some { Pulse(1) } else { Pulse(4) };
                    let pulse = world.chunk_fragment::<Pulse>(entity).unwrap();
                    assert_eq!(pulse, &expected, "{at} of {some}, way {number}");
                }
            }
        }
    }
}

#[test]
fn another_shared_value_means_other_chunks_for_all_as_for_one() {
    for count in [1, 100, 3_000] {
        for by_flush in [false, true] {
            let mut world = World::new();
            let bundles = (0..count).map(|_| (0_u64,).shared(Team(1)).per_chunk(Pulse(4)));
            let batch = world.create_batch(bundles).unwrap();
            let all: Vec<Entity> = batch.iter(&world).collect();
            for &entity in &all {
                *world.chunk_fragment_mut::<Pulse>(entity).unwrap() = Pulse(9);
            }
            if by_flush {
                let mut commands = world.commands();
                for &entity in &all {
                    commands.add(entity, ().shared(Team(2))).unwrap();
                }
                drop(commands);
                assert!(world.flush().is_clean());
            } else {
                let all = world.matching::<With<u64>>().unwrap();
                all.set_shared(Team(2)).unwrap();
            }
            world.check().unwrap();
            for &entity in &all {
                assert_eq!(world.shared::<Team>(entity).unwrap(), &Team(2));
                assert_eq!(world.chunk_fragment::<Pulse>(entity).unwrap(), &Pulse(4));
            }
        }
    }
}

#[test]
fn a_chunk_that_was_left_by_all_begins_anew() {
    let mut world = World::new();
    let bundle = || (0_u32,).per_chunk(Pulse(4));
    let ant = world.create(bundle()).unwrap();
    *world.chunk_fragment_mut::<Pulse>(ant).unwrap() = Pulse(9);
    world.destroy(ant).unwrap();
    let bee = world.create(bundle()).unwrap();
    assert_eq!(world.chunk_fragment::<Pulse>(bee).unwrap(), &Pulse(4));
    world.check().unwrap();
}

#[test]
fn new_chunks_of_the_compositions_that_match_begin_with_another_template() {
    let mut world = World::new();
    let near = world.create((0_u32, Near).per_chunk(Pulse(1))).unwrap();
    let far = world.create((0_u32, Far).per_chunk(Pulse(4))).unwrap();
    world.create((0_u32, Far)).unwrap();
    let set = world.set_chunk_rule::<Pulse, With<Far>>(Pulse(8));
    assert_eq!(set.unwrap(), 1);
    let pulse = |world: &World, one| *world.chunk_fragment::<Pulse>(one).unwrap();
    assert_eq!(
        (pulse(&world, near), pulse(&world, far)),
        (Pulse(1), Pulse(4))
    );
    // More than there is room for in its chunk.
    let bundles = (0..100_000).map(|_| (0_u32, Far).per_chunk(Pulse(4)));
    let batch = world.create_batch(bundles).unwrap();
    let last = batch.iter(&world).last().unwrap();
    assert_eq!(pulse(&world, last), Pulse(8));
    // What comes from there begins as there.
    world.add(last, (1_u64,)).unwrap();
    assert_eq!(pulse(&world, last), Pulse(8));
    let set = world.set_chunk_rule::<Pulse, ()>(Pulse(3));
    assert_eq!(set.unwrap(), 3);
    world.clear();
    let near = world.create((0_u32, Near).per_chunk(Pulse(1))).unwrap();
    assert_eq!(pulse(&world, near), Pulse(3));
    world.check().unwrap();
}

#[test]
fn a_template_whose_clone_panics_changes_nothing() {
    struct Fragile(u32);
    impl Clone for Fragile {
        fn clone(&self) -> Self {
            assert!(self.0 < 7, "enough");
            Self(self.0)
        }
    }
    let mut world = World::new();
    world.create((0_u32,).per_chunk(Fragile(1))).unwrap();
    let set = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.set_chunk_rule::<Fragile, ()>(Fragile(7))
    }));
    assert!(set.is_err());
    world.clear();
    let ant = world.create((0_u32,).per_chunk(Fragile(2))).unwrap();
    assert_eq!(world.chunk_fragment::<Fragile>(ant).unwrap().0, 1);
}
