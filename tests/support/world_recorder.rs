//! What a recorder of the real worlds does with the calls that a script says, and what comes of each.

use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::fragment::{DynamicBundle, FragmentId, FragmentRegistry};
use megachunk::prelude::*;
use megachunk::world::Prototype;

use crate::world_bulk::{id, kinds_in, value};
use crate::world_commands::CommandOp;
use crate::world_fragments::{
    Awake, Counted, Fused, Kind, Ledger, Made, Matrix, Small, Switch, Tag, Team, Text, WithShape,
    gone_kinds_of, gone_shape_of, kinds_of, with_gone, with_shape,
};
use crate::world_naive::Refusal;
use crate::world_recorded::{Act, Deferred, Event};

/// What threads share that record.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) log: Arc<Mutex<VecDeque<Event>>>,
    pub(crate) calls: Arc<AtomicU32>,
    pub(crate) given: Arc<Vec<Entity>>,
}

/// What threads copy while they record, by the bits of its kinds and its payload. Not on the desk, where closures
/// would keep it until they have run.
pub(crate) type Prototypes = BTreeMap<(u16, u32), (Prototype, Vec<Kind>)>;

/// The same of templates.
pub(crate) type RecordedTemplates = BTreeMap<(u16, u32), (Arc<Template>, Vec<Kind>)>;

/// The kinds that the bits of a number stand for, to keep.
pub(crate) fn all_kinds_in(mask: u16) -> &'static [Kind] {
    static KNOWN: Mutex<BTreeMap<u16, &'static [Kind]>> = Mutex::new(BTreeMap::new());
    let mask = mask & (0x8000 | ((1 << Kind::ALL.len()) - 1));
    let mut known = KNOWN.lock().unwrap();
    known.entry(mask).or_insert_with(|| kinds_in(mask).leak())
}

