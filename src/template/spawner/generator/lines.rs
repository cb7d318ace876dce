//! `AlongLines`: points on lines, as on the streets of a map.

use core::fmt;
use std::sync::Arc;

use super::finite;
use crate::panics::refused;
use crate::template::spawner::{Generator, Points, Random, SpawnError, SpawnPoint};

const NAME: &str = "lines";

/// Points on lines, which are chains of straight pieces: each piece as likely as its length says. A point knows its
/// line, how far along it lies, and looks where the line goes. O(log pieces) a point.
///
/// ```
/// use megachunk::template::spawner::{AlongLines, Generator, SpawnPoint};
///
/// let street = vec![[0.0, 0.0, 0.0], [30.0, 0.0, 0.0]];
/// let corner = vec![[0.0, 5.0, 0.0], [0.0, 10.0, 0.0], [5.0, 10.0, 0.0]];
/// let mut points = [SpawnPoint::default(); 40];
/// AlongLines::new([street, corner])?.even().points(40, 7)?.write(0, &mut points);
/// // A point on each of 40 units: 30 on the street, 10 round the corner.
/// assert_eq!(points.iter().filter(|point| point.line == 0).count(), 30);
/// let last = points[39];
/// assert!(last.line == 1 && last.along > 9.0 && last.direction == [1.0, 0.0]);
/// # Ok::<(), megachunk::template::spawner::SpawnError>(())
/// ```
#[derive(Clone)]
pub struct AlongLines {
    network: Arc<Network>,
    even: bool,
}

/// The straight pieces of all lines, one behind the other.
struct Network {
    pieces: Vec<Piece>,
    /// Of all pieces.
    length: f64,
}

struct Piece {
    from: [f32; 3],
    to: [f32; 3],
    /// Of all pieces before it.
    before: f64,
    length: f64,
    line: u32,
    /// How far along its line it begins.
    along: f64,
}

/// How many straight pieces there are, and how long all are together, not which.
impl fmt::Debug for AlongLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlongLines")
            .field("pieces", &self.network.pieces.len())
            .field("length", &self.network.length)
            .field("even", &self.even)
            .finish_non_exhaustive()
    }
}

impl AlongLines {
    /// From lines of two corners or more each. `line` of a point is the position in this list.
    ///
    /// Corners may stand twice; a line has a length in all.
    ///
    /// # Errors
    /// [`SpawnError::Generator`]: there are no lines; a line, which is named by its position, has no length, or a
    /// corner that is not finite.
    pub fn new<I>(lines: I) -> Result<Self, SpawnError>
    where
        I: IntoIterator,
        I::Item: AsRef<[[f32; 3]]>,
    {
        let mut network = Network {
            pieces: Vec::new(),
            length: 0.0,
        };
        let mut lines = lines.into_iter();
        for (number, line) in lines.by_ref().enumerate() {
            if let Err(error) = network.add(number, line.as_ref()) {
                return Err(refused((line, lines), error));
            }
        }
        drop(lines);
        if network.pieces.is_empty() {
            return Err(SpawnError::generator(NAME, "there are none"));
        }
        Ok(Self {
            network: Arc::new(network),
            even: false,
        })
    }

    /// Points at random in even parts of the whole length, one in each and in their order, instead of anywhere.
    #[must_use]
    pub fn even(mut self) -> Self {
        self.even = true;
        self
    }

    /// The length of all lines.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.network.length
    }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    let square = |axis: usize| (f64::from(a[axis]) - f64::from(b[axis])).powi(2);
    (square(0) + square(1) + square(2)).sqrt()
}

struct LinePoints {
    network: Arc<Network>,
    seed: u64,
    /// How many even parts there are, if there are any.
    parts: Option<usize>,
}

impl Generator for AlongLines {
    fn points(&self, count: usize, seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
        Ok(Arc::new(LinePoints {
            network: Arc::clone(&self.network),
            seed,
            parts: self.even.then_some(count.max(1)),
        }))
    }
}

impl Points for LinePoints {
    fn write(&self, first: usize, out: &mut [SpawnPoint]) {
        let length = self.network.length;
        for (number, point) in (first as u64..).zip(out) {
            let part = Random::new(self.seed, number).next_part();
            let at = match self.parts {
                None => part * length,
                Some(parts) => (number as f64 + part) / parts as f64 * length,
            };
            self.network.at(at, point);
        }
    }
}

impl Network {
    /// Adds a line.
    fn add(&mut self, number: usize, corners: &[[f32; 3]]) -> Result<(), SpawnError> {
        let refuse = |what: &str| {
            let what = format!("line {number}: {what}");
            SpawnError::generator(NAME, what)
        };
        let line = u32::try_from(number).map_err(|_| refuse("there are too many"))?;
        finite(
            NAME,
            &format!("line {number}: a corner"),
            corners.as_flattened(),
        )?;
        let mut along = 0.0;
        for (&from, &to) in corners.iter().zip(corners.iter().skip(1)) {
            let piece = distance(from, to);
            // Those without a length have no points, and no direction.
            if piece > 0.0 {
                self.pieces.push(Piece {
                    from,
                    to,
                    before: self.length,
                    length: piece,
                    line,
                    along,
                });
                along += piece;
                self.length += piece;
            }
        }
        if along == 0.0 {
            return Err(refuse("it has no length"));
        }
        Ok(())
    }

    /// The point so far along all lines.
    fn at(&self, at: f64, point: &mut SpawnPoint) {
        let behind = self.pieces.partition_point(|piece| piece.before <= at);
        let Piece {
            from,
            to,
            before,
            length,
            line,
            along,
        } = self.pieces[behind.saturating_sub(1)];
        let part = ((at - before) / length).clamp(0.0, 1.0);
        let mix = |axis: usize| {
            let (from, to) = (f64::from(from[axis]), f64::from(to[axis]));
            (from + (to - from) * part) as f32
        };
        point.position = [mix(0), mix(1), mix(2)];
        let [x, y] = [0, 1].map(|axis| f64::from(to[axis]) - f64::from(from[axis]));
        let flat = (x * x + y * y).sqrt();
        // Straight up it keeps the default.
        if flat > 0.0 {
            point.direction = [(x / flat) as f32, (y / flat) as f32];
        }
        point.line = line;
        point.along = (along + part * length) as f32;
    }
}
