//! Recorders of the real worlds: what is recorded, on how many threads, and the flush.
//!
//! Operations say what recorders are to record, their *scripts*; [`WorldOp::Record`](crate::world_ops::WorldOp)
//! lets threads do it. `world_recorder.rs` is one of them at work, `world_recorded.rs` says what must come out.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use megachunk::command::FlushReport;
use megachunk::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::world_fragments::{Fused, Guard, Kind};
use crate::world_machine::{Hands, Machine};
use crate::world_more_commands::MoreCommand;
use crate::world_naive::{Naive, Refusal};
use crate::world_recorded::{Act, MIDDLE, Replay, Segment, Tally};
use crate::world_recorder::{Desk, Done, Prototypes, RecordedTemplates, Recorder};
use crate::world_same::fused;

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
    /// Of a prototype with the kinds that bits stand for, which all recorders of a round have in common: one copy,
    /// several, or several with numbers of their own.
    CreateCopies {
        kinds: u16,
        payload: u32,
        len: u16,
        how: u8,
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
    /// On or off; by type or by number.
    Enable {
        pick: u16,
        which: u8,
        on: bool,
    },
    CreateDynamic {
        kinds: u16,
        payload: u32,
    },
    BuildDynamic {
        pick: u16,
        kinds: u16,
        payload: u32,
    },
    AddDynamic {
        pick: u16,
        kinds: u16,
        payload: u32,
    },
    RemoveDynamic {
        pick: u16,
        kinds: u16,
    },
    Defer {
        pick: u16,
        what: u8,
        payload: u32,
    },
    More(MoreCommand),
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
        let prototypes = self.prototypes_of(&scripts);
        let templates = self.templates_of(&scripts);
        let (threads, together) = match self.hands {
            Hands::One => (1, false),
            _ => (1 + usize::from(threads) % 4, together),
        };
        let ordered = self.is_ordered();
        let universe = Arc::clone(&self.universe);
        let world = &self.worlds[self.at];
        let parallel = match ordered {
            true => world.parallel_commands_for(scripts.len()),
            false => world.parallel_commands(),
        };
        // Which of several threads opens first is chance: then no two keys are the same.
        let alone = threads == 1 || together;
        let key = |at: usize| match alone {
            // Pieces of work have a key of their own.
            _ if ordered => {
                let mine = (scripts[at].key, at);
                let before = scripts.iter().zip(0..).map(|(script, at)| (script.key, at));
                before.filter(|before| *before < mine).count() as u64
            }
            true => scripts[at].key(),
            false => u64::from(scripts[at].key) << 16 | (at as u64 ^ 0xff),
        };
        let open = |at: usize| Recorder {
            commands: match key(at) {
                MIDDLE => parallel.open(),
                key => parallel.open_at(key),
            },
            registry: universe.registry(),
            prototypes: &prototypes,
            templates: &templates,
            builds: ordered.then_some((at as u32, scripts.len() as u32)),
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

    /// What is to be copied.
    fn prototypes_of(&mut self, scripts: &[Script]) -> Prototypes {
        let mut prototypes = Prototypes::new();
        for &command in scripts.iter().flat_map(|script| &script.commands) {
            let (kinds, payload) = match command {
                CommandOp::CreateCopies { kinds, payload, .. } => (kinds, payload),
                CommandOp::More(more) => match more.prototype() {
                    Some(named) => named,
                    None => continue,
                },
                _ => continue,
            };
            if !prototypes.contains_key(&(kinds, payload))
                && let Some(made) = self.prototype(kinds, payload)
            {
                prototypes.insert((kinds, payload), made);
            }
        }
        prototypes
    }

    /// The same of templates.
    fn templates_of(&mut self, scripts: &[Script]) -> RecordedTemplates {
        let mut templates = RecordedTemplates::new();
        for &command in scripts.iter().flat_map(|script| &script.commands) {
            if let CommandOp::More(more) = command
                && let Some((kinds, payload)) = more.template()
                && !templates.contains_key(&(kinds, payload))
            {
                templates.insert((kinds, payload), self.template(kinds, payload));
            }
        }
        templates
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
                    Done::Copied(mut kinds, payload, numbers, entities) => {
                        noticed |= !entities.is_empty();
                        if numbers.is_some() && !kinds.contains(&Kind::Small) {
                            kinds.push(Kind::Small);
                        }
                        for (n, entity) in (0..).zip(entities) {
                            self.model.create_pending(at, entity, &kinds, payload);
                            if let (Some(first), Some(row)) =
                                (numbers, self.model.pending_mut(at, entity))
                            {
                                row.add(&[Kind::Small], first.wrapping_add(n));
                            }
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
                    Done::NotBuilt(entity, kinds, payload, refusal) => {
                        refused.push((entity, kinds, payload, refusal));
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
                        match act {
                            Act::Change {
                                gone,
                                come,
                                payload,
                            } => {
                                assert_eq!(Naive::can_change(gone, come), Ok(()));
                                self.note_weathers(come, payload, 1);
                            }
                            Act::Enable { kind, .. } => assert!(kind.is_enableable()),
                            Act::Destroy | Act::Call { .. } | Act::Clone { .. } => {}
                        }
                        segment.commands.push((entity, act));
                    }
                    Done::Reserved(entities) => {
                        entities
                            .into_iter()
                            .for_each(|entity| self.model.reserve(entity));
                    }
                    Done::Cloned(new, of) => {
                        self.model.reserve(new);
                        segment.commands.push((new, Act::Clone { of }));
                    }
                    Done::Refused(gone, come, refusal) => {
                        assert_eq!(Naive::can_change(gone, come), Err(refusal));
                    }
                    Done::NotEnabled(kind, refusal) => {
                        assert!(!kind.is_enableable());
                        assert_eq!(refusal, Refusal::NotEnableable);
                    }
                }
            }
            if noticed || !segment.commands.is_empty() {
                self.recorded[at].push(segment);
            } else {
                self.named[at] = true;
            }
        }
        for (entity, kinds, payload, refusal) in refused {
            let expected = Naive::can_create(kinds)
                .and_then(|()| self.model.build(at, entity, kinds, payload));
            assert_eq!(expected, Err(refusal), "build by a recorder");
        }
    }

    /// Lets several threads share a world's flushes, however little there is to do, or not.
    pub(crate) fn set_forks(&mut self, on: bool) {
        if self.hands == Hands::AsSaid {
            self.forks[self.at] = on;
            self.worlds[self.at].set_flush_threads_from(on.then_some(1));
        }
    }

    pub(crate) fn flush(&mut self, fuse: u8) {
        self.log.lock().unwrap().clear();
        let (at, world) = (self.at, &mut self.worlds[self.at]);
        let flushed = match self.hands {
            // Which of several threads meets the fuse is chance, and says nothing: commands between two closures are
            // applied as a whole.
            Hands::AsSaid if self.forks[at] => {
                fused(&self.ledger, fuse, || flush_by(&pools()[1], world))
            }
            Hands::AsSaid => fused(&self.ledger, fuse, || world.flush()),
            // What would be compared with one thread's work is chance.
            Hands::Many => Ok(flush_by(&pools()[1], world)),
            Hands::One => Ok(flush_by(&pools()[0], world)),
        };
        let ordered = self.is_ordered();
        self.named[at] = false;
        let events = std::mem::take(&mut *self.log.lock().unwrap());
        if let Err(why @ (Fused::Clone | Fused::Fill)) = flushed {
            return self.look_again(why, events);
        }
        let mut replay = Replay {
            model: &mut self.model,
            world: at,
            closed: &mut self.recorded[at],
            opened: &mut self.opened,
            events,
            fused: flushed.is_err(),
            heard: &mut self.heard,
            batches: 0,
            without: None,
        };
        let expected = replay.flush();
        assert!(replay.events.is_empty(), "{:?}", replay.events);
        if let Ok(report) = flushed {
            let clean = report.dead == 0 && report.refused.is_empty();
            assert_eq!(report.is_clean(), clean);
            assert_eq!(Tally::of(&report), expected);
            assert!(!ordered || report.by_chance == 0, "ids by chance");
        }
    }
}

/// Threads that flush: one, and several.
fn pools() -> &'static [ThreadPool; 2] {
    static POOLS: OnceLock<[ThreadPool; 2]> = OnceLock::new();
    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build();
    POOLS.get_or_init(|| [1, 4].map(|threads| pool(threads).unwrap()))
}

/// A flush by the threads of a pool. Tags that this thread has made may end on any of them, so they work for one flush at a
/// time, and tell.
fn flush_by(pool: &ThreadPool, world: &mut World) -> FlushReport {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let turn = ONE_AT_A_TIME.lock();
    let _turn = turn.unwrap_or_else(PoisonError::into_inner);
    // What a test left there that failed.
    pool.broadcast(|_| Guard::take());
    let flushed = catch_unwind(AssertUnwindSafe(|| pool.install(|| world.flush())));
    let made = pool.broadcast(|_| Guard::take());
    Guard::put(made.into_iter().sum());
    flushed.unwrap_or_else(|panic| resume_unwind(panic))
}
