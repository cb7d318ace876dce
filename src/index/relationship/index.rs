//! `RelationshipIndex`: who names whom, kept beside a world.

use std::sync::Arc;

use crate::archetype::Universe;
use crate::entity::Entity;
use crate::fragment::Fragment;
use crate::index::relationship::Descendants;
use crate::index::relationship::sources::Sources;
use crate::index::tracked::{Knows, Tracked};
use crate::panics::{note, resume};
use crate::query::{Query, QueryError, QueryRun};
use crate::world::World;

/// A fragment that names another entity: the *target* of the entity that has it, which is a *source*.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct ChildOf(Entity);
///
/// impl Relationship for ChildOf {
///     fn target(&self) -> Entity {
///         self.0
///     }
/// }
/// ```
///
/// An entity has one target for each such fragment. [`Entity::PLACEHOLDER`] is nobody, and so is any handle whose index no
/// entity can have: let those that name nobody be few, for they are a list like others; who has no
/// parent needs no fragment that says so. A fragment that is switched off still names whom it names. A target that changes behind `&self`, an atomic one for instance, is seen when the chunk changes
/// otherwise.
///
/// Open: implement it for fragments of yours. A method that comes later has a body.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no relationship",
    note = "`impl Relationship for {Self}` says which entity it names"
)]
#[doc(alias = "parent")]
#[doc(alias = "child")]
#[doc(alias = "hierarchy")]
#[doc(alias = "relation")]
pub trait Relationship: Fragment {
    /// Whom it names.
    fn target(&self) -> Entity;
}

/// Which entities of a world name which, by a fragment: the way back from a target to its sources, from a parent to its
/// children.
///
/// It is as the world was when it was [updated](Self::update) last, which costs what has changed since. Its order is
/// that of handles, so that it depends on the world alone, not on how it has come to be so.
///
/// It may be kept anywhere, as a resource for instance; who asks it needs no world. The world need not know of it. Targets
/// may live in other worlds of the universe, which it keeps alive; for sources in several worlds there is an index each.
///
/// Memory: 8 bytes for each source in its target's list and 8 for its chunk; about 70 for a target, with room for two
/// sources; 8 and 4 for each slot of a source and of a target, by blocks of 1,024 neighbouring slots. What is for targets
/// and slots is that of the most that there have been; a new index needs less.
///
/// The dead are targets as long as they are named. Where what is said to be O(1) is about a dead target, and a later one of
/// its slot is named, too, it is O(log dead targets of which that is so), and each of these takes some 20 bytes more.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct CarriedBy(Entity);
///
/// impl Relationship for CarriedBy {
///     fn target(&self) -> Entity {
///         self.0
///     }
/// }
///
/// let mut world = World::new();
/// let ant = world.create(("ant",))?;
/// let bag = world.create(("bag", CarriedBy(ant)))?;
/// let leaf = world.create(("leaf", CarriedBy(bag)))?;
///
/// let mut carried = RelationshipIndex::<CarriedBy>::new(&world)?;
/// carried.update(&world);
/// assert_eq!(carried.sources(ant), [bag]);
/// assert_eq!(carried.descendants(ant).collect::<Vec<_>>(), [bag, leaf]);
///
/// // The ant hands the leaf over.
/// let bee = world.create(("bee",))?;
/// world.set(leaf, CarriedBy(bee))?;
/// carried.update(&world);
/// assert_eq!(carried.target(leaf), Some(bee));
///
/// // With the ant goes what it has.
/// assert_eq!(carried.destroy_tree(&mut world, ant), 2);
/// assert!(world.exists(leaf) && !world.exists(bag));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RelationshipIndex<R: Relationship> {
    query: Query<(Entity, &'static R)>,
    pub(super) index: Index,
}

/// What is known, whatever the fragment.
pub(super) struct Index {
    pub(super) sources: Sources,
    /// Which of them live.
    universe: Arc<Universe>,
    tracked: Tracked<()>,
}

impl<R: Relationship> RelationshipIndex<R> {
    /// An index that knows nobody yet.
    ///
    /// # Errors
    /// [`QueryError`] if the registry is full.
    pub fn new(world: &World) -> Result<Self, QueryError> {
        Ok(Self {
            query: Query::new(world)?,
            index: Index::new(world),
        })
    }

    /// Brings it up to date.
    ///
    /// O(chunks of entities with the fragment), and O(entities) for those chunks to which entities came, from which they
    /// went, or in which the fragment was lent for writing; O(n log n) for targets whose sources have changed, where most
    /// of `n` are new, or most targets are dead, else O(n). On another world than before it begins anew.
    ///
    /// # Panics
    /// If `target` panics: it knows nobody then, until it is updated again. As [`Query::on`], if the registry of another
    /// universe is full.
    pub fn update(&mut self, world: &World) {
        self.index.update(&self.query.read(world));
    }

