//! Commands for all that match.

use std::panic::{AssertUnwindSafe, catch_unwind};

use megachunk::command::FlushReport;
use megachunk::observer::Observed;
use megachunk::prelude::*;

struct Bullet;
struct Wall;

#[test]
fn all_that_match_in_its_turn_are_destroyed_and_nobody_else() {
    let mut world = World::new();
    let bullets = world
        .create_batch((0..1_000_u32).map(|n| (Bullet, n)))
        .unwrap();
    let bullets: Vec<Entity> = bullets.iter(&world).collect();
    let walls = world.create_batch((0..50_u32).map(|n| (Wall, n))).unwrap();
    let walls: Vec<Entity> = walls.iter(&world).collect();
    let mut commands = world.commands();
    // What comes before counts, what comes after does not.
    commands.remove::<(Bullet,)>(bullets[0]).unwrap();
    commands.add(walls[0], (Bullet,)).unwrap();
    commands.destroy(bullets[1]);
    commands.destroy_matching::<With<Bullet>>().unwrap();
    commands.add(walls[1], (Bullet,)).unwrap();
    commands.set(bullets[2], 7_u32).unwrap();
    assert_eq!(commands.len(), 6);
    drop(commands);
    let report: FlushReport = world.flush();
    assert_eq!(
        (report.destroyed, report.dead, report.closures),
        (1_000, 1, 0)
    );
    assert_eq!(report.first_dead[0].entity, bullets[2]);
    assert_eq!(world.count(), 50);
    assert!(world.exists(bullets[0]) && world.exists(walls[1]) && !world.exists(walls[0]));
    world.check().unwrap();
}

#[test]
fn who_was_created_before_the_flush_is_matched_and_who_is_created_in_it_behind_is_not() {
    let mut world = World::new();
    let mut commands = world.commands();
    let before = commands.create((Bullet,)).unwrap();
    commands.destroy_matching::<With<Bullet>>().unwrap();
    let behind = commands.create((Bullet,)).unwrap();
    commands.defer(|world| _ = world.create((Bullet,)).unwrap());
    drop(commands);
    let report = world.flush();
    assert_eq!((report.created, report.destroyed, world.count()), (2, 2, 1));
    assert!(!world.exists(before) && !world.exists(behind));
}

#[test]
fn a_filter_that_no_query_can_have_is_refused_at_once() {
    let mut world = World::new();
    world.create((Bullet, Wall)).unwrap();
    let mut commands = world.commands();
    assert!(
        commands
            .destroy_matching::<(With<Bullet>, Without<Bullet>)>()
            .is_err()
    );
    assert!(commands.destroy_matching::<With<(Bullet, Wall)>>().is_err());
    assert!(commands.is_empty());
    drop(commands);
    let report = world.flush();
    assert_eq!((report.commands, report.destroyed), (0, 0));
}

#[test]
fn observers_hear_of_it_in_one_batch_and_an_empty_match_is_nothing() {
    let mut world = World::new();
    world.resources_mut().insert(Vec::<usize>::new());
    world
        .observe::<Bullet, ()>(Observed::GO, |batch, _| {
            let len = batch.len();
            batch
                .resources_mut()
                .get_mut::<Vec<usize>>()
                .unwrap()
                .push(len);
        })
        .unwrap();
    let _ = world
        .create_batch((0..300_u32).map(|n| (Bullet, n)))
        .unwrap();
    for _ in 0..2 {
        world.commands().destroy_matching::<With<Bullet>>().unwrap();
        assert!(world.flush().is_clean());
    }
    assert_eq!(world.resources().get::<Vec<usize>>().unwrap()[..], [300]);
}

#[test]
fn a_drop_that_panics_goes_on_when_all_is_done() {
    struct Bad(bool);
    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(!self.0, "it ends");
        }
    }
    let mut world = World::new();
    let _ = world
        .create_batch((0..10).map(|n| (Bullet, Bad(n == 3))))
        .unwrap();
    let wall = world.create((Wall,)).unwrap();
    let mut commands = world.commands();
    commands.destroy_matching::<With<Bullet>>().unwrap();
    commands.add(wall, (5_u8,)).unwrap();
    drop(commands);
    assert!(catch_unwind(AssertUnwindSafe(|| world.flush())).is_err());
    assert_eq!((world.count(), world.get::<u8>(wall)), (1, Ok(&5)));
    world.check().unwrap();
}
