//! What there is to measure, by name: rows and contenders, of each section apart.

use super::{Args, Planned};
use crate::cli::CliError;
use crate::cli::output::show;
use crate::cli::report::Section;
use crate::cli::workload::Registry;

/// Refuses contenders that nobody is.
pub(super) fn check_names(
    args: &Args,
    registry: &Registry,
    sections: &[Section],
) -> Result<(), CliError> {
    for wanted in &args.contenders {
        let mut all = sections.iter().flat_map(|&of| names(registry, of));
        if !all.any(|name| name == wanted) {
            let there_are = sections.iter().map(|&section| {
                let names = names(registry, section).join(", ");
                format!("{names} ({})", section.title().to_lowercase())
            });
            let there_are: Vec<_> = there_are.collect();
            let there_are = there_are.join(", ");
            return Err(CliError::BadArgument {
                argument: "--contenders".into(),
                reason: format!("there is no `{wanted}`; there are {there_are}"),
            });
        }
    }
    Ok(())
}

/// Shows the rows of `cells`, each with its numbers of threads, and all contenders.
pub(super) fn list(
    args: &Args,
    cells: &[Planned<'_>],
    registry: &Registry,
    sections: &[Section],
) -> Result<(), CliError> {
    let mut text = String::new();
    for &section in sections {
        let rows = rows(args, cells, section);
        if rows.is_empty() {
            continue;
        }
        text += &format!("{}:\n", section.title());
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, threads) in rows {
            let plural = if threads == [1] { "" } else { "s" };
            let threads: Vec<String> = threads.iter().map(usize::to_string).collect();
            text += &format!("  {name:width$}  {} thread{plural}\n", threads.join(", "));
        }
        if section == Section::Ids && !args.asks_for("scale") {
            text += &format!(
                "  {:width$}  not unless --filter names it: takes minutes and gigabytes\n",
                "scale"
            );
        }
    }
    for &section in sections {
        let names = names(registry, section).join(", ");
        text += &format!(
            "Contenders on {}: {names}\n",
            section.title().to_lowercase()
        );
    }
    show(&text)
}

/// The names of a section, each once.
fn names(registry: &Registry, section: Section) -> Vec<&'static str> {
    let all: Vec<_> = match section {
        Section::Ids => registry.id_names().collect(),
        Section::Chunks => registry.chunk_names().collect(),
        Section::Worlds => registry.world_names().collect(),
    };
    let mut names = Vec::with_capacity(all.len());
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The wanted rows of a section, each once, with the numbers of threads they are measured on.
fn rows<'a>(args: &Args, cells: &'a [Planned<'_>], section: Section) -> Vec<(&'a str, Vec<usize>)> {
    let mut rows: Vec<(&str, Vec<usize>)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.section == section) {
        for name in cell.rows.iter().filter(|name| args.wants(name)) {
            match rows.iter_mut().find(|(known, _)| known == name) {
                Some((_, threads)) => threads.push(cell.threads),
                None => rows.push((name, vec![cell.threads])),
            }
        }
    }
    rows
}
