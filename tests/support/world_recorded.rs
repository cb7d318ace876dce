//! Recorders of the naive world: what a flush must do, command by command, in the order that is promised.
//!
//! Recorders by sort key, then by when they were opened; what they created first, then their commands in
//! order. A closure is a barrier: what stands between two of them becomes one net change for each entity.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use megachunk::prelude::*;

use crate::world_fragments::{Fused, Kind, kinds_of};
use crate::world_heard::{Heard, Stands, between};
use crate::world_naive::{Naive, Refusal};
use crate::world_row::Row;

/// The sort key of recorders that are given none.
pub(crate) const MIDDLE: u64 = 1 << 63;
/// Rounds of a flush.
const ROUNDS: usize = 5;

/// What a recorded closure does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deferred {
    /// Creates an entity, at once.
    Create,
    /// Destroys one, at once.
    Destroy,
    /// Records that one is created and one destroyed, and flushes.
    Nested,
    /// Records changes for the next round.
    Later,
    /// Adds fragments, at once.
    Add,
    /// Asks whether the world is sound.
    Check,
    /// Flushes.
    Flush,
}

/// What a command does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Destroy,
    Change {
        gone: &'static [Kind],
        come: &'static [Kind],
        payload: u32,
    },
    Enable {
        kind: Kind,
        on: bool,
    },
    Call {
        serial: u32,
        what: Deferred,
        payload: u32,
    },
    /// The entity, which is reserved, is to be a clone of this one.
    Clone {
        of: Entity,
    },
}

/// A recorder that has closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    pub(crate) key: u64,
    pub(crate) number: u64,
    pub(crate) created: Vec<Entity>,
    pub(crate) commands: Vec<(Entity, Act)>,
}

/// What closures say when they run.
#[derive(Debug)]
pub(crate) enum Event {
    /// The closure with this number begins.
    Call(u32),
    Created(Entity),
    Report(FlushReport),
}

/// What a flush reports, to be compared.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tally {
    commands: usize,
    pub(crate) created: usize,
    destroyed: usize,
    moved: usize,
    updated: usize,
    closures: usize,
    pub(crate) dead: usize,
    pub(crate) refused: Vec<(Entity, Refusal)>,
    rounds: usize,
    unfinished: bool,
}

impl Tally {
    pub(crate) fn of(report: &FlushReport) -> Self {
        let refused = report.refused.iter();
        let mut refused: Vec<_> = refused
            .map(|refused| (refused.entity, Refusal::of(&refused.error)))
            .collect();
        refused.sort_unstable_by_key(|&(entity, refusal)| (entity, refusal as u8));
        Self {
            commands: report.commands,
            created: report.created,
            destroyed: report.destroyed,
            moved: report.moved,
            updated: report.updated,
            closures: report.closures,
            dead: report.dead,
            refused,
            rounds: report.rounds,
            unfinished: report.unfinished,
        }
    }
}

/// A flush of a naive world.
pub(crate) struct Replay<'a> {
    pub(crate) model: &'a mut Naive,
    pub(crate) world: usize,
    /// Recorders that have closed.
    pub(crate) closed: &'a mut Vec<Segment>,
    /// Recorders that have been opened.
    pub(crate) opened: &'a mut u64,
    /// What the closures of the real flush said.
    pub(crate) events: VecDeque<Event>,
    /// Something panicked in the real flush: a closure may have ended early.
    pub(crate) fused: bool,
    /// What observers must be told.
    pub(crate) heard: &'a mut Vec<Heard>,
    /// What stands between two closures, or clones, is applied by itself: so many times until now.
    pub(crate) batches: usize,
    /// In this one nobody gets to a chunk with a weather, as cloning its template panicked, or to a value that is
    /// required, as making it did.
    pub(crate) without: Option<(usize, Fused)>,
}

