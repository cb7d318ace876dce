//! The film: some agents have an actor outside the world, which a translator moves after them.

use megachunk::prelude::*;
use megachunk::processor::translator::{Hosts, to_host};

use super::super::agent::{Car, Exhaust, Position};

/// The object of a host that shows an agent: here it is a track on film.
#[derive(Clone, Debug)]
pub(super) struct Actor {
    /// Its number among the actors.
    number: u32,
    car: bool,
    at: [f32; 2],
}

/// What was recorded: for each shot the place of each actor, where he is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Film {
    pub(crate) shots: Vec<Vec<Option<[f32; 2]>>>,
    /// Whether each actor is a car.
    pub(crate) cars: Vec<bool>,
    /// The camera of each shot.
    pub(crate) camera: Vec<[f32; 2]>,
}

impl Film {
    /// Engages so many agents, evenly among all.
    pub(crate) fn engage(world: &mut World, actors: usize) -> Result<(), super::CityError> {
        Hosts::<Actor>::install(world).map_err(super::CityError::of)?;
        let mut agents =
            Query::<(Entity, &Position, megachunk::query::Has<Car>), Without<Exhaust>>::new(world)
                .map_err(super::CityError::of)?;
        let all: Vec<(Entity, [f32; 2], bool)> = agents
            .on(world)
            .iter()
            .map(|(entity, position, car)| (entity, position.0, car))
            .collect();
        let every = (all.len() / actors.max(1)).max(1);
        for (number, &(entity, at, car)) in all.iter().step_by(every).take(actors).enumerate() {
            let number = number as u32;
            let actor = Actor { number, car, at };
            Hosts::attach(world, entity, actor).map_err(super::CityError::of)?;
        }
        Ok(())
    }

    /// Records where the actors are now. Those whose agents have left are not in the picture any more.
    pub(crate) fn shoot(&mut self, world: &mut World, camera: [f32; 2]) {
        let Some(hosts) = world.resources_mut().get_mut::<Hosts<Actor>>() else {
            return;
        };
        hosts.take_orphans();
        let mut shot = Vec::new();
        for (_, actor) in hosts.iter() {
            let number = actor.number as usize;
            if shot.len() <= number {
                shot.resize(number + 1, None);
            }
            if self.cars.len() <= number {
                self.cars.resize(number + 1, false);
            }
            self.cars[number] = actor.car;
            shot[number] = Some(actor.at);
        }
        self.shots.push(shot);
        self.camera.push(camera);
    }
}

pub(super) fn film() -> ProcessorBuilder {
    to_host::<Actor, &Position, Changed<Position>>("film", |actor, position| actor.at = position.0)
}
