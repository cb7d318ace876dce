//! A crowd on the streets of a real city: what the whole crate is for, as one program.
//!
//! Everything here is what any user of the crate can write: it sees the library from outside.
//!
//! | room | what it holds |
//! |---|---|
//! | `map` | the streets of an OpenStreetMap extract: networks of lanes, ways to goals, traffic lights |
//! | `agent` | fragments and traits of people, cars and clouds of exhaust |
//! | `frame` | the processors of a frame |
//! | `people` | the kinds of agents that configs describe, and the spawner |
//! | `run`, `live`, `report` | furnishing, the line on the terminal, what it was like |
//! | `picture` | the city as PNG, SVG, and a page that plays it |

mod agent;
mod args;
mod error;
mod frame;
mod live;
mod map;
mod people;
mod picture;
mod report;
pub(crate) mod run;
#[cfg(test)]
mod tests;

use megachunk::cli::measure::Machine;
use megachunk::cli::{CliError, Destination, Screen, shown_path};
use serde::Serialize;

pub(crate) use args::Args;
pub(crate) use error::CityError;

/// Runs a city and writes what was asked for.
pub(crate) fn main(args: &Args) -> Result<(), CliError> {
    // Before minutes are spent: can the results be kept?
    let files = args.open()?;
    let screen = Screen::beside(&files);
    let [json, png, svg, html, trace] = files;
    let mut city = run::run(args)?;
    // Each result whatever became of the others.
    let shown = screen.show(&city.report.to_string());
    let json = write_json(&city.report, json);
    let drawn = draw(&mut city, args, [png, svg, html]);
    let trace = write_trace(&mut city, trace);
    let others = [json, trace, city.report.verdict()];
    let results = drawn.into_iter().chain(others);
    CliError::last_of(core::iter::once(shown).chain(results.map(|one| one.map_err(CliError::from))))
}

fn write_json(report: &report::Report, file: Option<Destination<'_>>) -> Result<(), CityError> {
    let Some(file) = file else {
        return Ok(());
    };
    #[derive(Serialize)]
    struct File<'a> {
        format: &'static str,
        machine: Machine,
        #[serde(flatten)]
        report: &'a report::Report,
    }
    let json = File {
        format: "megachunk-city 1",
        machine: Machine::here(),
        report,
    };
    let json = serde_json::to_string_pretty(&json).map_err(CityError::of)?;
    Ok(file.write(&(json + "\n"))?)
}

fn write_trace(city: &mut run::City, file: Option<Destination<'_>>) -> Result<(), CityError> {
    let (_, schedule) = city.simulation.parts_mut();
    let (Some(file), Some(trace)) = (file, schedule.take_trace()) else {
        return Ok(());
    };
    Ok(file.write_with(|out| trace.write_to(out))?)
}

/// Draws what is asked for: what came of each.
fn draw(
    city: &mut run::City,
    args: &Args,
    [png, svg, html]: [Option<Destination<'_>>; 3],
) -> Vec<Result<(), CityError>> {
    if png.is_none() && svg.is_none() && html.is_none() {
        return Vec::new();
    }
    let world = city.simulation.world_mut();
    // A picture looks at the world with queries; the map is lent beside it.
    let Some(map) = world.resources_mut().remove::<map::Map>() else {
        return Vec::new();
    };
    let drawn = picture::Scene::of(world, &map).map(|scene| {
        let png = png.map(|file| {
            let bytes = picture::png(&scene)?;
            Ok(file.write_with(|out| out.write_all(&bytes))?)
        });
        let svg = svg.map(|file| Ok(file.write(&picture::svg(&scene))?));
        let page = html.map(|file| {
            let name = shown_path(args.map.file_name().unwrap_or_default());
            let title = format!("{} agents in {name}", args.agents);
            Ok(file.write(&picture::page(&scene, &city.film, &title))?)
        });
        [png, svg, page].into_iter().flatten().collect()
    });
    world.resources_mut().insert(map);
    drawn.unwrap_or_else(|error| vec![Err(error)])
}
