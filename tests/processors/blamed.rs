//! Who changed a value last: the version of a change, and the processor that had it.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use megachunk::prelude::*;
use megachunk::world::Version;

/// The processor that changed a `T` of an entity last.
fn changed_by<'s, T: Fragment>(
    schedule: &'s Schedule,
    world: &World,
    entity: Entity,
) -> Option<&'s str> {
    let version = world.entity(entity).unwrap().change_version::<T>();
    schedule.ran_at(version.unwrap())
}

fn writes<T: Fragment>(name: &str) -> ProcessorBuilder {
    processor(name, |mut all: QueryRun<&mut T>| all.for_each(|_| ()))
}

#[test]
fn each_processor_is_blamed_for_what_it_changes_however_they_run() {
    for execution in [Execution::Alone, Execution::Beside] {
        let mut world = World::new();
        let ant = world.create((1_u8, 2_u16, 3_u32, 'a')).unwrap();
        let mut schedule = Schedule::new();
        schedule
            .add(writes::<u8>("one"))
            .add(writes::<u16>("two"))
            .add(writes::<u32>("early").phase(Phase::PrePhysics))
            .add(writes::<u32>("late").phase(Phase::FrameEnd))
            .set_execution(execution);
        for _ in 0..3 {
            schedule.run(&mut world).unwrap();
            assert_eq!(changed_by::<u8>(&schedule, &world, ant), Some("one"));
            assert_eq!(changed_by::<u16>(&schedule, &world, ant), Some("two"));
            assert_eq!(changed_by::<u32>(&schedule, &world, ant), Some("late"));
            assert_eq!(changed_by::<char>(&schedule, &world, ant), None);
            // Just before the next run, and just after this one.
            *world.get_mut(ant).unwrap() = 'b';
            assert_eq!(changed_by::<char>(&schedule, &world, ant), None);
        }
        schedule.set_enabled("late", false).unwrap();
        schedule.run(&mut world).unwrap();
        assert_eq!(changed_by::<char>(&schedule, &world, ant), None);
        assert_eq!(changed_by::<u32>(&schedule, &world, ant), Some("early"));
        // Its phase alone.
        schedule.run_phase(&mut world, Phase::PrePhysics).unwrap();
        assert_eq!(changed_by::<u32>(&schedule, &world, ant), Some("early"));
        assert_eq!(changed_by::<u8>(&schedule, &world, ant), Some("one"));
        schedule.detach();
        assert_eq!(changed_by::<u8>(&schedule, &world, ant), None);
    }
}

#[test]
fn nobody_is_blamed_for_what_was_changed_between_and_by_commands() {
    let mut world = World::new();
    let ant = world.create((1_u8, 'a', 0_i64)).unwrap();
    let mut schedule = Schedule::new();
    // The first of each part between flushes reads only.
    schedule
        .add(processor("look", |mut all: QueryRun<&char>| {
            assert_eq!(all.count(), 1);
        }))
        .add(
            processor("tell", move |mut commands: Commands| {
                commands.set(ant, 2_u8).unwrap();
            })
            .after("look"),
        )
        .add(
            processor("look again", |mut all: QueryRun<&u8>| {
                assert_eq!(all.count(), 1);
            })
            .after(Target::from("tell").flushed()),
        )
        .add(writes::<i64>("write").after("look again"));
    *world.get_mut(ant).unwrap() = 'b';
    for _ in 0..3 {
        schedule.run(&mut world).unwrap();
        assert_eq!(world.get::<u8>(ant).unwrap(), &2);
        assert_eq!(changed_by::<u8>(&schedule, &world, ant), None);
        assert_eq!(changed_by::<char>(&schedule, &world, ant), None);
        assert_eq!(changed_by::<i64>(&schedule, &world, ant), Some("write"));
    }
    let strange = [0, 1, u64::MAX].map(Version::from_bits);
    for version in strange.into_iter().chain([world.version()]) {
        assert_eq!(schedule.ran_at(version), None, "{version}");
    }
}

#[test]
fn who_has_the_world_to_itself_is_blamed_for_all_that_it_does_and_no_more() {
    let mut world = World::new();
    let ant = world.create((1_u8, 2_u16, 'a', 0_i64)).unwrap();
    let mut schedule = Schedule::new();
    schedule
        .add(processor("tell", move |mut commands: Commands| {
            commands.set(ant, 'b').unwrap();
        }))
        .add(
            exclusive_processor("all", move |world: &mut World| {
                *world.get_mut::<u8>(ant).unwrap() += 1;
                let mut twos = Query::<&mut u16>::new(world).unwrap();
                for _ in 0..5 {
                    twos.on(world).for_each(|two| *two += 1);
                }
                // A composition that was not there.
                let new = world.create((1_u64,)).unwrap();
                world.add(new, (u128::from(new.index()),)).unwrap();
                world.commands().set(ant, 7_i64).unwrap();
            })
            .after("tell"),
        )
        .add(writes::<u64>("last").after("all"));
    for _ in 0..3 {
        schedule.run(&mut world).unwrap();
        assert_eq!(world.get::<i64>(ant).unwrap(), &7);
        assert_eq!(changed_by::<u8>(&schedule, &world, ant), Some("all"));
        assert_eq!(changed_by::<u16>(&schedule, &world, ant), Some("all"));
        // Flushed before it, and after.
        assert_eq!(changed_by::<char>(&schedule, &world, ant), None);
        assert_eq!(changed_by::<i64>(&schedule, &world, ant), None);
        let new = world.query::<Entity, With<u64>>().unwrap().first().unwrap();
        assert_eq!(changed_by::<u64>(&schedule, &world, new), Some("last"));
        assert_eq!(changed_by::<u128>(&schedule, &world, new), Some("all"));
    }
}

#[test]
fn timings_and_reports_are_shown_in_lines() {
    let mut world = World::new();
    for number in 0..3_u8 {
        world.create((number,)).unwrap();
    }
    let mut schedule = Schedule::new();
    schedule.add(writes::<u8>("write")).set_measured(true);
    schedule.start_trace();
    let report = schedule.run(&mut world).unwrap();
    assert_eq!(report.to_string(), "1 ran, 0 passed by");
    let (_, timing) = schedule.timings().next().unwrap();
    let line = timing.to_string();
    assert!(line.starts_with("     1 runs, mean "), "{line}");
    assert!(
        line.ends_with(";        3 entities in     1 chunks"),
        "{line}"
    );
    schedule.run(&mut world).unwrap();
    let trace = schedule.take_trace().unwrap();
    let len = trace.len();
    assert_eq!(
        format!("{trace:?}"),
        format!("Trace {{ len: {len}, processors: 1, .. }}")
    );
}
