//! `Having`: which archetypes have a fragment, and where: what queries match by.
//!
//! Must hold: behind each list stands [`END`], so that who walks it need not ask whether it has ended.

use core::marker::PhantomData;

use crate::fragment::FragmentId;

/// Archetypes whose numbers follow on each other are found so many at a time.
pub(crate) const STRETCH: usize = 8;

/// "No column."
pub(crate) const NO_COLUMN: u32 = u32::MAX;

/// That an archetype has a fragment, and where the fragment lies in its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Having {
    pub(crate) archetype: u32,
    /// Which of a chunk's versions is the fragment's: its column, or one behind the columns for a tag that can
    /// be switched off; [`NO_COLUMN`] for other tags, chunk and shared fragments.
    pub(crate) column: u32,
    /// Where its array, or its value, begins in a chunk; for a shared fragment which of the group's
    /// values it is; for a tag 0.
    pub(crate) offset: u32,
    /// It can be switched off there.
    pub(crate) switchable: bool,
}

/// What stands behind the last archetype of a list: no archetype has this number.
const END: Having = Having {
    archetype: u32::MAX,
    column: NO_COLUMN,
    offset: 0,
    switchable: false,
};

/// For each fragment the archetypes that have it, in the order of their numbers, and [`END`]; nothing at all where
/// none has it.
#[derive(Debug, Default)]
pub(crate) struct HavingLists(Vec<Vec<Having>>);

impl HavingLists {
    /// The archetypes that have a fragment.
    #[inline(always)]
    pub(crate) fn of(&self, id: FragmentId) -> &[Having] {
        without_end(self.ended(id))
    }

    /// The same, and [`END`].
    #[inline(always)]
    fn ended(&self, id: FragmentId) -> &[Having] {
        match self.0.get(usize::from(id.number())) {
            Some(list) if !list.is_empty() => list,
            _ => &[END],
        }
    }

    /// The lists of all fragments.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &[Having]> {
        self.0.iter().map(|list| without_end(list))
    }

    /// Adds an archetype, whose number is higher than all before.
    pub(crate) fn push(&mut self, id: FragmentId, having: Having) {
        let at = usize::from(id.number());
        if at >= self.0.len() {
            self.0.resize_with(at + 1, Vec::new);
        }
        let list = &mut self.0[at];
        list.reserve(2);
        list.pop();
        let last = list.last();
        debug_assert!(last.is_none_or(|last| last.archetype < having.archetype));
        list.extend([having, END]);
    }

    /// Forgets the last archetype that has a fragment.
    pub(crate) fn pop(&mut self, id: FragmentId) {
        let list = &mut self.0[usize::from(id.number())];
        // Behind it stands the end, which an empty list does without.
        list.truncate(list.len() - 2);
        if !list.is_empty() {
            list.push(END);
        }
    }

    /// Breaks the order of a list, for tests of the check.
    #[cfg(test)]
    pub(crate) fn reverse(&mut self, id: FragmentId) {
        if let [list @ .., _] = &mut self.0[usize::from(id.number())][..] {
            list.reverse();
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The archetypes of a list.
#[inline(always)]
fn without_end(list: &[Having]) -> &[Having] {
    list.split_last().map_or(&[], |(_, archetypes)| archetypes)
}

/// What is left of the list of a fragment: walked from archetype to archetype, upwards.
///
/// Must hold: `next` is an entry of the list or [`END`] behind it, which `end` is.
#[derive(Debug)]
#[doc(hidden)]
pub struct Cursor<'a> {
    next: *const Having,
    end: *const Having,
    list: PhantomData<&'a [Having]>,
}

/// The lists that cursors walk, and the first archetype that they are to stop at.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Lists<'a> {
    lists: &'a HavingLists,
    from: u32,
}

impl<'a> Lists<'a> {
    pub(crate) fn new(lists: &'a HavingLists, from: u32) -> Self {
        Self { lists, from }
    }

