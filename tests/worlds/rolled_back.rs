//! A game that goes back some ticks, by a snapshot, and comes on again, is the one that never went back: its hash, and
//! each byte of its snapshot. And what parts the two, where a game does not keep to the rules.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::sync::Arc;
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::processor::dynamic_processor_with;

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Spot(i32);
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Trail([u64; 12]);
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Life(u32);
#[derive(Clone, Copy)]
struct Burning;
#[derive(Clone, Copy)]
struct Smoke;
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Team(u32);
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Weather(u32);
/// What a processor looks for changes of.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Weathered(u32);
/// Of all players, for this tick.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(super) struct Input(u32);
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Score {
    bursts: u64,
    deaths: u64,
}

megachunk::plain!(Spot { 0 });
megachunk::plain!(Trail { 0 });
megachunk::plain!(Life { 0 });
megachunk::plain!(Burning {});
megachunk::plain!(Smoke {});
megachunk::plain!(Team { 0 });
megachunk::plain!(Weather { 0 });
megachunk::plain!(Weathered { 0 });
megachunk::plain!(Input { 0 });
megachunk::plain!(Score { bursts, deaths });

const TICK: Duration = Duration::from_millis(50);
/// How many ticks a game goes back at most.
pub(super) const RING: usize = 8;
pub(super) const TICKS: u64 = 12;

fn universe() -> Universe {
    let universe = Universe::ordered();
    let known = universe.registry();
    known.register_plain_as::<Spot>("spot").unwrap();
    known.register_plain_as::<Trail>("trail").unwrap();
    known.register_plain_as::<Life>("life").unwrap();
    known.register_plain_as::<Burning>("burning").unwrap();
    known.register_plain_as::<Smoke>("smoke").unwrap();
    known.register_plain_as::<Shared<Team>>("team").unwrap();
    known
        .register_plain_as::<PerChunk<Weather>>("weather")
        .unwrap();
    known.register_plain_as::<Weathered>("weathered").unwrap();
    known.register_state_as::<Input>("input").unwrap();
    known.register_state_as::<Score>("score").unwrap();
    known.register_state_as::<u32>("burst").unwrap();
    Time::register(known).unwrap();
    universe
}

/// What no file has: the signals that resources name.
fn equip(world: &mut World) {
    let burst = world.signal::<u32>("burst").unwrap();
    world.resources_mut().insert(burst);
}

pub(super) fn start() -> World {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    world.resources_mut().insert(Input::default());
    world.resources_mut().insert(Score::default());
    let bundles = (0..400_u32).map(|n| (Spot(n as i32), Trail([0; 12]), Life(2 + n % 9)));
    let bundles = bundles.map(|bundle| bundle.shared(Team(bundle.2.0 % 3)).per_chunk(Weather(7)));
    world.create_batch(bundles).unwrap();
    equip(&mut world);
    world
}

fn load(bytes: &[u8]) -> World {
    let mut world = World::from_snapshot(bytes, universe(), &Default::default()).unwrap();
    equip(&mut world);
    world
}

/// A number that looks like chance.
fn mixed(of: [u32; 3]) -> u32 {
    let mixed = of.iter().fold(0x9e37_79b9_u64, |mixed, &part| {
        (mixed ^ u64::from(part))
            .wrapping_mul(0xff51_afd7_ed55_8ccd)
            .rotate_left(31)
    });
    (mixed >> 20) as u32
}

