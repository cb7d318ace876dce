//! The run: the world is furnished and peopled, and goes through its frames.

use std::sync::Arc;
use std::time::{Duration, Instant};

use megachunk::prelude::*;

use super::agent::{Far, Hidden, Model, Near, Place, Pulse, register};
use super::args::{Args, FRAMES};
use super::error::CityError;
use super::frame::{self, Camera, Film, Kinds, Trips};
use super::live::Live;
use super::map::Map;
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
    let map = Map::read(&args.map)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().map_err(CityError::of)?;
    pool.install(|| run_here(args, map))
}

fn run_here(args: &Args, map: Map) -> Result<City, CityError> {
    let mut world = World::of(&Arc::new(Universe::ordered())).map_err(CityError::of)?;
    register(world.registry()).map_err(CityError::of)?;
    frame::furnish(&mut world, map, args.seed)?;
    let mut simulation = Simulation::new(world, frame::schedule());
    let (world, schedule) = simulation.parts_mut();
    schedule.set_measured(true);
    // Its observers are there before anybody comes.
    schedule.solve(world).map_err(CityError::of)?;
    let kinds = Kinds { walk: 1.4 };
    prepare(world, &kinds)?;
    world.resources_mut().insert(kinds.clone());
    let began = Instant::now();
    people(world, &kinds, args)?;
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
    for number in 0..args.frames() {
        let began = Instant::now();
        let done = city.simulation.advance(step).map_err(CityError::of)?;
        let took = began.elapsed();
        city.report.frame(took, &done.schedule.flush);
        if args.check && let Err(error) = city.simulation.world().check() {
            city.report.flaw(number, &error.to_string());
        }
        if wants_film && number.is_multiple_of(SHOT) {
            let world = city.simulation.world_mut();
            let camera = world.resources().get::<Camera>().map_or([0.0; 2], |camera| camera.at);
            city.film.shoot(world, camera);
        }
        live.frame(&city.report, city.simulation.world().count());
    }
    live.end();
    city.finish()?;
    Ok(city)
}

impl City {
    /// What is known only at the end.
    fn finish(&mut self) -> Result<(), CityError> {
        let (world, schedule) = self.simulation.parts_mut();
        let trips = world.resources().get::<Trips>().cloned().unwrap_or_default();
        self.report.processors = schedule
            .timings()
            .map(|(name, timing)| Busy::new(name, &timing))
            .collect();
        self.report.end(world, &trips)
    }
}

/// Makes the archetypes of all levels of detail, each with the pulse of its level.
fn prepare(world: &mut World, kinds: &Kinds) -> Result<(), CityError> {
    let place = Place::default();
    let model = models()[0];
    let mut all = Vec::new();
    let mut create = |world: &mut World| -> Result<(), WorldError> {
        all.push(world.create(frame::person(place, kinds, Near, Pulse::NEAR))?);
        all.push(world.create(frame::person(place, kinds, Far, Pulse::FAR))?);
        all.push(world.create(frame::person(place, kinds, Hidden, Pulse::HIDDEN))?);
        all.push(world.create(frame::car(place, model, Near, Pulse::NEAR))?);
        all.push(world.create(frame::car(place, model, Far, Pulse::FAR))?);
        all.push(world.create(frame::car(place, model, Hidden, Pulse::HIDDEN))?);
        Ok(())
    };
    create(world).map_err(CityError::of)?;
    for entity in all {
        world.destroy(entity).map_err(CityError::of)?;
    }
    Ok(())
}

fn models() -> [Model; 2] {
    let model = |length, acceleration, exhaust| Model {
        length,
        acceleration,
        braking: 200,
        exhaust,
    };
    [model(430, 180, 120), model(1_200, 120, 80)]
}

fn people(world: &mut World, kinds: &Kinds, args: &Args) -> Result<(), CityError> {
    use super::agent::Luck;
    let cars = args.agents * 15 / 100;
    let Some(map) = world.resources_mut().remove::<Map>() else { return Ok(()) };
    let mut luck = Luck::new(args.seed, 7);
    let place = |network: &super::map::Network, luck: &mut Luck| loop {
        let lane = luck.below(network.lanes.len() as u32);
        let length = network.lanes[lane as usize].length;
        if luck.part() * 200.0 < length { break Place { lane, along: luck.part() * length } }
    };
    let _ = world.create_batch((cars..args.agents).map(|_| frame::person(place(&map.walk, &mut luck), kinds, Hidden, Pulse::HIDDEN))).map_err(CityError::of)?;
    let mut luck = Luck::new(args.seed, 8);
    let _ = world.create_batch((0..cars).map(|n| frame::car(place(&map.drive, &mut luck), models()[usize::from(n % 12 == 0)], Hidden, Pulse::HIDDEN))).map_err(CityError::of)?;
    world.resources_mut().insert(map);
    Ok(())
}
