//! A world that goes back to a checkpoint is what it was, byte for byte, and comes on again as it came: ids, rows and values.
//! Values are dropped once, whatever panics; and what cannot go back is refused before anything has changed.

mod beside;
mod meanwhile;
mod open;
mod random;
mod refused;
mod rows;
mod values;

use std::sync::Arc;

use megachunk::prelude::*;

pub(super) fn bytes(world: &World) -> Vec<u8> {
    world.to_snapshot(&SnapshotOptions::new()).unwrap()
}

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(transparent)]
pub(super) struct Spot(pub(super) u64);
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Wide(pub(super) [u64; 20]);
#[derive(Clone, Copy)]
pub(super) struct Asleep;
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(super) struct Team(pub(super) u32);
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Weather(pub(super) u32);

megachunk::plain!(Spot { 0 });
megachunk::plain!(Wide { 0 });
megachunk::plain!(Asleep {});
megachunk::plain!(Team { 0 });
megachunk::plain!(Weather { 0 });

pub(super) fn world() -> World {
    World::of(&Arc::new(universe())).unwrap()
}

pub(super) fn universe() -> Universe {
    let universe = Universe::ordered();
    let known = universe.registry();
    known.register_plain::<Spot>().unwrap();
    known.register_plain::<Wide>().unwrap();
    known.register_plain::<Asleep>().unwrap();
    known.register_enableable::<Asleep>().unwrap();
    known.register_enableable::<Spot>().unwrap();
    known.register_plain::<Shared<Team>>().unwrap();
    known.register_plain::<PerChunk<Weather>>().unwrap();
    known.register_state_as::<u64>("score").unwrap();
    universe
}
