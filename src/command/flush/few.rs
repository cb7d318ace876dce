//! Few commands, each for another entity: applied without the lists and tables that only many are worth.
//!
//! What comes out is what the [general way](super::plan) makes, bit for bit, because the steps are its own, in its order:
//! entities chunk by chunk, those of a chunk that change alike together; where each goes is said before any is copied,
//! and holes are filled last. Left to the general way are closures, shared values, switches, entities that are named
//! twice or do not lie in the world, and chunks that may go as a whole.

use smallvec::SmallVec;

use crate::archetype::{Change, Row};
use crate::command::flush::apply::{Holes, end, fill_holes};
use crate::command::flush::told::Told;
use crate::command::flush::{Cost, Flush, Piece};
use crate::command::lane::{Lane, NONE, Op};
use crate::command::payload::PayloadColumn;
use crate::entity::Entity;
use crate::fragment::FragmentId;
use crate::fragment::panic::{Panicked, first, note};
use crate::sync::pool::Lent;
use crate::world::change::{carry, end as end_along};
use crate::world::compose::EdgeRef;
use crate::world::watch::{ADDED, DESTROYED, REMOVED};
use crate::world::{World, WorldError};

/// Commands that are few.
const FEW: usize = 48;

/// Ops that are few: each is looked for among those before it.
const OPS: usize = 16;

/// A command, and its entity.
#[derive(Clone, Copy)]
struct Single {
    archetype: u32,
    chunk: u32,
    row: u32,
    /// Which of the [kinds](Kinds).
    kind: u32,
    /// What it does: an op of a lane.
    lane: u32,
    op: u32,
    /// The row of its values.
    at: u32,
    goes: Goes,
}

/// Where an entity goes.
#[derive(Clone, Copy)]
enum Goes {
    /// It stays as it is.
    Not,
    Dies,
    /// It gets other values where it is.
    Stays(EdgeRef),
    To(EdgeRef, Row),
}

impl Single {
    fn chunk(&self) -> (u32, u32) {
        (self.archetype, self.chunk)
    }

    fn leaves(&self) -> bool {
        matches!(self.goes, Goes::Dies | Goes::To(..))
    }

    fn op<'l>(&self, lanes: &'l [Lent<'_, Lane>]) -> &'l Op {
        &lanes[self.lane as usize].ops[self.op as usize]
    }
}

type Singles = SmallVec<[Single; 16]>;

/// What ops do, but for their values, under numbers: ops of several lanes may do the same.
struct Kinds<'l, 'q> {
    lanes: &'l [Lent<'q, Lane>],
    /// Each op that was met: its lane, its number there, its kind.
    ops: SmallVec<[(u32, u32, u32); OPS]>,
    count: u32,
}

impl Kinds<'_, '_> {
    /// The kind of an op; `None` if there are too many, or it is none of a single entity without shared values.
    fn of(&mut self, lane: u32, op: u32) -> Option<u32> {
        let known = (self.ops.iter()).find(|&&(of, known, _)| (of, known) == (lane, op));
        if let Some(&(_, _, kind)) = known {
            return Some(kind);
        }
        let this = &self.lanes[lane as usize].ops[op as usize];
        let is_simple = match this {
            Op::Destroy => true,
            Op::Change { combo, .. } => *combo == NONE,
            Op::Switch { .. } | Op::Call { .. } => false,
        };
        if !is_simple || self.ops.len() == OPS {
            return None;
        }
        let same = self.ops.iter().find(|&&(lane, op, _)| {
            let other = &self.lanes[lane as usize].ops[op as usize];
            do_the_same(this, other)
        });
        let kind = match same {
            Some(&(_, _, kind)) => kind,
            None => {
                self.count += 1;
                self.count - 1
            }
        };
        self.ops.push((lane, op, kind));
        Some(kind)
    }
}

/// Whether two ops lead entities of one composition to the same one.
fn do_the_same(one: &Op, other: &Op) -> bool {
    /// What goes and does not come in the same move.
    fn gone<'o>(
        gone: &'o [FragmentId],
        come: &'o [FragmentId],
    ) -> impl Iterator<Item = &'o FragmentId> {
        gone.iter().filter(|id| come.binary_search(id).is_err())
    }
    match (one, other) {
        (Op::Destroy, Op::Destroy) => true,
        (
            Op::Change {
                gone: a, come: to, ..
            },
            Op::Change {
                gone: b,
                come: other,
                ..
            },
        ) => to == other && gone(a, to).eq(gone(b, other)),
        _ => false,
    }
}

