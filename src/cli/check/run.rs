//! Running a stage: cargo as a subprocess, its lines read as they come.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::finding::Finding;
use super::stage::Stage;
use crate::cli::CliError;

/// How many lines are kept to be shown when a stage fails.
const KEPT: usize = 60;

/// What a stage came to.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) stage: Stage,
    /// The command, as one would type it.
    pub(super) command: String,
    pub(super) took: Duration,
    pub(super) findings: Vec<Finding>,
    /// Why it failed; nothing where it passed.
    pub(super) problems: Vec<String>,
    /// The last lines that were no findings.
    pub(super) tail: VecDeque<String>,
}

/// What a stage lets be seen while it runs.
pub(super) enum Progress<'a> {
    /// Something was checked: the finding, and how many there are now.
    Found(&'a Finding, usize),
    /// Cargo or a test says something else.
    Said(&'a str),
}

/// Runs `stage` in the source tree `root`; tells `progress` of each line.
///
/// # Errors
/// [`CliError`] where cargo cannot be started. That the stage fails is an outcome, no error.
pub(super) fn run(
    stage: Stage,
    quick: bool,
    root: &Path,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Outcome, CliError> {
    let cargo = super::source::cargo();
    let started = Instant::now();
    let spawned = Command::new(&cargo)
        .args(stage.arguments())
        .envs(stage.environment(quick).iter().copied())
        // This program may itself have been built under flags that would hide `--cfg loom`.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|cause| {
        CliError::Failed(format!(
            "cargo cannot be started as {}: {cause}; check needs a Rust toolchain",
            cargo.display()
        ))
    })?;

    let mut findings = Vec::new();
    let mut tail = VecDeque::with_capacity(KEPT);
    for line in lines(&mut child) {
        if let Some(finding) = Finding::parse(&line) {
            findings.push(finding);
            progress(Progress::Found(
                &findings[findings.len() - 1],
                findings.len(),
            ));
        } else if !line.trim().is_empty() {
            progress(Progress::Said(line.trim()));
            if tail.len() == KEPT {
                tail.pop_front();
            }
            tail.push_back(line);
        }
    }
    let status = child.wait().map_err(|cause| {
        CliError::Failed(format!("{} cannot be waited for: {cause}", stage.name()))
    })?;

    let mut problems = stage.problems(&findings);
    if !status.success() {
        problems.push(format!("the command ended with {status}"));
    }
    Ok(Outcome {
        stage,
        command: typed(stage, quick),
        took: started.elapsed(),
        findings,
        problems,
        tail,
    })
}

/// The command as one would type it.
fn typed(stage: Stage, quick: bool) -> String {
    let variables = stage.environment(quick).iter();
    let mut words: Vec<String> = variables
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    words.push("cargo".to_owned());
    words.extend(stage.arguments().iter().map(ToString::to_string));
    words.join(" ")
}

/// What `child` prints to either stream, line by line, until both end. Bytes that are not UTF-8
/// are replaced.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let (sender, receiver) = mpsc::channel();
    let streams = [
        child
            .stdout
            .take()
            .map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        child
            .stderr
            .take()
            .map(|stream| Box::new(stream) as Box<dyn Read + Send>),
    ];
    for stream in streams.into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            // A stream that cannot be read any more has ended.
            while stream
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8_lossy(&line);
                if sender.send(text.trim_end().to_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
    }
    receiver.into_iter()
}
