//! `FragmentKeys`: what the fragments of a state are known by, in order.
//!
//! Whoever goes through compositions has their numbers there: of a name, which may be as long as a file, it is asked once
//! how it compares to others, and what its hash is, however many compositions have it.

use core::cmp::Ordering;
use std::collections::BTreeMap;

use crate::fragment::{FragmentId, FragmentInfo, FragmentKind};
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::fragments::SavedFragment;

/// What a fragment is known by in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FragmentKey<'a> {
    pub(super) name: &'a str,
    pub(super) kind: FragmentKind,
    /// Bytes of a value; 0 if they are written, for each may have others.
    pub(super) size: usize,
    /// Values are written as closures say.
    pub(super) is_written: bool,
    /// Of the name: see [`hash_of`].
    pub(super) name_hash: u64,
}

impl<'a> FragmentKey<'a> {
    /// O(bytes of the name).
    pub(super) fn of(info: &'a FragmentInfo) -> Self {
        let is_written = info.is_written();
        Self {
            name: info.name(),
            kind: info.kind(),
            size: if is_written { 0 } else { info.layout().size() },
            is_written,
            name_hash: hash_of(info.name()),
        }
    }

    fn of_saved(fragment: &'a SavedFragment) -> Self {
        Self {
            name: &fragment.name,
            kind: fragment.kind,
            size: if fragment.is_written {
                0
            } else {
                fragment.size
            },
            is_written: fragment.is_written,
            name_hash: fragment.name_hash,
        }
    }

    /// Whether another has its name and role.
    pub(super) fn is_called_as(&self, other: &Self) -> bool {
        (self.name_hash, self.kind) == (other.name_hash, other.kind) && self.name == other.name
    }
}

/// The hash of a name.
pub(super) fn hash_of(name: &str) -> u64 {
    Checksum::of(name.as_bytes())
}

/// The fragments of a file in the order of their keys. (One that this crate has not written may have them in any.)
#[derive(Default)]
pub(super) struct FragmentOrder {
    sorted: Vec<u32>,
    /// Of each fragment its place there.
    places: Vec<u32>,
}

impl FragmentOrder {
    /// O(bytes of the names), and times the logarithm of their number if they are in no order.
    pub(super) fn of(fragments: &[SavedFragment]) -> Self {
        let mut sorted: Vec<u32> = (0..).take(fragments.len()).collect();
        sorted.sort_by_key(|&at| FragmentKey::of_saved(&fragments[at as usize]));
        let mut places = vec![0; sorted.len()];
        for (place, &at) in (0..).zip(&sorted) {
            places[at as usize] = place;
        }
        Self { sorted, places }
    }

    /// The number of a fragment of the file.
    pub(super) fn number(&self, fragment: u32) -> u32 {
        self.places[fragment as usize]
    }
}

/// The keys of a state's fragments, each once, in order: their places are their numbers.
pub(super) enum FragmentKeys<'a> {
    OfFile(&'a [SavedFragment], &'a FragmentOrder),
    OfWorld(Vec<FragmentKey<'a>>),
}

impl<'a> FragmentKeys<'a> {
    /// Those of some fragments of one registry, each of which may come often, and their numbers.
    pub(super) fn of_infos(
        infos: impl Iterator<Item = &'a FragmentInfo>,
    ) -> (Self, BTreeMap<FragmentId, u32>) {
        let mut distinct = BTreeMap::new();
        for info in infos {
            let key = || FragmentKey::of(info);
            distinct.entry(info.id()).or_insert_with(key);
        }
        let mut sorted: Vec<_> = distinct.into_iter().map(|(id, key)| (key, id)).collect();
        sorted.sort_unstable();
        let (mut keys, mut numbers) = (Vec::new(), BTreeMap::new());
        for (key, id) in sorted {
            // Two may be called alike, if no entity has both.
            if keys.last() != Some(&key) {
                keys.push(key);
            }
            numbers.insert(id, keys.len() as u32 - 1);
        }
        (Self::OfWorld(keys), numbers)
    }

    fn len(&self) -> u32 {
        let len = match self {
            Self::OfFile(fragments, _) => fragments.len(),
            Self::OfWorld(keys) => keys.len(),
        };
        len as u32
    }

    /// The key with a number.
    pub(super) fn key(&self, number: u32) -> FragmentKey<'a> {
        match self {
            Self::OfFile(fragments, order) => {
                FragmentKey::of_saved(&fragments[order.sorted[number as usize] as usize])
            }
            Self::OfWorld(keys) => keys[number as usize],
        }
    }
}

/// The fragments of two states with numbers for both, in the order of their keys.
pub(super) struct CommonNumbers {
    /// Of each number of one state that for both.
    pub(super) here: Vec<u32>,
    pub(super) there: Vec<u32>,
}

impl CommonNumbers {
    /// O(fragments + bytes of their names).
    pub(super) fn of(here: &FragmentKeys<'_>, there: &FragmentKeys<'_>) -> Self {
        let mut numbers = Self {
            here: Vec::new(),
            there: Vec::new(),
        };
        for number in 0.. {
            let (one, two) = (numbers.here.len() as u32, numbers.there.len() as u32);
            let order = match (one < here.len(), two < there.len()) {
                (true, true) => here.key(one).cmp(&there.key(two)),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => break,
            };
            if order.is_le() {
                numbers.here.push(number);
            }
            if order.is_ge() {
                numbers.there.push(number);
            }
        }
        numbers
    }
}
