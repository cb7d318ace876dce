//! Required fragments: whoever comes to have one comes to have others with it.
//!
//! # State
//! Each fragment has a list of what it requires, each entry with the function that makes a value, and whether the list is
//! settled: the address of the first entry, and its lowest bit.
//!
//! # Operations
//! * [`Required::add`] puts an entry before the first one, unless the list is settled.
//! * [`Required::settle`] settles the list and walks along it.
//! * [`FragmentRegistry::needs`] settles the lists of fragments that come, and of those that come with them, and says which
//!   these are: the *needs* of a set of fragments, those that it requires, directly or not, and does not name itself. A
//!   cycle is no fault: what is there already is not required again.
//!
//! # Invariant
//! A list that is settled never changes. So the needs of a set are the same for each world, recorder and flush that asks,
//! whenever it does, and what was worked out from them once (an archetype's edges, where a bundle's entities come, a
//! recorder's streams) holds for ever.
//!
//! # Linearization points
//! Both are the exchange of the first entry. Lock-free.
//!
//! # Who makes the value
//! Of several that require a fragment, the nearest to what comes decides how its value is made; among those equally near,
//! the one with the lowest number. That depends on no order of calls to `require`, but on the order in which types were
//! registered, as all does that goes by numbers: who wants the same each time registers them on one thread.
//!
//! # Where needs are asked for
//! Nowhere on the way of a row. Where a composition is found for what comes, and cached: the edge of a change
//! (`World::add_edge`), where a bundle's entities come (`World::bundle_archetype`), a recorder's stream (`Lane::find_way`),
//! an order of copies (`Claims::of_order`), and each kind of recorded change, which leads by its net change to a way of its
//! own (`World::way_along`). What comes with them is made by [`Fills`](crate::archetype::Fills), for each entity, or for each
//! piece of those that move together, before anything of it changes: so who is at hand as a constructor panics is as before. In
//! the rows of a new batch it is made where it belongs, before these have entities.
//!
//! Only who *comes* brings others along. What is copied as it is (a clone of an entity, one that moves to another world, a
//! snapshot) has what it has; what was taken away stays away until an owner comes again.

#[cfg(not(loom))]
use core::fmt;
use core::ptr;
#[cfg(not(loom))]
use std::sync::Arc;

#[cfg(not(loom))]
use smallvec::SmallVec;

use crate::fragment::FragmentId;
#[cfg(not(loom))]
use crate::fragment::FragmentRegistry;
use crate::panics::{note, resume_alone};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::mutant;

/// What makes values: so many, one behind the other, where there are none. Counts those that are made.
#[cfg(not(loom))]
type MakeValues = dyn Fn(*mut u8, usize, &mut usize) + Send + Sync;

/// Makes values of one fragment.
#[cfg(not(loom))]
#[derive(Clone)]
pub(crate) struct Maker(Arc<MakeValues>);

#[cfg(not(loom))]
impl Maker {
    /// The values that `make` makes, one after the other.
    pub(crate) fn of<T>(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self(Arc::new(
            move |to: *mut u8, count: usize, made: &mut usize| {
                let to = to.cast::<T>();
                for at in 0..count {
                    // SAFETY: room for so many: see `make`.
                    unsafe { to.add(at).write(make()) };
                    *made = at + 1;
                }
            },
        ))
    }

    /// Clones of a value whose fragment can be cloned.
    pub(crate) fn cloning(value: crate::fragment::Value) -> Self {
        let size = value.size();
        Self(Arc::new(
            move |to: *mut u8, count: usize, made: &mut usize| {
                for at in 0..count {
                    // SAFETY: room for so many: see `make`.
                    unsafe { value.clone_to(to.wrapping_add(at * size)) };
                    *made = at + 1;
                }
            },
        ))
    }

    /// Makes `count` values from `to` on, and counts in `made` those that are there, if it panics.
    ///
    /// # Safety
    /// Room for so many values of the fragment that this was given for, which holds none.
    pub(crate) unsafe fn make(&self, to: *mut u8, count: usize, made: &mut usize) {
        (self.0)(to, count, made);
    }
}

#[cfg(not(loom))]
impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

// As with `MapValue`: who holds one need not say in which state a closure of the user's is after a panic.
#[cfg(not(loom))]
impl core::panic::UnwindSafe for Maker {}
#[cfg(not(loom))]
impl core::panic::RefUnwindSafe for Maker {}

/// Models have no values.
#[cfg(loom)]
pub(crate) type Maker = ();

/// One fragment that another requires.
#[derive(Debug)]
pub(crate) struct Requirement {
    pub(crate) needed: FragmentId,
    #[cfg_attr(loom, expect(dead_code, reason = "models have no values"))]
    pub(crate) maker: Maker,
    /// The entry behind it. Written before others see this one.
    next: *mut Requirement,
}

/// What one fragment requires.
#[derive(Debug)]
pub(crate) struct Required {
    /// The first entry, or null; the lowest bit says that the list is settled.
    first: AtomicPtr<Requirement>,
}

/// The list is settled, and lacks what was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled;

/// The bit that says so.
const SETTLED: usize = 1;

