//! `megachunk snapshot`: what a snapshot of worlds holds, and in what two of them differ.
//!
//! The types are not known: see [`SnapshotState`]. A file is read and checked as a whole before anything is said of it.

use core::fmt::Write as _;
use core::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::CliError;
use super::destination::{Destination, Screen};
use super::output::{plural, shown_path};
use crate::file_bytes;
use crate::world::{SnapshotState, SnapshotSummary, StateHashes, StatePart};

/// Say what a snapshot of worlds holds, or in what two of them differ.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// A file to which worlds were saved
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Another one, to be compared with it
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,

    /// How many differences are told, and how many parts of the state that differ
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        requires = "other",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    most: u32,

    /// Write what is said to a file as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A file that was read.
struct Read<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
    summary: SnapshotSummary,
}

impl<'a> Read<'a> {
    fn of(path: &'a Path) -> Result<Self, CliError> {
        // First no more of it than is needed to see whether it is one: it may be anything, of any length.
        let failed = |error| CliError::Failed(format!("{error}"));
        let length = SnapshotSummary::read(path).map_err(failed)?.bytes;
        let bytes = file_bytes::read(path, length).map_err(|source| CliError::File {
            argument: None,
            path: path.to_owned(),
            source,
        })?;
        let path_shown = shown_path(path);
        let bytes = bytes.ok_or_else(|| {
            CliError::Failed(format!("{path_shown} has become longer while it was read"))
        })?;
        // Of what is compared: somebody may have put another file there meanwhile, or written to it.
        let summary = SnapshotSummary::of(&bytes)
            .map_err(|error| CliError::Failed(format!("{path_shown}: {error}")))?;
        Ok(Self {
            path,
            bytes,
            summary,
        })
    }

    fn state(&self) -> Result<SnapshotState<'_>, CliError> {
        SnapshotState::of(&self.bytes)
            .map_err(|error| CliError::Failed(format!("{}: {error}", shown_path(self.path))))
    }
}

/// What is written as JSON.
#[derive(Serialize)]
struct Told<'a> {
    format: &'static str,
    files: Vec<ToldFile<'a>>,
    compared: Option<Compared>,
}

#[derive(Serialize)]
struct ToldFile<'a> {
    path: String,
    summary: &'a SnapshotSummary,
    /// Of each world.
    hashes: Vec<StateHashes>,
}

impl<'a> ToldFile<'a> {
    fn of(read: &'a Read<'_>, hashes: Vec<StateHashes>) -> Self {
        Self {
            path: read.path.display().to_string(),
            summary: &read.summary,
            hashes,
        }
    }
}

/// Bytes of names that may be written of a file in any case, and so many times its own: a name that it has once is written
/// for each of its worlds.
const NAMES: u64 = 64 << 20;
const NAMES_TIMES: u64 = 16;

/// The numbers of the worlds of a file that are written as JSON.
#[derive(Default)]
struct Kept {
    worlds: Vec<StateHashes>,
    /// Bytes of the names in them, as they are written.
    names: u64,
}

impl Kept {
    fn add(&mut self, read: &Read<'_>, hashes: StateHashes) -> Result<(), CliError> {
        let names = hashes.iter().map(|(part, _)| match part {
            StatePart::Entities => 0,
            StatePart::Fragment { name, .. }
            | StatePart::Switches { name, .. }
            | StatePart::Resource { name } => written(name),
        });
        self.names += names.sum::<u64>();
        let most = NAMES.max(NAMES_TIMES.saturating_mul(read.bytes.len() as u64));
        if self.names > most {
            let path = shown_path(read.path);
            return Err(CliError::Failed(format!(
                "{path}: as JSON the names of what each of its worlds has would be more than {most} bytes; without \
                 --json they need not be written"
            )));
        }
        self.worlds.push(hashes);
        Ok(())
    }
}

/// Bytes of a name in JSON.
fn written(name: &str) -> u64 {
    let bytes = name.bytes().map(|byte| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    });
    bytes.sum()
}

/// What is said of the parts of states: of the worlds one after the other, for many may have what has long names.
struct Parts {
    /// Of each file, if it is written.
    kept: Vec<Kept>,
    /// Those in which two files differ, as lines.
    differing: Vec<String>,
}

