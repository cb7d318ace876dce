//! What consists of several parts that users gave ends, and all of their drops panic: each is dropped once, the first
//! panic goes on, and the program does.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use megachunk::index::ValueIndex;
use megachunk::prelude::*;
use megachunk::processor::translator::Hosts;
use megachunk::processor::{Composite, dynamic_processor_with};

use crate::brittle::{ALWAYS, Brittle, Count, arm, burns, holds_nothing};
use crate::ends::ends_all_of;

/// A processor that does nothing, whose closure has a [`Brittle`].
fn holds(count: &Count, name: &str) -> ProcessorBuilder {
    let held = count.brittle(1);
    processor(name, move || assert_eq!(*held.0, 1))
}

/// The same, and so have its hooks.
fn hooked(count: &Count, name: &str) -> ProcessorBuilder {
    let (start, stop) = (count.brittle(2), count.brittle(3));
    holds(count, name)
        .on_start(move |_| assert_eq!(*start.0, 2))
        .on_stop(move |_| assert_eq!(*stop.0, 3))
}

/// The same, and so have its conditions.
fn conditional(count: &Count, name: &str) -> ProcessorBuilder {
    let (one, other) = (count.brittle(4), count.brittle(5));
    hooked(count, name)
        .run_if(move || *one.0 == 4)
        .run_if(move || *other.0 == 5)
}

/// A schedule of these.
fn schedule(all: impl IntoIterator<Item = ProcessorBuilder>) -> Schedule {
    let mut schedule = Schedule::new();
    for processor in all {
        schedule.add(processor);
    }
    schedule
}

/// The same, which has run.
fn has_run(all: impl IntoIterator<Item = ProcessorBuilder>) -> Schedule {
    let mut schedule = schedule(all);
    schedule.run(&mut World::new()).unwrap();
    schedule
}

