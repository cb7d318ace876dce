//! Snapshots that are loaded without some of what they have.

use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::fragment::{FragmentKind, FragmentRegistry, Value};
use megachunk::prelude::*;
use megachunk::world::SnapshotError;

use crate::snapshot_world::small_world;
use crate::snapshots::{bytes, ordered};

/// What tells worlds apart, before and after the same is done to both.
fn told(mut world: World) -> Vec<u64> {
    world.check().unwrap();
    let mut told = vec![
        world.state_hash(&Default::default()).unwrap(),
        world.count() as u64,
    ];
    let all: Vec<Entity> = world.read::<Entity, ()>().unwrap().iter().collect();
    told.extend(all.iter().map(|entity| entity.to_bits()));
    for n in 0..50_u64 {
        told.push(world.create((n,)).unwrap().to_bits());
    }
    for &entity in all.iter().step_by(3) {
        world.destroy(entity).unwrap();
    }
    for &entity in all.iter().skip(1).step_by(3) {
        world.add(entity, (5_u64,)).unwrap();
    }
    world.check().unwrap();
    told.push(world.state_hash(&Default::default()).unwrap());
    let saved = bytes(&world);
    let again = World::from_snapshot(&saved, ordered(), &Default::default()).unwrap();
    told.push(again.state_hash(&Default::default()).unwrap());
    told
}

#[test]
fn what_is_skipped_in_loading_is_as_if_it_had_been_skipped_in_saving() {
    for count in [1, 40, 400] {
        let (world, _) = small_world(count);
        let file = bytes(&world);
        for info in world.registry().iter() {
            let saving = SnapshotOptions::new().skip(info.id());
            let without = world.to_snapshot(&saving).unwrap();
            let loading = LoadOptions::new().skip(info.name());
            let one = World::from_snapshot(&file, ordered(), &loading).unwrap();
            let other = World::from_snapshot(&without, ordered(), &Default::default()).unwrap();
            assert_eq!(told(one), told(other), "{} of {count}", info.name());

            let (nobody, universes) = (EntityMap::default(), [(); 2].map(|()| Arc::new(ordered())));
            let (one, come) =
                World::from_snapshot_remapped(&file, &universes[0], &nobody, &loading).unwrap();
            let (other, others) = World::from_snapshot_remapped(
                &without,
                &universes[1],
                &nobody,
                &Default::default(),
            )
            .unwrap();
            assert_eq!(come.len(), others.len());
            assert_eq!(
                told(one),
                told(other),
                "{} of {count}, remapped",
                info.name()
            );
        }
    }
}

#[test]
fn a_world_comes_without_all_that_it_had() {
    let (world, _) = small_world(100);
    let names = world.registry().iter().map(|info| info.name());
    let options = names.fold(LoadOptions::new(), LoadOptions::skip);
    let states = ["leader", "grudge", "motto"].into_iter();
    let options = states.fold(options, LoadOptions::skip_state);
    let loaded = World::from_snapshot(&bytes(&world), Universe::new(), &options).unwrap();
    loaded.check().unwrap();
    assert_eq!(loaded.count(), world.count());
    assert_eq!(loaded.stats().archetypes.len(), 1);
    assert_eq!(loaded.pending().delayed_signals, 0);
    let names = ["ant", "bee"];
    for name in names {
        let named = |world: &World| world.named(name).collect::<Vec<_>>();
        assert_eq!(named(&loaded), named(&world));
    }
}

