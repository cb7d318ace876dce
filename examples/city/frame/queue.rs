//! `Queues`: who drives before whom.
//!
//! Every frame the cars are sorted by lane and metres. Then each knows how much road is free before it, and how fast
//! the car there is: the next of its lane, or, for the first, the last of the lane it is going to, or a
//! line at which it has to stop.

use megachunk::prelude::*;
use rayon::prelude::*;

use super::super::agent::{Car, Model, Pace, Place, Route, Wait};
use super::super::map::{Lights, Map, NOWHERE, Network};

/// What is before a car.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// Free road, in metres.
    pub(super) gap: f32,
    /// How fast whoever is there is.
    pub(super) speed: f32,
    /// The lane to go to, if it may leave this one.
    pub(super) into: u32,
}

/// A car in its queue.
#[derive(Clone, Copy, Debug, Default)]
struct Queued {
    lane: u32,
    along: f32,
    slot: u32,
    speed: f32,
    length: f32,
    /// The edge that it goes to.
    next: u32,
    /// Its goal's number: those with the same parity take the same lane of an edge.
    goal: u32,
}

#[derive(Debug)]
pub(super) struct Queues {
    /// In the order of their slots.
    came: Vec<Queued>,
    /// In the order of lanes and metres.
    cars: Vec<Queued>,
    /// For each lane where its cars begin; there is one more.
    first: Vec<u32>,
    /// For each lane the lane whose first car may come in next.
    turn: Vec<(f32, u32)>,
    ahead: Vec<Ahead>,
}

/// A free road.
const FREE: f32 = 1e6;
/// So close to the end of a lane, a car asks to be let into the next.
const ASKS: f32 = 20.0;

impl Queues {
    pub(super) fn new(map: &Map) -> Self {
        Self {
            came: Vec::new(),
            cars: Vec::new(),
            first: vec![0; map.drive.lanes.len() + 1],
            turn: vec![(FREE, NOWHERE); map.drive.lanes.len()],
            ahead: Vec::new(),
        }
    }

    pub(super) fn ahead(&self, slot: u32) -> Ahead {
        self.ahead[slot as usize]
    }

    /// The cars of a lane, the last first.
    fn of(&self, lane: u32) -> &[Queued] {
        let lane = lane as usize;
        &self.cars[self.first[lane] as usize..self.first[lane + 1] as usize]
    }

    /// Sorts those that have come, by lane and metres, and finds where each lane begins. O(cars + lanes), if lanes
    /// are short.
    fn sort(&mut self) {
        self.first.fill(0);
        for car in &self.came {
            self.first[car.lane as usize + 1] += 1;
        }
        for lane in 1..self.first.len() {
            self.first[lane] += self.first[lane - 1];
        }
        let mut next = self.first.clone();
        self.cars.resize(self.came.len(), Queued::default());
        for &car in &self.came {
            let to = &mut next[car.lane as usize];
            self.cars[*to as usize] = car;
            *to += 1;
        }
        let mut rest = &mut self.cars[..];
        let lanes = self
            .first
            .windows(2)
            .map(|ends| (ends[1] - ends[0]) as usize);
        let mut queues = Vec::with_capacity(self.first.len());
        for count in lanes.filter(|&count| count > 0) {
            let (queue, behind) = core::mem::take(&mut rest).split_at_mut(count);
            rest = behind;
            queues.push(queue);
        }
        queues.into_par_iter().with_min_len(64).for_each(|queue| {
            queue.sort_unstable_by_key(|car| (car.along.to_bits(), car.slot));
        });
    }

    /// Of the first cars of the lanes that lead to one lane, the one that is closest comes next.
    fn take_turns(&mut self, network: &Network, lights: &Lights) {
        self.turn.fill((FREE, NOWHERE));
        for lane in 0..network.lanes.len() as u32 {
            let Some(&head) = self.of(lane).last() else {
                continue;
            };
            let record = &network.lanes[lane as usize];
            let left = record.length - head.along;
            if head.next == NOWHERE || left > ASKS || lights.is_shut(record.edge) {
                continue;
            }
            let turn = &mut self.turn[into(network, &head) as usize];
            if (left, lane) < *turn {
                *turn = (left, lane);
            }
        }
    }

    /// What is before the car at `at` of the sorted ones.
    fn look(&self, network: &Network, lights: &Lights, at: usize) -> Ahead {
        let car = self.cars[at];
        let lane = &network.lanes[car.lane as usize];
        if let Some(next) = self.cars.get(at + 1).filter(|next| next.lane == car.lane) {
            return Ahead {
                gap: next.along - next.length - car.along,
                speed: next.speed,
                into: NOWHERE,
            };
        }
        let left = lane.length - car.along;
        let stop = Ahead {
            gap: left + 1.0,
            speed: 0.0,
            into: NOWHERE,
        };
        if car.next == NOWHERE {
            // The end of the way: it drives on to it.
            return Ahead { gap: FREE, ..stop };
        }
        let into = into(network, &car);
        let mine = left > ASKS || self.turn[into as usize].1 == car.lane;
        if lights.is_shut(lane.edge) || !mine {
            return stop;
        }
        match self.of(into).first() {
            None => Ahead {
                gap: FREE,
                speed: 0.0,
                into,
            },
            // One that has not yet left the crossing with all its length keeps it shut.
            Some(last) if last.along - last.length < 1.0 && last.speed < 1.0 => stop,
            Some(last) => Ahead {
                gap: left + last.along - last.length,
                speed: last.speed,
                into,
            },
        }
    }
}

/// The lane of the next edge that a car takes.
fn into(network: &Network, car: &Queued) -> u32 {
    let edge = &network.edges[car.next as usize];
    edge.first_lane + car.goal % edge.lanes
}

type Driver<'w> = (
    &'w Place,
    &'w Route,
    &'w Pace,
    &'w mut Wait,
    ConstShared<Model>,
);

pub(super) fn queue() -> ProcessorBuilder {
    processor(
        "queue",
        |mut cars: QueryRun<'_, Driver<'static>, With<Car>>,
         queues: &mut Queues,
         map: &Map,
         lights: &Lights| {
            let queues = &mut *queues;
            queues.came.clear();
            cars.for_each_chunk(|_, (places, routes, paces, waits, model)| {
                let all = places.iter().zip(routes).zip(paces).zip(waits);
                for (((place, route), pace), wait) in all {
                    wait.slot = queues.came.len() as u32;
                    queues.came.push(Queued {
                        lane: place.lane,
                        along: place.along,
                        slot: wait.slot,
                        speed: pace.speed,
                        length: model.length as f32 / 100.0,
                        next: route.next,
                        goal: route.goal,
                    });
                }
            });
            queues.sort();
            queues.take_turns(&map.drive, lights);
            let mut ahead = core::mem::take(&mut queues.ahead);
            let found = (0..queues.cars.len()).into_par_iter().with_min_len(1_024);
            let found: Vec<Ahead> = found
                .map(|at| queues.look(&map.drive, lights, at))
                .collect();
            ahead.clear();
            ahead.resize(
                found.len(),
                Ahead {
                    gap: FREE,
                    speed: 0.0,
                    into: NOWHERE,
                },
            );
            for (car, found) in queues.cars.iter().zip(found) {
                ahead[car.slot as usize] = found;
            }
            queues.ahead = ahead;
        },
    )
    .phase(Phase::DuringPhysics)
    .group("Traffic")
}
