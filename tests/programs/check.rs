//! `megachunk check` as one calls it, on a source tree and a cargo that are staged.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{closed, failure, folder, program, refusal, success, text, written};

/// A source tree with nothing in it, and a cargo that says what `script` makes it say.
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
const ALL_IS_WELL: &str = r#"
case "$*" in
  loom*) echo "model claims executions=81 seconds=0.1 bound=exhaustive" >&2 ;;
  *schedule_mutants*) echo "mutant pool_give_blindly killed by schedules::worlds" ;;
  *schedules*) echo "model worlds executions=50 seconds=0.2 bound=random" >&2 ;;
  mutation-gate*) echo "mutant claim_relaxed killed by claims" ;;
  *stall*)
    echo "   Compiling megachunk" >&2
    echo "stall bitmask create points=9 blocked=0" >&2
    echo "stall megachunk alloc points=4 blocked=0" >&2
    echo "stall megachunk-sparing trim points=8 blocked=0" >&2
    echo "stall recorders create points=6 blocked=0" >&2
    echo "stall sessions create points=3 blocked=0" >&2
    echo "stall signals send points=5 blocked=0" >&2
    echo "stall busy_block create points=7 blocked=3" >&2 ;;
  *history*)
    echo "histories bitmask of=entities checked=$MEGACHUNK_HISTORIES seed=1" >&2
    echo "histories megachunk of=chunks checked=25 seed=2" >&2
    echo "histories megachunk-sparing of=chunks checked=24 seed=3" >&2 ;;
esac
"#;

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

#[test]
fn check_runs_every_check_and_prints_one_summary() {
    let (folder, cargo) = staged("check_all", ALL_IS_WELL);
    let json = folder.join("check.json");
    let output = check(&folder, &cargo, &["--json", json.to_str().unwrap()]);
    let printed = success(&output);
    for expected in [
        "1 model, 81 executions",
        "1 model, 50 executions",
        "2 of 2 mutants killed",
        "bitmask 0 of 9, megachunk 0 of 4, megachunk-sparing 0 of 8, recorders 0 of 6, sessions 0 of 3, signals 0 of 5, busy_block 3 of 7",
        "of chunks: megachunk 25, megachunk-sparing 24; of entities: bitmask 100000",
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
    assert_eq!(figures["stages"].as_array().unwrap().len(), 5);
    let record = std::fs::read_to_string(folder.join("papers/checked.md")).unwrap();
    assert!(
        record.contains("| claims | exhaustive |         81 |"),
        "{record}"
    );
}

#[test]
fn check_writes_json_to_standard_output() {
    let (folder, cargo) = staged("check_json_output", ALL_IS_WELL);
    let output = check(&folder, &cargo, &["--only", "mutants", "--json", "-"]);
    let figures: serde_json::Value = serde_json::from_str(&success(&output)).unwrap();
    assert_eq!(figures["passed"], true);
    assert!(text(&output.stderr).contains("2 of 2 mutants killed"));
    assert!(!folder.join("-").exists());

    let output = check(&folder, &cargo, &["--json", "-", "--record", "-"]);
    assert!(refusal(&output).contains("only one result can go to standard output"));
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_checked_is_written_though_it_cannot_be_shown() {
    let (folder, cargo) = staged("check_full_output", ALL_IS_WELL);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let output = program()
        .args(["check", "--json", "check.json"])
        .env("CARGO", &cargo)
        .env("CARGO_MANIFEST_DIR", &folder)
        .current_dir(&folder)
        .stdout(full.unwrap())
        .output()
        .unwrap();
    let said = failure(&output);
    assert!(said.contains("error: standard output"), "{said}");
    assert!(folder.join("check.json").exists());
    assert!(folder.join("papers/checked.md").exists());
}

#[test]
fn check_quick_checks_fewer_histories_and_records_nothing() {
    let (folder, cargo) = staged("check_quick", ALL_IS_WELL);
    let printed = success(&check(&folder, &cargo, &["--quick"]));
    assert!(printed.contains("of entities: bitmask 10000 "), "{printed}");
    assert!(printed.contains("2 of 2 mutants killed"), "{printed}");
    assert!(!folder.join("papers/checked.md").exists());
}

#[test]
fn check_takes_the_tests_that_were_built_with_the_workspace() {
    let (folder, cargo) = staged("check_workspace", ALL_IS_WELL);
    for (arguments, built) in [
        (
            &["--only", "stall", "--workspace", "--json", "-"][..],
            "--workspace --features cli",
        ),
        (
            &["--only", "stall", "--json", "-"][..],
            "--package megachunk-loom-tests",
        ),
    ] {
        let output = check(&folder, &cargo, arguments);
        let figures: serde_json::Value = serde_json::from_str(&success(&output)).unwrap();
        let expected = format!("cargo test {built} --no-fail-fast --test stall --test threads");
        assert_eq!(figures["stages"][0]["commands"][0], expected);
    }
}

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
        assert_eq!(printed.matches("FAILED").count(), 5, "{printed}");
        assert!(!folder.join("papers/checked.md").exists());
    }
}

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
         fuzz/corpus/trace_file -- -max_total_time=3 -print_final_stats=1 -entropic=0"
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
    assert!(refusal(&output).contains("is no source tree of megachunk"));
}

