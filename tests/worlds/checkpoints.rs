//! A world that goes back to a checkpoint is what it was, byte for byte, and comes on again as it came: ids, rows and values.
//! Values are dropped once, whatever panics; and what cannot go back is refused before anything has changed.
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use megachunk::index::ValueIndex;
use megachunk::prelude::*;
use megachunk::world::{Checkpoint, CheckpointError, Checkpoints};

use crate::counted::{Counted, FUSE};
use crate::rolled_back;

fn bytes(world: &World) -> Vec<u8> {
    world.to_snapshot(&SnapshotOptions::new()).unwrap()
}

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

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(transparent)]
struct Spot(u64);
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Wide([u64; 20]);
#[derive(Clone, Copy)]
struct Asleep;
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Team(u32);
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Weather(u32);

megachunk::plain!(Spot { 0 });
megachunk::plain!(Wide { 0 });
megachunk::plain!(Asleep {});
megachunk::plain!(Team { 0 });
megachunk::plain!(Weather { 0 });

fn world() -> World {
    World::of(&Arc::new(universe())).unwrap()
}

fn universe() -> Universe {
    let universe = Universe::ordered();
    let known = universe.registry();
    known.register_plain::<Spot>().unwrap();
    known.register_plain::<Wide>().unwrap();
    known.register_plain::<Asleep>().unwrap();
    known.register_enableable::<Asleep>().unwrap();
    known.register_enableable::<Spot>().unwrap();
    known.register_plain_shared::<Team>().unwrap();
    known.register_plain_chunk::<Weather>().unwrap();
    known.register_state_as::<u64>("score").unwrap();
    universe
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
                    .set_chunk_template::<Weather, ()>(Weather(n as u32))
                    .unwrap();
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
                (hash(&world), world.state_hash().unwrap())
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

/// A world of values that count themselves, in each role.
fn counted() -> World {
    let world = World::of(&Arc::new(Universe::ordered())).unwrap();
    world.registry().register_clone::<Counted>().unwrap();
    world.registry().register_clone::<Token>().unwrap();
    world.registry().register_clone::<Padded>().unwrap();
    world
}

thread_local! {
    static TOKENS: Cell<isize> = const { Cell::new(0) };
}

/// Of no size, and dropped.
struct Token;

impl Token {
    fn new() -> Self {
        TOKENS.set(TOKENS.get() + 1);
        Self
    }
}

impl Clone for Token {
    fn clone(&self) -> Self {
        crate::counted::burn();
        Self::new()
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        TOKENS.set(TOKENS.get() - 1);
    }
}

/// Wants to lie at a page's begin, nearly.
#[derive(Clone)]
#[repr(align(1024))]
struct Padded(u8);

#[test]
fn values_are_dropped_once_whatever_clone_panics() {
    let alive = Arc::new(AtomicUsize::new(0));
    let count = || alive.load(Ordering::Relaxed);
    let tokens = TOKENS.get();
    let mut world = counted();
    let make = |n: u8| (Counted::new(&alive), Token::new(), Padded(n));
    let first = world
        .create_batch((0..20).map(make))
        .unwrap()
        .to_vec(&world);
    let pair = (Counted::new(&alive), 7_u8).per_chunk(Counted::new(&alive));
    world.registry().register_clone::<u8>().unwrap();
    let lone = world.create(pair).unwrap();
    let there = count();
    let mut checkpoints = Checkpoints::new(2);
    // Each call of `clone` panics in turn, and then none.
    let mut fuses = 0;
    let taken = (1..).find_map(|fuse| {
        FUSE.set(fuse);
        fuses = fuse;
        match catch_unwind(AssertUnwindSafe(|| checkpoints.take(&mut world))) {
            Ok(taken) => Some(taken.unwrap()),
            Err(_) => {
                assert_eq!(count(), there, "fuse {fuse}");
                assert!(checkpoints.is_empty());
                world.check().unwrap();
                None
            }
        }
    });
    FUSE.set(0);
    // Twenty with a token each, one, that of its chunk, and what chunks begin with.
    assert_eq!(fuses, 20 * 2 + 3 + 1);
    assert_eq!(count(), there + 20 + 3);
    let taken = taken.unwrap();
    for fuse in 1.. {
        for &one in &first[3..9] {
            if world.exists(one) {
                world.destroy(one).unwrap();
            }
        }
        if world.exists(lone) {
            world.destroy(lone).unwrap();
        }
        let made = world
            .create((Counted::new(&alive), Token::new(), Padded(9), 'x'))
            .unwrap();
        let changed = count();
        FUSE.set(fuse);
        let gone_back = catch_unwind(AssertUnwindSafe(|| {
            checkpoints.roll_back(&mut world, taken)
        }));
        let went = FUSE.replace(0) > 0;
        match gone_back {
            Ok(gone_back) => {
                assert!(went && gone_back.is_ok());
                break;
            }
            Err(_) => {
                assert_eq!(count(), changed, "fuse {fuse}");
                assert!(world.exists(made) && !world.exists(lone));
                world.destroy(made).unwrap();
                world.check().unwrap();
            }
        }
        assert!(fuse < 100);
    }
    world.check().unwrap();
    assert_eq!(count(), there + 20 + 3);
    for (n, &one) in (0..20).zip(&first) {
        assert_eq!(world.get::<Padded>(one).unwrap().0, n);
    }
    assert!(world.exists(lone));
    drop(world);
    // And the value that was given last, which new compositions would begin with: kept by both.
    assert_eq!(count(), 20 + 3 + 1, "what is kept is not the world's");
    drop(checkpoints);
    assert_eq!((count(), TOKENS.get()), (0, tokens));
}

#[test]
fn what_a_drop_panics_with_comes_back_when_the_world_has_gone_back() {
    #[derive(Clone)]
    struct Burns(u32);
    impl Drop for Burns {
        fn drop(&mut self) {
            if self.0 == 13 {
                crate::counted::burn();
            }
        }
    }
    let mut world = world();
    world.registry().register_clone::<Burns>().unwrap();
    let all = world
        .create_batch((0..10).map(|n| (Burns(n), Spot(n.into()))))
        .unwrap();
    let all = all.to_vec(&world);
    let mut checkpoints = Checkpoints::new(3);
    let taken = checkpoints.take(&mut world).unwrap();
    world.get_mut::<Burns>(all[4]).unwrap().0 = 13;
    world.destroy(all[7]).unwrap();
    let later = checkpoints.take(&mut world).unwrap();
    for fuse in [1, 2] {
        // That of the world, or that of the later checkpoint.
        FUSE.set(fuse);
        let to = taken;
        let panicked =
            catch_unwind(AssertUnwindSafe(|| checkpoints.roll_back(&mut world, to))).is_err();
        FUSE.set(0);
        assert!(panicked, "{fuse}");
        assert!(!checkpoints.has(later));
        assert_eq!(checkpoints.last(), Some(taken));
        world.check().unwrap();
        for (n, &one) in (0..).zip(&all) {
            assert_eq!(world.get::<Burns>(one).unwrap().0, n);
        }
        world.get_mut::<Burns>(all[4]).unwrap().0 = 13;
        checkpoints.take(&mut world).unwrap();
    }
}

#[test]
fn handles_of_those_who_came_since_are_given_again() {
    let mut world = world();
    let ants: Vec<Entity> = (0..5).map(|n| world.create((Spot(n),)).unwrap()).collect();
    world.destroy(ants[2]).unwrap();
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    world.destroy(ants[3]).unwrap();
    let come: Vec<Entity> = (0..400)
        .map(|n| world.create((Spot(n), Asleep)).unwrap())
        .collect();
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert!(world.exists(ants[3]) && !world.exists(ants[2]));
    assert!(!come.iter().any(|&one| world.exists(one)));
    assert_eq!((world.count(), world.archetype_count()), (4, 1));
    world.destroy(ants[3]).unwrap();
    for &one in &come {
        assert_eq!(world.create((Wide([0; 20]),)).unwrap(), one);
    }
    world.check().unwrap();
}

#[test]
fn queries_and_indices_that_were_there_see_what_was() {
    let mut world = world();
    let ants: Vec<Entity> = (0..50)
        .map(|n| world.create((Spot(n % 7),)).unwrap())
        .collect();
    let mut all = Query::<(Entity, &Spot)>::new(&world).unwrap();
    let mut changed = Query::<Entity, Changed<Spot>>::new(&world).unwrap();
    let mut index = ValueIndex::<Spot, u64>::new(&world, |spot| spot.0).unwrap();
    index.update(&world);
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    let told = |world: &World, all: &mut Query<(Entity, &Spot)>| {
        let mut run = all.read(world);
        let all = run.iter().map(|(entity, spot)| (entity, *spot));
        all.collect::<Vec<_>>()
    };
    let before = told(&world, &mut all);
    for (n, &ant) in ants.iter().enumerate() {
        match n % 3 {
            0 => world.destroy(ant).unwrap(),
            1 => world.add(ant, (Asleep,)).unwrap(),
            _ => world.get_mut::<Spot>(ant).unwrap().0 = 3,
        }
    }
    world
        .create_batch((0..200).map(|n| (Spot(n), Wide([1; 20]))))
        .unwrap();
    index.update(&world);
    assert_ne!(told(&world, &mut all), before);
    let _ = changed.read(&world).count();
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert_eq!(told(&world, &mut all), before);
    assert_eq!(
        changed.read(&world).count(),
        50,
        "what has gone back has changed"
    );
    assert_eq!(changed.read(&world).count(), 0);
    index.update(&world);
    for spot in 0..7 {
        let expected = before.iter().filter(|(_, at)| at.0 == spot).count();
        assert_eq!(index.entities(&spot).len(), expected);
    }
    // Nothing has: nothing is seen.
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert_eq!(changed.read(&world).count(), 0);
}

#[test]
fn signals_wait_as_they_did_and_those_that_were_sent_since_are_gone() {
    let mut world = world();
    let ant = world.create((Spot(1),)).unwrap();
    let rings = world.signal::<u64>("rings").unwrap();
    let mut reader = SignalReader::<Entity>::new(&world).unwrap();
    reader.subscribe(&mut world, rings).unwrap();
    let second = Duration::from_secs(1);
    world.signals().send_after(rings, ant, 1, 2 * second);
    world.signals().send_after(rings, ant, 2, 2 * second);
    world.signals().broadcast_after(rings, 7, 2 * second);
    let mut hall = BroadcastReader::<u64>::new();
    hall.subscribe(&mut world, rings).unwrap();
    world.collect_signals();
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    let was = bytes(&world);
    let mut heard = |world: &mut World| {
        let mut heard: Vec<u64> = Vec::new();
        let _ = reader.deliver(world, |_, received| heard.extend(received.of(rings)));
        heard
    };
    for _ in 0..3 {
        world.signals().send(rings, ant, 3);
        world.signals().send_after(rings, ant, 4, second);
        world.advance_time(second);
        // One is collected and not read, one not even collected.
        world.signals().send(rings, ant, 5);
        world.signals().broadcast_after(rings, 8, second);
        checkpoints.roll_back(&mut world, taken).unwrap();
        assert!(bytes(&world) == was);
        assert_eq!(world.time(), Duration::ZERO);
        assert_eq!(heard(&mut world), [0; 0]);
    }
    world.signals().send_after(rings, ant, 6, 2 * second);
    world.advance_time(2 * second);
    assert_eq!(heard(&mut world), [1, 2, 6]);
    assert!(hall.hear(&mut world).iter().eq(&[7]));
}

#[test]
fn what_cannot_go_back_is_refused_and_nothing_has_changed() {
    let mut checkpoints = Checkpoints::new(2);
    let take = |world: &mut World| Checkpoints::new(1).take(world);
    let mut unordered = World::new();
    assert_eq!(take(&mut unordered), Err(CheckpointError::NotOrdered));

    let mut world = world();
    let ant = world.create((Spot(1),)).unwrap();
    let universe = Arc::clone(world.universe());
    // Ids of others.
    let reserved = universe.reserve().unwrap();
    assert_eq!(take(&mut world), Err(CheckpointError::NotAlone));
    universe.release(reserved).unwrap();
    let mut other = World::of(&universe).unwrap();
    let bee = other.create((Spot(2),)).unwrap();
    assert_eq!(take(&mut world), Err(CheckpointError::NotAlone));
    other.destroy(bee).unwrap();
    // A recorder that holds something, or is open.
    let mut commands = world.commands();
    let created = commands.create((Spot(3),)).unwrap();
    drop(commands);
    assert!(
        matches!(take(&mut world), Err(CheckpointError::Pending(pending)) if pending.entities == 1)
    );
    assert!(world.flush().is_clean());
    world.destroy(created).unwrap();
    // A value that nobody can double.
    struct Secret;
    let secret = world.create((String::new(), Spot(1))).unwrap();
    let refused = take(&mut world).unwrap_err();
    assert!(
        matches!(&refused, CheckpointError::NotCloneable { name, .. } if name.contains("String")),
        "{refused}"
    );
    world.destroy(secret).unwrap();
    let secret = world.create((Secret,)).unwrap();
    assert!(matches!(
        take(&mut world),
        Err(CheckpointError::NotCloneable { .. })
    ));
    world.destroy(secret).unwrap();

    let taken = checkpoints.take(&mut world).unwrap();
    let was = bytes(&world);
    // Of another world.
    assert_eq!(
        checkpoints.take(&mut other),
        Err(CheckpointError::OtherWorld)
    );
    assert_eq!(
        checkpoints.roll_back(&mut other, taken),
        Err(CheckpointError::OtherWorld)
    );
    assert_eq!(
        Checkpoints::new(1).roll_back(&mut world, taken),
        Err(CheckpointError::Gone)
    );
    // Others have come since.
    world.get_mut::<Spot>(ant).unwrap().0 = 7;
    world.create((Wide([0; 20]),)).unwrap();
    let changed = world.state_hash().unwrap();
    let refuse = |checkpoints: &mut Checkpoints, world: &mut World| {
        let refused = checkpoints.roll_back(world, taken);
        assert_eq!(world.state_hash().unwrap(), changed);
        world.check().unwrap();
        refused
    };
    let reserved = universe.reserve().unwrap();
    assert_eq!(
        refuse(&mut checkpoints, &mut world),
        Err(CheckpointError::NotAlone)
    );
    universe.release(reserved).unwrap();
    let bee = other.create((Spot(2),)).unwrap();
    assert_eq!(
        refuse(&mut checkpoints, &mut world),
        Err(CheckpointError::NotAlone)
    );
    other.destroy(bee).unwrap();
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert!(bytes(&world) == was);
    // In the middle of a flush.
    let seen = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&seen);
    world.commands().defer(move |world| {
        let refused = Checkpoints::new(1).take(world);
        told.store(refused == Err(CheckpointError::Flushing), Ordering::Relaxed);
    });
    assert!(world.flush().is_clean());
    assert!(seen.load(Ordering::Relaxed));
    // Collected.
    let wide = world.create((Wide([0; 20]),)).unwrap();
    let with_wide = checkpoints.take(&mut world).unwrap();
    world.destroy(wide).unwrap();
    assert!(world.collect_archetypes() > 0);
    assert_eq!(
        checkpoints.roll_back(&mut world, with_wide),
        Err(CheckpointError::Collected)
    );
    world.check().unwrap();
    // Too many since.
    checkpoints.take(&mut world).unwrap();
    checkpoints.take(&mut world).unwrap();
    assert_eq!(
        checkpoints.roll_back(&mut world, with_wide),
        Err(CheckpointError::Gone)
    );
    checkpoints.clear();
    world.clear();
    checkpoints.take(&mut other).unwrap();
}