    /// Brings it up to date from within a processor, which has a query's run and not the world. Whatever [chunks it
    /// sees](QueryRun::filter_chunks), all count, and so do rows whose fragment is switched off. For the rest, as
    /// [`update`](Self::update).
    ///
    /// The run has no filter, as that of a [`ValueIndex`](crate::index::ValueIndex::update_from) may: all who name somebody
    /// are known, for [`destroy_tree`](Self::destroy_tree) and [`destroy_orphans`](Self::destroy_orphans) bring the index up
    /// to date by the world, and are to leave nobody behind who hangs on the dead.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct ChildOf(Entity);
    ///
    /// impl Relationship for ChildOf {
    ///     fn target(&self) -> Entity {
    ///         self.0
    ///     }
    /// }
    ///
    /// type Children = RelationshipIndex<ChildOf>;
    ///
    /// let mut world = World::new();
    /// let parent = world.create(())?;
    /// let child = world.create((ChildOf(parent),))?;
    /// let children = Children::new(&world)?;
    /// world.resources_mut().insert(children);
    ///
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("children", |children: &mut Children, run: QueryRun<(Entity, &ChildOf)>| {
    ///     children.update_from(&run);
    /// }));
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.resources().get::<Children>().expect("it was put there").sources(parent), [child]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_from(&mut self, run: &QueryRun<'_, (Entity, &R)>) {
        self.index.update(run);
    }

    /// Who names this entity, in the order of handles; those that name nobody for [`Entity::PLACEHOLDER`]. O(1).
    #[inline]
    #[must_use]
    pub fn sources(&self, target: Entity) -> &[Entity] {
        self.index.sources.of(target)
    }

    /// Whom this entity names: the placeholder if it is nobody; `None` if the entity is no source. O(1).
    #[inline]
    #[must_use]
    pub fn target(&self, source: Entity) -> Option<Entity> {
        self.index.sources.target(source)
    }

    /// All that name this entity, that name these, and so on: see [`Descendants`]. It ends where entities name each
    /// other in a circle, too; the entity itself is not among them. Below [`Entity::PLACEHOLDER`] is nobody.
    pub fn descendants(&self, entity: Entity) -> Descendants<'_> {
        Descendants::new(&self.index.sources, entity)
    }

    /// Whom this entity names, whom that one names, and so on. It ends before it would come to this entity again;
    /// where those that it comes to name each other in a circle without this one, after as many as there are sources.
    pub fn ancestors(&self, entity: Entity) -> impl Iterator<Item = Entity> {
        let target = move |of: Entity| {
            let target = self.target(of)?;
            (target != entity && target != Entity::PLACEHOLDER).then_some(target)
        };
        core::iter::successors(target(entity), move |&before| target(before)).take(self.len())
    }

    /// Whom this entity names, whom that one names, and so on, each once, without the entity itself: also where they name each
    /// other in a circle. O(1) one, after a walk along them.
    pub(crate) fn distinct_ancestors(&self, entity: Entity) -> impl Iterator<Item = Entity> {
        self.ancestors(entity)
            .take(self.ancestors_before_repeat(entity))
    }

    /// How many ancestors there are before the first that is one already, or the entity; no bound if none is. By two walks of
    /// which one is twice as fast (Floyd): if they meet, it is in a circle.
    fn ancestors_before_repeat(&self, entity: Entity) -> usize {
        let above = |of: Option<Entity>| {
            let target = self.target(of?)?;
            (target != Entity::PLACEHOLDER).then_some(target)
        };
        let (mut slow, mut fast) = (Some(entity), Some(entity));
        loop {
            (slow, fast) = (above(slow), above(above(fast)));
            if fast.is_none() {
                return usize::MAX;
            }
            if slow == fast {
                break;
            }
        }
        // From where they meet it is as far to where the circle begins as from the start.
        let mut before = 0;
        let mut start = Some(entity);
        while start != slow {
            (start, slow) = (above(start), above(slow));
            before += 1;
        }
        let mut around = 1;
        let mut at = above(start);
        while at != start {
            at = above(at);
            around += 1;
        }
        // One of these is the entity.
        before + around - 1
    }

    /// Each target with its sources, in the order of handles. O(slots of targets), by blocks of 1,024.
    pub fn iter(&self) -> impl Iterator<Item = (Entity, &[Entity])> {
        self.index.sources.iter()
    }

    /// Targets that name nobody themselves, in the order of handles: where trees begin. The dead are among them, whom
    /// [orphans](Self::orphans) name; entities in a circle, and what names these, are below none of them. O(slots of
    /// targets), by blocks of 1,024. On all threads, with what came of the
    /// parent: [`par_descend`](Self::par_descend).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct At(f32);
    /// /// Where it is seen from its parent.
    /// struct Fixed(f32, Entity);
    ///
    /// impl Relationship for Fixed {
    ///     fn target(&self) -> Entity {
    ///         self.1
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// let tank = world.create((At(10.0),))?;
    /// let tower = world.create((At(0.0), Fixed(0.5, tank)))?;
    /// let gun = world.create((At(0.0), Fixed(0.25, tower)))?;
    ///
    /// let mut parts = RelationshipIndex::<Fixed>::new(&world)?;
    /// parts.update(&world);
    /// for root in parts.roots() {
    ///     if !world.exists(root) {
    ///         continue;
    ///     }
    ///     // Each comes after the one that it is fixed to.
    ///     for part in parts.descendants(root) {
    ///         let &Fixed(from_there, parent) = world.get::<Fixed>(part)?;
    ///         let there = world.get::<At>(parent)?.0;
    ///         world.get_mut::<At>(part)?.0 = there + from_there;
    ///     }
    /// }
    /// assert_eq!(world.get::<At>(gun)?.0, 10.75);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn roots(&self) -> impl Iterator<Item = Entity> {
        let targets = self.iter().map(|(target, _)| target);
        targets.filter(|&target| {
            let above = self.target(target);
            above.is_none_or(|above| above == Entity::PLACEHOLDER)
        })
    }

