//! `schedule`, `heavy_compute`, `update_mixed`, `processors_empty`, `solve_1000`, `solve_archetype`: systems, and what
//! runs them.
//!
//! The first two are those of `ecs_bench_suite`, with its sizes; the third is of `abeimler/ecs_benchmark`.

use core::time::Duration;
use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{EcsContender, Size, Tally, agents, locked, values};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::Unsupported;

mod limit;
mod megachunk;

pub(super) use limit::systems as of_limit;
pub(super) use megachunk::{solving as solving_of_megachunk, systems as of_megachunk};

/// Entities of each set of components of `schedule`.
const OF_EACH: u32 = 10_000;
/// Entities of `heavy_compute`.
const HEAVY: u32 = 1_000;
/// Entities of each set of components of `update_mixed`.
const MIXED: u32 = 20_000;
/// Systems of `solve_1000` and `solve_archetype`.
const SYSTEMS: u32 = 1_000;
/// Archetypes that they find, and those that come later, one by one.
const ARCHETYPES: u32 = 100;

/// Which systems there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemsCase {
    /// Three that swap A and B, C and D, C and E, wherever both are: in so many entities of each of the sets
    /// A B, A B C, A B C D, A B C E. [`values::letter`] says what each begins with.
    Swaps {
        /// Entities of each set.
        of_each: u32,
        /// The frames are called by a thread that is in no pool.
        from_main: bool,
    },
    /// One that calls [`values::compute`] for each of so many entities, which have what all entities have, with
    /// [`values::quarter_turn`] for a matrix.
    Heavy {
        /// Entities in all.
        entities: u32,
    },
    /// The three of [`agents`], one after the other, in so many entities of each of three sets: place and heading;
    /// these and thoughts; place and thoughts.
    Mixed {
        /// Entities of each set.
        of_each: u32,
    },
    /// So many that do nothing.
    Empty {
        /// Systems in all.
        systems: u32,
    },
}

/// A world with systems and, where the contender has one, their schedule; see [`EcsContender::systems`].
pub trait Systems: Send {
    /// Runs all systems so many times: from the calling thread, if they were made for one, or are to be called from the
    /// main thread; else from wherever the contender does that best.
    fn run(&mut self, frames: u64);

    /// What there is of each component A to E; or the positions' first and second coordinates; or the places' first and
    /// second, the headings' first, and the counts of thoughts; or nothing. Outside all timing.
    fn tallies(&mut self) -> Vec<Tally>;
}

/// A schedule of as many systems as there are to be, of which each reads or writes one of ten components, in groups
/// of ten, of which every second one follows the one before; see [`EcsContender::solving`].
pub trait Solving: Send {
    /// Makes the schedule, and finds the order; how long that last step took.
    fn solve_anew(&mut self) -> Duration;

    /// One more archetype comes; how long it takes until the schedule knows who touches it. Only called after
    /// [`solve_anew`](Self::solve_anew), and with [`EcsAbilities::solves_archetypes`](super::EcsAbilities).
    fn solve_archetype(&mut self) -> Duration {
        unreachable!("a contender that says it can implements this")
    }
}

/// Threads for a contender that brings none; `None` for one thread.
///
/// # Errors
/// The machine gives no more threads.
pub fn threads(count: usize) -> Result<Option<ThreadPool>, Unsupported> {
    if count == 1 {
        return Ok(None);
    }
    let pool = ThreadPoolBuilder::new().num_threads(count).build();
    pool.map(Some)
        .map_err(|error| Unsupported(error.to_string().into()))
}

/// Threads for a case; `None` for one thread, and where a thread that is in no pool calls: what it asks for
/// is done by the pool of the process.
///
/// # Errors
/// The machine gives no more threads, or the pool of the process has other than so many.
pub fn threads_for(case: SystemsCase, count: usize) -> Result<Option<ThreadPool>, Unsupported> {
    if !case.is_from_main() {
        return threads(count);
    }
    let there = rayon::current_num_threads();
    if there != count {
        return Err(Unsupported(
            format!("the pool of the process has {there} threads").into(),
        ));
    }
    Ok(None)
}

/// The same for a contender that asks for a pool on one thread too.
///
/// # Errors
/// As with [`threads_for`].
pub fn own_threads(case: SystemsCase, count: usize) -> Result<Option<ThreadPool>, Unsupported> {
    if case.is_from_main() || count > 1 {
        return threads_for(case, count);
    }
    let pool = ThreadPoolBuilder::new().num_threads(count).build();
    pool.map(Some)
        .map_err(|error| Unsupported(error.to_string().into()))
}

