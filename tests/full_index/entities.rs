//! The index alone: who asks for more than there are gets none, and loses none.

use megachunk::entity::reference::Naive;
use megachunk::entity::{Entity, EntityAllocator, EntityIndex, Full};

fn more_than_there_are_creates_none<A: EntityAllocator>() {
    let allocator = A::fresh();
    let one = allocator.create().unwrap();
    let len = allocator.capacity();
    let mut out = vec![Entity::PLACEHOLDER; len];

    assert_eq!(
        allocator.create_slice(&mut out),
        Err(Full { capacity: len })
    );

    assert_eq!(allocator.count(), 1);
    assert_eq!(allocator.destroy(one), Ok(()));
    assert_eq!(allocator.create_slice(&mut out[1..]), Ok(()));
    assert_eq!(allocator.count(), len - 1);
    assert!(out[1..].iter().all(|&entity| allocator.exists(entity)));
}

// Not for `busy_block`: it loses the ids of the call that fails (fault 4).
#[test]
#[ignore = "fills all 134,217,728 slots: 3 GiB of memory, and slow without optimisation"]
fn naive_more_than_there_are_creates_none() {
    more_than_there_are_creates_none::<Naive>();
}

#[test]
#[ignore = "fills all 134,217,728 slots: 3 GiB of memory, and slow without optimisation"]
fn bitmask_more_than_there_are_creates_none() {
    more_than_there_are_creates_none::<EntityIndex>();
}

#[test]
#[ignore = "a slice of 134,217,729 handles: 1 GiB of memory"]
fn a_slice_for_more_than_there_are_takes_none_of_an_ordered_universe() {
    let universe = megachunk::world::Universe::ordered();
    let capacity = EntityIndex::CAPACITY;
    let guess = universe.reserve().unwrap();
    let mut out = vec![guess; capacity + 1];
    assert_eq!(universe.reserve_slice(&mut out), Err(Full { capacity }));
    assert!(out.iter().all(|&one| one == Entity::PLACEHOLDER));
    assert_eq!(universe.count(), 1);
    let next = universe.reserve().unwrap();
    assert_eq!((next.index(), next.version()), (guess.index() + 1, 1));
}
