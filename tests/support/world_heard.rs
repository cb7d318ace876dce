//! Observers of the worlds of a run: what they are told, and what they must be told.
//!
//! An *ear* is a kind with a condition that its entities must meet. What must be heard of a step is the difference
//! between the naive worlds before and after it: who is new is created, who is gone is destroyed, a kind that came or went
//! is added or removed, and who is in the other world now was destroyed here and created there, by a move. Set is what is
//! created or added, and what a bundle brings again, of which the naive world takes note. Of values that are written, of
//! switches, compaction and the end of a world nothing is heard. Values are those after what came,
//! and before what goes. A call is one change: it calls no ear twice for one kind of change.
//!
//! What a flush does is many changes: the naive flush notes each as it makes it, also where a `drop` panics. Of one that
//! could not make something `world_interrupted.rs` says what must be heard. Where users' code panics in a call, what was to go
//! and has stayed is told as come again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;
use megachunk::query::QueryData;

use crate::world_fragments::{Counted, Guard, Kind, Page, Small, Switch, Tag, Team, Text, Weather};
use crate::world_interrupted::folds;
use crate::world_machine::{Machine, WORLDS};
use crate::world_more::MoreOp;
use crate::world_naive::Naive;
use crate::world_ops::WorldOp;
use crate::world_row::Row;

/// What an observer observes, and what entities must have beside it.
struct Ear {
    kind: Kind,
    meets: fn(&Row) -> bool,
}

const EARS: usize = 7;

/// In the order in which [`Ears::listen_to`] makes their observers.
const ALL: [Ear; EARS] = {
    const fn ear(kind: Kind, meets: fn(&Row) -> bool) -> Ear {
        Ear { kind, meets }
    }
    [
        ear(Kind::Small, |_| true),
        ear(Kind::Counted, |_| true),
        ear(Kind::Counted, |row| row.is_on(Kind::Switch)),
        ear(Kind::Tag, |row| !row.has(Kind::Page)),
        ear(Kind::Text, |row| {
            row.has(Kind::Small) || row.has(Kind::Guard)
        }),
        ear(Kind::Team, |_| true),
        ear(Kind::Weather, |_| true),
    ]
};
/// Those that ask for nothing beside their kind.
pub(crate) const PLAIN: [usize; 4] = [0, 1, 5, 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Create,
    Destroy,
    Add,
    Remove,
    Set,
}

impl Change {
    fn of(observed: Observed) -> Self {
        let all = [
            (Observed::CREATE, Self::Create),
            (Observed::DESTROY, Self::Destroy),
            (Observed::ADD, Self::Add),
            (Observed::REMOVE, Self::Remove),
            (Observed::SET, Self::Set),
        ];
        let change = all.into_iter().find(|(one, _)| *one == observed);
        change.expect("a batch is one kind of change").1
    }
}

/// An entity that an ear was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Heard {
    pub(crate) world: usize,
    pub(crate) ear: usize,
    pub(crate) entity: Entity,
    pub(crate) change: Change,
    pub(crate) is_move: bool,
    pub(crate) value: u32,
}

/// What was told, in order; and who was called with what.
#[derive(Debug, Default)]
struct Log {
    heard: Vec<Heard>,
    calls: Vec<(usize, usize, Change)>,
}

/// The observers of all worlds of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ears(Arc<Mutex<Log>>);

impl Ears {
    /// Observes a world. The first one has few observers, the others more than are all asked about each change.
    pub(crate) fn listen_to(&self, world: &mut World, number: usize) -> Result<(), QueryError> {
        let kinds: &[Observed] = match number {
            0 => &[Observed::COME, Observed::GO, Observed::SET],
            _ => &[
                Observed::CREATE,
                Observed::REMOVE,
                Observed::SET,
                Observed::ADD,
                Observed::DESTROY,
            ],
        };
        let both = [kinds.iter().fold(kinds[0], |all, &one| all | one)];
        let kinds = if number == 0 { &both } else { kinds };
        for &kinds in kinds {
            let hears = |ear| (self.clone(), number, ear);
            let small = told::<(Entity, &Small)>(hears(0), |(e, small)| (e, small.0));
            world.observe::<Small, ()>(kinds, small)?;
            let counted = told::<(Entity, &Counted)>(hears(1), |(e, one)| (e, one.value));
            world.observe::<Counted, ()>(kinds, counted)?;
            let counted = told::<(Entity, &Counted)>(hears(2), |(e, one)| (e, one.value));
            world.observe::<Counted, With<Switch>>(kinds, counted)?;
            let tag = told::<Entity>(hears(3), |e| (e, 0));
            world.observe::<Tag, Without<Page>>(kinds, tag)?;
            let number = |text: &Text| text.0.parse().expect("it is a number");
            let text = told::<(Entity, &Text)>(hears(4), move |(e, text)| (e, number(text)));
            world.observe::<Text, Any<(Small, Guard)>>(kinds, text)?;
            let team = told::<(Entity, Shared<Team>)>(hears(5), |(e, team)| (e, team.number));
            world.observe::<Shared<Team>, ()>(kinds, team)?;
            let weather = told::<(Entity, PerChunk<Weather>)>(hears(6), |(e, _)| (e, 0));
            world.observe::<PerChunk<Weather>, ()>(kinds, weather)?;
        }
        Ok(())
    }
}

