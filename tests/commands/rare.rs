//! Rare cases of recording and the flush: each was wrong once, here or in another store.

use std::sync::Arc;

use megachunk::fragment::{FragmentKind, WithConstShared};
use megachunk::prelude::*;
use megachunk::world::{Lack, Universe};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u32);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Switch(u32);

#[test]
fn shared_values_are_recorded_in_flush_after_flush() {
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    for round in 0..4 {
        let mut commands = world.commands();
        commands.set_shared(ant, Team(round)).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(world.shared::<Team>(ant).unwrap(), &Team(round));
        world.commands().set(ant, round).unwrap();
        assert!(world.flush().is_clean());
    }
}

#[test]
fn a_shared_value_is_taken_away_from_those_that_have_one_and_from_nobody_else() {
    let mut world = World::new();
    let ants = [(); 2].map(|()| world.create((1_u32,).shared(Team(1)).const_shared(Team(2))));
    let [ant, bee] = ants.map(Result::unwrap);
    let wasp = world.create((1_u32,).const_shared(Team(1))).unwrap();
    let mut commands = world.commands();
    for entity in [ant, wasp] {
        commands.remove::<Shared<Team>>(entity).unwrap();
    }
    // As for all values, the last word counts.
    commands.remove::<Shared<Team>>(bee).unwrap();
    commands.set_shared(bee, Team(3)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert!(world.shared::<Team>(ant).is_err() && world.shared::<Team>(wasp).is_err());
    assert_eq!(world.shared::<Team>(bee).unwrap(), &Team(3));
    for (entity, fixed) in [(ant, 2), (bee, 2), (wasp, 1)] {
        assert_eq!(world.const_shared::<Team>(entity).unwrap(), &Team(fixed));
        assert_eq!(world.get::<u32>(entity).unwrap(), &1);
    }
}

#[test]
fn a_recorder_says_in_which_role_its_entity_has_what_it_lacks_in_another() {
    let world = World::new();
    let mut commands = world.commands();
    let ant = commands.create((1_u32,).shared(Team(1)).per_chunk(Switch(2)));
    let ant = ant.unwrap();
    let lack = |error: WorldError| match error {
        WorldError::Missing { lack, .. } => lack,
        other => panic!("{other}"),
    };
    let shared = commands.get::<Team>(ant).unwrap_err();
    assert_eq!(lack(shared), Lack::Role(FragmentKind::Shared));
    let chunk = commands.get_mut::<Switch>(ant).unwrap_err();
    assert_eq!(lack(chunk), Lack::Role(FragmentKind::Chunk));
    assert_eq!(lack(commands.get::<u8>(ant).unwrap_err()), Lack::Fragment);
}

#[test]
fn entities_with_shared_values_are_created_in_flush_after_flush() {
    let mut world = World::new();
    for round in 0..4 {
        let mut commands = world.commands();
        let ant = commands.create((round,).shared(Team(round))).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(world.shared::<Team>(ant).unwrap(), &Team(round));
    }
}

#[test]
fn two_teams_change_places_in_one_flush() {
    let mut world = World::new();
    let a: Vec<Entity> = (0..1_000)
        .map(|n| world.create((n as u32,).shared(Team(1))).unwrap())
        .collect();
    let b: Vec<Entity> = (0..1_000)
        .map(|n| world.create((n as u32,).shared(Team(2))).unwrap())
        .collect();
    let mut commands = world.commands();
    for &e in &a {
        commands.set_shared(e, Team(2)).unwrap();
    }
    for &e in &b {
        commands.set_shared(e, Team(1)).unwrap();
    }
    drop(commands);
    assert!(world.flush().is_clean());
    for &e in &a {
        assert_eq!(world.shared::<Team>(e).unwrap(), &Team(2));
    }
    for &e in &b {
        assert_eq!(world.shared::<Team>(e).unwrap(), &Team(1));
    }
}

#[test]
fn what_is_removed_and_added_again_is_switched_on() {
    let universe = Arc::new(Universe::new());
    universe.registry().register_enableable::<Switch>().unwrap();
    let mut world = World::of(&universe).unwrap();
    let ant = world.create((Switch(1),)).unwrap();
    world.set_enabled::<Switch>(ant, false).unwrap();
    let mut commands = world.commands();
    commands.remove::<(Switch,)>(ant).unwrap();
    commands.add(ant, (Switch(2),)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert!(world.is_enabled::<Switch>(ant).unwrap());
}

#[test]
fn a_tag_that_is_removed_and_added_again_has_changed_if_it_was_switched_off() {
    struct Lit;
    let universe = Arc::new(Universe::new());
    universe.registry().register_enableable::<Lit>().unwrap();
    let mut world = World::of(&universe).unwrap();
    let lamps: Vec<Entity> = (0..10_u32)
        .map(|n| world.create((n, Lit)).unwrap())
        .collect();
    let mut changed = Query::<Entity, Changed<Lit>>::new(&world).unwrap();
    let mut changes = |world: &mut World| {
        let mut seen = 0;
        changed.on(world).for_each(|_| seen += 1);
        seen
    };
    let again = |world: &mut World| {
        let mut commands = world.commands();
        commands.remove::<(Lit,)>(lamps[3]).unwrap();
        commands.add(lamps[3], (Lit,)).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
    };
    assert_eq!((changes(&mut world), changes(&mut world)), (10, 0));
    world.set_enabled::<Lit>(lamps[3], false).unwrap();
    assert!(changes(&mut world) > 0);
    assert_eq!(changes(&mut world), 0);
    again(&mut world);
    assert!(world.is_enabled::<Lit>(lamps[3]).unwrap());
    assert_eq!(changes(&mut world), 10, "it is on again");
    again(&mut world);
    assert_eq!(changes(&mut world), 0, "it was on before");
}

#[test]
fn a_reserved_entity_is_released_once_and_dead_then() {
    let mut world = World::new();
    let ant = world.reserve().unwrap();
    let mut commands = world.commands();
    commands.destroy(ant);
    commands.destroy(ant);
    commands.set(ant, 5_u32).unwrap();
    drop(commands);
    let report = world.flush();
    assert_eq!(
        (report.destroyed, report.dead, report.refused.len()),
        (1, 2, 0),
        "{report:?}"
    );
}

#[test]
fn a_recorder_finds_its_entities_in_every_part_of_a_long_chunk() {
    let mut world = World::new();
    world.set_chunk_size(16);
    let mut commands = world.commands();
    let batch = commands.create_batch((0..40_000_u32).map(|n| (n,)));
    let all: Vec<Entity> = batch.unwrap().iter(&commands).collect();
    for (&entity, n) in all.iter().zip(0..) {
        assert_eq!(commands.get::<u32>(entity).unwrap(), &n);
    }
    drop(commands);
    assert_eq!(world.flush().created, 40_000);
    world.check().unwrap();
}

#[test]
fn what_is_set_after_it_was_removed_in_one_flush_is_set() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..500_u32)
        .map(|n| world.create((n, 0.5_f32)).unwrap())
        .collect();
    let mut commands = world.commands();
    for &ant in &ants {
        commands.remove::<(u32, f32)>(ant).unwrap();
        commands.set(ant, 7_u32).unwrap();
    }
    drop(commands);
    assert_eq!(world.flush().moved, 500);
    for &ant in &ants {
        assert_eq!(world.get::<u32>(ant).unwrap(), &7);
        assert!(!world.has::<f32>(ant).unwrap());
    }
}

