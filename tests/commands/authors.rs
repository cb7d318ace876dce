//! What was refused, and what was for the dead, says who recorded it: by few commands and many, for any number of threads.

use megachunk::command::Author;
use megachunk::prelude::*;
use megachunk::processor::ScheduleReport;
use rayon::ThreadPoolBuilder;

#[derive(Debug, PartialEq, Eq, Hash, Clone)]
struct Team(u32);

fn by(name: &str) -> Author {
    Author::Processor(name.into())
}

/// A schedule of two that record for the same entities, and what is refused of it.
fn refusals(count: u32, threads: usize) -> Vec<(Entity, Author)> {
    let mut world = World::new();
    world.set_flush_threads_from((count > 100).then_some(1));
    let all: Vec<Entity> = (0..count)
        .map(|n| world.create((n, ()).const_shared(Team(0))).unwrap())
        .collect();
    let mut schedule = Schedule::new();
    let each = all.clone();
    schedule.add(processor(
        "recruit",
        move |mut commands: Commands<'_>| -> ProcessorResult {
            for &ant in each.iter().rev() {
                commands.add(ant, (1_u8,).const_shared(Team(1)))?;
            }
            Ok(())
        },
    ));
    let each = all.clone();
    schedule.add(
        processor(
            "number",
            move |mut commands: Commands<'_>| -> ProcessorResult {
                for &ant in each.iter().step_by(2) {
                    commands.set(ant, 7_u32)?;
                }
                Ok(())
            },
        )
        .after("recruit"),
    );
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let report = pool.unwrap().install(|| schedule.run(&mut world)).unwrap();
    world.check().unwrap();
    let refused = report.flush.refused.into_iter();
    let refused: Vec<_> = refused
        .map(|refused| (refused.entity, refused.by))
        .collect();
    assert_eq!(refused.len(), all.len());
    for (entity, author) in &refused {
        let at = all.iter().position(|ant| ant == entity).unwrap();
        let both = Author::Several([by("recruit"), by("number")].into());
        let expected = if at % 2 == 0 { both } else { by("recruit") };
        assert_eq!(author, &expected);
    }
    refused
}

#[test]
fn all_whose_commands_became_a_change_are_the_authors_of_what_is_refused() {
    for count in [3, 300, 5_000] {
        let alone = refusals(count, 1);
        assert_eq!(alone, refusals(count, 4), "{count}");
    }
}

#[test]
fn the_first_for_the_dead_say_by_whom_and_the_same_few_or_many() {
    for count in [4_usize, 2_000] {
        for threads in [1, 4] {
            let mut world = World::new();
            world.set_flush_threads_from((count > 100).then_some(1));
            let all: Vec<Entity> = (0..count)
                .map(|_| world.create((0_u32,)).unwrap())
                .collect();
            let gone = all.clone();
            let [late, early] = ["late", "early"].map(|name| {
                let gone = gone.clone();
                let record = move |mut commands: Commands<'_>| -> ProcessorResult {
                    for &ant in &gone {
                        commands.set(ant, 1_u32)?;
                    }
                    Ok(())
                };
                processor(name, record)
            });
            let mut schedule = Schedule::new();
            schedule.add(late.after("early"));
            schedule.add(early);
            for &ant in &all[..all.len() - 1] {
                world.destroy(ant).unwrap();
            }
            world.commands().destroy(all[0]);
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let report = pool.install(|| schedule.run(&mut world)).unwrap().flush;
            assert_eq!(report.dead, 2 * (count - 1) + 1);
            let named: Vec<_> = report.first_dead.iter().collect();
            assert_eq!(named.len(), report.dead.min(8));
            assert_eq!((named[0].entity, &named[0].by), (all[0], &Author::Outside));
            assert!(named[1..4].iter().all(|dead| dead.by == by("early")));
            assert_eq!(named[4].by, by(if count == 4 { "late" } else { "early" }));
            let text = report.to_string();
            assert!(text.contains("recorded outside of a run"), "{text}");
            assert!(text.contains("recorded by processor `early`"), "{text}");
        }
    }
}

