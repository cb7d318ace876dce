//! Where chunks' memory comes from, and what happens when the system has none.
//!
//! Properties: a refusal is served from memory that is there, or changes nothing; memory that was
//! given back is not touched and comes back; without 16 GiB of addresses there is another way.

use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(target_os = "linux")]
use std::process::Command;
use std::ptr::NonNull;
#[cfg(feature = "world")]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

#[cfg(target_os = "linux")]
use megachunk::chunk::memory::MappedMemory;
use megachunk::chunk::memory::{HeapMemory, Memory, SystemMemory};
use megachunk::chunk::{CHUNK_BYTES, ChunkError, ChunkOptions, Chunks, MegachunkAllocator};
#[cfg(feature = "world")]
use megachunk::world::{Universe, World};

/// Heap memory for so many mega-chunks and no more.
#[derive(Debug)]
struct Scarce {
    heap: HeapMemory,
    left: AtomicU32,
}

impl Scarce {
    fn allocator(megachunks: u32) -> MegachunkAllocator<Self> {
        let memory = Self {
            heap: HeapMemory::new(),
            left: AtomicU32::new(megachunks),
        };
        ChunkOptions::new().build_with(memory).unwrap()
    }
}

// SAFETY: `HeapMemory` keeps the promise; a refusal commits nothing.
unsafe impl Memory for Scarce {
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()> {
        let take = |left: u32| left.checked_sub(1);
        match self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        {
            // SAFETY: the caller's.
            Ok(_) => unsafe { self.heap.commit(megachunk) },
            Err(_) => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }

    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()> {
        self.left
            .fetch_add(megachunks.len() as u32, Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { self.heap.decommit(megachunks) }
    }

    fn base(&self, chunk: u32) -> NonNull<u8> {
        self.heap.base(chunk)
    }
}

fn fill<M: Memory>(chunks: &mut Chunks<'_, M>, byte: u8) {
    chunks
        .as_uninit()
        .iter_mut()
        .step_by(CHUNK_BYTES / 4)
        .for_each(|at| _ = at.write(byte));
}

#[test]
fn memory_that_cannot_be_discarded_stays() {
    let allocator = Scarce::allocator(1);
    let kept = allocator.allocate().unwrap();
    assert_eq!(allocator.discard(), 0);
    assert_eq!(
        allocator.allocate_run(32).unwrap().run().megachunk(),
        kept.run().megachunk()
    );
    allocator.check().unwrap();
}

#[test]
fn a_run_that_the_system_has_no_memory_for_comes_from_memory_that_is_there() {
    let allocator = Scarce::allocator(1);
    let single = allocator.allocate().unwrap();
    let run = allocator.allocate_run(2).unwrap();
    assert_eq!(run.run().megachunk(), single.run().megachunk());
}

#[test]
fn all_chunks_of_the_memory_there_is_can_be_had_singly() {
    let allocator = Scarce::allocator(3);
    let mut chunks: Vec<_> = (0..3 * 64).map(|_| allocator.allocate().unwrap()).collect();
    chunks
        .iter_mut()
        .zip(0..)
        .for_each(|(chunk, byte)| fill(chunk, byte));
    assert!(matches!(
        allocator.allocate(),
        Err(ChunkError::Refused { .. })
    ));
    assert_eq!(allocator.in_use(), 3 * 64);
    chunks.pop();
    assert!(allocator.allocate().is_ok());
}

#[test]
fn a_refusal_changes_nothing_whichever_commit_fails() {
    for commits in 0..6 {
        let allocator = Scarce::allocator(commits);
        let held: Vec<_> = (0..commits)
            .map(|_| allocator.allocate_run(64).unwrap())
            .collect();
        let before = allocator.stats();
        for len in [1, 2, 63, 64] {
            assert!(matches!(
                allocator.allocate_run(len),
                Err(ChunkError::Refused { .. })
            ));
        }
        assert!(matches!(
            allocator.allocate_many(200),
            Err(ChunkError::Refused { .. })
        ));
        let after = allocator.stats();
        assert_eq!((after.in_use, after.cached), (before.in_use, before.cached));
        assert_eq!(after.committed_megachunks, before.committed_megachunks);
        drop(held);
        assert_eq!(allocator.in_use(), 0);
    }
}

#[test]
fn what_the_thread_keeps_serves_a_run_that_the_system_refuses() {
    let allocator = Scarce::allocator(1);
    drop(allocator.allocate().unwrap());
    assert!(allocator.stats().cached > 0);
    assert!(allocator.allocate_run(64).is_ok());
}

#[test]
fn shorter_runs_are_had_where_the_system_refuses_longer_ones() {
    let allocator = Scarce::allocator(1);
    let all: Vec<_> = (0..64).map(|_| allocator.allocate().unwrap()).collect();
    let every_second = all.into_iter().filter(|one| one.run().first() % 2 == 0);
    let kept: Vec<_> = every_second.collect();
    allocator.flush();
    assert_eq!(allocator.allocate_up_to(8).unwrap().run().len(), 1);
    let many = allocator.allocate_many(16).unwrap();
    assert_eq!((many.len(), allocator.in_use()), (16, 48));
    let refused = |error: Option<ChunkError>| matches!(error, Some(ChunkError::Refused { .. }));
    assert!(refused(allocator.allocate_many(17).err()));
    let rest = allocator.allocate_many(16).unwrap();
    assert!(refused(allocator.allocate_up_to(8).err()));
    drop((kept, many, rest));
    assert_eq!(allocator.in_use(), 0);
}

#[test]
fn memory_given_back_is_had_again() {
    let allocator = Scarce::allocator(40);
    for round in 0..4 {
        let mut runs: Vec<_> = (0..40)
            .map(|_| allocator.allocate_run(64).unwrap())
            .collect();
        runs.iter_mut().for_each(|run| fill(run, round));
        drop(runs);
        let stats = allocator.stats();
        // What went back in the first round is wanted in the next, and kept from then on.
        let most = if round == 0 { 8 + 8 + 1 } else { 40 };
        assert!(stats.empty_megachunks <= most, "{stats:?}");
        assert_eq!(stats.committed_megachunks, stats.empty_megachunks);
    }
    allocator.trim();
    assert_eq!(allocator.stats().committed_megachunks, 0);
}

#[test]
fn memory_that_goes_back_and_is_wanted_again_is_kept_up_to_the_most() {
    let decommits_of_a_round = |options: ChunkOptions| {
        let allocator = options.build().unwrap();
        let round = || {
            let before = allocator.stats().decommits;
            let held = allocator.allocate_many(50 * 64).unwrap();
            drop(held);
            allocator.stats().decommits - before
        };
        let first = round();
        (0..3).for_each(|_| {
            round();
        });
        let stats = allocator.stats();
        allocator.trim();
        assert_eq!(allocator.stats().committed_megachunks, 0);
        (first, round(), stats.empty_megachunks)
    };
    let (first, later, kept) = decommits_of_a_round(ChunkOptions::new());
    assert!(first > 0 && later == 0 && kept == 50, "{later} {kept}");
    let (first, later, kept) = decommits_of_a_round(ChunkOptions::new().retain_at_most(0));
    assert!(
        first > 0 && later > 0 && kept <= 8 + 8 + 1,
        "{later} {kept}"
    );
    let (first, later, kept) = decommits_of_a_round(ChunkOptions::new().retain(64));
    assert_eq!((first, later, kept), (0, 0, 50));
}

#[test]
fn one_call_gives_ten_megabytes_back_at_most_and_the_next_ones_go_on() {
    let allocator = MegachunkAllocator::new();
    let take = |megachunks: usize| -> Vec<Chunks<'_>> {
        let all = (0..megachunks).map(|_| allocator.allocate_run(64).unwrap());
        all.collect()
    };
    // As many as can be are kept then, and fewer by an eighth each time.
    for _ in 0..4 {
        drop(take(270));
    }
    let kept = allocator.stats().empty_megachunks;
    assert!(kept > 128, "{kept}");
    let mut most = 0;
    for run in take(2_000) {
        let before = allocator.stats().committed_megachunks;
        drop(run);
        most = most.max(before - allocator.stats().committed_megachunks);
    }
    assert_eq!(most, 10);
    assert!(allocator.stats().committed_megachunks <= 16);
    // A neighbour is in use for each: all come to go at once, and in parts.
    let mut most = 0;
    for run in empty_beside_used(&allocator) {
        let before = allocator.stats().committed_megachunks;
        drop(run);
        most = most.max(before - allocator.stats().committed_megachunks);
    }
    assert_eq!(most, 10);
    assert!(allocator.stats().committed_megachunks <= 16);
}

#[test]
fn the_boundary_of_a_megachunk_costs_no_calls_to_the_system() {
    let allocator = MegachunkAllocator::new();
    let _full = allocator.allocate_run(64).unwrap();
    drop(allocator.allocate_run(3).unwrap());
    let before = allocator.stats();
    for _ in 0..1_000 {
        drop(allocator.allocate_run(3).unwrap());
    }
    let after = allocator.stats();
    assert_eq!(
        (after.commits, after.decommits),
        (before.commits, before.decommits)
    );
}

#[test]
fn a_run_that_comes_and_goes_above_kept_memory_costs_no_calls_to_the_system() {
    let allocator = MegachunkAllocator::new();
    let chunks: Vec<_> = (0..16 * 64)
        .map(|_| allocator.allocate().unwrap())
        .collect();
    drop(chunks);
    allocator.flush();
    // The run has a mega-chunk of its own at the other end; what is given back must be others.
    drop(allocator.allocate_run(2).unwrap());
    let before = allocator.stats();
    for _ in 0..1_000 {
        drop(allocator.allocate_run(2).unwrap());
    }
    let after = allocator.stats();
    assert_eq!(
        (after.commits, after.decommits),
        (before.commits, before.decommits)
    );
}

#[test]
fn each_pair_that_becomes_empty_is_given_back_whichever_half_comes_last() {
    let allocator = ChunkOptions::new().build().unwrap();
    let mut runs: Vec<_> = (0..400)
        .map(|_| Some(allocator.allocate_run(64).unwrap()))
        .collect();
    for odd_first in [false, true] {
        for pair in runs.as_chunks_mut::<2>().0.iter_mut().step_by(33) {
            pair[usize::from(odd_first)] = None;
            pair[usize::from(!odd_first)] = None;
        }
        assert!(
            allocator.stats().empty_megachunks <= 16,
            "{:?}",
            allocator.stats()
        );
        for run in runs.iter_mut().filter(|run| run.is_none()) {
            *run = Some(allocator.allocate_run(64).unwrap());
        }
    }
}

/// Every second of 2,000 mega-chunks, which are then empty beside one in use; and the others.
fn empty_beside_used(allocator: &MegachunkAllocator) -> Vec<Chunks<'_>> {
    let all: Vec<_> = (0..2_000)
        .map(|_| allocator.allocate_run(64).unwrap())
        .collect();
    let every_second = all.into_iter().filter(|run| run.run().megachunk() % 2 == 0);
    let used: Vec<_> = every_second.collect();
    assert_eq!(allocator.stats().empty_megachunks, 1_000);
    used
}

