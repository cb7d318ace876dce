//! `Progress`: how far a run is. A bar on a terminal; elsewhere, as in a log, a line for each
//! finished row.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

use super::Planned;
use crate::cli::output::{plural, tell};
use crate::cli::report::{Row, Skipped};

/// How far a run is, on standard error.
pub(super) struct Progress {
    /// Only on a terminal.
    bar: Option<ProgressBar>,
    cells: usize,
    done: usize,
}

impl Progress {
    /// Nothing of so many cells is done.
    pub(super) fn start(cells: usize) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}");
            let style = style.expect("a constant template is right or wrong once and for all");
            ProgressBar::new(cells as u64).with_style(style)
        });
        Self {
            bar,
            cells,
            done: 0,
        }
    }

    /// A cell is going to be measured.
    pub(super) fn begin(&self, cell: &Planned<'_>) {
        if let Some(bar) = &self.bar {
            let threads = plural(cell.threads, "thread");
            bar.set_message(format!("{} on {threads}", cell.rows[0]));
        }
    }

    /// It was measured, and these are its rows.
    pub(super) fn end(&mut self, cell: &Planned<'_>, rows: &[Row], skipped: &[Skipped]) {
        self.done += 1;
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => tell(&self.lines(cell, rows, skipped)),
        }
    }

    /// Everything is done.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn lines(&self, cell: &Planned<'_>, rows: &[Row], skipped: &[Skipped]) -> String {
        let mut text = String::new();
        for name in &cell.rows {
            let measured = rows.iter().filter(|row| row.workload == *name).map(|row| {
                let void = if row.void { " void" } else { "" };
                match row.median() {
                    Some(median) => format!("{} {median:.2}{void}", row.contender),
                    None => format!("{} -{void}", row.contender),
                }
            });
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
