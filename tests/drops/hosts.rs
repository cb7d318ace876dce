//! Objects of a host: none is lost, whoever panics.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use megachunk::prelude::*;
use megachunk::processor::translator::{HostOf, Hosts};

use crate::brittle::{Brittle, Count, burns, holds_nothing};

#[test]
fn orphans_whose_drop_panics_take_no_other_object_with_them() {
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
        burns(1, || drop(Hosts::<Brittle>::uninstall(&mut world)));
        assert_eq!(count.get(), 0);
        world.check().unwrap();
    });
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
        .run()
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

/// The objects whose entities are gone.
fn orphans(world: &mut World) -> Vec<u32> {
    let hosts = world.resources_mut().get_mut::<Hosts<Brittle>>().unwrap();
    let orphans = hosts.take_orphans();
    orphans.iter().map(|object| *object.0).collect()
}