#[test]
fn what_closures_and_exclusive_processors_record_has_an_author_too() {
    let mut world = World::new();
    let ant = world.create((0_u32,)).unwrap();
    world.destroy(ant).unwrap();
    let mut schedule = Schedule::new();
    schedule.add(exclusive_processor("alone", move |world: &mut World| {
        world.commands().destroy(ant);
        world
            .commands()
            .defer(move |world: &mut World| world.commands().destroy(ant));
    }));
    let report = schedule.run(&mut world).unwrap().flush;
    let authors: Vec<_> = report.first_dead.iter().map(|dead| &dead.by).collect();
    assert_eq!(authors, [&by("alone"), &Author::Flush]);
    // Who comes after it is nobody's.
    world.commands().destroy(ant);
    assert_eq!(world.flush().first_dead[0].by, Author::Outside);
}

#[test]
fn what_is_left_by_one_schedule_is_not_said_to_be_anothers() {
    let mut world = World::new();
    let ant = world.create((0_u32,)).unwrap();
    world.destroy(ant).unwrap();
    let record = |name: &str| {
        processor(name, move |mut commands: Commands<'_>| {
            commands.destroy(ant);
            commands.defer(move |world: &mut World| world.commands().destroy(ant));
        })
    };
    let (mut first, mut second) = (Schedule::new(), Schedule::new());
    first.add(record("first"));
    second.add(processor("nobody", || {}));
    second.add(record("second").after("nobody"));
    world.set_flush_rounds(1);
    let authors = |report: &ScheduleReport| -> Vec<Author> {
        report
            .flush
            .first_dead
            .iter()
            .map(|dead| dead.by.clone())
            .collect()
    };
    let report = first.run(&mut world).unwrap();
    assert!(report.flush.unfinished);
    assert_eq!(authors(&report), [by("first")]);
    // What the closure of the first has left comes first, and then what is its own.
    let report = second.run(&mut world).unwrap();
    assert_eq!(authors(&report)[1..], [by("second")]);
    assert_ne!(authors(&report)[0], by("second"));
    assert_ne!(authors(&report)[0], by("nobody"));
}

#[test]
fn an_error_of_a_run_leaves_what_its_flushes_refused() {
    let mut world = World::new();
    let ant = world.create((1_u32,).const_shared(Team(0))).unwrap();
    let mut schedule = Schedule::new();
    schedule.add(processor("recruit", move |mut commands: Commands<'_>| {
        commands.add(ant, ().const_shared(Team(1)))
    }));
    schedule.add(
        processor("fail", || -> ProcessorResult { Err("no".into()) })
            .after(Target::from("recruit").flushed()),
    );
    assert!(schedule.broken_off().is_none());
    schedule.run(&mut world).unwrap_err();
    let report = &schedule.broken_off().unwrap().flush;
    assert_eq!(
        (report.refused.len(), &report.refused[0].by),
        (1, &by("recruit"))
    );
    // The next run that comes to its end was not broken off.
    schedule.remove(&mut world, "fail").unwrap();
    schedule.run(&mut world).unwrap();
    assert!(schedule.broken_off().is_none());
}

#[test]
fn a_schedule_in_a_processor_takes_nobodys_name_away() {
    let mut world = World::new();
    let gone = world.create((0_u32,)).unwrap();
    world.destroy(gone).unwrap();
    let mut inner = Schedule::new();
    inner.add(processor("inner", || {}));
    inner.add(processor("other", || {}));
    let mut schedule = Schedule::new();
    schedule.add(exclusive_processor("sub", move |world: &mut World| {
        inner.run(world).unwrap();
        world.commands().destroy(gone);
    }));
    let late = processor("late", move |mut commands: Commands<'_>| {
        commands.destroy(gone)
    });
    schedule.add(late.after("sub"));
    let report = schedule.run(&mut world).unwrap();
    let authors = report.flush.first_dead.into_iter().map(|dead| dead.by);
    assert_eq!(authors.collect::<Vec<_>>(), [by("sub"), by("late")]);
    // The host's own are nobody's.
    world.commands().destroy(gone);
    let dead = world.flush().first_dead;
    assert_eq!(dead[0].by, Author::Outside);
}

#[test]
fn what_a_processor_recorded_that_failed_is_its_own_in_the_next_flush() {
    let mut world = World::new();
    let gone = world.create((0_u32,)).unwrap();
    world.destroy(gone).unwrap();
    let mut schedule = Schedule::new();
    schedule.add(exclusive_processor(
        "fails",
        move |world: &mut World| -> ProcessorResult {
            world.commands().destroy(gone);
            Err("no".into())
        },
    ));
    assert!(schedule.run(&mut world).is_err());
    world.commands().destroy(gone);
    let authors = world.flush().first_dead.into_iter().map(|dead| dead.by);
    assert_eq!(authors.collect::<Vec<_>>(), [by("fails"), Author::Outside]);
}

