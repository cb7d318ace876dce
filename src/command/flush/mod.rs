//! The flush: what recorders have left is applied, round by round ([`rounds`]).
//!
//! 1. Recorders are put in order ([`Precedence`]): what has waited for its entity, what a
//!    flush has left, what was recorded since; then by the place of their processor, by sort key, and by when they were
//!    opened.
//! 2. What they created joins the world ([`link`], [`join`]).
//! 3. Commands are brought to the chunks of their entities ([`mod@locate`]) and merged to one net change for
//!    each ([`mod@merge`]); those that come in the order of rows, by runs of them ([`mod@sweep`]); those that all do the same,
//!    by marks on rows ([`marks`]).
//! 4. Where every entity goes is said chunk by chunk, in order ([`plan`]).
//! 5. Columns are copied, holes filled ([`apply`]); counts and lists follow ([`settle`]). Chunks that change as a
//!    whole stay as they are, as far as that wastes little.
//!
//! A few commands go the [short way](short_way): the same steps without what only many are worth. All ways that commands go, of
//! which the first is taken that takes them; what comes out is the same, bit for bit:
//!
//! | way | taken if | up to |
//! |---|---|---|
//! | [`lone_recorder`], a single command | one recorder has left something, plainly, in a queue that nobody else has, and [`set_flush_threads_from`](World::set_flush_threads_from) is not set; the command is no closure, switch or shared value, nobody watches what it does, and there is room where the entity goes | one |
//! | `lone_recorder::one_op` | one recorder, as above; all do the same to entities of one archetype (to die, each another one); no value that lies in the world has to be dropped | `lone_recorder::ALIKE` |
//! | [`short_way`] | no closures, switches or shared values among them, at most `short_way::kinds::OPS` ops, no entity that is only reserved, no chunk that may go as a whole; fewer than `set_flush_threads_from` says | `short_way::FEW`; `short_way::APART`, if they seem to be for entities in chunks of their own: asked of the first `short_way::LOOK` pairs, by `short_way::GAP` |
//! | [`mod@sweep`] | rows in order: at least `sweep::find::LEAST` commands in a run on average, but for `sweep::find::SHORT` runs; each entity lies in the world | |
//! | [`marks`] | all do the same, and twice as once; at most `marks::rows::SPARSE` rows of the world for each command, and its chunks no farther apart than that many, or `marks::rows::CLOSE`; of values that are numbered at most `marks::OPS` ops' and `marks::ROW_BITS` bits of rows | |
//! | [`mod@locate`] and [`mod@merge`], the general way | else | |
//!
//! `lone_recorder` asks `short_way` itself, up to `lone_recorder::ALIKE` commands that nobody watches; whatever it does not take is left to the
//! rounds. These ask `short_way` for all commands of a round, and where there are closures for each batch between two of them; the
//! last three for a batch.
//!
//! Who watches the world hears of what joins after step 2, of what goes after step 4, of what comes after
//! step 5 ([`told`]).
//!
//! A closure ends a batch of commands: steps 3 to 5 are done for those before it, then it runs. (So do 4 billion
//! commands, which are all that have numbers.) Steps 3 and
//! 5 are done by all threads of the current rayon pool; what they do depends on nothing that differs between
//! one thread and many, and what is decided is decided in step 4, by one. So the world is the same,
//! bit for bit, for any number of threads.

mod apply;
mod blame;
mod carried;
mod half;
mod join;
mod link;
mod locate;
mod lone_recorder;
mod marks;
mod memory;
mod merge;
mod net;
mod ops;
mod plan;
mod report;
mod rounds;
mod settle;
mod short_way;
mod sweep;
#[cfg(test)]
mod tests;
mod told;
mod work;

use core::ops::Range;
use std::sync::Arc;

pub use report::{Dropped, FlushReport, Refused};
use smallvec::SmallVec;

use crate::command::lane::{Called, Lane};
use crate::command::log::{self, Rows, Word};
use crate::command::precedence::Precedence;
use crate::command::queue::Queue;
use crate::entity::{Entity, EntityFault};
use crate::panics::{Panicked, first, note, resume};
use crate::sync::atomic::{Ordering, fence};
use crate::sync::pool::Taken;
use crate::workers::fork_join;
use crate::world::watch::{CREATED, SET};
use crate::world::{World, WorldError};
use apply::{Holes, Scene};
use carried::Carried;
use half::Half;
use locate::{Item, Located, locate};
use marks::{Marked, Share, mark};
pub(crate) use memory::Memory;
use merge::{Scratch, merge};
use ops::{FlushOp, Ops};
use rounds::order_of;
use sweep::sweep;
use work::Work;

