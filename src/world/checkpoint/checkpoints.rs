//! `Checkpoints`: the last states of a world, each to go back to.

use core::fmt;
use std::collections::VecDeque;

use crate::fragment::StateForm;
use crate::panics::{Panicked, note, resume, resume_alone};
use crate::world::checkpoint::part::SpareParts;
use crate::world::checkpoint::plan::Plan;
use crate::world::checkpoint::saved::{Saved, Since};
use crate::world::{CheckpointError, World, new_identity};

/// A state of a world that [`Checkpoints`] keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checkpoint {
    /// Unique in the process.
    number: u64,
}

/// The last states of one world, so that it can [go back](Self::roll_back) some ticks within a frame: for rollback over a
/// network, and to see what would be, and undo it.
///
/// A checkpoint has all that a [snapshot](World::save) has, and it is what the world has again after it went back: entities
/// with their ids, rows and values, what is switched on, shared values, chunk fragments and what chunks begin with, which
/// compositions there are, names, the [time](World::time), resources that are [part of the
/// state](crate::fragment::FragmentRegistry::register_state), delayed signals that were
/// [collected](World::collect_signals), and which id and which row comes next. So
/// [`continuation_hash`](World::continuation_hash) is what it was, and what is done again leads to the same ids, rows and
/// bytes, for any number of threads. Other than a world that is loaded, it is the same world still: what a snapshot does not
/// have, observers, other resources, [`Signal`](crate::signal::Signal)s, readers, indices, queries, a schedule and what is
/// started in it, goes on as it is. What of it remembers what has been since, has to be told by whoever knows.
///
/// Columns of chunks that nobody has written since the checkpoint before are that one's, too, and back goes what differs
/// alone: so of columns both cost what changes in a tick, not what there is; for the rest see [Costs](#costs). (What decides is what [`Changed`](crate::query::Changed)
/// sees. A value that changes while it is only read, an atomic in a fragment, say, does not count: it goes back to what it
/// was when the column was last written, or later.)
///
/// # Handles that were given since
///
/// They are taken back: who was created after the checkpoint is gone, and who is created then gets the same handle, be it
/// somebody else; who was destroyed since lives again, by the same handle. It is the exception to *a dead handle stays
/// dead*, as it is where a snapshot is loaded; here within one universe. Therefore it is for a world that is alone in an
/// [ordered](crate::world::Universe::ordered) universe: as soon as an id is another's, reserved, recorded and not flushed,
/// or in another world, both calls refuse ([`NotAlone`](CheckpointError::NotAlone)). So they do where something was recorded
/// for those who are there and not flushed ([`Pending`](CheckpointError::Pending)), or a recorder is open that may hold such
/// ([`RecorderOpen`](CheckpointError::RecorderOpen)): who gets the same handle is to get nothing of it.
/// What is recorded while a world goes back, by a `drop` of what goes, say, or by another thread, is gone for the same reason, and who
/// was created so is dead: all of each recorder that was opened before the end of the call, also what it records later. What is
/// recorded by one that a thread opens beside the call is gone, or comes later. (What the `drop`s of all that record in turn is
/// gone, too, up to 16 times.)
/// The ids of whoever a `drop` has created so are used up: those who are created then have other handles than the first time. What
/// a recorder has left that was open beyond the end keeps its ids until the next flush, also where [`pending`](World::pending)
/// counts nothing, and what it has only reserved until somebody [releases](crate::world::Universe::release) it: both calls
/// refuse so long. Nor may another world of the universe keep something by a handle that is given again: names, signals that wait,
/// commands.
/// Other threads may use the universe all the same: an id that they reserve beside the call is theirs, before, or after it.
/// Outside of the world, where screens, sounds and sockets are, only handles are to be kept that were there at a checkpoint to which it never goes back any more.
///
/// A world may have several `Checkpoints`. What one of them goes back over is, for the others, what has changed: they go to
/// theirs all the same, also forward, but not to one with compositions that have gone with it
/// ([`Collected`](CheckpointError::Collected)).
///
/// # What is said once
///
/// What is said of a universe or a world as a whole, as a rule before the first tick, is no part of a checkpoint: which types
/// are registered, and what they can do, and [what chunks begin with by a rule](World::set_chunk_rule). So it is said before
/// the first checkpoint, and not in ticks: a resource whose type became part of the state since stays as it is, and a rule
/// that was set since stays, though what chunks have, and begin with, by it goes back.
///
/// # What is not told
///
/// Observers hear nothing of it. (Objects of [hosts](crate::processor::translator::Hosts) are again whose they are, or orphans,
/// and what the host has changed is not copied twice.) To queries, [since](crate::query::QueryRun::since) then all has changed
/// that has gone back (and nothing else, where nothing else has): versions only grow, so in ticks that come again `Changed` sees
/// more than the first time. Indices are made anew when they are next [updated](crate::index). Signals that were sent and not read, and
/// delayed ones that the checkpoint does not have, are gone, and so is all that a sender sends, and cancels, which was opened
/// before the end of the call, also if it is open still; what is sent by one that a thread opens beside the call is gone, or comes later.
///
/// # Costs
///
/// Taking one: O(chunks × fragments + ids that were ever used) of a few nanoseconds each, and the bytes of columns
/// that were written, to which entities have come, or which some have left; of values that are [cloned](crate::fragment::FragmentRegistry::register_clone) their
/// `clone`. Of names, all, if one has changed, or going back if somebody was looked for by name who was dead. Going back: the
/// same of what differs, and `hash` and `eq` of each combination of shared values; and for each kind of
/// [hosts](crate::processor::translator::Hosts) O(slots up to the last object + orphans).
///
/// In full each time, changed or not: eight bytes for each id that was ever used, which each checkpoint keeps, and going back
/// compares; the value of each chunk fragment in each chunk, copied or cloned by both, as nobody says when it is changed; what
/// chunks begin with; resources that are part of the state, and what delayed signals carry, written by one and read by the other.
///
/// Memory that a checkpoint had serves the next one: after a round nothing is allocated but for what has grown, for
/// names, signals, resources that are [written](crate::fragment::FragmentRegistry::register_state_with) by functions of yours, and templates of chunk fragments.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::world::Checkpoints;
/// use std::sync::Arc;
///
/// let mut world = World::of(&Arc::new(Universe::ordered()))?;
/// world.registry().register_plain::<u32>()?;
/// world.registry().register_clone::<String>()?;
/// let ant = world.create((1_u32, String::from("ant")))?;
///
/// let mut checkpoints = Checkpoints::new(8);
/// let before = checkpoints.take(&mut world)?;
/// *world.get_mut::<u32>(ant)? = 2;
/// world.destroy(ant)?;
/// let bee = world.create((3_u32,))?;
///
/// checkpoints.roll_back(&mut world, before)?;
/// assert_eq!(world.get::<u32>(ant)?, &1);
/// assert_eq!(world.get::<String>(ant)?, "ant");
/// // It has not been yet.
/// assert!(!world.exists(bee));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source of the idea: rollback netcode (GGPO); copy on write by change versions, as DOTS' chunks have them.
#[doc(alias = "rollback")]
#[doc(alias = "undo")]
pub struct Checkpoints {
    keep: usize,
    /// The world that they are of.
    world: u64,
    /// From the earliest to the last.
    ring: VecDeque<Saved>,
    /// The one that the world was when it was last seen, the moment of that, and how often names had changed.
    known: Option<Known>,
    /// Room for the next one.
    next: Vec<Saved>,
    spare: SpareParts,
}

