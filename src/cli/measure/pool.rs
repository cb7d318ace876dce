//! `Pool`: the worker threads, started once and used for every repetition.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, mpsc};
use std::thread;

use super::barrier::ANOTHER_PANICKED;

/// What every worker does in one repetition, told its number.
type Job<R> = Arc<dyn Fn(usize) -> R + Send + Sync>;

/// A worker panicked: what it said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkerPanic(pub String);

/// Threads that live across repetitions, so that per-thread caches stay warm and no repetition
/// pays for starting a thread.
#[derive(Debug)]
pub struct Pool<R> {
    workers: Vec<Worker<R>>,
}

#[derive(Debug)]
struct Worker<R> {
    jobs: Option<mpsc::Sender<Job<R>>>,
    results: mpsc::Receiver<Result<R, WorkerPanic>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl<R: Send + 'static> Pool<R> {
    /// Starts `threads` workers.
    ///
    /// # Errors
    /// What the system said when it refused a thread.
    pub fn start(threads: usize) -> std::io::Result<Self> {
        let workers = (0..threads).map(Worker::start).collect::<Result<_, _>>()?;
        Ok(Self { workers })
    }

    /// How many workers there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.workers.len()
    }

    /// Runs `job` on the first `threads` workers at once; their results in their order.
    ///
    /// # Errors
    /// The first panic that was not just another's echo; all workers have ended the job then too.
    ///
    /// # Panics
    /// If `threads` is more than the pool has.
    pub fn run(&self, threads: usize, job: Job<R>) -> Result<Vec<R>, WorkerPanic> {
        let workers = &self.workers[..threads];
        for worker in workers {
            let jobs = worker.jobs.as_ref().expect("taken only on drop");
            jobs.send(Arc::clone(&job))
                .expect("a worker outlives its pool's use");
        }
        drop(job);
        let results: Vec<_> = workers
            .iter()
            .map(|worker| worker.results.recv().expect("a worker answers each job"))
            .collect();
        let panics = || results.iter().filter_map(|result| result.as_ref().err());
        let cause = panics().find(|panic| panic.0 != ANOTHER_PANICKED);
        match cause.or_else(|| panics().next()) {
            Some(panic) => Err(panic.clone()),
            None => Ok(results.into_iter().flatten().collect()),
        }
    }
}

impl<R: Send + 'static> Worker<R> {
    fn start(number: usize) -> std::io::Result<Self> {
        let (jobs, incoming) = mpsc::channel::<Job<R>>();
        let (outgoing, results) = mpsc::channel();
        let thread = thread::Builder::new()
            .name(format!("worker {number}"))
            .spawn(move || {
                for job in incoming {
                    let result = caught(|| job(number));
                    // The job may own the last reference to what it worked on: it ends here, not
                    // while the next repetition is being timed.
                    drop(job);
                    if outgoing.send(result).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            jobs: Some(jobs),
            results,
            thread: Some(thread),
        })
    }
}

impl<R> Drop for Worker<R> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A worker catches panics; there is nothing to learn from its end.
            let _ = thread.join();
        }
    }
}

/// What `work` gives, or what it said when it panicked; nobody may use again what it left half done.
pub(in crate::cli) fn caught<R>(work: impl FnOnce() -> R) -> Result<R, WorkerPanic> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|cause| said(&*cause))
}

fn said(cause: &(dyn core::any::Any + Send)) -> WorkerPanic {
    let text = cause
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| cause.downcast_ref::<String>().cloned());
    WorkerPanic(text.unwrap_or_else(|| "a worker panicked".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_workers() {
        let pool = Pool::start(3).unwrap();
        for _ in 0..100 {
            assert_eq!(pool.run(3, Arc::new(|worker| worker)), Ok(vec![0, 1, 2]));
        }
    }

    #[test]
    fn a_panic_is_reported_and_the_pool_goes_on() {
        let pool = Pool::start(2).unwrap();
        let result = pool.run(
            2,
            Arc::new(|worker| assert!(worker == 0, "worker {worker} fell")),
        );
        assert_eq!(result, Err(WorkerPanic("worker 1 fell".into())));
        assert_eq!(pool.run(1, Arc::new(|_| ())), Ok(vec![()]));
    }
}
