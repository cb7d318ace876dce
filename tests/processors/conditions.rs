//! Conditions of processors: who is passed by, and what waits for him.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use crate::said::{Said, run, said, say, world};
use megachunk::prelude::*;
use megachunk::processor::{Execution, NetModes};

/// Whether what depends on it runs.
struct Switch(bool);
struct Count(u32);
struct A(u32);

fn with_switch(on: bool) -> World {
    let mut world = world();
    world.resources_mut().insert(Switch(on));
    world
}

#[test]
fn who_has_conditions_runs_if_all_hold_and_they_are_asked_up_to_the_first_that_does_not() {
    let mut world = with_switch(false);
    let mut schedule = Schedule::new();
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    schedule.add(say("before"));
    schedule.add(
        say("both")
            .after("before")
            .run_if(|switch: &Switch| switch.0)
            .run_if(move || {
                *count.lock().unwrap() += 1;
                *count.lock().unwrap() != 2
            }),
    );
    schedule.add(say("after").after("both"));
    let mut expected = 0;
    for (on, ran, times) in [(false, 2, 0), (true, 3, 1), (true, 2, 2), (true, 3, 3)] {
        world.resources_mut().insert(Switch(on));
        let report = run(&mut schedule, &mut world);
        assert_eq!((report.ran, report.idle), (ran, 3 - ran));
        expected += ran;
        assert_eq!(*asked.lock().unwrap(), times);
    }
    let said = said(&mut world);
    assert_eq!(said.len(), expected);
    assert_eq!(said[2..5], ["before", "both", "after"]);
}

#[test]
fn a_condition_is_asked_in_the_turn_and_sees_what_was_written_before_and_not_what_comes_after() {
    for execution in [Execution::Alone, Execution::Beside] {
        let mut world = with_switch(false);
        let mut schedule = Schedule::new();
        schedule.set_execution(execution);
        schedule.add(processor("on", |switch: &mut Switch| switch.0 = true).before("runs"));
        schedule.add(say("runs").run_if(|switch: &Switch| switch.0));
        schedule.add(processor("off", |switch: &mut Switch| switch.0 = false).after("runs"));
        schedule.add(
            say("does not")
                .after("off")
                .run_if(|switch: &Switch| switch.0),
        );
        for _ in 0..100 {
            assert_eq!(run(&mut schedule, &mut world).idle, 1);
        }
        assert_eq!(said(&mut world), ["runs"; 100]);
        // Who is in no order with what writes it is kept apart from it.
        let mut schedule = Schedule::new();
        schedule.add(processor("write", |switch: &mut Switch| switch.0 = true));
        schedule.add(processor("free", || {}).run_if(|switch: &Switch| switch.0));
        schedule.solve(&mut world).unwrap();
        let overlap = schedule.explain_overlap(&world, "write", "free").unwrap();
        assert!(overlap.to_string().contains("Switch"), "{overlap}");
    }
}

#[test]
fn a_condition_may_read_what_its_processor_writes() {
    let mut world = with_switch(true);
    world.resources_mut().insert(Count(0));
    let mut schedule = Schedule::new();
    schedule.add(
        processor("count", |count: &mut Count, _: &Switch| count.0 += 1).run_if(
            |count: &Count, switch: &Switch, absent: Option<&String>| {
                count.0 < 3 && switch.0 && absent.is_none()
            },
        ),
    );
    let ran: Vec<usize> = (0..5).map(|_| run(&mut schedule, &mut world).ran).collect();
    assert_eq!(ran, [1, 1, 1, 0, 0]);
    assert_eq!(world.resources().get::<Count>().unwrap().0, 3);
}

