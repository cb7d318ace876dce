//! `position += velocity`, in a form whose instructions can be read: three numbers an entity, which fill no vector, added
//! four entities at a time.
//!
//! ```console
//! cargo run --release --example vectors
//! cargo test --release --test vectors -- --ignored --nocapture   # shows the loop's instructions
//! ```

use megachunk::prelude::*;

struct Position([f32; 3]);
struct Velocity([f32; 3]);

/// (Not inlined, so that its name stands over its instructions.)
#[inline(never)]
fn step(moving: &mut QueryRun<'_, (&mut Position, &Velocity)>) {
    moving.for_each(|(position, velocity)| {
        for (coordinate, speed) in position.0.iter_mut().zip(velocity.0) {
            *coordinate += speed;
        }
    });
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let still = (0..10_001_u16).map(|n| (Position([f32::from(n); 3]), Velocity([0.5, 1.0, 2.0])));
    let _ = world.create_batch(still)?;

    let mut moving = Query::<(&mut Position, &Velocity)>::new(&world)?;
    step(&mut moving.on(&mut world));

    let positions = world.read::<&Position, ()>()?;
    for (n, position) in (0_u16..).zip(positions) {
        let n = f32::from(n);
        assert_eq!(position.0, [n + 0.5, n + 1.0, n + 2.0]);
    }
    println!("10,001 entities have moved, each by its velocity");
    Ok(())
}
