//! Few commands: applied without the lists and tables that only many are worth.
//!
//! What comes out is what the [general way](super::plan) makes, bit for bit, because the steps are its own, in its order:
//! entities chunk by chunk, those of a chunk that change alike together; where each goes is said before any is copied,
//! and holes are filled last. Left to the general way are closures, shared values, switches, entities that are not built
//! in the world and live, and chunks that may go as a whole.

mod kinds;
mod single;

use smallvec::SmallVec;

use crate::archetype::Row;
use crate::command::author::Author;
use crate::command::flush::apply::{Holes, end, fill_holes};
use crate::command::flush::half::Half;
use crate::command::flush::told::Told;
use crate::command::flush::{Flush, Piece};
use crate::command::lane::Lane;
use crate::entity::Entity;
use crate::panics::{Panicked, first, note};
use crate::world::change::carry;
use crate::world::compose::EdgeRef;
use crate::world::watch::{ADDED, DESTROYED, REMOVED, SET};
use crate::world::{World, WorldError};
use kinds::{Kinds, Lists};
use single::{Goes, Single, Singles, Values, alike, go_together, in_chunks};

/// Commands that are few.
const FEW: usize = 48;

/// And so many may be, where hardly two of them are in one chunk: what the general way does chunk by chunk is worth nothing
/// there.
const APART: usize = 512;

/// Pairs of neighbours in the order of commands that are looked at, and entities whose chunks are.
const LOOK: usize = 8;

/// Slots between two entities that lie in two chunks, as far as may be told without looking at them.
const GAP: u32 = 256;

/// Whether so many commands are few: O(1), or O(compositions) for some more. (Measured: the general way takes as long as 60
/// commands by the short one for itself, and as long as one for each chunk that it comes to.)
pub(super) fn are_few(world: &World, lanes: &[&Lane], pieces: &[Piece], total: usize) -> bool {
    total <= FEW || (total <= APART && are_apart(world, lanes, pieces, total))
}

#[cold]
#[inline(never)]
fn are_apart(world: &World, lanes: &[&Lane], pieces: &[Piece], total: usize) -> bool {
    let parts = || {
        pieces.iter().flat_map(|piece| {
            let lane = lanes[piece.lane];
            lane.log.parts(piece.commands.clone())
        })
    };
    let pairs = parts().flat_map(|part| part.entities.windows(2)).take(LOOK);
    let chunk_of = |entity| {
        world
            .locate(entity)
            .map(|(archetype, row)| (archetype, row.chunk))
    };
    let near = pairs.filter(|pair| {
        let (one, other) = (pair[0], pair[1]);
        // Neighbours by their handles may lie in chunks of two archetypes all the same.
        one.index().abs_diff(other.index()) < GAP && chunk_of(one) == chunk_of(other)
    });
    if near.count() > LOOK / 4 {
        return false;
    }
    let (mut looked, mut beside) = (0, 0);
    for &entity in parts().flat_map(|part| part.entities).take(LOOK) {
        if let Some((archetype, chunk)) = chunk_of(entity) {
            looked += 1;
            let chunk = &world.archetypes[archetype as usize].chunks[chunk as usize];
            beside += chunk.len.saturating_sub(1) as usize;
        }
    }
    // Where two lie in a chunk, each other command comes to one that no other has come to.
    if beside <= looked {
        return looked > 0;
    }
    // Else commands without order meet in a chunk as often as there are pairs of them, by how likely a second entity lies
    // beside a first one. 60 times are worth it.
    let mut missing = total * total * beside / (120 * looked);
    world.archetypes.iter().any(|data| {
        missing = missing.saturating_sub(data.entities);
        missing == 0
    })
}

/// Why there is no way from an archetype for a kind of op: asked once, as by the general way.
type Refused = SmallVec<[(u32, u32, WorldError); 1]>;

/// Whether all entities of a chunk change alike, so that the chunk might go to another archetype as it is.
fn is_whole(world: &World, kinds: &Kinds<'_>, run: &[Single]) -> bool {
    let data = &world.archetypes[run[0].archetype as usize];
    run.len() == data.chunks[run[0].chunk as usize].len as usize
        && kinds.lists(run[0].kind).is_some()
        && run.iter().all(|other| other.kind == run[0].kind)
}

