//! Fork and join: work is shared out among the threads of the current rayon pool, or of a program's own
//! [workers](crate::workers), and who asks for it takes part.
//!
//! On a thread of the pool that is how rayon works. Called from outside, rayon's parallel iterators put the caller to
//! sleep until the pool is done. That gains little on few processors: the caller's is busy still when the
//! threads of the pool wake up, so the system puts them on the others, two on one, and the caller's then has nothing to
//! do for milliseconds. Here the caller is one of the workers, and one thread of the pool fewer is asked for. It does
//! all that the others have no time for, and waits for those alone who have begun (see [`helpers`](super::helpers)).
//! So is one that has a program's own workers, whatever thread it is.
//!
//! Who helps is in the caller's span meanwhile, and the time is none of what the thread was at before: see
//! [`caller`](super::caller).
//!
//! Invariant: [`Shares`], or a [`Bag`], give each number to one worker, once; that worker alone touches the
//! [slot](crate::sync::slots) of this number, until all have joined.

use core::ops::Range;
use std::error::Error;
use std::panic::catch_unwind;
use std::sync::OnceLock;

use super::caller::Caller;
use super::current::{self, Current};
use super::helpers::with_helpers;
use crate::panics::{note, resume, tell};
use crate::sync::graph::Bag;
use crate::sync::shares::{Piece, Shares};
use crate::sync::slots::Slots;

/// Tasks in a piece, at most: then taking it costs next to nothing.
const LONGEST: u32 = 64;

/// How many threads the current rayon pool has, or the program's own workers; one where rayon can make none. (Who is told of
/// one asks for no others, so nothing in the middle of a change is broken off by that.) It may be another number when it is
/// asked again: who needs one number asks once.
pub(crate) fn threads() -> usize {
    // Of the pool for all who are in none: rayon tries once to make it, so the answer stays. Not one of the sync room's:
    // it is no part of a protocol.
    static GLOBAL: OnceLock<usize> = OnceLock::new();
    if let Some(threads) = current::threads() {
        return threads;
    }
    if rayon::current_thread_index().is_some() {
        return rayon::current_num_threads();
    }
    match GLOBAL.get() {
        Some(&threads) => threads,
        None => first_asked(&GLOBAL),
    }
}

/// Says how many threads rayon's pool for all who are in none has, and why it has none.
#[cold]
fn first_asked(global: &OnceLock<usize>) -> usize {
    let mut none = None;
    let threads = *global.get_or_init(|| {
        let made = make_global();
        none = made.as_ref().err().cloned();
        made.unwrap_or(1)
    });
    if let Some(error) = none {
        tell(|| {
            tracing::warn!(
                name: "no_threads",
                target: "megachunk::schedule",
                error,
                "no threads for parallel work: who asks for it does it alone"
            );
        });
    }
    threads
}

/// Makes rayon's pool for all who are in none, unless it is there; how many threads it has, or why it has none.
fn make_global() -> Result<usize, String> {
    // Not by asking for its size: that makes it, too, but panics where the system has no threads, each time. A program
    // that ends itself at a panic would be ended by it.
    match rayon::ThreadPoolBuilder::new().build_global() {
        Err(error) if error.source().is_some() => Err(error.to_string()),
        // (Without a source the error says that somebody has tried before, who may have had no luck either.)
        _ => catch_unwind(rayon::current_num_threads)
            .map_err(|_| "rayon's pool could not be made before".into()),
    }
}

/// Calls `work` with numbers below `workers`, as long as `is_open` says that something is left, on as many threads as have
/// time, this one among them:
/// with the same one a thread time after time, as far as that goes, so that what it worked on
/// before lies in its own cache still. Two threads of a pool that is larger than `workers` may have
/// one number at once. Nobody waits for threads that have no time.
///
/// Called from outside, it asks two threads itself, each of which asks two more before it works (or is turned away), and so on:
/// to wake one takes microseconds. Who comes when nothing is left asks nobody, and `work` is not called.
///
/// A panic comes back when all have ended.
///
/// (`work` is called once for each thread, so a pointer to it costs nothing; as a type it would have all this compiled
/// again for each parallel loop of a program, 20 KB and more.)
pub(crate) fn on_threads(
    workers: usize,
    is_open: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(usize) + Sync),
) {
    let caller = Caller::here();
    if current::is_rayon() && rayon::current_thread_index().is_some() {
        let own = |number| {
            let own = rayon::current_thread_index().unwrap_or(number) % workers;
            // A thread that waits may have a program's own workers.
            Current::Rayon.within(|| caller.help(|| work(own)));
        };
        return join(0..workers, is_open, &own);
    }
    let mut begun = false;
    with_helpers(
        workers - 1,
        |number| if is_open() { below(number, workers) } else { 0 },
        |_, number| {
            // (A worker's own things are not made for nothing.)
            if is_open() {
                caller.help(|| work(share_of_helper(number, workers - 1)));
            }
        },
        |call| {
            let first = !core::mem::replace(&mut begun, true);
            if first {
                call.ask(below(0, workers));
                work(0);
            }
            first
        },
    );
}