impl Parts {
    fn of(
        read: &[Read<'_>],
        states: &[SnapshotState<'_>],
        are_written: bool,
    ) -> Result<Self, CliError> {
        let mut parts = Self {
            kept: read.iter().map(|_| Kept::default()).collect(),
            differing: Vec::new(),
        };
        if !are_written && states.len() < 2 {
            return Ok(parts);
        }
        let worlds = states.iter().map(SnapshotState::worlds);
        let worlds = worlds.max().unwrap_or(0);
        for world in 0..worlds {
            let hashes: Vec<Option<StateHashes>> = states
                .iter()
                .map(|state| state.state_hashes(world))
                .collect();
            if let [Some(one), Some(two)] = &hashes[..] {
                let place = place(world, worlds);
                let lines = one.differing(two).map(|part| format!("{place}{part}"));
                parts.differing.extend(lines);
            }
            if are_written {
                for ((kept, read), hashes) in parts.kept.iter_mut().zip(read).zip(hashes) {
                    hashes.map_or(Ok(()), |hashes| kept.add(read, hashes))?;
                }
            }
        }
        Ok(parts)
    }
}

/// How a line begins that is about a world, of so many.
fn place(world: usize, worlds: usize) -> String {
    match worlds {
        0 | 1 => String::new(),
        _ => format!("world {world}: "),
    }
}

/// In what two files differ.
#[derive(Serialize)]
struct Compared {
    same_bytes: bool,
    /// Which parts of the states differ, as lines.
    parts: Vec<String>,
    /// The first of all differences, as lines.
    first: Vec<String>,
    /// How many there are.
    differences: usize,
}

impl Compared {
    fn of(
        [here, there]: [&Read<'_>; 2],
        [ours, theirs]: [&SnapshotState<'_>; 2],
        parts: Vec<String>,
        most: usize,
    ) -> Self {
        let (one, two) = (ours.worlds(), theirs.worlds());
        let mut compared = Self {
            same_bytes: here.bytes == there.bytes,
            parts,
            first: Vec::new(),
            differences: 0,
        };
        if one != two {
            compared.differences = 1;
            let (one, two) = (plural(one, "world"), plural(two, "world"));
            compared.first.push(format!("{one} here, {two} there"));
        }
        let worlds = one.max(two);
        compared.differences += ours.differences(theirs, |world, difference| {
            if compared.first.len() < most {
                let place = place(world, worlds);
                compared.first.push(format!("{place}{difference}"));
            }
            ControlFlow::Continue(())
        });
        compared
    }

    fn text(&self, most: usize) -> String {
        if self.differences == 0 {
            return match self.same_bytes {
                true => "the same bytes\n".into(),
                false => "the same state; other bytes, of where entities lie, what chunks have, or who is dead\n".into(),
            };
        }
        let mut text = String::new();
        for line in self.parts.iter().take(most) {
            let _ = writeln!(text, "{line}");
        }
        match self.parts.len().saturating_sub(most) {
            0 => {}
            1 => _ = writeln!(text, "… and 1 more part"),
            more => _ = writeln!(text, "… and {more} more parts"),
        }
        for line in &self.first {
            let _ = writeln!(text, "{line}");
        }
        match self.differences - self.first.len() {
            0 => {}
            more => _ = writeln!(text, "… and {more} more"),
        }
        text
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`CliError`]: a file cannot be read, is no snapshot or damaged; or the two differ.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let inputs: Vec<PathBuf> = core::iter::once(&args.file)
        .chain(&args.other)
        .cloned()
        .collect();
    let files = Destination::open_all([("--json", args.json.as_deref())], &inputs)?;
    let screen = Screen::beside(&files);
    let read: Vec<Read<'_>> = inputs
        .iter()
        .map(|path| Read::of(path))
        .collect::<Result<_, _>>()?;
    let states: Vec<SnapshotState<'_>> = read.iter().map(Read::state).collect::<Result<_, _>>()?;
    let parts = Parts::of(&read, &states, args.json.is_some())?;
    let most = args.most as usize;
    let compared = match (&read[..], &states[..]) {
        ([here, there], [ours, theirs]) => Some(Compared::of(
            [here, there],
            [ours, theirs],
            parts.differing,
            most,
        )),
        _ => None,
    };
    let mut text = String::new();
    for read in &read {
        let _ = writeln!(text, "{}: {}", shown_path(read.path), read.summary);
    }
    if let Some(compared) = &compared {
        let _ = write!(text, "\n{}", compared.text(most));
    }
    let shown = screen.show(&text);
    // Whatever became of the screen.
    let [json] = files;
    let told = Told {
        format: "megachunk-snapshot 1",
        files: read
            .iter()
            .zip(parts.kept)
            .map(|(read, kept)| ToldFile::of(read, kept.worlds))
            .collect(),
        compared,
    };
    let written = json.map_or(Ok(()), |file| file.write(&told.json()));
    CliError::last_of([shown, written, told.outcome()])
}

impl Told<'_> {
    fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("strings, numbers and lists of them can always be written");
        text.push('\n');
        text
    }

    /// Two that differ are a failure, as of `diff`.
    fn outcome(&self) -> Result<(), CliError> {
        match (&self.compared, &self.files[..]) {
            (Some(compared), [here, there]) if compared.differences > 0 => {
                let count = plural(compared.differences, "difference");
                let (here, there) = (shown_path(&here.path), shown_path(&there.path));
                Err(CliError::Failed(format!(
                    "{here} and {there} differ: {count}"
                )))
            }
            _ => Ok(()),
        }
    }
}
