//! States of an application that are asked for by commands, and transitions that are broken off.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::said::{Said, run, said, say, world};
use megachunk::prelude::*;

fn playing() -> World {
    let mut world = world();
    world.init_state("playing");
    world.resources_mut().insert(Breaks(false));
    world
}

fn next(world: &mut World) -> &mut NextState<&'static str> {
    world.resources_mut().get_mut().unwrap()
}

fn current(world: &World) -> &'static str {
    world.resources().get::<State<&str>>().unwrap().current()
}

/// Whether the next transition is broken off between its two parts.
struct Breaks(bool);

/// With the transition, what breaks it off, and who builds the state "playing", before it or behind it.
fn builds(behind: bool) -> Schedule {
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<&str>("screen"));
    let breaks = processor("break", |breaks: &mut Breaks| {
        assert!(!core::mem::take(&mut breaks.0), "broken off");
    });
    schedule.add(breaks.after("screen.change").before("screen.destroy"));
    let build = processor("build", |mut commands: Commands, said: &mut Said| {
        said.0.push("build".into());
        commands.create((1_u8, WithinState("playing"))).unwrap();
    });
    let build = build.run_if_entered("playing");
    schedule.add(match behind {
        false => build.before("screen"),
        true => build.after("screen"),
    });
    schedule
}

fn break_off(schedule: &mut Schedule, world: &mut World) {
    world.resources_mut().insert(Breaks(true));
    let ran = catch_unwind(AssertUnwindSafe(|| schedule.run(world).map(drop)));
    assert!(ran.is_err());
    assert!(!world.resources().get::<Breaks>().unwrap().0);
}

#[test]
fn a_state_that_is_entered_again_is_told_once_more_where_its_transition_was_broken_off() {
    for behind in [false, true] {
        let (mut world, mut schedule) = (playing(), builds(behind));
        run(&mut schedule, &mut world);
        run(&mut schedule, &mut world);
        assert_eq!((said(&mut world).len(), world.count()), (1, 1));
        next(&mut world).reenter("playing");
        break_off(&mut schedule, &mut world);
        // Those of before are there still.
        assert_eq!(world.count(), 1);
        run(&mut schedule, &mut world);
        run(&mut schedule, &mut world);
        assert_eq!(world.count(), 1, "behind: {behind}");
        // Who comes before has seen it in the run with which the others were destroyed, too.
        assert_eq!(said(&mut world).len(), if behind { 1 } else { 2 });
        run(&mut schedule, &mut world);
        assert_eq!((said(&mut world).len(), world.count()), (0, 1));
        world.check().unwrap();
    }
}

#[test]
fn what_is_asked_for_waits_until_a_state_that_is_entered_again_was_told() {
    let (mut world, mut schedule) = (playing(), builds(true));
    schedule.add(say("left").after("screen").run_if_left("playing"));
    run(&mut schedule, &mut world);
    next(&mut world).reenter("playing");
    break_off(&mut schedule, &mut world);
    said(&mut world);
    next(&mut world).set("menu");
    run(&mut schedule, &mut world);
    assert_eq!(current(&world), "playing");
    assert_eq!(said(&mut world), ["build", "left"]);
    run(&mut schedule, &mut world);
    assert_eq!((current(&world), world.count()), ("menu", 0));
    assert_eq!(said(&mut world), ["left"]);
    // It is told once more, and not for ever: also if it is broken off again.
    next(&mut world).set("playing");
    run(&mut schedule, &mut world);
    next(&mut world).reenter("playing");
    break_off(&mut schedule, &mut world);
    break_off(&mut schedule, &mut world);
    said(&mut world);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), [""; 0]);
}

#[test]
fn a_transition_to_another_state_that_was_broken_off_is_not_told_again() {
    let (mut world, mut schedule) = (playing(), builds(false));
    next(&mut world).set("menu");
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    said(&mut world);
    next(&mut world).set("playing");
    break_off(&mut schedule, &mut world);
    for _ in 0..3 {
        run(&mut schedule, &mut world);
    }
    assert_eq!(said(&mut world), ["build"]);
}

#[test]
fn a_state_that_is_asked_for_anew_by_a_command_is_left_and_entered_again() {
    let (mut world, mut schedule) = (playing(), builds(true));
    run(&mut schedule, &mut world);
    let built = world.count();
    said(&mut world);
    for (reenters, expected) in [(false, 0), (true, 1)] {
        let mut commands = world.commands();
        commands.set_state("menu");
        match reenters {
            false => commands.set_state("playing"),
            true => commands.reenter_state("playing"),
        }
        drop(commands);
        run(&mut schedule, &mut world);
        assert_eq!(said(&mut world).len(), expected);
    }
    // The last has it.
    let mut commands = world.commands();
    commands.reenter_state("playing");
    commands.set_state("playing");
    drop(commands);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), [""; 0]);
    run(&mut schedule, &mut world);
    assert_eq!((built, world.count()), (1, 1));
}

#[test]
fn a_state_that_no_world_has_is_refused_by_its_name_and_of_no_entity() {
    let mut world = world();
    let mut commands = world.commands();
    commands.set_state(7_u8);
    commands.reenter_state('7');
    drop(commands);
    let report = world.flush();
    let names = report.refused.iter().map(|refused| match &refused.error {
        WorldError::NoState { name, .. } => &**name,
        error => panic!("{error}"),
    });
    assert_eq!(names.collect::<Vec<_>>(), ["u8", "char"]);
    let text = report.to_string();
    let refused: Vec<_> = text.lines().skip(2).collect();
    let begins = "the world has no state `u8`: `World::init_state` puts it there; recorded ";
    assert!(refused[0].starts_with(begins), "{text}");
    assert!(
        refused[1].starts_with("the world has no state `char`"),
        "{text}"
    );
}
