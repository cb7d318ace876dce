//! `Workers`: threads of a program's own, as the library sees them.

use super::Job;

/// Threads of a program's own, which may help with parallel work: a job system, as the library sees it. For others to
/// implement.
///
/// What each method must keep is little, and what comes of one that does not is slow at worst, but of one that does not come
/// back: see [the contract](crate::workers#the-contract).
pub trait Workers: Send + Sync {
    /// How many threads work on one parallel call at once at most, with the one that asks: one says that nobody helps. (More
    /// may be at work where loops stand within loops, or several threads ask. One that waits in the middle of such a call and
    /// [runs another job](Self::yield_now) of it meanwhile is one thread still; it does so once, and further ones
    /// that it runs do nothing, and are not asked for again. Fibres that end in another order than they began may make it one
    /// more.)
    ///
    /// Asked for each parallel call, so it should be a load. It may be another each time. More than
    /// [`MOST_THREADS`](super::MOST_THREADS) are taken for so many, none for one.
    fn threads(&self) -> usize;

    /// Takes a job for another thread, to [run](Job::run) it soon, or else to let it go: who asks does what nobody helps
    /// with.
    ///
    /// It is called from within jobs, too, on the workers' own threads: who helps asks others before it works, and for loops of its
    /// own. So it must not wait until somebody takes a job (a rendezvous, a full queue's `send`): those who would may all be
    /// waiting in here, and the call never ends. If a queue is full, drop the job
    /// ([`try_send`](std::sync::mpsc::SyncSender::try_send)). Nor should it take long: who asks is about to begin. Jobs of which nothing is left to do, or that as many threads
    /// are at as there [may be](Self::threads), are back at once, so a queue need not be cleared of them. Where 4,096 jobs
    /// wait that nobody has run or dropped, of calls of [`with_workers`](super::with_workers) with these workers on one thread,
    /// no more are made in them, so that a queue that nobody takes from stays short; other workers are not held up by that.
    /// These workers are one [`Arc`](std::sync::Arc): keep it from frame to frame. (An adapter that is made anew each time has a
    /// limit of its own each time.)
    fn spawn(&self, job: Job);

    /// The calling thread waits for helpers that have begun: does something else on it, a job from the queue, say. Whether
    /// there was something; if not, the thread sleeps for a moment (up to 100 microseconds), or until the last helper is
    /// done, and asks again.
    ///
    /// What it does delays who waits, to its end: something short, therefore. By itself it does nothing.
    ///
    /// It is called in the middle of what the thread was at, which may hold locks: that of a resource's value which a
    /// processor has locked round its loop, say. What takes the same one here, a [job](Job) too, waits for ever
    /// ([`Schedule`](crate::processor::Schedule), *Locks*). Nothing of the library's own is held.
    ///
    /// It is needed where what helps waits for something that this thread alone would do: a job that is bound to it.
    fn yield_now(&self) -> bool {
        false
    }
}
