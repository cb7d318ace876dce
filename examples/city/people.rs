//! Peopling: the kinds of agents that configs describe, and how many of each come.

use std::sync::Arc;

use megachunk::cli::shown_path;
use megachunk::prelude::*;
use megachunk::template::spawner::{AlongLines, SpawnPoint};

use super::agent::{Heading, Model, Place, Position, traits};
use super::args::Args;
use super::error::CityError;
use super::frame::Newcomers;
use super::map::{Map, Network};

/// The configs that the program brings along.
const CONFIGS: [(&str, &str); 4] = [
    ("agent.toml", include_str!("../../data/city/agent.toml")),
    (
        "pedestrian.toml",
        include_str!("../../data/city/pedestrian.toml"),
    ),
    ("car.toml", include_str!("../../data/city/car.toml")),
    ("bus.toml", include_str!("../../data/city/bus.toml")),
];

/// On foot, and their share of all agents.
const WALK: [(&str, f64); 1] = [("pedestrian", 88.0)];
/// On wheels.
const DRIVE: [(&str, f64); 2] = [("car", 11.0), ("bus", 1.0)];

/// The kinds of agents.
#[derive(Debug)]
pub(crate) struct Kinds {
    registry: TemplateRegistry,
}

impl Kinds {
    /// Loads the configs that the arguments name, or those that the program brings along.
    pub(crate) fn load(world: &World, args: &Args) -> Result<Self, CityError> {
        let traits = traits().map_err(CityError::of)?;
        let mut registry = TemplateRegistry::new(world.universe(), traits);
        match &args.configs {
            Some(path) => registry.load_dir(path),
            None => registry.load_texts(CONFIGS),
        }
        .map_err(CityError::of)?;
        if let (Some(path), None) = (&args.configs, registry.ids().next()) {
            return Err(CityError::BadArgument {
                flag: "--configs",
                reason: format!("there is no config (.toml) in {}", shown_path(path)),
            });
        }
        let mut kinds = WALK.iter().chain(&DRIVE).map(|&(kind, _)| kind);
        let missing = kinds.find(|kind| !registry.ids().any(|id| id == *kind));
        if let (Some(path), Some(missing)) = (&args.configs, missing) {
            return Err(CityError::BadArgument {
                flag: "--configs",
                reason: format!("{} has no config with the id '{missing}'", shown_path(path)),
            });
        }
        Ok(Self { registry })
    }

    fn template(&self, id: &str) -> Result<Arc<Template>, CityError> {
        self.registry.template(id).map_err(CityError::of)
    }

    /// What those are like who come later.
    pub(crate) fn newcomers(&self) -> Result<Newcomers, CityError> {
        let prototype = |kind: &str| {
            let template = self.template(kind)?;
            let model = template.const_shared::<Model>().copied();
            let prototype = Arc::clone(template.prototype());
            Ok::<_, CityError>((model, prototype))
        };
        let mut cars = Vec::new();
        for (kind, _) in DRIVE {
            let (model, prototype) = prototype(kind)?;
            cars.extend(model.map(|model| (model, prototype)));
        }
        let (_, person) = prototype(WALK[0].0)?;
        Ok(Newcomers { person, cars })
    }

    /// Creates as many agents as were asked for, anywhere on the streets.
    pub(crate) fn spawn(&self, world: &mut World, args: &Args) -> Result<(), CityError> {
        let map = world.resources().get::<Map>();
        let Some((walk, drive)) = map.map(|map| (lines(&map.walk), lines(&map.drive))) else {
            return Ok(());
        };
        let all: f64 = WALK.iter().chain(&DRIVE).map(|&(_, share)| share).sum();
        let driving: f64 = DRIVE.iter().map(|&(_, share)| share).sum();
        let drivers = (args.agents as f64 * driving / all).round() as usize;
        self.spawn_on(world, walk?, &WALK, args.agents - drivers, args.seed)?;
        self.spawn_on(world, drive?, &DRIVE, drivers, args.seed ^ 1)
    }

    fn spawn_on(
        &self,
        world: &mut World,
        lines: AlongLines,
        kinds: &[(&str, f64)],
        total: usize,
        seed: u64,
    ) -> Result<(), CityError> {
        let mut spawner = Spawner::new(total).seed(seed).generator(lines);
        for &(kind, share) in kinds {
            spawner = spawner
                .entry(&*self.template(kind)?, share)
                .map_err(CityError::of)?;
        }
        let place = |point: &SpawnPoint| {
            let [x, y, _] = point.position;
            let place = Place {
                lane: point.line,
                along: point.along,
            };
            (place, Position([x, y]), Heading(point.direction))
        };
        spawner.place(place).spawn(world).map_err(CityError::of)?;
        Ok(())
    }
}

/// The lanes of a network, for agents to begin on.
fn lines(network: &Network) -> Result<AlongLines, CityError> {
    let high = |points: &[[f32; 2]]| points.iter().map(|&[x, y]| [x, y, 0.0]).collect::<Vec<_>>();
    let lanes = 0..network.lanes.len() as u32;
    AlongLines::new(lanes.map(|lane| high(network.line(lane)))).map_err(CityError::of)
}
