//! Entity by entity, chunk by chunk, on several threads, one by its handle: how what a query lends is walked. Rows of STACK's
//! section "Queries".

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::query::{ChunkView, QueryFilter, QueryRun};

use crate::rows::{F, I, Tag, three};

#[test]
fn for_each_entity_for_each_chunk_and_parallel_for_each_chunk() {
    let mut world = World::new();
    world
        .create_batch((0..5_000_u64).map(|n| (n, 1.5_f32)))
        .unwrap();
    world
        .create_batch((5_000..6_000_u64).map(|n| (n,)))
        .unwrap();
    let all: BTreeSet<u64> = (0..6_000).collect();
    let mut query = Query::<(Entity, &mut u64, Option<&f32>)>::new(&world).unwrap();
    let mut seen = BTreeSet::new();
    query
        .on(&mut world)
        .for_each(|(_, n, _)| assert!(seen.insert(*n)));
    assert_eq!(seen, all);
    seen.clear();
    query
        .on(&mut world)
        .for_each_chunk(|chunk, (entities, numbers, floats)| {
            assert_eq!((chunk.len(), chunk.entities()), (numbers.len(), entities));
            assert!(floats.is_none_or(|floats| floats.len() == numbers.len()));
            assert_eq!(chunk.has::<f32>(), floats.is_some());
            seen.extend(numbers.iter().copied());
        });
    assert_eq!(seen, all);
    let seen = Mutex::new(BTreeSet::new());
    query
        .on(&mut world)
        .par_for_each(|(_, n, _)| assert!(seen.lock().unwrap().insert(*n)));
    assert_eq!(seen.into_inner().unwrap(), all);
    query
        .on(&mut world)
        .par_for_each_chunk(|_, (_, numbers, _)| {
            numbers.iter_mut().for_each(|n| *n += 1);
        });
    let sum: u64 = query.read_sum(&mut world);
    assert_eq!(sum, 5_999 * 3_000 + 6_000);
}

#[test]
fn a_parallel_loop_over_nothing_ends() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    pool.unwrap().install(|| {
        let mut world = World::new();
        let ant = world.create((1_u64,)).unwrap();
        world.destroy(ant).unwrap();
        let mut query = Query::<&mut u64>::new(&world).unwrap();
        let nobody = |_: &mut u64| panic!("there is nobody");
        query.on(&mut world).par_for_each(nobody);
        query
            .on(&mut world)
            .filter_chunks(|_| false)
            .par_for_each(nobody);
    });
}

/// A last look, by the iterator.
trait ReadSum {
    fn read_sum(&mut self, world: &mut World) -> u64;
}

impl ReadSum for Query<(Entity, &'static mut u64, Option<&'static f32>)> {
    fn read_sum(&mut self, world: &mut World) -> u64 {
        self.on(world).iter().map(|(_, n, _)| *n).sum()
    }
}

