//! `EntityMap`: which entities have become which, where they came back with new ids.

use core::fmt;
use std::collections::HashMap;

use crate::entity::{Entity, EntityMapIter};
use crate::hashers::ByNumbers;

/// Tells which entity has become which: for each old handle the new one, where saved entities came back [with new
/// ids](crate::world::World::load_remapped). Given to such a load, it says who is meant by handles in the file whose
/// entities do not come with it.
///
/// Memory: where the old ones lie close together, twelve bytes for each slot from the first to the last, but no more than
/// 48 for each entity (of the most that there were), and up to as much again where they came one by one; else 16 for each entity. Where such as lie far apart are put in or taken
/// out one by one, 20 to 40 for each.
///
/// ```
/// use std::sync::Arc;
/// use megachunk::prelude::*;
///
/// let universe = Arc::new(Universe::new());
/// let mut world = World::of(&universe)?;
/// let (ant, bee) = (world.create(())?, world.create(())?);
/// world.destroy(bee)?;
/// let saved = world.to_snapshot(&Default::default())?;
///
/// let nobody = Default::default();
/// let (copy, entities) = World::from_snapshot_remapped(&saved, &universe, &nobody, &Default::default())?;
/// let new = entities.get(ant).expect("it was saved");
/// assert!(copy.exists(new) && world.exists(ant) && new != ant);
/// assert_eq!(entities.get(bee), None);
/// assert_eq!(entities.iter().collect::<Vec<_>>(), [(ant, new)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct EntityMap {
    table: Table,
    len: usize,
    /// How many have come into a table that is not by slots since it was asked whether it may be.
    come: usize,
    /// Handles of others stay as they are.
    keeps_others: bool,
}

#[derive(Clone)]
enum Table {
    /// One old entity of a slot at most.
    BySlot {
        /// The slot of the first.
        first: u32,
        /// From this slot on the version of the old entity: odd, or 0 where there is none.
        versions: Vec<u32>,
        /// What it has become; anything where there is none.
        new: Vec<Entity>,
    },
    /// In the order of the old ones, each there once.
    Sorted(Vec<(Entity, Entity)>),
    /// In no order: where they come and go one by one.
    Hashed(Hashed),
}

/// Without a secret: who chooses handles that meet, a server for its clients or a client for a server that maps what it is told,
/// makes looking them up slow, and nothing else.
type Hashed = HashMap<Entity, Entity, ByNumbers>;

/// As long as there are no more, moving them is as quick as anything.
const FEW: usize = 32;

/// Slots that a table by slots has for each entity, at most.
const SPARSE: usize = 4;

impl EntityMap {
    /// Of entities that stand there twice the last one counts.
    pub(crate) fn of(pairs: impl Iterator<Item = (Entity, Entity)> + Clone) -> Self {
        Self::by_slot(pairs.clone()).unwrap_or_else(|| Self::sorted(pairs.collect()))
    }

    /// `None` if they lie far apart, or are of one slot.
    fn by_slot(pairs: impl Iterator<Item = (Entity, Entity)> + Clone) -> Option<Self> {
        let nobody = (u32::MAX, 0, 0_usize);
        let (first, last, count) = pairs
            .clone()
            .fold(nobody, |(first, last, count), (old, _)| {
                let slot = old.index();
                (slot.min(first), slot.max(last), count + 1)
            });
        let width = (last.checked_sub(first)?) as usize + 1;
        if width > SPARSE * count {
            return None;
        }
        let mut versions = vec![0; width];
        let mut new = vec![Entity::PLACEHOLDER; width];
        let mut len = 0;
        for (old, now) in pairs {
            let slot = (old.index() - first) as usize;
            match versions[slot] {
                0 => len += 1,
                version if version != old.version() => return None,
                _ => {}
            }
            versions[slot] = old.version();
            new[slot] = now;
        }
        // Some may have stood there twice.
        if width > SPARSE * len {
            return None;
        }
        let table = Table::BySlot {
            first,
            versions,
            new,
        };
        Some(Self::with(table, len))
    }

    fn sorted(mut pairs: Vec<(Entity, Entity)>) -> Self {
        // The last of equal ones comes first, and stays.
        pairs.reverse();
        pairs.sort_by_key(|&(old, _)| old);
        pairs.dedup_by_key(|&mut (old, _)| old);
        pairs.shrink_to_fit();
        let len = pairs.len();
        let table = Table::Sorted(pairs);
        Self::with(table, len)
    }

