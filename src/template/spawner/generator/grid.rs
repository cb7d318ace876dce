//! `Grid`: points in rows.

use std::sync::Arc;

use super::{finite, positive, told_apart};
use crate::template::spawner::{Generator, Points, SpawnError, SpawnPoint};

const NAME: &str = "grid";

/// Points in rows of so many columns, as many rows as it takes: row by row along the second axis, column by column
/// along the first. O(1) a point.
///
/// ```
/// use megachunk::template::spawner::{Generator, Grid, SpawnPoint};
///
/// let grid = Grid::new([10.0, 0.0, 0.0], 2.0, 3)?;
/// let mut points = [SpawnPoint::default(); 4];
/// grid.points(4, 0)?.write(0, &mut points);
/// assert_eq!(points[2].position, [14.0, 0.0, 0.0]);
/// assert_eq!(points[3].position, [10.0, 2.0, 0.0]);
/// assert!(Grid::new([0.0; 3], -1.0, 3).is_err());
/// # Ok::<(), megachunk::template::spawner::SpawnError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    first: [f32; 3],
    distance: f32,
    columns: u32,
}

impl Grid {
    /// From its first point, the distance of neighbours, and the number of columns.
    ///
    /// # Errors
    /// [`SpawnError::Generator`]: a number is not finite, the distance is not positive, or so small that positions
    /// cannot tell columns apart; there are no columns. So [`points`](Generator::points) refuses rows and columns that
    /// are too far away.
    pub fn new(first: [f32; 3], distance: f32, columns: u32) -> Result<Self, SpawnError> {
        finite(NAME, "the first point", &first)?;
        positive(NAME, "the distance", distance)?;
        if columns == 0 {
            return Err(SpawnError::generator(NAME, "it has no columns"));
        }
        if columns > 1 {
            told_apart(NAME, distance, first[0].abs())?;
        }
        Ok(Self {
            first,
            distance,
            columns,
        })
    }
}

impl Generator for Grid {
    fn points(&self, count: usize, _seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
        let columns = self.columns as usize;
        let corner =
            [count.min(columns), count.div_ceil(columns)].map(|cells| cells.saturating_sub(1));
        finite(NAME, "the farthest point", &self.at(corner))?;
        self.tell_apart(corner.map(|cells| cells + 1))?;
        Ok(Arc::new(*self))
    }
}

impl Grid {
    /// Whether points of so many columns and rows are each somewhere else.
    fn tell_apart(&self, cells: [usize; 2]) -> Result<(), SpawnError> {
        for (first, cells) in self.first.into_iter().zip(cells) {
            if cells > 1 {
                // As far as what is added to the first point, too: it is rounded as well.
                let width = (cells - 1) as f32 * self.distance;
                let far = first.abs().max(width).max((first + width).abs());
                told_apart(NAME, self.distance, far)?;
            }
        }
        Ok(())
    }

    /// The point of a column and a row.
    fn at(&self, [column, row]: [usize; 2]) -> [f32; 3] {
        let [x, y, height] = self.first;
        let (right, up) = (column as f32 * self.distance, row as f32 * self.distance);
        [x + right, y + up, height]
    }
}

impl Points for Grid {
    fn write(&self, first: usize, out: &mut [SpawnPoint]) {
        let columns = self.columns as usize;
        for (number, point) in (first..).zip(out) {
            point.position = self.at([number % columns, number / columns]);
        }
    }
}
