//! `Share`: what one thread's commands name.

use core::mem::MaybeUninit;

use smallvec::SmallVec;

use crate::archetype::copy_value;
use crate::command::flush::marks::rows::Rows;
use crate::command::flush::marks::{Kept, Same};
use crate::command::lane::NONE;
use crate::entity::Entity;
use crate::memory::prefetch;
use crate::sync::geometry::WORD_BITS;
use crate::workers::fork_join;

/// So many entities are looked up before the first of them is marked.
const TOGETHER: usize = 64;
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
            Kept::Nothing => {}
            Kept::Numbers => make_room(&mut self.numbers, rows.count, NONE),
            Kept::Values { size } => {
                let bytes = rows.count * size as usize;
                make_room(&mut self.values, bytes, MaybeUninit::uninit());
            }
        }
        for same in parts {
            match kept {
                Kept::Nothing => self.mark_part(rows, same, |_, _| {}, |_, _, _| {}),
                Kept::Numbers => self.mark_part(
                    rows,
                    same,
                    |share, row| prefetch(share.numbers.as_ptr().wrapping_add(row)),
                    |share, row, nth| share.numbers[row] = same.first + nth,
                ),
                Kept::Values { size } => {
                    let Some(payload) = same.payload else {
                        unreachable!("commands have a value each, or none has");
                    };
                    let (values, bytes) = (payload.columns[0].row(same.first), size as usize);
                    self.mark_part(
                        rows,
                        same,
                        |share, row| prefetch(share.values.as_ptr().wrapping_add(row * bytes)),
                        |share, row, nth| {
                            let to = &mut share.values[row * bytes..][..bytes];
                            // SAFETY: a command's value; nobody drops it. It is as long as the others: ops that do
                            // the same have the same fragments, so the same only one.
                            unsafe {
                                let from = values.wrapping_add(nth as usize * bytes);
                                copy_value(from, to.as_mut_ptr().cast(), size);
                            }
                        },
                    );
                }
            }
        }
    }

    /// Takes the values that later shares have kept, of `size` bytes each, on so many threads.
    pub(super) fn take_over(
        &mut self,
        later: &[Self],
        rows: &Rows<'_>,
        size: usize,
        threads: usize,
    ) {
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
        fork_join::map_on(threads, blocks.collect(), take);
    }

    /// Marks what the commands of a part name. `expect` asks for where a row's values are kept, which `keep` keeps of
    /// the n-th command.
    #[inline(always)]
    fn mark_part(
        &mut self,
        rows: &Rows<'_>,
        same: &Same<'_>,
        expect: impl Fn(&Self, usize),
        keep: impl Fn(&mut Self, usize, u32),
    ) {
        let log = &same.part.log;
        let mut first = 0;
        let mut mark = |entities: &[Entity], later: &[Entity]| {
            // First all are looked up: where one is to be marked has been asked for when its turn comes.
            let mut found = [NONE; TOGETHER];
            for (at, (row, &entity)) in found.iter_mut().zip(entities).enumerate() {
                if let Some(&later) = later.get(at) {
                    rows.expect(later);
                }
                *row = rows.find(entity);
                expect(self, *row as usize);
            }
            for (&row, nth) in found.iter().zip(first..).take(entities.len()) {
                if row == NONE {
                    self.has_lost = true;
                    continue;
                }
                self.named[(row / WORD_BITS) as usize] |= 1 << (row % WORD_BITS);
                keep(self, row as usize, nth);
            }
            first += entities.len() as u32;
        };
        if log.entities.len() == log.words.len() {
            let mut left = log.entities;
            while !left.is_empty() {
                let (entities, later) = left.split_at(left.len().min(TOGETHER));
                mark(entities, later);
                left = later;
            }
        } else {
            let mut entities = log.commands().map(|(entity, _)| entity);
            let mut some = SmallVec::<[Entity; TOGETHER]>::new();
            loop {
                some.extend(entities.by_ref().take(TOGETHER));
                if some.is_empty() {
                    break;
                }
                mark(&some, &[]);
                some.clear();
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
