//! Snapshots: what they keep, and that the hash of a state says what it should.

use crate::snapshot_files::Path;
use crate::snapshot_world::{
    Asleep, Position, Team, check, register, small_world, small_worlds, universe,
};
use megachunk::entity::EntityMap;
use megachunk::fragment::PerChunk;
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions};

pub(crate) fn bytes(world: &World) -> Vec<u8> {
    world.to_snapshot(&SnapshotOptions::new()).unwrap()
}

/// An ordered universe in which all that a world of `small_world` has is registered.
pub(crate) fn ordered() -> Universe {
    let universe = Universe::ordered();
    register(universe.registry());
    universe
}

#[test]
fn a_saved_world_comes_back_with_ids_versions_values_and_bits() {
    let (world, all) = small_world(3_000);
    let path = Path::new("whole");
    world.save(&path.0, &Default::default()).unwrap();
    let loaded = World::load(&path.0, universe(), &Default::default()).unwrap();
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap()
    );
    assert_eq!(loaded.count(), world.count());
    let health = loaded.registry().find("health").unwrap().id();
    for (n, &entity) in (0_u32..).zip(&all) {
        assert_eq!(loaded.exists(entity), n % 6 != 1, "{entity}");
        if n % 6 == 1 {
            continue;
        }
        assert_eq!(loaded.get::<Position>(entity).unwrap().x, n as f32);
        assert_eq!(
            loaded.get::<u64>(entity).ok(),
            world.get::<u64>(entity).ok()
        );
        assert_eq!(loaded.has::<Asleep>(entity).unwrap(), n % 7 == 0);
        assert_eq!(
            loaded.shared::<Team>(entity).ok(),
            world.shared::<Team>(entity).ok()
        );
        assert_eq!(
            loaded.const_shared::<u8>(entity).ok(),
            world.const_shared::<u8>(entity).ok()
        );
        let value = |world: &World| world.chunk_fragment::<i64>(entity).ok().copied();
        assert_eq!(value(&loaded), value(&world));
        if n % 4 == 0 {
            assert!(!loaded.is_enabled::<[u8; 3]>(entity).unwrap());
        }
        if n % 5 == 0 {
            let values = loaded.get_dynamic(entity, health).unwrap();
            assert_eq!(values.plain::<u32>().unwrap(), [n]);
        }
    }
    // The order of rows is the same, and so is every query.
    let order = |world: &World| -> Vec<Entity> {
        world
            .read::<(Entity, &Position), Without<Asleep>>()
            .unwrap()
            .iter()
            .map(|(e, _)| e)
            .collect()
    };
    assert_eq!(order(&loaded), order(&world));
}

#[test]
fn dead_handles_stay_dead_after_loading_whoever_gets_their_slots() {
    let mut world = World::new();
    register(world.registry());
    let mut dead = Vec::new();
    for round in 0..5_u64 {
        let ants: Vec<Entity> = (0..1_000)
            .map(|_| world.create((round,)).unwrap())
            .collect();
        // Some by the path of many, some by that of one.
        assert!(world.destroy_slice(&ants[..400]).is_clean());
        ants[400..900]
            .iter()
            .for_each(|&ant| world.destroy(ant).unwrap());
        dead.extend_from_slice(&ants[..900]);
    }
    let elsewhere = World::of(world.universe()).unwrap().reserve().unwrap();
    let mut loaded = World::from_snapshot(&bytes(&world), universe(), &Default::default()).unwrap();
    assert_eq!(loaded.universe().count(), 500);
    dead.push(elsewhere);
    for _ in 0..10_000 {
        let new = loaded.create((7_u64,)).unwrap();
        assert!(!dead.contains(&new));
    }
    for &handle in &dead {
        assert!(!loaded.exists(handle), "{handle}");
        assert!(matches!(
            loaded.get::<u64>(handle),
            Err(WorldError::Entity(_))
        ));
    }
}

