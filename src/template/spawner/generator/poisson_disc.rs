//! `PoissonDisc`: points that keep a distance.

use std::collections::HashMap;
use std::sync::Arc;

use super::{finite, positive, told_apart};
use crate::entity::EntityIndex;
use crate::template::spawner::{Generator, Points, Random, SpawnError, SpawnPoint};

const NAME: &str = "poisson disc";
/// Tries round a point before its room is looked for: Bridson's 30.
const TRIES: usize = 30;
/// Draws for a try: of most areas' about two, of those that hardly reach as far as a distance none would do.
const DRAWS: usize = 8;
/// Cells that a table has a place for each, rather than a hash table for those in use.
const TABLE: usize = 1 << 24;
/// "No point."
const NOBODY: u32 = u32::MAX;

/// Points anywhere in a rectangle, no two of which are closer than a distance; directions of all kinds.
///
/// First at random all over the area, as long as tries mostly find room; then round the points that are there, until
/// nothing more fits, but for what positions round off: an area that is not thin holds about 0.7 points per square of
/// the distance.
///
/// Computed by one thread before anything is created: O(points), and however few are asked for a table is filled first.
/// It has four bytes for each half a square of the distance in the area. Where that were more than 64 MiB, and more than
/// 16 bytes for each point that is asked for, there is none, and points are looked for by hashes. There is no room for more
/// points than there may be entities ([`EntityIndex::CAPACITY`](crate::entity::EntityIndex::CAPACITY)), however large the
/// area is.
///
/// ```
/// use megachunk::template::spawner::{Generator, PoissonDisc, SpawnError};
///
/// let park = PoissonDisc::new([0.0, 0.0], [100.0, 100.0], 2.0)?;
/// assert!(park.points(1_000, 7).is_ok());
/// let Err(SpawnError::NoRoom { possible, .. }) = park.points(10_000, 7) else { panic!() };
/// assert!((1_500..2_000).contains(&possible));
/// # Ok::<(), SpawnError>(())
/// ```
///
/// Source: Bridson 2007, "Fast Poisson disk sampling in arbitrary dimensions".
#[derive(Clone, Copy, Debug)]
pub struct PoissonDisc {
    least: [f32; 2],
    most: [f32; 2],
    distance: f32,
    height: f32,
}

impl PoissonDisc {
    /// From two corners of the rectangle, in the plane of the first two axes, and the least distance.
    ///
    /// # Errors
    /// [`SpawnError::Generator`]: a number is not finite, the distance is not positive, or so small that positions
    /// in the area cannot tell points apart.
    pub fn new(corner: [f32; 2], opposite: [f32; 2], distance: f32) -> Result<Self, SpawnError> {
        finite(NAME, "a corner", &corner)?;
        finite(NAME, "a corner", &opposite)?;
        positive(NAME, "the distance", distance)?;
        let order = |pick: fn(f32, f32) -> f32| [0, 1].map(|at| pick(corner[at], opposite[at]));
        let (least, most) = (order(f32::min), order(f32::max));
        let far = (least.iter().chain(&most)).fold(0.0, |far: f32, number| far.max(number.abs()));
        told_apart(NAME, distance, far)?;
        Ok(Self {
            least,
            most,
            distance,
            height: 0.0,
        })
    }

    /// At another height than zero.
    ///
    /// # Errors
    /// [`SpawnError::Generator`]: it is not finite.
    pub fn at_height(mut self, height: f32) -> Result<Self, SpawnError> {
        finite(NAME, "the height", &[height])?;
        self.height = height;
        Ok(self)
    }
}

impl Generator for PoissonDisc {
    fn points(&self, count: usize, seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
        let points = self.points_among(count, seed, EntityIndex::CAPACITY)?;
        Ok(Arc::new(points))
    }
}

impl PoissonDisc {
    /// So many points, where there is no room for more than `most`.
    fn points_among(
        &self,
        count: usize,
        seed: u64,
        most: usize,
    ) -> Result<Vec<SpawnPoint>, SpawnError> {
        let mut random = Random::new(seed, 0);
        let mut field = Field::new(self, count.min(most));
        field.throw(&mut random, count.min(most));
        field.grow(&mut random, count.min(most));
        let possible = field.places.len();
        if possible < count {
            return Err(SpawnError::NoRoom {
                generator: NAME,
                possible,
                wanted: count,
            });
        }
        // Those that came last came side by side.
        for at in (1..possible).rev() {
            let other = random.next_below(at as u64 + 1) as usize;
            field.places.swap(at, other);
        }
        let points = field.places.into_iter().map(|[x, y]| SpawnPoint {
            position: [x, y, self.height],
            direction: random.next_direction(),
            ..SpawnPoint::default()
        });
        Ok(points.collect())
    }
}

