//! Where every changed entity goes: the only step that decides, and one thread does it alone. Its work is
//! counted in chunks and kinds of change, not in entities.

use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::archetype::{Change, Column, Edge, EnabledBits, Fills, Refitting, Row, SharedId, Stock};
use crate::command::author::Author;
use crate::command::flush::Flush;
use crate::command::flush::merge::{Handed, Work};
use crate::command::flush::net::Net;
use crate::entity::Entity;
use crate::fragment::{FragmentId, Need};
use crate::hashers::ByNumbers;
use crate::panics::{Panicked, note};
use crate::world::watch::SET;
use crate::world::{World, WorldError};

/// How entities of one archetype get to where a net change takes them.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) target: u32,
    pub(super) edge: Arc<Edge>,
    /// The target's columns that get recorded values.
    pub(super) come: Vec<Column>,
    /// The target's fragments that are switched, and whether on.
    pub(super) switched: Vec<(EnabledBits, bool)>,
    /// Why others are not, which the target has: it is older than their switches.
    unswitched: Vec<WorldError>,
    /// The net change names nothing that the archetype does not have already, or lacks already.
    nothing: bool,
}

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

    /// Keeps a chunk for going as it is, if it may: all of its entities change alike, and either nothing of theirs
    /// ends and what comes has no columns, or little enough comes and ends for a [`Refitting`]; nothing that lies in rows comes
    /// by default. Which way, and where.
    fn withhold(
        &mut self,
        world: &mut World,
        plan: &mut Plan,
        known: &mut Known,
        work: &Work,
    ) -> Option<(u32, Handed)> {
        let [group] = work.groups.as_slice() else {
            return None;
        };
        let chunk = &world.archetypes[work.archetype as usize].chunks[work.chunk as usize];
        if group.net.destroyed || group.count != chunk.len {
            return None;
        }
        let found = way(
            &mut self.panicked,
            world,
            plan,
            known,
            work.archetype,
            &group.net,
        );
        let found = found.ok()?;
        let refused = world.refuses_const(work.archetype, work.chunk, &group.net);
        if refused.is_some() {
            return None;
        }
        let handed = world.handed(work, &group.net, (found, &plan.ways[found as usize]))?;
        // Nothing else may come into it.
        let data = &mut world.archetypes[work.archetype as usize];
        data.close_if_open(work.chunk);
        data.chunks[work.chunk as usize].withhold();
        // Counted at once, so that the group stays although its other chunks go before this one comes.
        let data = &mut world.archetypes[handed.target as usize];
        data.groups[handed.group as usize].chunks += 1;
        Some((found, handed))
    }

    /// Decides of chunks that are [withheld](Self::withhold) which go as they are, and whose entities are copied, as there
    /// is [much room](crate::archetype::Archetype::is_to_be_filled) where they come to, whatever else comes there. What
    /// comes by default to those that go is made.
    fn hand_over(
        &mut self,
        world: &mut World,
        plan: &mut Plan,
        works: &mut [Work],
        whole: &[(usize, u32)],
        rows: &[u32],
    ) {
        let Some(mut filling) = Filling::besides(world, works, whole.len()) else {
            return;
        };
        for &(number, found) in whole {
            let work = &mut works[number];
            if filling.fills(world, work) {
                world.keep_whole(work);
                continue;
            }
            let count = work.groups[0].count;
            // Users' code, before anything goes. It lies nowhere: no task has to move it.
            if plan.stock(found, count, &mut self.panicked).is_none() {
                self.refuse_whole(world, work, rows);
                continue;
            }
            let way = &plan.ways[found as usize];
            self.report.moved += count as usize;
            self.refuse_switches(world, work, 0, count, way, rows);
            if !way.come.is_empty() || way.edge.ends_drop {
                plan.stay(number as u32, 0, count, found);
            }
        }
    }

    /// Reports that a chunk that was to go stays as it is: what was to come by default could not be made, and is not
    /// to be tried again.
    #[cold]
    fn refuse_whole(&mut self, world: &mut World, work: &mut Work, rows: &[u32]) {
        let Some((target, group)) = world.keep_whole(work) else {
            return;
        };
        let error = WorldError::Interrupted;
        self.refuse(world, work, 0, 0..work.groups[0].count, &error, rows);
        work.groups.clear();
        world.let_go(target, group);
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
            let net = &Arc::clone(&work.groups[group].net);
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

/// The ways that were looked for, or why there is none.
#[derive(Default)]
struct Known {
    ways: HashMap<(u32, Arc<Net>), Result<u32, WorldError>, ByNumbers>,
    /// The one that was asked for last: most chunks ask for the same again.
    last: Option<(u32, Arc<Net>, u32)>,
}

/// Rows that are free, and not to be filled by the entities of whole chunks.
struct Filling {
    /// Of any group: as many as other entities may come to it. Where these go is not known yet.
    others: usize,
    /// Of groups of archetypes, by both numbers: in chunks that are withheld, if those are counted, or filled by those
    /// before.
    taken: HashMap<(u32, u32), usize, ByNumbers>,
    /// Of groups that chunks may fill: all rows that were free.
    free: HashMap<(u32, u32), usize, ByNumbers>,
}

impl Filling {
    /// Where so many chunks are withheld; `None` if none is.
    fn besides(world: &World, works: &[Work], withheld: usize) -> Option<Self> {
        if withheld == 0 {
            return None;
        }
        let mut filling = Self {
            others: 0,
            taken: HashMap::default(),
            free: HashMap::default(),
        };
        for work in works {
            if work.handed.is_some() {
                let data = &world.archetypes[work.archetype as usize];
                let chunk = &data.chunks[work.chunk as usize];
                let free = data.unfolded_capacity(chunk) - chunk.len;
                // Where there may be several groups, only chunks in lists are counted: none that is withheld.
                if free > 0 && data.shared.is_empty() {
                    let taken = filling.taken.entry((work.archetype, chunk.group));
                    *taken.or_default() += free as usize;
                }
                continue;
            }
            let set = &world.archetypes[work.archetype as usize].set;
            let going = work.groups.iter().filter(|group| {
                let net = &group.net;
                let stays = !net.gone.iter().any(|&id| set.contains(id))
                    && net.come.iter().all(|&id| set.contains(id))
                    && net.needs.iter().all(|need| set.contains(need.id))
                    && net.shared.is_empty();
                !net.destroyed && !stays
            });
            filling.others += going.map(|group| group.count as usize).sum::<usize>();
        }
        Some(filling)
    }

    /// Whether the entities of a chunk that is withheld are copied.
    fn fills(&mut self, world: &World, work: &Work) -> bool {
        let Some(Handed { target, group, .. }) = work.handed else {
            return false;
        };
        let count = work.groups[0].count;
        let taken = self.taken.get(&(target, group)).copied().unwrap_or(0);
        let to = &world.archetypes[target as usize];
        if !to.is_filled_besides(self.others + taken, group, count, count) {
            return false;
        }
        // That was an estimate, if the group has many chunks, and now it matters.
        let free = self.free.entry((target, group));
        let free = *free.or_insert_with(|| to.free_rows(group));
        if free < self.others + taken + count as usize {
            return false;
        }
        self.taken.insert((target, group), taken + count as usize);
        true
    }
}

impl Known {
    fn get(&self, archetype: u32, net: &Arc<Net>) -> Option<Result<u32, WorldError>> {
        match &self.last {
            Some((of, last, way)) if *of == archetype && Arc::ptr_eq(last, net) => Some(Ok(*way)),
            _ => match self.ways.get(&(archetype, Arc::clone(net)))? {
                Ok(way) => Some(Ok(*way)),
                Err(error) => Some(Err(error.for_another(Entity::PLACEHOLDER))),
            },
        }
    }
}

/// The way of a net change from an archetype.
fn way(
    panicked: &mut Panicked,
    world: &mut World,
    plan: &mut Plan,
    known: &mut Known,
    archetype: u32,
    net: &Arc<Net>,
) -> Result<u32, WorldError> {
    let way = match known.get(archetype, net) {
        Some(way) => way?,
        None => {
            let mut way = Err(WorldError::Interrupted);
            // A new archetype clones the templates of its chunk fragments, which may panic.
            note(panicked, || way = world.way_along(archetype, net));
            let way = way.map(|way| {
                plan.ways.push(way);
                plan.ways.len() as u32 - 1
            });
            let again = match &way {
                Ok(way) => Ok(*way),
                Err(error) => Err(error.for_another(Entity::PLACEHOLDER)),
            };
            known.ways.insert((archetype, Arc::clone(net)), again);
            way?
        }
    };
    known.last = Some((archetype, Arc::clone(net), way));
    Ok(way)
}

impl World {
    fn way_along(&mut self, archetype: u32, net: &Net) -> Result<Way, WorldError> {
        let source = &self.archetypes[archetype as usize];
        let nothing = net.gone.iter().all(|id| !source.set.contains(*id))
            && net.come.iter().all(|id| source.set.contains(*id))
            && net.needs.iter().all(|need| source.set.contains(need.id));
        let kept = match self.kept_change(archetype, net) {
            Some(change) => Some(self.keep_edge(archetype, change)?),
            None => None,
        };
        let target = match &kept {
            Some(edge) => edge.target,
            None => self.target_along(archetype, net)?,
        };
        let source = &self.archetypes[archetype as usize];
        let to = &self.archetypes[target as usize];
        let come = net.come.iter().filter_map(|&id| {
            let column = to.seek_column(id)?;
            Some(to.columns[column])
        });
        let come: Vec<Column> = come.collect();
        let (mut switched, mut unswitched) = (Vec::new(), Vec::new());
        for (id, on) in net.switched_among(&source.set) {
            match to.enabled_of(id) {
                Some(bits) => switched.push((bits, on)),
                // What went and comes again is on, wherever it is.
                None if to.set.contains(id) && net.switches(id) => {
                    let info = self.universe.registry().get(id);
                    let name = info.map_or("", |info| info.name()).into();
                    unswitched.push(WorldError::NotEnableable { name });
                }
                None => {}
            }
        }
        let edge = kept.unwrap_or_else(|| {
            // By default comes what is not there, or went before.
            let is_gone = |id| net.gone.binary_search(&id).is_ok();
            let comes = |need: &&Need| !source.set.contains(need.id) || is_gone(need.id);
            let needs: SmallVec<[Need; 2]> = net.needs.iter().filter(comes).copied().collect();
            let fills = match needs.is_empty() {
                true => Fills::default(),
                false => Fills::of(self.universe.registry(), &needs, to),
            };
            let filled = |id: &FragmentId| needs.iter().any(|need| need.id == *id);
            let given = source.ids.iter().copied();
            let given = given.filter(|id| net.come.binary_search(id).is_ok() || filled(id));
            let given = self.given_again(archetype, given, &net.again);
            let mut edge = Edge::new(source, to, Box::default(), |column| {
                let new = come.binary_search_by_key(&column.id, |new| new.id);
                new.is_ok() || fills.has(column.id)
            })
            .filling(fills)
            .regiving(given);
            // Rows that come are on.
            let is_switched = |to: u32| switched.iter().any(|(bits, _)| bits.offset == to);
            let carried = edge.bits.iter().filter(|&&(_, to)| !is_switched(to));
            edge.bits = carried.copied().collect();
            Arc::new(edge)
        });
        let nothing = nothing && come.is_empty() && switched.is_empty() && edge.fills.is_empty();
        Ok(Way {
            target,
            edge,
            nothing,
            come,
            switched,
            unswitched,
        })
    }

    /// The change whose edge from an archetype is a net change's, if that is kept, or may be.
    fn kept_change(&mut self, archetype: u32, net: &Net) -> Option<Change> {
        if !net.again.is_empty() || !net.switched.is_empty() || !net.needs.is_empty() {
            return None;
        }
        if self.keeps_edge(archetype, &net.gone, &net.come) {
            return Some(self.bundles.change_of(&net.gone, &net.come));
        }
        None
    }

    /// Whether an archetype keeps the edge of several commands by which fragments go, and others come: it has it, or has
    /// room for it.
    pub(super) fn keeps_edge(
        &self,
        archetype: u32,
        gone: &[FragmentId],
        come: &[FragmentId],
    ) -> bool {
        let edges = &self.archetypes[archetype as usize].edges;
        let known = || self.bundles.known_change_of(gone, come);
        !edges.is_crowded() || known().is_some_and(|change| edges.peek(change).is_some())
    }

    /// The archetype where a net change leads.
    fn target_along(&mut self, archetype: u32, net: &Net) -> Result<u32, WorldError> {
        let here = self.archetypes[archetype as usize].ids.iter().copied();
        let stay = here.filter(|id| net.gone.binary_search(id).is_err());
        let needed = net.needs.iter().map(|need| need.id);
        let come = net.come.iter().copied().chain(needed);
        let mut ids: Vec<FragmentId> = stay.chain(come).collect();
        ids.sort_unstable();
        ids.dedup();
        self.target_of(archetype, &ids, Some(&net.come))
    }

    /// How a chunk goes along a way, whose entities all do: `None` if they are better copied. What comes lies
    /// nowhere yet.
    fn handed(&mut self, work: &Work, net: &Net, (number, way): (u32, &Way)) -> Option<Handed> {
        let target = way.target;
        let data = &self.archetypes[work.archetype as usize];
        let is_same = way.come.is_empty()
            && way.edge.ended.is_empty()
            && way.switched.is_empty()
            && !way.edge.fills.takes_room()
            && data.hands_chunks_to(&self.archetypes[target as usize]);
        let is_other = target != work.archetype;
        // What comes by default and lies in rows is made beside them, and copied to where there is room for all.
        let refits = is_other && self.refits() && !way.edge.fills.takes_room();
        if !is_same && !refits {
            return None;
        }
        let group = self.target_group(work.archetype, work.chunk, target, net);
        let source = &self.archetypes[work.archetype as usize];
        let to = &self.archetypes[target as usize];
        let chunk = &source.chunks[work.chunk as usize];
        // The end of many that go, less than half full, goes with them.
        let goes = to.wants_chunk(group, chunk)
            && (is_same || chunk.len >= chunk.capacity / 2 || to.groups[group as usize].chunks > 0);
        if !goes || (!is_other && group == chunk.group) {
            return None;
        }
        let refitting = match is_same {
            true => None,
            false => Some(Refitting::plan(source, chunk, to, &way.edge)?),
        };
        Some(Handed {
            way: number,
            target,
            group,
            refitting,
        })
    }

    /// Withholds a chunk no more, which goes nowhere as it is; where it was to go.
    fn keep_whole(&mut self, work: &mut Work) -> Option<(u32, u32)> {
        let Handed { target, group, .. } = work.handed.take()?;
        self.archetypes[target as usize].groups[group as usize].chunks -= 1;
        let data = &mut self.archetypes[work.archetype as usize];
        let chunk = &mut data.chunks[work.chunk as usize];
        chunk.hand_over();
        if !chunk.is_full() {
            data.open(work.chunk);
        }
        Some((target, group))
    }

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
