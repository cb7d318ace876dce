//! Processors that are taken out together, put in another's place, and listed.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use crate::said::{Said, run, said, say, world};
use megachunk::prelude::*;
use megachunk::processor::ProcessorInfo;

/// What hooks say, in order.
type Heard = Arc<Mutex<Vec<String>>>;

/// Says its name, and when it is started and stopped.
fn hooked(name: &'static str, heard: &Heard) -> ProcessorBuilder {
    let (started, stopped) = (Arc::clone(heard), Arc::clone(heard));
    say(name)
        .on_start(move |_| started.lock().unwrap().push(format!("start {name}")))
        .on_stop(move |_| stopped.lock().unwrap().push(format!("stop {name}")))
}

fn taken(heard: &Heard) -> Vec<String> {
    core::mem::take(&mut heard.lock().unwrap())
}

#[test]
fn a_group_is_taken_out_with_those_in_it() {
    let mut world = world();
    let heard = Heard::default();
    let mut schedule = Schedule::new();
    for (name, group) in [("a", "M"), ("b", ""), ("c", "M.Deep"), ("d", "Mother")] {
        schedule.add(hooked(name, &heard).group(group));
    }
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["a", "b", "c", "d"]);
    taken(&heard);
    assert_eq!(schedule.remove_all(&mut world, "M"), Ok(2));
    assert_eq!(taken(&heard), ["stop a", "stop c"]);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["b", "d"]);
    // A name is as good; and what nobody has is an error.
    assert_eq!(schedule.remove_all(&mut world, "d"), Ok(1));
    for nobody in ["M", "d", "Moth", ""] {
        let error = schedule.remove_all(&mut world, nobody).unwrap_err();
        assert!(matches!(error, ScheduleError::NoProcessor { .. }));
    }
    assert_eq!(schedule.len(), 1);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["b"]);
    assert_eq!(taken(&heard), ["stop d"]);
}

#[test]
fn what_ran_on_another_world_is_neither_taken_out_nor_replaced() {
    let (mut world, mut other) = (world(), World::new());
    let mut schedule = Schedule::new();
    schedule.add(say("a").group("M"));
    run(&mut schedule, &mut world);
    let refused = schedule.remove_all(&mut other, "M");
    assert_eq!(refused, Err(ScheduleError::OtherWorld));
    let refused = schedule.replace(&mut other, say("a"));
    assert_eq!(refused, Err(ScheduleError::OtherWorld));
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["a", "a"]);
}

#[test]
fn stops_and_drops_that_panic_leave_all_of_a_group_out() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the second");
        }
    }
    let mut world = world();
    let heard = Heard::default();
    let mut schedule = Schedule::new();
    let bomb = Bomb;
    schedule.add(say("a").group("M").on_stop(|_| panic!("the first")));
    schedule.add(
        processor("b", move || {
            let _ = &bomb;
        })
        .group("M"),
    );
    schedule.add(hooked("c", &heard).group("M"));
    run(&mut schedule, &mut world);
    taken(&heard);
    let panicked = catch_unwind(AssertUnwindSafe(|| schedule.remove_all(&mut world, "M")));
    let said = panicked.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*said, "processor `a` panicked: the first");
    assert_eq!(taken(&heard), ["stop c"]);
    assert!(schedule.is_empty());
    assert_eq!(run(&mut schedule, &mut world).ran, 0);
}

#[test]
fn one_that_is_replaced_leaves_its_place_among_equals() {
    let mut world = world();
    let heard = Heard::default();
    let mut schedule = Schedule::new();
    for name in ["a", "b", "c"] {
        schedule.add(hooked(name, &heard));
    }
    run(&mut schedule, &mut world);
    said(&mut world);
    taken(&heard);
    let new = processor("b", |said: &mut Said, mut runs: Local<u32>| {
        *runs += 1;
        said.0.push(format!("new b, run {}", *runs));
    });
    schedule.replace(&mut world, new).unwrap();
    assert_eq!(taken(&heard), ["stop b"]);
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    let twice = ["a", "new b, run 1", "c", "a", "new b, run 2", "c"];
    assert_eq!(said(&mut world), twice);
    // Who has not been solved has not been started; and who has no name like it is not replaced.
    schedule.replace(&mut world, hooked("c", &heard)).unwrap();
    schedule.replace(&mut world, hooked("c", &heard)).unwrap();
    assert_eq!(taken(&heard), ["stop c"]);
    let refused = schedule.replace(&mut world, say("ghost")).unwrap_err();
    assert!(matches!(refused, ScheduleError::NoProcessor { .. }));
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["a", "new b, run 3", "c"]);
    assert_eq!(taken(&heard), ["start c"]);
    assert_eq!(schedule.len(), 3);
}

