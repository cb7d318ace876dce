//! The workloads on worlds, and what takes part in them: the `ecs` table.
//!
//! Sizes and components are those of `ecs_bench_suite`, in `update_mixed` the systems of
//! `abeimler/ecs_benchmark`, and one million entities where their cases do not say. Cold is a fresh world, page faults included, in memory that the machine has at hand;
//! warm is one that held as many before.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::Unsupported;
use crate::cli::measure::Subject;
use crate::world::World;

pub mod agents;
mod archetypes;
mod beside;
mod component;
mod contender;
mod crowd;
mod deferred;
mod few;
mod heap;
mod limit;
mod megachunk;
mod population;
mod read;
mod serialize;
mod small;
mod spawn;
mod systems;
pub mod values;

pub use beside::Beside;
use component::Way;
pub use contender::{EcsAbilities, EcsContender, Tally};
pub use crowd::Crowd;
pub use deferred::{Deferred, DeferredCase, Mixed};
pub use heap::{settle, settle_on};
pub use limit::Limit;
pub use megachunk::{Megachunk, Pages, SmallPages, UsualPages};
pub use systems::{Solving, Systems, SystemsCase, in_pool, own_threads, threads, threads_for};

/// "1m" in the workloads' names.
const MILLION: u32 = 1_000_000;

/// How large the worlds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As the rows' names say.
    Full,
    /// A hundredth: to see whether a contender answers rightly.
    Small,
}

impl Size {
    /// So many entities, at this size.
    #[must_use]
    pub const fn of(self, entities: u32) -> u32 {
        match self {
            Self::Full => entities,
            Self::Small => entities / 100,
        }
    }
}

/// A workload on worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcsWorkload {
    /// 10,000 entities created in a fresh world, which goes again.
    SimpleInsert,
    /// Velocity added to the position of 10,000 entities.
    SimpleIter,
    /// A number doubled that entities of 26 archetypes have, 20 of each.
    FragmentedIter,
    /// A component added to 10,000 entities and removed, one by one.
    AddRemoveSingle,
    /// The same, in one call.
    AddRemoveSlice,
    /// One million created in batch, cold and warm, cleared, and destroyed one by one.
    SpawnMillion,
    /// One million of three kinds created by a batch each, and from templates in one call.
    SpawnTemplates,
    /// One million created one by one, cold.
    SpawnMillionSingle,
    /// A random half of one million destroyed, one by one.
    DespawnHalfSingle,
    /// The same, in one call.
    DespawnHalfSlice,
    /// One million positions looked up by handle, in random order, one by one.
    GetSingle,
    /// The same, in one call.
    GetSlice,
    /// Velocity added to the position of one million entities.
    IterateMillion,
    /// The same with ten million.
    IterateTenMillion,
    /// A component added to one million entities one by one, cold and warm, and removed.
    ComponentSingle,
    /// A component added to one million entities in one call.
    AddSlice,
    /// A component removed from one million entities in one call.
    RemoveSlice,
    /// Velocity added to the position of the entities of 1,000 archetypes: so many of each.
    Archetypes(u32),
    /// A new query over 1,000 archetypes.
    NewQuery,
    /// Changes of one million entities, recorded on all threads and applied.
    Deferred(DeferredCase),
    /// Changes of few of 100,000 entities, recorded on one thread and applied: so many commands in each flush.
    FlushFew(u32),
    /// Velocity added to the position of one million entities, alone and beside a thread that creates others.
    QueryBeside,
    /// Three systems that swap two components each, in 40,000 entities of four archetypes.
    Schedule,
    /// The same, each frame called by a thread that is in no pool, as the main thread of a program is.
    ScheduleFromMain,
    /// A matrix inverted 100 times for each of 1,000 entities.
    HeavyCompute,
    /// A world of 1,000 entities written to bytes, and made from them again.
    Serialize,
    /// Three systems on 60,000 entities of three archetypes, each on two of these: move, think, turn.
    UpdateMixed,
    /// So many systems that do nothing.
    EmptySystems(u32),
    /// The order of 1,000 systems found from nothing.
    Solve,
    /// The same brought up to date after an archetype has come.
    SolveArchetype,
}

