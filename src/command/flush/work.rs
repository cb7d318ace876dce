//! `Work`: what becomes of the entities of a chunk, however that was found: all ways that commands go lead to it, and the
//! [plan](super::plan) goes on from there.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::archetype::Refitting;
use crate::command::flush::net::Net;

/// The entities of a chunk that change, by net change; groups in the order of their first rows.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) archetype: u32,
    pub(super) chunk: u32,
    pub(super) groups: SmallVec<[Group; 1]>,
    /// The chunk is handed over to another archetype or group, as it is.
    pub(super) handed: Option<Handed>,
}

/// Where a chunk goes as it is.
#[derive(Debug)]
pub(super) struct Handed {
    /// Along which of the plan's ways.
    pub(super) way: u32,
    pub(super) target: u32,
    pub(super) group: u32,
    /// If the target lays its chunks out otherwise: the columns stay where they are, what comes lies outside.
    pub(super) refitting: Option<Refitting>,
}

/// Entities of a chunk with the same net change: rows in the [memory](super::memory), in order.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) net: Arc<Net>,
    pub(super) first: u32,
    pub(super) count: u32,
    /// So many of them, the first ones, leave the chunk; once it is planned.
    pub(super) leaving: u32,
    pub(super) values: Values,
}

/// Where the values lie that a group's rows get.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values {
    /// They follow each other as the rows do.
    Along(Along),
    /// With one command of this op for each row; the [memory](super::memory) says for each in which row of the payload.
    Each { op: u32 },
    /// Each was [kept](super::marks) by the number of its row, of one command of this op; `first` is that of row 0.
    /// The first share has the values of all rows in the list of rows.
    Kept { op: u32, first: u32 },
    /// With several commands, of which the memory says for each row which is the last one.
    Commands,
}

/// Values of an op's commands: where the first ones lie, and how far from there the next ones are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Along {
    pub(super) op: u32,
    pub(super) at: u32,
    pub(super) step: u32,
}

impl Along {
    /// The values of the rows after so many.
    pub(super) fn skip(self, rows: u32) -> Self {
        let at = self.at.wrapping_add(rows.wrapping_mul(self.step));
        Self { at, ..self }
    }
}

impl Group {
    /// Where its rows stand in the memory.
    #[inline(always)]
    pub(super) fn range(&self) -> core::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

impl Work {
    /// Rows that leave the chunk.
    pub(super) fn leaving(&self) -> u32 {
        self.groups.iter().map(|group| group.leaving).sum()
    }
}
