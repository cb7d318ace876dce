//! The outcome of a run of `bench`, and its three faces: a table, JSON, and an HTML page.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;

use crate::cli::measure::{Figures, Machine};
use crate::cli::output::plural;

mod html;
mod json;
mod lines;
mod plot;
mod skipped;
mod table;

pub use plot::PlotError;
pub use skipped::Skipped;

/// What kind of thing a workload works on; contenders of different sections never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Entity ids.
    Ids,
    /// Chunks of memory.
    Chunks,
    /// Worlds of entities: whole entity component stores.
    Worlds,
}

/// What is said of figures that mean nothing.
pub const UNOPTIMISED: &str =
    "This build is not optimised (--release): its times say nothing of any contender.";

impl Section {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 3] = [Self::Ids, Self::Chunks, Self::Worlds];

    /// What it is called in headings.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ids => "Ids",
            Self::Chunks => "Chunks",
            Self::Worlds => "Worlds",
        }
    }

    /// The product of this crate in this section.
    #[must_use]
    pub const fn product(self) -> &'static str {
        match self {
            Self::Ids => "bitmask",
            Self::Chunks | Self::Worlds => "megachunk",
        }
    }

    /// The references that the product is compared with in the table.
    #[must_use]
    pub const fn references(self) -> [&'static str; 2] {
        match self {
            Self::Ids => ["naive", "busy_block"],
            Self::Chunks => ["naive", "megachunk_dots"],
            Self::Worlds => ["hecs", "limit"],
        }
    }
}

/// One contender on one workload with a number of threads.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What the workload works on: names of contenders occur in several sections.
    pub section: Section,
    /// The workload, with its phase where several are timed apart.
    pub workload: String,
    /// On how many threads.
    pub threads: usize,
    /// The contender's name.
    pub contender: &'static str,
    /// What `ns` counts, as `ns/id`.
    pub unit: &'static str,
    /// Nanoseconds an operation: wall time by the operations of all threads, less `net_of_ns`. Nothing, or less than
    /// that, where reading the events took as long as all of it: then there is no figure.
    pub ns: Figures,
    /// How many repetitions `ns` is of.
    pub repetitions: usize,
    /// What was taken from `ns`: the median of reading a trace's events without doing what they say. Only where
    /// something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_of_ns: Option<f64>,
    /// How many times as fast as each contender of the same cell: its median by this one's. `None` where the row is
    /// void, or has no figure: nothing is to be compared with it.
    pub ratio: Option<BTreeMap<&'static str, f64>>,
    /// Read-modify-writes an operation; only where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmw_per_op: Option<f64>,
    /// Claims lost to other threads an operation; only where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_claims_per_op: Option<f64>,
    /// Resident memory that the contender needed; only where the workload asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The fewest processors that the machine gave, before or after it was measured: how many times as much of work that
    /// needs nothing else all threads did as one. Only on several threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<f64>,
    /// Whether these are too few: fewer than 0.9 a thread.
    pub void: bool,
    /// Whether ratios say little: the repetitions on one thread, which are never void, lie far apart, or there is only
    /// one, on whatever number of threads.
    pub unsteady: bool,
}

/// How many times the least the median of repetitions on one thread may be before they are unsteady.
pub(in crate::cli) const STEADY: f64 = 1.5;

/// What `~` before a ratio means.
pub(in crate::cli) fn unsteady_means() -> String {
    format!(
        "~: of one of the two there is one repetition only, or its median on one thread is more than {STEADY} \
         times its least repetition: what disturbed it is in the ratio. (On several threads repetitions lie \
         apart anyhow, and are not judged by that.)"
    )
}

