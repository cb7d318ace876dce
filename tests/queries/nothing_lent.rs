//! Who lends nothing has changed nothing.

use megachunk::prelude::*;

use crate::rows::Tag;

#[test]
fn whether_there_is_nothing_is_no_change() {
    let mut world = World::new();
    let mut writes = Query::<&mut u32>::new(&world).unwrap();
    let mut changed = Query::<&u32, Changed<u32>>::new(&world).unwrap();
    assert!(writes.on(&mut world).is_empty());
    let _ = world.create((1_u32,)).unwrap();
    assert_eq!(changed.on(&mut world).count(), 1);
    assert!(!writes.on(&mut world).is_empty());
    assert_eq!(changed.on(&mut world).count(), 0);
    assert!(writes.on(&mut world).first().is_some());
    assert_eq!(changed.on(&mut world).count(), 1);
}

#[test]
fn a_run_that_lends_nothing_of_a_chunk_is_no_change_of_it() {
    type Run<'q> = QueryRun<'q, &'static mut u32, With<Tag>>;
    type Way = (&'static str, fn(Run<'_>, Entity));
    let ways: [Way; 10] = [
        ("for_each", |mut run, _| run.for_each(|n| *n += 1)),
        ("par_for_each", |mut run, _| run.par_for_each(|n| *n += 1)),
        ("for_each_in", |mut run, ant| {
            _ = run.for_each_in(&[ant], |n| *n += 1);
        }),
        ("par_for_each_in", |mut run, ant| {
            _ = run.par_for_each_in(&[ant], |n| *n += 1);
        }),
        ("for_each_slice", |mut run, _| {
            run.for_each_slice(|_, _, numbers| numbers[0] += 1);
        }),
        ("par_for_each_slice", |mut run, _| {
            run.par_for_each_slice(|_, _, numbers| numbers[0] += 1);
        }),
        ("next", |run, _| {
            run.into_iter().take(2).for_each(|n| *n += 1)
        }),
        ("fold", |mut run, _| run.iter().for_each(|n| *n += 1)),
        ("single", |mut run, _| {
            run.single().into_iter().for_each(|n| *n += 1);
        }),
        ("get_mut", |mut run, ant| {
            run.get_mut(ant).into_iter().for_each(|n| *n += 1);
        }),
    ];
    let mut wrong = Vec::new();
    // One takes whole chunks, several share rows out.
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.unwrap();
        for (name, way) in ways {
            let mut world = World::new();
            world.registry().register_enableable::<Tag>().unwrap();
            let ant = world.create((1_u32, Tag)).unwrap();
            let mut writes = Query::<&mut u32, With<Tag>>::new(&world).unwrap();
            let mut changed = Query::<&u32, Changed<u32>>::new(&world).unwrap();
            assert_eq!(changed.read(&world).count(), 1);
            for on in [false, true] {
                world.set_enabled::<Tag>(ant, on).unwrap();
                pool.install(|| way(writes.on(&mut world), ant));
                assert_eq!(world.get::<u32>(ant).unwrap(), &(1 + u32::from(on)));
                if changed.read(&world).count() != usize::from(on) {
                    wrong.push((name, threads, on));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn that_there_is_not_only_one_is_no_change() {
    let mut world = World::new();
    world.registry().register_enableable::<Tag>().unwrap();
    let make = [(1_u32, Tag), (2, Tag), (3, Tag)];
    let ants = make.map(|bundle| world.create(bundle).unwrap());
    // In the next chunk that is looked at.
    let other = world.create((4_u32, Tag, "other")).unwrap();
    let mut writes = Query::<&mut u32, With<Tag>>::new(&world).unwrap();
    let mut changed = Query::<&u32, Changed<u32>>::new(&world).unwrap();
    assert_eq!(changed.read(&world).count(), 4);
    for off in [&[][..], &ants[..1], &ants[1..2], &ants[..2], &[other]] {
        for ant in ants.into_iter().chain([other]) {
            let on = !off.contains(&ant);
            world.set_enabled::<Tag>(ant, on).unwrap();
        }
        assert!(writes.on(&mut world).single().is_none());
        assert_eq!(changed.read(&world).count(), 0);
        let mut once = world.query::<&mut u32, With<Tag>>().unwrap();
        assert!(once.single().is_none());
        assert_eq!(changed.read(&world).count(), 0, "by a query for one run");
    }
    for ant in ants {
        world.set_enabled::<Tag>(ant, false).unwrap();
    }
    world.set_enabled::<Tag>(other, true).unwrap();
    assert_eq!(writes.on(&mut world).single(), Some(&mut 4));
    assert_eq!(changed.read(&world).count(), 1, "its chunk, no other");
}
