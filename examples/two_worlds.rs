//! Two worlds on one index: entities go from one to the other and keep their ids.
//!
//!     cargo run --release --example two_worlds
//!
//! A level is built in a world of its own while the game runs in another. When it is ready, it moves
//! over: whole chunks, no new handles, so that whatever points to its entities still does.

use std::error::Error;
use std::sync::Arc;

use megachunk::prelude::*;

#[derive(Debug, PartialEq)]
struct Position([f32; 3]);
#[derive(Debug)]
struct Opens(Entity);
#[derive(Debug, PartialEq, Eq, Hash)]
struct Material(&'static str);

fn main() -> Result<(), Box<dyn Error>> {
    let universe = Arc::new(Universe::new());
    let mut game = World::of(&universe)?;
    let mut loading = World::of(&universe)?;
    let player = game.create((Position([0.0; 3]), "player"))?;

    // The level, as it is loaded: walls of two materials, a door, and a key that knows its door.
    for n in 0..50_000_u32 {
        let material = Material(if n % 3 == 0 { "stone" } else { "wood" });
        loading.create((Position([n as f32, 0.0, 1.0]),).shared(material))?;
    }
    let door = loading.create((Position([9.0; 3]), "door"))?;
    let key = loading.create((Position([1.0; 3]), Opens(door)))?;
    loading.set_name(door, "north gate")?;
    println!(
        "the game has {} entity, the level {}",
        game.count(),
        loading.count()
    );

    // Ids are unique over both worlds, and each world knows which are its own.
    println!(
        "the game on the door: {}",
        game.get::<Position>(door).unwrap_err()
    );

    let start = std::time::Instant::now();
    let moved = loading.move_all_to(&mut game)?;
    println!("{moved} entities moved over in {:.0?}", start.elapsed());

    // The key still opens its door, by the handle it has had all along.
    let opens = game.get::<Opens>(key)?.0;
    assert_eq!(game.find_by_name("north gate"), Some(opens));
    println!("the key opens {}", game.entity(opens)?);
    let stone = Query::<Entity, ()>::new(&game)?
        .on(&mut game)
        .sharing(&Material("stone"))
        .count();
    println!("{stone} walls are of stone");

    // One entity goes back.
    game.move_to(&mut loading, player)?;
    println!(
        "the player waits in the other world: {}",
        loading.entity(player)?
    );

    // Worlds of different universes have nothing in common.
    let refused = game.move_to(&mut World::new(), key).unwrap_err();
    println!("elsewhere: {refused}");
    Ok(())
}
