//! `Memory`: what a flush needs for its commands, kept for the next one: up to 32 bytes a command; where all do the same,
//! up to 24 for each of them and 20 for each thread and row of the world, of which there are up to eight a command then.

use crate::command::flush::alike::Share;
use crate::command::flush::locate::{Item, Spot};

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

/// More than so many entries are not kept while they are not needed.
const MOST: usize = 1 << 22;

impl Memory {
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
