//! `Args`: what the city is told.

use std::path::{Path, PathBuf};

use megachunk::cli::{Destination, shown_path};

use super::error::CityError;

/// A crowd of people and cars on the streets of a real city: an OpenStreetMap extract.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// An OpenStreetMap extract (.osm.pbf); data/maps has Monaco and Andorra.
    #[arg(value_name = "MAP.osm.pbf")]
    pub(crate) map: PathBuf,

    /// Agents at first: people, cars and buses as the configs say.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) agents: usize,

    /// Seconds to simulate, 60 frames each, as fast as the machine can.
    #[arg(
        long,
        value_name = "S",
        default_value_t = 20.0,
        allow_negative_numbers = true
    )]
    pub(crate) seconds: f64,

    /// Threads; all cores unless that is said. The city is the same for any number.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// The same seed makes the same city.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// A directory of entity configs (.toml) instead of those that the program brings along; data/city has these. The
    /// ids `pedestrian`, `car` and `bus` must be among them.
    #[arg(long, value_name = "DIR")]
    pub(crate) configs: Option<PathBuf>,

    /// Check every invariant of the world after every frame, and count what does not hold.
    #[arg(long)]
    pub(crate) check: bool,

    /// Write the report as JSON; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Draw the city and its agents at the end.
    #[arg(long, value_name = "FILE")]
    pub(crate) png: Option<PathBuf>,

    /// The same drawing, to scale without loss.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Write a page that plays what happened, for any browser. Who is filmed has a fragment more, and lies elsewhere: the
    /// state at the end is another one than without, and the same for any number of threads.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write when which processor ran on which thread, for Perfetto or chrome://tracing.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

impl Args {
    pub(crate) fn frames(&self) -> u64 {
        (self.seconds * FRAMES).round() as u64
    }

    /// Opens the files for the report, PNG, SVG, page and trace, where they are asked for and lie over nothing that is
    /// read: said before the run, not after it.
    pub(crate) fn open(&self) -> Result<[Option<Destination<'_>>; 5], CityError> {
        let files = [
            ("--json", &self.json),
            ("--png", &self.png),
            ("--svg", &self.svg),
            ("--html", &self.html),
            ("--trace", &self.trace),
        ];
        for (flag, path) in files {
            let Some(path) = path else {
                continue;
            };
            if flag != "--json" && path.as_os_str() == "-" {
                let reason =
                    "only the report can go to standard output; a file may be called `./-`";
                let reason = reason.to_owned();
                return Err(CityError::BadArgument { flag, reason });
            }
            if let Some(reason) = place(path).and_then(|place| self.reads(&place)) {
                return Err(CityError::BadArgument { flag, reason });
            }
        }
        let files = files.map(|(flag, path)| (flag, path.as_deref()));
        Ok(Destination::open_all(files, &[])?)
    }

    /// What the city reads in the file `place`, if it does.
    fn reads(&self, place: &Path) -> Option<String> {
        let is_map = self.map.canonicalize().is_ok_and(|map| map == place);
        let configs = self
            .configs
            .as_ref()
            .and_then(|path| path.canonicalize().ok());
        let is_config = configs.is_some_and(|configs| place.starts_with(configs))
            && place
                .extension()
                .is_some_and(|extension| extension == "toml");
        let what = match (is_map, is_config) {
            (true, _) => "the map",
            (_, true) => "a config",
            _ => return None,
        };
        Some(format!("{} is {what} that is read", shown_path(place)))
    }
}

/// The one name of a file, whether it is there or not; `None` for what is no file: a device, a pipe.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(place) = path.canonicalize() {
        return place.is_file().then_some(place);
    }
    let name = path.file_name()?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
    Some(folder.join(name))
}

/// Frames a second.
pub(crate) const FRAMES: f64 = 60.0;
