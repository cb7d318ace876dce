//! People: they move.

use megachunk::prelude::*;

use super::super::agent::{Heading, Luck, Pace, Person, Place, Position, Route, Sway, due};
use super::super::map::{Map, NOWHERE};
use super::trip::Arrived;

type Walked<'w> = (
    Entity,
    &'w mut Position,
    &'w mut Heading,
    &'w mut Place,
    &'w mut Route,
    &'w Pace,
    &'w Sway,
    &'w mut Luck,
);

pub(super) fn walk() -> ProcessorBuilder {
    processor(
        "walk",
        |people: QueryRun<'_, Walked<'static>, With<Person>>,
         signals: ParallelSignals,
         arrived: &Signal<Arrived>,
         (map, time, ways): (&Map, &Time, &super::Ways)| {
            let (tick, frame) = (time.tick, time.seconds());
            let network = &map.walk;
            people
                .filter_chunks(move |chunk| due(chunk, tick) > 0)
                .par_for_each_chunk(|chunk, slices| {
                    let step = frame * due(&chunk, tick) as f32;
                    let mut signals = signals.open_at(chunk.sort_key());
                    let (entities, positions, headings, places, routes, paces, sways, lucks) =
                        slices;
                    for row in 0..entities.len() {
                        let (place, route) = (&mut places[row], &mut routes[row]);
                        let mut along = paces[row].speed.mul_add(step, place.along);
                        // Several short edges may lie in one step.
                        let mut length = network.lanes[place.lane as usize].length;
                        while along >= length && route.next != NOWHERE {
                            along -= length;
                            place.lane = network.edges[route.next as usize].first_lane;
                            length = network.lanes[place.lane as usize].length;
                            (route.next, route.leg) = (NOWHERE, 0);
                            super::path::choose(network, &ways.walk, place, route, &mut lucks[row]);
                        }
                        if along >= length {
                            along = length;
                            signals.send(*arrived, entities[row], Arrived { model: None });
                        }
                        place.along = along;
                        let (at, [x, y]) = network.place(place.lane, along, &mut route.leg);
                        let side = sways[row].side;
                        positions[row] =
                            Position([y.mul_add(side, at[0]), x.mul_add(-side, at[1])]);
                        headings[row] = Heading([x, y]);
                    }
                });
        },
    )
    .phase(Phase::DuringPhysics)
    .group("Crowd")
    .after("steer")
}
