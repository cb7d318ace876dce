//! Processors whose queries are made for each world that they come to: of another universe, too, where numbers mean others.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::said::{run, said, say, world};
use megachunk::prelude::*;
use megachunk::processor::dynamic_processor_with;

const TICK: Duration = Duration::from_millis(10);

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Spot(i64);
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Speed(i64);

megachunk::plain!(Spot { 0 });
megachunk::plain!(Speed { 0 });

/// A universe whose numbers are given in this order.
fn universe(names: &[&str]) -> Universe {
    let universe = Universe::ordered();
    let known = universe.registry();
    for &name in names {
        match name {
            "spot" => known.register_plain_as::<Spot>(name),
            "speed" => known.register_plain_as::<Speed>(name),
            // Of another type.
            _ => known.register_plain_as::<[u16; 4]>(name),
        }
        .expect("it is new");
    }
    universe
}

fn herd(names: &[&str]) -> World {
    let mut world = World::of(&Arc::new(universe(names))).expect("there is room");
    for n in 0..10 {
        world.create((Spot(n), Speed(1))).expect("there is room");
        world.create((Spot(n), [7_u16; 4])).expect("there is room");
    }
    world
}

fn sum(world: &World) -> i64 {
    let mut all = world.read::<&Spot, ()>().expect("it is right");
    all.iter().map(|spot| spot.0).sum()
}

/// What every error is.
type Any = Box<dyn Error + Send + Sync>;

fn find(world: &World, name: &str) -> Result<FragmentId, Any> {
    let found = world.registry().find(name);
    Ok(found.ok_or_else(|| format!("there is no {name}"))?.id())
}

/// Moves what has a speed, and counts how often it was made for a world.
fn moves(made: &Arc<AtomicU32>) -> ProcessorBuilder {
    let made = Arc::clone(made);
    dynamic_processor_with(
        "move",
        move |world| -> Result<_, Any> {
            made.fetch_add(1, Ordering::Relaxed);
            let (spot, speed) = (find(world, "spot")?, find(world, "speed")?);
            let query = DynamicQuery::builder(world).write(spot).read(speed);
            Ok(([query.build()?], (spot, speed)))
        },
        |&(spot, speed), mut params| -> ProcessorResult {
            for mut chunk in params.runs()[0].chunks() {
                let speeds = chunk.read(speed)?.slice::<Speed>()?;
                let spots = chunk.write(spot)?.slice::<Spot>()?;
                spots.iter_mut().zip(speeds).for_each(|(a, b)| a.0 += b.0);
            }
            Ok(())
        },
    )
}

#[test]
fn in_each_world_that_comes_it_has_queries_of_its_universe() {
    let made = Arc::default();
    let mut schedule = Schedule::new();
    schedule.add(moves(&made));
    let mut game = Simulation::new(herd(&["spot", "speed", "other"]), schedule);
    let times = || made.load(Ordering::Relaxed);
    game.advance(TICK).expect("it runs");
    game.advance(TICK).expect("it runs");
    assert_eq!((sum(game.world()), times()), (110, 1), "once for a world");
    let first = Arc::downgrade(game.world().universe());
    drop(game.replace_world(herd(&["other", "speed", "spot"])));
    assert!(first.upgrade().is_none(), "it keeps none");
    game.advance(TICK).expect("it runs");
    assert_eq!((sum(game.world()), times()), (100, 2));
    let second = Arc::downgrade(game.world().universe());
    drop(game.roll_back_to(herd(&["speed", "other", "spot"])));
    assert!(second.upgrade().is_none(), "it keeps none");
    game.advance(TICK).expect("it runs");
    game.advance(TICK).expect("it runs");
    assert_eq!((sum(game.world()), times()), (110, 3));
    // So it is in a schedule of its own.
    let (mut world, mut schedule) = game.into_parts();
    schedule.detach();
    let mut other = herd(&["other", "spot", "speed"]);
    run(&mut schedule, &mut other);
    assert_eq!((sum(&other), times()), (100, 4));
    schedule.detach();
    run(&mut schedule, &mut world);
    assert_eq!((sum(&world), times()), (120, 5));
    schedule
        .replace(&mut world, moves(&made))
        .expect("it is there");
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    assert_eq!((sum(&world), times()), (140, 6));
}

