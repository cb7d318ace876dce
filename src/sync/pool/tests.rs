//! What the pool lends to whom, thread by thread.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::*;

struct Counts<'a>(&'a Cell<u32>, bool);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        if self.1 {
            resume_unwind(Box::new("burnt"));
        }
    }
}

#[test]
fn what_a_thread_keeps_is_taken_by_no_other_but_who_takes_all() {
    let pool = Pool::new();
    for item in [pool.lend(7), pool.lend(7)] {
        item.keep_for(1, 0);
    }
    assert!(pool.take_for(2, 0).is_none());
    let mut item = pool.take_for(1, 0).unwrap();
    *item += 1;
    drop(item);
    // It is kept until it is left.
    assert!(pool.take_for(2, 0).is_none());
    let mut all = pool.take_all();
    all.sort_by_key(|item| **item);
    assert_eq!(all.iter().map(|item| **item).collect::<Vec<i32>>(), [7, 8]);
    all[1].leave();
    drop(all);
    assert_eq!(*pool.take_for(2, 0).unwrap(), 8);
}

#[test]
fn a_thread_takes_nothing_that_it_keeps_before_there_are_several_that_nobody_missed() {
    let pool = Pool::new();
    let keep = |time| {
        let item = pool.take_for(1, time).unwrap_or_else(|| pool.lend(0));
        item.keep_for(1, time);
    };
    for _ in 0..10 {
        keep(5);
    }
    assert_eq!(pool.len(), KEPT);
    // Somebody was to take all since, and has not.
    for _ in 0..10 {
        keep(6);
    }
    assert_eq!(pool.len(), 2 * KEPT);
    // What is kept once more waits since the first time.
    let item = pool.take_for(1, 6).unwrap();
    item.keep_for(1, 7);
    assert!(!item.waits_since_before(6) && item.waits_since_before(7));
    item.leave();
    assert!(!item.waits_since_before(7));
}

#[test]
fn who_takes_what_was_there_leaves_what_came_since() {
    let pool = Pool::new();
    let kept = |item: u64, time| pool.lend(item).keep_for(1, time);
    drop(pool.lend(0));
    (1..=4).for_each(|item| kept(item, u64::MAX.wrapping_add(item)));
    let taken = |time| {
        let found = pool.take_before(time, |_| false);
        let mut all: Vec<u64> = found.items.iter().map(|item| **item).collect();
        assert_eq!(found.seen, all.len());
        all.sort_unstable();
        (all, found.later)
    };
    // Numbers may begin anew.
    assert_eq!(taken(u64::MAX - 1), (vec![0], 4));
    assert_eq!(taken(2), (vec![0, 1, 2], 2));
    assert_eq!(taken(9), (vec![0, 1, 2, 3, 4], 0));
}

#[test]
fn who_takes_one_beside_a_collection_finds_what_is_idle() {
    // In slots, and more than there are of those.
    let slots = Pool::<u32>::new().slots();
    for count in [2, slots, slots + 10] {
        let pool = Pool::new();
        let waiting = [(); 3].map(|()| pool.lend(1));
        waiting.iter().for_each(|item| item.keep_for(1, 1));
        drop(waiting);
        let all: Vec<_> = (0..count).map(|_| pool.lend(0)).collect();
        drop(all);
        let len = pool.len();
        let mut asked = 0;
        let found = pool.take_before(7, |&item| {
            asked += 1;
            assert!(item == 0 && pool.take_for(2, 7).is_some_and(|item| *item == 0));
            true
        });
        assert_eq!((found.items.len(), found.later), (3, 0));
        // Some have come to lie where it had looked.
        assert!(asked > 0 && found.seen <= len);
        drop(found);
        let found = pool.take_before(8, |_| true);
        assert_eq!((found.items.len(), found.seen), (3, len));
        drop(found);
        assert_eq!(pool.take_waiting().len(), 3);
        assert_eq!(pool.take_all().len(), len);
    }
}

#[test]
fn a_thread_goes_on_with_what_it_began_to_keep_last() {
    for reversed in [false, true] {
        let pool = Pool::new();
        let mut items = [1, 2].map(|item| pool.lend(item));
        for item in &items {
            item.keep_for(1, **item);
        }
        if reversed {
            items.reverse();
        }
        drop(items);
        assert_eq!(*pool.take_for(1, 0).unwrap(), 2);
    }
}

