//! What cannot be kept, or cannot go back, is refused, and nothing has changed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use megachunk::prelude::*;
use megachunk::world::{CheckpointError, Checkpoints};

use crate::checkpoints::{Spot, Wide, bytes, world};
use crate::counted::FUSE;

#[test]
fn what_cannot_go_back_is_refused_and_nothing_has_changed() {
    let mut checkpoints = Checkpoints::new(2);
    let take = |world: &mut World| Checkpoints::new(1).take(world);
    let mut unordered = World::new();
    assert_eq!(take(&mut unordered), Err(CheckpointError::NotOrdered));

    let mut world = world();
    let ant = world.create((Spot(1),)).unwrap();
    let universe = Arc::clone(world.universe());
    // Ids of others.
    let reserved = universe.reserve().unwrap();
    assert_eq!(take(&mut world), Err(CheckpointError::NotAlone));
    universe.release(reserved).unwrap();
    let mut other = World::of(&universe).unwrap();
    let bee = other.create((Spot(2),)).unwrap();
    assert_eq!(take(&mut world), Err(CheckpointError::NotAlone));
    other.destroy(bee).unwrap();
    // A recorder that holds something, or is open.
    let mut commands = world.commands();
    let created = commands.create((Spot(3),)).unwrap();
    drop(commands);
    assert!(
        matches!(take(&mut world), Err(CheckpointError::Pending(pending)) if pending.entities == 1)
    );
    assert!(world.flush().is_clean());
    world.destroy(created).unwrap();
    // A value that nobody can double.
    struct Secret;
    let secret = world.create((String::new(), Spot(1))).unwrap();
    let refused = take(&mut world).unwrap_err();
    assert!(
        matches!(&refused, CheckpointError::NotCloneable { name, .. } if name.contains("String")),
        "{refused}"
    );
    world.destroy(secret).unwrap();
    let secret = world.create((Secret,)).unwrap();
    assert!(matches!(
        take(&mut world),
        Err(CheckpointError::NotCloneable { .. })
    ));
    world.destroy(secret).unwrap();

    let taken = checkpoints.take(&mut world).unwrap();
    let was = bytes(&world);
    // Of another world.
    assert_eq!(
        checkpoints.take(&mut other),
        Err(CheckpointError::OtherWorld)
    );
    assert_eq!(
        checkpoints.roll_back(&mut other, taken),
        Err(CheckpointError::OtherWorld)
    );
    assert_eq!(
        Checkpoints::new(1).roll_back(&mut world, taken),
        Err(CheckpointError::Gone)
    );
    // Others have come since.
    world.get_mut::<Spot>(ant).unwrap().0 = 7;
    world.create((Wide([0; 20]),)).unwrap();
    let changed = world.state_hash(&Default::default()).unwrap();
    let refuse = |checkpoints: &mut Checkpoints, world: &mut World| {
        let refused = checkpoints.roll_back(world, taken);
        assert_eq!(world.state_hash(&Default::default()).unwrap(), changed);
        world.check().unwrap();
        refused
    };
    let reserved = universe.reserve().unwrap();
    assert_eq!(
        refuse(&mut checkpoints, &mut world),
        Err(CheckpointError::NotAlone)
    );
    universe.release(reserved).unwrap();
    let bee = other.create((Spot(2),)).unwrap();
    assert_eq!(
        refuse(&mut checkpoints, &mut world),
        Err(CheckpointError::NotAlone)
    );
    other.destroy(bee).unwrap();
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert!(bytes(&world) == was);
    // In the middle of a flush.
    let seen = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&seen);
    world.commands().defer(move |world| {
        let refused = Checkpoints::new(1).take(world);
        told.store(refused == Err(CheckpointError::Flushing), Ordering::Relaxed);
    });
    assert!(world.flush().is_clean());
    assert!(seen.load(Ordering::Relaxed));
    // Collected.
    let wide = world.create((Wide([0; 20]),)).unwrap();
    let with_wide = checkpoints.take(&mut world).unwrap();
    world.destroy(wide).unwrap();
    assert!(world.collect_archetypes() > 0);
    assert_eq!(
        checkpoints.roll_back(&mut world, with_wide),
        Err(CheckpointError::Collected)
    );
    world.check().unwrap();
    // Too many since.
    checkpoints.take(&mut world).unwrap();
    checkpoints.take(&mut world).unwrap();
    assert_eq!(
        checkpoints.roll_back(&mut world, with_wide),
        Err(CheckpointError::Gone)
    );
    checkpoints.clear();
    world.clear();
    checkpoints.take(&mut other).unwrap();
}

