//! Names of files that are led to those of now.

use megachunk::fragment::FragmentKind;
use megachunk::prelude::*;
use megachunk::world::SnapshotError;

use crate::bytes;

/// A world with one entity, which has a number by each of these names.
fn saved(names: &[&str]) -> Vec<u8> {
    let mut world = World::new();
    let ant = world.create(()).unwrap();
    for (number, name) in (1_u32..).zip(names) {
        let id = world.registry().define_plain_as::<u32>(name).unwrap().id();
        let value = Value::from_plain(world.registry(), id, number).unwrap();
        let bundle = DynamicBundle::new().with(value);
        world.add_dynamic(ant, bundle).unwrap();
    }
    bytes(&world)
}

fn load(file: &[u8], options: &LoadOptions) -> Result<Vec<u32>, SnapshotError> {
    let universe = Universe::new();
    let registry = universe.registry();
    let known = ["health", "mana"].map(|name| registry.define_plain_as::<u32>(name).unwrap().id());
    let world = World::from_snapshot(file, universe, options)?;
    let ant = world.read::<Entity, ()>().unwrap().iter().next().unwrap();
    let values = known.into_iter().filter_map(|id| {
        let values = world.get_dynamic(ant, id).ok()?;
        Some(*values.value::<u32>().unwrap())
    });
    Ok(values.collect())
}

#[test]
fn files_of_all_years_come_to_the_names_of_now() {
    let options = LoadOptions::new()
        .rename("game::Hp", "health")
        .rename("hp", "health")
        .rename("health", "mana")
        .rename("health", "health");
    for name in ["game::Hp", "hp", "health"] {
        assert_eq!(load(&saved(&[name]), &options), Ok(vec![1]), "{name}");
    }
    let refused = load(&saved(&["strength"]), &options).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::Unregistered { .. }),
        "{refused}"
    );
    // Names that have changed places: each is led once.
    let turned = LoadOptions::new()
        .rename("health", "mana")
        .rename("mana", "health");
    assert_eq!(load(&saved(&["health", "mana"]), &turned), Ok(vec![2, 1]));
}

#[test]
fn what_is_said_of_names_is_said_of_those_of_now() {
    let file = saved(&["game::Hp", "mana"]);
    let renamed = LoadOptions::new().rename("game::Hp", "health");
    assert_eq!(load(&file, &renamed), Ok(vec![1, 2]));
    assert_eq!(load(&file, &renamed.clone().skip("health")), Ok(vec![2]));
    assert_eq!(
        load(&file, &renamed.clone().skip("game::Hp")),
        Ok(vec![1, 2])
    );
    let twice = renamed.convert("health", |old: u32| old * 2);
    assert_eq!(load(&file, &twice), Ok(vec![2, 2]));
}

#[test]
fn two_that_would_become_one_are_both_named() {
    let file = saved(&["hp", "health"]);
    let refused = load(&file, &LoadOptions::new().rename("hp", "health")).unwrap_err();
    let SnapshotError::RenamedAlike { from, role, to, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(from.each_ref().map(|from| &**from), ["health", "hp"]);
    assert_eq!((*role, &**to), (Some(FragmentKind::Fragment), "health"));
    assert_eq!(
        refused.to_string(),
        "the snapshot has both \"health\" and \"hp\", as a fragment each, which would be one by a rename: \
         `LoadOptions::rename` leads no two to one name"
    );
    let file = saved(&["hp", "points"]);
    let options = LoadOptions::new()
        .rename("hp", "health")
        .rename("points", "health");
    let refused = load(&file, &options).unwrap_err().to_string();
    assert!(refused.contains("\"hp\" and \"points\""), "{refused}");
    assert!(refused.contains("one \"health\" by renames"), "{refused}");
    // Also if what is there is left out.
    let refused = load(&file, &options.skip("health")).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::RenamedAlike { .. }),
        "{refused}"
    );
}

#[test]
fn two_that_are_led_to_one_that_is_not_there_lack_that_one() {
    let options = LoadOptions::new()
        .rename("hp", "stamina")
        .rename("points", "stamina");
    let refused = load(&saved(&["hp", "points"]), &options).unwrap_err();
    let SnapshotError::Unregistered { fragments, .. } = &refused else {
        panic!("{refused}");
    };
    let names: Vec<&str> = fragments.iter().map(|missing| &*missing.name).collect();
    assert_eq!(names, ["stamina"]);
}

