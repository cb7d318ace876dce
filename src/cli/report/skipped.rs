//! `Skipped`: who has no figure, where, and why.

use core::fmt;

use serde::Serialize;

use super::{Report, Section};

/// A contender that has no figure on a row, and why.
#[derive(Clone, Debug, Serialize)]
pub struct Skipped {
    /// What the workload works on.
    pub section: Section,
    /// The row's name.
    pub workload: String,
    /// On how many threads.
    pub threads: usize,
    /// The contender's name.
    pub contender: &'static str,
    /// Why there is no figure.
    pub why: String,
    /// Whether it should have had one.
    pub failed: bool,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            workload,
            threads,
            contender,
            why,
            ..
        } = self;
        let plural = if *threads == 1 { "" } else { "s" };
        write!(
            f,
            "{workload} on {threads} thread{plural}, {contender}: {why}"
        )
    }
}

/// Contenders that have no figure, for one reason, on some rows.
struct Group<'r> {
    why: &'r str,
    who: Vec<&'static str>,
    rows: Vec<&'r str>,
}

impl Report {
    /// Who was skipped, why, and on which rows, whatever the number of threads: a line for all rows that agree.
    pub(super) fn skipped_together(&self) -> Vec<String> {
        let mut of_rows: Vec<Group<'_>> = Vec::new();
        for skipped in self.skipped.iter().filter(|skipped| !skipped.failed) {
            let (row, why) = (skipped.workload.as_str(), skipped.why.as_str());
            let known = of_rows
                .iter_mut()
                .find(|group| (group.rows[0], group.why) == (row, why));
            match known {
                Some(group) if group.who.contains(&skipped.contender) => {}
                Some(group) => group.who.push(skipped.contender),
                None => of_rows.push(Group {
                    why,
                    who: vec![skipped.contender],
                    rows: vec![row],
                }),
            }
        }
        let mut groups: Vec<Group<'_>> = Vec::new();
        for one in of_rows {
            let known = groups
                .iter_mut()
                .find(|group| (group.why, &group.who) == (one.why, &one.who));
            match known {
                Some(group) => group.rows.extend(one.rows),
                None => groups.push(one),
            }
        }
        let line = |Group { why, who, rows }: &Group<'_>| {
            format!("{why} ({}): {}", who.join(", "), some_of(rows))
        };
        groups.iter().map(line).collect()
    }
}

/// The first few names, and how many others there are.
fn some_of(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    match names.len().saturating_sub(SHOWN) {
        // One more takes no more room than to say so.
        0 | 1 => names.join(", "),
        more => format!("{} and {more} others", names[..SHOWN].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::measure::Machine;

    #[test]
    fn what_was_skipped_is_said_once_for_all_rows_that_agree() {
        let mut report = Report::new(Machine::here());
        let mut skip = |workload: &str, threads, contender, why: &str| {
            report.skipped.push(Skipped {
                section: Section::Worlds,
                workload: workload.into(),
                threads,
                contender,
                why: why.into(),
                failed: false,
            });
        };
        for threads in [1, 2] {
            for number in 0..7 {
                skip(
                    &format!("row_{number}"),
                    threads,
                    "limit",
                    "records nothing",
                );
            }
            skip("row_3", threads, "hecs", "records nothing");
            skip("other", threads, "limit", "records nothing");
            skip("other", threads, "hecs", "has no schedule");
        }
        let expected = [
            "records nothing (limit): row_0, row_1, row_2, row_4 and 3 others",
            "records nothing (limit, hecs): row_3",
            "has no schedule (hecs): other",
        ];
        assert_eq!(report.skipped_together(), expected);
        let table = report.to_table();
        assert!(
            table.contains("skipped: has no schedule (hecs): other\n"),
            "{table}"
        );
        assert!(report.to_html().unwrap().contains("row_4 and 3 others"));
        assert!(
            report.to_json().contains("row_6"),
            "programs get all of them"
        );
    }
}
