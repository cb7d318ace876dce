//! `Network`: where agents of one kind move: nodes, edges between them, and the lanes of the edges.
//!
//! An edge leads one way. Cars have a lane or several beside each other, people on foot a strip along
//! the kerb. Positions are given by a lane and the metres along it.

use std::collections::HashMap;

use super::extract::{Extract, OneWay, What};
use super::project::Projection;
use super::street::Class;

/// Who moves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Drive,
    Walk,
}

/// What stops cars at the end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Free,
    /// Traffic lights: which of the two directions has green by turns.
    Lights {
        group: u8,
    },
    /// People cross the street from time to time.
    Zebra,
}

/// A way from a node to another one.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) first_lane: u32,
    pub(crate) lanes: u32,
    pub(crate) control: Control,
    /// What it takes, in seconds.
    pub(crate) time: f32,
}

/// A line that agents move along.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) edge: u32,
    first: u32,
    count: u32,
    /// In metres.
    pub(crate) length: f32,
    /// The fastest that is allowed, in metres a second.
    pub(crate) speed: f32,
}

#[derive(Debug, Default)]
pub(crate) struct Network {
    pub(crate) nodes: Vec<[f32; 2]>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) lanes: Vec<Lane>,
    /// The lanes' points.
    points: Vec<[f32; 2]>,
    /// The metres along the lane of each point.
    along: Vec<f32>,
    /// The edges that end in each node: from where in `ins`.
    first_in: Vec<u32>,
    ins: Vec<u32>,
}

/// What a stretch of street is like.
#[derive(Clone, Copy)]
struct Kind {
    class: Class,
    speed: f32,
    lanes: u32,
    both: bool,
}

/// Whoever walks does so at this speed, in metres a second, if nothing holds him up.
const WALK: f32 = 1.4;

impl Network {
    pub(super) fn build(extract: &Extract, projection: &Projection, mode: Mode) -> Self {
        let mut network = Self::default();
        let mut nodes = HashMap::new();
        let splits = splits(extract, mode);
        let mut tagged = Vec::new();
        for way in &extract.ways {
            let Some((kind, direction)) = kind(&way.is, mode) else {
                continue;
            };
            for stretch in extract.stretches(way) {
                let mut begin = 0;
                for end in 1..stretch.len() {
                    if splits[&stretch[end]] < 2 && end + 1 < stretch.len() {
                        continue;
                    }
                    let piece = &stretch[begin..=end];
                    begin = end;
                    let mut places: Vec<[f32; 2]> = piece
                        .iter()
                        .map(|id| projection.place(extract.nodes[id]))
                        .collect();
                    places.dedup();
                    if places.len() < 2 {
                        continue;
                    }
                    let [from, to] = [piece[0], piece[piece.len() - 1]].map(|id| {
                        *nodes.entry(id).or_insert_with(|| {
                            network.nodes.push(projection.place(extract.nodes[&id]));
                            tagged.push(extract.lights.contains(&id));
                            network.nodes.len() as u32 - 1
                        })
                    });
                    if direction != OneWay::Back {
                        network.add(from, to, &places, kind, mode);
                    }
                    if direction != OneWay::Forth {
                        places.reverse();
                        network.add(to, from, &places, kind, mode);
                    }
                }
            }
        }
        network.connect();
        if mode == Mode::Drive {
            let mut zebras = vec![false; network.nodes.len()];
            for (id, &node) in &nodes {
                zebras[node as usize] = extract.zebras.contains(id);
            }
            network.control(&tagged, &zebras);
        }
        network
    }

