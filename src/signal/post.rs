//! `Post`: what a world, its senders and its readers share.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::command::Precedence;
use crate::panics::Panicked;
use crate::signal::Signals;
use crate::signal::kind::Kind;
use crate::signal::mailbag::Mailbag;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::end::End;
use crate::sync::openings::Openings;
use crate::sync::pool::{Lent, Pool, Taken};
use crate::sync::roster::Roster;
use crate::world::check::{Found, Held};
use crate::world::waiting::Told;
use crate::world::{Attachment, Pending, World};

/// What a world, its senders and its readers share.
pub(super) struct Post {
    /// Unique in the process: whose a [`Signal`](crate::signal::Signal) is.
    pub(super) number: u64,
    pub(super) kinds: Roster<Kind>,
    pub(super) bags: Pool<Mailbag>,
    /// Senders that have been opened. On a line of its own: each sender writes here, and reads the rest.
    pub(super) senders: CachePadded<Openings>,
    /// The world's time, in nanoseconds.
    pub(super) now: AtomicU64,
    /// 1 if the last collection has left signals for entities that are not built.
    pub(super) waits: AtomicU32,
    /// A number that each sender has a lower one than that was opened before the world went back last, and each a higher one
    /// that was opened later; [`NEVER`] if none of the former can be open.
    went_back: AtomicU64,
    /// That the world has ended.
    ended: End,
}

/// No collection has this number.
const NEVER: u64 = 0;

/// The number of the next post.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Post {
    /// Of a world that has this time, in nanoseconds.
    fn new(now: u64) -> Self {
        Self {
            // Ordering: Relaxed: only uniqueness matters. (No program counts to the end of 64 bits.)
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            kinds: Roster::new(),
            bags: Pool::new(),
            senders: CachePadded::new(Openings::new()),
            now: AtomicU64::new(now),
            waits: AtomicU32::new(0),
            went_back: AtomicU64::new(NEVER),
            ended: End::new(),
        }
    }

    /// The post of a world.
    pub(super) fn of(world: &World) -> &Arc<Self> {
        let attached = &world.attached;
        attached.get_or_attach(|| Arc::new(Self::new(world.come.time)))
    }

    /// The signals that there are, by their numbers: for who asks for many. O(signals).
    pub(super) fn kinds_by_number(&self) -> Vec<&Kind> {
        let mut kinds: Vec<&Kind> = self.kinds.iter().collect();
        kinds.reverse();
        kinds
    }

    /// Opens a sender of a rank, with a sort key. Lock-free.
    pub(super) fn open(&self, rank: u32, key: u64) -> Signals<'_> {
        let (mut bag, number) = self.senders.open(&self.bags, Mailbag::default);
        bag.open();
        Signals::new(self, bag, Precedence::new(rank, key, number))
    }

    /// By which number senders are told who were opened before the world went back last, if one of them may be open.
    pub(super) fn went_back(&self) -> Option<u64> {
        // Ordering: Relaxed, also where it is written: who goes back and who collects have the world.
        Some(self.went_back.load(Ordering::Relaxed)).filter(|&number| number != NEVER)
    }

    /// None of those is open any more.
    pub(super) fn forget_went_back(&self) {
        self.went_back.store(NEVER, Ordering::Relaxed);
    }

    /// Whether the world has ended. Wait-free.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_said()
    }

    /// Takes a sender's bag back. If the world is gone, so is what was sent.
    pub(super) fn close(&self, mut bag: Lent<'_, Mailbag>, precedence: Precedence) {
        bag.close(precedence);
        if self.ended.is_said() {
            *bag = Mailbag::default();
        }
        // What a sender holds back that stays open is its own thread's, and nothing that a
        // collection has missed.
        match bag.is_empty() {
            true => {
                bag.leave();
                // Before it goes back: who finds it there has counted it.
                self.senders.idle();
            }
            false => bag.keep(precedence.number),
        }
        // The end of the world may have come since this has asked, and not have found the bag; or one that this thread had
        // for a moment, to see whose it is, when it opened this one.
        if self.ended.gives_back(bag) {
            empty(self.bags.take_all());
        }
    }
}