#[test]
fn the_last_write_wins_over_several_rounds() {
    fn again(world: &mut World, ant: Entity, left: u32) {
        let mut commands = world.commands();
        commands.set(ant, 1_000 + left).unwrap();
        if left > 0 {
            commands.defer(move |world| again(world, ant, left - 1));
        }
        commands.set(ant, left).unwrap();
    }
    let mut world = World::new();
    let ant = world.create((99_u32,)).unwrap();
    again(&mut world, ant, 4);
    let report = world.flush();
    assert!(report.is_clean());
    assert_eq!((report.rounds, report.closures), (5, 4));
    assert_eq!(world.get::<u32>(ant).unwrap(), &0);
}

#[test]
fn what_was_destroyed_in_a_flush_is_not_cloned_in_it() {
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    world.registry().register_clone::<u32>().unwrap();
    let mut commands = world.commands();
    commands.defer(move |world| assert!(world.clone_entity(ant).is_ok()));
    commands.destroy(ant);
    commands.defer(move |world| {
        let error = world.clone_entity(ant).unwrap_err();
        assert_eq!(error.entity(), Some(ant));
    });
    drop(commands);
    assert_eq!(world.flush().destroyed, 1);
    assert_eq!(world.count(), 1);
}

#[test]
fn an_index_that_serves_again_inside_nested_flushes_is_another_entity() {
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    let mut commands = world.commands();
    commands.destroy(ant);
    commands.defer(move |world| {
        let mut inner = world.commands();
        // Until the index comes back.
        let same = loop {
            let new = inner.create((2_u32,)).unwrap();
            if new.index() == ant.index() {
                break new;
            }
        };
        inner.destroy(ant);
        inner.defer(move |world| {
            world.commands().set(same, 3_u32).unwrap();
            world.commands().set(ant, 4_u32).unwrap();
            assert_eq!(world.flush().dead, 1);
            assert_eq!(world.get::<u32>(same).unwrap(), &3);
        });
        inner.set(ant, 5_u32).unwrap();
        drop(inner);
        assert_eq!(world.flush().dead, 2);
        assert_eq!(world.get::<u32>(same).unwrap(), &3);
    });
    commands.set(ant, 6_u32).unwrap();
    drop(commands);
    let report = world.flush();
    assert_eq!((report.destroyed, report.dead), (1, 1));
    world.check().unwrap();
}

