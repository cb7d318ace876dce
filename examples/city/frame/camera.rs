//! The camera, and the traffic lights.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use megachunk::prelude::*;

use super::super::map::{Lights, Map};

/// Flies from one lively place to the next, and round again.
#[derive(Clone, Debug)]
pub(crate) struct Camera {
    pub(crate) at: [f32; 2],
    tour: Vec<[f32; 2]>,
    /// The metres of the tour up to each place; one more for the way back.
    along: Vec<f32>,
}

/// In metres a second.
const SPEED: f32 = 25.0;
/// The side of the squares in which crossings are counted, in metres.
const SQUARE: f32 = 300.0;
/// Places of a tour.
const PLACES: usize = 4;
/// How far from the liveliest place the others are, in metres.
const RANGE: core::ops::Range<f32> = 350.0..1_500.0;

impl Camera {
    pub(super) fn over(map: &Map) -> Self {
        let tour = lively(map);
        let mut along = vec![0.0];
        for (number, place) in tour.iter().enumerate() {
            let next = tour[(number + 1) % tour.len()];
            let length = (next[0] - place[0]).hypot(next[1] - place[1]);
            along.push(along[number] + length);
        }
        let mut camera = Self {
            at: [0.0; 2],
            tour,
            along,
        };
        camera.fly(0.0);
        camera
    }

    fn fly(&mut self, seconds: f32) {
        let round = self.along[self.tour.len()].max(1.0);
        let metres = (seconds * SPEED) % round;
        let at = self.along.partition_point(|&along| along <= metres) - 1;
        let at = at.min(self.tour.len() - 1);
        let (from, to) = (self.tour[at], self.tour[(at + 1) % self.tour.len()]);
        let part = (metres - self.along[at]) / (self.along[at + 1] - self.along[at]).max(1.0);
        self.at = [0, 1].map(|axis| (to[axis] - from[axis]).mul_add(part, from[axis]));
    }

    /// How far something is, in square metres: quicker than a root for each agent.
    #[inline]
    pub(crate) fn distance_squared(&self, at: [f32; 2]) -> f32 {
        let [x, y] = [0, 1].map(|axis| at[axis] - self.at[axis]);
        x * x + y * y
    }
}

/// The middles of the squares with the most crossings: the first of all, and others not far from it.
fn lively(map: &Map) -> Vec<[f32; 2]> {
    let mut squares: BTreeMap<[i32; 2], u32> = BTreeMap::new();
    for node in &map.walk.nodes {
        let square = node.map(|metres| (metres / SQUARE).floor() as i32);
        *squares.entry(square).or_insert(0) += 1;
    }
    let mut squares: Vec<([i32; 2], u32)> = squares.into_iter().collect();
    squares.sort_by_key(|&(square, count)| (Reverse(count), square));
    let middles = squares
        .iter()
        .map(|(square, _)| square.map(|at| (at as f32 + 0.5) * SQUARE));
    let mut tour: Vec<[f32; 2]> = Vec::new();
    for place in middles {
        let distance = |other: &[f32; 2]| (place[0] - other[0]).hypot(place[1] - other[1]);
        let near_first = tour
            .first()
            .is_none_or(|first| RANGE.contains(&distance(first)));
        if near_first && tour.iter().all(|other| distance(other) >= RANGE.start) {
            tour.push(place);
        }
        if tour.len() == PLACES {
            break;
        }
    }
    tour
}

pub(super) fn camera() -> ProcessorBuilder {
    processor("camera", |camera: &mut Camera, time: &Time| {
        camera.fly(time.now.as_secs_f32());
    })
}

pub(super) fn lights() -> ProcessorBuilder {
    processor("lights", |lights: &mut Lights, map: &Map, time: &Time| {
        lights.set(&map.drive, time.now.as_secs_f32());
    })
    .phase(Phase::StartPhysics)
}
