//! Spans of rows are lent as a query would lend them, without one: to whoever knows already which rows.

use crate::archetype::{Archetype, Lists};
use crate::entity::Entity;
use crate::query::{ChunkView, QueryData, QueryError, Requirements, Span};
use crate::world::World;

/// Calls `run` for each span whose entities have what `D` lends, with where their chunk holds it.
///
/// The spans are in the order of their archetypes.
fn each_span<D: QueryData>(
    world: &mut World,
    spans: &[Span],
    mut run: impl FnMut(D::Fetch<'_>, &Span),
) -> Result<usize, QueryError> {
    let mut requirements = Requirements::new();
    let ids = D::require(world.registry(), &mut requirements)?;
    requirements.check(world.registry())?;
    world.keep_versions();
    let world = &*world;
    let mut lent = 0;
    for spans in spans.chunk_by(|a, b| a.archetype == b.archetype) {
        let number = spans[0].archetype;
        let mut cursors = D::cursors(&ids, Lists::new(&world.having, number));
        let Some(columns) = D::columns(&mut cursors, number) else {
            continue;
        };
        let archetype = &world.archetypes[number as usize];
        for span in spans {
            let view = view(world, archetype, span);
            run(D::skip(D::fetch(columns, view), span.first as usize), span);
            lent += span.count as usize;
        }
    }
    Ok(lent)
}

fn view<'w>(world: &'w World, archetype: &'w Archetype, span: &Span) -> ChunkView<'w> {
    let version = world.stamp();
    ChunkView {
        world,
        archetype,
        chunk: &archetype.chunks[span.chunk as usize],
        version,
        since: version,
    }
}

/// Lends the data of each entity of these spans that has what `D` lends; how many there are.
///
/// # Safety
/// The rows hold values, no two spans have a row in common, and they are in the order of their archetypes.
pub(crate) unsafe fn lend<D: QueryData>(
    world: &mut World,
    spans: &[Span],
    mut each: impl FnMut(D::Item<'_>),
) -> Result<usize, QueryError> {
    each_span::<D>(world, spans, |fetch, span| {
        for row in 0..span.count as usize {
            // SAFETY: the caller's; each row is lent once, of a world that is lent to this call alone.
            each(unsafe { D::item(fetch, row) });
        }
    })
}

/// Lends the data of each span as slices.
///
/// # Safety
/// As for [`lend`].
pub(crate) unsafe fn lend_slices<D: QueryData>(
    world: &mut World,
    spans: &[Span],
    mut each: impl FnMut(D::Slices<'_>),
) -> Result<usize, QueryError> {
    each_span::<D>(world, spans, |fetch, span| {
        // SAFETY: as above.
        each(unsafe { D::slices(fetch, span.count as usize) });
    })
}

/// The handles of a span.
///
/// # Safety
/// The rows have handles.
pub(crate) unsafe fn entities_of<'w>(world: &'w World, span: &Span) -> &'w [Entity] {
    let chunk = &world.archetypes[span.archetype as usize].chunks[span.chunk as usize];
    // SAFETY: the caller's; handles change only through `&mut` of the world.
    unsafe {
        core::slice::from_raw_parts(
            chunk.handles().add(span.first as usize),
            span.count as usize,
        )
    }
}
