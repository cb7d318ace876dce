//! The workloads: what is done to the contenders, written once for all of them.
//!
//! A workload is generic over its contender, so that the measured loops are compiled for each one
//! alone. It does equal work for everybody: the same calls in the same (precomputed) order from
//! the same state, and it checks every answer. `cargo bench` and the program call the same code.

use std::borrow::Cow;

pub mod chunk;
pub mod ecs;
pub mod id;
mod order;
mod parts;
mod registry;

pub use order::{Shuffler, permutation};
pub use parts::{Parts, share};
pub use registry::{Named, Registry};

/// Why a contender does not take part in a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub Cow<'static, str>);

impl Unsupported {
    /// Why, in words that are known beforehand.
    #[must_use]
    pub const fn because(why: &'static str) -> Self {
        Self(Cow::Borrowed(why))
    }
}
