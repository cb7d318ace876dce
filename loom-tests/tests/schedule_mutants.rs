//! Faults that the schedules find: each in a process of its own, because a fault is chosen before any model runs.
#![cfg(shuttle)]

use std::process::Command;

use megachunk_loom_tests::say;
use megachunk_loom_tests::schedules::explore;
use megachunk_loom_tests::schedules::worlds::MODELS;

/// Mutant, the model that finds it.
const KILLED: [(&str, &str); 8] = [
    (
        "bag_reads_then_writes",
        "a_schedule_side_by_side_whose_jobs_are_late_or_dropped",
    ),
    (
        "claim_takes_all",
        "recorders_leave_the_same_world_whoever_is_first",
    ),
    (
        "end_asked_before_giving_back",
        "what_is_recorded_as_a_world_ends_is_gone_while_others_could_record",
    ),
    (
        "flush_forgets_magazine",
        "threads_that_end_give_their_ids_back",
    ),
    (
        "helpers_panic_is_lost",
        "a_tree_of_asks_with_loops_within_and_a_panic_does_each_row_once",
    ),
    (
        "pool_give_blindly",
        "what_is_recorded_beside_flushes_joins_the_world_once",
    ),
    (
        "roster_no_second_look",
        "recorders_leave_the_same_world_whoever_is_first",
    ),
    (
        "shares_read_then_write",
        "a_flush_that_threads_share_leaves_the_same_world",
    ),
];

/// The name of the test that a process of its own runs.
const CHILD: &str = "the_model_that_is_named";

/// Schedules of each kind that a model is run under without a mutant, to see that it runs.
const FEW: &str = "50";

/// What became of a model with a mutant or without: whether it held, and what it said.
fn run(model: &str, mutant: Option<&str>) -> (bool, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        // (A flush that finds a fault in itself ends the process: what is captured is lost then.)
        .args(["--ignored", "--exact", CHILD, "--nocapture"])
        .env("MEGACHUNK_MODEL", model)
        .env_remove("MEGACHUNK_MUTANT")
        .env_remove("MEGACHUNK_SCHEDULE");
    match mutant {
        Some(mutant) => child.env("MEGACHUNK_MUTANT", mutant),
        None => child.env("MEGACHUNK_SCHEDULES", FEW),
    };
    let output = child.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output.status.success(), said)
}

#[test]
fn schedules_find_these_faults() {
    let mut survived = Vec::new();
    for (mutant, model) in KILLED {
        let (held, said) = run(model, None);
        assert!(held && said.contains("bound=random"), "{model}: {said}");
        let (held, said) = run(model, Some(mutant));
        assert!(!said.contains("names no mutant"), "{said}");
        let mut lines = said
            .lines()
            .skip_while(|line| !line.contains(" panicked at "));
        let why = lines.nth(1).unwrap_or("no words").trim();
        if held {
            say(&format!("mutant {mutant} SURVIVED"));
            survived.push(mutant);
        } else {
            say(&format!(
                "mutant {mutant} killed by schedules::{model} ({why})"
            ));
        }
    }
    assert!(survived.is_empty(), "no schedule finds {survived:?}");
}

#[test]
#[ignore = "run by the other test, which says what is to be run"]
fn the_model_that_is_named() {
    let wanted = std::env::var("MEGACHUNK_MODEL").expect("a model's name");
    let (name, body) = MODELS.iter().find(|(name, _)| *name == wanted).unwrap();
    explore(name, *body);
}
