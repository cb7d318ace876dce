//! `ChunkList`: the chunks of an archetype, the record of an only one in the archetype itself.
//!
//! Most compositions are rare, and have one chunk. A query that walks many of them reads for each one line of
//! memory: the record, which says too whether it is the only one.

use core::ops::{Deref, DerefMut};

use crate::archetype::chunk::Chunk;

/// The chunks of an archetype.
#[derive(Debug)]
pub(crate) enum ChunkList {
    One(Chunk),
    /// None, or several; one only while there is room for more that were [expected](Self::reserve), or [have
    /// been](KEPT) there.
    Many(Vec<Chunk>),
}

/// A list with room for so many, or more, stays one: who had many chunks, and few entities in between, will have many
/// again.
const KEPT: usize = 16;

impl ChunkList {
    /// Without a chunk.
    pub(crate) const fn new() -> Self {
        Self::Many(Vec::new())
    }

    /// Makes room for one more, which can be pushed then whatever comes between.
    pub(crate) fn reserve_one(&mut self) {
        match self {
            Self::Many(chunks) if chunks.is_empty() => {}
            Self::Many(chunks) => chunks.reserve(1),
            Self::One(_) => {
                let mut chunks = Vec::with_capacity(2);
                if let Self::One(one) = core::mem::replace(self, Self::new()) {
                    chunks.push(one);
                }
                *self = Self::Many(chunks);
            }
        }
    }

    /// Makes room for more, if they are several.
    pub(crate) fn reserve(&mut self, more: usize) {
        if more < 2 {
            return;
        }
        self.reserve_one();
        if let Self::Many(chunks) = self {
            chunks.reserve(more);
        }
    }

    /// Adds a chunk behind the others; where it is.
    #[inline(always)]
    pub(crate) fn push(&mut self, chunk: Chunk) -> &mut Chunk {
        match self {
            Self::Many(chunks) if chunks.len() < chunks.capacity() => chunks.push(chunk),
            _ => self.push_where_room_is_made(chunk),
        }
        let last = self.len() - 1;
        &mut self[last]
    }

    #[cold]
    #[inline(never)]
    fn push_where_room_is_made(&mut self, chunk: Chunk) {
        self.reserve_one();
        match self {
            Self::Many(chunks) if chunks.capacity() > 0 => chunks.push(chunk),
            _ => *self = Self::One(chunk),
        }
    }

    /// Takes a chunk out; the last one comes to its place.
    ///
    /// # Panics
    /// If there is none at the position.
    pub(crate) fn swap_remove(&mut self, position: usize) -> Chunk {
        let mut chunks = match core::mem::replace(self, Self::new()) {
            Self::One(one) => {
                assert_eq!(position, 0, "there is one chunk");
                return one;
            }
            Self::Many(chunks) => chunks,
        };
        let chunk = chunks.swap_remove(position);
        *self = match (chunks.len(), chunks.capacity()) {
            (0, ..KEPT) => Self::new(),
            (1, ..KEPT) => chunks.pop().map_or(Self::new(), Self::One),
            _ => Self::Many(chunks),
        };
        chunk
    }

    /// The chunk at a position. One look at what the list is, where an index takes two.
    ///
    /// # Safety
    /// There is one at the position.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, position: u32) -> &Chunk {
        debug_assert!((position as usize) < self.len());
        match self {
            // SAFETY: the caller's.
            Self::Many(chunks) => unsafe { chunks.get_unchecked(position as usize) },
            Self::One(chunk) => chunk,
        }
    }

    /// The same, to be changed.
    ///
    /// # Safety
    /// There is one at the position.
    #[inline(always)]
    pub(crate) unsafe fn at_mut(&mut self, position: u32) -> &mut Chunk {
        debug_assert!((position as usize) < self.len());
        match self {
            // SAFETY: the caller's.
            Self::Many(chunks) => unsafe { chunks.get_unchecked_mut(position as usize) },
            Self::One(chunk) => chunk,
        }
    }

    /// Gives back the room for more than there are.
    pub(crate) fn shrink(&mut self) {
        if let Self::Many(chunks) = self {
            *self = match (chunks.len(), chunks.pop()) {
                (1, Some(only)) => Self::One(only),
                (_, last) => {
                    chunks.extend(last);
                    chunks.shrink_to_fit();
                    return;
                }
            };
        }
    }

    /// Records for which there is room.
    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(chunks) => chunks.capacity(),
        }
    }
}

