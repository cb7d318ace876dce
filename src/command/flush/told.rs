//! Who watches the world is told what a batch of commands does: what goes before its values do, what comes
//! when all of it is in place.

use crate::archetype::{Edge, Rows};
use crate::command::flush::plan::Plan;
use crate::command::flush::work::Work;
use crate::entity::Entity;
use crate::panics::{Panicked, first};
use crate::world::World;
use crate::world::watch::{ADDED, DESTROYED, NOWHERE, REMOVED, SET, WatchedRows};

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
    if !world.is_watched(DESTROYED | REMOVED | ADDED | SET) {
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
            let edge = &plan.ways[handed.way as usize].edge;
            told.changed(world, chunk, &rows[group.range()], edge);
        }
    }
    for task in plan.tasks.iter().chain(&plan.same) {
        let work = &works[task.work as usize];
        // Of what goes with its chunk it is said above.
        if work.handed.is_none() {
            let rows = &rows[work.groups[task.group as usize].range()];
            let rows = &rows[task.first as usize..(task.first + task.count) as usize];
            let edge = &plan.ways[task.way as usize].edge;
            told.changed(world, (work.archetype, work.chunk), rows, edge);
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

    /// Entities of a chunk of an archetype go along an edge to another one, or get values where they are.
    pub(super) fn changed(
        &mut self,
        world: &mut World,
        (archetype, chunk): (u32, u32),
        rows: &[u32],
        edge: &Edge,
    ) {
        let target = edge.target;
        let goes = target != archetype;
        if goes && world.watches(archetype, REMOVED) {
            rows_of(&mut self.removed, (archetype, chunk), rows, target);
        }
        let comes = goes && world.watches(target, ADDED | SET);
        let gets = !edge.regiven.is_empty() && world.watches(target, SET);
        if comes || gets {
            let chunk = &world.archetypes[archetype as usize].chunks[chunk as usize];
            let handles = chunk.handles();
            // SAFETY: rows of the chunk that have a handle. (Not all of its rows have one: the plan has
            // taken some for entities that are still to come.)
            let entity = |&row: &u32| unsafe { *handles.add(row as usize) };
            self.coming.clear();
            self.coming.extend(rows.iter().map(entity));
            let count = rows.len() as u32;
            if comes {
                world.gather_come(archetype, &self.coming, count);
            }
            if gets {
                world.gather_given(&edge.regiven, &self.coming, count);
            }
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
