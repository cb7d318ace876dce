//! Handles, rows and chunks that came or went since are where they were.

use megachunk::prelude::*;
use megachunk::world::Checkpoints;

use crate::checkpoints::{Asleep, Spot, Wide, bytes, world};

#[test]
fn handles_of_those_who_came_since_are_given_again() {
    let mut world = world();
    let ants: Vec<Entity> = (0..5).map(|n| world.create((Spot(n),)).unwrap()).collect();
    world.destroy(ants[2]).unwrap();
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    world.destroy(ants[3]).unwrap();
    let come: Vec<Entity> = (0..400)
        .map(|n| world.create((Spot(n), Asleep)).unwrap())
        .collect();
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert!(world.exists(ants[3]) && !world.exists(ants[2]));
    assert!(!come.iter().any(|&one| world.exists(one)));
    assert_eq!((world.count(), world.archetypes().len()), (4, 1));
    world.destroy(ants[3]).unwrap();
    for &one in &come {
        assert_eq!(world.create((Wide([0; 20]),)).unwrap(), one);
    }
    world.check().unwrap();
}

#[test]
fn chunks_that_have_gone_or_changed_places_in_great_number_come_back() {
    let mut world = world();
    world.set_chunk_size(1);
    let count = if cfg!(miri) { 3_000 } else { 30_000 };
    let all = world.create_batch((0..count).map(|n| (Wide([n; 20]),)));
    let all = all.unwrap().to_vec(&world);
    let chunks = world.stats().chunks;
    assert!(chunks > 20, "{chunks}");
    let mut checkpoints = Checkpoints::new(4);
    let taken = checkpoints.take(&mut world).unwrap();
    let was = bytes(&world);
    // Those behind come in the place of the first third; and then all go but some in the middle.
    assert!(world.destroy_slice(&all[..all.len() / 3]).is_clean());
    let later = checkpoints.take(&mut world).unwrap();
    let was_later = bytes(&world);
    for &some in all[all.len() / 2..].iter().step_by(100) {
        world.get_mut::<Wide>(some).unwrap().0[3] += 1;
    }
    let end = all.len() / 4 * 3;
    assert!(world.destroy_slice(&all[end..]).is_clean());
    checkpoints.take(&mut world).unwrap();
    assert!(world.destroy_slice(&all[all.len() / 2..end]).is_clean());
    let others = (0..count).map(|n| (Wide([n + 7; 20]), Spot(n)));
    world.create_batch(others).unwrap();
    for (to, was) in [(later, &was_later), (taken, &was)] {
        checkpoints.roll_back(&mut world, to).unwrap();
        world.check().unwrap();
        assert!(bytes(&world) == *was);
    }
}
