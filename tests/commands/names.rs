//! Names that are recorded.

use std::sync::Arc;

use megachunk::prelude::*;

#[test]
fn an_entity_that_a_recorder_creates_is_named_by_it() {
    let mut world = World::new();
    let before = world.create((1_u8,)).unwrap();
    world.set_name(before, "old").unwrap();
    let reserved = world.reserve().unwrap();
    let mut commands = world.commands();
    let new = commands.create((2_u8,)).unwrap();
    commands.set_name(new, "new");
    commands.set_name(before, "first");
    commands.set_name(before, "second");
    commands.set_name(reserved, "reserved");
    assert_eq!(commands.len(), 4);
    drop(commands);
    assert_eq!(world.name(before).unwrap(), Some("old"), "not yet");
    let report = world.flush();
    assert!(report.is_clean());
    assert_eq!((report.commands, report.closures), (4, 0));
    let named = [new, before, reserved].map(|entity| world.name(entity).unwrap());
    assert_eq!(named, [Some("new"), Some("second"), Some("reserved")]);
    assert_eq!(world.find_by_name("old"), None);
    let mut commands = world.commands();
    commands.remove_name(new);
    commands.remove_name(new);
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.name(new).unwrap(), None);
    world.check().unwrap();
}

#[test]
fn a_name_has_its_place_among_commands_and_closures() {
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    let mut commands = world.commands();
    commands.set(ant, 2_u8).unwrap();
    commands.set_name(ant, "ant");
    commands.defer(move |world| {
        let seen = (
            world.name(ant).unwrap() == Some("ant"),
            world.get(ant).copied(),
        );
        assert_eq!(seen, (true, Ok(2_u8)));
        world.remove_name(ant).unwrap();
    });
    commands.set(ant, 3_u8).unwrap();
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean());
    assert_eq!((report.commands, report.closures), (4, 1));
    assert_eq!(world.name(ant).unwrap(), None);
    assert_eq!(world.get::<u8>(ant).unwrap(), &3);
}

#[test]
fn names_of_the_dead_are_counted_and_others_that_cannot_be_are_refused() {
    let universe = Arc::new(Universe::new());
    let [mut world, mut other] = [(); 2].map(|()| World::of(&universe).unwrap());
    let [dead, dies] = [0_u8, 1].map(|n| world.create((n,)).unwrap());
    world.destroy(dead).unwrap();
    let elsewhere = other.create((2_u8,)).unwrap();
    let open = world.parallel_commands();
    let mut open = open.open_at(9);
    let pending = open.create((3_u8,)).unwrap();
    let mut commands = world.commands();
    commands.set_name(dead, "dead");
    commands.remove_name(dead);
    commands.destroy(dies);
    commands.set_name(dies, "dies");
    commands.set_name(elsewhere, "elsewhere");
    commands.set_name(pending, "pending");
    commands.set_name(Entity::PLACEHOLDER, "nobody");
    drop(commands);
    let report = world.flush();
    assert_eq!((report.destroyed, report.dead), (1, 3));
    let refused: Vec<Entity> = report.refused.iter().map(|(entity, _)| *entity).collect();
    assert_eq!(refused, [elsewhere, pending, Entity::PLACEHOLDER]);
    assert!(matches!(report.refused[0].1, WorldError::Elsewhere { .. }));
    assert!(matches!(report.refused[1].1, WorldError::Pending { .. }));
    assert!(matches!(report.refused[2].1, WorldError::Entity(_)));
    assert_eq!(world.stats().names, 0);
    drop(open);
    assert_eq!(world.flush().created, 1);
}
