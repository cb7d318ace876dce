//! Translators: a host's objects and the world's entities tell each other what has changed.
//!
//! ```text
//! cargo run --release --example translators
//! ```
//!
//! The host has a scene of sprites. Entities move, their sprites follow; the user drags a sprite, its entity
//! follows; an entity is destroyed, the host takes its sprite down.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters without them"
)]

use megachunk::prelude::*;
use megachunk::processor::translator::{Hosts, from_host, to_host};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Position(f32, f32);
struct Velocity(f32, f32);
/// Moves only if it is let go.
struct Held;

/// What the host draws.
#[derive(Debug)]
struct Sprite {
    name: String,
    at: (f32, f32),
    /// How often it was drawn anew.
    updates: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    Hosts::<Sprite>::install(&mut world)?;
    let mut slots = Vec::new();
    for number in 0..4_u8 {
        let moves = f32::from(number % 2);
        let entity = world.create((Position(0.0, f32::from(number)), Velocity(moves, 0.0)))?;
        let sprite = Sprite {
            name: format!("sprite {number}"),
            at: (0.0, 0.0),
            updates: 0,
        };
        slots.push((entity, Hosts::attach(&mut world, entity, sprite)?));
    }

    let mut schedule = Schedule::new();
    schedule
        .add(from_host::<Sprite, &mut Position, ()>(
            "dragged",
            |sprite, position| {
                *position = Position(sprite.at.0, sprite.at.1);
            },
        ))
        .add(
            processor(
                "move",
                |mut all: QueryRun<(&mut Position, &Velocity), Without<Held>>| {
                    all.for_each(|(position, velocity)| {
                        position.0 += velocity.0;
                        position.1 += velocity.1;
                    });
                },
            )
            .phase(Phase::DuringPhysics),
        )
        .add(to_host::<Sprite, &Position, Changed<Position>>(
            "drawn",
            |sprite, position| {
                sprite.at = (position.0, position.1);
                sprite.updates += 1;
            },
        ));

    for _ in 0..3 {
        schedule.run(&mut world)?;
    }
    show(&world, "after three frames");

    // The user drags a sprite: its entity is there with the next frame.
    let (dragged, slot) = slots[0];
    world.add(dragged, (Held,))?;
    let scene = world
        .resources_mut()
        .get_mut::<Hosts<Sprite>>()
        .ok_or("no scene")?;
    scene.get_mut(slot).ok_or("no sprite")?.at = (50.0, 50.0);
    schedule.run(&mut world)?;
    assert_eq!(world.get::<Position>(dragged)?, &Position(50.0, 50.0));
    show(&world, "after dragging sprite 0");

    // An entity goes: its sprite is handed back.
    world.destroy(slots[3].0)?;
    let scene = world
        .resources_mut()
        .get_mut::<Hosts<Sprite>>()
        .ok_or("no scene")?;
    for sprite in scene.take_orphans() {
        println!("the host takes {} down", sprite.name);
    }
    schedule.run(&mut world)?;
    show(&world, "at the end");
    Ok(())
}

fn show(world: &World, when: &str) {
    println!("{when}:");
    let scene = world.resources().get::<Hosts<Sprite>>();
    for (slot, sprite) in scene.into_iter().flat_map(Hosts::iter) {
        println!(
            "  {slot}: {} at {:?}, drawn {} times",
            sprite.name, sprite.at, sprite.updates
        );
    }
}