#[test]
fn what_is_new_waits_for_who_was_passed_by() {
    let mut world = with_switch(false);
    let hit = world.signal::<u32>("hit").unwrap();
    let ant = world.create((A(0),)).unwrap();
    let mut schedule = Schedule::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let (changed, heard) = (Arc::clone(&log), Arc::clone(&log));
    schedule.add(
        processor("changed", move |mut rows: QueryRun<&A, Changed<A>>| {
            changed.lock().unwrap().push(("changed", rows.count()));
        })
        .run_if(|switch: &Switch| switch.0),
    );
    schedule.add(
        processor("heard", move |mut hits: Signalled<&A>| {
            let mut count = 0;
            let _ = hits.deliver(|_, _| count += 1);
            heard.lock().unwrap().push(("heard", count));
        })
        .hears::<u32>("hit")
        .after("changed")
        .run_if(|switch: &Switch| switch.0),
    );
    run(&mut schedule, &mut world);
    world.signals().send(hit, ant, 7);
    run(&mut schedule, &mut world);
    assert!(log.lock().unwrap().is_empty());
    world.resources_mut().insert(Switch(true));
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    let expected = [("changed", 1), ("heard", 1), ("changed", 0), ("heard", 0)];
    assert_eq!(log.lock().unwrap()[..], expected);
}

#[test]
fn structs_and_processors_that_take_the_world_have_conditions_too() {
    struct Placed;
    impl Processor for Placed {
        type Params = (&'static mut Said,);
        type Output = ();

        fn place(&self, processor: ProcessorBuilder) -> ProcessorBuilder {
            processor.run_if(|switch: &Switch| switch.0)
        }

        fn execute(&mut self, (said,): (&mut Said,)) {
            said.0.push("placed".into());
        }
    }
    let whole = exclusive_processor("whole", |world: &mut World| {
        let said = world.resources_mut().get_mut::<Said>();
        said.unwrap().0.push("whole".into());
    });
    let mut schedule = Schedule::new();
    schedule.add(ProcessorBuilder::of("placed", Placed));
    schedule.add(whole.after("placed").run_if(|switch: &Switch| switch.0));
    let mut world = with_switch(false);
    assert_eq!(run(&mut schedule, &mut world).idle, 2);
    world.resources_mut().insert(Switch(true));
    assert_eq!(run(&mut schedule, &mut world).ran, 2);
    assert_eq!(said(&mut world), ["placed", "whole"]);
}

#[test]
fn a_resource_that_is_not_there_is_an_error_that_names_both() {
    for exclusive in [false, true] {
        let shy = match exclusive {
            true => exclusive_processor("shy", |_| {}),
            false => processor("shy", || {}),
        };
        let mut schedule = Schedule::new();
        schedule.add(shy.run_if(|switch: &Switch| switch.0));
        schedule.add(say("other").after("shy"));
        let mut world = world();
        let error = schedule.run(&mut world).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("`shy`") && told.contains("Switch"), "{told}");
        world.resources_mut().insert(Switch(true));
        assert_eq!(run(&mut schedule, &mut world).ran, 2);
    }
}

#[test]
fn a_condition_that_panics_breaks_the_run_off_and_the_world_stays_whole() {
    for exclusive in [false, true] {
        let shy = match exclusive {
            true => exclusive_processor("shy", |_| {}),
            false => processor("shy", |mut rows: QueryRun<&mut A>| {
                rows.for_each(|a| a.0 += 1)
            }),
        };
        let mut schedule = Schedule::new();
        let mut first = true;
        schedule.add(shy.run_if(move |switch: &Switch| {
            assert!(!core::mem::take(&mut first), "not today");
            switch.0
        }));
        let mut world = with_switch(true);
        world.create((A(0),)).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world)));
        let told = panicked.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(*told, "processor `shy` panicked: not today");
        world.check().unwrap();
        assert_eq!(run(&mut schedule, &mut world).ran, 1);
    }
}

