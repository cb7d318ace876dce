//! A change of many is one batch for each kind.

use std::sync::Arc;

use megachunk::prelude::*;

use crate::observers::{
    Burning, Heat, Seen, Team, Weight, Wet, many, sorted, taken, watch, watch_where,
};

#[test]
fn a_batch_fires_once() {
    let mut world = World::new();
    let seen = watch::<Heat>(&mut world);
    let mut ants = many(&mut world, 10_000);
    assert_eq!(taken(&seen), [(Observed::CREATE, ants.clone())]);
    let batch = world
        .create_batch((0..3_u8).map(|n| (Heat(5),).shared(Team(n % 2))))
        .unwrap();
    let more: Vec<Entity> = batch.iter(&world).collect();
    let [(Observed::CREATE, created)] = &taken(&seen)[..] else {
        panic!("one call")
    };
    assert_eq!(sorted(created.clone()), sorted(more.clone()));
    ants.extend(more);
    // Scattered, twice, and stale: each goes once.
    let mut some: Vec<Entity> = ants.iter().copied().step_by(3).collect();
    some.rotate_left(700);
    some.push(some[0]);
    let report = world.destroy_slice(&some);
    assert_eq!((report.done, report.refused.len()), (some.len() - 1, 1));
    let [(Observed::DESTROY, gone)] = &taken(&seen)[..] else {
        panic!("one call")
    };
    some.pop();
    assert_eq!(sorted(gone.clone()), sorted(some));
    let left = world.count();
    assert_eq!(world.clear(), left);
    assert_eq!(taken(&seen).len(), 1);
}

#[test]
fn slices_fire_once() {
    let mut world = World::new();
    let ants = many(&mut world, 5_000);
    let seen = watch::<Weight>(&mut world);
    let mut mixed: Vec<Entity> = ants[..4_000].to_vec();
    mixed[1_000..].reverse();
    let report = world.add_slice(&mixed, |n| (Weight(n as u64),));
    assert!(report.is_clean());
    let [(Observed::ADD, came)] = &taken(&seen)[..] else {
        panic!("one call")
    };
    assert_eq!(sorted(came.clone()), sorted(mixed.clone()));
    assert!(world.add_slice(&mixed, |_| (Weight(0),)).is_clean());
    assert!(taken(&seen).is_empty());
    assert_eq!(world.remove_slice::<(Weight,)>(&ants).done, 4_000);
    let [(Observed::REMOVE, went)] = &taken(&seen)[..] else {
        panic!("one call")
    };
    assert_eq!(sorted(went.clone()), sorted(mixed));
}

#[test]
fn changes_of_all_that_matches_fire_once() {
    let mut world = World::new();
    let ants = many(&mut world, 3_000);
    let weights = watch::<Weight>(&mut world);
    let tags = watch::<Burning>(&mut world);
    let all = world.matching::<With<Heat>>().unwrap();
    assert_eq!(all.add(|_| (Burning,)).unwrap(), 3_000);
    let mut query = Query::<&Heat, With<Burning>>::new(&world).unwrap();
    let swap = query.change(&mut world);
    swap.swap::<(Burning,), _>(|heat| (Weight(u64::from(heat.0)),))
        .unwrap();
    let (weights_seen, tags_seen) = (taken(&weights), taken(&tags));
    let kinds = |seen: &[(Observed, Vec<Entity>)]| -> Vec<(Observed, usize)> {
        seen.iter().map(|(kind, all)| (*kind, all.len())).collect()
    };
    assert_eq!(
        kinds(&tags_seen),
        [(Observed::ADD, 3_000), (Observed::REMOVE, 3_000)]
    );
    assert_eq!(kinds(&weights_seen), [(Observed::ADD, 3_000)]);
    assert_eq!(sorted(weights_seen[0].1.clone()), sorted(ants.clone()));
    // With shared values: one by one inside, one call all the same.
    let all = world.matching::<With<Weight>>().unwrap();
    all.swap::<(Weight,), _>(|_| (Burning,).shared(Team(1)))
        .unwrap();
    assert_eq!(kinds(&taken(&weights)), [(Observed::REMOVE, 3_000)]);
    assert_eq!(kinds(&taken(&tags)), [(Observed::ADD, 3_000)]);
    let all = world.matching::<With<Burning>>().unwrap();
    assert_eq!(all.remove::<(Burning,)>().unwrap(), 3_000);
    assert_eq!(kinds(&taken(&tags)), [(Observed::REMOVE, 3_000)]);
    world.add(ants[5], (Burning,)).unwrap();
    assert_eq!(world.matching::<With<Heat>>().unwrap().destroy(), 3_000);
    let one = vec![ants[5]];
    assert_eq!(
        taken(&tags),
        [(Observed::ADD, one.clone()), (Observed::DESTROY, one)]
    );
}

