//! `ValueIndex`: who has which value, or one of which kind, kept beside a world.

use core::borrow::Borrow;
use core::fmt;
use core::ops::RangeBounds;
use std::collections::BTreeMap;

use crate::entity::Entity;
use crate::fragment::{Fragment, Lone};
use crate::index::lists::Lists;
use crate::index::tracked::{Knows, Tracked};
use crate::index::value::ValueRange;
use crate::index::value::by_key::ByKey;
use crate::panics::{note, resume};
use crate::query::{Query, QueryError, QueryFilter, QueryRun};
use crate::world::World;

/// Which entities of a world have which key, one that is made of a fragment's value: who is in a cell of a map, in a
/// team, due at a time.
///
/// It is as the world was when it was [updated](Self::update) last, which costs what has changed since. Keys are in their
/// order, and the entities of a key in that of handles, so that it depends on the world alone, not on how it has come to
/// be so. (Of keys that are equal and can be told apart, the one that came first is kept as long as an entity has one.)
///
/// `T` is a fragment or tag. By what entities share, or chunks have, nobody is found: what has one shared value lies in
/// chunks of its own, which a [query](crate::query::QueryRun::filter_chunks) picks out.
///
/// It may be kept anywhere, as a resource for instance; who asks it needs no world. The world need not know of it. A
/// fragment that is switched off has its value still; one whose value changes behind `&self`, an atomic one for instance,
/// is seen when the chunk changes otherwise.
///
/// Memory: 8 bytes for each entity in its key's list, 8 and a key for its row; 8 for each slot of an entity, by blocks
/// of 1,024 neighbouring slots; two keys and some 60 bytes for each key, with room for two entities. What is for keys and
/// slots is that of the most that there have been; a new index needs less.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Position { x: f32, y: f32 }
/// /// Column and row.
/// type Cell = (i32, i32);
///
/// fn cell(position: &Position) -> Cell {
///     (position.x.floor() as i32, position.y.floor() as i32)
/// }
///
/// let mut world = World::new();
/// let ant = world.create((Position { x: 0.5, y: 0.5 },))?;
/// let bee = world.create((Position { x: 1.5, y: 0.2 },))?;
///
/// let mut cells = ValueIndex::<Position, Cell>::new(&world, cell)?;
/// cells.update(&world);
/// assert_eq!(cells.entities(&(0, 0)), [ant]);
///
/// world.get_mut::<Position>(bee)?.x = 0.9;
/// cells.update(&world);
/// assert_eq!(cells.entities(&(0, 0)), [ant, bee]);
/// assert_eq!(cells.key(bee), Some(&(0, 0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: the indices of databases; flecs' and bevy's, for what is wanted.
pub struct ValueIndex<T: Fragment, K: Ord + Clone> {
    query: Query<(Entity, &'static T)>,
    known: Known<T, K>,
    tracked: Tracked<K>,
}

/// Makes the key of a value.
type MakeKey<T, K> = Box<dyn Fn(&T) -> K + Send + Sync>;

/// What is known, and how keys are made.
struct Known<T, K: Ord + Clone> {
    key: Lone<MakeKey<T, K>>,
    lists: Lists<K, ByKey<K>>,
}

impl<T: Fragment, K: Ord + Clone> ValueIndex<T, K> {
    /// An index that knows nobody yet. `key` makes the same key of the same value; values whose keys are equal are
    /// found together.
    ///
    /// # Errors
    /// [`QueryError`] if the registry is full.
    pub fn new(
        world: &World,
        key: impl Fn(&T) -> K + Send + Sync + 'static,
    ) -> Result<Self, QueryError> {
        Ok(Self {
            query: Query::new(world)?,
            known: Known {
                key: Lone::new(Box::new(key)),
                lists: Lists::new(ByKey(BTreeMap::new())),
            },
            tracked: Tracked::new::<()>(world),
        })
    }

    /// Brings it up to date.
    ///
    /// O(chunks of entities with the fragment), and O(entities) for those chunks to which entities came, from which they
    /// went, or in which the fragment was lent for writing; O(log keys) for each entity that has another key; O(n log n)
    /// for keys whose entities have changed, where most of `n` are new, else O(n). On another world than before it begins
    /// anew.
    ///
    /// # Panics
    /// If `key` panics, or what keys do when they are compared, cloned or dropped: it knows nobody then, until it is
    /// updated again. As [`Query::on`], if the registry of another universe is full.
    pub fn update(&mut self, world: &World) {
        let Self {
            query,
            known,
            tracked,
        } = self;
        update(tracked, known, &query.read(world));
    }

