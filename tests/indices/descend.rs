//! Down from roots to leaves, on threads of several pools: each row once, with what came of the one that it names.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::index::RelationshipIndex;
use megachunk::prelude::*;

use crate::ChildOf;

type Index = RelationshipIndex<ChildOf>;

/// How often it was lent, and the sum of what was made from its root down to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    times: u32,
    sum: u64,
}

/// What it adds.
#[derive(Clone, Copy)]
struct Own(u64);

/// Says so of others, and means nothing to these tests: some entities lie in chunks of their own.
struct Apart;

fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap()
}

/// Sums from the roots down; how many rows were lent.
fn descend(index: &Index, sums: &mut Query<(&mut Sum, &Own)>, world: &mut World) -> usize {
    let step = |above: u64, (sum, own): (&mut Sum, &Own)| {
        sum.times += 1;
        sum.sum = above.wrapping_mul(31).wrapping_add(own.0);
        sum.sum
    };
    let run = &mut sums.on(world);
    index.par_descend(run, |row| step(0, row), |&above, row| step(above, row))
}

/// A forest of `count`: each names one before it, as `parent` says, or nobody.
fn forest(
    world: &mut World,
    count: usize,
    mut parent: impl FnMut(usize) -> Option<usize>,
) -> Vec<Entity> {
    let mut all: Vec<Entity> = Vec::new();
    for at in 0..count {
        let own = (Sum::default(), Own(at as u64 + 1));
        let entity = match parent(at) {
            Some(parent) => world.create((own.0, own.1, ChildOf(all[parent]))),
            None => world.create(own),
        };
        all.push(entity.unwrap());
        if at % 3 == 0 {
            world.add(all[at], (Apart,)).unwrap();
        }
    }
    all
}

/// What the sums have to be, made one by one: of those that hang on a root, by whom they name.
fn expected(world: &World, all: &[Entity]) -> HashMap<Entity, Sum> {
    let target = |entity| world.get::<ChildOf>(entity).ok().map(|of| of.0);
    let named: Vec<Entity> = all.iter().filter_map(|&entity| target(entity)).collect();
    let mut sums = HashMap::new();
    for &entity in all {
        let mut way = vec![entity];
        while let Some(above) = target(way[way.len() - 1]) {
            way.push(above);
        }
        let sum = way.iter().rev().fold(0_u64, |sum, &part| {
            let own = world.get::<Own>(part).unwrap().0;
            sum.wrapping_mul(31).wrapping_add(own)
        });
        let is_lonely = way.len() == 1 && !named.contains(&entity);
        sums.insert(
            entity,
            if is_lonely {
                Sum::default()
            } else {
                Sum { times: 1, sum }
            },
        );
    }
    sums
}

fn reset(world: &mut World) {
    for sum in &mut world.query::<&mut Sum, ()>().unwrap() {
        *sum = Sum::default();
    }
}

