//! `Machine`: the worlds of a run on one universe, the model of what is in them, and what is kept to compare the two.
//!
//! Must hold: after each operation worlds and model agree in all that `world_compare.rs` asks for, also where a fuse panicked.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use megachunk::chunk::ChunkOptions;
use megachunk::entity::IndexOptions;
use megachunk::prelude::*;
use megachunk::world::{Universe, Version};

use crate::world_changes::{Changes, Hashes};
use crate::world_commands::Script;
use crate::world_fragments::{Guard, Kind, Ledger, Made, Team, register};
use crate::world_heard::{Ears, Heard, Scene, scene};
use crate::world_interrupted::Interrupted;
use crate::world_naive::Naive;
use crate::world_ops::WorldOp;
use crate::world_probes::{self, Kept, Watch};
use crate::world_recorded::{Event, Segment};
use crate::world_same::{fused, same};
use crate::world_weathers::Templates;

/// Worlds of a run.
pub(crate) const WORLDS: usize = 2;

/// Whose work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hands {
    /// As operations say; the universe is not ordered.
    AsSaid,
    /// As operations say, in an ordered universe; flushes are by several threads.
    Many,
    /// One thread's, in an ordered universe.
    One,
}

pub(crate) struct Machine {
    pub(crate) hands: Hands,
    pub(crate) universe: Arc<Universe>,
    pub(crate) worlds: Vec<World>,
    pub(crate) watches: Vec<Watch>,
    pub(crate) changes: Vec<Changes>,
    pub(crate) hashes: Hashes,
    /// The hash of each world when it was compared last.
    pub(crate) hashed: [u64; WORLDS],
    /// Whether several threads share the flushes of a world.
    pub(crate) forks: [bool; WORLDS],
    pub(crate) queries: Vec<Box<dyn Kept>>,
    pub(crate) model: Naive,
    pub(crate) ledger: Arc<Ledger>,
    /// Values that chunk fragments were given.
    pub(crate) weathers: BTreeSet<u32>,
    /// The world that the operation is about.
    pub(crate) at: usize,
    pub(crate) guards: i64,
    /// What recorders are to record.
    pub(crate) scripts: Vec<Script>,
    /// What has been recorded for each world.
    pub(crate) recorded: [Vec<Segment>; WORLDS],
    /// Recorders have closed that recorded nothing, but may have named shared values, which go with the next flush.
    pub(crate) named: [bool; WORLDS],
    /// Recorders that have been opened.
    pub(crate) opened: u64,
    /// What closures say.
    pub(crate) log: Arc<Mutex<VecDeque<Event>>>,
    pub(crate) calls: Arc<AtomicU32>,
    /// Who observes the worlds, if somebody does.
    pub(crate) ears: Option<Ears>,
    /// How often observers may be called in a step for the same change: mostly once.
    pub(crate) batches: usize,
    /// What a flush must have told.
    pub(crate) heard: Vec<Heard>,
    /// The same, of one that could not make something.
    pub(crate) interrupted: Option<Interrupted>,
    /// What new chunks begin with.
    pub(crate) templates: Templates,
}

impl Machine {
    pub(crate) fn new(hands: Hands, heard: bool) -> Self {
        let universe = Arc::new(universe_for(hands));
        register(&universe).unwrap();
        let ears = heard.then(Ears::default);
        let worlds = (0..WORLDS).map(|at| new_world(&universe, at, hands, ears.as_ref()));
        let worlds: Vec<World> = worlds.collect();
        let watches = worlds.iter().map(Watch::new);
        Self {
            hands,
            watches: watches.collect::<Result<_, _>>().unwrap(),
            changes: worlds.iter().map(Changes::new).collect(),
            hashes: Hashes::default(),
            hashed: [0; WORLDS],
            forks: [false; WORLDS],
            queries: world_probes::all(&worlds[0]).unwrap(),
            universe,
            worlds,
            model: Naive::default(),
            ledger: Arc::default(),
            weathers: BTreeSet::new(),
            at: 0,
            guards: Guard::alive(),
            scripts: Vec::new(),
            recorded: Default::default(),
            named: [false; WORLDS],
            opened: 0,
            log: Arc::default(),
            calls: Arc::default(),
            ears,
            batches: 1,
            heard: Vec::new(),
            interrupted: None,
            templates: Templates::new(),
        }
    }

    /// Runs operations; how the worlds of an ordered universe stood after which, and hashes of what was in the worlds.
    pub(crate) fn run(mut self, ops: &[(u8, WorldOp)]) -> (Vec<(usize, Stand)>, Hashes) {
        let mut stands = Vec::new();
        let mut sky = self.sky();
        for (number, &(world, op)) in ops.iter().enumerate() {
            self.at = usize::from(world) % WORLDS;
            let quiet = self.is_quiet(op);
            // What recorders are to do is only noted as yet: all is as it was.
            let says = matches!(op, WorldOp::Script { .. } | WorldOp::Command(_));
            let listens = self.ears.is_some() && !says;
            let before: Option<Scene> = listens.then(|| {
                self.model.forget_given();
                scene(&self.model)
            });
            self.step(op);
            self.model.names_go_along(self.at);
            if let Some(before) = before {
                self.listen(&before, op);
            }
            if says {
                continue;
            }
            sky = self.look_up(&sky, op);
            self.compare(number, quiet, number % 4 == 3 || number + 1 == ops.len());
            if self.is_ordered() {
                stands.push((number, self.stand()));
            }
        }
        let hashes = std::mem::take(&mut self.hashes);
        self.finish();
        (stands, hashes)
    }

