//! Spans of rows are lent as a query would lend them, without one: to whoever knows already which rows.

use crate::archetype::{Archetype, Column, Lists};
use crate::entity::Entity;
use crate::fragment::{FragmentError, FragmentId, FragmentInfo, FragmentKind, Values, ValuesMut};
use crate::query::{ChunkView, Query, QueryData, QueryError, Span};
use crate::world::World;

/// Calls `run` for each span whose entities have what `D` lends, with where their chunk holds it.
///
/// The spans are in the order of their archetypes.
fn each_span<D: QueryData>(
    world: &mut World,
    spans: &[Span],
    mut run: impl FnMut(D::Fetch<'_>, &Span),
) -> Result<usize, QueryError> {
    world.keep_versions();
    let world = &*world;
    let own;
    let ids = match world.asked.get::<D, ()>(world)? {
        Some(query) => query.data(),
        // A panic broke off what brings it up to date.
        None => {
            own = Query::<D>::new(world)?;
            own.data()
        }
    };
    let mut lent = 0;
    for spans in spans.chunk_by(|a, b| a.archetype == b.archetype) {
        let number = spans[0].archetype;
        let mut cursors = D::cursors(ids, Lists::new(&world.having, number));
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

/// Calls `run` for each span whose entities have a fragment, in whatever role, with what is known of that, where the
/// span's first value lies, and how many there are: one a row, or one for all if it is shared or the chunk's.
///
/// # Safety
/// As for [`lend`].
unsafe fn each_span_with(
    world: &mut World,
    spans: &[Span],
    id: FragmentId,
    writes: bool,
    mut run: impl FnMut(&[Entity], &FragmentInfo, *mut u8, usize),
) -> Result<usize, QueryError> {
    if writes {
        world.keep_versions();
    }
    let world = &*world;
    let info = world.registry().get(id);
    let info = info.ok_or(FragmentError::Unknown { id })?;
    let name = || info.name().into();
    match info.kind() {
        FragmentKind::Tag => return Err(QueryError::NoValues { name: name() }),
        FragmentKind::Shared | FragmentKind::ConstShared if writes => {
            return Err(QueryError::ReadOnly { name: name() });
        }
        _ => {}
    }
    let mut lent = 0;
    for span in spans {
        let archetype = &world.archetypes[span.archetype as usize];
        let chunk = &archetype.chunks[span.chunk as usize];
        let rows = span.count as usize;
        let (first, count) = if let Some(column) = archetype.column_of(id) {
            if writes {
                chunk.touch(column, world.stamp());
            }
            let Column { offset, size, .. } = archetype.columns[column];
            let skipped = span.first as usize * size as usize;
            (chunk.array(offset).wrapping_add(skipped), rows)
        } else if let Some(at) = archetype.shared_at(id) {
            (world.shared_at(archetype, chunk, at).cast_mut(), 1)
        } else if let Some(value) = archetype.chunk_value_of(id) {
            (chunk.array(value.offset), 1)
        } else {
            continue;
        };
        // SAFETY: the caller's.
        let entities = unsafe { entities_of(world, span) };
        run(entities, info, first, count);
        lent += rows;
    }
    Ok(lent)
}

/// Lends the values of a fragment of each span whose entities have it, in whatever role; how many entities that are.
///
/// # Safety
/// As for [`lend`].
pub(crate) unsafe fn lend_values(
    world: &mut World,
    spans: &[Span],
    id: FragmentId,
    mut each: impl FnMut(&[Entity], Values<'_>),
) -> Result<usize, QueryError> {
    let each = |entities: &[Entity], info: &FragmentInfo, first: *mut u8, count| {
        // SAFETY: values of this fragment, in a world that is lent to this call alone, which only reads.
        each(entities, unsafe { Values::new(info, first, count) });
    };
    // SAFETY: the caller's.
    unsafe { each_span_with(world, spans, id, false, each) }
}

/// The same to be written.
///
/// # Safety
/// As for [`lend`].
pub(crate) unsafe fn lend_values_mut(
    world: &mut World,
    spans: &[Span],
    id: FragmentId,
    mut each: impl FnMut(&[Entity], ValuesMut<'_>),
) -> Result<usize, QueryError> {
    let each = |entities: &[Entity], info: &FragmentInfo, first: *mut u8, count| {
        // SAFETY: values of this fragment, none of them shared, in a world that is lent to this call alone, which lends
        // nothing else until `each` is done.
        each(entities, unsafe { ValuesMut::new(info, first, count) });
    };
    // SAFETY: the caller's.
    unsafe { each_span_with(world, spans, id, true, each) }
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