    fn with(table: Table, len: usize) -> Self {
        Self {
            table,
            len,
            come: 0,
            keeps_others: false,
        }
    }

    /// As this map, but handles that have no entry stay as they are when [values](crate::fragment::Plain::MAP_ENTITIES)
    /// are mapped, instead of becoming the placeholder. For values of this very universe, in which these handles mean
    /// whom they always meant; in another one they may mean anybody.
    ///
    /// ```
    /// use megachunk::entity::{Entity, EntityMap};
    ///
    /// let [old, new, other] = [1, 2, 3].map(|index| Entity::new(index, 1).expect("it is odd"));
    /// let entities: EntityMap = [(old, new)].into_iter().collect();
    /// let mut line = [old, other];
    /// entities.keeping_others().apply(&mut line);
    /// assert_eq!(line, [new, other]);
    /// ```
    #[must_use]
    pub fn keeping_others(mut self) -> Self {
        self.keeps_others = true;
        self
    }

    #[cfg(not(loom))]
    pub(crate) fn keeps_others(&self) -> bool {
        self.keeps_others
    }

    /// Whom a value names that named this entity.
    pub(crate) fn meant(&self, old: Entity) -> Entity {
        if old == Entity::PLACEHOLDER {
            return old;
        }
        let other = if self.keeps_others {
            old
        } else {
            Entity::PLACEHOLDER
        };
        self.get(old).unwrap_or(other)
    }

    /// What an entity has become; `None` if it is none of those that came back. O(1), or O(log n) where the old ones lie far
    /// apart and came all together.
    #[inline]
    #[must_use]
    pub fn get(&self, old: Entity) -> Option<Entity> {
        match &self.table {
            Table::BySlot {
                first,
                versions,
                new,
            } => {
                let slot = old.index().wrapping_sub(*first) as usize;
                // A handle's version is odd.
                (versions.get(slot) == Some(&old.version())).then(|| new[slot])
            }
            Table::Sorted(pairs) => {
                let at = pairs.binary_search_by_key(&old, |&(old, _)| old);
                at.ok().map(|at| pairs[at].1)
            }
            Table::Hashed(pairs) => pairs.get(&old).copied(),
        }
    }

    /// Says what an entity has become; what was said of it before. O(1) amortized: quickest where the old ones lie close
    /// together and those that come lie among them or behind them, as those of a server that is followed as a whole do. Where
    /// they lie far apart, as those that a client sees of many, the first that comes or goes costs O(n).
    ///
    /// Who reuses an index has another handle: what is said of one that is gone stays until it is
    /// [removed](Self::remove), which is to come first, for of each index one handle costs the least.
    ///
    /// ```
    /// use megachunk::entity::{Entity, EntityMap};
    ///
    /// let [there, here, other] = [1, 2, 3].map(|index| Entity::new(index, 1).expect("it is odd"));
    /// let mut known = EntityMap::default();
    /// assert_eq!(known.insert(there, here), None);
    /// assert_eq!(known.insert(there, other), Some(here));
    /// assert_eq!((known.get(there), known.len()), (Some(other), 1));
    /// assert_eq!(known.remove(there), Some(other));
    /// assert_eq!((known.get(there), known.is_empty()), (None, true));
    /// ```
    pub fn insert(&mut self, old: Entity, now: Entity) -> Option<Entity> {
        if let Table::BySlot {
            first,
            versions,
            new,
        } = &mut self.table
        {
            // Before the first there are none.
            let slot = old.index().checked_sub(*first);
            let slot = slot.map_or(usize::MAX, |slot| slot as usize);
            // Behind the last, as long as there are enough for that.
            if slot >= versions.len() && slot < SPARSE * (self.len + 1) {
                versions.resize(slot + 1, 0);
                new.resize(slot + 1, Entity::PLACEHOLDER);
            }
            if let Some(version) = versions.get_mut(slot)
                && (*version == 0 || *version == old.version())
            {
                let is_new = core::mem::replace(version, old.version()) == 0;
                let before = core::mem::replace(&mut new[slot], now);
                self.len += usize::from(is_new);
                return (!is_new).then_some(before);
            }
            self.hash();
        }
        if let Table::Sorted(pairs) = &mut self.table {
            match pairs.binary_search_by_key(&old, |&(old, _)| old) {
                Ok(at) => return Some(core::mem::replace(&mut pairs[at].1, now)),
                Err(at) if pairs.len() < FEW => {
                    pairs.insert(at, (old, now));
                    self.came();
                    return None;
                }
                Err(_) => {}
            }
        }
        let before = self.hash().insert(old, now);
        if before.is_none() {
            self.came();
        }
        before
    }

