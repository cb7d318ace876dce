//! Processors side by side: nobody touches what another is at, orders are kept, and the world after a run is the
//! same for any number of threads.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::processor::Target;
use megachunk::query::{Access, DynamicChunk, Enabled};
use megachunk::world::{Universe, Version};
use rayon::ThreadPool;

use crate::pool;

/// A small generator, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

fn seeds(default: u64) -> u64 {
    std::env::var("MEGACHUNK_SCHEDULE_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(default)
}

/// A value that finds out who is at it: readers count up, a writer counts a thousand.
macro_rules! guarded {
    ($($name:ident)*) => {
        $(#[derive(Default)]
        struct $name(AtomicU32);

        impl $name {
            fn read(&self) {
                assert!(self.0.fetch_add(1, Ordering::Relaxed) < 1_000, "somebody writes it");
                std::hint::spin_loop();
                self.0.fetch_sub(1, Ordering::Relaxed);
            }

            fn write(&mut self) {
                // Not by `&mut` alone: that would hide what is to be found.
                assert_eq!(self.0.fetch_add(1_000, Ordering::Relaxed), 0, "somebody has it");
                std::hint::spin_loop();
                self.0.fetch_sub(1_000, Ordering::Relaxed);
            }
        })*
    };
}

guarded!(A B C D);
struct Tag;

/// What the processors of a random schedule touch, by number.
fn toucher(kind: u32, name: String) -> ProcessorBuilder {
    match kind {
        0 => processor(name, |mut rows: QueryRun<&mut A>| {
            rows.for_each(|a| a.write())
        }),
        1 => processor(name, |mut rows: QueryRun<&A>| rows.for_each(|a| a.read())),
        2 => processor(name, |mut rows: QueryRun<(&A, &mut B)>| {
            rows.for_each(|(a, b)| (a.read(), b.write()).0);
        }),
        3 => processor(name, |mut rows: QueryRun<(&mut A, &C), With<Tag>>| {
            rows.for_each(|(a, c)| (a.write(), c.read()).0);
        }),
        4 => processor(name, |mut rows: QueryRun<&mut A, Without<Tag>>| {
            rows.par_for_each(|a| a.write());
        }),
        5 => processor(name, |mut rows: QueryRun<(&mut C, Option<&B>)>| {
            rows.for_each(|(c, b)| {
                c.write();
                b.iter().for_each(|b| b.read());
            });
        }),
        6 => processor(name, |mut rows: QueryRun<(&B, &C)>, d: &D| {
            d.read();
            rows.for_each(|(b, c)| (b.read(), c.read()).0);
        }),
        7 => processor(name, |d: &mut D, mut rows: QueryRun<&mut B, With<Tag>>| {
            d.write();
            rows.for_each(|b| b.write());
        }),
        8 => processor(name, |d: Option<&mut D>| {
            d.into_iter().for_each(|d| d.write())
        }),
        _ => exclusive_processor(name, |world: &mut World| {
            let run = world.query::<&mut A, ()>();
            run.expect("it is right").for_each(|a| a.write());
        }),
    }
}

/// The same by queries that are put together at run time, but for the last two kinds.
fn scripted(kind: u32, name: String, world: &World) -> ProcessorBuilder {
    let registry = world.registry();
    let a = registry.register::<A>().expect("it may").id();
    let b = registry.register::<B>().expect("it may").id();
    let c = registry.register::<C>().expect("it may").id();
    let tag = registry.register::<Tag>().expect("it may").id();
    let query = DynamicQuery::builder(world);
    let query = match kind {
        0 => query.write(a),
        1 => query.read(a),
        2 => query.read(a).write(b),
        3 => query.write(a).read(c).with(tag),
        4 => query.write(a).without(tag),
        5 => query.write(c).optional(b, Access::Read),
        6 => query.read(b).read(c).read_resource::<D>(),
        7 => query.write(b).with(tag).write_resource::<D>(),
        8 => query.optional(a, Access::Write).optional(c, Access::Read),
        _ => query.any(&[b, c]).optional(a, Access::Read),
    };
    let query = query.build().expect("it is right");
    dynamic_processor(name, [query], move |mut params| {
        if let Ok(d) = params.resources().write::<D>() {
            d.write();
        } else if let Ok(d) = params.resources().read::<D>() {
            d.read();
        }
        let each = |mut chunk: DynamicChunk| {
            touch(&mut chunk, a, A::read, A::write);
            touch(&mut chunk, b, B::read, B::write);
            touch(&mut chunk, c, C::read, C::write);
        };
        match kind {
            4 => params.runs()[0].par_for_each_chunk(each),
            _ => params.runs()[0].for_each_chunk(each),
        }
    })
}

/// Touches the values of a fragment as the query has asked for them, if it has.
fn touch<T: Fragment>(chunk: &mut DynamicChunk, id: FragmentId, read: fn(&T), write: fn(&mut T)) {
    if let Ok(values) = chunk.write(id) {
        let values = values.slice::<T>().expect("it is their type");
        values.iter_mut().for_each(write);
    } else if let Ok(values) = chunk.read(id) {
        let values = values.slice::<T>().expect("it is their type");
        values.iter().for_each(read);
    }
}

fn guarded_world() -> World {
    let mut world = World::new();
    world.resources_mut().insert(D::default());
    for tagged in [false, true] {
        for parts in 1..8_u32 {
            for _ in 0..40 {
                let entity = world.create(()).expect("there is room");
                if parts & 1 != 0 {
                    world.add(entity, (A::default(),)).expect("it lives");
                }
                if parts & 2 != 0 {
                    world.add(entity, (B::default(),)).expect("it lives");
                }
                if parts & 4 != 0 {
                    world.add(entity, (C::default(),)).expect("it lives");
                }
                if tagged {
                    world.add(entity, (Tag,)).expect("it lives");
                }
            }
        }
    }
    world
}

#[test]
fn no_two_processors_are_at_one_value_if_one_writes_it() {
    let pool = pool(4);
    for seed in 1..=seeds(60) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut schedule = Schedule::new();
        let mut world = guarded_world();
        schedule.set_execution(Execution::Beside);
        let count = 2 + random.below(24);
        for number in 0..count {
            let kind = if random.below(20) == 0 {
                9
            } else {
                random.below(9)
            };
            let name = format!("p{number}");
            let mut processor = match random.below(3) {
                0 => scripted(kind, name, &world),
                _ => toucher(kind, name),
            };
            if number > 0 && random.below(4) == 0 {
                processor = processor.after(format!("p{}", random.below(number)));
            }
            if random.below(8) == 0 {
                processor = processor.main_thread();
            }
            schedule.add(processor);
        }
        pool.install(|| {
            for _ in 0..4 {
                schedule
                    .run(&mut world)
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        });
    }
}

/// When a processor began and ended.
#[derive(Clone, Copy, Default)]
struct Stay {
    began: u64,
    ended: u64,
}

#[test]
fn every_order_that_was_asked_for_is_kept_whatever_runs_beside() {
    let pool = pool(4);
    for seed in 1..=seeds(60) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let count = 2 + random.below(40) as usize;
        let clock = Arc::new(AtomicU64::new(1));
        let stays = Arc::new(Mutex::new(vec![Stay::default(); count]));
        let mut orders = Vec::new();
        let groups: Vec<Option<u32>> = (0..count)
            .map(|_| (random.below(3) == 0).then(|| random.below(3)))
            .collect();
        let mut schedule = Schedule::new();
        schedule.set_execution(Execution::Beside);
        for number in 0..count {
            let (clock, stays) = (Arc::clone(&clock), Arc::clone(&stays));
            let mut timed = processor(format!("p{number}"), move || {
                let began = clock.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                let ended = clock.fetch_add(1, Ordering::SeqCst);
                stays.lock().expect("nobody panicked")[number] = Stay { began, ended };
            });
            if let Some(group) = groups[number] {
                timed = timed.group(format!("G.{group}"));
            }
            for _ in 0..random.below(3) {
                // Only against those with lower numbers that are in no group: no cycles.
                let other = random.below(count as u32) as usize;
                if other < number && groups[other].is_none() {
                    timed = timed.after(format!("p{other}"));
                    orders.push((other, number));
                }
            }
            if groups[number].is_none() && random.below(6) == 0 {
                let group = random.below(3);
                let members: Vec<usize> =
                    (0..count).filter(|&at| groups[at] == Some(group)).collect();
                // After a group whose members are all earlier.
                if !members.is_empty() && members.iter().all(|&member| member < number) {
                    timed = timed.after(format!("G.{group}"));
                    orders.extend(members.iter().map(|&member| (member, number)));
                }
            }
            let timed = if random.below(10) == 0 {
                timed.main_thread()
            } else {
                timed
            };
            schedule.add(timed);
        }
        let mut world = World::new();
        pool.install(|| {
            for _ in 0..3 {
                schedule
                    .run(&mut world)
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                let stays = stays.lock().expect("nobody panicked");
                for &(before, after) in &orders {
                    assert!(
                        stays[before].ended < stays[after].began,
                        "seed {seed}: p{before} is before p{after}"
                    );
                }
            }
        });
    }
}

