//! The published faults of the DOTS algorithms, each shown on the reference that keeps it.
//!
//! Beside these: faults 3, 4, 5 and 8 of `busy_block` and fault 5 of `megachunk_dots` are shown by
//! unit tests in the reference's own file, which can set its state. The tests that count steps or
//! freeze a thread need the feature `probe`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use megachunk::chunk::reference::MegachunkDots;
use megachunk::chunk::{ChunkAllocator, ChunkError, MEGACHUNK_CHUNKS, Run};
use megachunk::entity::reference::BusyBlock;
use megachunk::entity::{EntityAllocator, Place};

/// Gives back a run that the test owns, or one of which it wants to see what becomes.
fn give(store: &MegachunkDots, run: Run) -> Result<(), ChunkError> {
    // SAFETY: the store touches no memory of the run, nor does the test from now on.
    unsafe { store.free(run) }
}

#[test]
fn busy_block_reads_and_writes_the_next_owner_s_place_through_a_stale_handle() {
    let store = BusyBlock::fresh();
    let stale = store.create().unwrap();
    store.destroy(stale).unwrap();
    let live = store.create().unwrap();
    assert_eq!(live.index(), stale.index());
    let [own, foreign] = [1, 2].map(|chunk| Place::new(chunk, 0).unwrap());
    store.publish(live, own).unwrap();

    assert!(!store.exists(stale));
    assert_eq!(store.locate(stale), Ok(Some(own)));
    assert_eq!(store.publish(stale, foreign), Ok(()));
    assert_eq!(store.locate(live), Ok(Some(foreign)));
}

#[test]
fn megachunk_dots_hands_out_chunks_without_memory_after_a_refused_mapping() {
    let refuse = Arc::new(AtomicBool::new(true));
    let store = MegachunkDots::with_system({
        let refuse = Arc::clone(&refuse);
        move |_| !refuse.load(Ordering::Relaxed)
    });

    assert!(matches!(
        store.allocate(3),
        Err(ChunkError::Refused { megachunk: 0, .. })
    ));

    assert_eq!(
        store.in_use(),
        MEGACHUNK_CHUNKS - 3,
        "the rest of the mask stays set"
    );
    refuse.store(false, Ordering::Relaxed);
    let run = store.allocate(3).unwrap();
    assert_eq!(run.megachunk(), 0);
    assert!(
        catch_unwind(AssertUnwindSafe(|| store.base(run))).is_err(),
        "it has no memory"
    );
}

#[test]
fn megachunk_dots_maps_and_unmaps_for_ever_at_the_boundary() {
    let maps = Arc::new(AtomicUsize::new(0));
    let store = MegachunkDots::with_system({
        let maps = Arc::clone(&maps);
        move |_| maps.fetch_add(1, Ordering::Relaxed) < usize::MAX
    });
    let _full = store.allocate(64).unwrap();

    for _ in 0..100 {
        let run = store.allocate(1).unwrap();
        give(&store, run).unwrap();
    }

    assert_eq!(maps.load(Ordering::Relaxed), 1 + 100);
}

#[test]
fn megachunk_dots_does_not_see_a_double_free_during_a_mapping() {
    static STORE: OnceLock<MegachunkDots> = OnceLock::new();
    static DOUBLE_FREE: AtomicBool = AtomicBool::new(false);
    let run = Run::new(5, 1).unwrap();
    let store = STORE.get_or_init(|| {
        MegachunkDots::with_system(move |_| {
            // What another thread would do at this moment: give back a chunk that is not in use.
            let seen = STORE.get().is_none_or(|store| give(store, run).is_err());
            DOUBLE_FREE.store(!seen, Ordering::Relaxed);
            true
        })
    });

    assert!(
        give(store, run).is_err(),
        "while nothing is mapped, it is seen"
    );
    store.allocate(1).unwrap();

    assert!(
        DOUBLE_FREE.load(Ordering::Relaxed),
        "while it was mapped, it was not"
    );
    assert!(give(store, run).is_err(), "afterwards, it is seen again");
}

#[cfg(feature = "probe")]
mod with_probes {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use megachunk::entity::Entity;
    use megachunk::sync::probe::{self, Frozen, Gate};

    use super::*;

    #[test]
    fn busy_block_touches_every_full_block_to_create_one() {
        let store = BusyBlock::fresh();
        let mut fill = vec![Entity::PLACEHOLDER; 50 * 8_192];
        store.create_slice(&mut fill).unwrap();
        let create = || {
            store.create().unwrap();
        };

        assert!(probe::measure(create).rmw >= 50);
    }

    #[test]
    fn busy_block_lets_no_one_destroy_in_a_block_whose_holder_has_stopped() {
        let store = BusyBlock::fresh();
        let victim = store.create().unwrap();
        let gate = Gate::new();

        thread::scope(|scope| {
            // Steps of a create: read the count, make the block busy, …: before the fourth, the
            // block is busy for sure.
            scope.spawn(|| probe::freeze_at(4, &gate, || store.create().unwrap()));
            assert_eq!(gate.wait(), Frozen::Stopped);
            let (sender, receiver) = mpsc::channel();
            let store = &store;
            scope.spawn(move || sender.send(store.destroy(victim)).unwrap());

            let blocked = receiver.recv_timeout(Duration::from_millis(200)).is_err();
            gate.open();

            assert!(blocked);
            assert_eq!(
                receiver.recv(),
                Ok(Ok(())),
                "it ends once the holder goes on"
            );
        });
    }

    #[test]
    fn megachunk_dots_looks_at_every_mask_for_a_run_that_no_hole_fits() {
        let store = MegachunkDots::fresh();
        let singles: Vec<_> = (0..200 * 64).map(|_| store.allocate(1).unwrap()).collect();
        for run in singles.into_iter().filter(|run| run.first() % 2 == 1) {
            give(&store, run).unwrap();
        }
        let allocate = || {
            store.allocate(2).unwrap();
        };

        assert!(probe::measure(allocate).words_probed >= 200);
    }
}
