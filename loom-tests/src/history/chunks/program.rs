//! `Program`: a random program over chunks, decided by its seed.
//!
//! As with entities, which interleaving happens is not decided but for who is frozen where.

use super::super::stage::{Freeze, Thread};
use crate::random::Random;

/// Runs that the threads of a program pass each other: few, so that they meet.
pub(super) const POOL: usize = 4;
/// Steps of a call that a thread may be frozen before: as many as it takes to give memory back.
const FREEZE_STEPS: [u64; 2] = [16, 96];
/// Lengths at which something changes, or nearly.
const LENS: [usize; 11] = [2, 3, 5, 8, 16, 31, 32, 33, 48, 63, 64];

/// A random program: what is taken before, what each thread calls, and who is frozen where.
#[derive(Clone, Debug)]
pub struct Program {
    /// Mega-chunks of those taken whole that stay so to the end.
    pub(super) held: usize,
    /// The lengths of other runs that stay taken to the end, so that little is left.
    pub(super) fill: Vec<usize>,
    /// The lengths of the runs that the threads find.
    pub(super) pool: Vec<usize>,
    pub(super) threads: Vec<Thread<Call>>,
    pub(super) seed: u64,
}

/// One call of a program. Runs are named by where they are in the pool when the call is made.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Take { len: usize, into: usize },
    TakeUpTo { len: usize, into: usize },
    Free { from: usize },
    Flush,
    Trim,
}

/// Which lengths a program asks for.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    /// Single chunks, which threads keep.
    Singles,
    /// Two and more, which nobody keeps: then each refusal has to be right to the chunk.
    Runs,
    Both,
}

impl Program {
    /// The program of `seed`: two threads with four calls each, or three with three.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let lengths = match random.below(5) {
            0 => Lengths::Singles,
            1 | 2 => Lengths::Runs,
            _ => Lengths::Both,
        };
        let (threads, calls) = match random.below(4) {
            0 => (3, 3),
            _ => (2, 4),
        };
        Self {
            held: random.below(4) as usize,
            fill: (0..random.below(5))
                .map(|_| LENS[random.below(LENS.len() as u64) as usize])
                .collect(),
            pool: (0..POOL).map(|_| lengths.random(&mut random)).collect(),
            threads: (0..threads)
                .map(|_| Thread::random(&mut random, lengths, calls))
                .collect(),
            seed,
        }
    }
}

impl Thread<Call> {
    fn random(random: &mut Random, lengths: Lengths, calls: usize) -> Self {
        let steps = FREEZE_STEPS[random.below(2) as usize];
        Self {
            calls: (0..calls).map(|_| Call::random(random, lengths)).collect(),
            freeze: Freeze::random(random, calls, steps),
        }
    }
}

impl Call {
    fn random(random: &mut Random, lengths: Lengths) -> Self {
        let place = random.below(POOL as u64) as usize;
        match random.below(16) {
            0..=5 => Self::Take {
                len: lengths.random(random),
                into: place,
            },
            6 | 7 => Self::TakeUpTo {
                len: lengths.random(random),
                into: place,
            },
            8..=13 => Self::Free { from: place },
            14 => Self::Flush,
            _ => Self::Trim,
        }
    }
}

impl Lengths {
    fn random(self, random: &mut Random) -> usize {
        match self {
            Self::Singles => 1,
            Self::Both if random.below(2) == 0 => 1,
            _ if random.below(2) == 0 => LENS[random.below(LENS.len() as u64) as usize],
            _ => 2 + random.below(63) as usize,
        }
    }
}
