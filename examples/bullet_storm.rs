//! A million bullets a second: workers create and destroy them while others look at them.
//!
//! ```text
//! cargo run --release --example bullet_storm -- --seconds 5 --trace storm.json
//! ```
//!
//! Every frame (a 60th of a second of simulated time) workers fire bullets straight into chunks of their
//! own while others count those that are near the target; then all bullets fly on, whoever finds one too
//! old records its end, and the flush applies that. The trace is for Perfetto or `chrome://tracing`.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use megachunk::prelude::*;
use rayon::prelude::*;

const FRAMES_A_SECOND: u32 = 60;
const HELP: &str = "\
Fires bullets from all threads and says how long creating, querying and flushing takes.

  --seconds N    simulated seconds to run (5)
  --bullets N    bullets fired a simulated second (1000000)
  --life SECS    simulated seconds that a bullet lives (0.5)
  --threads N    threads (all)
  --trace FILE   write a trace for Perfetto or chrome://tracing
  --help         this text";

#[derive(Clone, Copy)]
struct Position([f32; 3]);
#[derive(Clone, Copy)]
struct Velocity([f32; 3]);
/// Seconds until the bullet goes.
#[derive(Clone, Copy)]
struct Life(f32);

struct Options {
    seconds: u32,
    bullets: u32,
    life: f32,
    threads: usize,
    trace: Option<String>,
}

fn options() -> Result<Option<Options>, String> {
    let mut options = Options {
        seconds: 5,
        bullets: 1_000_000,
        life: 0.5,
        threads: 0,
        trace: None,
    };
    fn number<T: std::str::FromStr>(flag: &str, value: &str) -> Result<T, String> {
        let refused = |_| format!("{flag}: `{value}` is not a number that it takes");
        value.parse().map_err(refused)
    }
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        if flag == "--help" || flag == "-h" {
            return Ok(None);
        }
        let value = args.next().ok_or(format!("{flag}: a value is missing"))?;
        match flag.as_str() {
            "--seconds" => options.seconds = number(&flag, &value)?,
            "--bullets" => options.bullets = number(&flag, &value)?,
            "--life" => options.life = number(&flag, &value)?,
            "--threads" => options.threads = number(&flag, &value)?,
            "--trace" => options.trace = Some(value),
            _ => return Err(format!("{flag}: no such option; see --help")),
        }
    }
    Ok(Some(options))
}

/// What took how long, for the trace.
struct Trace {
    begin: Instant,
    events: String,
}

impl Trace {
    fn time<R>(&mut self, name: &str, run: impl FnOnce() -> R) -> (R, Duration) {
        let start = Instant::now();
        let result = run();
        let took = start.elapsed();
        let comma = if self.events.is_empty() { "" } else { ",\n" };
        let at = (start - self.begin).as_secs_f64() * 1e6;
        let long = took.as_secs_f64() * 1e6;
        // Writing to a string does not fail.
        let _ = write!(
            self.events,
            "{comma}{{\"name\":\"{name}\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{at:.3},\"dur\":{long:.3}}}"
        );
        (result, took)
    }
}

fn bullet(number: u32, life: f32) -> (Position, Velocity, Life) {
    let angle = number as f32 * 0.618_034;
    let direction = [angle.sin(), angle.cos(), (angle * 0.37).sin()];
    (Position([0.0; 3]), Velocity(direction), Life(life))
}

/// Fires so many bullets, in pieces, each from one recorder.
fn fire(
    commands: &ParallelCommands,
    frame: u32,
    bullets: u32,
    life: f32,
) -> Result<(), WorldError> {
    const PIECE: u32 = 2_048;
    let pieces = bullets.div_ceil(PIECE);
    (0..pieces).into_par_iter().try_for_each(|piece| {
        let mut commands = commands.open_at(u64::from(piece));
        for number in piece * PIECE..bullets.min((piece + 1) * PIECE) {
            commands.create(bullet(frame.wrapping_mul(bullets) + number, life))?;
        }
        Ok(())
    })
}

fn run(options: &Options) -> Result<Trace, Box<dyn std::error::Error>> {
    let mut world = World::new();
    let mut flying = Query::<(Entity, &mut Position, &Velocity, &mut Life)>::new(&world)?;
    let dt = 1.0 / FRAMES_A_SECOND as f32;
    let frames = options.seconds * FRAMES_A_SECOND;
    let per_frame = options.bullets / FRAMES_A_SECOND;
    let mut trace = Trace {
        begin: Instant::now(),
        events: String::new(),
    };
    let (mut flushes, mut firing) = (Vec::new(), Duration::ZERO);
    let (mut created, mut destroyed, mut near) = (0_usize, 0_usize, 0_usize);
    for frame in 0..frames {
        let commands = world.parallel_commands();
        // Some fire while others look.
        let ((fired, seen), took) = trace.time("fire and look", || {
            rayon::join(
                || fire(&commands, frame, per_frame, options.life),
                || {
                    let mut positions = world.read::<&Position, ()>()?;
                    let near = positions.iter().filter(|p| p.0[0].abs() < 0.05).count();
                    Ok::<usize, QueryError>(near)
                },
            )
        });
        fired?;
        near += seen?;
        firing += took;
        trace.time("fly", || {
            let fly =
                |chunk: ChunkView<'_>,
                 _rows: Range<usize>,
                 slices: (&[Entity], &mut [Position], &[Velocity], &mut [Life])| {
                    let (entities, positions, velocities, lives) = slices;
                    for (position, velocity) in positions.iter_mut().zip(velocities) {
                        for (at, by) in position.0.iter_mut().zip(velocity.0) {
                            *at += by * dt;
                        }
                    }
                    let mut commands = commands.open_at(chunk.sort_key());
                    for (&entity, life) in entities.iter().zip(lives) {
                        life.0 -= dt;
                        if life.0 <= 0.0 {
                            commands.destroy(entity);
                        }
                    }
                };
            flying.on(&mut world).par_for_each_slice(fly);
        });
        let (report, took) = trace.time("flush", || world.flush());
        if !report.is_clean() {
            return Err(format!("frame {frame}: {report:?}").into());
        }
        flushes.push(took);
        created += report.created;
        destroyed += report.destroyed;
    }
    flushes.sort_unstable();
    let wall = trace.begin.elapsed().as_secs_f64();
    let at = |part: f64| flushes[((flushes.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    let stats = world.universe().chunk_stats();
    println!(
        "{created} created and {destroyed} destroyed in {frames} frames, {wall:.2} s; {} alive; {near} seen near",
        world.count()
    );
    println!(
        "creates/s: {:.1} million while firing, {:.1} million over all",
        created as f64 / firing.as_secs_f64() / 1e6,
        created as f64 / wall / 1e6
    );
    println!(
        "flush: p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    println!(
        "memory: {:.1} MiB of chunks in use, {:.1} MiB committed",
        stats.in_use as f64 / 64.0,
        stats.committed_megachunks as f64
    );
    Ok(trace)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(options) = options()? else {
        println!("{HELP}");
        return Ok(());
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()?;
    let done = pool.install(|| run(&options).map_err(|error| error.to_string()));
    let trace = done?;
    if let Some(file) = &options.trace {
        let refused = |error| format!("{file}: {error}");
        let text = format!("{{\"traceEvents\":[\n{}\n]}}\n", trace.events);
        std::fs::write(file, text).map_err(refused)?;
        println!("trace: {file}");
    }
    Ok(())
}
