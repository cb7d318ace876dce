//! A program's own workers, who help as they like: those who ask each other form a tree, of which some jobs are refused, kept,
//! or run by who waits; who has called goes on behind all who are inside, and has what they did, and their panics.
//!
//! The code is the product's, from a thread's `with_workers` on; the engine is the model's.

use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic as plain;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use megachunk::sync::model::{Calling, call_for_helpers, do_beside, share_out};
use megachunk::sync::queue::Queue;
use megachunk::workers::{Job, Workers, with_workers};
use megachunk_loom_tests::Bound::{self, Costly, Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// What becomes of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// A thread of its own runs it.
    Run,
    /// It is dropped at once.
    Refused,
    /// So it is, and the engine panics.
    Broken,
    /// Whoever waits runs it, or nobody.
    Kept,
}

/// An engine: what becomes of its jobs, in the order in which they are given; those after the last are refused.
struct Engine {
    fates: &'static [Fate],
    threads: usize,
    given: AtomicUsize,
    /// How many jobs its threads have run.
    ran: Arc<AtomicUsize>,
    running: Mutex<Vec<thread::JoinHandle<()>>>,
    kept: Mutex<Vec<Option<Job>>>,
    /// Which of those that are kept nobody has taken. Not a lock of loom's: a thread that waits for one loses who wakes it.
    waits: Queue,
}

/// (The model's own lists, which no thread holds while another may go on: no part of it.)
fn held<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    fn new(threads: usize, fates: &'static [Fate]) -> Arc<Self> {
        Arc::new(Self {
            fates,
            threads,
            given: AtomicUsize::new(0),
            ran: Arc::new(AtomicUsize::new(0)),
            running: Mutex::default(),
            kept: Mutex::default(),
            waits: Queue::new(fates.len()),
        })
    }

    /// How many jobs it was given.
    fn given(&self) -> usize {
        self.given.load(Ordering::Relaxed)
    }

    /// Waits for its threads.
    fn join(&self) {
        while let Some(running) = { held(&self.running).pop() } {
            running.join().expect("a job does not panic");
        }
    }

    /// Runs a job that it has kept; whether there was one.
    fn run_one(&self) -> bool {
        let Some(number) = self.waits.take() else {
            return false;
        };
        let job = { held(&self.kept)[number as usize].take() };
        job.expect("it was kept").run();
        true
    }

    /// Does something that asks it, and waits for its threads; all that it kept is run late.
    fn within<R>(self: Arc<Self>, work: impl FnOnce(&Self) -> R) -> R {
        let engine = Arc::clone(&self);
        let done = with_workers(Arc::<Self>::clone(&self), || {
            let done = work(&engine);
            engine.join();
            done
        });
        while self.run_one() {}
        done
    }
}

impl Workers for Engine {
    fn threads(&self) -> usize {
        self.threads
    }

    fn spawn(&self, job: Job) {
        let number = self.given.fetch_add(1, Ordering::Relaxed);
        match self.fates.get(number).unwrap_or(&Fate::Refused) {
            Fate::Run => {
                let ran = Arc::clone(&self.ran);
                let running = thread::spawn(move || {
                    job.run();
                    ran.fetch_add(1, Ordering::Relaxed);
                });
                held(&self.running).push(running);
            }
            Fate::Refused => drop(job),
            Fate::Broken => resume_unwind(Box::new("broken")),
            Fate::Kept => {
                let number = {
                    let mut kept = held(&self.kept);
                    kept.push(Some(job));
                    kept.len() - 1
                };
                self.waits.put(number as u32);
            }
        }
    }

    fn yield_now(&self) -> bool {
        self.run_one()
    }
}

/// What is done inside: a cell for each who comes, by its number, so that one who is inside still when who has called goes on
/// is found.
struct Done(Vec<UnsafeCell<u32>>);

// SAFETY: each number is one helper's, and who has called comes behind all: that is what the models ask.
unsafe impl Sync for Done {}

impl Done {
    fn by(helpers: usize) -> Self {
        Self((0..=helpers).map(|_| UnsafeCell::new(0)).collect())
    }

    fn help(&self, number: usize) {
        // SAFETY: the number is this one's alone: that is what the models ask.
        self.0[number].with_mut(|done| unsafe { *done += 1 });
    }

    /// How often each number was there, from 1, when nobody is inside.
    fn seen(&self) -> Vec<u32> {
        // SAFETY: as above.
        let seen = |done: &UnsafeCell<u32>| done.with(|done| unsafe { *done });
        self.0[1..].iter().map(seen).collect()
    }
}

