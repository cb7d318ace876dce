//! The time of a world: what delayed signals wait for.

use core::time::Duration;

use crate::panics::resume;
use crate::signal::collect;
use crate::signal::post::Post;
use crate::sync::atomic::Ordering;
use crate::world::World;

/// Nanoseconds, 584 years at most.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Post {
    /// The world's time.
    pub(super) fn time(&self) -> Duration {
        // Ordering: Relaxed: time moves under `&mut` of the world; who reads it beside that gets the time
        // before or after.
        Duration::from_nanos(self.now.load(Ordering::Relaxed))
    }
}

impl World {
    /// The world's time: what it was [advanced](Self::advance_time) by in all, also before it was
    /// [saved](Self::save). Any thread; wait-free, but for the first call, which is lock-free and allocates.
    #[must_use]
    pub fn time(&self) -> Duration {
        Post::of(self).time()
    }

    /// The world's time when so much of it will have passed.
    pub(crate) fn time_after(&self, by: Duration) -> Duration {
        let end = Duration::from_nanos(u64::MAX);
        self.time().saturating_add(by).min(end)
    }

    /// Lets the world's time pass: delayed signals whose time has come arrive, in the order of their times,
    /// those for the same time in the order in which they were sent. What was sent before comes before them.
    /// O(signals · log delayed ones).
    ///
    /// A world's time ends after 584 years.
    ///
    /// # Panics
    /// If the `drop` of what a signal carried panics that nobody wants; the time has passed then.
    pub fn advance_time(&mut self, by: Duration) {
        let first = collect::collect(self);
        let post = Post::of(self);
        let now = nanoseconds(self.time_after(by));
        // Ordering: Relaxed, as in `Post::time`.
        post.now.store(now, Ordering::Relaxed);
        let then = collect::collect(self);
        resume(crate::panics::first(first, then));
    }
}
