//! `Replay` and `Lane`: a trace made ready to be replayed, one lane a thread.
//!
//! The hot loop reads four bytes an event and one of two tables:
//!
//! * an object that the thread which created it destroys too (or nobody does) has a *slot* in
//!   the lane's own table, used again after the destroy, as a program keeps its handles in the
//!   objects that live;
//! * an object that another thread destroys has a slot of its own in the [`Exchange`], an array
//!   of atomic words that all lanes share: the creator publishes the id there, the destroyer waits
//!   until it is there. No lock, and no order but create before destroy.
//!
//! What must hold: nobody waits for ever. Take the earliest event, in the recorded order, that has
//! not happened: everything that it waits for is earlier, and has. So its thread can go on. If
//! a thread gives up, it says so in the exchange, and those who wait give up too.

use core::{hint, mem};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::start::{CallOffOnPanic, Start};
use super::{Player, ReplayError, ReplayFault, ReplayLimit};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::thread;
use crate::trace::{MAX_THREADS, Trace};

/// Ids on their way from the thread that creates to the one that destroys.
#[derive(Debug)]
pub struct Exchange {
    /// 0: not created yet.
    ids: Box<[AtomicU64]>,
    /// Not 0: a thread gave up.
    stopped: AtomicU32,
}

impl Exchange {
    /// Makes the lanes ready to be played (again). Nobody may be playing.
    pub fn reset(&self) {
        // Ordering: Relaxed. The threads that read these are started afterwards.
        for id in &self.ids {
            id.store(0, Ordering::Relaxed);
        }
        self.stopped.store(0, Ordering::Relaxed);
    }

    /// The id in `slot`, as soon as it is there; `None` if its creator gave up.
    #[inline]
    fn wait(&self, slot: usize) -> Option<u64> {
        // Ordering: Acquire, with the Release in `Lane::play`: what the creator did comes before
        // what the destroyer does.
        match self.ids[slot].load(Ordering::Acquire) {
            0 => self.wait_long(slot),
            id => Some(id),
        }
    }

    #[cold]
    fn wait_long(&self, slot: usize) -> Option<u64> {
        let mut spins = 0_u32;
        loop {
            let id = self.ids[slot].load(Ordering::Acquire);
            if id != 0 {
                return Some(id);
            }
            if self.stopped.load(Ordering::Relaxed) != 0 {
                return None;
            }
            // There may be more lanes than cores: after a moment, let the others run.
            spins += 1;
            if spins.is_multiple_of(64) {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
    }
}

/// Says in the exchange that its thread gave up, if that is how it ends.
struct StopOnPanic<'a>(&'a Exchange);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stopped.store(1, Ordering::Relaxed);
        }
    }
}

/// An event as the hot loop reads it: 30 bits of slot, one for "in the exchange", one for destroy.
#[derive(Clone, Copy, Debug)]
struct Move(u32);

impl Move {
    const CREATE: u32 = 0;
    const DESTROY: u32 = 1;
    const CREATE_SHARED: u32 = 2;

    /// How many slots moves can tell apart.
    const SLOTS: u32 = 1 << 30;

    /// `None` for a slot too many.
    fn new(slot: u32, shared: bool, create: bool) -> Option<Self> {
        let bits = slot << 2 | u32::from(shared) << 1 | u32::from(!create);
        (slot < Self::SLOTS).then_some(Self(bits))
    }

    /// How many slots `copies` of `shared` each are; `None` for more than moves can tell apart.
    fn slots_of_copies(shared: u32, copies: usize) -> Option<usize> {
        let slots = (shared as usize).checked_mul(copies)?;
        (slots <= Self::SLOTS as usize).then_some(slots)
    }
}

/// Creates an object; its id is not 0, or who destroys it would wait for ever.
#[inline(always)]
fn created<P: Player>(player: &mut P) -> Result<u64, ReplayFault> {
    match player.create() {
        Ok(0) => Err(ReplayFault::NoId),
        created => created,
    }
}

/// One thread's part of a replay. It can be sent to whatever thread is to play it.
#[derive(Debug)]
pub struct Lane {
    thread: usize,
    moves: Box<[Move]>,
    /// The ids of the lane's own objects; 0 where there is none to be drained.
    slots: Box<[u64]>,
    /// The slots whose objects live when the trace ends.
    survivors: Box<[u32]>,
    /// Not in a run that a player's panic ended: what lies in the slots is of no known moment.
    ended: bool,
    exchange: Arc<Exchange>,
}

