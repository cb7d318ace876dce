//! Batches of every small size and any order say the same of each handle as single deaths would.

use std::collections::HashSet;

use crate::in_sessions::InSessions;
use crate::support::Dice;
use megachunk::entity::reference::Naive;
use megachunk::entity::{DestroyReport, Entity, EntityAllocator, EntityIndex};

/// How the handles of a batch lie among all that live.
#[derive(Clone, Copy, Debug)]
enum Layout {
    SideBySide,
    Backward,
    Shuffled,
    InPairs,
    InThrees,
    /// In order, every fifth.
    WithGaps,
    FarApart,
}

/// What becomes of a batch's handles before it is destroyed.
#[derive(Clone, Copy, Debug)]
enum Blemish {
    None,
    /// One is dead.
    Stale,
    /// One is dead, and somebody else lives in its slot.
    Followed,
    /// One stands there twice.
    Double,
    /// One was never created.
    Unborn,
    /// One is of no slot.
    OutOfRange,
}

const LAYOUTS: [Layout; 7] = [
    Layout::SideBySide,
    Layout::Backward,
    Layout::Shuffled,
    Layout::InPairs,
    Layout::InThrees,
    Layout::WithGaps,
    Layout::FarApart,
];
const BLEMISHES: [Blemish; 6] = [
    Blemish::None,
    Blemish::Stale,
    Blemish::Followed,
    Blemish::Double,
    Blemish::Unborn,
    Blemish::OutOfRange,
];

/// So many handles of those that live.
fn pick(all: &[Entity], len: usize, layout: Layout, dice: &mut Dice) -> Vec<Entity> {
    let first = dice.below(all.len() - 2 * len - 1);
    let mut picked = all[first..first + len].to_vec();
    match layout {
        Layout::SideBySide => {}
        Layout::Backward => picked.reverse(),
        Layout::Shuffled => dice.shuffle(&mut picked),
        Layout::WithGaps => {
            let first = dice.below(all.len() - 5 * len);
            let every_fifth = all[first..].iter().step_by(5);
            picked = every_fifth.copied().take(len).collect();
        }
        Layout::InPairs | Layout::InThrees | Layout::FarApart => {
            let of = match layout {
                Layout::InPairs => 2,
                Layout::InThrees => 3,
                _ => 1,
            };
            let mut parts: Vec<_> = all.chunks_exact(of).collect();
            dice.shuffle(&mut parts);
            picked = parts.into_iter().flatten().copied().take(len).collect();
        }
    }
    picked
}

/// What single deaths say of a batch, in an allocator that has created `all` and then destroyed `dead_before`.
fn one_by_one<A: EntityAllocator>(
    all: &[Entity],
    dead_before: &[Entity],
    batch: &[Entity],
) -> DestroyReport {
    let oracle = A::fresh();
    let mut twin = vec![Entity::PLACEHOLDER; all.len()];
    oracle.create_slice(&mut twin).expect("not full");
    assert_eq!(all, twin, "both begin alike");
    for &entity in dead_before {
        oracle.destroy(entity).expect("it lives");
    }
    let mut expected = DestroyReport::default();
    for (position, &entity) in batch.iter().enumerate() {
        match oracle.destroy(entity) {
            Ok(()) => expected.destroyed += 1,
            Err(error) => expected.refused.push((position, error)),
        }
    }
    expected
}

