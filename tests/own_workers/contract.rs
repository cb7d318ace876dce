//! Who is asked, for how long, and what is left afterwards.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::workers::{Job, Workers, with_workers};

use crate::teams::{Count, Fate, Odd, TEAM, Team, is_of_a_team};

fn numbers(count: u32) -> World {
    let mut world = World::new();
    let _ = world.create_batch((0..count).map(|n| (n,))).unwrap();
    world
}

/// Waits until that holds, up to half a minute; whether it does.
fn comes(holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > Duration::from_secs(30) {
            return false;
        }
        thread::yield_now();
    }
    true
}

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

/// Drops all jobs, and counts them.
#[derive(Default)]
struct Counts(AtomicUsize);

impl Counts {
    /// How often it was asked meanwhile.
    fn asked_in(&self, work: impl FnOnce()) -> usize {
        let before = self.0.load(Ordering::Relaxed);
        work();
        self.0.load(Ordering::Relaxed) - before
    }
}

impl Workers for Counts {
    fn threads(&self) -> usize {
        2
    }

    fn spawn(&self, job: Job) {
        self.0.fetch_add(1, Ordering::Relaxed);
        drop(job);
    }
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

#[test]
fn a_trace_tells_the_threads_of_a_team_from_the_schedules_own() {
    let team = Team::of(2);
    let mut world = numbers(1);
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    side_by_side(&mut schedule, ["one", "other"]);
    schedule.start_trace();
    with_workers(team, || schedule.run(&mut world)).unwrap();
    let text = trace_of(&mut schedule);
    let (one, other) = threads_in(&text);
    assert_ne!(one, other);
    assert!([&one, &other].contains(&&"0".to_owned()));
    // Its row has the name that the program gave it.
    let row = if one == "0" { other } else { one };
    assert_eq!(name_of(&text, &row), Some(TEAM));
    assert_eq!(name_of(&text, "0"), Some("schedule"));
}

#[test]
fn a_helper_without_a_name_is_one_of_a_number_in_a_trace() {
    let starts = Odd::new(Count::Is(2), Fate::Kept, Ok(false));
    let (mut world, mut schedule) = (numbers(1), Schedule::new());
    schedule.set_execution(Execution::Beside);
    side_by_side(&mut schedule, ["one", "other"]);
    schedule.start_trace();
    thread::scope(|threads| {
        threads.spawn(|| {
            assert!(comes(|| !starts.kept.lock().unwrap().is_empty()));
            let job = starts.kept.lock().unwrap().pop();
            job.unwrap().run();
        });
        with_workers(starts.clone(), || schedule.run(&mut world)).unwrap();
    });
    // Rows of the pool's are those of the pool's still, also where both have worked.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    side_by_side(&mut schedule, ["third", "fourth"]);
    _ = pool.unwrap().install(|| schedule.run(&mut world)).unwrap();
    let text = trace_of(&mut schedule);
    let row = text
        .lines()
        .filter_map(|line| line.split_once("\"args\":{\"name\":\"helper "));
    let rows: Vec<&str> = row.map(|(_, number)| number).collect();
    let [row] = rows[..] else { panic!("{text}") };
    let number: u32 = row.split('"').next().unwrap().parse().unwrap();
    assert!(number >= 1, "{text}");
    assert!(text.contains("{\"name\":\"pool 0\"}"), "{text}");
}

/// Two processors, neither of which ends before the other has begun.
fn side_by_side(schedule: &mut Schedule, names: [&'static str; 2]) {
    let came = Arc::new(AtomicUsize::new(0));
    for name in names {
        let came = Arc::clone(&came);
        schedule.add(processor(name, move || {
            came.fetch_add(1, Ordering::Relaxed);
            assert!(comes(|| came.load(Ordering::Relaxed) >= 2), "side by side");
        }));
    }
}

/// The trace, as it is written.
fn trace_of(schedule: &mut Schedule) -> String {
    let mut text = Vec::new();
    schedule.take_trace().unwrap().write_to(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The name of a thread's row in it.
fn name_of<'t>(text: &'t str, thread: &str) -> Option<&'t str> {
    let is_its = format!("\"tid\":{thread},\"args\":");
    let row = text
        .lines()
        .find(|line| line.contains("thread_name") && line.contains(&is_its))?;
    let (_, name) = row.rsplit_once(":\"")?;
    name.split('"').next()
}

/// The numbers of the threads that they ran on, in the trace.
fn threads_of(schedule: &mut Schedule) -> (String, String) {
    threads_in(&trace_of(schedule))
}

fn threads_in(text: &str) -> (String, String) {
    let thread_of = |name: &str| {
        let event = text
            .lines()
            .find(|line| line.contains(&format!("\"name\":\"{name}\",\"cat\"")));
        let event = event.unwrap_or_else(|| panic!("{text}"));
        let (_, behind) = event.split_once("\"tid\":").unwrap();
        behind.split(',').next().unwrap().to_owned()
    };
    (thread_of("one"), thread_of("other"))
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

/// Says that there are fewer threads than there are.
struct Modest(Arc<Team>);

impl Workers for Modest {
    fn threads(&self) -> usize {
        2
    }

    fn spawn(&self, job: Job) {
        self.0.spawn(job);
    }

    fn yield_now(&self) -> bool {
        self.0.yield_now()
    }
}

#[test]
fn no_more_threads_are_at_work_on_a_run_than_there_are_said_to_be() {
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    // A tree: each lets two others go.
    for number in 1..64_u32 {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        let node = processor(number.to_string(), move || {
            let others = now.fetch_add(1, Ordering::Relaxed);
            most.fetch_max(others + 1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
            now.fetch_sub(1, Ordering::Relaxed);
        });
        schedule.add(match number {
            1 => node,
            _ => node.after((number / 2).to_string()),
        });
    }
    let team = Team::of(6);
    let mut world = World::new();
    with_workers(Arc::new(Modest(team.clone())), || schedule.run(&mut world)).unwrap();
    assert_eq!(now.load(Ordering::Relaxed), 0);
    let most = most.load(Ordering::Relaxed);
    assert!(team.given.load(Ordering::Relaxed) > 1);
    assert!(most <= 2, "{most} at once");
}

#[test]
fn who_keeps_all_jobs_is_given_no_more_and_others_are() {
    let keeps = Odd::new(Count::Is(64), Fate::Kept, Ok(false));
    let counts = Arc::new(Counts::default());
    let mut world = numbers(1_000);
    let mut walk = || {
        let mut all = world.query::<&mut u32, ()>().unwrap();
        all.par_for_each(|n| *n += 1);
    };
    let kept = || keeps.kept.lock().unwrap().len();
    with_workers(keeps.clone(), || {
        // What ends within, before any wait, makes no other count of them.
        with_workers(counts.clone(), || ());
        with_workers(keeps.clone(), || ());
        walk();
        let each = kept();
        assert_eq!(each, 2, "jobs of a loop whose helpers would ask the others");
        for _ in 0..4_096 / each + 2 {
            walk();
        }
        assert_eq!(kept(), 4_096);
        // Within, too.
        let asked = counts.asked_in(|| with_workers(counts.clone(), &mut walk));
        assert_eq!(asked, 1);
        // Those that go make room.
        keeps.kept.lock().unwrap().truncate(4_094);
        walk();
        assert_eq!(kept(), 4_096);
    });
    let asked = counts.asked_in(|| with_workers(counts.clone(), &mut walk));
    assert_eq!(asked, 1);
    // Nor is it given more in another frame.
    with_workers(keeps.clone(), &mut walk);
    assert_eq!(kept(), 4_096);
}

#[test]
fn a_trace_tells_two_threads_apart_that_both_have_workers() {
    let queue = Odd::new(Count::Is(2), Fate::Kept, Ok(false));
    let (mut world, mut schedule) = (numbers(1), Schedule::new());
    schedule.set_execution(Execution::Beside);
    side_by_side(&mut schedule, ["one", "other"]);
    schedule.start_trace();
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            with_workers(queue.clone(), || {
                while !over.load(Ordering::Relaxed) {
                    let job = queue.kept.lock().unwrap().pop();
                    job.map_or_else(thread::yield_now, Job::run);
                }
            });
        });
        let found = with_workers(queue.clone(), || schedule.run(&mut world));
        over.store(true, Ordering::Relaxed);
        found.unwrap();
    });
    let (one, other) = threads_of(&mut schedule);
    assert_ne!(one, other);
    assert!([one, other].contains(&"0".to_owned()));
}