/// What a command costs.
#[derive(Clone, Copy)]
enum Cost {
    /// Some nanoseconds: the rows are neighbours, and their values too.
    Low,
    /// Ten times as much.
    High,
}

impl Cost {
    /// So few commands are never worth a second thread. Who makes no more than that has no threads made either: rayon
    /// makes them when it is first asked how many there are.
    const LEAST: usize = 1 << 10;

    /// How many of so many threads are quicker than one. What one thread has just recorded lies in its own
    /// caches, from where two fetch it more slowly than one works it off, until it is more than these hold; the more there are, the
    /// sooner they gain. (Measured with two.) But a thread that has to be woken for less than it takes to wake it, some ten
    /// microseconds, gains nothing.
    fn threads(self, commands: usize, all: usize) -> usize {
        let (worth, each) = match self {
            Self::Low => (1 << 19, 1 << 13),
            Self::High => (1 << 18, 1 << 12),
        };
        let threads = all.min(commands / each).max(1);
        if commands >= worth / threads {
            threads
        } else {
            1
        }
    }
}

impl World {
    /// How many threads so many commands are worth: all, where the program says from how many on.
    fn flush_threads(&self, commands: usize, cost: Cost) -> usize {
        let from = self.forks_from;
        if commands < from.unwrap_or(Cost::LEAST) {
            return 1;
        }
        let all = fork_join::threads();
        match from {
            Some(_) => all,
            None => cost.threads(commands, all),
        }
    }
}

/// Neighbouring commands of a lane.
#[derive(Clone, Debug)]
struct Piece {
    lane: usize,
    segment: usize,
    commands: Range<u32>,
}

/// So many commands have numbers of their own.
const MOST: usize = u32::MAX as usize;

/// Commands that are applied together: those between two closures, if there are not [too many](MOST).
#[derive(Default)]
struct Batch {
    pieces: Vec<Piece>,
    commands: usize,
}

impl Batch {
    fn clear(&mut self) {
        self.pieces.clear();
        self.commands = 0;
    }
}

/// A command whose entity does not lie in the world.
#[derive(Debug)]
struct Lost {
    /// What it does, and the row of its values.
    op: u32,
    at: u32,
    entity: Entity,
    /// Which of the batch's pieces it is of.
    piece: u32,
}

/// Neighbouring commands, as the flush looks at them.
struct Part<'l> {
    log: log::Part<'l>,
    /// The common number of the lane's first op.
    first_op: u32,
    payloads: usize,
    /// Which of the batch's pieces it is of.
    piece: u32,
}

impl<'l> Part<'l> {
    fn all(lanes: &[&'l Lane], ops: &Ops<'_>, pieces: &[Piece]) -> Vec<Self> {
        let parts = pieces.iter().zip(0..).flat_map(|(piece, number)| {
            let lane = lanes[piece.lane];
            let parts = lane.log.parts(piece.commands.clone());
            parts.map(move |log| Part {
                log,
                first_op: ops.first_of[piece.lane],
                payloads: lane.payloads.len(),
                piece: number,
            })
        });
        parts.collect()
    }

    /// Where the values of its first commands lie.
    fn rows(&self) -> Rows {
        self.log.rows(self.payloads)
    }

    /// The common number of what a command does.
    fn op(&self, word: Word) -> u32 {
        self.first_op + word.op()
    }

    /// Its commands.
    fn commands(&self, ops: &Ops<'_>) -> impl Iterator<Item = Lost> {
        let payload_of = &ops.payload_of[self.first_op as usize..];
        let mut rows = self.rows();
        self.log.commands().map(move |(entity, word)| {
            let at = &mut rows.as_mut_slice()[payload_of[word.op() as usize] as usize];
            let row = *at;
            *at += 1;
            Lost {
                op: self.op(word),
                at: row,
                entity,
                piece: self.piece,
            }
        })
    }
}

/// A flush at work.
struct Flush<'q> {
    queue: &'q Queue,
    lanes: Taken<'q, Lane>,
    carried: Carried,
    /// Where the caller has it: what has just been written is not copied.
    report: &'q mut FlushReport,
    panicked: Panicked,
    /// Commands of a batch, at most.
    most: usize,
    /// Who was opened since it began has no lower number.
    began: u64,
}

