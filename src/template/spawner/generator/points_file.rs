//! `PointsFile`: points from a table of comma-separated values.

use core::fmt;
use core::str::FromStr;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::super::SpawnError;
use crate::file_bytes;
use crate::shown::shown_path;
use crate::template::spawner::{Generator, Points, SpawnPoint};

const NAME: &str = "points file";
/// Bytes that a file can have.
const LONGEST: u64 = 256 << 20;

/// Points from comma-separated values, in their order.
///
/// Two columns or more: `x,y`, `x,y,heading`, `x,y,z,heading`; or any columns under a header, of which `x` and `y` must
/// be there, `z` and `heading` can, and others are passed over. A heading is in degrees, from the first axis towards
/// the second. Spaces round a value, empty lines, and lines that begin with `#` mean nothing.
///
/// ```
/// use megachunk::template::spawner::{Generator, PointsFile, SpawnPoint};
///
/// let file = PointsFile::parse("doors.csv", "name,x,y,heading\nnorth,1.5,2,90\nsouth,-1,0,270\n")?;
/// let mut points = [SpawnPoint::default(); 2];
/// file.points(2, 0)?.write(0, &mut points);
/// assert_eq!(points[0].position, [1.5, 2.0, 0.0]);
/// assert!(points[1].direction[1] < -0.99);
/// let error = PointsFile::parse("doors.csv", "1,2\n3,four\n").unwrap_err();
/// assert_eq!(error.to_string(), "doors.csv:2:3: \"four\" is not a finite number");
/// # Ok::<(), megachunk::template::spawner::SpawnError>(())
/// ```
#[derive(Clone)]
pub struct PointsFile {
    points: Arc<Vec<SpawnPoint>>,
    cycles: bool,
}

impl PointsFile {
    /// Reads a file, which has 256 MiB at most, some ten million points. O(bytes).
    ///
    /// # Errors
    /// [`SpawnError::Unreadable`]: also if it is no file, or longer; and those of [`parse`](Self::parse), also if it is
    /// no text.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SpawnError> {
        let path = path.as_ref();
        let file = shown_path(path);
        let unreadable = |error: io::Error| SpawnError::Unreadable {
            file: file.as_str().into(),
            error: error.into(),
        };
        let bytes = file_bytes::read(path, LONGEST).map_err(unreadable)?;
        let Some(bytes) = bytes else {
            let what = format!("is longer than {LONGEST} bytes, which is the limit for points");
            return Err(unreadable(io::Error::other(what)));
        };
        match str::from_utf8(&bytes) {
            Ok(text) => Self::parse(&file, text),
            Err(error) => Err(no_text(&file, &bytes[..error.valid_up_to()])),
        }
    }

    /// Reads text; errors call it `file`. O(characters).
    ///
    /// # Errors
    /// [`SpawnError::File`] names line and column of what is no number, or missing.
    pub fn parse(file: &str, text: &str) -> Result<Self, SpawnError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate().map(|(at, text)| Line {
            file,
            number: at + 1,
            text,
        });
        let mut lines = lines.filter(|line| {
            let text = line.text.trim();
            !text.is_empty() && !text.starts_with('#')
        });
        let mut points = Vec::new();
        if let Some(first) = lines.next() {
            let columns = Columns::of(&first)?;
            if !columns.named {
                points.push(columns.point(&first)?);
            }
            for line in lines {
                points.push(columns.point(&line)?);
            }
        }
        Ok(Self {
            points: Arc::new(points),
            cycles: false,
        })
    }

    /// Begins again with the first point after the last, instead of refusing to give more than there are.
    #[must_use]
    pub fn cycle(mut self) -> Self {
        self.cycles = true;
        self
    }

    /// How many points there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

/// How many points there are, not which.
impl fmt::Debug for PointsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PointsFile")
            .field("len", &self.len())
            .field("cycles", &self.cycles)
            .finish_non_exhaustive()
    }
}

/// The error that a file is whose text ends behind these bytes.
fn no_text(file: &str, before: &[u8]) -> SpawnError {
    let before = str::from_utf8(before).unwrap_or_default();
    let text = before.strip_prefix('\u{feff}').unwrap_or(before);
    let (line, text) = text.split('\n').enumerate().last().unwrap_or_default();
    let line = Line {
        file,
        number: line + 1,
        text,
    };
    line.error(line.end(), "is not UTF-8".into())
}

