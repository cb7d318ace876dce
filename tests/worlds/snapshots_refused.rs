//! Snapshots: what is not saved and not loaded, and that it is named.

use crate::snapshot_world::{small_world, universe};
use crate::snapshots::bytes;
use megachunk::fragment::Value;
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions};

#[test]
fn a_fragment_that_is_not_plain_is_named_or_skipped() {
    let (mut world, all) = small_world(20);
    let hash = world.state_hash(&Default::default()).unwrap();
    world.add(all[2], (String::from("cache"),)).unwrap();
    let id = world.registry().of::<String>().unwrap().id();
    for error in [
        world.state_hash(&Default::default()).unwrap_err(),
        world.to_snapshot(&SnapshotOptions::new()).unwrap_err(),
    ] {
        assert!(matches!(&error, SnapshotError::NotPlain { name, .. } if name.contains("String")));
    }
    for options in [
        SnapshotOptions::new().skip(id),
        SnapshotOptions::new().skip_not_plain(),
    ] {
        assert_eq!(world.state_hash(&options).unwrap(), hash);
        let saved = world.to_snapshot(&options).unwrap();
        let loaded = World::from_snapshot(&saved, universe(), &Default::default()).unwrap();
        assert_eq!(loaded.state_hash(&Default::default()).unwrap(), hash);
    }
    // A tag of a type is no secret to a hash, but only its owner may make one.
    struct Token;
    world.remove::<(String,)>(all[2]).unwrap();
    world.add(all[2], (Token,)).unwrap();
    assert!(world.state_hash(&Default::default()).is_ok());
    let refused = world.to_snapshot(&SnapshotOptions::new()).unwrap_err();
    assert!(matches!(refused, SnapshotError::NotPlain { .. }));
}

#[test]
fn worlds_that_do_not_belong_together_are_not_saved_together() {
    let (world, other) = (small_world(3).0, small_world(3).0);
    let options = SnapshotOptions::new();
    let error = World::worlds_to_snapshot(&[&world, &other], &options).unwrap_err();
    assert!(matches!(error, SnapshotError::OtherUniverse), "{error}");
    let error = World::worlds_to_snapshot(&[&world, &world], &options).unwrap_err();
    assert!(matches!(error, SnapshotError::WorldTwice), "{error}");
}

#[test]
fn what_does_not_fit_the_registry_is_named() {
    let mut world = World::new();
    world.registry().register_plain::<u32>().unwrap();
    world.registry().register_enableable::<u32>().unwrap();
    world
        .registry()
        .define_plain("health", core::alloc::Layout::new::<u64>())
        .unwrap();
    let ant = world.create((1_u32,)).unwrap();
    let saved = bytes(&world);
    let load = |prepare: &dyn Fn(&Universe)| {
        let universe = Universe::new();
        prepare(&universe);
        World::from_snapshot(&saved, universe, &Default::default()).map(drop)
    };
    let error = load(&|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the snapshot has a fragment u32 of 4 bytes aligned to 4, which is not registered; \
         register it before the load, as by `register_plain_as`, or see `LoadOptions::skip`"
    );
    let several = {
        let mut world = World::new();
        let registry = world.registry();
        let health = registry.define_plain("health", core::alloc::Layout::new::<u64>());
        let health = health.unwrap().id();
        let asleep = registry.define_plain("asleep", core::alloc::Layout::new::<()>());
        let asleep = asleep.unwrap().id();
        registry.register_plain::<u32>().unwrap();
        let values = [(health, &[0_u8; 8][..]), (asleep, &[])]
            .map(|(id, bytes)| Value::from_bytes(registry, id, bytes).unwrap());
        let ant = world.create_dynamic(values.into_iter().collect()).unwrap();
        world.add(ant, (1_u32,)).unwrap();
        let universe = Universe::new();
        universe.registry().register_plain::<u32>().unwrap();
        World::from_snapshot(&bytes(&world), universe, &Default::default()).unwrap_err()
    };
    assert_eq!(
        several.to_string(),
        "the snapshot has a tag asleep, a fragment health of 8 bytes aligned to 8, which are not registered; \
         register them before the load, as by `register_plain_as`, or see `LoadOptions::skip`"
    );
    let shared = load(&|universe| drop(universe.registry().register::<Shared<u32>>())).unwrap_err();
    assert_eq!(
        shared.to_string(),
        "the snapshot has a fragment u32 of 4 bytes aligned to 4, which is not registered as such: here u32 is a shared \
         fragment; register it before the load, as by `register_plain_as`, or see `LoadOptions::skip`"
    );
    let error = load(&|universe| drop(universe.registry().register::<u32>())).unwrap_err();
    assert!(matches!(error, SnapshotError::NotPlain { .. }), "{error}");
    let health = world.registry().find("health").unwrap().id();
    let value = megachunk::fragment::Value::from_bytes(world.registry(), health, &[0; 8]).unwrap();
    world
        .add_dynamic(ant, [value].into_iter().collect())
        .unwrap();
    let universe = universe();
    universe.registry().register_plain::<u32>().unwrap();
    universe.registry().register_enableable::<u32>().unwrap();
    let error = World::from_snapshot(&bytes(&world), universe, &Default::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "health had 8 bytes aligned to 8 when it was saved, and has 4 aligned to 4 now: see \
         `LoadOptions::convert`, or `convert_bytes` for what is defined at run time, which makes today's values of those of the snapshot"
    );
}