#[test]
fn the_state_hash_is_the_same_however_the_world_came_to_its_state() {
    let (world, _) = small_world(500);
    // Loaded: other numbers of fragments, other memory.
    let mut other = World::from_snapshot(&bytes(&world), universe(), &Default::default()).unwrap();
    let hash = world.state_hash(&Default::default()).unwrap();
    assert_eq!(other.state_hash(&Default::default()).unwrap(), hash);
    // There and back again: other chunks, other rows.
    let entities: Vec<Entity> = other.read::<Entity, ()>().unwrap().iter().collect();
    for &entity in entities.iter().rev() {
        other.add(entity, (9_i16,)).unwrap();
    }
    assert_ne!(other.state_hash(&Default::default()).unwrap(), hash);
    for &entity in &entities {
        other.remove::<(i16,)>(entity).unwrap();
    }
    assert_eq!(other.state_hash(&Default::default()).unwrap(), hash);
    other.trim();
    assert_eq!(other.state_hash(&Default::default()).unwrap(), hash);
}

#[test]
fn the_state_hash_sees_every_part_of_the_state() {
    let (world, all) = small_world(40);
    let saved = bytes(&world);
    let hash = world.state_hash(&Default::default()).unwrap();
    let changed = |change: &dyn Fn(&mut World)| {
        let mut world = World::from_snapshot(&saved, universe(), &Default::default()).unwrap();
        change(&mut world);
        world.state_hash(&Default::default()).unwrap()
    };
    assert_eq!(changed(&|_| ()), hash);
    let changes: [&dyn Fn(&mut World); 8] = [
        &|world| world.get_mut::<Position>(all[3]).unwrap().y += 1.0,
        &|world| world.set_enabled::<[u8; 3]>(all[4], true).unwrap(),
        &|world| world.set_enabled::<Asleep>(all[21], false).unwrap(),
        &|world| world.set_shared(all[3], Team(77)).unwrap(),
        &|world| world.add(all[3], (Asleep,)).unwrap(),
        &|world| assert!(world.remove::<(u64,)>(all[2]).unwrap()),
        &|world| world.destroy(all[5]).unwrap(),
        &|world| assert!(world.create(()).is_ok()),
    ];
    let mut hashes: Vec<u64> = changes.iter().map(|change| changed(change)).collect();
    hashes.push(hash);
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), changes.len() + 1);
    let swapped = changed(&|world| {
        let (a, b) = (
            *world.get::<Position>(all[2]).unwrap(),
            *world.get::<Position>(all[3]).unwrap(),
        );
        world.add(all[2], (b,)).unwrap();
        world.add(all[3], (a,)).unwrap();
    });
    assert_ne!(
        swapped, hash,
        "the same values of other entities are another state"
    );
    // What is no state: versions of changes, values of chunks.
    let same = changed(&|world| {
        world.get_mut::<Position>(all[3]).unwrap();
        *world.chunk_fragment_mut::<i64>(all[0]).unwrap() += 1;
        world.query::<&mut Position, ()>().unwrap().for_each(|_| ());
    });
    assert_eq!(same, hash);
}

#[test]
fn chunk_fragments_keep_their_values_and_their_template() {
    let mut world = World::new();
    world.registry().register_plain::<u64>().unwrap();
    world.registry().register_plain::<PerChunk<i64>>().unwrap();
    for n in 0..5_000_u64 {
        world.create((n,).per_chunk(-1_i64)).unwrap();
    }
    let ants: Vec<Entity> = world.read::<Entity, ()>().unwrap().iter().collect();
    for (at, ant) in ants.iter().enumerate() {
        *world.chunk_fragment_mut::<i64>(*ant).unwrap() = at as i64;
    }
    let mut loaded = World::from_snapshot(&bytes(&world), universe(), &Default::default()).unwrap();
    for &ant in &ants {
        assert_eq!(
            loaded.chunk_fragment::<i64>(ant).unwrap(),
            world.chunk_fragment::<i64>(ant).unwrap()
        );
    }
    let chunks = loaded.query::<PerChunk<i64>, ()>().unwrap().count();
    assert_eq!(chunks, 5_000);
    // Another composition begins with what this one's chunks began with.
    loaded.add(ants[0], ([1_u8; 3],)).unwrap();
    assert_eq!(
        loaded.chunk_fragment::<i64>(ants[0]).unwrap(),
        &-1,
        "the template of the saved world"
    );
}

