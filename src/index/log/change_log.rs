//! `ChangeLog`: who has come, changed or gone since when, kept beside a world.

use core::fmt;

use crate::entity::Entity;
use crate::fragment::{Fragment, Lone};
use crate::index::log::entities::LoggedEntities;
use crate::index::log::order::Order;
use crate::index::tracked::{Knows, Tracked};
use crate::panics::{note, resume};
use crate::query::{Query, QueryError, QueryFilter, QueryRun};
use crate::world::{Version, World};

/// Which entities came, have another value of a fragment, or went since some version, one by one: a query with
/// [`Changed`](crate::query::Changed) has all of a chunk in which one has changed, and nobody who went. For servers whose
/// clients have what was so at some version each, and for whoever sends, saves or draws what is new.
///
/// It is as the world was when it was [updated](Self::update) last, which costs what has changed since. Then each answer
/// costs what it says, however large the world is, and for however many clients. Who moves, to another chunk, another row or
/// another composition, has not changed, nor who was lent for writing and is what it was.
///
/// `T` is a fragment or tag. What is compared, and kept, is the value, or [what you make of it](Self::by): a place in whole
/// centimetres, if clients are to know no more. (A value that is not equal to itself, as `f32::NAN`, changes each time that
/// its chunk is looked at.)
///
/// It may be kept anywhere, as a resource for instance; who asks it needs no world. In a world that goes
/// [back](crate::world::Checkpoints) it sees who is not as they were. It is not saved: beside a world that was loaded, or
/// another one, it begins anew, and so do those who follow it ([`complete_since`](Self::complete_since)).
///
/// Memory: 8 bytes and what is compared for each row, and 48 and what is compared for each entity that is there, or has gone
/// and is not [forgotten](Self::forget_until); 4 for each slot of an entity, by blocks of 1,024 neighbouring slots. It is that
/// of the most that there have been.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::world::Version;
///
/// #[derive(Clone, PartialEq)]
/// struct Health(u32);
///
/// let mut world = World::new();
/// let [ant, bee, cow] = [1, 2, 3].map(|n| world.create((Health(n),)).expect("there is room"));
/// let mut log = ChangeLog::<Health>::new(&world)?;
/// log.update(&world);
/// // A client that knows nothing gets all, and has then what is so at this version.
/// assert_eq!(log.set_since(Version::START).count(), 3);
/// let has = log.version();
///
/// world.get_mut::<Health>(bee)?.0 = 9;
/// // Lent, and the same as before.
/// world.get_mut::<Health>(ant)?.0 = 1;
/// world.destroy(cow)?;
/// log.update(&world);
/// assert!(log.set_since(has).eq([bee]));
/// assert!(log.gone_since(has).eq([cow]));
///
/// // All clients have said that they have it.
/// log.forget_until(log.version());
/// assert_eq!((log.len(), log.gone_count()), (2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: the acknowledged baselines of Quake 3's network code, and bevy_replicon's, for what is wanted.
pub struct ChangeLog<T: Fragment, K: PartialEq + Clone = T> {
    query: Query<(Entity, &'static T)>,
    log: Log<T, K>,
}

/// What is known, and of which world.
struct Log<T, K> {
    known: Known<T, K>,
    tracked: Tracked<K>,
    /// The world that it is of, whatever that went back to.
    world: u64,
    /// The last update's; 0 before the first.
    version: u64,
    /// Who went before is not known.
    complete: u64,
    /// All are to be asked for anew.
    is_torn: bool,
}

/// Makes what is compared.
type Make<T, K> = Box<dyn Fn(&T) -> K + Send + Sync>;

/// Who is known, and how values are compared.
struct Known<T, K> {
    make: Lone<Make<T, K>>,
    order: Order<K>,
    /// The version of what is noted now.
    now: u64,
    /// Something was.
    any: bool,
}

impl<T: Fragment + Clone + PartialEq> ChangeLog<T> {
    /// A log that knows nobody yet, and compares values.
    ///
    /// # Errors
    /// [`QueryError`] if the registry is full.
    pub fn new(world: &World) -> Result<Self, QueryError> {
        Self::by(world, T::clone)
    }
}

impl<T: Fragment, K: PartialEq + Clone> ChangeLog<T, K> {
    /// A log that knows nobody yet, and compares what `make` makes of values, the same of the same value.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Height(f32);
    ///
    /// let mut world = World::new();
    /// let ant = world.create((Height(1.0),))?;
    /// let centimetres = |height: &Height| (height.0 * 100.0).round() as i32;
    /// let mut log = ChangeLog::<Height, i32>::by(&world, centimetres)?;
    /// log.update(&world);
    /// let has = log.version();
    /// world.get_mut::<Height>(ant)?.0 = 1.001;
    /// log.update(&world);
    /// assert_eq!(log.set_since(has).count(), 0);
    /// world.get_mut::<Height>(ant)?.0 = 1.01;
    /// log.update(&world);
    /// assert!(log.set_since(has).eq([ant]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError`] if the registry is full.
    pub fn by(
        world: &World,
        make: impl Fn(&T) -> K + Send + Sync + 'static,
    ) -> Result<Self, QueryError> {
        Ok(Self {
            query: Query::new(world)?,
            log: Log {
                known: Known {
                    make: Lone::new(Box::new(make)),
                    order: Order::new(),
                    now: 0,
                    any: false,
                },
                tracked: Tracked::new::<()>(world),
                world: world.origin(),
                version: 0,
                complete: 0,
                is_torn: false,
            },
        })
    }

