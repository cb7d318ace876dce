//! `Stage`: one of the checks, and what its findings must show.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::finding::Finding;
use crate::cli::output::plural;

/// The products' names in the stall table: a thread that stops in them may block nobody.
const PRODUCTS: [&str; 6] = [
    "bitmask",
    "sessions",
    "megachunk",
    "megachunk-sparing",
    "recorders",
    "signals",
];
/// The products' names in the history check, and what they give out.
const WITH_HISTORIES: [(&str, &str); 3] = [
    ("bitmask", "entities"),
    ("megachunk", "chunks"),
    ("megachunk-sparing", "chunks"),
];
/// A reference that must block, or the stall table could not tell.
const BLOCKS: &str = "busy_block";

/// One of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(super) enum Stage {
    /// The loom models: every interleaving within the bound
    Models,
    /// Whole worlds under schedules of shuttle's choice
    Schedules,
    /// The stall table: a thread frozen at every step, or at 400 of an operation's if it has more
    Stall,
    /// The history check: random histories, linearized
    Histories,
    /// The mutation gate: every fault put in is found
    Mutants,
    /// Every fuzz target for a while; needs a nightly toolchain and cargo-fuzz
    Fuzz,
}

impl Stage {
    /// In the order in which a mistake shows soonest.
    pub(super) const ALL: [Self; 6] = [
        Self::Stall,
        Self::Histories,
        Self::Models,
        Self::Schedules,
        Self::Mutants,
        Self::Fuzz,
    ];

    /// The name in tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Models => "loom models",
            Self::Schedules => "schedules",
            Self::Stall => "stall table",
            Self::Histories => "history check",
            Self::Mutants => "mutation gate",
            Self::Fuzz => "fuzzing",
        }
    }

    /// What `findings` fail to show, in words; nothing where all is well. (That there are any is
    /// seen to by whoever runs the commands.) Only of a whole run is something missing.
    pub(super) fn problems(self, findings: &[Finding], whole: bool) -> Vec<String> {
        let mut problems = Vec::new();
        for finding in findings {
            match finding {
                Finding::Model {
                    name,
                    cut_short: true,
                    ..
                } => problems.push(format!("model {name} was cut short")),
                Finding::Model {
                    name,
                    executions: 0,
                    ..
                } => problems.push(format!("model {name} had no execution")),
                Finding::Mutant {
                    name,
                    killed_by: None,
                } => problems.push(format!("mutant {name} survived: no model finds it")),
                Finding::Stall {
                    allocator,
                    operation,
                    points,
                    blocked,
                } if PRODUCTS.contains(&allocator.as_str()) && *blocked > 0 => {
                    problems.push(format!(
                        "{allocator} {operation}: a thread that stops at {blocked} of {points} \
                         points blocks others"
                    ));
                }
                Finding::Histories {
                    allocator,
                    of,
                    checked: 0,
                    ..
                } => problems.push(format!("no history of {of} of {allocator} was checked")),
                Finding::Fuzzed {
                    target,
                    executions: 0,
                } => problems.push(format!("{target} was not executed once")),
                _ => {}
            }
        }
        if self == Self::Stall && whole && !findings.is_empty() {
            problems.extend(stall_problems(findings));
        }
        if self == Self::Histories && whole && !findings.is_empty() {
            problems.extend(history_problems(findings));
        }
        problems
    }

    /// What `findings` show, on one line.
    pub(super) fn summary(self, findings: &[Finding]) -> String {
        match self {
            Self::Models | Self::Schedules => {
                let executions: u64 = findings.iter().map(executions_of).sum();
                let models = match self {
                    // Each model has several kinds of schedules.
                    Self::Schedules => findings
                        .iter()
                        .filter_map(name_of)
                        .collect::<BTreeSet<_>>()
                        .len(),
                    // Each says its name once, and two modules may use the same.
                    _ => findings.len(),
                };
                format!("{}, {}", plural(models, "model"), of_executions(executions))
            }
            Self::Mutants => {
                // One may be put in for loom's models and for whole worlds: it counts if all find it.
                let names: BTreeSet<&str> = findings.iter().filter_map(name_of).collect();
                let survived = |finding: &&Finding| !is_killed(finding);
                let survivors = findings.iter().filter(survived).filter_map(name_of);
                let survivors: BTreeSet<&str> = survivors.collect();
                let killed = names.len() - survivors.len();
                format!("{killed} of {} mutants killed", names.len())
            }
            Self::Stall => {
                let totals = stall_totals(findings);
                let total = |(allocator, points, blocked): &(String, u64, u64)| {
                    format!("{allocator} {blocked} of {points}")
                };
                let totals: Vec<String> = totals.iter().map(total).collect();
                format!("blocked: {}", totals.join(", "))
            }
            Self::Histories => {
                let mut each = BTreeMap::<&str, Vec<String>>::new();
                for finding in findings {
                    if let Finding::Histories {
                        allocator,
                        of,
                        checked,
                        ..
                    } = finding
                    {
                        let one = format!("{allocator} {checked}");
                        each.entry(of).or_default().push(one);
                    }
                }
                let all = each.iter();
                let all: Vec<String> = all
                    .map(|(of, each)| format!("of {of}: {}", each.join(", ")))
                    .collect();
                format!("explained {}", all.join("; "))
            }
            Self::Fuzz => {
                let executions: u64 = findings.iter().map(executions_of).sum();
                format!(
                    "{}, {}",
                    plural(findings.len(), "target"),
                    of_executions(executions)
                )
            }
        }
    }
}

