//! Entities that come and go with each flush: how much room is free after many of them.

use std::sync::Arc;

use megachunk::prelude::*;

use crate::dice::mix;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Shot(u64);

/// A world of so many, of which each of many flushes replaces `each`, in `parts` recorders. If they have teams, all
/// but some are of one.
fn churned(
    universe: Universe,
    (count, teams): (u64, bool),
    each: u64,
    parts: u64,
) -> (World, Vec<Entity>) {
    let mut world = World::of(&Arc::new(universe)).unwrap();
    let shots = (0..count).map(|n| (Shot(n), [n; 3]));
    let batch = match teams {
        false => world.create_batch(shots),
        true => {
            for n in 0..3 {
                world.create((Shot(n), [n; 3]).shared(n + 1)).unwrap();
            }
            world.create_batch(shots.map(|shot| shot.shared(0_u64)))
        }
    };
    let mut all: Vec<Entity> = batch.unwrap().iter(&world).collect();
    let mut number = count;
    for round in 0..10 * count / each {
        let commands = world.parallel_commands();
        for part in 0..parts {
            let mut open = commands.open_at(part);
            for _ in 0..each / parts {
                let at = mix(round * 1_000_003 + number) % all.len() as u64;
                open.destroy(all.swap_remove(at as usize));
                number += 1;
            }
        }
        for part in 0..parts {
            let mut open = commands.open_at(parts + part);
            for _ in 0..each / parts {
                let shot = (Shot(number), [number; 3]);
                let created = match teams {
                    false => open.create(shot),
                    true => open.create(shot.shared(0_u64)),
                };
                all.push(created.unwrap());
                number += 1;
            }
        }
        let report = world.flush();
        assert!(report.is_clean() && report.created as u64 == each);
    }
    world.check().unwrap();
    (world, all)
}

#[test]
fn where_flushes_replace_entities_an_eighth_of_all_rows_is_free_before_they_go() {
    // A recorder has part of a chunk, a chunk, and several; and there are several recorders.
    let cases = [(40, 1), (500, 1), (3_000, 1), (6_000, 1), (6_000, 4)];
    for ((each, parts), teams) in cases.iter().flat_map(|&c| [(c, false), (c, true)]) {
        let (world, all) = churned(Universe::new(), (20_000, teams), each, parts);
        let stats = world.stats();
        let others = if teams { 3 } else { 0 };
        assert_eq!(stats.entities, all.len() + others);
        // And what goes in a flush, which comes after what it brings; and less than one recorder brings. (The others have
        // a short chunk each.)
        let free = (stats.capacity - stats.entities) as u64;
        let most = stats.capacity as u64 / 8 + each + each / parts + 512 * others as u64;
        assert!(
            free <= most,
            "{each} in {parts}: {free} of {}",
            stats.capacity
        );
        for &shot in all.iter().step_by(97) {
            let number = world.get::<Shot>(shot).unwrap().0;
            assert_eq!(world.get::<[u64; 3]>(shot).unwrap(), &[number; 3]);
        }
    }
}

#[test]
fn a_small_team_beside_a_large_one_is_filled_too() {
    let mut world = World::new();
    // In long chunks, all of them full but the last.
    let large = (0..100_000_u64).map(|n| (Shot(n), [n; 3]).shared('a'));
    let _ = world.create_batch(large).unwrap();
    let before = world.stats();
    let mut small = Vec::new();
    for round in 0..200_u64 {
        let mut commands = world.commands();
        for n in 0..if round == 0 { 0 } else { 500_u64 } {
            let at = mix(round * 1_000 + n) % small.len() as u64;
            commands.destroy(small.swap_remove(at as usize));
        }
        for n in 0..if round == 0 { 5_000 } else { 500_u64 } {
            small.push(commands.create((Shot(n), [n; 3]).shared('b')).unwrap());
        }
        drop(commands);
        assert!(world.flush().is_clean());
    }
    world.check().unwrap();
    let after = world.stats();
    assert_eq!(after.entities - before.entities, 5_000);
    // An eighth, what goes in a flush, and less than comes in one.
    let capacity = after.capacity - before.capacity;
    assert!(capacity <= 5_000 + capacity / 8 + 1_000, "{capacity}");
}

#[test]
fn what_comes_to_a_world_without_room_is_not_copied() {
    let mut world = World::new();
    let mut places = Vec::new();
    // Others have room, of other teams.
    for n in 0..500_u64 {
        world.create((Shot(n), [n; 3]).shared(n + 1)).unwrap();
    }
    for round in 0..5_u64 {
        let mut commands = world.commands();
        let created: Vec<Entity> = (0..20_000)
            .map(|n| {
                let shot = (Shot(n + round), [n; 3]);
                let created = match round < 3 {
                    true => commands.create(shot),
                    false => commands.create(shot.shared(0_u64)),
                };
                created.unwrap()
            })
            .collect();
        let address = |shot: &Shot| core::ptr::from_ref(shot).addr();
        let before = created.iter().map(|&it| address(commands.get(it).unwrap()));
        let before: Vec<usize> = before.collect();
        drop(commands);
        assert_eq!(world.flush().created, created.len());
        let stay = (created.iter().zip(&before))
            .filter(|&(&it, &before)| address(world.get(it).unwrap()) == before);
        places.push(stay.count());
    }
    // All but the first ones, which went where other recorders have theirs.
    assert!(places.iter().all(|&stay| stay > 19_000), "{places:?}");
}

#[test]
fn the_same_comes_of_it_for_any_number_of_threads() {
    let rows = |threads: usize, teams| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let (world, _) = churned(Universe::ordered(), (5_000, teams), 1_500, 3);
            let mut all = world.read::<(Entity, &Shot), ()>().unwrap();
            all.iter().map(|(it, &shot)| (it, shot)).collect::<Vec<_>>()
        })
    };
    for teams in [false, true] {
        let one = rows(1, teams);
        assert_eq!(one, rows(2, teams));
        assert_eq!(one, rows(3, teams));
    }
}
