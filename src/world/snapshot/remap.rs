//! Worlds come out of a file into a universe where others live: their entities get new ids.

use std::path::Path;
use std::sync::Arc;

use crate::archetype::Universe;
use crate::chunk::CHUNK_BYTES;
use crate::entity::{Entity, EntityIndex, EntityMap, Full, Place};
use crate::world::snapshot::demand::Demand;
use crate::world::snapshot::file::FileBytes;
use crate::world::snapshot::load::bring_worlds;
use crate::world::snapshot::read::{Coming, Saved};
use crate::world::snapshot::{LoadOptions, SnapshotError};
use crate::world::{World, WorldError};

/// Bytes that chunks may take whatever the entities are that lie in them, and so many times the bytes of their file: of 28
/// bytes of a file a chunk of 1 MiB can be, else.
const LAVISH: u64 = 64 << 20;
const LAVISH_TIMES: u64 = 16;

impl World {
    /// Loads a world that was [saved](Self::save) into a universe that is in use, all of it unless the
    /// [options](LoadOptions) say that something does not come: all its entities come with new ids, and who has become whom is told. So the same file can be loaded many times, and beside whatever lives: regions of
    /// a large map that come and go, a group of entities that know each other, a second world like one that there is.
    ///
    /// # Who is meant
    ///
    /// Handles in values lead to the entities that were meant, where the fragment's type is one that [knows its
    /// handles](crate::fragment::Plain::MAP_ENTITIES): [`Entity`], arrays, and what [`plain!`](crate::plain) makes
    /// plain, in fragments, chunk fragments and shared ones; and where what
    /// [reads](crate::fragment::FragmentRegistry::register_written_as) values leads them there. In a fragment that is
    /// [defined](crate::fragment::FragmentRegistry::define_plain) by its layout alone nobody knows what is a handle: there
    /// they stay as they are, and may name others who live now; whoever defines it [changes](EntityMap::apply) them, once.
    ///
    /// Whom else handles may mean, who does not come out of this file, `known` says: what has come out of another file of
    /// the same universe, or the player, who is always there. (A handle of somebody who has not gone since is his handle
    /// still: a map of `(player, player)`, or, where the file was saved from this very universe, one that [keeps all
    /// others](EntityMap::keeping_others).) What comes back tells of those who have come, and not of those who were known:
    /// `known.iter().chain(come.iter()).collect()` tells of both. All others become [`Entity::PLACEHOLDER`], for good, if
    /// it is saved again. So shared values that only such an entity told apart are one then, and so are the groups of
    /// entities that have them; and what chunks begin with is left out where it is no value any more: new ones of a
    /// composition that has come begin with what the first of its chunks has, then.
    ///
    /// # Beside others
    ///
    /// Any thread may load while others use worlds of the same universe: it waits for nobody, and nobody for it, as it is
    /// with creations. (Threads of the current rayon pool that have time help to check 256 KiB and more, as in loops; in
    /// a pool of its own, by `install`, a load takes no time from those.) [`move_all_to`](Self::move_all_to) then brings
    /// what was loaded to another world, without a copy but where chunks are less than half full, or much is free there.
    /// A file decides how many chunks and ids it takes: one that comes from strangers can ask for all that a universe has,
    /// and [`SnapshotSummary`](crate::world::SnapshotSummary) says beforehand for how many it does. A chunk takes no more
    /// than its entities need, to the next power of two of the shortest chunks of its composition; these have 16 KiB,
    /// whatever [size](Self::set_chunk_size) the saved world had set, in a file whose chunks would take more than 64 MiB
    /// and sixteen times its own bytes.
    ///
    /// What the world had besides its entities comes as it does with [`load`](Self::load): names, resources, delayed signals
    /// and its time. Of these names alone go along with [`move_all_to`](Self::move_all_to): signals have [a call of their
    /// own](Self::move_signals_to), and resources are taken out of one world and put into the other.
    ///
    /// All that [`load`](Self::load) says of values, rows and chunks holds here, too, but that chunks and compositions
    /// without entities do not come, and none is longer than needed. In an [ordered](Universe::ordered) universe ids are the
    /// same each time only if no other thread uses it meanwhile.
    ///
    /// As [`load`](Self::load), and O(entities + known), or O((entities + known) log (entities + known)) where their ids lie
    /// far apart, or the versions of the dead were left out. Of few entities of a universe that has had very many these
    /// are most of a file: see [`SnapshotOptions::skip_dead`](crate::world::SnapshotOptions::skip_dead).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::entity::EntityMap;
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Follows { leader: Entity, hunts: Entity }
    /// megachunk::plain!(Follows { leader, hunts });
    ///
    /// // A pack of wolves, made once.
    /// let mut wild = World::new();
    /// wild.registry().register_plain::<Follows>()?;
    /// let (leader, prey) = (wild.create(())?, wild.create(())?);
    /// let _ = wild.create_batch((0..3).map(|_| (Follows { leader, hunts: prey },)))?;
    /// wild.destroy(prey)?;
    /// let pack = wild.to_snapshot(&Default::default())?;
    ///
    /// // Two of them come to a world where others live, loaded by another thread. There they hunt the hare.
    /// let mut world = World::new();
    /// world.registry().register_plain::<Follows>()?;
    /// let hare = world.create(())?;
    /// let known: EntityMap = [(prey, hare)].into_iter().collect();
    /// for _ in 0..2 {
    ///     let universe = Arc::clone(world.universe());
    ///     let load = || World::from_snapshot_remapped(&pack, &universe, &known, &Default::default());
    ///     let (mut wolves, entities) = std::thread::scope(|scope| scope.spawn(load).join().unwrap())?;
    ///     let leader = entities.get(leader).expect("it was saved");
    ///     let expected = Follows { leader, hunts: hare };
    ///     assert_eq!(wolves.query::<&Follows, ()>()?.iter().next(), Some(&expected));
    ///     wolves.move_all_to(&mut world)?;
    /// }
    /// assert_eq!(world.count(), 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Source: Unity DOTS, whose scenes are loaded into worlds of their own, with entities remapped, and then moved.
    ///
    /// # Errors
    /// As for [`load`](Self::load), but that the universe may be in use; if it has not room for as many entities; and
    /// [`SnapshotError::NotAValue`], [`NotRead`](SnapshotError::NotRead), and [`StateNotRead`](SnapshotError::StateNotRead) of a resource or what a signal carries,
    /// also of a value that is none any more because it names somebody who does not come.
    /// There is no world then, and none of the entities.
    pub fn load_remapped(
        path: impl AsRef<Path>,
        universe: &Arc<Universe>,
        known: &EntityMap,
        options: &LoadOptions,
    ) -> Result<(Self, EntityMap), SnapshotError> {
        FileBytes::open(path)?
            .make(|bytes| Self::from_snapshot_remapped(bytes, universe, known, options))
    }

