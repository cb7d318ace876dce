//! The fragments and tags. All are plain data, so that the state of the city can be hashed.

use megachunk::fragment::{ConstShared, FragmentError, FragmentRegistry};

use super::super::map::NOWHERE;
use super::Luck;

/// East and north of the middle of the map, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub(crate) struct Position(pub(crate) [f32; 2]);
megachunk::plain!(Position { 0 });

/// Where an agent looks: a vector of length 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub(crate) struct Heading(pub(crate) [f32; 2]);
megachunk::plain!(Heading { 0 });

/// A point of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct Place {
    pub(crate) lane: u32,
    /// In metres.
    pub(crate) along: f32,
}
megachunk::plain!(Place { lane, along });

/// Where an agent goes from where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Route {
    /// The edge after this lane, or [`NOWHERE`]: not chosen yet, or this is the last.
    pub(crate) next: u32,
    /// The goal's number.
    pub(crate) goal: u32,
    /// The piece of the lane that it is on.
    pub(crate) leg: u32,
}
megachunk::plain!(Route { next, goal, leg });

impl Default for Route {
    fn default() -> Self {
        Self {
            next: NOWHERE,
            goal: 0,
            leg: 0,
        }
    }
}

/// How fast an agent is, and would like to be, in metres a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct Pace {
    pub(crate) speed: f32,
    pub(crate) wish: f32,
}
megachunk::plain!(Pace { speed, wish });

/// How far a person keeps to the right of the lane's line, and wants to, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct Sway {
    pub(crate) side: f32,
    pub(crate) wish: f32,
}
megachunk::plain!(Sway { side, wish });

/// A car's number in the queues of this frame, and for how long it has stood, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct Wait {
    pub(crate) slot: u32,
    pub(crate) seconds: f32,
}
megachunk::plain!(Wait { slot, seconds });

/// What many cars have in common: a const shared fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub(crate) struct Model {
    /// From bumper to bumper, in centimetres.
    pub(crate) length: u32,
    /// How it speeds up at most, in centimetres a second each second.
    pub(crate) acceleration: u32,
    /// How it brakes, where that is comfortable; the same unit.
    pub(crate) braking: u32,
    /// A cloud of exhaust every so many milliseconds; 0: none.
    pub(crate) exhaust: u32,
}
megachunk::plain!(Model {
    length,
    acceleration,
    braking,
    exhaust
});

/// A cloud of exhaust, and for how many seconds it is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub(crate) struct Exhaust(pub(crate) f32);
megachunk::plain!(Exhaust { 0 });

/// Goes on foot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Person;
/// Drives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Car;

/// In front of the camera: moved in every frame, and keeps clear of others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near;
/// Seen from afar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Far;
/// Not seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hidden;

/// Says which fragments are plain data.
pub(crate) fn register(registry: &FragmentRegistry) -> Result<(), FragmentError> {
    registry.register_plain::<Position>()?;
    registry.register_plain::<Heading>()?;
    registry.register_plain::<Place>()?;
    registry.register_plain::<Route>()?;
    registry.register_plain::<Pace>()?;
    registry.register_plain::<Sway>()?;
    registry.register_plain::<Wait>()?;
    registry.register_plain::<Luck>()?;
    registry.register_plain::<Exhaust>()?;
    registry.register_plain::<ConstShared<Model>>()?;
    Ok(())
}
