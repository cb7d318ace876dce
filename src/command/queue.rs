//! `Queue`: what a world and its recorders share: the lanes, and the numbers of recorders.

use std::sync::{Arc, Weak};

use crossbeam_utils::CachePadded;

use crate::command::Commands;
use crate::command::flush::Memory;
use crate::command::lane::{Cut, Lane};
use crate::command::nesting::Nesting;
use crate::command::precedence::{Kind, Precedence, Source};
use crate::command::stripes::Stripe;
use crate::fragment::FragmentRegistry;
use crate::panics::{Panicked, forget, tell};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::end::End;
use crate::sync::openings::Openings;
use crate::sync::pool::{Lent, Pool, Taken};
use crate::world::check::{Found, Held};
use crate::world::{Attachment, Pending, Seat, World, new_identity};

/// What a world and its recorders share.
#[derive(Debug)]
pub(crate) struct Queue {
    /// No queue had it before.
    pub(super) identity: u64,
    pub(super) lanes: Pool<Lane>,
    /// What flushes need: one at a time, if they do not nest.
    pub(super) memory: Pool<Memory>,
    /// Recorders that have been opened. On a line of its own: each recorder writes here, and reads the rest.
    pub(super) recorders: CachePadded<Openings>,
    /// 16 KiB chunks that a chunk of a new composition has at least; [`GROW`] if later ones are longer.
    chunks: AtomicU32,
    /// Flushes under way: closures may flush, too.
    pub(super) nesting: Nesting,
    /// A number that each recorder has a lower one than that was opened before the world went back last, and each a higher one
    /// that was opened later; [`NEVER`] if none of the former can be open.
    went_back: AtomicU64,
    /// That the world has ended.
    ended: End,
    /// 1 once somebody has had it weakly, until nobody is seen to have it so: who has can have it again at any moment.
    lent_weakly: AtomicU32,
    /// Goes last, after the lanes: the directory names their chunks by the world's number, which goes with it.
    pub(super) seat: Arc<Seat>,
}

const GROW: u32 = 1 << 31;

/// No flush has this number.
const NEVER: u64 = 0;

impl Queue {
    fn new(seat: &Arc<Seat>) -> Self {
        Self {
            identity: new_identity(),
            lanes: Pool::new(),
            memory: Pool::small(),
            recorders: CachePadded::new(Openings::new()),
            chunks: AtomicU32::new(1 | GROW),
            nesting: Nesting::new(),
            went_back: AtomicU64::new(NEVER),
            ended: End::new(),
            lent_weakly: AtomicU32::new(0),
            seat: Arc::clone(seat),
        }
    }

    /// The queue of a world.
    pub(super) fn of(world: &World) -> &Arc<Self> {
        let queue: &Arc<Self> = world
            .attached
            .get_or_attach(|| Arc::new(Self::new(&world.seat)));
        let grow = if world.chunks_grow { GROW } else { 0 };
        let chunks = world.chunks_per_chunk as u32 | grow;
        // Ordering: Relaxed: recorders that open beside a change of the setting may see either.
        if queue.chunks.load(Ordering::Relaxed) != chunks {
            queue.chunks.store(chunks, Ordering::Relaxed);
        }
        queue
    }

    /// The fragments that the world's universe knows.
    pub(super) fn registry(&self) -> &FragmentRegistry {
        self.seat.universe().registry()
    }

