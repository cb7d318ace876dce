//! When a request for chunks may be refused.
//!
//! What the documentation promises, and what is checked: a request finds every run of chunks that
//! were given back before it began and that nobody took before it ended, unless
//!
//! * other threads keep chunks of it to themselves, so many each at most, from their first single
//!   chunk until they flush; or
//! * another thread takes from that mega-chunk during the request, and may be opening it; or
//! * nobody is known to use anything of that mega-chunk during the request, and another thread's
//!   call may be giving its memory back, 64 of them each at most.
//!
//! Which runs those were is known from the records alone, without a search for an order: a chunk was
//! surely free if each of its owners had given it back, and had the answer, before the request, or
//! asked for it after the answer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use megachunk::chunk::{ChunkError, MEGACHUNKS, Run};

use super::contenders::halves;
use super::{Event, Promise, Record};

/// Mega-chunks that a call may hold at a time to give their memory back.
const GIVEN_BACK_AT_ONCE: usize = 64;

/// What is checked of the refusals of one history.
pub(super) struct Refusals<'a> {
    records: &'a [Record],
    promise: Promise,
    /// The mega-chunks that are not taken from the beginning; all, if there are none here.
    room: &'a [u32],
    holdings: Vec<Holding>,
}

/// The time for which a run was somebody's.
struct Holding {
    run: Run,
    taken: (u64, u64),
    given: (u64, u64),
}

/// What is known of a mega-chunk for the time of a request: chunks as bits.
#[derive(Default)]
struct Known {
    /// In use at some moment, perhaps.
    perhaps: u64,
    /// In use all the time.
    surely: u64,
    /// Another thread may be opening it.
    opened: bool,
}

impl<'a> Refusals<'a> {
    /// Of the records of a history.
    pub(super) fn new(records: &'a [Record], promise: Promise, room: &'a [u32]) -> Self {
        let holding = |taking: &Record| {
            let run = taking.taken()?;
            let given = records.iter().filter(|record| {
                matches!(record.event, Event::Free { run: freed, .. } if freed == run)
                    && record.call > taking.response
            });
            let given = given.min_by_key(|record| record.call);
            Some(Holding {
                run,
                taken: (taking.call, taking.response),
                given: given.map_or((u64::MAX, u64::MAX), |free| (free.call, free.response)),
            })
        };
        Self {
            records,
            promise,
            room,
            holdings: records.iter().filter_map(holding).collect(),
        }
    }

    /// The first request that was refused, for one of the lengths that it tried, though the promise
    /// is that it would find something.
    pub(super) fn first_wrong(&self) -> Option<&'a Record> {
        let wrong = |record: &&Record| {
            refused_lens(record).any(|len| {
                let hidden = self.least_hidden(record, len as u32);
                hidden > self.promise.keeps * self.keepers(record)
            })
        };
        self.records.iter().find(wrong)
    }

    /// How many chunks others must have kept at least, so that a request for `len` found none.
    fn least_hidden(&self, request: &Record, len: u32) -> usize {
        let known = self.known(request);
        let (mut hidden, mut out_of_reach) = (0, Vec::new());
        let mut add = |megachunk: &u32| {
            let nothing = Known::default();
            let known = known.get(megachunk).unwrap_or(&nothing);
            let disjoint = disjoint_runs(!known.perhaps, len);
            if known.surely == 0 {
                out_of_reach.push(if known.opened { 0 } else { disjoint });
            } else if !known.opened {
                hidden += disjoint;
            }
        };
        match self.room {
            [] => (0..MEGACHUNKS as u32).for_each(|megachunk| add(&megachunk)),
            room => room.iter().for_each(add),
        }
        // Of those that nobody is known to use, others may hold so many for their memory's sake.
        out_of_reach.sort_unstable_by_key(|&runs| Reverse(runs));
        let held = GIVEN_BACK_AT_ONCE * self.givers(request);
        hidden + out_of_reach.iter().skip(held).sum::<usize>()
    }

    /// What is known of the mega-chunks that were used at all.
    fn known(&self, request: &Record) -> BTreeMap<u32, Known> {
        let mut all = BTreeMap::<u32, Known>::new();
        for Holding { run, taken, given } in &self.holdings {
            let known = all.entry(run.megachunk()).or_default();
            // What best effort took in the end it had not taken while it asked for more.
            let own = taken.0 == request.call;
            if !own && taken.0 < request.response && request.call < given.1 {
                known.perhaps |= run.mask();
            }
            if taken.1 < request.call && request.response < given.0 {
                known.surely |= run.mask();
            }
        }
        for other in self.others(request) {
            if let Some(run) = other.taken() {
                all.entry(run.megachunk()).or_default().opened = true;
            }
        }
        all
    }

    /// What other threads do during a request.
    fn others(&self, request: &Record) -> impl Iterator<Item = &'a Record> {
        let (thread, request) = (request.thread, request.clone());
        let others = self.records.iter().filter(move |o| o.thread != thread);
        others.filter(move |other| other.overlaps(&request))
    }

    /// The other threads that may give memory back during a request.
    fn givers(&self, request: &Record) -> usize {
        let gives = |other: &&Record| self.promise.shrinks || other.event == Event::Trim;
        let threads = self.others(request).filter(gives).map(|other| other.thread);
        count(threads)
    }

    /// The other threads that may keep something to themselves during a request.
    fn keepers(&self, request: &Record) -> usize {
        let of_thread = |thread| self.records.iter().filter(move |r| r.thread == thread);
        let keeping = self.records.iter().filter(|single| {
            single.thread != request.thread
                && is_single(single)
                && single.call < request.response
                && !of_thread(single.thread).any(|flush| {
                    empties_cache(flush)
                        && flush.call > single.response
                        && flush.response < request.call
                })
        });
        count(keeping.map(|single| single.thread))
    }
}