#[derive(Clone, Copy)]
struct Energy(u32);
megachunk::plain!(Energy { 0 });
/// Whom an entity has created.
#[derive(Clone, Copy)]
struct Child(Entity);
megachunk::plain!(Child { 0 });
struct Marked;
/// Can be switched off.
struct Awake;
/// What happened, in order.
#[derive(Default)]
struct Tally(u64);

impl Tally {
    fn note(&mut self, number: u64) {
        self.0 = self.0.wrapping_mul(31).wrapping_add(number);
    }
}

/// A world with processors that create, destroy and change, alone and chunk by chunk, and send signals.
fn busy_schedule(seed: u64, world: &World) -> Schedule {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut schedule = Schedule::new();
    let spark = world.signal::<u32>("spark").expect("it is new");
    let mut phase_of = std::collections::HashMap::new();
    for number in 0..4 + random.below(8) {
        let name = format!("p{number}");
        let phase = Phase::ALL[random.below(Phase::ALL.len() as u32) as usize];
        let salt = random.below(1_000);
        let processor = match random.below(12) {
            0 => processor(
                name,
                move |mut rows: QueryRun<(Entity, &Energy)>, commands: ParallelCommands| {
                    rows.par_for_each_chunk(|chunk, (entities, energies)| {
                        let mut commands = commands.open_at(chunk.sort_key());
                        for (&entity, energy) in entities.iter().zip(energies) {
                            if (energy.0 ^ salt).is_multiple_of(5) {
                                let child = commands.create((Energy(energy.0 / 2),));
                                let child = child.expect("there is room");
                                commands.add(entity, (Child(child),)).expect("it may");
                            } else if (energy.0 ^ salt).is_multiple_of(7) {
                                commands.destroy(entity);
                            }
                        }
                    });
                },
            ),
            1 => processor(name, move |mut rows: QueryRun<&mut Energy>| {
                rows.par_for_each(|energy| {
                    energy.0 = energy.0.wrapping_mul(31).wrapping_add(salt) % 4_096
                });
            }),
            2 => processor(
                name,
                move |mut rows: QueryRun<(Entity, &Energy), Without<Marked>>,
                      mut commands: Commands| {
                    rows.for_each(|(entity, energy)| {
                        if energy.0.is_multiple_of(3) {
                            commands.add(entity, (Marked,)).expect("it may");
                        }
                    });
                    let energies = (0..20).map(|n| (Energy(n * salt),));
                    let _ = commands.create_batch(energies).expect("there is room");
                },
            ),
            3 => processor(
                name,
                move |mut rows: QueryRun<Entity, With<Marked>>,
                      mut commands: Commands,
                      mut signals: Signals| {
                    rows.for_each(|entity| {
                        commands.remove::<(Marked,)>(entity).expect("it may");
                        signals.send(spark, entity, salt);
                    });
                },
            ),
            4 => processor(
                name,
                move |mut sparks: Signalled<(Entity, &mut Energy)>, mut commands: Commands| {
                    let _ = sparks.deliver(|(entity, energy), received| {
                        energy.0 = (energy.0 + received.of(spark).sum::<u32>()) % 4_096;
                        if energy.0.is_multiple_of(11) {
                            commands.destroy(entity);
                        }
                    });
                },
            )
            .hears::<u32>("spark"),
            5 => processor(
                name,
                move |mut changed: QueryRun<(Entity, &mut Energy), Changed<Energy>>| {
                    changed.for_each(|(_, energy)| energy.0 = (energy.0 + 1) % 4_096);
                },
            ),
            kind => quiet(kind, name, salt),
        };
        let mut processor = processor.phase(phase).priority(random.below(3) as i32);
        if number > 0 && random.below(4) == 0 {
            // Perhaps of another phase: then it says nothing.
            let before = format!("p{}", random.below(number));
            processor = processor.after(match random.below(2) {
                0 if phase_of[&before] == phase => Target::from(before).flushed(),
                _ if phase_of[&before] <= phase => Target::from(before),
                _ => Target::from("nobody").optional(),
            });
        }
        if random.below(6) == 0 {
            processor = processor.main_thread();
        }
        phase_of.insert(format!("p{number}"), phase);
        schedule.add(processor);
    }
    schedule.add(observing_processor::<Marked, ()>(
        "marked",
        megachunk::observer::Observed::ADD,
        |batch, commands| {
            let mut sum = 0;
            let lent = batch.for_each::<&mut Energy>(|energy| {
                energy.0 += 1;
                sum += energy.0;
            });
            lent.expect("it is there");
            commands
                .create((Energy(sum % 4_096), Awake))
                .expect("there is room");
            let tally = batch.resources_mut().get_mut::<Tally>();
            tally.expect("it is there").note(u64::from(sum));
        },
    ));
    schedule
}

