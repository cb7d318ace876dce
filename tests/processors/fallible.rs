//! Processors that say that they could not do what they are there for.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use core::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use megachunk::entity::Full;
use megachunk::prelude::*;
use megachunk::processor::{Execution, ProcessorError};

/// What a test's processor says.
#[derive(Debug, PartialEq)]
struct Lame(u32);

impl core::fmt::Display for Lame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "lame on {} legs", self.0)
    }
}

impl Error for Lame {}

fn failed(error: ScheduleError) -> (String, ProcessorError) {
    match error {
        ScheduleError::Failed {
            processor, error, ..
        } => (processor.into(), error),
        other => panic!("{other}"),
    }
}

#[test]
fn an_error_ends_the_run_with_the_processor_s_name_and_the_error() {
    let mut world = World::new();
    world.resources_mut().insert(0_u32);
    let mut schedule = Schedule::new();
    schedule
        .add(processor("before", |seen: &mut u32| *seen += 1))
        .add(
            processor("walk", |seen: &u32| match seen {
                0..2 => Ok(()),
                &legs => Err(Lame(legs)),
            })
            .after("before"),
        )
        .add(processor("behind", |seen: &mut u32| *seen += 100).after("walk"))
        .add(processor("later", |seen: &mut u32| *seen += 1_000).phase(Phase::FrameEnd));
    schedule.run(&mut world).unwrap();
    assert_eq!(world.resources().get::<u32>().unwrap(), &1_101);
    let error = schedule.run(&mut world).unwrap_err();
    assert_eq!(error.to_string(), "processor `walk`: lame on 1102 legs");
    assert!(error.source().is_none(), "what it says has been shown");
    let (name, said) = failed(error.clone());
    assert_eq!((&*name, said.downcast_ref()), ("walk", Some(&Lame(1_102))));
    assert!(said.downcast_ref::<Full>().is_none());
    assert_eq!(said.as_error().downcast_ref(), Some(&Lame(1_102)));
    assert_eq!(said.as_error().to_string(), said.to_string());
    // One that is cloned is the same error, and one that says the same is not.
    let again = schedule.run(&mut world).unwrap_err();
    assert_eq!(error, error.clone());
    assert_ne!(error, again);
    assert_eq!(
        world.resources().get::<u32>().unwrap(),
        &1_103,
        "nobody behind it"
    );
    *world.resources_mut().get_mut::<u32>().unwrap() = 0;
    schedule.run(&mut world).unwrap();
}

/// An error with another behind it.
#[derive(Debug)]
struct Behind(Lame);

impl core::fmt::Display for Behind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("cannot walk")
    }
}