    /// Brings it up to date: what has changed since the last time gets the [version](Self::version) of this one.
    ///
    /// O(chunks of entities with the fragment), and O(entities) for those chunks to which entities came, from which they
    /// went, or in which the fragment was lent for writing. On another world than before it begins anew, with nobody of whom
    /// it is known that they went; in a world that [went back](crate::world::Checkpoints::roll_back) O(entities) in all.
    ///
    /// # Panics
    /// If what makes, compares, clones or drops what is compared does: of what has changed it knows a part then, and its
    /// version is that of before, until it is updated again. As [`Query::on`], if the registry of another universe is full.
    pub fn update(&mut self, world: &World) {
        let Self { query, log } = self;
        log.update(&query.read(world));
    }

    /// Brings it up to date from within a processor, which has a query's run and not the world: as
    /// [`ValueIndex::update_from`](crate::index::ValueIndex::update_from). Of whoever comes to have what the run's filter
    /// excludes it is said that they went. By a run with another filter than before it asks for all anew, and says of those
    /// that it no longer sees that they went.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::world::Version;
    ///
    /// #[derive(Clone, PartialEq)]
    /// struct Health(u32);
    /// struct Replicated;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((Health(3), Replicated))?;
    /// world.create((Health(3),))?;
    /// let log = ChangeLog::<Health>::new(&world)?;
    /// world.resources_mut().insert(log);
    ///
    /// let mut schedule = Schedule::new();
    /// let update = |log: &mut ChangeLog<Health>, run: QueryRun<(Entity, &Health), With<Replicated>>| {
    ///     log.update_from(&run);
    /// };
    /// schedule.add(processor("log", update).phase(Phase::FrameEnd));
    /// schedule.run(&mut world)?;
    /// let log = world.resources().get::<ChangeLog<Health>>().expect("it was put there");
    /// assert!(log.set_since(Version::START).eq([ant]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`update`](Self::update).
    pub fn update_from<F: QueryFilter + 'static>(&mut self, run: &QueryRun<'_, (Entity, &T), F>) {
        self.log.update(run);
    }

    /// The version of the last update, [`START`](Version::START) before the first: whoever gets now what changed since
    /// theirs has what is so at this one. The [world's](World::version) does as well, as it was read before the update, and
    /// before the run was begun that it is [made from](Self::update_from). Where somebody asks several logs, only the world's does,
    /// read before the first of their runs.
    #[must_use]
    pub fn version(&self) -> Version {
        Version::from_bits(self.log.version)
    }

    /// From which version on it is known who went: the last one that was [forgotten](Self::forget_until), or at which it
    /// began. Who has an older one, but for [`START`](Version::START), lets all go that they have, and gets what there is
    /// since the start.
    ///
    /// (Versions are of one world: those of another mean nothing here, and may be greater.)
    #[must_use]
    pub fn complete_since(&self) -> Version {
        Version::from_bits(self.log.complete)
    }

