//! Which fragments of a run require others, said to the registry and to the naive world; and the operations that are about
//! that: worlds that begin anew in a universe where something is required, what entities lack, and further ways in which
//! entities come, which bring what is required along.
//!
//! A run requires nothing until [`MoreOp::Require`](crate::world_more::MoreOp) says so: as it is settled what a fragment
//! requires when it has come, its worlds begin anew then, in another universe.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::{CheckpointError, Checkpoints, Group, Universe};

use crate::world_bulk::{id, kinds_in, value};
use crate::world_changes::Changes;
use crate::world_fragments::{
    Awake, Counted, Fused, Kind, Ledger, Made, Matrix, Small, Switch, Tag, register,
};
use crate::world_machine::{Machine, WORLDS, new_world, universe_for};
use crate::world_naive::{Naive, Refusal};
use crate::world_probes::{self, Watch};
use crate::world_row::Row;
use crate::world_same::fused;

/// One fragment that another requires, and what its value is made of.
struct Requirement {
    /// The bit that says it.
    bit: u8,
    owner: Kind,
    needed: Kind,
    payload: u32,
}

const fn requires(bit: u8, owner: Kind, needed: Kind, payload: u32) -> Requirement {
    Requirement {
        bit,
        owner,
        needed,
        payload,
    }
}

/// All that may be required, by the numbers that the registry gives their owners. Up to five levels; with bit 5, a cycle.
const ALL: [Requirement; 11] = [
    requires(1 << 5, Kind::Small, Kind::Switch, 100),
    requires(1 << 1, Kind::Text, Kind::Small, 700),
    requires(1 << 1, Kind::Text, Kind::Tag, 0),
    requires(1 << 0, Kind::Counted, Kind::Small, 800),
    requires(1 << 6, Kind::Tag, Kind::Counted, 300),
    requires(1 << 0, Kind::Matrix, Kind::Counted, 900),
    requires(1 << 2, Kind::Page, Kind::Matrix, 600),
    requires(1 << 2, Kind::Page, Kind::Switch, 500),
    requires(1 << 3, Kind::Switch, Kind::Awake, 0),
    requires(1 << 4, Kind::Awake, Kind::Text, 400),
    requires(1 << 7, Kind::Guard, Kind::Small, 200),
];

fn said(which: u8) -> impl Iterator<Item = &'static Requirement> {
    ALL.iter().filter(move |one| which & one.bit != 0)
}

/// Says it to a registry, on which nothing was said before. What counts itself is made by closures, which may panic.
fn say(universe: &Universe, which: u8, ledger: &Arc<Ledger>) -> Result<(), FragmentError> {
    let registry = universe.registry();
    for one in said(which) {
        let counted = |payload| {
            let ledger = Arc::clone(ledger);
            move || {
                ledger.burn(Fused::Fill);
                Counted::made(payload, &ledger)
            }
        };
        match (one.owner, one.needed) {
            (Kind::Tag, Kind::Counted) => {
                registry.require_with::<Tag, Counted>(counted(one.payload))?;
            }
            (Kind::Matrix, Kind::Counted) => {
                registry.require_with::<Matrix, Counted>(counted(one.payload))?;
            }
            (Kind::Counted, Kind::Small) => {
                registry.require_with::<Counted, Small>(|| Small(one.payload))?;
            }
            // It is made by `Default`, or by what may panic.
            (Kind::Switch, Kind::Awake) if which & 1 << 4 != 0 => {
                registry.require::<Switch, Awake>()?;
            }
            (Kind::Switch, Kind::Awake) => {
                let ledger = Arc::clone(ledger);
                registry.require_with::<Switch, Awake>(move || {
                    ledger.burn(Fused::Fill);
                    Awake
                })?;
            }
            (owner, needed) => {
                let value = value(needed, registry, one.payload, ledger);
                registry.require_value(id(owner, registry), value)?;
            }
        }
    }
    Ok(())
}

/// A universe in which these fragments require others.
pub(crate) fn requiring(machine: &Machine, which: u8) -> Universe {
    let universe = universe_for(machine.hands);
    register(&universe).unwrap();
    say(&universe, which, &machine.ledger).unwrap();
    universe
}

/// What comes with fragments that come, if those that go in the same change do not come back: with the payloads of their
/// values. The nearest to what comes makes one, of those that are equally near the first.
pub(crate) fn needs(which: u8, come: &[Kind], gone: &[Kind]) -> Vec<(Kind, u32)> {
    let mut met: Vec<Kind> = come.iter().chain(gone).copied().collect();
    let mut level: Vec<Kind> = come.to_vec();
    let mut needs = Vec::new();
    while !level.is_empty() {
        let mut next = Vec::new();
        for one in said(which).filter(|one| level.contains(&one.owner)) {
            if !met.contains(&one.needed) {
                met.push(one.needed);
                next.push(one.needed);
                needs.push((one.needed, one.needed.keeps(one.payload)));
            }
        }
        level = next;
    }
    needs
}

