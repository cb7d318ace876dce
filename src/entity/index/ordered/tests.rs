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

/// Creates a batch; those that are made.
fn create_batch(index: &EntityIndex, lowest: &Lowest, count: usize) -> Vec<Entity> {
    let mut handles = vec![Entity::PLACEHOLDER; count];
    // SAFETY: nothing but handles is written.
    let out = unsafe { crate::entity::index::overwritten(&mut handles) };
    if let Err((made, _)) = index.create_lowest_slice(lowest, out, None) {
        handles.truncate(made);
    }
    handles
}

fn destroy_batch(index: &EntityIndex, lowest: &Lowest, entities: &[Entity]) {
    if let Some(word) = index.destroy_owned_slice_at_once(entities) {
        lowest.freed(word);
    }
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

#[test]
fn batches_have_the_ids_that_as_many_single_calls_have() {
    let (singly, lowest) = (EntityIndex::new(), Lowest::new());
    let (in_batches, its_lowest) = (EntityIndex::new(), Lowest::new());
    let mut living: Vec<Entity> = Vec::new();
    let mut seed = 3;
    for round in 0..300 {
        let many = [1, 20, 64, 130, 3_000][dice(&mut seed) % 5];
        let create = |_| singly.create_lowest(&lowest, None).unwrap();
        let expected: Vec<Entity> = (0..many).map(create).collect();
        let created = create_batch(&in_batches, &its_lowest, many);
        assert_eq!(created, expected, "round {round}");
        living.extend(created);
        // In the order in which they came, by index, or in none; some that stand side by side.
        match dice(&mut seed) % 3 {
            0 => {}
            1 => living.sort_unstable_by_key(|entity| entity.index()),
            _ => (1..living.len()).for_each(|at| living.swap(at, dice(&mut seed) % (at + 1))),
        }
        let from = dice(&mut seed) % living.len();
        let to = (from + dice(&mut seed) % (2 * many)).min(living.len());
        let gone: Vec<Entity> = living.drain(from..to).collect();
        (gone.iter()).for_each(|&entity| destroy(&singly, &lowest, entity));
        destroy_batch(&in_batches, &its_lowest, &gone);
        assert_eq!((in_batches.kept(), in_batches.count()), (0, living.len()));
        assert!(!gone.iter().any(|&entity| in_batches.exists(entity)));
        assert!(living.iter().all(|&entity| in_batches.exists(entity)));
        // Nothing is free where nobody would look for it.
        let free = in_batches.first_free_word();
        assert!(free.is_none_or(|word| word >= its_lowest.seen().word()));
    }
}

#[test]
fn a_batch_takes_what_is_free_before_where_it_began_and_says_how_many_there_were() {
    const SLOTS: usize = 2 * 8_192;
    let (index, lowest) = (EntityIndex::new(), Lowest::new());
    index.grant(2);
    // As if others had passed by what is given back now.
    lowest.found(lowest.seen(), 100);
    let first = create_batch(&index, &lowest, SLOTS - 10);
    assert_eq!(first.len(), SLOTS - 10);
    assert_eq!(first[0].index(), 100 * WORD_BITS);
    assert_eq!(first[SLOTS - 100 * 64].index(), 0);
    let rest = create_batch(&index, &lowest, 11);
    assert_eq!(rest.len(), 10);
    assert_eq!(index.count(), SLOTS);
    destroy_batch(&index, &lowest, &rest);
    assert_eq!(create_batch(&index, &lowest, 10).len(), 10);
    assert!(create_batch(&index, &lowest, 1).is_empty());
    assert!(create_batch(&index, &lowest, 0).is_empty());
}

#[cfg(feature = "probe")]
#[test]
fn batches_take_few_read_modify_writes_for_a_word() {
    let (index, lowest) = (EntityIndex::new(), Lowest::new());
    let warm = create_batch(&index, &lowest, 64);
    for _ in 0..3 {
        let mut made = Vec::new();
        let created = probe::measure(|| made = create_batch(&index, &lowest, 6_400));
        assert!(created.rmw <= 2 * 101 + 10, "{created:?}");
        let died = probe::measure(|| destroy_batch(&index, &lowest, &made));
        assert!(died.rmw <= 2 * 101 + 10, "{died:?}");
    }
    destroy_batch(&index, &lowest, &warm);
    assert_eq!(index.count(), 0);
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

#[cfg(feature = "probe")]
#[test]
fn creations_one_by_one_take_one_read_modify_write_each() {
    let (index, lowest, living) = full(6_400);
    for _ in 0..3 {
        let mut kept = Vec::new();
        let created = probe::measure(|| {
            kept.extend((0..640).map(|_| index.create_lowest(&lowest, None).unwrap()));
        });
        assert!(kept.iter().map(|it| it.index()).eq(6_400..7_040));
        // And some for each of ten words.
        assert!(created.rmw <= 640 + 10 * 8, "{created:?}");
        let died = probe::measure(|| {
            for entity in kept {
                destroy(&index, &lowest, entity);
            }
        });
        assert!(died.rmw <= 2 * 640 + 10 * 8, "{died:?}");
    }
    assert_eq!(index.count(), living.len());
}
