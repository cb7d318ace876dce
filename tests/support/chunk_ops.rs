//! Operations on a chunk allocator, and the model that says what each of them must do.
//!
//! One run is one thread's history (other threads work only while it waits for them). The proptest
//! state machine in this folder and the fuzz target `chunk_allocator` make up the operations; both
//! call [`run`].
//!
//! The model is the set of chunks in use. Each run is stamped at both ends of each of its chunks,
//! and must still hold its stamp when it is given back. After each operation the allocator, if it can, looks at
//! itself: masks, memory, hints, caches, tickets, counts.

#[path = "chunk_subjects.rs"]
pub(crate) mod chunk_subjects;
#[path = "elsewhere.rs"]
mod elsewhere;

use std::collections::HashSet;
use std::ops::Range;

use elsewhere::on_some_thread;
use megachunk::chunk::{CHUNK_BYTES, ChunkError, Run};

pub(crate) use chunk_subjects::{Seam, Tickets};
use chunk_subjects::{Seen, Subject};

/// One call. A `pick` is taken modulo the number of runs in use, or given back so far.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChunkOp {
    /// Takes a run. Lengths from 0 to 255: what is beyond 64 must be refused.
    Allocate { len: u8 },
    /// Takes a run on a thread that ends afterwards.
    AllocateElsewhere { len: u8 },
    /// Takes the longest run that there is, halving from `len`.
    AllocateUpTo { len: u8 },
    /// Takes `count` chunks in some runs.
    AllocateMany { count: u8 },
    /// Gives a run back.
    Free { pick: u8 },
    /// Gives a run back on a thread that ends afterwards.
    FreeElsewhere { pick: u8 },
    /// Gives back a run that was given back before.
    FreeAgain { pick: u8 },
    /// Gives back all runs, first taken first or last taken first.
    FreeAll { backwards: bool },
    /// Gives what the thread keeps for itself to everybody.
    Flush,
    /// Gives unused memory back to the system.
    Trim,
    /// From now on the system refuses so many requests for memory, and so many returns.
    SystemRefuses { commits: u8, decommits: u8 },
}

/// Chunks in use at once at most, so that a run of operations stays within 16 MiB.
const LIMIT: usize = 1_024;

/// Runs `ops` on a fresh allocator and on the model.
///
/// # Panics
/// As soon as the two disagree.
pub(crate) fn run<S: Subject>(ops: &[ChunkOp]) {
    let mut machine = Machine {
        subject: S::fresh(),
        in_use: HashSet::new(),
        held: Vec::new(),
        given_back: Vec::new(),
        stamps: 0,
    };
    for some in ops.chunks(50) {
        // Not after each: it looks at all mega-chunks, which takes longer than the step.
        for few in some.chunks(5) {
            few.iter().for_each(|&op| machine.step(op));
            machine.subject.check();
        }
        // Now and then: references may look at every mask.
        assert_eq!(machine.subject.in_use(), machine.in_use.len(), "{some:?}");
        machine.subject.compare(&machine.in_use);
    }
    machine.step(ChunkOp::FreeAll { backwards: false });
    assert_eq!(machine.subject.in_use(), 0);
    machine.step(ChunkOp::Trim);
    machine.subject.check();
}

/// A run that was taken: its name for the allocator, and what was written there.
#[derive(Clone, Copy)]
struct Held<T> {
    run: Run,
    ticket: T,
    stamp: u64,
}

struct Machine<S: Subject> {
    subject: S,
    in_use: HashSet<u32>,
    held: Vec<Held<S::Ticket>>,
    given_back: Vec<Held<S::Ticket>>,
    stamps: u64,
}

impl<S: Subject> Machine<S> {
    fn step(&mut self, op: ChunkOp) {
        match op {
            ChunkOp::Allocate { len } => self.allocate(len, false),
            ChunkOp::AllocateElsewhere { len } => self.allocate(len, true),
            ChunkOp::AllocateUpTo { len } => self.allocate_up_to(len),
            ChunkOp::AllocateMany { count } => self.allocate_many(count),
            ChunkOp::Free { pick } => self.free_one(pick, false),
            ChunkOp::FreeElsewhere { pick } => self.free_one(pick, true),
            ChunkOp::FreeAgain { pick } => self.free_again(pick),
            ChunkOp::FreeAll { backwards } => {
                let mut held = std::mem::take(&mut self.held);
                if backwards {
                    held.reverse();
                }
                held.into_iter().for_each(|held| self.free(held, false));
            }
            ChunkOp::Flush => self.subject.flush(),
            ChunkOp::Trim => self.subject.trim(),
            ChunkOp::SystemRefuses { commits, decommits } => {
                self.subject.refuse(commits.into(), decommits.into());
            }
        }
    }

