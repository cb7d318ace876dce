//! The recorders' operations, and what helpers do meanwhile.

use std::sync::Arc;

use megachunk::chunk::ChunkOptions;
use megachunk::entity::IndexOptions;
use megachunk::prelude::*;

use super::{Progress, Scenario, Subject};

/// A world that threads record for.
#[derive(Debug)]
pub struct Recorders {
    world: World,
}

type Position = [f32; 3];
#[derive(Clone, Copy, Debug)]
struct Asleep;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u32);
/// Asked for by the frozen thread first.
type Unknown = u128;

/// More entities than the first rows of a recorder, and a chunk of its own.
const MANY: u32 = 1_500;

impl Subject for Recorders {
    /// Entities that wait for a flush, and reserved ones.
    type Handles = Vec<Entity>;
    const ROOM: &'static str = "command";
    const NAME: &'static str = "recorders";

    fn fresh() -> Self {
        let (index, chunks) = (IndexOptions::new(), ChunkOptions::new());
        let universe = Universe::with(&index.huge_pages(false), &chunks.huge_pages(false));
        let universe = Arc::new(universe.expect("a stall test has address space"));
        Self {
            world: World::of(&universe).expect("the first world of a universe"),
        }
    }

    /// Entities; and no chunk and no entity may be lost.
    fn in_use(&self) -> i64 {
        let universe = self.world.universe();
        if let Err(error) = universe.check([&self.world]) {
            panic!("{error}");
        }
        universe.count() as i64
    }

    fn scenarios() -> Vec<Scenario<Self>> {
        vec![
            Scenario::new("open-and-close", Self::warm, |a, _| a.recorded(|_| 0)),
            Scenario::new(
                "create-first-ever",
                |_| (Vec::new(), 0),
                |a, _| a.recorded(|commands| create(commands, 1)),
            ),
            Scenario::new("create", Self::warm, |a, _| {
                a.recorded(|commands| create(commands, 1))
            }),
            Scenario::new("create-unknown", Self::warm, |a, _| {
                a.recorded(|commands| {
                    commands.create((Unknown::MAX,)).expect("far from full");
                    1
                })
            }),
            Scenario::new("create-new-chunk", Self::warm, |a, _| {
                a.recorded(|commands| create(commands, MANY))
            }),
            Scenario::new("create-batch-new-chunk", Self::warm, |a, _| {
                a.recorded(|commands| batch(commands, MANY))
            }),
            Scenario::new("create-shared", Self::warm, |a, _| {
                a.recorded(|commands| {
                    let bundle = ([0.0_f32; 3],).shared(Team(7));
                    commands.create(bundle).expect("far from full");
                    1
                })
            }),
            Scenario::new("build", Self::warm, |a, handles| {
                a.recorded(|commands| {
                    // A helper may be first.
                    let _ = commands.build(handles[0], ([0.0_f32; 3],));
                    0
                })
            }),
            Scenario::new("get", Self::warm, |a, _| {
                a.recorded(|commands| {
                    let new = commands.create(([1.0_f32; 3],));
                    let new = new.expect("far from full");
                    assert!(commands.get::<Position>(new).is_ok());
                    1
                })
            }),
            Scenario::new("change", Self::warm, |a, handles| {
                a.recorded(|commands| changes(commands, handles))
            }),
            Scenario::new("defer", Self::warm, |a, handles| {
                a.recorded(|commands| {
                    let entity = handles[1];
                    commands.defer(move |world| _ = world.destroy(entity));
                    0
                })
            }),
        ]
    }

    fn help(&self, helper: usize, handles: &Vec<Entity>, progress: &Progress) -> i64 {
        let mut created = 0;
        for round in 0..4 {
            created += progress.operation(|| self.recorded(|commands| create(commands, 1)));
            created += progress.batch(|| {
                self.recorded(|commands| batch(commands, MANY) + changes(commands, handles))
            });
            // Two at once, and the first one ends first.
            let mut one = progress.operation(|| self.world.commands());
            let mut two = progress.operation(|| self.world.commands());
            created += progress.batch(|| create(&mut one, 40) + create(&mut two, 40));
            for &entity in handles {
                progress.operation(|| one.destroy(entity));
                let _ = progress.operation(|| two.set(entity, [round as f32; 3]));
                progress.operation(|| one.exists(entity));
            }
            if let Some(&reserved) = handles.get(helper) {
                let _ = progress.operation(|| one.build(reserved, (Asleep,)));
            }
            progress.operation(move || drop(one));
            progress.operation(move || drop(two));
        }
        created
    }
}

fn create(commands: &mut Commands<'_>, count: u32) -> i64 {
    for n in 0..count {
        let bundle = ([n as f32; 3], [0.0_f32; 16]);
        commands
            .create(bundle)
            .expect("a stall test is far from full");
    }
    count.into()
}

fn batch(commands: &mut Commands<'_>, count: u32) -> i64 {
    let bundles = (0..count).map(|n| ([n as f32; 16], Asleep));
    let batch = commands.create_batch(bundles);
    batch.expect("a stall test is far from full").len() as i64
}

fn changes(commands: &mut Commands<'_>, handles: &[Entity]) -> i64 {
    for &entity in handles {
        let changes = [
            commands.add(entity, ([0.0_f32; 16], Asleep)),
            commands.set(entity, [2.0_f32; 3]),
            commands.remove::<(Asleep,)>(entity),
            commands.swap::<(Asleep,), _>(entity, ([1.0_f32; 16],)),
            commands.set_shared(entity, Team(3)),
        ];
        assert!(changes.iter().all(Result::is_ok));
        commands.destroy(entity);
    }
    0
}

impl Recorders {
    /// Records, and closes the recorder; how many entities more there are.
    fn recorded(&self, record: impl FnOnce(&mut Commands<'_>) -> i64) -> i64 {
        record(&mut self.world.commands())
    }

    /// The thread has recorded before: two reserved entities, and some that wait.
    fn warm(&self) -> (Vec<Entity>, i64) {
        let mut commands = self.world.commands();
        let mut handles: Vec<Entity> = (0..2)
            .map(|_| commands.reserve().expect("a stall test is far from full"))
            .collect();
        handles.extend((0..5).map(|n| {
            let bundle = ([n as f32; 3], [0.0_f32; 16]);
            commands
                .create(bundle)
                .expect("a stall test is far from full")
        }));
        changes(&mut commands, &handles);
        let count = handles.len() as i64;
        (handles, count)
    }
}