#[test]
fn what_writes_and_reads_the_state_may_refuse() {
    #[derive(Clone, PartialEq, Debug)]
    struct Log(Vec<u8>);
    let universe = Universe::ordered();
    let read = |bytes: &[u8], _: &megachunk::entity::EntityMap| match bytes.first() {
        Some(9) => Err("nine"),
        _ => Ok(Log(bytes.to_vec())),
    };
    let write = |log: &Log, bytes: &mut Vec<u8>| match log.0.first() {
        Some(8) => Err("eight"),
        _ => {
            bytes.extend(&log.0);
            Ok(())
        }
    };
    universe
        .registry()
        .register_state_with("log", write, read)
        .unwrap();
    universe.registry().register_plain::<Spot>().unwrap();
    let mut world = World::of(&Arc::new(universe)).unwrap();
    let ant = world.create((Spot(1),)).unwrap();
    let mut checkpoints = Checkpoints::new(4);
    let none = checkpoints.take(&mut world).unwrap();
    world.resources_mut().insert(Log(vec![1, 2]));
    let some = checkpoints.take(&mut world).unwrap();
    world.resources_mut().insert(Log(vec![8]));
    let refused = checkpoints.take(&mut world).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "log, which is part of the state: eight"
    );
    world.resources_mut().insert(Log(vec![9]));
    let nine = checkpoints.take(&mut world).unwrap();
    world.get_mut::<Spot>(ant).unwrap().0 = 2;
    let refused = checkpoints.roll_back(&mut world, nine).unwrap_err();
    assert_eq!(refused.to_string(), "log, which is part of the state: nine");
    assert_eq!(world.get::<Spot>(ant).unwrap(), &Spot(2));
    checkpoints.roll_back(&mut world, some).unwrap();
    assert_eq!(world.resources().get::<Log>(), Some(&Log(vec![1, 2])));
    assert_eq!(world.get::<Spot>(ant).unwrap(), &Spot(1));
    checkpoints.roll_back(&mut world, none).unwrap();
    assert_eq!(world.resources().get::<Log>(), None);
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
        world.state_hash().unwrap(),
        World::from_snapshot(&was, universe())
            .unwrap()
            .state_hash()
            .unwrap()
    );
}

