//! Processors: each row of what a schedule promises, seen from outside.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use megachunk::observer::Observed;
use megachunk::prelude::*;
use megachunk::processor::{Execution, Overlap, ScheduleReport, SolveError};

struct A(u32);
struct B(u32);
struct Hidden;
#[derive(Default)]
struct Said(Vec<String>);

/// Says its name.
fn say(name: &str) -> ProcessorBuilder {
    let word = name.to_owned();
    processor(name, move |said: &mut Said| said.0.push(word.clone()))
}

fn world() -> World {
    let mut world = World::new();
    world.resources_mut().insert(Said::default());
    world
}

fn run(schedule: &mut Schedule, world: &mut World) -> ScheduleReport {
    schedule.run(world).expect("the schedule runs")
}

fn said(world: &mut World) -> Vec<String> {
    let said = world.resources_mut().get_mut::<Said>();
    core::mem::take(&mut said.expect("it is there").0)
}

fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads can be had")
}

#[test]
fn phases_follow_each_other_whatever_the_order_of_adding() {
    let mut schedule = Schedule::new();
    for phase in Phase::ALL.iter().rev() {
        schedule.add(say(phase.name()).phase(*phase));
    }
    schedule.add(say("first").priority(1));
    let mut world = world();
    assert_eq!(run(&mut schedule, &mut world).ran, 7);
    let names = [
        "first",
        "PrePhysics",
        "StartPhysics",
        "DuringPhysics",
        "EndPhysics",
        "PostPhysics",
        "FrameEnd",
    ];
    assert_eq!(said(&mut world), names);
    let report = schedule.run_phase(&mut world, Phase::EndPhysics);
    assert_eq!(report.expect("it runs").ran, 1);
    assert_eq!(said(&mut world), ["EndPhysics"]);
}

#[test]
fn groups_are_paths_and_whoever_is_ordered_against_one_is_against_all_in_it() {
    let mut schedule = Schedule::new();
    schedule.add(say("F").after("A"));
    schedule.add(say("A").group("X.Z").after("X.Y").after("E"));
    schedule.add(say("B").group("X.Y"));
    schedule.add(say("C").group("X.Y"));
    schedule.add(say("D").before("A"));
    schedule.add(say("E").group("X.Z"));
    let mut world = world();
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["B", "C", "D", "E", "A", "F"]);
    schedule.add(say("G").before("X"));
    schedule.group_after("X", "H").add(say("H"));
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["D", "G", "H", "B", "C", "E", "A", "F"]);
}

#[test]
fn of_those_that_are_free_the_higher_priority_comes_first_then_the_earlier_added() {
    let mut schedule = Schedule::new();
    schedule.add(say("later")).add(say("latest"));
    schedule
        .add(say("urgent").priority(5))
        .add(say("idle").priority(-1));
    let mut world = world();
    for _ in 0..3 {
        run(&mut schedule, &mut world);
        assert_eq!(said(&mut world), ["urgent", "later", "latest", "idle"]);
    }
}

#[test]
fn unknown_names_are_an_error_that_knows_the_nearest_unless_they_are_optional() {
    let mut schedule = Schedule::new();
    schedule.add(say("steer")).add(say("move").after("ster"));
    let mut world = world();
    let error = schedule.run(&mut world).expect_err("nobody is called that");
    assert!(
        matches!(error, ScheduleError::Order(SolveError::Unknown { .. })),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("move ") && text.contains("`ster`") && text.contains("`steer`"),
        "{text}"
    );

    let mut schedule = Schedule::new();
    let ghost = || Target::from("Ghost").optional();
    schedule
        .add(say("B").after(ghost()))
        .add(say("A").before(ghost()));
    run(&mut schedule, &mut world);
    assert_eq!(
        said(&mut world),
        ["A", "B"],
        "what is before a ghost precedes what is after it"
    );
}

