//! `Progress`: how far a run is. A bar where there can be one; elsewhere, as in a log, a line for each
//! finished row.

use super::Planned;
use crate::cli::Bar;
use crate::cli::output::{plural, tell};
use crate::cli::report::{Row, Skipped};

/// How far a run is, on standard error.
pub(super) struct Progress {
    bar: Bar,
    cells: usize,
    done: usize,
}

impl Progress {
    /// Nothing of so many cells is done.
    pub(super) fn start(cells: usize) -> Self {
        Self {
            bar: Bar::start(Some(cells as u64), "{bar:30} {pos}/{len} {elapsed} {msg}"),
            cells,
            done: 0,
        }
    }

    /// A cell is going to be measured.
    pub(super) fn begin(&self, cell: &Planned<'_>) {
        self.bar.set_message(|| {
            let threads = plural(cell.threads, "thread");
            format!("{} on {threads}", cell.rows[0])
        });
    }

    /// It was measured, and these are its rows.
    pub(super) fn end(&mut self, cell: &Planned<'_>, rows: &[Row], skipped: &[Skipped]) {
        self.done += 1;
        match self.bar.is_shown() {
            true => self.bar.advance(),
            false => tell(&self.lines(cell, rows, skipped)),
        }
    }

    fn lines(&self, cell: &Planned<'_>, rows: &[Row], skipped: &[Skipped]) -> String {
        let mut text = String::new();
        for name in &cell.rows {
            let measured = rows.iter().filter(|row| row.workload == *name);
            let measured = measured.map(Row::told);
            let others = skipped.iter().filter(|row| row.workload == *name);
            let others = others.map(|row| {
                let what = if row.failed { "FAILED" } else { "skipped" };
                format!("{} {what}", row.contender)
            });
            let figures: Vec<String> = measured.chain(others).collect();
            if figures.is_empty() {
                continue;
            }
            text += &format!(
                "[{}/{}] {name} on {}, {}: {}\n",
                self.done,
                self.cells,
                plural(cell.threads, "thread"),
                cell.unit,
                figures.join(", ")
            );
        }
        text
    }
}