/// The commands, in the order of chunks; those of a chunk by what they do, in the order of the first rows. `None` if they
/// are for the general way.
fn collect(
    world: &World,
    lanes: &[Lent<'_, Lane>],
    pieces: &[Piece],
    singles: &mut Singles,
) -> Option<()> {
    let finder = world.finder();
    let mut kinds = Kinds {
        lanes,
        ops: SmallVec::new(),
        count: 0,
    };
    for piece in pieces {
        let lane = &lanes[piece.lane];
        for part in lane.log.parts(piece.commands.clone()) {
            let mut rows = part.rows(lane.payloads.len());
            // One for each command, or some entity has several.
            if part.entities.len() != part.words.len() {
                return None;
            }
            for (&word, &entity) in part.words.iter().zip(part.entities) {
                let op = word.op();
                let kind = kinds.of(piece.lane as u32, op)?;
                let (archetype, Row { chunk, row }) = finder.find(entity)?;
                let mut at = 0;
                if let Op::Change { payload, .. } = lane.ops[op as usize]
                    && payload != NONE
                {
                    at = rows.next(payload);
                    rows.skip(payload, 1);
                }
                singles.push(Single {
                    archetype,
                    chunk,
                    row,
                    kind,
                    lane: piece.lane as u32,
                    op,
                    at,
                    goes: Goes::Not,
                });
            }
        }
    }
    let place = |single: &Single| (single.archetype, single.chunk, single.row);
    if !singles.is_sorted_by_key(place) {
        singles.sort_unstable_by_key(place);
    }
    if singles
        .windows(2)
        .any(|pair| place(&pair[0]) == place(&pair[1]))
    {
        return None;
    }
    if kinds.count > 1 {
        singles
            .chunk_by_mut(|a, b| a.chunk() == b.chunk())
            .for_each(by_kind);
    }
    Some(())
}

/// Brings those of a chunk together that are of one kind, kinds in the order of their first rows.
fn by_kind(run: &mut [Single]) {
    let mut order: SmallVec<[u32; OPS]> = SmallVec::new();
    for single in &*run {
        if !order.contains(&single.kind) {
            order.push(single.kind);
        }
    }
    if order.len() > 1 {
        run.sort_by_key(|single| order.iter().position(|kind| *kind == single.kind));
    }
}

/// Whether two are of one chunk and one kind.
fn alike(a: &Single, b: &Single) -> bool {
    (a.chunk(), a.kind) == (b.chunk(), b.kind)
}

/// Those of each chunk.
fn in_chunks(singles: &[Single]) -> impl DoubleEndedIterator<Item = &[Single]> {
    singles.chunk_by(|a, b| a.chunk() == b.chunk())
}

/// The values of a command, each with its fragment.
fn values_of<'l>(
    lanes: &'l [Lent<'_, Lane>],
    single: &Single,
) -> impl Iterator<Item = (FragmentId, &'l PayloadColumn)> + 'l {
    let lane = &lanes[single.lane as usize];
    let payload = match single.op(lanes) {
        Op::Change { payload, .. } => lane.payloads.get(*payload as usize),
        _ => None,
    };
    let columns = payload.map_or(&[][..], |payload| &payload.columns);
    columns.iter().map(|column| (column.id, column))
}

/// Why there is no way from an archetype for a kind of op: asked once, as by the general way.
type Refused = SmallVec<[(u32, u32, WorldError); 1]>;

/// Whether all entities of a chunk change alike, so that the chunk might go to another archetype as it is.
fn is_whole(world: &World, lanes: &[Lent<'_, Lane>], run: &[Single]) -> bool {
    let data = &world.archetypes[run[0].archetype as usize];
    run.len() == data.chunks[run[0].chunk as usize].len as usize
        && !matches!(run[0].op(lanes), Op::Destroy)
        && run.iter().all(|other| other.kind == run[0].kind)
}

/// Whether a chunk that might go as it is does not: it is folded, and some column comes or goes.
fn stays(world: &World, lanes: &[Lent<'_, Lane>], run: &[Single]) -> bool {
    let data = &world.archetypes[run[0].archetype as usize];
    let Op::Change { gone, .. } = run[0].op(lanes) else {
        return true;
    };
    let comes = |(_, column): (FragmentId, &PayloadColumn)| column.layout.size() > 0;
    data.chunks[run[0].chunk as usize].is_folded()
        && (values_of(lanes, &run[0]).any(comes)
            || gone.iter().any(|&id| data.column_of(id).is_some()))
}

/// Tells what goes, which nobody has touched yet, and gathers what comes.
#[cold]
fn tell_few(world: &mut World, singles: &[Single]) -> Panicked {
    world.begin_gathering();
    let mut told = Told::default();
    let mut rows: SmallVec<[u32; 16]> = SmallVec::new();
    for run in in_chunks(singles) {
        rows.clear();
        let dying = run
            .iter()
            .filter(|single| matches!(single.goes, Goes::Dies));
        rows.extend(dying.map(|single| single.row));
        told.dying(world, run[0].chunk(), &rows);
    }
    for group in singles.chunk_by(alike) {
        rows.clear();
        let mut target = group[0].archetype;
        for single in group {
            if let Goes::To(edge, _) = single.goes {
                target = edge.target;
                rows.push(single.row);
            }
        }
        told.moved(world, group[0].chunk(), &rows, target);
    }
    told.tell(world)
}

impl Flush<'_> {
    /// Applies all commands if they are few and simple; else `false`, and nothing is done.
    pub(super) fn apply_few(&mut self, world: &mut World, pieces: &[Piece]) -> bool {
        let total = pieces.iter().map(|piece| piece.commands.len()).sum();
        if total > FEW || world.forks(total, Cost::High) {
            return false;
        }
        let lanes = core::mem::take(&mut self.lanes);
        let mut singles = Singles::new();
        let stay = |run| !is_whole(world, &lanes, run) || stays(world, &lanes, run);
        let is_few =
            collect(world, &lanes, pieces, &mut singles).is_some() && in_chunks(&singles).all(stay);
        if is_few {
            self.report.commands += total;
            self.plan_few(world, &lanes, &mut singles);
            let is_watched = world.is_watched(DESTROYED | REMOVED | ADDED);
            if is_watched {
                let panicked = tell_few(world, &singles);
                self.panicked = first(self.panicked.take(), panicked);
            }
            self.move_few(world, &lanes, &singles);
            self.close_few(world, &singles);
            if is_watched {
                let panicked = world.tell_gathered();
                self.panicked = first(self.panicked.take(), panicked);
            }
        }
        self.lanes = lanes;
        is_few
    }

    /// The edge along which a command leads.
    fn edge_of(
        &mut self,
        world: &mut World,
        lanes: &[Lent<'_, Lane>],
        single: &Single,
        refused: &mut Refused,
    ) -> Result<EdgeRef, WorldError> {
        let known = |(archetype, kind, _): &&(u32, u32, WorldError)| {
            (*archetype, *kind) == (single.archetype, single.kind)
        };
        if let Some((_, _, error)) = refused.iter().find(known) {
            return Err(error.for_another(Entity::PLACEHOLDER));
        }
        let mut edge = Err(WorldError::Interrupted);
        if let Op::Change { gone, come, .. } = single.op(lanes) {
            let mut number = |ids: &[FragmentId]| world.bundles.number_of(ids);
            let change = match (gone.is_empty(), come.is_empty()) {
                (true, _) => Change::Add(number(come)),
                (false, true) => Change::Remove(number(gone)),
                (false, false) => Change::Swap(number(gone), number(come)),
            };
            // A new archetype clones the templates of its chunk fragments, which may panic.
            note(&mut self.panicked, || {
                edge = world.edge_for(single.archetype, change);
            });
        }
        if let Err(error) = &edge {
            let again = error.for_another(Entity::PLACEHOLDER);
            refused.push((single.archetype, single.kind, again));
        }
        edge
    }

    /// Says for each entity where it goes, and takes the room there.
    fn plan_few(&mut self, world: &mut World, lanes: &[Lent<'_, Lane>], singles: &mut [Single]) {
        let mut refused = Refused::new();
        // As by the general way, archetypes and groups are made first that chunks might go to.
        for run in in_chunks(singles) {
            if is_whole(world, lanes, run)
                && let Ok(edge) = self.edge_of(world, lanes, &run[0], &mut refused)
                && edge.target != run[0].archetype
                && world.refits()
            {
                world.same_group(run[0].archetype, run[0].chunk, edge.target);
            }
        }
        for group in singles.chunk_by_mut(alike) {
            let rows = group.len();
            if let Op::Destroy = group[0].op(lanes) {
                self.report.destroyed += rows;
                group.iter_mut().for_each(|single| single.goes = Goes::Dies);
                continue;
            }
            let (archetype, chunk) = group[0].chunk();
            let edge = match self.edge_of(world, lanes, &group[0], &mut refused) {
                Ok(edge) => edge,
                Err(error) => {
                    self.refuse_few(world, group, &error);
                    continue;
                }
            };
            if edge.target == archetype {
                if !edge.ended.is_empty() {
                    self.report.updated += rows;
                    (group.iter_mut()).for_each(|single| single.goes = Goes::Stays(edge));
                }
                continue;
            }
            let to = world.same_group(archetype, chunk, edge.target);
            let version = world.version();
            for at in 0..rows {
                let mut room = None;
                // As above.
                note(&mut self.panicked, || {
                    room = Some(world.room_for(edge.target, to, rows - at));
                });
                match room.unwrap_or(Err(WorldError::Interrupted)) {
                    Ok(row) => {
                        let data = &mut world.archetypes[edge.target as usize];
                        data.grown(row.chunk, 1, version);
                        group[at].goes = Goes::To(edge, row);
                        self.report.moved += 1;
                    }
                    Err(error) => {
                        self.refuse_few(world, &group[at..], &error);
                        world.let_go(edge.target, to);
                        break;
                    }
                }
            }
        }
    }

    /// Reports that entities of a chunk stay as they are.
    fn refuse_few(&mut self, world: &World, singles: &[Single], error: &WorldError) {
        for single in singles {
            let data = &world.archetypes[single.archetype as usize];
            let chunk = &data.chunks[single.chunk as usize];
            // SAFETY: a row that has a handle. (Not all of the chunk have one: some are taken for entities
            // that are still to come.)
            let entity = unsafe { *chunk.handles().add(single.row as usize) };
            self.report
                .refused
                .push((entity, error.for_another(entity)));
        }
    }

    /// Brings entities to their rows, and values to entities.
    fn move_few(&mut self, world: &World, lanes: &[Lent<'_, Lane>], singles: &[Single]) {
        for single in singles {
            let (edge, to) = match single.goes {
                Goes::Not | Goes::Dies => continue,
                Goes::Stays(edge) => (edge, None),
                Goes::To(edge, row) => (edge, Some(row)),
            };
            let Single { chunk, row, .. } = *single;
            let from = Row { chunk, row };
            let source = &world.archetypes[single.archetype as usize];
            let target = &world.archetypes[edge.target as usize];
            let ended = end_along(source, from, &edge);
            self.panicked = first(self.panicked.take(), ended);
            let there = &source.chunks[chunk as usize];
            let (into, place) = match to {
                None => {
                    for at in source.positions_of(&edge.ended) {
                        there.touch(at, world.version());
                    }
                    (there, row)
                }
                Some(to) => {
                    carry(source, from, target, to, &edge);
                    if !edge.bits.is_empty() {
                        World::carry_bits(source, target, from, &edge, to);
                    }
                    (&target.chunks[to.chunk as usize], to.row)
                }
            };
            for (id, source) in values_of(lanes, single) {
                if let Some(at) = target.column_of(id) {
                    let column = &target.columns[at];
                    let array = into.array(column.offset);
                    let value = array.wrapping_add(place as usize * column.size as usize);
                    // SAFETY: payloads are sealed when a flush begins; one command has this row, and it is done once.
                    // The old value there has just ended, or there was none.
                    unsafe { source.source().move_out(single.at, value) };
                }
            }
            if to.is_some() {
                // SAFETY: a row of each chunk.
                unsafe {
                    let entity = *there.handles().add(row as usize);
                    into.handles().add(place as usize).write(entity);
                    world.universe.place(entity, into.run, place);
                }
            }
        }
    }

    /// Ends the entities that die, fills the holes, and notes what has left each chunk.
    fn close_few(&mut self, world: &mut World, singles: &[Single]) {
        let mut holes = Holes::default();
        for run in in_chunks(singles) {
            let data = &world.archetypes[run[0].archetype as usize];
            let chunk = &data.chunks[run[0].chunk as usize];
            let rows_of = |leaves: fn(&Single) -> bool| {
                let rows = run.iter().filter(move |single| leaves(single));
                rows.map(|single| single.row)
            };
            let dying: SmallVec<[u32; 16]> =
                rows_of(|single| matches!(single.goes, Goes::Dies)).collect();
            if !dying.is_empty() {
                // SAFETY: the values end with their entities.
                unsafe { end(data, chunk, &dying, &data.columns, &mut self.panicked) };
                world.universe.kill_slice(holes.dying(chunk, &dying));
            }
            let mut leaving: SmallVec<[u32; 16]> = rows_of(Single::leaves).collect();
            leaving.sort_unstable();
            // SAFETY: rows of the chunk, whose values are elsewhere or have ended; all that come are there.
            unsafe { fill_holes(world, data, chunk, &leaving, &mut holes.movers) };
        }
        let version = world.version();
        // From the last chunk to the first, so that those that go leave the others where they are.
        for run in in_chunks(singles).rev() {
            let leaving = run.iter().filter(|single| single.leaves()).count() as u32;
            let (archetype, chunk) = run[0].chunk();
            if leaving > 0 {
                let data = &mut world.archetypes[archetype as usize];
                data.shrunk(&world.universe, world.number, chunk, leaving, version);
                world.settle_groups(archetype);
            }
        }
    }
}