#[derive(Clone, Copy)]
struct Known {
    number: u64,
    moment: u64,
    names: u64,
}

impl Checkpoints {
    /// None yet; the last `keep` are kept, one at least.
    #[must_use]
    pub fn new(keep: usize) -> Self {
        Self {
            keep: keep.max(1),
            world: 0,
            ring: VecDeque::new(),
            known: None,
            next: Vec::new(),
            spare: SpareParts::default(),
        }
    }

    /// Keeps what the world is now; if there are too many then, the earliest is let go.
    ///
    /// The first one decides which world they are of, until they are [cleared](Self::clear).
    ///
    /// # Errors
    /// [`CheckpointError`]: there is no new one then, and all others are as they were.
    ///
    /// # Panics
    /// If users' code does: a `clone`, or what writes a resource: then it is as with an error. Or a `drop` of what the earliest one
    /// had: then there is the new one, the [last](Self::last).
    pub fn take(&mut self, world: &mut World) -> Result<Checkpoint, CheckpointError> {
        if !self.ring.is_empty() && self.world != world.origin() {
            return Err(CheckpointError::OtherWorld);
        }
        world.expect_quiet()?;
        let mut saved = self.next.pop().unwrap_or_default();
        let (mut filled, mut panicked) = (Ok(()), None);
        let (since, spare) = (since(&self.ring, self.known, world), &mut self.spare);
        let names_are_same = self
            .known
            .is_some_and(|known| known.names == world.names.changes());
        note(&mut panicked, || {
            filled = saved.fill(world, since, names_are_same, spare);
        });
        if panicked.is_some() || filled.is_err() {
            self.let_go(saved, &mut panicked);
            resume(panicked);
            return filled.map(|()| unreachable!("it was refused"));
        }
        saved.number = new_identity();
        let taken = Checkpoint {
            number: saved.number,
        };
        self.ring.push_back(saved);
        self.world = world.origin();
        self.know(world, taken.number);
        if self.ring.len() > self.keep
            && let Some(earliest) = self.ring.pop_front()
        {
            self.let_go(earliest, &mut panicked);
        }
        resume(panicked);
        Ok(taken)
    }

