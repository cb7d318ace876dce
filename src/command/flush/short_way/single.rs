//! `Singles`: few commands, brought together by their entities.

use core::iter::successors;

use smallvec::SmallVec;

use crate::archetype::Row;
use crate::command::flush::Piece;
use crate::command::flush::short_way::kinds::{Kinds, Lists, OPS};
use crate::command::lane::{Lane, NONE, Op};
use crate::command::payload::PayloadColumn;
use crate::entity::{Entity, EntityFault};
use crate::world::compose::EdgeRef;
use crate::world::{World, WorldError};

/// What is done to an entity.
#[derive(Clone, Copy)]
pub(super) struct Single {
    pub(super) archetype: u32,
    pub(super) chunk: u32,
    pub(super) row: u32,
    /// Which of the [kinds](Kinds).
    pub(super) kind: u32,
    /// The last one, or the only one.
    command: Command,
    pub(super) goes: Goes,
}

/// A command.
#[derive(Clone, Copy)]
struct Command {
    /// What it does: an op of a lane.
    lane: u32,
    op: u32,
    /// The row of its values.
    at: u32,
    /// The one before it that names the same entity, among the earlier ones, or [`NONE`].
    before: u32,
}

/// Where an entity goes.
#[derive(Clone, Copy)]
pub(super) enum Goes {
    /// It stays as it is.
    Not,
    Dies,
    /// It gets other values where it is.
    Stays(EdgeRef),
    To(EdgeRef, Row),
}

impl Single {
    pub(super) fn chunk(&self) -> (u32, u32) {
        (self.archetype, self.chunk)
    }

    /// Archetype, chunk and row as one number, which is compared without a branch.
    fn place(&self) -> u128 {
        u128::from(self.archetype) << 64 | u128::from(self.chunk) << 32 | u128::from(self.row)
    }

    pub(super) fn leaves(&self) -> bool {
        matches!(self.goes, Goes::Dies | Goes::To(..))
    }
}

/// Whether two are of one chunk and one kind.
pub(super) fn alike(a: &Single, b: &Single) -> bool {
    (a.chunk(), a.kind) == (b.chunk(), b.kind)
}

/// Whether the second of two neighbours is done together with the first, as one task of the general way: they are
/// [alike], and come to neighbouring rows, or stay.
pub(super) fn go_together(a: &Single, b: &Single) -> bool {
    let goes = match (a.goes, b.goes) {
        (Goes::To(_, a), Goes::To(_, b)) => (a.chunk, a.row + 1) == (b.chunk, b.row),
        (Goes::Stays(_), Goes::Stays(_)) => true,
        _ => false,
    };
    goes && alike(a, b)
}

/// Those of each chunk.
pub(super) fn in_chunks(all: &[Single]) -> impl DoubleEndedIterator<Item = &[Single]> {
    all.chunk_by(|a, b| a.chunk() == b.chunk())
}

/// What is done to each entity, in the order of chunks; to those of a chunk by kinds, in the order of the first rows.
pub(super) struct Singles<'l> {
    pub(super) all: SmallVec<[Single; 16]>,
    pub(super) kinds: Kinds<'l>,
    pub(super) values: Values<'l>,
    /// Commands for entities that are dead: for whom, and of which piece.
    pub(super) dead: SmallVec<[(Entity, u32); 2]>,
}

/// Where the values of commands are found.
pub(super) struct Values<'l> {
    lanes: &'l [&'l Lane],
    /// Commands that are not the last ones for their entities.
    earlier: SmallVec<[Command; 4]>,
}

