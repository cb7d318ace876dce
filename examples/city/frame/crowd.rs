//! `Crowd`: who walks beside whom, in front of the camera.
//!
//! People near the camera are sorted into squares of a grid. Each then steps aside from those who are too close,
//! and slows down behind those in its way. Nobody sees whether others do.

use megachunk::prelude::*;

use super::super::agent::{Heading, Near, Pace, Person, Position, Sway};
use super::Camera;
use super::detail::NEAR;

/// The side of a square, in metres: as far as anybody looks.
const SQUARE: f32 = 1.5;
/// Squares to each side of the camera.
const SQUARES: i32 = (1.3 * NEAR / SQUARE) as i32 + 1;
const SIDE: i32 = 2 * SQUARES + 1;

#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// Square and place, in the order of chunks and rows.
    came: Vec<(u32, [f32; 2])>,
    /// The places, in the order of squares.
    people: Vec<[f32; 2]>,
    /// For each square where its people begin; there is one more.
    first: Vec<u32>,
    middle: [f32; 2],
}

impl Crowd {
    /// The square of a place, or `None`: too far from the camera.
    fn square(&self, at: [f32; 2]) -> Option<[i32; 2]> {
        let square =
            [0, 1].map(|axis| ((at[axis] - self.middle[axis]) / SQUARE).floor() as i32 + SQUARES);
        let inside = square.iter().all(|&number| (0..SIDE).contains(&number));
        inside.then_some(square)
    }

    /// Sorts those that have come by their squares. O(people + squares).
    fn sort(&mut self) {
        self.first.clear();
        self.first.resize((SIDE * SIDE) as usize + 1, 0);
        for &(square, _) in &self.came {
            self.first[square as usize + 1] += 1;
        }
        for square in 1..self.first.len() {
            self.first[square] += self.first[square - 1];
        }
        let mut next = self.first.clone();
        self.people.resize(self.came.len(), [0.0; 2]);
        for &(square, at) in &self.came {
            let to = &mut next[square as usize];
            self.people[*to as usize] = at;
            *to += 1;
        }
    }

    /// Those in the square of a place and the eight round it, as far as there are not too many.
    fn around(&self, at: [f32; 2]) -> impl Iterator<Item = [f32; 2]> + '_ {
        let middle = self.square(at);
        let rows = middle.into_iter().flat_map(|[x, y]| {
            let low = (x - 1).max(0);
            let high = (x + 1).min(SIDE - 1);
            let rows = (y - 1).max(0)..=(y + 1).min(SIDE - 1);
            rows.map(move |row| ((row * SIDE + low) as usize, (row * SIDE + high) as usize))
        });
        rows.flat_map(|(low, high)| {
            let people = self.first[low] as usize..self.first[high + 1] as usize;
            self.people[people].iter().take(16).copied()
        })
    }
}

pub(super) fn crowd() -> ProcessorBuilder {
    processor(
        "crowd",
        |mut people: QueryRun<'_, &Position, (With<Person>, With<Near>)>,
         crowd: &mut Crowd,
         camera: &Camera| {
            let mut list = core::mem::take(&mut crowd.came);
            list.clear();
            crowd.middle = camera.at;
            people.for_each(|position| {
                if let Some([x, y]) = crowd.square(position.0) {
                    list.push(((y * SIDE + x) as u32, position.0));
                }
            });
            crowd.came = list;
            crowd.sort();
        },
    )
    .phase(Phase::DuringPhysics)
    .group("Crowd")
}

/// How close somebody may come, in metres.
const ROOM: f32 = 0.8;
/// How far anybody steps aside, in metres.
const ASIDE: f32 = 1.2;

type Steered<'w> = (&'w Position, &'w Heading, &'w mut Pace, &'w mut Sway);

pub(super) fn steer() -> ProcessorBuilder {
    processor(
        "steer",
        |mut people: QueryRun<'_, Steered<'static>, (With<Person>, With<Near>)>,
         crowd: &Crowd,
         time: &Time| {
            let step = time.seconds();
            // Not by whole chunks: those are few, and take long.
            people.par_for_each(|(position, heading, pace, sway)| {
                let ([x, y], [ahead_x, ahead_y]) = (position.0, heading.0);
                let (mut push, mut blocked) = (0.0_f32, 0.0_f32);
                for [other_x, other_y] in crowd.around(position.0) {
                    let (dx, dy) = (other_x - x, other_y - y);
                    let far = dx.mul_add(dx, dy * dy);
                    if !(1e-6..=SQUARE * SQUARE).contains(&far) {
                        continue;
                    }
                    let along = dx.mul_add(ahead_x, dy * ahead_y);
                    let right = dx.mul_add(ahead_y, -dy * ahead_x);
                    let far = far.sqrt();
                    if far < ROOM {
                        push -= (1.0 - far / ROOM).copysign(right);
                    }
                    if along > 0.0 && right.abs() < 0.4 {
                        blocked = blocked.max(1.0 - along / SQUARE);
                    }
                }
                let back = sway.wish - sway.side;
                let moved = push.mul_add(1.5, back * 0.5) * step;
                sway.side = (sway.side + moved).clamp(-ASIDE, ASIDE);
                let speed = pace.wish * (1.0 - 0.8 * blocked);
                pace.speed += (speed - pace.speed) * (4.0 * step).min(1.0);
            });
        },
    )
    .phase(Phase::DuringPhysics)
    .group("Crowd")
    .after("crowd")
}
