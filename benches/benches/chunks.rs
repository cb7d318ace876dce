//! The chunk workloads under criterion: the same code as `megachunk bench`, a time for each operation.
//!
//! `cargo bench --package megachunk-benches --bench chunks -- FILTER`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use megachunk::cli::measure::Pool;
use megachunk::cli::workload::chunk::ChunkWorkload;
use megachunk_benches::{Course, registry, thread_counts};

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    let registry = registry();
    let counts = thread_counts();
    let most = counts.last().copied().unwrap_or(1);
    let pool = Pool::start(most).expect("the system grants a thread for each processor");
    for workload in ChunkWorkload::ALL {
        let rows = workload.rows();
        for entrant in registry
            .chunks(workload)
            .filter(|entrant| entrant.is_admitted(workload))
        {
            for &threads in counts.iter().filter(|&&threads| workload.runs_on(threads)) {
                let course = Course::new(&pool, threads, rows.len(), || {
                    let subject = entrant.set_up(workload, threads);
                    subject.unwrap_or_else(|why| panic!("{}: {why}", entrant.name()))
                });
                for (phase, row) in rows.iter().enumerate() {
                    let mut group = criterion.benchmark_group(row);
                    group.bench_function(BenchmarkId::new(entrant.name(), threads), |bencher| {
                        bencher.iter_custom(|operations| course.time(phase, operations));
                    });
                    group.finish();
                }
            }
        }
    }
    criterion.final_summary();
}