/// What came of a call.
#[derive(Debug)]
pub(crate) enum Done {
    Created(&'static [Kind], u32, Vec<Entity>),
    /// Copies of a prototype with these kinds and this payload; where numbers of their own begin, if they have any.
    Copied(Vec<Kind>, u32, Option<u32>, Vec<Entity>),
    Built(Entity, &'static [Kind], u32, Result<(), Refusal>),
    /// Refused before anything was begun for it.
    NotBuilt(Entity, &'static [Kind], u32, Refusal),
    Wrote(Entity, u32, Result<(), Refusal>),
    Recorded(Entity, Act),
    /// Refused when it was recorded.
    /// What was to go, and to come.
    Refused(&'static [Kind], &'static [Kind], Refusal),
    /// The same of a switch.
    NotEnabled(Kind, Refusal),
    Reserved(Vec<Entity>),
    /// The clone, and of whom it is to be one.
    Cloned(Entity, Entity),
}

pub(crate) struct Recorder<'q> {
    pub(crate) commands: Commands<'q>,
    pub(crate) registry: &'q FragmentRegistry,
    pub(crate) prototypes: &'q Prototypes,
    pub(crate) templates: &'q RecordedTemplates,
    /// Which reserved entities it may build, if not all: those whose index, divided by the second number, leaves the
    /// first. (Of several recorders that build one, who comes first is chance.)
    pub(crate) builds: Option<(u32, u32)>,
    pub(crate) own: Vec<Entity>,
    pub(crate) done: Vec<Done>,
}

impl Recorder<'_> {
    pub(crate) fn resolve(&self, desk: &Desk, pick: u16) -> Option<Entity> {
        if pick >> 15 == 1 && !self.own.is_empty() {
            return Some(self.own[usize::from(pick & 0x7fff) % self.own.len()]);
        }
        let at = usize::from(pick).checked_rem(desk.given.len())?;
        Some(desk.given[at])
    }

    pub(crate) fn may_build(&self, entity: Entity) -> bool {
        let mine = |(own, all)| entity.index() % all == own;
        self.builds.is_none_or(mine)
    }

    pub(crate) fn record(&mut self, desk: &Desk, op: CommandOp) {
        match op {
            CommandOp::Create { shape, payload } => self.create(desk, shape, payload, None),
            CommandOp::CreateBatch {
                shape,
                payload,
                len,
            } => self.create(desk, shape, payload, Some(len)),
            CommandOp::CreateCopies {
                kinds,
                payload,
                len,
                how,
            } => self.copy((kinds, payload), len, how),
            CommandOp::CreateDynamic { kinds, payload } => {
                self.create_dynamic(desk, kinds, payload);
            }
            CommandOp::Defer {
                pick,
                what,
                payload,
            } => self.defer(desk, pick, what, payload),
            CommandOp::More(more) => self.record_more(desk, more),
            CommandOp::Build { pick, .. }
            | CommandOp::Write { pick, .. }
            | CommandOp::Destroy { pick }
            | CommandOp::Add { pick, .. }
            | CommandOp::Set { pick, .. }
            | CommandOp::Remove { pick, .. }
            | CommandOp::Swap { pick, .. }
            | CommandOp::SetShared { pick, .. }
            | CommandOp::Enable { pick, .. }
            | CommandOp::BuildDynamic { pick, .. }
            | CommandOp::AddDynamic { pick, .. }
            | CommandOp::RemoveDynamic { pick, .. } => {
                let builds = matches!(op, CommandOp::Build { .. } | CommandOp::BuildDynamic { .. });
                if let Some(entity) = self.resolve(desk, pick)
                    && (!builds || self.may_build(entity))
                {
                    let done = self.change(desk, entity, op);
                    self.done.push(done);
                }
            }
        }
    }

    fn create(&mut self, desk: &Desk, shape: u8, payload: u32, batch: Option<u16>) {
        struct Create<'a, 'q>(&'a mut Commands<'q>, &'a Desk, u32, Option<u16>);
        impl WithShape for Create<'_, '_> {
            type Out = Result<Vec<Entity>, WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                let Create(commands, desk, payload, batch) = self;
                let Some(len) = batch else {
                    return Ok(vec![commands.create(make(payload, &desk.ledger))?]);
                };
                let bundles = (0..len.into()).map(|n| make(payload.wrapping_add(n), &desk.ledger));
                let batch = commands.create_batch(bundles)?;
                let entities: Vec<Entity> = batch.iter(commands).collect();
                assert_eq!(entities.len(), batch.len());
                Ok(entities)
            }
        }
        let kinds = kinds_of(shape);
        let created = with_shape(shape, Create(&mut self.commands, desk, payload, batch));
        self.done.push(match created {
            Ok(entities) => {
                assert_eq!(entities.len(), usize::from(batch.unwrap_or(1)));
                self.own.extend(&entities);
                Done::Created(kinds, payload, entities)
            }
            Err(error) => Done::Refused(&[], kinds, Refusal::of(&error)),
        });
    }

    fn create_dynamic(&mut self, desk: &Desk, mask: u16, payload: u32) {
        let kinds = all_kinds_in(mask);
        let created = self
            .commands
            .create_dynamic(self.bundle(desk, kinds, payload));
        self.done.push(match created {
            Ok(entity) => {
                self.own.push(entity);
                Done::Created(kinds, payload, vec![entity])
            }
            Err(error) => Done::Refused(&[], kinds, Refusal::of(&error)),
        });
    }

    pub(crate) fn bundle(&self, desk: &Desk, kinds: &[Kind], payload: u32) -> DynamicBundle {
        let value = |&kind: &Kind| value(kind, self.registry, payload, &desk.ledger);
        kinds.iter().map(value).collect()
    }

    /// Creates copies of a prototype, if there is one of this name.
    fn copy(&mut self, name: (u16, u32), len: u16, how: u8) {
        let Some((prototype, kinds)) = self.prototypes.get(&name) else {
            return;
        };
        let (commands, first) = (&mut self.commands, name.1 ^ 0x5555);
        let len = usize::from(len);
        let batch = match how % 3 {
            0 => None,
            1 => Some(commands.create_copies(prototype, len).unwrap()),
            _ => {
                let make = |number| (Small(first.wrapping_add(number as u32)),);
                Some(commands.create_copies_with(prototype, len, make).unwrap())
            }
        };
        let entities: Vec<Entity> = match &batch {
            None => vec![commands.create_copy(prototype).unwrap()],
            Some(batch) => batch.iter(commands).collect(),
        };
        assert_eq!(entities.len(), batch.map_or(1, |_| len));
        self.own.extend(&entities);
        let numbers = (how % 3 == 2).then_some(first);
        self.done
            .push(Done::Copied(kinds.clone(), name.1, numbers, entities));
    }

    fn change(&mut self, desk: &Desk, entity: Entity, op: CommandOp) -> Done {
        struct Change<'a, 'q>(&'a mut Commands<'q>, &'a Desk, Entity, CommandOp);
        struct Come<'a, 'q, G>(Change<'a, 'q>, PhantomData<G>);
        impl WithShape for Change<'_, '_> {
            type Out = Result<(), WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                let Change(commands, desk, entity, op) = self;
                match op {
                    CommandOp::Build { payload, .. } => {
                        commands.build(entity, make(payload, &desk.ledger))
                    }
                    CommandOp::Add { payload, .. } => {
                        commands.add(entity, make(payload, &desk.ledger))
                    }
                    CommandOp::Swap { come, .. } => {
                        let change = Change(commands, desk, entity, op);
                        with_shape(come, Come::<B>(change, PhantomData))
                    }
                    _ => commands.remove::<B>(entity),
                }
            }
        }
        impl<G: Bundle> WithShape for Come<'_, '_, G> {
            type Out = Result<(), WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                let Change(commands, desk, entity, op) = self.0;
                let CommandOp::Swap { payload, .. } = op else {
                    unreachable!("only a swap has two bundles")
                };
                commands.swap::<G, B>(entity, make(payload, &desk.ledger))
            }
        }
        let of = |result: Result<(), WorldError>| result.map_err(|error| Refusal::of(&error));
        let recorded = |result: Result<(), WorldError>, gone, come, payload| match result {
            Ok(()) => Done::Recorded(
                entity,
                Act::Change {
                    gone,
                    come,
                    payload,
                },
            ),
            Err(error) => Done::Refused(gone, come, Refusal::of(&error)),
        };
        if let CommandOp::BuildDynamic { kinds, payload, .. }
        | CommandOp::AddDynamic { kinds, payload, .. } = op
        {
            let kinds = all_kinds_in(kinds);
            let bundle = self.bundle(desk, kinds, payload);
            if matches!(op, CommandOp::AddDynamic { .. }) {
                let added = self.commands.add_dynamic(entity, bundle);
                return recorded(added, &[], kinds, payload);
            }
            let built = of(self.commands.build_dynamic(entity, bundle));
            if built.is_ok() {
                self.own.push(entity);
            }
            return Done::Built(entity, kinds, payload, built);
        }
        let commands = &mut self.commands;
        match op {
            CommandOp::RemoveDynamic { kinds, .. } => {
                let kinds = all_kinds_in(kinds);
                let ids = kinds.iter().map(|&kind| id(kind, self.registry));
                let ids: Vec<FragmentId> = ids.collect();
                recorded(commands.remove_dynamic(entity, &ids), kinds, &[], 0)
            }
            CommandOp::Enable { which, on, .. } => {
                let kind = [Kind::Switch, Kind::Awake, Kind::Small][usize::from(which) % 3];
                let enabled = match which % 6 {
                    0 => commands.set_enabled::<Switch>(entity, on),
                    1 => commands.set_enabled::<Awake>(entity, on),
                    2 => commands.set_enabled::<Small>(entity, on),
                    _ => commands.set_enabled_dynamic(entity, id(kind, self.registry), on),
                };
                match enabled {
                    Ok(()) => Done::Recorded(entity, Act::Enable { kind, on }),
                    Err(error) => Done::NotEnabled(kind, Refusal::of(&error)),
                }
            }
            CommandOp::Build { shape, payload, .. } => {
                let built = of(with_shape(shape, Change(commands, desk, entity, op)));
                if built.is_ok() {
                    self.own.push(entity);
                }
                Done::Built(entity, kinds_of(shape), payload, built)
            }
            CommandOp::Write { payload, .. } => {
                let small = commands.get_mut::<Small>(entity);
                let wrote = small.map(|small| small.0 = payload);
                if wrote.is_ok() {
                    assert_eq!(commands.get::<Small>(entity).unwrap().0, payload);
                }
                Done::Wrote(entity, payload, of(wrote))
            }
            CommandOp::Destroy { .. } => {
                commands.destroy(entity);
                Done::Recorded(entity, Act::Destroy)
            }
            CommandOp::Add { shape, payload, .. } => {
                let added = with_shape(shape, Change(commands, desk, entity, op));
                recorded(added, &[], kinds_of(shape), payload)
            }
            CommandOp::Remove { shape, .. } => {
                let removed = with_shape(shape, Change(commands, desk, entity, op));
                recorded(removed, kinds_of(shape), &[], 0)
            }
            CommandOp::Swap {
                gone,
                come,
                payload,
                ..
            } => {
                let gone = gone_shape_of(gone);
                let swapped = with_gone(gone, Change(commands, desk, entity, op));
                recorded(swapped, gone_kinds_of(gone), kinds_of(come), payload)
            }
            CommandOp::SetShared { payload, .. } => {
                let team = Team::made(payload, &desk.ledger);
                recorded(
                    commands.set_shared(entity, team),
                    &[],
                    &[Kind::Team],
                    payload,
                )
            }
            CommandOp::Set { which, payload, .. } => {
                let ledger = &desk.ledger;
                let (set, come): (_, &[Kind]) = match which % 5 {
                    0 => (commands.set(entity, Small(payload)), &[Kind::Small]),
                    1 => (
                        commands.set(entity, Text::made(payload, ledger)),
                        &[Kind::Text],
                    ),
                    2 => (
                        commands.set(entity, Counted::made(payload, ledger)),
                        &[Kind::Counted],
                    ),
                    3 => (
                        commands.set(entity, Matrix::made(payload, ledger)),
                        &[Kind::Matrix],
                    ),
                    _ => (
                        commands.set(entity, Switch::made(payload, ledger)),
                        &[Kind::Switch],
                    ),
                };
                recorded(set, &[], come, payload)
            }
            _ => unreachable!("no change of an entity"),
        }
    }

