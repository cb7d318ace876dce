//! What a schedule says of its processors: how two of them stand to each other, and why one does not see an entity.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use core::any::type_name;

use megachunk::prelude::*;
use megachunk::processor::Overlap;
use megachunk::query::Enabled;
use megachunk::query::Mismatch;

use crate::said::{say, world};

struct A;
struct B;
struct C;

/// How two processors of a schedule stand to each other.
fn overlap(schedule: &mut Schedule, world: &mut World, one: &str, other: &str) -> Overlap {
    schedule.solve(world).expect("it is right");
    let overlap = schedule.explain_overlap(world, one, other);
    let turned = schedule.explain_overlap(world, other, one);
    assert_eq!(overlap, turned, "whoever is named first");
    overlap.expect("both are there")
}

#[test]
fn of_two_processors_that_are_apart_it_is_said_who_comes_first() {
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule.add(say("late").phase(Phase::FrameEnd));
    schedule.add(say("early").phase(Phase::PrePhysics));
    let first = String::from("early");
    let phases = overlap(&mut schedule, &mut world, "late", "early");
    assert_eq!(phases, Overlap::Phases { first });
    assert_eq!(phases.to_string(), "`early` is in an earlier phase");

    // In one phase, one has the world to itself.
    schedule.add(
        exclusive_processor("alone", |_| {})
            .phase(Phase::FrameEnd)
            .before("late"),
    );
    let apart = overlap(&mut schedule, &mut world, "late", "alone");
    let first = String::from("alone");
    assert_eq!(apart, Overlap::Apart { first });
    assert!(
        apart.to_string().starts_with("`alone` comes first"),
        "{apart}"
    );
}

#[test]
fn of_two_processors_that_wait_the_way_and_what_both_touch_are_told() {
    let mut world = world();
    let _ = world
        .create_batch([(); 2].map(|()| (A, 1_u32)))
        .expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor("write", |_: QueryRun<&mut u32>| {}));
    schedule.add(processor("read", |_: QueryRun<&u32>| {}));
    schedule.add(processor("draw", |_: QueryRun<Entity>| {}).after("read"));
    let why = || String::from("u32 (first in archetype 0)");
    let named = |parts: &[(&str, String)]| -> Vec<(String, String)> {
        (parts.iter().cloned())
            .map(|(name, why)| (name.into(), why))
            .collect()
    };
    assert_eq!(
        overlap(&mut schedule, &mut world, "read", "write"),
        Overlap::Waits {
            path: named(&[("write", why())]),
            last: "read".into(),
            both: vec![why()],
        }
    );
    // Two that have nothing in common wait because of who is between them.
    let through = overlap(&mut schedule, &mut world, "draw", "write");
    assert_eq!(
        through,
        Overlap::Waits {
            path: named(&[("write", why()), ("read", "order".into())]),
            last: "draw".into(),
            both: Vec::new(),
        }
    );
    let said = "write -[u32 (first in archetype 0)]-> read -[order]-> draw";
    assert_eq!(through.to_string(), said);
}

#[test]
fn each_way_not_to_see_an_entity_is_told_for_itself() {
    let mut world = world();
    let name = |name: &str| -> String { name.into() };
    let (a, b, c) = (
        name(type_name::<A>()),
        name(type_name::<B>()),
        name(type_name::<C>()),
    );
    let bare = world.create(()).expect("there is room");
    // Older than its switch.
    let old = world.create((A,)).expect("there is room");
    world
        .registry()
        .register_enableable::<A>()
        .expect("it is new");
    let new = world.create((A, 1_u8)).expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(processor("switch", |_: QueryRun<Enabled<A>>| {}));
    schedule.add(processor("one of", |_: QueryRun<Entity, Any<(B, C)>>| {}));
    schedule.add(processor(
        "strict",
        |_: QueryRun<&u8, (With<B>, Without<C>)>| {},
    ));
    let both = world.create((B, C)).expect("there is room");
    schedule.solve(&mut world).expect("it is right");
    let why = |processor: &str, entity| {
        let told = schedule.explain_match(&world, processor, entity);
        let mut queries = told.expect("it is solved").queries;
        assert_eq!(queries.len(), 1);
        queries.remove(0).mismatches
    };
    assert_eq!(why("switch", bare), [Mismatch::Lacks(a.clone())]);
    assert_eq!(why("switch", old), [Mismatch::NotEnableable(a)]);
    assert_eq!(why("switch", new), []);
    let none = Mismatch::LacksAll(vec![b.clone(), c.clone()]);
    assert_eq!(
        none.to_string(),
        format!("asks for one of {b}, {c}, none of which is there")
    );
    assert_eq!(why("one of", new), [none]);
    assert_eq!(why("one of", both), []);
    assert_eq!(
        why("strict", both),
        [Mismatch::Lacks("u8".into()), Mismatch::Excludes(c)]
    );
    assert_eq!(why("strict", new), [Mismatch::Lacks(b)]);
}

#[test]
fn a_schedule_is_bound_if_one_of_its_processors_is() {
    let mut schedule = Schedule::new();
    assert!(!schedule.is_bound());
    schedule.add(say("free"));
    assert!(!schedule.is_bound());
    schedule.add(say("bound").main_thread());
    assert!(schedule.is_bound());
    schedule.remove(&mut world(), "bound").expect("it is there");
    assert!(!schedule.is_bound());
}

#[test]
fn switches_and_changes_are_told_and_queries_are_named_by_their_types() {
    let mut world = world();
    world
        .registry()
        .register_enableable::<A>()
        .expect("it is new");
    let ant = world.create((A, 1_u32)).expect("there is room");
    world
        .set_enabled::<A>(ant, false)
        .expect("it can be switched");
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "look",
        |_: QueryRun<Entity, With<A>>, _: QueryRun<&u32, Changed<u32>>| {},
    ));
    schedule.add(observing_processor::<A, Without<B>>(
        "hear",
        Observed::COME,
        |_, _| {},
    ));
    schedule.solve(&mut world).expect("it is right");
    let a = type_name::<A>();
    let told = schedule.explain_match(&world, "look", ant);
    let told = told.expect("it is solved");
    let [first, second] = &told.queries[..] else {
        panic!("{told}");
    };
    assert_eq!(first.mismatches, [Mismatch::SwitchedOff(a.into())]);
    assert_eq!(second.mismatches, [Mismatch::IfChanged("u32".into())]);
    assert_eq!(first.of_type, type_name::<(Entity, With<A>)>());
    assert!(
        told.to_string().contains(&format!("\n  {second}")),
        "{told}"
    );
    assert!(second.to_string().starts_with(second.of_type), "{second}");
    // An observer answers, too: also of those whose fragment is switched off.
    let sees = |entity| {
        let told = schedule.explain_match(&world, "hear", entity);
        told.expect("it is solved").queries.remove(0).mismatches
    };
    assert_eq!(sees(ant), []);
    let mut world = world;
    let bee = world.create((B,)).expect("there is room");
    let told = schedule.explain_match(&world, "hear", bee);
    let told = told.expect("it is solved").queries.remove(0).mismatches;
    assert_eq!(
        told,
        [
            Mismatch::Excludes(type_name::<B>().into()),
            Mismatch::Lacks(a.into())
        ]
    );
}
