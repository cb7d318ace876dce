//! Worlds beside the naive ones: who lives, of what, with which values.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use megachunk::prelude::*;

use crate::world_changes::{Known, add_plain};
use crate::world_fragments::{
    Awake, Counted, Fused, Guard, Kind, Matrix, Page, Small, Species, Switch, Tag, Team, Text,
    Weather,
};
use crate::world_heard::scene;
use crate::world_interrupted::{Interrupted, Outcome};
use crate::world_machine::{ChunkStand, Machine, Stand, WORLDS};
use crate::world_naive::{Naive, Refusal};
use crate::world_probes;
use crate::world_recorded::{Act, Event, Replay, Segment};
use crate::world_row::Row;

impl Machine {
    /// Compares all that there is after a step, in which one of the worlds, or both, were to stay as they were. What the
    /// universe has is checked with it if it `is_due`: that looks at a million chunks.
    pub(crate) fn compare(&mut self, step: usize, quiet: [bool; WORLDS], is_due: bool) {
        let checked = match is_due {
            true => self.universe.check(&self.worlds),
            false => self.worlds.iter().try_for_each(World::check),
        };
        if let Err(error) = checked {
            panic!("{error}");
        }
        assert_eq!(self.universe.count(), self.model.alive());
        let mut counted = 0;
        let mut guards = 0;
        let mut shared = 0;
        let mut all_teams = BTreeSet::new();
        let mut all_plain: [Arc<[u8]>; WORLDS] = Default::default();
        for at in 0..WORLDS {
            let world = &self.worlds[at];
            let mut teams = BTreeSet::new();
            let (mut plain, mut known) = (Vec::new(), Vec::new());
            for (entity, row) in self.model.rows(at) {
                counted += usize::from(row.has(Kind::Counted));
                guards += i64::from(row.has(Kind::Guard));
                teams.extend(row.get(Kind::Team));
                known.push(Known::of(entity, row));
                add_plain(&mut plain, entity, row);
            }
            let count = known.len();
            all_plain[at] = plain.into();
            self.changes[at].look(world, known, quiet[at]);
            shared += teams.len();
            all_teams.append(&mut teams);
            assert_eq!((world.count(), world.is_empty()), (count, count == 0));
        }
        for row in self.model.pending() {
            counted += usize::from(row.has(Kind::Counted));
            guards += i64::from(row.has(Kind::Guard));
        }
        counted += self.waiting(Kind::Counted);
        guards += self.waiting(Kind::Guard) as i64;
        assert_eq!(self.ledger.wrongs(), 0, "a value was dropped twice");
        assert_eq!(
            self.ledger.alive("Counted"),
            counted,
            "values that are alive"
        );
        assert_eq!(Guard::alive() - self.guards, guards, "tags that are alive");
        let teams = self.ledger.alive("Team");
        // Two worlds may have a value together, if entities moved from one to the other; what is recorded
        // has its own.
        let waits =
            self.recorded.iter().any(|segments| !segments.is_empty()) || self.named.contains(&true);
        assert!(
            (all_teams.len()..=shared).contains(&teams) || waits && teams > shared,
            "{teams} shared values are kept, not {shared}"
        );
        self.compare_names();
        // All of few; of many a part that walks through them.
        let given = &self.model.given;
        let stride = given.len() / 64 + 1;
        for &entity in given.iter().skip(step % stride).step_by(stride) {
            self.compare_entity(entity);
        }
        let which = step % self.queries.len();
        let world = &mut self.worlds[self.at];
        // In the ways that cost no thread.
        let way = [0, 1, 3, 4][step / self.queries.len() % 4];
        self.queries[which].run(world, &mut self.model, self.at, way);
        if self.queries[which].writes() {
            let at = self.at;
            let (mut plain, mut known) = (Vec::new(), Vec::new());
            for (entity, row) in self.model.rows(at) {
                known.push(Known::of(entity, row));
                add_plain(&mut plain, entity, row);
            }
            all_plain[at] = plain.into();
            self.changes[at].look(&self.worlds[at], known, false);
        }
        let options = self.plain_options();
        for (at, plain) in all_plain.into_iter().enumerate() {
            let hash = self.worlds[at].state_hash(&options).unwrap();
            self.hashes.note(plain, hash);
            self.hashed[at] = hash;
        }
    }

