//! Sharing chunks, or rows of them, out among the threads of the current rayon pool.
//!
//! Every thread that has time works off a share of the numbers, from its front; who is done takes from the back of
//! another's (see [`fork_join`](crate::workers::fork_join)). Whole chunks differ much in what they cost, when filters pass
//! most of them by and the rest is long: shares that are fixed at the start would leave threads waiting at the end.

use core::ops::Range;

use crate::archetype::{Archetype, Chunk};
use crate::sync::shares::Piece;
use crate::workers::fork_join::{share, threads};
use crate::world::World;

/// Into so many pieces each share is cut, if there are as many numbers.
const PIECES: usize = 64;
/// A piece is no longer: then taking it costs next to nothing.
const LONGEST: usize = 64;

/// Calls `run` with each chunk of the archetypes that `matches` name, on all threads of the current rayon pool.
pub(super) fn share_chunks<'a, M: Sync>(
    world: &'a World,
    matches: &'a [M],
    archetype_of: impl Fn(&M) -> u32 + Sync,
    run: impl Fn(&'a M, &'a Archetype, &'a Chunk) + Sync,
) {
    let of = |known: &M| &world.archetypes[archetype_of(known) as usize];
    let count = matches.iter().map(|known| of(known).chunks.len()).sum();
    let piece = |share: usize| Piece::of((share / PIECES).clamp(1, LONGEST) as u32);
    share(threads(), count, piece, || {
        // Numbers mostly grow: who asks for a smaller one looks from the first match again.
        let (mut at, mut first) = (0, 0);
        let (of, run) = (&of, &run);
        move |numbers: Range<usize>| {
            if numbers.start < first {
                (at, first) = (0, 0);
            }
            for number in numbers {
                let (known, archetype) = loop {
                    let (known, archetype) = (&matches[at], of(&matches[at]));
                    if number - first < archetype.chunks.len() {
                        break (known, archetype);
                    }
                    first += archetype.chunks.len();
                    at += 1;
                };
                run(known, archetype, &archetype.chunks[number - first]);
            }
        }
    });
}
