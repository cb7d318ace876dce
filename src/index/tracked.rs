//! `Tracked`: which entities with a fragment are where, as an index has seen them.
//!
//! Must hold, once it is up to date: who keeps it knows each entity of the world that has the fragment, in the archetypes
//! that match the filter, and no other; for each chunk of these it is known which entities it had.

use core::any::TypeId;
use std::collections::HashMap;

use crate::archetype::is_newer;
use crate::entity::Entity;
use crate::fragment::{Fragment, FragmentId};
use crate::hashers::ByNumbers;
use crate::panics::{end_all, note, resume, resume_alone};
use crate::query::{ChunkView, QueryFilter, QueryRun};
use crate::world::World;

/// Knows entities by the values of a fragment.
pub(super) trait Knows<T> {
    /// What is remembered of a value beside its entity, in the order of rows: where all values of a chunk may have changed,
    /// one that has not is soon found to be so.
    type Memo;
    /// What is to be remembered of a value.
    fn memo(&self, value: &T) -> Self::Memo;
    /// Whether nothing has changed between two values of an entity, of which these were made.
    fn is_same(before: &Self::Memo, now: &Self::Memo) -> bool;
    /// Notes an entity, which is new, or has another value than before, perhaps.
    fn set(&mut self, entity: Entity, value: &T, memo: &Self::Memo);
    /// Forgets an entity, if it is known.
    fn remove(&mut self, entity: Entity);
    /// How many are known.
    fn len(&self) -> usize;
}

/// What has been seen of a world.
pub(super) struct Tracked<M> {
    /// The world that it is of.
    world: u64,
    /// The filter of the runs that it is brought up to date from: others match other archetypes.
    filter: TypeId,
    /// The moment at which it was brought up to date.
    seen: u64,
    /// Who was in each chunk then, by where it lies.
    chunks: HashMap<usize, Vec<(Entity, M)>, ByNumbers>,
    /// Entities that are not where they were.
    gone: Vec<Entity>,
}

impl<M> Tracked<M> {
    /// Nothing has been seen of the world, by runs with this filter.
    pub(super) fn new<F: QueryFilter + 'static>(world: &World) -> Self {
        Self {
            world: world.past(),
            filter: TypeId::of::<F>(),
            seen: world.long_ago(),
            chunks: HashMap::default(),
            gone: Vec::new(),
        }
    }

    /// Whether this is the world, and the filter.
    pub(super) fn is_of<F: QueryFilter + 'static>(&self, world: &World) -> bool {
        self.world == world.past() && self.filter == TypeId::of::<F>()
    }

    /// Tells who has come, gone, or has another value, perhaps, since it was brought up to date last. If `knows` panics,
    /// it is not known what it knows.
    pub(super) fn update<T: Fragment, F: QueryFilter>(
        &mut self,
        run: &QueryRun<'_, (Entity, &T), F>,
        knows: &mut impl Knows<T, Memo = M>,
    ) {
        let (world, version) = (run.world(), run.stamp());
        let Some(id) = world.registry().of::<T>().map(|info| info.id()) else {
            return;
        };
        let since = world.since(self.seen, version);
        let (mut entities, mut chunks) = (0, 0);
        run.for_all_chunks(|view, (here, values)| {
            entities += here.len();
            chunks += 1;
            self.look((id, since), view, (here, values), knows);
        });
        // Who has gone from a chunk that is not there any more was not missed yet.
        if self.chunks.len() > chunks {
            self.forget_chunks(run);
        }
        self.forget_gone(run, knows);
        debug_assert_eq!(knows.len(), entities);
        self.seen = world.moment(version);
    }

    /// Looks at a chunk, if it has changed.
    fn look<T: Fragment, K: Knows<T, Memo = M>>(
        &mut self,
        (id, since): (FragmentId, u32),
        view: ChunkView<'_>,
        (here, values): (&[Entity], &[T]),
        knows: &mut K,
    ) {
        let column = view.archetype.version_of(id);
        let written = column.map(|column| view.chunk.version(column as usize));
        // A tag has no values that could change.
        let is_written = written.is_some_and(|version| is_newer(version, since));
        if !is_written && !is_newer(view.chunk.order_version, since) {
            return;
        }
        let before = self.chunks.entry(base_of(view)).or_default();
        before.reserve(here.len().saturating_sub(before.len()));
        for (row, (&entity, value)) in here.iter().zip(values).enumerate() {
            let Some((was, memo)) = before.get_mut(row) else {
                let memo = knows.memo(value);
                knows.set(entity, value, &memo);
                before.push((entity, memo));
                continue;
            };
            if *was == entity && !is_written {
                continue;
            }
            let new = knows.memo(value);
            if *was != entity {
                self.gone.push(*was);
            } else if K::is_same(memo, &new) {
                continue;
            }
            knows.set(entity, value, &new);
            (*was, *memo) = (entity, new);
        }
        // None may be left of those that have come.
        let left = before.split_off(here.len().min(before.len()));
        forget(&mut self.gone, left);
    }

    /// Forgets chunks that are not there any more.
    #[cold]
    fn forget_chunks<T: Fragment, F: QueryFilter>(&mut self, run: &QueryRun<'_, (Entity, &T), F>) {
        let mut after = HashMap::with_capacity_and_hasher(self.chunks.len(), ByNumbers::default());
        run.for_all_chunks(|view, _| {
            let base = base_of(view);
            if let Some(entities) = self.chunks.remove(&base) {
                after.insert(base, entities);
            }
        });
        let before = core::mem::replace(&mut self.chunks, after);
        forget(&mut self.gone, before.into_values().flatten());
    }

    /// Forgets those of whom it was seen that they are not where they were, and who are nowhere else that matches: in the
    /// order of their handles, for in which order they were missed depends on where chunks lie, and on which of them had
    /// the place of another.
    fn forget_gone<T: Fragment, F: QueryFilter>(
        &mut self,
        run: &QueryRun<'_, (Entity, &T), F>,
        knows: &mut impl Knows<T, Memo = M>,
    ) {
        self.gone.sort_unstable();
        for entity in self.gone.drain(..) {
            let found = run.world().locate(entity);
            if !found.is_some_and(|(archetype, _)| run.has_archetype(archetype)) {
                knows.remove(entity);
            }
        }
    }
}

/// Entities are not where they were. What was remembered of them is the user's, and its `drop` may panic.
fn forget<M>(gone: &mut Vec<Entity>, rows: impl IntoIterator<Item = (Entity, M)>) {
    let mut panicked = None;
    for (entity, memo) in rows {
        gone.push(entity);
        note(&mut panicked, || drop(memo));
    }
    resume(panicked);
}

impl<M> Drop for Tracked<M> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<M>() {
            let mut panicked = None;
            let chunks = core::mem::take(&mut self.chunks);
            end_all(&mut panicked, chunks.into_values().flatten());
            resume_alone(panicked);
        }
    }
}

/// What a chunk is known by as long as it is there.
fn base_of(view: ChunkView<'_>) -> usize {
    view.chunk.base.addr().get()
}
