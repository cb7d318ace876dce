//! `pair`, `pair_1m`, `one_by_one`: the cost of one id's life, alone.

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};

/// Lives in a round of `pair`: enough that reading the clock does not show.
const ROUND: u64 = 512;

/// Creates an id and destroys it, again and again, while others live.
pub(super) struct Pair<C>(C);

impl<C: IdContender> Pair<C> {
    pub(super) fn new(live: usize) -> Self {
        let contender = C::fresh();
        super::populated(&contender, live);
        Self(contender)
    }
}

impl<C: IdContender> Subject for Pair<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.0.session();
        let lives = rounds * ROUND;
        let died = watch.time(0, lives, || {
            let mut died = 0;
            for _ in 0..lives {
                let id = session.create();
                died += u64::from(session.destroy(id));
            }
            died
        });
        assert_eq!(died, lives, "an id that was just created is alive");
    }
}

/// Ids that live at once in `one_by_one`.
const GROUP: usize = 64;

/// Creates 64 ids one by one, then destroys them one by one.
pub(super) struct OneByOne<C>(C);

impl<C: IdContender> OneByOne<C> {
    pub(super) fn new(live: usize) -> Self {
        let contender = C::fresh();
        super::populated(&contender, live);
        Self(contender)
    }
}

impl<C: IdContender> Subject for OneByOne<C> {
    fn repeat(&self, _worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.0.session();
        let mut ids = [C::placeholder(); GROUP];
        let groups = rounds * 8;
        let lives = groups * GROUP as u64;
        let died = watch.time(0, lives, || {
            let mut died = 0;
            for _ in 0..groups {
                for id in &mut ids {
                    *id = session.create();
                }
                for &id in &ids {
                    died += u64::from(session.destroy(id));
                }
            }
            died
        });
        assert_eq!(died, lives, "an id that was created is alive");
    }
}