    fn add(&mut self, from: u32, to: u32, middle: &[[f32; 2]], kind: Kind, mode: Mode) {
        let edge = self.edges.len() as u32;
        let first_lane = self.lanes.len() as u32;
        let half = kind.class.width(kind.lanes) / 2.0;
        for lane in 0..kind.lanes {
            // To the right of the middle, where there is one; a street for one direction has its lanes round it.
            let aside = match mode {
                Mode::Walk if kind.class <= Class::Path => 0.6,
                Mode::Walk => half + 1.0,
                Mode::Drive if kind.both => 1.5 + 3.0 * lane as f32,
                Mode::Drive => 3.0_f32.mul_add(lane as f32, -1.5 * (kind.lanes - 1) as f32),
            };
            self.add_lane(edge, &beside(middle, aside), kind.speed);
        }
        let length = self.lanes[first_lane as usize].length;
        self.edges.push(Edge {
            from,
            to,
            first_lane,
            lanes: kind.lanes,
            control: Control::Free,
            time: length / kind.speed,
        });
    }

    fn add_lane(&mut self, edge: u32, points: &[[f32; 2]], speed: f32) {
        let first = self.points.len() as u32;
        let mut length = 0.0;
        for (at, &point) in points.iter().enumerate() {
            if at > 0 {
                length += distance(points[at - 1], point);
            }
            self.points.push(point);
            self.along.push(length);
        }
        self.lanes.push(Lane {
            edge,
            first,
            count: points.len() as u32,
            length,
            speed,
        });
    }

    /// Notes for each node which edges end there.
    fn connect(&mut self) {
        let mut counts = vec![0_u32; self.nodes.len() + 1];
        for edge in &self.edges {
            counts[edge.to as usize + 1] += 1;
        }
        for node in 1..counts.len() {
            counts[node] += counts[node - 1];
        }
        self.first_in = counts.clone();
        self.ins = vec![0; self.edges.len()];
        for (at, edge) in self.edges.iter().enumerate() {
            let next = &mut counts[edge.to as usize];
            self.ins[*next as usize] = at as u32;
            *next += 1;
        }
    }

    /// Puts traffic lights and zebras where edges end.
    fn control(&mut self, tagged: &[bool], zebras: &[bool]) {
        for node in 0..self.nodes.len() {
            let ins: Vec<u32> = self.edges_into(node as u32).to_vec();
            let mut neighbours: Vec<u32> = ins
                .iter()
                .map(|&edge| self.edges[edge as usize].from)
                .collect();
            neighbours.sort_unstable();
            neighbours.dedup();
            let fast = |&&edge: &&u32| {
                let lane = self.edges[edge as usize].first_lane;
                self.lanes[lane as usize].speed > 10.0
            };
            let crossing = neighbours.len() >= 3;
            if tagged[node] || (crossing && ins.iter().filter(fast).count() >= 3) {
                let axis = ins.first().map_or([1.0, 0.0], |&edge| self.arrival(edge));
                for edge in ins {
                    let [x, y] = self.arrival(edge);
                    let group = u8::from((x * axis[0] + y * axis[1]).abs() < 0.7);
                    self.edges[edge as usize].control = Control::Lights { group };
                }
            } else if zebras[node] {
                for edge in ins {
                    self.edges[edge as usize].control = Control::Zebra;
                }
            }
        }
    }

    /// The direction in which an edge comes to its end.
    fn arrival(&self, edge: u32) -> [f32; 2] {
        let lane = self.edges[edge as usize].first_lane;
        self.place(lane, self.lanes[lane as usize].length, &mut 0).1
    }

    pub(crate) fn edges_into(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.ins[self.first_in[node] as usize..self.first_in[node + 1] as usize]
    }

    /// The points of a lane.
    pub(crate) fn line(&self, lane: u32) -> &[[f32; 2]] {
        let lane = &self.lanes[lane as usize];
        &self.points[lane.first as usize..(lane.first + lane.count) as usize]
    }

