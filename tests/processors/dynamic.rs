//! Processors whose queries are put together at run time: against typed ones, beside others, and what is refused.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::said::{Said, run, said, say, world};
use megachunk::prelude::*;
use megachunk::processor::{DynamicParams, Overlap, Standing};
use megachunk::query::{ChunkView, DynamicQueryBuilder, QueryError};

#[derive(Clone, Copy)]
struct Spot(i64);
#[derive(Clone, Copy)]
struct Speed(i64);
struct Asleep;
struct Sum(i64);

#[derive(Clone, Copy)]
struct Ids {
    spot: FragmentId,
    speed: FragmentId,
    asleep: FragmentId,
}

impl Ids {
    fn of(world: &World) -> Self {
        let registry = world.registry();
        Self {
            spot: registry.register_plain::<Spot>().unwrap().id(),
            speed: registry.register_plain::<Speed>().unwrap().id(),
            asleep: registry.register::<Asleep>().unwrap().id(),
        }
    }
}

megachunk::plain!(Spot { 0 });
megachunk::plain!(Speed { 0 });

/// A world of an ordered universe with entities of four compositions.
fn herd() -> (World, Ids) {
    let universe = Arc::new(Universe::ordered());
    let mut world = World::of(&universe).unwrap();
    let ids = Ids::of(&world);
    for n in 0..3_000 {
        match n % 4 {
            0 => world.create((Spot(n),)),
            1 => world.create((Spot(n), Speed(n % 7))),
            2 => world.create((Spot(n), Speed(n % 5), Asleep)),
            _ => world.create((Speed(n),)),
        }
        .unwrap();
    }
    world.resources_mut().insert(3_i64);
    world.resources_mut().insert(Sum(0));
    world.resources_mut().insert(Said::default());
    (world, ids)
}

/// The four processors of one schedule, typed. Each takes recorders, as dynamic ones do: by that it has ids of its own.
fn typed() -> [ProcessorBuilder; 4] {
    [
        processor(
            "move",
            |mut rows: QueryRun<(&mut Spot, &Speed), Without<Asleep>>,
             step: &i64,
             _: ParallelCommands| {
                rows.for_each(|(spot, speed)| spot.0 += speed.0 * step);
            },
        ),
        processor(
            "sum",
            |mut rows: QueryRun<&Spot>, sum: &mut Sum, _: ParallelCommands| {
                rows.for_each(|spot| sum.0 = sum.0.wrapping_mul(31).wrapping_add(spot.0));
            },
        ),
        processor(
            "bury",
            |mut rows: QueryRun<(Entity, &Spot)>, commands: ParallelCommands| {
                rows.par_for_each_slice(|chunk, _, (entities, spots)| {
                    let mut commands = commands.open_at(chunk.sort_key());
                    for (&entity, spot) in entities.iter().zip(spots) {
                        if spot.0 % 97 == 0 {
                            commands.destroy(entity);
                            commands.create((Speed(spot.0),)).unwrap();
                        }
                    }
                });
            },
        ),
        processor(
            "note",
            |mut rows: QueryRun<&Spot, Changed<Spot>>, said: &mut Said, _: ParallelCommands| {
                said.0.push(format!("{} changed", rows.count()));
            },
        ),
    ]
}

