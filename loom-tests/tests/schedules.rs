//! Whole worlds, under schedules of shuttle's choice: see `schedules` in the package's library.
#![cfg(shuttle)]

use megachunk_loom_tests::schedules::worlds::MODELS;
use megachunk_loom_tests::schedules::{explore, explore_twice};

/// Explores the model of this name.
fn model(name: &str) {
    let (name, body) = MODELS.iter().find(|(known, _)| *known == name).unwrap();
    explore(name, *body);
}

#[test]
fn recorders_leave_the_same_world_whoever_is_first() {
    model("recorders_leave_the_same_world_whoever_is_first");
}

#[test]
fn what_is_recorded_beside_flushes_joins_the_world_once() {
    model("what_is_recorded_beside_flushes_joins_the_world_once");
}

#[test]
fn threads_that_end_leave_nothing_behind() {
    model("threads_that_end_leave_nothing_behind");
}

#[test]
fn threads_that_end_give_their_ids_back() {
    model("threads_that_end_give_their_ids_back");
}

#[test]
fn what_is_recorded_as_a_world_ends_is_gone_while_others_could_record() {
    model("what_is_recorded_as_a_world_ends_is_gone_while_others_could_record");
}

#[test]
fn a_flush_that_threads_share_leaves_the_same_world() {
    model("a_flush_that_threads_share_leaves_the_same_world");
}

#[test]
fn a_schedule_side_by_side_whose_jobs_are_late_or_dropped() {
    model("a_schedule_side_by_side_whose_jobs_are_late_or_dropped");
}

#[test]
fn a_tree_of_asks_with_loops_within_and_a_panic_does_each_row_once() {
    model("a_tree_of_asks_with_loops_within_and_a_panic_does_each_row_once");
}

#[test]
fn a_schedule_can_be_run_again() {
    for (name, body) in MODELS {
        explore_twice(name, body);
    }
}