impl Lane {
    /// How many events the lane has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.moves.len()
    }

    /// Whether the lane has no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// Plays the lane. All lanes of a replay must be played at once, each by a thread of its own,
    /// after [`Exchange::reset`]: they wait for one another's objects.
    ///
    /// # Errors
    /// The player's, with the event at which it happened; the other lanes then end with
    /// [`ReplayFault::Stopped`].
    #[inline]
    pub fn play<P: Player>(&mut self, player: &mut P) -> Result<(), ReplayError> {
        self.ended = false;
        let played = self.play_moves(player);
        self.ended = true;
        played.map_err(|(position, fault)| self.failed(position, fault))
    }

    /// Plays the moves; where one fails, which, and why.
    #[inline]
    fn play_moves<P: Player>(&mut self, player: &mut P) -> Result<(), (usize, ReplayFault)> {
        let _stop = StopOnPanic(&self.exchange);
        for (position, &Move(bits)) in self.moves.iter().enumerate() {
            let slot = (bits >> 2) as usize;
            let done = match bits & 3 {
                Move::CREATE => created(player).map(|id| self.slots[slot] = id),
                Move::DESTROY => player.destroy(self.slots[slot]),
                Move::CREATE_SHARED => created(player)
                    // Ordering: Release, with the Acquire in `Exchange::wait`.
                    .map(|id| self.exchange.ids[slot].store(id, Ordering::Release)),
                _ => match self.exchange.wait(slot) {
                    Some(id) => player.destroy(id),
                    None => Err(ReplayFault::Stopped),
                },
            };
            if let Err(fault) = done {
                return Err((position, fault));
            }
        }
        Ok(())
    }

    /// The move at `position` failed: tells the other lanes, and forgets the ids of objects that were yet to be
    /// created. Their slots hold what an earlier run, or an earlier object, has left there.
    #[cold]
    fn failed(&mut self, position: usize, fault: ReplayFault) -> ReplayError {
        // Ordering: Relaxed. Those who wait for an id look at nothing else of this lane.
        self.exchange.stopped.store(1, Ordering::Relaxed);
        for &Move(bits) in &self.moves[position..] {
            if bits & 3 == Move::CREATE {
                self.slots[(bits >> 2) as usize] = 0;
            }
        }
        ReplayError {
            thread: self.thread,
            event: position + 1,
            fault,
        }
    }

    /// The ids of the objects that live when the trace ends, as the last [`play`](Self::play) has left them: those that
    /// it has created, if it failed; none if its player panicked, before the first, and after [`drain`](Self::drain).
    pub fn survivors(&self) -> impl Iterator<Item = u64> + '_ {
        let slots = self.survivors.iter().take_while(|_| self.ended);
        let ids = slots.map(|&slot| self.slots[slot as usize]);
        ids.filter(|&id| id != 0)
    }

    /// Destroys the [`survivors`](Self::survivors), each once.
    ///
    /// # Errors
    /// The player's; those behind the one that failed are left.
    pub fn drain<P: Player>(&mut self, player: &mut P) -> Result<(), ReplayError> {
        if !self.ended {
            return Ok(());
        }
        for &slot in &self.survivors {
            let id = mem::take(&mut self.slots[slot as usize]);
            if id == 0 {
                continue;
            }
            player.destroy(id).map_err(|fault| ReplayError {
                thread: self.thread,
                event: self.moves.len(),
                fault,
            })?;
        }
        Ok(())
    }
}

/// A trace made ready to be replayed, as often as one likes.
#[derive(Debug)]
pub struct Replay {
    lanes: Vec<Lane>,
    exchange: Arc<Exchange>,
}

/// What a run of a [`Replay`] took, and the players as it left them.
#[derive(Debug)]
pub struct Played<P> {
    /// From the first thread's first event to the last thread's last.
    pub time: Duration,
    /// The players, in the order of the lanes.
    pub players: Vec<P>,
}

/// When a lane's first event began, when its last ended, and what came of it.
type Outcome<P> = (Instant, Instant, Result<(), ReplayError>, P);

