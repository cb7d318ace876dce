//! Who has come, changed or gone since when.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use megachunk::prelude::*;
use megachunk::query::QueryFilter;
use megachunk::world::{Budget, Checkpoints, Version};

use crate::{ChildOf, values};

pub(crate) type Log = ChangeLog<ChildOf, u32>;

/// Who is there, by what is compared.
type There = BTreeMap<Entity, u32>;

pub(crate) fn log(world: &World) -> Log {
    ChangeLog::by(world, values::key).unwrap()
}

fn there(world: &World) -> There {
    let mut all = Query::<(Entity, &ChildOf)>::new(world).unwrap();
    let mut there = There::new();
    // Switched off or not.
    all.read(world).for_each_chunk(|_, (entities, values)| {
        let keys = values.iter().map(values::key);
        there.extend(entities.iter().copied().zip(keys));
    });
    there
}

fn sorted(entities: impl Iterator<Item = Entity>) -> Vec<Entity> {
    let mut entities: Vec<Entity> = entities.collect();
    entities.sort();
    entities
}

/// Clients that follow a log, each as late as it is.
pub(crate) struct Followers {
    last: (Version, There),
    /// What each has, and of which version that is.
    clients: Vec<(Version, There)>,
    looks: usize,
}

impl Followers {
    pub(crate) fn new() -> Self {
        Self {
            last: (Version::START, There::new()),
            clients: vec![(Version::START, There::new()); 3],
            looks: 0,
        }
    }

