//! `Bundles`: what a world knows of each bundle type that it has met, and of each set of fragments that came or went
//! without one.
//!
//! Must hold: only edges, and calls that change the world, know numbers of bundles that no type stands for; they are
//! [forgotten](Bundles::forget_dynamic) with all edges, in a call that changes nothing else.

use core::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;

use crate::archetype::{Change, Fills};
use crate::fragment::{Bundle, FragmentError, FragmentId, FragmentRegistry, RowMoves};
use crate::hashers::{ByNumbers, ByTypes};

/// "Not made yet."
pub(crate) const NO_ARCHETYPE: u32 = u32::MAX;

/// A bundle's fragments, and where entities go that are created from it.
#[derive(Debug)]
pub(crate) struct BundleInfo {
    /// In the order of the tuple.
    pub(crate) ids: Arc<[FragmentId]>,
    /// In the order of their numbers.
    pub(crate) sorted: Arc<[FragmentId]>,
    /// What moves a row of the first so many of `ids`, if the type says so: the others lie in no columns.
    pub(crate) moves: Option<(RowMoves, usize)>,
    /// The archetype of exactly these fragments, or [`NO_ARCHETYPE`]: not made yet, or entities come with more.
    pub(crate) archetype: u32,
    /// Where each value goes in a chunk of that archetype, or of the one where its entities come with more, in the order of
    /// the tuple.
    pub(crate) offsets: Arc<[u32]>,
    /// Where entities come that are created from it, if they come with more than it has: then there is no `archetype`.
    pub(crate) completed: Option<Completed>,
}

/// Where entities of a bundle come with [more](crate::fragment::FragmentRegistry::require) than it has.
#[derive(Clone, Debug)]
pub(crate) struct Completed {
    pub(crate) archetype: u32,
    pub(crate) fills: Arc<Fills>,
}

impl BundleInfo {
    /// What is known of a number that no bundle has.
    fn none() -> Self {
        Self {
            ids: Arc::default(),
            sorted: Arc::default(),
            moves: None,
            archetype: NO_ARCHETYPE,
            offsets: Arc::default(),
            completed: None,
        }
    }
}

/// Places of what was asked for last; a power of two.
const RECENT: usize = 8;

/// The place of some fragments.
#[inline(always)]
fn recent_place(ids: &[FragmentId]) -> usize {
    let first = ids.first().map_or(0, |id| id.number());
    (usize::from(first) + ids.len()) % RECENT
}

/// Bundle types → numbers → what is known.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    numbers: HashMap<TypeId, u32, ByTypes>,
    /// Those that no type stands for, by their fragments.
    by_ids: HashMap<Box<[FragmentId]>, u32, ByNumbers>,
    pub(crate) infos: Vec<BundleInfo>,
    /// What of those comes by default that come with nothing more.
    pub(crate) unfilled: Arc<Fills>,
    /// Numbers that no bundle has: their `infos` are empty.
    free: Vec<u32>,
    /// The type that was asked for last: most calls ask for the same again.
    last: Option<(TypeId, u32)>,
    /// Numbers of those in `by_ids` that were asked for last, each in the place of its fragments.
    recent: [Option<u32>; RECENT],
}

impl Bundles {
    /// The number of a bundle type.
    #[inline]
    pub(crate) fn number<B: Bundle>(
        &mut self,
        registry: &FragmentRegistry,
    ) -> Result<u32, FragmentError> {
        let id = TypeId::of::<B>();
        match self.last {
            Some((last, number)) if last == id => Ok(number),
            _ => {
                let moves = B::MOVES.map(|moves| (moves, B::LEN));
                self.look_up(id, registry, B::ids, moves)
            }
        }
    }

    /// The number of the bundle of these fragments, which are sorted and differ.
    pub(crate) fn number_of(&mut self, ids: &[FragmentId]) -> u32 {
        if let Some(number) = self.recent_number_of(ids) {
            return number;
        }
        let number = self.look_up_ids(ids);
        self.recent[recent_place(ids)] = Some(number);
        number
    }