fn count(threads: impl Iterator<Item = usize>) -> usize {
    let mut threads: Vec<usize> = threads.collect();
    threads.sort_unstable();
    threads.dedup();
    threads.len()
}

/// The lengths for which a call found nothing, though it went on to others perhaps.
fn refused_lens(record: &Record) -> impl Iterator<Item = usize> {
    let (len, found) = match &record.event {
        Event::Take(len, Err(_)) => (Some(*len), *len - 1),
        Event::TakeUpTo(len, answer) => {
            let found = answer.as_ref().map_or(0, |run| run.len() as usize);
            (Some(*len), found)
        }
        _ => (None, 0),
    };
    let lens = len.into_iter().flat_map(halves);
    lens.take_while(move |&len| len > found)
}

/// Whether the thread may keep something to itself after this call.
fn is_single(record: &Record) -> bool {
    match &record.event {
        Event::Free { run, .. } => run.len() == 1,
        _ => record.taken().is_some_and(|run| run.len() == 1),
    }
}

/// Whether the thread keeps nothing after this call.
fn empties_cache(record: &Record) -> bool {
    match record.event {
        Event::Flush | Event::Trim | Event::End => true,
        Event::Take(len, Err(ChunkError::Exhausted { .. })) => len > 1,
        _ => false,
    }
}

