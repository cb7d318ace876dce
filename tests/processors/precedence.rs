//! In which order observers are called: that of their places, whatever was switched, replaced or exchanged meanwhile.

use std::collections::BTreeSet;

use megachunk::observer::ObserverId;
use megachunk::prelude::*;

use crate::said::{Said, run, said, world};

struct Lit;

/// Says a word when it is called.
fn word(word: &str) -> impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + use<> {
    let word = word.to_owned();
    move |batch, _| {
        let said = batch.resources_mut().get_mut::<Said>();
        said.expect("it is there").0.push(word.clone());
    }
}

/// An observer that says a word.
fn sees(name: &str, says: &str) -> ProcessorBuilder {
    observing_processor::<Lit, ()>(name, Observed::CREATE, word(says))
}

fn observe(world: &mut World, says: &str) -> ObserverId {
    let id = world.observe::<Lit, ()>(Observed::CREATE, word(says));
    id.expect("it is right")
}

/// Who is called, in order; and so says the world.
fn called(world: &mut World) -> Vec<String> {
    world.create((Lit,)).expect("there is room");
    said(world)
}

fn switch(schedule: &mut Schedule, world: &mut World, name: &str, on: bool) {
    schedule.set_enabled(name, on).expect("it is there");
    run(schedule, world);
}

#[test]
fn observers_are_called_in_the_order_of_their_schedule_whatever_was_switched() {
    let mut world = world();
    let mut schedule = Schedule::new();
    for name in ["a", "b", "c"] {
        schedule.add(sees(name, name).enabled(name != "b"));
    }
    run(&mut schedule, &mut world);
    assert_eq!(called(&mut world), ["a", "c"]);
    switch(&mut schedule, &mut world, "b", true);
    assert_eq!(called(&mut world), ["a", "b", "c"], "it came late");
    switch(&mut schedule, &mut world, "a", false);
    assert_eq!(called(&mut world), ["b", "c"]);
    switch(&mut schedule, &mut world, "a", true);
    assert_eq!(called(&mut world), ["a", "b", "c"], "off, and on again");
    let names = world.observers().map(|info| info.processor);
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c"].map(Some));
    // All at once, and one before the others.
    schedule.stop(&mut world).expect("it is its world");
    assert!(called(&mut world).is_empty());
    run(&mut schedule, &mut world);
    assert_eq!(called(&mut world), ["a", "b", "c"]);
    // Others that a world has of its own, before and after.
    observe(&mut world, "early");
    switch(&mut schedule, &mut world, "b", false);
    observe(&mut world, "late");
    switch(&mut schedule, &mut world, "b", true);
    assert_eq!(called(&mut world), ["early", "late", "a", "b", "c"]);
}

#[test]
fn one_that_is_replaced_is_called_in_the_place_of_the_old_one() {
    let mut world = world();
    let mut schedule = Schedule::new();
    for name in ["a", "b", "c"] {
        schedule.add(sees(name, name));
    }
    run(&mut schedule, &mut world);
    let replace = |schedule: &mut Schedule, world: &mut World, name, says| {
        let replaced = schedule.replace(world, sees(name, says));
        replaced.expect("it is there");
        run(schedule, world);
    };
    replace(&mut schedule, &mut world, "b", "new b");
    assert_eq!(called(&mut world), ["a", "new b", "c"]);
    // Places stay apart when others go and come.
    schedule.remove(&mut world, "a").expect("it is there");
    schedule.add(sees("d", "d"));
    run(&mut schedule, &mut world);
    schedule.remove(&mut world, "b").expect("it is there");
    schedule.add(sees("a", "new a"));
    replace(&mut schedule, &mut world, "c", "new c");
    assert_eq!(called(&mut world), ["new c", "d", "new a"]);
}

#[test]
fn schedules_of_one_world_have_the_order_in_which_they_were_made() {
    let mut world = world();
    observe(&mut world, "world");
    let (mut first, mut second) = (Schedule::new(), Schedule::new());
    second.add(sees("a", "second a")).add(sees("b", "second b"));
    first.add(sees("a", "first a")).add(sees("b", "first b"));
    // The other way round.
    run(&mut second, &mut world);
    run(&mut first, &mut world);
    let all = ["world", "first a", "first b", "second a", "second b"];
    assert_eq!(called(&mut world), all);
    switch(&mut first, &mut world, "b", false);
    switch(&mut second, &mut world, "a", false);
    switch(&mut second, &mut world, "a", true);
    switch(&mut first, &mut world, "b", true);
    assert_eq!(called(&mut world), all);
    // Of one that ends the others keep their order; one that is moved is the same.
    let mut moved = core::mem::take(&mut first);
    first.add(sees("a", "third a"));
    run(&mut first, &mut world);
    switch(&mut moved, &mut world, "a", false);
    switch(&mut moved, &mut world, "a", true);
    let third = ["third a"];
    assert_eq!(called(&mut world), [&all[..], &third].concat());
    drop(second);
    assert_eq!(
        called(&mut world),
        ["world", "first a", "first b", "third a"]
    );
}

