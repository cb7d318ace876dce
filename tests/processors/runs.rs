//! What a run needs: the resources that its processors ask for, and the one world that its schedule is of.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use megachunk::prelude::*;
use megachunk::processor::Execution;

use crate::pool;
use crate::said::{Said, run, said, say, world};

#[test]
fn the_first_resource_that_is_missing_is_the_error_and_nobody_of_its_phase_has_run() {
    for threads in [1, 4] {
        for execution in [Execution::Alone, Execution::Beside] {
            let mut world = world();
            let mut schedule = Schedule::new();
            schedule.set_execution(execution);
            schedule.add(say("before").phase(Phase::PrePhysics));
            for later in [
                processor("many", || {}),
                say("works"),
                processor("first", |_: Option<&u8>, _: &mut String, _: &i8| {}),
                processor("off", |_: &u64| {}),
                processor("second", |_: &Vec<u8>| {}),
            ] {
                schedule.add(later.phase(Phase::PostPhysics));
            }
            schedule.set_enabled("off", false).unwrap();
            let misses = |schedule: &mut Schedule, world: &mut World, who: &str, what: &str| {
                let error = schedule.run(world).unwrap_err();
                let ScheduleError::NoResource {
                    processor, name, ..
                } = error
                else {
                    panic!("{error}");
                };
                assert!(
                    &*processor == who && name.contains(what),
                    "{processor}: {name}"
                );
                assert_eq!(said(world), ["before"]);
            };
            pool(threads).install(|| {
                misses(&mut schedule, &mut world, "first", "String");
                world.resources_mut().insert(String::new());
                misses(&mut schedule, &mut world, "first", "i8");
                world.resources_mut().get_or_insert_with(|| 1_i8);
                misses(&mut schedule, &mut world, "second", "Vec<u8>");
                world.resources_mut().insert(Vec::<u8>::new());
                for _ in 0..2 {
                    run(&mut schedule, &mut world);
                    assert_eq!(said(&mut world), ["before", "works"]);
                }
                // Who begins to run, and what goes, is seen.
                schedule.set_enabled("off", true).unwrap();
                misses(&mut schedule, &mut world, "off", "u64");
                world.resources_mut().insert(1_u64);
                run(&mut schedule, &mut world);
                assert_eq!(said(&mut world), ["before", "works"]);
                world.resources_mut().remove::<String>();
                misses(&mut schedule, &mut world, "first", "String");
                world.resources_mut().insert(String::new());
                run(&mut schedule, &mut world);
                assert_eq!(said(&mut world), ["before", "works"]);
                let mut others = crate::said::world();
                core::mem::swap(world.resources_mut(), others.resources_mut());
                misses(&mut schedule, &mut world, "first", "String");
            });
        }
    }
}

#[test]
fn a_resource_may_come_with_the_flush_before_it_is_asked_for() {
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule.add(processor("gives", |mut commands: Commands| {
        commands.defer(|world: &mut World| {
            world.resources_mut().insert(7_u64);
        });
    }));
    let takes = processor("takes", |number: &u64, said: &mut Said| {
        said.0.push(number.to_string());
    });
    schedule.add(takes.phase(Phase::PostPhysics));
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["7"]);
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
