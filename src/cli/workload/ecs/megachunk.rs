//! `megachunk`: the product.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::{
    Beside, Crowd, Deferred, EcsAbilities, EcsContender, Mixed, Solving, Systems, SystemsCase,
    Tally, in_parts, systems, values,
};
use crate::chunk::ChunkOptions;
use crate::cli::workload::Unsupported;
use crate::command::Commands;
use crate::entity::{Entity, IndexOptions};
use crate::fragment::{Bundle, FragmentError, FragmentRegistry};
use crate::query::Query;
use crate::world::{SnapshotOptions, Universe, World, WorldError};

/// A matrix.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Transform(pub(super) [f32; 16]);

/// A place.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Position(pub(super) [f32; 3]);

/// A direction.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Rotation([f32; 3]);

/// What a place changes by.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Velocity([f32; 3]);

crate::plain!(Transform { 0 });
crate::plain!(Position { 0 });
crate::plain!(Rotation { 0 });
crate::plain!(Velocity { 0 });

/// The only fragment of an entity to which another is added.
#[derive(Clone, Copy)]
#[expect(dead_code, reason = "a column that is only there")]
struct Small(f32);

/// What is added and removed.
#[derive(Clone, Copy)]
struct Extra(f32);

/// What entities of every kind have.
#[derive(Clone, Copy)]
pub(super) struct Data(pub(super) f32);

/// One of 26 kinds.
#[derive(Clone, Copy)]
pub(super) struct Kind<const N: usize>(pub(super) f32);

/// The entity `number`.
#[inline(always)]
pub(super) fn body(number: u32) -> (Transform, Position, Rotation, Velocity) {
    (
        Transform(values::transform()),
        Position(values::position(number)),
        Rotation(values::rotation()),
        Velocity(values::velocity()),
    )
}

mod templates;

/// Says that what a [`body`] has may be saved.
fn body_is_plain(registry: &FragmentRegistry) -> Result<(), FragmentError> {
    registry.register_plain::<Transform>()?;
    registry.register_plain::<Position>()?;
    registry.register_plain::<Rotation>()?;
    registry.register_plain::<Velocity>()?;
    Ok(())
}

/// What memory a world is in, and what it is then called.
pub trait Pages: 'static {
    /// The name in tables.
    const NAME: &'static str;

    /// A universe without worlds.
    fn universe() -> Universe;
}

/// As a world itself has it: pages are huge where the system grants them.
#[derive(Debug)]
pub struct UsualPages;

impl Pages for UsualPages {
    const NAME: &'static str = "megachunk";

    fn universe() -> Universe {
        Universe::new()
    }
}

/// Without huge pages: what they are worth, and what a world does where there are none.
#[derive(Debug)]
pub struct SmallPages;

/// Empty mega-chunks that a universe keeps that asks for nothing else.
const KEPT: usize = 256;

impl Pages for SmallPages {
    const NAME: &'static str = "megachunk_small_pages";

    fn universe() -> Universe {
        let index = IndexOptions::new().huge_pages(false);
        let chunks = ChunkOptions::new().huge_pages(false).retain(KEPT);
        match Universe::with(&index, &chunks) {
            Ok(universe) => universe,
            Err(error) => panic!("no address space for a universe: {error}"),
        }
    }
}

/// A world, and the queries that were made so far.
pub struct Megachunk<P = UsualPages> {
    world: World,
    moving: Option<Query<(&'static mut Position, &'static Velocity)>>,
    data: Option<Query<&'static mut Data>>,
    pages: PhantomData<fn() -> P>,
}

impl<P: Pages> fmt::Debug for Megachunk<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(P::NAME).field(&self.world).finish()
    }
}

/// The workloads hand in nothing that could be refused, and the machine has room for it.
#[cold]
#[inline(never)]
fn refused(error: &WorldError) -> ! {
    panic!("{error}")
}

#[inline(always)]
pub(super) fn done<T>(result: Result<T, WorldError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => refused(&error),
    }
}

fn positions(world: &World) -> Query<&'static Position> {
    Query::new(world).expect("the query is a sound one")
}

