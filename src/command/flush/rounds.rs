//! Rounds: a flush looks for what recorders have left until there is nothing, or for as many rounds as the world allows.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::command::flush::Flush;
use crate::command::lane::Lane;
use crate::command::precedence::{Kind, Precedence};
use crate::panics::{first, note, tell};
use crate::sync::pool::Lent;
use crate::world::World;

/// Has what is in lanes come before all that is recorded from now on. Ranks are of processors that ran before: those
/// that run until the next flush come after all of it.
fn leave(lanes: &mut [Lent<'_, Lane>]) {
    for segment in lanes.iter_mut().flat_map(|lane| &mut lane.segments) {
        let kind = &mut segment.precedence.kind;
        *kind = (*kind).min(Kind::Left);
    }
}

/// What a recorder left, with the numbers of its lane and of its segment there.
type Left = (Precedence, usize, usize);

/// What recorders left, in the order in which it comes.
pub(super) fn order_of(lanes: &[Lent<'_, Lane>]) -> SmallVec<[Left; 4]> {
    let mut order = SmallVec::new();
    for (number, lane) in lanes.iter().enumerate() {
        let segments = lane.segments.iter().enumerate();
        order.extend(segments.map(|(at, segment)| (segment.precedence, number, at)));
    }
    order.sort_unstable();
    order
}

impl Flush<'_> {
    /// Applies what recorders have left, round by round.
    pub(super) fn run(&mut self, world: &mut World) {
        let queue = self.queue;
        let mut looks = 0;
        loop {
            looks += 1;
            let found = queue.recorders.collect(&queue.lanes, Lane::is_settled);
            let (flushed, are_last) = queue.nesting.seen();
            self.report.open = found.open.saturating_sub(flushed);
            self.lanes = found.things;
            let mut has_let_go = false;
            if let Some(number) = queue.went_back() {
                has_let_go = queue.let_go_before(&mut self.lanes, number, &mut self.panicked);
                if found.settles.is_some() {
                    // None of those recorders is open any more.
                    queue.forget_went_back();
                }
            }
            has_let_go |= self.let_go();
            if self.lanes.is_empty() {
                queue.recorders.settle(found.settles);
                // What was let go may have recorded something when it was dropped.
                if has_let_go && looks < world.flush_rounds && !queue.recorders.is_settled() {
                    continue;
                }
                return;
            }
            // A closure may have set fewer, or flushes lie too deep in each other.
            if self.report.rounds >= world.flush_rounds || are_last {
                return self.leave_unfinished(world.flush_rounds);
            }
            self.check_kinds();
            self.report.rounds += 1;
            let round = queue.nesting.begin(self.lanes.len());
            self.run_round(world);
            drop(round);
            self.drop_left();
            for lane in &mut self.lanes {
                self.panicked = first(self.panicked.take(), lane.reset());
                lane.leave();
            }
            // They are back before anybody looks for what is there.
            self.lanes.clear();
            self.leave_carried();
            if !Arc::ptr_eq(&queue.seat, &world.seat) {
                note(&mut self.panicked, || queue.take_back());
                tell(|| {
                    tracing::error!(
                        name: "world_replaced",
                        target: "megachunk::flush",
                        world = %queue.seat,
                        "a closure put another world in the place of its own: what was to come after it is dropped"
                    );
                });
                return;
            }
            if self.report.carried > 0 {
                // Another round would find them again. What was recorded meanwhile comes with them, after them.
                return leave(&mut queue.lanes.take_waiting());
            }
            // If all lanes were here there is nothing in any of them, unless a recorder was opened since.
            queue.recorders.settle(found.settles);
            if queue.recorders.is_settled() {
                return;
            }
        }
    }

    /// Drops the values that no command has delivered, in the order of the commands: what their `drop`s record comes in that
    /// order then, and not in that of the pool's slots, which threads decide.
    fn drop_left(&mut self) {
        let lanes = self.lanes.iter();
        let has_left: SmallVec<[bool; 8]> = lanes.map(|lane| lane.has_left()).collect();
        if has_left.contains(&true) {
            for (_, lane, segment) in order_of(&self.lanes) {
                if has_left[lane] {
                    self.lanes[lane].drop_left(segment, &mut self.panicked);
                }
            }
        }
        // Shared values, and what chunks begin with, are a lane's, and go with it.
        if self.lanes.iter().any(|lane| lane.has_values_besides()) {
            let first =
                |lane: &Lent<'_, Lane>| lane.segments.iter().map(|one| one.precedence).min();
            self.lanes.sort_by_key(first);
        }
    }

    /// Gives lanes back in which nothing is recorded; whether there was anything in them.
    fn let_go(&mut self) -> bool {
        let (report, panicked) = (&mut self.report, &mut self.panicked);
        let mut has_let_go = false;
        self.lanes.retain(|lane| {
            let records = !lane.is_empty();
            if !records {
                has_let_go |= !lane.is_idle();
                report.by_chance += core::mem::take(&mut lane.by_chance);
                *panicked = first(panicked.take(), lane.let_go());
            }
            records
        });
        has_let_go
    }

    /// Sees to it that what commands do has [common numbers](crate::command::flush::ops). If it panics, they are left as they
    /// are.
    fn check_kinds(&self) {
        let kinds: usize = self.lanes.iter().map(|lane| lane.ops.len()).sum();
        assert!(
            kinds <= u32::MAX as usize,
            "4 billion kinds of commands in one flush"
        );
    }

    /// Leaves what was found to the next flush: there were as many rounds as there may be.
    #[cold]
    fn leave_unfinished(&mut self, rounds: usize) {
        self.report.unfinished = true;
        leave(&mut self.lanes);
        let left = self.lanes.len();
        self.lanes.clear();
        // Who has set one round means it so.
        if rounds > 1 {
            let seat = &self.queue.seat;
            tell(|| {
                tracing::debug!(
                    name: "flush_unfinished",
                    target: "megachunk::flush",
                    world = %seat,
                    rounds,
                    recorders = left,
                    "a flush leaves commands to the next one: what it runs, or other threads, record new ones in each \
                     round (`World::set_flush_rounds`)"
                );
            });
        }
    }

    /// Leaves what was carried until now to the next flush, which may be one that a closure makes.
    pub(super) fn leave_carried(&mut self) {
        if self.carried.len() == 0 {
            return;
        }
        let carried = core::mem::take(&mut self.carried);
        self.report.carried += carried.len();
        self.report.commands -= carried.len();
        let refused = carried.record(self.queue, &mut self.panicked);
        self.report.refused.extend(refused);
    }
}