#[test]
fn each_composition_keeps_what_its_chunks_begin_with() {
    let mut world = World::new();
    register(world.registry());
    world.create((1_u64, Asleep).per_chunk(4_i64)).unwrap();
    // Nobody has this one when the world is saved.
    let gone = world.create((1_u64, [0_u8; 3]).per_chunk(2_i64)).unwrap();
    world.destroy(gone).unwrap();
    let near = world.create((1_u64,).per_chunk(1_i64)).unwrap();
    world.destroy(near).unwrap();
    let mut loaded = World::from_snapshot(&bytes(&world), universe(), &Default::default()).unwrap();
    for world in [&mut world, &mut loaded] {
        let far = world.create((1_u64, Asleep).per_chunk(9_i64)).unwrap();
        *world.chunk_fragment_mut::<i64>(far).unwrap() = 5;
        world.clear();
        let far = world.create((1_u64, Asleep).per_chunk(9_i64)).unwrap();
        assert_eq!(world.chunk_fragment::<i64>(far).unwrap(), &4);
        let other = world.create((1_u64, [0_u8; 3]).per_chunk(9_i64)).unwrap();
        assert_eq!(world.chunk_fragment::<i64>(other).unwrap(), &2);
        let near = world.create((1_u64,).per_chunk(9_i64)).unwrap();
        assert_eq!(world.chunk_fragment::<i64>(near).unwrap(), &1);
    }
}

#[test]
fn a_fragment_that_nobody_has_any_more_need_not_be_registered() {
    let mut world = World::new();
    register(world.registry());
    world.registry().register_plain::<u128>().unwrap();
    let gone = world.create((1_u64, 1_u128)).unwrap();
    let never_plain = world.create((1_u64, String::new())).unwrap();
    let ant = world.create((1_u64,)).unwrap();
    let saved = bytes(&{
        world.destroy(gone).unwrap();
        world.destroy(never_plain).unwrap();
        world
    });
    let mut loaded = World::from_snapshot(&saved, universe(), &Default::default()).unwrap();
    assert_eq!((loaded.count(), loaded.exists(ant)), (1, true));
    loaded.create((1_u64, 1_u128)).unwrap();
    loaded.check().unwrap();
}

#[test]
fn chunks_come_back_as_long_as_they_were_and_still_take_entities() {
    for chunk_size in [None, Some(8)] {
        let mut world = World::new();
        register(world.registry());
        if let Some(chunks) = chunk_size {
            world.set_chunk_size(chunks);
        }
        // Enough for chunks to grow.
        world.create_batch((0..200_000_u64).map(|n| (n,))).unwrap();
        let mut loaded =
            World::from_snapshot(&bytes(&world), universe(), &Default::default()).unwrap();
        assert_eq!(
            loaded.state_hash(&Default::default()).unwrap(),
            world.state_hash(&Default::default()).unwrap()
        );
        let rows = |world: &mut World| {
            let mut rows = Vec::new();
            let mut all = world.query::<&u64, ()>().unwrap();
            all.for_each_chunk(|_, numbers| rows.push(numbers.len()));
            rows
        };
        assert_eq!(rows(&mut loaded), rows(&mut world));
        let stats = |world: &World| world.universe().chunk_stats().in_use;
        assert_eq!(stats(&loaded), stats(&world));
        let new = loaded.create((1_u64,)).unwrap();
        assert_eq!(loaded.get::<u64>(new).unwrap(), &1);
        assert_eq!(rows(&mut loaded).len(), rows(&mut world).len());
    }
}

#[test]
fn chunks_that_were_given_another_layout_in_place_come_back() {
    // Some of them have more rows than a run has room for that is cut for them alone.
    for (first, second) in [
        (64, 5),
        (64, 9),
        (64, 17),
        (64, 33),
        (63, 19),
        (64, 64),
        (1, 1),
    ] {
        let mut world = World::new();
        world.registry().register_plain::<u64>().unwrap();
        world.registry().register_plain::<u32>().unwrap();
        world.set_chunk_size(first);
        let _ = world.create_batch((0..70_000_u64).map(|n| (n,))).unwrap();
        world.set_chunk_size(second);
        let change = world.matching::<With<u64>>().unwrap();
        assert_eq!(change.add(|_| (7_u32,)).unwrap(), 70_000);
        let universe = Universe::new();
        universe.registry().register_plain::<u64>().unwrap();
        universe.registry().register_plain::<u32>().unwrap();
        let loaded = World::from_snapshot(&bytes(&world), universe, &Default::default())
            .unwrap_or_else(|error| panic!("{first}, then {second}: {error}"));
        loaded.check().unwrap();
        assert_eq!(
            loaded.state_hash(&Default::default()).unwrap(),
            world.state_hash(&Default::default()).unwrap()
        );
    }
}