fn get_each(world: &World, ids: &[Entity]) -> Tally {
    let mut tally = Tally::default();
    let mut positions = positions(world);
    let lookup = positions.lookup(world);
    for &id in ids {
        tally.add(done(lookup.get(id)).0[0]);
    }
    tally
}

fn get_slice(world: &World, ids: &[Entity]) -> Tally {
    let mut tally = Tally::default();
    positions(world).lookup(world).get_each(ids, |_, position| {
        tally.add(done(position).0[0]);
    });
    tally
}

/// Records one command of a mix.
#[inline(always)]
fn record(commands: &mut Commands<'_>, mixed: Mixed<Entity>) {
    match mixed {
        Mixed::Spawn(number) => {
            done(commands.create(body(number)));
        }
        Mixed::Despawn(id) => commands.destroy(id),
        Mixed::Insert(id) => done(commands.add(id, (Extra(values::EXTRA),))),
        Mixed::Remove(id) => done(commands.remove::<(Extra,)>(id)),
    }
}

impl<P> Megachunk<P> {
    fn on(world: World) -> Self {
        Self {
            world,
            moving: None,
            data: None,
            pages: PhantomData,
        }
    }

    pub(super) fn into_world(self) -> World {
        self.world
    }

    fn create<B: Bundle>(&mut self, bundles: impl Iterator<Item = B>, out: &mut Vec<Entity>) {
        let batch = done(self.world.create_batch(bundles));
        out.extend(batch.iter(&self.world));
    }

    fn moving(
        &mut self,
    ) -> (
        &mut World,
        &mut Query<(&'static mut Position, &'static Velocity)>,
    ) {
        let world = &mut self.world;
        let moving = self
            .moving
            .get_or_insert_with(|| Query::new(world).expect("the query is a sound one"));
        (world, moving)
    }
}

impl<P: Pages> EcsContender for Megachunk<P> {
    type Id = Entity;

    const NAME: &'static str = P::NAME;
    const ABILITIES: EcsAbilities = EcsAbilities {
        checks_handles: true,
        despawns_slices: true,
        adds_to_slices: true,
        removes_from_slices: true,
        looks_slices_up: true,
        records: true,
        creates_on_threads: true,
        creates_beside_queries: true,
        schedules: true,
        solves: true,
        solves_archetypes: true,
        spawns_templates: true,
        serializes: true,
    };

    fn fresh() -> Self {
        Self::on(done(World::of(&Arc::new(P::universe()))))
    }