    /// The log is up to date: what it says is exact, and leads whoever follows it to what is there.
    pub(crate) fn compare(&mut self, log: &mut Log, world: &World) {
        let now = there(world);
        let (version, before) = &self.last;
        let is_new = |who: &Entity| now.get(who) != before.get(who);
        let set: Vec<Entity> = now.keys().copied().filter(is_new).collect();
        assert_eq!(sorted(log.set_since(*version)), set);
        let gone = before.keys().filter(|who| !now.contains_key(who));
        assert!(gone.copied().eq(sorted(log.gone_since(*version))));
        assert_eq!((log.len(), log.is_empty()), (now.len(), now.is_empty()));
        assert!(set.iter().all(|&who| log.set_at(who) > Some(*version)));
        for (nth, (has, client)) in self.clients.iter_mut().enumerate() {
            // Each has come to 1, 7 or 49 of them.
            if !self.looks.is_multiple_of(7_usize.pow(nth as u32)) {
                continue;
            }
            assert!(*has == Version::START || *has >= log.complete_since());
            log.gone_since(*has).for_each(|who| _ = client.remove(&who));
            client.extend(log.set_since(*has).map(|who| (who, now[&who])));
            assert_eq!(*client, now, "client {nth}");
            *has = log.version();
        }
        let all_have = self.clients.iter().map(|client| client.0).min().unwrap();
        log.forget_until(all_have);
        assert!(log.gone_count() <= log.gone_since(all_have).count());
        (self.last, self.looks) = ((log.version(), now), self.looks + 1);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Health(u32);
megachunk::plain!(Health { 0 });

struct Marked;

fn world(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let batch = world
        .create_batch((0..count).map(|n| (Health(n),)))
        .unwrap();
    let all = batch.iter(&world).collect();
    (world, all)
}

#[test]
fn whoever_is_what_they_were_has_not_changed() {
    let (mut world, all) = world(3_000);
    let mut log = ChangeLog::<Health>::new(&world).unwrap();
    log.update(&world);
    let has = log.version();
    assert_eq!(log.complete_since(), has, "who went before is not known");
    // Lent, moved to other compositions and back, and to other rows and chunks.
    let mut query = world.query::<&mut Health, ()>().unwrap();
    query.for_each(|health| health.0 *= 1);
    assert_eq!(world.add_slice(&all[..500], |_| (Marked,)).done, 500);
    world.add(all[700], ('a',)).unwrap();
    world.remove::<(char,)>(all[700]).unwrap();
    // Gone for a moment, and back.
    world.remove::<(Health,)>(all[800]).unwrap();
    world.add(all[800], (Health(800),)).unwrap();
    assert_eq!(world.destroy_slice(&all[1_000..2_000]).done, 1_000);
    world.compact(Budget::Entities(usize::MAX));
    world.set(all[900], Health(1)).unwrap();
    log.update(&world);
    assert!(log.set_since(has).eq([all[900]]));
    assert_eq!(sorted(log.gone_since(has)), all[1_000..2_000]);
    assert_eq!(log.set_at(all[900]), Some(log.version()));
    assert_eq!(
        [all[0], all[700]].map(|who| log.set_at(who)),
        [Some(has); 2]
    );
    assert_eq!(log.set_at(all[1_000]), None);
    assert_eq!(log.set_at(Entity::PLACEHOLDER), None);
    // Nothing happens: nothing is said, however often.
    let has = log.version();
    (0..3).for_each(|_| log.update(&world));
    assert_eq!(log.set_since(has).chain(log.gone_since(has)).count(), 0);
}

#[test]
fn a_version_that_the_world_said_before_the_update_serves_as_that_of_the_log() {
    let (mut world, all) = world(10);
    let mut log = ChangeLog::<Health>::new(&world).unwrap();
    for &who in &all[..5] {
        let has = world.version();
        log.update(&world);
        assert_eq!(log.version(), has);
        world.set(who, Health(99)).unwrap();
        log.update(&world);
        assert!(log.set_since(has).eq([who]));
    }
    // The last ones first.
    let changed = log.set_since(Version::START).take(5);
    assert!(changed.eq(all[..5].iter().rev().copied()));
    assert_eq!(log.set_since(Version::from_bits(u64::MAX)).count(), 0);
    assert_eq!(
        format!("{:?}", log.set_since(log.version().before())),
        format!("[{:?}]", all[4])
    );
}

#[test]
fn the_gone_are_kept_until_all_have_it_and_no_longer() {
    let (mut world, _) = world(1);
    let mut log = ChangeLog::<Health>::new(&world).unwrap();
    log.forget_until(Version::from_bits(u64::MAX));
    assert_eq!(log.complete_since(), Version::START, "there was none yet");
    let mut versions = Vec::new();
    for _ in 0..100 {
        let brief = world.create((Health(1),)).unwrap();
        log.update(&world);
        world.destroy(brief).unwrap();
        log.update(&world);
        versions.push((brief, log.version()));
        if versions.len() > 10 {
            let (_, all_have) = versions[versions.len() - 11];
            log.forget_until(all_have);
            assert_eq!((log.gone_count(), log.complete_since()), (10, all_have));
            let last = versions.iter().rev().map(|(brief, _)| *brief).take(10);
            assert!(log.gone_since(all_have).eq(last));
            assert_eq!(log.gone_since(versions[0].1).count(), 10);
        }
    }
    log.forget_until(Version::START);
    assert_eq!(log.gone_count(), 10, "nothing is remembered again");
    log.forget_until(Version::from_bits(u64::MAX));
    assert_eq!((log.gone_count(), log.len()), (0, 1));
    assert_eq!(
        log.complete_since(),
        log.version(),
        "what comes is not forgotten"
    );
    // Who comes again is not among those who have gone, also where that was long ago.
    let (who, seen) = (world.create((Health(7),)).unwrap(), log.version());
    log.update(&world);
    for round in 0..4 {
        world.remove::<(Health,)>(who).unwrap();
        log.update(&world);
        assert!(log.gone_since(seen).eq([who]));
        world.add(who, (Health(round),)).unwrap();
        log.update(&world);
        assert_eq!(
            (log.gone_count(), log.set_at(who)),
            (0, Some(log.version()))
        );
    }
}

#[test]
fn tags_come_and_go() {
    #[derive(Clone, PartialEq)]
    struct Seen;
    let (mut world, all) = world(20);
    let mut log = ChangeLog::<Seen>::new(&world).unwrap();
    log.update(&world);
    let has = log.version();
    assert_eq!(world.add_slice(&all[3..6], |_| (Seen,)).done, 3);
    log.update(&world);
    assert_eq!(sorted(log.set_since(has)), all[3..6]);
    let has = log.version();
    world.destroy(all[3]).unwrap();
    world.remove::<(Seen,)>(all[4]).unwrap();
    log.update(&world);
    assert_eq!(log.set_since(has).count(), 0);
    assert_eq!(sorted(log.gone_since(has)), all[3..5]);
}

#[test]
fn a_filter_decides_who_is_there_and_another_one_asks_for_all_anew() {
    fn update<F: QueryFilter + 'static>(log: &mut ChangeLog<Health>, world: &World) {
        let mut query = Query::<(Entity, &Health), F>::new(world).unwrap();
        log.update_from(&query.read(world));
    }
    let (mut world, all) = world(10);
    assert_eq!(world.add_slice(&all[..4], |_| (Marked,)).done, 4);
    let mut log = ChangeLog::<Health>::new(&world).unwrap();
    update::<With<Marked>>(&mut log, &world);
    assert_eq!(sorted(log.set_since(Version::START)), all[..4]);
    let has = log.version();
    world.remove::<(Marked,)>(all[0]).unwrap();
    world.add(all[9], (Marked,)).unwrap();
    update::<With<Marked>>(&mut log, &world);
    assert!(log.set_since(has).eq([all[9]]) && log.gone_since(has).eq([all[0]]));
    // Those who are seen by both stay as they were.
    let has = log.version();
    world.set(all[3], Health(99)).unwrap();
    world.destroy(all[2]).unwrap();
    update::<()>(&mut log, &world);
    let came = [&all[..1], &all[3..9]].concat();
    assert_eq!(sorted(log.set_since(has)), came);
    assert!(log.gone_since(has).eq([all[2]]));
    let has = log.version();
    update::<Without<Marked>>(&mut log, &world);
    assert_eq!(log.set_since(has).count(), 0);
    assert_eq!(sorted(log.gone_since(has)), [all[1], all[3], all[9]]);
    assert_eq!(log.complete_since() < has, log.len() == 6);
}

#[test]
fn beside_another_world_it_begins_anew() {
    let universe = Arc::new(Universe::new());
    let mut worlds = [(); 2].map(|()| World::of(&universe).unwrap());
    let ant = worlds[0].create((Health(1),)).unwrap();
    let bee = worlds[0].create((Health(2),)).unwrap();
    let mut log = ChangeLog::<Health>::new(&worlds[0]).unwrap();
    log.update(&worlds[0]);
    let [one, other] = &mut worlds;
    one.move_to(other, ant).unwrap();
    log.update(other);
    assert!(log.set_since(Version::START).eq([ant]));
    assert_eq!((log.gone_count(), log.complete_since()), (0, log.version()));
    // And back: there is one more than the other one knows.
    log.update(one);
    assert!(log.set_since(Version::START).eq([bee]));
    assert_eq!(log.gone_count(), 0);
    // Of another universe, in which the same handle is somebody else.
    let mut strange = World::new();
    let who = strange.create((Health(3),)).unwrap();
    log.update(&strange);
    assert!(log.set_since(Version::START).eq([who]));
}

#[test]
fn a_world_that_goes_back_has_changed_where_it_is_not_as_it_was() {
    let universe = Arc::new(Universe::ordered());
    let mut world = World::of(&universe).unwrap();
    world.registry().register_plain::<Health>().unwrap();
    let batch = world.create_batch((0..50).map(|n| (Health(n),))).unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    let mut log = ChangeLog::<Health>::new(&world).unwrap();
    log.update(&world);
    let mut checkpoints = Checkpoints::new(2);
    let taken = checkpoints.take(&mut world).unwrap();
    for round in 0..3 {
        let start = log.version();
        world.set(all[3], Health(99)).unwrap();
        assert_eq!(world.destroy_slice(&all[10..20]).done, 10);
        // They have the slots of those who went.
        let new: Vec<Entity> = (0..15)
            .map(|n| world.create((Health(n + round),)).unwrap())
            .collect();
        log.update(&world);
        let mut came = new.clone();
        came.push(all[3]);
        assert_eq!(sorted(log.set_since(start)), sorted(came.into_iter()));
        let has = log.version();
        checkpoints.roll_back(&mut world, taken).unwrap();
        log.update(&world);
        assert!(log.version() > has, "versions do not go back");
        let back = [&all[3..4], &all[10..20]].concat();
        assert_eq!(sorted(log.set_since(has)), back);
        assert_eq!(sorted(log.gone_since(has)), sorted(new.into_iter()));
        assert_eq!(log.len(), 50);
        // Who has not heard of any of it is told of both, and gets to the same.
        assert!(log.gone_since(start).all(|who| !all.contains(&who)));
        assert_eq!(sorted(log.set_since(start)), back);
        assert!(log.gone_count() <= 15, "each handle once: {round}");
    }
}

#[test]
fn after_a_panic_it_is_right_when_it_is_updated_again() {
    /// Seven of them cannot be copied while it says so.
    struct Copied(u32, Arc<AtomicBool>);
    impl Clone for Copied {
        fn clone(&self) -> Self {
            assert!(self.0 != 7 || !self.1.load(Relaxed), "it is not copied");
            Self(self.0, Arc::clone(&self.1))
        }
    }
    impl PartialEq for Copied {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    let armed = Arc::new(AtomicBool::new(false));
    let mut world = World::new();
    let bundles = (0..20).map(|n| (Copied(n, Arc::clone(&armed)),));
    let all = world.create_batch(bundles).unwrap().to_vec(&world);
    let mut log = ChangeLog::<Copied>::new(&world).unwrap();
    log.update(&world);
    for round in 0..3 {
        let has = log.version();
        world.get_mut::<Copied>(all[5]).unwrap().0 = 100 + round;
        world.get_mut::<Copied>(all[9]).unwrap().0 = 100 + round;
        let gone = world.create(('a',)).unwrap();
        world.add(gone, (Copied(1, Arc::clone(&armed)),)).unwrap();
        armed.store(true, Relaxed);
        let seen = catch_unwind(AssertUnwindSafe(|| log.update(&world)));
        armed.store(false, Relaxed);
        assert!(seen.is_err(), "it panics");
        assert_eq!(log.version(), has);
        world.destroy(gone).unwrap();
        log.update(&world);
        assert_eq!(sorted(log.set_since(has)), [all[5], all[9]]);
        let named: Vec<Entity> = log.gone_since(has).collect();
        assert!(named.is_empty() || named == [gone]);
        assert_eq!(log.len(), 20);
        log.forget_until(log.version());
        assert_eq!(log.gone_count(), 0);
    }
}

#[test]
fn those_that_go_together_are_told_in_the_order_of_their_handles() {
    let (mut world, ants) = world(40_000);
    let mut log = ChangeLog::<Health>::new(&world).unwrap();
    log.update(&world);
    let has = log.version();
    // Many chunks go at once, wherever they lie.
    world.clear();
    log.update(&world);
    let gone: Vec<Entity> = log.gone_since(has).collect();
    assert_eq!(gone.len(), ants.len());
    let newest_first = gone.windows(2).all(|two| two[0].index() > two[1].index());
    assert!(newest_first, "{:?}", &gone[..4]);
}

#[test]
fn the_order_of_those_that_go_does_not_hang_on_where_chunks_lie() {
    /// In which order they go, if somebody else has taken the place of their chunk meanwhile, or not.
    fn gone(other_takes_it: bool) -> Vec<u32> {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).unwrap();
        let mut other = World::of(&universe).unwrap();
        let ants = world.create_batch((0..6).map(|n| (Health(n),)));
        let ants = ants.unwrap().to_vec(&world);
        // The last row goes where the second one was.
        world.destroy(ants[1]).unwrap();
        let mut log = ChangeLog::<Health>::new(&world).unwrap();
        log.update(&world);
        let has = log.version();
        world.clear();
        world.trim();
        if other_takes_it {
            other.create((1_u64,)).unwrap();
        }
        world.create((Health(77), 'x')).unwrap();
        log.update(&world);
        let gone = log.gone_since(has);
        gone.map(|ant| ant.index()).collect()
    }
    assert_eq!(gone(false), [5, 4, 3, 2, 0]);
    assert_eq!(gone(true), [5, 4, 3, 2, 0]);
}