#[test]
fn a_cycle_is_an_error_that_prints_it() {
    let mut schedule = Schedule::new();
    schedule
        .add(say("hen").after("egg"))
        .add(say("egg").after("chick").group("Nest"));
    schedule.add(say("chick").after("hen"));
    let error = schedule.run(&mut world()).expect_err("nobody can begin");
    let text = error.to_string();
    for name in ["hen", "egg", "chick", "->"] {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn the_same_processors_give_the_same_order_whatever_was_run_before() {
    let schedule = || {
        let mut schedule = Schedule::new();
        for number in 0..60_u32 {
            let mut processor = say(&format!("p{number}")).priority((number * 7 % 5) as i32);
            if number % 3 == 1 {
                processor = processor.group(format!("G.{}", number % 4));
            }
            if number % 5 == 4 {
                processor = processor.before(format!("p{}", number / 2));
            }
            schedule.add(processor);
        }
        schedule
    };
    let order = |schedule: &mut Schedule| {
        let mut world = world();
        run(schedule, &mut world);
        said(&mut world)
    };
    let first = order(&mut schedule());
    let mut again = schedule();
    assert_eq!(first, order(&mut again));
    // Solved anew with one more, and without it.
    again.detach();
    again.add(say("more").before("p30"));
    let more = order(&mut again);
    assert_ne!(first, more);
    let mut nowhere = world();
    again.detach();
    again.remove(&mut nowhere, "more").expect("it is there");
    assert_eq!(first, order(&mut again));
}

#[test]
fn two_wait_for_each_other_if_one_writes_and_both_see_an_archetype_resources_always_const_shared_never()
 {
    #[derive(PartialEq, Eq, Hash)]
    struct Kind(u32);
    let mut schedule = Schedule::new();
    schedule.add(processor("write A", |_: QueryRun<&mut A>| {}));
    schedule.add(processor("read A with B", |_: QueryRun<(&A, &B)>| {}));
    schedule.add(processor("read A too", |_: QueryRun<(&A, &B)>| {}));
    schedule.add(processor("write said", |_: &mut Said| {}));
    schedule.add(processor("read said", |_: &Said| {}));
    schedule.add(processor(
        "kind",
        |_: QueryRun<(&mut B, ConstShared<Kind>)>| {},
    ));
    schedule.add(processor(
        "kind too",
        |_: QueryRun<(&mut A, ConstShared<Kind>)>| {},
    ));
    let mut world = world();
    let waits = |schedule: &mut Schedule, world: &mut World, one, other| {
        schedule.solve(world).expect("it is right");
        let overlap = schedule
            .explain_overlap(world, one, other)
            .expect("both are there");
        assert_eq!(
            overlap,
            schedule
                .explain_overlap(world, other, one)
                .expect("both are there")
        );
        overlap != Overlap::May
    };
    world.create((A(1),)).expect("there is room");
    world.create((B(1),)).expect("there is room");
    assert!(!waits(
        &mut schedule,
        &mut world,
        "write A",
        "read A with B"
    ));
    assert!(waits(&mut schedule, &mut world, "write said", "read said"));
    world.create((A(1), B(1))).expect("there is room");
    assert!(waits(&mut schedule, &mut world, "write A", "read A with B"));
    // Each waits for who writes; for one another they would not have to.
    let why = schedule.explain_overlap(&world, "write A", "read A too");
    assert!(why.expect("both are there").to_string().contains("A"));
    assert!(!waits(
        &mut schedule,
        &mut world,
        "read A with B",
        "read A too"
    ));
    world
        .create((A(1), ().const_shared(Kind(1))))
        .expect("there is room");
    world
        .create((B(1), ().const_shared(Kind(1))))
        .expect("there is room");
    assert!(!waits(&mut schedule, &mut world, "kind", "kind too"));
}

#[test]
fn roles_decide_who_runs_and_the_others_keep_their_places() {
    let mut schedule = Schedule::new();
    schedule.add(say("show").roles(Roles::CLIENT).after("decide"));
    schedule.add(
        say("decide")
            .roles(Roles::SERVER | Roles::STANDALONE)
            .after("read"),
    );
    schedule.add(say("read"));
    let mut world = world();
    for (role, names) in [
        (Roles::CLIENT, &["read", "show"][..]),
        (Roles::SERVER, &["read", "decide"]),
        (Roles::ALL, &["read", "decide", "show"]),
    ] {
        schedule.set_role(role);
        let report = run(&mut schedule, &mut world);
        assert_eq!(said(&mut world), names);
        assert_eq!(report.idle, 3 - names.len());
    }
}

#[test]
fn switching_on_and_off_starts_and_stops() {
    let count = Arc::new(Mutex::new(Vec::new()));
    let note = |word: &'static str| {
        let count = Arc::clone(&count);
        move |_: &mut World| count.lock().expect("nobody panicked").push(word)
    };
    let mut schedule = Schedule::new();
    schedule.add(say("one").on_start(note("start")).on_stop(note("stop")));
    let mut world = world();
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    schedule.set_enabled("one", false).expect("it is there");
    assert!(!schedule.is_enabled("one").expect("it is there"));
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    schedule.set_enabled("one", true).expect("it is there");
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["one", "one", "one"]);
    schedule.stop(&mut world).expect("it is its own");
    assert_eq!(
        count.lock().expect("nobody panicked")[..],
        ["start", "stop", "start", "stop"]
    );
    schedule.remove(&mut world, "one").expect("it is there");
    assert_eq!(run(&mut schedule, &mut world).ran, 0);
    let error = schedule.set_enabled("on", true).expect_err("it is gone");
    assert!(error.to_string().contains("`on`"), "{error}");
}

