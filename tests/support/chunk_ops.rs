//! Operations on a chunk allocator, and the model that says what each of them must do.
//!
//! One run is one thread's history (other threads work only while it waits for them). The proptest
//! state machine in this folder and the fuzz target `chunk_allocator` make up the operations; both
//! call [`run`].
//!
//! The model is the set of chunks in use. Each run is stamped at both ends of each of its chunks,
//! and must still hold its stamp when it is given back.

#[path = "elsewhere.rs"]
mod elsewhere;

use std::collections::HashSet;
use std::ops::Range;

use elsewhere::on_some_thread;
use megachunk::chunk::reference::{MegachunkDots, Naive};
use megachunk::chunk::{CHUNK_BYTES, ChunkAllocator, ChunkError, Run};

/// One call. A `pick` is taken modulo the number of runs in use, or given back so far.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChunkOp {
    /// Takes a run. Lengths from 0 to 255: what is beyond 64 must be refused.
    Allocate { len: u8 },
    /// Takes a run on a thread that ends afterwards.
    AllocateElsewhere { len: u8 },
    /// Gives a run back.
    Free { pick: u8 },
    /// Gives a run back on a thread that ends afterwards.
    FreeElsewhere { pick: u8 },
    /// Gives back a run that was given back before, if not all its chunks are in use again.
    FreeAgain { pick: u8 },
    /// Gives back all runs, first taken first or last taken first.
    FreeAll { backwards: bool },
    /// Gives what the thread keeps for itself to everybody.
    Flush,
}

/// Chunks in use at once at most, so that a run of operations stays within 64 MiB.
const LIMIT: usize = 4_096;

/// An allocator under test.
pub(crate) trait Subject: ChunkAllocator {}

impl Subject for Naive {}
impl Subject for MegachunkDots {}

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
    for some in ops.chunks(8) {
        some.iter().for_each(|&op| machine.step(op));
        // Now and then: an allocator may have to look at all its masks.
        assert_eq!(
            machine.subject.in_use(),
            machine.in_use.len(),
            "after {some:?}"
        );
    }
    machine.step(ChunkOp::FreeAll { backwards: false });
    assert_eq!(machine.subject.in_use(), 0);
}

struct Machine<S> {
    subject: S,
    in_use: HashSet<u32>,
    held: Vec<(Run, u64)>,
    given_back: Vec<Run>,
    stamps: u64,
}

impl<S: Subject> Machine<S> {
    fn step(&mut self, op: ChunkOp) {
        match op {
            ChunkOp::Allocate { len } => self.allocate(len, false),
            ChunkOp::AllocateElsewhere { len } => self.allocate(len, true),
            ChunkOp::Free { pick } => self.free_one(pick, false),
            ChunkOp::FreeElsewhere { pick } => self.free_one(pick, true),
            ChunkOp::FreeAgain { pick } => self.free_again(pick),
            ChunkOp::FreeAll { backwards } => {
                let mut held = std::mem::take(&mut self.held);
                if backwards {
                    held.reverse();
                }
                held.into_iter()
                    .for_each(|(run, stamp)| self.free(run, stamp, false));
            }
            ChunkOp::Flush => self.subject.flush(),
        }
    }

    fn allocate(&mut self, len: u8, elsewhere: bool) {
        if self.in_use.len() + len as usize > LIMIT {
            return;
        }
        let run = match on_some_thread(elsewhere, || self.subject.allocate(len as usize)) {
            Ok(run) => run,
            Err(ChunkError::BadLength { len: refused }) if !(1..=64).contains(&len) => {
                return assert_eq!(refused, len as usize);
            }
            Err(error) => panic!("{len} chunks were refused: {error}"),
        };
        assert_eq!(run.len(), u32::from(len));
        assert_eq!(
            Run::new(run.first(), run.len()),
            Some(run),
            "{run:?} is a valid run"
        );
        for chunk in chunks(run) {
            assert!(
                self.in_use.insert(chunk),
                "chunk {chunk} was in use already"
            );
        }
        self.stamps += 1;
        for word in self.words(run) {
            // SAFETY: the word lies in memory of a run in use, which is the machine's own.
            unsafe { word.write(self.stamps) };
        }
        self.held.push((run, self.stamps));
    }

    fn free_one(&mut self, pick: u8, elsewhere: bool) {
        if let Some(at) = (pick as usize).checked_rem(self.held.len()) {
            let (run, stamp) = self.held.swap_remove(at);
            self.free(run, stamp, elsewhere);
        }
    }

    fn free(&mut self, run: Run, stamp: u64, elsewhere: bool) {
        for word in self.words(run) {
            // SAFETY: the word lies in memory of a run in use, and `allocate` has written it.
            let held = unsafe { word.read() };
            assert_eq!(held, stamp, "somebody wrote into {run:?}");
        }
        // SAFETY: the run is in use, and `held` named it once.
        let result = on_some_thread(elsewhere, || unsafe { self.subject.free(run) });
        result.unwrap_or_else(|error| panic!("{run:?} was not taken back: {error}"));
        chunks(run).for_each(|chunk| assert!(self.in_use.remove(&chunk)));
        self.given_back.push(run);
    }

    fn free_again(&mut self, pick: u8) {
        let Some(at) = (pick as usize).checked_rem(self.given_back.len()) else {
            return;
        };
        let run = self.given_back[at];
        if chunks(run).all(|chunk| self.in_use.contains(&chunk)) {
            return;
        }
        // SAFETY: nobody uses the memory by this name. At least one of the chunks is not in use,
        // which the allocator is to see and to refuse.
        let result = unsafe { self.subject.free(run) };
        assert!(
            matches!(result, Err(ChunkError::NotInUse { run: refused }) if refused == run),
            "{run:?} was taken back twice"
        );
    }

    /// The first and the last word of each chunk of a run in use.
    fn words(&self, run: Run) -> impl Iterator<Item = *mut u64> + use<S> {
        let base = self.subject.base(run).as_ptr();
        (0..run.len() as usize).flat_map(move |chunk| {
            let first = base.wrapping_add(chunk * CHUNK_BYTES);
            [
                first.cast(),
                first.wrapping_add(CHUNK_BYTES - size_of::<u64>()).cast(),
            ]
        })
    }
}

fn chunks(run: Run) -> Range<u32> {
    run.first()..run.first() + run.len()
}
