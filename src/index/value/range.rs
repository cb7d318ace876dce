//! `ValueRange`: keys in their order, each with those who have it.

use core::fmt;
use core::iter::FusedIterator;
use std::collections::btree_map::Range;

use crate::entity::Entity;
use crate::index::lists::Lists;
use crate::index::value::by_key::ByKey;

/// Keys of an index that somebody has, each with those who have it, in order: from
/// [`ValueIndex::range`](crate::index::ValueIndex::range) and [`iter`](crate::index::ValueIndex::iter). It borrows the index
/// alone, and not what the range was made of. O(1) for each key.
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct ValueRange<'a, K: Ord + Clone> {
    keys: Range<'a, K, u32>,
    lists: &'a Lists<K, ByKey<K>>,
}

impl<'a, K: Ord + Clone> ValueRange<'a, K> {
    pub(super) fn new(keys: Range<'a, K, u32>, lists: &'a Lists<K, ByKey<K>>) -> Self {
        Self { keys, lists }
    }
}

impl<'a, K: Ord + Clone> Iterator for ValueRange<'a, K> {
    type Item = (&'a K, &'a [Entity]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (key, &list) = self.keys.next()?;
        Some((key, self.lists.get(list)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.keys.size_hint()
    }
}

impl<K: Ord + Clone> DoubleEndedIterator for ValueRange<'_, K> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let (key, &list) = self.keys.next_back()?;
        Some((key, self.lists.get(list)))
    }
}

impl<K: Ord + Clone> FusedIterator for ValueRange<'_, K> {}

impl<K: Ord + Clone> Clone for ValueRange<'_, K> {
    fn clone(&self) -> Self {
        Self {
            keys: self.keys.clone(),
            lists: self.lists,
        }
    }
}

/// The keys that are to come.
impl<K: Ord + Clone + fmt::Debug> fmt::Debug for ValueRange<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys.clone().map(|(key, _)| key);
        f.debug_list().entries(keys).finish()
    }
}
