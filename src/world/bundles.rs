//! `Bundles`: what a world knows of each bundle type that it has met, and of each set of fragments that came or went
//! without one.
//!
//! Must hold: only edges, and calls that change the world, know numbers of bundles that no type stands for; they are
//! [forgotten](Bundles::forget_dynamic) with all edges, in a call that changes nothing else.

use core::any::TypeId;
use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;
use std::sync::Arc;

use crate::fragment::{Bundle, FragmentError, FragmentId, FragmentRegistry, RowMoves};

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
    /// The archetype of exactly these fragments, or [`NO_ARCHETYPE`].
    pub(crate) archetype: u32,
    /// Where each value goes in a chunk of that archetype, in the order of the tuple.
    pub(crate) offsets: Arc<[u32]>,
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
        }
    }
}

/// Bundle types → numbers → what is known.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    numbers: HashMap<TypeId, u32, BuildHasherDefault<TypeHasher>>,
    /// Those that no type stands for, by their fragments.
    by_ids: HashMap<Box<[FragmentId]>, u32>,
    pub(crate) infos: Vec<BundleInfo>,
    /// Numbers that no bundle has: their `infos` are empty.
    free: Vec<u32>,
    /// The type that was asked for last: most calls ask for the same again.
    last: Option<(TypeId, u32)>,
}

/// A type's number is a hash already.
#[derive(Debug, Default)]
pub(crate) struct TypeHasher(u64);

impl Hasher for TypeHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 << 8 | u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn write_u64(&mut self, bits: u64) {
        self.0 = bits;
    }

    /// What comes beside a type: both are to be seen in the lowest bits and in the highest.
    fn write_u32(&mut self, bits: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(bits)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
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
            _ => self.look_up::<B>(registry),
        }
    }

    /// The number of the bundle of these fragments, which are sorted and differ.
    pub(crate) fn number_of(&mut self, ids: &[FragmentId]) -> u32 {
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

    #[cold]
    #[inline(never)]
    fn look_up<B: Bundle>(&mut self, registry: &FragmentRegistry) -> Result<u32, FragmentError> {
        let id = TypeId::of::<B>();
        let number = match self.numbers.get(&id) {
            Some(&number) => number,
            None => {
                let mut ids = Vec::with_capacity(B::LEN);
                B::ids(registry, &mut ids)?;
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
                    moves: B::MOVES.map(|moves| (moves, B::LEN)),
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

#[cfg(test)]
mod tests {
    use core::hash::Hash;
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn types_with_numbers_beside_them_have_places_of_their_own() {
        for of in [TypeId::of::<u8>(), TypeId::of::<String>()] {
            let hash = |number: u32| {
                let mut hasher = TypeHasher::default();
                (of, number).hash(&mut hasher);
                hasher.finish()
            };
            // A table takes the place from the lowest bits, and tells those that share one apart by the highest.
            let places: HashSet<u64> = (0..4_096).map(|number| hash(number) % 4_096).collect();
            assert!(places.len() > 2_000, "{}", places.len());
            let marks: HashSet<u64> = (0..4_096).map(|number| hash(number) >> 57).collect();
            assert!(marks.len() > 100, "{}", marks.len());
        }
    }
}
