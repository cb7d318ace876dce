//! `Execution`: whether processors run side by side.

/// Whether processors run side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Execution {
    /// Where that is quicker, which is tried out: processors between two flushes run the other way for four runs, and
    /// again after 64, then twice as many each time that it was slower, up to 4,096. Where the usual way takes a
    /// millisecond or more, such a trial ends with the first run that takes more than twice as long; where it takes less,
    /// with the second long one or so. Processors between other flushes begin no trial of long runs in the same run then, as
    /// a rule; and what took more than four times as long three times in a row is not tried again, as long as the usual way
    /// takes between half and twice the time that it took.
    ///
    /// So a frame can take longer by one run the slower way. For frames with a budget that leaves no room for that:
    /// [`Beside`](Self::Beside), or [`Alone`](Self::Alone).
    #[default]
    Auto,
    /// One after the other, on the thread that runs the schedule. What they do inside may still use more.
    Alone,
    /// Always, if the pool has more than one thread.
    Beside,
}
