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
use megachunk::processor::translator::{HostOf, Hosts, from_host, to_host};

struct A(u32);
struct B;
#[derive(Default)]
struct Said(Vec<String>);

fn world() -> World {
    let mut world = World::new();
    world.resources_mut().insert(Said::default());
    world
}

fn said(world: &mut World) -> Vec<String> {
    let said = world.resources_mut().get_mut::<Said>();
    core::mem::take(&mut said.expect("it is there").0)
}

fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads can be had")
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

struct Sprite(u32);

#[test]
fn who_stands_for_an_object_of_hosts_that_went_stands_for_nothing() {
    let mut world = World::new();
    Hosts::<Sprite>::install(&mut world).expect("there is room");
    let old = world.create((A(1),)).expect("there is room");
    let _ = Hosts::attach(&mut world, old, Sprite(0)).expect("it lives");
    assert_eq!(Hosts::<Sprite>::uninstall(&mut world).len(), 1);

    Hosts::<Sprite>::install(&mut world).expect("there is room");
    let new = world.create((A(2),)).expect("there is room");
    let slot = Hosts::attach(&mut world, new, Sprite(0)).expect("it lives");
    let mut schedule = Schedule::new();
    schedule.add(to_host::<Sprite, &A, ()>("show", |sprite, a| {
        sprite.0 = sprite.0 * 10 + a.0
    }));
    schedule.run(&mut world).expect("it runs");
    let hosts = |world: &mut World| {
        let hosts = world
            .resources_mut()
            .get_mut::<Hosts<Sprite>>()
            .expect("it is there");
        (
            hosts.get(slot).map(|sprite| sprite.0),
            hosts.take_orphans().len(),
        )
    };
    assert_eq!(hosts(&mut world), (Some(2), 0));
    let clone = world.clone_entity(new);
    schedule.run(&mut world).expect("it runs");
    world.destroy(old).expect("it lives");
    if let Ok(clone) = clone {
        world.destroy(clone).expect("it lives");
    }
    assert_eq!(
        hosts(&mut world),
        (Some(22), 0),
        "only its own entity's end is its end"
    );
    world.destroy(new).expect("it lives");
    assert_eq!(hosts(&mut world), (None, 1));
}

#[test]
fn the_first_change_of_hosts_is_copied_whatever_others_were_there_before() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(from_host::<Sprite, &mut A, ()>("drag", |sprite, a| {
        a.0 = sprite.0
    }));
    for changes in [3, 1] {
        Hosts::<Sprite>::install(&mut world).expect("there is room");
        let ant = world.create((A(0),)).expect("there is room");
        let slot = Hosts::attach(&mut world, ant, Sprite(0)).expect("it lives");
        for change in 1..=changes {
            let hosts = world.resources_mut().get_mut::<Hosts<Sprite>>();
            let sprite = hosts.and_then(|hosts| hosts.get_mut(slot));
            sprite.expect("it is there").0 = change;
            schedule.run(&mut world).expect("it runs");
            assert_eq!(world.get::<A>(ant).expect("it lives").0, change);
        }
        assert_eq!(Hosts::<Sprite>::uninstall(&mut world).len(), 1);
    }
}