#[test]
fn a_command_for_each_entity_in_each_of_eight_rounds() {
    let mut world = World::new();
    let batch = world.create_batch((0..10_000_u32).map(|n| (n,))).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    for round in 0..8_u32 {
        let mut commands = world.commands();
        for &ant in &ants {
            match round % 4 {
                0 => commands.add(ant, (f64::from(round),)).unwrap(),
                1 => commands.set(ant, round).unwrap(),
                2 => commands.remove::<(f64,)>(ant).unwrap(),
                _ => commands.set_shared(ant, Team(round)).unwrap(),
            }
        }
        drop(commands);
        let report = world.flush();
        assert_eq!((report.commands, report.is_clean()), (10_000, true));
        assert_eq!(report.moved + report.updated, 10_000);
        world.universe().check([&world]).unwrap();
    }
    assert_eq!(world.count(), 10_000);
    assert_eq!(world.shared::<Team>(ants[77]).unwrap(), &Team(7));
    assert_eq!(world.get::<u32>(ants[77]).unwrap(), &5);
}

#[test]
fn recorders_with_descending_sort_keys_are_applied_from_the_last_to_the_first() {
    let mut world = World::new();
    let ant = world.create((0_u32,)).unwrap();
    let parallel = world.parallel_commands();
    for key in (0..1_000_u64).rev() {
        let mut commands = parallel.open_at(key);
        commands.defer(move |world| {
            let count = world.get_mut::<u32>(ant).unwrap();
            assert_eq!(u64::from(*count), key);
            *count += 1;
        });
    }
    assert_eq!(world.flush().closures, 1_000);
}