impl Replay {
    /// Makes `trace` ready for `threads` threads; 0 means as many as were recorded.
    ///
    /// With fewer, recorded thread `t` plays on thread `t % threads`, in the recorded order; on
    /// one, everything happens in the one order that was recorded. With a multiple, the trace is
    /// played several times side by side.
    ///
    /// # Errors
    /// [`ReplayLimit`]: any other number of threads, more than [`MAX_THREADS`], or more than 2³⁰ objects in hand.
    pub fn new(trace: &Trace, threads: usize) -> Result<Self, ReplayLimit> {
        let recorded = trace.threads();
        let threads = if threads == 0 { recorded } else { threads };
        if threads > MAX_THREADS as usize {
            return Err(ReplayLimit::Threads { threads });
        }
        if threads > recorded && !threads.is_multiple_of(recorded) {
            return Err(ReplayLimit::NoMultiple { recorded, threads });
        }
        let copies = threads.div_ceil(recorded);
        let parts = Part::of(trace, threads.min(recorded)).ok_or(ReplayLimit::Objects)?;
        let shared = parts.iter().map(|part| part.shared).sum::<u32>();
        let slots = Move::slots_of_copies(shared, copies).ok_or(ReplayLimit::Objects)?;
        let exchange = Arc::new(Exchange {
            ids: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            stopped: AtomicU32::new(0),
        });
        let mut lanes = Vec::with_capacity(threads);
        for copy in 0..copies as u32 {
            lanes.extend(parts.iter().enumerate().map(|(number, part)| {
                Lane {
                    thread: copy as usize * recorded + number,
                    moves: part.moves_for_copy(copy * shared).into(),
                    // Written, not just reserved: page faults are not part of a replay.
                    slots: (0..part.slots).map(|_| hint::black_box(0)).collect(),
                    survivors: part.survivors.clone().into(),
                    ended: true,
                    exchange: Arc::clone(&exchange),
                }
            }));
        }
        Ok(Self { lanes, exchange })
    }

    /// Bytes that [`new`](Self::new) takes for `trace` on so many threads, at most, but for some hundred a thread: four an
    /// event, four for each object that lives at the end, and eight for each place of an id, for each time that the trace
    /// is played, and for once more while they are copied.
    #[must_use]
    pub fn memory(trace: &Trace, threads: usize) -> u64 {
        let threads = if threads == 0 {
            trace.threads()
        } else {
            threads
        };
        let summary = trace.summary();
        let lanes = summary.threads.min(threads as u64);
        let of_lanes = lanes * summary.peak_live + summary.destroyed_by_another_thread;
        let destroyed = summary.events - summary.created;
        let survivors = summary.created - destroyed;
        let each = 4 * (summary.events + survivors) + 8 * of_lanes.min(summary.created);
        each.saturating_mul((threads.div_ceil(trace.threads()) as u64).saturating_add(1))
    }

