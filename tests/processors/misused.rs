//! Processors, hooks and hosts that do what nobody expects of them: the schedule says so, or goes on, and nothing
//! is lent twice, lost, or waited for without end.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use megachunk::observer::Observed;
use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::processor::Target;

use crate::pool;

#[derive(Clone)]
pub(crate) struct A(pub(crate) u32);
pub(crate) struct B;
#[derive(Default)]
pub(crate) struct Said(pub(crate) Vec<String>);

pub(crate) fn world() -> World {
    let mut world = World::new();
    world.resources_mut().insert(Said::default());
    world
}

pub(crate) fn said(world: &mut World) -> Vec<String> {
    let said = world.resources_mut().get_mut::<Said>();
    core::mem::take(&mut said.expect("it is there").0)
}

/// A world of another universe, where fragments have other numbers, and a tag can be switched off.
fn stranger() -> World {
    struct Other;
    struct Another;
    let mut world = world();
    let registry = world.registry();
    registry.register::<Other>().expect("there is room");
    registry.register::<Another>().expect("there is room");
    registry.register_enableable::<B>().expect("there is room");
    world.create((A(1), B)).expect("there is room");
    world
}

#[test]
fn who_puts_another_world_in_the_place_of_the_schedules_own_is_told() {
    let look = || {
        processor(
            "apart",
            |mut with: QueryRun<&mut A, With<B>>, mut without: QueryRun<&mut A, Without<B>>| {
                let mut lent = Vec::new();
                with.for_each_chunk(|_, slice| lent.push(slice.as_mut_ptr()));
                without.for_each_chunk(|_, slice| {
                    assert!(
                        !lent.contains(&slice.as_mut_ptr()),
                        "two have one chunk to write"
                    );
                });
            },
        )
    };
    let swap = |world: &mut World| *world = stranger();
    for at in 0..4 {
        let mut schedule = Schedule::new();
        schedule.add(match at {
            0 => exclusive_processor("swap", swap),
            1 => processor("swap", || {}).on_start(swap),
            2 => processor("swap", move |mut commands: Commands| commands.defer(swap)),
            _ => exclusive_processor("swap", swap).phase(Phase::FrameEnd),
        });
        schedule.add(match at {
            3 => look(),
            _ => look().after(Target::from("swap").flushed()),
        });
        let mut own = world();
        let found = schedule.run(&mut own);
        assert_eq!(found.is_err(), at < 3, "{at}: the last has nobody after it");
        // Once more, in the world that it is in now: whatever comes of it, nothing is lent twice.
        let found = schedule.run(&mut own);
        let refused = matches!(
            found,
            Err(ScheduleError::OtherWorld | ScheduleError::Aliased { .. })
        );
        assert!(refused, "{at}: {found:?}");
    }
}

#[test]
fn who_runs_alone_is_not_given_a_world_that_comes_with_the_flush_before_it() {
    let mut own = world();
    let swap = |world: &mut World| *world = stranger();
    // Of this recorder the schedule does not know: nobody flushes before the other is to run.
    let recorders = own.parallel_commands();
    let mut schedule = Schedule::new();
    schedule
        .add(processor("swap", move || recorders.open().defer(swap)))
        .add(
            exclusive_processor("alone", |world: &mut World| {
                world.create((B,)).expect("there is room");
            })
            .after("swap"),
        );
    let found = schedule.run(&mut own);
    assert!(matches!(found, Err(ScheduleError::OtherWorld)), "{found:?}");
    assert_eq!(own.count(), 1, "the stranger is as it came");
}

