//! Simulations of an app that could not go on.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::processor::Broken;

const STEP: Duration = Duration::from_millis(1);

fn one(play: impl FnMut() -> ProcessorResult + Send + Sync + 'static) -> Simulation {
    let mut schedule = Schedule::new();
    schedule.add(processor("play", play));
    Simulation::new(World::new(), schedule)
}

fn app() -> App {
    let mut app = App::new();
    app.add("good", one(|| Ok(())));
    app.add("failing", one(|| Err("no more".into())));
    app.add("panicking", one(|| resume_unwind(Box::new("a fault"))));
    app.add("also good", one(|| Ok(())));
    app
}

#[test]
fn each_that_is_broken_is_told_by_name_and_the_others_go_on() {
    let mut app = app();
    for round in 1..=2 {
        let mut told = Vec::new();
        app.update_each(STEP, |name, simulation, why| {
            assert_eq!(simulation.tick(), round);
            let panicked = matches!(why, Broken::Panicked(_));
            told.push((name.to_owned(), panicked, why.to_string()));
        });
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!((&*told[0].0, told[0].1), ("failing", false));
        assert!(told[0].2.contains("no more"), "{told:?}");
        assert_eq!((&*told[1].0, told[1].1), ("panicking", true));
        assert_eq!(told[1].2, "processor `play` panicked: a fault");
        assert!(app.iter().all(|(_, simulation)| simulation.tick() == round));
    }
}

#[test]
fn who_is_told_and_panics_is_told_of_all() {
    let mut app = app();
    let mut told = 0;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        app.update_each(STEP, |_, _, _| {
            told += 1;
            resume_unwind(Box::new(told));
        });
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&1));
    assert_eq!(told, 2);
}

#[test]
fn a_panic_of_an_update_says_whose_it_is() {
    let mut app = app();
    let panicked = catch_unwind(AssertUnwindSafe(|| app.update(STEP))).unwrap_err();
    let says = panicked.downcast_ref::<String>().unwrap();
    assert_eq!(
        says,
        "simulation `panicking`: processor `play` panicked: a fault"
    );
}

#[test]
fn those_that_stay_keep_their_order_and_all_stay_if_the_question_panics() {
    let mut app = app();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        app.retain(|name, _| match name {
            "panicking" => resume_unwind(Box::new("asked")),
            _ => false,
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(app.iter().count(), 4);
    app.retain(|name, _| name.ends_with("good"));
    assert!(app.iter().map(|(name, _)| name).eq(["good", "also good"]));
    app.iter_mut().for_each(|(_, simulation)| {
        simulation.pause();
    });
    assert!(app.iter().all(|(_, simulation)| simulation.is_paused()));
}

#[test]
fn those_that_go_have_all_gone_if_something_in_them_panics() {
    struct Brittle(u32);
    impl Drop for Brittle {
        fn drop(&mut self) {
            resume_unwind(Box::new(self.0));
        }
    }
    let mut app = app();
    for number in 1..=2 {
        let mut brittle = one(|| Ok(()));
        brittle.world_mut().resources_mut().insert(Brittle(number));
        app.add(format!("brittle {number}"), brittle);
    }
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        app.retain(|name, _| name == "good");
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&1_u32));
    assert!(app.iter().map(|(name, _)| name).eq(["good"]));
}
