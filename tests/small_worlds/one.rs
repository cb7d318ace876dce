//! Entities one by one.

use megachunk::prelude::*;
use megachunk::query::Enabled;

use crate::{Ending, Padded, Switched, Team};

#[test]
fn entities_change_in_every_way_and_are_looked_up() {
    let mut world = World::new();
    let bundle = |n| (Box::new(n), Padded(1, n), String::from("a"));
    let all: Vec<Entity> = (0..12_u32)
        .map(|n| world.create(bundle(n)).unwrap())
        .collect();
    for (n, &entity) in all.iter().enumerate() {
        match n % 4 {
            0 => world.add(entity, (Ending, n as u64)).unwrap(),
            1 => assert!(world.remove::<(Padded,)>(entity).unwrap()),
            2 => world.destroy(entity).unwrap(),
            _ => world.add(entity, (1_u8,).shared(Team("x".into()))).unwrap(),
        }
    }
    let mut query = Query::<(Entity, &mut Box<u32>, Option<&Padded>)>::new(&world).unwrap();
    let mut run = query.on(&mut world);
    let mut lent: Vec<_> = run.iter().collect();
    // All at once: no two are one.
    lent.iter_mut().for_each(|(_, number, _)| ***number += 1);
    assert_eq!(lent.len(), 9);
    drop(lent);
    drop(run);
    query
        .on(&mut world)
        .for_each_chunk(|chunk, (entities, numbers, _)| {
            assert_eq!(chunk.entities(), entities);
            numbers.iter_mut().for_each(|number| **number += 1);
        });
    let mut lookup = query.lookup_mut(&mut world);
    let [first, second] = lookup.get_disjoint_mut([all[0], all[1]]).unwrap();
    core::mem::swap(first.1, second.1);
    let mut found = 0;
    lookup.get_each(&all, |_, result| {
        if let Ok((_, number, _)) = result {
            **number += 1;
            found += 1;
        }
    });
    assert_eq!(found, 9);
    let [first, second] = world
        .get_disjoint_mut::<Box<u32>, 2>([all[0], all[1]])
        .unwrap();
    core::mem::swap(first, second);
    assert_eq!((**first, **second), (3, 4));
    world.check().unwrap();
}

#[test]
fn what_is_switched_off_begins_switched_on_wherever_it_lies() {
    let mut world = World::new();
    world.registry().register_enableable::<Switched>().unwrap();
    world.set_chunk_size(1);
    // Rows with bytes that nobody writes, where bits will lie.
    let _ = world
        .create_batch((0..1_000).map(|n| (Padded(1, n),)))
        .unwrap();
    world.clear();
    world.collect_archetypes();
    let all = [(); 70].map(|()| world.create((Switched,)).unwrap());
    world.set_enabled::<Switched>(all[3], false).unwrap();
    assert_eq!(world.query::<Entity, With<Switched>>().unwrap().count(), 69);
    let mut query = Query::<Enabled<Switched>>::new(&world).unwrap();
    query.on(&mut world).for_each(|switch| {
        switch.set(true);
    });
    assert!(world.is_enabled::<Switched>(all[3]).unwrap());
}

#[test]
fn values_that_are_aligned_widely_are_cloned_and_swapped() {
    #[derive(Clone)]
    #[repr(align(512))]
    struct Wide(Box<u8>);
    #[derive(Clone)]
    #[repr(align(1024))]
    struct WideTag;
    impl Drop for WideTag {
        fn drop(&mut self) {
            assert_eq!(core::ptr::from_ref(self).addr() % 1_024, 0);
        }
    }
    let mut world = World::new();
    world.registry().register_clone::<Wide>().unwrap();
    world.registry().register_clone::<WideTag>().unwrap();
    world.registry().register_clone::<Padded>().unwrap();
    let bundle = (Wide(Box::new(1)), WideTag, Padded(1, 2));
    let bundle = bundle.per_chunk(WideTag).shared(Team("n".into()));
    let one = world.create(bundle).unwrap();
    let two = world.clone_entity(one).unwrap();
    world
        .swap::<(Padded,), (u64, Ending)>(one, (4, Ending))
        .unwrap();
    *world.get_mut::<Wide>(two).unwrap().0 += 1;
    drop(core::mem::replace(
        world.chunk_fragment_mut::<WideTag>(two).unwrap(),
        WideTag,
    ));
    assert!(world.remove::<(WideTag,)>(one).unwrap());
    world.collect_archetypes();
    let view = world.entity(two).unwrap();
    assert_eq!(*view.find::<Wide>().unwrap().0, 2);
    assert_eq!(view.shared::<Team>().unwrap(), &Team("n".into()));
    let mut query = Query::<(&mut Wide, Shared<Team>)>::new(&world).unwrap();
    let mut lookup = query.lookup_mut(&mut world);
    let [first, second] = lookup.get_disjoint_mut([one, two]).unwrap();
    core::mem::swap(first.0, second.0);
    assert_eq!((*first.0.0, *second.0.0), (2, 1));
    assert!(world.destroy_slice(&[one, two]).is_clean());
}
