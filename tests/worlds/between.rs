//! Several worlds on one index: chunks, archetypes and entities move between them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use megachunk::prelude::*;

use crate::features::{Asleep, Bounds, Name, Position, Team, ants, check_ant};

fn two_worlds() -> (World, World) {
    let universe = Arc::new(Universe::new());
    (World::of(&universe).unwrap(), World::of(&universe).unwrap())
}

#[test]
fn entities_chunks_and_archetypes_move_to_another_world_without_new_ids() {
    let (mut land, mut sea) = two_worlds();
    let all = ants(&mut land, 5_000);
    land.set_name(all[7], "seven").unwrap();
    land.set_name(all[8], "eight").unwrap();

    // Entities.
    let report = land.move_slice_to(&mut sea, &all[..10]).unwrap();
    assert_eq!((report.done, land.count(), sea.count()), (10, 4_990, 10));
    assert_eq!(sea.find_by_name("seven"), Some(all[7]));
    assert!(land.find_by_name("seven").is_none() && !land.exists(all[7]));
    let refused = land.get::<Name>(all[7]).err();
    let Some(WorldError::Elsewhere { entity, world, .. }) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!((*entity, *world), (all[7], Some(sea.number())));
    let says = refused.map(|refused| refused.to_string());
    let number = format!("it lives in world {} of the universe, ", sea.number());
    assert!(says.is_some_and(|says| says.contains(&number)));
    // Of those that its recorder has created the other world says so, too.
    let coming = sea.commands().create((Asleep,)).unwrap();
    let refused = land.get::<Asleep>(coming).err();
    let number = Some(sea.number());
    assert!(
        matches!(&refused, Some(WorldError::Elsewhere { entity, world, .. }) if (*entity, *world) == (coming, number)),
        "{refused:?}"
    );
    assert_eq!(sea.flush().created, 1);
    sea.destroy(coming).unwrap();
    let again = land.move_slice_to(&mut sea, &all[5..15]).unwrap();
    assert_eq!((again.done, again.refused.len()), (5, 5));

    // What a query matches: chunks.
    let half = land
        .matching::<With<Name>>()
        .unwrap()
        .filter_chunks(|chunk| chunk.len() % 2 == 0)
        .move_to(&mut sea)
        .unwrap();
    assert_eq!(sea.count(), 15 + half);

    // An archetype, then the world.
    land.create((Asleep,)).unwrap();
    let rest = land
        .move_archetype_to::<(Name, Position)>(&mut sea)
        .unwrap();
    assert_eq!((land.count(), rest + half + 15), (1, 5_000));
    for (n, &ant) in all.iter().enumerate() {
        check_ant(&sea, ant, n);
    }
    assert_eq!(sea.move_all_to(&mut land).unwrap(), 5_000);
    assert!(sea.is_empty() && land.find_by_name("eight") == Some(all[8]));
    for (n, &ant) in all.iter().enumerate() {
        check_ant(&land, ant, n);
    }
    assert_eq!(land.universe().count(), 5_001);
}

#[test]
fn a_whole_chunk_goes_to_another_world_as_it_is() {
    let (mut land, mut sea) = two_worlds();
    let all = ants(&mut land, 5_000);
    let addresses = |world: &World| -> Vec<*const Position> {
        let address = |&ant| core::ptr::from_ref(world.get::<Position>(ant).unwrap());
        all.iter().map(address).collect()
    };
    let before = addresses(&land);
    land.move_all_to(&mut sea).unwrap();
    let after = addresses(&sea);
    let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(moved < 1_000, "{moved} entities moved");
    // Into chunks of another size.
    land.set_chunk_size(8);
    land.collect_archetypes();
    sea.move_all_to(&mut land).unwrap();
    for (n, &ant) in all.iter().enumerate() {
        check_ant(&land, ant, n);
    }
}

#[test]
fn shared_values_chunk_fragments_and_bits_go_along() {
    let (mut land, mut sea) = two_worlds();
    land.registry().register_enableable::<Asleep>().unwrap();
    let all: Vec<Entity> = (0..2_000_u32)
        .map(|n| {
            let bundle = (n, Asleep)
                .shared(Team((n % 3) as u8))
                .per_chunk(Bounds(1.5));
            land.create(bundle).unwrap()
        })
        .collect();
    for (n, &ant) in all.iter().enumerate() {
        land.set_enabled::<Asleep>(ant, n % 7 == 0).unwrap();
    }
    let native = sea
        .create((0_u32, Asleep).shared(Team(1)).per_chunk(Bounds(2.5)))
        .unwrap();
    assert_eq!(land.move_slice_to(&mut sea, &all[..500]).unwrap().done, 500);
    land.move_all_to(&mut sea).unwrap();
    drop(land);
    for (n, &ant) in all.iter().enumerate() {
        assert_eq!(sea.get::<u32>(ant).unwrap(), &(n as u32));
        assert_eq!(sea.shared::<Team>(ant).unwrap(), &Team((n % 3) as u8));
        assert_eq!(sea.is_enabled::<Asleep>(ant).unwrap(), n % 7 == 0);
        assert!([1.5, 2.5].contains(&sea.chunk_fragment::<Bounds>(ant).unwrap().0));
    }
    assert_eq!(sea.shared::<Team>(native).unwrap(), &Team(1));
    let team = sea.matching::<With<u32>>().unwrap().sharing(&Team(1));
    assert_eq!(team.destroy(), 668);
}