#[test]
fn chunks_that_a_swap_begins_begin_with_what_it_brings_whoever_observes() {
    #[derive(Clone, Debug, PartialEq)]
    struct Weather(u32);
    let mut world = World::new();
    let all = many(&mut world, 5);
    let (heats, weights) = (watch::<Heat>(&mut world), watch::<Weight>(&mut world));
    let mut query = Query::<&Heat>::new(&world).unwrap();
    let come = |heat: &Heat| (Weight(u64::from(heat.0)),).per_chunk(Weather(7));
    let swapped = query.change(&mut world).swap::<(Heat,), _>(come);
    assert_eq!(swapped.unwrap(), 5);
    assert_eq!(
        world.chunk_fragment::<Weather>(all[3]).unwrap(),
        &Weather(7)
    );
    let once = |seen: Seen, kind| {
        let [(change, entities)] = &taken(&seen)[..] else {
            panic!("once")
        };
        assert_eq!((*change, sorted(entities.clone())), (kind, all.clone()));
    };
    once(heats, Observed::REMOVE);
    once(weights, Observed::ADD);
    world.check().unwrap();
}

#[test]
fn whole_chunks_that_are_handed_over_fire_as_well() {
    let mut world = World::new();
    let ants = many(&mut world, 20_000);
    let seen = watch::<Burning>(&mut world);
    let mut commands = world.commands();
    ants.iter()
        .for_each(|&ant| commands.add(ant, (Burning,)).unwrap());
    drop(commands);
    assert_eq!(world.flush().moved, 20_000);
    let [(Observed::ADD, came)] = &taken(&seen)[..] else {
        panic!("one call")
    };
    assert_eq!(sorted(came.clone()), sorted(ants.clone()));
    let mut commands = world.commands();
    for &ant in &ants {
        commands.swap::<(Burning,), _>(ant, (Wet,)).unwrap();
    }
    drop(commands);
    assert_eq!(world.flush().moved, 20_000);
    assert_eq!(taken(&seen)[0].1.len(), 20_000);
}

#[test]
fn arrivals_that_fill_holes_are_shown_where_they_lie() {
    let mut world = World::new();
    let stay = many(&mut world, 1_000);
    let hot: Vec<Entity> = (0..500)
        .map(|n| world.create((Heat(n), Weight(u64::from(n)))).unwrap())
        .collect();
    world
        .observe::<Weight, ()>(Observed::ADD, |batch, _| {
            let mut entities: Vec<(Entity, u64)> = Vec::new();
            batch
                .for_each::<(Entity, &Weight)>(|(entity, weight)| entities.push((entity, weight.0)))
                .unwrap();
            assert!(
                entities
                    .iter()
                    .all(|(entity, weight)| u64::from(entity.index()) == *weight)
            );
            assert_eq!(entities.len(), 700);
            let mut ranges = 0;
            batch
                .for_each_range::<(&[Entity; 0],)>(|_| ranges += 1)
                .unwrap();
            assert_eq!(ranges, 0);
        })
        .unwrap();
    let mut commands = world.commands();
    for &ant in &stay[..700] {
        commands
            .add(ant, (Weight(u64::from(ant.index())),))
            .unwrap();
    }
    hot.iter().step_by(2).for_each(|&ant| commands.destroy(ant));
    hot.iter().skip(1).step_by(4).for_each(|&ant| {
        commands.remove::<(Weight,)>(ant).unwrap();
    });
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean());
    assert_eq!((report.destroyed, report.moved), (250, 825));
}

