//! `Invocation`: the commands behind each check, as anybody could type them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Args;
use super::part::Part;
use super::stage::Stage;
use crate::cli::CliError;

/// The checks' own package.
const PACKAGE: &str = "megachunk-loom-tests";
/// How long each target is fuzzed where nobody says.
const FUZZ_SECONDS: u32 = 30;

/// Who runs the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// The cargo that runs this program.
    Cargo,
    /// The one of rustup's nightly toolchain.
    Nightly,
    /// The mutation gate that was built together with this program.
    Gate,
}

impl Program {
    /// What has to be there for it.
    pub(super) const fn needs(self) -> &'static str {
        match self {
            Self::Cargo => "check needs a Rust toolchain",
            Self::Nightly => {
                "to fuzz, check needs rustup, and its nightly toolchain with cargo-fuzz"
            }
            Self::Gate => {
                "`cargo test --workspace --features cli --no-run` builds it beside the program that it builds; \
                 without --workspace, check builds it for itself"
            }
        }
    }
}

/// The mutation gate's program.
const GATE: &str = "mutation-gate";

/// A command that checks something.
#[derive(Clone, Debug)]
pub(super) struct Invocation {
    /// What it is about, where its output does not say: the fuzz target.
    pub(super) subject: String,
    pub(super) program: Program,
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl Invocation {
    fn cargo(arguments: &[&str]) -> Self {
        Self {
            subject: String::new(),
            program: Program::Cargo,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            variables: Vec::new(),
        }
    }

    /// The commands of `stage`, one at least.
    ///
    /// `models_hold`: the stage of the models has passed in this run, so that the mutation gate need not run each
    /// model without its mutant.
    ///
    /// What a run is told apart from this is left to the environment: `MEGACHUNK_LOOM_BOUND`,
    /// `MEGACHUNK_LOOM_DEEPER`, `MEGACHUNK_SCHEDULES`, `MEGACHUNK_PART`.
    pub(super) fn all(
        stage: Stage,
        args: &Args,
        models_hold: bool,
        root: &Path,
    ) -> Result<Vec<Self>, CliError> {
        let tests = |files: &[&str]| {
            let mut test = Self::cargo(if args.workspace {
                &["test", "--workspace", "--features", "cli", "--no-fail-fast"]
            } else {
                &["test", "--package", PACKAGE, "--no-fail-fast"]
            });
            for file in files {
                test.arguments
                    .extend(["--test".to_owned(), (*file).to_owned()]);
            }
            test
        };
        Ok(match stage {
            Stage::Models => vec![Self::cargo(&["loom", "--test", "models"])],
            Stage::Schedules => vec![Self::cargo(&["shuttle", "--test", "schedules"])],
            // The second asks which of them whole worlds find as well.
            Stage::Mutants => vec![
                Self::gate(args.workspace, models_hold),
                Self::cargo(&["shuttle", "--test", "schedule_mutants"]),
            ],
            // What a thread leaves behind when it ends is part of the same claim.
            Stage::Stall => vec![tests(&["stall", "threads"])],
            Stage::Histories => {
                let histories = if args.quick { "10000" } else { "100000" };
                let mut test = tests(&["history"]);
                test.variables
                    .push(("MEGACHUNK_HISTORIES", histories.to_owned()));
                vec![test]
            }
            Stage::Fuzz => {
                let seconds = args.fuzz.unwrap_or(FUZZ_SECONDS);
                let part = Part::asked()?;
                let targets = fuzz_targets(root)?;
                let runs = targets.iter();
                let runs = runs.map(|target| Self::fuzz(target, seconds, part, root));
                runs.collect::<Result<_, _>>()?
            }
        })
    }

    fn gate(workspace: bool, models_hold: bool) -> Self {
        let mut gate = if workspace {
            Self {
                program: Program::Gate,
                ..Self::cargo(&[])
            }
        } else {
            Self::cargo(&[GATE])
        };
        if models_hold {
            gate.arguments.push("--models-hold".to_owned());
        }
        gate
    }

    fn fuzz(target: &str, seconds: u32, part: Option<Part>, root: &Path) -> Result<Self, CliError> {
        let corpus = format!("fuzz/corpus/{target}");
        // New inputs go to the first folder, so that the corpus in the tree stays as it is.
        let found = format!("target/fuzz-found/{target}");
        let time = format!("-max_total_time={seconds}");
        let corpus = match part {
            Some(part) => part.of_corpus(root, &corpus)?,
            None => corpus,
        };
        let fuzz = ["fuzz", "run", target, &found, &corpus, "--", &time];
        // The entropic schedule keeps a list of features for each input: of a target with as many as
        // `structural` that takes nearly all of the time.
        let options = ["-print_final_stats=1", "-entropic=0"];
        Ok(Self {
            subject: target.to_owned(),
            program: Program::Nightly,
            ..Self::cargo(&[&fuzz[..], &options].concat())
        })
    }

    /// The command as one would type it.
    pub(super) fn typed(&self) -> String {
        let variables = self.variables.iter();
        let mut words: Vec<String> = variables
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        words.push(
            match self.program {
                Program::Cargo => "cargo",
                Program::Nightly => "cargo +nightly",
                Program::Gate => GATE,
            }
            .to_owned(),
        );
        words.extend_from_slice(&self.arguments);
        words.join(" ")
    }

    /// The command as it is run in the source tree `root`.
    ///
    /// # Errors
    /// Where the folder that a fuzzer writes to cannot be made.
    pub(super) fn command(&self, root: &Path) -> std::io::Result<Command> {
        let mut command = if self.program == Program::Nightly {
            std::fs::create_dir_all(root.join("target/fuzz-found").join(&self.subject))?;
            // `CARGO` is the cargo of one toolchain: it does not know the word `+nightly`.
            let mut command = Command::new("rustup");
            command
                .args(["run", "nightly", "cargo"])
                .env_remove("CARGO")
                .env_remove("RUSTC");
            command
        } else {
            let mut command = Command::new(match self.program {
                Program::Gate => std::env::current_exe()?
                    .with_file_name(GATE)
                    .with_extension(std::env::consts::EXE_EXTENSION),
                _ => cargo().into(),
            });
            // This program may itself have been built under flags that would hide `--cfg loom`. (The
            // fuzz targets keep them: who built them under flags does not want to build them again.)
            command
                .env_remove("RUSTFLAGS")
                .env_remove("CARGO_ENCODED_RUSTFLAGS");
            command
        };
        command
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_PROGRESS_WHEN", "never")
            .current_dir(root);
        Ok(command)
    }
}

/// Cargo: the one that runs this program, or the one in the path.
fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The fuzz targets of the source tree: a file is a target.
fn fuzz_targets(root: &Path) -> Result<Vec<String>, CliError> {
    let folder = root.join("fuzz/fuzz_targets");
    let cannot_read = |source| CliError::File {
        argument: None,
        path: folder.clone(),
        source,
    };
    let entries = std::fs::read_dir(&folder).map_err(cannot_read)?;
    let files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(cannot_read)?;
    let is_source = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "rs");
    let stem = |file: &PathBuf| file.file_stem()?.to_str().map(str::to_owned);
    let mut targets: Vec<String> = files.iter().filter(is_source).filter_map(stem).collect();
    targets.sort_unstable();
    Ok(targets)
}