    /// Makes the world what it was at a checkpoint, which stays; those that were taken after it are let go.
    ///
    /// # Errors
    /// [`CheckpointError`]: the world, and all checkpoints, are as they were.
    ///
    /// # Panics
    /// If users' code does: a `clone`, `hash` or `eq`, or what reads a resource: then it is as with an error. Or a `drop` of what the
    /// world had, of a checkpoint that is let go, or of what was sent, or recorded meanwhile: then the world has gone back, and all
    /// values are dropped.
    #[doc(alias = "rewind")]
    #[doc(alias = "restore")]
    pub fn roll_back(&mut self, world: &mut World, to: Checkpoint) -> Result<(), CheckpointError> {
        let at = self.place_of(to).ok_or(CheckpointError::Gone)?;
        if self.world != world.origin() {
            return Err(CheckpointError::OtherWorld);
        }
        world.expect_quiet()?;
        let Some(since) = since(&self.ring, self.known, world) else {
            unreachable!(
                "the world is known by the last of them, or by the one that it went back to"
            )
        };
        let (mut plan, mut planned, mut panicked) = (Plan::default(), Ok(()), None);
        let (saved, spare) = (&self.ring[at], &mut self.spare);
        let names_are_same = since.saved.number == saved.number
            && self
                .known
                .is_some_and(|known| known.names == world.names.changes());
        note(&mut panicked, || {
            planned = plan.make(world, saved, since, spare);
        });
        let saved = &mut self.ring[at];
        if panicked.is_none() && planned.is_ok() {
            planned = plan.claim(world, saved);
        }
        if panicked.is_some() || planned.is_err() {
            plan.abandon(world, spare, &mut panicked);
            resume(panicked);
            return planned;
        }
        plan.carry_out(world, saved, names_are_same, spare, &mut panicked);
        self.know(world, to.number);
        while self.ring.len() > at + 1
            && let Some(later) = self.ring.pop_back()
        {
            self.let_go(later, &mut panicked);
        }
        // Behind all code of users'.
        world.cut_off(&mut panicked);
        resume(panicked);
        Ok(())
    }

