//! Processors: what they are lent, what they leave, and what they are refused.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::said::{Said, run, said, say, world};
use megachunk::observer::Observed;
use megachunk::prelude::*;
use megachunk::processor::param::Param;
use megachunk::processor::{NetModes, Target};

struct A(u32);
struct B(u32);
struct Hidden;

#[test]
fn parameters_lend_queries_resources_recorders_senders_and_what_is_kept() {
    let mut world = world();
    let ants = world
        .create_batch((0..100).map(|n| (A(n), B(0))))
        .expect("there is room");
    let ants: Vec<Entity> = ants.iter(&world).collect();
    let first = ants[0];
    world.resources_mut().insert(7_u32);
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "all",
        move |mut rows: QueryRun<(&A, &mut B)>,
              factor: &u32,
              nothing: Option<&u64>,
              said: Option<&mut Said>,
              mut runs: Local<u32>,
              mut commands: Commands| {
            *runs += 1;
            assert!(nothing.is_none());
            rows.for_each(|(a, b)| b.0 += a.0 * factor);
            said.expect("it is there").0.push(format!("run {}", *runs));
            commands.create((Hidden,)).expect("there is room");
        },
    ));
    schedule.add(
        processor(
            "look",
            move |seen: QueryLookup<&B>, commands: ParallelCommands| {
                assert!(seen.get(first).is_ok());
                commands.open_at(3).destroy(first);
            },
        )
        .after("all")
        .phase(Phase::PrePhysics),
    );
    let report = run(&mut schedule, &mut world);
    assert_eq!((report.flush.created, report.flush.destroyed), (1, 1));
    assert_eq!(world.get::<B>(ants[50]).expect("it lives").0, 350);
    assert_eq!(said(&mut world), ["run 1"]);
    assert_eq!(
        world
            .query::<Entity, With<Hidden>>()
            .expect("it is right")
            .count(),
        1
    );
}

#[test]
fn a_struct_is_a_processor_that_says_itself_where_it_runs() {
    struct Count {
        step: u32,
    }
    impl Processor for Count {
        type Params = (QueryRun<'static, &'static mut A>, &'static mut Said);
        type Output = ();
        fn place(&self, processor: ProcessorBuilder) -> ProcessorBuilder {
            processor.phase(Phase::EndPhysics)
        }
        fn start(&mut self, world: &mut World) {
            world.create((A(10),)).expect("there is room");
        }
        fn execute(&mut self, (mut rows, said): <Self::Params as Param>::Item<'_>) {
            rows.for_each(|a| a.0 += self.step);
            self.step += 1;
            said.0.push("count".into());
        }
        fn stop(&mut self, world: &mut World) {
            world.clear();
        }
    }
    let mut schedule = Schedule::new();
    schedule.add(ProcessorBuilder::of("count", Count { step: 1 }));
    schedule.add(say("later").phase(Phase::PostPhysics));
    let mut world = world();
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["count", "later", "count", "later"]);
    assert_eq!(
        world
            .query::<&A, ()>()
            .expect("it is right")
            .iter()
            .map(|a| a.0)
            .sum::<u32>(),
        13
    );
    schedule.stop(&mut world).expect("it is its own");
    assert!(world.is_empty());
}

#[test]
fn commands_are_flushed_after_the_phase_or_where_an_order_asks_for_it() {
    let look = |name: &str| {
        let word = name.to_owned();
        processor(name, move |mut seen: QueryRun<&A>, said: &mut Said| {
            said.0.push(format!("{word} {}", seen.count()));
        })
    };
    let mut schedule = Schedule::new();
    schedule.add(processor("spawn", |mut commands: Commands| {
        commands.create((A(1),)).expect("there is room");
    }));
    schedule.add(look("same phase").after("spawn"));
    schedule.add(look("flushed").after(Target::from("spawn").flushed()));
    schedule.add(look("next phase").phase(Phase::StartPhysics));
    schedule.add(
        exclusive_processor("alone", |world: &mut World| {
            let count = world.query::<&A, ()>().expect("it is right").count();
            let said = world
                .resources_mut()
                .get_mut::<Said>()
                .expect("it is there");
            said.0.push(format!("alone {count}"));
        })
        .after("flushed"),
    );
    let mut world = world();
    run(&mut schedule, &mut world);
    assert_eq!(
        said(&mut world),
        ["same phase 0", "flushed 1", "alone 1", "next phase 1"]
    );
}