impl Error for Behind {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// What an error says, and what each source behind it does.
fn told(error: &dyn Error) -> Vec<String> {
    let behind = error.source().map(told).unwrap_or_default();
    std::iter::once(error.to_string()).chain(behind).collect()
}

#[test]
fn who_goes_from_source_to_source_is_told_nothing_twice() {
    let mut schedule = Schedule::new();
    schedule.add(processor("walk", || Err(Behind(Lame(3)))));
    let error = schedule.run(&mut World::new()).unwrap_err();
    let says = "processor `walk`: cannot walk";
    assert_eq!(told(&error), [says, "lame on 3 legs"]);
    let mut app = App::new();
    app.add("bad", Simulation::new(World::new(), schedule))
        .set_rate(Rate::EveryFrame);
    let error = app.update(Duration::from_millis(1)).unwrap_err();
    let says = format!("simulation `bad`: {says}");
    assert_eq!(told(&error), [&*says, "lame on 3 legs"]);
}

/// Gives an error back from its second run on.
struct Walks {
    runs: u32,
}

impl Processor for Walks {
    type Params = (&'static mut u32,);
    type Output = Result<(), Lame>;

    fn execute(&mut self, (steps,): (&mut u32,)) -> Self::Output {
        self.runs += 1;
        *steps += 1;
        match self.runs {
            1 => Ok(()),
            runs => Err(Lame(runs)),
        }
    }
}

#[test]
fn a_struct_may_fail_and_keeps_what_it_has() {
    let mut world = World::new();
    world.resources_mut().insert(0_u32);
    let mut schedule = Schedule::new();
    schedule.add(ProcessorBuilder::of("walks", Walks { runs: 0 }));
    schedule.run(&mut world).unwrap();
    for runs in 2..4 {
        let error = schedule.run(&mut world).unwrap_err();
        let (name, said) = failed(error);
        let said = (&*name, said.downcast_ref());
        assert_eq!(said, ("walks", Some(&Lame(runs))));
    }
    assert_eq!(world.resources().get::<u32>().unwrap(), &3);
}

#[test]
fn whatever_is_an_error_may_be_given_back() {
    type Boxed = Box<dyn Error + Send + Sync>;
    let mut world = World::new();
    world.resources_mut().insert(1_u32);
    let say = |schedule: &mut Schedule, world: &mut World| {
        let error = schedule.run(world).unwrap_err();
        let (_, said) = failed(error);
        (said.to_string(), format!("{said:?}"))
    };
    let processors = [
        processor("text", |_: &u32| Err::<(), _>("no")),
        processor("owned", |_: &u32| Err::<(), _>(String::from("no"))),
        processor("boxed", |_: &u32| Err::<(), Boxed>("no".into())),
        processor("alone", |_: &u32| Err::<(), _>("no")).main_thread(),
        exclusive_processor("exclusive", |_| Err("no")),
        exclusive_processor("both", |world| {
            world.create((1_u8,)).map_err(|error| error.to_string())?;
            Err::<(), String>("no".into())
        }),
    ];
    for one in processors {
        let mut schedule = Schedule::new();
        schedule.add(one);
        let said = say(&mut schedule, &mut world);
        assert_eq!(said, ("no".into(), "\"no\"".into()));
    }
    assert_eq!(world.count(), 1, "what had been done stays");
    let mut schedule = Schedule::new();
    schedule.add(processor("create", |mut commands: Commands| {
        let ant = commands.create((1_u8,))?;
        commands.add(ant, (2_u16,))?;
        Ok::<(), WorldError>(())
    }));
    schedule.run(&mut world).unwrap();
    assert_eq!(world.read::<(&u8, &u16), ()>().unwrap().iter().count(), 1);
    // Who never comes to an end gives back nothing at all.
    schedule.add(processor("never", |_: &u32| panic!("not yet")));
    schedule.add(exclusive_processor("never either", |_| panic!("not yet")));
    let panicked = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world)));
    let told = panicked.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*told, "processor `never` panicked: not yet");
}

#[test]
fn what_was_recorded_waits_for_the_next_flush() {
    for execution in [Execution::Alone, Execution::Beside] {
        let mut world = World::new();
        let mut schedule = Schedule::new();
        schedule.set_execution(execution);
        schedule
            .add(processor("record", |mut commands: Commands| {
                commands.create((1_u8,)).map(drop)
            }))
            .add(
                processor("fail", |mut commands: Commands| {
                    commands.create((2_u8,)).map(drop)?;
                    Err::<(), Box<dyn Error + Send + Sync>>("and not more".into())
                })
                .after("record"),
            );
        let (name, _) = failed(schedule.run(&mut world).unwrap_err());
        assert_eq!(name, "fail");
        assert_eq!((world.count(), world.pending().entities), (0, 2));
        assert_eq!(world.flush().created, 2);
        world.check().unwrap();
    }
}

#[test]
fn of_several_the_first_in_order_is_told_and_a_panic_before_all() {
    let mut world = World::new();
    world.resources_mut().insert(1_u32);
    for execution in [Execution::Alone, Execution::Beside] {
        let mut schedule = Schedule::new();
        schedule.set_execution(execution);
        for number in 0..8 {
            let name = format!("p{number}");
            schedule.add(processor(name, move |_: &u32| Err::<(), _>(Lame(number))));
        }
        let (name, said) = failed(schedule.run(&mut world).unwrap_err());
        if execution == Execution::Alone {
            assert_eq!(name, "p0");
        }
        let number: u32 = name[1..].parse().unwrap();
        assert_eq!(said.downcast_ref(), Some(&Lame(number)));
    }
    // The panic is told, though it comes later in order.
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let both = Arc::new(Barrier::new(2));
    let meet = Arc::clone(&both);
    schedule
        .add(processor("fails", move |_: &u32| {
            both.wait();
            Err::<(), _>(Lame(1))
        }))
        .add(processor("panics", move |seen: &u32| {
            meet.wait();
            assert_eq!(*seen, 0, "seen");
        }));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build();
    let pool = pool.expect("threads can be had");
    let run = || pool.install(|| schedule.run(&mut world));
    let panicked = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let told = panicked.downcast::<String>().unwrap();
    assert!(told.starts_with("processor `panics` panicked"), "{told}");
}