#[test]
fn who_waits_for_the_schedules_own_thread_does_not_stop_a_pool() {
    let pool = pool(2);
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let begun = Arc::new(AtomicU32::new(0));
    let begins = Arc::clone(&begun);
    schedule.add(processor("here", move || {
        // Until the pool's other thread has the other one.
        while begun.swap(0, Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
    }));
    schedule.add(processor("all", move || {
        begins.store(1, Ordering::Relaxed);
        // Until the schedule's own thread has nothing to do.
        std::thread::sleep(Duration::from_millis(20));
        rayon::broadcast(|_| {});
    }));
    schedule.add(processor("bound", || {}).main_thread().after("all"));
    let mut world = World::new();
    for _ in 0..5 {
        let report = pool.install(|| schedule.run(&mut world));
        assert_eq!(report.expect("it runs").ran, 3);
    }
}

#[test]
fn who_panics_when_it_starts_is_started_again() {
    let mut starts = 0;
    let mut schedule = Schedule::new();
    schedule.add(
        processor("shaky", |said: &mut Said| said.0.push("run".into())).on_start(
            move |world: &mut World| {
                starts += 1;
                assert!(starts > 1, "the first time");
                let said = world.resources_mut().get_mut::<Said>();
                said.expect("it is there").0.push("start".into());
            },
        ),
    );
    let mut world = world();
    let panic = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world)));
    let panic = panic.expect_err("it goes on");
    let text = panic.downcast_ref::<String>().expect("it is text");
    assert!(
        text.contains("`shaky`") && text.contains("the first time"),
        "{text}"
    );
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), ["start", "run"]);
}

#[test]
fn who_panics_when_it_stops_is_stopped_as_the_others_are() {
    let mut world = world();
    let mut schedule = Schedule::new();
    for number in 0..3 {
        let says = move |said: &mut Said, what| said.0.push(format!("{what} {number}"));
        let here = move |world: &mut World, what| {
            let said = world.resources_mut().get_mut::<Said>();
            says(said.expect("it is there"), what);
        };
        let run = processor(format!("{number}"), move |said: &mut Said| {
            says(said, "run")
        });
        let run = run.on_start(move |world| here(world, "start"));
        schedule.add(run.on_stop(move |world| {
            here(world, "stop");
            assert!(number != 1, "it has stopped");
        }));
    }
    let all = |what| (0..3).map(move |number| format!("{what} {number}"));
    let once: Vec<String> = all("start").chain(all("run")).collect();
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), once);
    let stopped = catch_unwind(AssertUnwindSafe(|| schedule.stop(&mut world)));
    let stopped = stopped.expect_err("it goes on");
    let text = stopped.downcast_ref::<String>().expect("it is text");
    assert!(text.contains("`1` panicked"), "{text}");
    assert!(said(&mut world).into_iter().eq(all("stop")));
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), once);

    let removed = catch_unwind(AssertUnwindSafe(|| schedule.remove(&mut world, "1")));
    assert!(removed.is_err());
    assert_eq!(
        (said(&mut world), schedule.len()),
        (vec!["stop 1".into()], 2)
    );
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), ["run 0", "run 2"]);
}

#[test]
fn what_a_simulation_consists_of_can_be_had_though_a_processor_panics_when_it_stops() {
    let mut world = world();
    world.create((A(1),)).expect("there is room");
    let mut schedule = Schedule::new();
    let brittle = processor("brittle", || {}).on_stop(|_| panic!("too late"));
    schedule.add(brittle);
    let mut simulation = Simulation::new(world, schedule);
    simulation.advance(Duration::ZERO).expect("it runs");
    let stopped = catch_unwind(AssertUnwindSafe(|| {
        let (world, schedule) = simulation.parts_mut();
        schedule.stop(world)
    }));
    assert!(stopped.is_err());
    let (world, schedule) = simulation.into_parts();
    assert_eq!((world.count(), schedule.len()), (1, 1));
}

#[test]
fn an_observer_whose_hook_panics_when_it_starts_is_let_go_all_the_same() {
    for out in [false, true] {
        let mut world = world();
        let mut schedule = Schedule::new();
        let observing = observing_processor::<A, ()>("watch", Observed::COME, |batch, _| {
            let said = batch.resources_mut().get_mut::<Said>();
            said.expect("it is there").0.push("seen".into());
        });
        schedule.add(observing.on_start(|_| panic!("it is not well")));
        assert!(catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world))).is_err());
        if out {
            schedule.remove(&mut world, "watch").expect("it is there");
        } else {
            schedule.set_enabled("watch", false).expect("it is there");
        }
        schedule.run(&mut world).expect("it runs");
        world.create((A(1),)).expect("there is room");
        assert!(said(&mut world).is_empty());
    }
}

#[test]
fn a_world_has_ended_though_a_recorder_outlives_it() {
    let mut one = world();
    let mut schedule = Schedule::new();
    schedule.add(processor("say", |said: &mut Said| {
        said.0.push("run".into())
    }));
    schedule.run(&mut one).expect("it runs");
    let recorders = one.parallel_commands();
    drop(one);
    let mut two = world();
    schedule.run(&mut two).expect("it is of no world any more");
    assert_eq!(said(&mut two), ["run"]);
    drop(recorders);
}

