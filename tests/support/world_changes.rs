//! What queries for changes must show of a world, and when they must show nothing; and what its hashes must tell apart.
//!
//! After each step each world is looked at: entities that came since the last look, or whose values differ from those at
//! that look, lie in chunks that have changed since. After a step that did nothing, no chunk has.

use std::collections::BTreeMap;
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::query::{Moved, QueryFilter};
use megachunk::world::Version;

use crate::world_bulk::{few, lets_through};
use crate::world_fragments::{
    Awake, Kind, Matrix, Small, Switch, Text, core_kinds_of, get_mut_kind, kinds_of, switch_kind,
};
use crate::world_machine::{Machine, WORLDS};
use crate::world_more::MoreOp;
use crate::world_naive::{Naive, Refusal};
use crate::world_ops::WorldOp;
use crate::world_row::Row;

/// What is looked for: changes of four fragments and of a tag that can be switched off, and moves.
const WATCHED: usize = 6;
/// The last of them.
const MOVES: usize = 5;
/// An entity does not have it.
const NONE: u64 = u64::MAX;

/// An entity as it was at the last look.
#[derive(Debug)]
pub(crate) struct Known {
    entity: Entity,
    /// Payloads, and whether they are switched off; of moves what decides in which chunks it can lie.
    values: [u64; WATCHED],
    /// The look that found the last change of each.
    touched: [usize; WATCHED],
}

impl Known {
    pub(crate) fn of(entity: Entity, row: &Row) -> Self {
        let mut values = [NONE; WATCHED];
        let mut place = 0;
        for kind in row.kinds() {
            let payload = u64::from(row.get(kind).unwrap());
            place |= 1 << kind as u64;
            let at = match kind {
                Kind::Small => 0,
                Kind::Text => 1,
                Kind::Matrix => 2,
                Kind::Switch => 3,
                Kind::Awake => 4,
                Kind::Team => {
                    place |= payload << 16;
                    continue;
                }
                Kind::Species => {
                    place |= payload << 32;
                    continue;
                }
                _ => continue,
            };
            values[at] = payload | u64::from(row.is_off(kind)) << 32;
        }
        values[MOVES] = place;
        Self {
            entity,
            values,
            touched: [0; WATCHED],
        }
    }
}

/// Looks for all changes of a world, step by step.
#[derive(Debug)]
pub(crate) struct Changes {
    small: Query<Entity, Changed<Small>>,
    text: Query<Entity, Changed<Text>>,
    matrix: Query<Entity, Changed<Matrix>>,
    switch: Query<Entity, Changed<Switch>>,
    awake: Query<Entity, Changed<Awake>>,
    moved: Query<Entity, Moved>,
    /// The world's version at each look.
    versions: Vec<Version>,
    /// The entities at the last look, in order.
    known: Vec<Known>,
}

impl Changes {
    /// For a world that has no entities.
    pub(crate) fn new(world: &World) -> Self {
        Self {
            small: Query::new(world).unwrap(),
            text: Query::new(world).unwrap(),
            matrix: Query::new(world).unwrap(),
            switch: Query::new(world).unwrap(),
            awake: Query::new(world).unwrap(),
            moved: Query::new(world).unwrap(),
            versions: Vec::new(),
            known: Vec::new(),
        }
    }

    /// The entities in chunks that have changed since a version, in order.
    fn since(&mut self, which: usize, world: &World, version: Version) -> Vec<Entity> {
        fn all<F: QueryFilter>(
            query: &mut Query<Entity, F>,
            world: &World,
            version: Version,
        ) -> Vec<Entity> {
            let mut seen = Vec::new();
            let mut run = query.read(world).since(version);
            // Those that are switched off, too.
            run.for_each_chunk(|chunk, _| seen.extend_from_slice(chunk.entities()));
            seen.sort_unstable();
            seen
        }
        match which {
            0 => all(&mut self.small, world, version),
            1 => all(&mut self.text, world, version),
            2 => all(&mut self.matrix, world, version),
            3 => all(&mut self.switch, world, version),
            4 => all(&mut self.awake, world, version),
            _ => all(&mut self.moved, world, version),
        }
    }

