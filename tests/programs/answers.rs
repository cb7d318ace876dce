//! The workloads of `bench`, run for their answers and not for their times. (First of these tests by name, because some
//! of them take longest.)
//!
//! * every contender gets through every workload that admits it, on one thread and on two;
//! * what was timed is what the workload's rows say;
//! * a contender that answers wrongly is found out.

use std::sync::Arc;

use megachunk::cli::measure::{Pool, Span, Subject, WorkerPanic, repeat_once};
use megachunk::cli::workload::Registry;
use megachunk::cli::workload::chunk::ChunkWorkload;
use megachunk::cli::workload::ecs::{EcsWorkload, Size};
use megachunk::cli::workload::id::{Abilities, IdContender, IdSession, IdWorkload, rehearsal};
use megachunk::trace::Trace;

/// Two repetitions, of which the second finds what the first left.
fn run(pool: &Pool<Vec<Span>>, threads: usize, rows: usize, subject: &Arc<dyn Subject>) {
    for _ in 0..2 {
        run_once(pool, threads, rows, subject);
    }
}

fn run_once(pool: &Pool<Vec<Span>>, threads: usize, rows: usize, subject: &Arc<dyn Subject>) {
    let totals = repeat_once(pool, threads, rows, subject, 1);
    let totals = totals.unwrap_or_else(|panic| panic!("{panic}"));
    assert!(
        totals.iter().all(|total| total.operations > 0),
        "every row has its operations"
    );
}

/// Seconds in an unoptimised build.
fn is_long(workload: IdWorkload, contender: &str) -> bool {
    let by_nature = matches!(workload, IdWorkload::NearFull | IdWorkload::Stall)
        || matches!(workload, IdWorkload::Scale(live) if live > 10_000);
    // Each create walks over a hundred full blocks.
    let published = matches!(
        workload,
        IdWorkload::ChurnSingle
            | IdWorkload::ChurnEights
            | IdWorkload::Replace(_)
            | IdWorkload::ReserveMillion
            | IdWorkload::PairMillion
    );
    by_nature || published && contender == "busy_block"
}

/// A tenth of a second and more in an unoptimised build: once, on two threads. What a second
/// repetition finds, the small ones show.
fn is_large(workload: IdWorkload) -> bool {
    workload.rows()[0].contains("1m")
}

#[test]
fn naive_gets_through_every_id_workload() {
    run_ids(|contender| contender == "naive");
}

#[test]
fn busy_block_gets_through_every_id_workload() {
    run_ids(|contender| contender == "busy_block");
}

#[test]
fn every_other_contender_gets_through_every_id_workload() {
    run_ids(|contender| contender != "naive" && contender != "busy_block");
}

/// The id workloads, with the contenders that are `wanted`. (Not all of them in one test: it would be the last one to
/// run, alone, for most of a minute.)
fn run_ids(wanted: impl Fn(&str) -> bool) {
    let registry = Registry::standard();
    let pool = Pool::start(2).unwrap();
    let mut ran = 0;
    for workload in IdWorkload::ALL {
        for entrant in registry.ids(workload) {
            if !wanted(entrant.name())
                || is_long(workload, entrant.name())
                || !entrant.is_admitted(workload)
            {
                continue;
            }
            ran += 1;
            let mut counts = [2, 1]
                .into_iter()
                .filter(|&threads| workload.runs_on(threads));
            let rows = workload.rows().len();
            if is_large(workload) {
                let threads = counts.next().expect("it runs on one or on two");
                let subject = entrant.set_up(workload, threads).unwrap();
                run_once(&pool, threads, rows, &subject);
                continue;
            }
            for threads in counts {
                let subject = entrant.set_up(workload, threads).unwrap();
                run(&pool, threads, rows, &subject);
            }
        }
    }
    assert_ne!(ran, 0, "there is such a contender");
}

#[test]
fn every_contender_gets_through_every_workload_on_worlds() {
    let registry = Registry::standard();
    let pool = Pool::start(2).unwrap();
    for workload in EcsWorkload::ALL {
        let rows = workload.rows().len();
        for entrant in registry.worlds(workload) {
            for threads in [1, 2] {
                if workload.runs_on(threads) && entrant.is_admitted(workload, threads) {
                    let subject = match entrant.set_up(workload, threads, Size::Small) {
                        // By the pool of the process, which has other than so many threads; or by none.
                        Err(_) if matches!(workload, EcsWorkload::ScheduleFromMain) => continue,
                        subject => subject.unwrap(),
                    };
                    run(&pool, threads, rows, &subject);
                }
            }
        }
    }
}