/// What was sent in bags is gone, and their memory.
fn empty(bags: Taken<'_, Mailbag>) {
    for mut bag in bags {
        *bag = Mailbag::default();
        bag.leave();
    }
}

impl Attachment for Arc<Post> {
    fn world_ends(&mut self) {
        let is_alone = Arc::get_mut(self).is_some();
        empty(self.ended.say(&self.bags, is_alone));
    }

    fn trim(&mut self) -> usize {
        // Those that are lent, or hold what is to be collected, are left as they are.
        for mut bag in self.bags.take_all() {
            if bag.is_empty() {
                *bag = Mailbag::default();
            }
        }
        // If nobody else may open senders, there need be no more of them than are in use.
        if let Some(post) = Arc::get_mut(self) {
            post.bags.retain(|bag| !bag.is_empty());
        }
        0
    }

    fn count_pending(&self, pending: &mut Pending) -> usize {
        for bag in self.bags.take_all() {
            let (signals, timed) = bag.count_since(self.went_back());
            pending.delayed_signals += timed;
            pending.signals += signals - timed;
        }
        // What senders hold that are open is let go when it is collected, if the world goes back before.
        0
    }

    fn go_back(&mut self, time: u64, _: &mut Panicked) {
        // Ordering: Relaxed, as in `World::time` and `is_collected`.
        self.now.store(time, Ordering::Relaxed);
        self.waits.store(0, Ordering::Relaxed);
    }

    fn cut_off(&mut self, panicked: &mut Panicked) -> bool {
        // It is decided here, by the count of senders, what was sent before. What is held by those who are open is let go by
        // the collections that find it.
        let found = self.senders.collect(&self.bags, Mailbag::is_empty);
        let is_all = found.settles.is_some();
        let number = if is_all { NEVER } else { found.number };
        self.went_back.store(number, Ordering::Relaxed);
        let mut had_some = false;
        for mut bag in found.things {
            had_some |= !bag.is_empty();
            bag.end(panicked);
            bag.leave();
        }
        had_some
    }

    fn tell_waiting<'w>(&'w self, _: &'w World, told: &mut Told<'w>) {
        // Ordering: Relaxed, as in `World::time`.
        told.time = self.now.load(Ordering::Relaxed);
        told.handles.extend(self.kinds.iter().map(Kind::handle));
    }

    fn check(&self, _: &mut Found) -> Held {
        Held::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use crate::signal::{SignalError, SignalReader};

    #[test]
    fn what_each_sender_writes_shares_no_cache_line_with_what_it_reads() {
        use core::mem::{align_of, offset_of};

        const LINE: usize = align_of::<CachePadded<u8>>();
        let written = offset_of!(Post, senders) / LINE;
        let read = [
            offset_of!(Post, number),
            offset_of!(Post, kinds),
            offset_of!(Post, bags),
            offset_of!(Post, now),
            offset_of!(Post, ended),
        ];
        assert!(read.iter().all(|offset| offset / LINE != written));
    }

    #[test]
    fn worlds_after_four_billion_others_have_posts_of_their_own() {
        let first = World::new();
        let signal = first.signal::<u32>("heard").unwrap();
        let number = Post::of(&first).number;
        // So many worlds later a number of 32 bits is the same again.
        NEXT.fetch_max(number + (1 << 32), Ordering::Relaxed);
        let mut last = World::new();
        last.signal::<u32>("heard").unwrap();
        assert!(Post::of(&last).number >= number + (1 << 32));
        let mut reader = SignalReader::<Entity>::new(&last).unwrap();
        let refused = reader.subscribe(&mut last, signal);
        assert!(
            matches!(refused, Err(SignalError::OtherWorld)),
            "{refused:?}"
        );
    }
}