    fn defer(&mut self, desk: &Desk, pick: u16, what: u8, payload: u32) {
        let what = [
            Deferred::Create,
            Deferred::Destroy,
            Deferred::Nested,
            Deferred::Later,
            Deferred::Add,
            Deferred::Check,
            Deferred::Flush,
        ][usize::from(what) % 7];
        let Some(entity) = self.resolve(desk, pick) else {
            return;
        };
        let serial = desk.calls.fetch_add(1, Ordering::Relaxed);
        // The closure owns something, which must go with it.
        let kept = Counted::made(payload, &desk.ledger);
        let desk = desk.clone();
        self.commands.defer(move |world| {
            let said = |event| desk.log.lock().unwrap().push_back(event);
            said(Event::Call(serial));
            // All of it, until the end: its drop may panic.
            let kept = kept;
            let payload = kept.value;
            match what {
                Deferred::Create => {
                    desk.ledger.burn(Fused::Make);
                    let new = world.create((Counted::made(payload, &desk.ledger),));
                    said(Event::Created(new.unwrap()));
                }
                Deferred::Destroy => drop(world.destroy(entity)),
                Deferred::Nested => {
                    let mut inner = world.commands();
                    let new = inner.create((Counted::made(payload, &desk.ledger),));
                    said(Event::Created(new.unwrap()));
                    inner.destroy(entity);
                    drop(inner);
                    said(Event::Report(world.flush()));
                }
                Deferred::Later => {
                    let mut inner = world.commands();
                    inner.set(entity, Small(payload)).unwrap();
                    inner.remove::<(Tag,)>(entity).unwrap();
                }
                Deferred::Add => drop(world.add(entity, (Small(payload), Tag))),
                Deferred::Check => world.check().unwrap(),
                Deferred::Flush => said(Event::Report(world.flush())),
            }
        });
        self.done.push(Done::Recorded(
            entity,
            Act::Call {
                serial,
                what,
                payload,
            },
        ));
    }
}
