//! Where every changed entity goes: the only step that decides, and one thread does it alone. Its work is
//! counted in chunks and kinds of change, not in entities.

mod way;
mod whole;

use core::ops::Range;

use smallvec::SmallVec;

use crate::archetype::{Row, SharedId, Stock};
use crate::command::author::Author;
use crate::command::flush::Flush;
use crate::command::flush::net::Net;
use crate::command::flush::work::Work;
use crate::fragment::FragmentId;
use crate::panics::{Panicked, note};
use crate::world::watch::SET;
use crate::world::{World, WorldError};
pub(super) use way::Way;
use way::{Known, way};

/// Rows of a work's group that go somewhere, or get values where they are.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) work: u32,
    pub(super) group: u32,
    /// Which of the group's rows: from here, as many.
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) way: u32,
    /// `None`: where they are, or where the chunk takes them that is handed over.
    pub(super) to: Option<Row>,
    /// What comes to them by default: which of the plan's stocks, if any does.
    pub(super) stock: Option<u32>,
}

impl Task {
    /// Whether another task is the rest of this one, and both together are not too long.
    fn goes_on_with(&self, other: &Self) -> bool {
        let (Some(to), Some(next)) = (self.to, other.to) else {
            return false;
        };
        // Each stock is one task's.
        let stocks = (self.stock, other.stock);
        stocks == (None, None)
            && (self.work, self.group, self.way) == (other.work, other.group, other.way)
            && self.first + self.count == other.first
            && (to.chunk, to.row + self.count) == (next.chunk, next.row)
            && self.count + other.count <= ROWS
    }
}

/// All of a batch of commands.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) ways: Vec<Way>,
    pub(super) tasks: Vec<Task>,
    /// Rows that are as they are to be, as the shared values that come are those that they have: for who hears of what
    /// is set.
    pub(super) same: Vec<Task>,
    /// What comes by default to the rows of tasks.
    pub(super) stocks: Vec<Stock>,
}

/// Rows of one task: so many that it is worth a thread's while, so few that threads end together.
const ROWS: u32 = 2_048;

impl Plan {
    /// Adds tasks for rows of a group that go nowhere by themselves.
    fn stay(&mut self, work: u32, group: u32, rows: u32, way: u32) {
        let mut first = 0;
        while first < rows {
            let count = (rows - first).min(ROWS);
            self.tasks.push(Task {
                work,
                group,
                first,
                count,
                way,
                to: None,
                stock: None,
            });
            first += count;
        }
    }

    /// Notes that rows of a group get what they have.
    #[cold]
    fn stay_same(&mut self, work: u32, group: u32, rows: u32, way: u32) {
        self.same.push(Task {
            work,
            group,
            first: 0,
            count: rows,
            way,
            to: None,
            stock: None,
        });
    }

    /// Makes what comes to so many rows by default along a way: the number of its stock, if anything does. `None` if users'
    /// code has panicked.
    fn stock(&mut self, way: u32, rows: u32, panicked: &mut Panicked) -> Option<Option<u32>> {
        let fills = &self.ways[way as usize].edge.fills;
        if fills.is_empty() {
            return Some(None);
        }
        let mut stock = None;
        note(panicked, || stock = Some(fills.stock(rows)));
        self.stocks.push(stock?);
        Some(Some(self.stocks.len() as u32 - 1))
    }

    /// All tasks are done: nothing is in the stocks any more.
    pub(super) fn spend(&mut self) {
        self.stocks.drain(..).for_each(Stock::spent);
    }
}

