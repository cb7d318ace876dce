//! `Visit`: what is done with the chunks that a run sees.

use core::ops::Range;

use crate::archetype::Chunk;
use crate::query::masks::{any_masked, masked_rows, next_stretch};
use crate::query::matches::Match;
use crate::query::requirements::Mask;
use crate::query::{ChunkView, QueryData, QueryFilter, rows};

/// The bits that decide row by row, if any do.
pub(super) type Masks<'a> = Option<&'a [Mask]>;

/// What is done with the chunks that a run sees. No closure: it is called from two loops, and must be inlined in
/// both.
pub(super) trait Visit<'a, D: QueryData, F: QueryFilter> {
    fn chunk(&mut self, known: &'a Match<D, F>, view: ChunkView<'a>, masks: Masks<'a>);
}

/// Lends each entity.
pub(super) struct Entities<E>(pub(super) E);

/// Lends slices.
pub(super) struct Slices<E>(pub(super) E);

/// Lends nothing: what it calls decides.
pub(super) struct Chunks<E>(pub(super) E);

impl<'a, D, F, E> Visit<'a, D, F> for Entities<E>
where
    D: QueryData,
    F: QueryFilter,
    E: FnMut(D::Item<'a>),
{
    #[inline(always)]
    fn chunk(&mut self, known: &'a Match<D, F>, view: ChunkView<'a>, masks: Masks<'a>) {
        // Before it is noted what is lent: see `QueryData::fetch`.
        let len = view.len();
        if !any_masked(masks, view.chunk, 0..len) {
            return;
        }
        let fetch = D::fetch(known.data, view);
        lend_rows::<D>(masks, fetch, view.chunk, 0..len, &mut self.0);
    }
}

impl<'a, D, F, E> Visit<'a, D, F> for Slices<E>
where
    D: QueryData,
    F: QueryFilter,
    E: FnMut(ChunkView<'a>, D::Slices<'a>),
{
    #[inline(always)]
    fn chunk(&mut self, known: &'a Match<D, F>, view: ChunkView<'a>, _: Masks<'a>) {
        let len = view.len();
        let fetch = D::fetch(known.data, view);
        // SAFETY: the rows of the chunk; each chunk is lent once.
        let slices = unsafe { D::slices(fetch, len) };
        D::alone(slices, |slices| (self.0)(view, slices));
    }
}

impl<'a, D, F, E> Visit<'a, D, F> for Chunks<E>
where
    D: QueryData + 'a,
    F: QueryFilter + 'a,
    E: FnMut(&'a Match<D, F>, ChunkView<'a>),
{
    #[inline(always)]
    fn chunk(&mut self, known: &'a Match<D, F>, view: ChunkView<'a>, _: Masks<'a>) {
        (self.0)(known, view);
    }
}

/// Lends rows of a chunk.
#[inline(always)]
pub(super) fn lend_rows<'a, D: QueryData>(
    masks: Masks<'_>,
    fetch: D::Fetch<'a>,
    chunk: &'a Chunk,
    rows: Range<usize>,
    each: &mut impl FnMut(D::Item<'a>),
) {
    if let Some(masks) = masks {
        return lend_masked::<D>(masks, fetch, chunk, rows, each);
    }
    // SAFETY: rows of the chunk; each is lent once.
    unsafe { rows::lend_rows::<D>(fetch, rows, each) };
}

/// The same of those that masks let through.
#[inline(never)]
fn lend_masked<'a, D: QueryData>(
    masks: &[Mask],
    fetch: D::Fetch<'a>,
    chunk: &'a Chunk,
    rows: Range<usize>,
    each: &mut impl FnMut(D::Item<'a>),
) {
    masked_rows(masks, chunk, rows).for_each(|row| {
        // SAFETY: a row of the chunk; each is lent once.
        each(unsafe { D::item(fetch, row) });
    });
}

/// Lends each stretch of a chunk's rows that masks let through.
pub(super) fn lend_stretches<'a, D: QueryData, F: QueryFilter>(
    known: &'a Match<D, F>,
    view: ChunkView<'a>,
    each: &mut impl FnMut(ChunkView<'a>, Range<usize>, D::Slices<'a>),
) {
    let mut behind = 0;
    while let Some(rows) = next_stretch(known.masks(), view.chunk, behind) {
        behind = rows.end;
        let fetch = D::skip(D::fetch(known.data, view), rows.start);
        // SAFETY: rows of the chunk; each stretch begins behind the one before, so none is lent twice.
        let slices = unsafe { D::slices(fetch, rows.len()) };
        D::alone(slices, |slices| each(view, rows, slices));
    }
}