/// Whether that holds in ten seconds.
fn comes_soon(holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::yield_now();
    }
    true
}

/// Where the parts of the run below are.
#[derive(Default)]
struct Stage {
    /// Whether a thread of the team has one of the first two processors.
    frees: AtomicBool,
    /// Whether one is in the loop that the schedule's thread waits for.
    held: AtomicBool,
    now: AtomicUsize,
    most: AtomicUsize,
    late: AtomicBool,
}

/// Four threads: one loop holds two of them, one of which waits for the other and does a part of the schedule meanwhile. When the
/// other is free, there is a place for it.
#[test]
fn who_waits_and_helps_with_the_call_it_works_on_takes_nobodys_place() {
    let (team, stage) = (Team::of(4), Arc::new(Stage::default()));
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let on = Arc::clone(&stage);
    let holds = processor("holds", move |mut all: QueryRun<'_, &mut u32>| {
        all.par_for_each_chunk(|_, _| {
            if is_of_a_team() {
                on.held.store(true, Ordering::Relaxed);
                // The other three are at work.
                assert!(comes(|| on.most.load(Ordering::Relaxed) >= 3));
            } else {
                assert!(comes(|| on.held.load(Ordering::Relaxed)));
            }
        });
    });
    schedule.add(holds.main_thread());
    // The schedule's thread may have one of them, and leaves it when the team has the other.
    for name in ["frees", "frees, too"] {
        let (on, team) = (Arc::clone(&stage), Arc::clone(&team));
        schedule.add(processor(name, move || {
            if is_of_a_team() {
                on.frees.store(true, Ordering::Relaxed);
                let waited = team.waits.load(Ordering::Relaxed);
                let waits = || team.waits.load(Ordering::Relaxed) > waited;
                assert!(comes(|| on.held.load(Ordering::Relaxed)) && comes(waits));
            } else {
                assert!(comes(|| on.frees.load(Ordering::Relaxed)));
            }
        }));
    }
    for number in 0..12 {
        let on = Arc::clone(&stage);
        let many = processor(number.to_string(), move || {
            let others = on.now.fetch_add(1, Ordering::Relaxed);
            on.most.fetch_max(others + 1, Ordering::Relaxed);
            let over = || on.most.load(Ordering::Relaxed) >= 4 || on.late.load(Ordering::Relaxed);
            if !comes_soon(over) {
                on.late.store(true, Ordering::Relaxed);
            }
            on.now.fetch_sub(1, Ordering::Relaxed);
        });
        schedule.add(many.after("frees").after("frees, too"));
    }
    let mut world = World::new();
    world.create((1_u32,)).unwrap();
    world.create((2_u32, 2_u8)).unwrap();
    with_workers(team.clone(), || schedule.run(&mut world)).unwrap();
    assert_eq!(stage.most.load(Ordering::Relaxed), 4, "at once");
}

