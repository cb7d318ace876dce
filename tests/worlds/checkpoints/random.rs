//! Whatever happens to a world, it goes back to the byte, and comes on again the same way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::world::{Checkpoint, CheckpointError, Checkpoints};

use crate::checkpoints::{Asleep, Spot, Team, Weather, Wide, bytes, universe, world};
use crate::rolled_back;

fn hash(world: &World) -> u64 {
    world.continuation_hash(&SnapshotOptions::new()).unwrap()
}

#[test]
fn a_game_that_goes_back_by_checkpoints_is_the_one_that_never_did() {
    use rolled_back::{
        RING, TICKS, advance, guessed, known, pool, schedule, start, straight, told,
    };
    let expected = pool(1).install(straight);
    for threads in [1, 4] {
        pool(threads).install(|| {
            let mut game = Simulation::new(start(), schedule());
            let mut checkpoints = Checkpoints::new(RING);
            let mut ring: Vec<Option<(Checkpoint, Vec<u8>)>> = vec![None; RING];
            for tick in 0..TICKS {
                let taken = checkpoints.take(game.world_mut()).unwrap();
                ring[tick as usize % RING] = Some((taken, bytes(game.world())));
                advance(&mut game, guessed(tick));
                for back in 1..=(RING as u64).min(tick + 1) {
                    let first = tick + 1 - back;
                    let (to, _) = ring[first as usize % RING].clone().unwrap();
                    game.roll_back(&mut checkpoints, to).unwrap();
                    assert_eq!(game.tick(), first);
                    game.world().check().unwrap();
                    for again in first..=tick {
                        let (before, was) = &mut ring[again as usize % RING].as_mut().unwrap();
                        let now = bytes(game.world());
                        assert!(now == *was, "{threads} threads, {again} again from {first}");
                        // That of the first is kept.
                        if again > first {
                            *before = checkpoints.take(game.world_mut()).unwrap();
                        }
                        advance(&mut game, known(again));
                    }
                    let (hash, bytes) = told(&game);
                    let when = format!("{threads} threads, {back} back from {tick}");
                    assert_eq!(hash, expected[tick as usize].0, "{when}");
                    assert!(bytes == expected[tick as usize].1, "{when}");
                }
                game.world().check().unwrap();
            }
        });
    }
}

/// What looks like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = (self.0 ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 ^= self.0 >> 32;
        (self.0 % end as u64) as usize
    }
}

