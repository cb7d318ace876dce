//! Processors: runs that panic, are measured or traced, and runs of several worlds.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::said::{Said, run, said, say, world};
use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::processor::Trace;

struct A(u32);
struct B(u32);

fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads can be had")
}

#[test]
fn a_panic_names_the_processor_and_world_and_schedule_go_on() {
    for threads in [1, 4] {
        for execution in [Execution::Alone, Execution::Beside] {
            let mut world = world();
            let mut schedule = Schedule::new();
            schedule.set_execution(execution);
            schedule.add(processor("works", |mut commands: Commands| {
                commands.create((A(1),)).expect("there is room");
            }));
            schedule.add(
                processor("fails", |mut commands: Commands, mut runs: Local<u32>| {
                    commands.create((A(2),)).expect("there is room");
                    *runs += 1;
                    assert!(*runs > 1, "the first time");
                })
                .after("works"),
            );
            schedule.add(say("never").after("fails"));
            schedule.add(say("beside"));
            pool(threads).install(|| {
                let panic = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world)));
                let panic = panic.expect_err("it goes on");
                let text = panic.downcast_ref::<String>().expect("it is text");
                assert!(
                    text.contains("`fails`") && text.contains("the first time"),
                    "{text}"
                );
                assert_eq!(world.count(), 0, "what was recorded is not flushed yet");
                assert!(!said(&mut world).contains(&"never".to_owned()));
                let report = run(&mut schedule, &mut world);
                assert_eq!(report.flush.created, 4, "what was recorded then, and now");
                assert_eq!(said(&mut world).len(), 2);
                world.check().expect("it is whole");
            });
        }
    }
}

#[test]
fn a_panic_names_the_processor_though_it_comes_from_what_that_keeps() {
    static MADE: AtomicU32 = AtomicU32::new(0);
    struct Shy;
    impl Default for Shy {
        fn default() -> Self {
            assert!(MADE.fetch_add(1, Ordering::Relaxed) > 0, "the first time");
            Self
        }
    }
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule.add(say("other"));
    schedule.add(processor("keeps", |_: Local<Shy>| {}));
    let panic = catch_unwind(AssertUnwindSafe(|| drop(schedule.run(&mut world))));
    let panic = panic.expect_err("it goes on");
    let text = panic.downcast_ref::<String>().expect("it is text");
    assert_eq!(text, "processor `keeps` panicked: the first time");
    assert_eq!(run(&mut schedule, &mut world).ran, 2);
    assert_eq!(said(&mut world), ["other"]);
}

#[test]
fn a_panic_of_an_exclusive_processor_does_the_same() {
    let mut world = world();
    let mut schedule = Schedule::new();
    let mut runs = 0;
    schedule.add(exclusive_processor("alone", move |_: &mut World| {
        runs += 1;
        assert!(runs > 1);
    }));
    let panic = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world)));
    let panic = panic.expect_err("it goes on");
    assert!(
        panic
            .downcast_ref::<String>()
            .expect("it is text")
            .contains("`alone`")
    );
    assert_eq!(run(&mut schedule, &mut world).ran, 1);
}

#[test]
fn a_panic_goes_on_though_somebody_before_was_refused() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let (began, seen) = std::sync::mpsc::channel();
    schedule.add(processor("waits", move || {
        seen.recv().expect("it begins");
    }));
    // In its turn, as it has a condition.
    let asks = processor("asks", || {}).run_if(|_: &String| true);
    schedule.add(asks.after("waits"));
    schedule.add(processor("panics", move || {
        began.send(()).expect("somebody waits");
        std::thread::sleep(Duration::from_millis(50));
        panic!("a fault");
    }));
    let panic = pool(3).install(|| {
        catch_unwind(AssertUnwindSafe(|| {
            schedule.run(&mut world).map(|report| report.ran)
        }))
    });
    let panic = panic.expect_err("it goes on");
    let text = panic.downcast_ref::<String>().expect("it is text");
    assert!(text.contains("`panics`"), "{text}");
}