#[test]
fn what_follows_a_resource_that_is_no_state_follows_it_again_when_the_world_has_gone_back() {
    #[derive(Clone, Copy)]
    struct Settings(u64);
    let mut schedule = Schedule::new();
    schedule.add(
        processor(
            "apply",
            |settings: &Settings, mut all: QueryRun<'_, &mut Spot>| {
                all.for_each(|spot| spot.0 = settings.0);
            },
        )
        .run_if_changed::<Settings>(),
    );
    let mut world = world();
    let ant = world.create((Spot(0),)).unwrap();
    world.resources_mut().insert(Settings(1));
    schedule.run(&mut world).unwrap();
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    world.resources_mut().insert(Settings(2));
    schedule.run(&mut world).unwrap();
    assert_eq!(world.get::<Spot>(ant).unwrap().0, 2);
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert_eq!(world.get::<Spot>(ant).unwrap().0, 1);
    schedule.run(&mut world).unwrap();
    assert_eq!(
        world.get::<Spot>(ant).unwrap().0,
        2,
        "the settings are not the world's"
    );
}

/// Equal to whoever reads the same aloud.
#[derive(Clone, Debug)]
struct Word(&'static str);

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }
}

impl Eq for Word {}

impl std::hash::Hash for Word {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write(self.0.to_ascii_lowercase().as_bytes());
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        if self.0 == "aNT" {
            crate::counted::burn();
        }
    }
}