#[test]
fn few_chunks_are_shared_out_row_by_row_and_each_row_is_lent_once() {
    let mut world = World::new();
    world.registry().register_enableable::<Tag>().unwrap();
    let mut tagged = Vec::new();
    for count in [1, 63, 64, 65, 777] {
        // Of a shape each, so that there are several archetypes.
        let first = tagged.len() as I;
        let made = world.create_batch((0..count).map(|n| (first + n, Tag)));
        tagged.extend(made.unwrap().iter(&world));
        let _ = world.create_batch((0..count).map(|n| (first + n, 0.5 as F)));
    }
    for &entity in tagged.iter().step_by(3) {
        world.set_enabled::<Tag>(entity, false).unwrap();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    let pool = pool.unwrap();
    let asked = AtomicUsize::new(0);
    let mut chunks = 0;
    let mut query = Query::<&mut I>::new(&world).unwrap();
    query.on(&mut world).for_each_chunk(|_, _| chunks += 1);
    pool.install(|| {
        let mut all = query.on(&mut world).filter_chunks(|_| {
            asked.fetch_add(1, Ordering::Relaxed);
            true
        });
        all.par_for_each(|n| *n += 1_000);
    });
    assert_eq!(asked.load(Ordering::Relaxed), chunks, "once a chunk");
    let mut numbers: Vec<I> = Vec::new();
    let mut all = world.query::<&I, ()>().unwrap();
    all.for_each(|&n| numbers.push(n));
    numbers.sort_unstable();
    let mut expected: Vec<I> = (1_000..1_970).flat_map(|n| [n, n]).collect();
    expected.sort_unstable();
    assert_eq!(numbers, expected, "each once");
    let mut query = Query::<(Entity, &I), With<Tag>>::new(&world).unwrap();
    let seen = Mutex::new(BTreeSet::new());
    pool.install(|| {
        let mut switched = query.on(&mut world);
        switched.par_for_each(|(entity, _)| assert!(seen.lock().unwrap().insert(entity)));
    });
    let on = (0..tagged.len()).filter(|at| at % 3 != 0);
    let on: BTreeSet<Entity> = on.map(|at| tagged[at]).collect();
    assert_eq!(*seen.lock().unwrap(), on);
}

#[test]
fn random_access_single_entity_count_first_and_iter() {
    let (mut world, [f, i, both]) = three();
    let mut query = Query::<(&mut F, Entity)>::new(&world).unwrap();
    *query.get_mut(&mut world, both).unwrap().0 += 1.0;
    assert_eq!(world.get::<F>(both).unwrap(), &3.0);
    assert!(
        matches!(query.get_mut(&mut world, i), Err(WorldError::Missing { entity, .. }) if entity == i)
    );
    let mut run = query.on(&mut world);
    assert_eq!((run.count(), run.is_empty()), (2, false));
    assert!(run.single().is_none());
    assert_eq!(run.first().unwrap().1, f);
    assert_eq!(
        run.iter().map(|(_, entity)| entity).collect::<Vec<_>>(),
        [f, both]
    );
    drop(run);
    world.destroy(f).unwrap();
    assert!(matches!(
        query.get_mut(&mut world, f),
        Err(WorldError::Entity(_))
    ));
    assert_eq!(query.on(&mut world).single().unwrap().1, both);
    world.destroy(both).unwrap();
    assert!(query.on(&mut world).first().is_none());
    assert!(query.on(&mut world).is_empty());
    let mut read = Query::<&I, Without<F>>::new(&world).unwrap();
    assert_eq!(read.get(&world, i).unwrap(), &1);
}

/// By `next` alone; by `next`, and from the `taken`-th on by `fold`; what is left when all have been seen.
fn iterated<F: QueryFilter>(mut run: QueryRun<'_, &u32, F>, taken: usize) -> [Vec<u32>; 3] {
    let mut by_next = Vec::new();
    for number in run.iter() {
        by_next.push(*number);
    }
    let mut iter = run.iter();
    let mut by_both: Vec<u32> = iter.by_ref().take(taken).copied().collect();
    assert!(by_both.len() + iter.size_hint().0 <= by_next.len());
    iter.for_each(|number| by_both.push(*number));
    let mut iter = run.iter();
    let _ = iter.by_ref().count();
    let left = iter.copied().collect();
    [by_next, by_both, left]
}

#[test]
fn an_iterator_lends_each_entity_once_whatever_is_called_on_it() {
    let mut world = World::new();
    world.registry().register_enableable::<u16>().unwrap();
    let batch = (world.create_batch((0..5_000_u32).map(|n| (n, n as u16)))).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let _ = (world.create_batch((5_000..5_300_u32).map(|n| (n, "no switch")))).unwrap();
    world.create((5_300_u32,)).unwrap();
    // Single rows, rows side by side, over the ends of words, and whole chunks.
    let off = |n: &u32| n.is_multiple_of(7) || (100..150).contains(n) || (1_000..3_500).contains(n);
    for n in (0..5_000).filter(off) {
        world.set_enabled::<u16>(ants[n as usize], false).unwrap();
    }

    let mut all = Query::<&u32>::new(&world).unwrap();
    let mut on = Query::<&u32, With<u16>>::new(&world).unwrap();
    let mut not = Query::<&u32, Without<u16>>::new(&world).unwrap();
    let numbers = |seen: &dyn Fn(&u32) -> bool| (0..5_301).filter(seen).collect::<Vec<u32>>();
    for taken in [0, 1, 63, 64, 65, 999, 1_000, 4_999, 5_301, 10_000] {
        let same = |iterated: [Vec<u32>; 3], seen: &dyn Fn(&u32) -> bool| {
            let [by_next, by_both, left] = iterated;
            by_next == numbers(seen) && by_both == by_next && left.is_empty()
        };
        assert!(same(iterated(all.read(&world), taken), &|_| true));
        let is_on = |n: &u32| *n < 5_000 && !off(n);
        assert!(same(iterated(on.read(&world), taken), &is_on));
        assert!(same(iterated(not.read(&world), taken), &|n| !is_on(n)));
        let second = not.read(&world).filter_chunks(|chunk| chunk.len() <= 300);
        let seen = numbers(&|n| *n >= 5_000);
        let few = iterated(second, taken);
        assert!(few[0].ends_with(&seen) && few[0] == few[1] && few[2].is_empty());
    }
}

#[test]
fn slices_are_the_stretches_of_rows_that_an_iterator_sees() {
    let mut world = World::new();
    world.registry().register_enableable::<u16>().unwrap();
    let batch = (world.create_batch((0..3_000_u32).map(|n| (n, n as u16)))).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let _ = (world.create_batch((3_000..3_100_u32).map(|n| (n, "no switch")))).unwrap();
    let off = |n: &u32| [0, 63, 64, 999].contains(n) || (130..520).contains(n) || *n == 2_999;
    for n in (0..3_000).filter(off) {
        world.set_enabled::<u16>(ants[n as usize], false).unwrap();
    }
    let mut on = Query::<(&mut u32, Entity), With<u16>>::new(&world).unwrap();
    let mut not = Query::<(&mut u32, Entity), Without<u16>>::new(&world).unwrap();
    let mut all = Query::<(&mut u32, Entity)>::new(&world).unwrap();
    fn sliced<F: QueryFilter>(world: &mut World, query: &mut Query<(&'static mut u32, Entity), F>) {
        let numbers: Vec<u32> = query.on(world).iter().map(|(n, _)| *n).collect();
        let mut seen: Vec<u32> = Vec::new();
        query
            .on(world)
            .for_each_slice(|chunk, rows, (numbers, handles)| {
                assert_eq!(handles, &chunk.entities()[rows]);
                seen.extend(&*numbers);
            });
        assert_eq!(seen, numbers);
        let seen = Mutex::new(Vec::<u32>::new());
        query.on(world).par_for_each_slice(|_, rows, (numbers, _)| {
            assert_eq!(rows.len(), numbers.len());
            seen.lock().unwrap().extend(&*numbers);
        });
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, numbers);
    }
    sliced(&mut world, &mut on);
    sliced(&mut world, &mut not);
    sliced(&mut world, &mut all);
    let mut stretches = Vec::new();
    let few = on.on(&mut world);
    let mut few = few.filter_chunks(|chunk| chunk.entities().contains(&ants[0]));
    few.for_each_slice(|_, rows, _| stretches.push(rows));
    assert_eq!(stretches[..3], [1..63, 65..130, 520..999]);
}

/// A world with entities of three archetypes, of which some are switched off, and the numbers of those that are on.
fn switched() -> (World, Vec<u32>) {
    let mut world = World::new();
    world.registry().register_enableable::<u16>().unwrap();
    let batch = (world.create_batch((0..3_000_u32).map(|n| (n, n as u16)))).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let _ = (world.create_batch((3_000..3_100_u32).map(|n| (n, 0_u16, "another")))).unwrap();
    let _ = (world.create_batch((3_100..3_200_u32).map(|n| (n,)))).unwrap();
    let off = |n: u32| n.is_multiple_of(5) || (200..700).contains(&n);
    for n in (0..3_000).filter(|&n| off(n)) {
        world.set_enabled::<u16>(ants[n as usize], false).unwrap();
    }
    let on = (0..3_000).filter(|&n| !off(n)).chain(3_000..3_100);
    (world, on.collect())
}

#[test]
fn a_loop_over_a_run_lends_each_entity_once_whether_the_run_is_lent_or_used_up() {
    let (mut world, on) = switched();
    let mut query = Query::<&mut u32, With<u16>>::new(&world).unwrap();
    let mut run = query.on(&mut world);
    for number in &mut run {
        *number += 1;
    }
    for number in run {
        *number += 1;
    }
    let twice: Vec<u32> = on.iter().map(|n| n + 2).collect();
    let mut read = Query::<&u32, With<u16>>::new(&world).unwrap();
    for taken in [0, 1, 3, 64, 2_400, 10_000] {
        let mut items = read.read(&world).into_iter();
        let mut seen: Vec<u32> = items.by_ref().take(taken).copied().collect();
        assert!(seen.len() + items.size_hint().0 <= twice.len());
        items.for_each(|n| seen.push(*n));
        assert_eq!(seen, twice, "by `next`, and from {taken} on by `fold`");
    }
    let mut items = read.read(&world).into_iter();
    assert_eq!(items.by_ref().count(), twice.len());
    assert!(items.next().is_none());
    drop(items);
    let few = read.read(&world).filter_chunks(|chunk| chunk.len() <= 100);
    let few: Vec<u32> = few.into_iter().copied().collect();
    assert!(few.len() >= 100 && twice.ends_with(&few));
    let once = world.query::<&mut u32, With<u16>>().unwrap().into_iter();
    assert!(once.map(|n| *n).eq(twice.iter().copied()));
    let mut sum = 0;
    for number in &mut world.query::<&u32, With<u16>>().unwrap() {
        sum += number;
    }
    assert_eq!(sum, twice.iter().sum::<u32>());
}

#[test]
fn items_of_a_run_that_is_used_up_outlive_it() {
    fn all(world: &World) -> Vec<&u32> {
        let all = world.read::<&u32, With<u16>>().unwrap();
        all.into_iter().collect()
    }
    fn some<'w>(query: &'w mut Query<&'static u32>, world: &'w World) -> Vec<&'w u32> {
        let small = |chunk: &ChunkView<'_>| chunk.len() == 100;
        let run = query.read(world).filter_chunks(small);
        run.into_iter().collect()
    }
    let (world, on) = switched();
    assert!(all(&world).into_iter().eq(&on));
    let mut query = Query::<&u32>::new(&world).unwrap();
    assert!(
        some(&mut query, &world)
            .into_iter()
            .copied()
            .eq(3_000..3_200)
    );
}

