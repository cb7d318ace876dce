//! `spawn_1m`, `clear_1m`, `despawn_1m`, `despawn_half`: entities come and go.

use std::sync::Mutex;

use super::{EcsContender, MILLION, Size, Tally, locked, settle};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::Shuffler;

/// Handles that are asked for after their entities died.
const ASKED: usize = 64;

/// One million are created in a fresh world, cleared, created again where they were, and
/// destroyed one by one. Who is cleared stays dead: its handle is asked for at once, and when all
/// its room is taken again.
pub(super) struct InBatch<C: EcsContender> {
    ids: Mutex<Vec<C::Id>>,
    entities: u32,
}

impl<C: EcsContender> InBatch<C> {
    pub(super) fn new(size: Size) -> Self {
        let entities = size.of(MILLION);
        Self {
            ids: Mutex::new(with_room(entities)),
            entities,
        }
    }
}

impl<C: EcsContender> Subject for InBatch<C> {
    fn repeat(&self, _worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        settle(self.entities);
        let ids = &mut *locked(&self.ids);
        let numbers = 0..self.entities;
        let operations = u64::from(self.entities);
        let mut world = C::fresh();
        ids.clear();
        watch.time(0, operations, || world.spawn_slice(numbers.clone(), ids));
        assert_eq!(world.positions(), super::positions(self.entities, 0));
        let old: Vec<C::Id> = (ids.iter().copied())
            .step_by((ids.len() / ASKED).max(1))
            .collect();
        watch.time(1, operations, || world.clear());
        assert_eq!(world.positions(), Tally::default());
        assert_all_dead(&mut world, &old);
        ids.clear();
        watch.time(2, operations, || world.spawn_slice(numbers.clone(), ids));
        assert_eq!(world.positions(), super::positions(self.entities, 0));
        assert_all_dead(&mut world, &old);
        let died = watch.time(3, operations, || world.despawn_each(ids));
        assert_eq!(died, ids.len(), "entities that were created are alive");
        assert_eq!(world.positions(), Tally::default());
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// One million are created one by one in a fresh world.
pub(super) struct OneByOne<C: EcsContender> {
    ids: Mutex<Vec<C::Id>>,
    entities: u32,
}

impl<C: EcsContender> OneByOne<C> {
    pub(super) fn new(size: Size) -> Self {
        let entities = size.of(MILLION);
        Self {
            ids: Mutex::new(with_room(entities)),
            entities,
        }
    }
}

impl<C: EcsContender> Subject for OneByOne<C> {
    fn repeat(&self, _worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        settle(self.entities);
        let ids = &mut *locked(&self.ids);
        let mut world = C::fresh();
        ids.clear();
        watch.time(0, u64::from(self.entities), || {
            world.spawn_each(0..self.entities, ids);
        });
        assert_eq!(world.positions(), super::positions(self.entities, 0));
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// Of one million a random half is destroyed, in random order.
pub(super) struct RandomHalf<C: EcsContender> {
    ids: Mutex<Vec<C::Id>>,
    /// Which of them die, in order.
    doomed: Vec<u32>,
    entities: u32,
    in_slices: bool,
}

impl<C: EcsContender> RandomHalf<C> {
    pub(super) fn new(in_slices: bool, size: Size) -> Self {
        let entities = size.of(MILLION);
        let mut doomed: Vec<u32> = (0..entities).collect();
        Shuffler::new(5).shuffle(&mut doomed);
        doomed.truncate(entities as usize / 2);
        Self {
            ids: Mutex::new(with_room(entities)),
            doomed,
            entities,
            in_slices,
        }
    }
}

impl<C: EcsContender> Subject for RandomHalf<C> {
    fn repeat(&self, _worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let ids = &mut *locked(&self.ids);
        let mut world = C::fresh();
        ids.clear();
        world.spawn_slice(0..self.entities, ids);
        let doomed: Vec<C::Id> = self.doomed.iter().map(|&n| ids[n as usize]).collect();
        let died = watch.time(0, doomed.len() as u64, || match self.in_slices {
            true => world.despawn_slice(&doomed),
            false => world.despawn_each(&doomed),
        });
        assert_eq!(died, doomed.len(), "entities that were created are alive");
        let all = super::positions(self.entities, 0);
        let dead = Tally::of(self.doomed.iter().map(|&number| number as f32));
        let left = world.positions();
        assert_eq!(left.count, all.count - dead.count, "the others live");
        assert_eq!(left.sum, all.sum - dead.sum, "and are as they were");
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// # Panics
/// When a handle is alive that should be dead, of a contender that tells.
fn assert_all_dead<C: EcsContender>(world: &mut C, handles: &[C::Id]) {
    if C::ABILITIES.checks_handles {
        let alive = handles.iter().filter(|&&id| world.lives(id)).count();
        assert_eq!(alive, 0, "who was destroyed stays dead");
    }
}

/// Room for so many handles, touched before, so that nobody pays for it.
fn with_room<T: Copy>(len: u32) -> Vec<T> {
    Vec::with_capacity(len as usize)
}
