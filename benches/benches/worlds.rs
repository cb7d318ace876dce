//! Small things that a program does often: to ask a world for a query, to walk many compositions of few entities, to
//! make a world and end it, to create a batch and destroy it.
//!
//! `cargo bench --package megachunk-benches --bench worlds`

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput};
use megachunk::prelude::*;

struct Position(f32);
struct Velocity(f32);
struct Kind<const N: usize>;

/// The compositions of [`varied`].
const KINDS: u64 = 26;

/// So many entities of each of 26 kinds.
fn varied(each: u32) -> World {
    fn create<const N: usize>(world: &mut World, each: u32) {
        let bodies = (0..each).map(|n| (Kind::<N>, Position(n as f32), Velocity(0.5)));
        let _ = world.create_batch(bodies).expect("there is room");
    }
    macro_rules! create {
        ($world:ident, $($kind:literal)*) => { $(create::<$kind>(&mut $world, each);)* };
    }
    let mut world = World::new();
    create!(world, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25);
    world
}

/// The same question to a world again: by a query that is kept, one that the world remembers, and one that is new.
fn query(criterion: &mut Criterion) {
    type Data = (&'static mut Position, &'static Velocity);
    let mut group = criterion.benchmark_group("query");
    let mut world = World::new();
    for n in 0..10 {
        let moving = world.create((Position(0.0), Velocity(n as f32)));
        let kind = world.create((Position(0.0), Velocity(1.0), Kind::<0>));
        let still = world.create((Position(0.0),));
        assert!([moving, kind, still].iter().all(Result::is_ok));
    }
    let mut kept = Query::<Data>::new(&world).expect("it is a sound one");
    group.bench_function("kept", |bencher| {
        bencher.iter(|| kept.on(&mut world).count());
    });
    group.bench_function("remembered", |bencher| {
        bencher.iter(|| world.query::<Data, ()>().map(|mut query| query.count()));
    });
    group.bench_function("new", |bencher| {
        bencher.iter(|| {
            let query = Query::<Data>::new(&world);
            query.map(|mut query| query.on(&mut world).count())
        });
    });
    group.finish();
}

/// A walk over 26 compositions, by the query's own loop, and by one that takes entities one by one.
fn walk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("walk");
    for each in [1, 20, 200] {
        let mut world = varied(each);
        let mut moving =
            Query::<(&mut Position, &Velocity)>::new(&world).expect("it is a sound one");
        group.throughput(Throughput::Elements(KINDS * u64::from(each)));
        group.bench_function(BenchmarkId::new("for_each", each), |bencher| {
            bencher.iter(|| {
                let mut run = moving.on(&mut world);
                run.for_each(|(position, velocity)| position.0 += velocity.0);
            });
        });
        group.bench_function(BenchmarkId::new("for", each), |bencher| {
            bencher.iter(|| {
                for (position, velocity) in moving.on(&mut world).iter() {
                    position.0 += velocity.0;
                }
            });
        });
    }
    group.finish();
}

/// Worlds that live for a moment, after a large one has lived.
fn world(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("world");
    drop(varied(10_000));
    group.bench_function("new", |bencher| bencher.iter(World::new));
    let of_one = || {
        let mut world = World::new();
        let one = world.create((Position(1.0), Velocity(1.0)));
        black_box(one).expect("there is room");
        world
    };
    group.bench_function("of_one", |bencher| bencher.iter(of_one));
    group.bench_function("two_of_one", |bencher| {
        bencher.iter(|| (of_one(), of_one()));
    });
    group.throughput(Throughput::Elements(100 * KINDS));
    group.bench_function("of_2600", |bencher| bencher.iter(|| varied(100)));
    group.finish();
}

/// A batch comes, and goes: where ids do not depend on threads, and where they do.
fn batch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch");
    group.throughput(Throughput::Elements(10_000));
    for (name, new) in [
        ("ordinary", Universe::new as fn() -> Universe),
        ("ordered", Universe::ordered),
    ] {
        let mut world = World::of(&Arc::new(new())).expect("there is room");
        let mut all = Query::<&Position>::new(&world).expect("it can be asked");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let batch = world.create_batch((0..10_000_u16).map(|n| (Position(n.into()),)));
                let _ = black_box(batch).expect("there is room");
                all.change(&mut world).destroy()
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    query(&mut criterion);
    walk(&mut criterion);
    world(&mut criterion);
    batch(&mut criterion);
    criterion.final_summary();
}
