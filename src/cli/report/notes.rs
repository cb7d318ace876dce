//! What is said below a report: what its figures mean, and what they do not.

use crate::cli::output::plural;

use super::{Report, Row, STEADY, Section};

/// What is said of figures that mean nothing.
pub const UNOPTIMISED: &str =
    "This build is not optimised (--release): its times say nothing of any contender.";

/// What `~` before a ratio means.
pub(in crate::cli) fn unsteady_means() -> String {
    format!(
        "~: of one of the two there is one repetition only, or its median on one thread is more than {STEADY} \
         times its least repetition: what disturbed it is in the ratio. (On several threads repetitions lie \
         apart anyhow, and are not judged by that.)"
    )
}

impl Report {
    /// That less was done for each figure than usual, if so.
    pub(super) fn quick(&self) -> Option<&'static str> {
        self.quick.then_some(
            "A quick run (--quick): fewer and shorter repetitions than usual, so that figures say less.",
        )
    }

    /// That the run was ended before all was measured, if it was.
    pub(super) fn left_out(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "Interrupted: {} after these rows were not measured.",
                plural(self.left_out, "cell")
            )
        })
    }

    /// What the figures of some rows are net of, in a sentence: wall time is not all that they are.
    pub(super) fn net_of(&self) -> Option<String> {
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
    pub(super) fn too_short(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter();
        rows.any(|row| row.median().is_none()).then_some(
            "A trace without a figure is too short to be timed: reading its events took as long as replaying them.",
        )
    }

    /// What the mark of [`ratio_text`](Self::ratio_text) means, if it is anywhere.
    pub(super) fn unsteady(&self) -> Option<String> {
        let marked = self.rows.iter().any(|row| row.unsteady);
        marked.then(unsteady_means)
    }

    /// What is counted beside times, where it was.
    pub(super) fn rmw_means(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter();
        rows.any(|row| row.rmw_per_op.is_some())
            .then_some("RMW: atomic read-modify-writes an operation.")
    }

    /// The same of claims.
    pub(super) fn lost_claims_mean(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter();
        rows.any(|row| row.failed_claims_per_op.is_some())
            .then_some("lost claims: those that another thread was quicker to make, an operation.")
    }

    /// The same of memory.
    pub(super) fn memory_means(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter();
        rows.any(|row| row.memory_bytes.is_some())
            .then_some("MiB: resident memory that the contender needed.")
    }

    /// What rows of large worlds do not compare, if there are any.
    pub(super) fn pages(&self) -> Option<&'static str> {
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
    pub(super) fn helpers(&self) -> Option<&'static str> {
        let mut rows = self.rows.iter().filter(|row| row.threads > 1);
        let helps = |row: &Row| row.contender == "bevy_ecs" && row.workload.starts_with("iterate_");
        rows.any(helps).then_some(
            "bevy_ecs in iterate rows on several threads: the thread that calls works on the loop, too, beside a pool of \
             as many threads as the row says.",
        )
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
