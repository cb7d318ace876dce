//! A world is saved to a file and comes back: ids, values, and what is dead stays dead.
//!
//!     cargo run --release --example snapshot

use std::error::Error;

use megachunk::fragment::{FragmentError, FragmentRegistry, Plain};
use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Position {
    x: f32,
    y: f32,
}
// SAFETY: two floats, without padding.
unsafe impl Plain for Position {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Team(u32);
// SAFETY: a number.
unsafe impl Plain for Team {}

/// What both programs agree on: the names and layouts of fragments.
fn register(registry: &FragmentRegistry) -> Result<(), FragmentError> {
    registry.register_plain::<Position>()?;
    registry.register_plain_shared::<Team>()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut world = World::new();
    register(world.registry())?;
    let mut players = Vec::new();
    for number in 0..1_000_u16 {
        let position = Position {
            x: f32::from(number),
            y: 0.5,
        };
        let team = Team(u32::from(number % 4));
        players.push(world.create((position,).shared(team))?);
    }
    world.destroy(players[7])?;

    let path = std::env::temp_dir().join(format!("megachunk-example-{}.world", std::process::id()));
    world.save(&path)?;
    let hash = world.state_hash()?;
    println!(
        "saved {} entities in {} bytes, state {hash:016x}",
        world.count(),
        path.metadata()?.len()
    );

    // Another run of the program: a fresh universe that knows the same fragments.
    let universe = Universe::new();
    register(universe.registry())?;
    let mut loaded = World::load(&path, universe)?;
    println!(
        "loaded {} entities, state {:016x}",
        loaded.count(),
        loaded.state_hash()?
    );
    assert_eq!(loaded.state_hash()?, hash);
    assert_eq!(loaded.get::<Position>(players[3])?.x, 3.0);
    assert_eq!(loaded.shared::<Team>(players[3])?, &Team(3));

    // The dead player's slot has another entity one day; the old handle never means it.
    let recruit = loaded.create((Position { x: 0.0, y: 0.0 },))?;
    println!(
        "{recruit} is new; {}",
        loaded.get::<Position>(players[7]).unwrap_err()
    );
    assert!(!loaded.exists(players[7]));

    // A damaged file says where, and no world is made of it.
    let mut bytes = std::fs::read(&path)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes)?;
    let universe = Universe::new();
    register(universe.registry())?;
    let error = World::load(&path, universe)
        .err()
        .ok_or("it should be refused")?;
    println!("refused: {error}");
    std::fs::remove_file(path)?;
    Ok(())
}
