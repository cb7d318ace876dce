//! `Each`: points that a closure computes.

use std::sync::Arc;

use crate::template::spawner::{Generator, Points, Random, SpawnError, SpawnPoint};

/// Points that a closure computes, each from its own random numbers.
///
/// ```
/// use megachunk::template::spawner::{Each, Random, SpawnPoint};
///
/// // Somewhere on a staircase.
/// let stairs = Each::new(|random: &mut Random, point: &mut SpawnPoint| {
///     let step = random.next_below(10) as f32;
///     point.position = [step, 0.0, step / 2.0];
/// });
/// # let _ = stairs;
/// ```
#[derive(Debug)]
pub struct Each<F> {
    compute: Arc<F>,
}

impl<F: Fn(&mut Random, &mut SpawnPoint) + Send + Sync + 'static> Each<F> {
    /// `compute` changes a default point, whose number is set.
    #[must_use]
    pub fn new(compute: F) -> Self {
        Self {
            compute: Arc::new(compute),
        }
    }
}

struct EachPoints<F> {
    compute: Arc<F>,
    seed: u64,
}

impl<F: Fn(&mut Random, &mut SpawnPoint) + Send + Sync + 'static> Generator for Each<F> {
    fn points(&self, _count: usize, seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
        Ok(Arc::new(EachPoints {
            compute: Arc::clone(&self.compute),
            seed,
        }))
    }
}

impl<F: Fn(&mut Random, &mut SpawnPoint) + Send + Sync> Points for EachPoints<F> {
    fn write(&self, first: usize, out: &mut [SpawnPoint]) {
        for (number, point) in (first as u64..).zip(out) {
            point.number = number;
            (self.compute)(&mut Random::new(self.seed, number), point);
        }
    }
}
