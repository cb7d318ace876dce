//! `Finding`: a line that a check printed for this program, as a value.
//!
//! The package `megachunk-loom-tests` prints one line for each thing that it checked, among whatever
//! else cargo and the test harness print:
//!
//! ```text
//! model <name> executions=<n> seconds=<s> [bound=<b>] [CUT-SHORT]
//! stall <allocator> <operation> points=<n> blocked=<m> …
//! mutant <name> killed by <model>
//! mutant <name> SURVIVED
//! histories <allocator> of=<entities|chunks> checked=<n> seed=<s>
//! ```
//!
//! and a fuzzer, as its last words, `stat::number_of_executed_units: <n>`.
//!
//! A line that is not exactly of such a shape is no finding: what is not understood must not
//! count as checked.

use serde::Serialize;

use crate::cli::output::plural;

/// One thing that was checked, and what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Finding {
    /// A model held in every execution that it walked through: loom's, or a whole world's.
    Model {
        name: String,
        executions: u64,
        seconds: f64,
        /// `exhaustive`, or the number of preemptions, or how schedules were chosen; absent where the line did
        /// not say.
        #[serde(skip_serializing_if = "Option::is_none")]
        bound: Option<String>,
        /// It was stopped before its end: no proof of anything.
        cut_short: bool,
    },
    /// A thread was frozen at each of `points`; at `blocked` of them somebody could not go on.
    Stall {
        allocator: String,
        operation: String,
        points: u64,
        blocked: u64,
    },
    /// A fault was put in, and a model found it or none did.
    Mutant {
        name: String,
        killed_by: Option<String>,
    },
    /// Random concurrent histories, each of which some sequential order explains.
    Histories {
        allocator: String,
        /// What it gives out: two allocators have one name.
        of: String,
        checked: u64,
        seed: u64,
    },
    /// Inputs that a fuzz target has run without a complaint.
    Fuzzed { target: String, executions: u64 },
}

impl Finding {
    /// What `line` says, if it is a finding, of a command that is about `subject`.
    pub(super) fn parse(line: &str, subject: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words.as_slice() {
            ["stat::number_of_executed_units:", executions] => Some(Self::Fuzzed {
                target: subject.to_owned(),
                executions: executions.parse().ok()?,
            }),
            ["model", name, ref facts @ ..] => Some(Self::Model {
                name: name.to_owned(),
                executions: fact(facts, "executions")?,
                seconds: fact(facts, "seconds")?,
                bound: fact(facts, "bound"),
                cut_short: facts.contains(&"CUT-SHORT"),
            }),
            ["stall", allocator, operation, ref facts @ ..] => Some(Self::Stall {
                allocator: allocator.to_owned(),
                operation: operation.to_owned(),
                points: fact(facts, "points")?,
                blocked: fact(facts, "blocked")?,
            }),
            ["mutant", name, "SURVIVED", ..] => Some(Self::Mutant {
                name: name.to_owned(),
                killed_by: None,
            }),
            ["mutant", name, "killed", "by", model, ..] => Some(Self::Mutant {
                name: name.to_owned(),
                killed_by: Some(model.to_owned()),
            }),
            ["histories", allocator, ref facts @ ..] => Some(Self::Histories {
                allocator: allocator.to_owned(),
                of: fact(facts, "of")?,
                checked: fact(facts, "checked")?,
                seed: fact(facts, "seed")?,
            }),
            _ => None,
        }
    }

    /// The finding in a few words, for showing progress.
    pub(super) fn brief(&self) -> String {
        match self {
            Self::Model {
                name, executions, ..
            } => format!("{name}: {}", plural(*executions as usize, "execution")),
            Self::Stall {
                allocator,
                operation,
                points,
                blocked,
            } => format!("{allocator} {operation}: {blocked} of {points} points block"),
            Self::Mutant {
                name,
                killed_by: Some(model),
            } => format!("{name}: killed by {model}"),
            Self::Mutant {
                name,
                killed_by: None,
            } => format!("{name}: SURVIVED"),
            Self::Histories {
                allocator,
                of,
                checked,
                ..
            } => format!("{allocator}: {checked} histories of {of}"),
            Self::Fuzzed { target, executions } => {
                format!("{target}: {}", plural(*executions as usize, "execution"))
            }
        }
    }
}

/// The value of `name=…` among `facts`.
fn fact<T: std::str::FromStr>(facts: &[&str], name: &str) -> Option<T> {
    let value = |fact: &&str| fact.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    facts.iter().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Finding> {
        Finding::parse(line, "entity_index")
    }

    #[test]
    fn every_shape_of_line_is_understood() {
        assert_eq!(
            parse("model two_claims executions=81 seconds=0.02 bound=exhaustive"),
            Some(Finding::Model {
                name: "two_claims".into(),
                executions: 81,
                seconds: 0.02,
                bound: Some("exhaustive".into()),
                cut_short: false,
            })
        );
        assert_eq!(
            parse("stall bitmask        create_64      points=31 blocked=0 steps=99"),
            Some(Finding::Stall {
                allocator: "bitmask".into(),
                operation: "create_64".into(),
                points: 31,
                blocked: 0,
            })
        );
        assert_eq!(
            parse("mutant claim_relaxed killed by claims_do_not_overlap"),
            Some(Finding::Mutant {
                name: "claim_relaxed".into(),
                killed_by: Some("claims_do_not_overlap".into()),
            })
        );
        assert_eq!(
            parse("mutant no_retire SURVIVED"),
            Some(Finding::Mutant {
                name: "no_retire".into(),
                killed_by: None,
            })
        );
        assert_eq!(
            parse("histories naive of=chunks checked=2000 seed=17"),
            Some(Finding::Histories {
                allocator: "naive".into(),
                of: "chunks".into(),
                checked: 2_000,
                seed: 17,
            })
        );
        assert_eq!(
            parse("stat::number_of_executed_units: 36669"),
            Some(Finding::Fuzzed {
                target: "entity_index".into(),
                executions: 36_669,
            })
        );
    }

    #[test]
    fn a_model_that_was_cut_short_says_so() {
        let finding = parse("model m executions=5 seconds=1.0 bound=2 CUT-SHORT");
        assert!(matches!(
            finding,
            Some(Finding::Model {
                cut_short: true,
                ..
            })
        ));
    }

    #[test]
    fn what_is_not_exactly_a_finding_is_none() {
        for line in [
            "",
            "model",
            "model m",
            "model m executions=many seconds=1",
            "model m seconds=1",
            "stall-total entity bitmask points=5 blocked=0",
            "stall bitmask create points=5",
            "mutant m",
            "mutant m killed",
            "mutant m killed by",
            "mutant m survived",
            "histories busy_block violation found: a stale handle is located, as published",
            "test result: ok. 3 passed",
            "the model m executions=1 seconds=1",
            "stat::average_exec_per_sec:     293",
            "stat::number_of_executed_units: none",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
