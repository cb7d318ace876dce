//! The entity allocators' operations, and what helpers do meanwhile.

use megachunk::entity::{Entity, EntityAllocator, Place};
use megachunk::sync::geometry::BLOCK_SLOTS;

use super::{Progress, Scenario, Subject};

/// An entity allocator.
#[derive(Debug)]
pub struct Entities<A>(pub A);

const BLOCK: usize = BLOCK_SLOTS as usize;
const WORD: usize = 64;

impl<A: EntityAllocator + 'static> Subject for Entities<A> {
    type Handles = Vec<Entity>;
    const ROOM: &'static str = "entity";
    const NAME: &'static str = A::NAME;

    fn fresh() -> Self {
        Self(A::fresh())
    }

    fn in_use(&self) -> i64 {
        self.0.count() as i64
    }

    fn scenarios() -> Vec<Scenario<Self>> {
        let create = |a: &Self, _: &Vec<Entity>| a.create_n(1).len() as i64;
        let batch = |a: &Self, _: &Vec<Entity>| a.create_n(64).len() as i64;
        let destroy = |a: &Self, handles: &Vec<Entity>| a.destroy_one(handles[0]);
        // More than any cache keeps, so that it is emptied in between.
        let destroy_50 = |a: &Self, handles: &Vec<Entity>| {
            handles[..50]
                .iter()
                .map(|&entity| a.destroy_one(entity))
                .sum::<i64>()
        };
        let destroy_all = |a: &Self, handles: &Vec<Entity>| a.destroy_all(handles);
        vec![
            Scenario::new("create-first-ever", |_| (Vec::new(), 0), create),
            Scenario::new("create", |a| a.prepared(10), create),
            Scenario::new("create-new-word", |a| a.prepared_in_two(2 * WORD), create),
            Scenario::new("create-new-block", |a| a.prepared(BLOCK), create),
            Scenario::new(
                "create-from-freed",
                |a| a.prepared_and_freed(30, 20),
                create,
            ),
            Scenario::new("create-batch-first-ever", |_| (Vec::new(), 0), batch),
            Scenario::new("create-batch", |a| a.prepared(10), batch),
            Scenario::new("create-batch-2-blocks", |a| a.prepared(BLOCK - 32), batch),
            Scenario::new("create-batch-thinly", |a| a.prepared_thinly(0), batch),
            Scenario::new(
                "create-batch-thinly-and-kept",
                |a| a.prepared_thinly(20),
                batch,
            ),
            Scenario::new("destroy", |a| a.prepared(10), destroy),
            Scenario::new("destroy-50-one-by-one", |a| a.prepared(100), destroy_50),
            Scenario::new("destroy-stale", |a| a.prepared_stale(), destroy),
            Scenario::new("destroy-batch", |a| a.prepared(100), destroy_all),
            Scenario::new(
                "destroy-batch-2-blocks",
                |a| a.prepared_last(BLOCK + 32, 64),
                destroy_all,
            ),
            Scenario::new(
                "destroy-batch-scattered",
                |a| a.prepared_scattered(),
                destroy_all,
            ),
            Scenario::new(
                "destroy-batch-shuffled",
                |a| a.prepared_shuffled(),
                destroy_all,
            ),
            Scenario::new(
                "exists",
                |a| a.prepared(10),
                |a, handles| {
                    a.0.exists(handles[0]);
                    0
                },
            ),
            Scenario::new(
                "locate",
                |a| a.prepared(10),
                |a, handles| {
                    let _ = a.0.locate(handles[0]);
                    0
                },
            ),
            Scenario::new(
                "publish",
                |a| a.prepared(10),
                |a, handles| {
                    let _ = a.0.publish(handles[0], place(1));
                    0
                },
            ),
            Scenario::new(
                "flush-ids",
                |a| a.prepared_and_freed(70, 60),
                |a, _| {
                    a.0.flush();
                    0
                },
            ),
        ]
    }

    fn help(&self, helper: usize, handles: &Vec<Entity>, progress: &Progress) -> i64 {
        let a = &self.0;
        let mut own: Vec<Entity> = (0..WORD + 6)
            .map(|_| progress.operation(|| self.create_n(1)[0]))
            .collect();
        own.extend(progress.batch(|| self.create_n(300)));
        // The very entities that the frozen thread works on.
        for &entity in handles.iter().take(100) {
            progress.operation(|| a.exists(entity));
            let _ = progress.operation(|| a.locate(entity));
            let _ = progress.operation(|| a.publish(entity, place(2)));
        }
        let mut created = own.len() as i64;
        if helper == 0 {
            for &entity in handles.iter().take(100) {
                created += progress.operation(|| self.destroy_one(entity));
            }
        } else {
            created += progress.batch(|| self.destroy_all(handles));
        }
        let (singly, at_once) = own.split_at(own.len() / 2);
        for &entity in singly {
            created += progress.operation(|| self.destroy_one(entity));
        }
        created += progress.batch(|| self.destroy_all(at_once));
        // More than a block, so that no block is left out.
        let many = progress.batch(|| self.create_n(BLOCK + 100));
        created += many.len() as i64;
        created += progress.batch(|| self.destroy_all(&many));
        progress.batch(|| a.count());
        progress.batch(|| a.flush());
        created + progress.operation(|| self.create_n(1)).len() as i64
    }
}

