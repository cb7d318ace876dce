//! Fuzzes the reader of snapshots: whatever the bytes are, it refuses them or makes a whole world, of which their summary
//! said before what it holds.
//!
//! What is done with a world that came out, and the world that inputs are made of, are those of the tests; see
//! `tests/support/snapshot_world.rs`. Checksums are not looked at under `cfg(fuzzing)`: who could guess them?
//!
//! Format of an input, and of the seeds in `corpus/snapshot_file`: a byte that says how the rest is meant. Odd:
//! it is the file. Even: a number of entities (modulo 40), then changes to the snapshot of a world with so many, or of
//! two worlds if 4 does not divide it, without the dead if it is 128 or more, and with values that closures write if it is
//! 4 to 7 modulo 8: three bytes each, where (two, little-endian, modulo the length) and what the byte becomes.

#![no_main]

#[path = "../../tests/support/snapshot_world.rs"]
mod snapshot_world;

use libfuzzer_sys::fuzz_target;
use megachunk::prelude::*;
use megachunk::world::SnapshotOptions;
use snapshot_world::{check, let_speak, small_world, small_worlds};

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, rest)) = bytes.split_first() else {
        return;
    };
    // A refusal is as good as a world: `check` panics at what is neither.
    let _ = if how % 2 == 1 {
        check(rest)
    } else {
        check(&changed(rest, how))
    };
});

fn changed(bytes: &[u8], how: u8) -> Vec<u8> {
    let (together, skip_dead, speak) = (how % 4 == 2, how >= 128, how & 4 != 0);
    let (&count, changes) = bytes.split_first().unwrap_or((&0, &[]));
    let (count, mut options) = (u32::from(count % 40), SnapshotOptions::new());
    if skip_dead {
        options = options.skip_dead();
    }
    let file = if together {
        let mut worlds = small_worlds(count);
        if speak {
            worlds.iter_mut().for_each(let_speak);
        }
        World::worlds_to_snapshot(&worlds.each_ref(), &options)
    } else {
        let (mut world, _) = small_world(count);
        if speak {
            let_speak(&mut world);
        }
        world.to_snapshot(&options)
    };
    let mut file = file.expect("all of it is plain, or written");
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
        let len = file.len();
        file[at % len] = change[2];
    }
    file
}
