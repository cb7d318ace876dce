//! A schedule: processors with phases, groups and orders, run on all threads, explained and drawn.
//!
//! ```text
//! cargo run --release --example schedule -- --svg schedule.svg --dot schedule.dot --trace schedule.json
//! ```
//!
//! Boids in a box: they steer, move, get hungry, eat, give birth and die. Afterwards it says how long
//! each processor took and why two of them never run at the same time.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters without them"
)]

use std::time::{Duration, Instant};

use megachunk::prelude::*;

const HELP: &str = "\
Runs a flock for some frames, and says how long each processor took.

  --frames N     frames to run (300)
  --boids N      boids at first (100000)
  --svg FILE     draw the solved schedule
  --dot FILE     write it for Graphviz
  --trace FILE   write a trace for Perfetto or chrome://tracing
  --help         this text";

struct Position([f32; 2]);
struct Velocity([f32; 2]);
struct Hunger(f32);
struct Predator;
/// How far the box reaches from the middle.
struct Box2(f32);
#[derive(Default)]
struct Census {
    /// At the end of the last frame.
    boids: usize,
    /// In this frame.
    born: usize,
    starved: usize,
}

#[derive(Default)]
struct Options {
    frames: Option<u32>,
    boids: Option<u32>,
    svg: Option<String>,
    dot: Option<String>,
    trace: Option<String>,
}

/// The options, each with a value.
const FLAGS: [&str; 5] = ["--frames", "--boids", "--svg", "--dot", "--trace"];

fn options() -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let number = |flag: &str, value: &str| {
        let parsed = value.parse::<u32>();
        parsed.map_err(|_| format!("{flag}: `{value}` is not a number that it takes"))
    };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        if flag == "--help" || flag == "-h" {
            return Ok(None);
        }
        if !FLAGS.contains(&flag.as_str()) {
            return Err(format!("{flag}: no such option; see --help"));
        }
        let value = args.next().ok_or(format!("{flag}: a value is missing"))?;
        match flag.as_str() {
            "--frames" => options.frames = Some(number(&flag, &value)?),
            "--boids" => options.boids = Some(number(&flag, &value)?),
            "--svg" => options.svg = Some(value),
            "--dot" => options.dot = Some(value),
            _ => options.trace = Some(value),
        }
    }
    Ok(Some(options))
}

fn boid(number: u32) -> (Position, Velocity, Hunger) {
    let angle = number as f32 * 0.618_034;
    let place = [(angle * 3.7).sin() * 90.0, (angle * 1.3).cos() * 90.0];
    (
        Position(place),
        Velocity([angle.sin(), angle.cos()]),
        Hunger(angle.fract()),
    )
}