#[test]
fn all_fragments_that_had_other_sizes_are_named_at_once() {
    let names = ["armour", "fuel", "health"];
    let of = |sizes: [usize; 3]| {
        let universe = Universe::new();
        let ids = [0, 1, 2].map(|n| {
            let layout = core::alloc::Layout::from_size_align(sizes[n], 1).unwrap();
            let info = universe.registry().define_plain(names[n], layout);
            info.unwrap().id()
        });
        (universe, ids)
    };
    let (universe, ids) = of([3, 4, 5]);
    let mut world = World::of(&std::sync::Arc::new(universe)).unwrap();
    let value = |n: usize| {
        let bytes = [n as u8; 5];
        Value::from_bytes(world.registry(), ids[n], &bytes[..3 + n]).unwrap()
    };
    let values = [0, 1, 2].map(value).into_iter().collect();
    world.create_dynamic(values).unwrap();
    let saved = bytes(&world);
    let load = |sizes| World::from_snapshot(&saved, of(sizes).0, &Default::default()).map(drop);
    load([3, 4, 5]).unwrap();
    let error = load([3, 8, 6]).unwrap_err();
    let SnapshotError::Layout { fragments, .. } = &error else {
        panic!("{error}");
    };
    let is = megachunk::fragment::FragmentKind::Fragment;
    assert!(fragments.iter().all(|changed| changed.kind == is));
    let told = fragments.iter().map(|f| (&*f.name, f.saved_size, f.size));
    let mut told: Vec<_> = told.collect();
    told.sort_unstable();
    assert_eq!(told, [("fuel", 4, 8), ("health", 5, 6)]);
    let said = error.to_string();
    assert!(
        said.contains(
            "fuel had 4 bytes aligned to 1 when it was saved, and has 8 aligned to 1 now"
        ) && said.contains("; "),
        "{said}"
    );
}

#[test]
fn a_universe_that_had_entities_takes_no_snapshot() {
    let universe = Universe::new();
    universe.reserve().unwrap();
    let saved = bytes(&World::new());
    let error = World::from_snapshot(&saved, universe, &Default::default()).unwrap_err();
    assert!(matches!(error, SnapshotError::UniverseInUse));
}

#[test]
fn a_tag_that_has_a_drop_is_not_saved() {
    let mut world = World::new();
    let definition =
        megachunk::fragment::FragmentDefinition::new("guard", core::alloc::Layout::new::<()>())
            .drop_values(|_, _| {});
    // SAFETY: its drop does nothing, of however many.
    let guard = unsafe { world.registry().define(definition) }.unwrap().id();
    // SAFETY: a value of no bytes.
    let value = unsafe {
        megachunk::fragment::Value::from_raw(world.registry(), guard, core::ptr::dangling())
    };
    let bundle = megachunk::fragment::DynamicBundle::new().with(value.unwrap());
    let ant = world.create_dynamic(bundle).unwrap();
    assert!(world.clone_entity(ant).is_err());
    let said = world.to_snapshot(&SnapshotOptions::new()).unwrap_err();
    assert!(said.to_string().contains("guard"), "{said}");
    assert!(
        world.state_hash(&Default::default()).is_ok(),
        "membership is all there is to see"
    );
}
