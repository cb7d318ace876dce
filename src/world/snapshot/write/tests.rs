//! How often the system is called to write.

use std::io::{self, Cursor, Seek, SeekFrom, Write};

use super::*;
use crate::fragment::{Bundle, ConstShared, PerChunk};

/// A file that counts the calls that write to it.
struct Counted {
    file: Cursor<Vec<u8>>,
    writes: usize,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A world of many small chunks, with something of each role.
fn world() -> World {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_plain::<u32>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry.register_enableable::<u64>().unwrap();
    registry.register_plain::<ConstShared<u16>>().unwrap();
    registry.register_plain::<PerChunk<i64>>().unwrap();
    for team in 0..500_u16 {
        let one = world.create((7_u32, u64::from(team)).const_shared(team));
        let one = one.unwrap();
        world.set_enabled::<u64>(one, team % 2 == 0).unwrap();
    }
    let _ = world.create_batch((0..9_000_u32).map(|n| (n,))).unwrap();
    world.create((3_u32,).per_chunk(5_i64)).unwrap();
    world
}

#[test]
fn the_system_is_not_called_for_each_column_of_each_chunk() {
    let world = world();
    let options = SnapshotOptions::new();
    let snapshot = Snapshot::of(&[&world], &options).unwrap();
    let mut file = Counted {
        file: Cursor::new(Vec::new()),
        writes: 0,
    };
    snapshot.write(&mut file).unwrap();
    let expected = world.to_snapshot(&options).unwrap();
    assert_eq!(file.file.into_inner(), expected);
    let most = 4 + 2 * expected.len() / BUFFER;
    assert!(file.writes <= most, "{} of {most}", file.writes);
}
