//! `Broken`: why a simulation of an app could not go on.

use core::any::Any;
use core::fmt;

use crate::panics::said;
use crate::processor::ScheduleError;

/// Why the ticks of a simulation were broken off: from [`App::update_each`](super::App::update_each).
#[non_exhaustive]
pub enum Broken {
    /// Its schedule says so.
    Failed(ScheduleError),
    /// Users' code has panicked: what with, as [`catch_unwind`](std::panic::catch_unwind) gives it. Of a processor it is a
    /// `String`, with the processor's name.
    Panicked(Box<dyn Any + Send>),
}

/// What it says; of a panic that is no text, that it was one.
impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Panicked(panic) => match said(&**panic) {
                Some(text) => f.write_str(text),
                None => f.write_str("a panic with something that is no text"),
            },
        }
    }
}

/// As it is shown.
impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