    /// All of these, one by one.
    pub(crate) fn compare_all(&self, entities: &[Entity]) {
        for &entity in entities {
            self.compare_entity(entity);
        }
    }

    pub(crate) fn compare_entity(&self, entity: Entity) {
        let alive = !matches!(self.model.row(0, entity), Err(Refusal::Destroyed));
        assert_eq!(self.universe.exists(entity), alive);
        for at in 0..WORLDS {
            let world = &self.worlds[at];
            let expected = self.model.row(at, entity);
            assert_eq!(world.is_built(entity), expected.is_ok());
            assert_eq!(
                world.exists(entity),
                expected.is_ok()
                    || self.model.is_reserved(entity)
                    || expected == Err(Refusal::Pending)
            );
            let name = world.name(entity).map_err(|error| Refusal::of(&error));
            assert_eq!(name, self.model.name_of(at, entity));
            let row = match (world.fragments(entity), expected) {
                (Ok(fragments), Ok(row)) => {
                    assert_eq!(fragments.count(), row.len());
                    row
                }
                (Err(error), Err(refusal)) => {
                    assert_eq!(Refusal::of(&error), refusal);
                    assert_eq!(error.entity(), Some(entity));
                    continue;
                }
                (real, expected) => panic!("{entity}: {} against {expected:?}", real.is_ok()),
            };
            let get = |kind| row.get(kind);
            let small = world.get(entity).ok().map(|small: &Small| small.0);
            let text = world
                .find_fragment(entity)
                .map(|text: &Text| text.0.clone());
            let counted = world
                .get(entity)
                .ok()
                .map(|counted: &Counted| counted.value);
            let matrix = world.get(entity).ok().map(|matrix: &Matrix| matrix.0);
            let page = world.get(entity).ok().map(|page: &Page| page.0);
            let switch = world
                .get(entity)
                .ok()
                .map(|switch: &Switch| switch.0.into());
            assert_eq!(small, get(Kind::Small));
            assert_eq!(text, get(Kind::Text).map(|payload| payload.to_string()));
            assert_eq!(counted, get(Kind::Counted));
            assert_eq!(matrix, get(Kind::Matrix).map(|payload| [payload; 16]));
            assert_eq!(page, get(Kind::Page));
            assert_eq!(switch, get(Kind::Switch));
            let team = world.shared(entity).ok().map(|team: &Team| team.number);
            let species = world
                .const_shared(entity)
                .ok()
                .map(|species: &Species| species.0);
            assert_eq!(team, get(Kind::Team));
            assert_eq!(species, get(Kind::Species));
            assert_eq!(world.has::<Tag>(entity).unwrap(), row.has(Kind::Tag));
            assert_eq!(world.has::<Guard>(entity).unwrap(), row.has(Kind::Guard));
            assert_eq!(world.has::<Awake>(entity).unwrap(), row.has(Kind::Awake));
            let on = |kind| row.has(kind).then(|| row.is_on(kind));
            assert_eq!(world.is_enabled::<Switch>(entity).ok(), on(Kind::Switch));
            assert_eq!(world.is_enabled::<Awake>(entity).ok(), on(Kind::Awake));
            let weather = world
                .chunk_fragment::<Weather>(entity)
                .ok()
                .map(|w| w.value);
            assert_eq!(weather.is_some(), row.has(Kind::Weather));
            assert!(weather.is_none_or(|weather| self.weathers.contains(&weather)));
        }
    }