#[test]
fn what_could_not_be_given_back_once_is_no_measure_for_later() {
    // They are trimmed, or had again.
    let allocator = ChunkOptions::new().build().unwrap();
    let used = empty_beside_used(&allocator);
    assert_eq!(allocator.trim(), 1_000);
    drop(used);
    assert!(allocator.stats().empty_megachunks <= 16);

    let allocator = ChunkOptions::new().build().unwrap();
    let mut used = empty_beside_used(&allocator);
    used.extend((0..1_000).map(|_| allocator.allocate_run(64).unwrap()));
    assert_eq!(allocator.stats().empty_megachunks, 0);
    used.sort_by_key(|run| run.run().first());
    drop(used.split_off(1_000));
    assert!(allocator.stats().empty_megachunks <= 16);
}

#[test]
fn a_trim_says_how_many_it_gave_back_and_keeps_as_many_as_it_is_told() {
    let allocator = MegachunkAllocator::new();
    let fill = || {
        let runs: Vec<_> = (0..16)
            .map(|_| allocator.allocate_run(64).unwrap())
            .collect();
        let single = allocator.allocate().unwrap();
        drop((runs, single));
        allocator.stats().committed_megachunks
    };
    let committed = fill();
    assert_eq!(committed, 17);
    assert_eq!((allocator.trim_to(100), fill()), (0, committed));
    assert_eq!(allocator.trim_to(12), committed - 12);
    assert_eq!(allocator.trim(), 12);
    assert_eq!(allocator.stats().committed_megachunks, 0);
}