    #[inline(never)]
    fn look_up_ids(&mut self, ids: &[FragmentId]) -> u32 {
        if let Some(&number) = self.by_ids.get(ids) {
            return number;
        }
        let sorted: Arc<[FragmentId]> = ids.into();
        let number = self.add(BundleInfo {
            ids: Arc::clone(&sorted),
            sorted,
            ..BundleInfo::none()
        });
        self.by_ids.insert(ids.into(), number);
        number
    }

    /// The change by which fragments go, and others come: both sorted.
    pub(crate) fn change_of(&mut self, gone: &[FragmentId], come: &[FragmentId]) -> Change {
        match (gone.is_empty(), come.is_empty()) {
            (true, _) => Change::Add(self.number_of(come)),
            (false, true) => Change::Remove(self.number_of(gone)),
            (false, false) => Change::Swap(self.number_of(gone), self.number_of(come)),
        }
    }

    /// The same, if it was asked for of late.
    #[inline]
    fn recent_number_of(&self, ids: &[FragmentId]) -> Option<u32> {
        let number = self.recent[recent_place(ids)]?;
        (*self.infos[number as usize].sorted == *ids).then_some(number)
    }

    /// The same, if what goes and what comes have numbers already.
    pub(crate) fn known_change_of(
        &self,
        gone: &[FragmentId],
        come: &[FragmentId],
    ) -> Option<Change> {
        let number = |ids| {
            let recent = self.recent_number_of(ids);
            recent.or_else(|| self.by_ids.get(ids).copied())
        };
        Some(match (gone.is_empty(), come.is_empty()) {
            (true, _) => Change::Add(number(come)?),
            (false, true) => Change::Remove(number(gone)?),
            (false, false) => Change::Swap(number(gone)?, number(come)?),
        })
    }

    /// Gives a bundle a number.
    fn add(&mut self, info: BundleInfo) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.infos[number as usize] = info;
                number
            }
            None => {
                self.infos.push(info);
                self.infos.len() as u32 - 1
            }
        }
    }

    /// Forgets the bundles that no type stands for; whether there were any. Others will have their
    /// numbers: what was kept by one is to be forgotten, too.
    pub(crate) fn forget_dynamic(&mut self) -> bool {
        let before = self.free.len();
        self.recent = [None; RECENT];
        for (_, number) in self.by_ids.drain() {
            self.infos[number as usize] = BundleInfo::none();
            self.free.push(number);
        }
        // The same world gives the same numbers: the lowest come first.
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        self.free.len() > before
    }

    /// Bundles that have a number, and numbers that none has.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len() + self.by_ids.len() + self.free.len()
    }

    /// The number of a bundle type, of which the rest is said by values: compiled once, and not for each type.
    #[cold]
    #[inline(never)]
    fn look_up(
        &mut self,
        id: TypeId,
        registry: &FragmentRegistry,
        ids_of: fn(&FragmentRegistry, &mut Vec<FragmentId>) -> Result<(), FragmentError>,
        moves: Option<(RowMoves, usize)>,
    ) -> Result<u32, FragmentError> {
        let number = match self.numbers.get(&id) {
            Some(&number) => number,
            None => {
                let mut ids = Vec::new();
                ids_of(registry, &mut ids)?;
                let ids: Arc<[FragmentId]> = ids.into();
                // Mostly the fragments of a bundle have come to be known by it, one after the other.
                let mut sorted = Arc::clone(&ids);
                if !ids.is_sorted() {
                    Arc::make_mut(&mut sorted).sort_unstable();
                }
                if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                    let name = registry.get(pair[0]).map_or("", |info| info.name());
                    return Err(FragmentError::Twice { name: name.into() });
                }
                let number = self.add(BundleInfo {
                    ids,
                    sorted,
                    moves,
                    ..BundleInfo::none()
                });
                self.numbers.insert(id, number);
                number
            }
        };
        self.last = Some((id, number));
        Ok(number)
    }
}
