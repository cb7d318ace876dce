//! How many threads are at work at once, and how many jobs they are given by whom.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::workers::{Job, Workers, with_workers};

use crate::teams::{Count, Counts, Fate, Odd, Team, is_of_a_team};
use crate::{comes, numbers};

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
