//! Hosts of a world that goes back: each object is its entity's that names it then, and no other's.

use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::processor::translator::{HostOf, Hosts, from_host, to_host};
use megachunk::world::Checkpoints;

/// A name, and where it is drawn.
#[derive(Debug, PartialEq)]
struct Sprite(&'static str, i32);

fn world() -> World {
    let mut world = World::of(&Arc::new(Universe::ordered())).expect("there is room");
    let registered = world.registry().register_plain::<i32>();
    registered.expect("there is room");
    Hosts::<Sprite>::install(&mut world).expect("there is room");
    world
}

fn hosts(world: &mut World) -> &mut Hosts<Sprite> {
    world.resources_mut().get_mut().expect("they are installed")
}

fn create(world: &mut World, at: i32) -> Entity {
    world.create((at,)).expect("there is room")
}

fn attach(world: &mut World, entity: Entity, name: &'static str) -> u32 {
    Hosts::attach(world, entity, Sprite(name, 0)).expect("it lives")
}

/// The names of those that are orphans, which are taken.
fn orphans(world: &mut World) -> Vec<&'static str> {
    let orphans = hosts(world).take_orphans();
    let mut names: Vec<_> = orphans.iter().map(|sprite| sprite.0).collect();
    names.sort_unstable();
    names
}

/// Who has which object, in the order of their slots.
fn pairs(world: &mut World) -> Vec<(Entity, &'static str)> {
    let hosts = hosts(world);
    let all = hosts.iter();
    let all: Vec<_> = all
        .map(|(slot, sprite)| (hosts.entity(slot).expect("it has one"), sprite.0))
        .collect();
    assert_eq!(all.len(), hosts.len());
    all
}

/// What the host has changed is copied, and then where all are.
fn schedule() -> Schedule {
    let mut schedule = Schedule::new();
    schedule.add(from_host::<Sprite, &mut i32, ()>("drag", |sprite, at| {
        *at = sprite.1
    }));
    schedule.add(to_host::<Sprite, &i32, ()>("show", |sprite, at| {
        sprite.1 = *at
    }));
    schedule
}

#[test]
fn who_gets_the_handle_of_one_that_has_not_been_does_not_get_its_object() {
    let (mut world, mut schedule) = (world(), schedule());
    let mut checkpoints = Checkpoints::new(2);
    let before = checkpoints.take(&mut world).expect("it can be kept");
    let ghost = create(&mut world, 1);
    let slot = attach(&mut world, ghost, "ghost");
    hosts(&mut world).get_mut(slot).expect("it is there").1 = 7;
    checkpoints
        .roll_back(&mut world, before)
        .expect("it goes back");
    assert!(hosts(&mut world).get_mut(slot).is_none());
    let other = create(&mut world, 100);
    assert_eq!(other, ghost);
    schedule.run(&mut world).expect("it runs");
    assert_eq!(world.get::<i32>(other), Ok(&100));
    assert_eq!(pairs(&mut world), []);
    assert_eq!(orphans(&mut world), ["ghost"]);
    let slot = attach(&mut world, other, "other");
    schedule.run(&mut world).expect("it runs");
    let shown = Some(&Sprite("other", 100));
    assert_eq!(hosts(&mut world).get(slot), shown);
    world.destroy(other).expect("it lives");
    assert_eq!(orphans(&mut world), ["other"]);
}

#[test]
fn a_copy_that_gets_the_handle_of_one_that_has_not_been_does_not_get_its_object() {
    type Copied = fn(&mut World, &Prototype, HostOf<Sprite>) -> Entity;
    let copies: [Copied; 2] = [
        |world, prototype, _| world.create_copy(prototype).expect("there is room"),
        |world, _, host| world.create((5_i32, host)).expect("there is room"),
    ];
    for copied in copies {
        let (mut world, mut schedule) = (world(), schedule());
        let tree = create(&mut world, 3);
        attach(&mut world, tree, "tree");
        let host = |world: &World, entity| {
            let host = world.get::<HostOf<Sprite>>(entity);
            host.expect("it has one").clone()
        };
        let mut checkpoints = Checkpoints::new(2);
        let before = checkpoints.take(&mut world).expect("it can be kept");
        let (ghost, shade) = (create(&mut world, 5), create(&mut world, 6));
        attach(&mut world, ghost, "ghost");
        attach(&mut world, shade, "shade");
        let (prototype, named) = (Prototype::of(&world, ghost), host(&world, ghost));
        let prototype = prototype.expect("it can be one");
        // That one names another's when it goes.
        let other = host(&world, tree);
        world.add(shade, (other.clone(),)).expect("it lives");
        world.destroy(shade).expect("it lives");
        checkpoints
            .roll_back(&mut world, before)
            .expect("it goes back");
        assert_eq!(copied(&mut world, &prototype, named), ghost);
        assert_eq!(world.create((6_i32, other)), Ok(shade));
        assert_eq!(pairs(&mut world), [(tree, "tree")]);
        schedule.run(&mut world).expect("it runs");
        assert_eq!(world.get::<i32>(ghost), Ok(&5));
        // To go back to the copy is to go back to who has that handle and names that object.
        let after = checkpoints.take(&mut world).expect("it can be kept");
        checkpoints
            .roll_back(&mut world, after)
            .expect("it goes back");
        assert_eq!(pairs(&mut world), [(tree, "tree"), (ghost, "ghost")]);
        world.destroy(ghost).expect("it lives");
        assert_eq!(orphans(&mut world), ["ghost", "shade"]);
        world.check().expect("all is well");
    }
}

