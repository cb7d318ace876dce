//! `Report`: the outcome of a run of `bench`, and its three faces: a table, JSON, and an HTML page.

use std::time::SystemTime;

use serde::Serialize;

use crate::cli::measure::Machine;

mod html;
mod json;
mod lines;
mod notes;
mod plot;
mod row;
mod section;
mod skipped;
mod table;

pub use notes::UNOPTIMISED;
pub(in crate::cli) use notes::unsteady_means;
pub use plot::PlotError;
pub use row::Row;
pub use section::Section;
pub use skipped::Skipped;

use row::ns_text;

/// How many times the least the median of repetitions on one thread may be before they are unsteady.
pub(in crate::cli) const STEADY: f64 = 1.5;

/// Everything that a run found out.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name and number of this format.
    pub format: &'static str,
    /// What the figures were taken on.
    pub machine: Machine,
    /// When it was begun: seconds since 1970, UTC.
    pub unix_seconds: u64,
    /// What the program was called with.
    pub arguments: Vec<String>,
    /// Whether less was done for each figure than usual.
    pub quick: bool,
    /// The figures.
    pub rows: Vec<Row>,
    /// Where there are none.
    pub skipped: Vec<Skipped>,
    /// How many cells were to be measured and were not, because somebody has interrupted the run.
    pub left_out: usize,
}

impl Report {
    /// An empty report of this machine.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        Self {
            format: "megachunk-bench 1",
            machine,
            unix_seconds: SystemTime::UNIX_EPOCH
                .elapsed()
                .map_or(0, |since| since.as_secs()),
            arguments: std::env::args_os()
                .skip(1)
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect(),
            quick: false,
            rows: Vec::new(),
            skipped: Vec::new(),
            left_out: 0,
        }
    }

    /// Compares the rows of each cell with each other, and says which are unsteady; called once, when all are there.
    pub fn set_ratios(&mut self) {
        let medians: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                (
                    row.section,
                    row.workload.clone(),
                    row.threads,
                    row.contender,
                    row.median(),
                )
            })
            .collect();
        for row in &mut self.rows {
            let lies_apart = row.threads == 1 && row.ns.median > STEADY * row.ns.min;
            row.unsteady = lies_apart || row.repetitions == 1;
            let Some(own) = row.median().filter(|_| !row.void) else {
                row.ratio = None;
                continue;
            };
            let peers = medians.iter().filter(|(section, workload, threads, ..)| {
                (*section, workload, *threads) == (row.section, &row.workload, row.threads)
            });
            let others = peers.filter(|(.., contender, _)| *contender != row.contender);
            let ratios =
                others.filter_map(|&(.., contender, median)| Some((contender, median? / own)));
            row.ratio = Some(ratios.collect());
        }
    }

    /// The command whose report this is.
    fn command(&self) -> &'static str {
        let rows = self.rows.iter().map(|row| row.section);
        let mut all = rows.chain(self.skipped.iter().map(|row| row.section));
        match all.any(|section| section == Section::Worlds) {
            true => "ecs",
            false => "bench",
        }
    }

    /// What the reference at a place of [`Section::references`] is called, in all sections that there are.
    fn reference_names(&self, place: usize) -> String {
        let mut names: Vec<&str> = Vec::new();
        for section in Section::ALL {
            let name = section.references()[place];
            let is_there = self.rows.iter().any(|row| row.section == section);
            if is_there && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(" or ")
    }

    /// The sections that have rows.
    fn sections(&self) -> impl Iterator<Item = Section> + '_ {
        let has_rows = |section: &Section| self.rows.iter().any(|row| row.section == *section);
        Section::ALL.into_iter().filter(has_rows)
    }

    /// The contenders of `section`, in the order of their first rows.
    fn contenders(&self, section: Section) -> Vec<&'static str> {
        let rows = self.rows.iter().map(|row| (row.section, row.contender));
        let skipped = self.skipped.iter().map(|row| (row.section, row.contender));
        let mut names = Vec::new();
        for (of, name) in rows.chain(skipped) {
            if of == section && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The cells' rows of `section`, in the order they were measured: name and threads.
    fn lines(&self, section: Section) -> Vec<(&str, usize)> {
        let mut lines = Vec::new();
        for row in self.rows.iter().filter(|row| row.section == section) {
            let line = (row.workload.as_str(), row.threads);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// How many times as fast as `reference` the contender of `row` is, as a table shows it: with `~` before it where
    /// one of the two is unsteady. `None`: there is nothing to compare.
    fn ratio_text(&self, row: &Row, reference: &str) -> Option<String> {
        let ratio = row.ratio_to(reference)?;
        let mark = if self.is_unsteady(row, reference) {
            "~"
        } else {
            ""
        };
        Some(format!("{mark}{ratio:.2}"))
    }

    /// Whether `row` or that of `reference` beside it is unsteady.
    fn is_unsteady(&self, row: &Row, reference: &str) -> bool {
        let line = (row.workload.as_str(), row.threads);
        let other = self.row(row.section, line, reference);
        row.unsteady || other.is_some_and(|other| other.unsteady)
    }

    /// The row of one contender, if it has one.
    fn row(&self, section: Section, line: (&str, usize), contender: &str) -> Option<&Row> {
        self.rows.iter().find(|row| {
            row.section == section
                && (row.workload.as_str(), row.threads) == line
                && row.contender == contender
        })
    }
}

#[cfg(test)]
mod tests;
