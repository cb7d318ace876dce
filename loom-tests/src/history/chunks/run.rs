//! `Histories`: runs programs over chunks and records what their calls answered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use megachunk::chunk::{CHUNK_BYTES, ChunkAllocator, MEGACHUNK_CHUNKS, MEGACHUNKS, Run};

use super::super::stage::{Part, Stage};
use super::program::{Call, POOL};
use super::{Event, Program, Record, Subject, Violation, check};

/// Histories that run on one allocator, one after the other, so that its hints get old.
const HISTORIES_PER_ALLOCATOR: usize = 512;

/// Allocators of one kind that age: each runs some histories, then a fresh one takes its place.
pub struct Histories<S: Subject> {
    allocator: S::Allocator,
    /// Allocators before this one.
    generation: usize,
    left: usize,
}

impl<S: Subject> std::fmt::Debug for Histories<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histories")
            .field("allocator", &S::NAME)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

impl<S: Subject> Default for Histories<S> {
    fn default() -> Self {
        Self::new(0)
    }
}

impl<S: Subject> Histories<S> {
    fn new(generation: usize) -> Self {
        let allocator = S::set_up();
        let room = room::<S>(generation);
        if !room.is_empty() {
            let whole = || allocator.allocate(MEGACHUNK_CHUNKS).expect("it is fresh");
            let all: Vec<Run> = (0..MEGACHUNKS).map(|_| whole()).collect();
            for run in all {
                if room.contains(&run.megachunk()) {
                    // SAFETY: taken above, given back once, never used.
                    unsafe { allocator.free(run) }.expect("it is in use");
                }
            }
        }
        Self {
            allocator,
            generation,
            left: HISTORIES_PER_ALLOCATOR,
        }
    }

    /// Runs `program`, gives all back that it took, and asks whether that is a history that the documentation
    /// allows.
    ///
    /// # Errors
    /// Why it does not.
    pub fn run(&mut self, program: &Program) -> Result<(), Violation> {
        if self.left == 0 {
            *self = Self::new(self.generation + 1);
        }
        self.left -= 1;
        check(self.record(program), S::PROMISE, room::<S>(self.generation))
    }

    fn record(&self, program: &Program) -> Vec<Record> {
        let room = room::<S>(self.generation);
        let scene = Scene::<S> {
            allocator: &self.allocator,
            stage: Stage::new(),
            pool: [const { Mutex::new(None) }; POOL],
            aside: Mutex::default(),
            taken_before: match room {
                [] => 0,
                room => (MEGACHUNKS - room.len()) * MEGACHUNK_CHUNKS,
            },
        };
        let mut records = scene.prepare(program);
        let freezes: Vec<_> = program.threads.iter().map(|thread| thread.freeze).collect();
        let played = scene.stage.play(&freezes, |part| scene.play(program, part));
        for (thread, (of_thread, ended)) in (1..).zip(played) {
            records.extend(of_thread);
            records.push(Record {
                thread,
                call: ended,
                response: scene.stage.now(),
                event: Event::End,
            });
        }
        scene.end(&mut records);
        records
    }
}

/// The mega-chunks that are not taken from the beginning, by an allocator's number; all, if there are none.
fn room<S: Subject>(generation: usize) -> &'static [u32] {
    match S::ROOMS.len() {
        0 => &[],
        rooms => S::ROOMS[generation % rooms],
    }
}

/// A run in somebody's hands.
#[derive(Clone, Copy, Debug)]
struct Held {
    run: Run,
    /// What its owner wrote there, with each chunk's number: the moment at which it was taken.
    mark: u64,
}

/// What the threads of one running history share.
struct Scene<'a, S: Subject> {
    allocator: &'a S::Allocator,
    stage: Stage,
    /// What threads pass each other.
    pool: [Mutex<Option<Held>>; POOL],
    /// What stays taken to the end.
    aside: Mutex<Vec<Held>>,
    /// Chunks that are taken before any history.
    taken_before: usize,
}

