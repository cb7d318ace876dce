//! What must be heard of a flush, and of one that a panic has kept from making some of its changes.
//!
//! Of any flush: what comes and goes takes turns, beginning with what was and ending with what is; what comes is set next,
//! and to the same value; what is set is there; and whoever has another value than was told last has been told.
//!
//! Where a template could not be cloned in a flush, or a value not be made that is required, one batch of its commands
//! has left entities as they were: of each entity is heard all that a whole flush tells, or all that one tells which leaves
//! it out in this batch, as the entity stands; or it was to come, is dead, and nobody hears of it. Where closures ran nobody
//! knows what each has done, but an entity is set no more often than it was named.

use std::collections::{BTreeMap, BTreeSet};

use megachunk::prelude::*;

use crate::world_heard::{Change, Heard, PLAIN, Scene};
use crate::world_machine::WORLDS;
use crate::world_recorded::{Act, Segment};

/// What a flush tells, and how entities stand then.
#[derive(Debug)]
pub(crate) struct Outcome {
    heard: BTreeMap<Entity, Vec<Heard>>,
    scene: Scene,
}

impl Outcome {
    pub(crate) fn new(heard: &[Heard], scene: Scene) -> Self {
        let mut by_entity: BTreeMap<Entity, Vec<Heard>> = BTreeMap::new();
        for one in heard {
            by_entity.entry(one.entity).or_default().push(*one);
        }
        by_entity.values_mut().for_each(|all| all.sort_unstable());
        Self {
            heard: by_entity,
            scene,
        }
    }

    fn entities(&self) -> impl Iterator<Item = Entity> {
        self.heard.keys().chain(self.scene.keys()).copied()
    }

    /// Whether both tell the same of an entity, and it stands there as here.
    fn agrees_with(&self, other: &Self, entity: Entity) -> bool {
        let [here, there] = [self, other].map(|outcome| outcome.scene.get(&entity));
        let stands = match (here, there) {
            (Some(here), Some(there)) => here.stands_as(there),
            (here, there) => here.is_none() && there.is_none(),
        };
        stands && self.heard.get(&entity) == other.heard.get(&entity)
    }
}

/// A flush that could not make something.
#[derive(Debug, Default)]
pub(crate) struct Interrupted {
    /// What a whole one does, and one without some of each batch; none where closures ran.
    pub(crate) outcomes: Vec<Outcome>,
    /// How often entities may have been set: once for each command, and when they come.
    named: BTreeMap<Entity, usize>,
}

impl Interrupted {
    pub(crate) fn new(segments: &[Segment]) -> Self {
        let mut named: BTreeMap<Entity, usize> = BTreeMap::new();
        for segment in segments {
            for &entity in &segment.created {
                *named.entry(entity).or_default() += 1;
            }
            for &(entity, act) in &segment.commands {
                if !matches!(act, Act::Destroy | Act::Enable { .. }) {
                    *named.entry(entity).or_default() += 1;
                }
            }
        }
        Self {
            outcomes: Vec::new(),
            named,
        }
    }

    /// Checks what was heard.
    pub(crate) fn check(&self, before: &Scene, after: Scene, heard: &[Heard]) {
        self.count(before, heard);
        let real = Outcome::new(heard, after);
        let [whole, without @ ..] = self.outcomes.as_slice() else {
            return;
        };
        let mut entities: BTreeSet<Entity> = before.keys().copied().collect();
        entities.extend(real.entities());
        entities.extend(self.outcomes.iter().flat_map(Outcome::entities));
        let has_died = |entity: &Entity| {
            let was = before.contains_key(entity);
            !was && !real.scene.contains_key(entity) && !real.heard.contains_key(entity)
        };
        let others = |entity: &Entity| !whole.agrees_with(&real, *entity) && !has_died(entity);
        entities.retain(others);
        let explains = |one: &Outcome| {
            entities
                .iter()
                .all(|&entity| one.agrees_with(&real, entity))
        };
        let says = |entity: &Entity| {
            let told = |one: &Outcome| one.heard.get(entity).cloned();
            let all: Vec<_> = self.outcomes.iter().map(told).collect();
            format!("{entity}: {:?} of {all:?}", told(&real))
        };
        assert!(
            entities.is_empty() || without.iter().any(explains),
            "no batch explains what was told: {:#?}",
            entities.iter().map(says).collect::<Vec<_>>()
        );
    }

    /// Nothing is told oftener than it was done.
    fn count(&self, before: &Scene, heard: &[Heard]) {
        let mut set: BTreeMap<(usize, Entity), usize> = BTreeMap::new();
        let sets = heard.iter().filter(|one| one.change == Change::Set);
        for &Heard { ear, entity, .. } in sets {
            *set.entry((ear, entity)).or_default() += 1;
        }
        for ((ear, entity), count) in set {
            // One that a closure has created was not named before.
            let comes = usize::from(!before.contains_key(&entity));
            let named = self.named.get(&entity).copied().unwrap_or(0);
            assert!(
                count <= named.max(comes),
                "{ear} hears {count} times that {entity} was set, which was named {named} times"
            );
        }
    }
}

/// What an ear knows of an entity that asks for nothing beside its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    value: Option<u32>,
    /// It has come, and was not set yet.
    is_new: bool,
}

/// Checks the order of what a flush has told, and whether it leads from what was to what is.
pub(crate) fn folds(before: &Scene, after: &Scene, heard: &[Heard]) {
    let value = |scene: &Scene, world, ear: usize, entity| {
        let stands = scene.get(&entity)?;
        stands.value(world, ear)
    };
    let mut now: BTreeMap<(usize, usize, Entity), Known> = BTreeMap::new();
    let mut plain = BTreeSet::new();
    for one in heard {
        let Heard {
            world, ear, entity, ..
        } = *one;
        assert!(!one.is_move, "{one:?} in a flush");
        if !PLAIN.contains(&ear) {
            continue;
        }
        plain.insert(*one);
        let known = now.entry((world, ear, entity)).or_insert_with(|| Known {
            value: value(before, world, ear, entity),
            is_new: false,
        });
        match one.change {
            Change::Set => {
                assert!(known.value.is_some(), "{one:?} of what is not there");
                let is_same = known.value == Some(one.value);
                assert!(!known.is_new || is_same, "{one:?} came as {known:?}");
                *known = Known {
                    value: Some(one.value),
                    is_new: false,
                };
            }
            Change::Create | Change::Add => {
                assert_eq!(known.value, None, "{one:?} was not to be");
                *known = Known {
                    value: Some(one.value),
                    is_new: true,
                };
            }
            Change::Destroy | Change::Remove => {
                let there = Known {
                    value: Some(one.value),
                    is_new: false,
                };
                assert_eq!(*known, there, "{one:?} was not to be");
                known.value = None;
            }
        }
    }
    for entity in before.keys().chain(after.keys()) {
        for (world, ear) in (0..WORLDS).flat_map(|world| PLAIN.map(|ear| (world, ear))) {
            now.entry((world, ear, *entity)).or_insert_with(|| Known {
                value: value(before, world, ear, *entity),
                is_new: false,
            });
        }
    }
    for (&(world, ear, entity), &known) in &now {
        let is = Known {
            value: value(after, world, ear, entity),
            is_new: false,
        };
        assert_eq!(known, is, "{entity} as {ear} of {world} knows it");
    }
    // One that asks for more is told of no more.
    for one in heard.iter().filter(|one| one.ear == 2) {
        assert!(plain.contains(&Heard { ear: 1, ..*one }), "{one:?}");
    }
}
