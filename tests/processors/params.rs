//! What processors' parameters lend where no schedule runs.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use megachunk::command::Author;
use megachunk::prelude::*;
use megachunk::processor::Params;

use crate::misused::{A, B, Said, said, world};

#[test]
fn params_keep_what_processors_keep_and_see_what_has_changed_since() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    type All = (
        QueryRun<'static, &'static A, Changed<A>>,
        Local<'static, u32>,
        &'static mut Said,
    );
    let mut params = Params::<All>::new(&mut world).expect("they are apart");
    for round in 0..4 {
        let (mut changed, mut local, said) = params.on(&mut world).expect("all is there");
        *local += 1;
        let seen = changed.count();
        said.0.push(format!("{}: {seen}", *local));
        drop(changed);
        if round == 1 {
            world.get_mut::<A>(ant).expect("it lives").0 = 2;
        }
    }
    assert_eq!(said(&mut world), ["1: 1", "2: 0", "3: 1", "4: 0"]);
}

#[test]
fn what_params_write_has_changed_for_others_and_not_for_them() {
    let mut world = world();
    world.create((A(1),)).expect("there is room");
    let mut other = Query::<&A, Changed<A>>::new(&world).expect("it can be asked");
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "look",
        |mut changed: QueryRun<&A, Changed<A>>, said: &mut Said| {
            said.0.push(changed.count().to_string());
        },
    ));
    type Write = (QueryRun<'static, &'static mut A, Changed<A>>,);
    let mut write = Params::<Write>::new(&mut world).expect("it is one");
    for (written, expected) in [(1, 1), (0, 0), (0, 0)] {
        let (mut run,) = write.on(&mut world).expect("nothing is asked");
        let mut count = 0;
        run.for_each(|a| {
            a.0 += 1;
            count += 1;
        });
        drop(run);
        assert_eq!(count, written, "its own writes it does not see");
        assert_eq!(other.on(&mut world).count(), expected);
        schedule.run(&mut world).expect("it runs");
        assert_eq!(said(&mut world), [expected.to_string()]);
    }
    world
        .with_params::<(QueryRun<&mut A>,), _>(|(mut all,)| all.for_each(|a| a.0 += 1))
        .expect("it is one");
    assert_eq!(other.on(&mut world).count(), 1);
    let (mut run,) = write.on(&mut world).expect("nothing is asked");
    assert_eq!(run.count(), 1);
    drop(run);
    world.check().expect("it is whole");
}

#[test]
fn a_closure_may_use_what_lies_around_it_and_gives_back_what_it_likes() {
    let mut world = world();
    world.create((A(3), B)).expect("there is room");
    world.create((A(4),)).expect("there is room");
    let mut seen = Vec::new();
    let first = world.with_params::<(
        QueryRun<&A, With<B>>,
        QueryRun<&mut A, Without<B>>,
        &mut Said,
    ), _>(|(mut with, mut without, said)| {
        with.for_each(|a| seen.push(a.0));
        without.for_each(|a| a.0 *= 10);
        said.0.push("done".into());
        seen.first().copied()
    });
    assert_eq!(first, Ok(Some(3)));
    assert_eq!(seen, [3]);
    assert_eq!(said(&mut world), ["done"]);
    let most = world.run_once(|mut all: QueryRun<&A>| {
        let mut most = 0;
        all.for_each(|a| most = most.max(a.0));
        most
    });
    assert_eq!(most, Ok(40));
}

