//! `megachunk snapshot`: what a snapshot of worlds holds, and in what two of them differ.
//!
//! The types are not known: see [`SnapshotState`]. A file is read and checked as a whole before anything is said of it.

use core::fmt::Write as _;
use core::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::CliError;
use super::destination::{Destination, Screen};
use super::output::plural;
use crate::file_bytes;
use crate::world::{SnapshotState, SnapshotSummary, StateHashes};

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
        let summary = SnapshotSummary::read(path).map_err(failed)?;
        // Somebody may have put another thing there meanwhile, or write to it.
        let bytes = file_bytes::read(path, summary.bytes).map_err(|source| CliError::File {
            argument: None,
            path: path.to_owned(),
            source,
        })?;
        let bytes = bytes.ok_or_else(|| {
            let path = path.display();
            CliError::Failed(format!("{path} has become longer while it was read"))
        })?;
        Ok(Self {
            path,
            bytes,
            summary,
        })
    }

    fn state(&self) -> Result<SnapshotState<'_>, CliError> {
        SnapshotState::of(&self.bytes)
            .map_err(|error| CliError::Failed(format!("{}: {error}", self.path.display())))
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
    /// Of each world, if somebody wants to know.
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

/// Of each world of a file.
fn hashes(state: &SnapshotState<'_>) -> Vec<StateHashes> {
    let worlds = 0..state.worlds();
    worlds
        .filter_map(|world| state.state_hashes(world))
        .collect()
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
        hashes: [&[StateHashes]; 2],
        most: usize,
    ) -> Self {
        let (one, two) = (ours.worlds(), theirs.worlds());
        let mut compared = Self {
            same_bytes: here.bytes == there.bytes,
            parts: Vec::new(),
            first: Vec::new(),
            differences: 0,
        };
        if one != two {
            compared.differences = 1;
            let (one, two) = (plural(one, "world"), plural(two, "world"));
            compared.first.push(format!("{one} here, {two} there"));
        }
        let several = one.max(two) > 1;
        let place = |world: usize| match several {
            true => format!("world {world}: "),
            false => String::new(),
        };
        for (world, (one, two)) in hashes[0].iter().zip(hashes[1]).enumerate() {
            let parts = one.differing(two);
            let lines = parts.map(|part| format!("{}{part}", place(world)));
            compared.parts.extend(lines);
        }
        compared.differences += ours.differences(theirs, |world, difference| {
            if compared.first.len() < most {
                compared.first.push(format!("{}{difference}", place(world)));
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
    let hashes: Vec<Vec<StateHashes>> = match args.json.is_some() || args.other.is_some() {
        true => states.iter().map(hashes).collect(),
        false => vec![Vec::new()],
    };
    let most = args.most as usize;
    let compared = match (&read[..], &states[..], &hashes[..]) {
        ([here, there], [ours, theirs], [one, two]) => Some(Compared::of(
            [here, there],
            [ours, theirs],
            [one, two],
            most,
        )),
        _ => None,
    };
    let mut text = String::new();
    for read in &read {
        let _ = writeln!(text, "{}: {}", read.path.display(), read.summary);
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
            .zip(hashes)
            .map(|(read, hashes)| ToldFile::of(read, hashes))
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
                let (here, there) = (&here.path, &there.path);
                Err(CliError::Failed(format!(
                    "{here} and {there} differ: {count}"
                )))
            }
            _ => Ok(()),
        }
    }
}
