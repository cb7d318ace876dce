//! Versions: when something changed, counted in runs of queries.
//!
//! Must hold: versions of chunks, which wrap, are near enough to the world's to be compared with it, and a
//! [moment](World::moment) never comes again.

use crate::archetype::{AGING, LONG_AGO, READ_ON};
use crate::sync::atomic::Ordering;
use crate::world::{Version, World};

impl World {
    /// Sees to it that versions of chunks can be compared although they wrap: now and then, those that are
    /// too old are moved up. Called by whoever has the world to itself and runs a query, flushes, takes a chunk or a
    /// value to change, gives a new value of what is there, or switches: queries that only read, which cannot do it, let
    /// versions grow, too, if not [for ever](READ_ON). (Not by who creates, moves or destroys single entities where there
    /// is room, which are to be quick, nor by who only destroys or moves whole chunks.)
    #[inline]
    pub(crate) fn keep_versions(&mut self) {
        if self.stamp().wrapping_sub(self.aged as u32) >= AGING {
            self.age();
        }
    }

    #[cold]
    fn age(&mut self) {
        self.aged = self.moment(self.stamp());
        let aged = self.aged as u32;
        let chunks = self.archetypes.iter_mut().flat_map(|data| &mut data.chunks);
        chunks.for_each(|chunk| chunk.age(aged));
    }

    /// A version as a moment of the world: counted on, without a wrap. (It is near the last ageing,
    /// before it or after.)
    #[inline]
    pub(crate) fn moment(&self, version: u32) -> u64 {
        let since = version.wrapping_sub(self.aged as u32).cast_signed();
        self.aged.wrapping_add_signed(since.into())
    }

    /// The version of a moment, for a run of a later version that looks for changes since; one before all that chunks
    /// have, if that was long ago.
    #[inline]
    pub(crate) fn since(&self, moment: u64, version: u32) -> u32 {
        let passed = self.moment(version).saturating_sub(moment);
        version.wrapping_sub(passed.min(LONG_AGO.into()) as u32)
    }

    /// A moment before all that chunks have.
    pub(crate) fn long_ago(&self) -> u64 {
        self.moment(self.stamp()) - u64::from(LONG_AGO)
    }

