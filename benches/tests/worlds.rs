//! Every peer does what the workloads on worlds ask, on one thread and on two.
#![cfg(feature = "peers")]

use megachunk::cli::measure::{Pool, repeat_once};
use megachunk::cli::workload::ecs::{EcsWorkload, Size};

#[test]
fn every_peer_gets_through_every_workload_on_worlds() {
    let registry = megachunk_benches::registry();
    let pool = Pool::start(2).unwrap();
    for workload in EcsWorkload::ALL {
        let rows = workload.rows();
        for entrant in registry.worlds(workload) {
            let runs = |n: &usize| workload.runs_on(*n) && entrant.is_admitted(workload, *n);
            for threads in [1, 2].into_iter().filter(runs) {
                let subject = match entrant.set_up(workload, threads, Size::Small) {
                    Ok(subject) => subject,
                    Err(unsupported) => {
                        // Which call it is does not matter to a loop by hand.
                        let only = ("limit", "schedule_from_main");
                        assert_eq!((entrant.name(), &*rows[0]), only, "{unsupported}");
                        continue;
                    }
                };
                // The second repetition finds what the first left.
                for _ in 0..2 {
                    let totals = repeat_once(&pool, threads, rows.len(), &subject, 1);
                    let totals = totals
                        .unwrap_or_else(|panic| panic!("{}, {}: {panic}", entrant.name(), rows[0]));
                    assert!(totals.iter().all(|total| total.operations > 0));
                }
            }
        }
    }
}
