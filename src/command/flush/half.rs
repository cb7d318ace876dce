//! `Half`: while it lives, a world is half changed.

/// Rows are counted before they are filled, and have gone before their holes are closed. Users' code that panics in
/// between is caught where it is called. So nothing unwinds there; if something did all the same, because of a fault in
/// this crate, others would read rows that hold nothing: the process ends instead.
#[must_use]
pub(super) struct Half;

impl Half {
    /// The world is whole again.
    pub(super) fn done(self) {
        core::mem::forget(self);
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        eprintln!(
            "megachunk: a fault in a flush, whose world is half changed; the message before says more"
        );
        std::process::abort();
    }
}