#[test]
fn what_writes_and_reads_the_state_may_refuse() {
    #[derive(Clone, PartialEq, Debug)]
    struct Log(Vec<u8>);
    let universe = Universe::ordered();
    let read = |bytes: &[u8], _: &megachunk::entity::EntityMap| match bytes.first() {
        Some(9) => Err("nine"),
        _ => Ok(Log(bytes.to_vec())),
    };
    let write = |log: &Log, bytes: &mut Vec<u8>| match log.0.first() {
        Some(8) => Err("eight"),
        _ => {
            bytes.extend(&log.0);
            Ok(())
        }
    };
    universe
        .registry()
        .register_state_with("log", write, read)
        .unwrap();
    universe.registry().register_plain::<Spot>().unwrap();
    let mut world = World::of(&Arc::new(universe)).unwrap();
    let ant = world.create((Spot(1),)).unwrap();
    let mut checkpoints = Checkpoints::new(4);
    let none = checkpoints.take(&mut world).unwrap();
    world.resources_mut().insert(Log(vec![1, 2]));
    let some = checkpoints.take(&mut world).unwrap();
    world.resources_mut().insert(Log(vec![8]));
    let refused = checkpoints.take(&mut world).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "log, which is part of the state: eight"
    );
    world.resources_mut().insert(Log(vec![9]));
    let nine = checkpoints.take(&mut world).unwrap();
    world.get_mut::<Spot>(ant).unwrap().0 = 2;
    let refused = checkpoints.roll_back(&mut world, nine).unwrap_err();
    assert_eq!(refused.to_string(), "log, which is part of the state: nine");
    assert_eq!(world.get::<Spot>(ant).unwrap(), &Spot(2));
    checkpoints.roll_back(&mut world, some).unwrap();
    assert_eq!(world.resources().get::<Log>(), Some(&Log(vec![1, 2])));
    assert_eq!(world.get::<Spot>(ant).unwrap(), &Spot(1));
    checkpoints.roll_back(&mut world, none).unwrap();
    assert_eq!(world.resources().get::<Log>(), None);
}

#[test]
fn a_world_whose_state_is_lent_is_not_kept_and_does_not_go_back() {
    let mut world = world();
    let ant = world.create((Spot(1),)).unwrap();
    world.resources_mut().insert(7_u64);
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    let refused = world.with_resource(|world, score: &mut u64| {
        *score += 1;
        world.get_mut::<Spot>(ant).unwrap().0 = 2;
        let refused = checkpoints.take(world).unwrap_err();
        assert_eq!(checkpoints.roll_back(world, taken), Err(refused.clone()));
        // Nor if another one is in its place.
        world.resources_mut().insert(100_u64);
        assert_eq!(checkpoints.take(world), Err(refused.clone()));
        refused
    });
    let refused = refused.unwrap();
    assert!(
        matches!(&refused, CheckpointError::Lent { name, .. } if &**name == "score"),
        "{refused}"
    );
    assert_eq!(world.resources().get::<u64>(), Some(&8));
    assert_eq!(world.get::<Spot>(ant).unwrap(), &Spot(2));
    // Also where it came back by a panic.
    FUSE.set(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        world.with_resource(|_, _: &mut u64| crate::counted::burn())
    }));
    assert!(panicked.is_err());
    // What is not part of the state may be lent: the checkpoints themselves.
    world.resources_mut().insert(checkpoints);
    let gone_back = world.with_resource(|world, checkpoints: &mut Checkpoints| {
        checkpoints.take(world).unwrap();
        checkpoints.roll_back(world, taken)
    });
    assert_eq!(gone_back, Some(Ok(())));
    assert_eq!(world.resources().get::<u64>(), Some(&7));
    assert_eq!(world.get::<Spot>(ant).unwrap(), &Spot(1));
}