    /// Sources whose target is dead by now, by targets in the order of handles. Not those whose target lives in another
    /// world, and not those that name nobody. O(slots of targets), by blocks of 1,024, and a look-up for each target.
    pub fn orphans(&self) -> impl Iterator<Item = Entity> {
        let index = self.index.universe.index();
        let dead = self.iter().filter(|(target, _)| !index.exists(*target));
        dead.flat_map(|(_, sources)| sources.iter().copied())
    }

    /// Destroys an entity and all its [descendants](Self::descendants), as they are now; how many. What has died before,
    /// or lives in another world, stays as it is, and its descendants in this world go. A processor records
    /// it: [`record_tree`](Self::record_tree).
    ///
    /// # Panics
    /// As [`World::destroy_slice`].
    pub fn destroy_tree(&mut self, world: &mut World, entity: Entity) -> usize {
        self.update(world);
        let mut all = Vec::from([entity]);
        all.extend(self.descendants(entity));
        world.destroy_slice(&all).done
    }

    /// Destroys all [orphans](Self::orphans), as they are now, with their descendants; how many. Once a frame, or
    /// whenever it matters: so with a parent die its children, whoever destroyed it and however. An ordinary processor
    /// records it: [`record_orphans`](Self::record_orphans).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct ChildOf(Entity);
    ///
    /// impl Relationship for ChildOf {
    ///     fn target(&self) -> Entity {
    ///         self.0
    ///     }
    /// }
    ///
    /// type Children = RelationshipIndex<ChildOf>;
    ///
    /// let mut world = World::new();
    /// let parent = world.create(())?;
    /// let child = world.create((ChildOf(parent),))?;
    /// let children = Children::new(&world)?;
    /// world.resources_mut().insert(children);
    /// let mut schedule = Schedule::new();
    /// schedule.add(exclusive_processor("orphans", |world: &mut World| {
    ///     let destroyed = world.with_resource(|world, all: &mut Children| all.destroy_orphans(world));
    ///     destroyed.map(drop).ok_or("there is no index")
    /// }));
    /// world.destroy(parent)?;
    /// schedule.run(&mut world)?;
    /// assert!(!world.exists(child));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`World::destroy_slice`].
    pub fn destroy_orphans(&mut self, world: &mut World) -> usize {
        self.update(world);
        let mut all: Vec<Entity> = self.orphans().collect();
        for at in 0..all.len() {
            all.extend(self.descendants(all[at]));
        }
        if all.is_empty() {
            return 0;
        }
        world.destroy_slice(&all).done
    }

    /// How many sources there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.sources.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<R: Relationship> core::fmt::Debug for RelationshipIndex<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RelationshipIndex")
            .field("sources", &self.len())
            .finish_non_exhaustive()
    }
}

impl Index {
    fn new(world: &World) -> Self {
        Self {
            sources: Sources::new(),
            universe: Arc::clone(world.universe()),
            tracked: Tracked::new::<()>(world),
        }
    }

    fn update<R: Relationship>(&mut self, run: &QueryRun<'_, (Entity, &R)>) {
        let world = run.world();
        if !self.tracked.is_of::<()>(world) {
            *self = Self::new(world);
        }
        let Self {
            sources, tracked, ..
        } = self;
        let mut panicked = None;
        note(&mut panicked, || tracked.update(run, sources));
        if panicked.is_some() {
            // What was noted until then is not all.
            *self = Self::new(world);
            resume(panicked);
        }
        self.sources.settle();
    }
}

impl<R: Relationship> Knows<R> for Sources {
    type Memo = ();

    fn memo(&self, _: &R) {}

    fn is_same((): &(), (): &()) -> bool {
        false
    }

    fn set(&mut self, source: Entity, value: &R, (): &()) {
        self.set(source, value.target());
    }

    fn remove(&mut self, source: Entity) {
        self.remove(source);
    }

    fn len(&self) -> usize {
        self.len()
    }
}