#[test]
fn signals_reach_a_processor_once_a_run_and_those_sent_by_it_the_next() {
    let mut world = world();
    let ping = world.signal::<u32>("ping").expect("it is new");
    let ants: Vec<Entity> = (0..3)
        .map(|n| world.create((A(n),)).expect("there is room"))
        .collect();
    let mut schedule = Schedule::new();
    schedule.add(
        processor(
            "echo",
            move |mut heard: Signalled<(Entity, &A)>, mut signals: Signals, said: &mut Said| {
                let delivery = heard.deliver(|(entity, a), received| {
                    let sum: u32 = received.of(ping).sum();
                    said.0
                        .push(format!("{} got {} times {sum}", a.0, received.len()));
                    if sum < 100 {
                        signals.send(ping, entity, 100);
                    }
                });
                assert_eq!(delivery.dead, 0);
            },
        )
        .hears::<u32>("ping"),
    );
    run(&mut schedule, &mut world);
    assert!(said(&mut world).is_empty());
    for n in 1..=4 {
        world.signals().send(ping, ants[1], n);
    }
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["1 got 4 times 10"]);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["1 got 1 times 100"]);
    run(&mut schedule, &mut world);
    assert!(said(&mut world).is_empty());
}

#[test]
fn to_hear_a_signal_twice_or_none_is_an_error() {
    let mut world = world();
    let deaf = || processor("deaf", |_: Signalled<&A>| {});
    let error = |processor| {
        let mut schedule = Schedule::new();
        schedule.add(processor);
        schedule
            .run(&mut World::new())
            .expect_err("it is refused")
            .to_string()
    };
    assert!(error(deaf()).contains("subscribes to none"));
    let twice = error(deaf().hears::<u32>("ping").hears::<u32>("ping"));
    assert!(twice.contains("deaf") && twice.contains("ping"), "{twice}");
    world.signal::<u32>("ping").expect("it is new");
    let mut schedule = Schedule::new();
    schedule.add(deaf().hears::<u64>("ping"));
    let other = schedule
        .run(&mut world)
        .expect_err("it carries another type")
        .to_string();
    assert!(other.contains("deaf") && other.contains("u64"), "{other}");
}

#[test]
fn to_subscribe_to_a_signal_and_take_none_is_an_error() {
    let mut world = world();
    world.signal::<u32>("ping").expect("it is new");
    for useless in [
        say("useless"),
        exclusive_processor("useless", |_| {}),
        observing_processor::<A, ()>("useless", Observed::COME, |_, _| {}),
    ] {
        let mut schedule = Schedule::new();
        schedule.add(useless.hears::<u32>("ping"));
        let error = schedule.run(&mut world).expect_err("it hears in vain");
        assert!(
            error
                .to_string()
                .contains("`useless` subscribes to signals, but takes none")
        );
    }
}

#[test]
fn an_observer_ends_with_its_schedule_and_what_it_panics_with_names_it() {
    let mut world = world();
    let heard = Arc::new(AtomicUsize::new(0));
    for round in 0..3 {
        // As if the program had been changed, and all processors were added anew.
        let mut schedule = Schedule::new();
        let count = Arc::clone(&heard);
        schedule.add(observing_processor::<A, ()>(
            "count",
            Observed::COME,
            move |batch, _| {
                count.fetch_add(batch.entities().count(), Ordering::Relaxed);
            },
        ));
        run(&mut schedule, &mut world);
        world.create((A(round),)).expect("there is room");
        assert_eq!(heard.load(Ordering::Relaxed), round as usize + 1);
    }
    world.create((A(7),)).expect("there is room");
    assert_eq!(heard.load(Ordering::Relaxed), 3, "nobody is there");

    let mut schedule = Schedule::new();
    schedule.add(observing_processor::<A, ()>(
        "brittle",
        Observed::COME,
        |_, _| panic!("no"),
    ));
    run(&mut schedule, &mut world);
    let created = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.create((A(8),))));
    let told = created.expect_err("it panics").downcast::<String>();
    assert_eq!(
        *told.expect("it is text"),
        "processor `brittle` panicked: no"
    );
    world.check().expect("it is whole");
}

#[test]
fn schedules_that_are_replaced_leave_one_observer_in_the_world() {
    let mut world = world();
    let heard = Arc::new(AtomicUsize::new(0));
    let build = || {
        let count = Arc::clone(&heard);
        let mut schedule = Schedule::new();
        schedule.add(observing_processor::<A, ()>(
            "count",
            Observed::COME,
            move |batch, _| {
                count.fetch_add(batch.len(), Ordering::Relaxed);
            },
        ));
        schedule
    };
    let mut schedule = build();
    for _ in 0..100 {
        run(&mut schedule, &mut world);
        schedule = build();
    }
    run(&mut schedule, &mut world);
    // That of this test, and that of one closure.
    assert_eq!(Arc::strong_count(&heard), 2);
    world.create((A(0),)).expect("there is room");
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    drop(schedule);
    assert_eq!(Arc::strong_count(&heard), 2, "nobody has looked");
    world.create((A(1),)).expect("there is room");
    assert_eq!(Arc::strong_count(&heard), 1);
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    world.check().expect("it is whole");
}