impl World {
    /// Applies what recorders have left: see [`Commands`](crate::command::Commands) for the order. Entities
    /// that were created join the world, whole chunks as they are (unless more than an eighth of their composition's
    /// rows are free: then these are filled); all commands for one entity become one
    /// change; the changes are made on all threads of the current rayon pool (or the program's own
    /// [workers](crate::workers)), with the same result for any number of them. A thread outside of the pool works too, in place of one of them, or alone where rayon can make no
    /// threads.
    ///
    /// What closures, observers and drops record meanwhile is applied, too, round by round, and so
    /// is what other threads record. (What drops record of values that were in the world comes in any order among itself, where
    /// several threads apply: also in an [ordered](crate::world::Universe::ordered) universe. Values that no command has
    /// delivered, because they were for the dead, were refused or overwritten, are dropped after all that a round applies, by one
    /// thread, in the order of the commands; shared values, and what chunks begin with, after them, in the order of their
    /// recorders, or, where several of one thread have left some in [the same memory](crate::command::Commands), as that goes.)
    /// Each round applies what was opened before it began. While some
    /// do so all the time, each round applies what they have recorded during the one before; where
    /// they record quicker than it is applied, each is longer than the last. Who has such threads
    /// [sets](Self::set_flush_rounds) one round.
    ///
    /// Where memory runs out, the rest is done, and the report names those that were
    /// [refused](crate::command::FlushReport::refused), each by itself: who changes is as he was, who was created or
    /// [built](crate::command::Commands::build) by a recorder is dead. So of a batch, or a
    /// [group](crate::command::Commands::create_group), that was recorded whole some may live and others not, and who lives
    /// may name one who is dead.
    ///
    /// O(commands + recorders + archetypes + chunks of the world); what was created costs time by the chunk (where it
    /// fills free rows, by the entity). Recorders
    /// that were ever open at one time count each time, until the world is [trimmed](Self::trim). More than 4 billion
    /// commands are several batches, as though closures stood between them.
    ///
    /// # Panics
    /// If users' code panicked: a closure, a `drop`, the `eq` or `hash` of a shared value, the `clone` of a
    /// chunk fragment's template or of what a [clone](crate::command::Commands::clone_entity) gets, or what makes a value that
    /// is [required](crate::fragment::FragmentRegistry::require_with). All other commands are applied then, and the first panic goes on: of those of several
    /// recorders, or threads, that may be another each time. There is no report then: what was refused, `tracing` is told.
    #[doc(alias = "apply")]
    pub fn flush(&mut self) -> FlushReport {
        let mut report = FlushReport::default();
        self.flush_in_batches(MOST, &mut report);
        report
    }

    /// Flushes with so many commands in a batch, at most, but where one recorder has more.
    fn flush_in_batches(&mut self, most: usize, report: &mut FlushReport) {
        self.keep_versions();
        self.release_left();
        let Some(queue) = self.attached.get::<Arc<Queue>>() else {
            return;
        };
        if queue.recorders.is_settled() {
            return;
        }
        // Who has it besides lends it to threads, or is a flush round this one. (Whoever is to share work out for less is
        // to see it done.)
        if most == MOST
            && self.forks_from.is_none()
            && Arc::strong_count(queue) == 1
            && queue.went_back().is_none()
        {
            // Ordering: Acquire pairs with the Release of who has let the queue go.
            fence(Ordering::Acquire);
            let is_lent_weakly = queue.is_lent_weakly();
            let queue = Arc::as_ptr(queue);
            if !is_lent_weakly || self.queue_comes_back() {
                // SAFETY: the world's, which is borrowed alone, and nobody else's, nor can it be: nobody has it weakly.
                let done = unsafe { self.flush_alone(queue, report) };
                if done.is_some() {
                    return;
                }
            }
        }
        let Some(queue) = self.attached.get::<Arc<Queue>>() else {
            return;
        };
        if queue.nesting.refuses() {
            *report = FlushReport::too_deep(self);
            return;
        }
        let queue = Arc::clone(queue);
        queue.recorders.settle(None);
        // What a flush finds that a closure makes was mostly recorded while the one round it was at work.
        let is_inner = queue.nesting.seen().0 > 0;
        let began = match is_inner {
            true => 0,
            false => queue.recorders.next_number(),
        };
        let mut flush = Flush {
            queue: &queue,
            lanes: Taken::new(),
            carried: Carried::default(),
            report,
            panicked: None,
            most,
            began,
        };
        flush.run(self);
        if flush.panicked.is_some() {
            let of_whom = "a flush whose report is lost: users' code panicked in it";
            flush.report.tell_of_refused(self, of_whom);
        }
        resume(flush.panicked);
    }

