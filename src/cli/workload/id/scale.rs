//! `scale`: from ten thousand live ids to a hundred million.

use std::hint::black_box;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject, give_memory_back, provide_memory, resident_memory};
use crate::cli::workload::Shuffler;

/// Ids between two looks at the clock.
const STRETCH: usize = 65_536;
/// What one phase may take. The published algorithm would need hours.
const PATIENCE: Duration = Duration::from_secs(15);
/// Ids that are created singly at the very end where patience ran out before.
const LAST: usize = 10_000;

/// A fresh allocator, in memory that the machine has at hand, creates ids one by one until `live`
/// live, looks all of them up in random order, and destroys them in random order.
///
/// Where creating takes too long, the rest is created in batches but for the last 10,000, and the
/// figure is that of those 10,000: what a create costs among so many. Where looking up or
/// destroying takes too long, the figure is that of what was done.
pub(super) struct Scale<C> {
    live: usize,
    contender: PhantomData<fn() -> C>,
}

impl<C: IdContender> Scale<C> {
    pub(super) const CREATE: usize = 0;
    pub(super) const LOOK_UP: usize = 1;
    pub(super) const DESTROY: usize = 2;

    pub(super) fn new(live: usize) -> Self {
        Self {
            live,
            contender: PhantomData,
        }
    }

    /// Fills `ids`; how many of the creates took how long.
    fn create(session: &mut C::Session<'_>, ids: &mut [C::Id]) -> (usize, Duration) {
        let (created, took) = in_stretches(ids, |stretch| {
            stretch.fill_with(|| session.create());
        });
        if created == ids.len() {
            return (created, took);
        }
        let rest = &mut ids[created..];
        let (most, last) = rest.split_at_mut(rest.len().saturating_sub(LAST));
        session.create_slice(most);
        let start = Instant::now();
        last.fill_with(|| session.create());
        (last.len(), start.elapsed())
    }
}

/// Does `work` to one stretch after the other until patience runs out: how many ids that were.
fn in_stretches<T>(ids: &mut [T], mut work: impl FnMut(&mut [T])) -> (usize, Duration) {
    let start = Instant::now();
    let mut done = 0;
    for stretch in ids.chunks_mut(STRETCH) {
        work(stretch);
        done += stretch.len();
        if start.elapsed() > PATIENCE {
            break;
        }
    }
    (done, start.elapsed())
}

impl<C: IdContender> Subject for Scale<C> {
    fn repeat(&self, _worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut ids = vec![C::placeholder(); self.live];
        // Resident from here on, also where a placeholder is all zeros.
        ids.fill(black_box(C::placeholder()));
        provide_memory(self.live * super::BYTES);
        // What others have freed would hide what this one takes; where it stays, nothing can be said.
        let before = if give_memory_back() {
            resident_memory()
        } else {
            None
        };
        let contender = C::fresh();
        let mut session = contender.session();

        let (created, took) = Self::create(&mut session, &mut ids);
        watch.record(Self::CREATE, created as u64, took);
        if let (Some(before), Some(after)) = (before, resident_memory()) {
            watch.note_resident(after.saturating_sub(before));
        }

        Shuffler::new(6).shuffle(&mut ids);
        let mut live = 0;
        let (asked, took) = in_stretches(&mut ids, |stretch| {
            live += stretch.iter().filter(|&&id| session.exists(id)).count();
        });
        assert_eq!(live, asked, "all ids are alive");
        watch.record(Self::LOOK_UP, asked as u64, took);

        let mut died = 0;
        let (destroyed, took) = in_stretches(&mut ids, |stretch| {
            died += stretch.iter().filter(|&&id| session.destroy(id)).count();
        });
        assert_eq!(died, destroyed, "each id is destroyed once");
        watch.record(Self::DESTROY, destroyed as u64, took);
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn repetitions(&self, wanted: usize) -> usize {
        match self.live {
            0..=1_000_000 => wanted,
            1_000_001..=10_000_000 => wanted.min(3),
            _ => 1,
        }
    }

    fn warms_up(&self) -> bool {
        self.live <= 1_000_000
    }
}
