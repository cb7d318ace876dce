//! `Current`: whose threads a thread asks for help, those of the current rayon pool, or a program's
//! [own](crate::workers).
//!
//! State: a thread-local list of scopes that have begun on this thread and not ended, by their numbers; the last one's is asked,
//! rayon where there is none. The end of a scope takes out its own, wherever that stands (those of coroutines end in any
//! order): nothing of a scope that has ended is left. The list owns what it names, so nothing leads nowhere.
//!
//! Whoever has workers last drops them, which may be a thread in the middle of asking or waiting; so each handle here ends
//! without a panic.
//!
//! Who helps has the asker's as long as it does: what it asks for meanwhile, in a loop within a loop, it asks the same
//! threads for.
//!
//! Within a method of a program's workers a thread asks nobody: one that begins parallel work would call itself. Nor does it
//! [run jobs](may_help) there, whatever scopes it begins: one that runs the job that it is given would begin it in the middle
//! of what asks, as deep as there are jobs. (Who waits may run jobs: it is in the middle of nothing.)
//!
//! A thread that ends loses its list before some of its other values. Where one of these begins a scope as it is dropped, what
//! is left of it is a number: the thread asks nobody in there. (Some systems make the list anew then, with nothing in it.)

use core::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::helpers::Kept;
use crate::panics::{Panicked, forget, note, said, tell};
use crate::sync::thread_local;
use crate::workers::{Job, MOST_THREADS, Workers};

/// Whose threads a thread asks.
#[derive(Clone)]
pub(crate) enum Current {
    /// Those of the current rayon pool.
    Rayon,
    /// A program's own.
    Own(Own),
    /// Nobody: it is within a method of a program's workers.
    Nobody,
}

/// A program's own threads, as one scope, and those that help in it, ask them.
#[derive(Clone)]
pub(crate) struct Own {
    /// There until this ends.
    workers: Option<Arc<dyn Workers>>,
    /// Jobs of theirs that wait, of this scope and others of the same thread's.
    kept: Kept,
}

/// A scope that has begun on a thread.
struct Begun {
    number: u64,
    current: Current,
    /// For whom its thread helps: see [`root`]; 0 if it does not.
    root: usize,
    /// With which call it helps, by its address; 0 if with none.
    call: usize,
}

/// Who is helped.
struct Helped {
    root: usize,
    call: usize,
}

/// What has begun on a thread and not ended, the innermost last.
struct Scopes {
    all: Vec<Begun>,
    begun: u64,
    /// Workers that a scope here was given and jobs of theirs that wait: of scopes that have not ended, and of those of which
    /// some waited when one ended.
    kept: Vec<(Weak<dyn Workers>, Kept)>,
}

thread_local! {
    static SCOPES: RefCell<Scopes> = const {
        RefCell::new(Scopes { all: Vec::new(), begun: 0, kept: Vec::new() })
    };
    /// How many scopes have begun since the list has gone, and not ended.
    static ALONE: Cell<usize> = const { Cell::new(0) };
    /// In how many methods this thread is that must not run a job.
    static ASKING: Cell<u32> = const { Cell::new(0) };
    /// The number of a thread that has helped as one of a program's own, from 1; 0 of others.
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    /// Its address is the number of this thread as a [`root`].
    static PLACE: Cell<u8> = const { Cell::new(0) };
}

/// Numbers of such threads: as many as rows of a trace are of use. Those after them have the same again.
const NUMBERS: u32 = 1_023;

/// Their names, by these numbers, from 1: of the last that was given each. (Not one of the sync room's locks: a thread takes it
/// once, for a move, and so does who writes a trace.)
static NAMES: Mutex<Vec<Option<Arc<str>>>> = Mutex::new(Vec::new());

/// What this thread's is, for a look: nothing of a program runs in `look`.
#[inline]
fn look<R>(look: impl FnOnce(&Current) -> R) -> R {
    let mut look = Some(look);
    let mut at = |current: &Current| look.take().map(|look| look(current));
    let seen = SCOPES.try_with(|scopes| {
        scopes
            .borrow()
            .all
            .last()
            .and_then(|last| at(&last.current))
    });
    let seen = match seen {
        Ok(Some(seen)) => Some(seen),
        Ok(None) => at(&Current::Rayon),
        Err(_) => at(&without_list()),
    };
    match seen {
        Some(seen) => seen,
        None => unreachable!("it has looked once"),
    }
}

