//! `QueryItems`: the data of the entities of a run that is used up.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use crate::query::iter::{Ahead, Seen};
use crate::query::matches::Matches;
use crate::query::run::Scope;
use crate::query::sees_chunk::RunFilter;
use crate::query::{QueryData, QueryFilter, QueryIter, QueryRun, ReadOnly};
use crate::world::World;

/// Lends the data of each entity in turn, in the order of archetypes, chunks and rows, for as long as the world is
/// lent: from a run that was used up, by `for item in run`.
///
/// As for [`QueryIter`], which a run is lent for, [`fold`](Iterator::fold) and what is made of it
/// are faster than a `for` loop.
///
/// Must hold: the rows in hand, and those behind them, have not been lent. What is lent to be
/// written was the run's alone for `'q`; so it is this iterator's now.
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct QueryItems<'q, D: QueryData, F: QueryFilter> {
    matches: Matches<'q, D, F>,
    world: &'q World,
    since: u32,
    version: u32,
    filter: Option<RunFilter<'q>>,
    ahead: Ahead,
    /// The data of the chunk whose rows are in hand; not written before the first.
    fetch: MaybeUninit<D::Fetch<'q>>,
    /// The rows in hand.
    row: usize,
    end: usize,
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryItems<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueryItems").finish_non_exhaustive()
    }
}

impl<'q, D: QueryData, F: QueryFilter> QueryItems<'q, D, F> {
    #[inline(always)]
    fn scope(&self) -> Scope<'q, '_> {
        Scope {
            world: self.world,
            since: self.since,
            version: self.version,
            filter: self.filter.as_ref().map(|filter| filter.get() as _),
        }
    }

    /// Goes to the next rows that the query sees.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        let seen: Option<Seen<'q, D>> = self.ahead.jump(&self.matches, self.scope());
        let Some(seen) = seen else {
            self.end();
            return false;
        };
        self.fetch.write(seen.fetch);
        (self.row, self.end) = (seen.rows.start, seen.rows.end);
        self.ahead = seen.behind;
        true
    }

    /// Nothing comes any more, whatever is switched on meanwhile.
    #[cold]
    fn end(&mut self) {
        self.ahead = Ahead::END;
    }

    /// Lends the next of the rows in hand.
    ///
    /// # Safety
    /// There is one: `row` is below `end`.
    #[inline(always)]
    unsafe fn lend(&mut self) -> D::Item<'q> {
        let row = self.row;
        self.row += 1;
        // SAFETY: `fetch` has been written, for `end` is not 0. The row is one of the chunk; each is lent once.
        unsafe { D::item(self.fetch.assume_init(), row) }
    }
}

impl<'q, D: QueryData, F: QueryFilter> Iterator for QueryItems<'q, D, F> {
    type Item = D::Item<'q>;

    #[inline(always)]
    fn next(&mut self) -> Option<D::Item<'q>> {
        while self.row >= self.end {
            if !self.advance() {
                return None;
            }
        }
        // SAFETY: just asked.
        Some(unsafe { self.lend() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.row, None)
    }

    #[inline]
    fn fold<B, E: FnMut(B, Self::Item) -> B>(mut self, init: B, mut each: E) -> B {
        let mut result = init;
        while self.row < self.end {
            // SAFETY: just asked.
            result = each(result, unsafe { self.lend() });
        }
        // SAFETY: what comes behind the rows in hand has not been lent.
        unsafe { (self.ahead).fold(&self.matches, self.scope(), result, each) }
    }
}

impl<D: QueryData, F: QueryFilter> FusedIterator for QueryItems<'_, D, F> {}

/// Uses the run up: its items live as long as what it borrows.
///
/// ```
/// use megachunk::prelude::*;
///
/// fn names<'w>(people: QueryRun<'w, &String>) -> Vec<&'w str> {
///     people.into_iter().map(String::as_str).collect()
/// }
///
/// let mut world = World::new();
/// world.create((String::from("Ada"),))?;
/// for name in world.query::<&mut String, ()>()? {
///     name.push_str(" Lovelace");
/// }
/// assert_eq!(names(world.read()?), ["Ada Lovelace"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What is lent keeps the world borrowed:
///
/// ```compile_fail,E0499
/// # use megachunk::prelude::*;
/// let mut world = World::new();
/// let lent: Vec<&mut u8> = world.query::<&mut u8, ()>().unwrap().into_iter().collect();
/// let again: Vec<&mut u8> = world.query::<&mut u8, ()>().unwrap().into_iter().collect();
/// drop((lent, again));
/// ```
///
/// ```compile_fail,E0515
/// # use megachunk::prelude::*;
/// fn outlived() -> Vec<&'static mut u8> {
///     let mut world = World::new();
///     world.query::<&mut u8, ()>().unwrap().into_iter().collect()
/// }
/// ```
impl<'q, D: QueryData, F: QueryFilter> IntoIterator for QueryRun<'q, D, F> {
    type Item = D::Item<'q>;
    type IntoIter = QueryItems<'q, D, F>;

    #[inline]
    fn into_iter(self) -> QueryItems<'q, D, F> {
        QueryItems {
            matches: self.matches,
            world: self.world,
            since: self.since,
            version: self.version,
            filter: self.filter,
            ahead: Ahead::default(),
            fetch: MaybeUninit::uninit(),
            row: 0,
            end: 0,
        }
    }
}

/// [`QueryRun::iter`].
impl<'a, D: QueryData, F: QueryFilter> IntoIterator for &'a mut QueryRun<'_, D, F> {
    type Item = D::Item<'a>;
    type IntoIter = QueryIter<'a, D, F>;

    #[inline]
    fn into_iter(self) -> QueryIter<'a, D, F> {
        self.iter()
    }
}

/// Where all is only read, many may walk a run at once: see [`QueryRun::reborrow`].
impl<'a, D: ReadOnly, F: QueryFilter> IntoIterator for &'a QueryRun<'_, D, F> {
    type Item = D::Item<'a>;
    type IntoIter = QueryIter<'a, D, F>;

    #[inline]
    fn into_iter(self) -> QueryIter<'a, D, F> {
        QueryIter::new(self)
    }
}
