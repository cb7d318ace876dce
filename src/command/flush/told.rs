//! Who watches the world is told what a batch of commands does: what goes before its values do, what comes
//! when all of it is in place.

use crate::archetype::Rows;
use crate::command::flush::merge::Work;
use crate::command::flush::plan::Plan;
use crate::entity::Entity;
use crate::panics::{Panicked, first};
use crate::world::World;
use crate::world::watch::{ADDED, DESTROYED, NOWHERE, REMOVED, WatchedRows};

/// What there is to tell of a plan.
#[derive(Default)]
pub(super) struct Told {
    destroyed: Vec<WatchedRows>,
    removed: Vec<WatchedRows>,
    /// The entities of the rows at hand.
    coming: Vec<Entity>,
}

/// Tells what a plan takes away, which nobody has touched yet, and gathers what it brings.
pub(super) fn tell_going(world: &mut World, works: &[Work], plan: &Plan, rows: &[u32]) -> Panicked {
    if !world.is_watched(DESTROYED | REMOVED | ADDED) {
        return None;
    }
    world.begin_gathering();
    let mut told = Told::default();
    for work in works {
        let chunk = (work.archetype, work.chunk);
        let dying = work.groups.iter().filter(|group| group.net.destroyed);
        for group in dying {
            told.dying(world, chunk, &rows[group.range()]);
        }
        if let (Some(handed), [group]) = (&work.handed, work.groups.as_slice()) {
            told.moved(world, chunk, &rows[group.range()], handed.target);
        }
    }
    for task in &plan.tasks {
        if task.to.is_some() {
            let work = &works[task.work as usize];
            let rows = &rows[work.groups[task.group as usize].range()];
            let rows = &rows[task.first as usize..(task.first + task.count) as usize];
            let target = plan.ways[task.way as usize].target;
            told.moved(world, (work.archetype, work.chunk), rows, target);
        }
    }
    told.tell(world)
}

impl Told {
    /// Entities of a chunk of an archetype die.
    pub(super) fn dying(&mut self, world: &World, chunk: (u32, u32), rows: &[u32]) {
        if world.watches(chunk.0, DESTROYED) {
            rows_of(&mut self.destroyed, chunk, rows, NOWHERE);
        }
    }

    /// Entities of a chunk of an archetype go to another one.
    pub(super) fn moved(
        &mut self,
        world: &mut World,
        (archetype, chunk): (u32, u32),
        rows: &[u32],
        target: u32,
    ) {
        if target == archetype {
            return;
        }
        if world.watches(archetype, REMOVED) {
            rows_of(&mut self.removed, (archetype, chunk), rows, target);
        }
        if world.watches(target, ADDED) {
            let chunk = &world.archetypes[archetype as usize].chunks[chunk as usize];
            let handles = chunk.handles();
            // SAFETY: rows of the chunk that have a handle. (Not all of its rows have one: the plan has
            // taken some for entities that are still to come.)
            let entity = |&row: &u32| unsafe { *handles.add(row as usize) };
            self.coming.clear();
            self.coming.extend(rows.iter().map(entity));
            world.gather_come(archetype, &self.coming, rows.len() as u32);
        }
    }

    /// Tells what goes.
    pub(super) fn tell(self, world: &mut World) -> Panicked {
        let panicked = world.tell(DESTROYED, self.destroyed);
        first(panicked, world.tell(REMOVED, self.removed))
    }
}

fn rows_of(told: &mut Vec<WatchedRows>, (archetype, chunk): (u32, u32), rows: &[u32], other: u32) {
    for run in rows.chunk_by(|a, b| a + 1 == *b) {
        let rows = Rows {
            chunk,
            first: run[0],
            count: run.len() as u32,
        };
        told.push(WatchedRows::new(archetype, rows, other));
    }
}
