//! What only a look inside can show: the end of a slot's versions, caches, helping.

use core::mem::MaybeUninit;
use std::sync::OnceLock;

use super::group;
use super::lowest::Lowest;
use super::slot::{self, LAST_VERSION};
use super::{CACHED_IDS, EntityIndex, FreeWords, NONE_LEFT, Tally};
use crate::entity::{Entity, EntityFault};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{BLOCK_SLOTS, GROUP_SLOTS, WORDS_PER_BLOCK};

/// An index whose slots `0..count` have used up all versions but the last, with the last ones alive.
fn at_the_end(count: u32) -> (EntityIndex, Vec<Entity>) {
    let index = EntityIndex::new();
    let mut entities = Vec::new();
    index.create_into(&mut entities, count as usize).unwrap();
    for entity in &mut entities {
        // SAFETY: the slot exists.
        let word = unsafe { index.shared.core.slot(entity.index()) };
        word.store(slot::pack(LAST_VERSION, None), Ordering::Relaxed);
        // The slot's phase must be the version's; both are 0, as for version 1.
        assert!(group::in_phase(0, 0, LAST_VERSION));
        *entity = Entity::new(entity.index(), LAST_VERSION).unwrap();
    }
    (index, entities)
}

fn nothing_lives_again(index: &EntityIndex, retired: &[Entity]) {
    assert_eq!((index.count(), index.retired()), (0, retired.len()));
    for &entity in retired {
        assert!(!index.exists(entity));
        assert_eq!(
            index.destroy(entity).unwrap_err().fault,
            EntityFault::Destroyed
        );
    }
    let mut fresh = Vec::new();
    index.create_into(&mut fresh, 20_000).unwrap();
    assert!(
        fresh
            .iter()
            .all(|entity| entity.index() as usize >= retired.len())
    );
}

#[test]
fn an_index_on_the_memory_of_another_is_as_new() {
    let mut index = EntityIndex::new();
    // Single slots, whole claim words, spans and blocks; from two threads, which work in blocks of their own.
    for count in [1, 40, 100, 3_000, 20_000] {
        let mut some = Vec::new();
        index.create_into(&mut some, count).unwrap();
        let single = index.create().unwrap();
        // Joined: only then has the thread given back what it kept.
        let other = std::thread::scope(|scope| {
            let other = scope.spawn(|| index.create().map(|entity| index.destroy(entity)));
            other.join().unwrap()
        });
        assert_eq!(other, Ok(Ok(())));
        index.destroy(some[count / 2]).unwrap();
        assert!(index.destroy_slice(&some[..count / 2]).is_clean());
        index = index.recycle().expect("it was small");
        assert!(!index.exists(single) && index.is_fresh() && index.count() == 0);
        let core = &index.shared.core;
        for slot in 0..2 * 8_192 {
            // Not by `slot` and `group`, which want a block that is open.
            let (word, group) = (core.slots.get(slot), core.groups.get(slot / 16));
            assert_eq!(word.load(Ordering::Relaxed), 0);
            assert_eq!(group.load(Ordering::Relaxed), 0);
            assert_eq!(core.taken(slot as u32 / 64), 0);
        }
        let mut again = Vec::new();
        index.create_into(&mut again, count).unwrap();
        assert!(
            again
                .iter()
                .zip(&some)
                .all(|(again, before)| again == before)
        );
        index = index.recycle().expect("it was small");
    }
}

#[test]
fn a_slot_retires_before_its_version_wraps() {
    let (index, entities) = at_the_end(3);
    entities
        .iter()
        .for_each(|&entity| index.destroy(entity).unwrap());
    nothing_lives_again(&index, &entities);
}

#[test]
fn slots_retire_in_batches_in_order() {
    let (index, entities) = at_the_end(200);
    assert!(index.destroy_slice(&entities).is_clean());
    nothing_lives_again(&index, &entities);
}

#[test]
fn slots_retire_in_batches_without_order() {
    let (index, entities) = at_the_end(8_000);
    let mut shuffled = entities.clone();
    (1..shuffled.len()).for_each(|at| shuffled.swap(at, at * 7_919 % (at + 1)));
    assert!(index.destroy_slice(&shuffled).is_clean());
    nothing_lives_again(&index, &entities);
}

