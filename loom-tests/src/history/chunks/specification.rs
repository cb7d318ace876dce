//! What a set of chunks may answer when it does one thing at a time, and the search for such an order.

use std::collections::BTreeMap;
use std::fmt;

use megachunk::chunk::{ChunkError, Run};
use todc_utils::{Action, History, Specification, WGLChecker};

use super::contenders::halves;
use super::refusal::Refusals;
use super::{Event, Promise, Record};

/// A set of chunks that does one thing at a time: runs are taken of what is free, and given back.
struct Set;

/// The chunks in use, as bits for each mega-chunk.
type State = BTreeMap<u32, u64>;

impl Specification for Set {
    type State = State;
    type Operation = Event;

    fn init() -> State {
        State::new()
    }

    fn apply(event: &Event, state: &State) -> (bool, State) {
        let used = |run: &Run| state.get(&run.megachunk()).copied().unwrap_or(0) & run.mask();
        let changed = |run: &Run| {
            let mut after = state.clone();
            *after.entry(run.megachunk()).or_default() ^= run.mask();
            (true, after)
        };
        let valid = match event {
            Event::Take(_, Ok(run)) | Event::TakeUpTo(_, Ok(run)) if used(run) == 0 => {
                return changed(run);
            }
            Event::Free {
                run,
                answer: Ok(()),
                ..
            } if used(run) == run.mask() => return changed(run),
            Event::Take(_, Ok(_)) | Event::TakeUpTo(_, Ok(_)) => false,
            Event::Free { run, answer, .. } => answer.is_err() && used(run) != run.mask(),
            Event::Counted { in_use, kept } => {
                let used = state.values().map(|bits| bits.count_ones() as usize);
                (*in_use, *kept) == (used.sum(), 0)
            }
            Event::Take(_, Err(_)) | Event::TakeUpTo(_, Err(_)) => true,
            Event::Flush | Event::Trim | Event::End => true,
        };
        (valid, state.clone())
    }
}

/// What the documentation does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No order explains what was taken, given back and counted.
    NoOrder,
    /// An answer that no state explains: another length than was asked for, chunks that were nobody's
    /// to give out, another error than "exhausted".
    Answer(Record),
    /// The memory of a run changed while it was in use.
    Memory(Record),
    /// A refusal, though there was a run that the call should have found.
    Refused(Record),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, record) = match self {
            Self::NoOrder => return writeln!(f, "no order explains the calls"),
            Self::Answer(record) => ("an answer that nothing explains", record),
            Self::Memory(record) => ("memory changed while it was in use", record),
            Self::Refused(record) => ("there was a run that this call should have found", record),
        };
        writeln!(f, "{what}:\n  {record}")
    }
}

/// A history that the documentation does not allow.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Why not.
    pub fault: Fault,
    /// All its calls, by their beginning.
    pub records: Vec<Record>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}whole history:", self.fault)?;
        self.records
            .iter()
            .try_for_each(|record| writeln!(f, "  {record}"))
    }
}

/// Whether the documentation allows a history. `room` are the mega-chunks that were not taken from the
/// beginning; all, if there are none in it. Exponential in the calls that overlap; there are few.
///
/// # Errors
/// What it does not allow.
pub fn check(mut records: Vec<Record>, promise: Promise, room: &[u32]) -> Result<(), Violation> {
    records.sort_by_key(|record| record.call);
    match first_fault(&records, promise, room) {
        None => Ok(()),
        Some(fault) => Err(Violation { fault, records }),
    }
}

fn first_fault(records: &[Record], promise: Promise, room: &[u32]) -> Option<Fault> {
    for record in records {
        if !is_possible(record, room) {
            return Some(Fault::Answer(record.clone()));
        }
        if let Event::Free { intact: false, .. } = record.event {
            return Some(Fault::Memory(record.clone()));
        }
    }
    if !is_linearizable(records) {
        return Some(Fault::NoOrder);
    }
    let refusals = Refusals::new(records, promise, room);
    let wrong = refusals.first_wrong()?;
    Some(Fault::Refused(wrong.clone()))
}

/// Whether a call could have answered so in some state.
fn is_possible(record: &Record, room: &[u32]) -> bool {
    let is_there = |run: &Run| room.is_empty() || room.contains(&run.megachunk());
    match &record.event {
        Event::Take(len, Ok(run)) => run.len() as usize == *len && is_there(run),
        Event::TakeUpTo(len, Ok(run)) => {
            halves(*len).any(|half| half == run.len() as usize) && is_there(run)
        }
        Event::Take(len, Err(error)) | Event::TakeUpTo(len, Err(error)) => {
            *error == ChunkError::Exhausted { len: *len }
        }
        _ => true,
    }
}

