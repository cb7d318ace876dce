//! Names of reserved entities, where several worlds know them.

use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::Checkpoints;

/// Gives so many names to reserved entities in each world, so that names are more than the entities that go.
fn name_others(worlds: &mut [&mut World], count: usize) {
    for world in worlds {
        for _ in 0..count {
            let other = world.reserve().unwrap();
            world.set_name(other, "other").unwrap();
        }
    }
}

#[test]
fn what_a_world_called_a_reserved_entity_that_another_built_does_not_come_back() {
    type Way = fn(&mut World, &mut World, Entity);
    let ways: [Way; 4] = [
        |sea, land, fish| sea.move_to(land, fish).unwrap(),
        |sea, land, fish| assert!(sea.move_slice_to(land, &[fish]).unwrap().is_clean()),
        |sea, land, _| assert_eq!(sea.move_all_to(land).unwrap(), 1),
        |sea, land, _| _ = sea.matching::<()>().unwrap().move_to(land).unwrap(),
    ];
    for way in ways {
        for (named, others) in [(None, 0), (Some("new"), 0), (None, 100), (Some("new"), 100)] {
            let universe = Arc::new(Universe::new());
            let [mut land, mut sea] = [(); 2].map(|()| World::of(&universe).unwrap());
            name_others(&mut [&mut land, &mut sea], others);
            let fish = land.reserve().unwrap();
            land.set_name(fish, "old").unwrap();
            sea.build(fish, (1_u8,)).unwrap();
            assert_eq!(sea.name(fish).unwrap(), None);
            if let Some(name) = named {
                sea.set_name(fish, name).unwrap();
            }
            way(&mut sea, &mut land, fish);
            assert_eq!(land.name(fish).unwrap(), named);
            assert_eq!(land.find_by_name("old"), None);
            universe.check([&land, &sea]).unwrap();
        }
    }
}

#[test]
fn what_a_world_calls_a_reserved_entity_goes_to_no_other_that_has_built_it() {
    type Way = fn(&mut World, &mut World, [Entity; 2]);
    let ways: [(&str, Way); 6] = [
        ("refused", |land, sea, [_, fish]| {
            let refused = land.move_to(sea, fish);
            assert!(matches!(refused, Err(WorldError::Elsewhere { .. })));
        }),
        ("slice, refused", |land, sea, [ant, fish]| {
            assert_eq!(land.move_slice_to(sea, &[fish, ant, fish]).unwrap().done, 1);
        }),
        ("slice", |land, sea, [ant, _]| {
            assert!(land.move_slice_to(sea, &[ant]).unwrap().is_clean());
        }),
        ("all", |land, sea, _| {
            assert_eq!(land.move_all_to(sea).unwrap(), 1);
        }),
        ("archetype", |land, sea, _| {
            assert_eq!(land.move_archetype_to::<(u8,)>(sea).unwrap(), 1);
        }),
        ("matching", |land, sea, _| {
            assert_eq!(land.matching::<()>().unwrap().move_to(sea).unwrap(), 1);
        }),
    ];
    for (way_name, way) in ways {
        for (named, others) in [(None, 0), (Some("new"), 0), (None, 100), (Some("new"), 100)] {
            let universe = Arc::new(Universe::new());
            let [mut land, mut sea] = [(); 2].map(|()| World::of(&universe).unwrap());
            name_others(&mut [&mut land, &mut sea], others);
            let ant = land.create((3_u8,)).unwrap();
            land.set_name(ant, "ant").unwrap();
            let fish = land.reserve().unwrap();
            land.set_name(fish, "old").unwrap();
            sea.build(fish, (1_u8,)).unwrap();
            if let Some(name) = named {
                sea.set_name(fish, name).unwrap();
            }
            way(&mut land, &mut sea, [ant, fish]);
            assert_eq!(sea.name(fish).unwrap(), named, "{way_name}");
            if sea.is_built(ant) {
                assert_eq!(sea.name(ant).unwrap(), Some("ant"), "{way_name}");
            }
            universe.check([&land, &sea]).unwrap();
        }
    }
}