#[test]
fn an_object_that_takes_anothers_place_is_copied_to_if_the_filter_asks_for_that() {
    type Filter = Or<(Changed<A>, Changed<HostOf<u32>>)>;
    let mut world = world();
    Hosts::<u32>::install(&mut world).expect("there is room");
    let ant = world.create((A(1),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(to_host::<u32, &A, Filter>("show", |object, a| {
        *object = a.0;
    }));
    for _ in 0..2 {
        let slot = Hosts::attach(&mut world, ant, 0_u32).expect("it lives");
        schedule.run(&mut world).expect("it runs");
        let hosts = world.resources().get::<Hosts<u32>>();
        assert_eq!(hosts.and_then(|hosts| hosts.get(slot).copied()), Some(1));
    }
}

#[test]
fn what_changes_while_hosts_are_out_is_copied_when_they_are_back() {
    let mut world = world();
    Hosts::<u32>::install(&mut world).expect("there is room");
    let ant = world.create((A(1),)).expect("there is room");
    let slot = Hosts::attach(&mut world, ant, 0_u32).expect("it lives");
    let mut schedule = Schedule::new();
    schedule.add(to_host::<u32, &A, Changed<A>>("show", |object, a| {
        *object = a.0
    }));
    schedule.run(&mut world).expect("it runs");
    world.get_mut::<A>(ant).expect("it lives").0 = 2;
    let hosts = world.resources_mut().remove::<Hosts<u32>>();
    let report = schedule.run(&mut world).expect("it runs");
    assert_eq!((report.ran, report.idle), (0, 1));
    world
        .resources_mut()
        .insert(hosts.expect("they were installed"));
    schedule.run(&mut world).expect("it runs");
    let hosts = world.resources().get::<Hosts<u32>>();
    assert_eq!(hosts.and_then(|hosts| hosts.get(slot).copied()), Some(2));
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
fn what_was_recorded_before_a_run_comes_before_what_processors_record() {
    let mut world = World::new();
    let ant = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor("later", move |mut commands: Commands| {
        commands.set(ant, A(2)).expect("it may");
    }));
    schedule.solve(&mut world).expect("it is right");
    world.commands().set(ant, A(1)).expect("it may");
    schedule.run(&mut world).expect("it runs");
    assert_eq!(
        world.get::<A>(ant).expect("it lives").0,
        2,
        "the last write wins"
    );
}

#[test]
fn what_a_flush_has_left_comes_before_what_processors_record_later() {
    let mut world = World::new();
    world.set_flush_rounds(1);
    let ant = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor("first", move |mut commands: Commands| {
        commands.defer(move |world| {
            let set = world.commands().set(ant, A(1));
            set.expect("it may");
        });
    }));
    let second = processor("second", move |mut commands: Commands| {
        commands.set(ant, A(2)).expect("it may");
    });
    schedule.add(second.phase(Phase::StartPhysics));
    assert!(schedule.run(&mut world).expect("it runs").flush.unfinished);
    let _ = world.flush();
    assert_eq!(world.get::<A>(ant).expect("it lives").0, 2);
}

/// Who sends 1 before a processor of the schedule sends 2.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    Exclusive,
    Inner,
    Closure,
    Observer,
}

#[test]
fn signals_come_in_the_order_of_the_schedule_whoever_sends_them() {
    for first in [
        First::Exclusive,
        First::Inner,
        First::Closure,
        First::Observer,
    ] {
        let mut world = World::new();
        let ping = world.signal::<u32>("ping").expect("it is new");
        let ant = world.create((A(0),)).expect("there is room");
        let mut schedule = Schedule::new();
        let mut inner = Schedule::new();
        for number in 0..10 {
            inner.add(processor(format!("pad {number}"), || {}));
        }
        let sends = move |mut signals: Signals| signals.send(ping, ant, 1);
        inner.add(processor("inner", sends).after("pad 9"));
        schedule.add(match first {
            First::Exclusive => exclusive_processor("first", move |world: &mut World| {
                world.signals().send(ping, ant, 1);
            }),
            First::Inner => exclusive_processor("first", move |world: &mut World| {
                inner.run(world).expect("it runs");
            }),
            First::Closure => processor("first", move |mut commands: Commands| {
                commands.defer(move |world| world.signals().send(ping, ant, 1));
            }),
            First::Observer => processor("first", |mut commands: Commands| {
                commands.create((B,)).expect("there is room");
            }),
        });
        let out = world.parallel_signals();
        schedule.add(observing_processor::<B, ()>(
            "watch",
            Observed::COME,
            move |_, _| out.open().send(ping, ant, 1),
        ));
        let second = processor("second", move |mut signals: Signals| {
            signals.send(ping, ant, 2);
        });
        schedule.add(match first {
            First::Exclusive | First::Inner => second.after("first"),
            First::Closure | First::Observer => second.phase(Phase::StartPhysics),
        });
        let heard = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&heard);
        let hear = processor("hear", move |mut pings: Signalled<Entity>| {
            let _ = pings.deliver(|_, received| {
                let mut heard = note.lock().expect("nobody panicked");
                heard.extend(received.of(ping).copied());
            });
        });
        schedule.add(hear.hears::<u32>("ping").phase(Phase::FrameEnd));
        for _ in 0..2 {
            schedule.run(&mut world).expect("it runs");
            let heard = core::mem::take(&mut *heard.lock().expect("nobody panicked"));
            assert_eq!(heard, [1, 2], "{first:?}");
        }
    }
}