#[test]
fn the_first_resource_that_is_missing_is_the_error_and_nobody_of_its_phase_has_run() {
    for threads in [1, 4] {
        for execution in [Execution::Alone, Execution::Beside] {
            let mut world = world();
            let mut schedule = Schedule::new();
            schedule.set_execution(execution);
            schedule.add(say("before").phase(Phase::PrePhysics));
            for later in [
                processor("many", || {}),
                say("works"),
                processor("first", |_: Option<&u8>, _: &mut String, _: &i8| {}),
                processor("off", |_: &u64| {}),
                processor("second", |_: &Vec<u8>| {}),
            ] {
                schedule.add(later.phase(Phase::PostPhysics));
            }
            schedule.set_enabled("off", false).unwrap();
            let misses = |schedule: &mut Schedule, world: &mut World, who: &str, what: &str| {
                let error = schedule.run(world).unwrap_err();
                let ScheduleError::NoResource {
                    processor, name, ..
                } = error
                else {
                    panic!("{error}");
                };
                assert!(
                    &*processor == who && name.contains(what),
                    "{processor}: {name}"
                );
                assert_eq!(said(world), ["before"]);
            };
            pool(threads).install(|| {
                misses(&mut schedule, &mut world, "first", "String");
                world.resources_mut().insert(String::new());
                misses(&mut schedule, &mut world, "first", "i8");
                world.resources_mut().get_or_insert_with(|| 1_i8);
                misses(&mut schedule, &mut world, "second", "Vec<u8>");
                world.resources_mut().insert(Vec::<u8>::new());
                for _ in 0..2 {
                    run(&mut schedule, &mut world);
                    assert_eq!(said(&mut world), ["before", "works"]);
                }
                // Who begins to run, and what goes, is seen.
                schedule.set_enabled("off", true).unwrap();
                misses(&mut schedule, &mut world, "off", "u64");
                world.resources_mut().insert(1_u64);
                run(&mut schedule, &mut world);
                assert_eq!(said(&mut world), ["before", "works"]);
                world.resources_mut().remove::<String>();
                misses(&mut schedule, &mut world, "first", "String");
                world.resources_mut().insert(String::new());
                run(&mut schedule, &mut world);
                assert_eq!(said(&mut world), ["before", "works"]);
                let mut others = crate::said::world();
                core::mem::swap(world.resources_mut(), others.resources_mut());
                misses(&mut schedule, &mut world, "first", "String");
            });
        }
    }
}

#[test]
fn a_resource_may_come_with_the_flush_before_it_is_asked_for() {
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule.add(processor("gives", |mut commands: Commands| {
        commands.defer(|world: &mut World| {
            world.resources_mut().insert(7_u64);
        });
    }));
    let takes = processor("takes", |number: &u64, said: &mut Said| {
        said.0.push(number.to_string());
    });
    schedule.add(takes.phase(Phase::PostPhysics));
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["7"]);
}

#[test]
fn a_schedule_belongs_to_one_world_until_it_is_detached() {
    let (mut one, mut two) = (world(), world());
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "count",
        |mut runs: Local<u32>, said: &mut Said| {
            *runs += 1;
            said.0.push(runs.to_string());
        },
    ));
    run(&mut schedule, &mut one);
    run(&mut schedule, &mut one);
    let error = schedule.run(&mut two).expect_err("it is another world");
    assert!(matches!(error, ScheduleError::OtherWorld));
    schedule.detach();
    run(&mut schedule, &mut two);
    assert_eq!(
        (said(&mut one), said(&mut two)),
        (vec!["1".into(), "2".into()], vec!["1".into()])
    );
    drop(one);
    run(&mut schedule, &mut two);
}

fn write_every_third_frame() -> ProcessorBuilder {
    let mut frame = 0;
    processor("write", move |mut rows: QueryRun<&mut A>| {
        frame += 1;
        if frame % 3 == 0 {
            rows.for_each(|a| a.0 += 1);
        }
    })
}

#[test]
fn changes_are_seen_once_by_who_looks_for_them_whatever_runs_beside() {
    let mut world = World::new();
    let _ = world
        .create_batch((0..1_000).map(|n| (A(n), B(n))))
        .expect("there is room");
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    schedule.add(write_every_third_frame());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    schedule.add(
        processor("look", move |mut changed: QueryRun<Entity, Changed<A>>| {
            note.lock().expect("nobody panicked").push(changed.count());
        })
        .after("write"),
    );
    schedule.add(processor("other", |mut rows: QueryRun<&mut B>| {
        rows.for_each(|b| b.0 += 1)
    }));
    for _ in 0..9 {
        run(&mut schedule, &mut world);
    }
    let seen = seen.lock().expect("nobody panicked");
    assert_eq!(seen[..], [1_000, 0, 1_000, 0, 0, 1_000, 0, 0, 1_000]);
}