#[test]
fn one_that_is_replaced_though_its_stop_panics_is_replaced() {
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule.add(say("a").on_stop(|_| panic!("never")));
    run(&mut schedule, &mut world);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        schedule.replace(
            &mut world,
            processor("a", |said: &mut Said| said.0.push("new".into())),
        )
    }));
    assert!(panicked.is_err());
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["a", "new"]);
}

/// Reloaded between two runs, in the same world as one that is not: the same world, bit for bit.
#[test]
fn a_processor_that_is_loaded_anew_gives_the_same_world() {
    let move_by = |step: u64| {
        processor("move", move |mut all: QueryRun<&mut u64>| {
            all.for_each(|at| *at = at.wrapping_mul(3).wrapping_add(step));
        })
    };
    let mut hashes = Vec::new();
    for reloaded in [false, true] {
        let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
        world.registry().register_plain::<u64>().unwrap();
        let _ = world.create_batch((0..100_u64).map(|n| (n,))).unwrap();
        let mut schedule = Schedule::new();
        schedule.add(move_by(1));
        schedule.add(processor(
            "breed",
            |mut all: QueryRun<&u64>, mut commands: Commands| {
                all.for_each(|&at| {
                    if at % 5 == 0 {
                        commands.create((at + 1,)).unwrap();
                    }
                });
            },
        ));
        for _ in 0..4 {
            run(&mut schedule, &mut world);
            if reloaded {
                schedule.replace(&mut world, move_by(1)).unwrap();
            }
        }
        hashes.push((world.state_hash(&Default::default()), world.count()));
    }
    assert!(hashes[0].1 > 100);
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn signals_for_the_one_that_is_replaced_are_not_for_the_new_one() {
    let mut world = world();
    let owl = world.create((1_u8,)).unwrap();
    let hoot = world.signal::<u32>("hoot").unwrap();
    let hears = || {
        processor("hear", move |mut heard: Signalled<&u8>, said: &mut Said| {
            let _ = heard.deliver(|_, received| {
                said.0.extend(received.of(hoot).map(ToString::to_string));
            });
        })
        .hears::<u32>("hoot")
    };
    let mut schedule = Schedule::new();
    schedule.add(hears().enabled(false));
    run(&mut schedule, &mut world);
    world.signals().send(hoot, owl, 1);
    run(&mut schedule, &mut world);
    schedule.replace(&mut world, hears()).unwrap();
    run(&mut schedule, &mut world);
    assert!(said(&mut world).is_empty());
    world.signals().send(hoot, owl, 2);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["2"]);
}

#[test]
fn processors_are_listed_with_their_places() {
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule.add(say("late").phase(Phase::FrameEnd).enabled(false));
    schedule.add(say("b").group("G.Deep"));
    schedule.add(say("a").before("G"));
    let places = |schedule: &Schedule| -> Vec<_> {
        let infos = schedule.processors();
        infos
            .map(|info| (info.name.to_owned(), info.place))
            .collect()
    };
    let unsolved = [("late", None), ("b", None), ("a", None)];
    assert_eq!(
        places(&schedule),
        unsolved.map(|(name, place)| (name.into(), place))
    );
    schedule.solve(&mut world).unwrap();
    let solved = [("late", Some(2)), ("b", Some(1)), ("a", Some(0))];
    assert_eq!(
        places(&schedule),
        solved.map(|(name, place)| (name.into(), place))
    );
    let infos: Vec<ProcessorInfo> = schedule.processors().collect();
    let told = |at: usize| (infos[at].phase, infos[at].group, infos[at].enabled);
    assert_eq!(told(0), (Phase::FrameEnd, "", false));
    assert_eq!(told(1), (Phase::PrePhysics, "G.Deep", true));
    assert!(infos[2].made_at.file().ends_with("said.rs"));
    schedule.set_enabled("late", true).unwrap();
    assert!(schedule.processors().next().unwrap().enabled);
    schedule.remove(&mut world, "a").unwrap();
    assert_eq!(
        schedule.processors().map(|info| info.place).max(),
        Some(None)
    );
}
