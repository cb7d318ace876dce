//! `Mover`: how the values of a row move, compiled for their types.
//!
//! A loop over columns asks of each how large its values are, and how far it is from row to row. Where the type of a
//! bundle was at hand when entities of a composition came, the compiler has answered that: the type brings functions
//! that move a row of its fragments ([`RowMoves`]), and a mover is these with the places of the arrays. What a bundle
//! adds to a composition whose movers are known makes the other's movers known. Where they are not, the loop does it.
//!
//! Must hold: the movers of an archetype are none, or move each column whose values have a size, once.

use std::sync::Arc;

use crate::archetype::archetype::Archetype;
use crate::archetype::chunk::Arrays;
use crate::archetype::layout::Few;
use crate::fragment::{FragmentId, RowMoves};

/// Moves the values of some columns from row to row of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Mover {
    moves: RowMoves,
    /// Of which fragments, in the order of the bundle.
    ids: Arc<[FragmentId]>,
    /// Where their arrays begin in the shortest chunks of the archetype, in this order; anywhere for a tag.
    offsets: Box<[u32]>,
}

/// Moves the values of some columns to another archetype.
#[derive(Debug)]
pub(crate) struct Carrier {
    moves: RowMoves,
    /// Where their arrays begin: for each here, and there.
    offsets: Box<[[u32; 2]]>,
}

impl Mover {
    /// Moves the values of row `from` to row `hole`, whose values are gone. Asks the processor for row `next`.
    ///
    /// # Safety
    /// The arrays are those of a chunk of the mover's archetype, which has both rows; they differ.
    #[inline(always)]
    pub(crate) unsafe fn close(&self, arrays: Arrays, from: usize, hole: usize, next: usize) {
        let (base, scale) = arrays.parts();
        let (offsets, scale) = (self.offsets.as_ptr(), usize::from(scale));
        // SAFETY: an offset for each fragment; for the rest the caller's.
        unsafe { (self.moves.close)(offsets, base, scale, from, hole, next) };
    }

    /// A mover of these fragments, whose arrays begin there in the shortest chunks of an archetype.
    pub(crate) fn new(moves: RowMoves, ids: Arc<[FragmentId]>, offsets: Box<[u32]>) -> Self {
        Self {
            moves,
            ids,
            offsets,
        }
    }

    /// The movers of an archetype that has the columns of another, with these movers, and those of `come`, if they
    /// move each column once.
    pub(crate) fn after(before: &[Self], archetype: &Archetype, come: Self) -> Box<[Self]> {
        let before = before.iter().map(|mover| {
            let offsets = archetype.offsets_of(&mover.ids);
            Self::new(mover.moves, Arc::clone(&mover.ids), offsets)
        });
        let all: Box<[Self]> = before.chain([come]).collect();
        if Self::move_all(&all, archetype) {
            all
        } else {
            Box::default()
        }
    }

    /// Whether some movers move each column of an archetype whose values have a size, once.
    pub(crate) fn move_all(movers: &[Self], archetype: &Archetype) -> bool {
        let mut moved: Few<FragmentId> = Self::sized(movers, archetype).collect();
        let all = moved.len();
        moved.sort_unstable();
        moved.dedup();
        let columns = archetype.columns.iter().filter(|column| column.size > 0);
        moved.len() == all && all == columns.count()
    }

    /// The fragments whose values some movers of an archetype move.
    fn sized(movers: &[Self], archetype: &Archetype) -> impl Iterator<Item = FragmentId> {
        let ids = movers.iter().flat_map(|mover| &*mover.ids).copied();
        ids.filter(|&id| {
            let column = archetype.seek_column(id);
            column.is_some_and(|at| archetype.columns[at].size > 0)
        })
    }
}

impl Carrier {
    /// Moves the values of a row to an empty one of another archetype.
    ///
    /// # Safety
    /// The arrays are those of chunks of the carrier's archetypes, which have these rows.
    #[inline(always)]
    pub(crate) unsafe fn carry(&self, from: Arrays, row: usize, to: Arrays, there: usize) {
        let ((base, scale), (base_there, scale_there)) = (from.parts(), to.parts());
        let (offsets, scales) = (self.offsets.as_ptr().cast(), (scale, scale_there));
        // SAFETY: offsets for each fragment; for the rest the caller's.
        unsafe { (self.moves.carry)(offsets, scales, base, row, base_there, there) };
    }

    /// Carriers of all columns that `is_carried` says, `count` of them with values that have a size; none if it is not
    /// known how to move these alone.
    pub(crate) fn between(
        source: &Archetype,
        target: &Archetype,
        is_carried: impl Fn(FragmentId) -> bool,
        count: usize,
    ) -> Box<[Self]> {
        // What comes besides, or goes, the other of the two has not.
        let known = [source, target].into_iter().find(|archetype| {
            let moved = || Mover::sized(&archetype.movers, archetype);
            !archetype.movers.is_empty() && moved().all(&is_carried) && moved().count() == count
        });
        let movers = known.map_or(&[][..], |archetype| &archetype.movers);
        let carriers = movers.iter().map(|mover| {
            let (from, to): (Few<u32>, Few<u32>) =
                (source.offsets_of(&mover.ids), target.offsets_of(&mover.ids));
            let offsets = from.iter().zip(&to);
            Self {
                moves: mover.moves,
                offsets: offsets.map(|(&from, &to)| [from, to]).collect(),
            }
        });
        carriers.collect()
    }
}