/// Notes what an ear is told.
fn told<D: QueryData>(
    (ears, world, ear): (Ears, usize, usize),
    value: impl Fn(D::Item<'_>) -> (Entity, u32) + Send + Sync + 'static,
) -> impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static {
    move |batch, _| {
        let mut log = ears.0.lock().unwrap();
        let (change, is_move) = (Change::of(batch.change()), batch.is_move());
        log.calls.push((world, ear, change));
        let entities: Vec<Entity> = batch.entities().collect();
        let mut lent = Vec::new();
        let count = batch.for_each::<D>(|item| {
            let (entity, value) = value(item);
            lent.push(entity);
            log.heard.push(Heard {
                world,
                ear,
                entity,
                change,
                is_move,
                value,
            });
        });
        assert_eq!(
            (count.unwrap(), batch.len()),
            (entities.len(), entities.len())
        );
        assert_eq!(lent, entities);
    }
}

/// What an ear would be told of an entity of this world.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    has: Option<u32>,
    meets: bool,
    /// It was given the value since the step began.
    given: bool,
}

/// An entity and its world, as the ears see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stands {
    world: usize,
    seen: [Seen; EARS],
}

impl Stands {
    pub(crate) fn new(world: usize, row: &Row) -> Self {
        let seen = |ear: Ear| Seen {
            has: row.get(ear.kind).map(|value| match ear.kind {
                Kind::Weather => 0,
                _ => value,
            }),
            meets: (ear.meets)(row),
            given: row.is_given(ear.kind),
        };
        Self {
            world,
            seen: ALL.map(seen),
        }
    }

    /// The value of an ear's kind, if the entity is in this world and has one.
    pub(crate) fn value(&self, world: usize, ear: usize) -> Option<u32> {
        self.seen[ear].has.filter(|_| self.world == world)
    }

    /// Whether all ears see the same.
    pub(crate) fn stands_as(&self, other: &Self) -> bool {
        let same = |(a, b): (&Seen, &Seen)| (a.has, a.meets) == (b.has, b.meets);
        self.world == other.world && self.seen.iter().zip(&other.seen).all(same)
    }
}

/// What must be heard when an entity was this, and is that.
pub(crate) fn between(
    entity: Entity,
    before: Option<Stands>,
    after: Option<Stands>,
    expected: &mut Vec<Heard>,
) {
    let mut hear = |stands: Stands, ear: usize, change, is_move| {
        if let (true, Some(value)) = (stands.seen[ear].meets, stands.seen[ear].has) {
            expected.push(Heard {
                world: stands.world,
                ear,
                entity,
                change,
                is_move,
                value,
            });
        }
    };
    for ear in 0..EARS {
        match (before, after) {
            (Some(before), Some(after)) if before.world == after.world => {
                match (before.seen[ear].has, after.seen[ear].has) {
                    (None, Some(_)) => {
                        hear(after, ear, Change::Add, false);
                        hear(after, ear, Change::Set, false);
                    }
                    (Some(_), None) => hear(before, ear, Change::Remove, false),
                    (Some(_), Some(_)) if after.seen[ear].given => {
                        hear(after, ear, Change::Set, false);
                    }
                    _ => {}
                }
            }
            _ => {
                if let Some(before) = before {
                    hear(before, ear, Change::Destroy, after.is_some());
                }
                if let Some(after) = after {
                    hear(after, ear, Change::Create, before.is_some());
                    hear(after, ear, Change::Set, before.is_some());
                }
            }
        }
    }
}

