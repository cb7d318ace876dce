//! One cell of the table: a workload on a number of threads, all contenders in turn.

use std::sync::Arc;
use std::time::Duration;

use super::turns::Turns;
use super::{Barrier, Canary, Figures, Pool, Span, Stopwatch, WorkerPanic, caught};

/// One contender, set up for one workload and a number of threads.
///
/// The calls through this trait happen once a repetition and worker; the loops behind them are
/// compiled for each contender.
pub trait Subject: Send + Sync {
    /// Sets the stage for the next repetition, on a thread that is no worker. Not timed.
    fn prepare(&self) {}

    /// One repetition on `worker`: `rounds` rounds of the workload, timed with `watch`.
    ///
    /// # Panics
    /// When the contender does not do what the workload asks: a wrong answer is no time.
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>);

    /// Whether a repetition is one round, however short.
    fn is_fixed(&self) -> bool {
        false
    }

    /// How many repetitions it takes where `wanted` are wanted; fewer for those that take
    /// seconds.
    fn repetitions(&self, wanted: usize) -> usize {
        wanted
    }

    /// Whether a first repetition, thrown away, comes before the others.
    fn warms_up(&self) -> bool {
        true
    }
}

/// How much is done for one figure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Repetitions that count.
    pub repetitions: usize,
    /// How long a repetition shall be timed for.
    pub target: Duration,
    /// How often a void cell is measured again.
    pub retries: usize,
}

/// What takes part in a cell.
pub struct Cell {
    /// On how many threads.
    pub threads: usize,
    /// How many phases the workload times apart.
    pub phases: usize,
    /// The contenders.
    pub subjects: Vec<Arc<dyn Subject>>,
}

impl core::fmt::Debug for Cell {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Cell")
            .field("threads", &self.threads)
            .field("phases", &self.phases)
            .field("subjects", &self.subjects.len())
            .finish()
    }
}

/// What came out for one contender and one phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellRow {
    /// Nanoseconds an operation, over all threads: wall time by all operations.
    pub ns: Figures,
    /// Of how many repetitions.
    pub repetitions: usize,
    /// Read-modify-writes an operation, if they were counted.
    pub rmw_per_op: Option<f64>,
    /// Claims lost an operation, if they were counted.
    pub failed_claims_per_op: Option<f64>,
    /// The most resident memory noted, where the workload asks for it.
    pub resident: Option<u64>,
}

/// One cell's outcome.
#[derive(Clone, Debug)]
pub struct CellOutcome {
    /// For each subject, its rows by phase (`None`: the phase was never timed), or why it fell out.
    pub subjects: Vec<Result<Vec<Option<CellRow>>, WorkerPanic>>,
    /// The fewest processors that the canary saw, before or after.
    pub cores: f64,
    /// Whether the machine gave too few.
    pub void: bool,
}

/// Measures one cell: warm-up, then the repetitions, going round the subjects.
///
/// # Errors
/// Only if the canary itself panics; a subject that panics falls out alone.
pub fn measure_cell(
    pool: &Pool<Vec<Span>>,
    cell: &Cell,
    effort: Effort,
) -> Result<CellOutcome, WorkerPanic> {
    let mut courses: Vec<_> = cell
        .subjects
        .iter()
        .map(|subject| Course::calibrate(pool, cell, subject, effort))
        .collect();
    let mut outcome = attempt(pool, cell, &mut courses, effort)?;
    for _ in 0..effort.retries {
        if !outcome.void {
            break;
        }
        let again = attempt(pool, cell, &mut courses, effort)?;
        if again.cores > outcome.cores {
            outcome = again;
        }
    }
    Ok(outcome)
}

fn attempt(
    pool: &Pool<Vec<Span>>,
    cell: &Cell,
    courses: &mut [Result<Course, WorkerPanic>],
    effort: Effort,
) -> Result<CellOutcome, WorkerPanic> {
    let alone = cell.threads == 1;
    let before = if alone {
        1.0
    } else {
        Canary::cores(pool, cell.threads)?
    };
    for course in courses.iter_mut().flatten() {
        course.samples = vec![Vec::new(); cell.phases];
    }
    let turns = Turns::of(courses.len());
    for repetition in 0..effort.repetitions {
        for turn in turns.order(repetition) {
            let Ok(course) = &mut courses[turn] else {
                continue;
            };
            if repetition < cell.subjects[turn].repetitions(effort.repetitions)
                && let Err(panic) = course.repeat(pool, cell, &cell.subjects[turn])
            {
                courses[turn] = Err(panic);
            }
        }
    }
    let after = if alone {
        1.0
    } else {
        Canary::cores(pool, cell.threads)?
    };
    let cores = before.min(after);
    Ok(CellOutcome {
        subjects: courses
            .iter()
            .map(|course| course.as_ref().map(Course::rows).map_err(Clone::clone))
            .collect(),
        cores,
        void: Canary::is_void(cores, cell.threads),
    })
}

