//! Saves of a program that lives for years: how they come to the disk, and what older ones become.

#![cfg(feature = "world")]

mod as_is;
mod beside;
mod menu;
mod only;
mod renamed;
mod together;
mod told;
mod tools;

use std::path::PathBuf;

use megachunk::prelude::*;
use megachunk::world::SnapshotOptions;

/// A path for a file of one test, which is removed in the end.
struct Path(PathBuf);

impl Path {
    fn new(test: &str) -> Self {
        let name = format!("megachunk-saves-{}-{test}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn bytes(world: &World) -> Vec<u8> {
    world.to_snapshot(&SnapshotOptions::new()).unwrap()
}