    /// Opens a recorder of a rank, with a sort key, for somebody. Lock-free.
    pub(super) fn open<'q>(
        &'q self,
        rank: u32,
        source: Source,
        key: u64,
        stripe: Option<Stripe<'q>>,
    ) -> Commands<'q> {
        let (lane, number) = self.open_lane();
        let precedence = Precedence {
            source,
            ..Precedence::new(rank, key, number)
        };
        Commands::new(self, lane, precedence, stripe)
    }

    /// Opens a recorder whose commands come before all that is recorded from now on, and before what a flush has left.
    pub(super) fn open_early(&self) -> Commands<'_> {
        let (lane, number) = self.open_lane();
        let precedence = Precedence {
            kind: Kind::Carried,
            ..Precedence::new(0, 0, number)
        };
        Commands::new(self, lane, precedence, None)
    }

    fn open_lane(&self) -> (Lent<'_, Lane>, u64) {
        let new = || Lane::new(self.seat.universe(), self.seat.number);
        let (mut lane, number) = self.recorders.open(&self.lanes, new);
        // Ordering: as in `of`.
        let chunks = self.chunks.load(Ordering::Relaxed);
        let cut = Cut {
            chunks: (chunks & !GROW) as usize,
            enableable: self.registry().enableable(),
        };
        lane.open(cut, chunks & GROW != 0);
        (lane, number)
    }

    /// Takes a recorder's lane back. If the world is gone, so is what was recorded.
    pub(super) fn close(&self, mut lane: Lent<'_, Lane>, precedence: Precedence) {
        lane.close(precedence);
        if self.ended.is_said() {
            self.lose(&mut lane);
        }
        // What a recorder holds back that stays open is its own thread's, and nothing that a flush
        // has missed.
        match lane.is_empty() {
            true => lane.leave(),
            false => lane.keep(precedence.number),
        }
        // Before it goes back: who finds it there has counted it.
        if lane.is_settled() {
            self.recorders.idle();
        }
        // The end of the world may have come since this has asked, and not have found the lane; or one that this thread had
        // for a moment, to see whose it is, when it opened this one.
        if self.ended.gives_back(lane) {
            self.empty(self.lanes.take_all());
        }
    }

    /// Whether the world has ended. Wait-free.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_said()
    }

    /// Has somebody have it weakly.
    ///
    /// Must hold: a flush that counts one owner, the world, knows by [`lent_weakly`](Self::is_lent_weakly) whether there may
    /// be another one in a moment. The first weak handle is made by an owner, after the word was set. Owners come from the
    /// world, which the flush has to itself, or from other owners: so a flush that counts one counts behind the end of each
    /// owner that never was weak, and by the Release of that end, and its own Acquire, sees what this one has set.
    pub(super) fn lend_weakly(self: &Arc<Self>) -> Weak<Self> {
        // Ordering: Relaxed: the end of who calls is a Release, as said.
        self.lent_weakly.store(1, Ordering::Relaxed);
        Arc::downgrade(self)
    }

    /// Whether somebody may have it weakly: asked by who has counted one owner, and has had an Acquire since.
    pub(super) fn is_lent_weakly(&self) -> bool {
        // Ordering: Relaxed: as in `lend_weakly`.
        self.lent_weakly.load(Ordering::Relaxed) == 1
    }

    /// Whether nobody has it but who asks, weakly neither: that is seen in one step.
    #[cold]
    pub(super) fn comes_back(self: &mut Arc<Self>) -> bool {
        let Some(queue) = Arc::get_mut(self) else {
            return false;
        };
        // Ordering: Relaxed: it is the caller's alone.
        queue.lent_weakly.store(0, Ordering::Relaxed);
        true
    }

    /// Lanes have come back that were away: if the world has ended in the meantime, they keep nothing.
    pub(super) fn take_back(&self) {
        if self.has_ended() {
            self.empty(self.lanes.take_all());
        }
    }

    fn empty(&self, lanes: Taken<'_, Lane>) {
        for mut lane in lanes {
            self.lose(&mut lane);
            lane.leave();
        }
    }

    /// By which number recorders are told who were opened before the world went back last, if one of them may be open, or what
    /// it has left be there.
    pub(super) fn went_back(&self) -> Option<u64> {
        // Ordering: Relaxed, also where it is written: who goes back and who flushes have the world.
        Some(self.went_back.load(Ordering::Relaxed)).filter(|&number| number != NEVER)
    }

    /// A flush has found all that these have left.
    pub(super) fn forget_went_back(&self) {
        self.went_back.store(NEVER, Ordering::Relaxed);
    }

    /// Lets go what recorders have left in lanes that were opened before the world went back last; whether there was
    /// something.
    #[cold]
    pub(super) fn let_go_before(
        &self,
        lanes: &mut [Lent<'_, Lane>],
        number: u64,
        panicked: &mut Panicked,
    ) -> bool {
        let mut had_some = false;
        for lane in lanes.iter_mut().filter(|lane| lane.is_before(number)) {
            self.end(lane, panicked);
            lane.leave();
            had_some = true;
        }
        had_some
    }

    /// What was recorded in a lane is gone, and the lane's memory.
    #[cold]
    fn lose(&self, lane: &mut Lane) {
        let mut panicked = None;
        self.end(lane, &mut panicked);
        // There is nobody to give a panic to.
        forget(panicked);
    }

    /// The same; panics of users' `drop`s are noted.
    fn end(&self, lane: &mut Lane, panicked: &mut Panicked) {
        if !lane.is_empty() {
            tell_of_lost(&self.seat, lane);
        }
        lane.end(panicked);
        *lane = Lane::new(self.seat.universe(), self.seat.number);
    }
}