/// The same, put together at run time.
fn dynamic(world: &World, ids: Ids) -> [ProcessorBuilder; 4] {
    let query = || DynamicQuery::builder(world);
    let movers = query().write(ids.spot).read(ids.speed).without(ids.asleep);
    let spots = query().read(ids.spot).write_resource::<Sum>();
    let changed = query().read(ids.spot).changed(ids.spot);
    [
        dynamic_processor(
            "move",
            [movers.read_resource::<i64>().build().unwrap()],
            move |mut params| {
                let step = *params.resources().read::<i64>().unwrap();
                for mut chunk in params.runs()[0].chunks() {
                    let speeds = chunk.read(ids.speed).unwrap().slice::<Speed>().unwrap();
                    let spots = chunk.write(ids.spot).unwrap().slice::<Spot>().unwrap();
                    for (spot, speed) in spots.iter_mut().zip(speeds) {
                        spot.0 += speed.0 * step;
                    }
                }
            },
        ),
        dynamic_processor("sum", [spots.build().unwrap()], move |mut params| {
            let sum = params.resources().write::<Sum>().unwrap();
            for mut chunk in params.runs()[0].chunks() {
                for spot in chunk.read(ids.spot).unwrap().slice::<Spot>().unwrap() {
                    sum.0 = sum.0.wrapping_mul(31).wrapping_add(spot.0);
                }
            }
        }),
        dynamic_processor(
            "bury",
            [query().read(ids.spot).build().unwrap()],
            move |mut params| {
                let commands = params.commands();
                params.runs()[0].par_for_each_chunk(|mut chunk| {
                    let mut commands = commands.open_at(chunk.sort_key());
                    let spots = chunk.read(ids.spot).unwrap().slice::<Spot>().unwrap();
                    for (&entity, spot) in chunk.entities().iter().zip(spots) {
                        if spot.0 % 97 == 0 {
                            commands.destroy(entity);
                            commands.create((Speed(spot.0),)).unwrap();
                        }
                    }
                });
            },
        ),
        dynamic_processor(
            "note",
            [changed.write_resource::<Said>().build().unwrap()],
            |mut params| {
                let said = params.resources().write::<Said>().unwrap();
                said.0.push(format!("{} changed", params.runs()[0].count()));
            },
        ),
    ]
}

#[test]
fn dynamic_processors_do_what_typed_ones_do_for_any_number_of_threads() {
    let mut outcomes = Vec::new();
    for threads in [1, 4] {
        for at_run_time in [false, true] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let outcome = pool.unwrap().install(|| {
                let (mut world, ids) = herd();
                let mut schedule = Schedule::new();
                schedule.set_execution(Execution::Beside);
                let processors = match at_run_time {
                    true => dynamic(&world, ids),
                    false => typed(),
                };
                for processor in processors {
                    schedule.add(processor);
                }
                let mut hashes = Vec::new();
                for _ in 0..5 {
                    let report = run(&mut schedule, &mut world);
                    assert!(report.flush.is_clean());
                    assert_eq!(report.ran, 4);
                    hashes.push((
                        world.state_hash(&Default::default()),
                        report.flush.destroyed,
                    ));
                }
                let sum = world.resources().get::<Sum>().unwrap().0;
                (hashes, sum, said(&mut world))
            });
            outcomes.push(outcome);
        }
    }
    assert!(outcomes[0].0.iter().any(|&(_, destroyed)| destroyed > 0));
    // Who sleeps, and who has no speed, is seen by the first run alone.
    assert_eq!(outcomes[0].2[0], "2250 changed");
    assert_ne!(outcomes[0].2[1], "2250 changed");
    for outcome in &outcomes[1..] {
        assert_eq!(outcome, &outcomes[0]);
    }
}