/// One subject's way through the repetitions.
#[derive(Debug)]
struct Course {
    rounds: u64,
    /// By phase, nanoseconds an operation of each repetition.
    samples: Vec<Vec<f64>>,
    /// By phase, what the counting run counted.
    counts: Vec<Option<Counts>>,
    /// By phase, the most resident memory noted.
    resident: Vec<Option<u64>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    operations: u64,
    rmw: u64,
    failed_claims: u64,
}

impl Course {
    /// Warms up, finds out how many rounds fill the target, and counts if the program can.
    fn calibrate(
        pool: &Pool<Vec<Span>>,
        cell: &Cell,
        subject: &Arc<dyn Subject>,
        effort: Effort,
    ) -> Result<Self, WorkerPanic> {
        let mut course = Self {
            rounds: 1,
            samples: vec![Vec::new(); cell.phases],
            counts: vec![None; cell.phases],
            resident: vec![None; cell.phases],
        };
        // Three times, because the first round is cold and says too much.
        let warm_ups = match (subject.warms_up(), subject.is_fixed()) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 3,
        };
        for _ in 0..warm_ups {
            let spans = run(pool, cell.threads, subject, course.rounds, false)?;
            let took: Duration = phases_of(&spans, cell.phases).iter().map(|p| p.took).sum();
            if !subject.is_fixed() {
                let wanted = effort.target.as_secs_f64() / took.as_secs_f64().max(1e-9);
                course.rounds = ((course.rounds as f64 * wanted).ceil() as u64).clamp(1, 1 << 28);
            }
        }
        if cfg!(feature = "probe") && subject.warms_up() {
            let spans = run(pool, cell.threads, subject, course.rounds, true)?;
            course.note_counts(&spans);
        }
        Ok(course)
    }

    fn repeat(
        &mut self,
        pool: &Pool<Vec<Span>>,
        cell: &Cell,
        subject: &Arc<dyn Subject>,
    ) -> Result<(), WorkerPanic> {
        let spans = run(pool, cell.threads, subject, self.rounds, false)?;
        for (phase, total) in phases_of(&spans, cell.phases).iter().enumerate() {
            if total.operations > 0 {
                let ns = total.took.as_secs_f64() * 1e9 / total.operations as f64;
                self.samples[phase].push(ns);
            }
            self.resident[phase] = self.resident[phase].max(total.resident);
        }
        Ok(())
    }

    fn note_counts(&mut self, spans: &[Vec<Span>]) {
        for span in spans.iter().flatten() {
            if let Some(counted) = span.counted {
                let counts = self.counts[span.phase].get_or_insert_default();
                counts.operations += span.operations;
                counts.rmw += counted.rmw;
                counts.failed_claims += counted.failed_claims;
            }
        }
    }

    fn rows(&self) -> Vec<Option<CellRow>> {
        let rows = self.samples.iter().zip(&self.counts).zip(&self.resident);
        rows.map(|((samples, counts), resident)| {
            let per_op = |count: fn(&Counts) -> u64| {
                let counts = counts.as_ref().filter(|counts| counts.operations > 0)?;
                Some(count(counts) as f64 / counts.operations as f64)
            };
            Some(CellRow {
                ns: Figures::of(samples)?,
                repetitions: samples.len(),
                rmw_per_op: per_op(|counts| counts.rmw),
                failed_claims_per_op: per_op(|counts| counts.failed_claims),
                resident: *resident,
            })
        })
        .collect()
    }
}

/// One repetition: the spans of each worker.
fn run(
    pool: &Pool<Vec<Span>>,
    threads: usize,
    subject: &Arc<dyn Subject>,
    rounds: u64,
    counting: bool,
) -> Result<Vec<Vec<Span>>, WorkerPanic> {
    caught(|| subject.prepare())?;
    let meet = Arc::new(Barrier::new(threads));
    let subject = Arc::clone(subject);
    pool.run(
        threads,
        Arc::new(move |worker| {
            let _guard = BreakUp(&meet);
            let mut watch = Stopwatch::new(&meet, counting);
            subject.repeat(worker, rounds, &mut watch);
            watch.into_spans()
        }),
    )
}