    /// The last one, if there is one: that was taken last, or that the world went back to, if none was taken since.
    #[must_use]
    pub fn last(&self) -> Option<Checkpoint> {
        let number = self.ring.back()?.number;
        Some(Checkpoint { number })
    }

    /// Whether a checkpoint is still kept. O(log kept).
    #[must_use]
    pub fn has(&self, checkpoint: Checkpoint) -> bool {
        self.place_of(checkpoint).is_some()
    }

    /// How many are kept now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Lets all go, and gives their memory back: the next one may be of another world.
    ///
    /// # Panics
    /// If the `drop` of a value does; all are gone then.
    pub fn clear(&mut self) {
        let mut panicked = None;
        for saved in core::mem::take(&mut self.ring) {
            self.let_go(saved, &mut panicked);
        }
        self.known = None;
        self.next = Vec::new();
        self.spare.clear();
        resume(panicked);
    }

    fn place_of(&self, checkpoint: Checkpoint) -> Option<usize> {
        let found = self
            .ring
            .binary_search_by_key(&checkpoint.number, |saved| saved.number);
        found.ok()
    }

    /// The world is now what it is at this one.
    fn know(&mut self, world: &mut World, number: u64) {
        // What changes from now on is newer than the moment before the next one.
        let moment = world.next_moment() - 1;
        let names = world.names.changes();
        self.known = Some(Known {
            number,
            moment,
            names,
        });
    }

    fn let_go(&mut self, mut saved: Saved, panicked: &mut Panicked) {
        saved.empty(&mut self.spare, panicked);
        self.next.push(saved);
    }
}

/// What the world was when it was last seen, if that is kept.
fn since<'a>(ring: &'a VecDeque<Saved>, known: Option<Known>, world: &World) -> Option<Since<'a>> {
    let known = known?;
    let at = ring.binary_search_by_key(&known.number, |saved| saved.number);
    Some(Since {
        saved: &ring[at.ok()?],
        version: world.since(known.moment, world.stamp()),
    })
}

/// How often what was recorded while a world went back is let go: what `drop`s of it record is gone with the next time.
const CUTS: usize = 16;

impl World {
    /// What was recorded and sent while it went back is gone: it names those who were there.
    fn cut_off(&mut self, panicked: &mut Panicked) {
        // Not without end: other threads may record all the time, and a drop something whose drop does so again.
        for _ in 0..CUTS {
            if !self.attached.cut_off(panicked) {
                return;
            }
        }
    }

    /// Whether nothing is under way or waits that is part of the world soon.
    fn expect_quiet(&mut self) -> Result<(), CheckpointError> {
        if !self.universe.is_ordered() {
            return Err(CheckpointError::NotOrdered);
        }
        self.release_left();
        if self.shared.has_flushes() || self.attached.iter().any(|one| one.is_at_work()) {
            return Err(CheckpointError::Flushing);
        }
        let (pending, open) = self.pending_and_open();
        if pending.entities + pending.commands > 0 {
            return Err(CheckpointError::Pending(pending));
        }
        if open > 0 {
            return Err(CheckpointError::RecorderOpen);
        }
        let is_lent = |form: &StateForm| self.resources.is_lifted(form.type_id());
        if let Some(form) = self.universe.registry().state_form(is_lent) {
            let name = form.name().into();
            return Err(CheckpointError::Lent { name });
        }
        for archetype in 0..self.archetypes.len() as u32 {
            self.settle_groups(archetype);
        }
        Ok(())
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        let mut panicked = None;
        for saved in core::mem::take(&mut self.ring) {
            self.let_go(saved, &mut panicked);
        }
        resume_alone(panicked);
    }
}

/// How many there are.
impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints")
            .field("keep", &self.keep)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