#[test]
fn threads_that_come_and_go_leave_no_more_items_than_slots() {
    let pool = Pool::new();
    for thread in 0..1_000 {
        for _ in 0..2 * KEPT {
            let item = pool.take_for(thread, 0).unwrap_or_else(|| pool.lend(0));
            item.keep_for(thread, 0);
        }
    }
    assert_eq!(pool.len(), pool.slots());
}

#[test]
fn items_are_freed_once_and_the_others_stay() {
    let drops = Cell::new(0);
    let mut pool = Pool::new();
    // More than there are slots, and one that is forgotten.
    let all: Vec<_> = (0..100)
        .map(|at| pool.lend((at, Counts(&drops, false))))
        .collect();
    core::mem::forget(pool.lend((1_000, Counts(&drops, false))));
    drop(all);
    pool.retain(|(at, _)| *at % 3 == 0);
    assert_eq!((drops.get(), pool.len()), (66, 35));
    let mut left: Vec<i32> = pool.take_all().iter().map(|item| item.0).collect();
    left.sort_unstable();
    assert_eq!(left, (0..100).step_by(3).collect::<Vec<_>>());
    pool.retain(|_| false);
    assert_eq!((drops.get(), pool.len()), (100, 1));
    drop(pool.lend((5, Counts(&drops, false))));
    drop(pool);
    assert_eq!(drops.get(), 102);
}

#[test]
fn all_items_are_dropped_though_the_drop_of_one_panics() {
    let drops = Cell::new(0);
    let pool = Pool::new();
    (0..4).for_each(|at| drop(pool.lend(Counts(&drops, at == 2))));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(pool))).is_err());
    assert_eq!(drops.get(), 4);
}

/// The only item in which something waits, for a test, which has the pool to itself.
fn only(pool: &Pool<u32>, idle_below: u32) -> Option<super::Only<'_, u32>> {
    // SAFETY: one thread, and what comes back is gone before it asks the pool for anything else.
    unsafe { pool.only_waiting(|item| *item < idle_below) }
}

#[test]
fn who_has_a_pool_alone_finds_the_only_item_that_waits_where_it_lies() {
    let pool = Pool::new();
    assert!(only(&pool, 9).is_none());
    let (waiting, idle) = (pool.lend(3), pool.lend(4));
    waiting.keep(1);
    drop((waiting, idle));
    // It says of the other one that there is something to do.
    assert!(only(&pool, 4).is_none());
    let mut found = only(&pool, 9).unwrap();
    assert_eq!(*found, 3);
    *found = 5;
    found.leave();
    assert!(only(&pool, 9).is_none(), "it waits no more");
    assert_eq!(pool.take_all().iter().map(|item| **item).max(), Some(5));
}

#[test]
fn an_item_is_not_the_only_one_while_another_waits_or_is_away_or_in_no_slot() {
    let pool = Pool::new();
    let (one, other) = (pool.lend(1), pool.lend(2));
    one.keep(1);
    drop(one);
    assert!(only(&pool, 9).is_none(), "one is away");
    other.keep(2);
    drop(other);
    assert!(only(&pool, 9).is_none(), "both wait");
    for item in pool.take_all() {
        item.leave();
    }
    let all: Vec<_> = (0..pool.slots() + 1).map(|_| pool.lend(0)).collect();
    all[0].keep(3);
    drop(all);
    assert!(only(&pool, 9).is_none(), "not all lie in slots");
}

#[test]
fn nobody_gets_what_a_thread_has_kept_that_has_ended() {
    let pool = Pool::new();
    for before in 0..8 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(pool.take(0).is_none(), "{before} threads before it");
                pool.lend(0).keep(0);
            });
        });
    }
    assert_eq!(pool.take_all().len(), 8);
}

#[test]
fn a_pool_has_a_place_for_each_thread_within_bounds() {
    let slots = Pool::<u32>::new().slots();
    assert!((LEAST * KEPT..=MOST * KEPT).contains(&slots));
    assert_eq!(Pool::<u32>::small().slots(), KEPT);
    assert_eq!(
        size_of::<CachePadded<Place<u32>>>(),
        align_of::<CachePadded<u8>>()
    );
}