#[test]
fn check_says_so_where_there_is_no_cargo() {
    let (folder, _) = staged("check_no_cargo", "");
    let output = check(&folder, &folder.join("no-cargo-here"), &[]);
    assert!(failure(&output).contains("error: failed: stall table, "));
    let printed = text(&output.stdout);
    assert!(
        printed.contains("cannot be started: ") && printed.contains("Rust toolchain"),
        "{printed}"
    );
    assert_eq!(printed.matches("FAILED").count(), 5, "{printed}");
}

#[test]
fn a_check_that_cannot_be_started_costs_none_of_the_others() {
    let (folder, cargo) = staged("check_unstarted", ALL_IS_WELL);
    // A program beside which no mutation gate was built.
    let alone = folder.join("megachunk");
    std::fs::hard_link(env!("CARGO_BIN_EXE_megachunk"), &alone).unwrap();
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(&alone)
            .args(["check", "--json", "check.json"])
            .args(arguments)
            .env("CARGO", &cargo)
            .env("PATH", &folder)
            .env("CARGO_MANIFEST_DIR", &folder)
            .current_dir(&folder)
            .output()
            .unwrap();
        failure(&output);
        let figures = std::fs::read(folder.join("check.json")).unwrap();
        let figures: serde_json::Value = serde_json::from_slice(&figures).unwrap();
        assert_eq!(figures["stages"][0]["passed"], true, "{figures}");
        assert_eq!(figures["stages"][1]["passed"], false, "{figures}");
        text(&output.stdout)
    };
    let printed = run(&["--only", "stall,fuzz", "--fuzz", "1"]);
    assert!(printed.contains("fuzz/fuzz_targets: "), "{printed}");
    std::fs::create_dir_all(folder.join("fuzz/fuzz_targets")).unwrap();
    for target in ["entity_index", "trace_file"] {
        written(&folder, &format!("fuzz/fuzz_targets/{target}.rs"), "");
    }
    let printed = run(&["--only", "stall,fuzz", "--fuzz", "1"]);
    assert_eq!(
        printed.matches("cannot be started: ").count(),
        1,
        "{printed}"
    );
    assert!(printed.contains("needs rustup"), "{printed}");
    let printed = run(&["--only", "stall,mutants", "--workspace"]);
    assert!(
        printed.contains("`cargo test --workspace --features cli --no-run` builds it"),
        "{printed}"
    );
    // What whole worlds find was asked all the same.
    assert!(printed.contains("1 of 1 mutants killed"), "{printed}");
}

