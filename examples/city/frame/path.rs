//! Path choice: whoever does not know his next edge looks it up in the field of his goal.

use megachunk::prelude::*;
use megachunk::query::QueryData;

use super::super::agent::{Car, Luck, Person, Place, Route, due};
use super::super::map::{Fields, Map, NOWHERE, Network};
use super::Ways;

/// How often somebody who cannot reach his goal thinks of another one before he gives up.
const TRIES: u32 = 4;

/// The next edge from the end of a lane; another goal if there is no way to this one.
pub(super) fn choose(
    network: &Network,
    fields: &Fields,
    place: &Place,
    route: &mut Route,
    luck: &mut Luck,
) {
    let lane = &network.lanes[place.lane as usize];
    let node = network.edges[lane.edge as usize].to;
    for _ in 0..TRIES {
        let goal = fields.goals[route.goal as usize];
        route.next = fields.next(route.goal as u16, node);
        if route.next != NOWHERE || goal.node == node {
            return;
        }
        route.goal = luck.below(fields.goals.len() as u32);
    }
}

type Choice<'w> = (&'w Place, &'w mut Route, &'w mut Luck);

fn choose_all<'w>(
    slices: <Choice<'static> as QueryData>::Slices<'w>,
    network: &Network,
    fields: &Fields,
) {
    let (places, routes, lucks) = slices;
    for ((place, route), luck) in places.iter().zip(routes).zip(lucks) {
        if route.next == NOWHERE {
            choose(network, fields, place, route, luck);
        }
    }
}

pub(super) fn car_paths() -> ProcessorBuilder {
    processor(
        "car paths",
        |cars: QueryRun<'_, Choice<'static>, With<Car>>, map: &Map, ways: &Ways, time: &Time| {
            let tick = time.tick;
            cars.filter_chunks(move |chunk| due(chunk, tick) > 0)
                .par_for_each_chunk(|_, slices| choose_all(slices, &map.drive, &ways.drive));
        },
    )
    .phase(Phase::StartPhysics)
    .group("Paths")
}

pub(super) fn walk_paths() -> ProcessorBuilder {
    processor(
        "walk paths",
        |people: QueryRun<'_, Choice<'static>, With<Person>>,
         map: &Map,
         ways: &Ways,
         time: &Time| {
            let tick = time.tick;
            people
                .filter_chunks(move |chunk| due(chunk, tick) > 0)
                .par_for_each_chunk(|_, slices| choose_all(slices, &map.walk, &ways.walk));
        },
    )
    .phase(Phase::StartPhysics)
    .group("Paths")
}