#[test]
fn worlds_of_different_universes_exchange_nothing() {
    let (mut one, mut other) = (World::new(), World::new());
    let ant = one.create((1_u8,)).unwrap();
    let refused = one.move_to(&mut other, ant).unwrap_err();
    assert!(matches!(refused, WorldError::OtherUniverse));
    assert!(matches!(
        one.move_all_to(&mut other),
        Err(WorldError::OtherUniverse)
    ));
    assert!(matches!(
        one.move_archetype_to::<(u8,)>(&mut other),
        Err(WorldError::OtherUniverse)
    ));
    assert!(matches!(
        one.matching::<With<u8>>().unwrap().move_to(&mut other),
        Err(WorldError::OtherUniverse)
    ));
    assert_eq!(one.get::<u8>(ant).unwrap(), &1);
}

#[test]
fn values_that_move_between_worlds_are_dropped_once() {
    #[derive(Debug)]
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    static ARMED: AtomicBool = AtomicBool::new(false);
    #[derive(PartialEq, Eq, Hash)]
    struct Bomb(u8);
    impl Drop for Bomb {
        fn drop(&mut self) {
            let armed = self.0 == 13 && ARMED.load(Ordering::Relaxed);
            assert!(!armed, "a shared bomb was dropped");
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let (mut land, mut sea) = two_worlds();
    let all: Vec<Entity> = (0..1_000)
        .map(|n| {
            let bundle = (Counted(Arc::clone(&drops)), n).shared(Bomb(n as u8 % 20));
            land.create(bundle).unwrap()
        })
        .collect();
    // The values are kept by both worlds: nothing is dropped when one lets them go.
    assert_eq!(land.move_slice_to(&mut sea, &all).unwrap().done, 1_000);
    drop(land);
    assert_eq!((sea.count(), drops.load(Ordering::Relaxed)), (1_000, 0));
    // A panic in the middle of a change ends there.
    ARMED.store(true, Ordering::Relaxed);
    let everything = sea.matching::<With<Counted>>().unwrap();
    assert_eq!(everything.set_shared(Bomb(0)).unwrap(), 1_000);
    ARMED.store(false, Ordering::Relaxed);
    assert_eq!(
        (sea.count(), sea.query::<&i32, ()>().unwrap().count()),
        (1_000, 1_000)
    );
    assert_eq!(
        sea.matching::<With<Counted>>()
            .unwrap()
            .set_shared(Bomb(1))
            .unwrap(),
        1_000
    );
    drop(sea);
    assert_eq!(drops.load(Ordering::Relaxed), 1_000);
}

#[test]
fn a_template_whose_clone_panics_leaves_both_worlds_whole() {
    static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);
    #[derive(Debug)]
    struct Template;
    impl Clone for Template {
        fn clone(&self) -> Self {
            let left = LEFT.fetch_sub(1, Ordering::Relaxed);
            assert!(left > 0, "no more clones");
            Self
        }
    }
    let (mut land, mut sea) = two_worlds();
    let all: Vec<Entity> = (0..5_000_u64)
        .map(|n| land.create((n,).per_chunk((Template, 1_u8))).unwrap())
        .collect();
    // Into longer chunks, so that rows are copied. Some clones go into the new archetype, the others into its
    // chunks; one of these fails.
    sea.set_chunk_size(2);
    for (calls, moving) in [(3, true), (3, false)] {
        LEFT.store(calls, Ordering::Relaxed);
        let call = AssertUnwindSafe(|| {
            if moving {
                let _ = land.move_slice_to(&mut sea, &all[..4_000]);
            } else {
                let _ = land.matching::<With<u64>>().unwrap().add(|_| (1_u16,));
            }
        });
        assert!(catch_unwind(call).is_err());
        LEFT.store(usize::MAX, Ordering::Relaxed);
        assert_eq!(land.count() + sea.count(), 5_000);
        for (n, &ant) in all.iter().enumerate() {
            let world = if land.is_built(ant) { &land } else { &sea };
            assert_eq!(world.get::<u64>(ant).unwrap(), &(n as u64));
        }
    }
    let changed = land.query::<&u16, ()>().unwrap().count();
    assert!(changed > 0 && changed < land.count());
    assert!(sea.count() > 0 && land.count() > 1_000);
    let swapped = World::swap::<(u64,), _>(&mut land, all[4_999], (1_i8,).shared(Team(1)));
    swapped.unwrap();
    assert_eq!(land.shared::<Team>(all[4_999]).unwrap(), &Team(1));
}

#[test]
fn where_a_shared_value_cannot_be_hashed_once_more_both_worlds_are_whole() {
    static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);
    #[derive(PartialEq, Eq)]
    struct Brittle(u32);
    impl std::hash::Hash for Brittle {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            let left = LEFT.fetch_sub(1, Ordering::Relaxed);
            assert!(left > 0, "it is not hashed any more");
            self.0.hash(state);
        }
    }

    let mut panics = 0;
    // Alone in its chunk, which goes whole, or one of two, and copied.
    for count in [1_u32, 2] {
        for hashed in 0..8 {
            let (mut land, mut sea) = two_worlds();
            land.observe::<u32, ()>(Observed::GO, |_, _| {}).unwrap();
            let all: Vec<Entity> = (0..count)
                .map(|n| land.create((n,).shared(Brittle(7))).unwrap())
                .collect();
            LEFT.store(hashed, Ordering::Relaxed);
            let moved = catch_unwind(AssertUnwindSafe(|| land.move_to(&mut sea, all[0])));
            LEFT.store(usize::MAX, Ordering::Relaxed);
            let is_there = moved.is_ok();
            moved.unwrap_or(Ok(())).unwrap();
            panics += usize::from(!is_there);
            assert_eq!(
                (land.exists(all[0]), sea.exists(all[0])),
                (!is_there, is_there)
            );
            land.universe().check([&land, &sea]).unwrap();
            if !is_there {
                land.move_to(&mut sea, all[0]).unwrap();
            }
            assert_eq!(sea.get::<u32>(all[0]).unwrap(), &0);
        }
    }
    assert!(panics >= 4, "{panics}");
}
