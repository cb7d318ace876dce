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

const LAYOUTS: [Layout; 5] = [
    Layout::SideBySide,
    Layout::Backward,
    Layout::Shuffled,
    Layout::InPairs,
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
        Layout::InPairs | Layout::FarApart => {
            let of = if matches!(layout, Layout::InPairs) {
                2
            } else {
                1
            };
            let mut parts: Vec<_> = all.chunks_exact(of).collect();
            dice.shuffle(&mut parts);
            picked = parts.into_iter().flatten().copied().take(len).collect();
        }
    }
    picked
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
            let mut all = vec![Entity::PLACEHOLDER; 400 + ahead];
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

            let oracle = A::fresh();
            let mut twin = vec![Entity::PLACEHOLDER; all.len()];
            oracle.create_slice(&mut twin).expect("not full");
            assert_eq!(all, twin, "both begin alike");
            if matches!(blemish, Blemish::Stale | Blemish::Followed) {
                oracle.destroy(batch[at]).expect("it lives");
            }
            let mut expected = DestroyReport::default();
            for (position, &entity) in batch.iter().enumerate() {
                match oracle.destroy(entity) {
                    Ok(()) => expected.destroyed += 1,
                    Err(error) => expected.refused.push((position, error)),
                }
            }
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
    small_batches_say_what_single_deaths_say::<InSessions>();
}