    /// How the worlds stand after they have been compared.
    pub(crate) fn stand(&self) -> Stand {
        Stand {
            given: self.model.given.clone(),
            hashes: self.hashed,
            chunks: [0, 1].map(|at| {
                let mut chunks = Vec::new();
                let mut all = self.worlds[at].read::<Entity, ()>().unwrap();
                all.for_each_chunk(|chunk, entities| {
                    chunks.push(ChunkStand {
                        sort_key: chunk.sort_key(),
                        order_version: chunk.order_version(),
                        change_versions: [
                            chunk.change_version::<Small>(),
                            chunk.change_version::<Text>(),
                            chunk.change_version::<Counted>(),
                            chunk.change_version::<Matrix>(),
                            chunk.change_version::<Switch>(),
                        ],
                        weather: chunk.chunk_fragment::<Weather>().map(|w| w.value),
                        entities: entities.to_vec(),
                    });
                });
                chunks
            }),
        }
    }

    /// Runs every query in every way, and lets all go.
    pub(crate) fn finish(mut self) {
        for &entity in &self.model.given {
            self.compare_entity(entity);
        }
        for at in 0..WORLDS {
            // First: what comes then lends all of it for writing.
            self.watches[at].look(&mut self.worlds[at], &self.model, at);
            world_probes::chunks(&mut self.worlds[at], &mut self.model, at);
            for (way, query) in (0..).zip(&mut self.queries) {
                query.run(&mut self.worlds[at], &mut self.model, at, way);
            }
        }
        for at in 0..WORLDS {
            self.end_recorded(at);
            self.model.end(at);
        }
        self.worlds.clear();
        assert_eq!(
            self.universe.count(),
            self.model.alive(),
            "only reserved entities are left"
        );
        assert_eq!(
            self.universe.chunk_stats().in_use,
            0,
            "chunks that nobody has"
        );
        let left = ["Counted", "Team", "Weather"].map(|name| self.ledger.alive(name));
        assert_eq!(
            (left, self.ledger.wrongs()),
            ([0; 3], 0),
            "values that are alive"
        );
        assert_eq!(Guard::alive(), self.guards);
    }

    /// After a template could not be cloned in a flush, or a value not be made that is required, whoever was to get a chunk
    /// of it, or the value, is dead or as he was: the model believes the world, if that can be.
    pub(crate) fn look_again(&mut self, why: Fused, events: VecDeque<Event>) {
        let at = self.at;
        let segments = std::mem::take(&mut self.recorded[at]);
        let mut commands = segments.iter().flat_map(|segment| &segment.commands);
        let mut interrupted = Interrupted::new(&segments);
        if !commands.any(|(_, act)| matches!(act, Act::Call { .. })) {
            interrupted.outcomes = self.compare_with_each(why, &segments);
        }
        self.interrupted = Some(interrupted);
        for event in events {
            if let Event::Created(new) = event {
                self.model.create(at, new, &[], 0);
            }
        }
        for entity in self.model.given.clone() {
            let row = self.read(entity);
            self.model
                .believe(at, entity, row, self.universe.exists(entity));
        }
    }

    /// Each entity is as it must be after a flush, or as it would be if nobody had got to a chunk with a weather, or to a
    /// value that is required, in one of its batches; or it was to be created, or to be a clone, and is dead. What must be
    /// heard of each of these flushes.
    fn compare_with_each(&self, why: Fused, segments: &[Segment]) -> Vec<Outcome> {
        let at = self.at;
        let created = segments.iter().flat_map(|segment| &segment.created);
        let commands = segments.iter().flat_map(|segment| &segment.commands);
        let clones = commands.filter(|(_, act)| matches!(act, Act::Clone { .. }));
        let comes: BTreeSet<Entity> = clones
            .map(|(entity, _)| entity)
            .chain(created)
            .copied()
            .collect();
        let replay = |without: Option<usize>| {
            let (mut model, mut heard) = (self.model.clone(), Vec::new());
            let mut replay = Replay {
                model: &mut model,
                world: at,
                closed: &mut segments.to_vec(),
                opened: &mut self.opened.clone(),
                events: VecDeque::new(),
                fused: true,
                heard: &mut heard,
                batches: 0,
                without: without.map(|batch| (batch, why)),
            };
            replay.flush();
            let batches = replay.batches;
            let outcome = Outcome::new(&heard, scene(&model));
            (model, outcome, batches)
        };
        let (whole, outcome, batches) = replay(None);
        let (mut all, mut outcomes) = (vec![whole], vec![outcome]);
        for batch in 0..batches {
            let (model, outcome, _) = replay(Some(batch));
            all.push(model);
            outcomes.push(outcome);
        }
        for &entity in &self.model.given {
            let (real, lives) = (self.read(entity), self.universe.exists(entity));
            let is = |model: &Naive| match (model.row(at, entity), &real) {
                // A chunk has its own weather.
                (Ok(row), Some(real)) => row.without_weather() == real.without_weather(),
                (Ok(_), None) | (Err(_), Some(_)) => false,
                (Err(refusal), None) => lives != (refusal == Refusal::Destroyed),
            };
            let died = real.is_none() && !lives && comes.contains(&entity);
            assert!(
                all.iter().any(is) || died,
                "{entity} was to be one of {:?}, and is {real:?}",
                all.iter()
                    .map(|model| model.row(at, entity))
                    .collect::<Vec<_>>()
            );
        }
        outcomes
    }