#[test]
fn a_struct_that_panics_when_it_is_placed_is_dropped_and_that_panic_goes_on() {
    struct Refuses(#[expect(dead_code, reason = "it is dropped")] Brittle);
    impl Processor for Refuses {
        type Params = ();
        type Output = ();

        fn place(&self, _: ProcessorBuilder) -> ProcessorBuilder {
            resume_unwind(Box::new("no place"))
        }

        fn execute(&mut self, (): ()) {}
    }
    let count = Count::default();
    let refuses = Refuses(count.brittle(0));
    arm(ALWAYS);
    let placed = catch_unwind(AssertUnwindSafe(|| {
        drop(ProcessorBuilder::of("p", refuses));
    }));
    arm(0);
    assert_eq!(placed.unwrap_err().downcast_ref(), Some(&"no place"));
    assert_eq!(count.get(), 0);
}

#[test]
fn a_struct_that_gives_another_builder_back_takes_the_place_of_what_that_has() {
    /// Comes in the place of another processor.
    struct Comes(
        Count,
        #[expect(dead_code, reason = "it is dropped")] Brittle,
    );
    impl Processor for Comes {
        type Params = ();
        type Output = ();

        fn place(&self, _: ProcessorBuilder) -> ProcessorBuilder {
            conditional(&self.0, "other")
        }

        fn execute(&mut self, (): ()) {}
    }
    let count = Count::default();
    let comes = Comes(count.clone(), count.brittle(6));
    burns(ALWAYS, || drop(ProcessorBuilder::of("p", comes)));
    assert_eq!(count.get(), 0);
    let comes = Comes(count.clone(), count.brittle(6));
    let placed = ProcessorBuilder::of("p", comes);
    // The closure is gone.
    assert_eq!(count.get(), 5);
    burns(ALWAYS, || drop(placed));
    assert_eq!(count.get(), 0);
}

#[test]
fn a_schedule_drops_all_processors() {
    let count = Count::default();
    let all = || ["p", "q", "r"].map(|name| holds(&count, name));
    ends_all_of(&count, || schedule(all()));
    ends_all_of(&count, || has_run(all()));
}

#[test]
fn processors_and_schedules_drop_hooks_beside_the_closure() {
    let count = Count::default();
    let all = || ["p", "q"].map(|name| hooked(&count, name));
    ends_all_of(&count, || hooked(&count, "p"));
    ends_all_of(&count, || schedule(all()));
    ends_all_of(&count, || has_run(all()));
}

#[test]
fn a_hook_that_another_takes_the_place_of_ends_and_so_does_the_processor() {
    let count = Count::default();
    for start in [true, false] {
        let (processor, held) = (hooked(&count, "p"), count.brittle(0));
        let hook = move |_: &mut World| assert_eq!(*held.0, 0);
        burns(ALWAYS, || {
            drop(match start {
                true => processor.on_start(hook),
                false => processor.on_stop(hook),
            });
        });
        assert_eq!(count.get(), 0);
    }
}

#[test]
fn processors_and_schedules_drop_conditions_beside_closure_and_hooks() {
    let count = Count::default();
    let all = || ["p", "q"].map(|name| conditional(&count, name));
    ends_all_of(&count, || conditional(&count, "p"));
    ends_all_of(&count, || schedule(all()));
    ends_all_of(&count, || has_run(all()));
    let (mut world, mut schedule) = (World::new(), schedule(all()));
    schedule.run(&mut world).unwrap();
    burns(ALWAYS, || schedule.remove(&mut world, "p").unwrap());
    assert_eq!((schedule.len(), count.get()), (1, 5));
    assert_eq!(schedule.run(&mut world).unwrap().ran, 1);
}

#[test]
fn schedules_drop_exclusive_processors_and_observers() {
    let count = Count::default();
    let all = || {
        let exclusive = ["p", "q"].map(|name| {
            let held = count.brittle(1);
            exclusive_processor(name, move |_| assert_eq!(*held.0, 1))
        });
        let observers = ["r", "s"].map(|name| {
            let held = count.brittle(1);
            observing_processor::<u8, ()>(name, Observed::COME, move |_, _| {
                assert_eq!(*held.0, 1);
            })
        });
        exclusive.into_iter().chain(observers)
    };
    ends_all_of(&count, || schedule(all()));
    ends_all_of(&count, || has_run(all()));
}

#[test]
fn schedules_drop_scripts_with_what_was_found_for_them() {
    let count = Count::default();
    let scripts = || {
        ["p", "q"].map(|name| {
            let (make, run, held) = (count.brittle(1), count.brittle(2), count.clone());
            dynamic_processor_with(
                name,
                move |world| {
                    assert_eq!(*make.0, 1);
                    let query = DynamicQuery::builder(world).read_resource::<u8>();
                    Ok::<_, QueryError>((query.build().ok(), held.brittle(3)))
                },
                move |keys, _| assert_eq!((*run.0, *keys.0), (2, 3)),
            )
        })
    };
    ends_all_of(&count, || schedule(scripts()));
    let ran = || {
        let (mut world, mut schedule) = (World::new(), schedule(scripts()));
        world.resources_mut().insert(1_u8);
        schedule.run(&mut world).unwrap();
        assert_eq!(count.get(), 6);
        (world, schedule)
    };
    ends_all_of(&count, || ran().1);
    // What was found goes with the world, and is found again.
    let (mut world, mut schedule) = ran();
    burns(ALWAYS, || schedule.detach());
    assert_eq!(count.get(), 4);
    schedule.run(&mut world).unwrap();
    assert_eq!(count.get(), 6);
    burns(ALWAYS, || schedule.remove(&mut world, "p").unwrap());
    assert_eq!((schedule.len(), count.get()), (1, 3));
    drop(schedule);
    assert_eq!(count.get(), 0);
}

#[test]
fn a_composite_drops_all_processors() {
    let count = Count::default();
    let composite = || Composite::new("c", ["p", "q"].map(|name| conditional(&count, name)));
    ends_all_of(&count, composite);
    ends_all_of(&count, || {
        let mut schedule = Schedule::new();
        schedule.add_composite(composite());
        schedule
    });
}

#[test]
fn a_composite_that_is_not_finished_drops_the_processors_that_it_has() {
    let count = Count::default();
    burns(ALWAYS, || {
        let children = ["p", "q", "none"].into_iter().map(|name| match name {
            "none" => resume_unwind(Box::new("the fuse")),
            name => conditional(&count, name),
        });
        drop(Composite::new("c", children));
    });
    assert_eq!(count.get(), 0);
}

/// Kept by a processor.
#[derive(Default)]
struct Kept(Option<Brittle>);

/// A processor that keeps something in each of its parameters.
fn keeps(count: &Count, name: &str) -> ProcessorBuilder {
    let (held, count) = (count.brittle(1), count.clone());
    let run = move |mut one: Local<Kept>, (mut two, mut three): (Local<[Kept; 1]>, Local<Kept>)| {
        assert_eq!(*held.0, 1);
        one.0 = Some(count.brittle(2));
        two[0].0 = Some(count.brittle(3));
        three.0 = Some(count.brittle(4));
    };
    processor(name, run)
}

#[test]
fn processors_drop_all_that_their_parameters_keep() {
    let count = Count::default();
    ends_all_of(&count, || has_run([keeps(&count, "p")]));
    ends_all_of(&count, || {
        has_run(["p", "q"].map(|name| keeps(&count, name)))
    });
    // And when what they keep is to go, and they are not.
    let mut schedule = has_run(["p", "q"].map(|name| keeps(&count, name)));
    assert_eq!(count.get(), 8);
    burns(ALWAYS, || schedule.detach());
    assert_eq!(count.get(), 2);
    schedule.run(&mut World::new()).unwrap();
    assert_eq!(count.get(), 8);
}

#[test]
fn what_parameters_have_made_is_dropped_when_one_of_them_is_refused_or_panics() {
    thread_local! {
        static COUNT: Count = Count::default();
    }
    struct Made(#[expect(dead_code, reason = "it is dropped")] Brittle);
    impl Default for Made {
        fn default() -> Self {
            Self(COUNT.with(|count| count.brittle(1)))
        }
    }
    struct Unmade;
    impl Default for Unmade {
        fn default() -> Self {
            resume_unwind(Box::new("not made"))
        }
    }
    let count = COUNT.with(Clone::clone);
    type Refused<'w> = QueryRun<'w, (&'static mut u8, &'static mut u8)>;
    let refused = || processor("p", |_: Local<Made>, _: Local<Made>, _: Refused| {});
    let unmade = || processor("p", |_: Local<Made>, _: Local<Made>, _: Local<Unmade>| {});
    let solve = |processor| {
        let (mut world, mut schedule) = (World::new(), schedule([processor]));
        arm(ALWAYS);
        let solved = catch_unwind(AssertUnwindSafe(|| schedule.solve(&mut world)));
        arm(0);
        assert_eq!(count.get(), 0);
        solved.unwrap_err()
    };
    holds_nothing(|| {
        for (processor, says) in [(refused(), "the fuse"), (unmade(), "not made")] {
            let panic = solve(processor);
            let said = panic.downcast_ref::<String>().unwrap();
            assert_eq!(said, &format!("processor `p` panicked: {says}"));
        }
    });
}

/// A world with a value of users in each place where one may lie.
fn full_world(universe: &Arc<Universe>, count: &Count) -> World {
    #[derive(Clone)]
    struct Each(#[expect(dead_code, reason = "it is dropped")] Brittle);

    let mut world = World::of(universe).unwrap();
    Hosts::<Brittle>::install(&mut world).unwrap();
    let signal = world.signal_of::<Brittle>();
    let mut reader = SignalReader::<Entity>::new(&world).unwrap();
    reader.subscribe(&mut world, signal).unwrap();
    for n in 0..3 {
        let bundle = (count.brittle(n), 'a').shared(count.brittle(n));
        let bundle = bundle.per_chunk(Each(count.brittle(n)));
        let ant = world.create(bundle).unwrap();
        Hosts::attach(&mut world, ant, count.brittle(n)).unwrap();
        let held = count.brittle(n);
        let run = move |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| assert!(*held.0 < 3);
        world.observe::<u32, ()>(Observed::COME, run).unwrap();
        world.signals().send(signal, ant, count.brittle(n));
        world.collect_signals();
        let later = Duration::from_secs(9);
        let mut signals = world.signals();
        signals.send(signal, ant, count.brittle(n));
        signals.send_after(signal, ant, count.brittle(n), later);
        drop(signals);
        let mut commands = world.commands();
        commands.add(ant, (Each(count.brittle(n)),)).unwrap();
        let held = count.brittle(n);
        commands.defer(move |_| drop(held));
    }
    world.resources_mut().insert(count.brittle(0));
    world.resources_mut().insert([count.brittle(0)]);
    world
}

#[test]
fn a_world_drops_all_that_users_gave_it_wherever_it_lies() {
    let count = Count::default();
    // In a universe that ends with it, and in one that goes on.
    ends_all_of(&count, || full_world(&Arc::new(Universe::new()), &count));
    let universe = Arc::new(Universe::new());
    ends_all_of(&count, || full_world(&universe, &count));
    assert_eq!((universe.count(), universe.chunk_stats().in_use), (0, 0));
    universe.check([]).unwrap();
}

#[test]
fn indices_drop_all_keys_and_what_makes_them() {
    #[derive(Clone, PartialEq, Eq)]
    struct Key(Brittle);
    impl Ord for Key {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.number().cmp(&other.0.number())
        }
    }
    impl PartialOrd for Key {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    let count = Count::default();
    let mut world = World::new();
    for n in 0..3_u32 {
        world.create((n,)).unwrap();
    }
    ends_all_of(&count, || {
        let (held, counts) = (count.brittle(0), count.clone());
        let key = move |n: &u32| Key(counts.brittle(*n + *held.0));
        let mut index = ValueIndex::<u32, Key>::new(&world, key).unwrap();
        index.update(&world);
        assert!(index.key_count() == 3 && count.get() > 3);
        index
    });
    ends_all_of(&count, || {
        let (held, counts) = (count.brittle(0), count.clone());
        let make = move |n: &u32| Key(counts.brittle(*n + *held.0));
        let mut log = ChangeLog::<u32, Key>::by(&world, make).unwrap();
        log.update(&world);
        assert!(log.len() == 3 && count.get() > 6);
        log
    });
}

#[test]
fn simulations_and_apps_drop_worlds_and_schedules() {
    let count = Count::default();
    let universe = Arc::new(Universe::new());
    let simulation = || {
        let all = ["p", "q"].map(|name| conditional(&count, name));
        Simulation::new(full_world(&universe, &count), schedule(all))
    };
    let app = || {
        let mut app = App::new();
        for name in ["one", "two", "three"] {
            app.add(name, simulation());
        }
        app
    };
    ends_all_of(&count, simulation);
    ends_all_of(&count, app);
    // And where one takes the place of another, with all that it has.
    let (mut app, other) = (app(), simulation());
    let before = count.get();
    burns(ALWAYS, || {
        app.add("two", other);
    });
    assert_eq!(count.get(), before / 4 * 3, "the other one is there");
    assert_eq!(app.iter().count(), 3);
}

/// An error of a processor.
#[derive(Debug)]
struct Failed(Brittle);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed {}", self.0.0)
    }
}

impl std::error::Error for Failed {}

#[test]
fn what_an_app_says_of_several_simulations_drops_all_of_their_errors() {
    let count = Count::default();
    ends_all_of(&count, || {
        let mut app = App::new();
        for name in ["one", "two", "three"] {
            let count = count.clone();
            let fails = move || Err::<(), _>(Failed(count.brittle(7)));
            let schedule = schedule([processor("fails", fails)]);
            app.add(name, Simulation::new(World::new(), schedule));
        }
        let error = app.update(Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.iter().count(), 3);
        error
    });
}