#[test]
fn what_another_thread_makes_switchable_while_a_world_is_saved_spoils_nothing() {
    for round in 0..40 {
        let mut world = World::new();
        world.registry().register_plain::<u64>().unwrap();
        let _ = world.create_batch((0..20_000_u64).map(|n| (n,))).unwrap();
        let saved = std::thread::scope(|scope| {
            let registry = world.registry();
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_micros(round * 50));
                registry.register_enableable::<u64>().unwrap();
            });
            bytes(&world)
        });
        let universe = Universe::new();
        universe.registry().register_plain::<u64>().unwrap();
        universe.registry().register_enableable::<u64>().unwrap();
        let loaded = World::from_snapshot(&saved, universe, &Default::default())
            .unwrap_or_else(|error| panic!("{round}: {error}"));
        assert_eq!(loaded.count(), 20_000);
    }
}

#[test]
fn an_empty_world_can_be_saved_too() {
    let world = World::new();
    let loaded =
        World::from_snapshot(&bytes(&world), Universe::new(), &Default::default()).unwrap();
    assert!(loaded.is_empty());
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap()
    );
}

#[test]
fn no_world_is_a_file_too() {
    let path = Path::new("none");
    World::save_worlds(&[], &path.0, &SnapshotOptions::new()).unwrap();
    assert!(
        World::load_worlds(&path.0, universe(), &LoadOptions::new())
            .unwrap()
            .is_empty()
    );
    let error = World::load(&path.0, universe(), &Default::default()).unwrap_err();
    assert!(
        matches!(&error, SnapshotError::In { error, .. } if **error == SnapshotError::Worlds { found: 0 }),
        "{error:?}"
    );
}

#[test]
fn worlds_of_one_universe_are_saved_together_and_their_handles_lead_from_one_to_the_other() {
    let worlds = small_worlds(600);
    let path = Path::new("together");
    World::save_worlds(&worlds.each_ref(), &path.0, &SnapshotOptions::new()).unwrap();
    let loaded = World::load_worlds(&path.0, universe(), &LoadOptions::new()).unwrap();
    assert_eq!(loaded.len(), 2);
    let entities =
        |world: &World| -> Vec<Entity> { world.read::<Entity, ()>().unwrap().iter().collect() };
    for ((world, other), copy) in worlds.iter().zip(worlds.iter().rev()).zip(&loaded) {
        assert_eq!(
            copy.state_hash(&Default::default()).unwrap(),
            world.state_hash(&Default::default()).unwrap()
        );
        assert_eq!(entities(copy), entities(world), "rows in their order");
        assert_eq!(copy.universe().count(), worlds[0].universe().count());
        for entity in entities(other) {
            assert_eq!(copy.exists(entity), world.exists(entity));
            assert!(!copy.is_built(entity), "it is the other's");
        }
        copy.check().unwrap();
    }
    let all: Vec<&World> = loaded.iter().collect();
    let again = World::worlds_to_snapshot(&all, &SnapshotOptions::new()).unwrap();
    assert_eq!(
        again,
        std::fs::read(&path.0).unwrap(),
        "sizes of chunks too"
    );
    // A handle that was dead in both.
    let dead = Entity::new(1, 1).unwrap();
    assert!(!worlds[0].exists(dead) && !loaded[0].exists(dead) && !loaded[1].exists(dead));
    let mut loaded = loaded;
    let (one, two) = loaded.split_at_mut(1);
    let moved = entities(&one[0])[0];
    one[0].move_to(&mut two[0], moved).unwrap();
    assert!(two[0].is_built(moved) && !one[0].is_built(moved));
}

