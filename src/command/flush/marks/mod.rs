//! Commands that all do the same, to entities in any order: each marks the row of its entity, and no more is kept of it.
//!
//! One row more or less is all that such a batch says, and where the values of a row's last command lie. So there is
//! nothing to bring into the order of chunks: a bit is set for each row, 125 KB for a million, which stays near to the
//! processor, where lists of commands by chunk would not. Read from the first bit to the last, they are in the order
//! of the world. Each thread has bits of its own, of a share of the commands; of two that name a row, the later share
//! says where its values lie.

mod rows;
mod share;
mod write;

use smallvec::SmallVec;

use crate::command::flush::memory::Memory;
use crate::command::flush::net::Nets;
use crate::command::flush::ops::Ops;
use crate::command::flush::work::Work;
use crate::command::flush::{Cost, Lost, Part};
use crate::command::lane::NONE;
use crate::command::log::Word;
use crate::command::payload::Payload;
use crate::sync::geometry::WORD_BITS;
use crate::workers::fork_join;
use crate::world::World;
use rows::{Rows, SPARSE};
pub(super) use share::Share;
use write::Writer;

/// Bytes of a value that is kept itself, not where it lies.
const SHORT: usize = 16;
/// Threads that have bits of their own, and room for values beside them.
const SHARES: usize = 8;
/// And where there are no values: who reads the bits reads those of all shares.
const SHARES_OF_BITS: usize = 16;

/// Bits of a value's number that say which row of the payload it is; those above, of which op.
const ROW_BITS: u32 = 27;
/// Ops whose values can be told apart.
const OPS: usize = 1 << (u32::BITS - ROW_BITS);

/// The works of a batch, and the commands whose entities do not lie in the world.
pub(super) struct Marked {
    pub(super) works: Vec<Work>,
    pub(super) lost: Vec<Lost>,
}

/// What is kept of the values of each row's last command.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    /// There are none.
    Nothing,
    /// Where they lie.
    Numbers,
    /// The only one, which is short and need not be dropped.
    Values { size: u32 },
}

impl Kept {
    /// How many threads mark so many rows for so many commands: where that takes more room than these are worth, fewer than
    /// there are.
    ///
    /// (One is always worth it: [`Rows`] are no more than [`SPARSE`] for each command. The long way takes twice as long.)
    fn shares(self, commands: usize, rows: usize, threads: usize) -> usize {
        let (worth, most) = match self {
            // A word of bits is looked at at once: one for each command.
            Self::Nothing => (WORD_BITS as usize, SHARES_OF_BITS),
            Self::Numbers | Self::Values { .. } => (SPARSE, SHARES),
        };
        let shares = commands.saturating_mul(worth) / rows.max(1);
        shares.clamp(1, threads.clamp(1, most))
    }

    fn of(op: u32, ops: &Ops<'_>) -> Self {
        let op = &ops.all[op as usize];
        let size = op.payload_of_one().and_then(|payload| {
            let column = &payload.columns[0];
            column.is_plain().then_some(column.layout.size())
        });
        match size {
            Some(size @ 1..=SHORT) => Self::Values { size: size as u32 },
            _ if op.has_values() => Self::Numbers,
            _ => Self::Nothing,
        }
    }
}

/// Commands that do the same, where their values begin, and from where a value that is kept is taken.
struct Same<'a> {
    part: &'a Part<'a>,
    first: u32,
    payload: Option<&'a Payload>,
}