    /// How many threads play.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.lanes.len()
    }

    /// How many events all lanes have together.
    #[must_use]
    pub fn events(&self) -> usize {
        self.lanes.iter().map(Lane::len).sum()
    }

    /// The lanes, for playing them on threads of one's own, and what they share.
    #[must_use]
    pub fn into_lanes(self) -> (Vec<Lane>, Arc<Exchange>) {
        (self.lanes, self.exchange)
    }

    /// Plays all lanes, each on a thread of its own with its own player. What lives at the end
    /// stays alive: see [`drain`](Self::drain). Drain an earlier run before: what it has left is forgotten.
    ///
    /// # Errors
    /// The first player's, in the order of the lanes, that did not merely stop because of another.
    /// [`ReplayFault::NotStarted`] where the system has no thread for a lane; then nothing was played.
    ///
    /// # Panics
    /// Where `player` panics, before anything is played; where a player panics, once all threads have ended.
    pub fn play<P: Player + Send>(
        &mut self,
        mut player: impl FnMut() -> P,
    ) -> Result<Played<P>, ReplayError> {
        self.exchange.reset();
        let players = self.lanes.iter().map(|_| player()).collect();
        let outcomes = self.outcomes(players)?;
        let mut span: Option<(Instant, Instant)> = None;
        let mut players = Vec::with_capacity(outcomes.len());
        let mut failure: Option<ReplayError> = None;
        for (started, ended, result, player) in outcomes {
            let (first, last) = span.unwrap_or((started, ended));
            span = Some((first.min(started), last.max(ended)));
            players.push(player);
            if let Err(error) = result
                && failure.as_ref().is_none_or(ReplayError::is_consequence)
            {
                failure = Some(error);
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(Played {
                time: span.map_or(Duration::ZERO, |(first, last)| last - first),
                players,
            }),
        }
    }

    /// Plays all lanes at once, each with one of `players`; what came of each, in their order.
    fn outcomes<P: Player + Send>(
        &mut self,
        players: Vec<P>,
    ) -> Result<Vec<Outcome<P>>, ReplayError> {
        let threads = self.lanes.len();
        let start = Start::of(threads);
        let mut joined = Vec::with_capacity(threads);
        let mut refused = None;
        thread::scope(|scope| {
            let _guard = CallOffOnPanic(&start);
            let mut playing = Vec::with_capacity(threads);
            for (lane, mut player) in self.lanes.iter_mut().zip(players) {
                let (number, start) = (lane.thread, &start);
                let play = move || {
                    start.wait().then(|| {
                        let started = Instant::now();
                        let result = lane.play(&mut player);
                        (started, Instant::now(), result, player)
                    })
                };
                match thread::Builder::new().spawn_scoped(scope, play) {
                    Ok(thread) => playing.push(thread),
                    Err(error) => {
                        start.call_off();
                        refused = Some(ReplayError::not_started(number, threads, &error));
                        break;
                    }
                }
            }
            joined.extend(playing.into_iter().map(thread::ScopedJoinHandle::join));
        });
        if let Some(error) = refused {
            return Err(error);
        }
        let outcomes = joined
            .into_iter()
            .filter_map(|outcome| outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok(outcomes.collect())
    }

    /// Destroys the [`survivors`](Self::survivors), each lane's objects through its player, each once.
    ///
    /// # Errors
    /// [`ReplayFault::OtherPlayers`] if there is not one player for each lane; then nothing is destroyed. The first
    /// player's; those behind the one that failed are left.
    pub fn drain<P: Player>(&mut self, players: &mut [P]) -> Result<(), ReplayError> {
        let (given, lanes) = (players.len(), self.lanes.len());
        if given != lanes {
            return Err(ReplayError::other_players(given, lanes));
        }
        self.lanes
            .iter_mut()
            .zip(players)
            .try_for_each(|(lane, player)| lane.drain(player))
    }

    /// The ids of the objects that live after a run, as far as they live when the trace ends. If it failed, those of
    /// them that it has created; none from a thread whose player panicked, before the first run, and after
    /// [`drain`](Self::drain).
    pub fn survivors(&self) -> impl Iterator<Item = u64> + '_ {
        self.lanes.iter().flat_map(Lane::survivors)
    }
}

/// A lane before it is copied.
#[derive(Default)]
struct Part {
    moves: Vec<Move>,
    slots: u32,
    free: Vec<u32>,
    survivors: Vec<u32>,
    /// How many objects this lane creates for others to destroy.
    shared: u32,
}