    /// Where the lane is after so many metres, and in which direction it leads there. `leg` is the piece of the lane
    /// that the last call ended in: who moves forth finds his place from there.
    #[inline]
    pub(crate) fn place(&self, lane: u32, metres: f32, leg: &mut u32) -> ([f32; 2], [f32; 2]) {
        let lane = &self.lanes[lane as usize];
        let points = lane.first as usize..(lane.first + lane.count) as usize;
        let (points, along) = (&self.points[points.clone()], &self.along[points]);
        let last = points.len() - 2;
        let mut at = (*leg as usize).min(last);
        while at < last && along[at + 1] <= metres {
            at += 1;
        }
        while at > 0 && along[at] > metres {
            at -= 1;
        }
        *leg = at as u32;
        let long = along[at + 1] - along[at];
        let part = ((metres - along[at]) / long).clamp(0.0, 1.0);
        let (a, b) = (points[at], points[at + 1]);
        let by = [b[0] - a[0], b[1] - a[1]];
        let place = [by[0].mul_add(part, a[0]), by[1].mul_add(part, a[1])];
        (place, [by[0] / long, by[1] / long])
    }
}

/// What a way is for those who move like this.
fn kind(is: &What, mode: Mode) -> Option<(Kind, OneWay)> {
    let What::Street {
        class,
        speed,
        on_foot,
        way,
        lanes,
    } = *is
    else {
        return None;
    };
    match mode {
        Mode::Drive => speed.map(|speed| {
            let both = way == OneWay::Both;
            let kind = Kind {
                class,
                speed,
                lanes,
                both,
            };
            (kind, way)
        }),
        Mode::Walk => on_foot.then_some({
            let kind = Kind {
                class,
                speed: if class == Class::Steps {
                    WALK / 2.0
                } else {
                    WALK
                },
                lanes: 1,
                both: true,
            };
            (kind, OneWay::Both)
        }),
    }
}

/// How often each node is passed: where it is more than once, or a way ends, or something stops cars, edges end.
fn splits(extract: &Extract, mode: Mode) -> HashMap<i64, u32> {
    let mut splits = HashMap::new();
    for way in &extract.ways {
        if kind(&way.is, mode).is_none() {
            continue;
        }
        for stretch in extract.stretches(way) {
            let ends = [stretch[0], stretch[stretch.len() - 1]];
            for id in stretch.iter().chain(&ends) {
                *splits.entry(*id).or_insert(0) += 1;
            }
        }
    }
    if mode == Mode::Drive {
        for id in extract.lights.iter().chain(&extract.zebras) {
            splits.entry(*id).and_modify(|count| *count += 1);
        }
    }
    splits
}

/// The line so many metres to the right of another one. No two neighbouring points are the same.
fn beside(line: &[[f32; 2]], metres: f32) -> Vec<[f32; 2]> {
    let direction = |a: [f32; 2], b: [f32; 2]| {
        let long = distance(a, b);
        [(b[0] - a[0]) / long, (b[1] - a[1]) / long]
    };
    let mut moved: Vec<[f32; 2]> = Vec::with_capacity(line.len());
    for at in 0..line.len() {
        let before = (at > 0).then(|| direction(line[at - 1], line[at]));
        let behind = (at + 1 < line.len()).then(|| direction(line[at], line[at + 1]));
        let (a, b) = match (before, behind) {
            (Some(a), Some(b)) => (a, b),
            (Some(a), None) | (None, Some(a)) => (a, a),
            (None, None) => ([1.0, 0.0], [1.0, 0.0]),
        };
        let sum = [a[0] + b[0], a[1] + b[1]];
        let long = (sum[0] * sum[0] + sum[1] * sum[1]).sqrt().max(0.5);
        let along = [sum[0] / long, sum[1] / long];
        let point = [
            along[1].mul_add(metres, line[at][0]),
            along[0].mul_add(-metres, line[at][1]),
        ];
        if moved
            .last()
            .is_none_or(|&last| distance(last, point) > 0.01)
        {
            moved.push(point);
        }
    }
    // A tiny loop may shrink to a point.
    if moved.len() < 2 {
        return line.to_vec();
    }
    moved
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}
