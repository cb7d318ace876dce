//! Helpers: threads of the current rayon pool, or of a program's [own](super::current), that work along with the one that
//! asks them to, if they have time.
//!
//! A job that nobody has time for stays in the pool's queue. Rayon's scopes wait for it all the
//! same, for ever if the threads of the pool are busy with something that does not end. Here the
//! asking thread does what is left, closes a [gate](crate::sync::gate), and waits for those alone who
//! have come in: a job that is begun later finds it closed.
//!
//! Invariant: what helpers borrow is there as long as one is inside. A job itself borrows nothing: it shares the
//! [`Call`], and follows its pointer only when it has entered.
//!
//! No job needs to run: that is all that is asked of a program's own workers. They may drop it (it shares a call, and
//! nothing else), keep it (what it shares is words and a thread's handle: what helpers borrow, and whose threads they are, lies
//! with who asks), run it late (the gate is closed), or on the thread that asks: while that waits it goes in and comes out before the
//! next look, like anybody; in the middle of asking it does nothing. It cannot run twice: running consumes it.

use core::ops::Deref;
use core::time::Duration;
use std::sync::Arc;

#[cfg(not(loom))]
use crossbeam_utils::CachePadded;

use super::current::{self, Current};
use crate::panics::{Panicked, first, forget, note, resume};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::gate::Gate;
use crate::sync::{Mutex, mutant, nap, thread};
use crate::workers::Job;

/// What a helper is called for, with the call, so that it can call others, and its number, from 1.
type Help<'h> = dyn Fn(&Arc<Call>, usize) + Sync + 'h;

/// How many threads the one with a number, from 1, asks before it works, or before it is turned away.
type Below<'h> = dyn Fn(usize) -> usize + Sync + 'h;

/// What lies with who calls.
struct Lent<'h> {
    below: &'h Below<'h>,
    help: &'h Help<'h>,
    /// Whose threads are called.
    current: Current,
    /// For whom: see [`current::root`].
    root: usize,
    /// The thread that calls: see [`current::place`].
    place: Option<usize>,
    /// So many help at once, and no more.
    most: usize,
    /// How many do.
    at_work: AtomicUsize,
}

impl Lent<'_> {
    /// Does that, which does not panic, unless enough are at it; whether it has. (One that leaves may be counted still: then
    /// there is one less, and who called finds what is left.)
    ///
    /// A thread that works on the call already waits in the middle of that: it has a place, and takes no other's. It is let in
    /// once more, and no deeper, so that a stack does not grow with the jobs that there are.
    fn unless_enough(&self, call: usize, work: impl FnOnce()) -> bool {
        if matches!(self.current, Current::Rayon) {
            work();
            return true;
        }
        let calls = self.place.is_some() && self.place == current::place();
        match current::helping_with(call) + usize::from(calls) {
            _ if mutant::active("waiting_helper_takes_place") => {}
            0 => {}
            1 => {
                work();
                return true;
            }
            _ => return false,
        }
        // Ordering: Relaxed, twice: a count that nothing follows from.
        let is_let_in = self.at_work.fetch_add(1, Ordering::Relaxed) < self.most;
        let is_let_in = is_let_in || mutant::active("helpers_without_end");
        if is_let_in {
            work();
        }
        if !mutant::active("helper_keeps_place") {
            self.at_work.fetch_sub(1, Ordering::Relaxed);
        }
        is_let_in
    }
}

/// A call for helpers.
pub(crate) struct Call {
    gate: Gate,
    lent: *const Lent<'static>,
    /// The thread of the pool that called, if it is one.
    #[cfg_attr(loom, expect(dead_code, reason = "models have no pool"))]
    caller: Option<usize>,
    /// Jobs in that thread's own queue that nobody has begun.
    left: AtomicUsize,
    /// The first panic of a helper.
    panicked: Mutex<Panicked>,
}

// SAFETY: what `lent` points to may be looked at, and called, by several threads at once; who may follow it, `answer` says.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

/// Jobs from outside of the pool that nobody has begun.
#[cfg(not(loom))]
static UNANSWERED: CachePadded<AtomicUsize> = CachePadded::new(AtomicUsize::new(0));

/// Jobs for a program's own workers, of one thread's scopes, that these have neither begun nor dropped. A number of its own: who keeps
/// them for ever is no sign that a pool, or another program's workers, have no time.
pub(crate) type Kept = Arc<AtomicUsize>;

