//! Who is asked, for how long, and what is left afterwards.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::workers::{Job, Workers, with_workers};

use crate::teams::{Count, Counts, Fate, Odd, Team, is_of_a_team};
use crate::{comes, numbers};

#[test]
fn a_team_helps_and_rayon_makes_no_threads() {
    let team = Team::of(3);
    let mut world = numbers(100_000);
    let (helped, waited) = (AtomicBool::new(false), AtomicBool::new(true));
    with_workers(team.clone(), || {
        let mut all = world.query::<&mut u32, ()>().unwrap();
        all.par_for_each(|n| {
            *n += 1;
            if is_of_a_team() {
                helped.store(true, Ordering::Relaxed);
            } else if *n == 1 && !comes(|| helped.load(Ordering::Relaxed)) {
                // (Whoever has the first row: if it is the team, all is well.)
                waited.store(false, Ordering::Relaxed);
            }
        });
    });
    assert!(waited.into_inner());
    // Schedules, too.
    let both = Arc::new(AtomicUsize::new(0));
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    for name in ["one", "other"] {
        let both = Arc::clone(&both);
        schedule.add(processor(name, move || {
            both.fetch_add(1, Ordering::Relaxed);
            assert!(comes(|| both.load(Ordering::Relaxed) == 2), "side by side");
        }));
    }
    with_workers(team.clone(), || schedule.run(&mut world)).unwrap();
    assert!(team.given.load(Ordering::Relaxed) > 0);
    let global = rayon::ThreadPoolBuilder::new().build_global();
    assert!(global.is_ok(), "it was made before");
}

#[test]
fn a_loop_in_a_job_asks_the_same_workers() {
    let team = Team::of(3);
    let mut worlds = World::new();
    for number in 0..8_u32 {
        worlds
            .create((Mutex::new(numbers(20_000)), number))
            .unwrap();
    }
    let asked = || team.given_by_its_own.load(Ordering::Relaxed) > 0;
    let mut inner = Query::<&mut Mutex<World>>::new(&worlds).unwrap();
    with_workers(team.clone(), || {
        inner.on(&mut worlds).par_for_each(|world| {
            let mut all = world.get_mut().unwrap().query::<&mut u32, ()>().unwrap();
            all.par_for_each(|n| *n += 1);
            // On the asking thread, so that the others have some.
            assert!(
                is_of_a_team() || comes(asked),
                "a loop on a thread of the team asks it"
            );
        });
    });
    for world in worlds.query::<&mut Mutex<World>, ()>().unwrap().iter() {
        let mut all = world.get_mut().unwrap().query::<&u32, ()>().unwrap();
        let sum: u64 = all.iter().map(|&n| u64::from(n)).sum();
        assert_eq!(sum, 20_000 * 20_001 / 2);
    }
}

#[test]
fn jobs_that_are_kept_hold_nothing_and_come_too_late() {
    let keeps = Odd::new(Count::Is(4), Fate::Kept, Ok(false));
    let mut world = numbers(100_000);
    let lent = Arc::new(AtomicUsize::new(0));
    let held = Arc::clone(&lent);
    with_workers(keeps.clone(), || {
        let mut all = world.query::<&mut u32, ()>().unwrap();
        for _ in 0..2 {
            let held = Arc::clone(&held);
            all.par_for_each(move |_| _ = held.fetch_add(1, Ordering::Relaxed));
        }
        drop(held);
    });
    drop(world);
    assert_eq!(Arc::strong_count(&lent), 1, "the closure has gone");
    assert_eq!(Arc::strong_count(&keeps), 1, "though jobs of theirs wait");
    let kept = std::mem::take(&mut *keeps.kept.lock().unwrap());
    // The first two of each loop: these would ask the third.
    assert_eq!(kept.len(), 4);
    let left = Arc::downgrade(&keeps);
    drop(keeps);
    assert!(left.upgrade().is_none());
    for (at, job) in kept.into_iter().enumerate() {
        match at {
            0 => job.run(),
            1 => thread::spawn(|| job.run()).join().unwrap(),
            _ => drop(job),
        }
    }
    assert_eq!(lent.load(Ordering::Relaxed), 200_000, "each row once");
}

