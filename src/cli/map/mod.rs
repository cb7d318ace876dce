//! `megachunk map`: draws where allocators place what they give out, or how a world's chunks are filled.
//!
//! A trace or a made-up workload runs on each contender. What is alive at its end is drawn: the
//! index as rows of cells, darker the more of a cell's slots are alive; the mega-chunks as strips
//! or squares of 64 chunks, coloured by the length of the run that each chunk belongs to. The
//! pictures show only ids and runs that were handed out, so every allocator can be drawn.
//!
//! A world is drawn as its compositions, each a strip of its chunks, darker the more of their rows are in use.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;

use super::CliError;
use super::destination::{Destination, Screen};
use super::output::{grouped, plural};
use super::ready::ready;
use super::trace_named::trace_named;
use super::workload::Registry;
use crate::trace::Trace;
use crate::trace::replay::{Replay, ReplayError};

mod chunks;
mod index;
mod json;
mod shade;
mod svg;
mod terminal;
mod workload;
mod world;

pub use chunks::{ChunkPlacement, ChunkSubject};

use chunks::{ChunkFigures, ChunkMap};
use index::{IndexFigures, IndexMap};
use terminal::Canvas;
use workload::Workload;
use world::{MadeWorld, STREETS, WorldMap};

/// Draw where allocators place what they give out, or how the chunks of a world are filled.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("made").args(["workload", "world"]))]
pub struct Args {
    /// A trace file, `-` for standard input, or the name of a trace that the program carries
    /// (python, gcc, node) [default: python]
    #[arg(value_name = "TRACE", conflicts_with = "made")]
    trace: Option<PathBuf>,

    /// Run a made-up workload instead of a trace
    #[arg(long, value_enum)]
    workload: Option<Workload>,

    /// Draw a world instead of allocators: its compositions, and how full each chunk is
    #[arg(long, value_enum)]
    world: Option<MadeWorld>,

    /// How many objects the workload is about, or how many entities the world has at first [default: 100000; 520 in
    /// `fragmented`, 20000 in `archetypes`]
    #[arg(long, value_name = "N", requires = "made", conflicts_with = "trace", value_parser = clap::value_parser!(u32).range(2..=50_000_000))]
    size: Option<u32>,

    /// The streets of the world `city`: an OpenStreetMap extract [default: data/maps/monaco.osm.pbf]
    #[arg(
        long,
        value_name = "MAP.osm.pbf",
        requires = "world",
        conflicts_with = "workload"
    )]
    streets: Option<PathBuf>,

    /// What is drawn: the end, or the moment at which the most is alive
    #[arg(long, value_enum, default_value = "end", conflicts_with = "world")]
    at: Moment,

    /// The allocators to draw, entity and chunk allocators alike
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "all", conflicts_with = "world", value_parser = allocator_names())]
    allocator: Vec<String>,

    /// Threads to run on [default: as many as were recorded]
    ///
    /// With a multiple, the trace is played several times side by side.
    #[arg(long, value_name = "N", conflicts_with = "world", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Let only one in N objects be a run of chunks [default: as many as fit into a picture]
    #[arg(long, value_name = "N", conflicts_with = "world", value_parser = clap::value_parser!(u32).range(1..))]
    chunk_share: Option<u32>,

    /// Write the picture to an SVG file (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write what the picture shows to a file as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Whether the terminal's picture has colours
    #[arg(long, value_enum, default_value = "auto")]
    color: Colour,
}

/// When a run is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Moment {
    /// After the last event
    End,
    /// When the most objects live
    Peak,
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Colour {
    /// Where the picture goes to a terminal, unless NO_COLOR is set to anything, or TERM is dumb
    Auto,
    Always,
    Never,
}

/// What is drawn, apart from how.
#[derive(Debug)]
enum Subject {
    Allocators(Picture),
    World(Box<WorldMap>),
}

impl Subject {
    fn of(args: &Args) -> Result<Self, CliError> {
        let Some(world) = args.world else {
            return Ok(Self::Allocators(picture(args, &trace(args)?)?));
        };
        let map = world.map(args.size, args.streets.as_deref())?;
        Ok(Self::World(Box::new(map)))
    }

