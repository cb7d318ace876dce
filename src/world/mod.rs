//! The world room: entities with fragments.
//!
//! A [`World`] owns archetypes, and they own chunks. It creates and destroys entities, changes their
//! composition, and lends their fragments. Several worlds can stand on one [`Universe`]: then ids are
//! unique over all of them.

mod access;
mod archetype_view;
mod attached;
mod bundles;
pub(crate) mod change;
pub(crate) mod check;
mod checkpoint;
mod chunk_rows;
mod clone;
mod collect;
mod compact;
pub(crate) mod compose;
mod create;
mod describe;
mod destroy;
mod dynamic;
mod error;
mod find;
mod lack;
#[cfg(all(test, not(loom)))]
mod late;
mod names;
mod pending;
mod printed;
pub(crate) mod prototype;
mod refusals;
mod required;
mod resources;
pub(crate) mod runs;
mod scattered;
mod seat;
mod shared_values;
mod sharing;
mod slices;
mod snapshot;
mod stats;
mod system_error;
mod take;
pub(crate) mod taken;
mod version;
mod versions;
mod view;
pub(crate) mod waiting;
pub(crate) mod watch;
pub(crate) mod worlds;

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::archetype::universe::Universe;
pub use crate::whole_file::FileStep;
pub use archetype_view::ArchetypeView;
pub use checkpoint::{Checkpoint, CheckpointError, Checkpoints};
pub use chunk_rows::ChunkRows;
pub use compact::{Budget, CompactReport};
pub use create::Batch;
pub use destroy::SliceReport;
pub use error::WorldError;
pub use lack::Lack;
pub use pending::Pending;
pub use prototype::{Group, Prototype};
pub use resources::Resources;
pub(crate) use resources::{ResourceState, with_lifted};
pub(crate) use snapshot::unknown_variant;
pub use snapshot::{
    ChangedLayout, Difference, DifferingPart, FragmentSummary, LoadOptions, MissingFragment,
    SnapshotError, SnapshotOptions, SnapshotState, SnapshotSummary, StateFragment, StateHashes,
    StateHashesIter, StatePart, Unsaved,
};
pub use stats::{ArchetypeStats, WorldStats};
pub use system_error::SystemError;
pub use version::Version;
pub use view::{EntityView, EntityViewMut};

use crate::archetype::{Archetype, HavingLists, WorldMark};
use crate::command::Ranks;
use crate::entity::Place;
use crate::fragment::{FragmentId, FragmentRegistry, Value};
use crate::panics::{end_all, first, note, resume_alone};
use crate::query::{AskedQueries, ChunkRules};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub(crate) use create::{COLUMNS, Handles, columns};
pub(crate) use seat::{Presence, Seat};
pub(crate) use shared_values::end_shared;

use attached::Attached;
pub(crate) use attached::Attachment;
use bundles::Bundles;
use compose::ByComposition;
use names::Names;
use shared_values::SharedValues;
use waiting::Come;
use watch::Watch;