    fn allocate(&mut self, len: u8, elsewhere: bool) {
        if self.in_use.len() + len as usize > LIMIT {
            return;
        }
        let refusals = self.subject.refusals_left();
        let before = if refusals > 0 && !elsewhere {
            self.subject.masks()
        } else {
            Vec::new()
        };
        match on_some_thread(elsewhere, || self.subject.take(len as usize)) {
            Ok((run, ticket)) => {
                assert_eq!(run.len(), u32::from(len));
                self.taken(run, ticket);
            }
            Err(ChunkError::Refused { .. }) if self.subject.refusals_left() < refusals => {
                if !elsewhere {
                    assert_eq!(self.subject.masks(), before, "a refusal changed a mask");
                }
            }
            Err(error) => assert_bad_length(len, &error),
        }
    }

    fn allocate_up_to(&mut self, len: u8) {
        if self.in_use.len() + len as usize > LIMIT {
            return;
        }
        let refusals = self.subject.refusals_left();
        match self.subject.take_up_to(len as usize) {
            // So few are in use that a run of the whole length is left somewhere, if the system has memory for it.
            Ok((run, ticket)) => {
                let halves = (0..7).map(|times| u32::from(len) >> times);
                let shorter = self.subject.refusals_left() < refusals;
                assert!(
                    halves
                        .take(if shorter { 7 } else { 1 })
                        .any(|half| run.len() == half)
                );
                self.taken(run, ticket);
            }
            Err(ChunkError::Refused { .. }) if self.subject.refusals_left() < refusals => {}
            Err(error) => assert_bad_length(len, &error),
        }
    }

    fn allocate_many(&mut self, count: u8) {
        if self.in_use.len() + count as usize > LIMIT {
            return;
        }
        let refusals = self.subject.refusals_left();
        match self.subject.take_many(count as usize) {
            Ok(runs) => {
                let all: usize = runs.iter().map(|(run, _)| run.len() as usize).sum();
                assert_eq!(all, count as usize);
                runs.into_iter()
                    .for_each(|(run, ticket)| self.taken(run, ticket));
            }
            Err(ChunkError::Refused { .. }) if self.subject.refusals_left() < refusals => {
                assert_eq!(self.subject.in_use(), self.in_use.len(), "some stay taken");
            }
            Err(error) => panic!("{count} chunks were refused: {error}"),
        }
    }

    /// Enters a run that the allocator gave out.
    fn taken(&mut self, run: Run, ticket: S::Ticket) {
        assert_eq!(Run::new(run.first(), run.len()), Some(run), "a valid run");
        for chunk in chunks(run) {
            assert!(
                self.in_use.insert(chunk),
                "chunk {chunk} was in use already"
            );
        }
        self.stamps += 1;
        let stamp = self.stamps;
        for word in self.words(run) {
            // SAFETY: the word lies in memory of a run in use, which is the machine's own.
            unsafe { word.write(stamp) };
        }
        self.held.push(Held { run, ticket, stamp });
    }

    fn free_one(&mut self, pick: u8, elsewhere: bool) {
        if let Some(at) = (pick as usize).checked_rem(self.held.len()) {
            let held = self.held.swap_remove(at);
            self.free(held, elsewhere);
        }
    }

    fn free(&mut self, held: Held<S::Ticket>, elsewhere: bool) {
        let Held { run, ticket, stamp } = held;
        for word in self.words(run) {
            // SAFETY: the word lies in memory of a run in use, and `taken` has written it.
            let found = unsafe { word.read() };
            assert_eq!(found, stamp, "somebody wrote into {run:?}");
        }
        let result = on_some_thread(elsewhere, || self.subject.give(ticket));
        result.unwrap_or_else(|error| panic!("{run:?} was not taken back: {error}"));
        chunks(run).for_each(|chunk| assert!(self.in_use.remove(&chunk)));
        self.given_back.push(held);
    }

    fn free_again(&mut self, pick: u8) {
        let Some(at) = (pick as usize).checked_rem(self.given_back.len()) else {
            return;
        };
        let Held { run, ticket, .. } = self.given_back[at];
        let reused = chunks(run).all(|chunk| self.in_use.contains(&chunk));
        match S::SECOND_FREE_IS {
            Seen::Always => {}
            Seen::WhileFree if !reused => {}
            _ => return,
        }
        let result = self.subject.give(ticket);
        assert!(
            matches!(result, Err(ChunkError::NotInUse { run: refused } | ChunkError::StaleTicket { run: refused }) if refused == run),
            "{run:?} was taken back twice"
        );
    }

    /// The first and the last word of each chunk of a run in use.
    fn words(&self, run: Run) -> impl Iterator<Item = *mut u64> + use<S> {
        let base = self.subject.base(run).as_ptr();
        (0..run.len() as usize).flat_map(move |chunk| {
            let first = base.wrapping_add(chunk * CHUNK_BYTES);
            let last = first.wrapping_add(CHUNK_BYTES - size_of::<u64>());
            [first.cast(), last.cast()]
        })
    }
}

fn chunks(run: Run) -> Range<u32> {
    run.first()..run.first() + run.len()
}

/// No error is right for a length that there is, while the system refuses nothing.
fn assert_bad_length(len: u8, error: &ChunkError) {
    let said = matches!(error, ChunkError::BadLength { len: said } if *said == len as usize);
    assert!(
        said && !(1..=64).contains(&len),
        "{len} chunks were refused: {error}"
    );
}