#[test]
fn a_shared_value_comes_back_as_it_was_and_not_as_an_equal_one() {
    let mut world = world();
    let make = |world: &mut World, word| world.create((Spot(1),).shared(Word(word))).unwrap();
    let ant = make(&mut world, "Ant");
    let bee = make(&mut world, "Bee");
    // In two compositions: one value.
    let wide = (Wide([1; 20]),).shared(Word("Ant"));
    let other = world.create(wide).unwrap();
    let mut checkpoints = Checkpoints::new(3);
    let taken = checkpoints.take(&mut world).unwrap();
    for panics in [false, true] {
        for gone in [ant, other] {
            world.destroy(gone).unwrap();
        }
        let equal = make(&mut world, "aNT");
        assert_eq!(world.shared::<Word>(equal).unwrap().0, "aNT");
        // What is refused changes none.
        let reserved = world.universe().reserve().unwrap();
        assert_eq!(
            checkpoints.roll_back(&mut world, taken),
            Err(CheckpointError::NotAlone)
        );
        world.universe().release(reserved).unwrap();
        assert_eq!(world.shared::<Word>(equal).unwrap().0, "aNT");
        world.check().unwrap();
        FUSE.set(panics.into());
        let gone_back = catch_unwind(AssertUnwindSafe(|| {
            checkpoints.roll_back(&mut world, taken)
        }));
        assert_eq!(FUSE.replace(0), 0);
        assert_eq!(gone_back.is_err(), panics, "it is dropped once");
        for (one, word) in [(ant, "Ant"), (bee, "Bee"), (other, "Ant")] {
            assert_eq!(world.shared::<Word>(one).unwrap().0, word);
        }
        world.check().unwrap();
        // It is found, and the one that is there.
        let found = make(&mut world, "ANT");
        assert_eq!(world.shared::<Word>(found).unwrap().0, "Ant");
        world.destroy(found).unwrap();
    }
}