/// Destroys batches of up to 70 handles, each as `blemish` has it, and holds what is said against the handles one by
/// one.
fn small_batches_say_what_single_deaths_say<A: EntityAllocator>() {
    let mut dice = Dice::new(7);
    for len in 1..=70 {
        for (layout, blemish) in LAYOUTS
            .iter()
            .flat_map(|&layout| BLEMISHES.map(|b| (layout, b)))
        {
            let allocator = A::fresh();
            // Not at the beginning of a group.
            let ahead = dice.below(20);
            let mut all = vec![Entity::PLACEHOLDER; 450 + ahead];
            allocator.create_slice(&mut all).expect("not full");
            let mut batch = pick(&all[ahead..], len, layout, &mut dice);
            let at = dice.below(len);
            match blemish {
                Blemish::None => {}
                Blemish::Stale => allocator.destroy(batch[at]).expect("it lives"),
                Blemish::Followed => {
                    allocator.destroy(batch[at]).expect("it lives");
                    let _ = allocator.create().expect("not full");
                }
                Blemish::Double => batch.push(batch[at]),
                Blemish::Unborn => {
                    let (index, version) = (batch[at].index(), batch[at].version());
                    batch[at] = Entity::new(index, version + 2).expect("the version is odd");
                }
                Blemish::OutOfRange => batch[at] = Entity::PLACEHOLDER,
            }
            let before = allocator.count();

            let report = allocator.destroy_slice(&batch);

            let dead_before = match blemish {
                Blemish::Stale | Blemish::Followed => &batch[at..=at],
                _ => &[],
            };
            let expected = one_by_one::<A>(&all, dead_before, &batch);
            assert_eq!(report, expected, "{len} {layout:?} {blemish:?}");
            assert_eq!(allocator.count(), before - expected.destroyed);
            assert!(batch.iter().all(|&entity| !allocator.exists(entity)));
            // Their slots are free, and nobody else's.
            let mut next = vec![Entity::PLACEHOLDER; 100];
            allocator.create_slice(&mut next).expect("not full");
            let all_there = all.iter().filter(|entity| !batch.contains(entity));
            let taken: HashSet<u32> = all_there.chain(&next).map(|e| e.index()).collect();
            let unharmed = all.len()
                - batch
                    .iter()
                    .filter(|e| all.contains(e))
                    .collect::<HashSet<_>>()
                    .len();
            assert_eq!(taken.len(), unharmed + next.len());
        }
    }
}

#[test]
fn naive() {
    small_batches_say_what_single_deaths_say::<Naive>();
}

#[test]
fn bitmask() {
    small_batches_say_what_single_deaths_say::<EntityIndex>();
}

#[test]
fn in_sessions() {
    small_batches_say_what_single_deaths_say::<InSessions<1>>();
}

/// Positions of a batch that begins in one way and ends in another, a few of them twice.
fn positions_of_two_kinds(first: usize, second: usize, dice: &mut Dice) -> Vec<usize> {
    const LIVE: usize = 40_000;
    let mut part = |kind: usize, range: core::ops::Range<usize>| -> Vec<usize> {
        match kind {
            // In no order.
            0 => {
                let mut all: Vec<usize> = range.collect();
                dice.shuffle(&mut all);
                all.truncate(1_500);
                all
            }
            // Runs of four, in no order.
            1 => {
                let mut runs: Vec<usize> = range.step_by(4).collect();
                dice.shuffle(&mut runs);
                runs.iter()
                    .flat_map(|&run| run..run + 4)
                    .take(1_500)
                    .collect()
            }
            // In order, with gaps.
            gap => range.step_by(gap).take(1_500).collect(),
        }
    };
    let mut positions = part(first, 0..LIVE / 2);
    positions.extend(part(second, LIVE / 2..LIVE));
    for _ in 0..5 {
        let (from, to) = (dice.below(positions.len()), dice.below(positions.len()));
        positions[to] = positions[from];
    }
    positions
}