fn of_executions(count: u64) -> String {
    plural(count as usize, "execution")
}

fn executions_of(finding: &Finding) -> u64 {
    match finding {
        Finding::Model { executions, .. } | Finding::Fuzzed { executions, .. } => *executions,
        _ => 0,
    }
}

/// The model's name, or the mutant's.
fn name_of(finding: &Finding) -> Option<&str> {
    match finding {
        Finding::Model { name, .. } | Finding::Mutant { name, .. } => Some(name),
        _ => None,
    }
}

fn is_killed(finding: &Finding) -> bool {
    matches!(
        finding,
        Finding::Mutant {
            killed_by: Some(_),
            ..
        }
    )
}

/// For each allocator, in order of appearance: points and how many of them block.
fn stall_totals(findings: &[Finding]) -> Vec<(String, u64, u64)> {
    let mut totals: Vec<(String, u64, u64)> = Vec::new();
    for finding in findings {
        if let Finding::Stall {
            allocator,
            points,
            blocked,
            ..
        } = finding
        {
            match totals.iter_mut().find(|(name, ..)| name == allocator) {
                Some((_, all, bad)) => {
                    *all += points;
                    *bad += blocked;
                }
                None => totals.push((allocator.clone(), *points, *blocked)),
            }
        }
    }
    totals
}

fn stall_problems(findings: &[Finding]) -> Vec<String> {
    let totals = stall_totals(findings);
    let blocked_in = |wanted: &str| {
        let mut named = totals.iter().filter(|(allocator, ..)| allocator == wanted);
        named.next().map(|&(_, _, blocked)| blocked)
    };
    let mut problems = Vec::new();
    for product in PRODUCTS {
        if !totals
            .iter()
            .any(|(allocator, points, _)| allocator == product && *points > 0)
        {
            problems.push(format!("no operation of {product} was frozen"));
        }
    }
    match blocked_in(BLOCKS) {
        None => problems.push(format!("the table has no row for {BLOCKS}")),
        Some(0) => problems.push(format!(
            "{BLOCKS} blocks nobody: the table cannot tell what blocks from what does not"
        )),
        Some(_) => {}
    }
    problems
}