#[test]
fn an_observer_whose_schedule_another_observer_ends_is_not_called_and_forgotten() {
    let mut world = world();
    let held = Arc::new(Mutex::new(None::<Schedule>));
    let ended = Arc::clone(&held);
    let end = world.observe::<A, ()>(Observed::COME, move |_, _| {
        drop(ended.lock().expect("it is whole").take());
    });
    end.expect("it is right");
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    let mut schedule = Schedule::new();
    schedule.add(observing_processor::<A, ()>(
        "count",
        Observed::COME,
        move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        },
    ));
    run(&mut schedule, &mut world);
    *held.lock().expect("it is whole") = Some(schedule);
    let last = Arc::clone(&called);
    let after = world.observe::<A, ()>(Observed::COME, move |batch, _| {
        last.fetch_add(100 * batch.len(), Ordering::Relaxed);
    });
    after.expect("it is right");
    let all = world.create_batch((0..5).map(|n| (A(n),)));
    assert_eq!(all.expect("there is room").len(), 5);
    assert_eq!(called.load(Ordering::Relaxed), 500);
    assert_eq!(Arc::strong_count(&called), 2);
    world.check().expect("it is whole");
}

#[test]
fn an_observer_is_a_processor_that_is_switched_on_and_off() {
    let mut schedule = Schedule::new();
    schedule.add(observing_processor::<A, Without<Hidden>>(
        "watch",
        Observed::COME,
        |batch, _| {
            let count = batch.len();
            let said = batch
                .resources_mut()
                .get_mut::<Said>()
                .expect("it is there");
            said.0.push(format!("{count} come"));
        },
    ));
    let mut world = world();
    let more = |world: &mut World, hidden: bool| {
        if hidden {
            let _ = world
                .create_batch((0..5).map(|n| (A(n), Hidden)))
                .expect("there is room");
        } else {
            let _ = world
                .create_batch((0..5).map(|n| (A(n),)))
                .expect("there is room");
        }
    };
    more(&mut world, false);
    run(&mut schedule, &mut world);
    more(&mut world, false);
    more(&mut world, true);
    schedule.set_enabled("watch", false).expect("it is there");
    run(&mut schedule, &mut world);
    more(&mut world, false);
    schedule.set_enabled("watch", true).expect("it is there");
    run(&mut schedule, &mut world);
    more(&mut world, false);
    assert_eq!(said(&mut world), ["5 come", "5 come"]);
}

#[test]
fn who_takes_what_is_no_resource_by_a_reference_hears_what_is_meant() {
    let mut world = World::new();
    world.create((A(1),)).expect("there is room");
    let mut said = |one: ProcessorBuilder| {
        let mut schedule = Schedule::new();
        schedule.add(one);
        let error = schedule.run(&mut world).expect_err("it is not there");
        error.to_string()
    };
    let fragment = said(processor("fragment", |_: &mut A| {}));
    assert!(
        fragment.ends_with("are lent by a `QueryRun<&…>`, and not by `&…`"),
        "{fragment}"
    );
    let parameter = said(processor("parameter", |_: &ParallelCommands| {}));
    assert!(
        parameter.ends_with("take it by value, not by reference"),
        "{parameter}"
    );
    let query = said(processor("query", |_: &Query<&Said>| {}));
    assert!(
        query.ends_with("take a `QueryRun<…>` of the same, by value, and not a `&Query<…>`"),
        "{query}"
    );
    let resource = said(processor("resource", |_: &Said| {}));
    assert!(
        resource.contains("which the world does not have; `resources_mut().insert`"),
        "{resource}"
    );
}

#[test]
fn a_resource_that_is_not_there_is_an_error_that_names_both() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor("hungry", |_: &Said| {}));
    let error = schedule.run(&mut world).expect_err("it is not there");
    assert!(matches!(error, ScheduleError::NoResource { .. }));
    let text = error.to_string();
    assert!(text.contains("`hungry`") && text.contains("Said"), "{text}");
    world.resources_mut().insert(Said::default());
    assert_eq!(run(&mut schedule, &mut world).ran, 1);
}