#[test]
fn without_what_is_large_chunks_are_as_long_as_the_rest_needs() {
    let large = |universe: &Universe| {
        let layout = core::alloc::Layout::new::<[u8; 100_000]>();
        let large = universe.registry().define_plain("large", layout);
        large.unwrap().id()
    };
    let simpler = || {
        let universe = simpler();
        let team = universe.registry().register_plain::<ConstShared<u16>>();
        team.unwrap();
        universe
    };
    let universe = simpler();
    let id = large(&universe);
    let mut world = World::of(&Arc::new(universe)).unwrap();
    let ant = world.create((1_u32,).const_shared(0_u16)).unwrap();
    let value = Value::from_bytes(world.registry(), id, &vec![7; 100_000]).unwrap();
    world
        .add_dynamic(ant, [value].into_iter().collect())
        .unwrap();
    for team in 0..100_u16 {
        world.create((2_u32,).const_shared(team)).unwrap();
    }
    let file = bytes(&world);
    let in_use = |world: &World| world.universe().chunk_stats().in_use;
    // It was 49 times 16 KiB long, and is a chunk like others now; its composition's first one goes along.
    let options = LoadOptions::new().skip("large");
    let loaded = World::from_snapshot(&file, simpler(), &options).unwrap();
    loaded.check().unwrap();
    assert_eq!(loaded.stats().archetypes.len(), 1);
    assert_eq!((loaded.count(), in_use(&loaded)), (101, 101));
    let (universe, nobody) = (Arc::new(simpler()), EntityMap::default());
    let anew = World::from_snapshot_remapped(&file, &universe, &nobody, &options);
    let (anew, _) = anew.unwrap();
    anew.check().unwrap();
    assert_eq!((anew.count(), in_use(&anew)), (101, 101));
    // Where all of it comes, it has its room.
    let universe = simpler();
    large(&universe);
    let whole = World::from_snapshot(&file, universe, &Default::default()).unwrap();
    assert_eq!(in_use(&whole), 49 + 100);
}

#[test]
fn without_a_fragment_chunks_stay_as_long_as_the_world_s_were_set() {
    let universe = simpler();
    let debug = universe.registry().register_plain_as::<u64>("debug");
    debug.unwrap();
    let mut world = World::of(&Arc::new(universe)).unwrap();
    world.set_chunk_size(8);
    world.create((1_u32, 1_u64)).unwrap();
    world.create((2_u32,)).unwrap();
    let options = LoadOptions::new().skip("debug");
    let mut loaded = World::from_snapshot(&bytes(&world), simpler(), &options).unwrap();
    let ants = loaded.create_batch((0..200_000_u32).map(|n| (n,)));
    assert_eq!(ants.unwrap().len(), 200_000);
    loaded.check().unwrap();
    let chunks = loaded.stats().archetypes[0].chunks;
    let in_use = loaded.universe().chunk_stats().in_use;
    assert_eq!(in_use, 8 * chunks, "{chunks} chunks");
}

/// A program that knows nothing of what another one has besides a number.
fn simpler() -> Universe {
    let universe = Universe::new();
    universe
        .registry()
        .register_plain_as::<u32>("number")
        .unwrap();
    universe
}

#[test]
fn what_the_program_knows_no_more_is_skipped_in_every_role_and_nothing_else() {
    type Give = fn(&mut World, Entity);
    let gives: [(FragmentKind, Give); 7] = [
        (FragmentKind::Fragment, |world, entity| {
            world.registry().register_plain_as::<u16>("gone").unwrap();
            world.add(entity, (7_u16,)).unwrap();
        }),
        (FragmentKind::Fragment, |world, entity| {
            world.registry().register_plain_as::<u16>("gone").unwrap();
            world.registry().register_enableable::<u16>().unwrap();
            world.add(entity, (7_u16,)).unwrap();
            world.set_enabled::<u16>(entity, false).unwrap();
        }),
        (FragmentKind::Tag, |world, entity| {
            world.registry().register_plain_as::<()>("gone").unwrap();
            world.add(entity, ((),)).unwrap();
        }),
        (FragmentKind::Tag, |world, entity| {
            let (known, layout) = (world.registry(), core::alloc::Layout::new::<()>());
            let gone = known.find("gone");
            let id = gone.map(|info| info.id());
            let id = id.unwrap_or_else(|| known.define_plain("gone", layout).unwrap().id());
            let value = Value::from_bytes(world.registry(), id, &[]).unwrap();
            world
                .add_dynamic(entity, [value].into_iter().collect())
                .unwrap();
        }),
        (FragmentKind::Shared, |world, entity| {
            world
                .registry()
                .register_plain_as::<Shared<u16>>("gone")
                .unwrap();
            let team = (entity.index() % 3) as u16;
            world.add(entity, ().shared(team)).unwrap();
        }),
        (FragmentKind::ConstShared, |world, entity| {
            world
                .registry()
                .register_plain_as::<ConstShared<u16>>("gone")
                .unwrap();
            let team = (entity.index() % 3) as u16;
            world.add(entity, ().const_shared(team)).unwrap();
        }),
        (FragmentKind::Chunk, |world, entity| {
            world
                .registry()
                .register_plain_as::<PerChunk<u16>>("gone")
                .unwrap();
            world.add(entity, ().per_chunk(7_u16)).unwrap();
        }),
    ];
    for (at, (role, give)) in gives.into_iter().enumerate() {
        let mut world = World::of(&Arc::new(simpler())).unwrap();
        let all: Vec<Entity> = (0..600_u32).map(|n| world.create((n,)).unwrap()).collect();
        for &entity in all.iter().filter(|entity| entity.index() % 4 > 0) {
            give(&mut world, entity);
        }
        let file = bytes(&world);
        let refused = World::from_snapshot(&file, simpler(), &Default::default()).unwrap_err();
        let SnapshotError::Unregistered { fragments, .. } = &refused else {
            panic!("{at}: {refused}");
        };
        assert_eq!((&*fragments[0].name, fragments[0].kind), ("gone", role));
        let others = LoadOptions::new().skip("Gone").skip_state("gone");
        assert_eq!(
            World::from_snapshot(&file, simpler(), &others).map(drop),
            Err(refused)
        );
        let options = LoadOptions::new().skip("gone").skip("never there");
        let loaded = World::from_snapshot(&file, simpler(), &options).unwrap();
        loaded.check().unwrap();
        assert_eq!(loaded.stats().archetypes.len(), 1, "{at}");
        for (n, &entity) in (0..).zip(&all) {
            assert_eq!(loaded.get::<u32>(entity), Ok(&n), "{at}");
        }
    }
}

