//! Objects of a host: none is lost, whoever panics.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::processor::translator::{HostOf, Hosts};

use crate::brittle::{ALWAYS, Brittle, Count, arm, burns, holds_nothing};
use crate::ends::ends_all_of;

#[test]
fn an_object_for_which_no_hosts_are_there_is_dropped_and_that_is_said() {
    let count = Count::default();
    let mut world = World::new();
    let ant = world.create(()).unwrap();
    let object = count.brittle(0);
    arm(ALWAYS);
    let attached = catch_unwind(AssertUnwindSafe(|| Hosts::attach(&mut world, ant, object)));
    arm(0);
    let panic = attached.unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("was not installed"), "{said}");
    assert_eq!(count.get(), 0);
}

#[test]
fn orphans_whose_drop_panics_take_no_other_object_with_them() {
    for drops in [1, 2, ALWAYS] {
        holds_nothing(|| {
            let count = Count::default();
            let mut world = World::new();
            Hosts::<Brittle>::install(&mut world).unwrap();
            for n in 0..4 {
                let ant = world.create((n,)).unwrap();
                Hosts::attach(&mut world, ant, count.brittle(n)).unwrap();
                if n % 2 == 0 {
                    world.destroy(ant).unwrap();
                }
            }
            burns(drops, || drop(Hosts::<Brittle>::uninstall(&mut world)));
            assert_eq!(count.get(), 2);
            world.check().unwrap();
            let back = Hosts::<Brittle>::uninstall(&mut world);
            assert!(back.iter().map(|(_, object)| *object.0).eq([1, 3]));
            drop(back);
            assert_eq!(count.get(), 0);
        });
    }
}

#[test]
fn an_object_whose_entity_is_refused_ends_before_the_error_is_on_its_way() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        Hosts::<Brittle>::install(&mut world).unwrap();
        let ant = world.create((1_u8,)).unwrap();
        world.destroy(ant).unwrap();
        let object = count.brittle(1);
        burns(1, || drop(Hosts::attach(&mut world, ant, object)));
        let hosts = world.resources().get::<Hosts<Brittle>>().unwrap();
        assert_eq!((hosts.len(), hosts.iter().count(), count.get()), (0, 0, 0));
    });
}

#[test]
fn an_observer_that_panics_leaves_the_entity_with_its_object() {
    let count = Count::default();
    let mut world = World::new();
    Hosts::<Brittle>::install(&mut world).unwrap();
    let run = |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| resume_unwind(Box::new(()));
    let observer = world
        .observe::<HostOf<Brittle>, ()>(Observed::COME, run)
        .unwrap();
    let ant = world.create((1_u8,)).unwrap();
    let object = count.brittle(7);
    let attached = catch_unwind(AssertUnwindSafe(|| Hosts::attach(&mut world, ant, object)));
    assert!(attached.is_err());
    world.unobserve(observer);
    // The change is complete.
    let slot = world.get::<HostOf<Brittle>>(ant).unwrap().slot();
    let hosts = world.resources().get::<Hosts<Brittle>>().unwrap();
    assert_eq!(hosts.get(slot).map(|object| *object.0), Some(7));
    assert_eq!((hosts.len(), hosts.entity(slot)), (1, Some(ant)));
    world.destroy(ant).unwrap();
    let hosts = world.resources_mut().get_mut::<Hosts<Brittle>>().unwrap();
    assert!(hosts.is_empty());
    assert_eq!(hosts.take_orphans().len(), 1);
    assert_eq!(count.get(), 0);
}