#[test]
fn names_of_the_dead_do_not_pile_up_in_a_world_that_gets_its_entities_from_another() {
    type Way = fn(&mut World, &mut World, &[Entity]);
    let ways: [(&str, Way); 5] = [
        ("one by one", |land, sea, all| {
            all.iter()
                .for_each(|&fish| land.move_to(sea, fish).unwrap());
        }),
        ("slice", |land, sea, all| {
            assert!(land.move_slice_to(sea, all).unwrap().is_clean());
        }),
        ("archetype", |land, sea, _| {
            _ = land.move_archetype_to::<(u8,)>(sea).unwrap();
        }),
        ("all", |land, sea, _| _ = land.move_all_to(sea).unwrap()),
        ("matching", |land, sea, _| {
            _ = land.matching::<()>().unwrap().move_to(sea).unwrap();
        }),
    ];
    for (way_name, way) in ways {
        let universe = Arc::new(Universe::new());
        let [mut land, mut sea] = [(); 2].map(|()| World::of(&universe).unwrap());
        let whale = sea.create((1_u8,)).unwrap();
        sea.set_name(whale, "whale").unwrap();
        for round in 0..100 {
            let all = [(); 10].map(|()| land.create((1_u8,)).unwrap());
            for &fish in &all {
                land.set_name(fish, "fish").unwrap();
            }
            way(&mut land, &mut sea, &all);
            assert_eq!(sea.named("fish").count(), 10, "{way_name}");
            assert_eq!(land.stats().names, 0, "{way_name}");
            let names = sea.stats().names;
            assert!(names < 64, "{way_name}: {names} names after round {round}");
            for &fish in &all {
                sea.destroy(fish).unwrap();
            }
        }
        assert_eq!(sea.find_by_name("whale"), Some(whale));
        universe.check([&land, &sea]).unwrap();
    }
}

#[test]
fn a_world_that_is_trimmed_lets_the_names_of_the_dead_go() {
    let mut world = World::new();
    let all = [(); 50].map(|()| world.create((1_u8,)).unwrap());
    for &ant in &all {
        world.set_name(ant, "ant").unwrap();
    }
    for &ant in &all[..40] {
        world.destroy(ant).unwrap();
    }
    let reserved = world.reserve().unwrap();
    world.set_name(reserved, "egg").unwrap();
    assert_eq!(world.stats().names, 51);
    world.trim();
    assert_eq!(world.stats().names, 11);
    assert!(world.named("ant").eq(all[40..].iter().copied()));
    assert_eq!(world.name(reserved).unwrap(), Some("egg"));
    world.check().unwrap();
}

#[test]
fn the_first_of_a_name_is_found_whoever_of_it_has_gone() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..1_000_u32)
        .map(|n| world.create((n,)).unwrap())
        .collect();
    for &ant in &all {
        world.set_name(ant, "ant").unwrap();
    }
    let found = |world: &World| {
        let found = world.find_by_name("ant");
        assert_eq!(found, world.named("ant").next());
        found
    };
    assert_eq!(found(&world), Some(all[0]));
    all[..500]
        .iter()
        .for_each(|&ant| world.destroy(ant).unwrap());
    world.destroy(all[501]).unwrap();
    for _ in 0..2 {
        assert_eq!(found(&world), Some(all[500]));
    }
    // Names that are taken away or changed, of the first one and of others.
    assert!(world.remove_name(all[700]).unwrap());
    assert_eq!(found(&world), Some(all[500]));
    world.set_name(all[500], "queen").unwrap();
    assert_eq!(found(&world), Some(all[502]));
    world.set_name(all[500], "ant").unwrap();
    assert_eq!(found(&world), Some(all[502]));
    let rest = all[502..].iter().filter(|&&ant| ant != all[700]);
    rest.for_each(|&ant| world.destroy(ant).unwrap());
    assert_eq!(found(&world), Some(all[500]));
    world.destroy(all[500]).unwrap();
    for _ in 0..2 {
        assert_eq!(found(&world), None);
    }
    let late = world.create((1_u8,)).unwrap();
    world.set_name(late, "ant").unwrap();
    assert_eq!(found(&world), Some(late));
    world.check().unwrap();
}

#[test]
fn who_gets_the_name_again_that_it_has_keeps_its_place() {
    let mut world = World::new();
    let ants = [(); 3].map(|()| world.create(()).unwrap());
    for ant in ants {
        world.set_name(ant, "ant").unwrap();
    }
    for again in [ants[0], ants[1], ants[0]] {
        world.set_name(again, "ant").unwrap();
        assert_eq!(world.find_by_name("ant"), Some(ants[0]));
        assert_eq!(world.named("ant").collect::<Vec<_>>(), ants);
    }
    assert_eq!(world.stats().names, 3);
    world.check().unwrap();
    // Another name in between is another matter.
    world.set_name(ants[0], "queen").unwrap();
    world.set_name(ants[0], "ant").unwrap();
    let named: Vec<Entity> = world.named("ant").collect();
    assert_eq!(named, [ants[1], ants[2], ants[0]]);
    world.check().unwrap();
}