/// Says that a world has ended, or gone back, before what was recorded for it was flushed. Whoever records for a world that others
/// may end has to expect that.
#[cold]
fn tell_of_lost(seat: &Seat, lane: &Lane) {
    let (entities, commands) = lane.pending();
    tell(|| {
        tracing::debug!(
            name: "commands_lost",
            target: "megachunk::flush",
            world = %seat,
            entities,
            commands,
            "a world has ended, or gone back, and what was recorded for it is gone"
        );
    });
}

impl Attachment for Arc<Queue> {
    fn check(&self, found: &mut Found) -> Held {
        let mut held = Held::default();
        for lane in self.lanes.take_all() {
            let more = lane.check(found);
            held.entities += more.entities;
            held.chunks += more.chunks;
        }
        held
    }

    fn count_pending(&self, pending: &mut Pending) -> usize {
        let lanes = self.lanes.take_all();
        let went_back = self.went_back();
        let is_gone = |lane: &Lane| went_back.is_some_and(|number| lane.is_before(number));
        for lane in lanes.iter().filter(|lane| !is_gone(lane)) {
            let (entities, commands) = lane.pending();
            pending.entities += entities;
            pending.commands += commands;
        }
        // Asked while all of these are at hand: none of them can go on to somebody else, and be missed, between the two.
        self.lanes.len().saturating_sub(lanes.len())
    }

    fn is_at_work(&self) -> bool {
        self.nesting.seen().0 > 0
    }

    fn cut_off(&mut self, panicked: &mut Panicked) -> bool {
        // It is decided here, by the count of recorders, what was recorded before. What is held by those who are open is let go
        // by the flushes that find it.
        let found = self.recorders.collect(&self.lanes, Lane::is_settled);
        let is_all = found.settles.is_some();
        let number = if is_all { NEVER } else { found.number };
        self.went_back.store(number, Ordering::Relaxed);
        let mut had_some = false;
        for mut lane in found.things {
            had_some |= !lane.is_idle();
            self.end(&mut lane, panicked);
            lane.leave();
        }
        self.recorders.settle(found.settles);
        had_some
    }

    fn trim(&mut self) -> usize {
        let mut trimmed = 0;
        // Those that are lent, or hold what a flush is to see, are left as they are.
        for mut lane in self.lanes.take_all() {
            if lane.is_idle() {
                trimmed += lane.trim();
                // With all that it has learned, and the room for what was recorded.
                *lane = Lane::new(self.seat.universe(), self.seat.number);
            }
        }
        for mut memory in self.memory.take_all() {
            *memory = Memory::default();
        }
        // If nobody else may open recorders, there need be no more of them than are in use.
        if let Some(queue) = Arc::get_mut(self) {
            queue.lanes.retain(|lane| !lane.is_idle());
            queue.memory.retain(|_| false);
        }
        trimmed
    }

    /// It has the world's seat, and its lanes the universe.
    fn may_go(&mut self) -> bool {
        // Who has it weakly does not keep the universe, and gets it for a moment at most, now that the world has ended; the
        // world asks of the universe itself whether somebody has that.
        Arc::strong_count(self) == 1
    }

