//! `Lists`: who names whom, both ways.
//!
//! Must hold, once it is [settled](Lists::settle): each source is in exactly one list, that of its target, which is in the
//! order of handles; a target has a list exactly if it has sources, but that of nobody is always there; lists of targets that
//! had one slot lead from the first to the last of these.

use crate::entity::Entity;
use crate::index::by_slot::BySlot;
use crate::sync::geometry::SLOTS;

/// The list of those that name nobody: the placeholder, or a handle that no entity can have.
const NOBODY: u32 = 0;

/// "No list."
const NONE: u32 = u32::MAX;

/// Sources and their targets.
#[derive(Debug)]
pub(super) struct Lists {
    sources: BySlot<Source>,
    /// The list of the first target of each slot.
    targets: BySlot<First>,
    all: Vec<List>,
    /// Lists of no target, to be used again.
    free: Vec<u32>,
    /// Lists that are to be settled.
    touched: Vec<u32>,
    len: usize,
}

/// A list, or [`NONE`].
#[derive(Clone, Copy, Debug)]
struct First(u32);

impl Default for First {
    fn default() -> Self {
        Self(NONE)
    }
}

/// What is known of the last source of a slot; its version is 0 if there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    version: u32,
    list: u32,
}

/// The sources of a target.
#[derive(Debug)]
struct List {
    target: Entity,
    sources: Vec<Entity>,
    /// The list of the next target that had the slot later, or [`NONE`].
    later: u32,
    is_touched: bool,
}

impl List {
    fn of(target: Entity) -> Self {
        Self {
            target,
            sources: Vec::new(),
            later: NONE,
            is_touched: false,
        }
    }
}

impl Lists {
    pub(super) fn new() -> Self {
        Self {
            sources: BySlot::new(),
            targets: BySlot::new(),
            all: Vec::from([List::of(Entity::PLACEHOLDER)]),
            free: Vec::new(),
            touched: Vec::new(),
            len: 0,
        }
    }

    /// How many sources there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whom a source names.
    #[inline]
    pub(super) fn target(&self, source: Entity) -> Option<Entity> {
        let list = self.list_of(source)?;
        Some(self.all[list as usize].target)
    }

    /// Who names a target.
    #[inline]
    pub(super) fn sources(&self, target: Entity) -> &[Entity] {
        match self.find(target) {
            Some(list) => &self.all[list as usize].sources,
            None => &[],
        }
    }

    /// Each target that is named, with who names it, in the order of handles.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Entity, &[Entity])> {
        self.targets.iter().flat_map(|First(first)| {
            let lists = core::iter::successors(self.all.get(first as usize), |list| {
                self.all.get(list.later as usize)
            });
            lists.map(|list| (list.target, &*list.sources))
        })
    }

    /// Notes whom a source names.
    pub(super) fn set(&mut self, source: Entity, target: Entity) {
        let known = self.sources.get(source.index());
        let is_known = known.version == source.version();
        if is_known && self.all[known.list as usize].target == target {
            return;
        }
        let list = self.list_for(target);
        if is_known && known.list == list {
            return;
        }
        if known.version == 0 {
            self.len += 1;
        } else {
            // It names another one now, or one that is dead had its slot.
            self.touch(known.list);
        }
        *self.sources.at(source.index()) = Source {
            version: source.version(),
            list,
        };
        self.all[list as usize].sources.push(source);
        self.touch(list);
    }

    /// Forgets a source, if it is one.
    pub(super) fn remove(&mut self, source: Entity) {
        if let Some(list) = self.list_of(source) {
            *self.sources.at(source.index()) = Source::default();
            self.len -= 1;
            self.touch(list);
        }
    }

    /// Brings the lists in order in which sources came or went. O(their lengths).
    pub(super) fn settle(&mut self) {
        while let Some(number) = self.touched.pop() {
            let sources = &self.sources;
            let list = &mut self.all[number as usize];
            list.is_touched = false;
            list.sources.retain(|source| {
                let known = sources.get(source.index());
                (known.version, known.list) == (source.version(), number)
            });
            // What was in order is taken as it is.
            list.sources.sort();
            if list.sources.is_empty() && number != NOBODY {
                self.end(number);
            }
        }
    }

    /// Gives the list of a target back that nobody names any more.
    fn end(&mut self, number: u32) {
        let list = &mut self.all[number as usize];
        let later = core::mem::replace(&mut list.later, NONE);
        list.sources = Vec::new();
        let target = list.target;
        *self.link_to(target) = later;
        self.free.push(number);
    }

    /// What leads to the list of a target, or would lead to it.
    fn link_to(&mut self, target: Entity) -> &mut u32 {
        let mut before = NONE;
        let mut at = self.targets.get(target.index()).0;
        while let Some(list) = self.all.get(at as usize)
            && list.target < target
        {
            before = at;
            at = list.later;
        }
        match self.all.get_mut(before as usize) {
            Some(before) => &mut before.later,
            None => &mut self.targets.at(target.index()).0,
        }
    }

    fn touch(&mut self, list: u32) {
        let is_touched = &mut self.all[list as usize].is_touched;
        if !core::mem::replace(is_touched, true) {
            self.touched.push(list);
        }
    }

    fn list_of(&self, source: Entity) -> Option<u32> {
        let known = self.sources.get(source.index());
        // A handle's version is odd.
        (known.version == source.version()).then_some(known.list)
    }

    #[inline]
    fn find(&self, target: Entity) -> Option<u32> {
        if target.index() >= SLOTS {
            return (target == Entity::PLACEHOLDER).then_some(NOBODY);
        }
        let mut list = self.targets.get(target.index()).0;
        while let Some(found) = self.all.get(list as usize) {
            if found.target == target {
                return Some(list);
            }
            list = found.later;
        }
        None
    }

    fn list_for(&mut self, target: Entity) -> u32 {
        if target.index() >= SLOTS {
            return NOBODY;
        }
        if let Some(list) = self.find(target) {
            return list;
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = List::of(target);
                number
            }
            None => {
                self.all.push(List::of(target));
                self.all.len() as u32 - 1
            }
        };
        let link = self.link_to(target);
        let later = core::mem::replace(link, number);
        self.all[number as usize].later = later;
        number
    }
}