/// How many threads the one with a number asks, of so many: as the product's calls.
fn below(number: usize, threads: usize) -> usize {
    threads.saturating_sub(2 * number + 1).min(2)
}

/// What who has called does: asks so many, and nothing else.
fn asks(helpers: usize) -> impl FnMut(Calling<'_>) -> bool {
    let mut asked = false;
    move |call| {
        let first = !core::mem::replace(&mut asked, true);
        if first {
            call.ask(helpers);
        }
        first
    }
}

/// The most that was seen in any execution. No part of the model.
#[derive(Clone, Default)]
struct Most(Arc<plain::AtomicUsize>);

impl Most {
    fn see(&self, count: usize) {
        self.0.fetch_max(count, plain::Ordering::Relaxed);
    }

    fn seen(&self) -> usize {
        self.0.load(plain::Ordering::Relaxed)
    }
}

/// A tree of four: who calls asks two, the first of whom to come asks one; with these fates, under which so many come at most.
fn tree(name: &str, bound: Bound, fates: &'static [Fate], at_most: u32) {
    let most = Most::default();
    let seen_most = most.clone();
    model(name, bound, move || {
        let done = Done::by(3);
        let engine = Engine::new(4, fates);
        let seen = engine.clone().within(|_| {
            let help = |_: Calling<'_>, number| done.help(number);
            call_for_helpers(3, |number| below(number, 4), help, asks(below(0, 4)));
            done.seen()
        });
        assert_eq!(done.seen(), seen, "nobody comes when it is over");
        let came: u32 = seen.iter().sum();
        most.see(came as usize);
        assert!(
            seen.iter().is_sorted_by(|one, next| one >= next),
            "{seen:?}"
        );
        // Who comes first asks the third, whoever it is.
        let asked = 2 + usize::from(came > 0);
        assert_eq!(engine.given(), asked);
        assert_eq!(Arc::strong_count(&engine), 1, "no job has the engine");
    });
    assert_eq!(seen_most.seen(), at_most as usize, "all of them may come");
}

#[test]
fn of_a_tree_of_asks_one_is_refused_while_others_run() {
    tree(
        "of_a_tree_of_asks_one_is_refused_while_others_run",
        Costly(4),
        &[Fate::Run, Fate::Refused, Fate::Run],
        2,
    );
}

#[test]
fn of_a_tree_of_asks_one_breaks_the_engine_while_another_runs() {
    let most = Most::default();
    let seen_most = most.clone();
    model(
        "of_a_tree_of_asks_one_breaks_the_engine_while_another_runs",
        Preemptions(3),
        move || {
            let done = Done::by(3);
            let engine = Engine::new(4, &[Fate::Run, Fate::Broken, Fate::Run]);
            let seen = engine.clone().within(|_| {
                let help = |_: Calling<'_>, number| done.help(number);
                // Three: who is not asked when the engine breaks is none the less done without.
                call_for_helpers(3, |number| below(number, 4), help, asks(3));
                done.seen()
            });
            assert_eq!(done.seen(), seen, "nobody comes when it is over");
            let came: u32 = seen.iter().sum();
            // Who breaks it asks nobody after that; the other goes on.
            assert!((2..=2 + 2 * usize::from(came > 0)).contains(&engine.given()));
            most.see(engine.given());
        },
    );
    assert_eq!(
        seen_most.seen(),
        4,
        "the helper may be the one whom it breaks"
    );
}

#[test]
fn a_job_that_is_kept_is_run_by_who_waits_or_when_all_is_over() {
    tree(
        "a_job_that_is_kept_is_run_by_who_waits_or_when_all_is_over",
        Costly(4),
        &[Fate::Run, Fate::Kept, Fate::Kept],
        3,
    );
}