/// The entities of all worlds.
pub(crate) type Scene = BTreeMap<Entity, Stands>;

pub(crate) fn scene(model: &Naive) -> Scene {
    let rows = (0..WORLDS).flat_map(|at| model.rows(at).map(move |(e, row)| (e, at, row)));
    rows.map(|(entity, at, row)| (entity, Stands::new(at, row)))
        .collect()
}

/// What must be heard when the worlds were this, and are that.
fn difference(before: &Scene, after: &Scene) -> Vec<Heard> {
    let mut expected = Vec::new();
    for (&entity, &stood) in before {
        between(
            entity,
            Some(stood),
            after.get(&entity).copied(),
            &mut expected,
        );
    }
    for (&entity, &stands) in after {
        if !before.contains_key(&entity) {
            between(entity, None, Some(stands), &mut expected);
        }
    }
    expected
}

/// Takes out what was told to go and come again, and to be set then: all that it says must be the same.
fn without_returns(heard: Vec<Heard>, expected: &[Heard]) -> Vec<Heard> {
    let mut left: BTreeMap<(usize, usize, Entity), Vec<Heard>> = BTreeMap::new();
    let mut returned = BTreeMap::new();
    for one in heard {
        let key = (one.world, one.ear, one.entity);
        let all = left.entry(key).or_default();
        if one.change == Change::Set
            && let Some(again) = returned.remove(&key)
        {
            let set = Heard {
                change: Change::Set,
                ..again
            };
            assert_eq!(one, set, "what came again");
            if !expected.contains(&one) {
                continue;
            }
        }
        let returns = |last: &Heard| {
            let again = match last.change {
                Change::Destroy => Change::Create,
                Change::Remove => Change::Add,
                _ => return false,
            };
            *last
                == Heard {
                    change: last.change,
                    ..one
                }
                && one.change == again
        };
        match all.last().is_some_and(returns) {
            true => {
                all.pop();
                returned.insert(key, one);
            }
            false => all.push(one),
        }
    }
    assert!(returned.is_empty(), "not set again: {returned:?}");
    left.into_values().flatten().collect()
}

impl Machine {
    /// Compares what was heard in a step.
    pub(crate) fn listen(&mut self, before: &Scene, op: WorldOp) {
        let Some(ears) = &self.ears else { return };
        let Log { heard, calls } = std::mem::take(&mut *ears.0.lock().unwrap());
        let noted = std::mem::take(&mut self.heard);
        let after = scene(&self.model);
        let is_flush = matches!(op, WorldOp::Flush { .. });
        let burnt = self.ledger.has_burnt();
        if is_flush {
            folds(before, &after, &heard);
            if let Some(interrupted) = self.interrupted.take() {
                return interrupted.check(before, after, &heard);
            }
        }
        let (mut heard, mut expected) = match op {
            // Nobody is told of the end of a world, or of what is in one when he begins to listen.
            WorldOp::Renew { .. }
            | WorldOp::Reload { .. }
            | WorldOp::More(MoreOp::Require { .. } | MoreOp::Load { .. }) => (heard, Vec::new()),
            // Nor that a world goes back.
            WorldOp::More(MoreOp::RollBack { .. }) => return assert!(!burnt),
            WorldOp::Flush { .. } => (heard, noted),
            // Who cannot have what is to come keeps what was to go.
            WorldOp::More(MoreOp::SwapSlice { .. } | MoreOp::SwapSliceDynamic { .. }) => {
                let expected = difference(before, &after);
                (without_returns(heard, &expected), expected)
            }
            _ if burnt => {
                let expected = difference(before, &after);
                (without_returns(heard, &expected), expected)
            }
            _ => (heard, difference(before, &after)),
        };
        heard.sort_unstable();
        expected.sort_unstable();
        assert_eq!(heard, expected, "what {op:?} told");
        if !is_flush {
            // Copies of a group are told by their compositions.
            let batches = std::mem::replace(&mut self.batches, 1);
            let mut by_ear: BTreeMap<_, usize> = BTreeMap::new();
            for call in &calls {
                *by_ear.entry(call).or_default() += 1;
            }
            assert!(
                by_ear.values().all(|&calls| calls <= batches),
                "{op:?} is {batches} changes: {calls:?}"
            );
        }
    }
}
