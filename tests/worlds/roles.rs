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
        world.has_role::<Team>(entity).unwrap(),
        world.has_role::<Kind>(entity).unwrap(),
        world.has_role::<Frame>(entity).unwrap(),
    ]
}

#[test]
fn one_role_goes_and_the_others_stay() {
    let mut world = World::new();
    let (all, other) = (ant(&mut world, 1), ant(&mut world, 2));
    assert!(world.remove_role::<Kind>(all).unwrap());
    assert!(!world.remove_role::<Kind>(all).unwrap());
    assert_eq!(roles(&world, all), [true, false, true]);
    assert!(world.remove_role::<Frame>(all).unwrap());
    assert_eq!(roles(&world, all), [true, false, false]);
    assert!(world.remove_role::<Shared<u8>>(all).unwrap());
    assert_eq!(roles(&world, all), [false; 3]);
    assert_eq!(world.get::<u32>(all).unwrap(), &1);
    assert_eq!(roles(&world, other), [true; 3]);
    let mut view = world.entity_mut(other).unwrap();
    assert!(view.remove_role::<Team>().unwrap() && view.remove_role::<Kind>().unwrap());
    assert!(!view.remove_role::<Shared<&str>>().unwrap());
    assert_eq!(roles(&world, other), [false, false, true]);
    world.destroy(all).unwrap();
    assert!(matches!(
        world.remove_role::<Kind>(all),
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
    assert!(text.contains("`remove_role::<ConstShared<…>>`"), "{text}");
    assert!(world.remove_role::<Kind>(ant).unwrap());
    world.add(ant, ().const_shared("bee")).unwrap();
    assert_eq!(world.const_shared::<&str>(ant).unwrap(), &"bee");
}

#[test]
fn recorders_and_changes_of_many_take_roles_away() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..100).map(|n| ant(&mut world, n)).collect();
    let mut commands = world.commands();
    commands.remove_role::<Kind>(ants[0]).unwrap();
    commands.remove_role::<Frame>(ants[0]).unwrap();
    let late = commands.create((1_u32,).per_chunk(8_u64)).unwrap();
    commands.remove_role::<Frame>(late).unwrap();
    commands.remove_role::<Kind>(late).unwrap();
    commands.remove_role::<Kind>(ants[1]).unwrap();
    commands.add(ants[1], ().const_shared("bee")).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(roles(&world, ants[0]), [true, false, false]);
    assert_eq!(roles(&world, late), [false; 3]);
    assert_eq!(world.const_shared::<&str>(ants[1]).unwrap(), &"bee");
    let matching = world.matching::<With<u32>>().unwrap();
    assert_eq!(matching.sharing(&"ant").remove_role::<Kind>().unwrap(), 98);
    let matching = world.matching::<With<u32>>().unwrap();
    assert_eq!(matching.remove_role::<Frame>().unwrap(), 99);
    let matching = world.matching::<With<u32>>().unwrap();
    assert_eq!(matching.remove_role::<Team>().unwrap(), 100);
    assert_eq!(roles(&world, ants[7]), [false; 3]);
    assert_eq!(roles(&world, ants[1]), [false, true, false]);
    world.check().unwrap();
}