/// Entities and their fragments.
///
/// `&mut World` changes at once; `&World` reads, from any number of threads. Every call that takes a
/// handle says whether the entity still lives ([`WorldError`]); a call that is refused has changed
/// nothing that anybody has, but calls for many entities as far as they say.
///
/// | operation | complexity |
/// |---|---|
/// | create, destroy | O(fragments of the entity) |
/// | add, remove | O(fragments that move) |
/// | get | O(1): three dependent loads, and a search among the fragments of the archetype |
/// | set a value of a fragment that is there | O(1) |
///
/// Memory: eight bytes and the fragments' sizes an entity in the chunks, 8.6 bytes in the index. Chunks begin with
/// 16 KiB and grow with their archetype, to 128 KiB and, where there are very many entities, to 1 MiB (see
/// [`set_chunk_size`](World::set_chunk_size)); an archetype keeps an empty one. A chunk that was
/// full gets new entities again when a 32nd of its rows is free, or, where an archetype has no more
/// than eight chunks, or no memory is left, as soon as no other has room: entities that come and go
/// all over a world leave no more than that free, and come in runs of neighbours. (Where it has
/// shared values or chunk fragments: as soon as a row is free.)
///
/// A world that is dropped drops all its values, and gives its ids and chunks back; the last one of a universe gives back
/// the universe's memory, too. That is O(entities + chunks), and there is no budget for it: a large one is best sent to
/// another thread, and dropped there while frames run. [`Universe::trim`](crate::world::Universe::trim) is best called
/// there, too.
///
/// # What calls say when they are refused
/// * *The handle is refused*: [`WorldError::Entity`], if the entity is destroyed or was never created;
///   [`NotBuilt`](WorldError::NotBuilt); [`Pending`](WorldError::Pending); [`Elsewhere`](WorldError::Elsewhere).
/// * *No id is left*: [`WorldError::Full`]; *no memory*: [`WorldError::Chunk`].
/// * *A fragment stands there twice*, or *is too large*: [`WorldError::Fragment`], which is
///   [`Twice`](crate::fragment::FragmentError::Twice), or [`TooLarge`](crate::fragment::FragmentError::TooLarge) or
///   [`TooAligned`](crate::fragment::FragmentError::TooAligned).
/// * A type is named for the first time that is a [tuple](crate::fragment::FragmentError::TupleNamed) or a
///   [reference](crate::fragment::FragmentError::ReferenceNamed), and hardly ever meant: the same error.
/// * Whatever meets a type or a composition for the first time can be refused because there are too many:
///   [`FragmentError::TooMany`](crate::fragment::FragmentError::TooMany), [`WorldError::TooManyArchetypes`].
///
/// What an [observer](World::observe) panics with comes back from every call of which it hears, when that is done.
///
/// In the child of a `fork` a world is a copy, which can be used if no thread was in a call of it: what works on all threads
/// is done by the calling one, and recorders that other threads had open stay open for ever. A child that is forked within a
/// closure of a parallel loop, a processor or a flush must not return from it, but `exec` or end.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(Debug, PartialEq)]
/// struct Position(f32, f32);
/// struct Asleep;
///
/// let mut world = World::new();
/// let ant = world.create((Position(1.0, 2.0), Asleep))?;
/// world.remove::<(Asleep,)>(ant)?;
/// world.get_mut::<Position>(ant)?.0 = 3.0;
/// assert_eq!(world.get::<Position>(ant)?, &Position(3.0, 2.0));
/// world.destroy(ant)?;
/// assert!(world.get::<Position>(ant).is_err());
/// # Ok::<(), WorldError>(())
/// ```
///
/// Sources: Unity DOTS' entity manager (chunks, versions), Unreal Mass' (compositions, shared
/// fragments).
#[doc(alias = "EntityManager")]
pub struct World {
    /// The universe's, at hand for each look at a value. Before the universe, which leaves it to a later one if nobody else
    /// has it.
    pub(crate) registry: Arc<FragmentRegistry>,
    pub(crate) universe: Arc<Universe>,
    // What tells it from others, and from what it was:
    //
    // | number | changes when | asked by |
    // |---|---|---|
    // | `number` | never; a later world of the universe may have it again | the directory of chunks, and who looks up whose an entity is |
    // | `identity` | archetypes were taken out, so that others have other numbers | queries, parameters, plans, recorders, batches: who knows archetypes by their numbers |
    // | `origin` | never; no other world has it | queries, for the moment of their last run; checkpoints, change logs |
    // | `past` | it went back to a checkpoint | indices, conditions on a resource that was rewritten, simulations |
    // | `composition_version` | a composition came, or some went | the queries that it keeps itself, observers, users |
    // | `births` | something may have been built that was reserved or recorded, or has come from another world, or it went back | signals that wait for entities that are not built |
    /// Its number in the universe.
    pub(crate) number: u16,
    /// What is said of its chunks.
    mark: WorldMark,
    /// What it is called.
    label: Option<Arc<str>>,
    /// Keeps the number, here and for whoever may outlive the world.
    pub(crate) seat: Arc<Seat>,
    /// What upper rooms keep with the world.
    pub(crate) attached: Attached,
    pub(crate) archetypes: Vec<Archetype>,
    pub(crate) by_composition: ByComposition,
    /// Fragment number → the archetypes that have it, in the order of their numbers.
    pub(crate) having: HavingLists,
    /// Some archetype has fragments that can be switched off.
    pub(crate) has_switches: bool,
    pub(crate) bundles: Bundles,
    pub(crate) shared: SharedValues,
    /// What chunk fragments begin with in new archetypes, if these do not inherit it from others: the value that
    /// was given last.
    pub(crate) templates: BTreeMap<FragmentId, Arc<Value>>,
    /// What chunk fragments begin with in new archetypes that match, whoever brings these.
    pub(crate) chunk_rules: ChunkRules,
    /// The version of the last query that ran. What is changed now gets the next one.
    pub(crate) version: AtomicU32,
    /// The [moment](World::moment) at which chunks were aged.
    aged: u64,
    /// 16 KiB chunks that a chunk of a new archetype has at least.
    pub(crate) chunks_per_chunk: usize,
    /// Chunks of new archetypes get longer as the archetype grows.
    pub(crate) chunks_grow: bool,
    /// Unique in the process, and another one after archetypes went: what queries know is of this one.
    pub(crate) identity: u64,
    /// Unique in the process, as long as the world is: for who knows no archetypes by their numbers.
    origin: u64,
    /// The same, and another one after it went back: for who keeps what it was at some time.
    past: u64,
    /// What it was asked for one run each.
    pub(crate) asked: AskedQueries,
    /// Counts the compositions that came, and the times that some went.
    pub(crate) composition_version: u64,
    /// Counts the calls that may have built entities here which were reserved or recorded, or
    /// brought such ones from other worlds: as long as it is the same, none was.
    pub(crate) births: u64,
    /// How often a flush looks for commands.
    pub(crate) flush_rounds: usize,
    /// Whose commands have which ranks.
    pub(crate) ranks: Ranks,
    /// From so many commands on a flush uses several threads; `None`: as many as its work is worth.
    pub(crate) forks_from: Option<usize>,
    /// Who is told what comes and goes.
    pub(crate) watch: Watch,
    pub(crate) names: Names,
    pub(crate) resources: Resources,
    /// What has come out of a file for a room above.
    pub(crate) come: Come,
    /// The place that an entity left last, of those that went one by one.
    left: Place,
    /// How many archetypes a test lets it have.
    #[cfg(test)]
    most_archetypes: usize,
}

