//! Values keep to their entities, whatever their sizes are, and however their composition came about.

use std::sync::Arc;

use megachunk::prelude::*;

/// A value of so many bytes.
#[derive(Debug, PartialEq, Clone, Copy)]
struct Bytes<const N: usize>([u8; N]);

impl<const N: usize> Bytes<N> {
    fn of(number: u32) -> Self {
        Self(core::array::from_fn(|at| {
            (number as usize).wrapping_mul(31).wrapping_add(at * 7 + N) as u8
        }))
    }
}

#[derive(Debug, PartialEq, Clone, Copy)]
#[repr(align(64))]
struct Line(u32);
struct Tag;
struct Other;
#[derive(Debug)]
struct Held(#[expect(dead_code, reason = "counts who has it")] Arc<()>);

/// Destroys and changes entities in order, from behind, and all over the place, and looks at the others.
fn churn<const N: usize>(mut world: World, all: &[Entity], look: impl Fn(&World, Entity, u32)) {
    let mut living: Vec<(Entity, u32)> = all.iter().copied().zip(0..).collect();
    let mut random = 88_172_645_463_325_252_u64;
    for round in 0..30 {
        let len = living.len();
        let mut pick = |some: usize| match round % 3 {
            0 => some % len,
            1 => len - 1 - some % len,
            _ => {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random as usize % len
            }
        };
        for some in 0..len / 8 {
            let (entity, _) = living[pick(some)];
            match round % 4 {
                0 => world.add(entity, (Bytes::<N>::of(0),)).unwrap(),
                1 => {
                    world.remove::<(Bytes<N>, Tag)>(entity).unwrap();
                }
                2 => world.add(entity, (Tag,)).unwrap(),
                _ => {
                    let _ = world.destroy(entity);
                }
            }
        }
        living.retain(|&(entity, _)| world.exists(entity));
        for &(entity, number) in &living {
            look(&world, entity, number);
        }
        world.check().unwrap();
    }
    assert!(living.len() < all.len() && !living.is_empty());
}

macro_rules! sizes {
    ($name:ident: $($size:literal)*) => {
        #[test]
        fn $name() {
            let look = |world: &World, entity, number| {
                $(assert_eq!(world.get(entity).ok(), Some(&Bytes::<$size>::of(number)));)*
            };
            // The bundle's type is known.
            let mut world = World::new();
            let bundles = (0..700).map(|number| ($(Bytes::<$size>::of(number),)*));
            let all: Vec<Entity> = world.create_batch(bundles).unwrap().iter(&world).collect();
            churn::<6>(world, &all, look);
            // One after the other.
            let mut world = World::new();
            let all: Vec<Entity> = (0..700)
                .map(|number| {
                    let entity = world.create((Tag,)).unwrap();
                    $(world.add(entity, (Bytes::<$size>::of(number),)).unwrap();)*
                    entity
                })
                .collect();
            churn::<6>(world, &all, look);
            // Nothing is known of the composition's types.
            let mut world = World::new();
            let all: Vec<Entity> = (0..700)
                .map(|number| {
                    let entity = world.create((Other,)).unwrap();
                    let bundle = ($(Bytes::<$size>::of(number),)*);
                    world.swap::<(Other,), _>(entity, bundle).unwrap();
                    entity
                })
                .collect();
            churn::<6>(world, &all, look);
        }
    };
}

sizes!(values_of_a_few_bytes_keep_to_their_entities: 1 2 3 4 5 7 8);
sizes!(values_of_some_words_keep_to_their_entities: 9 12 15 16 17 24 31 32);
sizes!(values_of_a_line_or_so_keep_to_their_entities: 33 48 63 64 65 100);
sizes!(large_values_keep_to_their_entities: 200 513 1000 3000);

#[test]
fn what_must_be_dropped_or_aligned_or_has_no_size_does_not_get_in_the_way() {
    let held = Arc::new(());
    let mut world = World::new();
    let body = |number| {
        let held = Held(Arc::clone(&held));
        (Line(number), Tag, Bytes::<12>::of(number), held)
    };
    let batch = world.create_batch((0..700).map(body)).unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    assert_eq!(Arc::strong_count(&held), 701);
    churn::<5>(world, &all, |world, entity, number| {
        assert_eq!(world.get(entity).ok(), Some(&Line(number)));
        assert_eq!(world.get(entity).ok(), Some(&Bytes::<12>::of(number)));
        assert!(world.has::<Held>(entity).unwrap());
    });
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_bundle_that_overlaps_with_what_is_there_moves_nothing_twice() {
    let mut world = World::new();
    let bundles = (0..300).map(|n| (Bytes::<12>::of(n), Bytes::<4>::of(n)));
    let all: Vec<Entity> = world.create_batch(bundles).unwrap().iter(&world).collect();
    for (&entity, number) in all.iter().zip(0..) {
        let bundle = (Bytes::<4>::of(number + 1), Bytes::<64>::of(number));
        world.add(entity, bundle).unwrap();
    }
    churn::<9>(world, &all, |world, entity, number| {
        assert_eq!(world.get(entity).ok(), Some(&Bytes::<12>::of(number)));
        assert_eq!(world.get(entity).ok(), Some(&Bytes::<4>::of(number + 1)));
        assert_eq!(world.get(entity).ok(), Some(&Bytes::<64>::of(number)));
    });
}
