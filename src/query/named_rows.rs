//! Rows that somebody names, each with what it is named for, shared out among threads.
//!
//! What names rows is in their order. It is cut where a chunk ends, and within a chunk where it is long, but never between
//! two that name one row: so each row is in one [`Piece`], with all that it is named for, and each piece is one thread's.
//!
//! Must hold: no row is in two pieces. Each chunk is asked for once, by the one thread that cuts, before anything is lent:
//! which chunks a filter sees, and what has changed, does not depend on who is how far.

use crate::archetype::{Chunk, Row};
use crate::query::collection::seen;
use crate::query::masks::masked;
use crate::query::requirements::Mask;
use crate::query::run::Scope;
use crate::query::{Query, QueryData, QueryFilter};
use crate::workers::fork_join::{map, threads};
use crate::world::World;

/// Into so many pieces a thread's share is cut, if there is as much.
const PIECES: usize = 16;

/// What names some rows of a chunk.
struct Piece<'a, D: QueryData, T> {
    masks: Option<&'a [Mask]>,
    chunk: &'a Chunk,
    /// Asked for once: asking says that the chunk is written to.
    fetch: D::Fetch<'a>,
    named: &'a [T],
}

// SAFETY: pointers to what lies in a chunk, and references, which each thread could as well ask the chunk for; who uses
// them lends each row once.
unsafe impl<D: QueryData, T: Sync> Send for Piece<'_, D, T> {}

/// What was lent.
#[derive(Clone, Copy, Default)]
pub(crate) struct LentRows {
    pub(crate) rows: usize,
    /// What these were named for.
    pub(crate) named: usize,
}

impl<D: QueryData, F: QueryFilter> Query<D, F> {
    /// Lends the data of those of the named rows that the query sees, each once with all that names it, on all threads of
    /// the current rayon pool. What it changes gets this version. A panic of `each` comes back when the other threads are
    /// done with what they have taken. O(named), and log of them for each chunk.
    ///
    /// # Safety
    /// Rows of the world, those that are one behind the other, in the order of archetypes and chunks; nobody uses in the
    /// meantime what `D` writes, or writes what it reads.
    pub(crate) unsafe fn par_lend_named<T: Sync>(
        &mut self,
        world: &World,
        version: u32,
        mut named: &[T],
        row_of: impl Fn(&T) -> (u32, Row) + Sync,
        each: impl Fn(D::Item<'_>, &[T]) + Sync,
    ) -> LentRows {
        self.update(world);
        let since = self.begin_at(world, version);
        let scope = Scope::unfiltered(world, (since, version));
        let long = (named.len() / (threads() * PIECES)).max(1);
        let mut pieces = Vec::new();
        while let Some(first) = named.first() {
            let (archetype, Row { chunk, .. }) = row_of(first);
            let is_here = |one: &T| {
                let (of, row) = row_of(one);
                (of, row.chunk) == (archetype, chunk)
            };
            let (mut here, behind) = named.split_at(named.partition_point(is_here));
            named = behind;
            let Some((known, view)) = seen(&self.matches, scope, archetype, chunk) else {
                continue;
            };
            let masks = known.masks();
            // Before it is noted what is lent: a chunk of which nothing is lent has not changed.
            let sees = |one: &T| masked(masks, view.chunk, row_of(one).1.row);
            if !here.iter().any(sees) {
                continue;
            }
            let fetch = D::fetch(known.data, view);
            while !here.is_empty() {
                let end = end_of_row(here, long.min(here.len()), |one| row_of(one).1.row);
                let (named, behind) = here.split_at(end);
                here = behind;
                pieces.push(Piece {
                    masks,
                    chunk: view.chunk,
                    fetch,
                    named,
                });
            }
        }
        // SAFETY: the caller's; no row is in two pieces.
        let lent = map(pieces, |piece: Piece<'_, D, T>| unsafe {
            piece.lend(|one| row_of(one).1.row, &each)
        });
        let add = |sum: LentRows, lent: LentRows| LentRows {
            rows: sum.rows + lent.rows,
            named: sum.named + lent.named,
        };
        lent.into_iter().fold(LentRows::default(), add)
    }
}

/// How many of what names rows of a chunk there are up to the end of the row that the `at`th names, counted from one.
fn end_of_row<T>(named: &[T], at: usize, row_of: impl Fn(&T) -> u32) -> usize {
    let row = row_of(&named[at - 1]);
    at + named[at..].partition_point(|one| row_of(one) == row)
}

impl<D: QueryData, T> Piece<'_, D, T> {
    /// Lends the rows that are seen.
    ///
    /// # Safety
    /// They are rows of the chunk, which nobody else has in a way that conflicts.
    unsafe fn lend(
        self,
        row_of: impl Fn(&T) -> u32,
        each: &impl Fn(D::Item<'_>, &[T]),
    ) -> LentRows {
        let mut lent = LentRows::default();
        for named in self.named.chunk_by(|a, b| row_of(a) == row_of(b)) {
            let row = row_of(&named[0]);
            if masked(self.masks, self.chunk, row) {
                lent.rows += 1;
                lent.named += named.len();
                // SAFETY: the caller's; rows that are one stand one behind the other, so each is lent once.
                each(unsafe { D::item(self.fetch, row as usize) }, named);
            }
        }
        lent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_parts_what_names_one_row() {
        let rows = [0, 0, 1, 1, 1, 4, 5, 5];
        let ends = (1..=rows.len()).map(|at| end_of_row(&rows, at, |&row| row));
        assert_eq!(ends.collect::<Vec<_>>(), [2, 2, 5, 5, 5, 6, 8, 8]);
    }
}