/// Calls `frame` so many times, all on one of the threads of `pool` if there is one: where a program that uses them
/// would have its loop.
pub fn in_pool(pool: Option<&ThreadPool>, frames: u64, mut frame: impl FnMut() + Send) {
    let mut all = || (0..frames).for_each(|_| frame());
    match pool {
        None => all(),
        Some(pool) => pool.install(all),
    }
}

impl SystemsCase {
    pub(super) fn swaps(size: Size, from_main: bool) -> Self {
        Self::Swaps {
            of_each: size.of(OF_EACH),
            from_main,
        }
    }

    /// Whether the frames are called by a thread that is in no pool.
    #[must_use]
    pub fn is_from_main(self) -> bool {
        matches!(
            self,
            Self::Swaps {
                from_main: true,
                ..
            }
        )
    }

    pub(super) fn heavy(size: Size) -> Self {
        Self::Heavy {
            entities: size.of(HEAVY),
        }
    }

    pub(super) fn mixed(size: Size) -> Self {
        Self::Mixed {
            of_each: size.of(MIXED),
        }
    }

    /// What one frame is counted as.
    fn operations(self) -> u64 {
        u64::from(match self {
            // Four sets have A and B, one has C and D, one C and E.
            Self::Swaps { of_each, .. } => 6 * of_each,
            Self::Heavy { entities } => entities,
            Self::Mixed { of_each } => 3 * of_each,
            Self::Empty { systems } => systems,
        })
    }

    /// What [`Systems::tallies`] says after so many frames.
    fn expected(self, frames: u64) -> Vec<Tally> {
        match self {
            Self::Swaps { of_each, .. } => {
                let of_each = of_each as usize;
                // Each set, and what its entities hold where the letters stand.
                let mut sets = ["AB", "ABC", "ABCD", "ABCE"].map(|set| (set, set.to_owned()));
                if frames % 2 == 1 {
                    sets = sets.map(|(set, _)| {
                        let partner = if set.contains('E') { 'E' } else { 'D' };
                        let swapped = |letter| match letter {
                            'A' => 'B',
                            'B' => 'A',
                            'C' if set.contains(partner) => partner,
                            'C' => 'C',
                            _ => 'C',
                        };
                        (set, set.chars().map(swapped).collect())
                    });
                }
                let tally = |letter| {
                    sets.iter().fold(Tally::default(), |all, (set, held)| {
                        let at = set.chars().position(|own| own == letter);
                        at.and_then(|at| held.chars().nth(at)).map_or(all, |held| {
                            all.and(Tally {
                                count: of_each,
                                sum: f64::from(values::letter(held)) * of_each as f64,
                            })
                        })
                    })
                };
                ('A'..='E').map(tally).collect()
            }
            Self::Heavy { entities } => {
                let all = super::positions(entities, 0);
                let turned = |sign: f64| Tally {
                    sum: all.sum * sign,
                    ..all
                };
                // A quarter to the left each time.
                let signs = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
                signs[(frames % 4) as usize].map(turned).to_vec()
            }
            Self::Mixed { of_each } => agents::expected(of_each, frames),
            Self::Empty { .. } => Vec::new(),
        }
    }
}

/// Systems run, frame after frame.
pub(super) struct Frames {
    case: SystemsCase,
    course: Mutex<(Box<dyn Systems>, u64)>,
}

impl Frames {
    pub(super) fn new<C: EcsContender>(
        case: SystemsCase,
        threads: usize,
    ) -> Result<Self, Unsupported> {
        if threads > 1 {
            C::prepare_threads(threads)?;
        }
        let systems = C::systems(case, threads)?;
        Ok(Self {
            case,
            course: Mutex::new((systems, 0)),
        })
    }
}

impl Subject for Frames {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        if worker > 0 {
            // The contender's threads do the work.
            watch.time(0, 0, || ());
            return;
        }
        let (systems, frames) = &mut *locked(&self.course);
        watch.time(0, rounds * self.case.operations(), || systems.run(rounds));
        *frames += rounds;
        assert_eq!(systems.tallies(), self.case.expected(*frames));
    }
}

/// A schedule is solved, and again for one archetype more.
pub(super) struct Solve {
    solving: Mutex<Box<dyn Solving>>,
    /// Instead of from nothing.
    archetypes: bool,
}

impl Solve {
    pub(super) fn new<C: EcsContender>(archetypes: bool) -> Self {
        Self {
            solving: Mutex::new(C::solving(SYSTEMS, ARCHETYPES)),
            archetypes,
        }
    }
}

impl Subject for Solve {
    fn repeat(&self, _worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let solving = &mut *locked(&self.solving);
        let anew = solving.solve_anew();
        if self.archetypes {
            let each = (0..ARCHETYPES).map(|_| solving.solve_archetype());
            watch.record(0, u64::from(ARCHETYPES), each.sum());
        } else {
            watch.record(0, 1, anew);
        }
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
