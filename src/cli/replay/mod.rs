//! `megachunk replay`: replays recorded allocation traces on a chosen allocator.
//!
//! What it replays with is in [`trace::replay`](crate::trace::replay); the subcommand adds files, tables and JSON.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;

use super::destination::{Destination, Screen};
use super::output::{grouped, plural, shown_path};
use super::ready::{can_be_ready, ready};
use super::trace_named::{told_apart, traces_named};
use super::workload::Registry;
use super::{CliError, Interrupt};
use crate::trace::replay::Contender;
use crate::trace::{Trace, is_gzip};

mod measure;
mod report;

use report::Measured;

/// Replay recorded allocation traces on a chosen allocator.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Trace files, plain or gzip, `-` for standard input, or names of traces that the program carries (python, gcc,
    /// node); the format is below [default: all that it carries]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The allocators to replay on
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "all", value_parser = allocator_names())]
    allocator: Vec<String>,

    /// Check every answer: no id twice while alive, all returned at the end
    #[arg(long)]
    verify: bool,

    /// Threads to replay on [default: as many as were recorded]
    ///
    /// With fewer than were recorded, several recorded threads play on one, in the recorded
    /// order. With a multiple, the trace is played several times side by side.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// How often each allocator is timed, after one run to warm up
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    repeat: u16,

    /// Replay only these events, the first of a trace being 0; what lives when they begin is created first
    ///
    /// FROM is replayed, TO is not. Without FROM they are those from the beginning, without TO those to the end; what
    /// lies beyond the end is left out.
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range)]
    events: Option<EventRange>,

    /// Write what would be replayed to a trace file, compressed if its name ends in `.gz`, and stop (`-`: standard output)
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with_all = ["json", "verify", "threads", "repeat", "allocator"])]
    save: Option<PathBuf>,

    /// Write the figures to a file as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What `--allocator` may be.
pub(super) fn allocator_names() -> PossibleValuesParser {
    let registry = Registry::standard();
    let names = registry.entity_allocators().map(|(name, _)| name);
    PossibleValuesParser::new(names.chain(["all"]))
}

impl Args {
    /// Fresh allocators of those that were chosen.
    fn contenders(&self) -> Result<Vec<Box<dyn Contender>>, CliError> {
        let chosen = |name| {
            self.allocator
                .iter()
                .any(|wanted| wanted == name || wanted == "all")
        };
        let registry = Registry::standard();
        let allocators = registry.entity_allocators();
        allocators
            .filter(|(name, _)| chosen(*name))
            .map(|(allocator, fresh)| {
                fresh().map_err(|source| CliError::NoRoom { allocator, source })
            })
            .collect()
    }
}

/// Positions in a trace, the second one exclusive.
#[derive(Clone, Copy, Debug)]
struct EventRange {
    from: usize,
    to: usize,
}

fn parse_range(text: &str) -> Result<EventRange, String> {
    let (from, to) = text
        .split_once("..")
        .ok_or("expected FROM..TO, as in 0..200000")?;
    let number = |text: &str, default| match text.trim() {
        "" => Ok(default),
        digits => digits
            .replace('_', "")
            .parse::<usize>()
            .map_err(|error| error.to_string()),
    };
    let range = EventRange {
        from: number(from, 0)?,
        to: number(to, usize::MAX)?,
    };
    if range.from >= range.to {
        return Err("the range is empty".to_owned());
    }
    Ok(range)
}

/// Runs the subcommand.
///
/// # Errors
/// [`CliError`] where a file is no trace, or an allocator fails.
pub fn run(args: &Args) -> Result<(), CliError> {
    let files = [
        ("--save", args.save.as_deref()),
        ("--json", args.json.as_deref()),
    ];
    let files = Destination::open_all(files, &args.files)?;
    let screen = Screen::beside(&files);
    let [save, json] = files;
    match args.files.len() {
        0 if save.is_some() => return Err(bad_argument("--save", "name the trace to write")),
        2.. if save.is_some() => {
            let reason = "one trace can be written, not several";
            return Err(bad_argument("--save", reason));
        }
        _ => {}
    }
    let traces = traces(args)?;
    if let (Some(to), [trace]) = (save, traces.as_slice()) {
        return self::save(trace, to, screen);
    }
    // Before minutes are spent on those that come first. (What fails otherwise is told in its turn.)
    for trace in &traces {
        if let Err(error @ CliError::BadArgument { .. }) = can_be_ready(trace, args.threads) {
            return Err(error);
        }
    }
    let interrupt = Interrupt::listen("ends after this repetition, with what is measured");
    let mut measured = Measured::default();
    let mut shown = Ok(());
    let mut failures = Vec::new();
    for (done, trace) in traces.iter().enumerate() {
        let figures = ready(trace, args.threads)
            .and_then(|mut replay| measure::measure(trace, &mut replay, args, &interrupt));
        match figures {
            Ok(Some(figures)) => {
                shown = shown.and_then(|()| screen.show(&report::text(&figures)));
                measured.traces.push(figures);
            }
            Ok(None) => {
                measured.left_out = traces.len() - done;
                break;
            }
            // The others are replayed all the same.
            Err(error) => failures.push(Err(error)),
        }
        // A file gets the figures whatever became of the screen.
        if shown.is_err() && json.is_none() {
            break;
        }
    }
    let shown = shown.and_then(|()| screen.show(&report::footnotes(&measured)));
    // What nothing was measured for keeps what it has.
    let json = json.filter(|_| !measured.traces.is_empty());
    let written = json.map_or(Ok(()), |json| json.write(&report::json(&measured)?));
    let results = [shown, written].into_iter().chain(failures);
    CliError::last_of(results.chain([measured.verdict(traces.len())]))
}

fn bad_argument(argument: &str, reason: &str) -> CliError {
    CliError::BadArgument {
        argument: argument.to_owned(),
        reason: reason.to_owned(),
    }
}

/// What the arguments name: files, or what the program carries; cut to the range if there is one.
fn traces(args: &Args) -> Result<Vec<Trace>, CliError> {
    let whole: Vec<Trace> = if args.files.is_empty() {
        Trace::shipped_names().filter_map(Trace::shipped).collect()
    } else {
        told_apart(traces_named(None, &args.files)?, Vec::new())
    };
    let Some(EventRange { from, to }) = args.events else {
        return Ok(whole);
    };
    let cut = |trace: &Trace| {
        trace.window(from..to).ok_or_else(|| {
            let reason = format!("{} has only {}", trace.name(), plural(trace.len(), "event"));
            bad_argument("--events", &reason)
        })
    };
    whole.iter().map(cut).collect()
}

/// Writes a trace, and shows what it is.
fn save(trace: &Trace, to: Destination<'_>, screen: Screen) -> Result<(), CliError> {
    let name = match screen {
        Screen::Error => trace.name().to_owned(),
        Screen::Output => shown_path(to.path()),
    };
    let gzip = is_gzip(to.path());
    to.write_with(|out| trace.write(out, gzip))?;
    let summary = trace.summary();
    screen.show(&format!(
        "{name}: {}, {}, {} live at the peak, {} destroyed by another thread\n",
        plural(summary.events as usize, "event"),
        plural(summary.created as usize, "object"),
        grouped(summary.peak_live as usize),
        grouped(summary.destroyed_by_another_thread as usize)
    ))
}
