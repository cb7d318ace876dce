//! A particle store on 16 KiB chunks: a column per field, no copying when it grows.
//!
//!     cargo run --release --example chunk_arena
//!
//! Particles live in chunks of 1,024: four columns of four-byte numbers, 16 KiB. A store takes a chunk
//! when the last one is full and gives it back when it is empty; nothing moves, so a place stays valid
//! while it is used. Several stores, one a thread, share one allocator.

use std::error::Error;
use std::thread;

use megachunk::chunk::{ChunkError, Chunks, MegachunkAllocator};

const COLUMNS: usize = 4;
const PARTICLES: usize = megachunk::chunk::CHUNK_BYTES / (COLUMNS * size_of::<f32>());

/// Position and velocity, each a column of a chunk.
struct Block<'a> {
    chunk: Chunks<'a>,
    len: usize,
}

impl Block<'_> {
    /// The columns x, y, vx, vy; the first `len` of each are initialized.
    fn columns(&mut self) -> [&mut [f32]; COLUMNS] {
        let len = self.len;
        let mut rest = self.chunk.as_uninit();
        [(); COLUMNS].map(|()| {
            let (column, others) =
                std::mem::take(&mut rest).split_at_mut(PARTICLES * size_of::<f32>());
            rest = others;
            // SAFETY: a chunk is aligned to more than four bytes, and so are its columns, which are
            // disjoint; `push` has initialized the first `len` numbers of each.
            unsafe { std::slice::from_raw_parts_mut(column.as_mut_ptr().cast(), len) }
        })
    }

    fn push(&mut self, particle: [f32; COLUMNS]) {
        assert!(self.len < PARTICLES);
        let first = self.chunk.as_ptr().cast::<f32>();
        for (column, value) in particle.into_iter().enumerate() {
            // SAFETY: the chunk is this block's alone, and holds `COLUMNS * PARTICLES` numbers.
            unsafe { first.add(column * PARTICLES + self.len).write(value) };
        }
        self.len += 1;
    }
}

/// Particles of one thread.
struct Store<'a> {
    allocator: &'a MegachunkAllocator,
    blocks: Vec<Block<'a>>,
}

impl Store<'_> {
    fn spawn(&mut self, particle: [f32; COLUMNS]) -> Result<(), ChunkError> {
        match self.blocks.last_mut() {
            Some(block) if block.len < PARTICLES => block.push(particle),
            _ => {
                let chunk = self.allocator.allocate()?;
                let mut block = Block { chunk, len: 0 };
                block.push(particle);
                self.blocks.push(block);
            }
        }
        Ok(())
    }

    fn step(&mut self, dt: f32) {
        for block in &mut self.blocks {
            let [x, y, vx, vy] = block.columns();
            for (x, vx) in x.iter_mut().zip(vx) {
                *x += *vx * dt;
            }
            for (y, vy) in y.iter_mut().zip(vy) {
                *y += *vy * dt;
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let allocator = MegachunkAllocator::new();
    let threads = thread::available_parallelism()?.get();

    let heights = thread::scope(|scope| {
        let simulate = |seed: usize| {
            let mut store = Store {
                allocator: &allocator,
                blocks: Vec::new(),
            };
            for number in 0..100_000 {
                let speed = (number % 100 + seed) as f32 * 0.01;
                store.spawn([0.0, number as f32, speed, -speed])?;
            }
            for _ in 0..60 {
                store.step(1.0 / 60.0);
            }
            let sum: f64 = store
                .blocks
                .iter_mut()
                .flat_map(|block| block.columns()[1].to_vec())
                .map(f64::from)
                .sum();
            println!(
                "store {seed}: {} chunks, mean height {:.3}",
                store.blocks.len(),
                sum / 100_000.0
            );
            Ok::<f64, ChunkError>(sum)
            // The store ends here, and with it its chunks.
        };
        let stores: Vec<_> = (0..threads)
            .map(|seed| scope.spawn(move || simulate(seed)))
            .collect();
        let joined = stores.into_iter().map(|store| match store.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect::<Result<Vec<_>, _>>()
    })?;

    let stats = allocator.stats();
    println!(
        "{} stores done; {} chunks in use, {} MiB kept for the next",
        heights.len(),
        stats.in_use,
        stats.committed_megachunks
    );
    println!("given back on request: {} MiB", allocator.trim());
    assert_eq!(stats.in_use, 0);
    Ok(())
}
