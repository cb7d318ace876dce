//! `megachunk bench` and `megachunk ecs`: measure every allocator, or every entity component
//! store, on every workload, side by side.

use super::CliError;
use super::destination::{Destination, Screen};
use super::interrupt::Interrupt;
use super::measure::{Cell, Machine, Pool, Span, available_memory, caught, measure_cell};
use super::output::{plural, shown_path};
use super::report::{Report, Row, Section, Skipped};
use super::trace_named::{told_apart, traces_named};
use super::workload::Registry;
use crate::trace::Trace;

mod args;
mod list;
mod plan;
mod progress;

pub use args::{Args, BadThreads, Threads};
use list::{check_names, list};
use plan::{Planned, plan};
use progress::Progress;

/// Runs the subcommand with this crate's contenders.
///
/// # Errors
/// [`CliError`] with what went wrong.
pub fn run(args: &Args) -> Result<(), CliError> {
    run_with(args, &Registry::standard())
}

/// Runs the subcommand with the contenders of `registry`.
///
/// # Errors
/// An argument that means nothing here, a file that cannot be written, or a contender that gave
/// wrong answers; what could be measured is shown all the same.
pub fn run_with(args: &Args, registry: &Registry) -> Result<(), CliError> {
    run_sections(args, registry, &[Section::Ids, Section::Chunks])
}

/// Runs the workloads on worlds, with the contenders of `registry`.
///
/// # Errors
/// As [`run_with`].
pub fn run_worlds(args: &Args, registry: &Registry) -> Result<(), CliError> {
    if !args.trace.is_empty() {
        return Err(CliError::BadArgument {
            argument: "--trace".into(),
            reason: "traces are of ids alone: `bench` replays them".into(),
        });
    }
    run_sections(args, registry, &[Section::Worlds])
}

fn run_sections(args: &Args, registry: &Registry, sections: &[Section]) -> Result<(), CliError> {
    check_names(args, registry, sections)?;
    let traces = if sections.contains(&Section::Ids) {
        traces(args)?
    } else {
        Vec::new()
    };
    let cells = plan(args, registry, sections, &traces);
    if cells.is_empty() {
        return Err(no_row(args, registry, sections, &traces));
    }
    if args.list {
        return list(args, &cells, registry, sections);
    }
    // Before minutes are spent: can the results be kept?
    let files = [
        ("--json", args.json.as_deref()),
        ("--html", Some(args.html.as_path())),
    ];
    let files = Destination::open_all(files, &args.trace)?;
    let screen = Screen::beside(&files);
    let [json, html] = files;
    let has_page = html.as_ref().is_some_and(Destination::is_file);

    let report = measure(args, &cells)?;

    // Each result whatever became of the others: they took minutes.
    let shown = screen.show(&report.to_text(screen.width(), args.plain));
    let json = json.map_or(Ok(()), |json| json.write(&report.to_json()));
    let page = report.to_html();
    let page = page.map_err(|error| CliError::Failed(error.to_string()));
    let html = page.and_then(|page| html.map_or(Ok(()), |html| html.write(&page)));
    let told = match has_page && html.is_ok() {
        true => screen.show(&format!(
            "Report: {}, also with the least and the most of all repetitions\n",
            shown_path(&args.html)
        )),
        false => Ok(()),
    };
    let results = [shown, json, html, told, failed(&report)];
    CliError::last_of(results.into_iter().chain([interrupted(&report, &cells)]))
}

/// That rows have failed, if some have, or that there is none.
fn failed(report: &Report) -> Result<(), CliError> {
    let failed: Vec<_> = report.skipped.iter().filter(|row| row.failed).collect();
    match failed.first() {
        None if report.rows.is_empty() && report.left_out == 0 => Err(CliError::Failed(
            "nothing was measured: nobody could take part in these rows".to_owned(),
        )),
        None => Ok(()),
        Some(first) => Err(CliError::Failed(format!(
            "{} of the rows failed; the first: {first}",
            failed.len()
        ))),
    }
}

