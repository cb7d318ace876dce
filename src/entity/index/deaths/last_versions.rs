//! The last versions of slots: in whatever way their entities die, a slot retires before its version wraps, and a dead
//! handle stays dead.

use std::collections::BTreeSet;

use crate::entity::Entity;
use crate::entity::index::slot::{self, LAST_VERSION};
use crate::entity::index::{Buried, EntityIndex};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::GROUP_SLOTS;

/// Slots of the entities that die: some thirty groups.
const COUNT: u32 = 500;

impl EntityIndex {
    /// An entity as if so many had lived in its slot before, where it lies.
    pub(crate) fn at_version(&self, entity: Entity, version: u32) -> Entity {
        assert!(self.exists(entity));
        // SAFETY: the slot exists.
        let (word, group) = unsafe {
            let core = &self.shared.core;
            (core.slot(entity.index()), core.group(entity.index()))
        };
        let place = slot::place(word.load(Ordering::Relaxed));
        word.store(slot::pack(version, place), Ordering::Relaxed);
        // The slot's phase is the version's.
        let lane = entity.index() % GROUP_SLOTS;
        let phases = group.load(Ordering::Relaxed) & !(1 << lane);
        let phase = u64::from(version >> 1 & 1) << lane;
        group.store(phases | phase, Ordering::Relaxed);
        Entity::new(entity.index(), version).unwrap()
    }
}

/// A way in which entities die, and whether it skips a version.
type Way = (&'static str, bool, fn(&EntityIndex, &[Entity]));

const WAYS: [Way; 12] = [
    ("one by one", false, |index, all| {
        all.iter().for_each(|&one| index.destroy(one).unwrap());
    }),
    ("as a slice", false, |index, all| {
        assert!(index.destroy_slice(all).is_clean());
    }),
    ("as a slice in no order", false, |index, all| {
        assert!(index.destroy_slice(&shuffled(all)).is_clean());
    }),
    ("a few at once", false, |index, all| {
        for few in all.chunks(9) {
            assert!(index.destroy_slice(few).is_clean());
        }
    }),
    ("in a session", false, |index, all| {
        let mut session = index.session();
        all.iter().for_each(|&one| session.destroy(one).unwrap());
    }),
    ("as a session's slice", false, |index, all| {
        assert!(index.session().destroy_slice(all).is_clean());
    }),
    ("a world's, one by one", true, |index, all| {
        all.iter().for_each(|&one| index.destroy_owned(one));
    }),
    ("a world's slice", true, |index, all| {
        index.destroy_owned_slice(all);
    }),
    ("a world's, in no order", true, |index, all| {
        let mut buried = Buried::default();
        for entity in shuffled(all) {
            index.bury_owned(entity, &mut buried);
        }
        index.free_owned(buried);
    }),
    ("an ordered world's, one by one", true, |index, all| {
        for &entity in all {
            index.destroy_owned_at_once(entity);
            assert_eq!(index.kept(), 0, "its slot is everybody's");
        }
    }),
    ("an ordered world's slice", true, |index, all| {
        index.destroy_owned_slice_at_once(all);
        assert_eq!(index.kept(), 0, "their slots are everybody's");
    }),
    ("an ordered world's, in no order", true, |index, all| {
        let mut buried = Buried::default();
        for entity in shuffled(all) {
            if !index.bury_owned(entity, &mut buried) {
                index.flush();
            }
        }
        index.free_owned_at_once(buried);
        assert_eq!(index.kept(), 0, "their slots are everybody's");
    }),
];

fn shuffled(all: &[Entity]) -> Vec<Entity> {
    let mut shuffled = all.to_vec();
    (1..shuffled.len()).for_each(|at| shuffled.swap(at, at * 7_919 % (at + 1)));
    shuffled
}

/// Which version a slot begins with: whole groups of one, and all of them side by side in others.
fn first_version(slot: u32) -> u32 {
    let versions = [1, LAST_VERSION - 4, LAST_VERSION - 2, LAST_VERSION];
    let group = (slot / GROUP_SLOTS) as usize;
    match group % 2 {
        0 => versions[group / 2 % 4],
        _ => versions[(slot / 3) as usize % 4],
    }
}

/// The version of a slot's next entity; `None` if the slot retires.
fn next(version: u32, skips: bool) -> Option<u32> {
    let skips = skips && version <= LAST_VERSION - 4;
    (version < LAST_VERSION).then(|| version + if skips { 4 } else { 2 })
}

/// Entities in the first slots, with the versions that these begin with.
fn late(index: &EntityIndex) -> Vec<Entity> {
    let mut entities = Vec::new();
    index.create_into(&mut entities, COUNT as usize).unwrap();
    assert!((0..).zip(&entities).all(|(slot, it)| it.index() == slot));
    for entity in &mut entities {
        *entity = index.at_version(*entity, first_version(entity.index()));
    }
    entities
}

fn all_ways(new: fn() -> EntityIndex) {
    for (name, skips, destroy) in WAYS {
        let index = new();
        let mut alive = late(&index);
        let mut dead = Vec::new();
        let mut retired = 0;
        // The others begin with 1, and go on.
        for life in 0..4 {
            // So that whatever is kept afterwards is of the dead.
            index.flush();
            destroy(&index, &alive);
            let last = alive.iter().filter(|it| it.version() == LAST_VERSION);
            retired += last.count();
            assert_eq!((index.count(), index.retired()), (0, retired), "{name}");
            let expected: BTreeSet<Entity> = alive
                .iter()
                .filter_map(|it| Entity::new(it.index(), next(it.version(), skips)?))
                .collect();
            dead.append(&mut alive);
            index.flush();
            let mut new = Vec::new();
            index.create_into(&mut new, 20_000).unwrap();
            let (mut came, others): (Vec<_>, Vec<_>) =
                new.into_iter().partition(|it| it.index() < COUNT);
            came.sort_unstable_by_key(|it| it.index());
            let there = came.iter().copied().collect();
            assert_eq!(expected, there, "{name}, life {life}");
            for &entity in &dead {
                assert!(!index.exists(entity), "{name}, life {life}: {entity}");
                assert!(index.destroy(entity).is_err(), "{name}, life {life}");
            }
            assert!(index.destroy_slice(&others).is_clean());
            index.flush();
            alive = came;
        }
        assert!(
            alive.iter().all(|it| it.version() < 100),
            "all others retired"
        );
    }
}

#[test]
fn a_slot_retires_before_its_version_wraps_however_its_entities_die() {
    all_ways(EntityIndex::new);
}

#[cfg(feature = "probe")]
#[test]
fn slots_retire_too_where_they_are_looked_at_one_by_one() {
    all_ways(|| crate::sync::probe::narrow(EntityIndex::new));
}
