//! A thread that ends, in order or by a panic, takes nothing with it: what it kept for itself is
//! everybody's again.
#![cfg(not(loom))]

mod chunks;
mod entities;

use std::thread;

/// How a thread ends.
#[derive(Clone, Copy)]
enum End {
    Return,
    Panic,
}

/// Runs `work` on this thread, which ends like this then.
fn on_this_thread(end: End, work: impl FnOnce()) {
    work();
    if let End::Panic = end {
        // Not `panic!`: the hook would print it.
        std::panic::resume_unwind(Box::new("on purpose"));
    }
}

/// Runs `work` on a thread of its own that ends like this.
fn on_a_thread(end: End, work: impl FnOnce() + Send) {
    let result = thread::scope(|scope| scope.spawn(|| on_this_thread(end, work)).join());
    assert_eq!(result.is_err(), matches!(end, End::Panic));
}
