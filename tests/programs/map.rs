//! `megachunk map` of ids and chunks as one calls it: what it draws, what it writes, and how it fails.

use std::process::Output;

use crate::replay::SMALL;
#[cfg(target_os = "linux")]
use crate::support::{failure, program_within};
use crate::support::{folder, is_plain_svg, program, refusal, success, text, written};

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
    assert!(success(&output).contains("\x1b[48;5;"));
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
    is_plain_svg(&picture);
    assert!(picture.contains("role=\"img\">\n<title>small at its end: "));
    assert!(picture.contains("<desc>") && picture.contains("</desc>"));
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
}

#[test]
fn map_tells_programs_what_it_draws() {
    let arguments = ["--workload", "fill", "--size", "1000", "--json", "-"];
    let json: serde_json::Value = serde_json::from_str(&success(&map(&arguments))).unwrap();
    assert_eq!(json["format"], "megachunk-map 1");
    assert_eq!(json["title"], "fill at its end: 1,000 events on 1 thread");
    let all = |of: &str| json[of].as_array().unwrap().clone();
    let [indices, chunks] = [all("indices"), all("chunks")];
    assert_eq!((indices.len(), chunks.len()), (3, 3));
    for index in &indices {
        assert_eq!(index["figures"]["live"], 1_000, "{index}");
        let rows = index["rows"].as_array().unwrap().iter();
        let cells = rows.flat_map(|row| row["cells"].as_array().unwrap());
        let live: u64 = cells.filter_map(serde_json::Value::as_u64).sum();
        assert_eq!(live, 1_000, "{index}");
    }
    for chunks in &chunks {
        let runs = chunks["runs"].as_array().unwrap();
        assert_eq!(chunks["figures"]["runs"], runs.len(), "{chunks}");
        let lengths = runs.iter().map(|run| run[1].as_u64().unwrap());
        assert_eq!(
            chunks["figures"]["in_use"],
            lengths.sum::<u64>(),
            "{chunks}"
        );
    }
    let said = refusal(&map(&["--workload", "fill", "--json", "-", "--svg", "-"]));
    assert!(said.contains("only one result"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn results_go_to_a_pipe_that_is_named_through_proc() {
    let folder = folder("map_pipe");
    let path = written(&folder, "small.trace", SMALL);
    let name = path.to_str().unwrap();
    let printed = success(&map(&[name, "--svg", "/dev/stdout"]));
    assert!(printed.trim_end().ends_with("</svg>"), "{printed}");
    for pipe in ["/dev/stdout", "/proc/self/fd/1"] {
        let output = program()
            .args(["replay", name, "--repeat", "1", "--json", pipe])
            .output();
        let printed = success(&output.unwrap());
        assert!(printed.contains("\"megachunk-replay 1\""), "{printed}");
    }
}

#[test]
fn map_draws_over_no_trace_that_it_reads() {
    let folder = folder("map_over");
    let path = written(&folder, "small.trace", SMALL);
    let name = path.to_str().unwrap();
    let said = refusal(&map(&[name, "--svg", name]));
    assert!(said.contains("--svg: "), "{said}");
    assert!(
        said.contains("small.trace is a file that is read"),
        "{said}"
    );
    // Neither over one that comes from standard input.
    let mut from_input = program();
    from_input.args(["map", "-", "--svg", name]);
    let output = from_input
        .stdin(std::fs::File::open(&path).unwrap())
        .output();
    if cfg!(target_os = "linux") {
        assert!(refusal(&output.unwrap()).contains("is a file that is read"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), SMALL);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_allocator_that_there_is_no_room_for_is_named() {
    let folder = folder("map_no_room");
    let path = written(&folder, "small.trace", SMALL);
    for subcommand in ["map", "replay"] {
        let mut program = program_within(1_000_000);
        let output = program.arg(subcommand).arg(&path).output().unwrap();
        let said = failure(&output);
        assert!(
            said.starts_with("error: there is no room for bitmask\n  caused by: "),
            "{said}"
        );
    }
    // The others are measured all the same.
    let output = program_within(1_000_000)
        .args(["bench", "--quick", "--reps", "1", "--threads", "1"])
        .args(["--filter", "^(pair|cold_1m)$"])
        .args(["--contenders", "busy_block,bitmask"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = failure(&output);
    assert!(said.contains("2 of the rows failed; the first: "), "{said}");
    assert!(
        said.contains("there is no room for it") && !said.contains("panicked"),
        "{said}"
    );
    assert!(text(&output.stdout).contains("busy_block"));
    let output = program_within(1_000_000)
        .args(["ecs", "--quick", "--reps", "1", "--threads", "1"])
        .args(["--filter", "^simple_iter$"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = failure(&output);
    assert!(
        said.contains("there is no room for it") && !said.contains("panicked"),
        "{said}"
    );
    assert!(text(&output.stdout).contains("limit"));
    let output = program_within(1_000_000)
        .args([
            "city",
            concat!(env!("CARGO_MANIFEST_DIR"), "/data/maps/monaco.osm.pbf"),
        ])
        .args(["--agents", "1", "--seconds", "0"])
        .output()
        .unwrap();
    let said = failure(&output);
    assert!(
        said.contains("no address space for the ids and chunks of a city"),
        "{said}"
    );
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
    // The title says what was played: here the trace twice, side by side.
    let arguments = ["--workload", "fill", "--size", "2", "--threads", "2"];
    let printed = success(&map(&arguments));
    assert!(
        printed.starts_with("fill at its end: 4 events on 2 threads\n"),
        "{printed}"
    );
    let said = refusal(&map(&["--workload", "larson", "--threads", "3"]));
    assert!(said.contains("--threads: larson has 2 threads"), "{said}");
    let output = map(&["python", "--size", "10"]);
    assert!(text(&output.stderr).contains("cannot be used with"));
    let said = refusal(&map(&["perl"]));
    assert!(
        said.contains("error: perl: neither a file nor one of python, gcc, node"),
        "{said}"
    );
}
