//! Each thing that the check speaks of, broken by hand, is named by it; mended, it is found sound.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::entity::Entity;
use crate::sync::atomic::AtomicU64;

/// So many slots are in use: some blocks, the last in part; and one span is full but for one slot.
const COUNT: usize = 20_000;
/// A claim word of which all slots are taken.
const TAKEN: u32 = 40;
/// One of which some are free, of a span where nothing else is.
const OPEN: u32 = 70;
/// The slots that are free there.
const FREE: u64 = 0b101;

/// An index where something is free singly, something in one piece, and of some spans nothing is.
fn index() -> (EntityIndex, Vec<Entity>) {
    let index = EntityIndex::new();
    let mut entities = Vec::new();
    index.create_into(&mut entities, COUNT).unwrap();
    let free = |entity: &Entity| {
        entity.index() / WORD_BITS == OPEN && FREE >> (entity.index() % WORD_BITS) & 1 == 1
    };
    let (dead, living): (Vec<_>, Vec<_>) = entities.into_iter().partition(free);
    assert!(index.destroy_slice(&dead).is_clean());
    index.flush();
    assert_eq!(index.shared.core.taken(OPEN), !FREE);
    index.check().unwrap();
    (index, living)
}

/// What the check says, which finds something.
fn said(index: &EntityIndex) -> String {
    let error = index.check().unwrap_err();
    assert!(!error.flaws().is_empty());
    error.to_string()
}

/// What the check says while a word is another one.
fn said_of(index: &EntityIndex, word: &AtomicU64, change: impl Fn(u64) -> u64) -> String {
    let before = word.load(Ordering::Relaxed);
    word.store(change(before), Ordering::Relaxed);
    let said = said(index);
    word.store(before, Ordering::Relaxed);
    index.check().unwrap();
    said
}

/// Words of the index, which has so many.
fn word_of(index: &EntityIndex, word: u32) -> (&AtomicU64, &AtomicU64) {
    let core = &index.shared.core;
    // SAFETY: words of blocks that are open.
    unsafe { (core.claims(word), core.span(span::of(word))) }
}

fn slot_of(index: &EntityIndex, slot: u32) -> (&AtomicU64, &AtomicU64) {
    let core = &index.shared.core;
    // SAFETY: slots of blocks that are open.
    unsafe { (core.slot(slot), core.group(slot)) }
}

#[test]
fn a_hint_that_hides_free_slots_is_named() {
    let (index, _) = index();
    let (_, span) = word_of(&index, OPEN);
    let said = said_of(&index, span, |span| span | span::closed(span::lane(OPEN)));
    assert!(
        said.contains("claim word 70: its hint says that nothing is free, and 0x5 of it are"),
        "{said}"
    );
}

#[test]
fn a_hint_that_lags_the_other_way_is_none() {
    let (index, _) = index();
    let (_, span) = word_of(&index, TAKEN);
    let before = span.load(Ordering::Relaxed);
    assert_eq!(before, CLOSED);
    span.store(before & !span::closed(span::lane(TAKEN)), Ordering::Relaxed);
    // The bit above says that the span is closed.
    let said = said(&index);
    assert!(
        said.contains("summary word 0 of level 0: it says of 1 below that nothing is free there"),
        "{said}"
    );
    index.shared.core.summary.mark_open(1);
    index.check().unwrap();
}

#[test]
fn a_summary_that_hides_spans_is_named_at_every_level() {
    let (index, _) = index();
    let core = &index.shared.core;
    let open = span::of(OPEN) as usize;
    core.summary.mark_full(open, || true);
    assert!(said(&index).contains(&format!("says of {open} below that nothing")));
    core.summary.mark_open(open);
    index.check().unwrap();
    // A whole word of spans, and with it a bit above.
    (0..64).for_each(|number| core.summary.mark_full(number, || true));
    let said_of_all = said(&index);
    assert!(
        said_of_all.contains("summary word 0 of level 0"),
        "{said_of_all}"
    );
    core.summary.forget(open);
    let said_above = said(&index);
    assert!(
        said_above.contains("summary word 0 of level 1: it says of 0 below"),
        "{said_above}"
    );
}

#[test]
fn slots_that_are_free_twice_or_in_use_and_free_are_named() {
    let (index, _) = index();
    let (claims, span) = word_of(&index, TAKEN);
    let said = said_of(&index, claims, |_| 1 << 9);
    let slot = TAKEN * WORD_BITS + 9;
    assert!(said.contains(&format!(
        "slot {slot}: it is free, and an entity lives there"
    )));
    let said = said_of(&index, span, |span| span & !span::lane(TAKEN));
    assert!(said.contains(&format!(
        "slot {slot}: it is free, and an entity lives there"
    )));
    assert!(
        said.contains("and 64 more") || said.contains("more"),
        "{said}"
    );
    // All of it, in one piece and singly.
    let (claims, span) = word_of(&index, OPEN);
    let before = span.load(Ordering::Relaxed);
    span.store(before & !span::lane(OPEN), Ordering::Relaxed);
    let twice = index.check().unwrap_err().to_string();
    span.store(before, Ordering::Relaxed);
    assert!(
        twice.contains("claim word 70: it is free in one piece, and 0x5 of it are free singly")
    );
    let lost = said_of(&index, claims, |claims| claims & !1);
    assert!(lost.contains("are neither free nor an entity's"), "{lost}");
}