impl Replay<'_> {
    pub(crate) fn flush(&mut self) -> Tally {
        let mut tally = Tally::default();
        while !self.closed.is_empty() {
            if tally.rounds == ROUNDS {
                tally.unfinished = true;
                break;
            }
            tally.rounds += 1;
            let mut segments = std::mem::take(self.closed);
            segments.sort_by_key(|segment| (segment.key, segment.number));
            for entity in segments.iter().flat_map(|segment| &segment.created) {
                self.model.join(self.world, *entity);
                self.note_created(*entity);
                tally.created += 1;
            }
            let mut batch = Vec::new();
            for &(entity, act) in segments.iter().flat_map(|segment| &segment.commands) {
                tally.commands += 1;
                match act {
                    Act::Call {
                        serial,
                        what,
                        payload,
                    } => {
                        self.apply(&mut batch, &mut tally);
                        tally.closures += 1;
                        self.call(serial, what, entity, payload);
                    }
                    Act::Clone { of } => {
                        self.apply(&mut batch, &mut tally);
                        self.keep_promise(entity, of, &mut tally);
                    }
                    act => batch.push((entity, act)),
                }
            }
            self.apply(&mut batch, &mut tally);
        }
        tally
            .refused
            .sort_unstable_by_key(|&(entity, refusal)| (entity, refusal as u8));
        tally
    }

    /// Applies commands among which is no closure.
    fn apply(&mut self, batch: &mut Vec<(Entity, Act)>, tally: &mut Tally) {
        let mut by_entity: BTreeMap<Entity, Vec<Act>> = BTreeMap::new();
        for (entity, act) in batch.drain(..) {
            match (self.model.row(self.world, entity), act) {
                (Ok(_), act) => by_entity.entry(entity).or_default().push(act),
                (Err(Refusal::NotBuilt), Act::Destroy) => {
                    self.model.release(self.world, entity).unwrap();
                    tally.destroyed += 1;
                }
                (Err(Refusal::Destroyed), _) => tally.dead += 1,
                (Err(refusal), _) => tally.refused.push((entity, refusal)),
            }
        }
        for (entity, acts) in by_entity {
            self.change(entity, &acts, tally);
        }
        self.batches += 1;
    }

    /// The net change of an entity.
    fn change(&mut self, entity: Entity, acts: &[Act], tally: &mut Tally) {
        let before = *self.model.row(self.world, entity).unwrap();
        let mut row = before;
        row.forget_given();
        let (mut written, mut gone, mut again) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (mut species, mut species_anew) = (None, false);
        let (mut switched, mut is_filled) = (BTreeSet::new(), false);
        for act in acts {
            match *act {
                // It wins over what follows.
                Act::Destroy => {
                    self.model.destroy(self.world, entity).unwrap();
                    tally.destroyed += 1;
                    self.note(entity, Some(&before), None);
                    return;
                }
                Act::Call { .. } | Act::Clone { .. } => unreachable!("closures end a batch"),
                // Who does not have it passes it by.
                Act::Enable { kind, on } => {
                    if row.has(kind) {
                        row.enable(kind, on);
                        switched.insert(kind);
                    }
                }
                Act::Change {
                    gone: named,
                    come,
                    payload,
                } => {
                    let go: Vec<Kind> = named
                        .iter()
                        .copied()
                        .filter(|k| !come.contains(k))
                        .collect();
                    row.remove(&go);
                    for kind in go {
                        gone.insert(kind);
                        written.remove(&kind);
                        again.remove(&kind);
                        switched.remove(&kind);
                        if kind == Kind::Species {
                            (species, species_anew) = (None, false);
                        }
                    }
                    row.add(come, payload);
                    for &kind in come {
                        written.insert(kind);
                        if gone.remove(&kind) {
                            match kind {
                                Kind::Species => species_anew = true,
                                kind if kind.is_enableable() => drop(again.insert(kind)),
                                _ => {}
                            }
                        }
                        if kind == Kind::Species {
                            species = Some(kind.keeps(payload));
                        }
                    }
                    for kind in row.complete(self.model.required, come, named) {
                        is_filled = true;
                        written.insert(kind);
                        if gone.remove(&kind) && kind.is_enableable() {
                            again.insert(kind);
                        }
                    }
                }
            }
        }
        // What is for ever stays, unless it goes first.
        let there = before.get(Kind::Species);
        if species.is_some() && there.is_some() && species != there && !species_anew {
            tally.refused.push((entity, Refusal::ConstShared));
            return;
        }
        if species_anew && row.has(Kind::Species) {
            row.give_species_again();
        }
        let lacks = |why| self.without == Some((self.batches, why));
        if lacks(Fused::Fill) && is_filled {
            return;
        }
        let shared = |row: &Row| [row.get(Kind::Team), row.get(Kind::Species)];
        if !row.has_the_kinds_of(&before) || shared(&row) != shared(&before) {
            if lacks(Fused::Clone) && row.has(Kind::Weather) {
                return;
            }
            tally.moved += 1;
        } else if !(again.is_empty() && switched.is_empty())
            || written.iter().any(|kind| kind.has_column())
        {
            tally.updated += 1;
        }
        self.note(entity, Some(&before), Some(&row));
        self.model.replace(self.world, entity, row);
    }

    fn call(&mut self, serial: u32, what: Deferred, entity: Entity, payload: u32) {
        match self.events.pop_front() {
            Some(Event::Call(begun)) => assert_eq!(begun, serial, "the order of closures"),
            other => panic!("closure {serial} did not run: {other:?}"),
        }
        match what {
            Deferred::Create => match self.created() {
                Some(new) => {
                    self.model.create(self.world, new, kinds_of(2), payload);
                    self.note_created(new);
                }
                None => assert!(self.fused),
            },
            Deferred::Destroy => {
                let before = self.model.row(self.world, entity).ok().cloned();
                let _ = self.model.destroy(self.world, entity);
                self.note(entity, before.as_ref(), None);
            }
            Deferred::Nested => {
                let new = self.created().unwrap();
                self.model
                    .create_pending(self.world, new, kinds_of(2), payload);
                self.close(vec![new], vec![(entity, Act::Destroy)]);
                self.nested();
            }
            Deferred::Later => {
                let set = Act::Change {
                    gone: &[],
                    come: &[Kind::Small],
                    payload,
                };
                let remove = Act::Change {
                    gone: &[Kind::Tag],
                    come: &[],
                    payload,
                };
                self.close(Vec::new(), vec![(entity, set), (entity, remove)]);
            }
            Deferred::Add => {
                let kinds = &[Kind::Small, Kind::Tag];
                if let Ok(row) = self.model.row_mut(self.world, entity) {
                    row.forget_given();
                }
                let before = self.model.row(self.world, entity).ok().cloned();
                let _ = self.model.add(self.world, entity, kinds, payload);
                let after = self.model.row(self.world, entity).ok().cloned();
                self.note(entity, before.as_ref(), after.as_ref());
            }
            Deferred::Check => {}
            Deferred::Flush => self.nested(),
        }
    }

    /// Notes what observers must be told of an entity.
    fn note(&mut self, entity: Entity, before: Option<&Row>, after: Option<&Row>) {
        let [before, after] =
            [before, after].map(|row| row.map(|row| Stands::new(self.world, row)));
        between(entity, before, after, self.heard);
    }

    pub(crate) fn note_created(&mut self, entity: Entity) {
        let row = *self.model.row(self.world, entity).unwrap();
        self.note(entity, None, Some(&row));
    }

    fn created(&mut self) -> Option<Entity> {
        match self.events.front() {
            Some(&Event::Created(new)) => {
                self.events.pop_front();
                Some(new)
            }
            _ => None,
        }
    }

    fn close(&mut self, created: Vec<Entity>, commands: Vec<(Entity, Act)>) {
        *self.opened += 1;
        self.closed.push(Segment {
            key: MIDDLE,
            number: *self.opened,
            created,
            commands,
        });
    }

    fn nested(&mut self) {
        let expected = self.flush();
        match self.events.front() {
            Some(Event::Report(_)) => {
                let Some(Event::Report(report)) = self.events.pop_front() else {
                    unreachable!()
                };
                assert_eq!(Tally::of(&report), expected, "a nested flush");
            }
            _ => assert!(self.fused),
        }
    }
}
