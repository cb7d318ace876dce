//! `Subscriptions`: which signals a reader hears, and how far it has read each.
//!
//! Of [`SignalReader`](crate::signal::SignalReader) and [`BroadcastReader`](crate::signal::BroadcastReader) alike. All are signals
//! of one world, whose logs keep what is sent until each who has subscribed has read it.

use std::sync::Arc;

use crate::panics::{Panicked, first};
use crate::signal::collect::{Board, board, collect};
use crate::signal::log::{Cursor, Log};
use crate::signal::post::Post;
use crate::signal::{Signal, SignalError};
use crate::sync::atomic::Ordering;
use crate::world::World;

/// The signals that a reader hears.
pub(super) struct Subscriptions {
    /// Whose signals they are; nobody's yet with `None`.
    post: Option<Arc<Post>>,
    all: Vec<Subscription>,
    /// The world's trims when its reader gave its room back.
    trims: u32,
}

/// A signal that a reader hears, and how far it has read that.
struct Subscription {
    signal: u32,
    cursor: Cursor,
}

/// What came by a signal since its reader read last.
pub(super) struct Unread<'b> {
    pub(super) signal: u32,
    pub(super) log: &'b Log,
    /// Where it begins in the log.
    pub(super) from: u64,
}

impl Subscriptions {
    /// None.
    pub(super) const fn new() -> Self {
        Self {
            post: None,
            all: Vec::new(),
            trims: 0,
        }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether nothing is heard.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whose signals they are.
    pub(super) fn post(&self) -> Option<&Post> {
        self.post.as_deref()
    }

    /// Asserts that they are of this world, if they are of any.
    pub(super) fn assert_own(&self, world: &World) {
        if let Some(post) = &self.post {
            assert!(
                Arc::ptr_eq(post, Post::of(world)),
                "a reader runs in the world whose signals it has subscribed to"
            );
        }
    }

    /// One more, of a world; what the `drop` of a payload panics with is noted.
    pub(super) fn subscribe<P>(
        &mut self,
        world: &mut World,
        signal: Signal<P>,
        panicked: &mut Panicked,
    ) -> Result<(), SignalError> {
        let post = Arc::clone(Post::of(world));
        let own = self.post.as_ref().unwrap_or(&post);
        if signal.post != post.number || own.number != post.number {
            return Err(SignalError::OtherWorld);
        }
        let mut known = self.all.iter();
        if known.any(|known| known.signal == signal.number) {
            let name = post.kinds.get(signal.number).map_or("", |kind| kind.name());
            return Err(SignalError::Twice { name: name.into() });
        }
        // What was sent before and waits for nothing is not for this reader.
        *panicked = first(panicked.take(), collect(world));
        let cursor = board(world).logs[signal.number as usize].subscribe();
        self.all.push(Subscription {
            signal: signal.number,
            cursor,
        });
        self.post = Some(post);
        Ok(())
    }

    /// One less; `false` if it is none of them.
    pub(super) fn unsubscribe<P>(&mut self, signal: Signal<P>) -> bool {
        let before = self.all.len();
        if self.post().map(|post| post.number) == Some(signal.post) {
            self.all.retain(|known| known.signal != signal.number);
        }
        self.all.len() < before
    }

    /// None any more, and of any world.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.post = None;
    }

    /// What was collected in their world, if there is something to read.
    #[inline]
    pub(super) fn board<'w>(&self, world: &'w World) -> Option<&'w Board> {
        self.post.as_ref()?;
        self.assert_own(world);
        world.attached.get::<Board>()
    }

    /// Whether the world has given room back since this was asked last: then its readers do.
    #[inline]
    pub(super) fn were_trimmed(&mut self, board: &Board) -> bool {
        core::mem::replace(&mut self.trims, board.trims) != board.trims
    }

    /// What is unread of each signal, which counts as read then.
    #[inline]
    pub(super) fn read<'b>(&self, board: &'b Board) -> impl Iterator<Item = Unread<'b>> {
        self.all.iter().map(|Subscription { signal, cursor }| {
            let log = &board.logs[*signal as usize];
            // Ordering: Relaxed: the cursor is this reader's; who trims the log has the world to itself.
            let from = cursor.load(Ordering::Relaxed);
            cursor.store(log.end(), Ordering::Relaxed);
            Unread {
                signal: *signal,
                log,
                from,
            }
        })
    }

    /// Each is unread again from where it was `before`. Nothing was collected since.
    #[cold]
    pub(super) fn take_back(&self, before: &[u64]) {
        for (Subscription { cursor, .. }, before) in self.all.iter().zip(before) {
            // Ordering: Relaxed, as in `read`.
            cursor.store(*before, Ordering::Relaxed);
        }
    }

    /// How many signals were collected, and are unread.
    pub(super) fn unread(&self, board: &Board) -> usize {
        let unread = self.all.iter().map(|Subscription { signal, cursor }| {
            // Ordering: Relaxed, as in `read`.
            board.logs[*signal as usize].end() - cursor.load(Ordering::Relaxed)
        });
        unread.sum::<u64>() as usize
    }

    /// Lets go what was collected and is unread; how many signals.
    pub(super) fn discard(&self, board: &mut Board, panicked: &mut Panicked) -> usize {
        let count = self.unread(board);
        for Subscription { signal, cursor } in &self.all {
            let log = &mut board.logs[*signal as usize];
            // Ordering: Relaxed, as in `read`.
            cursor.store(log.end(), Ordering::Relaxed);
            log.trim(panicked);
        }
        count
    }
}
