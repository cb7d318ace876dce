//! Saved entities that come back where ids run out.

use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::prelude::*;
use megachunk::world::SnapshotError;

use crate::fill;

#[test]
#[ignore = "fills the index: 1.2 GB"]
fn a_snapshot_that_finds_too_few_ids_leaves_none_taken() {
    let mut herd = World::new();
    herd.registry().register_plain::<u32>().unwrap();
    let _ = herd.create_batch((0..900_u32).map(|n| (n,))).unwrap();
    let saved = herd.to_snapshot(&Default::default()).unwrap();
    for universe in [Universe::new(), Universe::ordered()] {
        universe.registry().register_plain::<u32>().unwrap();
        let universe = Arc::new(universe);
        let mut last = fill(&universe);
        let world = World::of(&universe).unwrap();
        for left in [0, 299, 899, 900, 901] {
            for entity in last.drain(..left) {
                world.release(entity).unwrap();
            }
            let come = World::from_snapshot_remapped(
                &saved,
                &universe,
                &EntityMap::default(),
                &Default::default(),
            );
            match come {
                Ok((come, entities)) => {
                    assert!(left >= 900);
                    assert_eq!((come.count(), entities.len()), (900, 900));
                }
                Err(error) => {
                    assert!(left < 900);
                    assert!(matches!(error, SnapshotError::World(WorldError::Full(_))));
                }
            }
            assert_eq!(universe.chunk_stats().in_use, 0);
            // They are there still: as many as before can be had.
            let mut again = vec![Entity::PLACEHOLDER; left];
            universe.reserve_slice(&mut again).unwrap();
            assert!(universe.reserve().is_err());
            last.extend(again);
        }
    }
}
