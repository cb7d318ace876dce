//! `FragmentSetIter`: the fragments of a set, one after the other.

use crate::fragment::{FragmentId, FragmentSet};

/// The fragments of a set in the order of their numbers, from [`FragmentSet::iter`]. O(words and fragments) in all.
#[derive(Clone, Debug)]
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct FragmentSetIter<'a> {
    set: &'a FragmentSet,
    /// The word that is looked through, and those of its bits that are to come.
    word: usize,
    left: u64,
}

impl<'a> FragmentSetIter<'a> {
    pub(super) fn new(set: &'a FragmentSet) -> Self {
        Self {
            set,
            word: 0,
            left: set.word(0),
        }
    }
}

impl Iterator for FragmentSetIter<'_> {
    type Item = FragmentId;

    fn next(&mut self) -> Option<FragmentId> {
        while self.left == 0 {
            if self.word + 1 >= self.set.words() {
                return None;
            }
            self.word += 1;
            self.left = self.set.word(self.word);
        }
        let bit = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(FragmentId::from_number(
            (self.word * FragmentSet::BITS + bit) as u16,
        ))
    }

    /// O(words).
    fn size_hint(&self) -> (usize, Option<usize>) {
        let behind = self.word + 1..self.set.words();
        let behind = behind.map(|at| self.set.word(at).count_ones() as usize);
        let left = self.left.count_ones() as usize + behind.sum::<usize>();
        (left, Some(left))
    }
}

impl ExactSizeIterator for FragmentSetIter<'_> {}

impl core::iter::FusedIterator for FragmentSetIter<'_> {}