    /// Forgets what an entity has become; what that was. O(1), but for the first of such as lie far apart and came all together,
    /// for which it is O(n). Memory is kept.
    pub fn remove(&mut self, old: Entity) -> Option<Entity> {
        let now = self.get(old)?;
        match &mut self.table {
            Table::BySlot {
                first, versions, ..
            } => versions[(old.index() - *first) as usize] = 0,
            Table::Sorted(pairs) if pairs.len() <= FEW => {
                let at = pairs.binary_search_by_key(&old, |&(old, _)| old);
                at.ok().map(|at| pairs.remove(at));
            }
            _ => _ = self.hash().remove(&old),
        }
        self.len -= 1;
        Some(now)
    }

    /// By hashes from now on. O(n), if they were not.
    fn hash(&mut self) -> &mut Hashed {
        if !matches!(self.table, Table::Hashed(_)) {
            let mut pairs = Hashed::with_capacity_and_hasher(self.len + 1, ByNumbers::default());
            pairs.extend(self.iter());
            (self.table, self.come) = (Table::Hashed(pairs), 0);
        }
        match &mut self.table {
            Table::Hashed(pairs) => pairs,
            _ => unreachable!("they were hashed"),
        }
    }

    /// Counts one that has come.
    fn came(&mut self) {
        self.len += 1;
        self.come += 1;
        // Now and then, so that it costs little.
        if self.come > self.len / 2 {
            self.try_by_slot();
        }
    }

    /// May they be by slots by now? O(n).
    #[cold]
    fn try_by_slot(&mut self) {
        self.come = 0;
        let by_slot = match &self.table {
            Table::BySlot { .. } => None,
            Table::Sorted(pairs) => Self::by_slot(pairs.iter().copied()),
            Table::Hashed(pairs) => Self::by_slot(pairs.iter().map(|(&old, &now)| (old, now))),
        };
        match (by_slot, &mut self.table) {
            (Some(by_slot), table) => *table = by_slot.table,
            // A table of many takes long to be gone through, however few are left.
            (None, Table::Hashed(pairs)) if pairs.capacity() > 8 * pairs.len().max(FEW) => {
                pairs.shrink_to(2 * self.len);
            }
            (None, _) => {}
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Each of them, as it was and as it is, in the order of the old indices. O(memory); where they lie far apart and have come
    /// or gone one by one they are put in order first, in O(n log n).
    pub fn iter(&self) -> EntityMapIter<'_> {
        match &self.table {
            Table::BySlot {
                first,
                versions,
                new,
            } => EntityMapIter::by_slot(*first, versions, new, self.len),
            Table::Sorted(pairs) => EntityMapIter::sorted(pairs),
            Table::Hashed(pairs) => {
                let mut pairs: Vec<_> = pairs.iter().map(|(&old, &now)| (old, now)).collect();
                pairs.sort_unstable();
                EntityMapIter::ordered(pairs)
            }
        }
    }
}

impl Default for EntityMap {
    /// Of nobody.
    fn default() -> Self {
        Self::sorted(Vec::new())
    }
}

/// Of pairs of an old entity and a new one: of those with one old entity the last.
impl FromIterator<(Entity, Entity)> for EntityMap {
    fn from_iter<I: IntoIterator<Item = (Entity, Entity)>>(pairs: I) -> Self {
        let pairs: Vec<(Entity, Entity)> = pairs.into_iter().collect();
        Self::of(pairs.iter().copied())
    }
}

/// With pairs of an old entity and a new one: of those with one old entity the last is kept. If the iterator panics, nothing
/// has changed. O(n + m) for `n` that there are and `m` that come, in order, where those are many, and O(n log n + m) where the
/// `n` lie far apart and have come one by one; else as [`insert`](EntityMap::insert) for each.
impl Extend<(Entity, Entity)> for EntityMap {
    fn extend<I: IntoIterator<Item = (Entity, Entity)>>(&mut self, pairs: I) {
        let pairs: Vec<(Entity, Entity)> = pairs.into_iter().collect();
        if pairs.len() < self.len / 8 {
            for (old, now) in pairs {
                self.insert(old, now);
            }
        } else {
            let all = Self::of(self.iter().chain(pairs.iter().copied()));
            *self = Self {
                keeps_others: self.keeps_others,
                ..all
            };
        }
    }
}

impl<'a> IntoIterator for &'a EntityMap {
    type Item = (Entity, Entity);
    type IntoIter = EntityMapIter<'a>;

