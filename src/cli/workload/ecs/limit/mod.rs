//! `limit`: what nobody can do without, written by hand.
//!
//! It knows the components of these workloads and no others. Its tables are plain vectors, its
//! handles plain numbers into one vector of places: it does not notice a dead handle, and there
//! is nothing that its users could define. A real store may come near it.

use core::ops::Range;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::{EcsAbilities, EcsContender, Systems, SystemsCase, Tally, systems, values};
use crate::cli::workload::Unsupported;

mod table;

use table::{EXTRA, MOVING, SMALL, Set, TRANSFORM, Table, kind, with_data};

/// Where an entity lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    table: u32,
    row: u32,
}

/// Where nobody lies.
const NOWHERE: Place = Place {
    table: u32::MAX,
    row: u32::MAX,
};

/// No world at all.
#[derive(Debug, Default)]
pub struct Limit {
    /// What each table's entities have; apart, because a query looks at these alone.
    sets: Vec<Set>,
    tables: Vec<Table>,
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Limit {
    fn table(&mut self, set: Set) -> usize {
        let known = self.sets.iter().position(|&other| other == set);
        known.unwrap_or_else(|| {
            self.sets.push(set);
            self.tables.push(Table::new(set));
            self.sets.len() - 1
        })
    }

    /// A handle for the entity that is going to lie there.
    #[inline(always)]
    fn handle(&mut self, table: usize, row: usize) -> u32 {
        let place = Place {
            table: table as u32,
            row: row as u32,
        };
        match self.free.pop() {
            Some(id) => {
                self.places[id as usize] = place;
                id
            }
            None => {
                self.places.push(place);
                self.places.len() as u32 - 1
            }
        }
    }

    /// Makes `count` handles for new rows at the end of `table`.
    fn handles(&mut self, table: usize, count: u32) -> Range<usize> {
        let start = self.tables[table].ids.len();
        let end = start + count as usize;
        let again = self.free.len().min(count as usize);
        for row in start..start + again {
            let id = self.handle(table, row);
            self.tables[table].ids.push(id);
        }
        let first = self.places.len() as u32;
        let rows = (start + again) as u32..end as u32;
        self.tables[table]
            .ids
            .extend(first..first + rows.len() as u32);
        let table = table as u32;
        self.places.extend(rows.map(|row| Place { table, row }));
        start..end
    }

    /// Moves an entity to another table and closes the gap.
    #[inline(always)]
    fn move_to(&mut self, id: u32, target: usize) {
        let Place { table, row } = self.places[id as usize];
        let Ok([from, to]) = self.tables.get_disjoint_mut([table as usize, target]) else {
            return;
        };
        from.move_row(row as usize, to);
        self.places[id as usize] = Place {
            table: target as u32,
            row: to.ids.len() as u32 - 1,
        };
        if let Some(&moved) = from.ids.get(row as usize) {
            self.places[moved as usize].row = row;
        }
    }

    /// Moves the entities of whole tables: `ids` are all that these tables have.
    fn move_slice(&mut self, ids: &[u32], change: impl Fn(Set) -> Set) {
        let mut at = 0;
        while let Some(&id) = ids.get(at) {
            let table = self.places[id as usize].table as usize;
            let target = self.table(change(self.sets[table]));
            let Ok([from, to]) = self.tables.get_disjoint_mut([table, target]) else {
                return;
            };
            let count = from.ids.len();
            assert_eq!(ids.get(at..at + count), Some(&from.ids[..]), "whole tables");
            let start = to.ids.len() as u32;
            from.move_all(to);
            for (row, &id) in (start..).zip(&ids[at..at + count]) {
                self.places[id as usize] = Place {
                    table: target as u32,
                    row,
                };
            }
            at += count;
        }
    }

    fn matching(&self, needed: Set) -> impl Iterator<Item = usize> {
        let sets = self.sets.iter().enumerate();
        sets.filter(move |&(_, &set)| set & needed == needed)
            .map(|(table, _)| table)
    }

    #[inline(always)]
    fn position(&self, id: u32) -> f32 {
        let Place { table, row } = self.places[id as usize];
        self.tables[table as usize].positions[row as usize][0]
    }

    fn tally<'a>(&'a self, column: impl Fn(&'a Table) -> &'a [f32]) -> Tally {
        Tally::of(self.tables.iter().flat_map(column).copied())
    }
}

/// Adds velocities to positions: as numbers on end, of which the compiler makes vectors, for three fill none. (By rows
/// of three it took three times as long.)
fn step(positions: &mut [[f32; 3]], velocities: &[[f32; 3]]) {
    let numbers = positions.as_flattened_mut().iter_mut();
    for (number, speed) in numbers.zip(velocities.as_flattened()) {
        *number += speed;
    }
}

impl EcsContender for Limit {
    type Id = u32;