#[test]
fn who_touches_nothing_in_common_may_run_beside_it_and_nobody_else() {
    let mut world = world();
    let ids = Ids::of(&world);
    let query = || DynamicQuery::builder(&world);
    let awake = query().write(ids.spot).without(ids.asleep).build().unwrap();
    let all = query().read(ids.spot).read_resource::<u8>();
    let all = all.build().unwrap();
    let mut schedule = Schedule::new();
    schedule
        .add(dynamic_processor("script", [awake], |_| {}))
        .add(dynamic_processor("reader", [all], |_| {}))
        .add(processor(
            "asleep",
            |_: QueryRun<&mut Spot, With<Asleep>>| {},
        ))
        .add(processor("speeds", |_: QueryRun<&mut Speed>| {}))
        .add(processor("spots", |_: QueryRun<&mut Spot>| {}))
        .add(processor("count", |_: &mut u8| {}));
    world.resources_mut().insert(0_u8);
    world.create((Spot(1),)).unwrap();
    schedule.solve(&mut world).unwrap();
    let overlap = |schedule: &Schedule, world: &World, a, b| {
        let overlap = schedule.explain_overlap(world, a, b);
        overlap.unwrap().to_string()
    };
    let may = Overlap::May.to_string();
    assert_eq!(overlap(&schedule, &world, "script", "speeds"), may);
    assert_eq!(overlap(&schedule, &world, "script", "asleep"), may);
    // No archetype is there that both see, until one comes.
    assert_eq!(overlap(&schedule, &world, "reader", "asleep"), may);
    for (other, both) in [("reader", "Spot"), ("spots", "Spot")] {
        let why = overlap(&schedule, &world, "script", other);
        assert!(why.starts_with("script -[") && why.contains(both), "{why}");
    }
    let why = overlap(&schedule, &world, "reader", "count");
    assert!(why.contains("the resource u8"), "{why}");
    world.create((Spot(1), Asleep)).unwrap();
    schedule.solve(&mut world).unwrap();
    // These two wait for each other because of the reader alone.
    let waits = schedule.explain_overlap(&world, "script", "asleep");
    assert!(matches!(waits, Ok(Overlap::Waits { both, .. }) if both.is_empty()));
    let why = overlap(&schedule, &world, "reader", "asleep");
    assert!(why.contains("Spot"), "{why}");
}

/// Two that run at one time meet; who waits in vain says so.
#[test]
fn it_runs_at_one_time_with_others() {
    let mut world = world();
    let ids = Ids::of(&world);
    world.create((Spot(1), Speed(1))).unwrap();
    let here = Arc::new(AtomicU32::new(0));
    let meet = move || {
        let here = Arc::clone(&here);
        move || {
            here.fetch_add(1, Ordering::Relaxed);
            let began = std::time::Instant::now();
            while here.load(Ordering::Relaxed) < 2 {
                assert!(began.elapsed().as_secs() < 60, "nobody comes");
                std::thread::yield_now();
            }
        }
    };
    let spots = DynamicQuery::builder(&world).write(ids.spot).build();
    let (one, other) = (meet(), meet());
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    schedule.add(dynamic_processor("script", [spots.unwrap()], move |_| {
        one();
    }));
    schedule.add(processor("speeds", move |_: QueryRun<&mut Speed>| other()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let report = pool.unwrap().install(|| run(&mut schedule, &mut world));
    assert_eq!(report.ran, 2);
}

/// The error of a schedule that has one such processor.
fn refused(world: &mut World, queries: Vec<DynamicQuery>) -> ScheduleError {
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor("script", queries, |_| {
        unreachable!("it is refused")
    }));
    let error = schedule.run(world).unwrap_err();
    // And each time again.
    assert_eq!(schedule.run(world), Err(error.clone()));
    error
}

fn reading(id: FragmentId) -> impl Fn(&World) -> DynamicQueryBuilder<'_> {
    move |world| DynamicQuery::builder(world).read(id)
}

fn writing(id: FragmentId) -> impl Fn(&World) -> DynamicQueryBuilder<'_> {
    move |world| DynamicQuery::builder(world).write(id)
}

