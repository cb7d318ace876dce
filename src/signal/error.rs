//! What can be wrong with a signal, as a type.

/// A signal was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// The name is known, and its signals carry something else.
    #[error("signals named {name} carry {carried}, not {asked}")]
    Payload {
        /// The name.
        name: Box<str>,
        /// The type that they carry.
        carried: &'static str,
        /// The type that was asked for.
        asked: &'static str,
    },
    /// The reader has subscribed to the signal before.
    #[error("the reader has subscribed to {name} before")]
    Twice {
        /// The signal's name.
        name: Box<str>,
    },
    /// The signal is one of another world.
    #[error("the signal is one of another world")]
    OtherWorld,
}