/// Destroys large batches of handles that leave gaps between them, or change from one kind to another, and some of which
/// are dead, and holds what is said against the handles one by one.
fn batches_with_gaps_say_what_single_deaths_say<A: EntityAllocator>() {
    let mut dice = Dice::new(11);
    let kinds = [0, 1, 2, 3, 9, 40, 700];
    for (first, second) in kinds.iter().flat_map(|&a| kinds.map(|b| (a, b))) {
        let allocator = A::fresh();
        let mut all = vec![Entity::PLACEHOLDER; 40_000];
        allocator.create_slice(&mut all).expect("not full");
        let positions = positions_of_two_kinds(first, second, &mut dice);
        let batch: Vec<Entity> = positions.iter().map(|&at| all[at]).collect();
        let dead: HashSet<Entity> = (0..4).map(|_| batch[dice.below(batch.len())]).collect();
        let dead: Vec<Entity> = dead.into_iter().collect();
        for &entity in &dead {
            allocator.destroy(entity).expect("it lives");
        }

        let report = allocator.destroy_slice(&batch);

        let expected = one_by_one::<A>(&all, &dead, &batch);
        assert_eq!(report, expected, "{first} and {second}");
        assert_eq!(
            allocator.count(),
            all.len() - dead.len() - expected.destroyed
        );
        assert!(batch.iter().all(|&entity| !allocator.exists(entity)));
        // Their slots are free, and nobody else's.
        let mut next = vec![Entity::PLACEHOLDER; expected.destroyed + dead.len()];
        allocator.create_slice(&mut next).expect("not full");
        let living = all.iter().filter(|&&entity| allocator.exists(entity));
        let taken: HashSet<u32> = living.chain(&next).map(|e| e.index()).collect();
        assert_eq!(taken.len(), all.len());
    }
}

#[test]
fn naive_batches_with_gaps_say_what_single_deaths_say() {
    batches_with_gaps_say_what_single_deaths_say::<Naive>();
}

#[test]
fn bitmask_batches_with_gaps_say_what_single_deaths_say() {
    batches_with_gaps_say_what_single_deaths_say::<EntityIndex>();
}

#[test]
fn session_batches_with_gaps_say_what_single_deaths_say() {
    batches_with_gaps_say_what_single_deaths_say::<InSessions<1>>();
}

/// Replaces random ones of 8,000, in batches of every size: what is free lies thinly, in words of which all else is
/// taken, and in the thread's own hands. None is given twice, and none is lost: 8,192 slots are enough to the end.
fn batches_that_replace_random_ids_lose_none<A: EntityAllocator>() {
    let mut dice = Dice::new(12);
    let allocator = A::fresh();
    let mut all = vec![Entity::PLACEHOLDER; 8_000];
    allocator.create_slice(&mut all).expect("not full");
    let mut taken: HashSet<u32> = all.iter().map(|entity| entity.index()).collect();
    assert_eq!(taken.len(), all.len());
    for round in 0..3_000 {
        let len = match round % 10 {
            0 => 1 + dice.below(1_500),
            _ => 1 + dice.below(130),
        };
        for at in 0..len {
            let other = at + dice.below(all.len() - at);
            all.swap(at, other);
        }
        let some = &mut all[..len];
        if dice.below(8) == 0 {
            for &entity in &*some {
                allocator.destroy(entity).expect("it lives");
            }
        } else {
            assert_eq!(allocator.destroy_slice(some).destroyed, len);
        }
        for entity in &*some {
            taken.remove(&entity.index());
        }
        // In parts: what a batch has left of a word is for the next one.
        let (first, rest) = some.split_at_mut(dice.below(len + 1));
        allocator.create_slice(first).expect("not full");
        allocator.create_slice(rest).expect("not full");
        for &entity in &*some {
            assert!(allocator.exists(entity));
            assert!(taken.insert(entity.index()), "{entity} was given twice");
            assert!(entity.index() < 8_192, "slots were lost in round {round}");
        }
        assert_eq!(allocator.count(), all.len());
    }
}

#[test]
fn naive_batches_that_replace_random_ids_lose_none() {
    batches_that_replace_random_ids_lose_none::<Naive>();
}

#[test]
fn bitmask_batches_that_replace_random_ids_lose_none() {
    batches_that_replace_random_ids_lose_none::<EntityIndex>();
}

#[test]
fn session_batches_that_replace_random_ids_lose_none() {
    batches_that_replace_random_ids_lose_none::<InSessions<1>>();
}