/// Each job goes to a thread of its own, but for some that are dropped.
struct Starts {
    given: AtomicUsize,
    /// The threads on which it was given them.
    by: Mutex<Vec<thread::ThreadId>>,
    dropped: fn(usize) -> bool,
}

impl Workers for Starts {
    fn threads(&self) -> usize {
        24
    }

    fn spawn(&self, job: Job) {
        let nth = self.given.fetch_add(1, Ordering::Relaxed);
        self.by.lock().unwrap().push(thread::current().id());
        if !(self.dropped)(nth) {
            thread::spawn(move || job.run());
        }
    }
}

/// A queue with room for one job: where that is full, a job is let go.
struct Narrow {
    queue: mpsc::SyncSender<Job>,
    asker: thread::ThreadId,
    by_its_own: AtomicUsize,
    let_go: AtomicUsize,
}

impl Workers for Narrow {
    fn threads(&self) -> usize {
        16
    }

    fn spawn(&self, job: Job) {
        if thread::current().id() != self.asker {
            self.by_its_own.fetch_add(1, Ordering::Relaxed);
        }
        // (Who waited here until somebody takes it would be the one that is to.)
        if self.queue.try_send(job).is_err() {
            self.let_go.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_queue_that_is_full_lets_jobs_go_that_workers_give_it_from_within_theirs() {
    let (queue, taken) = mpsc::sync_channel::<Job>(1);
    let taken = Arc::new(Mutex::new(taken));
    let work = |_| {
        let taken = Arc::clone(&taken);
        thread::spawn(move || {
            loop {
                let job = taken.lock().unwrap().recv();
                let Ok(job) = job else { break };
                job.run();
            }
        })
    };
    let threads: Vec<_> = (0..2).map(work).collect();
    let narrow = Arc::new(Narrow {
        queue,
        asker: thread::current().id(),
        by_its_own: AtomicUsize::new(0),
        let_go: AtomicUsize::new(0),
    });
    let mut world = numbers(100_000);
    let sum = AtomicUsize::new(0);
    with_workers(narrow.clone(), || {
        let mut all = world.query::<&u32, ()>().unwrap();
        all.par_for_each(|&n| {
            sum.fetch_add(n as usize, Ordering::Relaxed);
            // Two threads, each of which asks two others before it works, and room for one job.
            let some = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
            assert!(comes(|| some(&narrow.by_its_own) && some(&narrow.let_go)));
        });
    });
    assert_eq!(sum.into_inner(), 100_000 * 99_999 / 2);
    let narrow = Arc::into_inner(narrow).expect("no job keeps it");
    drop(narrow);
    for thread in threads {
        thread.join().expect("jobs do not panic");
    }
}

#[test]
fn who_asks_gives_two_jobs_itself_and_helpers_the_others() {
    let here = thread::current().id();
    for dropped in [(|_| false) as fn(usize) -> bool, |nth| nth % 2 == 1] {
        let all_come = !dropped(1);
        let starts = Arc::new(Starts {
            given: AtomicUsize::new(0),
            by: Mutex::new(Vec::new()),
            dropped,
        });
        let mut world = numbers(100_000);
        let sum = AtomicUsize::new(0);
        with_workers(starts.clone(), || {
            let mut all = world.query::<&u32, ()>().unwrap();
            all.par_for_each(|&n| {
                sum.fetch_add(n as usize, Ordering::Relaxed);
                // Each helper asks before it works; of those that the first asks, one is dropped.
                let given = || starts.given.load(Ordering::Relaxed);
                assert!(comes(|| given() >= if all_come { 23 } else { 4 }));
            });
        });
        assert_eq!(sum.into_inner(), 100_000 * 99_999 / 2);
        assert!(
            starts.given.load(Ordering::Relaxed) <= 23,
            "no more than there are"
        );
        let by = starts.by.lock().unwrap();
        assert_eq!(by.iter().filter(|&&thread| thread == here).count(), 2);
    }
}
