//! What a panic must not leave behind: shared values, chunks, names.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

/// A shared value that tells how many of it there are, by its pointer; its hash panics if it is told to.
struct Counted(u8, #[expect(dead_code, reason = "held only")] Arc<()>, bool);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl std::hash::Hash for Counted {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        if self.2 {
            resume_unwind(Box::new(()));
        }
        self.0.hash(hasher);
    }
}

/// Panics when it is cloned for the time that it counts down to.
struct Brittle(Arc<AtomicUsize>);

impl Clone for Brittle {
    fn clone(&self) -> Self {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            resume_unwind(Box::new(()));
        }
        Self(Arc::clone(&self.0))
    }
}

fn panics(call: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
}

#[test]
fn a_chunk_that_could_not_be_had_leaves_no_combination_of_shared_values() {
    let (values, clones) = (Arc::new(()), Arc::new(AtomicUsize::new(usize::MAX)));
    let team = |n| Counted(n, Arc::clone(&values), false);
    let mut world = World::new();
    let first = (1_u8,).per_chunk(Brittle(Arc::clone(&clones)));
    let ant = world.create(first.shared(team(1))).unwrap();
    let groups = |world: &World| -> Vec<usize> {
        let stats = world.stats();
        stats.archetypes.iter().map(|data| data.groups).collect()
    };
    let (before, kept) = (groups(&world), Arc::strong_count(&values));
    let fail_next = || clones.store(1, Ordering::Relaxed);
    let come = |n| {
        (2_u8,)
            .per_chunk(Brittle(Arc::clone(&clones)))
            .shared(team(n))
    };
    fail_next();
    panics(|| drop(world.create(come(2))));
    fail_next();
    panics(|| drop(world.set_shared(ant, team(3))));
    let reserved = world.reserve().unwrap();
    fail_next();
    panics(|| drop(world.build(reserved, come(4))));
    fail_next();
    panics(|| drop(world.create_batch([come(5)])));
    assert_eq!(
        Arc::strong_count(&values),
        kept,
        "a value is kept for nobody"
    );
    assert_eq!(groups(&world), before);
    assert_eq!(world.count(), 1);
    world.release(reserved).unwrap();
}

#[test]
fn a_hash_that_panics_keeps_no_other_shared_value() {
    let values = Arc::new(());
    #[derive(PartialEq, Eq, Hash)]
    struct Other(Counted);
    let good = || Counted(1, Arc::clone(&values), false);
    let bad = || Counted(2, Arc::clone(&values), true);
    let mut world = World::new();
    let bee = world.create((7_u8,)).unwrap();
    panics(|| drop(world.create(().shared(good()).shared(Other(bad())))));
    panics(|| drop(world.create(().shared(bad()).shared(Other(good())))));
    panics(|| drop(world.add(bee, ().shared(good()).shared(Other(bad())))));
    panics(|| drop(world.add(bee, ().shared(bad()).shared(Other(good())))));
    assert_eq!(Arc::strong_count(&values), 1);
    assert_eq!(world.count(), 1);
}

#[test]
fn a_clone_that_panics_leaves_no_chunk() {
    let clones = Arc::new(AtomicUsize::new(usize::MAX));
    let mut world = World::new();
    world.registry().register_clone::<Brittle>().unwrap();
    world.registry().register_clone::<[u8; 4_000]>().unwrap();
    // Until a chunk is full, so that the clone is the first one of the next.
    let mut ant = None;
    while world.stats().chunks < 2 {
        let bundle = (Brittle(Arc::clone(&clones)), [0_u8; 4_000]).shared(1_u8);
        ant = Some(world.create(bundle).unwrap());
    }
    world.destroy(ant.take().unwrap()).unwrap();
    assert_eq!(world.stats().chunks, 1);
    let ant = world.read::<Entity, ()>().unwrap().iter().next().unwrap();
    clones.store(1, Ordering::Relaxed);
    panics(|| drop(world.clone_entity(ant)));
    let stats = world.stats();
    assert_eq!((stats.chunks, stats.empty_chunks), (1, 0));
}

#[test]
fn names_go_along_with_those_that_went_before_a_template_panicked() {
    let clones = Arc::new(AtomicUsize::new(usize::MAX));
    let universe = Arc::new(Universe::new());
    // The world's template is cloned, and those of the archetypes.
    for (way, call) in (0..4).flat_map(|way| (1..=4).map(move |call| (way, call))) {
        clones.store(usize::MAX, Ordering::Relaxed);
        let mut land = World::of(&universe).unwrap();
        let mut sea = World::of(&universe).unwrap();
        let weather = || Brittle(Arc::clone(&clones));
        let crabs = [
            land.create((1_u8,)).unwrap(),
            land.create((1_u8, 'a').per_chunk(weather())).unwrap(),
            land.create((1_u8, 1_u64).per_chunk(weather())).unwrap(),
        ];
        for crab in crabs {
            land.set_name(crab, "crab").unwrap();
        }
        clones.store(call, Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| match way {
            0 => land.move_all_to(&mut sea).unwrap(),
            1 => land.move_slice_to(&mut sea, &crabs).unwrap().done,
            2 => {
                let mut query = Query::<Entity>::new(&land).unwrap();
                query.change(&mut land).move_to(&mut sea).unwrap()
            }
            _ => {
                let moved = land.move_archetype_to::<(u8,)>(&mut sea).unwrap();
                moved + land.move_all_to(&mut sea).unwrap()
            }
        }));
        assert_eq!(result.is_err(), call <= 3, "{way} {call}");
        universe.check([&land, &sea]).unwrap();
        for crab in crabs {
            let world = if land.is_built(crab) { &land } else { &sea };
            assert_eq!(world.name(crab).unwrap(), Some("crab"), "{way} {call}");
        }
    }
}

#[test]
fn a_filter_of_chunks_that_panics_keeps_no_shared_value_of_those_that_were_destroyed_before() {
    let values = Arc::new(());
    let mut world = World::new();
    for n in 0..4 {
        let team = Counted(n, Arc::clone(&values), false);
        world.create((n,).shared(team)).unwrap();
    }
    for left in (1..4).rev() {
        let asked = AtomicUsize::new(0);
        panics(|| {
            let all = world.matching::<With<u8>>().unwrap();
            let filtered = all.filter_chunks(|_| {
                if asked.fetch_add(1, Ordering::Relaxed) == 1 {
                    resume_unwind(Box::new(()));
                }
                true
            });
            filtered.destroy();
        });
        assert_eq!(world.count(), left);
        assert_eq!(Arc::strong_count(&values), 1 + left);
        world.check().unwrap();
    }
}
