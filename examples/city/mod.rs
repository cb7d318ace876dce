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
mod run;
#[cfg(test)]
mod tests;

use std::io::{ErrorKind, Write};

pub(crate) use args::Args;
pub(crate) use error::CityError;

/// Runs a city and writes what was asked for.
pub(crate) fn main(args: &Args) -> Result<(), CityError> {
    let mut city = run::run(args)?;
    let on_output = args
        .json
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-");
    let text = city.report.to_string();
    // Each result whatever became of the others: they took minutes.
    let shown = if on_output {
        // Nobody is left to be told if that fails.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        Ok(())
    } else {
        show(&text)
    };
    let json = write_json(&city.report, args, on_output);
    let drawn = match args.png.is_some() || args.svg.is_some() || args.html.is_some() {
        true => draw(&mut city, args),
        false => Ok(()),
    };
    let trace = write_trace(&mut city, args);
    let verdict = city.report.verdict();
    shown.and(json).and(drawn).and(trace).and(verdict)
}

fn write_json(report: &report::Report, args: &Args, on_output: bool) -> Result<(), CityError> {
    let Some(path) = &args.json else {
        return Ok(());
    };
    let mut json = serde_json::to_string_pretty(report).map_err(CityError::of)?;
    json.push('\n');
    match on_output {
        true => show(&json),
        false => picture::write(path, json.as_bytes()),
    }
}

fn write_trace(city: &mut run::City, args: &Args) -> Result<(), CityError> {
    let (_, schedule) = city.simulation.parts_mut();
    let (Some(path), Some(trace)) = (&args.trace, schedule.take_trace()) else {
        return Ok(());
    };
    let mut text = Vec::new();
    let written = trace.write_to(&mut text);
    written.map_err(|source| CityError::File {
        path: path.clone(),
        source,
    })?;
    picture::write(path, &text)
}

/// Writes to standard output. Whoever reads it may stop reading.
fn show(text: &str) -> Result<(), CityError> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    match written.and_then(|()| output.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(CityError::File {
            path: "standard output".into(),
            source,
        }),
        _ => Ok(()),
    }
}

fn draw(city: &mut run::City, args: &Args) -> Result<(), CityError> {
    let world = city.simulation.world_mut();
    // A picture looks at the world with queries; the map is lent beside it.
    let Some(map) = world.resources_mut().remove::<map::Map>() else {
        return Ok(());
    };
    let drawn = picture::Scene::of(world, &map).and_then(|scene| {
        let png = args.png.as_ref().map(|path| picture::png(&scene, path));
        let svg = args.svg.as_ref().map(|path| picture::svg(&scene, path));
        let page = args.html.as_ref().map(|path| {
            let name = args.map.file_name().unwrap_or_default().to_string_lossy();
            let title = format!("{} agents in {name}", args.agents);
            picture::write(path, picture::page(&scene, &city.film, &title).as_bytes())
        });
        [png, svg, page]
            .into_iter()
            .flatten()
            .fold(Ok(()), Result::and)
    });
    world.resources_mut().insert(map);
    drawn
}
