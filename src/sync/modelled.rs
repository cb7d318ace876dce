//! loom's atomics, with every order of dependent accesses explored.
//!
//! loom 0.7 remembers only the *last* access to a word when it looks for orders that it has not
//! tried. A thread that loads a word and then changes it hides behind its own load that another
//! thread had looked at the word before, and the order "changed first, looked at afterwards" is
//! never tried: `load ‖ load; compare_exchange` is one execution instead of six (loom's issues 166 and 392).
//! Look, then compare-and-swap is what all our protocols do, so models would pass that should not.
//!
//! So here each word has a *mark* for each thread that has loaded it. A load first makes a
//! read-modify-write of the thread's own mark; who has loaded the word and changes it first makes one of
//! the marks of the other threads. Marks are touched by read-modify-writes only, of which loom loses none, and
//! the conflict on the mark stands in for the one that loom forgets. They are `Relaxed` and never
//! read, so they order nothing.
//!
//! And a store is made as a `swap` of the same ordering. loom keeps the modification order of a word
//! as a partial order, in which a plain store and a read-modify-write that race stay unordered: it
//! lets a compare-and-swap read what a store had replaced, and a later load see either of the two
//! (loom's issue 282). Models would fail that should not. What is lost: a swap continues a release
//! sequence, a store ends it; so no protocol may count on a store being read as the start of one, and none
//! does: words that pass on claims are changed by read-modify-writes only.

use std::sync::atomic as plain;

use loom::sync::atomic as loomed;

use super::atomic::Ordering;

/// The most threads of a model, the main one included.
const THREADS: usize = 4;

loom::thread_local! {
    static ME: usize = number_of_this_thread();
}

/// This thread's number in the model: 0 for the main one. loom shows it nowhere but here.
fn number_of_this_thread() -> usize {
    let name = format!("{:?}", loom::thread::current().id());
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("loom numbers its threads")
}

/// Which threads have loaded a word, and a mark for each.
#[derive(Debug)]
struct Marks {
    marks: [loomed::AtomicUsize; THREADS],
    /// Bit `n`: thread `n` has loaded the word. Not part of the model.
    readers: plain::AtomicUsize,
}

impl Marks {
    fn new() -> Self {
        Self {
            // Made here and not when first needed: loom wants to see the making happen before.
            marks: core::array::from_fn(|_| loomed::AtomicUsize::new(0)),
            readers: plain::AtomicUsize::new(0),
        }
    }

    /// The thread is about to load the word.
    fn before_load(&self) {
        let me = ME.with(|me| *me);
        self.readers.fetch_or(1 << me, plain::Ordering::Relaxed);
        self.marks[me].fetch_add(1, Ordering::Relaxed);
    }

    /// The thread is about to change the word.
    fn before_change(&self) {
        // Who has not loaded the word hides nothing. And a thread that loads it after this is no
        // reader that loom forgets: its load is then the last access before the change.
        let readers = self.readers.load(plain::Ordering::Relaxed);
        if readers == 0 {
            return;
        }
        let me = ME.with(|me| *me);
        if readers >> me & 1 == 0 {
            return;
        }
        for (thread, mark) in self.marks.iter().enumerate() {
            if thread != me && readers >> thread & 1 == 1 {
                mark.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

// A macro, because the types differ in nothing but their names.
macro_rules! modelled_integer {
    ($name:ident, $int:ty) => {
        /// loom's type, marked.
        #[derive(Debug)]
        pub struct $name {
            word: loomed::$name,
            marks: Marks,
        }

        impl $name {
            /// An atomic that holds `value`.
            pub fn new(value: $int) -> Self {
                Self {
                    word: loomed::$name::new(value),
                    marks: Marks::new(),
                }
            }

            /// See the standard type.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $int {
                self.marks.before_load();
                self.word.load(order)
            }

            /// See the standard type.
            #[track_caller]
            pub fn store(&self, value: $int, order: Ordering) {
                self.marks.before_change();
                // See the file's head.
                self.word.swap(value, order);
            }

            /// See the standard type.
            #[track_caller]
            pub fn swap(&self, value: $int, order: Ordering) -> $int {
                self.marks.before_change();
                self.word.swap(value, order)
            }

            /// See the standard type.
            #[track_caller]
            pub fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                self.marks.before_change();
                self.word.fetch_add(value, order)
            }

            /// See the standard type.
            #[track_caller]
            pub fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                self.marks.before_change();
                self.word.fetch_sub(value, order)
            }

            /// See the standard type.
            #[track_caller]
            pub fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                self.marks.before_change();
                self.word.fetch_and(value, order)
            }

            /// See the standard type.
            #[track_caller]
            pub fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                self.marks.before_change();
                self.word.fetch_or(value, order)
            }

            /// See the standard type.
            #[track_caller]
            pub fn fetch_max(&self, value: $int, order: Ordering) -> $int {
                self.marks.before_change();
                self.word.fetch_max(value, order)
            }

            /// See the standard type.
            ///
            /// # Errors
            /// The value found, if it was not `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                self.marks.before_change();
                self.word.compare_exchange(current, new, success, failure)
            }

            /// See the standard type. Never gives up: loom's does not.
            ///
            /// # Errors
            /// The value found, if it was not `current`.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                self.compare_exchange(current, new, success, failure)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
}

modelled_integer!(AtomicU32, u32);
modelled_integer!(AtomicU64, u64);
modelled_integer!(AtomicUsize, usize);

/// loom's type, marked.
#[derive(Debug)]
pub struct AtomicPtr<T> {
    word: loomed::AtomicPtr<T>,
    marks: Marks,
}

impl<T> AtomicPtr<T> {
    /// An atomic that holds `pointer`.
    pub fn new(pointer: *mut T) -> Self {
        Self {
            word: loomed::AtomicPtr::new(pointer),
            marks: Marks::new(),
        }
    }

    /// See the standard type.
    #[track_caller]
    pub fn load(&self, order: Ordering) -> *mut T {
        self.marks.before_load();
        self.word.load(order)
    }

    /// See the standard type.
    #[track_caller]
    pub fn store(&self, pointer: *mut T, order: Ordering) {
        self.marks.before_change();
        // See the file's head.
        self.word.swap(pointer, order);
    }

    /// See the standard type.
    #[track_caller]
    pub fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
        self.marks.before_change();
        self.word.swap(pointer, order)
    }

    /// See the standard type.
    ///
    /// # Errors
    /// The pointer found, if it was not `current`.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.marks.before_change();
        self.word.compare_exchange(current, new, success, failure)
    }
}

/// loom's thread-locals, said as the standard library's are.
macro_rules! local_to_threads {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = const $init:block;)*) => {
        loom::thread_local! {
            $($(#[$attribute])* static $name: $type = $init;)*
        }
    };
}
pub(crate) use local_to_threads;