#[test]
fn a_world_for_which_it_has_no_queries_is_said_and_asked_again() {
    let made = Arc::default();
    let mut schedule = Schedule::new();
    schedule.add(moves(&made));
    let mut game = Simulation::new(herd(&["spot", "speed"]), schedule);
    game.advance(TICK).expect("it runs");
    // Of a file that knows no speeds.
    let world = World::of(&Arc::new(universe(&["other", "spot"])));
    drop(game.roll_back_to(world.expect("there is room")));
    for times in 2..4 {
        let error = game.advance(TICK).expect_err("it cannot run");
        assert!(matches!(error, ScheduleError::Failed { .. }), "{error:?}");
        assert_eq!(error.to_string(), "processor `move`: there is no speed");
        assert_eq!(made.load(Ordering::Relaxed), times);
    }
    let known = game.world().registry();
    known
        .register_plain_as::<Speed>("speed")
        .expect("it is new");
    let bundle = (Spot(1), Speed(5));
    game.world_mut().create(bundle).expect("there is room");
    game.advance(TICK).expect("it runs");
    assert_eq!(sum(game.world()), 6);
}

#[test]
fn what_is_wrong_with_its_queries_is_said_as_of_others() {
    /// The error of a schedule with one.
    fn refused<E: Into<Any> + 'static>(
        make: impl FnMut(&World) -> Result<(Vec<DynamicQuery>, ()), E> + Send + 'static,
    ) -> ScheduleError {
        let mut world = herd(&["spot", "speed"]);
        let mut schedule = Schedule::new();
        schedule.add(dynamic_processor_with("script", make, |(), _| {
            unreachable!("it is refused")
        }));
        schedule.run(&mut world).expect_err("it is refused")
    }
    let of = |error: ScheduleError| match error {
        ScheduleError::Query { error, .. } => error,
        other => panic!("{other}"),
    };
    // By itself, in a box, or where it was found.
    let contradicts = |world: &World| {
        let spot = find(world, "spot").expect("it is there");
        DynamicQuery::builder(world)
            .read(spot)
            .without(spot)
            .build()
    };
    let error = refused(move |world| Ok::<_, QueryError>((vec![contradicts(world)?], ())));
    let QueryError::Contradiction { name, .. } = of(error) else {
        panic!("it is one");
    };
    assert!(name.contains("spot"), "{name}");
    let error = refused(move |world| Ok::<_, Any>((vec![contradicts(world)?], ())));
    assert!(matches!(of(error), QueryError::Contradiction { .. }));
    let error = refused(|world| -> Result<_, FragmentError> {
        world.registry().register_plain_as::<u8>("spot")?;
        Ok((Vec::new(), ()))
    });
    assert!(matches!(of(error), QueryError::Fragment(_)));
    let elsewhere = herd(&["spot"]);
    let error = refused(move |_| {
        let spot = find(&elsewhere, "spot").expect("it is there");
        let query = DynamicQuery::builder(&elsewhere).read(spot).build();
        Ok::<_, QueryError>((vec![query?], ()))
    });
    assert_eq!(of(error), QueryError::OtherUniverse);
    let error = refused(|world| -> Result<_, Any> {
        let spot = find(world, "spot")?;
        let query = || DynamicQuery::builder(world).write(spot).build();
        Ok((vec![query()?, query()?], ()))
    });
    assert!(matches!(error, ScheduleError::Aliased { .. }), "{error}");
}

#[test]
fn a_panic_that_its_queries_are_made_with_has_its_name() {
    let mut world = world();
    let mut schedule = Schedule::new();
    let mut times = 0;
    schedule.add(say("other"));
    schedule.add(dynamic_processor_with(
        "script",
        move |world| -> Result<_, QueryError> {
            times += 1;
            assert!(times > 1, "never");
            let query = DynamicQuery::builder(world).write_resource::<u8>();
            Ok(([query.build()?], times))
        },
        |&times, mut params| *params.resources().write::<u8>().expect("it is asked for") += times,
    ));
    world.resources_mut().insert(1_u8);
    let panicked = catch_unwind(AssertUnwindSafe(|| _ = schedule.run(&mut world)));
    let panicked = panicked.expect_err("it panics").downcast::<String>();
    assert_eq!(
        *panicked.expect("it is text"),
        "processor `script` panicked: never"
    );
    assert!(said(&mut world).is_empty(), "nobody has run");
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["other"]);
    assert_eq!(world.resources().get::<u8>(), Some(&3));
}

#[test]
fn to_queries_that_are_made_anew_all_has_changed() {
    let mut world = herd(&["spot"]);
    let counts = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&counts);
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor_with(
        "script",
        |world| -> Result<_, Any> {
            let spot = find(world, "spot")?;
            let query = DynamicQuery::builder(world).read(spot).changed(spot);
            Ok((Some(query.build()?), ()))
        },
        move |(), mut params| told.lock().unwrap().push(params.runs()[0].count()),
    ));
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    // What has been solved stays so when an archetype comes, or another processor.
    world.create((Spot(1), 'x')).expect("there is room");
    schedule.add(processor("none", || {}));
    run(&mut schedule, &mut world);
    schedule.detach();
    run(&mut schedule, &mut world);
    assert_eq!(*counts.lock().unwrap(), [20, 0, 1, 21]);
}
