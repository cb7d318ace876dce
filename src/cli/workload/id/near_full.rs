//! `near_full`: what is left when almost every id is taken.

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, Shuffler};

/// Ids that stay free for each worker, scattered: more than any cache may keep back.
const HOLES: usize = 4_096;
/// Ids that each worker holds and replaces, scattered too.
const SET: usize = 4_096;
/// Ids created in a call while the allocator is filled.
const GULP: usize = 65_536;

/// All ids are taken but 4,096 a worker; workers replace ids that lie scattered all over.
pub(super) struct NearFull<C: IdContender> {
    contender: C,
    workers: Parts<Member<C::Id>>,
}

struct Member<I> {
    set: Vec<I>,
    next: usize,
}

impl<C: IdContender> NearFull<C> {
    /// Fills an allocator of `limit` ids.
    pub(super) fn new(limit: usize, threads: usize) -> Self {
        let contender = C::fresh();
        let mut session = contender.session();
        let mut sample = Vec::new();
        let wanted = threads * (HOLES + SET);
        let stride = limit / wanted;
        let mut gulp = vec![C::placeholder(); GULP.min(limit)];
        let mut taken = 0;
        while taken < limit {
            let most = gulp.len().min(limit - taken);
            let gulp = &mut gulp[..most];
            session.create_slice(gulp);
            // Every `stride`-th id of all, wherever this gulp begins.
            let skip = taken.next_multiple_of(stride) - taken;
            sample.extend(gulp.iter().skip(skip).step_by(stride));
            taken += gulp.len();
        }
        Shuffler::new(4).shuffle(&mut sample);
        let holes = sample.split_off(sample.len() - threads * HOLES);
        for hole in holes {
            assert!(session.destroy(hole), "an id that was created is alive");
        }
        session.flush();
        drop(session);
        let workers = Parts::new(threads, |_| Member {
            set: sample.split_off(sample.len() - SET),
            next: 0,
        });
        Self { contender, workers }
    }
}

impl<C: IdContender> Subject for NearFull<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let mut member = self.workers.of(worker);
        let lives = rounds as usize * 64;
        let died = watch.time(0, lives as u64, || {
            let mut died = 0;
            for _ in 0..lives {
                let next = member.next % SET;
                member.next += 1;
                // The new id first: it must be found while only the holes are free.
                let new = session.create();
                let old = core::mem::replace(&mut member.set[next], new);
                died += usize::from(session.destroy(old));
            }
            died
        });
        assert_eq!(died, lives, "members of a set are alive");
    }
}