#[test]
fn a_struct_asks_for_what_its_parameters_say_whatever_builder_it_gives_back() {
    struct Says;
    impl Processor for Says {
        type Params = (&'static mut Said,);
        type Output = ();

        fn place(&self, _: ProcessorBuilder) -> ProcessorBuilder {
            exclusive_processor("alone", |_| {})
        }

        fn execute(&mut self, (said,): (&mut Said,)) {
            said.0.push("run".into());
        }
    }
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule.add(ProcessorBuilder::of("say", Says));
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), ["run"]);
}

#[test]
fn a_builder_that_a_struct_has_kept_is_a_processor_that_does_nothing() {
    static KEPT: Mutex<Option<ProcessorBuilder>> = Mutex::new(None);
    struct Keeps;
    impl Processor for Keeps {
        type Params = ();
        type Output = ();

        fn place(&self, given: ProcessorBuilder) -> ProcessorBuilder {
            *KEPT.lock().unwrap() = Some(given);
            processor("another", || {})
        }

        fn execute(&mut self, (): ()) {}
    }
    for execution in [Execution::Alone, Execution::Beside] {
        let mut world = world();
        let mut schedule = Schedule::new();
        schedule.set_execution(execution);
        schedule.add(ProcessorBuilder::of("keeps", Keeps));
        let kept = KEPT.lock().unwrap().take().unwrap();
        assert_eq!(kept.name(), "keeps");
        schedule.add(kept);
        let report = schedule.run(&mut world).unwrap();
        assert_eq!((report.ran, report.idle), (2, 0));
    }
}

#[test]
fn what_changed_is_not_lost_on_who_could_not_run() {
    let mut world = World::new();
    world.create((A(1),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "hungry",
        |mut changed: QueryRun<&A, Changed<A>>, said: &mut Said| {
            said.0.push(format!("{}", changed.count()));
        },
    ));
    schedule
        .run(&mut world)
        .expect_err("there is nothing to say it to");
    world.resources_mut().insert(Said::default());
    schedule.run(&mut world).expect("it runs");
    assert_eq!(said(&mut world), ["1"]);
}

#[test]
fn an_observer_whose_schedule_goes_to_another_world_observes_there() {
    let (mut one, mut two) = (world(), world());
    let mut schedule = Schedule::new();
    schedule.add(observing_processor::<A, ()>(
        "watch",
        Observed::COME,
        |batch, _| {
            let said = batch.resources_mut().get_mut::<Said>();
            said.expect("it is there").0.push("come".into());
        },
    ));
    schedule.run(&mut one).expect("it runs");
    assert!(
        schedule.stop(&mut two).is_err(),
        "it was started in another world"
    );
    schedule.stop(&mut one).expect("it is its own");
    schedule.detach();
    schedule.run(&mut two).expect("it runs");
    two.create((A(1),)).expect("there is room");
    assert_eq!(said(&mut two), ["come"]);
    drop(two);
    let mut three = world();
    schedule.run(&mut three).expect("it runs");
    three.create((A(1),)).expect("there is room");
    assert_eq!(
        said(&mut three),
        ["come"],
        "although it was not stopped in the world that went"
    );
}

fn watching() -> Schedule {
    let mut schedule = Schedule::new();
    let watch = observing_processor::<A, ()>("watch", Observed::COME, |batch, _| {
        let said = batch.resources_mut().get_mut::<Said>();
        said.expect("it is there").0.push("come".into());
    });
    schedule.add(watch);
    schedule
}

#[test]
fn an_observer_whose_schedule_was_detached_observes_on_until_it_is_stopped() {
    for by_switch in [false, true] {
        let mut world = world();
        let mut schedule = watching();
        schedule.run(&mut world).expect("it runs");
        schedule.detach();
        schedule.run(&mut world).expect("it runs");
        world.create((A(1),)).expect("there is room");
        assert_eq!(said(&mut world), ["come"], "once");
        if by_switch {
            schedule.set_enabled("watch", false).expect("it is there");
            schedule.run(&mut world).expect("it runs");
        } else {
            schedule.stop(&mut world).expect("it is its own");
        }
        world.create((A(1),)).expect("there is room");
        assert!(said(&mut world).is_empty(), "it is stopped");
    }
}

