//! `QueryIter`: the data of a run's entities in turn.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;
use core::ops::Range;

use crate::archetype::Archetype;
use crate::query::masks::{masked_rows, next_run};
use crate::query::matches::Match;
use crate::query::requirements::Mask;
use crate::query::rows::fold_rows;
use crate::query::run::Scope;
use crate::query::{ChunkView, QueryData, QueryFilter, QueryRun};

/// Lends the data of each entity in turn, in the order of archetypes, chunks and rows.
///
/// O(1) an entity, and O(1) an archetype and a chunk. Where all is wanted, [`fold`](Iterator::fold) and what is made
/// of it (`for_each`, `sum`, `count` …) are faster than a `for` loop, which asks after each entity whether it was the
/// chunk's last.
///
/// Must hold: `fetch` is of a chunk that has all rows below `end`; those from `row` on have not been lent.
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct QueryIter<'a, D: QueryData, F: QueryFilter> {
    row: usize,
    end: usize,
    /// Written before `end` is more than 0.
    fetch: MaybeUninit<D::Fetch<'a>>,
    ahead: Ahead,
    /// What is looked at between two chunks only. By one address, so that a loop has registers left for what it adds up,
    /// where the call that goes to the next chunk keeps six.
    run: &'a QueryRun<'a, D, F>,
}

/// How far a walk has come. By value in and out of what goes on with it, so that nothing points to the iterator, and
/// a loop can keep that in registers.
#[derive(Clone, Copy, Default)]
pub(super) struct Ahead {
    /// The match and its chunk that come next.
    known: u32,
    chunk: u32,
    /// Rows of that chunk that were lent, or passed over, because of their bits.
    passed: u32,
}

/// Rows that the query sees, and what comes behind them.
pub(super) struct Seen<'a, D: QueryData> {
    pub(super) fetch: D::Fetch<'a>,
    pub(super) rows: Range<usize>,
    pub(super) behind: Ahead,
}

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryIter<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueryIter").finish_non_exhaustive()
    }
}

impl Ahead {
    /// Behind all matches, however many they are.
    pub(super) const END: Self = Self {
        known: u32::MAX,
        chunk: 0,
        passed: 0,
    };

    /// The next chunk that the query sees, and what comes in it.
    #[inline(always)]
    fn chunk<'m, 'a, D: QueryData, F: QueryFilter>(
        mut self,
        matches: &'m [Match<D, F>],
        scope: Scope<'a, '_>,
    ) -> Option<(&'m Match<D, F>, ChunkView<'a>, Self)> {
        loop {
            let known = matches.get(self.known as usize)?;
            let archetype = &scope.world.archetypes[known.archetype as usize];
            let Some(chunk) = archetype.chunks.get(self.chunk as usize) else {
                self = Self {
                    known: self.known + 1,
                    ..Self::default()
                };
                continue;
            };
            let view = match self.passed {
                0 => scope.view(known, archetype, chunk),
                _ => Some(scope.show(archetype, chunk)),
            };
            if let Some(view) = view {
                return Some((known, view, self));
            }
            self = self.later(archetype);
        }
    }

    /// The next rows that the query sees, of which nothing is lent yet: it is no change. Goes behind them.
    #[inline(always)]
    fn rows<'m, 'a, D: QueryData, F: QueryFilter>(
        &mut self,
        matches: &'m [Match<D, F>],
        scope: Scope<'a, '_>,
    ) -> Option<(&'m Match<D, F>, ChunkView<'a>, Range<usize>)> {
        while let Some((known, view, here)) = self.chunk(matches, scope) {
            *self = here.later(view.archetype);
            let Some(masks) = known.masks() else {
                return Some((known, view, 0..view.len()));
            };
            if let Some(rows) = next_run(masks, view.chunk, here.passed as usize, view.len()) {
                let passed = rows.end as u32;
                *self = Self { passed, ..here };
                return Some((known, view, rows));
            }
        }
        None
    }

