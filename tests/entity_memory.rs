//! What an entity index costs: memory only where it is used. One test, so that nothing else in the
//! process takes memory meanwhile.

#![cfg(target_os = "linux")]

#[path = "support/resident.rs"]
mod resident;

use megachunk::entity::{EntityIndex, IndexOptions};

use resident::{advice_of_mappings, resident};

/// Bytes of all slots.
const SLOTS: usize = 1 << 30;

#[test]
fn an_empty_index_costs_next_to_nothing_and_a_block_what_it_holds() {
    // Whatever the first index loads or allocates once is not the index's.
    drop(EntityIndex::new());
    drop(IndexOptions::new().huge_pages(false).build());
    resident();

    let before = resident();
    let index = IndexOptions::new().huge_pages(false).build().unwrap();
    let empty = resident().saturating_sub(before);
    assert!(empty < 64 << 10, "an empty index costs {empty} bytes");

    // Where the system gives huge pages unasked, the first entity would cost one of each table.
    if let Some(advice) = advice_of_mappings(SLOTS) {
        assert_eq!(advice, [Some(false)]);
        let huge = IndexOptions::new().build().unwrap();
        let advice = advice_of_mappings(SLOTS).unwrap();
        assert_eq!(advice.iter().filter(|one| **one == Some(true)).count(), 1);
        drop(huge);
    }

    let entity = index.create().unwrap();
    let one = resident().saturating_sub(before);
    assert!(
        one < 256 << 10,
        "an index with one entity costs {one} bytes"
    );

    let mut entities = Vec::with_capacity(1_000_000);
    let before = resident();
    index.create_into(&mut entities, 1_000_000).unwrap();
    let million = resident().saturating_sub(before + entities.capacity() * 8);
    assert!(
        million < 9_500_000,
        "a million entities cost {million} bytes"
    );
    assert!(index.exists(entity));

    // Without pages in advance an entity costs those that it touches: one of slots, instead of all 16 of its block.
    let one_in = |options: IndexOptions| {
        let index = options.huge_pages(false).build().unwrap();
        let before = resident();
        index.create().unwrap();
        resident().saturating_sub(before)
    };
    let in_advance = one_in(IndexOptions::new());
    let singly = one_in(IndexOptions::new().populate(false));
    // (Where the system refuses, or its pages are as large, there is no difference.)
    if in_advance >= 64 << 10 {
        assert!(
            singly + (48 << 10) < in_advance,
            "{singly} bytes singly, {in_advance} in advance"
        );
    }
}