impl EcsWorkload {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 43] = [
        Self::SimpleInsert,
        Self::SimpleIter,
        Self::FragmentedIter,
        Self::AddRemoveSingle,
        Self::AddRemoveSlice,
        Self::SpawnMillion,
        Self::SpawnTemplates,
        Self::SpawnMillionSingle,
        Self::DespawnHalfSingle,
        Self::DespawnHalfSlice,
        Self::GetSingle,
        Self::GetSlice,
        Self::IterateMillion,
        Self::IterateTenMillion,
        Self::ComponentSingle,
        Self::AddSlice,
        Self::RemoveSlice,
        Self::Archetypes(1),
        Self::Archetypes(20),
        Self::NewQuery,
        Self::Deferred(DeferredCase::Spawn { many: false }),
        Self::Deferred(DeferredCase::Spawn { many: true }),
        Self::Deferred(DeferredCase::Despawn { random: false }),
        Self::Deferred(DeferredCase::Despawn { random: true }),
        Self::Deferred(DeferredCase::Change { random: false }),
        Self::Deferred(DeferredCase::Change { random: true }),
        Self::Deferred(DeferredCase::Eight),
        Self::Deferred(DeferredCase::Mix),
        Self::FlushFew(1),
        Self::FlushFew(10),
        Self::FlushFew(100),
        Self::QueryBeside,
        Self::Schedule,
        Self::ScheduleFromMain,
        Self::HeavyCompute,
        Self::Serialize,
        Self::UpdateMixed,
        Self::EmptySystems(1),
        Self::EmptySystems(100),
        Self::EmptySystems(1_000),
        Self::EmptySystems(10_000),
        Self::Solve,
        Self::SolveArchetype,
    ];

    /// The rows that it fills: one for each phase that is timed apart.
    #[must_use]
    pub fn rows(self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::SimpleInsert => &["simple_insert"],
            Self::SimpleIter => &["simple_iter"],
            Self::FragmentedIter => &["fragmented_iter"],
            Self::AddRemoveSingle => &["add_remove/single"],
            Self::AddRemoveSlice => &["add_remove/batch"],
            Self::SpawnMillion => &[
                "spawn_1m/batch_cold",
                "clear_1m",
                "spawn_1m/batch_warm",
                "despawn_1m/single",
            ],
            Self::SpawnTemplates => &[
                "spawn_templates/batches_cold",
                "spawn_templates/spawner_cold",
                "spawn_templates/batches_warm",
                "spawn_templates/spawner_warm",
                "spawn_templates/disc_warm",
            ],
            Self::SpawnMillionSingle => &["spawn_1m/single_cold"],
            Self::DespawnHalfSingle => &["despawn_half/single"],
            Self::DespawnHalfSlice => &["despawn_half/batch"],
            Self::GetSingle => &["get_1m/single"],
            Self::GetSlice => &["get_1m/slice"],
            Self::IterateMillion => &["iterate_1m"],
            Self::IterateTenMillion => &["iterate_10m"],
            Self::ComponentSingle => &[
                "add_1m/single_cold",
                "add_1m/single_warm",
                "remove_1m/single_warm",
            ],
            Self::AddSlice => &["add_1m/batch_cold", "add_1m/batch_warm"],
            Self::RemoveSlice => &["remove_1m/batch_warm"],
            Self::Archetypes(of_each) => return vec![format!("archetypes_1000x{of_each}")],
            Self::NewQuery => &["new_query_1000"],
            Self::Deferred(case) => return case.rows(),
            Self::FlushFew(few) => return vec![format!("flush_few/{few}")],
            Self::QueryBeside => &[
                "query_beside/nothing",
                "query_beside/writing",
                "query_beside/creating",
            ],
            Self::Schedule => &["schedule"],
            Self::ScheduleFromMain => &["schedule_from_main"],
            Self::HeavyCompute => &["heavy_compute"],
            Self::Serialize => &["serialize_1000/save", "serialize_1000/load"],
            Self::UpdateMixed => &["update_mixed"],
            Self::EmptySystems(count) => return vec![format!("processors_empty/{count}")],
            Self::Solve => &["solve_1000"],
            Self::SolveArchetype => &["solve_archetype"],
        };
        names.iter().map(ToString::to_string).collect()
    }

    /// What one operation is.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::NewQuery | Self::SolveArchetype => "ns/archetype",
            Self::Deferred(_) | Self::FlushFew(_) => "ns/command",
            Self::Schedule | Self::ScheduleFromMain => "ns/pair",
            Self::EmptySystems(_) => "ns/processor",
            Self::Solve => "ns/schedule",
            _ => "ns/entity",
        }
    }

    /// Whether a quick run has no time for it.
    #[must_use]
    pub fn is_slow(self) -> bool {
        self == Self::IterateTenMillion
    }

    /// Whether the workload means something on `threads` threads.
    #[must_use]
    pub fn runs_on(self, threads: usize) -> bool {
        match self {
            Self::GetSingle
            | Self::GetSlice
            | Self::IterateMillion
            | Self::IterateTenMillion
            | Self::SpawnTemplates
            | Self::Deferred(_)
            | Self::Schedule
            | Self::HeavyCompute
            | Self::EmptySystems(_) => true,
            Self::QueryBeside => threads == 2,
            // On one thread it is `schedule`.
            Self::ScheduleFromMain => threads > 1,
            _ => threads == 1,
        }
    }

    /// Memory that each contender may need while the others need theirs, in bytes.
    #[must_use]
    pub fn memory(self) -> u64 {
        match self {
            // 108 bytes each, with room that growth by doubling leaves unused.
            Self::GetSingle | Self::GetSlice | Self::IterateMillion => 200 << 20,
            // Half as many more, and as many bytes beside them.
            Self::QueryBeside => 350 << 20,
            Self::IterateTenMillion => 1_600 << 20,
            _ => 16 << 20,
        }
    }

    /// Memory that one contender at a time may need, in bytes: where it holds all entities twice,
    /// with the components of both sides of a move, or while its tables grow.
    #[must_use]
    pub fn memory_at_once(self) -> u64 {
        match self {
            Self::IterateTenMillion => 1_600 << 20,
            _ => 500 << 20,
        }
    }

    /// Whether a contender that can do so much takes part on `threads` threads.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn admits(self, able: EcsAbilities, threads: usize) -> Result<(), Unsupported> {
        let needs = |ability: bool, otherwise: &'static str| match ability {
            true => Ok(()),
            false => Err(Unsupported::because(otherwise)),
        };
        let adds = || needs(able.adds_to_slices, "has no call that adds to many");
        let removes = || {
            needs(
                able.removes_from_slices,
                "has no call that removes from many",
            )
        };
        let measured = || match able.schedules {
            true => needs(able.solves, "is not measured in this row"),
            false => needs(able.solves, "has no schedule"),
        };
        match self {
            Self::AddRemoveSlice => adds().and_then(|()| removes()),
            Self::AddSlice => adds(),
            Self::Deferred(case) => {
                let creates = matches!(case, DeferredCase::Spawn { .. } | DeferredCase::Mix);
                let alone = creates && threads > 1 && !able.creates_on_threads;
                needs(able.records, "records no commands")
                    .and_then(|()| needs(!alone, "creates on one thread only"))
            }
            Self::FlushFew(_) => needs(able.records, "records no commands"),
            Self::QueryBeside => needs(
                able.creates_beside_queries,
                "creates nothing while a query runs",
            ),
            Self::RemoveSlice => removes(),
            Self::SpawnTemplates => needs(able.spawns_templates, "has no templates"),
            Self::Schedule | Self::ScheduleFromMain if threads > 1 => {
                needs(able.schedules, "runs no systems side by side")
            }
            Self::EmptySystems(_) | Self::Solve => measured(),
            Self::SolveArchetype => measured().and_then(|()| {
                needs(
                    able.solves_archetypes,
                    "does not look at archetypes to find an order",
                )
            }),
            Self::Serialize => needs(
                able.serializes,
                "writes no world by itself, or is not measured in this row",
            ),
            Self::DespawnHalfSlice => needs(able.despawns_slices, "has no call that destroys many"),
            Self::GetSlice => needs(able.looks_slices_up, "has no call that looks many up"),
            _ => Ok(()),
        }
    }

    /// Sets `C` up for the workload on `threads` threads.
    ///
    /// # Errors
    /// Why `C` cannot take part.
    pub fn set_up<C: EcsContender>(
        self,
        threads: usize,
        size: Size,
    ) -> Result<Arc<dyn Subject>, Unsupported> {
        self.admits(C::ABILITIES, threads)?;
        Ok(match self {
            Self::SimpleInsert => Arc::new(small::SimpleInsert::<C>::new(size)),
            Self::SimpleIter => Arc::new(small::SimpleIter::<C>::new(size)),
            Self::FragmentedIter => Arc::new(small::FragmentedIter::<C>::new()),
            Self::AddRemoveSingle => Arc::new(small::AddRemove::<C>::new(false, size)),
            Self::AddRemoveSlice => Arc::new(small::AddRemove::<C>::new(true, size)),
            Self::SpawnMillion => Arc::new(spawn::InBatch::<C>::new(size)),
            Self::SpawnTemplates => Arc::new(crowd::Rows::<C>::new(size, threads)?),
            Self::SpawnMillionSingle => Arc::new(spawn::OneByOne::<C>::new(size)),
            Self::DespawnHalfSingle => Arc::new(spawn::RandomHalf::<C>::new(false, size)),
            Self::DespawnHalfSlice => Arc::new(spawn::RandomHalf::<C>::new(true, size)),
            Self::GetSingle => Arc::new(read::Get::<C>::new(false, size.of(MILLION), threads)?),
            Self::GetSlice => Arc::new(read::Get::<C>::new(true, size.of(MILLION), threads)?),
            Self::IterateMillion => Arc::new(read::Iterate::<C>::new(size.of(MILLION), threads)?),
            Self::IterateTenMillion => {
                Arc::new(read::Iterate::<C>::new(size.of(10 * MILLION), threads)?)
            }
            Self::ComponentSingle => Arc::new(component::Component::<C>::new(Way::OneByOne, size)),
            Self::AddSlice => Arc::new(component::Component::<C>::new(Way::AddSlice, size)),
            Self::RemoveSlice => Arc::new(component::Component::<C>::new(Way::RemoveSlice, size)),
            Self::Archetypes(of_each) => Arc::new(archetypes::Iterate::<C>::new(of_each)),
            Self::NewQuery => Arc::new(archetypes::NewQuery::<C>::new()),
            Self::Deferred(case) => Arc::new(deferred::Recorded::<C>::new(case, threads, size)?),
            Self::FlushFew(few) => Arc::new(few::Few::<C>::new(few, size)),
            Self::QueryBeside => Arc::new(beside::Rows::<C>::new(size)?),
            Self::Schedule => Arc::new(systems::Frames::new::<C>(
                SystemsCase::swaps(size, false),
                threads,
            )?),
            Self::ScheduleFromMain => Arc::new(systems::Frames::new::<C>(
                SystemsCase::swaps(size, true),
                threads,
            )?),
            Self::HeavyCompute => Arc::new(systems::Frames::new::<C>(
                SystemsCase::heavy(size),
                threads,
            )?),
            Self::Serialize => Arc::new(serialize::Serialize::<C>::new(size)),
            Self::UpdateMixed => Arc::new(systems::Frames::new::<C>(
                SystemsCase::mixed(size),
                threads,
            )?),
            Self::EmptySystems(systems) => Arc::new(systems::Frames::new::<C>(
                SystemsCase::Empty { systems },
                threads,
            )?),
            Self::Solve => Arc::new(systems::Solve::new::<C>(false)),
            Self::SolveArchetype => Arc::new(systems::Solve::new::<C>(true)),
        })
    }
}

