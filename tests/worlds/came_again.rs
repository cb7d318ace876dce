//! A composition that goes and comes again is another one, be it of the same fragments and by the same bundle type: its chunks
//! may be laid out in another way, and no checkpoint of the one before is put into them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use megachunk::prelude::*;
use megachunk::world::{CheckpointError, Checkpoints};

const ANTS: u64 = 3_000;

fn world(chunk_size: usize) -> World {
    let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
    world.registry().register_plain::<u64>().unwrap();
    world.registry().register_clone::<String>().unwrap();
    world.set_chunk_size(chunk_size);
    world
}

fn ant(number: u64) -> (u64, String) {
    (number, format!("ant {number}"))
}

/// All values are what they were.
fn expect_ants(world: &World, ants: &[Entity]) {
    world.check().unwrap();
    for (number, &entity) in (0..).zip(ants) {
        let (n, name) = ant(number);
        assert_eq!(world.get::<u64>(entity), Ok(&n));
        assert_eq!(world.get::<String>(entity), Ok(&name));
    }
}

/// A change of how the chunks of compositions that come from now on are laid out.
type Relay = fn(&mut World);

const RELAYS: [(usize, Relay); 3] = [
    (8, |world| {
        world.set_chunk_size(1);
    }),
    (1, |world| {
        world.set_chunk_size(8);
    }),
    (1, |world| {
        world.registry().register_enableable::<u64>().unwrap();
    }),
];

#[test]
fn no_world_goes_back_into_a_composition_that_was_collected_and_came_again() {
    for (case, (chunk_size, relay)) in RELAYS.into_iter().enumerate() {
        let mut world = world(chunk_size);
        let ants: Vec<Entity> = (0..ANTS).map(|n| world.create(ant(n)).unwrap()).collect();
        let mut checkpoints = Checkpoints::new(4);
        let before = checkpoints.take(&mut world).unwrap();
        for &entity in &ants {
            world.destroy(entity).unwrap();
        }
        assert_eq!(world.collect_archetypes(), 1, "case {case}");
        relay(&mut world);
        let again = world.create(ant(0)).unwrap();
        world.destroy(again).unwrap();
        let refused = checkpoints.roll_back(&mut world, before);
        assert_eq!(refused, Err(CheckpointError::Collected), "case {case}");
        // It is usable as it was, and so are later checkpoints.
        let bees: Vec<Entity> = (0..ANTS).map(|n| world.create(ant(n)).unwrap()).collect();
        let later = checkpoints.take(&mut world).unwrap();
        for &entity in &bees {
            *world.get_mut::<String>(entity).unwrap() = String::new();
        }
        world.destroy(bees[7]).unwrap();
        checkpoints.roll_back(&mut world, later).unwrap();
        expect_ants(&world, &bees);
    }
}

#[test]
fn no_world_goes_back_into_a_composition_that_others_have_forgotten_and_that_came_again() {
    for (case, (chunk_size, relay)) in RELAYS.into_iter().enumerate() {
        let mut world = world(chunk_size);
        let (mut first, mut second) = (Checkpoints::new(4), Checkpoints::new(4));
        let empty = first.take(&mut world).unwrap();
        let ants: Vec<Entity> = (0..ANTS).map(|n| world.create(ant(n)).unwrap()).collect();
        let full = second.take(&mut world).unwrap();
        // It forgets the composition.
        first.roll_back(&mut world, empty).unwrap();
        assert!(!world.exists(ants[0]));
        relay(&mut world);
        world.create(ant(0)).unwrap();
        let refused = second.roll_back(&mut world, full);
        assert_eq!(refused, Err(CheckpointError::Collected), "case {case}");
        world.check().unwrap();
        // What is kept now shares nothing with what was kept of the other one.
        let now = second.take(&mut world).unwrap();
        world.create(ant(1)).unwrap();
        second.roll_back(&mut world, now).unwrap();
        assert_eq!(world.count(), 1);
        world.check().unwrap();
        first.roll_back(&mut world, empty).unwrap();
        assert_eq!(world.count(), 0);
    }
}

#[test]
fn compositions_that_stay_go_back_beside_ones_that_are_collected() {
    let mut world = world(8);
    world.create((1_u64,)).unwrap();
    let ants: Vec<Entity> = (0..ANTS).map(|n| world.create(ant(n)).unwrap()).collect();
    let mut checkpoints = Checkpoints::new(4);
    let before = checkpoints.take(&mut world).unwrap();
    // One that the checkpoint does not have comes, goes and comes again.
    for chunk_size in [1, 8] {
        world.set_chunk_size(chunk_size);
        let bee = world.create((String::from("bee"),)).unwrap();
        world.destroy(bee).unwrap();
        assert_eq!(world.collect_archetypes(), 1);
    }
    world.destroy(ants[5]).unwrap();
    checkpoints.roll_back(&mut world, before).unwrap();
    expect_ants(&world, &ants);
    assert_eq!(world.count(), ANTS as usize + 1);
}

