//! `Execution`: whether processors run side by side.

/// Whether processors run side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Execution {
    /// Where that is quicker, which is tried out now and then.
    #[default]
    Auto,
    /// One after the other, on the thread that runs the schedule. What they do inside may still use more.
    Alone,
    /// Always, if the pool has more than one thread.
    Beside,
}