    /// Whether ids are in order.
    pub(crate) fn is_ordered(&self) -> bool {
        self.hands != Hands::AsSaid
    }

    fn step(&mut self, op: WorldOp) {
        match op {
            WorldOp::Create {
                shape,
                payload,
                fuse,
            } => self.create(shape, payload, 1, fuse, false),
            WorldOp::CreateBatch {
                shape,
                payload,
                len,
                fuse,
            } => {
                self.create(shape, payload, len, fuse, true);
            }
            WorldOp::Reserve { len } => self.reserve(len),
            WorldOp::Build {
                pick,
                shape,
                payload,
                fuse,
            } => self.build(pick, shape, payload, fuse),
            WorldOp::Release { pick } => {
                if let Some(entity) = self.pick(pick) {
                    let real = self.worlds[self.at].release(entity);
                    same(real, self.model.release(self.at, entity), "release");
                }
            }
            WorldOp::Destroy { pick, fuse } => self.destroy(pick, fuse),
            WorldOp::DestroySlice {
                pick,
                len,
                stride,
                fuse,
            } => {
                self.destroy_slice(pick, len, stride, fuse);
            }
            WorldOp::Add {
                pick,
                shape,
                payload,
                fuse,
            } => self.add(pick, shape, payload, fuse),
            WorldOp::AddSlice {
                pick,
                len,
                stride,
                shape,
                payload,
                fuse,
            } => {
                self.add_slice(&self.slice(pick, len, stride), shape, payload, fuse);
            }
            WorldOp::Remove { pick, shape, fuse } => self.remove(pick, shape, fuse),
            WorldOp::Take { pick, which, fuse } => self.take(pick, which, fuse),
            WorldOp::RemoveSlice {
                pick,
                len,
                stride,
                shape,
            } => {
                self.remove_slice(&self.slice(pick, len, stride), shape);
            }
            WorldOp::Swap {
                pick,
                gone,
                come,
                payload,
                fuse,
            } => {
                self.swap(pick, gone, come, payload, fuse);
            }
            WorldOp::SetShared { pick, payload } => {
                if let Some(entity) = self.pick(pick) {
                    let value = Team::made(payload, &self.ledger);
                    let real = self.worlds[self.at].set_shared(entity, value);
                    let model = self.model.add(self.at, entity, &[Kind::Team], payload);
                    same(real, model, "set_shared");
                }
            }
            WorldOp::Enable { pick, which, on } => self.enable(pick, which, on),
            WorldOp::Clone { pick, fuse } => self.clone_entity(pick, fuse),
            WorldOp::GetMut {
                pick,
                which,
                payload,
            } => self.get_mut(pick, which, payload),
            WorldOp::SetChunkFragment { pick, payload } => self.set_chunk_fragment(pick, payload),
            WorldOp::Query { which, way } => {
                let which = usize::from(which) % self.queries.len();
                let world = &mut self.worlds[self.at];
                self.queries[which].run(world, &mut self.model, self.at, way);
            }
            WorldOp::Interrupt { which, fuse } => {
                let which = usize::from(which) % self.queries.len();
                let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
                let query = &mut self.queries[which];
                let _ = fused(ledger, fuse, || query.interrupt(world, ledger));
            }
            WorldOp::Chunks => {
                world_probes::chunks(&mut self.worlds[self.at], &mut self.model, self.at);
            }
            WorldOp::Watch => {
                self.watches[self.at].look(&mut self.worlds[self.at], &self.model, self.at);
            }
            WorldOp::Forged { index, version } => self.forged(index, version),
            WorldOp::Clear { fuse } => {
                let world = &mut self.worlds[self.at];
                let cleared = fused(&self.ledger, fuse, || world.clear());
                let expected = self.model.clear(self.at);
                assert_eq!(cleared.unwrap_or(expected), expected, "clear");
            }
            WorldOp::Trim => {
                self.worlds[self.at].trim();
                self.universe.trim();
                let names = self.model.names(self.at).count();
                assert_eq!(
                    self.worlds[self.at].stats().names,
                    names,
                    "names of the dead"
                );
            }
            WorldOp::ChunkSize { chunks } => {
                self.worlds[self.at].set_chunk_size(1 + usize::from(chunks) % 3);
            }
            WorldOp::Renew { fuse } => self.renew(fuse),
            op => self.step_of_many(op),
        }
    }

