//! `ByTarget`: the list of each target, in the order of handles.
//!
//! Must hold: the links of targets that had one slot lead from the first to the last of these.

use crate::entity::Entity;
use crate::fragment::panic::Panicked;
use crate::index::by_slot::BySlot;
use crate::index::lists::Finder;

/// "No list."
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct ByTarget {
    /// The list of the first target of each slot.
    first: BySlot<First>,
    /// Of each list that some target has.
    links: Vec<Link>,
    /// The list of those that name nobody.
    nobody: Option<u32>,
}

/// A list, or [`NONE`].
#[derive(Clone, Copy, Debug)]
struct First(u32);

impl Default for First {
    fn default() -> Self {
        Self(NONE)
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    target: Entity,
    /// The list of the next target that had the slot later, or [`NONE`].
    later: u32,
}

impl ByTarget {
    pub(super) const fn new() -> Self {
        Self {
            first: BySlot::new(),
            links: Vec::new(),
            nobody: None,
        }
    }

    /// Each target that is named, and the number of its list, in the order of handles. Nobody is no target.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Entity, u32)> {
        self.first.iter().flat_map(|First(first)| {
            let link = |number: u32| Some((self.links.get(number as usize)?, number));
            let links = core::iter::successors(link(first), move |&(before, _)| link(before.later));
            links.map(|(link, number)| (link.target, number))
        })
    }

    /// What leads to the list of a target, or would lead to it.
    fn link_to(&mut self, target: Entity) -> &mut u32 {
        let mut before = NONE;
        let mut at = self.first.get(target.index()).0;
        while let Some(link) = self.links.get(at as usize)
            && link.target < target
        {
            before = at;
            at = link.later;
        }
        match self.links.get_mut(before as usize) {
            Some(before) => &mut before.later,
            None => &mut self.first.at(target.index()).0,
        }
    }
}

impl Finder<Entity> for ByTarget {
    #[inline]
    fn find(&self, &target: &Entity) -> Option<u32> {
        if target == Entity::PLACEHOLDER {
            return self.nobody;
        }
        let mut number = self.first.get(target.index()).0;
        while let Some(link) = self.links.get(number as usize) {
            if link.target == target {
                return Some(number);
            }
            number = link.later;
        }
        None
    }

    fn enter(&mut self, &target: &Entity, list: u32) {
        let none = Link {
            target: Entity::PLACEHOLDER,
            later: NONE,
        };
        if self.links.len() <= list as usize {
            self.links.resize(list as usize + 1, none);
        }
        if target == Entity::PLACEHOLDER {
            self.nobody = Some(list);
            return;
        }
        let link = self.link_to(target);
        let later = core::mem::replace(link, list);
        self.links[list as usize] = Link { target, later };
    }

    fn leave(&mut self, &target: &Entity) {
        if target == Entity::PLACEHOLDER {
            self.nobody = None;
        } else if let Some(list) = self.find(&target) {
            let later = self.links[list as usize].later;
            *self.link_to(target) = later;
        }
    }

    fn end(&mut self, _: &mut Panicked) {}
}
