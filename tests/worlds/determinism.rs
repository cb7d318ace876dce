//! The world after a flush is the same for any number of threads, of those that record and of those that
//! apply.
//!
//! A *seed* says what pieces of work record, each with a sort key of its own; which thread takes which piece
//! is left to chance. After each round everything that a user can see is compared with what one thread makes
//! of it: the order of archetypes, of chunks, of entities in them, values, shared values, what is switched
//! off, versions, reports. Seeds with even numbers are of ordered universes, where ids are the same too, and
//! [`World::state_hash`]; else entities are compared by their labels.
//!
//! `MEGACHUNK_SEEDS=1000 cargo test --release --test worlds determinism` is the whole run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::chunk::ChunkOptions;
use megachunk::entity::IndexOptions;
use megachunk::prelude::*;
use megachunk::world::{SnapshotOptions, Version};
use rayon::ThreadPool;

/// Numbers of threads that are compared.
const THREADS: [usize; 5] = [1, 2, 3, 4, 8];
/// Rounds of a seed.
const ROUNDS: u64 = 3;

#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Label(u64);
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Health(u32);
#[derive(Clone, Copy, Debug)]
struct Matrix([u64; 12]);
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Switch(u16);
#[derive(Clone, Debug)]
struct Name(String);
#[derive(Clone, Copy, Debug)]
struct Burning;
#[derive(Clone, Copy, Debug)]
struct Frozen;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);

/// Random numbers, the same for the same seed.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn new(of: [u64; 3]) -> Self {
        let mixed = of.iter().fold(0x9e37_79b9_7f4a_7c15, |mixed: u64, &part| {
            (mixed ^ part)
                .wrapping_mul(0xff51_afd7_ed55_8ccd)
                .rotate_left(31)
        });
        Self(mixed | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}

/// One chunk, as a user can see it.
#[derive(Debug, PartialEq)]
struct Seen {
    tags: [bool; 2],
    team: Option<u8>,
    order_version: Version,
    change_versions: [Option<Version>; 4],
    rows: Vec<Row>,
}

#[derive(Debug, PartialEq)]
struct Row {
    label: u64,
    health: Option<u32>,
    matrix: Option<u64>,
    switch: Option<(u16, bool)>,
    name: Option<String>,
    /// In an ordered universe.
    entity: Option<Entity>,
}

/// All that is compared after a round.
#[derive(Debug, PartialEq)]
struct Picture {
    /// The fragments of each composition, and how many entities and chunks it has.
    archetypes: Vec<(Vec<String>, usize, usize)>,
    chunks: Vec<Seen>,
    report: String,
    refused: Vec<(Option<u64>, String)>,
    hash: Option<u64>,
}

