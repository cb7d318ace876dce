//! What is broadcast reaches processors whose parameters have no types, and what a world says of its signals.

use core::any::TypeId;

use megachunk::prelude::*;
use megachunk::query::QueryError;

struct Said(u32);
#[derive(Default)]
struct Log(Vec<u32>);

/// A processor that logs what it hears; it asks twice.
fn logs(world: &World, name: &str) -> megachunk::processor::ProcessorBuilder {
    let log = DynamicQuery::builder(world).write_resource::<Log>().build();
    dynamic_processor(name, [log.unwrap()], |mut params| -> ProcessorResult {
        let (heard, again) = (params.heard::<Said>()?, params.heard::<Said>()?);
        assert_eq!(heard.len(), again.len());
        let log = &mut params.resources().write::<Log>()?.0;
        log.extend(heard.iter().map(|said| said.0));
        Ok(())
    })
}

fn log(world: &World) -> &[u32] {
    &world.resources().get::<Log>().unwrap().0
}

#[test]
fn a_script_hears_what_was_broadcast_since_its_last_run_in_the_order_of_all() {
    let mut world = World::new();
    world.resources_mut().insert(Log::default());
    let [one, two] = ["one", "two"].map(|name| world.signal::<Said>(name).unwrap());
    let other = world.signal::<Said>("other").unwrap();
    let mut schedule = Schedule::new();
    schedule.add(
        logs(&world, "log")
            .hears::<Said>("one")
            .hears::<Said>("two"),
    );
    world.signals().broadcast(one, Said(0));
    schedule.solve(&mut world).unwrap();
    let send = |world: &World, from: u32| {
        let mut signals = world.signals();
        signals.broadcast(two, Said(from));
        signals.broadcast(one, Said(from + 1));
        signals.broadcast(other, Said(99));
        signals.broadcast(two, Said(from + 2));
    };
    send(&world, 1);
    schedule.run(&mut world).unwrap();
    assert_eq!(
        log(&world),
        [1, 2, 3],
        "and not what came before it subscribed"
    );
    schedule.run(&mut world).unwrap();
    send(&world, 4);
    schedule.run(&mut world).unwrap();
    assert_eq!(log(&world), [1, 2, 3, 4, 5, 6]);
    // What it is to hear no more.
    send(&world, 7);
    assert_eq!(schedule.discard_signals(&mut world, "log"), Ok(3));
    schedule.run(&mut world).unwrap();
    assert_eq!(log(&world).len(), 6);
}

#[test]
fn what_waits_while_a_condition_does_not_hold_is_heard_later_and_by_each_script() {
    struct Open(bool);
    let mut world = World::new();
    world.resources_mut().insert(Log::default());
    world.resources_mut().insert(Open(false));
    let said = world.signal_of::<Said>();
    let mut schedule = Schedule::new();
    let waits = logs(&world, "waits").hears_type::<Said>();
    schedule.add(waits.run_if(|open: &Open| open.0));
    schedule.add(logs(&world, "runs").hears_type::<Said>());
    schedule.run(&mut world).unwrap();
    world.signals().broadcast(said, Said(1));
    schedule.run(&mut world).unwrap();
    assert_eq!(log(&world), [1]);
    world.resources_mut().get_mut::<Open>().unwrap().0 = true;
    schedule.run(&mut world).unwrap();
    assert_eq!(log(&world), [1, 1]);
}

#[test]
fn what_was_not_said_to_be_heard_is_refused() {
    let mut world = World::new();
    world.resources_mut().insert(0_u32);
    let count = DynamicQuery::builder(&world)
        .write_resource::<u32>()
        .build();
    let hears = dynamic_processor("some", [count.unwrap()], |mut params| -> ProcessorResult {
        let refused = params.heard::<char>().map(drop);
        assert!(matches!(refused, Err(QueryError::NotAsked { .. })));
        assert!(params.heard::<Said>()?.is_empty());
        *params.resources().write::<u32>()? += 1;
        Ok(())
    });
    let deaf = dynamic_processor("deaf", [], |params| {
        assert!(params.heard::<Said>().is_err());
    });
    let mut schedule = Schedule::new();
    schedule.add(hears.hears_type::<Said>()).add(deaf);
    schedule.run(&mut world).unwrap();
    assert_eq!(world.resources().get::<u32>(), Some(&1));
    // A name that carries something else.
    let _ = world.signal::<char>("letter").unwrap();
    let mut schedule = Schedule::new();
    schedule.add(dynamic_processor("wrong", [], |_| {}).hears::<Said>("letter"));
    assert!(matches!(
        schedule.run(&mut world),
        Err(ScheduleError::Signal { .. })
    ));
}

#[test]
fn a_world_lists_its_signals_in_the_order_in_which_they_were_met() {
    let world = World::new();
    assert_eq!(world.signal_kinds().len(), 0);
    let _ = world.signal::<Said>("said").unwrap();
    let _ = world.signal_of::<u8>();
    let _ = world.signal::<Said>("said").unwrap();
    let _ = world.signal::<u8>("number").unwrap();
    let kinds: Vec<_> = world
        .signal_kinds()
        .map(|kind| (kind.name(), kind.payload()))
        .collect();
    let number = TypeId::of::<u8>();
    let expected = [
        (Some("said"), TypeId::of::<Said>()),
        (None, number),
        (Some("number"), number),
    ];
    assert_eq!(kinds, expected);
    let first = world.signal_kinds().next().unwrap();
    assert!(first.payload_name().ends_with("Said"));
    assert!(format!("{first:?}").contains("\"said\""), "{first:?}");
}