#[test]
fn who_was_passed_by_has_not_been_timed_and_is_in_no_trace() {
    let mut world = with_switch(true);
    let mut schedule = Schedule::new();
    schedule.add(say("often"));
    schedule.add(say("seldom").run_if(|switch: &Switch| switch.0));
    schedule.add(exclusive_processor("whole", |_| {}).run_if(|switch: &Switch| switch.0));
    schedule.start_trace();
    run(&mut schedule, &mut world);
    world.resources_mut().insert(Switch(false));
    for _ in 0..3 {
        run(&mut schedule, &mut world);
    }
    let timings: Vec<(String, u64)> = schedule
        .timings()
        .map(|(name, timing)| (name.to_owned(), timing.runs))
        .collect();
    let runs = |name: &str| timings.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!((runs("often"), runs("seldom"), runs("whole")), (4, 1, 1));
    let mut bytes = Vec::new();
    schedule.take_trace().unwrap().write_to(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    for (name, times) in [("often", 4), ("seldom", 1), ("whole", 1)] {
        assert_eq!(
            text.matches(&format!("\"name\":\"{name}\"")).count(),
            times,
            "{text}"
        );
    }
}

#[test]
fn an_observer_has_no_turn_for_a_condition() {
    let mut schedule = Schedule::new();
    let watch = observing_processor::<A, ()>("watch", Observed::COME, |_, _| {});
    schedule.add(watch.run_if(|switch: &Switch| switch.0));
    let error = schedule.run(&mut with_switch(true)).unwrap_err();
    assert!(
        error.to_string().contains("`watch` is an observer"),
        "{error}"
    );
}

#[test]
fn an_observer_has_no_turn_in_which_it_could_run_or_be_passed_by() {
    let mut world = with_switch(true);
    let mut schedule = Schedule::new();
    schedule.add(say("often"));
    schedule.add(observing_processor::<A, ()>(
        "watch",
        Observed::COME,
        |_, _| {},
    ));
    schedule.start_trace();
    assert!(schedule.take_trace().unwrap().is_empty());
    schedule.start_trace();
    for on in [true, false, true] {
        schedule.set_enabled("watch", on).unwrap();
        let report = run(&mut schedule, &mut world);
        assert_eq!((report.ran, report.idle), (1, 0));
    }
    let runs: Vec<u64> = schedule.timings().map(|(_, timing)| timing.runs).collect();
    assert_eq!(runs, [3, 0]);
    let trace = schedule.take_trace().unwrap();
    assert_eq!(
        trace.len(),
        3 * 4,
        "of each run the order, `often`, a flush, and all of it"
    );
    assert!(!trace.is_empty());
}

#[test]
fn why_a_processor_did_not_run_is_known_after_the_run() {
    use megachunk::processor::Standing;
    for (execution, measured) in [
        (Execution::Alone, false),
        (Execution::Beside, false),
        (Execution::Alone, true),
    ] {
        let mut world = with_switch(false);
        let mut schedule = Schedule::new();
        schedule.set_execution(execution).set_measured(measured);
        schedule.add(say("runs"));
        schedule.add(
            say("asks")
                .run_if(|| true)
                .run_if(|switch: &Switch| switch.0),
        );
        schedule.add(
            exclusive_processor("alone", |_| {})
                .run_if(|switch: &Switch| switch.0)
                .run_if(|| false),
        );
        schedule.add(say("off").enabled(false));
        schedule.add(say("server").net_modes(NetModes::SERVER));
        schedule.set_net_modes(NetModes::CLIENT);
        schedule.add(processor("matches", |_: QueryRun<&A>| {}).run_if_any_match());
        schedule.add(observing_processor::<A, ()>(
            "observes",
            Observed::COME,
            |_, _| {},
        ));
        let names = [
            "runs", "asks", "alone", "off", "server", "matches", "observes",
        ];
        let standing = |schedule: &Schedule, world: &World| {
            names.map(|name| schedule.standing(world, name).expect("it is there"))
        };
        let before = standing(&schedule, &world);
        assert_eq!(before[0], Standing::NotStarted);
        assert_eq!(before[3..5], [Standing::Off, Standing::OtherNetMode]);
        schedule.run(&mut world).expect("it is right");
        let mut expected = [
            Standing::Runs,
            Standing::Condition(1),
            Standing::Condition(0),
            Standing::Off,
            Standing::OtherNetMode,
            Standing::NothingMatches,
            Standing::Observes,
        ];
        assert_eq!(standing(&schedule, &world), expected);
        let grey = |schedule: &Schedule, world: &World| {
            let dot = schedule.to_dot(world);
            let mut lines = dot.lines().filter(|line| line.contains("\"asks\""));
            lines.any(|line| line.contains("#777777"))
        };
        assert!(grey(&schedule, &world));
        world.resources_mut().insert(Switch(true));
        world.create((A(1),)).expect("there is room");
        schedule.run(&mut world).expect("it is right");
        expected[1] = Standing::Runs;
        expected[2] = Standing::Condition(1);
        expected[5] = Standing::Runs;
        assert_eq!(standing(&schedule, &world), expected);
        assert!(!grey(&schedule, &world));
        assert!(schedule.standing(&world, "nobody").is_err());
        schedule.detach();
        assert_eq!(
            schedule.standing(&world, "asks").expect("it is there"),
            Standing::NotStarted
        );
    }
}

struct B;

#[test]
fn who_runs_if_there_is_an_entity_asks_in_his_turn_and_is_passed_by_when_all_have_gone() {
    use megachunk::processor::{Standing, Target};
    for execution in [Execution::Alone, Execution::Beside] {
        let mut world = with_switch(true);
        let mut schedule = Schedule::new();
        schedule.set_execution(execution);
        schedule.add(processor(
            "come",
            |switch: &Switch, mut commands: Commands| {
                if switch.0 {
                    commands.create((A(1), B)).expect("there is room");
                }
            },
        ));
        let matches = processor("matches", |_: QueryRun<&A>, _: Local<u8>| {});
        schedule.add(
            matches
                .run_if_any_match()
                .after(Target::from("come").flushed()),
        );
        let lives = processor(
            "lives",
            |mut all: QueryRun<(Entity, &mut A), With<B>>, mut commands: Commands| {
                all.for_each(|(entity, _)| {
                    commands.destroy(entity);
                });
            },
        );
        schedule.add(
            lives
                .run_if(|_: &Switch| true)
                .run_if_any_entity()
                .after(Target::from("come").flushed()),
        );
        assert_eq!(run(&mut schedule, &mut world).idle, 0, "{execution:?}");
        assert_eq!(world.count(), 0);
        world.resources_mut().insert(Switch(false));
        for _ in 0..3 {
            let report = run(&mut schedule, &mut world);
            assert_eq!((report.ran, report.idle), (2, 1), "the archetype is there");
            let standing = schedule.standing(&world, "lives").expect("it is there");
            assert_eq!(standing, Standing::Condition(1));
            world.collect_archetypes();
            world.create((A(2),)).expect("there is room");
        }
        // Another archetype, and entities that come by themselves.
        let ant = world.create((A(3), B, 'x')).expect("there is room");
        assert_eq!(run(&mut schedule, &mut world).idle, 0);
        assert!(!world.exists(ant));
        assert_eq!(run(&mut schedule, &mut world).idle, 1);
    }
}

#[test]
fn of_who_runs_if_there_is_an_entity_those_queries_count_that_walk() {
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule
        .add(processor("walks", |_: QueryRun<&B>, _: QueryLookup<&mut A>| {}).run_if_any_entity());
    schedule.add(processor("looks", |_: QueryLookup<&A>| {}).run_if_any_entity());
    schedule.add(processor("asks nobody", || {}).run_if_any_entity());
    schedule.add(exclusive_processor("whole", |_| {}).run_if_any_entity());
    world.create((A(1),)).expect("there is room");
    assert_eq!(run(&mut schedule, &mut world).idle, 1);
    let bee = world.create((B, 1_u8)).expect("there is room");
    assert_eq!(run(&mut schedule, &mut world).idle, 0);
    world.destroy(bee).expect("it lives");
    assert_eq!(run(&mut schedule, &mut world).idle, 1);
    // Elsewhere fragments have other numbers.
    schedule.detach();
    let mut other = with_switch(true);
    other.create(('x', 7_u64, B)).expect("there is room");
    assert_eq!(run(&mut schedule, &mut other).idle, 0);
    assert_eq!(other.clear(), 1);
    assert_eq!(run(&mut schedule, &mut other).idle, 1);
    let watch = observing_processor::<A, ()>("watch", Observed::COME, |_, _| {});
    schedule.add(watch.run_if_any_entity());
    assert!(schedule.run(&mut other).is_err(), "it has no turn");
}

#[test]
fn who_runs_every_so_many_ticks_goes_by_their_numbers_alone() {
    use core::num::NonZeroU32;
    use core::time::Duration;
    let step = Duration::from_millis(10);
    let schedule = |switched: bool| {
        let say = |name: &'static str, ticks| {
            let run =
                move |time: &Time, said: &mut Said| said.0.push(format!("{name}{}", time.tick));
            let every = NonZeroU32::new(ticks).expect("it is not 0");
            processor(name, run).every(every)
        };
        let mut schedule = Schedule::new();
        schedule
            .add(say("a", 1))
            .add(say("b", 2).enabled(!switched));
        schedule.add(say("c", 3).after("b").run_if(|time: &Time| time.tick != 3));
        schedule
    };
    let mut game = Simulation::new(world(), schedule(false));
    Time::register(game.world().registry()).expect("nobody else is called so");
    for _ in 0..7 {
        game.advance(step).expect("it runs");
    }
    let heard = said(game.world_mut());
    assert_eq!(
        heard,
        [
            "a0", "b0", "c0", "a1", "a2", "b2", "a3", "a4", "b4", "a5", "a6", "b6", "c6"
        ]
    );
    // Saved in the middle, it goes on in step, whoever ran before.
    let saved = game.world().to_snapshot(&SnapshotOptions::new());
    let universe = Universe::new();
    Time::register(universe.registry()).expect("nobody else is called so");
    let loaded = World::from_snapshot(
        &saved.expect("it can be saved"),
        universe,
        &Default::default(),
    );
    let mut loaded = loaded.expect("it was saved");
    loaded.resources_mut().insert(Said::default());
    let mut again = Simulation::continuing(loaded, schedule(false));
    for _ in 0..5 {
        game.advance(step).expect("it runs");
        again.advance(step).expect("it runs");
    }
    let heard = said(game.world_mut());
    assert_eq!(heard, said(again.world_mut()));
    assert_eq!(heard, ["a7", "a8", "b8", "a9", "c9", "a10", "b10", "a11"]);
    // Who was switched off makes up for nothing.
    let mut late = Simulation::new(world_at(11), schedule(true));
    late.set_tick(12);
    late.advance(step).expect("it runs");
    late.schedule_mut()
        .set_enabled("b", true)
        .expect("it is there");
    late.advance(step).expect("it runs");
    late.advance(step).expect("it runs");
    assert_eq!(said(late.world_mut()), ["a12", "c12", "a13", "a14", "b14"]);
    // Without a tick there is none to go by.
    let error = schedule(false).run(&mut world_at(0)).expect("there is one");
    assert_eq!(error.ran, 3);
    let error = schedule(false)
        .run(&mut world())
        .expect_err("there is none");
    assert!(matches!(error, ScheduleError::NoResource { .. }), "{error}");
}

