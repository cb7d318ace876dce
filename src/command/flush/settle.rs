//! Counts, lists and versions follow what was copied.

use crate::archetype::{Archetype, Universe};
use crate::command::flush::merge::Work;
use crate::world::World;

/// Notes what has left each chunk, hands chunks over, and gives empty ones back. From the last chunk to the
/// first, so that those that go leave the others where they are.
pub(super) fn settle(world: &mut World, works: &[Work]) {
    let version = world.version();
    for work in works.iter().rev() {
        let universe = &world.universe;
        match work.handed {
            None if work.leaving() == 0 => continue,
            None => {
                let data = &mut world.archetypes[work.archetype as usize];
                data.shrunk(universe, world.number, work.chunk, work.leaving(), version);
            }
            Some((target, group)) if target == work.archetype => {
                let data = &mut world.archetypes[target as usize];
                data.regroup(work.chunk, group, version);
                // It was counted when it was planned.
                data.groups[group as usize].chunks -= 1;
                let chunk = &data.chunks[work.chunk as usize];
                if !chunk.is_full() {
                    data.open(work.chunk);
                }
            }
            Some((target, group)) => {
                let data = &mut world.archetypes[work.archetype as usize];
                let chunk = data.detach(universe, world.number, work.chunk);
                let target = &mut world.archetypes[target as usize];
                target.adopt(universe, world.number, chunk, group, version);
                target.groups[group as usize].chunks -= 1;
            }
        }
        world.settle_groups(work.archetype);
    }
}

impl Archetype {
    /// Notes that rows have left a chunk, whose holes are filled.
    fn shrunk(
        &mut self,
        universe: &Universe,
        world: u16,
        position: u32,
        leaving: u32,
        version: u32,
    ) {
        let chunk = &mut self.chunks[position as usize];
        let was_full = chunk.is_full();
        chunk.len -= leaving;
        chunk.order_version = version;
        let len = chunk.len;
        self.entities -= leaving as usize;
        if was_full {
            self.open(position);
        }
        if len == 0 {
            self.emptied(universe, world, position);
        }
    }
}