/// Whether a chunk that might go as it is does not, as far as that is known without a plan. It goes nowhere; or it is
/// less than half full, and there is room for its entities; or some column comes or goes, and it is folded, or in an
/// ordered universe, or less than half full, and nothing is where it would go.
fn stays(world: &World, Singles { kinds, values, .. }: &Singles<'_>, run: &[Single]) -> bool {
    let data = &world.archetypes[run[0].archetype as usize];
    let chunk = &data.chunks[run[0].chunk as usize];
    let Some(Lists { gone, come }) = kinds.lists(run[0].kind) else {
        return true;
    };
    let mut changes = gone.iter().any(|&id| data.column_of(id).is_some());
    values.each(&run[0], |column, _| {
        changes |= column.layout.size() > 0 && come.binary_search(&column.id).is_ok();
    });
    if changes && (chunk.is_folded() || !world.refits()) {
        return true;
    }
    let change = world.bundles.known_change_of(gone, come);
    let Some(edge) = change.and_then(|change| data.edges.peek(change)) else {
        return false;
    };
    if edge.target == run[0].archetype {
        return true;
    }
    let target = &world.archetypes[edge.target as usize];
    if !target.shared.is_empty() {
        return false;
    }
    let is_alone = target.groups[0].chunks == 0;
    !target.wants_chunk(0, chunk) || (changes && is_alone && chunk.len < chunk.capacity / 2)
}

/// Tells what goes, which nobody has touched yet, and gathers what comes.
#[cold]
fn tell_few(world: &mut World, singles: &[Single]) -> Panicked {
    world.begin_gathering();
    let mut told = Told::default();
    let mut rows: SmallVec<[u32; 16]> = SmallVec::new();
    for run in in_chunks(singles) {
        rows.clear();
        let dying = run
            .iter()
            .filter(|single| matches!(single.goes, Goes::Dies));
        rows.extend(dying.map(|single| single.row));
        told.dying(world, run[0].chunk(), &rows);
    }
    for group in singles.chunk_by(alike) {
        rows.clear();
        // All of a group that go, or stay and get values, do it along the same edge.
        let mut along = None;
        for single in group {
            if let Goes::To(edge, _) | Goes::Stays(edge) = single.goes {
                along = Some(edge);
                rows.push(single.row);
            }
        }
        if let Some(edge) = along {
            told.changed(world, group[0].chunk(), &rows, &edge);
        }
    }
    told.tell(world)
}

