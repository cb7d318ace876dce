//! Processors that panic: whose it was is said, and world and schedule go on.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::processor::Execution;

use crate::pool;
use crate::said::{run, said, say, world};

struct A(#[expect(dead_code, reason = "it is counted only")] u32);

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
fn a_panic_names_the_processor_though_it_comes_from_what_that_keeps() {
    static MADE: AtomicU32 = AtomicU32::new(0);
    struct Shy;
    impl Default for Shy {
        fn default() -> Self {
            assert!(MADE.fetch_add(1, Ordering::Relaxed) > 0, "the first time");
            Self
        }
    }
    let mut world = world();
    let mut schedule = Schedule::new();
    schedule.add(say("other"));
    schedule.add(processor("keeps", |_: Local<Shy>| {}));
    let panic = catch_unwind(AssertUnwindSafe(|| drop(schedule.run(&mut world))));
    let panic = panic.expect_err("it goes on");
    let text = panic.downcast_ref::<String>().expect("it is text");
    assert_eq!(text, "processor `keeps` panicked: the first time");
    assert_eq!(run(&mut schedule, &mut world).ran, 2);
    assert_eq!(said(&mut world), ["other"]);
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
fn a_panic_goes_on_though_somebody_before_was_refused() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    let (began, seen) = std::sync::mpsc::channel();
    schedule.add(processor("waits", move || {
        seen.recv().expect("it begins");
    }));
    // In its turn, as it has a condition.
    let asks = processor("asks", || {}).run_if(|_: &String| true);
    schedule.add(asks.after("waits"));
    schedule.add(processor("panics", move || {
        began.send(()).expect("somebody waits");
        std::thread::sleep(Duration::from_millis(50));
        panic!("a fault");
    }));
    let panic = pool(3).install(|| {
        catch_unwind(AssertUnwindSafe(|| {
            schedule.run(&mut world).map(|report| report.ran)
        }))
    });
    let panic = panic.expect_err("it goes on");
    let text = panic.downcast_ref::<String>().expect("it is text");
    assert!(text.contains("`panics`"), "{text}");
}
