//! Worlds on several threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use megachunk::prelude::*;

use crate::rows::Asleep;

#[test]
fn a_world_may_go_to_another_thread_and_be_read_by_many() {
    let mut world = World::new();
    let ants: Vec<_> = (0..1_000_u32)
        .map(|n| world.create((n, n.to_string())).unwrap())
        .collect();
    let world = std::thread::spawn(move || {
        for &ant in ants.iter().step_by(2) {
            world.destroy(ant).unwrap();
        }
        world
            .create_batch((0..1_000_u32).map(|n| (n, n.to_string())))
            .unwrap();
        world
    })
    .join()
    .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut sum = 0;
                let mut all = world.read::<(&u32, &String), ()>().unwrap();
                all.for_each(|(n, text)| {
                    assert_eq!(n.to_string(), *text);
                    sum += u64::from(*n);
                });
                assert_eq!(sum, 999 * 1_000 / 2 + 500 * 500);
            });
        }
    });
}

#[test]
fn two_worlds_on_one_universe_change_on_two_threads_while_each_asks_for_the_others_entities() {
    let universe = Arc::new(Universe::new());
    let handles = std::sync::Mutex::new(Vec::<(u8, Entity)>::new());
    std::thread::scope(|scope| {
        for number in 0..2_u8 {
            let (universe, handles) = (&universe, &handles);
            scope.spawn(move || {
                let mut world = World::of(universe).unwrap();
                let mut mine = Vec::new();
                for round in 0..3_000_u32 {
                    let entity = world.create((number, round.to_string())).unwrap();
                    mine.push((entity, round));
                    handles.lock().unwrap().push((number, entity));
                    if round % 3 == 0 {
                        let (entity, _) = mine.swap_remove(round as usize % mine.len());
                        world.add(entity, (Asleep,)).unwrap();
                        world.destroy(entity).unwrap();
                    }
                    if round % 16 == 0 {
                        let others: Vec<_> = handles
                            .lock()
                            .unwrap()
                            .iter()
                            .rev()
                            .take(64)
                            .copied()
                            .collect();
                        for (owner, entity) in others {
                            match world.get::<u8>(entity) {
                                Ok(found) => assert!(*found == number && owner == number),
                                Err(WorldError::Elsewhere { .. }) => assert_ne!(owner, number),
                                Err(WorldError::Entity(_)) => {}
                                Err(error) => panic!("{error}"),
                            }
                        }
                    }
                }
                for (entity, round) in mine {
                    assert_eq!(world.get::<String>(entity).unwrap(), &round.to_string());
                }
            });
        }
    });
    assert_eq!(universe.count(), 0);
}

/// Says that all is over, however it ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_id_is_never_without_its_row_while_a_batch_is_created() {
    const BATCH: u32 = 4_000;
    // Another thread guesses handles and tries to build them in another world: none can be had.
    let universe = Arc::new(Universe::new());
    let (mut land, mut sea) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
    // A slot has a life in each round, if those of a batch are those of the one before; odd while it is created.
    let (over, state) = (AtomicBool::new(false), AtomicU32::new(0));
    let seen_at_birth = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let guesser = scope.spawn(|| {
            let mut guess = 0;
            while !over.load(Ordering::Relaxed) {
                guess = (guess + 1) % BATCH;
                let before = state.load(Ordering::SeqCst);
                for life in (before / 2).saturating_sub(1)..=before / 2 + 1 {
                    let entity = Entity::new(guess, 2 * life + 1).unwrap();
                    let built = sea.build(entity, (0_u8,));
                    let lives = match built {
                        Err(WorldError::AlreadyBuilt { .. }) => true,
                        Err(WorldError::Entity(_)) => false,
                        _ => panic!("{entity} was reserved: {built:?}"),
                    };
                    assert!(sea.release(entity).is_err());
                    let creating = before % 2 == 1 && state.load(Ordering::SeqCst) == before;
                    // Nothing else lives then.
                    if lives && creating {
                        seen_at_birth.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        let _over = Over(&over);
        // Until some guess was one of a batch that was just being created, where threads come to run seldom.
        for round in 0.. {
            assert!(round < 20_000, "no guess fell into a round");
            state.store(2 * round + 1, Ordering::SeqCst);
            let batch = land.create_batch((0..BATCH).map(|n| (n,))).unwrap();
            state.store(2 * round + 2, Ordering::SeqCst);
            assert!(
                batch
                    .iter(&land)
                    .zip(0..)
                    .all(|(ant, n)| land.get::<u32>(ant).ok() == Some(&n))
            );
            land.clear();
            if guesser.is_finished() || round >= 40 && seen_at_birth.load(Ordering::Relaxed) > 0 {
                break;
            }
        }
    });
}
