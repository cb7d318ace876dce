//! What a check finds can be named by who has the index and the allocator alone.

use std::fmt::Write as _;

use megachunk::{EntityIndex, Flaw, FlawPlace, IntegrityError, MegachunkAllocator};

/// Flaws of the index itself, as a program of its own would tell of them.
fn of_the_index(flaws: &[Flaw]) -> impl Iterator<Item = &Flaw> {
    flaws
        .iter()
        .filter(|flaw| matches!(flaw.place(), FlawPlace::Index | FlawPlace::Slot(_)))
}

fn told(error: &IntegrityError) -> String {
    let mut text = String::new();
    for flaw in of_the_index(error.flaws()) {
        writeln!(text, "{flaw}").unwrap();
    }
    text
}

fn check(index: &EntityIndex, chunks: &MegachunkAllocator) -> Result<(), IntegrityError> {
    index.check()?;
    chunks.check()
}

#[test]
fn what_a_check_finds_is_named_without_worlds() {
    let (index, chunks) = (EntityIndex::new(), MegachunkAllocator::new());
    index.create().unwrap();
    assert_eq!(check(&index, &chunks).map_err(|error| told(&error)), Ok(()));
}
