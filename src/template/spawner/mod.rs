//! The spawner: many entities of several kinds in one call, each in its place.
//!
//! A [`Spawner`] has entries (a template and a proportion), a total, a seed, a [`Generator`] of places, and closures
//! that write what the generator gave into fragments. [`Spawner::spawn`] makes all in one call, one batch for each
//! entry; a [`SpawnJob`] makes them over several frames, in a budget. [`Spawned`] knows the handles, and takes them all
//! away again.
//!
//! Whatever a generator gives is a function of the seed and the point's number, computed by the crate's own
//! [`Random`]: the same on every machine, for any number of threads, and in every version.

mod error;
mod generator;
mod handles;
mod job;
mod permutation;
mod place;
mod point;
mod proportion;
mod random;
#[expect(clippy::module_inception, reason = "the noun of the room")]
mod spawner;
#[cfg(test)]
mod tests;

pub use error::SpawnError;
pub use generator::{AlongLines, Disc, Each, Grid, PointsFile, PoissonDisc};
pub use handles::{Spawned, SpawnedIter};
pub use job::SpawnJob;
pub use point::{Generator, Points, SpawnPoint};
pub use random::Random;
pub use spawner::Spawner;
