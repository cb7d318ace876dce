//! Workers: threads of a program's own, which do the library's parallel work in place of rayon's.
//!
//! An engine has threads already: a job system, a scheduler of fibres, the pool of a host that it is a part of. A second pool
//! beside them competes for the same processors. [`with_workers`] makes the library ask those: for the calling thread, while a
//! closure runs. Where the documentation says "the threads of the current rayon pool", it is these then: of schedules, apps,
//! parallel loops, flushes, copies, snapshots and hashes. Rayon is not asked, and makes no threads for that.
//!
//! ```
//! use std::sync::{Arc, Mutex, mpsc};
//!
//! use megachunk::prelude::*;
//! use megachunk::workers::{Job, Workers, with_workers};
//!
//! /// A job system: here a channel of closures, which two threads take from.
//! struct Jobs(mpsc::Sender<Box<dyn FnOnce() + Send>>);
//!
//! impl Workers for Jobs {
//!     fn threads(&self) -> usize {
//!         // The two, and the one that asks.
//!         3
//!     }
//!
//!     fn spawn(&self, job: Job) {
//!         // If nobody is there to take it, the job goes with the error: who asked does it then.
//!         _ = self.0.send(Box::new(move || job.run()));
//!     }
//! }
//!
//! let (jobs, taken) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
//! let taken = Arc::new(Mutex::new(taken));
//! for _ in 0..2 {
//!     let taken = Arc::clone(&taken);
//!     std::thread::spawn(move || {
//!         loop {
//!             let job = taken.lock().expect("nobody panics in it").recv();
//!             let Ok(job) = job else { break };
//!             job();
//!         }
//!     });
//! }
//! let jobs: Arc<dyn Workers> = Arc::new(Jobs(jobs));
//!
//! let mut world = World::new();
//! let _ = world.create_batch((0..100_000_u32).map(|n| (n,)))?;
//! let mut schedule = Schedule::new();
//! schedule.add(processor("grow", |mut all: QueryRun<&mut u32>| all.par_for_each(|n| *n += 1)));
//! with_workers(Arc::clone(&jobs), || schedule.run(&mut world))?;
//! assert_eq!(world.query::<&u32, ()>()?.iter().min(), Some(&1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A larger one, whose threads do the engine's own jobs, too, and help each other while they wait: `examples/own_workers.rs`.
//!
//! # The contract
//! *Nothing needs workers.* A thread that asks does all that nobody else has begun, and waits for those alone who have begun.
//! So no implementation can make a result differ; nor hold a run up, but by a method that does not come back, a
//! [`yield_now`](Workers::yield_now) that runs what waits for the thread that it runs on, or a thread that stops in the middle
//! of a job. It may drop jobs, keep them for ever, or run them in any order, long after all is done, or on
//! the thread that hands them over; and say of another number of threads each time that they are there. (What depends on
//! threads under rayon, ids in a universe that is not [ordered](crate::world::Universe::ordered), say, does so here.)
//!
//! *Panics.* One of a method of [`Workers`] ends there; an event of [`tracing`] (`workers_panicked`, a warning) tells of it, and
//! who asked goes on without help. So does one of their `drop`, where that comes in the middle of something: on a helper, in a
//! wait. Where [`with_workers`] drops them as the last who has them, its caller gets it. One of a closure, in a loop or a processor that a helper ran, goes on where that was
//! begun, as with rayon, and not on the helper's thread.
//!
//! *Progress.* Handing a job over is a call of [`Workers::spawn`] and some atomic accesses, none of which waits; so is
//! beginning it. A `spawn` that waits until a worker takes the job can wait for ever: workers call it from within their jobs,
//! all of them at once, it may be. The library holds no lock meanwhile, so a method may take locks of its own (not one that the
//! caller holds while it asks: that of a `Mutex<World>`, say). Within [`threads`](Workers::threads) and [`spawn`](Workers::spawn) that thread has no workers: parallel
//! work that they begin they do alone, and jobs that they run do nothing there.
//!
//! *Threads.* A method is called on whichever thread asks: the one within [`with_workers`], or one that runs a job. That asks
//! for a loop within the loop; and, before it works, for two others to help as it does, so that who begins a loop hands over
//! two jobs at most, however many threads there are. (A thread that is turned away, since enough are at it, asks two for it all
//! the same.) So several may call at once; and who runs a job holds no lock that a
//! method takes. A thread that asks, or
//! runs a job, is one thread from the beginning to the end: a fibre must not go on on another thread in the
//! middle. It may wait, and others go on on its thread meanwhile; where several of them are within [`with_workers`], what any of
//! them asks for is asked of those whose call began last on that thread and has not ended. Not so within
//! [`threads`](Workers::threads) and [`spawn`](Workers::spawn): these do not give their thread to another fibre. Where fibres wait
//! in the middle of jobs, the [span](crate#what-it-tells) that the thread is in, and a subscriber of that thread's alone
//! (`tracing::subscriber::set_default`), are those of the one that came last, and right again only if they end in reverse; with
//! one subscriber for all threads that does no harm but to whose events are in which span. Processors that are bound to the thread of the schedule run on
//! the one that called, never on a helper's.
//!
//! *Scopes.* `ThreadPool::install` within leads out: its closure runs on a thread of that pool, which asks that pool. What
//! is run on a thread as long as [`with_workers`] holds asks its workers, whoever has begun it: also a job of rayon's
//! that a `rayon::join` within takes.