#[test]
fn chunks_that_have_gone_or_changed_places_in_great_number_come_back() {
    let mut world = world();
    world.set_chunk_size(1);
    let count = if cfg!(miri) { 3_000 } else { 30_000 };
    let all = world.create_batch((0..count).map(|n| (Wide([n; 20]),)));
    let all = all.unwrap().to_vec(&world);
    let chunks = world.stats().chunks;
    assert!(chunks > 20, "{chunks}");
    let mut checkpoints = Checkpoints::new(4);
    let taken = checkpoints.take(&mut world).unwrap();
    let was = bytes(&world);
    // Those behind come in the place of the first third; and then all go but some in the middle.
    assert!(world.destroy_slice(&all[..all.len() / 3]).is_clean());
    let later = checkpoints.take(&mut world).unwrap();
    let was_later = bytes(&world);
    for &some in all[all.len() / 2..].iter().step_by(100) {
        world.get_mut::<Wide>(some).unwrap().0[3] += 1;
    }
    let end = all.len() / 4 * 3;
    assert!(world.destroy_slice(&all[end..]).is_clean());
    checkpoints.take(&mut world).unwrap();
    assert!(world.destroy_slice(&all[all.len() / 2..end]).is_clean());
    let others = (0..count).map(|n| (Wide([n + 7; 20]), Spot(n)));
    world.create_batch(others).unwrap();
    for (to, was) in [(later, &was_later), (taken, &was)] {
        checkpoints.roll_back(&mut world, to).unwrap();
        world.check().unwrap();
        assert!(bytes(&world) == *was);
    }
}

