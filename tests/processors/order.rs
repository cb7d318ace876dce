//! Processors: in which order they run, and who runs at all, each row of what a schedule promises.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::said::{Said, run, said, say, world};
use megachunk::prelude::*;
use megachunk::processor::{Composite, Execution, Overlap, SolveError};
use megachunk::processor::{NetModes, Target};

#[expect(
    dead_code,
    reason = "who sees and writes it matters here, not what it is"
)]
struct A(u32);
#[expect(dead_code, reason = "as above")]
struct B(u32);

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
    let first = String::from("A");
    schedule.add(say("F").after(&first));
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
fn an_order_of_a_group_that_nobody_is_in_is_an_error_unless_it_is_optional() {
    let schedule = |group: Target| {
        let mut schedule = Schedule::new();
        schedule.add(say("draw")).add(say("fall").group("Physics"));
        schedule.group_before(group, "draw");
        schedule
    };
    let mut world = world();
    let error = schedule("Physcs".into()).run(&mut world);
    let text = error.expect_err("nobody is in it").to_string();
    assert!(
        text.contains("draw is to run after `Physcs`") && text.contains("`Physics`"),
        "{text}"
    );
    run(&mut schedule(Target::from("Mods").optional()), &mut world);
    assert_eq!(said(&mut world), ["draw", "fall"]);
    let mut ordered = schedule("Physics".into());
    run(&mut ordered, &mut world);
    assert_eq!(said(&mut world), ["fall", "draw"]);
    assert_eq!(ordered.remove_group_orders("Physics"), 1);
    run(&mut ordered, &mut world);
    assert_eq!(said(&mut world), ["draw", "fall"]);
    let mut others = schedule("Physcs".into());
    assert_eq!(others.remove_group_orders("Physcs"), 1);
    run(&mut others, &mut world);
    assert_eq!(said(&mut world), ["draw", "fall"]);
    let mut empty = Schedule::new();
    empty.add(say("draw"));
    empty.add_composite(megachunk::processor::Composite::new("Mods", []).before("draw"));
    run(&mut empty, &mut world);
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
        .create((A(1),).const_shared(Kind(1)))
        .expect("there is room");
    world
        .create((B(1),).const_shared(Kind(1)))
        .expect("there is room");
    assert!(!waits(&mut schedule, &mut world, "kind", "kind too"));
}

#[test]
fn net_modes_decide_who_runs_and_the_others_keep_their_places() {
    let mut schedule = Schedule::new();
    schedule.add(say("show").net_modes(NetModes::CLIENT).after("decide"));
    schedule.add(
        say("decide")
            .net_modes(NetModes::SERVER | NetModes::STANDALONE)
            .after("read"),
    );
    schedule.add(say("read"));
    let mut world = world();
    for (net_modes, names) in [
        (NetModes::CLIENT, &["read", "show"][..]),
        (NetModes::SERVER, &["read", "decide"]),
        (NetModes::ALL, &["read", "decide", "show"]),
    ] {
        schedule.set_net_modes(net_modes);
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
fn a_group_is_switched_on_and_off_as_a_whole() {
    let mut schedule = Schedule::new();
    schedule.add(say("steer").group("Move.Steering"));
    schedule.add(say("walk").group("Move"));
    schedule.add(say("watch").group("Movers"));
    let mut world = world();
    schedule.set_enabled("Move", false).expect("it is there");
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["watch"]);
    schedule
        .set_enabled("Move.Steering", true)
        .expect("it is there");
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["steer", "watch"]);
    let is_on = |name| schedule.is_enabled(name).expect("it is there");
    assert_eq!(
        ["Move", "Move.Steering", "Movers"].map(is_on),
        [false, true, true]
    );
    for nobody in ["Mov", "", "Move."] {
        let error = schedule.is_enabled(nobody);
        assert!(matches!(error, Err(ScheduleError::NoProcessor { .. })));
    }
}

