//! The program as one calls it, for the tests of its subcommands.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for each test, empty.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn written(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

pub(crate) fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_megachunk"));
    // Errors are compared; a backtrace is no part of them.
    program.env_remove("RUST_BACKTRACE").env_remove("RUST_LOG");
    // Who runs the tests with these set does not mean what `check` checks in them.
    for name in [
        "MEGACHUNK_LOOM_QUICK",
        "MEGACHUNK_SCHEDULES",
        "MEGACHUNK_STALL_POINTS",
    ] {
        program.env_remove(name);
    }
    program
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints UTF-8")
}

/// What the program printed, which must have ended well.
#[track_caller]
pub(crate) fn success(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// What the program said on standard error, which must have ended with exit code 1.
#[track_caller]
pub(crate) fn failure(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// What the program said of a wrong argument, on standard error, which must have ended with exit code 2.
#[track_caller]
pub(crate) fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// A picture that is whole, runs nothing and loads nothing.
#[track_caller]
pub(crate) fn is_plain_svg(picture: &str) {
    assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(picture.trim_end().ends_with("</svg>"));
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

/// A pipe that nobody reads.
#[cfg(unix)]
pub(crate) fn closed() -> std::process::Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// The program with so many KiB of addresses. It may run for a minute, so that a hang is a failure.
#[cfg(target_os = "linux")]
pub(crate) fn program_within(kib: u32) -> Command {
    let mut program = Command::new("sh");
    let script = format!("ulimit -v {kib} && exec timeout 60 \"$0\" \"$@\"");
    program.args(["-c", &script, env!("CARGO_BIN_EXE_megachunk")]);
    program.env_remove("RUST_BACKTRACE").env_remove("RUST_LOG");
    program
}
