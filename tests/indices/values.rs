//! Who has which value.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Included, Unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use megachunk::index::ValueIndex;
use megachunk::prelude::*;
use megachunk::query::QueryFilter;

use crate::ChildOf;

/// Few keys, and one for those who name nobody.
pub(crate) fn key(child: &ChildOf) -> u32 {
    match child.0 {
        Entity::PLACEHOLDER => u32::MAX,
        target => target.index() % 7,
    }
}

/// Panics if the index says something else than the world.
pub(crate) fn compare(index: &ValueIndex<ChildOf, u32>, world: &World) {
    let mut expected: BTreeMap<u32, BTreeSet<Entity>> = BTreeMap::new();
    let mut all = Query::<(Entity, &ChildOf)>::new(world).unwrap();
    let mut count = 0;
    // Switched off or not.
    all.read(world).for_each_chunk(|_, (entities, values)| {
        for (&entity, value) in entities.iter().zip(values) {
            expected.entry(key(value)).or_default().insert(entity);
            assert_eq!(index.key(entity), Some(&key(value)));
            count += 1;
        }
    });
    assert_eq!((index.len(), index.key_count()), (count, expected.len()));
    assert_eq!(index.is_empty(), count == 0);
    let said = index
        .iter()
        .map(|(&key, entities)| (key, entities.to_vec()));
    let expected = expected.into_iter();
    let expected = expected.map(|(key, entities)| (key, entities.into_iter().collect()));
    assert!(said.eq(expected));
}

#[derive(Clone, Copy)]
struct Cell(i32, i32);

fn world(count: i32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let bundles = (0..count).map(|n| (Cell(n % 10, n / 10),));
    let batch = world.create_batch(bundles).unwrap();
    let all = batch.iter(&world).collect();
    (world, all)
}

#[test]
fn keys_are_found_by_ranges_and_by_entities() {
    let (mut world, all) = world(100);
    let mut rows = ValueIndex::new(&world, |cell: &Cell| cell.1).unwrap();
    assert!(rows.is_empty() && rows.entities(&3).is_empty());
    rows.update(&world);
    assert_eq!((rows.len(), rows.key_count()), (100, 10));
    assert_eq!(rows.entities(&3), &all[30..40]);
    assert!(rows.entities(&10).is_empty());
    let some: Vec<Entity> = rows.range(2..4).flat_map(|row| row.1).copied().collect();
    assert_eq!(some, all[20..40]);
    // The range is asked for once: what it was made of may go.
    let below = {
        let end = 2;
        rows.range(..&end)
    };
    assert_eq!(
        below.clone().rev().map(|row| *row.0).collect::<Vec<_>>(),
        [1, 0]
    );
    assert_eq!(format!("{below:?}"), "[0, 1]");
    let last = rows.iter().next_back().unwrap();
    assert_eq!((last.0, last.1), (&9, &all[90..]));
    world.set(all[95], Cell(0, -1)).unwrap();
    assert_eq!(world.destroy_slice(&all[..10]).done, 10);
    world.remove::<(Cell,)>(all[50]).unwrap();
    rows.update(&world);
    assert_eq!(rows.iter().next().unwrap(), (&-1, &all[95..96]));
    assert_eq!(rows.entities(&5), &all[51..60]);
    assert!(rows.entities(&0).is_empty());
    assert_eq!((rows.len(), rows.key_count()), (89, 10));
    assert_eq!(
        [all[0], all[50], all[95]].map(|e| rows.key(e)),
        [None, None, Some(&-1)]
    );
}

#[test]
fn a_range_that_ends_before_it_begins_panics_and_the_index_stays_as_it_was() {
    let (world, all) = world(100);
    let mut rows = ValueIndex::new(&world, |cell: &Cell| cell.1).unwrap();
    rows.update(&world);
    let (from, to) = (4, 2);
    let reversed = catch_unwind(AssertUnwindSafe(|| rows.range(from..to).count()));
    assert!(reversed.is_err());
    assert_eq!(rows.range(from..from).count(), 0, "this one is empty");
    let some: Vec<Entity> = rows
        .range(to..from)
        .flat_map(|row| row.1)
        .copied()
        .collect();
    assert_eq!(some, all[20..40]);
}

/// An index that counts for how many entities it has made keys.
fn counting(world: &World) -> (ValueIndex<Cell, i32>, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let key = move |cell: &Cell| {
        count.fetch_add(1, Relaxed);
        cell.0
    };
    (ValueIndex::new(world, key).unwrap(), made)
}