fn history_problems(findings: &[Finding]) -> Vec<String> {
    let missing = |(product, room): &(&str, &str)| {
        !findings.iter().any(|finding| {
            matches!(finding, Finding::Histories { allocator, of, .. } if allocator == product && of == room)
        })
    };
    let missing = WITH_HISTORIES.into_iter().filter(missing);
    missing
        .map(|(product, room)| format!("{product} had no history of {room}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(lines: &[&str]) -> Vec<Finding> {
        let parse = |line: &&str| Finding::parse(line, "").expect("a finding");
        lines.iter().map(parse).collect()
    }

    #[test]
    fn a_surviving_mutant_is_a_problem() {
        let mixed = findings(&["mutant a killed by m", "mutant b SURVIVED"]);
        assert_eq!(
            Stage::Mutants.problems(&mixed, true),
            ["mutant b survived: no model finds it"]
        );
        assert!(Stage::Mutants.problems(&mixed[..1], true).is_empty());
        assert_eq!(Stage::Mutants.summary(&mixed), "1 of 2 mutants killed");
    }

    #[test]
    fn what_is_checked_in_two_ways_is_counted_once() {
        let models = findings(&[
            "model m executions=5 seconds=1 bound=random",
            "model m executions=6 seconds=1 bound=pct",
            "model n executions=7 seconds=1 bound=random",
        ]);
        assert_eq!(Stage::Schedules.summary(&models), "2 models, 18 executions");
        let mutants = findings(&[
            "mutant a killed by m",
            "mutant b killed by m",
            "mutant a killed by schedules::n",
            "mutant b SURVIVED",
        ]);
        assert_eq!(Stage::Mutants.summary(&mutants), "1 of 2 mutants killed");
    }

    #[test]
    fn the_history_check_wants_histories_of_each_product() {
        let all = findings(&[
            "histories bitmask of=entities checked=9 seed=1",
            "histories megachunk of=chunks checked=5 seed=2",
            "histories megachunk-sparing of=chunks checked=4 seed=3",
            "histories naive of=chunks checked=0 seed=4",
        ]);
        assert!(Stage::Histories.problems(&all[..3], true).is_empty());
        assert_eq!(
            Stage::Histories.summary(&all[..3]),
            "explained of chunks: megachunk 5, megachunk-sparing 4; of entities: bitmask 9"
        );
        assert_eq!(
            Stage::Histories.problems(&all[..2], true),
            ["megachunk-sparing had no history of chunks"]
        );
        assert_eq!(
            Stage::Histories.problems(&all, true),
            ["no history of chunks of naive was checked"]
        );
    }

    #[test]
    fn nothing_is_missing_where_a_stage_was_ended() {
        let some = findings(&[
            "stall bitmask create points=9 blocked=0",
            "stall sessions create points=9 blocked=1",
        ]);
        assert!(Stage::Stall.problems(&some, true).len() > 1);
        assert_eq!(
            Stage::Stall.problems(&some, false),
            ["sessions create: a thread that stops at 1 of 9 points blocks others"]
        );
    }

    #[test]
    fn a_model_that_was_cut_short_is_a_problem() {
        let cut = findings(&["model m executions=5 seconds=1 CUT-SHORT"]);
        assert_eq!(
            Stage::Models.problems(&cut, true),
            ["model m was cut short"]
        );
    }

    #[test]
    fn the_stall_table_wants_products_that_never_block_and_a_reference_that_does() {
        let good = [
            "stall bitmask create points=9 blocked=0",
            "stall busy_block create points=7 blocked=2",
            "stall megachunk alloc points=5 blocked=0",
            "stall recorders create points=8 blocked=0",
            "stall signals send points=6 blocked=0",
            "stall megachunk-sparing trim points=4 blocked=0",
            "stall sessions create points=3 blocked=0",
        ];
        assert!(Stage::Stall.problems(&findings(&good), true).is_empty());
        let cases = [
            (
                0,
                "stall bitmask create points=9 blocked=1",
                "at 1 of 9 points",
            ),
            (
                0,
                "stall naive create points=9 blocked=1",
                "no operation of bitmask",
            ),
            (
                0,
                "stall bitmask create points=0 blocked=0",
                "no operation of bitmask",
            ),
            (
                1,
                "stall busy_block create points=7 blocked=0",
                "blocks nobody",
            ),
            (
                1,
                "stall naive create points=7 blocked=1",
                "no row for busy_block",
            ),
            (
                2,
                "stall naive alloc points=5 blocked=1",
                "no operation of megachunk",
            ),
            (
                3,
                "stall recorders create points=8 blocked=2",
                "at 2 of 8 points",
            ),
            (
                4,
                "stall signals send points=6 blocked=1",
                "at 1 of 6 points",
            ),
        ];
        for (position, line, problem) in cases {
            let mut lines = good;
            lines[position] = line;
            let problems = Stage::Stall.problems(&findings(&lines), true);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(problem), "{problems:?}");
        }
    }
}
