//! The sync room: the only place that names `std`, `loom` or `shuttle` atomics, cells and threads of protocols. It is public
//! for the models and benches of this repository, and [may change in any version](crate#what-stays).
//!
//! Every protocol of the crate is written once, with the types of this room. They are
//!
//! * `std`'s, in an ordinary build, at no cost;
//! * `loom`'s under `--cfg loom`, where the [geometry] shrinks too, so that a model checker can
//!   walk through every interleaving;
//! * `std`'s with shuttle's scheduler before each access under `--cfg shuttle` (see `scheduled`), where whole
//!   worlds run under schedules of its choice;
//! * counting ones with the feature `probe`: each access to a shared word is a *step* that can
//!   be counted and at which a thread can be frozen for ever (see [`probe`]).

pub mod atomic;
#[cfg(feature = "world")]
pub mod end;
pub mod gate;
pub mod geometry;
#[cfg(feature = "world")]
pub mod graph;
pub(crate) mod lease;
pub(crate) mod local;
#[cfg(loom)]
pub mod model;
#[cfg(loom)]
mod modelled;
#[cfg(any(loom, shuttle, feature = "probe"))]
pub mod mutant;
#[cfg(not(any(loom, shuttle, feature = "probe")))]
pub(crate) mod mutant;
mod mutex;
#[cfg(feature = "world")]
pub mod openings;
#[cfg(feature = "world")]
pub mod pool;
pub mod probe;
#[cfg(feature = "world")]
pub mod queue;
#[cfg(feature = "world")]
pub mod refreshed;
#[cfg(feature = "world")]
pub mod roster;
#[cfg(shuttle)]
mod scheduled;
#[cfg(feature = "world")]
pub mod shares;
#[cfg(feature = "world")]
pub mod slots;
#[cfg(feature = "world")]
pub(crate) mod thread_number;

pub use mutex::{Mutex, MutexGuard};

#[cfg(loom)]
pub use loom::{cell::UnsafeCell, sync::Arc, thread};

#[cfg(not(loom))]
pub use std::{sync::Arc, thread};

#[cfg(loom)]
pub(crate) use modelled::local_to_threads as thread_local;
#[cfg(shuttle)]
pub(crate) use shuttle::thread_local;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::thread_local;

#[cfg(not(loom))]
mod cell;
#[cfg(not(loom))]
pub use cell::UnsafeCell;

/// Sleeps so long, or until somebody wakes this thread. (There is no time in loom: it sleeps until then.)
#[cfg(feature = "world")]
pub(crate) fn nap(time: core::time::Duration) {
    #[cfg(loom)]
    {
        _ = time;
        thread::park();
    }
    #[cfg(not(loom))]
    thread::park_timeout(time);
}

/// Tells the processor (or the model checker) that this thread waits for another.
#[inline]
pub fn spin_wait() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(all(not(loom), feature = "probe"))]
    probe::step();
    #[cfg(shuttle)]
    scheduled::give_way();
    #[cfg(not(loom))]
    core::hint::spin_loop();
}