/// A number that no world had before, and nothing else that has one of these: not 0, and higher than all that were given
/// before it.
pub(crate) fn new_identity() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Ordering: Relaxed: only this word matters, whose values all threads see in one order.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl World {
    /// An empty world in a universe of its own.
    ///
    /// # Panics
    /// If the system has no address space left; [`Universe::with`] returns that error instead.
    #[must_use]
    pub fn new() -> Self {
        match Self::of(&Arc::new(Universe::new())) {
            Ok(world) => world,
            Err(error) => panic!("no world: {error}"),
        }
    }

    /// An empty world in this universe.
    ///
    /// # Errors
    /// [`WorldError::TooManyWorlds`].
    pub fn of(universe: &Arc<Universe>) -> Result<Self, WorldError> {
        let number = universe.add_world().ok_or(WorldError::TooManyWorlds)?;
        Ok(Self {
            registry: Arc::clone(universe.shared_registry()),
            universe: Arc::clone(universe),
            number,
            mark: WorldMark::new(number),
            label: None,
            seat: Arc::new(Seat::new(Arc::clone(universe), number)),
            attached: Attached::default(),
            archetypes: Vec::new(),
            by_composition: ByComposition::default(),
            having: HavingLists::default(),
            has_switches: false,
            bundles: Bundles::default(),
            shared: SharedValues::default(),
            templates: BTreeMap::new(),
            chunk_rules: ChunkRules::default(),
            version: AtomicU32::new(0),
            aged: 1 << 32,
            chunks_per_chunk: 1,
            chunks_grow: true,
            identity: new_identity(),
            origin: new_identity(),
            past: new_identity(),
            asked: AskedQueries::default(),
            composition_version: 0,
            births: 0,
            flush_rounds: 5,
            ranks: Ranks::default(),
            forks_from: None,
            watch: Watch::default(),
            names: Names::default(),
            resources: Resources::default(),
            come: Come::default(),
            left: Place::NOWHERE,
            #[cfg(test)]
            most_archetypes: crate::archetype::ARCHETYPES - 1,
        })
    }

    /// What queries remember it by.
    #[inline]
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// What queries without archetypes, and checkpoints, remember it by.
    pub(crate) fn origin(&self) -> u64 {
        self.origin
    }

    /// What indices remember it by.
    pub(crate) fn past(&self) -> u64 {
        self.past
    }

    /// The universe that it stands in.
    #[must_use]
    pub fn universe(&self) -> &Arc<Universe> {
        &self.universe
    }

    /// The fragments that its universe knows.
    #[inline]
    #[must_use]
    pub fn registry(&self) -> &FragmentRegistry {
        &self.registry
    }

    /// Entities that live in this world, without reserved ones. O(archetypes).
    #[must_use]
    pub fn count(&self) -> usize {
        self.archetypes
            .iter()
            .map(|archetype| archetype.entities)
            .sum()
    }

    /// Whether no entity lives in this world. O(archetypes).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Changes whenever a composition is added or forgotten; while it is the same, cached knowledge of archetypes is
    /// valid. It grows by one with each composition that is met for the first time, and when
    /// [`collect_archetypes`](Self::collect_archetypes), or a call that is refused, lets some go.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let before = world.composition_version();
    /// world.create((1_u8, 'a'))?;
    /// world.create(('b', 2_u8))?;
    /// assert_eq!(world.composition_version(), before + 1, "the order of types does not matter");
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn composition_version(&self) -> u64 {
        self.composition_version
    }

    /// Sets how many 16 KiB chunks (1 to 64) each chunk has of compositions that are met from now on: one is
    /// DOTS' chunk, eight are Mass' 128 KiB. A composition of which eight entities do not fit takes
    /// more, up to 1 MiB.
    ///
    /// Without this call a chunk has at most 128 KiB and half of what is there, or what comes in
    /// one call and an eighth of all; or at most 1 MiB and a 32nd of what is there: rare
    /// compositions take little memory, frequent ones are walked in long strides. Between chunks of
    /// 16 KiB, two threads that write different fragments of the same entities slow each other
    /// down, to a half or a third of one thread's speed: their columns are so short that each
    /// processor reads ahead into the other's.
    ///
    /// # Panics
    /// If `chunks` is not between 1 and 64.
    pub fn set_chunk_size(&mut self, chunks: usize) {
        assert!(
            (1..=crate::chunk::MEGACHUNK_CHUNKS).contains(&chunks),
            "a chunk has 1 to 64 times 16 KiB, not {chunks}"
        );
        self.chunks_per_chunk = chunks;
        self.chunks_grow = false;
    }
}

