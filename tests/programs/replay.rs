//! `megachunk replay` as one calls it: what it prints, what it writes, and how it fails.

use std::process::Stdio;

#[cfg(unix)]
use crate::support::closed;
#[cfg(target_os = "linux")]
use crate::support::program_within;
use crate::support::{failure, folder, program, refusal, success, text, written};

const FORMAT: &str = "# entity-trace 1: one event a line\n";
/// Two threads; object 0 crosses from one to the other, object 1 survives.
pub(crate) const SMALL: &str = "# entity-trace 1: one event a line\n\
    # threads=2 events=5 created=3 peak_live=2 destroyed_by_another_thread=1\n\
    0 + 0\n0 + 1\n1 - 0\n1 + 2\n1 - 2\n";

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

#[cfg(unix)]
#[test]
fn a_name_tells_the_terminal_nothing() {
    let folder = folder("replay_control");
    let path = written(&folder, "\x1b[31mred\n.trace", SMALL);
    let output = program()
        .args(["replay", "--repeat", "1", "--allocator", "naive"])
        .arg(&path)
        .output()
        .unwrap();
    let printed = success(&output);
    assert!(
        printed.starts_with("\u{fffd}[31mred\u{fffd}: "),
        "{printed}"
    );
    std::fs::write(&path, "no trace").unwrap();
    let said = failure(&program().arg("replay").arg(&path).output().unwrap());
    assert!(!said.contains('\x1b'), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
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
        let counts = "3 objects, 2 live at the peak, 1 destroyed by another thread";
        // On other threads they are those of the recording, and only that.
        let expected = match threads {
            "1" => format!("small: 1 thread, 5 events; recorded on 2 threads: {counts}"),
            "2" => format!("small: 2 threads, 5 events, {counts}"),
            _ => format!("small: 4 threads, 10 events; recorded on 2 threads: {counts}"),
        };
        assert!(printed.starts_with(&expected), "{printed}");
        assert!(!printed.contains("busy_block"), "{printed}");
    }
    let output = program()
        .args(["replay", "--threads", "3"])
        .arg(&path)
        .output()
        .unwrap();
    let said = refusal(&output);
    assert!(said.contains("--threads: small has 2 threads"), "{said}");
}

