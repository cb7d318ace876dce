//! The first five minutes: entities, fragments, tags, queries.
//!
//!     cargo run --release --example first_steps
//!
//! Ants walk about. Some fall asleep, some wake up, one is destroyed, and the world says what it takes.

use std::error::Error;

use megachunk::prelude::*;

// Any type is a fragment; one without content is a tag.
#[derive(Debug)]
struct Position {
    x: f32,
    y: f32,
}
struct Velocity {
    x: f32,
    y: f32,
}
struct Asleep;

fn main() -> Result<(), Box<dyn Error>> {
    let mut world = World::new();

    // One entity, and a hundred thousand.
    let queen = world.create((Position { x: 0.0, y: 0.0 },))?;
    world.set_name(queen, "queen")?;
    let workers = world.create_batch((0..100_000).map(|n| {
        let (x, y) = (n as f32, 0.0);
        (Position { x, y }, Velocity { x: 0.0, y: 1.0 })
    }))?;
    println!("{} workers and {}", workers.len(), world.entity(queen)?);

    // A handle is good for as long as its entity lives, and no longer.
    let first = workers.iter(&world).next().ok_or("no worker")?;
    world.get_mut::<Velocity>(first)?.x = 2.0;

    // Everything that has a position and a velocity, and is not asleep, walks.
    let mut walk = Query::<(&mut Position, &Velocity), Without<Asleep>>::new(&world)?;
    let mut step = |world: &mut World| {
        walk.on(world).for_each(|(position, velocity)| {
            position.x += velocity.x;
            position.y += velocity.y;
        });
    };
    step(&mut world);
    println!(
        "after a step the first is at {:?}",
        world.get::<Position>(first)?
    );

    // All fall asleep but the first and its neighbours: the tag moves whole chunks, not entities.
    let slept = world
        .matching::<(With<Velocity>, Without<Asleep>)>()?
        .filter_chunks(|chunk| !chunk.entities().contains(&first))
        .add(|_| (Asleep,))?;
    step(&mut world);
    println!("{slept} fell asleep, chunk by chunk; the others took a second step");

    world.destroy(first)?;
    println!(
        "and the first? {}",
        world.get::<Position>(first).unwrap_err()
    );
    println!("by its name: {:?}", world.find_by_name("queen"));

    println!("\n{}", world.stats());
    Ok(())
}