#[test]
fn an_object_that_was_given_since_leaves_an_entity_that_was_there() {
    let mut world = world();
    let tree = create(&mut world, 0);
    let mut checkpoints = Checkpoints::new(2);
    let before = checkpoints.take(&mut world).expect("it can be kept");
    attach(&mut world, tree, "first");
    checkpoints
        .roll_back(&mut world, before)
        .expect("it goes back");
    attach(&mut world, tree, "second");
    assert_eq!(pairs(&mut world), [(tree, "second")]);
    assert_eq!(orphans(&mut world), ["first"]);
    world.destroy(tree).expect("it lives");
    assert_eq!(orphans(&mut world), ["second"]);
    assert!(hosts(&mut world).is_empty());
}

/// What comes over a tree and its object.
type Change = fn(&mut World, Entity);

#[test]
fn an_object_that_has_become_an_orphan_since_has_its_entity_again() {
    let changes: [Change; 5] = [
        |world, tree| world.destroy(tree).expect("it lives"),
        |world, tree| assert_eq!(world.remove::<(HostOf<Sprite>,)>(tree), Ok(true)),
        |world, tree| _ = attach(world, tree, "another"),
        // Another is in its slot, and its entity goes, too, before it does.
        |world, tree| {
            world.destroy(tree).expect("it lives");
            let bird = create(world, 5);
            assert_eq!(attach(world, bird, "bird"), 0);
            world.destroy(bird).expect("it lives");
        },
        // Another is in its slot, which the host has moved, and so are others in others.
        |world, tree| {
            world.destroy(tree).expect("it lives");
            for name in ["bird", "bee", "ant"] {
                let entity = create(world, 5);
                let slot = attach(world, entity, name);
                hosts(world).get_mut(slot).expect("it is there").1 = 50;
            }
        },
    ];
    for (change, gone) in changes.into_iter().zip([
        &[] as &[&str],
        &[],
        &["another"],
        &["bird"],
        &["ant", "bee", "bird"],
    ]) {
        let (mut world, mut schedule) = (world(), schedule());
        let (tree, bush) = (create(&mut world, 3), create(&mut world, 4));
        let slot = attach(&mut world, tree, "tree");
        let host = attach(&mut world, bush, "bush");
        schedule.run(&mut world).expect("it runs");
        let mut checkpoints = Checkpoints::new(2);
        let before = checkpoints.take(&mut world).expect("it can be kept");
        change(&mut world, tree);
        *world.get_mut::<i32>(bush).expect("it lives") = 40;
        for _ in 0..2 {
            checkpoints
                .roll_back(&mut world, before)
                .expect("it goes back");
            assert_eq!(pairs(&mut world), [(tree, "tree"), (bush, "bush")]);
            schedule.run(&mut world).expect("it runs");
            assert_eq!(world.get::<i32>(tree), Ok(&3), "the host has not moved it");
            let shown = [Some(&Sprite("tree", 3)), Some(&Sprite("bush", 4))];
            let all = hosts(&mut world);
            assert_eq!([slot, host].map(|slot| all.get(slot)), shown);
        }
        hosts(&mut world).get_mut(slot).expect("it is there").1 = 30;
        schedule.run(&mut world).expect("it runs");
        assert_eq!(world.get::<i32>(tree), Ok(&30));
        assert_eq!(orphans(&mut world), gone);
        assert_eq!(world.destroy_slice(&[tree, bush]).done, 2);
        assert_eq!(orphans(&mut world), ["bush", "tree"]);
        world.check().expect("all is well");
    }
}

#[test]
fn what_the_host_has_changed_of_an_object_is_copied_when_it_has_its_entity_again() {
    let (mut world, mut schedule) = (world(), schedule());
    let tree = create(&mut world, 3);
    let slot = attach(&mut world, tree, "tree");
    let mut checkpoints = Checkpoints::new(2);
    let before = checkpoints.take(&mut world).expect("it can be kept");
    hosts(&mut world).get_mut(slot).expect("it is there").1 = 30;
    world.destroy(tree).expect("it lives");
    let mut back = |world: &mut World| checkpoints.roll_back(world, before).expect("it goes");
    back(&mut world);
    schedule.run(&mut world).expect("it runs");
    assert_eq!(world.get::<i32>(tree), Ok(&30));
    // Once: who plays that tick again changes it again.
    back(&mut world);
    schedule.run(&mut world).expect("it runs");
    assert_eq!(world.get::<i32>(tree), Ok(&3));
    assert_eq!(hosts(&mut world).get(slot), Some(&Sprite("tree", 3)));
}