/// Processors that create and destroy nothing, or have the world to themselves.
fn quiet(kind: u32, name: String, salt: u32) -> ProcessorBuilder {
    match kind {
        6 => exclusive_processor(name, move |world: &mut World| {
            let mut first = None;
            let run = world.query::<(Entity, &mut Energy), ()>();
            run.expect("it is right").for_each(|(entity, energy)| {
                energy.0 ^= salt & 1;
                first = first.or(Some(entity));
            });
            world.create((Energy(salt),)).expect("there is room");
            if let Some(first) = first {
                world.destroy(first).expect("it lives");
            }
        }),
        7 => processor(
            name,
            move |mut parents: QueryRun<&Child>, mut energies: QueryLookup<&mut Energy>| {
                parents.for_each(|child| {
                    if let Ok(energy) = energies.get_mut(child.0) {
                        energy.0 = (energy.0 * 3 + salt) % 4_096;
                    }
                });
            },
        ),
        8 => processor(
            name,
            move |mut rows: QueryRun<(&Energy, Enabled<Awake>)>| {
                rows.par_for_each(|(energy, awake)| {
                    awake.set(!(energy.0 ^ salt).is_multiple_of(3));
                });
            },
        ),
        9 => processor(
            name,
            |mut rows: QueryRun<&mut Energy, With<Awake>>, tally: &mut Tally| {
                let mut sum = 0;
                rows.for_each(|energy| {
                    energy.0 = (energy.0 + 2) % 4_096;
                    sum += u64::from(energy.0);
                });
                tally.note(sum);
            },
        ),
        10 => processor(
            name,
            |mut rows: QueryRun<&Energy, (Without<Awake>, Changed<Energy>)>, tally: &mut Tally| {
                tally.note(rows.iter().map(|energy| u64::from(energy.0)).sum());
            },
        ),
        _ => processor(
            name,
            move |mut rows: QueryRun<&Energy>, commands: ParallelCommands| {
                let count = rows.count() as u32;
                let mut commands = commands.open();
                for n in 0..count % 7 {
                    commands
                        .create((Energy(n * salt), Awake))
                        .expect("there is room");
                }
                commands.defer(move |world| {
                    let tally = world.resources_mut().get_mut::<Tally>();
                    tally.expect("it is there").note(u64::from(salt));
                });
            },
        ),
    }
}