#[test]
fn what_a_processor_writes_its_other_query_finds_in_that_run_or_never() {
    for writes_first in [true, false] {
        let mut world = world();
        world.create((A(0), B(0))).expect("there is room");
        let mut schedule = Schedule::new();
        let both = move |mut all: QueryRun<&mut A>,
                         mut changed: QueryRun<&B, Changed<A>>,
                         said: &mut Said| {
            if writes_first {
                all.for_each(|a| a.0 += 1);
                said.0.push(changed.count().to_string());
            } else {
                said.0.push(changed.count().to_string());
                all.for_each(|a| a.0 += 1);
            }
        };
        schedule.add(processor("both", both));
        let found: Vec<_> = (0..3)
            .flat_map(|_| {
                run(&mut schedule, &mut world);
                said(&mut world)
            })
            .collect();
        let expected = if writes_first {
            ["1", "1", "1"]
        } else {
            ["1", "0", "0"]
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn changes_are_found_once_by_who_looks_entities_up() {
    let mut world = World::new();
    let entity = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(write_every_third_frame());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    schedule.add(
        processor("look", move |changed: QueryLookup<&A, Changed<A>>| {
            let found = changed.get(entity).is_ok();
            note.lock().expect("nobody panicked").push(found);
        })
        .after("write"),
    );
    for _ in 0..7 {
        run(&mut schedule, &mut world);
    }
    let seen = seen.lock().expect("nobody panicked");
    assert_eq!(seen[..], [true, false, true, false, false, true, false]);
}

#[test]
fn what_is_measured_is_how_long_and_what_was_seen_and_passed_by() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let _ = world
        .create_batch((0..10_000).map(|n| (A(n),)))
        .expect("there is room");
    let mut schedule = Schedule::new();
    schedule.set_measured(true);
    schedule.add(processor("all", |mut rows: QueryRun<&A>| {
        std::hint::black_box(rows.iter().map(|a| a.0).sum::<u32>());
    }));
    schedule.add(processor("changed", |_: QueryRun<&A, Changed<A>>| {}));
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    let timings: Vec<_> = schedule
        .timings()
        .map(|(name, timing)| (name.to_owned(), timing))
        .collect();
    let (all, changed) = (timings[0].1, timings[1].1);
    assert_eq!(
        (timings[0].0.as_str(), all.runs, changed.runs),
        ("all", 2, 2)
    );
    assert_eq!((all.seen.entities, all.seen.skipped), (10_000, 0));
    assert!(all.seen.chunks > 1 && all.total >= all.longest && all.longest >= all.last);
    assert_eq!((changed.seen.entities, changed.seen.chunks), (0, 0));
    assert_eq!(changed.seen.skipped, all.seen.chunks);
}

#[test]
fn who_was_refused_has_not_run() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("asks", |_: &String| {}));
    schedule.set_measured(true).start_trace();
    for _ in 0..2 {
        schedule.run(&mut world).expect_err("it is not there");
    }
    let (_, timing) = schedule.timings().next().expect("there is one");
    assert_eq!(timing.runs, 0);
    assert_eq!(events(&mut schedule), []);
    world.resources_mut().insert(String::new());
    run(&mut schedule, &mut world);
    let (_, timing) = schedule.timings().next().expect("there is one");
    assert_eq!(timing.runs, 1);
}

#[test]
fn who_was_refused_what_its_condition_asks_for_has_not_run() {
    let builders = [
        processor("beside", || {}).run_if(|_: &String| true),
        exclusive_processor("alone", |_| {}).run_if(|_: &String| true),
    ];
    for builder in builders {
        let mut world = World::new();
        let mut schedule = Schedule::new();
        schedule.add(builder);
        schedule.set_measured(true).start_trace();
        for _ in 0..2 {
            schedule.run(&mut world).expect_err("it is not there");
        }
        let (name, timing) = schedule.timings().next().expect("there is one");
        assert_eq!((timing.runs, timing.total), (0, Duration::ZERO), "{name}");
        let names: Vec<_> = events(&mut schedule).into_iter().collect();
        assert!(names.iter().all(|(name, _)| name == "flush"), "{names:?}");
        world.resources_mut().insert(String::new());
        run(&mut schedule, &mut world);
        let (_, timing) = schedule.timings().next().expect("there is one");
        assert_eq!(timing.runs, 1);
    }
}