#[test]
fn a_world_whose_state_is_lent_is_not_kept_and_does_not_go_back() {
    let mut world = world();
    let ant = world.create((Spot(1),)).unwrap();
    world.resources_mut().insert(7_u64);
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    let refused = world.with_resource(|world, score: &mut u64| {
        *score += 1;
        world.get_mut::<Spot>(ant).unwrap().0 = 2;
        let refused = checkpoints.take(world).unwrap_err();
        assert_eq!(checkpoints.roll_back(world, taken), Err(refused.clone()));
        // Nor if another one is in its place.
        world.resources_mut().insert(100_u64);
        assert_eq!(checkpoints.take(world), Err(refused.clone()));
        refused
    });
    let refused = refused.unwrap();
    assert!(
        matches!(&refused, CheckpointError::Lent { name, .. } if &**name == "score"),
        "{refused}"
    );
    assert_eq!(world.resources().get::<u64>(), Some(&8));
    assert_eq!(world.get::<Spot>(ant).unwrap(), &Spot(2));
    // Also where it came back by a panic.
    FUSE.set(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        world.with_resource(|_, _: &mut u64| crate::counted::burn())
    }));
    assert!(panicked.is_err());
    // What is not part of the state may be lent: the checkpoints themselves.
    world.resources_mut().insert(checkpoints);
    let gone_back = world.with_resource(|world, checkpoints: &mut Checkpoints| {
        checkpoints.take(world).unwrap();
        checkpoints.roll_back(world, taken)
    });
    assert_eq!(gone_back, Some(Ok(())));
    assert_eq!(world.resources().get::<u64>(), Some(&7));
    assert_eq!(world.get::<Spot>(ant).unwrap(), &Spot(1));
}

#[test]
fn what_waits_for_a_change_runs_once_after_each_time_that_the_world_went_back() {
    struct Terrain;
    struct Drawn(u32);
    let mut world = world();
    world.resources_mut().insert(Terrain);
    world.resources_mut().insert(Drawn(0));
    let mut schedule = Schedule::new();
    let draw = processor("draw", |_: &Terrain, drawn: &mut Drawn| drawn.0 += 1);
    schedule.add(draw.run_if_changed::<Terrain>());
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    for round in 1..=3 {
        (0..2).for_each(|_| _ = schedule.run(&mut world).unwrap());
        assert_eq!(world.resources().get::<Drawn>().unwrap().0, round);
        checkpoints.roll_back(&mut world, taken).unwrap();
    }
}

#[test]
fn what_is_written_by_closures_goes_back_if_it_can_be_cloned() {
    let mut world = world();
    let written = world.registry().register_written_as(
        "words",
        |words: &String, bytes| bytes.extend(words.as_bytes()),
        |bytes, _| String::from_utf8(bytes.to_vec()),
    );
    written.unwrap();
    let ant = world.create((String::from("ant"),)).unwrap();
    let was = bytes(&world);
    let mut checkpoints = Checkpoints::new(2);
    assert!(matches!(
        checkpoints.take(&mut world),
        Err(CheckpointError::NotCloneable { .. })
    ));
    world.registry().register_clone::<String>().unwrap();
    let taken = checkpoints.take(&mut world).unwrap();
    world.get_mut::<String>(ant).unwrap().push('s');
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert!(bytes(&world) == was);
}