    /// Whether the queue is the world's alone, though somebody has had it weakly.
    #[cold]
    fn queue_comes_back(&mut self) -> bool {
        let queue = self.attached.get_mut::<Arc<Queue>>();
        queue.is_some_and(Queue::comes_back)
    }

    /// Whether a flush has nothing to do: nothing was recorded since the last one. Wait-free.
    pub(crate) fn is_flushed(&self) -> bool {
        let queue = self.attached.get::<Arc<Queue>>();
        queue.is_none_or(|queue| queue.recorders.is_settled())
    }

    /// Sets how often a flush looks for new commands, which closures, observers and other threads
    /// record while it runs, before it leaves them to the next flush, where they come first. 5
    /// unless it is set; at least 1. Which of these has recorded something is not told apart: with
    /// threads that record all the time every flush takes all its rounds, each for what came during
    /// the one before, and its report says that it is [unfinished](FlushReport::unfinished). With
    /// one round it applies what was there when it began, and what its closures record comes with
    /// the next flush. (A flush that a closure makes has rounds of its own;
    /// [how deep](crate::command::Commands::defer) they may lie in each other does not depend on this.)
    ///
    /// It decides what a frame comes to, and is not [saved](World::save): say it again of a world that is loaded, if it
    /// is to go on as the saved one.
    pub fn set_flush_rounds(&mut self, rounds: usize) {
        self.flush_rounds = rounds.max(1);
    }

    /// Sets from how many commands on a flush shares them out among threads; `None` for what is quicker on most machines:
    /// 262,144 divided by the number of threads, on no more of these than have 4,096 each (so that eight begin with 32,768,
    /// and so do eight of sixty-four); twice as many where entities are named in the order in which they lie. From a
    /// number on that is set here, all threads are asked. What comes out is the same.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// // Commands that carry much are worth a second thread sooner.
    /// world.set_flush_threads_from(Some(10_000));
    /// ```
    pub fn set_flush_threads_from(&mut self, commands: Option<usize>) {
        self.forks_from = commands;
    }
}

