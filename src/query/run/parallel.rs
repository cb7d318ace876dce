//! Runs on several threads: chunks are shared out among them, or rows where chunks are few.

use core::ops::Range;

use crate::archetype::Chunk;
use crate::memory::LINE;
use crate::query::masks::any_masked;
use crate::query::matches::Match;
use crate::query::run::visit::{Chunks, lend_rows, lend_stretches};
use crate::query::share::share_chunks;
use crate::query::{ChunkView, QueryData, QueryFilter, QueryRun};
use crate::sync::shares::Piece;
use crate::workers::fork_join::{share, threads};

/// Of as many chunks for each thread or fewer, rows are shared out instead of chunks: who gets one more would
/// make the others wait for long.
const FEW: usize = 8;

/// Into so many pieces a thread's share of the rows is cut at first, and at last.
const FIRST_PIECES: usize = 8;
const LAST_PIECES: usize = 32;
/// The pieces of a share of so many rows. Mostly they are as many as a cache line has bytes, or a multiple: of no array
/// two threads write to one line then, wherever its values begin on one.
fn pieces_of_rows(share: usize) -> Piece {
    let of = |pieces: usize| {
        let rows = (share / pieces).max(1);
        if rows < LINE {
            rows
        } else {
            rows - rows % LINE
        }
    };
    Piece {
        shortest: of(LAST_PIECES) as u32,
        longest: of(FIRST_PIECES) as u32,
    }
}

/// A chunk whose rows several threads share.
struct Span<'a, D: QueryData, F: QueryFilter> {
    /// What comes before.
    first: usize,
    known: &'a Match<D, F>,
    chunk: &'a Chunk,
    /// Asked for once: asking says that the chunk is written to.
    fetch: D::Fetch<'a>,
}

// SAFETY: pointers to what lies in a chunk, and references, which each thread could as well ask the chunk for; who
// uses them lends each row once.
unsafe impl<D: QueryData, F: QueryFilter> Sync for Span<'_, D, F> {}