/// Frees the others from the barrier when its worker panics.
struct BreakUp<'a>(&'a Barrier);

impl Drop for BreakUp<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
    }
}

/// What one repetition did in one phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct PhaseTotal {
    /// The time of its spans, each from its first worker's start to its last worker's end.
    pub took: Duration,
    /// The operations of all workers.
    pub operations: u64,
    /// The most resident memory noted.
    pub resident: Option<u64>,
}

/// One repetition of `rounds` rounds on `threads` workers, outside all tables: what it did in each
/// of `phases` phases.
///
/// # Errors
/// The contender gave a wrong answer.
pub fn repeat_once(
    pool: &Pool<Vec<Span>>,
    threads: usize,
    phases: usize,
    subject: &Arc<dyn Subject>,
    rounds: u64,
) -> Result<Vec<PhaseTotal>, WorkerPanic> {
    let rounds = if subject.is_fixed() { 1 } else { rounds };
    Ok(phases_of(
        &run(pool, threads, subject, rounds, false)?,
        phases,
    ))
}

/// Adds up the spans by phase: each span lasted from its first worker's start to its last
/// worker's end.
fn phases_of(spans: &[Vec<Span>], phases: usize) -> Vec<PhaseTotal> {
    let mut totals = vec![PhaseTotal::default(); phases];
    let longest = spans.iter().map(Vec::len).max().unwrap_or(0);
    for position in 0..longest {
        let together = || spans.iter().filter_map(|worker| worker.get(position));
        let (Some(start), Some(end)) = (
            together().map(|span| span.start).min(),
            together().map(|span| span.end).max(),
        ) else {
            continue;
        };
        for span in together() {
            totals[span.phase].operations += span.operations;
            totals[span.phase].resident = totals[span.phase].resident.max(span.resident);
        }
        if let Some(first) = together().next() {
            totals[first.phase].took += end - start;
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use core::ops::Range;
    use std::time::Instant;

    use super::*;

    fn span(origin: Instant, phase: usize, operations: u64, micros: Range<u64>) -> Span {
        Span {
            phase,
            operations,
            start: origin + Duration::from_micros(micros.start),
            end: origin + Duration::from_micros(micros.end),
            counted: None,
            resident: None,
        }
    }

    #[test]
    fn a_phase_lasts_from_the_first_start_to_the_last_end_of_each_of_its_spans() {
        let origin = Instant::now();
        let span = |phase, operations, micros| span(origin, phase, operations, micros);
        let one = vec![
            span(0, 5, 0..1_000),
            span(1, 1, 2_000..3_000),
            span(0, 5, 4_000..5_000),
        ];
        let two = vec![
            span(0, 7, 500..1_500),
            span(1, 1, 2_000..2_500),
            span(0, 7, 4_000..4_100),
        ];

        let totals = phases_of(&[one, two], 2);

        assert_eq!((totals[0].operations, totals[1].operations), (24, 2));
        assert_eq!(totals[0].took, Duration::from_micros(2_500));
        assert_eq!(totals[1].took, Duration::from_micros(1_000));
    }

    struct Broken;
    impl Subject for Broken {
        fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
            assert!(worker == 0, "a wrong answer");
            watch.time(0, 1, || ());
        }
    }

    struct Fine;
    impl Subject for Fine {
        fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
            watch.time(0, rounds, || core::hint::black_box(rounds));
        }
    }

    #[test]
    fn a_contender_that_panics_falls_out_alone() {
        let pool = Pool::start(2).unwrap();
        let cell = Cell {
            threads: 2,
            phases: 1,
            subjects: vec![Arc::new(Broken), Arc::new(Fine)],
        };
        let effort = Effort {
            repetitions: 3,
            target: Duration::from_micros(1),
            retries: 0,
        };
        let outcome = measure_cell(&pool, &cell, effort).unwrap();
        // Worker 0 panics first in order, but only because it waits for worker 1.
        let WorkerPanic(said) = outcome.subjects[0].as_ref().unwrap_err();
        assert_eq!(said, "a wrong answer");
        assert!(outcome.subjects[1].as_ref().unwrap()[0].is_some());
    }
}