/// A line of a file.
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// The values, each with its column.
    fn values(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let mut column = 1;
        self.text.split(',').map(move |value| {
            let blank = value.len() - value.trim_start().len();
            let at = column + value[..blank].chars().count();
            column += value.chars().count() + 1;
            (at, value.trim())
        })
    }

    fn error(&self, column: usize, what: String) -> SpawnError {
        SpawnError::File {
            file: self.file.into(),
            line: self.number,
            column,
            what: what.into(),
        }
    }

    /// The column behind the last character.
    fn end(&self) -> usize {
        self.text.chars().count() + 1
    }
}

/// Which value of a line is which.
struct Columns {
    /// The first line says so, and is no point.
    named: bool,
    x: usize,
    y: usize,
    z: Option<usize>,
    heading: Option<usize>,
    /// How many values a line must have.
    count: usize,
}

impl Columns {
    fn of(first: &Line<'_>) -> Result<Self, SpawnError> {
        let values: Vec<(usize, &str)> = first.values().collect();
        let count = values.len();
        // A header has no number at all; columns called nan or inf are none.
        let is_number = |value: &str| f32::from_str(value).is_ok_and(f32::is_finite);
        if values.iter().any(|(_, value)| is_number(value)) {
            let (z, heading) = match count {
                2 => (None, None),
                3 => (None, Some(2)),
                4 => (Some(2), Some(3)),
                _ => {
                    let what = format!(
                        "{count} values without a header: there are x,y or x,y,heading or x,y,z,heading"
                    );
                    return Err(first.error(1, what));
                }
            };
            return Ok(Self {
                named: false,
                x: 0,
                y: 1,
                z,
                heading,
                count,
            });
        }
        let find = |name: &str| {
            let mut found = None;
            for (position, &(column, value)) in values.iter().enumerate() {
                if value.eq_ignore_ascii_case(name) {
                    if found.is_some() {
                        let what = format!("the header names {name} twice");
                        return Err(first.error(column, what));
                    }
                    found = Some(position);
                }
            }
            Ok(found)
        };
        let needed = |name: &str| {
            find(name)?.ok_or_else(|| first.error(1, format!("the header names no column {name}")))
        };
        Ok(Self {
            named: true,
            x: needed("x")?,
            y: needed("y")?,
            z: find("z")?,
            heading: find("heading")?,
            count,
        })
    }

    fn point(&self, line: &Line<'_>) -> Result<SpawnPoint, SpawnError> {
        let values: Vec<(usize, &str)> = line.values().collect();
        if values.len() != self.count {
            let column = values
                .get(self.count)
                .map_or(line.end(), |&(column, _)| column);
            let what = format!("{} values, where {} are expected", values.len(), self.count);
            return Err(line.error(column, what));
        }
        let number = |position: usize| {
            let (column, value) = values[position];
            let number = f32::from_str(value).ok().filter(|n| n.is_finite());
            number.ok_or_else(|| line.error(column, format!("{value:?} is not a finite number")))
        };
        let mut point = SpawnPoint {
            position: [
                number(self.x)?,
                number(self.y)?,
                self.z.map_or(Ok(0.0), number)?,
            ],
            ..SpawnPoint::default()
        };
        if let Some(heading) = self.heading {
            let (sine, cosine) = f64::from(number(heading)?).to_radians().sin_cos();
            point.direction = [cosine as f32, sine as f32];
        }
        Ok(point)
    }
}

/// The points again and again.
struct Cycle(Arc<Vec<SpawnPoint>>);

impl Generator for PointsFile {
    fn points(&self, count: usize, _seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
        let possible = self.points.len();
        if count > possible && (!self.cycles || possible == 0) {
            return Err(SpawnError::NoRoom {
                generator: NAME,
                possible,
                wanted: count,
            });
        }
        Ok(Arc::new(Cycle(Arc::clone(&self.points))))
    }
}

impl Points for Cycle {
    fn write(&self, first: usize, out: &mut [SpawnPoint]) {
        let points = &self.0;
        for (number, to) in (first..).zip(out) {
            *to = SpawnPoint {
                number: to.number,
                ..points[number % points.len()]
            };
        }
    }
}