pub(super) fn schedule() -> Schedule {
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "steer",
        |mut all: QueryRun<(Entity, &mut Spot, &mut Trail)>, input: &Input, time: &Time| {
            all.par_for_each(|(entity, spot, trail)| {
                trail.0[time.tick as usize % 12] = spot.0 as u64;
                spot.0 += mixed([spot.0 as u32, input.0, entity.index()]) as i32 % 5;
            });
        },
    ));
    schedule.add(
        processor(
            "live",
            |mut all: QueryRun<(Entity, &Spot, &mut Life)>,
             input: &Input,
             burst: &Signal<u32>,
             commands: ParallelCommands,
             signals: ParallelSignals| {
                all.par_for_each_init(
                    |chunk| {
                        let key = chunk.sort_key();
                        (commands.open_at(key), signals.open_at(key))
                    },
                    |(commands, signals), (entity, spot, life)| {
                        life.0 -= 1;
                        let chance = mixed([spot.0 as u32, input.0, entity.version()]);
                        let child = (Spot(spot.0 + 1), Trail([1; 12]), Life(2 + chance / 16 % 9));
                        match chance % 16 {
                            _ if life.0 == 0 => commands.destroy(entity),
                            0 => {
                                _ = commands
                                    .create(child.shared(Team(chance / 16 % 3)))
                                    .unwrap()
                            }
                            1 => _ = commands.create(child.per_chunk(Weather(chance))).unwrap(),
                            // Some are dead by then.
                            2..5 => signals.send_after(*burst, entity, chance, 3 * TICK),
                            5 | 6 => commands.add(entity, (Burning,)).unwrap(),
                            7 => commands.remove::<(Burning,)>(entity).unwrap(),
                            8 => commands
                                .add(entity, ().shared(Team(chance / 16 % 3)))
                                .unwrap(),
                            _ => {}
                        }
                    },
                );
            },
        )
        .phase(Phase::DuringPhysics),
    );
    schedule.add(processor(
        "fade",
        |mut all: QueryRun<(Entity, &mut Life), With<Smoke>>, mut commands: Commands| {
            all.for_each(|(entity, life)| match life.0 {
                0 => commands.destroy(entity),
                _ => life.0 -= 1,
            });
        },
    ));
    schedule.add(observing_processor::<Burning, ()>(
        "smoke",
        Observed::COME,
        |batch, commands| {
            for entity in batch.entities() {
                commands.create((Smoke, Life(entity.index() % 4))).unwrap();
            }
        },
    ));
    schedule.add(observing_processor::<Spot, ()>(
        "count",
        Observed::DESTROY,
        |batch, _| {
            let dead = batch.len() as u64;
            batch.resources_mut().get_mut::<Score>().unwrap().deaths += dead;
        },
    ));
    schedule.add(
        processor(
            "burst",
            |mut all: Signalled<&mut Spot>, burst: &Signal<u32>, score: &mut Score| {
                let _ = all.deliver(|spot, received| {
                    for &by in received.of(*burst) {
                        spot.0 = (spot.0 + by as i32 % 100) % 1_000;
                        score.bursts += 1;
                    }
                });
            },
        )
        .hears::<u32>("burst")
        .phase(Phase::EndPhysics),
    );
    schedule.add(
        exclusive_processor("weather", |world: &mut World| {
            let under = world
                .read::<Entity, With<PerChunk<Weather>>>()
                .unwrap()
                .iter()
                .step_by(50)
                .collect::<Vec<Entity>>();
            for entity in under {
                world.chunk_fragment_mut::<Weather>(entity).unwrap().0 += entity.index();
            }
        })
        .phase(Phase::FrameEnd),
    );
    schedule
}

/// What the players do in a tick, when it is known; and what is guessed before.
pub(super) fn known(tick: u64) -> Input {
    Input(tick as u32 * 7 % 5)
}

pub(super) fn guessed(tick: u64) -> Input {
    Input(90 + tick as u32)
}

pub(super) fn advance(game: &mut Simulation, input: Input) {
    game.world_mut().resources_mut().insert(input);
    let report = game.advance(TICK).unwrap();
    assert_eq!(report.schedule.flush.by_chance, 0);
    // So that those that were sent in this tick are in the file.
    game.world_mut().collect_signals();
}

fn bytes(game: &Simulation) -> Vec<u8> {
    game.world().to_snapshot(&SnapshotOptions::new()).unwrap()
}

pub(super) fn told(game: &Simulation) -> (u64, Vec<u8>) {
    (
        game.world().state_hash(&Default::default()).unwrap(),
        bytes(game),
    )
}

pub(super) fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap()
}

/// After each tick, without going back.
pub(super) fn straight() -> Vec<(u64, Vec<u8>)> {
    let mut game = Simulation::new(start(), schedule());
    let told = (0..TICKS).map(|tick| {
        advance(&mut game, known(tick));
        told(&game)
    });
    let told: Vec<_> = told.collect();
    // All that is to be carried over has happened.
    let score = game.world().resources().get::<Score>().unwrap();
    assert!(
        score.bursts > 50 && score.deaths > 50,
        "{} bursts, {} deaths",
        score.bursts,
        score.deaths
    );
    let smokes = game.world().read::<Entity, With<Smoke>>().unwrap().count();
    assert!(smokes > 0 && game.world().pending().delayed_signals > 0);
    game.world().check().unwrap();
    told
}