#[test]
fn who_gives_an_error_back_has_run() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    let fails = |_: &mut World| -> ProcessorResult { Err("no".into()) };
    schedule.add(exclusive_processor("fails", fails));
    schedule.set_measured(true);
    schedule.run(&mut world).expect_err("it fails");
    let (_, timing) = schedule.timings().next().expect("there is one");
    assert_eq!(timing.runs, 1);
}

/// A value whose drop panics.
struct Fuse;

impl Drop for Fuse {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("burnt"));
    }
}

#[test]
fn a_trace_has_what_ended_with_a_panic() {
    let kinds = |act: &dyn Fn(&mut Schedule, &mut World)| {
        let mut world = World::new();
        let mut schedule = Schedule::new();
        schedule.start_trace();
        let acts = || act(&mut schedule, &mut world);
        catch_unwind(AssertUnwindSafe(acts)).expect_err("it panics");
        let trace = schedule.take_trace().expect("it was started");
        let kinds = events_of(&trace).into_iter().map(|(kind, _, _)| kind);
        kinds.collect::<Vec<_>>()
    };
    let runs = kinds(&|schedule, world| {
        schedule.add(processor("bad", || panic!("no")));
        run(schedule, world);
    });
    assert_eq!(runs, ["solve", "processor", "run"]);
    let flushes = kinds(&|schedule, world| {
        world.commands().defer(|_: &mut World| panic!("no"));
        run(schedule, world);
    });
    assert_eq!(flushes, ["solve", "flush", "run"]);
    let collects = kinds(&|schedule, world| {
        let hit = world.signal::<Fuse>("hit").expect("it is the first");
        let entity = world.create(()).expect("there is room");
        world.signals().send(hit, entity, Fuse);
        run(schedule, world);
    });
    assert_eq!(collects, ["solve", "collect", "run"]);
    let solves = kinds(&|schedule, world| {
        schedule.add(processor("bad", || {}).on_start(|_| panic!("no")));
        schedule.solve(world).expect("it is right");
    });
    assert_eq!(solves, ["solve"]);
}

#[test]
fn a_trace_has_every_run_and_every_flush() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    for name in ["one", "two \"quoted\"\n"] {
        schedule.add(processor(name, || {}));
    }
    schedule.start_trace();
    for _ in 0..3 {
        run(&mut schedule, &mut world);
    }
    let trace = schedule.take_trace().expect("it was started");
    assert_eq!(trace.len(), 3 * (2 + 1) + 3 + 1, "and runs, and the order");
    let mut json = Vec::new();
    trace.write_to(&mut json).expect("memory takes all");
    let json = String::from_utf8(json).expect("it is text");
    assert_eq!(json.matches("\"ph\":\"X\"").count(), 13);
    assert!(json.contains("two \\\"quoted\\\"\\u000a"), "{json}");
    assert_eq!(json.matches('{').count(), json.matches('}').count());
    assert!(schedule.take_trace().is_none());
}

#[test]
fn who_was_measured_for_a_trace_alone_is_not_when_it_is_taken() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("one", || {}));
    let mut runs = |schedule: &mut Schedule| {
        let count =
            |schedule: &mut Schedule| schedule.timings().map(|(_, it)| it.runs).sum::<u64>();
        let before = count(schedule);
        run(schedule, &mut world);
        count(schedule) - before
    };
    // Also of a trace that another takes the place of.
    for starts in [1, 2] {
        (0..starts).for_each(|_| schedule.start_trace());
        assert_eq!(runs(&mut schedule), 1);
        assert!(schedule.take_trace().is_some());
        assert_eq!(runs(&mut schedule), 0);
    }
    // What is said meanwhile stays.
    schedule.start_trace();
    schedule.set_measured(true);
    assert!(schedule.take_trace().is_some());
    assert_eq!(runs(&mut schedule), 1);
    schedule.start_trace();
    schedule.set_measured(false);
    assert!(schedule.take_trace().is_some());
    assert_eq!(runs(&mut schedule), 0);
    // And what was said before.
    schedule.set_measured(true).start_trace();
    assert!(schedule.take_trace().is_some() && schedule.take_trace().is_none());
    assert_eq!(runs(&mut schedule), 1);
}