#[test]
fn a_panic_in_a_loop_comes_back_to_who_asked_and_not_to_the_team() {
    let team = Team::of(3);
    let mut world = numbers(200_000);
    for bad in [0, 100_000, 199_999] {
        let found = catch_unwind(AssertUnwindSafe(|| {
            with_workers(team.clone(), || {
                let mut all = world.query::<&u32, ()>().unwrap();
                all.par_for_each(|&n| {
                    if n == bad {
                        std::panic::resume_unwind(Box::new(n));
                    }
                });
            });
        }));
        let panic = found.expect_err("it comes back");
        assert_eq!(panic.downcast_ref::<u32>(), Some(&bad));
    }
    // Its threads are there still: `Team` asks each, when it is dropped, whether it has panicked.
    let seen = AtomicUsize::new(0);
    let all = || {
        let mut all = world.query::<&u32, ()>().unwrap();
        all.par_for_each(|_| _ = seen.fetch_add(1, Ordering::Relaxed));
    };
    with_workers(team.clone(), all);
    assert_eq!(seen.into_inner(), 200_000);
    assert_eq!(Arc::strong_count(&team), 1);
}

#[test]
fn whose_threads_are_asked_holds_as_long_as_the_closure_whoever_panics() {
    let (outer, inner) = (Arc::new(Counts::default()), Arc::new(Counts::default()));
    let mut world = numbers(50_000);
    let mut walk = || {
        let mut all = world.query::<&mut u32, ()>().unwrap();
        all.par_for_each(|n| *n += 1);
    };
    with_workers(outer.clone(), || {
        assert_eq!(outer.asked_in(&mut walk), 1);
        let within = || {
            assert_eq!(inner.asked_in(&mut walk), 1);
            std::panic::resume_unwind(Box::new(()));
        };
        let panic = catch_unwind(AssertUnwindSafe(|| {
            with_workers::<()>(inner.clone(), within)
        }));
        assert!(panic.is_err());
        assert_eq!(
            inner.asked_in(|| assert_eq!(outer.asked_in(&mut walk), 1)),
            0
        );
        // Another pool's threads are that pool's.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let pool = pool.unwrap();
        assert_eq!(outer.asked_in(|| pool.install(&mut walk)), 0);
        // On a thread of a pool one's own go first.
        let on_pool = || pool.install(|| with_workers(inner.clone(), &mut walk));
        assert_eq!(inner.asked_in(on_pool), 1);
    });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let asked = || outer.asked_in(|| pool.unwrap().install(&mut walk));
    assert_eq!(inner.asked_in(|| assert_eq!(asked(), 0)), 0);
    assert_eq!(
        (Arc::strong_count(&outer), Arc::strong_count(&inner)),
        (1, 1)
    );
}

/// Begins parallel work wherever it is called.
struct Eager(Mutex<World>, AtomicUsize, AtomicBool);

impl Eager {
    fn walk(&self) {
        let Ok(mut world) = self.0.try_lock() else {
            return self.2.store(true, Ordering::Relaxed);
        };
        self.1.fetch_add(1, Ordering::Relaxed);
        let mut all = world.query::<&mut u32, ()>().unwrap();
        all.par_for_each(|n| *n += 1);
    }
}

impl Workers for Eager {
    fn threads(&self) -> usize {
        self.walk();
        4
    }

    fn spawn(&self, job: Job) {
        self.walk();
        job.run();
        self.walk();
    }
}

