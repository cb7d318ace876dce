//! `Memory`: what a flush needs for its commands, kept for the next one: about 40 bytes a command.

use crate::command::flush::locate::Item;

/// Lists with an entry for each command. All are emptied before use; only their room is kept.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The commands, in the order of chunks.
    pub(super) items: Vec<Item>,
    /// The same as they were recorded.
    pub(super) recorded: Vec<Item>,
    /// For each as recorded, its entity's chunk.
    pub(super) chunks: Vec<u32>,
    /// Rows that change, by chunk and net change; and for each its last command.
    pub(super) rows: Vec<u32>,
    pub(super) last: Vec<u32>,
}

/// More than so many entries are not kept while they are not needed.
const MOST: usize = 1 << 22;

impl Memory {
    /// Gives back what is too much to be kept.
    pub(super) fn settle(&mut self) {
        let lists = [
            self.items.capacity(),
            self.recorded.capacity(),
            self.rows.capacity(),
        ];
        if lists.into_iter().any(|entries| entries > MOST) {
            *self = Self::default();
        }
    }
}