/// Who recorded each of the first commands for the dead.
fn authors(report: &ScheduleReport) -> Vec<Author> {
    let dead = report.flush.first_dead.iter();
    dead.map(|dead| dead.by.clone()).collect()
}

/// An entity that is gone.
fn gone(world: &mut World) -> Entity {
    let gone = world.create((0_u32,)).unwrap();
    world.destroy(gone).unwrap();
    gone
}

/// Two processors that do nothing but have names.
fn inner() -> Schedule {
    let mut inner = Schedule::new();
    inner.add(processor("inner", || {}));
    inner.add(processor("other", || {}).after("inner"));
    inner
}

#[test]
fn a_schedule_that_a_recorded_closure_runs_takes_nobodys_name_away() {
    let mut world = World::new();
    let gone = gone(&mut world);
    let mut schedule = Schedule::new();
    schedule.add(processor("opens", move |mut commands: Commands<'_>| {
        commands.defer(|world: &mut World| {
            inner().run(world).unwrap();
        });
        commands.destroy(gone);
    }));
    let late = move |mut commands: Commands<'_>| commands.destroy(gone);
    schedule.add(processor("late", late).after(Target::from("opens").flushed()));
    let report = schedule.run(&mut world).unwrap();
    assert_eq!(authors(&report), [by("opens"), by("late")]);
}

#[test]
fn what_a_failed_schedule_left_is_its_own_though_the_processor_that_ran_it_goes_on() {
    let mut world = World::new();
    let gone = gone(&mut world);
    let mut failing = Schedule::new();
    let record = move |mut commands: Commands<'_>| commands.destroy(gone);
    failing.add(processor("culprit", record));
    failing.add(processor("fails", || Err::<(), _>("no")).after("culprit"));
    let mut schedule = Schedule::new();
    schedule.add(exclusive_processor("sub", move |world: &mut World| {
        failing.run(world).unwrap_err();
    }));
    schedule.add(processor("innocent", || {}).after("sub"));
    let report = schedule.run(&mut world).unwrap();
    assert_eq!(authors(&report), [by("culprit")]);
}

#[test]
fn who_keeps_what_opens_recorders_is_the_author_as_long_as_its_schedule_is_known() {
    let mut world = World::new();
    let gone = gone(&mut world);
    let kept = std::sync::Arc::new(std::sync::Mutex::new(None));
    let keep = std::sync::Arc::clone(&kept);
    let mut schedule = Schedule::new();
    schedule.add(processor("loader", move |commands: ParallelCommands| {
        *keep.lock().unwrap() = Some(commands);
    }));
    schedule.run(&mut world).unwrap();
    let loader = kept.lock().unwrap().take().unwrap();
    // Its place is another's by now.
    schedule.add(processor("first", || {}).before("loader"));
    schedule.run(&mut world).unwrap();
    for others in 0..10 {
        loader.open().destroy(gone);
        let expected = if others < 7 {
            by("loader")
        } else {
            Author::Earlier
        };
        assert_eq!(world.flush().first_dead[0].by, expected, "{others}");
        inner().run(&mut world).unwrap();
    }
}

#[test]
fn an_exclusive_processor_is_an_author_around_a_schedule_of_its_own() {
    let mut world = World::new();
    let gone = gone(&mut world);
    let mut schedule = Schedule::new();
    let (mut one, mut two) = (inner(), inner());
    schedule.add(exclusive_processor("flushes", move |world: &mut World| {
        one.run(world).unwrap();
        world.commands().destroy(gone);
        let dead = world.flush().first_dead;
        assert_eq!(dead[0].by, by("flushes"));
    }));
    schedule.add(
        exclusive_processor("defers", move |world: &mut World| {
            let mut inner = core::mem::take(&mut two);
            let commands = world.parallel_commands();
            commands.open().defer(move |world: &mut World| {
                inner.run(world).unwrap();
            });
            commands.open().destroy(gone);
        })
        .after("flushes"),
    );
    let report = schedule.run(&mut world).unwrap();
    assert_eq!(authors(&report), [by("defers")]);
    // A thread that has got what opens recorders from nobody is nobody, whoever has the world.
    let loader = world.parallel_commands();
    let mut schedule = Schedule::new();
    schedule.add(exclusive_processor("alone", move |_: &mut World| {
        loader.open().destroy(gone);
    }));
    let report = schedule.run(&mut world).unwrap();
    assert_eq!(authors(&report), [Author::Outside]);
}
