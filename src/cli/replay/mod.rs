//! `megachunk replay`: replays recorded allocation traces on a chosen allocator.
//!
//! What it replays with is in [`trace::replay`](crate::trace::replay); the subcommand adds files, tables and JSON.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;

use super::CliError;
use super::destination::{Destination, Screen, is_standard_stream};
use super::output::{plural, show_bytes};
use super::report::UNOPTIMISED;
use super::trace_named::trace_named;
use super::workload::Registry;
use crate::trace::replay::{Contender, Replay};
use crate::trace::{MAX_THREADS, Trace};

mod measure;
mod report;

/// Replay recorded allocation traces on a chosen allocator.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Trace files, plain or gzip, `-` for standard input, or names of traces that the program carries (python, gcc,
    /// node) [default: all that it carries]
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

    /// Replay only these events; what lives when they begin is created first
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range)]
    events: Option<EventRange>,

    /// Write what would be replayed to a trace file, and stop (`-`: standard output)
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with = "json")]
    save: Option<PathBuf>,

    /// Write the figures to a file (`-`: standard output)
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
    let traces = traces(args)?;
    if let Some(path) = &args.save {
        let [trace] = traces.as_slice() else {
            return Err(bad_argument(
                "--save",
                "one trace can be written, not several",
            ));
        };
        return save(trace, path);
    }
    let files = Destination::open_all([("--json", args.json.as_deref())], &args.files)?;
    let screen = Screen::beside(&files);
    let [json] = files;
    let mut measured = Vec::with_capacity(traces.len());
    let mut shown = Ok(());
    for trace in &traces {
        let threads = usize::from(args.threads.unwrap_or(0));
        let mut replay = Replay::new(trace, threads).ok_or_else(|| {
            let recorded = trace.threads();
            let reason = format!(
                "{} has {recorded} threads: replay it on 1 to {recorded}, or on a multiple up to {MAX_THREADS}",
                trace.name()
            );
            bad_argument("--threads", &reason)
        })?;
        let figures = measure::measure(trace, &mut replay, args)?;
        shown = shown.and_then(|()| screen.show(&report::text(&figures)));
        // A file gets the figures whatever became of the screen.
        if shown.is_err() && json.is_none() {
            return shown;
        }
        measured.push(figures);
    }
    if cfg!(debug_assertions) {
        shown = shown.and_then(|()| screen.show(&format!("{UNOPTIMISED}\n")));
    }
    let written = json.map_or(Ok(()), |json| json.write(&report::json(&measured)?));
    shown.and(written)
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
        let named = |path: &PathBuf| trace_named("FILE", path);
        args.files.iter().map(named).collect::<Result<_, _>>()?
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

fn save(trace: &Trace, path: &Path) -> Result<(), CliError> {
    let failed = |source| CliError::File {
        path: path.to_owned(),
        source,
    };
    let screen = if is_standard_stream(path) {
        let mut text = Vec::new();
        trace.to_writer(&mut text).map_err(failed)?;
        show_bytes(&text)?;
        Screen::Error
    } else {
        trace.save(path).map_err(failed)?;
        Screen::Output
    };
    let summary = trace.summary();
    screen.show(&format!(
        "{}: {}, {}, {} live at the peak, {} destroyed by another thread\n",
        if screen == Screen::Error {
            trace.name().into()
        } else {
            path.display().to_string()
        },
        plural(summary.events as usize, "event"),
        plural(summary.created as usize, "object"),
        summary.peak_live,
        summary.destroyed_by_another_thread
    ))
}