/// That somebody has ended the run before all of `cells` were measured, if somebody has.
fn interrupted(report: &Report, cells: &[Planned<'_>]) -> Result<(), CliError> {
    match report.left_out {
        0 => Ok(()),
        left_out => Err(CliError::Interrupted(format!(
            "{left_out} of {} were not measured",
            plural(cells.len(), "cell")
        ))),
    }
}

/// More threads than any workload asks for as its only number.
const MANY: usize = 64;

/// Why nothing is to be measured.
fn no_row(args: &Args, registry: &Registry, sections: &[Section], traces: &[Trace]) -> CliError {
    let anybody = Args {
        contenders: Vec::new(),
        ..args.clone()
    };
    let all = plan(&anybody, registry, sections, traces);
    if !args.contenders.is_empty() && !all.is_empty() {
        let mut names: Vec<&str> = Vec::new();
        for entrant in all.iter().flat_map(|cell| &cell.entrants) {
            if !names.contains(&entrant.name) {
                names.push(entrant.name);
            }
        }
        return CliError::BadArgument {
            argument: "--contenders".into(),
            reason: format!(
                "none of them takes part in a row of such a name; {} do",
                names.join(", ")
            ),
        };
    }
    let anywhere = Args {
        threads: Some(Threads::up_to(MANY)),
        ..anybody
    };
    let mut counts: Vec<usize> = plan(&anywhere, registry, sections, traces)
        .iter()
        .map(|cell| cell.threads)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    if let [.., last] = counts[..] {
        let wanted: Vec<_> = args.thread_counts().iter().map(usize::to_string).collect();
        let there_are = match last {
            MANY => format!("{} and more", plural(counts[0], "thread")),
            _ => {
                let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
                format!(
                    "{} thread{}",
                    counts.join(", "),
                    if last == 1 { "" } else { "s" }
                )
            }
        };
        return CliError::BadArgument {
            argument: "--threads".into(),
            reason: format!(
                "rows of such a name are measured on {there_are}, not on {}",
                wanted.join(", ")
            ),
        };
    }
    let command = match sections.contains(&Section::Worlds) {
        true => "ecs",
        false => "bench",
    };
    CliError::BadArgument {
        argument: "--filter".into(),
        reason: format!("no row has such a name; `{command} --list` shows all"),
    }
}

/// The traces to replay, if any is wanted: reading them takes a moment.
fn traces(args: &Args) -> Result<Vec<Trace>, CliError> {
    let shipped = Trace::shipped_names().filter(|name| args.wants(&format!("trace:{name}")));
    let mut traces: Vec<_> = shipped.filter_map(Trace::shipped).collect();
    let names: Vec<String> = Trace::shipped_names().map(str::to_owned).collect();
    let more = traces_named(Some("--trace"), &args.trace)?;
    traces.extend(told_apart(more, names));
    Ok(traces)
}

fn measure(args: &Args, cells: &[Planned<'_>]) -> Result<Report, CliError> {
    let most = cells.iter().map(|cell| cell.threads).max().unwrap_or(1);
    let pool = Pool::start(most).map_err(|error| CliError::NoThreads {
        threads: most,
        asked: args.threads.is_some(),
        reason: error.to_string(),
    })?;
    let mut progress = Progress::start(cells.len());
    let mut report = Report::new(Machine::here());
    report.quick = args.quick;
    let interrupt = Interrupt::listen("ends after this row, with what is measured");
    for (done, cell) in cells.iter().enumerate() {
        if interrupt.is_asked() {
            report.left_out = cells.len() - done;
            break;
        }
        progress.begin(cell);
        let (rows, skipped) = (report.rows.len(), report.skipped.len());
        measure_one(args, &pool, cell, &mut report)?;
        progress.end(cell, &report.rows[rows..], &report.skipped[skipped..]);
    }
    drop(progress);
    report.set_ratios();
    Ok(report)
}

/// Sets up who takes part in one cell, measures them, and keeps the rows.
fn measure_one(
    args: &Args,
    pool: &Pool<Vec<Span>>,
    planned: &Planned<'_>,
    report: &mut Report,
) -> Result<(), CliError> {
    let mut skip = |contender: &'static str, why: String, failed: bool| {
        for row in planned.rows.iter().filter(|row| args.wants(row)) {
            report.skipped.push(Skipped {
                section: planned.section,
                workload: row.clone(),
                threads: planned.threads,
                contender,
                why: why.clone(),
                failed,
            });
        }
    };
    let lacks_memory = available_memory().filter(|&available| available < planned.memory);
    let why_not = match (planned.skip, lacks_memory) {
        (Some(why), _) => Some(why.to_owned()),
        (None, Some(available)) => Some(format!(
            "needs {} MiB of memory; {} are free",
            planned.memory >> 20,
            available >> 20
        )),
        (None, None) => None,
    };
    if let Some(why) = why_not {
        planned
            .entrants
            .iter()
            .for_each(|entrant| skip(entrant.name, why.clone(), false));
        return Ok(());
    }
    let mut entrants = Vec::new();
    let mut subjects = Vec::new();
    for entrant in &planned.entrants {
        if let Err(error) = (entrant.try_room)() {
            skip(
                entrant.name,
                format!("there is no room for it: {error}"),
                true,
            );
            continue;
        }
        match caught(|| (entrant.set_up)()) {
            Ok(Ok(subject)) => {
                entrants.push(entrant);
                subjects.push(subject);
            }
            Ok(Err(why)) => skip(entrant.name, why.to_string(), false),
            Err(panic) => skip(entrant.name, panic.to_string(), true),
        }
    }
    if subjects.is_empty() {
        return Ok(());
    }
    // Last among the subjects; it has no entrant and so no row of its own.
    if let Some(Ok(overhead)) = planned.overhead.as_ref().map(|set_up| set_up()) {
        subjects.push(overhead);
    }
    let cell = Cell {
        threads: planned.threads,
        phases: planned.rows.len(),
        subjects,
    };
    let outcome = measure_cell(pool, &cell, args.effort())
        .map_err(|panic| CliError::Failed(panic.to_string()))?;
    let overhead = outcome
        .subjects
        .get(entrants.len())
        .and_then(|rows| rows.as_ref().ok());
    // The median of it, as `replay` does: what is taken from a median is one.
    let overhead = |phase: usize| Some(overhead.and_then(|rows| rows[phase])?.ns.median);
    for (entrant, rows) in entrants.iter().zip(&outcome.subjects) {
        match rows {
            Err(panic) => skip(entrant.name, panic.to_string(), true),
            Ok(rows) => {
                for (phase, (name, row)) in planned.rows.iter().zip(rows).enumerate() {
                    let Some(row) = row.filter(|_| args.wants(name)) else {
                        continue;
                    };
                    report.rows.push(Row {
                        section: planned.section,
                        workload: name.clone(),
                        threads: planned.threads,
                        contender: entrant.name,
                        unit: planned.unit,
                        ns: overhead(phase).map_or(row.ns, |overhead| row.ns.minus(overhead)),
                        repetitions: row.repetitions,
                        net_of_ns: overhead(phase),
                        ratio: None,
                        rmw_per_op: row.rmw_per_op.filter(|_| entrant.is_counted),
                        failed_claims_per_op: row
                            .failed_claims_per_op
                            .filter(|_| entrant.is_counted),
                        memory_bytes: row.resident,
                        cores: (planned.threads > 1).then_some(outcome.cores),
                        void: outcome.void,
                        unsteady: false,
                    });
                }
            }
        }
    }
    Ok(())
}