    /// Looks at a world that has these entities now: what differs from the last look must be seen, and nothing at all if
    /// nothing was done.
    pub(crate) fn look(&mut self, world: &World, mut now: Vec<Known>, quiet: bool) {
        let version = world.version();
        let last = self.versions.last().copied().unwrap_or_default();
        assert!(last <= version, "the version fell from {last} to {version}");
        self.versions.push(version);
        let number = self.versions.len();
        let mut differ: [Vec<Entity>; WATCHED] = Default::default();
        let mut before = self.known.iter().peekable();
        for known in &mut now {
            while before
                .next_if(|before| before.entity < known.entity)
                .is_some()
            {}
            let before = before.next_if(|before| before.entity == known.entity);
            for (which, differ) in differ.iter_mut().enumerate() {
                let value = known.values[which];
                let (was, touched) =
                    before.map_or((NONE, 0), |b| (b.values[which], b.touched[which]));
                known.touched[which] = touched;
                if value != was && value != NONE {
                    known.touched[which] = number;
                    differ.push(known.entity);
                }
            }
        }
        self.known = now;
        for (which, differ) in differ.iter().enumerate() {
            // One runs each time: what comes next has a later version.
            if quiet || which == MOVES || !differ.is_empty() {
                let seen = self.since(which, world, last);
                assert!(
                    !quiet || seen.is_empty(),
                    "{} entities have changed ({which}), though nothing was done",
                    seen.len()
                );
                must_see(which, &seen, differ.iter().copied());
            }
        }
    }
}

/// Of changes that a query is to show all must be there; others may, because a chunk changes as one.
fn must_see(which: usize, seen: &[Entity], mut differ: impl Iterator<Item = Entity>) {
    let missed = differ.find(|entity| seen.binary_search(entity).is_err());
    assert!(
        missed.is_none(),
        "the change of {missed:?} is not seen ({which})"
    );
}

impl Machine {
    /// Looks for what changed since a look before.
    pub(crate) fn since(&mut self, which: u8, back: u8) {
        let (world, changes) = (&self.worlds[self.at], &mut self.changes[self.at]);
        let which = usize::from(which) % WATCHED;
        let looks = changes.versions.len();
        let Some(back) = usize::from(back).checked_rem(looks) else {
            return;
        };
        let look = looks - 1 - back;
        let seen = changes.since(which, world, changes.versions[look]);
        let known = changes.known.iter();
        // They are counted from one on. Who has it no more is in no chunk of those that have it.
        let later =
            known.filter(|known| known.values[which] != NONE && known.touched[which] > look + 1);
        must_see(which, &seen, later.map(|known| known.entity));
    }

    /// Whether an operation changes nothing that can be seen, in each of the worlds.
    pub(crate) fn is_quiet(&self, op: WorldOp) -> [bool; WORLDS] {
        let quiet = self.does_nothing(op);
        let both = matches!(
            op,
            WorldOp::QueryMove { .. }
                | WorldOp::MoveSlice { .. }
                | WorldOp::MoveArchetype { .. }
                | WorldOp::MoveAll
                | WorldOp::Reload { .. }
                | WorldOp::More(MoreOp::MoveOne { .. } | MoreOp::Load { .. })
        );
        let mut all = [quiet || !both; WORLDS];
        all[self.at] = quiet;
        all
    }