/// A world, and who lives there by label.
struct Scene {
    world: World,
    labels: BTreeMap<u64, Entity>,
    /// Everybody who ever lived.
    known: BTreeMap<Entity, u64>,
    seed: u64,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let (index, chunks) = (IndexOptions::new(), ChunkOptions::new());
        let universe = if seed.is_multiple_of(2) {
            Universe::ordered()
        } else {
            Universe::with(&index.huge_pages(false), &chunks.huge_pages(false)).unwrap()
        };
        let registry = universe.registry();
        registry.register_enableable::<Switch>().unwrap();
        let mut world = World::of(&Arc::new(universe)).unwrap();
        world.set_flush_threads_from(Some(1));
        let mut dice = Dice::new([seed, 0, 0]);
        if dice.below(2) == 0 {
            world.set_chunk_size(1 + dice.below(3));
        }
        let count = dice.below(6_000) as u64;
        let _ = world
            .create_batch((0..count).map(|n| (Label(n), Health(n as u32))))
            .unwrap();
        let _ = world
            .create_batch((count..2 * count / 3 * 2).map(|n| (Label(n), Switch(n as u16), Burning)))
            .unwrap();
        let wide = 10_000..10_000 + count / 2;
        let _ = world
            .create_batch(wide.map(|n| (Label(n), Matrix([n; 12]))))
            .unwrap();
        let mut scene = Self {
            world,
            labels: BTreeMap::new(),
            known: BTreeMap::new(),
            seed,
        };
        scene.find_all();
        scene
    }

    fn find_all(&mut self) {
        self.labels.clear();
        let mut all = self.world.query::<(Entity, &Label), ()>().unwrap();
        all.for_each(|(entity, label)| {
            let before = self.labels.insert(label.0, entity);
            assert!(before.is_none(), "two entities have label {}", label.0);
            self.known.insert(entity, label.0);
        });
    }

    /// Threads record pieces of work, and the flush applies them.
    fn round(&mut self, round: u64, threads: usize, pool: &ThreadPool) -> Picture {
        let alive: Vec<Entity> = self.labels.values().copied().collect();
        let mut dice = Dice::new([self.seed, round, 1]);
        let pieces = 1 + dice.below(48);
        if dice.below(3) == 0 {
            self.record_in_a_query(pool, round);
        }
        let parallel = self.world.parallel_commands_for(pieces);
        // Another order for each number of threads.
        let mut order: Vec<usize> = (0..pieces).collect();
        let mut shuffle = Dice::new([self.seed, round, 1_000 + threads as u64]);
        for at in (1..order.len()).rev() {
            order.swap(at, shuffle.below(at + 1));
        }
        let next = AtomicUsize::new(0);
        let seed = self.seed;
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&piece) = order.get(at) else { break };
                        let mut commands = parallel.open_at(piece as u64);
                        record(&mut commands, seed, round, piece as u64, &alive);
                    }
                });
            }
        });
        let report = pool.install(|| self.world.flush());
        self.world.universe().check([&self.world]).unwrap();
        self.find_all();
        let ids = self.world.universe().is_ordered();
        assert!(report.by_chance == 0 || !ids);
        let hash = ids.then(|| {
            let options = SnapshotOptions::new().skip_not_plain();
            self.world.state_hash(&options).unwrap()
        });
        let refused = report.refused.iter().map(|refused| {
            let why = format!("{:?}", refused.error);
            let kind = why.split(['(', ' ', '{']).next().unwrap_or_default();
            let whose = self.known.get(&refused.entity).copied();
            (whose, format!("{kind}, {}", refused.by))
        });
        let dead = report.first_dead.iter();
        let dead = dead.map(|dead| (self.known.get(&dead.entity).copied(), dead.by.to_string()));
        Picture {
            refused: refused.collect(),
            report: format!(
                "{:?}",
                (
                    report.commands,
                    report.created,
                    report.destroyed,
                    report.moved,
                    report.updated,
                    report.closures,
                    report.dead,
                    dead.collect::<Vec<_>>(),
                    report.rounds,
                )
            ),
            archetypes: self.archetypes(),
            chunks: self.chunks(),
            hash,
        }
    }

    /// A recorder for each chunk of a parallel query, with the chunk's sort key.
    fn record_in_a_query(&mut self, pool: &ThreadPool, round: u64) {
        let parallel = self.world.parallel_commands();
        let mut query = Query::<(Entity, &Label, &mut Health), ()>::new(&self.world).unwrap();
        let world = &mut self.world;
        pool.install(|| {
            query
                .on(world)
                .par_for_each_chunk(|chunk, (entities, labels, healths)| {
                    let mut commands = parallel.open_at(chunk.sort_key());
                    for (at, &entity) in entities.iter().enumerate() {
                        healths[at].0 = healths[at].0.wrapping_mul(3);
                        match labels[at].0 % 11 {
                            0 => commands.destroy(entity),
                            1 | 2 => commands.add(entity, (Frozen,)).unwrap(),
                            3 => {
                                let label = labels[at].0 | (round + 1) << 56;
                                let new = commands.create((Label(label), Frozen)).unwrap();
                                commands.set(new, Health(healths[at].0)).unwrap();
                            }
                            _ => {}
                        }
                    }
                });
        });
    }

    fn archetypes(&self) -> Vec<(Vec<String>, usize, usize)> {
        let stats = self.world.stats().archetypes.into_iter();
        stats
            .map(|data| {
                let names = data.fragments;
                (names, data.entities, data.chunks)
            })
            .collect()
    }

    fn chunks(&mut self) -> Vec<Seen> {
        type Data<'a> = (
            Entity,
            &'a Label,
            Option<&'a Health>,
            Option<&'a Matrix>,
            Option<&'a Switch>,
            Option<&'a Name>,
        );
        let mut seen = Vec::new();
        let ids = self.world.universe().is_ordered();
        let mut all = self.world.query::<Data<'static>, ()>().unwrap();
        all.for_each_chunk(
            |chunk, (entities, labels, healths, matrices, switches, names)| {
                let rows = (0..entities.len()).map(|at| Row {
                    label: labels[at].0,
                    health: healths.map(|healths| healths[at].0),
                    matrix: matrices.map(|matrices| matrices[at].0[7]),
                    switch: switches.map(|switches| (switches[at].0, true)),
                    name: names.map(|names| names[at].0.clone()),
                    entity: ids.then_some(entities[at]),
                });
                seen.push(Seen {
                    tags: [chunk.has::<Burning>(), chunk.has::<Frozen>()],
                    team: chunk.shared::<Team>().map(|team| team.0),
                    order_version: chunk.order_version(),
                    change_versions: [
                        chunk.change_version::<Label>(),
                        chunk.change_version::<Health>(),
                        chunk.change_version::<Matrix>(),
                        chunk.change_version::<Switch>(),
                    ],
                    rows: rows.collect(),
                });
            },
        );
        for row in seen.iter_mut().flat_map(|chunk| &mut chunk.rows) {
            if let Some((_, on)) = &mut row.switch {
                *on = self
                    .world
                    .is_enabled::<Switch>(self.labels[&row.label])
                    .unwrap();
            }
        }
        seen
    }
}