/// What a contender does to entities.
type Change<C> = fn(&mut C, &[<C as EcsContender>::Id]);

/// What [`EcsContender::positions`] says of the entities `0..entities` after `steps` steps.
fn positions(entities: u32, steps: u64) -> Tally {
    Tally::of((0..entities).map(|number| values::position(number)[0] + steps as f32))
}

/// What [`EcsContender::extras`] says of so many.
fn extras(count: usize) -> Tally {
    Tally {
        count,
        sum: f64::from(values::EXTRA) * count as f64,
    }
}

/// The product's world of `fragmented_iter`, with so many entities of each of its 26 kinds.
pub(crate) fn fragmented(of_each: u32) -> World {
    small::fragmented::<Megachunk>(of_each).into_world()
}

/// The product's world of `archetypes_1000x20`, with so many entities in each of its 1,000 archetypes.
pub(crate) fn archetypes(of_each: u32) -> World {
    archetypes::world::<Megachunk>(of_each).into_world()
}

/// How a contender creates entities of each of the 26 kinds of `fragmented_iter`.
fn kinds<C: EcsContender>() -> [fn(&mut C, u32); 26] {
    [
        C::spawn_kind::<0>,
        C::spawn_kind::<1>,
        C::spawn_kind::<2>,
        C::spawn_kind::<3>,
        C::spawn_kind::<4>,
        C::spawn_kind::<5>,
        C::spawn_kind::<6>,
        C::spawn_kind::<7>,
        C::spawn_kind::<8>,
        C::spawn_kind::<9>,
        C::spawn_kind::<10>,
        C::spawn_kind::<11>,
        C::spawn_kind::<12>,
        C::spawn_kind::<13>,
        C::spawn_kind::<14>,
        C::spawn_kind::<15>,
        C::spawn_kind::<16>,
        C::spawn_kind::<17>,
        C::spawn_kind::<18>,
        C::spawn_kind::<19>,
        C::spawn_kind::<20>,
        C::spawn_kind::<21>,
        C::spawn_kind::<22>,
        C::spawn_kind::<23>,
        C::spawn_kind::<24>,
        C::spawn_kind::<25>,
    ]
}