#[test]
fn every_contender_gets_through_every_chunk_workload() {
    let registry = Registry::standard();
    let pool = Pool::start(2).unwrap();
    let alternating = [
        ChunkWorkload::Alternating,
        ChunkWorkload::AlternatingRefused,
    ];
    for workload in ChunkWorkload::ALL
        .into_iter()
        .filter(|one| !alternating.contains(one))
    {
        for entrant in registry.chunks(workload) {
            if !entrant.is_admitted(workload) {
                continue;
            }
            for threads in [1, 2]
                .into_iter()
                .filter(|&threads| workload.runs_on(threads))
            {
                let subject = entrant.set_up(workload, threads).unwrap();
                run(&pool, threads, workload.rows().len(), &subject);
            }
        }
    }
}

#[test]
fn every_contender_replays_a_trace_of_several_threads() {
    let node = Trace::shipped("node").unwrap();
    let trace = node.window(0..20_000).unwrap();
    let registry = Registry::standard();
    let pool = Pool::start(2).unwrap();
    for threads in [1, 2] {
        run(&pool, threads, 1, &rehearsal(&trace, threads).unwrap());
        for entrant in registry.on_traces() {
            run(
                &pool,
                threads,
                1,
                &entrant.set_up_trace(&trace, threads).unwrap(),
            );
        }
    }
}

#[test]
fn no_two_rows_have_one_name() {
    let ids = IdWorkload::ALL.into_iter().flat_map(IdWorkload::rows);
    let chunks = ChunkWorkload::ALL.into_iter().flat_map(ChunkWorkload::rows);
    let mut rows: Vec<_> = ids.chain(chunks).collect();
    rows.sort_unstable();
    let count = rows.len();
    rows.dedup();
    assert_eq!(rows.len(), count);
}

/// Says of every id that it is dead.
struct Liar;

struct LiarSession;

impl IdContender for Liar {
    type Id = u64;
    type Session<'a> = LiarSession;

    const NAME: &'static str = "liar";
    const ABILITIES: Abilities = Abilities {
        batches: false,
        exists: true,
        places: false,
        limit: None,
    };

    fn fresh() -> Self {
        Self
    }

    fn session(&self) -> LiarSession {
        LiarSession
    }

    fn placeholder() -> u64 {
        0
    }

    fn to_bits(id: u64) -> u64 {
        id + 1
    }

    fn from_bits(bits: u64) -> u64 {
        bits - 1
    }
}

impl IdSession for LiarSession {
    type Id = u64;

    fn create(&mut self) -> u64 {
        0
    }

    fn destroy(&mut self, _id: u64) -> bool {
        false
    }
}

#[test]
fn a_contender_that_answers_wrongly_is_found_out() {
    let pool = Pool::start(1).unwrap();
    let subject = IdWorkload::Pair.set_up::<Liar>(1).unwrap();
    let WorkerPanic(said) = repeat_once(&pool, 1, 1, &subject, 1).unwrap_err();
    assert!(
        said.contains("an id that was just created is alive"),
        "{said}"
    );
}

#[test]
fn who_may_get_touched_memory_takes_no_part_in_first_touch() {
    let registry = Registry::standard();
    let workload = ChunkWorkload::FirstTouch;
    let (admitted, refused): (Vec<_>, Vec<_>) = registry
        .chunks(workload)
        .partition(|entrant| entrant.is_admitted(workload));
    assert_eq!(admitted.len(), 3);
    let [naive] = refused[..] else {
        panic!("only the naive one takes its memory from the heap");
    };
    let why = naive.set_up(workload, 1).err().unwrap().to_string();
    assert_eq!(naive.name(), "naive");
    assert!(why.starts_with("takes its memory from the heap"), "{why}");
}

#[test]
fn a_workload_says_why_it_does_not_admit_a_contender() {
    let why = IdWorkload::Batch64.set_up::<Liar>(1).err().unwrap();
    assert_eq!(why.to_string(), "has no batch calls");
}