// How the library asks: calls, and who helps with them. Only rooms of the crate see these.
#[cfg(not(loom))]
pub(crate) mod caller;
pub(crate) mod current;
pub(crate) mod fork_join;
pub(crate) mod helpers;
mod job;
#[cfg(loom)]
mod modelled;
#[expect(clippy::module_inception, reason = "the noun of the room")]
mod workers;

use std::sync::Arc;

pub use job::Job;
pub use workers::Workers;

#[cfg(loom)]
pub(crate) use modelled::caller;

use crate::panics::{note, resume};
use crate::workers::current::Current;

/// So many threads are asked at most, however many workers say that they have.
pub const MOST_THREADS: usize = 256;

/// Lets parallel work that the calling thread begins while `work` runs be done by workers of the program's own.
///
/// It holds for the calling thread, and for those that help it while they do; within another, until the inner ends. Each
/// parallel call looks at a thread-local value for it; loops over rows, single operations and what one thread does alone do
/// not. Where jobs wait as a call ends, the thread keeps a weak handle of the workers (their memory, not their value) until
/// a later call ends on it. See [the contract](crate::workers#the-contract).
///
/// Workers are told apart by their [`Arc`]: make it once, and keep it from frame to frame, or the
/// [limit](Workers::spawn) of jobs that wait begins anew with each. (In the destructors of a thread's values, as that ends, it
/// may ask nobody, and does all alone.)
///
/// ```
/// use std::sync::Arc;
///
/// use megachunk::prelude::*;
/// use megachunk::workers::{Job, Workers, with_workers};
///
/// /// No threads: the caller does all, and rayon makes none.
/// struct Alone;
///
/// impl Workers for Alone {
///     fn threads(&self) -> usize {
///         1
///     }
///
///     fn spawn(&self, _job: Job) {}
/// }
///
/// let mut world = World::new();
/// let _ = world.create_batch((0..1_000_u32).map(|n| (n,)))?;
/// let here = std::thread::current().id();
/// with_workers(Arc::new(Alone), || {
///     world.query::<&mut u32, ()>().map(|mut all| {
///         all.par_for_each(|_| assert_eq!(std::thread::current().id(), here));
///     })
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If `work` does; or, when it is done, the `drop` of the workers, if nobody else has them any more. Whom the thread asked
/// before, it asks again.
#[doc(alias = "install")]
pub fn with_workers<R>(workers: Arc<dyn Workers>, work: impl FnOnce() -> R) -> R {
    let (mut done, mut panicked) = (None, None);
    let own = Current::own(Arc::clone(&workers));
    note(&mut panicked, || done = Some(own.within(work)));
    note(&mut panicked, || drop(workers));
    if panicked.is_some() {
        note(&mut panicked, || drop(done.take()));
        resume(panicked);
    }
    match done {
        Some(done) => done,
        None => unreachable!("a panic goes on"),
    }
}
