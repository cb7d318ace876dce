//! `Report`: what a run was like.

use std::fmt;
use std::time::Duration;

use megachunk::cli::shown_path;
use megachunk::prelude::*;
use megachunk::processor::Timing;
use serde::Serialize;

use super::agent::{Car, Person};
use super::args::{Args, FRAMES};
use super::error::CityError;
use super::frame::Trips;

/// A processor's share.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Busy {
    name: String,
    mean_us: f64,
    longest_us: f64,
    /// In the last frame.
    entities: usize,
    chunks: usize,
}

impl Busy {
    pub(crate) fn new(name: &str, timing: &Timing) -> Self {
        Self {
            name: name.into(),
            mean_us: timing.total.as_secs_f64() * 1e6 / timing.runs.max(1) as f64,
            longest_us: timing.longest.as_secs_f64() * 1e6,
            entities: timing.seen.entities,
            chunks: timing.seen.chunks,
        }
    }
}

/// What a run was like. Times are those of the wall clock.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    map: String,
    threads: usize,
    seed: u64,
    /// Asked for.
    agents: usize,
    frames: u64,
    spawn_ms: f64,
    /// For all frames.
    wall_s: f64,
    frame_p50_ms: f64,
    frame_p99_ms: f64,
    frame_max_ms: f64,
    created: u64,
    destroyed: u64,
    moved: u64,
    /// A second of the run.
    creates_per_s: f64,
    destroys_per_s: f64,
    /// A second of the city's time.
    creates_per_city_s: f64,
    destroys_per_city_s: f64,
    /// What could not be done for want of memory, or was for the dead.
    refused: u64,
    dead: u64,
    /// Ids that depend on which thread was quicker.
    by_chance: u64,
    people: usize,
    cars: usize,
    entities: usize,
    arrivals: u64,
    departures: u64,
    /// The logical state at the end: the same for any number of threads.
    state_hash: String,
    /// Frames that were asked for, and not run because somebody has interrupted the city.
    left_out: u64,
    checked: bool,
    integrity_errors: u64,
    first_flaw: Option<String>,
    chunk_mib: f64,
    /// Of each frame.
    frame_ms: Vec<f64>,
    pub(crate) processors: Vec<Busy>,
    #[serde(skip)]
    times: Vec<Duration>,
}

impl Report {
    pub(crate) fn new(args: &Args) -> Self {
        Self {
            map: args.map.display().to_string(),
            threads: rayon::current_num_threads(),
            seed: args.seed,
            checked: args.check,
            ..Self::default()
        }
    }

    pub(crate) fn spawn(&mut self, agents: usize, took: Duration) {
        self.agents = agents;
        self.spawn_ms = took.as_secs_f64() * 1e3;
    }

    pub(crate) fn frame(&mut self, took: Duration, flush: &FlushReport) {
        self.frames += 1;
        self.times.push(took);
        self.wall_s += took.as_secs_f64();
        self.created += flush.created as u64;
        self.destroyed += flush.destroyed as u64;
        self.moved += flush.moved as u64;
        self.dead += flush.dead as u64;
        self.refused += flush.refused.len() as u64;
        self.by_chance += flush.by_chance as u64;
    }

    pub(crate) fn flaw(&mut self, frame: u64, what: &str) {
        self.integrity_errors += 1;
        self.first_flaw
            .get_or_insert_with(|| format!("after frame {frame}: {what}"));
    }

    /// Somebody has asked the city to end before all of so many `frames`.
    pub(crate) fn interrupt(&mut self, frames: u64) {
        self.left_out = frames - self.frames;
    }

