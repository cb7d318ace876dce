//! What `check` shows and writes: tables, JSON, and the record for `papers/`.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::finding::Finding;
use super::run::Outcome;
use super::stage::Stage;
use crate::cli::output::plain_table;

/// What a run has come to.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) outcomes: Vec<Outcome>,
    /// What was to come after somebody has ended the run.
    pub(super) left_out: Vec<Stage>,
    pub(super) quick: bool,
    /// What of the environment makes the checks weaker.
    pub(super) weakened_by: Vec<String>,
    /// Whether there is no record for that reason alone.
    pub(super) record_kept_back: bool,
}

impl Checked {
    /// Whether all of it was checked, and holds.
    pub(super) fn passed(&self) -> bool {
        !self.is_interrupted() && self.outcomes.iter().all(Outcome::passed)
    }

    /// Whether somebody has ended the run before its end.
    pub(super) fn is_interrupted(&self) -> bool {
        !self.left_out.is_empty() || self.outcomes.iter().any(|outcome| outcome.interrupted)
    }

    /// What the tables do not say.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let ended = self.outcomes.iter().filter(|outcome| outcome.interrupted);
        remarks.extend(ended.map(|outcome| {
            format!(
                "Interrupted: {} was ended before its end.",
                outcome.stage.name()
            )
        }));
        if !self.left_out.is_empty() {
            let names = self.left_out.iter().map(|stage| stage.name());
            let names: Vec<_> = names.collect();
            remarks.push(format!("Interrupted: not run: {}.", names.join(", ")));
        }
        if !self.weakened_by.is_empty() {
            remarks.push(format!(
                "Less was checked than usual, because of the environment: {}.{}",
                self.weakened_by.join(", "),
                match self.record_kept_back {
                    true => " So papers/checked.md is not written.",
                    false => "",
                }
            ));
        }
        remarks
    }
}

/// Everything that was checked, then the summary; for the terminal.
pub(super) fn text(checked: &Checked) -> String {
    let outcomes = &checked.outcomes;
    let mut text = String::new();
    for outcome in outcomes {
        if !outcome.findings.is_empty() {
            let _ = writeln!(text, "{}", outcome.stage.name());
            let _ = writeln!(text, "{}\n", details(outcome, plain_table()));
        }
    }
    for outcome in outcomes {
        if !outcome.problems.is_empty() {
            let _ = writeln!(text, "{} failed. Its last lines:", outcome.stage.name());
            for line in &outcome.tail {
                let _ = writeln!(text, "    {line}");
            }
            for problem in &outcome.problems {
                let _ = writeln!(text, "  {problem}");
            }
            text.push('\n');
        }
    }
    let _ = writeln!(text, "{}", summary(outcomes, plain_table()));
    for remark in checked.remarks() {
        let _ = writeln!(text, "{remark}");
    }
    text
}

/// The same as Markdown, for `papers/`.
pub(super) fn markdown(checked: &Checked) -> String {
    let outcomes = &checked.outcomes;
    let mut text = format!(
        "# What was checked\n\n\
         Written by `megachunk check{}`; do not edit. Times and the executions of the fuzz targets\n\
         depend on the machine; the executions of the models do not.\n\n{}\n",
        if checked.quick { " --quick" } else { "" },
        summary(outcomes, markdown_table())
    );
    for remark in checked.remarks() {
        let _ = write!(text, "\n{remark}\n");
    }
    for outcome in outcomes {
        let _ = write!(
            text,
            "\n## {}\n\n    {}\n\n{}\n",
            capitalized(outcome.stage.name()),
            outcome.commands.join("\n    "),
            details(outcome, markdown_table())
        );
    }
    text
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn markdown_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table
}

fn with_header(mut table: Table, header: &[&str], right_from: usize) -> Table {
    table.set_header(header);
    for column in table.column_iter_mut().skip(right_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn summary(outcomes: &[Outcome], table: Table) -> Table {
    let mut table = with_header(table, &["check", "what it shows", "seconds", "result"], 2);
    for outcome in outcomes {
        table.add_row([
            outcome.stage.name().to_owned(),
            outcome.stage.summary(&outcome.findings),
            format!("{:.1}", outcome.took.as_secs_f64()),
            match (outcome.problems.is_empty(), outcome.interrupted) {
                (true, false) => "passed",
                (true, true) => "interrupted",
                (false, _) => "FAILED",
            }
            .to_owned(),
        ]);
    }
    table
}

fn details(outcome: &Outcome, table: Table) -> Table {
    let header: (&[&str], usize) = match outcome.findings.first() {
        None | Some(Finding::Model { .. }) => (&["model", "bound", "executions", "seconds"], 2),
        Some(Finding::Stall { .. }) => (
            &["allocator", "operation", "freeze points", "of these block"],
            2,
        ),
        Some(Finding::Mutant { .. }) => (&["mutant", "killed by"], 2),
        Some(Finding::Histories { .. }) => (&["allocator", "of", "histories", "first seed"], 2),
        Some(Finding::Fuzzed { .. }) => (&["target", "executions"], 1),
    };
    let mut table = with_header(table, header.0, header.1);
    for finding in &outcome.findings {
        match finding {
            Finding::Model {
                name,
                executions,
                seconds,
                bound,
                ..
            } => table.add_row([
                name.clone(),
                bound.clone().unwrap_or_else(|| "–".to_owned()),
                executions.to_string(),
                format!("{seconds:.2}"),
            ]),
            Finding::Stall {
                allocator,
                operation,
                points,
                blocked,
            } => table.add_row([
                allocator.clone(),
                operation.clone(),
                points.to_string(),
                blocked.to_string(),
            ]),
            Finding::Mutant { name, killed_by } => table.add_row([
                name.clone(),
                killed_by.clone().unwrap_or_else(|| "SURVIVED".to_owned()),
            ]),
            Finding::Histories {
                allocator,
                of,
                checked,
                seed,
            } => table.add_row([
                allocator.clone(),
                of.clone(),
                checked.to_string(),
                seed.to_string(),
            ]),
            Finding::Fuzzed { target, executions } => {
                table.add_row([target.clone(), executions.to_string()])
            }
        };
    }
    table
}

/// The outcomes as JSON.
pub(super) fn json(checked: &Checked) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct File<'a> {
        format: &'static str,
        quick: bool,
        passed: bool,
        interrupted: bool,
        left_out: &'a [Stage],
        weakened_by: &'a [String],
        stages: Vec<Entry<'a>>,
    }
    #[derive(Serialize)]
    struct Entry<'a> {
        stage: Stage,
        commands: &'a [String],
        seconds: f64,
        passed: bool,
        interrupted: bool,
        problems: &'a [String],
        findings: &'a [Finding],
    }
    let stages = checked.outcomes.iter().map(|outcome| Entry {
        stage: outcome.stage,
        commands: &outcome.commands,
        seconds: outcome.took.as_secs_f64(),
        passed: outcome.passed(),
        interrupted: outcome.interrupted,
        problems: &outcome.problems,
        findings: &outcome.findings,
    });
    serde_json::to_string_pretty(&File {
        format: "megachunk-check 1",
        quick: checked.quick,
        passed: checked.passed(),
        interrupted: checked.is_interrupted(),
        left_out: &checked.left_out,
        weakened_by: &checked.weakened_by,
        stages: stages.collect(),
    })
}
