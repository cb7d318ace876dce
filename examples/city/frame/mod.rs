//! A frame: the processors, in the order of their phases.
//!
//! | phase | processors |
//! |---|---|
//! | PrePhysics | `camera` flies |
//! | StartPhysics | `lights` change, `car paths` and `walk paths` choose the next edge |
//! | DuringPhysics | cars: `queue` finds who drives before whom, `follow` sets their speed, `drive` moves them; beside that people: `crowd` finds who walks beside whom, `steer` sets their speed, `walk` moves them |
//! | EndPhysics | `fade` thins the clouds of exhaust |
//! | PostPhysics | `detail` sorts by distance to the camera, `film` moves the actors |
//! | FrameEnd | `arrive` hears who has come to a goal, `respawn` sends others for those who left |
//!
//! Besides, the observer `set out` gives everybody who comes to life a goal.
//!
//! Loops take whole chunks, which they may: no fragment of the city can be switched off. (Else they would be lent rows
//! that are off, too, and had to be `par_for_each_slice`.)

mod camera;
mod crowd;
mod detail;
mod drive;
mod exhaust;
mod film;
mod path;
mod queue;
mod trip;
mod walk;

pub(crate) use camera::Camera;
pub(crate) use detail::{FAR, NEAR};
pub(crate) use film::Film;
use trip::Arrived;
pub(crate) use trip::{Newcomers, Trips};

use megachunk::prelude::*;

use super::error::CityError;
use super::map::{Fields, Lights, Map};

/// The ways to the goals, in both networks.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) drive: Fields,
    pub(crate) walk: Fields,
}

/// What processors use together, as resources of the world.
pub(crate) fn furnish(world: &mut World, map: Map, seed: u64) -> Result<(), CityError> {
    let arrived = world.signal::<Arrived>("arrived").map_err(CityError::of)?;
    let ways = Ways {
        drive: Fields::new(&map.drive, seed),
        walk: Fields::new(&map.walk, seed ^ 1),
    };
    let resources = world.resources_mut();
    resources.insert(Camera::over(&map));
    resources.insert(Lights::default());
    resources.insert(queue::Queues::new(&map));
    resources.insert(crowd::Crowd::default());
    resources.insert(Trips::new(seed));
    resources.insert(arrived);
    resources.insert(ways);
    resources.insert(map);
    Ok(())
}

/// All processors.
pub(crate) fn schedule() -> Schedule {
    let mut schedule = Schedule::new();
    schedule
        .add(trip::set_out())
        .add(camera::camera())
        .add(camera::lights())
        .add(path::car_paths())
        .add(path::walk_paths())
        .add(queue::queue())
        .add(crowd::crowd())
        .add(drive::follow())
        .add(crowd::steer())
        .add(drive::drive())
        .add(walk::walk())
        .add(exhaust::fade())
        .add(detail::detail())
        .add(film::film())
        .add(trip::arrive())
        .add(trip::respawn());
    schedule
}