impl<'l> Singles<'l> {
    /// None yet, of commands in these lanes.
    #[inline(always)]
    pub(super) fn new(lanes: &'l [&'l Lane]) -> Self {
        Self {
            all: SmallVec::new(),
            kinds: Kinds::new(lanes),
            values: Values {
                lanes,
                earlier: SmallVec::new(),
            },
            dead: SmallVec::new(),
        }
    }

    /// Brings the commands to their entities; `None` if they are for the general way.
    pub(super) fn collect(&mut self, world: &World, pieces: &[Piece]) -> Option<()> {
        for (piece, number) in pieces.iter().zip(0..) {
            self.collect_piece(world, piece, number)?;
        }
        if !self.all.is_sorted_by_key(Single::place) {
            // Those of one entity stay in their order.
            self.all.sort_by_key(Single::place);
        }
        let twice = |pair: &[Single]| pair[0].place() == pair[1].place();
        if self.all.windows(2).any(twice) {
            self.merge(world)?;
        }
        if self.kinds.count() > 1 {
            self.all
                .chunk_by_mut(|a, b| a.chunk() == b.chunk())
                .for_each(by_kind);
        }
        Some(())
    }

    fn collect_piece(&mut self, world: &World, piece: &Piece, number: u32) -> Option<()> {
        let finder = world.finder();
        let lane = &self.values.lanes[piece.lane];
        for part in lane.log.parts(piece.commands.clone()) {
            let mut rows = part.rows(lane.payloads.len());
            for (entity, word) in part.commands() {
                let mut command = Command {
                    lane: piece.lane as u32,
                    op: word.op(),
                    at: 0,
                    before: NONE,
                };
                let kind = self.kinds.of(command.lane, command.op)?;
                if let Op::Change { payload, .. } = lane.ops[command.op as usize]
                    && payload != NONE
                {
                    command.at = rows.next(payload);
                    rows.skip(payload, 1);
                }
                let Some((archetype, Row { chunk, row })) = finder.find(entity) else {
                    self.lose(world, entity, number)?;
                    continue;
                };
                self.all.push(Single {
                    archetype,
                    chunk,
                    row,
                    kind,
                    command,
                    goes: Goes::Not,
                });
            }
        }
        Some(())
    }

    /// A command whose entity does not lie in the world; `None` if it is not dead, and no more than that.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, world: &World, entity: Entity, piece: u32) -> Option<()> {
        is_dead(world, entity).then(|| self.dead.push((entity, piece)))
    }

    /// Makes one of those that are of one entity.
    #[cold]
    fn merge(&mut self, world: &World) -> Option<()> {
        let registry = world.registry();
        let commands = core::mem::take(&mut self.all);
        for of_one in commands.chunk_by(|a, b| a.place() == b.place()) {
            let (mut single, before) = match *of_one {
                [ref before @ .., last] => (last, before),
                [] => continue,
            };
            if !before.is_empty() {
                let ops = of_one.iter().map(|single| single.command);
                let ops = ops.map(|command| (command.lane, command.op));
                single.kind = self.kinds.of_all(ops, registry)?;
                if let Some(Lists { gone, come }) = self.kinds.lists(single.kind)
                    && !world.keeps_edge(single.archetype, gone, come)
                {
                    return None;
                }
                let mut last = NONE;
                for single in before {
                    self.values.earlier.push(Command {
                        before: last,
                        ..single.command
                    });
                    last = self.values.earlier.len() as u32 - 1;
                }
                single.command.before = last;
            }
            self.all.push(single);
        }
        Some(())
    }
}

/// Whether an entity that does not lie in the world is dead, and no more than that.
#[cold]
fn is_dead(world: &World, entity: Entity) -> bool {
    match world.refuse(entity) {
        WorldError::Entity(error) => error.fault == EntityFault::Destroyed,
        _ => false,
    }
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

impl<'l> Values<'l> {
    /// Visits the values for an entity, each in its row of a column: of those of one fragment the last one.
    #[inline(always)]
    pub(super) fn each(&self, single: &Single, mut visit: impl FnMut(&'l PayloadColumn, u32)) {
        let last = single.command;
        for column in self.columns(last) {
            visit(column, last.at);
        }
        if last.before != NONE {
            self.each_earlier(last, &mut visit);
        }
    }

    /// Visits those that no later command replaces.
    #[inline(never)]
    fn each_earlier(&self, last: Command, visit: &mut dyn FnMut(&'l PayloadColumn, u32)) {
        for command in self.commands(last).skip(1) {
            let later = || {
                self.commands(last)
                    .take_while(|later| later.before != command.before)
            };
            for column in self.columns(command) {
                let has = |later: Command| {
                    self.columns(later)
                        .iter()
                        .any(|other| other.id == column.id)
                };
                if !later().any(has) {
                    visit(column, command.at);
                }
            }
        }
    }

    /// A command, and those before it for the same entity, from the last to the first.
    fn commands(&self, last: Command) -> impl Iterator<Item = Command> {
        successors(Some(last), |command| {
            self.earlier.get(command.before as usize).copied()
        })
    }

    #[inline(always)]
    fn columns(&self, command: Command) -> &'l [PayloadColumn] {
        let lane = &self.lanes[command.lane as usize];
        match lane.ops[command.op as usize] {
            Op::Change { payload, .. } => lane
                .payloads
                .get(payload as usize)
                .map_or(&[], |payload| &payload.columns),
            _ => &[],
        }
    }
}