    const NAME: &'static str = "limit";
    const ABILITIES: EcsAbilities = EcsAbilities {
        checks_handles: false,
        despawns_slices: true,
        adds_to_slices: true,
        removes_from_slices: true,
        looks_slices_up: true,
        schedules: true,
        ..EcsAbilities::SINGLE
    };

    fn fresh() -> Self {
        Self::default()
    }

    fn spawn_slice(&mut self, numbers: Range<u32>, out: &mut Vec<u32>) {
        let target = self.table(TRANSFORM | MOVING);
        let rows = numbers.len();
        let table = &mut self.tables[target];
        table.ids.reserve(rows);
        self.places.reserve(rows.saturating_sub(self.free.len()));
        table
            .transforms
            .extend(core::iter::repeat_n(values::transform(), rows));
        table
            .positions
            .extend(numbers.clone().map(values::position));
        table
            .rotations
            .extend(core::iter::repeat_n(values::rotation(), rows));
        table
            .velocities
            .extend(core::iter::repeat_n(values::velocity(), rows));
        let new = self.handles(target, rows as u32);
        out.extend_from_slice(&self.tables[target].ids[new]);
    }

    fn spawn_each(&mut self, numbers: Range<u32>, out: &mut Vec<u32>) {
        let target = self.table(TRANSFORM | MOVING);
        for number in numbers {
            let id = self.handle(target, self.tables[target].ids.len());
            let table = &mut self.tables[target];
            table.ids.push(id);
            table.transforms.push(values::transform());
            table.positions.push(values::position(number));
            table.rotations.push(values::rotation());
            table.velocities.push(values::velocity());
            out.push(id);
        }
    }

    fn spawn_moving(&mut self, count: u32) -> Vec<u32> {
        let target = self.table(MOVING);
        let new = self.handles(target, count);
        let table = &mut self.tables[target];
        table.positions.extend((0..count).map(values::position));
        let velocities = core::iter::repeat_n(values::velocity(), count as usize);
        table.velocities.extend(velocities);
        table.ids[new].to_vec()
    }

    fn spawn_small(&mut self, count: u32) -> Vec<u32> {
        let target = self.table(SMALL);
        let new = self.handles(target, count);
        let table = &mut self.tables[target];
        table.smalls.resize(new.end, 0.0);
        table.ids[new].to_vec()
    }

    fn spawn_kind<const N: usize>(&mut self, count: u32) {
        let target = self.table(with_data(N));
        let new = self.handles(target, count);
        let table = &mut self.tables[target];
        table.data.resize(new.end, values::DATA);
        table.kinds[0].resize(new.end, values::KIND);
    }

    fn mark<const N: usize>(&mut self, ids: &[u32]) {
        for &id in ids {
            let table = self.places[id as usize].table as usize;
            let target = self.table(self.sets[table] | kind(N));
            self.move_to(id, target);
        }
    }

    fn despawn_each(&mut self, ids: &[u32]) -> usize {
        for &id in ids {
            let Place { table, row } = self.places[id as usize];
            let table = &mut self.tables[table as usize];
            table.remove_row(row as usize);
            if let Some(&moved) = table.ids.get(row as usize) {
                self.places[moved as usize].row = row;
            }
            self.free.push(id);
        }
        ids.len()
    }