    /// An entity as the world has it.
    pub(crate) fn read(&self, entity: Entity) -> Option<Row> {
        let world = &self.worlds[self.at];
        if !world.is_built(entity) {
            return None;
        }
        let mut row = Row::default();
        let mut put = |kind: Kind, payload: Option<u32>| {
            payload
                .into_iter()
                .for_each(|payload| row.set(kind, payload));
        };
        put(Kind::Small, world.get(entity).ok().map(|x: &Small| x.0));
        let text = world.get(entity).ok();
        put(Kind::Text, text.map(|x: &Text| x.0.parse().unwrap()));
        put(
            Kind::Counted,
            world.get(entity).ok().map(|x: &Counted| x.value),
        );
        put(
            Kind::Matrix,
            world.get(entity).ok().map(|x: &Matrix| x.0[0]),
        );
        put(Kind::Page, world.get(entity).ok().map(|x: &Page| x.0));
        put(
            Kind::Switch,
            world.get(entity).ok().map(|x: &Switch| x.0.into()),
        );
        put(
            Kind::Team,
            world.shared(entity).ok().map(|x: &Team| x.number),
        );
        let species = world.const_shared(entity).ok();
        put(Kind::Species, species.map(|x: &Species| x.0));
        let weather = world.chunk_fragment(entity).ok();
        put(Kind::Weather, weather.map(|x: &Weather| x.value));
        let tags = [
            (Kind::Tag, world.has::<Tag>(entity)),
            (Kind::Guard, world.has::<Guard>(entity)),
            (Kind::Awake, world.has::<Awake>(entity)),
        ];
        for (kind, has) in tags {
            put(kind, has.unwrap().then_some(0));
        }
        if matches!(world.is_enabled::<Switch>(entity), Ok(false)) {
            row.enable(Kind::Switch, false);
        }
        if matches!(world.is_enabled::<Awake>(entity), Ok(false)) {
            row.enable(Kind::Awake, false);
        }
        Some(row)
    }

    /// A world goes: what is recorded for it goes, too, and gives back the ids that it has promised.
    pub(crate) fn end_recorded(&mut self, at: usize) {
        let segments = std::mem::take(&mut self.recorded[at]);
        for (entity, act) in segments.iter().flat_map(|segment| &segment.commands) {
            if matches!(act, Act::Clone { .. }) && self.model.is_reserved(*entity) {
                self.model.release(at, *entity).unwrap();
            }
        }
        self.named[at] = false;
    }

    /// Values that count themselves and wait for a flush.
    pub(crate) fn waiting(&self, kind: Kind) -> usize {
        let commands = self.recorded.iter().flatten();
        let commands = commands.flat_map(|segment| &segment.commands);
        let waits = |act: &Act| match act {
            Act::Destroy | Act::Enable { .. } => 0,
            Act::Change { come, .. } => come.iter().filter(|&&come| come == kind).count(),
            Act::Clone { .. } => 0,
            Act::Call { .. } => usize::from(kind == Kind::Counted),
        };
        commands.map(|(_, act)| waits(act)).sum()
    }
}
