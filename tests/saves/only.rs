//! Lists of what may be there: in files, slices, hashes and comparisons.

use core::ops::ControlFlow;
use std::time::Duration;

use megachunk::prelude::*;
use megachunk::world::{SnapshotOptions, SnapshotSummary};

/// A server's world, with what nobody else may know; and the list of what others may.
fn server() -> (World, [Entity; 2], SnapshotOptions) {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_plain_as::<i64>("secret").unwrap();
    let health = registry.register_plain_as::<u32>("health").unwrap().id();
    let team = registry
        .register_plain_as::<ConstShared<u8>>("team")
        .unwrap()
        .id();
    registry.register_state_as::<u16>("round").unwrap();
    registry.register_state_as::<u64>("seed").unwrap();
    let ant = world.create((7_u32, 9_i64).const_shared(1_u8)).unwrap();
    let bee = world
        .create((8_u32, String::from("not even plain")))
        .unwrap();
    world.set_name(ant, "the traitor").unwrap();
    world.resources_mut().insert(3_u16);
    world.resources_mut().insert(4_u64);
    let round = world.signal::<u16>("round").unwrap();
    let plot = world.signal::<u64>("plot").unwrap();
    let whispers = world.signal::<i8>("whispers").unwrap();
    let mut signals = world.signals();
    signals.send_at(round, ant, 1, Duration::from_secs(1));
    signals.send_at(plot, ant, 2, Duration::from_secs(2));
    signals.send_at(whispers, ant, 3, Duration::from_secs(3));
    drop(signals);
    world.collect_signals();
    let options = SnapshotOptions::new().only([health]).only([team]);
    (world, [ant, bee], options)
}

/// What a client has registered.
fn client() -> Universe {
    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_plain_as::<u32>("health").unwrap();
    registry
        .register_plain_as::<ConstShared<u8>>("team")
        .unwrap();
    registry.register_state_as::<u16>("round").unwrap();
    universe
}

fn names(summary: &SnapshotSummary) -> Vec<&str> {
    summary.fragments.iter().map(|one| &*one.name).collect()
}

#[test]
fn nothing_goes_out_that_the_list_does_not_have() {
    let (world, [ant, bee], options) = server();
    let all = options
        .clone()
        .only_resource::<u16>()
        .only_signals_of::<u16>()
        .skip_names();
    let file = world.to_snapshot(&all).unwrap();
    let summary = SnapshotSummary::of(&file).unwrap();
    assert_eq!(names(&summary), ["health", "team"]);
    assert_eq!(
        (&summary.state_types[..], summary.signals),
        (&["round".to_string()][..], 1)
    );
    let has = |what: &str| {
        file.windows(what.len())
            .any(|bytes| bytes == what.as_bytes())
    };
    assert!(has("health") && !["secret", "seed", "traitor", "plot"].into_iter().any(has));
    let copy = World::from_snapshot(&file, client(), &Default::default()).unwrap();
    assert_eq!(copy.get::<u32>(bee).unwrap(), &8);
    assert_eq!(copy.const_shared::<u8>(ant).unwrap(), &1);
    assert_eq!(copy.name(ant), Ok(None));
    // Each is said by itself.
    let summary = SnapshotSummary::of(&world.to_snapshot(&options).unwrap()).unwrap();
    assert_eq!((summary.state_types.len(), summary.signals), (2, 2));
    let slice = world.slice_to_snapshot(&[ant, bee], &all).unwrap();
    let summary = SnapshotSummary::of(&slice).unwrap();
    assert_eq!(
        (names(&summary), summary.entities),
        (vec!["health", "team"], 2)
    );
    let has = |what: &[u8]| slice.windows(what.len()).any(|bytes| bytes == what);
    assert!(has(b"health") && !has(b"traitor"));
}

#[test]
fn what_is_on_the_list_and_skipped_is_not_there() {
    let (world, _, options) = server();
    let health = world.registry().find("health").unwrap().id();
    let options = options
        .skip(health)
        .only_resource::<u16>()
        .only_resource::<u64>();
    let summary = |options: &SnapshotOptions| {
        SnapshotSummary::of(&world.to_snapshot(options).unwrap()).unwrap()
    };
    let told = summary(&options);
    assert_eq!(names(&told), ["team"]);
    assert_eq!(told.state_types, ["round", "seed"]);
    let none = summary(&options.skip_resource::<u16>().skip_signals());
    assert_eq!(
        (none.state_types, none.signals),
        (vec!["seed".to_string()], 0)
    );
    let nothing = summary(&SnapshotOptions::new().only([]).skip_resources());
    assert_eq!((nothing.fragments.len(), nothing.entities), (0, 2));
}

#[test]
fn server_and_client_count_the_same_part() {
    let (mut world, [ant, bee], options) = server();
    let options = options.only_resource::<u16>().only_signals_of::<u16>();
    let file = world.to_snapshot(&options).unwrap();
    let copy = World::from_snapshot(&file, client(), &Default::default()).unwrap();
    let hash = |world: &World| world.state_hash(&options).unwrap();
    let of_copy = copy.state_hash(&Default::default()).unwrap();
    assert_eq!(hash(&world), of_copy);
    // Numbers of fragments are others there: they are found by their names.
    let none = |_: megachunk::world::Difference<'_>| ControlFlow::Continue(());
    assert_eq!(world.differences(&copy, &options, none).unwrap(), 0);
    *world.get_mut::<i64>(ant).unwrap() = 1;
    world.resources_mut().insert(5_u64);
    assert_eq!(hash(&world), of_copy);
    *world.get_mut::<u32>(bee).unwrap() = 1;
    assert_ne!(hash(&world), of_copy);
    assert_eq!(world.differences(&copy, &options, none).unwrap(), 1);
}

#[test]
fn what_a_list_leaves_out_is_not_forgotten() {
    let (mut world, ..) = server();
    let all = SnapshotOptions::new();
    let listed = all.clone().only_signals_of::<u16>();
    assert_eq!(world.unsaved(&all).delayed_signals, 1);
    assert!(world.unsaved(&listed).is_empty());
    // Nor if it is for somebody who has died since.
    let everybody: Vec<Entity> = world.query::<Entity, ()>().unwrap().iter().collect();
    for entity in everybody {
        world.destroy(entity).unwrap();
    }
    assert_eq!(world.unsaved(&all).dead_signals, 3);
    assert_eq!(world.unsaved(&listed).dead_signals, 1);
}