    /// Makes a world of the bytes that [`to_snapshot`](Self::to_snapshot) gave, as
    /// [`load_remapped`](Self::load_remapped) does of a file.
    ///
    /// # Errors
    /// As for [`load_remapped`](Self::load_remapped).
    pub fn from_snapshot_remapped(
        bytes: &[u8],
        universe: &Arc<Universe>,
        known: &EntityMap,
        options: &LoadOptions,
    ) -> Result<(Self, EntityMap), SnapshotError> {
        let saved = Saved::read(bytes, universe.registry(), options, Coming::Anew)?;
        saved.expect_one()?;
        let (mut worlds, entities) = bring_anew(saved, universe, known)?;
        Ok((worlds.remove(0), entities))
    }

    /// Loads all worlds of a file to which one or several were [saved](Self::save_worlds), in the order in which they
    /// were named there: as [`load_remapped`](Self::load_remapped) does one. Handles from one to another lead there.
    ///
    /// # Errors
    /// As for [`load_remapped`](Self::load_remapped).
    pub fn load_worlds_remapped(
        path: impl AsRef<Path>,
        universe: &Arc<Universe>,
        known: &EntityMap,
        options: &LoadOptions,
    ) -> Result<(Vec<Self>, EntityMap), SnapshotError> {
        FileBytes::open(path)?
            .make(|bytes| Self::worlds_from_snapshot_remapped(bytes, universe, known, options))
    }

