//! `FragmentSet`: a set of fragments as bits.

use core::fmt;

use crate::fragment::{FragmentId, FragmentRegistry, FragmentSetIter, named_in_role};

/// Words that a set holds without a heap allocation.
const INLINE: usize = 2;

/// A set of fragments, a bit each. Fragments numbered below 128 cost no heap memory.
///
/// Tests of subset and intersection look at two words, and at the rest only if both sets have one.
///
/// ```
/// use megachunk::fragment::{FragmentId, FragmentSet};
///
/// let id = |number| FragmentId::from_number(number);
/// let both: FragmentSet = [id(3), id(500)].into_iter().collect();
/// let one: FragmentSet = [id(500)].into_iter().collect();
/// assert!(one.is_subset(&both) && !both.is_subset(&one) && both.intersects(&one));
/// assert_eq!(both.iter().collect::<Vec<_>>(), [id(3), id(500)]);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct FragmentSet {
    low: [u64; INLINE],
    /// The words behind; the last one is never zero, so that equal sets are equal values.
    high: Vec<u64>,
}

impl FragmentSet {
    /// Fragments of a word.
    pub(super) const BITS: usize = 64;

    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            low: [0; INLINE],
            high: Vec::new(),
        }
    }

    /// Adds a fragment; whether it was new.
    pub fn insert(&mut self, id: FragmentId) -> bool {
        let (word, bit) = split(id);
        if word >= INLINE + self.high.len() {
            self.high.resize(word + 1 - INLINE, 0);
        }
        let word = match self.low.get_mut(word) {
            Some(low) => low,
            None => &mut self.high[word - INLINE],
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes a fragment out; whether it was there.
    pub fn remove(&mut self, id: FragmentId) -> bool {
        let (word, bit) = split(id);
        let there = self.contains(id);
        if there {
            match self.low.get_mut(word) {
                Some(low) => *low &= !bit,
                None => self.high[word - INLINE] &= !bit,
            }
            while self.high.last() == Some(&0) {
                self.high.pop();
            }
        }
        there
    }

    /// Whether a fragment is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: FragmentId) -> bool {
        let (word, bit) = split(id);
        self.word(word) & bit != 0
    }

    /// Whether all fragments of this set are in `other` too.
    #[inline]
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        (0..INLINE).all(|at| self.low[at] & !other.low[at] == 0)
            && self.high.len() <= other.high.len()
            && self.high.iter().zip(&other.high).all(|(a, b)| a & !b == 0)
    }

    /// Whether the two sets have a fragment in common.
    #[inline]
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        (0..INLINE).any(|at| self.low[at] & other.low[at] != 0)
            || self.high.iter().zip(&other.high).any(|(a, b)| a & b != 0)
    }

    /// How many fragments are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        let words = self.low.iter().chain(&self.high);
        words.map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.low == [0; INLINE] && self.high.is_empty()
    }

    /// The fragments in the order of their numbers.
    pub fn iter(&self) -> FragmentSetIter<'_> {
        FragmentSetIter::new(self)
    }

    /// The set by the names that a registry has for its fragments: `{Position, Owner (shared fragment)}`. Of those that it
    /// does not know, and of another registry's, the numbers mean nothing there. O(fragments), when it is printed.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((2.5_f32,).shared("red"))?;
    /// let set = world.composition(ant)?;
    /// assert_eq!(format!("{set:?}"), "{#0, #1}");
    /// assert_eq!(set.named(world.registry()).to_string(), "{&str (shared fragment), f32}");
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn named<'a>(&'a self, registry: &'a FragmentRegistry) -> impl fmt::Display + 'a {
        Named {
            set: self,
            registry,
        }
    }

    /// Words that it has.
    #[inline]
    pub(super) fn words(&self) -> usize {
        INLINE + self.high.len()
    }

    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        match self.low.get(at) {
            Some(&low) => low,
            None => self.high.get(at - INLINE).copied().unwrap_or(0),
        }
    }
}

#[inline]
fn split(id: FragmentId) -> (usize, u64) {
    let number = usize::from(id.number());
    (
        number / FragmentSet::BITS,
        1 << (number % FragmentSet::BITS),
    )
}

impl FromIterator<FragmentId> for FragmentSet {
    fn from_iter<I: IntoIterator<Item = FragmentId>>(ids: I) -> Self {
        let mut set = Self::new();
        set.extend(ids);
        set
    }
}

impl Extend<FragmentId> for FragmentSet {
    fn extend<I: IntoIterator<Item = FragmentId>>(&mut self, ids: I) {
        for id in ids {
            self.insert(id);
        }
    }
}

impl<'a> IntoIterator for &'a FragmentSet {
    type Item = FragmentId;
    type IntoIter = FragmentSetIter<'a>;

    fn into_iter(self) -> FragmentSetIter<'a> {
        self.iter()
    }
}

/// A set by the names of its fragments.
struct Named<'a> {
    set: &'a FragmentSet,
    registry: &'a FragmentRegistry,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, id) in self.set.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            match self.registry.get(id) {
                Some(info) => named_in_role(info, f)?,
                None => write!(f, "{id}")?,
            }
        }
        f.write_str("}")
    }
}

impl fmt::Debug for FragmentSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u16]) -> FragmentSet {
        numbers
            .iter()
            .map(|&n| FragmentId::from_number(n))
            .collect()
    }

    #[test]
    fn a_set_forgets_what_is_taken_out_wherever_it_lies() {
        let mut ids = set(&[0, 64, 127, 128, 4_095, 65_535]);
        assert_eq!(ids.len(), 6);
        for number in [65_535, 0, 4_095, 128, 64, 127] {
            assert!(ids.remove(FragmentId::from_number(number)));
            assert!(!ids.remove(FragmentId::from_number(number)));
        }
        assert_eq!(ids, FragmentSet::new());
    }

    #[test]
    fn the_fragments_of_a_set_come_in_the_order_of_their_numbers_wherever_they_lie() {
        for numbers in [
            &[][..],
            &[63],
            &[0, 1, 63, 64, 127],
            &[128],
            &[5, 4_095, 65_535],
        ] {
            let ids = set(numbers);
            let mut seen = Vec::new();
            for id in &ids {
                seen.push(id.number());
            }
            assert_eq!(seen, numbers);
            let mut rest = ids.iter();
            for left in (0..numbers.len()).rev() {
                assert!(rest.next().is_some());
                assert_eq!(rest.len(), left);
            }
            let mut end = ids.iter();
            assert_eq!(end.by_ref().count(), ids.len());
            assert_eq!(end.next(), None);
        }
    }

    #[test]
    fn subset_and_intersection_see_the_words_behind_the_first_two() {
        let (small, large) = (set(&[1, 300]), set(&[1, 2, 300, 301]));
        assert!(small.is_subset(&large) && !large.is_subset(&small));
        assert!(small.intersects(&large));
        assert!(!set(&[300]).is_subset(&set(&[1])) && !set(&[300]).intersects(&set(&[1, 299])));
        assert!(set(&[]).is_subset(&small) && !set(&[]).intersects(&small));
    }
}