#[test]
fn slots_that_contradict_their_group_or_themselves_are_named() {
    let (index, living) = index();
    let (word, group) = slot_of(&index, living[77].index());
    let condemned = said_of(&index, group, |group| group ^ 1 << (77 % GROUP_SLOTS));
    assert!(condemned.contains("slot 77: its entity is condemned, and lives"));
    let dead = OPEN * WORD_BITS;
    let (free, group) = slot_of(&index, dead);
    let at = format!("slot {dead}");
    let phase = said_of(&index, group, |group| group ^ 1 << (dead % GROUP_SLOTS));
    assert!(phase.contains(&format!("{at}: its phase is not that of its next entity")));
    let placed = said_of(&index, free, |word| word | 7);
    assert!(placed.contains(&format!("{at}: it has a place, and no entity")));
    let retired = said_of(&index, free, |_| slot::dead(LAST_VERSION));
    assert!(
        retired.contains(&format!("{at}: it is free, and has retired")),
        "{retired}"
    );
    assert!(retired.contains("1 slots have retired, and 0 are counted"));
    let beyond = said_of(&index, word, |_| u64::MAX << 32);
    assert!(beyond.contains("slot 77: it has a version that no slot comes to"));
}

#[test]
fn slots_that_caches_keep_are_accounted_for() {
    let (index, living) = index();
    index.destroy(living[5]).unwrap();
    index.destroy(living[6]).unwrap();
    index.check().unwrap();
    let (claims, _) = word_of(&index, 0);
    let free = said_of(&index, claims, |_| 1 << 5);
    assert!(
        free.contains("slot 5: a cache keeps it, and it is another's or free"),
        "{free}"
    );
    index.with_cache(|_, cache, _| cache.magazine[0] = 6);
    let twice = said(&index);
    assert!(
        twice.contains("slot 6: its thread keeps it twice"),
        "{twice}"
    );
    index.with_cache(|_, cache, _| cache.magazine[0] = 5);
    index.with_cache(|_, _, tally| tally.forget_kept(1));
    let lost = said(&index);
    assert!(
        lost.contains("of which the thread keeps 1 and others 0 to 0"),
        "{lost}"
    );
}

#[test]
fn a_slot_that_another_thread_keeps_and_that_is_free_is_named() {
    let (index, living) = index();
    let (begun, looked) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            index.destroy(living[5]).unwrap();
            begun.wait();
            looked.wait();
        });
        begun.wait();
        index.check().unwrap();
        let (claims, _) = word_of(&index, 0);
        let free = said_of(&index, claims, |_| 1 << 5);
        looked.wait();
        assert!(free.contains("others 1 to 65"), "{free}");
    });
}

#[test]
fn counts_that_are_wrong_are_named() {
    let (index, living) = index();
    index.with_cache(|_, _, tally| tally.add_created(1));
    let said = said(&index);
    let count = living.len();
    assert!(
        said.contains(&format!(
            "index: {count} entities live, and {} are counted",
            count + 1
        )),
        "{said}"
    );
    index.with_cache(|_, _, tally| tally.add_destroyed(1));
    index.check().unwrap();
}

#[test]
fn what_was_never_claimed_and_has_a_past_is_named() {
    let (index, _) = index();
    let last = index.shared.core.opened() * WORDS_PER_BLOCK - 1;
    let (claims, _) = word_of(&index, last);
    let said = said_of(&index, claims, |_| 1);
    assert!(
        said.contains(&format!("claim word {last}: it was never claimed")),
        "{said}"
    );
}

#[test]
fn blocks_that_nobody_works_in_and_hints_that_lag_are_named() {
    let (index, _) = index();
    let worker = index.shared.core.workers.get(1);
    worker.store(9, Ordering::Relaxed);
    let said_of_workers = said(&index);
    assert!(
        said_of_workers.contains("others work in 1 blocks, and have 0 caches"),
        "{said_of_workers}"
    );
    worker.store(0, Ordering::Relaxed);
    index.check().unwrap();
    let (begun, looked) = (Barrier::new(2), Barrier::new(2));
    let lagged = thread::scope(|scope| {
        scope.spawn(|| {
            index.with_cache(|_, _, tally| {
                let _lag = tally.lag.begin();
                begun.wait();
                looked.wait();
            });
        });
        begun.wait();
        let said = said(&index);
        looked.wait();
        said
    });
    assert!(lagged.contains("a cache says that its hints lag"));
}

/// One that ends is not in a call, and gives back what it kept after those that wait for its closure have gone on.
#[test]
fn a_thread_that_ends_is_no_flaw() {
    let (index, living) = index();
    for some in living.chunks(500) {
        thread::scope(|scope| {
            scope.spawn(|| some.iter().for_each(|&one| index.destroy(one).unwrap()));
        });
        index.check().unwrap();
    }
}
