//! `EcsContender`: what takes part in the workloads on worlds.

use core::ops::Range;
use core::time::Duration;
use std::io;
use std::time::Instant;

use rayon::ThreadPool;

use super::{Beside, Crowd, Deferred, Mixed, Solving, Systems, SystemsCase};
use crate::cli::workload::Unsupported;

/// What a contender can do in one call for many entities, besides creating them. A workload that
/// needs more is not run; its row shows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcsAbilities {
    /// Tells live handles from dead ones: no dead one ever comes back to life.
    pub checks_handles: bool,
    /// Destroys the entities of a slice in one call.
    pub despawns_slices: bool,
    /// Adds a component to the entities of a slice in one call.
    pub adds_to_slices: bool,
    /// Removes a component from the entities of a slice in one call.
    pub removes_from_slices: bool,
    /// Looks the entities of a slice up in one call.
    pub looks_slices_up: bool,
    /// Records changes on several threads, to be applied later.
    pub records: bool,
    /// Creations as well; else on one thread only.
    pub creates_on_threads: bool,
    /// Creates entities on one thread while a query runs on another.
    pub creates_beside_queries: bool,
    /// Runs systems side by side on several threads.
    pub schedules: bool,
    /// Is measured with schedules of any number of systems, whose order it finds. (Whether it has such, is another
    /// question: somebody has to write it down for each.)
    pub solves: bool,
    /// Looks at archetypes when it finds out which systems may run side by side.
    pub solves_archetypes: bool,
    /// Creates entities of several templates in one call.
    pub spawns_templates: bool,
    /// Writes a world to bytes and makes one from them, and is measured doing so.
    pub serializes: bool,
}

impl EcsAbilities {
    /// One entity after the other.
    pub const SINGLE: Self = Self {
        checks_handles: true,
        despawns_slices: false,
        adds_to_slices: false,
        removes_from_slices: false,
        looks_slices_up: false,
        records: false,
        creates_on_threads: false,
        creates_beside_queries: false,
        schedules: false,
        solves: false,
        solves_archetypes: false,
        spawns_templates: false,
        serializes: false,
    };
}

/// How many entities a query matched, and the sum of what they held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Entities.
    pub count: usize,
    /// The sum of the values; exact, as all of them are whole numbers.
    pub sum: f64,
}

impl Tally {
    /// The tally of `values`.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f32>) -> Self {
        let mut tally = Self::default();
        for value in values {
            tally.add(value);
        }
        tally
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
        }
    }

    /// Counts one entity that holds `value`.
    #[inline(always)]
    pub fn add(&mut self, value: f32) {
        self.count += 1;
        self.sum += f64::from(value);
    }
}

