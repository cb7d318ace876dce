//! `Models`: the built program of the loom models, and running one model in it.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The test program of `tests/models`.
const PROGRAM: &str = "models";

/// A model that takes longer than this finds nothing.
const TIME_LIMIT: Duration = Duration::from_secs(240);

/// One model: `<module>::<model>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Test(String);

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What became of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// It failed, with these words.
    Failed(String),
    TimedOut,
}

/// The models that there are.
#[derive(Debug)]
pub(super) struct Models {
    /// The program that holds them.
    program: PathBuf,
    tests: Vec<Test>,
}

impl Models {
    /// Builds them, as `cargo loom` does.
    pub(super) fn build() -> io::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = root
            .parent()
            .ok_or_else(|| io::Error::other("the package has no workspace"))?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let build = Command::new(cargo)
            .current_dir(root)
            .args(["loom", "--test", PROGRAM, "--no-run"])
            .arg("--message-format=json")
            // Flags from outside would hide `--cfg loom`.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .stderr(Stdio::inherit())
            .output()?;
        if !build.status.success() {
            return Err(io::Error::other("the models cannot be built"));
        }
        let messages = String::from_utf8_lossy(&build.stdout);
        let program = messages.lines().find_map(test_program);
        let program = program.ok_or_else(|| io::Error::other("the models have no program"))?;
        let list = Command::new(&program)
            .args(["--list", "--format", "terse"])
            .output()?;
        let tests: Vec<Test> = String::from_utf8_lossy(&list.stdout)
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(|name| Test(name.to_owned()))
            .collect();
        if tests.is_empty() {
            return Err(io::Error::other("there are no models"));
        }
        Ok(Self { program, tests })
    }

    /// All models.
    pub(super) fn tests(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter()
    }

    /// The model of this name: `<module>::<model>`.
    pub(super) fn find(&self, name: &str) -> Option<Test> {
        self.tests.iter().find(|test| test.0 == name).cloned()
    }

    /// Runs one model, with a mutant or without.
    pub(super) fn run(&self, test: &Test, mutant: Option<&str>) -> io::Result<Outcome> {
        let mut command = Command::new(&self.program);
        command
            .args(["--exact", &test.0, "--test-threads=1"])
            .env("RUST_BACKTRACE", "0")
            .env_remove("MEGACHUNK_MUTANT")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(mutant) = mutant {
            command.env("MEGACHUNK_MUTANT", mutant);
        }
        let mut child = command.spawn()?;
        let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let finished = wait(&mut child)?;
        let said = format!(
            "{}{}",
            stdout.join().unwrap_or_default(),
            stderr.join().unwrap_or_default()
        );
        Ok(match finished {
            None => Outcome::TimedOut,
            Some(true) => Outcome::Passed,
            Some(false) => Outcome::Failed(first_complaint(&said)),
        })
    }
}

/// The program of the models, if a message of cargo names it.
fn test_program(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let target = &message["target"];
    let of_models = target["kind"][0] == "test" && target["name"] == PROGRAM;
    if message["reason"] != "compiler-artifact" || !of_models {
        return None;
    }
    Some(message["executable"].as_str()?.into())
}

/// Reads all of a pipe while the process runs, so that it never waits for us.
fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut pipe) = pipe {
            // What cannot be read is not quoted; whether the model failed is known without it.
            let _ = pipe.read_to_end(&mut said);
        }
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// Whether the process ended well, or `None` if it had to be stopped.
fn wait(child: &mut Child) -> io::Result<Option<bool>> {
    let deadline = Instant::now() + TIME_LIMIT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a failed model said first, on one line.
fn first_complaint(said: &str) -> String {
    let mut lines = said
        .lines()
        .skip_while(|line| !line.contains(" panicked at "));
    lines.next();
    let complaint = lines.next().unwrap_or("no words").trim();
    complaint.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_cargo_names_the_program_of_the_models() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"models"},
            "executable":"/t/models-1"}"#;
        assert_eq!(test_program(message), Some("/t/models-1".into()));
        let other = message.replace(r#""name":"models""#, r#""name":"stall""#);
        assert_eq!(test_program(&other), None);
        let library = message.replace(r#"["test"]"#, r#"["lib"]"#);
        assert_eq!(test_program(&library), None);
        assert_eq!(test_program("not a message"), None);
    }

    #[test]
    fn the_first_complaint_is_the_line_after_the_panic() {
        let said = "running 1 test\n\nthread 'a' panicked at b.rs:1:2:\n  it is wrong\nnote: x\n";
        assert_eq!(first_complaint(said), "it is wrong");
        assert_eq!(first_complaint("signal 6"), "no words");
    }
}
