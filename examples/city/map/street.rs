//! `Street`, `Area`: what a picture shows of the map.

use super::extract::{Extract, What};
use super::project::Projection;

/// How a street looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Steps,
    Path,
    Service,
    Street,
    Main,
    Major,
}

impl Class {
    /// From kerb to kerb, in metres, for so many lanes of each direction.
    pub(crate) fn width(self, lanes: u32) -> f32 {
        let lane = 3.0 * lanes as f32;
        match self {
            Self::Steps => 1.5,
            Self::Path => 2.5,
            Self::Service => 3.5,
            Self::Street => 2.0_f32.mul_add(lane, 0.0),
            Self::Main => 2.0_f32.mul_add(lane, 1.0),
            Self::Major => 2.0_f32.mul_add(lane, 3.0),
        }
    }
}

/// A street's middle line.
#[derive(Debug)]
pub(crate) struct Street {
    pub(crate) class: Class,
    pub(crate) points: Vec<[f32; 2]>,
}

/// What covers the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cover {
    Green,
    Water,
    Building,
    /// A line, with the land to its left.
    Coast,
}

/// A piece of ground, by its rim.
#[derive(Debug)]
pub(crate) struct Area {
    pub(crate) cover: Cover,
    pub(crate) points: Vec<[f32; 2]>,
}

fn places(extract: &Extract, projection: &Projection, stretch: &[i64]) -> Vec<[f32; 2]> {
    let places = stretch.iter().filter_map(|id| extract.nodes.get(id));
    places.map(|&place| projection.place(place)).collect()
}

/// The streets, the least first.
pub(super) fn streets(extract: &Extract, projection: &Projection) -> Vec<Street> {
    let mut streets = Vec::new();
    for way in &extract.ways {
        if let What::Street { class, .. } = way.is {
            streets.extend(extract.stretches(way).map(|stretch| Street {
                class,
                points: places(extract, projection, stretch),
            }));
        }
    }
    streets.sort_by_key(|street| street.class);
    streets
}

/// The areas: buildings on top.
pub(super) fn areas(extract: &Extract, projection: &Projection) -> Vec<Area> {
    let mut areas = Vec::new();
    for way in &extract.ways {
        if let What::Area(cover) = way.is {
            let closed = way.nodes.len() > 3 && way.nodes.first() == way.nodes.last();
            if closed || cover == Cover::Coast {
                areas.extend(extract.stretches(way).map(|stretch| Area {
                    cover,
                    points: places(extract, projection, stretch),
                }));
            }
        }
    }
    areas.sort_by_key(|area| area.cover);
    areas
}

/// The corners of the rectangle round all streets.
pub(super) fn bounds(streets: &[Street]) -> [[f32; 2]; 2] {
    let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
    for point in streets.iter().flat_map(|street| &street.points) {
        for axis in 0..2 {
            low[axis] = low[axis].min(point[axis]);
            high[axis] = high[axis].max(point[axis]);
        }
    }
    [low, high]
}