/// How many threads the one with a number asks, where all together are so many: none has two that ask it.
fn below(number: usize, threads: usize) -> usize {
    threads.saturating_sub(2 * number + 1).min(2)
}

/// With which share a helper begins, of those from 1 to `others`: with the same one in each call, whoever comes first.
fn share_of_helper(number: usize, others: usize) -> usize {
    let thread = match current::number() {
        None => rayon::current_thread_index(),
        // Numbers are from 1; 0 is one that does not help as another.
        Some(own) => (own as usize).checked_sub(1),
    };
    // Numbers of threads go on from one execution of a schedule's model to the next, which is to do the same.
    let thread = thread.filter(|_| !cfg!(shuttle));
    1 + thread.unwrap_or(number - 1) % others
}

/// Calls `work` with each of the numbers, as long as `is_open`: on other threads of the pool as far as they have time, else on
/// this one. (Each that is offered may wake a thread.)
fn join(numbers: Range<usize>, is_open: &(dyn Fn() -> bool + Sync), work: &(dyn Fn(usize) + Sync)) {
    if !is_open() {
        return;
    }
    if numbers.len() <= 1 {
        return numbers.for_each(work);
    }
    let middle = numbers.start + numbers.len().div_ceil(2);
    rayon::join(
        || join(numbers.start..middle, is_open, work),
        || join(middle..numbers.end, is_open, work),
    );
}

/// Calls what `worker` makes with the numbers below `count`, each once, on so many threads at most. Each thread's worker gets
/// them in any order.
///
/// A panic comes back when the others are done with what they have taken.
pub(crate) fn share<W: FnMut(Range<usize>)>(
    threads: usize,
    count: usize,
    piece: impl FnOnce(usize) -> Piece,
    worker: impl Fn() -> W + Sync,
) {
    let threads = threads.min(count);
    if threads <= 1 {
        return work_off(&mut worker(), 0..count);
    }
    // As many as there are rows in few chunks, or 16 KiB chunks, at most.
    let numbers = u32::try_from(count).expect("a world has fewer chunks than a number can say");
    let shares = Shares::new(numbers, threads, piece(count / threads));
    on_threads(threads, &|| shares.is_open(), &|own| {
        let stop = StopOnPanic(&shares);
        let mut own = shares.worker(own);
        let mut work = worker();
        while let Some(taken) = own.take() {
            work_off(&mut work, taken.start as usize..taken.end as usize);
        }
        core::mem::forget(stop);
    });
}

/// A piece of work. (A function of its own: the loop of a caller, which stands in it, is compiled once, and not for one
/// thread and for several.)
#[inline(never)]
fn work_off(work: &mut impl FnMut(Range<usize>), numbers: Range<usize>) {
    work(numbers);
}

/// Does `own` on this thread, and the tasks meanwhile on others of the pool; those that these have no time for, on this
/// one afterwards.
///
/// All are done, whoever panics; the panic comes back then.
pub(crate) fn beside<T: Send>(own: impl FnOnce(), tasks: Vec<T>, run: impl Fn(T) + Sync) {
    let helpers = threads().saturating_sub(1).min(tasks.len());
    let bag = Bag::new((0..tasks.len() as u32).collect::<Vec<_>>());
    let slots = Slots::new(tasks);
    let next = || {
        let number = bag.take();
        // SAFETY: a bag gives a number to one thread, once.
        number.map(|number| unsafe { slots.run(number as usize, &run) })
    };
    let (mut own, mut panicked) = (Some(own), None);
    let caller = Caller::here();
    with_helpers(
        helpers,
        |number| {
            if bag.is_open() {
                below(number, helpers + 1)
            } else {
                0
            }
        },
        |_, _| {
            if bag.is_open() {
                caller.help(|| while next().is_some() {});
            }
        },
        |call| {
            let mut more = true;
            match own.take() {
                Some(own) => {
                    call.ask(below(0, helpers + 1));
                    note(&mut panicked, own);
                }
                None => note(&mut panicked, || more = next().is_some()),
            }
            more
        },
    );
    resume(panicked);
}

