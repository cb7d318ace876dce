//! `SpawnPoint`, and who makes them.

use std::sync::Arc;

use crate::template::spawner::SpawnError;

/// Where an entity begins.
///
/// ```
/// use megachunk::template::spawner::SpawnPoint;
///
/// let point = SpawnPoint { position: [3.0, 4.0, 0.0], ..SpawnPoint::default() };
/// assert_eq!((point.direction, point.line, point.number), ([1.0, 0.0], 0, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpawnPoint {
    /// The place. Generators of areas use the first two, and one height for all.
    pub position: [f32; 3],
    /// Where it looks, of length one, in the plane of the first two axes.
    pub direction: [f32; 2],
    /// The line that it lies on, for generators along lines.
    pub line: u32,
    /// How far along that line.
    pub along: f32,
    /// Its number among the points, from zero on.
    pub number: u64,
}

impl Default for SpawnPoint {
    /// The origin, looking along the first axis.
    fn default() -> Self {
        Self {
            position: [0.0; 3],
            direction: [1.0, 0.0],
            line: 0,
            along: 0.0,
            number: 0,
        }
    }
}

/// Gives places to entities.
///
/// What it gives is a function of the count and the seed: that is what makes a spawn reproducible.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::template::spawner::{Generator, Points, SpawnError, SpawnPoint};
///
/// /// Along the first axis, one step apart.
/// struct Queue;
///
/// impl Generator for Queue {
///     fn points(&self, _count: usize, _seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
///         Ok(Arc::new(Self))
///     }
/// }
///
/// impl Points for Queue {
///     fn write(&self, first: usize, out: &mut [SpawnPoint]) {
///         for (number, point) in (first..).zip(out) {
///             point.position = [number as f32, 0.0, 0.0];
///         }
///     }
/// }
/// # let mut out = [SpawnPoint::default(); 2];
/// # Queue.points(9, 1)?.write(7, &mut out);
/// # assert_eq!(out[1].position[0], 8.0);
/// # Ok::<(), SpawnError>(())
/// ```
///
/// Open: implement it for types of yours. A method that comes later has a body.
///
/// Source: Unreal Mass' `UMassEntitySpawnDataGeneratorBase`.
#[doc(alias = "UMassEntitySpawnDataGeneratorBase")]
pub trait Generator: Send + Sync {
    /// Points for so many entities. Called once for each spawn, before anything is created.
    ///
    /// # Errors
    /// [`SpawnError::NoRoom`], or whatever else is wrong.
    fn points(&self, count: usize, seed: u64) -> Result<Arc<dyn Points>, SpawnError>;
}

/// One that is chosen at run time.
impl<G: Generator + ?Sized> Generator for Box<G> {
    fn points(&self, count: usize, seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
        (**self).points(count, seed)
    }
}

/// One that several spawners have.
impl<G: Generator + ?Sized> Generator for Arc<G> {
    fn points(&self, count: usize, seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
        (**self).points(count, seed)
    }
}

/// The points of one spawn: see [`Generator`] for an example. Open, as that is.
pub trait Points: Send + Sync {
    /// Writes the points `first..first + out.len()`. Any thread may ask for any of them, in any order, more than
    /// once, and gets the same. `out` comes as [`SpawnPoint::default`] with the numbers set.
    fn write(&self, first: usize, out: &mut [SpawnPoint]);
}

/// Points in a list, in its order. Who asks for more gets what [`SpawnPoint::default`] says.
impl Points for Vec<SpawnPoint> {
    fn write(&self, first: usize, out: &mut [SpawnPoint]) {
        let points = self.iter().skip(first);
        for (point, to) in points.zip(out) {
            *to = SpawnPoint {
                number: to.number,
                ..*point
            };
        }
    }
}
