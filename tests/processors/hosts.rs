//! Hosts: objects outside of a world that go, come again, and take each other's place.

use megachunk::prelude::*;
use megachunk::processor::translator::{HostOf, Hosts, from_host, to_host};

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
    let clone = world.clone_entity(new);
    schedule.run(&mut world).expect("it runs");
    world.destroy(old).expect("it lives");
    if let Ok(clone) = clone {
        world.destroy(clone).expect("it lives");
    }
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
