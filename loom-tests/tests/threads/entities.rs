//! What threads that end kept of the entity index.

use megachunk::entity::{CACHED_IDS, Entity, EntityIndex};

use crate::{End, on_a_thread};

/// Threads that end: if each lost what it kept, that would be as many slots as many blocks have.
const THREADS: usize = 1_000;

#[test]
fn a_thread_that_ends_leaves_its_entities_alive() {
    for end in [End::Return, End::Panic] {
        let index = EntityIndex::new();
        let mut kept = None;
        on_a_thread(end, || {
            let entities = [(); 3].map(|()| index.create().expect("not full"));
            index.destroy(entities[1]).expect("it lives");
            kept = Some(entities);
        });
        let [first, second, third] = kept.expect("the thread has run");
        assert_eq!(index.count(), 2);
        assert!(index.exists(first) && !index.exists(second) && index.exists(third));
    }
}

#[test]
fn a_thread_that_ends_gives_its_cache_back() {
    for end in [End::Return, End::Panic] {
        let index = EntityIndex::new();
        for _ in 0..THREADS {
            on_a_thread(end, || {
                let mut squad = [Entity::PLACEHOLDER; 100];
                index.create_slice(&mut squad).expect("not full");
                for soldier in squad {
                    index.destroy(soldier).expect("it lives");
                }
                // The cache is not empty now: some freed slots and the rest of a claimed word.
            });
        }
        assert_eq!(index.count(), 0);
        assert_eq!(
            index.blocks(),
            1,
            "{THREADS} threads would lose up to {CACHED_IDS} slots each"
        );
    }
}

#[test]
fn a_thread_that_panics_inside_a_batch_of_stale_handles_loses_nothing() {
    let index = EntityIndex::new();
    for _ in 0..THREADS {
        on_a_thread(End::Panic, || {
            let mut squad = [Entity::PLACEHOLDER; 70];
            index.create_slice(&mut squad).expect("not full");
            assert!(index.destroy_slice(&squad).is_clean());
            assert_eq!(index.destroy_slice(&squad).refused.len(), squad.len());
        });
    }
    assert_eq!((index.count(), index.blocks()), (0, 1));
}
