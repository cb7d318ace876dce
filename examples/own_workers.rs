//! An engine's own threads: a small job system does the library's parallel work, and the engine's own jobs beside it.
//!
//!     cargo run --release --example own_workers
//!
//! No pool of rayon's is made for the frames: whatever the library shares out becomes jobs in the engine's queue. (A second world,
//! to compare with, goes without the engine.)

use std::collections::VecDeque;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use megachunk::prelude::*;
use megachunk::workers::{Job, Workers, with_workers};

const FRAMES: u32 = 60;
const SPARKS: u32 = 200_000;

/// What the engine's threads have to do.
enum Task {
    /// Something of the engine's: a sound to mix, a file to unpack.
    Own(Box<dyn FnOnce() + Send>),
    /// A part of the library's parallel work.
    Help(Job),
}

impl Task {
    fn run(self) {
        match self {
            Self::Own(task) => task(),
            // If all is done already, it is back at once.
            Self::Help(job) => job.run(),
        }
    }
}

#[derive(Default)]
struct Queue {
    /// The tasks, and whether more may come.
    tasks: Mutex<(VecDeque<Task>, bool)>,
    comes: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<Task>, bool)> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, task: Task) {
        self.lock().0.push_back(task);
        self.comes.notify_one();
    }

    /// What a thread of the engine does as long as there is one.
    fn serve(&self) {
        let mut tasks = self.lock();
        loop {
            if let Some(task) = tasks.0.pop_front() {
                drop(tasks);
                task.run();
                tasks = self.lock();
            } else if tasks.1 {
                return;
            } else {
                tasks = self
                    .comes
                    .wait(tasks)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// The job system: the thread that has made it, and some more.
struct Engine {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    /// Parts of the library's work that it was given.
    given: AtomicUsize,
}

impl Engine {
    fn start() -> Result<Self, std::io::Error> {
        let queue = Arc::new(Queue::default());
        let others = thread::available_parallelism().map_or(1, |all| (all.get() - 1).max(1));
        let start = |number| {
            let queue = Arc::clone(&queue);
            let thread = thread::Builder::new().name(format!("engine {number}"));
            thread.spawn(move || queue.serve())
        };
        let threads = (1..=others).map(start).collect::<Result<_, _>>()?;
        Ok(Self {
            queue,
            threads,
            given: AtomicUsize::new(0),
        })
    }

    /// Does something when a thread has time.
    fn later(&self, task: impl FnOnce() + Send + 'static) {
        self.queue.put(Task::Own(Box::new(task)));
    }
}

/// The whole of the seam: how many there are, where jobs go, and what a thread does that waits.
impl Workers for Engine {
    fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    fn spawn(&self, job: Job) {
        self.given.fetch_add(1, Ordering::Relaxed);
        self.queue.put(Task::Help(job));
    }

    /// While it waits for a helper, this thread helps others. Nothing of the engine's own: a file to unpack would hold up the
    /// frame.
    fn yield_now(&self) -> bool {
        let job = {
            let tasks = &mut self.queue.lock().0;
            match tasks.front() {
                Some(Task::Help(_)) => tasks.pop_front(),
                _ => None,
            }
        };
        job.map(Task::run).is_some()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.queue.lock().1 = true;
        self.queue.comes.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}

struct Position([f32; 2]);
struct Velocity([f32; 2]);
struct Heat(f32);

fn sparks() -> Schedule {
    let mut schedule = Schedule::new();
    schedule
        .add(processor(
            "fall",
            |mut all: QueryRun<'_, (&mut Position, &mut Velocity)>| {
                all.par_for_each(|(Position([x, y]), Velocity([by, down]))| {
                    *down -= 0.01;
                    (*x, *y) = (*x + *by, *y + *down);
                });
            },
        ))
        .add(processor("cool", |mut all: QueryRun<'_, &mut Heat>| {
            all.par_for_each(|heat| heat.0 *= 0.97);
        }))
        .add(
            processor(
                "die",
                |mut all: QueryRun<'_, (Entity, &Heat)>, commands: ParallelCommands| {
                    all.par_for_each_init(
                        |chunk| commands.open_at(chunk.sort_key()),
                        |commands, (spark, heat)| {
                            if heat.0 < 0.2 {
                                commands.destroy(spark);
                            }
                        },
                    );
                },
            )
            .after("cool"),
        );
    schedule
}

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Arc::new(Engine::start()?);
    let mixed = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let spark = |n: u32| {
        let angle = n as f32 * 0.618;
        let way = Velocity([angle.sin() * 0.1, angle.cos() * 0.1]);
        (Position([0.0; 2]), way, Heat(0.3 + angle.fract()))
    };
    let _ = world.create_batch((0..SPARKS).map(spark))?;
    let mut schedule = sparks();

    let began = std::time::Instant::now();
    for _ in 0..FRAMES {
        // The engine's own work goes through the same threads, in between.
        let mixed = Arc::clone(&mixed);
        engine.later(move || _ = mixed.fetch_add(1, Ordering::Relaxed));
        // This thread asks the engine's for help as long as the closure runs, and so do they while they help.
        with_workers(engine.clone(), || schedule.run(&mut world))?;
    }
    println!(
        "{FRAMES} frames in {:.1?}, {} of {SPARKS} sparks are left; {} jobs for {} threads beside this one",
        began.elapsed(),
        world.count(),
        engine.given.load(Ordering::Relaxed),
        engine.threads.len()
    );
    // Whoever has helped, how many are left is the same.
    let mut alone = World::new();
    let _ = alone.create_batch((0..SPARKS).map(spark))?;
    let mut schedule = sparks();
    for _ in 0..FRAMES {
        schedule.run(&mut alone)?;
    }
    assert_eq!(world.count(), alone.count());
    drop(engine);
    assert_eq!(mixed.load(Ordering::Relaxed), FRAMES as usize);
    Ok(())
}
