//! `Disc`: points anywhere in a disc.

use std::sync::Arc;

use super::{finite, positive};
use crate::template::spawner::{Generator, Points, Random, SpawnError, SpawnPoint};

const NAME: &str = "disc";

/// Points in a disc, independent of each other, each part of it as likely as its area says; directions of all kinds.
/// O(1) a point.
///
/// ```
/// use megachunk::template::spawner::{Disc, Generator, SpawnPoint};
///
/// let disc = Disc::new([3.0, 4.0, 0.0], 2.0)?;
/// let mut points = [SpawnPoint::default(); 100];
/// disc.points(100, 7)?.write(0, &mut points);
/// for point in points {
///     let [x, y, _] = point.position;
///     assert!((x - 3.0).hypot(y - 4.0) < 2.001);
/// }
/// assert!(Disc::new([0.0; 3], f32::NAN).is_err());
/// # Ok::<(), megachunk::template::spawner::SpawnError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Disc {
    middle: [f32; 3],
    radius: f32,
}

impl Disc {
    /// From its middle and radius, in the plane of the first two axes.
    ///
    /// # Errors
    /// [`SpawnError::Generator`]: a number is not finite, the radius is not positive.
    pub fn new(middle: [f32; 3], radius: f32) -> Result<Self, SpawnError> {
        finite(NAME, "the middle", &middle)?;
        positive(NAME, "the radius", radius)?;
        let [x, y, _] = middle;
        let edge = [x - radius, x + radius, y - radius, y + radius];
        finite(NAME, "its edge", &edge)?;
        Ok(Self { middle, radius })
    }
}

struct DiscPoints {
    disc: Disc,
    seed: u64,
}

impl Generator for Disc {
    fn points(&self, _count: usize, seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
        Ok(Arc::new(DiscPoints { disc: *self, seed }))
    }
}

impl Points for DiscPoints {
    fn write(&self, first: usize, out: &mut [SpawnPoint]) {
        let [x, y, height] = self.disc.middle;
        let radius = f64::from(self.disc.radius);
        for (number, point) in (first as u64..).zip(out) {
            let mut random = Random::new(self.seed, number);
            let [right, up] = random.next_in_disc();
            let place = |middle: f32, part: f64| (f64::from(middle) + part * radius) as f32;
            point.position = [place(x, right), place(y, up), height];
            point.direction = random.next_direction();
        }
    }
}
