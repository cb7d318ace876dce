//! A crowd of people and cars on the streets of Monaco, or of any other city.
//!
//! ```text
//! cargo run --release --features cli --example city -- data/maps/monaco.osm.pbf --png city.png
//! ```
//!
//! `megachunk city` is the same program.

#[path = "mod.rs"]
mod city;

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(version)]
struct Program {
    #[command(flatten)]
    city: city::Args,
}

fn main() -> ExitCode {
    let program = Program::parse();
    megachunk::cli::show_warnings();
    megachunk::cli::ended(city::main(&program.city))
}
