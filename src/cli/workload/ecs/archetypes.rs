//! `archetypes_1000x1`, `archetypes_1000x20`, `new_query_1000`: many archetypes, few entities.

use std::sync::Mutex;

use super::{Change, EcsContender, locked};
use crate::cli::measure::{Stopwatch, Subject};

/// Archetypes: each a different subset of ten components, besides position and velocity.
const ARCHETYPES: u32 = 1_000;

/// A world with so many archetypes of `of_each` entities.
pub(super) fn world<C: EcsContender>(of_each: u32) -> C {
    let mut world = C::fresh();
    let markers: [Change<C>; 10] = [
        C::mark::<0>,
        C::mark::<1>,
        C::mark::<2>,
        C::mark::<3>,
        C::mark::<4>,
        C::mark::<5>,
        C::mark::<6>,
        C::mark::<7>,
        C::mark::<8>,
        C::mark::<9>,
    ];
    for subset in 0..ARCHETYPES {
        let ids = world.spawn_moving(of_each);
        for (bit, mark) in markers.iter().enumerate() {
            if subset >> bit & 1 == 1 {
                mark(&mut world, &ids);
            }
        }
    }
    world.settled();
    world
}

/// Velocity is added to position.
pub(super) struct Iterate<C> {
    course: Mutex<(C, u64)>,
    of_each: u32,
}

impl<C: EcsContender> Iterate<C> {
    pub(super) fn new(of_each: u32) -> Self {
        Self {
            course: Mutex::new((world(of_each), 0)),
            of_each,
        }
    }
}

impl<C: EcsContender> Subject for Iterate<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let (world, steps) = &mut *locked(&self.course);
        watch.time(0, rounds * u64::from(ARCHETYPES * self.of_each), || {
            for _ in 0..rounds {
                world.step();
            }
        });
        *steps += rounds;
        let all = world.positions();
        let once = super::positions(self.of_each, *steps);
        assert_eq!(all.count, once.count * ARCHETYPES as usize);
        assert_eq!(all.sum, once.sum * f64::from(ARCHETYPES));
    }
}

/// A query that the world has not seen yet says how many entities it matches; an operation is one
/// archetype.
pub(super) struct NewQuery<C>(Mutex<C>);

impl<C: EcsContender> NewQuery<C> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(world(1)))
    }
}

impl<C: EcsContender> Subject for NewQuery<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let world = &mut *locked(&self.0);
        let counted = watch.time(0, rounds * u64::from(ARCHETYPES), || {
            (0..rounds).map(|_| world.count_anew()).sum::<usize>()
        });
        assert_eq!(counted, ARCHETYPES as usize * rounds as usize);
    }
}