    fn into_iter(self) -> EntityMapIter<'a> {
        self.iter()
    }
}

/// How many there are, not which.
impl fmt::Debug for EntityMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityMap")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn entity(index: u32, version: u32) -> Entity {
        Entity::new(index, version).unwrap()
    }

    #[test]
    fn close_together_or_far_apart_it_says_what_a_map_says() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut seen = [false; 2];
        for round in 0..600 {
            let (slots, versions) = (1 + random(1 << (1 + round % 14)), 1 + random(3));
            let count = random(40);
            let pairs: Vec<(Entity, Entity)> = (0..count)
                .map(|n| {
                    let old = entity(random(slots) as u32 + 5, 2 * random(versions) as u32 + 1);
                    (old, entity(n as u32, 1))
                })
                .collect();
            let expected: BTreeMap<Entity, Entity> = pairs.iter().copied().collect();
            let map: EntityMap = pairs.iter().copied().collect();
            assert_eq!(
                (map.len(), map.is_empty()),
                (expected.len(), expected.is_empty())
            );
            assert!(
                map.iter()
                    .eq(expected.iter().map(|(&old, &new)| (old, new)))
            );
            let mut met = expected.iter();
            let mut rest = map.iter();
            while let Some((old, new)) = rest.next() {
                assert_eq!(met.next(), Some((&old, &new)));
                assert_eq!(rest.len(), met.len());
            }
            for slot in (0..slots as u32 + 8).chain([u32::MAX]).take(300) {
                for version in [1, 3, 5, 7] {
                    let old = entity(slot, version);
                    assert_eq!(map.get(old), expected.get(&old).copied(), "{old}");
                }
            }
            assert_eq!(map.get(Entity::PLACEHOLDER), None);
            seen[usize::from(matches!(map.table, Table::Sorted(_)))] = true;
        }
        assert_eq!(seen, [true; 2]);
    }

    #[test]
    fn what_is_put_in_and_taken_out_one_by_one_is_as_in_a_map() {
        let mut state = 3_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut seen = [false; 3];
        for round in 0..200 {
            let (slots, versions) = (1 + random(1 << (1 + round % 14)), 1 + random(3));
            // Any handle can be put in, also one that was told by a stranger: some rounds go round past the last index.
            let from = [0, 0, u32::MAX - 20, u32::MAX - 3][(round / 2) as usize % 4];
            let mut map: EntityMap = match round % 3 {
                0 => EntityMap::default(),
                1 => (0..90).map(|n| (entity(n * 9, 1), entity(n, 7))).collect(),
                _ => (0..9).map(|n| (entity(n, 1), entity(n, 7))).collect(),
            };
            seen[1] |= matches!(map.table, Table::Sorted(_));
            let mut expected: BTreeMap<Entity, Entity> = map.iter().collect();
            for n in 0..300 {
                let index = from.wrapping_add(random(slots) as u32);
                let old = entity(index, 2 * random(versions) as u32 + 1);
                let now = entity(n, 1);
                match random(3) {
                    0 => assert_eq!(map.remove(old), expected.remove(&old)),
                    _ => assert_eq!(map.insert(old, now), expected.insert(old, now)),
                }
                assert_eq!(map.get(old), expected.get(&old).copied());
                assert_eq!(map.len(), expected.len());
            }
            let all = expected.iter().map(|(&old, &new)| (old, new));
            assert!(map.iter().eq(all));
            assert!(
                expected
                    .iter()
                    .all(|(&old, &new)| map.get(old) == Some(new))
            );
            seen[2 * usize::from(matches!(map.table, Table::Hashed(_)))] = true;
        }
        assert_eq!(seen, [true; 3]);
        let kept = [(entity(1, 1), entity(2, 1))]
            .into_iter()
            .collect::<EntityMap>();
        let mut kept = kept.keeping_others();
        for n in 0..40 {
            kept.insert(entity(1_000 * n, 1), entity(3, 1));
        }
        assert_eq!(
            kept.meant(entity(7, 1)),
            entity(7, 1),
            "it keeps others still"
        );
    }

    #[test]
    fn who_is_extended_knows_what_single_calls_would_tell_it() {
        let pairs: Vec<_> = (0..2_000)
            .map(|n| (entity(n * 7 % 900 * (1 + n % 3), 1), entity(n, 1)))
            .collect();
        for first in [0, 3, 1_000, 1_990] {
            let mut map: EntityMap = pairs[..first].iter().copied().collect();
            map = map.keeping_others();
            let mut expected = map.clone();
            map.extend(pairs[first..].iter().copied());
            for &(old, now) in &pairs[first..] {
                expected.insert(old, now);
            }
            assert!(map.iter().eq(expected.iter()), "{first}");
            assert_eq!(map.len(), expected.len());
            assert_eq!(map.meant(entity(9_999, 1)), entity(9_999, 1));
        }
    }

    #[test]
    fn who_comes_one_after_the_other_is_found_by_slots() {
        let mut map = EntityMap::default();
        for n in 0..10_000 {
            assert_eq!(map.insert(entity(n + 50, 1), entity(n, 1)), None);
        }
        assert!(matches!(map.table, Table::BySlot { .. }));
        // One goes, and another has its slot.
        assert_eq!(map.remove(entity(60, 1)), Some(entity(10, 1)));
        assert_eq!(map.insert(entity(60, 3), entity(9, 9)), None);
        assert_eq!((map.get(entity(60, 1)), map.len()), (None, 10_000));
        assert!(matches!(map.table, Table::BySlot { .. }));
        // Another one comes before it goes: that costs something for a while, and not for good.
        assert_eq!(map.insert(entity(70, 3), entity(8, 9)), None);
        assert!(matches!(map.table, Table::Hashed(_)));
        assert_eq!(map.remove(entity(70, 1)), Some(entity(20, 1)));
        for n in 100..5_200 {
            assert!(map.remove(entity(n, 1)).is_some());
            assert_eq!(map.insert(entity(n, 3), entity(n, 7)), None);
        }
        assert!(matches!(map.table, Table::BySlot { .. }));
        assert_eq!(map.len(), 10_000);
        assert_eq!(map.get(entity(70, 3)), Some(entity(8, 9)));
        assert_eq!(map.get(entity(100, 3)), Some(entity(100, 7)));
    }

    /// What a client sees of a large world: a hundredth, which comes and goes.
    #[test]
    fn who_sees_few_of_many_has_them_by_hashes_however_they_came() {
        let far = |n: u32| entity(n.wrapping_mul(2_654_435_761) >> 5, 1);
        let all = || (0..1_000).map(|n| (far(n), entity(n, 1)));
        let mut one_by_one = EntityMap::default();
        for (old, now) in all() {
            assert_eq!(one_by_one.insert(old, now), None);
        }
        assert!(matches!(one_by_one.table, Table::Hashed(_)));
        let together: EntityMap = all().collect();
        assert!(matches!(together.table, Table::Sorted(_)));
        // Nothing changes: nothing is made anew.
        let mut other = together.clone();
        assert_eq!(other.remove(far(5_000)), None);
        assert_eq!(other.insert(far(7), entity(9, 9)), Some(entity(7, 1)));
        assert_eq!(other.insert(far(7), entity(7, 1)), Some(entity(9, 9)));
        assert!(matches!(other.table, Table::Sorted(_)));
        let mut came = together.clone();
        for map in [&mut other, &mut came, &mut one_by_one] {
            for n in 1_000..1_100 {
                assert_eq!(map.remove(far(n - 1_000)), Some(entity(n - 1_000, 1)));
                assert_eq!(map.insert(far(n), entity(n, 3)), None);
                assert_eq!(map.insert(far(n), entity(n, 1)), Some(entity(n, 3)));
            }
            assert!(matches!(map.table, Table::Hashed(_)));
            assert_eq!(map.len(), 1_000);
            let all: Vec<_> = map.iter().collect();
            assert!(all.is_sorted() && map.iter().len() == 1_000);
            let mut expected: Vec<_> = (100..1_100).map(|n| (far(n), entity(n, 1))).collect();
            expected.sort();
            assert_eq!(all, expected);
            assert_eq!(map.clone().iter().last(), all.last().copied());
            // And collected again they are as they were.
            let again: EntityMap = map.iter().collect();
            assert!(again.iter().eq(map.iter()));
        }
    }
}