/// The area with the points that are there.
struct Field {
    area: PoissonDisc,
    places: Vec<[f32; 2]>,
    /// As wide as a square whose diagonal is the distance: no cell holds two.
    cell: f64,
    columns: u64,
    rows: u64,
    cells: Cells,
}

/// Which point lies in which cell.
enum Cells {
    Table(Vec<u32>),
    Sparse(HashMap<u64, u32>),
}

impl Cells {
    fn get(&self, cell: u64) -> u32 {
        match self {
            Self::Table(cells) => cells[cell as usize],
            Self::Sparse(cells) => cells.get(&cell).copied().unwrap_or(NOBODY),
        }
    }

    fn set(&mut self, cell: u64, point: u32) {
        match self {
            Self::Table(cells) => cells[cell as usize] = point,
            Self::Sparse(cells) => {
                cells.insert(cell, point);
            }
        }
    }
}

impl Field {
    fn new(area: &PoissonDisc, count: usize) -> Self {
        let cell = f64::from(area.distance) * core::f64::consts::FRAC_1_SQRT_2;
        // Below 2³² each: `PoissonDisc::new` has seen to it.
        let cells = |axis: usize| {
            let width = f64::from(area.most[axis]) - f64::from(area.least[axis]);
            (width / cell) as u64 + 1
        };
        let (columns, rows) = (cells(0), cells(1));
        let all = columns * rows;
        let is_small = all <= (TABLE as u64).max(4 * count as u64);
        Self {
            area: *area,
            places: Vec::new(),
            cell,
            columns,
            rows,
            cells: match is_small {
                true => Cells::Table(vec![NOBODY; all as usize]),
                false => Cells::Sparse(HashMap::new()),
            },
        }
    }

    /// The column and row of a cell.
    fn cell_of(&self, place: [f32; 2]) -> [u64; 2] {
        [0, 1].map(|axis| {
            let from = f64::from(place[axis]) - f64::from(self.area.least[axis]);
            ((from / self.cell) as u64).min([self.columns, self.rows][axis] - 1)
        })
    }