/// An entity component store, as the workloads see it.
///
/// The loops over entities lie behind this trait, so that each contender may take out of the loop
/// what its documentation tells its users to: a prepared query, a borrowed storage. What it does
/// *for each entity* is what the method says: `each` is one call of the library for each entity,
/// `slice` is one call for all. Safe public calls only, with all checks. No method may leave a
/// failure unseen: it panics or says so.
///
/// Values are those of [`values`](super::values).
pub trait EcsContender: Send + Sized + 'static {
    /// The handle of an entity.
    type Id: Copy + Send + Sync + 'static;

    /// The name in tables.
    const NAME: &'static str;
    /// What it can do.
    const ABILITIES: EcsAbilities;

    /// A fresh world, without entities.
    fn fresh() -> Self;

    /// Whether the system has room for one: [`fresh`](Self::fresh) can only panic.
    ///
    /// # Errors
    /// What the system says.
    fn try_room() -> io::Result<()> {
        Ok(())
    }

    /// Makes `threads` threads ready for [`step_on`](Self::step_on), if the contender brings its
    /// own; called before the first world is made.
    ///
    /// # Errors
    /// It cannot have so many.
    fn prepare_threads(_threads: usize) -> Result<(), Unsupported> {
        Ok(())
    }

    /// Called once a world is populated that has many archetypes, and whose entities stay as they are from here on:
    /// whatever the contender's documentation recommends to do then. Outside all timing.
    fn settled(&mut self) {}

    /// Creates an entity with matrix, position, rotation and velocity for each of `numbers`, in
    /// the fewest calls, and appends the handles to `out`, which has room.
    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<Self::Id>);

    /// The same with one call for each entity.
    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<Self::Id>);

    /// Creates `count` entities with position and velocity only.
    fn spawn_moving(&mut self, count: u32) -> Vec<Self::Id>;

    /// Creates `count` entities that have a component of `f32` only.
    fn spawn_small(&mut self, count: u32) -> Vec<Self::Id>;

    /// Creates `count` entities with the component `N` of 26 and the one that all of them have.
    fn spawn_kind<const N: usize>(&mut self, count: u32);

    /// Adds the component `N` of 26 to `ids`.
    fn mark<const N: usize>(&mut self, ids: &[Self::Id]);

    /// Destroys `ids` one by one; how many were alive.
    fn despawn_each(&mut self, ids: &[Self::Id]) -> usize;

    /// Destroys `ids` in one call; how many were alive. Only called with
    /// [`EcsAbilities::despawns_slices`].
    fn despawn_slice(&mut self, _ids: &[Self::Id]) -> usize {
        unreachable!("a contender that says it can implements this")
    }

    /// Destroys all entities. With [`EcsAbilities::checks_handles`] all handles stay dead.
    fn clear(&mut self);

    /// Whether the entity lives: outside all timing. Only called with [`EcsAbilities::checks_handles`].
    fn lives(&mut self, _id: Self::Id) -> bool {
        unreachable!("a contender that says it can tell implements this")
    }

    /// All entities with what they have, of the components of [`spawn_slice`](Self::spawn_slice), as bytes. Only called
    /// with [`EcsAbilities::serializes`].
    fn save(&mut self) -> Vec<u8> {
        unreachable!("a contender that says it can implements this")
    }

    /// A world with what such bytes say. Only called with [`EcsAbilities::serializes`].
    fn load(_bytes: &[u8]) -> Self {
        unreachable!("a contender that says it can implements this")
    }

    /// Adds a component of `f32` to `ids` one by one.
    fn add_each(&mut self, ids: &[Self::Id]);

    /// Removes it from `ids` one by one.
    fn remove_each(&mut self, ids: &[Self::Id]);

    /// Adds it to `ids` in one call. Only called with [`EcsAbilities::adds_to_slices`].
    fn add_slice(&mut self, _ids: &[Self::Id]) {
        unreachable!("a contender that says it can implements this")
    }

    /// Removes it from `ids` in one call. Only called with [`EcsAbilities::removes_from_slices`].
    fn remove_slice(&mut self, _ids: &[Self::Id]) {
        unreachable!("a contender that says it can implements this")
    }

    /// Records changes on all threads of `pool`, each its part of the entities, one call for each command.
    /// Only called with [`EcsAbilities::records`].
    fn record(&mut self, _pool: &ThreadPool, _what: Deferred<'_, Self::Id>) {
        unreachable!("a contender that says it can implements this")
    }

    /// Applies what is recorded, on the threads of `pool` if the contender can. Only called with
    /// [`EcsAbilities::records`].
    fn flush(&mut self, _pool: &ThreadPool) {
        unreachable!("a contender that says it can implements this")
    }

    /// The same: how long it took on the thread that applies. Until a sleeping thread of the pool has woken up is no
    /// part of it.
    fn flush_timed(&mut self, pool: &ThreadPool) -> Duration {
        let begin = Instant::now();
        self.flush(pool);
        begin.elapsed()
    }

    /// Records `commands` on this thread, `few` of them at a time, and applies these before the next ones are recorded;
    /// no thread works beside it. Only called with [`EcsAbilities::records`].
    fn flush_few(&mut self, _commands: &[Mixed<Self::Id>], _few: usize) {
        unreachable!("a contender that says it can implements this")
    }

    /// Looks the position of each of `ids` up by its handle, one by one.
    fn get_each(&mut self, ids: &[Self::Id]) -> Tally;

    /// The same with the threads of `pool`, each of which looks up its part of `ids`.
    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[Self::Id]) -> Tally;

    /// Looks the position of each of `ids` up in one call. Only called with [`EcsAbilities::looks_slices_up`].
    fn get_slice(&mut self, _ids: &[Self::Id]) -> Tally {
        unreachable!("a contender that says it can implements this")
    }

    /// The same with the threads of `pool`, one call for the part of each. Only called with
    /// [`EcsAbilities::looks_slices_up`].
    fn get_slice_on(&mut self, _pool: &ThreadPool, _ids: &[Self::Id]) -> Tally {
        unreachable!("a contender that says it can implements this")
    }

    /// Adds the velocity to the position of all entities that have both.
    fn step(&mut self);

    /// The same on as many threads as `pool` has: these, or the contender's own.
    fn step_on(&mut self, pool: &ThreadPool);

    /// Adds the velocity to the position of all entities that have both, `rounds` times, on this thread, while
    /// that of `pool` does something else, and leaves what was created to [`flush`](Self::flush): how long the
    /// query took. Only called with [`EcsAbilities::creates_beside_queries`].
    fn step_beside(&mut self, _pool: &ThreadPool, _rounds: u32, _beside: Beside<'_>) -> Duration {
        unreachable!("a contender that says it can implements this")
    }

    /// Creates so many agents of three kinds, and says how long that took once their templates were there. A spawner
    /// works on the threads of `pool`. Only called with [`EcsAbilities::spawns_templates`].
    fn spawn_crowd(&mut self, _pool: &ThreadPool, _agents: u32, _crowd: Crowd) -> Duration {
        unreachable!("a contender that says it can implements this")
    }

    /// A world with systems, for as many threads. On several threads [`SystemsCase::Swaps`] is asked for with
    /// [`EcsAbilities::schedules`] only, [`SystemsCase::Empty`] at all with [`EcsAbilities::solves`] only.
    ///
    /// # Errors
    /// The machine gives no more threads.
    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported>;

    /// A schedule of so many systems to solve, in a world of so many archetypes. Only called with
    /// [`EcsAbilities::solves`].
    fn solving(_systems: u32, _archetypes: u32) -> Box<dyn Solving> {
        unreachable!("a contender that says it can implements this")
    }

    /// Doubles the component that all entities of [`spawn_kind`](Self::spawn_kind) have.
    fn double(&mut self);

    /// Makes a query for position and velocity that the world has not seen yet, and asks it how
    /// many entities it matches.
    fn count_anew(&mut self) -> usize;

    /// The positions there are: outside all timing.
    fn positions(&mut self) -> Tally;

    /// The components there are that [`add_each`](Self::add_each) adds: outside all timing.
    fn extras(&mut self) -> Tally;

    /// The components there are that [`double`](Self::double) doubles: outside all timing.
    fn data(&mut self) -> Tally;
}
