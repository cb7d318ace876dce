//! `flush_few`: a frame's few changes of entities anywhere in a crowd are recorded, and applied, again and again.

use std::sync::Mutex;

use super::population::Population;
use super::{EcsContender, Size, locked, settle};
use crate::cli::measure::{Stopwatch, Subject};

/// Entities, and commands in all.
const CROWD: u32 = 100_000;

/// The commands of a mix, so many in each flush.
pub(super) struct Few<C: EcsContender> {
    few: usize,
    population: Population,
    /// Room for handles.
    ids: Mutex<Vec<C::Id>>,
}

impl<C: EcsContender> Few<C> {
    pub(super) fn new(few: u32, size: Size) -> Self {
        let population = Population::shuffled(size.of(CROWD));
        Self {
            few: few as usize,
            ids: Mutex::new(Vec::with_capacity(population.entities as usize)),
            population,
        }
    }
}

impl<C: EcsContender> Subject for Few<C> {
    fn repeat(&self, _worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        settle(self.population.entities);
        let ids = &mut *locked(&self.ids);
        let mut world = C::fresh();
        // The same before, so that all memory is there.
        let mixed = self.population.mix(&mut world, ids);
        world.flush_few(&mixed, self.few);
        world.clear();
        let mixed = self.population.mix(&mut world, ids);
        watch.time(0, mixed.len() as u64, || {
            world.flush_few(&mixed, self.few);
        });
        self.population.assert_mixed(&mut world);
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
