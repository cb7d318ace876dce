//! The program as one calls it: what it prints, what it writes, and how it fails.
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FORMAT: &str = "# entity-trace 1: one event a line\n";
/// Two threads; object 0 crosses from one to the other, object 1 survives.
const SMALL: &str = "# entity-trace 1: one event a line\n\
    # threads=2 events=5 created=3 peak_live=2 destroyed_by_another_thread=1\n\
    0 + 0\n0 + 1\n1 - 0\n1 + 2\n1 - 2\n";

/// A folder of its own for each test, empty.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn written(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_megachunk"));
    // Errors are compared; a backtrace is no part of them.
    program.env_remove("RUST_BACKTRACE").env_remove("RUST_LOG");
    program
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints UTF-8")
}

/// What the program printed, which must have ended well.
#[track_caller]
fn success(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// What the program said on standard error, which must have ended with exit code 1.
#[track_caller]
fn failure(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    text(&output.stderr)
}

// --- replay --------------------------------------------------------------------------------------

#[test]
fn replay_prints_a_row_for_each_allocator_and_says_that_they_were_verified() {
    let folder = folder("replay_prints");
    let path = written(&folder, "small.trace", SMALL);
    let output = program()
        .args(["replay", "--verify", "--repeat", "1"])
        .arg(&path)
        .output()
        .unwrap();
    let printed = success(&output);
    assert!(printed.starts_with("small: 2 threads, 5 events, 3 objects, 2 live at the peak, 1 "));
    for allocator in ["naive", "busy_block", "bitmask"] {
        let row = printed
            .lines()
            .find(|line| line.trim().starts_with(allocator))
            .unwrap();
        assert!(row.trim_end().ends_with("yes"), "{row}");
    }
}

#[test]
fn replay_takes_one_allocator_and_a_number_of_threads() {
    let folder = folder("replay_one_allocator");
    let path = written(&folder, "small.trace", SMALL);
    for threads in ["1", "2", "4"] {
        let output = program()
            .args([
                "replay",
                "--allocator",
                "bitmask",
                "--repeat",
                "1",
                "--threads",
                threads,
            ])
            .arg(&path)
            .output()
            .unwrap();
        let printed = success(&output);
        assert!(printed.contains(&format!("{threads} thread")), "{printed}");
        assert!(!printed.contains("busy_block"), "{printed}");
    }
    let output = program()
        .args(["replay", "--threads", "3"])
        .arg(&path)
        .output()
        .unwrap();
    let said = failure(&output);
    assert!(said.contains("--threads: small has 2 threads"), "{said}");
}

#[test]
fn replay_writes_its_figures_as_json() {
    let folder = folder("replay_json");
    let path = written(&folder, "small.trace", SMALL);
    let json = folder.join("figures.json");
    let output = program()
        .args(["replay", "--repeat", "3", "--json"])
        .args([&json, &path])
        .output()
        .unwrap();
    success(&output);
    let figures: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(figures["format"], "megachunk-replay 1");
    let trace = &figures["traces"][0];
    assert_eq!(
        (&trace["trace"], &trace["events"]),
        (&"small".into(), &5.into())
    );
    let rows = trace["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert!(row["gross_ns"]["median"].as_f64().unwrap() > 0.0);
        assert!(row["peak_blocks"].as_u64().unwrap() >= 1);
        assert_eq!(row["verified"], false);
    }
}

#[test]
fn replay_without_a_file_replays_the_traces_that_the_program_carries() {
    let output = program()
        .args(["replay", "--allocator", "bitmask", "--repeat", "1"])
        .current_dir(folder("replay_shipped"))
        .output()
        .unwrap();
    let printed = success(&output);
    for trace in ["python: ", "gcc: ", "node: "] {
        assert!(printed.contains(trace), "{printed}");
    }
}

#[test]
fn replay_saves_a_window_that_it_can_replay() {
    let folder = folder("replay_saves");
    let whole = written(&folder, "whole.trace", SMALL);
    for name in ["part.trace", "part.trace.gz"] {
        let part = folder.join(name);
        let output = program()
            .args(["replay", "--events", "2..4", "--save"])
            .args([&part, &whole])
            .output()
            .unwrap();
        assert!(success(&output).contains("4 events, 3 objects"));
        let output = program()
            .args(["replay", "--repeat", "1"])
            .arg(&part)
            .output()
            .unwrap();
        assert!(success(&output).starts_with("part: 2 threads, 4 events"));
    }
    let output = program()
        .args(["replay", "--events", "9..12"])
        .arg(&whole)
        .output()
        .unwrap();
    assert!(failure(&output).contains("--events: whole has only 5 events"));
}

#[test]
fn replay_refuses_what_is_no_trace_with_its_line() {
    let folder = folder("replay_refuses");
    let wrong_order = SMALL.replace("0 + 0\n0 + 1\n", "0 + 1\n0 + 0\n");
    let cut = &SMALL[..SMALL.len() - 2];
    for (name, bytes, expected) in [
        ("empty", &b""[..], "line 1: the file is empty"),
        ("binary", b"\x7fELF\0\0\0\0", "line 1: not an entity trace"),
        (
            "gzip",
            b"\x1f\x8b\x08\0",
            "line 1: the gzip data is cut short",
        ),
        (
            "cut",
            cut.as_bytes(),
            "line 7: the file ends in the middle of this line",
        ),
        (
            "format",
            FORMAT.as_bytes(),
            "line 2: the file ends where the summary should be",
        ),
        (
            "order",
            wrong_order.as_bytes(),
            "line 3: object 1 is created out of order",
        ),
    ] {
        let path = written(&folder, name, bytes);
        let output = program().arg("replay").arg(&path).output().unwrap();
        let said = failure(&output);
        assert!(
            said.starts_with("error: ") && said.contains(expected),
            "{name}: {said}"
        );
        assert!(said.contains(path.to_str().unwrap()), "{said}");
        assert!(output.stdout.is_empty());
    }
    let output = program().args(["replay", "no-such-file"]).output().unwrap();
    assert!(failure(&output).contains("no-such-file: "));
}

#[test]
fn a_wrong_argument_is_explained_and_ends_the_program_with_another_code() {
    for arguments in [
        &["replay", "--allocator", "best"][..],
        &["replay", "--threads", "0"],
        &["replay", "--events", "5..5"],
        &["check", "--only", "everything"],
        &["bake"],
    ] {
        let output = program().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).starts_with("error: "), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn whoever_reads_the_output_may_stop_reading() {
    let mut child = program()
        .args(["replay", "--allocator", "bitmask", "--repeat", "1"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), String::new())
    );
}

// --- check ---------------------------------------------------------------------------------------

/// A source tree with nothing in it, and a cargo that says what `script` makes it say.
#[cfg(unix)]
fn staged(test: &str, script: &str) -> (PathBuf, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(test);
    std::fs::create_dir_all(folder.join("loom-tests")).unwrap();
    std::fs::create_dir_all(folder.join("papers")).unwrap();
    written(&folder, "Cargo.toml", "");
    written(&folder, "loom-tests/Cargo.toml", "");
    let cargo = written(&folder, "cargo", format!("#!/bin/sh\n{script}"));
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    (folder, cargo)
}

/// What a cargo prints in a tree in which all is well, on both streams.
#[cfg(unix)]
const ALL_IS_WELL: &str = r#"
case "$*" in
  loom*) echo "model claims executions=81 seconds=0.1 bound=exhaustive" >&2 ;;
  mutation-gate*) echo "mutant claim_relaxed killed by claims" ;;
  *stall*)
    echo "   Compiling megachunk" >&2
    echo "stall bitmask create points=9 blocked=0" >&2
    echo "stall megachunk alloc points=4 blocked=0" >&2
    echo "stall busy_block create points=7 blocked=3" >&2 ;;
  *history*) echo "histories bitmask checked=$MEGACHUNK_HISTORIES seed=1" >&2 ;;