    fn text(&self, canvas: Canvas) -> String {
        match self {
            Self::Allocators(picture) => terminal::draw(picture, canvas),
            Self::World(map) => map.text(canvas),
        }
    }

    fn svg(&self) -> String {
        match self {
            Self::Allocators(picture) => svg::draw(picture),
            Self::World(map) => map.svg(),
        }
    }

    fn json(&self) -> String {
        match self {
            Self::Allocators(picture) => json::draw(picture),
            Self::World(map) => map.json(),
        }
    }
}

/// What allocators have given out.
#[derive(Debug)]
struct Picture {
    title: String,
    indices: Vec<IndexMap>,
    chunk_title: Option<String>,
    chunks: Vec<ChunkMap>,
}

/// Objects that a workload is about if nobody says how many.
const USUAL_SIZE: u32 = 100_000;
/// Chunks in use that a picture has room for.
const PICTURED_CHUNKS: u64 = 6_000;

fn allocator_names() -> PossibleValuesParser {
    let registry = Registry::standard();
    let ids = registry.entity_allocators().map(|(name, _)| name);
    let chunks = registry.chunk_allocators().map(|(name, _)| name);
    let mut names: Vec<&str> = ids.chain(chunks).chain(["all"]).collect();
    names.sort_unstable();
    names.dedup();
    PossibleValuesParser::new(names)
}

/// Runs the subcommand.
///
/// # Errors
/// [`CliError`] where the trace cannot be read or an allocator fails, or no world can be made.
pub fn run(args: &Args) -> Result<(), CliError> {
    let files = [
        ("--svg", args.svg.as_deref()),
        ("--json", args.json.as_deref()),
    ];
    let files = Destination::open_all(files, &inputs(args))?;
    let screen = Screen::beside(&files);
    let subject = Subject::of(args)?;
    let canvas = Canvas {
        width: width(screen),
        colour: match args.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => screen.is_terminal() && wants_colour(|name| std::env::var_os(name)),
        },
    };
    let shown = screen.show(&subject.text(canvas));
    // Whatever became of the screen.
    let [svg, json] = files;
    let drawn = svg.map_or(Ok(()), |file| file.write(&subject.svg()));
    let written = json.map_or(Ok(()), |file| file.write(&subject.json()));
    CliError::last_of([shown, drawn, written])
}

/// The files that are read.
fn inputs(args: &Args) -> Vec<PathBuf> {
    let streets = (args.world == Some(MadeWorld::City)).then(|| {
        let streets = args.streets.as_deref();
        streets.unwrap_or(Path::new(STREETS)).to_owned()
    });
    args.trace.iter().cloned().chain(streets).collect()
}

/// Whether the environment lets a terminal have colours. (An empty `NO_COLOR` says nothing: <https://no-color.org>.)
pub(super) fn wants_colour(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let refuses = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    let cannot = variable("TERM").is_some_and(|value| value == "dumb");
    !refuses && !cannot
}

/// The width of the terminal that the text goes to; where there is none, `COLUMNS`, or 100.
fn width(screen: Screen) -> usize {
    let terminal = screen.width();
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(variable).unwrap_or(100)
}

fn trace(args: &Args) -> Result<Trace, CliError> {
    let whole = match (&args.trace, args.workload) {
        (_, Some(workload)) => {
            let name = clap::ValueEnum::to_possible_value(&workload);
            let name = name.map_or_else(String::new, |name| name.get_name().to_owned());
            workload.trace(&name, args.size.unwrap_or(USUAL_SIZE) as usize)
        }
        (path, None) => trace_named(None, path.as_deref().unwrap_or(Path::new("python")))?,
    };
    Ok(match args.at {
        Moment::End => whole,
        Moment::Peak => whole.window(0..whole.peak_at()).unwrap_or(whole),
    })
}

