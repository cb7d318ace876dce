//! `Cursors`: where the next entity of a bundle type goes. Loops create entities of the same few types again and
//! again: of those the type alone leads to the row.
//!
//! Must hold: a cursor's way is what the lane's maps say of its type. In the round that it is of, its stream's open
//! rows are those in its private chunk, up to its limit.

use core::any::TypeId;

use super::Private;
use super::recent::slot_of;
use crate::archetype::Chunk;
use crate::fragment::Bundle;
use crate::world::COLUMNS;

/// Cursors. Of four types each has its own two times out of three; who shares one with another asks the lane's
/// map each time they take turns.
const CURSORS: usize = 16;

/// No bundle is of this type.
enum Nothing {}

/// Where the next entity of a bundle type goes.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    of: TypeId,
    way: u32,
    /// The rest holds in this round.
    round: u64,
    private: u32,
    limit: u32,
    /// Where the columns begin in the private chunk, in bytes.
    offsets: [u32; COLUMNS],
}

/// Where entities of the last few bundle types go: each type has one place, and whoever came last has it.
#[derive(Debug)]
pub(super) struct Cursors {
    cursors: [Cursor; CURSORS],
    /// Which round it is: another one whenever a stream gets other rows, or has none any more.
    round: u64,
}

/// The next row of a private chunk, and where its columns begin.
pub(super) struct Next<'l> {
    pub(super) chunk: &'l mut Chunk,
    offsets: &'l [u32; COLUMNS],
}

impl Next<'_> {
    /// Where the columns of a bundle begin.
    #[inline(always)]
    pub(super) fn columns<B: Bundle>(&self) -> [*mut u8; COLUMNS] {
        let mut columns = [core::ptr::null_mut(); COLUMNS];
        for (column, &offset) in columns.iter_mut().zip(self.offsets).take(B::LEN) {
            *column = self.chunk.base.as_ptr().wrapping_add(offset as usize);
        }
        columns
    }
}

impl Cursors {
    pub(super) fn new() -> Self {
        let nowhere = Cursor {
            of: TypeId::of::<Nothing>(),
            way: 0,
            round: 0,
            private: 0,
            limit: 0,
            offsets: [0; COLUMNS],
        };
        Self {
            cursors: [nowhere; CURSORS],
            round: 1,
        }
    }

    #[inline(always)]
    fn cursor<B: Bundle>(&self) -> Option<&Cursor> {
        let cursor = &self.cursors[slot_of(TypeId::of::<B>()) % CURSORS];
        (cursor.of == TypeId::of::<B>()).then_some(cursor)
    }

    /// The way of a bundle type, if it is still known.
    #[inline(always)]
    pub(super) fn way<B: Bundle>(&self) -> Option<u32> {
        Some(self.cursor::<B>()?.way)
    }

    /// The row for the next entity of a bundle type, if there is one and it is known.
    #[inline(always)]
    pub(super) fn next<'l, B: Bundle>(&'l self, privates: &'l mut [Private]) -> Option<Next<'l>> {
        let cursor = self.cursor::<B>()?;
        if cursor.round != self.round {
            return None;
        }
        let chunk = &mut privates.get_mut(cursor.private as usize)?.chunk;
        let offsets = &cursor.offsets;
        (chunk.len < cursor.limit).then_some(Next { chunk, offsets })
    }

    /// By which way to which private chunk, and up to which row, the entities of a bundle type go, if that is known.
    pub(super) fn target<B: Bundle>(&self) -> Option<(u32, (u32, u32))> {
        let cursor = self.cursor::<B>()?;
        (cursor.round == self.round).then_some((cursor.way, (cursor.private, cursor.limit)))
    }

    /// Keeps the way of a bundle type.
    pub(super) fn keep_way<B: Bundle>(&mut self, way: u32) {
        let cursor = &mut self.cursors[slot_of(TypeId::of::<B>()) % CURSORS];
        (cursor.of, cursor.way, cursor.round) = (TypeId::of::<B>(), way, 0);
    }

    /// Keeps where the next entities of a bundle type go, whose way is kept. The chunk is private, and so not refitted.
    pub(super) fn aim<B: Bundle>(
        &mut self,
        private: u32,
        limit: u32,
        chunk: &Chunk,
        offsets: &[u32],
    ) {
        let cursor = &mut self.cursors[slot_of(TypeId::of::<B>()) % CURSORS];
        if cursor.of == TypeId::of::<B>() {
            (cursor.round, cursor.private, cursor.limit) = (self.round, private, limit);
            for (at, &offset) in cursor.offsets.iter_mut().zip(offsets) {
                *at = chunk.own_offset(offset);
            }
        }
    }

    /// A stream gets other rows, or has none any more.
    pub(super) fn turn(&mut self) {
        self.round += 1;
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self {
            round: self.round,
            ..Self::new()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_its_types_own() {
        fn keep<B: Bundle>(cursors: &mut Cursors, way: u32) {
            cursors.keep_way::<B>(way);
            assert_eq!(cursors.way::<B>(), Some(way));
            assert_eq!(
                cursors.target::<B>(),
                None,
                "of a way alone no row is known"
            );
        }
        fn known<B: Bundle>(cursors: &Cursors, way: u32) -> usize {
            let found = cursors.way::<B>();
            assert!(found.is_none_or(|found| found == way));
            usize::from(found.is_some())
        }
        macro_rules! of_each {
            ($do:ident, $cursors:expr, $($bytes:literal)*) => {
                [$($do::<([u8; $bytes],)>($cursors, $bytes)),*]
            };
        }
        let mut cursors = Cursors::new();
        let _ = of_each!(keep, &mut cursors, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
        let found = of_each!(known, &cursors, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
        assert!((1..=CURSORS).contains(&found.iter().sum()));
        cursors.clear();
        let found = of_each!(known, &cursors, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
        assert_eq!(found, [0; 18]);
    }
}
