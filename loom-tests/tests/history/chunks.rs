//! Histories of chunk allocators are what their documentation allows.

use megachunk::chunk::MegachunkAllocator;
use megachunk::chunk::reference::{MegachunkDots, Naive};
use megachunk_loom_tests::history::chunks::{Histories, Program, Sparing, Subject};

use crate::Plan;

/// The product takes two milliseconds for each.
const PRODUCT: u64 = 4;
const REFERENCE: u64 = 20;

fn expect_none<S: Subject>(one_in: u64) {
    let mut allocators = Histories::<S>::default();
    let plan = Plan::from_environment(10_000).one_in(one_in);
    plan.expect_none(S::NAME, "chunks", |seed| {
        let violation = allocators.run(&Program::random(seed)).err()?;
        Some(violation.to_string())
    });
}

#[test]
fn histories_of_a_nearly_full_megachunk_allocator_are_explained() {
    expect_none::<MegachunkAllocator>(PRODUCT);
}

#[test]
fn histories_of_an_allocator_that_gives_memory_back_are_explained() {
    expect_none::<Sparing>(PRODUCT);
}

#[test]
fn histories_of_naive_chunks_are_explained() {
    expect_none::<Naive>(REFERENCE);
}

#[test]
fn histories_of_megachunk_dots_are_explained() {
    expect_none::<MegachunkDots>(REFERENCE);
}
