//! `Row`: one contender on one workload, and its figures.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cli::measure::Figures;

use super::Section;

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
    pub(super) fn ratio_to(&self, contender: &str) -> Option<f64> {
        self.ratio.as_ref()?.get(contender).copied()
    }
}

/// A figure, with so many digits that three of them say something.
pub(super) fn ns_text(ns: f64) -> String {
    match ns {
        1_000.0.. => format!("{ns:.0}"),
        100.0.. => format!("{ns:.1}"),
        _ => format!("{ns:.2}"),
    }
}
