//! What a replay prints and writes.

use comfy_table::CellAlignment;
use serde::Serialize;

use super::measure::Figures;
use crate::cli::CliError;
use crate::cli::measure::Machine;
use crate::cli::output::{grouped, plain_table, plural};

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
        "against naive",
        "peak blocks",
        "verified",
    ]);
    for row in &figures.rows {
        table.add_row([
            row.allocator.to_owned(),
            format!("{:.2}", row.net_ns.median),
            format!("{:.2} … {:.2}", row.net_ns.min, row.net_ns.max),
            format!("{:.2}", row.gross_ns.median),
            format!("{:.2}", row.first_ns),
            row.ratio_to_naive
                .map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}×")),
            grouped(row.peak_blocks),
            if row.verified { "yes" } else { "–" }.to_owned(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut remarks = String::new();
    if figures.void {
        remarks +=
            "void: there are more threads than processors; compare nothing with these rows.\n";
    }
    if figures.too_short {
        remarks += "The trace is too short to be timed: reading its events took longer than replaying them.\n";
    }
    format!("{headline}\n{table}\n{remarks}\n")
}

/// All traces' figures as JSON.
pub(super) fn json(traces: &[Figures]) -> Result<String, CliError> {
    #[derive(Serialize)]
    struct File<'a> {
        format: &'static str,
        machine: Machine,
        traces: &'a [Figures],
    }
    let file = File {
        format: "megachunk-replay 1",
        machine: Machine::here(),
        traces,
    };
    match serde_json::to_string_pretty(&file) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(CliError::Failed(error.to_string())),
    }
}