esac
"#;

#[cfg(unix)]
fn check(folder: &Path, cargo: &Path, arguments: &[&str]) -> Output {
    program()
        .arg("check")
        .args(arguments)
        .env("CARGO", cargo)
        .env("CARGO_MANIFEST_DIR", folder)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn check_runs_every_check_and_prints_one_summary() {
    let (folder, cargo) = staged("check_all", ALL_IS_WELL);
    let json = folder.join("check.json");
    let output = check(&folder, &cargo, &["--json", json.to_str().unwrap()]);
    let printed = success(&output);
    for expected in [
        "1 models, 81 executions",
        "1 of 1 mutants killed",
        "bitmask 0 of 9, megachunk 0 of 4, busy_block 3 of 7",
        "linearized: bitmask 100000",
    ] {
        assert!(printed.contains(expected), "{printed}");
    }
    assert!(text(&output.stderr).contains("loom models: claims: 81 executions"));

    let figures: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(
        (&figures["format"], &figures["passed"]),
        (&"megachunk-check 1".into(), &true.into())
    );
    assert_eq!(figures["stages"].as_array().unwrap().len(), 4);
    let record = std::fs::read_to_string(folder.join("papers/checked.md")).unwrap();
    assert!(
        record.contains("| claims | exhaustive |         81 |"),
        "{record}"
    );
}

#[cfg(unix)]
#[test]
fn check_quick_does_less_and_records_nothing() {
    let (folder, cargo) = staged("check_quick", ALL_IS_WELL);
    let printed = success(&check(&folder, &cargo, &["--quick"]));
    assert!(printed.contains("linearized: bitmask 10000 "), "{printed}");
    assert!(!folder.join("papers/checked.md").exists());
}

#[cfg(unix)]
#[test]
fn check_runs_only_what_is_asked_for() {
    let (folder, cargo) = staged("check_only", ALL_IS_WELL);
    let printed = success(&check(&folder, &cargo, &["--only", "models,histories"]));
    assert!(
        printed.contains("loom models") && printed.contains("history check"),
        "{printed}"
    );
    assert!(
        !printed.contains("stall table") && !printed.contains("mutation gate"),
        "{printed}"
    );
    assert!(!folder.join("papers/checked.md").exists());
}

#[cfg(unix)]
#[test]
fn check_fails_where_one_check_fails_and_still_runs_the_others() {
    for (test, script, expected) in [
        (
            "check_fails_code",
            "echo 'error: could not compile' >&2; exit 101",
            "exit status: 101",
        ),
        ("check_fails_silent", "exit 0", "nothing was checked"),
        (
            "check_fails_mutant",
            r#"case "$*" in mutation-gate*) echo "mutant no_retire SURVIVED" ;; esac"#,
            "mutant no_retire survived",
        ),
        (
            "check_fails_stall",
            r#"case "$*" in *stall*) echo "stall bitmask create points=9 blocked=1" ;; esac"#,
            "a thread that stops at 1 of 9 points blocks others",
        ),
    ] {
        let (folder, cargo) = staged(test, script);
        let output = check(&folder, &cargo, &[]);
        let said = failure(&output);
        let last = said.lines().last().unwrap();
        assert!(
            last.starts_with("error: failed: ") && last.contains("loom models"),
            "{said}"
        );
        let printed = text(&output.stdout);
        assert!(printed.contains(expected), "{printed}");
        assert_eq!(printed.matches("FAILED").count(), 4, "{printed}");
        assert!(!folder.join("papers/checked.md").exists());
    }
}

#[cfg(unix)]
#[test]
fn check_fuzzes_each_target_where_it_is_asked_to() {
    // Here the script stands for rustup: it says what a fuzzer says at its end.
    let script = r#"echo "$*"; echo "stat::number_of_executed_units: 77" >&2"#;
    let (folder, rustup) = staged("check_fuzz", script);
    std::fs::rename(&rustup, folder.join("rustup")).unwrap();
    std::fs::create_dir_all(folder.join("fuzz/fuzz_targets")).unwrap();
    for target in ["entity_index", "trace_file"] {
        written(&folder, &format!("fuzz/fuzz_targets/{target}.rs"), "");
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let json = folder.join("check.json");
    let output = program()
        .args(["check", "--only", "fuzz", "--fuzz", "3", "--json"])
        .arg(&json)
        .env("CARGO_MANIFEST_DIR", &folder)
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(success(&output).contains("2 targets, 154 executions"));
    let figures: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(
        figures["stages"][0]["commands"][1],
        "cargo +nightly fuzz run trace_file target/fuzz-found/trace_file \
         fuzz/corpus/trace_file -- -max_total_time=3 -print_final_stats=1"
    );
}

#[test]
fn check_says_so_where_there_is_no_source_tree() {
    // Outside every source tree: the folder for temporary files of the tests lies in one.
    let output = program()
        .arg("check")
        .env_remove("CARGO_MANIFEST_DIR")
        .current_dir(std::env::temp_dir())
        .output()
        .unwrap();
    let said = failure(&output);
    assert!(
        said.contains("there is none here: run it in a clone of megachunk"),
        "{said}"
    );
    let output = program()
        .args(["check", "--source"])
        .arg(std::env::temp_dir())
        .output()
        .unwrap();
    assert!(failure(&output).contains("is no source tree of megachunk"));
}

#[cfg(unix)]
#[test]
fn check_says_so_where_there_is_no_cargo() {
    let (folder, _) = staged("check_no_cargo", "");
    let said = failure(&check(&folder, &folder.join("no-cargo-here"), &[]));
    assert!(
        said.contains("cannot be started: ") && said.contains("Rust toolchain"),
        "{said}"
    );
}

// --- map -----------------------------------------------------------------------------------------

fn map(arguments: &[&str]) -> Output {
    program()
        .arg("map")
        .args(arguments)
        .env("COLUMNS", "100")
        .output()
        .unwrap()
}

#[test]
fn map_draws_every_allocator_of_ids_and_of_chunks() {
    let printed = success(&map(&["--workload", "random_destroy", "--size", "20000"]));
    assert!(printed.starts_with("random_destroy at its end: 30,000 events on 1 thread\n"));
    for name in ["naive", "busy_block", "bitmask"] {
        let row = printed.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(row.contains("10,000 live in 3 blocks"), "{row}");
    }
    assert!(printed.contains("0 slots retired"), "{printed}");
    for name in ["naive", "megachunk_dots", "megachunk"] {
        let is_row = |line: &&str| line.starts_with(&format!("{name}: ")) && line.contains("run");
        let row = printed.lines().find(is_row).expect(name);
        assert!(row.contains("fragmentation"), "{row}");
    }
    assert!(
        !printed.contains('\x1b'),
        "no colours where nobody sees them"
    );
}

#[test]
fn map_keeps_to_the_width_and_shows_colours_where_they_are_asked_for() {
    let arguments = ["map", "gcc", "--allocator", "naive", "--color"];
    for width in [60, 100, 200] {
        let output = program()
            .args(arguments)
            .arg("never")
            .env("COLUMNS", width.to_string())
            .output();
        let printed = success(&output.unwrap());
        let cells = printed.lines().filter(|line| line.ends_with('%'));
        let longest = cells.map(|line| line.chars().count()).max().unwrap();
        assert!(
            longest <= width && longest > width / 2,
            "{longest} of {width}"
        );
    }
    let output = program().args(arguments).arg("always").output().unwrap();
    assert!(success(&output).contains("\x1b[38;5;"));
}

#[test]
fn map_shows_where_the_most_is_alive() {
    let arguments = ["gcc", "--allocator", "bitmask"];
    let at_the_end = success(&map(&arguments));
    let at_the_peak = success(&map(&[&arguments[..], &["--at", "peak"]].concat()));
    assert!(at_the_end.contains("6,314 live"), "{at_the_end}");
    assert!(at_the_peak.contains("6,315 live"), "{at_the_peak}");
}

#[test]
fn map_writes_one_svg_without_scripts_or_links() {
    let folder = folder("map_svg");
    let trace = written(&folder, "small.trace", SMALL);
    let svg = folder.join("small.svg");
    let files = [trace.to_str().unwrap(), "--svg", svg.to_str().unwrap()];
    success(&map(&files));
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(picture.trim_end().ends_with("</svg>"));
    for name in [
        "naive",
        "busy_block",
        "bitmask",
        "megachunk_dots",
        "megachunk",
    ] {
        assert!(
            picture.contains(&format!("<tspan class=\"n\">{name}</tspan>")),
            "{name}"
        );
    }
    for foreign in ["<script", "href", "url(", "@import"] {
        assert!(!picture.contains(foreign), "{foreign}");
    }
    for element in ["svg", "g", "text", "tspan", "style", "title"] {
        let opened = picture.matches(&format!("<{element} ")).count()
            + picture.matches(&format!("<{element}>")).count();
        let closed = picture.matches(&format!("</{element}>")).count();
        assert_eq!(opened, closed, "{element}");
    }
}

#[test]
fn map_runs_every_workload_and_refuses_an_unknown_trace() {
    for workload in [
        "fill",
        "random_destroy",
        "recreate",
        "larson",
        "producer_consumer",
    ] {
        success(&map(&["--workload", workload, "--size", "2"]));
        success(&map(&["--workload", workload, "--size", "1000"]));
    }
    let said = failure(&map(&["perl"]));
    assert!(
        said.contains("perl is neither a file nor one of python, gcc, node"),
        "{said}"
    );
}