#[test]
fn a_thread_keeps_no_more_ids_than_it_may() {
    let index = EntityIndex::new();
    let mut entities = Vec::new();
    index.create_into(&mut entities, 10_000).unwrap();
    for entity in entities.drain(..).rev().step_by(3) {
        index.destroy(entity).unwrap();
        let (core, kept) = (
            &index.shared.core,
            index.with_cache(|_, cache, tally| cache.held(tally)),
        );
        assert!(kept <= CACHED_IDS, "{kept} ids are kept");
        assert!(core.opened() <= 2);
    }
    index.flush();
    assert_eq!(index.with_cache(|_, cache, tally| cache.held(tally)), 0);
}

/// In order, backwards, by words in turn, two by two, and in no order: the ways in which a full magazine gives back.
#[test]
fn a_full_magazine_gives_back_every_slot_in_whatever_order_they_were_freed() {
    const LEN: usize = 64 * 100;
    let orders: [fn(usize) -> usize; 5] = [
        |at| at,
        |at| LEN - 1 - at,
        |at| at % 100 * 64 + at / 100,
        |at| at / 2 % 100 * 64 + at / 200 * 2 + at % 2,
        |at| at * 3_989 % LEN,
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let index = EntityIndex::new();
        let mut entities = Vec::new();
        index.create_into(&mut entities, LEN).unwrap();
        for (dead, at) in (0..LEN).map(order).enumerate() {
            index.destroy(entities[at]).unwrap();
            assert_eq!(index.count(), LEN - 1 - dead, "order {number}");
        }
        let held = index.with_cache(|_, cache, tally| cache.held(tally));
        let taken = |word| index.shared.core.taken(word).count_ones() as usize;
        assert_eq!((0..256).map(taken).sum::<usize>(), held, "order {number}");
        index.flush();
        assert_eq!((0..256).map(taken).sum::<usize>(), 0, "order {number}");
    }
}

/// Free slots that caches keep from others.
fn withheld(index: &EntityIndex) -> usize {
    let taken = |word| index.shared.core.taken(word).count_ones() as usize;
    (0..256).map(taken).sum::<usize>() - index.count()
}

#[test]
fn a_session_keeps_no_more_ids_than_it_may_and_gives_them_back() {
    let index = EntityIndex::new();
    let mut session = index.session();
    let mut entities = vec![Entity::PLACEHOLDER; 4_000];
    session.create_slice(&mut entities).unwrap();
    session.create_into(&mut entities, 6_000).unwrap();
    let too_many = EntityIndex::CAPACITY + 1;
    assert!(session.create_into(&mut entities, too_many).is_err());
    assert_eq!((entities.len(), index.count()), (10_000, 10_000));
    for entity in entities.drain(..).rev().step_by(3) {
        session.destroy(entity).unwrap();
        assert!(withheld(&index) <= CACHED_IDS);
    }
    assert_ne!(withheld(&index), 0);
    session.flush();
    assert_eq!(withheld(&index), 0);
    let last = session.create().unwrap();
    assert_ne!(withheld(&index), 0);
    drop(session);
    assert_eq!(withheld(&index), 0);
    assert!(index.exists(last));
    // The next one takes over what the last one left.
    drop(index.session());
    assert_eq!(index.shared.registry.nodes().count(), 1);
    assert_eq!(index.count(), 10_001 - 3_334);
}

#[test]
fn a_session_that_is_sent_or_lost_in_a_panic_is_as_any_other() {
    let index = EntityIndex::new();
    let mut session = index.session();
    let here = session.create().unwrap();
    let there = std::thread::scope(|scope| {
        let panicking = scope.spawn(|| {
            let mut lost = index.session();
            lost.destroy(here).unwrap();
            assert!(lost.exists(here), "a panic with a session open");
        });
        assert!(panicking.join().is_err());
        let sent = scope.spawn(move || {
            assert_eq!(
                session.destroy(here).unwrap_err().fault,
                EntityFault::Destroyed
            );
            (session.create().unwrap(), session)
        });
        sent.join().unwrap().0
    });
    assert_eq!(withheld(&index), 0);
    assert!(index.exists(there) && !index.exists(here));
    assert_eq!(index.count(), 1);
}