#[test]
fn an_observer_waits_until_the_world_that_has_it_lets_it_go() {
    for ends in [false, true] {
        let (mut one, mut two) = (world(), world());
        let mut schedule = watching();
        schedule.run(&mut one).expect("it runs");
        schedule.detach();
        for _ in 0..2 {
            schedule.run(&mut two).expect("it runs");
            two.create((A(1),)).expect("there is room");
            assert!(said(&mut two).is_empty(), "it is elsewhere");
        }
        if ends {
            drop(one);
        } else {
            schedule.detach();
            schedule.run(&mut one).expect("it runs");
            one.create((A(1),)).expect("there is room");
            assert_eq!(said(&mut one), ["come"], "it is back");
            schedule.stop(&mut one).expect("it is its own");
            schedule.detach();
        }
        schedule.run(&mut two).expect("it runs");
        two.create((A(1),)).expect("there is room");
        assert_eq!(said(&mut two), ["come"]);
    }
}

#[test]
fn a_processor_is_taken_out_of_and_stopped_in_its_own_world_only() {
    let (mut one, mut two) = (world(), world());
    let mut schedule = Schedule::new();
    schedule.add(processor("careful", || {}).on_stop(|world: &mut World| {
        let said = world.resources_mut().get_mut::<Said>();
        said.expect("it is there").0.push("stop".into());
    }));
    schedule.run(&mut one).expect("it runs");
    let error = schedule
        .remove(&mut two, "careful")
        .expect_err("it is another world");
    assert!(matches!(error, ScheduleError::OtherWorld), "{error}");
    assert!(said(&mut two).is_empty());
    schedule.remove(&mut one, "careful").expect("it is there");
    assert_eq!(said(&mut one), ["stop"]);
}

#[test]
fn a_schedule_runs_inside_a_processor_of_another() {
    for threads in [1, 2, 4] {
        let count = Arc::new(AtomicU32::new(0));
        let mut outer = Schedule::new();
        outer.set_execution(Execution::Beside);
        for number in 0..12 {
            let mut world = world();
            let mut inner = Schedule::new();
            inner.set_execution(Execution::Beside);
            for name in ["one", "two", "three"] {
                let count = Arc::clone(&count);
                let once = processor(name, move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                });
                let once = if name == "two" {
                    once.after("one")
                } else {
                    once
                };
                let bound = name == "two" || number % 3 == 0;
                inner.add(if bound { once.main_thread() } else { once });
            }
            let run = move || inner.run(&mut world).expect("it runs").ran;
            let run = Mutex::new(run);
            let outside = processor(format!("p{number}"), move || {
                let mut run = run.lock().expect("nobody panicked");
                assert_eq!((*run)(), 3);
            });
            outer.add(if number % 4 == 0 {
                outside.main_thread()
            } else {
                outside
            });
        }
        let mut world = World::new();
        pool(threads).install(|| {
            for _ in 0..20 {
                outer.run(&mut world).expect("it runs");
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 20 * 12 * 3);
    }
}

#[test]
fn worlds_in_one_ordered_universe_get_the_same_ids_for_any_number_of_threads() {
    let run = |threads: usize| {
        let universe = Arc::new(megachunk::world::Universe::ordered());
        let mut app = App::new();
        for name in ["one", "two", "three"] {
            let world = World::of(&universe).expect("there is room");
            let simulation = app.add(name, Simulation::new(world, Schedule::new()));
            simulation
                .schedule_mut()
                .add(processor("create", |mut commands: Commands| {
                    for n in 0..200 {
                        commands.create((A(n),)).expect("there is room");
                    }
                }));
        }
        pool(threads).install(|| {
            for _ in 0..20 {
                app.update(Duration::from_millis(1)).expect("all run");
            }
        });
        ["one", "two", "three"].map(|name| {
            let world = app.get_mut(name).expect("it is there").world_mut();
            let mut all = world.query::<Entity, ()>().expect("it is right");
            all.iter().collect::<Vec<_>>()
        })
    };
    let expected = run(1);
    for threads in [2, 3, 4] {
        assert!(run(threads) == expected, "{threads} threads");
    }
}