/// Whose threads a thread asks whose list has gone.
#[cold]
fn without_list() -> Current {
    match ALONE.try_with(Cell::get) {
        Ok(0) | Err(_) => Current::Rayon,
        Ok(_) => Current::Nobody,
    }
}

/// One scope more, or one fewer, on a thread whose list has gone.
#[cold]
fn count_alone(count: impl FnOnce(usize) -> usize) {
    _ = ALONE.try_with(|alone| alone.set(count(alone.get())));
}

/// Whether this thread asks rayon's threads.
#[inline]
pub(crate) fn is_rayon() -> bool {
    look(|current| matches!(current, Current::Rayon))
}

/// Whether this thread may run a job: not within a method that asks, nor when it is about to end.
pub(crate) fn may_help() -> bool {
    let lives = SCOPES.try_with(|_| ()).is_ok();
    lives && matches!(ASKING.try_with(Cell::get), Ok(0))
}

/// The thread that all of this is done for, itself or another that it helps: a number of this thread alone as long as it
/// lives.
pub(crate) fn root() -> usize {
    let root = SCOPES.try_with(|scopes| scopes.borrow().root());
    match root.unwrap_or(0) {
        0 => place().unwrap_or(0),
        root => root,
    }
}

/// How often this thread is in the middle of helping with a call, which is there meanwhile.
pub(crate) fn helping_with(call: usize) -> usize {
    let helps = SCOPES.try_with(|scopes| {
        let all = &scopes.borrow().all;
        all.iter().filter(|scope| scope.call == call).count()
    });
    helps.unwrap_or(0)
}

/// This thread's own number as a [root]; `None` if it is about to end.
pub(crate) fn place() -> Option<usize> {
    PLACE
        .try_with(|place| core::ptr::from_ref(place).addr())
        .ok()
}

/// How many threads this one's own workers have, this one among them; `None` where rayon is to be asked.
#[inline]
pub(crate) fn threads() -> Option<usize> {
    if is_rayon() {
        None
    } else {
        Some(own_threads())
    }
}

#[inline(never)]
fn own_threads() -> usize {
    let threads = match Current::here() {
        Current::Own(own) => own.ask("threads", |workers| workers.threads()),
        Current::Rayon | Current::Nobody => None,
    };
    threads.unwrap_or(1).clamp(1, MOST_THREADS)
}

/// This thread waits: lets its own workers do something else on it. Whether they have; `None` where rayon is to be asked.
pub(crate) fn yield_now() -> Option<bool> {
    match Current::here() {
        Current::Rayon => None,
        Current::Nobody => Some(false),
        Current::Own(own) => Some(own.wait()),
    }
}

/// The number of this thread among those that help as a program's own, 0 if it does not, from 1 to 1,023 if it does; `None`
/// where rayon is to be asked.
pub(crate) fn number() -> Option<u32> {
    (!is_rayon()).then(|| NUMBER.try_with(Cell::get).unwrap_or(0))
}

/// Calls a method of a program's workers. A panic of it ends here: who asks may be in the middle of a change, and can do
/// without help.
fn quietly<R>(method: &'static str, call: impl FnOnce() -> R) -> Option<R> {
    let (mut panicked, mut done) = (None, None);
    note(&mut panicked, || done = Some(call()));
    if panicked.is_some() {
        tell_of(method, panicked);
    }
    done
}

#[cold]
fn tell_of(method: &'static str, panicked: Panicked) {
    let text = panicked.as_deref().and_then(said).map(str::to_owned);
    forget(panicked);
    tell(|| {
        tracing::warn!(
            name: "workers_panicked",
            target: "megachunk::schedule",
            method,
            error = text.as_deref().unwrap_or("no text"),
            "a program's own workers panicked; the panic ends here, and who asked goes on without them"
        );
    });
}

/// That this thread is within a method that asks, until this ends.
struct Asking;

impl Asking {
    fn begin() -> Self {
        _ = ASKING.try_with(|asking| asking.set(asking.get().saturating_add(1)));
        Self
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        _ = ASKING.try_with(|asking| asking.set(asking.get().saturating_sub(1)));
    }
}

impl Own {
    /// Hands a job over; whether they have taken it, or let it go, without a panic.
    pub(crate) fn spawn(&self, job: Job) -> bool {
        self.ask("spawn", |workers| workers.spawn(job)).is_some()
    }

