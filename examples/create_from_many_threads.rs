//! Creating and destroying from every core at once, with nobody in charge.
//!
//!     cargo run --release --example create_from_many_threads
//!
//! Each worker spawns sparks in batches and lets three quarters of them go out; the survivors are
//! handed to a collector, which destroys them while the workers go on. No phase, no sync point: an
//! id that one thread freed is another's a moment later.

use std::error::Error;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use megachunk::entity::{Entity, EntityIndex};

const BATCHES: usize = 2_000;
const BATCH: usize = 512;
const SURVIVORS: usize = BATCH / 4;

fn main() -> Result<(), Box<dyn Error>> {
    let workers = thread::available_parallelism()?.get();
    let index = EntityIndex::new();
    let (sender, receiver) = mpsc::channel::<Vec<Entity>>();
    let start = Instant::now();

    let collected = thread::scope(|scope| {
        for _ in 0..workers {
            let sender = sender.clone();
            let index = &index;
            scope.spawn(move || spawn_sparks(index, &sender));
        }
        // The workers have the senders now: the channel ends when they do.
        drop(sender);
        let mut collected = 0;
        for survivors in receiver {
            collected += index.destroy_slice(&survivors).into_result()?;
        }
        Ok::<_, Box<dyn Error>>(collected)
    })?;

    let created = workers * BATCHES * BATCH;
    println!("{workers} workers created {created} entities and destroyed most of them;");
    println!("the collector destroyed the other {collected}.");
    println!(
        "{:.1} ns per entity, {} alive, {} of 16,384 blocks used.",
        start.elapsed().as_secs_f64() * 1e9 / created as f64,
        index.count(),
        index.blocks(),
    );
    assert_eq!(collected, workers * BATCHES * SURVIVORS);
    assert_eq!(index.count(), 0);
    Ok(())
}

/// One worker: spawns batch after batch, and sends the survivors of each on.
fn spawn_sparks(index: &EntityIndex, sender: &mpsc::Sender<Vec<Entity>>) {
    let mut sparks = [Entity::PLACEHOLDER; BATCH];
    for _ in 0..BATCHES {
        index
            .create_slice(&mut sparks)
            .expect("an index has room for 134 million");
        let (survivors, gone) = sparks.split_at(SURVIVORS);
        assert!(index.destroy_slice(gone).is_clean());
        sender
            .send(survivors.to_vec())
            .expect("the collector listens until the last worker ends");
    }
}