    fn try_room() -> io::Result<()> {
        // Not a universe: it would leave its memory for the next one.
        let _index = IndexOptions::new().build()?;
        ChunkOptions::new().build().map(drop)
    }

    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        self.create(numbers.map(body), out);
    }

    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<Entity>) {
        out.extend(numbers.map(|number| done(self.world.create(body(number)))));
    }

    fn spawn_moving(&mut self, count: u32) -> Vec<Entity> {
        let mut ids = Vec::new();
        let moving = (0..count).map(|number| {
            (
                Position(values::position(number)),
                Velocity(values::velocity()),
            )
        });
        self.create(moving, &mut ids);
        ids
    }

    fn spawn_small(&mut self, count: u32) -> Vec<Entity> {
        let mut ids = Vec::new();
        self.create((0..count).map(|_| (Small(0.0),)), &mut ids);
        ids
    }

    fn spawn_kind<const N: usize>(&mut self, count: u32) {
        let kind = |_| (Kind::<N>(values::KIND), Data(values::DATA));
        done(self.world.create_batch((0..count).map(kind)));
    }

    fn mark<const N: usize>(&mut self, ids: &[Entity]) {
        for &id in ids {
            done(self.world.add(id, (Kind::<N>(values::KIND),)));
        }
    }

    fn despawn_each(&mut self, ids: &[Entity]) -> usize {
        let died = ids.iter().filter(|&&id| self.world.destroy(id).is_ok());
        died.count()
    }

    fn despawn_slice(&mut self, ids: &[Entity]) -> usize {
        let report = self.world.destroy_slice(ids);
        done(report.into_result())
    }

    fn save(&mut self) -> Vec<u8> {
        let registered = body_is_plain(self.world.registry());
        let saved = registered.map(|()| self.world.to_snapshot(&SnapshotOptions::new()));
        saved
            .expect("four plain fragments")
            .expect("all of them plain")
    }

    fn load(bytes: &[u8]) -> Self {
        let universe = P::universe();
        body_is_plain(universe.registry()).expect("four plain fragments");
        Self::on(
            World::from_snapshot(bytes, universe, &Default::default()).expect("what was saved"),
        )
    }

    fn clear(&mut self) {
        self.world.clear();
    }

    fn lives(&mut self, id: Entity) -> bool {
        self.world.exists(id)
    }

    fn add_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            done(self.world.add(id, (Extra(values::EXTRA),)));
        }
    }

    fn remove_each(&mut self, ids: &[Entity]) {
        for &id in ids {
            let had = done(self.world.remove::<(Extra,)>(id));
            assert!(had, "it has one");
        }
    }

    fn add_slice(&mut self, ids: &[Entity]) {
        let report = self.world.add_slice(ids, |_| (Extra(values::EXTRA),));
        done(report.into_result());
    }

    fn remove_slice(&mut self, ids: &[Entity]) {
        let report = self.world.remove_slice::<(Extra,)>(ids);
        assert_eq!(done(report.into_result()), ids.len(), "each has one");
    }

    fn record(&mut self, pool: &ThreadPool, what: Deferred<'_, Entity>) {
        let queue = self.world.parallel_commands();
        let each = |ids: &[Entity], run: &(dyn Fn(&mut Commands<'_>, &[Entity]) + Sync)| {
            let part = ids.len().div_ceil(pool.current_num_threads()).max(1);
            let parts = ids.par_chunks(part).enumerate();
            pool.install(|| parts.for_each(|(key, ids)| run(&mut queue.open_at(key as u64), ids)));
        };
        match what {
            Deferred::Spawn(numbers) => {
                let part = numbers.len().div_ceil(pool.current_num_threads()).max(1);
                let parts = (0..numbers.len().div_ceil(part)).into_par_iter();
                let spawn = |key: usize| {
                    let mut commands = queue.open_at(key as u64);
                    let first = numbers.start + (key * part) as u32;
                    for number in first..numbers.end.min(first + part as u32) {
                        done(commands.create(body(number)));
                    }
                };
                pool.install(|| parts.for_each(spawn));
            }
            Deferred::Despawn(ids) => each(ids, &|commands, ids| {
                ids.iter().for_each(|&id| commands.destroy(id));
            }),
            Deferred::Insert(ids) => each(ids, &|commands, ids| {
                for &id in ids {
                    done(commands.add(id, (Extra(values::EXTRA),)));
                }
            }),
            Deferred::Remove(ids) => each(ids, &|commands, ids| {
                for &id in ids {
                    done(commands.remove::<(Extra,)>(id));
                }
            }),
            Deferred::Eight(ids) => each(ids, &|commands, ids| {
                for &id in ids {
                    for _ in 0..2 {
                        done(commands.add(id, (Extra(0.0),)));
                        done(commands.remove::<(Extra,)>(id));
                    }
                    for value in [1.0, 2.0, 3.0, values::EXTRA] {
                        done(commands.add(id, (Extra(value),)));
                    }
                }
            }),
            Deferred::Mix(mixed) => {
                let part = mixed.len().div_ceil(pool.current_num_threads()).max(1);
                let parts = mixed.par_chunks(part).enumerate();
                let run = |(key, part): (usize, &[Mixed<Entity>])| {
                    let mut commands = queue.open_at(key as u64);
                    part.iter().for_each(|&mixed| record(&mut commands, mixed));
                };
                pool.install(|| parts.for_each(run));
            }
        }
    }

    fn flush(&mut self, pool: &ThreadPool) {
        self.flush_timed(pool);
    }

    fn flush_timed(&mut self, pool: &ThreadPool) -> Duration {
        let world = &mut self.world;
        pool.install(|| {
            let begin = Instant::now();
            let report = world.flush();
            let took = begin.elapsed();
            assert!(report.is_clean(), "{report:?}");
            took
        })
    }

    fn flush_few(&mut self, commands: &[Mixed<Entity>], few: usize) {
        for few in commands.chunks(few) {
            let mut commands = self.world.commands();
            few.iter().for_each(|&mixed| record(&mut commands, mixed));
            drop(commands);
            assert!(self.world.flush().is_clean());
        }
    }

    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported> {
        systems::of_megachunk(case, threads)
    }

    fn solving(systems: u32, archetypes: u32) -> Box<dyn Solving> {
        systems::solving_of_megachunk(systems, archetypes)
    }

    fn get_each(&mut self, ids: &[Entity]) -> Tally {
        get_each(&self.world, ids)
    }

    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
        let world = &self.world;
        in_parts(pool, ids, |ids| get_each(world, ids))
    }

    fn get_slice(&mut self, ids: &[Entity]) -> Tally {
        get_slice(&self.world, ids)
    }

    fn get_slice_on(&mut self, pool: &ThreadPool, ids: &[Entity]) -> Tally {
        let world = &self.world;
        in_parts(pool, ids, |ids| get_slice(world, ids))
    }

    fn step(&mut self) {
        let (world, moving) = self.moving();
        // Not by slices: three numbers an entity are added faster one after the other than shuffled.
        moving.on(world).for_each(|(position, velocity)| {
            values::step(&mut position.0, &velocity.0);
        });
    }

    fn step_on(&mut self, pool: &ThreadPool) {
        let (world, moving) = self.moving();
        pool.install(|| {
            // As in `step`.
            moving.on(world).par_for_each(|(position, velocity)| {
                values::step(&mut position.0, &velocity.0);
            });
        });
    }

    fn step_beside(&mut self, pool: &ThreadPool, rounds: u32, beside: Beside<'_>) -> Duration {
        let queue = self.world.parallel_commands();
        let (world, moving) = self.moving();
        let create = |numbers: Range<u32>| {
            let mut commands = queue.open();
            for number in numbers {
                done(commands.create(body(number)));
            }
        };
        beside.run(pool, create, || {
            for _ in 0..rounds {
                let mut query = moving.on(world);
                query.for_each_chunk(|_, (positions, velocities)| {
                    for (position, velocity) in positions.iter_mut().zip(velocities) {
                        values::step(&mut position.0, &velocity.0);
                    }
                });
            }
        })
    }

    fn spawn_crowd(&mut self, pool: &ThreadPool, agents: u32, crowd: Crowd) -> Duration {
        templates::spawn(&mut self.world, pool, agents, crowd)
    }

    fn double(&mut self) {
        let world = &mut self.world;
        let data = self
            .data
            .get_or_insert_with(|| Query::new(world).expect("the query is a sound one"));
        data.on(world).for_each(|data| data.0 *= 2.0);
    }

    fn count_anew(&mut self) -> usize {
        // Not `World::query`, which remembers what it found.
        let query = Query::<(&mut Position, &Velocity)>::new(&self.world);
        let mut query = query.expect("the query is a sound one");
        query.on(&mut self.world).count()
    }

    fn positions(&mut self) -> Tally {
        let mut tally = Tally::default();
        let query = self.world.query::<&Position, ()>();
        let mut query = query.expect("the query is a sound one");
        query.for_each(|position| tally.add(position.0[0]));
        tally
    }

    fn extras(&mut self) -> Tally {
        let mut tally = Tally::default();
        let query = self.world.query::<&Extra, ()>();
        let mut query = query.expect("the query is a sound one");
        query.for_each(|extra| tally.add(extra.0));
        tally
    }

    fn data(&mut self) -> Tally {
        let mut tally = Tally::default();
        let query = self.world.query::<&Data, ()>();
        let mut query = query.expect("the query is a sound one");
        query.for_each(|data| tally.add(data.0));
        tally
    }
}