impl Row {
    /// The median, if it is one: if more than reading the events was timed.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        Some(self.ns.median).filter(|&median| median > 0.0)
    }

    /// Whose it is, and its median, as a line among others tells it.
    pub(in crate::cli) fn told(&self) -> String {
        let void = if self.void { " void" } else { "" };
        let median = self.median().map_or_else(|| "-".to_owned(), ns_text);
        format!("{} {median}{void}", self.contender)
    }

    /// How many times as fast as `contender` it is, if that says anything.
    fn ratio_to(&self, contender: &str) -> Option<f64> {
        self.ratio.as_ref()?.get(contender).copied()
    }
}

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

    /// That less was done for each figure than usual, if so.
    fn quick(&self) -> Option<&'static str> {
        self.quick.then_some(
            "A quick run (--quick): fewer and shorter repetitions than usual, so that figures say less.",
        )
    }

    /// That the run was ended before all was measured, if it was.
    fn left_out(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "Interrupted: {} after these rows were not measured.",
                plural(self.left_out, "cell")
            )
        })
    }

    /// What the figures of some rows are net of, in a sentence: wall time is not all that they are.
    fn net_of(&self) -> Option<String> {
        let mut rows: Vec<(&str, usize, f64)> = Vec::new();
        for row in &self.rows {
            if let Some(net_of) = row.net_of_ns {
                let what = (row.workload.as_str(), row.threads, net_of);
                if !rows.contains(&what) {
                    rows.push(what);
                }
            }
        }
        let each = rows.iter().map(|(workload, threads, net_of)| {
            format!("{workload} on {} {net_of:.2}", plural(*threads, "thread"))
        });
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| {
            format!(
                "Rows of traces are net of reading the events, nanoseconds an event: {}.",
                each.join(", ")
            )
        })
    }

    /// That some rows have no figure though they were timed, if there are any.
    fn too_short(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter();
        rows.any(|row| row.median().is_none()).then_some(
            "A trace without a figure is too short to be timed: reading its events took as long as replaying them.",
        )
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

    /// What the mark of [`ratio_text`](Self::ratio_text) means, if it is anywhere.
    fn unsteady(&self) -> Option<String> {
        let marked = self.rows.iter().any(|row| row.unsteady);
        marked.then(unsteady_means)
    }

    /// What is counted beside times, where it was.
    fn rmw_means(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter();
        rows.any(|row| row.rmw_per_op.is_some())
            .then_some("RMW: atomic read-modify-writes an operation.")
    }

    /// The same of claims.
    fn lost_claims_mean(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter();
        rows.any(|row| row.failed_claims_per_op.is_some())
            .then_some("lost claims: those that another thread was quicker to make, an operation.")
    }

    /// The same of memory.
    fn memory_means(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter();
        rows.any(|row| row.memory_bytes.is_some())
            .then_some("MiB: resident memory that the contender needed.")
    }

    /// What rows of large worlds do not compare, if there are any.
    fn pages(&self) -> Option<&'static str> {
        let worlds = self.rows.iter();
        let mut worlds = worlds.filter(|row| row.section == Section::Worlds);
        worlds.any(|row| is_large(&row.workload)).then_some(
            "Rows of a million entities and more: megachunk asks the system for huge pages. Where these are given on \
             request only (`madvise`), the heap of all others, that of limit as well, has small ones, which cost more to \
             touch first (cold rows), and more to look up in. megachunk_small_pages, in some of these rows, is megachunk \
             without huge pages: what lies between the two is theirs. With GLIBC_TUNABLES=glibc.malloc.hugetlb=1 in the \
             environment, the heap of glibc asks, too.",
        )
    }

    /// What of the rows on several threads is not on as many, if there is any.
    fn helpers(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter().filter(|row| row.threads > 1);
        let helps = |row: &Row| row.contender == "bevy_ecs" && row.workload.starts_with("iterate_");
        rows.any(helps).then_some(
            "bevy_ecs in iterate rows on several threads: the thread that calls works on the loop, too, beside a pool of \
             as many threads as the row says.",
        )
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

/// A figure, with so many digits that three of them say something.
fn ns_text(ns: f64) -> String {
    match ns {
        1_000.0.. => format!("{ns:.0}"),
        100.0.. => format!("{ns:.1}"),
        _ => format!("{ns:.2}"),
    }
}

/// Whether a row of worlds is of a million entities or more.
fn is_large(workload: &str) -> bool {
    let large = [
        "1m", "5m", "10m", "half", "deferred", "cold", "warm", "beside",
    ];
    let mut words = workload.split(['_', '/', ':']);
    words.any(|word| large.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A good row of ids, in which all repetitions took the same.
    pub(super) fn row(contender: &'static str, threads: usize, median: f64) -> Row {
        Row {
            section: Section::Ids,
            workload: "pair".into(),
            threads,
            contender,
            unit: "ns/life",
            ns: Figures {
                min: median,
                median,
                max: median,
            },
            repetitions: 3,
            net_of_ns: None,
            ratio: None,
            rmw_per_op: None,
            failed_claims_per_op: None,
            memory_bytes: None,
            cores: None,
            void: false,
            unsteady: false,
        }
    }

    #[test]
    fn a_ratio_says_how_many_times_as_fast() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![
            row("naive", 1, 10.0),
            row("bitmask", 1, 4.0),
            row("naive", 2, 99.0),
        ];
        report.set_ratios();
        assert_eq!(report.rows[1].ratio, Some(BTreeMap::from([("naive", 2.5)])));
        assert_eq!(report.rows[2].ratio, Some(BTreeMap::new()));
    }

    #[test]
    fn a_void_row_has_no_ratio_anywhere() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 2, 10.0), row("bitmask", 2, 4.0)];
        report.set_ratios();
        assert!(report.to_table().contains("2.50"));
        assert!(report.to_html().unwrap().contains("<td>2.50</td>"));
        report.rows.iter_mut().for_each(|row| row.void = true);
        report.set_ratios();
        assert!(!report.to_table().contains("2.50"));
        let page = report.to_html().unwrap();
        assert!(!page.contains("<td>2.50</td>"));
        assert_eq!(page.matches("<svg").count(), 1, "nobody against anybody");
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(json["rows"][1]["ratio"], serde_json::Value::Null);
    }

    #[test]
    fn a_ratio_on_one_thread_is_marked_where_repetitions_lie_far_apart() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
        report.set_ratios();
        assert!(!report.to_table().contains('~'));
        report.rows[0].ns.min = 6.0;
        report.set_ratios();
        assert!(report.rows[0].unsteady && !report.rows[1].unsteady);
        assert!(report.to_table().contains("~2.50"));
        assert!(report.to_table().contains("~: of one of the two"));
        assert!(report.to_html().unwrap().contains("<td>~2.50</td>"));
        assert!(report.to_json().contains("\"unsteady\": true"));
        report.rows.iter_mut().for_each(|row| row.threads = 2);
        report.set_ratios();
        assert!(!report.rows[0].unsteady, "threads get in each other's way");
    }

    #[test]
    fn one_repetition_is_unsteady_on_any_number_of_threads() {
        for threads in [1, 2] {
            let mut report = Report::new(Machine::here());
            report.rows = vec![row("naive", threads, 10.0), row("bitmask", threads, 4.0)];
            report.rows[0].repetitions = 1;
            report.set_ratios();
            assert!(report.to_table().contains("~2.50"), "{threads}");
            assert!(report.to_json().contains("\"repetitions\": 1"));
        }
    }

    #[test]
    fn what_a_row_is_net_of_is_said_in_all_three_faces() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
        let said = "net of reading the events";
        assert!(!report.to_table().contains(said));
        assert!(!report.to_html().unwrap().contains(said));
        for row in &mut report.rows {
            row.workload = "trace:node".into();
            row.net_of_ns = Some(0.75);
        }
        assert!(report.to_table().contains("trace:node on 1 thread 0.75"));
        assert!(report.to_table().contains(said));
        assert!(report.to_html().unwrap().contains(said));
        assert!(report.to_json().contains("\"net_of_ns\": 0.75"));
    }

    #[test]
    fn a_row_that_took_no_longer_than_its_overhead_has_no_figure() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
        report.set_ratios();
        let said = "too short to be timed";
        assert!(!report.to_table().contains(said));
        report.rows[1].ns = report.rows[1].ns.minus(4.5);
        report.rows[0].ns.min = -1.0;
        report.set_ratios();
        assert_eq!(report.rows[1].ratio, None);
        assert_eq!(report.rows[0].ratio, Some(BTreeMap::new()));
        let table = report.to_table();
        assert!(table.contains(said) && !table.contains("-0.5"), "{table}");
        let page = report.to_html().unwrap();
        assert!(page.contains(said) && !page.contains("NaN"), "{page}");
    }

    #[test]
    fn only_rows_of_large_worlds_bring_the_word_about_huge_pages() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("hecs", 1, 10.0)];
        let said = "glibc.malloc.hugetlb=1";
        for (section, workload, expected) in [
            (Section::Worlds, "simple_iter", false),
            (Section::Worlds, "archetypes_1000x1", false),
            (Section::Worlds, "spawn_1m/batch_warm", true),
            (Section::Worlds, "spawn_1m/batch_cold", true),
            (Section::Worlds, "deferred_insert/random_cold:record", true),
            (Section::Worlds, "get_1m/slice", true),
            (Section::Worlds, "iterate_10m", true),
            (Section::Worlds, "despawn_half/single", true),
            (Section::Ids, "spawn_1m/batch_cold", false),
        ] {
            report.rows[0].section = section;
            report.rows[0].workload = workload.into();
            assert_eq!(report.to_table().contains(said), expected, "{workload}");
            assert_eq!(report.to_html().unwrap().contains(said), expected);
        }
    }

    #[test]
    fn whose_caller_works_too_is_said_where_there_are_several_threads() {
        let mut report = Report::new(Machine::here());
        let said = "the thread that calls works";
        for (contender, threads, expected) in [
            ("bevy_ecs", 1, false),
            ("hecs", 2, false),
            ("bevy_ecs", 2, true),
        ] {
            report.rows = vec![row(contender, threads, 10.0)];
            report.rows[0].section = Section::Worlds;
            report.rows[0].workload = "iterate_1m".into();
            assert_eq!(report.to_table().contains(said), expected, "{contender}");
            assert_eq!(report.to_html().unwrap().contains(said), expected);
        }
    }

    #[test]
    fn the_json_says_how_many_processors_several_threads_had() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0), row("naive", 2, 10.0)];
        report.rows[1].cores = Some(1.75);
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(json["rows"][0].get("cores"), None);
        assert_eq!(json["rows"][1]["cores"], 1.75);
    }

    #[test]
    fn the_page_is_whole_and_needs_nothing_from_elsewhere() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
        report.rows[0].workload = "scale/10000/create".into();
        report.set_ratios();
        let page = report.to_html().unwrap();
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert_eq!(page.matches("<svg").count(), 2);
        let namespace = "http://www.w3.org/2000/svg";
        assert_eq!(
            page.matches("http").count(),
            page.matches(namespace).count()
        );
    }

    #[test]
    fn the_page_names_its_command_and_the_references_of_its_sections() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0)];
        let page = report.to_html().unwrap();
        assert!(page.contains("<title>megachunk bench</title>"));
        assert!(
            page.contains("<th scope=\"col\">× naive</th>\n<th scope=\"col\">× busy_block</th>")
        );
        report.rows.push(row("naive", 1, 10.0));
        report.rows[1].section = Section::Chunks;
        let page = report.to_html().unwrap();
        assert!(page.contains("<th scope=\"col\">× busy_block or megachunk_dots</th>"));
        report.rows = vec![row("hecs", 1, 10.0)];
        report.rows[0].section = Section::Worlds;
        let page = report.to_html().unwrap();
        assert!(page.contains("<h1>megachunk ecs</h1>"));
        assert!(page.contains("<th scope=\"col\">× hecs</th>\n<th scope=\"col\">× limit</th>"));
    }

    #[test]
    fn a_quick_run_says_so() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0)];
        let said = "A quick run (--quick)";
        for quick in [false, true] {
            report.quick = quick;
            assert_eq!(report.to_table().contains(said), quick);
            assert_eq!(report.to_html().unwrap().contains(said), quick);
        }
    }

    #[test]
    fn a_run_that_was_interrupted_says_so_in_all_three_faces() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0)];
        let said = "Interrupted: 3 cells";
        assert!(!report.to_table().contains("Interrupted"));
        assert!(!report.to_html().unwrap().contains("Interrupted"));
        report.left_out = 3;
        assert!(report.to_table().contains(said));
        assert!(report.to_html().unwrap().contains(said));
        assert!(report.to_json().contains("\"left_out\": 3"));
    }

    #[test]
    fn the_json_has_the_documented_fields_and_no_counts_where_nothing_was_counted() {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
        report.set_ratios();
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(json["format"], "megachunk-bench 1");
        assert_eq!(json["quick"], false);
        assert!(json["unix_seconds"].as_u64().unwrap() > 1_700_000_000);
        assert!(json["arguments"].is_array());
        let sections = serde_json::json!([
            {"section": "ids", "product": "bitmask", "references": ["naive", "busy_block"]}
        ]);
        assert_eq!(json["sections"], sections);
        let row = json["rows"][1].as_object().unwrap();
        let mut fields: Vec<_> = row.keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            [
                "contender",
                "ns",
                "ratio",
                "repetitions",
                "section",
                "threads",
                "unit",
                "unsteady",
                "void",
                "workload"
            ]
        );
        assert_eq!(row["section"], "ids");
        assert_eq!(row["ns"]["median"], 4.0);
        assert_eq!(row["ratio"]["naive"], 2.5);
    }
}