impl Required {
    /// Adds an entry, unless the fragment is required already: the first one stays. Lock-free.
    ///
    /// # Errors
    /// The list is settled without it.
    pub(crate) fn add(&self, needed: FragmentId, maker: Maker) -> Result<(), Settled> {
        // Ordering: Acquire, here and below, pairs with the Release that published the entries: they are read.
        let mut first = self.first.load(Ordering::Acquire);
        let mut new = Box::new(Requirement {
            needed,
            maker,
            next: ptr::null_mut(),
        });
        loop {
            if entries(first).any(|entry| entry.needed == needed) {
                return Ok(());
            }
            if is_settled(first) && !mutant::active("required_after_settled") {
                return Err(Settled);
            }
            new.next = first;
            let entry = Box::into_raw(new);
            // Ordering: Release publishes the entry.
            match self
                .first
                .compare_exchange(first, entry, Ordering::AcqRel, Ordering::Acquire)
            {
                // The list's now.
                Ok(_) => return Ok(()),
                Err(now) => first = now,
            }
            // SAFETY: just from `into_raw`, and nobody else has seen it.
            new = unsafe { Box::from_raw(entry) };
        }
    }

    /// Settles the list: nothing is added to it from now on. Its entries. Lock-free.
    pub(crate) fn settle(&self) -> impl Iterator<Item = &Requirement> + Clone {
        // Ordering: as in `add`.
        let mut first = self.first.load(Ordering::Acquire);
        while !is_settled(first) {
            let settled = first.map_addr(|address| address | SETTLED);
            // Ordering: AcqRel: whoever adds after this sees that it may not; what was added before is read here.
            match self
                .first
                .compare_exchange(first, settled, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => first = settled,
                Err(now) => first = now,
            }
        }
        entries(first)
    }

    /// The entries that there are at this moment.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Requirement> + Clone {
        // Ordering: as in `add`.
        entries(self.first.load(Ordering::Acquire))
    }
}

fn is_settled(first: *mut Requirement) -> bool {
    first.addr() & SETTLED != 0
}

/// The entries of a list, from what stands for its first one on.
fn entries<'a>(first: *mut Requirement) -> impl Iterator<Item = &'a Requirement> + Clone {
    let untagged = |entry: *mut Requirement| entry.map_addr(|address| address & !SETTLED);
    // SAFETY: null, or an entry of a list, which lives as long as the list.
    let first = unsafe { untagged(first).as_ref() };
    // SAFETY: as above.
    core::iter::successors(first, move |entry| unsafe { untagged(entry.next).as_ref() })
}

