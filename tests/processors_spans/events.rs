//! Events: what is told, and whose it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::processor::Tied;

use crate::heard::{Log, hear};
use crate::on_one_of_two_threads;

#[test]
fn what_makes_a_run_long_is_heard() {
    struct Tree;
    let mut world = World::new();
    world
        .resources_mut()
        .insert(Time::new(Duration::ZERO, Duration::ZERO, 41));
    let hit = world.signal::<()>("hit").expect("it is the first");
    let mut stone = None;
    // (Others that listen meanwhile would hear of the composition.)
    hear(|| stone = world.create((1_u8,)).ok());
    let stone = stone.expect("there is room");
    let mut schedule = Schedule::new();
    schedule.add(observing_processor::<Tree, ()>(
        "grow",
        Observed::COME,
        |_, _| {},
    ));
    world
        .observe::<Tree, ()>(Observed::COME, |_, _| tracing::info!("grows"))
        .expect("it is a fragment");
    schedule.add(processor("plant", |mut commands: Commands<'_>| {
        for _ in 0..20 {
            commands.create((Tree,)).expect("there is room");
        }
    }));
    schedule.add(processor("hear", |_: Signalled<'_, &u8>| {}).hears::<()>("hit"));
    schedule.solve(&mut world).expect("it is right");
    world.signals().send(hit, stone, ());
    let log = hear(|| {
        for _ in 0..2 {
            schedule.run(&mut world).expect("it runs");
        }
    });
    let runs = log.spans("run", "tick=41");
    assert_eq!(runs.len(), 2);
    for phase in log.spans("phase", "name=") {
        let run = log.parent(phase).expect("a run");
        assert!(run.is("run", ""), "{run:?}");
    }
    log.span("collect", "signals=1");
    // Twice, and once for a composition that has come.
    let solved = log.span("solve", "anew=false archetypes=1");
    assert!(log.parent(solved).is_some_and(|run| run.is("run", "")));
    let flushes = log.spans("flush", "created=20 destroyed=0 refused=0");
    assert_eq!(flushes.len(), 2, "{log:?}");
    for name in ["name=\"grow\"", "events.rs:"] {
        let calls = log.spans("observer", name);
        assert_eq!(calls.len(), 2, "{log:?}");
        for call in calls {
            assert!(call.fields.contains("entities=20"), "{call:?}");
            assert!(log.parent(call).is_some_and(|flush| flush.is("flush", "")));
        }
    }
    let mut events = log.events.iter();
    let new = events.find(|event| event.is("composition_added", "Tree"));
    let within = new.and_then(|event| log.parent(event));
    assert!(within.is_some_and(|flush| flush.is("flush", "")), "{log:?}");
    let grows = events.find(|event| event.fields.contains("grows"));
    let within = grows.and_then(|event| log.parent(event));
    assert!(within.is_some_and(|call| call.is("observer", "events.rs:")));
}

#[test]
fn a_trial_of_another_execution_is_told() {
    let mut world = World::new();
    let mut schedule = Schedule::new();
    for name in ["one", "two"] {
        schedule.add(processor(name, || {
            std::thread::sleep(Duration::from_millis(1))
        }));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("there are threads");
    let mut log = Log::default();
    for _ in 0..20 {
        log = hear(|| pool.install(|| _ = schedule.run(&mut world).expect("it runs")));
        if !log.events.is_empty() {
            break;
        }
    }
    let [trial] = &log.events[..] else {
        panic!("{log:?}");
    };
    assert!(
        trial.is("execution_tried", "beside=true first=\"one\""),
        "{trial:?}"
    );
    let phase = log.parent(trial).expect("a phase");
    assert!(phase.is("phase", "name=\"PrePhysics\""), "{phase:?}");
}

/// A processor of an app's simulation that tells something, and waits, as for a loop, until the others have come so far.
fn teller(name: &'static str, others: Arc<AtomicU32>) -> ProcessorBuilder {
    processor(name, move || {
        tracing::info!(name, "tells");
        others.fetch_add(1, Ordering::Relaxed);
        while rayon::yield_now() == Some(rayon::Yield::Executed) {}
    })
}

#[test]
fn what_a_simulation_tells_says_which_it_is() {
    let mut app = App::new();
    let told = Arc::new(AtomicU32::new(0));
    for name in ["city", "weather"] {
        let mut world = World::new();
        world.set_label(format!("the {name}"));
        let mut schedule = Schedule::new();
        schedule.add(teller(name, Arc::clone(&told)));
        app.add(name, Simulation::new(world, schedule)).set_tick(7);
    }
    for around in [false, true] {
        let log = hear(|| {
            on_one_of_two_threads(|| {
                let span = around.then(|| tracing::info_span!("frame"));
                let entered = span.as_ref().map(tracing::Span::enter);
                app.update(Duration::from_millis(20)).expect("it runs");
                drop(entered);
            });
        });
        let tells: Vec<_> = log
            .events
            .iter()
            .filter(|event| event.fields.contains("tells"))
            .collect();
        assert_eq!(tells.len(), 2);
        for event in tells {
            let name = if event.fields.contains("city") {
                "city"
            } else {
                "weather"
            };
            let mut of = log.parent(event).expect("a processor");
            let mut names = Vec::new();
            while let Some(next) = log.parent(of) {
                names.push(next.metadata.name());
                assert!(next.is("frame", "") || next.fields.contains(&format!("world=the {name}")));
                of = next;
            }
            let rest = ["phase", "run", "tick", "simulation", "frame"];
            assert_eq!(names, rest[..4 + usize::from(around)], "{log:?}");
        }
        log.span("simulation", "name=\"city\"");
    }
    assert_eq!(told.load(Ordering::Relaxed), 4);
}

#[test]
fn events_say_of_which_world_they_are() {
    let universe = Arc::new(megachunk::world::Universe::new());
    let mut land = World::of(&universe).expect("it is the first");
    let mut sea = World::of(&universe).expect("there is room");
    sea.set_label("sea");
    let log = hear(|| {
        for world in [&mut land, &mut sea] {
            let _ = world.create((1_u8, 2_u16)).expect("there is room");
        }
        let mut lost = sea.commands();
        lost.create((1_u8,)).expect("there is room");
        drop(lost);
        drop(sea);
    });
    let of = |name: &str| {
        let events = log.events.iter().filter(|event| event.is(name, "world="));
        events.map(|event| event.fields.clone()).collect::<Vec<_>>()
    };
    let number = format!(" world={} ", land.number());
    let new = of("composition_added");
    assert!(
        new[0].contains(&number) && new[1].contains(" world=sea "),
        "{new:?}"
    );
    let lost = of("commands_lost");
    assert!(
        matches!(&lost[..], [lost] if lost.contains(" world=sea ")),
        "{lost:?}"
    );
}

#[test]
fn a_tied_value_that_is_lost_is_told_of() {
    let log = hear(|| {
        let tied = Tied::new(std::rc::Rc::new(1_i32));
        let lost = std::thread::spawn(move || drop(tied)).join();
        lost.expect("it ends");
        drop(Tied::new(std::rc::Rc::new(2_u32)));
    });
    let told = |of: &str| {
        let events = log.events.iter();
        let told = events.filter(|event| event.is("tied_leaked", of));
        told.count()
    };
    assert_eq!((told("Rc<i32>"), told("Rc<u32>")), (1, 0));
}
