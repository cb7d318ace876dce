//! Running a stage: its commands as subprocesses, their lines read as they come.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::Args;
use super::child::Child;
use super::command::Invocation;
use super::finding::Finding;
use super::stage::Stage;
use crate::cli::Interrupt;

/// How many lines are kept to be shown when a stage fails.
const KEPT: usize = 60;
/// Between two looks at whether somebody asks the run to end.
const LOOK: Duration = Duration::from_millis(100);
/// How long whoever was asked to end has for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a stage came to.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) stage: Stage,
    /// The commands, as one would type them.
    pub(super) commands: Vec<String>,
    pub(super) took: Duration,
    pub(super) findings: Vec<Finding>,
    /// Why it failed; nothing where it passed, or was ended before.
    pub(super) problems: Vec<String>,
    /// Whether somebody has ended it.
    pub(super) interrupted: bool,
    /// The last lines that were no findings.
    pub(super) tail: VecDeque<String>,
}

/// What a stage lets be seen while it runs.
pub(super) enum Progress<'a> {
    /// Something was checked: the finding, and how many there are now.
    Found(&'a Finding, usize),
    /// Cargo or a test says something else.
    Said(&'a str),
    /// Nobody has said anything for a moment.
    Waiting,
}

/// Runs all commands of `stage` in the source tree `root`, after those that came to `before`, until somebody asks it to
/// end; tells `progress` of each line. That a command cannot be started is a failure of the stage.
pub(super) fn run(
    stage: Stage,
    args: &Args,
    before: &[Outcome],
    root: &Path,
    interrupt: &Interrupt,
    mut progress: impl FnMut(Progress<'_>),
) -> Outcome {
    let started = Instant::now();
    let mut outcome = Outcome {
        stage,
        commands: Vec::new(),
        took: Duration::ZERO,
        findings: Vec::new(),
        problems: Vec::new(),
        interrupted: false,
        tail: VecDeque::with_capacity(KEPT),
    };
    let models_hold = before
        .iter()
        .any(|outcome| outcome.stage == Stage::Models && outcome.passed());
    match Invocation::all(stage, args, models_hold, root) {
        Ok(invocations) => outcome.run_all(&invocations, root, interrupt, &mut progress),
        Err(error) => outcome.problems.push(error.to_string()),
    }
    let problems = stage.problems(&outcome.findings, !outcome.interrupted);
    outcome.problems.extend(problems);
    outcome.took = started.elapsed();
    outcome
}

impl Outcome {
    /// Whether all of it was checked, and holds.
    pub(super) fn passed(&self) -> bool {
        self.problems.is_empty() && !self.interrupted
    }

    fn run_all(
        &mut self,
        invocations: &[Invocation],
        root: &Path,
        interrupt: &Interrupt,
        progress: &mut impl FnMut(Progress<'_>),
    ) {
        // Who cannot be started once cannot be started for the next fuzz target either.
        let mut absent = Vec::new();
        for invocation in invocations {
            if interrupt.is_asked() {
                self.interrupted = true;
                return;
            }
            if absent.contains(&invocation.program) {
                continue;
            }
            if let Err(cause) = self.run(invocation, root, interrupt, progress) {
                absent.push(invocation.program);
                let needs = match cause.kind() {
                    io::ErrorKind::NotFound => format!("; {}", invocation.program.needs()),
                    _ => String::new(),
                };
                self.problems.push(format!(
                    "`{}` cannot be started: {cause}{needs}",
                    invocation.typed()
                ));
            }
        }
    }

    fn run(
        &mut self,
        invocation: &Invocation,
        root: &Path,
        interrupt: &Interrupt,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> io::Result<()> {
        let mut command = invocation.command(root)?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Child::start(&mut command)?;
        let typed = invocation.typed();
        self.commands.push(typed.clone());
        let lines = lines(&mut child).inspect_err(|_| child.end())?;
        let before = self.findings.len();
        let mut is_read = false;
        let failure = loop {
            if interrupt.is_asked() {
                self.interrupted = true;
                child.ask_to_end();
                let asked = Instant::now();
                while let Some(left) = PATIENCE.checked_sub(asked.elapsed())
                    && let Ok(line) = lines.recv_timeout(left)
                {
                    self.hear(line, &invocation.subject, progress);
                }
                child.end();
                return Ok(());
            }
            match lines.recv_timeout(LOOK) {
                Ok(line) => self.hear(line, &invocation.subject, progress),
                Err(RecvTimeoutError::Timeout) => progress(Progress::Waiting),
                Err(RecvTimeoutError::Disconnected) if !is_read => is_read = true,
                // It goes on though it has closed both streams.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
            if is_read {
                match child.ended() {
                    Ok(None) => {}
                    Ok(Some(status)) if status.success() => break None,
                    Ok(Some(status)) => break Some(status.to_string()),
                    Err(cause) => break Some(format!("an error of the system: {cause}")),
                }
            }
        };
        if self.findings.len() == before {
            self.problems
                .push(format!("nothing was checked: `{typed}` printed no result"));
        }
        let failure = failure.map(|how| format!("`{typed}` ended with {how}"));
        self.problems.extend(failure);
        Ok(())
    }

    /// Keeps a line: as a finding, or among the last lines that are none.
    fn hear(&mut self, line: String, subject: &str, progress: &mut impl FnMut(Progress<'_>)) {
        if let Some(finding) = Finding::parse(&line, subject) {
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
}

/// What `child` prints to either stream, line by line, until both end. Bytes that are not UTF-8
/// are replaced.
///
/// # Errors
/// The system refuses a thread.
fn lines(child: &mut Child) -> io::Result<Receiver<String>> {
    let (sender, receiver) = mpsc::channel();
    let Child(child) = child;
    let stdout = child.stdout.take().map(|stream| Box::new(stream) as _);
    let stderr = child.stderr.take().map(|stream| Box::new(stream) as _);
    let streams: [Option<Box<dyn Read + Send>>; 2] = [stdout, stderr];
    for stream in streams.into_iter().flatten() {
        let sender = sender.clone();
        let read = move || {
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
        };
        thread::Builder::new().spawn(read)?;
    }
    Ok(receiver)
}