#[test]
fn nothing_is_compared_where_threads_have_no_processors() {
    let folder = folder("replay_void");
    let path = written(&folder, "small.trace", SMALL);
    let output = program()
        .args(["replay", "--repeat", "1", "--threads", "1024", "--json"])
        .args(["figures.json", "--allocator", "naive"])
        .arg(&path)
        .current_dir(&folder)
        .output()
        .unwrap();
    let printed = success(&output);
    assert!(
        printed.contains("void: there are more threads"),
        "{printed}"
    );
    let figures = std::fs::read_to_string(folder.join("figures.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    let trace = &figures["traces"][0];
    assert_eq!(trace["void"], true);
    assert!(trace["rows"][0].get("ratio_to_naive").is_none(), "{trace}");
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
    assert_eq!(trace["recorded"]["objects"], 3);
    assert!(figures["machine"]["cores"].as_u64().unwrap() >= 1);
    assert!(trace["too_short"].is_boolean(), "{trace}");
    let rows = trace["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert!(row["gross_ns"]["median"].as_f64().unwrap() > 0.0);
        assert!(row["peak_blocks"].as_u64().unwrap() >= 1);
        assert_eq!(row["verified"], false);
    }
}

#[test]
fn the_median_of_two_replays_lies_between_them() {
    let folder = folder("replay_two");
    let path = written(&folder, "small.trace", SMALL);
    let output = program()
        .args(["replay", "--repeat", "2", "--json", "-"])
        .arg(&path)
        .output()
        .unwrap();
    success(&output);
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for row in figures["traces"][0]["rows"].as_array().unwrap() {
        let figure = |name: &str| row["gross_ns"][name].as_f64().unwrap();
        let middle = f64::midpoint(figure("min"), figure("max"));
        assert!((figure("median") - middle).abs() < 1e-9 * middle, "{row}");
    }
}

#[test]
fn replay_writes_json_to_standard_output_and_its_tables_beside_it() {
    let folder = folder("replay_json_output");
    let path = written(&folder, "small.trace", SMALL);
    let output = program()
        .args(["replay", "--repeat", "1", "--json", "-"])
        .arg(&path)
        .current_dir(&folder)
        .output()
        .unwrap();
    let figures: serde_json::Value = serde_json::from_str(&success(&output)).unwrap();
    assert_eq!(figures["format"], "megachunk-replay 1");
    assert!(text(&output.stderr).starts_with("small: 2 threads, 5 events"));
    assert!(!folder.join("-").exists());

    let output = program()
        .args(["replay", "--save", "-"])
        .arg(&path)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(success(&output).ends_with("0 + 0\n0 + 1\n1 - 0\n1 + 2\n1 - 2\n"));
    assert!(!folder.join("-").exists());
    if cfg!(unix) {
        let output = program()
            .args(["replay", "--save", "/dev/stdout"])
            .arg(&path)
            .output()
            .unwrap();
        assert!(success(&output).ends_with("1 + 2\n1 - 2\n"));
        assert!(text(&output.stderr).starts_with("small: 5 events"));
    }
}

#[test]
fn the_table_says_how_many_times_as_fast_and_what_its_columns_are() {
    let folder = folder("replay_table");
    let path = written(&folder, "small.trace", SMALL);
    let output = program()
        .args(["replay", "gcc", "--events", "0..20000", "--repeat", "1"])
        .output();
    let printed = success(&output.unwrap());
    assert!(printed.contains("× as fast as naive"), "{printed}");
    // Of one repetition a ratio says little.
    let naive = printed
        .lines()
        .find(|line| line.trim().starts_with("naive"));
    assert!(naive.unwrap().contains(" ~1.00 "), "{printed}");
    for meaning in [
        "~: of one of the two",
        "net: the median",
        "peak blocks: blocks of 8,192",
    ] {
        assert!(printed.contains(meaning), "{meaning}: {printed}");
    }
    // Reading a few events takes as long as replaying them may: then there is no figure, and no ratio.
    let output = program()
        .args(["replay", "--json", "-", "--repeat", "20"])
        .arg(&path)
        .output()
        .unwrap();
    let figures: serde_json::Value = serde_json::from_str(&success(&output)).unwrap();
    let said = text(&output.stderr);
    for row in figures["traces"][0]["rows"].as_array().unwrap() {
        let name = row["allocator"].as_str().unwrap();
        let line = said.lines().find(|line| line.trim().starts_with(name));
        let second = line.unwrap().split_whitespace().nth(1).unwrap();
        let has_figure = row["net_ns"]["median"].as_f64().unwrap() > 0.0;
        assert_eq!(second == "-", !has_figure, "{said}");
    }
}

#[test]
fn a_trace_that_is_replayed_twice_has_a_name_for_each() {
    let output = program()
        .args(["replay", "gcc", "gcc", "--events", "0..10", "--repeat", "1"])
        .args(["--allocator", "naive", "--json", "-"])
        .output();
    let figures: serde_json::Value = serde_json::from_str(&success(&output.unwrap())).unwrap();
    let names = figures["traces"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|trace| &trace["trace"]).collect();
    assert_eq!(names, ["gcc", "gcc-2"]);
}

#[test]
fn a_number_of_threads_that_one_trace_does_not_take_is_refused_before_any_is_measured() {
    let folder = folder("replay_threads_first");
    let path = written(&folder, "small.trace", SMALL);
    let output = program()
        .args(["replay", "gcc", "--threads", "3", "--json", "figures.json"])
        .arg(&path)
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = refusal(&output);
    assert!(said.contains("--threads: small has 2 threads"), "{said}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    assert!(!folder.join("figures.json").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_trace_that_fails_costs_no_figures_of_the_others() {
    let folder = folder("replay_one_fails");
    let small = written(&folder, "small.trace", SMALL);
    let one = SMALL
        .replace("threads=2", "threads=1")
        .replace("thread=1", "thread=0");
    let one = written(&folder, "one.trace", one.replace("\n1 ", "\n0 "));
    // On sixteen threads the stacks take all addresses; on one there is room.
    let sixteen: String = (0..16)
        .map(|thread| format!("{thread} + {thread}\n"))
        .collect();
    let sixteen = written(
        &folder,
        "sixteen.trace",
        format!(
            "{FORMAT}# threads=16 events=16 created=16 peak_live=16 destroyed_by_another_thread=0\n{sixteen}"
        ),
    );
    let output = program_within(2_000_000)
        .env("RUST_MIN_STACK", (256 << 20).to_string())
        .args(["replay", "--allocator", "naive", "--repeat", "1", "--json"])
        .args([&folder.join("figures.json"), &one, &sixteen, &small])
        .output()
        .unwrap();
    let said = failure(&output);
    assert!(said.contains("error: sixteen on naive: thread "), "{said}");
    let figures = std::fs::read(folder.join("figures.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&figures).unwrap();
    let names = figures["traces"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|trace| &trace["trace"]).collect();
    assert_eq!(names, ["one", "small"]);
}

/// As a terminal does, once the first table stands there.
#[cfg(unix)]
#[test]
fn a_replay_that_is_asked_to_end_keeps_what_it_has_measured() {
    use std::io::{BufRead, BufReader, Read};
    let folder = folder("replay_asked_to_end");
    let path = written(&folder, "small.trace", SMALL);
    let mut replay = program()
        .arg("replay")
        .arg(&path)
        .args([
            "python",
            "gcc",
            "--repeat",
            "1000",
            "--json",
            "figures.json",
        ])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(replay.stdout.take().unwrap());
    let mut first = String::new();
    shown.read_line(&mut first).unwrap();
    assert!(first.starts_with("small: "), "{first}");
    let sent = std::process::Command::new("kill")
        .args(["-INT", &replay.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    shown.read_to_string(&mut first).unwrap();
    let output = replay.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{first}");
    let said = text(&output.stderr);
    assert!(said.contains("error: interrupted: 2 of 3 traces"), "{said}");
    let figures = std::fs::read(folder.join("figures.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&figures).unwrap();
    assert_eq!(figures["traces"][0]["repetitions"], 1_000);
    assert_eq!(figures["interrupted"], true);
    assert!(figures["left_out"].as_u64().unwrap() >= 1, "{figures}");
}

#[test]
fn one_object_has_no_plural() {
    let folder = folder("replay_one_object");
    let one = format!(
        "{FORMAT}# threads=1 events=1 created=1 peak_live=1 destroyed_by_another_thread=0\n0 + 0\n"
    );
    let path = written(&folder, "one.trace", one);
    let output = program()
        .args(["replay", "--repeat", "1"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(success(&output).starts_with("one: 1 thread, 1 event, 1 object, 1 live"));
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
    assert!(refusal(&output).contains("--events: whole has only 5 events"));
    for (files, expected) in [
        (&[][..], "--save: name the trace to write"),
        (
            &["gcc", "node"],
            "--save: one trace can be written, not several",
        ),
    ] {
        let mut save = program();
        save.args(["replay", "--save", "no.trace"]).args(files);
        let output = save.current_dir(&folder).output().unwrap();
        assert!(refusal(&output).contains(expected), "{expected}");
    }
    // Not over what it is cut from, were it by another name.
    for over in [whole.clone(), folder.join("./whole.trace")] {
        let output = program()
            .args(["replay", "--events", "2..4", "--save"])
            .args([&over, &whole])
            .output()
            .unwrap();
        let said = refusal(&output);
        assert!(said.contains("--save: "), "{said}");
        assert!(said.contains("is a file that is read"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&whole).unwrap(), SMALL);
    let left = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 3, "nothing but the traces");
}

#[test]
fn replay_writes_its_figures_over_no_trace_that_it_replays() {
    let folder = folder("replay_over");
    let path = written(&folder, "small.trace", SMALL);
    for json in [path.clone(), folder.join("./small.trace")] {
        let output = program()
            .args(["replay", "--repeat", "1", "--json"])
            .args([&json, &path])
            .output()
            .unwrap();
        let said = refusal(&output);
        assert!(
            said.contains("--json: ") && said.contains("is a file that is read"),
            "{said}"
        );
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SMALL);
    // What has no say in what is written is refused.
    for more in [
        &["--json", "b"][..],
        &["--verify"],
        &["--threads", "2"],
        &["--repeat", "7"],
        &["--allocator", "naive"],
    ] {
        let output = program()
            .args(["replay", "--save", "a"])
            .args(more)
            .arg(&path)
            .output()
            .unwrap();
        assert!(!output.status.success());
        assert!(text(&output.stderr).contains("cannot be used with"));
    }
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
    let output = program()
        .args(["replay", "no-such-file.trace"])
        .output()
        .unwrap();
    assert!(failure(&output).contains("no-such-file.trace: "));
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
    let folder = folder("stop_reading");
    let path = written(&folder, "small.trace", SMALL);
    let mut child = program()
        .args(["replay", "--allocator", "bitmask", "--repeat", "1"])
        .arg(&path)
        .stdout(closed())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
}

#[cfg(target_os = "linux")]
#[test]
fn results_for_files_are_written_though_nothing_can_be_shown() {
    let folder = folder("replay_full_output");
    let path = written(&folder, "small.trace", SMALL);
    for (arguments, file) in [
        (&["replay", "--repeat", "1", "--json"][..], "figures.json"),
        (&["map", "--svg"], "picture.svg"),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let output = program()
            .args(arguments)
            .arg(file)
            .arg(&path)
            .current_dir(&folder)
            .stdout(full.unwrap())
            .output()
            .unwrap();
        let said = failure(&output);
        assert!(said.contains("error: standard output"), "{said}");
        assert!(folder.join(file).exists(), "{file}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_replay_with_more_threads_than_can_be_started_says_so_and_ends() {
    let folder = folder("replay_no_thread");
    let path = written(&folder, "small.trace", SMALL);
    let output = program_within(2_000_000)
        // Stacks that soon take all addresses.
        .env("RUST_MIN_STACK", (256 << 20).to_string())
        .args(["replay", "--allocator", "naive", "--threads", "16"])
        .arg(&path)
        .output()
        .unwrap();
    let said = failure(&output);
    assert!(said.starts_with("error: small on naive: thread "), "{said}");
    assert!(said.contains(" of 16: it could not be started: "), "{said}");
}

#[test]
fn a_trace_is_a_file_or_one_that_the_program_carries_or_comes_from_standard_input() {
    let folder = folder("replay_named");
    let path = written(&folder, "small.trace", SMALL);
    let replay = |trace: &str, input: Stdio| {
        let mut replay = program();
        replay.args(["replay", trace, "--allocator", "naive", "--repeat", "1"]);
        replay.args(["--events", "0..3"]).current_dir(&folder);
        replay.stdin(input).output().unwrap()
    };
    for name in ["gcc", "trace:gcc"] {
        let printed = success(&replay(name, Stdio::null()));
        assert!(printed.starts_with("gcc: 1 thread, 3 events"), "{printed}");
    }
    let input = std::fs::File::open(path).unwrap().into();
    let printed = success(&replay("-", input));
    assert!(
        printed.starts_with("standard input: 2 threads, 3 events"),
        "{printed}"
    );
    for arguments in [
        &["replay", "-", "-"][..],
        &["bench", "--trace", "-", "--trace", "-"],
    ] {
        let said = refusal(&program().args(arguments).output().unwrap());
        assert!(
            said.contains("standard input can be read only once"),
            "{said}"
        );
    }
    // A file comes first.
    written(&folder, "gcc", SMALL);
    let printed = success(&replay("gcc", Stdio::null()));
    assert!(printed.starts_with("gcc: 2 threads"), "{printed}");
    for (trace, expected) in [
        (
            "perl",
            "error: perl: neither a file nor one of python, gcc, node",
        ),
        ("perl.trace", "perl.trace"),
        ("-", "standard input"),
    ] {
        let output = replay(trace, Stdio::null());
        let code = if trace == "perl" { 2 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{trace}");
        let said = text(&output.stderr);
        assert!(said.contains(expected), "{said}");
    }
}