impl Flush<'_> {
    /// Applies commands if they are few and simple; else `false`, and nothing is done.
    pub(super) fn apply_few(
        &mut self,
        world: &mut World,
        lanes: &[&Lane],
        pieces: &[Piece],
    ) -> bool {
        let total: usize = pieces.iter().map(|piece| piece.commands.len()).sum();
        // Not by how many threads there are: the way is the same on all machines.
        let forks = world.forks_from.is_some_and(|from| total >= from);
        if forks || !are_few(world, lanes, pieces, total) {
            return false;
        }
        let singles = &mut Singles::new(lanes);
        if singles.collect(world, pieces).is_none() {
            return false;
        }
        let may_go = |run| is_whole(world, &singles.kinds, run) && !stays(world, singles, run);
        if in_chunks(&singles.all).any(may_go) {
            return false;
        }
        for &(entity, piece) in &singles.dead {
            let by = self.author(world, lanes, &pieces[piece as usize]);
            self.report.drop_for_dead(entity, || by);
        }
        let refused = self.report.refused.len();
        let Singles {
            all, kinds, values, ..
        } = singles;
        let half = Half;
        self.plan_few(world, kinds, all);
        let is_watched = world.is_watched(DESTROYED | REMOVED | ADDED | SET);
        if is_watched {
            let panicked = tell_few(world, all);
            self.panicked = first(self.panicked.take(), panicked);
        }
        self.move_few(world, values, all);
        self.close_few(world, all);
        half.done();
        if self.report.refused.len() > refused {
            self.blame(world, lanes, pieces, refused);
        }
        if is_watched {
            let panicked = world.tell_gathered();
            self.panicked = first(self.panicked.take(), panicked);
        }
        true
    }

    /// The edge along which a command leads.
    fn edge_of(
        &mut self,
        world: &mut World,
        kinds: &Kinds<'_>,
        single: &Single,
        refused: &mut Refused,
    ) -> Result<EdgeRef, WorldError> {
        let known = |(archetype, kind, _): &&(u32, u32, WorldError)| {
            (*archetype, *kind) == (single.archetype, single.kind)
        };
        if let Some((_, _, error)) = refused.iter().find(known) {
            return Err(error.for_another(Entity::PLACEHOLDER));
        }
        let mut edge = Err(WorldError::Interrupted);
        if let Some(Lists { gone, come }) = kinds.lists(single.kind) {
            let change = world.bundles.change_of(gone, come);
            // A new archetype clones the templates of its chunk fragments, which may panic.
            note(&mut self.panicked, || {
                edge = world.edge_for(single.archetype, change);
            });
        }
        if let Err(error) = &edge {
            let again = error.for_another(Entity::PLACEHOLDER);
            refused.push((single.archetype, single.kind, again));
        }
        edge
    }

    /// Says for each entity where it goes, and takes the room there.
    fn plan_few(&mut self, world: &mut World, kinds: &Kinds<'_>, singles: &mut [Single]) {
        let mut refused = Refused::new();
        // As by the general way, archetypes and groups are made first that chunks might go to.
        for run in in_chunks(singles) {
            if is_whole(world, kinds, run)
                && let Ok(edge) = self.edge_of(world, kinds, &run[0], &mut refused)
                && edge.target != run[0].archetype
                && world.refits()
            {
                world.same_group(run[0].archetype, run[0].chunk, edge.target);
            }
        }
        for group in singles.chunk_by_mut(alike) {
            let rows = group.len();
            if kinds.lists(group[0].kind).is_none() {
                self.report.destroyed += rows;
                group.iter_mut().for_each(|single| single.goes = Goes::Dies);
                continue;
            }
            let (archetype, chunk) = group[0].chunk();
            let edge = match self.edge_of(world, kinds, &group[0], &mut refused) {
                Ok(edge) => edge,
                Err(error) => {
                    self.refuse_few(world, group, &error);
                    continue;
                }
            };
            if edge.target == archetype {
                if !edge.ended.is_empty() {
                    self.report.updated += rows;
                    (group.iter_mut()).for_each(|single| single.goes = Goes::Stays(edge));
                }
                continue;
            }
            let to = world.same_group(archetype, chunk, edge.target);
            let version = world.stamp();
            for at in 0..rows {
                let mut room = None;
                // As above.
                note(&mut self.panicked, || {
                    room = Some(world.room_for(edge.target, to, rows - at));
                });
                match room.unwrap_or(Err(WorldError::Interrupted)) {
                    Ok(row) => {
                        let data = &mut world.archetypes[edge.target as usize];
                        data.grown(row.chunk, 1, version);
                        group[at].goes = Goes::To(edge, row);
                        self.report.moved += 1;
                    }
                    Err(error) => {
                        self.refuse_few(world, &group[at..], &error);
                        world.let_go(edge.target, to);
                        break;
                    }
                }
            }
        }
    }

    /// Reports that entities of a chunk stay as they are.
    #[cold]
    #[inline(never)]
    fn refuse_few(&mut self, world: &World, singles: &[Single], error: &WorldError) {
        for single in singles {
            let data = &world.archetypes[single.archetype as usize];
            let chunk = &data.chunks[single.chunk as usize];
            // SAFETY: a row that has a handle. (Not all of the chunk have one: some are taken for entities
            // that are still to come.)
            let entity = unsafe { *chunk.handles().add(single.row as usize) };
            let error = error.for_another(entity);
            self.report.refuse(entity, error, Author::default());
        }
    }

    /// Brings entities to their rows, and values to entities.
    fn move_few(&mut self, world: &World, values: &Values<'_>, singles: &[Single]) {
        let mut rows: SmallVec<[u32; 16]> = SmallVec::new();
        for together in singles.chunk_by(go_together) {
            let (Goes::Stays(edge) | Goes::To(edge, _)) = together[0].goes else {
                continue;
            };
            if edge.ends_drop {
                // Column by column, as by the general way: users' drops see in which order they are called.
                rows.clear();
                rows.extend(together.iter().map(|single| single.row));
                let (archetype, chunk) = together[0].chunk();
                let source = &world.archetypes[archetype as usize];
                let chunk = &source.chunks[chunk as usize];
                // SAFETY: the values end, or are replaced in the next step.
                unsafe { end(source, chunk, &rows, &edge.ended, &mut self.panicked) };
            }
            Self::move_together(world, values, together);
        }
    }

    /// Brings entities that go together to their rows, whose old values have ended.
    fn move_together(world: &World, values: &Values<'_>, together: &[Single]) {
        for single in together {
            let (edge, to) = match single.goes {
                Goes::Not | Goes::Dies => continue,
                Goes::Stays(edge) => (edge, None),
                Goes::To(edge, row) => (edge, Some(row)),
            };
            let Single { chunk, row, .. } = *single;
            let from = Row { chunk, row };
            let source = &world.archetypes[single.archetype as usize];
            let target = &world.archetypes[edge.target as usize];
            let there = &source.chunks[chunk as usize];
            let (into, place) = match to {
                None => {
                    for at in source.positions_of(&edge.ended) {
                        there.touch(at, world.stamp());
                    }
                    (there, row)
                }
                Some(to) => {
                    carry(source, from, target, to, &edge);
                    if !edge.bits.is_empty() {
                        World::carry_bits(source, target, from, &edge, to);
                    }
                    (&target.chunks[to.chunk as usize], to.row)
                }
            };
            values.each(single, |values, nth| {
                if let Some(at) = target.column_of(values.id) {
                    let column = &target.columns[at];
                    let array = into.array(column.offset);
                    let value = array.wrapping_add(place as usize * column.size as usize);
                    // SAFETY: payloads are sealed when a flush begins; one command has this row, and it is done once.
                    // The old value there has just ended, or there was none.
                    unsafe { values.source().move_out(nth, value) };
                }
            });
            if to.is_some() {
                // SAFETY: a row of each chunk.
                unsafe {
                    let entity = *there.handles().add(row as usize);
                    into.handles().add(place as usize).write(entity);
                    world.universe.place(entity, into.run, place);
                }
            }
        }
    }

    /// Ends the entities that die, fills the holes, and notes what has left each chunk.
    fn close_few(&mut self, world: &mut World, singles: &[Single]) {
        let mut holes = Holes::default();
        let mut rows: SmallVec<[u32; 16]> = SmallVec::new();
        for run in in_chunks(singles) {
            let data = &world.archetypes[run[0].archetype as usize];
            let chunk = &data.chunks[run[0].chunk as usize];
            let dies = |single: &&Single| matches!(single.goes, Goes::Dies);
            rows.clear();
            rows.extend(run.iter().filter(dies).map(|single| single.row));
            if !rows.is_empty() {
                // SAFETY: the values end with their entities.
                unsafe { end(data, chunk, &rows, &data.columns, &mut self.panicked) };
                world.universe.kill_slice(holes.dying(chunk, &rows));
            }
            rows.clear();
            let leaving = run.iter().filter(|single| single.leaves());
            rows.extend(leaving.map(|single| single.row));
            rows.sort_unstable();
            // SAFETY: rows of the chunk, whose values are elsewhere or have ended; all that come are there.
            unsafe { fill_holes(world, data, chunk, &rows, &mut holes.movers) };
        }
        let version = world.stamp();
        // From the last chunk to the first, so that those that go leave the others where they are.
        for run in in_chunks(singles).rev() {
            let leaving = run.iter().filter(|single| single.leaves()).count() as u32;
            let (archetype, chunk) = run[0].chunk();
            if leaving > 0 {
                let data = &mut world.archetypes[archetype as usize];
                data.shrunk(&world.universe, world.number, chunk, leaving, version);
                world.settle_groups(archetype);
            }
        }
    }
}
