//! A swarm in which each follows those nearby: who is in which cell of the map is an index, made of where they are, and
//! brought up to date from what has moved.
//!
//! `cargo run --release --example neighbours`

use std::time::{Duration, Instant};

use megachunk::prelude::*;

const SWARM: usize = 50_000;
const FRAMES: usize = 100;
/// Metres that the map is wide and high.
const MAP: f32 = 1_000.0;
/// Metres within which they see each other: not more than a cell is wide.
const SIGHT: f32 = 5.0;
/// Metres that they fly in a frame.
const STEP: f32 = 0.1;

#[derive(Clone, Copy)]
struct Position {
    x: f32,
    y: f32,
}

/// Where it flies, as a vector of length one.
#[derive(Clone, Copy)]
struct Heading {
    x: f32,
    y: f32,
}

/// Row and column: the cells of a row are neighbours in the index.
type Cell = (i32, i32);
type Cells = ValueIndex<Position, Cell>;

fn cell(position: &Position) -> Cell {
    let number = |metres: f32| (metres / SIGHT).floor() as i32;
    (number(position.y), number(position.x))
}

/// All that may be seen from somewhere: those of nine cells.
fn around(cells: &Cells, position: Position) -> impl Iterator<Item = Entity> {
    let (row, column) = cell(&position);
    let rows = row - 1..=row + 1;
    let found = rows.flat_map(move |row| cells.range((row, column - 1)..=(row, column + 1)));
    found.flat_map(|(_, entities)| entities.iter().copied())
}

fn sees(one: Position, other: Position) -> bool {
    let (x, y) = (other.x - one.x, other.y - one.y);
    x * x + y * y <= SIGHT * SIGHT
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    // Scattered by the golden ratio: evenly, in no order.
    let swarm = (0..SWARM).map(|n| {
        let turn = (n as f32 * 0.618_034).fract();
        let position = Position {
            x: turn * MAP,
            y: n as f32 / SWARM as f32 * MAP,
        };
        let (y, x) = (turn * std::f32::consts::TAU).sin_cos();
        (position, Heading { x, y })
    });
    world.create_batch(swarm)?;

    let mut cells = Cells::new(&world, cell)?;
    let begun = Instant::now();
    cells.update(&world);
    let first = begun.elapsed();

    let mut moving = Query::<(&mut Position, &Heading)>::new(&world)?;
    let mut all = Query::<(Entity, &Position, &Heading)>::new(&world)?;
    let (mut updates, mut looks) = (Vec::new(), Vec::new());
    let (mut crossed, mut seen) = (0, 0);
    for _ in 0..FRAMES {
        moving.on(&mut world).for_each(|(position, heading)| {
            position.x = (position.x + heading.x * STEP).rem_euclid(MAP);
            position.y = (position.y + heading.y * STEP).rem_euclid(MAP);
        });
        crossed += all
            .read(&world)
            .iter()
            .filter(|&(entity, position, _)| cells.key(entity) != Some(&cell(position)))
            .count();

        let begun = Instant::now();
        cells.update(&world);
        updates.push(begun.elapsed());

        // Each looks where those fly whom it sees.
        let begun = Instant::now();
        let lookup = all.lookup(&world);
        let mut turned = Vec::with_capacity(SWARM);
        for (_, here) in cells.iter() {
            for &entity in here {
                let (_, &position, _) = lookup.get(entity)?;
                let (mut x, mut y) = (0.0, 0.0);
                for other in around(&cells, position) {
                    let (_, &there, heading) = lookup.get(other)?;
                    if sees(position, there) {
                        (x, y, seen) = (x + heading.x, y + heading.y, seen + 1);
                    }
                }
                let length = x.hypot(y);
                if length > 0.5 {
                    let (x, y) = (x / length, y / length);
                    turned.push((entity, Heading { x, y }));
                }
            }
        }
        looks.push(begun.elapsed());
        for (entity, heading) in turned {
            world.set(entity, heading)?;
        }
    }

    // It has found all that one finds who looks at everybody.
    cells.update(&world);
    let lookup = all.lookup(&world);
    let everybody: Vec<Entity> = cells.iter().flat_map(|(_, here)| here).copied().collect();
    assert_eq!(everybody.len(), SWARM);
    for &one in everybody.iter().step_by(SWARM / 50) {
        let (_, &position, _) = lookup.get(one)?;
        let is_seen = |&other: &Entity| {
            lookup
                .get(other)
                .is_ok_and(|(_, &at, _)| sees(position, at))
        };
        let nearby = around(&cells, position).filter(is_seen);
        assert!(nearby.eq(everybody.iter().copied().filter(is_seen)));
    }

    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    println!(
        "{SWARM} fly, {} cells of {SIGHT} m, {FRAMES} frames",
        cells.key_count()
    );
    println!("index made: {first:.1?}");
    println!(
        "brought up to date, a frame in which {} change cells: {:.1?}",
        crossed / FRAMES,
        median(updates)
    );
    println!(
        "each looks at its neighbours ({} seen by each): {:.1?}",
        seen / SWARM / FRAMES,
        median(looks)
    );
    Ok(())
}