fn flock() -> Schedule {
    let mut schedule = Schedule::new();
    schedule
        .add(
            processor(
                "wander",
                |mut boids: QueryRun<&mut Velocity, Without<Predator>>, time: &Time| {
                    let turn = (time.now.as_secs_f32().sin() * 0.02).sin_cos();
                    boids.par_for_each_slice(|_, _, velocities| {
                        for Velocity([x, y]) in velocities {
                            (*x, *y) = (*x * turn.1 - *y * turn.0, *x * turn.0 + *y * turn.1);
                        }
                    });
                },
            )
            .group("Movement.Steering"),
        )
        .add(
            processor(
                "hunt",
                |mut hunters: QueryRun<&mut Velocity, With<Predator>>| {
                    hunters.for_each(|Velocity([x, y])| (*x, *y) = (*x * 1.001, *y * 0.999));
                },
            )
            .group("Movement.Steering"),
        )
        .add(
            processor(
                "move",
                |mut boids: QueryRun<(&mut Position, &mut Velocity)>, walls: &Box2, time: &Time| {
                    let (step, wall) = (time.seconds() * 10.0, walls.0);
                    boids.par_for_each_slice(|_, _, (positions, velocities)| {
                        for (Position(at), Velocity(by)) in positions.iter_mut().zip(velocities) {
                            for (at, by) in at.iter_mut().zip(by) {
                                *at += *by * step;
                                if at.abs() > wall {
                                    *by = -*by;
                                }
                            }
                        }
                    });
                },
            )
            .group("Movement")
            .after("Movement.Steering"),
        )
        .add(
            processor(
                "starve",
                |mut boids: QueryRun<(Entity, &mut Hunger)>,
                 commands: ParallelCommands,
                 time: &Time| {
                    let more = time.seconds() * 0.5;
                    boids.par_for_each_slice(|chunk, _, (entities, hungers)| {
                        let mut commands = commands.open_at(chunk.sort_key());
                        for (&entity, hunger) in entities.iter().zip(hungers) {
                            hunger.0 += more;
                            if hunger.0 > 1.0 {
                                commands.destroy(entity);
                            }
                        }
                    });
                },
            )
            .phase(Phase::StartPhysics)
            .group("Life"),
        )
        .add(
            processor(
                "breed",
                |mut commands: Commands, census: &mut Census, mut next: Local<u32>| {
                    // As many come as have starved in the frame before.
                    for _ in 0..census.starved {
                        *next += 1;
                        if commands.create(boid(*next)).is_err() {
                            break;
                        }
                    }
                    census.born = census.starved;
                },
            )
            .phase(Phase::StartPhysics)
            .group("Life"),
        )
        .add(
            processor(
                "count",
                |mut boids: QueryRun<Entity, With<Hunger>>, census: &mut Census| {
                    let now = boids.count();
                    census.starved = (census.boids + census.born).saturating_sub(now);
                    census.boids = now;
                },
            )
            .phase(Phase::PostPhysics)
            .after(Target::from("report").optional()),
        );
    schedule
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(options) = options()? else {
        println!("{HELP}");
        return Ok(());
    };
    let frames = options.frames.unwrap_or(300);
    let mut world = World::new();
    world.resources_mut().insert(Box2(100.0));
    world.resources_mut().insert(Census::default());
    let boids = options.boids.unwrap_or(100_000);
    let _ = world.create_batch((0..boids).map(boid))?;
    let hunters = (0..boids / 100).map(|number| {
        let (position, velocity, _) = boid(number);
        (position, velocity, Predator)
    });
    let _ = world.create_batch(hunters)?;

    let mut simulation = Simulation::new(world, flock());
    simulation.schedule_mut().start_trace();
    let step = Duration::from_secs(1) / 60;
    let began = Instant::now();
    let (mut created, mut destroyed) = (0, 0);
    for _ in 0..frames {
        let report = simulation.advance(step)?;
        created += report.schedule.flush.created;
        destroyed += report.schedule.flush.destroyed;
    }
    let wall = began.elapsed();
    println!(
        "{frames} frames in {:.2} s, {:.3} ms a frame; {created} born, {destroyed} starved",
        wall.as_secs_f64(),
        wall.as_secs_f64() * 1e3 / f64::from(frames.max(1))
    );
    let (world, schedule) = simulation.parts_mut();
    for (name, timing) in schedule.timings() {
        println!("{name:10} {timing}");
    }
    for (one, other) in [("wander", "hunt"), ("wander", "move"), ("starve", "breed")] {
        println!(
            "{one} and {other}: {}",
            schedule.explain_overlap(world, one, other)?
        );
    }
    let write = |file: &Option<String>, text: &dyn Fn() -> String| match file {
        None => Ok(()),
        Some(file) => std::fs::write(file, text()).map_err(|error| format!("{file}: {error}")),
    };
    write(&options.svg, &|| schedule.to_svg(world))?;
    write(&options.dot, &|| schedule.to_dot(world))?;
    if let (Some(file), Some(trace)) = (&options.trace, schedule.take_trace()) {
        let refused = |error| format!("{file}: {error}");
        let mut to = std::io::BufWriter::new(std::fs::File::create(file).map_err(refused)?);
        trace.write_to(&mut to).map_err(refused)?;
    }
    Ok(())
}
