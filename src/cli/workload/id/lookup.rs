//! `exists_1m`, `locate_1m`: one million handles looked up in random order. The first round of each repetition is not
//! timed: who is quick does more rounds, and would share out among more what the first of them finds cold.

use core::hint::black_box;

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::Shuffler;
use crate::entity::Place;

/// Asks for each of one million handles whether it lives; half are dead.
pub(super) struct Exists<C: IdContender> {
    contender: C,
    handles: Vec<C::Id>,
    threads: usize,
}

impl<C: IdContender> Exists<C> {
    pub(super) fn new(threads: usize) -> Self {
        let contender = C::fresh();
        let mut handles = super::populated(&contender, super::MILLION);
        let mut shuffler = Shuffler::new(2);
        shuffler.shuffle(&mut handles);
        let mut session = contender.session();
        for &dead in &handles[..super::MILLION / 2] {
            assert!(session.destroy(dead), "an id that was created is alive");
        }
        session.flush();
        drop(session);
        shuffler.shuffle(&mut handles);
        Self {
            contender,
            handles,
            threads,
        }
    }
}

impl<C: IdContender> Subject for Exists<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        // Each worker begins elsewhere, so that none finds the lines another just fetched.
        let (late, early) = self
            .handles
            .split_at(self.handles.len() * worker / self.threads);
        let mut round = || {
            let mut live = 0;
            for &id in early {
                live += usize::from(session.exists(id));
            }
            for &id in late {
                live += usize::from(session.exists(id));
            }
            live
        };
        black_box(round());
        for _ in 0..rounds {
            let live = watch.time(0, self.handles.len() as u64, &mut round);
            assert_eq!(
                live,
                self.handles.len() - self.handles.len() / 2,
                "half are dead"
            );
        }
    }
}

/// Asks for each of one million live handles where it lies.
pub(super) struct Locate<C: IdContender> {
    contender: C,
    handles: Vec<C::Id>,
    threads: usize,
    sum: u64,
}

impl<C: IdContender> Locate<C> {
    pub(super) fn new(threads: usize) -> Self {
        let contender = C::fresh();
        let mut handles = super::populated(&contender, super::MILLION);
        let mut session = contender.session();
        let mut sum = 0;
        for (number, &id) in (0_u32..).zip(&handles) {
            let place = Place::new(number / 2_000, number % 2_000).expect("there are such places");
            assert!(
                session.publish(id, place),
                "an id that was created is alive"
            );
            sum += value_of(place);
        }
        drop(session);
        Shuffler::new(3).shuffle(&mut handles);
        Self {
            contender,
            handles,
            threads,
            sum,
        }
    }
}

/// A number that gives a wrong place away.
#[inline(always)]
fn value_of(place: Place) -> u64 {
    u64::from(place.chunk() << 12 | place.row())
}

impl<C: IdContender> Subject for Locate<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let (late, early) = self
            .handles
            .split_at(self.handles.len() * worker / self.threads);
        let mut round = || {
            let mut sum = 0;
            for &id in early {
                sum += session.locate(id).map_or(0, value_of);
            }
            for &id in late {
                sum += session.locate(id).map_or(0, value_of);
            }
            sum
        };
        black_box(round());
        for _ in 0..rounds {
            let sum = watch.time(0, self.handles.len() as u64, &mut round);
            assert_eq!(sum, self.sum, "every id lies where it was put");
        }
    }
}