    /// How many jobs of theirs wait.
    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Calls a method in the middle of something: until it has ended, and a panic of it, too, the thread asks nobody, and runs
    /// no job.
    fn ask<R>(&self, method: &'static str, call: impl FnOnce(&dyn Workers) -> R) -> Option<R> {
        let workers = self.workers.as_deref()?;
        let _asking = Asking::begin();
        Current::Nobody.within(|| quietly(method, || call(workers)))
    }

    fn wait(&self) -> bool {
        let workers = self.workers.as_deref();
        workers.is_some_and(|workers| quietly("yield_now", || workers.yield_now()) == Some(true))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let workers = self.workers.take();
        let _asking = Asking::begin();
        // (If this is the last handle, they end here.)
        _ = quietly("drop", || drop(workers));
    }
}

impl Scopes {
    /// The root of the innermost.
    fn root(&self) -> usize {
        self.all.last().map_or(0, |last| last.root)
    }

    fn begin(&mut self, current: Current, helped: Option<Helped>) -> u64 {
        self.begun = self.begun.wrapping_add(1);
        let (root, call) = match helped {
            Some(Helped { root, call }) => (root, call),
            None => (self.root(), 0),
        };
        self.all.push(Begun {
            number: self.begun,
            current,
            root,
            call,
        });
        self.begun
    }

    /// The count of jobs for these workers: the one that a scope here had before, if some of them wait still.
    fn kept(&mut self, workers: &Arc<dyn Workers>) -> Kept {
        let is_theirs = |of: &Weak<_>| core::ptr::addr_eq(of.as_ptr(), Arc::as_ptr(workers));
        if let Some((_, kept)) = self.kept.iter().find(|(of, _)| is_theirs(of)) {
            return Kept::clone(kept);
        }
        let kept = Kept::default();
        self.kept
            .push((Arc::downgrade(workers), Kept::clone(&kept)));
        kept
    }

    /// Lets the counts go that say nothing, and that no scope uses.
    fn forget_kept(&mut self) {
        let Self { all, kept, .. } = self;
        let is_used = |kept: &Kept| {
            all.iter().any(|scope| match &scope.current {
                Current::Own(own) => Kept::ptr_eq(&own.kept, kept),
                Current::Rayon | Current::Nobody => false,
            })
        };
        // Ordering: Relaxed: a count that nothing follows from.
        kept.retain(|(of, kept)| {
            let waits = kept.load(crate::sync::atomic::Ordering::Relaxed) > 0;
            of.strong_count() > 0 && (waits || is_used(kept))
        });
    }

    /// Takes a scope out: whoever calls drops it when nothing is borrowed any more.
    fn end(&mut self, scope: u64) -> Option<Current> {
        let at = self.all.iter().rposition(|other| other.number == scope)?;
        let ended = self.all.remove(at).current;
        if matches!(ended, Current::Own(_)) {
            self.forget_kept();
        }
        Some(ended)
    }
}

/// A scope on this thread, until this ends, also by a panic. Without a number if its list had gone.
struct Scope(Option<u64>);

impl Scope {
    /// With another root than the scope around it, if it is for who is helped.
    fn begin(current: Current, helped: Option<Helped>) -> Self {
        let scope = SCOPES.try_with(|scopes| scopes.borrow_mut().begin(current, helped));
        if scope.is_err() {
            count_alone(|alone| alone.saturating_add(1));
        }
        Self(scope.ok())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let Some(scope) = self.0 else {
            return count_alone(|alone| alone.saturating_sub(1));
        };
        let ended = SCOPES.try_with(|scopes| scopes.borrow_mut().end(scope));
        drop(ended);
    }
}

impl Current {
    /// A program's own, for a scope.
    pub(crate) fn own(workers: Arc<dyn Workers>) -> Self {
        let kept = SCOPES.try_with(|scopes| scopes.borrow_mut().kept(&workers));
        Self::Own(Own {
            workers: Some(workers),
            kept: kept.unwrap_or_default(),
        })
    }

    /// This thread's.
    pub(crate) fn here() -> Self {
        look(Self::clone)
    }

    /// Does some work that asks these threads.
    #[inline]
    pub(crate) fn within<R>(self, work: impl FnOnce() -> R) -> R {
        if matches!(self, Self::Rayon) && is_rayon() {
            return work();
        }
        self.within_other(work)
    }