#[test]
fn a_world_goes_forward_by_other_checkpoints_where_its_compositions_stay() {
    let mut world = world(1);
    let (mut first, mut second) = (Checkpoints::new(4), Checkpoints::new(4));
    let mut ants = vec![world.create(ant(0)).unwrap()];
    let few = first.take(&mut world).unwrap();
    ants.extend((1..ANTS).map(|n| world.create(ant(n)).unwrap()));
    let many = second.take(&mut world).unwrap();
    for _ in 0..2 {
        first.roll_back(&mut world, few).unwrap();
        assert_eq!(world.count(), 1);
        expect_ants(&world, &ants[..1]);
        *world.get_mut::<u64>(ants[0]).unwrap() = 7;
        second.roll_back(&mut world, many).unwrap();
        assert_eq!(world.count(), ANTS as usize);
        expect_ants(&world, &ants);
    }
}

/// All are equal while somebody says so, which nobody may.
#[derive(Debug)]
struct Mood(u32);

static ALL_ARE_EQUAL: AtomicBool = AtomicBool::new(false);

impl PartialEq for Mood {
    fn eq(&self, other: &Self) -> bool {
        ALL_ARE_EQUAL.load(Ordering::Relaxed) || self.0 == other.0
    }
}

impl Eq for Mood {}

impl core::hash::Hash for Mood {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        0_u8.hash(state);
    }
}

#[test]
fn shared_values_that_have_become_equal_go_back_as_they_were_or_not_at_all() {
    for is_far in [false, true] {
        try_to_go_back(is_far);
    }
}

/// With two groups of one composition, or one each of two.
fn try_to_go_back(is_far: bool) {
    let mut world = world(1);
    world.registry().register_clone::<u8>().unwrap();
    let ants = [1, 2].map(|n| {
        let ant = (u64::from(n),).shared(Mood(n));
        let ant = world.create(ant).unwrap();
        if is_far && n == 2 {
            world.add(ant, (2_u8,)).unwrap();
        }
        ant
    });
    let mut checkpoints = Checkpoints::new(2);
    let before = checkpoints.take(&mut world).unwrap();
    let moods = |world: &World| ants.map(|ant| world.shared::<Mood>(ant).unwrap().0);
    // Both are there: each is found as itself.
    *world.get_mut::<u64>(ants[0]).unwrap() = 7;
    ALL_ARE_EQUAL.store(true, Ordering::Relaxed);
    checkpoints.roll_back(&mut world, before).unwrap();
    world.check().unwrap();
    assert_eq!(moods(&world), [1, 2]);
    // Neither is there: they would be one.
    for ant in ants {
        world.destroy(ant).unwrap();
    }
    let refused = checkpoints.roll_back(&mut world, before).unwrap_err();
    assert!(
        matches!(&refused, CheckpointError::EqualNow { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("Mood"), "{refused}");
    assert_eq!(world.count(), 0);
    world.check().unwrap();
    ALL_ARE_EQUAL.store(false, Ordering::Relaxed);
    checkpoints.roll_back(&mut world, before).unwrap();
    world.check().unwrap();
    assert_eq!(moods(&world), [1, 2]);
}

/// Not even equal to itself, as a number that is none.
struct Never(u8);

impl PartialEq for Never {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Eq for Never {}

impl core::hash::Hash for Never {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[test]
fn groups_of_one_value_that_is_not_equal_to_itself_do_not_become_one() {
    let universe = Arc::new(Universe::ordered());
    let mut world = World::of(&universe).unwrap();
    universe.registry().register_clone::<u64>().unwrap();
    let mut other = World::of(&universe).unwrap();
    let ants = [1, 2].map(|n: u64| world.create((n,)).unwrap());
    // One value, which both share.
    let all = world.matching::<With<u64>>().unwrap();
    assert_eq!(all.set_shared(Never(7)).unwrap(), 2);
    let value = |world: &World, ant| core::ptr::from_ref(world.shared::<Never>(ant).unwrap());
    assert_eq!(value(&world, ants[0]), value(&world, ants[1]));
    // Who comes back finds none that is equal, and has the very same under another number.
    world.move_to(&mut other, ants[1]).unwrap();
    other.move_to(&mut world, ants[1]).unwrap();
    world.check().unwrap();
    assert_eq!(value(&world, ants[0]), value(&world, ants[1]));
    assert_eq!(
        world.stats().archetypes.iter().map(|of| of.groups).max(),
        Some(2)
    );
    let mut checkpoints = Checkpoints::new(2);
    let before = checkpoints.take(&mut world).unwrap();
    for _ in 0..2 {
        *world.get_mut::<u64>(ants[0]).unwrap() = 9;
        let refused = checkpoints.roll_back(&mut world, before).unwrap_err();
        assert!(
            matches!(&refused, CheckpointError::EqualNow { name, .. } if name.contains("Never")),
            "{refused}"
        );
        world.check().unwrap();
        assert_eq!(
            world.get::<u64>(ants[0]).unwrap(),
            &9,
            "nothing has changed"
        );
        assert_eq!(world.shared::<Never>(ants[1]).unwrap().0, 7);
    }
    // Nor when nobody has it any more.
    world.clear();
    let refused = checkpoints.roll_back(&mut world, before).unwrap_err();
    assert!(
        matches!(&refused, CheckpointError::EqualNow { .. }),
        "{refused}"
    );
    assert_eq!(world.count(), 0);
    world.check().unwrap();
}