/// Destructors of thread-local values that run after the thread has given its caches back may call the index still.
#[test]
fn late_destructors_use_no_cache_that_was_given_back() {
    static INDEX: OnceLock<EntityIndex> = OnceLock::new();
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            let index = INDEX.get().unwrap();
            index.destroy(index.create().unwrap()).unwrap();
        }
    }
    thread_local! {
        static LATE: Late = const { Late };
    }
    let index = INDEX.get_or_init(EntityIndex::new);
    let thread = std::thread::spawn(|| {
        // What comes first ends last.
        LATE.with(|_| ());
        index.destroy(index.create().unwrap()).unwrap();
        assert_ne!(withheld(index), 0);
    });
    thread.join().unwrap();
    assert_eq!(withheld(index), 0, "a cache that nobody owns holds slots");
}

#[test]
fn a_session_retires_slots_and_refuses_handles_as_the_index_does() {
    let (index, entities) = at_the_end(3);
    let mut session = index.session();
    for &entity in &entities {
        session.destroy(entity).unwrap();
        assert_eq!(session.locate(entity), index.locate(entity));
        assert_eq!(session.destroy(entity), index.destroy(entity));
    }
    let beyond = Entity::new(u32::MAX, 1).unwrap();
    let fault = |error: crate::entity::EntityError| error.fault;
    assert_eq!(
        session.destroy(beyond).map_err(fault),
        Err(EntityFault::OutOfRange)
    );
    let never = Entity::new(9_000, 1).unwrap();
    let report = session.destroy_slice(&[never, never]);
    assert_eq!((report.destroyed, report.refused.len()), (0, 2));
    drop(session);
    nothing_lives_again(&index, &entities);
}

#[test]
fn the_count_is_right_where_one_thread_destroys_what_another_created() {
    let index = EntityIndex::new();
    let entities: Vec<Entity> = (0..1_000).map(|_| index.create().unwrap()).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (dead, &entity) in entities.iter().take(900).enumerate() {
                index.destroy(entity).unwrap();
                assert_eq!(index.count(), 999 - dead, "with slots in its magazine");
            }
            assert!(index.with_cache(|_, _, tally| Tally::living([tally].into_iter())) < 0);
        });
    });
    assert_eq!(index.count(), 100);
    assert!(index.destroy_slice(&entities[900..]).is_clean());
    assert!(index.is_empty());
}

#[test]
fn the_count_is_right_when_that_of_a_thread_has_wrapped() {
    let index = EntityIndex::new();
    let entity = index.create().unwrap();
    for _ in 0..3 {
        index.with_cache(|_, _, tally| tally.add_created(1 << 54));
        std::thread::scope(|scope| {
            scope.spawn(|| index.with_cache(|_, _, tally| tally.add_destroyed(1 << 54)));
        });
        assert_eq!(index.count(), 1);
    }
    index.destroy(entity).unwrap();
    assert!(index.is_empty());
}

#[test]
fn small_batches_take_the_free_slots_of_a_word_in_index_order() {
    for free in [
        1_u64,
        u64::MAX,
        0xaaaa_aaaa_aaaa_aaaa,
        1 << 63,
        0xffff_0000_ffff_0000,
        0x00ff_f0f1_ffff_fff7,
    ] {
        for size in [1, 2, 3, 7, 16, 17, 40, 63] {
            let index = EntityIndex::new();
            let mut entities = Vec::new();
            // No word of the block is whole: half a word and more would go there.
            let block = BLOCK_SLOTS as usize;
            index.create_into(&mut entities, block).unwrap();
            entities.retain(|entity| entity.index() < 64 && free >> entity.index() & 1 == 1);
            assert!(index.destroy_slice(&entities).is_clean());
            index.flush();
            let mut again = Vec::new();
            while again.len() < entities.len() {
                let batch = size.min(entities.len() - again.len());
                index.create_into(&mut again, batch).unwrap();
            }
            let slots = |entities: &[Entity]| -> Vec<u32> {
                entities.iter().map(|entity| entity.index()).collect()
            };
            assert_eq!(slots(&again), slots(&entities), "{free:x} by {size}");
            assert!(again.iter().all(|&entity| index.exists(entity)));
        }
    }
}

