//! The map: streets of an OpenStreetMap extract, as networks of lanes for cars and for people on foot.
//!
//! [`Extract`] is what the file says; [`Map`] is what the agents live on, in metres round the middle, x to
//! the east, y to the north. Nothing of it changes while the city runs: processors read it as a resource.

mod extract;
mod field;
mod light;
mod network;
mod project;
mod street;

pub(crate) use field::{Fields, NOWHERE};
pub(crate) use light::Lights;
#[cfg(test)]
pub(crate) use network::Control;
pub(crate) use network::Network;
pub(crate) use street::{Area, Class, Cover, Street};

use std::path::Path;

use super::error::CityError;
use extract::Extract;
use project::Projection;

/// Where agents live.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) streets: Vec<Street>,
    pub(crate) areas: Vec<Area>,
    pub(crate) drive: Network,
    pub(crate) walk: Network,
    /// South-west and north-east corner of the streets.
    pub(crate) bounds: [[f32; 2]; 2],
}

impl Map {
    /// Reads an extract.
    pub(crate) fn read(path: &Path) -> Result<Self, CityError> {
        let extract = Extract::read(path)?;
        let projection = Projection::of(&extract)
            .filter(|_| extract.ways.iter().any(|way| way.is_street()))
            .ok_or_else(|| CityError::NoStreets { path: path.into() })?;
        let drive = Network::build(&extract, &projection, network::Mode::Drive);
        let walk = Network::build(&extract, &projection, network::Mode::Walk);
        if drive.lanes.is_empty() || walk.lanes.is_empty() {
            return Err(CityError::NoStreets { path: path.into() });
        }
        let streets = street::streets(&extract, &projection);
        Ok(Self {
            areas: street::areas(&extract, &projection),
            bounds: street::bounds(&streets),
            streets,
            drive,
            walk,
        })
    }
}