#[test]
fn a_const_shared_value_that_goes_may_come_again_with_another_value_in_one_flush() {
    type OfTeam = WithConstShared<(), Team>;
    let mut world = World::new();
    let new = |world: &mut World, n: u32| world.create((n,).const_shared(Team(1))).unwrap();
    let anew = new(&mut world, 0);
    let twice = new(&mut world, 1);
    let kept = new(&mut world, 2);
    let swapped = new(&mut world, 3);
    let mut commands = world.commands();
    commands.remove::<OfTeam>(anew).unwrap();
    commands.add(anew, ().const_shared(Team(2))).unwrap();
    commands.set(anew, 9_u32).unwrap();
    for team in [Team(3), Team(4)] {
        commands.remove::<OfTeam>(twice).unwrap();
        commands.add(twice, ().const_shared(team)).unwrap();
    }
    // It does not go before another comes: refused, as by the world's own calls.
    commands.add(kept, ().const_shared(Team(5))).unwrap();
    commands
        .swap::<OfTeam, _>(swapped, ().const_shared(Team(6)))
        .unwrap();
    drop(commands);
    let report = world.flush();
    let refused: Vec<Entity> = report
        .refused
        .iter()
        .map(|refused| refused.entity)
        .collect();
    assert_eq!(refused, [kept, swapped]);
    for refused in &report.refused {
        let error = &refused.error;
        assert!(matches!(error, WorldError::ConstShared { .. }), "{error}");
    }
    assert_eq!(world.const_shared::<Team>(anew).unwrap(), &Team(2));
    assert_eq!(world.get::<u32>(anew).unwrap(), &9);
    assert_eq!(world.const_shared::<Team>(twice).unwrap(), &Team(4));
    assert_eq!(world.const_shared::<Team>(kept).unwrap(), &Team(1));
    assert_eq!(world.const_shared::<Team>(swapped).unwrap(), &Team(1));
    assert!(
        world
            .swap::<OfTeam, _>(kept, ().const_shared(Team(5)))
            .is_err()
    );
    world.check().unwrap();
}

#[test]
fn what_is_created_lives_though_a_change_that_is_recorded_later_is_refused() {
    let mut world = World::new();
    let mut commands = world.commands();
    let ant = commands.create((1_u32,).const_shared(Team(1))).unwrap();
    commands.add(ant, ().const_shared(Team(2))).unwrap();
    drop(commands);
    let report = world.flush();
    assert_eq!((report.created, report.refused.len()), (1, 1));
    assert_eq!(report.refused[0].entity, ant);
    assert_eq!(world.const_shared::<Team>(ant).unwrap(), &Team(1));
}

#[test]
fn a_fragment_that_goes_twice_in_one_call_is_refused_as_the_world_refuses_it() {
    let mut world = World::new();
    let ant = world.create((1_u32, 0.5_f32)).unwrap();
    let mut commands = world.commands();
    let recorded = commands.remove::<(u32, u32)>(ant).unwrap_err();
    let swapped = commands.swap::<(u32, u32), _>(ant, (2_u64,)).unwrap_err();
    assert!(commands.is_empty());
    drop(commands);
    let at_once = world.remove::<(u32, u32)>(ant).unwrap_err();
    for error in [recorded, swapped] {
        assert_eq!(error.to_string(), at_once.to_string());
    }
    assert_eq!(world.flush().commands, 0);
    assert!(world.has::<u32>(ant).unwrap());
}

/// The values of the switches in each chunk, when two recorders are open at once, of which the one opened
/// first has memory that was there before switches could be switched off.
fn switches_of(key_opened_first: u64) -> Vec<Vec<u32>> {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).unwrap();
    let mut before = world.commands();
    let bundles = (0..5_000).map(|n| (Switch(n),));
    assert_eq!(before.create_batch(bundles).unwrap().len(), 5_000);
    drop(before);
    universe.registry().register_enableable::<Switch>().unwrap();
    {
        let parallel = world.parallel_commands();
        let mut first = parallel.open_at(key_opened_first);
        let mut second = parallel.open_at(1 - key_opened_first);
        for (commands, key) in [
            (&mut first, key_opened_first),
            (&mut second, 1 - key_opened_first),
        ] {
            let bundles = (0..20_000).map(|n| (Switch(n + 100_000 * (1 + key as u32)),));
            assert_eq!(commands.create_batch(bundles).unwrap().len(), 20_000);
        }
    }
    assert_eq!(world.flush().created, 45_000);
    world.universe().check([&world]).unwrap();
    let mut chunks = Vec::new();
    let mut all = world.query::<(Entity, &Switch), ()>().unwrap();
    let mut someone = None;
    all.for_each_chunk(|_, (entities, switches)| {
        someone = entities.last().copied();
        chunks.push(switches.iter().map(|switch| switch.0).collect());
    });
    let someone = someone.unwrap();
    world.set_enabled::<Switch>(someone, false).unwrap();
    assert!(!world.is_enabled::<Switch>(someone).unwrap());
    chunks
}