/// A world in which so many ticks have been.
fn world_at(tick: u64) -> World {
    let mut world = world();
    let step = core::time::Duration::from_millis(10);
    world.resources_mut().insert(Time::new(step, step, tick));
    world
}

#[test]
fn who_runs_if_a_resource_has_changed_is_passed_by_until_it_is_lent_to_be_written() {
    struct Map(u32);
    type Change = (&'static str, fn(&mut World, &mut Schedule), bool);
    let changes: [Change; 9] = [
        ("nothing", |_, _| {}, false),
        ("read", |world, _| _ = world.resources().get::<Map>(), false),
        (
            "get_mut",
            |world, _| world.resources_mut().get_mut::<Map>().unwrap().0 += 1,
            true,
        ),
        (
            "insert",
            |world, _| _ = world.resources_mut().insert(Map(7)),
            true,
        ),
        (
            "taken out and put back",
            |world, _| {
                let map = world.resources_mut().remove::<Map>().unwrap();
                world.resources_mut().insert(map);
            },
            true,
        ),
        (
            "with_resource",
            |world, _| _ = world.with_resource(|_, _: &mut Map| ()),
            true,
        ),
        (
            "a processor",
            |world, _| world.run_once(|map: &mut Map| map.0 += 1).unwrap(),
            true,
        ),
        (
            "one that only may",
            |world, _| world.run_once(|_: Option<&mut Map>| ()).unwrap(),
            true,
        ),
        (
            "another",
            |world, _| _ = world.resources_mut().insert(1_u64),
            false,
        ),
    ];
    for execution in [Execution::Alone, Execution::Beside] {
        let mut world = world();
        world.resources_mut().insert(Map(0));
        world.resources_mut().insert(Switch(true));
        let mut schedule = Schedule::new();
        schedule.set_execution(execution);
        schedule.add(say("looks").run_if_changed::<Map>());
        schedule.add(
            processor("writes", |map: &mut Map, said: &mut Said| {
                map.0 += 1;
                said.0.push("writes".into());
            })
            .run_if_changed::<Map>()
            .run_if(|switch: &Switch| switch.0)
            .after("looks"),
        );
        schedule.add(say("looks again").run_if_changed::<Map>().after("writes"));
        run(&mut schedule, &mut world);
        assert_eq!(said(&mut world), ["looks", "writes", "looks again"]);
        run(&mut schedule, &mut world);
        assert_eq!(
            said(&mut world),
            ["looks"],
            "of its own writes it does not hear"
        );
        for (name, change, changes) in changes {
            change(&mut world, &mut schedule);
            run(&mut schedule, &mut world);
            let heard = said(&mut world);
            let expected: &[&str] = match changes {
                true => &["looks", "writes", "looks again"],
                false => &[],
            };
            assert_eq!(heard, expected, "{name}, {execution:?}");
            run(&mut schedule, &mut world);
            let heard = said(&mut world);
            assert_eq!(heard.len(), usize::from(changes), "{name}, {execution:?}");
        }
        // What was not run for stays to be run for.
        world.resources_mut().insert(Map(3));
        world.resources_mut().insert(Switch(false));
        run(&mut schedule, &mut world);
        assert_eq!(said(&mut world), ["looks", "looks again"]);
        world.resources_mut().insert(Switch(true));
        run(&mut schedule, &mut world);
        assert_eq!(said(&mut world), ["writes", "looks again"]);
        world.resources_mut().remove::<Map>();
        let error = schedule.run(&mut world).expect_err("there is none");
        assert!(matches!(error, ScheduleError::NoResource { .. }), "{error}");
    }
}

#[test]
fn what_has_changed_is_not_forgotten_by_a_run_that_was_none() {
    struct Map(u32);
    let mut world = world();
    world.resources_mut().insert(Map(0));
    world.resources_mut().insert(false);
    let mut schedule = Schedule::new();
    // Looked for in its turn, as it has a condition.
    schedule.add(
        processor(
            "asks",
            |fails: &bool, map: &mut Map, _: &u64| -> ProcessorResult {
                map.0 += 1;
                match fails {
                    true => Err("it says so".into()),
                    false => Ok(()),
                }
            },
        )
        .run_if_changed::<Map>(),
    );
    let map = |world: &World| world.resources().get::<Map>().map(|map| map.0);
    assert!(schedule.run(&mut world).is_err(), "there is no number");
    world.resources_mut().insert(1_u64);
    assert_eq!(run(&mut schedule, &mut world).ran, 1);
    assert_eq!(run(&mut schedule, &mut world).ran, 0);
    // Who fails has run.
    world.resources_mut().insert(true);
    let _ = world.resources_mut().get_mut::<Map>();
    assert!(schedule.run(&mut world).is_err());
    assert_eq!(
        (run(&mut schedule, &mut world).ran, map(&world)),
        (0, Some(2))
    );
    // An exclusive one does not hear of its own writes, either.
    let mut whole = Schedule::new();
    let write = |world: &mut World| {
        world
            .resources_mut()
            .get_mut::<Map>()
            .expect("it is there")
            .0 += 1
    };
    whole.add(exclusive_processor("whole", write).run_if_changed::<Map>());
    for _ in 0..3 {
        run(&mut whole, &mut world);
    }
    assert_eq!(map(&world), Some(3));
    // Another world begins anew, though as often was written there.
    schedule.detach();
    let mut other = crate::said::world();
    other.resources_mut().insert(Map(0));
    other.resources_mut().insert(false);
    other.resources_mut().insert(1_u64);
    for ran in [1, 0] {
        assert_eq!(run(&mut schedule, &mut other).ran, ran);
    }
}

#[test]
fn kinds_of_changes_and_net_modes_can_be_added_to_others() {
    let mut kinds = Observed::CREATE;
    kinds |= Observed::ADD;
    let mut net_modes = NetModes::CLIENT;
    net_modes |= NetModes::SERVER;
    assert_eq!(
        (kinds, net_modes),
        (Observed::COME, NetModes::CLIENT | NetModes::SERVER)
    );
    assert_eq!(format!("{net_modes:?}"), r#"{"client", "server"}"#);
}
