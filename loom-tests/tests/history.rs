//! The history check: random concurrent histories are linearizable, slot by slot.
//!
//! Prints `histories <allocator> checked=<n> seed=<s>`. `MEGACHUNK_HISTORIES` sets how many (10,000
//! by default). A failure prints the whole history and its seed; with `MEGACHUNK_HISTORY_SEED` set
//! to it, the program of that seed alone is run so often. (The seed decides the program, not the
//! interleaving; most failing programs fail again within a few hundred runs.)
#![cfg(not(loom))]

use std::time::{SystemTime, UNIX_EPOCH};

use megachunk::entity::reference::{BusyBlock, Naive};
use megachunk::entity::{EntityAllocator, EntityIndex};
use megachunk_loom_tests::history::{Allocators, Event, Program, Record, Violation, check};
use megachunk_loom_tests::say;

/// Which programs a run runs.
struct Plan {
    histories: u64,
    first_seed: u64,
    /// One program, again and again.
    repeat: bool,
}

impl Plan {
    fn from_environment(histories: u64) -> Self {
        let number = |name: &str| {
            let value = std::env::var(name).ok()?;
            Some(
                value
                    .parse()
                    .unwrap_or_else(|_| panic!("{name} is a number, not `{value}`")),
            )
        };
        let seed = number("MEGACHUNK_HISTORY_SEED");
        let clock = || {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .expect("the clock is set");
            u64::from(now.subsec_nanos()) << 32 ^ now.as_secs()
        };
        Self {
            histories: number("MEGACHUNK_HISTORIES").unwrap_or(histories),
            first_seed: seed.unwrap_or_else(clock),
            repeat: seed.is_some(),
        }
    }

    /// Runs the plan's programs; the first violation that is `wanted`, in words.
    fn first_violation<A: EntityAllocator>(
        &self,
        wanted: impl Fn(&Violation) -> bool,
    ) -> Option<String> {
        let mut allocators = Allocators::<A>::default();
        for number in 0..self.histories {
            let repeated = if self.repeat { 0 } else { number };
            let seed = self.first_seed.wrapping_add(repeated);
            let records = allocators.run(&Program::random(seed));
            if let Err(violation) = check(&records)
                && wanted(&violation)
            {
                return Some(format!(
                    "{}, history {number}, MEGACHUNK_HISTORY_SEED={seed}\n\
                     {violation}whole history:\n{}",
                    A::NAME,
                    in_order(records),
                ));
            }
        }
        None
    }

    /// All of the plan's programs run linearizably.
    fn expect_none<A: EntityAllocator>(&self) {
        if let Some(violation) = self.first_violation::<A>(|_| true) {
            panic!("{violation}");
        }
        let (name, histories, seed) = (A::NAME, self.histories, self.first_seed);
        say(&format!("histories {name} checked={histories} seed={seed}"));
    }
}

fn in_order(mut records: Vec<Record>) -> String {
    records.sort_by_key(|record| record.call);
    records
        .iter()
        .map(|record| format!("  {record}\n"))
        .collect()
}

#[test]
fn histories_of_the_entity_index_are_linearizable() {
    Plan::from_environment(10_000).expect_none::<EntityIndex>();
}

#[test]
fn histories_of_naive_are_linearizable() {
    Plan::from_environment(2_000).expect_none::<Naive>();
}

#[test]
fn the_check_finds_that_busy_block_locates_stale_handles() {
    let located = |violation: &Violation| {
        let located = |record: &Record| matches!(record.event, Event::Locate(Ok(_)));
        violation.records.iter().any(located)
    };
    Plan::from_environment(10_000)
        .first_violation::<BusyBlock>(located)
        .expect("the published algorithm checks the bitmap and not the version");
    say("histories busy_block violation=found (a stale handle is located, as published)");
}