#[test]
fn what_can_be_switched_off_later_lies_alike_whichever_memory_a_recorder_got() {
    assert_eq!(switches_of(0), switches_of(1));
}

#[test]
fn what_follows_a_closure_that_puts_another_world_there_does_not_reach_that_one() {
    struct Name(#[expect(dead_code, reason = "it is only to be dropped")] String);
    let name = || (Name("a name that is longer than a number".into()),);
    let create = |world: &mut World| -> Vec<Entity> {
        (0..50_u8)
            .map(|n| world.create((n,)).expect("there is room"))
            .collect()
    };
    for later in 0..4 {
        let mut world = World::new();
        let ants = create(&mut world);
        let mut commands = world.commands();
        for &ant in &ants[..10] {
            commands.add(ant, name()).expect("it may");
        }
        let first = ants[0];
        commands.defer(move |world: &mut World| {
            // Of another universe: with the same handles, and where `Name`'s number is `u64`'s.
            let mut other = World::new();
            let registry = other.registry();
            registry.register::<u8>().expect("there is room");
            registry.register::<u64>().expect("there is room");
            let _ = create(&mut other);
            world.commands().add(first, (7_u8,)).expect("it may");
            *world = other;
        });
        for &ant in &ants[10..20] {
            match later {
                0 => commands.add(ant, name()).expect("it may"),
                1 => commands.remove::<(u8,)>(ant).expect("it may"),
                2 => commands.destroy(ant),
                _ => commands.defer(move |world| world.destroy(ant).expect("it lives")),
            }
        }
        drop(commands);
        let report = world.flush();
        assert_eq!(
            (report.closures, report.updated, report.destroyed),
            (1, 0, 0),
            "{later}"
        );
        world.check().expect("it is whole");
        let mut numbers = world.query::<&u8, ()>().expect("it is right");
        assert!(
            numbers.iter().copied().eq(0..50),
            "the other world is as it was"
        );
        assert_eq!(world.flush().commands, 0);
    }
}

#[test]
fn a_world_that_ends_in_its_own_flush_keeps_nothing_for_recorders_that_outlive_it() {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).expect("there is room");
    let recorders = world.parallel_commands();
    let mut commands = recorders.open();
    commands.create((1_u8,)).expect("there is room");
    let there = Arc::clone(&universe);
    commands.defer(move |world| *world = World::of(&there).expect("there is room"));
    commands.create((2_u8,)).expect("there is room");
    drop(commands);
    assert_eq!(world.flush().closures, 1);
    universe.check([&world]).expect("nobody has a chunk");
    assert_eq!(universe.count(), 0);
    drop(recorders);
}