impl Flush<'_> {
    /// Says for each entity where it goes, and takes the room there.
    pub(super) fn plan(&mut self, world: &mut World, works: &mut [Work], rows: &[u32]) -> Plan {
        let mut plan = Plan::default();
        let mut known = Known::default();
        let mut whole = Vec::new();
        for (number, work) in works.iter_mut().enumerate() {
            if let Some((way, handed)) = self.withhold(world, &mut plan, &mut known, work) {
                work.handed = Some(handed);
                whole.push((number, way));
            }
        }
        self.hand_over(world, &mut plan, works, &whole, rows);
        for (number, work) in works.iter_mut().enumerate() {
            if work.handed.is_none() {
                self.plan_chunk(world, &mut plan, &mut known, number as u32, work, rows);
            }
        }
        plan
    }

    fn plan_chunk(
        &mut self,
        world: &mut World,
        plan: &mut Plan,
        known: &mut Known,
        number: u32,
        work: &mut Work,
        all_rows: &[u32],
    ) {
        for group in 0..work.groups.len() {
            let rows = work.groups[group].count;
            let net = &work.groups[group].net;
            if net.destroyed {
                self.report.destroyed += rows as usize;
                work.groups[group].leaving = rows;
                continue;
            }
            let refused = world.refuses_const(work.archetype, work.chunk, net);
            let found = way(&mut self.panicked, world, plan, known, work.archetype, net);
            let found = match refused {
                Some(error) => Err(error),
                None => found,
            };
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    self.refuse(world, work, group, 0..rows, &error, all_rows);
                    continue;
                }
            };
            let (target, nothing) = {
                let way = &plan.ways[found as usize];
                (way.target, way.nothing)
            };
            if nothing && net.shared.is_empty() {
                let way = &plan.ways[found as usize];
                self.refuse_switches(world, work, group, rows, way, all_rows);
                continue;
            }
            let mut to = 0;
            if !world.archetypes[target as usize].shared.is_empty() {
                to = world.target_group(work.archetype, work.chunk, target, net);
            }
            let here = &world.archetypes[work.archetype as usize].chunks[work.chunk as usize];
            if target == work.archetype && to == here.group {
                let way = &plan.ways[found as usize];
                self.refuse_switches(world, work, group, rows, way, all_rows);
                if way.come.is_empty() && way.switched.is_empty() && way.edge.fills.is_empty() {
                    if world.watches(target, SET) {
                        plan.stay_same(number, group as u32, rows, found);
                    }
                    continue;
                }
                let Some(stock) = plan.stock(found, rows, &mut self.panicked) else {
                    let error = WorldError::Interrupted;
                    self.refuse(world, work, group, 0..rows, &error, all_rows);
                    continue;
                };
                self.report.updated += rows as usize;
                match stock {
                    None => plan.stay(number, group as u32, rows, found),
                    stock => plan.tasks.push(Task {
                        work: number,
                        group: group as u32,
                        first: 0,
                        count: rows,
                        way: found,
                        to: None,
                        stock,
                    }),
                }
                continue;
            }
            let (done, error) = self.take_room(world, plan, number, group, rows, found, to);
            self.report.moved += done as usize;
            work.groups[group].leaving = done;
            let way = &plan.ways[found as usize];
            self.refuse_switches(world, work, group, done, way, all_rows);
            if done < rows {
                let error = error.unwrap_or(WorldError::Interrupted);
                self.refuse(world, work, group, done..rows, &error, all_rows);
                world.let_go(target, to);
            }
        }
    }

    /// Takes rows at the ends of chunks of a group; how many, and why not all.
    #[expect(clippy::too_many_arguments, reason = "all of a task")]
    fn take_room(
        &mut self,
        world: &mut World,
        plan: &mut Plan,
        work: u32,
        group: usize,
        rows: u32,
        way: u32,
        to: u32,
    ) -> (u32, Option<WorldError>) {
        let target = plan.ways[way as usize].target;
        let version = world.stamp();
        let mut first = 0;
        while first < rows {
            let mut room = None;
            // The `clone` of a chunk fragment's template may panic.
            let left = (rows - first) as usize;
            note(&mut self.panicked, || {
                room = Some(world.room_for(target, to, left));
            });
            let row = match room {
                Some(Ok(row)) => row,
                Some(Err(error)) => return (first, Some(error)),
                None => return (first, None),
            };
            let chunk = &world.archetypes[target as usize].chunks[row.chunk as usize];
            let count = (rows - first).min(chunk.capacity - row.row).min(ROWS);
            // Users' code: before the rows are counted.
            let Some(stock) = plan.stock(way, count, &mut self.panicked) else {
                return (first, None);
            };
            let data = &mut world.archetypes[target as usize];
            data.grown(row.chunk, count, version);
            let task = Task {
                work,
                group: group as u32,
                first,
                count,
                way,
                to: Some(row),
                stock,
            };
            // A chunk that was folded has more room now.
            match plan.tasks.last_mut() {
                Some(last) if last.goes_on_with(&task) => last.count += count,
                _ => plan.tasks.push(task),
            }
            first += count;
        }
        (first, None)
    }

    /// Reports that the first rows of a group change, but for fragments that cannot be switched where they come.
    fn refuse_switches(
        &mut self,
        world: &World,
        work: &Work,
        group: usize,
        count: u32,
        way: &Way,
        rows: &[u32],
    ) {
        for error in &way.unswitched {
            self.refuse(world, work, group, 0..count, error, rows);
        }
    }

    /// Reports that something is refused to rows of a group.
    fn refuse(
        &mut self,
        world: &World,
        work: &Work,
        group: usize,
        which: Range<u32>,
        error: &WorldError,
        rows: &[u32],
    ) {
        let chunk = &world.archetypes[work.archetype as usize].chunks[work.chunk as usize];
        let which = which.start as usize..which.end as usize;
        for &row in &rows[work.groups[group].range()][which] {
            // SAFETY: a row that has a handle. (Not all of the chunk have one: some are taken for entities
            // that are still to come.)
            let entity = unsafe { *chunk.handles().add(row as usize) };
            let error = error.for_another(entity);
            self.report.refuse(entity, error, Author::default());
        }
    }
}

impl World {
    /// The group of the target with the shared values that a net change leaves to a chunk's entities.
    fn target_group(&mut self, archetype: u32, chunk: u32, target: u32, net: &Net) -> u32 {
        if self.archetypes[target as usize].shared.is_empty() {
            return 0;
        }
        self.shared_group(archetype, chunk, target, &net.shared)
    }

    /// Why a net change is refused to a chunk's entities: they have another value of a const shared fragment, which
    /// has not gone before.
    fn refuses_const(&self, archetype: u32, chunk: u32, net: &Net) -> Option<WorldError> {
        let row = Row { chunk, row: 0 };
        let any = crate::entity::Entity::PLACEHOLDER;
        let stays = |(id, _): &&(FragmentId, SharedId)| net.again.binary_search(id).is_err();
        let shared: SmallVec<[_; 2]> = net.shared.iter().filter(stays).copied().collect();
        self.check_const_shared(archetype, row, any, &shared).err()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