impl Part {
    /// `trace` for `threads` threads, no more than were recorded; `None` if it needs more slots than moves can tell
    /// apart.
    fn of(trace: &Trace, threads: usize) -> Option<Vec<Self>> {
        const NOBODY: u16 = u16::MAX;
        let mut creator = vec![NOBODY; trace.objects()];
        let mut destroyer = vec![NOBODY; trace.objects()];
        let mut moves = vec![0; threads];
        for (thread, event) in trace.events() {
            moves[thread % threads] += 1;
            let end = if event.is_create() {
                &mut creator
            } else {
                &mut destroyer
            };
            end[event.object()] = (thread % threads) as u16;
        }
        let is_shared =
            |object: usize| destroyer[object] != NOBODY && destroyer[object] != creator[object];

        let survives = |object: usize| destroyer[object] == NOBODY;
        let mut survivors = vec![0; threads];
        for (object, &creator) in creator.iter().enumerate() {
            survivors[usize::from(creator)] += usize::from(survives(object));
        }

        // No more room than is used: see `Replay::memory`.
        let part = |(&moves, &survivors)| Self {
            moves: Vec::with_capacity(moves),
            survivors: Vec::with_capacity(survivors),
            ..Self::default()
        };
        let mut parts: Vec<Self> = moves.iter().zip(&survivors).map(part).collect();
        let mut slot_of = vec![0_u32; trace.objects()];
        let mut shared_slots = 0;
        for (thread, event) in trace.events() {
            let part = &mut parts[thread % threads];
            let slot = &mut slot_of[event.object()];
            let shared = is_shared(event.object());
            if event.is_create() {
                *slot = if shared {
                    part.shared += 1;
                    shared_slots += 1;
                    shared_slots - 1
                } else {
                    part.take_slot()
                };
            } else if !shared {
                part.free.push(*slot);
            }
            let next = Move::new(*slot, shared, event.is_create())?;
            part.moves.push(next);
        }
        for (object, &slot) in slot_of.iter().enumerate() {
            if survives(object) {
                parts[usize::from(creator[object])].survivors.push(slot);
            }
        }
        // Nobody takes a slot any more.
        parts.iter_mut().for_each(|part| part.free = Vec::new());
        Some(parts)
    }

    /// The slot that was free last: a program's handles stay warm.
    fn take_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    /// The moves of a copy whose part of the exchange begins at `offset`.
    fn moves_for_copy(&self, offset: u32) -> Vec<Move> {
        let shift = |&Move(bits): &Move| {
            Move(if bits & Move::CREATE_SHARED != 0 {
                bits + (offset << 2)
            } else {
                bits
            })
        };
        self.moves.iter().map(shift).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_takes_no_more_memory_than_is_said() {
        let text = "# entity-trace 1\n# threads=2 events=5 created=3 peak_live=2 destroyed_by_another_thread=1\n\
            0 + 0\n0 + 1\n1 - 0\n1 + 2\n1 - 2\n";
        let small = Trace::from_reader("small", text.as_bytes()).unwrap();
        // One more than a power of two, most of which live to the end.
        let mut text = "# entity-trace 1\n# threads=1 events=1125 created=1025 peak_live=1025 \
            destroyed_by_another_thread=0\n"
            .to_owned();
        (0..1_025).for_each(|object| text += &format!("0 + {object}\n"));
        (0..100).for_each(|object| text += &format!("0 - {object}\n"));
        let surviving = Trace::from_reader("surviving", text.as_bytes()).unwrap();
        assert!(Replay::memory(&small, usize::MAX) > u64::MAX / 2);
        for (trace, threads) in [
            (&small, 1),
            (&small, 2),
            (&small, 8),
            (&surviving, 1),
            (&surviving, 5),
        ] {
            // All that is held when the last lane is made, with the room that lists have to spare.
            let parts = Part::of(trace, threads.min(trace.threads())).unwrap();
            let of_part = |part: &Part| {
                let Part {
                    moves,
                    free,
                    survivors,
                    ..
                } = part;
                4 * (moves.capacity() + free.capacity() + survivors.capacity())
            };
            let replay = Replay::new(trace, threads).unwrap();
            let of_lane =
                |lane: &Lane| 4 * (lane.moves.len() + lane.survivors.len()) + 8 * lane.slots.len();
            let of_parts: usize = parts.iter().map(of_part).sum();
            let of_lanes: usize = replay.lanes.iter().map(of_lane).sum();
            let taken = (of_parts + of_lanes + 8 * replay.exchange.ids.len()) as u64;
            let said = Replay::memory(trace, threads);
            assert!(taken <= said && said <= 4 * taken, "{taken}, {said}");
        }
    }

    #[test]
    fn no_two_slots_are_the_same_to_moves() {
        let bits = |slot| Move::new(slot, true, false).map(|Move(bits)| bits);
        assert_eq!(bits(Move::SLOTS - 1), Some(u32::MAX));
        assert_eq!(bits(Move::SLOTS), None);
        assert_eq!(Move::slots_of_copies(1 << 21, 512), Some(1 << 30));
        assert_eq!(Move::slots_of_copies((1 << 21) + 1, 512), None);
        assert_eq!(Move::slots_of_copies(u32::MAX, usize::MAX), None);
    }
}
