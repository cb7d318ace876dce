//! Values that are made of all entities, by several threads, in the order of a walk.
//!
//! Rows are shared out in blocks. How many of a block's rows are seen is known before the first is lent, and so is where
//! in the list its values stand: each thread writes to a part of the list of its own, once.
//!
//! Must hold: a value that was made is owned by the [`Made`] of its block until all are made, and by the list from then on.
//! So each is dropped once, whoever panics.

use core::ops::Range;

use crate::archetype::Chunk;
use crate::memory::LINE;
use crate::panics::{note, resume_alone};
use crate::query::masks::mask_of;
use crate::query::matches::Match;
use crate::query::requirements::Mask;
use crate::query::run::visit::Chunks;
use crate::query::{ChunkView, QueryData, QueryFilter, QueryRun, rows};
use crate::workers::fork_join::{map, threads};

/// Into so many blocks a thread's share of the rows is cut, if they are long enough.
const BLOCKS: usize = 16;
/// A block with fewer rows is not worth while.
const SHORTEST: usize = 256;
const _: () = assert!(SHORTEST.is_multiple_of(LINE), "masks have 64 rows a word");

impl<D: QueryData, F: QueryFilter> QueryRun<'_, D, F> {
    /// Makes a value of each entity's data, on all threads of the current rayon pool, and puts them into `out` in the order
    /// in which [`for_each`](Self::for_each) walks, whatever the number of threads. What was in `out` goes; its memory is
    /// used again. A panic of `each` comes back when the other threads are done with what they have taken: all values that
    /// were made are dropped then, and `out` is empty.
    ///
    /// What a thread that draws is given is copied out of the world so: two lists go round, one that is filled, and one that
    /// is drawn, and nothing is allocated when they have grown once.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use megachunk::prelude::*;
    ///
    /// struct Position(f32);
    /// struct Drawn { x: f32 }
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..10_000).map(|n| (Position(n as f32),)))?;
    /// let (full, to_draw) = channel::<Vec<Drawn>>();
    /// let (used, to_fill) = channel();
    /// for _ in 0..2 {
    ///     used.send(Vec::new())?;
    /// }
    /// let renderer = std::thread::spawn(move || {
    ///     let mut sum = 0.0;
    ///     for frame in to_draw {
    ///         sum += frame.iter().map(|drawn| drawn.x).sum::<f32>();
    ///         // Nobody fills it any more, at the end.
    ///         let _ = used.send(frame);
    ///     }
    ///     sum
    /// });
    /// let mut positions = Query::<&Position>::new(&world)?;
    /// for _ in 0..3 {
    ///     // It waits here if two frames are not drawn yet.
    ///     let mut frame = to_fill.recv()?;
    ///     positions.on(&mut world).par_gather_into(&mut frame, |position| Drawn { x: position.0 });
    ///     assert_eq!((frame.len(), frame[7].x), (10_000, 7.0));
    ///     full.send(frame)?;
    /// }
    /// drop(full);
    /// assert!(renderer.join().unwrap() > 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// O(entities + chunks), one thread's part of it: to begin and to end on several threads takes some microseconds, as in
    /// [`par_for_each`](Self::par_for_each). Besides `out` it allocates some hundred bytes for each chunk, until it returns.
    ///
    /// Which rows are seen where fragments can be [switched off](crate::query::Enabled) is asked before the first is lent.
    #[doc(alias = "par_extend")]
    #[doc(alias = "collect_into_vec")]
    pub fn par_gather_into<'a, T: Send>(
        &'a mut self,
        out: &mut Vec<T>,
        each: impl Fn(D::Item<'a>) -> T + Sync,
    ) {
        out.clear();
        let (blocks, count) = self.blocks();
        out.reserve(count);
        let begin = Begin(out.as_mut_ptr());
        let made = map(blocks, |block| {
            // SAFETY: room for the values of all blocks, each of which has a part of its own.
            unsafe { block.make(&begin, &each) }
        });
        // No user's code from here on.
        let made: usize = made.into_iter().map(Made::keep).sum();
        assert_eq!(made, count, "each row is lent once");
        // SAFETY: so many values stand there, one behind the other, whom nobody else owns any more.
        unsafe { out.set_len(count) };
    }

    /// The rows that are seen, in blocks, in the order of a walk; how many they are.
    fn blocks<'a>(&'a self) -> (Vec<Block<'a, D>>, usize) {
        // Each chunk is asked for once, before anything is lent, as in a walk over whole chunks.
        let (mut seen, mut rows) = (Vec::new(), 0);
        self.chunks(Chunks(|known: &'a Match<D, F>, view: ChunkView<'a>| {
            let words = known.masks().map(|masks| words_of(masks, view.chunk));
            let sees_some = |words: &Vec<u64>| words.iter().any(|&word| word != 0);
            if words.as_ref().is_none_or(sees_some) {
                rows += view.len();
                seen.push((view.len(), words, D::fetch(known.data, view)));
            }
        }));
        let block = (rows / (threads() * BLOCKS)).next_multiple_of(SHORTEST);
        let block = block.max(SHORTEST);
        let (mut blocks, mut first) = (Vec::with_capacity(seen.len()), 0);
        for (len, words, fetch) in seen {
            for start in (0..len).step_by(block) {
                let rows = start..len.min(start + block);
                let words = words.as_ref().map(|words| {
                    let words = &words[start / 64..rows.end.div_ceil(64)];
                    words.to_vec()
                });
                let block = Block {
                    first,
                    rows,
                    words,
                    fetch,
                };
                first += block.len();
                blocks.push(block);
            }
        }
        (blocks, first)
    }
}