/// Random numbers below a limit, always the same.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 9_u64;
    move |limit| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % limit
    }
}

#[test]
fn those_of_a_name_stand_in_the_order_in_which_they_got_it_however_names_change() {
    const CALLED: [&str; 3] = ["ant", "bee", "wasp"];
    let universe = Arc::new(Universe::new());
    let [mut land, mut sea] = [(); 2].map(|()| World::of(&universe).unwrap());
    // Of each world the entities that live, and the names in the order in which they came.
    let mut living: [Vec<Entity>; 2] = Default::default();
    let mut named: [Vec<(Entity, &str)>; 2] = Default::default();
    let mut number = numbers();
    for round in 0..6_000 {
        if number(100) == 0 {
            // The other world's turn.
            std::mem::swap(&mut land, &mut sea);
            living.swap(0, 1);
            named.swap(0, 1);
        }
        let pick = number(usize::MAX);
        let of = |living: &[Entity]| (!living.is_empty()).then(|| pick % living.len());
        match (number(16), of(&living[0])) {
            (0..=2, _) if living[0].len() < 150 => {
                living[0].push(land.create((round,)).unwrap());
            }
            (3..=8, Some(at)) => {
                let (entity, name) = (living[0][at], CALLED[number(3)]);
                land.set_name(entity, name).unwrap();
                // Who has it already keeps its place.
                if !named[0].contains(&(entity, name)) {
                    named[0].retain(|(known, _)| *known != entity);
                    named[0].push((entity, name));
                }
            }
            (9..=11, Some(at)) => {
                let entity = living[0][at];
                let had = land.remove_name(entity).unwrap();
                let count = named[0].len();
                named[0].retain(|(known, _)| *known != entity);
                assert_eq!(had, named[0].len() < count);
            }
            (12..=13, Some(at)) => {
                let entity = living[0].swap_remove(at);
                land.destroy(entity).unwrap();
                named[0].retain(|(known, _)| *known != entity);
            }
            (14, Some(at)) => {
                let entity = living[0].swap_remove(at);
                land.move_to(&mut sea, entity).unwrap();
                living[1].push(entity);
                if let Some(at) = named[0].iter().position(|(known, _)| *known == entity) {
                    let name = named[0].remove(at);
                    named[1].push(name);
                }
            }
            _ => {}
        }
        for (world, named) in [&land, &sea].into_iter().zip(&named) {
            for name in CALLED {
                let expected = named.iter().filter(|(_, called)| *called == name);
                let expected: Vec<Entity> = expected.map(|&(entity, _)| entity).collect();
                if round % 3 == 0 {
                    assert_eq!(world.find_by_name(name), expected.first().copied());
                }
                if round % 16 == 0 {
                    assert_eq!(world.named(name).collect::<Vec<_>>(), expected);
                }
            }
        }
        if round % 64 == 0 {
            universe.check([&land, &sea]).unwrap();
        }
    }
    assert!(living.iter().any(|living| living.len() > 50));
}

#[test]
fn those_of_a_name_that_go_together_keep_their_order() {
    type Way = fn(&mut World, &mut World);
    let ways: [Way; 4] = [
        |land, sea| assert_eq!(land.move_all_to(sea).unwrap(), 40),
        |land, sea| assert_eq!(land.move_archetype_to::<(u32,)>(sea).unwrap(), 40),
        |land, sea| _ = land.matching::<()>().unwrap().move_to(sea).unwrap(),
        |land, sea| {
            let all: Vec<Entity> = land.named("ant").collect();
            assert!(land.move_slice_to(sea, &all).unwrap().is_clean());
        },
    ];
    for (way, others) in ways.map(|way| [(way, 0), (way, 100)]).concat() {
        let universe = Arc::new(Universe::new());
        let [mut land, mut sea] = [(); 2].map(|()| World::of(&universe).unwrap());
        name_others(&mut [&mut land, &mut sea], others);
        let batch = land.create_batch((0..40_u32).map(|n| (n,))).unwrap();
        let ants: Vec<Entity> = batch.iter(&land).collect();
        // Not in the order of their ids: 7 and 40 have no divisor.
        let order: Vec<Entity> = (0..40).map(|n| ants[7 * n % 40]).collect();
        for &ant in &order {
            land.set_name(ant, "ant").unwrap();
        }
        way(&mut land, &mut sea);
        assert_eq!(sea.named("ant").collect::<Vec<_>>(), order);
        assert_eq!(sea.find_by_name("ant"), Some(order[0]));
        assert_eq!(land.find_by_name("ant"), None);
        universe.check([&land, &sea]).unwrap();
    }
}