#[test]
fn only_what_has_changed_is_looked_at() {
    let (mut world, all) = world(1_000);
    let made = |index: &mut ValueIndex<Cell, i32>, count: &AtomicUsize, world: &World| {
        index.update(world);
        count.swap(0, Relaxed)
    };
    let (mut index, count) = counting(&world);
    assert_eq!(made(&mut index, &count, &world), 1_000);
    assert_eq!(made(&mut index, &count, &world), 0);
    // Others come and go, and compositions that nobody has.
    world.create(('x',)).unwrap();
    world.add(all[0], ('x', 1_u64)).unwrap();
    world.remove::<(char, u64)>(all[0]).unwrap();
    let around = made(&mut index, &count, &world);
    assert!(
        (1..=1_000).contains(&around),
        "those of its chunk: {around}"
    );
    assert!(world.collect_archetypes() > 0);
    assert_eq!(made(&mut index, &count, &world), 0, "numbers do not matter");
    world.destroy(all[0]).unwrap();
    assert_eq!(
        made(&mut index, &count, &world),
        0,
        "the last one leaves no hole"
    );
    assert_eq!(index.len(), 999);
    // Another world.
    let (other, _) = self::world(30);
    assert_eq!(made(&mut index, &count, &other), 30);
    assert_eq!(index.len(), 30);
}

#[test]
fn tags_are_looked_at_once() {
    struct Tag;
    let mut world = World::new();
    let all = world.create_batch((0..1_000).map(|_| (Tag,))).unwrap();
    let all: Vec<Entity> = all.iter(&world).collect();
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let key = move |_: &Tag| _ = count.fetch_add(1, Relaxed);
    let mut index = ValueIndex::<Tag, ()>::new(&world, key).unwrap();
    for expected in [1_000, 0, 0] {
        index.update(&world);
        assert_eq!(made.swap(0, Relaxed), expected);
    }
    world.destroy(all[3]).unwrap();
    index.update(&world);
    assert_eq!((made.swap(0, Relaxed), index.len()), (1, 999));
    assert_eq!(index.entities(&()).len(), 999);
}

#[test]
fn keys_are_found_by_what_they_are_borrowed_as() {
    struct Name(&'static str);
    let mut world = World::new();
    let all = ["ant", "bee", "cow"].map(|name| world.create((Name(name),)).unwrap());
    let mut names = ValueIndex::<Name, String>::new(&world, |name| name.0.into()).unwrap();
    names.update(&world);
    assert_eq!(names.entities("bee"), [all[1]]);
    let from_bee = names.range::<str>((Included("bee"), Unbounded));
    assert!(from_bee.map(|(name, _)| name).eq(["bee", "cow"]));
}

static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// A key that may panic whatever is done with it.
#[derive(Debug)]
struct Touchy {
    number: i32,
    when: Panics,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Panics {
    Never,
    Made,
    Cloned,
    Compared,
    Dropped,
}

impl Touchy {
    fn new(number: i32, when: Panics) -> Self {
        if number >= 10 && when == Panics::Made {
            resume_unwind(Box::new("made"));
        }
        ALIVE.fetch_add(1, Relaxed);
        Self { number, when }
    }
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        if self.number >= 10 && self.when == Panics::Cloned {
            resume_unwind(Box::new("cloned"));
        }
        Self::new(self.number, self.when)
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
        if self.number >= 10 && self.when == Panics::Dropped && !std::thread::panicking() {
            resume_unwind(Box::new("dropped"));
        }
    }
}

impl Ord for Touchy {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.number >= 10 && self.when == Panics::Compared {
            resume_unwind(Box::new("compared"));
        }
        self.number.cmp(&other.number)
    }
}

impl PartialOrd for Touchy {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Touchy {}

static BURNS: AtomicUsize = AtomicUsize::new(0);

/// A key that panics each time that one is dropped, if they do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Burnt(i32);

impl Drop for Burnt {
    fn drop(&mut self) {
        if BURNS.load(Relaxed) > 0 {
            resume_unwind(Box::new("as if it burnt"));
        }
    }
}

#[test]
fn keys_that_all_panic_end_one_by_one() {
    for destroyed in [10, 60] {
        let (mut world, all) = world(60);
        let mut index = ValueIndex::<Cell, Burnt>::new(&world, |cell| Burnt(cell.0)).unwrap();
        index.update(&world);
        assert_eq!(world.destroy_slice(&all[60 - destroyed..]).done, destroyed);
        if destroyed == 60 {
            let _ = world.trim();
        }
        BURNS.store(1, Relaxed);
        let burnt = catch_unwind(AssertUnwindSafe(|| index.update(&world)));
        BURNS.store(0, Relaxed);
        assert!(burnt.is_err() && index.is_empty());
        index.update(&world);
        assert_eq!(index.len(), 60 - destroyed);
    }
}

#[test]
fn whatever_panics_the_index_knows_all_or_nobody() {
    for when in [
        Panics::Made,
        Panics::Cloned,
        Panics::Compared,
        Panics::Dropped,
    ] {
        let (mut world, all) = world(60);
        let mode = Arc::new(std::sync::Mutex::new(Panics::Never));
        let its = Arc::clone(&mode);
        let key = move |cell: &Cell| {
            let when = *its.lock().unwrap();
            Touchy::new(cell.0, when)
        };
        let mut index = ValueIndex::<Cell, Touchy>::new(&world, key).unwrap();
        index.update(&world);
        assert_eq!((index.len(), index.key_count()), (60, 10));
        *mode.lock().unwrap() = when;
        let update = |index: &mut ValueIndex<_, _>, world: &mut World| {
            // Some keys are new.
            for &entity in &all {
                world.get_mut::<Cell>(entity).unwrap().0 += 4;
            }
            catch_unwind(AssertUnwindSafe(|| index.update(world))).is_err()
        };
        if when == Panics::Dropped {
            assert!(
                !update(&mut index, &mut world),
                "they are dropped next time"
            );
        }
        assert!(update(&mut index, &mut world), "{when:?}");
        assert!(
            index.is_empty() && index.iter().next().is_none(),
            "{when:?}"
        );
        *mode.lock().unwrap() = Panics::Never;
        assert!(!update(&mut index, &mut world), "{when:?}");
        assert_eq!((index.len(), index.key_count()), (60, 10));
        drop(index);
        assert_eq!(ALIVE.load(Relaxed), 0, "{when:?}");
    }
}

/// Passes by whom a filter leaves out.
struct Hidden;
/// What a filter asks for.
struct Seen;

/// Panics if the index does not know those, and only those, whose composition matches the filter.
fn compare_filtered<F: QueryFilter + 'static>(
    index: &mut ValueIndex<Cell, i32>,
    query: &mut Query<(Entity, &Cell), F>,
    world: &World,
    matches: impl Fn(Entity) -> bool,
) {
    index.update_from(&query.read(world));
    let mut expected: BTreeMap<i32, BTreeSet<Entity>> = BTreeMap::new();
    let mut all = Query::<(Entity, &Cell)>::new(world).unwrap();
    for (entity, cell) in all.read(world).into_iter().filter(|(e, _)| matches(*e)) {
        expected.entry(cell.0).or_default().insert(entity);
    }
    let known = index.iter().map(|(&key, all)| (key, all.to_vec()));
    let expected = expected.into_iter();
    let expected = expected.map(|(key, all)| (key, all.into_iter().collect()));
    assert!(known.eq(expected));
}

