//! `reserve_1m`: one million ids taken one by one, for entities that are built later.

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, share};

/// Reserves one million ids in all; giving them back is not timed.
pub(super) struct Reserve<C: IdContender> {
    contender: C,
    held: Parts<Vec<C::Id>>,
}

impl<C: IdContender> Reserve<C> {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            contender: C::fresh(),
            held: Parts::new(threads, |worker| {
                vec![C::placeholder(); share(super::MILLION, worker, threads)]
            }),
        }
    }
}

impl<C: IdContender> Subject for Reserve<C> {
    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let mut held = self.held.of(worker);
        watch.time(0, held.len() as u64, || {
            held.fill_with(|| session.reserve())
        });
        watch.meet();
        let died = held.iter().filter(|&&id| session.release(id)).count();
        assert_eq!(died, held.len(), "a reserved id is alive");
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
