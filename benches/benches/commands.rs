//! Recorders and a flush: of a million entities, beside a memset of as many bytes by the same threads; and of few
//! commands, as a frame has them, beside the same changes made at once, and beside other stores.
//!
//! `cargo bench --package megachunk-benches --bench commands`
//!
//! Memory is there from the round before. No allocator that writes values where they stay can do with less than to write
//! them: how much more than that it takes is what is shown.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use megachunk::cli::measure::{Pool, provide_processors};
use megachunk::cli::workload::ecs::{EcsWorkload, Size};
use megachunk::prelude::*;
use megachunk_benches::{Course, registry, thread_counts};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

const ENTITIES: u32 = 1_000_000;

/// Four fragments of 100 bytes, as in `deferred_spawn`.
type Body = (Transform, Position, Rotation, Velocity);
struct Transform(#[expect(dead_code, reason = "written, not read")] [f32; 16]);
struct Position(#[expect(dead_code, reason = "written, not read")] [f32; 3]);
struct Rotation(#[expect(dead_code, reason = "written, not read")] [f32; 3]);
struct Velocity(#[expect(dead_code, reason = "written, not read")] [f32; 3]);

/// Bytes that an entity takes, with its handle.
const BYTES: usize = size_of::<Body>() + size_of::<Entity>();

fn body(number: u32) -> Body {
    let number = number as f32;
    (
        Transform([number; 16]),
        Position([1.0; 3]),
        Rotation([2.0; 3]),
        Velocity([number; 3]),
    )
}

/// Records and flushes, on the threads of the pool that this one belongs to.
fn create(world: &mut World) {
    let threads = rayon::current_num_threads() as u32;
    let each = ENTITIES.div_ceil(threads);
    let recorders = world.parallel_commands();
    (0..threads).into_par_iter().for_each(|thread| {
        let mut commands = recorders.open_at(thread.into());
        for number in thread * each..ENTITIES.min((thread + 1) * each) {
            commands
                .create(body(number))
                .expect("there is room for a million");
        }
    });
    assert!(world.flush().is_clean());
}

fn fill(memory: &mut [u8], value: u8) {
    let each = memory.len().div_ceil(rayon::current_num_threads());
    memory
        .par_chunks_mut(each)
        .for_each(|part| part.fill(value));
}

/// The time of so many rounds, of each a million, on a thread of the pool; what comes `after` one is not timed.
fn time<S: Send>(
    pool: &ThreadPool,
    rounds: u64,
    state: &mut S,
    round: impl Fn(&mut S) + Sync,
    after: impl Fn(&mut S) + Sync,
) -> Duration {
    provide_processors(pool);
    pool.install(|| {
        let mut took = Duration::ZERO;
        for _ in 0..rounds {
            let begin = Instant::now();
            round(state);
            took += begin.elapsed();
            after(state);
        }
        took
    })
}

/// What comes and goes.
struct Burning(#[expect(dead_code, reason = "written, not read")] f32);

/// So many entities, of which few change.
const CROWD: u32 = 100_000;

/// Time what is paid for recorders that record nothing, as most do in most frames.
fn nothing_recorded(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nothing_recorded");
    let mut world = World::new();
    group.bench_function("open_and_flush", |bencher| {
        bencher.iter(|| {
            drop(world.commands());
            world.flush()
        });
    });
    for processors in [1_u32, 4, 16] {
        let mut schedule = Schedule::new();
        for number in 0..processors {
            schedule.add(processor(format!("{number}"), |_: Commands<'_>| {}));
        }
        group.throughput(Throughput::Elements(processors.into()));
        group.bench_function(BenchmarkId::new("frame", processors), |bencher| {
            bencher.iter(|| schedule.run(&mut world).expect("none fails"));
        });
    }
    group.finish();
}

/// Time a change: so many entities anywhere in a crowd get a fragment, and lose it. (One recorder that is flushed while
/// nobody else can record: with `World::parallel_commands` kept it takes two to four times as long.)
fn flush_few(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("flush_few");
    for few in [1_u32, 8, 64] {
        let mut world = World::new();
        let crowd = (0..CROWD).map(|n| (Position([n as f32; 3]), Velocity([1.0; 3])));
        let crowd = world.create_batch(crowd).expect("there is room");
        let crowd: Vec<Entity> = crowd.iter(&world).collect();
        // Far apart, and others each time.
        let mut next = 0_u32;
        let mut pick = move || {
            let first = next;
            next = next.wrapping_add(few);
            (first..first + few).map(|n| (n.wrapping_mul(0x9e37_79b1) % CROWD) as usize)
        };
        group.throughput(Throughput::Elements(2 * u64::from(few)));
        group.bench_function(BenchmarkId::new("recorded", few), |bencher| {
            bencher.iter(|| {
                let picked = pick();
                let mut commands = world.commands();
                for at in picked.clone() {
                    let added = commands.add(crowd[at], (Burning(1.0),));
                    added.expect("a recorder takes it");
                }
                drop(commands);
                assert!(world.flush().is_clean());
                let mut commands = world.commands();
                for at in picked {
                    let removed = commands.remove::<(Burning,)>(crowd[at]);
                    removed.expect("a recorder takes it");
                }
                drop(commands);
                assert!(world.flush().is_clean());
            });
        });
        // Two commands of a flush for each entity.
        let half = few.div_ceil(2);
        group.throughput(Throughput::Elements(4 * u64::from(half)));
        group.bench_function(BenchmarkId::new("recorded_twice", half), |bencher| {
            bencher.iter(|| {
                let picked = pick().take(half as usize);
                let mut commands = world.commands();
                for at in picked.clone() {
                    let added = commands.add(crowd[at], (Burning(1.0),));
                    added.expect("a recorder takes it");
                    let set = commands.set(crowd[at], Velocity([2.0; 3]));
                    set.expect("a recorder takes it");
                }
                drop(commands);
                assert!(world.flush().is_clean());
                let mut commands = world.commands();
                for at in picked {
                    let set = commands.set(crowd[at], Velocity([1.0; 3]));
                    set.expect("a recorder takes it");
                    let removed = commands.remove::<(Burning,)>(crowd[at]);
                    removed.expect("a recorder takes it");
                }
                drop(commands);
                assert!(world.flush().is_clean());
            });
        });
        group.throughput(Throughput::Elements(2 * u64::from(few)));
        group.bench_function(BenchmarkId::new("at_once", few), |bencher| {
            bencher.iter(|| {
                let picked = pick();
                for at in picked.clone() {
                    let added = world.add(crowd[at], (Burning(1.0),));
                    added.expect("it lives");
                }
                for at in picked {
                    world.remove::<(Burning,)>(crowd[at]).expect("it lives");
                }
            });
        });
    }
    group.finish();
}

/// Time a mix of commands, so many in each flush, as the program's `ecs flush_few` does.
fn flush_few_mixed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("flush_few");
    group.throughput(Throughput::Elements(1));
    let (registry, pool) = (registry(), Pool::start(1));
    let pool = pool.expect("the system grants a thread");
    for few in [1, 10, 100] {
        let workload = EcsWorkload::FlushFew(few);
        for entrant in registry.worlds(workload) {
            if !entrant.is_admitted(workload, 1) {
                continue;
            }
            let course = Course::new(&pool, 1, 1, || {
                let subject = entrant.set_up(workload, 1, Size::Full);
                subject.unwrap_or_else(|why| panic!("{}: {why}", entrant.name()))
            });
            let id = BenchmarkId::new(format!("mixed/{}", entrant.name()), few);
            group.bench_function(id, |bencher| {
                bencher.iter_custom(|commands| course.time(0, commands));
            });
        }
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(1_000))
        .configure_from_args();
    let mut group = criterion.benchmark_group("spawn_million");
    for threads in thread_counts() {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("the system grants a thread for each processor");
        let mut world = World::new();
        let clear = |world: &mut World| assert_eq!(world.clear(), ENTITIES as usize);
        time(&pool, 1, &mut world, create, clear);
        group.bench_function(BenchmarkId::new("create_and_flush", threads), |bencher| {
            bencher.iter_custom(|rounds| time(&pool, rounds, &mut world, create, clear));
        });
        let mut memory = vec![1_u8; ENTITIES as usize * BYTES];
        let set = |memory: &mut Vec<u8>| fill(memory, 2);
        let look = |memory: &mut Vec<u8>| assert_eq!(memory.last(), Some(&2));
        group.bench_function(BenchmarkId::new("memset", threads), |bencher| {
            bencher.iter_custom(|rounds| time(&pool, rounds, &mut memory, set, look));
        });
    }
    group.finish();
    flush_few(&mut criterion);
    flush_few_mixed(&mut criterion);
    nothing_recorded(&mut criterion);
    criterion.final_summary();
}
