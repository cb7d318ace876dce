//! The lowest free slot is what is found, whatever hints say meanwhile, and by looking at few words.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use super::*;
use crate::sync::atomic::Ordering;

/// An index of so many entities, in order.
fn full(count: u32) -> (EntityIndex, Lowest, Vec<Entity>) {
    let (index, lowest) = (EntityIndex::new(), Lowest::new());
    let create = |_| index.create_lowest(&lowest, None).unwrap();
    let living: Vec<Entity> = (0..count).map(create).collect();
    assert!((0..).zip(&living).all(|(slot, it)| it.index() == slot));
    (index, lowest, living)
}

fn destroy(index: &EntityIndex, lowest: &Lowest, entity: Entity) {
    lowest.freed(index.destroy_owned_at_once(entity));
}

/// A number that looks like chance.
fn dice(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    (*seed >> 33) as usize
}

#[test]
fn the_lowest_free_slot_comes_next_whatever_was_given_back() {
    let (index, lowest, mut living) = full(20_000);
    let mut free = BTreeSet::new();
    let mut seed = 1;
    for round in 0..400 {
        // Few and many; single ones, neighbours, and all of a span.
        let (many, run) = [(1, 1), (300, 1), (9, 64), (1, 3_000), (40, 5)][round % 5];
        for _ in 0..many {
            let from = dice(&mut seed) % living.len();
            let to = (from + run).min(living.len());
            for entity in living.drain(from..to) {
                destroy(&index, &lowest, entity);
                free.insert(entity.index());
            }
        }
        let mut end = (living.len() + free.len()) as u32;
        for _ in 0..dice(&mut seed) % (2 * free.len()) {
            let expected = free.pop_first().unwrap_or_else(|| {
                end += 1;
                end - 1
            });
            let entity = index.create_lowest(&lowest, None).unwrap();
            assert_eq!(entity.index(), expected);
            living.push(entity);
        }
        if living.len() > 40_000 {
            living.sort_by_key(|entity| entity.index());
        }
    }
}

/// One that another thread is about to take back, which stands in between.
#[test]
fn a_hint_that_lags_hides_no_lower_slot() {
    let (index, lowest, living) = full(100 * WORD_BITS);
    destroy(&index, &lowest, living[70 * WORD_BITS as usize + 5]);
    // Its word is full again, and yet where the next search begins.
    destroy(&index, &lowest, living[3]);
    assert_eq!(index.create_lowest(&lowest, None).unwrap().index(), 3);
    let (begun, found) = (Barrier::new(2), Barrier::new(2));
    let (next, behind) = thread::scope(|scope| {
        scope.spawn(|| {
            index.with_cache(|core, _, tally| {
                let _lag = tally.lag.begin();
                // SAFETY: a span of words that were used.
                let word = unsafe { core.span(span::of(70)) };
                word.fetch_or(span::closed(span::lane(70)), Ordering::AcqRel);
                begun.wait();
                found.wait();
            });
        });
        begun.wait();
        let next = [(); 2].map(|()| index.create_lowest(&lowest, None).map(Entity::index));
        found.wait();
        (next, index.first_free_word())
    });
    assert_eq!(next, [Ok(70 * WORD_BITS + 5), Ok(100 * WORD_BITS)]);
    assert_eq!(behind, Some(100));
}

#[cfg(feature = "probe")]
#[test]
fn a_search_takes_few_steps_however_many_entities_live() {
    let (index, lowest, mut living) = full(300_000);
    let mut seed = 7;
    let mut most = 0;
    for _ in 0..1_000 {
        let at = dice(&mut seed) % living.len();
        destroy(&index, &lowest, living[at]);
        let mut create = || {
            let mut created = None;
            let counts = probe::measure(|| created = index.create_lowest(&lowest, None).ok());
            most = most.max(counts.steps);
            created.unwrap()
        };
        let [lower, higher] = [create(), create()];
        assert_eq!(lower.index(), living[at].index());
        assert_eq!(higher.index() as usize, living.len());
        living[at] = lower;
        living.push(higher);
    }
    assert!(most <= 60, "{most} accesses to shared words");
}