#[test]
fn observers_see_the_same_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        // There ids are the same, too.
        let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
        let ants = many(&mut world, 30_000);
        let seen = [
            watch::<Heat>(&mut world),
            watch::<Weight>(&mut world),
            watch_where::<Burning, Without<Weight>>(&mut world, Observed::COME | Observed::GO),
        ];
        world
            .observe::<Weight, ()>(Observed::ADD, |batch, commands| {
                for entity in batch.entities().filter(|entity| entity.index() % 3 == 0) {
                    commands.swap::<(Weight,), _>(entity, (Burning,)).unwrap();
                    commands.create((Heat(entity.index()),)).unwrap();
                }
            })
            .unwrap();
        pool.install(|| {
            for round in 0..3_u32 {
                let commands = world.parallel_commands();
                let mut query = Query::<(Entity, &Heat), ()>::new(&world).unwrap();
                query
                    .on(&mut world)
                    .par_for_each_chunk(|chunk, (entities, heats)| {
                        let mut commands = commands.open_at(chunk.sort_key());
                        for (&entity, heat) in entities.iter().zip(heats) {
                            match (heat.0 + round) % 7 {
                                0 => commands.destroy(entity),
                                1 | 2 => commands.add(entity, (Weight(1),)).unwrap(),
                                3 => commands.remove::<(Weight, Burning)>(entity).unwrap(),
                                4 => commands.add(entity, (Burning,)).unwrap(),
                                _ => {}
                            }
                        }
                    });
                let report = world.flush();
                assert!(report.is_clean());
                assert_eq!(report.by_chance, 0);
            }
        });
        world.check().unwrap();
        assert!(world.count() < ants.len());
        seen.map(|seen| taken(&seen))
    };
    let one = run(1);
    assert!(one.iter().all(|seen| !seen.is_empty()));
    for threads in [2, 3, 4] {
        assert!(one == run(threads), "{threads} threads");
    }
}

#[test]
fn an_observer_has_a_resource_and_the_batch_at_once_and_the_resource_comes_back() {
    struct Sum(u32);
    let mut world = World::new();
    world.resources_mut().insert(Sum(0));
    let lies = |world: &World| std::ptr::from_ref(world.resources().get::<Sum>().unwrap());
    let lay = lies(&world);
    world
        .observe::<Heat, ()>(Observed::COME, |batch, _| {
            let count = batch.len();
            assert!(batch.with_resource(|_, _: &mut String| ()).is_none());
            let lent = batch.with_resource(|batch, sum: &mut Sum| {
                assert!(batch.resources().get::<Sum>().is_none(), "it is lent");
                batch.for_each::<&mut Heat>(|heat| {
                    sum.0 += 1;
                    heat.0 = sum.0;
                })
            });
            assert_eq!(lent.unwrap().unwrap(), count);
            batch.with_resource(|_, sum: &mut Sum| assert!(sum.0 < 1_000, "too many"));
        })
        .unwrap();
    let ants = many(&mut world, 100);
    assert_eq!(world.resources().get::<Sum>().unwrap().0, 100);
    let mut heats: Vec<u32> = ants
        .iter()
        .map(|&ant| world.get::<Heat>(ant).unwrap().0)
        .collect();
    heats.sort_unstable();
    assert!(heats.into_iter().eq(1..=100));
    // A panic in there: the world is usable, the change is done, and the resource where it was.
    let more = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        many(&mut world, 950);
    }));
    assert!(more.is_err());
    assert_eq!(world.resources().get::<Sum>().unwrap().0, 1_050);
    assert_eq!((lies(&world), world.count()), (lay, 1_050));
    world.resources_mut().get_mut::<Sum>().unwrap().0 = 0;
    many(&mut world, 3);
    assert_eq!(world.resources().get::<Sum>().unwrap().0, 3);
    world.check().unwrap();
}