fn picture(args: &Args, trace: &Trace) -> Result<Picture, CliError> {
    let chosen = |name: &str| {
        args.allocator
            .iter()
            .any(|wanted| wanted == name || wanted == "all")
    };
    let failed = |name: &str, error: ReplayError| {
        CliError::Failed(format!("{} on {name}: {error}", trace.name()))
    };
    let no_room = |allocator| move |source| CliError::NoRoom { allocator, source };
    let registry = Registry::standard();
    let wanted = args.threads.map_or(0, usize::from);
    let mut replay = ready(trace, args.threads)?;
    let (threads, events) = (replay.threads(), replay.events());
    let mut indices = Vec::new();
    for (name, fresh) in registry
        .entity_allocators()
        .filter(|(name, _)| chosen(name))
    {
        let allocator = fresh().map_err(no_room(name))?;
        let placement = allocator
            .placement(&mut replay)
            .map_err(|error| failed(name, error))?;
        indices.push(IndexMap::new(name, placement));
    }

    let share = share(args, trace);
    let fewer = trace.share(share);
    // It may lack a thread or two: then as many as it has.
    let replay = Replay::new(&fewer, wanted).or_else(|_| Replay::new(&fewer, 0));
    let mut replay = replay.map_err(|limit| {
        let reason = format!("one in {share} objects of {}: {limit}", trace.name());
        CliError::Failed(reason)
    })?;
    let mut chunks = Vec::new();
    for (name, fresh) in registry.chunk_allocators().filter(|(name, _)| chosen(name)) {
        let allocator = fresh().map_err(no_room(name))?;
        let placement = allocator
            .placement(&mut replay)
            .map_err(|error| failed(name, error))?;
        chunks.push(ChunkMap::new(name, placement));
    }
    let moment = match args.at {
        Moment::End => "at its end",
        Moment::Peak => "at its peak",
    };
    Ok(Picture {
        title: format!(
            "{} {moment}: {} on {}",
            trace.name(),
            plural(events, "event"),
            plural(threads, "thread")
        ),
        indices,
        chunk_title: (!chunks.is_empty()).then(|| match share {
            1 => format!("{} as runs of chunks", trace.name()),
            share => format!("{} as runs of chunks: one in {share} objects", trace.name()),
        }),
        chunks,
    })
}

/// One in how many objects becomes a run of chunks.
fn share(args: &Args, trace: &Trace) -> usize {
    let chunks = trace.summary().peak_live * chunks::MEAN_LENGTH as u64;
    args.chunk_share.map_or_else(
        || chunks.div_ceil(PICTURED_CHUNKS).max(1) as usize,
        |share| share as usize,
    )
}

fn index_caption(figures: &IndexFigures) -> String {
    let retired = match figures.retired {
        Some(retired) => format!(", {} retired", plural(retired, "slot")),
        None => String::new(),
    };
    format!(
        "{} live in {}, {:.1} % full, {}, spread {:.2}×, highest index {}{retired}",
        grouped(figures.live),
        plural(figures.blocks, "block"),
        100.0 * figures.occupancy,
        plural(figures.holes, "hole"),
        figures.spread,
        grouped(figures.highest as usize),
    )
}

fn chunk_caption(figures: &ChunkFigures) -> String {
    let product = figures.stats.map_or_else(String::new, |stats| {
        format!(
            ", {} committed ({} empty), {} and {}",
            plural(stats.committed_megachunks, "mega-chunk"),
            stats.empty_megachunks,
            plural(stats.commits as usize, "commit"),
            plural(stats.decommits as usize, "decommit"),
        )
    });
    format!(
        "{} in {}, in {}, {:.1} % full, fragmentation {:.2}{product}",
        plural(figures.in_use, "chunk"),
        plural(figures.runs, "run"),
        plural(figures.megachunks, "mega-chunk"),
        100.0 * figures.occupancy,
        figures.fragmentation,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_no_colours_or_cannot_show_them_gets_none() {
        for (name, value, expected) in [
            ("NO_COLOR", "1", false),
            ("NO_COLOR", "", true),
            ("TERM", "dumb", false),
            ("TERM", "xterm-256color", true),
        ] {
            let variable = |asked: &str| (asked == name).then(|| OsString::from(value));
            assert_eq!(wants_colour(variable), expected, "{name}={value}");
        }
    }
}
