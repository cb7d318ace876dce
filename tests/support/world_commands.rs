//! Recorders of the real worlds: what is recorded, on how many threads, and the flush.
//!
//! Operations say what recorders are to record, their *scripts*; [`WorldOp::Record`](crate::world_ops::WorldOp)
//! lets threads do it. `world_recorded.rs` says what must come out.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use megachunk::prelude::*;

use crate::world_fragments::{
    Counted, Fused, GONE_SHAPES, Guard, Kind, Ledger, Made, Matrix, Small, Switch, Tag, Team, Text,
    WithShape, gone_kinds_of, kinds_of, with_gone, with_shape,
};
use crate::world_naive::{Naive, Refusal};
use crate::world_ops::{Machine, fused};
use crate::world_recorded::{Act, Deferred, Event, MIDDLE, Replay, Segment, Tally};

/// A call of a recorder. A `pick` names one of the entities that it has created if its highest bit is set,
/// else one of all.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CommandOp {
    Create {
        shape: u8,
        payload: u32,
    },
    CreateBatch {
        shape: u8,
        payload: u32,
        len: u16,
    },
    Build {
        pick: u16,
        shape: u8,
        payload: u32,
    },
    /// Through `get_mut`.
    Write {
        pick: u16,
        payload: u32,
    },
    Destroy {
        pick: u16,
    },
    Add {
        pick: u16,
        shape: u8,
        payload: u32,
    },
    Set {
        pick: u16,
        which: u8,
        payload: u32,
    },
    Remove {
        pick: u16,
        shape: u8,
    },
    Swap {
        pick: u16,
        gone: u8,
        come: u8,
        payload: u32,
    },
    SetShared {
        pick: u16,
        payload: u32,
    },
    Defer {
        pick: u16,
        what: u8,
        payload: u32,
    },
}

/// What a recorder is to record.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) key: u8,
    pub(crate) commands: Vec<CommandOp>,
}

impl Script {
    fn key(&self) -> u64 {
        MIDDLE - 128 + u64::from(self.key)
    }
}

/// What threads share that record.
#[derive(Clone, Debug)]
struct Desk {
    ledger: Arc<Ledger>,
    log: Arc<Mutex<VecDeque<Event>>>,
    calls: Arc<AtomicU32>,
    given: Arc<Vec<Entity>>,
}

/// What came of a call.
#[derive(Debug)]
enum Done {
    Created(&'static [Kind], u32, Vec<Entity>),
    Built(Entity, &'static [Kind], u32, Result<(), Refusal>),
    Wrote(Entity, u32, Result<(), Refusal>),
    Recorded(Entity, Act),
    /// Refused when it was recorded.
    /// What was to go, and to come.
    Refused(&'static [Kind], &'static [Kind], Refusal),
}

struct Recorder<'q> {
    commands: Commands<'q>,
    own: Vec<Entity>,
    done: Vec<Done>,
}

impl Recorder<'_> {
    fn resolve(&self, desk: &Desk, pick: u16) -> Option<Entity> {
        if pick >> 15 == 1 && !self.own.is_empty() {
            return Some(self.own[usize::from(pick & 0x7fff) % self.own.len()]);
        }
        let at = usize::from(pick).checked_rem(desk.given.len())?;
        Some(desk.given[at])
    }

