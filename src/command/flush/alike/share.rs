//! `Share`: what one thread's commands name.

use core::mem::MaybeUninit;

use crate::archetype::copy_value;
use crate::command::flush::alike::rows::Rows;
use crate::command::flush::alike::{Kept, Same};
use crate::command::lane::NONE;
use crate::sync::fork_join;
use crate::sync::geometry::WORD_BITS;

/// So many entities ahead memory is asked for.
const AHEAD: usize = 32;
/// Words of bits whose rows' values are taken over in one go.
const BLOCK: usize = 64;

/// What a share of the commands has named.
#[derive(Debug, Default)]
pub(crate) struct Share {
    /// A bit for each row of the world.
    pub(super) named: Vec<u64>,
    /// For each row that is named, where the values of its last command lie. What is there of others is of batches
    /// before.
    pub(super) numbers: Vec<u32>,
    /// Or that value itself.
    values: Vec<MaybeUninit<u8>>,
    /// Commands have lost their entities.
    pub(super) has_lost: bool,
}

impl Share {
    /// The values that were kept.
    pub(in crate::command::flush) fn values(&self) -> &[MaybeUninit<u8>] {
        &self.values
    }

    /// Bytes that its lists have room for: up to 20⅛ for each row.
    pub(in crate::command::flush) fn bytes(&self) -> usize {
        let named = self.named.capacity() * size_of::<u64>();
        named + self.numbers.capacity() * size_of::<u32>() + self.values.capacity()
    }

    /// Marks what the commands of some parts name.
    pub(super) fn mark(&mut self, rows: &Rows<'_>, parts: &[Same<'_>], kept: Kept) {
        self.named.clear();
        self.named.resize(rows.count / WORD_BITS as usize, 0);
        self.has_lost = false;
        match kept {
            Kept::Nothing => self.mark_each(rows, parts, |_, _, _, _| {}),
            Kept::Numbers => {
                make_room(&mut self.numbers, rows.count, NONE);
                self.mark_each(rows, parts, |share, row, same, nth| {
                    share.numbers[row as usize] = same.first + nth;
                });
            }
            Kept::Values { size } => {
                let size = size as usize;
                make_room(&mut self.values, rows.count * size, MaybeUninit::uninit());
                self.mark_each(rows, parts, |share, row, same, nth| {
                    let to = &mut share.values[row as usize * size..][..size];
                    let Some(payload) = same.payload else {
                        unreachable!("commands have a value each, or none has");
                    };
                    // SAFETY: a command's value; nobody drops it. It is as long as the others: ops that do the same
                    // have the same fragments, so the same only one.
                    unsafe {
                        let from = payload.columns[0].row(same.first + nth);
                        copy_value(from, to.as_mut_ptr().cast(), size as u32);
                    }
                });
            }
        }
    }

    /// Takes the values that later shares have kept, of `size` bytes each.
    pub(super) fn take_over(&mut self, later: &[Self], rows: &Rows<'_>, size: usize) {
        if later.is_empty() {
            return;
        }
        let words = WORD_BITS as usize;
        let take = |(block, values): (usize, &mut [MaybeUninit<u8>])| {
            for share in later {
                let named = share.named.iter().enumerate();
                for (word, &named) in named.skip(block * BLOCK).take(BLOCK) {
                    let mut left = named;
                    while left != 0 {
                        let row = word * words + left.trailing_zeros() as usize;
                        left &= left - 1;
                        let from = &share.values[row * size..][..size];
                        let to = &mut values[(row - block * BLOCK * words) * size..][..size];
                        // SAFETY: as many bytes on both sides.
                        unsafe {
                            let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
                            copy_value(from, to, size as u32);
                        }
                    }
                }
            }
        };
        let values = &mut self.values[..rows.count * size];
        let blocks = values.chunks_mut(BLOCK * words * size).enumerate();
        fork_join::map(blocks.collect(), take);
    }

    #[inline(always)]
    fn mark_each(
        &mut self,
        rows: &Rows<'_>,
        parts: &[Same<'_>],
        keep: impl Fn(&mut Self, u32, &Same<'_>, u32),
    ) {
        for same in parts {
            let log = &same.part.log;
            let mut name = |(entity, nth)| {
                let row = rows.find(entity);
                if row == NONE {
                    self.has_lost = true;
                    return;
                }
                self.named[(row / WORD_BITS) as usize] |= 1 << (row % WORD_BITS);
                keep(self, row, same, nth);
            };
            if log.entities.len() == log.words.len() {
                let ahead = log.entities.get(AHEAD..).unwrap_or_default().iter();
                let ahead = ahead.map(Some).chain(core::iter::repeat(None));
                for ((&entity, nth), later) in log.entities.iter().zip(0..).zip(ahead) {
                    if let Some(&later) = later {
                        rows.expect(later);
                    }
                    name((entity, nth));
                }
            } else {
                let entities = log.commands().map(|(entity, _)| entity);
                entities.zip(0..).for_each(name);
            }
        }
    }
}

/// Makes a list so long, with no more room than that.
fn make_room<T: Copy>(list: &mut Vec<T>, len: usize, filler: T) {
    if list.len() < len {
        list.reserve_exact(len - list.len());
        list.resize(len, filler);
    }
}
