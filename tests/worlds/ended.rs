//! Worlds that end while somebody has something of them. (What that takes is in `tests/world_ends.rs`.)

use std::sync::Arc;

use megachunk::prelude::*;

use crate::ending::{ENTITIES, schedule, world};

#[test]
fn a_world_ends_whole_whoever_keeps_something_of_it() {
    for new in [Universe::new, Universe::ordered] {
        let universe = Arc::new(new());
        let mut first = world(&universe);
        let commands = first.parallel_commands();
        commands.open().create((2_u64,)).unwrap();
        let mut schedule = schedule();
        schedule.run(&mut first).unwrap();
        commands.open().create((3_u64,)).unwrap();
        drop(first);
        assert!(commands.has_ended());
        assert_eq!(universe.count(), 0);
        // What is recorded now is for nobody.
        commands.open().create((4_u64,)).unwrap();
        assert_eq!(universe.count(), 0);
        // Its number is another's only when nobody has anything of it.
        let mut second = world(&universe);
        schedule.run(&mut second).unwrap();
        drop(commands);
        second.check().unwrap();
        assert_eq!(universe.count() as u64, ENTITIES);
    }
}

#[test]
fn a_schedule_is_of_a_world_until_that_ends_and_of_no_other_meanwhile() {
    let mut first = World::new();
    let mut second = World::new();
    let mut schedule = schedule();
    schedule.run(&mut first).unwrap();
    assert!(matches!(
        schedule.run(&mut second),
        Err(ScheduleError::OtherWorld)
    ));
    drop(first);
    schedule.run(&mut second).unwrap();
    schedule.run(&mut second).unwrap();
}

#[test]
fn a_simulation_that_ends_lets_its_processors_go_before_its_world() {
    use std::sync::Mutex;

    struct Last(&'static str, Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    let told = Arc::new(Mutex::new(Vec::new()));
    let mut world = World::new();
    world
        .create((Last("fragment", Arc::clone(&told)),))
        .unwrap();
    world
        .resources_mut()
        .insert(Last("resource", Arc::clone(&told)));
    let last = Last("processor", Arc::clone(&told));
    let mut schedule = Schedule::new();
    schedule.add(processor("keeps", move |_: &Last| {
        let last = &last;
        assert_eq!(last.0, "processor");
    }));
    let stopped = Last("stop", Arc::clone(&told));
    schedule
        .add(processor("stops", || {}).on_stop(move |_| stopped.1.lock().unwrap().push("stopped")));
    let mut simulation = Simulation::new(world, schedule);
    simulation.advance(core::time::Duration::ZERO).unwrap();
    drop(simulation);
    // Nobody is stopped: who wants that says so before.
    assert_eq!(
        *told.lock().unwrap(),
        ["stop", "processor", "fragment", "resource"]
    );
}