/// So many of them are enough to see that the pool has no time: no more are left there.
const ENOUGH: usize = if cfg!(loom) { 3 } else { 4_096 };

/// That one of them more is there, until this is dropped.
pub(crate) struct Unanswered<C: Deref<Target = AtomicUsize>>(C);

impl<C: Deref<Target = AtomicUsize>> Unanswered<C> {
    /// One more of them; `None` if there are enough.
    pub(crate) fn one_of(all: C) -> Option<Self> {
        // Ordering: Relaxed, here and below: a count that nothing follows from.
        if all.load(Ordering::Relaxed) >= ENOUGH {
            return None;
        }
        all.fetch_add(1, Ordering::Relaxed);
        Some(Self(all))
    }
}

impl<C: Deref<Target = AtomicUsize>> Drop for Unanswered<C> {
    fn drop(&mut self) {
        if !mutant::active("job_counts_for_ever") {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// How often a thread of a pool looks for other work before it sleeps, and how long it sleeps at a time.
const LOOKS: u32 = 32;
const NAP: Duration = Duration::from_micros(100);

/// How often a thread in no pool looks whether its helpers have left before it sleeps: some microseconds.
const SPINS: u32 = 64;

/// Looks again and again, for less than it takes a thread to sleep and to wake up; whether that has come.
fn soon(comes: impl Fn() -> bool) -> bool {
    (0..SPINS).any(|_| {
        core::hint::spin_loop();
        comes()
    })
}

/// How many threads the system lets run at once. (Asked for once: it reads files for that. Not one of the sync room's: it is
/// no part of a protocol.)
fn processors() -> usize {
    static ALL: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *ALL.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Calls `own` on this thread, again and again until it says that there was nothing to do while no
/// helper was at work; and `help` on threads of the pool, or of the program's own workers, that follow a [call](Call::ask)
/// before that.
///
/// Of a program's own workers, so many help at once at `most`; who comes when there are as many leaves at once. A thread that
/// works on this already, the calling one, too, is none of them when it comes again in a wait. (A pool has no more threads than
/// it says.)
///
/// Each that comes asks as many others as `below` says for its number, from 1, which nobody else gets: before it works, or as it
/// leaves at once. Which job is turned away is chance; so nobody below it goes unasked.
///
/// What helpers leave undone must be found by `own` when they have left. Who has something to do for the calling thread
/// [wakes](Call::wake) it.
///
/// A panic, of `own` first, comes back when all have left.
pub(crate) fn with_helpers(
    most: usize,
    below: impl Fn(usize) -> usize + Sync,
    help: impl Fn(&Arc<Call>, usize) + Sync,
    mut own: impl FnMut(&Arc<Call>) -> bool,
) {
    let lent = Lent {
        below: &below,
        help: &help,
        current: Current::here(),
        root: current::root(),
        place: current::place(),
        most,
        at_work: AtomicUsize::new(0),
    };
    let call = Arc::new(Call {
        gate: Gate::new(),
        // The lifetime alone changes. It is followed by those alone who are inside the gate, and this function ends after
        // that was closed.
        lent: core::ptr::from_ref(&lent).cast(),
        caller: match lent.current {
            Current::Rayon => rayon::current_thread_index(),
            Current::Own(_) | Current::Nobody => None,
        },
        left: AtomicUsize::new(0),
        panicked: Mutex::new(None),
    });
    let (mut panicked, mut of_pause) = (None, None);
    let mut idle = 0;
    // Nothing unwinds out of it: helpers may be inside. Nor does a panic that is none of `own`'s keep that from going on.
    loop {
        let mut view = call.gate.look();
        let mut did = false;
        // Who has panicked does no more.
        if panicked.is_none() {
            note(&mut panicked, || did = own(&call));
            // What it ran may have waited, and taken what woke this thread when the last one left: look again before a sleep.
            did |= panicked.is_some();
        }
        if mutant::active("caller_looks_late") {
            view = call.gate.look();
        }
        if did {
            idle = 0;
        } else if !view.is_empty() {
            let is_empty = || call.gate.look().is_empty();
            note(&mut of_pause, || pause(&mut idle, most, is_empty));
        } else if call.gate.close(view) {
            break;
        }
    }
    // On a thread of the pool they are in its own queue, most of them at its end, and nobody else may ever have time.
    //
    // Ordering: Relaxed: a count that nothing follows from.
    while call.left.load(Ordering::Relaxed) > 0
        && rayon::yield_local() == Some(rayon::Yield::Executed)
    {}
    let of_helper = call.panicked.lock().take();
    resume(first(first(panicked, of_helper), of_pause));
}

/// Lets time pass until somebody wakes this thread, or a little. A thread of a pool does what else
/// there is meanwhile: what it waits for may wait for a job that only this thread can do, a
/// broadcast, and nobody wakes it for that. So does one that has workers of the program's own.
///
/// In no pool, it looks first whether they leave at once, if `most` helpers have a processor each.
fn pause(idle: &mut u32, most: usize, is_empty: impl Fn() -> bool) {
    let own = current::yield_now();
    if own == Some(true) {
        *idle = 0;
        return;
    }
    // What else there is in a pool is nothing of theirs.
    match Current::Rayon.within(rayon::yield_now) {
        Some(rayon::Yield::Executed) => *idle = 0,
        None if own.is_none() => {
            let first = core::mem::replace(idle, 1) == 0;
            if !(first && most < processors() && soon(is_empty)) {
                thread::park();
            }
        }
        // (A model would walk each of these.)
        _ if *idle < LOOKS && !cfg!(loom) => {
            *idle += 1;
            thread::yield_now();
        }
        _ => nap(NAP),
    }
}

impl Call {
    /// Asks so many threads for help.
    pub(crate) fn ask(self: &Arc<Self>, helpers: usize) {
        #[cfg(not(loom))]
        if current::is_rayon() {
            return self.ask_pool(helpers);
        }
        self.ask_own(helpers);
    }

    /// Asks so many of the current pool. (Rayon's threads are none that a model can walk.)
    #[cfg(not(loom))]
    fn ask_pool(self: &Arc<Self>, helpers: usize) {
        let thread = rayon::current_thread_index();
        let (outside, own) = (thread.is_none(), thread.is_some() && thread == self.caller);
        for _ in 0..helpers {
            let unanswered = outside.then(|| Unanswered::one_of(&*UNANSWERED));
            if let Some(None) = unanswered {
                return;
            }
            if own {
                // Ordering: Relaxed, here and below: a count that nothing follows from.
                self.left.fetch_add(1, Ordering::Relaxed);
            }
            let call = Arc::clone(self);
            rayon::spawn(move || {
                drop(unanswered);
                if own {
                    call.left.fetch_sub(1, Ordering::Relaxed);
                }
                call.answer();
            });
        }
    }

    /// Asks so many of the program's own workers.
    #[inline(never)]
    fn ask_own(self: &Arc<Self>, helpers: usize) {
        let Current::Own(own) = Current::here() else {
            return;
        };
        for _ in 0..helpers {
            let Some(job) = Job::of(self, own.kept()) else {
                return;
            };
            // Who panics is not asked again at once.
            if !own.spawn(job) {
                return;
            }
        }
    }

    /// Wakes the thread that called, if it sleeps.
    pub(crate) fn wake(&self) {
        self.gate.wake();
    }

    /// Helps, if it is not over.
    pub(crate) fn answer(self: &Arc<Self>) {
        let Some(number) = self.gate.enter() else {
            return;
        };
        // However this ends.
        let inside = Inside(&self.gate);
        // SAFETY: entered: `with_helpers` has not ended, and does not before `leave`.
        let lent = unsafe { &*self.lent };
        let mut panicked = None;
        let name = Arc::as_ptr(self).addr();
        let number = number as usize + 1;
        let is_let_in = lent.unless_enough(name, || {
            note(&mut panicked, || {
                let help = || {
                    self.ask((lent.below)(number));
                    (lent.help)(self, number);
                };
                lent.current.clone().help(lent.root, name, help);
            });
        });
        if !is_let_in && !mutant::active("turned_away_asks_nobody") {
            note(&mut panicked, || self.ask_in_passing(lent, number));
        }
        if mutant::active("helpers_panic_kept_late") {
            drop(inside);
            return self.keep(panicked);
        }
        if panicked.is_some() && !mutant::active("helpers_panic_is_lost") {
            self.keep(panicked);
        }
        drop(inside);
    }

    /// Who is turned away has used up a number: asks those below it.
    #[cold]
    fn ask_in_passing(self: &Arc<Self>, lent: &Lent<'_>, number: usize) {
        let others = (lent.below)(number);
        if others > 0 {
            lent.current.clone().within(|| self.ask(others));
        }
    }

    /// Keeps a helper's panic for the thread that called, if it is the first.
    #[cold]
    fn keep(&self, panicked: Panicked) {
        let mut all = self.panicked.lock();
        let second = match &*all {
            None => core::mem::replace(&mut *all, panicked),
            Some(_) => panicked,
        };
        drop(all);
        // What it carries is a user's.
        forget(second);
    }
}

/// Who has entered a gate leaves it when this is dropped.
struct Inside<'g>(&'g Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use core::cell::Cell;
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    use super::*;
    use crate::workers::Workers;

    #[test]
    fn of_jobs_that_nobody_takes_so_many_are_made_and_no_more() {
        static JOBS: AtomicUsize = AtomicUsize::new(0);
        let one = || Unanswered::one_of(&JOBS);
        let mut all: Vec<_> = core::iter::from_fn(one).take(2 * ENOUGH).collect();
        assert_eq!(all.len(), ENOUGH);
        all.pop();
        let again = one();
        assert!(again.is_some() && one().is_none());
        drop((all, again));
        assert_eq!(JOBS.load(Ordering::Relaxed), 0);
    }

    /// Keeps its jobs, for tests that say who runs them and when.
    #[derive(Default)]
    struct Keeps(Mutex<Vec<Job>>);

    impl Keeps {
        /// Runs one of them here.
        fn run_one(&self) {
            let job = self.0.lock().pop();
            assert!(job.map(Job::run).is_some(), "there was one");
        }
    }

    impl Workers for Keeps {
        fn threads(&self) -> usize {
            2
        }

        fn spawn(&self, job: Job) {
            self.0.lock().push(job);
        }
    }

    thread_local! {
        /// In how many jobs of the call a thread is.
        static DEEP: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn a_thread_that_is_in_a_call_is_let_in_once_more_and_takes_nobodys_place() {
        let keeps = Arc::new(Keeps::default());
        let came = Mutex::new(Vec::new());
        let asker = thread::current().id();
        // As if each waited for something of its own in the middle.
        let help = |_: &Arc<Call>, _| {
            let deep = DEEP.get() + 1;
            let is_asker = thread::current().id() == asker;
            came.lock().push((is_asker, deep));
            DEEP.set(deep);
            if deep == 1 || !is_asker {
                keeps.run_one();
            }
            if is_asker {
                // The one other that there may be, and one too many.
                thread::scope(|threads| {
                    let other = threads.spawn(|| keeps.run_one());
                    assert!(other.join().is_ok());
                });
            }
            DEEP.set(deep - 1);
        };
        let mut first = true;
        let own = |call: &Arc<Call>| {
            let first = core::mem::take(&mut first);
            if first {
                call.ask(5);
                keeps.run_one();
            }
            first
        };
        let current = Current::own(Arc::<Keeps>::clone(&keeps));
        current.within(|| with_helpers(1, |_| 0, help, own));
        // The asker's first, in which its second leaves; then the other's, its second, in which its third leaves.
        assert_eq!(*came.lock(), [(true, 1), (false, 1), (false, 2)]);
        assert!(keeps.0.lock().is_empty());
    }

    #[test]
    fn who_panics_behind_a_helper_that_has_left_waits_for_nobody() {
        let (done, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let (came, go) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let help = |_: &Arc<Call>, _| {
                came.store(1, Ordering::Release);
                while go.load(Ordering::Acquire) == 0 {
                    thread::yield_now();
                }
            };
            let mut round = 0;
            let own = |call: &Arc<Call>| {
                round += 1;
                if round == 1 {
                    call.ask(1);
                    while came.load(Ordering::Acquire) == 0 {
                        thread::yield_now();
                    }
                    return true;
                }
                go.store(1, Ordering::Release);
                // What wakes the thread when the last has left is a user's, if the user waits so.
                thread::park();
                std::panic::resume_unwind(Box::new("bad"));
            };
            // (From outside of all pools, where who waits looks for nothing else.)
            let found = catch_unwind(AssertUnwindSafe(|| with_helpers(1, |_| 0, help, own)));
            let bad = found.is_err_and(|panic| panic.downcast_ref() == Some(&"bad"));
            done.send(bad)
        });
        let found = told.recv_timeout(Duration::from_secs(20));
        assert_eq!(found, Ok(true), "it comes back");
    }
}