impl Row {
    /// Gives it what comes with fragments that come, if it has it not; which of that.
    pub(crate) fn complete(&mut self, which: u8, come: &[Kind], gone: &[Kind]) -> Vec<Kind> {
        let mut new = Vec::new();
        for (kind, value) in needs(which, come, gone) {
            if !self.has(kind) {
                self.give(kind, value);
                new.push(kind);
            }
        }
        new
    }

    /// The same of all that it has.
    fn complete_all(&mut self, which: u8) -> bool {
        let kinds: Vec<Kind> = self.kinds().collect();
        !self.complete(which, &kinds, &[]).is_empty()
    }

    /// Without what its chunk has.
    pub(crate) fn without_weather(mut self) -> Self {
        if let Some(value) = self.get_mut(Kind::Weather) {
            *value = 0;
        }
        self
    }
}

impl Naive {
    /// What a copy of an entity is made of by a prototype of it: nothing is off, and all is there that is required.
    pub(crate) fn copied(&self, world: usize, entity: Entity) -> Result<Row, Refusal> {
        let mut row = self.cloned(world, entity)?;
        row.enable_all();
        row.complete_all(self.required);
        Ok(row)
    }
}

/// A trait that gives its entities these kinds.
struct Gives {
    kinds: Vec<Kind>,
    payload: u32,
    ledger: Arc<Ledger>,
}

impl EntityTrait for Gives {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        for &kind in &self.kinds {
            let value = value(kind, context.registry(), self.payload, &self.ledger);
            context.add_value(value);
        }
        Ok(())
    }
}

/// The kinds that a template can have: those that can be cloned, each once.
fn template_kinds(mask: u16) -> Vec<Kind> {
    let mut kinds = kinds_in(mask & 0x7fff);
    kinds.retain(|&kind| kind != Kind::Guard);
    kinds
}

impl Machine {
    /// Worlds begin anew, in a universe where something is required.
    pub(crate) fn require(&mut self, which: u8) {
        for at in 0..WORLDS {
            self.end_recorded(at);
        }
        let universe = Arc::new(requiring(self, which));
        let ears = self.ears.as_ref();
        let worlds = (0..WORLDS).map(|at| new_world(&universe, at, self.hands, ears));
        self.worlds = worlds.collect();
        self.watches = (self.worlds.iter().map(Watch::new))
            .collect::<Result<_, _>>()
            .unwrap();
        self.changes = self.worlds.iter().map(Changes::new).collect();
        self.queries = world_probes::all(&self.worlds[0]).unwrap();
        self.forks = [false; WORLDS];
        self.templates.clear();
        self.universe = universe;
        self.model = Naive::default();
        self.model.required = which;
    }

    /// What entities lack is added.
    pub(crate) fn add_required(&mut self, fuse: u8) {
        let all: Vec<Entity> = self.model.rows(self.at).map(|(entity, _)| entity).collect();
        let world = &mut self.worlds[self.at];
        let added = fused(&self.ledger, fuse, || world.add_required());
        let which = self.model.required;
        let mut lacked = 0;
        let mut complete = |model: &mut Naive, at, entity, _| {
            let row = model.row_mut(at, entity).unwrap();
            lacked += usize::from(row.complete_all(which));
        };
        match added {
            Ok(count) => {
                for &entity in &all {
                    complete(&mut self.model, self.at, entity, 0);
                }
                assert_eq!(count.unwrap(), lacked, "add_required");
            }
            Err(Fused::Fill | Fused::Clone) => self.settle_some(&all, complete),
            Err(fused) => panic!("nothing of the user's but this was called: {fused:?}"),
        }
    }

    /// A value could not be made, or a chunk not be had: each of these entities is as it was, or as one of its changes has
    /// made it. `change` gets the position of each.
    pub(crate) fn settle_some(
        &mut self,
        entities: &[Entity],
        mut change: impl FnMut(&mut Naive, usize, Entity, u32),
    ) {
        let at = self.at;
        let mut stages: BTreeMap<Entity, Vec<Row>> = BTreeMap::new();
        for (position, &entity) in (0..).zip(entities) {
            let Ok(&before) = self.model.row(at, entity) else {
                continue;
            };
            change(&mut self.model, at, entity, position);
            let after = *self.model.row(at, entity).unwrap();
            let stages = stages.entry(entity).or_insert_with(|| vec![before]);
            stages.push(after);
        }
        for (entity, stages) in stages {
            let real = self.read(entity).map(Row::without_weather);
            let is = |row: &&Row| Some(row.without_weather()) == real;
            let Some(&row) = stages.iter().find(is) else {
                panic!("{entity} was to be one of {stages:?}, and is {real:?}");
            };
            self.model.replace(at, entity, row);
        }
        self.compare_all(entities);
    }

