//! `Program`: a random program of a few threads, decided by its seed.
//!
//! Which of its interleavings happens is not decided, but for one thing: many programs freeze
//! some of their threads, each before a step that the seed chose, until the others are done (or
//! cannot go on), and let them go one after the other. So a window of a few instructions is hit as
//! often as any other, and so are two such windows in two threads at once.

use megachunk::entity::Place;

use super::stage::{Freeze, Thread};
use crate::random::Random;

/// Handles that the threads of a program pass each other: few, so that they meet.
pub(super) const POOL: usize = 5;
/// Steps of a call that a thread may be frozen before.
const FREEZE_STEPS: u64 = 16;

/// A random program: what each thread calls, and who is frozen where.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) threads: Vec<Thread<Call>>,
    pub(super) seed: u64,
}

/// One call of a program. Handles are named by where they are in the pool when the call is made.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Create { into: usize },
    CreateSlice { into: Vec<usize> },
    Destroy(Pick),
    DestroySlice(Vec<Pick>),
    Exists(Pick),
    Locate(Pick),
    Publish(Pick, Place),
}

/// A handle from the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    pub(super) from: usize,
    /// Not the handle itself but the one that its slot would give out next.
    pub(super) ahead: bool,
}

impl Program {
    /// The program of `seed`: 2 or 3 threads with 3 to 6 calls each.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let threads = (0..2 + random.below(2))
            .map(|_| Thread::random(&mut random))
            .collect();
        Self { threads, seed }
    }
}

impl Thread<Call> {
    fn random(random: &mut Random) -> Self {
        let calls: Vec<_> = (0..3 + random.below(4))
            .map(|_| Call::random(random))
            .collect();
        let freeze = Freeze::random(random, calls.len(), FREEZE_STEPS);
        Self { calls, freeze }
    }
}

impl Call {
    fn random(random: &mut Random) -> Self {
        let few = |random: &mut Random| 2 + random.below(3);
        let into = |random: &mut Random| random.below(POOL as u64) as usize;
        match random.below(16) {
            0..=2 => Self::Create { into: into(random) },
            3 => Self::CreateSlice {
                into: (0..few(random)).map(|_| into(random)).collect(),
            },
            4..=6 => Self::Destroy(Pick::random(random)),
            7 | 8 => Self::DestroySlice((0..few(random)).map(|_| Pick::random(random)).collect()),
            9 | 10 => Self::Exists(Pick::random(random)),
            11 | 12 => Self::Locate(Pick::random(random)),
            _ => {
                let place = Place::new(random.below(1 << 20) as u32, random.below(64) as u32);
                Self::Publish(
                    Pick::random(random),
                    place.expect("chunk and row are in range"),
                )
            }
        }
    }
}

impl Pick {
    fn random(random: &mut Random) -> Self {
        Self {
            from: random.below(POOL as u64) as usize,
            ahead: random.below(16) == 0,
        }
    }
}
