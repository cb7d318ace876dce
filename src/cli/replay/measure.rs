//! Measuring replays: contenders interleaved, an empty replay among them, medians.

use core::hint;
use std::time::Duration;

use serde::Serialize;

use super::Args;
use crate::cli::measure::{Figures as Spread, Machine};
use crate::cli::report::STEADY;
use crate::cli::{Bar, CliError, Interrupt};
use crate::trace::Trace;
use crate::trace::replay::{Contender, Reading, Replay};

/// What one allocator did with one trace.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) allocator: &'static str,
    /// Nanoseconds an event, as in all fields of this kind: the first run, on a fresh allocator, gross.
    pub(super) first_ns: f64,
    /// Everything that the replay took.
    pub(super) gross_ns: Spread,
    /// Without what reading the events takes.
    pub(super) net_ns: Spread,
    /// How many times as fast as `naive`, net; absent where `naive` did not run, and where nothing is to be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ratio_to_naive: Option<f64>,
    /// Whether ratios say little, as `bench` judges it.
    pub(super) unsteady: bool,
    pub(super) peak_blocks: usize,
    pub(super) verified: bool,
}

/// What all chosen allocators did with one trace.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    pub(super) trace: String,
    /// What was played, the times taken together that it was played side by side.
    pub(super) threads: usize,
    pub(super) events: usize,
    /// What the trace says of itself. On another number of threads these counts may be others.
    pub(super) recorded: Recorded,
    /// How often each allocator was timed.
    pub(super) repetitions: usize,
    /// Whether somebody has ended the run before it was timed as often as was asked for.
    pub(super) interrupted: bool,
    /// Whether there were more threads than processors: nothing is to be compared.
    pub(super) void: bool,
    /// Whether reading the events took longer than replaying them somewhere.
    pub(super) too_short: bool,
    pub(super) reading_ns: Spread,
    pub(super) rows: Vec<Row>,
}

/// What a trace says of itself.
#[derive(Debug, Serialize)]
pub(super) struct Recorded {
    pub(super) threads: usize,
    pub(super) events: usize,
    pub(super) objects: usize,
    pub(super) peak_live: u64,
    pub(super) destroyed_by_another_thread: u64,
}

/// Replays `trace` on every allocator that `args` choose: verified where asked for, then timed. `None`: somebody has
/// ended the run before anything was timed.
pub(super) fn measure(
    trace: &Trace,
    replay: &mut Replay,
    args: &Args,
    interrupt: &Interrupt,
) -> Result<Option<Figures>, CliError> {
    let bar = Bar::start(Some(args.repeat.into()), "{bar:30} {elapsed} {msg}");
    let contenders = args.contenders()?;
    let events = replay.events();
    let per_event = |time: Duration| time.as_nanos() as f64 / events as f64;
    let failed = |contender: &dyn Contender| {
        let name = contender.name();
        move |error| CliError::Failed(format!("{} on {name}: {error}", trace.name()))
    };

    let mut first = Vec::with_capacity(contenders.len());
    let mut blocks = Vec::with_capacity(contenders.len());
    for contender in &contenders {
        let contender = contender.as_ref();
        bar.set(0, || {
            format!("{}: {} for the first time", trace.name(), contender.name())
        });
        if interrupt.is_asked() {
            return Ok(None);
        }
        first.push(per_event(
            contender.time(replay).map_err(failed(contender))?,
        ));
        let placement = contender.placement(replay).map_err(failed(contender))?;
        blocks.push(placement.touched.iter().filter(|&&touched| touched).count());
        if args.verify {
            contender.verify(replay).map_err(failed(contender))?;
        }
    }

    let mut reading = Vec::new();
    let mut gross = vec![Vec::new(); contenders.len()];
    for done in 0..args.repeat {
        bar.set(done.into(), || {
            format!("{}: {done} of {} repetitions", trace.name(), args.repeat)
        });
        if interrupt.is_asked() {
            break;
        }
        let empty = replay.play(Reading::default);
        let empty =
            empty.map_err(|error| CliError::Failed(format!("{}: {error}", trace.name())))?;
        reading.push(per_event(empty.time));
        empty.players.iter().map(Reading::heard).for_each(|heard| {
            hint::black_box(heard);
        });
        for (contender, samples) in contenders.iter().zip(&mut gross) {
            let contender = contender.as_ref();
            samples.push(per_event(
                contender.time(replay).map_err(failed(contender))?,
            ));
        }
    }

    drop(bar);
    let repetitions = reading.len();
    if repetitions == 0 {
        return Ok(None);
    }

    let spread = |samples: &[f64]| Spread::of(samples).expect("there is a repetition at least");
    let reading_ns = spread(&reading);
    let mut rows: Vec<Row> = contenders
        .iter()
        .zip(gross)
        .enumerate()
        .map(|(position, (contender, samples))| {
            let gross_ns = spread(&samples);
            let net_ns = gross_ns.minus(reading_ns.median);
            let lies_apart = replay.threads() == 1 && net_ns.median > STEADY * net_ns.min;
            Row {
                allocator: contender.name(),
                first_ns: first[position],
                gross_ns,
                net_ns,
                ratio_to_naive: None,
                unsteady: lies_apart || repetitions == 1,
                peak_blocks: blocks[position],
                verified: args.verify,
            }
        })
        .collect();
    let void = replay.threads() > Machine::here().cores;
    let too_short = rows.iter().any(|row| row.net_ns.median <= 0.0);
    let mut references = rows.iter().filter(|_| !void);
    if let Some(naive) = references.find(|row| row.allocator == "naive") {
        let naive = naive.net_ns.median;
        // A trace may be too short for the clock: then reading it took longer than replaying it.
        for row in rows
            .iter_mut()
            .filter(|row| naive.min(row.net_ns.median) > 0.0)
        {
            row.ratio_to_naive = Some(naive / row.net_ns.median);
        }
    }
    let summary = trace.summary();
    Ok(Some(Figures {
        trace: trace.name().to_owned(),
        threads: replay.threads(),
        events,
        recorded: Recorded {
            threads: trace.threads(),
            events: trace.len(),
            objects: trace.objects(),
            peak_live: summary.peak_live,
            destroyed_by_another_thread: summary.destroyed_by_another_thread,
        },
        repetitions,
        interrupted: repetitions < usize::from(args.repeat),
        void,
        too_short,
        reading_ns,
        rows,
    }))
}