impl Flush<'_> {
    /// Applies what was found.
    fn run_round(&mut self, world: &mut World) {
        for lane in &mut self.lanes {
            lane.hand_over();
            self.report.by_chance += lane.by_chance;
            for payload in &mut lane.payloads {
                payload.seal();
            }
        }
        let order = order_of(&self.lanes);
        let mut pieces: SmallVec<[Piece; 4]> = SmallVec::new();
        if world.is_watched(CREATED | SET) {
            world.begin_gathering();
        }
        let mut builds = false;
        for &(_, lane, segment) in &order {
            builds |= !self.lanes[lane].segments[segment].parts.is_empty();
            self.link(world, lane, segment);
            let commands = self.lanes[lane].segments[segment].commands.clone();
            if !commands.is_empty() {
                pieces.push(Piece {
                    lane,
                    segment,
                    commands,
                });
            }
        }
        self.empty_nurseries();
        world.births += u64::from(builds);
        self.panicked = first(self.panicked.take(), world.tell_gathered());
        for &(_, lane, segment) in &order {
            Self::take_templates(&mut self.panicked, world, &self.lanes[lane], segment, 0);
        }
        if pieces.is_empty() {
            return;
        }
        let lanes = core::mem::take(&mut self.lanes);
        let data: SmallVec<[&Lane; 8]> = lanes.iter().map(|lane| &**lane).collect();
        if self.apply_few(world, &data, &pieces) {
            let commands = pieces.iter().map(|piece| piece.commands.len());
            self.report.commands += commands.sum::<usize>();
        } else {
            let kept = &self.queue.memory;
            let memory = kept.take(0);
            let mut memory = memory.unwrap_or_else(|| kept.lend(Memory::default()));
            self.apply_all(world, &data, pieces, &mut memory);
            memory.settle();
        }
        drop(data);
        self.lanes = lanes;
    }

    /// Applies all commands, batch by batch, with the closures between them.
    fn apply_all(
        &mut self,
        world: &mut World,
        data: &[&Lane],
        pieces: SmallVec<[Piece; 4]>,
        memory: &mut Memory,
    ) {
        let seat = Arc::clone(&world.seat);
        let ops = Ops::new(world, data.iter().copied(), &mut self.panicked);
        let mut batch = Batch::default();
        let mut called = false;
        'pieces: for piece in pieces {
            self.report.commands += piece.commands.len();
            if !ops.has_calls {
                self.add(world, data, &ops, &mut batch, piece, memory);
                continue;
            }
            // A closure is a part of its own.
            for part in data[piece.lane].log.parts(piece.commands.clone()) {
                let op = ops.first_of[piece.lane] + part.words[0].op();
                let FlushOp::Call { payload, call } = ops.all[op as usize] else {
                    let commands = part.range();
                    if called {
                        // The closure may have brought others.
                        let lane = data[piece.lane];
                        let (segment, from) = (piece.segment, commands.start);
                        Self::take_templates(&mut self.panicked, world, lane, segment, from);
                    }
                    let piece = Piece { commands, ..piece };
                    self.add(world, data, &ops, &mut batch, piece, memory);
                    continue;
                };
                let row = part.rows(data[piece.lane].payloads.len());
                let row = row.next(ops.payload_of[op as usize]);
                self.apply(world, data, &ops, &mut batch, memory);
                self.leave_carried();
                called = true;
                let column = &payload.columns[0];
                // SAFETY: the closure's row, which is moved out once, here.
                unsafe { column.moved_out(row) };
                let mut outcome = Called::Closure;
                note(&mut self.panicked, || {
                    // SAFETY: a closure of this type, which nobody uses again.
                    outcome = unsafe { call(column.row(row), world) };
                });
                match outcome {
                    Called::Closure => self.report.closures += 1,
                    Called::Created => self.report.created += 1,
                    Called::Destroyed(count) => self.report.destroyed += count,
                    Called::Dead(entity) => {
                        let by = self.author(world, data, &piece);
                        self.report.drop_for_dead(entity, || by);
                    }
                    Called::Refused(entity, error) => {
                        let by = self.author(world, data, &piece);
                        self.report.refuse(entity, error, by);
                    }
                }
                if !Arc::ptr_eq(&world.seat, &seat) {
                    // What follows names fragments and shared values of the world that was here.
                    batch.clear();
                    break 'pieces;
                }
            }
        }
        self.apply(world, data, &ops, &mut batch, memory);
        ops.end(world, &seat);
    }

    /// Adds commands to a batch, among which are no closures. If they are too many for it, it is applied before.
    fn add(
        &mut self,
        world: &mut World,
        lanes: &[&Lane],
        ops: &Ops<'_>,
        batch: &mut Batch,
        piece: Piece,
        memory: &mut Memory,
    ) {
        if batch.commands + piece.commands.len() > self.most {
            self.apply(world, lanes, ops, batch, memory);
        }
        batch.commands += piece.commands.len();
        batch.pieces.push(piece);
    }

    /// Applies commands among which are no closures.
    fn apply(
        &mut self,
        world: &mut World,
        lanes: &[&Lane],
        ops: &Ops<'_>,
        batch: &mut Batch,
        memory: &mut Memory,
    ) {
        if batch.pieces.is_empty() {
            return;
        }
        // If there were no closures, it was tried.
        if ops.has_calls && self.apply_few(world, lanes, &batch.pieces) {
            batch.clear();
            return;
        }
        let parts = Part::all(lanes, ops, &batch.pieces);
        let (mut works, lost, cost) = if let Some(works) = sweep(world, ops, &parts, memory) {
            (works, Vec::new(), Cost::Low)
        } else if let Some(Marked { works, lost }) = mark(world, ops, &parts, memory) {
            (works, lost, Cost::High)
        } else {
            let located = locate(world, ops, &parts, memory);
            let works = works(world, ops, &located, memory);
            (works, located.lost, Cost::High)
        };
        for lost in lost {
            let piece = &batch.pieces[lost.piece as usize];
            let precedence = lanes[piece.lane].segments[piece.segment].precedence;
            // SAFETY: payloads are sealed when a flush begins, and of a command that is lost nothing else is moved.
            unsafe { self.lose(world, &ops.all[lost.op as usize], &lost, precedence) };
        }
        let refused = self.report.refused.len();
        let half = Half;
        let mut plan = self.plan(world, &mut works, &memory.rows);
        let panicked = told::tell_going(world, &works, &plan, &memory.rows);
        self.panicked = first(self.panicked.take(), panicked);
        let scene = Scene {
            world,
            ops: &ops.all,
            items: &memory.items,
            rows: &memory.rows,
            last: &memory.last,
            kept: memory.shares.first().map_or(&[], Share::values),
            works: &works,
            plan: &plan,
        };
        let threads = world.flush_threads(memory.rows.len(), cost);
        let panicked = if threads > 1 {
            // SAFETY: the plan gives each row to one task, with an empty row of its own to go to; payloads
            // are sealed when a flush begins.
            let run = |task| unsafe { scene.run(task) };
            let moved = fork_join::map_on(threads, plan.tasks.iter().collect(), run);
            scene.carry_all_bits();
            // SAFETY: each chunk has one work, and all tasks are done.
            let close = |holes: &mut Holes, work: &Work| unsafe { scene.close(work, holes) };
            let works = works.iter().collect();
            let closed = fork_join::map_with_on(threads, works, Holes::default, close);
            moved.into_iter().chain(closed).fold(None, first)
        } else {
            let mut holes = Holes::default();
            // SAFETY: as above.
            let moved = plan.tasks.iter().map(|task| unsafe { scene.run(task) });
            let moved = moved.fold(None, first);
            scene.carry_all_bits();
            // SAFETY: as above.
            let close = |work: &Work| unsafe { scene.close(work, &mut holes) };
            let closed = works.iter().map(close);
            closed.fold(moved, first)
        };
        self.panicked = first(self.panicked.take(), panicked);
        plan.spend();
        settle::settle(world, works);
        half.done();
        if self.report.refused.len() > refused {
            self.blame(world, lanes, &batch.pieces, refused);
        }
        batch.clear();
        let panicked = world.tell_gathered();
        self.panicked = first(self.panicked.take(), panicked);
    }

    /// A command whose entity does not lie in the world.
    ///
    /// # Safety
    /// The payload is sealed, and nobody else moves the row's values out.
    unsafe fn lose(&mut self, world: &World, op: &FlushOp<'_>, lost: &Lost, by: Precedence) {
        let &Lost { at, entity, .. } = lost;
        let began = self.began;
        let by = || world.ranks.author(by, began);
        // Asked now: a command before may have released it.
        match (op, world.refuse(entity)) {
            (FlushOp::Destroy, WorldError::NotBuilt { .. }) => match world.release(entity) {
                Ok(()) => self.report.destroyed += 1,
                Err(error) => self.report.refuse(entity, error, by()),
            },
            (_, WorldError::Entity(error)) if error.fault == EntityFault::Destroyed => {
                self.report.drop_for_dead(entity, by);
            }
            (_, error) => {
                let registry = world.registry();
                let by = by();
                let waits = matches!(error, WorldError::Pending { .. })
                    // SAFETY: the caller's.
                    && unsafe { self.carried.take(registry, op, at, entity, &by) };
                if !waits {
                    self.report.refuse(entity, error, by);
                }
            }
        }
    }
}

