//! Entities of a world come, change and go, seen from outside.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

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

#[test]
fn clearing_ends_values_from_the_last_chunk_on_each_in_the_order_of_its_rows_though_one_panics() {
    /// Notes that it ends.
    struct Told(u32, Arc<Mutex<Vec<u32>>>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
            if self.0 == 77 {
                resume_unwind(Box::new(self.0));
            }
        }
    }

    let ended = Arc::new(Mutex::new(Vec::new()));
    let mut world = World::new();
    let many = (0..4_000).map(|n| (Told(n, Arc::clone(&ended)), [0_u64; 30]));
    let all = world.create_batch(many).unwrap().to_vec(&world);
    // A chunk without rows stands among the others.
    let mut chunks = Vec::new();
    let mut query = Query::<&Told>::new(&world).unwrap();
    query.on(&mut world).for_each_chunk(|_, told| {
        chunks.push(told.iter().map(|told| told.0).collect::<Vec<_>>());
    });
    assert!(chunks.len() > 3, "{} chunks", chunks.len());
    let gone = chunks.remove(2);
    for &n in &gone {
        world.destroy(all[n as usize]).unwrap();
    }
    ended.lock().unwrap().clear();
    let mut rows = Vec::new();
    query.on(&mut world).for_each_chunk(|_, told| {
        rows.push(told.iter().map(|told| told.0).collect::<Vec<_>>());
    });
    let panic = catch_unwind(AssertUnwindSafe(|| world.clear()));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&77_u32));
    let expected: Vec<u32> = rows.into_iter().rev().flatten().collect();
    assert_eq!(*ended.lock().unwrap(), expected);
    assert_eq!((world.count(), world.universe().count()), (0, 0));
    world.check().unwrap();
}