/// Does something to a world, one of all kinds of things.
fn change(world: &mut World, chance: &mut Chance) {
    let all: Vec<Entity> = world.read::<Entity, ()>().unwrap().iter().collect();
    let some = |chance: &mut Chance| (!all.is_empty()).then(|| all[chance.below(all.len())]);
    let n = chance.below(1_000) as u64;
    let one = some(chance);
    match (chance.below(18), one) {
        (0, _) => _ = world.create((Spot(n),)).unwrap(),
        (1, _) => _ = world.create((Spot(n), Wide([n; 20]))).unwrap(),
        (2, _) => {
            let count = chance.below(300) as u64;
            _ = world
                .create_batch((0..count).map(|n| (Spot(n), Asleep)))
                .unwrap();
        }
        (3, _) => _ = world.create((Spot(n),).shared(Team(n as u32 % 5))).unwrap(),
        (4, _) => {
            _ = world
                .create((Wide([n; 20]),).per_chunk(Weather(n as u32)))
                .unwrap()
        }
        (5, Some(one)) => world.destroy(one).unwrap(),
        (6, Some(_)) => {
            let gone: Vec<Entity> = all
                .iter()
                .copied()
                .filter(|_| chance.below(3) == 0)
                .collect();
            assert!(world.destroy_slice(&gone).is_clean());
        }
        (7, Some(one)) => world.add(one, (Wide([n; 20]),)).unwrap(),
        (8, Some(one)) => _ = world.remove::<(Spot,)>(one).unwrap(),
        (9, Some(one)) => world.add(one, ().shared(Team(n as u32 % 4))).unwrap(),
        (10, Some(one)) => {
            world
                .set_name(one, ["ant", "bee", "cat"][n as usize % 3])
                .unwrap();
        }
        (11, Some(one)) => {
            // If it has that.
            _ = world.set_enabled::<Asleep>(one, n.is_multiple_of(2));
            _ = world.set_enabled::<Spot>(one, n.is_multiple_of(3));
        }
        (12, Some(one)) => {
            if let Ok(weather) = world.chunk_fragment_mut::<Weather>(one) {
                weather.0 += 1;
            }
            if n.is_multiple_of(7) {
                world
                    .set_chunk_rule::<Weather, ()>(Weather(n as u32))
                    .unwrap();
                // A rule would not go back.
                assert!(world.remove_chunk_rule::<Weather, ()>().unwrap());
            }
        }
        (13, _) => {
            let mut spots = Query::<&mut Spot>::new(world).unwrap();
            spots.on(world).for_each(|spot| spot.0 = spot.0 * 31 + n);
            *world.resources_mut().get_or_insert_with(|| 0_u64) += n;
            if n.is_multiple_of(5) {
                world.resources_mut().remove::<u64>();
            }
        }
        (14, _) => {
            world.advance_time(Duration::from_millis(n));
            if n.is_multiple_of(3) {
                world.trim();
            } else if n % 3 == 1 {
                _ = world.compact(megachunk::world::Budget::Unlimited);
            }
        }
        (15, Some(one)) => {
            let commands = &mut world.commands();
            _ = commands.create((Spot(n), Asleep)).unwrap();
            commands.remove::<(Asleep,)>(one).unwrap();
        }
        (16, Some(one)) => {
            if let Ok(spot) = world.get_mut::<Spot>(one) {
                spot.0 += n;
            }
        }
        (17, Some(one)) => {
            if let Ok(wide) = world.get_mut::<Wide>(one) {
                wide.0[7] = n;
            }
        }
        _ => {}
    }
    assert!(world.flush().is_clean());
}

#[test]
fn whatever_happens_to_a_world_it_goes_back_to_the_byte() {
    for seed in 0..if cfg!(miri) { 2 } else { 30 } {
        let (mut world, mut chance) = (world(), Chance(seed));
        let mut checkpoints = Checkpoints::new(5);
        let mut kept: Vec<(Checkpoint, Vec<u8>)> = Vec::new();
        for step in 0..60 {
            for _ in 0..chance.below(6) {
                change(&mut world, &mut chance);
            }
            world.check().unwrap();
            if chance.below(2) == 0 || kept.is_empty() {
                kept.push((checkpoints.take(&mut world).unwrap(), bytes(&world)));
                kept.retain(|(checkpoint, _)| checkpoints.has(*checkpoint));
                assert_eq!(kept.len(), checkpoints.len());
                continue;
            }
            let at = chance.below(kept.len());
            let (to, was) = &kept[at];
            checkpoints.roll_back(&mut world, *to).unwrap();
            world.check().unwrap();
            assert!(bytes(&world) == *was, "seed {seed}, step {step}");
            kept.truncate(at + 1);
            assert_eq!(kept.len(), checkpoints.len());
            assert_eq!(checkpoints.last(), Some(kept[at].0));
        }
    }
}

#[test]
fn what_is_done_again_leads_to_the_same_ids_and_rows() {
    for seed in 100..120 {
        let mut world = world();
        let mut before = Chance(seed);
        (0..30).for_each(|_| change(&mut world, &mut before));
        let mut checkpoints = Checkpoints::new(1);
        let start = checkpoints.take(&mut world).unwrap();
        let mut again = |seed| {
            checkpoints.roll_back(&mut world, start).unwrap();
            let mut chance = Chance(seed);
            let steps = (0..20).map(|_| {
                change(&mut world, &mut chance);
                (hash(&world), world.state_hash(&Default::default()).unwrap())
            });
            steps.collect::<Vec<_>>()
        };
        let first = again(seed + 1);
        assert_ne!(again(seed + 2), first);
        assert_eq!(again(seed + 1), first, "seed {seed}");
    }
}