/// What a trace has of processors and flushes, each with its thread: name and `tid`.
fn events(schedule: &mut Schedule) -> Vec<(String, u32)> {
    let trace = schedule.take_trace().expect("it was started");
    let all = events_of(&trace).into_iter();
    let wanted = all.filter(|(kind, _, _)| kind == "processor" || kind == "flush");
    wanted.map(|(_, name, thread)| (name, thread)).collect()
}

/// All that a trace has: category, name and `tid`.
fn events_of(trace: &Trace) -> Vec<(String, String, u32)> {
    let mut json = Vec::new();
    trace.write_to(&mut json).expect("there is memory");
    let json = String::from_utf8(json).expect("it is text");
    let events = json.lines().filter(|line| line.contains("\"ph\":\"X\""));
    let after = |line: &str, mark: &str| {
        let (_, rest) = line.split_once(mark).expect("it is there");
        rest.split(['"', ','])
            .next()
            .expect("it is there")
            .to_owned()
    };
    let event = |line: &str| {
        let thread = after(line, "\"tid\":").parse().expect("it is a number");
        (
            after(line, "\"cat\":\""),
            after(line, "\"name\":\""),
            thread,
        )
    };
    events.map(event).collect()
}

#[test]
fn a_trace_has_the_flushes_before_processors_and_the_schedules_own_thread_is_0() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("one", || {}).main_thread());
    let alone = exclusive_processor("alone", |world: &mut World| {
        let late = world.commands().create((A(1),));
        late.expect("there is room");
    });
    schedule.add(alone.after("one"));
    pool(2).install(|| {
        for execution in [Execution::Alone, Execution::Beside] {
            schedule.set_execution(execution);
            schedule.start_trace();
            let early = world.commands().create((A(0),));
            early.expect("there is room");
            run(&mut schedule, &mut world);
            let found = events(&mut schedule);
            let names: Vec<_> = found.iter().map(|(name, _)| &**name).collect();
            assert_eq!(names, ["flush", "one", "alone", "flush"]);
            assert!(found.iter().all(|&(_, thread)| thread == 0), "{found:?}");
        }
    });
}

#[test]
fn a_trace_has_who_ran_before_somebody_failed() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("fine", || {}));
    let mut runs = 0;
    schedule.add(
        processor("fails", move || {
            runs += 1;
            assert!(runs != 2, "the second time");
        })
        .after("fine"),
    );
    schedule.add(processor("late", || {}).after("fails"));
    run(&mut schedule, &mut world);
    schedule.start_trace();
    let failed = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world)));
    assert!(failed.is_err());
    let found = events(&mut schedule);
    let names: Vec<_> = found.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["fine", "fails"]);
}

#[test]
fn a_trace_repeats_nothing_while_nothing_is_measured() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("one", || {}));
    schedule.start_trace();
    for measured in [true, false, false, true] {
        schedule.set_measured(measured);
        run(&mut schedule, &mut world);
    }
    let count = events(&mut schedule).len();
    assert_eq!(count, 2 + 4, "two runs, and all flushes");
}

#[test]
fn a_tick_that_panics_before_it_runs_counts_with_its_time() {
    let mut schedule = Schedule::new();
    let mut starts = 0;
    schedule.add(
        processor("late", |time: &Time, said: &mut Said| {
            said.0.push(format!("{} at {:?}", time.tick, time.now));
        })
        .on_start(move |_| {
            starts += 1;
            assert!(starts > 1, "not yet");
        }),
    );
    let step = Duration::from_secs(1);
    let mut simulation = Simulation::new(world(), schedule);
    simulation.set_rate(Rate::Fixed { step, catch_up: 3 });
    let first = catch_unwind(AssertUnwindSafe(|| simulation.advance(step)));
    assert!(first.is_err());
    assert_eq!((simulation.tick(), simulation.world().time()), (1, step));
    simulation.advance(step).expect("it starts now");
    assert_eq!(
        (simulation.tick(), simulation.world().time()),
        (2, 2 * step)
    );
    assert_eq!(said(simulation.world_mut()), ["1 at 2s"]);
}