#[test]
fn two_processors_of_one_name_are_refused_and_it_is_told_where_each_is_made() {
    let mut schedule = Schedule::new();
    schedule.add(processor("twin", || {}));
    schedule.add(exclusive_processor("twin", |_| {}));
    let error = schedule
        .run(&mut World::new())
        .expect_err("one is too many");
    let ScheduleError::Order(SolveError::Twice {
        name,
        first,
        second,
        ..
    }) = &error
    else {
        panic!("{error}");
    };
    let (first, second) = (
        first.as_ref().expect("told"),
        second.as_ref().expect("told"),
    );
    assert_eq!(name, "twin");
    assert!(first.contains("order.rs:") && second.contains("order.rs:"));
    assert_ne!(first, second);
    let told = format!("two processors are called `twin`: one is made at {first}, one at {second}");
    assert_eq!(error.to_string(), told);
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
fn who_runs_if_any_match_and_has_no_queries_always_runs() {
    let mut schedule = Schedule::new();
    schedule.add(say("plain").run_if_any_match());
    let whole = exclusive_processor("whole", |world: &mut World| {
        let said = world.resources_mut().get_mut::<Said>();
        said.expect("it is there").0.push("whole".into());
    });
    schedule.add(whole.run_if_any_match().after("plain"));
    let mut world = world();
    assert_eq!(run(&mut schedule, &mut world).idle, 0);
    assert_eq!(said(&mut world), ["plain", "whole"]);
}

#[test]
fn main_thread_processors_run_on_the_thread_that_runs_the_schedule() {
    // In a pool of its own: other tests may hold all threads of the global one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    pool.unwrap().install(main_thread_processors_run_here);
}

fn main_thread_processors_run_here() {
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
    assert!(elsewhere.load(Ordering::Relaxed) > 0, "others are shared");
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
fn a_sequence_has_orders_groups_and_phases_beside_and_may_be_of_one_or_none() {
    let mut schedule = Schedule::new();
    let of_none = Composite::new("None", []).in_sequence().before("One");
    schedule.add_composite(of_none);
    schedule.add_composite(
        Composite::new(
            "Chain",
            [
                say("z").group("Early"),
                say("y").before("w"),
                say("x").group("Late"),
                say("w"),
            ],
        )
        .in_sequence(),
    );
    let of_one = Composite::new("One", [say("one")]).in_sequence();
    schedule.add_composite(of_one.before("Chain"));
    schedule.add(say("between").after("Chain.Early").before("y"));
    schedule.add(say("late").after("y").before("Chain.Late"));
    // Whoever is more urgent has to wait all the same.
    let last = Composite::new("Last", [say("p"), say("q").priority(9)]).in_sequence();
    schedule.add_composite(last.phase(Phase::FrameEnd));
    let mut world = world();
    run(&mut schedule, &mut world);
    let order = ["one", "z", "between", "y", "late", "x", "w", "p", "q"];
    assert_eq!(said(&mut world), order);

    let mut schedule = Schedule::new();
    let against = [say("a"), say("b").before("a")];
    schedule.add_composite(Composite::new("Loop", against).in_sequence());
    assert!(schedule.run(&mut world).is_err(), "in no order");
    let target = Target::new("Loop");
    assert!(!target.is_optional() && target.optional().is_optional());
}

#[test]
fn what_is_not_solved_is_not_explained_and_one_thread_is_a_reason_to_wait() {
    let mut schedule = Schedule::new();
    schedule.add(processor("write A", |_: QueryRun<&mut A>| {}));
    schedule.add(processor("read A", |_: QueryRun<&A>| {}));
    schedule.add(processor("draw", |_: QueryRun<Entity>| {}).main_thread());
    schedule.add(processor("hear", |_: QueryRun<Entity>| {}).main_thread());
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    let unsolved = |error| matches!(error, ScheduleError::NotSolved);
    let overlap = schedule.explain_overlap(&world, "write A", "read A");
    assert!(unsolved(overlap.expect_err("not solved")));
    let seen = schedule.explain_match(&world, "write A", ant);
    assert!(unsolved(seen.expect_err("not solved")));

    schedule.solve(&mut world).expect("it is right");
    let overlap = schedule.explain_overlap(&world, "draw", "hear");
    let why = overlap.expect("both are there").to_string();
    assert!(why.contains("the schedule's thread"), "{why}");
    let free = schedule.explain_overlap(&world, "draw", "write A");
    assert_eq!(free.expect("both are there"), Overlap::May);
    let same = schedule.explain_overlap(&world, "draw", "draw");
    assert_eq!(same.expect("it is there"), Overlap::Same);

    world.create((A(1), B(1))).expect("there is room");
    let overlap = schedule.explain_overlap(&world, "write A", "read A");
    assert!(unsolved(overlap.expect_err("an archetype came")));
}

#[test]
fn an_explanation_names_the_role_in_which_a_type_is_there() {
    #[derive(PartialEq, Eq, Hash)]
    struct Team(u8);
    let mut schedule = Schedule::new();
    schedule.add(processor("play", |_: QueryRun<Entity, With<Team>>| {}));
    let mut world = world();
    let ant = world.create((A(1),).shared(Team(1)));
    schedule.solve(&mut world).expect("it is right");
    let why = schedule.explain_match(&world, "play", ant.expect("there is room"));
    let why = why.expect("it is solved").to_string();
    let team = core::any::type_name::<Team>();
    assert!(why.contains(&format!("{team} (shared fragment)")), "{why}");
    assert!(why.contains(&format!("asks for {team}, which")), "{why}");
}

#[test]
fn what_is_solved_for_one_world_is_not_explained_for_another() {
    let mut schedule = Schedule::new();
    schedule.add(processor("write A", |_: QueryRun<&mut A>| {}));
    schedule.add(processor("read A", |_: QueryRun<&A>| {}));
    let (mut one, mut other) = (world(), world());
    // The numbers of fragments are other ones there.
    let bee = other.create((B(1),)).expect("there is room");
    let ant = other.create((A(1),)).expect("there is room");
    schedule.solve(&mut one).expect("it is right");
    let elsewhere = |error| matches!(error, ScheduleError::OtherWorld);
    for entity in [ant, bee] {
        let seen = schedule.explain_match(&other, "write A", entity);
        assert!(elsewhere(seen.expect_err("it is of another world")));
    }
    let overlap = schedule.explain_overlap(&other, "write A", "read A");
    assert!(elsewhere(overlap.expect_err("it is of another world")));
    let drawn = [schedule.to_dot(&other), schedule.to_svg(&other)];
    assert!(drawn.iter().all(String::is_empty), "nor drawn");
    assert!(schedule.to_dot(&one).contains("write A"));

    drop(one);
    let unsolved = |error| matches!(error, ScheduleError::NotSolved);
    let seen = schedule.explain_match(&other, "write A", ant);
    assert!(unsolved(seen.expect_err("its own is gone")));
    let overlap = schedule.explain_overlap(&other, "write A", "read A");
    assert!(unsolved(overlap.expect_err("its own is gone")));

    schedule.solve(&mut other).expect("it is right");
    let wasp = other.create((A(1), B(1))).expect("there is room");
    for (entity, sees) in [(ant, true), (bee, false), (wasp, true)] {
        let seen = schedule.explain_match(&other, "write A", entity);
        let queries = seen.expect("it is solved").queries;
        assert_eq!(queries[0].mismatches.is_empty(), sees);
    }
}