    /// Who is there, and has come or got another value after this version, the last of them first: since
    /// [`START`](Version::START) all. Each once. O(1) for each.
    pub fn set_since(&self, since: Version) -> LoggedEntities<'_> {
        self.log.known.order.since(since.to_bits(), false)
    }

    /// Who has gone after this version, and is not there, the last of them first: destroyed, or moved to another world, or
    /// without the fragment, or no longer in what the [filter](Self::update_from) asks for. Also who came only after it. Each
    /// once. O(1) for each.
    ///
    /// Those of whom it was said to [forget](Self::forget_until) them are not among them.
    pub fn gone_since(&self, since: Version) -> LoggedEntities<'_> {
        self.log.known.order.since(since.to_bits(), true)
    }

    /// Forgets who has gone until this version: all that ask have it, or a later one. What is kept of those who have gone is
    /// else kept for ever. O(1) for each of them. Tell it the least version that a client has said to have; of a client that
    /// has said nothing for long it is better to say that it is to begin anew.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let [ant, bee] = [1_u32, 2].map(|n| world.create((n,)).expect("there is room"));
    /// let mut log = ChangeLog::<u32>::new(&world)?;
    /// log.update(&world);
    /// let mut acknowledged = [log.version(); 2];
    ///
    /// world.destroy(ant)?;
    /// log.update(&world);
    /// acknowledged[0] = log.version();
    /// world.destroy(bee)?;
    /// log.update(&world);
    /// acknowledged[1] = log.version();
    ///
    /// let all_have = acknowledged.into_iter().min().expect("there are two");
    /// log.forget_until(all_have);
    /// assert!(log.gone_since(acknowledged[0]).eq([bee]));
    /// assert_eq!((log.gone_count(), log.complete_since()), (1, all_have));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget_until(&mut self, all_have: Version) {
        // What is to come is not forgotten.
        let until = all_have.to_bits().min(self.log.version);
        self.log.known.order.forget_gone(until);
        self.log.complete = self.log.complete.max(until);
    }

    /// When an entity that is there came, or got the value that it has: the version of the update that saw it; `None` if it is
    /// not there. O(1) for who is there, but in a world that went back; there, and for who is not, O(handles of its slot that
    /// are kept). For clients that see
    /// few of many: who enters what they see has not changed, and is asked for here.
    #[must_use]
    pub fn set_at(&self, entity: Entity) -> Option<Version> {
        self.log.known.order.version(entity).map(Version::from_bits)
    }

    /// How many are there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.log.known.order.len()
    }

    /// Whether nobody is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of those who have gone are kept.
    #[must_use]
    pub fn gone_count(&self) -> usize {
        self.log.known.order.gone_len()
    }
}

impl<T: Fragment, K: PartialEq + Clone> Log<T, K> {
    fn update<F: QueryFilter + 'static>(&mut self, run: &QueryRun<'_, (Entity, &T), F>) {
        let world = run.world();
        let mut panicked = None;
        note(&mut panicked, || self.begin::<F>(world));
        // Behind what was said before, also where queries [read on](World::version) and have one version.
        let version = run.version().to_bits();
        let now = version.max(self.version.saturating_add(1));
        (self.known.now, self.known.any) = (now, false);
        if panicked.is_none() {
            note(&mut panicked, || self.see(run));
        }
        if panicked.is_some() {
            self.is_torn = true;
            note(&mut panicked, || self.tracked = Tracked::new::<F>(world));
            resume(panicked);
        }
        if self.version == 0 {
            self.complete = now;
        }
        self.version = if self.known.any {
            now
        } else {
            version.max(self.version)
        };
    }

    /// Of another world it knows nobody, of this one with another past, or by another filter, it asks for all anew.
    fn begin<F: QueryFilter + 'static>(&mut self, world: &World) {
        if self.world != world.origin() {
            (self.world, self.version, self.complete) = (world.origin(), 0, 0);
            self.known.order = Order::new();
        }
        if !self.tracked.is_of::<F>(world) {
            self.is_torn = true;
            self.tracked = Tracked::new::<F>(world);
        }
    }

    fn see<F: QueryFilter>(&mut self, run: &QueryRun<'_, (Entity, &T), F>) {
        if self.is_torn {
            self.known.order.begin_round();
        }
        self.tracked.update(run, &mut self.known);
        if self.is_torn {
            let known = &mut self.known;
            known.any |= known.order.end_round(known.now);
            self.is_torn = false;
        }
    }
}

impl<T, K: PartialEq + Clone> Knows<T> for Known<T, K> {
    type Memo = K;

    fn memo(&self, value: &T) -> K {
        (self.make)(value)
    }

    fn is_same(before: &K, now: &K) -> bool {
        before == now
    }

    fn set(&mut self, entity: Entity, _: &T, memo: &K) {
        self.any |= self.order.set(entity, self.now, memo);
    }

    fn remove(&mut self, entity: Entity) {
        self.any |= self.order.remove(entity, self.now);
    }

    fn len(&self) -> usize {
        self.order.seen()
    }
}

impl<T: Fragment, K: PartialEq + Clone> fmt::Debug for ChangeLog<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeLog")
            .field("entities", &self.len())
            .field("gone", &self.gone_count())
            .field("version", &self.log.version)
            .finish_non_exhaustive()
    }
}