    /// Operations on many entities, on fragments known at run time only, on whole worlds, and by recorders.
    fn step_of_many(&mut self, op: WorldOp) {
        match op {
            WorldOp::QueryAdd {
                which,
                shape,
                payload,
                fuse,
            } => self.query_add(which, shape, payload, fuse),
            WorldOp::QueryRemove { which, shape } => self.query_remove(which, shape),
            WorldOp::QuerySwap {
                gone,
                come,
                payload,
            } => self.query_swap(gone, come, payload),
            WorldOp::QueryDestroy { which, fuse } => self.query_destroy(which, fuse),
            WorldOp::QueryShare { which, payload } => self.query_share(which, payload),
            WorldOp::QueryMove { which } => self.query_move(which),
            WorldOp::MoveSlice {
                pick,
                len,
                stride,
                fuse,
            } => self.move_slice(pick, len, stride, fuse),
            WorldOp::MoveArchetype { shape } => self.move_archetype(shape),
            WorldOp::MoveAll => self.move_all(),
            WorldOp::CreateDynamic {
                kinds,
                payload,
                fuse,
            } => self.create_dynamic(kinds, payload, fuse),
            WorldOp::BuildDynamic {
                pick,
                kinds,
                payload,
                fuse,
            } => self.build_dynamic(pick, kinds, payload, fuse),
            WorldOp::AddDynamic {
                pick,
                kinds,
                payload,
                fuse,
            } => self.add_dynamic(pick, kinds, payload, fuse),
            WorldOp::RemoveDynamic { pick, kinds, fuse } => self.remove_dynamic(pick, kinds, fuse),
            WorldOp::CreateCopies {
                kinds,
                payload,
                len,
                fuse,
            } => self.create_copies(kinds, payload, len, fuse),
            WorldOp::Compact { budget } => self.compact(budget),
            WorldOp::Collect => self.collect(),
            WorldOp::Snapshot => self.save_and_load(),
            WorldOp::Script { key } => self.scripts.push(Script {
                key,
                commands: Vec::new(),
            }),
            WorldOp::Command(command) => {
                if let Some(script) = self.scripts.last_mut() {
                    script.commands.push(command);
                }
            }
            WorldOp::Record { threads, together } => self.record(threads, together),
            WorldOp::Flush { fuse } => self.flush(fuse),
            WorldOp::Forks { on } => self.set_forks(on),
            WorldOp::Since { which, back } => self.since(which, back),
            WorldOp::Reload { how } => self.reload(how),
            WorldOp::More(op) => self.step_of_more(op),
            op => unreachable!("{op:?} is an operation on one entity"),
        }
    }

    pub(crate) fn pick(&self, pick: u16) -> Option<Entity> {
        let given = &self.model.given;
        let at = usize::from(pick).checked_rem(given.len())?;
        Some(given[at])
    }

    pub(crate) fn slice(&self, pick: u16, len: u8, stride: u8) -> Vec<Entity> {
        let given = &self.model.given;
        let all = (0..usize::from(len)).filter_map(|n| {
            let at = usize::from(pick) + n * usize::from(stride);
            Some(given[at.checked_rem(given.len())?])
        });
        all.collect()
    }
}

/// How worlds stand after a step: ids that have been given out, hashes, and the chunks of each world in their order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) given: Vec<Entity>,
    pub(crate) hashes: [u64; WORLDS],
    pub(crate) chunks: [Vec<ChunkStand>; WORLDS],
}

/// How a chunk stands: where it comes, when its rows moved and its columns changed, its weather, and the entities in the
/// order of their rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChunkStand {
    pub(crate) sort_key: u64,
    pub(crate) order_version: Version,
    pub(crate) change_versions: [Option<Version>; 5],
    pub(crate) weather: Option<u32>,
    pub(crate) entities: Vec<Entity>,
}

/// Options that cost little: huge pages would be cleared for a handful of entities.
fn options() -> (IndexOptions, ChunkOptions) {
    let (index, chunks) = (IndexOptions::new(), ChunkOptions::new());
    (index.huge_pages(false), chunks.huge_pages(false))
}

/// A universe that costs little to make.
pub(crate) fn universe() -> Universe {
    universe_for(Hands::AsSaid)
}

/// The same, ordered or not.
pub(crate) fn universe_for(hands: Hands) -> Universe {
    let (index, chunks) = options();
    match hands {
        Hands::AsSaid => Universe::with(&index, &chunks).unwrap(),
        Hands::Many | Hands::One => Universe::ordered_with(&index, &chunks).unwrap(),
    }
}

/// A new world of a universe, which has this number.
pub(crate) fn new_world(
    universe: &Arc<Universe>,
    number: usize,
    hands: Hands,
    ears: Option<&Ears>,
) -> World {
    let mut world = World::of(universe).unwrap();
    begin(&mut world, number, hands, ears);
    world
}

/// Flushes of a world are shared out however little there is to do, if several threads are to work; and it is observed, if
/// somebody is to hear of it.
pub(crate) fn begin(world: &mut World, number: usize, hands: Hands, ears: Option<&Ears>) {
    if hands == Hands::Many {
        world.set_flush_threads_from(Some(1));
    }
    if let Some(ears) = ears {
        ears.listen_to(world, number).unwrap();
    }
}