#[test]
fn in_a_world_that_is_rolled_back_to_all_are_called_as_before() {
    let mut schedule = Schedule::new();
    for name in ["a", "b", "c"] {
        schedule.add(sees(name, name).enabled(name != "a"));
    }
    let mut game = Simulation::new(world(), schedule);
    let tick = core::time::Duration::from_millis(10);
    game.advance(tick).expect("it runs");
    let schedule = game.schedule_mut();
    schedule.set_enabled("a", true).expect("it is there");
    game.advance(tick).expect("it runs");
    observe(game.world_mut(), "world");
    let before = called(game.world_mut());
    assert_eq!(before, ["world", "a", "b", "c"]);
    let mut other = world();
    observe(&mut other, "world");
    drop(game.roll_back_to(other));
    assert_eq!(called(game.world_mut()), before, "at once");
    game.advance(tick).expect("it runs");
    // One that could not come along comes to its place.
    let schedule = game.schedule_mut();
    schedule.set_enabled("b", false).expect("it is there");
    game.advance(tick).expect("it runs");
    let schedule = game.schedule_mut();
    schedule.set_enabled("b", true).expect("it is there");
    let mut other = world();
    observe(&mut other, "world");
    drop(game.roll_back_to(other));
    assert_eq!(called(game.world_mut()), ["world", "a", "c"]);
    game.advance(tick).expect("it runs");
    assert_eq!(called(game.world_mut()), before);
    // Nor does it matter that all start anew.
    drop(game.replace_world(world()));
    observe(game.world_mut(), "world");
    game.advance(tick).expect("it runs");
    assert_eq!(called(game.world_mut()), before);
}

/// Two schedules, of which processors come, go, are switched and replaced: the order is always that of those that are on.
#[test]
fn whatever_comes_and_goes_the_order_is_that_of_the_places() {
    let mut state = 7_u64;
    let mut number = move |limit: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let mut world = world();
    let mut schedules = [Schedule::new(), Schedule::new()];
    // By place: a name, and what it says if it is on.
    let mut places: [Vec<(String, String, bool)>; 2] = Default::default();
    let mut own: Vec<(ObserverId, String)> = Vec::new();
    let (mut next, mut most, mut lengths) = (0, 0, BTreeSet::new());
    for _ in 0..2_000 {
        let at = number(2);
        let (schedule, all) = (&mut schedules[at], &mut places[at]);
        let chosen = number(all.len().max(1));
        next += 1;
        let fresh = format!("{next}");
        match number(9) {
            0 | 1 if all.len() < 12 => {
                let on = number(2) == 0;
                schedule.add(sees(&fresh, &fresh).enabled(on));
                all.push((fresh.clone(), fresh, on));
            }
            2 if !all.is_empty() => {
                let (name, ..) = all.remove(chosen);
                schedule.remove(&mut world, &name).expect("it is there");
            }
            3 if !all.is_empty() => {
                let (name, says, on) = &mut all[chosen];
                let new = sees(name, &fresh).enabled(*on);
                schedule.replace(&mut world, new).expect("it is there");
                *says = fresh;
            }
            4 | 5 if !all.is_empty() => {
                let (name, _, on) = &mut all[chosen];
                *on = !*on;
                schedule.set_enabled(name, *on).expect("it is there");
            }
            6 if own.len() < 4 => own.push((observe(&mut world, &fresh), fresh)),
            7 if !own.is_empty() => {
                let (id, _) = own.remove(number(own.len()));
                assert!(world.unobserve(id));
            }
            8 => schedule.stop(&mut world).expect("it is its world"),
            _ => {}
        }
        // Either may be the first that starts somebody.
        for at in [at, 1 - at] {
            run(&mut schedules[at], &mut world);
        }
        let own = own.iter().map(|(_, says)| says);
        let on = places.iter().flatten().filter(|(.., on)| *on);
        let expected: Vec<&String> = own.chain(on.map(|(_, says, _)| says)).collect();
        most = most.max(expected.len());
        lengths.insert(expected.len());
        assert_eq!(called(&mut world).iter().collect::<Vec<_>>(), expected);
    }
    // More than are asked about each change as they stand, and fewer.
    assert!(most > 12 && lengths.first() < Some(&8), "{lengths:?}");
}
