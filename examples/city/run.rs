//! The run: the world is furnished and peopled, and goes through its frames.

use std::sync::Arc;
use std::time::{Duration, Instant};

use megachunk::chunk::ChunkOptions;
use megachunk::cli::{CliError, Interrupt};
use megachunk::entity::{EntityIndex, IndexOptions};
use megachunk::prelude::*;

use super::agent::{Pulse, register};
use super::args::{Args, FRAMES};
use super::error::CityError;
use super::frame::{self, Camera, Film, Trips};
use super::live::Live;
use super::map::Map;
use super::people::Kinds;
use super::report::{Busy, Report};

/// A city after its last frame.
#[derive(Debug)]
pub(crate) struct City {
    pub(crate) simulation: Simulation,
    pub(crate) film: Film,
    pub(crate) report: Report,
}

/// Frames between two shots of the film.
pub(crate) const SHOT: u64 = 6;
/// Actors of the film.
const ACTORS: usize = 2_000;

/// Runs a city on the threads that are asked for.
pub(crate) fn run(args: &Args) -> Result<City, CityError> {
    if !(args.seconds.is_finite() && (0.0..=86_400.0).contains(&args.seconds)) {
        return Err(CityError::BadArgument {
            flag: "--seconds",
            reason: format!("{} is not between 0 and 86400", args.seconds),
        });
    }
    let threads = args.threads.unwrap_or(0);
    if args.threads == Some(0) || threads > 1_024 {
        return Err(CityError::BadArgument {
            flag: "--threads",
            reason: format!("{threads} is not between 1 and 1024"),
        });
    }
    if args.agents > EntityIndex::CAPACITY {
        return Err(CityError::BadArgument {
            flag: "--agents",
            reason: format!("{} is more than {}", args.agents, EntityIndex::CAPACITY),
        });
    }
    let map = Map::read(&args.map)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().map_err(|error| CliError::NoThreads {
        threads: args.threads.unwrap_or_else(rayons_own),
        asked: args.threads.is_some(),
        reason: error.to_string(),
    })?;
    pool.install(|| run_here(args, map))
}

/// As many threads as rayon makes where nobody says how many.
fn rayons_own() -> usize {
    let said = std::env::var("RAYON_NUM_THREADS").ok();
    let said = said
        .and_then(|said| said.parse().ok())
        .filter(|&said| said > 0);
    said.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |all| all.get()))
}

fn run_here(args: &Args, map: Map) -> Result<City, CityError> {
    // What goes makes room for what comes: 256 MiB of it are kept.
    let chunks = ChunkOptions::new().retain(256);
    let universe = Universe::ordered_with(&IndexOptions::new(), &chunks);
    let universe = universe.map_err(|source| CityError::NoRoom { source })?;
    let mut world = World::of(&Arc::new(universe)).map_err(CityError::of)?;
    register(world.registry()).map_err(CityError::of)?;
    frame::furnish(&mut world, map, args.seed)?;
    let mut simulation = Simulation::new(world, frame::schedule());
    let (world, schedule) = simulation.parts_mut();
    schedule.set_measured(true);
    // Its observers are there before anybody comes.
    schedule.solve(world).map_err(CityError::of)?;
    let kinds = Kinds::load(world, args)?;
    Pulse::rule(world).map_err(CityError::of)?;
    world.resources_mut().insert(kinds.newcomers()?);
    let began = Instant::now();
    kinds.spawn(world, args)?;
    let spawn = began.elapsed();
    let wants_film = args.html.is_some();
    if wants_film {
        Film::engage(world, ACTORS)?;
    }
    if args.trace.is_some() {
        simulation.schedule_mut().start_trace();
    }

    let mut city = City {
        simulation,
        film: Film::default(),
        report: Report::new(args),
    };
    city.report.spawn(args.agents, spawn);
    let live = Live::new(args.frames());
    let step = Duration::from_secs_f64(1.0 / FRAMES);
    let interrupt = Interrupt::listen("ends after this frame, with the report of all until then");
    for number in 0..args.frames() {
        if interrupt.is_asked() {
            city.report.interrupt(args.frames());
            break;
        }
        let began = Instant::now();
        let done = city.simulation.advance(step).map_err(CityError::of)?;
        let took = began.elapsed();
        city.report.frame(took, &done.schedule.flush);
        if args.check
            && let Err(error) = city.simulation.world().check()
        {
            city.report.flaw(number, &error.to_string());
        }
        if wants_film && number.is_multiple_of(SHOT) {
            let world = city.simulation.world_mut();
            let camera = world
                .resources()
                .get::<Camera>()
                .map_or([0.0; 2], |camera| camera.at);
            city.film.shoot(world, camera);
        }
        live.frame(&city.report, city.simulation.world().count());
    }
    drop(live);
    city.finish()?;
    Ok(city)
}

impl City {
    /// What is known only at the end.
    fn finish(&mut self) -> Result<(), CityError> {
        let (world, schedule) = self.simulation.parts_mut();
        let trips = world
            .resources()
            .get::<Trips>()
            .cloned()
            .unwrap_or_default();
        self.report.processors = schedule
            .timings()
            .map(|(name, timing)| Busy::new(name, &timing))
            .collect();
        self.report.end(world, &trips)
    }
}