#[test]
fn who_waits_in_a_call_within_runs_a_job_of_the_one_without() {
    let most = Most::default();
    let seen_most = most.clone();
    model(
        "who_waits_in_a_call_within_runs_a_job_of_the_one_without",
        Costly(4),
        move || {
            let (outer, inner) = (Done::by(3), Done::by(1));
            // One helper has a place: that it comes again is none's.
            let engine = Engine::new(2, &[Fate::Run, Fate::Kept, Fate::Run]);
            let is_within = AtomicUsize::new(0);
            // Who has a loop within. No part of the model.
            let waits = Mutex::new(None);
            let again = plain::AtomicUsize::new(0);
            engine.clone().within(|_| {
                let caller = thread::current().id();
                let help = |_: Calling<'_>, number| {
                    outer.help(number);
                    let here = thread::current().id();
                    if here == caller {
                        return;
                    }
                    if *held(&waits) == Some(here) {
                        again.fetch_add(1, plain::Ordering::Relaxed);
                        return;
                    }
                    if is_within.fetch_add(1, Ordering::Relaxed) > 0 {
                        return;
                    }
                    *held(&waits) = Some(here);
                    // Its own loop in the middle, for which another helps it.
                    let help = |_: Calling<'_>, number| inner.help(number);
                    call_for_helpers(1, |_| 0, help, asks(1));
                    assert!(inner.seen().iter().all(|&times| times <= 1));
                    *held(&waits) = None;
                };
                call_for_helpers(1, |_| 0, help, asks(2));
                let seen = outer.seen();
                assert!(seen.iter().all(|&times| times <= 1), "{seen:?}");
            });
            most.see(again.into_inner());
        },
    );
    assert_eq!(seen_most.seen(), 1, "it may run one");
}

#[test]
fn who_waits_in_a_call_is_let_in_beside_as_many_as_may_be() {
    model(
        "who_waits_in_a_call_is_let_in_beside_as_many_as_may_be",
        Exhaustive,
        || {
            let done = Done::by(2);
            let engine = Engine::new(2, &[Fate::Run, Fate::Kept]);
            let helped = AtomicUsize::new(0);
            engine.clone().within(|engine| {
                let caller = thread::current().id();
                let help = |_: Calling<'_>, number| {
                    done.help(number);
                    if thread::current().id() == caller {
                        helped.fetch_add(1, Ordering::Relaxed);
                    }
                };
                call_for_helpers(1, |_| 0, help, asks(2));
                let waited = held(&engine.kept).iter().all(Option::is_none);
                assert_eq!(helped.load(Ordering::Relaxed), usize::from(waited));
            });
        },
    );
}

/// Two helpers, the first of whom to come panics; with these fates.
fn a_panic(name: &str, bound: Bound, fates: &'static [Fate]) {
    model(name, bound, move || {
        let done = Done::by(3);
        let engine = Engine::new(3, fates);
        engine.clone().within(|_| {
            let help = |_: Calling<'_>, number: usize| {
                done.help(number);
                if number == 1 {
                    resume_unwind(Box::new("bad"));
                }
            };
            let called = AssertUnwindSafe(|| {
                call_for_helpers(2, |number| below(number, 4), help, asks(2));
            });
            let called = catch_unwind(called);
            let came = done.seen().iter().sum::<u32>() > 0;
            let is_bad = called.is_err_and(|panic| panic.downcast_ref() == Some(&"bad"));
            assert_eq!(is_bad, came, "it comes back, once all have left");
        });
    });
}

#[test]
fn a_panic_of_one_helper_comes_back_behind_the_other() {
    a_panic(
        "a_panic_of_one_helper_comes_back_behind_the_other",
        Preemptions(3),
        &[Fate::Run, Fate::Run],
    );
}

#[test]
fn a_panic_in_a_job_that_who_waits_runs_comes_back_behind_the_other() {
    a_panic(
        "a_panic_in_a_job_that_who_waits_runs_comes_back_behind_the_other",
        Costly(4),
        &[Fate::Run, Fate::Kept, Fate::Kept],
    );
}

#[test]
fn who_is_turned_away_asks_those_below_it() {
    model(
        "who_is_turned_away_asks_those_below_it",
        Preemptions(3),
        || {
            let done = Done::by(2);
            let at_work = AtomicUsize::new(0);
            let engine = Engine::new(3, &[Fate::Run, Fate::Run]);
            // Which have asked, by their bits.
            let came = AtomicUsize::new(0);
            engine.clone().within(|_| {
                let help = |_: Calling<'_>, number| {
                    assert_eq!(
                        at_work.fetch_add(1, Ordering::Relaxed),
                        0,
                        "one has a place"
                    );
                    done.help(number);
                    at_work.fetch_sub(1, Ordering::Relaxed);
                };
                let below = |number| {
                    assert_eq!(came.fetch_or(number, Ordering::Relaxed) & number, 0);
                    1
                };
                call_for_helpers(1, below, help, asks(2));
                // The second number is given after the first: whoever has it, the first is there, too.
                let came = match came.load(Ordering::Relaxed) {
                    0 => 0,
                    1 => 1,
                    both => {
                        assert_eq!(both, 3, "who is turned away has asked");
                        2
                    }
                };
                assert_eq!(engine.given(), 2 + came, "each that came has asked");
                let helped: u32 = done.seen().iter().sum();
                assert_eq!(helped > 0, came > 0);
            });
        },
    );
}

