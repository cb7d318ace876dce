//! Cars: they follow those before them, and move.

use megachunk::prelude::*;

use super::super::agent::{
    Car, Exhaust, Heading, Hidden, Luck, Model, Pace, Place, Position, Route, Wait, due,
};
use super::super::map::{Map, NOWHERE};
use super::exhaust::LIFE;
use super::queue::Queues;
use super::trip::Arrived;

/// What is left free before a car that stands, in metres.
const STAND: f32 = 1.5;
/// How long a driver takes to notice, in seconds.
const REACTION: f32 = 1.1;
/// Who has stood for so long, in seconds, thinks of another goal.
const PATIENCE: f32 = 45.0;

/// The Intelligent Driver Model (Treiber, Hennecke and Helbing, 2000): how a driver speeds up or brakes, in
/// metres a second each second.
fn acceleration(model: &Model, speed: f32, wish: f32, gap: f32, before: f32) -> f32 {
    let most = model.acceleration as f32 / 100.0;
    let comfort = model.braking as f32 / 100.0;
    let closing = speed * (speed - before) / (2.0 * (most * comfort).sqrt());
    let wanted = STAND + speed.mul_add(REACTION, closing).max(0.0);
    let free = speed / wish.max(0.1);
    let near = wanted / gap.max(0.05);
    most * (1.0 - free * free * free * free - near * near)
}

type Driver<'w> = (&'w Place, &'w mut Pace, &'w mut Wait, ConstShared<Model>);

pub(super) fn follow() -> ProcessorBuilder {
    processor(
        "follow",
        |cars: QueryRun<'_, Driver<'static>, With<Car>>,
         (queues, map, time): (&Queues, &Map, &Time)| {
            let (tick, step) = (time.tick, time.seconds());
            cars.filter_chunks(move |chunk| due(chunk, tick) > 0)
                .par_for_each_chunk(|chunk, (places, paces, waits, model)| {
                    let step = step * due(&chunk, tick) as f32;
                    for ((place, pace), wait) in places.iter().zip(paces).zip(waits) {
                        let ahead = queues.ahead(wait.slot);
                        let lane = &map.drive.lanes[place.lane as usize];
                        let wish = pace.wish * lane.speed;
                        let change = acceleration(model, pace.speed, wish, ahead.gap, ahead.speed);
                        // Not into the next car, whatever happens.
                        let most = ((ahead.gap - 0.5) / step).max(0.0);
                        pace.speed = change.mul_add(step, pace.speed).clamp(0.0, most);
                        if pace.speed < 0.1 {
                            wait.seconds += step;
                        } else {
                            wait.seconds = 0.0;
                        }
                    }
                });
        },
    )
    .phase(Phase::DuringPhysics)
    .group("Traffic")
    .after("queue")
}

type Moved<'w> = (
    Entity,
    &'w mut Position,
    &'w mut Heading,
    &'w mut Place,
    &'w mut Route,
    &'w Pace,
    &'w mut Wait,
    &'w mut Luck,
    ConstShared<Model>,
);

pub(super) fn drive() -> ProcessorBuilder {
    processor(
        "drive",
        |cars: QueryRun<'_, Moved<'static>, With<Car>>,
         commands: ParallelCommands,
         signals: ParallelSignals,
         arrived: &Signal<Arrived>,
         (queues, map, time, ways): (&Queues, &Map, &Time, &super::Ways)| {
            let (tick, frame) = (time.tick, time.seconds());
            let network = &map.drive;
            let goals = ways.drive.goals.len() as u32;
            cars.filter_chunks(move |chunk| due(chunk, tick) > 0)
                .par_for_each_chunk(|chunk, slices| {
                    let step = frame * due(&chunk, tick) as f32;
                    let smokes = !chunk.has::<Hidden>();
                    let key = chunk.sort_key();
                    let mut commands = commands.open_at(key);
                    let mut signals = signals.open_at(key);
                    let (entities, positions, headings, places, routes, paces, waits, lucks, model) =
                        slices;
                    for row in 0..entities.len() {
                        let (place, route) = (&mut places[row], &mut routes[row]);
                        let pace = &paces[row];
                        let (speed, slot) = (pace.speed, waits[row].slot);
                        let length = network.lanes[place.lane as usize].length;
                        let along = speed.mul_add(step, place.along);
                        if along < length {
                            place.along = along;
                        } else {
                            let into = queues.ahead(slot).into;
                            if into != NOWHERE {
                                let most = network.lanes[into as usize].length;
                                *place = Place {
                                    lane: into,
                                    along: (along - length).min(most),
                                };
                                (route.next, route.leg) = (NOWHERE, 0);
                            } else {
                                place.along = length;
                                if route.next == NOWHERE {
                                    let model = Some(*model);
                                    signals.send(*arrived, entities[row], Arrived { model });
                                }
                            }
                        }
                        if waits[row].seconds > PATIENCE {
                            waits[row].seconds = 0.0;
                            route.goal = lucks[row].below(goals);
                            route.next = NOWHERE;
                        }
                        let (at, heading) = network.place(place.lane, place.along, &mut route.leg);
                        positions[row] = Position(at);
                        headings[row] = Heading(heading);
                        if smokes && model.exhaust > 0 {
                            let chance = step * 1_000.0 / model.exhaust as f32;
                            if lucks[row].part() < chance {
                                let cloud = (Position(at), Exhaust(LIFE));
                                // No memory for a cloud: then there is none.
                                let _ = commands.create(cloud);
                            }
                        }
                    }
                });
        },
    )
    .phase(Phase::DuringPhysics)
    .group("Traffic")
    .after("follow")
}