#[test]
fn a_trim_keeps_what_is_taken_next() {
    let allocator = ChunkOptions::new().retain(64).build().unwrap();
    // Runs come from the top down, single chunks from the bottom up.
    let take = |runs: usize| -> Vec<_> {
        let runs = (0..runs).map(|_| allocator.allocate_run(64).unwrap());
        let singles = (0..64).map(|_| allocator.allocate().unwrap());
        runs.chain(singles).collect()
    };
    drop(take(20));
    allocator.flush();
    assert_eq!(allocator.trim_to(8), 13);
    let commits = allocator.stats().commits;
    drop(take(7));
    assert_eq!(allocator.stats().commits, commits);
}

#[test]
fn single_chunks_come_from_where_memory_is_after_a_trim() {
    let allocator = ChunkOptions::new().retain(256).build().unwrap();
    let singles: Vec<_> = (0..60 * 64)
        .map(|_| allocator.allocate().unwrap())
        .collect();
    drop(singles);
    assert!(allocator.trim_to(16) >= 40);
    let commits = allocator.stats().commits;
    for _ in 0..10 {
        drop(allocator.allocate().unwrap());
        assert_eq!(allocator.trim_to(16), 0);
    }
    assert_eq!(allocator.stats().commits, commits);
}

/// The only test here that makes worlds: what they leave is the process'.
#[cfg(feature = "world")]
#[test]
fn small_worlds_side_by_side_live_on_what_earlier_ones_left_whatever_these_were() {
    let batch = |world: &mut World, count: u32| {
        let made = world.create_batch((0..count).map(|number| ([number; 100],)));
        assert_eq!(made.unwrap().len(), count as usize);
    };
    // Most of a large world is in runs, which lie elsewhere than single chunks.
    batch(&mut World::new(), 100_000);
    let commits = || {
        let ordered = Arc::new(Universe::ordered());
        let mut worlds = [World::new(), World::of(&ordered).unwrap()];
        for world in &mut worlds {
            batch(world, 100);
            world.create((1_u8,)).unwrap();
        }
        let mut commits = worlds.map(|world| world.universe().chunk_stats().commits);
        // Which of them ends first is nothing to go by.
        commits.sort_unstable();
        commits
    };
    let first = commits();
    assert_eq!([commits(), commits()], [first; 2]);
    assert!(Universe::forget_spare() && !Universe::forget_spare());
}