fn place(row: u32) -> Place {
    Place::new(7, row).expect("chunk and row are in range")
}

impl<A: EntityAllocator> Entities<A> {
    fn create_n(&self, count: usize) -> Vec<Entity> {
        if count == 1 {
            return vec![self.0.create().expect("a stall test is far from full")];
        }
        let mut out = vec![Entity::PLACEHOLDER; count];
        self.0
            .create_slice(&mut out)
            .expect("a stall test is far from full");
        out
    }

    fn destroy_one(&self, entity: Entity) -> i64 {
        if self.0.destroy(entity).is_ok() {
            -1
        } else {
            0
        }
    }

    fn destroy_all(&self, entities: &[Entity]) -> i64 {
        -(self.0.destroy_slice(entities).destroyed as i64)
    }

    /// `count` entities, all of them handles.
    fn prepared(&self, count: usize) -> (Vec<Entity>, i64) {
        (self.create_n(count), count as i64)
    }

    /// `count` entities in two calls of as many, all of them handles: what one call claimed beyond its
    /// needs, the other one uses up.
    fn prepared_in_two(&self, count: usize) -> (Vec<Entity>, i64) {
        let mut handles = self.create_n(count / 2);
        handles.extend(self.create_n(count / 2));
        (handles, count as i64)
    }

    /// `count` entities, the last `handles` of them handles.
    fn prepared_last(&self, count: usize, handles: usize) -> (Vec<Entity>, i64) {
        (
            self.create_n(count).split_off(count - handles),
            count as i64,
        )
    }

    /// `count` entities, the last `freed` of them destroyed one by one, the others handles.
    fn prepared_and_freed(&self, count: usize, freed: usize) -> (Vec<Entity>, i64) {
        let mut handles = self.create_n(count);
        for entity in handles.split_off(count - freed) {
            self.destroy_one(entity);
        }
        (handles, (count - freed) as i64)
    }

    /// Two spans of entities, of which every 37th is gone, for everybody; and the last `kept` ones, for the thread itself.
    fn prepared_thinly(&self, kept: usize) -> (Vec<Entity>, i64) {
        let mut handles = self.create_n(4_096);
        let dying = |at: usize| at.is_multiple_of(37) || at >= 4_096 - kept;
        for (_, &entity) in handles
            .iter()
            .enumerate()
            .filter(|&(at, _)| at.is_multiple_of(37))
        {
            self.destroy_one(entity);
        }
        self.0.flush();
        for at in (4_096 - kept..4_096).filter(|at| !at.is_multiple_of(37)) {
            self.destroy_one(handles[at]);
        }
        let mut at = 0;
        handles.retain(|_| {
            at += 1;
            !dying(at - 1)
        });
        let living = handles.len() as i64;
        (handles, living)
    }

    /// A destroyed entity, and one that lives in its slot or elsewhere.
    fn prepared_stale(&self) -> (Vec<Entity>, i64) {
        let stale = self.create_n(1)[0];
        self.destroy_one(stale);
        (vec![stale, self.create_n(1)[0]], 1)
    }

    /// A hundred entities in no order.
    fn prepared_shuffled(&self) -> (Vec<Entity>, i64) {
        let all = self.create_n(100);
        let handles = (0..100).map(|at| all[at * 37 % 100]).collect();
        (handles, 100)
    }

    /// One entity in 37 of a thousand, the last first.
    fn prepared_scattered(&self) -> (Vec<Entity>, i64) {
        let all = self.create_n(1_000);
        (
            all.iter().rev().step_by(37).copied().collect(),
            all.len() as i64,
        )
    }
}
