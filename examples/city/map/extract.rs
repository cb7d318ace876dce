//! `Extract`: what a file of OpenStreetMap says, as far as it matters here.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use osmpbf::{Element, ElementReader};

use super::super::error::CityError;
use super::street::{Class, Cover};

/// Nodes and ways.
#[derive(Debug, Default)]
pub(super) struct Extract {
    /// Latitude and longitude in degrees.
    pub(super) nodes: HashMap<i64, [f64; 2]>,
    pub(super) ways: Vec<Way>,
    /// Where there are traffic lights.
    pub(super) lights: HashSet<i64>,
    /// Where people cross a street.
    pub(super) zebras: HashSet<i64>,
}

/// A street, or the rim of an area.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) nodes: Vec<i64>,
    pub(super) is: What,
}

#[derive(Debug)]
pub(super) enum What {
    Street {
        class: Class,
        /// What cars drive, in metres a second; `None` where they may not.
        speed: Option<f32>,
        on_foot: bool,
        way: OneWay,
        /// Of each direction.
        lanes: u32,
    },
    Area(Cover),
}

/// In which direction cars may drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OneWay {
    Both,
    Forth,
    Back,
}

impl Way {
    pub(super) fn is_street(&self) -> bool {
        matches!(self.is, What::Street { .. })
    }
}

impl Extract {
    pub(super) fn read(path: &Path) -> Result<Self, CityError> {
        let file = |source| CityError::File {
            path: path.into(),
            source,
        };
        let opened = File::open(path).map_err(file)?;
        let what = opened.metadata().map_err(file)?;
        if what.is_dir() {
            return Err(file(ErrorKind::IsADirectory.into()));
        }
        if what.is_file() && what.len() == 0 {
            return Err(CityError::EmptyMap { path: path.into() });
        }
        let mut extract = Self::default();
        ElementReader::new(BufReader::new(opened))
            .for_each(|element| extract.take(&element))
            .map_err(|error| CityError::DamagedMap {
                path: path.into(),
                reason: error.to_string(),
            })?;
        Ok(extract)
    }

    fn take(&mut self, element: &Element<'_>) {
        match element {
            Element::Node(node) => {
                self.node(node.id(), [node.lat(), node.lon()], node.tags());
            }
            Element::DenseNode(node) => {
                self.node(node.id(), [node.lat(), node.lon()], node.tags());
            }
            Element::Way(way) => {
                if let Some(is) = what(&way.tags().collect()) {
                    let nodes = way.refs().collect();
                    self.ways.push(Way { nodes, is });
                }
            }
            Element::Relation(_) => {}
        }
    }

    fn node<'t>(
        &mut self,
        id: i64,
        at: [f64; 2],
        mut tags: impl Iterator<Item = (&'t str, &'t str)>,
    ) {
        self.nodes.insert(id, at);
        match tags.find(|&(key, _)| key == "highway") {
            Some((_, "traffic_signals")) => drop(self.lights.insert(id)),
            Some((_, "crossing" | "stop")) => drop(self.zebras.insert(id)),
            _ => {}
        }
    }

    /// The places of the nodes that are in the extract, in stretches: who leaves it and comes back, comes in
    /// another one.
    pub(super) fn stretches<'e>(&'e self, way: &'e Way) -> impl Iterator<Item = &'e [i64]> + 'e {
        let known = |id: &i64| self.nodes.contains_key(id);
        way.nodes
            .split(move |id| !known(id))
            .filter(|stretch| stretch.len() >= 2)
    }
}

/// What a way is by its tags, if it matters.
fn what(tags: &HashMap<&str, &str>) -> Option<What> {
    if let Some(&highway) = tags.get("highway") {
        return street(highway, tags);
    }
    let cover = if tags.get("building").is_some_and(|&what| what != "no") {
        Cover::Building
    } else if tags.get("natural") == Some(&"water") || tags.contains_key("waterway") {
        Cover::Water
    } else if matches!(
        tags.get("leisure"),
        Some(&("park" | "garden" | "pitch" | "playground" | "golf_course"))
    ) || matches!(
        tags.get("landuse"),
        Some(&("grass" | "forest" | "meadow" | "farmland" | "recreation_ground" | "cemetery"))
    ) || matches!(tags.get("natural"), Some(&("wood" | "scrub" | "grassland")))
    {
        Cover::Green
    } else if tags.get("natural") == Some(&"coastline") {
        Cover::Coast
    } else {
        return None;
    };
    Some(What::Area(cover))
}

fn street(highway: &str, tags: &HashMap<&str, &str>) -> Option<What> {
    let (class, kilometres, on_foot) = match highway {
        "motorway" | "trunk" => (Class::Major, Some(90.0), false),
        "motorway_link" | "trunk_link" => (Class::Major, Some(50.0), false),
        "primary" | "secondary" => (Class::Main, Some(50.0), true),
        "primary_link" | "secondary_link" => (Class::Main, Some(40.0), true),
        "tertiary" | "tertiary_link" => (Class::Street, Some(50.0), true),
        "residential" | "unclassified" | "road" => (Class::Street, Some(30.0), true),
        "living_street" => (Class::Street, Some(15.0), true),
        "service" => (Class::Service, Some(15.0), true),
        "footway" | "path" | "pedestrian" | "cycleway" | "track" | "corridor" => {
            (Class::Path, None, true)
        }
        "steps" => (Class::Steps, None, true),
        _ => return None,
    };
    let tag = |key: &str| tags.get(key).copied();
    let shut = matches!(tag("access"), Some("private" | "no"))
        || matches!(tag("motor_vehicle"), Some("private" | "no"));
    let way = match tag("oneway") {
        Some("yes" | "1" | "true") => OneWay::Forth,
        Some("-1" | "reverse") => OneWay::Back,
        Some(_) => OneWay::Both,
        None if matches!(tag("junction"), Some("roundabout" | "circular")) => OneWay::Forth,
        None if highway.starts_with("motorway") => OneWay::Forth,
        None => OneWay::Both,
    };
    let all = tag("lanes").and_then(|lanes| lanes.parse::<u32>().ok());
    let lanes = match (way, all) {
        (OneWay::Both, Some(lanes)) => lanes / 2,
        (_, Some(lanes)) => lanes,
        (_, None) => 1,
    };
    let speed = kilometres.filter(|_| !shut);
    let speed = speed.map(|usual| {
        tag("maxspeed")
            .and_then(kilometres_an_hour)
            .unwrap_or(usual)
    });
    Some(What::Street {
        class,
        speed: speed.map(|kilometres| kilometres / 3.6),
        on_foot: on_foot && tag("foot") != Some("no"),
        way,
        lanes: lanes.clamp(1, 4),
    })
}

/// `50`, `50 km/h`, `30 mph`.
fn kilometres_an_hour(text: &str) -> Option<f32> {
    let (number, factor) = match text.strip_suffix("mph") {
        Some(miles) => (miles, 1.609),
        None => (text.trim_end_matches("km/h"), 1.0),
    };
    let speed = number.trim().parse::<f32>().ok()? * factor;
    (5.0..=150.0).contains(&speed).then_some(speed)
}