impl World {
    /// Lets the shared values go that a flush held when the world was taken away from it.
    #[inline]
    pub(crate) fn release_left(&mut self) {
        if self.shared.has_flushes() {
            let left = core::mem::take(&mut *self.seat.left.lock());
            self.shared.take_left(left);
        }
    }

    /// Whether nobody else has the universe, or can have it again: two own it for the world. They become one to be asked
    /// whether it is the only one, for that is one question; two counts would be two, between which somebody who has the
    /// universe weakly can come to own it.
    fn is_last(&mut self) -> bool {
        let Some(seat) = Arc::get_mut(&mut self.seat) else {
            return false;
        };
        seat.universe = None;
        let is_last = Arc::get_mut(&mut self.universe).is_some();
        seat.universe = Some(Arc::clone(&self.universe));
        is_last
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// How much there is, not what: [`World::stats`] tells more, and [`World::entity`] of one entity all.
impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("number", &self.number)
            .field("label", &self.label)
            .field("entities", &self.count())
            .field("archetypes", &self.archetypes.len())
            .field("version", &self.version().to_bits())
            .field("time", &self.time())
            .finish_non_exhaustive()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let mut panicked = None;
        note(&mut panicked, || self.attached.end());
        note(&mut panicked, || self.attached.let_go());
        let more = if self.is_last() {
            // The universe ends too: nobody can ask who lived.
            self.drop_values()
        } else {
            self.clear_quietly()
        };
        panicked = first(panicked, more);
        for archetype in &mut core::mem::take(&mut self.archetypes) {
            archetype.end(&self.universe, self.number, &mut panicked);
        }
        self.shared.end(&mut panicked);
        end_all(
            &mut panicked,
            core::mem::take(&mut self.templates).into_values(),
        );
        end_all(
            &mut panicked,
            core::mem::take(&mut self.chunk_rules).into_values(),
        );
        // Each by itself, as they would end together with the world.
        note(&mut panicked, || drop(core::mem::take(&mut self.watch)));
        note(&mut panicked, || drop(core::mem::take(&mut self.attached)));
        note(&mut panicked, || {
            drop(core::mem::take(&mut self.resources));
        });
        note(&mut panicked, || drop(core::mem::take(&mut self.come)));
        // With it its makers of what is required, which the registry has still: so none of them ends here.
        note(&mut panicked, || drop(core::mem::take(&mut self.bundles)));
        self.seat.end();
        resume_alone(panicked);
    }
}