#[test]
fn a_condemned_entity_is_dead_once_somebody_was_told_so() {
    let index = EntityIndex::new();
    let entity = index.create().unwrap();
    // A destroyer won, and stopped before it made the slot word even.
    // SAFETY: the slot exists.
    let deaths = unsafe { index.shared.core.group(entity.index()) };
    let word = deaths.load(Ordering::Relaxed);
    deaths.store(
        group::after_death(word, 1 << (entity.index() % GROUP_SLOTS)),
        Ordering::Relaxed,
    );
    assert!(index.exists(entity), "nobody was told yet");
    assert_eq!(
        index.destroy(entity).unwrap_err().fault,
        EntityFault::Destroyed
    );
    assert!(!index.exists(entity));
}

#[test]
fn what_a_thread_kept_is_everybodys_when_it_ends_or_panics() {
    let index = EntityIndex::new();
    let taken = |index: &EntityIndex| {
        let count = |word| index.shared.core.taken(word).count_ones();
        (0..256).map(count).sum::<u32>()
    };
    for panics in [false, true] {
        let outcome = std::thread::scope(|scope| {
            let index = &index;
            let thread = scope.spawn(move || {
                let entity = index.create().unwrap();
                index.destroy(entity).unwrap();
                assert!(!panics, "as planned");
            });
            thread.join()
        });
        assert_eq!(outcome.is_err(), panics);
        assert_eq!((index.count(), taken(&index)), (0, 0));
    }
}

#[test]
fn free_words_are_found_by_hints_as_by_looking_at_all_claims() {
    let index = EntityIndex::new();
    let mut live: Vec<Entity> = (0..40_000).map(|_| index.create().unwrap()).collect();
    // Words, spans and blocks become free, and are taken again in part.
    for (first, step) in [(0, 64), (100, 1), (7, 3), (3_000, 1), (0, 1)] {
        let mut at = 0;
        live.retain(|&entity| {
            at += 1;
            let stays = at <= first || (at - first) % step != 0;
            if !stays {
                index.destroy(entity).unwrap();
            }
            stays
        });
        index.flush();
        let list =
            |words: FreeWords| -> Vec<_> { (0..words.len()).map(|at| words.get(at)).collect() };
        let (by_hints, used) = index.free_words();
        let by_claims = list(index.free_words_by_claims(used));
        assert!(!by_claims.is_empty() && by_claims.iter().all(Option::is_some));
        assert_eq!(list(by_hints), by_claims);
        live.extend((0..1_000).map(|_| index.create().unwrap()));
    }
}