#[test]
fn who_is_refused_in_a_schedule_is_refused_in_the_same_words() {
    fn queries(_: QueryRun<&A>, _: QueryRun<&mut A>) {}
    fn resources(_: &Said, _: &mut Said) {}
    fn lost(_: &mut u64) {}
    fn deaf(_: Signalled<&A>) {}
    fn pair(run: Result<(), ScheduleError>, processor: ProcessorBuilder) -> [String; 2] {
        let name = processor.name().to_owned();
        let mut schedule = Schedule::new();
        schedule.add(processor);
        let told = schedule.run(&mut world()).expect_err("it is refused");
        let told = [run.expect_err("it is refused"), told].map(|error| error.to_string());
        assert!(told[0].contains(&name), "{}", told[0]);
        let start = told[0].split('`').nth(1).expect("it has a name").to_owned();
        [told[0].replace(&start, &name), told[1].clone()]
    }
    let told = [
        pair(world().run_once(queries), processor("queries", queries)),
        pair(
            world().run_once(resources),
            processor("resources", resources),
        ),
        pair(world().run_once(lost), processor("lost", lost)),
        pair(world().run_once(deaf), processor("deaf", deaf)),
    ];
    for [once, schedule] in told {
        assert_eq!(once, schedule);
    }
    let error = world()
        .with_params::<(QueryRun<&A>, QueryRun<&mut A>), _>(|_| ())
        .expect_err("both lend it");
    assert!(
        error.to_string().contains("two of its parameters take"),
        "{error}"
    );
}

#[test]
fn queries_that_only_a_switch_keeps_apart_lend_nothing_where_both_see_it() {
    let mut world = world();
    world
        .registry()
        .register_enableable::<B>()
        .expect("it can be");
    type Both = (
        QueryRun<'static, &'static mut A, With<B>>,
        QueryRun<'static, &'static mut A, Without<B>>,
    );
    let mut params = Params::<Both>::new(&mut world).expect("none is there yet");
    assert!(params.on(&mut world).is_ok());
    let ant = world.create((A(1), B)).expect("there is room");
    for _ in 0..2 {
        let error = params.on(&mut world).map(drop).expect_err("both see it");
        assert!(
            matches!(&error, ScheduleError::Aliased { apart_by: Some(name), .. } if name.ends_with("B")),
            "{error}"
        );
    }
    assert!(world.with_params::<Both, _>(|_| ()).is_err());
    world.destroy(ant).expect("it lives");
    world.collect_archetypes();
    assert!(params.on(&mut world).is_ok());
}

#[test]
fn another_world_is_an_error_and_changes_nothing() {
    let mut own = world();
    let mut sibling = World::of(own.universe()).expect("there is room");
    let mut stranger = World::new();
    sibling.resources_mut().insert(Said::default());
    stranger
        .registry()
        .register::<char>()
        .expect("there is room");
    let mut params = Params::<(QueryRun<&A>, &mut Said)>::new(&mut own).expect("they are apart");
    for other in [&mut sibling, &mut stranger] {
        let before = other.version();
        let error = params.on(other).map(drop).expect_err("it is not its own");
        assert!(
            matches!(error, ScheduleError::OtherParamsWorld { .. }),
            "{error}"
        );
        assert_eq!(other.version(), before);
    }
    assert!(params.on(&mut own).is_ok());
    // It goes where its world goes.
    core::mem::swap(&mut own, &mut sibling);
    assert!(params.on(&mut own).is_err());
    assert!(params.on(&mut sibling).is_ok());
    drop(sibling);
    assert!(params.on(&mut own).is_err());
}

#[test]
fn what_is_missing_is_told_and_that_was_no_run() {
    let mut world = World::new();
    world.create((A(1),)).expect("there is room");
    type Look = (QueryRun<'static, &'static A, Changed<A>>, &'static u64);
    let mut params = Params::<Look>::new(&mut world).expect("they are apart");
    for _ in 0..2 {
        let error = params.on(&mut world).map(drop).expect_err("there is none");
        assert!(matches!(error, ScheduleError::NoResource { .. }), "{error}");
    }
    world.resources_mut().insert(7_u64);
    let (mut run, number) = params.on(&mut world).expect("it is there");
    assert_eq!((run.count(), *number), (1, 7));
    drop(run);
    world.resources_mut().remove::<u64>();
    assert!(params.on(&mut world).is_err());
}

#[test]
fn what_was_recorded_is_kept_though_the_closure_panics() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    let hit = world.signal::<u32>("hit").expect("it is new");
    let mut reader = SignalReader::<&A>::new(&world).expect("it can be asked");
    reader
        .subscribe(&mut world, hit)
        .expect("it is of its world");
    let broken = catch_unwind(AssertUnwindSafe(|| {
        world.with_params::<(Commands, ParallelCommands, Signals, &mut Said), _>(
            |(mut commands, parallel, mut signals, said)| {
                commands.create((B,)).expect("there is room");
                parallel.open_at(3).destroy(ant);
                signals.send(hit, ant, 5);
                said.0.push("begun".into());
                panic!("in the middle");
            },
        )
    }));
    assert!(broken.is_err());
    assert_eq!(said(&mut world), ["begun"]);
    let mut got = 0;
    let _ = reader.deliver(&mut world, |_, received| {
        got += received.of(hit).sum::<u32>()
    });
    assert_eq!(got, 5);
    assert!(world.exists(ant), "not flushed yet");
    let report = world.flush();
    assert_eq!((report.created, report.destroyed, report.open), (1, 1, 0));
    world.check().expect("it is whole");
}