#[test]
fn what_nobody_has_any_more_gives_way() {
    // Once its values went over to another fragment, chunk by chunk: its composition is still there.
    for old in ["game::Hp", "vigour"] {
        let mut world = World::new();
        let registry = world.registry();
        let ids = [old, "health"].map(|name| registry.define_plain_as::<u32>(name).unwrap().id());
        let ant = world.create(()).unwrap();
        for (number, id) in (7_u32..).zip(ids) {
            let value = Value::from_plain(world.registry(), id, number).unwrap();
            world
                .add_dynamic(ant, DynamicBundle::new().with(value))
                .unwrap();
        }
        let options = LoadOptions::new().rename(old, "health");
        let both = load(&bytes(&world), &options).unwrap_err();
        assert!(matches!(both, SnapshotError::RenamedAlike { .. }), "{both}");
        world.remove_dynamic(ant, &[ids[0]]).unwrap();
        assert_eq!(load(&bytes(&world), &options), Ok(vec![8]));
        // And of compositions that nobody has of either.
        world.remove_dynamic(ant, &[ids[1]]).unwrap();
        assert_eq!(load(&bytes(&world), &options), Ok(vec![]));
    }
}

#[test]
fn one_role_of_a_name_is_renamed_alone() {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_plain::<u32>().unwrap();
    registry.register_plain::<ConstShared<u32>>().unwrap();
    world.create((7_u32,).const_shared(3_u32)).unwrap();
    let file = bytes(&world);
    let load = |options: &LoadOptions| {
        let universe = Universe::new();
        let registry = universe.registry();
        registry.register_plain_as::<u32>("rank").unwrap();
        registry
            .register_plain_as::<ConstShared<u32>>("side")
            .unwrap();
        let world = World::from_snapshot(&file, universe, options)?;
        let ant = world.read::<Entity, ()>().unwrap().iter().next().unwrap();
        Ok::<_, SnapshotError>((
            *world.get::<u32>(ant).unwrap(),
            *world.const_shared::<u32>(ant).unwrap(),
        ))
    };
    let options = LoadOptions::new()
        .rename("u32", "side")
        .rename_role("u32", FragmentKind::Fragment, "nothing")
        .rename_role("u32", FragmentKind::Fragment, "rank");
    assert_eq!(load(&options), Ok((7, 3)));
    let all = load(&LoadOptions::new().rename("u32", "side")).unwrap_err();
    assert!(matches!(all, SnapshotError::Unregistered { .. }), "{all}");
}

#[test]
fn types_of_the_state_are_renamed_as_resources_and_in_signals() {
    use std::time::Duration;

    let mut world = World::new();
    let registry = world.registry();
    registry.register_state_as::<u64>("points").unwrap();
    registry.register_state_as::<u16>("age").unwrap();
    world.resources_mut().insert(7_u64);
    world.resources_mut().insert(3_u16);
    let ant = world.create(()).unwrap();
    let signal = world.signal::<u64>("scored").unwrap();
    world
        .signals()
        .send_at(signal, ant, 5_u64, Duration::from_secs(1));
    world.collect_signals();
    let file = bytes(&world);
    let load = |options: &LoadOptions| {
        let universe = Universe::new();
        let registry = universe.registry();
        registry.register_state_as::<u64>("a score").unwrap();
        registry.register_state_as::<u16>("an age").unwrap();
        let world = World::from_snapshot(&file, universe, options)?;
        let of = |world: &World| world.resources().get::<u64>().copied();
        let waiting = world.pending().delayed_signals;
        Ok::<_, SnapshotError>((of(&world), world.resources().get::<u16>().copied(), waiting))
    };
    let one = LoadOptions::new().rename_state("points", "a score");
    let refused = load(&one).unwrap_err().to_string();
    assert!(
        refused.contains("age") && !refused.contains("score"),
        "{refused}"
    );
    let both = one.clone().rename_state("age", "an age");
    assert_eq!(load(&both), Ok((Some(7), Some(3), 1)));
    let skipped = both.skip_state("a score");
    assert_eq!(load(&skipped), Ok((None, Some(3), 0)));
    let alike = load(&one.rename_state("age", "a score")).unwrap_err();
    let SnapshotError::RenamedAlike {
        from,
        role: None,
        to,
        ..
    } = &alike
    else {
        panic!("{alike}");
    };
    assert_eq!(from.each_ref().map(|from| &**from), ["age", "points"]);
    assert_eq!(&**to, "a score");
}
