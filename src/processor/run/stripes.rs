//! Which ids are whose in an ordered universe, while processors run beside each other.

use std::sync::Arc;

use crate::command::{Stripes, saturated};
use crate::processor::entry::Entry;
use crate::processor::executor::MemberCell;
use crate::processor::segment::Segment;
use crate::world::World;

/// Sort keys for which ids are set aside where neither chunks nor the processor say that it takes more.
const PIECES: usize = 64;

/// In an ordered universe: which ids are whose.
pub(super) fn stripes(
    world: &World,
    crew: &mut [MemberCell],
    entries: &[Entry],
    segment: &Segment,
) -> Arc<Stripes> {
    let chunks: usize = world
        .archetypes
        .iter()
        .map(|archetype| archetype.chunks.len())
        .sum();
    let mut pieces = 0_usize;
    for processor in segment.processors() {
        let Some(needs) = &entries[processor].needs else {
            continue;
        };
        let first = pieces;
        if needs.parallel_commands {
            // One for a recorder without a key, and for each chunk, or for pieces with numbers.
            let asked = entries[processor].pieces as usize;
            pieces = pieces
                .saturating_add(chunks.max(PIECES).max(asked))
                .saturating_add(1);
        } else if needs.commands {
            pieces = pieces.saturating_add(1);
        }
        crew[processor].get_mut().pieces = (saturated(first), saturated(pieces));
    }
    Arc::new(Stripes::of(world, Some(pieces)))
}
