//! Clones that recorders promise.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::counted::{Counted, FUSE};
use megachunk::entity::EntityFault;
use megachunk::prelude::*;

fn universes() -> [Arc<Universe>; 2] {
    let universes = [Universe::new(), Universe::ordered()];
    universes.map(|universe| {
        universe.registry().register_clone::<Counted>().unwrap();
        universe.registry().register_clone::<u32>().unwrap();
        universe.registry().register_clone::<bool>().unwrap();
        Arc::new(universe)
    })
}

#[test]
fn a_clone_has_its_id_at_once_and_the_values_of_its_turn() {
    for universe in universes() {
        let mut world = World::of(&universe).unwrap();
        let ant = world.create((1_u32,).shared("red")).unwrap();
        world.set_name(ant, "ant").unwrap();
        let mut commands = world.commands();
        commands.set(ant, 2_u32).unwrap();
        let twin = commands.clone_entity(ant).unwrap();
        assert!(world.exists(twin) && !world.is_built(twin));
        assert!(commands.get::<u32>(twin).is_err());
        commands.set(ant, 3_u32).unwrap();
        commands.add(twin, (true,)).unwrap();
        let new = commands.create((9_u32, twin)).unwrap();
        let child = commands.clone_entity(twin).unwrap();
        commands.destroy(twin);
        drop(commands);
        let report = world.flush();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!((report.created, report.destroyed), (3, 1));
        assert_eq!((report.closures, report.commands), (0, 6));
        assert_eq!(world.get::<u32>(ant).unwrap(), &3);
        assert_eq!(world.get::<u32>(child).unwrap(), &2);
        assert!(world.get::<bool>(child).unwrap());
        assert_eq!(world.shared::<&str>(child).unwrap(), &"red");
        assert!(!world.exists(twin) && world.exists(new) && world.name(child).unwrap().is_none());
        world.check().unwrap();
        assert_eq!(universe.count(), 3);
    }
}

#[test]
fn who_is_created_in_the_same_recorder_is_cloned() {
    for universe in universes() {
        let mut world = World::of(&universe).unwrap();
        let mut commands = world.commands();
        let ant = commands.create((1_u32,)).unwrap();
        let twin = commands.clone_entity(ant).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(world.get::<u32>(twin).unwrap(), &1);
    }
}

#[test]
fn a_clone_that_cannot_be_made_is_reported_and_its_id_is_free() {
    for universe in universes() {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::of(&universe).unwrap();
        let ant = world.create((1_u32, Counted::new(&alive))).unwrap();
        let odd = world.create(('x',)).unwrap();
        let mut commands = world.commands();
        let strange = commands.clone_entity(odd).unwrap();
        let gone = commands.clone_entity(ant).unwrap();
        commands.destroy(gone);
        let unwanted = commands.clone_entity(ant).unwrap();
        commands.destroy(ant);
        let late = commands.clone_entity(ant).unwrap();
        drop(commands);
        // A recorder that comes before has no need of this one.
        world.release(unwanted).unwrap();
        let report = world.flush();
        assert_eq!((report.created, report.destroyed, report.dead), (1, 2, 1));
        let [first, second] = &*report.refused else {
            panic!("{report:?}")
        };
        assert_eq!((first.entity, second.entity), (strange, late));
        assert!(matches!(first.error, WorldError::NotCloneable { .. }));
        assert!(
            matches!(&second.error, WorldError::Entity(error) if error.entity == ant && error.fault == EntityFault::Destroyed)
        );
        assert_eq!((world.count(), universe.count()), (1, 1));
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        world.check().unwrap();
    }
}

#[test]
fn a_clone_that_panics_frees_its_id_and_the_others_are_made() {
    for universe in universes() {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::of(&universe).unwrap();
        let ant = world.create((Counted::new(&alive),)).unwrap();
        let mut commands = world.commands();
        let twins = [(); 3].map(|()| commands.clone_entity(ant).unwrap());
        drop(commands);
        FUSE.set(2);
        catch_unwind(AssertUnwindSafe(|| drop(world.flush()))).unwrap_err();
        FUSE.set(0);
        let living = twins.map(|twin| world.is_built(twin));
        assert_eq!(living, [true, false, true]);
        assert_eq!((universe.count(), alive.load(Ordering::Relaxed)), (3, 3));
        world.check().unwrap();
    }
}

#[test]
fn a_world_that_ends_before_the_flush_keeps_no_id() {
    for universe in universes() {
        let world = World::of(&universe).unwrap();
        let mut other = World::of(&universe).unwrap();
        let ant = other.create((1_u32,)).unwrap();
        world.commands().clone_entity(ant).unwrap();
        assert_eq!(universe.count(), 2);
        drop(world);
        assert_eq!(universe.count(), 1);
        // It is no clone of who lives in another world either.
        let world = World::of(&universe).unwrap();
        let mut world = world;
        let twin = world.commands().clone_entity(ant).unwrap();
        let report = world.flush();
        assert!(
            matches!(&*report.refused, [refused] if refused.entity == twin && matches!(refused.error, WorldError::Elsewhere { .. }))
        );
        assert_eq!(universe.count(), 1);
    }
}

#[test]
fn ids_of_clones_do_not_depend_on_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let [_, universe] = universes();
            let mut world = World::of(&universe).unwrap();
            let _ = world.create_batch((0..5_000_u32).map(|n| (n,))).unwrap();
            let mut all = Query::<(Entity, &u32)>::new(&world).unwrap();
            let commands = world.parallel_commands();
            all.read(&world).par_for_each_init(
                |chunk| commands.open_at(chunk.sort_key()),
                |commands, (entity, &n)| {
                    if n % 100 == 0 {
                        let twin = commands.clone_entity(entity).unwrap();
                        let mut pair = [Entity::PLACEHOLDER; 2];
                        commands.reserve_slice(&mut pair).unwrap();
                        commands.build(pair[0], ([pair[1], twin],)).unwrap();
                        commands.build(pair[1], ([pair[0], twin],)).unwrap();
                    }
                },
            );
            drop(commands);
            let report = world.flush();
            assert!(report.is_clean() && report.by_chance == 0, "{report:?}");
            assert_eq!(report.created, 150);
            let mut all = Query::<(Entity, Option<&[Entity; 2]>)>::new(&world).unwrap();
            let mut all = all.read(&world);
            let all = all.iter().map(|(entity, named)| (entity, named.copied()));
            all.collect::<Vec<_>>()
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(4));
}

#[test]
fn a_slice_is_reserved_and_given_back_without_a_world() {
    for universe in universes() {
        let mut world = World::of(&universe).unwrap();
        let mut all = [Entity::PLACEHOLDER; 100];
        let mut commands = world.commands();
        commands.reserve_slice(&mut all).unwrap();
        commands.reserve_slice(&mut []).unwrap();
        commands.build(all[0], (1_u32,)).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(universe.count(), 100);
        let error = universe.release(all[0]).unwrap_err();
        assert_eq!(
            (error.entity, error.fault),
            (all[0], EntityFault::AlreadyBuilt)
        );
        for &one in &all[1..] {
            universe.release(one).unwrap();
            assert_eq!(
                universe.release(one).unwrap_err().fault,
                EntityFault::Destroyed
            );
        }
        assert_eq!((universe.count(), world.count()), (1, 1));
        world.check().unwrap();
    }
}