/// What a piece of work records.
fn record(commands: &mut Commands<'_>, seed: u64, round: u64, piece: u64, alive: &[Entity]) {
    let mut dice = Dice::new([seed, round, 10 + piece]);
    let label = |n: u64| Label((round + 1) << 48 | piece << 32 | n);
    let mut own = Vec::new();
    let mut labels = 0_u64;
    // A stretch of neighbours, all alike: what moves whole chunks.
    if dice.below(4) == 0 && !alive.is_empty() {
        let first = dice.below(alive.len());
        let count = dice.below(3_000);
        let what = dice.below(6);
        for &entity in alive[first..].iter().take(count) {
            match what {
                0 => commands.add(entity, (Burning,)).unwrap(),
                1 => commands
                    .set_shared(entity, Team((piece % 3) as u8))
                    .unwrap(),
                2 => commands.remove::<(Burning, Health)>(entity).unwrap(),
                3 => commands.add(entity, (Health(piece as u32),)).unwrap(),
                4 => commands.remove::<(Health,)>(entity).unwrap(),
                _ => commands.swap::<(Burning,), _>(entity, (Frozen,)).unwrap(),
            }
        }
    }
    for _ in 0..dice.below(400) {
        let pick = dice.below(alive.len() + own.len());
        let picked = alive
            .get(pick)
            .or_else(|| own.get(pick.wrapping_sub(alive.len())));
        let payload = dice.below(1_000);
        let kind = dice.below(16);
        let Some(&entity) = picked.filter(|_| kind > 3) else {
            match kind % 4 {
                0 => own.push(
                    commands
                        .create((label(labels), Health(payload as u32)))
                        .unwrap(),
                ),
                1 => {
                    let bundle = (label(labels), Matrix([payload as u64; 12]), Switch(7));
                    own.push(commands.create(bundle).unwrap());
                }
                2 => {
                    let bundle = (label(labels), Name(payload.to_string()));
                    let bundle = bundle.shared(Team((payload % 3) as u8));
                    own.push(commands.create(bundle).unwrap());
                }
                _ => {
                    let bundles = (labels..labels + payload as u64 / 4)
                        .map(|n| (label(n), Health(n as u32), Matrix([n; 12])));
                    let batch = commands.create_batch(bundles).unwrap();
                    own.extend(batch.iter(commands));
                }
            }
            labels += 1 + payload as u64 / 4;
            continue;
        };
        match kind {
            4 => commands.destroy(entity),
            5 | 6 => commands.set(entity, Health(payload as u32)).unwrap(),
            7 => commands
                .add(entity, (Burning, Switch(payload as u16)))
                .unwrap(),
            8 => commands.remove::<(Health,)>(entity).unwrap(),
            9 => commands.remove::<(Switch, Name)>(entity).unwrap(),
            10 => commands.swap::<(Burning,), _>(entity, (Frozen,)).unwrap(),
            11 => commands
                .set_shared(entity, Team((payload % 3) as u8))
                .unwrap(),
            12 => commands
                .add(entity, (Name(payload.to_string()), Frozen))
                .unwrap(),
            13 => commands
                .add(entity, (Matrix([payload as u64; 12]),))
                .unwrap(),
            14 if payload < 30 => {
                let (label, switch) = (label(labels), payload.is_multiple_of(2));
                labels += 1 + payload as u64 / 4;
                commands.defer(move |world| {
                    // It is dead already for all, or for none.
                    let _ = world.set_enabled::<Switch>(entity, switch);
                    world.create((label, Switch(3))).unwrap();
                    world.commands().remove::<(Burning,)>(entity).unwrap();
                });
            }
            _ => commands.set(entity, Name(payload.to_string())).unwrap(),
        }
    }
}

fn seeds() -> u64 {
    let seeds = std::env::var("MEGACHUNK_SEEDS");
    seeds.map_or(2, |seeds| seeds.parse().expect("a number"))
}

#[test]
fn the_world_after_a_flush_is_the_same_for_any_number_of_threads() {
    let pools = THREADS.map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        (threads, pool.build().unwrap())
    });
    for seed in 0..seeds() {
        let mut scenes = THREADS.map(|_| Scene::new(seed));
        for round in 0..ROUNDS {
            let mut pictures = Vec::new();
            for ((threads, pool), scene) in pools.iter().zip(&mut scenes) {
                pictures.push((threads, scene.round(round, *threads, pool)));
            }
            let (_, first) = &pictures[0];
            for (threads, picture) in &pictures[1..] {
                compare(seed, round, **threads, first, picture);
            }
        }
    }
}

/// In parts, so that one can read what differs.
fn compare(seed: u64, round: u64, threads: usize, first: &Picture, other: &Picture) {
    let at = format!("seed {seed}, round {round}, {threads} threads");
    assert_eq!(first.report, other.report, "{at}");
    assert_eq!(first.refused, other.refused, "{at}");
    assert_eq!(first.archetypes, other.archetypes, "{at}");
    assert_eq!(first.chunks.len(), other.chunks.len(), "{at}");
    for (number, (one, other)) in first.chunks.iter().zip(&other.chunks).enumerate() {
        for (row, (one, other)) in one.rows.iter().zip(&other.rows).enumerate() {
            assert_eq!(one, other, "{at}, chunk {number}, row {row}");
        }
        assert!(one == other, "{at}, chunk {number}");
    }
    assert!(first == other, "{at}");
}
