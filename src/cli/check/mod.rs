//! `megachunk check`: runs the models, whole worlds under many schedules, the stall table, the history check and
//! the mutation gate.
//!
//! Each is a command of its own that anybody can run (see CONTRIBUTING.md); this subcommand runs
//! them one after the other through cargo, shows how far they are, and judges: a check that printed
//! nothing has checked nothing, and fails.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::CliError;
use super::destination::{Destination, Screen};
use super::output::tell;

mod command;
mod finding;
mod report;
mod run;
mod source;
mod stage;

use run::{Outcome, Progress};
use stage::Stage;

/// Run the models, whole-world schedules, the stall table, the mutation gate and the history check.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Fewer histories
    #[arg(long)]
    quick: bool,

    /// Run only these checks
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CHECK")]
    only: Vec<Stage>,

    /// Fuzz each target for so long as well [default: 30 with --only fuzz]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    fuzz: Option<u32>,

    /// Take what `cargo test --workspace --features cli` has built together with this program, instead of building
    /// the tests and the mutation gate for themselves
    #[arg(long)]
    workspace: bool,

    /// Where the source tree is [default: the one around the current directory]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,

    /// Write what was checked to a file (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write what was checked as Markdown [default: papers/checked.md of the source tree after a
    /// whole run that passed, nothing after any other]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl Args {
    fn wants(&self, stage: Stage) -> bool {
        if self.only.is_empty() {
            match stage {
                Stage::Fuzz => self.fuzz.is_some(),
                _ => true,
            }
        } else {
            self.only.contains(&stage) || stage == Stage::Fuzz && self.fuzz.is_some()
        }
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`CliError`] where a check fails, or none can be run.
pub fn run(args: &Args) -> Result<(), CliError> {
    let root = source::root(args.source.as_deref())?;
    // Before minutes are spent: can the results be kept?
    let files = [
        ("--json", args.json.as_deref()),
        ("--record", args.record.as_deref()),
    ];
    let files = Destination::open_all(files, &[])?;
    let screen = Screen::beside(&files);
    let mut outcomes = Vec::new();
    for stage in Stage::ALL {
        if args.wants(stage) {
            let outcome = run_stage(stage, args, &outcomes, &root)?;
            outcomes.push(outcome);
        }
    }
    // Each result whatever became of the others: they took minutes.
    let shown = screen.show(&report::text(&outcomes));

    let failed: Vec<&str> = outcomes
        .iter()
        .filter(|outcome| !outcome.problems.is_empty())
        .map(|outcome| outcome.stage.name())
        .collect();
    let [json, record] = files;
    let json = json.map_or(Ok(()), |json| {
        let text = report::json(&outcomes, args.quick);
        json.write(&(text.map_err(|error| CliError::Failed(error.to_string()))? + "\n"))
    });
    let whole = failed.is_empty() && !args.quick && args.only.is_empty();
    let by_default = root.join("papers/checked.md");
    let record = match record {
        None if whole => Destination::open_all([("--record", Some(by_default.as_path()))], &[]),
        asked_for => Ok([asked_for]),
    };
    let record = record.and_then(|[record]| {
        record.map_or(Ok(()), |record| {
            record.write(&report::markdown(&outcomes, args.quick))
        })
    });
    shown.and(json).and(record)?;
    if failed.is_empty() {
        Ok(())
    } else {
        Err(CliError::Failed(format!("failed: {}", failed.join(", "))))
    }
}

/// Runs one stage after those that came to `before`; shows a line that changes on a terminal, a line for each
/// finding elsewhere.
fn run_stage(
    stage: Stage,
    args: &Args,
    before: &[Outcome],
    root: &Path,
) -> Result<Outcome, CliError> {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(stage.name());
    bar.enable_steady_tick(Duration::from_millis(120));
    let on_terminal = std::io::stderr().is_terminal();
    let mut checked = 0;
    let outcome = run::run(stage, args, before, root, |progress| match progress {
        Progress::Found(finding, count) => {
            checked = count;
            bar.set_message(format!("{count} checked; {}", finding.brief()));
            if !on_terminal {
                tell(&format!("{}: {}\n", stage.name(), finding.brief()));
            }
        }
        Progress::Said(line) => bar.set_message(format!("{checked} checked; {line}")),
    });
    bar.finish_and_clear();
    outcome
}