/// Dropped, it leaves nothing to the others.
struct StopOnPanic<'s>(&'s Shares);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// What `run` makes of each task, in their order.
///
/// If one panics, the panic comes back when the others are done with what they have taken; the tasks that are left are
/// dropped.
#[cfg_attr(
    loom,
    expect(dead_code, reason = "models say how many threads there are")
)]
pub(crate) fn map<T: Send, R: Send>(tasks: Vec<T>, run: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_on(threads(), tasks, run)
}

/// The same on so many threads at most, of those that [there are](threads).
pub(crate) fn map_on<T: Send, R: Send>(
    threads: usize,
    tasks: Vec<T>,
    run: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    map_with_on(threads, tasks, || (), |(), task| run(task))
}

/// The same, with something that each worker makes itself and keeps from task to task.
#[cfg_attr(loom, expect(dead_code, reason = "as `map`"))]
pub(crate) fn map_with<T: Send, R: Send, S>(
    tasks: Vec<T>,
    scratch: impl Fn() -> S + Sync,
    run: impl Fn(&mut S, T) -> R + Sync,
) -> Vec<R> {
    map_with_on(threads(), tasks, scratch, run)
}

/// The same on so many threads at most, of those that [there are](threads).
pub(crate) fn map_with_on<T: Send, R: Send, S>(
    threads: usize,
    tasks: Vec<T>,
    scratch: impl Fn() -> S + Sync,
    run: impl Fn(&mut S, T) -> R + Sync,
) -> Vec<R> {
    let slots = Slots::new(tasks);
    let piece = |_| Piece {
        shortest: 1,
        longest: LONGEST,
    };
    share(threads, slots.len(), piece, || {
        let mut scratch = scratch();
        let (slots, run) = (&slots, &run);
        move |numbers: Range<usize>| {
            for number in numbers {
                // SAFETY: numbers are given to one worker, once.
                unsafe { slots.run(number, |task| run(&mut scratch, task)) };
            }
        }
    });
    slots.into_results()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;
    use std::time::Duration;

    /// On a thread of a pool of three, and on one that is in none.
    fn both(test: impl Fn() + Sync) {
        test();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
        pool.unwrap().install(&test);
    }

    #[test]
    fn results_are_in_the_order_of_the_tasks() {
        both(|| {
            for count in [0, 1, 2, 3, 7, 1_000] {
                let tasks: Vec<String> = (0..count).map(|n| n.to_string()).collect();
                let lengths = map(tasks.clone(), |task| task.len());
                assert_eq!(lengths, tasks.iter().map(String::len).collect::<Vec<_>>());
                assert_eq!(map(tasks.clone(), |task| task), tasks);
            }
        });
    }

    #[test]
    fn who_asks_from_outside_takes_part() {
        if rayon::current_num_threads() == 1 {
            return;
        }
        let own = thread::current().id();
        let took_part = AtomicBool::new(false);
        map((0..1_000).collect(), |_: u32| {
            if thread::current().id() == own {
                took_part.store(true, Ordering::Relaxed);
            } else {
                // With this piece in their hands the others cannot do all that there is.
                while !took_part.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            }
        });
        assert!(took_part.into_inner());
    }

    #[test]
    fn nobody_waits_for_a_pool_that_has_no_time() {
        let (done, told) = std::sync::mpsc::channel();
        let held = Arc::new(AtomicBool::new(true));
        let threads = rayon::current_num_threads();
        let came = Arc::new(Barrier::new(threads + 1));
        for _ in 0..threads {
            let (held, came) = (Arc::clone(&held), Arc::clone(&came));
            rayon::spawn(move || {
                came.wait();
                while held.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        came.wait();
        thread::spawn(move || {
            let lengths = map(vec!["a", "bc", "def"], str::len);
            let sum = AtomicUsize::new(0);
            let add = |length| {
                sum.fetch_add(length, Ordering::Relaxed);
            };
            beside(|| add(10), lengths, add);
            done.send(sum.into_inner()).unwrap();
        });
        let found = told.recv_timeout(Duration::from_secs(20));
        held.store(false, Ordering::Relaxed);
        assert_eq!(found, Ok(16));
    }

    #[test]
    fn tasks_beside_ones_own_are_done_once_whoever_panics() {
        both(|| {
            let done = AtomicUsize::new(0);
            let all = catch_unwind(AssertUnwindSafe(|| {
                beside(
                    || panic!("the bad one"),
                    vec![1; 20],
                    |task| {
                        done.fetch_add(task, Ordering::Relaxed);
                    },
                );
            }));
            assert!(all.is_err());
            assert_eq!(done.load(Ordering::Relaxed), 20);
        });
    }

    #[test]
    fn each_worker_has_its_own_scratch() {
        both(|| {
            let made = AtomicUsize::new(0);
            let scratch = || {
                made.fetch_add(1, Ordering::Relaxed);
                Vec::new()
            };
            let seen = map_with(vec![1_u32; 500], scratch, |seen: &mut Vec<u32>, task| {
                seen.push(task);
                seen.len()
            });
            let made = made.load(Ordering::Relaxed);
            assert!((1..=rayon::current_num_threads()).contains(&made));
            // Each worker counts from one on.
            let firsts = seen.iter().filter(|&&count| count == 1).count();
            assert!((1..=made).contains(&firsts));
        });
    }

    #[test]
    fn each_thread_but_the_first_is_asked_by_one() {
        for threads in 1..100 {
            let mut asked = 1;
            for number in 0..threads {
                assert!(
                    number < asked,
                    "{number} of {threads} is asked by one before"
                );
                asked += below(number, threads);
            }
            assert_eq!(asked, threads);
        }
    }

    #[test]
    fn a_thread_that_is_asked_from_outside_has_the_same_share_each_time() {
        let workers = rayon::current_num_threads();
        if workers == 1 {
            return;
        }
        for _ in 0..50 {
            let here = AtomicUsize::new(0);
            on_threads(workers, &|| true, &|share| {
                match rayon::current_thread_index() {
                    None => assert_eq!(share, 0),
                    Some(index) => {
                        assert_eq!(share, 1 + index % (workers - 1));
                        here.fetch_add(1, Ordering::Relaxed);
                    }
                }
                // So that somebody comes.
                let began = std::time::Instant::now();
                while here.load(Ordering::Relaxed) == 0 && began.elapsed().as_secs() < 20 {
                    thread::yield_now();
                }
            });
            assert!(here.into_inner() > 0);
        }
    }

    #[test]
    fn workers_of_a_program_have_the_same_share_each_time() {
        let seen = std::sync::Mutex::new(Vec::new());
        let (jobs, taken) = std::sync::mpsc::channel::<crate::workers::Job>();
        let taken = Arc::new(std::sync::Mutex::new(taken));
        for _ in 0..3 {
            let taken = Arc::clone(&taken);
            thread::spawn(move || {
                loop {
                    let job = taken.lock().unwrap().recv();
                    let Ok(job) = job else { break };
                    job.run();
                }
            });
        }
        crate::workers::with_workers(Arc::new(Four(jobs)), || {
            for _ in 0..50 {
                let came = AtomicUsize::new(0);
                on_threads(4, &|| true, &|share| {
                    came.fetch_add(1, Ordering::Relaxed);
                    let began = std::time::Instant::now();
                    while came.load(Ordering::Relaxed) < 4 && began.elapsed().as_secs() < 20 {
                        thread::yield_now();
                    }
                    seen.lock().unwrap().push((thread::current().id(), share));
                });
                assert_eq!(came.into_inner(), 4, "who is asked asks the last one");
            }
        });
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 200);
        for (thread, share) in &seen {
            let (first, at_first) = &seen.iter().find(|(other, _)| other == thread).unwrap();
            assert_eq!((first, at_first), (thread, share));
        }
    }

    /// So many, it says; its jobs wait until somebody takes them, the newest first.
    struct Stack(usize, std::sync::Mutex<(usize, Vec<crate::workers::Job>)>);

    impl Stack {
        fn of(threads: usize) -> Arc<Self> {
            Arc::new(Self(threads, std::sync::Mutex::default()))
        }

        fn given(&self) -> usize {
            self.1.lock().unwrap().0
        }
    }

    impl crate::workers::Workers for Stack {
        fn threads(&self) -> usize {
            self.0
        }

        fn spawn(&self, job: crate::workers::Job) {
            let mut jobs = self.1.lock().unwrap();
            jobs.0 += 1;
            jobs.1.push(job);
        }

        fn yield_now(&self) -> bool {
            let job = self.1.lock().unwrap().1.pop();
            job.map(crate::workers::Job::run).is_some()
        }
    }

    #[test]
    fn all_are_asked_though_jobs_are_turned_away() {
        use crate::workers::Workers;
        for threads in [2, 3, 4, 8, 25, 256] {
            let stack = Stack::of(threads);
            let came = AtomicUsize::new(0);
            crate::workers::with_workers(stack.clone(), || {
                on_threads(threads, &|| true, &|_| {
                    came.fetch_add(1, Ordering::Relaxed);
                    // As in the wait of a loop within: this thread is in the call once, then twice, then turned away.
                    while stack.yield_now() {}
                });
            });
            assert_eq!(came.into_inner(), 2, "this thread, and once more");
            assert_eq!(stack.given(), threads - 1, "of {threads}");
        }
    }

    #[test]
    fn who_comes_when_nothing_is_left_makes_nothing_and_asks_nobody() {
        use crate::workers::Workers;
        let stack = Stack::of(8);
        let made = AtomicUsize::new(0);
        crate::workers::with_workers(stack.clone(), || {
            let is_open = AtomicBool::new(true);
            on_threads(8, &|| is_open.load(Ordering::Relaxed), &|_| {
                made.fetch_add(1, Ordering::Relaxed);
                is_open.store(false, Ordering::Relaxed);
                while stack.yield_now() {}
            });
            assert_eq!((made.load(Ordering::Relaxed), stack.given()), (1, 2));
            // Of tasks, too: the first job takes all seven, and asks two more, which find nothing.
            let own = || while stack.yield_now() {};
            let ran = AtomicUsize::new(0);
            beside(own, vec![(); 7], |()| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!((ran.into_inner(), stack.given()), (7, 2 + 4));
        });
    }

    /// Three beside the one that asks.
    struct Four(std::sync::mpsc::Sender<crate::workers::Job>);

    impl crate::workers::Workers for Four {
        fn threads(&self) -> usize {
            4
        }

        fn spawn(&self, job: crate::workers::Job) {
            _ = self.0.send(job);
        }
    }

    /// Counts how many of it there are.
    struct Counted<'a>(&'a AtomicUsize);

    impl<'a> Counted<'a> {
        fn new(alive: &'a AtomicUsize) -> Self {
            alive.fetch_add(1, Ordering::Relaxed);
            Self(alive)
        }
    }

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_panic_comes_back_and_every_task_and_result_is_dropped_once() {
        both(|| {
            let alive = AtomicUsize::new(0);
            let tasks: Vec<_> = (0..300).map(|n| (n, Counted::new(&alive))).collect();
            let mapped = catch_unwind(AssertUnwindSafe(|| {
                map(tasks, |(n, task)| {
                    assert_ne!(n, 137, "the bad one");
                    (task, Counted::new(&alive))
                })
            }));
            assert!(mapped.is_err());
            assert_eq!(alive.load(Ordering::Relaxed), 0);
        });
    }

    /// One thread beside the one that asks, it says; it has as many as it is given jobs.
    struct OneMore;

    impl crate::workers::Workers for OneMore {
        fn threads(&self) -> usize {
            2
        }

        fn spawn(&self, job: crate::workers::Job) {
            thread::spawn(|| job.run());
        }
    }

    #[test]
    fn tasks_beside_ones_own_are_no_more_threads_than_there_are() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(20));
            now.fetch_sub(1, Ordering::Relaxed);
        };
        crate::workers::with_workers(Arc::new(OneMore), || {
            beside(work, vec![(); 6], |()| work());
        });
        let most = most.into_inner();
        assert!((1..=2).contains(&most), "{most} at once");
    }
}
