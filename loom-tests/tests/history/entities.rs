//! Histories of entity allocators are linearizable, slot by slot.

use megachunk::entity::reference::{BusyBlock, Naive};
use megachunk::entity::{EntityAllocator, EntityIndex};
use megachunk_loom_tests::history::{Allocators, Event, Program, Record, Violation, check};
use megachunk_loom_tests::say;

use crate::Plan;

/// What no order explains in the history of a seed, in words, if it is `wanted`.
fn violations<A: EntityAllocator>(
    wanted: impl Fn(&Violation) -> bool,
) -> impl FnMut(u64) -> Option<String> {
    let mut allocators = Allocators::<A>::default();
    move |seed| {
        let records = allocators.run(&Program::random(seed));
        let violation = check(&records).err().filter(&wanted)?;
        Some(format!("{violation}whole history:\n{}", in_order(records)))
    }
}

fn in_order(mut records: Vec<Record>) -> String {
    records.sort_by_key(|record| record.call);
    records
        .iter()
        .map(|record| format!("  {record}\n"))
        .collect()
}

fn expect_none<A: EntityAllocator>(histories: u64) {
    Plan::from_environment(histories).expect_none(A::NAME, "entities", violations::<A>(|_| true));
}

#[test]
fn histories_of_the_entity_index_are_linearizable() {
    expect_none::<EntityIndex>(10_000);
}

#[test]
fn histories_of_naive_are_linearizable() {
    expect_none::<Naive>(2_000);
}

#[test]
fn the_check_finds_that_busy_block_locates_stale_handles() {
    let located = |violation: &Violation| {
        let located = |record: &Record| matches!(record.event, Event::Locate(Ok(_)));
        violation.records.iter().any(located)
    };
    Plan::until_found()
        .first_violation(BusyBlock::NAME, violations::<BusyBlock>(located))
        .expect("the published algorithm checks the bitmap and not the version");
    say("histories busy_block violation=found (a stale handle is located, as published)");
}