/// Each thread of `pool` works on its part of `ids`; what they say together.
pub fn in_parts<I: Sync>(
    pool: &ThreadPool,
    ids: &[I],
    work: impl Fn(&[I]) -> Tally + Send + Sync,
) -> Tally {
    let part = ids.len().div_ceil(pool.current_num_threads()).max(1);
    pool.install(|| {
        let tallies = ids.par_chunks(part).map(work);
        tallies.reduce(Tally::default, Tally::and)
    })
}

fn locked<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock()
        .expect("a subject whose worker panicked is not used again")
}

/// A contender by its type alone, so that a list can hold several.
pub trait EcsEntrant: Send + Sync {
    /// The name in tables.
    fn name(&self) -> &'static str;
    /// Whether it can take part in `workload` on `threads` threads.
    fn is_admitted(&self, workload: EcsWorkload, threads: usize) -> bool;
    /// See [`EcsContender::try_room`].
    ///
    /// # Errors
    /// What the system says.
    fn try_room(&self) -> io::Result<()>;
    /// See [`EcsWorkload::set_up`].
    ///
    /// # Errors
    /// Why the contender cannot take part.
    fn set_up(
        &self,
        workload: EcsWorkload,
        threads: usize,
        size: Size,
    ) -> Result<Arc<dyn Subject>, Unsupported>;
}

