//! What must hold of a city, seen from inside.

use std::path::PathBuf;

use megachunk::prelude::*;
use megachunk::query::Has;

use super::agent::{Car, Far, Hidden, Model, Near, Person, Place, Position, Pulse, Route};
use super::args::Args;
use super::map::{Fields, Lights, Map, NOWHERE};
use super::run::{City, run};

fn args(agents: usize, seconds: f64) -> Args {
    Args {
        map: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/maps/monaco.osm.pbf"),
        agents,
        seconds,
        threads: Some(2),
        seed: 5,
        configs: None,
        check: true,
        json: None,
        png: None,
        svg: None,
        html: None,
        trace: None,
    }
}

fn monaco() -> Map {
    Map::read(&args(0, 0.0).map).unwrap()
}

#[test]
fn monaco_has_streets_for_cars_and_for_people() {
    let map = monaco();
    let length = |network: &super::map::Network| -> f32 {
        network.lanes.iter().map(|lane| lane.length).sum()
    };
    // It has about 77 km of roads, and is no larger than 4 km.
    assert!((50_000.0..400_000.0).contains(&length(&map.drive)));
    assert!((50_000.0..400_000.0).contains(&length(&map.walk)));
    let [low, high] = map.bounds;
    assert!((1_000.0..6_000.0).contains(&(high[0] - low[0])));
    assert!(map.areas.len() > 500, "buildings");
}

#[test]
fn whoever_moves_along_a_lane_moves_by_as_many_metres() {
    let map = monaco();
    for lane in (0..map.drive.lanes.len() as u32).step_by(7) {
        let length = map.drive.lanes[lane as usize].length;
        let (mut leg, mut last) = (0, map.drive.place(lane, 0.0, &mut 0).0);
        let steps = (length / 0.5).ceil() as u32;
        for step in 1..=steps {
            let metres = (step as f32 * 0.5).min(length);
            let (at, [x, y]) = map.drive.place(lane, metres, &mut leg);
            let moved = (at[0] - last[0]).hypot(at[1] - last[1]);
            assert!(moved <= 0.51, "lane {lane} jumps {moved} m at {metres} m");
            assert!((x.hypot(y) - 1.0).abs() < 1e-3, "a heading has length 1");
            last = at;
        }
    }
}

#[test]
fn the_ways_to_a_goal_end_there() {
    let map = monaco();
    let fields = Fields::new(&map.walk, 3);
    let exits = fields.goals.iter().filter(|goal| goal.exit).count();
    assert!((3..fields.goals.len()).contains(&exits));
    for (number, goal) in fields.goals.iter().enumerate() {
        for start in (0..map.walk.nodes.len() as u32).step_by(97) {
            let (mut node, mut steps) = (start, 0);
            loop {
                let edge = fields.next(number as u16, node);
                if edge == NOWHERE {
                    break;
                }
                assert_eq!(map.walk.edges[edge as usize].from, node);
                node = map.walk.edges[edge as usize].to;
                steps += 1;
                assert!(steps <= map.walk.nodes.len(), "a way goes in a circle");
            }
            // Whoever is not there has no way at all.
            assert!(node == goal.node || node == start);
        }
    }
}

#[test]
fn at_lights_no_two_directions_have_green_together() {
    use super::map::Control;
    let map = monaco();
    let mut lights = Lights::default();
    let mut greens = 0;
    for second in 0..60 {
        lights.set(&map.drive, second as f32);
        for node in 0..map.drive.nodes.len() as u32 {
            let mut green = [false; 2];
            for &edge in map.drive.edges_into(node) {
                if let Control::Lights { group } = map.drive.edges[edge as usize].control
                    && !lights.is_shut(edge)
                {
                    green[usize::from(group)] = true;
                    greens += 1;
                }
            }
            assert_ne!(green, [true, true]);
        }
    }
    assert!(greens > 0, "Monaco has traffic lights");
}

/// The share of cars that stand in the one before them.
fn crashed(city: &mut City) -> f64 {
    let world = city.simulation.world_mut();
    let mut query = Query::<(&Place, ConstShared<Model>), With<Car>>::new(world).unwrap();
    let mut cars: Vec<(u32, f32, f32)> = query
        .on(world)
        .iter()
        .map(|(place, model)| (place.lane, place.along, model.length as f32 / 100.0))
        .collect();
    cars.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let pairs = cars.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    // Closer than a driver would ever stand.
    let near = pairs.filter(|pair| pair[1].1 - pair[1].2 - pair[0].1 < 0.3);
    near.count() as f64 / cars.len() as f64
}

#[test]
fn cars_keep_their_distance_and_stay_on_their_lanes() {
    let mut begin = run(&args(3_000, 0.0)).unwrap();
    let mut city = run(&args(3_000, 20.0)).unwrap();
    // They come anywhere, also into each other, and leave no room for the next where they stand.
    let (before, after) = (crashed(&mut begin), crashed(&mut city));
    assert!(
        after < before / 2.0,
        "{after} of all cars, {before} at first"
    );
    let world = city.simulation.world_mut();
    let mut query = Query::<(&Place, &Route), With<Car>>::new(world).unwrap();
    let places: Vec<(Place, Route)> = query.on(world).iter().map(|(a, b)| (*a, *b)).collect();
    let map = world.resources().get::<Map>().unwrap();
    for (place, route) in places {
        let lane = &map.drive.lanes[place.lane as usize];
        assert!((0.0..=lane.length).contains(&place.along));
        let to = map.drive.edges[lane.edge as usize].to;
        if route.next != NOWHERE {
            assert_eq!(map.drive.edges[route.next as usize].from, to);
        }
    }
}

