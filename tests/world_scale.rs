//! A world of ten million entities with four fragments: created, iterated, half destroyed, compacted, saved,
//! loaded; and what an entity costs. In release builds, on request:
//!
//!     cargo test --release --test world_scale -- --ignored --nocapture

#![cfg(feature = "world")]

use std::time::Instant;

use megachunk::fragment::FragmentError;
use megachunk::prelude::*;
use megachunk::world::Budget;

const ENTITIES: u32 = 10_000_000;

macro_rules! plain {
    ($($name:ident: $value:ty;)*) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq)]
            #[repr(transparent)]
            struct $name($value);
            megachunk::plain!($name { 0 });
        )*

        fn universe() -> Result<Universe, FragmentError> {
            let universe = Universe::new();
            $(universe.registry().register_plain::<$name>()?;)*
            Ok(universe)
        }

        /// What the values of an entity take, in bytes.
        const VALUES: usize = 0 $(+ size_of::<$name>())*;
    };
}

plain! {
    Position: [f32; 3];
    Velocity: [f32; 3];
    Health: u32;
    Number: u32;
}

/// Memory of this process that is there, in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = pages.split_whitespace().nth(1).unwrap();
    pages.parse::<usize>().unwrap() * 4_096
}

#[cfg(not(target_os = "linux"))]
fn resident() -> usize {
    0
}

struct Clock(Instant);

impl Clock {
    fn lap(&mut self, what: &str) {
        println!("{what:<22} {:>8.3} s", self.0.elapsed().as_secs_f64());
        self.0 = Instant::now();
    }
}

/// At most 5 % more than values, handle and slot take.
fn frugal(what: &str, bytes: usize, entities: usize, values: usize) {
    let each = bytes as f64 / entities as f64;
    println!("{what:<22} {each:>8.2} bytes an entity, {values} of them needed");
    assert!(
        each <= 1.05 * values as f64,
        "{what}: {each:.2} bytes an entity"
    );
}

#[test]
#[ignore = "takes a gigabyte of memory, and half of one on the disk"]
fn a_world_of_ten_million_entities_comes_back_from_a_file() {
    let before = resident();
    let mut clock = Clock(Instant::now());
    let mut world = World::of(&std::sync::Arc::new(universe().unwrap())).unwrap();
    let bundle = |n: u32| {
        let x = n as f32;
        (
            Position([x, 1.0, 2.0]),
            Velocity([1.0, 0.5, 0.25]),
            Health(n % 100),
            Number(n),
        )
    };
    let batch = world.create_batch((0..ENTITIES).map(bundle)).unwrap();
    clock.lap("created");
    let all: Vec<Entity> = batch.iter(&world).collect();
    let own = size_of_val(&all[..]);
    let stats = world.stats();
    // An index takes 8.6 bytes a slot.
    let index = ENTITIES as usize * 86 / 10;
    let memory = stats.chunk_bytes + stats.record_bytes + index;
    frugal("by its own account", memory, all.len(), VALUES + 16);
    if before > 0 {
        frugal(
            "of resident memory",
            resident() - before - own,
            all.len(),
            VALUES + 16,
        );
    }

    clock = Clock(Instant::now());
    let mut moving = Query::<(&mut Position, &Velocity)>::new(&world).unwrap();
    for _ in 0..10 {
        moving.on(&mut world).for_each(|(position, velocity)| {
            for axis in 0..3 {
                position.0[axis] += velocity.0[axis];
            }
        });
    }
    clock.lap("iterated ten times");

    let gone: Vec<Entity> = all.iter().copied().step_by(2).collect();
    assert!(world.destroy_slice(&gone).is_clean());
    clock.lap("half destroyed");
    let hash = world.state_hash(&Default::default()).unwrap();
    clock.lap("hashed");
    let report = world.compact(Budget::Unlimited);
    clock.lap("compacted");
    assert!(report.is_done && report.entities > 0);
    assert_eq!(
        world.state_hash(&Default::default()).unwrap(),
        hash,
        "compaction changed something"
    );
    let stats = world.stats();
    let chunks = stats.chunk_bytes + stats.record_bytes;
    frugal("chunks, compacted", chunks, world.count(), VALUES + 8);

    let path = std::env::temp_dir().join(format!("megachunk-scale-{}", std::process::id()));
    clock = Clock(Instant::now());
    world.save(&path, &Default::default()).unwrap();
    clock.lap("saved");
    let loaded = World::load(&path, universe().unwrap(), &Default::default());
    clock.lap("loaded");
    std::fs::remove_file(&path).unwrap();
    let loaded = loaded.unwrap();
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        hash,
        "the same state"
    );
    assert_eq!(loaded.count(), all.len() - gone.len());
    for (n, &entity) in all.iter().enumerate().step_by(997) {
        let position = Position([n as f32 + 10.0, 6.0, 4.5]);
        let there = (n % 2 == 1).then_some(&position);
        assert_eq!(loaded.get::<Position>(entity).ok(), there, "{entity}");
        assert_eq!(loaded.exists(entity), n % 2 == 1);
    }
}
