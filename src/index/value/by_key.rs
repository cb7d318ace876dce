//! `ByKey`: the list of each key, in the order of keys.

use std::collections::BTreeMap;

use crate::index::lists::Finder;
use crate::panics::{Panicked, end_all};

pub(super) struct ByKey<K>(pub(super) BTreeMap<K, u32>);

impl<K: Ord + Clone> Finder<K> for ByKey<K> {
    fn find(&self, key: &K) -> Option<u32> {
        self.0.get(key).copied()
    }

    fn enter(&mut self, key: &K, list: u32) {
        self.0.insert(key.clone(), list);
    }

    fn leave(&mut self, key: &K) {
        self.0.remove(key);
    }

    fn end(&mut self, panicked: &mut Panicked) {
        end_all(panicked, core::mem::take(&mut self.0));
    }
}
