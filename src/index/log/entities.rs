//! `LoggedEntities`: those of whom something was noted later than at some version.

use core::fmt;
use core::iter::FusedIterator;

use crate::entity::Entity;
use crate::index::log::order::{NONE, Node};

/// Entities that came, changed or went, the last of them first: from
/// [`ChangeLog::set_since`](crate::index::ChangeLog::set_since) and
/// [`gone_since`](crate::index::ChangeLog::gone_since). O(1) for each.
#[derive(Clone)]
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct LoggedEntities<'a> {
    nodes: &'a [Node],
    at: u32,
    since: u64,
}

impl<'a> LoggedEntities<'a> {
    pub(super) fn new(nodes: &'a [Node], last: u32, since: u64) -> Self {
        Self {
            nodes,
            at: last,
            since,
        }
    }
}

impl Iterator for LoggedEntities<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        let node = self.nodes.get(self.at as usize)?;
        if node.version <= self.since {
            self.at = NONE;
            return None;
        }
        self.at = node.before;
        Some(node.entity)
    }
}

impl FusedIterator for LoggedEntities<'_> {}

/// Those that are to come.
impl fmt::Debug for LoggedEntities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
