//! What a run measures: the cells that remain of all, after the filter.

use std::sync::Arc;

use super::Args;
use crate::cli::measure::Subject;
use crate::cli::report::Section;
use crate::cli::workload::Registry;
use crate::cli::workload::chunk::ChunkWorkload;
use crate::cli::workload::id::IdWorkload;

/// One cell to measure: a workload on a number of threads.
pub(super) struct Planned<'a> {
    /// What the workload allocates.
    pub section: Section,
    /// The rows that it fills, by phase.
    pub rows: Vec<String>,
    /// What the figures count.
    pub unit: &'static str,
    /// On how many threads.
    pub threads: usize,
    /// Memory that each contender may need.
    pub memory: u64,
    /// Who takes part.
    pub entrants: Vec<Entrant<'a>>,
}

/// One contender of a cell.
pub(super) struct Entrant<'a> {
    pub name: &'static str,
    /// Whether the probe counts everything that it does.
    pub is_counted: bool,
    /// Makes it ready; or why it cannot take part.
    pub set_up: SetUp<'a>,
}

type SetUp<'a> = Box<dyn Fn() -> Result<Arc<dyn Subject>, String> + 'a>;

/// The cells to measure, in order.
pub(super) fn plan<'a>(args: &Args, threads: &[usize], registry: &'a Registry) -> Vec<Planned<'a>> {
    let mut cells = Vec::new();
    for workload in IdWorkload::ALL {
        let rows: Vec<_> = workload.rows().iter().map(ToString::to_string).collect();
        for &threads in threads.iter().filter(|&&threads| workload.runs_on(threads)) {
            let entrants = registry.ids(workload).map(|entrant| Entrant {
                name: entrant.name(),
                is_counted: entrant.is_counted(),
                set_up: Box::new(move || {
                    let subject = entrant.set_up(workload, threads);
                    subject.map_err(|why| why.to_string())
                }),
            });
            cells.push(Planned {
                section: Section::Ids,
                rows: rows.clone(),
                unit: workload.unit(),
                threads,
                memory: workload.memory(),
                entrants: entrants.collect(),
            });
        }
    }
    for workload in ChunkWorkload::ALL {
        for &threads in threads.iter().filter(|&&threads| workload.runs_on(threads)) {
            let entrants = registry.chunks().map(|entrant| Entrant {
                name: entrant.name(),
                is_counted: true,
                set_up: Box::new(move || {
                    let subject = entrant.set_up(workload, threads);
                    subject.map_err(|why| why.to_string())
                }),
            });
            cells.push(Planned {
                section: Section::Chunks,
                rows: workload.rows(),
                unit: workload.unit(),
                threads,
                memory: 256 << 20,
                entrants: entrants.collect(),
            });
        }
    }
    cells.retain(|cell| cell.rows.iter().any(|row| args.wants(row)));
    for cell in &mut cells {
        cell.entrants
            .retain(|entrant| args.wants_contender(entrant.name));
    }
    cells.retain(|cell| !cell.entrants.is_empty());
    cells
}