/// The works of a batch; `None` if its commands do not all do the same, or are few for so many rows, or chunks so far apart.
pub(super) fn mark(
    world: &World,
    ops: &Ops<'_>,
    parts: &[Part<'_>],
    memory: &mut Memory,
) -> Option<Marked> {
    let op = op_of(&parts[0]);
    if !parts.iter().all(|part| does(part, op, ops)) {
        return None;
    }
    let mut nets = Nets::new();
    let net = nets.step(0, op, &ops.all);
    if nets.step(net, op, &ops.all) != net {
        return None;
    }
    let kept = Kept::of(op, ops);
    let (same, known) = same(parts, kept, ops)?;
    let total = parts.iter().map(|part| part.log.words.len()).sum();
    let threads = world.flush_threads(total, Cost::High);
    // Which way the commands go depends on where the chunks lie; what comes out does not.
    let rows = Rows::of(world, total)?;
    let each = same.len().div_ceil(kept.shares(total, rows.count, threads));
    let used = same.len().div_ceil(each);
    let mut shares = core::mem::take(&mut memory.shares);
    if shares.len() < used {
        shares.resize_with(used, Share::default);
    }
    let marked = &mut shares[..used];
    let mark = |(share, parts): (&mut Share, &[Same<'_>])| share.mark(&rows, parts, kept);
    let tasks = marked.iter_mut().zip(same.chunks(each));
    if used > 1 {
        fork_join::map_on(threads, tasks.collect(), mark);
    } else {
        tasks.for_each(mark);
    }
    let mut lost = Vec::new();
    if marked.iter().any(|share| share.has_lost) {
        let commands = parts.iter().flat_map(|part| part.commands(ops));
        lost.extend(commands.filter(|lost| rows.find(lost.entity) == NONE));
    }
    let writer = Writer {
        shares: marked,
        known: &known,
        kept,
        op,
        threads,
    };
    let works = writer.all(&rows, &nets.all[net as usize], memory);
    if let (Kept::Values { size }, [first, later @ ..]) = (kept, marked) {
        first.take_over(later, &rows, size as usize, threads);
    }
    memory.shares = shares;
    Some(Marked { works, lost })
}

/// What a part's first command does.
fn op_of(part: &Part<'_>) -> u32 {
    part.op(part.log.words[0])
}

/// Whether all commands of a part do what an op does.
fn does(part: &Part<'_>, op: u32, ops: &Ops<'_>) -> bool {
    let first = part.log.words[0].op();
    let alike = |alike, word: &Word| alike & (word.op() == first);
    ops.same_as[op_of(part) as usize] == ops.same_as[op as usize]
        && part.log.words.iter().fold(true, alike)
}

/// The parts, and the ops whose values are numbered; `None` if these cannot be.
fn same<'a>(
    parts: &'a [Part<'a>],
    kept: Kept,
    ops: &Ops<'a>,
) -> Option<(Vec<Same<'a>>, SmallVec<[u32; 4]>)> {
    let mut known: SmallVec<[u32; 4]> = SmallVec::new();
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        let op = op_of(part);
        let row = || part.rows().next(ops.payload_of[op as usize]);
        let (first, payload) = match kept {
            Kept::Nothing => (0, None),
            Kept::Values { .. } => (row(), ops.all[op as usize].payload_of_one()),
            Kept::Numbers => {
                let number = known.iter().position(|&known| known == op);
                let number = number.unwrap_or_else(|| {
                    known.push(op);
                    known.len() - 1
                });
                let row = row();
                if number >= OPS || row as usize + part.log.words.len() > 1 << ROW_BITS {
                    return None;
                }
                ((number as u32) << ROW_BITS | row, None)
            }
        };
        all.push(Same {
            part,
            first,
            payload,
        });
    }
    Some((all, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_threads_there_are_a_share_has_no_more_rows_than_it_is_worth() {
        let values = [Kept::Numbers, Kept::Values { size: 4 }];
        for kept in values {
            let shares = |commands, threads| kept.shares(commands, 8_000, threads);
            // What one thread does in bits, several do: fewer of them where rows are many.
            assert_eq!([1, 2, 8, 64].map(|threads| shares(1_000, threads)), [1; 4]);
            assert_eq!(
                [1, 2, 8, 64].map(|threads| shares(3_999, threads)),
                [1, 2, 3, 3]
            );
            assert_eq!(
                [1, 2, 8, 64].map(|threads| shares(90_000, threads)),
                [1, 2, 8, 8]
            );
        }
        let shares = |commands, threads| Kept::Nothing.shares(commands, 8_000, threads);
        assert_eq!(
            [1, 2, 8, 64].map(|threads| shares(1_000, threads)),
            [1, 2, 8, 8]
        );
        assert_eq!(Kept::Nothing.shares(7_000, 8_000, 64), SHARES_OF_BITS);
        assert_eq!(Kept::Nothing.shares(usize::MAX, 0, 0), 1);
    }
}
