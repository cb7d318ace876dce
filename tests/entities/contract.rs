//! The contract of `EntityAllocator`: the same tests for every allocator behind it.
//!
//! * a handle is alive from its creation until it is destroyed once, and never again;
//! * no two live handles share an index, whoever creates and destroys meanwhile;
//! * a handle that is not alive is refused by name and reason, each one in a batch too;
//! * a place belongs to one life of an entity;
//! * the count is exact while nobody creates or destroys;
//! * when threads have come to their end, an allocator that can look at itself finds no contradiction.
//!
//! Where a reference breaks the contract by a published fault, the test is instantiated for the
//! others only, and `published_faults.rs` shows the fault.

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;

use crate::entity_ops::Subject;
use crate::in_sessions::InSessions;
use crate::support::{Dice, Ledger};
use megachunk::entity::reference::{BusyBlock, Naive};
use megachunk::entity::{
    DestroyReport, Entity, EntityAllocator, EntityError, EntityFault, EntityIndex, Place,
};

/// Instantiates each test for each contender.
macro_rules! contract {
    ($($contender:ident: $allocator:ty),* => $tests:tt) => {
        $(mod $contender {
            use super::*;
            contract!(@tests $allocator, $tests);
        })*
    };
    (@tests $allocator:ty, [$($test:ident),* $(,)?]) => {
        $(#[test] fn $test() { super::$test::<$allocator>(); })*
    };
}

contract!(naive: Naive, bitmask: EntityIndex, in_a_session: InSessions<1>, in_sessions: InSessions<3> => [
    a_created_entity_exists_until_it_is_destroyed,
    destroying_twice_reports_destroyed,
    a_stale_handle_stays_dead_when_its_slot_is_used_again,
    a_stale_handle_has_no_place_when_its_slot_is_used_again,
    a_handle_that_was_never_created_is_refused_as_such,
    an_index_out_of_range_is_refused_as_such,
    a_batch_creates_distinct_live_entities,
    an_empty_batch_changes_nothing,
    duplicates_in_a_batch_are_reported_by_position,
    stale_handles_in_a_batch_are_reported_by_position,
    a_batch_in_random_order_destroys_every_entity,
    a_place_is_read_back_and_can_be_moved,
    a_new_life_begins_without_a_place,
    the_count_follows_creation_and_destruction,
    every_version_is_odd,
    threads_never_share_a_live_index,
    of_many_threads_that_destroy_one_handle_one_wins,
    entities_made_by_one_thread_are_destroyed_by_another,
    a_reader_never_sees_another_life_s_place,
]);

// Without `a_stale_handle_has_no_place_when_its_slot_is_used_again` and
// `a_reader_never_sees_another_life_s_place` (fault 6).
contract!(busy_block: BusyBlock => [
    a_created_entity_exists_until_it_is_destroyed,
    destroying_twice_reports_destroyed,
    a_stale_handle_stays_dead_when_its_slot_is_used_again,
    a_handle_that_was_never_created_is_refused_as_such,
    an_index_out_of_range_is_refused_as_such,
    a_batch_creates_distinct_live_entities,
    an_empty_batch_changes_nothing,
    duplicates_in_a_batch_are_reported_by_position,
    stale_handles_in_a_batch_are_reported_by_position,
    a_batch_in_random_order_destroys_every_entity,
    a_place_is_read_back_and_can_be_moved,
    a_new_life_begins_without_a_place,
    the_count_follows_creation_and_destruction,
    every_version_is_odd,
    threads_never_share_a_live_index,
    of_many_threads_that_destroy_one_handle_one_wins,
    entities_made_by_one_thread_are_destroyed_by_another,
]);

const THREADS: usize = 4;

fn handle(index: u32, version: u32) -> Entity {
    Entity::new(index, version).expect("the version is odd")
}

fn place(chunk: u32, row: u32) -> Place {
    Place::new(chunk, row).expect("in range")
}

fn batch<A: EntityAllocator>(allocator: &A, len: usize) -> Vec<Entity> {
    let mut out = vec![Entity::PLACEHOLDER; len];
    allocator.create_slice(&mut out).expect("there is room");
    out
}

/// A slot's present entity and a handle to an earlier one: `(live, stale)`.
fn reuse<A: EntityAllocator>(allocator: &A) -> (Entity, Entity) {
    // Which slot a creation takes is the allocator's affair: try until it takes the one again.
    let stale = allocator.create().unwrap();
    allocator.destroy(stale).unwrap();
    for _ in 0..100_000 {
        let live = allocator.create().unwrap();
        if live.index() == stale.index() {
            return (live, stale);
        }
        allocator.destroy(live).unwrap();
    }
    panic!("{} never uses the slot of {stale} again", A::NAME);
}

fn a_created_entity_exists_until_it_is_destroyed<A: EntityAllocator>() {
    let allocator = A::fresh();
    let entity = allocator.create().unwrap();

    assert!(allocator.exists(entity));
    assert_eq!(allocator.destroy(entity), Ok(()));
    assert!(!allocator.exists(entity));
}

fn destroying_twice_reports_destroyed<A: EntityAllocator>() {
    let allocator = A::fresh();
    let entity = allocator.create().unwrap();
    allocator.destroy(entity).unwrap();

    let refused = EntityError::new(entity, EntityFault::Destroyed);
    assert_eq!(allocator.destroy(entity), Err(refused));
    assert_eq!(allocator.locate(entity), Err(refused));
    assert_eq!(allocator.publish(entity, place(0, 0)), Err(refused));
    assert_eq!(allocator.count(), 0);
}

fn a_stale_handle_stays_dead_when_its_slot_is_used_again<A: EntityAllocator>() {
    let allocator = A::fresh();
    let (live, stale) = reuse(&allocator);

    assert!(allocator.exists(live) && !allocator.exists(stale));
    assert!(live.version() > stale.version());
    let refused = EntityError::new(stale, EntityFault::Destroyed);
    assert_eq!(allocator.destroy(stale), Err(refused));
    assert!(allocator.exists(live));
}

fn a_stale_handle_has_no_place_when_its_slot_is_used_again<A: EntityAllocator>() {
    let allocator = A::fresh();
    let (live, stale) = reuse(&allocator);
    allocator.publish(live, place(5, 6)).unwrap();

    let refused = EntityError::new(stale, EntityFault::Destroyed);
    assert_eq!(allocator.locate(stale), Err(refused));
    assert_eq!(allocator.publish(stale, place(7, 8)), Err(refused));
    assert_eq!(allocator.locate(live), Ok(Some(place(5, 6))));
}

fn a_handle_that_was_never_created_is_refused_as_such<A: EntityAllocator>() {
    let allocator = A::fresh();
    let live = allocator.create().unwrap();
    let capacity = u32::try_from(allocator.capacity()).unwrap();
    let unborn = [
        handle(live.index(), live.version() + 2),
        handle(live.index(), u32::MAX),
        handle(capacity - 1, 1),
        handle(capacity / 2, 77),
    ];

    for entity in unborn {
        let refused = EntityError::new(entity, EntityFault::NeverCreated);
        assert!(!allocator.exists(entity));
        assert_eq!(allocator.destroy(entity), Err(refused));
        assert_eq!(
            allocator.destroy_slice(&[entity]),
            DestroyReport {
                destroyed: 0,
                refused: vec![(0, refused)]
            }
        );
    }
    assert!(allocator.exists(live));
    assert_eq!(allocator.count(), 1);
}

fn an_index_out_of_range_is_refused_as_such<A: EntityAllocator>() {
    let allocator = A::fresh();
    let capacity = u32::try_from(allocator.capacity()).unwrap();

    for entity in [
        handle(capacity, 1),
        handle(u32::MAX - 1, 3),
        Entity::PLACEHOLDER,
    ] {
        let refused = EntityError::new(entity, EntityFault::OutOfRange);
        assert!(!allocator.exists(entity));
        assert_eq!(allocator.destroy(entity), Err(refused));
        assert_eq!(allocator.locate(entity), Err(refused));
        assert_eq!(allocator.publish(entity, place(0, 0)), Err(refused));
        assert_eq!(
            allocator.destroy_slice(&[entity]),
            DestroyReport {
                destroyed: 0,
                refused: vec![(0, refused)]
            }
        );
    }
    // A whole group, up to the highest index; what is behind it is destroyed all the same.
    let mut batch: Vec<_> = (u32::MAX - 63..u32::MAX).map(|at| handle(at, 1)).collect();
    batch.insert(0, allocator.create().unwrap());
    batch.push(allocator.create().unwrap());
    let report = allocator.destroy_slice(&batch);
    assert_eq!((report.destroyed, report.refused.len()), (2, 63));
    for (at, error) in report.refused {
        assert_eq!(error, EntityError::new(batch[at], EntityFault::OutOfRange));
    }
    assert_eq!(allocator.count(), 0);
}

fn a_batch_creates_distinct_live_entities<A: EntityAllocator>() {
    let allocator = A::fresh();
    let singles: Vec<_> = (0..100).map(|_| allocator.create().unwrap()).collect();
    let mut all: HashSet<_> = singles.iter().map(|entity| entity.index()).collect();

    // Around the sizes of a word and of a block, and over several blocks.
    for len in [1, 63, 64, 65, 8_191, 8_192, 8_193, 30_000] {
        for entity in batch(&allocator, len) {
            assert!(allocator.exists(entity));
            assert_eq!(allocator.locate(entity), Ok(None));
            assert!(all.insert(entity.index()), "{entity} shares an index");
        }
    }
    assert_eq!(allocator.count(), all.len());
}

fn an_empty_batch_changes_nothing<A: EntityAllocator>() {
    let allocator = A::fresh();

    assert_eq!(allocator.create_slice(&mut []), Ok(()));
    assert_eq!(allocator.destroy_slice(&[]), DestroyReport::default());
    assert_eq!(allocator.count(), 0);
}

fn duplicates_in_a_batch_are_reported_by_position<A: EntityAllocator>() {
    let allocator = A::fresh();
    let made = batch(&allocator, 130);
    let (first, last) = (made[0], made[129]);
    let mut doubled = made.clone();
    doubled.insert(1, first);
    doubled.push(last);
    doubled.push(first);

    let report = allocator.destroy_slice(&doubled);

    let refused = |entity| EntityError::new(entity, EntityFault::Destroyed);
    assert_eq!(report.destroyed, 130);
    assert_eq!(
        report.refused,
        [
            (1, refused(first)),
            (131, refused(last)),
            (132, refused(first))
        ]
    );
    assert_eq!(allocator.count(), 0);
}

fn stale_handles_in_a_batch_are_reported_by_position<A: EntityAllocator>() {
    let allocator = A::fresh();
    let mut made = batch(&allocator, 1_000);
    let dead = [0, 1, 63, 64, 500, 999];
    let mut expected: Vec<_> = dead
        .into_iter()
        .map(|position| {
            (
                position,
                EntityError::new(made[position], EntityFault::Destroyed),
            )
        })
        .collect();
    for (_, error) in &expected {
        allocator.destroy(error.entity).unwrap();
    }
    let unborn = handle(made[200].index(), made[200].version() + 2);
    made.insert(1_000, unborn);
    made.insert(1_001, Entity::PLACEHOLDER);
    expected.push((1_000, EntityError::new(unborn, EntityFault::NeverCreated)));
    expected.push((
        1_001,
        EntityError::new(Entity::PLACEHOLDER, EntityFault::OutOfRange),
    ));

    let report = allocator.destroy_slice(&made);

    assert_eq!(report.destroyed, 1_000 - dead.len());
    assert_eq!(report.refused, expected);
    assert_eq!(allocator.count(), 0);
}

fn a_batch_in_random_order_destroys_every_entity<A: EntityAllocator>() {
    let allocator = A::fresh();
    let mut dice = Dice::new(1);
    let mut made = batch(&allocator, 20_000);
    dice.shuffle(&mut made);
    let kept = made.split_off(15_000);

    assert_eq!(
        allocator.destroy_slice(&made),
        DestroyReport {
            destroyed: 15_000,
            refused: vec![]
        }
    );

    assert!(made.iter().all(|&entity| !allocator.exists(entity)));
    assert!(kept.iter().all(|&entity| allocator.exists(entity)));
    assert_eq!(allocator.count(), kept.len());
}

fn a_place_is_read_back_and_can_be_moved<A: EntityAllocator>() {
    let allocator = A::fresh();
    let [entity, other] = [(); 2].map(|()| allocator.create().unwrap());
    assert_eq!(allocator.locate(entity), Ok(None));

    let places = [
        place(0, 0),
        place(1_048_575, 4_094),
        place(0, 0),
        place(3, 4),
    ];
    for place in places {
        assert_eq!(allocator.publish(entity, place), Ok(()));
        assert_eq!(allocator.locate(entity), Ok(Some(place)));
    }
    assert_eq!(allocator.locate(other), Ok(None));
}

fn a_new_life_begins_without_a_place<A: EntityAllocator>() {
    let allocator = A::fresh();
    for _ in 0..1_000 {
        let entity = allocator.create().unwrap();
        assert_eq!(allocator.locate(entity), Ok(None));
        allocator.publish(entity, place(9, 9)).unwrap();
        allocator.destroy(entity).unwrap();
    }
    let made = batch(&allocator, 1_000);
    made.iter()
        .for_each(|&entity| allocator.publish(entity, place(9, 9)).unwrap());
    assert!(allocator.destroy_slice(&made).is_clean());
    assert!(
        batch(&allocator, 2_000)
            .iter()
            .all(|&entity| allocator.locate(entity) == Ok(None))
    );
}

fn the_count_follows_creation_and_destruction<A: EntityAllocator>() {
    let allocator = A::fresh();
    assert_eq!(allocator.count(), 0);
    let one = allocator.create().unwrap();
    let many = batch(&allocator, 10_000);
    assert_eq!(allocator.count(), 10_001);
    allocator.destroy(one).unwrap();
    assert!(allocator.destroy_slice(&many[..5_000]).is_clean());
    assert_eq!(allocator.count(), 5_000);
    assert!(allocator.destroy_slice(&many[5_000..]).is_clean());
    assert_eq!(allocator.count(), 0);
    allocator.flush();
    assert_eq!(allocator.count(), 0);
}

fn every_version_is_odd<A: EntityAllocator>() {
    let allocator = A::fresh();
    for _ in 0..200 {
        let entity = allocator.create().unwrap();
        assert_eq!(entity.version() % 2, 1);
        allocator.destroy(entity).unwrap();
        let made = batch(&allocator, 70);
        assert!(made.iter().all(|entity| entity.version() % 2 == 1));
        assert!(allocator.destroy_slice(&made).is_clean());
    }
}

/// One thread of `threads_never_share_a_live_index`: returns every handle that it was given.
fn churn<A: EntityAllocator>(allocator: &A, ledger: &Ledger, seed: u64) -> Vec<Entity> {
    let mut dice = Dice::new(seed);
    let mut given = Vec::new();
    let mut held: Vec<Entity> = Vec::new();
    for _ in 0..3_000 {
        let fresh = match dice.below(8) {
            0 => batch(allocator, 1 + dice.below(200)),
            1..4 => vec![allocator.create().unwrap()],
            _ => Vec::new(),
        };
        for entity in &fresh {
            ledger.take(entity.index() as usize);
        }
        given.extend_from_slice(&fresh);
        held.extend_from_slice(&fresh);

        let dying = dice.below(8).saturating_sub(4) * held.len() / 8;
        dice.shuffle(&mut held);
        let dying = held.split_off(held.len() - dying);
        dying
            .iter()
            .for_each(|entity| ledger.give(entity.index() as usize));
        if dying.len().is_multiple_of(2) {
            assert!(allocator.destroy_slice(&dying).is_clean());
        } else {
            dying
                .iter()
                .for_each(|&entity| allocator.destroy(entity).unwrap());
        }
    }
    assert!(held.iter().all(|&entity| allocator.exists(entity)));
    held.iter()
        .for_each(|entity| ledger.give(entity.index() as usize));
    assert!(allocator.destroy_slice(&held).is_clean());
    given
}

fn threads_never_share_a_live_index<A: Subject>() {
    let allocator = A::fresh();
    let ledger = Ledger::new(allocator.capacity());

    let mut given: Vec<Entity> = thread::scope(|scope| {
        let (allocator, ledger) = (&allocator, &ledger);
        let threads: Vec<_> = (0..THREADS as u64)
            .map(|seed| scope.spawn(move || churn(allocator, ledger, seed)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });

    assert_eq!(allocator.count(), 0, "all were returned");
    assert!(given.iter().all(|&entity| !allocator.exists(entity)));
    let all = given.len();
    given.sort_unstable();
    given.dedup();
    assert_eq!(given.len(), all, "a handle was given out twice");
    allocator.check();
}

fn of_many_threads_that_destroy_one_handle_one_wins<A: Subject>() {
    let allocator = A::fresh();
    let made = batch(&allocator, 2_000);
    let start = Barrier::new(THREADS);

    let race = |thread: usize| -> usize {
        let mut mine = made.clone();
        Dice::new(thread as u64 / 2).shuffle(&mut mine);
        start.wait();
        if thread.is_multiple_of(2) {
            mine.iter()
                .filter(|&&entity| allocator.destroy(entity).is_ok())
                .count()
        } else {
            mine.chunks(50)
                .map(|some| allocator.destroy_slice(some).destroyed)
                .sum()
        }
    };
    let destroyed: usize = thread::scope(|scope| {
        let race = &race;
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || race(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });

    assert_eq!(destroyed, made.len());
    assert_eq!(allocator.count(), 0);
    allocator.check();
}

fn entities_made_by_one_thread_are_destroyed_by_another<A: Subject>() {
    let allocator = A::fresh();
    let ledger = Ledger::new(allocator.capacity());
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Vec<Entity>>(4);

    thread::scope(|scope| {
        scope.spawn(|| {
            let sender = sender;
            for round in 0..500 {
                let made = batch(&allocator, 1 + round % 130);
                for (row, &entity) in made.iter().enumerate() {
                    ledger.take(entity.index() as usize);
                    allocator
                        .publish(entity, place(round as u32, row as u32))
                        .unwrap();
                }
                sender.send(made).unwrap();
            }
        });
        for (chunk, made) in receiver.iter().enumerate() {
            for (row, &entity) in made.iter().enumerate() {
                let expected = place(chunk as u32, row as u32);
                assert_eq!(allocator.locate(entity), Ok(Some(expected)));
                ledger.give(entity.index() as usize);
            }
            assert!(allocator.destroy_slice(&made).is_clean());
        }
    });

    assert_eq!(allocator.count(), 0);
    allocator.check();
}

/// A writer gives each life of a slot its own place; readers ask with handles of any life.
fn a_reader_never_sees_another_life_s_place<A: Subject>() {
    let allocator = A::fresh();
    let (sender, receiver) = std::sync::mpsc::channel::<(Entity, Place)>();

    thread::scope(|scope| {
        scope.spawn(|| {
            let sender = sender;
            for life in 0..20_000_u32 {
                let entity = allocator.create().unwrap();
                let own = place(life % 1_000_000, life % 4_000);
                sender.send((entity, own)).unwrap();
                allocator.publish(entity, own).unwrap();
                allocator.destroy(entity).unwrap();
            }
        });
        for (entity, own) in receiver {
            match allocator.locate(entity) {
                Ok(found) => assert!(found.is_none() || found == Some(own), "{entity}: {found:?}"),
                Err(error) => assert_eq!(error.fault, EntityFault::Destroyed),
            }
        }
    });
    allocator.check();
}
