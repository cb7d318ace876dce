//! What a run measures: the cells that remain of all, after the filter.

use std::sync::Arc;

use super::Args;
use crate::cli::measure::Subject;
use crate::cli::report::Section;
use crate::cli::workload::Registry;
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
        if !workload.rows().iter().any(|row| args.wants(row)) {
            continue;
        }
        for &threads in threads.iter().filter(|&&threads| workload.runs_on(threads)) {
            let entrants = registry
                .ids(workload)
                .filter(|entrant| args.wants_contender(entrant.name()));
            cells.push(Planned {
                section: Section::Ids,
                rows: workload.rows().iter().map(ToString::to_string).collect(),
                unit: workload.unit(),
                threads,
                memory: workload.memory(),
                entrants: entrants
                    .map(|entrant| Entrant {
                        name: entrant.name(),
                        is_counted: entrant.is_counted(),
                        set_up: Box::new(move || {
                            entrant
                                .set_up(workload, threads)
                                .map_err(|why| why.to_string())
                        }),
                    })
                    .collect(),
            });
        }
    }
    cells
}