#[test]
fn chunks_do_not_say_which_recorders_had_one_lane() {
    // Least capacity 1,008: chunks that are full, and the next one would be longer for 300 than for one.
    let of_lanes = |shared: bool| {
        let mut world = World::new();
        world
            .create_batch((0..14 * 1_008_u64).map(|n| (n,)))
            .unwrap();
        let commands = world.parallel_commands();
        let record = |key: u64, rows: u64| {
            let mut recorder = commands.open_at(key);
            for n in 0..rows {
                recorder.create((n,)).unwrap();
            }
            recorder
        };
        // Who opens while another is open gets a lane of his own.
        let other = (!shared).then(|| record(0, 300));
        drop(record(1, 504));
        drop(record(2, 503));
        if shared {
            drop(record(0, 300));
        }
        drop(other);
        drop(commands);
        assert_eq!(world.flush().created, 1_307);
        world.create_batch((0..5_000_u64).map(|n| (n,))).unwrap();
        let mut lengths = Vec::new();
        let mut chunks = world.query::<Entity, ()>().unwrap();
        chunks.for_each_chunk(|_, entities| lengths.push(entities.len()));
        lengths
    };
    assert_eq!(of_lanes(true), of_lanes(false));
}

#[test]
fn rows_are_nobody_elses_whatever_types_create_them_by_turns() {
    let mut world = World::new();
    for round in 0..3_u64 {
        let mut all = Vec::new();
        let commands = world.parallel_commands();
        // A short recorder before, in the same lane: what it knew of its rows holds no more.
        for (key, count) in [(0, 3_u64), (1, 9_000)] {
            let mut recorder = commands.open_at(key);
            let before = all.len();
            for n in 0..count {
                // Both orders are one composition; the third is another one, whose chunks end elsewhere.
                all.push((recorder.create((n, [n as u8; 3])).unwrap(), n));
                all.push((recorder.create(([n as u8; 3], n)).unwrap(), n));
                all.push((recorder.create((n, 7_u16, [n as u8; 3])).unwrap(), n));
                if n % 64 == 0 {
                    // The batch's rows end behind those that went again with the one that broke off.
                    let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        let more = (0..200).map(|more| match more {
                            199 => std::panic::resume_unwind(Box::new("on purpose")),
                            _ => (n, [0_u8; 3]),
                        });
                        recorder.create_batch(more).map(drop)
                    }));
                    assert!(broken.is_err());
                    let batch = recorder.create_batch((n..n + 5).map(|n| (n, [n as u8; 3])));
                    let batch = batch.unwrap();
                    all.extend(batch.iter(&recorder).zip(n..n + 5));
                }
            }
            for &(entity, n) in &all[before..] {
                assert_eq!(recorder.get::<u64>(entity).unwrap(), &n);
                assert_eq!(recorder.get::<[u8; 3]>(entity).unwrap(), &[n as u8; 3]);
            }
        }
        drop(commands);
        assert_eq!(world.flush().created, all.len(), "round {round}");
        world.check().unwrap();
        for &(entity, n) in &all {
            assert_eq!(world.get::<u64>(entity).unwrap(), &n);
            assert_eq!(world.get::<[u8; 3]>(entity).unwrap(), &[n as u8; 3]);
        }
        if round == 1 {
            world.clear();
        }
    }
}

#[test]
fn a_batch_of_more_than_there_are_ids_is_refused_before_its_first_entity() {
    /// Bundles without end, of which none is asked for.
    fn endless<B>(_: fn() -> B) -> impl Iterator<Item = B> {
        core::iter::repeat_with(|| panic!("it cannot come to all of them"))
    }
    let is_full = |error: WorldError| matches!(error, WorldError::Full(_));
    for universe in [Universe::new(), Universe::ordered()] {
        let universe = Arc::new(universe);
        let mut world = World::of(&universe).unwrap();
        let plain = || endless(|| (1_u32,));
        let shared = || endless(|| (1_u32,).shared(Team(1)));
        assert!(is_full(world.create_batch(plain()).unwrap_err()));
        assert!(is_full(world.create_batch(shared()).unwrap_err()));
        let mut commands = world.commands();
        assert!(is_full(commands.create_batch(plain()).unwrap_err()));
        assert!(is_full(commands.create_batch(shared()).unwrap_err()));
        drop(commands);
        assert!(world.flush().is_clean());
        world.check().unwrap();
        assert_eq!((universe.count(), world.stats().chunks), (0, 0));
        assert_eq!(universe.reserve().unwrap().version(), 1, "none was taken");
    }
}