/// What is left after some frames.
#[derive(PartialEq)]
struct Left {
    hash: u64,
    rows: Vec<(Entity, u32)>,
    version: Version,
    tally: u64,
    reports: Vec<String>,
}

fn left(seed: u64, execution: Execution) -> Left {
    let universe = Arc::new(Universe::ordered());
    let mut world = World::of(&universe).expect("it is the first");
    world.set_chunk_size(1);
    let registry = world.registry();
    registry.register_plain::<Energy>().expect("there is room");
    registry.register_plain::<Child>().expect("there is room");
    registry
        .register_enableable::<Awake>()
        .expect("there is room");
    world.resources_mut().insert(Tally::default());
    let _ = world
        .create_batch((0..2_000).map(|n| (Energy(n),)))
        .expect("there is room");
    let _ = world
        .create_batch((0..1_000).map(|n| (Energy(n), Awake)))
        .expect("there is room");
    let mut schedule = busy_schedule(seed, &world);
    schedule.set_execution(execution);
    let mut reports = Vec::new();
    for _ in 0..6 {
        let report = schedule
            .run(&mut world)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(
            report.flush.by_chance, 0,
            "seed {seed}: all ids are the schedule's"
        );
        reports.push(format!("{report:?}"));
        world
            .check()
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    let mut rows = world.query::<(Entity, &Energy), ()>().expect("it is right");
    let rows = rows.iter().map(|(entity, energy)| (entity, energy.0));
    let rows = rows.collect();
    let tally = world.resources().get::<Tally>();
    Left {
        hash: world.state_hash(&Default::default()).expect("all is plain"),
        rows,
        version: world.version(),
        tally: tally.expect("it is there").0,
        reports,
    }
}

#[test]
fn the_world_after_some_frames_is_the_same_for_any_number_of_threads() {
    let pools: Vec<ThreadPool> = [1, 2, 3, 4, 8].map(pool).into();
    let mut changed = 0;
    for seed in 1..=seeds(12) {
        let expected = left(seed, Execution::Alone);
        changed += usize::from(expected.rows.len() != 3_000);
        for (pool, execution) in pools
            .iter()
            .flat_map(|pool| [(pool, Execution::Beside), (pool, Execution::Auto)])
        {
            let threads = pool.current_num_threads();
            let found = pool.install(|| left(seed, execution));
            let what = format!("seed {seed}, {threads} threads, {execution:?}");
            assert_eq!(found.reports, expected.reports, "{what}");
            assert_eq!(found.tally, expected.tally, "{what}");
            assert_eq!(found.version, expected.version, "{what}");
            assert_eq!(found.hash, expected.hash, "{what}");
            assert!(found == expected, "{what}: rows differ");
        }
    }
    assert!(changed > 0, "some schedule creates or destroys");
}

/// Holds all threads of the global pool until it is dropped. There is one at a time: two would wait for each other.
struct Held(
    Arc<AtomicU32>,
    #[expect(dead_code, reason = "it is dropped")] std::sync::MutexGuard<'static, ()>,
);

static HOLDING: Mutex<()> = Mutex::new(());

impl Held {
    fn new() -> Self {
        let alone = HOLDING
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let held = Arc::new(AtomicU32::new(1));
        let threads = rayon::current_num_threads();
        let came = Arc::new(std::sync::Barrier::new(threads + 1));
        for _ in 0..threads {
            let (held, came) = (Arc::clone(&held), Arc::clone(&came));
            rayon::spawn(move || {
                came.wait();
                while held.load(Ordering::Relaxed) != 0 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
        }
        came.wait();
        Self(held, alone)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[test]
fn a_run_waits_for_no_thread_of_a_pool_that_has_no_time() {
    let held = Held::new();
    let (done, told) = std::sync::mpsc::channel();
    let frames = std::thread::spawn(move || {
        let mut world = guarded_world();
        let mut schedule = Schedule::new();
        for number in 0..40 {
            let added = toucher(number % 10, format!("p{number}"));
            schedule.add(match number % 7 {
                0 => added.main_thread(),
                _ => added,
            });
        }
        for execution in [Execution::Beside, Execution::Auto] {
            schedule.set_execution(execution);
            for _ in 0..200 {
                schedule.run(&mut world).expect("it runs");
            }
        }
        done.send(()).expect("somebody listens");
    });
    let found = told.recv_timeout(std::time::Duration::from_secs(60));
    drop(held);
    assert!(found.is_ok(), "it waits for the pool");
    frames.join().expect("it does not panic");
}

#[test]
fn a_world_is_loaded_and_hashed_though_the_pool_has_no_time() {
    let mut world = World::new();
    world.registry().register_plain::<u32>().expect("it is new");
    let all = world.create_batch((0..300_000_u32).map(|n| (n,)));
    let _ = all.expect("there is room");
    let expected = world.state_hash(&Default::default()).expect("it is plain");
    let saved = world.to_snapshot(&Default::default()).expect("it is plain");
    let held = Held::new();
    let (done, told) = std::sync::mpsc::channel();
    let loads = std::thread::spawn(move || {
        let universe = Universe::new();
        universe
            .registry()
            .register_plain::<u32>()
            .expect("it is new");
        let loaded =
            World::from_snapshot(&saved, universe, &Default::default()).expect("it is whole");
        let nobody = Default::default();
        let copy =
            World::from_snapshot_remapped(&saved, loaded.universe(), &nobody, &Default::default());
        assert_eq!(copy.expect("there is room").0.count(), 300_000);
        let hash = loaded.state_hash(&Default::default()).expect("it is plain");
        done.send(hash).expect("somebody listens");
    });
    let found = told.recv_timeout(std::time::Duration::from_secs(60));
    drop(held);
    assert_eq!(found, Ok(expected), "it waits for the pool");
    loads.join().expect("it does not panic");
}

#[test]
fn worlds_of_an_app_advance_though_the_pool_has_no_time() {
    let held = Held::new();
    let (done, told) = std::sync::mpsc::channel();
    let frames = std::thread::spawn(move || {
        let mut app = App::new();
        for number in 0..3 {
            app.add(
                format!("world {number}"),
                Simulation::new(World::new(), Schedule::new()),
            );
        }
        app.update(std::time::Duration::from_millis(20))
            .expect("all advance");
        done.send(()).expect("somebody listens");
    });
    let found = told.recv_timeout(std::time::Duration::from_secs(60));
    drop(held);
    assert!(found.is_ok(), "it waits for the pool");
    frames.join().expect("it does not panic");
}