    /// The same, to be lent. (Not by way of `rows` and `chunk`: a loop that takes entities one by one is slower then.)
    #[inline(always)]
    fn next<'a, D: QueryData, F: QueryFilter>(
        mut self,
        matches: &[Match<D, F>],
        scope: Scope<'a, '_>,
    ) -> Option<Seen<'a, D>> {
        loop {
            let known = matches.get(self.known as usize)?;
            let archetype = &scope.world.archetypes[known.archetype as usize];
            let Some(chunk) = archetype.chunks.get(self.chunk as usize) else {
                self = Self {
                    known: self.known + 1,
                    ..Self::default()
                };
                continue;
            };
            let later = self.later(archetype);
            let view = match self.passed {
                0 => scope.view(known, archetype, chunk),
                _ => Some(scope.show(archetype, chunk)),
            };
            let Some(view) = view else {
                self = later;
                continue;
            };
            let (rows, behind) = match known.masks() {
                None => (0..view.len(), later),
                Some(masks) => {
                    let Some(rows) = next_run(masks, chunk, self.passed as usize, view.len())
                    else {
                        self = later;
                        continue;
                    };
                    let passed = rows.end as u32;
                    (rows, Self { passed, ..self })
                }
            };
            return Some(Seen {
                fetch: D::fetch(known.data, view),
                rows,
                behind,
            });
        }
    }

    /// The same, out of line. In pieces that stay in registers: two that are written one by one and read
    /// together, as the parts of a struct that is copied are, make the processor wait for both.
    #[inline(never)]
    fn jump_from<'a, D: QueryData, F: QueryFilter>(
        known: u32,
        chunk: u32,
        passed: u32,
        matches: &[Match<D, F>],
        scope: Scope<'a, '_>,
    ) -> Option<Seen<'a, D>> {
        let from = Self {
            known,
            chunk,
            passed,
        };
        from.next(matches, scope)
    }

    /// The same, out of line.
    #[inline(always)]
    pub(super) fn jump<'a, D: QueryData, F: QueryFilter>(
        self,
        matches: &[Match<D, F>],
        scope: Scope<'a, '_>,
    ) -> Option<Seen<'a, D>> {
        Self::jump_from(self.known, self.chunk, self.passed, matches, scope)
    }

    /// Lends all that the query sees from here on.
    ///
    /// # Safety
    /// It has not been lent.
    #[inline(always)]
    pub(super) unsafe fn fold<'a, D: QueryData, F: QueryFilter, B>(
        mut self,
        matches: &[Match<D, F>],
        scope: Scope<'a, '_>,
        init: B,
        mut each: impl FnMut(B, D::Item<'a>) -> B,
    ) -> B {
        let mut result = init;
        while let Some((known, view, here)) = self.chunk(matches, scope) {
            self = here.later(&scope.world.archetypes[known.archetype as usize]);
            if let Some(masks) = known.masks() {
                let (known, first) = ((known, masks), here.passed as usize);
                // SAFETY: by the caller's word; what is behind the chunk comes next.
                result = unsafe { fold_masked(known, view, first, result, &mut each) };
                continue;
            }
            let rows = 0..view.len();
            let fetch = D::fetch(known.data, view);
            // SAFETY: the rows of the chunk; each is lent once.
            result = unsafe { fold_rows::<D, B>(fetch, rows, result, &mut each) };
        }
        result
    }

    /// What comes behind the chunk, which is one of this archetype's.
    #[inline(always)]
    fn later(self, archetype: &Archetype) -> Self {
        let is_last = self.chunk as usize + 1 == archetype.chunks.len();
        Self {
            known: self.known + u32::from(is_last),
            chunk: if is_last { 0 } else { self.chunk + 1 },
            passed: 0,
        }
    }
}

/// Lends those rows of a chunk from `first` on that masks let through.
///
/// Not inlined, because bits are rare.
///
/// # Safety
/// The rows from `first` on have not been lent.
#[inline(never)]
unsafe fn fold_masked<'a, D: QueryData, F: QueryFilter, B>(
    (known, masks): (&Match<D, F>, &[Mask]),
    view: ChunkView<'a>,
    first: usize,
    init: B,
    each: &mut impl FnMut(B, D::Item<'a>) -> B,
) -> B {
    // None of them: then it is not noted that the chunk is written to.
    let Some(rows) = next_run(masks, view.chunk, first, view.len()) else {
        return init;
    };
    let fetch = D::fetch(known.data, view);
    let rows = masked_rows(masks, view.chunk, rows.start..view.len());
    rows.fold(init, |result, row| {
        // SAFETY: a row of the chunk; each is lent once.
        each(result, unsafe { D::item(fetch, row) })
    })
}

impl<'a, D: QueryData, F: QueryFilter> QueryIter<'a, D, F> {
    /// Begins at the first entity.
    #[inline(always)]
    pub(super) fn new(run: &'a QueryRun<'a, D, F>) -> Self {
        Self {
            row: 0,
            end: 0,
            fetch: MaybeUninit::uninit(),
            ahead: Ahead::default(),
            run,
        }
    }

    /// The data of the first entity, of an iterator that has not begun.
    #[inline(always)]
    pub(super) fn first(self) -> Option<D::Item<'a>> {
        let seen: Seen<'_, D> = self.ahead.next(&self.run.matches, self.run.scope())?;
        // SAFETY: a row of the chunk, for rows that are seen are some; it is lent once.
        Some(unsafe { D::item(seen.fetch, seen.rows.start) })
    }

    /// The data of the only entity, of an iterator that has not begun.
    #[inline(always)]
    pub(super) fn single(self) -> Option<D::Item<'a>> {
        let (matches, scope): (&[Match<D, F>], _) = (&self.run.matches, self.run.scope());
        let mut ahead = self.ahead;
        let (known, view, rows) = ahead.rows(matches, scope)?;
        if rows.len() > 1 || ahead.rows(matches, scope).is_some() {
            return None;
        }
        // SAFETY: a row of the chunk, for rows that are seen are some; it is lent once.
        Some(unsafe { D::item(D::fetch(known.data, view), rows.start) })
    }

    /// Goes to the next rows that the query sees.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        let Some(seen) = self.ahead.jump(&self.run.matches, self.run.scope()) else {
            self.ahead = Ahead::END;
            return false;
        };
        self.fetch.write(seen.fetch);
        (self.row, self.end) = (seen.rows.start, seen.rows.end);
        self.ahead = seen.behind;
        true
    }

    /// Lends the next of the rows in hand.
    ///
    /// # Safety
    /// There is one: `row` is below `end`.
    #[inline(always)]
    unsafe fn lend(&mut self) -> D::Item<'a> {
        let row = self.row;
        self.row += 1;
        // SAFETY: `fetch` has been written, for `end` is not 0. The row is one of the chunk; each is lent once.
        unsafe { D::item(self.fetch.assume_init(), row) }
    }
}

impl<'a, D: QueryData, F: QueryFilter> Iterator for QueryIter<'a, D, F> {
    type Item = D::Item<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<D::Item<'a>> {
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
        unsafe { (self.ahead).fold(&self.run.matches, self.run.scope(), result, each) }
    }
}

impl<D: QueryData, F: QueryFilter> FusedIterator for QueryIter<'_, D, F> {}
