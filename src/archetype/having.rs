//! `Having`: which archetypes have a fragment, and where: what queries match by.

use crate::fragment::FragmentId;

/// "No column."
pub(crate) const NO_COLUMN: u32 = u32::MAX;

/// That an archetype has a fragment, and where the fragment lies in its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Having {
    pub(crate) archetype: u32,
    /// The fragment's column, or [`NO_COLUMN`] for tags, chunk and shared fragments.
    pub(crate) column: u32,
    /// Where its array, or its value, begins in a chunk; for a shared fragment which of the group's
    /// values it is; for a tag 0.
    pub(crate) offset: u32,
    /// It can be switched off there.
    pub(crate) switchable: bool,
}

/// For each fragment the archetypes that have it, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct HavingLists(Vec<Vec<Having>>);

impl HavingLists {
    /// The archetypes that have a fragment.
    #[inline(always)]
    pub(crate) fn of(&self, id: FragmentId) -> &[Having] {
        match self.0.get(usize::from(id.number())) {
            Some(list) => list,
            None => &[],
        }
    }

    /// Adds an archetype, whose number is higher than all before.
    pub(crate) fn push(&mut self, id: FragmentId, having: Having) {
        let at = usize::from(id.number());
        if at >= self.0.len() {
            self.0.resize_with(at + 1, Vec::new);
        }
        debug_assert!(
            self.0[at]
                .last()
                .is_none_or(|last| last.archetype < having.archetype)
        );
        self.0[at].push(having);
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Walks the lists of several fragments from archetype to archetype, upwards.
#[derive(Debug)]
#[doc(hidden)]
pub struct Seeker<'a> {
    lists: &'a HavingLists,
    archetype: u32,
    /// For each fragment that is asked for, in the order of asking, what is left of its list.
    left: Vec<&'a [Having]>,
    asked: usize,
}

impl<'a> Seeker<'a> {
    pub(crate) fn new(lists: &'a HavingLists) -> Self {
        Self {
            lists,
            archetype: 0,
            left: Vec::new(),
            asked: 0,
        }
    }

    /// Goes to an archetype, not below the last one.
    #[inline(always)]
    pub(crate) fn go_to(&mut self, archetype: u32) {
        self.archetype = archetype;
        self.asked = 0;
    }

    /// Where the archetype has a fragment. At every archetype the same fragments are asked for, in the
    /// same order.
    #[inline(always)]
    pub(crate) fn find(&mut self, id: FragmentId) -> Option<&'a Having> {
        let asked = self.asked;
        self.asked += 1;
        if let Some(left) = self.left.get_mut(asked)
            && let [first, rest @ ..] = *left
            && first.archetype == self.archetype
        {
            *left = rest;
            return Some(first);
        }
        self.seek(asked, id)
    }

    /// `find`, where the next of the list is another archetype.
    #[inline(never)]
    fn seek(&mut self, asked: usize, id: FragmentId) -> Option<&'a Having> {
        if self.left.len() == asked {
            let list = self.lists.of(id);
            let first = list.partition_point(|having| having.archetype < self.archetype);
            self.left.push(&list[first..]);
        }
        let (at, found) = advance(self.left[asked], 0, self.archetype);
        self.left[asked] = &self.left[asked][at + usize::from(found.is_some())..];
        found
    }
}

/// Goes on in a list to an archetype: how far it was read then, and the archetype's entry.
#[inline(always)]
pub(crate) fn advance(list: &[Having], mut at: usize, archetype: u32) -> (usize, Option<&Having>) {
    // Mostly it is the next one.
    let mut step = 1;
    while let Some(having) = list.get(at) {
        if having.archetype >= archetype {
            let found = (having.archetype == archetype).then_some(having);
            return (at, found);
        }
        // Further and further ahead, but never beyond the one that is looked for.
        match list.get(at + step) {
            Some(ahead) if ahead.archetype <= archetype => {
                at += step;
                step *= 2;
            }
            _ if step > 1 => step = 1,
            _ => at += 1,
        }
    }
    (at, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seeker_finds_what_a_search_finds() {
        let id = FragmentId::from_number(0);
        let mut lists = HavingLists::default();
        for archetype in (0..1_000).filter(|n| n % 7 == 3 || n % 64 < 5) {
            lists.push(
                id,
                Having {
                    archetype,
                    column: 0,
                    offset: archetype,
                    switchable: false,
                },
            );
        }
        for stride in [1, 2, 5, 33, 400] {
            let mut seeker = Seeker::new(&lists);
            for archetype in (0..1_100).step_by(stride) {
                seeker.go_to(archetype);
                let expected = lists.of(id).iter().find(|h| h.archetype == archetype);
                assert_eq!(seeker.find(id), expected);
                assert_eq!(seeker.find(id), expected, "the second time it is asked for");
            }
        }
    }
}
