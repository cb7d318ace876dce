//! Models of what threads share out: a flush, and a schedule whose processors run side by side. Their threads are the model's:
//! a program's own workers, as the library sees them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use megachunk::chunk::ChunkOptions;
use megachunk::command::FlushReport;
use megachunk::entity::IndexOptions;
use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::workers::{Job, Workers, with_workers};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

/// Threads beside the one that asks.
const HELPERS: usize = 2;
/// Entities that are there before.
const OLD: u32 = 10;

/// What becomes of jobs, one after the other.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Queued,
    Dropped,
    /// It is run when all is over.
    Late,
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<Job>,
    late: VecDeque<Job>,
    given: usize,
    over: bool,
}

/// Threads that take jobs from a queue.
struct Team {
    jobs: Mutex<Jobs>,
    comes: Condvar,
    fates: &'static [Fate],
    /// Threads beside the one that asks.
    helpers: usize,
    /// Who waits runs jobs.
    waits_with_jobs: bool,
}

impl Team {
    fn serve(&self) {
        let mut jobs = self.jobs.lock().expect("nobody panics in it");
        loop {
            if let Some(job) = jobs.queue.pop_front() {
                drop(jobs);
                job.run();
                jobs = self.jobs.lock().expect("nobody panics in it");
            } else if jobs.over {
                return;
            } else {
                jobs = self.comes.wait(jobs).expect("nobody panics in it");
            }
        }
    }
}

impl Workers for Team {
    fn threads(&self) -> usize {
        self.helpers + 1
    }

    fn spawn(&self, job: Job) {
        let mut jobs = self.jobs.lock().expect("nobody panics in it");
        let fate = self.fates[jobs.given % self.fates.len()];
        jobs.given += 1;
        match fate {
            Fate::Queued => jobs.queue.push_back(job),
            Fate::Dropped => drop(job),
            Fate::Late => jobs.late.push_back(job),
        }
        drop(jobs);
        self.comes.notify_one();
    }

    fn yield_now(&self) -> bool {
        let job = match self.waits_with_jobs {
            true => { self.jobs.lock().expect("nobody panics in it") }
                .queue
                .pop_front(),
            false => None,
        };
        let Some(job) = job else {
            thread::yield_now();
            return false;
        };
        job.run();
        true
    }
}

/// No threads: who asks does all.
struct Alone;

impl Workers for Alone {
    fn threads(&self) -> usize {
        1
    }

    fn spawn(&self, _job: Job) {}
}

/// Does something with helpers whose jobs have these fates; without any, alone.
fn shared<R>(fates: &'static [Fate], work: impl FnOnce() -> R) -> R {
    if fates.is_empty() {
        return with_workers(Arc::new(Alone), work);
    }
    shared_with(HELPERS, false, fates, work)
}

/// Does something with so many helpers, who run jobs in their waits or do not.
fn shared_with<R>(
    helpers: usize,
    waits_with_jobs: bool,
    fates: &'static [Fate],
    work: impl FnOnce() -> R,
) -> R {
    let team = Arc::new(Team {
        jobs: Mutex::new(Jobs::default()),
        comes: Condvar::new(),
        fates,
        helpers,
        waits_with_jobs,
    });
    let serve = |_| {
        let team = Arc::clone(&team);
        thread::spawn(move || team.serve())
    };
    let helpers: Vec<_> = (0..helpers).map(serve).collect();
    let done = with_workers(team.clone(), work);
    let mut jobs = team.jobs.lock().expect("nobody panics in it");
    assert!(jobs.given > 0, "nothing was shared out");
    jobs.over = true;
    let late = core::mem::take(&mut jobs.late);
    jobs.queue.extend(late);
    drop(jobs);
    team.comes.notify_all();
    for helper in helpers {
        helper.join().expect("it does not panic");
    }
    assert_eq!(Arc::strong_count(&team), 1, "nobody has them");
    done
}

/// A world with some entities, which shares out all that it can. Not one that goes on with the memory of an earlier one: each
/// execution is to be as the first.
fn stage() -> (World, Vec<Entity>) {
    let universe = Universe::ordered_with(&IndexOptions::new(), &ChunkOptions::new());
    let universe = Arc::new(universe.expect("there are addresses"));
    let mut world = World::of(&universe).expect("the first world of a universe");
    let registered = [
        world.registry().register_plain::<u8>(),
        world.registry().register_plain::<u32>(),
        world.registry().register_plain::<u64>(),
    ];
    assert!(registered.iter().all(Result::is_ok));
    world.set_flush_threads_from(Some(1));
    let old = (0..OLD).map(|n| world.create((n, u64::from(n))));
    let old = old.map(|made| made.expect("far from full")).collect();
    (world, old)
}

/// What is left of a world: its hash, and what its flushes reported.
#[derive(Debug, PartialEq)]
struct Left {
    state: u64,
    reports: Vec<[usize; 5]>,
}

impl Left {
    fn of(world: World, reports: &[FlushReport]) -> Self {
        world.universe().check([&world]).expect("a sound world");
        let state = with_workers(Arc::new(Alone), || world.state_hash(&Default::default()));
        let counts = |report: &FlushReport| {
            assert!(report.refused.is_empty());
            [
                report.created,
                report.commands,
                report.destroyed,
                report.moved,
                report.updated,
            ]
        };
        Self {
            state: state.expect("plain values"),
            reports: reports.iter().map(counts).collect(),
        }
    }
}