#[test]
fn resources_and_what_signals_carry_are_skipped_by_the_names_of_their_types() {
    let register = |known: &FragmentRegistry| {
        known.register_state_as::<u32>("score").unwrap();
        known.register_state_as::<u16>("gone").unwrap();
    };
    let mut world = World::new();
    register(world.registry());
    world.resources_mut().insert(3_u32);
    world.resources_mut().insert(4_u16);
    let ant = world.create(()).unwrap();
    let (kept, lost) = (world.signal_of::<u32>(), world.signal_of::<u16>());
    let soon = core::time::Duration::from_secs(1);
    world.signals().send_after(kept, ant, 5_u32, soon);
    world.signals().send_after(lost, ant, 6_u16, soon);
    world.collect_signals();
    let file = bytes(&world);
    let universe = || {
        let universe = Universe::new();
        universe
            .registry()
            .register_state_as::<u32>("score")
            .unwrap();
        universe
    };
    let options = LoadOptions::new().skip("gone");
    let refused = World::from_snapshot(&file, universe(), &options).unwrap_err();
    let SnapshotError::UnregisteredState { names, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(
        names.iter().map(|name| &**name).collect::<Vec<_>>(),
        ["gone"]
    );
    let options = LoadOptions::new().skip_state("gone");
    let loaded = World::from_snapshot(&file, universe(), &options).unwrap();
    assert_eq!(loaded.resources().get::<u32>(), Some(&3));
    assert_eq!(loaded.pending().delayed_signals, 1);
    // Also of a type that is registered.
    let universe = Universe::new();
    register(universe.registry());
    let loaded = World::from_snapshot(&file, universe, &options).unwrap();
    assert!(loaded.resources().get::<u16>().is_none());
}

#[test]
fn files_and_several_worlds_are_loaded_without_it() {
    let universe = Arc::new(Universe::new());
    universe
        .registry()
        .register_plain_as::<u32>("number")
        .unwrap();
    universe
        .registry()
        .register_plain_as::<u16>("gone")
        .unwrap();
    let mut worlds = [(); 2].map(|()| World::of(&universe).unwrap());
    let all = worlds
        .each_mut()
        .map(|world| world.create((1_u32, 2_u16)).unwrap());
    let path = std::env::temp_dir().join(format!("megachunk-left-out-{}", std::process::id()));
    let (options, nobody) = (LoadOptions::new().skip("gone"), EntityMap::default());

    World::save_worlds(&worlds.each_ref(), &path, &SnapshotOptions::new()).unwrap();
    let loaded = World::load_worlds(&path, simpler(), &options).unwrap();
    let into = Arc::new(simpler());
    let (come, entities) = World::load_worlds_remapped(&path, &into, &nobody, &options).unwrap();
    for (at, &entity) in all.iter().enumerate() {
        assert_eq!(loaded[at].get::<u32>(entity), Ok(&1));
        assert_eq!(come[at].get::<u32>(entities.get(entity).unwrap()), Ok(&1));
    }

    worlds[0].save(&path, &Default::default()).unwrap();
    let one = World::load(&path, simpler(), &options).unwrap();
    assert_eq!(one.get::<u32>(all[0]), Ok(&1));
    let (one, entities) = World::load_remapped(&path, &into, &nobody, &options).unwrap();
    assert_eq!(one.get::<u32>(entities.get(all[0]).unwrap()), Ok(&1));
    let refused = World::load(&path, simpler(), &LoadOptions::new()).unwrap_err();
    assert!(matches!(refused, SnapshotError::In { .. }), "{refused}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn fields_are_not_looked_at_where_that_is_said() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(u8)]
    enum Mood {
        Calm,
        Angry,
    }
    megachunk::plain!(
        enum Mood {
            Calm,
            Angry,
        }
    );
    let mut world = World::new();
    world.registry().register_plain_as::<u8>("mood").unwrap();
    world.registry().register_state_as::<u8>("of all").unwrap();
    let ant = world.create((1_u8,)).unwrap();
    world.resources_mut().insert(0_u8);
    let load = |file: &[u8], options| {
        let universe = Universe::new();
        universe
            .registry()
            .register_plain_as::<Mood>("mood")
            .unwrap();
        universe
            .registry()
            .register_state_as::<Mood>("of all")
            .unwrap();
        World::from_snapshot(file, universe, &options)
    };
    let file = bytes(&world);
    let one = LoadOptions::new().ignore_fields("mood");
    let refused = load(&file, one.clone()).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::StateNotRead { .. }),
        "{refused}"
    );
    let refused = load(&file, LoadOptions::new().ignore_fields("of all")).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
    let both = one.ignore_fields("of all");
    let loaded = load(&file, both.clone()).unwrap();
    assert_eq!(loaded.get::<Mood>(ant), Ok(&Mood::Angry));
    assert_eq!(loaded.resources().get(), Some(&Mood::Calm));
    *world.get_mut::<u8>(ant).unwrap() = 2;
    let refused = load(&bytes(&world), both).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::NotAValue { .. }),
        "{refused}"
    );
}