#[test]
fn a_run_that_only_reads_is_walked_in_loops_inside_each_other_and_by_all_threads() {
    let (mut world, on) = switched();
    let mut query = Query::<&u32, (With<u16>, Changed<u32>)>::new(&world).unwrap();
    assert_eq!(query.on(&mut world).count(), on.len());
    *world
        .query::<&mut u32, With<&str>>()
        .unwrap()
        .first()
        .unwrap() += 0;
    let few = query.read(&world).filter_chunks(|chunk| chunk.has::<u16>());
    let mut pairs = 0;
    for one in &few {
        for other in &few {
            pairs += usize::from(one < other);
        }
        let again = few.reborrow().filter_chunks(|chunk| chunk.has::<&str>());
        pairs += again.into_iter().filter(|other| one > other).count();
    }
    assert_eq!(pairs, 100 * 99, "what changed since the same version");
    drop(few);
    assert_eq!(query.read(&world).count(), 0, "it was no run of its own");
    let mut all = Query::<&u32>::new(&world).unwrap();
    let all = all.read(&world);
    let mut sums = Query::<(&u32, Has<u16>)>::new(&world).unwrap();
    let counted = AtomicUsize::new(0);
    sums.read(&world).par_for_each(|(number, _)| {
        let smaller = all
            .reborrow()
            .iter()
            .filter(|other| *other < number)
            .count();
        assert_eq!(smaller, *number as usize);
        counted.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(counted.into_inner(), 3_200);
}

#[test]
fn a_run_of_a_query_that_is_not_kept_has_what_another_has() {
    let (mut world, on) = switched();
    let count = AtomicUsize::new(0);
    let add = |n: usize| count.fetch_add(n, Ordering::Relaxed);
    let mut once = world.query::<&mut u32, With<u16>>().unwrap();
    assert!(!once.is_empty());
    assert_eq!(once.first().copied(), on.first().copied());
    once.par_for_each(|_| _ = add(1));
    once.for_each_slice(|_, rows, _| _ = add(rows.len()));
    once.par_for_each_slice(|_, rows, _| _ = add(rows.len()));
    assert_eq!(count.load(Ordering::Relaxed), 3 * on.len());
    let (chunks, rows) = (AtomicUsize::new(0), AtomicUsize::new(0));
    once.par_for_each_chunk(|chunk, numbers| {
        assert_eq!(chunk.len(), numbers.len());
        chunks.fetch_add(1, Ordering::Relaxed);
        rows.fetch_add(numbers.len(), Ordering::Relaxed);
    });
    // Whole chunks, with those that are switched off.
    let mut seen = (0, 0);
    once.for_each_chunk(|_, numbers| seen = (seen.0 + 1, seen.1 + numbers.len()));
    assert_eq!((chunks.into_inner(), rows.into_inner()), seen);
    assert!(seen.0 > 1 && seen.1 == 3_100, "{seen:?}");
    let another = |chunk: &ChunkView<'_>| chunk.has::<&str>();
    assert_eq!(once.reborrow_mut().filter_chunks(another).count(), 100);
    let others = |chunk: &ChunkView<'_>| !chunk.has::<&str>();
    let rest = once.reborrow_mut().filter_chunks(others).count();
    assert_eq!((100 + rest, once.count()), (on.len(), on.len()));
    let entity = world.create((7_u64,).shared(String::from("red"))).unwrap();
    let (red, blue) = (String::from("red"), String::from("blue"));
    let once = world.query::<Entity, With<u64>>().unwrap();
    assert_eq!(once.reborrow().sharing(&red).single(), Some(entity));
    assert!(once.sharing(&blue).is_empty());
    let before = world.version();
    let once = world.query::<&u64, Changed<u64>>().unwrap();
    assert_eq!(once.since(before).count(), 0);
    *world.get_mut::<u64>(entity).unwrap() += 1;
    let once = world.query::<&u64, Changed<u64>>().unwrap();
    assert_eq!(once.since(before).single(), Some(&8));
    let now = world.version();
    let once = world.query::<&u64, Changed<u64>>().unwrap();
    assert_eq!(once.since(now).count(), 0);
}

#[test]
fn a_chunk_shows_where_it_is_and_nothing_of_its_archetype() {
    let mut world = World::new();
    world.create_batch((0..50_000_u32).map(|n| (n,))).unwrap();
    let mut shown = Vec::new();
    let mut all = world.query::<&u32, ()>().unwrap();
    all.for_each_chunk(|chunk, numbers| shown.push((format!("{chunk:?}"), numbers.len())));
    assert!(shown.len() > 1);
    for (at, (shown, len)) in shown.into_iter().enumerate() {
        let expected = format!("ChunkView {{ archetype: 0, position: {at}, len: {len}, .. }}");
        assert_eq!(shown, expected);
    }
}

/// Names how long the world is borrowed in what it lends, too.
fn numbers<'w>(world: &'w mut World) -> QueryRun<'w, &'w u32> {
    world.query().expect("it is one")
}

#[test]
fn a_run_that_is_not_used_any_more_keeps_nothing_borrowed_whatever_it_names() {
    let mut world = World::new();
    world.create((1_u32,)).expect("there is room");
    let mut run = numbers(&mut world);
    assert_eq!(run.count(), 1);
    world.create((2_u32,)).expect("there is room");
    let mut again = numbers(&mut world);
    assert_eq!(again.count(), 2);
}

/// Nothing of itself: it makes compositions.
struct Mark<const N: u32>;

#[test]
fn a_walk_over_many_compositions_skips_those_without_entities_and_rows_that_are_switched_off() {
    for switched in [false, true] {
        let mut world = World::new();
        if switched {
            world.registry().register_enableable::<F>().unwrap();
        }
        // 128 compositions of none to nine entities each; of more than four, what comes soon is asked for ahead.
        let mut expected = BTreeSet::new();
        for subset in 0..128_u32 {
            let count = subset * 7 % 10;
            let made = world.create_batch((0..10).map(|n| (100 * subset + n, 0.0_f32)));
            let made = made.unwrap().to_vec(&world);
            for &entity in &made {
                if subset & 1 > 0 {
                    world.add(entity, (Mark::<0>,)).unwrap();
                }
                if subset & 2 > 0 {
                    world.add(entity, (Mark::<1>,)).unwrap();
                }
                if subset & 4 > 0 {
                    world.add(entity, (Mark::<2>,)).unwrap();
                }
                if subset & 8 > 0 {
                    world.add(entity, (Mark::<3>,)).unwrap();
                }
                if subset & 16 > 0 {
                    world.add(entity, (Mark::<4>,)).unwrap();
                }
                if subset & 32 > 0 {
                    world.add(entity, (Mark::<5>,)).unwrap();
                }
                if subset & 64 > 0 {
                    world.add(entity, (Mark::<6>,)).unwrap();
                }
            }
            for (&entity, n) in made.iter().zip(0..10) {
                if n >= count {
                    world.destroy(entity).unwrap();
                } else if switched && n == 0 {
                    world.set_enabled::<F>(entity, false).unwrap();
                } else {
                    expected.insert(100 * subset + n);
                }
            }
        }
        let mut query = Query::<(&u32, &F)>::new(&world).unwrap();
        let mut seen = BTreeSet::new();
        query.on(&mut world).for_each(|(&n, _)| {
            assert!(seen.insert(n));
        });
        assert_eq!(seen, expected);
        let seen: BTreeSet<u32> = query.on(&mut world).iter().map(|(&n, _)| n).collect();
        assert_eq!(seen, expected);
        assert_eq!(query.on(&mut world).count(), expected.len());
    }
}
