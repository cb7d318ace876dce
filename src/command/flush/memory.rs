//! `Memory`: what a flush needs for many commands, kept for the next one: up to 32 bytes a command; where all do the same,
//! up to 24 for each of them and 20 for each row of the world and thread that marks it, of which there are up to eight a
//! command together.

use core::mem::{MaybeUninit, take};

use crate::command::flush::locate::{Item, Spot};
use crate::command::flush::marks::Share;

/// Lists with an entry for each command. They are emptied before use; only their room is kept.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The commands, in the order of chunks.
    pub(super) items: Vec<Item>,
    /// As they were recorded, where the entities lie.
    pub(super) spots: Vec<Spot>,
    /// Rows that change, by chunk and net change; and for each its last command, or where that one's values lie.
    pub(super) rows: Vec<u32>,
    pub(super) last: Vec<u32>,
    /// What each thread's commands name, where all do the same: entries for rows, not for commands.
    pub(super) shares: Vec<Share>,
}

/// How many entries of `rows`, `last` and `items` are meant.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    pub(super) rows: usize,
    pub(super) last: usize,
    pub(super) items: usize,
}

/// Entries of the lists that nobody has written yet.
pub(super) struct Room<'m> {
    pub(super) rows: &'m mut [MaybeUninit<u32>],
    pub(super) last: &'m mut [MaybeUninit<u32>],
    pub(super) items: &'m mut [MaybeUninit<Item>],
}

impl<'m> Room<'m> {
    /// Gives away the first entries.
    pub(super) fn take(&mut self, entries: Entries) -> Self {
        fn first<'m, T>(all: &mut &'m mut [T], count: usize) -> &'m mut [T] {
            let (first, after) = take(all).split_at_mut(count);
            *all = after;
            first
        }
        Self {
            rows: first(&mut self.rows, entries.rows),
            last: first(&mut self.last, entries.last),
            items: first(&mut self.items, entries.items),
        }
    }
}

/// Makes room in a list, which may hold anything yet.
fn room<T>(list: &mut Vec<T>, count: usize) -> &mut [MaybeUninit<T>] {
    list.clear();
    list.reserve(count);
    &mut list.spare_capacity_mut()[..count]
}

/// More than so many entries are not kept while they are not needed.
const MOST: usize = 1 << 22;

impl Memory {
    /// Has `rows`, `last` and `items` written anew, by several threads if `write` will.
    ///
    /// # Safety
    /// `write` writes every entry of the room that it is lent.
    pub(super) unsafe fn rewrite(&mut self, entries: Entries, write: impl FnOnce(Room<'_>)) {
        write(Room {
            rows: room(&mut self.rows, entries.rows),
            last: room(&mut self.last, entries.last),
            items: room(&mut self.items, entries.items),
        });
        // SAFETY: as many were reserved; the caller's: all are written.
        unsafe {
            self.rows.set_len(entries.rows);
            self.last.set_len(entries.last);
            self.items.set_len(entries.items);
        }
    }

    /// Gives back what is too much to be kept.
    pub(super) fn settle(&mut self) {
        let lists = [
            self.items.capacity(),
            self.spots.capacity(),
            self.rows.capacity(),
        ];
        let shares: usize = self.shares.iter().map(Share::bytes).sum();
        if shares > MOST * size_of::<Item>() || lists.into_iter().any(|entries| entries > MOST) {
            *self = Self::default();
        }
    }
}
