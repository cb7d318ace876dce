//! `megachunk bench`, as one calls it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use crate::support::folder;

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
    let progress = text(&output.stderr);
    let first = progress.lines().next().unwrap();
    assert!(first.starts_with("[1/"), "{first}");
    assert!(
        first.contains("] pair on 1 thread, ns/life: naive "),
        "{first}"
    );
    let last = progress.lines().last().unwrap();
    assert!(
        last.contains("] boundary on ") && last.contains("megachunk "),
        "{last}"
    );

    let json = fs::read_to_string(folder.join("out.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["format"], "megachunk-bench 1");
    let arguments: Vec<_> = json["arguments"].as_array().unwrap().iter().collect();
    assert!(
        arguments.len() > 6 && arguments.contains(&&"--quick".into()),
        "{arguments:?}"
    );
    let rows = json["rows"].as_array().unwrap();
    let one = |row: &&serde_json::Value| row["threads"] == 1 && row["workload"] == "pair";
    let contenders: Vec<_> = rows
        .iter()
        .filter(one)
        .map(|row| &row["contender"])
        .collect();
    assert_eq!(
        contenders,
        ["naive", "busy_block", "bitmask", "bitmask_session"]
    );
    for row in rows {
        let ns = &row["ns"];
        let [min, median, max] = ["min", "median", "max"].map(|key| ns[key].as_f64().unwrap());
        assert!(0.0 < min && min <= median && median <= max, "{row}");
    }

    let report = fs::read_to_string(folder.join("bench-report.html")).unwrap();
    assert!(report.contains("<svg") && report.trim_end().ends_with("</html>"));
    assert_eq!(
        report.matches("<svg ").count(),
        report.matches("<svg role=\"img\" aria-label=\"").count()
    );
}

#[test]
fn figures_come_in_lines_to_who_asks_for_them() {
    let folder = folder("bench_plain");
    let arguments = "--quick --reps 1 --threads 1 --filter ^pair$ --contenders naive,bitmask";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let printed = |more: &[&str]| {
        let output = megachunk(&folder, &[&arguments[..], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    assert!(printed(&[]).contains('─'), "a pipe has the table");
    let plain = printed(&["--plain"]);
    let line = plain.lines().nth(1).unwrap();
    assert!(
        line.starts_with("pair on 1 thread, ns/life: naive "),
        "{plain}"
    );
    assert!(
        line.contains(", bitmask ") && line.contains("; × naive ~"),
        "{plain}"
    );
    assert!(!plain.contains('─'), "{plain}");
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn memory_that_others_have_freed_is_no_ones() {
    let folder = folder("bench_resident");
    let arguments = "--quick --reps 2 --filter ^scale/100000/ --json out.json";
    let output = megachunk(&folder, &arguments.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json = fs::read_to_string(folder.join("out.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["rows"].as_array().unwrap().iter();
    let create = rows.filter(|row| row["workload"] == "scale/100000/create");
    for row in create {
        // Half of what the leanest keeps: two bytes for each id.
        assert!(row["memory_bytes"].as_u64().unwrap() >= 100_000, "{row}");
    }
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
            "there is no `slow`; there are naive, busy_block, bitmask, bitmask_session, \
             bitmask_small_pages, bitmask_plain_pages (ids), naive, megachunk_dots, megachunk, megachunk_small_pages (chunks)",
        ),
        (
            &["--json", "missing/out.json", "--filter", "^pair$"],
            "error: --json: missing/out.json: ",
        ),
        (&["--trace", "missing.trace"], "missing.trace"),
    ] {
        let output = megachunk(&folder, arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 0, "what is refused leaves no file");
}

#[test]
fn json_can_go_to_standard_output() {
    let folder = folder("bench_json_output");
    let arguments = "--quick --reps 1 --threads 1 --filter ^pair$ --json -";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let output = megachunk(&folder, &arguments);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["format"], "megachunk-bench 1");
    assert!(said.contains("Report: bench-report.html"), "{said}");
    assert!(!folder.join("-").exists());

    if cfg!(unix) {
        let nowhere = [&arguments[..], &["--html", "/dev/null"]].concat();
        let output = megachunk(&folder, &nowhere);
        assert!(output.status.success());
        assert!(!text(&output.stderr).contains("Report: "));
    }

    let output = megachunk(&folder, &[&arguments[..], &["--html", "-"]].concat());
    assert!(text(&output.stderr).contains("only one result can go to standard output"));
}

#[test]
fn worlds_have_a_table_of_their_own() {
    let folder = folder("ecs_list");
    let output = megachunk(&folder, &["ecs", "--list", "--threads", "2"]);
    assert!(output.status.success());
    let list = text(&output.stdout);
    let (rows, contenders) = list.split_once("Contenders on worlds: ").unwrap();
    assert!(rows.starts_with("Worlds:\n"));
    for row in ["simple_insert", "despawn_half/batch", "iterate_10m"] {
        assert!(rows.contains(row), "{row}");
    }
    assert!(contenders.contains("limit"));
    let output = megachunk(&folder, &["bench", "--list"]);
    assert!(!text(&output.stdout).contains("simple_insert"));
    let help = megachunk(&folder, &["ecs", "--help"]);
    let help = text(&help.stdout);
    assert!(help.contains("leave `iterate_10m` out") && !help.contains("40 seconds"));
    let output = megachunk(&folder, &["ecs", "--contenders", "naive"]);
    assert!(text(&output.stderr).contains("there is no `naive`"));
}

#[test]
fn the_list_names_rows_and_contenders_and_measures_nothing() {
    let folder = folder("bench_list");
    let output = megachunk(&folder, &["bench", "--list", "--threads", "2"]);
    assert!(output.status.success());
    let list = text(&output.stdout);
    let (ids, others) = list.split_once("Chunks:\n").unwrap();
    let (chunks, contenders) = others.split_once("Contenders on ids: ").unwrap();
    for (part, row, threads) in [
        (ids, "batch_8192/destroy", "1, 2 threads"),
        (ids, "trace:node", "1, 2 threads"),
        (chunks, "runs/alternating", "1 thread"),
        (chunks, "chunk_pair", "1, 2 threads"),
    ] {
        let mut lines = part.lines().map(str::trim).filter_map(|line| {
            let (name, threads) = line.split_once("  ")?;
            (name == row).then_some(threads.trim())
        });
        assert_eq!(lines.next(), Some(threads), "{row}");
        assert_eq!(lines.next(), None, "{row} comes once");
    }
    assert!(contenders.starts_with("naive, busy_block, bitmask"));
    assert!(!folder.join("bench-report.html").exists());
}

/// A run of `rows`, the first of which is done.
fn begun(folder: &Path, rows: &str) -> (Child, BufReader<ChildStderr>) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_megachunk"))
        .current_dir(folder)
        .args(["--quick", "--filter", rows, "--json", "out.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut progress = BufReader::new(run.stderr.take().unwrap());
    progress.read_line(&mut first).unwrap();
    assert!(first.starts_with("[1/"), "{first}");
    (run, progress)
}

#[cfg(unix)]
#[test]
fn a_run_that_is_asked_to_end_keeps_what_it_has_measured() {
    // As a terminal does, and as whoever ends services does.
    for signal in ["-INT", "-TERM"] {
        asked_to_end(signal);
    }
}

#[cfg(unix)]
fn asked_to_end(signal: &str) {
    let folder = folder("bench_asked_to_end");
    let (run, progress) = begun(&folder, "^(pair|larson|boundary|chunk_pair)$");
    // Twice at once, as `timeout` does: to the program and to its group.
    let id = run.id().to_string();
    let sent = Command::new("kill").args([signal, &id, &id]).status();
    assert!(sent.unwrap().success());
    let told: Vec<String> = progress.lines().map(|line| line.unwrap()).collect();
    let output = run.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(130), "{told:?}");
    assert!(
        told.iter()
            .any(|line| line.starts_with("ends after this row")),
        "{told:?}"
    );
    assert!(told.last().unwrap().contains("interrupted: "), "{told:?}");
    let table = text(&output.stdout);
    assert!(
        table.contains("\nInterrupted: ") && table.contains(" pair "),
        "{table}"
    );
    assert!(
        !table.contains(" chunk_pair "),
        "the last is not measured: {table}"
    );
    let report = fs::read_to_string(folder.join("out.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["rows"][0]["workload"], "pair");
    assert!(report["left_out"].as_u64().unwrap() > 0, "{report}");
    assert!(folder.join("bench-report.html").exists());
}

#[test]
fn a_run_that_is_killed_leaves_no_empty_report() {
    let folder = folder("bench_killed");
    let (mut run, _progress) = begun(&folder, "^(pair|boundary|chunk_pair)$");
    run.kill().unwrap();
    run.wait().unwrap();

    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 0, "files that nothing was written to");
}

#[test]
fn a_trace_whose_name_is_taken_has_rows_of_its_own() {
    let folder = folder("bench_trace_names");
    let small = "# entity-trace 1: one event a line\n\
        # threads=1 events=2 created=1 peak_live=1 destroyed_by_another_thread=0\n\
        0 + 0\n0 - 0\n";
    fs::write(folder.join("gcc.trace"), small).unwrap();
    fs::write(folder.join("own.trace"), small).unwrap();
    let mut arguments = vec![
        "bench",
        "--list",
        "--threads",
        "1",
        "--filter",
        "^trace:(gcc|own)",
    ];
    for file in ["gcc.trace", "own.trace", "own.trace"] {
        arguments.extend(["--trace", file]);
    }
    let output = megachunk(&folder, &arguments);
    let list = text(&output.stdout);
    let rows = list
        .lines()
        .filter_map(|line| line.trim().strip_prefix("trace:"));
    let names: Vec<_> = rows.filter_map(|row| row.split(' ').next()).collect();
    assert_eq!(names, ["gcc", "gcc-2", "own", "own-2"], "{list}");
}

#[test]
fn what_has_no_row_is_explained() {
    let folder = folder("bench_no_row");
    let said = |arguments: &[&str]| {
        let output = megachunk(&folder, arguments);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).to_owned()
    };
    let no_row = said(&["bench", "--filter", "^none$"]);
    assert!(no_row.contains("`bench --list` shows all"), "{no_row}");
    let no_row = said(&["ecs", "--filter", "^pair$"]);
    assert!(no_row.contains("`ecs --list` shows all"), "{no_row}");
    let arguments = [
        "bench",
        "--filter",
        "^pair$",
        "--contenders",
        "megachunk_dots",
    ];
    let nobody = said(&arguments);
    assert!(nobody.contains("--contenders: none of them"), "{nobody}");
    assert!(nobody.contains("busy_block, bitmask"), "{nobody}");
    let threads = said(&["bench", "--threads", "2,2", "--filter", "^cold_1m$"]);
    let expected = "--threads: rows of such a name are measured on 1 thread, not on 2";
    assert!(threads.contains(expected), "{threads}");
    let trace = said(&["ecs", "--trace", "some.trace"]);
    assert!(trace.contains("--trace: "), "{trace}");
}

#[test]
fn a_slow_row_that_is_named_is_measured_in_a_quick_run() {
    let folder = folder("bench_slow");
    let arguments = "bench --quick --reps 1 --threads 1 --contenders naive --filter ^near_full$";
    let output = megachunk(&folder, &arguments.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("near_full "));
}

#[test]
fn a_run_that_measures_nothing_is_no_success() {
    let folder = folder("bench_nothing");
    let arguments = "ecs --quick --threads 1 --contenders limit --filter ^solve_1000$";
    let output = megachunk(&folder, &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("error: nothing was measured"), "{said}");
    assert!(text(&output.stdout).contains("skipped: is not measured in this row"));
}

#[test]
fn help_says_what_is_done_with_which_codes_it_ends_and_gives_examples() {
    let folder = folder("help");
    for command in ["bench", "ecs", "replay", "check", "map", "snapshot", "city"] {
        let output = megachunk(&folder, &[command, "--help"]);
        let help = text(&output.stdout);
        let examples = help.matches(&format!("\n  megachunk {command} ")).count();
        assert_eq!(examples, 2, "{help}");
        assert!(help.contains("Exit codes: 0, "), "{help}");
    }
    let output = megachunk(&folder, &["bench", "--help"]);
    assert!(text(&output.stdout).contains("All contenders do equal work"));
}

#[test]
fn two_results_cannot_go_to_one_file() {
    let folder = folder("bench_one_file");
    for (json, html) in [("one", "one"), ("one", "./one")] {
        let output = megachunk(&folder, &["bench", "--json", json, "--html", html]);
        let said = text(&output.stderr);
        assert!(said.contains("only one result can go to a file"), "{said}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn no_result_goes_over_a_trace_that_is_read() {
    let folder = folder("bench_over");
    let trace = "# entity-trace 1\n# threads=1 events=1 created=1 peak_live=1 \
        destroyed_by_another_thread=0\n0 + 0\n";
    fs::write(folder.join("a.trace"), trace).unwrap();
    for flag in ["--json", "--html"] {
        let arguments = ["bench", "--quick", "--filter", "^trace:a$", "--trace"];
        let files = ["a.trace", flag, "./a.trace"];
        let output = megachunk(&folder, &[&arguments[..], &files[..]].concat());
        let said = text(&output.stderr);
        let expected = format!("{flag}: a.trace is a file that is read");
        assert!(said.contains(&expected), "{said}");
    }
    assert_eq!(fs::read_to_string(folder.join("a.trace")).unwrap(), trace);
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_costs_neither_the_table_nor_the_others() {
    let folder = folder("bench_full");
    let arguments = "--quick --reps 1 --threads 1 --filter ^pair$ --json /dev/full";
    let output = megachunk(&folder, &arguments.split(' ').collect::<Vec<_>>());
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("error: --json: /dev/full: "), "{said}");
    let shown = text(&output.stdout);
    assert!(shown.contains("busy_block") && shown.contains("Report: bench-report.html"));
    assert!(shown.contains("A quick run (--quick)"), "{shown}");
    assert!(folder.join("bench-report.html").exists());
    // Each failure is told.
    let arguments = format!("{arguments} --html /dev/full");
    let output = megachunk(&folder, &arguments.split(' ').collect::<Vec<_>>());
    let said = text(&output.stderr);
    for flag in ["--json", "--html"] {
        let expected = format!("error: {flag}: /dev/full: ");
        assert!(said.contains(&expected), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_that_cannot_be_shown_costs_no_file() {
    let folder = folder("bench_full_output");
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let arguments = "--quick --reps 1 --threads 1 --filter ^pair$ --json out.json";
    let output = Command::new(env!("CARGO_BIN_EXE_megachunk"))
        .current_dir(&folder)
        .args(arguments.split(' '))
        .stdout(full.unwrap())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("error: standard output"), "{said}");
    assert!(folder.join("out.json").exists() && folder.join("bench-report.html").exists());
}