    #[inline(never)]
    fn within_other<R>(self, work: impl FnOnce() -> R) -> R {
        let _scope = Scope::begin(self, None);
        work()
    }

    /// Helps an asker with a call, by its address, all for that [root], on a thread that may be one of a program's own. If it is
    /// not the root itself, it gets a number then.
    #[inline]
    pub(crate) fn help<R>(self, root: usize, call: usize, work: impl FnOnce() -> R) -> R {
        match self {
            Self::Own(_) => self.help_own(Helped { root, call }, work),
            Self::Rayon | Self::Nobody => self.within(work),
        }
    }

    #[inline(never)]
    fn help_own<R>(self, helped: Helped, work: impl FnOnce() -> R) -> R {
        if place().is_some_and(|own| own != helped.root) {
            number_this_thread();
        }
        let _scope = Scope::begin(self, Some(helped));
        work()
    }
}

fn number_this_thread() {
    _ = NUMBER.try_with(|number| {
        if number.get() == 0 {
            number.set(next_number());
        }
    });
}

/// A number for this thread, which has its name from now on.
#[cold]
fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Ordering: Relaxed: a number, given out once.
    let at = NEXT.fetch_add(1, Ordering::Relaxed) % NUMBERS;
    let name = crate::sync::thread::current().name().map(Arc::from);
    let mut names = names();
    if names.len() <= at as usize {
        names.resize(at as usize + 1, None);
    }
    let before = names
        .get_mut(at as usize)
        .map(|last| core::mem::replace(last, name));
    drop(names);
    drop(before);
    at + 1
}