    /// Makes worlds of the bytes that [`worlds_to_snapshot`](Self::worlds_to_snapshot) gave, or
    /// [`to_snapshot`](Self::to_snapshot), as [`load_worlds_remapped`](Self::load_worlds_remapped) does of a file.
    ///
    /// # Errors
    /// As for [`load_remapped`](Self::load_remapped).
    pub fn worlds_from_snapshot_remapped(
        bytes: &[u8],
        universe: &Arc<Universe>,
        known: &EntityMap,
        options: &LoadOptions,
    ) -> Result<(Vec<Self>, EntityMap), SnapshotError> {
        let saved = Saved::read(bytes, universe.registry(), options, Coming::Anew)?;
        bring_anew(saved, universe, known)
    }
}

/// Creates all worlds that are saved, with new ids.
fn bring_anew(
    mut saved: Saved<'_>,
    universe: &Arc<Universe>,
    known: &EntityMap,
) -> Result<(Vec<World>, EntityMap), SnapshotError> {
    saved.versions = None;
    saved.is_lavish = is_lavish(&saved);
    // All before the first value comes, which may name any of them.
    let newborn = Newborn::create(universe, saved.handles.len())?;
    let pairs = saved.handles.iter().copied();
    let pairs = pairs.zip(newborn.entities.iter().copied());
    let come = EntityMap::of(pairs.clone());
    let (meant, come) = if known.is_empty() && !known.keeps_others() {
        (come, None)
    } else {
        // Who comes is meant before anybody who is known.
        let all = EntityMap::of(known.iter().chain(pairs));
        let all = match known.keeps_others() {
            true => all.keeping_others(),
            false => all,
        };
        (all, Some(come))
    };
    saved.handles.copy_from_slice(&newborn.entities);
    saved.entities = Some(meant);
    let worlds = bring_worlds(&saved, universe)?;
    newborn.are_placed();
    Ok((worlds, come.or(saved.entities).unwrap_or_default()))
}

/// Whether the chunks that have entities would take more memory than [`LAVISH`], and many times what the file has.
fn is_lavish(saved: &Saved<'_>) -> bool {
    let demand = Demand::of(&saved.fragments);
    let mut asked = 0;
    for archetype in saved.worlds.iter().flat_map(|world| &world.archetypes) {
        let mut inhabited = archetype.chunks.iter().filter(|chunk| chunk.len > 0);
        if let Some(first) = inhabited.next() {
            let lengths = demand.lengths(archetype);
            let taken = |chunk| lengths.taken(chunk, true);
            asked += taken(first) + inhabited.map(taken).sum::<u64>();
        }
    }
    asked * CHUNK_BYTES as u64 > lavish(saved.file)
}

/// What a file may take in any case, whatever it says.
pub(super) fn lavish(file: &[u8]) -> u64 {
    LAVISH.max((file.len() as u64).saturating_mul(LAVISH_TIMES))
}

/// Entities that are to get a place in a world. Those that have none die with this.
struct Newborn<'u> {
    universe: &'u Universe,
    entities: Vec<Entity>,
}

impl<'u> Newborn<'u> {
    /// Entities of which nobody can say yet where they lie, and that nobody else can build, or destroy, who guesses
    /// their handles.
    fn create(universe: &'u Universe, count: usize) -> Result<Self, WorldError> {
        // It would take all that others may want first, and give them back.
        if count > EntityIndex::CAPACITY.saturating_sub(universe.count()) {
            let capacity = EntityIndex::CAPACITY;
            return Err(Full { capacity }.into());
        }
        let entities = Vec::with_capacity(count);
        let mut newborn = Self { universe, entities };
        for _ in 0..count {
            newborn.entities.push(universe.create_at(Place::COMING)?);
        }
        Ok(newborn)
    }

    /// All have come to a row of a world, whose they are.
    fn are_placed(mut self) {
        debug_assert!(!self.entities.iter().any(|&entity| self.is_coming(entity)));
        self.entities.clear();
    }

    fn is_coming(&self, entity: Entity) -> bool {
        self.universe.index().locate(entity) == Ok(Some(Place::COMING))
    }
}

impl Drop for Newborn<'_> {
    fn drop(&mut self) {
        let all = core::mem::take(&mut self.entities);
        let coming: Vec<Entity> = all
            .into_iter()
            .filter(|&entity| self.is_coming(entity))
            .collect();
        self.universe.kill_slice(&coming);
    }
}
