//! `Brittle`: a value on the heap that counts itself, and whose drop panics where it is told to; and what this
//! thread holds on the heap.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    /// Drops on this thread until one panics; 0: none does; negative: each, unless another panic is under way;
    /// [`ALWAYS`]: then, too.
    static FUSE: Cell<isize> = const { Cell::new(0) };
    /// Bytes that this thread has allocated and not given back.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The most that it ever was since it was asked for.
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// Each drop panics, and if it is met while a panic unwinds, that ends the program.
pub(crate) const ALWAYS: isize = isize::MIN;

/// The system's allocator, which counts.
struct Counting;

fn hold(bytes: isize) {
    // A thread may end its cells before it gives its last memory back.
    let held = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        held.get()
    });
    let _ = MOST.try_with(|most| most.set(most.get().max(held.unwrap_or_default())));
}

// SAFETY: the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size().cast_signed());
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        hold(-layout.size().cast_signed());
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test at a time asks what it holds: the program keeps the memory of one universe that is gone for the next, and a
/// test that takes what another left, or leaves what it made, would hold less, or more.
static ASKING: Mutex<()> = Mutex::new(());

/// Does `work` again and again, until this thread holds as much on the heap afterwards as before: what is made once, for
/// a thread or the program, is made at some time.
///
/// # Panics
/// If it holds more each time.
#[track_caller]
pub(crate) fn holds_nothing(mut work: impl FnMut()) {
    // A test that has failed has told so itself.
    let _alone = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut more = 0;
    for _ in 0..100 {
        let before = HELD.get();
        work();
        more = HELD.get() - before;
        if more == 0 {
            return;
        }
    }
    panic!("{more} bytes that nobody has");
}

/// How many bytes more this thread holds on the heap while it does `work`, at most.
#[cfg(feature = "config")]
pub(crate) fn held_at_most(work: impl FnOnce()) -> isize {
    let before = HELD.get();
    MOST.set(before);
    work();
    MOST.get() - before
}

/// Lets the `drops`-th drop from now on panic; negative: each of them, unless another panic is under way, or
/// [`ALWAYS`].
pub(crate) fn arm(drops: isize) {
    FUSE.set(drops);
}

/// Does `work`, whose `drops`-th drop of a [`Brittle`] panics, or each; what it panicked with is the fuse.
#[track_caller]
pub(crate) fn burns(drops: isize, work: impl FnOnce()) {
    arm(drops);
    let result = catch_unwind(AssertUnwindSafe(work));
    arm(0);
    let panic = result.expect_err("it was to panic");
    assert_eq!(panic.downcast_ref(), Some(&"the fuse"));
}

/// The same, whether or not that comes back.
pub(crate) fn ends(drops: isize, work: impl FnOnce()) {
    arm(drops);
    let result = catch_unwind(AssertUnwindSafe(work));
    arm(0);
    assert!(drops != 0 || result.is_ok());
}

/// What users' code does that may panic.
fn burn() {
    let left = FUSE.get();
    if left == ALWAYS || left != 0 && !std::thread::panicking() {
        FUSE.set(if left > 0 { left - 1 } else { left });
        if left <= 1 {
            resume_unwind(Box::new("the fuse"));
        }
    }
}

/// How many values there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<AtomicIsize>);

impl Count {
    pub(crate) fn get(&self) -> isize {
        self.0.load(Ordering::Relaxed)
    }

    /// One more, with a number.
    pub(crate) fn brittle(&self, number: u32) -> Brittle {
        self.0.fetch_add(1, Ordering::Relaxed);
        Brittle(Box::new(number), self.clone())
    }
}

/// Counts itself; its drop may panic.
#[derive(Debug)]
pub(crate) struct Brittle(pub(crate) Box<u32>, Count);

impl Brittle {
    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        (*self.0).into()
    }
}

impl Clone for Brittle {
    fn clone(&self) -> Self {
        self.1.brittle(*self.0)
    }
}

impl PartialEq for Brittle {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Brittle {}

impl std::hash::Hash for Brittle {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Drop for Brittle {
    fn drop(&mut self) {
        self.1.0.fetch_sub(1, Ordering::Relaxed);
        burn();
    }
}

/// An iterator with a [`Brittle`] beside it, which is dropped when it ends.
pub(crate) struct With<I>(
    pub(crate) I,
    #[expect(dead_code, reason = "it is dropped")] pub(crate) Brittle,
);

impl<I: Iterator> Iterator for With<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}