#[test]
fn all_empty_memory_is_kept_on_request() {
    let allocator = ChunkOptions::new().retain(usize::MAX).build().unwrap();
    let runs: Vec<_> = (0..64)
        .map(|_| allocator.allocate_run(64).unwrap())
        .collect();
    drop(runs);
    let stats = allocator.stats();
    assert_eq!((stats.empty_megachunks, stats.decommits), (64, 0));
}

#[test]
fn a_ticket_is_good_once_and_only_where_it_was_issued() {
    let (mine, other) = (MegachunkAllocator::new(), MegachunkAllocator::new());
    let ticket = mine.allocate_run(3).unwrap().into_raw();
    let foreign = other.reclaim(ticket).map(Chunks::into_raw).unwrap_err();
    assert!(matches!(foreign, ChunkError::ForeignTicket { .. }));
    drop(mine.reclaim(ticket).unwrap());
    let stale = mine.reclaim(ticket).map(Chunks::into_raw).unwrap_err();
    assert!(matches!(stale, ChunkError::StaleTicket { .. }));
}

/// Heap memory whose next `decommit` panics, though it must not.
#[derive(Debug)]
struct Brittle {
    heap: HeapMemory,
    panics: AtomicBool,
    lost: AtomicU32,
}

// SAFETY: `HeapMemory` keeps the promise, but for the one that the test is about.
unsafe impl Memory for Brittle {
    unsafe fn commit(&self, megachunk: u32) -> io::Result<()> {
        // SAFETY: the caller's.
        unsafe { self.heap.commit(megachunk) }
    }