    /// Brings it up to date from within a processor, which has a query's run and not the world. Whatever [chunks it
    /// sees](QueryRun::filter_chunks), all count, and so do rows whose fragment is switched off. For the rest, as
    /// [`update`](Self::update).
    ///
    /// A run with a filter makes it an index of those whose composition matches: who comes to have what
    /// [`Without`](crate::query::Without) excludes goes from it, as who loses the fragment does. Compositions decide alone:
    /// chunks that [`Changed`](crate::query::Changed) and the like pass by count, and so does who has what the filter asks
    /// for, or excludes, and [can be switched off](crate::query::Enabled), switched on or not: such a fragment excludes
    /// nobody here. From a run with another filter than before, and by
    /// [`update`](Self::update) after one with a filter, it begins anew.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Team(u8);
    ///
    /// type Teams = ValueIndex<Team, u8>;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((Team(3),))?;
    /// let teams = Teams::new(&world, |team| team.0)?;
    /// world.resources_mut().insert(teams);
    ///
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("teams", |teams: &mut Teams, run: QueryRun<(Entity, &Team)>| {
    ///     teams.update_from(&run);
    /// }));
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.resources().get::<Teams>().expect("it was put there").entities(&3), [ant]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`update`](Self::update).
    pub fn update_from<F: QueryFilter + 'static>(&mut self, run: &QueryRun<'_, (Entity, &T), F>) {
        update(&mut self.tracked, &mut self.known, run);
    }

    /// Who has this key, or one that is borrowed as it, in the order of handles. O(log keys).
    #[must_use]
    pub fn entities<Q: Ord + ?Sized>(&self, key: &Q) -> &[Entity]
    where
        K: Borrow<Q>,
    {
        let lists = &self.known.lists;
        let list = lists.finder().0.get(key);
        list.map_or(&[], |&list| lists.get(list))
    }

    /// The key of an entity; `None` if it has not the fragment, or is not among those whom it was
    /// [brought up to date](Self::update_from) with. O(1).
    #[must_use]
    pub fn key(&self, entity: Entity) -> Option<&K> {
        self.known.lists.key(entity)
    }

    /// Each key that somebody has, with those who have it, in order.
    pub fn iter(&self) -> ValueRange<'_, K> {
        self.range::<K>(..)
    }

    /// Each key of a range that somebody has, with those who have it, in order: all that is due until now, a row of
    /// cells. O(log keys), and O(1) for each key.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Due(u64);
    ///
    /// let mut world = World::new();
    /// let all = world.create_batch((0..9).map(|tick| (Due(tick / 2),)))?.to_vec(&world);
    /// let mut due = ValueIndex::<Due, u64>::new(&world, |due| due.0)?;
    /// due.update(&world);
    /// let now: Vec<Entity> = due.range(..=1).flat_map(|(_, entities)| entities).copied().collect();
    /// assert_eq!(now, all[..4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`BTreeMap::range`](std::collections::BTreeMap::range), if the range ends before it begins, or where it begins
    /// and has not that key.
    pub fn range<Q: Ord + ?Sized>(&self, keys: impl RangeBounds<Q>) -> ValueRange<'_, K>
    where
        K: Borrow<Q>,
    {
        let lists = &self.known.lists;
        ValueRange::new(lists.finder().0.range(keys), lists)
    }

    /// How many entities there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.lists.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys somebody has.
    #[must_use]
    pub fn key_count(&self) -> usize {
        self.known.lists.finder().0.len()
    }
}

fn update<T: Fragment, K: Ord + Clone, F: QueryFilter + 'static>(
    tracked: &mut Tracked<K>,
    known: &mut Known<T, K>,
    run: &QueryRun<'_, (Entity, &T), F>,
) {
    let world = run.world();
    let mut panicked = None;
    note(&mut panicked, || {
        if !tracked.is_of::<F>(world) {
            known.lists = Lists::new(ByKey(BTreeMap::new()));
            *tracked = Tracked::new::<F>(world);
        }
        tracked.update(run, known);
        known.lists.settle();
    });
    if panicked.is_some() {
        // What was noted until then is not all.
        note(&mut panicked, || *tracked = Tracked::new::<F>(world));
        note(&mut panicked, || {
            known.lists = Lists::new(ByKey(BTreeMap::new()))
        });
        resume(panicked);
    }
}

impl<T, K: Ord + Clone> Knows<T> for Known<T, K> {
    type Memo = K;

    fn memo(&self, value: &T) -> K {
        (self.key)(value)
    }

    fn is_same(before: &K, now: &K) -> bool {
        before == now
    }

    fn set(&mut self, entity: Entity, _: &T, key: &K) {
        self.lists.set(entity, key);
    }

    fn remove(&mut self, entity: Entity) {
        self.lists.remove(entity);
    }

    fn len(&self) -> usize {
        self.lists.len()
    }
}

impl<T: Fragment, K: Ord + Clone> fmt::Debug for ValueIndex<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueIndex")
            .field("entities", &self.len())
            .field("keys", &self.key_count())
            .finish_non_exhaustive()
    }
}