    /// Whether an operation is refused, or only reads, or is about nobody.
    fn does_nothing(&self, op: WorldOp) -> bool {
        let row = |entity| self.model.row(self.at, entity);
        let picked = |pick| self.pick(pick).map(row);
        let refused = |pick| picked(pick).is_none_or(|row| row.is_err());
        let lacks = |pick, kinds: &[Kind]| match picked(pick) {
            Some(Ok(row)) => !kinds.iter().any(|&kind| row.has(kind)),
            _ => true,
        };
        let all_refused = |pick, len, stride| {
            let entities = self.slice(pick, len, stride);
            entities.into_iter().all(|entity| row(entity).is_err())
        };
        let nobody = |which| {
            let mut rows = self.model.rows(self.at);
            !rows.any(|(_, row)| lets_through(which, row))
        };
        match op {
            WorldOp::Reserve { .. }
            | WorldOp::Release { .. }
            | WorldOp::Watch
            | WorldOp::Forged { .. }
            | WorldOp::Trim
            | WorldOp::ChunkSize { .. }
            | WorldOp::Collect
            | WorldOp::Snapshot
            | WorldOp::Script { .. }
            | WorldOp::Command(_)
            | WorldOp::Record { .. }
            | WorldOp::Forks { .. }
            | WorldOp::Since { .. }
            // A chunk's own fragment has no such version.
            | WorldOp::SetChunkFragment { .. } => true,
            WorldOp::Flush { .. } => self.recorded[self.at].is_empty(),
            WorldOp::Query { which, .. } | WorldOp::Interrupt { which, .. } => {
                !self.queries[usize::from(which) % self.queries.len()].writes()
            }
            WorldOp::Create { shape, .. } => Naive::can_create(kinds_of(shape)).is_err(),
            WorldOp::CreateBatch { shape, len, .. } => {
                len == 0 || Naive::can_create(kinds_of(shape)).is_err()
            }
            WorldOp::Build { pick, .. } | WorldOp::BuildDynamic { pick, .. } => {
                !matches!(picked(pick), Some(Err(Refusal::NotBuilt)))
            }
            WorldOp::Destroy { pick, .. }
            | WorldOp::Add { pick, .. }
            | WorldOp::Take { pick, .. }
            | WorldOp::Swap { pick, .. }
            | WorldOp::SetShared { pick, .. }
            | WorldOp::Clone { pick, .. }
            | WorldOp::AddDynamic { pick, .. }
            | WorldOp::RemoveDynamic { pick, .. } => refused(pick),
            WorldOp::Remove { pick, shape, .. } => lacks(pick, kinds_of(shape)),
            WorldOp::GetMut { pick, which, .. } => lacks(pick, &[get_mut_kind(which)]),
            WorldOp::Enable { pick, which, .. } => {
                let kind = switch_kind(which);
                !kind.is_enableable() || lacks(pick, &[kind])
            }
            WorldOp::DestroySlice {
                pick, len, stride, ..
            }
            | WorldOp::AddSlice {
                pick, len, stride, ..
            }
            | WorldOp::RemoveSlice {
                pick, len, stride, ..
            }
            | WorldOp::MoveSlice {
                pick, len, stride, ..
            } => all_refused(pick, len, stride),
            WorldOp::QueryAdd { which, .. } => nobody(few(which)),
            WorldOp::QueryRemove { which, shape } => {
                let gone = core_kinds_of(shape);
                let mut rows = self.model.rows(self.at);
                !rows.any(|(_, row)| {
                    lets_through(few(which), row) && gone.iter().any(|&kind| row.has(kind))
                })
            }
            WorldOp::QueryDestroy { which, .. }
            | WorldOp::QueryShare { which, .. }
            | WorldOp::QueryMove { which } => nobody(which),
            WorldOp::More(op) => self.more_does_nothing(op),
            _ => false,
        }
    }
}

// --- Hashes ----------------------------------------------------------------------------------------

/// Adds what a hash of all that can be saved runs through: an entity, which of these kinds it has, their values, and what
/// is switched off.
pub(crate) fn add_plain(bytes: &mut Vec<u8>, entity: Entity, row: &Row) {
    bytes.extend(entity.to_bits().to_ne_bytes());
    for kind in row.kinds() {
        if kind.is_plain() {
            bytes.extend([kind as u8, u8::from(row.is_off(kind))]);
            bytes.extend(row.get(kind).unwrap().to_ne_bytes());
        }
    }
    bytes.push(u8::MAX);
}

/// What was in worlds, and their hashes: the one is the same where the other is.
#[derive(Debug, Default)]
pub(crate) struct Hashes {
    of: BTreeMap<Arc<[u8]>, u64>,
    meant: BTreeMap<u64, Arc<[u8]>>,
}

impl Hashes {
    /// A world with this in it has this hash.
    pub(crate) fn note(&mut self, rows: Arc<[u8]>, hash: u64) {
        let known = *self.of.entry(Arc::clone(&rows)).or_insert(hash);
        assert_eq!(known, hash, "the same in a world has two hashes");
        let meant = self.meant.entry(hash).or_insert_with(|| Arc::clone(&rows));
        assert!(
            *meant == rows,
            "two worlds that differ have the hash {hash}"
        );
    }

    /// Those of other worlds.
    pub(crate) fn join(&mut self, others: Self) {
        for (rows, hash) in others.of {
            self.note(rows, hash);
        }
    }
}