    fn despawn_slice(&mut self, ids: &[u32]) -> usize {
        let mut dead: Vec<Vec<bool>> = Vec::new();
        dead.extend(self.tables.iter().map(|table| vec![false; table.ids.len()]));
        for &id in ids {
            let Place { table, row } = self.places[id as usize];
            dead[table as usize][row as usize] = true;
        }
        for (table, dead) in self.tables.iter_mut().zip(&dead) {
            // From the front, what dies is replaced by the last that lives.
            let mut row = 0;
            while row < table.ids.len() {
                if !dead[row] {
                    row += 1;
                    continue;
                }
                while table.ids.len() > row + 1 && dead[table.ids.len() - 1] {
                    table.remove_row(table.ids.len() - 1);
                }
                table.remove_row(row);
                if let Some(&moved) = table.ids.get(row) {
                    self.places[moved as usize].row = row as u32;
                }
                row += 1;
            }
        }
        self.free.extend_from_slice(ids);
        ids.len()
    }

    fn clear(&mut self) {
        for table in &mut self.tables {
            table.clear();
        }
        // Each entity's death has to be noted; that its handle stays dead is not a limit's promise.
        self.places.fill(NOWHERE);
        core::hint::black_box(&mut self.places);
        self.places.clear();
        self.free.clear();
    }

    fn add_each(&mut self, ids: &[u32]) {
        let Some(&first) = ids.first() else { return };
        let table = self.places[first as usize].table as usize;
        let target = self.table(self.sets[table] | EXTRA);
        for &id in ids {
            self.move_to(id, target);
        }
    }

    fn remove_each(&mut self, ids: &[u32]) {
        let Some(&first) = ids.first() else { return };
        let table = self.places[first as usize].table as usize;
        let target = self.table(self.sets[table] & !EXTRA);
        for &id in ids {
            self.move_to(id, target);
        }
    }

    fn add_slice(&mut self, ids: &[u32]) {
        self.move_slice(ids, |set| set | EXTRA);
    }

    fn remove_slice(&mut self, ids: &[u32]) {
        self.move_slice(ids, |set| set & !EXTRA);
    }

    fn systems(case: SystemsCase, threads: usize) -> Result<Box<dyn Systems>, Unsupported> {
        systems::of_limit(case, threads)
    }

    fn get_each(&mut self, ids: &[u32]) -> Tally {
        Tally::of(ids.iter().map(|&id| self.position(id)))
    }

    fn get_each_on(&mut self, pool: &ThreadPool, ids: &[u32]) -> Tally {
        let world = &*self;
        super::in_parts(pool, ids, |ids| {
            Tally::of(ids.iter().map(|&id| world.position(id)))
        })
    }

    fn get_slice(&mut self, ids: &[u32]) -> Tally {
        // By hand it is one loop either way.
        self.get_each(ids)
    }

    fn get_slice_on(&mut self, pool: &ThreadPool, ids: &[u32]) -> Tally {
        self.get_each_on(pool, ids)
    }

    fn step(&mut self) {
        for (table, &set) in self.tables.iter_mut().zip(&self.sets) {
            if set & MOVING == MOVING {
                step(&mut table.positions, &table.velocities);
            }
        }
    }

    fn step_on(&mut self, pool: &ThreadPool) {
        let threads = pool.current_num_threads();
        pool.install(|| {
            for (table, &set) in self.tables.iter_mut().zip(&self.sets) {
                if set & MOVING == MOVING {
                    let part = table.ids.len().div_ceil(threads).max(1);
                    let velocities = table.velocities.par_chunks(part);
                    table
                        .positions
                        .par_chunks_mut(part)
                        .zip(velocities)
                        .for_each(|(positions, velocities)| step(positions, velocities));
                }
            }
        });
    }

    fn double(&mut self) {
        for table in &mut self.tables {
            for data in &mut table.data {
                *data *= 2.0;
            }
        }
    }

    fn count_anew(&mut self) -> usize {
        let rows = |table: usize| self.tables[table].ids.len();
        self.matching(core::hint::black_box(MOVING)).map(rows).sum()
    }

    fn positions(&mut self) -> Tally {
        Tally::of(
            self.tables
                .iter()
                .flat_map(|table| table.positions.iter().map(|position| position[0])),
        )
    }

    fn extras(&mut self) -> Tally {
        self.tally(|table| &table.extras)
    }

    fn data(&mut self) -> Tally {
        self.tally(|table| &table.data)
    }
}