#[test]
fn agents_that_leave_are_replaced_and_all_are_on_the_map() {
    let mut city = run(&args(3_000, 20.0)).unwrap();
    let report = serde_json::to_value(&city.report).unwrap();
    assert!(report["departures"].as_u64().unwrap() > 0, "{report}");
    let agents = report["people"].as_u64().unwrap() + report["cars"].as_u64().unwrap();
    assert_eq!(agents, 3_000);
    assert_eq!(report["integrity_errors"], 0, "{report}");
    assert_eq!(report["refused"], 0);
    assert_eq!(report["by_chance"], 0, "ids do not depend on threads");
    let world = city.simulation.world_mut();
    let mut positions = Query::<&Position>::new(world).unwrap();
    let positions: Vec<Position> = positions.on(world).iter().copied().collect();
    let [low, high] = world.resources().get::<Map>().unwrap().bounds;
    for Position(at) in positions {
        for axis in 0..2 {
            assert!(
                (low[axis] - 50.0..high[axis] + 50.0).contains(&at[axis]),
                "{at:?}"
            );
        }
    }
}

#[test]
fn agents_that_are_filmed_move_as_often_as_their_level_asks() {
    let args = Args {
        html: Some("film.html".into()),
        // There are more actors: all who are there at first are filmed.
        ..args(1_500, 4.0)
    };
    let mut city = run(&args).unwrap();
    let world = city.simulation.world_mut();
    type Levels = (Entity, Has<Near>, Has<Far>, Has<Hidden>);
    let mut agents = Query::<Levels, Any<(Car, Person)>>::new(world).unwrap();
    let all: Vec<_> = agents.on(world).iter().collect();
    let mut counts = [0; 3];
    for (agent, near, far, hidden) in all {
        let (level, expected) = match (near, far, hidden) {
            (true, false, false) => (0, Pulse::NEAR),
            (false, true, false) => (1, Pulse::FAR),
            (false, false, true) => (2, Pulse::HIDDEN),
            levels => panic!("{agent} has one level, not {levels:?}"),
        };
        counts[level] += 1;
        let pulse = world.chunk_fragment::<Pulse>(agent).unwrap();
        assert_eq!(pulse, &expected, "{agent}");
    }
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}

/// The page of a city of so many seconds.
fn page(seconds: f64) -> String {
    let args = Args {
        html: Some("film.html".into()),
        ..args(50, seconds)
    };
    let mut city = run(&args).unwrap();
    let world = city.simulation.world_mut();
    let map = world.resources_mut().remove::<Map>().unwrap();
    let scene = super::picture::Scene::of(world, &map).unwrap();
    super::picture::page(&scene, &city.film, "a <city>")
}

#[test]
fn the_slider_of_the_page_ends_at_the_last_shot() {
    // Ten shots a second, the first of them numbered 0.
    for (seconds, last) in [(0.0, 0), (1.0, 9)] {
        let page = page(seconds);
        assert!(page.contains(&format!("max=\"{last}\"")), "{seconds}");
        assert!(page.contains(&format!("last = {last},")), "{seconds}");
        let draw = page.split("function draw(time) {\n").nth(1).unwrap();
        // What fails in a frame does not end the film.
        assert!(
            draw.trim_start()
                .starts_with("requestAnimationFrame(draw);")
        );
    }
}

#[test]
fn the_page_says_what_it_shows() {
    let page = page(0.5);
    for part in [
        "<canvas id=\"city\" role=\"img\" aria-label=\"a &lt;city>, seen from above\"",
        "prefers-reduced-motion: reduce",
        "aria-valuetext",
        "people",
        "cars and buses",
        "flex-wrap: wrap",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_drawing_says_what_it_is() {
    let mut city = run(&args(50, 0.1)).unwrap();
    let world = city.simulation.world_mut();
    let map = world.resources_mut().remove::<Map>().unwrap();
    let scene = super::picture::Scene::of(world, &map).unwrap();
    let svg = super::picture::svg(&scene);
    let (root, rest) = svg.split_once(">\n").unwrap();
    assert!(root.contains("role=\"img\""), "{root}");
    assert!(rest.starts_with("<title>"), "{}", &rest[..200]);
    assert!(rest.contains("<desc>Streets, buildings"));
}

#[test]
fn a_world_that_is_damaged_is_no_success() {
    let mut city = run(&args(10, 0.1)).unwrap();
    city.report.verdict().unwrap();
    city.report.flaw(3, "a flaw");
    let error = city.report.verdict().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the world is damaged: integrity errors: 1"
    );
}

#[test]
fn what_the_system_says_of_a_file_is_told_once() {
    let missing = PathBuf::from("no such map.osm.pbf");
    let Err(error) = Map::read(&missing) else {
        panic!("there is such a map");
    };
    assert!(error.to_string().starts_with("no such map.osm.pbf: "));
    assert!(std::error::Error::source(&error).is_none());
}