#[test]
fn a_simulation_is_paused_stepped_and_catches_up() {
    let mut simulation = Simulation::new(world(), Schedule::new());
    simulation
        .schedule_mut()
        .add(processor("tick", |time: &Time, said: &mut Said| {
            said.0.push(format!("{} at {:?}", time.tick, time.now));
        }));
    simulation.set_rate(Rate::Fixed {
        step: Duration::from_millis(10),
        catch_up: 3,
    });
    let ticks = |simulation: &mut Simulation, ms| {
        let report = simulation
            .advance(Duration::from_millis(ms))
            .expect("it runs");
        (report.ticks, report.dropped.as_millis())
    };
    assert_eq!(ticks(&mut simulation, 25), (2, 0));
    assert_eq!(ticks(&mut simulation, 100), (3, 70));
    simulation.pause();
    assert_eq!(ticks(&mut simulation, 100), (0, 0));
    simulation.step(2);
    assert_eq!(ticks(&mut simulation, 0), (2, 0));
    simulation.resume();
    simulation.step(7);
    assert_eq!(
        ticks(&mut simulation, 5),
        (1, 0),
        "with the rest from before the pause"
    );
    let said = said(simulation.world_mut());
    assert_eq!((said.len(), &*said[7]), (8, "7 at 80ms"));
}

#[test]
fn ticks_that_were_asked_for_are_forgotten_when_it_goes_on() {
    for rate in [Rate::EveryFrame, Rate::per_second(100)] {
        let mut simulation = Simulation::new(World::new(), Schedule::new());
        simulation.set_rate(rate);
        let ticks = |simulation: &mut Simulation| {
            let report = simulation.advance(Duration::from_millis(10));
            report.expect("it runs").ticks
        };
        simulation.pause();
        simulation.step(3);
        simulation.resume();
        simulation.pause();
        assert_eq!(simulation.until_next(), Duration::MAX);
        assert_eq!(ticks(&mut simulation), 0);
        simulation.step(3);
        simulation.resume();
        assert_eq!(ticks(&mut simulation), 1, "of its rate");
        simulation.pause();
        assert_eq!(ticks(&mut simulation), 0);
        simulation.step(3);
        assert_eq!(ticks(&mut simulation), 3);
    }
}

#[test]
fn several_worlds_run_on_one_pool_each_at_its_rate() {
    for threads in [1, 3] {
        pool(threads).install(|| {
            let mut app = App::new();
            for (name, rate) in [("fast", 100), ("slow", 10), ("bound", 50)] {
                let simulation = app.add(name, Simulation::new(world(), Schedule::new()));
                simulation.set_rate(Rate::per_second(rate));
                let here = std::thread::current().id();
                let tick = processor("tick", move |said: &mut Said| {
                    if name == "bound" {
                        assert_eq!(std::thread::current().id(), here);
                    }
                    said.0.push(name.into());
                });
                let tick = if name == "bound" {
                    tick.main_thread()
                } else {
                    tick
                };
                simulation.schedule_mut().add(tick);
            }
            for _ in 0..20 {
                app.update(Duration::from_millis(50)).expect("all run");
            }
            let ticks = |name: &str, app: &mut App| {
                said(app.get_mut(name).expect("it is there").world_mut()).len()
            };
            assert_eq!(
                ["fast", "slow", "bound"].map(|name| ticks(name, &mut app)),
                [100, 10, 50]
            );
            assert!(app.remove("slow").is_some() && app.get("slow").is_none());
        });
    }
}

#[test]
fn an_error_in_one_world_does_not_stop_the_others() {
    let mut app = App::new();
    app.add("poor", Simulation::new(World::new(), Schedule::new()))
        .schedule_mut()
        .add(say("hello"));
    app.add("poor too", Simulation::new(World::new(), Schedule::new()))
        .schedule_mut()
        .add(say("goodbye"));
    app.add("rich", Simulation::new(world(), Schedule::new()))
        .schedule_mut()
        .add(say("hello"));
    let error = app
        .update(Duration::from_millis(1))
        .expect_err("a resource is missing");
    let named: Vec<&str> = error.iter().map(|(name, _)| name).collect();
    assert_eq!(named, ["poor", "poor too"]);
    let told = error.to_string();
    for part in [
        "simulation `poor`: processor `hello`",
        "; simulation `poor too`: processor `goodbye`",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(
        said(app.get_mut("rich").expect("it is there").world_mut()),
        ["hello"]
    );
}
