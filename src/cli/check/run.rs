//! Running a stage: its commands as subprocesses, their lines read as they come.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::Args;
use super::command::Invocation;
use super::finding::Finding;
use super::stage::Stage;
use crate::cli::CliError;

/// How many lines are kept to be shown when a stage fails.
const KEPT: usize = 60;

/// What a stage came to.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) stage: Stage,
    /// The commands, as one would type them.
    pub(super) commands: Vec<String>,
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

/// Runs all commands of `stage` in the source tree `root`, after those that came to `before`; tells `progress` of
/// each line.
///
/// # Errors
/// [`CliError`] where a command cannot be started. That the stage fails is an outcome, no error.
pub(super) fn run(
    stage: Stage,
    args: &Args,
    before: &[Outcome],
    root: &Path,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Outcome, CliError> {
    let started = Instant::now();
    let mut outcome = Outcome {
        stage,
        commands: Vec::new(),
        took: Duration::ZERO,
        findings: Vec::new(),
        problems: Vec::new(),
        tail: VecDeque::with_capacity(KEPT),
    };
    let models_hold = before
        .iter()
        .any(|outcome| outcome.stage == Stage::Models && outcome.problems.is_empty());
    for invocation in Invocation::all(stage, args, models_hold, root)? {
        outcome.run(&invocation, root, &mut progress)?;
    }
    outcome.problems.extend(stage.problems(&outcome.findings));
    outcome.took = started.elapsed();
    Ok(outcome)
}

impl Outcome {
    fn run(
        &mut self,
        invocation: &Invocation,
        root: &Path,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), CliError> {
        let typed = invocation.typed();
        let cannot = |what: &str, cause: io::Error| {
            let needs = "check needs a Rust toolchain, and rustup's nightly one to fuzz";
            CliError::Failed(format!("`{typed}` cannot be {what}: {cause}; {needs}"))
        };
        let mut child = invocation
            .command(root)
            .and_then(|mut command| {
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
            })
            .map_err(|cause| cannot("started", cause))?;
        let before = self.findings.len();
        for line in lines(&mut child) {
            if let Some(finding) = Finding::parse(&line, &invocation.subject) {
                progress(Progress::Found(&finding, self.findings.len() + 1));
                self.findings.push(finding);
            } else if !line.trim().is_empty() {
                progress(Progress::Said(line.trim()));
                if self.tail.len() == KEPT {
                    self.tail.pop_front();
                }
                self.tail.push_back(line);
            }
        }
        let status = child.wait().map_err(|cause| cannot("waited for", cause))?;
        if self.findings.len() == before {
            self.problems
                .push(format!("nothing was checked: `{typed}` printed no result"));
        }
        if !status.success() {
            self.problems.push(format!("`{typed}` ended with {status}"));
        }
        self.commands.push(typed);
        Ok(())
    }
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
