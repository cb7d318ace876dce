//! Work on a thread that ends afterwards: what it kept for itself it gives back then, which is a
//! path of its own.

use std::panic::resume_unwind;
use std::thread;

/// Does `work` here, or `elsewhere`, and waits for it.
pub(crate) fn on_some_thread<R: Send>(elsewhere: bool, work: impl FnOnce() -> R + Send) -> R {
    if !elsewhere {
        return work();
    }
    thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|panic| resume_unwind(panic))
}