#[test]
fn who_recorded_is_known_also_in_an_exclusive_processor() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    world.destroy(ant).expect("it lives");
    let feed = move |world: &mut World| {
        world.run_once(move |mut commands: Commands| commands.set(ant, A(2)))
    };
    feed(&mut world).expect("it runs").expect("it is recorded");
    assert_eq!(world.flush().first_dead[0].by, Author::Outside);
    let mut schedule = Schedule::new();
    schedule.add(exclusive_processor("feed", move |world: &mut World| {
        feed(world).expect("it runs").expect("it is recorded");
    }));
    let report = schedule.run(&mut world).expect("it runs").flush;
    assert_eq!(report.first_dead[0].by, Author::Processor("feed".into()));
}

#[test]
fn what_is_recorded_within_a_flush_comes_with_it() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    world.commands().defer(move |world| {
        world
            .run_once(move |mut all: QueryRun<&mut A>, mut commands: Commands| {
                all.for_each(|a| a.0 += 1);
                commands.destroy(ant);
                commands.destroy(ant);
                commands.create((B,)).expect("there is room");
            })
            .expect("it runs");
        assert_eq!(world.get::<A>(ant).map(|a| a.0), Ok(2));
    });
    let report = world.flush();
    assert_eq!((report.created, report.destroyed, report.rounds), (1, 1, 2));
    assert_eq!((world.count(), world.exists(ant)), (1, false));
    world.check().expect("it is whole");
}

#[test]
fn signals_come_to_params_that_hear_them_each_once() {
    let mut world = world();
    let ant = world.create((A(1),)).expect("there is room");
    let hit = world.signal::<u32>("hit").expect("it is new");
    let typed = world.signal_of::<char>();
    type Hears = (Signalled<'static, &'static A>,);
    let params = Params::<Hears>::new(&mut world).expect("it is one");
    let params = params
        .hears::<u32>(&mut world, "hit")
        .expect("it carries that");
    // What waits is not lost when it hears more.
    world.signals().send(hit, ant, 3);
    let mut params = params
        .hears_type::<char>(&mut world)
        .expect("it is another");
    world.signals().send(typed, ant, 'x');
    for expected in [2, 0] {
        let (mut signalled,) = params.on(&mut world).expect("nothing is asked");
        let mut got = 0;
        let _ = signalled.deliver(|_, received| got += received.len());
        assert_eq!(got, expected);
    }
    let again = params.hears::<u32>(&mut world, "hit");
    assert!(matches!(again, Err(ScheduleError::Signal { .. })), "twice");
    let mut deaf = Params::<Hears>::new(&mut world).expect("it is one");
    let error = deaf.on(&mut world).map(drop).expect_err("it hears nothing");
    assert!(
        matches!(error, ScheduleError::HearsNothing { .. }),
        "{error}"
    );
    let vain = Params::<(&mut Said,)>::new(&mut world).expect("it is one");
    let vain = vain.hears::<u32>(&mut world, "hit");
    assert!(matches!(vain, Err(ScheduleError::HearsInVain { .. })));
}