fn flushed(fates: &'static [Fate]) -> Left {
    let (mut world, old) = stage();
    let mut commands = world.commands();
    for (n, &entity) in (0_u32..).zip(&old) {
        let recorded = match n % 5 {
            0 => commands.set(entity, 100 + n).is_ok(),
            1 => commands.add(entity, (n as u8,)).is_ok(),
            2 => commands.remove::<(u64,)>(entity).is_ok(),
            3 => {
                commands.destroy(entity);
                true
            }
            _ => commands.create((n, 1_u64)).is_ok(),
        };
        assert!(recorded);
    }
    drop(commands);
    let report = shared(fates, || world.flush());
    Left::of(world, &[report])
}

pub(super) fn a_flush_that_threads_share_leaves_the_same_world() {
    assert_eq!(flushed(&[Fate::Queued]), flushed(&[]));
}

/// Two frames of a schedule whose processors wait for each other, one of them for the thread that runs it, and one of which
/// shares out a loop of its own.
fn run(fates: &'static [Fate]) -> Left {
    let (mut world, _) = stage();
    let own = thread::current().id();
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    schedule
        .add(processor("grow", |mut all: QueryRun<'_, &mut u32>| {
            all.par_for_each(|n| *n = n.wrapping_mul(3) + 1);
        }))
        .add(processor("turn", |mut all: QueryRun<'_, &mut u64>| {
            all.for_each(|n| *n += 1);
        }))
        .add(
            processor("here", move |mut all: QueryRun<'_, (&u32, &mut u64)>| {
                assert_eq!(thread::current().id(), own, "it is bound to that thread");
                all.for_each(|(&n, twin)| *twin = twin.wrapping_mul(7) + u64::from(n));
            })
            .main_thread()
            .after("grow")
            .after("turn"),
        )
        .add(
            processor("look", |mut all: QueryRun<'_, &u32>| {
                all.for_each(|&n| assert_eq!(n % 3, 1, "it has grown"));
            })
            .after("grow"),
        )
        .add(
            processor(
                "change",
                |mut all: QueryRun<'_, (Entity, &u64)>, mut commands: Commands<'_>| {
                    all.for_each(|(entity, &n)| {
                        if n % 4 == 0 {
                            commands.destroy(entity);
                        }
                    });
                    let made = commands.create((1_u32, 2_u64, 3_u8));
                    assert!(made.is_ok());
                },
            )
            .after("here"),
        );
    let mut reports = Vec::new();
    for _ in 0..2 {
        let ran = shared(fates, || schedule.run(&mut world));
        reports.push(ran.expect("nothing panics").flush);
    }
    Left::of(world, &reports)
}

pub(super) fn a_schedule_side_by_side_whose_jobs_are_late_or_dropped() {
    let fates = &[Fate::Queued, Fate::Late, Fate::Queued, Fate::Dropped];
    assert_eq!(run(fates), run(&[]));
}

/// Threads that help in the tree: who asks has two below it, and the first of these two more.
const TREE: usize = 4;

pub(super) fn a_tree_of_asks_with_loops_within_and_a_panic_does_each_row_once() {
    let fates = &[
        Fate::Queued,
        Fate::Queued,
        Fate::Queued,
        Fate::Dropped,
        Fate::Queued,
        Fate::Late,
    ];
    let (mut world, _) = stage();
    let (inner, _) = stage();
    let inner = Mutex::new(inner);
    let inside = AtomicU32::new(0);
    let mut rows = |bad: bool| {
        let ran = AssertUnwindSafe(|| {
            let mut all = Query::<(&u32, &mut u64)>::new(&world).expect("no fragment twice");
            all.on(&mut world).par_for_each(|(&n, times)| {
                inside.fetch_add(1, Ordering::Relaxed);
                *times += 100;
                // One of them has a loop within, for which it waits; and what it runs meanwhile is of the one without.
                if n == 3 {
                    let mut inner = inner.lock().expect("nobody panics in it");
                    let mut all = Query::<&mut u64>::new(&inner).expect("no fragment twice");
                    all.on(&mut inner).par_for_each(|times| *times += 100);
                }
                inside.fetch_sub(1, Ordering::Relaxed);
                if bad && n == 7 {
                    resume_unwind(Box::new("bad"));
                }
            });
        });
        let ran = catch_unwind(ran);
        assert_eq!(inside.load(Ordering::Relaxed), 0, "all have left");
        ran.is_err_and(|panic| panic.downcast_ref() == Some(&"bad"))
    };
    shared_with(TREE, true, fates, || {
        assert!(!rows(false));
        assert!(rows(true), "it comes back, whoever ran it");
        assert!(!rows(false));
    });
    let mut all = Query::<(&u32, &u64)>::new(&world).expect("no fragment twice");
    all.on(&mut world).for_each(|(&n, &times)| {
        let times = times - u64::from(n);
        // In the second loop some rows were left out.
        assert!(times == 300 || times == 200 && n != 7, "{n}: {times}");
    });
    let mut inner = inner.into_inner().expect("nobody panics in it");
    let mut all = Query::<(&u32, &u64)>::new(&inner).expect("no fragment twice");
    let mut sums: Vec<u64> = Vec::new();
    all.on(&mut inner)
        .for_each(|(&n, &times)| sums.push(times - u64::from(n)));
    sums.sort_unstable();
    sums.dedup();
    assert!(sums == [300] || sums == [200], "{sums:?}");
}