#[test]
fn a_game_that_goes_back_and_comes_again_is_the_one_that_never_did() {
    let expected = pool(1).install(straight);
    for threads in [1, 4] {
        pool(threads).install(|| {
            assert!(straight() == expected, "{threads} threads");
            let mut game = Simulation::new(start(), schedule());
            // The state before each of the last ticks, at its number modulo their count.
            let mut ring = vec![Vec::new(); RING];
            for tick in 0..TICKS {
                ring[tick as usize % RING] = bytes(&game);
                advance(&mut game, guessed(tick));
                for back in 1..=(RING as u64).min(tick + 1) {
                    let first = tick + 1 - back;
                    let world = load(&ring[first as usize % RING]);
                    game = Simulation::continuing(world, schedule());
                    assert_eq!(game.tick(), first);
                    for again in first..=tick {
                        assert!(bytes(&game) == ring[again as usize % RING]);
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

/// Observers of which the order decides: each does something else to one number.
fn counting(schedule: &mut Schedule) {
    for (name, factor) in [("late", 3), ("first", 5), ("second", 7)] {
        let count = observing_processor::<Spot, ()>(name, Observed::CREATE, move |batch, _| {
            note(batch, factor);
        });
        schedule.add(count.enabled(name != "late"));
    }
}

fn note(batch: &mut ObservedBatch, factor: u64) {
    let more = batch.len() as u64;
    let score = batch.resources_mut().get_mut::<Score>().unwrap();
    score.bursts = score.bursts.wrapping_mul(factor).wrapping_add(more);
}

/// A script, which knows fragments by their names.
fn drifting(schedule: &mut Schedule) {
    schedule.add(
        dynamic_processor_with(
            "drift",
            |world| -> Result<_, QueryError> {
                let id = |name| world.registry().find(name).unwrap().id();
                let (spot, life) = (id("spot"), id("life"));
                let query = DynamicQuery::builder(world).write(spot).read(life);
                Ok(([query.read_resource::<Input>().build()?], (spot, life)))
            },
            |&(spot, life), mut params| -> ProcessorResult {
                let input = params.resources().read::<Input>()?.0;
                let commands = params.commands();
                for mut chunk in params.runs()[0].chunks() {
                    let mut commands = commands.open_at(chunk.sort_key());
                    let lives = chunk.read(life)?.slice::<Life>()?;
                    let spots = chunk.write(spot)?.slice::<Spot>()?;
                    for (spot, life) in spots.iter_mut().zip(lives) {
                        spot.0 += mixed([spot.0 as u32, input, life.0]) as i32 % 3;
                        if spot.0 % 31 == 0 {
                            commands.create((*spot, Life(life.0 + 1)))?;
                        }
                    }
                }
                Ok(())
            },
        )
        .phase(Phase::StartPhysics),
    );
}

/// Observers are called in one order, and scripts find their queries, in the world that never goes back and in those that
/// come out of snapshots, of universes of their own.
#[test]
fn a_game_with_scripts_and_late_observers_is_the_one_that_never_went_back() {
    let begin = || {
        let mut schedule = schedule();
        counting(&mut schedule);
        drifting(&mut schedule);
        Simulation::new(start(), schedule)
    };
    let observe = |world: &mut World| {
        let own = |batch: &mut ObservedBatch, _: &mut Commands| note(batch, 11);
        world.observe::<Spot, ()>(Observed::CREATE, own).unwrap();
    };
    // Someone comes late, on the world and in the schedule, in the middle of the game.
    let play = |game: &mut Simulation, tick, input| {
        if tick == 2
            && game
                .world()
                .observers()
                .all(|info| info.processor.is_some())
        {
            observe(game.world_mut());
        }
        let late = game.schedule_mut().set_enabled("late", tick >= 2);
        late.unwrap();
        advance(game, input);
    };
    let (mut straight, mut game) = (begin(), begin());
    let mut ring = vec![Vec::new(); RING];
    for tick in 0..TICKS {
        play(&mut straight, tick, known(tick));
        ring[tick as usize % RING] = bytes(&game);
        play(&mut game, tick, guessed(tick));
        let first = tick.saturating_sub(3).max(2.min(tick));
        let mut world = load(&ring[first as usize % RING]);
        if first >= 2 {
            observe(&mut world);
        }
        drop(game.roll_back_to(world));
        for again in first..=tick {
            ring[again as usize % RING] = bytes(&game);
            play(&mut game, again, known(again));
        }
        assert!(told(&game) == told(&straight), "tick {tick}");
    }
    let bursts = |game: &Simulation| game.world().resources().get::<Score>().unwrap().bursts;
    assert_eq!(bursts(&game), bursts(&straight));
    assert!(game.world().count() > 500, "{}", game.world().count());
}

#[test]
fn handles_that_were_given_after_the_saved_tick_are_given_again() {
    let mut game = Simulation::new(start(), schedule());
    advance(&mut game, known(0));
    let saved = bytes(&game);
    let all = |game: &Simulation| {
        let mut all = game.world().read::<Entity, ()>().unwrap();
        all.iter().collect::<Vec<Entity>>()
    };
    let before = all(&game);
    let mut by_input = [known(1), guessed(1)].map(|input| {
        game = Simulation::continuing(load(&saved), schedule());
        assert_eq!(all(&game), before);
        advance(&mut game, input);
        let mut new = all(&game);
        new.retain(|entity| !before.contains(entity));
        new
    });
    let [known, guessed] = &mut by_input;
    known.retain(|entity| guessed.contains(entity));
    assert!(!known.is_empty(), "one handle, and two who have it");
}

/// Whether a game with one more processor is another one when it has gone back by two of six ticks.
fn parts(more: fn(&mut Schedule), equip: fn(&mut World)) -> bool {
    let make = |mut world: World, continues: bool| {
        equip(&mut world);
        let mut schedule = schedule();
        more(&mut schedule);
        match continues {
            true => Simulation::continuing(world, schedule),
            false => Simulation::new(world, schedule),
        }
    };
    let mut game = make(start(), false);
    let mut saved = Vec::new();
    for tick in 0..6 {
        if tick == 4 {
            saved = bytes(&game);
        }
        advance(&mut game, known(tick));
    }
    let mut again = make(load(&saved), true);
    (4..6).for_each(|tick| advance(&mut again, known(tick)));
    told(&game) != told(&again)
}

#[test]
fn what_no_file_has_parts_a_game_that_goes_back() {
    let nothing: fn(&mut World) = |_| ();
    assert!(!parts(|_| (), nothing));
    type Add = fn(&mut Schedule);
    type Change = fn(&mut World);
    let rules: [(&str, Add, Change); 7] = [
        (
            "a value that a processor keeps",
            |schedule| {
                let keeps = |mut runs: Local<u64>, score: &mut Score| {
                    *runs += 1;
                    score.bursts += *runs;
                };
                schedule.add(processor("keeps", keeps));
            },
            |_| (),
        ),
        (
            "a value that a closure keeps",
            |schedule| {
                let mut runs = 0;
                let keeps = move |score: &mut Score| {
                    runs += 1;
                    score.bursts += runs;
                };
                schedule.add(processor("keeps", keeps));
            },
            |_| (),
        ),
        (
            "what has changed",
            |schedule| {
                let count = |mut new: QueryRun<&Weathered, Changed<Weathered>>,
                             score: &mut Score| {
                    score.bursts += new.count() as u64;
                };
                schedule.add(processor("count changes", count));
            },
            |world| {
                // Written once, long before.
                if world.read::<&Weathered, ()>().unwrap().count() == 0 {
                    world.create((Weathered(1),)).unwrap();
                }
            },
        ),
        (
            "a signal that is heard in the next tick",
            |schedule| {
                let send = |mut all: QueryRun<Entity, With<Burning>>,
                            mut signals: Signals,
                            burst: &Signal<u32>| {
                    for entity in all.iter() {
                        signals.send(*burst, entity, 50);
                    }
                };
                schedule.add(processor("send late", send).phase(Phase::FrameEnd));
            },
            |_| (),
        ),
        (
            "what is done at the start",
            |schedule| {
                let starts = |world: &mut World| {
                    world.resources_mut().get_mut::<Score>().unwrap().bursts += 1;
                };
                schedule.add(processor("starts", || {}).on_start(starts));
            },
            |_| (),
        ),
        (
            "an observer that is shown who is there",
            |schedule| {
                let shown =
                    observing_processor::<Spot, ()>("shown", Observed::CREATE, |batch, _| {
                        let come = batch.len() as u64;
                        batch.resources_mut().get_mut::<Score>().unwrap().bursts += come;
                    });
                schedule.add(shown.show_existing());
            },
            |_| (),
        ),
        (
            "rounds of a flush",
            |schedule| {
                // What the observer records then, of smoke, comes with this tick or with the next.
                let kindle = |mut cold: QueryRun<Entity, (With<Spot>, Without<Burning>)>,
                              mut commands: Commands| {
                    let one = cold.iter().next().expect("not all burn");
                    commands.add(one, (Burning,)).unwrap();
                };
                let kindle = processor("kindle", kindle).phase(Phase::FrameEnd);
                schedule.add(kindle.after("weather"));
            },
            |world| {
                if world.resources().get::<Time>().is_none() {
                    world.set_flush_rounds(1);
                }
            },
        ),
    ];
    for (what, more, equip) in rules {
        assert!(parts(more, equip), "{what}");
    }
}
