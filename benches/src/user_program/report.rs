//! What is told of what was measured: tables in Markdown, which a README can have as they are, and JSON.

use core::fmt::Write as _;

use serde_json::{Value, json};

use super::build::{Measured, Subject};
use super::instances::Instances;
use super::package::{Package, Profile};

/// So many functions are told by their names.
const NAMED: usize = 25;

/// The table of what was measured.
pub(super) fn table(subjects: &[Subject]) -> String {
    let mut text = String::from(
        "| | all, once, debug | program, debug | program, release | debug, MB | stripped | release, MB | stripped |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for subject in subjects {
        let of = |profile| subject.measured.iter().find(|one| one.profile == profile);
        let (debug, release) = (of(Profile::Dev), of(Profile::Release));
        let first = debug.and_then(|one| one.first);
        let first = first.map(|took| took.processors.unwrap_or(took.wall));
        let cells = [
            seconds(first),
            seconds(debug.and_then(Measured::alone_seconds)),
            seconds(release.and_then(Measured::alone_seconds)),
            megabytes(debug.map(|one| one.bytes)),
            megabytes(debug.and_then(|one| one.stripped)),
            megabytes(release.map(|one| one.bytes)),
            megabytes(release.and_then(|one| one.stripped)),
        ];
        let Package { store, version, .. } = &subject.package;
        let _ = writeln!(
            text,
            "| {} {version} | {} |",
            store.name(),
            cells.join(" | ")
        );
    }
    let measured = subjects.iter().flat_map(|subject| &subject.measured);
    let mut all = measured.flat_map(|one| one.first.iter().chain(&one.alone));
    let counted = all.all(|took| took.processors.is_some());
    text += match counted {
        true => "\nSeconds of all processors together; of the program alone the medians.\n",
        false => "\nSeconds by the clock; of the program alone the medians.\n",
    };
    text
}

/// What was measured, for programs.
pub(super) fn json(arguments: &Value, subjects: &[Subject]) -> Value {
    let stores: Vec<Value> = subjects
        .iter()
        .map(|subject| {
            let measured: Vec<Value> = subject.measured.iter().map(Measured::json).collect();
            json!({
                "store": subject.package.store.name(),
                "version": subject.package.version,
                "measured": measured,
            })
        })
        .collect();
    json!({ "format": "megachunk-program 1", "program": arguments, "stores": stores })
}

/// What was counted of a program.
pub(super) fn counted(package: &Package, instances: &Instances) -> String {
    let total = instances.total();
    let mut text = format!(
        "{}: {} functions of {} lines\n",
        package.store.name(),
        total.functions,
        total.lines
    );
    for (name, made) in instances.most(NAMED) {
        let share = 100.0 * made.lines as f64 / total.lines.max(1) as f64;
        let _ = writeln!(
            text,
            "{share:5.1} % {:8} lines {:6} times  {name}",
            made.lines, made.functions
        );
    }
    text
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".into(), |seconds| format!("{seconds:.1} s"))
}

fn megabytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "–".into(), |bytes| format!("{:.1}", bytes as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!((seconds(None), megabytes(None)), ("–".into(), "–".into()));
        assert_eq!(
            (seconds(Some(1.26)), megabytes(Some(1_250_000))),
            ("1.3 s".into(), "1.2".into())
        );
    }
}