    unsafe fn decommit(&self, megachunks: Range<u32>) -> io::Result<()> {
        if self.panics.swap(false, Ordering::Relaxed) {
            self.lost
                .fetch_add(megachunks.len() as u32, Ordering::Relaxed);
            panic!("decommit of {megachunks:?}");
        }
        // SAFETY: the caller's.
        unsafe { self.heap.decommit(megachunks) }
    }

    fn base(&self, chunk: u32) -> NonNull<u8> {
        self.heap.base(chunk)
    }
}

#[test]
fn a_decommit_that_unwinds_takes_no_chunks_but_those_that_were_held_for_it() {
    let memory = Brittle {
        heap: HeapMemory::new(),
        panics: AtomicBool::new(false),
        lost: AtomicU32::new(0),
    };
    let allocator = ChunkOptions::new().retain(1).build_with(memory).unwrap();
    let all: Vec<_> = (0..40 * 64)
        .map(|_| allocator.allocate().unwrap())
        .collect();
    let (last, rest): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|chunk| chunk.run().first() % 64 == 63);
    drop(rest);
    allocator.flush();
    allocator.memory().panics.store(true, Ordering::Relaxed);
    let panics = last.into_iter().map(|chunk| {
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(chunk)));
        usize::from(dropped.is_err())
    });
    assert_eq!(panics.sum::<usize>(), 1);
    allocator.flush();
    let lost = allocator.memory().lost.load(Ordering::Relaxed);
    assert!(lost > 0);
    let held = (0..40).filter(|&megachunk| allocator.in_use_mask(megachunk) != 0);
    assert_eq!((held.count(), allocator.in_use()), (lost as usize, 0));
}

/// Runs one ignored test of this program in a process of its own, which has so many KiB of addresses.
#[cfg(target_os = "linux")]
fn runs_within(kibibytes: u32, test: &str) {
    let this = std::env::current_exe().unwrap();
    let script = format!("ulimit -v {kibibytes} && exec \"$0\" --exact --ignored {test}");
    let output = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(this)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn without_16_gib_of_addresses_each_megachunk_is_mapped_by_itself() {
    runs_within(
        8_000_000,
        "runs_of_all_lengths_are_there_without_16_gib_of_addresses",
    );
}

#[test]
#[cfg(target_os = "linux")]
fn memory_that_is_fetched_at_once_is_refused_by_a_system_that_has_none() {
    runs_within(
        2_000_000,
        "what_is_fetched_at_once_is_refused_within_2_gib_of_addresses",
    );
}

#[test]
#[ignore = "run by the test above, in a process with a limit"]
#[cfg(target_os = "linux")]
fn what_is_fetched_at_once_is_refused_within_2_gib_of_addresses() {
    let options = ChunkOptions::new().huge_pages(false).populate(true);
    let allocator = options.build_with(MappedMemory::new(&options)).unwrap();
    let mut runs = Vec::with_capacity(4_096);
    let refused = loop {
        match allocator.allocate_run(64) {
            Ok(run) => runs.push(run),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, ChunkError::Refused { .. }), "{refused}");
    let stats = allocator.stats();
    assert_eq!(stats.committed_megachunks, runs.len());
    assert_eq!(stats.in_use, 64 * runs.len());
    allocator.check().unwrap();
    // What is there can be had again.
    runs.pop();
    runs.push(allocator.allocate_run(64).unwrap());
    drop(runs);
    assert_eq!(allocator.in_use(), 0);
    allocator.check().unwrap();
}

#[test]
#[ignore = "run by the test above, in a process with a limit"]
fn runs_of_all_lengths_are_there_without_16_gib_of_addresses() {
    let allocator = MegachunkAllocator::new();
    assert!(matches!(allocator.memory(), SystemMemory::Mapped(_)));
    let mut runs: Vec<_> = (1..=64)
        .map(|len| allocator.allocate_run(len).unwrap())
        .collect();
    runs.iter_mut()
        .zip(0..)
        .for_each(|(run, byte)| fill(run, byte));
    drop(runs);
    // Two thirds of the addresses at least are chunks.
    let many = (0..5_000).map(|_| allocator.allocate_run(64).unwrap());
    let many: Vec<_> = many.collect();
    drop(many);
    assert_eq!(allocator.in_use(), 0);
}