#[test]
fn queries_that_would_lend_the_same_are_refused_as_typed_ones_are() {
    let mut world = world();
    let ids = Ids::of(&world);
    let wet = world.registry().register_enableable::<u16>().unwrap().id();
    let writes = writing(ids.spot);
    let one = writes(&world).build().unwrap();
    let other = writes(&world).with(ids.speed).build().unwrap();
    let error = refused(&mut world, vec![one, other]);
    let mut typed = Schedule::new();
    typed.add(processor(
        "script",
        |_: QueryRun<&mut Spot>, _: QueryRun<&mut Spot, With<Speed>>| {},
    ));
    assert_eq!(typed.run(&mut world).unwrap_err(), error);
    assert!(matches!(error, ScheduleError::Aliased { .. }));

    // Apart by what cannot be switched off, they are lent both.
    let one = writes(&world).without(ids.asleep).build().unwrap();
    let other = writes(&world).with(ids.asleep).build().unwrap();
    world.create((Spot(1), Asleep)).unwrap();
    world.create((Spot(2),)).unwrap();
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor(
        "script",
        [one, other],
        move |mut params| {
            let [one, other] = params.runs() else {
                unreachable!("there are two queries")
            };
            let (mut one, mut other) = (one.chunks(), other.chunks());
            let (mut a, mut b) = (one.next().unwrap(), other.next().unwrap());
            let a = a.write(ids.spot).unwrap().slice::<Spot>().unwrap();
            let b = b.write(ids.spot).unwrap().slice::<Spot>().unwrap();
            core::mem::swap(&mut a[0], &mut b[0]);
            assert!(one.next().is_none() && other.next().is_none());
        },
    ));
    run(&mut schedule, &mut world);
    let mut spots = world.query::<&Spot, Without<Asleep>>().unwrap();
    assert_eq!(spots.iter().map(|spot| spot.0).sum::<i64>(), 1);

    // By what can be, they are until rows of both lie in one chunk.
    let one = writes(&world).without(wet).build().unwrap();
    let other = writes(&world).with(wet).build().unwrap();
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor("script", [one, other], |_| {}));
    run(&mut schedule, &mut world);
    world.create((Spot(3), 7_u16)).unwrap();
    let error = schedule.run(&mut world).unwrap_err();
    let ScheduleError::Aliased { name, apart_by, .. } = &error else {
        panic!("{error}");
    };
    assert!(name.contains("Spot") && apart_by.as_deref() == Some("u16"));
}

#[test]
fn resources_of_several_queries_are_lent_once_or_refused() {
    let mut world = world();
    let ids = Ids::of(&world);
    let query = reading(ids.spot);
    let one = query(&world).read_resource::<u8>().build().unwrap();
    let other = query(&world).write_resource::<u8>().build().unwrap();
    world.resources_mut().insert(1_u8);
    world.resources_mut().insert(2_u16);
    let error = refused(&mut world, vec![one, other]);
    let ScheduleError::Aliased { name, resource, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((&**name, *resource), ("u8", true));

    let one = query(&world).read_resource::<u8>().build().unwrap();
    let other = query(&world)
        .read_resource::<u8>()
        .write_resource::<u16>()
        .build()
        .unwrap();
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor("script", [one, other], |mut params| {
        let resources = params.resources();
        let (a, again) = (resources.read::<u8>().unwrap(), resources.read::<u8>());
        let b = resources.write::<u16>().unwrap();
        *b += u16::from(*a + *again.unwrap());
        let lent = |error: QueryError| matches!(error, QueryError::Lent { .. });
        assert!(lent(resources.write::<u16>().unwrap_err()));
        assert!(lent(resources.read::<u16>().unwrap_err()));
        let read_only = resources.write::<u8>().unwrap_err();
        assert!(matches!(read_only, QueryError::ReadOnly { .. }));
        let not_asked = resources.read::<u32>().unwrap_err();
        assert!(matches!(not_asked, QueryError::NotAsked { .. }));
    }));
    run(&mut schedule, &mut world);
    assert_eq!(world.resources().get::<u16>(), Some(&4));
}

#[test]
fn a_resource_that_is_read_is_not_lent_to_be_written_too() {
    let mut world = world();
    let query = DynamicQuery::builder(&world).write_resource::<u8>();
    let query = query.build().unwrap();
    world.resources_mut().insert(1_u8);
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor("script", [query], |mut params| {
        let resources = params.resources();
        for _ in 0..100 {
            assert_eq!(resources.read::<u8>(), Ok(&1));
        }
        let refused = resources.write::<u8>().unwrap_err();
        assert!(matches!(refused, QueryError::Lent { .. }));
    }));
    assert_eq!(run(&mut schedule, &mut world).ran, 1);
}