impl Deref for ChunkList {
    type Target = [Chunk];

    #[inline(always)]
    fn deref(&self) -> &[Chunk] {
        match self {
            Self::One(chunk) => core::slice::from_ref(chunk),
            Self::Many(chunks) => chunks,
        }
    }
}

impl DerefMut for ChunkList {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Chunk] {
        match self {
            Self::One(chunk) => core::slice::from_mut(chunk),
            Self::Many(chunks) => chunks,
        }
    }
}

impl<'a> IntoIterator for &'a ChunkList {
    type Item = &'a Chunk;
    type IntoIter = core::slice::Iter<'a, Chunk>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut ChunkList {
    type Item = &'a mut Chunk;
    type IntoIter = core::slice::IterMut<'a, Chunk>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use core::ptr::NonNull;

    use super::*;
    use crate::archetype::Universe;

    #[test]
    fn a_list_is_as_long_as_a_record() {
        assert_eq!(size_of::<ChunkList>(), 64);
    }

    #[test]
    fn a_list_for_which_several_are_expected_grows_once() {
        let universe = Universe::new();
        let run = universe.take_chunk(1).expect("there is memory");
        let chunk = |group| Chunk::new(NonNull::dangling(), run, group, 1, 8, 0);
        for first in [0, 1, 2] {
            let mut list = ChunkList::new();
            for group in 0..first {
                list.push(chunk(group));
            }
            list.reserve(10);
            let room = list.capacity();
            assert!(room >= first as usize + 10);
            for group in first..first + 10 {
                list.push(chunk(group));
                assert_eq!(list.capacity(), room);
            }
            assert!(list.iter().map(|chunk| chunk.group).eq(0..first + 10));
            while !list.is_empty() {
                list.swap_remove(0);
            }
            list.reserve(1);
            list.push(chunk(0));
            assert!(matches!(list, ChunkList::One(_)));
        }
        // SAFETY: taken above; the records have never used it.
        unsafe { universe.give_chunk(run) };
    }

    #[test]
    fn a_list_that_was_long_keeps_its_room_until_it_is_shrunk() {
        let universe = Universe::new();
        let run = universe.take_chunk(1).expect("there is memory");
        let chunk = |group| Chunk::new(NonNull::dangling(), run, group, 1, 8, 0);
        for stay in [0, 1, 2] {
            let mut list = ChunkList::new();
            for group in 0..KEPT as u32 {
                assert_eq!(list.push(chunk(group)).group, group);
            }
            let room = list.capacity();
            while list.len() > stay {
                list.swap_remove(stay);
            }
            assert_eq!(list.capacity(), room);
            list.shrink();
            assert_eq!((list.len(), list.capacity()), (stay, stay));
            assert_eq!(matches!(list, ChunkList::One(_)), stay == 1);
        }
        // SAFETY: taken above; the records have never used it.
        unsafe { universe.give_chunk(run) };
    }

    #[test]
    fn a_list_holds_what_a_vector_holds() {
        let universe = Universe::new();
        let run = universe.take_chunk(1).expect("there is memory");
        let chunk = |group| Chunk::new(NonNull::dangling(), run, group, 1, 8, 0);
        let (mut list, mut model) = (ChunkList::new(), Vec::new());
        // `None` adds a chunk, after room was made for it and for nothing in turn.
        let steps = [
            None,
            Some(0),
            None,
            None,
            None,
            Some(1),
            Some(0),
            None,
            Some(1),
            Some(0),
            None,
            None,
        ];
        for (number, step) in (0..).zip(steps) {
            match step {
                Some(at) => {
                    assert_eq!(list.swap_remove(at).group, model.swap_remove(at));
                }
                None => {
                    if number % 2 == 0 {
                        list.reserve_one();
                    }
                    list.push(chunk(number));
                    model.push(number);
                }
            }
            let groups: Vec<u32> = list.iter().map(|chunk| chunk.group).collect();
            assert_eq!(groups, model);
            assert_eq!(matches!(list, ChunkList::One(_)), model.len() == 1);
            assert!(list.capacity() >= model.len());
        }
        // SAFETY: taken above; the records have never used it.
        unsafe { universe.give_chunk(run) };
    }
}