#[test]
fn each_row_is_lent_once_with_what_came_of_the_one_that_it_names_on_any_number_of_threads() {
    let mut state = 7_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let mut by_chance: Vec<Option<usize>> = vec![None];
    by_chance.extend((1..3_000).map(|at| (below(9) > 0).then(|| below(at))));
    // One tree that is wide, one that is as deep as can be, trees of few, and by chance.
    type Parent<'a> = &'a dyn Fn(usize) -> Option<usize>;
    let shapes: [(usize, Parent<'_>); 5] = [
        (3_000, &|at| (at > 0).then_some(0)),
        (600, &|at| at.checked_sub(1)),
        (3_000, &|at| (at % 4 > 0).then(|| at - at % 4)),
        (3_000, &|at| by_chance[at]),
        // Two levels, both wider than a piece, in steps that are none of its parts.
        (3_000, &|at| (at > 0).then(|| at.saturating_sub(400) / 7)),
    ];
    for (count, parent) in shapes {
        let mut world = World::new();
        let all = forest(&mut world, count, parent);
        let mut index = Index::new(&world).unwrap();
        index.update(&world);
        let expected = expected(&world, &all);
        let mut sums = Query::new(&world).unwrap();
        for threads in [1, 2, 5] {
            reset(&mut world);
            let lent = pool(threads).install(|| descend(&index, &mut sums, &mut world));
            let there = expected.values().filter(|sum| sum.times == 1).count();
            assert_eq!(lent, there, "{threads} threads");
            for &entity in &all {
                let sum = world.get::<Sum>(entity).unwrap();
                assert_eq!(sum, &expected[&entity], "{entity}, {threads} threads");
            }
        }
        // Nor from a thread that is in no pool.
        reset(&mut world);
        descend(&index, &mut sums, &mut world);
        assert!(
            all.iter()
                .all(|&entity| world.get::<Sum>(entity).unwrap() == &expected[&entity])
        );
    }
}

#[test]
fn circles_are_not_walked_nor_what_hangs_on_them() {
    let mut world = World::new();
    let all = forest(&mut world, 8, |at| at.checked_sub(1));
    // 0 1 2 and 2 0 in a circle; 3 to 7 hang on it. One that names itself; a root with a child.
    world.add(all[0], (ChildOf(all[2]),)).unwrap();
    let others = forest(&mut world, 3, |at| (at == 2).then_some(1));
    world.add(others[0], (ChildOf(others[0]),)).unwrap();
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    let mut sums = Query::new(&world).unwrap();
    assert_eq!(descend(&index, &mut sums, &mut world), 2);
    let times = |entity| world.get::<Sum>(entity).unwrap().times;
    assert!(all.iter().all(|&entity| times(entity) == 0));
    assert_eq!(
        [times(others[0]), times(others[1]), times(others[2])],
        [0, 1, 1]
    );
}

#[test]
fn who_is_not_seen_is_passed_by_with_all_below() {
    let universe = Arc::new(Universe::new());
    universe.registry().register_enableable::<Own>().unwrap();
    let mut world = World::of(&universe).unwrap();
    let mut elsewhere = World::of(&universe).unwrap();
    let all = forest(&mut world, 5 * 3, |at| (at % 3 > 0).then(|| at - 1));
    // Of five chains of three: one whole; a middle without the fragment, one that is switched off, a root that is dead,
    // and one that lives in another world.
    world.remove::<(Own,)>(all[4]).unwrap();
    world.set_enabled::<Own>(all[7], false).unwrap();
    let far = elsewhere.create((Sum::default(), Own(1))).unwrap();
    world.set(all[13], ChildOf(far)).unwrap();
    world.destroy(all[9]).unwrap();
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    let mut sums = Query::new(&world).unwrap();
    assert_eq!(descend(&index, &mut sums, &mut world), 5);
    let times = |at: usize| world.get::<Sum>(all[at]).unwrap().times;
    assert_eq!([0, 1, 2].map(times), [1, 1, 1]);
    assert_eq!([3, 5, 6, 7, 8].map(times), [1, 0, 1, 0, 0]);
    assert_eq!([10, 11, 12, 13, 14].map(times), [0; 5]);
    // A filter of chunks, too.
    let mut run = sums.on(&mut world).filter_chunks(|_| false);
    assert_eq!(index.par_descend(&mut run, |_| (), |(), _| ()), 0);
    drop(run);
    // The others' world has one of them, who is a root there, and whose child is not there.
    let mut there = Query::new(&elsewhere).unwrap();
    assert_eq!(descend(&index, &mut there, &mut elsewhere), 1);
}

#[test]
fn who_names_nobody_is_a_root_if_somebody_names_it() {
    let mut world = World::new();
    let nobody = ChildOf(Entity::PLACEHOLDER);
    let root = world.create((Sum::default(), Own(3), nobody)).unwrap();
    let part = (Sum::default(), Own(4), ChildOf(root));
    let part = world.create(part).unwrap();
    let lonely = world.create((Sum::default(), Own(5), nobody)).unwrap();
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    let mut sums = Query::new(&world).unwrap();
    assert_eq!(descend(&index, &mut sums, &mut world), 2);
    assert_eq!(world.get::<Sum>(part).unwrap().sum, 3 * 31 + 4);
    assert_eq!(world.get::<Sum>(lonely).unwrap().times, 0);
}

#[test]
fn an_index_that_is_behind_lends_nobody_who_came_since() {
    let mut world = World::new();
    let all = forest(&mut world, 600, |at| (at % 3 > 0).then(|| at - 1));
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    // Others have their slots now, and their rows.
    for &entity in all.iter().skip(1).step_by(3) {
        world.destroy(entity).unwrap();
    }
    let new = forest(&mut world, 200, |_| None);
    let slots: Vec<u32> = all.iter().map(|entity| entity.index()).collect();
    assert!(new.iter().any(|entity| slots.contains(&entity.index())));
    let mut sums = Query::new(&world).unwrap();
    assert_eq!(descend(&index, &mut sums, &mut world), 200);
    assert!(
        new.iter()
            .all(|&entity| world.get::<Sum>(entity).unwrap().times == 0)
    );
}

#[test]
fn a_value_may_be_what_was_lent() {
    let mut world = World::new();
    let all = forest(&mut world, 2_000, |at| (at > 0).then(|| (at - 1) / 3));
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    let mut sums = Query::<(&mut Sum, &Own)>::new(&world).unwrap();
    let lent = pool(3).install(|| {
        index.par_descend(
            &mut sums.on(&mut world),
            |(sum, own)| {
                sum.sum = own.0;
                sum
            },
            |above: &&mut Sum, (sum, own)| {
                sum.sum = above.sum.wrapping_mul(31).wrapping_add(own.0);
                sum
            },
        )
    });
    assert_eq!(lent, all.len());
    let expected = expected(&world, &all);
    assert!(
        all.iter()
            .all(|&entity| world.get::<Sum>(entity).unwrap().sum == expected[&entity].sum)
    );
}

#[test]
fn what_is_lent_for_writing_has_changed_and_nothing_else() {
    let mut world = World::new();
    let all = forest(&mut world, 6, |at| (at == 4).then_some(1));
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    let mut changed = Query::<Entity, Changed<Sum>>::new(&world).unwrap();
    let _ = changed.on(&mut world);
    let mut sums = Query::<(&mut Sum, &Own)>::new(&world).unwrap();
    assert_eq!(descend(&index, &mut sums, &mut world), 2);
    // By chunks: those of the two that were lent, and not those that lie apart.
    let mut seen: Vec<Entity> = changed.on(&mut world).iter().collect();
    seen.sort();
    assert_eq!(seen, [all[1], all[2], all[4], all[5]]);
}

/// Counts how many of it there are, and may panic where it ends.
struct Counted<'a>(&'a AtomicUsize, bool);

