//! What points become in entities: users' closures, and the writer that calls them.

use core::marker::PhantomData;

use super::permutation::Permutation;
use super::point::{Points, SpawnPoint};
use crate::fragment::{Bundle, FragmentError, FragmentId, FragmentRegistry};
use crate::world::COLUMNS;
use crate::world::prototype::WriteRows;

/// Points that are made at a time, on the stack.
const BLOCK: usize = 32;

/// Writes fragments of entities that begin at points.
///
/// # Safety
/// As for [`WriteRows`].
pub(super) unsafe trait Place: Send + Sync {
    /// See [`WriteRows::ids`].
    fn ids(
        &self,
        registry: &FragmentRegistry,
        ids: &mut Vec<FragmentId>,
    ) -> Result<(), FragmentError>;

    /// Writes a row for each point.
    ///
    /// # Safety
    /// As for [`WriteRows::write`].
    unsafe fn write(
        &self,
        points: &[SpawnPoint],
        columns: &[*mut u8; COLUMNS],
        row: usize,
        made: &mut usize,
    );
}

/// A closure that makes a bundle of a point.
pub(super) struct PlaceBundle<B, F> {
    make: F,
    _bundle: PhantomData<fn() -> B>,
}

impl<B: Bundle, F: Fn(&SpawnPoint) -> B + Send + Sync> PlaceBundle<B, F> {
    pub(super) fn new(make: F) -> Self {
        const {
            assert!(
                !B::HAS_VALUES && B::LEN <= COLUMNS,
                "shared values and chunk fragments are the template's: entities have them together"
            );
            assert!(B::LEN > 0, "nothing is placed by an empty tuple");
        }
        Self {
            make,
            _bundle: PhantomData,
        }
    }
}

// SAFETY: a bundle without other values has exactly its `ids` in columns, and `write` of it writes them all.
unsafe impl<B: Bundle, F: Fn(&SpawnPoint) -> B + Send + Sync> Place for PlaceBundle<B, F> {
    fn ids(
        &self,
        registry: &FragmentRegistry,
        ids: &mut Vec<FragmentId>,
    ) -> Result<(), FragmentError> {
        B::ids(registry, ids)
    }

    unsafe fn write(
        &self,
        points: &[SpawnPoint],
        columns: &[*mut u8; COLUMNS],
        row: usize,
        made: &mut usize,
    ) {
        for (row, point) in (row..).zip(points) {
            let bundle = (self.make)(point);
            // SAFETY: the caller's.
            unsafe { bundle.write(columns.as_ptr(), row) };
            *made += 1;
        }
    }
}

/// One placement of one order of a call.
pub(super) struct Placing<'a> {
    pub(super) place: &'a dyn Place,
    pub(super) points: &'a dyn Points,
    /// In which order the points are given away, if not in theirs.
    pub(super) order: Option<&'a Permutation>,
    /// The place of the order's first entity.
    pub(super) first: usize,
}

impl Placing<'_> {
    /// The points at places from `first` on.
    fn points(&self, first: usize, out: &mut [SpawnPoint]) {
        let numbered = |number| SpawnPoint {
            number: number as u64,
            ..SpawnPoint::default()
        };
        match self.order {
            None => {
                for (number, point) in (first..).zip(&mut *out) {
                    *point = numbered(number);
                }
                self.points.write(first, out);
            }
            Some(order) => {
                for (at, point) in (first..).zip(out) {
                    let number = order.at(at);
                    *point = numbered(number);
                    self.points.write(number, core::slice::from_mut(point));
                }
            }
        }
    }
}

// SAFETY: the placement's.
unsafe impl WriteRows for Placing<'_> {
    fn ids(
        &self,
        registry: &FragmentRegistry,
        ids: &mut Vec<FragmentId>,
    ) -> Result<(), FragmentError> {
        self.place.ids(registry, ids)
    }

    unsafe fn write(
        &self,
        first: usize,
        count: usize,
        columns: &[*mut u8; COLUMNS],
        row: usize,
        made: &mut usize,
    ) {
        let mut block = [SpawnPoint::default(); BLOCK];
        let mut done = 0;
        while done < count {
            let points = &mut block[..BLOCK.min(count - done)];
            self.points(self.first + first + done, points);
            // SAFETY: the caller's.
            unsafe { self.place.write(points, columns, row + done, made) };
            done += points.len();
        }
    }
}
