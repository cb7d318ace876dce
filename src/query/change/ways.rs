//! Ways: the edges along which all that matches changes, and the walks along them that ask for no values.

use crate::archetype::{Change, Edge, SharedId};
use crate::fragment::FragmentId;
use crate::panics::{Panicked, first, resume};
use crate::query::change::seen::Seen;
use crate::query::matches::Match;
use crate::query::{QueryData, QueryFilter};
use crate::world::compose::EdgeRef;
use crate::world::runs::Fill;
use crate::world::{World, WorldError};

/// An archetype that matches, and what changes it.
pub(super) type Way<'m, D, F> = (&'m Match<D, F>, EdgeRef);

/// Moves what is seen to groups with a shared value.
pub(super) fn share<D: QueryData, F: QueryFilter>(
    world: &mut World,
    matches: &[Match<D, F>],
    seen: &Seen<'_>,
    number: u32,
    given: (FragmentId, SharedId),
) -> Result<usize, WorldError> {
    let ways = ways(world, matches, |world, archetype| {
        world.edge_for(archetype, Change::Add(number))
    })?;
    let (mut count, mut runs, mut all) = (0, Vec::new(), Vec::new());
    for (known, edge) in ways {
        let archetype = known.archetype;
        let data = &world.archetypes[archetype as usize];
        let again = world.given_again(archetype, [given.0].into_iter(), &[]);
        let stay = Edge::new(data, data, Box::default(), |_| false).regiving(again);
        let edge = if edge.target == archetype {
            &stay
        } else {
            &*edge
        };
        // All of them first: where they go, other chunks of this archetype may be open.
        all.clear();
        for chunk in (0..chunks_of(world, archetype)).rev() {
            seen.rows(world, known, chunk, &mut runs);
            let data = &world.archetypes[archetype as usize];
            let key = &data.groups[data.chunks[chunk as usize].group as usize].key;
            if (data.shared_at(given.0)).is_some_and(|at| key[at] == given.1) {
                for &rows in &runs {
                    count += rows.count as usize;
                    world.gather_rows_given(archetype, rows, &stay.regiven);
                }
            } else {
                all.append(&mut runs);
            }
        }
        for &rows in &all {
            let group = world.shared_group(archetype, rows.chunk, edge.target, &[given]);
            let fill = |fill: &mut Fill<'_, ()>| fill.nothing();
            let moved = world.move_rows(archetype, rows, edge, group, fill);
            count += settled(moved.count, moved.panicked, moved.refused)?;
        }
    }
    Ok(count)
}

/// Takes fragments away along ways. What users' `drop`s panic with is kept: all go on.
pub(super) fn remove_along<D: QueryData, F: QueryFilter>(
    world: &mut World,
    ways: Vec<Way<'_, D, F>>,
    seen: &Seen<'_>,
    panicked: &mut Panicked,
) -> Result<usize, WorldError> {
    let (mut count, mut runs) = (0, Vec::new());
    for (known, edge) in ways {
        let archetype = known.archetype;
        if edge.target == archetype {
            continue;
        }
        for chunk in (0..chunks_of(world, archetype)).rev() {
            seen.rows(world, known, chunk, &mut runs);
            for &rows in &runs {
                let group = world.same_group(archetype, chunk, edge.target);
                let fill = |fill: &mut Fill<'_, ()>| fill.nothing();
                let moved = world.move_rows(archetype, rows, &edge, group, fill);
                let mut stopped = None;
                if moved.count == rows.count {
                    *panicked = first(panicked.take(), moved.panicked);
                } else {
                    stopped = moved.panicked;
                }
                count += settled(moved.count, stopped, moved.refused)?;
            }
        }
    }
    Ok(count)
}

/// Moves what is seen to another world.
pub(super) fn emigrate<D: QueryData, F: QueryFilter>(
    world: &mut World,
    other: &mut World,
    matches: &[Match<D, F>],
    seen: &Seen<'_>,
) -> Result<usize, WorldError> {
    let mut count = 0;
    let mut runs = Vec::new();
    for known in matches {
        let archetype = known.archetype;
        if world.archetypes[archetype as usize].entities == 0 {
            continue;
        }
        world.by_passage(other, archetype, |world, other, passage| {
            for chunk in (0..chunks_of(world, archetype)).rev() {
                seen.rows(world, known, chunk, &mut runs);
                for &rows in &runs {
                    let moved = world.emigrate(other, archetype, rows, passage);
                    count += settled(moved.count, moved.panicked, moved.refused)?;
                }
            }
            Ok(())
        })?;
    }
    Ok(count)
}

/// The edges of the archetypes that match, those first that lead nowhere else.
pub(super) fn ways<'m, D: QueryData, F: QueryFilter>(
    world: &mut World,
    matches: &'m [Match<D, F>],
    edge: impl Fn(&mut World, u32) -> Result<EdgeRef, WorldError>,
) -> Result<Vec<Way<'m, D, F>>, WorldError> {
    let mut ways = Vec::with_capacity(matches.len());
    for known in matches {
        // An archetype without entities needs no other.
        if world.archetypes[known.archetype as usize].entities > 0 {
            ways.push((known, edge(world, known.archetype)?));
        }
    }
    ways.sort_by_key(|(known, edge)| known.archetype != edge.target);
    Ok(ways)
}

/// What a run has done, or why it could not go on.
pub(super) fn settled(
    count: u32,
    panicked: Panicked,
    refused: Option<WorldError>,
) -> Result<usize, WorldError> {
    resume(panicked);
    match refused {
        Some(error) => Err(error),
        None => Ok(count as usize),
    }
}

pub(super) fn chunks_of(world: &World, archetype: u32) -> u32 {
    world.archetypes[archetype as usize].chunks.len() as u32
}
