//! Workers of a program's own: a team that works, and all kinds that do not, or not as they should.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use megachunk::workers::{Job, Workers};

/// The name of a team's threads.
pub(crate) const TEAM: &str = "of a team";

/// Whether this thread is one of a team's.
pub(crate) fn is_of_a_team() -> bool {
    std::thread::current().name() == Some(TEAM)
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<(VecDeque<Job>, bool)>,
    comes: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<Job>, bool)> {
        self.jobs.lock().expect("nobody panics in it")
    }

    /// Runs jobs until the queue ends.
    fn work(&self) {
        loop {
            let mut queue = self.lock();
            let job = loop {
                match queue.0.pop_front() {
                    Some(job) => break job,
                    None if queue.1 => return,
                    None => queue = self.comes.wait(queue).expect("nobody panics in it"),
                }
            };
            drop(queue);
            job.run();
        }
    }
}

/// Threads that take jobs from a queue.
pub(crate) struct Team {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    /// Jobs that it was given.
    pub(crate) given: AtomicUsize,
    /// Those that its own threads gave it.
    pub(crate) given_by_its_own: AtomicUsize,
    /// How often somebody has waited.
    pub(crate) waits: AtomicUsize,
}

impl Team {
    /// So many, with the one that asks.
    pub(crate) fn of(threads: usize) -> Arc<Self> {
        let queue = Arc::new(Queue::default());
        let start = |_| {
            let queue = Arc::clone(&queue);
            let thread = std::thread::Builder::new().name(TEAM.into());
            thread.spawn(move || queue.work()).expect("it starts")
        };
        let threads = (1..threads).map(start).collect();
        Arc::new(Self {
            queue,
            threads,
            given: AtomicUsize::new(0),
            given_by_its_own: AtomicUsize::new(0),
            waits: AtomicUsize::new(0),
        })
    }
}

impl Workers for Team {
    fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    fn spawn(&self, job: Job) {
        self.given.fetch_add(1, Ordering::Relaxed);
        if is_of_a_team() {
            self.given_by_its_own.fetch_add(1, Ordering::Relaxed);
        }
        self.queue.lock().0.push_back(job);
        self.queue.comes.notify_one();
    }

    fn yield_now(&self) -> bool {
        self.waits.fetch_add(1, Ordering::Relaxed);
        let job = self.queue.lock().0.pop_front();
        job.map(Job::run).is_some()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.queue.lock().1 = true;
        self.queue.comes.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().expect("jobs do not panic");
        }
    }
}

/// Says how many there are, whatever that is.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Is(usize),
    /// Another one each time.
    Changes,
    Panics,
}

/// What becomes of a job.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    /// It is run where it is given.
    RunHere,
    /// It is run there, and who has run it panics.
    RunHereAndPanic,
    /// A thread of its own runs it, while who asks waits for that.
    RunThere,
    /// It is run when somebody waits, or never.
    RunInWaits,
    Dropped,
    /// Who is given it panics with it.
    Burnt,
    Kept,
}

/// Workers that are none.
pub(crate) struct Odd {
    count: Count,
    fate: Fate,
    asked: AtomicUsize,
    pub(crate) kept: Mutex<Vec<Job>>,
    /// Whether it panics while somebody waits, and what it says.
    waits: Result<bool, ()>,
}

impl Odd {
    pub(crate) fn new(count: Count, fate: Fate, waits: Result<bool, ()>) -> Arc<Self> {
        Arc::new(Self {
            count,
            fate,
            asked: AtomicUsize::new(0),
            kept: Mutex::new(Vec::new()),
            waits,
        })
    }
}

impl Workers for Odd {
    fn threads(&self) -> usize {
        match self.count {
            Count::Is(threads) => threads,
            Count::Changes => {
                let asked = self.asked.fetch_add(1, Ordering::Relaxed);
                [4, 0, usize::MAX, 1, 2, 3, 1, 9][asked % 8]
            }
            Count::Panics => std::panic::resume_unwind(Box::new("threads")),
        }
    }

    fn spawn(&self, job: Job) {
        match self.fate {
            Fate::RunHere => job.run(),
            Fate::RunHereAndPanic => {
                job.run();
                std::panic::resume_unwind(Box::new("spawn"));
            }
            Fate::RunThere => std::thread::scope(|scope| _ = scope.spawn(|| job.run())),
            Fate::Dropped => drop(job),
            Fate::Burnt => std::panic::resume_unwind(Box::new(job)),
            Fate::Kept | Fate::RunInWaits => self.kept.lock().expect("not in it").push(job),
        }
    }

    fn yield_now(&self) -> bool {
        if self.fate == Fate::RunInWaits {
            let job = self.kept.lock().expect("not in it").pop();
            if job.map(Job::run).is_some() {
                return true;
            }
        }
        match self.waits {
            Ok(did) => did,
            Err(()) => std::panic::resume_unwind(Box::new("yield_now")),
        }
    }
}

/// Drops all jobs, and counts them.
#[derive(Default)]
pub(crate) struct Counts(AtomicUsize);

impl Counts {
    /// How often it was asked meanwhile.
    pub(crate) fn asked_in(&self, work: impl FnOnce()) -> usize {
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