impl<D: QueryData, F: QueryFilter> QueryRun<'_, D, F> {
    /// Lends the data of each entity, on all threads of the current rayon pool (or the program's own
    /// [workers](crate::workers)): these take whole chunks, or,
    /// where there are few chunks, rows. The order is not fixed. A thread outside of the pool that calls takes part, in
    /// place of one of them. A panic of `each` comes back when the other threads are done with what they have taken.
    ///
    /// To begin and to end on several threads takes some microseconds, in which one thread alone gets through thousands
    /// of rows of simple data: for fewer, [`for_each`](Self::for_each) is faster.
    #[doc(alias = "par_iter")]
    pub fn par_for_each<'a>(&'a mut self, each: impl Fn(D::Item<'a>) + Sync) {
        let threads = threads();
        if threads > 1 && self.has_few_chunks(FEW * threads) {
            return self.par_rows(threads, &each);
        }
        self.par_chunks(|known, view| {
            let (masks, rows) = (known.masks(), 0..view.len());
            if !any_masked(masks, view.chunk, rows.clone()) {
                return;
            }
            let fetch = D::fetch(known.data, view);
            lend_rows::<D>(masks, fetch, view.chunk, rows, &mut |item| each(item));
        });
    }

    /// Lends the data of each entity, as [`par_for_each`](Self::par_for_each) does, with something that `init` makes
    /// for each chunk in which anything is lent, and that is dropped when all of the chunk was: a recorder of commands
    /// with the chunk's [sort key](ChunkView::sort_key), a sender of signals, a sum. It is made anew for each chunk,
    /// not for each thread: so what is recorded does not depend on how many there are. Threads take whole chunks. A
    /// panic of `init` or `each` comes back as from [`par_for_each`](Self::par_for_each).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Health(i32);
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..10_000).map(|n| (Health(n % 100),)))?;
    /// let commands = world.parallel_commands();
    /// world.query::<(Entity, &mut Health), ()>()?.par_for_each_init(
    ///     |chunk| commands.open_at(chunk.sort_key()),
    ///     |commands, (entity, health)| {
    ///         health.0 -= 10;
    ///         if health.0 < 0 {
    ///             commands.destroy(entity);
    ///         }
    ///     },
    /// );
    /// assert_eq!(world.flush().destroyed, 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// (The idea and the name are rayon's `for_each_init`, which makes it once for each piece of work that a thread takes.)
    pub fn par_for_each_init<'a, T>(
        &'a mut self,
        init: impl Fn(ChunkView<'a>) -> T + Sync,
        each: impl Fn(&mut T, D::Item<'a>) + Sync,
    ) {
        self.par_chunks(|known, view| {
            let (masks, rows) = (known.masks(), 0..view.len());
            if !any_masked(masks, view.chunk, rows.clone()) {
                return;
            }
            let mut made = init(view);
            let fetch = D::fetch(known.data, view);
            lend_rows::<D>(masks, fetch, view.chunk, rows, &mut |item| {
                each(&mut made, item);
            });
        });
    }

    /// Whether the matching archetypes have so many chunks or fewer, and are not more themselves.
    fn has_few_chunks(&self, few: usize) -> bool {
        let mut chunks = 0;
        self.matches.len() <= few
            && self.matches.iter().all(|known| {
                chunks += self.world.archetypes[known.archetype as usize].chunks.len();
                chunks <= few
            })
    }

    /// Shares out the rows.
    #[inline(never)]
    fn par_rows<'a>(&'a self, threads: usize, each: &(impl Fn(D::Item<'a>) + Sync)) {
        // Each chunk is asked for once, before anything is lent, as in a walk over whole chunks.
        let mut seen = Vec::new();
        let mut rows = 0;
        self.chunks(Chunks(|known: &'a Match<D, F>, view: ChunkView<'a>| {
            if !any_masked(known.masks(), view.chunk, 0..view.len()) {
                return;
            }
            let first = rows;
            rows += view.len();
            seen.push(Span {
                first,
                known,
                chunk: view.chunk,
                fetch: D::fetch(known.data, view),
            });
        }));
        share(threads, rows, pieces_of_rows, || {
            |numbers: Range<usize>| {
                let after = seen.partition_point(|span| span.first <= numbers.start);
                for span in &seen[after.saturating_sub(1)..] {
                    if span.first >= numbers.end {
                        break;
                    }
                    let begin = numbers.start.max(span.first) - span.first;
                    let end = (numbers.end - span.first).min(span.chunk.len as usize);
                    lend_rows::<D>(
                        span.known.masks(),
                        span.fetch,
                        span.chunk,
                        begin..end,
                        &mut |item| each(item),
                    );
                }
            }
        });
    }

    /// Lends the data of each chunk as slices, chunks on all threads of the current rayon pool. The order is not fixed.
    ///
    /// **A slice is a chunk's whole column, also those rows that the query does not see** because fragments are [switched
    /// off](crate::query::Enabled): who destroys all entities that such a slice names destroys them, too. Where a fragment
    /// that the query asks for or excludes can be switched, use [`par_for_each_slice`](Self::par_for_each_slice) or
    /// [`par_for_each_init`](Self::par_for_each_init); see [`for_each_chunk`](Self::for_each_chunk).
    pub fn par_for_each_chunk<'a>(
        &'a mut self,
        each: impl Fn(ChunkView<'a>, D::Slices<'a>) + Sync,
    ) {
        self.par_chunks(|known, view| {
            let fetch = D::fetch(known.data, view);
            // SAFETY: the rows of the chunk; each chunk is lent once.
            let slices = unsafe { D::slices(fetch, view.len()) };
            D::alone(slices, |slices| each(view, slices));
        });
    }

    /// Lends slices as [`for_each_slice`](Self::for_each_slice) does, chunks on all threads of the current rayon pool:
    /// for what is recorded with the chunk's sort key, where fragments can be [switched off](crate::query::Enabled).
    /// The stretches of one chunk come on one thread, one after the other. (One recorder for all of them:
    /// [`par_for_each_init`].)
    ///
    /// [`par_for_each_init`]: Self::par_for_each_init
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Mark;
    ///
    /// let mut world = World::new();
    /// world.registry().register_enableable::<Mark>()?;
    /// let ants = world.create_batch((0..1_000_u32).map(|n| (n, Mark)))?;
    /// let ants = ants.to_vec(&world);
    /// for &ant in &ants[..900] {
    ///     world.set_enabled::<Mark>(ant, false)?;
    /// }
    ///
    /// let commands = world.parallel_commands();
    /// let mut marked = Query::<Entity, With<Mark>>::new(&world)?;
    /// marked.on(&mut world).par_for_each_slice(|chunk, _, entities| {
    ///     let mut commands = commands.open_at(chunk.sort_key());
    ///     for &entity in entities {
    ///         commands.destroy(entity);
    ///     }
    /// });
    /// assert_eq!(world.flush().destroyed, 100, "`par_for_each_chunk` would have lent all thousand");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn par_for_each_slice<'a>(
        &'a mut self,
        each: impl Fn(ChunkView<'a>, Range<usize>, D::Slices<'a>) + Sync,
    ) {
        self.par_chunks(|known, view| {
            lend_stretches(known, view, &mut |view, rows, slices| {
                each(view, rows, slices);
            });
        });
    }

    pub(super) fn par_chunks<'a>(&'a self, run: impl Fn(&'a Match<D, F>, ChunkView<'a>) + Sync) {
        let scope = self.scope();
        let archetype_of = |known: &Match<D, F>| known.archetype;
        share_chunks(
            scope.world,
            &self.matches,
            archetype_of,
            |known, archetype, chunk| {
                if let Some(view) = scope.view(known, archetype, chunk) {
                    run(known, view);
                }
            },
        );
    }
}