/// How many runs of `len` fit into `free` beside each other: so many chunks have to be taken out of it
/// at least, so that none is left.
fn disjoint_runs(free: u64, len: u32) -> usize {
    let (mut left, mut runs) = (free, 0);
    while left != 0 {
        left >>= left.trailing_zeros();
        let ones = left.trailing_ones();
        runs += (ones / len) as usize;
        left = left.checked_shr(ones).unwrap_or(0);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::super::records::{frees, record, refused, run, takes};
    use super::*;

    const KEEPING: Promise = Promise {
        keeps: 16,
        shrinks: false,
    };
    const STRICT: Promise = Promise {
        keeps: 0,
        shrinks: false,
    };
    const SHRINKING: Promise = Promise {
        keeps: 0,
        shrinks: true,
    };

    /// Whether all refusals are right where there is one mega-chunk.
    fn right(promise: Promise, records: &[Record]) -> bool {
        Refusals::new(records, promise, &[0])
            .first_wrong()
            .is_none()
    }

    #[test]
    fn runs_that_fit_are_counted_hole_by_hole() {
        assert_eq!(disjoint_runs(u64::MAX, 64), 1);
        assert_eq!(disjoint_runs(u64::MAX, 1), 64);
        assert_eq!(disjoint_runs(0, 1), 0);
        assert_eq!(disjoint_runs(0b1110_1111_0011, 2), 4);
        assert_eq!(disjoint_runs(1 << 63, 1), 1);
    }

    #[test]
    fn a_refusal_is_right_if_what_is_left_is_too_short() {
        let low = takes(1, (0, 1), run(0, 40));
        assert!(right(STRICT, &[low.clone(), refused(1, (2, 3), 25)]));
        assert!(!right(STRICT, &[low, refused(1, (2, 3), 24)]));
    }

    #[test]
    fn a_refusal_is_wrong_after_the_run_was_given_back() {
        let whole = run(0, 64);
        let history = |free, request| {
            [
                takes(1, (0, 1), whole),
                frees(1, free, whole, true),
                refused(2, request, 64),
            ]
        };
        assert!(!right(STRICT, &history((2, 3), (4, 5))));
        // The free may come after the search.
        assert!(right(STRICT, &history((2, 4), (3, 5))));
        assert!(right(STRICT, &history((4, 5), (2, 3))));
    }

    #[test]
    fn a_run_that_is_taken_meanwhile_is_not_missed() {
        let (low, high) = (run(0, 32), run(32, 32));
        let history = |other| {
            [
                takes(1, (0, 1), low),
                takes(2, other, high),
                refused(1, (4, 7), 32),
            ]
        };
        assert!(right(STRICT, &history((2, 3))));
        assert!(right(STRICT, &history((5, 6))));
        assert!(!right(STRICT, &history((8, 9))));
    }

    #[test]
    fn chunks_that_another_thread_keeps_are_not_missed() {
        let (rest, single) = (run(0, 47), run(63, 1));
        let history = [
            takes(1, (0, 1), rest),
            takes(2, (2, 3), single),
            refused(1, (4, 5), 1),
        ];
        assert!(right(KEEPING, &history));
        assert!(!right(STRICT, &history));
        let long = |len| {
            [
                takes(1, (0, 1), run(0, 30)),
                takes(2, (2, 3), single),
                refused(1, (4, 5), len),
            ]
        };
        assert!(right(KEEPING, &long(2)), "33 chunks are 16 runs of two");
        assert!(!right(KEEPING, &long(1)), "and 17 more than may be kept");
    }

    #[test]
    fn who_has_flushed_keeps_nothing() {
        let (rest, single) = (run(0, 60), run(63, 1));
        let history = |flush| {
            [
                takes(1, (0, 1), rest),
                takes(2, (2, 3), single),
                flush,
                refused(1, (6, 7), 3),
            ]
        };
        for emptying in [Event::Flush, Event::Trim, Event::End] {
            assert!(!right(KEEPING, &history(record(2, (4, 5), emptying))));
        }
        assert!(!right(KEEPING, &history(refused(2, (4, 5), 33))));
        assert!(right(KEEPING, &history(record(1, (4, 5), Event::Flush))));
        // The flush may come after the search.
        let ends = record(2, (5, 8), Event::End);
        assert!(right(KEEPING, &history(ends)));
    }

    #[test]
    fn a_mega_chunk_that_another_thread_may_be_opening_is_not_missed() {
        let history = |thread, span| [takes(thread, span, run(0, 2)), refused(1, (2, 5), 32)];
        assert!(right(STRICT, &history(2, (3, 4))));
        assert!(!right(STRICT, &history(2, (0, 1))));
        assert!(!right(STRICT, &history(1, (0, 1))));
    }

    #[test]
    fn an_empty_mega_chunk_is_not_missed_while_memory_may_be_given_back() {
        let trim = |thread, span| [record(thread, span, Event::Trim), refused(1, (2, 5), 64)];
        assert!(right(STRICT, &trim(2, (3, 4))));
        assert!(!right(STRICT, &trim(2, (0, 1))));
        assert!(!right(STRICT, &trim(1, (0, 1))));
        let single = run(0, 1);
        let frees = [
            takes(2, (0, 1), single),
            frees(2, (3, 4), single, true),
            refused(1, (2, 5), 32),
        ];
        assert!(right(SHRINKING, &frees));
        assert!(!right(STRICT, &frees));
    }

    #[test]
    fn a_mega_chunk_in_use_is_missed_though_memory_is_given_back() {
        let history = [
            takes(1, (0, 1), run(0, 1)),
            record(2, (3, 4), Event::Trim),
            refused(1, (2, 5), 32),
        ];
        assert!(!right(SHRINKING, &history));
    }

    #[test]
    fn best_effort_is_refused_each_length_that_it_went_past() {
        let history = |answer: Result<Run, ChunkError>| {
            [
                takes(1, (0, 1), run(0, 49)),
                record(1, (2, 3), Event::TakeUpTo(60, answer)),
            ]
        };
        assert!(right(STRICT, &history(Ok(run(49, 15)))));
        assert!(!right(STRICT, &history(Ok(run(49, 7)))));
        let exhausted = ChunkError::Exhausted { len: 60 };
        assert!(!right(STRICT, &history(Err(exhausted))));
    }
}