#[test]
fn who_comes_when_another_has_left_has_its_place() {
    model(
        "who_comes_when_another_has_left_has_its_place",
        Exhaustive,
        || {
            let done = Done::by(2);
            let engine = Engine::new(2, &[Fate::Run, Fate::Run]);
            engine.clone().within(|engine| {
                let mut asked = 0;
                let own = |call: Calling<'_>| {
                    if asked == 2 {
                        return false;
                    }
                    asked += 1;
                    call.ask(1);
                    // (To join it would be another wait, from which loom's gates wake as well.)
                    while engine.ran.load(Ordering::Relaxed) < asked {
                        thread::yield_now();
                    }
                    true
                };
                let help = |_: Calling<'_>, number| done.help(number);
                call_for_helpers(1, |_| 0, help, own);
            });
            assert_eq!(done.seen(), [1, 1]);
        },
    );
}

#[test]
fn jobs_that_wait_are_counted_until_they_are_run_or_let_go() {
    model(
        "jobs_that_wait_are_counted_until_they_are_run_or_let_go",
        Exhaustive,
        || {
            // Three may wait in models. One is let go, one runs, three wait.
            let engine = Engine::new(
                4,
                &[Fate::Refused, Fate::Run, Fate::Kept, Fate::Kept, Fate::Kept],
            );
            engine.clone().within(|engine| {
                let call = |helpers| {
                    call_for_helpers(3, |_| 0, |_: Calling<'_>, _| {}, asks(helpers));
                    engine.join();
                };
                call(2);
                // (Who waits for the one that runs finds none.)
                assert_eq!(engine.given(), 2);
                let own = |_: Calling<'_>| false;
                call_for_helpers(3, |_| 0, |_: Calling<'_>, _| {}, own);
                call(9);
                assert_eq!(engine.given(), 5, "no more are to wait");
                while engine.run_one() {}
                call(3);
                assert_eq!(engine.given(), 8);
            });
        },
    );
}

#[test]
fn what_a_helper_leaves_is_found_by_who_has_called() {
    model(
        "what_a_helper_leaves_is_found_by_who_has_called",
        Preemptions(3),
        || {
            let left = Queue::new(2);
            let done = Done::by(2);
            let engine = Engine::new(3, &[Fate::Run, Fate::Run]);
            engine.clone().within(|_| {
                let help = |_: Calling<'_>, number| {
                    done.help(number);
                    left.put(number as u32);
                };
                let (mut asked, mut found) = (asks(2), 0);
                let own = |call: Calling<'_>| {
                    let first = asked(call);
                    let more = left.take().is_some();
                    found += u32::from(more);
                    first || more
                };
                call_for_helpers(2, |_| 0, help, own);
                let came: u32 = done.seen().iter().sum();
                assert_eq!(found, came);
            });
        },
    );
}

/// Tasks, and how often each was done.
fn two_tasks() -> Vec<UnsafeCell<u32>> {
    (0..2).map(|_| UnsafeCell::new(0)).collect()
}

/// Does one.
fn once(task: &mut UnsafeCell<u32>) -> u32 {
    // SAFETY: it is borrowed alone; the cell sees whether that is so.
    task.with_mut(|done| unsafe {
        *done += 1;
        *done
    })
}

#[test]
fn tasks_that_are_shared_out_are_done_once_whatever_becomes_of_the_job() {
    model(
        "tasks_that_are_shared_out_are_done_once_whatever_becomes_of_the_job",
        Preemptions(3),
        || {
            let engine = Engine::new(2, &[Fate::Run]);
            let run = |mut task| once(&mut task);
            let done = engine.within(|_| share_out(2, two_tasks(), run));
            assert_eq!(done, [1, 1]);
        },
    );
}

#[test]
fn tasks_beside_ones_own_are_done_once_whoever_panics() {
    model(
        "tasks_beside_ones_own_are_done_once_whoever_panics",
        Preemptions(3),
        || {
            let engine = Engine::new(3, &[Fate::Run, Fate::Kept]);
            let mut tasks = two_tasks();
            engine.within(|_| {
                let own = || resume_unwind(Box::new("bad"));
                let run = |task: &mut UnsafeCell<u32>| _ = once(task);
                let tasks = tasks.iter_mut().collect();
                let beside = AssertUnwindSafe(|| do_beside(own, tasks, run));
                assert!(catch_unwind(beside).is_err());
            });
            for task in &mut tasks {
                assert_eq!(once(task), 2, "once before");
            }
        },
    );
}