impl<S: Subject> Scene<'_, S> {
    /// Takes what the program begins with, on this thread.
    fn prepare(&self, program: &Program) -> Vec<Record> {
        let mut records = Vec::new();
        let bare = |bare: &mut dyn FnMut()| bare();
        let whole: Vec<_> = (0..S::WHOLE)
            .filter_map(|_| self.take_unmarked(0, MEGACHUNK_CHUNKS, bare, &mut records))
            .collect();
        let held = program.held % S::WHOLE;
        for (number, (call, run)) in whole.into_iter().enumerate() {
            if number < held {
                let held = Held { run, mark: call };
                self.mark(held);
                self.set_aside(held);
            } else {
                // As it was: to write to each of so many takes longer than all the rest.
                self.free_intact(0, run, true, bare, &mut records);
            }
        }
        for &len in &program.fill {
            let filling = self.take_up_to(0, len, bare, &mut records);
            filling.into_iter().for_each(|held| self.set_aside(held));
        }
        for (into, &len) in program.pool.iter().enumerate() {
            let taken = self.take(0, len, bare, &mut records);
            self.put(into, taken);
        }
        self.perform(0, &Call::Flush, bare, &mut records);
        records
    }

    /// Makes the calls of one thread; what they answered, and when the last one was over.
    fn play(&self, program: &Program, part: &Part<'_>) -> (Vec<Record>, u64) {
        let mut records = Vec::new();
        part.make(&program.threads, program.seed, |call, around| {
            self.perform(part.thread, call, around, &mut records);
        });
        (records, self.stage.now())
    }

    /// Counts what is in use, gives all back, and counts again.
    fn end(&self, records: &mut Vec<Record>) {
        self.count(records);
        let mut left: Vec<Held> = (0..POOL).filter_map(|from| self.pick(from)).collect();
        left.append(&mut self.aside.lock().unwrap_or_else(PoisonError::into_inner));
        for held in left {
            self.free(0, held, |bare| bare(), records);
        }
        self.perform(0, &Call::Flush, |bare| bare(), records);
        self.count(records);
    }

    /// Makes one call and records what it answered. `around` runs the bare call.
    fn perform(
        &self,
        thread: usize,
        call: &Call,
        around: impl FnOnce(&mut dyn FnMut()),
        records: &mut Vec<Record>,
    ) {
        match *call {
            Call::Take { len, into } => {
                let taken = self.take(thread, len, around, records);
                self.put(into, taken);
            }
            Call::TakeUpTo { len, into } => {
                let taken = self.take_up_to(thread, len, around, records);
                self.put(into, taken);
            }
            Call::Free { from } => match self.pick(from) {
                Some(held) => self.free(thread, held, around, records),
                // Nothing to give back: who is to be frozen here has come to the end of it.
                None => around(&mut || ()),
            },
            Call::Flush => {
                let flush = || self.allocator.flush();
                let (call, (), response) = self.stage.timed(around, flush);
                records.push(record(thread, (call, response), Event::Flush));
            }
            Call::Trim => {
                let (call, (), response) = self.stage.timed(around, || {
                    S::trim(self.allocator);
                    self.allocator.flush();
                });
                records.push(record(thread, (call, response), Event::Trim));
            }
        }
    }

    fn take(
        &self,
        thread: usize,
        len: usize,
        around: impl FnOnce(&mut dyn FnMut()),
        records: &mut Vec<Record>,
    ) -> Option<Held> {
        let (mark, run) = self.take_unmarked(thread, len, around, records)?;
        let held = Held { run, mark };
        self.mark(held);
        Some(held)
    }

    /// Takes a run without writing there; when that began.
    fn take_unmarked(
        &self,
        thread: usize,
        len: usize,
        around: impl FnOnce(&mut dyn FnMut()),
        records: &mut Vec<Record>,
    ) -> Option<(u64, Run)> {
        let take = || self.allocator.allocate(len);
        let (call, answer, response) = self.stage.timed(around, take);
        let run = answer.as_ref().ok().copied();
        records.push(record(thread, (call, response), Event::Take(len, answer)));
        Some((call, run?))
    }

    fn take_up_to(
        &self,
        thread: usize,
        len: usize,
        around: impl FnOnce(&mut dyn FnMut()),
        records: &mut Vec<Record>,
    ) -> Option<Held> {
        let take = || S::allocate_up_to(self.allocator, len);
        let (call, answer, response) = self.stage.timed(around, take);
        let run = answer.as_ref().ok().copied();
        let event = Event::TakeUpTo(len, answer);
        records.push(record(thread, (call, response), event));
        let held = Held {
            run: run?,
            mark: call,
        };
        self.mark(held);
        Some(held)
    }

    fn free(
        &self,
        thread: usize,
        held: Held,
        around: impl FnOnce(&mut dyn FnMut()),
        records: &mut Vec<Record>,
    ) {
        let intact = self.marks(held).all(|(word, mark)| {
            // Ordering: Relaxed: what was written came with the run, by the pool's lock.
            word.load(Ordering::Relaxed) == mark
        });
        self.free_intact(thread, held.run, intact, around, records);
    }

    /// Gives a run back whose memory was `intact`.
    fn free_intact(
        &self,
        thread: usize,
        run: Run,
        intact: bool,
        around: impl FnOnce(&mut dyn FnMut()),
        records: &mut Vec<Record>,
    ) {
        // SAFETY: a run is in one place of this history only, from which it was taken, and not used afterwards.
        let free = || unsafe { self.allocator.free(run) };
        let (call, answer, response) = self.stage.timed(around, free);
        let event = Event::Free {
            run,
            intact,
            answer,
        };
        records.push(record(thread, (call, response), event));
    }

    fn count(&self, records: &mut Vec<Record>) {
        let count = || (self.allocator.in_use(), S::kept(self.allocator));
        let (call, (in_use, kept), response) = self.stage.timed(|bare| bare(), count);
        let event = Event::Counted {
            in_use: in_use.wrapping_sub(self.taken_before),
            kept,
        };
        records.push(record(0, (call, response), event));
    }

    /// Writes to the memory of a run.
    fn mark(&self, held: Held) {
        for (word, mark) in self.marks(held) {
            word.store(mark, Ordering::Relaxed);
        }
    }

    /// The first word of each chunk of a run, and what its owner writes there.
    fn marks(&self, held: Held) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let base = self.allocator.base(held.run).cast::<u8>();
        (0..held.run.len()).map(move |chunk| {
            // SAFETY: the run is in use and so long, and its memory aligned. All who hold it use these words by
            // atomic accesses: if there were two, which is what is looked for, that were no data race.
            let word = unsafe {
                base.add(chunk as usize * CHUNK_BYTES)
                    .cast::<AtomicU64>()
                    .as_ref()
            };
            (word, held.mark << 32 | u64::from(held.run.first() + chunk))
        })
    }

    /// Takes a run from the pool: the first from this place on.
    fn pick(&self, from: usize) -> Option<Held> {
        (0..POOL).find_map(|step| {
            let place = &self.pool[(from + step) % POOL];
            place.lock().unwrap_or_else(PoisonError::into_inner).take()
        })
    }

    /// Puts a run into the pool. What was there stays taken.
    fn put(&self, into: usize, taken: Option<Held>) {
        let Some(held) = taken else { return };
        let place = self.pool[into].lock();
        let before = place.unwrap_or_else(PoisonError::into_inner).replace(held);
        before.into_iter().for_each(|held| self.set_aside(held));
    }

    fn set_aside(&self, held: Held) {
        let aside = self.aside.lock();
        aside.unwrap_or_else(PoisonError::into_inner).push(held);
    }
}

fn record(thread: usize, (call, response): (u64, u64), event: Event) -> Record {
    Record {
        thread,
        call,
        response,
        event,
    }
}