    fn record(&mut self, desk: &Desk, op: CommandOp) {
        match op {
            CommandOp::Create { shape, payload } => self.create(desk, shape, payload, None),
            CommandOp::CreateBatch {
                shape,
                payload,
                len,
            } => self.create(desk, shape, payload, Some(len)),
            CommandOp::Defer {
                pick,
                what,
                payload,
            } => self.defer(desk, pick, what, payload),
            CommandOp::Build { pick, .. }
            | CommandOp::Write { pick, .. }
            | CommandOp::Destroy { pick }
            | CommandOp::Add { pick, .. }
            | CommandOp::Set { pick, .. }
            | CommandOp::Remove { pick, .. }
            | CommandOp::Swap { pick, .. }
            | CommandOp::SetShared { pick, .. } => {
                if let Some(entity) = self.resolve(desk, pick) {
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
        let commands = &mut self.commands;
        match op {
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
                let gone = gone % GONE_SHAPES;
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

impl Machine {
    /// Lets threads record what the scripts say: recorders are open side by side, or one after the other.
    pub(crate) fn record(&mut self, threads: u8, together: bool) {
        let scripts = std::mem::take(&mut self.scripts);
        let desk = Desk {
            ledger: Arc::clone(&self.ledger),
            log: Arc::clone(&self.log),
            calls: Arc::clone(&self.calls),
            given: Arc::new(self.model.given.clone()),
        };
        let threads = 1 + usize::from(threads) % 4;
        let parallel = self.worlds[self.at].parallel_commands();
        // Which of several threads opens first is chance: then no two keys are the same.
        let alone = threads == 1 || together;
        let key = |at: usize| match alone {
            true => scripts[at].key(),
            false => u64::from(scripts[at].key) << 16 | (at as u64 ^ 0xff),
        };
        let open = |at: usize| Recorder {
            commands: match key(at) {
                MIDDLE => parallel.open(),
                key => parallel.open_at(key),
            },
            own: Vec::new(),
            done: Vec::new(),
        };
        let mut opened: Vec<Option<Recorder<'_>>> = (0..scripts.len())
            .map(|at| together.then(|| open(at)))
            .collect();
        let work = |mine: Vec<(usize, Option<Recorder<'_>>)>| {
            let mut all = Vec::new();
            let mut side_by_side = Vec::new();
            for (at, recorder) in mine {
                match recorder {
                    Some(recorder) => side_by_side.push((at, recorder)),
                    None => {
                        let mut recorder = open(at);
                        for &op in &scripts[at].commands {
                            recorder.record(&desk, op);
                        }
                        all.push((at, recorder.done));
                    }
                }
            }
            // In turns, and the last one closes first.
            let most = scripts.iter().map(|script| script.commands.len()).max();
            for turn in 0..most.unwrap_or(0) {
                for (at, recorder) in &mut side_by_side {
                    if let Some(&op) = scripts[*at].commands.get(turn) {
                        recorder.record(&desk, op);
                    }
                }
            }
            while let Some((at, recorder)) = side_by_side.pop() {
                all.push((at, recorder.done));
            }
            (all, Guard::take())
        };
        let mut shares: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for (at, recorder) in opened.drain(..).enumerate() {
            shares[at % threads].push((at, recorder));
        }
        let guards = Guard::take();
        let done: Vec<_> = if threads == 1 {
            shares.into_iter().map(work).collect()
        } else {
            thread::scope(|scope| {
                let work = &work;
                let spawned = shares
                    .into_iter()
                    .map(|share| scope.spawn(move || work(share)));
                let spawned: Vec<_> = spawned.collect();
                let joined = spawned.into_iter().map(|thread| thread.join().unwrap());
                joined.collect()
            })
        };
        let mut all = Vec::new();
        for (some, made) in done {
            Guard::put(made);
            all.extend(some);
        }
        Guard::put(guards);
        all.sort_by_key(|(at, _)| *at);
        let keys: Vec<u64> = (0..scripts.len()).map(key).collect();
        self.note_recorded(all, &keys);
    }

    /// Tells the model what was recorded.
    fn note_recorded(&mut self, all: Vec<(usize, Vec<Done>)>, keys: &[u64]) {
        let at = self.at;
        let mut refused = Vec::new();
        for (script, done) in all {
            self.opened += 1;
            let mut segment = Segment {
                key: keys[script],
                number: self.opened,
                ..Segment::default()
            };
            // Also what is refused may have made a recorder known to the flush.
            let mut noticed = false;
            for done in done {
                match done {
                    Done::Created(kinds, payload, entities) => {
                        self.note_weathers(kinds, payload, entities.len() as u32);
                        noticed |= !entities.is_empty();
                        for (n, entity) in (0..).zip(entities) {
                            let payload = payload.wrapping_add(n);
                            self.model.create_pending(at, entity, kinds, payload);
                            segment.created.push(entity);
                        }
                    }
                    Done::Built(entity, kinds, payload, result) => {
                        self.note_weathers(kinds, payload, 1);
                        noticed |= Naive::can_create(kinds).is_ok();
                        match result {
                            Ok(()) => {
                                self.model.build(at, entity, kinds, payload).unwrap();
                                self.model.set_pending(entity);
                                segment.created.push(entity);
                            }
                            Err(refusal) => refused.push((entity, kinds, payload, refusal)),
                        }
                    }
                    Done::Wrote(entity, payload, result) => {
                        let own = segment.created.contains(&entity);
                        let expected = match self.model.pending_mut(at, entity).filter(|_| own) {
                            Some(row) if row.has(Kind::Small) => {
                                row.add(&[Kind::Small], payload);
                                Ok(())
                            }
                            Some(_) => Err(Refusal::Missing),
                            None => match self.model.row(at, entity) {
                                Err(Refusal::Destroyed) => Err(Refusal::Destroyed),
                                _ => Err(Refusal::Elsewhere),
                            },
                        };
                        assert_eq!(result, expected, "get_mut of a recorder");
                    }
                    Done::Recorded(entity, act) => {
                        if let Act::Change {
                            gone,
                            come,
                            payload,
                        } = act
                        {
                            assert_eq!(Naive::can_change(gone, come), Ok(()));
                            self.note_weathers(come, payload, 1);
                        }
                        segment.commands.push((entity, act));
                    }
                    Done::Refused(gone, come, refusal) => {
                        assert_eq!(Naive::can_change(gone, come), Err(refusal));
                    }
                }
            }
            if noticed || !segment.commands.is_empty() {
                self.recorded[at].push(segment);
            }
        }
        for (entity, kinds, payload, refusal) in refused {
            let expected = Naive::can_create(kinds)
                .and_then(|()| self.model.build(at, entity, kinds, payload));
            assert_eq!(expected, Err(refusal), "build by a recorder");
        }
    }

    pub(crate) fn flush(&mut self, fuse: u8) {
        self.log.lock().unwrap().clear();
        let (at, world) = (self.at, &mut self.worlds[self.at]);
        let flushed = fused(&self.ledger, fuse, || world.flush());
        let events = std::mem::take(&mut *self.log.lock().unwrap());
        if matches!(flushed, Err(Fused::Clone)) {
            return self.look_again(events);
        }
        let mut replay = Replay {
            model: &mut self.model,
            world: at,
            closed: &mut self.recorded[at],
            opened: &mut self.opened,
            events,
            fused: flushed.is_err(),
        };
        let expected = replay.flush();
        assert!(replay.events.is_empty(), "{:?}", replay.events);
        if let Ok(report) = flushed {
            let clean = report.dead == 0 && report.refused.is_empty();
            assert_eq!(report.is_clean(), clean);
            assert_eq!(Tally::of(&report), expected);
        }
    }
}