#[test]
fn signals_of_one_frame_come_before_those_of_the_next() {
    let mut world = world();
    let ping = world.signal::<u32>("ping").expect("it is new");
    let ant = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    let mut frame = 0;
    schedule.add(processor("early", move |mut signals: Signals| {
        frame += 1;
        signals.send(ping, ant, frame * 10);
    }));
    let mut frame = 0;
    schedule.add(
        processor("late", move |mut signals: Signals| {
            frame += 1;
            signals.send(ping, ant, frame * 10 + 1);
        })
        .phase(Phase::FrameEnd),
    );
    schedule.add(
        processor("hear", move |mut heard: Signalled<&A>, said: &mut Said| {
            let _ = heard.deliver(|_, received| {
                let numbers: Vec<String> = received.of(ping).map(u32::to_string).collect();
                said.0.push(numbers.join(" "));
            });
        })
        .hears::<u32>("ping")
        .phase(Phase::DuringPhysics),
    );
    for _ in 0..3 {
        schedule.run(&mut world).expect("it runs");
    }
    assert_eq!(said(&mut world), ["10", "11 20", "21 30"]);
}

#[test]
fn signals_come_in_the_order_of_runs_though_no_processor_hears_them() {
    let mut world = world();
    let ping = world.signal::<u32>("ping").expect("it is new");
    let ant = world.create((A(0),)).expect("there is room");
    let mut reader = SignalReader::<Entity>::new(&world).expect("it is well formed");
    reader.subscribe(&mut world, ping).expect("it is new");
    let sends = |name: &str, base: u32| {
        let mut frame = 0;
        processor(name, move |mut signals: Signals| {
            frame += 1;
            signals.send(ping, ant, base + frame);
        })
    };
    let mut schedule = Schedule::new();
    schedule.add(sends("first", 10));
    schedule.add(sends("second", 20).after("first"));
    world.signals().send(ping, ant, 1);
    for _ in 0..2 {
        schedule.run(&mut world).expect("it runs");
    }
    world.signals().send(ping, ant, 2);
    let mut got: Vec<u32> = Vec::new();
    let _ = reader.deliver(&mut world, |_, received| got.extend(received.of(ping)));
    assert_eq!(got, [1, 11, 21, 12, 22, 2]);
}

#[test]
fn signals_that_nobody_has_asked_for_end_with_the_next_run() {
    let mut world = world();
    let payload = Arc::new(());
    let ping = world.signal::<Arc<()>>("ping").expect("it is new");
    let ant = world.create((A(0),)).expect("there is room");
    let mut schedule = Schedule::new();
    let sent = Arc::clone(&payload);
    schedule.add(processor("ping", move |mut signals: Signals| {
        signals.send(ping, ant, Arc::clone(&sent));
    }));
    for _ in 0..100 {
        schedule.run(&mut world).expect("it runs");
    }
    assert_eq!(
        Arc::strong_count(&payload),
        3,
        "the processor's, and one signal's"
    );
}

#[test]
fn signals_of_a_sender_that_stays_open_over_runs_arrive_all_the_same() {
    let mut world = world();
    let ping = world.signal::<u32>("ping").expect("it is new");
    let ant = world.create((A(0),)).expect("there is room");
    let mut reader = SignalReader::<Entity>::new(&world).expect("it is well formed");
    reader.subscribe(&mut world, ping).expect("it is new");
    let senders = world.parallel_signals();
    let mut schedule = Schedule::new();
    schedule.add(processor("nothing", || {}));
    let mut sender = senders.open();
    sender.send(ping, ant, 1);
    for _ in 0..2 {
        schedule.run(&mut world).expect("it runs");
    }
    drop(sender);
    schedule.run(&mut world).expect("it runs");
    let mut got: Vec<u32> = Vec::new();
    let _ = reader.deliver(&mut world, |_, received| got.extend(received.of(ping)));
    assert_eq!(got, [1]);
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