#[test]
fn who_takes_for_a_resource_what_is_none_is_told_what_to_do() {
    let told = |processor: ProcessorBuilder| {
        let mut schedule = Schedule::new();
        schedule.add(processor);
        let error = schedule.run(&mut World::new());
        error.expect_err("it is not there").to_string()
    };
    let world = [
        told(processor("reads", |_: &World| {})),
        told(processor("writes", |_: &mut World| {})),
    ];
    for text in world {
        assert!(text.contains("`exclusive_processor`"), "{text}");
    }
    let text = told(processor("records", |_: &mut ParallelSignals| {}));
    assert!(text.contains("by value"), "{text}");
    let text = told(processor("ticks", |_: &Time| {}));
    assert!(text.contains("`Simulation`"), "{text}");
    let text = told(processor("hungry", |_: &Said| {}));
    assert!(
        text.contains("the world does not have; `resources_mut().insert`"),
        "{text}"
    );
}

#[test]
fn two_parameters_that_lend_the_same_are_refused() {
    let refused = |processor: ProcessorBuilder, of_queries| {
        let mut schedule = Schedule::new();
        schedule.add(processor);
        let error = schedule.run(&mut world()).expect_err("it is refused");
        assert!(matches!(error, ScheduleError::Aliased { .. }), "{error}");
        assert!(error.to_string().contains("`greedy`"), "{error}");
        assert_eq!(error.to_string().contains("exclude"), of_queries, "{error}");
    };
    let two = processor("greedy", |_: QueryRun<&mut A>, _: QueryRun<&A>| {});
    refused(two, true);
    let two = processor("greedy", |_: QueryRun<&A>, _: QueryLookup<&mut A>| {});
    refused(two, true);
    refused(processor("greedy", |_: &Said, _: &mut Said| {}), false);
    let two = processor("greedy", |_: Option<&mut Said>, _: &mut Said| {});
    refused(two, false);
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "apart",
        |mut hidden: QueryRun<&mut A, With<Hidden>>, mut seen: QueryRun<&A, Without<Hidden>>| {
            hidden.for_each(|a| a.0 += seen.iter().map(|a| a.0).sum::<u32>());
        },
    ));
    let mut world = world();
    world.create((A(1),)).expect("there is room");
    let hidden = world.create((A(2), Hidden)).expect("there is room");
    run(&mut schedule, &mut world);
    assert_eq!(world.get::<A>(hidden).expect("it lives").0, 3);
}

#[test]
fn what_is_kept_apart_by_a_tag_that_can_be_switched_off_is_refused() {
    struct Asleep;
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "apart",
        |_: QueryRun<&mut A, With<Asleep>>, _: QueryRun<&mut A, Without<Asleep>>| {},
    ));
    world
        .registry()
        .register_enableable::<Asleep>()
        .expect("there is room");
    run(&mut schedule, &mut world);
    world.create((A(1), Asleep)).expect("there is room");
    let error = schedule.run(&mut world).expect_err("both see the chunk");
    assert!(matches!(error, ScheduleError::Aliased { .. }), "{error}");
    let said = error.to_string();
    let by = said.split_once("they exclude each other by ").expect(&said);
    assert!(by.1.contains("Asleep, which can be switched off"), "{said}");
}

#[test]
fn what_an_archetype_does_not_have_is_not_lent_twice_there() {
    struct Asleep;
    let mut world = World::new();
    let registered = world.registry().register_enableable::<Asleep>();
    registered.expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "apart",
        |_: QueryRun<(Option<&mut A>, &B), With<Asleep>>,
         _: QueryRun<(Option<&mut A>, &B), Without<Asleep>>| {},
    ));
    world.create((B(1), Asleep)).expect("there is room");
    run(&mut schedule, &mut world);
    world.create((A(1), B(1), Asleep)).expect("there is room");
    let error = schedule.run(&mut world).expect_err("both see the chunk");
    assert!(error.to_string().contains("::A"), "{error}");
}