    /// Where a fragment's list is to be read from.
    #[inline]
    pub(crate) fn cursor(self, id: FragmentId) -> Cursor<'a> {
        let list = self.lists.ended(id);
        // Mostly all is new to a query, or nothing.
        let first = match list.first() {
            Some(first) if first.archetype < self.from => {
                list.partition_point(|having| having.archetype < self.from)
            }
            _ => 0,
        };
        // No archetype of a world is behind the end.
        let first = first.min(list.len() - 1);
        let start = list.as_ptr();
        Cursor {
            next: start.wrapping_add(first),
            end: start.wrapping_add(list.len() - 1),
            list: PhantomData,
        }
    }
}

impl<'a> Cursor<'a> {
    /// Archetypes that are left, besides those that do not have the fragment.
    #[inline]
    pub(crate) fn left(&self) -> &'a [Having] {
        // SAFETY: both are of one list, `next` not behind `end`, and the list is borrowed for `'a`.
        unsafe { core::slice::from_raw_parts(self.next, self.end.offset_from_unsigned(self.next)) }
    }

    /// The next of the list.
    ///
    /// # Safety
    /// Something is left.
    #[inline(always)]
    pub(crate) unsafe fn take(&mut self) -> &'a Having {
        // SAFETY: the caller's: `next` is an entry, so something is behind it, and the list is borrowed for `'a`.
        unsafe {
            let first = &*self.next;
            self.next = self.next.add(1);
            first
        }
    }

    /// Where an archetype has the fragment. Each call names a later archetype than the one before.
    #[inline(always)]
    pub(crate) fn find(&mut self, archetype: u32) -> Option<&'a Having> {
        // Whatever is asked for, it is never the end.
        let archetype = archetype & !(1 << 31);
        // SAFETY: an entry or the end, and the list is borrowed for `'a`.
        let first = unsafe { &*self.next };
        if first.archetype == archetype {
            // SAFETY: it was not the end, so something is behind it.
            self.next = unsafe { self.next.add(1) };
            return Some(first);
        }
        let (passed, found) = seek(self.left(), archetype);
        // SAFETY: no more than are left.
        self.next = unsafe { self.next.add(passed) };
        found
    }
}

/// What walks lists of archetypes: a cursor, several of them side by side, or nothing.
#[doc(hidden)]
pub trait Walk {
    /// Whether the next [`STRETCH`] are this archetype and those that follow on it, so that they need not be asked for
    /// one by one.
    fn is_at_stretch(&self, archetype: u32) -> bool;
}

impl Walk for Cursor<'_> {
    #[inline(always)]
    fn is_at_stretch(&self, archetype: u32) -> bool {
        // The list ascends: between the two nothing is left out.
        match self.left().first_chunk::<STRETCH>() {
            Some([first, .., last]) => {
                first.archetype == archetype && last.archetype - archetype == STRETCH as u32 - 1
            }
            None => false,
        }
    }
}

/// No list: all archetypes.
impl Walk for () {
    #[inline(always)]
    fn is_at_stretch(&self, _: u32) -> bool {
        true
    }
}

/// [`Cursor::find`], where the next of the list is another archetype: how many are passed, and the one that is
/// found. (Takes and gives all by value, so that cursors can stay in registers; said to be rare, so that what goes side
/// by side is code without jumps.)
#[cold]
#[inline(never)]
fn seek(left: &[Having], archetype: u32) -> (usize, Option<&Having>) {
    let (at, found) = advance(left, 0, archetype);
    (at + usize::from(found.is_some()), found)
}

/// Goes on in a list to an archetype: how far it was read then, and the archetype's entry.
#[inline(always)]
fn advance(list: &[Having], mut at: usize, archetype: u32) -> (usize, Option<&Having>) {
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
    fn a_cursor_finds_what_a_search_finds() {
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
        for (from, stride) in [(0, 1), (3, 2), (40, 5), (7, 33), (0, 400), (990, 1)] {
            let mut cursor = Lists::new(&lists, from).cursor(id);
            for archetype in (from..1_100).step_by(stride) {
                let expected = lists.of(id).iter().find(|h| h.archetype == archetype);
                assert_eq!(cursor.find(archetype), expected);
            }
        }
    }
}