#[test]
fn workers_that_begin_parallel_work_themselves_do_it_alone() {
    let eager = Eager(
        Mutex::new(numbers(20_000)),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    let eager = Arc::new(eager);
    let mut world = numbers(20_000);
    with_workers(eager.clone(), || {
        let mut all = world.query::<&mut u32, ()>().unwrap();
        all.par_for_each(|n| *n += 1);
    });
    let walks = eager.1.load(Ordering::Relaxed) as u64;
    assert!(walks >= 3, "{walks} walks");
    assert!(!eager.2.load(Ordering::Relaxed), "a walk within a walk");
    let sum = |world: &mut World| {
        let mut all = world.query::<&u32, ()>().unwrap();
        all.iter().map(|&n| u64::from(n)).sum::<u64>()
    };
    let before: u64 = 20_000 * 19_999 / 2;
    assert_eq!(sum(&mut world), before + 20_000);
    assert_eq!(sum(&mut eager.0.lock().unwrap()), before + 20_000 * walks);
}

#[test]
fn who_waits_for_a_helper_does_something_else_meanwhile() {
    let team = Team::of(2);
    let mut world = numbers(2);
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let came = Arc::new(AtomicUsize::new(0));
    for name in ["one", "other"] {
        let (came, team) = (Arc::clone(&came), Arc::clone(&team));
        schedule.add(processor(name, move || {
            came.fetch_add(1, Ordering::Relaxed);
            assert!(comes(|| came.load(Ordering::Relaxed) == 2), "side by side");
            if is_of_a_team() {
                // Until the other thread has had nothing to do and has waited.
                assert!(comes(|| team.waits.load(Ordering::Relaxed) > 2));
            }
        }));
    }
    with_workers(team.clone(), || schedule.run(&mut world)).unwrap();
    assert_eq!(came.load(Ordering::Relaxed), 2);
    assert!(team.waits.load(Ordering::Relaxed) > 2);
}

/// Panics when it is dropped.
struct Burns;

impl Workers for Burns {
    fn threads(&self) -> usize {
        2
    }

    fn spawn(&self, _job: Job) {}
}

impl Drop for Burns {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("dropped"));
    }
}

#[test]
fn workers_that_panic_as_they_go_do_so_behind_the_closure() {
    let (result, kept) = (Arc::new(()), Arc::new(()));
    let given = Arc::clone(&result);
    let found = catch_unwind(AssertUnwindSafe(|| with_workers(Arc::new(Burns), || given)));
    assert_eq!(found.unwrap_err().downcast_ref(), Some(&"dropped"));
    assert_eq!(
        Arc::strong_count(&result),
        1,
        "what was given back is not lost"
    );
    // After a panic of the closure it is that which goes on.
    let held = Arc::clone(&kept);
    let work = || std::panic::resume_unwind(Box::new(held));
    let found = catch_unwind(AssertUnwindSafe(|| {
        with_workers::<()>(Arc::new(Burns), work)
    }));
    assert!(found.unwrap_err().is::<Arc<()>>());
    assert_eq!(Arc::strong_count(&kept), 1);
}

/// Runs each job within a scope of its own, where it is given.
struct Nests;

thread_local! {
    static IN_SPAWN: Cell<bool> = const { Cell::new(false) };
}

impl Workers for Nests {
    fn threads(&self) -> usize {
        4
    }

    fn spawn(&self, job: Job) {
        let before = IN_SPAWN.replace(true);
        with_workers(Arc::new(Counts::default()), || job.run());
        IN_SPAWN.set(before);
        std::panic::resume_unwind(Box::new(Late));
    }
}

/// A panic that ends with parallel work in a scope of its own.
struct Late;

impl Drop for Late {
    fn drop(&mut self) {
        let before = IN_SPAWN.replace(true);
        let keeps = Odd::new(Count::Is(2), Fate::RunHere, Ok(false));
        let mut world = numbers(10_000);
        let mut all = world.query::<&u32, ()>().unwrap();
        let seen = AtomicUsize::new(0);
        with_workers(keeps, || {
            all.par_for_each(|_| _ = seen.fetch_add(1, Ordering::Relaxed))
        });
        assert_eq!(seen.into_inner(), 10_000);
        IN_SPAWN.set(before);
    }
}

#[test]
fn no_job_runs_where_it_is_given_though_a_scope_begins_there() {
    let mut world = numbers(50_000);
    let (seen, within) = (AtomicUsize::new(0), AtomicUsize::new(0));
    with_workers(Arc::new(Nests), || {
        let mut all = world.query::<&u32, ()>().unwrap();
        all.par_for_each(|_| {
            seen.fetch_add(1, Ordering::Relaxed);
            if IN_SPAWN.get() {
                within.fetch_add(1, Ordering::Relaxed);
            }
        });
    });
    assert_eq!((seen.into_inner(), within.into_inner()), (50_000, 0));
    // Afterwards the thread runs jobs as before.
    let helped = Odd::new(Count::Is(3), Fate::Kept, Ok(false));
    with_workers(helped.clone(), || {
        let mut all = world.query::<&u32, ()>().unwrap();
        all.par_for_each(|_| {
            let job = helped.kept.lock().unwrap().pop();
            _ = job.map(Job::run);
        });
    });
    assert!(helped.kept.lock().unwrap().is_empty());
}