/// Which rows of a chunk masks let through, as bits.
fn words_of(masks: &[Mask], chunk: &Chunk) -> Vec<u64> {
    let words = (0..chunk.len.div_ceil(64)).map(|word| {
        let behind = (chunk.len - word * 64).min(64);
        mask_of(masks, chunk, word) & u64::MAX >> (64 - behind)
    });
    words.collect()
}

/// Rows of a chunk of which one thread makes values.
struct Block<'a, D: QueryData> {
    /// So many values come before its own.
    first: usize,
    /// They begin with a word of bits.
    rows: Range<usize>,
    /// Which of them are seen, if bits decide: as they stood when they were counted, whoever switches meanwhile.
    words: Option<Vec<u64>>,
    /// Asked for once: asking says that the chunk is written to.
    fetch: D::Fetch<'a>,
}

// SAFETY: pointers to what lies in a chunk, and references, which each thread could as well ask the chunk for; who uses
// them lends each row once.
unsafe impl<D: QueryData> Send for Block<'_, D> {}

impl<'a, D: QueryData> Block<'a, D> {
    /// How many of its rows are seen.
    fn len(&self) -> usize {
        match &self.words {
            None => self.rows.len(),
            Some(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Makes a value of each row that is seen.
    ///
    /// # Safety
    /// Room for its values where they stand in the list, which nobody else has.
    unsafe fn make<T: Send>(self, list: &Begin<T>, each: &impl Fn(D::Item<'a>) -> T) -> Made<T> {
        let mut made = Made {
            // SAFETY: the caller's.
            first: unsafe { list.0.add(self.first) },
            len: 0,
        };
        let mut make = |item| {
            let value = each(item);
            // SAFETY: the caller's: one value for each row.
            unsafe { made.first.add(made.len).write(value) };
            made.len += 1;
        };
        match self.words {
            // SAFETY: rows of the chunk; each is lent once.
            None => unsafe { rows::lend_rows::<D>(self.fetch, self.rows, &mut make) },
            Some(words) => {
                for (word, mut bits) in (self.rows.start / 64..).zip(words) {
                    while bits != 0 {
                        let row = word * 64 + bits.trailing_zeros() as usize;
                        bits &= bits - 1;
                        // SAFETY: as above.
                        make(unsafe { D::item(self.fetch, row) });
                    }
                }
            }
        }
        made
    }
}

/// Where a list begins, to which several threads write.
struct Begin<T>(*mut T);

// SAFETY: who uses the pointer writes values of its own part, which may come from any thread.
unsafe impl<T: Send> Sync for Begin<T> {}

/// Values that were made, in their places, and are in no list yet. Dropped, it drops them.
struct Made<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: owns values, as a `Vec` does.
unsafe impl<T: Send> Send for Made<T> {}

impl<T> Made<T> {
    /// The values are somebody else's now; how many there are.
    fn keep(self) -> usize {
        core::mem::ManuallyDrop::new(self).len
    }
}

impl<T> Drop for Made<T> {
    #[cold]
    fn drop(&mut self) {
        let mut panicked = None;
        for at in 0..self.len {
            // SAFETY: a value that was made, and that nobody else owns.
            note(&mut panicked, || unsafe {
                self.first.add(at).drop_in_place()
            });
        }
        resume_alone(panicked);
    }
}