fn names() -> MutexGuard<'static, Vec<Option<Arc<str>>>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the program calls the thread of a number, if it does.
#[cfg_attr(loom, expect(dead_code, reason = "models write no trace"))]
pub(crate) fn name_of(number: u32) -> Option<Arc<str>> {
    let at = number.checked_sub(1)? as usize;
    names().get(at)?.clone()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;
    use crate::workers::helpers::{Call, with_helpers};

    /// Says how many there are, and panics as it ends, if it is to.
    struct Few(usize, Option<Arc<AtomicUsize>>);

    impl Workers for Few {
        fn threads(&self) -> usize {
            self.0
        }

        fn spawn(&self, _job: Job) {}
    }

    impl Drop for Few {
        fn drop(&mut self) {
            if let Some(ended) = &self.1 {
                ended.fetch_add(1, Ordering::Relaxed);
                resume_unwind(Box::new("dropped"));
            }
        }
    }

    #[test]
    fn scopes_that_cross_leave_nothing_behind() {
        let (one, other) = (Arc::new(Few(2, None)), Arc::new(Few(3, None)));
        let begin = |workers| Scope::begin(Current::own(workers), None);
        let a = begin(one.clone());
        let b = begin(other.clone());
        assert_eq!(threads(), Some(3));
        drop(a);
        assert_eq!((threads(), Arc::strong_count(&one)), (Some(3), 1));
        let c = begin(one.clone());
        assert_eq!(threads(), Some(2));
        drop(b);
        assert_eq!((threads(), Arc::strong_count(&other)), (Some(2), 1));
        drop(c);
        assert_eq!((threads(), Arc::strong_count(&one)), (None, 1));
        assert!(is_rayon());
    }

    #[test]
    fn who_helps_several_that_cross_is_at_last_its_own_root_again() {
        let own = root();
        let helps = |root| {
            let helped = Helped { root, call: 7 };
            Scope::begin(Current::own(Arc::new(Few(2, None))), Some(helped))
        };
        let (first, second) = (helps(1), helps(2));
        assert_eq!((root(), helping_with(7)), (2, 2));
        // What it asks for meanwhile is for the same.
        let within = Scope::begin(Current::Nobody, None);
        assert_eq!(root(), 2);
        drop(within);
        drop(first);
        assert_eq!(root(), 2);
        assert_eq!((helping_with(7), helping_with(0)), (1, 0));
        drop(second);
        assert_eq!((root(), helping_with(7)), (own, 0));
    }

    #[test]
    fn whoever_has_workers_last_goes_on_though_they_panic_as_they_end() {
        let ended = Arc::new(AtomicUsize::new(0));
        let scope = || {
            let workers = Arc::new(Few(2, Some(Arc::clone(&ended))));
            Scope::begin(Current::own(workers), None)
        };
        let went_on = catch_unwind(|| {
            // The end of a scope, and a handle of one that looks while that ends.
            drop(scope());
            let scope = scope();
            let last = Current::here();
            drop(scope);
            assert_eq!(ended.load(Ordering::Relaxed), 1);
            drop(last);
        });
        assert!(went_on.is_ok());
        assert_eq!(ended.load(Ordering::Relaxed), 2);
        // A scope that never ends goes with its thread.
        std::thread::scope(|threads| {
            threads.spawn(|| core::mem::forget(scope()));
        });
        assert!(may_help() && is_rayon());
    }

    thread_local! {
        static OUTER: RefCell<Option<Scope>> = const { RefCell::new(None) };
    }

    /// Gives jobs to threads of their own.
    struct Starts;

    impl Workers for Starts {
        fn threads(&self) -> usize {
            2
        }

        fn spawn(&self, job: Job) {
            std::thread::spawn(|| job.run());
        }
    }

    /// In a wait it ends the scope that asks, as another coroutine on the thread can, and panics as it ends itself.
    struct EndsInWaits(Arc<AtomicUsize>);

    impl Workers for EndsInWaits {
        fn threads(&self) -> usize {
            2
        }

        fn spawn(&self, _job: Job) {}

        fn yield_now(&self) -> bool {
            let scope = OUTER.with_borrow_mut(Option::take);
            drop(scope);
            false
        }
    }

    impl Drop for EndsInWaits {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            resume_unwind(Box::new("dropped"));
        }
    }

    #[test]
    fn who_waits_for_a_helper_does_so_though_workers_end_in_the_wait() {
        let (ended, left) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let came = AtomicUsize::new(0);
        // Up to some seconds.
        let comes = |seen: &AtomicUsize| {
            let began = std::time::Instant::now();
            while seen.load(Ordering::Relaxed) == 0 && began.elapsed().as_secs() < 20 {
                std::thread::yield_now();
            }
        };
        let mut first = true;
        let found = catch_unwind(AssertUnwindSafe(|| {
            let help = |_: &_, _| {
                came.store(1, Ordering::Relaxed);
                comes(&ended);
                std::thread::sleep(Duration::from_millis(50));
                left.store(1, Ordering::Relaxed);
            };
            let own = |call: &Arc<Call>| {
                if core::mem::take(&mut first) {
                    call.ask(1);
                    comes(&came);
                    // Another's scope, in the middle of this.
                    let other = Arc::new(EndsInWaits(Arc::clone(&ended)));
                    OUTER.set(Some(Scope::begin(Current::own(other), None)));
                    return true;
                }
                false
            };
            Current::own(Arc::new(Starts)).within(|| with_helpers(1, |_| 0, help, own));
        }));
        assert_eq!(
            left.load(Ordering::Relaxed),
            1,
            "who is inside is waited for"
        );
        assert!(found.is_ok());
        assert_eq!((ended.load(Ordering::Relaxed), is_rayon()), (1, true));
    }

    /// Elsewhere the list is made anew.
    #[cfg(not(any(
        all(windows, target_env = "gnu"),
        target_os = "android",
        target_os = "openbsd"
    )))]
    mod at_the_end_of_a_thread {
        use super::*;

        /// Looks, as its thread ends, whom that asks.
        struct Looks(std::sync::mpsc::Sender<[(bool, Option<usize>); 4]>);

        impl Drop for Looks {
            fn drop(&mut self) {
                let here = || (may_help(), threads());
                let before = here();
                let few = || Current::own(Arc::new(Few(3, None)));
                let (within, inner) = few().within(|| (here(), few().within(here)));
                _ = self.0.send([before, within, inner, here()]);
            }
        }

        #[test]
        fn whose_list_has_gone_does_alone_what_workers_of_its_own_were_to_do() {
            thread_local! {
                static LAST: RefCell<Option<Looks>> = const { RefCell::new(None) };
            }
            let (told, looked) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                // Values end in reverse: this one when the list has.
                LAST.set(Some(Looks(told)));
                assert!(may_help());
            });
            let found = looked.recv_timeout(Duration::from_secs(20));
            let (rayons, alone) = ((false, None), (false, Some(1)));
            assert_eq!(found, Ok([rayons, alone, alone, rayons]));
        }
    }
}