#[test]
fn who_runs_if_any_match_is_passed_by_without_and_keeps_the_order_of_the_others() {
    let mut schedule = Schedule::new();
    schedule.add(say("after").after("shy"));
    schedule.add(
        processor("shy", |_: QueryRun<&A>, said: &mut Said| {
            said.0.push("shy".into())
        })
        .run_if_any_match()
        .after("before"),
    );
    schedule.add(say("before"));
    let mut world = world();
    assert_eq!(run(&mut schedule, &mut world).idle, 1);
    assert_eq!(said(&mut world), ["before", "after"]);
    let ant = world.create((A(1),)).expect("there is room");
    assert_eq!(run(&mut schedule, &mut world).idle, 0);
    assert_eq!(said(&mut world), ["before", "shy", "after"]);
    world.destroy(ant).expect("it lives");
    world.collect_archetypes();
    assert_eq!(run(&mut schedule, &mut world).idle, 1);
}

#[test]
fn main_thread_processors_run_on_the_thread_that_runs_the_schedule() {
    let here = std::thread::current().id();
    let elsewhere = Arc::new(AtomicUsize::new(0));
    let mut schedule = Schedule::new();
    for number in 0..40 {
        let elsewhere = Arc::clone(&elsewhere);
        let bound = number % 3 == 0;
        let tied = processor(format!("p{number}"), move || {
            if bound {
                assert_eq!(std::thread::current().id(), here);
            } else if std::thread::current().id() != here {
                elsewhere.fetch_add(1, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_micros(200));
        });
        let tied = if bound { tied.main_thread() } else { tied };
        schedule.add(if number > 10 { tied.after("p4") } else { tied });
    }
    schedule.set_execution(Execution::Beside);
    let mut world = World::new();
    for _ in 0..10 {
        assert_eq!(run(&mut schedule, &mut world).ran, 40);
    }
    if rayon::current_num_threads() > 1 {
        assert!(elsewhere.load(Ordering::Relaxed) > 0, "others are shared");
    }
}

#[test]
fn a_composite_is_a_group_of_its_name_with_an_order_of_its_own() {
    let mut schedule = Schedule::new();
    schedule.add(say("after").after("Physics"));
    schedule.add_composite(
        Composite::new(
            "Physics",
            [
                say("c").after("b"),
                say("a"),
                say("b").after("Physics.Early").group("Late"),
                say("e").group("Early"),
            ],
        )
        .after("before"),
    );
    schedule.add(say("before"));
    let mut world = world();
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["before", "a", "e", "b", "c", "after"]);
}

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
fn two_parameters_that_lend_the_same_are_refused() {
    let refused = |processor: ProcessorBuilder| {
        let mut schedule = Schedule::new();
        schedule.add(processor);
        let error = schedule.run(&mut world()).expect_err("it is refused");
        assert!(matches!(error, ScheduleError::Aliased { .. }), "{error}");
        assert!(error.to_string().contains("`greedy`"), "{error}");
    };
    refused(processor(
        "greedy",
        |_: QueryRun<&mut A>, _: QueryRun<&A>| {},
    ));
    refused(processor(
        "greedy",
        |_: QueryRun<&A>, _: QueryLookup<&mut A>| {},
    ));
    refused(processor("greedy", |_: &Said, _: &mut Said| {}));
    refused(processor("greedy", |_: Option<&mut Said>, _: &mut Said| {}));
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

#[test]
fn changes_are_seen_once_by_who_looks_for_them_whatever_runs_beside() {
    let mut world = World::new();
    let _ = world
        .create_batch((0..1_000).map(|n| (A(n), B(n))))
        .expect("there is room");
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let mut frame = 0;
    schedule.add(processor("write", move |mut rows: QueryRun<&mut A>| {
        frame += 1;
        if frame % 3 == 0 {
            rows.for_each(|a| a.0 += 1);
        }
    }));
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
    assert_eq!(trace.len(), 3 * (2 + 1));
    let mut json = Vec::new();
    trace.write_to(&mut json).expect("memory takes all");
    let json = String::from_utf8(json).expect("it is text");
    assert_eq!(json.matches("\"ph\":\"X\"").count(), 9);
    assert!(json.contains("two \\\"quoted\\\"\\u000a"), "{json}");
    assert_eq!(json.matches('{').count(), json.matches('}').count());
    assert!(schedule.take_trace().is_none());
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
    assert_eq!(
        ticks(&mut simulation, 5),
        (1, 0),
        "with the rest from before the pause"
    );
    let said = said(simulation.world_mut());
    assert_eq!((said.len(), &*said[7]), (8, "7 at 80ms"));
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
    app.add("rich", Simulation::new(world(), Schedule::new()))
        .schedule_mut()
        .add(say("hello"));
    let error = app
        .update(Duration::from_millis(1))
        .expect_err("a resource is missing");
    assert!(error.to_string().contains("`hello`"), "{error}");
    assert_eq!(
        said(app.get_mut("rich").expect("it is there").world_mut()),
        ["hello"]
    );
}
