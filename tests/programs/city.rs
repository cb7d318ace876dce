//! `megachunk city`, as one calls it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::folder;

const MONACO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/maps/monaco.osm.pbf");

fn city(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megachunk"));
    command.current_dir(folder).arg("city").args(arguments);
    command.output().unwrap()
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = city(folder, arguments);
    assert!(!output.status.success());
    assert!(output.stdout.is_empty(), "an error goes to standard error");
    String::from_utf8(output.stderr).unwrap()
}

fn report(threads: &str, seed: &str) -> serde_json::Value {
    let folder = folder(&format!("city_{threads}_{seed}"));
    let arguments = [
        MONACO,
        "--agents",
        "2000",
        "--seconds",
        "4",
        "--check",
        "--json",
        "-",
        "--threads",
        threads,
        "--seed",
        seed,
    ];
    let output = city(&folder, &arguments);
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_city_is_the_same_for_any_number_of_threads() {
    let [one, two, three] = ["1", "2", "3"].map(|threads| report(threads, "1"));
    assert_eq!(one["threads"], 1);
    assert_eq!(two["threads"], 2);
    for other in [&two, &three] {
        for what in ["state_hash", "created", "destroyed", "moved", "arrivals"] {
            assert_eq!(one[what], other[what], "{what}");
        }
    }
    for report in [&one, &two, &three] {
        assert_eq!(report["integrity_errors"], 0, "{report}");
        assert_eq!(report["by_chance"], 0);
        assert!(report["created"].as_u64().unwrap() > 1_000);
        assert!(report["moved"].as_u64().unwrap() > 0, "levels of detail");
    }
    assert_ne!(
        one["state_hash"],
        report("1", "2")["state_hash"],
        "another seed"
    );
}

#[test]
fn pictures_page_and_trace_are_written() {
    let folder = folder("city_pictures");
    let arguments = [
        MONACO,
        "--agents",
        "500",
        "--seconds",
        "1",
        "--png",
        "city.png",
        "--svg",
        "city.svg",
        "--html",
        "city.html",
        "--trace",
        "trace.json",
        "--json",
        "city.json",
    ];
    let output = city(&folder, &arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let text = |name: &str| String::from_utf8(read(name)).unwrap();
    let png = read("city.png");
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let svg = text("city.svg");
    assert!(svg.contains("© OpenStreetMap contributors"));
    assert!(svg.trim_end().ends_with("</svg>"));
    let html = text("city.html");
    assert!(html.contains("© OpenStreetMap contributors"));
    assert!(!html.contains("http"), "the page needs nothing but itself");
    assert!(!html.contains('@'), "nothing is left to be filled in");
    assert!(
        html.contains("max=\"9\""),
        "ten shots, the first one numbered 0"
    );
    let trace: serde_json::Value = serde_json::from_str(&text("trace.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text("city.json")).unwrap();
    assert_eq!(json["format"], "megachunk-city 1");
    let frames: Vec<f64> = json["frame_ms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ms| ms.as_f64().unwrap())
        .collect();
    assert_eq!(frames.len(), 60);
    let longest = frames.iter().copied().fold(0.0, f64::max);
    assert_eq!(json["frame_max_ms"].as_f64().unwrap(), longest);
    assert!(json["machine"]["cores"].as_u64().unwrap() >= 1, "{json}");
    let names: Vec<&str> = json["processors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|busy| busy["name"].as_str().unwrap())
        .collect();
    assert!(names.len() >= 16, "{names:?}");
    let events = trace["traceEvents"].as_array().unwrap();
    for name in names {
        let runs = events.iter().filter(|event| event["name"] == name).count();
        assert!(
            runs >= 60 || name == "set out",
            "{name} is {runs} times in the trace"
        );
    }
}

/// What a reader may stop reading, and a pipe that is named as a file.
#[test]
#[cfg(target_os = "linux")]
fn a_report_that_goes_to_standard_output_by_name_stands_alone_there() {
    let folder = folder("city_own_output");
    let arguments = [MONACO, "--agents", "10", "--seconds", "0", "--json"];
    for name in ["/dev/stdout", "/proc/self/fd/1"] {
        let output = city(&folder, &[&arguments[..], &[name]].concat());
        assert!(output.status.success());
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("10 agents"));
    }
}

/// (Not where no file has such a name.)
#[test]
#[cfg(not(windows))]
fn a_map_may_be_called_like_what_is_filled_in() {
    let folder = folder("city_template");
    let map = "@GROUND@<i>.pbf";
    fs::copy(MONACO, folder.join(map)).unwrap();
    let arguments = ["--agents", "10", "--seconds", "0", "--html", "city.html"];
    let output = city(&folder, &[&[map][..], &arguments[..]].concat());
    assert!(output.status.success());
    let page = fs::read_to_string(folder.join("city.html")).unwrap();
    let title = "<title>10 agents in @GROUND@&lt;i>.pbf</title>";
    assert!(page.contains(title), "{}", &page[..400]);
}

#[test]
fn a_map_that_is_missing_empty_or_damaged_is_a_clear_error() {
    let folder = folder("city_maps");
    let error = refused(&folder, &["nowhere.osm.pbf"]);
    assert!(error.contains("nowhere.osm.pbf"), "{error}");
    let error = refused(&folder, &["."]);
    match cfg!(unix) {
        true => assert_eq!(error, "error: .: is a directory\n"),
        false => assert!(error.starts_with("error: .: "), "{error}"),
    }
    fs::write(folder.join("empty.osm.pbf"), b"").unwrap();
    let error = refused(&folder, &["empty.osm.pbf"]);
    assert!(
        error.contains("empty.osm.pbf: the file is empty"),
        "{error}"
    );
    let monaco = fs::read(MONACO).unwrap();
    fs::write(folder.join("cut.osm.pbf"), &monaco[..monaco.len() / 2]).unwrap();
    let error = refused(&folder, &["cut.osm.pbf"]);
    assert!(
        error.contains("cut.osm.pbf: not an OpenStreetMap extract"),
        "{error}"
    );
    fs::write(folder.join("text.osm.pbf"), "streets\n".repeat(1_000)).unwrap();
    let error = refused(&folder, &["text.osm.pbf"]);
    assert!(
        error.contains("text.osm.pbf: not an OpenStreetMap extract"),
        "{error}"
    );
    // Its first block says what the others are, and no more.
    let header = u32::from_be_bytes(monaco[..4].try_into().unwrap()) as usize;
    let first = header + 4 + block_length(&monaco[4..4 + header]);
    fs::write(folder.join("bare.osm.pbf"), &monaco[..first]).unwrap();
    let error = refused(&folder, &["bare.osm.pbf"]);
    assert!(error.contains("bare.osm.pbf: no streets"), "{error}");
}

/// The length of the block that a header announces: its field 3, a varint.
fn block_length(header: &[u8]) -> usize {
    let at = header.iter().rposition(|&byte| byte == 3 << 3).unwrap();
    let bytes = header[at + 1..].iter().enumerate();
    bytes.fold(0, |length, (number, &byte)| {
        length | usize::from(byte & 127) << (7 * number)
    })
}

#[test]
#[cfg(target_os = "linux")]
fn a_report_that_cannot_be_written_is_an_error() {
    let folder = folder("city_full");
    for json in [&["--json", "-"][..], &["--svg", "city.svg"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = Command::new(env!("CARGO_BIN_EXE_megachunk"));
        command.current_dir(&folder).args(["city", MONACO]);
        command
            .args(["--agents", "10", "--seconds", "0"])
            .args(json);
        let output = command.stdout(full.unwrap()).output().unwrap();
        assert!(!output.status.success());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("error: standard output: "), "{error}");
    }
    assert!(
        folder.join("city.svg").exists(),
        "a file is written all the same"
    );
}

/// Who reads one stream may have stopped to read the other.
#[test]
#[cfg(unix)]
fn a_report_on_standard_output_needs_no_standard_error() {
    let folder = folder("city_silent");
    let mut command = Command::new(env!("CARGO_BIN_EXE_megachunk"));
    command.current_dir(&folder).args(["city", MONACO]);
    command.args(["--agents", "10", "--seconds", "0", "--json", "-"]);
    let (reads, writes) = std::io::pipe().unwrap();
    drop(reads);
    let output = command.stderr(writes).output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
}

#[test]
fn flags_and_configs_that_make_no_sense_are_named() {
    let folder = folder("city_flags");
    let error = refused(&folder, &[MONACO, "--seconds", "-1"]);
    assert!(error.contains("--seconds: -1 is not between"), "{error}");
    let error = refused(&folder, &[MONACO, "--threads", "0"]);
    assert!(error.contains("--threads"), "{error}");
    let error = refused(&folder, &[MONACO, "--png", "none/city.png"]);
    let why = match cfg!(unix) {
        true => "No such file or directory",
        false => "",
    };
    assert!(error.contains(&format!("none/city.png: {why}")), "{error}");
    for flag in ["--png", "--svg", "--html", "--trace"] {
        let error = refused(&folder, &[MONACO, flag, "-"]);
        assert!(error.contains(flag), "{error}");
    }
    for (one, two) in [("q", "q"), ("q", "./q")] {
        let error = refused(&folder, &[MONACO, "--json", one, "--svg", two]);
        assert!(
            error.contains("only one result can go to a file"),
            "{error}"
        );
    }
    fs::copy(MONACO, folder.join("m.pbf")).unwrap();
    for flag in ["--json", "--png", "--svg", "--html", "--trace"] {
        let error = refused(&folder, &["m.pbf", flag, "./m.pbf"]);
        assert!(error.contains(flag), "{error}");
        assert!(error.contains("m.pbf is the map that is read"), "{error}");
    }
    assert_eq!(
        fs::read(folder.join("m.pbf")).unwrap(),
        fs::read(MONACO).unwrap()
    );
    let error = refused(&folder, &[MONACO, "--configs", ".", "--svg", "car.toml"]);
    assert!(
        error.contains("car.toml is a config that is read"),
        "{error}"
    );
    let error = refused(&folder, &[MONACO, "--agents", "4000000000"]);
    assert!(
        error.contains("--agents: 4000000000 is more than"),
        "{error}"
    );
    let empty = folder.join("empty");
    fs::create_dir_all(&empty).unwrap();
    let error = refused(&folder, &[MONACO, "--configs", "empty"]);
    assert!(
        error.contains("there is no config (.toml) in empty"),
        "{error}"
    );
    let error = refused(&folder, &[MONACO, "--json", "."]);
    assert!(
        error.contains("directory") || cfg!(windows) && error.starts_with("error: .: "),
        "{error}"
    );
    let error = refused(&folder, &[MONACO, "--configs", "none"]);
    assert!(error.contains("none"), "{error}");
    let configs = folder.join("configs");
    fs::create_dir_all(&configs).unwrap();
    for file in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data/city")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), configs.join(file.file_name())).unwrap();
    }
    let car = fs::read_to_string(configs.join("car.toml")).unwrap();
    fs::write(configs.join("car.toml"), car.replace("exhaust", "exhoust")).unwrap();
    let error = refused(&folder, &[MONACO, "--configs", "configs"]);
    assert!(error.contains("car.toml:"), "{error}");
    assert!(error.contains("did you mean `exhaust`?"), "{error}");
    fs::remove_file(configs.join("bus.toml")).unwrap();
    fs::write(configs.join("car.toml"), car).unwrap();
    let error = refused(&folder, &[MONACO, "--configs", "configs"]);
    let expected = "error: --configs: configs has no config with the id 'bus'";
    assert!(error.contains(expected), "{error}");
}

/// Who is asked to end by a signal writes what it knows.
#[test]
#[cfg(target_os = "linux")]
fn a_city_that_is_asked_to_end_writes_its_report() {
    /// Whether the process catches the signal that asks it to end, number 15.
    fn listens(process: u32) -> bool {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        caught >> 14 & 1 == 1
    }

    let folder = folder("city_asked_to_end");
    let run = Command::new(env!("CARGO_BIN_EXE_megachunk"))
        .current_dir(&folder)
        .args(["city", MONACO, "--agents", "10", "--seconds", "86400"])
        .args(["--json", "city.json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !listens(run.id()) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let sent = Command::new("kill")
        .args(["-TERM", &run.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("error: interrupted: "), "{error}");
    let report = fs::read(folder.join("city.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert!(report["left_out"].as_u64().unwrap() > 0, "{report}");
}
