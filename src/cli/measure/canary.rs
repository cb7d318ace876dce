//! `Canary`: how many processors the machine gives at this moment.

use std::sync::Arc;
use std::time::Instant;

use super::{Barrier, Pool, Span, Stopwatch, WorkerPanic};

/// Steps of the canary's work: about two milliseconds.
const STEPS: u64 = 1_500_000;

/// How often each side is taken; the best counts, because a canary asks what the machine *can*
/// give now, and a single interrupt is not an answer.
const TRIES: usize = 3;

/// Shows how many processors the machine gives, by work that needs nothing but a processor.
///
/// The work is one chain of dependent instructions: it is bound by their latency, so that two
/// siblings of one physical core do twice as much of it as one does. What is asked is whether the
/// threads *ran*, not how well two siblings share a core.
#[derive(Clone, Copy, Debug)]
pub struct Canary;

impl Canary {
    /// How many processors `threads` workers get just now: `threads` at best.
    ///
    /// # Errors
    /// A worker panicked, which this work cannot cause.
    pub fn cores(pool: &Pool<Vec<Span>>, threads: usize) -> Result<f64, WorkerPanic> {
        let alone = Self::best(pool, 1)?;
        let together = Self::best(pool, threads)?;
        Ok(threads as f64 * alone / together)
    }

    /// Whether `cores` processors are too few for `threads` threads to say anything.
    #[must_use]
    pub fn is_void(cores: f64, threads: usize) -> bool {
        threads > 1 && cores < 0.9 * threads as f64
    }

    fn best(pool: &Pool<Vec<Span>>, threads: usize) -> Result<f64, WorkerPanic> {
        let mut best = f64::INFINITY;
        for _ in 0..TRIES {
            let meet = Arc::new(Barrier::new(threads));
            let spans = pool.run(
                threads,
                Arc::new(move |worker| {
                    let mut watch = Stopwatch::new(&meet, false);
                    watch.time(0, STEPS, || sing(worker as u64));
                    watch.into_spans()
                }),
            )?;
            let all = || spans.iter().map(|spans| &spans[0]);
            let start = all()
                .map(|span| span.start)
                .min()
                .unwrap_or_else(Instant::now);
            let end = all().map(|span| span.end).max().unwrap_or(start);
            best = best.min((end - start).as_secs_f64());
        }
        Ok(best)
    }
}

fn sing(seed: u64) -> u64 {
    let mut note = seed | 1;
    for _ in 0..STEPS {
        note ^= note << 13;
        note ^= note >> 7;
        note ^= note << 17;
    }
    core::hint::black_box(note)
}
