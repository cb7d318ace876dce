//! `megachunk check`: runs the models, whole worlds under many schedules, the stall table, the history check and
//! the mutation gate.
//!
//! Each is a command of its own that anybody can run (see CONTRIBUTING.md); this subcommand runs
//! them one after the other through cargo, shows how far they are, and judges: a check that printed
//! nothing has checked nothing, and fails.

use std::path::{Path, PathBuf};

use super::destination::{Destination, Screen};
use super::output::{plural, tell};
use super::{Bar, CliError, Interrupt};

mod child;
mod command;
mod environment;
mod finding;
mod part;
mod report;
mod run;
mod source;
mod stage;

use environment::weakening;
use report::Checked;
use run::{Outcome, Progress};
use stage::Stage;

/// Run the models, whole-world schedules, the stall table, the mutation gate and the history check.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Fewer histories: 10,000 instead of 100,000; all else takes as long as ever
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

    /// Write what was checked to a file as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write what was checked as Markdown [default: papers/checked.md of the source tree after a
    /// whole run that passed, nothing after any other, nor where a MEGACHUNK_ variable makes a check weaker]
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
/// [`CliError`] where a check fails or the run is interrupted, no source tree is there, or a result cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    let root = source::root(args.source.as_deref())?;
    let weakened_by = weakening(|name| Some(std::env::var_os(name)?.to_string_lossy().into()));
    let by_default = root.join("papers/checked.md");
    let is_whole = args.record.is_none() && !args.quick && args.only.is_empty();
    let writes_by_default = is_whole && weakened_by.is_empty();
    let record = writes_by_default.then_some(by_default.as_path());
    // Before minutes are spent: can the results be kept?
    let files = [
        ("--json", args.json.as_deref()),
        ("--record", args.record.as_deref().or(record)),
    ];
    let files = Destination::open_all(files, &[])?;
    let screen = Screen::beside(&files);
    let [json, record] = files;

    let mut checked = check(args, weakened_by, &root);
    checked.record_kept_back = is_whole && !writes_by_default && checked.passed();

    // Each result whatever became of the others: they took minutes.
    let shown = screen.show(&report::text(&checked));
    let json = json.map_or(Ok(()), |json| {
        let text = report::json(&checked);
        json.write(&(text.map_err(|error| CliError::Failed(error.to_string()))? + "\n"))
    });
    let record = record.filter(|_| !writes_by_default || checked.passed());
    let record = record.map_or(Ok(()), |record| record.write(&report::markdown(&checked)));
    CliError::last_of([shown, json, record, failed(&checked), interrupted(&checked)])
}

/// Runs the stages that are wanted, one after the other, until somebody asks it to end.
fn check(args: &Args, weakened_by: Vec<String>, root: &Path) -> Checked {
    let interrupt = Interrupt::listen_with(
        "ends this check, and shows what was found",
        child::kill_running,
    );
    let mut checked = Checked {
        outcomes: Vec::new(),
        left_out: Vec::new(),
        quick: args.quick,
        weakened_by,
        record_kept_back: false,
    };
    for stage in Stage::ALL.into_iter().filter(|&stage| args.wants(stage)) {
        if interrupt.is_asked() {
            checked.left_out.push(stage);
        } else {
            let outcome = run_stage(stage, args, &checked.outcomes, root, &interrupt);
            checked.outcomes.push(outcome);
        }
    }
    checked
}

/// That checks have failed, if some have.
fn failed(checked: &Checked) -> Result<(), CliError> {
    let failed = checked
        .outcomes
        .iter()
        .filter(|outcome| !outcome.problems.is_empty());
    let names: Vec<&str> = failed.map(|outcome| outcome.stage.name()).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(CliError::Failed(format!("failed: {}", names.join(", ")))),
    }
}

/// That somebody has ended the run, if somebody has.
fn interrupted(checked: &Checked) -> Result<(), CliError> {
    if !checked.is_interrupted() {
        return Ok(());
    }
    let done = checked.outcomes.iter();
    let done = done.filter(|outcome| !outcome.interrupted).count();
    let all = checked.outcomes.len() + checked.left_out.len();
    Err(CliError::Interrupted(format!(
        "{} of {} did not come to their end",
        all - done,
        plural(all, "check")
    )))
}

/// Runs one stage after those that came to `before`; shows a line that changes where there can be one, a line for each
/// finding elsewhere.
fn run_stage(
    stage: Stage,
    args: &Args,
    before: &[Outcome],
    root: &Path,
    interrupt: &Interrupt,
) -> Outcome {
    let name = stage.name();
    let bar = Bar::start(
        None,
        &format!("{{spinner}} {name} {{elapsed}} {{wide_msg}}"),
    );
    let mut checked = 0;
    run::run(
        stage,
        args,
        before,
        root,
        interrupt,
        |progress| match progress {
            Progress::Found(finding, count) => {
                checked = count;
                bar.set_message(|| format!("{count} checked; {}", finding.brief()));
                if !bar.is_shown() {
                    tell(&format!("{name}: {}\n", finding.brief()));
                }
            }
            Progress::Said(line) => bar.set_message(|| format!("{checked} checked; {line}")),
            Progress::Waiting => bar.tick(),
        },
    )
}
