//! What a replay prints and writes.

use comfy_table::CellAlignment;
use serde::Serialize;

use super::measure::{Figures, Row};
use crate::cli::CliError;
use crate::cli::measure::Machine;
use crate::cli::output::{grouped, plain_table, plural};
use crate::cli::report::{UNOPTIMISED, unsteady_means};

/// One trace's line and table.
pub(super) fn text(figures: &Figures) -> String {
    let recorded = &figures.recorded;
    let threads = plural(figures.threads, "thread");
    let events = plural(figures.events, "event");
    let counts = format!(
        "{}, {} live at the peak, {} destroyed by another thread",
        plural(recorded.objects, "object"),
        grouped(recorded.peak_live as usize),
        grouped(recorded.destroyed_by_another_thread as usize)
    );
    let played = match recorded.threads {
        of if of == figures.threads => format!("{threads}, {events}, {counts}"),
        of => format!(
            "{threads}, {events}; recorded on {}: {counts}",
            plural(of, "thread")
        ),
    };
    let headline = format!(
        "{}: {played}; reading the events takes {:.2} ns an event",
        figures.trace, figures.reading_ns.median
    );
    let mut table = plain_table();
    table.set_header([
        "allocator",
        "ns/event, net",
        "min … max",
        "gross",
        "first run",
        "× as fast as naive",
        "peak blocks",
        "verified",
    ]);
    for row in &figures.rows {
        let net = row.net_ns;
        let [median, spread] = match net.median > 0.0 {
            true => [
                format!("{:.2}", net.median),
                format!("{:.2} … {:.2}", net.min, net.max),
            ],
            // Reading the events took as long: there is no figure.
            false => ["-", "-"].map(str::to_owned),
        };
        table.add_row([
            row.allocator.to_owned(),
            median,
            spread,
            format!("{:.2}", row.gross_ns.median),
            format!("{:.2}", row.first_ns),
            figures.ratio_text(row),
            grouped(row.peak_blocks),
            if row.verified { "yes" } else { "-" }.to_owned(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut remarks = String::new();
    if figures.interrupted {
        let repetitions = plural(figures.repetitions, "repetition");
        remarks += &format!("Interrupted: these figures are of {repetitions}.\n");
    }
    if figures.void {
        remarks +=
            "void: there are more threads than processors; compare nothing with these rows.\n";
    }
    if figures.too_short {
        remarks += "The trace is too short to be timed: reading its events took longer than replaying them.\n";
    }
    format!("{headline}\n{table}\n{remarks}\n")
}

impl Figures {
    /// How many times as fast as `naive` the allocator of `row` is, with `~` before it where one of the two is unsteady.
    fn ratio_text(&self, row: &Row) -> String {
        let Some(ratio) = row.ratio_to_naive else {
            return "-".to_owned();
        };
        let mut rows = self.rows.iter();
        let naive = rows.find(|row| row.allocator == "naive");
        let is_marked = row.unsteady || naive.is_some_and(|naive| naive.unsteady);
        format!("{}{ratio:.2}", if is_marked { "~" } else { "" })
    }
}

/// What a run has come to.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) traces: Vec<Figures>,
    /// Traces that were not replayed, because somebody has ended the run.
    pub(super) left_out: usize,
}

impl Measured {
    /// Traces that were not replayed as often as was asked for.
    fn unfinished(&self) -> usize {
        let replayed = self.traces.iter();
        self.left_out + replayed.filter(|figures| figures.interrupted).count()
    }

    /// That somebody has ended the run before all of so many traces were replayed, if somebody has.
    pub(super) fn verdict(&self, all: usize) -> Result<(), CliError> {
        match self.unfinished() {
            0 => Ok(()),
            unfinished => Err(CliError::Interrupted(format!(
                "{unfinished} of {} were not replayed, or not as often as was asked for",
                plural(all, "trace")
            ))),
        }
    }
}

/// What the tables mean.
pub(super) fn footnotes(measured: &Measured) -> String {
    if measured.traces.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "Nanoseconds an event, wall time by the events of all threads. net: the median of the repetitions, less what \
         reading the events takes; min … max: of the same; gross: with it; first run: gross, on a fresh allocator. \
         peak blocks: blocks of 8,192 slots that ids were handed out of.\n",
    );
    let is_marked = |figures: &Figures| {
        let mut rows = figures.rows.iter();
        rows.any(|row| figures.ratio_text(row).starts_with('~'))
    };
    if measured.traces.iter().any(is_marked) {
        text += &format!("{}\n", unsteady_means());
    }
    if cfg!(debug_assertions) {
        text += &format!("{UNOPTIMISED}\n");
    }
    text
}

/// All traces' figures as JSON.
pub(super) fn json(measured: &Measured) -> Result<String, CliError> {
    #[derive(Serialize)]
    struct File<'a> {
        format: &'static str,
        machine: Machine,
        interrupted: bool,
        left_out: usize,
        traces: &'a [Figures],
    }
    let file = File {
        format: "megachunk-replay 1",
        machine: Machine::here(),
        interrupted: measured.unfinished() > 0,
        left_out: measured.left_out,
        traces: &measured.traces,
    };
    match serde_json::to_string_pretty(&file) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(CliError::Failed(error.to_string())),
    }
}