/// Merges the commands of each chunk.
fn works(world: &World, ops: &Ops<'_>, located: &Located, memory: &mut Memory) -> Vec<Work> {
    let total = memory.items.len();
    memory.rows.clear();
    memory.rows.reserve(total);
    memory.last.clear();
    memory.last.reserve(total);
    let mut tasks = Vec::with_capacity(located.buckets.len());
    let mut items: &mut [Item] = &mut memory.items;
    let mut rows = &mut memory.rows.spare_capacity_mut()[..total];
    let mut last = &mut memory.last.spare_capacity_mut()[..total];
    for &bucket in &located.buckets {
        let count = (bucket.end - bucket.first) as usize;
        let (items_here, items_after) = items.split_at_mut(count);
        let (rows_here, rows_after) = rows.split_at_mut(count);
        let (last_here, last_after) = last.split_at_mut(count);
        (items, rows, last) = (items_after, rows_after, last_after);
        tasks.push(merge::Chunk {
            bucket,
            items: items_here,
            rows: rows_here,
            last: last_here,
        });
    }
    let run = |scratch: &mut Scratch, chunk: merge::Chunk<'_>| {
        let data = &world.archetypes[chunk.bucket.archetype as usize];
        let len = data.chunks[chunk.bucket.chunk as usize].len;
        merge(scratch, ops, chunk, len)
    };
    let threads = world.flush_threads(total, Cost::High);
    let works = if threads > 1 {
        fork_join::map_with_on(threads, tasks, Scratch::new, run)
    } else {
        let mut scratch = Scratch::new();
        let works = tasks.into_iter().map(|task| run(&mut scratch, task));
        works.collect()
    };
    // SAFETY: each chunk's share was written, and buckets follow each other.
    unsafe {
        memory.rows.set_len(total);
        memory.last.set_len(total);
    }
    works
}
