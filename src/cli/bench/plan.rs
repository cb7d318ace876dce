//! What a run measures: the cells that remain of all, after the filter.

use std::io;
use std::sync::Arc;

use super::Args;
use crate::cli::measure::Subject;
use crate::cli::report::Section;
use crate::cli::workload::chunk::ChunkWorkload;
use crate::cli::workload::ecs::{EcsWorkload, Size};
use crate::cli::workload::id::{IdWorkload, rehearsal};
use crate::cli::workload::{Registry, Unsupported};
use crate::trace::Trace;
use crate::trace::replay::Replay;

/// One cell to measure: a workload on a number of threads.
pub(super) struct Planned<'a> {
    /// What the workload works on.
    pub section: Section,
    /// The rows that it fills, by phase.
    pub rows: Vec<String>,
    /// What the figures count.
    pub unit: &'static str,
    /// On how many threads.
    pub threads: usize,
    /// Memory that it may need with all entrants set up, in bytes.
    pub memory: u64,
    /// Who takes part.
    pub entrants: Vec<Entrant<'a>>,
    /// What the figures are net of.
    pub overhead: Option<SetUp<'a>>,
    /// Why it is not run all the same.
    pub skip: Option<&'static str>,
}

/// One contender of a cell.
pub(super) struct Entrant<'a> {
    pub name: &'static str,
    /// Whether the probe counts everything that it does.
    pub is_counted: bool,
    /// Whether the system has room for it.
    pub try_room: Box<dyn Fn() -> io::Result<()> + 'a>,
    /// Makes it ready; or why it cannot take part.
    pub set_up: SetUp<'a>,
}

type SetUp<'a> = Box<dyn Fn() -> Result<Arc<dyn Subject>, Unsupported> + 'a>;

/// The cells of `sections` to measure, in order.
pub(super) fn plan<'a>(
    args: &Args,
    registry: &'a Registry,
    sections: &[Section],
    traces: &'a [Trace],
) -> Vec<Planned<'a>> {
    let mut cells = Vec::new();
    for section in sections {
        match section {
            Section::Ids => plan_ids(args, registry, traces, &mut cells),
            Section::Chunks => plan_chunks(args, registry, &mut cells),
            Section::Worlds => plan_worlds(args, registry, &mut cells),
        }
    }
    for cell in &mut cells {
        cell.entrants
            .retain(|entrant| args.wants_contender(entrant.name));
    }
    cells.retain(|cell| !cell.entrants.is_empty() && cell.rows.iter().any(|row| args.wants(row)));
    cells
}

fn plan_ids<'a>(
    args: &Args,
    registry: &'a Registry,
    traces: &'a [Trace],
    cells: &mut Vec<Planned<'a>>,
) {
    let threads = args.thread_counts();
    for workload in IdWorkload::ALL {
        if !workload.is_on_request() || args.asks_for(&workload.family()) {
            let counts = threads.iter().filter(|&&threads| workload.runs_on(threads));
            cells.extend(counts.map(|&threads| of_ids(args, registry, workload, threads)));
        }
    }
    for trace in traces {
        let fits =
            |threads: usize| threads <= trace.threads() || threads.is_multiple_of(trace.threads());
        let counts = threads.iter().filter(|&&threads| fits(threads));
        cells.extend(counts.map(|&threads| of_trace(registry, trace, threads)));
    }
}

fn plan_chunks<'a>(args: &Args, registry: &'a Registry, cells: &mut Vec<Planned<'a>>) {
    let threads = args.thread_counts();
    for workload in ChunkWorkload::ALL {
        let counts = threads.iter().filter(|&&threads| workload.runs_on(threads));
        cells.extend(counts.map(|&threads| of_chunks(registry, workload, threads)));
    }
}

fn plan_worlds<'a>(args: &Args, registry: &'a Registry, cells: &mut Vec<Planned<'a>>) {
    let threads = args.thread_counts();
    for workload in EcsWorkload::ALL {
        let counts = threads.iter().filter(|&&threads| workload.runs_on(threads));
        cells.extend(counts.map(|&threads| of_worlds(args, registry, workload, threads)));
    }
}

fn of_ids<'a>(
    args: &Args,
    registry: &'a Registry,
    workload: IdWorkload,
    threads: usize,
) -> Planned<'a> {
    let entrants = registry.ids(workload).map(|entrant| Entrant {
        name: entrant.name(),
        is_counted: entrant.is_counted(),
        try_room: Box::new(move || entrant.try_room()),
        set_up: Box::new(move || entrant.set_up(workload, threads)),
    });
    let entrants: Vec<_> = entrants.collect();
    Planned {
        section: Section::Ids,
        rows: workload.rows(),
        unit: workload.unit(),
        threads,
        memory: workload.memory() * entrants.len() as u64 + workload.memory_at_once(),
        entrants,
        overhead: None,
        skip: is_too_slow(args, workload.is_slow(), &workload.family()),
    }
}

fn of_trace<'a>(registry: &'a Registry, trace: &'a Trace, threads: usize) -> Planned<'a> {
    let entrants = registry.on_traces().map(|entrant| Entrant {
        name: entrant.name(),
        is_counted: entrant.is_counted(),
        try_room: Box::new(move || entrant.try_room()),
        set_up: Box::new(move || entrant.set_up_trace(trace, threads)),
    });
    let entrants: Vec<_> = entrants.collect();
    Planned {
        section: Section::Ids,
        rows: vec![format!("trace:{}", trace.name())],
        unit: "ns/event",
        threads,
        // Each has the events for itself, and so has whoever only reads them.
        memory: Replay::memory(trace, threads) * (entrants.len() as u64 + 1),
        entrants,
        overhead: Some(Box::new(move || rehearsal(trace, threads))),
        skip: None,
    }
}

fn of_chunks(registry: &Registry, workload: ChunkWorkload, threads: usize) -> Planned<'_> {
    let entrants = registry.chunks(workload).map(|entrant| Entrant {
        name: entrant.name(),
        is_counted: true,
        try_room: Box::new(move || entrant.try_room()),
        set_up: Box::new(move || entrant.set_up(workload, threads)),
    });
    let entrants: Vec<_> = entrants.collect();
    Planned {
        section: Section::Chunks,
        rows: workload.rows(),
        unit: workload.unit(),
        threads,
        memory: entrants.len() as u64 * (256 << 20),
        entrants,
        overhead: None,
        skip: None,
    }
}

fn of_worlds<'a>(
    args: &Args,
    registry: &'a Registry,
    workload: EcsWorkload,
    threads: usize,
) -> Planned<'a> {
    let entrants = registry.worlds(workload).map(|entrant| Entrant {
        name: entrant.name(),
        is_counted: false,
        try_room: Box::new(move || entrant.try_room()),
        set_up: Box::new(move || entrant.set_up(workload, threads, Size::Full)),
    });
    let entrants: Vec<_> = entrants.collect();
    Planned {
        section: Section::Worlds,
        rows: workload.rows(),
        unit: workload.unit(),
        threads,
        memory: workload.memory() * entrants.len() as u64 + workload.memory_at_once(),
        entrants,
        overhead: None,
        skip: is_too_slow(args, workload.is_slow(), &workload.rows()[0]),
    }
}

/// Why a quick run has no time for a workload, unless the filter names it.
fn is_too_slow(args: &Args, is_slow: bool, family: &str) -> Option<&'static str> {
    let is_left_out = args.quick && is_slow && !args.asks_for(family);
    is_left_out.then_some("takes too long for a quick run, unless --filter names it")
}
