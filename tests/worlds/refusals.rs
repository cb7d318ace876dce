//! Calls of a world that make no sense, and panic before anything has changed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use megachunk::prelude::*;

#[test]
fn a_chunk_has_one_to_sixty_four_times_16_kib() {
    for (chunks, bytes) in [(1, 16 << 10), (64, 1 << 20)] {
        let mut world = World::new();
        world.set_chunk_size(chunks);
        for refused in [0, 65, usize::MAX] {
            let call = catch_unwind(AssertUnwindSafe(|| world.set_chunk_size(refused)));
            let panic = call.unwrap_err();
            let said = panic.downcast_ref::<String>().unwrap();
            assert!(said.ends_with(&format!("not {refused}")), "{said}");
        }
        world.create((1_u8,)).unwrap();
        assert_eq!(world.stats().chunk_bytes, bytes);
        world.check().unwrap();
    }
}