/// As on Windows, where memory is asked for, and a block without it must not be touched: debug builds assert that
/// nobody does.
#[test]
fn without_memory_for_more_blocks_the_index_is_full_and_goes_on_with_those_it_has() {
    const SLOTS: usize = 2 * 8_192;
    let index = EntityIndex::new();
    index.grant(2);
    let far = Entity::new(3 * 8_192, 1).unwrap();
    assert!(!index.exists(far) && index.at(far.index()).is_none());
    assert_eq!(
        index.locate(far).unwrap_err().fault,
        EntityFault::NeverCreated
    );
    // Nothing is open yet: none of another's handles, in whatever order, is looked for where there is nothing.
    let mut foreign: Vec<Entity> = (0..3_000)
        .map(|slot| Entity::new(slot, 1).unwrap())
        .collect();
    for _ in 0..2 {
        let report = index.destroy_slice(&foreign);
        assert_eq!((report.destroyed, report.refused.len()), (0, 3_000));
        foreign.sort_by_key(|entity| entity.index().wrapping_mul(2_654_435_761));
        foreign.swap(40, 2_000);
    }
    foreign.sort();
    foreign.reverse();
    assert_eq!(index.destroy_slice(&foreign).refused.len(), 3_000);
    let mut entities = Vec::new();
    assert_eq!(index.create_into(&mut entities, SLOTS + 1), Err(NONE_LEFT));
    assert_eq!((entities.len(), index.count()), (0, 0));
    index.create_into(&mut entities, SLOTS).unwrap();
    assert_eq!(index.create(), Err(NONE_LEFT));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| index.create());
        assert_eq!(other.join().unwrap(), Err(NONE_LEFT));
    });
    let lowest = Lowest::new();
    assert_eq!(index.create_lowest(&lowest, None), Err(NONE_LEFT));
    let mut none = [MaybeUninit::uninit(); 2];
    let created = index.create_lowest_slice(&lowest, &mut none, None);
    assert_eq!(created, Err((0, NONE_LEFT)));
    let beyond = index.claim_whole_word(2 * WORDS_PER_BLOCK, &lowest);
    assert_eq!(beyond.err(), Some(NONE_LEFT));
    // Handles that nobody was given are refused in every order and number.
    let mut mixed: Vec<Entity> = (0..64)
        .map(|slot| Entity::new(2 * 8_192 + slot * 40, 1).unwrap())
        .chain((0..32).map(|slot| Entity::new(5 * 8_192 + slot, 1).unwrap()))
        .chain([Entity::PLACEHOLDER])
        .collect();
    mixed.extend(entities.drain(..100));
    mixed.reverse();
    let report = index.destroy_slice(&mixed);
    assert_eq!((report.destroyed, report.refused.len()), (100, 97));
    mixed.retain(|entity| entity.index() as usize >= SLOTS);
    for entity in mixed {
        assert!(index.destroy(entity).is_err() && !index.exists(entity));
    }
    index.create_into(&mut entities, 100).unwrap();
    assert_eq!(index.create(), Err(NONE_LEFT));
    // Memory comes again.
    index.grant(3);
    index.create_into(&mut entities, 8_192).unwrap();
    assert_eq!(
        (index.count(), index.blocks(), index.create()),
        (3 * 8_192, 3, Err(NONE_LEFT))
    );
    assert!(index.destroy_slice(&entities).is_clean());
}

#[test]
fn threads_that_begin_at_one_time_work_in_blocks_of_their_own() {
    const THREADS: usize = 6;
    for _ in 0..50 {
        let index = EntityIndex::new();
        let start = std::sync::Barrier::new(THREADS);
        let mut blocks: Vec<u32> = std::thread::scope(|scope| {
            let first = || {
                start.wait();
                let block = index.create().unwrap().index() / BLOCK_SLOTS;
                // A thread that ends leaves its block to the next.
                start.wait();
                block
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(first)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), THREADS);
    }
}

#[test]
fn every_threads_batch_without_order_reports_the_same() {
    // Close together, and far apart.
    for handles in [6_000, 500] {
        let index = EntityIndex::new();
        let mut entities = Vec::new();
        index.create_into(&mut entities, 6_000).unwrap();
        // Every seventh is dead already, and some come twice.
        let dead: Vec<Entity> = entities.iter().copied().step_by(7).collect();
        assert!(index.destroy_slice(&dead).is_clean());
        let shuffled = (0..handles).map(|at| entities[at * 2_657 % 6_000]);
        let mut batch: Vec<Entity> = shuffled.collect();
        batch.extend_from_within(..100);
        let mut seen = std::collections::HashSet::new();
        let refused: Vec<usize> = batch
            .iter()
            .enumerate()
            .filter(|&(_, entity)| !seen.insert(entity) || dead.contains(entity))
            .map(|(position, _)| position)
            .collect();
        let (before, _kept) = (index.count(), index.create().unwrap());
        // The third thread's sweep begins in the middle.
        let report = std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let _own = index.create().map(|entity| index.destroy(entity));
                scope.spawn(|| index.destroy_slice(&batch)).join().unwrap()
            });
            second.join().unwrap()
        });
        assert_eq!(report.destroyed, batch.len() - refused.len());
        let positions = report.refused.iter().map(|&(position, _)| position);
        assert!(positions.eq(refused));
        assert!(!batch.iter().any(|&entity| index.exists(entity)));
        assert_eq!(index.count(), before + 1 - report.destroyed);
    }
}