#[test]
fn what_is_broadcast_is_heard_by_its_type_and_by_names() {
    let mut world = World::new();
    let mut goals = Params::<(Heard<u32>,)>::new(&mut world).expect("it hears");
    let typed = world.signal_of::<u32>();
    let named = world.signal::<u32>("goal").expect("the first");
    let said = |world: &mut World, goals: &mut Params<(Heard<'static, u32>,)>| {
        world.signals().broadcast(typed, 1);
        world.signals().broadcast(named, 2);
        let (heard,) = goals.on(world).expect("it is of this world");
        heard.iter().copied().collect::<Vec<u32>>()
    };
    assert_eq!(said(&mut world, &mut goals), [1]);
    let mut goals = goals.hears::<u32>(&mut world, "goal").expect("it hears");
    assert_eq!(said(&mut world, &mut goals), [1, 2]);
    assert!(goals.hears::<u32>(&mut world, "goal").is_err(), "twice");
    let goals = Params::<(Heard<u32>,)>::new(&mut world).expect("it hears");
    let vain = goals.hears::<u8>(&mut world, "nobody's here");
    assert!(matches!(vain, Err(ScheduleError::HearsInVain { .. })));
}

#[test]
fn what_is_heard_by_its_type_may_be_taken_by_entities_too() {
    let mut world = World::new();
    let one = world.create((1_u8,)).expect("there is room");
    let typed = world.signal_of::<u32>();
    type Both = (Signalled<'static, &'static u8>, Heard<'static, u32>);
    let both = Params::<Both>::new(&mut world).expect("it hears");
    let mut both = both.hears_type::<u32>(&mut world).expect("it hears");
    world.signals().send(typed, one, 5);
    world.signals().broadcast(typed, 6);
    let (mut signalled, heard) = both.on(&mut world).expect("it is of this world");
    let mut got = Vec::new();
    let delivery = signalled.deliver(|_, received| got.extend(received.of(typed).copied()));
    assert_eq!((delivery.entities, got), (1, vec![5]));
    assert!(heard.iter().eq(&[6]));
    assert!(both.hears_type::<u32>(&mut world).is_err(), "twice");
}

#[test]
fn ids_are_given_in_order_in_an_ordered_universe() {
    let create = |threads: usize| {
        let universe = Arc::new(Universe::ordered());
        let mut world = World::of(&universe).expect("there is room");
        world
            .create_batch((0..9_000).map(|n| (A(n),)))
            .expect("there is room");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be had").install(|| {
            world
                .run_once(
                    |mut all: QueryRun<&A>, mut one: Commands, parallel: ParallelCommands| {
                        let first = one.create((B,)).expect("there is room");
                        all.par_for_each_chunk(|chunk, _| {
                            let mut commands = parallel.open_at(chunk.sort_key());
                            commands
                                .create((B, chunk.len() as u64))
                                .expect("there is room");
                        });
                        first
                    },
                )
                .expect("it runs");
        });
        let report = world.flush();
        assert!(report.created > 2);
        assert_eq!(report.by_chance, 0);
        world.state_hash(&Default::default())
    };
    assert_eq!(create(1), create(4));
}

/// Counts those that there are, and panics when it ends.
struct Bad(Arc<AtomicU32>);

/// The one that the test is about.
static LOCALS: AtomicU32 = AtomicU32::new(0);

#[derive(Default)]
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        LOCALS.fetch_add(1, Ordering::Relaxed);
        panic!("it ends");
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn what_is_returned_is_not_lost_though_what_was_kept_panics_when_it_ends() {
    let mut world = world();
    let living = Arc::new(AtomicU32::new(1));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        world.with_params::<(Local<Panics>, &mut Said), _>(|_| Bad(Arc::clone(&living)))
    }));
    assert!(ended.is_err());
    assert_eq!(living.load(Ordering::Relaxed), 0);
    assert_eq!(LOCALS.load(Ordering::Relaxed), 1);
    // Two panics are one.
    let both = catch_unwind(AssertUnwindSafe(|| {
        world.with_params::<(Local<Panics>,), ()>(|_| panic!("first"))
    }));
    let said = both.expect_err("it panics");
    assert_eq!(said.downcast_ref::<&str>(), Some(&"first"));
    assert!(world.run_once(|_: &Said| ()).is_ok());
}
