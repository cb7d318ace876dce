//! `Models`: the built test programs of the loom models, and running one model in one of them.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A model that takes longer than this finds nothing.
const TIME_LIMIT: Duration = Duration::from_secs(240);

/// One model: the file it stands in, without `.rs`, and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Test {
    file: String,
    name: String,
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.file, self.name)
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
    /// For each file of models its program.
    programs: Vec<(String, PathBuf)>,
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
            .args(["loom", "--no-run", "--message-format=json"])
            // Flags from outside would hide `--cfg loom`.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .stderr(Stdio::inherit())
            .output()?;
        if !build.status.success() {
            return Err(io::Error::other("the models cannot be built"));
        }
        let mut models = Self {
            programs: Vec::new(),
            tests: Vec::new(),
        };
        for line in String::from_utf8_lossy(&build.stdout).lines() {
            if let Some((file, program)) = test_program(line) {
                models.add(file, program)?;
            }
        }
        if models.tests.is_empty() {
            return Err(io::Error::other("there are no models"));
        }
        Ok(models)
    }

    fn add(&mut self, file: String, program: PathBuf) -> io::Result<()> {
        let list = Command::new(&program)
            .args(["--list", "--format", "terse"])
            .output()?;
        for line in String::from_utf8_lossy(&list.stdout).lines() {
            if let Some(name) = line.strip_suffix(": test") {
                self.tests.push(Test {
                    file: file.clone(),
                    name: name.to_owned(),
                });
            }
        }
        self.programs.push((file, program));
        Ok(())
    }

    /// All models.
    pub(super) fn tests(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter()
    }

    /// The model of this name: `<file>::<model>`.
    pub(super) fn find(&self, name: &str) -> Option<Test> {
        let named = |test: &&Test| {
            let rest = name.strip_prefix(&test.file);
            rest.and_then(|rest| rest.strip_prefix("::")) == Some(&test.name)
        };
        self.tests.iter().find(named).cloned()
    }

    /// Runs one model, with a mutant or without.
    pub(super) fn run(&self, test: &Test, mutant: Option<&str>) -> io::Result<Outcome> {
        let program = self.programs.iter().find(|(file, _)| *file == test.file);
        let (_, program) = program.ok_or_else(|| io::Error::other("no such program"))?;
        let mut command = Command::new(program);
        command
            .args(["--exact", &test.name, "--test-threads=1"])
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

/// The test program that a message of cargo names, if it is one of `tests/`.
fn test_program(message: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" || message["target"]["kind"][0] != "test" {
        return None;
    }
    let name = message["target"]["name"].as_str()?;
    Some((name.to_owned(), message["executable"].as_str()?.into()))
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
    fn a_message_of_cargo_names_a_test_program() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"runs"},
            "executable":"/t/runs-1"}"#;
        assert_eq!(
            test_program(message),
            Some(("runs".to_owned(), "/t/runs-1".into()))
        );
        let library = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"x"}}"#;
        assert_eq!(test_program(library), None);
        assert_eq!(test_program("not a message"), None);
    }

    #[test]
    fn the_first_complaint_is_the_line_after_the_panic() {
        let said = "running 1 test\n\nthread 'a' panicked at b.rs:1:2:\n  it is wrong\nnote: x\n";
        assert_eq!(first_complaint(said), "it is wrong");
        assert_eq!(first_complaint("signal 6"), "no words");
    }
}
