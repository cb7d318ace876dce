//! What nobody can do without: loops over vectors, by hand.

use rayon::ThreadPool;
use rayon::prelude::*;

use super::{Systems, SystemsCase, in_pool, threads as pool_of};
use crate::cli::workload::Unsupported;
use crate::cli::workload::ecs::agents::{self, Thoughts};
use crate::cli::workload::ecs::{Tally, values};

/// The vectors of one set of components, one for each letter that it has.
type Columns = Vec<Vec<f32>>;

/// The sets A B, A B C, A B C D, A B C E, where A B C E has its E in the place of D.
struct Swaps {
    sets: [Columns; 4],
    pool: Option<ThreadPool>,
}

/// Swaps two columns, entity by entity.
fn swap(columns: &mut [Vec<f32>], one: usize, other: usize) {
    let Ok([one, other]) = columns.get_disjoint_mut([one, other]) else {
        return;
    };
    one.swap_with_slice(other);
}

impl Systems for Swaps {
    fn run(&mut self, frames: u64) {
        let pool = self.pool.as_ref();
        let sets = &mut self.sets;
        in_pool(pool, frames, || {
            // A B here, C D and C E there: different columns, so that two threads may.
            let mut upper: Vec<&mut [Vec<f32>]> = Vec::with_capacity(2);
            let mut lower: Vec<&mut [Vec<f32>]> = Vec::with_capacity(4);
            for columns in sets.iter_mut() {
                let (ab, rest) = columns.split_at_mut(2);
                lower.push(ab);
                if rest.len() == 2 {
                    upper.push(rest);
                }
            }
            let lower = || lower.into_iter().for_each(|columns| swap(columns, 0, 1));
            let upper = || upper.into_iter().for_each(|columns| swap(columns, 0, 1));
            if pool.is_some() {
                rayon::join(lower, upper);
            } else {
                lower();
                upper();
            }
        });
    }

    fn tallies(&mut self) -> Vec<Tally> {
        let letter = |set: usize, at: usize| {
            let column = self.sets[set].get(at);
            Tally::of(column.into_iter().flatten().copied())
        };
        let letters = [
            letter(0, 0)
                .and(letter(1, 0))
                .and(letter(2, 0))
                .and(letter(3, 0)),
            letter(0, 1)
                .and(letter(1, 1))
                .and(letter(2, 1))
                .and(letter(3, 1)),
            letter(1, 2).and(letter(2, 2)).and(letter(3, 2)),
            letter(2, 3),
            letter(3, 3),
        ];
        letters.to_vec()
    }
}

/// Matrices and places.
struct Heavy {
    rows: Vec<([f32; 16], [f32; 3])>,
    pool: Option<ThreadPool>,
}

impl Systems for Heavy {
    fn run(&mut self, frames: u64) {
        let pool = self.pool.as_ref();
        let rows = &mut self.rows;
        in_pool(pool, frames, || {
            let each = |(matrix, position): &mut ([f32; 16], [f32; 3])| {
                values::compute(matrix, position);
            };
            if pool.is_some() {
                rows.par_iter_mut().for_each(each);
            } else {
                rows.iter_mut().for_each(each);
            }
        });
    }

    fn tallies(&mut self) -> Vec<Tally> {
        let coordinate = |at: usize| Tally::of(self.rows.iter().map(|(_, position)| position[at]));
        vec![coordinate(0), coordinate(1)]
    }
}

/// Places, headings and thoughts, each set by itself.
struct Agents {
    straight: (Vec<[f32; 2]>, Vec<[f32; 2]>),
    bent: (Vec<[f32; 2]>, Vec<[f32; 2]>, Vec<Thoughts>),
    still: (Vec<[f32; 2]>, Vec<Thoughts>),
}

impl Agents {
    fn new(of_each: u32) -> Self {
        let places = || (0..of_each).map(agents::place).collect();
        let headings = || vec![agents::heading(); of_each as usize];
        let thoughts = || (0..of_each).map(agents::thoughts).collect();
        Self {
            straight: (places(), headings()),
            bent: (places(), headings(), thoughts()),
            still: (places(), thoughts()),
        }
    }
}

impl Systems for Agents {
    fn run(&mut self, frames: u64) {
        let Self {
            straight,
            bent,
            still,
        } = self;
        for _ in 0..frames {
            for (place, heading) in straight.0.iter_mut().zip(&straight.1) {
                agents::walk(place, heading);
            }
            for (place, heading) in bent.0.iter_mut().zip(&bent.1) {
                agents::walk(place, heading);
            }
            bent.2.iter_mut().for_each(agents::think);
            still.1.iter_mut().for_each(agents::think);
            for ((place, heading), thoughts) in bent.0.iter().zip(&mut bent.1).zip(&bent.2) {
                agents::turn(place, heading, thoughts);
            }
        }
    }

    fn tallies(&mut self) -> Vec<Tally> {
        let places = || [&self.straight.0, &self.bent.0, &self.still.0].into_iter();
        let headings = [&self.straight.1, &self.bent.1].into_iter();
        let thoughts = [&self.bent.2, &self.still.1].into_iter();
        vec![
            Tally::of(places().flatten().map(|place| place[0])),
            Tally::of(places().flatten().map(|place| place[1])),
            Tally::of(headings.flatten().map(|heading| heading[0])),
            Tally::of(thoughts.flatten().map(|thoughts| thoughts.count as f32)),
        ]
    }
}

/// See [`EcsContender::systems`](crate::cli::workload::ecs::EcsContender::systems).
pub(in crate::cli::workload::ecs) fn systems(
    case: SystemsCase,
    threads: usize,
) -> Result<Box<dyn Systems>, Unsupported> {
    let pool = pool_of(threads)?;
    Ok(match case {
        SystemsCase::Swaps {
            from_main: true, ..
        } => {
            return Err(Unsupported::because("is measured in a pool"));
        }
        SystemsCase::Swaps { of_each, .. } => Box::new(Swaps {
            sets: ["AB", "ABC", "ABCD", "ABCE"].map(|set| {
                set.chars()
                    .map(|letter| vec![values::letter(letter); of_each as usize])
                    .collect()
            }),
            pool,
        }),
        SystemsCase::Heavy { entities } => Box::new(Heavy {
            rows: (0..entities)
                .map(|number| (values::quarter_turn(), values::position(number)))
                .collect(),
            pool,
        }),
        SystemsCase::Mixed { of_each } => Box::new(Agents::new(of_each)),
        SystemsCase::Empty { .. } => {
            return Err(Unsupported::because("nothing is nothing's limit"));
        }
    })
}