#[test]
fn who_is_switched_off_lends_nothing_that_could_be_refused() {
    struct Asleep;
    let mut world = World::new();
    let registered = world.registry().register_enableable::<Asleep>();
    registered.expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "apart",
        |_: QueryRun<&mut A, With<Asleep>>, _: QueryRun<&mut A, Without<Asleep>>| {},
    ));
    schedule.add(processor("other", || {}));
    run(&mut schedule, &mut world);
    let ran = |schedule: &mut Schedule, world: &mut World, on: bool| {
        let switched = schedule.set_enabled("apart", on);
        switched.expect("it is there");
        schedule.run(world).map(|report| report.ran)
    };
    world.create((A(1), Asleep)).expect("there is room");
    for _ in 0..2 {
        assert!(matches!(ran(&mut schedule, &mut world, false), Ok(1)));
        for _ in 0..2 {
            let refused = ran(&mut schedule, &mut world, true);
            assert!(matches!(refused, Err(ScheduleError::Aliased { .. })));
        }
    }
    schedule.set_net_modes(NetModes::CLIENT);
    let server = processor(
        "server",
        |_: QueryRun<&mut A, With<Asleep>>, _: QueryRun<&mut A, Without<Asleep>>| {},
    );
    schedule.add(server.net_modes(NetModes::SERVER));
    assert!(matches!(ran(&mut schedule, &mut world, false), Ok(1)));
    schedule.set_net_modes(NetModes::SERVER);
    let refused = ran(&mut schedule, &mut world, false);
    assert!(matches!(refused, Err(ScheduleError::Aliased { .. })));
}

#[test]
fn signals_are_not_kept_for_who_is_for_another_net_mode() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    let said_it = world.signal::<Arc<()>>("said").expect("it is new");
    let carried = Arc::new(());
    let mut schedule = Schedule::new();
    schedule.set_net_modes(NetModes::SERVER);
    let effects = |mut heard: Signalled<Entity>, said: &mut Said| {
        let signals = heard.deliver(|_, _| {}).signals;
        said.0.push(signals.to_string());
    };
    let effects = processor("effects", effects).hears::<Arc<()>>("said");
    schedule.add(effects.net_modes(NetModes::CLIENT));
    for _ in 0..3 {
        run(&mut schedule, &mut world);
        world.signals().send(said_it, ant, Arc::clone(&carried));
    }
    run(&mut schedule, &mut world);
    assert_eq!(Arc::strong_count(&carried), 1, "none is kept");

    schedule.set_net_modes(NetModes::CLIENT);
    run(&mut schedule, &mut world);
    world.signals().send(said_it, ant, Arc::clone(&carried));
    run(&mut schedule, &mut world);
    world.signals().send(said_it, ant, Arc::clone(&carried));
    schedule.set_net_modes(NetModes::SERVER);
    run(&mut schedule, &mut world);
    assert_eq!(
        Arc::strong_count(&carried),
        1,
        "what it did not take is let go"
    );
    schedule.set_net_modes(NetModes::CLIENT);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["0", "1", "0"]);
}

#[test]
fn who_is_refused_one_of_its_signals_keeps_none() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    let said_it = world.signal::<u32>("said").expect("it is new");
    let mut schedule = Schedule::new();
    let effects = processor("effects", |mut heard: Signalled<Entity>| {
        let _ = heard.deliver(|_, _| {});
    });
    // Of one name, with two kinds of payload.
    let effects = effects.hears::<u32>("said").hears::<u64>("said");
    schedule.add(effects.net_modes(NetModes::SERVER));
    let refused = schedule.run(&mut world);
    assert!(matches!(refused, Err(ScheduleError::Signal { .. })));
    schedule.set_net_modes(NetModes::CLIENT);
    for _ in 0..3 {
        world.signals().send(said_it, ant, 1);
        run(&mut schedule, &mut world);
    }
    assert_eq!(world.pending().signals, 0);
}

#[test]
fn signals_wait_for_who_is_switched_off_until_he_is_taken_out() {
    let mut world = world();
    let kept = Arc::new(());
    let ping = world.signal::<Arc<()>>("ping").expect("it is new");
    let ant = world.create((A(1),)).expect("there is room");
    let mut schedule = Schedule::new();
    let hears = |name: &str| {
        processor(name, |mut heard: Signalled<&A>, said: &mut Said| {
            let delivery = heard.deliver(|_, _| {});
            said.0.push(delivery.signals.to_string());
        })
        .hears::<Arc<()>>("ping")
    };
    schedule.add(hears("hears"));
    run(&mut schedule, &mut world);
    schedule.set_enabled("hears", false).expect("it is there");
    for _ in 0..3 {
        world.signals().send(ping, ant, Arc::clone(&kept));
        run(&mut schedule, &mut world);
    }
    assert_eq!(Arc::strong_count(&kept), 1 + 3);
    schedule.set_enabled("hears", true).expect("it is there");
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["0", "3"]);
    schedule.set_enabled("hears", false).expect("it is there");
    world.signals().send(ping, ant, Arc::clone(&kept));
    run(&mut schedule, &mut world);
    schedule.remove(&mut world, "hears").expect("it is there");
    world.signals().send(ping, ant, Arc::clone(&kept));
    run(&mut schedule, &mut world);
    assert_eq!(Arc::strong_count(&kept), 1);
}
