//! Which threads a trace tells of, and by which names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use megachunk::prelude::*;
use megachunk::processor::Execution;
use megachunk::workers::{Job, with_workers};

use crate::teams::{Count, Fate, Odd, TEAM, Team};
use crate::{comes, numbers};

#[test]
fn a_trace_tells_the_threads_of_a_team_from_the_schedules_own() {
    let team = Team::of(2);
    let mut world = numbers(1);
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    side_by_side(&mut schedule, ["one", "other"]);
    schedule.start_trace();
    with_workers(team, || schedule.run(&mut world)).unwrap();
    let text = trace_of(&mut schedule);
    let (one, other) = threads_in(&text);
    assert_ne!(one, other);
    assert!([&one, &other].contains(&&"0".to_owned()));
    // Its row has the name that the program gave it.
    let row = if one == "0" { other } else { one };
    assert_eq!(name_of(&text, &row), Some(TEAM));
    assert_eq!(name_of(&text, "0"), Some("schedule"));
}

#[test]
fn a_helper_without_a_name_is_one_of_a_number_in_a_trace() {
    let starts = Odd::new(Count::Is(2), Fate::Kept, Ok(false));
    let (mut world, mut schedule) = (numbers(1), Schedule::new());
    schedule.set_execution(Execution::Beside);
    side_by_side(&mut schedule, ["one", "other"]);
    schedule.start_trace();
    thread::scope(|threads| {
        threads.spawn(|| {
            assert!(comes(|| !starts.kept.lock().unwrap().is_empty()));
            let job = starts.kept.lock().unwrap().pop();
            job.unwrap().run();
        });
        with_workers(starts.clone(), || schedule.run(&mut world)).unwrap();
    });
    // Rows of the pool's are those of the pool's still, also where both have worked.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    side_by_side(&mut schedule, ["third", "fourth"]);
    _ = pool.unwrap().install(|| schedule.run(&mut world)).unwrap();
    let text = trace_of(&mut schedule);
    let row = text
        .lines()
        .filter_map(|line| line.split_once("\"args\":{\"name\":\"helper "));
    let rows: Vec<&str> = row.map(|(_, number)| number).collect();
    let [row] = rows[..] else { panic!("{text}") };
    let number: u32 = row.split('"').next().unwrap().parse().unwrap();
    assert!(number >= 1, "{text}");
    assert!(text.contains("{\"name\":\"pool 0\"}"), "{text}");
}

/// Two processors, neither of which ends before the other has begun.
fn side_by_side(schedule: &mut Schedule, names: [&'static str; 2]) {
    let came = Arc::new(AtomicUsize::new(0));
    for name in names {
        let came = Arc::clone(&came);
        schedule.add(processor(name, move || {
            came.fetch_add(1, Ordering::Relaxed);
            assert!(comes(|| came.load(Ordering::Relaxed) >= 2), "side by side");
        }));
    }
}

/// The trace, as it is written.
fn trace_of(schedule: &mut Schedule) -> String {
    let mut text = Vec::new();
    schedule.take_trace().unwrap().write_to(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The name of a thread's row in it.
fn name_of<'t>(text: &'t str, thread: &str) -> Option<&'t str> {
    let is_its = format!("\"tid\":{thread},\"args\":");
    let row = text
        .lines()
        .find(|line| line.contains("thread_name") && line.contains(&is_its))?;
    let (_, name) = row.rsplit_once(":\"")?;
    name.split('"').next()
}

/// The numbers of the threads that they ran on, in the trace.
fn threads_of(schedule: &mut Schedule) -> (String, String) {
    threads_in(&trace_of(schedule))
}

fn threads_in(text: &str) -> (String, String) {
    let thread_of = |name: &str| {
        let event = text
            .lines()
            .find(|line| line.contains(&format!("\"name\":\"{name}\",\"cat\"")));
        let event = event.unwrap_or_else(|| panic!("{text}"));
        let (_, behind) = event.split_once("\"tid\":").unwrap();
        behind.split(',').next().unwrap().to_owned()
    };
    (thread_of("one"), thread_of("other"))
}

#[test]
fn a_trace_tells_two_threads_apart_that_both_have_workers() {
    let queue = Odd::new(Count::Is(2), Fate::Kept, Ok(false));
    let (mut world, mut schedule) = (numbers(1), Schedule::new());
    schedule.set_execution(Execution::Beside);
    side_by_side(&mut schedule, ["one", "other"]);
    schedule.start_trace();
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            with_workers(queue.clone(), || {
                while !over.load(Ordering::Relaxed) {
                    let job = queue.kept.lock().unwrap().pop();
                    job.map_or_else(thread::yield_now, Job::run);
                }
            });
        });
        let found = with_workers(queue.clone(), || schedule.run(&mut world));
        over.store(true, Ordering::Relaxed);
        found.unwrap();
    });
    let (one, other) = threads_of(&mut schedule);
    assert_ne!(one, other);
    assert!([one, other].contains(&"0".to_owned()));
}
