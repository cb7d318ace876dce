//! A walk over all that lives comes to each once, in index order, and looks at little where nothing lives.

use crate::support::Dice;
use megachunk::entity::{Entity, EntityIndex};

#[test]
fn a_walk_finds_all_that_live_and_nobody_else_whatever_has_died() {
    for (count, stays) in [(1, 1), (63, 2), (2_048, 3), (30_000, 7), (30_000, 9_000)] {
        let index = EntityIndex::new();
        let mut living = vec![Entity::PLACEHOLDER; count];
        index.create_slice(&mut living).unwrap();
        assert!(index.iter().eq(living.iter().copied()));
        // Some words are whole again, some are broken, and of some the thread keeps slots.
        let dice = &mut Dice::new(count as u64);
        let (dying, mut living): (Vec<_>, Vec<_>) =
            living.into_iter().partition(|_| dice.below(stays) != 0);
        assert!(index.destroy_slice(&dying).is_clean());
        assert!(index.iter().eq(living.iter().copied()));
        living.extend((0..10).map(|_| index.create().unwrap()));
        living.sort_unstable_by_key(|entity| entity.index());
        let mut walk = index.iter();
        assert!(walk.by_ref().eq(living));
        assert_eq!((walk.next(), walk.next()), (None, None));
    }
}

#[cfg(feature = "probe")]
#[test]
fn a_walk_looks_at_words_without_slots_in_use_32_at_a_time() {
    let index = EntityIndex::new();
    let mut all = vec![Entity::PLACEHOLDER; 65_536];
    index.create_slice(&mut all).unwrap();
    let last = all.pop().unwrap();
    assert!(index.destroy_slice(&all).is_clean());
    index.flush();
    let mut found = Vec::new();
    let counts = megachunk::sync::probe::measure(|| found.extend(index.iter()));
    assert_eq!(found, [last]);
    // A block has four spans of 32 words; the word in use and its slots.
    let most = 4 * index.blocks() + 1 + 64 + 2;
    assert!(counts.steps <= most as u64, "{counts:?}, not {most}");
}