#[test]
fn a_run_with_a_filter_makes_an_index_of_those_who_match() {
    let (mut world, mut all) = world(2_000);
    let new = |world: &World| ValueIndex::<Cell, i32>::new(world, |cell| cell.0).unwrap();
    let (mut open, mut seen) = (new(&world), new(&world));
    let mut not_hidden = Query::new(&world).unwrap();
    let mut only_seen = Query::new(&world).unwrap();
    let mut random = 1_u64;
    let mut next = move |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as usize % below
    };
    for step in 0..400 {
        let entity = all[next(all.len())];
        match next(8) {
            0 => drop(world.add(entity, (Hidden,))),
            1 => drop(world.remove::<(Hidden,)>(entity)),
            2 => drop(world.add(entity, (Seen,))),
            3 => drop(world.remove::<(Seen,)>(entity)),
            4 => drop(world.set(entity, Cell(step % 10, step))),
            5 => drop(world.destroy(entity)),
            6 => all.push(world.create((Cell(step % 7, 0), Seen)).unwrap()),
            // All of a composition, whose chunks stay where they are.
            _ => {
                let hidden = world.matching::<With<Hidden>>().unwrap();
                hidden.remove::<(Hidden,)>().unwrap();
                let shown = world.matching::<(With<Seen>, Without<Hidden>)>().unwrap();
                shown.add(|_| (Hidden,)).unwrap();
            }
        }
        compare_filtered::<Without<Hidden>>(&mut open, &mut not_hidden, &world, |entity| {
            world.has::<Hidden>(entity) == Ok(false)
        });
        compare_filtered::<With<Seen>>(&mut seen, &mut only_seen, &world, |entity| {
            world.has::<Seen>(entity) == Ok(true)
        });
    }
    assert!(!open.is_empty() && !seen.is_empty());
}

#[test]
fn compositions_alone_decide_and_another_filter_begins_anew() {
    let (mut world, all) = world(100);
    world.registry().register_enableable::<Seen>().unwrap();
    for &entity in &all[..60] {
        world.add(entity, (Seen,)).unwrap();
    }
    let (mut index, count) = counting(&world);
    let mut seen = Query::<(Entity, &Cell), With<Seen>>::new(&world).unwrap();
    let mut update = |index: &mut ValueIndex<Cell, i32>, world: &World| {
        index.update_from(&seen.read(world));
        (index.len(), count.swap(0, Relaxed))
    };
    assert_eq!(update(&mut index, &world), (60, 60));
    world.set_enabled::<Seen>(all[0], false).unwrap();
    assert_eq!(update(&mut index, &world), (60, 0), "a switch is no matter");
    let mut changed = Query::<(Entity, &Cell), (With<Seen>, Changed<Cell>)>::new(&world).unwrap();
    for _ in 0..2 {
        index.update_from(&changed.read(&world));
        assert_eq!(index.len(), 60, "chunks that have not changed count");
    }
    assert_eq!(count.swap(0, Relaxed), 60, "once anew");
    index.update(&world);
    assert_eq!((index.len(), count.swap(0, Relaxed)), (100, 100));
    assert_eq!(update(&mut index, &world), (60, 60));
    assert_eq!(index.key(all[60]), None);
}