impl Default for Required {
    fn default() -> Self {
        Self {
            first: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

impl Drop for Required {
    fn drop(&mut self) {
        // Ordering: to have it to oneself comes after everybody.
        let mut next = self.first.load(Ordering::Acquire);
        let mut panicked = None;
        loop {
            next = next.map_addr(|address| address & !SETTLED);
            if next.is_null() {
                break;
            }
            // SAFETY: every entry came from `Box::into_raw`, stands in one list once, and nobody uses it.
            let entry = unsafe { Box::from_raw(next) };
            next = entry.next;
            // What makes a value may hold what panics when it is dropped.
            note(&mut panicked, || drop(entry));
        }
        resume_alone(panicked);
    }
}

/// A fragment that comes with others.
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Need {
    pub(crate) id: FragmentId,
    /// The one that requires it, and says how its value is made.
    pub(crate) by: FragmentId,
}

#[cfg(not(loom))]
impl FragmentRegistry {
    /// What comes with these fragments, which are in the order of their numbers: in that order, too. From now on what they
    /// require, and what those do, is settled. O(fragments), and O(needs²); lock-free.
    pub(crate) fn needs(&self, given: &[FragmentId]) -> Vec<Need> {
        self.needs_without(given, &[])
    }

    /// The same, but for what is named as going in the same move, which brings nothing along either. In the order of their
    /// numbers, too.
    pub(crate) fn needs_without(&self, come: &[FragmentId], gone: &[FragmentId]) -> Vec<Need> {
        let given = (come, gone);
        let mut needs: Vec<Need> = Vec::new();
        // What is given, then what comes by it, then what comes by that: each in the order of its numbers.
        let mut level = SmallVec::<[FragmentId; 16]>::from_slice(come);
        while !level.is_empty() {
            let known = needs.len();
            for &id in &level {
                self.require_of(id, given, &mut needs);
            }
            needs[known..].sort_unstable_by_key(|need| need.id);
            level.clear();
            level.extend(needs[known..].iter().map(|need| need.id));
        }
        needs.sort_unstable_by_key(|need| need.id);
        needs
    }

    /// Adds what one fragment requires, and what is neither given nor there yet.
    fn require_of(
        &self,
        by: FragmentId,
        (come, gone): (&[FragmentId], &[FragmentId]),
        needs: &mut Vec<Need>,
    ) {
        let Some(info) = self.get(by) else { return };
        for requirement in info.required().settle() {
            let id = requirement.needed;
            let is_given = come.binary_search(&id).is_ok() || gone.binary_search(&id).is_ok();
            if !is_given && !needs.iter().any(|need| need.id == id) {
                needs.push(Need { id, by });
            }
        }
    }

    /// What makes the value of a need.
    pub(crate) fn maker(&self, need: Need) -> Option<&Maker> {
        let mut entries = self.get(need.by)?.required().iter();
        Some(&entries.find(|entry| entry.needed == need.id)?.maker)
    }
}

/// Fragments with their needs, both in the order of their numbers.
#[cfg(not(loom))]
pub(crate) fn with_needs(ids: &[FragmentId], needs: &[Need]) -> Vec<FragmentId> {
    let mut all: Vec<FragmentId> = ids.to_vec();
    all.extend(needs.iter().map(|need| need.id));
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn ids(numbers: &[u16]) -> Vec<FragmentId> {
        numbers
            .iter()
            .copied()
            .map(FragmentId::from_number)
            .collect()
    }

    fn registry_of(count: u16, requires: &[(u16, u16)]) -> FragmentRegistry {
        let registry = FragmentRegistry::new();
        for number in 0..count {
            let name = format!("f{number}");
            registry
                .define_plain(&name, core::alloc::Layout::new::<u8>())
                .unwrap();
        }
        for &(owner, needed) in requires {
            let owner = registry.get(FragmentId::from_number(owner)).unwrap();
            let maker = Maker::of(|| 0_u8);
            owner
                .required()
                .add(FragmentId::from_number(needed), maker)
                .unwrap();
        }
        registry
    }

    fn needs(registry: &FragmentRegistry, given: &[u16]) -> Vec<(u16, u16)> {
        let needs = registry.needs(&ids(given));
        needs
            .iter()
            .map(|need| (need.id.number(), need.by.number()))
            .collect()
    }

    #[test]
    fn needs_are_what_is_required_directly_or_not_and_not_given() {
        let registry = registry_of(6, &[(0, 1), (1, 2), (2, 0), (3, 3), (3, 2), (4, 5)]);
        assert_eq!(needs(&registry, &[0]), [(1, 0), (2, 1)]);
        assert_eq!(needs(&registry, &[2]), [(0, 2), (1, 0)]);
        assert_eq!(needs(&registry, &[0, 2]), [(1, 0)]);
        assert_eq!(needs(&registry, &[3]), [(0, 2), (1, 0), (2, 3)]);
        assert_eq!(needs(&registry, &[4]), [(5, 4)]);
        assert_eq!(needs(&registry, &[1, 4, 5]), [(0, 2), (2, 1)]);
        assert_eq!(needs(&registry, &[]), []);
    }

    #[test]
    fn the_nearest_says_how_a_value_is_made_in_whatever_order_it_was_said() {
        let said = [(0, 2), (2, 3), (3, 4), (1, 4), (5, 4)];
        for turn in 0..said.len() {
            let mut said = said;
            said.rotate_left(turn);
            let registry = registry_of(6, &said);
            assert_eq!(needs(&registry, &[0, 1, 5]), [(2, 0), (3, 2), (4, 1)]);
            assert_eq!(needs(&registry, &[0]), [(2, 0), (3, 2), (4, 3)]);
        }
        // Also where those that are equally near came by different ones.
        let registry = registry_of(6, &[(0, 5), (1, 3), (3, 4), (5, 4)]);
        assert_eq!(needs(&registry, &[0, 1]), [(3, 1), (4, 3), (5, 0)]);
    }

    #[test]
    fn what_is_settled_stays_and_what_it_has_may_be_said_again() {
        let required = Required::default();
        let [one, other] = [FragmentId::from_number(1), FragmentId::from_number(2)];
        required.add(one, Maker::of(|| 1_u8)).unwrap();
        assert_eq!(required.settle().count(), 1);
        assert_eq!(required.add(one, Maker::of(|| 2_u8)), Ok(()));
        assert_eq!(required.add(other, Maker::of(|| 2_u8)), Err(Settled));
        let all: Vec<_> = required.iter().map(|entry| entry.needed).collect();
        assert_eq!(all, [one]);
        let mut value = 0_u8;
        let maker = &required.iter().next().unwrap().maker;
        // SAFETY: room for one.
        unsafe { maker.make(&raw mut value, 1, &mut 0) };
        assert_eq!(value, 1, "the first one stays");
        let empty = Required::default();
        assert_eq!(empty.settle().count(), 0);
        assert_eq!(empty.add(one, Maker::of(|| 2_u8)), Err(Settled));
    }

    #[test]
    fn who_settles_sees_all_that_was_taken_in_by_then() {
        use crate::sync::thread;
        for _ in 0..200 {
            let required = Required::default();
            let added = thread::scope(|scope| {
                let add = |id: u16| {
                    let required = &required;
                    scope.spawn(move || {
                        required.add(FragmentId::from_number(id), Maker::of(|| 0_u8))
                    })
                };
                let threads = [add(1), add(2)];
                let seen = required.settle().count();
                let added = threads.map(|thread| thread.join().unwrap().is_ok());
                (seen, added.into_iter().filter(|&added| added).count())
            });
            assert_eq!(added.0, added.1);
            assert_eq!(required.iter().count(), added.0);
        }
    }
}