#[test]
fn who_has_had_a_name_longest_has_it_longest_in_another_world_too() {
    type Way = fn(&mut World, &mut World, &[Entity]);
    let ways: [Way; 4] = [
        |land, sea, fish| assert!(land.move_slice_to(sea, fish).unwrap().is_clean()),
        |land, sea, fish| assert_eq!(land.move_all_to(sea).unwrap(), fish.len()),
        |land, sea, fish| {
            let moved = land.move_archetype_to::<(usize,)>(sea).unwrap();
            assert_eq!(moved, fish.len());
        },
        |land, sea, fish| {
            let moved = land.matching::<()>().unwrap().move_to(sea).unwrap();
            assert_eq!(moved, fish.len());
        },
    ];
    for (way, others) in ways.into_iter().flat_map(|way| [(way, 0), (way, 100)]) {
        let universe = Arc::new(Universe::new());
        let [mut land, mut sea] = [(); 2].map(|()| World::of(&universe).unwrap());
        name_others(&mut [&mut land, &mut sea], others);
        let fish: Vec<Entity> = (0..5_usize).map(|n| land.create((n,)).unwrap()).collect();
        let named = [3, 0, 4, 1].map(|at: usize| fish[at]);
        for one in named {
            land.set_name(one, "fish").unwrap();
        }
        way(&mut land, &mut sea, &fish);
        assert_eq!(sea.find_by_name("fish"), Some(named[0]));
        assert!(sea.named("fish").eq(named));
        universe.check([&land, &sea]).unwrap();
    }
}

#[test]
fn the_version_of_names_is_another_one_after_each_change_of_them() {
    let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
    let (ant, bee) = (world.create(()).unwrap(), world.create(()).unwrap());
    let mut seen = world.names_version();
    let mut has_changed = |world: &World| {
        let before = core::mem::replace(&mut seen, world.names_version());
        assert!(before <= seen);
        before < seen
    };
    world.set_name(ant, "a").unwrap();
    assert!(has_changed(&world));
    world.set_name(ant, "a").unwrap();
    assert!(!has_changed(&world), "it was called so");
    world.set_name(ant, "b").unwrap();
    assert!(has_changed(&world));
    world.set_name(bee, "b").unwrap();
    assert!(has_changed(&world));
    let mut checkpoints = Checkpoints::new(1);
    let taken = checkpoints.take(&mut world).unwrap();
    world.remove_name(bee).unwrap();
    assert!(has_changed(&world));
    world.remove_name(bee).unwrap();
    assert!(!has_changed(&world), "it had none");
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert!(has_changed(&world), "it has its name again");
    assert_eq!(world.name(bee).unwrap(), Some("b"));
    // Also if all names are the same, and somebody lives again who has one.
    let taken = checkpoints.take(&mut world).unwrap();
    world.destroy(ant).unwrap();
    has_changed(&world);
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert!(has_changed(&world), "it lives again");
    assert!(world.set_name(Entity::PLACEHOLDER, "c").is_err());
    assert!(!has_changed(&world));
}

#[test]
fn who_lives_again_is_found_by_name_though_somebody_looked_for_it_when_it_was_dead() {
    let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
    let (first, second) = (world.create(()).unwrap(), world.create(()).unwrap());
    for king in [first, second] {
        world.set_name(king, "king").unwrap();
    }
    let mut checkpoints = Checkpoints::new(1);
    for dead in [&[first][..], &[first, second]] {
        let taken = checkpoints.take(&mut world).unwrap();
        for &king in dead {
            world.destroy(king).unwrap();
        }
        let heir = [Some(second), None][dead.len() - 1];
        assert_eq!(world.find_by_name("king"), heir);
        checkpoints.roll_back(&mut world, taken).unwrap();
        world.check().unwrap();
        assert_eq!(world.find_by_name("king"), Some(first));
        assert!(world.named("king").eq([first, second]));
    }
}