    /// A template, whose entities begin with these kinds.
    pub(crate) fn template(&mut self, mask: u16, payload: u32) -> (Arc<Template>, Vec<Kind>) {
        let kinds = template_kinds(mask);
        self.note_weathers(&kinds, payload, 1);
        let gives = Gives {
            kinds: kinds.clone(),
            payload,
            ledger: Arc::clone(&self.ledger),
        };
        let template = TemplateBuilder::new("given").with(gives);
        let template = template.finish(&self.worlds[self.at]).unwrap();
        (Arc::new(template), kinds)
    }

    /// Entities of a template: one, or a batch.
    pub(crate) fn create_of_template(&mut self, mask: u16, payload: u32, len: u16, fuse: u8) {
        let (template, kinds) = self.template(mask, payload);
        let world = &mut self.worlds[self.at];
        let created = fused(&self.ledger, fuse, || match len {
            0 => Ok(vec![template.create(world)?]),
            len => {
                let batch = template.create_batch(world, len.into())?;
                Ok::<Vec<Entity>, WorldError>(batch.iter(world).collect())
            }
        });
        // All or none.
        let Ok(entities) = created else { return };
        let entities = entities.unwrap();
        assert_eq!(entities.len(), usize::from(len).max(1));
        for entity in entities {
            self.model.create(self.at, entity, &kinds, payload);
        }
    }

    /// Copies of some entities as a group.
    pub(crate) fn create_groups(&mut self, members: &[Entity], count: u8, fuse: u8) {
        let world = &mut self.worlds[self.at];
        // It ends when no fuse burns any more.
        let mut kept = None;
        let created = fused(&self.ledger, fuse, || {
            let group = kept.insert(Group::of(world, members)?);
            Ok::<Vec<Entity>, WorldError>(world.create_groups(group, count.into())?.to_vec())
        });
        let Ok(created) = created else { return };
        let mut met = members.to_vec();
        met.sort_unstable();
        met.dedup();
        let rows: Result<Vec<Row>, Refusal> = match met.len() < members.len() {
            true => Err(Refusal::Same),
            false => {
                let copied = |&member| self.model.copied(self.at, member);
                members.iter().map(copied).collect()
            }
        };
        let expected = rows.as_ref().map(|rows| rows.len() * usize::from(count));
        let real = created.as_ref().map(Vec::len).map_err(Refusal::of);
        assert_eq!(real, expected.map_err(|refusal| *refusal), "create_groups");
        if let (Ok(created), Ok(rows)) = (created, rows) {
            let compositions = rows.iter().map(|row| row.kinds().collect());
            let compositions: BTreeSet<Vec<Kind>> = compositions.collect();
            self.batches = compositions.len();
            for (new, row) in created.into_iter().zip(rows.into_iter().cycle()) {
                self.model.enter_clone(self.at, new, row);
            }
        }
    }

    /// The world changes, and goes back to what it was.
    pub(crate) fn roll_back(&mut self, pick: u16, mask: u16, payload: u32) {
        let kinds = kinds_in(mask & 0x7fff);
        let bundles = [(); 2].map(|()| self.dynamic_bundle(&kinds, payload));
        let ids: Vec<FragmentId> = kinds
            .iter()
            .map(|&it| id(it, self.universe.registry()))
            .collect();
        let (at, picked, options) = (self.at, self.pick(pick), self.plain_options());
        let mut checkpoints = Checkpoints::new(1);
        let then = match checkpoints.take(&mut self.worlds[at]) {
            Ok(then) => then,
            Err(error) => {
                let here = self.model.rows(at).count();
                let refused = match error {
                    CheckpointError::NotOrdered => !self.is_ordered(),
                    CheckpointError::NotAlone => self.model.alive() > here,
                    CheckpointError::Pending(_) => !self.recorded[at].is_empty() || self.named[at],
                    CheckpointError::NotCloneable { .. } => {
                        self.model.rows(at).any(|(_, row)| row.has(Kind::Guard))
                    }
                    _ => false,
                };
                return assert!(refused, "{error}");
            }
        };
        let world = &mut self.worlds[at];
        let before = world.continuation_hash(&options).unwrap();
        let [one, other] = bundles;
        let new = world.create_dynamic(one).unwrap();
        if let Some(entity) = picked.filter(|&entity| world.is_built(entity)) {
            let added = world.add_dynamic(entity, other);
            let refused = added.map_err(|error| Refusal::of(&error));
            assert!(matches!(refused, Ok(()) | Err(Refusal::ConstShared)));
            world.remove_dynamic(entity, &ids).unwrap();
            world.destroy(new).unwrap();
            world.create((Small(payload),)).unwrap();
        }
        checkpoints.roll_back(world, then).unwrap();
        assert_eq!(
            world.continuation_hash(&options).unwrap(),
            before,
            "what goes on is another"
        );
    }
}
