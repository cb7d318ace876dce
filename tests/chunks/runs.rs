//! Where the run that a thread takes comes from, after it gave one back.

use megachunk::chunk::{Chunks, MEGACHUNK_CHUNKS, MEGACHUNKS, MegachunkAllocator};

/// So many runs.
fn take(allocator: &MegachunkAllocator, count: usize, len: usize) -> Vec<Chunks<'_>> {
    (0..count)
        .map(|_| allocator.allocate_run(len).unwrap())
        .collect()
}

/// How many mega-chunks a search for runs passes until it comes to this one's.
fn place(run: &Chunks<'_>) -> usize {
    MEGACHUNKS - 1 - run.run().megachunk() as usize
}

/// Gives a run back and takes another: where they lay.
fn replace<'a>(
    allocator: &'a MegachunkAllocator,
    runs: &mut Vec<Chunks<'a>>,
    at: usize,
    len: usize,
) -> (usize, usize) {
    let old = runs.swap_remove(at);
    let before = place(&old);
    drop(old);
    let new = allocator.allocate_run(len).unwrap();
    let after = place(&new);
    runs.push(new);
    (before, after)
}

#[test]
fn a_run_comes_where_one_of_its_length_was_given_back() {
    for len in [2, 8, 33, 64] {
        let allocator = MegachunkAllocator::new();
        let mut runs = take(&allocator, 400, len);
        // Room further out, which a search would find.
        drop(runs.remove(40));
        for at in [250, 70, 120, 299] {
            let (before, after) = replace(&allocator, &mut runs, at, len);
            assert_eq!(after, before, "of {len}");
        }
    }
}

#[test]
fn a_run_of_another_length_leaves_that_room_alone() {
    let allocator = MegachunkAllocator::new();
    let mut runs = take(&allocator, 80, 32);
    // In the first place there is room for both, one after the other.
    drop(runs.remove(0));
    for len in [2, 20] {
        let (before, after) = replace(&allocator, &mut runs, 50, len);
        assert!(before > 0);
        assert_eq!(after, 0, "of {len}");
    }
}

#[test]
fn what_is_left_of_a_peak_comes_together_again() {
    for len in [2, 8] {
        let allocator = MegachunkAllocator::new();
        let mut runs = take(&allocator, 2_000, len);
        let mut kept = 0..;
        runs.retain(|_| kept.next().is_some_and(|at| at % 10 == 0));
        let needed = (runs.len() * len).div_ceil(MEGACHUNK_CHUNKS);
        for round in 0..20 * runs.len() {
            // By a stride that comes by all of them.
            let at = round * 77 % runs.len();
            replace(&allocator, &mut runs, at, len);
        }
        let stats = allocator.stats();
        let in_use = stats.committed_megachunks - stats.empty_megachunks;
        assert_eq!(in_use, needed, "of {len}");
    }
}

#[test]
fn the_last_run_of_a_pair_moves_so_that_the_pair_is_given_back() {
    let allocator = MegachunkAllocator::new();
    let mut runs = take(&allocator, 10, MEGACHUNK_CHUNKS);
    // Of the third pair one is left.
    drop(runs.remove(5));
    drop(runs.remove(0));
    let (before, after) = replace(&allocator, &mut runs, 3, MEGACHUNK_CHUNKS);
    assert_eq!((before, after), (4, 0));
}

#[test]
fn a_run_does_not_come_where_memory_went_back() {
    let allocator = MegachunkAllocator::new();
    let mut runs = take(&allocator, 10, MEGACHUNK_CHUNKS);
    // The neighbours stay in use. The inner one of the two is given back last, and the outer one keeps its memory.
    let inner = runs.remove(5);
    drop(runs.remove(1));
    drop(inner);
    assert_eq!(allocator.trim_to(1), 1);
    let commits = allocator.stats().commits;
    let run = allocator.allocate_run(MEGACHUNK_CHUNKS).unwrap();
    assert_eq!((place(&run), allocator.stats().commits), (1, commits));
}

#[cfg(feature = "probe")]
#[test]
fn a_run_that_replaces_one_is_taken_by_one_read_modify_write() {
    use megachunk::sync::probe;

    // Each mega-chunk is full, and was opened before.
    for (len, count) in [(2, 320), (8, 80), (32, 20)] {
        let allocator = MegachunkAllocator::new();
        let mut runs = take(&allocator, count, len);
        for at in (0..count).chain(0..count) {
            let old = runs.swap_remove(at * 7 % count);
            let given = probe::measure(|| drop(old)).rmw;
            assert!((2..=4).contains(&given), "{given} of {len}");
            let taken = probe::measure(|| runs.push(allocator.allocate_run(len).unwrap())).rmw;
            assert_eq!(taken, 1, "of {len}");
        }
    }
}

#[cfg(feature = "probe")]
#[test]
fn a_run_that_opens_a_mega_chunk_takes_seven_read_modify_writes_at_most() {
    use megachunk::sync::probe;

    for (len, opened, again) in [(33, 2..=7, 4), (MEGACHUNK_CHUNKS, 2..=7, 2)] {
        let allocator = MegachunkAllocator::new();
        let mut runs = Vec::new();
        for _ in 0..100 {
            let taken = probe::measure(|| runs.push(allocator.allocate_run(len).unwrap())).rmw;
            assert!(opened.contains(&taken), "{taken} of {len}");
        }
        // Its neighbour is in use, and its memory is there.
        let old = runs.swap_remove(50);
        let given = probe::measure(|| drop(old)).rmw;
        assert!((2..=5).contains(&given), "{given} of {len}");
        let taken = probe::measure(|| runs.push(allocator.allocate_run(len).unwrap())).rmw;
        assert_eq!(taken, again, "of {len}");
    }
}