#[test]
fn entities_that_have_exchanged_their_objects_hand_back_their_own() {
    let count = Count::default();
    let mut world = World::new();
    Hosts::<Brittle>::install(&mut world).unwrap();
    let ants: Vec<_> = (0..4).map(|n| world.create((n,)).unwrap()).collect();
    for (n, &ant) in (0..).zip(&ants) {
        Hosts::attach(&mut world, ant, count.brittle(n)).unwrap();
    }
    world
        .query::<&mut HostOf<Brittle>, ()>()
        .unwrap()
        .for_each_chunk(|_, of| of.swap(0, 1));
    // One is given another object, two go: those that were theirs are handed back.
    Hosts::attach(&mut world, ants[0], count.brittle(9)).unwrap();
    assert_eq!(orphans(&mut world), [0]);
    world.destroy(ants[1]).unwrap();
    assert_eq!(orphans(&mut world), [1]);
    assert_eq!(world.destroy_slice(&ants).done, 3);
    let mut last = orphans(&mut world);
    last.sort_unstable();
    assert_eq!(last, [2, 3, 9]);
    assert_eq!(count.get(), 0);
    assert!(
        world
            .resources()
            .get::<Hosts<Brittle>>()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn an_entity_whose_slot_means_nothing_any_more_gets_its_object() {
    fn attach(world: &mut World, ant: Entity, count: &Count, number: u32) {
        let slot = Hosts::attach(world, ant, count.brittle(number)).unwrap();
        assert!(orphans(world).is_empty());
        let hosts = world.resources().get::<Hosts<Brittle>>().unwrap();
        assert_eq!(hosts.get(slot).map(|object| *object.0), Some(number));
        assert_eq!((hosts.len(), hosts.entity(slot)), (1, Some(ant)));
    }
    let count = Count::default();
    let universe = Arc::new(Universe::new());
    let [mut land, mut sea] = [(); 2].map(|()| World::of(&universe).unwrap());
    for world in [&mut land, &mut sea] {
        Hosts::<Brittle>::install(world).unwrap();
    }
    let crab = land.create((1_u8,)).unwrap();
    attach(&mut land, crab, &count, 1);
    // In another world, back again, and after other hosts have come.
    land.move_to(&mut sea, crab).unwrap();
    attach(&mut sea, crab, &count, 2);
    sea.move_to(&mut land, crab).unwrap();
    assert_eq!((orphans(&mut land), orphans(&mut sea)), (vec![1], vec![2]));
    attach(&mut land, crab, &count, 3);
    assert_eq!(Hosts::<Brittle>::uninstall(&mut land).len(), 1);
    Hosts::<Brittle>::install(&mut land).unwrap();
    attach(&mut land, crab, &count, 4);
    drop((land, sea));
    assert_eq!(count.get(), 0);
}

#[test]
fn hosts_that_were_moved_to_another_world_are_installed_there() {
    let count = Count::default();
    let [mut old, mut new] = [World::new(), World::new()];
    Hosts::<Brittle>::install(&mut old).unwrap();
    let bee = old.create((1_u8,)).unwrap();
    Hosts::attach(&mut old, bee, count.brittle(0)).unwrap();
    let mut number = 0;
    // There, back again, and there once more: noted once each time.
    for _ in 0..3 {
        let hosts = old.resources_mut().remove::<Hosts<Brittle>>().unwrap();
        new.resources_mut().insert(hosts);
        Hosts::<Brittle>::install(&mut new).unwrap();
        assert_eq!(new.resources().get::<Hosts<Brittle>>().unwrap().len(), 1);
        let ants: Vec<_> = (0..2).map(|_| new.create((1_u8,)).unwrap()).collect();
        for &ant in &ants {
            number += 1;
            Hosts::attach(&mut new, ant, count.brittle(number)).unwrap();
        }
        assert_eq!(new.destroy_slice(&ants).done, 2);
        assert_eq!(orphans(&mut new), [number - 1, number]);
        std::mem::swap(&mut old, &mut new);
    }
    let back = Hosts::<Brittle>::uninstall(&mut old);
    assert!(
        back.iter()
            .map(|(ant, object)| (*ant, *object.0))
            .eq([(bee, 0)])
    );
    assert!(Hosts::<Brittle>::uninstall(&mut new).is_empty());
    drop((old, new, back));
    assert_eq!(count.get(), 0);
}

#[test]
fn an_observer_that_puts_other_hosts_in_their_place_takes_no_object_away() {
    let count = Count::default();
    let [mut world, mut other] = [World::new(), World::new()];
    for world in [&mut world, &mut other] {
        Hosts::<Brittle>::install(world).unwrap();
    }
    let bee = other.create((1_u8,)).unwrap();
    Hosts::attach(&mut other, bee, count.brittle(1)).unwrap();
    let mut hosts = other.resources_mut().remove::<Hosts<Brittle>>();
    let exchange = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
        let there = batch.resources_mut().get_mut::<Hosts<Brittle>>().unwrap();
        if let Some(hosts) = &mut hosts {
            std::mem::swap(there, hosts);
        }
    };
    world
        .observe::<HostOf<Brittle>, ()>(Observed::COME, exchange)
        .unwrap();
    let ant = world.create((1_u8,)).unwrap();
    let slot = Hosts::attach(&mut world, ant, count.brittle(2)).unwrap();
    assert_eq!(world.get::<HostOf<Brittle>>(ant).unwrap().slot(), slot);
    let hosts = world.resources().get::<Hosts<Brittle>>().unwrap();
    let mut all: Vec<_> = hosts.iter().map(|(_, object)| *object.0).collect();
    all.sort_unstable();
    assert_eq!((all, hosts.len()), (vec![1, 2], 2));
    world.destroy(ant).unwrap();
    assert_eq!(orphans(&mut world), [2]);
    drop((world, other));
    assert_eq!(count.get(), 0);
}

/// The objects whose entities are gone.
fn orphans(world: &mut World) -> Vec<u32> {
    let hosts = world.resources_mut().get_mut::<Hosts<Brittle>>().unwrap();
    let orphans = hosts.take_orphans();
    orphans.iter().map(|object| *object.0).collect()
}

#[test]
fn an_object_is_found_though_its_entity_has_what_is_left_of_earlier_hosts() {
    let count = Count::default();
    let mut world = World::new();
    Hosts::<Brittle>::install(&mut world).unwrap();
    let old: Vec<_> = (0..6).map(|n| world.create((n,)).unwrap()).collect();
    for &ant in &old {
        Hosts::attach(&mut world, ant, count.brittle(99)).unwrap();
    }
    drop(Hosts::<Brittle>::uninstall(&mut world));
    Hosts::<Brittle>::install(&mut world).unwrap();
    let new: Vec<_> = (0..6).map(|n| world.create((n,)).unwrap()).collect();
    for (n, &ant) in (0..).zip(&new) {
        Hosts::attach(&mut world, ant, count.brittle(n)).unwrap();
    }
    // What means nothing any more takes no other's object with it.
    assert_eq!(world.destroy_slice(&old[..2]).done, 2);
    assert!(orphans(&mut world).is_empty());
    // One that comes after somebody's was looked for, and those that were there before, whose entities have what
    // belongs to others.
    let late = world.create((6_i32,)).unwrap();
    Hosts::attach(&mut world, late, count.brittle(6)).unwrap();
    world
        .query::<&mut HostOf<Brittle>, ()>()
        .unwrap()
        .for_each_chunk(|_, of| of.reverse());
    Hosts::attach(&mut world, new[1], count.brittle(7)).unwrap();
    assert_eq!(orphans(&mut world), [1]);
    for (n, ant) in [(0, new[0]), (7, new[1]), (6, late), (2, new[2])] {
        world.destroy(ant).unwrap();
        assert_eq!(orphans(&mut world), [n]);
    }
    assert_eq!(world.destroy_slice(&old[2..]).done, 4);
    assert!(orphans(&mut world).is_empty());
    assert_eq!(world.destroy_slice(&new[3..]).done, 3);
    let mut last = orphans(&mut world);
    last.sort_unstable();
    assert_eq!(last, [3, 4, 5]);
    let hosts = world.resources().get::<Hosts<Brittle>>().unwrap();
    assert!(hosts.is_empty());
    assert_eq!(count.get(), 0);
}

#[test]
fn hosts_drop_all_objects_and_orphans_though_all_panic() {
    let count = Count::default();
    ends_all_of(&count, || {
        let mut world = World::new();
        Hosts::<Brittle>::install(&mut world).unwrap();
        for n in 0..4 {
            let ant = world.create((n,)).unwrap();
            Hosts::attach(&mut world, ant, count.brittle(n)).unwrap();
            if n % 2 == 0 {
                world.destroy(ant).unwrap();
            }
        }
        let hosts = world.resources_mut().remove::<Hosts<Brittle>>().unwrap();
        assert_eq!((hosts.len(), count.get()), (2, 4));
        hosts
    });
}
