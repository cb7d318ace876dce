//! Schedules: under `--cfg shuttle` the scheduler of the crate `shuttle` decides before each access to a shared
//! word which thread goes on.
//!
//! A model's threads are shuttle's then, all of them coroutines of one thread of the system. The atomics are those
//! of the [probe](super::probe), whose every step asks here; what a thread keeps for itself is shuttle's thread-local.
//! So whole worlds run, with the geometry that users get, where loom has room for a protocol only. What is lost:
//! every access is as if `SeqCst`; a fault that needs a weaker memory is loom's to find.
//!
//! Threads that are not shuttle's (rayon's, which hash a world) go on as they like: they must not change anything
//! that a thread of the model uses meanwhile.

#[cfg(not(feature = "probe"))]
compile_error!("under `--cfg shuttle` threads change over at the probe's steps: build with it");

use shuttle::sync::atomic::{AtomicBool, Ordering};

std::thread_local! {
    /// Looked at and never changed: a look is where shuttle lets threads change over, and it has no plainer call.
    static POINT: AtomicBool = const { AtomicBool::new(false) };
}

/// Whether the caller is a thread of a model, which can be stopped here. (Not while it unwinds: what ends then has
/// the processor to itself, so that the first panic is the one that is told.)
fn is_scheduled() -> bool {
    !std::thread::panicking() && shuttle::current::try_get_current_task().is_some()
}

/// Another thread may go on before the caller does.
pub(crate) fn point() {
    if is_scheduled() {
        POINT.with(|point| point.load(Ordering::SeqCst));
    }
}

/// The caller waits for another thread, which must go on.
pub(crate) fn give_way() {
    if is_scheduled() {
        shuttle::thread::yield_now();
    }
}