#[test]
fn values_that_are_cloned_go_back_whatever_happens_to_them() {
    for seed in 0..20 {
        let (mut world, mut chance) = (world(), Chance(seed));
        world.registry().register_clone::<String>().unwrap();
        world.set_chunk_size(1);
        let mut checkpoints = Checkpoints::new(4);
        let mut kept: Vec<(Checkpoint, Vec<(Entity, String)>)> = Vec::new();
        for step in 0..60 {
            let mut all = world.read::<(Entity, &String), ()>().unwrap();
            let all = all.iter().map(|(entity, text)| (entity, text.clone()));
            let all: Vec<(Entity, String)> = all.collect();
            let some = (!all.is_empty()).then(|| all[chance.below(all.len())].0);
            let n = chance.below(1_000);
            match (chance.below(7), some) {
                (0, _) => {
                    let count = chance.below(1_000);
                    let texts = (0..count).map(|n| (n.to_string(), Spot(n as u64)));
                    world.create_batch(texts).unwrap();
                }
                (1, Some(one)) => world.get_mut::<String>(one).unwrap().push('x'),
                (2, Some(one)) => world.destroy(one).unwrap(),
                (3, Some(one)) => world.add(one, (Asleep,)).unwrap(),
                (4, Some(one)) => _ = world.remove::<(Spot, Asleep)>(one).unwrap(),
                (5, _) => kept.push((checkpoints.take(&mut world).unwrap(), all)),
                (6, _) if !kept.is_empty() => {
                    kept.truncate(n % kept.len() + 1);
                    let (to, was) = &kept[kept.len() - 1];
                    checkpoints.roll_back(&mut world, *to).unwrap();
                    world.check().unwrap();
                    let mut now = world.read::<(Entity, &String), ()>().unwrap();
                    let now = now.iter().map(|(entity, text)| (entity, text.clone()));
                    assert!(now.eq(was.iter().cloned()), "seed {seed}, step {step}");
                }
                _ => {}
            }
            kept.retain(|(checkpoint, _)| checkpoints.has(*checkpoint));
        }
    }
}

#[test]
fn other_threads_may_reserve_ids_meanwhile_and_lose_none() {
    let mut world = world();
    let shared = Arc::clone(world.universe());
    let mut chance = Chance(5);
    (0..40).for_each(|_| change(&mut world, &mut chance));
    let mut checkpoints = Checkpoints::new(3);
    let taken = checkpoints.take(&mut world).unwrap();
    let was = bytes(&world);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let mine = shared.reserve().unwrap();
                assert!(shared.exists(mine));
                std::thread::yield_now();
                shared.release(mine).expect("it is mine");
            }
        });
        let (mut back, mut refused) = (0, 0);
        let rounds = if cfg!(miri) { 20 } else { 2_000 };
        for _ in 0..rounds {
            let ant = world.create((Spot(1), Asleep)).unwrap();
            world.destroy(ant).unwrap();
            world.create((Spot(2),)).unwrap();
            match checkpoints.roll_back(&mut world, taken) {
                Ok(()) => back += 1,
                Err(CheckpointError::NotAlone) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(back + refused, rounds);
    });
    checkpoints.roll_back(&mut world, taken).unwrap();
    world.check().unwrap();
    // A slot that the other used has had versions since.
    assert_eq!(
        world.state_hash(&Default::default()).unwrap(),
        World::from_snapshot(&was, universe(), &Default::default())
            .unwrap()
            .state_hash(&Default::default())
            .unwrap()
    );
}
