//! `Handles`: those of a batch, neighbours after neighbours.

use core::slice;

use crate::entity::Entity;

/// Handles, a slice of neighbours after the other, of which it is known how many there are.
pub(crate) struct Handles<'a, S> {
    slices: S,
    now: slice::Iter<'a, Entity>,
    /// In `now` and in all slices after it.
    left: usize,
}

impl<'a, S: Iterator<Item = &'a [Entity]> + Clone> Handles<'a, S> {
    /// O(slices).
    pub(crate) fn new(slices: S) -> Self {
        Self {
            left: slices.clone().map(<[Entity]>::len).sum(),
            slices,
            now: [].iter(),
        }
    }

    /// All that are left, in memory that is asked for once.
    pub(crate) fn into_vec(self) -> Vec<Entity> {
        let mut all = Vec::with_capacity(self.left);
        all.extend_from_slice(self.now.as_slice());
        self.slices.for_each(|slice| all.extend_from_slice(slice));
        all
    }
}

impl<'a, S: Iterator<Item = &'a [Entity]>> Iterator for Handles<'a, S> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        loop {
            if let Some(&entity) = self.now.next() {
                self.left -= 1;
                return Some(entity);
            }
            self.now = self.slices.next()?.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    fn fold<B, F: FnMut(B, Entity) -> B>(self, init: B, mut f: F) -> B {
        let first = self.now.copied().fold(init, &mut f);
        let slices = self.slices;
        slices.fold(first, |all, slice| slice.iter().copied().fold(all, &mut f))
    }
}

impl<'a, S: Iterator<Item = &'a [Entity]>> ExactSizeIterator for Handles<'a, S> {}
