//! The stall table: a thread stops for ever before a step of an operation; is anybody blocked?
//!
//! Prints a line for each allocator and operation,
//! `stall <allocator> <operation> points=<n> blocked=<m> steps=<s> helper-steps=<h>`,
//! and for each allocator `stall-total <entity|chunk|command> <allocator> points=<n> blocked=<m>`. The product must show 0; the references must not, or the test could not tell.
//! `MEGACHUNK_STALL_POINTS` sets how many freeze points an operation gets at most.
#![cfg(not(loom))]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use megachunk::chunk::MegachunkAllocator;
use megachunk::chunk::reference::{MegachunkDots, Naive as NaiveChunks};
use megachunk::entity::EntityIndex;
use megachunk::entity::reference::{BusyBlock, Naive};
use megachunk_loom_tests::say;
use megachunk_loom_tests::stall::{
    Chunks, Effort, Entities, Recorders, Row, Sending, Sessions, SparingChunks, Subject, sweep,
};

/// For what must not block: long, so that a busy machine is not taken for a blocked thread. It is
/// not waited for as long as nobody is blocked.
const PRODUCT: Effort = Effort {
    patience: Duration::from_secs(20),
    most_points: 400,
};
/// For what does block: waited for at each blocked point.
const REFERENCE: Effort = Effort {
    patience: Duration::from_millis(100),
    most_points: 12,
};

/// Sweeps all operations of an allocator and prints the table.
fn table<S: Subject>(effort: Effort) -> Vec<Row> {
    // One table at a time: what is frozen in one must not wait for a processor because of another.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _only = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let most_points = std::env::var("MEGACHUNK_STALL_POINTS")
        .map_or(effort.most_points, |points| {
            points.parse().expect("a number of freeze points")
        });
    let effort = Effort {
        most_points,
        ..effort
    };
    let rows: Vec<Row> = S::scenarios()
        .iter()
        .map(|scenario| {
            let row = sweep(scenario, effort);
            say(&row.to_string());
            row
        })
        .collect();
    say(&format!(
        "stall-total {} {} points={} blocked={}",
        S::ROOM,
        S::NAME,
        rows.iter().map(|row| row.points).sum::<u64>(),
        blocked(&rows),
    ));
    rows
}

fn blocked(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.blocked).sum()
}

#[test]
fn a_thread_that_stops_in_the_entity_index_blocks_nobody() {
    assert_eq!(blocked(&table::<Entities<EntityIndex>>(PRODUCT)), 0);
}

#[test]
fn a_thread_that_stops_in_a_session_blocks_nobody() {
    assert_eq!(blocked(&table::<Sessions>(PRODUCT)), 0);
}

#[test]
fn a_thread_that_stops_while_it_records_blocks_nobody() {
    assert_eq!(blocked(&table::<Recorders>(PRODUCT)), 0);
}

#[test]
fn a_thread_that_stops_in_busy_block_blocks_others() {
    assert_ne!(blocked(&table::<Entities<BusyBlock>>(REFERENCE)), 0);
}

#[test]
fn a_thread_that_stops_in_naive_entities_blocks_others() {
    assert_ne!(blocked(&table::<Entities<Naive>>(REFERENCE)), 0);
}

#[test]
fn a_thread_that_stops_in_naive_chunks_blocks_others() {
    assert_ne!(blocked(&table::<Chunks<NaiveChunks>>(REFERENCE)), 0);
}

#[test]
fn a_thread_that_stops_in_megachunk_dots_blocks_nobody() {
    // The published mask algorithm is lock-free, for all its other faults.
    assert_eq!(blocked(&table::<Chunks<MegachunkDots>>(PRODUCT)), 0);
}

#[test]
fn a_thread_that_stops_in_the_megachunk_allocator_blocks_nobody() {
    assert_eq!(blocked(&table::<Chunks<MegachunkAllocator>>(PRODUCT)), 0);
}

#[test]
fn a_thread_that_stops_while_it_gives_memory_back_blocks_nobody() {
    assert_eq!(blocked(&table::<SparingChunks>(PRODUCT)), 0);
}

#[test]
fn a_thread_that_stops_in_sending_a_signal_blocks_nobody() {
    assert_eq!(blocked(&table::<Sending>(PRODUCT)), 0);
}