impl<'a> Counted<'a> {
    fn new(alive: &'a AtomicUsize, burns: bool) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive, burns)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
        assert!(!self.1, "burnt");
    }
}

#[test]
fn whatever_panics_every_value_is_dropped_once_and_the_world_goes_on() {
    let mut world = World::new();
    let all = forest(&mut world, 4_000, |at| (at >= 400).then(|| (at - 400) / 8));
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    let mut sums = Query::<(&mut Sum, &Own)>::new(&world).unwrap();
    let alive = AtomicUsize::new(0);
    for threads in [1, 3] {
        let pool = pool(threads);
        // A root, one in the middle, a leaf; whether its closure panics or the end of its value, or those of all.
        for (bad, all_burn) in [(7, false), (500, false), (3_999, false), (450, true)] {
            for ends in [false, true] {
                let make = |own: &Own| {
                    let is_bad = own.0 == bad;
                    assert!(!is_bad || ends, "the bad one");
                    Counted::new(&alive, ends && (is_bad || all_burn))
                };
                let run = AssertUnwindSafe(|| {
                    let run = &mut sums.on(&mut world);
                    index.par_descend(run, |(_, own)| make(own), |_, (_, own)| make(own))
                });
                let panicked = catch_unwind(AssertUnwindSafe(|| pool.install(run)));
                assert!(panicked.is_err(), "{bad} {all_burn} {ends}");
                assert_eq!(alive.load(Ordering::Relaxed), 0, "{bad} {all_burn} {ends}");
            }
        }
    }
    reset(&mut world);
    assert_eq!(descend(&index, &mut sums, &mut world), all.len());
    world.check().unwrap();
}

#[test]
fn processors_go_down_beside_the_index() {
    let mut world = World::new();
    let all = forest(&mut world, 2_000, |at| (at > 0).then(|| (at - 1) / 3));
    let index = Index::new(&world).unwrap();
    world.resources_mut().insert(index);
    let mut schedule = Schedule::new();
    schedule
        .add(processor(
            "update",
            |index: &mut Index, run: QueryRun<(Entity, &ChildOf)>| index.update_from(&run),
        ))
        .add(
            processor(
                "place",
                |index: &Index, mut sums: QueryRun<(&mut Sum, &Own)>| {
                    index.par_descend(
                        &mut sums,
                        |(sum, _)| sum.times += 1,
                        |(), (sum, _)| {
                            sum.times += 1;
                        },
                    );
                },
            )
            .after("update"),
        );
    for frame in 1..=3 {
        schedule.run(&mut world).unwrap();
        assert!(
            all.iter()
                .all(|&entity| world.get::<Sum>(entity).unwrap().times == frame)
        );
    }
}
