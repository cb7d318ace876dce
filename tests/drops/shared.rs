//! Shared values whose `hash`, `eq` or `drop` panics while a call has others in hand, all of whose drops panic, too.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::resume_unwind;

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;

use crate::brittle::{ALWAYS, Brittle, Count, burns, ends, holds_nothing};

/// What judging two values does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judges {
    Well,
    HashPanics,
    EqPanics,
}

thread_local! {
    pub(crate) static JUDGES: Cell<Judges> = const { Cell::new(Judges::Well) };
}

/// A shared value.
#[derive(Debug)]
pub(crate) struct Judged(pub(crate) Brittle);

impl Hash for Judged {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if JUDGES.get() == Judges::HashPanics {
            resume_unwind(Box::new("the fuse"));
        }
        self.0.hash(state);
    }
}

impl PartialEq for Judged {
    fn eq(&self, other: &Self) -> bool {
        if JUDGES.get() == Judges::EqPanics {
            resume_unwind(Box::new("the fuse"));
        }
        self.0 == other.0
    }
}

impl Eq for Judged {}

type Others = (Brittle, [Brittle; 1]);

/// What calls are given.
struct Given<'a> {
    ant: Entity,
    count: &'a Count,
    value: Judged,
}

impl Given<'_> {
    fn others(&self) -> Others {
        (self.count.brittle(1), [self.count.brittle(2)])
    }

    fn dynamic(self, world: &World) -> DynamicBundle {
        let registry = world.registry();
        let (one, other) = self.others();
        DynamicBundle::new()
            .with(Value::new(registry, one).unwrap())
            .with(Value::new(registry, other).unwrap())
            .with(Value::shared(registry, self.value).unwrap())
    }
}

type Call = fn(&mut World, Given<'_>) -> Result<(), WorldError>;

/// Each at once; the last ones give entities that were there before a value.
const CALLS: [Call; 6] = [
    |world, given| world.create(given.others().shared(given.value)).map(drop),
    |world, given| {
        let bundles = std::iter::once(given.others().shared(given.value));
        world.create_batch(bundles).map(drop)
    },
    |world, given| {
        let bundle = given.dynamic(world);
        world.create_dynamic(bundle).map(drop)
    },
    |world, given| world.add(given.ant, given.others().shared(given.value)),
    |world, given| world.set_shared(given.ant, given.value),
    |world, given| {
        let change = world.matching::<With<u8>>().unwrap();
        change.set_shared(given.value).map(drop)
    },
];

type Record = fn(&mut Commands<'_>, &World, Given<'_>) -> Result<(), WorldError>;

const RECORDS: [Record; 5] = [
    |commands, _, given| {
        commands
            .create(given.others().shared(given.value))
            .map(drop)
    },
    |commands, _, given| {
        let bundles = std::iter::once(given.others().shared(given.value));
        commands.create_batch(bundles).map(drop)
    },
    |commands, world, given| commands.create_dynamic(given.dynamic(world)).map(drop),
    |commands, _, given| commands.add(given.ant, given.others().shared(given.value)),
    |commands, world, given| commands.add_dynamic(given.ant, given.dynamic(world)),
];

fn given(count: &Count, ant: Entity) -> Given<'_> {
    Given {
        ant,
        count,
        value: Judged(count.brittle(3)),
    }
}

#[test]
fn a_value_that_cannot_be_judged_leaves_nothing_of_a_call_whose_drops_panic() {
    holds_nothing(|| {
        let count = Count::default();
        for judges in [Judges::HashPanics, Judges::EqPanics] {
            for call in CALLS {
                let mut world = World::new();
                let ant = world.create((1_u8,)).unwrap();
                // So that there is one to be compared with.
                let known = world.create(().shared(Judged(count.brittle(3)))).unwrap();
                let all = given(&count, ant);
                JUDGES.set(judges);
                burns(ALWAYS, || drop(call(&mut world, all)));
                JUDGES.set(Judges::Well);
                assert_eq!((world.count(), count.get()), (2, 1));
                assert!(!world.has::<Brittle>(ant).unwrap());
                world.check().unwrap();
                world.destroy(known).unwrap();
                assert_eq!(count.get(), 0);
            }
        }
    });
}

#[test]
fn a_recorded_value_that_cannot_be_judged_leaves_nothing_of_a_call_whose_drops_panic() {
    holds_nothing(|| {
        let count = Count::default();
        for judges in [Judges::HashPanics, Judges::EqPanics] {
            for record in RECORDS {
                let mut world = World::new();
                let ant = world.create((1_u8,)).unwrap();
                let mut commands = world.commands();
                // A recorder compares with the last few; that it asks for a hash takes more.
                let few = if judges == Judges::EqPanics { 1 } else { 6 };
                for number in 3..3 + few {
                    let value = Judged(count.brittle(number));
                    commands.create(().shared(value)).unwrap();
                }
                let mut all = given(&count, ant);
                if judges == Judges::HashPanics {
                    all.value = Judged(count.brittle(9));
                }
                JUDGES.set(judges);
                burns(ALWAYS, || drop(record(&mut commands, &world, all)));
                JUDGES.set(Judges::Well);
                assert!(commands.is_empty());
                drop(commands);
                assert_eq!(world.flush().created, few as usize);
                assert_eq!(count.get(), few as isize);
                assert!(!world.has::<Brittle>(ant).unwrap());
                world.check().unwrap();
                drop(world);
                assert_eq!(count.get(), 0);
            }
        }
    });
}

#[test]
fn a_value_that_is_there_already_ends_quietly_and_the_call_is_done() {
    holds_nothing(|| {
        let count = Count::default();
        for call in CALLS {
            let mut world = World::new();
            let ant = world.create((1_u8,)).unwrap();
            let known = world.create(().shared(Judged(count.brittle(3)))).unwrap();
            let all = given(&count, ant);
            ends(ALWAYS, || call(&mut world, all).unwrap());
            let mut query = world.query::<Shared<Judged>, ()>().unwrap();
            assert_eq!(query.count(), 2);
            world.check().unwrap();
            world.destroy(known).unwrap();
            drop(world);
            assert_eq!(count.get(), 0);
        }
    });
}

#[test]
fn a_recorded_value_that_is_there_already_ends_quietly_and_the_call_is_done() {
    holds_nothing(|| {
        let count = Count::default();
        for record in RECORDS {
            let mut world = World::new();
            let ant = world.create((1_u8,)).unwrap();
            let mut commands = world.commands();
            let known = Judged(count.brittle(3));
            commands.create(().shared(known)).unwrap();
            let all = given(&count, ant);
            let mut done = Err(WorldError::Interrupted);
            ends(ALWAYS, || done = record(&mut commands, &world, all));
            done.unwrap();
            assert_eq!(count.get(), 3);
            drop(commands);
            assert!(world.flush().is_clean());
            let mut query = world.query::<Shared<Judged>, With<Brittle>>().unwrap();
            assert_eq!(query.count(), 1);
            world.check().unwrap();
            drop(world);
            assert_eq!(count.get(), 0);
        }
    });
}