#[test]
fn who_has_failed_has_run_and_is_in_a_trace_and_conditions_are_asked_first() {
    let mut world = World::new();
    world.resources_mut().insert(false);
    let mut schedule = Schedule::new();
    schedule
        .add(processor("fails", |_: &bool| Err::<(), _>(Lame(3))).run_if(|today: &bool| *today));
    schedule.add(
        exclusive_processor("alone", |_| Err(Lame(4)))
            .run_if(|today: &bool| *today)
            .phase(Phase::FrameEnd),
    );
    let traced = |schedule: &mut Schedule, world: &mut World| {
        schedule.start_trace();
        let run = schedule.run(world);
        let mut text = Vec::new();
        schedule.take_trace().unwrap().write_to(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let there = ["fails", "alone"].map(|name| text.contains(&format!("\"{name}\"")));
        (run, there)
    };
    let (run, there) = traced(&mut schedule, &mut world);
    assert_eq!((run.unwrap().idle, there), (2, [false, false]));
    world.resources_mut().insert(true);
    let (run, there) = traced(&mut schedule, &mut world);
    assert_eq!(
        (&*failed(run.unwrap_err()).0, there),
        ("fails", [true, false])
    );
    schedule.set_enabled("fails", false).unwrap();
    let (run, there) = traced(&mut schedule, &mut world);
    assert_eq!(
        (&*failed(run.unwrap_err()).0, there),
        ("alone", [false, true])
    );
}

/// An error that does not want to go.
#[derive(Debug)]
struct Clingy;

impl core::fmt::Display for Clingy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "clingy")
    }
}

impl Error for Clingy {}

impl Drop for Clingy {
    fn drop(&mut self) {
        panic!("it does not go");
    }
}

#[test]
fn errors_that_nobody_hears_of_end_quietly_and_none_is_left_for_the_next_run() {
    let mut world = World::new();
    world.resources_mut().insert(true);
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let both = Arc::new(Barrier::new(2));
    for number in 0..2 {
        let both = Arc::clone(&both);
        schedule.add(processor(format!("p{number}"), move |clings: &bool| {
            if *clings {
                // Both have begun before either fails.
                both.wait();
                return Err(Clingy);
            }
            Ok(())
        }));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build();
    let pool = pool.expect("threads can be had");
    for _ in 0..20 {
        world.resources_mut().insert(true);
        let error = pool.install(|| schedule.run(&mut world)).unwrap_err();
        assert_eq!(error.to_string(), "processor `p0`: clingy");
        catch_unwind(AssertUnwindSafe(|| drop(error))).unwrap_err();
        world.resources_mut().insert(false);
        assert_eq!(pool.install(|| schedule.run(&mut world)).unwrap().ran, 2);
    }
}

#[test]
fn of_an_app_a_panic_goes_on_though_an_error_beside_it_does_not_want_to_go() {
    let mut app = App::new();
    let mut fails = Schedule::new();
    fails.add(processor("fails", |_: Local<u32>| Err::<(), _>(Clingy)));
    let mut panics = Schedule::new();
    panics.add(processor("panics", |_: Local<u32>| -> ProcessorResult {
        panic!("for real")
    }));
    app.add("one", Simulation::new(World::new(), fails));
    app.add("two", Simulation::new(World::new(), panics));
    let update = || app.update(Duration::from_millis(20));
    let told = catch_unwind(AssertUnwindSafe(update))
        .map(drop)
        .unwrap_err();
    let told = told.downcast::<String>().unwrap();
    assert_eq!(
        *told,
        "simulation `two`: processor `panics` panicked: for real"
    );
}