    /// Whether no point is too close to a place.
    fn is_free(&self, place: [f32; 2]) -> bool {
        let [column, row] = self.cell_of(place);
        let least = f64::from(self.area.distance).powi(2);
        for row in row.saturating_sub(2)..(row + 3).min(self.rows) {
            for column in column.saturating_sub(2)..(column + 3).min(self.columns) {
                let there = self.cells.get(row * self.columns + column);
                if there != NOBODY {
                    let other = self.places[there as usize];
                    let [x, y] = [0, 1].map(|at| f64::from(place[at]) - f64::from(other[at]));
                    if x * x + y * y < least {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The points in the cells up to so many away from a place's.
    fn near_cells(&self, place: [f32; 2], reach: u64) -> impl Iterator<Item = u32> + '_ {
        let [column, row] = self.cell_of(place);
        let columns = column.saturating_sub(reach)..(column + reach + 1).min(self.columns);
        let rows = row.saturating_sub(reach)..(row + reach + 1).min(self.rows);
        let cells = rows.flat_map(move |row| {
            let cells = columns.clone();
            cells.map(move |column| row * self.columns + column)
        });
        let there = cells.map(|cell| self.cells.get(cell));
        there.filter(|&there| there != NOBODY)
    }

    fn add(&mut self, place: [f32; 2]) {
        let [column, row] = self.cell_of(place);
        let number = self.places.len() as u32;
        self.cells.set(row * self.columns + column, number);
        self.places.push(place);
    }

    /// Throws points anywhere, until there are `count` or one found no room in so many tries.
    fn throw(&mut self, random: &mut Random, count: usize) {
        let mut misses = 0;
        while self.places.len() < count && misses < TRIES {
            let place = [0, 1].map(|axis| {
                let (least, most) = (self.area.least[axis], self.area.most[axis]);
                let width = f64::from(most) - f64::from(least);
                let at = f64::from(least) + random.next_part() * width;
                (at as f32).clamp(least, most)
            });
            if self.is_free(place) {
                self.add(place);
                misses = 0;
            } else {
                misses += 1;
            }
        }
    }

    /// Adds points between one and two distances from those that are there, until there are `count` or none has room
    /// left: Bridson's algorithm, and what it has missed.
    fn grow(&mut self, random: &mut Random, count: usize) {
        let mut active: Vec<u32> = (0..self.places.len() as u32).collect();
        while self.places.len() < count && !active.is_empty() {
            let at = random.next_below(active.len() as u64) as usize;
            let from = self.places[active[at] as usize];
            let found = (0..TRIES).find_map(|_| self.near(random, from));
            match found.or_else(|| self.room_beside(from)) {
                Some(place) => {
                    active.push(self.places.len() as u32);
                    self.add(place);
                }
                None => {
                    active.swap_remove(at);
                }
            }
        }
    }

    /// A place between one and two distances from a point, if it has room. It is drawn from what of the area is near:
    /// in a thin one the ring round a point lies outside almost everywhere.
    fn near(&self, random: &mut Random, from: [f32; 2]) -> Option<[f32; 2]> {
        let distance = f64::from(self.area.distance);
        let near = [0, 1].map(|axis| {
            let at = f64::from(from[axis]);
            let least = f64::from(self.area.least[axis]).max(at - 2.0 * distance);
            (
                least,
                f64::from(self.area.most[axis]).min(at + 2.0 * distance),
            )
        });
        for _ in 0..DRAWS {
            let place = near.map(|(least, most)| least + random.next_part() * (most - least));
            let [x, y] = [0, 1].map(|axis| (place[axis] - f64::from(from[axis])) / distance);
            if (1.0..=4.0).contains(&(x * x + y * y)) {
                return self.free(place);
            }
        }
        None
    }

    /// A corner of the room that is left beside a point, if there is any. Room ends where circles round points meet
    /// each other or an edge of the area, or at a corner of that: if none of these is free, nothing is.
    fn room_beside(&self, from: [f32; 2]) -> Option<[f32; 2]> {
        let Self { area, places, .. } = self;
        let far = (area.least.iter().chain(&area.most)).fold(0.0, |far: f32, at| far.max(at.abs()));
        // Further by what is rounded off from positions: 24 bits are left of each.
        let radius = f64::from(area.distance) + f64::from(far) / f64::from(1 << 23);
        let square = radius * radius;
        let from = from.map(f64::from);
        let edges = [0, 1].map(|axis| [area.least, area.most].map(|all| f64::from(all[axis])));
        let along_edges = || {
            let edges = (0..2).flat_map(|axis| edges[axis].map(|edge| (axis, edge)));
            edges.flat_map(|(axis, edge)| {
                let away = edge - from[axis];
                // Not a number where the circle does not come so far: that is never inside.
                let along = (square - away * away).sqrt();
                [-along, along].map(|along| {
                    let mut place = [edge; 2];
                    place[1 - axis] = from[1 - axis] + along;
                    place
                })
            })
        };
        let corners = || {
            let all = edges[0].into_iter();
            let all = all.flat_map(|x| edges[1].map(|y| [x, y]));
            let away = |[x, y]: [f64; 2]| (x - from[0]).powi(2) + (y - from[1]).powi(2);
            all.filter(move |&corner| away(corner) < 4.0 * square)
        };
        let between = |other: u32| {
            let other = places[other as usize].map(f64::from);
            let [x, y] = [0, 1].map(|axis| (other[axis] - from[axis]) / 2.0);
            let half = x * x + y * y;
            // As above; round the point itself it divides nothing by nothing.
            let aside = ((square - half) / half).sqrt();
            [-aside, aside].map(|aside| [from[0] + x - aside * y, from[1] + y + aside * x])
        };
        let reach = (2.0 * radius / self.cell) as u64 + 1;
        along_edges()
            .chain(corners())
            .chain(
                self.near_cells(from.map(|at| at as f32), reach)
                    .flat_map(between),
            )
            .find_map(|place| self.free(place))
    }

    /// A place, if it lies in the area and has room.
    fn free(&self, place: [f64; 2]) -> Option<[f32; 2]> {
        let place = place.map(|at| at as f32);
        let inside =
            |axis: usize| (self.area.least[axis]..=self.area.most[axis]).contains(&place[axis]);
        (inside(0) && inside(1) && self.is_free(place)).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_points_are_found_than_there_may_be_entities() {
        let desert = PoissonDisc::new([0.0, 0.0], [1e6, 1e6], 1.0).unwrap();
        let error = desert.points_among(usize::MAX, 7, 500).unwrap_err();
        let SpawnError::NoRoom {
            possible, wanted, ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((possible, wanted), (500, usize::MAX));
        assert_eq!(desert.points_among(500, 7, 500).unwrap().len(), 500);
        // Where less is possible, it is what there is room for.
        let park = PoissonDisc::new([0.0, 0.0], [10.0, 10.0], 2.0).unwrap();
        let error = park.points_among(usize::MAX, 7, 500).unwrap_err();
        assert!(matches!(
            error,
            SpawnError::NoRoom {
                possible: 10..40,
                ..
            }
        ));
    }
}