#[test]
fn what_could_be_switched_off_comes_where_it_cannot_if_nobody_has_it_off() {
    for count in [1_u32, 7, 8, 9, 63, 64, 65, 130] {
        let mut world = World::new();
        let known = world.registry();
        known.register_plain_as::<u32>("number").unwrap();
        known.register_plain_as::<u16>("switched").unwrap();
        known.register_enableable::<u16>().unwrap();
        known.register_plain_as::<()>("tag").unwrap();
        known.register_enableable::<()>().unwrap();
        let all: Vec<Entity> = (0..count)
            .map(|n| world.create((n, n as u16, ())).unwrap())
            .collect();
        let load = |world: &World| {
            let universe = simpler();
            universe
                .registry()
                .register_plain_as::<u16>("switched")
                .unwrap();
            universe.registry().register_plain_as::<()>("tag").unwrap();
            World::from_snapshot(&bytes(world), universe, &Default::default())
        };
        let loaded = load(&world).unwrap();
        loaded.check().unwrap();
        assert_eq!(
            loaded.state_hash(&Default::default()),
            world.state_hash(&Default::default())
        );
        for (n, &entity) in (0..).zip(&all) {
            assert_eq!(loaded.get::<u16>(entity), Ok(&n));
        }
        for &entity in [all[0], all[all.len() / 2], all[all.len() - 1]].iter() {
            let off = |loaded: Result<World, SnapshotError>| match loaded {
                Err(SnapshotError::NotEnableable { name, .. }) => name,
                other => panic!("{other:?}"),
            };
            world.set_enabled::<u16>(entity, false).unwrap();
            assert_eq!(&*off(load(&world)), "switched");
            world.set_enabled::<u16>(entity, true).unwrap();
            world.set_enabled::<()>(entity, false).unwrap();
            assert_eq!(&*off(load(&world)), "tag");
            world.set_enabled::<()>(entity, true).unwrap();
        }
        load(&world).unwrap();
    }
}
