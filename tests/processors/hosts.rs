//! Hosts: objects outside of a world that go, come again, and take each other's place.

use megachunk::prelude::*;
use megachunk::processor::translator::{HostOf, Hosts, from_host, to_host};
use megachunk::query::QueryFilter;

use crate::misused::{A, world};

struct Sprite(u32);

#[test]
fn who_stands_for_an_object_of_hosts_that_went_stands_for_nothing() {
    let mut world = World::new();
    Hosts::<Sprite>::install(&mut world).expect("there is room");
    let old = world.create((A(1),)).expect("there is room");
    let _ = Hosts::attach(&mut world, old, Sprite(0)).expect("it lives");
    assert_eq!(Hosts::<Sprite>::uninstall(&mut world).len(), 1);

    Hosts::<Sprite>::install(&mut world).expect("there is room");
    let new = world.create((A(2),)).expect("there is room");
    let slot = Hosts::attach(&mut world, new, Sprite(0)).expect("it lives");
    let mut schedule = Schedule::new();
    schedule.add(to_host::<Sprite, &A, ()>("show", |sprite, a| {
        sprite.0 = sprite.0 * 10 + a.0
    }));
    schedule.run(&mut world).expect("it runs");
    let hosts = |world: &mut World| {
        let hosts = world
            .resources_mut()
            .get_mut::<Hosts<Sprite>>()
            .expect("it is there");
        (
            hosts.get(slot).map(|sprite| sprite.0),
            hosts.take_orphans().len(),
        )
    };
    assert_eq!(hosts(&mut world), (Some(2), 0));
    let registered = world.registry().register_clone::<A>();
    registered.expect("there is room");
    let clone = world.clone_entity(new).expect("it can be cloned");
    schedule.run(&mut world).expect("it runs");
    world.destroy(old).expect("it lives");
    world.destroy(clone).expect("it lives");
    assert_eq!(
        hosts(&mut world),
        (Some(22), 0),
        "only its own entity's end is its end"
    );
    world.destroy(new).expect("it lives");
    assert_eq!(hosts(&mut world), (None, 1));
}

#[test]
fn the_first_change_of_hosts_is_copied_whatever_others_were_there_before() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(from_host::<Sprite, &mut A, ()>("drag", |sprite, a| {
        a.0 = sprite.0
    }));
    for changes in [3, 1] {
        Hosts::<Sprite>::install(&mut world).expect("there is room");
        let ant = world.create((A(0),)).expect("there is room");
        let slot = Hosts::attach(&mut world, ant, Sprite(0)).expect("it lives");
        for change in 1..=changes {
            let hosts = world.resources_mut().get_mut::<Hosts<Sprite>>();
            let sprite = hosts.and_then(|hosts| hosts.get_mut(slot));
            sprite.expect("it is there").0 = change;
            schedule.run(&mut world).expect("it runs");
            assert_eq!(world.get::<A>(ant).expect("it lives").0, change);
        }
        assert_eq!(Hosts::<Sprite>::uninstall(&mut world).len(), 1);
    }
}

