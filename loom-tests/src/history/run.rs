//! `Allocators`: runs programs and records what their calls answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use megachunk::entity::{DestroyReport, Entity, EntityAllocator};

use super::program::{Call, POOL, Pick};
use super::stage::{Part, Stage};
use super::{Event, Program, Record};

/// Histories that run on one allocator, one after the other, so that slots get old.
const HISTORIES_PER_ALLOCATOR: usize = 32;

/// Allocators of one kind that age: each runs some histories, then a fresh one takes its place.
#[derive(Debug)]
pub struct Allocators<A> {
    allocator: A,
    /// The version that each used slot had when the last history ended; all are dead.
    versions: HashMap<u32, u32>,
    left: usize,
}

impl<A: EntityAllocator> Default for Allocators<A> {
    fn default() -> Self {
        Self {
            allocator: A::fresh(),
            versions: HashMap::new(),
            left: HISTORIES_PER_ALLOCATOR,
        }
    }
}

impl<A: EntityAllocator> Allocators<A> {
    /// Runs `program` and gives what was recorded. Then destroys all that was created, so that the
    /// next history begins with dead slots.
    ///
    /// # Panics
    /// If the allocator is full, or does not count 0 in the end.
    pub fn run(&mut self, program: &Program) -> Vec<Record> {
        if self.left == 0 {
            *self = Self::default();
        }
        self.left -= 1;
        let mut records = self.record(program);
        self.bury(&records);
        let aged: HashMap<u32, u32> = records
            .iter()
            .filter_map(|record| self.versions.get_key_value(&record.entity.index()))
            .map(|(&index, &version)| (index, version))
            .collect();
        for record in records
            .iter()
            .filter(|record| record.event == Event::Created)
        {
            let version = self.versions.entry(record.entity.index()).or_default();
            *version = record.entity.version().max(*version);
        }
        records.extend(aged.into_iter().map(|(index, version)| Record {
            thread: 0,
            // The moments before all others.
            call: 0,
            response: 1,
            entity: Entity::new(index, version).expect("versions that were given out are odd"),
            event: Event::Aged(version),
        }));
        records
    }

    fn record(&self, program: &Program) -> Vec<Record> {
        let scene = Scene {
            allocator: &self.allocator,
            stage: Stage::new(),
            pool: [const { AtomicU64::new(0) }; POOL],
        };
        let mut records = Vec::new();
        let prepare = Call::CreateSlice {
            into: (0..POOL).collect(),
        };
        scene.perform(0, &prepare, |bare| bare(), &mut records);
        let freezes: Vec<_> = program.threads.iter().map(|thread| thread.freeze).collect();
        let played = scene.stage.play(&freezes, |part| scene.play(program, part));
        records.extend(played.into_iter().flatten());
        records
    }

    /// Destroys what a history left alive.
    fn bury(&self, records: &[Record]) {
        for record in records
            .iter()
            .filter(|record| record.event == Event::Created)
        {
            // Most are dead already; which, the records say.
            let _ = self.allocator.destroy(record.entity);
        }
        assert_eq!(
            self.allocator.count(),
            0,
            "all that was created is destroyed"
        );
    }
}

/// What the threads of one running history share.
struct Scene<'a, A> {
    allocator: &'a A,
    stage: Stage,
    pool: [AtomicU64; POOL],
}

impl<A: EntityAllocator> Scene<'_, A> {
    /// Makes the calls of one thread, and gives what they answered.
    fn play(&self, program: &Program, part: &Part<'_>) -> Vec<Record> {
        let mut records = Vec::new();
        part.make(&program.threads, program.seed, |call, around| {
            self.perform(part.thread, call, around, &mut records);
        });
        records
    }

    /// The handle, as the pool has it now.
    fn handle(&self, pick: Pick) -> Entity {
        let bits = self.pool[pick.from].load(Ordering::SeqCst);
        let entity = Entity::try_from_bits(bits).expect("the pool holds handles");
        if pick.ahead {
            Entity::new(entity.index(), entity.version().wrapping_add(2)).unwrap_or(entity)
        } else {
            entity
        }
    }

    /// Makes one call and records what it answered. `around` runs the bare call.
    fn perform(
        &self,
        thread: usize,
        call: &Call,
        around: impl FnOnce(&mut dyn FnMut()),
        records: &mut Vec<Record>,
    ) {
        let allocator = self.allocator;
        // The handles are chosen before the call begins, the pool is written after it ended.
        let (began, ended, answers) = match call {
            Call::Create { into } => {
                let (began, answer, ended) = self.stage.timed(around, || allocator.create());
                let entity = answer.expect("a history is far from full");
                self.pool[*into].store(entity.to_bits(), Ordering::SeqCst);
                (began, ended, vec![(entity, Event::Created)])
            }
            Call::CreateSlice { into } => {
                let mut out = vec![Entity::PLACEHOLDER; into.len()];
                let (began, answer, ended) = self
                    .stage
                    .timed(around, || allocator.create_slice(&mut out));
                answer.expect("a history is far from full");
                for (&into, entity) in into.iter().zip(&out) {
                    self.pool[into].store(entity.to_bits(), Ordering::SeqCst);
                }
                (
                    began,
                    ended,
                    out.iter().map(|&entity| (entity, Event::Created)).collect(),
                )
            }
            Call::Destroy(pick) => {
                let entity = self.handle(*pick);
                let (began, answer, ended) = self.stage.timed(around, || allocator.destroy(entity));
                let event = Event::Destroy(answer.map_err(|error| error.fault));
                (began, ended, vec![(entity, event)])
            }
            Call::DestroySlice(picks) => {
                let batch: Vec<Entity> = picks.iter().map(|&pick| self.handle(pick)).collect();
                let (began, report, ended) =
                    self.stage.timed(around, || allocator.destroy_slice(&batch));
                (began, ended, answers_of(&batch, &report))
            }
            Call::Exists(pick) => {
                let entity = self.handle(*pick);
                let (began, answer, ended) = self.stage.timed(around, || allocator.exists(entity));
                (began, ended, vec![(entity, Event::Exists(answer))])
            }
            Call::Locate(pick) => {
                let entity = self.handle(*pick);
                let (began, answer, ended) = self.stage.timed(around, || allocator.locate(entity));
                let event = Event::Locate(answer.map_err(|error| error.fault));
                (began, ended, vec![(entity, event)])
            }
            Call::Publish(pick, place) => {
                let entity = self.handle(*pick);
                let (began, answer, ended) = self
                    .stage
                    .timed(around, || allocator.publish(entity, *place));
                let event = Event::Publish(*place, answer.map_err(|error| error.fault));
                (began, ended, vec![(entity, event)])
            }
        };
        records.extend(answers.into_iter().map(|(entity, event)| Record {
            thread,
            call: began,
            response: ended,
            entity,
            event,
        }));
    }
}

/// What the report of a batch says of each of its handles.
fn answers_of(batch: &[Entity], report: &DestroyReport) -> Vec<(Entity, Event)> {
    assert_eq!(
        report.destroyed + report.refused.len(),
        batch.len(),
        "each handle has one answer"
    );
    let mut answers: Vec<_> = batch
        .iter()
        .map(|&entity| (entity, Event::Destroy(Ok(()))))
        .collect();
    for (position, error) in &report.refused {
        assert_eq!(
            error.entity, batch[*position],
            "a refusal names the handle at its position"
        );
        answers[*position].1 = Event::Destroy(Err(error.fault));
    }
    answers
}