    /// The version that changes made now get, and that the next query to run has. It grows with each that runs, and never
    /// wraps: what is kept of it can be told to [`since`](crate::query::QueryRun::since) however much later (what was there
    /// more than a billion versions ago may count as changed then). Whoever reads it and then runs a query has seen by that
    /// what was changed before; who runs none, and wants what changes from now on, tells [`version().before()`](Version::before). (After half a
    /// billion runs that only read, with nothing between that has the world to itself, runs make no new versions: changes get
    /// one more than it then, and may be shown twice.) It is of this
    /// world: one that is loaded from a file, or another, begins with versions of its own. O(1), wait-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,))?;
    /// let sent = world.version();
    /// assert_eq!(world.query::<&u8, Changed<u8>>()?.count(), 1);
    /// // A day later.
    /// assert_eq!(world.query::<&u8, Changed<u8>>()?.since(sent).count(), 0);
    /// *world.get_mut::<u8>(ant)? = 2;
    /// assert_eq!(world.query::<&u8, Changed<u8>>()?.since(sent).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> Version {
        // Ordering: as in `stamp`.
        let version = self.version.load(Ordering::Relaxed);
        Version::from_bits(self.moment(match self.reads_on(version) {
            true => version,
            false => version.wrapping_add(1),
        }))
    }

    /// Whether queries have read alone for so long that versions of chunks could soon not be compared any more, if they made
    /// new ones; the last of them had this version.
    #[inline]
    fn reads_on(&self, version: u32) -> bool {
        version.wrapping_add(1).wrapping_sub(self.aged as u32) >= READ_ON
    }

    /// The version as chunks have it, which wraps.
    #[inline]
    pub(crate) fn stamp(&self) -> u32 {
        // Ordering: Relaxed: a counter. Who compares versions is ordered by the borrow of the world.
        self.version.load(Ordering::Relaxed).wrapping_add(1)
    }

    /// The version of a query that runs now. Wait-free, one read-modify-write.
    #[inline]
    pub(crate) fn begin_version(&self) -> u32 {
        // Ordering: Relaxed, as in `stamp`; here and below.
        let version = self.version.load(Ordering::Relaxed);
        if self.reads_on(version) {
            // What changes from now on is newer than this one, too: it is not missed, but may be seen twice, and where
            // entities have only come, moved or gone, each time until versions are kept again.
            return version;
        }
        self.version.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// The version of a query that runs now on a world that nobody else has. No read-modify-write: one took as long as all
    /// else that begins a run. It [keeps versions](Self::keep_versions): so each run has one of its own, however many there
    /// are.
    #[inline]
    pub(crate) fn begin_version_alone(&mut self) -> u32 {
        self.keep_versions();
        // Ordering: Relaxed, as in `stamp`.
        let version = self.version.load(Ordering::Relaxed).wrapping_add(1);
        self.version.store(version, Ordering::Relaxed);
        version
    }

    /// The version of the first of so many processors that run now, and have one each, which nobody else has: that of
    /// what was changed just before is passed by.
    pub(crate) fn begin_versions(&mut self, count: u32) -> u32 {
        self.keep_versions();
        // Ordering: Relaxed, as in `stamp`. Not a read-modify-write: the world is this call's alone.
        let last = self.version.load(Ordering::Relaxed).wrapping_add(1);
        let after = last.wrapping_add(count);
        self.version.store(after, Ordering::Relaxed);
        last.wrapping_add(1)
    }

    /// A version that no query has had by now: of what somebody changes who has no more than `&World`, and has it alone.
    pub(crate) fn next_version(&self) -> u32 {
        // Ordering: Relaxed, as in `stamp`.
        self.version.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Lets what is changed from now on have another version than what was changed before; which that is.
    pub(crate) fn next_moment(&mut self) -> u64 {
        let version = self.begin_versions(0);
        self.moment(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use crate::fragment::{DynamicBundle, FragmentId, Value};
    use crate::index::ChangeLog;
    use crate::query::{Changed, Moved, Query, With};

    /// Lets the world's version grow as many runs of a query would.
    fn pass(world: &mut World, runs: u32) {
        for _ in 0..runs / (1 << 28) {
            // Ordering: one thread.
            let version = world.stamp().wrapping_add(1 << 28);
            world.version.store(version, Ordering::Relaxed);
            world.keep_versions();
        }
    }

    #[test]
    fn a_version_that_was_kept_is_good_however_much_later() {
        let mut world = World::new();
        let ant = world.create((1_u32, 2_u64)).unwrap();
        let seen = world.version();
        assert_eq!(world.query::<&u32, ()>().unwrap().count(), 1);
        let mut before = seen;
        // Three times round.
        for _ in 0..48 {
            pass(&mut world, 1 << 28);
            assert!(world.version() > before);
            before = world.version();
            *world.get_mut(ant).unwrap() = 1_u32;
            for since in [Version::START, seen, before.before()] {
                let new = world.query::<&u32, Changed<u32>>().unwrap();
                assert_eq!(new.since(since).count(), 1, "since {since} at {before}");
            }
            let now = world.version();
            assert_eq!(world.query::<&u32, ()>().unwrap().count(), 1);
            let new = world.query::<&u32, Changed<u32>>().unwrap();
            assert_eq!(new.since(now).count(), 0);
            let mut versions = Vec::new();
            let mut chunks = world.query::<&u64, ()>().unwrap();
            chunks.for_each_chunk(|chunk, _| {
                let of = [chunk.change_version::<u32>(), chunk.change_version::<u64>()];
                versions.extend(of.map(Option::unwrap));
                versions.push(chunk.order_version());
            });
            assert_eq!(versions[0], before, "as the world says it");
            assert!(versions.iter().all(|&version| version <= before));
            let far = |version: &Version| before.to_bits() - version.to_bits();
            assert!(versions.iter().all(|version| far(version) < 3 << 29));
        }
        assert!(world.version().to_bits() > seen.to_bits() + (3 << 32));
    }

    #[test]
    fn versions_are_kept_though_all_queries_that_run_only_read() {
        let calls: [fn(&mut World); 5] = [
            |world| _ = world.matching::<With<u64>>().unwrap().add(|_| (1_u8,)),
            |world| {
                let mut query = Query::<&u8>::new(world).unwrap();
                _ = query.change(world).remove::<(u8,)>();
            },
            |world| _ = Query::<&mut u64>::new(world).unwrap().lookup_mut(world),
            |world| _ = world.flush(),
            // They take a new chunk.
            |world| _ = world.create_batch((0..3_000).map(|_| (1_i8,))).unwrap(),
        ];
        for call in calls {
            let mut world = World::new();
            world.set_chunk_size(1);
            world.create((1_u32, 2_u64)).unwrap();
            for _ in 0..40 {
                // Ordering: one thread.
                world.version.fetch_add(3 << 28, Ordering::Relaxed);
                call(&mut world);
                let mut new = Query::<&u32, Changed<u32>>::new(&world).unwrap();
                assert_eq!(new.read(&world).count(), 1, "all is new to a new query");
                assert_eq!(new.read(&world).count(), 0);
                world.collect_archetypes();
            }
        }
    }

    #[test]
    fn whoever_changes_a_value_keeps_versions_and_is_seen_twice_at_most() {
        fn id(world: &World) -> FragmentId {
            world.registry().of::<u32>().unwrap().id()
        }
        type Call = (&'static str, fn(&mut World, Entity));
        let calls: [Call; 10] = [
            ("get_mut", |world, ant| *world.get_mut(ant).unwrap() = 2_u32),
            ("Query::get_mut", |world, ant| {
                let mut query = Query::<&mut u32>::new(world).unwrap();
                *query.get_mut(world, ant).unwrap() = 2;
            }),
            ("set", |world, ant| world.set(ant, 2_u32).unwrap()),
            ("add", |world, ant| world.add(ant, (2_u32, 'b')).unwrap()),
            ("swap", |world, ant| {
                world.swap::<(i8,), _>(ant, (2_u32,)).unwrap();
            }),
            ("add_slice", |world, ant| {
                assert!(world.add_slice(&[ant], |_| (2_u32, 'b')).is_clean());
            }),
            ("add_dynamic", |world, ant| {
                let value = Value::new(world.registry(), 2_u32).unwrap();
                let bundle = DynamicBundle::new().with(value);
                world.add_dynamic(ant, bundle).unwrap();
            }),
            ("get_dynamic_mut", |world, ant| {
                let id = id(world);
                let _ = world.get_dynamic_mut(ant, id).unwrap();
            }),
            ("set_enabled", |world, ant| {
                world.set_enabled::<u32>(ant, false).unwrap();
                world.set_enabled::<u32>(ant, true).unwrap();
            }),
            ("set_enabled_dynamic", |world, ant| {
                let id = id(world);
                world.set_enabled_dynamic(ant, id, false).unwrap();
                world.set_enabled_dynamic(ant, id, true).unwrap();
            }),
        ];
        let mut wrong = Vec::new();
        for (name, call) in calls {
            let mut world = World::new();
            world.registry().register_enableable::<u32>().unwrap();
            let ant = world.create((1_u32, 'a')).unwrap();
            let mut changed = Query::<&u32, Changed<u32>>::new(&world).unwrap();
            let _ = changed.read(&world);
            // As many runs as there may be of queries that only read.
            // Ordering: one thread.
            world.version.fetch_add(3 << 28, Ordering::Relaxed);
            call(&mut world, ant);
            let seen = [(); 3].map(|()| changed.read(&world).count());
            if seen[0] != 1 || seen[2] != 0 {
                wrong.push((name, seen));
            }
            world.check().unwrap();
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn queries_that_read_for_ever_let_nothing_be_missed() {
        let mut world = World::new();
        let ant = world.create((1_u32, 2_u64)).unwrap();
        let mut changed = Query::<&u32, Changed<u32>>::new(&world).unwrap();
        let mut reading = Query::<&u64>::new(&world).unwrap();
        let builder = crate::query::DynamicQuery::builder(&world);
        let id = world.registry().of::<u64>().unwrap().id();
        let mut dynamic = builder.read(id).build().unwrap();
        assert_eq!(changed.read(&world).count(), 1);
        for _ in 0..20 {
            *world.get_mut(ant).unwrap() = 7_u32;
            let start = world.stamp();
            for _ in 0..40 {
                // As many runs as that, as far as they count.
                // Ordering: one thread.
                let before = world.version.load(Ordering::Relaxed);
                let _ = reading.read(&world);
                let _ = dynamic.read(&world).unwrap();
                if world.version.load(Ordering::Relaxed) == before {
                    break;
                }
                world.version.fetch_add(1 << 27, Ordering::Relaxed);
                world.check().unwrap();
            }
            assert!(world.stamp().wrapping_sub(start) < AGING + AGING);
            assert_eq!(changed.read(&world).count(), 1, "it is not missed");
            // A value is changed by whoever has the world to itself: versions grow again.
            *world.get_mut(ant).unwrap() = 8_u64;
            assert!(changed.read(&world).count() <= 1);
            assert_eq!(changed.read(&world).count(), 0);
            world.check().unwrap();
        }
    }

    #[test]
    fn who_has_the_world_alone_and_runs_queries_for_ever_keeps_versions() {
        let mut world = World::new();
        let ant = world.create((1_u32,)).unwrap();
        let mut changed = Query::<Entity, Changed<u32>>::new(&world).unwrap();
        assert_eq!(changed.on(&mut world).count(), 1);
        // Ordering: one thread.
        world.version.fetch_add(READ_ON - 5, Ordering::Relaxed);
        for _ in 0..100 {
            let before = world.version();
            assert_eq!(world.query::<&u32, ()>().unwrap().count(), 1);
            assert!(world.version() > before, "each run has one of its own");
        }
        assert!(world.stamp().wrapping_sub(world.aged as u32) < AGING);
        *world.get_mut::<u32>(ant).unwrap() = 2;
        assert_eq!(changed.on(&mut world).count(), 1);
        assert_eq!(changed.on(&mut world).count(), 0);
    }

    #[test]
    fn a_version_that_was_kept_while_queries_read_alone_lets_nothing_be_missed() {
        let mut world = World::new();
        let ant = world.create((1_u32, 2_u64)).unwrap();
        let id = world.registry().of::<u32>().unwrap().id();
        let mut reading = Query::<&u64>::new(&world).unwrap();
        let mut changed = Query::<Entity, Changed<u32>>::new(&world).unwrap();
        let dynamic = crate::query::DynamicQuery::builder(&world);
        let mut dynamic = dynamic.read(id).changed(id).build().unwrap();
        let mut before = world.version();
        for round in 0..32_u32 {
            // Just not so far yet, just so far, and further.
            let passed = world.stamp().wrapping_sub(world.aged as u32);
            let passes = (READ_ON - 5 + round % 8).saturating_sub(passed);
            // Ordering: one thread.
            world.version.fetch_add(passes, Ordering::Relaxed);
            for _ in 0..3 {
                assert!(world.version() >= before, "it never goes back");
                before = world.version();
                let run = reading.read(&world).version();
                assert_eq!(run, before, "the next run has it");
            }
            let sent = world.version();
            let _ = reading.read(&world);
            *world.get_mut::<u32>(ant).unwrap() = round;
            assert_eq!(changed.read(&world).since(sent).count(), 1);
            let run = dynamic.read(&world).unwrap();
            assert_eq!(run.since(sent).count(), 1);
            let change = changed.change(&mut world).since(sent);
            let count = if round % 2 == 0 {
                change.add(|_| (1_u8,)).unwrap()
            } else {
                change.remove::<(u8,)>().unwrap()
            };
            assert_eq!(count, 1);
            let sent = world.version();
            let _ = reading.read(&world);
            let seen = changed.read(&world).since(sent).count();
            assert_eq!(seen, 0, "versions are kept again");
        }
    }

    #[test]
    fn a_log_of_changes_tells_its_updates_apart_while_queries_read_alone() {
        let mut world = World::new();
        let ant = world.create((1_u32,)).unwrap();
        let mut log = ChangeLog::<u32>::new(&world).unwrap();
        log.update(&world);
        // Ordering: one thread.
        world.version.fetch_add(READ_ON, Ordering::Relaxed);
        log.update(&world);
        let start = log.version();
        for round in 0..5_u32 {
            let has = log.version();
            log.update(&world);
            assert_eq!(log.version(), has, "nothing is new");
            // Neither keeps versions: there is room.
            let bee = world.create((round,)).unwrap();
            log.update(&world);
            assert!(log.set_since(has).eq([bee]));
            let has = log.version();
            world.destroy(bee).unwrap();
            log.update(&world);
            assert!(log.gone_since(has).eq([bee]));
        }
        assert!(log.version() < Version::from_bits(start.to_bits() + 20));
        let has = log.version();
        *world.get_mut::<u32>(ant).unwrap() = 7;
        log.update(&world);
        assert!(log.set_since(has).eq([ant]));
    }

    #[test]
    fn who_did_not_run_while_versions_wrapped_misses_nothing() {
        let mut world = World::new();
        let ant = world.create((1_u32,)).unwrap();
        let mut changed = Query::<&u32, Changed<u32>>::new(&world).unwrap();
        let id = world.registry().of::<u32>().unwrap().id();
        let dynamic = crate::query::DynamicQuery::builder(&world);
        let mut dynamic = dynamic.read(id).changed(id).build().unwrap();
        let mut passed = 0_u64;
        for wraps in 1..4_u64 {
            let mut see = |world: &World| {
                (
                    changed.read(world).count(),
                    dynamic.read(world).unwrap().count(),
                )
            };
            let _ = see(&world);
            assert_eq!(see(&world), (0, 0));
            let start = world.stamp();
            *world.get_mut(ant).unwrap() = 7_u32;
            while passed < wraps << 32 {
                pass(&mut world, 1 << 28);
                passed += 1 << 28;
            }
            assert!(world.stamp().wrapping_sub(start) < 1 << 20);
            assert_eq!(see(&world), (1, 1), "after {wraps} wraps");
            world.check().unwrap();
        }
    }

    #[test]
    fn change_and_order_filters_survive_wrap_around() {
        let mut world = World::new();
        let ant = world.create((1_u32, 2_u64)).unwrap();
        let mut changed = Query::<&u32, Changed<u32>>::new(&world).unwrap();
        let mut moved = Query::<Entity, Moved>::new(&world).unwrap();
        for _ in 0..40 {
            pass(&mut world, 3 << 28);
            let bee = world.create((1_u32,)).unwrap();
            let mut new = Query::<&u32, Changed<u32>>::new(&world).unwrap();
            assert_eq!(new.read(&world).count(), 2, "all is new to a new query");
            assert!((1..=2).contains(&changed.read(&world).count()));
            assert_eq!(changed.read(&world).count(), 0);
            assert!((1..=2).contains(&moved.read(&world).count()));
            assert_eq!(moved.read(&world).count(), 0);
            *world.get_mut(ant).unwrap() = 5_u32;
            *world.get_mut(ant).unwrap() = 5_u64;
            assert_eq!(
                (changed.read(&world).count(), moved.read(&world).count()),
                (1, 0)
            );
            world.destroy(bee).unwrap();
        }
    }
}