#[test]
fn a_check_that_is_asked_to_end_shows_what_it_has_found_and_leaves_nobody() {
    use std::io::{BufRead, BufReader};
    let waits = ALL_IS_WELL.replace(
        "checked=24 seed=3\" >&2 ;;",
        "checked=24 seed=3\" >&2\n    sleep 600 & echo $! >waiting; echo waits >&2; wait ;;",
    );
    let (folder, cargo) = staged("check_asked_to_end", &waits);
    let mut run = program()
        .args(["check", "--json", "check.json"])
        .env("CARGO", &cargo)
        .env("CARGO_MANIFEST_DIR", &folder)
        .current_dir(&folder)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let kill = |arguments: &[&str]| {
        let mut kill = std::process::Command::new("kill");
        kill.args(arguments).stderr(std::process::Stdio::null());
        kill.status().unwrap().success()
    };
    let lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    assert!(lines.any(|line| line.starts_with("history check: megachunk-sparing: ")));
    while !folder.join("waiting").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(kill(&["-TERM", &run.id().to_string()]));
    let told: Vec<String> = lines.collect();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{told:?}");
    let last = "error: interrupted: 4 of 5 checks did not come to their end";
    assert_eq!(told.last().unwrap(), last);
    let printed = text(&output.stdout);
    for part in [
        "busy_block 3 of 7",
        "Interrupted: history check was ended before its end.",
        "Interrupted: not run: loom models, schedules, mutation gate.",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let figures = std::fs::read(folder.join("check.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&figures).unwrap();
    assert_eq!(figures["interrupted"], true);
    assert_eq!(figures["passed"], false);
    assert_eq!(figures["left_out"].as_array().unwrap().len(), 3);
    assert_eq!(figures["stages"][1]["interrupted"], true, "{figures}");
    assert_eq!(
        figures["stages"][1]["findings"].as_array().unwrap().len(),
        3
    );
    assert!(!folder.join("papers/checked.md").exists());
    let waiting = std::fs::read_to_string(folder.join("waiting")).unwrap();
    // It is ended a moment before it is gone.
    let is_gone = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !kill(&["-0", waiting.trim()])
    });
    assert!(is_gone, "what cargo has started goes on");
}

#[test]
fn what_the_environment_has_weakened_is_said_and_not_recorded() {
    let (folder, cargo) = staged("check_weakened", ALL_IS_WELL);
    let output = program()
        .args(["check", "--json", "check.json"])
        .env("CARGO", &cargo)
        .env("CARGO_MANIFEST_DIR", &folder)
        .env("MEGACHUNK_STALL_POINTS", "2")
        .current_dir(&folder)
        .output()
        .unwrap();
    let printed = success(&output);
    assert!(printed.contains("MEGACHUNK_STALL_POINTS=2"), "{printed}");
    assert!(
        printed.contains("papers/checked.md is not written"),
        "{printed}"
    );
    assert!(!folder.join("papers/checked.md").exists());
    let figures = std::fs::read(folder.join("check.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&figures).unwrap();
    assert_eq!(figures["weakened_by"][0], "MEGACHUNK_STALL_POINTS=2");
}

#[test]
fn a_record_that_cannot_be_written_is_told_before_anything_is_checked() {
    let (folder, cargo) = staged("check_record_first", "echo ran >ran");
    let record = folder.join("papers/checked.md");
    let output = check(&folder, &cargo, &["--json", record.to_str().unwrap()]);
    let said = refusal(&output);
    assert!(
        said.contains("--record: only one result can go to a file"),
        "{said}"
    );
    std::fs::remove_dir(folder.join("papers")).unwrap();
    let said = failure(&check(&folder, &cargo, &[]));
    assert!(
        said.contains("error: --record: ") && said.contains("checked.md: "),
        "{said}"
    );
    assert!(!folder.join("ran").exists());
}

#[test]
fn whoever_reads_the_errors_may_stop_reading() {
    let (folder, cargo) = staged("stop_reading_errors", ALL_IS_WELL);
    let passed = program()
        .arg("check")
        .env("CARGO", &cargo)
        .env("CARGO_MANIFEST_DIR", &folder)
        .current_dir(&folder)
        .stderr(closed())
        .output()
        .unwrap();
    assert!(success(&passed).contains("1 model, 81 executions"));
    let failed = program()
        .args(["replay", "no-such-file"])
        .stdout(closed())
        .stderr(closed())
        .status()
        .unwrap();
    assert_eq!(failed.code(), Some(2));
}