#[test]
fn a_resource_that_is_not_there_is_found_before_anybody_runs() {
    let mut world = world();
    let ids = Ids::of(&world);
    world.create((Spot(1),)).unwrap();
    let query = |world: &World| {
        let query = DynamicQuery::builder(world).read(ids.spot);
        let query = query.changed(ids.spot).write_resource::<Said>();
        query.read_resource::<u8>().build().unwrap()
    };
    for conditional in [false, true] {
        let mut schedule = Schedule::new();
        schedule.add(say("first"));
        let script = dynamic_processor("script", [query(&world)], |mut params| {
            let said = params.resources().write::<Said>().unwrap();
            said.0.push(format!("{} seen", params.runs()[0].count()));
        });
        schedule.add(match conditional {
            true => script.run_if(|_: &Said| true),
            false => script,
        });
        let error = schedule.run(&mut world).unwrap_err();
        let ScheduleError::NoResource { name, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(&**name, "u8");
        // Who has a condition is asked in its turn.
        let before: &[&str] = if conditional { &["first"] } else { &[] };
        assert_eq!(said(&mut world), before);
        // What did not take place is no run: all is changed still.
        world.resources_mut().insert(1_u8);
        run(&mut schedule, &mut world);
        run(&mut schedule, &mut world);
        assert_eq!(said(&mut world), ["first", "1 seen", "first", "0 seen"]);
        world.resources_mut().remove::<u8>();
        assert!(schedule.run(&mut world).is_err());
        said(&mut world);
    }
}

#[test]
fn a_query_of_another_universe_is_refused() {
    let mut world = world();
    let ids = Ids::of(&world);
    let elsewhere = World::new();
    Ids::of(&elsewhere);
    let query = DynamicQuery::builder(&elsewhere).write(ids.spot).build();
    let error = refused(&mut world, vec![query.unwrap()]);
    let ScheduleError::Query { error, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(error, QueryError::OtherUniverse);
}

/// Any query looks at the chunk fragments of what it sees, in a filter: so nobody writes one beside it.
#[test]
fn a_query_that_writes_chunk_fragments_is_refused() {
    let mut world = world();
    let ids = Ids::of(&world);
    let heat = world.registry().register::<PerChunk<i64>>().unwrap().id();
    world.create((Spot(1),).per_chunk(7_i64)).unwrap();
    let query = DynamicQuery::builder(&world).read(ids.spot).write(heat);
    let query = query.build().unwrap();
    let error = refused(&mut world, vec![query]);
    assert!(matches!(
        error,
        ScheduleError::Query {
            error: QueryError::Writes { .. },
            ..
        }
    ));
    // To read them is no matter.
    let query = DynamicQuery::builder(&world).write(ids.spot).read(heat);
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor(
        "script",
        [query.build().unwrap()],
        move |mut params| {
            let run = params.runs()[0].reborrow_mut();
            let hot = |chunk: &ChunkView| chunk.chunk_fragment::<i64>() == Some(&7);
            run.filter_chunks(hot).for_each_chunk(|mut chunk| {
                let heat = chunk.read(heat).unwrap().slice::<i64>().unwrap()[0];
                chunk.write(ids.spot).unwrap().slice::<Spot>().unwrap()[0].0 += heat;
            });
        },
    ));
    run(&mut schedule, &mut world);
    let mut spots = world.query::<&Spot, ()>().unwrap();
    assert_eq!(spots.iter().map(|spot| spot.0).sum::<i64>(), 8);
}

#[test]
fn it_is_passed_by_measured_and_explained_as_a_typed_one() {
    let mut world = world();
    let ids = Ids::of(&world);
    let query = |world: &World| DynamicQuery::builder(world).read(ids.spot).build();
    let mut schedule = Schedule::new();
    schedule.set_measured(true);
    let script = dynamic_processor("script", [query(&world).unwrap()], |_| {});
    schedule.add(script.run_if_any_match());
    assert_eq!(run(&mut schedule, &mut world).idle, 1);
    let standing = schedule.standing(&world, "script").unwrap();
    assert_eq!(standing, Standing::NothingMatches);
    let owl = world.create((Speed(1),)).unwrap();
    for n in 0..10 {
        world.create((Spot(n),)).unwrap();
    }
    let report = run(&mut schedule, &mut world);
    assert_eq!((report.ran, report.idle), (1, 0));
    let (name, timing) = schedule.timings().next().unwrap();
    let seen = (timing.seen.entities, timing.seen.chunks, timing.runs);
    assert_eq!((name, seen), ("script", (10, 1, 1)));
    let why = schedule.explain_match(&world, "script", owl).unwrap();
    assert!(why.to_string().contains("Spot"), "{why}");
    assert!(
        why.queries.iter().all(|query| !query.of_type.is_empty()),
        "{why:?}"
    );
    // Detached, it begins anew.
    schedule.detach();
    assert_eq!(run(&mut schedule, &mut world).ran, 1);
}

#[test]
fn what_it_saw_before_it_was_given_away_and_on_another_world_it_has_not_seen() {
    let (mut world, ids) = herd();
    let universe = Arc::clone(world.universe());
    let query = DynamicQuery::builder(&world).read(ids.spot);
    let mut query = query.changed(ids.spot).build().unwrap();
    assert_eq!(query.on(&mut world).unwrap().count(), 2_250);
    assert_eq!(query.on(&mut world).unwrap().count(), 0);
    let counts = Arc::new(Mutex::new(Vec::new()));
    let mut schedule = Schedule::new();
    let told = Arc::clone(&counts);
    schedule.add(dynamic_processor("script", [query], move |mut params| {
        told.lock().unwrap().push(params.runs()[0].count());
    }));
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    schedule.detach();
    let mut other = World::of(&universe).unwrap();
    other.create((Spot(1),)).unwrap();
    run(&mut schedule, &mut other);
    schedule.detach();
    run(&mut schedule, &mut world);
    assert_eq!(*counts.lock().unwrap(), [2_250, 0, 1, 2_250]);
}

#[test]
fn errors_and_panics_of_it_end_the_run_and_leave_the_world() {
    let mut world = world();
    let ids = Ids::of(&world);
    world.create((Spot(1),)).unwrap();
    let query = DynamicQuery::builder(&world).write(ids.spot).build();
    let mut times = 0;
    let script = move |mut params: DynamicParams| -> ProcessorResult {
        times += 1;
        params.commands().open().create((Speed(1),))?;
        let mut chunk = params.runs()[0].first().ok_or("nobody is there")?;
        chunk.write(ids.spot)?.slice::<Spot>()?[0].0 += 1;
        match times {
            1 => Err("no".into()),
            2 => panic!("never"),
            _ => Ok(()),
        }
    };
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor("script", [query.unwrap()], script));
    let error = schedule.run(&mut world).unwrap_err();
    assert_eq!(error.to_string(), "processor `script`: no");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = schedule.run(&mut world);
    }));
    let said = panicked.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*said, "processor `script` panicked: never");
    run(&mut schedule, &mut world);
    let mut spots = world.query::<&Spot, ()>().unwrap();
    assert_eq!(spots.iter().map(|spot| spot.0).sum::<i64>(), 4);
    assert_eq!(world.query::<&Speed, ()>().unwrap().count(), 3);
}

#[test]
fn its_signals_are_heard_in_the_order_of_the_schedule() {
    let mut world = world();
    let ids = Ids::of(&world);
    let owl = world.create((Spot(1),)).unwrap();
    let hoot = world.signal::<u32>("hoot").unwrap();
    let query = |world: &World| DynamicQuery::builder(world).read(ids.spot).build();
    let send = |query: DynamicQuery, name: &str, value: u32| {
        dynamic_processor(name, [query], move |params| {
            params.signals().open().send(hoot, owl, value);
        })
    };
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    for (name, value) in [("a", 1), ("b", 2), ("c", 3)] {
        schedule.add(send(query(&world).unwrap(), name, value));
    }
    schedule.add(
        processor(
            "hear",
            move |mut heard: Signalled<&Spot>, said: &mut Said| {
                let _ = heard.deliver(|_, received| {
                    said.0.extend(received.of(hoot).map(ToString::to_string));
                });
            },
        )
        .hears::<u32>("hoot")
        .phase(Phase::FrameEnd),
    );
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["1", "2", "3"]);
}
