//! What plays a role is taken away by its role.

use megachunk::prelude::*;

type Kind = ConstShared<&'static str>;
type Frame = PerChunk<u64>;
type Team = Shared<u8>;

fn ant(world: &mut World, number: u32) -> Entity {
    let bundle = (number,).shared(7_u8).const_shared("ant").per_chunk(9_u64);
    world.create(bundle).unwrap()
}

fn roles(world: &World, entity: Entity) -> [bool; 3] {
    [
        world.has::<Team>(entity).unwrap(),
        world.has::<Kind>(entity).unwrap(),
        world.has::<Frame>(entity).unwrap(),
    ]
}

#[test]
fn one_role_goes_and_the_others_stay() {
    let mut world = World::new();
    let (all, other) = (ant(&mut world, 1), ant(&mut world, 2));
    assert!(world.remove::<Kind>(all).unwrap());
    assert!(!world.remove::<Kind>(all).unwrap());
    assert_eq!(roles(&world, all), [true, false, true]);
    assert!(world.remove::<Frame>(all).unwrap());
    assert_eq!(roles(&world, all), [true, false, false]);
    assert!(world.remove::<Shared<u8>>(all).unwrap());
    assert_eq!(roles(&world, all), [false; 3]);
    assert_eq!(world.get::<u32>(all).unwrap(), &1);
    assert_eq!(roles(&world, other), [true; 3]);
    let mut view = world.entity_mut(other).unwrap();
    assert!(view.remove::<Team>().unwrap() && view.remove::<Kind>().unwrap());
    assert!(!view.remove::<Shared<&str>>().unwrap());
    assert_eq!(roles(&world, other), [false, false, true]);
    world.destroy(all).unwrap();
    assert!(matches!(
        world.remove::<Kind>(all),
        Err(WorldError::Entity(_))
    ));
    world.check().unwrap();
}

#[test]
fn a_const_shared_value_that_is_in_the_way_names_the_call_that_takes_it_away() {
    let mut world = World::new();
    let ant = ant(&mut world, 1);
    let error = world.add(ant, ().const_shared("bee")).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`remove::<ConstShared<…>>`"), "{text}");
    assert!(world.remove::<Kind>(ant).unwrap());
    world.add(ant, ().const_shared("bee")).unwrap();
    assert_eq!(world.const_shared::<&str>(ant).unwrap(), &"bee");
}

#[test]
fn recorders_and_changes_of_many_take_roles_away() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..100).map(|n| ant(&mut world, n)).collect();
    let mut commands = world.commands();
    commands.remove::<Kind>(ants[0]).unwrap();
    commands.remove::<Frame>(ants[0]).unwrap();
    let late = commands.create((1_u32,).per_chunk(8_u64)).unwrap();
    commands.remove::<Frame>(late).unwrap();
    commands.remove::<Kind>(late).unwrap();
    commands.remove::<Kind>(ants[1]).unwrap();
    commands.add(ants[1], ().const_shared("bee")).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(roles(&world, ants[0]), [true, false, false]);
    assert_eq!(roles(&world, late), [false; 3]);
    assert_eq!(world.const_shared::<&str>(ants[1]).unwrap(), &"bee");
    let matching = world.matching::<With<u32>>().unwrap();
    assert_eq!(matching.sharing(&"ant").remove::<Kind>().unwrap(), 98);
    let matching = world.matching::<With<u32>>().unwrap();
    assert_eq!(matching.remove::<Frame>().unwrap(), 99);
    let matching = world.matching::<With<u32>>().unwrap();
    assert_eq!(matching.remove::<Team>().unwrap(), 100);
    assert_eq!(roles(&world, ants[7]), [false; 3]);
    assert_eq!(roles(&world, ants[1]), [false, true, false]);
    world.check().unwrap();
}

#[test]
fn a_role_goes_from_slices_and_makes_room_for_what_comes() {
    struct Solo;
    let mut world = World::new();
    let ants: Vec<Entity> = (0..100).map(|n| ant(&mut world, n)).collect();
    assert_eq!(world.remove_slice::<Kind>(&ants[..50]).done, 50);
    assert_eq!(roles(&world, ants[49]), [true, false, true]);
    assert_eq!(roles(&world, ants[50]), [true; 3]);
    world.swap::<Team, _>(ants[0], (Solo,)).unwrap();
    let mut commands = world.commands();
    commands.swap::<Frame, _>(ants[1], (Solo,)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(roles(&world, ants[0]), [false, false, true]);
    assert_eq!(roles(&world, ants[1]), [true, false, false]);
    assert_eq!(world.query::<Entity, With<Solo>>().unwrap().count(), 2);
    let none = world.create_batch(core::iter::empty::<Team>()).unwrap();
    assert_eq!(none.len(), 0, "nobody has one to give");
    world.check().unwrap();
}

#[test]
fn chunks_and_views_are_asked_for_roles() {
    let mut world = World::new();
    let ant = ant(&mut world, 1);
    let view = world.entity(ant).unwrap();
    assert!(view.has::<u32>() && view.has::<Team>() && !view.has::<u8>());
    let mut all = world.read::<Entity, ()>().unwrap();
    all.for_each_chunk(|chunk, _| {
        assert!(chunk.has::<u32>() && chunk.has::<Kind>() && chunk.has::<Frame>());
        assert!(!chunk.has::<Shared<&str>>() && !chunk.has::<u64>());
    });
    assert!(world.entity_mut(ant).unwrap().has::<Frame>());
}
