//! What it takes to compile a program, and how large it is then.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use megachunk::cli::{CliError, shown_path};
use serde_json::{Value, json};

use super::package::{Package, Profile};

/// What it took to compile something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Took {
    /// Seconds by the clock.
    pub(super) wall: f64,
    /// Seconds of all processors together, if the system counts them.
    pub(super) processors: Option<f64>,
}

/// What was measured of a program under a profile.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) profile: Profile,
    /// All that the program needs and the program, the first time; `None` if something was there already.
    pub(super) first: Option<Took>,
    /// The program alone, compiled and linked, each time.
    pub(super) alone: Vec<Took>,
    /// The program's file.
    pub(super) bytes: u64,
    /// The same without symbols and what debuggers read, if the system has a `strip`.
    pub(super) stripped: Option<u64>,
}

/// What was measured of the program for a store, under each profile.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) package: Package,
    pub(super) measured: Vec<Measured>,
}

/// Compiles all packages under both profiles, each program so many times, in turn.
///
/// # Errors
/// Cargo fails; or the programs do not print the same.
pub(super) fn measure(
    packages: Vec<Package>,
    repetitions: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Subject>, CliError> {
    let mut subjects: Vec<Subject> = packages
        .into_iter()
        .map(|package| Subject {
            package,
            measured: Vec::new(),
        })
        .collect();
    for profile in Profile::ALL {
        for subject in &mut subjects {
            let (package, profile_name) = (&subject.package, profile.name());
            progress(&format!(
                "{}, {profile_name}: what it needs",
                package.store.name()
            ));
            let is_begun = package.is_begun(profile);
            let first = timed(|| package.build(profile))?;
            let first = (!is_begun).then_some(first);
            let program = package.program(profile);
            let bytes = fs::metadata(&program)
                .map_err(|error| missing(&program, &error))?
                .len();
            subject.measured.push(Measured {
                profile,
                first,
                alone: Vec::with_capacity(repetitions),
                bytes,
                stripped: stripped(&program),
            });
        }
        check_alike(&subjects, profile)?;
        for repetition in 1..=repetitions {
            for subject in &mut subjects {
                let (package, profile_name) = (&subject.package, profile.name());
                let name = package.store.name();
                progress(&format!(
                    "{name}, {profile_name}: {repetition} of {repetitions}"
                ));
                package.touch()?;
                let took = timed(|| package.build(profile))?;
                if let Some(measured) = subject.measured.last_mut() {
                    measured.alone.push(took);
                }
            }
        }
    }
    Ok(subjects)
}

/// All programs do the same: what they print is.
fn check_alike(subjects: &[Subject], profile: Profile) -> Result<(), CliError> {
    let mut first: Option<(&str, Vec<u8>)> = None;
    for subject in subjects {
        let program = subject.package.program(profile);
        let output = Command::new(&program).output();
        let output = output.map_err(|error| missing(&program, &error))?;
        let name = subject.package.store.name();
        if !output.status.success() {
            let status = output.status;
            return Err(CliError::Failed(format!(
                "the program of {name} failed: {status}"
            )));
        }
        match &first {
            None => first = Some((name, output.stdout)),
            Some((_, printed)) if *printed == output.stdout => {}
            Some((other, printed)) => {
                return Err(CliError::Failed(format!(
                    "the programs do not do the same: that of {other} prints {}, that of {name} {}",
                    String::from_utf8_lossy(printed).trim(),
                    String::from_utf8_lossy(&output.stdout).trim()
                )));
            }
        }
    }
    Ok(())
}

fn missing(program: &Path, error: &std::io::Error) -> CliError {
    let program = shown_path(program);
    CliError::Failed(format!("cargo has left no program {program}: {error}"))
}

fn timed(work: impl FnOnce() -> Result<(), CliError>) -> Result<Took, CliError> {
    let (before, began) = (of_children(), Instant::now());
    work()?;
    let wall = began.elapsed().as_secs_f64();
    let processors = of_children()
        .zip(before)
        .map(|(after, before)| after - before);
    Ok(Took { wall, processors })
}

/// Seconds that processors were at work for what this process has started and waited for, and what that has.
fn of_children() -> Option<f64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    seconds_of_children(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// The same in the text of `/proc/self/stat`: its fields 16 and 17, in hundredths, which Linux gives to every program.
fn seconds_of_children(stat: &str) -> Option<f64> {
    // The second field is a name in brackets, which may have anything in it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) as f64 / 100.0)
}

fn stripped(program: &Path) -> Option<u64> {
    let to = program.with_extension("stripped");
    let done = Command::new("strip")
        .arg("-o")
        .arg(&to)
        .arg(program)
        .output();
    let done = done.is_ok_and(|output| output.status.success());
    let bytes = fs::metadata(&to).ok().filter(|_| done)?.len();
    // It is in the way of nobody.
    let _ = fs::remove_file(&to);
    Some(bytes)
}

/// The one in the middle, or the mean of the two there; nothing of nothing.
pub(super) fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    let half = numbers.len() / 2;
    match numbers.len() {
        0 => None,
        len if len.is_multiple_of(2) => Some((numbers[half - 1] + numbers[half]) / 2.0),
        _ => Some(numbers[half]),
    }
}

impl Took {
    fn json(self) -> Value {
        json!({ "seconds": self.wall, "processor_seconds": self.processors })
    }
}

impl Measured {
    /// The median of the program alone: seconds of processors, or by the clock where those are not counted.
    pub(super) fn alone_seconds(&self) -> Option<f64> {
        median(
            self.alone
                .iter()
                .map(|took| took.processors.unwrap_or(took.wall)),
        )
    }

    pub(super) fn json(&self) -> Value {
        let alone: Vec<Value> = self.alone.iter().map(|took| took.json()).collect();
        json!({
            "profile": self.profile.name(),
            "first": self.first.map(Took::json),
            "alone": alone,
            "bytes": self.bytes,
            "stripped_bytes": self.stripped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_children_are_two_fields_behind_a_name_with_anything_in_it() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 250 50 15 16";
        assert_eq!(seconds_of_children(stat), Some(3.0));
        assert_eq!(seconds_of_children("7 (a) S 1"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_child_takes_is_counted() {
        let work = || {
            let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
            let status = Command::new("sh").args(["-c", script]).status();
            status
                .map(|_| ())
                .map_err(|error| CliError::Failed(error.to_string()))
        };
        let took = timed(work).unwrap();
        assert!(took.processors.unwrap() > 0.0, "{took:?}");
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0].into_iter()), Some(2.5));
        assert_eq!(median([].into_iter()), None);
    }
}
