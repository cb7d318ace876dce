//! `Tied`: a value of one thread, in a resource that all may hold.
//!
//! Must hold: the value is touched, and ended, on the thread alone that made it. Threads are told apart by numbers that are
//! given out once, so that none is ever taken for one that has ended.

use core::any::type_name;
use core::cell::Cell;
use core::fmt;
use core::mem::{ManuallyDrop, needs_drop};

use crate::panics::tell;
use crate::sync::thread_local;
use crate::world::new_identity;

/// A value that is tied to the thread that made it, `Send` and `Sync` or not: a window, a graphics context, an interpreter of
/// scripts. The box itself goes wherever a world goes, as a resource; what is in it is lent on its own thread only.
///
/// For processors that are [bound](crate::processor::ProcessorBuilder::main_thread) to the thread that runs the schedule,
/// where that is the thread that made it. Everywhere else there is nothing in it.
///
/// All calls are O(1), without a lock or an allocation.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
/// use megachunk::prelude::*;
/// use megachunk::processor::Tied;
///
/// /// Not `Send`.
/// struct Window {
///     drawn: Rc<Cell<usize>>,
/// }
///
/// let drawn = Rc::new(Cell::new(0));
/// let mut world = World::new();
/// world.resources_mut().insert(Tied::new(Window { drawn: Rc::clone(&drawn) }));
/// let _ = world.create_batch((0..100_u32).map(|n| (n,)))?;
/// let mut schedule = Schedule::new();
/// schedule.add(
///     processor("draw", |mut shapes: QueryRun<&u32>, window: &mut Tied<Window>| -> ProcessorResult {
///         let window = window.get_mut().ok_or("the schedule runs on another thread than the window's")?;
///         window.drawn.set(window.drawn.get() + shapes.count());
///         Ok(())
///     })
///     .main_thread(),
/// );
/// schedule.run(&mut world)?;
/// assert_eq!(drawn.get(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Dropped on another thread, or when its own has ended, the value cannot be ended: it leaks, and an
/// [event of `tracing`](crate#what-it-tells) says so. So [take it out](Self::into_inner) before the world goes to another
/// thread, or ends there.
#[doc(alias = "NonSend")]
#[must_use = "it holds a value that only this thread can end"]
pub struct Tied<T: 'static> {
    /// Touched by the thread with this number alone.
    value: ManuallyDrop<T>,
    thread: u64,
}

// SAFETY: the value goes along in memory, but only its own thread reads it, lends it, or ends it: see `is_here`.
unsafe impl<T: 'static> Send for Tied<T> {}
// SAFETY: as above: to all other threads it lends nothing.
unsafe impl<T: 'static> Sync for Tied<T> {}

thread_local! {
    /// The thread's number; 0 until it is asked for. (It has no `drop`: it is there until the thread has ended.)
    static HERE: Cell<u64> = const { Cell::new(0) };
}

/// The calling thread's number, which no other has, had, or will have.
#[inline]
fn here() -> u64 {
    HERE.with(|here| match here.get() {
        0 => {
            let number = new_identity();
            here.set(number);
            number
        }
        number => number,
    })
}

impl<T: 'static> Tied<T> {
    /// Ties a value to the calling thread.
    pub fn new(value: T) -> Self {
        Self {
            value: ManuallyDrop::new(value),
            thread: here(),
        }
    }

    /// Whether it is tied to the calling thread.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.thread == here()
    }

    /// The value, on its own thread; `None` on another.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use megachunk::processor::Tied;
    ///
    /// let tied = Tied::new(Rc::new(7));
    /// assert_eq!(tied.get().map(|seven| **seven), Some(7));
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| assert!(tied.get().is_none()));
    /// });
    /// ```
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.is_here().then(|| &*self.value)
    }

    /// The value, to change, on its own thread; `None` on another.
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.is_here().then(|| &mut *self.value)
    }

    /// The value, untied.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use megachunk::processor::Tied;
    ///
    /// let tied = Tied::new(Rc::new(7));
    /// let tied = std::thread::spawn(|| tied.into_inner().unwrap_err()).join().unwrap();
    /// assert_eq!(*tied.into_inner().unwrap(), 7);
    /// ```
    ///
    /// # Errors
    /// Itself, on another thread than its own.
    pub fn into_inner(self) -> Result<T, Self> {
        if !self.is_here() {
            return Err(self);
        }
        let mut tied = ManuallyDrop::new(self);
        // SAFETY: it is taken once, on its own thread, and the box does not end.
        Ok(unsafe { ManuallyDrop::take(&mut tied.value) })
    }
}

impl<T: 'static> Drop for Tied<T> {
    fn drop(&mut self) {
        if !needs_drop::<T>() {
            return;
        }
        if self.is_here() {
            // SAFETY: it ends here, on its own thread, and nobody uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        } else {
            tell_of_leak(type_name::<T>());
        }
    }
}

/// Tells who listens that a value is lost.
#[cold]
fn tell_of_leak(of: &str) {
    tell(|| {
        tracing::warn!(
            name: "tied_leaked",
            target: "megachunk::world",
            dropped = of,
            "a value that is tied to a thread was dropped on another: it is not ended, and its memory is lost"
        );
    });
}

/// The value on its own thread; elsewhere only that there is one.
impl<T: fmt::Debug + 'static> fmt::Debug for Tied<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(value) => f.debug_tuple("Tied").field(value).finish(),
            None => f.write_str("Tied(elsewhere)"),
        }
    }
}