/// The entrant for `C`.
#[must_use]
pub fn entrant<C: EcsContender>() -> Box<dyn EcsEntrant> {
    struct Entrant<C>(core::marker::PhantomData<fn() -> C>);

    impl<C: EcsContender> EcsEntrant for Entrant<C> {
        fn name(&self) -> &'static str {
            C::NAME
        }

        fn is_admitted(&self, workload: EcsWorkload, threads: usize) -> bool {
            workload.admits(C::ABILITIES, threads).is_ok()
        }

        fn try_room(&self) -> io::Result<()> {
            C::try_room()
        }

        fn set_up(
            &self,
            workload: EcsWorkload,
            threads: usize,
            size: Size,
        ) -> Result<Arc<dyn Subject>, Unsupported> {
            workload.set_up::<C>(threads, size)
        }
    }

    Box::new(Entrant::<C>(core::marker::PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_measured_in_a_row_is_not_said_to_have_no_schedule() {
        let schedules = EcsAbilities {
            schedules: true,
            ..EcsAbilities::SINGLE
        };
        for row in [
            EcsWorkload::EmptySystems(100),
            EcsWorkload::Solve,
            EcsWorkload::SolveArchetype,
        ] {
            let why = |able| row.admits(able, 1).unwrap_err().to_string();
            assert_eq!(why(schedules), "is not measured in this row");
            assert_eq!(why(EcsAbilities::SINGLE), "has no schedule");
        }
    }
}