#[test]
fn an_object_that_was_taken_does_not_come_back_with_its_entity() {
    let (mut world, mut schedule) = (world(), schedule());
    let tree = create(&mut world, 3);
    let slot = attach(&mut world, tree, "tree");
    let mut checkpoints = Checkpoints::new(2);
    let before = checkpoints.take(&mut world).expect("it can be kept");
    world.destroy(tree).expect("it lives");
    assert_eq!(orphans(&mut world), ["tree"]);
    checkpoints
        .roll_back(&mut world, before)
        .expect("it goes back");
    assert_eq!(pairs(&mut world), []);
    schedule.run(&mut world).expect("it runs");
    let named = world.get::<HostOf<Sprite>>(tree).expect("it has one");
    assert_eq!(named.slot(), slot);
    attach(&mut world, tree, "new");
    assert_eq!(pairs(&mut world), [(tree, "new")]);
    assert_eq!(orphans(&mut world), [""; 0]);
}

#[test]
fn objects_follow_a_world_that_goes_back_and_on() {
    let mut world = world();
    let [mut ones, mut others] = [2, 2].map(Checkpoints::new);
    let (bush, tree) = (create(&mut world, 4), create(&mut world, 3));
    // A composition that came since is another one when it comes again.
    attach(&mut world, bush, "bush");
    let without = ones.take(&mut world).expect("it can be kept");
    attach(&mut world, tree, "first");
    let first = others.take(&mut world).expect("it can be kept");
    attach(&mut world, tree, "second");
    let second = others.take(&mut world).expect("it can be kept");
    let mut go = |to: &mut dyn FnMut(&mut World), expected: &[&str]| {
        to(&mut world);
        let mut all = vec![(bush, "bush")];
        all.extend(expected.iter().map(|&name| (tree, name)));
        all.sort_unstable();
        let mut there = pairs(&mut world);
        there.sort_unstable();
        assert_eq!(there, all);
        world.check().expect("all is well");
    };
    for _ in 0..2 {
        let mut back = |world: &mut World| ones.roll_back(world, without).expect("it goes");
        go(&mut back, &[]);
        if others.has(second) {
            let mut on = |world: &mut World| others.roll_back(world, second).expect("it goes");
            go(&mut on, &["second"]);
        }
        let mut on = |world: &mut World| others.roll_back(world, first).expect("it goes");
        go(&mut on, &["first"]);
    }
    assert_eq!(orphans(&mut world), ["second"]);
}

#[test]
fn what_two_have_exchanged_is_whose_it_was() {
    let (mut world, mut schedule) = (world(), schedule());
    let all = ["ant", "bee"].map(|name| {
        let entity = create(&mut world, 0);
        attach(&mut world, entity, name);
        (entity, name)
    });
    let mut checkpoints = Checkpoints::new(2);
    let before = checkpoints.take(&mut world).expect("it can be kept");
    let exchange = |world: &mut World| {
        let of = world.query::<&mut HostOf<Sprite>, ()>();
        let mut of = of.expect("it is one");
        of.for_each_chunk(|_, of| of.reverse());
    };
    exchange(&mut world);
    world.destroy(all[0].0).expect("it lives");
    checkpoints
        .roll_back(&mut world, before)
        .expect("it goes back");
    assert_eq!(pairs(&mut world), all);
    // It goes back to that: each names the other's, and has none.
    exchange(&mut world);
    let before = checkpoints.take(&mut world).expect("it can be kept");
    checkpoints
        .roll_back(&mut world, before)
        .expect("it goes back");
    schedule.run(&mut world).expect("it runs");
    assert_eq!(pairs(&mut world), []);
    assert_eq!(orphans(&mut world), ["ant", "bee"]);
}

#[test]
fn hosts_that_were_out_while_the_world_went_back_copy_nothing_to_another() {
    let (mut world, mut schedule) = (world(), schedule());
    let mut checkpoints = Checkpoints::new(2);
    let before = checkpoints.take(&mut world).expect("it can be kept");
    let ghost = create(&mut world, 1);
    let slot = attach(&mut world, ghost, "ghost");
    let gone_back = world.with_resource(|world, hosts: &mut Hosts<Sprite>| {
        hosts.get_mut(slot).expect("it is there").1 = 7;
        checkpoints.roll_back(world, before)
    });
    gone_back
        .expect("they are installed")
        .expect("it goes back");
    let other = create(&mut world, 100);
    assert_eq!(other, ghost);
    schedule.run(&mut world).expect("it runs");
    assert_eq!(world.get::<i32>(other), Ok(&100));
    // And not if it has another object.
    attach(&mut world, other, "other");
    let ghost = hosts(&mut world).get_mut(slot);
    ghost.expect("nobody knows that it is none").1 = 7;
    schedule.run(&mut world).expect("it runs");
    assert_eq!(world.get::<i32>(other), Ok(&100));
}