#[test]
fn an_object_that_takes_anothers_place_is_copied_to_if_the_filter_asks_for_that() {
    type Filter = Or<(Changed<A>, Changed<HostOf<u32>>)>;
    let mut world = world();
    Hosts::<u32>::install(&mut world).expect("there is room");
    let ant = world.create((A(1),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(to_host::<u32, &A, Filter>("show", |object, a| {
        *object = a.0;
    }));
    for _ in 0..2 {
        let slot = Hosts::attach(&mut world, ant, 0_u32).expect("it lives");
        schedule.run(&mut world).expect("it runs");
        let hosts = world.resources().get::<Hosts<u32>>();
        assert_eq!(hosts.and_then(|hosts| hosts.get(slot).copied()), Some(1));
    }
}

#[test]
fn what_changes_while_hosts_are_out_is_copied_when_they_are_back() {
    let mut world = world();
    Hosts::<u32>::install(&mut world).expect("there is room");
    let ant = world.create((A(1),)).expect("there is room");
    let slot = Hosts::attach(&mut world, ant, 0_u32).expect("it lives");
    let mut schedule = Schedule::new();
    schedule.add(to_host::<u32, &A, Changed<A>>("show", |object, a| {
        *object = a.0
    }));
    schedule.run(&mut world).expect("it runs");
    world.get_mut::<A>(ant).expect("it lives").0 = 2;
    let hosts = world.resources_mut().remove::<Hosts<u32>>();
    let report = schedule.run(&mut world).expect("it runs");
    assert_eq!((report.ran, report.idle), (0, 1));
    world
        .resources_mut()
        .insert(hosts.expect("they were installed"));
    schedule.run(&mut world).expect("it runs");
    let hosts = world.resources().get::<Hosts<u32>>();
    assert_eq!(hosts.and_then(|hosts| hosts.get(slot).copied()), Some(2));
}

/// Ants that have sprites with their numbers.
fn ants(world: &mut World) -> Vec<(Entity, u32)> {
    Hosts::<Sprite>::install(world).expect("there is room");
    let with_slot = |n: u32| {
        let ant = world
            .create((u64::from(n),).const_shared(1_u8))
            .expect("there is room");
        (ant, Hosts::attach(world, ant, Sprite(n)).expect("it lives"))
    };
    (0..6).map(with_slot).collect()
}

fn hosts(world: &mut World) -> &mut Hosts<Sprite> {
    world.resources_mut().get_mut().expect("they are installed")
}

/// Everybody has what he had, and nobody else has it.
fn all_have_theirs(world: &mut World, ants: &[(Entity, u32)]) {
    for (&(ant, slot), n) in ants.iter().zip(0..) {
        let host = world.get::<HostOf<Sprite>>(ant).expect("it has one");
        assert_eq!(host.slot(), slot);
        assert_eq!(hosts(world).get(slot).map(|sprite| sprite.0), Some(n));
        assert_eq!(hosts(world).entity(slot), Some(ant));
    }
    assert_eq!(hosts(world).len(), ants.len());
    assert_eq!(hosts(world).take_orphans().len(), 0);
    let bee = world.create((A(0),)).expect("there is room");
    let slot = Hosts::attach(world, bee, Sprite(9)).expect("it lives");
    assert!(ants.iter().all(|&(_, other)| other != slot));
    world.destroy(bee).expect("it lives");
    assert_eq!(hosts(world).take_orphans().len(), 1);
}

#[test]
fn who_is_refused_another_const_value_keeps_its_object() {
    type Host = (HostOf<Sprite>,);
    let mut world = World::new();
    let ants = ants(&mut world);
    let handles: Vec<Entity> = ants.iter().map(|&(ant, _)| ant).collect();
    let other = || ('x',).const_shared(2_u8);
    let report = world.swap_slice::<Host, _>(&handles, |_| other());
    assert_eq!((report.done, report.refused.len()), (0, 6));
    all_have_theirs(&mut world, &ants);
    let with = world.matching::<With<HostOf<Sprite>>>();
    let swapped = with.expect("it is one").swap::<Host, _>(|_| other());
    assert!(matches!(swapped, Err(WorldError::ConstShared { .. })));
    all_have_theirs(&mut world, &ants);
    assert!(world.swap::<Host, _>(handles[0], other()).is_err());
    all_have_theirs(&mut world, &ants);
    let mut commands = world.commands();
    for &ant in &handles {
        commands.swap::<Host, _>(ant, other()).expect("it lives");
    }
    drop(commands);
    assert_eq!(world.flush().refused.len(), 6);
    all_have_theirs(&mut world, &ants);
}

#[test]
fn those_that_go_have_none_where_some_stay() {
    let mut world = World::new();
    let mut ants = ants(&mut world);
    let handles: Vec<Entity> = ants.iter().map(|&(ant, _)| ant).collect();
    let mixed = |at: usize| ('x',).const_shared([2_u8, 1][usize::from(at < 2)]);
    let report = world.swap_slice::<(HostOf<Sprite>,), _>(&handles, mixed);
    assert_eq!((report.done, report.refused.len()), (2, 4));
    let mut gone = hosts(&mut world).take_orphans();
    gone.sort_unstable_by_key(|sprite| sprite.0);
    assert!(gone.iter().map(|sprite| sprite.0).eq([0, 1]));
    assert_eq!(hosts(&mut world).len(), 4);
    for (ant, slot) in ants.split_off(2) {
        assert_eq!(hosts(&mut world).entity(slot), Some(ant));
    }
}

#[test]
fn entities_that_have_exchanged_their_objects_and_stay_keep_them() {
    let mut world = World::new();
    let ants = ants(&mut world);
    let handles: Vec<Entity> = ants.iter().map(|&(ant, _)| ant).collect();
    let exchanged = world.query::<&mut HostOf<Sprite>, ()>();
    let mut exchanged = exchanged.expect("it is one");
    exchanged.for_each_chunk(|_, of| of.reverse());
    let report = world.swap_slice::<(HostOf<Sprite>,), _>(&handles, |_| ('x',).const_shared(2_u8));
    assert_eq!(report.refused.len(), 6);
    for (&(ant, slot), n) in ants.iter().zip(0..) {
        assert_eq!(hosts(&mut world).entity(slot), Some(ant));
        assert_eq!(hosts(&mut world).get(slot).map(|sprite| sprite.0), Some(n));
    }
    assert_eq!(hosts(&mut world).take_orphans().len(), 0);
}

#[test]
fn what_the_host_has_changed_is_copied_though_its_entity_was_to_go() {
    let mut world = World::new();
    let ants = ants(&mut world);
    let mut schedule = Schedule::new();
    schedule.add(from_host::<Sprite, &mut u64, ()>("drag", |sprite, n| {
        *n = u64::from(sprite.0);
    }));
    schedule.run(&mut world).expect("it runs");
    let (ant, slot) = ants[2];
    hosts(&mut world).get_mut(slot).expect("it is there").0 = 70;
    let report = world.swap_slice::<(HostOf<Sprite>,), _>(&[ant], |_| ('x',).const_shared(2_u8));
    assert_eq!(report.refused.len(), 1);
    schedule.run(&mut world).expect("it runs");
    assert_eq!(world.get::<u64>(ant).expect("it lives"), &70);
}

#[test]
fn who_comes_back_from_another_world_has_its_object_unless_that_is_taken_down() {
    let mut world = World::new();
    let ants = ants(&mut world);
    let mut bin = World::of(world.universe()).expect("there is room");
    let (ant, _) = ants[3];
    world.move_to(&mut bin, ant).expect("it lives");
    assert_eq!(hosts(&mut world).len(), 5);
    bin.move_to(&mut world, ant).expect("it lives");
    all_have_theirs(&mut world, &ants);
    // Another has come to its slot.
    world.move_to(&mut bin, ant).expect("it lives");
    let bee = world.create((A(0),)).expect("there is room");
    let slot = Hosts::attach(&mut world, bee, Sprite(9)).expect("it lives");
    assert_eq!(slot, ants[3].1);
    bin.move_to(&mut world, ant).expect("it lives");
    assert_eq!(hosts(&mut world).entity(slot), Some(bee));
    let gone = hosts(&mut world).take_orphans();
    assert!(gone.iter().map(|sprite| sprite.0).eq([3]));
    // And it was given another one itself.
    Hosts::attach(&mut world, ant, Sprite(30)).expect("it lives");
    assert_eq!(hosts(&mut world).len(), 7);
}

#[test]
fn an_object_does_not_come_back_by_one_that_its_entity_is_given_later() {
    let mut world = World::new();
    let ants = ants(&mut world);
    let (ant, slot) = ants[5];
    assert_eq!(world.remove::<(HostOf<Sprite>,)>(ant), Ok(true));
    assert_eq!(Hosts::attach(&mut world, ant, Sprite(50)), Ok(slot));
    assert_eq!(hosts(&mut world).get(slot).map(|sprite| sprite.0), Some(50));
    let gone = hosts(&mut world).take_orphans();
    assert!(gone.iter().map(|sprite| sprite.0).eq([5]));
}

#[test]
fn what_was_taken_while_its_entity_was_to_go_does_not_come_back() {
    let mut world = World::new();
    let ants = ants(&mut world);
    let take = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
        let hosts = batch.resources_mut().get_mut::<Hosts<Sprite>>();
        assert_eq!(hosts.expect("it is there").take_orphans().len(), 1);
    };
    let observed = world.observe::<HostOf<Sprite>, ()>(Observed::GO, take);
    observed.expect("it can be");
    let (ant, slot) = ants[0];
    let report = world.swap_slice::<(HostOf<Sprite>,), _>(&[ant], |_| ('x',).const_shared(2_u8));
    assert_eq!(report.refused.len(), 1);
    assert!(hosts(&mut world).get(slot).is_none());
    assert_eq!(hosts(&mut world).len(), 5);
}

#[test]
fn who_is_doubled_stands_for_nothing_until_it_is_given_an_object() {
    let mut world = World::new();
    let ants = ants(&mut world);
    let (ant, slot) = ants[1];
    let registered = world.registry().register_clone::<u64>();
    registered.expect("there is room");
    let prototype = Prototype::of(&world, ant).expect("it can be one");
    let clone = world.clone_entity(ant).expect("it can be cloned");
    let copy = world.create_copy(&prototype).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(from_host::<Sprite, &mut u64, ()>("drag", |sprite, n| {
        *n = u64::from(sprite.0);
    }));
    schedule.add(to_host::<Sprite, &u64, ()>("show", |sprite, n| {
        sprite.0 = *n as u32
    }));
    schedule.run(&mut world).expect("it runs");
    hosts(&mut world).get_mut(slot).expect("it is there").0 = 10;
    *world.get_mut::<u64>(clone).expect("it lives") = 77;
    schedule.run(&mut world).expect("it runs");
    for (who, n) in [(ant, 10), (clone, 77), (copy, 1)] {
        assert_eq!(world.get::<u64>(who), Ok(&n));
    }
    assert_eq!(hosts(&mut world).get(slot).map(|sprite| sprite.0), Some(10));
    let own = Hosts::attach(&mut world, clone, Sprite(0)).expect("it lives");
    schedule.run(&mut world).expect("it runs");
    assert_eq!(hosts(&mut world).get(own).map(|sprite| sprite.0), Some(77));
    // Those that had none leave none.
    world.destroy(copy).expect("it lives");
    assert_eq!(hosts(&mut world).take_orphans().len(), 0);
    world.destroy(clone).expect("it lives");
    let gone = hosts(&mut world).take_orphans();
    assert!(gone.iter().map(|sprite| sprite.0).eq([77]));
    assert_eq!(hosts(&mut world).entity(slot), Some(ant));
}

#[test]
fn nothing_is_copied_between_those_that_have_exchanged_their_objects() {
    let mut world = World::new();
    let ants = ants(&mut world);
    let exchanged = world.query::<&mut HostOf<Sprite>, ()>();
    let mut exchanged = exchanged.expect("it is one");
    exchanged.for_each_chunk(|_, of| of.swap(0, 1));
    let mut schedule = Schedule::new();
    schedule.add(from_host::<Sprite, &mut u64, ()>("drag", |sprite, n| {
        *n = u64::from(sprite.0);
    }));
    for &(_, slot) in &ants[..3] {
        hosts(&mut world).get_mut(slot).expect("it is there").0 += 100;
    }
    schedule.run(&mut world).expect("it runs");
    let values = ants[..3].iter().map(|&(ant, _)| world.get::<u64>(ant));
    assert!(values.eq([Ok(&0), Ok(&1), Ok(&102)]));
}

#[test]
fn what_is_not_copied_has_not_changed() {
    what_is_not_copied_has_not_changed_with::<()>();
    // Something is to be asked of each.
    what_is_not_copied_has_not_changed_with::<Changed<HostOf<Sprite>>>();
}

fn what_is_not_copied_has_not_changed_with<F: QueryFilter + 'static>() {
    let mut world = World::new();
    let ants = ants(&mut world);
    let exchanged = world.query::<&mut HostOf<Sprite>, ()>();
    let mut exchanged = exchanged.expect("it is one");
    exchanged.for_each_chunk(|_, of| of.swap(0, 1));
    let mut schedule = Schedule::new();
    schedule.add(from_host::<Sprite, &mut u64, F>("drag", |sprite, n| {
        *n = u64::from(sprite.0);
    }));
    let mut changed = Query::<Entity, Changed<u64>>::new(&world).expect("it is one");
    assert!(!changed.on(&mut world).is_empty());
    for (copied, (ant, slot)) in [false, false, true].into_iter().zip(ants) {
        let _ = world.get_mut::<HostOf<Sprite>>(ant).expect("it has one");
        hosts(&mut world).get_mut(slot).expect("it is there").0 += 100;
        schedule.run(&mut world).expect("it runs");
        assert_eq!(!changed.on(&mut world).is_empty(), copied);
        let n = u64::from(slot) + u64::from(copied) * 100;
        assert_eq!(world.get::<u64>(ant), Ok(&n));
    }
}
