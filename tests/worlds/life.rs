//! Entities of a world come, change and go, seen from outside.

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Position(f32, f32);
#[derive(Debug, PartialEq)]
struct Name(String);
struct Asleep;

#[test]
fn entities_keep_their_fragments_through_every_move() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..10_000)
        .map(|n| {
            world
                .create((Position(n as f32, 0.0), Name(n.to_string())))
                .unwrap()
        })
        .collect();
    for (n, &ant) in ants.iter().enumerate() {
        match n % 4 {
            0 => world.add(ant, (Asleep, n as u64)).unwrap(),
            1 => assert!(world.remove::<(Name,)>(ant).unwrap()),
            2 => world.destroy(ant).unwrap(),
            _ => world.add(ant, (Position(0.5, n as f32),)).unwrap(),
        }
    }
    for (n, &ant) in ants.iter().enumerate() {
        let moved = Position(0.5, n as f32);
        let at_home = Position(n as f32, 0.0);
        match n % 4 {
            0 => {
                assert_eq!(world.get::<Position>(ant).unwrap(), &at_home);
                assert_eq!(world.get::<u64>(ant).unwrap(), &(n as u64));
                assert!(world.has::<Asleep>(ant).unwrap());
            }
            1 => assert!(!world.has::<Name>(ant).unwrap()),
            2 => assert!(!world.exists(ant) && world.get::<Name>(ant).is_err()),
            _ => assert_eq!(world.get::<Position>(ant).unwrap(), &moved),
        }
        if n % 4 == 0 || n % 4 == 3 {
            assert_eq!(world.get::<Name>(ant).unwrap().0, n.to_string());
        }
    }
    assert_eq!(world.count(), 7_500);
    assert_eq!(
        world.query::<Entity, Without<Asleep>>().unwrap().count(),
        5_000
    );
    assert_eq!(world.clear(), 7_500);
    assert_eq!(world.universe().count(), 0);
}
