//! Sharing chunks, or rows of them, out among the threads of the current rayon pool.
//!
//! Every thread that has time works off a share of the numbers, from its front; who is done takes from the back of
//! another's (see [`Shares`]). Whole chunks differ much in what they cost, when filters pass most of them by
//! and the rest is long: shares that are fixed at the start would leave threads waiting at the end.

use core::ops::Range;

use crate::archetype::{Archetype, Chunk};
use crate::sync::shares::{Piece, Shares};
use crate::world::World;

/// Into so many pieces each share is cut, if there are as many numbers.
const PIECES: usize = 64;
/// A piece is no longer: then taking it costs next to nothing.
const LONGEST: usize = 64;

/// Calls what `worker` makes with numbers below `count`, each once, on all threads of the current rayon pool. Each
/// thread's worker gets them in any order.
///
/// A thread of the pool begins with the same share each time, so that what it worked on before lies in its own
/// cache still.
///
/// A panic comes back when the others are done with what they have taken.
pub(super) fn share<W: FnMut(Range<usize>)>(
    count: usize,
    piece: impl FnOnce(usize) -> Piece,
    worker: impl Fn() -> W + Sync,
) {
    let threads = rayon::current_num_threads().min(count);
    if threads <= 1 {
        return worker()(0..count);
    }
    // As many as there are rows in few chunks, or 16 KiB chunks, at most.
    let numbers = u32::try_from(count).expect("a world has fewer chunks than a number can say");
    let shares = Shares::new(numbers, threads, piece(count / threads));
    on_threads(0..threads, &|number| {
        let own = rayon::current_thread_index().unwrap_or(number) % threads;
        let stop = StopOnPanic(&shares);
        let mut work = worker();
        while let Some(taken) = shares.take(own) {
            work(taken.start as usize..taken.end as usize);
        }
        core::mem::forget(stop);
    });
}

/// Calls `work` with each of the numbers: on other threads as far as they have time, else on this one.
fn on_threads(numbers: Range<usize>, work: &(impl Fn(usize) + Sync)) {
    if numbers.len() == 1 {
        return work(numbers.start);
    }
    let middle = numbers.start + numbers.len().div_ceil(2);
    rayon::join(
        || on_threads(numbers.start..middle, work),
        || on_threads(middle..numbers.end, work),
    );
}

/// Dropped, it leaves nothing to the others.
struct StopOnPanic<'s>(&'s Shares);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

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
    share(count, piece, || {
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