#[test]
fn a_snapshot_says_how_many_worlds_it_has_and_there_may_be_none() {
    let worlds = small_worlds(20);
    let options = SnapshotOptions::new();
    let both = World::worlds_to_snapshot(&worlds.each_ref(), &options).unwrap();
    let error = World::from_snapshot(&both, universe(), &Default::default()).unwrap_err();
    assert!(
        matches!(error, SnapshotError::Worlds { found: 2 }),
        "{error}"
    );
    assert!(error.to_string().contains("load_worlds"), "{error}");
    let one =
        World::worlds_from_snapshot(&bytes(&worlds[1]), universe(), &LoadOptions::new()).unwrap();
    assert_eq!(one.len(), 1);
    assert_eq!(
        one[0].state_hash(&Default::default()).unwrap(),
        worlds[1].state_hash(&Default::default()).unwrap()
    );
    let none = World::worlds_to_snapshot(&[], &options).unwrap();
    assert!(
        World::worlds_from_snapshot(&none, universe(), &LoadOptions::new())
            .unwrap()
            .is_empty()
    );
    for at in 0..both.len() {
        let mut damaged = both.clone();
        damaged[at] ^= 1 << (at % 8);
        let loaded = World::worlds_from_snapshot(&damaged, universe(), &LoadOptions::new());
        assert!(loaded.is_err(), "byte {at} of {}", both.len());
    }
    check(&both).unwrap();
}

#[test]
fn a_file_that_gets_shorter_while_worlds_are_made_of_it_spoils_nothing() {
    struct Log(Vec<u8>);
    let path = Path::new("shorter");
    let universe = |cut: Option<std::path::PathBuf>| {
        let universe = Universe::new();
        let registry = universe.registry();
        registry.register_plain::<u64>().unwrap();
        let save = |log: &Log, out: &mut Vec<u8>| out.extend_from_slice(&log.0);
        let read = move |bytes: &[u8], _: &EntityMap| -> Result<Log, &'static str> {
            if let Some(path) = &cut {
                std::fs::File::create(path).unwrap();
            }
            Ok(Log(bytes.to_vec()))
        };
        registry.register_state_with("log", save, read).unwrap();
        universe
    };
    let saved = std::sync::Arc::new(universe(None));
    let [mut one, mut two] = [(); 2].map(|()| World::of(&saved).unwrap());
    one.resources_mut().insert(Log(vec![1; 10]));
    let _ = two.create_batch((0..100_000_u64).map(|n| (n,))).unwrap();
    World::save_worlds(&[&one, &two], &path.0, &SnapshotOptions::new()).unwrap();
    // What is behind the first world's resources is read when these have been.
    let loaded =
        World::load_worlds(&path.0, universe(Some(path.0.clone())), &LoadOptions::new()).unwrap();
    assert_eq!(std::fs::metadata(&path.0).unwrap().len(), 0);
    let sum = |world: &mut World| world.query::<&u64, ()>().unwrap().iter().sum::<u64>();
    let [mut first, mut second] = <[World; 2]>::try_from(loaded).unwrap();
    assert_eq!((sum(&mut first), sum(&mut second)), (0, sum(&mut two)));
    assert_eq!(first.resources().get::<Log>().unwrap().0, [1; 10]);
}

/// Where accesses to shared words are counted.
#[cfg(feature = "probe")]
#[test]
fn slots_and_signals_are_looked_at_once_however_many_worlds_are_saved_together() {
    use std::time::Duration;

    const ENTITIES: u32 = 2_000;
    let steps = |count: usize| {
        let universe = std::sync::Arc::new(Universe::new());
        let mut worlds: Vec<World> = (0..count).map(|_| World::of(&universe).unwrap()).collect();
        let last = worlds.last_mut().unwrap();
        let ring = last.signal::<()>("ring").unwrap();
        for _ in 0..ENTITIES {
            let entity = last.create(()).unwrap();
            let mut signals = last.signals();
            signals.send_after(ring, entity, (), Duration::from_secs(1));
        }
        last.collect_signals();
        let all: Vec<&World> = worlds.iter().collect();
        let options = SnapshotOptions::new();
        let save = || _ = World::worlds_to_snapshot(&all, &options).unwrap();
        megachunk::sync::probe::measure(save).steps
    };
    let (few, many) = (steps(2), steps(100));
    assert!(few >= u64::from(ENTITIES), "{few}");
    assert!(many < 2 * few, "{few}, of 100 worlds {many}");
}