    /// Whether all was run, and nothing was found that does not hold.
    pub(crate) fn verdict(&self) -> Result<(), CityError> {
        if self.integrity_errors > 0 {
            return Err(CityError::Broken {
                errors: self.integrity_errors,
            });
        }
        match self.left_out {
            0 => Ok(()),
            left_out => Err(CityError::Interrupted { left_out }),
        }
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    pub(crate) fn last_milliseconds(&self) -> f64 {
        self.times
            .last()
            .map_or(0.0, |took| took.as_secs_f64() * 1e3)
    }

    pub(crate) fn creates_a_second(&self) -> f64 {
        self.created as f64 / self.wall_s.max(1e-9)
    }

    /// What is known only at the end.
    pub(crate) fn end(&mut self, world: &mut World, trips: &Trips) -> Result<(), CityError> {
        let mut times = self.times.clone();
        self.frame_ms = times.iter().map(|took| took.as_secs_f64() * 1e3).collect();
        times.sort_unstable();
        let at = |part: f64| {
            let last = times.len().saturating_sub(1) as f64;
            times
                .get((last * part) as usize)
                .map_or(0.0, |took| took.as_secs_f64() * 1e3)
        };
        (self.frame_p50_ms, self.frame_p99_ms, self.frame_max_ms) = (at(0.5), at(0.99), at(1.0));
        self.creates_per_s = self.creates_a_second();
        self.destroys_per_s = self.destroyed as f64 / self.wall_s.max(1e-9);
        let seconds = (self.frames as f64 / FRAMES).max(1e-9);
        self.creates_per_city_s = self.created as f64 / seconds;
        self.destroys_per_city_s = self.destroyed as f64 / seconds;
        (self.arrivals, self.departures) = (trips.arrivals, trips.departures);
        let mut people = Query::<Entity, With<Person>>::new(world).map_err(CityError::of)?;
        self.people = people.on(world).count();
        let mut cars = Query::<Entity, With<Car>>::new(world).map_err(CityError::of)?;
        self.cars = cars.on(world).count();
        self.entities = world.count();
        // The film's actors are outside.
        let options = SnapshotOptions::new().skip_not_plain();
        let hash = world.state_hash(&options).map_err(CityError::of)?;
        self.state_hash = format!("{hash:016x}");
        self.chunk_mib = world.stats().chunk_bytes as f64 / f64::from(1 << 20);
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} agents spawned in {:.1} ms; {} frames ({:.1} s at {FRAMES} a second) on {} thread{} in {:.2} s",
            shown_path(&self.map),
            self.agents,
            self.spawn_ms,
            self.frames,
            self.frames as f64 / FRAMES,
            self.threads,
            if self.threads == 1 { "" } else { "s" },
            self.wall_s
        )?;
        writeln!(
            f,
            "frame: p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms",
            self.frame_p50_ms, self.frame_p99_ms, self.frame_max_ms
        )?;
        writeln!(
            f,
            "{:.0} creations and {:.0} destructions a second of the city's time ({:.0} and {:.0} of the run's); {} changes of archetype",
            self.creates_per_city_s,
            self.destroys_per_city_s,
            self.creates_per_s,
            self.destroys_per_s,
            self.moved
        )?;
        writeln!(
            f,
            "{} people and {} cars at the end, {} entities in {:.1} MiB; {} arrivals, {} left by the map's edge",
            self.people, self.cars, self.entities, self.chunk_mib, self.arrivals, self.departures
        )?;
        if self.left_out > 0 {
            writeln!(f, "Interrupted: {} frames were not run.", self.left_out)?;
        }
        if self.checked {
            writeln!(
                f,
                "integrity: {} errors in {} frames",
                self.integrity_errors, self.frames
            )?;
        }
        if let Some(flaw) = &self.first_flaw {
            writeln!(f, "  {flaw}")?;
        }
        if self.refused + self.by_chance > 0 {
            writeln!(
                f,
                "{} commands refused, {} ids by chance",
                self.refused, self.by_chance
            )?;
        }
        writeln!(f, "state {}", self.state_hash)?;
        writeln!(
            f,
            "{:10} {:>12} {:>12} {:>9} {:>7}",
            "processor", "mean, us", "longest, us", "entities", "chunks"
        )?;
        for busy in &self.processors {
            writeln!(
                f,
                "{:10} {:>12.1} {:>12.1} {:>9} {:>7}",
                busy.name, busy.mean_us, busy.longest_us, busy.entities, busy.chunks
            )?;
        }
        Ok(())
    }
}
