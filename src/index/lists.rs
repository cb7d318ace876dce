//! `Lists`: which entities have which key, both ways.
//!
//! Must hold, once they are [settled](Lists::settle): each entity is in exactly one list, that of its key, once, and this is
//! in the order of handles; a key has a list, to which its finder leads, exactly if an entity has it.

use core::fmt;

use smallvec::SmallVec;

use crate::entity::Entity;
use crate::index::by_slot::BySlot;
use crate::panics::{Panicked, end_all, resume_alone};

/// Leads from keys to the numbers of their lists.
pub(super) trait Finder<K> {
    fn find(&self, key: &K) -> Option<u32>;
    /// A key that it does not know gets a list.
    fn enter(&mut self, key: &K, list: u32);
    /// A key has no list any more.
    fn leave(&mut self, key: &K);
    /// Lets all keys go, however many of their `drop`s panic.
    fn end(&mut self, panicked: &mut Panicked);
}

/// Entities and their keys.
pub(super) struct Lists<K, F: Finder<K>> {
    entities: BySlot<Known>,
    all: Vec<List<K>>,
    finder: F,
    /// Lists of no key, to be used again.
    free: Vec<u32>,
    /// Lists that are to be settled.
    touched: Vec<u32>,
    len: usize,
}

/// What is known of the last entity of a slot; its version is 0 if there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    version: u32,
    list: u32,
}

/// The entities that have a key.
struct List<K> {
    /// `None`: the list waits to be used again.
    key: Option<K>,
    entities: SmallVec<[Entity; 2]>,
    is_touched: bool,
}

impl<K: Eq + Clone, F: Finder<K>> Lists<K, F> {
    pub(super) const fn new(finder: F) -> Self {
        Self {
            entities: BySlot::new(),
            all: Vec::new(),
            finder,
            free: Vec::new(),
            touched: Vec::new(),
            len: 0,
        }
    }

    /// How many entities there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn finder(&self) -> &F {
        &self.finder
    }

    /// The key of an entity.
    #[inline]
    pub(super) fn key(&self, entity: Entity) -> Option<&K> {
        let list = self.list_of(entity)?;
        self.all[list as usize].key.as_ref()
    }

    /// Who has a key.
    #[inline]
    pub(super) fn entities(&self, key: &K) -> &[Entity] {
        self.finder.find(key).map_or(&[], |list| self.get(list))
    }

    /// The entities of a list.
    #[inline]
    pub(super) fn get(&self, list: u32) -> &[Entity] {
        &self.all[list as usize].entities
    }

    /// Notes which key an entity has.
    pub(super) fn set(&mut self, entity: Entity, key: &K) {
        let known = self.entities.get(entity.index());
        let is_known = known.version == entity.version();
        if is_known && self.all[known.list as usize].key.as_ref() == Some(key) {
            return;
        }
        let list = self.list_for(key);
        if is_known && known.list == list {
            return;
        }
        if known.version == 0 {
            self.len += 1;
        } else {
            // It has another one now, or one that is dead had its slot.
            self.touch(known.list);
        }
        *self.entities.at(entity.index()) = Known {
            version: entity.version(),
            list,
        };
        self.all[list as usize].entities.push(entity);
        self.touch(list);
    }

    /// Forgets an entity, if it is known.
    pub(super) fn remove(&mut self, entity: Entity) {
        if let Some(list) = self.list_of(entity) {
            *self.entities.at(entity.index()) = Known::default();
            self.len -= 1;
            self.touch(list);
        }
    }

    /// Brings the lists in order in which entities came or went. O(their lengths).
    pub(super) fn settle(&mut self) {
        while let Some(number) = self.touched.pop() {
            let known = &self.entities;
            let list = &mut self.all[number as usize];
            list.is_touched = false;
            list.entities.retain(|entity| {
                let known = known.get(entity.index());
                (known.version, known.list) == (entity.version(), number)
            });
            // What was in order is taken as it is.
            list.entities.sort();
            // Rows are lent by these lists: whatever was set how often, an entity is in one of them once.
            list.entities.dedup();
            if list.entities.is_empty()
                && let Some(key) = list.key.take()
            {
                list.entities = SmallVec::new();
                self.free.push(number);
                self.finder.leave(&key);
            }
        }
    }

    fn touch(&mut self, list: u32) {
        let is_touched = &mut self.all[list as usize].is_touched;
        if !core::mem::replace(is_touched, true) {
            self.touched.push(list);
        }
    }

    fn list_of(&self, entity: Entity) -> Option<u32> {
        let known = self.entities.get(entity.index());
        // A handle's version is odd.
        (known.version == entity.version()).then_some(known.list)
    }

    fn list_for(&mut self, key: &K) -> u32 {
        if let Some(list) = self.finder.find(key) {
            return list;
        }
        let list = List {
            key: Some(key.clone()),
            entities: SmallVec::new(),
            is_touched: false,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = list;
                number
            }
            None => {
                self.all.push(list);
                self.all.len() as u32 - 1
            }
        };
        self.finder.enter(key, number);
        number
    }
}

impl<K, F: Finder<K>> fmt::Debug for Lists<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lists")
            .field("entities", &self.len)
            .finish_non_exhaustive()
    }
}

impl<K, F: Finder<K>> Drop for Lists<K, F> {
    fn drop(&mut self) {
        // Keys are the user's, and their `drop` may panic.
        let mut panicked = None;
        end_all(&mut panicked, core::mem::take(&mut self.all));
        self.finder.end(&mut panicked);
        resume_alone(panicked);
    }
}
