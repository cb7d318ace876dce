//! Counts, lists and versions follow what was copied.

use crate::archetype::{Archetype, Universe};
use crate::command::flush::work::Work;
use crate::world::World;

/// Notes what has left each chunk, hands chunks over, and gives empty ones back. From the last chunk to the
/// first, so that those that go leave the others where they are.
pub(super) fn settle(world: &mut World, works: Vec<Work>) {
    let version = world.stamp();
    let mut handed = Vec::new();
    for work in works.into_iter().rev() {
        let universe = &world.universe;
        let leaving = work.leaving();
        let data = &mut world.archetypes[work.archetype as usize];
        match work.handed {
            None if leaving == 0 => continue,
            None => data.shrunk(universe, world.number, work.chunk, leaving, version),
            Some(to) if to.target == work.archetype => {
                // It was counted when it was planned.
                data.groups[to.group as usize].chunks -= 1;
                data.chunks[work.chunk as usize].hand_over();
                data.regroup(work.chunk, to.group, version);
                let chunk = &data.chunks[work.chunk as usize];
                if !chunk.is_full() {
                    data.open(work.chunk);
                }
            }
            Some(mut to) => {
                data.chunks[work.chunk as usize].hand_over();
                let mut chunk = data.detach(universe, world.number, work.chunk);
                if let Some(refitting) = to.refitting.take() {
                    chunk.refit_to(refitting, version);
                }
                handed.push((chunk, to));
            }
        }
        world.settle_groups(work.archetype);
    }
    // In the order in which they stood, so that who goes through the world meets entities in that order again.
    for (chunk, to) in handed.into_iter().rev() {
        let target = &mut world.archetypes[to.target as usize];
        // It was counted when it was planned.
        target.groups[to.group as usize].chunks -= 1;
        target.adopt(&world.universe, world.number, chunk, to.group, version);
    }
}

impl Archetype {
    /// Notes that rows have left a chunk, whose holes are filled.
    pub(super) fn shrunk(
        &mut self,
        universe: &Universe,
        world: u16,
        position: u32,
        leaving: u32,
        version: u32,
    ) {
        let chunk = &mut self.chunks[position as usize];
        chunk.len -= leaving;
        chunk.order_version = version;
        let len = chunk.len;
        self.entities -= leaving as usize;
        self.reopen(position);
        if len == 0 {
            self.emptied(universe, world, position);
        }
    }
}