fn is_linearizable(records: &[Record]) -> bool {
    let decisive = records.iter().filter(|record| {
        record.taken().is_some()
            || matches!(record.event, Event::Free { .. } | Event::Counted { .. })
    });
    let mut moments: Vec<_> = decisive
        .enumerate()
        .flat_map(|(process, record)| {
            [
                (record.call, process, Action::Call(record.event.clone())),
                (
                    record.response,
                    process,
                    Action::Response(record.event.clone()),
                ),
            ]
        })
        .collect();
    if moments.is_empty() {
        return true;
    }
    moments.sort_by_key(|(moment, ..)| *moment);
    let actions = moments
        .into_iter()
        .map(|(_, process, action)| (process, action))
        .collect();
    WGLChecker::<Set>::is_linearizable(History::from_actions(actions))
}

#[cfg(test)]
mod tests {
    use super::super::records::{frees, record, run, takes};
    use super::*;

    const STRICT: Promise = Promise {
        keeps: 0,
        shrinks: false,
    };

    fn counted(span: (u64, u64), in_use: usize, kept: usize) -> Record {
        record(0, span, Event::Counted { in_use, kept })
    }

    fn fault(history: &[Record]) -> Option<Fault> {
        let checked = check(history.to_vec(), STRICT, &[]);
        checked.err().map(|violation| violation.fault)
    }

    #[test]
    fn one_call_after_another_is_explained() {
        let history = [
            takes(0, (0, 1), run(0, 40)),
            takes(0, (2, 3), run(40, 24)),
            counted((4, 5), 64, 0),
            frees(0, (6, 7), run(0, 40), true),
            takes(0, (8, 9), run(7, 33)),
            counted((10, 11), 57, 0),
        ];
        assert_eq!(fault(&history), None);
    }

    #[test]
    fn a_chunk_that_is_taken_while_it_is_given_back_may_be_taken_after_it() {
        let history = |taking| {
            [
                takes(0, (0, 1), run(0, 2)),
                frees(1, (3, 8), run(0, 2), true),
                takes(2, taking, run(1, 1)),
            ]
        };
        assert_eq!(fault(&history((2, 4))), None);
        assert_eq!(fault(&history((9, 10))), None);
        let before = [
            takes(0, (0, 1), run(0, 2)),
            takes(2, (2, 3), run(1, 1)),
            frees(1, (4, 8), run(0, 2), true),
        ];
        assert_eq!(fault(&before), Some(Fault::NoOrder));
    }

    #[test]
    fn a_chunk_given_out_twice_is_found() {
        let history = [takes(1, (0, 3), run(0, 8)), takes(2, (1, 2), run(7, 1))];
        assert_eq!(fault(&history), Some(Fault::NoOrder));
    }

    #[test]
    fn a_free_that_is_refused_is_found() {
        let refused = Event::Free {
            run: run(0, 3),
            intact: true,
            answer: Err(ChunkError::NotInUse { run: run(0, 3) }),
        };
        let history = [takes(1, (0, 1), run(0, 3)), record(1, (2, 3), refused)];
        assert_eq!(fault(&history), Some(Fault::NoOrder));
    }

    #[test]
    fn a_wrong_count_is_found() {
        for (in_use, kept) in [(2, 0), (3, 1)] {
            let history = [takes(1, (0, 1), run(0, 3)), counted((2, 3), in_use, kept)];
            assert_eq!(fault(&history), Some(Fault::NoOrder));
        }
    }

    #[test]
    fn memory_that_changed_is_found() {
        let history = [
            takes(1, (0, 1), run(0, 3)),
            frees(1, (2, 3), run(0, 3), false),
        ];
        assert_eq!(fault(&history), Some(Fault::Memory(history[1].clone())));
    }

    #[test]
    fn answers_that_nothing_explains_are_found() {
        let error = |error| Event::Take(8, Err(error));
        for event in [
            Event::Take(4, Ok(run(0, 3))),
            Event::TakeUpTo(8, Ok(run(0, 3))),
            error(ChunkError::BadLength { len: 8 }),
            error(ChunkError::Exhausted { len: 4 }),
        ] {
            let history = [record(1, (0, 1), event)];
            assert_eq!(fault(&history), Some(Fault::Answer(history[0].clone())));
        }
        let elsewhere = vec![takes(1, (0, 1), run(64, 1))];
        assert!(check(elsewhere.clone(), STRICT, &[0]).is_err());
        assert!(check(elsewhere, STRICT, &[1]).is_ok());
    }

    #[test]
    fn a_wrong_refusal_is_found() {
        let refused = Event::Take(64, Err(ChunkError::Exhausted { len: 64 }));
        let history = [record(1, (0, 1), refused)];
        assert_eq!(fault(&history), Some(Fault::Refused(history[0].clone())));
    }
}
