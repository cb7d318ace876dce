//! `megachunk bench`, as one calls it.
#![cfg(feature = "cli")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of the test's own, empty.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn megachunk(folder: &PathBuf, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megachunk"));
    command.current_dir(folder).args(arguments);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[test]
fn a_run_ends_in_a_table_a_report_and_json() {
    let folder = folder("bench_run");
    let output = megachunk(
        &folder,
        &[
            "--quick",
            "--reps",
            "2",
            "--filter",
            "^(pair|boundary)$",
            "--json",
            "out.json",
        ],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for word in [
        "pair",
        "boundary",
        "naive",
        "busy_block",
        "bitmask",
        "megachunk_dots",
    ] {
        assert!(table.contains(word), "{word} is missing in\n{table}");
    }
    assert!(
        text(&output.stderr).is_empty(),
        "no progress where nobody looks"
    );

    let json = fs::read_to_string(folder.join("out.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["format"], "megachunk-bench 1");
    let rows = json["rows"].as_array().unwrap();
    let one = |row: &&serde_json::Value| row["threads"] == 1 && row["workload"] == "pair";
    let contenders: Vec<_> = rows
        .iter()
        .filter(one)
        .map(|row| &row["contender"])
        .collect();
    assert_eq!(contenders, ["naive", "busy_block", "bitmask"]);
    for row in rows {
        let ns = &row["ns"];
        let [min, median, max] = ["min", "median", "max"].map(|key| ns[key].as_f64().unwrap());
        assert!(0.0 < min && min <= median && median <= max, "{row}");
    }

    let report = fs::read_to_string(folder.join("bench-report.html")).unwrap();
    assert!(report.contains("<svg") && report.trim_end().ends_with("</html>"));
}

#[test]
fn a_shorter_result_replaces_a_longer_one_whole() {
    let folder = folder("bench_overwrite");
    fs::write(folder.join("out.json"), "x".repeat(1 << 20)).unwrap();
    let output = megachunk(
        &folder,
        &[
            "--quick",
            "--reps",
            "1",
            "--threads",
            "1",
            "--filter",
            "^pair$",
            "--json",
            "out.json",
        ],
    );
    assert!(output.status.success());
    let json = fs::read_to_string(folder.join("out.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let folder = folder("bench_refused");
    for (arguments, expected) in [
        (
            &["--filter", "no such row"][..],
            "--filter: no row has such a name",
        ),
        (&["--filter", "("], "--filter"),
        (&["--threads", "0"], "--threads"),
        (&["--threads", "1,x"], "--threads"),
        (&["--reps", "0"], "--reps"),
        (
            &["--contenders", "slow"],
            "there is no `slow`; there are naive",
        ),
        (
            &["--json", "missing/out.json", "--filter", "^pair$"],
            "missing/out.json",
        ),
        (&["--trace", "missing.trace"], "missing.trace"),
    ] {
        let output = megachunk(&folder, arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn the_list_names_rows_and_contenders_and_measures_nothing() {
    let folder = folder("bench_list");
    let output = megachunk(&folder, &["bench", "--list"]);
    assert!(output.status.success());
    let list = text(&output.stdout);
    for word in [
        "batch_8192/destroy",
        "trace:node",
        "runs/alternating",
        "busy_block",
    ] {
        assert!(list.lines().any(|line| line.trim() == word), "{word}");
    }
    assert!(!folder.join("bench-report.html").exists());
}