    fn world_ends(&mut self) {
        let is_alone = Arc::get_mut(self).is_some();
        self.empty(self.ended.say(&self.lanes, is_alone));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::{DynamicBundle, FragmentId, Value};

    #[test]
    fn what_each_recorder_writes_shares_no_cache_line_with_what_it_reads() {
        use core::mem::{align_of, offset_of};

        const LINE: usize = align_of::<CachePadded<u8>>();
        assert_eq!(size_of::<CachePadded<Openings>>(), LINE);
        let written = offset_of!(Queue, recorders) / LINE;
        let read = [
            offset_of!(Queue, identity),
            offset_of!(Queue, lanes),
            offset_of!(Queue, chunks),
            offset_of!(Queue, ended),
            offset_of!(Queue, seat),
        ];
        assert!(read.iter().all(|offset| offset / LINE != written));
    }

    #[test]
    fn a_flush_knows_who_has_it_weakly_and_when_nobody_has() {
        let mut world = World::new();
        let weak = world.parallel_commands().downgrade();
        let mut flush = |is_lent: bool| {
            drop(world.commands().create((1_u32,)));
            assert_eq!(world.flush().created, 1);
            let queue = world.attached.get_mut::<Arc<Queue>>().unwrap();
            assert_eq!(queue.is_lent_weakly(), is_lent);
            assert!(queue.may_go(), "nobody has it but weakly");
        };
        flush(true);
        flush(true);
        drop(weak);
        flush(false);
        flush(false);
        let kept = world.parallel_commands();
        let queue = world.attached.get_mut::<Arc<Queue>>().unwrap();
        assert!(!queue.may_go());
        drop(kept);
    }

    #[test]
    fn a_world_that_is_trimmed_keeps_no_recorders_memory_but_what_is_in_use() {
        let mut world = World::new();
        let entity = world
            .create((1_u32,))
            .unwrap_or_else(|error| panic!("{error}"));
        let commands = world.parallel_commands();
        let mut open: Vec<_> = (0..100).map(|_| commands.open()).collect();
        for recorder in &mut open {
            assert!(recorder.set(entity, [1_u64; 32]).is_ok());
        }
        drop(open);
        assert!(world.flush().is_clean());
        let lanes = |world: &World| Queue::of(world).lanes.len();
        assert_eq!(lanes(&world), 100);
        // Others may open recorders: they find what is there, emptied.
        world.trim();
        assert_eq!(lanes(&world), 100);
        let mut forgotten = 0;
        for lane in Queue::of(&world).lanes.take_all() {
            forgotten += usize::from(lane.payloads.is_empty() && lane.ops.len() == 1);
        }
        assert_eq!(forgotten, 100);
        drop(commands);
        let mut recorder = world.commands();
        assert!(recorder.set(entity, 2_u32).is_ok());
        drop(recorder);
        world.trim();
        assert_eq!(lanes(&world), 1);
        assert_eq!(world.flush().updated, 1);
        world.trim();
        assert_eq!(lanes(&world), 0);
        assert!(world.commands().set(entity, 3_u32).is_ok());
        assert_eq!(world.flush().updated, 1);
        assert_eq!(world.get::<u32>(entity).ok(), Some(&3));
    }

    #[test]
    fn who_records_nothing_leaves_a_flush_nothing_to_look_for() {
        let mut world = World::new();
        let entity = world
            .create((1_u32,))
            .unwrap_or_else(|error| panic!("{error}"));
        let commands = world.parallel_commands();
        for threads in [1, 4] {
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| (0..100).for_each(|_| drop(commands.open())));
                }
            });
            // Some may have had lanes of others in hand, but none is away any more.
            assert!(world.is_flushed());
            // One that is open may yet record something.
            let mut open = commands.open();
            drop(commands.open());
            assert!(!world.is_flushed());
            assert_eq!(world.flush().open, 1);
            assert!(open.set(entity, 2_u32).is_ok());
            drop(open);
            drop(commands.open());
            assert!(!world.is_flushed());
            assert_eq!(world.flush().updated, 1);
            assert!(world.is_flushed());
        }
        assert_eq!(world.get::<u32>(entity).ok(), Some(&2));
    }

    #[test]
    fn recorders_that_are_open_at_once_count_once_however_many_there_are() {
        let mut world = World::new();
        let lanes = |world: &World| Queue::of(world).lanes.len();
        for round in 0..30 {
            let mut open: Vec<_> = (0..100).map(|_| world.commands()).collect();
            for recorder in open.iter_mut().skip(round % 2 * 100) {
                assert!(recorder.create((1_u32,)).is_ok());
            }
            drop(open);
            assert_eq!(world.flush().created, (1 - round % 2) * 100);
            world.clear();
            assert_eq!(lanes(&world), 100);
        }
    }

    #[test]
    fn compositions_of_which_nothing_is_created_leave_few_streams() {
        let mut world = World::new();
        let define = |n: usize| {
            let layout = core::alloc::Layout::new::<u8>();
            let info = world.registry().define_plain(&format!("f{n}"), layout);
            info.map(|info| info.id())
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let ids: Vec<FragmentId> = (0..12).map(define).collect();
        for mask in 1..3_000_usize {
            let value = |at: usize| Value::from_bytes(world.registry(), ids[at], &[1]);
            let bundle: Result<DynamicBundle, _> = (0..12)
                .filter(|at| mask >> at & 1 == 1)
                .map(value)
                .collect();
            let bundle = bundle.unwrap_or_else(|error| panic!("{error}"));
            let prototype = crate::world::Prototype::new(world.registry(), bundle);
            let prototype = prototype.unwrap_or_else(|error| panic!("{error}"));
            assert!(world.commands().create_copies(&prototype, 0).is_ok());
            assert!(world.flush().is_clean());
            for lane in Queue::of(&world).lanes.take_all() {
                assert!(lane.streams.len() <= 1_030, "{}", lane.streams.len());
            }
        }
    }

    #[test]
    fn compositions_that_come_and_go_leave_few_streams_ops_and_payloads() {
        let mut world = World::new();
        let ids: Vec<FragmentId> = (0..12)
            .map(|n| {
                let layout = core::alloc::Layout::new::<u8>();
                let info = world.registry().define_plain(&format!("f{n}"), layout);
                info.map(|info| info.id())
                    .unwrap_or_else(|error| panic!("{error}"))
            })
            .collect();
        for round in 0..30_u32 {
            for number in 0..100 {
                let mask = 1 + round * 100 + number;
                let bundle = |world: &World| -> DynamicBundle {
                    let mine = (0..12).filter(|bit| mask >> bit & 1 == 1);
                    let value = |bit: usize| Value::from_bytes(world.registry(), ids[bit], &[1]);
                    let values = mine.map(|bit| value(bit).unwrap_or_else(|e| panic!("{e}")));
                    let team = Value::shared(world.registry(), number % 3);
                    let team = team.unwrap_or_else(|e| panic!("{e}"));
                    values.chain([team]).collect()
                };
                let (first, second) = (bundle(&world), bundle(&world));
                let mut recorder = world.commands();
                let entity = recorder.create_dynamic(first);
                let entity = entity.unwrap_or_else(|error| panic!("{error}"));
                assert!(recorder.add_dynamic(entity, second).is_ok());
                drop(recorder);
                // Without shared values, to be kept.
                let plain = Value::from_bytes(world.registry(), ids[number as usize % 12], &[2]);
                let plain: DynamicBundle = plain.into_iter().collect();
                assert!(world.commands().create_dynamic(plain).is_ok());
                assert!(world.flush().is_clean());
            }
            world.clear();
            world.collect_archetypes();
            for lane in Queue::of(&world).lanes.take_all() {
                assert!(lane.ops.len() <= 520 && lane.payloads.len() <= 520);
                assert!(lane.streams.len() <= 1_030 && lane.privates.len() <= 1_030);
            }
        }
    }

    #[test]
    fn threads_that_record_beside_flushes_leave_no_more_lanes_the_more_flushes_there_are() {
        struct End<'a>(&'a std::sync::atomic::AtomicBool);

        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }

        let mut world = World::new();
        let commands = world.parallel_commands();
        let entity = world.create((0_u32,)).ok();
        let ended = std::sync::atomic::AtomicBool::new(false);
        let record = || {
            while !ended.load(Ordering::Relaxed) {
                assert!(entity.is_some_and(|entity| commands.open().set(entity, 1_u32).is_ok()));
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            let _end = End(&ended);
            (0..3).for_each(|_| _ = scope.spawn(record));
            for _ in 0..5_000 {
                _ = world.flush();
                std::thread::yield_now();
            }
        });
        // Of each thread those that it has and keeps, here and in a flush.
        let lanes = Queue::of(&world).lanes.len();
        assert!(lanes <= 40, "{lanes}");
    }
}
