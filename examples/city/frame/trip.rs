//! Trips: who sets out, who arrives, who leaves, and who comes for him.

use std::sync::Arc;

use megachunk::prelude::*;
use rayon::prelude::*;

use super::super::agent::{Car, Heading, Luck, Model, Pace, Place, Position, Route, Sway};
use super::super::map::{Map, Network};
use super::Ways;

/// The signal that an agent is at its goal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// What it drives.
    pub(super) model: Option<Model>,
}

/// What those are like who come for others that have left: a resource.
#[derive(Clone, Debug)]
pub(crate) struct Newcomers {
    pub(crate) person: Arc<Prototype>,
    pub(crate) cars: Vec<(Model, Arc<Prototype>)>,
}

/// How many came and went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trips {
    seed: u64,
    /// People and cars of each model that have left since others came for them.
    people: u32,
    cars: Vec<(Model, u32)>,
    /// Arrivals so far.
    pub(crate) arrivals: u64,
    /// Of these, at the map's edge.
    pub(crate) departures: u64,
    /// Agents that have set out so far.
    pub(crate) started: u64,
}

impl Trips {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }
}

type Start<'w> = (
    Entity,
    &'w mut Luck,
    &'w mut Route,
    &'w mut Pace,
    Option<&'w mut Sway>,
    megachunk::query::Has<Car>,
);

/// Whoever comes to life gets luck of his own, a goal and a temper.
pub(super) fn set_out() -> ProcessorBuilder {
    observing_processor::<Route, ()>("set out", Observed::CREATE, |batch, _| {
        let Some(ways) = batch.resources().get::<Ways>() else {
            return;
        };
        let goals = [&ways.walk, &ways.drive].map(|fields| fields.goals.len() as u32);
        batch.with_resource(|batch, trips: &mut Trips| {
            let started = batch.for_each::<Start<'static>>(|(_, luck, route, pace, sway, car)| {
                *luck = Luck::new(trips.seed, trips.started);
                trips.started += 1;
                route.goal = luck.below(goals[usize::from(car)]);
                pace.wish *= luck.part().mul_add(0.4, 0.8);
                pace.speed = if car { 0.0 } else { pace.wish };
                if let Some(sway) = sway {
                    sway.wish = luck.part().mul_add(1.2, -0.6);
                    sway.side = sway.wish;
                }
            });
            // Its query is a correct one.
            debug_assert!(started.is_ok());
        });
    })
}

type Arrival<'w> = (Entity, &'w mut Route, &'w mut Luck);

/// Who is at his goal goes on to another one, or leaves the map.
pub(super) fn arrive() -> ProcessorBuilder {
    processor(
        "arrive",
        |mut arrivals: Signalled<'_, Arrival<'static>>,
         mut commands: Commands<'_>,
         arrived: &Signal<Arrived>,
         trips: &mut Trips,
         ways: &Ways| {
            let _ = arrivals.deliver(|(entity, route, luck), received| {
                let model = received.of(*arrived).find_map(|arrived| arrived.model);
                let fields = if model.is_some() {
                    &ways.drive
                } else {
                    &ways.walk
                };
                trips.arrivals += 1;
                if fields.goals[route.goal as usize].exit {
                    trips.departures += 1;
                    commands.destroy(entity);
                    match model {
                        None => trips.people += 1,
                        Some(model) => match trips.cars.iter_mut().find(|(of, _)| *of == model) {
                            Some((_, count)) => *count += 1,
                            None => trips.cars.push((model, 1)),
                        },
                    }
                    return;
                }
                route.goal = luck.below(fields.goals.len() as u32);
            });
        },
    )
    .phase(Phase::FrameEnd)
    .hears::<Arrived>("arrived")
    .group("Trips")
}

/// A lane by chance, the longer the likelier, and a point of it.
fn anywhere(network: &Network, luck: &mut Luck) -> Place {
    let lane = luck.below(network.lanes.len() as u32);
    let other = luck.below(network.lanes.len() as u32);
    let longer =
        |a: u32, b: u32| network.lanes[a as usize].length >= network.lanes[b as usize].length;
    let lane = if longer(lane, other) { lane } else { other };
    Place {
        lane,
        along: luck.part() * network.lanes[lane as usize].length,
    }
}

/// For each who has left another one comes: created by the threads of the pool, straight into their chunks.
pub(super) fn respawn() -> ProcessorBuilder {
    processor(
        "respawn",
        |commands: ParallelCommands,
         trips: &mut Trips,
         (map, newcomers, time): (&Map, &Newcomers, &Time)| {
            const PIECE: u32 = 64;
            let mut pieces = Vec::new();
            let mut share = |prototype: &Arc<Prototype>, network, mut count: u32| {
                while count > 0 {
                    pieces.push((Arc::clone(prototype), network, count.min(PIECE)));
                    count -= count.min(PIECE);
                }
            };
            share(
                &newcomers.person,
                &map.walk,
                core::mem::take(&mut trips.people),
            );
            for (model, count) in trips.cars.drain(..) {
                let mut all = newcomers.cars.iter();
                if let Some((_, prototype)) = all.find(|(known, _)| *known == model) {
                    share(prototype, &map.drive, count);
                }
            }
            let seed = trips.seed ^ (time.tick << 20);
            let pieces = pieces.into_par_iter().enumerate();
            pieces.for_each(|(number, (prototype, network, count))| {
                let mut commands = commands.open_at(number as u64);
                let mut luck = Luck::new(seed, number as u64);
                let begin = |_| {
                    let place = anywhere(network, &mut luck);
                    let (at, heading) = network.place(place.lane, place.along, &mut 0);
                    (place, Position(at), Heading(heading))
                };
                // Without memory for them, the city has fewer.
                drop(commands.create_copies_with(&prototype, count as usize, begin));
            });
        },
    )
    .phase(Phase::FrameEnd)
    .after("arrive")
    .group("Trips")
}