#[test]
fn types_that_were_given_names_are_known_by_them_whatever_they_are_called_now() {
    mod before {
        #[derive(Clone, Copy)]
        pub(super) struct Health(pub(super) u32);
        megachunk::plain!(Health { 0 });
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub(super) struct Team(pub(super) u16);
        megachunk::plain!(Team { 0 });
    }
    #[derive(Clone, Copy)]
    struct Hull(u32);
    megachunk::plain!(Hull { 0 });
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    struct Side(u16);
    megachunk::plain!(Side { 0 });

    let mut world = World::new();
    let registry = world.registry();
    let named = registry.register_plain_as::<before::Health>("game.health");
    named.unwrap();
    let named = registry.register_plain_as::<Shared<before::Team>>("game.team");
    named.unwrap();
    let ant = (before::Health(7),).shared(before::Team(3));
    let ant = world.create(ant).unwrap();
    let saved = bytes(&world);

    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_plain_as::<Hull>("game.health").unwrap();
    registry
        .register_plain_as::<Shared<Side>>("game.team")
        .unwrap();
    let loaded = World::from_snapshot(&saved, universe, &Default::default()).unwrap();
    assert_eq!(loaded.get::<Hull>(ant).unwrap().0, 7);
    assert_eq!(loaded.entity(ant).unwrap().shared::<Side>().unwrap().0, 3);
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap(),
        "the state is that of names and bytes"
    );
    // Without the names they are others.
    let universe = Universe::new();
    universe.registry().register_plain::<Hull>().unwrap();
    let error = World::from_snapshot(&saved, universe, &Default::default()).unwrap_err();
    assert!(error.to_string().contains("game.health"), "{error}");
}

#[test]
fn a_world_whose_observer_panicked_when_a_chunk_began_comes_back() {
    let registered = || {
        let universe = Universe::new();
        universe.registry().register_plain::<u8>().unwrap();
        universe
            .registry()
            .register_plain::<PerChunk<u32>>()
            .unwrap();
        universe
    };
    for way in 0..4 {
        let mut world = World::of(&std::sync::Arc::new(registered())).unwrap();
        let panics = world
            .observe::<u8, ()>(Observed::CREATE, |_, _| panic!("an observer"))
            .unwrap();
        let bundle = || (1_u8,).per_chunk(7_u32);
        let registry = std::sync::Arc::clone(world.universe());
        let dynamic = || {
            let value = |value| megachunk::fragment::Value::new(registry.registry(), value);
            let chunk = megachunk::fragment::Value::per_chunk(registry.registry(), 7_u32);
            megachunk::fragment::DynamicBundle::new()
                .with(value(1_u8).unwrap())
                .with(chunk.unwrap())
        };
        let egg = world.reserve().unwrap();
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match way {
            0 => drop(world.create(bundle())),
            1 => drop(world.build(egg, bundle())),
            2 => drop(world.create_dynamic(dynamic())),
            _ => drop(world.build_dynamic(egg, dynamic())),
        }));
        assert!(made.is_err(), "the panic goes on");
        world.unobserve(panics);
        assert_eq!(world.count(), 1);
        world.check().unwrap();
        let loaded =
            World::from_snapshot(&bytes(&world), registered(), &Default::default()).unwrap();
        assert_eq!(loaded.count(), 1);
    }
}

#[test]
fn a_world_that_nobody_changes_gives_the_same_bytes_each_time() {
    let (world, all) = small_world(700);
    assert!(world.count() > 500 && all.len() == 700);
    let saved = bytes(&world);
    let worlds = small_worlds(300);
    let together = || World::worlds_to_snapshot(&worlds.each_ref(), &SnapshotOptions::new());
    let both = together().unwrap();
    for _ in 0..3 {
        assert_eq!(bytes(&world), saved);
        assert_eq!(together().unwrap(), both);
    }
    let options = SnapshotOptions::new().skip_dead();
    let living = world.to_snapshot(&options).unwrap();
    assert_eq!(world.to_snapshot(&options).unwrap(), living);
}
